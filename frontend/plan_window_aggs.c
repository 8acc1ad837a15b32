/* Aggregates over frames of the operator window: what is said with running values where a difference of two tells it, and
 * with folds of the frame's rows where none does. */
#include <inttypes.h>

#include "frontend/plan_window.h"

enum { SURE_DIGITS = 28 }; /* of which sums of 2^31 values fit 128 bits */

static int count_pieces(struct fw_reading *x, const struct fw_frame *f, struct fe_expr *arg, const char **out)
{
    if (arg && arg->nullable)
        return fw_pieces_sum(x, f, FE_AGG_SUM, fw_add_value(x, FE_AGG_COUNT, arg), out);
    *out = fw_pieces_size(x, f);
    return 0;
}

/* count, sum or avg. */
static int aggregate_pieces(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, struct fe_expr *arg,
                            struct hd_type type, const char **out)
{
    char text[HD_TEXT_MAX];
    const char *n, *sum;
    HD_TRY(count_pieces(x, f, arg, &n));
    *out = n;
    if (fn == FE_AGG_COUNT)
        return 0;
    HD_TRY(fw_pieces_sum(x, f, FE_AGG_SUM, fw_add_value(x, FE_AGG_SUM, fe_expr_cast(x->r->arena, arg, type)), &sum));
    *out = hd_asprintf(x->r->arena, "case when %s > 0 then cast(%s as %s)%s%s end", n, sum, hd_type_text(type, text),
                       fn == FE_AGG_AVG ? " / " : "", fn == FE_AGG_AVG ? n : "");
    return 0;
}

static const char *counted(struct fw_reading *x, const struct fw_frame *f, struct fe_expr *arg)
{
    if (!arg || !arg->nullable)
        return fw_frame_size(x, f);
    const char *n = fw_difference(x, f, fw_add_value(x, FE_AGG_COUNT, arg), "0");
    n = f->start.open ? hd_asprintf(x->r->arena, "coalesce(%s, 0)", n) : n;
    const char *cond = fw_has_rows(x, f);
    return cond ? hd_asprintf(x->r->arena, "case when %s then %s else 0 end", cond, n) : n;
}

static const char *summed(struct fw_reading *x, const struct fw_frame *f, struct fe_expr *arg, struct hd_type type)
{
    char text[HD_TEXT_MAX];
    if (!f->start.open && hd_type_is_float(type))
        return fw_framed(x, f, FE_AGG_SUM, fe_expr_cast(x->r->arena, arg, hd_type_of(HD_FLOAT64)));
    struct fe_expr *term = fe_expr_cast(x->r->arena, arg, type);
    const char *sum = fw_difference(x, f, fw_add_value(x, FE_AGG_SUM, term), "0");
    if (!f->start.open)
        sum = hd_asprintf(x->r->arena, "case when %s > 0 then cast(%s as %s) end", counted(x, f, arg), sum,
                          hd_type_text(type, text));
    return fw_where_rows(x, f, sum);
}

int fw_count(struct fw_reading *x, const struct fw_frame *f, struct fe_expr *arg, const char **out)
{
    if (f->without)
        return aggregate_pieces(x, f, FE_AGG_COUNT, arg, hd_type_of(HD_INT64), out);
    *out = counted(x, f, arg);
    return 0;
}

static struct fe_expr *one(struct hd_arena *a, const struct fe_expr *cond)
{
    struct fe_expr *e = HD_NEW(a, struct fe_expr);
    *e = (struct fe_expr){.op = FE_LIT, .type = hd_type_of(HD_INT64), .path = cond->path};
    e->value = (struct fe_value){.type = e->type, .i = 1};
    return e;
}

struct fe_expr *fw_where(struct hd_arena *a, struct fe_expr *cond, struct fe_expr *value)
{
    struct fe_expr *e = HD_NEW(a, struct fe_expr), *args[2] = {cond, value ? value : one(a, cond)};
    *e = (struct fe_expr){.op = FE_CASE, .type = args[1]->type, .nullable = true, .nargs = 2, .path = args[1]->path};
    e->args = hd_dup(a, args, sizeof args);
    return e;
}

