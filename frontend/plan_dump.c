/* The printed plan: one operator a line, inputs indented, every conversion visible. Equal
 * plans print equal text, so it serves as golden and as `explain`. */
#include <inttypes.h>
#include <string.h>

#include "frontend/catalog.h"
#include "frontend/plan.h"
#include "frontend/value.h"
#include "runtime/base/strbuf.h"
#include "runtime/base/show.h"

struct dump {
    struct hd_strbuf *out;
    const struct fe_plan *plan;
    struct hd_strbuf indent; /* what stands before the children of the current operator */
};

/* Column names of up to two inputs, freed by the caller's arena mark. */
static const char **names_of(struct dump *d, const struct fe_node *l, const struct fe_node *r)
{
    int n = 0;
    const char **names = HD_NEWN(d->plan->arena, const char *, (l ? l->ncols : 0) + (r ? r->ncols : 0));
    for (int i = 0; l && i < l->ncols; i++)
        names[n++] = l->cols[i].name;
    for (int i = 0; r && i < r->ncols; i++)
        names[n++] = r->cols[i].name;
    return names;
}

static void print_type(struct dump *d, struct hd_type t, bool nullable)
{
    char buf[HD_TEXT_MAX];
    hd_strbuf_addf(d->out, "%s%s", hd_type_text(t, buf), nullable ? "?" : "");
}

/* " -> a int64, b string?" */
static void print_columns(struct dump *d, const struct fe_node *n)
{
    for (int i = 0; i < n->ncols; i++) {
        hd_strbuf_adds(d->out, i ? ", " : " -> ");
        fe_name_print(d->out, n->cols[i].name);
        hd_strbuf_addc(d->out, ' ');
        print_type(d, n->cols[i].type, n->cols[i].nullable);
    }
}

static void print_as(struct dump *d, const struct fe_column *c)
{
    hd_strbuf_adds(d->out, " as ");
    fe_name_print(d->out, c->name);
    hd_strbuf_adds(d->out, ": ");
    print_type(d, c->type, c->nullable);
}

/* "expr as name: type", or the bare name of a column that keeps it. */
static void print_output(struct dump *d, const struct fe_expr *e, const struct fe_column *c, const char *const *names)
{
    if (e->op == FE_COL && strcmp(names[e->col], c->name) == 0) {
        fe_name_print(d->out, c->name);
        return;
    }
    fe_expr_print(d->out, e, names);
    print_as(d, c);
}

static void print_scan(struct dump *d, const struct fe_node *n)
{
    const struct fe_table *t = n->u.scan.table;
    hd_strbuf_addf(d->out, " %s", t->name);
    if (n->u.scan.alias)
        hd_strbuf_addf(d->out, " as %s", n->u.scan.alias);
    if (n->u.scan.filter) {
        const char **names = HD_NEWN(d->plan->arena, const char *, t->ncols);
        for (int i = 0; i < t->ncols; i++)
            names[i] = t->cols[i].name;
        hd_strbuf_adds(d->out, " filter ");
        fe_expr_print(d->out, n->u.scan.filter, names);
    }
    if (!n->u.scan.all_columns)
        print_columns(d, n);
}

static void print_project(struct dump *d, const struct fe_node *n)
{
    const char **names = names_of(d, n->inputs[0], NULL);
    for (int i = 0; i < n->ncols; i++) {
        hd_strbuf_adds(d->out, i ? ", " : " ");
        print_output(d, n->u.project.exprs[i], &n->cols[i], names);
    }
}

