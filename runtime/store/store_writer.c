#include "runtime/store/store_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/claim.h"
#include "runtime/base/fault.h"
#include "runtime/store/store_writer_impl.h"

/* What the last step, one rename to the path, would not replace is refused now. */
static int check_target(const char *path, struct hd_err *err)
{
    struct stat st, parent;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char up[RT_PATH_MAX];
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !*name)
        return HD_FAIL(err, USER, path, "not a name that a new directory can have");
    if (lstat(path, &st) != 0)
        return 0;
    if (S_ISLNK(st.st_mode))
        return HD_FAIL(err, USER, path, "exists already and is a symbolic link");
    HD_TRY(rt_path_join(up, path, "..", err));
    if (stat(up, &parent) == 0 && parent.st_dev != st.st_dev)
        return HD_FAIL(err, USER, path, "another file system is mounted there");
    return 0;
}

static int make_directory(struct rt_writer *w, const char *path, struct hd_err *err)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    int len = snprintf(w->path, sizeof w->path, "%.*s", (int)n, path);
    if (n == 0 || len >= (int)sizeof w->path - 64)
        return HD_FAIL(err, USER, path, n ? "path too long" : "empty path");
    HD_TRY(check_target(w->path, err));
    int is_free = rt_dir_is_free(w->path, err);
    if (is_free < 0)
        return -1;
    if (!is_free)
        return HD_FAIL(err, USER, path, "exists already and is not an empty directory");
    w->lock = hd_claim_new(w->path, w->dir, sizeof w->dir);
    if (w->lock >= 0)
        return 0;
    HD_FAIL(err, IO, w->dir, "cannot create directory: %s", strerror(errno));
    w->dir[0] = 0;
    return -1;
}

void wr_stage_path(const struct rt_writer *w, const struct wr_table *x, int lane, char out[RT_PATH_MAX])
{
    snprintf(out, RT_PATH_MAX, "%.*s/staging.%d.%d", RT_PATH_MAX - 64, w->dir, x->number, lane);
}

void wr_table_init(struct wr_table *x, const struct fe_schema_table *decl, int number)
{
    x->decl = decl;
    x->number = number;
    for (int lane = 0; lane < WR_LANES; lane++)
        x->stages[lane].fd = -1;
    pthread_mutex_init(&x->mutex, NULL);
}

void wr_table_release(struct wr_table *x)
{
    for (int lane = 0; lane < WR_LANES; lane++)
        if (x->stages[lane].fd >= 0)
            close(x->stages[lane].fd);
    rt_ranges_release(&x->ranges);
    free(x->slices);
    pthread_mutex_destroy(&x->mutex);
}

int rt_writer_new(const char *path, const struct fe_schema *schema, int threads, struct rt_writer **out,
                  struct hd_err *err)
{
    struct rt_writer *w = hd_try_calloc(1, sizeof *w);
    if (w)
        w->tables = hd_try_calloc((size_t)schema->ntables, sizeof *w->tables);
    if (!w || !w->tables) {
        free(w);
        return HD_FAIL(err, RESOURCE, path, "out of memory");
    }
    w->schema = schema;
    w->threads = threads;
    hd_arena_init(&w->arena);
    pthread_mutex_init(&w->mutex, NULL);
    if (make_directory(w, path, err) != 0) {
        rt_writer_free(w);
        return -1;
    }
    w->ntables = schema->ntables;
    for (int t = 0; t < w->ntables; t++)
        wr_table_init(&w->tables[t], &schema->tables[t], t);
    *out = w;
    return 0;
}

void rt_writer_free(struct rt_writer *w)
{
    if (!w)
        return;
    for (int t = 0; t < w->ntables; t++)
        wr_table_release(&w->tables[t]);
    for (size_t i = 0; i < w->nscratches; i++)
        rt_scratch_free(w->scratches[i].s);
    if (w->dir[0]) {
        hd_dir_remove(w->dir);
        hd_claim_end(w->dir, w->lock);
    }
    pthread_mutex_destroy(&w->mutex);
    hd_arena_release(&w->arena);
    free(w->scratches);
    free(w->tables);
    free(w);
}

const struct fe_schema *rt_writer_schema(const struct rt_writer *w)
{
    return w->schema;
}
int rt_writer_threads(const struct rt_writer *w)
{
    return w->threads;
}
void rt_writer_poison(struct rt_writer *w)
{
    atomic_store(&w->state, WR_POISONED);
}

