/* Sinks: the last thing that a visit of the deepest level does. Values are computed per row
 * inside the guard into locals; what the warp does together follows with all lanes. */
#include "codegen/cuda_sink.h"

const struct rt_state *cu_sink_state(const struct cu_unit *u)
{
    return &u->spec->states[u->pipe->sink.state];
}

const struct pl_out *cu_out_of(const struct cu_unit *u, int i)
{
    return &u->pipe->sink.outs[i];
}

const char *cu_out_name(struct cu_unit *u, int i)
{
    if (cu_in_function(u)) /* one for many of its like */
        return hd_asprintf(u->arena, "o%d", i - u->first_out);
    const struct rt_field *f = &cu_sink_state(u)->fields[cu_out_of(u, i)->field];
    return hd_asprintf(u->arena, "o%d_%s", i, cu_word(u->arena, f->name, 24));
}

static bool is_key(const struct cu_unit *u, int i)
{
    return u->pipe->sink.kind == PL_SINK_AGG_HASH && cu_out_of(u, i)->field < cu_sink_state(u)->nkeys;
}

bool cu_is_aggregate(const struct cu_unit *u)
{
    enum pl_sink_kind k = u->pipe->sink.kind;
    return k == PL_SINK_AGG_SCALAR || k == PL_SINK_AGG_DENSE || k == PL_SINK_AGG_HASH;
}

bool cu_is_runs(const struct cu_unit *u)
{
    return u->pipe->sink.place == PL_PLACE_RUNS;
}

static bool has_lanes(const struct cu_unit *u)
{
    return u->pipe->sink.place == PL_PLACE_LANES;
}

/* Each visit adds to rows in memory. */
static bool updates_rows(const struct cu_unit *u)
{
    return cu_is_aggregate(u) && u->pipe->sink.kind != PL_SINK_AGG_SCALAR && !cu_is_runs(u) && !has_lanes(u);
}

/* The same in all rows of a group, and stored as it is. */
bool cu_is_stored(const struct cu_unit *u, int i)
{
    return is_key(u, i) || (updates_rows(u) && cu_out_of(u, i)->fn == FE_AGG_ANY);
}

/* Written together with the key. */
bool cu_is_new(const struct cu_unit *u, int i)
{
    return u->pipe->sink.kind == PL_SINK_AGG_HASH && cu_is_stored(u, i);
}

/* ---- values ----------------------------------------------------------------------------- */

/* An accumulator takes values that may be absent: a dead lane, a NULL. Keys and stored fields
 * are as nullable as their expressions. */
bool cu_out_nullable(const struct cu_unit *u, int i)
{
    const struct pl_out *o = cu_out_of(u, i);
    if (cu_is_aggregate(u) && !cu_is_new(u, i))
        return true;
    return o->expr >= 0 && cu_expr_of(u, o->expr)->nullable;
}

static void declare_values(struct cu_unit *u)
{
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        if (cu_is_aggregate(u) && !cu_is_stored(u, i))
            continue;
        enum rt_phys p = cu_sink_state(u)->fields[cu_out_of(u, i)->field].phys;
        cu_line(u->out, "%s %s{};", cu_value_type(u, p, cu_out_nullable(u, i)), cu_out_name(u, i));
    }
}

const char *cu_out_value(struct cu_unit *u, int i)
{
    const struct pl_out *o = cu_out_of(u, i);
    enum rt_phys want = o->narrow ? RT_I64 : cu_sink_state(u)->fields[o->field].phys;
    if (cu_is_aggregate(u) && !is_key(u, i)) {
        if (o->fn == FE_AGG_COUNT_STAR || o->expr < 0)
            return "(i64)1";
        if (o->fn == FE_AGG_COUNT)
            return hd_asprintf(u->arena, "hdd_opt<i64>(1, !hdd_is_null(%s))", cu_expr(u, o->expr));
    }
    const char *value = cu_expr(u, o->expr);
    if (cu_expr_of(u, o->expr)->phys != want)
        value = hd_asprintf(u->arena, "hdd_cast<%s>(%s)", cu_type(want), value);
    return value;
}

static void assign_values(struct cu_unit *u)
{
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        if (!cu_is_aggregate(u) || cu_is_stored(u, i))
            cu_line(u->out, "%s = %s;", cu_out_name(u, i), cu_out_value(u, i));
}

/* hdd_put into field and validity of `row`. Where the field cannot be NULL the value is not.
 */
