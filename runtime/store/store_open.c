/* Opening a database: sizes are checked, files mapped, checksums left for the first use. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/fault.h"
#include "runtime/store/store_open.h"
#include "runtime/store/store_catalog.h"
#include "runtime/store/store_sum.h"

int rt_store_read_catalog(const char *dir, char **text, struct hd_err *err)
{
    return rt_catalog_load(dir, text, err);
}

/* ---- mapping ------------------------------------------------------------------------------ */

static int map_one(struct rt_store *s, int file, struct hd_err *err)
{
    char path[RT_PATH_MAX];
    struct stat st;
    const struct fe_file *f = &s->doc->files[file];
    HD_TRY(rt_path_join(path, s->dir, f->name, err));
    if (stat(path, &st) != 0 && errno == ENOENT)
        return HD_FAIL(err, CORRUPT, path, "file is missing");
    HD_TRY(rt_file_map(path, &s->maps[file], err));
    if (s->maps[file].n != f->size)
        return HD_FAIL(err, CORRUPT, path, "file has %llu bytes, the catalog says %llu",
                       (unsigned long long)s->maps[file].n, (unsigned long long)f->size);
    return 0;
}

static const void *address(const struct rt_store *s, int file)
{
    return file < 0 ? NULL : s->maps[file].p;
}

static void place_column(const struct rt_store *s, struct fe_table_column *c,
                         const struct fe_column_files *f)
{
    c->at.data = address(s, f->data);
    c->at.validity = address(s, f->validity);
    c->at.text_base = address(s, f->text_base);
    c->at.text_bytes = address(s, f->text_bytes);
    if (f->text_bytes >= 0)
        c->at.text_size = s->maps[f->text_bytes].n;
    c->dict.offsets = address(s, f->dict_offsets);
    c->dict.bytes = address(s, f->dict_bytes);
}

static void place_table(struct rt_store *s, int t)
{
    struct fe_table *x = s->doc->cat.tables[t];
    for (int c = 0; c < x->ncols; c++)
        place_column(s, &x->cols[c], &s->doc->column_files[t][c]);
    for (int k = 0; k < x->nkeyidx; k++)
        x->keyidx[k].rows = address(s, s->doc->keyidx_files[t][k]);
    for (int k = 0; k < x->nfks; k++) {
        x->fks[k].offsets = address(s, s->doc->fk_files[t][k].offsets);
        x->fks[k].child_rows = address(s, s->doc->fk_files[t][k].child_rows);
    }
    s->tables[t] = (struct rt_store_table){s, t};
    x->store = &s->tables[t];
    x->id = rt_table_next_id();
}

uint64_t rt_table_next_id(void)
{
    static _Atomic uint64_t last;
    return ++last;
}

static int map_all(struct rt_store *s, struct hd_err *err)
{
    for (int k = 0; k < s->doc->nfiles; k++)
        HD_TRY(map_one(s, k, err));
    for (int t = 0; t < s->doc->cat.ntables; t++)
        place_table(s, t);
    return 0;
}

int rt_store_open(const char *dir, struct fe_catalog_doc *doc, bool trust,
                  struct rt_store **out, struct hd_err *err)
{
    struct rt_store *s = hd_try_calloc(1, sizeof *s);
    size_t n = (size_t)doc->nfiles;
    if (s) {
        s->doc = doc;
        s->trust = trust;
        s->maps = hd_try_calloc(n, sizeof *s->maps);
        s->verified = hd_try_calloc(n, sizeof *s->verified);
        s->tables = hd_try_calloc((size_t)doc->cat.ntables, sizeof *s->tables);
        s->dir = hd_fault(HD_FAULT_ALLOC) ? NULL : strdup(dir);
    }
    int rc = -1;
    if (!s || !s->maps || !s->verified || !s->tables || !s->dir)
        HD_FAIL(err, RESOURCE, dir, "out of memory");
    else
        rc = map_all(s, err);
    if (rc == 0)
        *out = s;
    else
        rt_store_close(s);
    return rc;
}

void rt_store_close(struct rt_store *s)
{
    if (!s)
        return;
    for (int k = 0; s->maps && k < s->doc->nfiles; k++)
        rt_map_release(&s->maps[k]);
    for (int t = 0; t < s->doc->cat.ntables; t++)
        s->doc->cat.tables[t]->store = NULL;
    free(s->maps);
    free(s->verified);
    free(s->tables);
    free(s->dir);
    free(s);
}

/* ---- first use ---------------------------------------------------------------------------- */

static int verify_file(struct rt_store *s, int file, struct hd_err *err)
{
    char found[RT_SUM_TEXT], path[RT_PATH_MAX];
    const struct fe_file *f = &s->doc->files[file];
    rt_sum(s->maps[file].p, s->maps[file].n, found);
    if (strcmp(found, f->checksum) == 0)
        return 0;
    HD_TRY(rt_path_join(path, s->dir, f->name, err));
    return HD_FAIL(err, CORRUPT, path, "checksum is %s, the catalog says %s", found,
                   f->checksum);
}

/* Only what passed is remembered: a damaged file is reported to everyone who wants it. Two
 * threads may verify the same file at once, which costs time only. */
static int verify_once(struct rt_store *s, int file, struct hd_err *err)
{
    if (file < 0 || atomic_load_explicit(&s->verified[file], memory_order_acquire))
        return 0;
    HD_TRY(verify_file(s, file, err));
    atomic_store_explicit(&s->verified[file], true, memory_order_release);
    return 0;
}

static int touch_column(struct rt_store *s, const struct fe_column_files *f,
                        struct hd_err *err)
{
    HD_TRY(verify_once(s, f->data, err));
    HD_TRY(verify_once(s, f->validity, err));
    HD_TRY(verify_once(s, f->text_base, err));
    HD_TRY(verify_once(s, f->text_bytes, err));
    HD_TRY(verify_once(s, f->dict_offsets, err));
    return verify_once(s, f->dict_bytes, err);
}

int rt_store_touch(const struct fe_table *table, int column, struct hd_err *err)
{
    const struct rt_store_table *x = table->store;
    if (!x || x->store->trust)
        return 0;
    struct rt_store *s = x->store;
    if (column >= 0)
        return touch_column(s, &s->doc->column_files[x->number][column], err);
    if (column > RT_TOUCH_FK)
        return verify_once(s, s->doc->keyidx_files[x->number][RT_TOUCH_KEYIDX - column], err);
    const struct fe_fk_files *f = &s->doc->fk_files[x->number][RT_TOUCH_FK - column];
    HD_TRY(verify_once(s, f->offsets, err));
    return verify_once(s, f->child_rows, err);
}