int rt_writer_find(const struct rt_writer *w, const char *table)
{
    for (int t = 0; t < w->ntables; t++)
        if (strcmp(w->tables[t].decl->table.name, table) == 0)
            return t;
    return -1;
}

int64_t rt_writer_end(struct rt_writer *w, int table)
{
    struct wr_table *x = &w->tables[table];
    pthread_mutex_lock(&x->mutex);
    int64_t end = x->ranges.n ? x->ranges.v[x->ranges.n - 1].to : 0;
    pthread_mutex_unlock(&x->mutex);
    return end;
}

/* ---- one append ------------------------------------------------------------------------- */

static struct wr_scratch get_scratch(struct rt_writer *w)
{
    struct wr_scratch x = {0};
    pthread_mutex_lock(&w->mutex);
    if (w->nscratches)
        x = w->scratches[--w->nscratches];
    pthread_mutex_unlock(&w->mutex);
    if (x.s)
        return x;
    unsigned lane = atomic_fetch_add(&w->lanes, 1);
    return (struct wr_scratch){rt_scratch_new(), (int)(lane % WR_LANES)};
}

static void put_scratch(struct rt_writer *w, struct wr_scratch x)
{
    pthread_mutex_lock(&w->mutex);
    if (w->nscratches == w->scratch_cap) {
        size_t cap = HD_MAX(w->scratch_cap * 2, 8);
        struct wr_scratch *v = hd_try_realloc(w->scratches, cap * sizeof *v);
        if (v) {
            w->scratches = v;
            w->scratch_cap = cap;
        }
    }
    if (w->nscratches < w->scratch_cap) {
        w->scratches[w->nscratches++] = x;
        x.s = NULL;
    }
    pthread_mutex_unlock(&w->mutex);
    rt_scratch_free(x.s);
}

static int check_range(const struct wr_table *x, int64_t first_row, int64_t rows, struct hd_err *err)
{
    const char *name = x->decl->table.name;
    HD_TRY(rt_rows_check(name, first_row, rows, FE_MAX_ROWS, err));
    if (x->decl->rows >= 0 && first_row + rows > x->decl->rows)
        return HD_FAIL(err, DATA, name, "rows %lld to %lld appended, declared are %lld", (long long)first_row + 1,
                       (long long)(first_row + rows), (long long)x->decl->rows);
    return 0;
}

/* Under the table's mutex. */
static int open_staging(const struct rt_writer *w, struct wr_table *x, int lane, struct hd_err *err)
{
    char path[RT_PATH_MAX];
    struct wr_stage *stage = &x->stages[lane];
    if (stage->fd >= 0)
        return 0;
    wr_stage_path(w, x, lane, path);
    if (!hd_fault(HD_FAULT_OPEN))
        stage->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    return stage->fd >= 0 ? 0 : HD_FAIL(err, IO, path, "cannot create: %s", strerror(errno));
}

static int claim(struct rt_writer *w, struct wr_table *x, enum wr_state state, int lane, int64_t from, int64_t to,
                 struct hd_err *err)
{
    struct rt_range clash = {0, 0};
    pthread_mutex_lock(&x->mutex);
    int rc = -1;
    if (atomic_load(&w->state) != (int)state)
        HD_FAIL(err, USER, x->decl->table.name, "the writer takes no more rows");
    else if (open_staging(w, x, lane, err) == 0)
        rc = rt_ranges_add(&x->ranges, from, to, &clash);
    if (rc == 0)
        x->in_flight++;
    pthread_mutex_unlock(&x->mutex);
    if (rc == -2)
        return HD_FAIL(err, RESOURCE, x->decl->table.name, "out of memory");
    if (rc == -1 && clash.to)
        return HD_FAIL(err, DATA, x->decl->table.name, "rows %lld to %lld overlap rows appended before (%lld to %lld)",
                       (long long)from + 1, (long long)to, (long long)clash.from + 1, (long long)clash.to);
    return rc;
}

struct slices {
    struct rt_slice *v;
    size_t n, cap;
};

