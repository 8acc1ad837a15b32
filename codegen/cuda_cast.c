/* Expressions that change a value's type: widths, scales, floats, dates, text. And what they share with others. */
#include "codegen/cuda_gen.h"

const struct pl_expr *cu_expr_of(const struct cu_unit *u, int e)
{
    if (e < 0 || e >= u->prog->nexprs)
        HD_BUG("expression %d of %d", e, u->prog->nexprs);
    return &u->prog->exprs[e];
}

const char *cu_checked(struct cu_unit *u, const struct pl_expr *e, const char *function, const char *a, const char *b)
{
    return hd_asprintf(u->arena, "%s(run, %d, %s, %s, %s)", function, e->limit_digits, cu_number(u, e->path), a, b);
}

/* Which of them a conversion calls is the compiler's business. */
enum { CAST_LIBRARIES = RT_LIBRARY_WIDE | RT_LIBRARY_FLOAT };

static enum rt_phys from_phys(const struct cu_unit *u, const struct pl_expr *e)
{
    return cu_expr_of(u, e->args[0])->phys;
}

static const char *widened(struct cu_unit *u, enum rt_phys from, enum rt_phys to, const char *x)
{
    return from == to ? x : hd_asprintf(u->arena, "hdd_cast<%s>(%s)", cu_type(to), x);
}

const char *cu_resize(struct cu_unit *u, const struct pl_expr *e, const char *x)
{
    if (!e->fail)
        return widened(u, from_phys(u, e), e->phys, x);
    return hd_asprintf(u->arena, "hdd_narrow<%s>(run, %d, %s, %s)", cu_type(e->phys), e->limit_digits,
                       cu_number(u, e->path), x);
}

const char *cu_rescale(struct cu_unit *u, const struct pl_expr *e, const char *x)
{
    const char *type = cu_type(e->phys);
    if (e->saturate)
        return hd_asprintf(u->arena, "hdd_rescale_saturated(%d, %s)", e->scale, x);
    if (!e->fail)
        return hd_asprintf(u->arena, "hdd_rescale<%s>(%d, %s)", type, e->scale, x);
    return cu_checked(u, e, "hdd_checked_mul", widened(u, from_phys(u, e), e->phys, x),
                      hd_asprintf(u->arena, "(%s)hdd_pow10(%d)", type, e->scale));
}

const char *cu_div_round(struct cu_unit *u, const struct pl_expr *e, const char *x)
{
    const char *type = cu_type(e->phys);
    u->libraries |= RT_LIBRARY_WIDE;
    const char *r = hd_asprintf(u->arena, "hdd_div_round<%s>(%d, %s)", type, e->scale, x);
    if (!e->fail)
        return r;
    return cu_checked(u, e, "hdd_checked_add", r, hd_asprintf(u->arena, "(%s)0", type));
}

/* Without long arithmetic where both the integer and the power of ten are exact doubles. */
const char *cu_to_f64(struct cu_unit *u, const struct pl_expr *e, const char *x)
{
    enum rt_phys from = from_phys(u, e);
    bool small = from == RT_BOOL || from == RT_I32;
    if (from == RT_F32)
        return widened(u, from, RT_F64, x);
    if ((small && e->scale <= 22) || (from == RT_I64 && e->scale == 0))
        return hd_asprintf(u->arena, "hdd_to_f64(%d, %s)", e->scale, x);
    u->casts = true;
    u->libraries |= CAST_LIBRARIES;
    return hd_asprintf(u->arena, "hdd_to_f64_wide(%d, %s)", e->scale, x);
}

/* Conversions of 32 and 64 bits round once. */
const char *cu_to_f32(struct cu_unit *u, const struct pl_expr *e, const char *x)
{
    enum rt_phys from = from_phys(u, e);
    if (from == RT_F64 && e->fail)
        return hd_asprintf(u->arena, "hdd_to_f32(run, %s, %s)", cu_number(u, e->path), x);
    if (from == RT_F64 || (from != RT_I128 && e->scale == 0))
        return widened(u, from, RT_F32, x);
    u->casts = true;
    u->libraries |= CAST_LIBRARIES;
    return hd_asprintf(u->arena, "hdd_to_f32_wide(%d, %s)", e->scale, x);
}

