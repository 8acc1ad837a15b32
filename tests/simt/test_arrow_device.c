/* Results that stay on the device, here the emulator's, whose memory the host can read: they have the bytes that results
 * on the host have. And the host's own, by the same interface.
 *
 *   test_arrow_device DATABASE        TPC-H
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/heddle.h"
#include "tests/simt/check.h"

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

static heddle_statement *prepare(const char *backend, const char *plan)
{
    heddle_statement_options o;
    heddle_statement *s = NULL;
    heddle_error *e = NULL;
    heddle_statement_options_init(&o);
    o.backend = backend;
    ok(heddle_prepare(database, plan, &o, &s, &e), e);
    return s;
}

/* ---- comparing --------------------------------------------------------------------------------- */

static int bit(const void *bits, int64_t i)
{
    return ((const uint8_t *)bits)[i >> 3] >> (i & 7) & 1;
}

static int there(const struct ArrowArray *a, int64_t i)
{
    return !a->buffers[0] || bit(a->buffers[0], i);
}

static size_t width(const char *format)
{
    if (*format == 'd' || strcmp(format, "tin") == 0)
        return 16;
    return strcmp(format, "i") == 0 || strcmp(format, "f") == 0 || strcmp(format, "tdD") == 0 ? 4 : 8;
}

static void compare_text(const struct ArrowArray *a, int64_t i, const struct ArrowArray *b, int64_t k)
{
    const int32_t *x = (const int32_t *)a->buffers[1] + i, *y = (const int32_t *)b->buffers[1] + k;
    EXPECT(x[1] - x[0] == y[1] - y[0]);
    EXPECT(memcmp((const char *)a->buffers[2] + x[0], (const char *)b->buffers[2] + y[0], (size_t)(x[1] - x[0])) == 0);
}

static void compare(const char *format, const struct ArrowArray *a, int64_t i, const struct ArrowArray *b, int64_t k)
{
    EXPECT(there(a, i) == there(b, k));
    if (!there(a, i))
        return;
    if (*format == 'u')
        compare_text(a, i, b, k);
    else if (*format == 'b')
        EXPECT(bit(a->buffers[1], i) == bit(b->buffers[1], k));
    else
        EXPECT(memcmp((const char *)a->buffers[1] + (size_t)i * width(format),
                      (const char *)b->buffers[1] + (size_t)k * width(format), width(format)) == 0);
}

static int64_t count_nulls(const struct ArrowArray *a)
{
    int64_t n = 0;
    for (int64_t i = 0; i < a->length; i++)
        n += !there(a, i);
    return n;
}

/* One batch of the device against the batches of the host. */
static void compare_rows(const struct ArrowSchema *schema, const struct ArrowArray *all, struct ArrowArrayStream *host)
{
    int64_t row = 0;
    for (;;) {
        struct ArrowArray batch;
        EXPECT(host->get_next(host, &batch) == 0);
        if (!batch.release)
            break;
        for (int64_t c = 0; c < batch.n_children; c++)
            for (int64_t i = 0; i < batch.length; i++)
                compare(schema->children[c]->format, all->children[c], row + i, batch.children[c], i);
        row += batch.length;
        batch.release(&batch);
    }
    EXPECT(row == all->length);
    for (int64_t c = 0; c < all->n_children; c++)
        EXPECT(all->children[c]->null_count == count_nulls(all->children[c]));
}

static void same_schemas(const struct ArrowSchema *a, const struct ArrowSchema *b)
{
    EXPECT(a->n_children == b->n_children);
    for (int64_t i = 0; i < a->n_children; i++) {
        EXPECT(strcmp(a->children[i]->format, b->children[i]->format) == 0);
        EXPECT(strcmp(a->children[i]->name, b->children[i]->name) == 0);
        EXPECT(a->children[i]->flags == b->children[i]->flags);
    }
}

/* rows: how many are expected. Parts are released in an order that nobody would take. */
static void check_device(const char *plan, int64_t rows)
{
    heddle_error *e = NULL;
    struct ArrowDeviceArrayStream device;
    struct ArrowArrayStream host;
    struct ArrowSchema schema, host_schema;
    struct ArrowDeviceArray batch, end;
    heddle_statement *s = prepare("cuda", plan);
    ok(heddle_execute(s, &host, &e), e);
    ok(heddle_statement_execute_device(s, &device, &e), e);
    heddle_statement_free(s);
    EXPECT(device.device_type == ARROW_DEVICE_CUDA);
    EXPECT(device.get_schema(&device, &schema) == 0);
    EXPECT(host.get_schema(&host, &host_schema) == 0);
    same_schemas(&schema, &host_schema);
    EXPECT(device.get_next(&device, &batch) == 0);
    EXPECT(device.get_next(&device, &end) == 0);
    EXPECT(!end.array.release);
    device.release(&device);
    EXPECT(!batch.array.release == (rows == 0));
    if (rows) {
        EXPECT(batch.device_type == ARROW_DEVICE_CUDA && batch.device_id == 0 && batch.array.length == rows);
        compare_rows(&schema, &batch.array, &host);
        struct ArrowArray first = *batch.array.children[0];
        batch.array.children[0]->release = NULL; /* moved */
        batch.array.release(&batch.array);
        EXPECT(first.length == rows);
        first.release(&first);
    }
    schema.release(&schema);
    host_schema.release(&host_schema);
    host.release(&host);
}

