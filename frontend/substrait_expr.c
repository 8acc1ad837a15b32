/* Expressions as trees. */
#include <stdio.h>
#include <string.h>

#include "frontend/substrait_read.h"
#include "runtime/base/vec.h"

typedef int expr_rule(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out);

/* ---- columns ----------------------------------------------------------------------------- */

static int find_field(const struct fe_json *at, const struct sub_scope *s, int64_t number, const char **out)
{
    int left = s->input ? s->input->n : 0, all = left + (s->right ? s->right->n : 0);
    if (number < 0 || number >= all)
        return fe_json_fail(at, "expected a field below %d, found %lld", all, (long long)number);
    *out = number < left ? s->input->cols[number] : s->right->cols[number - left];
    return 0;
}

static int selection(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    struct fe_json direct, field, m;
    int64_t number;
    const char *name = NULL;
    if (fe_json_get(v, "outerReference", &m))
        return sub_refuse(t, &m, "correlated subqueries are not supported: their producer has to make joins of them");
    if (fe_json_get(v, "expression", &m))
        return sub_refuse(t, &m, "fields of values are not supported");
    if (!fe_json_get(v, "directReference", &direct))
        return sub_refuse(t, v, "expected a direct reference");
    if (!fe_json_get(&direct, "structField", &field))
        return sub_refuse(t, &direct, "expected a reference to a field of the input");
    if (fe_json_get(&field, "child", &m))
        return sub_refuse(t, &m, "fields of values are not supported");
    HD_TRY(sub_int(&field, "field", &number));
    HD_TRY(find_field(&field, s, number, &name));
    *out = sub_make_col(t, name);
    return 0;
}

const char *sub_column_of(const struct cJSON *x)
{
    return fe_member_text(x, "col");
}

struct cJSON *sub_key(struct sub *t, struct cJSON *x)
{
    const char *column = sub_column_of(x);
    if (column)
        return fe_make_string(t->arena, column);
    struct cJSON *key = fe_make_object(t->arena);
    fe_put(key, "expr", x);
    return key;
}

/* ---- functions --------------------------------------------------------------------------- */

static int argument(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    struct fe_json m;
    if (fe_json_get(v, "value", &m))
        return sub_expr(t, &m, s, out);
    if (fe_json_get(v, "enum", &m)) {
        *out = fe_make_object(t->arena);
        fe_put(*out, "lit", fe_make_string(t->arena, sub_text(v, "enum")));
        return 0;
    }
    return sub_refuse(t, v, "expected an argument that is a value or an enum");
}

/* One of Heddle's: an enum is its field. */
static int own_function(struct sub *t, const struct fe_json *v, const char *name, struct sub_scope *s,
                        struct cJSON **out)
{
    struct fe_json list, m, f;
    struct cJSON *x;
    *out = sub_call(t, name, NULL);
    bool some = sub_list(v, "arguments", &list);
    for (bool more = some && fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        if (fe_json_get(&m, "enum", &f) && !fe_member(*out, "field")) {
            fe_put(*out, "field", fe_make_string(t->arena, sub_text(&m, "enum")));
            continue;
        }
        HD_TRY(argument(t, &m, s, &x));
        sub_add_arg(*out, x);
    }
    return 0;
}

static int scalar_function(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    struct fe_json reference, list, m;
    HD_VEC(struct cJSON *) args = {0};
    const char *name = sub_function_name(t, v, &reference);
    if (!name)
        return -1;
    if (sub_is_own(t, v))
        return own_function(t, v, name, s, out);
    bool some = sub_list(v, "arguments", &list), old = !some && sub_list(v, "args", &list);
    for (bool more = (some || old) && fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        struct cJSON *x;
        HD_TRY(old ? sub_expr(t, &m, s, &x) : argument(t, &m, s, &x));
        hd_vec_push(t->arena, &args, x);
    }
    return sub_scalar_function(t, v, &reference, name, args.n, args.v, out);
}