static bool push_slices(struct wr_table *x, const struct slices *s)
{
    if (x->nslices + s->n > x->cap) {
        size_t cap = HD_MAX(x->cap * 2, x->nslices + s->n);
        struct rt_slice *v = hd_try_realloc(x->slices, cap * sizeof *v);
        if (!v)
            return false;
        x->slices = v;
        x->cap = cap;
    }
    memcpy(x->slices + x->nslices, s->v, s->n * sizeof *s->v);
    x->nslices += s->n;
    return true;
}

static int settle(struct wr_table *x, int64_t from, int64_t to, const struct slices *s, bool staged, struct hd_err *err)
{
    pthread_mutex_lock(&x->mutex);
    bool ok = staged && push_slices(x, s);
    if (!ok)
        rt_ranges_remove(&x->ranges, from, to);
    x->in_flight--;
    pthread_mutex_unlock(&x->mutex);
    if (staged && !ok)
        HD_FAIL(err, RESOURCE, x->decl->table.name, "out of memory");
    return ok ? 0 : -1;
}

static int write_slice(const struct rt_writer *w, struct wr_table *x, const struct wr_scratch *scratch,
                       struct rt_slice *s, struct hd_err *err)
{
    struct wr_stage *stage = &x->stages[scratch->lane];
    size_t n = rt_stage_size(scratch->s);
    s->lane = (uint32_t)scratch->lane;
    s->at = atomic_fetch_add(&stage->cursor, hd_align_up(n, 16));
    const void *image = rt_stage_image(scratch->s, x->decl->table.ncols, s->at);
    char path[RT_PATH_MAX];
    wr_stage_path(w, x, scratch->lane, path);
    return rt_fd_write_at(stage->fd, image, n, s->at, path, err);
}

static int stage_rows(const struct rt_writer *w, struct wr_table *x, const struct wr_scratch *scratch,
                      int64_t first_row, const struct rt_row_source *source, struct slices *s, struct hd_err *err)
{
    int64_t from = 0;
    for (size_t i = 0; i < s->n; i++) {
        int n = (int)s->v[i].rows;
        s->v[i].first_row = first_row + from;
        HD_TRY(rt_stage_slice(scratch->s, &x->decl->table, source, from, n, err));
        HD_TRY(write_slice(w, x, scratch, &s->v[i], err));
        from += n;
    }
    return 0;
}

/* One slice per block that the rows fall into. */
static int plan_slices(struct slices *s, int64_t first_row, int64_t rows)
{
    int64_t last = first_row + rows - 1;
    s->n = (size_t)((last >> RT_BLOCK_SHIFT) - (first_row >> RT_BLOCK_SHIFT) + 1);
    s->v = hd_try_calloc(s->n, sizeof *s->v);
    for (size_t i = 0; s->v && i < s->n; i++) {
        int64_t block = ((first_row >> RT_BLOCK_SHIFT) + (int64_t)i) << RT_BLOCK_SHIFT;
        int64_t from = HD_MAX(block, first_row);
        s->v[i].rows = (uint32_t)(HD_MIN(block + RT_BLOCK_ROWS, last + 1) - from);
    }
    return s->v ? 0 : -1;
}

int wr_add(struct rt_writer *w, struct wr_table *x, enum wr_state state, int64_t first_row, int64_t rows,
           const struct rt_row_source *source, struct hd_err *err)
{
    if (rows == 0)
        return 0;
    struct slices s = {0};
    struct wr_scratch scratch = get_scratch(w);
    if (!scratch.s || plan_slices(&s, first_row, rows) != 0) {
        if (scratch.s)
            put_scratch(w, scratch);
        return HD_FAIL(err, RESOURCE, x->decl->table.name, "out of memory");
    }
    int rc = claim(w, x, state, scratch.lane, first_row, first_row + rows, err);
    if (rc == 0) {
        bool staged = stage_rows(w, x, &scratch, first_row, source, &s, err) == 0;
        rc = settle(x, first_row, first_row + rows, &s, staged, err);
    }
    put_scratch(w, scratch);
    free(s.v);
    return rc;
}

int rt_writer_add(struct rt_writer *w, int table, int64_t first_row, int64_t rows, const struct rt_row_source *source,
                  struct hd_err *err)
{
    HD_TRY(check_range(&w->tables[table], first_row, rows, err));
    return wr_add(w, &w->tables[table], WR_OPEN, first_row, rows, source, err);
}
