#include "planner/ends.h"

#include <string.h>

#include "planner/build.h"

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

/* What may raise does so for rows that a later filter would drop. */
static bool is_plain(const struct ctx *c, const struct pl_step *s)
{
    bool plain = s->kind == PL_STEP_LOAD_COLUMN || s->kind == PL_STEP_LET || s->kind == PL_STEP_FILTER;
    return plain && (s->expr < 0 || !pl_expr_may_fail(c->exprs.v, s->expr));
}

void pl_visit_conditions(const struct ctx *c, const struct pl_pipeline *q, pl_condition_fn visit, void *context)
{
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
        if (!is_plain(c, s))
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
    } else if (pl_is_set(x->op) && column >= 0 &&
               c->args.v[x->arg].nset > 0) { /* FE_EQ: from its first element to its last */
        add_comparison(c, at->q->spec, FE_EQ, column, x->arg);
    } else if (x->op == FE_IN && column >= 0) {
        take_list(c, at->q->spec, x, column);
    }
}

/* ---- instead of filters -------------------------------------------------------------------------- */

struct exact {
    struct ctx *c;
    struct open_pipeline *p;
    struct pl_pipeline q; /* the steps so far */
    int number;
    bool tested; /* the row's number is compared */
};

static bool is_exact(struct exact *x, int steps, int e)
{
    const struct pl_expr *cond = &x->c->exprs.v[e];
    if (exchanged(cond->op) == FE_OP_COUNT)
        return false;
    for (int side = 0; side < 2; side++) {
        const struct pl_expr *of = &x->c->exprs.v[cond->args[side]], *with = &x->c->exprs.v[cond->args[1 - side]];
        int column = of->op == FE_COL && is_constant(with) ? sorted_column(&x->q, steps, of->slot) : -1;
        if (column < 0)
            continue;
        add_comparison(x->c, &x->p->spec, side ? exchanged(cond->op) : cond->op, column, with->arg);
        return true;
    }
    return false;
}

/* The row's number >= that of the first row between the ends. */
static int begins_at(struct exact *x)
{
    struct ctx *c = x->c;
    int first =
        pb_arg(c, (struct rt_arg){.kind = RT_ARG_SOURCE_FIRST, .phys = RT_I32, .index = x->number, .state = -1});
    int args[] = {pb_slot_expr(c, x->p, x->p->source_slot),
                  pb_expr(c, (struct pl_expr){.op = FE_LIT, .phys = RT_I32, .arg = first, .slot = -1, .state = -1})};
    x->tested = true;
    return pb_op(c, FE_GE, RT_BOOL, false, 2, args);
}

/* What is left of the filter's condition; -1: nothing. */
static int take_filter(struct exact *x, int steps, int e)
{
    const struct pl_expr cond = x->c->exprs.v[e];
    int n = 0, *left = HD_NEWN(x->c->a, int, cond.nargs + 2);
    bool taken = false;
    for (int i = 0; i < (cond.op == FE_AND ? cond.nargs : 1); i++) {
        int of = cond.op == FE_AND ? cond.args[i] : e;
        bool more = is_exact(x, steps, of);
        taken = taken || more;
        if (!more)
            left[n++] = of;
    }
    if (!taken)
        return e;
    if (!x->tested)
        left[n++] = begins_at(x);
    if (n < 2)
        return n ? left[0] : -1;
    return pb_op(x->c, FE_AND, RT_BOOL, cond.nullable, n, left);
}

static void take_pipeline(struct exact *x)
{
    struct open_pipeline *p = x->p;
    int n = 0;
    for (bool plain = true; n < p->steps.n && plain;) {
        struct pl_step *s = &p->steps.v[n];
        plain = is_plain(x->c, s);
        if (plain && s->kind == PL_STEP_FILTER)
            s->expr = take_filter(x, n, s->expr);
        if (plain && s->kind == PL_STEP_FILTER && s->expr < 0) {
            memmove(s, s + 1, (size_t)(--p->steps.n - n) * sizeof *s);
            continue;
        }
        n++;
    }
}

void pl_take_exact_ends(struct ctx *c)
{
    for (int i = 0; i < c->pipelines.n && c->opt.on_gpu; i++) {
        struct open_pipeline *p = c->pipelines.v[i];
        struct exact x = {.c = c, .p = p, .number = i};
        x.q = (struct pl_pipeline){.source_slot = p->source_slot, .nsteps = p->steps.n, .steps = p->steps.v};
        if (p->spec.source == RT_SOURCE_TABLE)
            take_pipeline(&x);
    }
}

void pl_seal_ends(struct ctx *c, struct pl_pipeline *q)
{
    struct ends at = {c, q};
    if (q->spec->source == RT_SOURCE_TABLE)
        pl_visit_conditions(c, q, take_condition, &at);
}
