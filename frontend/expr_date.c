#include "frontend/expr_date.h"

#include <string.h>

#include "frontend/constant.h"
#include "frontend/expr_interval.h"
#include "frontend/expr_node.h"
#include "frontend/expr_number.h"
#include "frontend/value.h"
#include "runtime/base/utf8.h"

#define MICROS_PER_DAY 86400000000ll

static bool is_time(struct hd_type t)
{
    return t.kind == HD_DATE || t.kind == HD_TIMESTAMP;
}

/* Of a day. Its fields, moves and differences are those of the timestamp on the first day, 1970-01-01. */
static bool is_clock(struct hd_type t)
{
    return t.kind == HD_TIME;
}

/* ---- dates that move ------------------------------------------------------------------ */

/* By how many months, days or microseconds a unit of time moves. */
static const struct step {
    enum fe_op op;
    int64_t factor;
} steps_of[FE_FIELD_COUNT] = {
    [FE_CENTURY] = {FE_ADD_MONTHS, 1200},
    [FE_DECADE] = {FE_ADD_MONTHS, 120},
    [FE_YEAR] = {FE_ADD_MONTHS, 12},
    [FE_QUARTER] = {FE_ADD_MONTHS, 3},
    [FE_MONTH] = {FE_ADD_MONTHS, 1},
    [FE_WEEK] = {FE_ADD_DAYS, 7},
    [FE_DAY] = {FE_ADD_DAYS, 1},
    [FE_HOUR] = {FE_ADD_MICROS, 3600000000ll},
    [FE_MINUTE] = {FE_ADD_MICROS, 60000000},
    [FE_SECOND] = {FE_ADD_MICROS, 1000000},
    [FE_MILLISECOND] = {FE_ADD_MICROS, 1000},
    [FE_MICROSECOND] = {FE_ADD_MICROS, 1},
};

int64_t fe_interval_step(enum fe_field unit, enum fe_op *op)
{
    *op = steps_of[unit].op;
    return steps_of[unit].factor;
}

/* The day itself of a date, and of a timestamp the one that it is in. */
static hd_i128 moved(enum fe_op op, struct hd_type type, hd_i128 v, hd_i128 n)
{
    if (op == FE_ADD_MICROS)
        return v + n;
    if (op == FE_ADD_DAYS)
        return v + (type.kind == HD_DATE ? n : n * MICROS_PER_DAY);
    if (type.kind == HD_DATE)
        return hd_date_add_months((int32_t)v, (int64_t)n);
    int64_t day = (int64_t)(v / MICROS_PER_DAY) - (v % MICROS_PER_DAY < 0);
    return v + (hd_i128)(hd_date_add_months((int32_t)day, (int64_t)n) - day) * MICROS_PER_DAY;
}

static bool fold_move(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct fe_expr **a,
                      struct fe_expr **out)
{
    enum { FAR = 400 * 1000 }; /* beyond any date, and far from overflow */
    if (a[0]->op != FE_LIT || a[1]->op != FE_LIT || a[0]->value.is_null || a[1]->value.is_null)
        return false;
    struct fe_value v = a[0]->value;
    hd_i128 n = a[1]->value.i;
    if (op == FE_ADD_MONTHS && (n < -FAR || n > FAR))
        return false;
    v.i = moved(op, v.type, v.i, n);
    if (!fe_value_in_range(v.i, v.type))
        return false;
    *out = fe_make_literal(t, x, v);
    return true;
}

struct fe_expr *fe_moved(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct fe_expr *date,
                         struct fe_expr *n)
{
    struct fe_expr *a[2] = {date, n}, *to;
    return fold_move(t, x, op, a, &to) ? to : fe_make2(t, x, op, date->type, date, n);
}

static void move(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct fe_expr **a, struct fe_expr **out)
{
    *out = fe_moved(t, x, op, a[0], a[1]);
}

struct fe_expr *fe_interval_count(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *n, int64_t factor)
{
    n = fe_cast_to(t, n, HD_INT64);
    bool literal = n->op == FE_LIT && !n->value.is_null;
    if (literal && fe_value_in_range(n->value.i * factor, n->type))
        return fe_make_int(t, x, (int64_t)(n->value.i * factor));
    if (factor == -1)
        return fe_make(t, x, FE_NEG, n->type, 1, &n);
    return factor == 1 ? n : fe_make2(t, x, FE_MUL, n->type, n, fe_make_int(t, x, factor));
}