static struct fe_expr *inverse(struct hd_arena *a, enum fe_op op, struct fe_expr *of)
{
    struct fe_expr *e = HD_NEW(a, struct fe_expr);
    *e = (struct fe_expr){.op = op, .type = of->type, .nullable = of->nullable, .nargs = 1, .path = of->path};
    e->args = hd_dup(a, &of, sizeof of);
    return e;
}

/* count_if, bool_and, bool_or: by how many rows have the condition, or its opposite. */
static int of_conditions(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, struct fe_expr *cond,
                         const char **out)
{
    struct hd_arena *a = x->r->arena;
    const char *some, *all;
    HD_TRY(fw_count(x, f, fw_where(a, fn == FE_AGG_BOOL_AND ? inverse(a, FE_NOT, cond) : cond, NULL), &some));
    *out = some;
    if (fn == FE_AGG_COUNT_IF)
        return 0;
    HD_TRY(fw_count(x, f, cond, &all));
    *out = hd_asprintf(a, "case when %s > 0 then %s %s 0 end", all, some, fn == FE_AGG_BOOL_AND ? "=" : ">");
    return 0;
}

static const char *extreme(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, struct fe_expr *arg)
{
    struct fe_window_at last = fw_last_row(f);
    bool single = arg->type.kind == HD_FLOAT32; /* float64 runs, and holds them all */
    struct fe_expr *wide = single ? fe_expr_cast(x->r->arena, arg, hd_type_of(HD_FLOAT64)) : arg;
    enum fe_agg_fn least = fn == FE_AGG_MIN ? FE_AGG_MIN : FE_AGG_MAX;
    const char *out = NULL;
    if (f->without || !f->start.open || hd_type_is_text(arg->type))
        out = fw_framed(x, f, least, wide);
    else
        out = fw_where_rows(x, f, fw_value_at(x, fw_add_value(x, least, wide), &last, 0, true));
    return single ? hd_asprintf(x->r->arena, "cast(%s as float32)", out) : out;
}

/* sum or avg of floats over a frame that leaves rows out. */
static int real_pieces(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, struct fe_expr *arg,
                       const char **out)
{
    const char *n;
    *out = fw_framed(x, f, FE_AGG_SUM, fe_expr_cast(x->r->arena, arg, hd_type_of(HD_FLOAT64)));
    if (fn == FE_AGG_SUM)
        return 0;
    HD_TRY(count_pieces(x, f, arg, &n));
    *out = hd_asprintf(x->r->arena, "case when %s > 0 then %s / cast(%s as float64) end", n, *out, n);
    return 0;
}

/* Bits that an odd number of values have up to the frame's end, but not before its start. */
static int odd_bits(struct fw_reading *x, const struct fw_frame *f, struct fe_expr *arg, const char **out)
{
    struct hd_arena *a = x->r->arena;
    struct fe_window_at last = fw_last_row(f);
    int value = fw_add_value(x, FE_AGG_BIT_XOR, arg);
    const char *n, *bits;
    if (f->without) {
        HD_TRY(count_pieces(x, f, arg, &n));
        HD_TRY(fw_pieces_sum(x, f, FE_AGG_BIT_XOR, value, &bits));
        *out = hd_asprintf(a, "case when %s > 0 then %s end", n, bits);
        return 0;
    }
    const char *to = fw_value_at(x, value, &last, 0, true);
    if (f->start.open) {
        *out = fw_where_rows(x, f, to);
        return 0;
    }
    const char *from = fw_value_at(x, value, &f->start.at, -1, true);
    *out = fw_where_rows(x, f,
                         hd_asprintf(a, "case when %s > 0 then xor(coalesce(%s, 0), coalesce(%s, 0)) end",
                                     counted(x, f, arg), to, from));
    return 0;
}

