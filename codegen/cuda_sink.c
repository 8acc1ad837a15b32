/* Sinks: the last thing that a visit of the deepest level does. Values are computed per row
 * inside the guard into locals; what the warp does together follows with all lanes. */
#include "codegen/cuda_gen.h"

static const struct rt_state *sink_state(const struct cu_unit *u)
{
    return &u->spec->states[u->pipe->sink.state];
}

static const struct pl_out *out_of(const struct cu_unit *u, int i)
{
    return &u->pipe->sink.outs[i];
}

static const char *out_name(struct cu_unit *u, int i)
{
    const struct rt_field *f = &sink_state(u)->fields[out_of(u, i)->field];
    return hd_asprintf(u->arena, "o%d_%s", i, cu_word(u->arena, f->name, 24));
}

static bool is_key(const struct cu_unit *u, int i)
{
    return u->pipe->sink.kind == PL_SINK_AGG_HASH &&
           out_of(u, i)->field < sink_state(u)->nkeys;
}

static bool is_aggregate(const struct cu_unit *u)
{
    enum pl_sink_kind k = u->pipe->sink.kind;
    return k == PL_SINK_AGG_SCALAR || k == PL_SINK_AGG_DENSE || k == PL_SINK_AGG_HASH;
}

/* ---- values ----------------------------------------------------------------------------- */

/* An accumulator takes values that may be absent: a dead lane, a NULL. Keys and stored fields
 * are as nullable as their expressions. */
static bool value_nullable(const struct cu_unit *u, int i)
{
    const struct pl_out *o = out_of(u, i);
    if (is_aggregate(u) && !is_key(u, i))
        return true;
    return o->expr >= 0 && cu_expr_of(u, o->expr)->nullable;
}

static void declare_values(struct cu_unit *u)
{
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        enum rt_phys p = sink_state(u)->fields[out_of(u, i)->field].phys;
        cu_line(u->out, "%s %s{};", cu_value_type(u, p, value_nullable(u, i)), out_name(u, i));
    }
}

static const char *out_value(struct cu_unit *u, int i)
{
    const struct pl_out *o = out_of(u, i);
    enum rt_phys want = o->narrow ? RT_I64 : sink_state(u)->fields[o->field].phys;
    if (is_aggregate(u) && !is_key(u, i)) {
        if (o->fn == FE_AGG_COUNT_STAR || o->expr < 0)
            return "(i64)1";
        if (o->fn == FE_AGG_COUNT)
            return hd_asprintf(u->arena, "hdd_opt<i64>(1, !hdd_is_null(%s))",
                               cu_expr(u, o->expr));
    }
    const char *value = cu_expr(u, o->expr);
    if (cu_expr_of(u, o->expr)->phys != want)
        value = hd_asprintf(u->arena, "hdd_cast<%s>(%s)", cu_type(want), value);
    return value;
}

static void assign_values(struct cu_unit *u)
{
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        cu_line(u->out, "%s = %s;", out_name(u, i), out_value(u, i));
}

/* hdd_put into field and validity of `row`. Where the field cannot be NULL the value is not.
 */
static void put(struct cu_unit *u, int i)
{
    const struct rt_state *st = sink_state(u);
    int f = out_of(u, i)->field;
    bool field_nullable = st->fields[f].valid_offset >= 0;
    const char *valid = "", *part = value_nullable(u, i) && !field_nullable ? ".v" : "";
    if (field_nullable)
        valid = hd_asprintf(u->arena, ", row.%s", cu_field_valid(u, st, f));
    cu_line(u->out, "hdd_put(row.%s%s, %s%s);", cu_field(u, st, f), valid, out_name(u, i),
            part);
}

static const char *key_names(struct cu_unit *u)
{
    const struct rt_state *st = sink_state(u);
    const char *list = "";
    for (int k = 0; k < st->nkeys; k++)
        for (int i = 0; i < u->pipe->sink.nouts; i++)
            if (out_of(u, i)->field == k)
                list = hd_asprintf(u->arena, "%s%s%s", list, k ? ", " : "", out_name(u, i));
    return list;
}

/* ---- rows ------------------------------------------------------------------------------- */