void cu_put_out(struct cu_unit *u, int i)
{
    const struct rt_state *st = cu_sink_state(u);
    int f = cu_out_of(u, i)->field;
    bool field_nullable = st->fields[f].valid_offset >= 0;
    const char *valid = "", *part = cu_out_nullable(u, i) && !field_nullable ? ".v" : "";
    const char *field = cu_field_member(u, st, f, "row");
    if (field_nullable)
        valid = hd_asprintf(u->arena, ", %s", cu_valid_member(u, st, f, "row"));
    cu_line(u->out, "hdd_put(%s%s, %s%s);", field, valid, cu_out_name(u, i), part);
}

static const char *key_names(struct cu_unit *u)
{
    const struct rt_state *st = cu_sink_state(u);
    const char *list = "";
    for (int k = 0; k < st->nkeys; k++)
        for (int i = 0; i < u->pipe->sink.nouts; i++)
            if (cu_out_of(u, i)->field == k)
                list = hd_asprintf(u->arena, "%s%s%s", list, k ? ", " : "", cu_out_name(u, i));
    return list;
}

/* ---- rows ------------------------------------------------------------------------------- */

void cu_copy_fields(struct cu_unit *u)
{
    const struct pl_sink *s = &u->pipe->sink;
    for (int i = 0; i < s->ncopies; i++) {
        const struct pl_copy *c = &s->copies[i];
        const char *from = "nullptr";
        if (c->state >= 0)
            from = hd_asprintf(u->arena, "hdd_bytes_at(%s[%s], %d)", cu_arg(u, c->a_rows), cu_slot(u, c->row_slot),
                               c->from);
        cu_line(u->out, "hdd_copy_fields(hdd_bytes_at(row, %d), %s, %d);", c->to, from, c->bytes);
    }
}

static void sink_rows(struct cu_unit *u)
{
    const struct rt_state *st = cu_sink_state(u);
    declare_values(u);
    cu_guard(u);
    cu_count(u, u->pipe->nsteps);
    assign_values(u);
    for (int i = 0; i < u->pipe->sink.nouts; i++) /* a CSR row without an index matches nothing */
        if (cu_out_nullable(u, i) && st->fields[cu_out_of(u, i)->field].valid_offset < 0)
            cu_line(u->out, "live = live && !hdd_is_null(%s);", cu_out_name(u, i));
    cu_unguard(u);
    if (u->pipe->sink.nouts + u->pipe->sink.ncopies == 0 && st->kind != RT_STATE_HASH) { /* without fields: counted */
        cu_line(u->out, "hdd_append(run, live);");
        return;
    }
    cu_line(u->out, "const i64 place = hdd_append(run, live);");
    cu_open(u->out, "if (place >= 0) {");
    cu_line(u->out, "%s &row = sink[place];", cu_row(u, u->pipe->sink.state));
    if (st->kind == RT_STATE_HASH)
        cu_line(u->out, "row.hash = hdd_hash(%s);", key_names(u));
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        cu_put_out(u, i);
    cu_copy_fields(u);
    cu_close(u->out, "}");
}

/* ---- by index --------------------------------------------------------------------------- */

void cu_sink_index(struct cu_unit *u)
{
    cu_guard(u);
    cu_count(u, u->pipe->nsteps);
    cu_line(u->out, "const u64 index = hdd_index(%s);", cu_expr(u, u->pipe->sink.index));
}

void cu_store_direct(struct cu_unit *u, int i)
{
    const struct pl_sink *s = &u->pipe->sink;
    const char *valid = "";
    if (s->a_valids[i] >= 0)
        valid = hd_asprintf(u->arena, ", %s[index]", cu_arg(u, s->a_valids[i]));
    cu_line(u->out, "hdd_put(%s[index]%s, %s);", cu_arg(u, s->a_fields[i]), valid, cu_out_value(u, i));
}

static void store_array(struct cu_unit *u)
{
    if (u->pipe->framed) {
        cu_store_outs(u, "row");
        return;
    }
    declare_values(u);
    assign_values(u);
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        cu_put_out(u, i);
}

