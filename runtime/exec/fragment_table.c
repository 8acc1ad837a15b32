/* The chunks of a reader's rows as the columns of a table. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/base/guard.h"
#include "runtime/exec/fragment_internal.h"
#include "runtime/store/store.h"
#include "runtime/store/store_stage.h"

enum {
    BEYOND = 16, /* zero bytes behind a column: readers may load whole words */
    THREAD_BYTES = 256 << 10 /* of chunks: fewer take less time than waking a thread */
};

struct column {
    struct rt_block values, valid, text_base, text;
    int64_t nulls;
    bool too_long;
};

struct rt_fragment_table {
    struct hd_arena arena;
    struct rt_memory *memory;
    struct fe_table table;
    struct column *column;
};

struct fe_table *rt_fragment_table_get(struct rt_fragment_table *t)
{
    return &t->table;
}

void rt_fragment_table_free(struct rt_fragment_table *t)
{
    if (!t)
        return;
    for (int c = 0; t->column && c < t->table.ncols; c++) {
        rt_block_free(t->memory, &t->column[c].values);
        rt_block_free(t->memory, &t->column[c].valid);
        rt_block_free(t->memory, &t->column[c].text_base);
        rt_block_free(t->memory, &t->column[c].text);
    }
    hd_arena_release(&t->arena);
    free(t);
}

/* ---- what is put together --------------------------------------------------------------------- */

struct source {
    const struct rt_fragment_chunk *chunk;
    const struct rt_memory *memory; /* that it has */
    uint64_t row; /* of its first one in the table */
};

struct joined {
    struct rt_fragment_table *t;
    const struct rt_fragment_column *column;
    struct source *source;
    uint64_t nsources;
    _Atomic(const struct rt_memory *) damaged; /* a chunk of it is not as it was written */
};

static const unsigned char *at(const struct rt_fragment_chunk *c, size_t offset)
{
    return c->base + offset;
}

/* Task number: source. */
static void verify_source(void *context, uint64_t task)
{
    struct joined *j = context;
    const struct source *s = &j->source[task];
    const struct rt_fragment_block *in = s->chunk->in;
    size_t from = (size_t)(s->chunk->base - (const unsigned char *)in->block.p);
    if (!rt_checksums_verify(s->memory, &in->sums, from, from + s->chunk->bytes))
        atomic_store(&j->damaged, s->memory);
}

/* Task number: of column c the values that lie in a chunk. */
static void copy_values(void *context, uint64_t task)
{
    const struct joined *j = context;
    const struct source *s = &j->source[task % j->nsources];
    int c = (int)(task / j->nsources);
    size_t width = (size_t)j->column[c].width;
    if (!j->column[c].text)
        memcpy((unsigned char *)j->t->column[c].values.p + (size_t)s->row * width,
               at(s->chunk, s->chunk->column[c].values), (size_t)s->chunk->rows * width);
}

static void join_valid(const struct joined *j, int c)
{
    struct column *to = &j->t->column[c];
    uint8_t *bits = to->valid.p;
    memset(bits, 0, to->valid.n);
    for (uint64_t k = 0; k < j->nsources; k++) {
        const struct source *s = &j->source[k];
        const struct rt_fragment_values *v = &s->chunk->column[c];
        const unsigned char *there = v->has_valid ? at(s->chunk, v->valid) : NULL;
        for (uint64_t i = 0; i < s->chunk->rows; i++) {
            bool is = !there || there[i];
            bits[(s->row + i) >> 3] |= (uint8_t)(is << ((s->row + i) & 7));
            to->nulls += !is;
        }
    }
}

