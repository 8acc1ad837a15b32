/* A graph into a database, through the public API alone.  Workers take stretches of rows from one counter; a list of
 * neighbours goes over as it lies in memory, beside it the vertex whose list it is. */
#include "graph/gen_graph.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tpch/gen_par.h"

#define BATCH_ROWS 65536

/* Shares of the progress bar: appending, then the commit. */
#define APPEND_SHARE 0.3

static const char schema_format[] =
    "{\"tables\":["
    "{\"name\":\"vertex\",\"rows\":%lld,\"columns\":[{\"name\":\"id\",\"type\":\"int32\"},"
    "{\"name\":\"degree\",\"type\":\"int32\"}],\"primary_key\":[\"id\"]},"
    "{\"name\":\"edge\",\"rows\":%lld,"
    "%s"
    "},"
    "{\"name\":\"edge_up\",\"rows\":%lld,"
    "%s"
    "}]}";

static const char edge_format[] =
    "\"columns\":[{\"name\":\"src\",\"type\":\"int32\"},{\"name\":\"dst\",\"type\":\"int32\"}],"
    "\"primary_key\":[\"src\",\"dst\"],\"foreign_keys\":["
    "{\"columns\":[\"src\"],\"table\":\"vertex\",\"references\":[\"id\"]},"
    "{\"columns\":[\"dst\"],\"table\":\"vertex\",\"references\":[\"id\"]}]";

enum { VERTEX, EDGE, EDGE_UP, TABLES };

static const struct {
    const char *name, *column[2];
} tables[TABLES] = {
    [VERTEX] = {"vertex", {"id", "degree"}},
    [EDGE] = {"edge", {"src", "dst"}},
    [EDGE_UP] = {"edge_up", {"src", "dst"}},
};

struct job {
    const struct gg_graph *g;
    const struct gg_db_options *o;
    heddle_writer *writer;
    struct tg_error *err;
    heddle_error **cause;
    pthread_mutex_t lock;
    int table;
    int64_t row; /* next of the table */
    int64_t done, total;
    bool failed;
};

struct stretch {
    int table;
    int64_t begin, end;
};

static int64_t rows_of(const struct gg_graph *g, int table)
{
    return table == VERTEX ? g->vertices : table == EDGE ? 2 * g->edges : g->edges;
}

static bool claim(struct job *job, struct stretch *s)
{
    pthread_mutex_lock(&job->lock);
    while (job->table < TABLES && job->row == rows_of(job->g, job->table)) {
        job->table++;
        job->row = 0;
    }
    const bool taken = !job->failed && job->table < TABLES;
    if (taken) {
        const int64_t left = rows_of(job->g, job->table) - job->row;
        *s = (struct stretch){job->table, job->row, job->row + (left < BATCH_ROWS ? left : BATCH_ROWS)};
        job->row = s->end;
    }
    pthread_mutex_unlock(&job->lock);
    return taken;
}

/* Takes over the database's error; the first one wins. */
static void fail_with(struct job *job, const char *what, heddle_error *e)
{
    pthread_mutex_lock(&job->lock);
    if (job->failed) {
        heddle_error_free(e);
    } else {
        tg_fail(job->err, heddle_error_path(e), 0, "%s: %s", what, heddle_error_message(e));
        *job->cause = e;
    }
    job->failed = true;
    pthread_mutex_unlock(&job->lock);
}

static void set_cancelled(struct job *job)
{
    tg_fail(job->err, "", ECANCELED, "generation");
    job->err->cancelled = true;
    job->failed = true;
}

static void report(struct job *job, const struct stretch *s)
{
    pthread_mutex_lock(&job->lock);
    job->done += s->end - s->begin;
    if (!job->failed && job->o->progress != NULL &&
        job->o->progress(job->o->user, APPEND_SHARE * (double)job->done / (double)job->total, tables[s->table].name) !=
            0)
        set_cancelled(job);
    pthread_mutex_unlock(&job->lock);
}

