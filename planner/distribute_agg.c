/* A grouping of rows that are spread over workers. Where one of its keys says on which worker a row is, each worker has
 * whole groups. Else each groups what it has (the partial step), and one worker groups those groups (the final one):
 *
 *   count, count_if     counts, which are added up
 *   sum                 sums in the widest type, which are added up
 *   avg                 sums and counts
 *   min, max, bool_*, bit_*   the same function again
 *   arg_min, arg_max    the argument and the value that it is nearest by, then the same function again
 *   distinct            the argument is a key of the partial step; but where rows with one value of it are on one worker,
 *                       count, sum and avg are of a worker's own values, and are added up as without distinct
 *
 * What no such step can say (quantiles, variances, functions of rows in an order, sums that might leave the widest type
 * on a worker and not as a whole) is computed of all rows of a group: they are shuffled by a key, or one worker has all. */
#include "planner/distribute_agg.h"

#include <string.h>

#include "frontend/json_make.h"
#include "planner/typed_range.h"

/* The columns of n, whose keys have those values, that say on which worker a row is; NULL: none does. */
static bool *by_keys(struct dist *d, const struct dist_rel *in, const struct fe_node *n, int nkeys,
                     struct fe_expr *const *keys)
{
    bool *by = HD_NEWN(d->a, bool, n->ncols + 1), any = false;
    for (int i = 0; i < nkeys; i++)
        if (keys[i]->op == FE_COL && in->by[keys[i]->col])
            any = by[i] = true;
    return any ? by : NULL;
}

/* ---- which functions can be computed in two steps ---------------------------------------------------------------- */

/* No worker's sum leaves 38 digits: of values below 10^20 it would take 10^18 rows. */
static bool sum_is_safe(const struct dist *d, const struct fe_node *input, const struct fe_expr *arg)
{
    if (arg->type.kind == HD_INTERVAL) /* no type is wider */
        return false;
    if (arg->type.kind != HD_DECIMAL)
        return true;
    struct pl_range r = pl_typed_range(d->plan, input, arg);
    return r.known && r.lo > -hd_pow10(20) && r.hi < hd_pow10(20);
}

static bool in_two_steps(const struct dist *d, const struct fe_node *input, const struct fe_agg *g)
{
    switch (fe_agg_merge(g->fn)) {
    case FE_MERGES_SAME:
    case FE_MERGES_COUNTS:
    case FE_MERGES_KEYS: return true;
    case FE_MERGES_SUMS:
    case FE_MERGES_RATIO: return g->distinct || sum_is_safe(d, input, g->arg);
    case FE_MERGES_BY: return g->by->type.kind != HD_BOOL;
    case FE_MERGES_NOT: break;
    }
    return false;
}

static bool all_in_two_steps(const struct dist *d, const struct fe_node *n)
{
    for (int i = 0; i < n->u.agg.naggs; i++)
        if (!in_two_steps(d, n->inputs[0], &n->u.agg.aggs[i]))
            return false;
    return true;
}

/* ---- the two steps ------------------------------------------------------------------------------------------------- */

struct steps {
    struct dist *d;
    const struct fe_node *node;
    struct cJSON *keys, *partial; /* of the partial step */
    struct cJSON *final; /* functions of the final one */
    struct cJSON *exprs; /* what is made of both, column by column */
    bool computes; /* some expression is more than a column */
    bool own; /* no value of a distinct function is on two workers */
};

/* Distinct functions are of columns that say on which worker a row is: what is different on a worker is so in all. Else one
 * such function's argument becomes a key, and the others would count a value for each of that. */
static bool values_are_apart(const struct dist *d, const struct dist_rel *in, const struct fe_node *n)
{
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *g = &n->u.agg.aggs[i];
        bool sums = g->fn == FE_AGG_SUM || g->fn == FE_AGG_AVG;
        if (g->distinct &&
            (g->arg->op != FE_COL || !in->by[g->arg->col] || (sums && !sum_is_safe(d, n->inputs[0], g->arg))))
            return false;
    }
    return true;
}

/* {"fn", "arg", "as"}; arg may be NULL. */
static struct cJSON *function(struct hd_arena *a, const char *fn, struct cJSON *arg, const char *as)
{
    struct cJSON *v = dist_name(a, "fn", fn);
    if (arg)
        fe_put(v, "arg", arg);
    fe_put(v, "as", fe_make_string(a, as));
    return v;
}

static struct cJSON *copy(struct hd_arena *a, const struct cJSON *op, const char *key)
{
    return fe_copy_json(a, fe_member(op, key));
}

