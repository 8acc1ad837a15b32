#include <stdlib.h>

#include "api/api_internal.h"
#include "runtime/base/fault.h"
#include "runtime/io/arrow_out.h"

int heddle_database_table_count(heddle_database *db)
{
    if (!db)
        return 0;
    struct api_snapshot *s = api_database_snapshot(db);
    int n = s->cat.ntables;
    api_snapshot_release(s);
    return n;
}

/* The name is the table's and lives as long: the snapshot may go before. */
const char *heddle_database_table_name(heddle_database *db, int i)
{
    if (!db)
        return NULL;
    struct api_snapshot *s = api_database_snapshot(db);
    const char *name = i >= 0 && i < s->cat.ntables ? s->cat.tables[i]->name : NULL;
    api_snapshot_release(s);
    return name;
}

static const struct fe_table *find(const struct api_snapshot *s, const char *name, struct hd_err *err)
{
    int i = api_snapshot_find(s, name);
    if (i >= 0)
        return s->cat.tables[i];
    HD_FAIL(err, USER, name, "no such table");
    return NULL;
}

/* The schema of a stream without batches, whose writer knows how a type is spelt. */
static int write_schema(const struct fe_table *t, struct ArrowSchema *out, struct hd_err *err)
{
    struct rt_out_column *cols = hd_try_calloc((size_t)t->ncols, sizeof *cols);
    struct rt_arrow_out *rows;
    struct ArrowArrayStream stream;
    if (!cols)
        return HD_FAIL(err, RESOURCE, t->name, "out of memory");
    for (int c = 0; c < t->ncols; c++)
        cols[c] = (struct rt_out_column){t->cols[c].name, t->cols[c].type, t->cols[c].nullable};
    int rc = rt_arrow_out_new(t->ncols, cols, &rows, err);
    free(cols);
    HD_TRY(rc);
    rt_arrow_out_finish(rows, &stream);
    rc = stream.get_schema(&stream, out);
    if (rc != 0)
        HD_FAIL(err, RESOURCE, t->name, "%s", stream.get_last_error(&stream));
    stream.release(&stream);
    return rc == 0 ? 0 : -1;
}

int heddle_database_table_schema(heddle_database *db, const char *table, struct ArrowSchema *out, heddle_error **err)
{
    struct hd_err e;
    API_NEED(db, err);
    API_NEED(table, err);
    API_NEED(out, err);
    hd_err_init(&e);
    struct api_snapshot *s = api_database_snapshot(db);
    const struct fe_table *t = find(s, table, &e);
    int rc = t ? write_schema(t, out, &e) : -1;
    api_snapshot_release(s);
    return api_finish(rc, &e, err);
}

int heddle_database_table_rows(heddle_database *db, const char *table, int64_t *out, heddle_error **err)
{
    struct hd_err e;
    API_NEED(db, err);
    API_NEED(table, err);
    API_NEED(out, err);
    hd_err_init(&e);
    struct api_snapshot *s = api_database_snapshot(db);
    const struct fe_table *t = find(s, table, &e);
    if (t)
        *out = t->rows;
    api_snapshot_release(s);
    return api_finish(t ? 0 : -1, &e, err);
}
