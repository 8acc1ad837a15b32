/* ROWS: order, offset and limit. */
#include <stdlib.h>
#include <string.h>

#include "tests/simt/sim.h"

static const struct rt_state *sorting; /* qsort has no context */

#define THREE_WAY(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_f64(double a, double b)
{
    bool na = a != a, nb = b != b; /* NaN is the largest */
    return na || nb ? (int)na - (int)nb : THREE_WAY(a, b);
}

static int compare_text(const unsigned char *a, const unsigned char *b)
{
    uint64_t x[2], y[2]; /* address, length */
    memcpy(x, a, 16);
    memcpy(y, b, 16);
    size_t n = (size_t)HD_MIN(x[1], y[1]);
    int c = n ? memcmp((const void *)(uintptr_t)x[0], (const void *)(uintptr_t)y[0], n) : 0;
    return c ? c : THREE_WAY(x[1], y[1]);
}

#define COMPARE_AS(T)                                                                         \
    do {                                                                                      \
        T x_, y_;                                                                             \
        memcpy(&x_, a, sizeof x_);                                                            \
        memcpy(&y_, b, sizeof y_);                                                            \
        return THREE_WAY(x_, y_);                                                             \
    } while (0)

static int compare_values(enum rt_phys p, const unsigned char *a, const unsigned char *b)
{
    double x, y;
    switch (p) {
    case RT_BOOL: return THREE_WAY(*a, *b);
    case RT_I32: COMPARE_AS(int32_t);
    case RT_I64: COMPARE_AS(int64_t);
    case RT_I128: COMPARE_AS(hd_i128);
    case RT_F64:
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
        return compare_f64(x, y);
    case RT_STR: return compare_text(a, b);
    }
    HD_BUG("physical type %d", (int)p);
}

static int compare_key(const struct rt_sort_key *k, const unsigned char *a,
                       const unsigned char *b)
{
    const struct rt_field *f = &sorting->fields[k->field];
    bool va = f->valid_offset < 0 || a[f->valid_offset],
         vb = f->valid_offset < 0 || b[f->valid_offset];
    if (!va || !vb)
        return va == vb ? 0 : (va ? 1 : -1) * (k->nulls_first ? 1 : -1);
    int c = compare_values(f->phys, a + f->offset, b + f->offset);
    return k->desc ? -c : c;
}

static int compare_rows(const void *a, const void *b)
{
    for (int i = 0; i < sorting->nsort; i++) {
        int c = compare_key(&sorting->sort[i], a, b);
        if (c)
            return c;
    }
    return 0;
}

void sim_state_sort(struct sim_state *v)
{
    const struct rt_state *s = v->s;
    size_t stride = (size_t)s->stride;
    if (s->nsort) {
        sorting = s;
        qsort(v->rows, (size_t)v->nrows, stride, compare_rows);
    }
    uint64_t skip = HD_MIN((uint64_t)s->offset, v->nrows);
    memmove(v->rows, v->rows + skip * stride, (size_t)(v->nrows - skip) * stride);
    v->nrows -= skip;
    if (s->limit >= 0)
        v->nrows = HD_MIN(v->nrows, (uint64_t)s->limit);
}
