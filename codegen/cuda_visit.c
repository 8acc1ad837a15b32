/* Methods of a pipeline's class: the predicate over a tile, and the visit of each level. */
#include "codegen/cuda_gen.h"

/* ---- which slots are read --------------------------------------------------------------- */

bool *cu_slots_read_from(const struct cu_unit *u, int first, bool loads)
{
    const struct pl_expr *exprs = u->prog->exprs;
    bool *read = HD_NEWN(u->arena, bool, u->pipeline->nslots + 1);
    for (int i = first; i < u->pipeline->nsteps; i++)
        if (loads || u->pipeline->steps[i].kind != PL_STEP_LOAD_COLUMN)
            pl_step_reads(exprs, &u->pipeline->steps[i], read);
    pl_sink_reads(exprs, &u->pipeline->sink, read);
    return read;
}

/* ---- tile ------------------------------------------------------------------------------- */

static const char *tile_name(struct cu_unit *u, const struct pl_step *s)
{
    return hd_asprintf(u->arena, "t%d_%s", s->slot, cu_word(u->arena, s->table->cols[s->column].name, 24));
}

static void tile_valid(struct cu_unit *u, const struct pl_step *s)
{
    cu_line(u->out, "const u32 %s_valid = hdd_tile_valid(%s, first);", tile_name(u, s), cu_arg(u, s->a_valid));
}

static void tile_load(struct cu_unit *u, const struct pl_step *s)
{
    const struct fe_table_column *c = &s->table->cols[s->column];
    cu_line(u->out, "const hdd_tile%s<%s> %s(%s, first);", u->pipeline->gpu.quick ? "_by_row" : "",
            cu_stored_type(u, c), tile_name(u, s), cu_arg(u, s->a_data));
    if (s->a_valid >= 0)
        tile_valid(u, s);
}

/* Bits of the tile's rows. */
static const char *tile_bits(struct cu_unit *u, int step)
{
    return hd_asprintf(u->arena, "bits%d", step);
}

/* Loads of the first `steps` steps, of those in `early` (NULL: all). */
static void tile_loads(struct cu_unit *u, int steps, const bool *early)
{
    for (int i = 0; i < steps; i++) {
        const struct pl_step *s = &u->pipeline->steps[i];
        if (s->kind == PL_STEP_LOAD_COLUMN && (!early || early[i]))
            tile_load(u, s);
        else if (pl_step_form(s->kind)->tile & PL_TILE_BITS)
            cu_line(u->out, "const u32 %s = hdd_tile_bits(%s, first);", tile_bits(u, i), cu_arg(u, s->a_matches));
    }
}

static const struct pl_step *load_of(const struct cu_unit *u, int slot)
{
    for (int i = 0; i < u->pipeline->gpu_tile.steps; i++)
        if (u->pipeline->gpu_tile.searched[i] && u->pipeline->steps[i].slot == slot)
            return &u->pipeline->steps[i];
    HD_BUG("slot %d is not searched", slot);
}

/* Bits of the rows whose strings match, and what the LIKE is in row j. */
static void tile_like(struct cu_unit *u, int e, int *n)
{
    const struct pl_expr *x = cu_expr_of(u, e);
    const struct pl_step *s = load_of(u, cu_expr_of(u, x->args[0])->slot);
    const char *name = hd_asprintf(u->arena, "like%d", (*n)++);
    cu_line(u->out, "const u32 %s = hdd_like_tile<%s>(run, %s, %s, %s, %s, first, n);", name,
            x->wild ? "true" : "false", cu_arg(u, s->a_data), cu_arg(u, s->a_text_base), cu_arg(u, s->a_text_bytes),
            cu_arg(u, x->arg));
    u->like_words[e] = hd_asprintf(u->arena, "((%s >> j & 1) != 0)", name);
    if (x->nullable)
        u->like_words[e] =
            hd_asprintf(u->arena, "hdd_opt<bool>(%s, ((%s_valid >> j) & 1) != 0)", u->like_words[e], tile_name(u, s));
    u->searches = true;
}

static void tile_likes_of(struct cu_unit *u, int e, int *n)
{
    const struct pl_expr *x = cu_expr_of(u, e);
    if (x->op == FE_LIKE && !u->like_words[e])
        tile_like(u, e, n);
    for (int i = 0; i < x->nargs; i++)
        tile_likes_of(u, x->args[i], n);
}

