/* Operators of a plan, each by where the rows of its inputs are. */
#include "planner/distribute_walk.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/json.h"
#include "frontend/json_make.h"
#include "planner/distribute_agg.h"
#include "planner/distribute_join.h"
#include "planner/distribute_own.h"
#include "planner/distribute_pairs.h"

/* ---- typed nodes of operators ------------------------------------------------------------------------------------- */

static bool same_op(const struct fe_node *a, const struct fe_node *b)
{
    return strcmp(a->path, b->path) == 0;
}

/* n is of the operator at that path, or below it. */
static bool is_at(const struct fe_node *n, const char *path)
{
    size_t length = strlen(path);
    return strncmp(n->path, path, length) == 0 && strchr(".[", n->path[length]) != NULL;
}

/* Some operators are several typed nodes, one above the other, joins with subplans of expressions lie below them, and a
 * filter may be such a join alone. The topmost node of the operator at `path`, from top's input number i downwards. */
static const struct fe_node *below(const struct fe_node *top, int i, const char *path)
{
    const struct fe_node *n = top->inputs[i];
    while (!is_at(n, path))
        n = n->inputs[0];
    return n;
}

/* The node of kind `op` among those of top's path. */
static const struct fe_node *find_kind(const struct fe_node *top, enum fe_relop op)
{
    const struct fe_node *n = top;
    while (n->op != op && n->ninputs && same_op(n->inputs[0], top))
        n = n->inputs[0];
    HD_ASSERT(n->op == op);
    return n;
}

static const struct fe_node *find_path(const struct fe_node *n, const char *path)
{
    const struct fe_node *found = is_at(n, path) ? n : NULL;
    for (int i = 0; i < n->ninputs && !found; i++)
        found = find_path(n->inputs[i], path);
    return found;
}

static struct dist_rel walk(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path);

static struct dist_rel member_of(struct dist *d, const struct cJSON *op, const struct fe_node *top, int i,
                                 const char *path)
{
    return dist_walk(d, op, below(top, i, path), path);
}

/* For an operator that leaves it a table's, if it is one's. */
static struct dist_rel table_of_input(struct dist *d, const struct cJSON *op, const struct fe_node *top,
                                      const char *path)
{
    path = hd_asprintf(d->a, "%s.input", path);
    return walk(d, fe_member(op, "input"), below(top, 0, path), path);
}

static struct dist_rel input_of(struct dist *d, const struct cJSON *op, const struct fe_node *top, const char *path)
{
    return member_of(d, fe_member(op, "input"), top, 0, hd_asprintf(d->a, "%s.input", path));
}

/* ---- rows one by one ------------------------------------------------------------------------------------------------- */

/* The columns of the input come first. */
static bool *first_columns(struct dist *d, const struct dist_rel *in, const struct fe_node *n)
{
    bool *by = HD_NEWN(d->a, bool, n->ncols + 1);
    for (int i = 0; i < in->node->ncols && in->split; i++)
        by[i] = in->by[i];
    return by;
}

static void spread_by(struct dist *d, struct dist_rel *rel, int column)
{
    const struct fe_node *n = rel->node;
    rel->split = true;
    rel->by = HD_NEWN(d->a, bool, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++)
        rel->by[i] = n->u.scan.columns[i] == column;
}

static int way_of(struct dist *d, struct fe_key_place key)
{
    int k = 0;
    while (k < d->keys.n && (d->keys.v[k].table != key.table || d->keys.v[k].column != key.column))
        k++;
    if (k == d->keys.n)
        hd_vec_push(d->a, &d->keys, key);
    return -1 - k;
}

/* Tables that are cut by one key have the rows of one value in segments of one number. */
static struct dist_rel scan_segments(struct dist *d, struct dist_rel out, const struct fe_table *t)
{
    d->cost += (double)t->rows / d->workers;
    spread_by(d, &out, t->cut);
    if (t->cut >= 0)
        out.way = way_of(d, fe_key_root((struct fe_key_place){t, t->cut}));
    return out;
}

