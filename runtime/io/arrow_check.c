/* Schemas and the shape of batches; values are in arrow_values.c. */
#include "runtime/io/arrow_check.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/base/utf8.h"

/* More rows or bytes than an address space has; sums and products of sizes stay far from
 * overflow. */
static const int64_t max = INT64_MAX >> 8;

/* What an error is about: a column, a part of it, or (no column) the batch itself. */
enum part { WHOLE, ENTRIES, ENDS, VALUES };
static const char *const part_text[] = {"", ", its dictionary", ", its run ends", ", its values"};
struct place {
    const char *table, *column;
    enum part part;
    bool far; /* buffers are of a device: nothing of them is read */
};

static int refuse(const struct place *p, struct hd_err *err, const char *fmt, ...) HD_PRINTF(3, 4);

static int refuse(const struct place *p, struct hd_err *err, const char *fmt, ...)
{
    char what[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (!p->column)
        return HD_FAIL(err, USER, p->table, "%s", what);
    return HD_FAIL(err, USER, p->table, "column \"%s\"%s: %s", p->column, part_text[p->part], what);
}

/* ---- schemas -------------------------------------------------------------------------------- */

static int check_node(const struct place *p, const struct ArrowSchema *s, struct hd_err *err)
{
    const int64_t known = ARROW_FLAG_DICTIONARY_ORDERED | ARROW_FLAG_NULLABLE | ARROW_FLAG_MAP_KEYS_SORTED;
    if (!s)
        return refuse(p, err, "the Arrow schema is NULL");
    if (!s->release)
        return refuse(p, err, "the Arrow schema was released before");
    if (!s->format)
        return refuse(p, err, "an Arrow schema without a format");
    if (s->flags & ~known)
        return refuse(p, err, "unknown Arrow flags %#llx", (unsigned long long)(s->flags & ~known));
    return 0;
}

static int check_format(const struct place *p, const struct ArrowSchema *s, struct hd_err *err);

static int check_dictionary(const struct place *p, const struct ArrowSchema *s, struct hd_err *err)
{
    const struct place entries = {p->table, p->column, ENTRIES, p->far};
    enum rt_arrow_format format;
    if (p->part == ENTRIES)
        return refuse(p, err, "a dictionary of a dictionary");
    if (!rt_arrow_index_parse(s->format, &format))
        return refuse(p, err, "Arrow format \"%s\" is no index of a dictionary", s->format);
    if (s->n_children != 0)
        return refuse(p, err, "a dictionary has no children, found %lld", (long long)s->n_children);
    return check_format(&entries, s->dictionary, err);
}

static int check_runs(const struct place *p, const struct ArrowSchema *s, struct hd_err *err)
{
    const struct place ends = {p->table, p->column, ENDS, p->far}, values = {p->table, p->column, VALUES, p->far};
    if (p->part != WHOLE)
        return refuse(p, err, "run-end encoded inside another encoding");
    if (s->n_children != 2 || !s->children)
        return refuse(p, err, "expected run ends and values, found %lld children", (long long)s->n_children);
    HD_TRY(check_node(&ends, s->children[0], err));
    const char *format = s->children[0]->format;
    if ((strcmp(format, "s") != 0 && strcmp(format, "i") != 0 && strcmp(format, "l") != 0) ||
        s->children[0]->n_children != 0 || s->children[0]->dictionary)
        return refuse(&ends, err, "expected \"s\", \"i\" or \"l\", found \"%s\"", format);
    return check_format(&values, s->children[1], err);
}

static int check_format(const struct place *p, const struct ArrowSchema *s, struct hd_err *err)
{
    enum rt_arrow_format format;
    struct hd_type type;
    HD_TRY(check_node(p, s, err));
    if (s->dictionary)
        return check_dictionary(p, s, err);
    if (rt_arrow_is_runs(s->format))
        return check_runs(p, s, err);
    if (!rt_arrow_format_parse(s->format, &format, &type))
        return HD_FAIL(err, UNSUPPORTED, p->table, "column \"%s\"%s: Arrow format \"%s\" is not accepted", p->column,
                       part_text[p->part], s->format);
    if (s->n_children != 0)
        return refuse(p, err, "Arrow format \"%s\" has no children, found %lld", s->format, (long long)s->n_children);
    return 0;
}

/* "column \"x\"" once the name is known to be good, until then "column 1". */
static int check_name(const char *table, int64_t k, const char *name, struct hd_err *err)
{
    if (!name || !*name)
        return HD_FAIL(err, USER, table, "column %lld has no name", (long long)k + 1);
    if (hd_utf8_check(name, strlen(name)) != strlen(name))
        return HD_FAIL(err, USER, table, "the name of column %lld is not UTF-8", (long long)k + 1);
    return 0;
}

static int check_column(const char *table, int64_t k, const struct ArrowSchema *s, struct hd_err *err)
{
    char number[32];
    struct place p = {.table = table, .column = number};
    snprintf(number, sizeof number, "%lld", (long long)k + 1);
    HD_TRY(check_node(&p, s, err));
    HD_TRY(check_name(table, k, s->name, err));
    p.column = s->name;
    return check_format(&p, s, err);
}

int rt_arrow_check_schema(const char *table, const struct ArrowSchema *s, struct hd_err *err)
{
    const struct place p = {.table = table};
    HD_TRY(check_node(&p, s, err));
    if (strcmp(s->format, "+s") != 0)
        return refuse(&p, err, "expected a struct array (\"+s\"), found \"%s\"", s->format);
    if (s->n_children < 1 || s->n_children > INT16_MAX)
        return refuse(&p, err, "expected 1 to %d columns, found %lld", INT16_MAX, (long long)s->n_children);
    if (!s->children || s->dictionary)
        return refuse(&p, err, "a struct's Arrow schema %s",
                      s->children ? "with a dictionary" : "whose children are NULL");
    for (int64_t k = 0; k < s->n_children; k++)
        HD_TRY(check_column(table, k, s->children[k], err));
    return 0;
}

/* ---- arrays --------------------------------------------------------------------------------- */

static int check_numbers(const struct place *p, const struct ArrowArray *a, int64_t rows, struct hd_err *err)
{
    if (a->length < 0 || a->offset < 0 || a->length > max || a->offset > max)
        return refuse(p, err, "an Arrow array of length %lld at offset %lld", (long long)a->length,
                      (long long)a->offset);
    if (a->length < rows)
        return refuse(p, err, "Arrow array of %lld rows, shorter than its batch of %lld", (long long)a->length,
                      (long long)rows);
    if (a->null_count < -1 || a->null_count > a->length)
        return refuse(p, err, "%lld NULLs among %lld rows", (long long)a->null_count, (long long)a->length);
    return 0;
}

struct layout {
    int64_t buffers, children;
    bool views; /* as many buffers more as the array likes */
    bool dictionary;
};

static int check_pointers(const struct place *p, const struct ArrowArray *a, const struct layout *want,
                          struct hd_err *err)
{
    if (want->views ? a->n_buffers < want->buffers || a->n_buffers > INT32_MAX : a->n_buffers != want->buffers)
        return refuse(p, err, "expected %lld Arrow buffers, found %lld", (long long)want->buffers,
                      (long long)a->n_buffers);
    if (a->n_buffers && !a->buffers)
        return refuse(p, err, "the list of Arrow buffers is NULL");
    if (a->n_children != want->children)
        return refuse(p, err, "expected %lld Arrow children, found %lld", (long long)want->children,
                      (long long)a->n_children);
    if (a->n_children && !a->children)
        return refuse(p, err, "the list of Arrow children is NULL");
    if ((a->dictionary != NULL) != want->dictionary)
        return refuse(p, err,
                      want->dictionary ? "the schema has a dictionary, the array has none"
                                       : "the array has a dictionary, the schema has none");
    return 0;
}

/* Buffers that are there, and a bitmap that has the NULLs which are claimed. */
static int check_buffers(const struct place *p, const struct ArrowArray *a, struct hd_err *err)
{
    if (!a->n_buffers)
        return 0;
    if (a->null_count > 0 && !a->buffers[0])
        return refuse(p, err, "%lld NULLs, but no bitmap that tells which", (long long)a->null_count);
    if (a->length > 0 && a->n_buffers > 1 && !a->buffers[1])
        return refuse(p, err, "an Arrow array without a data buffer");
    if (p->far)
        return 0;
    int64_t nulls = rt_arrow_count_nulls(a->buffers[0], a->offset, a->length);
    if (a->null_count >= 0 && nulls != a->null_count)
        return refuse(p, err, "%lld NULLs are declared, the bitmap has %lld", (long long)a->null_count,
                      (long long)nulls);
    return 0;
}

static int check_array(const struct place *p, const struct ArrowArray *a, int64_t rows, const struct layout *want,
                       struct hd_err *err)
{
    if (!a)
        return refuse(p, err, "the Arrow array is NULL");
    if (!a->release)
        return refuse(p, err, "the Arrow array was released before");
    HD_TRY(check_numbers(p, a, rows, err));
    HD_TRY(check_pointers(p, a, want, err));
    return check_buffers(p, a, err);
}

/* What lies behind the views, and its sizes. */
static int check_variadic(const struct place *p, const struct ArrowArray *a, struct hd_err *err)
{
    int64_t n = a->n_buffers - 3;
    const void *sizes = a->buffers[a->n_buffers - 1];
    if (n && !sizes)
        return refuse(p, err, "views into %lld buffers of unknown size", (long long)n);
    if (p->far)
        return 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t size = rt_arrow_i64(sizes, k);
        if (size < 0 || size > max || (size && !a->buffers[2 + k]))
            return refuse(p, err, "buffer %lld of the views: %lld bytes%s", (long long)k + 1, (long long)size,
                          size > 0 && size <= max ? ", but no data" : "");
    }
    return 0;
}

