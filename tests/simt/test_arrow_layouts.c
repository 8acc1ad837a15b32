/* Every layout that Arrow has for the values of Heddle's types, in the memory of the device, here the emulator's, which the
 * host can write: whole, from other offsets than 0 and in chunks, with NULLs and without. As tables of the device they give the
 * rows, and the errors, that the same arrays give which were registered from the host.
 *
 *   test_arrow_layouts
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/heddle.h"
#include "runtime/base/fault.h"
#include "tests/simt/arrow_cases.h"
#include "tests/simt/check.h"
#include "tests/simt/sim_device.h"

#define EXPECT(condition) CHECK(condition, "not so")

static heddle_context *context;
static heddle_database *database;

static void ok(int rc, heddle_error *e)
{
    if (rc != 0)
        fprintf(stderr, "%s: %s\n", heddle_error_path(e), heddle_error_message(e));
    EXPECT(rc == 0);
    heddle_error_free(e);
}

/* ---- memory of the device --------------------------------------------------------------------- */

enum { ARENA = 64 << 20, ALIGN = 256 };
static _Alignas(ALIGN) unsigned char arena[ARENA];
static size_t used;

static void *lend(size_t n)
{
    void *p = arena + used;
    used += (n + ALIGN + 63) / ALIGN * ALIGN;
    EXPECT(used <= ARENA);
    return p;
}

enum { ENTRIES = 100 };

/* ---- arrays ----------------------------------------------------------------------------------- */

/* A column of so many values, of which batches are slices. */
struct source {
    struct ArrowSchema schema, entry;
    struct ArrowArray values, entries;
    const void *buffers[5], *entry_buffers[5];
};

static int released;

static void release_schema(struct ArrowSchema *s)
{
    released++;
    s->release = NULL;
}

static void release_array(struct ArrowArray *a)
{
    released++;
    a->release = NULL;
}

static void set_bit(uint8_t *bits, int64_t i, bool to)
{
    bits[i >> 3] = (uint8_t)((bits[i >> 3] & ~(1 << (i & 7))) | to << (i & 7));
}

static size_t text_of(int64_t i, char *out)
{
    static const char *const words[] = {"", "é", "thirteen bytes", "twelve bytes", "a somewhat longer one, €"};
    return (size_t)sprintf(out, "%s%s%d", words[i % 5], i % 7 ? "" : words[(i / 7) % 5], (int)(i % 11));
}

static void make_offsets(const struct layout_case *c, int64_t n, const void **buffers)
{
    char text[128], *bytes = lend((size_t)n * 64);
    char *offsets = lend((size_t)(n + 1) * (size_t)c->width);
    int64_t at = 0;
    for (int64_t i = 0; i <= n; i++) {
        memcpy(offsets + i * c->width, &at, (size_t)c->width);
        size_t length = i < n ? text_of(i, text) : 0;
        memcpy(bytes + at, text, length);
        at += (int64_t)length;
    }
    buffers[1] = offsets;
    buffers[2] = bytes;
}

/* Into two buffers, in turns; their sizes are the host's, as producers have them. */
enum { SIZES = 16 };
static int64_t kept_sizes[SIZES][2];
static int nsizes;

static void make_views(int64_t n, const void **buffers)
{
    int64_t *sizes = kept_sizes[nsizes++ % SIZES];
    char text[128], *bytes[] = {lend((size_t)n * 64), lend((size_t)n * 64)};
    int32_t *views = lend((size_t)n * 16), at[2] = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        int32_t *v = views + 4 * i, k = (int32_t)(i & 1);
        v[0] = (int32_t)text_of(i, text);
        memset(v + 1, 0, 12);
        memcpy(v + 1, text, v[0] > 12 ? 4 : (size_t)v[0]);
        if (v[0] <= 12)
            continue;
        v[2] = k;
        v[3] = at[k];
        memcpy(bytes[k] + at[k], text, (size_t)v[0]);
        at[k] += v[0];
    }
    sizes[0] = sizes[1] = n * 64;
    buffers[1] = views;
    buffers[2] = bytes[0];
    buffers[3] = bytes[1];
    buffers[4] = sizes;
}

