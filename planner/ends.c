#include "planner/ends.h"

/* The column of the source's table that a slot has, by which rows are sorted; -1: none. */
static int sorted_column(const struct pl_pipeline *q, int steps, int slot)
{
    for (int i = 0; i < steps; i++) {
        const struct pl_step *s = &q->steps[i];
        if (s->slot == slot && s->kind == PL_STEP_LOAD_COLUMN && s->row_slot == q->source_slot)
            return pl_column_is_sorted(s->table, s->column) ? s->column : -1;
    }
    return -1;
}

static void add_end(struct ctx *c, struct rt_pipeline *r, struct rt_end end)
{
    hd_grow1(c->a, r->ends, r->nends);
    r->ends[r->nends++] = end;
}

/* The column op the constant. */
static void add_comparison(struct ctx *c, struct rt_pipeline *r, enum fe_op op, int column, int arg)
{
    bool strict = op == FE_GT || op == FE_LT;
    if (op != FE_LT && op != FE_LE)
        add_end(c, r, (struct rt_end){.column = column, .arg = arg, .lower = true, .strict = strict});
    if (op != FE_GT && op != FE_GE)
        add_end(c, r, (struct rt_end){.column = column, .arg = arg, .strict = strict});
}

/* The same comparison with its sides exchanged; FE_OP_COUNT: not one that gives ends. */
static enum fe_op exchanged(enum fe_op op)
{
    static const enum fe_op pairs[][2] = {
        {FE_EQ, FE_EQ}, {FE_LT, FE_GT}, {FE_LE, FE_GE}, {FE_GT, FE_LT}, {FE_GE, FE_LE}};
    for (size_t i = 0; i < HD_COUNT(pairs); i++)
        if (pairs[i][0] == op)
            return pairs[i][1];
    return FE_OP_COUNT;
}

static bool is_constant(const struct pl_expr *x)
{
    return x->op == FE_LIT && !x->is_null;
}

/* x in (c1, c2, ...): between the smallest and the largest of the constants. */
static void take_list(struct ctx *c, struct rt_pipeline *r, const struct pl_expr *x, int column)
{
    int first = -1, last = -1;
    for (int i = 1; i < x->nargs; i++) {
        const struct pl_expr *with = &c->exprs.v[x->args[i]];
        if (!is_constant(with))
            return;
        if (first < 0 || c->args.v[with->arg].i < c->args.v[first].i)
            first = with->arg;
        if (last < 0 || c->args.v[with->arg].i > c->args.v[last].i)
            last = with->arg;
    }
    if (first >= 0) {
        add_comparison(c, r, FE_GE, column, first);
        add_comparison(c, r, FE_LE, column, last);
    }
}

static void take_comparison(struct ctx *c, const struct pl_pipeline *q, int steps, const struct pl_expr *x)
{
    for (int side = 0; side < 2; side++) {
        const struct pl_expr *of = &c->exprs.v[x->args[side]], *with = &c->exprs.v[x->args[1 - side]];
        int column = of->op == FE_COL && is_constant(with) ? sorted_column(q, steps, of->slot) : -1;
        if (column >= 0)
            add_comparison(c, q->spec, side ? exchanged(x->op) : x->op, column, with->arg);
    }
}

/* ---- conditions of the source's rows ----------------------------------------------------------- */

static void visit_condition(const struct ctx *c, int steps, int e, pl_condition_fn visit, void *context)
{
    const struct pl_expr *x = &c->exprs.v[e];
    if (x->op != FE_AND)
        visit(context, steps, e);
    for (int i = 0; x->op == FE_AND && i < x->nargs; i++)
        visit_condition(c, steps, x->args[i], visit, context);
}

void pl_visit_conditions(const struct ctx *c, const struct pl_pipeline *q, pl_condition_fn visit, void *context)
{
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
        bool plain = s->kind == PL_STEP_LOAD_COLUMN || s->kind == PL_STEP_LET || s->kind == PL_STEP_FILTER;
        /* What may raise does so for rows that a later filter would drop. */
        if (!plain || (s->expr >= 0 && pl_expr_may_fail(c->exprs.v, s->expr)))
            return;
        if (s->kind == PL_STEP_FILTER)
            visit_condition(c, i, s->expr, visit, context);
    }
}

/* ---- ends ---------------------------------------------------------------------------------------- */

struct ends {
    struct ctx *c;
    struct pl_pipeline *q;
};

/* Comparisons of a sorted column with constants. */
static void take_condition(void *context, int steps, int e)
{
    const struct ends *at = context;
    struct ctx *c = at->c;
    const struct pl_expr *x = &c->exprs.v[e], *of = x->nargs ? &c->exprs.v[x->args[0]] : NULL;
    int column = of && of->op == FE_COL ? sorted_column(at->q, steps, of->slot) : -1;
    if (exchanged(x->op) != FE_OP_COUNT) {
        take_comparison(c, at->q, steps, x);
    } else if (x->op == FE_IN_SET && column >= 0) { /* FE_EQ: from its first element to its last */
        add_comparison(c, at->q->spec, FE_EQ, column, x->arg);
    } else if (x->op == FE_IN && column >= 0) {
        take_list(c, at->q->spec, x, column);
    }
}

void pl_seal_ends(struct ctx *c, struct pl_pipeline *q)
{
    struct ends at = {c, q};
    if (q->spec->source == RT_SOURCE_TABLE)
        pl_visit_conditions(c, q, take_condition, &at);
}
