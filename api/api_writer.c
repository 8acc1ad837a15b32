#include <stdlib.h>
#include <string.h>

#include "api/api_internal.h"
#include "runtime/io/arrow_in.h"
#include "runtime/store/store_writer.h"

static int open_writer(heddle_context *c, const char *path, const char *schema_json, heddle_writer **out,
                       struct hd_err *err)
{
    heddle_writer *w = calloc(1, sizeof *w);
    if (!w)
        return HD_FAIL(err, RESOURCE, path, "out of memory");
    hd_arena_init(&w->arena);
    int rc;
    HD_GUARDED(rc, NULL, err, fe_schema_read(&w->arena, schema_json, &w->schema, err));
    if (rc == 0)
        rc = rt_writer_new(path, w->schema, c->threads, &w->w, err);
    if (rc == 0)
        *out = w;
    else
        heddle_writer_free(w);
    return rc;
}

int heddle_writer_open(heddle_context *c, const char *path, const char *schema_json, heddle_writer **out,
                       heddle_error **err)
{
    struct hd_err e;
    API_NEED(c, err);
    API_NEED(path, err);
    API_NEED(schema_json, err);
    API_NEED(out, err);
    hd_err_init(&e);
    return api_finish(open_writer(c, path, schema_json, out, &e), &e, err);
}

static int append(heddle_writer *w, const char *table, int64_t first_row, const struct ArrowSchema *schema,
                  const struct ArrowArray *batch, struct hd_err *err)
{
    int t = rt_writer_find(w->w, table);
    if (t < 0)
        return HD_FAIL(err, USER, table, "no such table in the schema");
    struct rt_arrow_source source;
    HD_TRY(rt_arrow_source_open(&source, &w->schema->tables[t].table, schema, batch, first_row, err));
    int rc = rt_writer_add(w->w, t, first_row, batch->length, &source.base, err);
    rt_arrow_source_close(&source);
    return rc;
}

int heddle_writer_append(heddle_writer *w, const char *table, int64_t first_row, const struct ArrowSchema *schema,
                         const struct ArrowArray *batch, heddle_error **err)
{
    struct hd_err e;
    API_NEED(w, err);
    API_NEED(table, err);
    API_NEED(schema, err);
    API_NEED(batch, err);
    hd_err_init(&e);
    return api_finish(append(w, table, first_row, schema, batch, &e), &e, err);
}

static int commit(heddle_writer *w, struct rt_progress *progress, struct hd_err *err)
{
    struct fe_catalog_doc *doc;
    HD_TRY(rt_writer_seal(w->w, progress, &doc, err));
    char *text = NULL;
    int rc;
    HD_GUARDED(rc, NULL, err, (text = fe_catalog_write(doc, false)) ? 0 : -1);
    if (rc == 0)
        rc = rt_writer_publish(w->w, text, progress, err);
    free(text);
    return rc;
}

int heddle_writer_commit(heddle_writer *w, heddle_progress_fn progress, void *user, heddle_error **err)
{
    struct hd_err e;
    API_NEED(w, err);
    hd_err_init(&e);
    struct rt_progress p = {progress, user, 0, 1};
    return api_finish(commit(w, &p, &e), &e, err);
}

void heddle_writer_free(heddle_writer *w)
{
    if (!w)
        return;
    rt_writer_free(w->w);
    hd_arena_release(&w->arena);
    free(w);
}
