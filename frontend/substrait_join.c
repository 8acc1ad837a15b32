/* Joins: conditions are taken apart, equalities between the sides become keys. */
#include <string.h>

#include "frontend/substrait_read.h"

/* ---- conditions -------------------------------------------------------------------------- */

struct condition {
    struct sub_scope *both;
    struct sub_rel *left, *right;
    struct cJSON *on, *residual; /* a list; NULL: none */
};

enum { LEFT = 1, RIGHT = 2, OTHER = 4 };

/* Which sides an expression reads. */
static int sides(const struct condition *c, const struct fe_json *v)
{
    struct fe_json m;
    int found = 0;
    int64_t number;
    for (bool more = fe_json_first(v, &m); more; more = fe_json_next(&m)) {
        if (!m.key) {
            found |= sides(c, &m);
        } else if (strcmp(m.key, "structField") == 0) {
            found |= sub_int(&m, "field", &number) == 0 && number < c->left->n ? LEFT : RIGHT;
        } else if (strcmp(m.key, "subquery") == 0 || strcmp(m.key, "windowFunction") == 0) {
            found |= OTHER;
        } else if (fe_json_kind(&m) == FE_JSON_OBJECT || fe_json_kind(&m) == FE_JSON_ARRAY) {
            found |= sides(c, &m);
        }
    }
    return found;
}

static bool two_arguments(const struct fe_json *call, struct fe_json *list, struct fe_json *a, struct fe_json *b)
{
    if (!sub_list(call, "arguments", list) || fe_json_length(list) != 2 || !fe_json_first(list, a))
        return false;
    *b = *a;
    return fe_json_next(b);
}

static int add_key(struct sub *t, struct condition *c, const struct fe_json *left, const struct fe_json *right,
                   bool null_equal)
{
    struct cJSON *pair = fe_make_list(t->arena), *x;
    HD_TRY(sub_expr(t, left, c->both, &x));
    fe_push(pair, x);
    HD_TRY(sub_expr(t, right, c->both, &x));
    fe_push(pair, x);
    if (null_equal)
        fe_push(pair, fe_make_string(t->arena, "null_equal"));
    fe_push(c->on, pair);
    return 0;
}

/* *is: it was one. */
static int try_key(struct sub *t, struct condition *c, const struct fe_json *call, bool *is)
{
    struct fe_json list, a, b, va, vb;
    bool null_equal;
    *is = false;
    if (!sub_is_equal(t, call, &null_equal) || !two_arguments(call, &list, &a, &b) || !fe_json_get(&a, "value", &va) ||
        !fe_json_get(&b, "value", &vb))
        return 0;
    int sa = sides(c, &va), sb = sides(c, &vb);
    *is = (sa | sb) == (LEFT | RIGHT) && (sa & sb) == 0;
    if (!*is)
        return 0;
    return sa == LEFT ? add_key(t, c, &va, &vb, null_equal) : add_key(t, c, &vb, &va, null_equal);
}

static int conjunct(struct sub *t, struct condition *c, const struct fe_json *v);

static int conjuncts(struct sub *t, struct condition *c, const struct fe_json *call)
{
    struct fe_json list, m, value;
    bool some = sub_list(call, "arguments", &list);
    for (bool more = some && fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        HD_TRY(fe_json_need(&m, "value", &value));
        HD_TRY(conjunct(t, c, &value));
    }
    return 0;
}

static int conjunct(struct sub *t, struct condition *c, const struct fe_json *v)
{
    struct fe_json call, lit;
    struct cJSON *x;
    bool is = false;
    if (fe_json_get(v, "scalarFunction", &call)) {
        if (sub_is_and(t, &call))
            return conjuncts(t, c, &call);
        HD_TRY(try_key(t, c, &call, &is));
        if (is)
            return 0;
    }
    bool truth = false;
    if (fe_json_get(v, "literal", &call) && fe_json_get(&call, "boolean", &lit) && fe_json_bool(&lit, &truth) == 0 &&
        truth)
        return 0;
    HD_TRY(sub_expr(t, v, c->both, &x));
    c->residual = c->residual ? sub_call(t, "and", c->residual, x, NULL) : x;
    return 0;
}

/* ---- kinds ------------------------------------------------------------------------------- */

