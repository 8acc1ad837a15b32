/* x in (subplan) and exists (subplan) in the expressions of filters and projections (docs/plan.md 2.3). Each becomes a
 * mark join below the operator. `in` may be NULL: where it finds nothing, but x is NULL and the subplan has rows, or the
 * subplan has a NULL. Two more marks tell, of places where NULL is neither as good as false nor as true. */
#include "frontend/plan_read.h"

static struct fe_ast *column(struct fe_below *b, int col, const char *path)
{
    struct fe_ast *x = fe_ast_new(b->r->arena, FE_COL, path, -1);
    x->name = b->scope->cols[col].name;
    return x;
}

static struct fe_ast *over(struct fe_below *b, enum fe_op op, const char *path, int n, struct fe_ast *const *args)
{
    struct fe_ast *x = fe_ast_new(b->r->arena, op, path, -1);
    fe_ast_set_args(b->r->arena, x, n, args);
    return x;
}

static struct fe_ast *literal(struct fe_below *b, struct fe_value v, const char *path)
{
    struct fe_ast *x = fe_ast_new(b->r->arena, FE_LIT, path, -1);
    x->lit = v;
    return x;
}

/* ---- joins ------------------------------------------------------------------------------------------------- */

/* The mark join of the input with `right`, which becomes the input; the number of its mark. */
static int add_mark(struct fe_below *b, const struct fe_json *v, struct fe_node *join, int *mark)
{
    struct fe_plan_reader *r = b->r;
    const struct fe_node *left = join->inputs[0];
    struct fe_column *cols = HD_NEWN(r->arena, struct fe_column, left->ncols + 1);
    for (int i = 0; i < left->ncols; i++)
        cols[i] = left->cols[i];
    *mark = left->ncols;
    cols[*mark] = (struct fe_column){hd_asprintf(r->arena, "#mark %d", *mark), hd_type_of(HD_BOOL), false};
    HD_TRY(fe_set_columns(r, v, join, left->ncols + 1, cols));
    *b->input = join;
    b->scope->ncols = join->ncols;
    b->scope->cols = join->cols;
    return 0;
}

/* The same, of what alone decides about a row: no mark, rows that do not stay are gone. */
static int add_decision(struct fe_below *b, const struct fe_json *v, struct fe_node *join)
{
    bool negated = b->base.null == FE_NULL_AS_TRUE;
    join->u.join.kind = negated ? FE_ANTI : FE_SEMI;
    HD_TRY(fe_set_columns(b->r, v, join, join->inputs[0]->ncols, join->inputs[0]->cols));
    *b->input = join;
    return 0;
}

/* What stands for the join where it was said. */
static int add_join(struct fe_below *b, const struct fe_json *v, struct fe_node *join, struct fe_ast **out)
{
    struct fe_value stays = {.type = hd_type_of(HD_BOOL), .i = b->base.null == FE_NULL_AS_FALSE};
    int mark;
    if (b->base.decides) {
        *out = literal(b, stays, join->path);
        return add_decision(b, v, join);
    }
    HD_TRY(add_mark(b, v, join, &mark));
    *out = column(b, mark, join->path);
    return 0;
}

static struct fe_node *new_join(struct fe_below *b, const struct fe_json *v, struct fe_node *right)
{
    struct fe_node *n = fe_new_node(b->r, v, FE_JOIN_OP, 2);
    n->inputs[0] = *b->input;
    n->inputs[1] = right;
    n->u.join.kind = FE_MARK;
    return n;
}

/* So that the subplan is computed once: a reference to it, each time that it is called. */
static struct fe_node *reference(struct fe_below *b, const struct fe_json *v, const struct fe_node *sub, int shared)
{
    struct fe_node *n = fe_new_node(b->r, v, FE_REF_OP, 0);
    n->u.ref.shared = shared;
    n->ncols = sub->ncols;
    n->cols = sub->cols;
    return n;
}

static struct fe_node *nulls_of(struct fe_below *b, const struct fe_json *v, struct fe_node *in)
{
    struct fe_node *n = fe_new_node(b->r, v, FE_FILTER_OP, 1);
    n->inputs[0] = in;
    n->ncols = in->ncols;
    n->cols = in->cols;
    struct fe_expr *test = n->u.filter.pred = HD_NEW(b->r->arena, struct fe_expr);
    *test = (struct fe_expr){.op = FE_IS_NULL, .type = hd_type_of(HD_BOOL), .nargs = 1, .path = n->path};
    test->args = HD_NEWN(b->r->arena, struct fe_expr *, 1);
    test->args[0] = fe_expr_column(b->r->arena, 0, &in->cols[0], n->path);
    return n;
}

/* ---- in ------------------------------------------------------------------------------------------------------ */