static void make_words(const struct layout_case *c, int64_t n, const void **buffers)
{
    char *out = lend((size_t)n * (size_t)c->width + 64);
    for (int64_t i = 0; i < n; i++) {
        i128 wide[2] = {c->value(i, c->n), 0};
        wide[1] = wide[0] >> 127;
        memcpy(out + i * c->width, wide, (size_t)c->width);
    }
    buffers[1] = out;
}

static void make_values(const struct layout_case *c, int64_t n, const void **buffers, struct ArrowArray *out)
{
    static const int counts[] = {2, 2, 3, 5, 2, 0};
    char *bytes;
    switch (c->layout) {
    case BITS:
        bytes = lend((size_t)n / 8 + 1);
        for (int64_t i = 0; i < n; i++)
            set_bit((uint8_t *)bytes, i, mix((uint64_t)i) & 1);
        buffers[1] = bytes;
        break;
    case WORDS: make_words(c, n, buffers); break;
    case OFFSETS: make_offsets(c, n, buffers); break;
    case VIEWS: make_views(n, buffers); break;
    case FIXED:
        bytes = lend((size_t)n * 5 + 1);
        for (int64_t i = 0; i < n; i++)
            sprintf(bytes + i * 5, "%c%04d", (char)('a' + i % 26), (int)(i % 10000));
        buffers[1] = bytes;
        break;
    case NOTHING: break;
    }
    *out =
        (struct ArrowArray){.length = n, .n_buffers = counts[c->layout], .buffers = buffers, .release = release_array};
}

static void make_nulls(int64_t n, struct ArrowArray *a, const void **buffers)
{
    uint8_t *bits = lend((size_t)n / 8 + 1);
    for (int64_t i = 0; i < n; i++)
        set_bit(bits, i, mix((uint64_t)i + 77) % 3 != 0);
    if (!a->n_buffers)
        return;
    buffers[0] = bits;
    a->null_count = -1;
}

static int index_width(const char *format)
{
    return strchr("cC", *format) ? 1 : strchr("sS", *format) ? 2 : strchr("iI", *format) ? 4 : 8;
}

static void make_indices(const char *format, int64_t n, struct source *s)
{
    int width = index_width(format);
    char *out = lend((size_t)n * (size_t)width);
    for (int64_t i = 0; i < n; i++) {
        uint64_t k = mix((uint64_t)i) % ENTRIES;
        memcpy(out + i * width, &k, (size_t)width);
    }
    s->buffers[1] = out;
    s->values = (struct ArrowArray){
        .length = n, .n_buffers = 2, .buffers = s->buffers, .dictionary = &s->entries, .release = release_array};
}

static void make_source(const struct layout_case *c, int64_t n, bool nullable, struct source *s)
{
    *s = (struct source){0};
    if (c->index) {
        make_values(c, ENTRIES, s->entry_buffers, &s->entries);
        make_indices(c->index, n, s);
        if (nullable)
            make_nulls(ENTRIES, &s->entries, s->entry_buffers);
    } else {
        make_values(c, n, s->buffers, &s->values);
    }
    if (nullable)
        make_nulls(n, &s->values, s->buffers);
}

/* ---- tables ----------------------------------------------------------------------------------- */

enum { BATCHES = 3 };

/* The columns k, c0, n0, c1, n1, ...: a key; each case without and with NULLs. */
static struct table {
    int ncolumns, nbatches, next;
    struct source source[2 * CASES + 1];
    char names[2 * CASES + 1][8];
    struct ArrowSchema all, schema[2 * CASES + 1], entry[2 * CASES + 1], *schemas[2 * CASES + 1];
    struct batch {
        struct ArrowArray all, column[2 * CASES + 1], entries[2 * CASES + 1], *columns[2 * CASES + 1];
        const void *none[1];
    } batch[BATCHES];
    int32_t device;
} table;