static void sink_indexed(struct cu_unit *u)
{
    const struct pl_sink *s = &u->pipe->sink;
    bool nullable = cu_expr_of(u, s->index)->nullable;
    cu_sink_index(u);
    if (nullable)
        cu_open(u->out, "if (index != ~(u64)0) {");
    if (s->kind == PL_SINK_ARRAY) {
        cu_line(u->out, "%s &row = %s[index];", cu_row(u, s->state), cu_arg(u, s->a_rows));
        store_array(u);
    } else {
        cu_line(u->out, "hdd_set_bit(%s, index);", cu_arg(u, s->a_bits));
        if (u->pipe->framed)
            cu_store_outs(u, "index");
        for (int i = 0; i < s->nouts && s->kind == PL_SINK_DIRECT && !u->pipe->framed; i++)
            cu_store_direct(u, i);
    }
    if (nullable)
        cu_close(u->out, "}");
    cu_unguard(u);
}

/* ---- registers of each thread -------------------------------------------------------------- */

static void sink_scalar(struct cu_unit *u)
{
    cu_guard(u);
    cu_count(u, u->pipe->nsteps);
    cu_take_values(u, "sums", true);
    cu_unguard(u);
}

/* ---- a copy per thread (templates/lanes.cuh) -------------------------------------------- */

static int words_of(const struct cu_unit *u, int i)
{
    const struct pl_out *o = cu_out_of(u, i);
    return cu_sink_state(u)->fields[o->field].phys == RT_I128 && !o->narrow ? 2 : 1;
}

/* First word of out i, with nouts the words of a group. */
static int first_word(const struct cu_unit *u, int i)
{
    int n = 0;
    for (int k = 0; k < i; k++)
        n += words_of(u, k);
    return n;
}

/* The set of groups where out i has a value, "" where it is never NULL. */
static const char *group_set(struct cu_unit *u, int i)
{
    if (cu_sink_state(u)->fields[cu_out_of(u, i)->field].valid_offset < 0)
        return "";
    return hd_asprintf(u->arena, "valid%d", i);
}

static void sink_lanes(struct cu_unit *u)
{
    cu_guard(u);
    cu_count(u, u->pipe->nsteps);
    cu_line(u->out, "const u32 group = (u32)hdd_index(%s);", cu_expr(u, u->pipe->sink.index));
    cu_line(u->out, "u64 *const words = lanes.see(group);");
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        const char *set = group_set(u, i);
        cu_line(u->out, "lanes.template add<%d>(%s, words, %s%s%s%s);", first_word(u, i),
                cu_operation(u, cu_out_of(u, i)), *set ? "group, " : "", set, *set ? ", " : "", cu_out_value(u, i));
    }
    cu_unguard(u);
}

static void flush_lanes(struct cu_unit *u)
{
    const struct rt_state *st = cu_sink_state(u);
    cu_line(u->out, "(void)shared;");
    cu_open(u->out, "for (u32 group = 0; group < lanes.range; group++) {");
    cu_line(u->out, "%s &row = sink[group];", cu_row(u, u->pipe->sink.state));
    cu_open(u->out, "if (!hdd_any(lanes.seen.has(group)))");
    cu_line(u->out, "continue;");
    u->out->indent--;
    cu_line(u->out, "row.present = 1;");
    if (cu_has_sums(u))
        cu_line(u->out, "%s mine;", cu_sums_type(u));
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        const struct pl_out *o = cu_out_of(u, i);
        const char *set = group_set(u, i), *seen = "";
        if (*set)
            seen = hd_asprintf(u->arena, ", %s", cu_seen_bit(u, i, "mine", ", "));
        enum rt_phys p = o->narrow ? RT_I64 : st->fields[o->field].phys;
        cu_line(u->out, "lanes.template take<%d, %s>(group, %s%smine.%s%s);", first_word(u, i), cu_type(p), set,
                *set ? ", " : "", cu_sum_name(u, i), seen);
    }
    if (cu_has_sums(u)) {
        cu_line(u->out, "hdd_combine(*this, mine);");
        cu_open(u->out, "if (hdd_lane() == 0)");
        cu_line(u->out, "add_sums(row, mine);");
        u->out->indent--;
    }
    cu_close(u->out, "}");
}

/* ---- rows in memory --------------------------------------------------------------------- */

/* Once per visit and group: what its first lane stores. */
static void store_first(struct cu_unit *u)
{
    if (u->pipe->sink.kind != PL_SINK_AGG_DENSE)
        return;
    cu_open(u->out, "if (peers.first) {");
    cu_line(u->out, "%s &row = *group;", cu_row(u, u->pipe->sink.state));
    cu_line(u->out, "row.present = 1;");
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        if (cu_is_stored(u, i)) {
            cu_open(u->out, "if (!hdd_is_null(%s))", cu_out_name(u, i));
            cu_add_field(u, i, hd_asprintf(u->arena, "%s.v", cu_out_name(u, i)));
            u->out->indent--;
        }
    cu_close(u->out, "}");
}

