/* Steps as statements of a visit. Per-row work stands inside `if (live) {`; a step that can
 * end the row assigns `live` and closes the block, so that all lanes meet again before
 * anything that the warp does together. */
#include <string.h>

#include "codegen/cuda_gen.h"

static void row_ends_unless(struct cu_unit *u, const char *condition)
{
    if (u->folding) {
        cu_line(u->out, "if (!(%s))", condition);
        cu_line(u->out, "    continue;");
        return;
    }
    cu_line(u->out, "live = %s;", condition);
    cu_unguard(u);
}

/* ---- loads ------------------------------------------------------------------------------ */

/* The slot's value from a stored one and the row's validity (NULL: always valid). */
const char *cu_column_value(struct cu_unit *u, const struct pl_step *s, const char *stored, const char *valid)
{
    const struct fe_table_column *c = &s->table->cols[s->column];
    const char *type = cu_type(u->pipeline->slots[s->slot].phys);
    const char *value = hd_asprintf(u->arena, "(%s)%s", type, stored);
    if (c->storage == FE_STORE_INT && (c->base != 0 || c->factor != 1)) {
        const char *wide = u->pipeline->slots[s->slot].phys == RT_I128 ? "(i128)" : "";
        const char *base = cu_arg(u, s->a_base), *factor = "";
        if (c->factor != 1)
            factor = hd_asprintf(u->arena, ", %s", cu_arg(u, s->a_factor));
        value = hd_asprintf(u->arena, "hdd_decode(%s%s, %s%s)", wide, stored, base, factor);
    }
    if (!valid)
        return value;
    return hd_asprintf(u->arena, "hdd_opt<%s>(%s, %s)", type, value, valid);
}

static const char *text_value(struct cu_unit *u, const struct pl_step *s, const char *row)
{
    return hd_asprintf(u->arena, "hdd_column_string(%s, %s, %s, %s)", cu_arg(u, s->a_data), cu_arg(u, s->a_text_base),
                       cu_arg(u, s->a_text_bytes), row);
}

static const char *column_value(struct cu_unit *u, const struct pl_step *s)
{
    const char *row = cu_slot(u, s->row_slot), *valid = NULL;
    if (s->a_valid >= 0)
        valid = hd_asprintf(u->arena, "hdd_valid(%s, %s)", cu_arg(u, s->a_valid), row);
    if (s->table->cols[s->column].storage != FE_STORE_TEXT) {
        const char *stored = hd_asprintf(u->arena, "hdd_stored(%s, %s)", cu_arg(u, s->a_data), row);
        return cu_column_value(u, s, stored, valid);
    }
    const char *value = text_value(u, s, row);
    return valid ? hd_asprintf(u->arena, "hdd_opt<hdd_string>(%s, %s)", value, valid) : value;
}

static const char *direct_value(struct cu_unit *u, const struct pl_step *s)
{
    const char *row = cu_slot(u, s->row_slot);
    const char *type = cu_type(u->pipeline->slots[s->slot].phys);
    const char *value = hd_asprintf(u->arena, "%s[%s]", cu_arg(u, s->a_data), row);
    if (s->a_valid < 0)
        return hd_asprintf(u->arena, "%s(%s)", type, value);
    return hd_asprintf(u->arena, "hdd_opt<%s>(%s, %s[%s] != 0)", type, value, cu_arg(u, s->a_valid), row);
}

static const char *field_value(struct cu_unit *u, const struct pl_step *s)
{
    const struct rt_state *st = &u->spec->states[s->state];
    if (st->kind == RT_STATE_DIRECT)
        return direct_value(u, s);
    const char *row = hd_asprintf(u->arena, "%s[%s]", cu_arg(u, s->a_rows), cu_slot(u, s->row_slot));
    return cu_field_value(u, st, s->field, row);
}

/* Nothing is read for the row -1 of a left join: the slot stays NULL. One that cannot be NULL
 * holds a row id: no row leads to no row. */
static void step_load(struct cu_unit *u, const struct pl_step *s)
{
    const char *value = s->kind == PL_STEP_LOAD_COLUMN ? column_value(u, s) : field_value(u, s);
    if (s->kind == PL_STEP_LOAD_FIELD && !u->pipeline->slots[s->slot].nullable &&
        u->spec->states[s->state].fields[s->field].valid_offset >= 0)
        value = hd_asprintf(u->arena, "hdd_row_or_none(%s)", value);
    if (s->row_nullable && !u->pipeline->slots[s->slot].nullable)
        cu_line(u->out, "%s = -1;", cu_slot(u, s->slot));
    else if (s->row_nullable && u->pipeline->framed) /* where nothing begins as NULL */
        cu_line(u->out, "%s = {};", cu_slot(u, s->slot));
    if (s->row_nullable)
        cu_open(u->out, "if (%s >= 0)", cu_slot(u, s->row_slot));
    cu_line(u->out, "%s = %s;", cu_slot(u, s->slot), value);
    if (s->row_nullable)
        u->out->indent--;
}