static i128 in_order(int64_t i, int64_t first)
{
    return first + i;
}
static const struct layout_case key = {"i", WORDS, 4, in_order, 0, 0, NULL};

static void make_schema(int i, const struct layout_case *c, bool nullable)
{
    int64_t flags = nullable ? ARROW_FLAG_NULLABLE : 0;
    table.schema[i] = (struct ArrowSchema){
        .format = c->index ? c->index : c->format, .name = table.names[i], .flags = flags, .release = release_schema};
    table.entry[i] = (struct ArrowSchema){.format = c->format, .name = "", .flags = flags, .release = release_schema};
    if (c->index)
        table.schema[i].dictionary = &table.entry[i];
    table.schemas[i] = &table.schema[i];
}

static void add_column(const struct layout_case *c, int64_t n, bool nullable, const char *name, int number)
{
    int i = table.ncolumns++;
    sprintf(table.names[i], number < 0 ? "%s" : "%s%d", name, number);
    make_schema(i, c, nullable);
    make_source(c, n, nullable, &table.source[i]);
}

static void make_table(const struct layout_case *all, int count, int64_t n)
{
    used = 0;
    memset(&table, 0, sizeof table);
    add_column(&key, n, false, "k", -1);
    for (int i = 0; i < count; i++) {
        if (all[i].layout != NOTHING)
            add_column(&all[i], n, false, "c", i);
        add_column(&all[i], n, true, "n", i);
    }
}

/* Rows [first, first + n) as the next batch, of which `within` are skipped by the batch's own offset. */
static void add_slice(int64_t first, int64_t n, int64_t within)
{
    struct batch *b = &table.batch[table.nbatches++];
    for (int i = 0; i < table.ncolumns; i++) {
        b->column[i] = table.source[i].values;
        b->column[i].offset = first - within;
        b->column[i].length = n + within;
        b->entries[i] = table.source[i].entries;
        if (b->column[i].dictionary)
            b->column[i].dictionary = &b->entries[i];
        b->columns[i] = &b->column[i];
    }
    b->all = (struct ArrowArray){.length = n,
                                 .offset = within,
                                 .n_buffers = 1,
                                 .n_children = table.ncolumns,
                                 .buffers = b->none,
                                 .children = b->columns,
                                 .release = release_array};
}

static int stream_schema(struct ArrowDeviceArrayStream *s, struct ArrowSchema *out)
{
    (void)s;
    for (int i = 0; i < table.ncolumns; i++)
        table.schema[i].release = table.entry[i].release = release_schema;
    *out = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = table.ncolumns, .children = table.schemas, .release = release_schema};
    return 0;
}

static int stream_next(struct ArrowDeviceArrayStream *s, struct ArrowDeviceArray *out)
{
    (void)s;
    *out =
        (struct ArrowDeviceArray){.device_id = table.device == ARROW_DEVICE_CPU ? -1 : 0, .device_type = table.device};
    if (table.next < table.nbatches)
        out->array = table.batch[table.next++].all;
    return 0;
}

static const char *stream_error(struct ArrowDeviceArrayStream *s)
{
    (void)s;
    return NULL;
}

static void stream_release(struct ArrowDeviceArrayStream *s)
{
    s->release = NULL;
}

static int add_table(const char *name, int32_t device, heddle_error **e)
{
    struct ArrowDeviceArrayStream s = {device, stream_schema, stream_next, stream_error, stream_release, NULL};
    table.device = device;
    table.next = 0;
    for (int b = 0; b < table.nbatches; b++)
        for (int i = 0; i < table.ncolumns; i++)
            table.batch[b].column[i].release = table.batch[b].entries[i].release = release_array;
    int rc = heddle_database_replace_device_stream(database, name, &s, e);
    EXPECT(!s.release);
    return rc;
}