/* Of the rows for which the function's own filter is true. */
static void push_partial(struct steps *s, const struct cJSON *agg, struct cJSON *f)
{
    if (fe_member(agg, "distinct"))
        fe_put(f, "distinct", copy(s->d->a, agg, "distinct"));
    if (fe_member(agg, "filter"))
        fe_put(f, "filter", copy(s->d->a, agg, "filter"));
    fe_push(s->partial, f);
}

static void push_expr(struct steps *s, struct cJSON *expr, const char *name)
{
    s->computes = true;
    fe_push(s->exprs, dist_as(s->d->a, expr, name));
}

/* The column `part` holds counts. */
static struct cJSON *total(struct hd_arena *a, const char *part)
{
    struct cJSON *v = dist_apply(a, "coalesce", dist_col(a, part), fe_make_string(a, "0"));
    return dist_cast(a, v, hd_type_of(HD_INT64));
}

static void count(struct steps *s, const struct cJSON *agg, const char *name)
{
    struct hd_arena *a = s->d->a;
    struct cJSON *arg = fe_member(agg, "arg") ? copy(a, agg, "arg") : NULL;
    push_partial(s, agg, function(a, fe_member_text(agg, "fn"), arg, name));
    fe_push(s->final, function(a, "sum", dist_col(a, name), name));
    push_expr(s, total(a, name), name);
}

/* A sum of an int32 is an int64, which may overflow on a worker: there it is that of an int64, of 38 digits. */
static struct cJSON *summed(struct steps *s, const struct cJSON *agg, const struct fe_agg *g)
{
    struct cJSON *arg = copy(s->d->a, agg, "arg");
    return g->arg->type.kind == HD_INT32 ? dist_cast(s->d->a, arg, hd_type_of(HD_INT64)) : arg;
}

static void sum(struct steps *s, const struct cJSON *agg, const struct fe_agg *g, const char *name)
{
    struct hd_arena *a = s->d->a;
    push_partial(s, agg, function(a, "sum", summed(s, agg, g), name));
    fe_push(s->final, function(a, "sum", dist_col(a, name), name));
    if (g->arg->type.kind == HD_INT32)
        push_expr(s, dist_cast(a, dist_col(a, name), g->type), name);
    else
        fe_push(s->exprs, fe_make_string(a, name));
}

/* Of no values: NULL, before anything is divided. */
static void avg(struct steps *s, const struct cJSON *agg, const struct fe_agg *g, const struct fe_column *column)
{
    struct hd_arena *a = s->d->a;
    const char *name = column->name, *rows = hd_asprintf(a, "%s#rows", name);
    push_partial(s, agg, function(a, "sum", summed(s, agg, g), name));
    push_partial(s, agg, function(a, "count", copy(a, agg, "arg"), rows));
    fe_push(s->final, function(a, "sum", dist_col(a, name), name));
    fe_push(s->final, function(a, "sum", dist_col(a, rows), rows));
    struct cJSON *n = hd_type_is_float(g->type) ? dist_cast(a, dist_col(a, rows), g->type) : dist_col(a, rows);
    struct cJSON *mean = dist_cast(a, dist_apply(a, "/", dist_col(a, name), n), g->type);
    if (column->nullable)
        mean = dist_apply(a, "case", dist_apply(a, ">", dist_col(a, rows), fe_make_string(a, "0")), mean);
    push_expr(s, mean, name);
}

static void nearest(struct steps *s, const struct cJSON *agg, const struct fe_agg *g, const char *name)
{
    struct hd_arena *a = s->d->a;
    const char *by = hd_asprintf(a, "%s#by", name), *fn = fe_member_text(agg, "fn");
    struct cJSON *f = function(a, fn, copy(a, agg, "arg"), name);
    fe_put(f, "by", copy(a, agg, "by"));
    push_partial(s, agg, f);
    push_partial(s, agg, function(a, g->fn == FE_AGG_ARG_MIN ? "min" : "max", copy(a, agg, "by"), by));
    f = function(a, fn, dist_col(a, name), name);
    fe_put(f, "by", dist_col(a, by));
    fe_push(s->final, f);
    fe_push(s->exprs, fe_make_string(a, name));
}

static void again(struct steps *s, const struct cJSON *agg, const char *name)
{
    struct hd_arena *a = s->d->a;
    push_partial(s, agg, function(a, fe_member_text(agg, "fn"), copy(a, agg, "arg"), name));
    fe_push(s->final, function(a, fe_member_text(agg, "fn"), dist_col(a, name), name));
    fe_push(s->exprs, fe_make_string(a, name));
}

