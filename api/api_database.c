#include <stdlib.h>
#include <string.h>

#include "api/api_backend.h"
#include "api/api_facts.h"
#include "api/api_internal.h"
#include "api/api_keys.h"
#include "runtime/io/arrow_table.h"
#include "runtime/store/store.h"

/* ---- snapshots ------------------------------------------------------------------------------ */

void api_table_release(struct api_table *t)
{
    if (atomic_fetch_sub(&t->refs, 1) > 1)
        return;
    rt_memtable_free(t->mem);
    api_keys_free(t->keys);
    api_facts_free(t->facts);
    hd_arena_release(&t->arena);
    if (t->of)
        api_table_release(t->of);
    free(t);
}

void api_snapshot_release(struct api_snapshot *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    for (int i = 0; i < s->cat.ntables; i++)
        api_table_release(s->owners[i]);
    free(s->owners);
    free(s->cat.tables);
    free(s);
}

static struct api_snapshot *new_snapshot(int capacity)
{
    struct api_snapshot *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    atomic_init(&s->refs, 1);
    s->cat.tables = calloc((size_t)capacity + 1, sizeof *s->cat.tables);
    s->owners = calloc((size_t)capacity + 1, sizeof *s->owners);
    if (s->cat.tables && s->owners)
        return s;
    api_snapshot_release(s);
    return NULL;
}

void api_snapshot_add(struct api_snapshot *s, struct api_table *t)
{
    s->cat.tables[s->cat.ntables] = t->table;
    s->owners[s->cat.ntables++] = t;
}

struct api_table *api_table_new(struct fe_table *table, struct rt_memtable *mem)
{
    struct api_table *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    atomic_init(&t->refs, 1);
    hd_arena_init(&t->arena);
    t->table = table;
    t->mem = mem;
    return t;
}

struct api_snapshot *api_database_snapshot(heddle_database *db)
{
    pthread_mutex_lock(&db->mutex);
    struct api_snapshot *s = db->now;
    atomic_fetch_add(&s->refs, 1);
    pthread_mutex_unlock(&db->mutex);
    return s;
}

struct api_snapshot *api_snapshot_copy(const heddle_database *db, int without)
{
    const struct api_snapshot *from = db->now;
    struct api_snapshot *to = new_snapshot(from->cat.ntables + 1);
    for (int i = 0; to && i < from->cat.ntables; i++) {
        if (i == without)
            continue;
        atomic_fetch_add(&from->owners[i]->refs, 1);
        api_snapshot_add(to, from->owners[i]);
    }
    return to;
}

struct api_snapshot *api_snapshot_with(const struct api_snapshot *from, struct api_table *const *more, int n)
{
    struct api_snapshot *to = new_snapshot(from->cat.ntables + n);
    for (int i = 0; to && i < from->cat.ntables + n; i++) {
        struct api_table *t = i < from->cat.ntables ? from->owners[i] : more[i - from->cat.ntables];
        atomic_fetch_add(&t->refs, 1);
        api_snapshot_add(to, t);
    }
    return to;
}

struct api_snapshot *api_snapshot_segment(const struct api_snapshot *from, int segment)
{
    struct api_snapshot *to = new_snapshot(from->cat.ntables);
    for (int i = 0; to && i < from->cat.ntables; i++) {
        struct fe_table *whole = from->cat.tables[i];
        struct api_table *t = from->owners[i];
        if (segment < whole->nsegments)
            t = api_table_new(whole->segments[segment], NULL);
        else
            atomic_fetch_add(&t->refs, 1);
        if (!t) {
            api_snapshot_release(to);
            return NULL;
        }
        api_snapshot_add(to, t);
    }
    return to;
}

int api_snapshot_find(const struct api_snapshot *s, const char *name)
{
    for (int i = 0; i < s->cat.ntables; i++)
        if (strcmp(s->cat.tables[i]->name, name) == 0)
            return i;
    return -1;
}

/* ---- open and close ------------------------------------------------------------------------- */

