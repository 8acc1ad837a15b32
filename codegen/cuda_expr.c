/* Expressions as C++ text over the functions of templates/. Nullability is in the types
 * (hdd_opt), so the text of a node is the same with and without NULLs, except where evaluation
 * is lazy. */
#include <string.h>

#include "codegen/cuda_gen.h"

static const char *const spellings[FE_OP_COUNT] = {
#define T_OP(id, text, lo, hi, syntax, typing, nulls, fails, cost, entries, form, lowering, device, ...) \
    [FE_##id] = device,
#include "frontend/ops.def"
};

static const char *argument(struct cu_unit *u, const struct pl_expr *e, int i)
{
    return cu_expr(u, e->args[i]);
}

static const struct pl_expr *arg_expr(const struct cu_unit *u, const struct pl_expr *e, int i)
{
    return cu_expr_of(u, e->args[i]);
}

/* "%0 + %1" with the arguments put in, or "function(%0, %1)". */
static const char *emit_spelled(struct cu_unit *u, const struct pl_expr *e)
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

static bool any_lazy(const struct cu_unit *u, const struct pl_expr *e, int from, int to)
{
    for (int i = from; i < to; i++)
        if (arg_expr(u, e, i)->lazy_gpu)
            return true;
    return false;
}

static bool any_nullable(const struct cu_unit *u, const struct pl_expr *e, int from, int to)
{
    for (int i = from; i < to; i++)
        if (arg_expr(u, e, i)->nullable)
            return true;
    return false;
}

/* Arguments from .. to - 1 of AND, OR, from the left: plain sides short-circuit as in C;
 * nullable ones through a function when the right side must wait. By halves, so that long
 * lists do not nest deeply. */
static const char *logic(struct cu_unit *u, const struct pl_expr *e, int from, int to)
{
    bool any = e->op == FE_OR;
    if (to - from == 1)
        return argument(u, e, from);
    int middle = from + (to - from + 1) / 2;
    const char *left = logic(u, e, from, middle), *right = logic(u, e, middle, to);
    if (!any_nullable(u, e, from, to))
        return hd_asprintf(u->arena, "(%s %s %s)", left, any ? "||" : "&&", right);
    if (any_lazy(u, e, middle, to))
        return hd_asprintf(u->arena, "%s(%s, [&] { return %s; })", any ? "hdd_or_else" : "hdd_and_then", left, right);
    return hd_asprintf(u->arena, "%s(%s, %s)", any ? "hdd_or" : "hdd_and", left, right);
}

static const char *emit_case_when(struct cu_unit *u, const struct pl_expr *e)
{
    const char *type = cu_value_type(u, e->phys, e->nullable);
    const char *r = e->nargs % 2 ? hd_asprintf(u->arena, "%s(%s)", type, argument(u, e, e->nargs - 1))
                                 : hd_asprintf(u->arena, "hdd_null<%s>()", cu_type(e->phys));
    for (int i = (e->nargs / 2 - 1) * 2; i >= 0; i -= 2)
        r = hd_asprintf(u->arena, "(%s ? %s(%s) : %s)", cu_condition(u, e->args[i]), type, argument(u, e, i + 1), r);
    return r;
}

static const char *emit_coalesce(struct cu_unit *u, const struct pl_expr *e)
{
    const char *r = argument(u, e, e->nargs - 1);
    bool lazy = arg_expr(u, e, e->nargs - 1)->lazy_gpu;
    for (int i = e->nargs - 2; i >= 0; i--) {
        r = lazy ? hd_asprintf(u->arena, "hdd_coalesce_else(%s, [&] { return %s; })", argument(u, e, i), r)
                 : hd_asprintf(u->arena, "hdd_coalesce(%s, %s)", argument(u, e, i), r);
        lazy = lazy || arg_expr(u, e, i)->lazy_gpu;
    }
    return r;
}

/* ---- operators that may raise ----------------------------------------------------------- */

static const char *emit_arith(struct cu_unit *u, const struct pl_expr *e)
{
    if (!e->fail || rt_phys_is_float(e->phys))
        return emit_spelled(u, e);
    const char *function = e->op == FE_ADD   ? "hdd_checked_add"
                           : e->op == FE_SUB ? "hdd_checked_sub"
                                             : "hdd_checked_mul";
    return cu_checked(u, e, function, argument(u, e, 0), argument(u, e, 1));
}

static const char *emit_negate(struct cu_unit *u, const struct pl_expr *e)
{
    if (!e->fail || rt_phys_is_float(e->phys))
        return emit_spelled(u, e);
    const char *zero = hd_asprintf(u->arena, "(%s)0", cu_type(e->phys));
    return cu_checked(u, e, "hdd_checked_sub", zero, argument(u, e, 0));
}

static const char *emit_divide_rounded(struct cu_unit *u, const struct pl_expr *e)
{
    const char *by = hd_asprintf(u->arena, "%lldll", (long long)hd_pow10(e->scale)), *a = argument(u, e, 0),
               *b = argument(u, e, 1);
    if (!e->fail)
        return hd_asprintf(u->arena, "hdd_div_rounded(%s, %s, %s)", by, a, b);
    return hd_asprintf(u->arena, "hdd_checked_div_rounded(run, %s, %s, %s, %s)", cu_number(u, e->path), by, a, b);
}

static const char *emit_divide(struct cu_unit *u, const struct pl_expr *e)
{
    if (e->op == FE_DIV && e->scale >= 0 && e->phys == RT_I64)
        return emit_divide_rounded(u, e);
    if (e->op == FE_DIV && e->scale >= 0 && !rt_phys_is_float(e->phys)) {
        u->libraries |= RT_LIBRARY_WIDE;
        return hd_asprintf(u->arena, "hdd_div_decimal(run, %d, %d, %s, %s, %s)", e->scale, e->limit_digits,
                           cu_number(u, e->path), argument(u, e, 0), argument(u, e, 1));
    }
    if (!e->fail)
        return emit_spelled(u, e);
    return hd_asprintf(u->arena, "%s(run, %s, %s, %s)", e->op == FE_DIV ? "hdd_checked_div" : "hdd_checked_mod",
                       cu_number(u, e->path), argument(u, e, 0), argument(u, e, 1));
}

static const char *emit_word(struct cu_unit *u, const struct pl_expr *e)
{
    u->sorted = true;
    return emit_spelled(u, e);
}

static const char *emit_of_parts(struct cu_unit *u, const struct pl_expr *e)
{
    u->libraries |= RT_LIBRARY_WIDE;
    return hd_asprintf(u->arena, "hdd_of_parts<%s>(run, %d, %d, %s, %s, %s, %s)", cu_type(e->phys), e->scale,
                       e->limit_digits, cu_number(u, e->path), argument(u, e, 0), argument(u, e, 1), argument(u, e, 2));
}

/* function(arguments); with a site function(run, path, arguments). */
static const char *call(struct cu_unit *u, const struct pl_expr *e, const char *function, bool site)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    hd_strbuf_addf(&b, "%s(", function);
    if (site)
        hd_strbuf_addf(&b, "run, %s, ", cu_number(u, e->path));
    for (int i = 0; i < e->nargs; i++)
        hd_strbuf_addf(&b, "%s%s", i ? ", " : "", argument(u, e, i));
    hd_strbuf_addc(&b, ')');
    const char *s = hd_strndup(u->arena, b.s, b.n);
    hd_strbuf_release(&b);
    return s;
}

