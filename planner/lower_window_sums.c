/* Sums of frames by differences of running sums. Where 128 bits may not be enough for these, each is two, of the values'
 * high and low words, neither of which can wrap; so a frame raises if and only if its own exact sum leaves the type. */
#include "planner/agg.h"
#include "planner/lower_expr.h"
#include "planner/lower_value.h"
#include "planner/lower_window_in.h"
#include "planner/typed.h"

/* The largest or the smallest of some numbers, I64. */
static int end_of(struct window_lowering *l, const struct fe_window_at at[2], enum fe_op choice, int than, int *out)
{
    struct ctx *c = l->c;
    *out = than;
    for (int k = 0; k < 2; k++) {
        int n;
        if (k && fe_window_same_at(&at[0], &at[1]))
            break;
        HD_TRY(lw_number(l, &at[k], &n));
        n = lw_op2(c, FE_ADD, RT_I64, lw_as_int64(l, n, 0).expr, pb_const_int(c, RT_I64, lw_added(l, &at[k])));
        *out = lw_choose(c, RT_I64, lw_op2(c, choice, RT_BOOL, n, *out), n, *out);
    }
    return 0;
}

/* What running field f is in the row with that number, I64; 0 where there is none. */
static int running_at(struct window_lowering *l, int f, int number_, enum rt_phys ph, int *out)
{
    struct ctx *c = l->c;
    int none = pb_const_int(c, RT_I64, 0), begin = lw_as_int64(l, lw_border(l, BEGIN), 0).expr;
    int row = lw_op2(c, FE_SUB, RT_I64, lw_op2(c, FE_ADD, RT_I64, begin, number_), pb_const_int(c, RT_I64, 1));
    struct pl_val v = {.phys = RT_I64, .type = hd_type_of(HD_INT64), .range = {true, -1, (hd_i128)l->rows}};
    v.expr = lw_choose(c, RT_I64, lw_op2(c, FE_GT, RT_BOOL, number_, none), row, pb_const_int(c, RT_I64, -1));
    HD_TRY(lx_as_phys(c, &v, RT_I32));
    HD_TRY(h_value(c, l->p, h_field(c, l->state, f, h_row(c, pb_let(c, l->p, "row", v), NULL, l->state, true)), &v));
    int args[2] = {v.expr, pb_const_int(c, ph, 0)};
    *out = pb_op(c, FE_COALESCE, ph, false, 2, args);
    return 0;
}

/* Of running field f over the spans. */
static int added_up(struct window_lowering *l, const struct fe_window_value *w, int f, int *out)
{
    struct ctx *c = l->c;
    enum rt_phys ph = c->states.v[l->state].fields[f].phys;
    int none = pb_const_int(c, RT_I64, 0), first, last, to, from;
    int rows = lw_op2(c, FE_SUB, RT_I64, lw_as_int64(l, lw_border(l, END), 0).expr,
                      lw_as_int64(l, lw_border(l, BEGIN), 0).expr);
    *out = -1;
    for (int i = 0; i < w->nspans; i++) {
        const struct fe_window_span *s = &w->span[i];
        HD_TRY(end_of(l, s->first, FE_GT, pb_const_int(c, RT_I64, 1), &first));
        HD_TRY(end_of(l, s->last, FE_LT, rows, &last));
        int some = lw_op2(c, FE_LE, RT_BOOL, first, last);
        HD_TRY(running_at(l, f, lw_choose(c, RT_I64, some, last, none), ph, &to));
        first = lw_op2(c, FE_SUB, RT_I64, first, pb_const_int(c, RT_I64, 1));
        if (s->first[0].base != FE_WINDOW_ZERO || s->first[1].base != FE_WINDOW_ZERO) {
            HD_TRY(running_at(l, f, lw_choose(c, RT_I64, some, first, none), ph, &from));
            to = lw_op2(c, FE_SUB, ph, to, from);
        }
        *out = *out < 0 ? to : lw_op2(c, FE_ADD, ph, *out, to);
    }
    return 0;
}

