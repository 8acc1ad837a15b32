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
    int group; /* -1: without a column */
    int64_t *at; /* first row of each segment, and the end */
    int64_t next; /* while places are sought */
};

struct cut {
    struct rt_writer *w;
    struct rt_pool *pool;
    struct hd_arena arena;
    int64_t limit; /* rows of a segment */
    int n, segments;
    struct cut_table *tables;
    int ngroups;
    struct fe_key_place *groups; /* the key of each */
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
    int64_t last = x->first_row ? wr_staged_value(a->s, a->column, x->first_row - 1) : INT64_MIN;
    (void)worker;
    (void)err;
    if (!atomic_load_explicit(&a->broken, memory_order_relaxed) &&
        !wr_staged_ascends(a->s, (size_t)slice, a->column, last))
        atomic_store(&a->broken, true);
    return 0;
}

/* Some value has more rows than half a segment: rows of one value stay together. */
static bool has_long_run(const struct cut *c, const struct wr_staged *s, int column)
{
    int64_t step = c->limit / 4 + 1;
    for (int64_t row = 0; row + step < s->rows; row += step)
        if (wr_staged_value(s, column, row) == wr_staged_value(s, column, row + step))
            return true;
    return false;
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
    *out = !atomic_load(&a.broken) && !has_long_run(c, a.s, column);
    return 0;
}

static int group_of(const struct cut *c, int t, int column)
{
    struct fe_key_place key = fe_key_root((struct fe_key_place){declared(c, t), column});
    for (int g = 0; g < c->ngroups; g++)
        if (c->groups[g].table == key.table && c->groups[g].column == key.column)
            return g;
    return -1;
}

static void add_to_group(struct cut *c, int t, int column)
{
    int g = group_of(c, t, column);
    if (g < 0) {
        g = c->ngroups++;
        c->groups[g] = fe_key_root((struct fe_key_place){declared(c, t), column});
    }
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

/* Rows of less than v are those before. False: that are none. */
static bool advance(const struct cut *c, int group, int64_t v)
{
    bool any = false;
    for (int t = 0; t < c->n; t++) {
        struct cut_table *x = &c->tables[t];
        int64_t next = x->group == group ? wr_staged_find(&x->staged, x->column, v) : x->next;
        any |= next > x->next;
        x->next = next;
    }
    return any;
}

/* From the first rows on, so many of each table in a segment as `most` allows, all of a value together. The number of
 * segments; with `store` their places, where empty ones follow up to c->segments. */
static int64_t fill_segments(const struct cut *c, int group, int64_t most, bool store)
{
    int64_t n = 0, v = 0;
    for (int t = 0; t < c->n; t++)
        c->tables[t].next = 0;
    for (bool more = true; more && n <= FE_MAX_SEGMENTS; n++) {
        more = false;
        for (int t = 0; t < c->n; t++) {
            struct cut_table *x = &c->tables[t];
            if (x->group != group)
                continue;
            if (store)
                x->at[n] = x->next;
            if (x->staged.rows - x->next <= most)
                continue;
            int64_t next = wr_staged_value(&x->staged, x->column, x->next + most);
            v = more ? HD_MIN(v, next) : next;
            more = true;
        }
        if (more && !advance(c, group, v))
            return INT64_MAX;
    }
    for (int64_t k = n; store && k <= c->segments; k++)
        for (int t = 0; t < c->n; t++)
            if (c->tables[t].group == group)
                c->tables[t].at[k] = c->tables[t].staged.rows;
    return n;
}

/* As evenly as that number of segments allows. */
static void place_group(const struct cut *c, int group)
{
    int64_t lo = 0, hi = c->limit;
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (fill_segments(c, group, mid, false) <= c->segments)
            hi = mid;
        else
            lo = mid;
    }
    fill_segments(c, group, hi, true);
}

static void place_rows(const struct cut *c, int t)
{
    struct cut_table *x = &c->tables[t];
    for (int k = 0; k <= c->segments; k++)
        x->at[k] = (int64_t)((hd_i128)x->staged.rows * k / c->segments);
}

static int choose_places(struct cut *c, struct hd_err *err)
{
    int64_t n = 0;
    for (int g = 0; g < c->ngroups; g++)
        n = HD_MAX(n, fill_segments(c, g, c->limit, false));
    for (int t = 0; t < c->n; t++)
        if (c->tables[t].is_cut)
            n = HD_MAX(n, (c->tables[t].staged.rows + c->limit - 1) / c->limit);
    if (n > FE_MAX_SEGMENTS)
        return HD_FAIL(err, UNSUPPORTED, c->w->path, "more than %d segments of %lld rows", FE_MAX_SEGMENTS,
                       (long long)c->limit);
    c->segments = (int)n;
    for (int t = 0; t < c->n; t++)
        c->tables[t].at = HD_NEWN(&c->arena, int64_t, c->segments + 1);
    for (int g = 0; g < c->ngroups; g++)
        place_group(c, g);
    for (int t = 0; t < c->n; t++)
        if (c->tables[t].is_cut && c->tables[t].group < 0)
            place_rows(c, t);
    return 0;
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
        c->tables[t].column = c->tables[t].group = -1;
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
        w->wholes[t] = (struct wr_whole){.decl = x->decl, .cut = x->decl->table.cut};
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
    if (w->schema->partition.of)
        return HD_FAIL(err, UNSUPPORTED, w->path,
                       "a table of a partition has more than %lld rows: make more partitions", (long long)c.limit);
    hd_arena_init(&c.arena);
    c.tables = HD_NEWN(&c.arena, struct cut_table, c.n);
    c.groups = HD_NEWN(&c.arena, struct fe_key_place, c.n);
    int rc = cut(&c, err);
    for (int t = 0; t < c.n; t++)
        wr_staged_close(&c.tables[t].staged);
    hd_arena_release(&c.arena);
    return rc;
}
