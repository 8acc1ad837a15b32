/* Arrow batches. The input describes schema and arrays: formats, lengths, offsets, counts, which
 * pointers are NULL, and what buffers hold. Each buffer has exactly the size that its array
 * promises, so that a read beyond it is seen; sizes that cannot be had promise nothing, and must
 * be refused before any read. All ways in must agree, and what passes must be in range. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/interval.h"
#include "runtime/base/utf8.h"
#include "runtime/io/arrow_in.h"
#include "runtime/io/arrow_table.h"
#include "runtime/store/store_column.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_COLUMNS = 4, MAX_ROWS = 64 };

/* ---- the input as a source of choices -------------------------------------------------------- */

struct input {
    const uint8_t *p, *end;
};

static uint8_t byte(struct input *in)
{
    return in->p < in->end ? *in->p++ : 0;
}

/* Mostly a small number around `usual`; some are extreme. */
static int64_t number(struct input *in, int64_t usual)
{
    static const int64_t extreme[] = {-1,
                                      -2,
                                      INT64_MIN,
                                      INT64_MIN + 1,
                                      INT64_MAX,
                                      INT64_MAX - 1,
                                      INT64_MAX - 1000,
                                      INT64_MAX / 2,
                                      INT64_MIN / 2,
                                      INT64_MAX / 16};
    uint8_t how = byte(in);
    if (how < 0xd0)
        return usual;
    if (how < 0xf0)
        return how % 4 + usual % 3;
    return extreme[how % HD_COUNT(extreme)];
}

/* True now and then. */
static bool rarely(struct input *in)
{
    return byte(in) > 0xf8;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Everything that is made lives until the run ends; what is released is counted. */
static struct {
    void *blocks[512];
    int nblocks;
    int batches; /* handed over and not released */
} made;

static void *block(size_t n)
{
    if (made.nblocks == (int)HD_COUNT(made.blocks))
        abort();
    void *p = malloc(n ? n : 1);
    if (!p)
        abort();
    return made.blocks[made.nblocks++] = p;
}

static void release_all(void)
{
    while (made.nblocks)
        free(made.blocks[--made.nblocks]);
}

static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}
static void release_child(struct ArrowArray *a)
{
    a->release = NULL;
}
static void release_batch(struct ArrowArray *a)
{
    made.batches--;
    a->release = NULL;
}

static size_t width_of(const char *format)
{
    static const struct {
        const char *format;
        size_t width;
    } widths[] = {{"c", 1},           {"C", 1},   {"s", 2},    {"S", 2},   {"i", 4},   {"I", 4},        {"f", 4},
                  {"e", 2},           {"u", 4},   {"z", 4},    {"Z", 8},   {"w:3", 3}, {"w:", 1},       {"vz", 16},
                  {"U", 8},           {"vu", 16}, {"tdD", 4},  {"tts", 4}, {"ttm", 4}, {"d:9,2,32", 4}, {"d:5,2,64", 8},
                  {"d:40,2,256", 32}, {"d", 16},  {"tin", 16}, {"tiM", 4}};
    for (size_t i = 0; i < HD_COUNT(widths); i++)
        if (strncmp(format, widths[i].format, strlen(widths[i].format)) == 0)
            return widths[i].width;
    return 8;
}

/* Bytes of the input, as often small values as any. */
static void *values(struct input *in, size_t n, size_t width)
{
    char *p = block(n * width);
    for (size_t i = 0; i < n; i++) {
        uint8_t how = byte(in);
        int64_t small = (int8_t)how;
        for (size_t k = 0; k < width; k++)
            p[i * width + k] = (char)(how % 8 == 7 ? byte(in) : k < 8 ? small >> (8 * k) : small >> 63);
    }
    return p;
}

/* n + 1 offsets of small steps, seldom backwards, and bytes up to the furthest. */
static void strings(struct input *in, size_t n, size_t width, const void **buffers)
{
    char *p = block((n + 1) * width);
    int64_t at = 0, max = 0;
    for (size_t i = 0; i <= n; i++) {
        uint8_t step = byte(in);
        at += step > 0xfa ? -(int64_t)(step & 3) : step % 8;
        max = HD_MAX(max, at);
        memcpy(p + i * width, &at, width); /* little-endian */
    }
    char *bytes = block((size_t)max);
    for (int64_t i = 0; i < max; i++) {
        uint8_t c = byte(in);
        bytes[i] = (char)(c > 0xe0 ? byte(in) : c & 0x7f);
    }
    buffers[1] = p;
    buffers[2] = bytes;
}

