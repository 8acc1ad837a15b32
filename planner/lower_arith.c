/* Arithmetic, casts and dates: interval arithmetic decides width and whether a check is needed
 * (docs/architecture.md, "Widths and checks"). */
#include <math.h>

#include "frontend/value.h"
#include "planner/lower_arith.h"

#include "planner/build.h"
#include "templates/civil.cuh"

void lx_settle(struct ctx *c, struct pl_val *out, struct pl_range r, enum rt_phys at_least, struct rt_site site)
{
    struct hd_type t = site.to;
    struct pl_range limit = range_of_type(t);
    struct pl_expr *x = &c->exprs.v[out->expr];
    bool ok = range_within(r, limit);
    out->range = ok ? r : limit;
    out->phys = x->phys = HD_MAX(at_least, lx_narrowest(out->range));
    if (!ok) {
        x->fail = true;
        x->path = pb_site(c, site);
        x->limit_digits = t.kind == HD_DECIMAL ? t.precision : 0;
        if (t.kind == HD_DECIMAL) /* the unchecked result may exceed what holds the checked one */
            out->phys = x->phys = RT_I128;
    }
}

static void make(struct ctx *c, enum fe_op op, const struct pl_val *v, int n, struct pl_val *out)
{
    int args[3];
    *out = (struct pl_val){.nullable = false};
    for (int i = 0; i < n; i++) {
        args[i] = v[i].expr;
        out->nullable |= v[i].nullable;
    }
    out->expr = pb_op(c, op, RT_I64, out->nullable, n, args);
}

static bool fold(struct ctx *c, enum fe_op op, const struct pl_val *v, struct hd_type t, struct pl_val *out)
{
    hd_i128 r;
    if (!v[0].is_const || !v[1].is_const || v[0].cval.is_null || v[1].cval.is_null)
        return false;
    if (range_op(op, v[0].cval.i, v[1].cval.i, &r) || !range_within((struct pl_range){true, r, r}, range_of_type(t)))
        return false;
    struct fe_value k = {.type = t, .i = r};
    *out = lx_const(c, &k);
    return true;
}

static int float_op(struct ctx *c, const struct fe_expr *e, struct pl_val *v, int n, struct pl_val *out)
{
    enum rt_phys p = lx_full_phys(e->type);
    enum fe_op op = e->op;
    for (int i = 0; i < n; i++)
        HD_TRY(lx_as_phys(c, &v[i], p));
    make(c, op, v, n, out);
    out->phys = c->exprs.v[out->expr].phys = p;
    if (op == FE_DIV || op == FE_MOD) {
        c->exprs.v[out->expr].fail = true;
        c->exprs.v[out->expr].path = pb_path(c, e->path);
        c->exprs.v[out->expr].scale = -1;
    }
    return 0;
}

static struct rt_site site_of(const char *path, enum rt_site_form form, struct hd_type to, struct hd_type a,
                              struct hd_type b)
{
    return (struct rt_site){.path = path, .form = form, .to = to, .from = {a, b}};
}

static struct rt_site binary_site(const struct fe_expr *e, const struct pl_val *v)
{
    enum rt_site_form form = e->op == FE_ADD   ? RT_SITE_ADD
                             : e->op == FE_SUB ? RT_SITE_SUB
                             : e->op == FE_MUL ? RT_SITE_MUL
                                               : RT_SITE_DIV;
    return site_of(e->path, form, e->type, v[0].type, v[1].type);
}