struct membership {
    struct fe_ast *x;
    struct fe_expr *value; /* x over the input, as wide as the subplan's column */
    struct fe_node *sub;   /* one column */
};

static int read_membership(struct fe_below *b, const struct fe_json *v, struct membership *m)
{
    struct fe_plan_reader *r = b->r;
    struct fe_typing t = {r->arena, r->err, r->plan->params, r->plan->nparams, b->scope};
    struct fe_json args, x;
    HD_TRY(fe_json_object(v, "op", "args", "plan", NULL));
    HD_TRY(fe_json_need(v, "args", &args));
    HD_TRY(fe_json_array(&args));
    if (fe_json_length(&args) != 1)
        return fe_json_fail(&args, "expected one argument beside \"plan\", found %d", fe_json_length(&args));
    fe_json_first(&args, &x);
    enum fe_null_as null = b->base.null;
    b->base.null = FE_NULL_AS_NULL;
    HD_TRY(fe_ast_read(&x, &m->x));
    b->base.null = null;
    HD_TRY(fe_ast_type(&t, m->x, NULL, NULL, &m->value));
    HD_TRY(fe_read_input(r, v, "plan", &m->sub));
    if (m->sub->ncols != 1)
        return fe_json_fail(v, "expected a subplan with one column, found %d", m->sub->ncols);
    return 0;
}

/* The join that finds x. */
static int add_member(struct fe_below *b, const struct fe_json *v, const struct membership *m, struct fe_node *right,
                      struct fe_ast **out)
{
    struct hd_arena *a = b->r->arena;
    struct fe_node *join = new_join(b, v, right);
    join->u.join.nkeys = 1;
    join->u.join.lkeys = HD_NEWN(a, struct fe_expr *, 1);
    join->u.join.rkeys = HD_NEWN(a, struct fe_expr *, 1);
    join->u.join.null_equal = HD_NEWN(a, bool, 1);
    join->u.join.lkeys[0] = m->value;
    join->u.join.rkeys[0] = fe_expr_column(a, 0, &right->cols[0], join->path);
    HD_TRY(fe_unify_keys(b->r, v, &join->u.join.lkeys[0], &join->u.join.rkeys[0]));
    return add_join(b, v, join, out);
}

/* A condition that makes what was not found NULL; NULL: nothing does. */
static int unknown(struct fe_below *b, const struct fe_json *v, const struct membership *m, int shared,
                   struct fe_ast **out)
{
    const char *path = fe_json_path(v);
    struct fe_ast *tests[2];
    int n = 0, mark;
    if (m->sub->cols[0].nullable) {
        HD_TRY(add_mark(b, v, new_join(b, v, nulls_of(b, v, reference(b, v, m->sub, shared))), &mark));
        tests[n++] = column(b, mark, path);
    }
    if (m->value->nullable) {
        HD_TRY(add_mark(b, v, new_join(b, v, reference(b, v, m->sub, shared)), &mark));
        struct fe_ast *both[2] = {over(b, FE_IS_NULL, path, 1, &m->x), column(b, mark, path)};
        tests[n++] = over(b, FE_AND, path, 2, both);
    }
    *out = n == 2 ? over(b, FE_OR, path, 2, tests) : tests[0];
    return 0;
}

static struct fe_ast *decided(struct fe_below *b, const char *path, struct fe_ast *found, struct fe_ast *open)
{
    struct fe_ast *either[2] = {found, open};
    if (b->base.null == FE_NULL_AS_TRUE)
        return over(b, FE_OR, path, 2, either);
    struct fe_value yes = {.type = hd_type_of(HD_BOOL), .i = 1}, no = {.type = hd_type_of(HD_BOOL)};
    struct fe_value null = {.type = hd_type_of(HD_BOOL), .is_null = true};
    struct fe_ast *cases[5] = {found, literal(b, yes, path), open, literal(b, null, path), literal(b, no, path)};
    return over(b, FE_CASE, path, 5, cases);
}

static int read_in(struct fe_below *b, const struct fe_json *v, struct fe_ast **out)
{
    const char *path = fe_json_path(v);
    struct membership m;
    struct fe_ast *found, *open;
    HD_TRY(read_membership(b, v, &m));
    if (b->base.null == FE_NULL_AS_FALSE || !(m.value->nullable || m.sub->cols[0].nullable))
        return add_member(b, v, &m, m.sub, out);
    int shared = fe_add_shared(b->r, hd_asprintf(b->r->arena, "#%d", b->r->plan->nshared), m.sub);
    HD_TRY(add_member(b, v, &m, reference(b, v, m.sub, shared), &found));
    HD_TRY(unknown(b, v, &m, shared, &open));
    *out = decided(b, path, found, open);
    return 0;
}