static void sink_rows(struct cu_unit *u)
{
    const struct rt_state *st = sink_state(u);
    declare_values(u);
    cu_guard(u);
    cu_count(u, u->pipe->nsteps);
    assign_values(u);
    for (int i = 0; i < u->pipe->sink.nouts;
         i++) /* a CSR row without an index matches nothing */
        if (value_nullable(u, i) && st->fields[out_of(u, i)->field].valid_offset < 0)
            cu_line(u->out, "live = live && !hdd_is_null(%s);", out_name(u, i));
    cu_unguard(u);
    if (u->pipe->sink.nouts == 0 && st->kind != RT_STATE_HASH) { /* without fields: counted */
        cu_line(u->out, "hdd_append(run, live);");
        return;
    }
    cu_line(u->out, "const i64 place = hdd_append(run, live);");
    cu_open(u->out, "if (place >= 0) {");
    cu_line(u->out, "%s &row = sink[place];", cu_row(u, u->pipe->sink.state));
    if (st->kind == RT_STATE_HASH)
        cu_line(u->out, "row.hash = hdd_hash(%s);", key_names(u));
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        put(u, i);
    cu_close(u->out, "}");
}

/* ---- by index --------------------------------------------------------------------------- */

static void index_value(struct cu_unit *u)
{
    cu_guard(u);
    cu_count(u, u->pipe->nsteps);
    cu_line(u->out, "const u64 index = hdd_index(%s);", cu_expr(u, u->pipe->sink.index));
}

static void store_direct(struct cu_unit *u, int i)
{
    const struct pl_sink *s = &u->pipe->sink;
    const char *valid = "";
    if (s->a_valids[i] >= 0)
        valid = hd_asprintf(u->arena, ", %s[index]", cu_arg(u, s->a_valids[i]));
    cu_line(u->out, "hdd_put(%s[index]%s, %s);", cu_arg(u, s->a_fields[i]), valid,
            out_value(u, i));
}

static void sink_indexed(struct cu_unit *u)
{
    const struct pl_sink *s = &u->pipe->sink;
    bool nullable = cu_expr_of(u, s->index)->nullable;
    index_value(u);
    if (nullable)
        cu_open(u->out, "if (index != ~(u64)0) {");
    if (s->kind == PL_SINK_ARRAY) {
        cu_line(u->out, "%s &row = %s[index];", cu_row(u, s->state), cu_arg(u, s->a_rows));
        declare_values(u);
        assign_values(u);
        for (int i = 0; i < s->nouts; i++)
            put(u, i);
    } else {
        cu_line(u->out, "hdd_set_bit(%s, index);", cu_arg(u, s->a_bits));
        for (int i = 0; i < s->nouts && s->kind == PL_SINK_DIRECT; i++)
            store_direct(u, i);
    }
    if (nullable)
        cu_close(u->out, "}");
    cu_unguard(u);
}

/* ---- accumulators ----------------------------------------------------------------------- */

/* The operation of templates/accumulate.cuh, as an object. */
static const char *operation(struct cu_unit *u, const struct pl_out *o)
{
    enum rt_phys p = sink_state(u)->fields[o->field].phys;
    switch (o->fn) {
    case FE_AGG_COUNT_STAR:
    case FE_AGG_COUNT: return "hdd_sum()";
    case FE_AGG_SUM:
        if (p != RT_I64 && p != RT_I128 && p != RT_F64)
            HD_BUG("sum of %s", rt_phys_name(p));
        if (!o->fail)
            return "hdd_sum()";
        return hd_asprintf(u->arena, "hdd_sum_checked{run, %d}", o->path);
    case FE_AGG_MIN:
    case FE_AGG_MAX:
        if (p == RT_BOOL)
            HD_BUG("min or max of bool");
        return o->fn == FE_AGG_MIN ? "hdd_least{run}" : "hdd_most{run}";
    case FE_AGG_ANY: return "hdd_pick()";
    case FE_AGG_AVG:
    case FE_AGG_COUNT_OF: break;
    }
    HD_BUG("aggregate function %s in a sink", fe_agg_name(o->fn));
}

static const char *register_name(struct cu_unit *u, int i)
{
    return hd_asprintf(u->arena, "sum%d_%s", i,
                       cu_word(u->arena, sink_state(u)->fields[out_of(u, i)->field].name, 24));
}

static void sink_scalar(struct cu_unit *u)
{
    cu_guard(u);
    cu_count(u, u->pipe->nsteps);
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        cu_line(u->out, "%s.add(%s, %s);", register_name(u, i), operation(u, out_of(u, i)),
                out_value(u, i));
    cu_unguard(u);
}

/* ---- a copy per thread (templates/lanes.cuh) -------------------------------------------- */