static void join_texts(const struct joined *j, int c)
{
    struct column *to = &j->t->column[c];
    uint32_t *ends = to->values.p;
    uint64_t *base = to->text_base.p, n = 0, text = 0;
    const uint64_t block = ((uint64_t)1 << FE_TEXT_BLOCK_SHIFT) - 1;
    base[0] = 0;
    for (uint64_t k = 0; k < j->nsources; k++) {
        const struct source *s = &j->source[k];
        const struct rt_fragment_values *v = &s->chunk->column[c];
        const uint32_t *lengths = (const uint32_t *)(const void *)at(s->chunk, v->values);
        if (v->text_bytes)
            memcpy((char *)to->text.p + text, at(s->chunk, v->text), (size_t)v->text_bytes);
        text += v->text_bytes;
        for (uint64_t i = 0, row = s->row; i < s->chunk->rows; i++, row++) {
            if ((row & block) == 0)
                base[row >> FE_TEXT_BLOCK_SHIFT] = n;
            n += lengths[i];
            to->too_long |= n - base[row >> FE_TEXT_BLOCK_SHIFT] > UINT32_MAX;
            ends[row] = (uint32_t)(n - base[row >> FE_TEXT_BLOCK_SHIFT]);
        }
    }
}

/* Task number: column. */
static void join_column(void *context, uint64_t task)
{
    const struct joined *j = context;
    int c = (int)task;
    struct column *to = &j->t->column[c];
    if (j->column[c].text)
        join_texts(j, c);
    if (to->valid.p)
        join_valid(j, c);
    size_t n = (size_t)j->t->table.rows * (size_t)j->column[c].width;
    memset((unsigned char *)to->values.p + n, 0, BEYOND);
}

/* ---- the table ---------------------------------------------------------------------------------- */

static enum fe_storage storage_of(struct hd_type t)
{
    if (hd_type_is_text(t))
        return FE_STORE_TEXT;
    if (t.kind == HD_FLOAT32)
        return FE_STORE_F32;
    return t.kind == HD_FLOAT64 ? FE_STORE_F64 : FE_STORE_INT;
}

static int declare(struct rt_fragment_table *t, const char *name, struct rt_fragment_rows *const *from, int n)
{
    const struct rt_fragment_rows *first = from[0];
    t->table.name = hd_strdup(&t->arena, name);
    t->table.id = rt_table_next_id();
    t->table.cols = HD_NEWN(&t->arena, struct fe_table_column, first->ncolumns + 1);
    t->column = HD_NEWN(&t->arena, struct column, first->ncolumns + 1);
    t->table.ncols = first->ncolumns;
    for (int c = 0; c < first->ncolumns; c++) {
        const struct rt_fragment_column *of = &first->column[c];
        struct fe_table_column *to = &t->table.cols[c];
        to->name = hd_strdup(&t->arena, of->name);
        to->type = of->type;
        to->storage = storage_of(of->type);
        to->width = of->width;
        to->factor = 1;
        to->facts = (struct fe_facts){.distinct = -1, .max_mult = -1};
        for (int i = 0; i < n; i++)
            to->nullable |= from[i]->column[c].nullable;
    }
    return 0;
}

static uint64_t list_sources(struct rt_fragment_rows *const *from, int n, int reader, struct source *out)
{
    uint64_t count = 0, row = 0;
    for (int i = 0; i < n; i++)
        for (const struct rt_fragment_chunk *c = from[i]->first[reader]; c; c = c->next, count++) {
            if (out)
                out[count] = (struct source){c, from[i]->o.memory, row};
            row += c->rows;
        }
    return count;
}

static int make_column(struct joined *j, int c, struct hd_err *err)
{
    struct rt_memory *m = j->t->memory;
    struct column *to = &j->t->column[c];
    uint64_t rows = (uint64_t)j->t->table.rows, text = 0;
    bool has_valid = false;
    for (uint64_t k = 0; k < j->nsources; k++) {
        text += j->source[k].chunk->column[c].text_bytes;
        has_valid |= j->source[k].chunk->column[c].has_valid;
    }
    HD_TRY(rt_fragment_block(m, (size_t)rows * (size_t)j->column[c].width + BEYOND, &to->values, err));
    if (has_valid)
        HD_TRY(rt_fragment_block(m, (size_t)rows / 8 + 1, &to->valid, err));
    if (!j->column[c].text)
        return 0;
    HD_TRY(rt_fragment_block(m, ((size_t)(rows >> FE_TEXT_BLOCK_SHIFT) + 1) * sizeof(uint64_t), &to->text_base, err));
    j->t->table.cols[c].at.text_size = text;
    return rt_fragment_block(m, (size_t)text + BEYOND, &to->text, err);
}

