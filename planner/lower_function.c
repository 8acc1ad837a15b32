/* Functions that are called by name: arguments take the physical types that the table tells, the range of the result
 * follows from theirs, and so does whether they can fail. */
#include "planner/lower_function.h"

#include <string.h>

#include "frontend/regexp.h"
#include "planner/build.h"
#include "planner/lower_arith.h"
#include "runtime/base/interval.h"
#include "templates/interval_value.cuh"

/* ---- ranges of results ---------------------------------------------------------------------------- */

typedef struct pl_range range_rule(const struct pl_val *v);

static struct pl_range range_DIFFERENCE(const struct pl_val *v)
{
    return range_binary(FE_SUB, v[0].range, v[1].range);
}

static struct pl_range range_MAGNITUDE(const struct pl_val *v)
{
    struct pl_range r = v->range, none = {false, 0, 0};
    hd_i128 low;
    if (!r.known || __builtin_sub_overflow((hd_i128)0, r.lo, &low))
        return none;
    return (struct pl_range){true, r.lo > 0 ? r.lo : r.hi < 0 ? -r.hi : 0, HD_MAX(low, r.hi)};
}

static struct pl_range range_SIGN(const struct pl_val *v)
{
    struct pl_range r = v->range;
    if (!r.known || hd_type_is_float(v->type))
        return (struct pl_range){true, -1, 1};
    return (struct pl_range){true, (r.lo > 0) - (r.lo < 0), (r.hi > 0) - (r.hi < 0)};
}

static struct pl_range range_MONTH_END(const struct pl_val *v)
{
    struct pl_range r = v->range;
    if (!r.known || r.lo < HDD_FIRST_DAY || r.hi > HDD_LAST_DAY)
        return (struct pl_range){false, 0, 0};
    return (struct pl_range){true, hdd_month_end((int32_t)r.lo), hdd_month_end((int32_t)r.hi)};
}

static struct pl_range range_BITS_SET(const struct pl_val *v HD_UNUSED)
{
    return (struct pl_range){true, 0, 64};
}

static struct pl_range range_COUNT(const struct pl_val *v HD_UNUSED)
{
    return (struct pl_range){true, 0, INT32_MAX};
}

static struct pl_range range_INTERVAL_LENGTH(const struct pl_val *v)
{
    struct pl_range r = v->range.known ? v->range : range_of_type(v->type);
    return (struct pl_range){true, hd_interval_length(r.lo), hd_interval_length(r.hi)};
}

static struct pl_range range_INTERVAL_MONTHS(const struct pl_val *v HD_UNUSED)
{
    return (struct pl_range){true, -HDD_INTERVAL_MONTHS_MAX, HDD_INTERVAL_MONTHS_MAX};
}

static struct pl_range range_INTERVAL_DAYS(const struct pl_val *v HD_UNUSED)
{
    return (struct pl_range){true, INT32_MIN, INT32_MAX};
}

static struct pl_range range_INTERVAL_MICROS(const struct pl_val *v HD_UNUSED)
{
    return (struct pl_range){true, -HDD_INTERVAL_MICROS_MAX, HDD_INTERVAL_MICROS_MAX};
}

static struct pl_range range_DAY(const struct pl_val *v HD_UNUSED)
{
    return (struct pl_range){true, HDD_FIRST_DAY, HDD_LAST_DAY};
}

#define range_TYPE NULL

static range_rule *const ranges[FE_OP_COUNT] = {
#define T_OP(...)
#define T_FUNCTION(id, text, lo, hi, typing, fails, cost, form, range, ...) [FE_##id] = range_##range,
#include "frontend/ops.def"
};

/* ---- arguments and failures ----------------------------------------------------------------------- */

/* Of a function's form letters (planner/verify_expr.c) those that tell one class. */
static bool one_class(char letter, enum rt_phys *p)
{
    static const char letters[] = "bdwxfgs";
    static const enum rt_phys classes[] = {RT_BOOL, RT_I32, RT_I64, RT_I128, RT_F64, RT_F32, RT_STR};
    const char *at = strchr(letters, letter);
    if (at)
        *p = classes[at - letters];
    return at;
}

