/* AGG_HASH: groups whose number is not known beforehand.
 *
 * Each worker aggregates into a table of its own, which grows as long as it fits the cache. A
 * full one is flushed: its rows are written out as a *run*, ordered by the top bits of the hash,
 * and it starts empty. At the end the runs of all workers are merged part by part, each part by
 * one thread, whose table again fits the cache. A group occurs at most once in a run, so a hot
 * key costs no more than a cold one. */
#include <stdlib.h>

#include "runtime/base/fault.h"
#include "runtime/cpu/helpers.h"
#include "runtime/exec/keys.h"
#include "runtime/exec/partition.h"

enum {
    FIRST_CAP = 256,
    TABLE_BYTES = 2 << 20,      /* of a worker's table: about a core's own cache */
    TABLE_BYTES_MAX = 16 << 20, /* if the groups are expected to fit in that */
    SMALL = 1 << 14,            /* so few groups in all tables are merged by one thread */
    PART_BITS = 8,
    PARTS = 1 << PART_BITS
};

/* Rows lie in the region of the state, behind one another. */
struct rt_run {
    struct rt_run *next;
    unsigned char *rows;
    uint32_t start[PARTS + 1];
};

static uint64_t part_of(uint64_t hash)
{
    return hash >> (64 - PART_BITS);
}

static uint64_t slot_word(uint64_t hash, uint64_t row)
{
    return (hash >> 32) << 32 | (row + 1);
}

/* ---- A worker's table ------------------------------------------------------------------ */

static void reset(struct rt_local *l)
{
    l->chunk = 0; /* the one empty slot of a table without slots */
    l->u.agg = (struct hdd_agg_local){.slots = &l->chunk};
}

/* Keys are distinct: no comparisons. */
static void fill_slots(struct hdd_agg_local *t, size_t stride)
{
    uint64_t *slots = t->slots;
    const unsigned char *row = t->rows;
    for (uint64_t i = 0; i < t->nrows; i++, row += stride) {
        uint64_t h = rt_row_hash(row), at = h & t->mask;
        while (slots[at])
            at = (at + 1) & t->mask;
        slots[at] = slot_word(h, i);
    }
}

/* zero: generated code expects new rows to be. */
static bool enlarge(struct rt_exec *x, const struct rt_state *s, struct rt_local *l, uint64_t cap, bool zero)
{
    struct rt_block rows, slots;
    struct hdd_agg_local *t = &l->u.agg;
    size_t stride = (size_t)s->stride;
    if (!rt_block_new(&x->memory, cap * stride, zero, &rows))
        return false;
    if (!rt_block_new(&x->memory, cap * 2 * sizeof(uint64_t), true, &slots)) {
        rt_block_free(&x->memory, &rows);
        return false;
    }
    if (t->nrows)
        memcpy(rows.p, t->rows, t->nrows * stride);
    rt_block_free(&x->memory, &l->buffer);
    rt_block_free(&x->memory, &l->scratch);
    l->buffer = rows;
    l->scratch = slots;
    t->rows = rows.p;
    t->slots = slots.p;
    t->mask = cap * 2 - 1;
    t->cap = cap;
    fill_slots(t, stride);
    return true;
}

/* Rows that a worker's table may hold. */
static uint64_t largest_cap(const struct rt_state *s)
{
    uint64_t row = (uint64_t)s->stride + 16, bytes = TABLE_BYTES;
    if (s->est_rows > 0 && s->est_rows * 1.25 * (double)row <= (double)TABLE_BYTES_MAX)
        bytes = HD_MAX(bytes, (uint64_t)(s->est_rows * 1.25 * (double)row));
    uint64_t cap = FIRST_CAP;
    while (cap * 2 * row <= bytes)
        cap *= 2;
    return cap;
}

int rt_agg_hash_init(struct rt_exec *x, struct rt_live *v)
{
    bool runs = v->s->est_rows > (double)largest_cap(v->s); /* of about as many rows */
    for (int w = 0; w < x->o.threads; w++)
        reset(rt_local(x, v, w));
    if (rt_region_reserve(&x->memory, &v->flushed, runs ? (size_t)HD_MIN(v->s->est_rows * v->s->stride, 1e12) : 0))
        return 0;
    rt_exec_raise_memory(x, v->s);
    return -1;
}

/* ---- Runs ------------------------------------------------------------------------------ */

static void count_parts(const struct hdd_agg_local *t, size_t stride, uint32_t *start)
{
    const unsigned char *row = t->rows;
    memset(start, 0, (PARTS + 1) * sizeof *start);
    for (uint64_t i = 0; i < t->nrows; i++, row += stride)
        start[part_of(rt_row_hash(row)) + 1]++;
    for (int k = 0; k < PARTS; k++)
        start[k + 1] += start[k];
}