static void print_join(struct dump *d, const struct fe_node *n)
{
    static const char *const sides[] = {"auto", "left", "right"};
    const char **left = names_of(d, n->inputs[0], NULL), **right = names_of(d, n->inputs[1], NULL);
    hd_strbuf_addf(d->out, " %s", fe_join_kind_name(n->u.join.kind));
    for (int i = 0; i < n->u.join.nkeys; i++) {
        hd_strbuf_adds(d->out, i ? " and " : " on ");
        fe_expr_print(d->out, n->u.join.lkeys[i], left);
        hd_strbuf_adds(d->out, " = ");
        fe_expr_print(d->out, n->u.join.rkeys[i], right);
        hd_strbuf_adds(d->out, n->u.join.null_equal[i] ? " null_equal" : "");
    }
    if (n->u.join.asof[0]) {
        hd_strbuf_adds(d->out, " asof ");
        fe_expr_print(d->out, n->u.join.asof[0], left);
        hd_strbuf_addf(d->out, " %s ", fe_match_name(n->u.join.match));
        fe_expr_print(d->out, n->u.join.asof[1], right);
    }
    if (n->u.join.residual) {
        hd_strbuf_adds(d->out, " residual ");
        fe_expr_print(d->out, n->u.join.residual, names_of(d, n->inputs[0], n->inputs[1]));
    }
    if (n->u.join.kind == FE_MARK) {
        hd_strbuf_adds(d->out, " mark ");
        fe_name_print(d->out, n->cols[n->ncols - 1].name);
    }
    if (n->u.join.build != FE_SIDE_AUTO)
        hd_strbuf_addf(d->out, " build=%s", sides[n->u.join.build]);
    if (n->u.join.strategy != FE_AUTO)
        hd_strbuf_addf(d->out, " strategy=%s", fe_strategy_name(n->u.join.strategy));
    if (n->u.join.single)
        hd_strbuf_adds(d->out, " single");
}

static void print_pairs(struct dump *d, const struct fe_node *n)
{
    hd_strbuf_addf(d->out, " as %s, %s", n->u.pairs.aliases[0], n->u.pairs.aliases[1]);
    if (n->u.pairs.pred) {
        hd_strbuf_adds(d->out, " where ");
        fe_expr_print(d->out, n->u.pairs.pred, names_of(d, n, NULL));
    }
}

/* "before(a, b)" */
static void print_keys(struct dump *d, const char *before, const struct fe_column *keys, const int *v, int n)
{
    hd_strbuf_addf(d->out, "%s(", before);
    for (int i = 0; i < n; i++) {
        hd_strbuf_adds(d->out, i ? ", " : "");
        fe_name_print(d->out, keys[v[i]].name);
    }
    hd_strbuf_addc(d->out, ')');
}

static void print_sets(struct dump *d, const struct fe_node *n)
{
    int *v = HD_NEWN(d->plan->arena, int, n->u.agg.nkeys + 1);
    for (int i = 0; i < n->u.agg.nsets; i++) {
        int k = 0;
        for (int q = 0; q < n->u.agg.nkeys; q++)
            if (n->u.agg.sets[i][q])
                v[k++] = q;
        print_keys(d, i ? ", " : " sets ", n->cols, v, k);
    }
}

static void print_sort_key(struct dump *d, const struct fe_sort_key *k, const char *const *names)
{
    fe_expr_print(d->out, k->expr, names);
    hd_strbuf_addf(d->out, "%s%s", k->desc ? " desc" : "", k->nulls_first ? " nulls first" : "");
}

static void print_agg(struct dump *d, const struct fe_agg *g, const struct fe_column *keys, const struct fe_column *c,
                      const char *const *names)
{
    if (g->fn == FE_AGG_GROUPING) {
        print_keys(d, fe_agg_name(g->fn), keys, g->of, g->nof);
    } else if (g->fn == FE_AGG_COUNT_STAR) {
        hd_strbuf_adds(d->out, fe_agg_name(g->fn));
    } else {
        hd_strbuf_addf(d->out, "%s(%s", fe_agg_name(g->fn), g->distinct ? "distinct " : "");
        fe_expr_print(d->out, g->arg, names);
        if (g->by) {
            hd_strbuf_adds(d->out, ", ");
            fe_expr_print(d->out, g->by, names);
        }
        if (g->q) {
            hd_strbuf_adds(d->out, ", ");
            fe_expr_print(d->out, g->q, names);
        }
        if (g->separator) {
            hd_strbuf_adds(d->out, ", ");
            fe_expr_print(d->out, g->separator, names);
        }
        for (int i = 0; i < g->nstated; i++) {
            hd_strbuf_adds(d->out, i ? ", " : " by ");
            print_sort_key(d, &g->order[i], names);
        }
        hd_strbuf_addc(d->out, ')');
    }
    if (g->filter) {
        hd_strbuf_adds(d->out, " where ");
        fe_expr_print(d->out, g->filter, names);
    }
    print_as(d, c);
}