/* A date that moves by less than a day becomes the timestamp at which it begins. A time goes round midnight. */
static int move_by_units(struct fe_typing *t, const struct fe_ast *x, enum fe_field unit, int sign, struct fe_expr **a,
                         struct fe_expr **out)
{
    const struct step *step = &steps_of[unit];
    bool clock = is_clock(a[0]->type);
    if (clock && step->op != FE_ADD_MICROS)
        return fe_ast_fail(x, t->err, "a time moves by hours or less, not by a %s", fe_field_name(unit));
    if (step->op == FE_ADD_MICROS)
        a[0] = fe_cast_to(t, a[0], HD_TIMESTAMP);
    a[1] = fe_interval_count(t, x, a[1], sign * step->factor);
    move(t, x, step->op, a, out);
    if (clock)
        *out = fe_cast_to(t, *out, HD_TIME);
    return 0;
}

int ft_ADDDATE(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    bool micros = x->op == FE_ADD_MICROS;
    if (a[0]->type.kind == HD_INTERVAL)
        return fe_interval_moved(t, x, a, out);
    a[0] = fe_settle(t, a[0], micros ? HD_TIMESTAMP : HD_DATE);
    a[1] = fe_settle(t, a[1], HD_INT64);
    bool time = micros ? a[0]->type.kind == HD_TIMESTAMP : is_time(a[0]->type);
    if ((!time && !(micros && is_clock(a[0]->type))) || !hd_type_is_int(a[1]->type))
        return fe_mismatch(t, x, micros ? "a timestamp or time and an integer" : "a date or timestamp and an integer",
                           2, a);
    if (micros)
        return move_by_units(t, x, FE_MICROSECOND, 1, a, out);
    a[1] = fe_cast_to(t, a[1], HD_INT64);
    move(t, x, x->op, a, out);
    return 0;
}

int fe_type_interval(struct fe_typing *t, const struct fe_ast *x, const struct fe_ast *interval, struct fe_expr **a,
                     struct fe_expr **out)
{
    char buf[HD_TEXT_MAX];
    a[0] = fe_settle(t, a[0], HD_DATE);
    a[1] = fe_settle(t, a[1], HD_INT64);
    if (!is_time(a[0]->type) && !is_clock(a[0]->type))
        return fe_ast_fail(x, t->err, "\"%s\" expects a date, timestamp or time beside an interval, found %s",
                           fe_op_name(x->op), fe_type_name(a[0], buf));
    if (!hd_type_is_int(a[1]->type))
        return fe_ast_fail(interval, t->err, "an interval expects an integer amount, found %s",
                           fe_type_name(a[1], buf));
    return move_by_units(t, x, interval->field, x->op == FE_SUB ? -1 : 1, a, out);
}

static int check_unit(struct fe_typing *t, const struct fe_ast *x, const char *what)
{
    if (fe_field_is_unit(x->field))
        return 0;
    return fe_ast_fail(x, t->err, "\"%s\" %s no %s", fe_op_name(x->op), what, fe_field_name(x->field));
}

int ft_DATEADD(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_DATE);
    a[1] = fe_settle(t, a[1], HD_INT64);
    if ((!is_time(a[0]->type) && !is_clock(a[0]->type)) || !hd_type_is_int(a[1]->type))
        return fe_mismatch(t, x, "a date, timestamp or time and an integer", 2, a);
    HD_TRY(check_unit(t, x, "moves by"));
    return move_by_units(t, x, x->field, 1, a, out);
}

/* ---- differences ---------------------------------------------------------------------- */

int ft_DATEDIF(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_DATE);
    a[1] = fe_settle(t, a[1], HD_DATE);
    if (a[0]->type.kind != HD_DATE || a[1]->type.kind != HD_DATE)
        return fe_mismatch(t, x, "two dates", 2, a);
    *out = fe_make2(t, x, FE_DATE_DIFF, hd_type_of(HD_INT64), a[0], a[1]);
    return 0;
}

