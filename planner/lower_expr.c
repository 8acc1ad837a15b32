/* Rules of lowering for values, comparisons, conditions and text: dictionary comparisons on codes, constants
 * folded. Arguments are lowered already (lower_value.c); arithmetic, casts and dates stand in lower_arith.c. */
#include <stdlib.h>

#include "planner/lower_expr.h"

#include "frontend/regexp.h"
#include "planner/build.h"
#include "planner/handle.h"
#include "frontend/value.h"

static int expr_strict(struct ctx *c, enum fe_op op, enum rt_phys p, int n, const int *args, const struct pl_val *v,
                       int nv, struct pl_val *out)
{
    bool nullable = false;
    for (int i = 0; i < nv; i++)
        nullable |= v[i].nullable;
    *out = (struct pl_val){.phys = p, .nullable = nullable};
    out->expr = pb_op(c, op, p, nullable, n, args);
    return 0;
}

struct pl_val lx_const(struct ctx *c, const struct fe_value *v)
{
    struct pl_val r = {.expr = -1, .type = v->type, .nullable = v->is_null, .is_const = true, .cval = *v};
    struct pl_range t = range_of_type(v->type);
    if (t.known && !v->is_null)
        r.range = (struct pl_range){true, v->i, v->i};
    else
        r.range = t;
    (void)c;
    return r;
}

int lx_literal(struct ctx *c, const struct fe_expr *e, struct pl_val *v HD_UNUSED, struct pl_val *out)
{
    *out = lx_const(c, &e->value);
    return 0;
}

int lx_parameter(struct ctx *c, const struct fe_expr *e, struct pl_val *v HD_UNUSED, struct pl_val *out)
{
    *out = lx_const(c, &c->plan->params[e->param].value);
    return 0;
}

