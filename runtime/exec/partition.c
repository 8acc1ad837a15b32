#include "runtime/exec/partition.h"

#include <math.h>

#include "runtime/cpu/helpers.h"

enum { PART_BYTES = 256 << 10 };

uint64_t rt_hash_value(uint64_t h, enum rt_phys phys, const unsigned char *at)
{
    int32_t i32;
    uint64_t v[2] = {0};
    double d;
    float f;
    struct rt_row_str s;
    switch (phys) {
    case RT_BOOL: return hdd_mix(h ^ *at);
    case RT_I32: memcpy(&i32, at, sizeof i32); return hdd_mix(h ^ (uint64_t)(int64_t)i32);
    case RT_I64: memcpy(v, at, sizeof *v); return hdd_mix(h ^ *v);
    case RT_I128: memcpy(v, at, sizeof v); return hdd_mix(hdd_mix(h ^ v[0]) ^ v[1]);
    case RT_F64:
        memcpy(&d, at, sizeof d);
        memcpy(v, at, sizeof *v);
        return hdd_mix(h ^ (isnan(d) ? UINT64_C(0x7ff8000000000000) : d == 0 ? 0 : *v));
    case RT_F32:
        memcpy(&f, at, sizeof f);
        memcpy(&i32, at, sizeof i32);
        i32 = isnan(f) ? 0x7fc00000 : f == 0 ? 0 : i32;
        return hdd_mix(h ^ (uint64_t)(int64_t)i32);
    case RT_STR:
        memcpy(&s, at, sizeof s);
        return hdd_mix(h ^ (uint64_t)hdr_hash_bytes((void *)(uintptr_t)s.s, (int32_t)s.n));
    }
    HD_BUG("physical type %d", (int)phys);
}

static uint64_t fields_hash(const struct rt_state *s, const unsigned char *row)
{
    uint64_t h = HDD_HASH_SEED;
    for (int i = 0; i < s->partition.nfields; i++) {
        const struct rt_field *f = &s->fields[s->partition.fields[i]];
        bool valid = f->valid_offset < 0 || row[f->valid_offset];
        h = valid ? rt_hash_value(h, f->phys, row + f->offset) : hdd_mix(h ^ HDD_HASH_NULL);
    }
    return h;
}

/* The most frequent kind of a key without loops. */
static inline uint64_t hash_of(const struct rt_state *s, const unsigned char *row)
{
    const struct rt_field *f = &s->fields[s->partition.fields[0]];
    int32_t v;
    if (s->partition.nfields > 1 || f->phys != RT_I32 || f->valid_offset >= 0)
        return fields_hash(s, row);
    memcpy(&v, row + f->offset, sizeof v);
    return hdd_mix(HDD_HASH_SEED ^ (uint64_t)(int64_t)v);
}

static inline uint64_t part_of(const struct rt_parts *p, const unsigned char *row)
{
    uint64_t v;
    if (p->hashed)
        v = hash_of(p->hashed, row);
    else
        memcpy(&v, row + p->offset, sizeof v);
    return (v & p->mask) >> p->shift;
}

struct distribution {
    struct rt_parts *p;
    const unsigned char *rows;
    unsigned char *to;
    size_t stride;
    struct rt_cut cut;
    uint64_t *counts; /* [task][part]; then where the task writes next */
};

int rt_parts_wanted(uint64_t bytes)
{
    uint64_t n = hd_pow2_ceil(HD_MAX(bytes / PART_BYTES, (uint64_t)1));
    return (int)HD_MIN(n, (uint64_t)RT_MAX_PARTS);
}

static void count_rows(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct distribution *d = context;
    uint64_t *counts = d->counts + task * (uint64_t)d->p->n;
    const unsigned char *row = d->rows + task * d->cut.size * d->stride;
    for (uint64_t i = task * d->cut.size; i < rt_cut_end(&d->cut, task); i++, row += d->stride)
        counts[part_of(d->p, row)]++;
}

static void move_rows(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct distribution *d = context;
    uint64_t *at = d->counts + task * (uint64_t)d->p->n;
    const unsigned char *row = d->rows + task * d->cut.size * d->stride;
    for (uint64_t i = task * d->cut.size; i < rt_cut_end(&d->cut, task); i++, row += d->stride)
        rt_copy_row(d->to + at[part_of(d->p, row)]++ * d->stride, row, d->stride);
}

/* Within a part the tasks write one after the other: the order of rows is kept. */
static void place_parts(struct distribution *d)
{
    uint64_t at = 0;
    for (int k = 0; k < d->p->n; k++) {
        d->p->start[k] = at;
        for (uint64_t t = 0; t < d->cut.ntasks; t++) {
            uint64_t *c = &d->counts[t * (uint64_t)d->p->n + (uint64_t)k];
            uint64_t n = *c;
            *c = at;
            at += n;
        }
    }
    d->p->start[d->p->n] = at;
}

static int distribute(struct rt_exec *x, struct distribution *d)
{
    HD_TRY(rt_exec_parallel(x, d->cut.ntasks, count_rows, d));
    place_parts(d);
    return rt_exec_parallel(x, d->cut.ntasks, move_rows, d);
}

int rt_parts_make(struct rt_exec *x, const struct rt_state *s, struct rt_parts *p, const unsigned char *rows,
                  uint64_t n, unsigned char *to)
{
    struct distribution d = {.p = p, .rows = rows, .to = to, .stride = (size_t)s->stride, .cut = rt_cut(x, n, 16384)};
    struct rt_block counts;
    HD_TRY(rt_exec_block(x, s, d.cut.ntasks * (size_t)p->n * sizeof *d.counts, true, &counts));
    d.counts = counts.p;
    int rc = distribute(x, &d);
    rt_block_free(&x->memory, &counts);
    p->rows = to;
    return rc;
}

int rt_finish_partition(struct rt_exec *x, struct rt_live *v)
{
    const struct rt_partition *how = &v->s->partition;
    struct rt_parts *p = HD_NEW(&x->arena, struct rt_parts);
    if (how->cpu_bits == 0 || v->nrows <= 1)
        return 0;
    *p = (struct rt_parts){.n = 1 << how->cpu_bits,
                           .shift = how->top - how->cpu_bits,
                           .mask = (UINT64_C(1) << how->top) - 1,
                           .hashed = how->nfields ? v->s : NULL};
    HD_TRY(rt_exec_block(x, v->s, v->nrows * (size_t)v->s->stride, false, &v->moved));
    HD_TRY(rt_parts_make(x, v->s, p, v->rows, v->nrows, v->moved.p));
    rt_region_free(&x->memory, &v->region);
    v->rows = v->moved.p;
    return 0;
}