static int check_child(const struct place *p, const struct ArrowSchema *s, const struct ArrowArray *a, int64_t rows,
                       struct hd_err *err);

static int check_run_arrays(const struct place *p, const struct ArrowSchema *s, const struct ArrowArray *a,
                            int64_t rows, struct hd_err *err)
{
    const struct place ends = {p->table, p->column, ENDS, p->far}, values = {p->table, p->column, VALUES, p->far};
    const struct layout want = {0, 2, false, false};
    HD_TRY(check_array(p, a, rows, &want, err));
    HD_TRY(check_child(&ends, s->children[0], a->children[0], 0, err));
    if (rt_arrow_count_nulls(a->children[0]->buffers[0], a->children[0]->offset, a->children[0]->length))
        return refuse(&ends, err, "NULL among them");
    if (a->children[0]->length > INT32_MAX)
        return refuse(&ends, err, "too many");
    return check_child(&values, s->children[1], a->children[1], a->children[0]->length, err);
}

/* At least so many rows. */
static int check_child(const struct place *p, const struct ArrowSchema *s, const struct ArrowArray *a, int64_t rows,
                       struct hd_err *err)
{
    static const struct layout layouts[] = {
        [RT_ARROW_LAYOUT_INT] = {2, 0, false, false},     [RT_ARROW_LAYOUT_FLOAT] = {2, 0, false, false},
        [RT_ARROW_LAYOUT_DECIMAL] = {2, 0, false, false}, [RT_ARROW_LAYOUT_UNIT] = {2, 0, false, false},
        [RT_ARROW_LAYOUT_STRING] = {3, 0, false, false},  [RT_ARROW_LAYOUT_VIEW] = {3, 0, true, false},
        [RT_ARROW_LAYOUT_FIXED] = {2, 0, false, false},   [RT_ARROW_LAYOUT_NOTHING] = {0, 0, false, false},
        [RT_ARROW_LAYOUT_INTERVAL] = {2, 0, false, false}};
    const struct place entries = {p->table, p->column, ENTRIES, p->far};
    enum rt_arrow_format format;
    struct hd_type type;
    if (!s->dictionary && rt_arrow_is_runs(s->format))
        return check_run_arrays(p, s, a, rows, err);
    rt_arrow_format_parse(s->format, &format, &type);
    struct layout want = layouts[rt_arrow_layout(format)];
    want.dictionary = s->dictionary != NULL;
    HD_TRY(check_array(p, a, rows, &want, err));
    if (want.views)
        HD_TRY(check_variadic(p, a, err));
    if (!s->dictionary)
        return 0;
    HD_TRY(check_child(&entries, s->dictionary, a->dictionary, 0, err));
    if (a->dictionary->length > INT32_MAX)
        return HD_FAIL(err, UNSUPPORTED, p->table, "column \"%s\": dictionary too large", p->column);
    return 0;
}