static enum rt_phys const_phys(const struct pl_val *v)
{
    switch ((enum hd_type_kind)v->type.kind) {
    case HD_BOOL: return RT_BOOL;
    case HD_FLOAT32: return RT_F32;
    case HD_FLOAT64: return RT_F64;
    case HD_STRING:
    case HD_BINARY: return RT_STR;
    case HD_DATE: return RT_I32;
    case HD_TIME:
    case HD_TIMESTAMP: return RT_I64;
    case HD_INTERVAL: return RT_I128;
    case HD_INT32:
    case HD_INT64:
    case HD_DECIMAL: return v->cval.is_null ? RT_I32 : lx_narrowest(v->range);
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("type %d", v->type.kind);
}

/* A constant has no node until somebody needs it in some width. */
static void realise(struct ctx *c, struct pl_val *v, enum rt_phys phys)
{
    v->phys = phys;
    if (v->cval.is_null) {
        v->expr = pb_null(c, phys);
        return;
    }
    struct rt_arg a = {.kind = RT_ARG_CONST,
                       .phys = phys,
                       .state = -1,
                       .i = v->cval.i,
                       .f = v->cval.f,
                       .s = v->cval.s,
                       .n = v->cval.n};
    int arg = pb_arg(c, a);
    v->expr = pb_expr(c, (struct pl_expr){.op = FE_LIT, .phys = phys, .arg = arg, .slot = -1, .state = -1});
}

void lx_realise(struct ctx *c, struct pl_val *v)
{
    if (v->expr < 0)
        realise(c, v, const_phys(v));
}

int lx_as_phys(struct ctx *c, struct pl_val *v, enum rt_phys phys)
{
    if (v->expr < 0) {
        realise(c, v, phys);
        return 0;
    }
    if (v->phys == phys)
        return 0;
    HD_ASSERT(v->phys <= RT_I128 && phys <= RT_I128);
    enum fe_op op = phys > v->phys ? FE_WIDEN : FE_NARROW;
    v->expr = pb_op(c, op, phys, v->nullable, 1, &v->expr);
    v->phys = phys;
    return 0;
}

int lx_as_string(struct ctx *c, struct pl_val *v)
{
    if (v->expr < 0)
        realise(c, v, RT_STR);
    if (!v->dict_table)
        return 0;
    int e = pb_op(c, FE_DICT_STRING, RT_STR, v->nullable, 1, &v->expr);
    c->exprs.v[e].arg = pb_arg_column(c, RT_ARG_DICT_OFFSETS, v->dict_table, v->dict_column);
    c->exprs.v[e].arg2 = pb_arg_column(c, RT_ARG_DICT_BYTES, v->dict_table, v->dict_column);
    v->expr = e;
    v->phys = RT_STR;
    v->dict_table = NULL;
    v->range.known = false;
    return 0;
}

static bool same_dict(const struct pl_val *a, const struct pl_val *b)
{
    return a->dict_table && a->dict_table == b->dict_table && a->dict_column == b->dict_column;
}

int lx_unify(struct ctx *c, struct pl_val *a, struct pl_val *b)
{
    if (hd_type_is_text(a->type)) {
        if (same_dict(a, b))
            return 0;
        HD_TRY(lx_as_string(c, a));
        return lx_as_string(c, b);
    }
    lx_realise(c, a->is_const && !b->is_const ? b : a);
    enum rt_phys pa = a->expr < 0 ? const_phys(a) : a->phys;
    enum rt_phys pb = b->expr < 0 ? const_phys(b) : b->phys;
    enum rt_phys p = HD_MAX(pa, pb);
    HD_TRY(lx_as_phys(c, a, p));
    return lx_as_phys(c, b, p);
}

static void null_bool(struct ctx *c, struct pl_val *out)
{
    *out = (struct pl_val){.phys = RT_BOOL, .nullable = true, .type = hd_type_of(HD_BOOL)};
    out->expr = pb_null(c, RT_BOOL);
}

static void const_bool(struct ctx *c, bool v, struct pl_val *out)
{
    struct fe_value f = {.type = hd_type_of(HD_BOOL), .i = v};
    *out = lx_const(c, &f);
    lx_realise(c, out);
}

/* ---- comparisons ------------------------------------------------------------------------------ */

static enum fe_op mirrored(enum fe_op op)
{
    return op == FE_LT ? FE_GT : op == FE_LE ? FE_GE : op == FE_GT ? FE_LT : op == FE_GE ? FE_LE : op;
}

static int find_code(const struct ctx *c, const struct pl_val *v, const struct fe_value *s, uint32_t *code, bool *found)
{
    return h_dict_find(c, v->dict_table, v->dict_column, s->s, s->n, code, found, c->err);
}

/* code <op> constant: the sorted dictionary turns text order into code order. */
static int compare_code(struct ctx *c, enum fe_op op, struct pl_val *a, const struct fe_value *s, struct pl_val *out)
{
    bool found;
    uint32_t lb;
    HD_TRY(find_code(c, a, s, &lb, &found));
    hd_i128 k = lb;
    if (op == FE_EQ || op == FE_NE)
        k = found ? (hd_i128)lb : -1;
    else if (op == FE_LE || op == FE_GT) { /* x <= s is code < upper bound */
        k = (hd_i128)lb + found;
        op = op == FE_LE ? FE_LT : FE_GE;
    }
    int args[2] = {a->expr, pb_const_int(c, RT_I32, k)};
    expr_strict(c, op, RT_BOOL, 2, args, a, 1, out);
    return 0;
}

static int compare(struct ctx *c, enum fe_op op, struct pl_val *a, struct pl_val *b, struct pl_val *out)
{
    if (a->is_const && b->dict_table)
        return compare(c, mirrored(op), b, a, out);
    if (a->dict_table && b->is_const) {
        HD_TRY(compare_code(c, op, a, &b->cval, out));
    } else {
        HD_TRY(lx_unify(c, a, b));
        int args[2] = {a->expr, b->expr};
        struct pl_val ab[2] = {*a, *b};
        expr_strict(c, op, RT_BOOL, 2, args, ab, 2, out);
    }
    out->type = hd_type_of(HD_BOOL);
    out->range = (struct pl_range){true, 0, 1};
    return 0;
}

/* ---- in --------------------------------------------------------------------------------------- */

static hd_i128 set_int(const void *x, int size)
{
    hd_i128 v; /* sorting may move it to where it is not aligned */
    if (size == 4)
        return *(const int32_t *)x;
    if (size == 8)
        return *(const int64_t *)x;
    memcpy(&v, x, sizeof v);
    return v;
}

static int cmp_set(const void *x, const void *y, int size, bool is_float)
{
    if (is_float) {
        double a = size == 4 ? (double)*(const float *)x : *(const double *)x;
        double b = size == 4 ? (double)*(const float *)y : *(const double *)y;
        if (a != a || b != b)
            return (a != a) - (b != b);
        return (a > b) - (a < b);
    }
    hd_i128 a = set_int(x, size), b = set_int(y, size);
    return (a > b) - (a < b);
}

struct set_str {
    const char *s;
    uint64_t n;
};

static int cmp_str(const void *x, const void *y)
{
    const struct set_str *a = x, *b = y;
    int r = memcmp(a->s, b->s, HD_MIN(a->n, b->n));
    return r ? r : (a->n > b->n) - (a->n < b->n);
}

static void put_elem(unsigned char *at, enum rt_phys p, const struct fe_value *v, hd_i128 i)
{
    if (p == RT_I32)
        *(int32_t *)at = (int32_t)i;
    else if (p == RT_I64)
        *(int64_t *)at = (int64_t)i;
    else if (p == RT_I128)
        *(hd_i128 *)at = i;
    else if (p == RT_F64)
        *(double *)at = v->f == 0 ? 0 : v->f;
    else if (p == RT_F32)
        *(float *)at = v->f == 0 ? 0 : (float)v->f;
    else
        *(struct set_str *)at = (struct set_str){v->s, v->n};
}

struct set_type {
    int size;
    enum rt_phys phys;
};

static int cmp_elem(const void *x, const void *y, void *type)
{
    const struct set_type *t = type;
    return t->phys == RT_STR ? cmp_str(x, y) : cmp_set(x, y, t->size, rt_phys_is_float(t->phys));
}

/* The order makes the lookup a binary search. */
static void sort_set(unsigned char *set, int n, int size, enum rt_phys p)
{
    struct set_type t = {size, p};
    qsort_r(set, (size_t)n, (size_t)size, cmp_elem, &t);
}

/* Few numbers, such as codes of a small dictionary. */
static bool fits_word(const struct pl_val *x)
{
    return x->phys == RT_I32 && x->range.known && x->range.lo >= 0 && x->range.hi < 64;
}

/* Elements as bits of a word of so many bits as x needs; what x cannot be has none. */
static int word_of_set(struct ctx *c, const struct pl_val *x, const int32_t *set, int n)
{
    bool wide = x->range.hi >= 32;
    uint64_t bits = 0;
    for (int i = 0; i < n; i++)
        if (set[i] >= 0 && set[i] < (wide ? 64 : 32))
            bits |= (uint64_t)1 << set[i];
    return wide ? pb_const_int(c, RT_I64, (int64_t)bits) : pb_const_int(c, RT_I32, (int32_t)(uint32_t)bits);
}

/* Of elements: that of x, or wider where one of them needs it. */
static enum rt_phys phys_of_set(const struct pl_val *x, const struct fe_value *list, int n)
{
    enum rt_phys p = x->phys;
    for (int i = 0; i < n && !x->dict_table && p <= RT_I128 && !fits_word(x); i++)
        if (!list[i].is_null && (list[i].i > INT32_MAX || list[i].i < INT32_MIN))
            p = HD_MAX(p, (list[i].i > INT64_MAX || list[i].i < INT64_MIN) ? RT_I128 : RT_I64);
    return p;
}

/* x IN (constants) as a bit of a word, which takes no longer than a comparison and no branch, so that tiles and vectors
 * test it, or as a search in a sorted set. Codes absent from the dictionary drop out. */
static int in_set(struct ctx *c, struct pl_val *x, const struct fe_value *list, int n, struct pl_val *out)
{
    bool word = fits_word(x);
    enum rt_phys p = phys_of_set(x, list, n);
    HD_TRY(lx_as_phys(c, x, p));
    int size = rt_phys_size(p), k = 0;
    unsigned char *set = hd_zalloc(c->a, (size_t)size * (size_t)HD_MAX(n, 1));
    for (int i = 0; i < n; i++) {
        bool found = true;
        hd_i128 v = list[i].i;
        if (list[i].is_null)
            continue;
        if (x->dict_table) {
            uint32_t code;
            HD_TRY(find_code(c, x, &list[i], &code, &found));
            v = code;
        }
        if (found && !(word && (v > INT32_MAX || v < INT32_MIN)))
            put_elem(set + size * k++, p, &list[i], v);
    }
    sort_set(set, k, size, p);
    int args[2] = {x->expr, word ? word_of_set(c, x, (const int32_t *)(const void *)set, k) : -1};
    expr_strict(c, word ? FE_IN_BITS : FE_IN_SET, RT_BOOL, word ? 2 : 1, args, x, 1, out);
    struct rt_arg a = {.kind = RT_ARG_SET, .phys = p, .state = -1, .nset = k, .set = set};
    c->exprs.v[out->expr].arg = pb_arg(c, a);
    return 0;
}

bool lx_is_constant(const struct pl_val *v, bool value)
{
    return v->is_const && !v->cval.is_null && (v->cval.i != 0) == value;
}

/* Operands that change nothing are left out: true in AND, false in OR. */
static int logic(struct ctx *c, enum fe_op op, struct pl_val *v, int n, struct pl_val *out)
{
    int *args = HD_NEWN(c->a, int, n), m = 0;
    struct pl_val r = {.phys = RT_BOOL, .type = hd_type_of(HD_BOOL), .range = {true, 0, 1}};
    for (int i = 0; i < n; i++) {
        if (lx_is_constant(&v[i], op == FE_AND))
            continue;
        HD_TRY(lx_as_phys(c, &v[i], RT_BOOL));
        args[m++] = v[i].expr;
        r.nullable |= v[i].nullable;
    }
    *out = r;
    if (m == 0)
        const_bool(c, op == FE_AND, out);
    else
        out->expr = m == 1 ? args[0] : pb_op(c, op, RT_BOOL, out->nullable, m, args);
    return 0;
}

static int in_constants(struct ctx *c, struct pl_val *x, const struct fe_value *list, int n, struct pl_val *out)
{
    bool has_null = false;
    for (int i = 0; i < n; i++)
        has_null |= list[i].is_null;
    lx_realise(c, x);
    if (x->phys == RT_BOOL)
        HD_TRY(lx_as_phys(c, x, RT_I32));
    HD_TRY(in_set(c, x, list, n, out));
    if (!has_null)
        return 0;
    struct pl_val two[2] = {*out};
    null_bool(c, &two[1]);
    return logic(c, FE_OR, two, 2, out);
}

/* The values of a list as what they are compared by: of intervals their lengths. */
static const struct fe_value *compared(struct ctx *c, const struct fe_param *q)
{
    if (q->type.kind != HD_INTERVAL)
        return q->list;
    struct fe_value *to = HD_NEWN(c->a, struct fe_value, q->nlist);
    for (int i = 0; i < q->nlist; i++)
        to[i] = fe_value_key(&q->list[i]);
    return to;
}

int lx_in(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    if (e->nargs == 2 && e->args[1]->op == FE_PARAM && c->plan->params[e->args[1]->param].is_list) {
        const struct fe_param *q = &c->plan->params[e->args[1]->param];
        if (q->nlist == 0) {
            const_bool(c, false, out);
            return 0;
        }
        return in_constants(c, &v[0], compared(c, q), q->nlist, out);
    }
    struct fe_value *list = HD_NEWN(c->a, struct fe_value, e->nargs);
    for (int i = 1; i < e->nargs; i++)
        list[i - 1] = e->args[i]->op == FE_LIT ? e->args[i]->value : c->plan->params[e->args[i]->param].value;
    return in_constants(c, &v[0], list, e->nargs - 1, out);
}

/* ---- case, coalesce --------------------------------------------------------------------------- */

/* Brings the branches of CASE or COALESCE to one physical form. */
static int unify_branches(struct ctx *c, struct pl_val *const *v, int n, struct pl_val *out)
{
    bool text = false;
    for (int i = 0; i < n; i++)
        if (hd_type_is_text(v[i]->type) && !(i == 0 ? v[0]->dict_table != NULL : same_dict(v[0], v[i])))
            text = true;
    enum rt_phys p = RT_BOOL;
    struct pl_range r = {.known = false};
    for (int i = 0; i < n; i++) {
        if (text)
            HD_TRY(lx_as_string(c, v[i]));
        lx_realise(c, v[i]);
        p = HD_MAX(p, v[i]->phys);
        bool null = v[i]->is_const && v[i]->cval.is_null;
        struct pl_range s = v[i]->range.known ? v[i]->range : range_of_type(v[i]->type);
        if (!null && s.known)
            r = r.known ? (struct pl_range){true, HD_MIN(r.lo, s.lo), HD_MAX(r.hi, s.hi)} : s;
    }
    for (int i = 0; i < n; i++)
        HD_TRY(lx_as_phys(c, v[i], p));
    *out = (struct pl_val){.phys = p, .range = text ? (struct pl_range){false, 0, 0} : r};
    if (!text && n) {
        out->dict_table = v[0]->dict_table;
        out->dict_column = v[0]->dict_column;
    }
    return 0;
}

int lx_case(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    int n = e->nargs, nb = 0;
    struct pl_val **branch = HD_NEWN(c->a, struct pl_val *, n + 1);
    for (int i = 0; i < n; i++) {
        bool value = e->op == FE_COALESCE || i % 2 == 1 || (i == n - 1 && n % 2 == 1);
        if (value)
            branch[nb++] = &v[i];
        else
            HD_TRY(lx_as_phys(c, &v[i], RT_BOOL));
    }
    HD_TRY(unify_branches(c, branch, nb, out));
    int *args = HD_NEWN(c->a, int, n);
    bool *nullable = HD_NEWN(c->a, bool, n);
    for (int i = 0; i < n; i++) {
        args[i] = v[i].expr;
        nullable[i] = v[i].nullable;
    }
    out->nullable = fe_op_nullable(e->op, n, nullable);
    out->expr = pb_op(c, e->op, out->phys, out->nullable, n, args);
    return 0;
}

/* Codes of one dictionary are in the order of its texts. */
int lx_extreme(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    struct pl_val *both[2] = {&v[0], &v[1]};
    HD_TRY(unify_branches(c, both, 2, out));
    int args[2] = {v[0].expr, v[1].expr};
    out->nullable = v[0].nullable && v[1].nullable;
    out->expr = pb_op(c, e->op, out->phys, out->nullable, 2, args);
    return 0;
}

/* ---- text ------------------------------------------------------------------------------------- */

static bool is_wild(const struct rt_arg *pattern)
{
    for (size_t i = 0; i < pattern->n; i++)
        if (pattern->escape && pattern->s[i] == pattern->escape && i + 1 < pattern->n)
            i++;
        else if (pattern->s[i] == '_')
            return true;
    return false;
}

char lx_escape(const struct fe_expr *e, const struct pl_val *v)
{
    return e->nargs == 3 ? v[2].cval.s[0] : e->escape;
}

int lx_check_escape(struct ctx *c, const struct fe_expr *e, const struct pl_val *v)
{
    if (e->nargs == 3 && (v[2].cval.n != 1 || v[2].cval.s[0] == '%' || v[2].cval.s[0] == '_'))
        return HD_FAIL(c->err, USER, e->path, FE_ESCAPE_WANTED);
    return 0;
}

int lx_like(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    struct pl_val s = v[0], pat = v[1];
    HD_TRY(lx_check_escape(c, e, v));
    HD_ASSERT(pat.is_const);
    HD_TRY(lx_as_string(c, &s));
    expr_strict(c, FE_LIKE, RT_BOOL, 1, &s.expr, &s, 1, out);
    struct rt_arg a = {
        .kind = RT_ARG_LIKE, .phys = RT_STR, .state = -1, .s = pat.cval.s, .n = pat.cval.n, .escape = lx_escape(e, v)};
    c->exprs.v[out->expr].wild = is_wild(&a);
    c->exprs.v[out->expr].arg = pb_arg(c, a);
    return 0;
}

/* ---- logic --------------------------------------------------------------------------------- */

/* Evaluating the node may raise, so it must not be folded away. */
static bool raises(const struct ctx *c, int expr)
{
    const struct pl_expr *e = &c->exprs.v[expr];
    for (int i = 0; i < e->nargs; i++)
        if (raises(c, e->args[i]))
            return true;
    return e->fail;
}

int lx_unary_bool(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    struct pl_val x = v[0];
    if (e->op == FE_IS_NULL) {
        if (x.is_const || (!x.nullable && !raises(c, x.expr))) {
            const_bool(c, x.is_const && x.cval.is_null, out);
            return 0;
        }
        *out = (struct pl_val){.phys = RT_BOOL};
        out->expr = pb_op(c, FE_IS_NULL, RT_BOOL, false, 1, &x.expr);
        return 0;
    }
    if (x.is_const) {
        const_bool(c, !x.cval.i, out);
        return 0;
    }
    HD_TRY(lx_as_phys(c, &x, RT_BOOL));
    return expr_strict(c, FE_NOT, RT_BOOL, 1, &x.expr, &x, 1, out);
}

int lx_logic(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    return logic(c, e->op, v, e->nargs, out);
}

int lx_compare(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    return compare(c, e->op, &v[0], &v[1], out);
}