/* Whole warps call tile(). */
static void tile_likes(struct cu_unit *u, const struct pl_tile_steps *t)
{
    int n = 0;
    if (!pl_tile_searches(t))
        return;
    u->like_words = HD_NEWN(u->arena, const char *, u->prog->nexprs);
    for (int i = 0; i < t->steps; i++) {
        const struct pl_step *s = &u->pipeline->steps[i];
        if (t->searched[i] && s->a_valid >= 0)
            tile_valid(u, s);
        if (s->kind == PL_STEP_FILTER)
            tile_likes_of(u, s->expr, &n);
    }
}

static void open_tile_loop(struct cu_unit *u)
{
    cu_line(u->out, u->pipeline->gpu.quick ? "HDD_NO_UNROLL" : "HDD_UNROLL");
    cu_open(u->out, "for (u32 j = 0; j < HDD_TILE_ROWS; j++) {");
}

/* The column's value in row j of the tile. */
static const char *tile_value(struct cu_unit *u, const struct pl_step *s)
{
    const char *name = tile_name(u, s), *valid = NULL;
    if (s->a_valid >= 0)
        valid = hd_asprintf(u->arena, "((%s_valid >> j) & 1) != 0", name);
    return cu_column_value(u, s, hd_asprintf(u->arena, "%s[j]", name), valid);
}

static void tile_slot(struct cu_unit *u, const struct pl_step *s)
{
    const struct pl_slot *slot = &u->pipeline->slots[s->slot];
    const char *value = s->kind == PL_STEP_LOAD_COLUMN ? tile_value(u, s)
                        : s->kind == PL_STEP_LET       ? cu_expr(u, s->expr)
                                                 : cu_field_value(u, &u->spec->states[s->state], s->field, "group");
    cu_define_slot(u, s->slot, cu_value_type(u, slot->phys, slot->nullable), value);
}

/* A scan of groups: row j of the state, which its steps look at. */
static void tile_group(struct cu_unit *u, const struct pl_step *s)
{
    const char *row = cu_row(u, s->state), *index = cu_slot(u, u->pipeline->source_slot);
    cu_define_slot(u, u->pipeline->source_slot, "i32", "(i32)(first + j)");
    cu_line(u->out, "(void)%s;", index);
    cu_line(u->out, "const %s group = j < n ? hdd_load_row(%s + first + j) : %s();", row, cu_arg(u, s->a_rows), row);
}

/* A scan of a table: the row's number, if a lookup or a filter of its tile asks for that. In place it is there already. */
static void tile_row(struct cu_unit *u, int steps)
{
    bool *read = HD_NEWN(u->arena, bool, u->pipeline->nslots + 1);
    for (int i = 0; i < steps; i++)
        if (pl_step_form(u->pipeline->steps[i].kind)->reads == PL_READS_EXPR)
            pl_step_reads(u->prog->exprs, &u->pipeline->steps[i], read);
    if (read[u->pipeline->source_slot])
        cu_define_slot(u, u->pipeline->source_slot, "i32", "(i32)(first + j)");
}

/* The first steps of row j, loads (as in tile_loads), lets and filters, without a branch. all: as if it were there. */
static void row_head(struct cu_unit *u, int steps, const bool *early, bool all)
{
    cu_line(u->out, "bool live = %s;", all ? "true" : "j < n");
    if (steps > 0 && u->pipeline->spec->source != RT_SOURCE_TABLE)
        tile_group(u, &u->pipeline->steps[0]);
    else if (!u->pipeline->in_place)
        tile_row(u, steps);
    for (int i = 0; i < steps; i++) {
        const struct pl_step *s = &u->pipeline->steps[i];
        cu_count_rows(u, i, "live");
        if (s->kind == PL_STEP_PRESENT)
            cu_line(u->out, "live = live & (%s != 0);", cu_present(u, s->state, "group"));
        else if (s->kind == PL_STEP_FILTER)
            cu_line(u->out, "live = live & %s;", cu_condition(u, s->expr));
        else if (pl_step_form(s->kind)->tile & PL_TILE_BITS)
            cu_line(u->out, "live = live & ((%s >> j & 1) %s 0);", tile_bits(u, i), s->negate ? "==" : "!=");
        else if (pl_step_form(s->kind)->tile & PL_TILE_LOOKUPS)
            cu_line(u->out, "live = %s%s(%s, %s, %s, live);", s->probe == PL_ANTI ? "live & !" : "",
                    s->bits_bytes ? hd_asprintf(u->arena, "copy%d.test", i) : "hdd_test_bit", cu_arg(u, s->a_bits),
                    cu_arg(u, s->a_range), cu_expr(u, s->expr));
        else if (!early || early[i])
            tile_slot(u, s);
    }
}

