/* Expressions as C++ text over the functions of templates/. Nullability is in the types
 * (hdd_opt), so the text of a node is the same with and without NULLs, except where evaluation
 * is lazy. */
#include <string.h>

#include "codegen/cuda_gen.h"

static const char *const spellings[FE_OP_COUNT] = {
#define T_OP(id, text, lo, hi, typing, nulls, flags, cuda, llvm) [FE_##id] = cuda,
#include "frontend/ops.def"
};

const struct pl_expr *cu_expr_of(const struct cu_unit *u, int e)
{
    if (e < 0 || e >= u->prog->nexprs)
        HD_BUG("expression %d of %d", e, u->prog->nexprs);
    return &u->prog->exprs[e];
}

static const char *argument(struct cu_unit *u, const struct pl_expr *e, int i)
{
    return cu_expr(u, e->args[i]);
}

static const struct pl_expr *arg_expr(const struct cu_unit *u, const struct pl_expr *e, int i)
{
    return cu_expr_of(u, e->args[i]);
}

static const char *path_of(const struct cu_unit *u, const struct pl_expr *e)
{
    return e->path >= 0 && e->path < u->spec->npaths ? u->spec->paths[e->path] : NULL;
}

static const char *refuse(struct cu_unit *u, const struct pl_expr *e, enum cu_unsupported why)
{
    return cu_refuse(u, why, path_of(u, e));
}

/* "%0 + %1" with the arguments put in, or "function(%0, %1)". */
static const char *spelled(struct cu_unit *u, const struct pl_expr *e)
{
    const char *text = spellings[e->op];
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    bool infix = strchr(text, '%') != NULL;
    hd_strbuf_addf(&b, infix ? "(" : "%s(", text);
    for (int i = 0; i < e->nargs && !infix; i++)
        hd_strbuf_addf(&b, "%s%s", i ? ", " : "", argument(u, e, i));
    for (; infix && *text; text++)
        if (*text == '%')
            hd_strbuf_adds(&b, argument(u, e, *++text - '0'));
        else
            hd_strbuf_addc(&b, *text);
    hd_strbuf_addc(&b, ')');
    const char *s = hd_strndup(u->arena, b.s, b.n);
    hd_strbuf_release(&b);
    return s;
}

/* ---- evaluation only when reached ------------------------------------------------------- */

/* May raise, or costs more than a branch. */
static bool is_guarded(const struct cu_unit *u, int index)
{
    const struct pl_expr *e = cu_expr_of(u, index);
    if (e->fail || e->poison || e->op == FE_LIKE || e->op == FE_IN_SET || e->op == FE_DIV ||
        e->op == FE_MOD || e->op == FE_EXTRACT || e->op == FE_LOOKUP || e->op == FE_DIVROUND)
        return true;
    for (int i = 0; i < e->nargs; i++)
        if (is_guarded(u, e->args[i]))
            return true;
    return false;
}

/* AND, OR from the left: plain sides short-circuit as in C; nullable ones through a function
 * when the right side must wait. */
static const char *logic(struct cu_unit *u, const struct pl_expr *e)
{
    bool any = e->op == FE_OR, nullable = arg_expr(u, e, 0)->nullable;
    const char *left = argument(u, e, 0);
    for (int i = 1; i < e->nargs; i++) {
        const char *right = argument(u, e, i);
        nullable = nullable || arg_expr(u, e, i)->nullable;
        if (!nullable)
            left = hd_asprintf(u->arena, "(%s %s %s)", left, any ? "||" : "&&", right);
        else if (is_guarded(u, e->args[i]))
            left = hd_asprintf(u->arena, "%s(%s, [&] { return %s; })",
                               any ? "hdd_or_else" : "hdd_and_then", left, right);
        else
            left =
                hd_asprintf(u->arena, "%s(%s, %s)", any ? "hdd_or" : "hdd_and", left, right);
    }
    return left;
}

static const char *case_when(struct cu_unit *u, const struct pl_expr *e)
{
    const char *type = cu_value_type(u, e->phys, e->nullable);
    const char *r = e->nargs % 2
                        ? hd_asprintf(u->arena, "%s(%s)", type, argument(u, e, e->nargs - 1))
                        : hd_asprintf(u->arena, "hdd_null<%s>()", cu_type(e->phys));
    for (int i = (e->nargs / 2 - 1) * 2; i >= 0; i -= 2)
        r = hd_asprintf(u->arena, "(%s ? %s(%s) : %s)", cu_condition(u, e->args[i]), type,
                        argument(u, e, i + 1), r);
    return r;
}