static int words_of(const struct cu_unit *u, int i)
{
    const struct pl_out *o = out_of(u, i);
    return sink_state(u)->fields[o->field].phys == RT_I128 && !o->narrow ? 2 : 1;
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
    if (sink_state(u)->fields[out_of(u, i)->field].valid_offset < 0)
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
                operation(u, out_of(u, i)), *set ? "group, " : "", set, *set ? ", " : "",
                out_value(u, i));
    }
    cu_unguard(u);
}

static void flush_lanes(struct cu_unit *u)
{
    const struct rt_state *st = sink_state(u);
    cu_line(u->out, "(void)shared;");
    cu_open(u->out, "for (u32 group = 0; group < lanes.range; group++) {");
    cu_line(u->out, "%s &row = sink[group];", cu_row(u, u->pipe->sink.state));
    cu_open(u->out, "if (!hdd_any(lanes.seen.has(group)))");
    cu_line(u->out, "continue;");
    u->out->indent--;
    cu_line(u->out, "row.present = 1;");
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        const struct pl_out *o = out_of(u, i);
        const char *set = group_set(u, i), *valid = "";
        if (*set)
            valid = hd_asprintf(u->arena, ", &row.%s", cu_field_valid(u, st, o->field));
        enum rt_phys p = o->narrow ? RT_I64 : st->fields[o->field].phys;
        cu_line(u->out, "lanes.template flush<%d, %s>(%s, group, %s%srow.%s%s);",
                first_word(u, i), cu_type(p), operation(u, o), set, *set ? ", " : "",
                cu_field(u, st, o->field), valid);
    }
    cu_close(u->out, "}");
}

/* ---- rows in memory --------------------------------------------------------------------- */

static bool is_held(const struct cu_unit *u, int i)
{
    return u->pipe->sink.hold && !is_key(u, i) && out_of(u, i)->fn != FE_AGG_ANY;
}

/* "&s1_row::f0_sum, &s1_row::f0_sum_valid" */
static const char *field_pointers(struct cu_unit *u, int i)
{
    const struct rt_state *st = sink_state(u);
    int f = out_of(u, i)->field;
    const char *row = cu_row(u, u->pipe->sink.state), *field = cu_field(u, st, f);
    if (st->fields[f].valid_offset < 0)
        return hd_asprintf(u->arena, "&%s::%s", row, field);
    return hd_asprintf(u->arena, "&%s::%s, &%s::%s_valid", row, field, row, field);
}

/* Lanes of the held group add to registers and are done; then the group that fills half of the
 * warp, if it is another, takes its place. */
static void hold_group(struct cu_unit *u)
{
    cu_open(u->out, "if (group && group == held) {");
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        if (is_held(u, i))
            cu_line(u->out, "%s.add(%s, %s);", register_name(u, i), operation(u, out_of(u, i)),
                    out_name(u, i));
    cu_line(u->out, "group = nullptr;");
    cu_close(u->out, "}");
    cu_open(u->out, "if (!hdd_any(group != nullptr))");
    cu_line(u->out, "return;");
    u->out->indent--;
}

static void change_held(struct cu_unit *u)
{
    cu_line(u->out, "%s *const popular = peers.popular(group);",
            cu_row(u, u->pipe->sink.state));
    cu_open(u->out, "if (popular) {");
    cu_line(u->out, "release_held();");
    cu_line(u->out, "held = popular;");
    cu_close(u->out, "}");
}

/* After `group` is set: lanes of one group combine, then one of them updates the row. Runs of
 * equal keys (`clustered`) are such lanes. */
static void update_groups(struct cu_unit *u)
{
    if (u->pipe->sink.hot) {
        cu_line(u->out, "%s *const home = group;", cu_row(u, u->pipe->sink.state));
        cu_line(u->out, "group = hot.place(home);");
    }
    if (u->pipe->sink.hold)
        hold_group(u);
    cu_line(u->out, "const hdd_peers peers(group);");
    if (u->pipe->sink.hot) {
        cu_open(u->out, "if (group == home)");
        cu_line(u->out, "hot.admit(peers, group);");
        u->out->indent--;
    }
    if (u->pipe->sink.hold)
        change_held(u);
    if (u->pipe->sink.kind == PL_SINK_AGG_DENSE) {
        cu_open(u->out, "if (peers.first)");
        cu_line(u->out, "group->present = 1;");
        u->out->indent--;
    }
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        const struct pl_out *o = out_of(u, i);
        if (is_key(u, i))
            continue;
        if (o->fn == FE_AGG_ANY)
            cu_line(u->out, "peers.pick(group, %s, %s);", field_pointers(u, i),
                    out_name(u, i));
        else
            cu_line(u->out, "peers.update(%s, group, %s, %s);", operation(u, o),
                    field_pointers(u, i), out_name(u, i));
    }
}

