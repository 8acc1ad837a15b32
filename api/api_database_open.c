/* The catalog of a database's directory, or of its partitions. */
#include <stdlib.h>

#include "api/api_internal.h"
#include "runtime/base/strbuf.h"
#include "runtime/store/store.h"

static int read_catalog(struct hd_arena *a, const char *path, struct fe_catalog_doc **doc, struct hd_err *err)
{
    char *text;
    int rc;
    HD_TRY(rt_store_read_catalog(path, &text, err));
    HD_GUARDED(rc, NULL, err, fe_catalog_read(a, text, path, doc, err));
    free(text);
    return rc;
}

/* ---- partitions --------------------------------------------------------------------------------- */

struct partitions {
    struct hd_arena *a;
    const char *path;
    bool partial;
    int n;
    struct fe_catalog_doc **docs;
};

static const char *folder(const struct partitions *p, int k)
{
    return hd_asprintf(p->a, "%s/%s", p->path, fe_partition_name(p->a, k));
}

/* The first one that is there. -1: none. */
static int find_first(const struct partitions *p)
{
    for (int k = 0; k < FE_MAX_SEGMENTS; k++)
        if (rt_store_has_catalog(folder(p, k)))
            return k;
    return -1;
}

static const char *missing(const struct partitions *p)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    for (int k = 0; k < p->n; k++)
        if (!rt_store_has_catalog(folder(p, k)))
            hd_strbuf_addf(&b, "%s%d", b.n ? ", " : "", k);
    const char *text = b.n ? hd_strdup(p->a, b.s) : NULL;
    hd_strbuf_release(&b);
    return text;
}

/* Tables that are not divided are read of the first partition that has files. */
static int find_home(const struct partitions *p)
{
    for (int k = 0; k < p->n && p->partial; k++)
        if (rt_store_has_files(folder(p, k), p->docs[k]))
            return k;
    return 0;
}

static int join(struct partitions *p, int first, struct fe_catalog_doc **out, struct hd_err *err)
{
    struct fe_catalog_doc *doc;
    HD_TRY(read_catalog(p->a, folder(p, first), &doc, err));
    if (!doc->partition.of)
        return HD_FAIL(err, CORRUPT, folder(p, first), "the database is no partition of another");
    p->n = doc->partition.of;
    p->docs = HD_NEWN(p->a, struct fe_catalog_doc *, p->n);
    const char *not_here = missing(p);
    if (not_here)
        return HD_FAIL(err, IO, p->path, "of %d partitions these are not here: %s", p->n, not_here);
    for (int k = 0; k < p->n; k++)
        HD_TRY(read_catalog(p->a, folder(p, k), &p->docs[k], err));
    return fe_catalog_join(p->a, p->path, p->docs, p->n, find_home(p), out, err);
}

static int read_partitions(struct partitions *p, struct fe_catalog_doc **out, struct hd_err *err)
{
    int first = rt_store_has_catalog(p->path) ? -1 : find_first(p);
    return first < 0 ? read_catalog(p->a, p->path, out, err) : join(p, first, out, err);
}

/* ---- open --------------------------------------------------------------------------------------- */

int api_database_read(heddle_database *db, const char *path, int flags, struct hd_err *err)
{
    struct partitions p = {.a = &db->arena, .path = path, .partial = flags & HEDDLE_OPEN_PARTIAL};
    struct rt_open_mode mode = {.trust = flags & HEDDLE_OPEN_TRUST, .copy = db->context->no_mmap, .partial = p.partial};
    int rc;
    if (flags & ~(HEDDLE_OPEN_TRUST | HEDDLE_OPEN_PARTIAL))
        return HD_FAIL(err, USER, path, "flags: %d is none of HEDDLE_OPEN_*", flags);
    HD_GUARDED(rc, NULL, err, read_partitions(&p, &db->doc, err));
    return rc ? -1 : rt_store_open(path, db->doc, mode, &db->store, err);
}
