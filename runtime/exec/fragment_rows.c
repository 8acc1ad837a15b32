/* Rows to columns, piece by piece of so many rows, by all threads: they count how many rows of each slice go to whom, then each
 * slice has its places, and its values are moved once. So rows keep their order, whatever the number of threads. */
#include "runtime/exec/fragment_rows.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/exec/fragment_internal.h"

enum {
    SLICE_ROWS = 1 << 14,
    PIECE_BYTES = 32 << 20, /* of rows, */
    READER_BYTES = 1 << 20, /* and for each reader so many, as each range of a file is a mapping of its own; */
    PIECE_LEAST = 64 << 10, /* under a small limit fewer, a share of it */
    PIECE_SHARE = 16,
    BLOCK_BYTES = 256 << 10 /* of chunks of a piece that have one block */
};

/* ---- work on all threads --------------------------------------------------------------------- */

struct tasks {
    const struct rt_fragment_options *o;
    void (*run)(void *context, uint64_t task);
    void *context;
    uint64_t n;
    _Atomic uint64_t next;
};

static void draw_tasks(void *context, int worker HD_UNUSED)
{
    struct tasks *t = context;
    for (;;) {
        uint64_t task = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed);
        if (task >= t->n || hd_stopped(t->o->stop))
            return;
        t->run(t->context, task);
        rt_spill_look(t->o->memory->spill);
    }
}

int rt_fragment_parallel(const struct rt_fragment_options *o, uint64_t n, void (*run)(void *context, uint64_t task),
                         void *context, struct hd_err *err)
{
    struct tasks t = {.o = o, .run = run, .context = context, .n = n};
    struct rt_thread_pool_job job = {.run = draw_tasks, .context = &t};
    int last = (int)HD_MIN((uint64_t)o->threads, n);
    if (last > 1)
        rt_thread_pool_start(o->thread_pool, &job, 1, last);
    draw_tasks(&t, 0);
    rt_thread_pool_finish(o->thread_pool, &job);
    return hd_stopped(o->stop) ? HD_FAIL(err, CANCELLED, NULL, "cancelled") : 0;
}

int rt_fragment_refused(const struct rt_memory *m, struct hd_err *err)
{
    char text[RT_REFUSAL_TEXT];
    enum hd_err_class class = rt_memory_refusal(m, "rows for other fragments", text);
    return hd_err_set(err, class, __FILE__, __LINE__, NULL, "%s", text);
}

int rt_fragment_block(struct rt_memory *m, size_t n, struct rt_block *b, struct hd_err *err)
{
    return rt_block_new(m, n, false, b) ? 0 : rt_fragment_refused(m, err);
}

/* ---- columns ----------------------------------------------------------------------------------- */

static bool has_memory(const struct rt_fragment_rows *f)
{
    return f && f->column && f->first && f->last;
}

int rt_fragment_rows_new(const struct rt_spec *spec, const struct rt_fragment_options *o, struct rt_fragment_rows **out,
                         struct hd_err *err)
{
    struct rt_fragment_rows *f = hd_try_calloc(1, sizeof *f);
    if (f) {
        f->column = hd_try_calloc((size_t)spec->nresult + 1, sizeof *f->column);
        f->first = hd_try_calloc((size_t)o->readers, sizeof(struct rt_fragment_chunk *));
        f->last = hd_try_calloc((size_t)o->readers, sizeof(struct rt_fragment_chunk *));
    }
    if (!has_memory(f)) {
        rt_fragment_rows_free(f);
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for rows for other fragments");
    }
    f->o = *o;
    for (int c = 0; c < spec->nresult; c++) {
        struct rt_fragment_column *to = &f->column[f->ncolumns++];
        to->type = spec->result[c].type;
        to->nullable = spec->result[c].nullable;
        to->width = hd_type_width(to->type);
        to->text = hd_type_is_text(to->type);
        to->name = hd_fault(HD_FAULT_ALLOC) ? NULL : strdup(spec->result[c].name);
        if (to->name)
            continue;
        rt_fragment_rows_free(f);
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for rows for other fragments");
    }
    *out = f;
    return 0;
}

