/* Strings and binary of Arrow batches: offsets into one buffer, or views into several. */
#include <stdio.h>

#include "runtime/base/utf8.h"
#include "runtime/io/arrow_check.h"

enum { BLOCK = 4096, INLINE = 12 /* bytes of a view that holds its string itself */ };

/* ---- errors --------------------------------------------------------------------------------- */

int rt_arrow_bad_value(const struct rt_arrow_source *s, int column, enum rt_arrow_part part, int64_t i,
                       const char *what, struct hd_err *err)
{
    const char *name = s->table->cols[column].name;
    if (part == RT_ARROW_ROWS)
        return HD_FAIL(err, DATA, s->table->name, "row %lld: column \"%s\"%s%s", (long long)(s->first_row + i + 1),
                       name, *what == ' ' ? "" : ": ", what);
    return HD_FAIL(err, DATA, s->table->name, "column \"%s\": %s %lld%s: %s", name,
                   part == RT_ARROW_ENTRIES ? "entry" : "run", (long long)i + 1,
                   part == RT_ARROW_ENTRIES ? " of its dictionary" : "", what);
}

/* ---- offsets -------------------------------------------------------------------------------- */

/* Strings [first, first + n) of an array, whether rows, entries of a dictionary or values of runs. */
struct strings {
    enum rt_arrow_format format;
    const void *offsets;
    const char *bytes;
    const uint8_t *validity; /* NULL: all are valid */
    int64_t first, n;
};

static bool narrow_ascend(const void *p, int64_t first, int64_t n)
{
    int32_t bad = 0;
    for (int64_t i = first; i < first + n; i++) {
        int32_t a = rt_arrow_i32(p, i), b = rt_arrow_i32(p, i + 1);
        bad |= a | b | -(b < a); /* the sign */
    }
    return bad >= 0;
}

/* No string is longer than struct rt_str can say. */
static bool wide_ascend(const void *p, int64_t first, int64_t n)
{
    uint64_t bad = 0;
    for (int64_t i = first; i < first + n; i++) {
        uint64_t a = rt_arrow_u64(p, i), b = rt_arrow_u64(p, i + 1);
        bad |= ((a | b) >> 56) | ((b - a) >> 32);
    }
    return !bad;
}

static bool ascend(const struct strings *s, int64_t from, int64_t n)
{
    return s->format == RT_ARROW_UTF8 ? narrow_ascend(s->offsets, s->first + from, n)
                                      : wide_ascend(s->offsets, s->first + from, n);
}

/* Row of the first string with bad offsets, -1 if there is none. NULL rows count: their
 * neighbours share the offsets. */
static int64_t bad_offsets(const struct strings *s)
{
    for (int64_t from = 0; from < s->n; from += BLOCK) {
        int64_t n = HD_MIN(s->n - from, BLOCK);
        if (ascend(s, from, n))
            continue;
        for (int64_t i = from; i < from + n; i++)
            if (!ascend(s, i, 1))
                return i;
    }
    return -1;
}

static int64_t offset(const struct strings *s, int64_t i)
{
    return rt_arrow_offset(s->format, s->offsets, s->first + i);
}

/* All strings of the run, NULLs too: their bytes lie side by side, so that they are UTF-8 one by
 * one if the whole is and none starts inside a character. */
static bool run_is_utf8(const struct strings *s, int64_t from, int64_t n)
{
    int64_t start = offset(s, from), end = offset(s, from + n);
    if (start == end)
        return true;
    const char *bytes = s->bytes + start;
    size_t size = (size_t)(end - start);
    if (hd_is_ascii(bytes, size))
        return true;
    if (hd_utf8_check(bytes, size) != size)
        return false;
    bool inside = false;
    for (int64_t i = from; i < from + n; i++) {
        int64_t at = offset(s, i);
        inside |= at < end && (s->bytes[at] & 0xC0) == 0x80;
    }
    return !inside;
}

/* The first string that is valid and not UTF-8, or -1. */
static int64_t bad_utf8(const struct strings *s)
{
    for (int64_t from = 0; from < s->n; from += BLOCK) {
        int64_t n = HD_MIN(s->n - from, BLOCK);
        if (run_is_utf8(s, from, n))
            continue;
        for (int64_t i = from; i < from + n; i++)
            if ((!s->validity || rt_arrow_bit(s->validity, s->first + i)) && !run_is_utf8(s, i, 1))
                return i;
    }
    return -1;
}

static void describe_offsets(int64_t from, int64_t to, char *what, size_t room)
{
    if (from >= 0 && to > from && to <= INT64_MAX >> 8)
        snprintf(what, room, "a string of 4 GiB or more");
    else
        snprintf(what, room, "bad string offsets: %lld to %lld", (long long)from, (long long)to);
}

static int not_utf8(const struct rt_arrow_source *s, int column, enum rt_arrow_part part, int64_t i, struct rt_str text,
                    struct hd_err *err)
{
    char what[96];
    snprintf(what, sizeof what, "byte %zu is not UTF-8", hd_utf8_check(text.p, text.n) + 1);
    return rt_arrow_bad_value(s, column, part, i, what, err);
}

static bool is_binary(const struct rt_arrow_source *s, int column)
{
    return s->table->cols[column].type.kind == HD_BINARY;
}

