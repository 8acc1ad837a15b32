/* Opening a database: sizes are checked, files mapped; what they hold is verified at first use. */
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

static bool has_file(const char *dir, const char *name)
{
    char path[RT_PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && n < (int)sizeof path && stat(path, &st) == 0;
}

bool rt_store_has_catalog(const char *dir)
{
    return has_file(dir, "catalog.json");
}

bool rt_store_has_files(const char *dir, const struct fe_catalog_doc *doc)
{
    return doc->nfiles == 0 || has_file(dir, doc->files[0].name);
}

/* ---- mapping ------------------------------------------------------------------------------ */

static int map_one(struct rt_store *s, int file, struct hd_err *err)
{
    char path[RT_PATH_MAX];
    struct stat st;
    const struct fe_file *f = &s->doc->files[file];
    HD_TRY(rt_path_join(path, s->dir, f->name, err));
    if (stat(path, &st) != 0 && errno == ENOENT)
        return s->mode.partial ? 0 : HD_FAIL(err, CORRUPT, path, "file is missing");
    HD_TRY((s->mode.copy ? rt_file_reserve : rt_file_map)(path, &s->maps[file], err));
    if (s->maps[file].n != f->size)
        return HD_FAIL(err, CORRUPT, path, "file has %llu bytes, the catalog says %llu",
                       (unsigned long long)s->maps[file].n, (unsigned long long)f->size);
    return 0;
}

static const void *address(const struct rt_store *s, int file)
{
    return file < 0 ? NULL : s->maps[file].p;
}

static void place_column(const struct rt_store *s, struct fe_table_column *c, const struct fe_column_files *f)
{
    c->at.data = address(s, f->data);
    c->at.validity = address(s, f->validity);
    c->at.text_base = address(s, f->text_base);
    c->at.text_bytes = address(s, f->text_bytes);
    if (f->text_bytes >= 0)
        c->at.text_size = s->maps[f->text_bytes].n;
    c->dict.offsets = address(s, f->dict_offsets);
    c->dict.bytes = address(s, f->dict_bytes);
    c->zones = address(s, f->zones);
}

/* Says what a file holds. other: the file that it points into, -1 none. */
static void describe(struct rt_store *s, int file, enum rt_part_kind kind, int table, int number, int other)
{
    if (file >= 0)
        s->parts[file] = (struct rt_part){
            .kind = kind,
            .table = s->doc->stored.tables[table],
            .number = number,
            .size = s->doc->files[file].size,
            .other_size = other < 0 ? 0 : s->doc->files[other].size,
        };
}

static void describe_table(struct rt_store *s, int t)
{
    static const enum rt_part_kind data[] = {
        [FE_STORE_INT] = RT_PART_VALUES,  [FE_STORE_F64] = RT_PART_FREE,  [FE_STORE_F32] = RT_PART_FREE,
        [FE_STORE_DICT] = RT_PART_VALUES, [FE_STORE_TEXT] = RT_PART_ENDS,
    };
    const struct fe_table *x = s->doc->stored.tables[t];
    for (int c = 0; c < x->ncols; c++) {
        const struct fe_column_files *f = &s->doc->column_files[t][c];
        describe(s, f->data, data[x->cols[c].storage], t, c, f->text_bytes);
        describe(s, f->validity, RT_PART_VALID, t, c, -1);
        describe(s, f->dict_offsets, RT_PART_DICT, t, c, f->dict_bytes);
        describe(s, f->zones, RT_PART_FREE, t, c, -1);
    }
    for (int k = 0; k < x->nkeyidx; k++)
        describe(s, s->doc->keyidx_files[t][k], x->keyidx[k].kind == FE_INDEX_BITMAP ? RT_PART_RANKS : RT_PART_KEY, t,
                 k, -1);
    for (int k = 0; k < x->nfks; k++) {
        const struct fe_fk_files *f = &s->doc->fk_files[t][k];
        describe(s, f->offsets, RT_PART_OFFSETS, t, k, f->child_rows);
        describe(s, f->child_rows, RT_PART_CHILDREN, t, k, -1);
    }
}

static void place_table(struct rt_store *s, int t)
{
    struct fe_table *x = s->doc->stored.tables[t];
    for (int c = 0; c < x->ncols; c++)
        place_column(s, &x->cols[c], &s->doc->column_files[t][c]);
    for (int k = 0; k < x->nkeyidx; k++)
        fe_key_index_place(&x->keyidx[k], address(s, s->doc->keyidx_files[t][k]));
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
    for (int t = 0; t < s->doc->stored.ntables; t++) {
        place_table(s, t);
        describe_table(s, t);
    }
    return 0;
}

static struct rt_store *new_store(const char *dir, struct fe_catalog_doc *doc)
{
    struct rt_store *s = hd_try_calloc(1, sizeof *s);
    size_t n = (size_t)doc->nfiles;
    if (!s)
        return NULL;
    s->doc = doc;
    for (int i = 0; i < RT_LOAD_LOCKS; i++)
        pthread_mutex_init(&s->load[i], NULL);
    s->maps = hd_try_calloc(n, sizeof *s->maps);
    s->parts = hd_try_calloc(n, sizeof *s->parts);
    s->loaded = hd_try_calloc(n, sizeof *s->loaded);
    s->ready = hd_try_calloc(n, sizeof *s->ready);
    s->tables = hd_try_calloc((size_t)doc->stored.ntables, sizeof *s->tables);
    s->dir = hd_fault(HD_FAULT_ALLOC) ? NULL : strdup(dir);
    if (s->maps && s->parts && s->loaded && s->ready && s->tables && s->dir)
        return s;
    rt_store_close(s);
    return NULL;
}

int rt_store_open(const char *dir, struct fe_catalog_doc *doc, struct rt_open_mode mode, struct rt_store **out,
                  struct hd_err *err)
{
    struct rt_store *s = new_store(dir, doc);
    if (!s)
        return HD_FAIL(err, RESOURCE, dir, "out of memory");
    s->mode = mode;
    if (map_all(s, err) != 0) {
        rt_store_close(s);
        return -1;
    }
    *out = s;
    return 0;
}

void rt_store_close(struct rt_store *s)
{
    if (!s)
        return;
    for (int k = 0; s->maps && k < s->doc->nfiles; k++)
        rt_map_release(&s->maps[k]);
    for (int t = 0; t < s->doc->stored.ntables; t++)
        s->doc->stored.tables[t]->store = NULL;
    for (int i = 0; i < RT_LOAD_LOCKS; i++)
        pthread_mutex_destroy(&s->load[i]);
    free(s->maps);
    free(s->parts);
    free(s->loaded);
    free(s->ready);
    free(s->tables);
    free(s->dir);
    free(s);
}

/* ---- first use ---------------------------------------------------------------------------- */

int rt_store_load(struct rt_store *s, int file, struct hd_err *err)
{
    char path[RT_PATH_MAX];
    pthread_mutex_t *lock = &s->load[file % RT_LOAD_LOCKS];
    HD_TRY(rt_path_join(path, s->dir, s->doc->files[file].name, err));
    pthread_mutex_lock(lock);
    int rc = s->loaded[file] ? 0 : rt_file_load(path, &s->maps[file], err);
    s->loaded[file] = rc == 0;
    pthread_mutex_unlock(lock);
    return rc;
}

struct look {
    struct rt_part part;
    const void *p;
    const char *wrong; /* the first */
};

static void look_at(void *ctx, uint64_t from, uint64_t to)
{
    struct look *l = ctx;
    if (!l->wrong)
        l->wrong = rt_part_check(&l->part, l->p, from, to);
}

static int verify_file(struct rt_store *s, int file, struct hd_err *err)
{
    char found[RT_SUM_TEXT], path[RT_PATH_MAX];
    const struct fe_file *f = &s->doc->files[file];
    struct look l = {.part = s->parts[file], .p = s->maps[file].p};
    rt_sum_looking(l.p, s->maps[file].n, l.part.kind == RT_PART_FREE ? NULL : look_at, &l, found);
    bool same = strcmp(found, f->checksum) == 0;
    if (same && !l.wrong)
        return 0;
    HD_TRY(rt_path_join(path, s->dir, f->name, err));
    if (same)
        return HD_FAIL(err, CORRUPT, path, "%s", l.wrong);
    return HD_FAIL(err, CORRUPT, path, "checksum is %s, the catalog says %s", found, f->checksum);
}

/* Only what passed is remembered: a damaged file is reported to everyone who wants it. Two
 * threads may verify the same file at once, which costs time only. */
static bool is_ready(const struct rt_store *s, int file)
{
    return file < 0 || atomic_load_explicit(&s->ready[file], memory_order_acquire);
}

static int fail_missing(const struct rt_store *s, int file, struct hd_err *err)
{
    char path[RT_PATH_MAX];
    HD_TRY(rt_path_join(path, s->dir, s->doc->files[file].name, err));
    return HD_FAIL(err, IO, path, "the file is in no partition that is here");
}

static int use_file(struct rt_store *s, int file, struct hd_err *err)
{
    if (is_ready(s, file))
        return 0;
    if (!s->maps[file].p && s->doc->files[file].size)
        return fail_missing(s, file, err);
    if (s->mode.copy)
        HD_TRY(rt_store_load(s, file, err));
    if (!s->mode.trust)
        HD_TRY(verify_file(s, file, err));
    atomic_store_explicit(&s->ready[file], true, memory_order_release);
    return 0;
}

static int use_dict(struct rt_store *s, const struct fe_column_files *f, struct hd_err *err)
{
    HD_TRY(use_file(s, f->dict_bytes, err));
    return use_file(s, f->dict_offsets, err);
}

/* What others are checked against goes first. */
static int use_column(struct rt_store *s, const struct fe_column_files *f, struct hd_err *err)
{
    HD_TRY(use_file(s, f->validity, err));
    HD_TRY(use_file(s, f->text_base, err));
    HD_TRY(use_file(s, f->text_bytes, err));
    HD_TRY(use_dict(s, f, err));
    return use_file(s, f->data, err);
}

/* The store to use, NULL where there is nothing to do. */
static struct rt_store *store_of(const struct rt_store_table *x)
{
    if (!x)
        return NULL;
    struct rt_open_mode mode = x->store->mode;
    return !mode.trust || mode.copy || mode.partial ? x->store : NULL;
}

static int use_fk(struct rt_store *s, const struct fe_fk_files *f, struct hd_err *err)
{
    HD_TRY(use_file(s, f->offsets, err));
    return use_file(s, f->child_rows, err);
}

int rt_store_touch(struct fe_table_part part, struct hd_err *err)
{
    const struct rt_store_table *x = part.table->store;
    struct rt_store *s = store_of(x);
    if (!s)
        return 0;
    switch (part.kind) {
    case FE_PART_COLUMN: return use_column(s, &s->doc->column_files[x->number][part.number], err);
    case FE_PART_ZONES: return use_file(s, s->doc->column_files[x->number][part.number].zones, err);
    case FE_PART_KEYIDX: return use_file(s, s->doc->keyidx_files[x->number][part.number], err);
    case FE_PART_FK: return use_fk(s, &s->doc->fk_files[x->number][part.number], err);
    }
    HD_BUG("part %d of a table", (int)part.kind);
}

bool rt_store_is_touched(struct fe_table_part part)
{
    const struct rt_store_table *x = part.table->store;
    const struct rt_store *s = store_of(x);
    const struct fe_column_files *f;
    if (!s)
        return true;
    switch (part.kind) {
    case FE_PART_COLUMN:
        f = &s->doc->column_files[x->number][part.number];
        return is_ready(s, f->validity) && is_ready(s, f->text_base) && is_ready(s, f->text_bytes) &&
               is_ready(s, f->dict_bytes) && is_ready(s, f->dict_offsets) && is_ready(s, f->data);
    case FE_PART_ZONES: return is_ready(s, s->doc->column_files[x->number][part.number].zones);
    case FE_PART_KEYIDX: return is_ready(s, s->doc->keyidx_files[x->number][part.number]);
    case FE_PART_FK:
        return is_ready(s, s->doc->fk_files[x->number][part.number].offsets) &&
               is_ready(s, s->doc->fk_files[x->number][part.number].child_rows);
    }
    HD_BUG("part %d of a table", (int)part.kind);
}

int rt_store_touch_dict(const struct fe_table *table, int column, struct hd_err *err)
{
    const struct rt_store_table *x = table->store;
    struct rt_store *s = store_of(x);
    return s ? use_dict(s, &s->doc->column_files[x->number][column], err) : 0;
}
