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

static bool is_runs(const struct cu_unit *u)
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
    return is_aggregate(u) && u->pipe->sink.kind != PL_SINK_AGG_SCALAR && !is_runs(u) &&
           !has_lanes(u);
}

/* The same in all rows of a group, and stored as it is. */
static bool is_stored(const struct cu_unit *u, int i)
{
    return is_key(u, i) || (updates_rows(u) && out_of(u, i)->fn == FE_AGG_ANY);
}

/* Written together with the key. */
static bool is_new(const struct cu_unit *u, int i)
{
    return u->pipe->sink.kind == PL_SINK_AGG_HASH && is_stored(u, i);
}

/* ---- values ----------------------------------------------------------------------------- */

/* An accumulator takes values that may be absent: a dead lane, a NULL. Keys and stored fields
 * are as nullable as their expressions. */
static bool value_nullable(const struct cu_unit *u, int i)
{
    const struct pl_out *o = out_of(u, i);
    if (is_aggregate(u) && !is_new(u, i))
        return true;
    return o->expr >= 0 && cu_expr_of(u, o->expr)->nullable;
}

static void declare_values(struct cu_unit *u)
{
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        if (is_aggregate(u) && !is_stored(u, i))
            continue;
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
        if (!is_aggregate(u) || is_stored(u, i))
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

/* Without the object: for static members. */
static const char *operation_type(const struct pl_out *o)
{
    if (o->fn == FE_AGG_MIN)
        return "hdd_least";
    return o->fn == FE_AGG_MAX ? "hdd_most" : "hdd_sum";
}

static const char *sums_type(struct cu_unit *u)
{
    return hd_asprintf(u->arena, "%s_sums", u->name);
}

static const char *sum_name(struct cu_unit *u, int i)
{
    return hd_asprintf(u->arena, "sum%d_%s", i,
                       cu_word(u->arena, sink_state(u)->fields[out_of(u, i)->field].name, 24));
}

static const char *sum_type(const struct cu_unit *u, int i)
{
    const struct pl_out *o = out_of(u, i);
    return cu_type(is_runs(u) && o->narrow ? RT_I64 : sink_state(u)->fields[o->field].phys);
}

static bool may_stay_null(const struct cu_unit *u, int i)
{
    return sink_state(u)->fields[out_of(u, i)->field].valid_offset >= 0;
}

/* "mine.seen0, 4": the word and the bit that say that accumulator i has a value. */
static const char *seen_bit(struct cu_unit *u, int i, const char *sums, const char *between)
{
    int n = 0;
    for (int k = 0; k < i; k++)
        n += !is_stored(u, k) && may_stay_null(u, k);
    return hd_asprintf(u->arena, "%s.seen%d%s0x%x", sums, n / 32, between, 1u << n % 32);
}

static int seen_words(const struct cu_unit *u)
{
    int n = 0;
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        n += !is_stored(u, i) && may_stay_null(u, i);
    return (n + 31) / 32;
}

static bool has_sums(const struct cu_unit *u)
{
    for (int i = 0; is_aggregate(u) && i < u->pipe->sink.nouts; i++)
        if (!is_stored(u, i))
            return true;
    return false;
}

void cu_sink_sums(struct cu_unit *u, struct cu_out *o)
{
    if (!has_sums(u))
        return;
    cu_line(o, "// What rows of one group add up to.");
    cu_open(o, "struct %s {", sums_type(u));
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        if (is_stored(u, i))
            continue;
        const char *none = hd_asprintf(u->arena, " = %s::none<%s>()",
                                       operation_type(out_of(u, i)), sum_type(u, i));
        cu_line(o, "%s %s%s;", sum_type(u, i), sum_name(u, i),
                out_of(u, i)->fn == FE_AGG_ANY ? "{}" : none);
    }
    for (int k = 0; k < seen_words(u); k++)
        cu_line(o, "u32 seen%d = 0;", k);
    cu_close(o, "};");
    cu_blank(o);
}

/* The one value so far (hdd_begin), or one more (hdd_add). */
static void take_value(struct cu_unit *u, int i, const char *sums, bool more)
{
    const char *op = "", *seen = "";
    bool adds = more && out_of(u, i)->fn != FE_AGG_ANY; /* which is the same again */
    if (adds)
        op = hd_asprintf(u->arena, "%s, ", operation(u, out_of(u, i)));
    if (may_stay_null(u, i))
        seen = hd_asprintf(u->arena, "%s, ", seen_bit(u, i, sums, ", "));
    cu_line(u->out, "%s(%s%s.%s, %s%s);", adds ? "hdd_add" : "hdd_begin", op, sums,
            sum_name(u, i), seen, out_value(u, i));
}