int ft_UNITS(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    const struct hd_type type = hd_type_of(HD_INT64);
    a[0] = fe_settle(t, a[0], HD_DATE);
    a[1] = fe_settle(t, a[1], HD_DATE);
    bool clocks = is_clock(a[0]->type) && is_clock(a[1]->type);
    if (!clocks && (!is_time(a[0]->type) || !is_time(a[1]->type)))
        return fe_mismatch(t, x, "two dates or timestamps, or two times", 2, a);
    HD_TRY(check_unit(t, x, "counts"));
    if (clocks && fe_field_of_date(x->field))
        return fe_ast_fail(x, t->err, "a time has no %s", fe_field_name(x->field));
    bool dates = a[0]->type.kind == HD_DATE && a[1]->type.kind == HD_DATE && fe_field_of_date(x->field);
    for (int i = 0; i < 2 && !dates; i++)
        a[i] = fe_cast_to(t, a[i], HD_TIMESTAMP);
    if (dates && x->field == FE_DAY) {
        *out = fe_make2(t, x, FE_DATE_DIFF, type, a[1], a[0]);
        return 0;
    }
    *out = fe_make2(t, x, FE_UNITS_BETWEEN, type, a[0], a[1]);
    (*out)->field = x->field;
    return 0;
}

bool fe_is_date_and_time(struct fe_expr *const *a)
{
    enum hd_type_kind l = a[0]->type.kind, r = a[1]->type.kind;
    return (l == HD_DATE && r == HD_TIME) || (l == HD_TIME && r == HD_DATE);
}

void fe_type_date_and_time(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    const int date = a[1]->type.kind == HD_DATE;
    struct fe_expr *begin = fe_cast_to(t, a[date], HD_TIMESTAMP), *time = fe_cast_to(t, a[!date], HD_TIMESTAMP);
    struct fe_value epoch = {.type = hd_type_of(HD_TIMESTAMP)};
    struct fe_expr *both[2] = {
        begin, fe_make2(t, x, FE_UNITS_BETWEEN, hd_type_of(HD_INT64), fe_make_literal(t, x, epoch), time)};
    both[1]->field = FE_MICROSECOND;
    move(t, x, FE_ADD_MICROS, both, out);
}

/* ---- fields --------------------------------------------------------------------------- */

static int extract_clock(struct fe_typing *t, const struct fe_ast *x, enum fe_field field, struct fe_expr **a,
                         struct fe_expr **out)
{
    if (fe_field_of_date(field) && field != FE_EPOCH)
        return fe_ast_fail(x, t->err, "a time has no %s", fe_field_name(field));
    a[0] = fe_cast_to(t, a[0], HD_TIMESTAMP);
    *out = fe_make(t, x, FE_EXTRACT, hd_type_of(HD_INT64), 1, a);
    (*out)->field = field;
    return 0;
}

/* That it is a date, or a timestamp, and has the field. */
static int check_field(struct fe_typing *t, const struct fe_ast *x, enum fe_field field, struct fe_expr **a)
{
    a[0] = fe_settle(t, a[0], HD_DATE);
    if (!is_time(a[0]->type))
        return fe_mismatch(t, x, "a date or timestamp", 1, a);
    if (a[0]->type.kind == HD_DATE && !fe_field_of_date(field))
        return fe_ast_fail(x, t->err, "a date has no %s", fe_field_name(field));
    return 0;
}

static int extract(struct fe_typing *t, const struct fe_ast *x, enum fe_field field, struct fe_expr **a,
                   struct fe_expr **out)
{
    if (is_clock(a[0]->type))
        return extract_clock(t, x, field, a, out);
    if (a[0]->type.kind == HD_INTERVAL)
        return fe_interval_extract(t, x, field, a[0], out);
    HD_TRY(check_field(t, x, field, a));
    *out = fe_make(t, x, FE_EXTRACT, hd_type_of(HD_INT64), 1, a);
    (*out)->field = field;
    return 0;
}

int ft_EXTRACT(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    return extract(t, x, x->field, a, out);
}

int ft_EPOCH(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    return extract(t, x, FE_EPOCH, a, out);
}

int ft_TRUNC(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    HD_TRY(check_field(t, x, x->field, a));
    HD_TRY(check_unit(t, x, "cuts down to"));
    *out = fe_make(t, x, FE_DATE_TRUNC, a[0]->type, 1, a);
    (*out)->field = x->field;
    return 0;
}

int ft_LASTDAY(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_DATE);
    if (a[0]->type.kind != HD_DATE)
        return fe_mismatch(t, x, "a date", 1, a);
    *out = fe_make(t, x, FE_LAST_DAY, a[0]->type, 1, a);
    return 0;
}

/* ---- dates of numbers ----------------------------------------------------------------- */

int ft_MAKEDATE(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    for (int i = 0; i < 3; i++) {
        a[i] = fe_settle(t, a[i], HD_INT64);
        if (!hd_type_is_int(a[i]->type))
            return fe_mismatch(t, x, "three integers", 3, a);
    }
    for (int i = 0; i < 3; i++)
        a[i] = fe_cast_to(t, a[i], HD_INT64);
    *out = fe_make(t, x, FE_MAKE_DATE, hd_type_of(HD_DATE), 3, a);
    return 0;
}

