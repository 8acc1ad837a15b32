#include "planner/distribute_scheme.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/catalog.h"
#include "frontend/json_make.h"
#include "frontend/segments.h"

enum {
    SCHEMES_MAX = 24,
    SAMPLED = 64 /* rows for each worker, of a table that is not sorted */
};

/* ---- keys ------------------------------------------------------------------------------------------------------ */

static bool has_ranges(const struct fe_table_column *c)
{
    return (hd_type_is_int(c->type) || c->type.kind == HD_DATE) && !c->nullable;
}

bool pl_scheme_is_sorted(const struct fe_table *t, int column)
{
    return t->cols[column].facts.known && t->cols[column].facts.sorted;
}

static bool is_key(const struct fe_table *t, int column)
{
    struct fe_key_place p = {t, column}, to = fe_key_refers_to(p);
    const struct fe_facts *f = &t->cols[column].facts;
    return to.table != t || to.column != column || (f->known && (f->unique || f->sorted));
}

int pl_scheme_column(const struct pl_scheme *s, const struct fe_table *t)
{
    int found = -1;
    if (t == s->table)
        return s->column;
    if (s->hashed)
        return -1;
    for (int i = 0; i < t->ncols; i++) {
        struct fe_key_place root = fe_key_root((struct fe_key_place){t, i});
        bool fits = root.table == s->table && root.column == s->column && has_ranges(&t->cols[i]) && is_key(t, i) &&
                    hd_type_eq(t->cols[i].type, s->table->cols[s->column].type);
        if (fits && (found < 0 || (pl_scheme_is_sorted(t, i) && !pl_scheme_is_sorted(t, found))))
            found = i;
    }
    return found;
}

/* ---- schemes --------------------------------------------------------------------------------------------------- */

static void add(struct pl_scheme *v, int *n, struct pl_scheme s)
{
    for (int i = 0; i < *n; i++)
        if (v[i].table == s.table && v[i].column == s.column && v[i].hashed == s.hashed)
            return;
    if (*n < SCHEMES_MAX)
        v[(*n)++] = s;
}

/* Any column will do where no key is known: one with many values. */
static int hashed_column(const struct fe_table *t)
{
    int best = 0;
    for (int i = 1; i < t->ncols; i++)
        if (t->cols[i].facts.known && t->cols[i].facts.distinct > t->cols[best].facts.distinct)
            best = i;
    return best;
}

/* Each worker can have some of its values. */
static bool is_divisible(const struct fe_table_column *c, int workers)
{
    return c->facts.has_range && (c->facts.distinct < 0 || c->facts.distinct >= (int64_t)2 * workers);
}

bool pl_scheme_may_range(const struct fe_table *t, int column, int workers)
{
    enum { DIGITS = 18 }; /* that an int64 has room for */
    const struct fe_table_column *c = &t->cols[column];
    bool digits = c->type.kind == HD_DECIMAL && c->type.precision <= DIGITS && !c->nullable;
    return (has_ranges(c) || digits) && is_divisible(c, workers);
}

int pl_schemes(struct hd_arena *a, const struct fe_table *const *tables, int n, int workers, struct pl_scheme **out)
{
    int count = 0;
    *out = HD_NEWN(a, struct pl_scheme, SCHEMES_MAX + 1);
    for (int i = 0; i < n; i++) {
        bool any = false;
        for (int k = 0; k < tables[i]->ncols; k++) {
            struct fe_key_place root = fe_key_root((struct fe_key_place){tables[i], k});
            const struct fe_table_column *key = &root.table->cols[root.column];
            if (!has_ranges(&tables[i]->cols[k]) || !is_key(tables[i], k) || !has_ranges(key) ||
                !is_divisible(key, workers))
                continue;
            any = true;
            add(*out, &count, (struct pl_scheme){.table = root.table, .column = root.column});
        }
        if (!any)
            add(*out, &count,
                (struct pl_scheme){.table = tables[i], .column = hashed_column(tables[i]), .hashed = true});
    }
    return count;
}

bool pl_scheme_own(const struct fe_table *t, int workers, struct pl_scheme *out)
{
    *out = (struct pl_scheme){.table = t, .column = -1};
    for (int i = 0; i < t->ncols; i++) {
        const struct fe_table_column *c = &t->cols[i];
        bool more = out->column < 0 || c->facts.distinct > t->cols[out->column].facts.distinct;
        if (has_ranges(c) && pl_scheme_is_sorted(t, i) && is_divisible(c, workers) && more)
            out->column = i;
    }
    return out->column >= 0;
}

