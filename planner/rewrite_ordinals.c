#include "planner/rewrite_ordinals.h"

#include "frontend/catalog.h"
#include "planner/lower_ordinal.h"
#include "planner/typed.h"
#include "planner/typed_range.h"

/* The column of a table that values come from; NULL: they are computed. */
struct stored {
    const struct fe_table *table;
    const struct fe_table_column *column;
};

static struct stored stored(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e);

static struct stored joined(const struct rewriting *w, const struct fe_node *n, int col)
{
    int nl = n->inputs[0]->ncols;
    const struct fe_node *side = n->inputs[col >= nl];
    col -= col >= nl ? nl : 0;
    if (n->u.join.kind == FE_MARK && side == n->inputs[1])
        return (struct stored){0};
    return stored(w, side, rw_column(w, side, col));
}

static struct stored stored_column(const struct rewriting *w, const struct fe_node *n, int col)
{
    switch (n->op) {
    case FE_SCAN_OP: {
        const struct fe_table *t = n->u.scan.table;
        return (struct stored){t, &t->cols[n->u.scan.columns[col]]};
    }
    case FE_REF_OP: return stored_column(w, w->plan->shared[n->u.ref.shared], col);
    case FE_FILTER_OP:
    case FE_SORT_OP:
    case FE_TOP_OP:
    case FE_REPEAT_OP:
    case FE_LIMIT_OP: return stored_column(w, n->inputs[0], col);
    case FE_WINDOW_OP:
        if (col < n->inputs[0]->ncols)
            return stored_column(w, n->inputs[0], col);
        break;
    case FE_PROJECT_OP: return stored(w, n->inputs[0], n->u.project.exprs[col]);
    case FE_JOIN_OP: return joined(w, n, col);
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP:
        if (col < n->u.agg.nkeys)
            return stored(w, n->inputs[0], n->u.agg.keys[col]);
        break;
    case FE_PAIRS_OP: return stored_column(w, n->inputs[0], col % n->inputs[0]->ncols);
    case FE_UNION_ALL_OP:
    case FE_VALUES_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    return (struct stored){0};
}

static struct stored stored(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e)
{
    if (e->op == FE_CASE && e->nargs == 2) /* of a filter, say */
        return stored(w, in, e->args[1]);
    return e->op == FE_COL ? stored_column(w, in, e->col) : (struct stored){0};
}

struct pl_range rw_ordinals(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e)
{
    const struct fe_table_column *c = stored(w, in, e).column;
    if (c && c->facts.known && c->facts.has_range && !hd_type_is_float(c->type) && !hd_type_is_text(c->type))
        return (struct pl_range){true, c->facts.min, c->facts.max};
    return ordinal_range(e->type);
}

struct pl_range rw_computed_ordinals(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e)
{
    bool exact = hd_type_is_int(e->type) || e->type.kind == HD_DECIMAL;
    return exact ? pl_typed_range(w->plan, in, e) : rw_ordinals(w, in, e);
}

double rw_rows(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e)
{
    const struct fe_table *t = stored(w, in, e).table;
    double rows = t ? (double)t->rows : 0;
    for (int i = 0; i < e->nargs; i++)
        rows = HD_MAX(rows, rw_rows(w, in, e->args[i]));
    return rows;
}

/* Of values of that range; < 0: many. */
static double span_of(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e)
{
    struct pl_range r = rw_computed_ordinals(w, in, e);
    if (e->op == FE_MOD && e->args[1]->op == FE_LIT && !hd_type_is_float(e->type))
        return 2.0 * (double)e->args[1]->value.i - 1;
    return r.known ? (double)r.hi - (double)r.lo + 1 : -1;
}

/* An expression has no more values than what it reads. */
double rw_distinct(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e)
{
    const struct fe_table_column *c = stored(w, in, e).column;
    if (c && c->facts.known && c->facts.distinct >= 0)
        return (double)c->facts.distinct + e->nullable;
    double values = e->nargs ? 1 : -1, span = span_of(w, in, e);
    for (int i = 0; i < e->nargs && values > 0; i++) {
        bool constant = e->args[i]->op == FE_LIT || e->args[i]->op == FE_PARAM;
        values *= constant ? 1 : rw_distinct(w, in, e->args[i]);
    }
    return (values < 0 ? span : span < 0 ? values : HD_MIN(values, span)) + e->nullable;
}