static struct dist_rel scan(struct dist *d, const struct cJSON *op, const struct fe_node *n)
{
    const struct fe_table *t = n->u.scan.table;
    int column = d->scheme ? pl_scheme_column(d->scheme, t) : -1;
    double rows = (double)t->rows;
    struct dist_rel out = {.op = fe_copy_json(d->a, op), .node = n, .plain = true, .of_table = true};
    if (d->segments && t->nsegments)
        return scan_segments(d, out, t);
    if (column < 0) {
        out.pending = rows;
        dist_read(d, n, DIST_WHOLE);
        return out;
    }
    bool ends = pl_scheme_is_sorted(t, column) && !d->scheme->hashed;
    out.pending = (ends ? 0 : dist_tested(d) * rows) + rows / d->workers;
    dist_read(d, n, ends ? 1.0 / d->workers : 1);
    struct cJSON *own = pl_scheme_condition(d->a, d->scheme, t, column, d->workers, d->param_prefix);
    const struct cJSON *filter = fe_member(op, "filter");
    out.op =
        dist_over(d->a, op, "filter", filter ? dist_apply(d->a, "and", own, fe_copy_json(d->a, filter)) : own, NULL);
    spread_by(d, &out, column);
    return out;
}

static bool has_subplan(const struct cJSON *v)
{
    if (fe_member(v, "plan"))
        return true;
    for (const struct cJSON *m = fe_first_json(v); m; m = fe_next_json(m))
        if (has_subplan(m))
            return true;
    return false;
}

static const struct fe_node *subplan_node(const struct dist *d, const char *path)
{
    const struct fe_node *n = find_path(d->plan->root, path);
    for (int i = 0; i < d->plan->nshared && !n; i++)
        n = find_path(d->plan->shared[i], path);
    HD_ASSERT(n);
    return n;
}

/* A copy of an expression whose subplans every worker has that computes `rel`, the operator around it. */
static struct cJSON *with_subplans(struct dist *d, const struct cJSON *v, const char *path, struct dist_rel *rel)
{
    struct cJSON *out;
    int i = 0;
    if (!has_subplan(v))
        return fe_copy_json(d->a, v);
    bool list = fe_is_list(v);
    out = list ? fe_make_list(d->a) : fe_make_object(d->a);
    for (const struct cJSON *m = fe_first_json(v); m; m = fe_next_json(m)) {
        const char *at = list ? hd_asprintf(d->a, "%s[%d]", path, i++) : hd_asprintf(d->a, "%s.%s", path, fe_key_of(m));
        struct cJSON *x;
        if (!list && strcmp(fe_key_of(m), "plan") == 0) {
            struct dist_rel sub = dist_whole(d, dist_walk(d, m, subplan_node(d, at), at));
            sub = rel->split ? dist_everywhere(d, sub) : sub;
            rel->plain &= sub.plain;
            x = sub.op;
        } else {
            x = with_subplans(d, m, at, rel);
        }
        if (list)
            fe_push(out, x);
        else
            fe_put(out, fe_key_of(m), x);
    }
    return out;
}

static struct dist_rel over_input(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel in,
                                  const char *path, const char *expressions)
{
    struct dist_rel out = in;
    struct cJSON *exprs =
        with_subplans(d, fe_member(op, expressions), hd_asprintf(d->a, "%s.%s", path, expressions), &out);
    out.op = dist_over(d->a, op, "input", in.op, expressions, NULL);
    fe_put(out.op, expressions, exprs);
    out.node = n;
    if (out.of_table)
        out.pending += dist_rows(d, in.node) / (out.split ? d->workers : 1);
    else
        dist_work(d, &out, dist_rows(d, in.node));
    return out;
}

/* Subplans are joins. */
static struct dist_rel rows_one_by_one(struct dist *d, const struct cJSON *op, const struct fe_node *n,
                                       const char *path, const char *expressions)
{
    return has_subplan(fe_member(op, expressions)) ? input_of(d, op, n, path) : table_of_input(d, op, n, path);
}

static struct dist_rel filter(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    struct dist_rel in = rows_one_by_one(d, op, n, path, "pred");
    struct dist_rel out = over_input(d, op, n, in, path, "pred");
    out.by = first_columns(d, &in, n);
    return out;
}

static struct dist_rel project(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    struct dist_rel in = rows_one_by_one(d, op, n, path, "exprs");
    struct dist_rel out = over_input(d, op, n, in, path, "exprs");
    const struct fe_node *p = find_kind(n, FE_PROJECT_OP);
    if (p->inputs[0]->op == FE_PROJECT_OP && same_op(p->inputs[0], n))
        p = p->inputs[0]; /* an input of a union, cast to its types */
    if (in.split)
        out.by = HD_NEWN(d->a, bool, n->ncols + 1);
    for (int i = 0; i < n->ncols && in.split; i++) {
        const struct fe_expr *e = p->u.project.exprs[i];
        out.by[i] = e->op == FE_COL && e->col < in.node->ncols && in.by[e->col];
    }
    return out;
}

static struct dist_rel repeat(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    struct dist_rel in = input_of(d, op, n, path), out = in;
    out.op = dist_over(d->a, op, "input", in.op, NULL);
    out.node = n;
    out.by = first_columns(d, &in, n);
    dist_work(d, &out, dist_rows(d, n));
    return out;
}