/* The vertex whose list row `row` is in: the last that starts at or before it and is not empty. */
static int64_t vertex_at(const struct gg_lists *l, int64_t vertices, int64_t row)
{
    int64_t lo = 0, hi = vertices;
    while (hi - lo > 1) {
        const int64_t middle = lo + (hi - lo) / 2;
        if (l->offset[middle] <= row)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

static void fill_sources(const struct gg_graph *g, const struct gg_lists *l, const struct stretch *s, int32_t *out)
{
    int64_t v = vertex_at(l, g->vertices, s->begin);
    for (int64_t row = s->begin; row < s->end; row++) {
        while (l->offset[v + 1] <= row)
            v++;
        out[row - s->begin] = (int32_t)v;
    }
}

static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

static void release_array(struct ArrowArray *a)
{
    a->release = NULL;
}

static void append(struct job *job, const struct stretch *s, const int32_t *first, const int32_t *second)
{
    const void *buffers[2][2] = {{NULL, first}, {NULL, second}}, *none[1] = {NULL};
    struct ArrowSchema child_schema[2], *schemas[2];
    struct ArrowArray child[2], *children[2];
    heddle_error *e = NULL;
    for (int i = 0; i < 2; i++) {
        schemas[i] = &child_schema[i];
        children[i] = &child[i];
        child_schema[i] =
            (struct ArrowSchema){.format = "i", .name = tables[s->table].column[i], .release = release_schema};
        child[i] = (struct ArrowArray){
            .length = s->end - s->begin, .n_buffers = 2, .buffers = buffers[i], .release = release_array};
    }
    struct ArrowSchema schema = {
        .format = "+s", .name = "", .n_children = 2, .children = schemas, .release = release_schema};
    struct ArrowArray batch = {.length = s->end - s->begin,
                               .n_buffers = 1,
                               .n_children = 2,
                               .buffers = none,
                               .children = children,
                               .release = release_array};
    if (heddle_writer_append(job->writer, tables[s->table].name, s->begin, &schema, &batch, &e) != 0)
        fail_with(job, "cannot store rows", e);
    else
        report(job, s);
}

static void work_on(struct job *job, const struct stretch *s, int32_t *first, int32_t *second)
{
    const struct gg_graph *g = job->g;
    if (s->table == VERTEX) {
        for (int64_t v = s->begin; v < s->end; v++) {
            first[v - s->begin] = (int32_t)v;
            second[v - s->begin] = (int32_t)gg_degree(g, v);
        }
        append(job, s, first, second);
        return;
    }
    const struct gg_lists *l = s->table == EDGE ? &g->all : &g->up;
    fill_sources(g, l, s, first);
    append(job, s, first, l->neighbour + s->begin);
}

static void work(void *arg, int index)
{
    struct job *job = arg;
    struct stretch s;
    int32_t *first = malloc(2 * BATCH_ROWS * sizeof *first);
    (void)index;
    if (first == NULL) {
        pthread_mutex_lock(&job->lock);
        if (!job->failed)
            tg_fail(job->err, "", ENOMEM, "generation");
        job->failed = true;
        pthread_mutex_unlock(&job->lock);
    }
    while (claim(job, &s))
        work_on(job, &s, first, first + BATCH_ROWS);
    free(first);
}

static int commit_progress(void *user, double fraction, const char *what)
{
    const struct job *job = user;
    if (job->o->progress == NULL)
        return 0;
    return job->o->progress(job->o->user, APPEND_SHARE + (1 - APPEND_SHARE) * fraction, what);
}

static void write_tables(struct job *job)
{
    heddle_error *e = NULL;
    tg_parallel(tg_thread_count(job->o->threads), work, job);
    if (!job->failed && heddle_writer_commit(job->writer, commit_progress, job, &e) != 0) {
        const bool cancelled = heddle_error_get_class(e) == HEDDLE_ERROR_CANCELLED;
        fail_with(job, "cannot commit", e);
        job->err->cancelled = cancelled;
    }
}

int gg_db_write(const struct gg_graph *g, heddle_context *context, const char *path, const struct gg_db_options *o,
                struct tg_error *err, heddle_error **cause)
{
    struct job job = {.g = g, .o = o, .err = err, .cause = cause, .table = VERTEX};
    char schema[sizeof schema_format + 2 * sizeof edge_format + 64];
    heddle_error *e = NULL;
    job.total = g->vertices + 3 * g->edges;
    snprintf(schema, sizeof schema, schema_format, (long long)g->vertices, 2 * (long long)g->edges, edge_format,
             (long long)g->edges, edge_format);
    pthread_mutex_init(&job.lock, NULL);
    if (heddle_writer_open(context, path, schema, &job.writer, &e) != 0)
        fail_with(&job, "cannot create the database", e);
    else
        write_tables(&job);
    heddle_writer_free(job.writer);
    pthread_mutex_destroy(&job.lock);
    return job.failed ? -1 : 0;
}
