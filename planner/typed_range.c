#include "planner/typed_range.h"

#include "planner/estimate.h"

enum { LOOKS = 1000 }; /* at nodes: projections can make a small plan a large expression */

struct look {
    const struct fe_plan *plan;
    int left;
};

static struct pl_range of_expr(struct look *k, const struct fe_node *n, const struct fe_expr *e);

static int scale_of(struct hd_type t)
{
    return t.kind == HD_DECIMAL ? t.scale : 0;
}

static bool is_exact(struct hd_type t)
{
    return t.kind == HD_INT32 || t.kind == HD_INT64 || t.kind == HD_DECIMAL;
}

/* What leaves the type raises. */
static struct pl_range checked(struct pl_range r, struct hd_type t)
{
    struct pl_range all = range_of_type(t);
    return range_within(r, all) ? r : all;
}

static struct pl_range of_value(const struct fe_value *v, struct hd_type t)
{
    struct pl_range all = range_of_type(t);
    return all.known && !v->is_null ? (struct pl_range){true, v->i, v->i} : all;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static struct pl_range of_table_column(const struct fe_table_column *t)
{
    bool known = t->facts.known && t->facts.has_range && t->type.kind != HD_FLOAT64 && !hd_type_is_text(t->type);
    return known ? (struct pl_range){true, t->facts.min, t->facts.max} : range_of_type(t->type);
}

static struct pl_range of_input(struct look *k, const struct fe_node *in, int col)
{
    const struct fe_expr e = {.op = FE_COL, .type = in->cols[col].type, .col = col};
    return of_expr(k, in, &e);
}

/* Rows that n has at most, roughly: what leaves 2^63 is that. */
static double most_rows(struct look *k, const struct fe_node *n)
{
    double rows = n->op == FE_AGGREGATE_OP ? HD_MAX(n->u.agg.nsets, 1) : 1;
    if (n->op == FE_SCAN_OP)
        return (double)n->u.scan.table->rows;
    if (n->op == FE_REF_OP)
        return most_rows(k, k->plan->shared[n->u.ref.shared]);
    if (--k->left < 0 || n->op == FE_REPEAT_OP || n->op == FE_VALUES_OP || n->op == FE_PAIRS_OP)
        return 0x1p63;
    for (int i = 0; i < n->ninputs; i++)
        rows *= most_rows(k, n->inputs[i]) + 1;
    return HD_MIN(rows, 0x1p63);
}

/* A sum of so many values that are not NULL, or one of them; what leaves the type raises. */
static struct pl_range of_function(struct look *k, const struct fe_node *in, const struct fe_agg *g)
{
    struct pl_range all = range_of_type(g->type);
    bool sum = g->fn == FE_AGG_SUM, some = g->fn == FE_AGG_MIN || g->fn == FE_AGG_MAX;
    if ((!sum && !some) || !is_exact(g->type) || !is_exact(g->arg->type) || scale_of(g->type) != scale_of(g->arg->type))
        return all;
    struct pl_range r = of_expr(k, in, g->arg);
    if (some || !r.known)
        return r.known ? r : all;
    hd_i128 rows = (hd_i128)most_rows(k, in);
    r = (struct pl_range){true, HD_MIN(r.lo, 0), HD_MAX(r.hi, 0)};
    return checked(range_binary(FE_MUL, r, (struct pl_range){true, 0, rows}), g->type);
}

/* Follows the column to its table. */
static struct pl_range of_column(struct look *k, const struct fe_node *n, const struct fe_expr *e)
{
    int nl = n->op == FE_JOIN_OP ? n->inputs[0]->ncols : 0;
    switch (n->op) {
    case FE_SCAN_OP: return of_table_column(&n->u.scan.table->cols[n->u.scan.columns[e->col]]);
    case FE_REF_OP: return of_input(k, k->plan->shared[n->u.ref.shared], e->col);
    case FE_FILTER_OP:
    case FE_SORT_OP:
    case FE_TOP_OP:
    case FE_REPEAT_OP:
    case FE_LIMIT_OP: return of_input(k, n->inputs[0], e->col);
    case FE_WINDOW_OP:
        if (e->col < n->inputs[0]->ncols)
            return of_input(k, n->inputs[0], e->col);
        break;
    case FE_PROJECT_OP: return of_expr(k, n->inputs[0], n->u.project.exprs[e->col]);
    case FE_JOIN_OP:
        if (e->col < nl)
            return of_input(k, n->inputs[0], e->col);
        return n->u.join.kind == FE_MARK ? range_of_type(e->type) : of_input(k, n->inputs[1], e->col - nl);
    case FE_PAIRS_OP: return of_input(k, n->inputs[0], e->col % n->inputs[0]->ncols);
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP:
        if (e->col < n->u.agg.nkeys)
            return of_expr(k, n->inputs[0], n->u.agg.keys[e->col]);
        if (n->op == FE_AGGREGATE_OP)
            return of_function(k, n->inputs[0], &n->u.agg.aggs[e->col - n->u.agg.nkeys]);
        break;
    case FE_UNION_ALL_OP:
    case FE_VALUES_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    return range_of_type(e->type);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static struct pl_range magnitude(struct pl_range r)
{
    struct pl_range minus = range_binary(FE_SUB, (struct pl_range){true, 0, 0}, r);
    if (!r.known || !minus.known)
        return (struct pl_range){false, 0, 0};
    return (struct pl_range){true, HD_MAX(0, HD_MAX(r.lo, minus.lo)), HD_MAX(r.hi, minus.hi)};
}

/* Not known of a shift by what may be negative, which raises. */
static struct pl_range of_bits(enum fe_op op, struct pl_range a, struct pl_range b)
{
    bool shift = op == FE_SHIFT_LEFT || op == FE_SHIFT_RIGHT;
    return shift && b.lo < 0 ? (struct pl_range){false, 0, 0} : range_bits(op, a, b);
}

static struct pl_range hull(struct pl_range a, struct pl_range b)
{
    return (struct pl_range){a.known && b.known, HD_MIN(a.lo, b.lo), HD_MAX(a.hi, b.hi)};
}

/* Of a cast between exact numbers, or of arithmetic of them, before it is checked; not known: of none such. */
static struct pl_range unchecked(struct look *k, const struct fe_node *n, const struct fe_expr *e)
{
    const struct pl_range none = {false, 0, 0};
    if (!is_exact(e->type))
        return none;
    if (e->op == FE_ADD || e->op == FE_SUB || e->op == FE_MUL)
        return range_binary(e->op, of_expr(k, n, e->args[0]), of_expr(k, n, e->args[1]));
    if (e->op == FE_DATE_DIFF)
        return range_binary(FE_SUB, of_expr(k, n, e->args[0]), of_expr(k, n, e->args[1]));
    if (e->op == FE_WIDTH_BUCKET) /* below, n buckets, above */
        return range_binary(FE_ADD, hull((struct pl_range){true, 0, 0}, of_expr(k, n, e->args[3])),
                            (struct pl_range){true, 0, 1});
    if (e->op == FE_NEG)
        return range_binary(FE_SUB, (struct pl_range){true, 0, 0}, of_expr(k, n, e->args[0]));
    if (e->op == FE_ABS)
        return magnitude(of_expr(k, n, e->args[0]));
    if (e->op == FE_BIT_AND || e->op == FE_BIT_OR || e->op == FE_BIT_XOR || e->op == FE_SHIFT_LEFT ||
        e->op == FE_SHIFT_RIGHT)
        return of_bits(e->op, of_expr(k, n, e->args[0]), of_expr(k, n, e->args[1]));
    if (e->op != FE_CAST || !is_exact(e->args[0]->type) || scale_of(e->type) < scale_of(e->args[0]->type))
        return none;
    int by = scale_of(e->type) - scale_of(e->args[0]->type);
    return range_binary(FE_MUL, of_expr(k, n, e->args[0]), (struct pl_range){true, hd_pow10(by), hd_pow10(by)});
}

static struct pl_range of_branches(struct look *k, const struct fe_node *n, const struct fe_expr *e)
{
    bool is_case = e->op == FE_CASE, any = false;
    struct pl_range r = {false, 0, 0};
    for (int i = 0; i < e->nargs; i++) {
        bool condition = is_case && i % 2 == 0 && i + 1 < e->nargs; /* an odd last one is the else */
        if (condition)
            continue;
        struct pl_range x = of_expr(k, n, e->args[i]);
        r = any ? hull(r, x) : x;
        any = true;
    }
    return r;
}

static struct pl_range of_expr(struct look *k, const struct fe_node *n, const struct fe_expr *e)
{
    if (--k->left < 0)
        return range_of_type(e->type);
    if (e->op == FE_COL)
        return of_column(k, n, e);
    if (e->op == FE_LIT)
        return of_value(&e->value, e->type);
    if (e->op == FE_PARAM && !e->param_list)
        return of_value(&k->plan->params[e->param].value, e->type);
    if (e->op == FE_COALESCE || e->op == FE_CASE)
        return of_branches(k, n, e);
    return checked(unchecked(k, n, e), e->type);
}

struct pl_range pl_typed_range(const struct fe_plan *p, const struct fe_node *n, const struct fe_expr *e)
{
    struct look k = {p, LOOKS};
    return of_expr(&k, n, e);
}

static bool may_fail(struct look *k, const struct fe_node *n, const struct fe_expr *e)
{
    if (!lx_may_fail(e))
        return false;
    bool checks = fe_op_form(e->op)->fails != FE_FAILS_NEVER;
    if (checks && !range_within(unchecked(k, n, e), range_of_type(e->type)))
        return true;
    for (int i = 0; i < e->nargs; i++)
        if (may_fail(k, n, e->args[i]))
            return true;
    return false;
}

bool pl_typed_may_fail(const struct fe_plan *p, const struct fe_node *n, const struct fe_expr *e)
{
    struct look k = {p, LOOKS};
    return may_fail(&k, n, e);
}
