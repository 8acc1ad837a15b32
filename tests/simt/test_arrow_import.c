/* Strings, bools and dictionaries in the memory of the device, here the emulator's, which the host can write: as a table
 * they give the rows that the same arrays give which were registered from the host.
 *
 *   test_arrow_import
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/heddle.h"
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

/* ---- a table ----------------------------------------------------------------------------------- */

enum { ROWS = 66000, ENTRIES = 5, COLUMNS = 6, ALIGN = 256 }; /* more rows than a block of strings has */
enum { KEY, FLAG, NAME, LARGE, BYTES, CODE };

static struct {
    _Alignas(ALIGN) int32_t keys[ROWS + 8];
    _Alignas(ALIGN) uint8_t flags[ROWS / 8 + 64], valid[ROWS / 8 + 64];
    _Alignas(ALIGN) int32_t offsets[ROWS + 1];
    _Alignas(ALIGN) int64_t large[ROWS + 1];
    _Alignas(ALIGN) int8_t codes[ROWS + 8];
    _Alignas(ALIGN) int32_t entry_offsets[ENTRIES + 1];
    uint8_t entry_valid[8];
    char bytes[ROWS * 8], entries[64];
} memory;

static struct {
    struct ArrowSchema all, column[COLUMNS], *columns[COLUMNS], entry;
    struct ArrowArray array[COLUMNS], *arrays[COLUMNS], entries;
    const void *buffers[COLUMNS][3], *entry_buffers[3], *none[1];
} lent;

static int released;

static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

static void release_array(struct ArrowArray *a)
{
    released++;
    a->release = NULL;
}

/* Names of 0 to 7 bytes, with a character of two. */
static void fill_memory(void)
{
    static const char *const entries[ENTRIES] = {"pear", "apple", "fig", "", "kiwi"};
    int64_t at = 0;
    for (int i = 0; i < ROWS; i++) {
        memory.keys[i] = i;
        memory.flags[i / 8] |= (uint8_t)((i % 3 == 0) << (i & 7));
        memory.valid[i / 8] |= (uint8_t)((i % 5 != 1) << (i & 7));
        memory.codes[i] = (int8_t)(i / 3 % ENTRIES);
        memory.offsets[i] = (int32_t)at;
        memory.large[i] = at;
        if (i % 4)
            at += sprintf(memory.bytes + at, "%d\xc3\xa9", i % 100000);
    }
    memory.offsets[ROWS] = (int32_t)at;
    memory.large[ROWS] = at;
    memory.entry_valid[0] = 0x1b; /* the third is NULL */
    for (int i = 0; i < ENTRIES; i++)
        memory.entry_offsets[i + 1] =
            memory.entry_offsets[i] + sprintf(memory.entries + memory.entry_offsets[i], "%s", entries[i]);
}

static void make_column(int i, const char *name, const char *format, const void *values, const void *strings)
{
    bool nullable = i != KEY && i != LARGE;
    lent.column[i] = (struct ArrowSchema){
        .format = format, .name = name, .flags = nullable ? ARROW_FLAG_NULLABLE : 0, .release = release_schema};
    lent.columns[i] = &lent.column[i];
    lent.buffers[i][0] = nullable ? memory.valid : NULL;
    lent.buffers[i][1] = values;
    lent.buffers[i][2] = strings;
    lent.array[i] = (struct ArrowArray){.length = ROWS,
                                        .null_count = nullable ? -1 : 0,
                                        .n_buffers = strings ? 3 : 2,
                                        .buffers = lent.buffers[i],
                                        .release = release_array};
    lent.arrays[i] = &lent.array[i];
}

static struct ArrowDeviceArray make_table(int32_t device)
{
    make_column(KEY, "k", "i", memory.keys, NULL);
    make_column(FLAG, "flag", "b", memory.flags, NULL);
    make_column(NAME, "name", "u", memory.offsets, memory.bytes);
    make_column(LARGE, "wide", "U", memory.large, memory.bytes);
    make_column(BYTES, "bytes", "z", memory.offsets, memory.bytes);
    make_column(CODE, "code", "c", memory.codes, NULL);
    lent.entry =
        (struct ArrowSchema){.format = "u", .name = "", .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
    lent.column[CODE].dictionary = &lent.entry;
    lent.entry_buffers[0] = memory.entry_valid;
    lent.entry_buffers[1] = memory.entry_offsets;
    lent.entry_buffers[2] = memory.entries;
    lent.entries = (struct ArrowArray){
        .length = ENTRIES, .null_count = -1, .n_buffers = 3, .buffers = lent.entry_buffers, .release = release_array};
    lent.array[CODE].dictionary = &lent.entries;
    lent.all = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = COLUMNS, .children = lent.columns, .release = release_schema};
    return (struct ArrowDeviceArray){.array = {.length = ROWS,
                                               .n_buffers = 1,
                                               .buffers = lent.none,
                                               .n_children = COLUMNS,
                                               .children = lent.arrays,
                                               .release = release_array},
                                     .device_id = device == ARROW_DEVICE_CPU ? -1 : 0,
                                     .device_type = device};
}