static int window_function(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    const char *column;
    HD_TRY(t->window(t, v, v, s, &column));
    *out = sub_make_col(t, column);
    return 0;
}

/* ---- forms ------------------------------------------------------------------------------- */

static int literal(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    (void)s;
    return sub_literal(t, v, out);
}

static int cast(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    struct fe_json type, input;
    struct cJSON *x;
    const char *name;
    HD_TRY(fe_json_need(v, "type", &type));
    HD_TRY(fe_json_need(v, "input", &input));
    bool null = strcmp(sub_text(v, "failureBehavior"), "FAILURE_BEHAVIOR_RETURN_NULL") == 0;
    HD_TRY(sub_type(t, &type, &name));
    HD_TRY(sub_expr(t, &input, s, &x));
    *out = sub_call(t, null ? "try_cast" : "cast", x, NULL);
    fe_put(*out, "type", fe_make_string(t->arena, name));
    return 0;
}

static int add_else(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON *choice)
{
    struct fe_json m;
    struct cJSON *x;
    if (!fe_json_get(v, "else", &m))
        return 0;
    HD_TRY(sub_expr(t, &m, s, &x));
    sub_add_arg(choice, x);
    return 0;
}

static int add_clause(struct sub *t, const struct fe_json *v, struct sub_scope *s, const struct cJSON *base,
                      struct cJSON *choice)
{
    struct fe_json part;
    struct cJSON *when, *x;
    HD_TRY(fe_json_need(v, "if", &part));
    HD_TRY(sub_expr(t, &part, s, &when));
    HD_TRY(fe_json_need(v, "then", &part));
    HD_TRY(sub_expr(t, &part, s, &x));
    sub_add_arg(choice, base ? sub_call(t, "=", fe_copy_json(t->arena, base), when, NULL) : when);
    sub_add_arg(choice, x);
    return 0;
}

/* DataFusion says `case x when v ...` by a first clause with x alone. */
static int if_then(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    struct fe_json ifs, m, part;
    struct cJSON *base = NULL;
    *out = sub_call(t, "case", NULL);
    HD_TRY(fe_json_need(v, "ifs", &ifs));
    bool more = fe_json_first(&ifs, &m);
    if (more && t->producer == SUB_DATAFUSION && !fe_json_get(&m, "then", &part)) {
        HD_TRY(fe_json_need(&m, "if", &part));
        HD_TRY(sub_expr(t, &part, s, &base));
        more = fe_json_next(&m);
    }
    for (; more; more = fe_json_next(&m))
        HD_TRY(add_clause(t, &m, s, base, *out));
    return add_else(t, v, s, *out);
}

/* The value is there once for each case: its computation is one in the planner. */
static int switch_expression(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    struct fe_json ifs, m, part;
    struct cJSON *match, *x, *when;
    *out = sub_call(t, "case", NULL);
    HD_TRY(fe_json_need(v, "match", &part));
    HD_TRY(sub_expr(t, &part, s, &match));
    HD_TRY(fe_json_need(v, "ifs", &ifs));
    for (bool more = fe_json_first(&ifs, &m); more; more = fe_json_next(&m)) {
        HD_TRY(fe_json_need(&m, "if", &part));
        HD_TRY(sub_literal(t, &part, &when));
        HD_TRY(fe_json_need(&m, "then", &part));
        HD_TRY(sub_expr(t, &part, s, &x));
        sub_add_arg(*out, sub_call(t, "=", fe_copy_json(t->arena, match), when, NULL));
        sub_add_arg(*out, x);
    }
    return add_else(t, v, s, *out);
}

