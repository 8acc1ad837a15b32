/* Finished rows to columns, batch by batch, and on into an Arrow stream. Dictionary codes become
 * text here. */
#include "runtime/exec/rows_out.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/base/guard.h"
#include "runtime/io/arrow_out.h"

enum { BATCH_ROWS = 1 << 16 };

/* One batch in columns; arrays of BATCH_ROWS values, 16 bytes each at most. */
struct batch {
    const struct rt_spec *spec;
    const struct rt_state *state;
    struct rt_out_values *columns;
    struct rt_block memory;
    const struct hd_stop *stop;
};

static hd_i128 read_integer(enum rt_phys phys, const unsigned char *p)
{
    int32_t i32;
    int64_t i64;
    hd_i128 i128;
    if (phys == RT_BOOL)
        return *p != 0;
    if (phys == RT_I32) {
        memcpy(&i32, p, 4);
        return i32;
    }
    if (phys == RT_I64) {
        memcpy(&i64, p, 8);
        return i64;
    }
    memcpy(&i128, p, 16);
    return i128;
}

static struct rt_str read_text(const struct rt_field *f, const unsigned char *p)
{
    struct rt_row_str s;
    if (f->phys == RT_STR) {
        memcpy(&s, p, sizeof s);
        return (struct rt_str){s.s, (uint32_t)s.n};
    }
    const struct fe_dict *d = &f->dict_table->cols[f->dict_column].dict;
    uint32_t code = (uint32_t)read_integer(f->phys, p);
    return (struct rt_str){d->bytes + d->offsets[code], d->offsets[code + 1] - d->offsets[code]};
}

static void put_value(const struct rt_field *f, struct hd_type type, const unsigned char *p, void *out, size_t i)
{
    switch ((enum hd_type_kind)type.kind) {
    case HD_BOOL: ((uint8_t *)out)[i] = (uint8_t)read_integer(f->phys, p); return;
    case HD_INT32:
    case HD_DATE: ((int32_t *)out)[i] = (int32_t)read_integer(f->phys, p); return;
    case HD_INT64:
    case HD_TIME:
    case HD_TIMESTAMP: ((int64_t *)out)[i] = (int64_t)read_integer(f->phys, p); return;
    case HD_DECIMAL:
    case HD_INTERVAL: ((hd_i128 *)out)[i] = read_integer(f->phys, p); return;
    case HD_FLOAT32: memcpy((float *)out + i, p, 4); return;
    case HD_FLOAT64: memcpy((double *)out + i, p, 8); return;
    case HD_STRING:
    case HD_BINARY: ((struct rt_str *)out)[i] = read_text(f, p); return;
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("result of type %d", type.kind);
}

static void fill_column(const struct batch *b, int c, const unsigned char *rows, size_t n)
{
    const struct rt_field *f = &b->state->fields[b->spec->result[c].field];
    size_t stride = (size_t)b->state->stride;
    void *values = (void *)(uintptr_t)b->columns[c].values;
    uint8_t *valid = (uint8_t *)(uintptr_t)b->columns[c].valid;
    for (size_t i = 0; i < n; i++) {
        const unsigned char *row = rows + i * stride;
        bool there = f->valid_offset < 0 || row[f->valid_offset];
        if (valid)
            valid[i] = there;
        if (there)
            put_value(f, b->spec->result[c].type, row + f->offset, values, i);
    }
}

static int fill_columns(const struct batch *b, const unsigned char *rows, size_t n, struct hd_err *err)
{
    for (int c = 0; c < b->spec->nresult; c++) {
        if (hd_stopped(b->stop))
            return HD_FAIL(err, CANCELLED, NULL, "cancelled");
        fill_column(b, c, rows, n);
    }
    return 0;
}

static int fail_memory(const struct rt_memory *m, struct hd_err *err)
{
    char text[RT_REFUSAL_TEXT];
    return HD_FAIL(err, RESOURCE, NULL, "%s", rt_memory_refusal(m, "result", text));
}

/* Columns point into the one block. */
static int batch_init(struct batch *b, struct rt_memory *m, uint64_t nrows, struct hd_err *err)
{
    size_t n = (size_t)HD_MIN(nrows, (uint64_t)BATCH_ROWS), ncols = (size_t)b->spec->nresult;
    if (!rt_block_new(m, ncols * n * 17 + 64, true, &b->memory))
        return fail_memory(m, err);
    unsigned char *values = b->memory.p, *valid = values + ncols * n * 16;
    for (size_t c = 0; c < ncols; c++) {
        const struct rt_field *f = &b->state->fields[b->spec->result[c].field];
        b->columns[c].values = values + c * n * 16;
        b->columns[c].valid = f->valid_offset >= 0 ? valid + c * n : NULL;
    }
    return 0;
}

static int add_batches(struct rt_memory *m, struct batch *b, const unsigned char *rows, uint64_t n,
                       struct rt_arrow_out *out, struct hd_err *err)
{
    uint64_t counted = 0;
    int rc = 0;
    for (uint64_t at = 0; at < n && rc == 0; at += BATCH_ROWS) {
        size_t k = (size_t)HD_MIN(n - at, (uint64_t)BATCH_ROWS);
        rc = fill_columns(b, rows + at * (size_t)b->state->stride, k, err);
        if (rc == 0)
            rc = rt_arrow_out_add(out, (int64_t)k, b->columns, err);
        uint64_t bytes = rt_arrow_out_bytes(out);
        if (rc == 0 && !rt_memory_reserve(m, bytes - counted))
            rc = fail_memory(m, err);
        if (rc == 0)
            counted = bytes;
    }
    rt_memory_unreserve(m, counted);
    return rc;
}

static int make_batches(struct batch *b, const unsigned char *rows, uint64_t n, struct rt_memory *m,
                        struct rt_arrow_out *out, struct hd_err *err)
{
    HD_TRY(batch_init(b, m, n, err));
    int rc = add_batches(m, b, rows, n, out, err);
    rt_block_free(m, &b->memory);
    return rc;
}

static int new_columns(struct hd_arena *a, struct batch *b, struct rt_out_column **cols)
{
    b->columns = HD_NEWN(a, struct rt_out_values, b->spec->nresult);
    *cols = HD_NEWN(a, struct rt_out_column, b->spec->nresult);
    return 0;
}

static int make_columns(struct hd_arena *a, struct batch *b, struct rt_out_column **cols, struct hd_err *err)
{
    int rc;
    HD_GUARDED(rc, NULL, err, new_columns(a, b, cols));
    return rc;
}

static int make_stream(struct hd_arena *a, const struct rt_spec *s, const unsigned char *rows, uint64_t n,
                       struct rt_memory *m, const struct hd_stop *stop, struct ArrowArrayStream *out,
                       struct hd_err *err)
{
    struct batch b = {.spec = s, .state = &s->states[s->result_state], .stop = stop};
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

int rt_rows_stream(const struct rt_spec *spec, const unsigned char *rows, uint64_t n, struct rt_memory *m,
                   const struct hd_stop *stop, struct ArrowArrayStream *out, struct hd_err *err)
{
    struct hd_arena a;
    hd_arena_init(&a);
    int rc = make_stream(&a, spec, rows, n, m, stop, out, err);
    hd_arena_release(&a);
    return rc;
}
