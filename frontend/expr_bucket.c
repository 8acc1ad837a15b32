/* Typing of width_bucket(x, lo, hi, n): x in the type in which it compares with both bounds without loss; lo, hi and
 * n are constants, which stay as they are (docs/functions.md). */
#include "frontend/bucket.h"

#include <math.h>

#include "frontend/ast.h"
#include "frontend/value.h"

static bool is_constant(const struct fe_expr *e)
{
    return e->op == FE_LIT || e->op == FE_PARAM;
}

static bool is_scale(struct hd_type t)
{
    return hd_type_is_num(t) || t.kind == HD_DATE || t.kind == HD_TIMESTAMP;
}

double fe_bucket_factor(const struct fe_value *lo, const struct fe_value *hi, const struct fe_value *n)
{
    if (lo->type.kind == HD_FLOAT32)
        return (float)n->i / ((float)hi->f - (float)lo->f);
    return (double)n->i / (hi->f - lo->f);
}

const char *fe_bucket_misfit(const struct fe_value *lo, const struct fe_value *hi, const struct fe_value *n)
{
    bool real = hd_type_is_float(lo->type);
    if (n->i < 1 || n->i > FE_BUCKETS_MAX)
        return "\"width_bucket\" expects from 1 to 2147483645 buckets";
    if (real ? !(lo->f < hi->f) : lo->i >= hi->i)
        return "\"width_bucket\" expects a lower bound below the upper bound";
    double factor = real ? fe_bucket_factor(lo, hi, n) : 1;
    if (!isfinite(factor) || factor == 0)
        return "\"width_bucket\" expects finite bounds, and buckets whose width is a number as well";
    return NULL;
}

struct hd_type fe_bucket_type(struct hd_type x)
{
    if (hd_type_is_int(x))
        return hd_type_of(HD_INT64);
    return x.kind == HD_DECIMAL ? hd_decimal(HD_DEC_MAX, x.scale) : x;
}

static int check_literals(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct hd_type type)
{
    struct fe_value lo, hi;
    if (a[1]->op != FE_LIT || a[2]->op != FE_LIT || a[3]->op != FE_LIT ||
        !fe_value_cast(t->arena, &a[1]->value, type, &lo) || !fe_value_cast(t->arena, &a[2]->value, type, &hi))
        return 0;
    const char *misfit = fe_bucket_misfit(&lo, &hi, &a[3]->value);
    return misfit ? fe_ast_fail(x, t->err, "%s", misfit) : 0;
}

static int expect(struct fe_typing *t, const struct fe_ast *x, bool holds)
{
    return holds ? 0
                 : fe_ast_fail(x, t->err,
                               "\"width_bucket\" expects a number, date or timestamp, two bounds of its kind and an "
                               "integer; the last three are literals or parameters");
}

int ft_BUCKET(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct hd_type type;
    if (fe_is_no_type(a[0]->type))
        a[0] = fe_expr_cast(t->arena, a[0], hd_type_of(HD_FLOAT64));
    type = a[0]->type;
    for (int i = 1; i < 4; i++)
        HD_TRY(expect(t, x, is_constant(a[i]) && !fe_is_no_type(a[i]->type)));
    for (int i = 1; i < 3; i++)
        HD_TRY(expect(t, x, fe_expr_fits(a[i], type) || fe_type_compare(type, a[i]->type, &type)));
    if (fe_expr_meet_in_float32(3, a))
        type = hd_type_of(HD_FLOAT32);
    HD_TRY(expect(t, x, is_scale(type) && hd_type_is_int(a[3]->type)));
    if (a[0]->type.kind != type.kind || a[0]->type.scale != type.scale)
        a[0] = fe_expr_cast(t->arena, a[0], type);
    HD_TRY(check_literals(t, x, a, fe_bucket_type(type)));
    struct fe_expr *e = HD_NEW(t->arena, struct fe_expr);
    e->op = FE_WIDTH_BUCKET;
    e->type = hd_type_of(HD_INT32);
    e->path = x->path;
    e->nargs = 4;
    e->args = hd_dup(t->arena, a, 4 * sizeof *a);
    for (int i = 0; i < 4; i++)
        e->nullable |= a[i]->nullable;
    *out = e;
    return 0;
}
