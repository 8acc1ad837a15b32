#include "runtime/io/text_load.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/io/text_split.h"
#include "runtime/store/store_file.h"

/* Large enough that a piece fills a block of the store, small enough that every thread's piece
 * fits into memory several times over as numbers. */
static const size_t piece_size = (size_t)4 << 20;

struct load {
    struct rt_writer *w;
    struct rt_pool *pool;
    const char *from;
    struct rt_progress *progress;
    double done, total; /* bytes */
};

struct source_file {
    char *name;
    int kind;    /* 0 .tbl, 1 .tbl.N, 2 .csv */
    long number; /* N */
};
struct file_list {
    struct source_file *v;
    size_t n, cap;
};

/* ---- finding files -------------------------------------------------------------------------- */

static bool match_name(const char *name, const char *table, struct source_file *out)
{
    size_t n = strlen(table);
    if (strncmp(name, table, n) != 0)
        return false;
    const char *rest = name + n;
    *out = (struct source_file){.kind = strcmp(rest, ".csv") == 0 ? 2 : 0};
    if (out->kind == 2 || strcmp(rest, ".tbl") == 0)
        return true;
    if (strncmp(rest, ".tbl.", 5) != 0 || !rest[5] || strlen(rest + 5) > 9 ||
        strspn(rest + 5, "0123456789") != strlen(rest + 5))
        return false;
    out->kind = 1;
    out->number = strtol(rest + 5, NULL, 10);
    return true;
}

static bool push_file(struct file_list *l, struct source_file f, const char *name)
{
    if (l->n == l->cap) {
        size_t cap = HD_MAX(l->cap * 2, 8);
        struct source_file *v = hd_try_realloc(l->v, cap * sizeof *v);
        if (!v)
            return false;
        l->v = v;
        l->cap = cap;
    }
    f.name = hd_fault(HD_FAULT_ALLOC) ? NULL : strdup(name);
    if (!f.name)
        return false;
    l->v[l->n++] = f;
    return true;
}

static void release_files(struct file_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].name);
    free(l->v);
    *l = (struct file_list){0};
}

static int by_kind(const void *a, const void *b)
{
    const struct source_file *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind - y->kind;
    return (x->number > y->number) - (x->number < y->number);
}

static int find_files(const struct load *l, const char *table, struct file_list *out, struct hd_err *err)
{
    DIR *d = hd_fault(HD_FAULT_OPEN) ? NULL : opendir(l->from);
    if (!d)
        return HD_FAIL(err, IO, l->from, "cannot open directory: %s", strerror(errno));
    bool ok = true;
    for (struct dirent *e; ok && (e = readdir(d));) {
        struct source_file f;
        if (match_name(e->d_name, table, &f))
            ok = push_file(out, f, e->d_name);
    }
    closedir(d);
    if (!ok)
        return HD_FAIL(err, RESOURCE, l->from, "out of memory");
    if (out->n)
        qsort(out->v, out->n, sizeof *out->v, by_kind);
    return 0;
}

/* ---- header --------------------------------------------------------------------------------- */

static int find_column(const struct fe_table *t, const struct text_field *f)
{
    for (int c = 0; c < t->ncols; c++)
        if (strlen(t->cols[c].name) == f->n && memcmp(t->cols[c].name, f->s, f->n) == 0)
            return c;
    return -1;
}

static int bad_header(const struct text_file *f, const struct text_field *field, const char *what, struct hd_err *err)
{
    char where[RT_PATH_MAX + 8];
    snprintf(where, sizeof where, "%s:1", f->path);
    return HD_FAIL(err, DATA, where, "header: \"%.*s\" %s", (int)HD_MIN(field->n, 60), field->s, what);
}

/* Reads the first line; order[k] becomes the column of field k. */
static int read_header(const struct text_file *f, const char **p, const char *end, int *order, int64_t *lines,
                       struct hd_err *err)
{
    const struct fe_table *t = f->table;
    struct text_field field = {0};
    int n = 0;
    while (!field.last) {
        const char *wrong = text_next_field(f->format, p, end, lines, &field);
        if (wrong)
            return bad_header(f, &field, wrong, err);
        if (field.last && field.n == 0 && n == t->ncols)
            break; /* behind a trailing delimiter */
        int c = find_column(t, &field);
        if (c < 0)
            return bad_header(f, &field, "is no column of the table", err);
        for (int k = 0; k < n; k++)
            if (order[k] == c)
                return bad_header(f, &field, "comes twice", err);
        order[n++] = c;
    }
    for (int c = 0; c < t->ncols; c++) {
        int k = 0;
        while (k < n && order[k] != c)
            k++;
        struct text_field missing = {.s = t->cols[c].name, .n = strlen(t->cols[c].name)};
        if (k == n)
            return bad_header(f, &missing, "is missing", err);
    }
    return 0;
}

/* ---- one file ------------------------------------------------------------------------------- */

struct file_load {
    struct load *l;
    int table;
    struct text_file file;
    struct text_pieces pieces;
    struct text_rows **rows; /* per worker, made when first needed */
};

