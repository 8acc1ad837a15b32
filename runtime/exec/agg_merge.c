/* Aggregates whose groups are known beforehand: one row, or one per index; and how rows of
 * partial results combine, which AGG_HASH uses too. */
#include <string.h>

#include "runtime/exec/exec_internal.h"
#include "runtime/exec/keys.h"

/* ---- Combining two rows ---------------------------------------------------------------- */

/* Sums never wrap (planner/agg_stage.c). */
static void add_word(const struct rt_field *f, unsigned char *dst, const unsigned char *src)
{
    uint32_t a, b;
    uint16_t a16, b16;
    switch (f->bytes) {
    case 1: *dst = (unsigned char)(*dst + *src); return;
    case 2:
        memcpy(&a16, dst, 2);
        memcpy(&b16, src, 2);
        a16 = (uint16_t)(a16 + b16);
        memcpy(dst, &a16, 2);
        return;
    default: break;
    }
    memcpy(&a, dst, 4);
    memcpy(&b, src, 4);
    a += b;
    memcpy(dst, &a, 4);
}

static void add(const struct rt_field *f, unsigned char *dst, const unsigned char *src)
{
    int64_t a64, b64;
    hd_i128 a128, b128;
    double af, bf;
    switch (f->phys) {
    case RT_I32: add_word(f, dst, src); return;
    case RT_I64:
        memcpy(&a64, dst, 8);
        memcpy(&b64, src, 8);
        a64 += b64;
        memcpy(dst, &a64, 8);
        return;
    case RT_I128:
        memcpy(&a128, dst, 16);
        memcpy(&b128, src, 16);
        a128 += b128;
        memcpy(dst, &a128, 16);
        return;
    case RT_F64:
        memcpy(&af, dst, 8);
        memcpy(&bf, src, 8);
        af += bf;
        memcpy(dst, &af, 8);
        return;
    case RT_BOOL:
    case RT_F32:
    case RT_STR: break;
    }
    HD_BUG("sum of %s", rt_phys_name(f->phys));
}

/* Bits are of int64. */
static void mix(enum rt_merge merge, unsigned char *dst, const unsigned char *src)
{
    uint64_t a, b;
    memcpy(&a, dst, 8);
    memcpy(&b, src, 8);
    a = merge == RT_MERGE_OR ? a | b : a ^ b;
    memcpy(dst, &a, 8);
}

void rt_merge_field(const struct rt_field *f, enum rt_merge merge, unsigned char *dst, const unsigned char *src)
{
    size_t size = (size_t)rt_field_size(f);
    unsigned char *d = dst + f->offset;
    const unsigned char *s = src + f->offset;
    if (merge == RT_MERGE_KEY)
        return;
    if (f->valid_offset >= 0) {
        if (!src[f->valid_offset])
            return;
        if (!dst[f->valid_offset]) {
            memcpy(d, s, size);
            dst[f->valid_offset] = 1;
            return;
        }
    }
    if (merge == RT_MERGE_SUM)
        add(f, d, s);
    bool bits = merge == RT_MERGE_OR || merge == RT_MERGE_XOR;
    if (bits)
        mix(merge, d, s);
    if (bits || merge == RT_MERGE_SUM || merge == RT_MERGE_ANY)
        return;
    int c = rt_value_compare(f->phys, s, d);
    if (merge == RT_MERGE_MIN ? c < 0 : c > 0)
        memcpy(d, s, size);
}

/* Sums of 64 bits are by far the most frequent. */
static inline bool merge_quickly(const struct rt_field *f, enum rt_merge merge, unsigned char *dst,
                                 const unsigned char *src)
{
    int64_t a, b;
    if (merge == RT_MERGE_KEY)
        return true;
    if (merge != RT_MERGE_SUM || f->phys != RT_I64 || f->valid_offset >= 0)
        return false;
    memcpy(&a, dst + f->offset, 8);
    memcpy(&b, src + f->offset, 8);
    a += b;
    memcpy(dst + f->offset, &a, 8);
    return true;
}

void rt_merge_row(const struct rt_state *s, unsigned char *dst, const unsigned char *src)
{
    for (int f = 0; f < s->nfields; f++)
        if (!merge_quickly(&s->fields[f], s->merge[f], dst, src))
            rt_merge_field(&s->fields[f], s->merge[f], dst, src);
}

/* ---- AGG_SCALAR, AGG_DENSE, ARRAY ------------------------------------------------------ */

static size_t copy_bytes(const struct rt_state *s, uint64_t rows)
{
    return hd_align_up(HD_MAX(rows, (uint64_t)1) * (size_t)s->stride, RT_LINE);
}

static int init_rows(struct rt_exec *x, struct rt_live *v, uint64_t rows, bool private)
{
    size_t copies = private ? (size_t)x->o.threads : 1, bytes = copy_bytes(v->s, rows);
    HD_TRY(rt_exec_block(x, v->s, copies * bytes, true, &v->dense));
    v->rows = v->dense.p;
    v->nrows = rows;
    for (int w = 0; w < x->o.threads; w++)
        rt_local(x, v, w)->u.dense.rows = v->rows + (copies > 1 ? (size_t)w * bytes : 0);
    return 0;
}

int rt_scalar_init(struct rt_exec *x, struct rt_live *v)
{
    return init_rows(x, v, 1, true);
}

int rt_dense_init(struct rt_exec *x, struct rt_live *v)
{
    return init_rows(x, v, v->s->range, !v->s->shared);
}

int rt_array_init(struct rt_exec *x, struct rt_live *v)
{
    return init_rows(x, v, v->s->range, false);
}

int rt_scalar_merge(struct rt_exec *x, struct rt_live *v)
{
    for (int w = 1; w < x->o.threads; w++)
        rt_merge_row(v->s, v->rows, rt_local(x, v, w)->u.dense.rows);
    return 0;
}

struct dense_merge {
    struct rt_exec *x;
    struct rt_live *v;
    struct rt_cut cut;
};

static bool has_group(const struct rt_state *s, const unsigned char *row)
{
    static const unsigned char zero[16];
    int field = rt_state_presence(s);
    if (field < 0)
        return row[0] != 0;
    return memcmp(row + s->fields[field].offset, zero, (size_t)rt_field_size(&s->fields[field])) != 0;
}

/* One range of indexes, all copies into the first. */
static void merge_range(void *context, struct rt_worker *w, uint64_t task)
{
    struct dense_merge *m = context;
    const struct rt_state *s = m->v->s;
    size_t stride = (size_t)s->stride;
    (void)w;
    for (int k = 1; k < m->x->o.threads; k++) {
        const unsigned char *from = rt_local(m->x, m->v, k)->u.dense.rows;
        for (uint64_t i = task * m->cut.size; i < rt_cut_end(&m->cut, task); i++) {
            unsigned char *dst = m->v->rows + i * stride;
            const unsigned char *src = from + i * stride;
            if (!has_group(s, src))
                continue;
            if (has_group(s, dst))
                rt_merge_row(s, dst, src);
            else
                memcpy(dst, src, stride);
        }
    }
}

int rt_dense_merge(struct rt_exec *x, struct rt_live *v)
{
    if (v->s->shared || x->o.threads == 1)
        return 0;
    struct dense_merge m = {x, v, rt_cut(x, v->s->range, 4096)};
    return rt_exec_parallel(x, m.cut.ntasks, merge_range, &m);
}
