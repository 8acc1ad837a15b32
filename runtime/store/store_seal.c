#include "runtime/store/store_seal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/segments.h"
#include "runtime/base/fault.h"
#include "runtime/store/store_derive.h"
#include "runtime/store/store_segments.h"
#include "runtime/store/store_sum.h"

/* ---- the doc: what the schema says, in the shape of the catalog --------------------------- */

static void copy_columns(struct hd_arena *a, const struct fe_table *from, struct fe_table *to)
{
    to->cols = HD_NEWN(a, struct fe_table_column, from->ncols);
    for (int c = 0; c < from->ncols; c++) {
        to->cols[c].name = hd_strdup(a, from->cols[c].name);
        to->cols[c].type = from->cols[c].type;
        to->cols[c].nullable = from->cols[c].nullable;
        to->cols[c].pack = from->cols[c].pack;
    }
    to->ncols = from->ncols;
    to->npk = from->npk;
    to->pk = hd_dup(a, from->pk, (size_t)from->npk * sizeof *from->pk);
}

static struct fe_table *same_table(const struct fe_catalog *cat, const char *name)
{
    for (int t = 0; t < cat->ntables; t++)
        if (strcmp(cat->tables[t]->name, name) == 0)
            return cat->tables[t];
    HD_BUG("foreign key to unknown table %s", name);
}

static void copy_foreign_keys(struct hd_arena *a, const struct fe_catalog *cat, const struct fe_table *from,
                              struct fe_table *to)
{
    to->nfks = from->nfks;
    to->fks = HD_NEWN(a, struct fe_foreign_key, from->nfks);
    for (int k = 0; k < from->nfks; k++) {
        const struct fe_foreign_key *f = &from->fks[k];
        size_t n = (size_t)f->n_columns * sizeof(int);
        to->fks[k] = (struct fe_foreign_key){
            .n_columns = f->n_columns,
            .columns = hd_dup(a, f->columns, n),
            .parent_columns = hd_dup(a, f->parent_columns, n),
        };
        to->fks[k].parent = fe_segment_parent(to, &to->fks[k], same_table(cat, f->parent->name));
    }
}

static void add_stored(struct hd_arena *a, struct fe_catalog_doc *doc, const struct wr_table *from,
                       const struct wr_whole *whole)
{
    int t = doc->stored.ntables++;
    const struct fe_table *decl = &whole->decl->table;
    struct fe_table *to = doc->stored.tables[t] = HD_NEW(a, struct fe_table);
    to->name = hd_strdup(a, decl->name);
    to->rows = from->ranges.n ? from->ranges.v[0].to : 0;
    to->first_row = from->first_row;
    to->cut = whole->cut;
    to->divided = decl->divided;
    copy_columns(a, decl, to);
    doc->column_files[t] = HD_NEWN(a, struct fe_column_files, to->ncols);
    doc->keyidx_files[t] = HD_NEWN(a, int, to->ncols); /* at most one a column */
    doc->fk_files[t] = HD_NEWN(a, struct fe_fk_files, decl->nfks);
    memset(doc->column_files[t], -1, (size_t)to->ncols * sizeof **doc->column_files);
    memset(doc->keyidx_files[t], -1, (size_t)to->ncols * sizeof **doc->keyidx_files);
    memset(doc->fk_files[t], -1, (size_t)decl->nfks * sizeof **doc->fk_files);
}

/* The table whose segments are the last n that are stored. */
static struct fe_table *join_stored(struct hd_arena *a, struct fe_catalog_doc *doc, const struct wr_whole *whole)
{
    struct fe_table *t = HD_NEW(a, struct fe_table);
    int n = t->nsegments = whole->nsegments;
    t->cut = whole->cut;
    t->segments = hd_dup(a, doc->stored.tables + doc->stored.ntables - n, (size_t)n * sizeof *t->segments);
    t->name = t->segments[0]->name;
    for (int k = 0; k < n; k++) {
        t->rows += t->segments[k]->rows;
        t->segments[k]->whole = t;
    }
    copy_columns(a, &whole->decl->table, t);
    return t;
}