/* ---- rows of both ----------------------------------------------------------------------------- */

static void run(const char *name, struct ArrowArrayStream *out)
{
    char plan[256];
    heddle_statement_options o;
    heddle_statement *s = NULL;
    heddle_error *e = NULL;
    heddle_statement_options_init(&o);
    o.backend = strcmp(name, "far") == 0 ? "cuda" : "cpu";
    sprintf(plan,
            "{\"heddle\":1,\"root\":{\"op\":\"sort\",\"keys\":[\"k\"],\"input\":{\"op\":\"scan\",\"table\":\"%s\"}}}",
            name);
    ok(heddle_prepare(database, plan, &o, &s, &e), e);
    e = NULL;
    ok(heddle_execute(s, out, &e), e);
    heddle_statement_free(s);
}

static int bit(const void *bits, int64_t i)
{
    return ((const uint8_t *)bits)[i >> 3] >> (i & 7) & 1;
}

static size_t width_of(const char *format)
{
    if (*format == 'd' || strcmp(format, "tin") == 0)
        return 16;
    return strcmp(format, "i") == 0 || strcmp(format, "f") == 0 || strcmp(format, "tdD") == 0 ? 4 : 8;
}

static bool same_text(const struct ArrowArray *a, const struct ArrowArray *b, int64_t i)
{
    const int32_t *x = (const int32_t *)a->buffers[1] + i, *y = (const int32_t *)b->buffers[1] + i;
    return x[1] - x[0] == y[1] - y[0] &&
           memcmp((const char *)a->buffers[2] + x[0], (const char *)b->buffers[2] + y[0], (size_t)(x[1] - x[0])) == 0;
}

static bool same(const char *format, const struct ArrowArray *a, const struct ArrowArray *b, int64_t i)
{
    size_t width = width_of(format);
    bool there = !a->buffers[0] || bit(a->buffers[0], i);
    if (there != (!b->buffers[0] || bit(b->buffers[0], i)))
        return false;
    if (!there)
        return true;
    if (*format == 'u' || *format == 'z')
        return same_text(a, b, i);
    if (*format == 'b')
        return bit(a->buffers[1], i) == bit(b->buffers[1], i);
    return memcmp((const char *)a->buffers[1] + (size_t)i * width, (const char *)b->buffers[1] + (size_t)i * width,
                  width) == 0;
}

static void same_batches(const struct ArrowSchema *schema, const struct ArrowArray *a, const struct ArrowArray *b)
{
    EXPECT(a->length == b->length && a->n_children == table.ncolumns);
    for (int64_t c = 0; c < a->n_children; c++)
        for (int64_t i = 0; i < a->length; i++)
            if (!same(schema->children[c]->format, a->children[c], b->children[c], i)) {
                fprintf(stderr, "column %s, format %s: row %d differs\n", schema->children[c]->name,
                        table.schema[c].format, (int)i + 1);
                EXPECT(0);
            }
}

static void same_rows(int64_t rows)
{
    struct ArrowArrayStream far, near;
    struct ArrowSchema schema;
    int64_t n = 0;
    heddle_error *e = NULL;
    ok(add_table("near", ARROW_DEVICE_CPU, &e), e);
    e = NULL;
    ok(add_table("far", ARROW_DEVICE_CUDA, &e), e);
    run("far", &far);
    run("near", &near);
    EXPECT(far.get_schema(&far, &schema) == 0);
    for (;;) {
        struct ArrowArray a, b;
        EXPECT(far.get_next(&far, &a) == 0 && near.get_next(&near, &b) == 0);
        EXPECT(!a.release == !b.release);
        if (!a.release)
            break;
        same_batches(&schema, &a, &b);
        n += a.length;
        a.release(&a);
        b.release(&b);
    }
    EXPECT(n == rows);
    schema.release(&schema);
    far.release(&far);
    near.release(&near);
}

