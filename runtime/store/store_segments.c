#include "runtime/store/store_segments.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/fault.h"
#include "runtime/store/store_pool.h"

/* What is known of a table; tables are cut by groups, those of a group by the values of columns that lead to one key. */
struct cut_table {
    struct wr_staged staged;
    bool is_cut;
    int column; /* -1: by the number of rows */
    int group; /* with a column */
    int64_t *at; /* first row of each segment, and the end */
};
struct cut_group {
    struct fe_key_place root;
    int largest; /* table */
};

struct cut {
    struct rt_writer *w;
    struct rt_pool *pool;
    struct hd_arena arena;
    int64_t limit; /* rows of a segment */
    int n, segments;
    struct cut_table *tables;
    int ngroups;
    struct cut_group *groups;
};

static const struct fe_table *declared(const struct cut *c, int t)
{
    return &c->w->tables[t].decl->table;
}

/* ---- which column ------------------------------------------------------------------------------- */

struct ascent {
    const struct wr_staged *s;
    int column;
    atomic_bool broken;
};

static int ascent_task(void *ctx, int worker, int64_t slice, struct hd_err *err)
{
    struct ascent *a = ctx;
    const struct rt_slice *x = &a->s->x->slices[slice];
    int64_t row = x->first_row, end = row + x->rows, last = INT64_MIN;
    (void)worker;
    (void)err;
    if (row > 0)
        last = wr_staged_value(a->s, a->column, row - 1);
    for (; row < end; row++) {
        int64_t v = wr_staged_value(a->s, a->column, row);
        if (v < last || atomic_load_explicit(&a->broken, memory_order_relaxed)) {
            atomic_store(&a->broken, true);
            return 0;
        }
        last = v;
    }
    return 0;
}

/* Rows have whole numbers or dates in the column, none NULL, that ascend. */
static int may_cut(struct cut *c, int t, int column, bool *out, struct hd_err *err)
{
    const struct fe_table_column *x = &declared(c, t)->cols[column];
    struct ascent a = {.s = &c->tables[t].staged, .column = column};
    *out = false;
    if (x->nullable || (!hd_type_is_int(x->type) && x->type.kind != HD_DATE))
        return 0;
    HD_TRY(rt_pool_run(c->pool, (int64_t)a.s->x->nslices, ascent_task, &a, NULL, "", err));
    *out = !atomic_load(&a.broken);
    return 0;
}

static int group_of(const struct cut *c, int t, int column)
{
    struct fe_key_place root = fe_key_root((struct fe_key_place){declared(c, t), column});
    for (int g = 0; g < c->ngroups; g++)
        if (c->groups[g].root.table == root.table && c->groups[g].root.column == root.column)
            return g;
    return -1;
}

static void add_to_group(struct cut *c, int t, int column)
{
    int g = group_of(c, t, column);
    if (g < 0) {
        g = c->ngroups++;
        c->groups[g] =
            (struct cut_group){.root = fe_key_root((struct fe_key_place){declared(c, t), column}), .largest = t};
    }
    if (c->tables[t].staged.rows > c->tables[c->groups[g].largest].staged.rows)
        c->groups[g].largest = t;
    c->tables[t].is_cut = true;
    c->tables[t].column = column;
    c->tables[t].group = g;
}

/* The first column of the primary key is what others refer to, or refers to others, mostly. */
static int choose_column(struct cut *c, int t, bool of_group, struct hd_err *err)
{
    const struct fe_table *x = declared(c, t);
    int first = x->npk ? x->pk[0] : 0;
    for (int i = 0; i < x->ncols; i++) {
        int column = i == 0 ? first : i <= first ? i - 1 : i;
        bool may;
        if (of_group && group_of(c, t, column) < 0)
            continue;
        HD_TRY(may_cut(c, t, column, &may, err));
        if (!may)
            continue;
        add_to_group(c, t, column);
        return 0;
    }
    return 0;
}

static int choose_columns(struct cut *c, struct hd_err *err)
{
    for (int t = 0; t < c->n; t++) {
        if (c->tables[t].staged.rows <= c->limit)
            continue;
        c->tables[t].is_cut = true;
        HD_TRY(choose_column(c, t, false, err));
    }
    for (int t = 0; t < c->n; t++)
        if (!c->tables[t].is_cut && c->tables[t].staged.rows)
            HD_TRY(choose_column(c, t, true, err));
    return 0;
}