static void write_run(const struct hdd_agg_local *t, size_t stride, struct rt_run *r)
{
    uint32_t at[PARTS];
    const unsigned char *row = t->rows;
    count_parts(t, stride, r->start);
    memcpy(at, r->start, sizeof at);
    for (uint64_t i = 0; i < t->nrows; i++, row += stride)
        rt_copy_row(r->rows + at[part_of(rt_row_hash(row))]++ * stride, row, stride);
}

static bool flush(struct rt_exec *x, struct rt_live *v, struct rt_local *l)
{
    struct hdd_agg_local *t = &l->u.agg;
    size_t stride = (size_t)v->s->stride;
    if (!rt_memory_reserve(&x->memory, sizeof(struct rt_run)))
        return false;
    struct rt_run *r = hd_try_malloc(sizeof *r);
    if (!r || !(r->rows = rt_region_alloc(&x->memory, &v->flushed, t->nrows * stride))) {
        rt_memory_unreserve(&x->memory, sizeof *r);
        free(r);
        return false;
    }
    write_run(t, stride, r);
    r->next = l->runs;
    l->runs = r;
    memset(t->slots, 0, (t->mask + 1) * sizeof(uint64_t));
    memset(t->rows, 0, t->nrows * stride);
    t->nrows = 0;
    return true;
}

static void free_runs(struct rt_exec *x, struct rt_local *l)
{
    while (l->runs) {
        struct rt_run *r = l->runs;
        l->runs = r->next;
        rt_memory_unreserve(&x->memory, sizeof *r);
        free(r);
    }
}

void rt_agg_hash_free(struct rt_exec *x, struct rt_live *v)
{
    for (int w = 0; v->local && w < x->o.threads; w++)
        free_runs(x, rt_local(x, v, w));
    rt_region_free(&x->memory, &v->flushed);
}

int32_t hdr_agg_grow(struct hdd_thread *t, int32_t state)
{
    struct rt_worker *w = t->exec;
    struct rt_exec *x = w->x;
    struct rt_live *v = &x->live[state];
    struct rt_local *l = rt_local(x, v, t->index);
    uint64_t cap = l->u.agg.cap, max = largest_cap(v->s);
    if (rt_exec_stopped(x))
        return rt_worker_fail(w, RT_FAIL_CANCELLED, state);
    bool ok = cap < max ? enlarge(x, v->s, l, HD_MIN(cap ? cap * 4 : FIRST_CAP, max), true) : flush(x, v, l);
    return ok ? 0 : rt_worker_fail(w, RT_FAIL_MEMORY, state);
}

/* ---- Merging --------------------------------------------------------------------------- */

/* A table of the merge; like a worker's, but found by keys that the runtime compares. */
struct merge_table {
    struct rt_exec *x;
    const struct rt_state *s;
    struct rt_keys keys;
    struct rt_local l; /* its blocks and the table */
};

/* Empties the table; the first time it gets room for cap groups. */
static bool table_start(struct merge_table *t, struct rt_exec *x, const struct rt_state *s, uint64_t cap)
{
    if (t->x) {
        memset(t->l.u.agg.slots, 0, (t->l.u.agg.mask + 1) * sizeof(uint64_t));
        t->l.u.agg.nrows = 0;
        return true;
    }
    *t = (struct merge_table){.x = x, .s = s, .keys = rt_keys(s)};
    reset(&t->l);
    return enlarge(x, s, &t->l, hd_pow2_ceil(HD_MAX(cap, (uint64_t)FIRST_CAP)), false);
}

static void table_free(struct rt_exec *x, struct merge_table *t)
{
    rt_block_free(&x->memory, &t->l.buffer);
    rt_block_free(&x->memory, &t->l.scratch);
}

static void merge_one(struct merge_table *t, const unsigned char *row)
{
    struct hdd_agg_local *a = &t->l.u.agg;
    size_t stride = (size_t)t->s->stride;
    uint64_t *slots = a->slots, h = rt_row_hash(row);
    for (uint64_t at = h & a->mask;; at = (at + 1) & a->mask) {
        uint64_t word = slots[at];
        if (word == 0) {
            rt_copy_row((unsigned char *)a->rows + a->nrows * stride, row, stride);
            slots[at] = slot_word(h, a->nrows++);
            return;
        }
        if (word >> 32 != h >> 32)
            continue;
        unsigned char *other = (unsigned char *)a->rows + ((uint32_t)word - 1) * stride;
        if (rt_row_hash(other) == h && rt_keys_equal(&t->keys, other, row)) {
            rt_merge_row(t->s, other, row);
            return;
        }
    }
}

static bool merge_rows(struct merge_table *t, const unsigned char *rows, uint64_t n)
{
    size_t stride = (size_t)t->s->stride;
    for (uint64_t i = 0; i < n; i++, rows += stride) {
        if (t->l.u.agg.nrows == t->l.u.agg.cap && !enlarge(t->x, t->s, &t->l, t->l.u.agg.cap * 2, false))
            return false;
        merge_one(t, rows);
    }
    return true;
}