static int check_batch(const struct place *p, const struct ArrowSchema *s, const struct ArrowArray *batch,
                       int64_t first_row, struct hd_err *err)
{
    const struct layout want = {1, s->n_children, false, false};
    HD_TRY(check_array(p, batch, 0, &want, err));
    HD_TRY(rt_rows_check(p->table, first_row, batch->length, FE_MAX_ROWS, err));
    if (p->far ? batch->buffers[0] && batch->null_count != 0
               : rt_arrow_count_nulls(batch->buffers[0], batch->offset, batch->length) != 0)
        return HD_FAIL(err, UNSUPPORTED, p->table, "batch with NULL rows");
    for (int64_t k = 0; k < s->n_children; k++) {
        const struct place child = {p->table, s->children[k]->name, WHOLE, p->far};
        HD_TRY(check_child(&child, s->children[k], batch->children[k], batch->offset + batch->length, err));
    }
    return 0;
}

int rt_arrow_check_batch(const char *table, const struct ArrowSchema *s, const struct ArrowArray *batch,
                         int64_t first_row, struct hd_err *err)
{
    return check_batch(&(const struct place){.table = table}, s, batch, first_row, err);
}

int rt_arrow_check_device_batch(const char *table, const struct ArrowSchema *s, const struct ArrowArray *batch,
                                int64_t first_row, struct hd_err *err)
{
    return check_batch(&(const struct place){.table = table, .far = true}, s, batch, first_row, err);
}