/* ---- rows of both ------------------------------------------------------------------------------ */

static void run(const char *table, const char *root, struct ArrowArrayStream *out)
{
    char plan[2048];
    heddle_statement_options o;
    heddle_statement *s = NULL;
    heddle_error *e = NULL;
    heddle_statement_options_init(&o);
    o.backend = "cuda";
    int n = snprintf(plan, sizeof plan, "{\"heddle\":1,\"root\":");
    snprintf(plan + n, sizeof plan - (size_t)n, root, table);
    ok(heddle_prepare(database, plan, &o, &s, &e), e);
    e = NULL;
    ok(heddle_execute(s, out, &e), e);
    heddle_statement_free(s);
}

static int there(const struct ArrowArray *a, int64_t i)
{
    return !a->buffers[0] || ((const uint8_t *)a->buffers[0])[i >> 3] >> (i & 7) & 1;
}

static void same_value(const char *format, const struct ArrowArray *a, const struct ArrowArray *b, int64_t i)
{
    EXPECT(there(a, i) == there(b, i));
    if (!there(a, i))
        return;
    if (strcmp(format, "l") == 0 || strcmp(format, "i") == 0) {
        size_t width = *format == 'l' ? 8 : 4;
        EXPECT(memcmp((const char *)a->buffers[1] + (size_t)i * width, (const char *)b->buffers[1] + (size_t)i * width,
                      width) == 0);
    } else if (*format == 'b') {
        EXPECT(((((const uint8_t *)a->buffers[1])[i >> 3] ^ ((const uint8_t *)b->buffers[1])[i >> 3]) >> (i & 7) & 1) ==
               0);
    } else {
        const int32_t *x = (const int32_t *)a->buffers[1] + i, *y = (const int32_t *)b->buffers[1] + i;
        EXPECT(x[1] - x[0] == y[1] - y[0]);
        EXPECT(memcmp((const char *)a->buffers[2] + x[0], (const char *)b->buffers[2] + y[0], (size_t)(x[1] - x[0])) ==
               0);
    }
}

static void same_rows(const char *root, int64_t rows)
{
    struct ArrowArrayStream far, near;
    struct ArrowSchema schema;
    int64_t n = 0;
    run("far", root, &far);
    run("near", root, &near);
    EXPECT(far.get_schema(&far, &schema) == 0);
    for (;;) {
        struct ArrowArray a, b;
        EXPECT(far.get_next(&far, &a) == 0 && near.get_next(&near, &b) == 0);
        EXPECT(!a.release == !b.release);
        if (!a.release)
            break;
        EXPECT(a.length == b.length);
        for (int64_t c = 0; c < a.n_children; c++)
            for (int64_t i = 0; i < a.length; i++)
                same_value(schema.children[c]->format, a.children[c], b.children[c], i);
        n += a.length;
        a.release(&a);
        b.release(&b);
    }
    EXPECT(n == rows);
    schema.release(&schema);
    far.release(&far);
    near.release(&near);
}

static void add(const char *name, int32_t device)
{
    heddle_error *e = NULL;
    struct ArrowDeviceArray a = make_table(device);
    ok(heddle_database_register_device(database, name, &lent.all, &a, &e), e);
}

/* The facts of column i of the table, as the catalog has them; up to the brace behind them. */
static const char *facts_in(const char *catalog, const char *table, int i, size_t *n)
{
    char name[32];
    snprintf(name, sizeof name, "\"name\": \"%s\"", table);
    const char *p = strstr(catalog, name);
    for (int k = 0; k <= i && p; k++)
        p = strstr(p + 1, "\"facts\":");
    EXPECT(p != NULL);
    *n = strcspn(p, "}");
    return p;
}

