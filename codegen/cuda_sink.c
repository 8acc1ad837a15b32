/* Sinks: the last thing that a visit of the deepest level does. Values are computed per row
 * inside the guard into locals; what the warp does together follows with all lanes. */
#include "codegen/cuda_place.h"

/* ---- rows ------------------------------------------------------------------------------- */

static void sink_rows(struct cu_unit *u)
{
    const char *reserve = cu_reserve(u);
    const struct rt_state *st = cu_sink_state(u);
    cu_declare_outs(u);
    cu_guard(u);
    cu_count(u, u->pipeline->nsteps);
    cu_assign_outs(u);
    for (int i = 0; i < u->pipeline->sink.nouts; i++) /* a CSR row without an index matches nothing */
        if (cu_out_nullable(u, i) && st->fields[cu_out_of(u, i)->field].valid_offset < 0)
            cu_line(u->out, "live = live && !hdd_is_null(%s);", cu_out_name(u, i));
    cu_unguard(u);
    /* without fields: counted */
    if (u->pipeline->sink.nouts + u->pipeline->sink.ncopies == 0 && st->kind != RT_STATE_HASH) {
        cu_line(u->out, "%s;", reserve);
        return;
    }
    cu_line(u->out, "const i64 place = %s;", reserve);
    cu_open(u->out, "if (place >= 0) {");
    int piece = u->pipeline->gpu.row_piece;
    if (piece)
        cu_line(u->out, "alignas(%d) %s row{};", piece, cu_row(u, u->pipeline->sink.state));
    else
        cu_line(u->out, "%s &row = sink[place];", cu_row(u, u->pipeline->sink.state));
    if (st->kind == RT_STATE_HASH)
        cu_line(u->out, "row.hash = hdd_hash(%s);", cu_key_names(u));
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        cu_put_out(u, i);
    cu_copy_fields(u);
    if (piece)
        cu_line(u->out, "hdd_put_row<%d>(sink + place, row);", piece);
    cu_close(u->out, "}");
}

/* ---- by index --------------------------------------------------------------------------- */

static void store_array(struct cu_unit *u)
{
    if (u->pipeline->framed) {
        cu_store_outs(u, "row");
        return;
    }
    cu_declare_outs(u);
    cu_assign_outs(u);
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        cu_put_out(u, i);
}

static void sink_indexed(struct cu_unit *u)
{
    const struct pl_sink *s = &u->pipeline->sink;
    bool nullable = cu_expr_of(u, s->index)->nullable;
    cu_sink_index(u);
    if (nullable)
        cu_open(u->out, "if (index != ~(u64)0) {");
    if (s->kind == PL_SINK_ARRAY) {
        cu_line(u->out, "%s &row = %s[index];", cu_row(u, s->state), cu_arg(u, s->a_rows));
        store_array(u);
    } else {
        cu_line(u->out, "hdd_set_bit(%s, index);", cu_arg(u, s->a_bits));
        if (u->pipeline->framed)
            cu_store_outs(u, "index");
        for (int i = 0; i < s->nouts && s->kind == PL_SINK_DIRECT && !u->pipeline->framed; i++)
            cu_store_direct(u, i);
    }
    if (nullable)
        cu_close(u->out, "}");
    cu_unguard(u);
}

/* ---- the place of an aggregate's accumulators ------------------------------------------- */

void cu_sink_choose_places(struct cu_unit *u)
{
    static const struct cu_place *const places[PL_PLACE_COUNT] = {
#define P_PLACE(id, name, sinks, flags, alone, beside, unit, text) [PL_PLACE_##id] = &cu_place_##name,
#include "planner/places.def"
    };
    static const struct cu_place *const caches[PL_CACHE_COUNT] = {
#define P_CACHE(id, name, limit, unit, text) [PL_CACHE_##id] = &cu_cache_##name,
#include "planner/places.def"
    };
    u->place = places[u->pipeline->sink.place];
    for (int k = 0; k < PL_CACHE_COUNT; k++)
        u->caches[k] = u->pipeline->sink.caches[k] ? caches[k] : NULL;
}

enum { MAX_PLACES = 1 + PL_CACHE_COUNT };

/* The place and the caches before it. */
static int places_of(const struct cu_unit *u, const struct cu_place *all[MAX_PLACES])
{
    int n = 0;
    all[n++] = u->place;
    for (int k = 0; k < PL_CACHE_COUNT; k++)
        if (u->caches[k])
            all[n++] = u->caches[k];
    return n;
}

void cu_sink(struct cu_unit *u)
{
    const struct pl_sink *s = &u->pipeline->sink;
    cu_unguard(u);
    cu_line(u->out, "// sink: %s, %s", cu_state(u, s->state), rt_state_kind_name(cu_sink_state(u)->kind));
    if (cu_sink_parts(u))
        return;
    switch (s->kind) {
    case PL_SINK_BITMAP:
    case PL_SINK_DIRECT:
    case PL_SINK_ARRAY: sink_indexed(u); return;
    case PL_SINK_ROWS: sink_rows(u); return;
    case PL_SINK_AGG_SCALAR:
    case PL_SINK_AGG_DENSE:
    case PL_SINK_AGG_HASH: u->place->visit(u); return;
    }
    HD_BUG("sink %d", (int)s->kind);
}

/* ---- members ---------------------------------------------------------------------------- */

static bool has_rows(const struct cu_unit *u)
{
    enum pl_sink_kind k = u->pipeline->sink.kind;
    return k == PL_SINK_ROWS || cu_is_aggregate(u);
}

void cu_sink_members(struct cu_unit *u, struct cu_out *o)
{
    const struct cu_place *all[MAX_PLACES];
    if (has_rows(u))
        cu_line(o, "%s *const sink;", cu_row(u, u->pipeline->sink.state));
    for (int i = 0, n = places_of(u, all); i < n; i++)
        if (all[i]->members)
            all[i]->members(u, o);
}

const char *cu_sink_initialiser(struct cu_unit *u)
{
    const struct cu_place *all[MAX_PLACES];
    if (!has_rows(u))
        return NULL;
    const char *list =
        hd_asprintf(u->arena, "sink(reinterpret_cast<%s *>(launch.sink.rows))", cu_row(u, u->pipeline->sink.state));
    for (int i = 0, n = places_of(u, all); i < n; i++)
        if (all[i]->initialiser)
            list = hd_asprintf(u->arena, "%s, %s", list, all[i]->initialiser(u));
    return list;
}

void cu_sink_shared(struct cu_unit *u, struct cu_out *o)
{
    const struct cu_place *all[MAX_PLACES];
    for (int i = 0, n = places_of(u, all); i < n; i++)
        if (all[i]->shared)
            all[i]->shared(u, o);
}

void cu_sink_methods(struct cu_unit *u)
{
    if (!cu_has_accumulators(u))
        return;
    cu_accumulator_methods(u);
    if (u->place->methods)
        u->place->methods(u);
}

void cu_sink_before_rows(struct cu_unit *u)
{
    if (u->place->before_rows)
        u->place->before_rows(u);
}

void cu_sink_after_rows(struct cu_unit *u)
{
    if (u->place->after_rows)
        u->place->after_rows(u);
}

void cu_sink_finish(struct cu_unit *u)
{
    const struct cu_place *all[MAX_PLACES];
    for (int i = 0, n = places_of(u, all); i < n; i++)
        all[i]->finish(u);
}

const char *cu_sink_header(const struct cu_unit *u)
{
    return u->place->header;
}
