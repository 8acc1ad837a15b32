/* Finished rows to columns, batch by batch, straight into the buffers of an Arrow stream: each value is moved once.
 * Dictionary codes become text here. Threads take chunks of a batch's rows, twice: they measure the text, which says where that of
 * each chunk goes, and move the values. */
#include "runtime/exec/rows_out.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/exec/rows_move.h"
#include "runtime/exec/thread_pool.h"

enum {
    BATCH_ROWS = 1 << 16,
    CHUNK_ROWS = 1 << 11, /* of a batch: a multiple of 64, so that no two have a byte of a bitmap in common */
    CHUNKS = BATCH_ROWS / CHUNK_ROWS,
    THREAD_VALUES = 1 << 13, /* fewer take less time than waking a thread */
    THREADS = 8 /* more gain nothing */
};

/* A column's part of a chunk. */
struct part {
    uint64_t text, text_at; /* bytes, and where they begin */
    int64_t nulls;
};

struct rt_rows_out {
    const struct rt_spec *spec;
    const struct rt_state *state;
    struct rt_rows_options o;
    struct rt_arrow_out *out;
    uint64_t counted; /* bytes of the batches, which are reserved */
    struct rt_out_size *sizes; /* per column, */
    struct rt_out_buffers *to; /* of the batch at hand: */
    struct part *parts; /* per chunk and column */
    const unsigned char *rows;
    size_t n;
    /* What threads do with a chunk. */
    void (*work)(struct rt_rows_out *r, size_t chunk);
    _Atomic size_t next;
};

/* ---- chunks ----------------------------------------------------------------------------------- */

static size_t chunks(const struct rt_rows_out *r)
{
    return (r->n + CHUNK_ROWS - 1) / CHUNK_ROWS;
}

static struct part *part_of(const struct rt_rows_out *r, size_t chunk, int c)
{
    return &r->parts[chunk * (size_t)r->spec->nresult + (size_t)c];
}

static struct rt_row_values values_of(const struct rt_rows_out *r, int c, size_t at, size_t n)
{
    size_t stride = (size_t)r->state->stride;
    return (struct rt_row_values){&r->state->fields[r->spec->result[c].field], r->rows + at * stride, stride, n};
}

static struct rt_row_values values_of_chunk(const struct rt_rows_out *r, int c, size_t chunk)
{
    size_t at = chunk * CHUNK_ROWS;
    return values_of(r, c, at, HD_MIN(r->n - at, (size_t)CHUNK_ROWS));
}

static bool is_text(const struct rt_rows_out *r, int c)
{
    return hd_type_is_text(r->spec->result[c].type);
}

static void measure_chunk(struct rt_rows_out *r, size_t chunk)
{
    for (int c = 0; c < r->spec->nresult; c++) {
        struct rt_row_values v = values_of_chunk(r, c, chunk);
        *part_of(r, chunk, c) = (struct part){.text = is_text(r, c) ? rt_row_text_bytes(&v) : 0};
    }
}

static void move_chunk(struct rt_rows_out *r, size_t chunk)
{
    for (int c = 0; c < r->spec->nresult; c++) {
        struct rt_row_values v = values_of_chunk(r, c, chunk);
        struct part *part = part_of(r, chunk, c);
        part->nulls = rt_row_values_move(&v, r->spec->result[c].type, &r->to[c], chunk * CHUNK_ROWS, part->text_at);
    }
}

static void draw_chunks(void *context, int worker HD_UNUSED)
{
    struct rt_rows_out *r = context;
    for (size_t i; (i = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed)) < chunks(r);) {
        if (hd_stopped(r->o.stop))
            return;
        r->work(r, i);
    }
}

static int do_chunks(struct rt_rows_out *r, void (*work)(struct rt_rows_out *, size_t), struct hd_err *err)
{
    struct rt_thread_pool_job job = {.run = draw_chunks, .context = r};
    size_t threads = r->n * (size_t)r->spec->nresult / THREAD_VALUES;
    threads = HD_MIN(HD_MIN(threads, chunks(r)), (size_t)HD_MIN(r->o.threads, (int)THREADS));
    r->work = work;
    atomic_store(&r->next, 0);
    if (threads > 1)
        rt_thread_pool_start(r->o.thread_pool, &job, 1, (int)threads);
    draw_chunks(r, 0);
    rt_thread_pool_finish(r->o.thread_pool, &job);
    return hd_stopped(r->o.stop) ? HD_FAIL(err, CANCELLED, NULL, "cancelled") : 0;
}

/* ---- a batch ------------------------------------------------------------------------------------ */

/* Where the text of each chunk begins, how much there is. False: it is more than a batch holds. */
static bool place_text(struct rt_rows_out *r)
{
    bool fits = true;
    for (int c = 0; c < r->spec->nresult; c++) {
        uint64_t text = 0;
        for (size_t i = 0; i < chunks(r); i++) {
            part_of(r, i, c)->text_at = text;
            text += part_of(r, i, c)->text;
        }
        r->sizes[c] = (struct rt_out_size){.nulls = values_of(r, c, 0, 0).f->valid_offset >= 0, .text = text};
        fits &= text <= RT_OUT_TEXT_MAX;
    }
    return fits;
}