/* The argument, NULL where the function's filter is not true, which no distinct function counts. */
static void distinct(struct steps *s, const struct cJSON *agg, const char *name)
{
    struct hd_arena *a = s->d->a;
    const char *value = hd_asprintf(a, "%s#value", name);
    struct cJSON *arg = copy(a, agg, "arg");
    if (fe_member(agg, "filter"))
        arg = dist_apply(a, "case", copy(a, agg, "filter"), arg);
    fe_push(s->keys, dist_as(a, arg, value));
    struct cJSON *f = function(a, fe_member_text(agg, "fn"), dist_col(a, value), name);
    fe_put(f, "distinct", fe_make_bool(a, true));
    fe_push(s->final, f);
    fe_push(s->exprs, fe_make_string(a, name));
}

static void add_function(struct steps *s, const struct cJSON *agg, int i)
{
    const struct fe_agg *g = &s->node->u.agg.aggs[i];
    const struct fe_column *column = &s->node->cols[s->node->u.agg.nkeys + i];
    if (g->fn == FE_AGG_GROUPING) {
        fe_push(s->final, fe_copy_json(s->d->a, agg));
        fe_push(s->exprs, fe_make_string(s->d->a, column->name));
    } else if (g->distinct && !s->own) {
        distinct(s, agg, column->name);
    } else if (g->fn == FE_AGG_COUNT_STAR || g->fn == FE_AGG_COUNT || g->fn == FE_AGG_COUNT_IF) {
        count(s, agg, column->name);
    } else if (g->fn == FE_AGG_SUM) {
        sum(s, agg, g, column->name);
    } else if (g->fn == FE_AGG_AVG) {
        avg(s, agg, g, column);
    } else if (g->fn == FE_AGG_ARG_MIN || g->fn == FE_AGG_ARG_MAX) {
        nearest(s, agg, g, column->name);
    } else {
        again(s, agg, column->name);
    }
}

static void push_keys(struct steps *s, struct cJSON *list)
{
    for (int i = 0; i < s->node->u.agg.nkeys; i++)
        fe_push(list, fe_make_string(s->d->a, s->node->cols[i].name));
}

static struct cJSON *partial_op(struct steps *s, struct dist_rel in)
{
    struct cJSON *v = dist_new_op(s->d->a, "aggregate", in.op);
    fe_put(v, "keys", s->keys);
    fe_put(v, "aggs", s->partial);
    return v;
}

static struct cJSON *final_op(struct steps *s, const struct cJSON *op, struct cJSON *input)
{
    struct hd_arena *a = s->d->a;
    struct cJSON *keys = fe_make_list(a), *v;
    push_keys(s, keys);
    v = dist_over(a, op, "input", input, "keys", "aggs", NULL); /* keeps the sets */
    fe_put(v, "keys", keys);
    fe_put(v, "aggs", s->final);
    if (!s->computes)
        return v;
    v = dist_new_op(a, "project", v);
    fe_put(v, "exprs", s->exprs);
    return v;
}

/* Group keys (their positions) by which rows can be shuffled, so that each worker has whole groups: one with values
 * enough, or all together. How many; 0: none. `columns`: they have to be columns of the input. */
static int shuffle_keys(struct dist *d, const struct fe_node *n, bool columns, int *found)
{
    int nkeys = n->u.agg.nsets ? 0 : n->u.agg.nkeys, all = 0;
    for (int i = 0; i < nkeys; i++) {
        if (columns && n->u.agg.keys[i]->op != FE_COL)
            continue;
        found[all++] = i;
        if (dist_divides(d, n->inputs[0], 1, &n->u.agg.keys[i])) {
            found[0] = i;
            return 1;
        }
    }
    struct fe_expr **keys = HD_NEWN(d->a, struct fe_expr *, all + 1);
    for (int i = 0; i < all; i++)
        keys[i] = n->u.agg.keys[found[i]];
    return all > 1 && dist_divides(d, n->inputs[0], all, keys) ? all : 0;
}

/* Of the partial step: a group for each value of what is distinct, of which there may be as many as there are rows. */
static double partial_rows(const struct dist *d, const struct steps *s)
{
    const struct fe_node *n = s->node;
    double rows = dist_rows(d, n->inputs[0]);
    for (int i = 0; i < n->u.agg.naggs && !s->own; i++)
        if (n->u.agg.aggs[i].distinct)
            return rows;
    return HD_MIN(dist_rows(d, n) * d->workers, rows);
}

/* The groups of all workers' partial steps: shuffled by keys, if the cut is one that does so, or together. The steps'
 * columns are those of their functions: all are read. */