/* The groups of a finished table join the others'. */
static bool emit_table(struct merge_table *t, struct rt_live *v)
{
    size_t bytes = t->l.u.agg.nrows * (size_t)t->s->stride;
    void *to = rt_region_alloc(&t->x->memory, &v->region, bytes);
    if (to)
        memcpy(to, t->l.u.agg.rows, bytes);
    return to != NULL;
}

static uint64_t largest_piece(struct rt_exec *x, struct rt_live *v, uint64_t part)
{
    uint64_t n = 0;
    for (int w = 0; w < x->o.threads; w++)
        for (struct rt_run *r = rt_local(x, v, w)->runs; r; r = r->next)
            n = HD_MAX(n, (uint64_t)(r->start[part + 1] - r->start[part]));
    return n;
}

static bool merge_runs(struct merge_table *t, struct rt_live *v, uint64_t part)
{
    size_t stride = (size_t)t->s->stride;
    for (int w = 0; w < t->x->o.threads; w++)
        for (struct rt_run *r = rt_local(t->x, v, w)->runs; r; r = r->next)
            if (!merge_rows(t, r->rows + r->start[part] * stride, r->start[part + 1] - r->start[part]))
                return false;
    return true;
}

struct merge {
    struct rt_live *v;
    struct merge_table *tables; /* per worker, used for one part after the other */
};

static void merge_part(void *context, struct rt_worker *w, uint64_t part)
{
    struct merge *m = context;
    struct merge_table *t = &m->tables[w->t.index];
    uint64_t cap = largest_piece(w->x, m->v, part);
    if (cap == 0)
        return;
    if (!table_start(t, w->x, m->v->s, cap) || !merge_runs(t, m->v, part) || !emit_table(t, m->v))
        rt_exec_raise_memory(w->x, m->v->s);
}

static int merge_parts(struct rt_exec *x, struct rt_live *v)
{
    size_t bytes = (size_t)x->o.threads * sizeof(struct merge_table);
    void *lines = hd_zalloc(&x->arena, bytes + RT_LINE); /* the arena aligns to 16 */
    struct merge m = {v, (void *)hd_align_up((uintptr_t)lines, RT_LINE)};
    int rc = rt_exec_parallel(x, PARTS, merge_part, &m);
    for (int w = 0; w < x->o.threads; w++)
        table_free(x, &m.tables[w]);
    return rc;
}

static void flush_worker(void *context, struct rt_worker *w, uint64_t worker)
{
    struct rt_live *v = context;
    struct rt_local *l = rt_local(w->x, v, (int)worker);
    if (l->u.agg.nrows && !flush(w->x, v, l))
        rt_exec_raise_memory(w->x, v->s);
    rt_block_free(&w->x->memory, &l->buffer);
    rt_block_free(&w->x->memory, &l->scratch);
}

static int merge_large(struct rt_exec *x, struct rt_live *v)
{
    if (!rt_region_reserve(&x->memory, &v->region, atomic_load(&v->flushed.used))) {
        rt_exec_raise_memory(x, v->s);
        return -1;
    }
    HD_TRY(rt_exec_parallel(x, (uint64_t)x->o.threads, flush_worker, v));
    HD_TRY(merge_parts(x, v));
    v->rows = v->region.base;
    v->nrows = atomic_load(&v->region.used) / (uint64_t)v->s->stride;
    rt_agg_hash_free(x, v);
    return 0;
}

/* Into the table of the worker that has most groups. */
static int merge_small(struct rt_exec *x, struct rt_live *v, int first)
{
    struct merge_table t = {.x = x, .s = v->s, .keys = rt_keys(v->s)};
    struct rt_local *l = rt_local(x, v, first);
    t.l = *l;
    bool ok = true;
    for (int w = 0; w < x->o.threads && ok; w++) {
        const struct hdd_agg_local *a = &rt_local(x, v, w)->u.agg;
        if (w != first)
            ok = merge_rows(&t, a->rows, a->nrows);
    }
    *l = t.l;
    v->moved = l->buffer;
    l->buffer = (struct rt_block){.p = NULL};
    v->rows = v->moved.p;
    v->nrows = t.l.u.agg.nrows;
    rt_block_free(&x->memory, &l->scratch);
    if (!ok)
        rt_exec_raise_memory(x, v->s);
    return rt_exec_stopped(x) ? -1 : 0;
}

int rt_agg_hash_merge(struct rt_exec *x, struct rt_live *v)
{
    uint64_t rows = 0, max = 0;
    int first = 0;
    bool runs = false;
    for (int w = 0; w < x->o.threads; w++) {
        const struct rt_local *l = rt_local(x, v, w);
        rows += l->u.agg.nrows;
        runs = runs || l->runs;
        if (l->u.agg.nrows > max) {
            max = l->u.agg.nrows;
            first = w;
        }
    }
    return !runs && (rows == max || rows <= SMALL) ? merge_small(x, v, first) : merge_large(x, v);
}