static void print_aggregate(struct dump *d, const struct fe_node *n)
{
    const char **names = names_of(d, n->inputs[0], NULL);
    for (int i = 0; i < n->u.agg.nkeys; i++) {
        hd_strbuf_adds(d->out, i ? ", " : " by ");
        print_output(d, n->u.agg.keys[i], &n->cols[i], names);
    }
    print_sets(d, n);
    for (int i = 0; i < n->u.agg.naggs; i++) {
        hd_strbuf_adds(d->out, i ? ", " : n->u.agg.nkeys || n->u.agg.nsets ? " : " : " ");
        print_agg(d, &n->u.agg.aggs[i], n->cols, &n->cols[n->u.agg.nkeys + i], names);
    }
}

static void print_limits(struct dump *d, const struct fe_node *n)
{
    if (n->u.sort.limit) {
        hd_strbuf_adds(d->out, n->op == FE_LIMIT_OP ? " " : " limit ");
        fe_expr_print(d->out, n->u.sort.limit, NULL);
    }
    if (n->u.sort.offset) {
        hd_strbuf_adds(d->out, " offset ");
        fe_expr_print(d->out, n->u.sort.offset, NULL);
    }
}

static void print_sort(struct dump *d, const struct fe_node *n)
{
    const char **names = names_of(d, n->inputs[0], NULL);
    for (int i = 0; i < n->u.sort.nkeys; i++) {
        const struct fe_sort_key *k = &n->u.sort.keys[i];
        hd_strbuf_adds(d->out, i == n->u.sort.ngroup    ? " by "
                               : i == n->u.sort.nstated ? " then "
                               : i == 0                 ? " of each "
                                                        : ", ");
        print_sort_key(d, k, names);
    }
    print_limits(d, n);
    hd_strbuf_adds(d->out, n->u.sort.keep ? " and ties" : "");
}

static const char *base_name(enum fe_window_base b)
{
    static const char *const names[] = {
#define X(id, name) name,
        FE_WINDOW_BASES(X)
#undef X
    };
    return names[b];
}

/* " first beside ..." */
static void print_search(struct dump *d, const struct fe_window *w, const struct fe_window_search *s,
                         const char *const *names)
{
    hd_strbuf_adds(d->out, s->behind ? " last up to " : " first from ");
    if (s->limit >= 0)
        fe_expr_print(d->out, w->values[s->limit].arg, names);
    else if (s->more)
        hd_strbuf_addf(d->out, "peers %c:%s", s->less ? '-' : '+', s->more->param_name);
    else
        hd_strbuf_addf(d->out, "peers %+d", (int)s->peers);
}

/* " (expression)" */
static void print_number(struct dump *d, const struct fe_node *n, const struct fe_expr *e)
{
    const char **names = HD_NEWN(d->plan->arena, const char *, n->ncols);
    for (int i = 0; i < n->ncols; i++)
        names[i] = n->cols[i].name;
    hd_strbuf_adds(d->out, " (");
    fe_expr_print(d->out, e, names);
    hd_strbuf_addc(d->out, ')');
}

static void print_at(struct dump *d, const struct fe_node *n, const struct fe_window_at *at, const char *const *names)
{
    const struct fe_window *w = n->u.sort.window;
    hd_strbuf_adds(d->out, base_name(at->base));
    if (at->base == FE_WINDOW_FOUND)
        print_search(d, w, &w->searches[at->of], names);
    if (at->base == FE_WINDOW_COMPUTED)
        print_number(d, n, w->numbers[at->of]);
    if (at->base == FE_WINDOW_SHARE)
        hd_strbuf_addf(d->out, " %s of :%s", at->less ? "divisor" : "factor", at->more->param_name);
    else if (at->more)
        hd_strbuf_addf(d->out, " %c :%s", at->less ? '-' : '+', at->more->param_name);
    if (at->by)
        hd_strbuf_addf(d->out, " %c %" PRId64, at->by < 0 ? '-' : '+', at->by < 0 ? -at->by : at->by);
}