/* ---- lookups ---------------------------------------------------------------------------- */

/* Fields of a row lie side by side: they are asked for together, unless to compare them takes longer. */
static bool has_text_key(const struct rt_state *st)
{
    bool text = false;
    for (int i = 0; i < st->nkeys; i++)
        text |= st->fields[i].phys == RT_STR;
    return text;
}

/* Expressions of a hash lookup as named constants; a lambda may then use them repeatedly. more: what `function` is
 * given beside slots, hash and equality. */
static const char *hash_lookup(struct cu_unit *u, const struct pl_step *s, int number, const char *function,
                               const char *more)
{
    const struct rt_state *st = &u->spec->states[s->state];
    const char *keys = "";
    const char *rows = cu_arg(u, s->a_rows);
    HD_ASSERT(s->nkeys == st->nkeys);
    if (s->key_parts)
        return hd_asprintf(u->arena, "%s(%s, %s, %s, %ssame%d)", function, cu_arg(u, s->a_slots), cu_arg(u, s->a_mask),
                           cu_call_keys(u, number), more, number);
    for (int i = 0; i < s->nkeys; i++) {
        cu_line(u->out, "const auto key%d_%d = %s;", number, i, cu_expr(u, s->keys[i]));
        keys = hd_asprintf(u->arena, "%s%skey%d_%d", keys, i ? ", " : "", number, i);
    }
    cu_open(u->out, "const auto same%d = [&](u32 r) {", number);
    for (int i = 0; i < s->nkeys; i++)
        cu_line(u->out, "%s%s(%s, key%d_%d)%s", i ? "       " : "return ", cu_key_equal(s, i),
                cu_field_value(u, st, i, hd_asprintf(u->arena, "%s[r]", rows)), number, i,
                i + 1 == s->nkeys  ? ";"
                : has_text_key(st) ? " &&"
                                   : " &");
    cu_close(u->out, "};");
    return hd_asprintf(u->arena, "%s(%s, %s, hdd_hash(%s), %ssame%d)", function, cu_arg(u, s->a_slots),
                       cu_arg(u, s->a_mask), keys, more, number);
}

static const char *hash_range(struct cu_unit *u, const struct pl_step *s, int number)
{
    return hash_lookup(u, s, number, "hdd_expand_hash", hd_asprintf(u->arena, "%s, ", cu_arg(u, s->a_rows)));
}

/* Row r's field of sort key i, and "key<number>_<i>". */
static const char *sorted_field(struct cu_unit *u, const struct pl_step *s, int i)
{
    const struct rt_state *st = &u->spec->states[s->state];
    return cu_field_value(u, st, st->sort[i].field, hd_asprintf(u->arena, "%s[r]", cu_arg(u, s->a_rows)));
}

/* Rows before the one looked for: of smaller keys, or of the same and too far on the other side of the last one. */
static void before_lambda(struct cu_unit *u, const struct pl_step *s, int number)
{
    static const char *const far[2][2] = {{"hdd_lt", "hdd_le"}, {"hdd_gt", "hdd_ge"}}; /* [descending][strict] */
    const struct rt_state *st = &u->spec->states[s->state];
    int last = s->nkeys - 1;
    cu_open(u->out, "const auto before%d = [&](u32 r) {", number);
    for (int i = 0; i < last; i++) {
        cu_line(u->out, "const auto field%d = %s;", i, sorted_field(u, s, i));
        cu_line(u->out, "if (!%s(field%d, key%d_%d))", cu_key_equal(s, i), i, number, i);
        cu_line(u->out, "    return hdd_sorts_before(field%d, key%d_%d);", i, number, i);
    }
    cu_line(u->out, "return hdd_true(%s(%s, key%d_%d));", far[st->sort[last].desc][s->strict], sorted_field(u, s, last),
            number, last);
    cu_close(u->out, "};");
}

/* Whether the row found has the keys, and no NULL in the last one. */
static void same_lambda(struct cu_unit *u, const struct pl_step *s, int number)
{
    int last = s->nkeys - 1;
    cu_open(u->out, "const auto same%d = [&](u32 r) {", number);
    for (int i = 0; i <= last; i++)
        if (i < last)
            cu_line(u->out, "%s%s(%s, key%d_%d) &&", i ? "       " : "return ", cu_key_equal(s, i),
                    sorted_field(u, s, i), number, i);
        else
            cu_line(u->out, "%s!hdd_is_null(%s);", i ? "       " : "return ", sorted_field(u, s, i));
    cu_close(u->out, "};");
}

