/* Groupings that are joined by a key get only rows of keys that the other side has: groups of others are dropped in the
 * end, so rows of others need not be grouped. A semi join below the grouping keeps those that count, as the magic sets of
 * Mumick, Finkelstein, Pirahesh and Ramakrishnan do (Magic is Relevant, SIGMOD 1990). The join above stays, and what the
 * rows come from is gone through twice, which costs less than what is saved. A grouping by no key, which has a row even if
 * its input has none, is left alone.
 *
 * The other side is a relation of the same query, or, where the grouping is part of a semi, anti or left join's right side,
 * relations on the left of that join, whose rows are all that is asked for on the right. Where it is a minimum or maximum that
 * is joined with few rows, a group counts only if a row of it has such a value. */
#include "planner/order_reduce.h"

#include "planner/cost.h"
#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/order_build.h"
#include "planner/order_facts.h"
#include "planner/order_flatten.h"
#include "planner/order_unique.h"
#include "planner/rewrite_node.h"

/* Rows that are left of a right side at most, as a share. */
static const double few = 0.2;

/* Can be there twice: scans and joins of them. */
static bool is_plain(const struct fe_node *n)
{
    bool plain = n->op == FE_SCAN_OP || n->op == FE_PROJECT_OP || n->op == FE_FILTER_OP || n->op == FE_JOIN_OP;
    for (int i = 0; i < n->ninputs && plain; i++)
        plain = is_plain(n->inputs[i]);
    return plain;
}

/* n with the grouping's input replaced. */
static struct fe_node *with_input(const struct order_query *q, const struct fe_node *n, const struct fe_node *grouping,
                                  struct fe_node *input)
{
    struct fe_node *to = hd_dup(q->a, n, sizeof *n);
    to->inputs = HD_NEWN(q->a, struct fe_node *, 1);
    to->inputs[0] = n == grouping ? input : with_input(q, n->inputs[0], grouping, input);
    return to;
}

/* Rows of n whose key is one of column `at` of `by`. */
static struct fe_node *semi_join(const struct order_query *q, struct fe_node *n, struct fe_expr *key,
                                 struct fe_node *by, int at)
{
    const struct rewriting w = {.a = q->a};
    struct fe_node *join = rw_join(&w, FE_SEMI, n, by, 0, NULL, key, at);
    join->id = (*q->next_id)++;
    return join;
}

/* ---- by a relation of the query ------------------------------------------------------------------------------------ */

/* Rows that come into the grouping of source s, 0: it is not there any more; and values of its key, if it has one. */
static double rows_grouped(const struct ctx *c, const struct order_source *s, double *values)
{
    const struct fe_node *grouping = order_grouping_below(s->inside);
    double rows = grouping ? est_rows(c, grouping->inputs[0]) : 0;
    *values = rows;
    if (grouping && grouping->u.agg.nkeys == 1) {
        double distinct = est_key(c, grouping->inputs[0], grouping->u.agg.keys[0]).distinct;
        *values = distinct < 0 ? rows : HD_MIN(rows, distinct);
    }
    return rows;
}

/* The input with a semi join, or as it is. also: keys that count alone, which then need not be looked for in the input; or
 * NULL. */
static struct fe_node *reduced_by(struct ctx *c, struct order_query *q, struct order_source *s, struct fe_node *input,
                                  const struct fe_expr *key, const struct order_member *by, struct fe_node *also)
{
    const struct order_source *x = &q->sources.v[by->relation];
    if (x->kind != FE_INNER || x == s || by->e->op != FE_COL || !is_plain(x->orig))
        return input;
    double scanned = order_rows_scanned(q->plan, x->orig), values, rows = rows_grouped(c, s, &values);
    if (!pl_worth_reducing(rows, values, order_share_left(c, q, by->relation), scanned))
        return input;
    struct fe_node *right = x->orig->op == FE_SCAN_OP ? order_filtered_scan(q, by->relation, x->orig)
                                                      : hd_dup(q->a, x->orig, sizeof *x->orig);
    const int at = by->e->col - x->base;
    if (also)
        right = semi_join(q, right, rw_column(&(struct rewriting){.a = q->a}, right, at), also, 0);
    struct fe_node *join = semi_join(q, input, hd_dup(q->a, key, sizeof *key), right, at);
    if (!order_may_flatten(q, join))
        return input;
    s->reduced_by |= order_of(by->relation);
    return join;
}