static struct fe_catalog_doc *new_doc(struct rt_writer *w)
{
    struct hd_arena *a = &w->arena;
    struct fe_catalog_doc *doc = HD_NEW(a, struct fe_catalog_doc);
    struct fe_catalog *cat = &doc->cat;
    doc->partition = w->schema->partition;
    cat->ntables = w->nwholes;
    cat->tables = HD_NEWN(a, struct fe_table *, w->nwholes);
    doc->stored.tables = HD_NEWN(a, struct fe_table *, w->ntables);
    doc->column_files = HD_NEWN(a, struct fe_column_files *, w->ntables);
    doc->keyidx_files = HD_NEWN(a, int *, w->ntables);
    doc->fk_files = HD_NEWN(a, struct fe_fk_files *, w->ntables);
    for (int t = 0; t < w->nwholes; t++) {
        const struct wr_whole *x = &w->wholes[t];
        for (int k = 0; k < HD_MAX(x->nsegments, 1); k++)
            add_stored(a, doc, &w->tables[doc->stored.ntables], x);
        cat->tables[t] = x->nsegments ? join_stored(a, doc, x) : doc->stored.tables[doc->stored.ntables - 1];
    }
    for (int t = 0; t < w->ntables; t++)
        copy_foreign_keys(a, cat, &w->tables[t].decl->table, doc->stored.tables[t]);
    return doc;
}

/* ---- files ------------------------------------------------------------------------------- */

/* Names keep what is safe in a file name; anything else becomes "-" and the number. */
static void part_name(char *out, size_t cap, const char *name, int number)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (name[n] || n == 0 || n > 64)
        snprintf(out, cap, "-%d", number);
    else
        snprintf(out, cap, "%s", name);
}

/* TABLE.COLUMN.PART, of a segment TABLE-NUMBER.COLUMN.PART. */
static const char *file_name(char out[256], const struct seal *s, int t, int column, const char *part)
{
    char table[80], name[80];
    const struct fe_table *x = s->doc->stored.tables[t];
    part_name(table, sizeof table, x->name, s->w->tables[t].whole);
    part_name(name, sizeof name, x->cols[column].name, column);
    if (!x->whole)
        snprintf(out, 256, "%s.%s.%s", table, name, part);
    else
        snprintf(out, 256, "%s-%d.%s.%s", table, fe_segment_number(x), name, part);
    return out;
}

static int seal_file_path(const struct seal *s, int file, char out[RT_PATH_MAX], struct hd_err *err)
{
    return rt_path_join(out, s->w->dir, s->doc->files[file].name, err);
}

/* Adds a file to the doc and creates it with its final size; its number, or -1. */
static int seal_add_file(struct seal *s, const char *name, uint64_t size, struct hd_err *err)
{
    struct fe_catalog_doc *doc = s->doc;
    if (doc->nfiles == s->files_cap) {
        int cap = HD_MAX(s->files_cap * 2, 64);
        struct fe_file *files = HD_NEWN(&s->w->arena, struct fe_file, cap);
        struct rt_map *maps = hd_try_realloc(s->maps, (size_t)cap * sizeof *maps);
        if (!maps)
            return HD_FAIL(err, RESOURCE, NULL, "out of memory");
        if (doc->nfiles)
            memcpy(files, doc->files, (size_t)doc->nfiles * sizeof *files);
        doc->files = files;
        s->maps = maps;
        s->files_cap = cap;
    }
    int k = doc->nfiles;
    doc->files[k].name = hd_strdup(&s->w->arena, name);
    doc->files[k].size = size;
    s->maps[k] = (struct rt_map){NULL, 0};
    char path[RT_PATH_MAX];
    HD_TRY(seal_file_path(s, k, path, err));
    HD_TRY(rt_file_create(path, size, err));
    doc->nfiles++;
    return k;
}

static int add_column_file(struct seal *s, const struct seal_column *x, const char *part, uint64_t size, int *out,
                           struct hd_err *err)
{
    char name[256];
    int t = (int)(x->st - s->tables);
    *out = seal_add_file(s, file_name(name, s, t, x->c, part), size, err);
    return *out < 0 ? -1 : 0;
}

static int fill_file(struct seal *s, int file, const void *p, struct hd_err *err)
{
    char path[RT_PATH_MAX];
    HD_TRY(seal_file_path(s, file, path, err));
    return rt_file_write_at(path, p, (size_t)s->doc->files[file].size, 0, err);
}

