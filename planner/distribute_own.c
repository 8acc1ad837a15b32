#include "planner/distribute_own.h"

#include <string.h>

#include "frontend/catalog.h"
#include "frontend/json_make.h"
#include "planner/cost.h"
#include "planner/dict_map.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/need.h"
#include "planner/work.h"

/* ---- what filters and expressions take ---------------------------------------------------------------------------- */

/* Of a GPU, for each byte of a text that is searched, beside what the operator takes: `like '%green%'` of the names of 20 M parts, of 33
 * bytes, takes one H200 some 1.2 ms (TPC-H Q9 at SF 100). A pattern that begins with other characters is mostly decided by the first few.
 * A CPU's price of the operator is for such texts. */
static const double gpu_ns_searched_byte = 0.0015;
enum { PREFIX_BYTES = 8 };

/* Nanoseconds of a row of expressions over env. */
struct pricing {
    const struct dist *d;
    struct handle *const *env;
};

static bool begins_with_text(const struct pricing *p, const struct fe_expr *like)
{
    const struct fe_expr *e = like->args[1];
    const struct fe_value *v = e->op == FE_PARAM ? &p->d->plan->params[e->param].value : &e->value;
    bool known = e->op == FE_LIT || e->op == FE_PARAM;
    return known && !v->is_null && v->n > 0 && v->s[0] != '%' && v->s[0] != '_';
}

static double searched_ns(const struct pricing *p, const struct fe_expr *e)
{
    const struct handle *h = e->args[0]->op == FE_COL ? h_plain(p->env[e->args[0]->col]) : NULL;
    if (!p->d->gpus || fe_op_form(e->op)->cost != FE_COST_SEARCH || !h || h->kind != H_COLUMN)
        return 0;
    const struct fe_table_column *c = &h->table->cols[h->column];
    double bytes = c->storage == FE_STORE_TEXT ? (double)c->at.text_size / HD_MAX((double)h->table->rows, 1) : 0;
    if (e->op == FE_LIKE && begins_with_text(p, e))
        bytes = HD_MIN(bytes, PREFIX_BYTES);
    return bytes * gpu_ns_searched_byte;
}

/* What is evaluated for each entry of a dictionary is looked up by code. */
static double expr_ns(const struct pricing *p, const struct fe_expr *e)
{
    struct handle *h;
    const struct fe_table *t;
    int column;
    if (e->op == FE_COL || e->op == FE_LIT || e->op == FE_PARAM)
        return 0;
    if (map_is_string_work(e) && map_column(p->d->c, p->env, e, &h, &t, &column))
        return pl_work_of_operator(FE_LOOKUP, p->d->gpus);
    double ns = pl_work_of_operator(e->op, p->d->gpus) + searched_ns(p, e);
    for (int i = 0; i < e->nargs; i++)
        ns += expr_ns(p, e->args[i]);
    return ns;
}

/* Columns that come one behind the other; texts are read where they are searched. */
static double columns_ns(const struct pricing *p, const struct fe_expr *e, int ncols)
{
    bool *used = HD_NEWN(p->d->a, bool, ncols + 1);
    double ns = 0;
    need_expr(used, e);
    for (int i = 0; i < ncols; i++) {
        const struct handle *h = used[i] ? h_plain(p->env[i]) : NULL;
        if (!h || h->kind != H_COLUMN || h->table->rows == 0)
            continue;
        double rows = (double)h->table->rows;
        ns += pl_work_of_value((double)fe_column_bytes(&h->table->cols[h->column], h->table->rows) / rows, p->d->gpus);
    }
    return ns;
}

/* Cheap conjuncts come first, and leave fewer rows to others. */
static double conjuncts_ns(const struct pricing *p, const struct fe_expr *pred)
{
    const struct fe_expr *const *v = pred->op == FE_AND ? (const struct fe_expr *const *)pred->args : &pred;
    int n = pred->op == FE_AND ? pred->nargs : 1;
    double ns = 0, left = 1;
    for (int k = 0; k < PL_COST_CLASSES; k++)
        for (int i = 0; i < n; i++)
            if (pl_cost_class(v[i]) == k) {
                ns += left * expr_ns(p, v[i]);
                left *= lx_selectivity_after(p->d->c, p->env, v, i);
            }
    return ns;
}