/* x and what its rows look up in tables of which filters leave few; *share: of x that is left, *scanned: rows of tables. */
static order_set left_relations(struct ctx *c, struct order_query *q, int x, double *share, double *scanned)
{
    order_set s = order_of(x);
    *share = order_share_left(c, q, x);
    *scanned = order_rows_scanned(q->plan, q->sources.v[x].orig);
    for (int i = 0; i < q->equals.n; i++) {
        const struct order_equals *e = &q->equals.v[i];
        for (int k = 0; k < e->members.n; k++)
            for (int m = 0; e->members.v[k].relation == x && m < e->members.n; m++) {
                const int y = e->members.v[m].relation;
                const struct order_source *of = &q->sources.v[y];
                bool *key = HD_NEWN(q->a, bool, of->orig->ncols + 1);
                if ((s & order_of(y)) || of->kind != FE_INNER || of->orig->op != FE_SCAN_OP ||
                    e->members.v[m].e->op != FE_COL)
                    continue;
                key[e->members.v[m].e->col - of->base] = true;
                if (!order_is_unique(q->plan, of->orig, key) || order_share_left(c, q, y) > few)
                    continue;
                *share *= order_share_left(c, q, y);
                *scanned += order_rows_scanned(q->plan, of->orig);
                s |= order_of(y);
            }
    }
    return s;
}

/* Values of a column of these relations, once they are joined; without conditions that may raise. */
static struct fe_node *values_of(const struct order_query *q, order_set of, struct fe_expr *column)
{
    struct order_query certain = *q;
    certain.last.n = 0;
    return order_part(&certain, of, 1, &column, &q->columns.v[column->col].c);
}

/* ---- by a minimum or maximum ----------------------------------------------------------------------------------------- */

/* What column i of n is the minimum or maximum of; NULL: something else. */
static const struct fe_expr *extreme_of(const struct fe_node *n, const struct fe_node *grouping, int i)
{
    i = order_group_column(n, grouping, i);
    if (i < grouping->u.agg.nkeys) /* a key, or an expression */
        return NULL;
    const struct fe_agg *a = &grouping->u.agg.aggs[i - grouping->u.agg.nkeys];
    return (a->fn == FE_AGG_MIN || a->fn == FE_AGG_MAX) && !a->filter && !lx_may_fail(a->arg) ? a->arg : NULL;
}

/* Keys of groups that have a row with one of the values. A value that is NULL unless a condition holds is a filter. */
static struct fe_node *keys_with(const struct order_query *q, const struct fe_node *grouping, const struct fe_expr *arg,
                                 struct fe_node *values)
{
    const struct rewriting w = {.a = q->a};
    const struct fe_expr *key = grouping->u.agg.keys[0];
    struct fe_node *in = hd_dup(q->a, grouping->inputs[0], sizeof *in);
    for (; in->op == FE_PROJECT_OP; in = in->inputs[0]) {
        arg = order_put_in(q, arg, in->u.project.exprs);
        key = order_put_in(q, key, in->u.project.exprs);
    }
    if (arg->op == FE_CASE && arg->nargs == 2) {
        struct fe_node *filter = rw_node(&w, FE_FILTER_OP, in, 1, in, NULL);
        rw_set_columns(&w, filter, in);
        filter->id = (*q->next_id)++;
        filter->u.filter.pred = arg->args[0];
        in = filter;
        arg = arg->args[1];
    }
    struct fe_node *join = semi_join(q, in, hd_dup(q->a, arg, sizeof *arg), values, 0),
                   *n = rw_node(&w, FE_PROJECT_OP, grouping, 1, join, NULL);
    n->id = (*q->next_id)++;
    n->ncols = 1;
    n->cols = hd_dup(q->a, grouping->cols, sizeof *n->cols);
    n->u.project.exprs = HD_NEWN(q->a, struct fe_expr *, 1);
    n->u.project.exprs[0] = hd_dup(q->a, key, sizeof *key);
    return n;
}

/* Keys of the only groups of source s that count, as its column `own` equals one of x; NULL: nothing is known of them. */
static struct fe_node *keys_that_count(struct ctx *c, struct order_query *q, const struct order_source *s,
                                       const struct order_member *own, const struct order_member *by)
{
    const struct order_source *x = &q->sources.v[by->relation];
    const struct fe_node *grouping = order_grouping_below(s->orig);
    const struct fe_expr *arg = own->e->op == FE_COL ? extreme_of(s->orig, grouping, own->e->col - s->base) : NULL;
    double share, scanned, values, rows = rows_grouped(c, s, &values);
    if (!arg || x == s || x->kind != FE_INNER || x->orig->op != FE_SCAN_OP || by->e->op != FE_COL ||
        grouping->u.agg.nkeys != 1 || lx_may_fail(grouping->u.agg.keys[0]) || !is_plain(grouping->inputs[0]))
        return NULL;
    order_set of = left_relations(c, q, by->relation, &share, &scanned);
    scanned += order_rows_scanned(q->plan, grouping->inputs[0]);
    if (share > few || !pl_worth_reducing(rows, values, HD_MIN(1, share * rows / HD_MAX(1, values)), scanned))
        return NULL;
    return keys_with(q, grouping, arg, values_of(q, of, by->e));
}