/* After `group` is set: lanes of one group combine, then one of them updates the row; those of
 * the held group add to registers and are done. Runs of equal keys (`clustered`) are such
 * lanes. `lanes`: which they are, NULL: not known yet. */
static void update_groups(struct cu_unit *u, const char *lanes)
{
    const struct pl_sink *s = &u->pipe->sink;
    if (s->hot) {
        cu_line(u->out, "%s *const home = group;", cu_row(u, s->state));
        cu_line(u->out, "group = hot.place(home);");
    }
    if (s->hold) {
        cu_line(u->out, "const u32 left = held.take(*this, group, mine);");
        cu_open(u->out, "if (!left)");
        cu_line(u->out, "return;");
        u->out->indent--;
    }
    cu_line(u->out, "const hdd_peers peers(group, %s);",
            !lanes    ? "hdd_same_row(group)"
            : s->hold ? hd_asprintf(u->arena, "%s & left", lanes)
                      : lanes);
    if (s->hot) {
        cu_open(u->out, "if (group == home)");
        cu_line(u->out, "hot.admit(peers, home);");
        u->out->indent--;
    }
    store_first(u);
    if (cu_has_sums(u))
        cu_line(u->out, "%s.update(*this, %sgroup, mine);", s->hold ? "held" : "peers", s->hold ? "peers, " : "");
}

/* ---- runs of equal keys (templates/runs.cuh) -------------------------------------------- */

static void sink_runs(struct cu_unit *u)
{
    cu_sink_index(u);
    cu_line(u->out, "runs.row(*this, index);");
    cu_take_values(u, "runs.now", true);
    cu_unguard(u);
}

void cu_sink_before_rows(struct cu_unit *u)
{
    if (cu_is_runs(u))
        cu_line(u->out, "hdd_runs<%s> runs;", cu_sums_type(u));
}

void cu_sink_after_rows(struct cu_unit *u)
{
    if (cu_is_runs(u))
        cu_line(u->out, "runs.finish(*this);");
}

static void store_run(struct cu_unit *u)
{
    const struct rt_state *st = cu_sink_state(u);
    const char *type = cu_row(u, u->pipe->sink.state);
    cu_line(u->out, "HDD_MEMBER void store_run(%s &to, const %s &from) const", type, cu_sums_type(u));
    cu_open(u->out, "{");
    cu_line(u->out, "%s row = %s();", type, type);
    cu_line(u->out, "row.present = 1;");
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        int f = cu_out_of(u, i)->field;
        cu_line(u->out, "row.%s = from.%s;", cu_field(u, st, f), cu_sum_name(u, i));
        if (cu_may_stay_null(u, i))
            cu_line(u->out, "row.%s = (%s) != 0;", cu_field_valid(u, st, f), cu_seen_bit(u, i, "from", " & "));
    }
    cu_line(u->out, "hdd_store_row(&to, row);");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

void cu_sink_methods(struct cu_unit *u)
{
    if (!cu_has_sums(u))
        return;
    cu_sums_methods(u);
    if (cu_is_runs(u))
        store_run(u);
}

/* ---- copies of rows in shared memory ----------------------------------------------------- */

static bool is_near(const struct cu_unit *u)
{
    return u->pipe->sink.place == PL_PLACE_BLOCK;
}

/* Adds the row `from` of shared memory to the state's `row`. */
static void add_row(struct cu_unit *u)
{
    const struct rt_state *st = cu_sink_state(u);
    if (u->pipe->sink.kind == PL_SINK_AGG_DENSE)
        cu_line(u->out, "row.present = 1;");
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        int f = cu_out_of(u, i)->field;
        bool nullable = cu_may_stay_null(u, i);
        if (cu_is_new(u, i))
            continue;
        if (nullable)
            cu_open(u->out, "if (from.%s)", cu_field_valid(u, st, f));
        cu_add_field(u, i, hd_asprintf(u->arena, "from.%s", cu_field(u, st, f)));
        u->out->indent -= nullable;
    }
}

