/* Sinks of framed pipelines: functions write runs of values, and what goes to a group is added value by value, so that
 * no structure of all accumulators exists (templates/parts.cuh). */
#include "codegen/cuda_sink.h"

/* ---- outs ------------------------------------------------------------------------------- */

/* What a row is written with. The other outs are accumulators. */
static bool is_written(const struct cu_unit *u, int i)
{
    return !cu_is_aggregate(u) || cu_is_new(u, i);
}

static int count_written(const struct cu_unit *u, const struct pl_part *p)
{
    int n = 0;
    for (int i = p->first; i < p->end; i++)
        n += is_written(u, i);
    return n;
}

static const struct pl_part *outs_from(const struct cu_unit *u, int first)
{
    const struct pl_part *p = u->pipeline->sink.parts;
    while (p->first != first)
        p++;
    return p;
}

static void store_body(struct cu_unit *u, int first, int unused HD_UNUSED)
{
    const struct pl_part *p = outs_from(u, first);
    u->first_out = first;
    for (int i = p->first; i < p->end; i++) {
        if (!is_written(u, i))
            continue;
        if (u->pipeline->sink.kind == PL_SINK_DIRECT) {
            cu_store_direct(u, i);
            continue;
        }
        enum rt_phys phys = cu_sink_state(u)->fields[u->pipeline->sink.outs[i].field].phys;
        cu_line(u->out, "const %s %s = %s;", cu_value_type(u, phys, cu_out_nullable(u, i)), cu_out_name(u, i),
                cu_out_value(u, i));
        cu_put_out(u, i);
    }
}

static void add_out(struct cu_unit *u, int i)
{
    const struct pl_out *o = &u->pipeline->sink.outs[i];
    const struct rt_field *f = &cu_sink_state(u)->fields[o->field];
    const char *operation = o->fn == FE_AGG_ANY ? "hdd_pick()" : cu_operation(u, o);
    cu_line(u->out, "hdd_add_value<%s>(%s, group_lanes, group, %s, %s, %s);", cu_field_type(f), operation,
            cu_number(u, f->offset), cu_number(u, f->valid_offset), cu_out_name(u, i));
}

static void add_body(struct cu_unit *u, int first, int unused HD_UNUSED)
{
    const struct pl_part *p = outs_from(u, first);
    u->first_out = first;
    for (int i = p->first; i < p->end; i++) {
        enum rt_phys phys = cu_sink_state(u)->fields[u->pipeline->sink.outs[i].field].phys;
        if (!is_written(u, i))
            cu_line(u->out, "hdd_opt<%s> %s{};", cu_type(phys), cu_out_name(u, i));
    }
    cu_open(u->out, "if (group) {");
    for (int i = p->first; i < p->end; i++)
        if (!is_written(u, i))
            cu_line(u->out, "%s = %s;", cu_out_name(u, i), cu_out_value(u, i));
    cu_close(u->out, "}");
    for (int i = p->first; i < p->end; i++)
        if (!is_written(u, i))
            add_out(u, i);
}

void cu_store_outs(struct cu_unit *u, const char *at)
{
    const struct pl_sink *s = &u->pipeline->sink;
    struct cu_call *calls = HD_NEWN(u->arena, struct cu_call, s->nparts + 1);
    if (s->nparts == 0) /* a bitmap has no rows */
        return;
    const char *to =
        s->kind == PL_SINK_DIRECT ? ", u64 index" : hd_asprintf(u->arena, ", %s &row", cu_row(u, s->state));
    int n = 0;
    for (int i = 0; i < s->nparts; i++) {
        const struct cu_function f = {.name = hd_asprintf(u->arena, "store%d", s->parts[i].first),
                                      .type = "void",
                                      .params = cu_frame_param(u, to),
                                      .body = store_body,
                                      .what = s->parts[i].first};
        if (count_written(u, &s->parts[i]))
            calls[n++] = cu_define(u, &f);
    }
    cu_print_calls(u, "", calls, n, hd_asprintf(u->arena, "frame, %s", at));
}

static void call_adds(struct cu_unit *u)
{
    const struct pl_sink *s = &u->pipeline->sink;
    struct cu_call *calls = HD_NEWN(u->arena, struct cu_call, s->nparts + 1);
    const char *row = cu_row(u, s->state);
    int n = 0;
    for (int i = 0; i < s->nparts; i++) {
        const struct pl_part *p = &s->parts[i];
        const struct cu_function f = {
            .name = hd_asprintf(u->arena, "add%d", p->first),
            .type = "void",
            .params = cu_frame_param(u, hd_asprintf(u->arena, ", %s *group, const hdd_group_lanes &group_lanes", row)),
            .body = add_body,
            .what = p->first};
        if (count_written(u, p) < p->end - p->first)
            calls[n++] = cu_define(u, &f);
    }
    cu_print_calls(u, "", calls, n, "frame, group, group_lanes");
}