static int write_dictionary(struct seal *s, struct seal_column *x, struct hd_err *err)
{
    uint32_t n = x->set.n;
    HD_TRY(add_column_file(s, x, "dict_offsets", (n + (uint64_t)1) * 4, &x->files->dict_offsets, err));
    HD_TRY(add_column_file(s, x, "dict_bytes", x->dict_bytes, &x->files->dict_bytes, err));
    if (x->dict_bytes > UINT32_MAX)
        return HD_FAIL(err, UNSUPPORTED, x->st->table->name, "column \"%s\": dictionary of more than 4 GiB",
                       x->col->name);
    uint32_t *offsets = hd_try_calloc(n + (size_t)1, sizeof *offsets);
    char *bytes = hd_try_malloc((size_t)x->dict_bytes);
    int rc = -1;
    if (offsets && bytes) {
        for (uint32_t k = 0; k < n; k++)
            offsets[x->rank[k] + 1] = x->set.v[k].n;
        for (uint32_t k = 0; k < n; k++)
            offsets[k + 1] += offsets[k];
        for (uint32_t k = 0; k < n; k++)
            memcpy(bytes + offsets[x->rank[k]], x->set.v[k].p, x->set.v[k].n);
        rc = fill_file(s, x->files->dict_offsets, offsets, err);
        if (rc == 0)
            rc = fill_file(s, x->files->dict_bytes, bytes, err);
    } else {
        HD_FAIL(err, RESOURCE, NULL, "out of memory for a dictionary");
    }
    free(offsets);
    free(bytes);
    return rc;
}

static int create_files(struct seal *s, struct seal_column *x, struct hd_err *err)
{
    uint64_t rows = (uint64_t)x->st->table->rows, blocks = (uint64_t)x->st->nblocks;
    HD_TRY(add_column_file(s, x, "data", fe_column_bytes(x->col, x->st->table->rows), &x->files->data, err));
    if (x->nulls)
        HD_TRY(add_column_file(s, x, "valid", (rows + 7) / 8, &x->files->validity, err));
    if (x->col->storage == FE_STORE_DICT)
        return write_dictionary(s, x, err);
    if (x->col->storage != FE_STORE_TEXT)
        return 0;
    HD_TRY(add_column_file(s, x, "text_base", blocks * 8, &x->files->text_base, err));
    HD_TRY(fill_file(s, x->files->text_base, x->text_base, err));
    return add_column_file(s, x, "text", x->text_base[blocks], &x->files->text_bytes, err);
}

/* ---- setting up --------------------------------------------------------------------------- */

static int check_complete(struct wr_table *x, struct hd_err *err)
{
    const char *name = x->decl->table.name;
    struct rt_ranges *r = &x->ranges;
    int64_t rows = x->decl->rows;
    if (x->in_flight)
        return HD_FAIL(err, USER, name, "commit while rows are being appended");
    if (r->n && r->v[0].from > 0)
        return HD_FAIL(err, DATA, name, "rows 1 to %lld are missing", (long long)r->v[0].from);
    if (r->n > 1)
        return HD_FAIL(err, DATA, name, "rows %lld to %lld are missing", (long long)r->v[0].to + 1,
                       (long long)r->v[1].from);
    int64_t have = r->n ? r->v[0].to : 0;
    if (rows >= 0 && have != rows)
        return HD_FAIL(err, DATA, name, "%lld rows declared, %lld appended", (long long)rows, (long long)have);
    return 0;
}

static int by_first_row(const void *a, const void *b)
{
    const struct rt_slice *x = a, *y = b;
    return (x->first_row > y->first_row) - (x->first_row < y->first_row);
}

static void sort_slices(struct wr_table *x)
{
    if (x->nslices)
        qsort(x->slices, x->nslices, sizeof *x->slices, by_first_row);
}

static int index_blocks(struct seal_table *st, struct hd_err *err)
{
    st->nblocks = rt_nblocks(st->table->rows);
    st->block_slice = hd_try_malloc(((size_t)st->nblocks + 1) * sizeof *st->block_slice);
    if (!st->block_slice)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    size_t i = 0;
    for (int64_t b = 0; b <= st->nblocks; b++) {
        while (i < st->nslices && st->slices[i].first_row >> RT_BLOCK_SHIFT < b)
            i++;
        st->block_slice[b] = i;
    }
    atomic_init(&st->blocks_left, st->nblocks * st->table->ncols);
    return 0;
}

static int map_staging(const struct seal *s, struct seal_table *st, struct hd_err *err)
{
    for (int lane = 0; lane < WR_LANES; lane++) {
        char path[RT_PATH_MAX];
        if (st->source->stages[lane].fd < 0)
            continue;
        wr_stage_path(s->w, st->source, lane, path);
        HD_TRY(rt_file_map(path, &st->staging[lane], err));
    }
    return 0;
}