static const char *coalesce(struct cu_unit *u, const struct pl_expr *e)
{
    const char *r = argument(u, e, e->nargs - 1);
    bool guard = is_guarded(u, e->args[e->nargs - 1]);
    for (int i = e->nargs - 2; i >= 0; i--) {
        r = guard ? hd_asprintf(u->arena, "hdd_coalesce_else(%s, [&] { return %s; })",
                                argument(u, e, i), r)
                  : hd_asprintf(u->arena, "hdd_coalesce(%s, %s)", argument(u, e, i), r);
        guard = guard || is_guarded(u, e->args[i]);
    }
    return r;
}

/* ---- operators that may raise ----------------------------------------------------------- */

static const char *checked(struct cu_unit *u, const struct pl_expr *e, const char *function,
                           const char *a, const char *b)
{
    return hd_asprintf(u->arena, "%s(run, %d, %d, %s, %s)", function, e->limit_digits, e->path,
                       a, b);
}

static const char *arith(struct cu_unit *u, const struct pl_expr *e)
{
    if (!e->fail || e->phys == RT_F64)
        return spelled(u, e);
    const char *function = e->op == FE_ADD   ? "hdd_checked_add"
                           : e->op == FE_SUB ? "hdd_checked_sub"
                                             : "hdd_checked_mul";
    return checked(u, e, function, argument(u, e, 0), argument(u, e, 1));
}

static const char *negate(struct cu_unit *u, const struct pl_expr *e)
{
    if (!e->fail || e->phys == RT_F64)
        return spelled(u, e);
    const char *zero = hd_asprintf(u->arena, "(%s)0", cu_type(e->phys));
    return checked(u, e, "hdd_checked_sub", zero, argument(u, e, 0));
}

static const char *divide(struct cu_unit *u, const struct pl_expr *e)
{
    if (e->op == FE_DIV && e->scale >= 0 && e->phys != RT_F64)
        return hd_asprintf(u->arena, "hdd_div_decimal(run, %d, %d, %d, %s, %s)", e->scale,
                           e->limit_digits, e->path, argument(u, e, 0), argument(u, e, 1));
    if (!e->fail)
        return spelled(u, e);
    return hd_asprintf(u->arena, "%s(run, %d, %s, %s)",
                       e->op == FE_DIV ? "hdd_checked_div" : "hdd_checked_mod", e->path,
                       argument(u, e, 0), argument(u, e, 1));
}

static const char *resize(struct cu_unit *u, const struct pl_expr *e)
{
    const char *x = argument(u, e, 0);
    if (!e->fail)
        return hd_asprintf(u->arena, "hdd_cast<%s>(%s)", cu_type(e->phys), x);
    return hd_asprintf(u->arena, "hdd_narrow<%s>(run, %d, %d, %s)", cu_type(e->phys),
                       e->limit_digits, e->path, x);
}

static const char *rescale(struct cu_unit *u, const struct pl_expr *e)
{
    const char *type = cu_type(e->phys), *x = argument(u, e, 0);
    if (e->saturate)
        return refuse(u, e, CU_NO_SATURATE);
    if (!e->fail)
        return hd_asprintf(u->arena, "hdd_rescale<%s>(%d, %s)", type, e->scale, x);
    const char *wide = hd_asprintf(u->arena, "hdd_cast<%s>(%s)", type, x);
    const char *by = hd_asprintf(u->arena, "(%s)hdd_pow10(%d)", type, e->scale);
    return checked(u, e, "hdd_checked_mul", wide, by);
}

static const char *div_round(struct cu_unit *u, const struct pl_expr *e)
{
    const char *x = hd_asprintf(u->arena, "hdd_div_round<%s>(%d, %s)", cu_type(e->phys),
                                e->scale, argument(u, e, 0));
    if (!e->fail)
        return x;
    return checked(u, e, "hdd_checked_add", x,
                   hd_asprintf(u->arena, "(%s)0", cu_type(e->phys)));
}

static const char *to_f64(struct cu_unit *u, const struct pl_expr *e)
{
    enum rt_phys from = arg_expr(u, e, 0)->phys;
    bool small = from == RT_BOOL || from == RT_I32;
    if (!(small && e->scale <= 22) && !(from == RT_I64 && e->scale == 0))
        return refuse(u, e, CU_NO_FLOAT_CAST);
    return hd_asprintf(u->arena, "hdd_to_f64(%d, %s)", e->scale, argument(u, e, 0));
}

static const char *substring(struct cu_unit *u, const struct pl_expr *e)
{
    const char *length = e->nargs > 2 ? hd_asprintf(u->arena, ", %s", argument(u, e, 2)) : "";
    return hd_asprintf(u->arena, "hdd_substring(run, %d, %s, %s%s)", e->path,
                       argument(u, e, 0), argument(u, e, 1), length);
}

/* ---- leaves and functions --------------------------------------------------------------- */