/* Leaves rows for the next batch, so that each column's text fits; at least one stays. */
static void take_fewer(struct rt_rows_out *r)
{
    for (int c = 0; c < r->spec->nresult; c++) {
        struct rt_row_values v = values_of(r, c, 0, r->n);
        if (is_text(r, c))
            r->n = HD_MAX(rt_row_text_fit(&v, RT_OUT_TEXT_MAX), (size_t)1);
    }
}

static int measure(struct rt_rows_out *r, struct hd_err *err)
{
    HD_TRY(do_chunks(r, measure_chunk, err));
    if (place_text(r))
        return 0;
    take_fewer(r);
    HD_TRY(do_chunks(r, measure_chunk, err));
    place_text(r);
    return 0;
}

static int fail_memory(const struct rt_memory *m, struct hd_err *err)
{
    char text[RT_REFUSAL_TEXT];
    enum hd_err_class c = rt_memory_refusal(m, "result", text);
    return hd_err_set(err, c, __FILE__, __LINE__, NULL, "%s", text);
}

static int add_batch(struct rt_rows_out *r, struct hd_err *err)
{
    HD_TRY(measure(r, err));
    HD_TRY(rt_arrow_out_begin(r->out, (int64_t)r->n, r->sizes, r->to, err));
    uint64_t bytes = rt_arrow_out_bytes(r->out);
    if (!rt_memory_reserve(r->o.memory, bytes - r->counted))
        return fail_memory(r->o.memory, err);
    r->counted = bytes;
    HD_TRY(do_chunks(r, move_chunk, err));
    for (int c = 0; c < r->spec->nresult; c++)
        for (size_t i = 0; i < chunks(r); i++)
            *r->to[c].null_count += part_of(r, i, c)->nulls;
    return 0;
}

/* Rows from `at` on that a batch may have, *verified of all so far. */
static int verify_rows(const struct rt_rows_out *r, const struct rt_checksums *sums, uint64_t at, uint64_t n,
                       uint64_t *verified, struct hd_err *err)
{
    size_t stride = (size_t)r->state->stride;
    uint64_t end = HD_MIN(at + BATCH_ROWS, n), from = HD_MAX(at, *verified);
    *verified = end;
    if (!sums || from >= end || rt_checksums_verify(r->o.memory, sums, (size_t)from * stride, (size_t)end * stride))
        return 0;
    return fail_memory(r->o.memory, err);
}

int rt_rows_out_add(struct rt_rows_out *r, const unsigned char *rows, uint64_t n, const struct rt_checksums *sums,
                    struct hd_err *err)
{
    uint64_t verified = 0;
    for (uint64_t at = 0; at < n; at += r->n) {
        HD_TRY(verify_rows(r, sums, at, n, &verified, err));
        r->rows = rows + at * (size_t)r->state->stride;
        r->n = (size_t)HD_MIN(n - at, (uint64_t)BATCH_ROWS);
        HD_TRY(add_batch(r, err));
    }
    return 0;
}

/* ---- from beginning to end ------------------------------------------------------------------------ */

static int new_stream(struct rt_rows_out *r, struct hd_err *err)
{
    const struct rt_spec *s = r->spec;
    struct rt_out_column *cols = hd_try_calloc((size_t)s->nresult, sizeof *cols);
    if (!cols)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for a result");
    for (int c = 0; c < s->nresult; c++)
        cols[c] = (struct rt_out_column){s->result[c].name, s->result[c].type, s->result[c].nullable};
    int rc = rt_arrow_out_new(s->nresult, cols, &r->out, err);
    free(cols);
    return rc;
}

/* One allocation for it and its arrays. */
static struct rt_rows_out *new_rows(size_t n)
{
    struct rt_rows_out *r =
        hd_try_calloc(1, sizeof *r + n * (sizeof *r->sizes + sizeof *r->to + CHUNKS * sizeof *r->parts));
    if (!r)
        return NULL;
    r->sizes = (struct rt_out_size *)(void *)(r + 1);
    r->to = (struct rt_out_buffers *)(void *)(r->sizes + n);
    r->parts = (struct part *)(void *)(r->to + n);
    return r;
}

int rt_rows_out_new(const struct rt_spec *spec, const struct rt_rows_options *o, struct rt_rows_out **out,
                    struct hd_err *err)
{
    struct rt_rows_out *r = new_rows((size_t)spec->nresult);
    if (!r)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for a result");
    r->spec = spec;
    r->state = &spec->states[spec->result_state];
    r->o = *o;
    if (new_stream(r, err) != 0) {
        rt_rows_out_free(r);
        return -1;
    }
    *out = r;
    return 0;
}

void rt_rows_out_free(struct rt_rows_out *r)
{
    if (!r)
        return;
    rt_memory_unreserve(r->o.memory, r->counted);
    rt_arrow_out_free(r->out);
    free(r);
}

void rt_rows_out_finish(struct rt_rows_out *r, struct ArrowArrayStream *out)
{
    rt_arrow_out_finish(r->out, out);
    r->out = NULL;
    rt_rows_out_free(r);
}