static void print_ends(struct dump *d, const struct fe_node *n, const struct fe_window_at at[2], const char *choice,
                       const char *const *names)
{
    if (fe_window_same_at(&at[0], &at[1])) {
        print_at(d, n, &at[0], names);
        return;
    }
    hd_strbuf_addf(d->out, "%s(", choice);
    print_at(d, n, &at[0], names);
    hd_strbuf_adds(d->out, ", ");
    print_at(d, n, &at[1], names);
    hd_strbuf_addc(d->out, ')');
}

static void print_framed(struct dump *d, const struct fe_node *n, const struct fe_window_value *v,
                         const char *const *names)
{
    hd_strbuf_addf(d->out, "%s%s%s(%s", fe_window_is_arg(v) ? "number of " : "", v->next ? "next " : "",
                   fe_agg_name(v->fn), v->distinct ? "distinct " : "");
    fe_expr_print(d->out, v->arg, names);
    if (v->q) {
        hd_strbuf_adds(d->out, ", ");
        fe_expr_print(d->out, v->q, names);
    }
    if (v->separator) {
        hd_strbuf_adds(d->out, ", ");
        fe_expr_print(d->out, v->separator, names);
    } else if (fe_window_is_of_others(v) && !fe_window_is_of_rank(v)) {
        hd_strbuf_adds(d->out, ", ");
        fe_expr_print(d->out, n->u.sort.window->values[v->of[1]].arg, names);
    }
    for (int i = 0; i < v->nspans; i++) {
        hd_strbuf_adds(d->out, i ? " and " : ") of ");
        print_ends(d, n, v->span[i].first, "greatest", names);
        hd_strbuf_adds(d->out, " to ");
        print_ends(d, n, v->span[i].last, "least", names);
    }
}

static void print_window_column(struct dump *d, const struct fe_node *n, const struct fe_window_column *c,
                                const char *const *names)
{
    const struct fe_window *w = n->u.sort.window;
    if (c->at.base == FE_WINDOW_FITS) {
        hd_strbuf_adds(d->out, "values of ");
        fe_expr_print(d->out, w->values[c->value].arg, names);
        hd_strbuf_addf(d->out, " fit %d digits", (int)c->at.by);
        return;
    }
    if (c->value >= 0) {
        const struct fe_window_value *v = &w->values[c->value];
        if (v->framed) {
            print_framed(d, n, v, names);
            return;
        }
        if (v->places)
            hd_strbuf_adds(d->out, "places(");
        else if (v->fn != FE_AGG_ANY)
            hd_strbuf_addf(d->out, "running %s(", fe_agg_name(v->fn));
        fe_expr_print(d->out, v->arg, names);
        hd_strbuf_adds(d->out, v->fn == FE_AGG_ANY ? " at " : ") at ");
    }
    print_at(d, n, &c->at, names);
    hd_strbuf_adds(d->out, c->clamp_high ? " or last" : "");
}

static void print_window(struct dump *d, const struct fe_node *n)
{
    const char **names = names_of(d, n->inputs[0], NULL);
    const struct fe_window *w = n->u.sort.window;
    print_sort(d, n);
    for (int i = 0; i < w->ncolumns; i++) {
        hd_strbuf_addf(d->out, "%s#%d = ", i ? ", " : " : ", i);
        print_window_column(d, n, &w->columns[i], names);
    }
}

static bool is_all(const struct fe_node *n)
{
    return (n->op == FE_INTERSECT_OP || n->op == FE_EXCEPT_OP) && n->u.set.all;
}