int lx_add_sub_mul(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    if (hd_type_is_float(e->type))
        return float_op(c, e, v, 2, out);
    if (fold(c, e->op, v, e->type, out))
        return 0;
    struct pl_range r = range_binary(e->op, v[0].range, v[1].range);
    lx_realise(c, &v[0]);
    lx_realise(c, &v[1]);
    enum rt_phys p = HD_MAX(RT_I32, HD_MAX(v[0].phys, v[1].phys));
    if (!range_within(r, range_of_type(e->type)))
        p = e->type.kind == HD_DECIMAL ? RT_I128 : HD_MAX(RT_I64, p);
    p = HD_MAX(p, lx_narrowest(range_within(r, range_of_type(e->type)) ? r : range_of_type(e->type)));
    HD_TRY(lx_as_phys(c, &v[0], p));
    HD_TRY(lx_as_phys(c, &v[1], p));
    make(c, e->op, v, 2, out);
    lx_settle(c, out, r, p, binary_site(e, v));
    return 0;
}

static bool excludes_zero(struct pl_range r)
{
    return r.known && (r.lo > 0 || r.hi < 0);
}

static hd_i128 div_round(hd_i128 v, hd_i128 d)
{
    hd_i128 q = v / d, r = v % d;
    if (r < 0 ? -r >= d - -r : r >= d - r)
        q += v < 0 ? -1 : 1;
    return q;
}

/* Where 64 bits hold the dividend as a number of the quotient's scale: the quotient's range. */
static bool narrow_quotient(struct pl_range a, struct pl_range b, int scale, struct pl_range *q)
{
    const hd_i128 most = INT64_MAX / 2; /* twice a remainder fits as well */
    const struct pl_range narrow = {true, -most, most};
    if (scale < 0 || scale > 18)
        return false;
    struct pl_range n = range_binary(FE_MUL, a, (struct pl_range){true, hd_pow10(scale), hd_pow10(scale)});
    if (!range_within(n, narrow) || !range_within(b, narrow))
        return false;
    hd_i128 least = b.lo > 0 ? b.lo : b.hi < 0 ? -b.hi : 1;
    hd_i128 top = div_round(HD_MAX(n.hi, -n.lo), least);
    *q = (struct pl_range){true, n.lo < 0 || b.lo < 0 ? -top : 0, top};
    return true;
}

int lx_divide(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    if (hd_type_is_float(e->type))
        return float_op(c, e, v, 2, out);
    bool dec = e->type.kind == HD_DECIMAL && e->op == FE_DIV;
    bool mod_dec = e->type.kind == HD_DECIMAL && e->op == FE_MOD;
    int scale = dec ? e->type.scale - v[0].type.scale + v[1].type.scale : -1;
    struct pl_range quotient = range_of_type(e->type);
    bool narrow = dec && narrow_quotient(v[0].range, v[1].range, scale, &quotient);
    enum rt_phys p = mod_dec || (dec && !narrow) ? RT_I128 : RT_I64;
    HD_TRY(lx_as_phys(c, &v[0], p));
    HD_TRY(lx_as_phys(c, &v[1], p));
    make(c, e->op, v, 2, out);
    struct pl_expr *x = &c->exprs.v[out->expr];
    x->phys = out->phys = p;
    x->path = pb_site(c, binary_site(e, v));
    x->limit_digits = dec && !narrow ? e->type.precision : 0;
    x->scale = scale;
    x->fail = !narrow || !excludes_zero(v[1].range);
    out->range = quotient;
    if (!dec && excludes_zero(v[1].range) &&
        range_within(v[0].range, (struct pl_range){true, INT64_MIN + 1, INT64_MAX}))
        x->fail = false;
    if (e->op == FE_MOD && v[1].range.known && !dec) {
        hd_i128 m = HD_MAX(v[1].range.hi, -v[1].range.lo) - 1;
        if (m >= 0 && m < INT64_MAX)
            out->range = (struct pl_range){true, v[0].range.known && v[0].range.lo >= 0 ? 0 : -m, m};
    }
    return 0;
}