static struct dist_rel values(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    if (fe_member(op, "input"))
        return repeat(d, op, n, path);
    return (struct dist_rel){.op = fe_copy_json(d->a, op), .node = n, .plain = true};
}

/* ---- shared subplans ---------------------------------------------------------------------------------------------------- */

static int count_refs(const struct cJSON *v, const char *name)
{
    const char *op = fe_member_text(v, "op"), *to = fe_member_text(v, "name");
    int n = op && to && strcmp(op, "ref") == 0 && strcmp(to, name) == 0;
    for (const struct cJSON *m = fe_first_json(v); m; m = fe_next_json(m))
        n += count_refs(m, name);
    return n;
}

static const char *shared_path(const struct dist *d, const char *name)
{
    struct fe_json_reader reader = {.arena = d->a};
    struct fe_json root = {.index = -1, .r = &reader}, shared = {.up = &root, .key = "shared", .r = &reader};
    struct fe_json member = {.up = &shared, .key = name, .r = &reader};
    return fe_json_path(&member);
}

/* What is not plain is computed once, so that all who refer to it see the same rows. */
static struct dist_shared *share(struct dist *d, int i)
{
    struct dist_shared *s = &d->shared[i];
    const char *name = d->plan->shared_names[i];
    if (s->done)
        return s;
    s->rel = dist_walk(d, fe_member(fe_member(d->tree, "shared"), name), d->plan->shared[i], shared_path(d, name));
    s->done = true;
    if (d->workers > 1 && !s->rel.plain && count_refs(d->tree, name) > 1) {
        s->rel = dist_cut(d, s->rel, s->rel.split ? DIST_KEEP : DIST_GATHER, dist_rows(d, s->rel.node));
        s->cut = true;
    }
    return s;
}

static struct dist_rel ref(struct dist *d, const struct cJSON *op, const struct fe_node *n)
{
    const struct dist_shared *s = share(d, n->u.ref.shared);
    struct dist_rel out = s->rel;
    out.node = n;
    out.op = fe_copy_json(d->a, s->cut ? s->rel.op : op);
    if (s->cut && fe_member(op, "alias"))
        fe_put(out.op, "alias", fe_copy_json(d->a, fe_member(op, "alias")));
    return out;
}

/* ---- orders ------------------------------------------------------------------------------------------------------------- */

/* The operator of a worker: as many rows as all together have in front. */
static struct cJSON *first_rows(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct cJSON *input)
{
    hd_i128 rows = (hd_i128)fe_limit(n) + fe_offset(n);
    struct cJSON *v = dist_over(d->a, op, "input", input, "limit", "offset", NULL);
    fe_put(v, "limit", fe_make_text(d->a, hd_asprintf(d->a, "%" PRId64, (int64_t)HD_MIN(rows, INT64_MAX))));
    return v;
}

/* Sort, limit, top: of n the node of that kind. by: no worker needs another's rows. */
static struct dist_rel ordered(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel in,
                               bool *by)
{
    double rows = dist_rows(d, in.node), out_rows = dist_rows(d, n);
    bool on = n->op == FE_TOP_OP && !fe_member(op, "limit"); /* distinct on */
    dist_work(d, &in, rows);
    if (in.split && !by && fe_limit(n) >= 0) {
        in.op = on ? dist_over(d->a, op, "input", in.op, NULL) : first_rows(d, op, n, in.op);
        in = dist_cut_all(d, in, HD_MIN(rows, out_rows * d->workers));
    } else if (in.split && !by) {
        in = dist_whole(d, in);
    }
    dist_state(d, &in, n);
    return dist_result(d, op, n, &in, by);
}

/* The rows of a worker come before those of the next one: it has a range of the first key, as the result shows them. */
static bool ranges_follow(const struct dist *d, const struct dist_rel *in, const struct fe_node *n)
{
    const struct fe_expr *key = n == d->shown_sort ? n->u.sort.keys[0].expr : NULL;
    return key && in->split && in->way == 0 && d->scheme->in_order && key->op == FE_COL && in->by[key->col];
}

static struct dist_rel sort(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    struct dist_rel in = input_of(d, op, n, path);
    return ordered(d, op, n, in, ranges_follow(d, &in, n) ? first_columns(d, &in, n) : NULL);
}