static void flush_rows(struct cu_unit *u, const char *what, const char *count, const char *used, const char *to)
{
    const char *row = cu_row(u, u->pipe->sink.state);
    cu_line(u->out, "hdd_block_sync();");
    cu_open(u->out, "for (u32 i = hdd_thread(); i < %s; i += HDD_BLOCK) {", count);
    cu_open(u->out, "if (!%s)", used);
    cu_line(u->out, "continue;");
    u->out->indent--;
    cu_line(u->out, "const %s &from = %s.rows[i];", row, what);
    cu_line(u->out, "%s &row = %s;", row, to);
    add_row(u);
    cu_close(u->out, "}");
}

static void flush_near(struct cu_unit *u)
{
    flush_rows(u, "near", "near.range", "near.rows[i].present", "sink[i]");
}

static void flush_hot(struct cu_unit *u)
{
    const char *row = cu_row(u, u->pipe->sink.state);
    flush_rows(u, "shared.hot", "HDD_HOT", "shared.hot.groups[i]",
               hd_asprintf(u->arena, "*reinterpret_cast<%s *>(shared.hot.groups[i])", row));
}

/* "s1_row()" with the far end of its order in every extreme. */
static const char *empty_row(struct cu_unit *u)
{
    const struct rt_state *st = cu_sink_state(u);
    const char *fill = "";
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        const struct pl_out *o = cu_out_of(u, i);
        enum rt_phys p = st->fields[o->field].phys;
        if ((o->fn != FE_AGG_MIN && o->fn != FE_AGG_MAX) || p == RT_I128)
            continue;
        fill = hd_asprintf(u->arena, "%s row.%s = hdd_%s_of<%s>();", fill, cu_field(u, st, o->field),
                           o->fn == FE_AGG_MIN ? "highest" : "lowest", cu_type(p));
    }
    const char *row = cu_row(u, u->pipe->sink.state);
    if (!*fill)
        return hd_asprintf(u->arena, "%s()", row);
    return hd_asprintf(u->arena, "[] { %s row = %s();%s return row; }()", row, row, fill);
}

static void declare_sums(struct cu_unit *u)
{
    if (cu_has_sums(u))
        cu_line(u->out, "%s mine;", cu_sums_type(u));
}

static void sink_dense(struct cu_unit *u)
{
    cu_line(u->out, "%s *group = nullptr;", cu_row(u, u->pipe->sink.state));
    declare_values(u);
    declare_sums(u);
    cu_sink_index(u);
    cu_line(u->out, "group = %s + index;", is_near(u) ? "near.rows" : "sink");
    assign_values(u);
    cu_take_values(u, "mine", false);
    cu_unguard(u);
    update_groups(u, NULL);
}

static void hash_same(struct cu_unit *u)
{
    const struct rt_state *st = cu_sink_state(u);
    cu_open(u->out, "const auto same = [&](u64 r) {");
    for (int k = 0; k < st->nkeys; k++)
        cu_line(u->out, "%shdd_group_eq(%s, %s)%s", k ? "       " : "return ", cu_field_value(u, st, k, "sink[r]"),
                cu_out_name(u, k), k + 1 < st->nkeys ? " &&" : ";");
    cu_close(u->out, "};");
}

static void hash_init(struct cu_unit *u)
{
    cu_open(u->out, "const auto init = [&](u64 r) {");
    cu_line(u->out, "%s &row = sink[r];", cu_row(u, u->pipe->sink.state));
    cu_line(u->out, "row.hash = hash;");
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        if (cu_is_stored(u, i))
            cu_put_out(u, i);
    cu_close(u->out, "};");
}

static void sink_hash(struct cu_unit *u)
{
    declare_values(u);
    declare_sums(u);
    cu_line(u->out, "u64 hash = 0;");
    cu_guard(u);
    cu_count(u, u->pipe->nsteps);
    assign_values(u);
    cu_take_values(u, "mine", false);
    cu_line(u->out, "hash = hdd_hash(%s);", key_names(u));
    cu_unguard(u);
    hash_same(u);
    hash_init(u);
    const char *find = "hdd_groups(run).find(live, hash, same, init);";
    if (!cu_has_sums(u)) {
        cu_line(u->out, "%s", find);
        return;
    }
    cu_line(u->out, "const hdd_found found = %s", find);
    cu_line(u->out, "%s *group = found.place ? sink + (found.place - 1) : nullptr;", cu_row(u, u->pipe->sink.state));
    update_groups(u, "found.lanes");
}