static const char *nearest_row(struct cu_unit *u, const struct pl_step *s, int number)
{
    const char *nulls = "";
    for (int i = 0; i < s->nkeys; i++) {
        cu_line(u->out, "const auto key%d_%d = %s;", number, i, cu_expr(u, s->keys[i]));
        if (u->prog->exprs[s->keys[i]].nullable && !pl_null_equal(s, i))
            nulls = hd_asprintf(u->arena, "%s%shdd_is_null(key%d_%d)", nulls, *nulls ? " || " : "", number, i);
    }
    before_lambda(u, s, number);
    same_lambda(u, s, number);
    const char *found =
        hd_asprintf(u->arena, "hdd_probe_sorted(%s, before%d, same%d)", cu_arg(u, s->a_nrows), number, number);
    return *nulls ? hd_asprintf(u->arena, "%s ? -1 : %s", nulls, found) : found;
}

static const char *searched_column(struct cu_unit *u, const struct pl_step *s, int number, const char *function)
{
    const char *args = hd_asprintf(u->arena, "%s, %s, %s, %s", cu_arg(u, s->a_data), cu_arg(u, s->a_nrows),
                                   cu_arg(u, s->a_base), cu_expr(u, s->expr));
    return s->near ? hd_asprintf(u->arena, "%s(%s, near%d)", function, args, number)
                   : hd_asprintf(u->arena, "%s(%s)", function, args);
}

/* The tile has looked this step up: rows that are visited have a match, whose number is the index itself. */
static bool is_found(const struct cu_unit *u, const struct pl_step *s, int number)
{
    return s->kind == PL_STEP_PROBE_DIRECT && number < u->pipeline->gpu_tile.steps &&
           u->pipeline->spec->shape != RT_SHAPE_LOOP;
}

/* Row or index found, -1 if none. */
static const char *found_row(struct cu_unit *u, const struct pl_step *s, int number)
{
    if (s->kind == PL_STEP_PROBE_HASH)
        return hash_lookup(u, s, number, "hdd_probe_hash", "");
    if (s->kind == PL_STEP_PROBE_SORTED)
        return nearest_row(u, s, number);
    if (is_found(u, s, number))
        return hd_asprintf(u->arena, "(i32)hdd_index(%s)", cu_expr(u, s->expr));
    if (s->kind == PL_STEP_PROBE_DIRECT)
        return hd_asprintf(u->arena, "hdd_probe_direct(%s, %s, %s)", cu_arg(u, s->a_bits), cu_arg(u, s->a_range),
                           cu_expr(u, s->expr));
    if (s->kind == PL_STEP_PROBE_CHILD)
        return hd_asprintf(u->arena, "hdd_probe_child(%s, %s, %s, %s, %s)", cu_arg(u, s->a_offsets),
                           cu_slot(u, s->row_slot), cu_arg(u, s->a_data), cu_arg(u, s->a_base), cu_expr(u, s->expr));
    if (s->kind == PL_STEP_PROBE_COLUMN)
        return searched_column(u, s, number, "hdd_probe_column");
    const char *min = cu_arg(u, s->a_min), *range = cu_arg(u, s->a_range);
    switch (s->table->keyidx[s->index].kind) {
    case FE_INDEX_POSITIONAL:
        return hd_asprintf(u->arena, "hdd_probe_position(%s, %s, %s)", min, range, cu_expr(u, s->expr));
    case FE_INDEX_BITMAP:
        return hd_asprintf(u->arena, "hdd_probe_ranks(%s, %s, %s, %s)", cu_arg(u, s->a_bits), min, range,
                           cu_expr(u, s->expr));
    case FE_INDEX_ARRAY:
        return hd_asprintf(u->arena, "hdd_probe_array(%s, %s, %s, %s)", cu_arg(u, s->a_rows), min, range,
                           cu_expr(u, s->expr));
    case FE_INDEX_NONE: break;
    }
    HD_BUG("no key index");
}

static const char *is_there(struct cu_unit *u, const struct pl_step *s, int number)
{
    if (s->kind == PL_STEP_PROBE_BITMAP)
        return hd_asprintf(u->arena, "hdd_probe_bitmap(%s, %s, %s)", cu_arg(u, s->a_bits), cu_arg(u, s->a_range),
                           cu_expr(u, s->expr));
    return hd_asprintf(u->arena, "(%s >= 0)", found_row(u, s, number));
}