/* ---- sinks ------------------------------------------------------------------------------ */

static void sink_rows(struct cu_unit *u)
{
    const struct pl_sink *s = &u->pipeline->sink;
    const struct rt_state *st = cu_sink_state(u);
    const struct cu_keys k = cu_sink_keys(u);
    cu_guard(u);
    cu_count(u, u->pipeline->nsteps);
    for (int i = 0; i < s->nouts; i++) /* a CSR row without an index matches nothing */
        if (cu_out_nullable(u, i) && st->fields[s->outs[i].field].valid_offset < 0)
            cu_line(u->out, "live = live && !hdd_is_null(%s);", cu_out_value(u, i));
    cu_unguard(u);
    cu_line(u->out, "const i64 place = %s;", cu_reserve(u));
    cu_open(u->out, "if (place >= 0) {");
    cu_line(u->out, "%s &row = sink[place];", cu_row(u, s->state));
    if (st->kind == RT_STATE_HASH) {
        cu_line(u->out, "u64 hash = HDD_HASH_SEED;");
        cu_call_hash(u, &k, "hash");
        cu_line(u->out, "row.hash = hash;");
    }
    cu_store_outs(u, "row");
    cu_copy_fields(u);
    cu_close(u->out, "}");
}

/* Sets `group`. */
static void find_hashed(struct cu_unit *u)
{
    const struct cu_keys k = cu_sink_keys(u);
    bool word = cu_sink_state(u)->word;
    cu_line(u->out, "u64 hash = HDD_HASH_SEED;");
    cu_guard(u);
    cu_count(u, u->pipeline->nsteps);
    if (word)
        cu_line(u->out, "hash = (u64)%s;", cu_expr(u, k.exprs[0]));
    else
        cu_call_hash(u, &k, "hash");
    cu_unguard(u);
    if (!word) {
        cu_open(u->out, "const auto same = [&](u64 r) {");
        cu_call_same(u, &k, "sink[r]");
        cu_close(u->out, "};");
    }
    cu_open(u->out, "const auto init = [&](u64 r) {");
    cu_line(u->out, "%s &row = sink[r];", cu_row(u, u->pipeline->sink.state));
    if (!word)
        cu_line(u->out, "row.hash = hash;");
    cu_store_outs(u, "row");
    cu_close(u->out, "};");
    cu_line(u->out, "const hdd_found found = %s", word ? CU_FIND_WORD : CU_FIND_HASH);
    cu_line(u->out, "group = found.place ? sink + (found.place - 1) : nullptr;");
}

static void find_dense(struct cu_unit *u)
{
    cu_sink_index(u);
    cu_line(u->out, "group = sink + index;");
    cu_unguard(u);
}

static void find_scalar(struct cu_unit *u)
{
    cu_guard(u);
    cu_count(u, u->pipeline->nsteps);
    cu_line(u->out, "group = sink;");
    cu_unguard(u);
}

static void sink_groups(struct cu_unit *u)
{
    enum pl_sink_kind kind = u->pipeline->sink.kind;
    cu_line(u->out, "%s *group = nullptr;", cu_row(u, u->pipeline->sink.state));
    if (kind == PL_SINK_AGG_HASH)
        find_hashed(u);
    else if (kind == PL_SINK_AGG_DENSE)
        find_dense(u);
    else
        find_scalar(u);
    cu_line(u->out, "const hdd_group_lanes group_lanes(group, %s);",
            kind == PL_SINK_AGG_HASH ? "found.lanes" : "hdd_same_row(group)");
    if (cu_has_flag(cu_sink_state(u))) {
        cu_open(u->out, "if (group_lanes.first)");
        cu_line(u->out, "group->present = 1;");
        u->out->indent--;
    }
    call_adds(u);
}

bool cu_sink_parts(struct cu_unit *u)
{
    if (!u->pipeline->framed)
        return false;
    if (u->pipeline->sink.kind == PL_SINK_ROWS && u->pipeline->sink.nouts + u->pipeline->sink.ncopies > 0)
        sink_rows(u);
    else if (cu_is_aggregate(u))
        sink_groups(u);
    else
        return false;
    return true;
}