/* A limit of a sort without one: each worker has that limit's rows in front. */
static struct dist_rel limit(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    const struct cJSON *sorted = fe_member(op, "input");
    const char *name = fe_member_text(sorted, "op");
    if (strcmp(name, fe_relop_name(FE_SORT_OP)) != 0 || fe_member(sorted, "limit") || fe_member(sorted, "offset"))
        return sort(d, op, n, path);
    path = hd_asprintf(d->a, "%s.input", path);
    const struct fe_node *s = find_kind(below(n, 0, path), FE_SORT_OP);
    struct dist_rel in = input_of(d, sorted, s, path);
    dist_work(d, &in, dist_rows(d, in.node));
    if (in.split) {
        in.op = first_rows(d, sorted, n, in.op);
        in = dist_cut_all(d, in, HD_MIN(dist_rows(d, in.node), dist_rows(d, n) * d->workers));
    }
    struct cJSON *all = dist_over(d->a, sorted, "input", in.op, NULL);
    dist_state(d, &in, in.node);
    return (struct dist_rel){.op = dist_over(d->a, op, "input", all, NULL), .node = n, .state_bytes = in.state_bytes};
}

static bool keyed_by(const struct dist_rel *in, const struct fe_node *n)
{
    for (int i = 0; i < n->u.sort.ngroup; i++) {
        const struct fe_expr *e = n->u.sort.keys[i].expr;
        if (e->op == FE_COL && e->col < in->node->ncols && in->by[e->col])
            return true;
    }
    return false;
}

static struct dist_rel top(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    struct dist_rel in = input_of(d, op, n, path);
    const struct fe_node *t = find_kind(n, FE_TOP_OP);
    return ordered(d, op, t, in, in.split && keyed_by(&in, t) ? first_columns(d, &in, n) : NULL);
}

static struct dist_rel distinct(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    if (fe_member(op, "on"))
        return top(d, op, n, path);
    const struct fe_node *k = find_kind(n, FE_DISTINCT_OP);
    return dist_distinct(d, op, k, input_of(d, op, k, path));
}

/* Every window's partitions are on one worker each. */
static bool partitions_meet(const struct dist_rel *in, const struct fe_node *top)
{
    for (const struct fe_node *n = top; same_op(n, top); n = n->inputs[0])
        if (n->op == FE_WINDOW_OP && !keyed_by(in, n))
            return false;
    return true;
}

/* Shuffled by a column that all partitions have as a key, or by all such columns together; else brought together. */
static struct dist_rel window_rows(struct dist *d, struct dist_rel in, const struct fe_node *top)
{
    int all = 0, *columns = HD_NEWN(d->a, int, in.node->ncols + 1);
    struct fe_expr **keys = HD_NEWN(d->a, struct fe_expr *, in.node->ncols + 1);
    for (int i = 0; i < in.node->ncols; i++) {
        struct dist_rel by = in;
        by.by = HD_NEWN(d->a, bool, in.node->ncols + 1);
        by.by[i] = true;
        if (!partitions_meet(&by, top))
            continue;
        columns[all] = i;
        keys[all] = HD_NEW(d->a, struct fe_expr);
        *keys[all] = (struct fe_expr){.op = FE_COL, .col = i};
        if (dist_divides(d, in.node, 1, &keys[all]))
            return dist_spread(d, in, 1, &i, ++d->ways);
        all++;
    }
    if (all > 1 && dist_divides(d, in.node, all, keys))
        return dist_spread(d, in, all, columns, ++d->ways);
    return dist_whole(d, in);
}

static struct dist_rel window(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    struct dist_rel in = input_of(d, op, n, path);
    if (in.split ? !partitions_meet(&in, n) : dist_exceeds(d, n) && dist_in_passes(d))
        in = window_rows(d, in, n);
    dist_work(d, &in, dist_rows(d, n));
    dist_state(d, &in, n);
    return (struct dist_rel){.op = dist_over(d->a, op, "input", in.op, NULL),
                             .node = n,
                             .split = in.split,
                             .by = first_columns(d, &in, n),
                             .way = in.way,
                             .state_bytes = in.state_bytes};
}

static struct dist_rel join(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    const char *left = hd_asprintf(d->a, "%s.left", path), *right = hd_asprintf(d->a, "%s.right", path);
    struct dist_rel l = walk(d, fe_member(op, "left"), below(n, 0, left), left);
    return dist_join(d, op, n, l, walk(d, fe_member(op, "right"), below(n, 1, right), right));
}

/* ---- sets --------------------------------------------------------------------------------------------------------------- */

struct inputs {
    int n;
    struct dist_rel *v;
    bool split, plain; /* all of them */
    bool *by; /* columns that say of all inputs on which worker a row is */
    bool any_by;
};