/* Views, mostly good ones, into up to two buffers whose sizes are told. Returns how many buffers there are. */
static int64_t views(struct input *in, size_t n, const void **buffers)
{
    struct {
        int32_t length;
        char at[12];
    } *v = block(n * sizeof *v);
    int64_t *sizes = block(2 * sizeof *sizes), nbuffers = byte(in) % 3;
    for (int64_t k = 0; k < nbuffers; k++) {
        sizes[k] = 16 + byte(in) % 32;
        buffers[2 + k] = values(in, (size_t)sizes[k], 1);
        if (rarely(in))
            sizes[k] = -1;
    }
    for (size_t i = 0; i < n; i++) {
        int32_t buffer = byte(in) % 4 ? 0 : (int8_t)byte(in), at = byte(in) % 8;
        memset(v[i].at, 0, sizeof v[i].at);
        v[i].length = byte(in) % 4 ? byte(in) % 24 : (int32_t)number(in, 12);
        if (v[i].length <= 12) {
            for (int k = 0; k < v[i].length; k++)
                v[i].at[k] = (char)(byte(in) & 0x7f);
            v[i].at[11] |= (char)rarely(in);
            continue;
        }
        if (nbuffers && sizes[0] > at + 4 && !rarely(in))
            memcpy(v[i].at, (const char *)buffers[2] + at, 4);
        memcpy(v[i].at + 4, &buffer, 4);
        memcpy(v[i].at + 8, &at, 4);
    }
    buffers[1] = v;
    buffers[2 + nbuffers] = sizes;
    return 3 + nbuffers;
}

/* An array with the buffers that its lengths promise, as far as they can be had. */
static void make_array(struct input *in, struct ArrowArray *a, const char *format, int64_t rows)
{
    const void **buffers = block(5 * sizeof *buffers);
    bool text = strchr("uUzZ", *format) && *format, view = *format == 'v', nothing = *format == 'n';
    *a = (struct ArrowArray){.length = number(in, rows),
                             .offset = number(in, byte(in) % 4),
                             .n_buffers = number(in, text      ? 3
                                                     : nothing ? 0
                                                               : 2),
                             .buffers = buffers,
                             .release = release_child};
    memset(buffers, 0, 5 * sizeof *buffers);
    bool real = a->length >= 0 && a->length <= MAX_ROWS && a->offset >= 0 && a->offset <= 8;
    size_t n = real ? (size_t)(a->length + a->offset) : 0;
    if (text)
        strings(in, n, width_of(format), buffers);
    else if (view)
        a->n_buffers = views(in, n, buffers);
    else
        buffers[1] = values(in, *format == 'b' ? (n + 7) / 8 : n, width_of(format));
    if (byte(in) & 1) {
        buffers[0] = values(in, (n + 7) / 8, 1);
        a->null_count = number(in, -1);
    } else {
        a->null_count = number(in, 0);
    }
    for (int k = 0; k < (int)HD_MIN(a->n_buffers, 5); k++)
        if (rarely(in))
            buffers[k] = NULL;
    if (rarely(in))
        a->buffers = NULL;
    if (rarely(in))
        a->release = NULL;
    a->n_children = rarely(in);
}

static const char *const formats[] = {"b",
                                      "c",
                                      "C",
                                      "s",
                                      "S",
                                      "i",
                                      "I",
                                      "l",
                                      "L",
                                      "f",
                                      "g",
                                      "tdD",
                                      "tsu:",
                                      "tsu:UTC",
                                      "u",
                                      "U",
                                      "d:1,0",
                                      "d:5,2",
                                      "d:18,2",
                                      "d:19,2",
                                      "d:38,0",
                                      "d:12,2,128",
                                      "d:39,1",
                                      "+s",
                                      "z",
                                      "Z",
                                      "vz",
                                      "w:3",
                                      "w:0",
                                      "w:-1",
                                      "w:99999999999",
                                      "w:",
                                      "e",
                                      "vu",
                                      "n",
                                      "tdm",
                                      "tsn:",
                                      "tss:Europe/Berlin",
                                      "tts",
                                      "d:9,2,32",
                                      "d:5,2,64",
                                      "d:40,2,256",
                                      "+r",
                                      "tin",
                                      "tiM",
                                      "tiD",
                                      "",
                                      "d:5",
                                      "d:,",
                                      "d:5,2,"};

static void make_schema(struct input *in, struct ArrowSchema *s, const char *format)
{
    static const char *const names[] = {"a", "b", "c", "d", "", "\xff", "\xc3\xa9", "a"};
    static const int64_t flags[] = {2, 2, 2, 0, 1, 3, 8, -1};
    *s = (struct ArrowSchema){.format = rarely(in) ? NULL : format,
                              .name = rarely(in) ? NULL : names[byte(in) % 8],
                              .flags = flags[byte(in) % 8],
                              .release = rarely(in) ? NULL : release_schema,
                              .n_children = number(in, 0)};
}