static const char *emit_sited(struct cu_unit *u, const struct pl_expr *e)
{
    return call(u, e, spellings[e->op], true);
}

static const char *emit_function(struct cu_unit *u, const struct pl_expr *e)
{
    return call(u, e, spellings[e->op], e->fail);
}

static const char *emit_bits(struct cu_unit *u, const struct pl_expr *e)
{
    u->bits = true;
    u->undefined = u->undefined || e->fail;
    return call(u, e, spellings[e->op], e->fail);
}

static const char *emit_digest(struct cu_unit *u, const struct pl_expr *e)
{
    u->digests = true;
    return call(u, e, spellings[e->op], false);
}

static const char *emit_rounding(struct cu_unit *u, const struct pl_expr *e)
{
    if (e->op == FE_ROUND) {
        u->casts = true;
        u->libraries |= RT_LIBRARY_WIDE | RT_LIBRARY_FLOAT;
    }
    return hd_asprintf(u->arena, "%s(%d, %s)", spellings[e->op], e->scale, argument(u, e, 0));
}

static const char *emit_bucket(struct cu_unit *u, const struct pl_expr *e)
{
    return call(u, e, e->scale ? hd_asprintf(u->arena, "%s<%d>", spellings[e->op], e->scale) : spellings[e->op], false);
}

static const char *emit_float(struct cu_unit *u, const struct pl_expr *e)
{
    u->math = true;
    return call(u, e, hd_asprintf(u->arena, "hdd_call<%s>", spellings[e->op]), e->fail);
}