static void free_chunk(struct rt_fragment_rows *f, struct rt_fragment_chunk *c)
{
    if (c->in && atomic_fetch_sub(&c->in->chunks, 1) == 1) {
        rt_checksums_free(&c->in->sums);
        rt_block_free(f->o.memory, &c->in->block);
        free(c->in);
    }
    free(c);
}

void rt_fragment_rows_drop(struct rt_fragment_rows *f, int reader)
{
    while (f->first[reader]) {
        struct rt_fragment_chunk *c = f->first[reader];
        f->first[reader] = c->next;
        free_chunk(f, c);
    }
    f->last[reader] = NULL;
}

void rt_fragment_rows_free(struct rt_fragment_rows *f)
{
    if (!f)
        return;
    for (int k = 0; k < f->o.readers && has_memory(f); k++)
        rt_fragment_rows_drop(f, k);
    for (int c = 0; c < f->ncolumns; c++)
        free(f->column[c].name);
    free(f->column);
    free(f->first);
    free(f->last);
    free(f);
}

/* ---- a piece ------------------------------------------------------------------------------------- */

/* A slice's share of a reader's chunk. */
struct share {
    uint64_t rows, first; /* rows of it, and before it */
};

struct piece {
    struct rt_fragment_rows *f;
    const struct rt_spec *spec;
    const struct rt_state *state;
    const unsigned char *rows;
    uint64_t n, nslices;
    struct rt_block scratch;
    uint16_t *reader; /* [row] */
    uint32_t *place; /* [row] in its reader's chunk */
    struct share *share; /* [slice][reader] */
    uint64_t *text; /* [slice][reader][column] bytes, then where they begin */
    struct rt_fragment_chunk **chunk; /* [reader] */
};

static struct share *share_of(const struct piece *p, uint64_t slice, int reader)
{
    return &p->share[slice * (uint64_t)p->f->o.readers + (uint64_t)reader];
}

static uint64_t *text_of(const struct piece *p, uint64_t slice, int reader, int column)
{
    return &p->text[(slice * (uint64_t)p->f->o.readers + (uint64_t)reader) * (uint64_t)p->f->ncolumns +
                    (uint64_t)column];
}

static uint64_t slice_begin(uint64_t slice)
{
    return slice * SLICE_ROWS;
}

static uint64_t slice_end(const struct piece *p, uint64_t slice)
{
    return HD_MIN(p->n, (slice + 1) * SLICE_ROWS);
}

static const struct rt_field *field_of(const struct piece *p, int column)
{
    return &p->state->fields[p->spec->result[column].field];
}

static bool is_there(const struct rt_field *f, const unsigned char *row)
{
    return f->valid_offset < 0 || row[f->valid_offset];
}

static struct rt_row_str text_at(const struct rt_field *f, const unsigned char *row)
{
    struct rt_row_str s = {"", 0};
    uint32_t code = 0;
    if (!is_there(f, row))
        return s;
    if (f->phys == RT_STR) {
        memcpy(&s, row + f->offset, sizeof s);
        return s;
    }
    /* Codes have 32 bits: of a wider integer the low half. */
    memcpy(&code, row + f->offset, f->phys == RT_BOOL ? 1 : sizeof code);
    const struct fe_dict *d = &f->dict_table->cols[f->dict_column].dict;
    return (struct rt_row_str){d->bytes + d->offsets[code], d->offsets[code + 1] - d->offsets[code]};
}

static void find_readers(struct piece *p, uint64_t slice)
{
    const struct rt_field *f = field_of(p, p->f->o.by);
    size_t stride = (size_t)p->state->stride, width = HD_MIN((size_t)rt_phys_size(f->phys), sizeof(uint64_t));
    for (uint64_t i = slice_begin(slice); i < slice_end(p, slice); i++) {
        uint64_t reader = 0;
        memcpy(&reader, p->rows + i * stride + f->offset, width);
        HD_ASSERT(reader < (uint64_t)p->f->o.readers);
        p->reader[i] = (uint16_t)reader;
    }
}