static int complete_tables(struct seal *s, struct hd_err *err)
{
    for (int t = 0; t < s->w->ntables; t++) {
        struct wr_table *x = &s->w->tables[t];
        pthread_mutex_lock(&x->mutex);
        int rc = check_complete(x, err);
        pthread_mutex_unlock(&x->mutex);
        HD_TRY(rc);
        sort_slices(x);
    }
    return 0;
}

static int open_tables(struct seal *s, struct hd_err *err)
{
    HD_TRY(complete_tables(s, err));
    HD_TRY(wr_cut_tables(s->w, s->pool, err));
    s->tables = hd_try_calloc((size_t)s->w->ntables, sizeof *s->tables);
    if (!s->tables)
        return HD_FAIL(err, RESOURCE, s->w->path, "out of memory");
    for (int t = 0; t < s->w->ntables; t++) {
        struct wr_table *x = &s->w->tables[t];
        struct seal_table *st = &s->tables[t];
        sort_slices(x);
        st->slices = x->slices;
        st->nslices = x->nslices;
        st->source = x;
        HD_TRY(map_staging(s, st, err));
    }
    s->doc = new_doc(s->w);
    for (int t = 0; t < s->w->ntables; t++) {
        s->tables[t].table = s->doc->stored.tables[t];
        s->ncolumns += s->tables[t].table->ncols;
        HD_TRY(index_blocks(&s->tables[t], err));
    }
    return 0;
}

static int open_columns(struct seal *s, struct hd_err *err)
{
    s->columns = hd_try_calloc((size_t)s->ncolumns, sizeof *s->columns);
    if (!s->columns)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    struct seal_column *x = s->columns;
    for (int t = 0; t < s->w->ntables; t++)
        for (int c = 0; c < s->tables[t].table->ncols; c++, x++) {
            x->st = &s->tables[t];
            x->c = c;
            x->col = &x->st->table->cols[c];
            x->files = &s->doc->column_files[t][c];
        }
    return 0;
}

/* ---- phases ------------------------------------------------------------------------------- */

static int prepare_task(void *ctx, int worker, int64_t task, struct hd_err *err)
{
    struct seal *s = ctx;
    (void)worker;
    return seal_prepare_column(&s->columns[task], err);
}

struct encode {
    struct seal *s;
    struct seal_buffer *buffers;
};

/* Block by block through each table, all columns of a block one after the other: threads then
 * write to different files, which the system can do at the same time. */
static const struct seal_column *find_task(const struct seal *s, int64_t task, int64_t *block)
{
    const struct seal_column *x = s->columns;
    while (task >= x->st->nblocks * x->st->table->ncols) {
        task -= x->st->nblocks * x->st->table->ncols;
        x += x->st->table->ncols;
    }
    *block = task / x->st->table->ncols;
    return x + task % x->st->table->ncols;
}

/* The staging file of a table is not needed any more: its space goes to what is to come. */
static void drop_staging(const struct seal *s, struct seal_table *st)
{
    for (int lane = 0; lane < WR_LANES; lane++) {
        struct wr_stage *stage = &st->source->stages[lane];
        char path[RT_PATH_MAX];
        rt_map_release(&st->staging[lane]);
        if (stage->fd < 0)
            continue;
        close(stage->fd);
        stage->fd = -1;
        wr_stage_path(s->w, st->source, lane, path);
        unlink(path);
    }
}

static int encode_task(void *ctx, int worker, int64_t task, struct hd_err *err)
{
    struct encode *e = ctx;
    int64_t block;
    const struct seal_column *x = find_task(e->s, task, &block);
    struct seal_paths p;
    HD_TRY(seal_file_path(e->s, x->files->data, p.data, err));
    if (x->files->validity >= 0)
        HD_TRY(seal_file_path(e->s, x->files->validity, p.validity, err));
    if (x->files->text_bytes >= 0)
        HD_TRY(seal_file_path(e->s, x->files->text_bytes, p.bytes, err));
    HD_TRY(seal_encode_block(x, block, &p, &e->buffers[worker], err));
    if (atomic_fetch_sub(&x->st->blocks_left, 1) == 1)
        drop_staging(e->s, x->st);
    return 0;
}

