#include "tests/simt/session.h"

#include <string.h>
#include <unistd.h>

const char *folder;
heddle_context *context;
heddle_database *database;

void ok(int rc, heddle_error **e)
{
    if (rc != 0)
        fprintf(stderr, "%s: %s\n", heddle_error_path(*e), heddle_error_message(*e));
    EXPECT(rc == 0);
    heddle_error_free(*e);
}

heddle_options session_options(void)
{
    heddle_options o;
    heddle_options_init(&o);
    o.threads = 2;
    o.cache_dir = "";
    return o;
}

void session_begin(const heddle_options *o)
{
    heddle_error *e = NULL;
    ok(heddle_context_new(o, &context, &e), &e);
    ok(heddle_database_open(context, folder, 0, &database, &e), &e);
}

void end(void)
{
    heddle_database_free(database);
    heddle_context_free(context);
}

heddle_statement *session_prepare(const char *plan, const heddle_statement_options *o)
{
    heddle_statement *s = NULL;
    heddle_error *e = NULL;
    ok(heddle_prepare(database, plan, o, &s, &e), &e);
    return s;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

static void add_column(struct rows *r, const struct ArrowArray *a, size_t width)
{
    size_t n = (size_t)a->length * width;
    EXPECT(r->n + n <= sizeof r->bytes);
    memcpy(r->bytes + r->n, a->buffers[1], n);
    r->n += n;
}

static struct rows read_rows(struct ArrowArrayStream *stream)
{
    struct rows r = {.n = 0};
    struct ArrowArray batch;
    struct ArrowSchema schema;
    EXPECT(stream->get_schema(stream, &schema) == 0);
    for (;;) {
        EXPECT(stream->get_next(stream, &batch) == 0);
        if (!batch.release)
            break;
        for (int64_t c = 0; c < batch.n_children; c++)
            if (*schema.children[c]->format != 'u')
                add_column(&r, batch.children[c], *schema.children[c]->format == 'd' ? 16 : 8);
        batch.release(&batch);
    }
    schema.release(&schema);
    stream->release(stream);
    return r;
}

struct rows run(heddle_statement *s)
{
    struct ArrowArrayStream stream;
    heddle_error *e = NULL;
    ok(heddle_execute(s, &stream, &e), &e);
    return read_rows(&stream);
}

void same(struct rows a, struct rows b)
{
    EXPECT(a.n > 0 && a.n == b.n && memcmp(a.bytes, b.bytes, a.n) == 0);
}

/* ---- what happened ----------------------------------------------------------------------------------- */

bool reports(heddle_statement *s, const char *text)
{
    char *json;
    heddle_error *e = NULL;
    ok(heddle_statement_report(s, &json, &e), &e);
    bool found = strstr(json, text) != NULL;
    if (getenv("TEST_VERBOSE"))
        printf("%s: %d\n%s\n", text, found, json);
    heddle_free(json);
    return found;
}

void wait_until_idle(void)
{
    for (int ms = 0; ms < WAIT_MS && heddle_context_busy(context); ms++)
        usleep(1000);
    EXPECT(!heddle_context_busy(context));
}

void session_run(const struct session_case *c)
{
    printf("%s\n", c->name);
    fflush(stdout);
    c->run();
}