/* Adds what a register has of a row to it; one thread. */
static void add_field(struct cu_unit *u, int i, const char *row, const char *value)
{
    const struct rt_state *st = sink_state(u);
    int f = out_of(u, i)->field;
    const char *valid = "nullptr", *field = cu_field(u, st, f);
    if (st->fields[f].valid_offset >= 0)
        valid = hd_asprintf(u->arena, "&%s%s_valid", row, field);
    cu_line(u->out, "%s.into(%s%s, %s, %s);", operation(u, out_of(u, i)), row, field, valid,
            value);
}

static void release_method(struct cu_unit *u)
{
    cu_line(u->out, "// Adds what the warp holds to its group's row. Whole warp.");
    cu_line(u->out, "HDD_MEMBER void release_held()");
    cu_open(u->out, "{");
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        if (!is_held(u, i))
            continue;
        const char *name = register_name(u, i);
        cu_line(u->out, "%s.combine(%s);", name, operation(u, out_of(u, i)));
        cu_open(u->out, "if (hdd_lane() == 0 && %s.seen)", name);
        add_field(u, i, "held->", hd_asprintf(u->arena, "%s.v", name));
        u->out->indent--;
        cu_line(u->out, "%s.seen = false;", name);
    }
    cu_close(u->out, "}");
    cu_blank(u->out);
}

/* ---- runs of equal keys (templates/runs.cuh) -------------------------------------------- */

static bool is_runs(const struct cu_unit *u)
{
    return u->pipe->sink.place == PL_PLACE_RUNS;
}

static const char *run_type(const struct cu_unit *u, int i)
{
    const struct pl_out *o = out_of(u, i);
    return cu_type(o->narrow ? RT_I64 : sink_state(u)->fields[o->field].phys);
}

static void sink_runs(struct cu_unit *u)
{
    index_value(u);
    cu_line(u->out, "runs.row(*this, index);");
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        cu_line(u->out, "runs.now.%s.add(%s, %s);", register_name(u, i),
                operation(u, out_of(u, i)), out_value(u, i));
    cu_unguard(u);
}

void cu_sink_before_rows(struct cu_unit *u)
{
    if (is_runs(u))
        cu_line(u->out, "hdd_runs<group_run> runs;");
}

void cu_sink_after_rows(struct cu_unit *u)
{
    if (is_runs(u))
        cu_line(u->out, "runs.finish(*this);");
}

static void run_struct(struct cu_unit *u)
{
    int n = u->pipe->sink.nouts;
    cu_line(u->out, "// What a run of rows of one group adds up to.");
    cu_open(u->out, "struct group_run {");
    for (int i = 0; i < n; i++)
        cu_line(u->out, "hdd_register<%s> %s;", run_type(u, i), register_name(u, i));
    cu_close(u->out, "};");
    cu_blank(u->out);
    cu_line(u->out, "HDD_MEMBER void join(group_run &to, const group_run &from) const");
    cu_open(u->out, "{");
    for (int i = 0; i < n; i++)
        cu_line(u->out, "to.%s.add(%s, from.%s);", register_name(u, i),
                operation(u, out_of(u, i)), register_name(u, i));
    cu_close(u->out, "}");
    cu_blank(u->out);
    cu_line(u->out, "HDD_MEMBER static group_run of_lane(const group_run &from, u32 lane)");
    cu_open(u->out, "{");
    cu_line(u->out, "group_run r;");
    for (int i = 0; i < n; i++)
        cu_line(u->out, "r.%s = from.%s.of_lane(lane);", register_name(u, i),
                register_name(u, i));
    cu_line(u->out, "return r;");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

static void store_run(struct cu_unit *u)
{
    const struct rt_state *st = sink_state(u);
    const char *type = cu_row(u, u->pipe->sink.state);
    cu_line(u->out, "HDD_MEMBER void store_run(u64 group, const group_run &from) const");
    cu_open(u->out, "{");
    cu_line(u->out, "%s row = %s();", type, type);
    cu_line(u->out, "row.present = 1;");
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        int f = out_of(u, i)->field;
        cu_line(u->out, "row.%s = from.%s.v;", cu_field(u, st, f), register_name(u, i));
        if (st->fields[f].valid_offset >= 0)
            cu_line(u->out, "row.%s = from.%s.seen;", cu_field_valid(u, st, f),
                    register_name(u, i));
    }
    cu_line(u->out, "hdd_store_row(sink + group, row);");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

static void add_run(struct cu_unit *u)
{
    cu_line(u->out, "HDD_MEMBER void add_run(u64 group, const group_run &from) const");
    cu_open(u->out, "{");
    cu_line(u->out, "%s &row = sink[group];", cu_row(u, u->pipe->sink.state));
    /* A store to a row that many warps add to holds their additions up. */
    cu_open(u->out, "if (!row.present)");
    cu_line(u->out, "row.present = 1;");
    u->out->indent--;
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        const char *name = register_name(u, i);
        const char *type = cu_type(sink_state(u)->fields[out_of(u, i)->field].phys);
        cu_open(u->out, "if (from.%s.seen)", name);
        add_field(u, i, "row.", hd_asprintf(u->arena, "(%s)from.%s.v", type, name));
        u->out->indent--;
    }
    cu_close(u->out, "}");
    cu_blank(u->out);
}

