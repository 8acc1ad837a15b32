/* Reads expressions written as JSON trees; a string at any place is parsed as text. */
#include <stdio.h>
#include <string.h>

#include "frontend/ast.h"
#include "frontend/json.h"
#include "frontend/subplan.h"
#include "frontend/value.h"
#include "runtime/base/suggest.h"
#include "runtime/base/vec.h"

static struct fe_ast *new_node(const struct fe_json *v, enum fe_op op)
{
    return fe_ast_new(v->r->arena, op, fe_json_path(v), -1);
}

static int read_reference(const struct fe_json *v, enum fe_op op, const char *key, struct fe_ast **out)
{
    struct fe_json name;
    HD_TRY(fe_json_object(v, key, NULL));
    HD_TRY(fe_json_need(v, key, &name));
    *out = new_node(v, op);
    return fe_json_name(&name, &(*out)->name);
}

/* The type of a literal that names none. */
static int natural_type(const struct fe_json *lit, struct hd_type *out)
{
    switch (fe_json_kind(lit)) {
    case FE_JSON_NULL: *out = fe_no_type(); return 0;
    case FE_JSON_BOOL: *out = hd_type_of(HD_BOOL); return 0;
    case FE_JSON_NUMBER: *out = hd_type_of(HD_INT64); return 0;
    case FE_JSON_STRING: *out = hd_type_of(HD_STRING); return 0;
    case FE_JSON_ARRAY:
    case FE_JSON_OBJECT: break;
    }
    return fe_json_expected(lit, "a literal (null, true, false, a number or a string)");
}

static int read_literal(const struct fe_json *v, struct fe_ast **out)
{
    struct fe_json lit, type;
    struct hd_type t;
    HD_TRY(fe_json_object(v, "lit", "type", NULL));
    HD_TRY(fe_json_need(v, "lit", &lit));
    HD_TRY(fe_json_get(v, "type", &type) ? fe_type_read(&type, &t) : natural_type(&lit, &t));
    *out = new_node(v, FE_LIT);
    return fe_value_read(&lit, t, &(*out)->lit);
}

/* Written as {"op": ...}. */
static bool is_operator(enum fe_op op)
{
    switch (fe_op_form(op)->syntax) {
    case FE_SYNTAX_NONE:
    case FE_SYNTAX_UNITS:
    case FE_SYNTAX_NAME:
    case FE_SYNTAX_LITERAL:
    case FE_SYNTAX_PARAMETER: return false;
    case FE_SYNTAX_OR:
    case FE_SYNTAX_AND:
    case FE_SYNTAX_NOT:
    case FE_SYNTAX_COMPARE:
    case FE_SYNTAX_BITS:
    case FE_SYNTAX_COMPLEMENT:
    case FE_SYNTAX_SUM:
    case FE_SYNTAX_PRODUCT:
    case FE_SYNTAX_INTERVAL:
    case FE_SYNTAX_SIGN:
    case FE_SYNTAX_IS_NULL:
    case FE_SYNTAX_IN:
    case FE_SYNTAX_LIKE:
    case FE_SYNTAX_CASE:
    case FE_SYNTAX_CALL:
    case FE_SYNTAX_CAST:
    case FE_SYNTAX_EXTRACT:
    case FE_SYNTAX_TRUNC:
    case FE_SYNTAX_SHIFT:
    case FE_SYNTAX_POSITION:
    case FE_SYNTAX_SUBSTRING: break;
    }
    return true;
}

static int find_op(const struct fe_json *v, enum fe_op *out)
{
    const char *name;
    HD_TRY(fe_json_string(v, &name));
    for (int i = 0; i < FE_OP_COUNT; i++)
        if (is_operator((enum fe_op)i) && strcmp(fe_op_name((enum fe_op)i), name) == 0) {
            *out = (enum fe_op)i;
            return 0;
        }
    struct hd_suggestion suggestion;
    hd_suggest_init(&suggestion, name);
    for (int i = 0; i < FE_OP_COUNT; i++)
        if (is_operator((enum fe_op)i))
            hd_suggest_offer(&suggestion, fe_op_name((enum fe_op)i));
    return fe_json_fail(v, "expected an operator of expressions, found \"%.60s\"%s", name,
                        hd_suggest_hint(&suggestion));
}

static int read_field(const struct fe_json *v, enum fe_field *out)
{
    const char *s;
    HD_TRY(fe_json_string(v, &s));
    for (int f = 0; f < FE_FIELD_COUNT; f++)
        if (strcmp(s, fe_field_name((enum fe_field)f)) == 0) {
            *out = (enum fe_field)f;
            return 0;
        }
    return fe_json_expected(v, "a field such as \"year\" or \"month\"");
}