/* The class of a result that is any number: it holds what the function gives, and the argument. */
static enum rt_phys number_class(const struct fe_expr *e, struct pl_range r, const struct pl_val *v)
{
    struct pl_range limit = range_of_type(e->type);
    if (hd_type_is_float(e->type))
        return lx_full_phys(e->type);
    return HD_MAX(lx_narrowest(range_within(r, limit) ? r : limit), HD_MAX(v->phys, RT_I32));
}

/* Of the call's arguments v; the pattern is the second one. */
static const unsigned char *compiled(struct ctx *c, const struct fe_expr *e, const struct pl_val *v, size_t *size,
                                     struct fe_regexp_error *wrong)
{
    struct fe_regexp_use use = {0};
    const struct fe_value *pattern = &v[1].cval;
    if (e->op == FE_ILIKE)
        return fe_ilike_compile(c->a, pattern->s, pattern->n, lx_escape(e, v), size, wrong);
    if (e->op == FE_REGEXP_EXTRACT)
        use = fe_regexp_extracting((int)v[2].cval.i);
    else if (e->op != FE_REGEXP_LIKE)
        use = fe_regexp_replacing(v[2].is_const && !v[2].cval.is_null ? v[2].cval.s : NULL, v[2].cval.n);
    return fe_regexp_compile(c->a, pattern->s, pattern->n, &use, size, wrong);
}

/* A pattern becomes the program that matches it. */
static int program(struct ctx *c, const struct fe_expr *e, struct pl_val *v)
{
    struct fe_regexp_error wrong;
    struct fe_value text = v[1].cval;
    HD_ASSERT(v[1].is_const);
    if (text.is_null)
        return lx_as_string(c, &v[1]);
    text.s = (const char *)compiled(c, e, v, &text.n, &wrong);
    if (!text.s)
        return HD_FAIL(c->err, USER, e->path, "%s, byte %zu: %s",
                       e->op == FE_ILIKE ? "pattern of ilike" : "regular expression", wrong.at + 1, wrong.message);
    v[1] = lx_const(c, &text);
    return lx_as_string(c, &v[1]);
}

static int argument(struct ctx *c, char letter, enum rt_phys result, struct pl_val *v)
{
    enum rt_phys p;
    if (letter == 's')
        return lx_as_string(c, v);
    if (letter == '=' || one_class(letter, &p))
        return lx_as_phys(c, v, letter == '=' ? result : p);
    lx_realise(c, v);
    return 0;
}

/* What its failures tell: the function, and of functions of numbers the arguments. */
static struct rt_site site(const struct fe_expr *e, const struct pl_val *v)
{
    struct rt_site s = {.path = e->path, .to = e->type, .function = fe_op_name(e->op)};
    bool numbers = e->nargs <= 2, reads = v->type.kind == HD_STRING && !hd_type_is_text(e->type);
    for (int i = 0; i < e->nargs; i++)
        numbers = numbers && hd_type_is_num(v[i].type);
    if (reads) {
        s.form = RT_SITE_VALUE;
        s.from[0] = v->type;
        return s;
    }
    if (!numbers)
        return (struct rt_site){.path = e->path, .function = s.function};
    s.form = e->nargs > 1 ? RT_SITE_FUNCTION_2 : RT_SITE_FUNCTION_1;
    s.from[0] = v[0].type;
    s.from[1] = v[e->nargs - 1].type;
    return s;
}

/* ---- floats that are not negative ----------------------------------------------------------------- */

static bool same_value(const struct ctx *c, int a, int b)
{
    const struct pl_expr *x = &c->exprs.v[a], *y = &c->exprs.v[b];
    bool same = x->op == y->op && x->phys == y->phys && x->nargs == y->nargs && x->slot == y->slot &&
                x->arg == y->arg && x->scale == y->scale;
    bool plain = x->op == FE_COL || x->op == FE_LIT || x->op == FE_ADD || x->op == FE_SUB || x->op == FE_MUL ||
                 x->op == FE_TO_F64;
    for (int i = 0; same && plain && i < x->nargs; i++)
        same = same_value(c, x->args[i], y->args[i]);
    return a == b || (same && plain);
}