struct pair {
    struct ArrowSchema schema;
    struct ArrowArray array;
};

/* Ends of runs that mostly ascend, and values. */
static void make_runs(struct input *in, struct ArrowSchema *s, struct ArrowArray *a, const char *of, int64_t rows)
{
    static const char *const widths[] = {"s", "i", "l", "c"};
    const char *format = widths[byte(in) % (rarely(in) ? 4 : 3)];
    size_t width = width_of(format);
    int64_t runs = 1 + byte(in) % 8, end = 0;
    s->children = block(2 * sizeof *s->children);
    a->children = block(2 * sizeof *a->children);
    for (int k = 0; k < 2; k++) {
        s->children[k] = block(sizeof **s->children);
        a->children[k] = block(sizeof **a->children);
        make_schema(in, s->children[k], k ? of : format);
        make_array(in, a->children[k], k ? of : format, runs);
    }
    struct ArrowArray *ends = a->children[0];
    bool real = ends->buffers && ends->buffers[1] && ends->length >= 0 && ends->length <= MAX_ROWS &&
                ends->offset >= 0 && ends->offset <= 8;
    for (int64_t k = 0; real && k < ends->length; k++) {
        end = k + 1 == ends->length && !rarely(in) ? HD_MAX(end + 1, rows + 8) : end + byte(in) % 16 + !rarely(in);
        memcpy((char *)(uintptr_t)ends->buffers[1] + (size_t)(ends->offset + k) * width, &end, width);
    }
    s->n_children = a->n_children = rarely(in) ? byte(in) % 3 : 2;
    a->n_buffers = rarely(in);
    a->null_count = 0;
}

static void make_column(struct input *in, struct ArrowSchema *s, struct ArrowArray *a, int k, int64_t rows)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    const char *format = formats[byte(in) % HD_COUNT(formats)];
    make_schema(in, s, format);
    if (byte(in) < 0xe0)
        s->name = names[k];
    make_array(in, a, format, rows);
    if (strcmp(format, "+r") == 0) {
        make_runs(in, s, a, formats[byte(in) % HD_COUNT(formats)], rows);
        return;
    }
    if (byte(in) % 4)
        return;
    format = byte(in) % 4 ? formats[14 + byte(in) % 2] : formats[byte(in) % HD_COUNT(formats)];
    if (rarely(in))
        format = "i"; /* of both: nothing tells a reader that a buffer is shorter than its format says */
    s->dictionary = block(sizeof *s);
    make_schema(in, s->dictionary, format);
    a->dictionary = block(sizeof *a);
    make_array(in, a->dictionary, format, byte(in) % 16);
    if (rarely(in))
        a->dictionary = NULL;
    if (rarely(in))
        s->dictionary = NULL;
}

static void make(struct input *in, struct pair *out)
{
    int n = 1 + byte(in) % MAX_COLUMNS;
    int64_t rows = byte(in) % MAX_ROWS;
    struct ArrowSchema **schemas = block(MAX_COLUMNS * sizeof *schemas);
    struct ArrowArray **arrays = block(MAX_COLUMNS * sizeof *arrays);
    const void **none = block(sizeof *none);
    *none = rarely(in) ? values(in, (size_t)(rows + 7) / 8, 1) : NULL;
    for (int k = 0; k < n; k++) {
        schemas[k] = block(sizeof **schemas);
        arrays[k] = block(sizeof **arrays);
        make_column(in, schemas[k], arrays[k], k, rows);
        if (rarely(in))
            schemas[k] = NULL;
        if (rarely(in))
            arrays[k] = NULL;
    }
    out->schema = (struct ArrowSchema){.format = rarely(in) ? "i" : "+s",
                                       .n_children = rarely(in) ? number(in, n) : n,
                                       .children = rarely(in) ? NULL : schemas,
                                       .release = release_schema};
    out->array = (struct ArrowArray){.length = number(in, rows),
                                     .offset = rarely(in) ? number(in, 1) : 0,
                                     .null_count = rarely(in) ? number(in, -1) : 0,
                                     .n_buffers = rarely(in) ? number(in, 1) : 1,
                                     .buffers = none,
                                     .n_children = rarely(in) ? number(in, n) : n,
                                     .children = rarely(in) ? NULL : arrays,
                                     .release = release_batch};
    if (*none) /* a bitmap of that many rows */
        out->array.offset = 0, out->array.length = HD_MIN(out->array.length, rows);
    for (int64_t k = n; k < out->schema.n_children && k < MAX_COLUMNS; k++)
        schemas[k] = NULL;
    out->schema.n_children = HD_MIN(out->schema.n_children, n); /* a list has what it promises */
    out->array.n_children = HD_MIN(out->array.n_children, n);
}

