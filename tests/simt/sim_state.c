#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simt/sim.h"

enum { FIRST_ROWS = 48, FIRST_GROUPS = 40 };

void *sim_alloc(size_t n)
{
    size_t bytes = hd_align_up(n + 1, 64);
    void *p = aligned_alloc(64, bytes);
    if (!p)
        HD_BUG("out of memory");
    return memset(p, 0, bytes);
}

static bool is_aggregate(enum rt_state_kind k)
{
    return k == RT_STATE_AGG_SCALAR || k == RT_STATE_AGG_DENSE || k == RT_STATE_AGG_HASH;
}

/* MIN and MAX accumulators start from the far end of their type (templates/launch.cuh). */
static void init_accumulators(const struct rt_state *s, unsigned char *row)
{
    for (int i = 0; i < s->nfields; i++) {
        bool least = s->merge[i] == RT_MERGE_MIN;
        if (!least && s->merge[i] != RT_MERGE_MAX)
            continue;
        if (s->fields[i].phys == RT_I32) {
            int32_t v = least ? INT32_MAX : INT32_MIN;
            memcpy(row + s->fields[i].offset, &v, sizeof v);
        } else if (s->fields[i].phys == RT_I64) {
            int64_t v = least ? INT64_MAX : INT64_MIN;
            memcpy(row + s->fields[i].offset, &v, sizeof v);
        } else if (s->fields[i].phys == RT_F64) {
            double v = least ? (double)NAN : -(double)INFINITY;
            memcpy(row + s->fields[i].offset, &v, sizeof v);
        }
    }
}

static unsigned char *new_rows(const struct rt_state *s, uint64_t n)
{
    unsigned char *rows = sim_alloc((size_t)(n * (uint64_t)s->stride));
    for (uint64_t i = 0; i < n && is_aggregate(s->kind); i++)
        init_accumulators(s, rows + i * (uint64_t)s->stride);
    return rows;
}

static void init_direct(struct sim_state *v)
{
    const struct rt_state *s = v->s;
    v->field = sim_alloc(sizeof *v->field * (size_t)s->nfields);
    v->valid = sim_alloc(sizeof *v->valid * (size_t)s->nfields);
    for (int i = 0; i < s->nfields; i++) {
        v->field[i] =
            sim_alloc((size_t)(s->range * (uint64_t)rt_phys_size(s->fields[i].phys)));
        if (s->fields[i].valid_offset >= 0)
            v->valid[i] = sim_alloc((size_t)s->range);
    }
}

/* An open-addressing table for the groups that the rows hold. */
static void index_groups(struct sim_state *v)
{
    free(v->groups);
    v->mask = hd_pow2_ceil(v->capacity * 2) - 1;
    v->groups = sim_alloc((size_t)(v->mask + 1) * 8);
    for (uint64_t r = 0; r < v->nrows; r++) {
        uint64_t hash, at;
        memcpy(&hash, v->rows + r * (uint64_t)v->s->stride, 8);
        for (at = hash & v->mask; v->groups[at]; at = (at + 1) & v->mask)
            ;
        v->groups[at] = (hash & ~UINT64_C(0xffffffff)) | (r + 1);
    }
}

static void init_rows(struct sim_state *v)
{
    const struct rt_state *s = v->s;
    v->capacity = HD_MAX((uint64_t)FIRST_ROWS, (uint64_t)s->nvalues);
    v->rows = new_rows(s, v->capacity);
    v->nrows = v->cursor = (uint64_t)s->nvalues;
    if (s->nvalues)
        memcpy(v->rows, s->values, (size_t)s->nvalues * (size_t)s->stride);
}

void sim_state_init(struct sim_state *v, const struct rt_state *s)
{
    *v = (struct sim_state){.s = s};
    switch (s->kind) {
    case RT_STATE_BITMAP:
    case RT_STATE_DIRECT:
        v->bits = sim_alloc((size_t)(s->range + 63) / 64 * 8);
        if (s->kind == RT_STATE_DIRECT)
            init_direct(v);
        return;
    case RT_STATE_ROWS:
    case RT_STATE_CSR:
    case RT_STATE_HASH: init_rows(v); return;
    case RT_STATE_AGG_SCALAR:
    case RT_STATE_AGG_DENSE:
    case RT_STATE_ARRAY:
        v->nrows = v->capacity = v->cursor = s->kind == RT_STATE_AGG_SCALAR ? 1 : s->range;
        v->rows = new_rows(s, v->capacity);
        return;
    case RT_STATE_AGG_HASH:
        v->capacity = FIRST_GROUPS;
        v->rows = new_rows(s, v->capacity);
        index_groups(v);
        return;
    }
    HD_BUG("state kind %d", (int)s->kind);
}

void sim_state_release(struct sim_state *v)
{
    for (int i = 0; v->field && i < v->s->nfields; i++) {
        free(v->field[i]);
        free(v->valid[i]);
    }
    free(v->field);
    free(v->valid);
    free(v->rows);
    free(v->bits);
    free(v->matches);
    free(v->offsets);
    free(v->slots);
    free(v->groups);
    *v = (struct sim_state){.s = v->s};
}

/* ---- overflow --------------------------------------------------------------------------- */

static uint64_t row_bytes(const struct sim_state *v, uint64_t n)
{
    return n * (uint64_t)v->s->stride;
}

struct sim_mark sim_state_mark(const struct sim_state *v)
{
    struct sim_mark m = {.nrows = v->nrows};
    if (v->rows) {
        m.rows = sim_alloc((size_t)row_bytes(v, v->nrows));
        memcpy(m.rows, v->rows, (size_t)row_bytes(v, v->nrows));
    }
    return m;
}

void sim_mark_release(struct sim_mark *m)
{
    free(m->rows);
    m->rows = NULL;
}

bool sim_state_overflowed(const struct sim_state *v)
{
    return v->rows && v->cursor > v->capacity;
}

/* Kernels count what they could not place, so it fits the second time; groups of a table whose
 * slots were used up are an estimate (templates/launch.cuh). */
void sim_state_regrow(struct sim_state *v, const struct sim_mark *m)
{
    bool groups = v->s->kind == RT_STATE_AGG_HASH;
    if (!v->rows) /* indexed: storing again does no harm */
        return;
    v->capacity = HD_MAX(v->capacity, v->cursor);
    free(v->rows);
    v->rows = new_rows(v->s, v->capacity);
    memcpy(v->rows, m->rows, (size_t)row_bytes(v, m->nrows));
    v->nrows = v->cursor = m->nrows;
    if (groups)
        index_groups(v);
}