/* ---- where -------------------------------------------------------------------------------------- */

static int64_t share(int64_t rows, int i, int n)
{
    return (int64_t)((hd_i128)rows * i / n);
}

static void place(const struct cut *c, int t)
{
    struct cut_table *x = &c->tables[t];
    const struct cut_table *large = &c->tables[x->column >= 0 ? c->groups[x->group].largest : t];
    x->at[0] = 0;
    x->at[c->segments] = x->staged.rows;
    for (int i = 1; i < c->segments; i++) {
        int64_t row = share(large->staged.rows, i, c->segments);
        x->at[i] = x->column < 0 ? row
                                 : wr_staged_find(&x->staged, x->column,
                                                  wr_staged_value(&large->staged, large->column, row));
    }
}

/* A table with a segment that is too large; -1: there is none. */
static int place_all(const struct cut *c)
{
    int found = -1;
    for (int t = 0; t < c->n; t++) {
        if (!c->tables[t].is_cut)
            continue;
        place(c, t);
        for (int i = 0; i < c->segments; i++)
            if (c->tables[t].at[i + 1] - c->tables[t].at[i] > c->limit)
                found = t;
    }
    return found;
}

static int choose_places(struct cut *c, struct hd_err *err)
{
    int64_t least = 2;
    int large = 0;
    for (int t = 0; t < c->n; t++) {
        c->tables[t].at = HD_NEWN(&c->arena, int64_t, FE_MAX_SEGMENTS + 1);
        least = HD_MAX(least, (c->tables[t].staged.rows + c->limit - 1) / c->limit);
    }
    for (; least <= FE_MAX_SEGMENTS && large >= 0; least++) {
        c->segments = (int)least;
        large = place_all(c);
    }
    if (large < 0)
        return 0;
    const struct fe_table *x = declared(c, c->segments ? large : 0);
    int column = c->segments ? c->tables[large].column : -1;
    if (column < 0)
        return HD_FAIL(err, UNSUPPORTED, c->w->path, "more than %d segments of %lld rows", FE_MAX_SEGMENTS,
                       (long long)c->limit);
    return HD_FAIL(err, UNSUPPORTED, x->name,
                   "%d segments are not enough for %lld rows each: rows of one value of \"%s\" stay together",
                   FE_MAX_SEGMENTS, (long long)c->limit, x->cols[column].name);
}

/* ---- staging again ------------------------------------------------------------------------------ */

struct restage {
    struct cut *c;
    struct wr_table *to; /* all that are to be stored */
};

static int64_t blocks_of(const struct cut_table *x, int segment)
{
    return rt_nblocks(x->at[segment + 1] - x->at[segment]);
}

static int restage_task(void *ctx, int worker, int64_t task, struct hd_err *err)
{
    struct restage *r = ctx;
    const struct cut *c = r->c;
    int t = 0, k = 0;
    struct wr_table *to = r->to;
    (void)worker;
    while (!c->tables[t].is_cut || task >= blocks_of(&c->tables[t], k)) {
        bool one = !c->tables[t].is_cut;
        task -= one ? 0 : blocks_of(&c->tables[t], k);
        to++;
        if (one || ++k == c->segments) {
            t++;
            k = 0;
        }
    }
    const struct cut_table *x = &c->tables[t];
    int64_t from = task << RT_BLOCK_SHIFT, rows = HD_MIN(x->at[k + 1] - x->at[k] - from, RT_BLOCK_ROWS);
    struct wr_staged_source source = wr_staged_source(&x->staged, x->at[k] + from);
    return wr_add(c->w, to, WR_POISONED, from, rows, &source.base, err);
}

/* Tables in one piece go over, and their old places are nothing. */
static void set_up(struct cut *c, struct wr_table *to)
{
    int number = c->n;
    for (int t = 0; t < c->n; t++) {
        const struct cut_table *x = &c->tables[t];
        struct wr_whole *whole = &c->w->wholes[t];
        *whole = (struct wr_whole){.decl = c->w->tables[t].decl, .nsegments = x->is_cut ? c->segments : 0};
        whole->cut = x->column;
        for (int k = 0; k < HD_MAX(whole->nsegments, 1); k++, to++) {
            wr_table_init(to, whole->decl, x->is_cut ? number++ : t);
            to->whole = t;
            to->first_row = x->is_cut ? x->at[k] : 0;
        }
    }
}