/* Microseconds behind 1970. */
static void since_epoch(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *micros, struct fe_expr **out)
{
    struct fe_expr *a[2] = {fe_make_literal(t, x, (struct fe_value){.type = hd_type_of(HD_TIMESTAMP)}), micros};
    move(t, x, FE_ADD_MICROS, a, out);
}

int ft_MICROS(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_INT64);
    if (!hd_type_is_int(a[0]->type))
        return fe_mismatch(t, x, "an integer", 1, a);
    since_epoch(t, x, fe_cast_to(t, a[0], HD_INT64), out);
    return 0;
}

/* Rounded to microseconds once, of float32 as of float64. */
int ft_SECONDS(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct fe_ast product = *x;
    a[0] = fe_settle(t, a[0], HD_INT64);
    if (!hd_type_is_num(a[0]->type))
        return fe_mismatch(t, x, "a number", 1, a);
    if (hd_type_is_float(a[0]->type))
        a[0] = fe_cast_to(t, a[0], HD_FLOAT64);
    struct fe_expr *both[2] = {a[0], fe_make_int(t, x, 1000000)}, *micros;
    product.op = FE_MUL;
    HD_TRY(ft_MUL(t, &product, both, &micros));
    since_epoch(t, x, fe_cast_to(t, micros, HD_INT64), out);
    return 0;
}

/* ---- formats -------------------------------------------------------------------------- */

/* Where byte i of a text is in what was written: quotes stand twice there. */
static int place_in(const struct fe_ast *text, size_t i)
{
    int at = text->pos + 1 + (int)i;
    for (size_t k = 0; k < i; k++)
        at += text->lit.s[k] == '\'';
    return at;
}

static int check_text(struct fe_typing *t, const struct fe_ast *format, const struct fe_value *v, const char *known)
{
    bool text = format->op == FE_LIT && format->pos >= 0;
    const unsigned char *s = (const unsigned char *)v->s;
    struct fe_ast at = *format;
    for (size_t i = 0; i < v->n; i++) {
        if (s[i] != '%')
            continue;
        at.pos = text ? place_in(format, i) : format->pos;
        if (++i == v->n)
            return fe_ast_fail(&at, t->err, "the format ends behind a %%; %%%% stands for itself");
        if (!memchr(known, s[i], strlen(known)))
            return fe_ast_fail(&at, t->err, "unknown format \"%%%.*s\"; behind a %% stands one of %s",
                               hd_utf8_length(s + i, s + v->n), v->s + i, known);
    }
    return 0;
}

/* The second argument of x: each % is followed by a letter that is known. */
static int check_format(struct fe_typing *t, const struct fe_ast *x, const struct fe_expr *format,
                        enum fe_constant place, const char *known)
{
    if (format->op == FE_PARAM)
        return fe_param_stands(&t->params[format->param], place, t->err);
    if (format->op != FE_LIT)
        return fe_ast_fail(x, t->err, "\"%s\" expects a format that is a text, not an expression", fe_op_name(x->op));
    return format->value.is_null ? 0 : check_text(t, x->args[1], &format->value, known);
}

int ft_STRFTIME(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_TIMESTAMP);
    a[1] = fe_settle(t, a[1], HD_STRING);
    if (!is_time(a[0]->type) || a[1]->type.kind != HD_STRING)
        return fe_mismatch(t, x, "a date or timestamp and a format", 2, a);
    HD_TRY(check_format(t, x, a[1], FE_CONSTANT_FORMAT, FE_STRFTIME_LETTERS));
    a[0] = fe_cast_to(t, a[0], HD_TIMESTAMP);
    *out = fe_make2(t, x, FE_STRFTIME, hd_type_of(HD_STRING), a[0], a[1]);
    return 0;
}

int ft_STRPTIME(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_STRING);
    a[1] = fe_settle(t, a[1], HD_STRING);
    if (a[0]->type.kind != HD_STRING || a[1]->type.kind != HD_STRING)
        return fe_mismatch(t, x, "a string and a format", 2, a);
    HD_TRY(check_format(t, x, a[1], FE_CONSTANT_READING, FE_STRPTIME_LETTERS));
    *out = fe_make2(t, x, FE_STRPTIME, hd_type_of(HD_TIMESTAMP), a[0], a[1]);
    return 0;
}