enum output { BOTH, LEFT_ONLY, LEFT_MARK };

static const struct kind {
    const char *name, *heddle;
    bool swapped;
    enum output output;
    bool single;
} kinds[] = {
    {"JOIN_TYPE_INNER", "inner", false, BOTH, false},         {"JOIN_TYPE_OUTER", "full", false, BOTH, false},
    {"JOIN_TYPE_LEFT", "left", false, BOTH, false},           {"JOIN_TYPE_RIGHT", "right", false, BOTH, false},
    {"JOIN_TYPE_LEFT_SEMI", "semi", false, LEFT_ONLY, false}, {"JOIN_TYPE_SEMI", "semi", false, LEFT_ONLY, false},
    {"JOIN_TYPE_RIGHT_SEMI", "semi", true, LEFT_ONLY, false}, {"JOIN_TYPE_LEFT_ANTI", "anti", false, LEFT_ONLY, false},
    {"JOIN_TYPE_ANTI", "anti", false, LEFT_ONLY, false},      {"JOIN_TYPE_RIGHT_ANTI", "anti", true, LEFT_ONLY, false},
    {"JOIN_TYPE_LEFT_MARK", "mark", false, LEFT_MARK, false}, {"JOIN_TYPE_RIGHT_MARK", "mark", true, LEFT_MARK, false},
    {"JOIN_TYPE_LEFT_SINGLE", "left", false, BOTH, true},     {"JOIN_TYPE_SINGLE", "left", false, BOTH, true}};
static const struct kind plain_left = {"", "left", false, BOTH, false};
/* Beside exactly one row. */
static const struct kind single_inner = {"", "inner", false, BOTH, true};

