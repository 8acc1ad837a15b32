/* Finished rows to columns, batch by batch, straight into the buffers of an Arrow stream: each value is moved once.
 * Dictionary codes become text here. */
#include "runtime/exec/rows_out.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/base/guard.h"
#include "runtime/io/arrow_format.h"
#include "runtime/io/arrow_out.h"

enum { BATCH_ROWS = 1 << 16 };

struct maker {
    const struct rt_spec *spec;
    const struct rt_state *state;
    struct rt_out_size *sizes;
    struct rt_out_buffers *to;
    const struct rt_checksums *sums; /* of the rows; may be NULL */
    const struct hd_stop *stop;
};

/* One field of n rows. */
struct values {
    const struct rt_field *f;
    const unsigned char *rows;
    size_t stride, n;
};

static struct values values_of(const struct maker *m, int c, const unsigned char *rows, size_t n)
{
    return (struct values){&m->state->fields[m->spec->result[c].field], rows, (size_t)m->state->stride, n};
}

static bool is_there(const struct values *v, size_t i)
{
    return v->f->valid_offset < 0 || v->rows[i * v->stride + (size_t)v->f->valid_offset];
}

/* ---- values --------------------------------------------------------------------------------- */

/* NULL rows have 0. */
#define MOVE(From, To) \
    for (size_t i = 0; i < v->n; i++) { \
        From x; \
        memcpy(&x, v->rows + i * v->stride + v->f->offset, sizeof x); \
        ((To *)to)[i] = is_there(v, i) ? (To)x : 0; \
    } \
    return

/* An integer's field is as wide as its values ask for. */
#define MOVE_INTEGERS(To) \
    switch (v->f->phys) { \
    case RT_BOOL: MOVE(uint8_t, To); \
    case RT_I32: MOVE(int32_t, To); \
    case RT_I64: MOVE(int64_t, To); \
    case RT_I128: MOVE(hd_i128, To); \
    case RT_F64: \
    case RT_STR: \
    case RT_F32: break; \
    } \
    HD_BUG("integers of kind %d", (int)v->f->phys)

static void move_i32(const struct values *v, void *to)
{
    MOVE_INTEGERS(int32_t);
}

static void move_i64(const struct values *v, void *to)
{
    MOVE_INTEGERS(int64_t);
}

static void move_i128(const struct values *v, void *to)
{
    MOVE_INTEGERS(hd_i128);
}

/* Months, days and nanoseconds in the place of the integer. */
static void move_intervals(const struct values *v, hd_i128 *to)
{
    move_i128(v, to);
    for (size_t i = 0; i < v->n; i++)
        if (is_there(v, i))
            rt_arrow_put_interval(to, (int64_t)i, hd_interval_unpack(to[i]));
}

static void move_f32(const struct values *v, void *to)
{
    MOVE(float, float);
}

static void move_f64(const struct values *v, void *to)
{
    MOVE(double, double);
}

static uint32_t read_code(const struct rt_field *f, const unsigned char *p)
{
    uint8_t b;
    uint32_t code;
    if (f->phys == RT_BOOL) {
        memcpy(&b, p, sizeof b);
        return b;
    }
    memcpy(&code, p, sizeof code); /* of a wider integer the low half: codes have 32 bits */
    return code;
}

static struct rt_row_str read_text(const struct values *v, size_t i)
{
    const unsigned char *p = v->rows + i * v->stride + v->f->offset;
    struct rt_row_str s;
    if (v->f->phys == RT_STR) {
        memcpy(&s, p, sizeof s);
        return s;
    }
    const struct fe_dict *d = &v->f->dict_table->cols[v->f->dict_column].dict;
    uint32_t code = read_code(v->f, p);
    return (struct rt_row_str){d->bytes + d->offsets[code], d->offsets[code + 1] - d->offsets[code]};
}

static void move_texts(const struct values *v, const struct rt_out_buffers *to)
{
    int32_t *offsets = to->values, at = 0;
    offsets[0] = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (is_there(v, i)) {
            struct rt_row_str s = read_text(v, i);
            if (s.n)
                memcpy(to->text + at, s.s, s.n);
            at += (int32_t)s.n;
        }
        offsets[i + 1] = at;
    }
}

/* Of a wider integer the low byte says it. */
static void move_bits(const struct values *v, uint8_t *bits)
{
    for (size_t i = 0; i < v->n; i++)
        bits[i >> 3] |= (uint8_t)((is_there(v, i) && v->rows[i * v->stride + (size_t)v->f->offset]) << (i & 7));
}

static void move_valid(const struct values *v, const struct rt_out_buffers *to)
{
    int64_t nulls = 0;
    for (size_t i = 0; i < v->n; i++) {
        bool there = is_there(v, i);
        to->valid[i >> 3] |= (uint8_t)(there << (i & 7));
        nulls += !there;
    }
    *to->null_count = nulls;
}

static void move_column(const struct values *v, struct hd_type type, const struct rt_out_buffers *to)
{
    if (to->valid)
        move_valid(v, to);
    switch ((enum hd_type_kind)type.kind) {
    case HD_BOOL: move_bits(v, to->values); return;
    case HD_INT32:
    case HD_DATE: move_i32(v, to->values); return;
    case HD_INT64:
    case HD_TIME:
    case HD_TIMESTAMP: move_i64(v, to->values); return;
    case HD_DECIMAL: move_i128(v, to->values); return;
    case HD_INTERVAL: move_intervals(v, to->values); return;
    case HD_FLOAT32: move_f32(v, to->values); return;
    case HD_FLOAT64: move_f64(v, to->values); return;
    case HD_STRING:
    case HD_BINARY: move_texts(v, to); return;
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("result of type %d", type.kind);
}

/* ---- batches -------------------------------------------------------------------------------- */

/* How many rows fit into a batch by their text, at least 1, and its bytes. */
static size_t measure_text(const struct values *v, uint64_t *bytes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < v->n; i++) {
        uint64_t n = is_there(v, i) ? read_text(v, i).n : 0;
        if (i > 0 && sum + n > RT_OUT_TEXT_MAX) {
            *bytes = sum;
            return i;
        }
        sum += n;
    }
    *bytes = sum;
    return v->n;
}

