/* union is distinct over union_all. intersect and except are semi and anti joins by all columns, NULL alike, so whatever
 * a join by these columns can be (a bitmap, an index, a hash table) finds the other inputs' rows. A distinct is above the
 * semi joins, which may drop most rows, and below the anti joins, which tend to drop few. Where rows count as often as they come, inputs are grouped, groups are joined, and each
 * is repeated as often as their counts say. */
#include "planner/rewrite_sets.h"

#include <string.h>

#include "frontend/catalog.h"
#include "planner/rewrite_intervals.h"
#include "planner/typed.h"

bool rw_is_set(const struct fe_node *n)
{
    return n->op == FE_UNION_OP || n->op == FE_INTERSECT_OP || n->op == FE_EXCEPT_OP;
}

static bool has_all_columns(const struct rewriting *w, const struct fe_node *project)
{
    int ncols = project->inputs[0]->ncols, found = 0;
    bool *has = HD_NEWN(w->a, bool, ncols + 1);
    for (int i = 0; i < project->ncols; i++) {
        const struct fe_expr *e = project->u.project.exprs[i];
        found += e->op == FE_COL && !has[e->col];
        if (e->op == FE_COL)
            has[e->col] = true;
    }
    return found == ncols;
}

/* No two rows are equal, by what the operators are. */
static bool is_distinct(const struct rewriting *w, const struct fe_node *n)
{
    switch (n->op) {
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP: return true;
    case FE_REF_OP: return is_distinct(w, w->plan->shared[n->u.ref.shared]);
    case FE_FILTER_OP:
    case FE_SORT_OP:
    case FE_TOP_OP:
    case FE_WINDOW_OP:
    case FE_LIMIT_OP: return is_distinct(w, n->inputs[0]);
    case FE_PROJECT_OP: return has_all_columns(w, n) && is_distinct(w, n->inputs[0]);
    case FE_JOIN_OP: return (n->u.join.kind == FE_SEMI || n->u.join.kind == FE_ANTI) && is_distinct(w, n->inputs[0]);
    case FE_SCAN_OP:
    case FE_PAIRS_OP:
    case FE_REPEAT_OP:
    case FE_UNION_ALL_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_VALUES_OP:
    case FE_RELOP_COUNT: break;
    }
    return false;
}

/* The rows as those of the set operation `of`: under its names, and it may know better which can be NULL. */
static struct fe_node *renamed(const struct rewriting *w, struct fe_node *rows, const struct fe_node *of)
{
    struct fe_node *n = rw_node(w, FE_PROJECT_OP, of, 1, rows, NULL);
    rw_set_columns(w, n, of);
    n->u.project.exprs = rw_columns(w, rows);
    return n;
}

static struct fe_node *distinct(const struct rewriting *w, struct fe_node *rows, const struct fe_node *of)
{
    if (is_distinct(w, rows))
        return renamed(w, rows, of);
    struct fe_node *n = rw_node(w, FE_DISTINCT_OP, of, 1, rows, NULL);
    rw_set_columns(w, n, of);
    n->u.agg.nkeys = rows->ncols;
    n->u.agg.keys = rw_columns(w, rows);
    return rw_has_intervals(n) ? rw_intervals(w, n) : n;
}

static struct fe_node *distinct_union(const struct rewriting *w, struct fe_node *n)
{
    struct fe_node *all = hd_dup(w->a, n, sizeof *n);
    all->op = FE_UNION_ALL_OP;
    return distinct(w, all, n);
}

enum { LOOKS = 1000 }; /* at nodes: shared subplans can make a small plan a large tree */

/* Rows of the largest table below. */
static int64_t table_rows(const struct rewriting *w, const struct fe_node *n, int *looks)
{
    if (--*looks < 0)
        return 0;
    if (n->op == FE_REF_OP)
        return table_rows(w, w->plan->shared[n->u.ref.shared], looks);
    int64_t rows = n->op == FE_SCAN_OP ? n->u.scan.table->rows : n->op == FE_VALUES_OP ? fe_values_count(n) : 0;
    for (int i = 0; i < n->ninputs; i++)
        rows = HD_MAX(rows, table_rows(w, n->inputs[i], looks));
    return rows;
}

/* Those of `rows`, of input `of`, that all others have (SEMI), or none of them (ANTI). */
static struct fe_node *reduced(const struct rewriting *w, const struct fe_node *n, struct fe_node *rows, int of,
                               enum fe_join_kind kind)
{
    for (int i = 0; i < n->ninputs; i++)
        if (i != of)
            rows = rw_join(w, kind, rows, n->inputs[i], n->ncols, rw_columns(w, rows), NULL, 0);
    return rows;
}

