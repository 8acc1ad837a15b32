/* Framed pipelines (planner/parts.c): slots are members of a structure in local memory, the frame,
 * and functions that are called (cuda_functions.c) do what would else be one long one. What such a
 * sink adds to a group it adds value by value, so that no structure of all accumulators exists
 * (templates/parts.cuh).
 *
 *   bool steps5(frame, live)         steps 5 and following of a visit; all lanes together
 *   T e12(frame)                     an expression
 *   u64 hash5_0(frame, h)            keys 0 and following of step 5, or of the sink, in a hash
 *   bool same5_0(frame, row)         whether a row has the same
 *   void store8(frame, row | index)  outs 8 and following of the sink
 *   void add8(frame, group, group_lanes)   the same added to the group's row; all lanes together */
#include "codegen/cuda_sink.h"

static bool *slots_set(const struct cu_unit *u)
{
    bool *set = HD_NEWN(u->arena, bool, u->pipeline->nslots + 1);
    set[u->pipeline->source_slot] = true;
    for (int i = 0; i < u->pipeline->nsteps; i++)
        if (u->pipeline->steps[i].slot >= 0)
            set[u->pipeline->steps[i].slot] = true;
    return set;
}

void cu_frame_struct(struct cu_unit *u, struct cu_out *o)
{
    if (!u->pipeline->framed)
        return;
    const bool *set = slots_set(u);
    cu_line(o, "// What the functions of a visit share.");
    cu_open(o, "struct %s_frame {", u->name);
    for (int i = 0; i < u->pipeline->nslots; i++) {
        const struct pl_slot *s = &u->pipeline->slots[i];
        if (set[i])
            cu_line(o, "%s %s;", cu_value_type(u, s->phys, s->nullable), cu_slot_name(u, i));
    }
    cu_close(o, "};");
    cu_blank(o);
}

void cu_declare_frame(struct cu_unit *u)
{
    if (u->pipeline->framed)
        cu_line(u->out, "%s_frame frame;", u->name);
}

static const char *frame_param(struct cu_unit *u, const char *more)
{
    return hd_asprintf(u->arena, "const %s_frame &frame%s", u->name, more);
}

/* ---- steps ------------------------------------------------------------------------------ */

static const struct pl_part *part_from(const struct cu_unit *u, int step)
{
    for (int i = 0; i < u->pipeline->nparts; i++)
        if (u->pipeline->parts[i].first == step)
            return &u->pipeline->parts[i];
    return NULL;
}

static void steps_body(struct cu_unit *u, int first, int unused HD_UNUSED)
{
    int end = part_from(u, first)->end;
    for (int k = first; k < end; k++)
        cu_step(u, &u->pipeline->steps[k], k);
    cu_unguard(u);
    cu_line(u->out, "return hdd_unknown(live);");
}

int cu_call_steps(struct cu_unit *u, int step)
{
    const struct pl_part *p = part_from(u, step);
    if (!p)
        return step;
    const struct pl_part *last = u->pipeline->parts + u->pipeline->nparts;
    struct cu_call *calls = HD_NEWN(u->arena, struct cu_call, u->pipeline->nparts + 1);
    int n = 0;
    cu_unguard(u);
    for (; p < last && p->first == step; step = p++->end) {
        const struct cu_function f = {.name = hd_asprintf(u->arena, "steps%d", step),
                                      .type = "bool",
                                      .params = hd_asprintf(u->arena, "%s_frame &frame, bool live", u->name),
                                      .changes = true,
                                      .body = steps_body,
                                      .what = step};
        calls[n++] = cu_define(u, &f);
    }
    cu_print_calls(u, "live = ", calls, n, "frame, live");
    return step;
}

/* ---- expressions ------------------------------------------------------------------------ */

static void expr_body(struct cu_unit *u, int e, int unused HD_UNUSED)
{
    cu_line(u->out, "return %s;", cu_expr_here(u, e));
}

const char *cu_call_expr(struct cu_unit *u, int e)
{
    const struct pl_expr *x = cu_expr_of(u, e);
    if (!u->expr_calls)
        u->expr_calls = HD_NEWN(u->arena, struct cu_call *, u->prog->nexprs);
    if (!u->expr_calls[e]) {
        const struct cu_function f = {.name = hd_asprintf(u->arena, "e%d", e),
                                      .type = cu_value_type(u, x->phys, x->nullable),
                                      .params = frame_param(u, ""),
                                      .body = expr_body,
                                      .what = e};
        u->expr_calls[e] = HD_NEW(u->arena, struct cu_call);
        *u->expr_calls[e] = cu_define(u, &f);
    }
    return cu_call(u, *u->expr_calls[e], "frame");
}

/* ---- keys of hash tables ---------------------------------------------------------------- */

/* Of a step, or with the number after the last step of the sink. */
struct keys {
    int number, state, n;
    const int *exprs;
    const char *equal; /* hdd_group_eq or hdd_key_eq */
};

static struct keys step_keys(const struct cu_unit *u, int number)
{
    const struct pl_step *s = &u->pipeline->steps[number];
    return (struct keys){number, s->state, s->nkeys, s->keys, s->null_equal ? "hdd_group_eq" : "hdd_key_eq"};
}

static struct keys sink_keys(const struct cu_unit *u)
{
    const struct pl_sink *s = &u->pipeline->sink;
    int n = cu_sink_state(u)->nkeys, *exprs = HD_NEWN(u->arena, int, n + 1);
    for (int i = 0; i < s->nouts; i++)
        if (s->outs[i].field < n)
            exprs[s->outs[i].field] = s->outs[i].expr;
    return (struct keys){u->pipeline->nsteps, s->state, n, exprs, "hdd_group_eq"};
}