/* bit_and is bit_or of what the values lack, and what that lacks. */
static int of_bits(struct fw_reading *x, const struct fe_json *v, enum fe_agg_fn fn, const struct fw_frame *f,
                   struct fe_expr *arg, const char **out)
{
    struct hd_arena *a = x->r->arena;
    char found[HD_TEXT_MAX];
    struct fe_window_at last = fw_last_row(f);
    if (!hd_type_is_int(arg->type))
        return fe_json_fail(v, "%s expects an integer, found %s", fe_agg_name(fn), hd_type_text(arg->type, found));
    arg = fe_expr_cast(a, arg, hd_type_of(HD_INT64));
    if (fn == FE_AGG_BIT_XOR)
        return odd_bits(x, f, arg, out);
    if (fn == FE_AGG_BIT_AND)
        arg = inverse(a, FE_BIT_NOT, arg);
    if (f->start.open && !f->without)
        *out = fw_where_rows(x, f, fw_value_at(x, fw_add_value(x, FE_AGG_BIT_OR, arg), &last, 0, true));
    else
        *out = fw_framed(x, f, FE_AGG_BIT_OR, arg);
    if (fn == FE_AGG_BIT_AND)
        *out = hd_asprintf(a, "(~%s)", *out);
    return 0;
}

/* sum or avg of values that facts alone may keep in 128 bits: the planner takes differences that are as wide as needed. */
static int of_many_digits(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, struct fe_expr *arg,
                          const char **out)
{
    struct fe_expr *term = fe_expr_cast(x->r->arena, arg, hd_decimal(HD_DEC_MAX, arg->type.scale));
    const char *n;
    HD_TRY(fw_count(x, f, arg, &n));
    HD_TRY(fw_added_up(x, f, fn, term, n, out));
    *out = hd_asprintf(x->r->arena, "case when %s > 0 then %s end", n, *out);
    return 0;
}

enum { PARTS = 3 };

static int sum_of_part(struct fw_reading *x, const struct fw_frame *f, enum fe_op part, struct fe_expr *arg,
                       const char **out)
{
    struct fe_expr *e = inverse(x->r->arena, part, arg);
    e->type = hd_type_of(HD_INT64);
    if (f->without)
        return aggregate_pieces(x, f, FE_AGG_SUM, e, fe_sum_type(e->type), out);
    *out = summed(x, f, e, fe_sum_type(e->type));
    return 0;
}

/* Sums of n intervals' parts become averages, as planner/rewrite_intervals.c has it. Sums of months and days are int64. A
 * quotient of decimals is rounded to six digits before it is to none: what it is beside the sum tells whether it is one too
 * far from zero. */
static void carry_down(struct hd_arena *a, const char *parts[PARTS], const char *n)
{
    static const int64_t below[PARTS - 1] = {30, INT64_C(86400000000)};
    for (int i = 0; i < PARTS - 1; i++) {
        const char *whole = hd_asprintf(a, "cast(%s as int64)", parts[i]);
        const char *rest = hd_asprintf(a, "cast(%s %% %s as decimal(38,0))", whole, n);
        parts[i] = hd_asprintf(a, "%s / %s", whole, n);
        parts[i + 1] = hd_asprintf(a, "(%s + %s * %" PRId64 ")", parts[i + 1], rest, below[i]);
    }
    const char *sum = parts[PARTS - 1], *mean = hd_asprintf(a, "cast(%s / %s as int64)", sum, n);
    const char *rest = hd_asprintf(a, "(%s - cast(%s as decimal(38,0)) * %s) * 2", sum, mean, n);
    parts[PARTS - 1] =
        hd_asprintf(a, "%s + case when %s > 0 and %s < -%s then -1 when %s < 0 and %s > %s then 1 else 0 end", mean,
                    sum, rest, n, sum, rest, n);
}

/* sum or avg of intervals: of their parts. */
static int of_intervals(struct fw_reading *x, enum fe_agg_fn fn, const struct fw_frame *f, struct fe_expr *arg,
                        const char **out)
{
    static const enum fe_op of[PARTS] = {FE_INTERVAL_MONTHS, FE_INTERVAL_DAYS, FE_INTERVAL_MICROS};
    struct hd_arena *a = x->r->arena;
    const char *parts[PARTS], *n;
    for (int i = 0; i < PARTS; i++) {
        HD_TRY(sum_of_part(x, f, of[i], arg, &parts[i]));
        parts[i] = hd_asprintf(a, "(%s)", parts[i]);
    }
    HD_TRY(fw_count(x, f, arg, &n));
    if (fn == FE_AGG_AVG)
        carry_down(a, parts, hd_asprintf(a, "(%s)", n));
    *out = hd_asprintf(
        a, "case when %s > 0 then make_interval(cast(%s as int64), cast(%s as int64), cast(%s as int64)) end", n,
        parts[0], parts[1], parts[2]);
    return 0;
}

