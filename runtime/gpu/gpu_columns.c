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
    m->p.width = bits ? 0 : (hdd_u32)hd_type_width(c->type);
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
