/* Intervals as values: sums part by part, products, dates that they move, fields. What they are compared by is said by
 * fe_expr_key (expr_unify.c). */
#include "frontend/expr_interval.h"

#include "frontend/expr_date.h"
#include "frontend/expr_node.h"
#include "frontend/value.h"
#include "runtime/base/interval.h"

static const struct hd_type interval_type = {HD_INTERVAL, 0, 0}, int64_type = {HD_INT64, 0, 0};

static bool is_interval(const struct fe_expr *e)
{
    return e->type.kind == HD_INTERVAL;
}

static bool is_known(const struct fe_expr *e)
{
    return e->op == FE_LIT && !e->value.is_null;
}

static struct fe_expr *literal(struct fe_typing *t, const struct fe_ast *x, hd_i128 v)
{
    return fe_make_literal(t, x, (struct fe_value){.type = interval_type, .i = v});
}

/* ---- parts ---------------------------------------------------------------------------- */

static struct fe_expr *part(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct fe_expr *e)
{
    if (!is_known(e))
        return fe_make(t, x, op, int64_type, 1, &e);
    struct hd_interval v = hd_interval_unpack(e->value.i);
    return fe_make_int(t, x, op == FE_INTERVAL_MONTHS ? v.months : op == FE_INTERVAL_DAYS ? v.days : v.micros);
}

int ft_INTERVAL_PART(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_INTERVAL);
    if (!is_interval(a[0]))
        return fe_mismatch(t, x, "an interval", 1, a);
    *out = x->op == FE_INTERVAL_LENGTH ? fe_expr_key(t->arena, a[0]) : part(t, x, x->op, a[0]);
    return 0;
}

/* Of months, days and microseconds. */
static struct fe_expr *of_parts(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a)
{
    hd_i128 v;
    bool known = is_known(a[0]) && is_known(a[1]) && is_known(a[2]);
    struct hd_interval parts = {0};
    if (known)
        parts = (struct hd_interval){(int64_t)a[0]->value.i, (int64_t)a[1]->value.i, (int64_t)a[2]->value.i};
    if (known && hd_interval_pack(parts, &v))
        return literal(t, x, v);
    return fe_make(t, x, FE_MAKE_INTERVAL, interval_type, 3, a);
}

int ft_MAKE_INTERVAL(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    for (int i = 0; i < 3; i++) {
        a[i] = fe_settle(t, a[i], HD_INT64);
        if (!hd_type_is_int(a[i]->type))
            return fe_mismatch(t, x, "three integers", 3, a);
    }
    for (int i = 0; i < 3; i++)
        a[i] = fe_cast_to(t, a[i], HD_INT64);
    *out = of_parts(t, x, a);
    return 0;
}

int fe_interval_value(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *n, struct fe_expr **out)
{
    enum fe_op op;
    char found[HD_TEXT_MAX];
    int64_t factor = fe_interval_step(x->field, &op);
    struct fe_expr *zero = fe_make_int(t, x, 0), *all[3] = {zero, zero, zero};
    n = fe_settle(t, n, HD_INT64);
    if (!hd_type_is_int(n->type))
        return fe_ast_fail(x, t->err, "an interval expects an integer amount, found %s", fe_type_name(n, found));
    all[op == FE_ADD_MONTHS ? 0 : op == FE_ADD_DAYS ? 1 : 2] = fe_interval_count(t, x, n, factor);
    *out = of_parts(t, x, all);
    return 0;
}

/* ---- arithmetic ----------------------------------------------------------------------- */

bool fe_has_interval(struct fe_expr *const *a)
{
    return is_interval(a[0]) || is_interval(a[1]);
}

static struct fe_expr *sum(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct fe_expr **a)
{
    hd_i128 v;
    if (is_known(a[0]) && is_known(a[1]) &&
        (op == FE_INTERVAL_PLUS ? hd_interval_plus : hd_interval_minus)(a[0]->value.i, a[1]->value.i, &v))
        return literal(t, x, v);
    return fe_make(t, x, op, interval_type, 2, a);
}

static struct fe_expr *product(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *e, struct fe_expr *n)
{
    hd_i128 v;
    if (is_known(e) && is_known(n) && hd_interval_times(e->value.i, (int64_t)n->value.i, &v))
        return literal(t, x, v);
    return fe_make2(t, x, FE_INTERVAL_TIMES, interval_type, e, n);
}

/* sign * a part of the interval. */
static struct fe_expr *signed_part(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, bool minus,
                                   struct fe_expr *e)
{
    struct fe_expr *n = part(t, x, op, e);
    if (!minus)
        return n;
    return is_known(n) ? fe_make_int(t, x, (int64_t)-n->value.i) : fe_make(t, x, FE_NEG, int64_type, 1, &n);
}

/* Months first, then days, then microseconds, as in PostgreSQL. A time goes by the microseconds alone, round midnight: by
 * what they are beyond whole days. */
