/* Reads joins: kinds, keys, residual, and what may go together (docs/plan.md 1.1). */
#include <string.h>

#include "frontend/plan_read.h"
#include "runtime/base/vec.h"

static int read_named(const struct fe_json *v, const char *key, int n, const char *(*name)(int), int *out)
{
    struct fe_json m;
    const char *names[8];
    HD_ASSERT(n <= 8);
    for (int i = 0; i < n; i++)
        names[i] = name(i);
    return fe_json_get(v, key, &m) ? fe_read_choice(&m, names, n, out) : 0;
}

static const char *kind_name(int k)
{
    return fe_join_kind_name((enum fe_join_kind)k);
}
static const char *match_name(int m)
{
    return fe_match_name((enum fe_match)m);
}
static const char *strategy_name(int k)
{
    return fe_strategy_name((enum fe_strategy)k);
}
static const char *side_name(int k)
{
    static const char *const names[] = {"auto", "left", "right"};
    return names[k];
}

static int read_options(const struct fe_json *v, struct fe_node *n)
{
    struct fe_json kind_key;
    int kind = 0, strategy = FE_AUTO, side = FE_SIDE_AUTO;
    HD_TRY(fe_json_need(v, "kind", &kind_key));
    HD_TRY(read_named(v, "kind", FE_MARK + 1, kind_name, &kind));
    HD_TRY(read_named(v, "strategy", FE_BAND + 1, strategy_name, &strategy));
    HD_TRY(read_named(v, "build", FE_SIDE_RIGHT + 1, side_name, &side));
    n->u.join.kind = (enum fe_join_kind)kind;
    n->u.join.strategy = (enum fe_strategy)strategy;
    n->u.join.build = (enum fe_side)side;
    return fe_json_opt_bool(v, "single", &n->u.join.single);
}

int fe_unify_keys(struct fe_plan_reader *r, const struct fe_json *pair, struct fe_expr **l, struct fe_expr **r_key)
{
    char lt[HD_TEXT_MAX], rt[HD_TEXT_MAX];
    struct hd_type both;
    hd_type_text((*l)->type, lt);
    hd_type_text((*r_key)->type, rt);
    if (!fe_expr_unify_compare(r->arena, l, r_key) || !fe_type_unify((*l)->type, (*r_key)->type, &both))
        return fe_json_fail(pair, "the two sides cannot be compared: found %s and %s", lt, rt);
    *l = fe_expr_cast(r->arena, *l, both);
    *r_key = fe_expr_cast(r->arena, *r_key, both);
    return 0;
}

/* The third element of a pair. */
static int read_option(struct fe_json *e, bool *null_equal)
{
    static const char *const options[] = {"null_equal"};
    int found;
    *null_equal = fe_json_next(e);
    return *null_equal ? fe_read_choice(e, options, 1, &found) : 0;
}

static int read_pair(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_node *n, int key)
{
    struct fe_scope left = fe_scope_of(n->inputs[0]), right = fe_scope_of(n->inputs[1]);
    struct fe_expr **lkey = &n->u.join.lkeys[key], **rkey = &n->u.join.rkeys[key];
    struct fe_json e;
    HD_TRY(fe_json_array(v));
    if (fe_json_length(v) != 2 && fe_json_length(v) != 3)
        return fe_json_fail(v,
                            "expected a pair [left expression, right expression], maybe with \"null_equal\" as third "
                            "element, found %d elements",
                            fe_json_length(v));
    fe_json_first(v, &e);
    HD_TRY(fe_read_expr(r, &e, &left, NULL, NULL, lkey));
    fe_json_next(&e);
    HD_TRY(fe_read_expr(r, &e, &right, NULL, NULL, rkey));
    HD_TRY(read_option(&e, &n->u.join.null_equal[key]));
    return fe_unify_keys(r, v, lkey, rkey);
}

static int read_pairs(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n)
{
    struct fe_json on, pair;
    if (!fe_json_get(v, "on", &on))
        return 0;
    HD_TRY(fe_json_array(&on));
    int cap = fe_json_length(&on);
    n->u.join.lkeys = HD_NEWN(r->arena, struct fe_expr *, cap);
    n->u.join.rkeys = HD_NEWN(r->arena, struct fe_expr *, cap);
    n->u.join.null_equal = HD_NEWN(r->arena, bool, cap);
    for (bool more = fe_json_first(&on, &pair); more; more = fe_json_next(&pair))
        HD_TRY(read_pair(r, &pair, n, n->u.join.nkeys++));
    return 0;
}

/* Types end up equal, as those of keys do. */
static int read_asof(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n)
{
    struct fe_scope scope[2] = {fe_scope_of(n->inputs[0]), fe_scope_of(n->inputs[1])};
    static const char *const sides[] = {"left", "right"};
    struct fe_json asof, e;
    int match = 0;
    if (!fe_json_get(v, "asof", &asof))
        return 0;
    HD_TRY(fe_json_object(&asof, "left", "right", "match", NULL));
    for (int i = 0; i < 2; i++) {
        HD_TRY(fe_json_need(&asof, sides[i], &e));
        HD_TRY(fe_read_expr(r, &e, &scope[i], NULL, NULL, &n->u.join.asof[i]));
    }
    HD_TRY(fe_json_need(&asof, "match", &e));
    HD_TRY(read_named(&asof, "match", FE_MATCH_LT + 1, match_name, &match));
    n->u.join.match = (enum fe_match)match;
    return fe_unify_keys(r, &asof, &n->u.join.asof[0], &n->u.join.asof[1]);
}

