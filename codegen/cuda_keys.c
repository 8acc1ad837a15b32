/* Keys of hash tables in framed pipelines: hashed and compared by functions of some keys each. */
#include "codegen/cuda_sink.h"

const char *cu_key_equal(const struct pl_step *s, int key)
{
    return pl_null_equal(s, key) ? "hdd_group_eq" : "hdd_key_eq";
}

static struct cu_keys step_keys(const struct cu_unit *u, int number)
{
    const struct pl_step *s = &u->pipeline->steps[number];
    return (struct cu_keys){number, s->state, s->nkeys, s->keys, s};
}

struct cu_keys cu_sink_keys(const struct cu_unit *u)
{
    const struct pl_sink *s = &u->pipeline->sink;
    int n = cu_sink_state(u)->nkeys, *exprs = HD_NEWN(u->arena, int, n + 1);
    for (int i = 0; i < s->nouts; i++)
        if (s->outs[i].field < n)
            exprs[s->outs[i].field] = s->outs[i].expr;
    return (struct cu_keys){u->pipeline->nsteps, s->state, n, exprs, NULL};
}

static struct cu_keys keys_of(const struct cu_unit *u, int number)
{
    return number < u->pipeline->nsteps ? step_keys(u, number) : cu_sink_keys(u);
}

static void hash_body(struct cu_unit *u, int number, int first)
{
    const struct cu_keys k = keys_of(u, number);
    for (int i = first; i < HD_MIN(k.n, first + PL_PART_KEYS); i++)
        cu_line(u->out, "h = hdd_hash_more(h, %s);", cu_expr(u, k.exprs[i]));
    cu_line(u->out, "return h;");
}

static void same_body(struct cu_unit *u, int number, int first)
{
    const struct cu_keys k = keys_of(u, number);
    const struct rt_state *st = &u->spec->states[k.state];
    int end = HD_MIN(k.n, first + PL_PART_KEYS);
    for (int i = first; i < end; i++)
        cu_line(u->out, "%s%s(%s, %s)%s", i > first ? "       " : "return ", cu_key_equal(k.step, i),
                cu_field_value(u, st, i, "row"), cu_expr(u, k.exprs[i]), i + 1 < end ? " &&" : ";");
}

/* Functions of runs of keys. */
static struct cu_call *key_calls(struct cu_unit *u, const struct cu_keys *k, struct cu_function f, const char *name,
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

void cu_call_hash(struct cu_unit *u, const struct cu_keys *k, const char *name)
{
    int n;
    const struct cu_call *calls =
        key_calls(u, k, (struct cu_function){.type = "u64", .params = cu_frame_param(u, ", u64 h"), .body = hash_body},
                  "hash", &n);
    cu_print_calls(u, hd_asprintf(u->arena, "%s = ", name), calls, n, hd_asprintf(u->arena, "frame, %s", name));
}

void cu_call_same(struct cu_unit *u, const struct cu_keys *k, const char *row)
{
    int n;
    const char *params = cu_frame_param(u, hd_asprintf(u->arena, ", const %s &row", cu_row(u, k->state)));
    const struct cu_call *calls =
        key_calls(u, k, (struct cu_function){.type = "bool", .params = params, .body = same_body}, "same", &n);
    cu_line(u->out, "bool equal = true;");
    cu_print_calls(u, "equal = equal && ", calls, n, hd_asprintf(u->arena, "frame, %s", row));
    cu_line(u->out, "return equal;");
}

const char *cu_call_keys(struct cu_unit *u, int step)
{
    const struct cu_keys k = step_keys(u, step);
    const char *hash = hd_asprintf(u->arena, "hash%d", step);
    cu_line(u->out, "u64 %s = HDD_HASH_SEED;", hash);
    cu_call_hash(u, &k, hash);
    cu_open(u->out, "const auto same%d = [&](u32 r) {", step);
    cu_call_same(u, &k, hd_asprintf(u->arena, "%s[r]", cu_arg(u, u->pipeline->steps[step].a_rows)));
    cu_close(u->out, "};");
    return hash;
}
