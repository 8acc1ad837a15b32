/* What a sink stores or adds up: which values, by which names, and statements that compute and store them. */
#include "codegen/cuda_place.h"

const struct rt_state *cu_sink_state(const struct cu_unit *u)
{
    return &u->spec->states[u->pipeline->sink.state];
}

const struct pl_out *cu_out_of(const struct cu_unit *u, int i)
{
    return &u->pipeline->sink.outs[i];
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
    return u->pipeline->sink.kind == PL_SINK_AGG_HASH && cu_out_of(u, i)->field < cu_sink_state(u)->nkeys;
}

bool cu_is_aggregate(const struct cu_unit *u)
{
    enum pl_sink_kind k = u->pipeline->sink.kind;
    return k == PL_SINK_AGG_SCALAR || k == PL_SINK_AGG_DENSE || k == PL_SINK_AGG_HASH;
}

/* Each visit adds to rows of the state's layout. */
static bool updates_rows(const struct cu_unit *u)
{
    return cu_is_aggregate(u) && u->pipeline->sink.kind != PL_SINK_AGG_SCALAR && u->place->rows;
}

/* The same in all rows of a group, and stored as it is. */
bool cu_is_stored(const struct cu_unit *u, int i)
{
    return is_key(u, i) || (updates_rows(u) && cu_out_of(u, i)->fn == FE_AGG_ANY);
}

/* Written together with the key. */
bool cu_is_new(const struct cu_unit *u, int i)
{
    return u->pipeline->sink.kind == PL_SINK_AGG_HASH && cu_is_stored(u, i);
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

void cu_declare_outs(struct cu_unit *u)
{
    for (int i = 0; i < u->pipeline->sink.nouts; i++) {
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
            return hd_asprintf(u->arena, "(%s)1", cu_type(want));
        if (o->fn == FE_AGG_COUNT)
            return hd_asprintf(u->arena, "hdd_opt<%s>(1, !hdd_is_null(%s))", cu_type(want), cu_expr(u, o->expr));
    }
    const char *value = cu_expr(u, o->expr);
    if (cu_expr_of(u, o->expr)->phys != want)
        value = hd_asprintf(u->arena, "hdd_cast<%s>(%s)", cu_type(want), value);
    return value;
}

void cu_assign_outs(struct cu_unit *u)
{
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
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

const char *cu_key_names(struct cu_unit *u)
{
    const struct rt_state *st = cu_sink_state(u);
    const char *list = "";
    for (int k = 0; k < st->nkeys; k++)
        for (int i = 0; i < u->pipeline->sink.nouts; i++)
            if (cu_out_of(u, i)->field == k)
                list = hd_asprintf(u->arena, "%s%s%s", list, k ? ", " : "", cu_out_name(u, i));
    return list;
}

void cu_copy_fields(struct cu_unit *u)
{
    const struct pl_sink *s = &u->pipeline->sink;
    for (int i = 0; i < s->ncopies; i++) {
        const struct pl_copy *c = &s->copies[i];
        const char *from = "nullptr";
        if (c->state >= 0)
            from = hd_asprintf(u->arena, "hdd_bytes_at(%s[%s], %d)", cu_arg(u, c->a_rows), cu_slot(u, c->row_slot),
                               c->from);
        cu_line(u->out, "hdd_copy_fields(hdd_bytes_at(row, %d), %s, %d);", c->to, from, c->bytes);
    }
}

void cu_sink_index(struct cu_unit *u)
{
    cu_guard(u);
    cu_count(u, u->pipeline->nsteps);
    cu_line(u->out, "const u64 index = hdd_index(%s);", cu_expr(u, u->pipeline->sink.index));
}

void cu_store_direct(struct cu_unit *u, int i)
{
    const struct pl_sink *s = &u->pipeline->sink;
    const char *valid = "";
    if (s->a_valids[i] >= 0)
        valid = hd_asprintf(u->arena, ", %s[index]", cu_arg(u, s->a_valids[i]));
    cu_line(u->out, "hdd_put(%s[index]%s, %s);", cu_arg(u, s->a_fields[i]), valid, cu_out_value(u, i));
}

const char *cu_reserve(struct cu_unit *u)
{
    const struct pl_gpu *g = &u->pipeline->gpu;
    int last = u->pipeline->nlevels - 1;
    if (last > 0 && g->places_ahead)
        return hd_asprintf(u->arena, "places.take(run, live, (u32)queues.level(%d).nodes%s)", last,
                           g->places_of_tile ? " + scan.pending" : "");
    return u->pipeline->spec->row_for_row ? "places.at(run, live, row, scan.pending)"
           : g->places_ahead              ? "places.take(run, live, scan.pending)"
                                          : "hdd_reserve_rows(run, live)";
}