void cu_sink_methods(struct cu_unit *u)
{
    if (u->pipe->sink.hold)
        release_method(u);
    if (!is_runs(u))
        return;
    run_struct(u);
    store_run(u);
    add_run(u);
}

/* ---- copies of rows in shared memory ----------------------------------------------------- */

static bool is_near(const struct cu_unit *u)
{
    return u->pipe->sink.place == PL_PLACE_BLOCK;
}

/* Adds the row `from` of shared memory to the state's `row`. */
static void add_row(struct cu_unit *u)
{
    const struct rt_state *st = sink_state(u);
    if (u->pipe->sink.kind == PL_SINK_AGG_DENSE)
        cu_line(u->out, "row.present = 1;");
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        int f = out_of(u, i)->field;
        const char *field = cu_field(u, st, f);
        bool nullable = st->fields[f].valid_offset >= 0;
        if (is_key(u, i))
            continue;
        if (nullable)
            cu_open(u->out, "if (from.%s_valid)", field);
        add_field(u, i, "row.", hd_asprintf(u->arena, "from.%s", field));
        u->out->indent -= nullable;
    }
}

static void flush_rows(struct cu_unit *u, const char *what, const char *count,
                       const char *used, const char *to)
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
    const struct rt_state *st = sink_state(u);
    const char *fill = "";
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        const struct pl_out *o = out_of(u, i);
        enum rt_phys p = st->fields[o->field].phys;
        if ((o->fn != FE_AGG_MIN && o->fn != FE_AGG_MAX) || p == RT_I128)
            continue;
        fill = hd_asprintf(u->arena, "%s row.%s = hdd_%s_of<%s>();", fill,
                           cu_field(u, st, o->field),
                           o->fn == FE_AGG_MIN ? "highest" : "lowest", cu_type(p));
    }
    const char *row = cu_row(u, u->pipe->sink.state);
    if (!*fill)
        return hd_asprintf(u->arena, "%s()", row);
    return hd_asprintf(u->arena, "[] { %s row = %s();%s return row; }()", row, row, fill);
}

static void sink_dense(struct cu_unit *u)
{
    cu_line(u->out, "%s *group = nullptr;", cu_row(u, u->pipe->sink.state));
    declare_values(u);
    index_value(u);
    cu_line(u->out, "group = %s + index;", is_near(u) ? "near.rows" : "sink");
    assign_values(u);
    cu_unguard(u);
    update_groups(u);
}

static void hash_same(struct cu_unit *u)
{
    const struct rt_state *st = sink_state(u);
    cu_open(u->out, "const auto same = [&](u64 r) {");
    for (int k = 0; k < st->nkeys; k++)
        cu_line(u->out, "%shdd_group_eq(%s, %s)%s", k ? "       " : "return ",
                cu_field_value(u, st, k, "sink[r]"), out_name(u, k),
                k + 1 < st->nkeys ? " &&" : ";");
    cu_close(u->out, "};");
}

static void hash_init(struct cu_unit *u)
{
    cu_open(u->out, "const auto init = [&](u64 r) {");
    cu_line(u->out, "%s &row = sink[r];", cu_row(u, u->pipe->sink.state));
    cu_line(u->out, "row.hash = hash;");
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        if (is_key(u, i))
            put(u, i);
    cu_close(u->out, "};");
}