/* ---- the ways in ------------------------------------------------------------------------------ */

struct feed {
    const struct pair *pair;
    int left;
};

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    *out = ((struct feed *)s->private_data)->pair->schema;
    return 0;
}
static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct feed *f = s->private_data;
    memset(out, 0, sizeof *out);
    if (f->left == 0)
        return 0;
    f->left--;
    made.batches++;
    *out = f->pair->array;
    return 0;
}
static const char *get_last_error(struct ArrowArrayStream *s)
{
    (void)s;
    return NULL;
}
static void release_stream(struct ArrowArrayStream *s)
{
    s->release = NULL;
}

static void check_failure(const struct hd_err *e)
{
    bool designed = e->class == HD_ERR_USER || e->class == HD_ERR_DATA || e->class == HD_ERR_UNSUPPORTED;
    if (!designed || !e->message[0] || strcmp(e->path, "m") != 0)
        abort();
}

static struct rt_memtable *load(const struct pair *p, int batches, struct hd_err *e)
{
    struct feed f = {p, batches};
    struct ArrowArrayStream s = {get_schema, get_next, get_last_error, release_stream, &f};
    struct rt_memtable *m = NULL;
    hd_err_init(e);
    if (rt_memtable_new("m", &s, true, 1, &m, e) != 0)
        check_failure(e);
    if (s.release || (!m && made.batches))
        abort();
    return m;
}

static void check_value(const struct fe_table_column *col, int64_t row)
{
    if (col->type.kind == HD_STRING) {
        struct rt_str s = rt_col_str(col, row);
        if (hd_utf8_check(s.p, s.n) != s.n)
            abort();
        return;
    }
    if (hd_type_is_float(col->type))
        return;
    hd_i128 v = rt_col_int(col, row);
    if (col->type.kind == HD_DATE && (v < HD_DATE_MIN || v > HD_DATE_MAX))
        abort();
    if (col->type.kind == HD_TIMESTAMP && (v < HD_TIMESTAMP_MIN || v > HD_TIMESTAMP_MAX))
        abort();
    hd_i128 again, lo, hi;
    if (col->type.kind == HD_INTERVAL && (!hd_type_domain(col->type, &lo, &hi) || v < lo || v > hi ||
                                          !hd_interval_pack(hd_interval_unpack(v), &again) || again != v))
        abort();
    hd_i128 limit = col->type.kind == HD_DECIMAL ? hd_pow10(col->type.precision) : INT64_MAX;
    if (col->type.kind == HD_DECIMAL && (v >= limit || v <= -limit))
        abort();
}

static void check_table(const struct fe_table *t, int64_t rows)
{
    if (t->rows != rows)
        abort();
    for (int c = 0; c < t->ncols; c++)
        for (int64_t i = 0; i < rows; i++) {
            if (rt_col_valid(&t->cols[c], i))
                check_value(&t->cols[c], i);
            else if (!t->cols[c].nullable)
                abort();
        }
}

/* As an append to a table of the same columns. */
static void append(const struct pair *p, const struct fe_table *t)
{
    static struct rt_scratch *scratch;
    struct rt_arrow_source s;
    struct hd_err e;
    hd_err_init(&e);
    if (!scratch && !(scratch = rt_scratch_new()))
        abort();
    if (rt_arrow_source_open(&s, t, &p->schema, &p->array, 0, &e) != 0)
        abort();
    if (p->array.length > 0 && rt_stage_slice(scratch, t, &s.base, 0, (int)p->array.length, &e) != 0)
        abort();
    rt_arrow_source_close(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};
    struct pair p;
    struct hd_err one, two;
    make(&in, &p);
    struct rt_memtable *m = load(&p, 1, &one), *twice = load(&p, 2, &two);
    if (one.class != two.class || strcmp(one.message, two.message) != 0)
        abort();
    if (m) {
        check_table(rt_memtable_table(m), p.array.length);
        check_table(rt_memtable_table(twice), 2 * p.array.length);
        append(&p, rt_memtable_table(m));
    }
    rt_memtable_free(m);
    rt_memtable_free(twice);
    if (made.batches)
        abort();
    hd_err_release(&one);
    hd_err_release(&two);
    release_all();
    return 0;
}
