/* NULLs do not count, so a filter is `case when filter then argument end`: an argument that may raise does so only in
 * rows that the filter lets through. Of arg_min and arg_max it is `by` whose NULLs do not count. A condition is counted
 * by a value that is there where it holds; bool_and and bool_or are the minimum and maximum of its ordinal. bit_and is bit_or
 * of what the values lack, and what that lacks. approx_count_distinct of many groups is exact: registers for each would
 * cost more. */
#include "planner/rewrite_aggs.h"

#include "planner/rewrite_ordinals.h"
#include "planner/typed.h"

enum { FEW_GROUPS = 64 };

static bool is_of_bool(const struct fe_agg *a)
{
    return a->fn == FE_AGG_BOOL_AND || a->fn == FE_AGG_BOOL_OR;
}

bool rw_has_filters(const struct fe_node *n)
{
    bool found = false;
    for (int i = 0; n->op == FE_AGGREGATE_OP && i < n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        found |= a->fn == FE_AGG_APPROX_COUNT_DISTINCT && n->u.agg.nkeys;
        found |= a->filter || a->fn == FE_AGG_COUNT_IF || a->fn == FE_AGG_BIT_AND || is_of_bool(a);
    }
    return found;
}

static struct fe_expr *when(const struct rewriting *w, struct fe_expr *condition, struct fe_expr *e)
{
    return condition ? pl_expr_node(w->a, FE_CASE, e->type, true, e->path, 2, condition, e) : e;
}

static struct fe_expr *complement(const struct rewriting *w, struct fe_expr *e)
{
    return pl_expr_node(w->a, FE_BIT_NOT, e->type, e->nullable, e->path, 1, e, NULL);
}

static struct fe_expr *truth(const struct rewriting *w, const char *path)
{
    struct fe_expr *e = pl_expr_node(w->a, FE_LIT, hd_type_of(HD_BOOL), false, path, 0, NULL, NULL);
    e->value = (struct fe_value){.type = e->type, .i = 1};
    return e;
}

/* By facts about the keys' columns: so many groups may have registers. */
static bool has_few_groups(const struct rewriting *w, const struct fe_node *n)
{
    double groups = 1;
    for (int i = 0; i < n->u.agg.nkeys && groups >= 0; i++) {
        double values = rw_distinct(w, n->inputs[0], n->u.agg.keys[i]);
        groups = values < 0 ? -1 : groups * values;
    }
    return groups >= 0 && groups <= FEW_GROUPS;
}

static void say(const struct rewriting *w, const struct fe_node *n, struct fe_agg *a)
{
    if (a->fn == FE_AGG_APPROX_COUNT_DISTINCT && !has_few_groups(w, n)) {
        a->fn = FE_AGG_COUNT;
        a->distinct = true;
    }
    if (a->fn == FE_AGG_COUNT_IF) {
        a->arg = when(w, a->arg, truth(w, a->path));
        a->fn = FE_AGG_COUNT;
    } else if (a->fn == FE_AGG_COUNT_STAR && a->filter) {
        a->arg = truth(w, a->path);
        a->fn = FE_AGG_COUNT;
    } else if (a->fn == FE_AGG_BIT_AND) {
        a->arg = complement(w, a->arg);
        a->fn = FE_AGG_BIT_OR;
    } else if (is_of_bool(a)) {
        a->type = hd_decimal(HD_DEC_MAX, 0);
        a->arg = pl_expr_node(w->a, FE_ORDINAL, a->type, a->arg->nullable, a->path, 1, a->arg, NULL);
        a->fn = a->fn == FE_AGG_BOOL_AND ? FE_AGG_MIN : FE_AGG_MAX;
    }
    if (fe_agg_is_ordered(a->fn)) /* of rows in an order: planner/rewrite_ordered.c */
        return;
    if (a->filter) {
        a->arg = when(w, a->filter, a->arg);
        a->by = a->by ? when(w, a->filter, a->by) : NULL;
    }
    a->filter = NULL;
}

/* Ordinals of bool become bool again, what bits lack those that they have. */
static struct fe_node *results(const struct rewriting *w, const struct fe_node *n, struct fe_node *groups)
{
    struct fe_node *p = rw_node(w, FE_PROJECT_OP, n, 1, groups, NULL);
    rw_set_columns(w, p, n);
    p->u.project.exprs = rw_columns(w, groups);
    for (int i = 0; i < n->u.agg.naggs; i++) {
        struct fe_expr **e = &p->u.project.exprs[n->u.agg.nkeys + i];
        if (n->u.agg.aggs[i].fn == FE_AGG_BIT_AND)
            *e = complement(w, *e);
        if (is_of_bool(&n->u.agg.aggs[i]))
            *e = pl_expr_node(w->a, FE_OF_ORDINAL, hd_type_of(HD_BOOL), (*e)->nullable, (*e)->path, 1, *e, NULL);
    }
    return p;
}

struct fe_node *rw_filters(struct rewriting *w, struct fe_node *n,
                           struct fe_node *(*rest)(struct rewriting *w, struct fe_node *n))
{
    int nk = n->u.agg.nkeys, na = n->u.agg.naggs;
    bool changed = false;
    struct fe_node *g = hd_dup(w->a, n, sizeof *n);
    rw_set_columns(w, g, n);
    g->u.agg.aggs = hd_dup(w->a, n->u.agg.aggs, sizeof *n->u.agg.aggs * (size_t)na);
    for (int i = 0; i < na; i++) {
        changed |= is_of_bool(&n->u.agg.aggs[i]) || n->u.agg.aggs[i].fn == FE_AGG_BIT_AND;
        say(w, n, &g->u.agg.aggs[i]);
        g->cols[nk + i].type = g->u.agg.aggs[i].type;
    }
    return changed ? results(w, n, rest(w, g)) : rest(w, g);
}