void cu_sink(struct cu_unit *u)
{
    const struct pl_sink *s = &u->pipe->sink;
    cu_unguard(u);
    cu_line(u->out, "// sink: %s, %s", cu_state(u, s->state), rt_state_kind_name(cu_sink_state(u)->kind));
    if (cu_sink_parts(u))
        return;
    switch (s->kind) {
    case PL_SINK_BITMAP:
    case PL_SINK_DIRECT:
    case PL_SINK_ARRAY: sink_indexed(u); return;
    case PL_SINK_ROWS: sink_rows(u); return;
    case PL_SINK_AGG_SCALAR: sink_scalar(u); return;
    case PL_SINK_AGG_DENSE:
        if (s->place == PL_PLACE_LANES)
            sink_lanes(u);
        else if (s->place == PL_PLACE_RUNS)
            sink_runs(u);
        else
            sink_dense(u);
        return;
    case PL_SINK_AGG_HASH: sink_hash(u); return;
    }
    HD_BUG("sink %d", (int)s->kind);
}

/* ---- members ---------------------------------------------------------------------------- */

static bool has_rows(const struct cu_unit *u)
{
    enum pl_sink_kind k = u->pipe->sink.kind;
    return k == PL_SINK_ROWS || cu_is_aggregate(u);
}

void cu_sink_members(struct cu_unit *u, struct cu_out *o)
{
    if (has_rows(u))
        cu_line(o, "%s *const sink;", cu_row(u, u->pipe->sink.state));
    if (u->pipe->sink.kind == PL_SINK_AGG_SCALAR && cu_has_sums(u))
        cu_line(o, "%s sums;", cu_sums_type(u));
    if (u->pipe->sink.hold)
        cu_line(o, "hdd_held<%s, %s> held;", cu_row(u, u->pipe->sink.state), cu_sums_type(u));
    if (u->pipe->sink.hot)
        cu_line(o, "const hdd_hot<%s> hot;", cu_row(u, u->pipe->sink.state));
    if (is_near(u))
        cu_line(o, "const hdd_near<%s> near;", cu_row(u, u->pipe->sink.state));
    if (!has_lanes(u))
        return;
    cu_line(o, "hdd_lane_groups<%d> lanes;", first_word(u, u->pipe->sink.nouts));
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        if (*group_set(u, i))
            cu_line(o, "hdd_group_set %s;", group_set(u, i));
}

const char *cu_sink_initialiser(struct cu_unit *u)
{
    if (!has_rows(u))
        return NULL;
    const char *rows =
        hd_asprintf(u->arena, "sink(reinterpret_cast<%s *>(launch.sink.rows))", cu_row(u, u->pipe->sink.state));
    if (u->pipe->sink.hot)
        return hd_asprintf(u->arena, "%s, hot(shared.hot, %s)", rows, empty_row(u));
    if (is_near(u))
        return hd_asprintf(u->arena, "%s, near(shared.near, launch.sink.capacity, %s)", rows, empty_row(u));
    if (!has_lanes(u))
        return rows;
    return hd_asprintf(u->arena, "%s, lanes(shared.lanes, launch.sink.capacity)", rows);
}

void cu_sink_shared(struct cu_unit *u, struct cu_out *o)
{
    if (u->pipe->sink.kind == PL_SINK_AGG_SCALAR && cu_has_sums(u))
        cu_line(o, "hdd_block_scratch<%s> scratch;", cu_sums_type(u));
    if (u->pipe->sink.hot)
        cu_line(o, "hdd_hot_store<%s> hot;", cu_row(u, u->pipe->sink.state));
    if (is_near(u))
        cu_line(o, "hdd_near_store<%d> near;", u->pipe->sink.near_bytes);
    if (has_lanes(u))
        cu_line(o, "hdd_lane_store<%d> lanes;", u->pipe->sink.lane_words);
}

void cu_sink_finish(struct cu_unit *u)
{
    if (has_lanes(u)) {
        flush_lanes(u);
        return;
    }
    if (is_near(u)) {
        cu_line(u->out, "(void)shared;");
        flush_near(u);
        return;
    }
    if (u->pipe->sink.kind == PL_SINK_AGG_SCALAR && cu_has_sums(u)) {
        cu_line(u->out, "hdd_block_flush(*this, shared.scratch, sums, *sink);");
        return;
    }
    cu_line(u->out, "(void)shared;");
    if (u->pipe->sink.hold)
        cu_line(u->out, "held.release(*this);");
    if (u->pipe->sink.hot)
        flush_hot(u);
}