static void moved(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *date, struct fe_expr *by, bool minus,
                  struct fe_expr **out)
{
    static const enum fe_op parts[] = {FE_INTERVAL_MONTHS, FE_INTERVAL_DAYS, FE_INTERVAL_MICROS},
                            moves[] = {FE_ADD_MONTHS, FE_ADD_DAYS, FE_ADD_MICROS};
    bool clock = date->type.kind == HD_TIME;
    struct fe_expr *e = fe_cast_to(t, date, HD_TIMESTAMP);
    for (int i = clock ? 2 : 0; i < 3; i++) {
        struct fe_expr *n = signed_part(t, x, parts[i], minus, by);
        if (is_known(n) && !n->value.i)
            continue;
        if (clock)
            n = fe_make2(t, x, FE_MOD, int64_type, n, fe_make_int(t, x, INT64_C(86400000000)));
        e = fe_moved(t, x, moves[i], e, n);
    }
    *out = clock ? fe_cast_to(t, e, HD_TIME) : e;
}

static bool is_movable(const struct fe_expr *e)
{
    return e->type.kind == HD_DATE || e->type.kind == HD_TIMESTAMP || e->type.kind == HD_TIME;
}

int fe_interval_sum(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    bool minus = x->op == FE_SUB, swapped = is_interval(a[0]) && !minus;
    if (is_interval(a[0]) && is_interval(a[1]))
        *out = sum(t, x, minus ? FE_INTERVAL_MINUS : FE_INTERVAL_PLUS, a);
    else if (is_movable(a[swapped]) && is_interval(a[!swapped]))
        moved(t, x, a[swapped], a[!swapped], minus, out);
    else
        return fe_mismatch(t, x, "two intervals, or a date, timestamp or time and an interval", 2, a);
    return 0;
}

int fe_interval_moved(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct fe_expr *zero = fe_make_int(t, x, 0), *parts[3] = {zero, zero, zero};
    a[1] = fe_settle(t, a[1], HD_INT64);
    if (!hd_type_is_int(a[1]->type))
        return fe_mismatch(t, x, "an interval and an integer", 2, a);
    parts[x->op == FE_ADD_MONTHS ? 0 : x->op == FE_ADD_DAYS ? 1 : 2] = fe_cast_to(t, a[1], HD_INT64);
    struct fe_expr *both[2] = {a[0], of_parts(t, x, parts)};
    *out = sum(t, x, FE_INTERVAL_PLUS, both);
    return 0;
}

int ft_INTERVAL_SUM(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    for (int i = 0; i < 2; i++)
        a[i] = fe_settle(t, a[i], HD_INTERVAL);
    if (!is_interval(a[0]) || !is_interval(a[1]))
        return fe_mismatch(t, x, "two intervals", 2, a);
    *out = sum(t, x, x->op, a);
    return 0;
}

int ft_INTERVAL_TIMES(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_INTERVAL);
    a[1] = fe_settle(t, a[1], HD_INT64);
    if (!is_interval(a[0]) || !hd_type_is_int(a[1]->type))
        return fe_mismatch(t, x, "an interval and an integer", 2, a);
    *out = product(t, x, a[0], fe_cast_to(t, a[1], HD_INT64));
    return 0;
}

int fe_interval_product(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    int at = !is_interval(a[0]);
    a[!at] = fe_settle(t, a[!at], HD_INT64);
    if (!hd_type_is_int(a[!at]->type))
        return fe_mismatch(t, x, "numbers, or an interval and an integer", 2, a);
    *out = product(t, x, a[at], fe_cast_to(t, a[!at], HD_INT64));
    return 0;
}

int fe_interval_negative(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *a, struct fe_expr **out)
{
    *out = product(t, x, a, fe_make_int(t, x, -1));
    return 0;
}

/* ---- fields --------------------------------------------------------------------------- */

/* A part by so many units, truncated toward zero, and what that is beyond whole ones of the next unit (0: none). */
static const struct field {
    enum fe_op part;
    int64_t unit, within;
} fields[FE_FIELD_COUNT] = {
    [FE_CENTURY] = {FE_INTERVAL_MONTHS, 1200, 0},
    [FE_DECADE] = {FE_INTERVAL_MONTHS, 120, 0},
    [FE_YEAR] = {FE_INTERVAL_MONTHS, 12, 0},
    [FE_MONTH] = {FE_INTERVAL_MONTHS, 1, 12},
    [FE_DAY] = {FE_INTERVAL_DAYS, 1, 0},
    [FE_HOUR] = {FE_INTERVAL_MICROS, 3600000000ll, 0},
    [FE_MINUTE] = {FE_INTERVAL_MICROS, 60000000, 60},
    [FE_SECOND] = {FE_INTERVAL_MICROS, 1000000, 60},
    [FE_MILLISECOND] = {FE_INTERVAL_MICROS, 1000, 60000},
    [FE_MICROSECOND] = {FE_INTERVAL_MICROS, 1, 60000000},
};

int fe_interval_extract(struct fe_typing *t, const struct fe_ast *x, enum fe_field field, struct fe_expr *a,
                        struct fe_expr **out)
{
    const struct field *f = &fields[field];
    if (!f->unit)
        return fe_ast_fail(x, t->err, "an interval has no %s", fe_field_name(field));
    *out = part(t, x, f->part, a);
    if (f->unit > 1)
        *out = fe_make2(t, x, FE_DIV, int64_type, *out, fe_make_int(t, x, f->unit));
    if (f->within)
        *out = fe_make2(t, x, FE_MOD, int64_type, *out, fe_make_int(t, x, f->within));
    return 0;
}