static void take_values(struct cu_unit *u, const char *sums, bool more)
{
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        if (!is_stored(u, i))
            take_value(u, i, sums, more);
}

static void join_method(struct cu_unit *u)
{
    cu_line(u->out, "HDD_MEMBER void join(%s &to, const %s &from) const", sums_type(u),
            sums_type(u));
    cu_open(u->out, "{");
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        const char *name = sum_name(u, i);
        if (is_stored(u, i))
            continue;
        if (out_of(u, i)->fn == FE_AGG_ANY)
            cu_line(u->out, "to.%s = %s ? from.%s : to.%s;", name,
                    seen_bit(u, i, "from", " & "), name, name);
        else
            cu_line(u->out, "to.%s = %s.of(to.%s, from.%s);", name, operation(u, out_of(u, i)),
                    name, name);
    }
    for (int k = 0; k < seen_words(u); k++)
        cu_line(u->out, "to.seen%d |= from.seen%d;", k, k);
    cu_close(u->out, "}");
    cu_blank(u->out);
}

static void of_lane_method(struct cu_unit *u)
{
    cu_line(u->out, "HDD_MEMBER static %s of_lane(const %s &from, u32 lane)", sums_type(u),
            sums_type(u));
    cu_open(u->out, "{");
    cu_line(u->out, "%s r;", sums_type(u));
    for (int i = 0; i < u->pipe->sink.nouts; i++)
        if (!is_stored(u, i))
            cu_line(u->out, "r.%s = hdd_shuffle(from.%s, lane);", sum_name(u, i),
                    sum_name(u, i));
    for (int k = 0; k < seen_words(u); k++)
        cu_line(u->out, "r.seen%d = hdd_shuffle(from.seen%d, lane);", k, k);
    cu_line(u->out, "return r;");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

/* Adds a value to a field of `row`; one thread. */
static void add_field(struct cu_unit *u, int i, const char *value)
{
    const struct rt_state *st = sink_state(u);
    int f = out_of(u, i)->field;
    const char *valid = "nullptr";
    if (may_stay_null(u, i))
        valid = hd_asprintf(u->arena, "&row.%s", cu_field_valid(u, st, f));
    cu_line(u->out, "%s.into(row.%s, %s, %s);", operation(u, out_of(u, i)), cu_field(u, st, f),
            valid, value);
}

static void add_sums_method(struct cu_unit *u)
{
    cu_line(u->out, "HDD_MEMBER void add_sums(%s &row, const %s &from) const",
            cu_row(u, u->pipe->sink.state), sums_type(u));
    cu_open(u->out, "{");
    if (is_runs(u)) { /* a store to a row that many warps add to holds their additions up */
        cu_open(u->out, "if (!row.present)");
        cu_line(u->out, "row.present = 1;");
        u->out->indent--;
    }
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        const char *name = sum_name(u, i);
        const char *cast = is_runs(u) && out_of(u, i)->narrow ? "(i128)" : "";
        if (is_stored(u, i))
            continue;
        if (may_stay_null(u, i))
            cu_open(u->out, "if (%s)", seen_bit(u, i, "from", " & "));
        else /* a sum */
            cu_open(u->out, "if (from.%s != 0)", name);
        add_field(u, i, hd_asprintf(u->arena, "%sfrom.%s", cast, name));
        u->out->indent--;
    }
    cu_close(u->out, "}");
    cu_blank(u->out);
}