static int check_offsets(const struct rt_arrow_source *s, int column, const struct rt_arrow_column *c, int64_t rows,
                         enum rt_arrow_part part, struct hd_err *err)
{
    const struct strings v = {c->format, c->data, c->bytes, c->validity, c->offset, rows};
    char what[96];
    int64_t i = rows ? bad_offsets(&v) : -1;
    if (i >= 0) {
        describe_offsets(offset(&v, i), offset(&v, i + 1), what, sizeof what);
        return rt_arrow_bad_value(s, column, part, i, what, err);
    }
    if (!rows)
        return 0;
    if (!v.bytes && offset(&v, v.n) > offset(&v, 0))
        return HD_FAIL(err, USER, s->table->name, "column \"%s\": an Arrow array of strings without their bytes",
                       s->table->cols[column].name);
    i = is_binary(s, column) ? -1 : bad_utf8(&v);
    return i < 0 ? 0 : not_utf8(s, column, part, i, rt_arrow_string(c, i), err);
}

/* ---- views ---------------------------------------------------------------------------------- */

/* Variable-size binary view layout of the Arrow columnar format: 4 bytes of length, then either the string, padded
 * with zeros, or its first 4 bytes, the number of a buffer and the offset in it. */
struct view {
    int32_t length, prefix, buffer, offset;
};

static struct view view_at(const struct rt_arrow_column *c, int64_t i)
{
    struct view v;
    memcpy(&v, (const char *)c->data + (c->offset + i) * (int64_t)sizeof v, sizeof v);
    return v;
}

struct rt_str rt_arrow_string(const struct rt_arrow_column *c, int64_t i)
{
    if (c->format == RT_ARROW_VIEW) {
        struct view v = view_at(c, i);
        const char *p = (const char *)c->data + (c->offset + i) * (int64_t)sizeof v + 4;
        if (v.length > INLINE)
            p = (const char *)c->array->buffers[2 + v.buffer] + v.offset;
        return (struct rt_str){p, (uint32_t)v.length};
    }
    if (c->format == RT_ARROW_FIXED)
        return (struct rt_str){(const char *)c->data + (c->offset + i) * c->width, (uint32_t)c->width};
    int64_t from = rt_arrow_offset(c->format, c->data, c->offset + i);
    int64_t to = rt_arrow_offset(c->format, c->data, c->offset + i + 1);
    if (to == from) /* there may be no bytes at all */
        return (struct rt_str){"", 0};
    return (struct rt_str){c->bytes + from, (uint32_t)(to - from)};
}

/* False, with what is wrong, unless the view's bytes can be read and are what it says of them. */
static bool view_is_good(const struct rt_arrow_column *c, int64_t i, char *what, size_t room)
{
    struct view v = view_at(c, i);
    int64_t nbuffers = c->array->n_buffers - 3;
    if (v.length < 0) {
        snprintf(what, room, "a view of %d bytes", (int)v.length);
        return false;
    }
    if (v.length <= INLINE) {
        const char *p = (const char *)c->data + (c->offset + i) * (int64_t)sizeof v + 4;
        for (int k = v.length; k < INLINE; k++)
            if (p[k]) {
                snprintf(what, room, "a view of %d bytes with more behind them", (int)v.length);
                return false;
            }
        return true;
    }
    if (v.buffer < 0 || v.buffer >= nbuffers) {
        snprintf(what, room, "a view into buffer %lld of %lld", (long long)v.buffer + 1, (long long)nbuffers);
        return false;
    }
    int64_t size = rt_arrow_i64(c->array->buffers[c->array->n_buffers - 1], v.buffer);
    if (v.offset < 0 || (int64_t)v.offset + v.length > size) {
        snprintf(what, room, "a view of %d bytes at %d of a buffer of %lld", (int)v.length, (int)v.offset,
                 (long long)size);
        return false;
    }
    if (rt_arrow_i32((const char *)c->array->buffers[2 + v.buffer] + v.offset, 0) != v.prefix) {
        snprintf(what, room, "a view whose prefix is not what its bytes begin with");
        return false;
    }
    return true;
}

static int check_views(const struct rt_arrow_source *s, int column, const struct rt_arrow_column *c, int64_t rows,
                       enum rt_arrow_part part, struct hd_err *err)
{
    char what[96];
    for (int64_t i = 0; i < rows; i++) {
        if (c->validity && !rt_arrow_bit(c->validity, c->offset + i))
            continue;
        if (!view_is_good(c, i, what, sizeof what))
            return rt_arrow_bad_value(s, column, part, i, what, err);
        struct rt_str text = rt_arrow_string(c, i);
        if (!is_binary(s, column) && !hd_is_ascii(text.p, text.n) && hd_utf8_check(text.p, text.n) != text.n)
            return not_utf8(s, column, part, i, text, err);
    }
    return 0;
}

int rt_arrow_check_strings(const struct rt_arrow_source *s, int column, const struct rt_arrow_column *c, int64_t rows,
                           enum rt_arrow_part part, struct hd_err *err)
{
    if (c->format == RT_ARROW_FIXED)
        return 0;
    return c->format == RT_ARROW_VIEW ? check_views(s, column, c, rows, part, err)
                                      : check_offsets(s, column, c, rows, part, err);
}
