/* Making, finishing and freeing states: operations by kind (runtime/states.def), and the walk over a state's
 * list of finishing operations (runtime/finish.def). */
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/exec_internal.h"

/* Bits are read as 64-bit words and by vector code: one line more than needed. */
static size_t bitmap_bytes(uint64_t n)
{
    return (size_t)(n + 63) / 64 * 8 + 64;
}

static int init_bitmap(struct rt_exec *x, struct rt_live *v)
{
    const struct rt_state *s = v->s;
    v->nrows = s->range;
    HD_TRY(rt_exec_block(x, s, bitmap_bytes(s->range), true, &v->bits));
    return s->track_matches ? rt_exec_block(x, s, bitmap_bytes(s->range), true, &v->matches) : 0;
}

static int init_direct(struct rt_exec *x, struct rt_live *v)
{
    const struct rt_state *s = v->s;
    size_t total = 0, at = 0;
    HD_TRY(init_bitmap(x, v));
    v->field = HD_NEWN(&x->arena, unsigned char *, s->nfields);
    v->valid = HD_NEWN(&x->arena, unsigned char *, s->nfields);
    for (int f = 0; f < s->nfields; f++) {
        total += hd_align_up(s->range * (size_t)rt_phys_size(s->fields[f].phys), 64);
        total += s->fields[f].valid_offset >= 0 ? hd_align_up(s->range, 64) : 0;
    }
    HD_TRY(rt_exec_block(x, s, total, true, &v->fields));
    for (int f = 0; f < s->nfields; f++) {
        v->field[f] = (unsigned char *)v->fields.p + at;
        at += hd_align_up(s->range * (size_t)rt_phys_size(s->fields[f].phys), 64);
        if (s->fields[f].valid_offset < 0)
            continue;
        v->valid[f] = (unsigned char *)v->fields.p + at;
        at += hd_align_up(s->range, 64);
    }
    return 0;
}

/* ---- operations by kind ------------------------------------------------------------------ */

/* Pipelines fill states through what they find in hdd_thread.local, and ask for room by calls of their own
 * (hdr_rows_grow, hdr_agg_grow). Memory that every kind may have is freed for all alike. */
struct state_ops {
    int (*init)(struct rt_exec *x, struct rt_live *v);   /* before anything is put into it */
    int (*merge)(struct rt_exec *x, struct rt_live *v);  /* workers' parts become one; aggregates only */
    void (*free)(struct rt_exec *x, struct rt_live *v);  /* what only this kind has; may be NULL */
};

static const struct state_ops bitmap_ops = {.init = init_bitmap};
static const struct state_ops direct_ops = {.init = init_direct};
static const struct state_ops rows_ops = {.init = rt_rows_init};
static const struct state_ops csr_ops = {.init = rt_rows_init};
static const struct state_ops hash_ops = {.init = rt_rows_init};
static const struct state_ops agg_scalar_ops = {.init = rt_scalar_init, .merge = rt_scalar_merge};
static const struct state_ops agg_dense_ops = {.init = rt_dense_init, .merge = rt_dense_merge};
static const struct state_ops agg_hash_ops = {
    .init = rt_agg_hash_init, .merge = rt_agg_hash_merge, .free = rt_agg_hash_free};
static const struct state_ops array_ops = {.init = rt_array_init};

static const struct state_ops *const ops[] = {
#define S_STATE(id, stem, name, filling, aggregate, head) [RT_STATE_##id] = &stem##_ops,
#include "runtime/states.def"
};

int rt_states_init(struct rt_exec *x)
{
    size_t n = (size_t)x->spec->nstates, threads = (size_t)x->o.threads;
    size_t bytes = HD_MAX(n * threads, (size_t)1) * sizeof *x->locals;
    x->live = HD_NEWN(&x->arena, struct rt_live, n);
    x->locals = aligned_alloc(RT_LINE, bytes);
    if (!x->locals) {
        rt_exec_raise_memory(x, NULL);
        return -1;
    }
    memset(x->locals, 0, bytes);
    for (size_t i = 0; i < n; i++) {
        x->live[i].s = &x->spec->states[i];
        x->live[i].local = x->locals + i;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t start = rt_now_ns();
        HD_TRY(ops[x->live[i].s->kind]->init(x, &x->live[i]));
        rt_exec_span(x, RT_SPAN_CLEAR, (int)i, start);
    }
    for (size_t w = 0; w < threads; w++) {
        void **local = HD_NEWN(&x->arena, void *, n);
        for (size_t i = 0; i < n; i++)
            local[i] = &x->locals[w * n + i].u;
        x->workers[w].t.local = local;
    }
    return rt_exec_stopped(x) ? -1 : 0;
}

/* ---- finish ------------------------------------------------------------------------------ */

static int rt_finish_merge(struct rt_exec *x, struct rt_live *v)
{
    return ops[v->s->kind]->merge(x, v);
}

static int rt_finish_matches(struct rt_exec *x, struct rt_live *v)
{
    return rt_exec_block(x, v->s, bitmap_bytes(v->nrows), true, &v->matches);
}

int rt_state_finish(struct rt_exec *x, int state)
{
    static int (*const finish[])(struct rt_exec *, struct rt_live *) = {
#define F_FINISH(id, stem, name) [RT_FINISH_##id] = rt_finish_##stem,
#include "runtime/finish.def"
    };
    struct rt_live *v = &x->live[state];
    HD_ASSERT(!v->finished);
    v->finished = true;
    for (int i = 0; i < v->s->nfinish; i++)
        HD_TRY(finish[v->s->finish[i]](x, v));
    return rt_state_seal(x, v);
}

void rt_state_free(struct rt_exec *x, int state)
{
    struct rt_live *v = &x->live[state];
    for (int w = 0; v->local && w < x->o.threads; w++) {
        struct rt_local *l = rt_local(x, v, w);
        rt_block_free(&x->memory, &l->buffer);
        rt_block_free(&x->memory, &l->scratch);
        rt_stretches_free(x, l);
    }
    if (v->s && ops[v->s->kind]->free)
        ops[v->s->kind]->free(x, v);
    rt_state_free_sums(v);
    rt_region_free(&x->memory, &v->region);
    rt_block_free(&x->memory, &v->moved);
    rt_block_free(&x->memory, &v->bits);
    rt_block_free(&x->memory, &v->fields);
    rt_block_free(&x->memory, &v->matches);
    rt_block_free(&x->memory, &v->offsets);
    rt_block_free(&x->memory, &v->slots);
    rt_block_free(&x->memory, &v->dense);
    v->rows = NULL;
}