static void measure_text(struct piece *p, uint64_t slice, int column)
{
    const struct rt_field *f = field_of(p, column);
    size_t stride = (size_t)p->state->stride;
    for (uint64_t i = slice_begin(slice); i < slice_end(p, slice); i++)
        *text_of(p, slice, p->reader[i], column) += text_at(f, p->rows + i * stride).n;
}

static void count_slice(void *context, uint64_t slice)
{
    struct piece *p = context;
    if (p->f->o.readers > 1)
        find_readers(p, slice);
    for (uint64_t i = slice_begin(slice); i < slice_end(p, slice); i++)
        p->place[i] = (uint32_t)share_of(p, slice, p->reader[i])->rows++;
    for (int c = 0; c < p->f->ncolumns; c++)
        if (p->f->column[c].text)
            measure_text(p, slice, c);
}

/* Where slices begin in the chunk of a reader, and columns; it has no memory yet. */
static int make_chunk(struct piece *p, int reader, struct hd_err *err)
{
    struct rt_fragment_rows *f = p->f;
    struct rt_fragment_chunk *c = hd_try_calloc(1, sizeof *c + (size_t)f->ncolumns * sizeof *c->column);
    if (!c)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for rows for other fragments");
    p->chunk[reader] = c;
    for (uint64_t s = 0; s < p->nslices; s++) {
        share_of(p, s, reader)->first = c->rows;
        c->rows += share_of(p, s, reader)->rows;
    }
    for (int i = 0; i < f->ncolumns; i++) {
        struct rt_fragment_values *v = &c->column[i];
        for (uint64_t s = 0; s < p->nslices && f->column[i].text; s++) {
            uint64_t *at = text_of(p, s, reader, i), n = *at;
            *at = v->text_bytes;
            v->text_bytes += n;
        }
        v->has_valid = field_of(p, i)->valid_offset >= 0;
        v->values = c->bytes;
        v->valid = v->values + hd_align_up((size_t)c->rows * (size_t)f->column[i].width, 64);
        v->text = v->valid + (v->has_valid ? hd_align_up((size_t)c->rows, 64) : 0);
        c->bytes = v->text + hd_align_up((size_t)v->text_bytes, 64);
    }
    return 0;
}

/* Memory for the chunks of readers from on; *end: the first one that has none. */
static int fill_block(struct piece *p, int from, int *end, struct hd_err *err)
{
    struct rt_fragment_block *b = hd_try_calloc(1, sizeof *b);
    size_t bytes = 0;
    int k = from;
    while (k < p->f->o.readers && bytes < BLOCK_BYTES)
        bytes += p->chunk[k++]->bytes;
    if (!b)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for rows for other fragments");
    if (rt_fragment_block(p->f->o.memory, bytes, &b->block, err) != 0) {
        free(b);
        return -1;
    }
    atomic_init(&b->chunks, k - from);
    unsigned char *at = b->block.p;
    for (*end = from; *end < k; ++*end) {
        struct rt_fragment_chunk *c = p->chunk[*end];
        c->in = b;
        c->base = at;
        at += c->bytes;
    }
    return 0;
}

/* Values of one column of a slice go to their readers; those that are NULL are 0. */
#define MOVE(From, To) \
    for (uint64_t i = slice_begin(slice); i < slice_end(p, slice); i++) { \
        const unsigned char *row = p->rows + i * stride; \
        From x; \
        memcpy(&x, row + f->offset, sizeof x); \
        ((To *)(void *)to[p->reader[i]])[p->place[i]] = is_there(f, row) ? (To)x : 0; \
    } \
    return

/* An integer's field is as wide as its values ask for. */
#define MOVE_INTEGERS(To) \
    switch (f->phys) { \
    case RT_BOOL: MOVE(uint8_t, To); \
    case RT_I32: MOVE(int32_t, To); \
    case RT_I64: MOVE(int64_t, To); \
    case RT_I128: MOVE(hd_i128, To); \
    case RT_F64: \
    case RT_STR: \
    case RT_F32: break; \
    } \
    HD_BUG("integers of kind %d", (int)f->phys)

