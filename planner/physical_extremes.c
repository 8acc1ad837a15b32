/* Existence with a residual against one build value, without looking at pairs: some b <> x exactly if
 * the minimum or the maximum b of the key differs from x, some b < x exactly if the minimum is below
 * it, some b > x exactly if the maximum is above. So the build side becomes one row per key with
 * its minimum and maximum, found by a unique lookup; a key with many rows on both sides then costs
 * their sum instead of their product. NULLs need no care: MIN and MAX pass over them, a key without
 * values compares with NULL, and NULL is no match. */
#include "planner/physical_extremes.h"

#include "planner/cost.h"
#include "planner/estimate.h"
#include "planner/physical_tree.h"
#include "planner/typed.h"

/* ---- when ------------------------------------------------------------------------------------------ */

/* The residual's one conjunct that reads the build side, `b op x` or `x op b`, and which side b is. */
struct extremes {
    const struct fe_expr *compare;
    int b;
};

static bool ordered_value(const struct fe_expr *e)
{
    /* Strings are left out for their width; a cast that saturates leaves its type's range. */
    return !hd_type_is_text(e->type) && e->type.kind != HD_BOOL && !(e->op == FE_CAST && e->saturate);
}

/* NULL: the residual has the form; else why it has not. */
static const char *why_not(const struct pl_join *j, struct extremes *x)
{
    int nl = j->nleft, all = nl + j->nbuilt; /* kinds with existence never exchange their sides */
    *x = (struct extremes){0};
    if (j->kind == FE_FULL || j->kind == FE_LEFT)
        return "not for this kind of join";
    if (j->strategy == FE_LOOP)
        return "the plan asks for a loop";
    if (j->nkeys == 0)
        return "no keys";
    if (j->strategy == FE_INDEX)
        return "the plan asks for an index";
    for (int i = 0; i < j->nrest; i++) {
        const struct fe_expr *e = j->rest[i];
        if (lx_may_fail(e))
            return "the condition may raise";
        if (!pl_expr_uses(e, nl, all))
            continue;
        if (x->compare || !pl_is_inequality(e->op))
            return "the condition is not one comparison with a build value";
        x->compare = e;
        x->b = pl_expr_uses(e->args[1], nl, all);
        if (pl_expr_uses(e->args[x->b], 0, nl) || pl_expr_uses(e->args[!x->b], nl, all) ||
            !ordered_value(e->args[x->b]))
            return "the comparison is not of a build value with a probe value";
    }
    return x->compare ? NULL : "the condition reads no build value";
}

/* Of the build side only keys that the probe side has are of use. */
static double cheapest(struct ctx *c, const struct pl_join *j, bool *reduce)
{
    const struct fe_table *t = node_table(j->tbuild);
    double probe = est_rows(c, j->tprobe), build = est_rows(c, j->tbuild), keys = 1;
    for (int i = 0; i < j->nkeys; i++)
        keys *= HD_MAX(1, est_key(c, j->tbuild, j->bkeys[i]).distinct);
    double scanned = t ? (double)t->rows : 0;
    double whole = pl_cost_extremes(scanned, build, probe);
    double less = pl_cost_extremes_reduced(scanned, build, probe, keys);
    *reduce = less < whole;
    return HD_MIN(less, whole);
}

/* ---- the condition on minimum and maximum ---------------------------------------------------------------- */

static struct fe_expr *against(struct ctx *c, const struct extremes *x, struct fe_expr *extreme)
{
    struct fe_expr *e = hd_dup(c->a, x->compare, sizeof *e);
    e->args = hd_dup(c->a, x->compare->args, 2 * sizeof *e->args);
    e->args[x->b] = extreme;
    e->nullable = true;
    return e;
}

/* The residual over columns of which number `at` is the minimum and `at` + 1 the maximum. */
static struct fe_expr *condition(struct ctx *c, const struct pl_join *j, const struct extremes *x, int at)
{
    const struct fe_expr *e = x->compare;
    struct hd_type t = e->args[x->b]->type;
    struct fe_expr *min = pl_col_node(c->a, at, t, true, e->path);
    struct fe_expr *max = pl_col_node(c->a, at + 1, t, true, e->path);
    bool below = e->op == FE_LT || e->op == FE_LE; /* of the left argument */
    struct fe_expr *all = against(c, x, below != (x->b == 1) ? min : max);
    if (e->op == FE_NE)
        all = pl_expr_node(c->a, FE_OR, e->type, true, e->path, 2, against(c, x, min), against(c, x, max));
    for (int i = 0; i < j->nrest; i++) /* what reads the probe side only */
        if (j->rest[i] != e)
            all = pl_expr_node(c->a, FE_AND, e->type, true, e->path, 2, (struct fe_expr *)(uintptr_t)j->rest[i], all);
    return all;
}