/* Not below 0; it may be NaN. Sums of squares are such, whatever is squared. */
static bool is_never_negative(const struct ctx *c, int e)
{
    const struct pl_expr *x = &c->exprs.v[e];
    bool both = x->op == FE_ADD || x->op == FE_MUL;
    if (x->op == FE_MUL && same_value(c, x->args[0], x->args[1]))
        return true;
    if (x->op == FE_LIT)
        return !x->is_null && c->args.v[x->arg].f >= 0;
    if (both)
        return is_never_negative(c, x->args[0]) && is_never_negative(c, x->args[1]);
    return x->op == FE_ABS || x->op == FE_SQRT || x->op == FE_EXP;
}

/* Whether the node may fail, and the range of its result. */
static void settle(struct ctx *c, const struct fe_expr *e, const struct pl_val *v, struct pl_val *out)
{
    struct pl_expr *x = &c->exprs.v[out->expr];
    switch (fe_op_form(e->op)->fails) {
    case FE_FAILS_NEVER: return;
    case FE_FAILS_EXACT:
        if (!hd_type_is_float(e->type))
            lx_settle(c, out, out->range, out->phys, site(e, v));
        return;
    case FE_FAILS_ALWAYS: x->fail = e->op != FE_SQRT || !is_never_negative(c, v->expr); break;
    case FE_FAILS_LENGTH: /* of substring alone: shifts are no functions */
        x->fail = e->nargs > 2 && (!v[2].range.known || v[2].range.lo < 0);
        break;
    case FE_FAILS_SHIFT:
    case FE_FAILS_CAST:
    case FE_FAILS_MARKED: HD_BUG("failures of function %s", fe_op_name(e->op));
    }
    x->path = pb_site(c, site(e, v));
}

static int function(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    enum { ARGS = 4 };
    const char *form = fe_op_form(e->op)->types;
    bool ranged = ranges[e->op] && !hd_type_is_float(e->type);
    struct pl_range r = ranged ? ranges[e->op](v) : (struct pl_range){false, 0, 0};
    bool nullable = false;
    int args[ARGS];
    enum rt_phys p;
    HD_ASSERT(e->nargs <= ARGS);
    if (!one_class(*form, &p)) {
        lx_realise(c, &v[0]);
        p = number_class(e, r, v);
    }
    for (int i = 0; i < e->nargs; i++) {
        form += form[1] == '?' ? 2 : 1;
        HD_TRY(*form == 'p' ? program(c, e, v) : argument(c, *form, p, &v[i]));
        args[i] = v[i].expr;
        nullable |= v[i].nullable;
    }
    *out = (struct pl_val){.phys = p, .nullable = nullable, .range = r};
    out->expr = pb_op(c, e->op, p, nullable, e->nargs, args);
    settle(c, e, v, out);
    return 0;
}

static bool is_regexp(enum fe_op op)
{
    return op == FE_REGEXP_LIKE || op == FE_REGEXP_EXTRACT || op == FE_REGEXP_REPLACE || op == FE_REGEXP_REPLACE_ALL;
}

/* Without its flags, which follow the arguments that the function itself has, and are known by now. */
static int with_flags(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct fe_expr *to)
{
    bool fold = false, all = false;
    const struct fe_value *flags = &v[e->nargs - 1].cval;
    HD_ASSERT(v[e->nargs - 1].is_const && v[1].is_const);
    if (!fe_regexp_flags(e->op, flags, &fold, &all))
        return HD_FAIL(c->err, USER, e->path, FE_FLAGS_WANTED, fe_regexp_letters(e->op), flags->s);
    *to = *e;
    to->nargs--;
    to->op = all ? FE_REGEXP_REPLACE_ALL : e->op;
    if (fold && !v[1].cval.is_null)
        v[1].cval = fe_regexp_folded(c->a, v[1].cval);
    return 0;
}

int lx_function(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    struct fe_expr plain;
    if (is_regexp(e->op) && e->nargs > (e->op == FE_REGEXP_LIKE ? 2 : 3)) {
        HD_TRY(with_flags(c, e, v, &plain));
        e = &plain;
    }
    return function(c, e, v, out);
}