/* A sum that grew unchecked, over the number of its values (lower_agg.c). */
int lx_of_parts(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    HD_TRY(lx_as_phys(c, &v[0], RT_I128));
    HD_TRY(lx_as_phys(c, &v[1], RT_I128));
    HD_TRY(lx_as_phys(c, &v[2], RT_I64));
    make(c, FE_OF_PARTS, v, 3, out);
    struct pl_expr *x = &c->exprs.v[out->expr];
    bool decimal = e->type.kind == HD_DECIMAL;
    x->phys = out->phys = decimal ? RT_I128 : RT_I64;
    x->scale = decimal ? e->type.scale - v[1].type.scale : 0;
    x->limit_digits = decimal ? e->type.precision : 0;
    x->fail = true;
    x->path = pb_site(
        c, site_of(e->path, e->args[2]->op == FE_LIT ? RT_SITE_SUM : RT_SITE_AVERAGE, e->type, e->type, e->type));
    out->range = range_of_type(e->type);
    return 0;
}

int lx_negate(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    if (hd_type_is_float(e->type))
        return float_op(c, e, v, 1, out);
    struct fe_value zero = {.type = e->type, .i = 0};
    struct pl_val z[2] = {lx_const(c, &zero), *v};
    if (fold(c, FE_SUB, z, e->type, out))
        return 0;
    struct pl_range r = range_binary(FE_SUB, z[0].range, v->range);
    lx_realise(c, v);
    enum rt_phys p = HD_MAX(HD_MAX(RT_I64, v->phys),
                            lx_narrowest(range_within(r, range_of_type(e->type)) ? r : range_of_type(e->type)));
    HD_TRY(lx_as_phys(c, v, p));
    make(c, FE_NEG, v, 1, out);
    lx_settle(c, out, r, p, site_of(e->path, RT_SITE_NEG, e->type, v->type, v->type));
    return 0;
}

/* ---- casts ------------------------------------------------------------------------------------ */

static void check_fits(struct ctx *c, struct pl_val *v, struct hd_type to, const char *path)
{
    struct pl_range limit = range_of_type(to);
    if (range_within(v->range, limit))
        return;
    bool decimal = to.kind == HD_DECIMAL;
    if (decimal)
        lx_as_phys(c, v, RT_I128);
    v->phys = decimal ? RT_I128 : to.kind == HD_INT64 ? RT_I64 : RT_I32;
    v->expr = pb_op(c, FE_NARROW, v->phys, v->nullable, 1, &v->expr);
    struct pl_expr *x = &c->exprs.v[v->expr];
    struct hd_type from = hd_decimal(HD_DEC_MAX, decimal ? to.scale : 0);
    x->limit_digits = decimal ? to.precision : 0;
    x->fail = true;
    x->path = pb_site(c, site_of(path, RT_SITE_VALUE, to, from, from));
    v->range = limit;
}

static bool fold_scale(struct ctx *c, struct pl_val *v, struct hd_type to, int by)
{
    hd_i128 r = v->cval.i;
    if (!v->is_const)
        return false;
    if (!v->cval.is_null) {
        if (by >= 0 ? __builtin_mul_overflow(r, hd_pow10(by), &r) : (r = div_round(r, hd_pow10(-by)), false))
            return false;
        if (!range_within((struct pl_range){true, r, r}, range_of_type(to)))
            return false;
    }
    struct fe_value k = v->cval;
    k.type = to;
    k.i = r;
    *v = lx_const(c, &k);
    return true;
}