static void move_rows(struct wr_table *to, struct wr_table *from)
{
    to->ranges = from->ranges;
    to->slices = from->slices;
    to->nslices = from->nslices;
    to->cap = from->cap;
    from->ranges = (struct rt_ranges){0};
    from->slices = NULL;
    for (int lane = 0; lane < WR_LANES; lane++) {
        to->stages[lane].fd = from->stages[lane].fd;
        from->stages[lane].fd = -1;
    }
}

/* The rows of what was cut are staged elsewhere now. */
static void drop_rows(struct cut *c, int t)
{
    struct wr_table *x = &c->w->tables[t];
    wr_staged_close(&c->tables[t].staged);
    for (int lane = 0; lane < WR_LANES; lane++) {
        char path[RT_PATH_MAX];
        wr_stage_path(c->w, x, lane, path);
        if (x->stages[lane].fd >= 0)
            unlink(path);
    }
}

static void replace_tables(struct cut *c, struct wr_table *to, int n)
{
    struct rt_writer *w = c->w;
    for (int i = 0; i < n; i++)
        if (!w->wholes[to[i].whole].nsegments)
            move_rows(&to[i], &w->tables[to[i].whole]);
    for (int t = 0; t < c->n; t++) {
        if (c->tables[t].is_cut)
            drop_rows(c, t);
        wr_table_release(&w->tables[t]);
    }
    free(w->tables);
    w->tables = to;
    w->ntables = n;
}

static int restage(struct cut *c, struct hd_err *err)
{
    int64_t tasks = 0;
    int n = 0;
    for (int t = 0; t < c->n; t++) {
        n += c->tables[t].is_cut ? c->segments : 1;
        for (int k = 0; k < c->segments && c->tables[t].is_cut; k++)
            tasks += blocks_of(&c->tables[t], k);
    }
    struct restage r = {c, hd_try_calloc((size_t)n, sizeof *r.to)};
    if (!r.to)
        return HD_FAIL(err, RESOURCE, c->w->path, "out of memory");
    set_up(c, r.to);
    if (rt_pool_run(c->pool, tasks, restage_task, &r, NULL, "cutting tables", err) == 0) {
        replace_tables(c, r.to, n);
        return 0;
    }
    for (int i = 0; i < n; i++)
        wr_table_release(&r.to[i]);
    free(r.to);
    return -1;
}

/* ---- all ---------------------------------------------------------------------------------------- */

static int cut(struct cut *c, struct hd_err *err)
{
    for (int t = 0; t < c->n; t++) {
        c->tables[t].column = -1;
        HD_TRY(wr_staged_open(c->w, &c->w->tables[t], &c->tables[t].staged, err));
    }
    HD_TRY(choose_columns(c, err));
    HD_TRY(choose_places(c, err));
    return restage(c, err);
}

static int make_wholes(struct rt_writer *w, bool *large)
{
    w->wholes = HD_NEWN(&w->arena, struct wr_whole, w->ntables);
    w->nwholes = w->ntables;
    for (int t = 0; t < w->ntables; t++) {
        struct wr_table *x = &w->tables[t];
        w->wholes[t] = (struct wr_whole){.decl = x->decl, .cut = -1};
        x->whole = t;
        *large |= x->ranges.n && x->ranges.v[0].to > w->schema->segment_rows;
    }
    return 0;
}

int wr_cut_tables(struct rt_writer *w, struct rt_pool *pool, struct hd_err *err)
{
    struct cut c = {.w = w, .pool = pool, .limit = w->schema->segment_rows, .n = w->ntables};
    bool large = false;
    HD_TRY(make_wholes(w, &large));
    if (!large)
        return 0;
    hd_arena_init(&c.arena);
    c.tables = HD_NEWN(&c.arena, struct cut_table, c.n);
    c.groups = HD_NEWN(&c.arena, struct cut_group, c.n);
    int rc = cut(&c, err);
    for (int t = 0; t < c.n; t++)
        wr_staged_close(&c.tables[t].staged);
    hd_arena_release(&c.arena);
    return rc;
}
