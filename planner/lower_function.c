/* Functions that are called by name: arguments take the physical types that the table tells, the range of the result
 * follows from theirs, and so does whether they can fail. */
#include "planner/lower_function.h"

#include "planner/build.h"

/* ---- ranges of results ---------------------------------------------------------------------------- */

typedef struct pl_range range_rule(const struct pl_val *v);

static struct pl_range range_DIFFERENCE(const struct pl_val *v)
{
    return range_binary(FE_SUB, v[0].range, v[1].range);
}

#define range_TYPE NULL

static range_rule *const ranges[FE_OP_COUNT] = {
#define T_OP(...)
#define T_FUNCTION(id, text, lo, hi, typing, fails, cost, form, range, ...) [FE_##id] = range_##range,
#include "frontend/ops.def"
};

/* ---- arguments and failures ----------------------------------------------------------------------- */

static int argument(struct ctx *c, char letter, struct pl_val *v)
{
    switch (letter) {
    case 'd': return lx_as_phys(c, v, RT_I32);
    case 'f': return lx_as_phys(c, v, RT_F64);
    case 'w': return lx_as_phys(c, v, RT_I64);
    case 's': return lx_as_string(c, v);
    }
    HD_BUG("argument of form %c", letter);
}

static enum rt_phys result(char letter)
{
    switch (letter) {
    case 'f': return RT_F64;
    case 'w': return RT_I64;
    case 's': return RT_STR;
    }
    HD_BUG("result of form %c", letter);
}

static bool fails(const struct fe_expr *e, const struct pl_val *v)
{
    switch (fe_op_form(e->op)->fails) {
    case FE_FAILS_NEVER: return false;
    case FE_FAILS_ALWAYS: return true;
    case FE_FAILS_LENGTH: return e->nargs > 2 && (!v[2].range.known || v[2].range.lo < 0);
    case FE_FAILS_EXACT:
    case FE_FAILS_SHIFT:
    case FE_FAILS_CAST:
    case FE_FAILS_MARKED: break;
    }
    HD_BUG("failures of function %s", fe_op_name(e->op));
}

/* What its failures tell: of functions of float64 the arguments. */
static int site(struct ctx *c, const struct fe_expr *e)
{
    struct hd_type f = hd_type_of(HD_FLOAT64);
    struct rt_site s = {.path = e->path, .to = f, .from = {f, f}, .function = fe_op_name(e->op)};
    if (e->type.kind != HD_FLOAT64)
        return pb_path(c, e->path);
    s.form = e->nargs > 1 ? RT_SITE_FUNCTION_2 : RT_SITE_FUNCTION_1;
    return pb_site(c, s);
}

int lx_function(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    enum { ARGS = 4 };
    const char *form = fe_op_form(e->op)->types;
    bool nullable = false;
    int args[ARGS];
    HD_ASSERT(e->nargs <= ARGS);
    for (int i = 0; i < e->nargs; i++) {
        form += form[1] == '?' ? 2 : 1;
        HD_TRY(argument(c, *form, &v[i]));
        args[i] = v[i].expr;
        nullable |= v[i].nullable;
    }
    *out = (struct pl_val){.phys = result(*fe_op_form(e->op)->types), .nullable = nullable};
    if (ranges[e->op])
        out->range = ranges[e->op](v);
    out->expr = pb_op(c, e->op, out->phys, nullable, e->nargs, args);
    c->exprs.v[out->expr].fail = fails(e, v);
    if (fe_op_form(e->op)->fails != FE_FAILS_NEVER)
        c->exprs.v[out->expr].path = site(c, e);
    return 0;
}
