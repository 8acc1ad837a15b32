/* Tables of several segments: what of a segment becomes the table's. */
#include <math.h>

#include "frontend/catalog.h"

void fe_segments_declare(struct hd_arena *a, struct fe_table *t)
{
    const struct fe_table *first = t->segments[0];
    t->ncols = first->ncols;
    t->cols = HD_NEWN(a, struct fe_table_column, t->ncols);
    for (int c = 0; c < t->ncols; c++)
        t->cols[c] = (struct fe_table_column){.name = first->cols[c].name,
                                              .type = first->cols[c].type,
                                              .nullable = first->cols[c].nullable,
                                              .storage = first->cols[c].storage,
                                              .width = first->cols[c].width,
                                              .factor = 1};
    t->npk = first->npk;
    t->pk = first->pk;
}

/* ---- facts ------------------------------------------------------------------------------------- */

static const struct fe_facts *facts_of(const struct fe_table *t, int segment, int column)
{
    return &t->segments[segment]->cols[column].facts;
}

/* Codes of dictionaries are those of a segment alone. */
static bool join_range(const struct fe_table *t, int column, struct fe_facts *out)
{
    bool known = t->cols[column].storage == FE_STORE_INT;
    out->has_range = false;
    for (int i = 0; i < t->nsegments && known; i++) {
        const struct fe_facts *f = facts_of(t, i, column);
        if (!f->has_range && f->nulls == t->segments[i]->rows)
            continue;
        known = f->has_range;
        out->min = out->has_range ? HD_MIN(out->min, f->min) : f->min;
        out->max = out->has_range ? HD_MAX(out->max, f->max) : f->max;
        out->has_range = true;
    }
    return out->has_range = known && out->has_range;
}

/* The values of a segment are above those of the one before, or with `equal` not below. */
static bool ranges_ascend(const struct fe_table *t, int column, bool equal)
{
    const struct fe_facts *last = NULL;
    for (int i = 0; i < t->nsegments; i++) {
        const struct fe_facts *f = facts_of(t, i, column);
        if (!t->segments[i]->rows)
            continue;
        if (!f->has_range || (last && (equal ? f->min < last->max : f->min <= last->max)))
            return false;
        last = f;
    }
    return true;
}

/* So many distinct values of `all` rows as a segment of n rows that has d lets expect, if rows draw their values from one
 * set: d = D (1 - exp(-n / D)). */
static double expect_distinct(double d, double n, double all)
{
    double lo = d, hi = all;
    if (d <= 0 || d >= 0.999 * n)
        return d / HD_MAX(n, 1) * all;
    for (int i = 0; i < 60; i++) {
        double mid = lo + (hi - lo) / 2;
        if (mid * -expm1(-n / mid) < d)
            lo = mid;
        else
            hi = mid;
    }
    return lo * -expm1(-all / lo);
}

static void join_distinct(const struct fe_table *t, int column, bool apart, struct fe_facts *out)
{
    int64_t sum = 0, most = 0, rows = 1;
    out->distinct = -1;
    out->distinct_exact = apart;
    out->max_mult = 0;
    for (int i = 0; i < t->nsegments; i++) {
        const struct fe_facts *f = facts_of(t, i, column);
        if (f->distinct < 0)
            return;
        if (f->distinct > most) {
            most = f->distinct;
            rows = t->segments[i]->rows;
        }
        sum += f->distinct;
        out->distinct_exact &= f->distinct_exact;
        out->max_mult = f->max_mult < 0 || out->max_mult < 0 ? -1 : HD_MAX(out->max_mult, f->max_mult);
    }
    double expected = expect_distinct((double)most, (double)rows, (double)t->rows);
    out->distinct = apart ? sum : (int64_t)HD_MAX(HD_MIN(expected, (double)sum), (double)most);
    if (!apart)
        out->max_mult = -1;
}

static void join_facts(const struct fe_table *t, int column)
{
    struct fe_facts *out = &t->cols[column].facts;
    bool integers = t->cols[column].storage == FE_STORE_INT;
    bool apart = integers && ranges_ascend(t, column, false), ascend = integers && ranges_ascend(t, column, true);
    bool is_key = t->npk == 1 && t->pk[0] == column;
    *out = (struct fe_facts){.known = true, .unique = apart || is_key, .sorted = ascend, .clustered = apart || ascend};
    for (int i = 0; i < t->nsegments; i++) {
        const struct fe_facts *f = facts_of(t, i, column);
        out->known &= f->known;
        out->nulls = f->nulls < 0 || out->nulls < 0 ? -1 : out->nulls + f->nulls;
        out->unique &= f->unique;
        out->sorted &= f->sorted;
        out->clustered &= f->clustered;
    }
    bool ranged = join_range(t, column, out);
    join_distinct(t, column, apart, out);
    out->dense = out->unique && ranged && out->max - out->min < 8 * (hd_i128)t->rows;
}

static void join_keys(struct hd_arena *a, struct fe_table *t)
{
    const struct fe_table *first = t->segments[0];
    t->nfks = first->nfks;
    t->fks = HD_NEWN(a, struct fe_foreign_key, t->nfks + 1);
    for (int k = 0; k < t->nfks; k++) {
        const struct fe_foreign_key *f = &first->fks[k];
        t->fks[k] = (struct fe_foreign_key){.n_columns = f->n_columns,
                                            .columns = f->columns,
                                            .parent = f->parent->whole ? f->parent->whole : f->parent,
                                            .parent_columns = f->parent_columns,
                                            .max_children = -1};
    }
    t->pk_sorted = t->npk > 1 && t->cut == t->pk[0];
    for (int i = 0; i < t->nsegments; i++)
        t->pk_sorted &= t->segments[i]->pk_sorted;
}

/* Every segment may have its own form of a column; of all it matters only whether they are numbers. */
static void join_form(const struct fe_table *t, int column)
{
    struct fe_table_column *c = &t->cols[column];
    if (hd_type_is_text(c->type))
        c->storage = FE_STORE_TEXT;
    for (int i = 0; i < t->nsegments; i++)
        c->width = HD_MAX(c->width, t->segments[i]->cols[column].width);
}

void fe_segments_join(struct hd_arena *a, struct fe_table *t)
{
    for (int c = 0; c < t->ncols; c++) {
        join_form(t, c);
        join_facts(t, c);
    }
    join_keys(a, t);
}