static int singular_or_list(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    struct fe_json value, options, m;
    struct cJSON *x;
    HD_TRY(fe_json_need(v, "value", &value));
    HD_TRY(sub_expr(t, &value, s, &x));
    if (!sub_list(v, "options", &options)) { /* of no values: false */
        *out = fe_make_object(t->arena);
        fe_put(*out, "lit", fe_make_bool(t->arena, false));
        return 0;
    }
    *out = sub_call(t, "in", x, NULL);
    for (bool more = fe_json_first(&options, &m); more; more = fe_json_next(&m)) {
        HD_TRY(sub_expr(t, &m, s, &x));
        sub_add_arg(*out, x);
    }
    return 0;
}

/* $1 is the parameter p1: references count from 0. */
static int dynamic_parameter(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    struct fe_json type;
    int64_t number;
    const char *name, *type_name;
    HD_TRY(sub_int(v, "parameterReference", &number));
    if (number < 0 || number >= FE_JSON_MAX_MEMBERS)
        return fe_json_fail(v, "expected a parameter below %d", FE_JSON_MAX_MEMBERS);
    name = hd_asprintf(t->arena, "p%d", (int)number + 1);
    if (!fe_json_get(v, "type", &type) || fe_json_length(&type) == 0)
        return fe_json_fail(v, "parameter $%d has no type; cast it where it stands", (int)number + 1);
    HD_TRY(sub_type(t, &type, &type_name));
    struct cJSON *declared = fe_member(t->params, name);
    if (!declared) {
        declared = fe_make_object(t->arena);
        fe_put(declared, "type", fe_make_string(t->arena, type_name));
        if (s->input && sub_type_nullable(&type)) /* not where a plain number is wanted */
            fe_put(declared, "nullable", fe_make_bool(t->arena, true));
        fe_put(t->params, name, declared);
    } else if (strcmp(fe_member_text(declared, "type"), type_name) != 0) {
        return fe_json_fail(v, "parameter $%d is of type %s and of %s; cast it where it stands", (int)number + 1,
                            fe_member_text(declared, "type"), type_name);
    }
    *out = fe_make_object(t->arena);
    fe_put(*out, "param", fe_make_string(t->arena, name));
    return 0;
}

/* ---- subqueries -------------------------------------------------------------------------- */

/* The subquery's row stands beside each row of the input. */
static int scalar_subquery(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    struct sub_rel r;
    HD_TRY(sub_input(t, v, "input", &r));
    if (r.n != 1)
        return fe_json_fail(v, "expected a subquery of one column, found %d", r.n);
    struct cJSON *join = sub_make_op(t, "join");
    sub_narrow(t, &r);
    fe_put(join, "kind", fe_make_string(t->arena, r.one_row ? "inner" : "left"));
    fe_put(join, "single", fe_make_bool(t->arena, true));
    fe_put(join, "left", s->input->node);
    fe_put(join, "right", r.node);
    s->input->node = join;
    s->input->exact = false;
    s->window = NULL;
    *out = sub_make_col(t, r.cols[0]);
    return 0;
}

static int may_ask(struct sub *t, const struct fe_json *v, const struct sub_scope *s)
{
    t->subplans++;
    return s->place ? sub_refuse(t, v, "subqueries with IN or EXISTS are not supported in %s", s->place) : 0;
}

static int in_subplan(struct sub *t, const struct fe_json *v, const char *key, struct cJSON *needle, struct cJSON **out)
{
    struct sub_rel r;
    HD_TRY(sub_input(t, v, key, &r));
    if (r.n != 1)
        return sub_refuse(t, v, "expected a subquery of one column, found %d", r.n);
    sub_narrow(t, &r);
    *out = sub_call(t, "in", needle, NULL);
    fe_put(*out, "plan", r.node);
    return 0;
}

/* ---- (a, b) in (subquery of x, y) ---- */

struct tuples {
    struct cJSON *needles; /* list */
    struct sub_rel r;
    const char *shared; /* the subquery, which is asked more than once */
};

static struct cJSON *bool_literal(struct sub *t, bool b)
{
    struct cJSON *x = fe_make_object(t->arena);
    fe_put(x, "lit", fe_make_bool(t->arena, b));
    return x;
}