static const char *emit_text(struct cu_unit *u, const struct pl_expr *e)
{
    u->texts = true;
    return call(u, e, hd_asprintf(u->arena, "hdd_text<%s, %s>", cu_type(e->phys), spellings[e->op]), false);
}

static const char *emit_try_decode(struct cu_unit *u, const struct pl_expr *e)
{
    u->texts = true;
    return emit_spelled(u, e);
}

static const char *emit_made(struct cu_unit *u, const struct pl_expr *e)
{
    u->texts = u->makes_strings = u->undefined = true;
    return call(u, e, hd_asprintf(u->arena, "hdd_made<%s>", spellings[e->op]), true);
}

static const char *emit_formatted(struct cu_unit *u, const struct pl_expr *e)
{
    u->formats = true;
    return emit_made(u, e);
}

static const char *emit_parsed(struct cu_unit *u, const struct pl_expr *e)
{
    u->formats = true;
    return emit_sited(u, e);
}

/* ---- leaves and functions --------------------------------------------------------------- */

static const char *emit_literal(struct cu_unit *u, const struct pl_expr *e)
{
    if (e->is_null)
        return hd_asprintf(u->arena, "hdd_null<%s>()", cu_type(e->phys));
    return cu_arg(u, e->arg);
}

static const char *emit_in_set(struct cu_unit *u, const struct pl_expr *e)
{
    return hd_asprintf(u->arena, "%s(%s, %s)", spellings[e->op], argument(u, e, 0), cu_arg(u, e->arg));
}

static const char *emit_like(struct cu_unit *u, const struct pl_expr *e)
{
    if (u->like_words && u->like_words[e - u->prog->exprs])
        return u->like_words[e - u->prog->exprs];
    return hd_asprintf(u->arena, "%s%s<%s>(run, %s, %s)", spellings[e->op], u->pipeline->gpu.quick ? "_quick" : "",
                       e->wild ? "true" : "false", argument(u, e, 0), cu_arg(u, e->arg));
}

static const char *emit_extract(struct cu_unit *u, const struct pl_expr *e)
{
    u->dates = true;
    return hd_asprintf(u->arena, "%s<%d>(%s)", spellings[e->op], (int)e->field, argument(u, e, 0));
}

static const char *emit_units_between(struct cu_unit *u, const struct pl_expr *e)
{
    u->dates = true;
    return call(u, e, hd_asprintf(u->arena, "%s<%d>", spellings[e->op], (int)e->field), false);
}

static const char *emit_shift_date(struct cu_unit *u, const struct pl_expr *e)
{
    u->dates = true;
    return emit_sited(u, e);
}

static const char *emit_make_date(struct cu_unit *u, const struct pl_expr *e)
{
    u->dates = u->undefined = true;
    return emit_sited(u, e);
}

static const char *emit_interval(struct cu_unit *u, const struct pl_expr *e)
{
    u->intervals = true;
    return emit_function(u, e);
}

static const char *emit_of_dates(struct cu_unit *u, const struct pl_expr *e)
{
    u->dates = true;
    return emit_spelled(u, e);
}

static const char *emit_dict_string(struct cu_unit *u, const struct pl_expr *e)
{
    return hd_asprintf(u->arena, "hdd_dict_string(%s, %s, %s)", argument(u, e, 0), cu_arg(u, e->arg),
                       cu_arg(u, e->arg2));
}

/* Field 0 of the row of a dictionary map. */
static const char *emit_lookup(struct cu_unit *u, const struct pl_expr *e)
{
    const struct rt_state *st = &u->spec->states[e->state];
    const char *row = cu_row(u, e->state), *field = cu_field(u, st, 0);
    const char *rows = cu_arg(u, e->arg), *code = argument(u, e, 0), *valid = "";
    if (st->fields[0].valid_offset >= 0)
        valid = hd_asprintf(u->arena, " &%s::%s_valid,", row, field);
    return hd_asprintf(u->arena, "hdd_lookup<%s>(%s, &%s::%s,%s %s)", cu_type(e->phys), rows, row, field, valid, code);
}

/* Items wait for those before them where one is lazy: each is a function then. */
static const char *emit_in_list(struct cu_unit *u, const struct pl_expr *e)
{
    struct hd_strbuf b;
    bool wait = any_lazy(u, e, 2, e->nargs);
    hd_strbuf_init(&b);
    hd_strbuf_addf(&b, "%s(%s", wait ? "hdd_in_else" : "hdd_in", argument(u, e, 0));
    for (int i = 1; i < e->nargs; i++)
        hd_strbuf_addf(&b, wait ? ", [&] { return %s; }" : ", %s", argument(u, e, i));
    hd_strbuf_addc(&b, ')');
    const char *s = hd_strndup(u->arena, b.s, b.n);
    hd_strbuf_release(&b);
    return s;
}