/* ---- exists ---------------------------------------------------------------------------------------------------- */

static int read_exists(struct fe_below *b, const struct fe_json *v, struct fe_ast **out)
{
    struct fe_node *sub, *join;
    HD_TRY(fe_json_object(v, "op", "plan", "on", "residual", NULL));
    HD_TRY(fe_read_input(b->r, v, "plan", &sub));
    join = new_join(b, v, sub);
    HD_TRY(fe_read_match(b->r, v, join));
    return add_join(b, v, join, out);
}

/* ---- the operators around -------------------------------------------------------------------------------------- */

static int read_subplan(struct fe_subplans *s, const struct fe_json *v, struct fe_ast **out)
{
    static const char *const names[] = {"in", "exists"};
    struct fe_below *b = (struct fe_below *)s;
    struct fe_json op;
    int k = 0;
    HD_TRY(fe_json_need(v, "op", &op));
    HD_TRY(fe_read_choice(&op, names, 2, &k));
    return k ? read_exists(b, v, out) : read_in(b, v, out);
}

void fe_subplans_below(struct fe_below *b, struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **input,
                       struct fe_scope *scope, bool filters)
{
    *b = (struct fe_below){
        {read_subplan, filters ? FE_NULL_AS_FALSE : FE_NULL_AS_NULL, filters}, r, input, scope, *input};
    v->r->subplans = &b->base;
}

/* ---- filters --------------------------------------------------------------------------------------------------- */

static bool reads_marks(const struct fe_expr *e, int ncols)
{
    bool found = e->op == FE_COL && e->col >= ncols;
    for (int i = 0; i < e->nargs && !found; i++)
        found = reads_marks(e->args[i], ncols);
    return found;
}

static bool is_true(const struct fe_expr *e)
{
    bool negated = e->op == FE_NOT;
    const struct fe_expr *x = negated ? e->args[0] : e;
    return x->op == FE_LIT && !x->value.is_null && (x->value.i != 0) != negated;
}

/* Those conjuncts of e that read marks, or that read none; NULL: there are none. */
static struct fe_expr *conjuncts(struct hd_arena *a, const struct fe_expr *e, bool marks, int ncols)
{
    int n = e->op == FE_AND ? e->nargs : 1;
    struct fe_expr *all = hd_dup(a, e, sizeof *e), **from = e->op == FE_AND ? e->args : &all;
    struct fe_expr **kept = HD_NEWN(a, struct fe_expr *, n);
    struct fe_expr *both = HD_NEW(a, struct fe_expr);
    *both = (struct fe_expr){.op = FE_AND, .type = e->type, .args = kept, .path = e->path};
    for (int i = 0; i < n; i++)
        if (!is_true(from[i]) && reads_marks(from[i], ncols) == marks) {
            both->nullable |= from[i]->nullable;
            kept[both->nargs++] = from[i];
        }
    return both->nargs > 1 ? both : both->nargs ? kept[0] : NULL;
}

static struct fe_node *filtered(struct fe_below *b, const struct fe_json *v, struct fe_node *in, struct fe_expr *pred)
{
    if (!pred)
        return in;
    struct fe_node *n = fe_new_node(b->r, v, FE_FILTER_OP, 1);
    n->inputs[0] = in;
    n->ncols = in->ncols;
    n->cols = in->cols;
    n->u.filter.pred = pred;
    return n;
}

/* Without the marks of subplans. */
static struct fe_node *first_columns(struct fe_below *b, const struct fe_json *v, struct fe_node *in, int n)
{
    if (in->ncols == n)
        return in;
    struct fe_node *p = fe_new_node(b->r, v, FE_PROJECT_OP, 1);
    p->inputs[0] = in;
    p->ncols = n;
    p->cols = in->cols;
    p->u.project.exprs = HD_NEWN(b->r->arena, struct fe_expr *, n);
    for (int i = 0; i < n; i++)
        p->u.project.exprs[i] = fe_expr_column(b->r->arena, i, &in->cols[i], p->path);
    return p;
}

struct fe_node *fe_subplans_filtered(struct fe_below *b, const struct fe_json *v, struct fe_node *filter)
{
    struct fe_node *joins = filter->inputs[0], *last = joins;
    int ncols = b->first->ncols;
    if (joins == b->first)
        return filter;
    while (last->inputs[0] != b->first)
        last = last->inputs[0];
    last->inputs[0] = filtered(b, v, b->first, conjuncts(b->r->arena, filter->u.filter.pred, false, ncols));
    struct fe_node *n = filtered(b, v, joins, conjuncts(b->r->arena, filter->u.filter.pred, true, ncols));
    return first_columns(b, v, n, ncols);
}