static void step_probe(struct cu_unit *u, const struct pl_step *s, int number)
{
    switch (s->probe) {
    case PL_INNER:
        cu_line(u->out, "%s = %s;", cu_slot(u, s->slot), found_row(u, s, number));
        if (!is_found(u, s, number))
            row_ends_unless(u, hd_asprintf(u->arena, "%s >= 0", cu_slot(u, s->slot)));
        return;
    case PL_LEFT: cu_line(u->out, "%s = %s;", cu_slot(u, s->slot), found_row(u, s, number)); return;
    case PL_MARK: cu_line(u->out, "%s = %s;", cu_slot(u, s->slot), is_there(u, s, number)); return;
    case PL_SEMI: row_ends_unless(u, is_there(u, s, number)); return;
    case PL_ANTI: row_ends_unless(u, hd_asprintf(u->arena, "!%s", is_there(u, s, number))); return;
    }
    HD_BUG("probe kind %d", (int)s->probe);
}

/* ---- levels ----------------------------------------------------------------------------- */

static const char *csr_range(struct cu_unit *u, const struct pl_step *s, int number HD_UNUSED)
{
    return hd_asprintf(u->arena, "hdd_expand_csr(%s, %s, %s)", cu_arg(u, s->a_offsets), cu_arg(u, s->a_range),
                       cu_expr(u, s->expr));
}

static const char *column_range(struct cu_unit *u, const struct pl_step *s, int number)
{
    return searched_column(u, s, number, "hdd_expand_column");
}

static const char *band_range(struct cu_unit *u, const struct pl_step *s, int number HD_UNUSED)
{
    u->sorted = true;
    return hd_asprintf(u->arena, "hdd_expand_sorted(%s, %s, %s, hdd_column_values(%s, %s))", cu_arg(u, s->a_nrows),
                       cu_expr(u, s->keys[0]), cu_expr(u, s->keys[1]), cu_arg(u, s->a_data), cu_arg(u, s->a_base));
}

static const char *fk_range(struct cu_unit *u, const struct pl_step *s, int number HD_UNUSED)
{
    return hd_asprintf(u->arena, "hdd_expand_parent(%s, %s)", cu_arg(u, s->a_offsets), cu_slot(u, s->row_slot));
}

static const char *all_range(struct cu_unit *u, const struct pl_step *s, int number HD_UNUSED)
{
    return hd_asprintf(u->arena, "hdd_expand_all(%s)", cu_arg(u, s->a_nrows));
}

static const char *later_range(struct cu_unit *u, const struct pl_step *s, int number HD_UNUSED)
{
    return hd_asprintf(u->arena, "hdd_expand_later(%s, %s)", cu_arg(u, s->a_nrows), cu_slot(u, s->row_slot));
}

static const char *count_range(struct cu_unit *u, const struct pl_step *s, int number HD_UNUSED)
{
    return hd_asprintf(u->arena, "hdd_expand_count(%s)", cu_expr(u, s->expr));
}

/* A function of a row that gives a field which is never NULL. */
static const char *row_field(struct cu_unit *u, const struct pl_step *s, int field)
{
    const struct rt_state *st = &u->spec->states[s->state];
    const char *row = hd_asprintf(u->arena, "%s[r]", cu_arg(u, s->a_rows));
    return hd_asprintf(u->arena, "[&](u32 r) { return %s; }", cu_field_member(u, st, field, row));
}

static const char *sorted_range(struct cu_unit *u, const struct pl_step *s, int number HD_UNUSED)
{
    const char *args = cu_arg(u, s->a_nrows);
    u->sorted = true;
    for (int i = 0; i < s->nkeys; i++)
        args = hd_asprintf(u->arena, "%s, %s", args, cu_expr(u, s->keys[i]));
    const struct rt_state *st = &u->spec->states[s->state];
    for (int i = 0; i < s->nkeys - 1 - (s->reach >= 0); i++)
        args = hd_asprintf(u->arena, "%s, %s", args, row_field(u, s, st->sort[i].field));
    if (s->reach < 0)
        return hd_asprintf(u->arena, "hdd_expand_sorted(%s)", args);
    return hd_asprintf(u->arena, "hdd_expand_reaching(%s, %s)", args, row_field(u, s, s->reach));
}

typedef const char *range_emitter(struct cu_unit *u, const struct pl_step *s, int number);

static range_emitter *const ranges[] = {
#define T_LEVEL(id, text, reads, subject, children, range, found) [PL_STEP_EXPAND_##id] = range##_range,
#include "planner/levels.def"
};

