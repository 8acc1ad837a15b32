#include <string.h>

#include "api/api_backend.h"
#include "api/api_facts.h"
#include "api/api_internal.h"
#include "api/api_keys.h"
#include "runtime/base/utf8.h"
#include "runtime/io/arrow_table.h"

static void release(struct ArrowArrayStream *s)
{
    if (s->release)
        s->release(s);
}

/* replace: in the place of a registered table of this name, if there is one. */
int api_database_publish(heddle_database *db, struct api_table *t, bool replace, struct hd_err *err)
{
    pthread_mutex_lock(&db->mutex);
    struct api_snapshot *old = db->now, *new = NULL;
    int i = api_snapshot_find(old, t->table->name);
    if (i >= 0 && !replace)
        HD_FAIL(err, USER, t->table->name, "there is a table of this name already");
    else if (i >= 0 && !old->owners[i]->mem)
        HD_FAIL(err, USER, t->table->name, "stored tables cannot be replaced");
    else if (!(new = api_snapshot_copy(db, i)))
        HD_FAIL(err, RESOURCE, t->table->name, "out of memory");
    else {
        api_snapshot_add(new, t);
        db->now = new;
    }
    pthread_mutex_unlock(&db->mutex);
    if (!new)
        return -1;
    if (i >= 0)
        api_backends_forget(db->context, old->cat.tables[i]);
    api_snapshot_release(old);
    return 0;
}

/* Plans name tables in JSON, whose strings are UTF-8. */
int api_table_name_check(const char *name, struct hd_err *err)
{
    if (!*name || hd_utf8_check(name, strlen(name)) != strlen(name))
        return HD_FAIL(err, USER, NULL, "the name of a table is UTF-8 text and not empty");
    return 0;
}

static int check_arguments(const char *name, int facts, struct hd_err *err)
{
    HD_TRY(api_table_name_check(name, err));
    if (facts != HEDDLE_FACTS_LAZY && facts != HEDDLE_FACTS_NOW && facts != HEDDLE_FACTS_NEVER)
        return HD_FAIL(err, USER, name, "facts: expected one of HEDDLE_FACTS_*, found %d", facts);
    return 0;
}

/* What comes with the table before anybody knows it. */
static int complete(heddle_database *db, struct api_table *t, int facts, const char *keys, struct hd_err *err)
{
    if (facts == HEDDLE_FACTS_LAZY && !(t->facts = api_facts_new(t->table->ncols)))
        return HD_FAIL(err, RESOURCE, t->table->name, "out of memory");
    if (!keys)
        return 0;
    struct api_snapshot *now = api_database_snapshot(db);
    int rc = api_keys_declare(db->context, now, t, keys, err);
    api_snapshot_release(now);
    return rc;
}

int api_database_register(heddle_database *db, const char *name, struct ArrowArrayStream *stream, int facts,
                          const char *keys, bool replace, struct hd_err *err)
{
    struct rt_memtable *mem;
    if (check_arguments(name, facts, err) != 0) {
        release(stream);
        return -1;
    }
    HD_TRY(rt_memtable_new(name, stream, facts == HEDDLE_FACTS_NOW, db->context->threads, &mem, err));
    struct api_table *t = api_table_new(rt_memtable_table(mem), mem);
    if (!t) {
        rt_memtable_free(mem);
        return HD_FAIL(err, RESOURCE, name, "out of memory");
    }
    int rc = complete(db, t, facts, keys, err);
    if (rc == 0)
        rc = api_database_publish(db, t, replace, err);
    if (rc != 0)
        api_table_release(t);
    return rc;
}

/* A missing argument: the stream is consumed all the same. */
static bool any_missing(heddle_database *db, const char *table, struct ArrowArrayStream *stream)
{
    bool missing = !db || !table;
    if (missing && stream)
        release(stream);
    return missing || !stream;
}

int heddle_database_register(heddle_database *db, const char *table, struct ArrowArrayStream *stream, int facts,
                             heddle_error **err)
{
    struct hd_err e;
    if (any_missing(db, table, stream)) {
        API_NEED(stream, err);
        API_NEED(db, err);
        API_NEED(table, err);
    }
    hd_err_init(&e);
    return api_finish(api_database_register(db, table, stream, facts, NULL, false, &e), &e, err);
}

int heddle_database_register_with_keys(heddle_database *db, const char *table, struct ArrowArrayStream *stream,
                                       int facts, const char *keys, int replace, heddle_error **err)
{
    struct hd_err e;
    if (any_missing(db, table, stream)) {
        API_NEED(stream, err);
        API_NEED(db, err);
        API_NEED(table, err);
    }
    hd_err_init(&e);
    return api_finish(api_database_register(db, table, stream, facts, keys, replace != 0, &e), &e, err);
}

int heddle_database_replace(heddle_database *db, const char *table, struct ArrowArrayStream *stream, int facts,
                            heddle_error **err)
{
    struct hd_err e;
    if (any_missing(db, table, stream)) {
        API_NEED(stream, err);
        API_NEED(db, err);
        API_NEED(table, err);
    }
    hd_err_init(&e);
    return api_finish(api_database_register(db, table, stream, facts, NULL, true, &e), &e, err);
}

static int drop_table(heddle_database *db, const char *name, struct hd_err *err)
{
    pthread_mutex_lock(&db->mutex);
    struct api_snapshot *old = db->now, *new = NULL;
    int i = api_snapshot_find(old, name);
    if (i < 0)
        HD_FAIL(err, USER, name, "no such table");
    else if (!old->owners[i]->mem)
        HD_FAIL(err, USER, name, "stored tables cannot be dropped");
    else if (!(new = api_snapshot_copy(db, i)))
        HD_FAIL(err, RESOURCE, name, "out of memory");
    else
        db->now = new;
    pthread_mutex_unlock(&db->mutex);
    if (!new)
        return -1;
    api_backends_forget(db->context, old->cat.tables[i]);
    api_snapshot_release(old);
    return 0;
}

int heddle_database_drop(heddle_database *db, const char *table, heddle_error **err)
{
    struct hd_err e;
    API_NEED(db, err);
    API_NEED(table, err);
    hd_err_init(&e);
    return api_finish(drop_table(db, table, &e), &e, err);
}
