/* Making, finishing and freeing states, by kind. */
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/exec_internal.h"

/* Bits are read as 64-bit words and by vector code: one line more than needed. */
static size_t bitmap_bytes(uint64_t n)
{
    return (size_t)(n + 63) / 64 * 8 + 64;
}

static int init_direct(struct rt_exec *x, struct rt_live *v)
{
    const struct rt_state *s = v->s;
    size_t total = 0, at = 0;
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

static int init_bits(struct rt_exec *x, struct rt_live *v)
{
    const struct rt_state *s = v->s;
    v->nrows = s->range;
    HD_TRY(rt_exec_block(x, s, bitmap_bytes(s->range), true, &v->bits));
    if (s->track_matches)
        HD_TRY(rt_exec_block(x, s, bitmap_bytes(s->range), true, &v->matches));
    return s->kind == RT_STATE_DIRECT ? init_direct(x, v) : 0;
}

static int state_init(struct rt_exec *x, struct rt_live *v)
{
    switch (v->s->kind) {
    case RT_STATE_BITMAP:
    case RT_STATE_DIRECT: return init_bits(x, v);
    case RT_STATE_ROWS:
    case RT_STATE_CSR:
    case RT_STATE_HASH: return rt_rows_init(x, v);
    case RT_STATE_AGG_SCALAR:
    case RT_STATE_AGG_DENSE:
    case RT_STATE_ARRAY: return rt_dense_init(x, v);
    case RT_STATE_AGG_HASH: return rt_agg_hash_init(x, v);
    }
    HD_BUG("state kind %d", (int)v->s->kind);
}

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
    for (size_t i = 0; i < n; i++)
        HD_TRY(state_init(x, &x->live[i]));
    for (size_t w = 0; w < threads; w++) {
        void **local = HD_NEWN(&x->arena, void *, n);
        for (size_t i = 0; i < n; i++)
            local[i] = &x->locals[w * n + i].u;
        x->workers[w].t.local = local;
    }
    return rt_exec_stopped(x) ? -1 : 0;
}

int rt_state_finish(struct rt_exec *x, int state)
{
    struct rt_live *v = &x->live[state];
    int rc = 0;
    HD_ASSERT(!v->finished);
    switch (v->s->kind) {
    case RT_STATE_BITMAP:
    case RT_STATE_DIRECT:
    case RT_STATE_ARRAY: break;
    case RT_STATE_ROWS: rc = rt_rows_finish(x, v); break;
    case RT_STATE_CSR: rc = rt_csr_finish(x, v); break;
    case RT_STATE_HASH: rc = rt_hash_finish(x, v); break;
    case RT_STATE_AGG_SCALAR: rc = rt_scalar_finish(x, v); break;
    case RT_STATE_AGG_DENSE: rc = rt_dense_finish(x, v); break;
    case RT_STATE_AGG_HASH: rc = rt_agg_hash_finish(x, v); break;
    }
    v->finished = true;
    bool rows = v->s->kind == RT_STATE_ROWS || v->s->kind == RT_STATE_CSR || v->s->kind == RT_STATE_HASH;
    if (rc == 0 && rows && v->s->track_matches)
        rc = rt_exec_block(x, v->s, bitmap_bytes(v->nrows), true, &v->matches);
    return rc;
}

void rt_state_free(struct rt_exec *x, int state)
{
    struct rt_live *v = &x->live[state];
    for (int w = 0; v->local && w < x->o.threads; w++) {
        struct rt_local *l = rt_local(x, v, w);
        rt_block_free(&x->memory, &l->buffer);
        rt_block_free(&x->memory, &l->scratch);
    }
    if (v->s && v->s->kind == RT_STATE_AGG_HASH)
        rt_agg_hash_free(x, v);
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