static const char *literal(struct cu_unit *u, const struct pl_expr *e)
{
    if (e->is_null)
        return hd_asprintf(u->arena, "hdd_null<%s>()", cu_type(e->phys));
    return cu_arg(u, e->arg);
}

static const char *with_arg(struct cu_unit *u, const struct pl_expr *e)
{
    return hd_asprintf(u->arena, "%s(%s, %s)", spellings[e->op], argument(u, e, 0),
                       cu_arg(u, e->arg));
}

static const char *extract(struct cu_unit *u, const struct pl_expr *e)
{
    if (e->in_type.kind == HD_TIMESTAMP)
        return refuse(u, e, CU_NO_EXTRACT_TIME);
    return hd_asprintf(u->arena, "hdd_extract<%d>(%s)", (int)e->field, argument(u, e, 0));
}

static const char *dict_text(struct cu_unit *u, const struct pl_expr *e)
{
    return hd_asprintf(u->arena, "hdd_dict_text(%s, %s, %s)", argument(u, e, 0),
                       cu_arg(u, e->arg), cu_arg(u, e->arg2));
}

/* Field 0 of the row of a dictionary map. */
static const char *lookup(struct cu_unit *u, const struct pl_expr *e)
{
    const struct rt_state *st = &u->spec->states[e->state];
    const char *row = cu_row(u, e->state), *field = cu_field(u, st, 0);
    if (e->poison)
        return refuse(u, e, CU_NO_POISON);
    const char *valid = "";
    if (st->fields[0].valid_offset >= 0)
        valid = hd_asprintf(u->arena, " &%s::%s_valid,", row, field);
    return hd_asprintf(u->arena, "hdd_lookup<%s>(%s, &%s::%s,%s %s)", cu_type(e->phys),
                       cu_arg(u, e->arg), row, field, valid, argument(u, e, 0));
}

static const char *is_null(struct cu_unit *u, const struct pl_expr *e)
{
    return hd_asprintf(u->arena, "hdd_is_null(%s)", argument(u, e, 0));
}

static const char *in_list(struct cu_unit *u, const struct pl_expr *e)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    hd_strbuf_adds(&b, "hdd_in(");
    for (int i = 0; i < e->nargs; i++)
        hd_strbuf_addf(&b, "%s%s", i ? ", " : "", argument(u, e, i));
    hd_strbuf_addc(&b, ')');
    const char *s = hd_strndup(u->arena, b.s, b.n);
    hd_strbuf_release(&b);
    return s;
}

const char *cu_expr(struct cu_unit *u, int index)
{
    const struct pl_expr *e = cu_expr_of(u, index);
    switch (e->op) {
    case FE_COL: return cu_slot(u, e->slot);
    case FE_LIT: return literal(u, e);
    case FE_ADD:
    case FE_SUB:
    case FE_MUL: return arith(u, e);
    case FE_NEG: return negate(u, e);
    case FE_DIV:
    case FE_MOD: return divide(u, e);
    case FE_EQ:
    case FE_NE:
    case FE_LT:
    case FE_LE:
    case FE_GT:
    case FE_GE:
    case FE_NOT:
    case FE_DATE_DIFF: return spelled(u, e);
    case FE_AND:
    case FE_OR: return logic(u, e);
    case FE_IS_NULL: return is_null(u, e);
    case FE_IN: return in_list(u, e);
    case FE_IN_SET:
    case FE_LIKE: return with_arg(u, e);
    case FE_EXTRACT: return extract(u, e);
    case FE_CASE: return case_when(u, e);
    case FE_COALESCE: return coalesce(u, e);
    case FE_WIDEN:
    case FE_NARROW: return resize(u, e);
    case FE_DICT_TEXT: return dict_text(u, e);
    case FE_LOOKUP: return lookup(u, e);
    case FE_SUBSTRING: return substring(u, e);
    case FE_RESCALE: return rescale(u, e);
    case FE_DIVROUND: return div_round(u, e);
    case FE_TO_F64: return to_f64(u, e);
    case FE_ADD_DAYS:
    case FE_ADD_MONTHS: return refuse(u, e, CU_NO_ADD_INTERVAL);
    case FE_CAST: return refuse(u, e, CU_NO_CAST_TIME);
    case FE_FROM_F64: return refuse(u, e, CU_NO_FLOAT_CAST);
    case FE_TO_TEXT:
    case FE_FROM_TEXT: return refuse(u, e, CU_NO_CAST_TEXT);
    case FE_PARAM:
    case FE_OP_COUNT: break;
    }
    HD_BUG("expression operator %d", (int)e->op);
}

const char *cu_condition(struct cu_unit *u, int e)
{
    const char *text = cu_expr(u, e);
    return cu_expr_of(u, e)->nullable ? hd_asprintf(u->arena, "hdd_true(%s)", text) : text;
}