static void add_side(struct fe_column *cols, int *n, const struct fe_node *input, bool nullable)
{
    for (int i = 0; i < input->ncols; i++) {
        cols[*n] = input->cols[i];
        cols[(*n)++].nullable |= nullable;
    }
}

static int read_mark(const struct fe_json *v, const struct fe_node *n, const char **out)
{
    struct fe_json m;
    bool given = fe_json_get(v, "mark", &m);
    if (n->u.join.kind == FE_MARK) {
        HD_TRY(fe_json_need(v, "mark", &m));
        return fe_json_name(&m, out);
    }
    return given ? fe_json_fail(&m, "\"mark\" belongs to kind mark, not to %s", fe_join_kind_name(n->u.join.kind)) : 0;
}

static int set_output(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n)
{
    const enum fe_join_kind k = n->u.join.kind;
    const char *mark = NULL;
    int ncols = 0;
    struct fe_column *cols = HD_NEWN(r->arena, struct fe_column, n->inputs[0]->ncols + n->inputs[1]->ncols + 1);
    HD_TRY(read_mark(v, n, &mark));
    add_side(cols, &ncols, n->inputs[0], k == FE_RIGHT || k == FE_FULL);
    if (k == FE_INNER || k == FE_LEFT || k == FE_RIGHT || k == FE_FULL)
        add_side(cols, &ncols, n->inputs[1], k == FE_LEFT || k == FE_FULL);
    if (mark)
        cols[ncols++] = (struct fe_column){mark, hd_type_of(HD_BOOL), false};
    return fe_set_columns(r, v, n, ncols, cols);
}

static int read_residual(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n)
{
    struct fe_column *cols = HD_NEWN(r->arena, struct fe_column, n->inputs[0]->ncols + n->inputs[1]->ncols);
    struct fe_scope scope = {0, cols, NULL};
    add_side(cols, &scope.ncols, n->inputs[0], false);
    add_side(cols, &scope.ncols, n->inputs[1], false);
    return fe_read_condition(r, v, "residual", &scope, &n->u.join.residual);
}

int fe_read_match(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n)
{
    HD_TRY(read_pairs(r, v, n));
    return read_residual(r, v, n);
}

static int check_asof(const struct fe_json *v, const struct fe_node *n)
{
    const enum fe_join_kind k = n->u.join.kind;
    if (k != FE_INNER && k != FE_LEFT)
        return fe_json_fail(v, "\"asof\" expects kind inner or left, found %s", fe_join_kind_name(k));
    if (n->u.join.residual)
        return fe_json_fail(v, "\"asof\" expects no \"residual\": filter the inputs or the output");
    if (n->u.join.single)
        return fe_json_fail(v, "\"asof\" and \"single\" exclude each other");
    if (n->u.join.build == FE_SIDE_LEFT)
        return fe_json_fail(v, "\"build\": \"left\" is not possible: an as-of join sorts its right input");
    if (n->u.join.strategy != FE_AUTO)
        return fe_json_fail(v, "strategy %s does not serve an as-of join, which searches its sorted right input",
                            fe_strategy_name(n->u.join.strategy));
    return 0;
}

static int check(const struct fe_json *v, const struct fe_node *n)
{
    const enum fe_join_kind k = n->u.join.kind;
    const char *kind = fe_join_kind_name(k);
    if (n->u.join.asof[0])
        return check_asof(v, n);
    if (n->u.join.single && k != FE_LEFT && k != FE_INNER)
        return fe_json_fail(v, "\"single\" expects kind left or inner, found %s", kind);
    if (n->u.join.single && (n->u.join.nkeys || n->u.join.residual))
        return fe_json_fail(v, "\"single\" expects neither \"on\" nor \"residual\"");
    if (n->u.join.nkeys == 0 && n->u.join.strategy != FE_AUTO && n->u.join.strategy != FE_LOOP &&
        n->u.join.strategy != FE_BAND)
        return fe_json_fail(v, "strategy %s expects at least one pair in \"on\"", fe_strategy_name(n->u.join.strategy));
    return 0;
}

int fe_read_JOIN(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "kind", "left", "right", "on", "asof", "residual", "build", "strategy",
                          "mark", "single", NULL));
    struct fe_node *n = fe_new_node(r, v, FE_JOIN_OP, 2);
    HD_TRY(read_options(v, n));
    HD_TRY(fe_read_input(r, v, "left", &n->inputs[0]));
    HD_TRY(fe_read_input(r, v, "right", &n->inputs[1]));
    HD_TRY(read_pairs(r, v, n));
    HD_TRY(read_asof(r, v, n));
    HD_TRY(read_residual(r, v, n));
    HD_TRY(check(v, n));
    *out = n;
    return set_output(r, v, n);
}