static int first_snapshot(heddle_database *db, struct hd_err *err)
{
    int n = db->doc ? db->doc->cat.ntables : 0;
    db->now = new_snapshot(n);
    for (int i = 0; db->now && i < n; i++) {
        struct api_table *t = api_table_new(db->doc->cat.tables[i], NULL);
        if (!t)
            return HD_FAIL(err, RESOURCE, NULL, "out of memory");
        api_snapshot_add(db->now, t);
    }
    return db->now ? 0 : HD_FAIL(err, RESOURCE, NULL, "out of memory");
}

int api_database_open(heddle_context *c, const char *path, int flags, heddle_database **out, struct hd_err *err)
{
    heddle_database *db = calloc(1, sizeof *db);
    if (!db)
        return HD_FAIL(err, RESOURCE, path, "out of memory");
    db->context = c;
    hd_arena_init(&db->arena);
    pthread_mutex_init(&db->mutex, NULL);
    int rc = path ? api_database_read(db, path, flags, err) : 0;
    if (rc == 0)
        rc = first_snapshot(db, err);
    if (rc == 0)
        *out = db;
    else
        heddle_database_free(db);
    return rc;
}

int heddle_database_open(heddle_context *c, const char *path, int flags, heddle_database **out, heddle_error **err)
{
    struct hd_err e;
    API_NEED(c, err);
    API_NEED(out, err);
    hd_err_init(&e);
    struct api_engine *engine;
    int rc = api_engine_get(c, &engine, &e); /* it gets LLVM warm while the catalog is read */
    if (rc == 0)
        rc = api_database_open(c, path, flags, out, &e);
    return api_finish(rc, &e, err);
}

void heddle_database_free(heddle_database *db)
{
    if (!db)
        return;
    api_engine_leave(db->context, db);
    for (int i = 0; db->now && i < db->now->cat.ntables; i++)
        api_backends_forget(db->context, db->now->cat.tables[i]);
    for (int i = 0; db->doc && i < db->doc->stored.ntables; i++)
        api_backends_forget(db->context, db->doc->stored.tables[i]);
    api_snapshot_release(db->now);
    rt_store_close(db->store);
    pthread_mutex_destroy(&db->mutex);
    hd_arena_release(&db->arena);
    free(db);
}

/* ---- catalog text --------------------------------------------------------------------------- */

/* The stored tables' files and the registered tables without any, with the facts that are known by now. */
static int catalog_text(struct hd_arena *a, const heddle_database *db, const struct api_snapshot *s, char **text)
{
    int tables = db->doc ? db->doc->cat.ntables : 0, stored = db->doc ? db->doc->stored.ntables : 0;
    int n = stored + s->cat.ntables - tables; /* stored tables come first and cannot be dropped */
    struct fe_catalog_doc doc = {.cat = s->cat};
    doc.column_files = HD_NEWN(a, struct fe_column_files *, n);
    doc.keyidx_files = HD_NEWN(a, int *, n);
    doc.fk_files = HD_NEWN(a, struct fe_fk_files *, n);
    if (db->doc) {
        doc.nfiles = db->doc->nfiles;
        doc.files = db->doc->files;
    }
    for (int i = 0; i < n; i++) {
        if (i < stored) {
            doc.column_files[i] = db->doc->column_files[i];
            doc.keyidx_files[i] = db->doc->keyidx_files[i];
            doc.fk_files[i] = db->doc->fk_files[i];
            continue;
        }
        size_t size = (size_t)s->cat.tables[i - stored + tables]->ncols * sizeof **doc.column_files;
        doc.column_files[i] = hd_alloc(a, size);
        memset(doc.column_files[i], -1, size); /* no file */
    }
    *text = fe_catalog_write(&doc, true);
    return 0;
}

int heddle_database_catalog(heddle_database *db, char **json, heddle_error **err)
{
    struct hd_err e;
    struct hd_arena a;
    API_NEED(db, err);
    API_NEED(json, err);
    int rc;
    struct api_snapshot *s = api_database_snapshot(db), *views = NULL;
    hd_err_init(&e);
    hd_arena_init(&a);
    rc = api_facts_views(s, NULL, &views, &e);
    if (rc == 0)
        HD_GUARDED(rc, NULL, &e, catalog_text(&a, db, views, json));
    hd_arena_release(&a);
    api_snapshot_release(views);
    api_snapshot_release(s);
    return api_finish(rc, &e, err);
}