void cu_tile(struct cu_unit *u)
{
    const struct pl_tile_steps *t = &u->pipeline->gpu_tile;
    bool all = !u->profile; /* behind the end there is something to read, and nothing raises; but it is not counted */
    cu_line(u->out, "// Rows first .. first + n - 1: bit j is set where row first + j goes on.");
    cu_line(u->out, "HDD_MEMBER u32 tile(u32 first, u32 n) const");
    cu_open(u->out, "{");
    cu_line(u->out, "(void)first;");
    if (t->steps == 0) {
        cu_line(u->out, "return hdd_low_bits(n);");
    } else {
        tile_likes(u, t);
        tile_loads(u, t->steps, t->early);
        cu_line(u->out, "u32 alive = 0;");
        open_tile_loop(u);
        cu_declare_frame(u);
        row_head(u, t->steps, t->early, all);
        cu_line(u->out, "alive |= (u32)live << j;");
        cu_close(u->out, "}");
        cu_line(u->out, all ? "return alive & hdd_low_bits(n);" : "return alive;");
        u->like_words = NULL;
    }
    cu_close(u->out, "}");
    cu_blank(u->out);
}

/* ---- visits ----------------------------------------------------------------------------- */

static int end_of_level(const struct cu_unit *u, int level)
{
    int i = u->pipeline->levels[level].first_step;
    while (i < u->pipeline->nsteps && !pl_opens_level(u->pipeline->steps[i].kind))
        i++;
    return i;
}

/* Steps of the tile were done for the row already, but for loads and lets whose values are needed again. */
static bool is_emitted(const struct cu_unit *u, int step)
{
    return step >= u->pipeline->gpu_tile.steps || u->pipeline->gpu_tile.again[step];
}

/* Rows that are only counted have no use for it. */
void cu_bind_child(struct cu_unit *u, const struct pl_step *s, const bool *read)
{
    const char *row = "(i32)at";
    if (!read[s->slot]) {
        cu_line(u->out, "(void)at;");
        return;
    }
    if (s->a_child_rows >= 0)
        row = hd_asprintf(u->arena, "live && at != ~0u ? (i32)%s[at] : -1", cu_arg(u, s->a_child_rows));
    cu_define_slot(u, s->slot, "i32", row);
}

static void open_scan_visit(struct cu_unit *u, const bool *read)
{
    cu_line(u->out, "HDD_MEMBER void visit(hdd_level<0>, bool live, u32 row)");
    cu_open(u->out, "{");
    cu_declare_frame(u);
    if (read[u->pipeline->source_slot])
        cu_define_slot(u, u->pipeline->source_slot, "i32", "(i32)row");
    else
        cu_line(u->out, "(void)row;");
}

static void open_visit(struct cu_unit *u, int level, const bool *read)
{
    const struct pl_level *l = &u->pipeline->levels[level];
    cu_line(u->out, "HDD_MEMBER void visit(hdd_level<%d>, bool live, u32 at, const %s_tuple%d &tuple)", level, u->name,
            level);
    cu_open(u->out, "{");
    cu_declare_frame(u);
    for (int i = 0; i < l->nslots; i++) {
        const struct pl_slot *s = &u->pipeline->slots[l->slots[i]];
        cu_define_slot(u, l->slots[i], cu_value_type(u, s->phys, s->nullable),
                       hd_asprintf(u->arena, "tuple.%s", cu_slot_name(u, l->slots[i])));
    }
    if (l->nslots == 0)
        cu_line(u->out, "(void)tuple;");
    cu_bind_child(u, &u->pipeline->steps[l->first_step - 1], read);
}

static const char *push_function(enum rt_shape shape)
{
    switch (shape) {
    case RT_SHAPE_ANY: return "hdd_push_any";
    case RT_SHAPE_AWS: return "hdd_push";
    case RT_SHAPE_NIFS: return "hdd_push_ranges";
    case RT_SHAPE_BY_LANE: return "hdd_visit_children";
    case RT_SHAPE_STRAIGHT:
    case RT_SHAPE_ALL_ROWS:
    case RT_SHAPE_IN_PLACE:
    case RT_SHAPE_LOOP: break; /* without levels, or of pairs */
    }
    HD_BUG("shape %d", (int)shape);
}

