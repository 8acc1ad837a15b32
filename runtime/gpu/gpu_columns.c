#include "runtime/gpu/gpu_columns.h"

#include <stdlib.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/gpu_state.h"

enum { ALIGN = 256, THREADS = RT_FINISH_THREADS };

struct maker {
    struct rt_gpu_exec *x;
    const struct rt_state *s;
    struct rt_gpu_columns *c;
    struct hdd_column_args p;
    struct rt_piece nulls, lengths; /* 64 bits a column; of strings, gone when those are there */
};

/* Memory that stays with the columns. */
static int keep(struct maker *m, size_t n, uint64_t *address, struct hd_err *err)
{
    struct rt_piece *piece = &m->c->pieces[m->c->npieces];
    HD_TRY(rt_state_alloc(m->x, m->s, n, piece, err));
    m->c->npieces++;
    *address = piece->address;
    return 0;
}

static int launch(struct maker *m, const char *entry, struct hd_err *err)
{
    m->p.blocks = rt_finish_blocks(m->x, m->p.n + 1, THREADS);
    return rt_finish_launch(m->x, "finish_columns", entry, m->p.blocks, &m->p, err);
}

static size_t bitmap_bytes(uint64_t rows)
{
    return hd_align_up((size_t)(rows + 7) / 8, ALIGN);
}