/* What subplans among the arguments of op have to say. */
static void pass_place(struct fe_subplans *s, enum fe_op op)
{
    bool not = op == FE_NOT;
    s->decides &= op == FE_AND ? s->null == FE_NULL_AS_FALSE : not;
    if (not)
        s->null = s->null == FE_NULL_AS_NULL   ? FE_NULL_AS_NULL
                  : s->null == FE_NULL_AS_TRUE ? FE_NULL_AS_FALSE
                                               : FE_NULL_AS_TRUE;
    else if (op != FE_AND && op != FE_OR)
        s->null = FE_NULL_AS_NULL;
}

static int read_args(const struct fe_json *v, enum fe_op op, struct fe_ast *x)
{
    char what[FE_ARITY_TEXT];
    struct fe_json args, e;
    HD_VEC(struct fe_ast *) list = {0};
    HD_TRY(fe_json_need(v, "args", &args));
    HD_TRY(fe_json_array(&args));
    if (!fe_op_takes(op, fe_json_length(&args), what))
        return fe_json_fail(&args, "%s", what);
    struct fe_subplans *s = v->r->subplans, own = s ? *s : (struct fe_subplans){0};
    if (s)
        pass_place(s, op);
    for (bool more = fe_json_first(&args, &e); more; more = fe_json_next(&e)) {
        struct fe_ast *arg;
        HD_TRY(fe_ast_read(&e, &arg));
        hd_vec_push(v->r->arena, &list, arg);
    }
    if (s)
        *s = own;
    fe_ast_set_args(v->r->arena, x, list.n, list.v);
    return fe_ast_check_size(x, v->r->err);
}

static int read_subplan(const struct fe_json *v, struct fe_ast **out)
{
    struct fe_subplans *s = v->r->subplans;
    if (s)
        return s->read(s, v, out);
    return fe_json_fail(v,
                        "subplans stand in expressions of filter and project; make it a column with a project below");
}

static bool has_field(enum fe_op op)
{
    enum fe_syntax s = fe_op_form(op)->syntax;
    return s == FE_SYNTAX_EXTRACT || s == FE_SYNTAX_TRUNC || s == FE_SYNTAX_SHIFT || s == FE_SYNTAX_UNITS;
}

static int read_operator(const struct fe_json *v, struct fe_ast **out)
{
    struct fe_json op, m;
    enum fe_op k = FE_OP_COUNT;
    if (fe_json_get(v, "plan", &m))
        return read_subplan(v, out);
    HD_TRY(fe_json_need(v, "op", &op));
    HD_TRY(find_op(&op, &k));
    if (k == FE_DATE_DIFF && fe_json_get(v, "field", &m))
        k = FE_UNITS_BETWEEN;
    struct fe_ast *x = new_node(v, k);
    if (fe_op_form(k)->syntax == FE_SYNTAX_CAST) {
        HD_TRY(fe_json_object(v, "op", "args", "type", NULL));
        HD_TRY(fe_json_need(v, "type", &m));
        HD_TRY(fe_type_read(&m, &x->type));
    } else if (has_field(k)) {
        HD_TRY(fe_json_object(v, "op", "args", "field", NULL));
        HD_TRY(fe_json_need(v, "field", &m));
        HD_TRY(read_field(&m, &x->field));
    } else {
        HD_TRY(fe_json_object(v, "op", "args", NULL));
    }
    *out = x;
    return read_args(v, k, x);
}

int fe_ast_read(const struct fe_json *v, struct fe_ast **out)
{
    struct fe_json m;
    const char *text;
    if (fe_json_kind(v) == FE_JSON_STRING) {
        HD_TRY(fe_json_string(v, &text));
        return fe_ast_parse(v->r->arena, text, fe_json_path(v), out, v->r->err);
    }
    if (fe_json_kind(v) != FE_JSON_OBJECT)
        return fe_json_expected(v, "an expression (text or a tree)");
    if (fe_json_get(v, "op", &m))
        return read_operator(v, out);
    if (fe_json_get(v, "col", &m))
        return read_reference(v, FE_COL, "col", out);
    if (fe_json_get(v, "param", &m))
        return read_reference(v, FE_PARAM, "param", out);
    if (fe_json_get(v, "lit", &m))
        return read_literal(v, out);
    return fe_json_fail(v, "expected a tree with \"op\", \"col\", \"param\" or \"lit\"");
}