/* Values between the smallest and the largest at equal distances. */
static int64_t between(const struct fe_facts *f, int i, int workers)
{
    return (int64_t)(f->min + (f->max - f->min + 1) / workers * i);
}

static const struct fe_table *largest(const struct pl_scheme *s, const struct fe_table *const *tables, int n)
{
    const struct fe_table *best = NULL;
    for (int i = 0; i < n; i++) {
        int column = pl_scheme_column(s, tables[i]);
        if (column >= 0 && pl_scheme_is_sorted(tables[i], column) && (!best || tables[i]->rows > best->rows))
            best = tables[i];
    }
    return best;
}

static int compare_values(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Quantiles of the values in some of the table's rows, which lie in no order. */
static int sample_cuts(struct hd_arena *a, struct pl_scheme *s, int workers, pl_value_fn value, struct hd_err *err)
{
    int64_t rows = s->table->rows;
    int n = (int)HD_MIN(rows, (int64_t)SAMPLED * workers);
    int64_t *v = HD_NEWN(a, int64_t, n + 1);
    for (int i = 0; i < n; i++)
        HD_TRY(value(s->table, s->column, (int64_t)((hd_i128)rows * i / n), &v[i], err));
    qsort(v, (size_t)n, sizeof *v, compare_values);
    for (int i = 1; i < workers && n > 0; i++)
        s->cuts[i - 1] = v[(int64_t)n * i / workers];
    return 0;
}

int pl_scheme_cut(struct hd_arena *a, struct pl_scheme *s, const struct fe_table *const *tables, int n, int workers,
                  pl_value_fn value, struct hd_err *err)
{
    const struct fe_table *t = s->hashed ? NULL : largest(s, tables, n);
    hd_i128 lo = 0, hi = 0;
    hd_type_domain(s->table->cols[s->column].type, &lo, &hi);
    s->cuts = HD_NEWN(a, int64_t, workers);
    for (int i = 1; i < workers && !s->hashed; i++) {
        int64_t *cut = &s->cuts[i - 1];
        *cut = between(&s->table->cols[s->column].facts, i, workers);
        if (t && t->rows > 0)
            HD_TRY(value(t, pl_scheme_column(s, t), (int64_t)((hd_i128)t->rows * i / workers), cut, err));
    }
    if (s->in_order && !t)
        HD_TRY(sample_cuts(a, s, workers, value, err));
    for (int i = 1; i < workers && !s->hashed; i++)
        s->cuts[i - 1] = HD_MAX(s->cuts[i - 1], (int64_t)lo + 1); /* the value before it is one of the type */
    return 0;
}

/* ---- conditions and parameters --------------------------------------------------------------------------------- */

static struct cJSON *leaf(struct hd_arena *a, const char *key, const char *name)
{
    struct cJSON *v = fe_make_object(a);
    fe_put(v, key, fe_make_string(a, name));
    return v;
}

static struct cJSON *literal(struct hd_arena *a, int64_t i)
{
    struct cJSON *v = leaf(a, "lit", hd_asprintf(a, "%" PRId64, i));
    fe_put(v, "type", fe_make_string(a, "int64"));
    return v;
}

static struct cJSON *apply(struct hd_arena *a, const char *op, struct cJSON *x, struct cJSON *y)
{
    struct cJSON *v = fe_make_object(a), *args = fe_make_list(a);
    fe_put(v, "op", fe_make_string(a, op));
    fe_push(args, x);
    if (y)
        fe_push(args, y);
    fe_put(v, "args", args);
    return v;
}

enum end { FROM, TO };

/* Comparisons are of the column's own type, so that a search in a sorted column can find the range. */
static char *param_name(struct hd_arena *a, const char *prefix, enum end e, struct hd_type t)
{
    char type[HD_TEXT_MAX];
    const char *of = t.kind == HD_DECIMAL ? "decimal" : hd_type_text(t, type); /* there is one such column */
    return hd_asprintf(a, "%s_%s_%s", prefix, e == FROM ? "from" : "to", of);
}

struct cJSON *pl_hashed_worker(struct hd_arena *a, const char *const *columns, int n, int workers)
{
    struct cJSON *hash = apply(a, "hash", leaf(a, "col", columns[0]), NULL);
    for (int i = 1; i < n; i++)
        fe_push(fe_member(hash, "args"), leaf(a, "col", columns[i]));
    return apply(a, "%", apply(a, "&", hash, literal(a, INT64_MAX)), literal(a, workers));
}

struct cJSON *pl_scheme_condition(struct hd_arena *a, const struct pl_scheme *s, const struct fe_table *t, int column,
                                  int workers, const char *prefix)
{
    const struct fe_table_column *c = &t->cols[column];
    if (s->hashed)
        return apply(a, "=", pl_hashed_worker(a, (const char *const[]){c->name}, 1, workers), leaf(a, "param", prefix));
    struct cJSON *from =
        apply(a, ">=", leaf(a, "col", c->name), leaf(a, "param", param_name(a, prefix, FROM, c->type)));
    struct cJSON *to = apply(a, "<=", leaf(a, "col", c->name), leaf(a, "param", param_name(a, prefix, TO, c->type)));
    return apply(a, "and", from, to);
}

static bool mentions(const struct cJSON *v, const char *param)
{
    const char *name = fe_member_text(v, "param");
    if (name && strcmp(name, param) == 0)
        return true;
    for (const struct cJSON *m = fe_first_json(v); m; m = fe_next_json(m))
        if (mentions(m, param))
            return true;
    return false;
}

static char *value_text(struct hd_arena *a, struct hd_type t, int64_t i)
{
    char text[HD_TEXT_MAX];
    if (t.kind == HD_DATE)
        return hd_strdup(a, hd_date_text((int32_t)i, text));
    return hd_strdup(a, hd_dec_text(i, t.kind == HD_DECIMAL ? t.scale : 0, text));
}

/* The first and last worker's ranges have no outer end. */
static int64_t end_of(const struct pl_scheme *s, enum end e, struct hd_type t, int worker, int workers)
{
    hd_i128 lo = 0, hi = 0;
    hd_type_domain(t, &lo, &hi);
    worker = s->descending ? workers - 1 - worker : worker;
    if (e == FROM)
        return worker == 0 ? (int64_t)lo : s->cuts[worker - 1];
    return worker == workers - 1 ? (int64_t)hi : s->cuts[worker] - 1;
}

static void declare(struct hd_arena *a, struct cJSON *params, const char *name, struct hd_type t)
{
    char type[HD_TEXT_MAX];
    fe_put(params, name, leaf(a, "type", hd_type_text(t, type)));
}

static void add_end(struct hd_arena *a, const struct pl_scheme *s, const struct cJSON *root, int workers,
                    const char *prefix, struct hd_type t, enum end e, struct cJSON *params, struct cJSON *bind)
{
    const char *name = param_name(a, prefix, e, t);
    int worker = 0;
    if (!mentions(root, name))
        return;
    declare(a, params, name, t);
    for (struct cJSON *w = fe_first_json(bind); w; w = fe_next_json(w), worker++)
        fe_put(w, name, fe_make_text(a, value_text(a, t, end_of(s, e, t, worker, workers))));
}

void pl_scheme_params(struct hd_arena *a, const struct pl_scheme *s, const struct cJSON *root, int workers,
                      const char *prefix, struct cJSON *params, struct cJSON *bind)
{
    const struct hd_type key = s ? s->table->cols[s->column].type : hd_type_of(HD_INT64);
    const struct hd_type types[] = {hd_type_of(HD_INT32), hd_type_of(HD_INT64), hd_type_of(HD_DATE), key};
    int worker = 0;
    for (int i = 0; i < workers; i++)
        fe_push(bind, fe_make_object(a));
    for (size_t i = 0; s && i < HD_COUNT(types) - (key.kind != HD_DECIMAL); i++)
        for (enum end e = FROM; e <= TO; e++)
            add_end(a, s, root, workers, prefix, types[i], e, params, bind);
    if (!mentions(root, prefix))
        return;
    declare(a, params, prefix, hd_type_of(HD_INT64));
    for (struct cJSON *w = fe_first_json(bind); w; w = fe_next_json(w))
        fe_put(w, prefix, fe_make_text(a, hd_asprintf(a, "%d", worker++)));
}