/* Rows of the next batch. Where a column takes fewer than those before it, these are measured again. */
static size_t measure(const struct maker *m, const unsigned char *rows, size_t n)
{
    for (int c = 0; c < m->spec->nresult; c++) {
        struct values v = values_of(m, c, rows, n);
        m->sizes[c] = (struct rt_out_size){.nulls = v.f->valid_offset >= 0};
        size_t fit = hd_type_is_text(m->spec->result[c].type) ? measure_text(&v, &m->sizes[c].text) : n;
        if (fit < n)
            return measure(m, rows, fit);
    }
    return n;
}

static int fill_columns(const struct maker *m, const unsigned char *rows, size_t n, struct hd_err *err)
{
    for (int c = 0; c < m->spec->nresult; c++) {
        if (hd_stopped(m->stop))
            return HD_FAIL(err, CANCELLED, NULL, "cancelled");
        struct values v = values_of(m, c, rows, n);
        move_column(&v, m->spec->result[c].type, &m->to[c]);
    }
    return 0;
}

static int fail_memory(const struct rt_memory *m, struct hd_err *err)
{
    char text[RT_REFUSAL_TEXT];
    enum hd_err_class c = rt_memory_refusal(m, "result", text);
    return hd_err_set(err, c, __FILE__, __LINE__, NULL, "%s", text);
}

/* Rows from `at` on that a batch may have, *verified of all so far. */
static int verify_rows(const struct maker *b, const struct rt_memory *m, uint64_t at, uint64_t n, uint64_t *verified,
                       struct hd_err *err)
{
    size_t stride = (size_t)b->state->stride;
    uint64_t end = HD_MIN(at + BATCH_ROWS, n), from = HD_MAX(at, *verified);
    *verified = end;
    if (!b->sums || from >= end || rt_checksums_verify(m, b->sums, (size_t)from * stride, (size_t)end * stride))
        return 0;
    return fail_memory(m, err);
}

/* counted: bytes of the batches that are reserved. */
static int add_batch(const struct maker *b, const unsigned char *rows, size_t n, struct rt_memory *m, uint64_t *counted,
                     struct rt_arrow_out *out, struct hd_err *err)
{
    HD_TRY(rt_arrow_out_begin(out, (int64_t)n, b->sizes, b->to, err));
    uint64_t bytes = rt_arrow_out_bytes(out);
    if (!rt_memory_reserve(m, bytes - *counted))
        return fail_memory(m, err);
    *counted = bytes;
    return fill_columns(b, rows, n, err);
}

static int make_batches(const struct maker *b, const unsigned char *rows, uint64_t n, struct rt_memory *m,
                        struct rt_arrow_out *out, struct hd_err *err)
{
    uint64_t counted = 0, verified = 0;
    int rc = 0;
    for (uint64_t at = 0; at < n && rc == 0;) {
        const unsigned char *from = rows + at * (size_t)b->state->stride;
        rc = verify_rows(b, m, at, n, &verified, err);
        if (rc != 0)
            break;
        size_t k = measure(b, from, (size_t)HD_MIN(n - at, (uint64_t)BATCH_ROWS));
        rc = add_batch(b, from, k, m, &counted, out, err);
        at += k;
    }
    rt_memory_unreserve(m, counted);
    return rc;
}

static int new_columns(struct hd_arena *a, struct maker *b, struct rt_out_column **cols)
{
    b->sizes = HD_NEWN(a, struct rt_out_size, b->spec->nresult);
    b->to = HD_NEWN(a, struct rt_out_buffers, b->spec->nresult);
    *cols = HD_NEWN(a, struct rt_out_column, b->spec->nresult);
    return 0;
}

static int make_columns(struct hd_arena *a, struct maker *b, struct rt_out_column **cols, struct hd_err *err)
{
    int rc;
    HD_GUARDED(rc, NULL, err, new_columns(a, b, cols));
    return rc;
}

static int make_stream(struct hd_arena *a, const struct rt_spec *s, const unsigned char *rows, uint64_t n,
                       const struct rt_checksums *sums, struct rt_memory *m, const struct hd_stop *stop,
                       struct ArrowArrayStream *out, struct hd_err *err)
{
    struct maker b = {.spec = s, .state = &s->states[s->result_state], .sums = sums, .stop = stop};
    struct rt_out_column *cols;
    struct rt_arrow_out *o = NULL;
    HD_TRY(make_columns(a, &b, &cols, err));
    for (int c = 0; c < s->nresult; c++)
        cols[c] = (struct rt_out_column){s->result[c].name, s->result[c].type, s->result[c].nullable};
    HD_TRY(rt_arrow_out_new(s->nresult, cols, &o, err));
    if (make_batches(&b, rows, n, m, o, err) != 0) {
        rt_arrow_out_free(o);
        return -1;
    }
    rt_arrow_out_finish(o, out);
    return 0;
}

int rt_rows_stream(const struct rt_spec *spec, const unsigned char *rows, uint64_t n, const struct rt_checksums *sums,
                   struct rt_memory *m, const struct hd_stop *stop, struct ArrowArrayStream *out, struct hd_err *err)
{
    struct hd_arena a;
    hd_arena_init(&a);
    int rc = make_stream(&a, spec, rows, n, sums, m, stop, out, err);
    hd_arena_release(&a);
    return rc;
}