const char *cu_expand_range(struct cu_unit *u, const struct pl_step *s, int number)
{
    const char *r = ranges[s->kind](u, s, number);
    return s->probe == PL_LEFT ? hd_asprintf(u->arena, "hdd_or_null_child(%s)", r) : r;
}

/* ---- searches --------------------------------------------------------------------------- */

static void step_search(struct cu_unit *u, const struct pl_step *s, int number)
{
    const struct rt_state *st = &u->spec->states[s->state];
    const char *row = hd_asprintf(u->arena, "%s[r]", cu_arg(u, s->a_rows));
    cu_line(u->out, "const i64 word%d = %s;", number, cu_expr(u, s->expr));
    cu_line(u->out, "%s = (i32)hdd_partition_point(0, (u32)%s, [&](u32 r) { return %s %s word%d; });",
            cu_slot(u, s->slot), cu_arg(u, s->a_nrows), cu_field_value(u, st, s->field, row), s->behind ? "<=" : "<",
            number);
}

/* ---- match bits, presence --------------------------------------------------------------- */

static void step_mark(struct cu_unit *u, const struct pl_step *s)
{
    const char *row = cu_slot(u, s->row_slot);
    if (s->row_nullable)
        cu_open(u->out, "if (%s >= 0)", row);
    cu_line(u->out, "hdd_set_bit(%s, (u64)%s);", cu_arg(u, s->a_matches), row);
    if (s->row_nullable)
        u->out->indent--;
}

static void step_test(struct cu_unit *u, const struct pl_step *s)
{
    row_ends_unless(u, hd_asprintf(u->arena, "%shdd_bit(%s, (u64)%s)", s->negate ? "!" : "", cu_arg(u, s->a_matches),
                                   cu_slot(u, s->row_slot)));
}

static void step_present(struct cu_unit *u, const struct pl_step *s)
{
    const char *row = cu_slot(u, s->row_slot);
    if (rt_state_has_gaps(&u->spec->states[s->state]))
        row_ends_unless(
            u, hd_asprintf(u->arena, "%s != 0",
                           cu_present(u, s->state, hd_asprintf(u->arena, "%s[%s]", cu_arg(u, s->a_rows), row))));
    else
        row_ends_unless(u, hd_asprintf(u->arena, "hdd_bit(%s, (u64)%s)", cu_arg(u, s->a_bits), row));
}

/* ---- dispatch --------------------------------------------------------------------------- */

/* "// probe hash: s1_customer" */
static void comment(struct cu_unit *u, const struct pl_step *s)
{
    const char *what = "";
    if (pl_step_form(s->kind)->yields == PL_YIELDS_ONE)
        return; /* the statement says it all */
    if (s->state >= 0)
        what = hd_asprintf(u->arena, ": %s", cu_state(u, s->state));
    else if (s->table)
        what = hd_asprintf(u->arena, ": %s", cu_word(u->arena, s->table->name, 40));
    cu_line(u->out, "// %s%s", pl_step_name(s->kind), what);
}

void cu_step(struct cu_unit *u, const struct pl_step *s, int number)
{
    cu_guard(u);
    cu_count(u, number);
    comment(u, s);
    switch (s->kind) {
    case PL_STEP_LOAD_COLUMN:
    case PL_STEP_LOAD_FIELD: step_load(u, s); return;
    case PL_STEP_LET: cu_line(u->out, "%s = %s;", cu_slot(u, s->slot), cu_expr(u, s->expr)); return;
    case PL_STEP_FILTER: row_ends_unless(u, cu_condition(u, s->expr)); return;
    case PL_STEP_PROBE_KEY:
    case PL_STEP_PROBE_BITMAP:
    case PL_STEP_PROBE_DIRECT:
    case PL_STEP_PROBE_CHILD:
    case PL_STEP_PROBE_COLUMN:
    case PL_STEP_PROBE_HASH:
    case PL_STEP_PROBE_SORTED: step_probe(u, s, number); return;
    case PL_STEP_FOLD:
    case PL_STEP_FOLD_PIECE: cu_fold_open(u, s, number); return;
    case PL_STEP_FOLD_ADD: cu_fold_add(u, s); return;
    case PL_STEP_FOLD_END: cu_fold_close(u); return;
    case PL_STEP_SEARCH: step_search(u, s, number); return;
    case PL_STEP_MARK: step_mark(u, s); return;
    case PL_STEP_TEST: step_test(u, s); return;
    case PL_STEP_PRESENT: step_present(u, s); return;
#define T_LEVEL(id, ...) case PL_STEP_EXPAND_##id:
#include "planner/levels.def"
    case PL_STEP_COUNT: break;
    }
    HD_BUG("step %d is no statement", (int)s->kind);
}