/* ---- what is compared -------------------------------------------------------------------------- */

/* Every type, with NULLs and without: from the table, computed, and of dictionaries. */
static const char *const expressions[] = {
    "o_orderkey",
    "o_custkey * 5000000000",
    "o_totalprice",
    "o_totalprice * o_totalprice * 1000000",
    "cast(o_totalprice as float64)",
    "cast(o_orderkey as float32)",
    "o_orderdate",
    "cast(o_orderdate as timestamp)",
    "cast(cast(o_orderdate as timestamp) + interval '61' second as time)",
    "make_interval(o_orderkey % 25 - 12, o_custkey, -o_orderkey * 1001)",
    "o_orderkey % 7 > 3",
    "o_orderpriority",
    "o_comment",
    "upper(o_comment) || '!'",
};

static char *append(char *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static char *append(char *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    to += vsprintf(to, format, args);
    va_end(args);
    return to;
}

/* o_orderkey is `k`, by which rows are sorted. */
static void make_plan(char *out, const char *filter)
{
    out =
        append(out, "{\"heddle\":1,\"root\":{\"op\":\"sort\",\"keys\":[\"k\"],\"input\":{\"op\":\"project\",\"exprs\":["
                    "{\"expr\":\"o_orderkey\",\"as\":\"k\"}");
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        const char *e = expressions[i];
        out = append(out, ",{\"expr\":\"%s\",\"as\":\"c%zu\"}", e, i);
        out = append(out, ",{\"expr\":\"case when o_orderkey %% 3 <> 0 then %s end\",\"as\":\"n%zu\"}", e, i);
    }
    append(out, "],\"input\":{\"op\":\"scan\",\"table\":\"orders\",\"filter\":\"%s\"}}}}", filter);
}

static void all_types(void)
{
    static const struct {
        const char *filter;
        int64_t rows;
    } cases[] = {{"o_orderkey <= 1", 1},
                 {"o_orderkey < 32 * 4", 31},
                 {"o_orderkey <= 32 * 4", 32},
                 {"o_orderkey < 0", 0},
                 {"o_orderkey <= 4000 and o_orderkey <> 1", 999}};
    char plan[8192];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_plan(plan, cases[i].filter);
        check_device(plan, cases[i].rows);
    }
}

/* Results of more blocks than a grid has, and of aggregates. */
static void other_results(void)
{
    check_device(
        "{\"heddle\":1,\"root\":{\"op\":\"sort\",\"keys\":[\"o_orderkey\"],\"input\":{\"op\":\"scan\",\"table\":"
        "\"orders\",\"columns\":[\"o_orderkey\",\"o_clerk\"]}}}",
        15000);
    check_device(
        "{\"heddle\":1,\"root\":{\"op\":\"aggregate\",\"keys\":[],\"aggs\":[{\"fn\":\"count\",\"as\":\"n\"},{\"fn\":"
        "\"min\",\"arg\":\"o_comment\",\"as\":\"m\"}],\"input\":{\"op\":\"scan\",\"table\":\"orders\"}}}",
        1);
}

