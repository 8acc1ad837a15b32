/* Embeds Heddle: hands over a table as Arrow data, runs a plan on it, reads the rows.
 *
 *     cc embed.c $(pkg-config --cflags --libs heddle) -o embed
 *
 * The table is made here by hand to show the whole of the Arrow C Data Interface that it takes;
 * a real program gets its streams from an Arrow library. */
#include <heddle.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- an Arrow table: items(name string, price decimal(9,2) in cents, sold int32) ---- */

enum { COLUMNS = 3, ROWS = 5 };

static const int32_t name_ends[ROWS + 1] = {0, 5, 9, 13, 18, 22};
static const char names[] = "applepearplumapplepear";
static const int64_t cents[ROWS][2] = {{120, 0}, {95, 0}, {30, 0}, {110, 0}, {100, 0}};
static const int32_t sold[ROWS] = {3, 10, 25, 7, 2};

static const void *name_buffers[] = {NULL, name_ends, names};
static const void *price_buffers[] = {NULL, cents};
static const void *sold_buffers[] = {NULL, sold};

/* Everything is static, so that releasing only marks the structure as released. */
static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

static void release_array(struct ArrowArray *a)
{
    a->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    static struct ArrowSchema column[COLUMNS];
    static struct ArrowSchema *columns[COLUMNS] = {&column[0], &column[1], &column[2]};
    (void)stream;
    column[0] = (struct ArrowSchema){.name = "name", .format = "u", .release = release_schema};
    column[1] = (struct ArrowSchema){.name = "price", .format = "d:9,2", .release = release_schema};
    column[2] = (struct ArrowSchema){.name = "sold", .format = "i", .release = release_schema};
    *out = (struct ArrowSchema){
        .name = "", .format = "+s", .n_children = COLUMNS, .children = columns, .release = release_schema};
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    static struct ArrowArray column[COLUMNS];
    static struct ArrowArray *columns[COLUMNS] = {&column[0], &column[1], &column[2]};
    static const void *no_validity[] = {NULL};
    static const void **const buffers[COLUMNS] = {name_buffers, price_buffers, sold_buffers};
    int *batches_left = stream->private_data;
    *out = (struct ArrowArray){0};
    if ((*batches_left)-- == 0)
        return 0; /* an array without a release function ends the stream */
    for (int i = 0; i < COLUMNS; i++)
        column[i] = (struct ArrowArray){
            .length = ROWS, .n_buffers = i == 0 ? 3 : 2, .buffers = buffers[i], .release = release_array};
    *out = (struct ArrowArray){.length = ROWS,
                               .n_buffers = 1,
                               .buffers = no_validity,
                               .n_children = COLUMNS,
                               .children = columns,
                               .release = release_array};
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
}

/* ---- the plan ---- */

static const char plan[] = "{\"heddle\": 1,"
                           " \"params\": {\"least\": {\"type\": \"int32\", \"default\": \"3\"}},"
                           " \"root\": {\"op\": \"sort\", \"keys\": [\"name\"], \"input\":"
                           "   {\"op\": \"aggregate\", \"keys\": [\"name\"],"
                           "    \"aggs\": [{\"fn\": \"sum\", \"arg\": \"sold\", \"as\": \"pieces\"},"
                           "             {\"fn\": \"sum\", \"arg\": \"price * sold\", \"as\": \"revenue\"}],"
                           "    \"input\": {\"op\": \"scan\", \"table\": \"items\", \"filter\": \"sold >= "
                           ":least\"}}}}";

/* ---- rows: name string, pieces int64, revenue decimal(38,2) ---- */

static void print_batch(const struct ArrowArray *batch)
{
    const int32_t *ends = batch->children[0]->buffers[1];
    const char *bytes = batch->children[0]->buffers[2];
    const int64_t *pieces = batch->children[1]->buffers[1];
    const int64_t *revenue = batch->children[2]->buffers[1]; /* 128 bits a value: low, high */
    int64_t first[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        first[i] = batch->offset + batch->children[i]->offset;
    for (int64_t row = 0; row < batch->length; row++) {
        int64_t at = first[0] + row, low = revenue[2 * (first[2] + row)];
        printf("%-5.*s %3" PRId64 " pieces, %" PRId64 ".%02" PRId64 "\n", (int)(ends[at + 1] - ends[at]),
               bytes + ends[at], pieces[first[1] + row], low / 100, low % 100);
    }
}

static int print_rows(struct ArrowArrayStream *rows)
{
    for (;;) {
        struct ArrowArray batch;
        int rc = rows->get_next(rows, &batch);
        if (rc || !batch.release)
            return rc;
        print_batch(&batch);
        batch.release(&batch);
    }
}

static int fail(heddle_error *e)
{
    fprintf(stderr, "%s: %s\n", heddle_error_path(e), heddle_error_message(e));
    heddle_error_free(e);
    return -1;
}

static int run_plan(heddle_database *db)
{
    heddle_statement *statement;
    heddle_error *e = NULL;
    struct ArrowArrayStream rows;
    if (heddle_prepare(db, plan, NULL, &statement, &e))
        return fail(e);
    int rc = heddle_bind(statement, "least", "2", &e);
    if (!rc)
        rc = heddle_execute(statement, &rows, &e);
    heddle_statement_free(statement); /* the rows stay */
    if (rc)
        return fail(e);
    rc = print_rows(&rows);
    rows.release(&rows);
    return rc;
}

static int use_database(heddle_context *context)
{
    int batches = 1;
    struct ArrowArrayStream items = {get_schema, get_next, get_last_error, release_stream, &batches};
    heddle_database *db;
    heddle_error *e = NULL;
    if (heddle_database_open(context, NULL, 0, &db, &e))
        return fail(e);
    int rc = heddle_database_register(db, "items", &items, HEDDLE_FACTS_LAZY, &e) ? fail(e) : run_plan(db);
    heddle_database_free(db);
    return rc;
}

int main(void)
{
    heddle_context *context;
    heddle_error *e = NULL;
    if (heddle_context_new(NULL, &context, &e)) {
        fail(e);
        return EXIT_FAILURE;
    }
    int rc = use_database(context);
    heddle_context_free(context);
    return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}
