/* Joins for Substrait. How matches are found stays Heddle's matter: strategy and build side are left out. */
#include "frontend/substrait_produce.h"

/* The pairs of `on`, then the residual; NULL: there are neither. *nullable: the condition may be NULL. */
static int condition(struct sp *p, const struct fe_node *n, bool *nullable, struct cJSON **out)
{
    int k = n->u.join.nkeys, nleft = n->inputs[0]->ncols;
    struct cJSON **all = HD_NEWN(p->arena, struct cJSON *, k + 1);
    const struct fe_expr *rest = n->u.join.residual;
    *nullable = rest && rest->nullable;
    for (int i = 0; i < k; i++) {
        const struct fe_expr *l = n->u.join.lkeys[i], *r = n->u.join.rkeys[i];
        *nullable |= !n->u.join.null_equal[i] && (l->nullable || r->nullable);
        HD_TRY(sp_equal(p, l, r, nleft, n->u.join.null_equal[i], &all[i]));
    }
    if (rest)
        HD_TRY(sp_expr(p, rest, 0, &all[k]));
    return sp_and(p, k + (rest != NULL), all, out);
}

static struct cJSON *two_inputs(struct sp *p, const char *kind, struct cJSON *left, struct cJSON *right,
                                struct cJSON **body)
{
    struct cJSON *rel = sp_new_rel(p, kind, NULL, body);
    fe_put(*body, "left", left);
    fe_put(*body, "right", right);
    return rel;
}

static struct cJSON *make_join(struct sp *p, const char *type, struct cJSON *left, struct cJSON *right,
                               struct cJSON *cond)
{
    struct cJSON *body, *rel = two_inputs(p, "join", left, right, &body);
    fe_put(body, "expression", cond ? cond : sp_bool_literal(p, true));
    fe_put(body, "type", fe_make_string(p->arena, type));
    return rel;
}

/* A mark of Substrait is NULL where the condition is NULL and nothing matches; Heddle's is false. */
static int never_null(struct sp *p, struct cJSON **cond)
{
    struct cJSON *args = fe_make_list(p->arena);
    sp_add_value(p, args, *cond);
    sp_add_value(p, args, sp_bool_literal(p, false));
    return sp_bool_call(p, "comparison", "coalesce:any", false, args, cond);
}

/* Neither more nor less. */
static bool one_row(const struct fe_node *n)
{
    while (n->op == FE_PROJECT_OP)
        n = n->inputs[0];
    return n->op == FE_AGGREGATE_OP && n->u.agg.nkeys == 0 && n->u.agg.nsets < 2;
}

/* No row of the subquery leaves none: a field that is never NULL tells. */
static int single_inner(struct sp *p, const struct fe_node *n, struct cJSON *left, struct cJSON *right,
                        struct cJSON **out)
{
    int nl = n->inputs[0]->ncols, nr = n->inputs[1]->ncols;
    struct cJSON *body, *exprs = fe_make_list(p->arena), *args = fe_make_list(p->arena), *there = NULL;
    right = sp_new_rel(p, "project", right, &body);
    fe_push(exprs, sp_bool_literal(p, true));
    fe_put(body, "expressions", exprs);
    *out = make_join(p, "JOIN_TYPE_LEFT_SINGLE", left, right, NULL);
    sp_add_value(p, args, sp_field(p, nl + nr));
    HD_TRY(sp_bool_call(p, "comparison", "is_not_null:any", false, args, &there));
    *out = sp_new_rel(p, "filter", *out, &body);
    fe_put(body, "condition", there);
    *out = sp_emit(p, *out, nl + nr, NULL, 0);
    return 0;
}

int sp_join(struct sp *p, const struct fe_node *n, struct cJSON **out)
{
    static const char *const types[] = {
        [FE_INNER] = "JOIN_TYPE_INNER",   [FE_LEFT] = "JOIN_TYPE_LEFT",      [FE_RIGHT] = "JOIN_TYPE_RIGHT",
        [FE_FULL] = "JOIN_TYPE_OUTER",    [FE_SEMI] = "JOIN_TYPE_LEFT_SEMI", [FE_ANTI] = "JOIN_TYPE_LEFT_ANTI",
        [FE_MARK] = "JOIN_TYPE_LEFT_MARK"};
    struct cJSON *left = NULL, *right = NULL, *cond = NULL, *body;
    bool nullable, inner = n->u.join.kind == FE_INNER, single = n->u.join.single;
    if (n->u.join.asof[0])
        return sp_refuse(p, n->path, "Substrait has no as-of join");
    HD_TRY(p->rel(p, n->inputs[0], &left));
    HD_TRY(p->rel(p, n->inputs[1], &right));
    HD_TRY(condition(p, n, &nullable, &cond));
    if (single && inner && !one_row(n->inputs[1]))
        return single_inner(p, n, left, right, out);
    if (inner && !cond) {
        *out = two_inputs(p, "cross", left, right, &body);
        return 0;
    }
    if (n->u.join.kind == FE_MARK && nullable)
        HD_TRY(never_null(p, &cond));
    *out = make_join(p, single ? "JOIN_TYPE_LEFT_SINGLE" : types[n->u.join.kind], left, right, cond);
    return 0;
}