static void sink_hash(struct cu_unit *u)
{
    declare_values(u);
    cu_line(u->out, "u64 hash = 0;");
    cu_guard(u);
    cu_count(u, u->pipe->nsteps);
    assign_values(u);
    cu_line(u->out, "hash = hdd_hash(%s);", key_names(u));
    cu_unguard(u);
    hash_same(u);
    hash_init(u);
    cu_line(u->out, "const i64 place = hdd_groups(run).find(live, hash, same, init);");
    cu_line(u->out, "%s *group = place < 0 ? nullptr : sink + place;",
            cu_row(u, u->pipe->sink.state));
    update_groups(u);
}

void cu_sink(struct cu_unit *u)
{
    const struct pl_sink *s = &u->pipe->sink;
    cu_unguard(u);
    cu_line(u->out, "// sink: %s, %s", cu_state(u, s->state),
            rt_state_kind_name(sink_state(u)->kind));
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
    return k == PL_SINK_ROWS || is_aggregate(u);
}

static bool has_lanes(const struct cu_unit *u)
{
    return u->pipe->sink.place == PL_PLACE_LANES;
}

void cu_sink_members(struct cu_unit *u, struct cu_out *o)
{
    if (has_rows(u))
        cu_line(o, "%s *const sink;", cu_row(u, u->pipe->sink.state));
    for (int i = 0; i < u->pipe->sink.nouts && u->pipe->sink.kind == PL_SINK_AGG_SCALAR; i++)
        cu_line(o, "hdd_register<%s> %s;",
                cu_type(sink_state(u)->fields[out_of(u, i)->field].phys), register_name(u, i));
    if (u->pipe->sink.hold)
        cu_line(o, "%s *held;", cu_row(u, u->pipe->sink.state));
    if (u->pipe->sink.hot)
        cu_line(o, "const hdd_hot<%s> hot;", cu_row(u, u->pipe->sink.state));
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        if (is_held(u, i))
            cu_line(o, "hdd_register<%s> %s;",
                    cu_type(sink_state(u)->fields[out_of(u, i)->field].phys),
                    register_name(u, i));
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
    const char *rows = hd_asprintf(u->arena, "sink(reinterpret_cast<%s *>(launch.sink.rows))",
                                   cu_row(u, u->pipe->sink.state));
    if (u->pipe->sink.hold)
        rows = hd_asprintf(u->arena, "%s, held(nullptr)", rows);
    if (u->pipe->sink.hot)
        return hd_asprintf(u->arena, "%s, hot(shared.hot, %s)", rows, empty_row(u));
    if (is_near(u))
        return hd_asprintf(u->arena, "%s, near(shared.near, launch.sink.capacity, %s)", rows,
                           empty_row(u));
    if (!has_lanes(u))
        return rows;
    return hd_asprintf(u->arena, "%s, lanes(shared.lanes, launch.sink.capacity)", rows);
}

void cu_sink_shared(struct cu_unit *u, struct cu_out *o)
{
    if (u->pipe->sink.kind == PL_SINK_AGG_SCALAR)
        cu_line(o, "hdd_block_scratch scratch;");
    if (u->pipe->sink.hot)
        cu_line(o, "hdd_hot_store<%s> hot;", cu_row(u, u->pipe->sink.state));
    if (is_near(u))
        cu_line(o, "hdd_near_store<%d> near;", u->pipe->sink.near_bytes);
    if (has_lanes(u))
        cu_line(o, "hdd_lane_store<%d> lanes;", u->pipe->sink.lane_words);
}

void cu_sink_finish(struct cu_unit *u)
{
    const struct rt_state *st = sink_state(u);
    if (has_lanes(u)) {
        flush_lanes(u);
        return;
    }
    if (is_near(u)) {
        cu_line(u->out, "(void)shared;");
        flush_near(u);
        return;
    }
    if (u->pipe->sink.kind != PL_SINK_AGG_SCALAR || u->pipe->sink.nouts == 0) {
        cu_line(u->out, "(void)shared;");
        if (u->pipe->sink.hold)
            cu_line(u->out, "release_held();");
        if (u->pipe->sink.hot)
            flush_hot(u);
        return;
    }
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        const struct pl_out *o = out_of(u, i);
        const char *field = cu_field(u, st, o->field), *valid = "static_cast<u8 *>(nullptr)";
        if (st->fields[o->field].valid_offset >= 0)
            valid = hd_asprintf(u->arena, "&sink->%s_valid", field);
        cu_line(u->out, "hdd_block_flush(%s, shared.scratch, %s, sink->%s, %s);",
                operation(u, o), register_name(u, i), field, valid);
    }
}