/* Hash tables are made of the others. */
static int largest(const struct rewriting *w, const struct fe_node *n)
{
    int at = 0;
    int64_t most = -1;
    for (int i = 0; i < n->ninputs; i++) {
        int looks = LOOKS;
        int64_t rows = table_rows(w, n->inputs[i], &looks);
        at = rows > most ? i : at;
        most = HD_MAX(most, rows);
    }
    return at;
}

/* ---- all --------------------------------------------------------------------------------------------------- */

static const struct hd_type int64_type = {HD_INT64, 0, 0};

/* The rows of an input, each once, and how often it comes. */
static struct fe_node *counted(const struct rewriting *w, struct fe_node *rows)
{
    struct fe_node *g = rw_node(w, FE_AGGREGATE_OP, rows, 1, rows, NULL);
    g->u.agg.nkeys = rows->ncols;
    g->u.agg.keys = rw_columns(w, rows);
    g->u.agg.naggs = 1;
    g->u.agg.aggs = HD_NEW(w->a, struct fe_agg);
    *g->u.agg.aggs = (struct fe_agg){.fn = FE_AGG_COUNT_STAR, .type = int64_type, .path = rows->path};
    g->ncols = rows->ncols + 1;
    g->cols = HD_NEWN(w->a, struct fe_column, g->ncols);
    memcpy(g->cols, rows->cols, sizeof *g->cols * (size_t)rows->ncols);
    g->cols[rows->ncols] = (struct fe_column){"rows", int64_type, false};
    return rw_has_intervals(g) ? rw_intervals(w, g) : g;
}

static struct fe_expr *copies(const struct rewriting *w, enum fe_relop op, struct fe_expr *l, struct fe_expr *r)
{
    if (op == FE_INTERSECT_OP)
        return pl_expr_node(w->a, FE_LEAST, int64_type, false, l->path, 2, l, r);
    struct fe_expr *zero = pl_expr_node(w->a, FE_LIT, int64_type, false, l->path, 0, NULL, NULL);
    zero->value = (struct fe_value){.type = int64_type};
    r = pl_expr_node(w->a, FE_COALESCE, int64_type, false, l->path, 2, r, zero);
    return pl_expr_node(w->a, FE_SUB, int64_type, false, l->path, 2, l, r);
}

/* Groups of the left, with as many rows as remain beside those of the right. */
static struct fe_node *remaining(const struct rewriting *w, const struct fe_node *n, struct fe_node *left,
                                 struct fe_node *right)
{
    int nc = n->ncols;
    enum fe_join_kind kind = n->op == FE_INTERSECT_OP ? FE_INNER : FE_LEFT;
    struct fe_node *all = rw_join(w, kind, left, right, nc, rw_columns(w, left), NULL, 0);
    struct fe_node *p = rw_node(w, FE_PROJECT_OP, n, 1, all, NULL);
    rw_set_columns(w, p, left);
    p->u.project.exprs = rw_columns(w, left);
    p->u.project.exprs[nc] = copies(w, n->op, rw_column(w, all, nc), rw_column(w, all, 2 * nc + 1));
    return p;
}

static struct fe_node *with_copies(const struct rewriting *w, const struct fe_node *n)
{
    struct fe_node *groups = counted(w, n->inputs[0]);
    for (int i = 1; i < n->ninputs; i++)
        groups = remaining(w, n, groups, counted(w, n->inputs[i]));
    struct fe_node *repeat = rw_node(w, FE_REPEAT_OP, n, 1, groups, NULL);
    rw_set_columns(w, repeat, groups);
    repeat->u.repeat.count =
        pl_expr_node(w->a, FE_CAST, hd_type_of(HD_INT32), false, n->path, 1, rw_column(w, groups, n->ncols), NULL);
    return renamed(w, repeat, n);
}

static bool has_interval(const struct fe_node *n)
{
    bool found = false;
    for (int i = 0; i < n->ncols; i++)
        found |= n->cols[i].type.kind == HD_INTERVAL;
    return found;
}

struct fe_node *rw_set(struct rewriting *w, struct fe_node *n)
{
    if (n->op == FE_UNION_OP)
        return distinct_union(w, n);
    if (n->u.set.all)
        return with_copies(w, n);
    if (n->op == FE_EXCEPT_OP)
        return reduced(w, n, distinct(w, n->inputs[0], n), 0, FE_ANTI);
    int of = has_interval(n) ? 0 : largest(w, n); /* equal ones may look different: the first input's are shown */
    return distinct(w, reduced(w, n, n->inputs[of], of, FE_SEMI), n);
}