static struct cJSON *tuples_ref(struct sub *t, const struct tuples *u)
{
    struct cJSON *ref = sub_make_op(t, "ref");
    fe_put(ref, "name", fe_make_string(t->arena, u->shared));
    return ref;
}

/* Some row of plan is equal in all columns. */
static struct cJSON *equal_row(struct sub *t, const struct tuples *u, struct cJSON *plan)
{
    struct cJSON *e = sub_make_op(t, "exists"), *on = fe_make_list(t->arena);
    int i = 0;
    for (const struct cJSON *x = fe_first_json(u->needles); x; x = fe_next_json(x)) {
        struct cJSON *pair = fe_make_list(t->arena);
        fe_push(pair, fe_copy_json(t->arena, x));
        fe_push(pair, sub_make_col(t, u->r.cols[i++]));
        fe_push(on, pair);
    }
    fe_put(e, "plan", plan);
    fe_put(e, "on", on);
    return e;
}

/* In some row no column is sure to be unequal. */
static struct cJSON *open_row(struct sub *t, const struct tuples *u, struct cJSON *plan, struct cJSON *given)
{
    struct cJSON *e = sub_make_op(t, "exists"), *all = given;
    int i = 0;
    for (const struct cJSON *x = fe_first_json(u->needles); x; x = fe_next_json(x)) {
        struct cJSON *is =
            sub_call(t, "coalesce", sub_call(t, "=", fe_copy_json(t->arena, x), sub_make_col(t, u->r.cols[i++]), NULL),
                     bool_literal(t, true), NULL);
        all = all ? sub_call(t, "and", all, is, NULL) : is;
    }
    fe_put(e, "plan", plan);
    fe_put(e, "residual", all);
    return e;
}

static struct cJSON *some_null(struct sub *t, const struct tuples *u, bool of_needles)
{
    struct cJSON *any = NULL;
    int i = 0;
    for (const struct cJSON *x = fe_first_json(u->needles); x; x = fe_next_json(x), i++) {
        struct cJSON *of = of_needles ? fe_copy_json(t->arena, x) : sub_make_col(t, u->r.cols[i]);
        struct cJSON *is = sub_call(t, "is_null", of, NULL);
        any = any ? sub_call(t, "or", any, is, NULL) : is;
    }
    return any;
}

/* True where a row is equal; else NULL where that is open: for rows of the subquery with a NULL, or of the operator. */
static struct cJSON *three_valued(struct sub *t, struct tuples *u)
{
    struct cJSON *with_nulls = sub_make_op(t, "filter"), *null = fe_make_object(t->arena);
    u->shared = sub_new_name(t, "shared");
    fe_put(t->shared, u->shared, u->r.node);
    fe_put(with_nulls, "input", tuples_ref(t, u));
    fe_put(with_nulls, "pred", some_null(t, u, false));
    fe_put(null, "lit", fe_make_null(t->arena));
    fe_put(null, "type", fe_make_string(t->arena, "bool"));
    struct cJSON *open = sub_call(t, "or", open_row(t, u, with_nulls, NULL),
                                  open_row(t, u, tuples_ref(t, u), some_null(t, u, true)), NULL);
    return sub_call(t, "case", equal_row(t, u, tuples_ref(t, u)), bool_literal(t, true), open, null,
                    bool_literal(t, false), NULL);
}

static int in_tuples(struct sub *t, const struct fe_json *v, const struct fe_json *needles, struct sub_scope *s,
                     bool decides, struct cJSON **out)
{
    struct tuples u = {.needles = fe_make_list(t->arena)};
    struct fe_json m;
    struct cJSON *x;
    for (bool more = fe_json_first(needles, &m); more; more = fe_json_next(&m)) {
        HD_TRY(sub_expr(t, &m, s, &x));
        fe_push(u.needles, x);
    }
    HD_TRY(sub_input(t, v, "haystack", &u.r));
    if (u.r.n != fe_json_length(needles))
        return fe_json_fail(v, "expected a subquery of %d columns, found %d", fe_json_length(needles), u.r.n);
    sub_narrow(t, &u.r);
    *out = decides ? equal_row(t, &u, u.r.node) : three_valued(t, &u);
    return 0;
}