/* A batch of each of three passes; on the host they have as many. */
static void of_passes(void)
{
    static const char plan[] =
        "{\"heddle\":1,\"root\":{\"op\":\"sort\",\"keys\":[\"o_orderkey\"],\"input\":{\"op\":\"scan\","
        "\"table\":\"orders\",\"columns\":[\"o_orderkey\",\"o_comment\",\"o_orderstatus\"]}}}";
    heddle_error *e = NULL;
    struct ArrowDeviceArrayStream device;
    struct ArrowArrayStream host;
    struct ArrowSchema schema, host_schema;
    setenv("HEDDLE_PASSES", "3", 1);
    heddle_statement *s = prepare("cuda", plan);
    ok(heddle_execute(s, &host, &e), e);
    ok(heddle_statement_execute_device(s, &device, &e), e);
    unsetenv("HEDDLE_PASSES");
    heddle_statement_free(s);
    EXPECT(device.get_schema(&device, &schema) == 0 && host.get_schema(&host, &host_schema) == 0);
    same_schemas(&schema, &host_schema);
    for (int pass = 0;; pass++) {
        struct ArrowDeviceArray batch;
        struct ArrowArray on_host;
        EXPECT(device.get_next(&device, &batch) == 0 && host.get_next(&host, &on_host) == 0);
        EXPECT(!batch.array.release == !on_host.release && !batch.array.release == (pass == 3));
        if (!batch.array.release)
            break;
        EXPECT(batch.array.length == on_host.length);
        for (int64_t c = 0; c < on_host.n_children; c++)
            for (int64_t i = 0; i < on_host.length; i++)
                compare(schema.children[c]->format, batch.array.children[c], i, on_host.children[c], i);
        batch.array.release(&batch.array);
        on_host.release(&on_host);
    }
    schema.release(&schema);
    host_schema.release(&host_schema);
    device.release(&device);
    host.release(&host);
}

static void of_the_host(void)
{
    heddle_error *e = NULL;
    struct ArrowDeviceArrayStream rows;
    struct ArrowDeviceArray batch;
    struct ArrowSchema schema;
    heddle_statement *s = prepare("cpu", "{\"heddle\":1,\"root\":{\"op\":\"scan\",\"table\":\"nation\"}}");
    ok(heddle_statement_execute_device(s, &rows, &e), e);
    heddle_statement_free(s);
    EXPECT(rows.device_type == ARROW_DEVICE_CPU);
    EXPECT(rows.get_schema(&rows, &schema) == 0 && schema.n_children == 4);
    schema.release(&schema);
    EXPECT(rows.get_next(&rows, &batch) == 0);
    EXPECT(batch.device_type == ARROW_DEVICE_CPU && batch.device_id == -1 && batch.array.length == 25);
    batch.array.release(&batch.array);
    EXPECT(rows.get_next(&rows, &batch) == 0 && !batch.array.release);
    rows.release(&rows);
}

/* ---- tables of a device ------------------------------------------------------------------------ */

enum { ROWS = 1000, ALIGN = 256 };

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

/* A table with a day, an amount, a number that may be NULL; all lent. Zeros behind the last row, as an allocation of a GPU
 * has room there. */
static struct {
    _Alignas(ALIGN) int32_t days[ROWS + 8];
    _Alignas(ALIGN) __int128 amounts[ROWS + 8];
    _Alignas(ALIGN) int64_t numbers[ROWS + 8];
    _Alignas(ALIGN) uint8_t valid[ALIGN];
} memory;

static struct {
    struct ArrowSchema all, column[3], *columns[3];
    struct ArrowArray array[3], *arrays[3];
    const void *buffers[3][2], *none[1];
} lent;

static struct ArrowDeviceArray make_array(int64_t rows)
{
    static const char *const names[] = {"day", "amount", "number"}, *const formats[] = {"tdD", "d:12,2", "l"};
    const void *values[] = {memory.days, memory.amounts, memory.numbers};
    for (int i = 0; i < 3; i++) {
        lent.column[i] = (struct ArrowSchema){.format = formats[i], .name = names[i], .release = release_schema};
        lent.columns[i] = &lent.column[i];
        lent.buffers[i][0] = i == 2 ? memory.valid : NULL;
        lent.buffers[i][1] = values[i];
        lent.array[i] = (struct ArrowArray){.length = rows,
                                            .null_count = i == 2 ? -1 : 0,
                                            .n_buffers = 2,
                                            .buffers = lent.buffers[i],
                                            .release = release_array};
        lent.arrays[i] = &lent.array[i];
    }
    lent.column[2].flags = ARROW_FLAG_NULLABLE;
    lent.all =
        (struct ArrowSchema){.format = "+s", .n_children = 3, .children = lent.columns, .release = release_schema};
    return (struct ArrowDeviceArray){.array = {.length = rows,
                                               .n_buffers = 1,
                                               .buffers = lent.none,
                                               .n_children = 3,
                                               .children = lent.arrays,
                                               .release = release_array},
                                     .device_type = ARROW_DEVICE_CUDA};
}

static void fill_memory(void)
{
    for (int i = 0; i < ROWS; i++) {
        memory.days[i] = i % 10;
        memory.amounts[i] = i;
        memory.numbers[i] = INT64_C(1) << 40;
        memory.valid[i / 8] = 0x55; /* every second one */
    }
}