/* What is true of rows with a match, false of all others. */
static struct fe_expr *is_match(struct ctx *c, struct fe_expr *cond)
{
    struct hd_type b = hd_type_of(HD_BOOL);
    struct fe_expr *no = pl_expr_node(c->a, FE_LIT, b, false, cond->path, 0, NULL, NULL);
    no->value.type = b;
    return pl_expr_node(c->a, FE_COALESCE, b, false, cond->path, 2, cond, no);
}

static void set_condition(struct ctx *c, struct pl_join *j, const struct extremes *x)
{
    struct fe_expr *cond = condition(c, j, x, j->nleft + j->nbuilt);
    j->nrest = 0;
    j->rest = NULL;
    if (j->kind == FE_SEMI) {
        pl_order_conjuncts(c->a, cond, &j->rest, &j->nrest);
        return;
    }
    j->match = is_match(c, cond);
    if (j->kind == FE_ANTI)
        pl_order_conjuncts(c->a, pl_expr_node(c->a, FE_NOT, j->match->type, false, cond->path, 1, j->match, NULL),
                           &j->rest, &j->nrest);
}

/* ---- the nodes ----------------------------------------------------------------------------------------------- */

/* Those build rows whose key some kept probe row has. */
static struct pl_node *reduced(struct ctx *c, const struct pl_join *j, struct pl_node *probe, const char *path)
{
    struct pl_node *inputs[2] = {j->build, probe};
    struct pl_node *p = pl_node_new(c, PL_NODE_JOIN, NULL, 2, inputs);
    p->path = path;
    p->label = j->build->label;
    p->rows = j->build->rows;
    p->u.join = (struct pl_join){.kind = FE_SEMI,
                                 .written = FE_SEMI,
                                 .nkeys = j->nkeys,
                                 .pkeys = j->bkeys,
                                 .bkeys = j->pkeys,
                                 .null_equal = j->null_equal,
                                 .tprobe = j->tbuild,
                                 .tbuild = j->tprobe,
                                 .want = c->need[j->tbuild->id],
                                 .probe = inputs[0],
                                 .build = inputs[1]};
    return p;
}

static struct pl_node *grouped(struct ctx *c, const struct pl_join *j, const struct extremes *x, struct pl_node *in,
                               const char *path)
{
    struct pl_node *p = pl_node_new(c, PL_NODE_EXTREMES, NULL, 1, &in);
    p->path = path;
    p->label = fe_relop_name(FE_AGGREGATE_OP);
    p->rows = in->rows;
    p->u.extremes.nkeys = j->nkeys;
    p->u.extremes.keys = j->bkeys;
    p->u.extremes.first = j->nleft;
    p->u.extremes.arg = x->compare->args[x->b];
    return p;
}

static struct pl_node *joined(struct ctx *c, const struct fe_node *n, struct pl_join *j, const struct extremes *x,
                              bool reduce)
{
    struct pl_node *keep = NULL, *build = j->build;
    if (reduce) {
        keep = pl_node_keep(c, j->probe, "probe", j->want, n->path);
        build = reduced(c, j, pl_node_read(c, keep, n->path), n->path);
        j->probe = pl_node_read(c, keep, n->path);
    }
    j->build = grouped(c, j, x, build, n->path);
    struct fe_expr **keys = HD_NEWN(c->a, struct fe_expr *, j->nkeys + 1);
    for (int i = 0; i < j->nkeys; i++)
        keys[i] = pl_col_node(c->a, i, j->bkeys[i]->type, true, n->path);
    set_condition(c, j, x);
    j->form = PL_FORM_EXTREMES;
    j->share = est_share(c, j->tbuild);
    j->bkeys = keys;
    j->keep = NULL;
    j->tprobe = j->tbuild = NULL;
    struct pl_node *inputs[3] = {keep, j->build, j->probe};
    struct pl_node *p = pl_node_new(c, PL_NODE_JOIN, n, reduce ? 3 : 2, inputs + !reduce);
    p->u.join = *j;
    return p;
}

/* Pairs can be cheaper only by a stored index: few probe rows then meet few rows each. A built table
 * costs about as much as the groups, and whatever skew facts do not show stays harmless here. */
struct pl_node *pl_extremes(struct ctx *c, const struct fe_node *n, struct pl_join *j, struct pl_form_costs *f)
{
    struct extremes x;
    bool reduce;
    f->no_extremes = why_not(j, &x);
    if (f->no_extremes)
        return NULL;
    f->extremes = cheapest(c, j, &reduce);
    if (f->extremes >= f->twice && j->way != PL_WAY_BUILD)
        return NULL;
    j->way = PL_WAY_BUILD;
    pl_filter_build_side(c, n, j);
    return joined(c, n, j, &x, reduce);
}
