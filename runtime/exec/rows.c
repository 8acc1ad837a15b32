/* Row buffers: how workers append, how the pieces become one array, order and limit.
 *
 * Workers append to pieces of one region, so nothing is copied to make the rows contiguous
 * except that the unused end of each worker's last piece is filled with rows from the end. A
 * buffer with an order and a small limit works differently: each worker keeps its rows to
 * itself and, when they fill its buffer, drops all but the best. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/helpers.h"
#include "runtime/exec/exec_internal.h"
#include "runtime/exec/sort_packed.h"
#include "runtime/exec/sort_word.h"

enum {
    PIECE_MIN = 16 << 10, /* bytes of a worker's first piece; each next one is twice as large */
    PIECE_MAX = 1 << 20,
    TOPK_MAX = 1 << 16, /* more rows are not worth keeping apart */
    TOPK_ROWS = 2048    /* least rows of a top-k buffer */
};

static uint64_t wanted_rows(const struct rt_state *s)
{
    return s->limit < 0 ? UINT64_MAX : (uint64_t)s->limit + (uint64_t)s->offset;
}

static bool prunes(const struct rt_state *s)
{
    return s->top && s->top->prune;
}

static void prefill(struct rt_exec *x, struct rt_live *v)
{
    size_t bytes = (size_t)v->s->nvalues * (size_t)v->s->stride;
    if (!bytes)
        return;
    void *p = rt_region_alloc(&x->memory, &v->region, bytes);
    if (p)
        memcpy(p, v->s->values, bytes);
    else
        rt_exec_raise_memory(x, v->s);
}

int rt_rows_init(struct rt_exec *x, struct rt_live *v)
{
    const struct rt_state *s = v->s;
    double want = HD_MIN(HD_MAX(s->est_rows, 0.0) * s->stride, 1e12);
    if (!rt_region_reserve(&x->memory, &v->region, (size_t)want)) {
        rt_exec_raise_memory(x, s);
        return -1;
    }
    if (s->nsort) {
        v->sorter = HD_NEW(&x->arena, struct rt_sorter);
        rt_sorter_init(v->sorter, s);
        v->sorter->stopped = &x->failure;
        uint64_t k = wanted_rows(s);
        v->topk = k <= TOPK_MAX ? HD_MAX(k, (uint64_t)1) : 0;
    }
    v->bound = rt_state_no_bound(s);
    prefill(x, v);
    return rt_exec_stopped(x) ? -1 : 0;
}

/* A small limit needs small pieces, or enough rows are noticed late. */
static uint64_t piece_cap(const struct rt_state *s)
{
    uint64_t cap = HD_MAX(PIECE_MAX / (uint64_t)s->stride, (uint64_t)4);
    return s->limit < 0 || s->nsort ? cap : HD_MIN(cap, HD_MAX(wanted_rows(s), (uint64_t)64));
}

/* ---- Top-k ----------------------------------------------------------------------------- */

static int32_t topk_start(struct rt_worker *w, struct rt_live *v, struct rt_local *l, int state)
{
    size_t stride = (size_t)v->s->stride;
    uint64_t rows = HD_MAX(v->topk * (v->topk <= 4096 ? 4 : 2), (uint64_t)TOPK_ROWS);
    if (!rt_block_new(&w->x->memory, rows * stride * 2, false, &l->buffer) ||
        !rt_block_new(&w->x->memory, rows * sizeof(struct rt_sort_entry), false, &l->scratch))
        return rt_worker_fail(w, RT_FAIL_MEMORY, state);
    l->chunk = rows;
    l->kept = 0;
    l->u.rows.cur = l->buffer.p;
    l->u.rows.end = (unsigned char *)l->buffer.p + rows * stride;
    return 0;
}

/* Copies the rows of the first n entries to the other half of the buffer, which becomes the one
 * in use: the halves take turns, so that no row is overwritten before it has moved. */
static void topk_move(struct rt_local *l, size_t stride, size_t n)
{
    const struct rt_sort_entry *e = l->scratch.p;
    size_t half = l->chunk * stride;
    unsigned char *base = l->buffer.p;
    if (l->u.rows.end == base + half)
        base += half;
    for (size_t i = 0; i < n; i++)
        memcpy(base + i * stride, e[i].row, stride);
    l->u.rows.cur = base + n * stride;
    l->u.rows.end = base + half;
}