const char *cu_from_f64(struct cu_unit *u, const struct pl_expr *e, const char *x)
{
    u->casts = true;
    u->libraries |= CAST_LIBRARIES;
    return hd_asprintf(u->arena, "hdd_from_f64<%s>(run, %d, %d, %s, %s)", cu_type(e->phys), e->scale, e->limit_digits,
                       cu_number(u, e->path), x);
}

/* Functions of templates/convert.cuh by type, and the class that they take or give. */
static const struct text_form {
    const char *to, *from;
    enum rt_phys to_takes, from_gives;
} text_forms[] = {
    [HD_BOOL] = {"hdd_bool_string", "hdd_string_bool", RT_BOOL, RT_BOOL},
    [HD_INT32] = {"hdd_decimal_string", "hdd_string_int32", RT_I128, RT_I64},
    [HD_INT64] = {"hdd_decimal_string", "hdd_string_int64", RT_I128, RT_I64},
    [HD_DECIMAL] = {"hdd_decimal_string", "hdd_string_decimal", RT_I128, RT_I128},
    [HD_FLOAT64] = {"hdd_f64_string", "hdd_string_f64", RT_F64, RT_F64},
    [HD_FLOAT32] = {"hdd_f32_string", "hdd_string_f32", RT_F32, RT_F32},
    [HD_DATE] = {"hdd_date_string", "hdd_string_date", RT_I32, RT_I32},
    [HD_TIMESTAMP] = {"hdd_timestamp_string", "hdd_string_timestamp", RT_I64, RT_I64},
    [HD_TIME] = {"hdd_time_string", "hdd_string_time", RT_I64, RT_I64},
    [HD_INTERVAL] = {"hdd_interval_string", "hdd_string_interval", RT_I128, RT_I128},
};

static const struct text_form *form_of(struct hd_type t)
{
    if (t.kind >= HD_COUNT(text_forms) || !text_forms[t.kind].to)
        HD_BUG("no text form of type %d", t.kind);
    return &text_forms[t.kind];
}

static int scale_of(struct hd_type t)
{
    return t.kind == HD_DECIMAL ? t.scale : 0;
}

const char *cu_to_string(struct cu_unit *u, const struct pl_expr *e, const char *x)
{
    enum rt_phys from = from_phys(u, e);
    if (from == RT_STR)
        return x;
    const struct text_form *f = form_of(e->in_type);
    u->casts = u->makes_strings = true;
    u->interval_texts |= e->in_type.kind == HD_INTERVAL;
    u->libraries |= CAST_LIBRARIES;
    return hd_asprintf(u->arena, "%s(run, %d, %s)", f->to, scale_of(e->in_type), widened(u, from, f->to_takes, x));
}

const char *cu_from_string(struct cu_unit *u, const struct pl_expr *e, const char *x)
{
    const struct text_form *f = form_of(e->out_type);
    u->casts = true;
    u->interval_texts |= e->out_type.kind == HD_INTERVAL;
    u->libraries |= CAST_LIBRARIES;
    return widened(u, f->from_gives, e->phys,
                   hd_asprintf(u->arena, "%s(run, %d, %d, %s, %s)", f->from, scale_of(e->out_type),
                               (int)e->out_type.precision, cu_number(u, e->path), x));
}

const char *cu_try_from_string(struct cu_unit *u, const struct pl_expr *e, const char *x)
{
    const struct text_form *f = form_of(e->out_type);
    u->casts = true;
    u->interval_texts |= e->out_type.kind == HD_INTERVAL;
    u->libraries |= CAST_LIBRARIES;
    return widened(
        u, f->from_gives, e->phys,
        hd_asprintf(u->arena, "%s_or_null(%d, %d, %s)", f->from, scale_of(e->out_type), (int)e->out_type.precision, x));
}

const char *cu_cast_time(struct cu_unit *u, const struct pl_expr *e, const char *x)
{
    const char *to = e->out_type.kind == HD_TIMESTAMP ? "hdd_to_timestamp"
                     : e->out_type.kind == HD_TIME    ? "hdd_to_time"
                                                      : "hdd_to_date";
    u->dates = true;
    return hd_asprintf(u->arena, "%s(%s)", to, x);
}
