/* FINISH of every state: the simplest code that gives the layout of runtime/spec.h. */
#include <stdlib.h>
#include <string.h>

#include "tests/simt/sim.h"

static unsigned char *row_at(const struct sim_state *v, uint64_t r)
{
    return v->rows + r * (uint64_t)v->s->stride;
}

/* ---- CSR: a counting sort by index ------------------------------------------------------ */

static uint64_t index_of(const struct sim_state *v, uint64_t r)
{
    int64_t i;
    memcpy(&i, row_at(v, r) + v->s->fields[0].offset, sizeof i);
    HD_ASSERT(i >= 0 && (uint64_t)i < v->s->range);
    return (uint64_t)i;
}

static void finish_csr(struct sim_state *v)
{
    size_t stride = (size_t)v->s->stride;
    uint64_t range = v->s->range, *next = sim_alloc((size_t)(range + 1) * 8);
    unsigned char *sorted = sim_alloc((size_t)v->nrows * stride);
    v->offsets = sim_alloc((size_t)(range + 1) * 8);
    for (uint64_t r = 0; r < v->nrows; r++)
        v->offsets[index_of(v, r) + 1]++;
    for (uint64_t i = 0; i < range; i++)
        v->offsets[i + 1] += v->offsets[i];
    memcpy(next, v->offsets, (size_t)(range + 1) * 8);
    for (uint64_t r = 0; r < v->nrows; r++)
        memcpy(sorted + next[index_of(v, r)]++ * stride, row_at(v, r), stride);
    free(next);
    free(v->rows);
    v->rows = sorted;
}

/* ---- HASH: rows of equal keys side by side, a slot per key ------------------------------ */

static bool same_text(const unsigned char *a, const unsigned char *b)
{
    uint64_t x[2], y[2];
    memcpy(x, a, 16);
    memcpy(y, b, 16);
    return x[1] == y[1] && (x[1] == 0 || memcmp((void *)(uintptr_t)x[0],
                                                (void *)(uintptr_t)y[0], (size_t)x[1]) == 0);
}

static bool same_f64(const unsigned char *a, const unsigned char *b)
{
    double x, y;
    memcpy(&x, a, 8);
    memcpy(&y, b, 8);
    return x == y || (x != x && y != y);
}

static bool same_key(const struct rt_state *s, const unsigned char *a, const unsigned char *b)
{
    for (int i = 0; i < s->nkeys; i++) {
        const struct rt_field *f = &s->fields[i];
        bool va = f->valid_offset < 0 || a[f->valid_offset];
        bool vb = f->valid_offset < 0 || b[f->valid_offset];
        const unsigned char *x = a + f->offset, *y = b + f->offset;
        if (va != vb)
            return false;
        if (!va)
            continue;
        if (f->phys == RT_STR   ? !same_text(x, y)
            : f->phys == RT_F64 ? !same_f64(x, y)
                                : memcmp(x, y, (size_t)rt_phys_size(f->phys)) != 0)
            return false;
    }
    return true;
}

static uint64_t hash_of(const struct sim_state *v, uint64_t r)
{
    uint64_t h;
    memcpy(&h, row_at(v, r), sizeof h);
    return h;
}

/* Slot of a row's key; begin is the first such row until rows are in place. */
static struct hdd_hash_slot *find_slot(struct sim_state *v, uint64_t r)
{
    uint64_t h = hash_of(v, r);
    for (uint64_t at = h & v->mask;; at = (at + 1) & v->mask) {
        struct hdd_hash_slot *s = &v->slots[at];
        if (s->count == 0) {
            s->tag = (int32_t)(h >> 32);
            s->begin = r;
            return s;
        }
        if (s->tag == (int32_t)(h >> 32) && same_key(v->s, row_at(v, s->begin), row_at(v, r)))
            return s;
    }
}

static void finish_hash(struct sim_state *v)
{
    size_t stride = (size_t)v->s->stride;
    v->mask = hd_pow2_ceil(v->nrows * 2 + 2) - 1;
    v->slots = sim_alloc((size_t)(v->mask + 1) * sizeof *v->slots);
    uint64_t *slot = sim_alloc((size_t)v->nrows * 8), placed = 0;
    bool *first = sim_alloc((size_t)v->nrows);
    for (uint64_t r = 0; r < v->nrows; r++) {
        struct hdd_hash_slot *s = find_slot(v, r);
        slot[r] = (uint64_t)(s - v->slots);
        first[r] = s->count == 0;
        s->count = v->s->dedupe ? 1 : s->count + 1;
    }
    uint64_t *next = sim_alloc((size_t)(v->mask + 1) * 8);
    unsigned char *grouped = sim_alloc((size_t)v->nrows * stride);
    for (uint64_t i = 0; i <= v->mask; i++) {
        if (v->slots[i].count == 0)
            continue;
        next[i] = v->slots[i].begin = placed;
        placed += (uint32_t)v->slots[i].count;
    }
    for (uint64_t r = 0; r < v->nrows; r++)
        if (!v->s->dedupe || first[r])
            memcpy(grouped + next[slot[r]]++ * stride, row_at(v, r), stride);
    free(next);
    free(slot);
    free(first);
    free(v->rows);
    v->rows = grouped;
    v->nrows = placed;
}

int sim_state_finish(struct sim_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    v->nrows = v->cursor;
    switch (s->kind) {
    case RT_STATE_ROWS:
        sim_state_sort(v);
        if (s->single && v->nrows > 1)
            return HD_FAIL(err, EXEC, s->path, "more than one row where one is allowed");
        break;
    case RT_STATE_CSR: finish_csr(v); break;
    case RT_STATE_HASH: finish_hash(v); break;
    case RT_STATE_BITMAP:
    case RT_STATE_DIRECT:
    case RT_STATE_AGG_SCALAR:
    case RT_STATE_AGG_DENSE:
    case RT_STATE_AGG_HASH:
    case RT_STATE_ARRAY: break;
    }
    if (s->track_matches)
        v->matches = sim_alloc((size_t)(HD_MAX(s->range, v->nrows) + 63) / 64 * 8);
    return 0;
}