/* Exact number to exact number. */
static int cast_exact(struct ctx *c, struct pl_val *v, struct hd_type to, const char *path)
{
    int from = v->type.kind == HD_DECIMAL ? v->type.scale : 0;
    int by = (to.kind == HD_DECIMAL ? to.scale : 0) - from;
    if (fold_scale(c, v, to, by))
        return 0;
    lx_realise(c, v);
    if (by > 0) {
        hd_i128 f = hd_pow10(by);
        struct pl_range r = range_binary(FE_MUL, v->range, (struct pl_range){true, f, f});
        enum rt_phys p =
            HD_MAX(v->phys, HD_MAX(RT_I64, lx_narrowest(range_within(r, range_of_type(to)) ? r : range_of_type(to))));
        bool nullable = v->nullable;
        HD_TRY(lx_as_phys(c, v, range_within(r, range_of_type(to)) ? p : RT_I128));
        v->expr = pb_op(c, FE_RESCALE, p, nullable, 1, &v->expr);
        c->exprs.v[v->expr].scale = by;
        lx_settle(c, v, r, p, site_of(path, RT_SITE_VALUE, to, v->type, v->type));
    } else if (by < 0) {
        HD_TRY(lx_as_phys(c, v, HD_MAX(v->phys, RT_I64)));
        v->expr = pb_op(c, FE_DIVROUND, v->phys, v->nullable, 1, &v->expr);
        c->exprs.v[v->expr].scale = -by;
        hd_i128 d = hd_pow10(-by);
        if (v->range.known)
            v->range = (struct pl_range){true, div_round(v->range.lo, d), div_round(v->range.hi, d)};
        check_fits(c, v, to, path);
    } else {
        check_fits(c, v, to, path);
    }
    return 0;
}

/* Of numbers. Only a float64 may be too large for the type. */
static void cast_to_float(struct ctx *c, struct pl_val *v, struct hd_type to, const char *path)
{
    struct fe_value k;
    struct hd_type from = v->type;
    if (v->is_const && fe_value_cast(c->a, &v->cval, to, &k)) { /* rounds once */
        *v = lx_const(c, &k);
        return;
    }
    bool single = to.kind == HD_FLOAT32;
    lx_realise(c, v);
    v->phys = lx_full_phys(to);
    v->expr = pb_op(c, single ? FE_TO_F32 : FE_TO_F64, v->phys, v->nullable, 1, &v->expr);
    struct pl_expr *x = &c->exprs.v[v->expr];
    x->scale = from.kind == HD_DECIMAL ? from.scale : 0;
    x->fail = from.kind == HD_FLOAT64;
    if (x->fail)
        x->path = pb_site(c, site_of(path, RT_SITE_VALUE, to, from, from));
    v->range.known = false;
    v->is_const = false;
}

static int convert(struct ctx *c, struct pl_val *v, enum fe_op op, struct hd_type to, enum rt_phys p, const char *path)
{
    lx_realise(c, v);
    struct hd_type from = v->type;
    int e = pb_op(c, op, p, v->nullable, 1, &v->expr);
    struct pl_expr *x = &c->exprs.v[e];
    x->in_type = from;
    x->out_type = to;
    x->scale = to.kind == HD_DECIMAL ? to.scale : 0;
    x->limit_digits = to.kind == HD_DECIMAL ? to.precision : 0;
    x->fail = fe_op_form(op)->fails == FE_FAILS_ALWAYS;
    x->path = pb_site(c, site_of(path, RT_SITE_VALUE, to, from, from));
    *v = (struct pl_val){.expr = e, .phys = p, .nullable = v->nullable, .range = range_of_type(to)};
    return 0;
}