static struct keys keys_of(const struct cu_unit *u, int number)
{
    return number < u->pipeline->nsteps ? step_keys(u, number) : sink_keys(u);
}

static void hash_body(struct cu_unit *u, int number, int first)
{
    const struct keys k = keys_of(u, number);
    for (int i = first; i < HD_MIN(k.n, first + PL_PART_KEYS); i++)
        cu_line(u->out, "h = hdd_hash_more(h, %s);", cu_expr(u, k.exprs[i]));
    cu_line(u->out, "return h;");
}

static void same_body(struct cu_unit *u, int number, int first)
{
    const struct keys k = keys_of(u, number);
    const struct rt_state *st = &u->spec->states[k.state];
    int end = HD_MIN(k.n, first + PL_PART_KEYS);
    for (int i = first; i < end; i++)
        cu_line(u->out, "%s%s(%s, %s)%s", i > first ? "       " : "return ", k.equal, cu_field_value(u, st, i, "row"),
                cu_expr(u, k.exprs[i]), i + 1 < end ? " &&" : ";");
}

/* Functions of runs of keys. */
static struct cu_call *key_calls(struct cu_unit *u, const struct keys *k, struct cu_function f, const char *name,
                                 int *n)
{
    struct cu_call *calls = HD_NEWN(u->arena, struct cu_call, k->n + 1);
    *n = 0;
    f.what = k->number;
    for (f.first = 0; f.first < k->n; f.first += PL_PART_KEYS) {
        f.name = hd_asprintf(u->arena, "%s%d_%d", name, k->number, f.first);
        calls[(*n)++] = cu_define(u, &f);
    }
    return calls;
}

static void call_hash(struct cu_unit *u, const struct keys *k, const char *name)
{
    int n;
    const struct cu_call *calls = key_calls(
        u, k, (struct cu_function){.type = "u64", .params = frame_param(u, ", u64 h"), .body = hash_body}, "hash", &n);
    cu_print_calls(u, hd_asprintf(u->arena, "%s = ", name), calls, n, hd_asprintf(u->arena, "frame, %s", name));
}

/* Statements of a lambda. */
static void call_same(struct cu_unit *u, const struct keys *k, const char *row)
{
    int n;
    const char *params = frame_param(u, hd_asprintf(u->arena, ", const %s &row", cu_row(u, k->state)));
    const struct cu_call *calls =
        key_calls(u, k, (struct cu_function){.type = "bool", .params = params, .body = same_body}, "same", &n);
    cu_line(u->out, "bool equal = true;");
    cu_print_calls(u, "equal = equal && ", calls, n, hd_asprintf(u->arena, "frame, %s", row));
    cu_line(u->out, "return equal;");
}

const char *cu_call_keys(struct cu_unit *u, int step)
{
    const struct keys k = step_keys(u, step);
    const char *hash = hd_asprintf(u->arena, "hash%d", step);
    cu_line(u->out, "u64 %s = HDD_HASH_SEED;", hash);
    call_hash(u, &k, hash);
    cu_open(u->out, "const auto same%d = [&](u32 r) {", step);
    call_same(u, &k, hd_asprintf(u->arena, "%s[r]", cu_arg(u, u->pipeline->steps[step].a_rows)));
    cu_close(u->out, "};");
    return hash;
}

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
    cu_line(u->out, "hdd_add_value<%s>(%s, group_lanes, group, %s, %s, %s);", cu_row_type(f->phys), operation,
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
                                      .params = frame_param(u, to),
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
            .params = frame_param(u, hd_asprintf(u->arena, ", %s *group, const hdd_group_lanes &group_lanes", row)),
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
    const struct keys k = sink_keys(u);
    cu_guard(u);
    cu_count(u, u->pipeline->nsteps);
    for (int i = 0; i < s->nouts; i++) /* a CSR row without an index matches nothing */
        if (cu_out_nullable(u, i) && st->fields[s->outs[i].field].valid_offset < 0)
            cu_line(u->out, "live = live && !hdd_is_null(%s);", cu_out_value(u, i));
    cu_unguard(u);
    cu_line(u->out, "const i64 place = hdd_reserve_rows(run, live);");
    cu_open(u->out, "if (place >= 0) {");
    cu_line(u->out, "%s &row = sink[place];", cu_row(u, s->state));
    if (st->kind == RT_STATE_HASH) {
        cu_line(u->out, "u64 hash = HDD_HASH_SEED;");
        call_hash(u, &k, "hash");
        cu_line(u->out, "row.hash = hash;");
    }
    cu_store_outs(u, "row");
    cu_copy_fields(u);
    cu_close(u->out, "}");
}

/* Sets `group`. */
static void find_hashed(struct cu_unit *u)
{
    const struct keys k = sink_keys(u);
    cu_line(u->out, "u64 hash = HDD_HASH_SEED;");
    cu_guard(u);
    cu_count(u, u->pipeline->nsteps);
    call_hash(u, &k, "hash");
    cu_unguard(u);
    cu_open(u->out, "const auto same = [&](u64 r) {");
    call_same(u, &k, "sink[r]");
    cu_close(u->out, "};");
    cu_open(u->out, "const auto init = [&](u64 r) {");
    cu_line(u->out, "%s &row = sink[r];", cu_row(u, u->pipeline->sink.state));
    cu_line(u->out, "row.hash = hash;");
    cu_store_outs(u, "row");
    cu_close(u->out, "};");
    cu_line(u->out, "const hdd_found found = hdd_groups(run).find(live, hash, same, init);");
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
    if (kind == PL_SINK_AGG_DENSE) {
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