struct move {
    struct piece *p;
    uint64_t slice;
    int column;
    unsigned char **to; /* [reader] the column in its chunk */
};

static void move_text(const struct move *m)
{
    const struct piece *p = m->p;
    const struct rt_field *f = field_of(p, m->column);
    size_t stride = (size_t)p->state->stride;
    for (uint64_t i = slice_begin(m->slice); i < slice_end(p, m->slice); i++) {
        int reader = p->reader[i];
        struct rt_row_str s = text_at(f, p->rows + i * stride);
        struct rt_fragment_chunk *c = p->chunk[reader];
        uint64_t *at = text_of(p, m->slice, reader, m->column);
        uint32_t n = (uint32_t)s.n;
        memcpy(m->to[reader] + (size_t)p->place[i] * sizeof n, &n, sizeof n);
        if (n)
            memcpy(c->base + c->column[m->column].text + *at, s.s, n);
        *at += n;
    }
}

/* A bool's low byte says it, as of other integers all bytes do. */
static void move_values(const struct move *m)
{
    const struct piece *p = m->p;
    uint64_t slice = m->slice;
    const struct rt_field *f = field_of(p, m->column);
    size_t stride = (size_t)p->state->stride;
    unsigned char **to = m->to;
    switch ((enum hd_type_kind)p->f->column[m->column].type.kind) {
    case HD_BOOL: MOVE_INTEGERS(uint8_t);
    case HD_INT32:
    case HD_DATE: MOVE_INTEGERS(int32_t);
    case HD_INT64:
    case HD_TIME:
    case HD_TIMESTAMP: MOVE_INTEGERS(int64_t);
    case HD_DECIMAL:
    case HD_INTERVAL: MOVE_INTEGERS(hd_i128);
    case HD_FLOAT32: MOVE(float, float);
    case HD_FLOAT64: MOVE(double, double);
    case HD_STRING:
    case HD_BINARY: move_text(m); return;
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("result of type %d", p->f->column[m->column].type.kind);
}

static void move_valid(const struct move *m)
{
    const struct piece *p = m->p;
    const struct rt_field *f = field_of(p, m->column);
    size_t stride = (size_t)p->state->stride;
    for (uint64_t i = slice_begin(m->slice); i < slice_end(p, m->slice); i++) {
        struct rt_fragment_chunk *c = p->chunk[p->reader[i]];
        c->base[c->column[m->column].valid + p->place[i]] = is_there(f, p->rows + i * stride);
    }
}

static void move_slice(void *context, uint64_t slice)
{
    struct piece *p = context;
    unsigned char *to[RT_READERS_MAX] = {0};
    for (uint64_t i = slice_begin(slice); i < slice_end(p, slice); i++)
        p->place[i] += (uint32_t)share_of(p, slice, p->reader[i])->first;
    for (int c = 0; c < p->f->ncolumns; c++) {
        for (int k = 0; k < p->f->o.readers; k++)
            to[k] = p->chunk[k]->base + p->chunk[k]->column[c].values;
        struct move m = {p, slice, c, to};
        move_values(&m);
        if (field_of(p, c)->valid_offset >= 0)
            move_valid(&m);
    }
}

static void append(struct rt_fragment_rows *f, int reader, struct rt_fragment_chunk *c)
{
    if (f->last[reader])
        f->last[reader]->next = c;
    else
        f->first[reader] = c;
    f->last[reader] = c;
}

struct sealing {
    const struct rt_memory *m;
    struct rt_checksums *sums;
    _Atomic bool failed;
};

static void seal_part(void *context, uint64_t part)
{
    struct sealing *s = context;
    if (!rt_checksums_seal(s->m, s->sums, (size_t)part))
        atomic_store(&s->failed, true);
}

/* The blocks of a piece, whose chunks have their values. */
static int seal_blocks(struct piece *p, struct hd_err *err)
{
    const struct rt_fragment_options *o = &p->f->o;
    const struct rt_fragment_block *last = NULL;
    for (int k = 0; k < o->readers; k++) {
        struct rt_fragment_block *b = p->chunk[k]->in;
        struct sealing s = {.m = o->memory, .sums = &b->sums};
        if (b == last)
            continue;
        last = b;
        if (!rt_checksums_new(o->memory, b->block.p, b->block.n, &b->sums))
            return HD_FAIL(err, RESOURCE, NULL, "out of memory for rows for other fragments");
        if (b->sums.sum)
            HD_TRY(rt_fragment_parallel(o, b->sums.pieces, seal_part, &s, err));
        if (atomic_load(&s.failed))
            return rt_fragment_refused(o->memory, err);
    }
    return 0;
}

static int divide(struct piece *p, struct hd_err *err)
{
    struct rt_fragment_rows *f = p->f;
    HD_TRY(rt_fragment_parallel(&f->o, p->nslices, count_slice, p, err));
    for (int k = 0; k < f->o.readers; k++)
        HD_TRY(make_chunk(p, k, err));
    for (int k = 0; k < f->o.readers;)
        HD_TRY(fill_block(p, k, &k, err));
    HD_TRY(rt_fragment_parallel(&f->o, p->nslices, move_slice, p, err));
    return seal_blocks(p, err);
}

static size_t carve(size_t *at, uint64_t n, size_t size)
{
    size_t begin = *at;
    *at += hd_align_up((size_t)n * size, 64);
    return begin;
}

static int add_piece(struct piece *p, struct hd_err *err)
{
    struct rt_fragment_rows *f = p->f;
    uint64_t readers = (uint64_t)f->o.readers;
    size_t bytes = 0;
    p->nslices = (p->n + SLICE_ROWS - 1) / SLICE_ROWS;
    size_t reader = carve(&bytes, p->n, sizeof *p->reader),
           share = carve(&bytes, p->nslices * readers, sizeof *p->share),
           text = carve(&bytes, p->nslices * readers * (uint64_t)f->ncolumns, sizeof *p->text),
           chunk = carve(&bytes, readers, sizeof(struct rt_fragment_chunk *)), zero = bytes,
           place = carve(&bytes, p->n, sizeof *p->place);
    HD_TRY(rt_fragment_block(f->o.memory, bytes, &p->scratch, err));
    unsigned char *base = p->scratch.p;
    memset(base, 0, zero);
    p->reader = (uint16_t *)(void *)(base + reader);
    p->share = (struct share *)(void *)(base + share);
    p->text = (uint64_t *)(void *)(base + text);
    p->chunk = (struct rt_fragment_chunk **)(void *)(base + chunk);
    p->place = (uint32_t *)(void *)(base + place);
    int rc = divide(p, err);
    for (int k = 0; k < f->o.readers; k++)
        if (p->chunk[k])
            append(f, k, p->chunk[k]);
    rt_block_free(f->o.memory, &p->scratch);
    return rc;
}

/* Rows of a piece. */
static uint64_t piece_rows(const struct rt_fragment_rows *f, const struct rt_state *s)
{
    uint64_t most = HD_MAX((uint64_t)PIECE_BYTES, (uint64_t)f->o.readers * READER_BYTES);
    uint64_t bytes = HD_MIN(most, HD_MAX(rt_memory_limit(f->o.memory) / PIECE_SHARE, (uint64_t)PIECE_LEAST));
    return HD_MAX(bytes / (uint64_t)HD_MAX(s->stride, 1), (uint64_t)1);
}

int rt_fragment_rows_add(struct rt_fragment_rows *f, const struct rt_spec *spec, const unsigned char *rows, uint64_t n,
                         struct hd_err *err)
{
    const struct rt_state *s = &spec->states[spec->result_state];
    uint64_t most = piece_rows(f, s);
    for (uint64_t at = 0; at < n; at += most) {
        struct piece p = {
            .f = f, .spec = spec, .state = s, .rows = rows + at * (uint64_t)s->stride, .n = HD_MIN(n - at, most)};
        HD_TRY(add_piece(&p, err));
    }
    return 0;
}