static int in_predicate(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    struct fe_json needles, m;
    struct cJSON *x;
    bool decides = s->decides;
    s->decides = false;
    HD_TRY(may_ask(t, v, s));
    HD_TRY(fe_json_need(v, "needles", &needles));
    if (!fe_json_first(&needles, &m))
        return fe_json_fail(&needles, "expected a value or more");
    if (fe_json_length(&needles) > 1)
        return in_tuples(t, v, &needles, s, decides, out);
    HD_TRY(sub_expr(t, &m, s, &x));
    return in_subplan(t, v, "haystack", x, out);
}

static int set_predicate(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    struct sub_rel r;
    HD_TRY(may_ask(t, v, s));
    if (strcmp(sub_text(v, "predicateOp"), "PREDICATE_OP_EXISTS") != 0)
        return sub_refuse(t, v, "expected the predicate EXISTS, found %s", sub_text(v, "predicateOp"));
    HD_TRY(sub_input(t, v, "tuples", &r));
    *out = sub_make_op(t, "exists");
    fe_put(*out, "plan", r.node);
    return 0;
}

/* = any is IN, <> all NOT IN. */
static int set_comparison(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    struct fe_json left;
    struct cJSON *x;
    const char *how = sub_text(v, "reductionOp"), *what = sub_text(v, "comparisonOp");
    bool any = strcmp(how, "REDUCTION_OP_ANY") == 0 && strcmp(what, "COMPARISON_OP_EQ") == 0;
    HD_TRY(may_ask(t, v, s));
    if (!any && (strcmp(how, "REDUCTION_OP_ALL") != 0 || strcmp(what, "COMPARISON_OP_NE") != 0))
        return sub_refuse(t, v, "of comparisons with subqueries = ANY and <> ALL are supported");
    HD_TRY(fe_json_need(v, "left", &left));
    HD_TRY(sub_expr(t, &left, s, &x));
    HD_TRY(in_subplan(t, v, "right", x, out));
    if (!any)
        *out = sub_call(t, "not", *out, NULL);
    return 0;
}

static int subquery(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    static const char *const names[] = {"scalar", "inPredicate", "setPredicate", "setComparison"};
    static expr_rule *const rules[] = {scalar_subquery, in_predicate, set_predicate, set_comparison};
    int k;
    struct fe_json m;
    HD_TRY(sub_kind(v, names, (int)HD_COUNT(names), "a subquery", &k, &m));
    if (!s->input)
        return sub_refuse(t, v, "subqueries are not supported here");
    return rules[k](t, &m, s, out);
}

/* ---- all --------------------------------------------------------------------------------- */

int sub_expr(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    static const char *const names[] = {"selection",        "literal",       "scalarFunction", "cast",
                                        "ifThen",           "subquery",      "singularOrList", "switchExpression",
                                        "dynamicParameter", "windowFunction"};
    static expr_rule *const rules[] = {selection,         literal,        scalar_function,  cast,
                                       if_then,           subquery,       singular_or_list, switch_expression,
                                       dynamic_parameter, window_function};
    int k;
    struct fe_json m;
    HD_TRY(sub_kind(v, names, (int)HD_COUNT(names), "an expression", &k, &m));
    bool decides = s->decides;
    bool passes = rules[k] == subquery || (rules[k] == scalar_function && sub_is_and(t, &m));
    s->decides = decides && passes;
    int rc = rules[k](t, &m, s, out);
    s->decides = decides;
    return rc;
}