static struct dist_rel bring_groups(struct dist *d, const struct fe_node *n, struct dist_rel part, double rows)
{
    int *keys = HD_NEWN(d->a, int, n->u.agg.nkeys + 1), nkeys = shuffle_keys(d, n, false, keys);
    d->may_part |= nkeys > 0;
    dist_groups(d, &part, n);
    part = nkeys && d->part_groups ? dist_shuffle_all(d, part, nkeys, keys, rows) : dist_cut_all(d, part, rows);
    dist_work(d, &part, rows);
    dist_groups(d, &part, n);
    return part;
}

static struct dist_rel two_steps(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel in)
{
    struct hd_arena *a = d->a;
    const struct cJSON *aggs = fe_member(op, "aggs"), *keys = fe_member(op, "keys");
    struct steps s = {d,
                      n,
                      keys ? fe_copy_json(a, keys) : fe_make_list(a),
                      fe_make_list(a),
                      fe_make_list(a),
                      fe_make_list(a),
                      false,
                      values_are_apart(d, &in, n)};
    int i = 0;
    push_keys(&s, s.exprs);
    for (const struct cJSON *g = fe_first_json(aggs); g; g = fe_next_json(g))
        add_function(&s, g, i++);
    struct dist_rel part = in;
    part.op = partial_op(&s, in);
    part.node = n;
    part = bring_groups(d, n, part, partial_rows(d, &s));
    return (struct dist_rel){.op = final_op(&s, op, part.op),
                             .node = n,
                             .split = part.split,
                             .by = part.by,
                             .way = part.way,
                             .state_bytes = part.state_bytes};
}

/* Rows of the input, whole groups on one worker. */
static struct dist_rel bring_rows(struct dist *d, const struct fe_node *n, struct dist_rel in)
{
    int *columns = HD_NEWN(d->a, int, n->u.agg.nkeys + 1), nkeys = shuffle_keys(d, n, true, columns);
    for (int i = 0; i < nkeys; i++)
        columns[i] = n->u.agg.keys[columns[i]]->col;
    return nkeys ? dist_spread(d, in, nkeys, columns, ++d->ways) : dist_whole(d, in);
}

/* As by_keys, after rows were brought: where none does, several keys say together where a group is. */
static bool *keys_or_none(struct dist *d, const struct dist_rel *in, const struct fe_node *n)
{
    bool *by = by_keys(d, in, n, n->u.agg.nkeys, n->u.agg.keys);
    return by ? by : HD_NEWN(d->a, bool, n->ncols + 1);
}

struct dist_rel dist_aggregate(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel in)
{
    dist_work(d, &in, dist_rows(d, n->inputs[0]));
    bool *by = in.split && n->u.agg.nsets == 0 ? by_keys(d, &in, n, n->u.agg.nkeys, n->u.agg.keys) : NULL;
    if (in.split && !by) {
        int *keys = HD_NEWN(d->a, int, n->u.agg.nkeys + 1);
        bool too_large = dist_exceeds(d, n) && shuffle_keys(d, n, true, keys);
        if (!too_large && all_in_two_steps(d, n) && (n->u.agg.nkeys || n->u.agg.naggs))
            return two_steps(d, op, n, in);
        in = bring_rows(d, n, in);
        by = in.split ? keys_or_none(d, &in, n) : NULL;
    } else if (!in.split && dist_in_passes(d) && dist_exceeds(d, n)) {
        in = bring_rows(d, n, in);
        by = in.split ? keys_or_none(d, &in, n) : NULL;
    }
    dist_groups(d, &in, n);
    return dist_result(d, op, n, &in, by);
}

struct dist_rel dist_distinct(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel in)
{
    bool *by = in.split ? by_keys(d, &in, n, n->u.agg.nkeys, n->u.agg.keys) : NULL;
    dist_work(d, &in, dist_rows(d, n->inputs[0]));
    if ((in.split ? !by : dist_in_passes(d)) && dist_exceeds(d, n)) {
        int *keys = HD_NEWN(d->a, int, n->u.agg.nkeys + 1);
        bool shuffled = shuffle_keys(d, n, true, keys) > 0;
        in = shuffled ? bring_rows(d, n, in) : in;
        by = shuffled ? keys_or_none(d, &in, n) : NULL;
    }
    if (in.split && !by) {
        in.node = n;
        in.op = dist_over(d->a, op, "input", in.op, NULL);
        in = bring_groups(d, n, in, HD_MIN(dist_rows(d, n) * d->workers, dist_rows(d, n->inputs[0])));
        by = in.by;
    }
    dist_groups(d, &in, n);
    return dist_result(d, op, n, &in, by);
}
