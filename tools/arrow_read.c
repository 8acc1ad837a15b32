/* Result streams: schema, cells, traversal. */
#include "tools/arrow_read.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "templates/interval_form.cuh"

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

/* ---- types ---- */

static const struct {
    const char *format, *name;
} kinds[] = {
    [ARROW_BOOL] = {"b", "bool"},       [ARROW_INT32] = {"i", "int32"},
    [ARROW_INT64] = {"l", "int64"},     [ARROW_DECIMAL] = {"d:", "decimal"},
    [ARROW_FLOAT32] = {"f", "float32"}, [ARROW_FLOAT64] = {"g", "float64"},
    [ARROW_DATE] = {"tdD", "date"},     [ARROW_TIMESTAMP] = {"tsu:", "timestamp"},
    [ARROW_TIME] = {"ttu", "time"},     [ARROW_STRING] = {"u", "string"},
    [ARROW_BINARY] = {"z", "binary"},   [ARROW_INTERVAL] = {"tin", "interval"},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const char *arrow_type_text(const struct arrow_column *c, char buf[ARROW_TYPE_MAX])
{
    if (c->kind == ARROW_DECIMAL)
        snprintf(buf, ARROW_TYPE_MAX, "decimal(%d,%d)", c->precision, c->scale);
    else
        snprintf(buf, ARROW_TYPE_MAX, "%s", kinds[c->kind].name);
    return buf;
}

static int read_column(const struct ArrowSchema *s, struct arrow_column *c, struct cli_error *err)
{
    c->name = s->name ? s->name : "";
    c->nullable = (s->flags & ARROW_FLAG_NULLABLE) != 0;
    int end = 0;
    if (sscanf(s->format, "d:%d,%d%n", &c->precision, &c->scale, &end) == 2 && !s->format[end]) {
        c->kind = ARROW_DECIMAL;
        return 0;
    }
    for (int k = 0; k < KINDS; k++) {
        if (!s->dictionary && strcmp(s->format, kinds[k].format) == 0) {
            c->kind = (enum arrow_kind)k;
            return 0;
        }
    }
    return cli_fail(err, CLI_FAILED, c->name, "a result of Arrow format \"%s\"%s cannot be printed", s->format,
                    s->dictionary ? " with a dictionary" : "");
}

static int read_columns(struct arrow_columns *c, struct cli_error *err)
{
    c->n = (int)c->schema.n_children;
    c->at = cli_alloc(sizeof *c->at * (size_t)c->n);
    memset(c->at, 0, sizeof *c->at * (size_t)c->n);
    for (int i = 0; i < c->n; i++)
        if (read_column(c->schema.children[i], &c->at[i], err))
            return -1;
    return 0;
}

static void arrow_columns_release(struct arrow_columns *c)
{
    free(c->at);
    if (c->schema.release)
        c->schema.release(&c->schema);
    *c = (struct arrow_columns){0};
}

/* ---- values ---- */

/* Position of the row in the column's buffers. */
static int64_t place(const struct ArrowArray *batch, int column, int64_t row)
{
    return batch->offset + row + batch->children[column]->offset;
}

static const void *buffer(const struct ArrowArray *batch, int column, int i)
{
    return batch->children[column]->buffers[i];
}

static bool bit(const uint8_t *bits, int64_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}

static bool is_null(const struct ArrowArray *batch, int column, int64_t row)
{
    const uint8_t *validity = buffer(batch, column, 0);
    return validity && batch->children[column]->null_count != 0 && !bit(validity, place(batch, column, row));
}

static bool arrow_bool(const struct ArrowArray *batch, int column, int64_t row)
{
    return bit(buffer(batch, column, 1), place(batch, column, row));
}

int64_t arrow_int64(const struct ArrowArray *batch, int column, int64_t row)
{
    const int64_t *v = buffer(batch, column, 1);
    return v[place(batch, column, row)];
}

static int32_t int32_at(const struct ArrowArray *batch, int column, int64_t row)
{
    const int32_t *v = buffer(batch, column, 1);
    return v[place(batch, column, row)];
}

static double float64_at(const struct ArrowArray *batch, int column, int64_t row)
{
    const double *v = buffer(batch, column, 1);
    return v[place(batch, column, row)];
}

static double float32_at(const struct ArrowArray *batch, int column, int64_t row)
{
    const float *v = buffer(batch, column, 1);
    return v[place(batch, column, row)];
}

static int128 decimal_at(const struct ArrowArray *batch, int column, int64_t row)
{
    int128 v;
    const char *bytes = buffer(batch, column, 1);
    memcpy(&v, bytes + (int64_t)sizeof v * place(batch, column, row), sizeof v);
    return v;
}

static void decimal_text(int128 v, int scale, struct arrow_text *out)
{
    char *p = out->buf + sizeof out->buf;
    uint128 u = v < 0 ? -(uint128)v : (uint128)v;
    int digits = 0;
    do {
        if (digits == scale && scale)
            *--p = '.';
        *--p = (char)('0' + (int)(u % 10));
        u /= 10;
        digits++;
    } while (u || digits <= scale);
    if (v < 0)
        *--p = '-';
    out->s = p;
    out->n = (size_t)(out->buf + sizeof out->buf - p);
}

/* The shortest of %.1g to %.17g that reads back as the same number. */
static int float_text(double x, bool single, char *buf, size_t room)
{
    bool same = false;
    int n = 0;
    if (x != x)
        return snprintf(buf, room, "nan");
    for (int digits = 1; digits <= 17 && !same; digits++) {
        n = snprintf(buf, room, "%.*g", digits, x);
        same = (single ? (double)strtof(buf, NULL) : strtod(buf, NULL)) == x;
    }
    return n;
}

static int date_text(int64_t seconds, char *buf, size_t room)
{
    struct tm t;
    time_t at = (time_t)seconds;
    gmtime_r(&at, &t);
    return snprintf(buf, room, "%04d-%02d-%02d", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
}

static int time_text(int64_t micros, char *buf, size_t room)
{
    int second = (int)(micros / 1000000), fraction = (int)(micros % 1000000);
    int n = snprintf(buf, room, "%02d:%02d:%02d", second / 3600, second / 60 % 60, second % 60);
    if (fraction)
        n += snprintf(buf + n, room - (size_t)n, ".%06d", fraction);
    return n;
}

static int timestamp_text(int64_t micros, char *buf, size_t room)
{
    const int64_t day = INT64_C(86400000000);
    int64_t of_day = (micros % day + day) % day;
    int n = date_text((micros - of_day) / 1000000, buf, room);
    buf[n++] = ' ';
    return n + time_text(of_day, buf + n, room - (size_t)n);
}

static void string_text(const struct ArrowArray *batch, int column, int64_t row, struct arrow_text *out)
{
    const int32_t *offsets = buffer(batch, column, 1);
    const char *bytes = buffer(batch, column, 2);
    int64_t i = place(batch, column, row);
    out->n = (size_t)(offsets[i + 1] - offsets[i]);
    out->s = out->n ? bytes + offsets[i] : "";
}

/* \x and two digits for each byte, in memory that the next such value of this thread takes over. */
static bool binary_text(const struct ArrowArray *batch, int column, int64_t row, struct arrow_text *out)
{
    static _Thread_local struct {
        char *s;
        size_t room;
    } kept;
    static const char digits[] = "0123456789abcdef";
    struct arrow_text raw;
    string_text(batch, column, row, &raw);
    if (kept.room < 2 * raw.n + 2) {
        free(kept.s);
        kept.room = 4 * raw.n + 64;
        kept.s = cli_alloc(kept.room);
    }
    kept.s[0] = '\\';
    kept.s[1] = 'x';
    for (size_t i = 0; i < raw.n; i++) {
        kept.s[2 * i + 2] = digits[(unsigned char)raw.s[i] >> 4];
        kept.s[2 * i + 3] = digits[raw.s[i] & 15];
    }
    out->s = kept.s;
    out->n = 2 * raw.n + 2;
    return true;
}

/* Months, days and nanoseconds. */
static int interval_text(const struct ArrowArray *batch, int column, int64_t row, char buf[HDD_INTERVAL_FORM_MAX])
{
    const struct ArrowArray *a = batch->children[column];
    const char *at = (const char *)a->buffers[1] + 16 * (a->offset + batch->offset + row);
    int32_t months, days;
    int64_t nanos;
    i128 v = 0;
    memcpy(&months, at, sizeof months);
    memcpy(&days, at + 4, sizeof days);
    memcpy(&nanos, at + 8, sizeof nanos);
    hdd_interval_pack((hdd_interval){months, days, nanos / 1000}, &v);
    return hdd_put_interval((u8 *)buf, v);
}

bool arrow_cell(const struct arrow_column *c, const struct ArrowArray *batch, int column, int64_t row,
                struct arrow_text *out)
{
    if (is_null(batch, column, row))
        return false;
    int n = 0;
    out->s = out->buf;
    switch (c->kind) {
    case ARROW_BOOL:
        out->s = arrow_bool(batch, column, row) ? "true" : "false";
        n = (int)strlen(out->s);
        break;
    case ARROW_INT32: n = snprintf(out->buf, sizeof out->buf, "%d", int32_at(batch, column, row)); break;
    case ARROW_INT64:
        n = snprintf(out->buf, sizeof out->buf, "%lld", (long long)arrow_int64(batch, column, row));
        break;
    case ARROW_FLOAT32: n = float_text(float32_at(batch, column, row), true, out->buf, sizeof out->buf); break;
    case ARROW_FLOAT64: n = float_text(float64_at(batch, column, row), false, out->buf, sizeof out->buf); break;
    case ARROW_DATE: n = date_text(86400 * (int64_t)int32_at(batch, column, row), out->buf, sizeof out->buf); break;
    case ARROW_TIME: n = time_text(arrow_int64(batch, column, row), out->buf, sizeof out->buf); break;
    case ARROW_TIMESTAMP: n = timestamp_text(arrow_int64(batch, column, row), out->buf, sizeof out->buf); break;
    case ARROW_INTERVAL: n = interval_text(batch, column, row, out->buf); break;
    case ARROW_DECIMAL: decimal_text(decimal_at(batch, column, row), c->scale, out); return true;
    case ARROW_STRING: string_text(batch, column, row, out); return true;
    case ARROW_BINARY: return binary_text(batch, column, row, out);
    }
    out->n = (size_t)n;
    return true;
}

/* ---- traversal ---- */

static int fail_stream(struct ArrowArrayStream *stream, struct cli_error *err)
{
    const char *why = stream->get_last_error(stream);
    return cli_fail(err, CLI_FAILED, NULL, "%s", why ? why : "the result stream failed");
}

static int visit_batches(struct ArrowArrayStream *stream, const struct arrow_columns *c, const struct arrow_visitor *v,
                         void *user, int64_t *rows, struct cli_error *err)
{
    for (;;) {
        struct ArrowArray batch = {0};
        if (stream->get_next(stream, &batch))
            return fail_stream(stream, err);
        if (!batch.release)
            return 0;
        for (int64_t i = 0; v->row && i < batch.length && !cli_stopped(); i++)
            v->row(user, c, &batch, i);
        *rows += batch.length;
        batch.release(&batch);
        if (cli_stopped())
            return cli_fail_stopped(err);
    }
}

int arrow_visit(struct ArrowArrayStream *stream, const struct arrow_visitor *v, void *user, int64_t *rows,
                struct cli_error *err)
{
    struct arrow_columns c = {0};
    int64_t n = 0;
    int rc = stream->get_schema(stream, &c.schema) ? fail_stream(stream, err) : 0;
    if (!rc)
        rc = read_columns(&c, err);
    if (!rc && v->begin)
        v->begin(user, &c);
    if (!rc)
        rc = visit_batches(stream, &c, v, user, &n, err);
    if (!rc && v->end)
        v->end(user, &c, n);
    arrow_columns_release(&c);
    stream->release(stream);
    if (rows)
        *rows = n;
    return rc;
}