static void print_head(struct dump *d, const struct fe_node *n)
{
    size_t line = d->out->n;
    hd_strbuf_addf(d->out, "#%d %s", n->id, fe_relop_name(n->op));
    switch (n->op) {
    case FE_SCAN_OP: print_scan(d, n); break;
    case FE_REF_OP:
        hd_strbuf_addf(d->out, " %s", d->plan->shared_names[n->u.ref.shared]);
        print_columns(d, n);
        break;
    case FE_FILTER_OP:
        hd_strbuf_addc(d->out, ' ');
        fe_expr_print(d->out, n->u.filter.pred, names_of(d, n->inputs[0], NULL));
        break;
    case FE_REPEAT_OP:
        hd_strbuf_addc(d->out, ' ');
        fe_expr_print(d->out, n->u.repeat.count, names_of(d, n->inputs[0], NULL));
        break;
    case FE_PROJECT_OP: print_project(d, n); break;
    case FE_JOIN_OP: print_join(d, n); break;
    case FE_PAIRS_OP: print_pairs(d, n); break;
    case FE_AGGREGATE_OP: print_aggregate(d, n); break;
    case FE_SORT_OP:
    case FE_TOP_OP: print_sort(d, n); break;
    case FE_WINDOW_OP: print_window(d, n); break;
    case FE_LIMIT_OP: print_limits(d, n); break;
    case FE_UNION_ALL_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
        hd_strbuf_adds(d->out, is_all(n) ? " all" : "");
        print_columns(d, n);
        break;
    case FE_VALUES_OP:
        if (n->u.values.list)
            hd_strbuf_addf(d->out, " :%s", n->u.values.list->name);
        else
            hd_strbuf_addf(d->out, " %" PRId64 " rows", n->u.values.nrows);
        print_columns(d, n);
        break;
    case FE_DISTINCT_OP:
    case FE_RELOP_COUNT: break;
    }
    hd_show_end_line(d->out, line);
}

static void print_tree(struct dump *d, const struct fe_node *n)
{
    print_head(d, n);
    size_t depth = d->indent.n;
    for (int i = 0; i < n->ninputs; i++) {
        bool last = i == n->ninputs - 1;
        hd_strbuf_addf(d->out, "%s%s", d->indent.s, last ? "'-- " : "|-- ");
        hd_strbuf_adds(&d->indent, last ? "    " : "|   ");
        print_tree(d, n->inputs[i]);
        d->indent.n = depth;
        d->indent.s[depth] = 0;
    }
}

static void print_constant(struct dump *d, const struct fe_value *v)
{
    struct fe_expr e = {.op = FE_LIT, .type = v->type, .value = *v};
    fe_expr_print(d->out, &e, NULL);
}

static void print_list(struct dump *d, const struct fe_param *p)
{
    hd_strbuf_addc(d->out, '(');
    for (int i = 0; i < p->nlist; i++) {
        hd_strbuf_adds(d->out, i ? ", " : "");
        print_constant(d, &p->list[i]);
    }
    hd_strbuf_addc(d->out, ')');
}

static void print_param(struct dump *d, const struct fe_param *p)
{
    char type[HD_TEXT_MAX];
    size_t line = d->out->n;
    hd_strbuf_addf(d->out, p->is_list ? "param :%s list(%s)" : "param :%s %s", p->name, hd_type_text(p->type, type));
    hd_strbuf_adds(d->out, p->nullable ? "?" : "");
    if (p->has_default || p->bound) {
        hd_strbuf_adds(d->out, " = ");
        if (p->is_list)
            print_list(d, p);
        else
            print_constant(d, &p->value);
    }
    hd_show_end_line(d->out, line);
}

static void print_title(struct hd_strbuf *out, const char *what, const char *name)
{
    size_t line = out->n;
    hd_strbuf_addf(out, "%s %s", what, name);
    hd_show_end_line(out, line);
}

void fe_plan_print(struct hd_strbuf *out, const struct fe_plan *p)
{
    struct dump d = {.out = out, .plan = p};
    struct hd_arena_mark mark = hd_arena_mark(p->arena);
    hd_strbuf_init(&d.indent);
    if (p->name)
        print_title(out, "plan", p->name);
    for (int i = 0; i < p->nparams; i++)
        print_param(&d, &p->params[i]);
    for (int i = 0; i < p->nshared; i++) {
        print_title(out, "shared", p->shared_names[i]);
        print_tree(&d, p->shared[i]);
    }
    print_tree(&d, p->root);
    hd_strbuf_release(&d.indent);
    hd_arena_rewind(p->arena, mark);
}