/* sum, avg, min or max. */
static int of_numbers(struct fw_reading *x, const struct fe_json *v, enum fe_agg_fn fn, const struct fw_frame *f,
                      struct fe_expr *arg, const char **out)
{
    struct hd_arena *a = x->r->arena;
    char found[HD_TEXT_MAX];
    bool sums = fn == FE_AGG_SUM || fn == FE_AGG_AVG;
    if (sums && arg->type.kind == HD_INTERVAL)
        return of_intervals(x, fn, f, arg, out);
    if (sums && !hd_type_is_num(arg->type))
        return fe_json_fail(v, "%s expects a number, found %s", fe_agg_name(fn), hd_type_text(arg->type, found));
    if (!sums && arg->type.kind == HD_BOOL)
        return fe_json_fail(v, "%s expects any type but bool", fe_agg_name(fn));
    if (!sums) {
        *out = extreme(x, f, fn, arg);
        return 0;
    }
    bool real = hd_type_is_float(arg->type);
    if (f->without && real)
        return real_pieces(x, f, fn, arg, out);
    if (!real && arg->type.kind == HD_DECIMAL && arg->type.precision > SURE_DIGITS)
        return of_many_digits(x, f, fn, arg, out);
    struct hd_type whole =
        real ? hd_type_of(HD_FLOAT64) : hd_decimal(HD_DEC_MAX, arg->type.kind == HD_DECIMAL ? arg->type.scale : 0);
    if (f->without)
        return aggregate_pieces(x, f, fn, arg, fn == FE_AGG_SUM ? fe_sum_type(arg->type) : whole, out);
    if (fn == FE_AGG_SUM) {
        *out = summed(x, f, arg, fe_sum_type(arg->type));
        return 0;
    }
    const char *n = counted(x, f, arg), *sum = summed(x, f, arg, whole);
    *out = hd_asprintf(
        a, real ? "case when %s > 0 then %s / cast(%s as float64) end" : "case when %s > 0 then %s / %s end", n, sum,
        n);
    return 0;
}

int fw_real_mean(struct fw_reading *x, const struct fw_frame *f, struct fe_expr *arg, const char *n, const char **out)
{
    struct fe_expr *real = fe_expr_cast(x->r->arena, arg, hd_type_of(HD_FLOAT64));
    *out = f->without ? fw_framed(x, f, FE_AGG_SUM, real) : summed(x, f, real, real->type);
    *out = hd_asprintf(x->r->arena, "case when %s > 0 then (%s) / cast(%s as float64) end", n, *out, n);
    return 0;
}

/* arg_min and arg_max: the value of the row that finishing finds. -0 is in front of 0 in the order of values. */
static int of_row(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, struct fe_expr *arg,
                  struct fe_expr *by, const char **out)
{
    struct hd_type t = hd_decimal(HD_DEC_MAX, 0);
    struct fe_expr *order = arg;
    if (hd_type_is_float(arg->type)) {
        order = inverse(x->r->arena, FE_ORDINAL, arg);
        order->type = t;
    }
    const char *at = fw_framed_of(x, f, fn, by, order);
    return fw_value_of(x, fw_add_value(x, FE_AGG_ANY, arg), at, out);
}

int fw_aggregate(struct fw_reading *x, const struct fe_json *v, enum fe_agg_fn fn, const struct fw_frame *f,
                 struct fe_expr *arg, struct fe_expr *by, const char **out)
{
    if (fn == FE_AGG_COUNT)
        return fw_count(x, f, arg, out);
    if (fn == FE_AGG_ARG_MIN || fn == FE_AGG_ARG_MAX)
        return of_row(x, f, fn, arg, by, out);
    if (fe_agg_is_moment(fn))
        return fw_moment(x, v, fn, f, arg, by, out);
    if (fn == FE_AGG_COUNT_IF || fn == FE_AGG_BOOL_AND || fn == FE_AGG_BOOL_OR)
        return of_conditions(x, f, fn, arg, out);
    if (fn == FE_AGG_BIT_AND || fn == FE_AGG_BIT_OR || fn == FE_AGG_BIT_XOR)
        return of_bits(x, v, fn, f, arg, out);
    return of_numbers(x, v, fn, f, arg, out);
}