static int piece_task(void *ctx, int worker, int64_t task, struct hd_err *err)
{
    struct file_load *x = ctx;
    const struct text_piece *piece = &x->pieces.v[task];
    struct text_rows **rows = &x->rows[worker];
    if (piece->rows == 0)
        return 0;
    if (!*rows && !(*rows = text_rows_new(&x->file)))
        return HD_FAIL(err, RESOURCE, x->file.path, "out of memory");
    HD_TRY(text_parse(*rows, piece, err));
    return rt_writer_add(x->l->w, x->table, piece->first_row, piece->rows, text_rows_source(*rows), err);
}

static int parse_pieces(struct file_load *x, struct rt_progress *progress, struct hd_err *err)
{
    int threads = rt_pool_threads(x->l->pool);
    x->rows = hd_try_calloc((size_t)threads, sizeof *x->rows);
    if (!x->rows)
        return HD_FAIL(err, RESOURCE, x->file.path, "out of memory");
    int rc = rt_pool_run(x->l->pool, (int64_t)x->pieces.n, piece_task, x, progress, x->file.table->name, err);
    for (int i = 0; i < threads; i++)
        text_rows_free(x->rows[i]);
    free(x->rows);
    return rc;
}

/* Empty lines at the end are no rows, unless an empty line could be one. */
static const char *trim_end(const char *from, const char *to, int ncols)
{
    while (ncols > 1 && to - from >= 2 && to[-1] == '\n') {
        const char *p = to - 1 - (to[-2] == '\r');
        if (p > from && p[-1] != '\n')
            break;
        to = p;
    }
    return to;
}

static int load_text(struct file_load *x, const char *p, const char *end, struct hd_err *err)
{
    struct load *l = x->l;
    struct rt_progress part = {l->progress->fn, l->progress->user, 0, 0};
    int64_t line = 1;
    int *order = hd_try_calloc((size_t)x->file.table->ncols, sizeof *order);
    if (!order)
        return HD_FAIL(err, RESOURCE, x->file.path, "out of memory");
    int rc = 0;
    double size = (double)(end - p);
    if (end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3; /* a byte order mark */
    if (x->file.format->header && p < end) {
        rc = read_header(&x->file, &p, end, order, &line, err);
        x->file.order = order;
    }
    end = trim_end(p, end, x->file.table->ncols);
    if (rc == 0)
        rc = text_split(p, end, x->file.format->quote, line, rt_writer_end(l->w, x->table), piece_size, l->pool,
                        &x->pieces, err);
    part.from = l->progress->from + (l->progress->to - l->progress->from) * l->done / l->total;
    l->done += size;
    part.to = l->progress->from + (l->progress->to - l->progress->from) * l->done / l->total;
    if (rc == 0)
        rc = parse_pieces(x, &part, err);
    text_pieces_release(&x->pieces);
    free(order);
    return rc;
}

static int load_file(struct load *l, int table, const char *name, struct hd_err *err)
{
    char path[RT_PATH_MAX];
    struct rt_map map;
    const struct fe_schema_table *decl = &rt_writer_schema(l->w)->tables[table];
    struct file_load x = {.l = l, .table = table};
    HD_TRY(rt_path_join(path, l->from, name, err));
    HD_TRY(rt_file_map(path, &map, err));
    x.file = (struct text_file){.path = path, .table = &decl->table, .format = &decl->format};
    int rc = load_text(&x, map.p, (const char *)map.p + map.n, err);
    rt_map_release(&map);
    return rc;
}

/* ---- all ------------------------------------------------------------------------------------ */

static int load_table(struct load *l, int table, const struct file_list *files, struct hd_err *err)
{
    const struct fe_schema_table *decl = &rt_writer_schema(l->w)->tables[table];
    const char *name = decl->table.name;
    if (files->n == 0 && decl->rows != 0 && rt_writer_end(l->w, table) == 0)
        return HD_FAIL(err, USER, l->from, "no file %s.tbl, %s.tbl.N or %s.csv", name, name, name);
    for (size_t i = 0; i < files->n; i++)
        HD_TRY(load_file(l, table, files->v[i].name, err));
    return 0;
}

static int load_tables(struct load *l, struct file_list *files, struct hd_err *err)
{
    int n = rt_writer_schema(l->w)->ntables;
    for (int t = 0; t < n; t++) {
        HD_TRY(find_files(l, rt_writer_schema(l->w)->tables[t].table.name, &files[t], err));
        for (size_t i = 0; i < files[t].n; i++) {
            char path[RT_PATH_MAX];
            struct rt_map map;
            HD_TRY(rt_path_join(path, l->from, files[t].v[i].name, err));
            HD_TRY(rt_file_map(path, &map, err));
            l->total += (double)map.n;
            rt_map_release(&map);
        }
    }
    for (int t = 0; t < n; t++)
        HD_TRY(load_table(l, t, &files[t], err));
    return 0;
}

int rt_text_load(struct rt_writer *w, const char *from, struct rt_progress *progress, struct hd_err *err)
{
    struct load l = {.w = w, .from = from, .progress = progress, .total = 1};
    int n = rt_writer_schema(w)->ntables;
    struct file_list *files = hd_try_calloc((size_t)n, sizeof *files);
    int rc = -1;
    if (!files)
        HD_FAIL(err, RESOURCE, from, "out of memory");
    else if (rt_pool_new(rt_writer_threads(w), &l.pool, err) == 0)
        rc = load_tables(&l, files, err);
    for (int t = 0; files && t < n; t++)
        release_files(&files[t]);
    free(files);
    rt_pool_free(l.pool);
    return rc;
}