enum rt_phys lx_full_phys(struct hd_type t)
{
    switch ((enum hd_type_kind)t.kind) {
    case HD_BOOL: return RT_BOOL;
    case HD_INT32:
    case HD_DATE: return RT_I32;
    case HD_INT64:
    case HD_TIME:
    case HD_TIMESTAMP: return RT_I64;
    case HD_INTERVAL: return RT_I128;
    case HD_FLOAT32: return RT_F32;
    case HD_FLOAT64: return RT_F64;
    case HD_STRING:
    case HD_BINARY: return RT_STR;
    case HD_DECIMAL: return t.precision <= 18 ? RT_I64 : RT_I128;
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("type %d", t.kind);
}

static bool exact(struct hd_type t)
{
    return t.kind == HD_INT32 || t.kind == HD_INT64 || t.kind == HD_DECIMAL;
}

int lx_cast(struct ctx *c, struct pl_val *v, struct hd_type to, const char *path)
{
    struct hd_type from = v->type;
    int rc = 0;
    if (hd_type_eq(from, to))
        return 0;
    if (v->is_const && v->cval.is_null) {
        struct fe_value k = {.type = to, .is_null = true};
        *v = lx_const(c, &k);
        return 0;
    }
    if (exact(from) && exact(to)) {
        rc = cast_exact(c, v, to, path);
    } else if (hd_type_is_float(to) && hd_type_is_num(from)) {
        cast_to_float(c, v, to, path);
    } else if (hd_type_is_float(from) && exact(to)) {
        if (from.kind == HD_FLOAT32) /* every float32 is a float64 */
            cast_to_float(c, v, hd_type_of(HD_FLOAT64), path);
        rc = convert(c, v, FE_FROM_F64, to, lx_full_phys(to), path);
    } else if (hd_type_is_text(from) && hd_type_is_text(to)) { /* string to binary: the same bytes; back is FE_DECODE */
        HD_TRY(lx_as_string(c, v));
    } else if (to.kind == HD_STRING) {
        lx_realise(c, v);
        rc = convert(c, v, FE_TO_STRING, to, RT_STR, path);
    } else if (from.kind == HD_STRING) {
        HD_TRY(lx_as_string(c, v));
        rc = convert(c, v, FE_FROM_STRING, to, lx_full_phys(to), path);
    } else if (from.kind == HD_TIME && to.kind == HD_TIMESTAMP) { /* the same number: of the first day */
        lx_realise(c, v);
        v->is_const = false;
    } else if (from.kind == HD_DATE || from.kind == HD_TIMESTAMP) {
        rc = convert(c, v, FE_CAST, to, lx_full_phys(to), path);
    } else {
        char a[HD_TEXT_MAX], b[HD_TEXT_MAX];
        return HD_FAIL(c->err, UNSUPPORTED, path, "cast from %s to %s", hd_type_text(from, a), hd_type_text(to, b));
    }
    v->type = to;
    return rc;
}

/* ---- dates ------------------------------------------------------------------------------------ */

/* ---- fields ---- */

/* Of a number that never falls as days go on, or of any: without a value to begin with `known` is false. */
#define FIXED(low, high) {true, low, high}
#define BY_DAY           {false, 0, 0}
static const struct pl_range field_ranges[] = {
#define T_FIELD(id, name, of_date, unit, range) range,
#include "frontend/fields.def"
};
#undef FIXED
#undef BY_DAY

/* Whether all are days of the years 1 to 9999. */
static bool range_has_form(struct pl_range r)
{
    return r.known && r.lo >= HDD_FIRST_DAY && r.hi <= HDD_LAST_DAY;
}

static struct pl_range extract_range(enum fe_field f, struct pl_range r, bool date)
{
    enum { YEARS = 6000000 }; /* of dates beyond those that have a text form */
    if (field_ranges[f].known)
        return field_ranges[f];
    if (date && range_has_form(r))
        return (struct pl_range){true, hdd_civil_part((int32_t)r.lo, (u32)f), hdd_civil_part((int32_t)r.hi, (u32)f)};
    if (f == FE_EPOCH)
        return (struct pl_range){true, INT64_MIN / 1000000 - 1, INT64_MAX / 1000000}; /* of a date it is less */
    return (struct pl_range){true, -YEARS, YEARS};
}

static void lower_field(struct ctx *c, const struct fe_expr *e, struct pl_val *v, enum rt_phys p, struct pl_val *out)
{
    lx_realise(c, v);
    make(c, e->op, v, 1, out);
    struct pl_expr *x = &c->exprs.v[out->expr];
    x->phys = out->phys = p;
    x->field = e->field;
    x->in_type = x->out_type = v->type;
}

int lx_extract(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    lower_field(c, e, v, RT_I64, out);
    out->range = extract_range(e->field, v->range, v->type.kind == HD_DATE);
    return 0;
}

int lx_date_trunc(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    struct pl_range r = v->range;
    lower_field(c, e, v, v->type.kind == HD_DATE ? RT_I32 : RT_I64, out);
    if (v->type.kind == HD_DATE && range_has_form(r))
        out->range = (struct pl_range){true, hdd_trunc_day((int32_t)r.lo, (u32)e->field),
                                       hdd_trunc_day((int32_t)r.hi, (u32)e->field)};
    return 0;
}

int lx_units_between(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    bool date = v->type.kind == HD_DATE;
    struct pl_range a = v[0].range, b = v[1].range;
    u32 unit = (u32)e->field;
    HD_TRY(lx_as_phys(c, &v[0], date ? RT_I32 : RT_I64));
    HD_TRY(lx_as_phys(c, &v[1], date ? RT_I32 : RT_I64));
    make(c, e->op, v, 2, out);
    struct pl_expr *x = &c->exprs.v[out->expr];
    x->phys = out->phys = RT_I64;
    x->field = e->field;
    x->in_type = v->type;
    if (date && range_has_form(a) && range_has_form(b))
        out->range = (struct pl_range){true, hdd_days_between((int32_t)a.hi, (int32_t)b.lo, unit),
                                       hdd_days_between((int32_t)a.lo, (int32_t)b.hi, unit)};
    return 0;
}

/* Of a timestamp and a number of days or microseconds. */
static bool moved_times(struct pl_range t, struct pl_range n, hd_i128 unit, struct pl_range *out)
{
    struct pl_range years = {.known = true};
    *out = range_binary(FE_ADD, t, range_binary(FE_MUL, n, (struct pl_range){true, unit, unit}));
    return out->known && hd_type_domain(hd_type_of(HD_TIMESTAMP), &years.lo, &years.hi) && range_within(*out, years);
}

enum { MAX_SHIFT = 100000000 }; /* months or days that stay inside int32 days for any sane date */

int lx_shift_date(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    bool date = v[0].type.kind == HD_DATE, months = e->op == FE_ADD_MONTHS;
    struct pl_range d = v[0].range, n = v[1].range;
    bool sane = date && d.known && n.known && d.lo > -MAX_SHIFT && d.hi < MAX_SHIFT &&
                n.lo > -(months ? 1000000 : MAX_SHIFT) && n.hi < (months ? 1000000 : MAX_SHIFT);
    if (sane) {
        int32_t a = (int32_t)d.lo, b = (int32_t)d.hi;
        d.lo = months ? hd_date_add_months(a, (int64_t)n.lo) : a + (int32_t)n.lo;
        d.hi = months ? hd_date_add_months(b, (int64_t)n.hi) : b + (int32_t)n.hi;
        sane = lx_is_date(d.lo) && lx_is_date(d.hi);
    } else if (!date && !months) {
        sane = moved_times(d, n, e->op == FE_ADD_MICROS ? 1 : HDD_MICROS_PER_DAY, &d);
    }
    if (sane && v[0].is_const && v[1].is_const && !v[0].cval.is_null && !v[1].cval.is_null) {
        struct fe_value k = {.type = e->type, .i = d.lo};
        *out = lx_const(c, &k);
        return 0;
    }
    HD_TRY(lx_as_phys(c, &v[0], date ? RT_I32 : RT_I64));
    HD_TRY(lx_as_phys(c, &v[1], RT_I64));
    make(c, e->op, v, 2, out);
    struct pl_expr *x = &c->exprs.v[out->expr];
    x->phys = out->phys = date ? RT_I32 : RT_I64;
    x->in_type = v[0].type;
    x->fail = !sane;
    x->path = pb_path(c, e->path);
    out->range = sane ? d : range_of_type(e->type);
    return 0;
}

int lx_cast_node(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    *out = v[0];
    HD_TRY(lx_cast(c, out, e->type, e->path));
    if (e->saturate && out->expr >= 0 && c->exprs.v[out->expr].op == FE_RESCALE && c->exprs.v[out->expr].fail) {
        c->exprs.v[out->expr].fail = false;
        c->exprs.v[out->expr].saturate = true;
    }
    return 0;
}