static struct inputs read_inputs(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    struct inputs in = {n->ninputs, HD_NEWN(d->a, struct dist_rel, n->ninputs), true,
                        true,       HD_NEWN(d->a, bool, n->ncols + 1),          false};
    bool one_way = true;
    int k = 0;
    for (const struct cJSON *m = fe_first_json(fe_member(op, "inputs")); m; m = fe_next_json(m), k++) {
        in.v[k] = member_of(d, m, n, k, hd_asprintf(d->a, "%s.inputs[%d]", path, k));
        in.split &= in.v[k].split;
        in.plain &= in.v[k].plain;
    }
    for (k = 1; k < in.n; k++)
        one_way &= in.v[k].way == in.v[0].way;
    for (int i = 0; i < n->ncols && in.split && one_way; i++) {
        in.by[i] = true;
        for (k = 0; k < in.n; k++)
            in.by[i] &= in.v[k].by[i];
        in.any_by |= in.by[i];
    }
    return in;
}

/* split: each worker has the operator's rows of its inputs' rows. */
static struct dist_rel of_inputs(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct inputs *in,
                                 bool split)
{
    struct cJSON *list = fe_make_list(d->a);
    double state = 0;
    for (int k = 0; k < in->n; k++) {
        if (!split)
            in->v[k] = dist_whole(d, in->v[k]);
        dist_work(d, &in->v[k], dist_rows(d, in->v[k].node));
        if (n->op != FE_UNION_ALL_OP)
            dist_state(d, &in->v[k], in->v[k].node);
        state = HD_MAX(state, in->v[k].state_bytes);
        fe_push(list, in->v[k].op);
    }
    return (struct dist_rel){.op = dist_over(d->a, op, "inputs", list, NULL),
                             .node = n,
                             .split = split,
                             .by = split ? in->by : NULL,
                             .way = in->v[0].way,
                             .state_bytes = state};
}

static struct dist_rel union_all(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    struct inputs in = read_inputs(d, op, n, path);
    struct dist_rel out = of_inputs(d, op, n, &in, in.split);
    out.plain = in.plain;
    return out;
}

/* Workers' rows without duplicates, then those of all. */
static struct dist_rel union_distinct(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    struct inputs in = read_inputs(d, op, n, path);
    struct dist_rel out = of_inputs(d, op, n, &in, in.split);
    if (!in.split || in.any_by)
        return out;
    out = dist_cut_all(d, out, dist_rows(d, n));
    dist_state(d, &out, n);
    return (struct dist_rel){.op = dist_new_op(d->a, "distinct", out.op), .node = n, .state_bytes = out.state_bytes};
}

static struct dist_rel difference(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    struct inputs in = read_inputs(d, op, n, path);
    return of_inputs(d, op, n, &in, in.split && in.any_by);
}

/* ---- all --------------------------------------------------------------------------------------------------------------- */

static struct dist_rel walk(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    const char *name = fe_member_text(op, "op");
    enum fe_relop kind = 0;
    while (strcmp(fe_relop_name(kind), name) != 0)
        kind++;
    switch (kind) {
    case FE_SCAN_OP: return scan(d, op, find_kind(n, kind));
    case FE_REF_OP: return ref(d, op, find_kind(n, kind));
    case FE_FILTER_OP: return filter(d, op, n, path);
    case FE_PROJECT_OP: return project(d, op, n, path);
    case FE_JOIN_OP: return join(d, op, find_kind(n, kind), path);
    case FE_PAIRS_OP: return dist_pairs(d, op, find_kind(n, kind), input_of(d, op, find_kind(n, kind), path));
    case FE_AGGREGATE_OP: return dist_aggregate(d, op, find_kind(n, kind), input_of(d, op, find_kind(n, kind), path));
    case FE_DISTINCT_OP: return distinct(d, op, n, path);
    case FE_SORT_OP: return sort(d, op, find_kind(n, kind), path);
    case FE_LIMIT_OP: return limit(d, op, find_kind(n, kind), path);
    case FE_TOP_OP: return top(d, op, n, path);
    case FE_WINDOW_OP: return window(d, op, n, path);
    case FE_UNION_ALL_OP: return union_all(d, op, find_kind(n, kind), path);
    case FE_UNION_OP: return union_distinct(d, op, find_kind(n, kind), path);
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP: return difference(d, op, find_kind(n, kind), path);
    case FE_REPEAT_OP: return repeat(d, op, n, path);
    case FE_VALUES_OP: return values(d, op, n, path);
    case FE_RELOP_COUNT: break;
    }
    HD_BUG("operator %d", (int)kind);
}

struct dist_rel dist_walk(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path)
{
    return dist_settle(d, walk(d, op, n, path), DIST_ALL);
}