static void all_layouts(void)
{
    enum { ROWS = 333 };
    make_table(cases, CASES, ROWS);
    add_slice(0, ROWS, 0);
    same_rows(ROWS);
    table.nbatches = 0;
    add_slice(8, ROWS - 9, 3); /* aligned for values in the end, but not for bitmaps, which are read in words */
    same_rows(ROWS - 9);
    table.nbatches = 0;
    add_slice(250, 45, 2);
    add_slice(0, 64, 0);
    add_slice(101, 99, 1);
    same_rows(208);
}

static void two_chunks(const struct layout_case *c)
{
    make_table(c, 1, 200);
    add_slice(11, 64, 3);
    add_slice(100, 90, 5);
}

/* Memory of CUDA's that is the host's, and memory that is both's. Of another kind there is none. */
static void other_kinds(void)
{
    heddle_error *e = NULL;
    two_chunks(layout_case_of("tdD"));
    ok(add_table("near", ARROW_DEVICE_CUDA_HOST, &e), e);
    e = NULL;
    ok(add_table("far", ARROW_DEVICE_CUDA_MANAGED, &e), e);
    e = NULL;
    EXPECT(add_table("far", ARROW_DEVICE_ROCM, &e) == -1 && strstr(heddle_error_message(e), "device type 10"));
    heddle_error_free(e);
}

/* More rows than a block of strings has. */
static void large_chunks(void)
{
    const struct layout_case some[] = {*layout_case_of("u"), *layout_case_of("vz")};
    make_table(some, sizeof some / sizeof *some, 70000);
    add_slice(7, 40000, 1);
    add_slice(40007, 29000, 0);
    same_rows(69000);
}

/* ---- errors ----------------------------------------------------------------------------------- */

/* Both say the same; words: of what. */
static void same_error(const char *words)
{
    heddle_error *far = NULL, *near = NULL;
    EXPECT(add_table("near", ARROW_DEVICE_CPU, &near) == -1 && add_table("far", ARROW_DEVICE_CUDA, &far) == -1);
    const char *a = heddle_error_message(near), *b = heddle_error_message(far);
    if (strcmp(a, b) != 0 || !strstr(b, words))
        fprintf(stderr, "host:   %s\ndevice: %s\nexpected: %s\n", a, b, words);
    EXPECT(strcmp(a, b) == 0 && strstr(b, words));
    EXPECT(heddle_error_get_class(near) == heddle_error_get_class(far));
    heddle_error_free(near);
    heddle_error_free(far);
}

/* Row 120 of the values is row 85 of the table. */
static void bad_numbers(void)
{
    for (int i = 0; i < CASES; i++) {
        const struct layout_case *c = &cases[i];
        if (!c->bad)
            continue;
        two_chunks(c);
        memcpy((char *)(uintptr_t)table.source[1].buffers[1] + 120 * c->width, &c->bad,
               (size_t)(c->width < 16 ? c->width : 16));
        same_error("row 85: column \"c0\"");
    }
}

static void bad_strings(void)
{
    two_chunks(layout_case_of("u"));
    int32_t *offsets = (int32_t *)(uintptr_t)table.source[1].buffers[1];
    char *bytes = (char *)(uintptr_t)table.source[1].buffers[2];
    bytes[offsets[121] - 1] = (char)0xff;
    same_error("row 85: column \"c0\": byte");
    offsets[121] = offsets[120] - 1;
    same_error("row 85: column \"c0\": bad string offsets");
    two_chunks(layout_case_of("vu"));
    int32_t *views = (int32_t *)(uintptr_t)table.source[1].buffers[1];
    views[4 * 120] = 13;
    views[4 * 120 + 2] = 2;
    same_error("row 85: column \"c0\": a view into buffer 3 of 2");
    views[4 * 120 + 2] = 0;
    views[4 * 120 + 3] = 200 * 64;
    same_error("row 85: column \"c0\": a view of 13 bytes at 12800 of a buffer of 12800");
    views[4 * 120 + 3] = 0;
    views[4 * 120 + 1] = 0;
    same_error("prefix");
    views[4 * 120] = 3;
    views[4 * 120 + 1] = views[4 * 120 + 2] = -1;
    same_error("with more behind");
}