static hdd_u32 value_width(enum hd_type_kind k)
{
    switch (k) {
    case HD_INT32:
    case HD_DATE:
    case HD_FLOAT32: return 4;
    case HD_INT64:
    case HD_TIME:
    case HD_TIMESTAMP:
    case HD_FLOAT64: return 8;
    case HD_DECIMAL:
    case HD_INTERVAL: return 16;
    case HD_BOOL:
    case HD_STRING:
    case HD_BINARY:
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("a column of type %d has values of another form", (int)k);
}

static int dictionary(struct maker *m, const struct rt_field *f, struct hd_err *err)
{
    struct rt_arg a = {.kind = RT_ARG_DICT_OFFSETS, .table = f->dict_table, .column = f->dict_column};
    uint64_t offsets, bytes;
    HD_TRY(rt_gpu_resident(m->x->g, &a, &offsets, err));
    a.kind = RT_ARG_DICT_BYTES;
    HD_TRY(rt_gpu_resident(m->x->g, &a, &bytes, err));
    m->p.dict_offsets = offsets;
    m->p.dict_bytes = bytes;
    return 0;
}

/* Lengths, their sums, how many bytes there are. */
static int measure(struct maker *m, uint64_t *bytes, struct hd_err *err)
{
    size_t lengths = hd_align_up((size_t)m->p.n * 4, ALIGN);
    HD_TRY(rt_state_alloc(m->x, m->s, lengths + (size_t)(m->p.n + 1) * 8, &m->lengths, err));
    m->p.lengths = m->lengths.address;
    m->p.sums = m->lengths.address + lengths;
    HD_TRY(launch(m, "hdd_column_lengths", err));
    HD_TRY(rt_gpu_prefix_sum(m->x, m->s, m->p.lengths, m->p.n, m->p.sums, true, err));
    return m->x->d->ops->download(m->x->d, bytes, m->p.sums + m->p.n * 8, sizeof *bytes, err);
}

static int make_strings(struct maker *m, const char *name, struct rt_gpu_column *out, struct hd_err *err)
{
    uint64_t bytes;
    HD_TRY(measure(m, &bytes, err));
    if (bytes > INT32_MAX)
        return HD_FAIL(err, UNSUPPORTED, NULL,
                       "column \"%s\" has %llu bytes of text: more than a batch of Arrow's holds", name,
                       (unsigned long long)bytes);
    HD_TRY(keep(m, (size_t)(m->p.n + 1) * 4, &out->values, err));
    HD_TRY(keep(m, (size_t)bytes, &out->strings, err));
    m->p.to = out->values;
    m->p.strings = out->strings;
    HD_TRY(launch(m, "hdd_column_strings", err));
    rt_gpu_release(m->x, &m->lengths);
    return 0;
}

static int make_values(struct maker *m, const struct rt_result_column *c, const struct rt_field *f,
                       struct rt_gpu_column *out, struct hd_err *err)
{
    if (hd_type_is_text(c->type)) {
        if (f->phys != RT_STR)
            HD_TRY(dictionary(m, f, err));
        return make_strings(m, c->name, out, err);
    }
    bool bits = c->type.kind == HD_BOOL;
    m->p.width = bits ? 0 : value_width((enum hd_type_kind)c->type.kind);
    HD_TRY(keep(m, bits ? bitmap_bytes(m->p.n) : (size_t)m->p.n * m->p.width, &out->values, err));
    m->p.to = out->values;
    bool intervals = c->type.kind == HD_INTERVAL;
    return launch(m, bits ? "hdd_column_bools" : intervals ? "hdd_column_intervals" : "hdd_column_values", err);
}

static int make_column(struct maker *m, int i, uint64_t rows, struct hd_err *err)
{
    const struct rt_result_column *c = &m->x->spec->result[i];
    const struct rt_field *f = &m->s->fields[c->field];
    struct rt_gpu_column *out = &m->c->column[i];
    m->p = (struct hdd_column_args){.rows = rows,
                                    .n = m->c->n,
                                    .stride = (hdd_u32)m->s->stride,
                                    .offset = (hdd_u32)f->offset,
                                    .phys = (hdd_u32)f->phys,
                                    .valid = f->valid_offset,
                                    .nulls = m->nulls.address + (uint64_t)i * 8};
    if (f->valid_offset >= 0) {
        HD_TRY(keep(m, bitmap_bytes(m->p.n), &out->valid, err));
        m->p.bits = out->valid;
        HD_TRY(launch(m, "hdd_column_validity", err));
    }
    return make_values(m, c, f, out, err);
}

/* The counts of NULLs are waited for, and with them all that was queued before. */
static int make_columns(struct maker *m, uint64_t rows, struct hd_err *err)
{
    int n = m->c->ncolumns;
    HD_TRY(rt_state_alloc_zeroed(m->x, m->s, (size_t)n * 8, &m->nulls, err));
    for (int i = 0; i < n; i++)
        HD_TRY(make_column(m, i, rows, err));
    uint64_t *nulls = HD_NEWN(m->x->arena, uint64_t, n + 1);
    HD_TRY(m->x->d->ops->download(m->x->d, nulls, m->nulls.address, (size_t)n * 8, err));
    for (int i = 0; i < n; i++)
        m->c->column[i].nulls = (int64_t)nulls[i];
    return 0;
}

static void free_columns(struct rt_gpu_columns *c, struct rt_gpu_pool *pool)
{
    for (int i = 0; i < c->npieces; i++)
        rt_gpu_pool_release(pool, &c->pieces[i]);
    free(c->pieces);
    free(c);
}

/* Memory of a device that was lost since is gone. */
void rt_gpu_columns_free(struct rt_gpu_columns *c)
{
    if (!c)
        return;
    struct rt_gpu *g = c->g;
    rt_gpu_enter(g);
    if (c->life != g->life)
        c->npieces = 0;
    free_columns(c, g->pool);
    rt_gpu_leave(g);
}

struct rt_gpu_columns *rt_gpu_columns_new(struct rt_gpu *g, int n, uint64_t rows)
{
    enum { PIECES = 4 }; /* of a column: validity, offsets or values, strings, bases of their blocks */
    struct rt_gpu_columns *c = hd_try_calloc(1, sizeof *c + (size_t)n * sizeof *c->column);
    struct rt_piece *pieces = hd_try_calloc((size_t)n * PIECES + 1, sizeof *pieces);
    if (!c || !pieces) {
        free(c);
        free(pieces);
        return NULL;
    }
    c->g = g;
    c->n = rows;
    c->ncolumns = n;
    c->life = g->life;
    c->pieces = pieces;
    return c;
}

int rt_gpu_rows_to_columns(struct rt_gpu_exec *x, struct rt_gpu_columns **out, struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[x->spec->result_state];
    struct maker m = {.x = x, .s = v->s, .c = rt_gpu_columns_new(x->g, x->spec->nresult, v->nrows)};
    if (!m.c)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    int rc = 0;
    if (v->nrows)
        rc = make_columns(&m, v->rows, err);
    rt_gpu_release(x, &m.nulls);
    rt_gpu_release(x, &m.lengths);
    if (rc == 0)
        *out = m.c;
    else
        free_columns(m.c, x->g->pool);
    return rc;
}

/* ---- results of several devices as one -------------------------------------------------------- */

struct gatherer {
    struct rt_gpu *g;
    struct rt_gpu_columns *c; /* to be */
    struct rt_gpu_columns *const *parts;
    int n;
};

static int take(struct gatherer *m, size_t n, uint64_t *address, struct hd_err *err)
{
    struct rt_piece *piece = &m->c->pieces[m->c->npieces];
    while (!rt_gpu_pool_alloc(m->g->pool, n, piece))
        if (!rt_gpu_evict(m->g, n))
            return HD_FAIL(err, RESOURCE, NULL,
                           "the limit of %llu bytes of GPU memory is reached: rows of other GPUs need %llu",
                           (unsigned long long)rt_gpu_pool_budget(m->g->pool), (unsigned long long)n);
    m->c->npieces++;
    *address = piece->address;
    return 0;
}

static int copy(struct gatherer *m, uint64_t to, const struct rt_gpu_columns *part, uint64_t from, size_t n,
                struct hd_err *err)
{
    if (part->life != part->g->life)
        return HD_FAIL(err, EXEC, NULL, "another query lost a GPU meanwhile");
    return m->g->d->ops->copy_peer(m->g->d, RT_STREAM_COMPUTE, (struct rt_place){m->g->d, to},
                                   (struct rt_place){part->g->d, from}, n, err);
}

static int gather_values(struct gatherer *m, int i, size_t width, struct hd_err *err)
{
    size_t rows = (size_t)m->c->n, all = hd_align_up(rows, HDD_LANE_ROWS), at = 0;
    uint64_t *to = &m->c->column[i].values;
    HD_TRY(take(m, all * width, to, err));
    if (all > rows)
        HD_TRY(m->g->d->ops->set(m->g->d, *to + rows * width, 0, (all - rows) * width, err));
    for (int k = 0; k < m->n; k++) {
        const struct rt_gpu_columns *part = m->parts[k];
        if (part->n)
            HD_TRY(copy(m, *to + at, part, part->column[i].values, (size_t)part->n * width, err));
        at += (size_t)part->n * width;
    }
    return 0;
}

/* The bits of a part from bit `at` on; without a bitmap all are 1. */
static void put_bits(uint8_t *to, uint64_t at, const uint8_t *from, uint64_t n)
{
    for (uint64_t k = 0; k < n; k++)
        if (!from || from[k >> 3] >> (k & 7) & 1)
            to[(at + k) >> 3] |= (uint8_t)(1 << ((at + k) & 7));
}

/* Bitmaps are put together on the host, where each comes by way of the memory of the whole. */
static int merge_bits(struct gatherer *m, int i, uint8_t *all, uint8_t *one, struct hd_err *err)
{
    const struct rt_device_ops *ops = m->g->d->ops;
    uint64_t valid = m->c->column[i].valid, at = 0;
    for (int k = 0; k < m->n; k++) {
        const struct rt_gpu_columns *part = m->parts[k];
        uint64_t bits = part->n ? part->column[i].valid : 0;
        size_t bytes = (size_t)(part->n + 7) / 8;
        if (bits) {
            HD_TRY(copy(m, valid, part, bits, bytes, err));
            HD_TRY(ops->download(m->g->d, one, valid, bytes, err));
        }
        put_bits(all, at, bits ? one : NULL, part->n);
        at += part->n;
    }
    HD_TRY(ops->upload(m->g->d, valid, all, (size_t)(m->c->n + 7) / 8, err));
    return ops->sync(m->g->d, err);
}

static int gather_validity(struct gatherer *m, int i, struct hd_err *err)
{
    struct rt_gpu_column *c = &m->c->column[i];
    size_t bytes = bitmap_bytes(m->c->n);
    for (int k = 0; k < m->n; k++)
        c->nulls += m->parts[k]->n ? m->parts[k]->column[i].nulls : 0;
    if (!c->nulls)
        return 0;
    HD_TRY(take(m, bytes, &c->valid, err));
    uint8_t *all = hd_try_calloc(2, bytes);
    if (!all)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for rows of other GPUs");
    int rc = merge_bits(m, i, all, all + bytes, err);
    if (rc != 0)
        m->g->d->ops->sync(m->g->d, NULL); /* what was queued reads it */
    free(all);
    return rc;
}

static int gather_columns(struct gatherer *m, const int *width, struct hd_err *err)
{
    for (int i = 0; i < m->c->ncolumns && m->c->n; i++) {
        HD_TRY(gather_values(m, i, (size_t)width[i], err));
        HD_TRY(gather_validity(m, i, err));
    }
    return m->g->d->ops->sync(m->g->d, err);
}

int rt_gpu_columns_gather(struct rt_gpu *g, struct rt_gpu_columns *const *parts, int n, const int *width,
                          const struct hd_stop *stop, struct rt_gpu_columns **out, struct hd_err *err)
{
    uint64_t rows = 0;
    for (int k = 0; k < n; k++)
        rows += parts[k]->n;
    HD_TRY(rt_gpu_begin(g, stop, err));
    struct gatherer m = {g, rt_gpu_columns_new(g, parts[0]->ncolumns, rows), parts, n};
    int rc = m.c ? gather_columns(&m, width, err) : HD_FAIL(err, RESOURCE, NULL, "out of memory");
    if (rc == 0) {
        *out = m.c;
    } else if (m.c) {
        g->d->ops->sync(g->d, NULL);
        free_columns(m.c, g->pool);
    }
    rt_gpu_leave(g);
    return rc;
}
