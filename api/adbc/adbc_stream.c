#include "api/adbc/adbc_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/adbc/adbc_internal.h"

static void release_stream(struct ArrowArrayStream *s)
{
    if (s->release)
        s->release(s);
    s->release = NULL;
}

/* ---- one after the other ------------------------------------------------------------------- */

struct concat {
    struct adbc_core *core;
    struct ArrowSchema schema; /* release NULL: the first stream's */
    int n, at;
    struct ArrowArrayStream *streams;
};

static void release_leaf(struct ArrowSchema *s)
{
    free(s->private_data);
    s->release = NULL;
}

static void release_struct(struct ArrowSchema *s)
{
    for (int64_t i = 0; i < s->n_children; i++) {
        if (s->children[i]->release)
            s->children[i]->release(s->children[i]);
        free(s->children[i]);
    }
    free(s->children);
    s->release = NULL;
}

/* Its texts are its own, because a consumer may move it out of its parent. */
static struct ArrowSchema *copy_leaf(const struct ArrowSchema *from)
{
    size_t format = strlen(from->format) + 1, name = strlen(from->name) + 1;
    struct ArrowSchema *to = malloc(sizeof *to);
    char *texts = malloc(format + name);
    if (!to || !texts) {
        free(to);
        free(texts);
        return NULL;
    }
    memcpy(texts, from->format, format);
    memcpy(texts + format, from->name, name);
    *to = (struct ArrowSchema){
        .format = texts, .name = texts + format, .flags = from->flags, .release = release_leaf, .private_data = texts};
    return to;
}

/* Of a struct of leaves, as Heddle's schemas are. */
static int copy_schema(const struct ArrowSchema *from, struct ArrowSchema *out)
{
    size_t n = (size_t)from->n_children;
    *out = (struct ArrowSchema){
        .format = "+s", .name = "", .children = calloc(n + 1, sizeof *out->children), .release = release_struct};
    for (size_t i = 0; out->children && i < n; i++) {
        out->children[i] = copy_leaf(from->children[i]);
        if (!out->children[i])
            break;
        out->n_children++;
    }
    if (out->children && out->n_children == from->n_children)
        return 0;
    release_struct(out);
    return ENOMEM;
}

static int concat_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const struct concat *c = stream->private_data;
    if (c->schema.release)
        return copy_schema(&c->schema, out);
    return c->streams[0].get_schema(&c->streams[0], out);
}

static int concat_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct concat *c = stream->private_data;
    for (; c->at < c->n; c->at++) {
        struct ArrowArrayStream *s = &c->streams[c->at];
        int rc = s->get_next(s, out);
        if (rc != 0 || out->release)
            return rc;
        if (c->at > 0) /* the first one has the schema */
            release_stream(s);
    }
    memset(out, 0, sizeof *out);
    return 0;
}

static const char *concat_error(struct ArrowArrayStream *stream)
{
    const struct concat *c = stream->private_data;
    struct ArrowArrayStream *s = c->at < c->n ? &c->streams[c->at] : NULL;
    return s && s->release && s->get_last_error ? s->get_last_error(s) : "out of memory";
}

static void concat_release(struct ArrowArrayStream *stream)
{
    struct concat *c = stream->private_data;
    for (int i = 0; i < c->n; i++)
        release_stream(&c->streams[i]);
    if (c->schema.release)
        c->schema.release(&c->schema);
    adbc_core_release(c->core);
    free(c->streams);
    free(c);
    stream->release = NULL;
}

AdbcStatusCode adbc_stream_concat(struct adbc_core *core, struct ArrowSchema *schema, struct ArrowArrayStream *streams,
                                  int n, struct ArrowArrayStream *out, struct AdbcError *e)
{
    struct concat *c = calloc(1, sizeof *c);
    struct ArrowArrayStream *own = calloc((size_t)n + 1, sizeof *own);
    if (c && own) {
        if (n)
            memcpy(own, streams, (size_t)n * sizeof *own);
        *c = (struct concat){.core = core ? adbc_core_keep(core) : NULL, .n = n, .streams = own};
        if (schema)
            c->schema = *schema;
        *out = (struct ArrowArrayStream){concat_schema, concat_next, concat_error, concat_release, c};
        return ADBC_STATUS_OK;
    }
    free(c);
    free(own);
    for (int i = 0; i < n; i++)
        release_stream(&streams[i]);
    if (schema)
        schema->release(schema);
    return ADBC_NO_MEMORY(e);
}

/* ---- one batch ----------------------------------------------------------------------------- */

struct single {
    struct ArrowArray batch;
    struct ArrowSchema schema;
};

/* What Bind gives is read once, by one reader. */
static int single_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct single *s = stream->private_data;
    if (!s->schema.release)
        return EINVAL;
    *out = s->schema;
    s->schema.release = NULL;
    return 0;
}

static int single_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct single *s = stream->private_data;
    *out = s->batch;
    s->batch.release = NULL;
    return 0;
}

static const char *single_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "the schema was read already";
}

static void single_release(struct ArrowArrayStream *stream)
{
    struct single *s = stream->private_data;
    if (s->batch.release)
        s->batch.release(&s->batch);
    if (s->schema.release)
        s->schema.release(&s->schema);
    free(s);
    stream->release = NULL;
}

AdbcStatusCode adbc_stream_single(struct ArrowArray *batch, struct ArrowSchema *schema, struct ArrowArrayStream *out,
                                  struct AdbcError *e)
{
    struct single *s = calloc(1, sizeof *s);
    if (!s) {
        batch->release(batch);
        schema->release(schema);
        return ADBC_NO_MEMORY(e);
    }
    *s = (struct single){*batch, *schema};
    batch->release = NULL;
    schema->release = NULL;
    *out = (struct ArrowArrayStream){single_schema, single_next, single_error, single_release, s};
    return ADBC_STATUS_OK;
}

/* ---- watched ------------------------------------------------------------------------------- */

struct watch {
    struct adbc_statement *statement;
    int64_t *rows;
    bool cancelled;
    struct ArrowArrayStream from;
};

static int watch_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct watch *w = stream->private_data;
    return w->from.get_schema(&w->from, out);
}

static int watch_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct watch *w = stream->private_data;
    w->cancelled = adbc_statement_cancelled(w->statement);
    if (w->cancelled)
        return ECANCELED;
    int rc = w->from.get_next(&w->from, out);
    if (rc == 0 && out->release)
        *w->rows += out->length;
    return rc;
}

static const char *watch_error(struct ArrowArrayStream *stream)
{
    struct watch *w = stream->private_data;
    if (w->cancelled)
        return "cancelled";
    return w->from.get_last_error ? w->from.get_last_error(&w->from) : NULL;
}

static void watch_release(struct ArrowArrayStream *stream)
{
    struct watch *w = stream->private_data;
    release_stream(&w->from);
    free(w);
    stream->release = NULL;
}

AdbcStatusCode adbc_stream_watch(struct adbc_statement *s, int64_t *rows, struct ArrowArrayStream *from,
                                 struct ArrowArrayStream *out, struct AdbcError *e)
{
    struct watch *w = calloc(1, sizeof *w);
    if (!w) {
        release_stream(from);
        return ADBC_NO_MEMORY(e);
    }
    *w = (struct watch){.statement = s, .rows = rows, .from = *from};
    from->release = NULL;
    *out = (struct ArrowArrayStream){watch_schema, watch_next, watch_error, watch_release, w};
    return ADBC_STATUS_OK;
}