/* A frame's members are set for live rows only. */
const char *cu_next_tuple(struct cu_unit *u, int level)
{
    const struct pl_level *l = &u->pipeline->levels[level];
    const char *list = "";
    for (int i = 0; i < l->nslots; i++)
        list = hd_asprintf(u->arena, "%s%s%s", list, i ? ", " : "", cu_slot(u, l->slots[i]));
    const char *tuple = hd_asprintf(u->arena, "%s_tuple%d{%s}", u->name, level, list);
    if (!u->pipeline->framed)
        return tuple;
    cu_line(u->out, "%s_tuple%d next{};", u->name, level);
    cu_guard(u);
    cu_line(u->out, "next = %s;", tuple);
    cu_unguard(u);
    return "next";
}

/* Ends a visit by handing the rows' ranges of children to the next level. */
static void expand(struct cu_unit *u, int step, int level)
{
    const struct pl_step *s = &u->pipeline->steps[step];
    cu_unguard(u);
    cu_line(u->out, "// %s, level %d", pl_step_name(s->kind), level + 1);
    cu_line(u->out, "hdd_range children = hdd_no_range();");
    cu_guard(u);
    cu_count(u, step);
    cu_line(u->out, "children = %s;", cu_expand_range(u, s, step));
    cu_unguard(u);
    cu_line(u->out, "%s(*this, hdd_level<%d>(), children, %s);", push_function(u->pipeline->spec->shape), level + 1,
            cu_next_tuple(u, level + 1));
}

void cu_visit(struct cu_unit *u, int level)
{
    int first = u->pipeline->levels[level].first_step, end = end_of_level(u, level);
    bool *read = cu_slots_read_from(u, u->pipeline->gpu_tile.steps, true);
    for (int i = first; i < end; i++)
        if (is_emitted(u, i) && u->pipeline->steps[i].row_slot >= 0)
            read[u->pipeline->steps[i].row_slot] = true;
    if (level == 0)
        open_scan_visit(u, read);
    else
        open_visit(u, level, read);
    for (int i = first; i < end; i++)
        if (is_emitted(u, i))
            cu_declare_slot(u, &u->pipeline->steps[i]);
    for (int i = first, next; i < end; i = next) {
        next = cu_call_steps(u, i);
        if (next == i && is_emitted(u, next++)) {
            u->recounted = i < u->pipeline->gpu_tile.steps || (level > 0 && i < u->pipeline->loop.tested);
            cu_step(u, &u->pipeline->steps[i], i);
        }
    }
    u->recounted = false;
    if (end < u->pipeline->nsteps)
        expand(u, end, level);
    else
        cu_sink(u);
    cu_close(u->out, "}");
    cu_blank(u->out);
}

/* ---- rows in place ---------------------------------------------------------------------- */

void cu_rows(struct cu_unit *u)
{
    int head = u->pipeline->gpu_tile.steps;
    const bool *read = cu_slots_read_from(u, 0, false);
    cu_line(u->out, "// Rows first .. first + n - 1, all the way to the sink.");
    cu_line(u->out, "HDD_MEMBER void rows(u32 first, u32 n)");
    cu_open(u->out, "{");
    cu_line(u->out, "(void)first;");
    tile_loads(u, u->pipeline->nsteps, NULL);
    cu_sink_before_rows(u);
    open_tile_loop(u);
    if (read[u->pipeline->source_slot])
        cu_line(u->out, "const i32 %s = (i32)(first + j);", cu_slot(u, u->pipeline->source_slot));
    row_head(u, head, NULL, false);
    for (int i = head; i < u->pipeline->nsteps; i++)
        cu_declare_slot(u, &u->pipeline->steps[i]);
    for (int i = head; i < u->pipeline->nsteps; i++) {
        const struct pl_step *s = &u->pipeline->steps[i];
        if (s->kind != PL_STEP_LOAD_COLUMN) {
            cu_step(u, s, i);
            continue;
        }
        cu_guard(u);
        cu_count(u, i);
        cu_line(u->out, "%s = %s;", cu_slot(u, s->slot), tile_value(u, s));
    }
    cu_sink(u);
    cu_close(u->out, "}");
    cu_sink_after_rows(u);
    cu_close(u->out, "}");
    cu_blank(u->out);
}