/* Nothing that sorts behind the k-th row of one worker can be among the first k of all. */
static void tighten(struct rt_live *v, const unsigned char *kth)
{
    const struct rt_sort_key *key = &v->s->sort[0];
    int64_t word = rt_sort_word(v->s, kth);
    uint64_t old = atomic_load_explicit(v->bound_word, memory_order_relaxed);
    while ((key->desc ? word > (int64_t)old : word < (int64_t)old) &&
           !atomic_compare_exchange_weak_explicit(v->bound_word, &old, (uint64_t)word, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

/* Drops what cannot be among the first k rows. The kept ones are at the front, the worst of them
 * last; a new row must beat it. Where few do, they are only moved together. */
static void topk_compact(struct rt_live *v, struct rt_local *l)
{
    const struct rt_sorter *o = v->sorter;
    size_t stride = (size_t)v->s->stride, k = v->topk;
    struct rt_sort_entry *e = l->scratch.p;
    const unsigned char *row = (unsigned char *)l->u.rows.end - l->chunk * stride;
    size_t n = ((size_t)((unsigned char *)l->u.rows.cur - row)) / stride, m = 0;
    for (; m < l->kept; m++, row += stride)
        rt_sort_entry(o, row, &e[m]);
    for (size_t i = l->kept; i < n; i++, row += stride) {
        rt_sort_entry(o, row, &e[m]);
        m += l->kept < k || rt_sort_less(o, &e[m], &e[k - 1]);
    }
    if (m > l->chunk / 2 && m > k) {
        rt_sort_select(o, e, m, k);
        m = k;
        size_t worst = 0;
        for (size_t i = 1; i < m; i++)
            if (rt_sort_less(o, &e[worst], &e[i]))
                worst = i;
        struct rt_sort_entry t = e[worst];
        e[worst] = e[m - 1];
        e[m - 1] = t;
        l->kept = k;
        if (v->bound_word)
            tighten(v, e[m - 1].row);
    }
    topk_move(l, stride, m);
}

static int32_t topk_grow(struct rt_worker *w, struct rt_live *v, struct rt_local *l, int state)
{
    if (!l->buffer.p)
        return topk_start(w, v, l, state);
    topk_compact(v, l);
    return 0;
}

/* ---- Appending ------------------------------------------------------------------------- */

int32_t hdr_rows_grow(struct hdd_thread *t, int32_t state)
{
    struct rt_worker *w = t->exec;
    struct rt_exec *x = w->x;
    struct rt_live *v = &x->live[state];
    struct rt_local *l = rt_local(x, v, t->index);
    size_t stride = (size_t)v->s->stride;
    if (rt_exec_stopped(x))
        return rt_worker_fail(w, RT_FAIL_CANCELLED, state);
    if (v->topk)
        return topk_grow(w, v, l, state);
    if (prunes(v->s))
        return rt_top_grow(w, v, l, state);
    l->chunk = HD_MIN(l->chunk ? l->chunk * 2 : HD_MAX(PIECE_MIN / stride, (size_t)4), piece_cap(v->s));
    unsigned char *p = rt_region_alloc(&x->memory, &v->region, l->chunk * stride);
    if (!p)
        return rt_worker_fail(w, RT_FAIL_MEMORY, state);
    if (rt_morsel_turn(x, l, p) != 0)
        return rt_worker_fail(w, RT_FAIL_MEMORY, state);
    l->u.rows.cur = p;
    l->u.rows.end = p + l->chunk * stride;
    /* All pieces but the last of each worker are full. */
    if (v->s->limit >= 0 && !v->s->nsort && !v->s->single) {
        uint64_t before = atomic_fetch_add(&v->taken, l->chunk);
        uint64_t partial = (uint64_t)x->o.threads * piece_cap(v->s);
        if (before >= partial && before - partial >= wanted_rows(v->s))
            rt_job_enough(x);
    }
    return 0;
}

/* ---- One array ------------------------------------------------------------------------- */

struct hole {
    unsigned char *from, *to;
};

static int compare_holes(const void *a, const void *b)
{
    const struct hole *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Fills the holes with rows from the end; returns the new end. */
static unsigned char *fill_holes(struct hole *h, int n, unsigned char *end)
{
    int first = 0;
    while (first < n) {
        if (h[n - 1].to == end) {
            end = h[--n].from;
            continue;
        }
        size_t room = (size_t)(h[first].to - h[first].from);
        size_t tail = (size_t)(end - h[n - 1].to);
        size_t bytes = HD_MIN(room, tail);
        memcpy(h[first].from, end - bytes, bytes);
        h[first].from += bytes;
        end -= bytes;
        first += h[first].from == h[first].to;
    }
    return end;
}

static int collect_buffers(struct rt_exec *x, struct rt_live *v)
{
    size_t stride = (size_t)v->s->stride;
    for (int w = 0; w < x->o.threads; w++) {
        struct rt_local *l = rt_local(x, v, w);
        if (!l->buffer.p)
            continue;
        if (!v->topk)
            rt_top_prune(v, l);
        const unsigned char *base = (unsigned char *)l->u.rows.end - l->chunk * stride;
        size_t bytes = (size_t)((unsigned char *)l->u.rows.cur - base);
        void *p = rt_region_alloc(&x->memory, &v->region, bytes);
        if (!p) {
            rt_exec_raise_memory(x, v->s);
            return -1;
        }
        memcpy(p, base, bytes);
        rt_block_free(&x->memory, &l->buffer);
        rt_block_free(&x->memory, &l->scratch);
    }
    return 0;
}

int rt_finish_compact(struct rt_exec *x, struct rt_live *v)
{
    bool buffers = v->topk || prunes(v->s), done;
    HD_TRY(rt_rows_concatenate(x, v, &done));
    if (done)
        return 0;
    if (buffers)
        HD_TRY(collect_buffers(x, v));
    struct hole *holes = HD_NEWN(&x->arena, struct hole, x->o.threads);
    unsigned char *end = v->region.base + atomic_load(&v->region.used);
    int n = 0;
    for (int w = 0; w < x->o.threads && !buffers; w++) {
        struct rt_local *l = rt_local(x, v, w);
        if (l->u.rows.cur != l->u.rows.end)
            holes[n++] = (struct hole){l->u.rows.cur, l->u.rows.end};
    }
    qsort(holes, (size_t)n, sizeof *holes, compare_holes);
    end = fill_holes(holes, n, end);
    v->rows = v->region.base;
    v->nrows = (uint64_t)(end - v->rows) / (uint64_t)v->s->stride;
    rt_region_trim(&x->memory, &v->region, (size_t)(end - v->rows));
    return 0;
}

int rt_finish_single(struct rt_exec *x, struct rt_live *v)
{
    if (v->nrows <= 1)
        return 0;
    rt_exec_raise(x, HD_ERR_EXEC, v->s->path, "a scalar subquery gave more than one row");
    return -1;
}

/* The rows that offset and limit leave: how many, from which on. */
static uint64_t left_rows(const struct rt_live *v, uint64_t *offset)
{
    *offset = HD_MIN((uint64_t)HD_MAX(v->s->offset, (int64_t)0), v->nrows);
    return v->s->limit < 0 ? v->nrows - *offset : HD_MIN(v->nrows - *offset, (uint64_t)v->s->limit);
}

int rt_finish_sort(struct rt_exec *x, struct rt_live *v)
{
    uint64_t offset, count = left_rows(v, &offset);
    bool done = false;
    if (v->s->sorted)
        return rt_sort_runs(x, v);
    if (count == v->nrows)
        HD_TRY(rt_sort_in_place(x, v->sorter, v->rows, count, &done));
    if (done)
        return 0;
    HD_TRY(rt_exec_block(x, v->s, count * (size_t)v->s->stride, false, &v->moved));
    HD_TRY(rt_sort_packed(x, v->sorter, v->rows, v->nrows, offset, count, v->moved.p));
    rt_region_free(&x->memory, &v->region);
    v->rows = v->moved.p;
    v->nrows = count;
    return 0;
}

int rt_finish_limit(struct rt_exec *x HD_UNUSED, struct rt_live *v)
{
    uint64_t offset, count = left_rows(v, &offset);
    v->rows += offset * (size_t)v->s->stride;
    v->nrows = count;
    return 0;
}
