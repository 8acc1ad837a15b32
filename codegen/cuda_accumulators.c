/* Accumulators of aggregates: the structure of what rows of one group add up to, and its methods. */
#include "codegen/cuda_place.h"

/* The operation of templates/accumulate.cuh, as an object. */
const char *cu_operation(struct cu_unit *u, const struct pl_out *o)
{
    enum rt_phys p = cu_sink_state(u)->fields[o->field].phys;
    switch (o->fn) {
    case FE_AGG_COUNT_STAR:
    case FE_AGG_COUNT: return "hdd_sum()";
    case FE_AGG_SUM:
        if (p != RT_I32 && p != RT_I64 && p != RT_I128 && p != RT_F64)
            HD_BUG("sum of %s", rt_phys_name(p));
        return "hdd_sum()";
    case FE_AGG_MIN:
    case FE_AGG_MAX:
        if (p == RT_BOOL)
            HD_BUG("min or max of bool");
        return o->fn == FE_AGG_MIN ? "hdd_minimum{run}" : "hdd_maximum{run}";
    case FE_AGG_BIT_OR: return "hdd_either()";
    case FE_AGG_BIT_XOR: return "hdd_parity()";
    case FE_AGG_ANY: return "hdd_pick()";
#define T_AGG(id, ...) case FE_AGG_##id:
#include "frontend/aggs_said.def"
    case FE_AGG_AVG:
    case FE_AGG_COUNT_OF: break;
    }
    HD_BUG("aggregate function %s in a sink", fe_agg_name(o->fn));
}

/* Without the object: for static members. */
static const char *operation_type(const struct pl_out *o)
{
    if (o->fn == FE_AGG_MIN)
        return "hdd_minimum";
    return o->fn == FE_AGG_MAX ? "hdd_maximum" : "hdd_sum";
}

const char *cu_accumulators_type(struct cu_unit *u)
{
    return hd_asprintf(u->arena, "%s_accumulators", u->name);
}

const char *cu_accumulator_name(struct cu_unit *u, int i)
{
    return hd_asprintf(u->arena, "sum%d_%s", i,
                       cu_word(u->arena, cu_sink_state(u)->fields[cu_out_of(u, i)->field].name, 24));
}

static const char *sum_type(const struct cu_unit *u, int i)
{
    const struct pl_out *o = cu_out_of(u, i);
    return cu_type(u->place->narrow && o->narrow ? RT_I64 : cu_sink_state(u)->fields[o->field].phys);
}

bool cu_may_stay_null(const struct cu_unit *u, int i)
{
    return cu_sink_state(u)->fields[cu_out_of(u, i)->field].valid_offset >= 0;
}

/* "mine.seen0, 4": the word and the bit that say that accumulator i has a value. */
const char *cu_seen_bit(struct cu_unit *u, int i, const char *accumulators, const char *between)
{
    int n = 0;
    for (int k = 0; k < i; k++)
        n += !cu_is_stored(u, k) && cu_may_stay_null(u, k);
    return hd_asprintf(u->arena, "%s.seen%d%s0x%x", accumulators, n / 32, between, 1u << n % 32);
}

static int seen_words(const struct cu_unit *u)
{
    int n = 0;
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        n += !cu_is_stored(u, i) && cu_may_stay_null(u, i);
    return (n + 31) / 32;
}

bool cu_has_accumulators(const struct cu_unit *u)
{
    if (u->pipeline->framed) /* values are added one by one */
        return false;
    for (int i = 0; cu_is_aggregate(u) && i < u->pipeline->sink.nouts; i++)
        if (!cu_is_stored(u, i))
            return true;
    return false;
}

void cu_sink_accumulators(struct cu_unit *u, struct cu_out *o)
{
    if (!cu_has_accumulators(u))
        return;
    cu_line(o, "// What rows of one group add up to.");
    cu_open(o, "struct %s {", cu_accumulators_type(u));
    for (int i = 0; i < u->pipeline->sink.nouts; i++) {
        if (cu_is_stored(u, i))
            continue;
        const char *none = hd_asprintf(u->arena, " = %s::none<%s>()", operation_type(cu_out_of(u, i)), sum_type(u, i));
        cu_line(o, "%s %s%s;", sum_type(u, i), cu_accumulator_name(u, i),
                cu_out_of(u, i)->fn == FE_AGG_ANY ? "{}" : none);
    }
    for (int k = 0; k < seen_words(u); k++)
        cu_line(o, "u32 seen%d = 0;", k);
    cu_close(o, "};");
    cu_blank(o);
}