static double filter_ns(const struct dist *d, struct handle *const *env, int ncols, const struct fe_expr *pred)
{
    const struct pricing p = {d, env};
    return columns_ns(&p, pred, ncols) + conjuncts_ns(&p, pred);
}

static double project_ns(const struct dist *d, const struct fe_node *n)
{
    const struct pricing p = {d, est_columns(d->c, n->inputs[0])};
    double ns = 0;
    for (int i = 0; i < n->ncols; i++)
        ns += d->need[n->id][i] ? expr_ns(&p, n->u.project.exprs[i]) : 0;
    return ns;
}

static double work_ns(const struct dist *d, const struct fe_node *n);

static double own_ns(const struct dist *d, const struct fe_node *n)
{
    if (n->op == FE_SCAN_OP) {
        const struct fe_table *t = n->u.scan.table;
        const struct fe_expr *pred = n->u.scan.filter;
        return pred ? (double)t->rows * filter_ns(d, est_scanned(d->c, t, pred), t->ncols, pred) : 0;
    }
    const struct fe_node *in = n->inputs[0];
    double row =
        n->op == FE_FILTER_OP ? filter_ns(d, est_columns(d->c, in), in->ncols, n->u.filter.pred) : project_ns(d, n);
    return dist_rows(d, in) * row + work_ns(d, in);
}

/* Of all rows. */
static double work_ns(const struct dist *d, const struct fe_node *n)
{
    if (d->work[n->id] < 0)
        d->work[n->id] = own_ns(d, n);
    return d->work[n->id];
}

/* ---- the choice ------------------------------------------------------------------------------------------------------ */

static const struct fe_table *table_of(const struct fe_node *n)
{
    while (n->op != FE_SCAN_OP)
        n = n->inputs[0];
    return n->u.scan.table;
}

/* That a worker goes through which has all of them. */
static double all_rows(const struct dist *d, const struct fe_node *n)
{
    return n->op == FE_SCAN_OP ? (double)n->u.scan.table->rows : dist_rows(d, n->inputs[0]) + all_rows(d, n->inputs[0]);
}

/* The operators over a worker's part. */
static struct cJSON *over_part(struct dist *d, const struct cJSON *op, const struct pl_scheme *s)
{
    const struct cJSON *input = fe_member(op, "input"), *filter = fe_member(op, "filter");
    if (input)
        return dist_over(d->a, op, "input", over_part(d, input, s), NULL);
    struct cJSON *own = pl_scheme_condition(d->a, s, s->table, s->column, d->workers, d->param_prefix);
    if (filter)
        own = dist_apply(d->a, "and", own, fe_copy_json(d->a, filter));
    return dist_over(d->a, op, "filter", own, NULL);
}

static bool may_divide(const struct dist *d, const struct dist_rel *rel)
{
    return !rel->split && d->workers > 1 && !d->segments && !dist_in_passes(d);
}

struct dist_rel dist_settle(struct dist *d, struct dist_rel rel, struct dist_met met)
{
    if (!rel.of_table)
        return rel;
    rel.of_table = false;
    double all = work_ns(d, rel.node) / dist_row_ns(d), part = all / d->workers, full = rel.split ? part : all;
    double work = HD_MIN(full, met.rows * all), found = HD_MIN(rel.pending, met.cost * all_rows(d, rel.node));
    d->cost += found;
    struct pl_scheme *own = HD_NEW(d->a, struct pl_scheme);
    bool gains = d->divide ? all > 0 : work - part > dist_sending(d, rel.node);
    if (gains && may_divide(d, &rel) && pl_scheme_own(table_of(rel.node), d->workers, own)) {
        double cost = d->cost += part;
        rel.op = over_part(d, rel.op, own);
        struct dist_rel sent = dist_cut_own(d, rel, own);
        if (d->divide) /* and not another key is taken instead */
            d->cost = cost + dist_rows(d, rel.node);
        return sent;
    }
    d->cost += work;
    rel.pending += full - found - work;
    return rel;
}