static void bad_dictionaries(void)
{
    for (int i = 0; i < CASES; i++) {
        if (!cases[i].index)
            continue;
        two_chunks(&cases[i]);
        memset((char *)(uintptr_t)table.source[1].buffers[1] + 120 * index_width(cases[i].index), 0x7f,
               (size_t)index_width(cases[i].index));
        same_error("row 85: column \"c0\": index outside the dictionary of 100");
    }
}

static void bad_shapes(void)
{
    two_chunks(layout_case_of("u"));
    table.batch[1].column[1].n_buffers = 2;
    same_error("expected 3 Arrow buffers, found 2");
    two_chunks(layout_case_of("l"));
    table.batch[1].column[1].length = 94;
    same_error("shorter than its batch");
    two_chunks(layout_case_of("l"));
    table.batch[1].all.null_count = 1;
    table.batch[1].none[0] = arena;
    heddle_error *e = NULL;
    EXPECT(add_table("far", ARROW_DEVICE_CUDA, &e) == -1 && strstr(heddle_error_message(e), "NULL rows"));
    heddle_error_free(e);
    two_chunks(layout_case_of("l"));
    table.source[1].buffers[1] = (const char *)table.source[1].buffers[1] + 4;
    e = NULL;
    EXPECT(add_table("far", ARROW_DEVICE_CUDA, &e) == -1 && strstr(heddle_error_message(e), "multiple of 8"));
    EXPECT(strstr(heddle_error_message(e), "\"c0\""));
    heddle_error_free(e);
}

/* Neither batches nor rows. */
static void no_rows(void)
{
    make_table(cases, CASES, 10);
    same_rows(0);
    add_slice(3, 0, 0);
    same_rows(0);
}

/* An allocation that fails, each in turn, is the one error, and nothing is left behind. */
static void no_memory(void)
{
    static const char *const formats[] = {"vu", "tdm", "u"};
    struct layout_case some[3];
    char plan[32];
    int rc = -1, n = 0;
    for (int i = 0; i < 3; i++)
        some[i] = *layout_case_of(formats[i]);
    some[2].index = "s";
    make_table(some, 3, 200);
    add_slice(11, 64, 3);
    add_slice(100, 90, 5);
    while (rc != 0) {
        heddle_error *e = NULL;
        sprintf(plan, "alloc:%d", ++n);
        EXPECT(hd_fault_arm(plan));
        rc = add_table("far", ARROW_DEVICE_CUDA, &e);
        hd_fault_arm("");
        if (rc != 0 && heddle_error_get_class(e) != HEDDLE_ERROR_RESOURCE)
            fprintf(stderr, "%s: %s\n", plan, heddle_error_message(e));
        EXPECT(rc == 0 || heddle_error_get_class(e) == HEDDLE_ERROR_RESOURCE);
        heddle_error_free(e);
    }
    EXPECT(n > 10);
}

int main(void)
{
    heddle_options o;
    heddle_error *e = NULL;
    heddle_options_init(&o);
    o.threads = 2;
    ok(heddle_context_new(&o, &context, &e), e);
    ok(heddle_database_open(context, NULL, 0, &database, &e), e);
    sim_device_lend(arena, sizeof arena);
    bad_shapes();
    bad_numbers();
    bad_strings();
    bad_dictionaries();
    no_memory();
    no_rows();
    all_layouts();
    other_kinds();
    large_chunks();
    heddle_database_free(database);
    heddle_context_free(context);
    puts("ok");
    return 0;
}