static const char *emit_slot(struct cu_unit *u, const struct pl_expr *e)
{
    return cu_slot(u, e->slot);
}

static const char *emit_logic(struct cu_unit *u, const struct pl_expr *e)
{
    return logic(u, e, 0, e->nargs);
}

static const char *emit_none(struct cu_unit *u HD_UNUSED, const struct pl_expr *e)
{
    HD_BUG("operator %s in a pipeline", fe_op_name(e->op));
}

/* ---- conversions (cuda_cast.c) ------------------------------------------------------------ */

static const char *emit_resize(struct cu_unit *u, const struct pl_expr *e)
{
    return cu_resize(u, e, argument(u, e, 0));
}

static const char *emit_rescale(struct cu_unit *u, const struct pl_expr *e)
{
    return cu_rescale(u, e, argument(u, e, 0));
}

static const char *emit_div_round(struct cu_unit *u, const struct pl_expr *e)
{
    return cu_div_round(u, e, argument(u, e, 0));
}

static const char *emit_to_f64(struct cu_unit *u, const struct pl_expr *e)
{
    return cu_to_f64(u, e, argument(u, e, 0));
}

static const char *emit_to_f32(struct cu_unit *u, const struct pl_expr *e)
{
    return cu_to_f32(u, e, argument(u, e, 0));
}

static const char *emit_from_f64(struct cu_unit *u, const struct pl_expr *e)
{
    return cu_from_f64(u, e, argument(u, e, 0));
}

static const char *emit_to_string(struct cu_unit *u, const struct pl_expr *e)
{
    return cu_to_string(u, e, argument(u, e, 0));
}

static const char *emit_from_string(struct cu_unit *u, const struct pl_expr *e)
{
    return cu_from_string(u, e, argument(u, e, 0));
}

static const char *emit_try_from_string(struct cu_unit *u, const struct pl_expr *e)
{
    return cu_try_from_string(u, e, argument(u, e, 0));
}

static const char *emit_cast_time(struct cu_unit *u, const struct pl_expr *e)
{
    return cu_cast_time(u, e, argument(u, e, 0));
}

/* ---- dispatch ----------------------------------------------------------------------------- */

static const char *(*const emitters[FE_OP_COUNT])(struct cu_unit *u, const struct pl_expr *e) = {
#define T_OP(id, text, lo, hi, syntax, typing, nulls, fails, cost, entries, form, lowering, device, cuda, ...) \
    [FE_##id] = emit_##cuda,
#include "frontend/ops.def"
};

static const char *expr_here(struct cu_unit *u, int index)
{
    const struct pl_expr *e = cu_expr_of(u, index);
    u->may_fail |= e->fail;
    return emitters[e->op](u, e);
}

/* ---- trees ------------------------------------------------------------------------------ */

static void expr_body(struct cu_unit *u, int e, int unused HD_UNUSED)
{
    cu_line(u->out, "return %s;", expr_here(u, e));
}

/* The expression is a function of its own, which is called where the value is needed. */
static const char *call_outlined(struct cu_unit *u, int e)
{
    const struct pl_expr *x = cu_expr_of(u, e);
    if (!u->expr_calls)
        u->expr_calls = HD_NEWN(u->arena, struct cu_call *, u->prog->nexprs);
    if (!u->expr_calls[e]) {
        const struct cu_function f = {.name = hd_asprintf(u->arena, "e%d", e),
                                      .type = cu_value_type(u, x->phys, x->nullable),
                                      .params = cu_frame_param(u, ""),
                                      .body = expr_body,
                                      .what = e};
        u->expr_calls[e] = HD_NEW(u->arena, struct cu_call);
        *u->expr_calls[e] = cu_define(u, &f);
    }
    return cu_call(u, *u->expr_calls[e], "frame");
}

const char *cu_expr(struct cu_unit *u, int index)
{
    return cu_expr_of(u, index)->outlined ? call_outlined(u, index) : expr_here(u, index);
}

const char *cu_condition(struct cu_unit *u, int e)
{
    const char *text = cu_expr(u, e);
    return cu_expr_of(u, e)->nullable ? hd_asprintf(u->arena, "hdd_true(%s)", text) : text;
}
