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
    if (*format == 'd')
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
    heddle_database_free(database);
    heddle_context_free(context);
    puts("ok");
    return 0;
}