static struct fe_node *find_keys(struct ctx *c, struct order_query *q, int r)
{
    struct fe_node *keys = NULL;
    for (int i = 0; i < q->equals.n && !keys; i++) {
        const struct order_equals *e = &q->equals.v[i];
        for (int k = 0; k < e->members.n; k++)
            for (int m = 0; e->members.v[k].relation == r && m < e->members.n && !keys; m++)
                keys = keys_that_count(c, q, &q->sources.v[r], &e->members.v[k], &e->members.v[m]);
    }
    return keys;
}

/* By one relation for each key. */
static void reduce(struct ctx *c, struct order_query *q, int r)
{
    struct order_source *s = &q->sources.v[r];
    const struct fe_node *grouping = order_grouping_below(s->orig);
    struct fe_node *input = grouping->inputs[0], *keys = find_keys(c, q, r);
    for (int i = 0; i < q->equals.n; i++) {
        const struct order_equals *e = &q->equals.v[i];
        const struct fe_expr *key = NULL;
        struct fe_node *was = input;
        for (int k = 0; k < e->members.n && !key; k++)
            if (e->members.v[k].relation == r && e->members.v[k].e->op == FE_COL)
                key = order_group_key(s->orig, grouping, e->members.v[k].e->col - s->base);
        for (int m = 0; key && m < e->members.n && input == was; m++)
            input = reduced_by(c, q, s, input, key, &e->members.v[m], keys);
        keys = input == was ? keys : NULL;
    }
    if (keys) {
        const struct fe_expr *key = grouping->u.agg.keys[0];
        input = semi_join(q, input, hd_dup(q->a, key, sizeof *key), keys, 0);
        input->u.join.null_equal[0] = true;
    }
    if (input != grouping->inputs[0])
        s->n = s->inside = q->inside(q->data, with_input(q, s->orig, grouping, input));
}

/* ---- by the left side of a join -------------------------------------------------------------------------------------- */

static bool has_grouping(const struct fe_node *n)
{
    bool found = order_grouping_below(n) != NULL;
    bool looks = n->op == FE_PROJECT_OP || n->op == FE_FILTER_OP || n->op == FE_JOIN_OP;
    for (int i = 0; looks && i < n->ninputs && !found; i++)
        found = has_grouping(n->inputs[i]);
    return found;
}

/* What is compared with column `own` of the right side, of a table; NULL: something else. */
static struct fe_expr *left_of(const struct order_query *q, const struct order_term *t, int r)
{
    const int own = t->of[1] == order_of(r);
    if (t->owner != r || !t->sides[0] || t->null_equal || t->of[own] != order_of(r) || t->sides[own]->op != FE_COL ||
        t->sides[!own]->op != FE_COL)
        return NULL;
    const struct order_source *x = &q->sources.v[q->columns.v[t->sides[!own]->col].relation];
    return x->kind == FE_INNER && x->orig->op == FE_SCAN_OP ? t->sides[!own] : NULL;
}

static void reduce_right(struct ctx *c, struct order_query *q, int r)
{
    struct order_source *s = &q->sources.v[r];
    for (int i = 0; i < q->terms.n; i++) {
        const struct order_term *t = &q->terms.v[i];
        struct fe_expr *left = left_of(q, t, r);
        double share, scanned, rows = order_rows_scanned(q->plan, s->orig);
        if (!left)
            continue;
        order_set of = left_relations(c, q, q->columns.v[left->col].relation, &share, &scanned);
        if (share > few || !pl_worth_reducing(rows, rows, share, scanned))
            continue;
        const struct fe_expr *own = t->sides[t->of[1] == order_of(r)];
        struct fe_node *by = values_of(q, of, left);
        struct fe_expr *key = hd_dup(q->a, own, sizeof *own);
        key->col -= s->base;
        s->n = s->inside = q->inside(q->data, semi_join(q, hd_dup(q->a, s->orig, sizeof *s->orig), key, by, 0));
        return;
    }
}

void order_reduce(struct ctx *c, struct order_query *q)
{
    for (int i = 0; i < q->sources.n; i++) {
        const struct order_source *s = &q->sources.v[i];
        if (s->kind == FE_INNER && order_grouping_below(s->orig))
            reduce(c, q, i);
        if ((s->kind == FE_SEMI || s->kind == FE_ANTI || s->kind == FE_LEFT) && has_grouping(s->orig))
            reduce_right(c, q, i);
    }
}
