#include "runtime/store/store_derive.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/zones.h"
#include "runtime/base/fault.h"
#include "runtime/store/store_across.h"
#include "runtime/store/store_column.h"
#include "runtime/store/store_facts.h"
#include "runtime/store/store_keys.h"

/* In a map that is worth a file the middle of a zone lies in at most so many of all zones on average. */
static const double TELLING_SHARE = 0.75;

struct derive {
    struct fe_catalog *cat;
    struct rt_pool *pool;
    const char *dir;
    struct hd_arena *a;
    const struct rt_derive_sink *sink;
    struct rt_progress *progress;
    double done, total; /* work units: stored values looked at */
};

static int advance(struct derive *d, double units, const char *what, struct hd_err *err)
{
    struct rt_progress *p = d->progress;
    d->done += units;
    if (!p || !p->fn)
        return 0;
    double share = d->total > 0 ? HD_MIN(d->done / d->total, 1.0) : 1.0;
    if (p->fn(p->user, p->from + (p->to - p->from) * share, what) != 0)
        return HD_FAIL(err, CANCELLED, NULL, "cancelled while %s", what);
    return 0;
}

/* ---- zones ------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* So many of n ascending numbers are at most v; with `below`, less than it. */
static int64_t count_up_to(const uint64_t *v, int64_t n, uint64_t limit, bool below)
{
    int64_t lo = 0, hi = n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (below ? v[mid] < limit : v[mid] <= limit)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Whether a map of n zones can lead past any: it cannot where each has most values that the others have, and NULLs like them. */
static bool zones_tell(struct hd_arena *a, const struct fe_zone *z, int64_t n)
{
    uint64_t *min = HD_NEWN(a, uint64_t, n + 1), *max = HD_NEWN(a, uint64_t, n + 1);
    int64_t valued = 0, with_nulls = 0, met = 0;
    for (int64_t i = 0; i < n; i++) {
        with_nulls += z[i].nulls > 0;
        if (!fe_zone_has_values(&z[i]))
            continue;
        min[valued] = z[i].min;
        max[valued++] = z[i].max;
    }
    if (valued < n || (with_nulls && with_nulls < n))
        return valued > 0;
    qsort(min, (size_t)n, sizeof *min, by_number);
    qsort(max, (size_t)n, sizeof *max, by_number);
    for (int64_t i = 0; i < n; i++) {
        uint64_t middle = z[i].min + (z[i].max - z[i].min) / 2;
        met += count_up_to(min, n, middle, false) - count_up_to(max, n, middle, true);
    }
    return n > 1 && (double)met <= TELLING_SHARE * (double)n * (double)n;
}

/* Zones of a table in one piece, or NULL: facts say as much of a table of one zone. */
static int column_facts(struct derive *d, int t, int column, struct fe_zone *zones, struct hd_err *err)
{
    struct fe_table *x = d->cat->tables[t];
    struct fe_table_column *c = &x->cols[column];
    int64_t n = fe_zones_of(x->rows);
    bool has = zones && fe_column_has_zones(c);
    HD_TRY(rt_facts_compute(c, x->rows, RT_FACTS_ALL, d->pool, d->dir, &c->facts, has ? zones : NULL, err));
    if (has && zones_tell(d->a, zones, n))
        HD_TRY(d->sink->zones(d->sink->ctx, t, column, zones, n, err));
    return advance(d, (double)x->rows, "computing facts", err);
}

static int find_facts(struct derive *d, int t, struct hd_err *err)
{
    const struct fe_table *x = d->cat->tables[t];
    int64_t n = fe_zones_of(x->rows);
    struct fe_zone *zones = n > 1 ? hd_try_calloc((size_t)n, sizeof *zones) : NULL;
    int rc = n > 1 && !zones ? HD_FAIL(err, RESOURCE, x->name, "out of memory for zones") : 0;
    for (int c = 0; c < x->ncols && rc == 0; c++)
        rc = column_facts(d, t, c, zones, err);
    free(zones);
    return rc;
}

/* ---- keys --------------------------------------------------------------------------------------- */

static int refuse_duplicate(const struct fe_table *t, const char *what, int n, const int *columns, const int64_t dup[2],
                            struct hd_err *err)
{
    char names[256], values[256];
    /* rows of messages count from 1, as lines do */
    return HD_FAIL(err, DATA, t->name, "%s %s: rows %lld and %lld both have %s", what,
                   rt_key_names(t, n, columns, names), (long long)(t->first_row + dup[0]) + 1,
                   (long long)(t->first_row + dup[1]) + 1, rt_key_values(t, n, columns, dup[0], values));
}

/* Makes sure that no two rows agree; on a single column this becomes a fact. */
static int require_unique(struct fe_table *t, const char *what, int n, const int *columns, struct rt_pool *pool,
                          const char *dir, struct hd_err *err)
{
    int64_t dup[2];
    if (n == 1 && t->cols[columns[0]].facts.unique)
        return 0;
    HD_TRY(rt_keys_find_duplicate(t, n, columns, pool, dir, dup, err));
    if (dup[0] >= 0)
        return refuse_duplicate(t, what, n, columns, dup, err);
    if (n == 1)
        rt_facts_set_unique(&t->cols[columns[0]].facts, t->rows);
    return 0;
}

int rt_derive_primary_key(struct fe_table *t, struct rt_pool *pool, const char *dir, struct hd_err *err)
{
    for (int i = 0; i < t->npk; i++) {
        const struct fe_table_column *c = &t->cols[t->pk[i]];
        int64_t row = 0;
        if (c->facts.nulls == 0)
            continue;
        while (rt_col_valid(c, row))
            row++;
        return HD_FAIL(err, DATA, t->name, "primary key: column \"%s\" is NULL in row %lld", c->name,
                       (long long)(t->first_row + row) + 1);
    }
    if (t->npk > 1)
        HD_TRY(rt_keys_ascend(t, t->npk, t->pk, pool, &t->pk_sorted, err));
    return t->npk && !t->pk_sorted ? require_unique(t, "primary key", t->npk, t->pk, pool, dir, err) : 0;
}

/* Columns that get a lookup index: a primary key of one column, and what single-column foreign
 * keys refer to. */
static bool wants_index(const struct derive *d, const struct fe_table *t, int column)
{
    if (t->npk == 1 && t->pk[0] == column)
        return true;
    for (int i = 0; i < d->cat->ntables; i++)
        for (int k = 0; k < d->cat->tables[i]->nfks; k++) {
            const struct fe_foreign_key *f = &d->cat->tables[i]->fks[k];
            bool refers = f->parent == t || (t->whole && f->parent == t->whole);
            if (refers && f->n_columns == 1 && f->parent_columns[0] == column)
                return true;
        }
    return false;
}

static int add_key_index(struct derive *d, int t, int column, struct hd_err *err)
{
    struct fe_table *x = d->cat->tables[t];
    struct fe_key_index index;
    struct rt_big big;
    HD_TRY(require_unique(x, "referenced key", 1, &column, d->pool, d->dir, err));
    HD_TRY(rt_key_index_build(x, column, d->pool, d->dir, &index, &big, err));
    if (index.kind == FE_INDEX_NONE)
        return 0;
    int rc = d->sink->key(d->sink->ctx, t, x->nkeyidx, &index, err);
    rt_big_release(&big);
    if (rc == 0)
        x->keyidx[x->nkeyidx++] = index;
    return rc;
}

static int make_keys(struct derive *d, int t, struct hd_err *err)
{
    struct fe_table *x = d->cat->tables[t];
    HD_TRY(rt_derive_primary_key(x, d->pool, d->dir, err));
    x->keyidx = HD_NEWN(d->a, struct fe_key_index, x->ncols);
    x->nkeyidx = 0;
    for (int c = 0; c < x->ncols; c++)
        if (wants_index(d, x, c))
            HD_TRY(add_key_index(d, t, c, err));
    return advance(d, (double)x->rows * x->npk, "checking keys", err);
}

/* Counting children told how often each value occurs. */
static void learn_from_index(struct fe_facts *f, const struct rt_fk_index *x)
{
    if (f->max_mult >= 0)
        return;
    f->max_mult = x->max_children;
    f->distinct = x->parents_hit;
    f->distinct_exact = true;
}

int rt_derive_foreign_key(struct fe_table *child, int k, struct rt_pool *pool, const char *dir, struct rt_fk_index *out,
                          struct hd_err *err)
{
    struct fe_foreign_key *f = &child->fks[k];
    HD_TRY(rt_fk_build(child, f, pool, dir, out, err));
    f->offset_width = sizeof(uint32_t);
    f->offsets = out->offsets.p;
    f->child_rows = out->child_rows.p;
    f->max_children = out->max_children;
    f->nlong = out->nlong <= FE_LONG_PARENTS ? out->nlong : 0;
    f->longs = out->longs;
    if (f->n_columns == 1)
        learn_from_index(&child->cols[f->columns[0]].facts, out);
    return 0;
}

/* To a table of segments that is cut otherwise, or not to one segment alone: what it refers to is somewhere there. */
static int check_across(struct derive *d, const struct fe_table *x, const struct fe_foreign_key *f, struct hd_err *err)
{
    HD_TRY(rt_across_unique(f->parent, f->n_columns, f->parent_columns, "referenced key", d->pool, d->dir, err));
    HD_TRY(rt_across_check(x, f, d->pool, d->dir, err));
    return advance(d, (double)x->rows * 4, "checking foreign keys", err);
}

static int make_foreign_key(struct derive *d, int t, int k, struct hd_err *err)
{
    struct fe_table *x = d->cat->tables[t];
    struct fe_foreign_key *f = &x->fks[k];
    struct rt_fk_index index;
    if (f->parent->nsegments)
        return check_across(d, x, f, err);
    HD_TRY(rt_derive_foreign_key(x, k, d->pool, d->dir, &index, err));
    f->longs = hd_dup(d->a, f->longs, sizeof *f->longs * (size_t)f->nlong); /* beyond the index */
    int rc = d->sink->fk(d->sink->ctx, t, k, f, err);
    rt_fk_index_release(&index);
    HD_TRY(rc);
    return advance(d, (double)x->rows * 4, "indexing foreign keys", err);
}

static double estimate_work(const struct fe_catalog *cat)
{
    double units = 0;
    for (int t = 0; t < cat->ntables; t++) {
        const struct fe_table *x = cat->tables[t];
        units += (double)x->rows * (x->ncols + x->npk + 4 * x->nfks);
    }
    return units;
}

static bool is_first_segment(const struct fe_table *t)
{
    return t->whole && t->first_row == 0 && t->npk;
}

int rt_derive(struct fe_catalog *cat, struct rt_pool *pool, const char *dir, struct hd_arena *a,
              const struct rt_derive_sink *sink, struct rt_progress *progress, struct hd_err *err)
{
    struct derive d = {cat, pool, dir, a, sink, progress, 0, estimate_work(cat)};
    for (int t = 0; t < cat->ntables; t++)
        HD_TRY(find_facts(&d, t, err));
    for (int t = 0; t < cat->ntables; t++)
        HD_TRY(make_keys(&d, t, err));
    for (int t = 0; t < cat->ntables; t++)
        if (is_first_segment(cat->tables[t]))
            HD_TRY(rt_across_unique(cat->tables[t]->whole, cat->tables[t]->npk, cat->tables[t]->pk, "primary key", pool,
                                    dir, err));
    for (int t = 0; t < cat->ntables; t++)
        for (int k = 0; k < cat->tables[t]->nfks; k++)
            HD_TRY(make_foreign_key(&d, t, k, err));
    return 0;
}