static int finish_column(struct rt_fragment_table *t, int c, struct hd_err *err)
{
    const struct column *from = &t->column[c];
    struct fe_table_column *to = &t->table.cols[c];
    if (from->too_long)
        return HD_FAIL(err, UNSUPPORTED, t->table.name, "column \"%s\": more than 4 GiB of text in %d rows", to->name,
                       1 << FE_TEXT_BLOCK_SHIFT);
    to->facts.nulls = from->nulls;
    to->at.data = from->values.p;
    to->at.validity = from->nulls ? from->valid.p : NULL;
    to->at.text_base = from->text_base.p;
    to->at.text_bytes = from->text.p;
    return 0;
}

/* Few bytes are one thread's. */
static int threads_for(const struct joined *j, int most)
{
    uint64_t bytes = 0;
    for (uint64_t k = 0; k < j->nsources; k++)
        bytes += j->source[k].chunk->bytes;
    return (int)HD_MIN(1 + bytes / THREAD_BYTES, (uint64_t)most);
}

static int join(struct joined *j, const struct rt_fragment_options *all, struct hd_err *err)
{
    struct rt_fragment_table *t = j->t;
    struct rt_fragment_options some = *all, *o = &some;
    o->threads = threads_for(j, all->threads);
    for (uint64_t k = 0; k < j->nsources; k++) {
        int64_t more = (int64_t)j->source[k].chunk->rows;
        HD_TRY(rt_rows_check(t->table.name, t->table.rows, more, FE_TABLE_MAX_ROWS, err));
        t->table.rows += more;
    }
    for (int c = 0; c < t->table.ncols; c++)
        HD_TRY(make_column(j, c, err));
    HD_TRY(rt_fragment_parallel(o, j->nsources, verify_source, j, err));
    if (j->damaged)
        return rt_fragment_refused(j->damaged, err);
    HD_TRY(rt_fragment_parallel(o, (uint64_t)t->table.ncols * j->nsources, copy_values, j, err));
    HD_TRY(rt_fragment_parallel(o, (uint64_t)t->table.ncols, join_column, j, err));
    for (int c = 0; c < t->table.ncols; c++)
        HD_TRY(finish_column(t, c, err));
    return 0;
}

static int join_all(struct rt_fragment_table *t, struct rt_fragment_rows *const *from, int n, int reader,
                    const struct rt_fragment_options *o, struct hd_err *err)
{
    struct joined j = {.t = t, .column = from[0]->column, .nsources = list_sources(from, n, reader, NULL)};
    j.source = hd_try_calloc(j.nsources + 1, sizeof *j.source);
    if (!j.source)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for rows of other fragments");
    list_sources(from, n, reader, j.source);
    int rc = join(&j, o, err);
    free(j.source);
    return rc;
}

int rt_fragment_table_new(const char *name, struct rt_fragment_rows *const *from, int n, int reader,
                          const struct rt_fragment_options *o, struct rt_fragment_table **out, struct hd_err *err)
{
    int rc;
    struct rt_fragment_table *t = hd_try_calloc(1, sizeof *t);
    if (!t)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for rows of other fragments");
    hd_arena_init(&t->arena);
    t->memory = o->memory;
    HD_GUARDED(rc, NULL, err, declare(t, name, from, n));
    if (rc == 0)
        rc = join_all(t, from, n, reader, o, err);
    if (rc != 0) {
        rt_fragment_table_free(t);
        return -1;
    }
    for (int i = 0; i < n; i++)
        rt_fragment_rows_drop(from[i], reader);
    *out = t;
    return 0;
}