static int read_kind(struct sub *t, const struct fe_json *v, const struct kind **out)
{
    const char *name = sub_text(v, "type");
    for (size_t i = 0; i < HD_COUNT(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0) {
            *out = &kinds[i];
            return 0;
        }
    return sub_refuse(t, v, "expected a join's type that is supported, found \"%.60s\"", name);
}

static void put_fields(struct sub *t, const struct kind *k, const struct condition *c, const char *mark,
                       struct sub_rel *out)
{
    const struct sub_rel *l = k->swapped ? c->right : c->left, *r = k->output == BOTH ? c->right : NULL;
    out->n = l->n + (r ? r->n : 0) + (mark != NULL);
    out->cols = HD_NEWN(t->arena, const char *, out->n + 1);
    for (int i = 0; i < l->n; i++)
        out->cols[i] = l->cols[i];
    for (int i = 0; r && i < r->n; i++)
        out->cols[l->n + i] = r->cols[i];
    if (mark)
        out->cols[out->n - 1] = mark;
    out->exact = l->exact && (!r || r->exact);
}

static struct cJSON *swapped(struct sub *t, const struct cJSON *on)
{
    struct cJSON *list = fe_make_list(t->arena);
    for (struct cJSON *pair = fe_first_json(on), *next; pair; pair = next) {
        next = fe_next_json(pair);
        struct cJSON *turned = fe_make_list(t->arena), *right = fe_next_json(fe_first_json(pair));
        fe_push(turned, fe_copy_json(t->arena, right));
        fe_push(turned, fe_copy_json(t->arena, fe_first_json(pair)));
        if (fe_next_json(right))
            fe_push(turned, fe_copy_json(t->arena, fe_next_json(right)));
        fe_push(list, turned);
    }
    return list;
}

static struct cJSON *make_join(struct sub *t, const struct kind *k, const struct condition *c, const char *mark)
{
    struct cJSON *node = sub_make_op(t, "join");
    fe_put(node, "kind", fe_make_string(t->arena, k->heddle));
    if (k->single)
        fe_put(node, "single", fe_make_bool(t->arena, true));
    fe_put(node, "left", k->swapped ? c->right->node : c->left->node);
    fe_put(node, "right", k->swapped ? c->left->node : c->right->node);
    if (fe_first_json(c->on))
        fe_put(node, "on", k->swapped ? swapped(t, c->on) : c->on);
    if (c->residual)
        fe_put(node, "residual", c->residual);
    if (mark)
        fe_put(node, "mark", fe_make_string(t->arena, mark));
    return node;
}

/* The arguments of coalesce(x, false), whose frames what is read of them leads up to. */
struct or_false {
    struct fe_json call, list, a, b, x, other, lit;
};

static bool is_or_false(struct sub *t, const struct fe_json *v, struct or_false *o)
{
    bool truth = true;
    return fe_json_get(v, "scalarFunction", &o->call) && sub_is_coalesce(t, &o->call) &&
           two_arguments(&o->call, &o->list, &o->a, &o->b) && fe_json_get(&o->a, "value", &o->x) &&
           fe_json_get(&o->b, "value", &o->other) && fe_json_get(&o->other, "literal", &o->lit) &&
           fe_json_get(&o->lit, "boolean", &o->other) && fe_json_bool(&o->other, &truth) == 0 && !truth;
}

/* Heddle's marks are never NULL: so are those of a condition that says so, of DataFusion, and of plans that Heddle wrote. */
static int mark_condition(struct sub *t, const struct fe_json *v, struct condition *c)
{
    struct fe_json m;
    struct or_false o;
    if (!fe_json_get(v, "expression", &m))
        return 0;
    if (is_or_false(t, &m, &o))
        return conjunct(t, c, &o.x);
    if (t->producer != SUB_DATAFUSION && !t->written_here)
        return sub_refuse(t, v, "a mark that may be NULL is not supported");
    return conjunct(t, c, &m);
}

static int read_condition(struct sub *t, const struct fe_json *v, const struct kind *k, struct condition *c)
{
    struct fe_json m;
    if (k->output == LEFT_MARK)
        return mark_condition(t, v, c);
    return fe_json_get(v, "expression", &m) ? conjunct(t, c, &m) : 0;
}

/* A condition on what the join puts out. */
static int filter_after(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    struct fe_json m;
    struct cJSON *x;
    struct sub_scope s = {.input = out};
    if (!fe_json_get(v, "postJoinFilter", &m))
        return 0;
    HD_TRY(sub_expr(t, &m, &s, &x));
    struct cJSON *node = sub_make_op(t, "filter");
    fe_put(node, "input", out->node);
    fe_put(node, "pred", x);
    out->node = node;
    return 0;
}

/* ---- NOT IN ------------------------------------------------------------------------------ */

/* What DataFusion knows of an anti join that is a NOT IN and does not write; whoever still knows it writes it as the
 * relation's alias. */
static bool is_null_aware(const struct fe_json *v)
{
    struct fe_json common, hint;
    return fe_json_get(v, "common", &common) && fe_json_get(&common, "hint", &hint) &&
           strcmp(sub_text(&hint, "alias"), "null_aware") == 0;
}

/* x not in (subplan): a NULL on either side keeps rows out. */
static int not_in(struct sub *t, const struct fe_json *v, const struct kind *k, struct condition *c,
                  struct sub_rel *out)
{
    const struct cJSON *pair = fe_first_json(c->on);
    if (strcmp(k->name, "JOIN_TYPE_LEFT_ANTI") != 0 || !pair || fe_next_json(pair) || c->residual)
        return sub_refuse(t, v, "NOT IN is supported as a left anti join on one equality");
    struct cJSON *left = fe_first_json(pair), *plan = sub_make_op(t, "project"), *exprs = fe_make_list(t->arena);
    struct cJSON *key = fe_make_object(t->arena), *in = sub_call(t, "in", fe_copy_json(t->arena, left), NULL);
    fe_put(key, "expr", fe_copy_json(t->arena, fe_next_json(left)));
    fe_put(key, "as", fe_make_string(t->arena, sub_new_name(t, "key")));
    fe_push(exprs, key);
    fe_put(plan, "input", c->right->node);
    fe_put(plan, "exprs", exprs);
    fe_put(in, "plan", plan);
    *out = *c->left;
    out->one_row = false;
    out->node = sub_make_op(t, "filter");
    fe_put(out->node, "input", c->left->node);
    fe_put(out->node, "pred", sub_call(t, "not", in, NULL));
    return 0;
}

/* ---- joins with one row ------------------------------------------------------------------ */

/* Groups by keys that the join compares: none is there twice. */
static bool is_grouped_by(const struct sub_rel *r, const struct cJSON *on)
{
    if (!sub_is(r, "aggregate") || fe_member(r->node, "sets") || !fe_member(r->node, "keys"))
        return false;
    for (const struct cJSON *key = fe_first_json(fe_member(r->node, "keys")); key; key = fe_next_json(key)) {
        const char *name = fe_text_of(key) ? fe_text_of(key) : fe_member_text(key, "as");
        bool found = false;
        for (const struct cJSON *pair = fe_first_json(on); pair && name; pair = fe_next_json(pair)) {
            const char *column = sub_column_of(fe_next_json(fe_first_json(pair)));
            found |= column && strcmp(column, name) == 0;
        }
        if (!found)
            return false;
    }
    return true;
}

/* How many rows there are with the same keys. */
static const char *add_count(struct sub *t, struct condition *c)
{
    struct cJSON *node = sub_make_op(t, "window"), *keys = fe_make_list(t->arena), *list = fe_make_list(t->arena);
    struct cJSON *f = fe_make_object(t->arena);
    const char *name = sub_new_name(t, "rows");
    sub_narrow(t, c->right);
    for (const struct cJSON *pair = fe_first_json(c->on); pair; pair = fe_next_json(pair))
        fe_push(keys, sub_key(t, fe_copy_json(t->arena, fe_next_json(fe_first_json(pair)))));
    fe_put(f, "fn", fe_make_string(t->arena, "count"));
    fe_put(f, "as", fe_make_string(t->arena, name));
    fe_push(list, f);
    fe_put(node, "input", c->right->node);
    fe_put(node, "partition", keys);
    fe_put(node, "functions", list);
    c->right->node = node;
    c->right->exact = false;
    return name;
}

/* A left join that fails for a row with more than one match, by a cast whose text says so. */
static int single(struct sub *t, const struct fe_json *v, struct condition *c, struct sub_rel *out)
{
    const char *rows = NULL;
    if (c->residual)
        return sub_refuse(
            t, v, "a join of type SINGLE is supported with equalities between its sides, not with other conditions");
    if (!is_grouped_by(c->right, c->on))
        rows = add_count(t, c);
    put_fields(t, &plain_left, c, NULL, out);
    out->node = make_join(t, &plain_left, c, NULL);
    if (rows) {
        struct cJSON *node = sub_make_op(t, "filter");
        const char *pred = hd_asprintf(t->arena,
                                       "case when \"%s\" > 1 then cast('more than one row of a subquery' as int32) = 0 "
                                       "else true end",
                                       rows);
        fe_put(node, "input", out->node);
        fe_put(node, "pred", fe_make_string(t->arena, pred));
        out->node = node;
        out->exact = false;
    }
    return filter_after(t, v, out);
}

int sub_join_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    const struct kind *k = NULL;
    struct sub_rel left, right;
    HD_TRY(read_kind(t, v, &k));
    HD_TRY(sub_input(t, v, "left", &left));
    HD_TRY(sub_input(t, v, "right", &right));
    struct sub_scope both = {.input = &left, .right = &right, .place = "a join's condition"};
    struct condition c = {&both, &left, &right, fe_make_list(t->arena), NULL};
    const struct cJSON *before = left.node;
    HD_TRY(read_condition(t, v, k, &c));
    if (left.node != before && strcmp(k->heddle, "inner") != 0)
        return sub_refuse(t, v, "subqueries are supported in conditions of inner joins only");
    if (k->single && (fe_first_json(c.on) || c.residual))
        return single(t, v, &c, out);
    if (is_null_aware(v))
        return not_in(t, v, k, &c, out);
    if (k->single && right.one_row)
        k = &single_inner;
    const char *mark = k->output == LEFT_MARK ? sub_new_name(t, "mark") : NULL;
    put_fields(t, k, &c, mark, out);
    out->node = make_join(t, k, &c, mark);
    return filter_after(t, v, out);
}

int sub_cross_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    struct sub_rel left, right;
    HD_TRY(sub_input(t, v, "left", &left));
    HD_TRY(sub_input(t, v, "right", &right));
    struct condition c = {NULL, &left, &right, fe_make_list(t->arena), NULL};
    put_fields(t, &kinds[0], &c, NULL, out);
    out->node = make_join(t, &kinds[0], &c, NULL);
    out->one_row = left.one_row && right.one_row;
    return 0;
}