/* The registration fails, with these words, and what was given is released. */
static void refused(struct ArrowDeviceArray *a, const char *words)
{
    heddle_error *e = NULL;
    released = 0;
    EXPECT(heddle_database_register_device(database, "far", &lent.all, a, &e) == -1);
    if (!strstr(heddle_error_message(e), words))
        fprintf(stderr, "%s\n", heddle_error_message(e));
    EXPECT(strstr(heddle_error_message(e), words));
    EXPECT(released == 2);
    heddle_error_free(e);
}

static void bad_tables(void)
{
    struct ArrowDeviceArray a = make_array(ROWS);
    a.device_id = 3;
    refused(&a, "number 3");
    a = make_array(ROWS);
    a.device_type = ARROW_DEVICE_ROCM;
    refused(&a, "device type 10");
    a = make_array(ROWS);
    lent.column[2].format = "+r";
    refused(&a, "run ends");
    a = make_array(ROWS - 1);
    lent.buffers[0][1] = (const char *)memory.days + 1;
    refused(&a, "multiple of 4");
    a = make_array(ROWS);
    lent.array[1].length = ROWS - 1;
    refused(&a, "999 rows, shorter than its batch of 1000");
    a = make_array(ROWS);
    a.sync_event = &a;
    refused(&a, "events of others");
    memory.days[77] = INT32_MAX;
    a = make_array(ROWS);
    refused(&a, "row 78: column \"day\": day 2147483647 is beyond the years");
    memory.days[77] = 7;
    memory.amounts[999] = (__int128)1 << 80;
    a = make_array(ROWS);
    refused(&a, "row 1000: column \"amount\": value does not fit decimal(12,2)");
    memory.amounts[999] = 999;
}

static const char far_plan[] =
    "{\"heddle\":1,\"root\":{\"op\":\"sort\",\"keys\":[\"day\"],\"input\":{\"op\":\"aggregate\",\"keys\":[\"day\"],"
    "\"aggs\":[{\"fn\":\"sum\",\"arg\":\"amount\",\"as\":\"s\"},{\"fn\":\"count\",\"arg\":\"number\",\"as\":\"n\"}],"
    "\"input\":{\"op\":\"scan\",\"table\":\"far\"}}}}";

/* passes: what explain shows of them. */
static void check_far(const char *passes)
{
    heddle_error *e = NULL;
    struct ArrowArrayStream rows;
    struct ArrowArray batch;
    char *shown;
    heddle_statement *s = prepare("cuda", far_plan);
    ok(heddle_explain(s, "devices", &shown, &e), e);
    EXPECT(strstr(shown, passes));
    heddle_free(shown);
    ok(heddle_execute(s, &rows, &e), e);
    heddle_statement_free(s);
    EXPECT(rows.get_next(&rows, &batch) == 0 && batch.length == 10);
    for (int i = 0; i < 10; i++) {
        __int128 sum = 100 * i + 49500 + (i == 0) * 1000000;
        EXPECT(memcmp((const char *)batch.children[1]->buffers[1] + i * 16, &sum, 16) == 0);
        EXPECT(((const int64_t *)batch.children[2]->buffers[1])[i] == (i % 2 ? 0 : 100));
    }
    batch.release(&batch);
    rows.release(&rows);
}

static void tables_of_a_device(void)
{
    heddle_error *e = NULL;
    struct ArrowArrayStream rows;
    fill_memory();
    bad_tables();
    struct ArrowDeviceArray a = make_array(ROWS);
    released = 0;
    ok(heddle_database_register_device(database, "far", &lent.all, &a, &e), e);
    EXPECT(released == 0);
    memory.amounts[0] = 1000000; /* no copy was made */
    check_far("one");
    setenv("HEDDLE_PASSES", "2", 1);
    check_far(", 2 passes: ");
    unsetenv("HEDDLE_PASSES");
    heddle_statement *s = prepare("cpu", far_plan);
    EXPECT(heddle_execute(s, &rows, &e) == -1 && strstr(heddle_error_message(e), "GPU's memory"));
    heddle_error_free(e);
    heddle_statement_free(s);
    e = NULL;
    ok(heddle_database_drop(database, "far", &e), e);
    EXPECT(released == 2);
}

int main(int argc, char **argv)
{
    heddle_options o;
    heddle_error *e = NULL;
    EXPECT(argc == 2);
    heddle_options_init(&o);
    o.threads = 2;
    ok(heddle_context_new(&o, &context, &e), e);
    ok(heddle_database_open(context, argv[1], 0, &database, &e), e);
    of_the_host();
    all_types();
    other_results();
    of_passes();
    tables_of_a_device();
    heddle_database_free(database);
    heddle_context_free(context);
    puts("ok");
    return 0;
}