static int encode_all(struct seal *s, struct rt_progress *progress, struct hd_err *err)
{
    struct encode e = {.s = s};
    int64_t tasks = 0;
    for (int i = 0; i < s->ncolumns; i++)
        tasks += s->columns[i].st->nblocks;
    size_t workers = (size_t)rt_pool_threads(s->pool);
    if (hd_fault(HD_FAULT_ALLOC) || posix_memalign((void **)&e.buffers, 64, workers * sizeof *e.buffers) != 0)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    int rc = rt_pool_run(s->pool, tasks, encode_task, &e, progress, "writing columns", err);
    free(e.buffers);
    for (int t = 0; t < s->w->ntables; t++)
        drop_staging(s, &s->tables[t]); /* of failed appends to tables without rows */
    return rc;
}

static int map_file(struct seal *s, int file, const void **p, struct hd_err *err)
{
    char path[RT_PATH_MAX];
    if (file < 0)
        return 0;
    HD_TRY(seal_file_path(s, file, path, err));
    HD_TRY(rt_file_map(path, &s->maps[file], err));
    *p = s->maps[file].p;
    return 0;
}

static int map_columns(struct seal *s, struct hd_err *err)
{
    for (int i = 0; i < s->ncolumns; i++) {
        const struct fe_column_files *f = s->columns[i].files;
        struct fe_table_column *col = s->columns[i].col;
        HD_TRY(map_file(s, f->data, &col->at.data, err));
        HD_TRY(map_file(s, f->validity, (const void **)&col->at.validity, err));
        HD_TRY(map_file(s, f->text_base, (const void **)&col->at.text_base, err));
        HD_TRY(map_file(s, f->text_bytes, (const void **)&col->at.text_bytes, err));
        HD_TRY(map_file(s, f->dict_offsets, (const void **)&col->dict.offsets, err));
        HD_TRY(map_file(s, f->dict_bytes, (const void **)&col->dict.bytes, err));
        if (f->text_bytes >= 0)
            col->at.text_size = s->maps[f->text_bytes].n;
        seal_release_column(&s->columns[i]);
    }
    return 0;
}

/* Writes an index array as a file and gives back where it is mapped. */
static int write_index(struct seal *s, const char *name, const void *p, uint64_t size, int *file, const void **mapped,
                       struct hd_err *err)
{
    *file = seal_add_file(s, name, size, err);
    if (*file < 0)
        return -1;
    HD_TRY(fill_file(s, *file, p, err));
    return map_file(s, *file, mapped, err);
}

static int keep_key(void *ctx, int t, int k, struct fe_key_index *x, struct hd_err *err)
{
    struct seal *s = ctx;
    char name[256];
    const void *mapped;
    if (x->kind == FE_INDEX_POSITIONAL)
        return 0;
    file_name(name, s, t, x->column, "key");
    HD_TRY(
        write_index(s, name, fe_key_index_data(x), fe_key_index_bytes(x), &s->doc->keyidx_files[t][k], &mapped, err));
    fe_key_index_place(x, mapped);
    return 0;
}

static int keep_fk(void *ctx, int t, int k, struct fe_foreign_key *x, struct hd_err *err)
{
    struct seal *s = ctx;
    char name[256], part[32];
    struct fe_fk_files *files = &s->doc->fk_files[t][k];
    if (!x->offsets)
        return 0;
    snprintf(part, sizeof part, "fk%d_offsets", k);
    file_name(name, s, t, x->columns[0], part);
    HD_TRY(write_index(s, name, x->offsets, fe_fk_offset_bytes(x), &files->offsets, &x->offsets, err));
    if (!x->child_rows)
        return 0;
    snprintf(part, sizeof part, "fk%d_rows", k);
    file_name(name, s, t, x->columns[0], part);
    return write_index(s, name, x->child_rows, fe_fk_offset(x, x->parent->rows) * 4, &files->child_rows,
                       (const void **)&x->child_rows, err);
}

static int keep_zones(void *ctx, int t, int column, const struct fe_zone *z, int64_t n, struct hd_err *err)
{
    struct seal *s = ctx;
    struct fe_column_files *files = &s->doc->column_files[t][column];
    char name[256];
    files->zones = seal_add_file(s, file_name(name, s, t, column, "zones"), (uint64_t)n * sizeof *z, err);
    return files->zones < 0 ? -1 : fill_file(s, files->zones, z, err);
}