/* Facts of a column there are those of the same on the host, but of strings that are no dictionary's. */
static void same_facts(void)
{
    heddle_error *e = NULL;
    char *catalog;
    int alike = 0;
    ok(heddle_database_compute_facts(database, "near", &e), e);
    ok(heddle_database_compute_facts(database, "far", &e), e);
    ok(heddle_database_catalog(database, &catalog, &e), e);
    for (int i = 0; i < COLUMNS; i++) {
        size_t m, n;
        const char *near = facts_in(catalog, "near", i, &m), *far = facts_in(catalog, "far", i, &n);
        const bool same = m == n && memcmp(near, far, n) == 0, text = strchr("uUvzZw", *lent.column[i].format) != NULL;
        if (!same && !text)
            fprintf(stderr, "column %d: %.*s, on the host %.*s\n", i, (int)n, far, (int)m, near);
        EXPECT(same || text);
        alike += same;
    }
    EXPECT(alike == COLUMNS - 3);
    heddle_free(catalog);
}

static void all_kinds(void)
{
    heddle_error *e = NULL;
    add("near", ARROW_DEVICE_CPU);
    released = 0;
    add("far", ARROW_DEVICE_CUDA);
    EXPECT(released == 0);
    same_facts();
    same_rows("{\"op\":\"sort\",\"keys\":[\"k\"],\"input\":{\"op\":\"scan\",\"table\":\"%s\",\"filter\":"
              "\"k < 300 or k >= 65400\"}}}",
              900);
    same_rows(
        "{\"op\":\"sort\",\"keys\":[\"code\"],\"input\":{\"op\":\"aggregate\",\"keys\":[\"code\"],\"aggs\":[{\"fn\":"
        "\"count_if\",\"arg\":\"flag\",\"as\":\"n\"},{\"fn\":\"max\",\"arg\":\"name\",\"as\":\"m\"}],\"input\":{"
        "\"op\":\"scan\",\"table\":\"%s\",\"filter\":\"wide like '%%9%%' and octet_length(bytes) > 3\"}}}}",
        5);
    same_rows("{\"op\":\"aggregate\",\"keys\":[],\"aggs\":[{\"fn\":\"count\",\"as\":\"n\"}],\"input\":{\"op\":\"scan\","
              "\"table\":\"%s\",\"filter\":\"code = 'kiwi' or upper(code) = 'PEAR'\"}}}",
              1);
    e = NULL;
    ok(heddle_database_drop(database, "far", &e), e);
    EXPECT(released == 1 || released == COLUMNS + 1);
}

/* ---- what is refused --------------------------------------------------------------------------- */

static void refused(struct ArrowDeviceArray *a, const char *words)
{
    heddle_error *e = NULL;
    EXPECT(heddle_database_register_device(database, "far", &lent.all, a, &e) == -1);
    if (!strstr(heddle_error_message(e), words))
        fprintf(stderr, "%s\n%s\n", heddle_error_message(e), heddle_error_detail(e) ? heddle_error_detail(e) : "");
    EXPECT(strstr(heddle_error_message(e), words));
    heddle_error_free(e);
}

static void bad_values(void)
{
    struct ArrowDeviceArray a = make_table(ARROW_DEVICE_CUDA);
    int32_t offset = memory.offsets[70];
    memory.offsets[70] = memory.offsets[72];
    refused(&a, "row 71: column \"name\": bad string offsets");
    memory.offsets[70] = offset;
    a = make_table(ARROW_DEVICE_CUDA);
    char byte = memory.bytes[memory.offsets[6]];
    memory.bytes[memory.offsets[5]] = (char)0xff; /* of a row that is not NULL */
    refused(&a, "row 6: column \"name\": byte 1 is not UTF-8");
    memory.bytes[memory.offsets[5]] = '5';
    memory.bytes[memory.offsets[6]] = byte;
    a = make_table(ARROW_DEVICE_CUDA);
    memory.codes[65999] = ENTRIES;
    refused(&a, "row 66000: column \"code\": index outside the dictionary of 5");
    memory.codes[65999] = 0;
    a = make_table(ARROW_DEVICE_CUDA);
    memory.entries[1] = (char)0xff;
    refused(&a, "UTF-8");
    memory.entries[1] = 'e';
    a = make_table(ARROW_DEVICE_CUDA);
    lent.array[NAME].n_buffers = 2;
    refused(&a, "expected 3 Arrow buffers");
}

int main(void)
{
    heddle_options o;
    heddle_error *e = NULL;
    heddle_options_init(&o);
    o.threads = 2;
    ok(heddle_context_new(&o, &context, &e), e);
    ok(heddle_database_open(context, NULL, 0, &database, &e), e);
    fill_memory();
    sim_device_lend(&memory, sizeof memory);
    bad_values();
    all_kinds();
    heddle_database_free(database);
    heddle_context_free(context);
    puts("ok");
    return 0;
}