static void sink_scalar(struct cu_unit *u)
{
    cu_guard(u);
    cu_count(u, u->pipe->nsteps);
    take_values(u, "sums", true);
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
    if (has_sums(u))
        cu_line(u->out, "%s mine;", sums_type(u));
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        const struct pl_out *o = out_of(u, i);
        const char *set = group_set(u, i), *seen = "";
        if (*set)
            seen = hd_asprintf(u->arena, ", %s", seen_bit(u, i, "mine", ", "));
        enum rt_phys p = o->narrow ? RT_I64 : st->fields[o->field].phys;
        cu_line(u->out, "lanes.template take<%d, %s>(group, %s%smine.%s%s);", first_word(u, i),
                cu_type(p), set, *set ? ", " : "", sum_name(u, i), seen);
    }
    if (has_sums(u)) {
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
        if (is_stored(u, i)) {
            cu_open(u->out, "if (!hdd_is_null(%s))", out_name(u, i));
            add_field(u, i, hd_asprintf(u->arena, "%s.v", out_name(u, i)));
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
    if (has_sums(u))
        cu_line(u->out, "%s.update(*this, %sgroup, mine);", s->hold ? "held" : "peers",
                s->hold ? "peers, " : "");
}

/* ---- runs of equal keys (templates/runs.cuh) -------------------------------------------- */

static void sink_runs(struct cu_unit *u)
{
    index_value(u);
    cu_line(u->out, "runs.row(*this, index);");
    take_values(u, "runs.now", true);
    cu_unguard(u);
}

void cu_sink_before_rows(struct cu_unit *u)
{
    if (is_runs(u))
        cu_line(u->out, "hdd_runs<%s> runs;", sums_type(u));
}

void cu_sink_after_rows(struct cu_unit *u)
{
    if (is_runs(u))
        cu_line(u->out, "runs.finish(*this);");
}

static void store_run(struct cu_unit *u)
{
    const struct rt_state *st = sink_state(u);
    const char *type = cu_row(u, u->pipe->sink.state);
    cu_line(u->out, "HDD_MEMBER void store_run(%s &to, const %s &from) const", type,
            sums_type(u));
    cu_open(u->out, "{");
    cu_line(u->out, "%s row = %s();", type, type);
    cu_line(u->out, "row.present = 1;");
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        int f = out_of(u, i)->field;
        cu_line(u->out, "row.%s = from.%s;", cu_field(u, st, f), sum_name(u, i));
        if (may_stay_null(u, i))
            cu_line(u->out, "row.%s = (%s) != 0;", cu_field_valid(u, st, f),
                    seen_bit(u, i, "from", " & "));
    }
    cu_line(u->out, "hdd_store_row(&to, row);");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

void cu_sink_methods(struct cu_unit *u)
{
    if (!has_sums(u))
        return;
    join_method(u);
    of_lane_method(u);
    add_sums_method(u);
    if (is_runs(u))
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
    const struct rt_state *st = sink_state(u);
    if (u->pipe->sink.kind == PL_SINK_AGG_DENSE)
        cu_line(u->out, "row.present = 1;");
    for (int i = 0; i < u->pipe->sink.nouts; i++) {
        int f = out_of(u, i)->field;
        bool nullable = may_stay_null(u, i);
        if (is_new(u, i))
            continue;
        if (nullable)
            cu_open(u->out, "if (from.%s)", cu_field_valid(u, st, f));
        add_field(u, i, hd_asprintf(u->arena, "from.%s", cu_field(u, st, f)));
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

static void declare_sums(struct cu_unit *u)
{
    if (has_sums(u))
        cu_line(u->out, "%s mine;", sums_type(u));
}

static void sink_dense(struct cu_unit *u)
{
    cu_line(u->out, "%s *group = nullptr;", cu_row(u, u->pipe->sink.state));
    declare_values(u);
    declare_sums(u);
    index_value(u);
    cu_line(u->out, "group = %s + index;", is_near(u) ? "near.rows" : "sink");
    assign_values(u);
    take_values(u, "mine", false);
    cu_unguard(u);
    update_groups(u, NULL);
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
        if (is_stored(u, i))
            put(u, i);
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
    take_values(u, "mine", false);
    cu_line(u->out, "hash = hdd_hash(%s);", key_names(u));
    cu_unguard(u);
    hash_same(u);
    hash_init(u);
    const char *find = "hdd_groups(run).find(live, hash, same, init);";
    if (!has_sums(u)) {
        cu_line(u->out, "%s", find);
        return;
    }
    cu_line(u->out, "const hdd_found found = %s", find);
    cu_line(u->out, "%s *group = found.place ? sink + (found.place - 1) : nullptr;",
            cu_row(u, u->pipe->sink.state));
    update_groups(u, "found.lanes");
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

void cu_sink_members(struct cu_unit *u, struct cu_out *o)
{
    if (has_rows(u))
        cu_line(o, "%s *const sink;", cu_row(u, u->pipe->sink.state));
    if (u->pipe->sink.kind == PL_SINK_AGG_SCALAR && has_sums(u))
        cu_line(o, "%s sums;", sums_type(u));
    if (u->pipe->sink.hold)
        cu_line(o, "hdd_held<%s, %s> held;", cu_row(u, u->pipe->sink.state), sums_type(u));
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
    const char *rows = hd_asprintf(u->arena, "sink(reinterpret_cast<%s *>(launch.sink.rows))",
                                   cu_row(u, u->pipe->sink.state));
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
    if (u->pipe->sink.kind == PL_SINK_AGG_SCALAR && has_sums(u))
        cu_line(o, "hdd_block_scratch<%s> scratch;", sums_type(u));
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
    if (u->pipe->sink.kind == PL_SINK_AGG_SCALAR && has_sums(u)) {
        cu_line(u->out, "hdd_block_flush(*this, shared.scratch, sums, *sink);");
        return;
    }
    cu_line(u->out, "(void)shared;");
    if (u->pipe->sink.hold)
        cu_line(u->out, "held.release(*this);");
    if (u->pipe->sink.hot)
        flush_hot(u);
}