/* The one value so far (hdd_begin), or one more (hdd_add). */
void cu_accumulate_value(struct cu_unit *u, int i, const char *accumulators, bool more)
{
    const char *op = "", *seen = "";
    bool adds = more && cu_out_of(u, i)->fn != FE_AGG_ANY; /* which is the same again */
    if (adds)
        op = hd_asprintf(u->arena, "%s, ", cu_operation(u, cu_out_of(u, i)));
    if (cu_may_stay_null(u, i))
        seen = hd_asprintf(u->arena, "%s, ", cu_seen_bit(u, i, accumulators, ", "));
    cu_line(u->out, "%s(%s%s.%s, %s%s);", adds ? "hdd_add" : "hdd_begin", op, accumulators, cu_accumulator_name(u, i),
            seen, cu_out_value(u, i));
}

void cu_accumulate_values(struct cu_unit *u, const char *accumulators, bool more)
{
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        if (!cu_is_stored(u, i))
            cu_accumulate_value(u, i, accumulators, more);
}

static void merge_method(struct cu_unit *u)
{
    cu_line(u->out, "HDD_MEMBER void merge(%s &to, const %s &from) const", cu_accumulators_type(u),
            cu_accumulators_type(u));
    cu_open(u->out, "{");
    for (int i = 0; i < u->pipeline->sink.nouts; i++) {
        const char *name = cu_accumulator_name(u, i);
        if (cu_is_stored(u, i))
            continue;
        if (cu_out_of(u, i)->fn == FE_AGG_ANY)
            cu_line(u->out, "to.%s = %s ? from.%s : to.%s;", name, cu_seen_bit(u, i, "from", " & "), name, name);
        else
            cu_line(u->out, "to.%s = %s.of(to.%s, from.%s);", name, cu_operation(u, cu_out_of(u, i)), name, name);
    }
    for (int k = 0; k < seen_words(u); k++)
        cu_line(u->out, "to.seen%d |= from.seen%d;", k, k);
    cu_close(u->out, "}");
    cu_blank(u->out);
}

static void of_lane_method(struct cu_unit *u)
{
    cu_line(u->out, "HDD_MEMBER static %s of_lane(const %s &from, u32 lane)", cu_accumulators_type(u),
            cu_accumulators_type(u));
    cu_open(u->out, "{");
    cu_line(u->out, "%s r;", cu_accumulators_type(u));
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        if (!cu_is_stored(u, i))
            cu_line(u->out, "r.%s = hdd_shuffle(from.%s, lane);", cu_accumulator_name(u, i), cu_accumulator_name(u, i));
    for (int k = 0; k < seen_words(u); k++)
        cu_line(u->out, "r.seen%d = hdd_shuffle(from.seen%d, lane);", k, k);
    cu_line(u->out, "return r;");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

/* Adds a value to a field of `row`; one thread. */
void cu_add_field(struct cu_unit *u, int i, const char *value)
{
    const struct rt_state *st = cu_sink_state(u);
    int f = cu_out_of(u, i)->field;
    const char *valid = "nullptr";
    if (cu_may_stay_null(u, i))
        valid = hd_asprintf(u->arena, "&row.%s", cu_field_valid(u, st, f));
    cu_line(u->out, "%s.into(row.%s, %s, %s);", cu_operation(u, cu_out_of(u, i)), cu_field(u, st, f), valid, value);
}

static void add_accumulators_method(struct cu_unit *u)
{
    cu_line(u->out, "HDD_MEMBER void add_accumulators(%s &row, const %s &from) const",
            cu_row(u, u->pipeline->sink.state), cu_accumulators_type(u));
    cu_open(u->out, "{");
    /* A store to a row that many warps add to holds their additions up. */
    if (u->place->marks && cu_has_flag(cu_sink_state(u))) {
        cu_open(u->out, "if (!row.present)");
        cu_line(u->out, "row.present = 1;");
        u->out->indent--;
    }
    for (int i = 0; i < u->pipeline->sink.nouts; i++) {
        const char *name = cu_accumulator_name(u, i);
        const char *cast = u->place->narrow && cu_out_of(u, i)->narrow ? "(i128)" : "";
        if (cu_is_stored(u, i))
            continue;
        if (cu_may_stay_null(u, i))
            cu_open(u->out, "if (%s)", cu_seen_bit(u, i, "from", " & "));
        else /* a sum, or one of bits: 0 changes nothing */
            cu_open(u->out, "if (from.%s != 0)", name);
        cu_add_field(u, i, hd_asprintf(u->arena, "%sfrom.%s", cast, name));
        u->out->indent--;
    }
    cu_close(u->out, "}");
    cu_blank(u->out);
}

void cu_accumulator_methods(struct cu_unit *u)
{
    merge_method(u);
    of_lane_method(u);
    add_accumulators_method(u);
}