static struct handle *part(struct window_lowering *l, enum rt_phys ph, struct hd_type t, int expr, struct pl_range r)
{
    return h_phys(l->c, (struct pl_val){.phys = ph, .type = t, .expr = expr, .range = r});
}

/* How many values the frame has; 1 where it has none, of which nobody asks for the mean. */
static int count_of(struct window_lowering *l, int number, struct handle **out)
{
    struct pl_val v;
    HD_TRY(lx_expr(l->c, l->p, l->cols, l->w->numbers[number], &v));
    lx_realise(l->c, &v);
    HD_TRY(lx_as_phys(l->c, &v, RT_I64));
    int one = pb_const_int(l->c, RT_I64, 1);
    int some = lw_choose(l->c, RT_I64, lw_op2(l->c, FE_GT, RT_BOOL, v.expr, one), v.expr, one);
    *out = part(l, RT_I64, hd_type_of(HD_INT64), some, (struct pl_range){true, 1, (hd_i128)HD_MAX(l->rows, 1)});
    return 0;
}

/* The sum, whose high words `high` are NULL where it has none, or the mean of so many values as number `count` says. */
static int whole(struct window_lowering *l, const struct fe_window_value *w, struct handle *low, struct handle *high,
                 int count, struct handle **out)
{
    struct ctx *c = l->c;
    const struct hd_type wide = hd_decimal(HD_DEC_MAX, 0), of = w->arg->type;
    const char *path = w->arg->path;
    bool mean = w->fn == FE_AGG_AVG, fits = !high && !leaves_type(&low->val, of);
    struct handle **env = HD_NEWN(c->a, struct handle *, 3);
    if (fits && !mean) {
        *out = low;
        return 0;
    }
    env[0] = low;
    env[1] = high;
    struct fe_expr *args[3] = {!high ? agg_const(c, wide, 0, path) : lx_col(c, 1, env[1], path),
                               lx_col(c, 0, env[0], path), agg_const(c, hd_type_of(HD_INT64), 1, path)};
    if (mean) {
        HD_TRY(count_of(l, count, &env[2]));
        args[2] = lx_col(c, 2, env[2], path);
    }
    struct hd_type t = mean ? hd_decimal(HD_DEC_MAX, HD_MAX(6, of.scale)) : of;
    struct fe_expr *e = pl_expr_node(c->a, fits ? FE_DIV : FE_OF_PARTS, t, low->nullable, path, 2, args[1], args[2]);
    if (!fits) {
        e->args = hd_dup(c->a, args, sizeof args);
        e->nargs = 3;
    }
    *out = h_expr(c, e, env);
    return 0;
}

int lw_difference(struct window_lowering *l, const struct fe_window_value *w, struct handle **out)
{
    int sum = w->of[0], low, upper;
    struct handle *high = NULL;
    enum rt_phys phys = l->c->states.v[l->state].fields[l->value[sum]].phys;
    HD_TRY(added_up(l, w, l->value[sum], &low));
    if (l->high[sum] >= 0) {
        HD_TRY(added_up(l, w, l->high[sum], &upper));
        high = part(l, RT_I128, w->arg->type, upper, (struct pl_range){0});
    }
    return whole(l, w, part(l, phys, w->arg->type, low, l->range[sum]), high, w->of[1], out);
}

static struct handle *own(struct window_lowering *l, int field, struct pl_range range, struct hd_type t)
{
    struct handle *h = h_field(l->c, l->state, field, l->row);
    h->type = h->val.type = t;
    h->val.range = range;
    return h;
}

int lw_distinct_sum(struct window_lowering *l, int i, struct handle **out)
{
    const struct fe_window_value *w = &l->w->values[i];
    struct handle *low = own(l, l->value[i], l->range[i], w->arg->type), *high = NULL;
    if (l->high[i] >= 0)
        high = own(l, l->high[i], (struct pl_range){0}, w->arg->type);
    return whole(l, w, low, high, w->count, out);
}