static int sum_files(struct seal *s, struct rt_progress *progress, struct hd_err *err)
{
    for (int k = 0; k < s->doc->nfiles; k++)
        if (!s->maps[k].p)
            HD_TRY(map_file(s, k, &(const void *){NULL}, err));
    return rt_sum_maps(s->pool, s->maps, s->doc->nfiles, s->doc->files, progress, err);
}

/* Partitions have ranges of values. */
static int check_divided(const struct seal *s, struct hd_err *err)
{
    for (int t = 0; t < s->doc->cat.ntables; t++) {
        const struct fe_table *x = s->doc->cat.tables[t];
        if (x->divided && x->rows && !x->cols[x->cut].facts.sorted)
            return HD_FAIL(err, DATA, x->name,
                           "the rows are not in the order of column \"%.60s\", by which the table is cut",
                           x->cols[x->cut].name);
    }
    return 0;
}

static struct rt_progress part(const struct rt_progress *p, double from, double to)
{
    return (struct rt_progress){p ? p->fn : NULL, p ? p->user : NULL, from, to};
}

static int run_phases(struct seal *s, struct rt_progress *progress, struct hd_err *err)
{
    struct rt_progress p = part(progress, 0, 0.05);
    HD_TRY(open_tables(s, err));
    HD_TRY(open_columns(s, err));
    HD_TRY(rt_pool_run(s->pool, s->ncolumns, prepare_task, s, &p, "choosing forms", err));
    for (int i = 0; i < s->ncolumns; i++)
        HD_TRY(create_files(s, &s->columns[i], err));
    p = part(progress, 0.05, 0.4);
    HD_TRY(encode_all(s, &p, err));
    HD_TRY(map_columns(s, err));
    struct rt_derive_sink sink = {s, keep_key, keep_fk, keep_zones};
    p = part(progress, 0.4, 0.8);
    HD_TRY(rt_derive(&s->doc->stored, s->pool, s->w->dir, &s->w->arena, &sink, &p, err));
    HD_TRY(check_divided(s, err));
    p = part(progress, 0.8, 0.85);
    return sum_files(s, &p, err);
}

/* What is mapped here goes away with the seal; the doc goes on to be the catalog. */
static void forget_addresses(struct fe_catalog *cat)
{
    for (int t = 0; t < cat->ntables; t++) {
        struct fe_table *x = cat->tables[t];
        for (int c = 0; c < x->ncols; c++) {
            x->cols[c].at = (struct fe_column_data){0};
            x->cols[c].dict = (struct fe_dict){.n = x->cols[c].dict.n};
        }
        for (int k = 0; k < x->nkeyidx; k++)
            fe_key_index_place(&x->keyidx[k], NULL);
        for (int k = 0; k < x->nfks; k++)
            x->fks[k].offsets = NULL;
        for (int k = 0; k < x->nfks; k++)
            x->fks[k].child_rows = NULL;
    }
}

static void release(struct seal *s)
{
    if (s->doc)
        forget_addresses(&s->doc->stored);
    for (int i = 0; s->columns && i < s->ncolumns; i++)
        seal_release_column(&s->columns[i]);
    for (int t = 0; s->tables && t < s->w->ntables; t++) {
        for (int lane = 0; lane < WR_LANES; lane++)
            rt_map_release(&s->tables[t].staging[lane]);
        free(s->tables[t].block_slice);
    }
    for (int k = 0; s->doc && k < s->doc->nfiles; k++)
        rt_map_release(&s->maps[k]);
    free(s->maps);
    free(s->columns);
    free(s->tables);
    rt_pool_free(s->pool);
}

int rt_writer_seal(struct rt_writer *w, struct rt_progress *progress, struct fe_catalog_doc **doc, struct hd_err *err)
{
    int open = WR_OPEN;
    if (!atomic_compare_exchange_strong(&w->state, &open, WR_POISONED))
        return HD_FAIL(err, USER, w->path,
                       open == WR_POISONED ? "an earlier call failed: nothing to commit" : "committed already");
    struct seal s = {.w = w};
    int rc = rt_pool_new(w->threads, &s.pool, err);
    if (rc == 0)
        rc = run_phases(&s, progress, err);
    w->doc = s.doc;
    release(&s);
    if (rc != 0)
        return -1;
    atomic_store(&w->state, WR_SEALED);
    *doc = w->doc;
    return 0;
}