/* A search by the program of its pattern. */
int lx_ilike(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    HD_TRY(lx_check_escape(c, e, v));
    HD_TRY(lx_as_string(c, &v[0]));
    HD_TRY(program(c, e, v));
    bool nullable = v[0].nullable || v[1].nullable;
    *out = (struct pl_val){.phys = RT_BOOL, .nullable = nullable};
    out->expr = pb_op(c, FE_REGEXP_LIKE, RT_BOOL, nullable, 2, (int[]){v[0].expr, v[1].expr});
    return 0;
}

/* ---- rounding to digits --------------------------------------------------------------------------- */

/* v / by, by > 0. */
static hd_i128 rounded(enum fe_op op, hd_i128 v, hd_i128 by)
{
    hd_i128 q = v / by, rest = v % by;
    if (op == FE_FLOOR)
        return q - (rest < 0);
    if (op == FE_CEIL)
        return q + (rest > 0);
    if (op == FE_ROUND && (rest < 0 ? -rest >= by - -rest : rest >= by - rest))
        q += v < 0 ? -1 : 1;
    return q;
}

/* How many of its digits x loses; a parameter says it now. */
static int lost_digits(struct ctx *c, const struct fe_expr *e, int scale, int digits, int *lost)
{
    *lost = scale - digits;
    return *lost <= HD_DEC_MAX ? 0
                               : HD_FAIL(c->err, USER, e->path, "\"round\" of this number expects digits of %d or more",
                                         scale - HD_DEC_MAX);
}

/* The digits before the last ones are zeros: `out` counts 10^zeros. */
static int append_zeros(struct ctx *c, const struct fe_expr *e, int zeros, struct pl_val *out)
{
    hd_i128 f = hd_pow10(zeros);
    struct pl_range limit = range_of_type(e->type);
    struct pl_range r = range_binary(FE_MUL, out->range, (struct pl_range){true, f, f});
    bool within = range_within(r, limit);
    enum rt_phys p = HD_MAX(out->phys, within ? lx_narrowest(r) : e->type.kind == HD_DECIMAL ? RT_I128 : RT_I64);
    HD_TRY(lx_as_phys(c, out, p));
    out->expr = pb_op(c, FE_RESCALE, p, out->nullable, 1, &out->expr);
    c->exprs.v[out->expr].scale = zeros;
    lx_settle(c, out, r, p, (struct rt_site){.path = e->path, .form = RT_SITE_ROUNDED, .to = e->type});
    return 0;
}

int lx_rounding(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    bool later = e->nargs > 1 && e->args[1]->op == FE_PARAM;
    int digits = e->nargs > 1 ? (int)v[1].cval.i : 0, lost = 0;
    bool real = hd_type_is_float(e->type);
    int scale = v->type.kind == HD_DECIMAL ? v->type.scale : 0;
    if (later && v[1].cval.is_null) {
        *out = lx_const(c, &(struct fe_value){.type = e->type, .is_null = true});
        return 0;
    }
    lx_realise(c, v);
    if (!real)
        HD_TRY(lost_digits(c, e, scale, digits, &lost));
    if (!real && lost <= 0) { /* only a parameter's digits may be so many */
        *out = *v;
        return 0;
    }
    HD_TRY(lx_as_phys(c, v, real ? lx_full_phys(e->type) : HD_MAX(v->phys, RT_I64)));
    *out = (struct pl_val){.phys = v->phys, .nullable = v->nullable};
    out->expr = pb_op(c, e->op == FE_ROUND && !real ? FE_DIVROUND : e->op, v->phys, v->nullable, 1, &v->expr);
    c->exprs.v[out->expr].scale = real ? digits : lost;
    if (real)
        return 0;
    hd_i128 by = hd_pow10(lost);
    HD_ASSERT(v->range.known);
    out->range = (struct pl_range){true, rounded(e->op, v->range.lo, by), rounded(e->op, v->range.hi, by)};
    int zeros = later ? lost : -digits;
    return zeros > 0 ? append_zeros(c, e, zeros, out) : 0;
}
