/* Flows of rows: scans, states, filters. */
#include "planner/flow_rows.h"

#include "planner/dict_map.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/known.h"
#include "planner/lower_arith.h"
#include "planner/lower_expr.h"
#include "planner/lower_rows.h"

struct stream flow_begin(struct ctx *c, struct handle *source, double rows)
{
    struct stream s = {.pipeline = -1, .est = rows, .max_rows = rows};
    s.at = HD_NEW(c->a, struct at_hand);
    s.at->source = source;
    return s;
}

struct handle *flow_row(struct ctx *c, const struct fe_table *t)
{
    return h_row(c, -1, t, -1, false);
}

struct stream flow_over(struct ctx *c, const struct stored *st)
{
    struct stream s = flow_begin(c, NULL, st->est);
    rows_over(c, st, flow_row(c, NULL), &s);
    return s;
}

const bool *flow_kept(struct ctx *c, struct pl_node *n, const struct kept *k)
{
    static const char *const values = "values", *const rows = "row ids";
    int of_tables = 0, by_row = 0, ids = 0;
    for (int i = 0; i < k->ncols; i++) {
        of_tables += k->cols[i]->kind == H_COLUMN;
        by_row += k->by_row[i];
    }
    for (int i = 0; i < k->n; i++)
        ids += k->what[i]->is_row;
    if (of_tables == 0) /* there are no rows to load from */
        return k->by_row;
    struct pl_decision *d = pl_decide(c, n, "columns kept");
    pl_decide_detail(c, d, rows, NULL, by_row ? "%.0f for %.0f columns" : NULL, ids, by_row);
    pl_decide_detail(c, d, values, NULL, "%.0f bytes", kept_bytes(k), 0);
    pl_decide_take(d, by_row ? rows : values);
    return k->by_row;
}

struct stream flow_scan(struct ctx *c, const struct fe_node *n)
{
    const struct fe_table *t = node_table(n);
    struct handle *row = flow_row(c, t);
    struct stream s = flow_begin(c, row, (double)t->rows);
    scan_columns(c, n, row, &s);
    s.unique_row = row;
    return s;
}

int flow_scan_filter(struct ctx *c, struct pl_node *scan, struct handle *row, struct stream *s)
{
    scan->u.filter.share = HD_NEWN(c->a, double, scan->u.filter.n + 1);
    return flow_filter(c, scan, s, row->env, scan->u.filter.v, scan->u.filter.n, scan->u.filter.share);
}

struct stream flow_appended(struct ctx *c, const struct fe_node *n, double rows, double max_rows)
{
    const bool *want = c->need[n->id];
    struct stream s = flow_begin(c, NULL, rows);
    s.max_rows = max_rows;
    s.ncols = n->ncols;
    s.cols = HD_NEWN(c->a, struct handle *, n->ncols + 1);
    s.unique_row = flow_row(c, NULL);
    for (int i = 0; i < n->ncols; i++) {
        struct hd_type t = n->cols[i].type;
        struct pl_val v = {.type = t, .phys = lx_full_phys(t), .nullable = n->cols[i].nullable};
        s.cols[i] = want[i] ? h_new(c, H_FIELD, t, v.nullable)
                            : h_phys(c, lx_const(c, &(struct fe_value){.type = t, .is_null = true}));
        if (!want[i])
            continue;
        s.cols[i]->row = s.unique_row;
        s.cols[i]->val = v;
    }
    return s;
}

/* Whether a condition may turn out to hold for all rows: tests for NULL do, of what has none. */
static bool may_be_constant(const struct fe_expr *e)
{
    if (e->op == FE_IS_NULL || e->op == FE_LIT || e->op == FE_PARAM)
        return true;
    if (e->op == FE_IN)
        return e->nargs == 2 && e->args[1]->op == FE_PARAM;
    for (int i = 0; i < e->nargs; i++)
        if ((e->op == FE_AND || e->op == FE_OR || e->op == FE_NOT) && may_be_constant(e->args[i]))
            return true;
    return false;
}

static int is_always_true(struct ctx *c, struct handle *const *env, const struct fe_expr *e, bool *always)
{
    struct pl_val v;
    *always = false;
    if (!may_be_constant(e))
        return 0;
    HD_TRY(known_value(c, h_expr(c, e, (struct handle **)(uintptr_t)env), &v));
    *always = lx_is_constant(&v, true);
    return 0;
}

int flow_filter(struct ctx *c, struct pl_node *node, struct stream *s, struct handle *const *env,
                const struct fe_expr *const *v, int n, double *share)
{
    for (int i = 0; i < n; i++) {
        bool always;
        map_plan(c, node, env, v[i], s->est);
        HD_TRY(known_selectivity(c, env, v, i, &share[i]));
        HD_TRY(is_always_true(c, env, v[i], &always));
        if (!always)
            s->est *= share[i];
    }
    return 0;
}
