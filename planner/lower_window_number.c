/* Numbers of rows that a window's state keeps, as expressions of the pipeline that reads it. */
#include "planner/lower_expr.h"
#include "planner/lower_value.h"
#include "planner/lower_window_in.h"

int lw_op2(struct ctx *c, enum fe_op op, enum rt_phys ph, int a, int b)
{
    int args[2] = {a, b};
    return pb_op(c, op, ph, false, 2, args);
}

int lw_border(struct window_lowering *l, enum border b)
{
    struct pl_val v;
    if (l->slot[b] < 0) {
        HD_TRY(h_value(l->c, l->p, h_field(l->c, l->state, l->border[b], l->row), &v));
        l->slot[b] = pb_let(l->c, l->p, "border", v);
    }
    return pb_slot_expr(l->c, l->p, l->slot[b]);
}

static int found(struct window_lowering *l, int search)
{
    struct pl_val v;
    if (l->found_slot[search] < 0) {
        HD_TRY(h_value(l->c, l->p, h_field(l->c, l->state, l->found[search], l->row), &v));
        l->found_slot[search] = pb_let(l->c, l->p, "found", v);
    }
    return pb_slot_expr(l->c, l->p, l->found_slot[search]);
}

/* What is to be added to a number: the first row that a search has found is counted from 0. */
int64_t lw_added(const struct window_lowering *l, const struct fe_window_at *w)
{
    return fe_window_by(w) + (w->base == FE_WINDOW_FOUND && !l->w->searches[w->of].behind);
}

/* A number of the partition, I32. */
int lw_number(struct window_lowering *l, const struct fe_window_at *w, int *out)
{
    struct ctx *c = l->c;
    int at = -1, one = pb_const_int(c, RT_I32, 1);
    switch (w->base) {
    case FE_WINDOW_ZERO: *out = pb_const_int(c, RT_I32, 0); return 0;
    case FE_WINDOW_ROW: at = pb_slot_expr(c, l->p, l->p->source_slot); break;
    case FE_WINDOW_PEER_BEGIN: at = lw_border(l, PEER_BEGIN); break;
    case FE_WINDOW_PEER_END: *out = lw_op2(c, FE_SUB, RT_I32, lw_border(l, PEER_END), lw_border(l, BEGIN)); return 0;
    case FE_WINDOW_COMPUTED:
    case FE_WINDOW_SHARE:
    case FE_WINDOW_FITS: HD_BUG("no number of a row");
    case FE_WINDOW_FOUND: *out = lw_op2(c, FE_SUB, RT_I32, found(l, w->of), lw_border(l, BEGIN)); return 0;
    case FE_WINDOW_ROWS: *out = lw_op2(c, FE_SUB, RT_I32, lw_border(l, END), lw_border(l, BEGIN)); return 0;
    case FE_WINDOW_DENSE: {
        struct handle *first = h_row(c, l->slot[BEGIN], NULL, l->state, false);
        struct pl_val before;
        HD_TRY(h_value(c, l->p, h_field(c, l->state, l->border[PEERS], first), &before));
        *out = lw_op2(c, FE_ADD, RT_I32, lw_op2(c, FE_SUB, RT_I32, lw_border(l, PEERS), before.expr), one);
        return 0;
    }
    }
    *out = lw_op2(c, FE_ADD, RT_I32, lw_op2(c, FE_SUB, RT_I32, at, lw_border(l, BEGIN)), one);
    return 0;
}

struct pl_val lw_as_int64(struct window_lowering *l, int number, int64_t lo)
{
    struct pl_val v = {.phys = RT_I32, .type = hd_type_of(HD_INT64), .expr = number};
    v.range = (struct pl_range){true, lo, (hd_i128)l->rows};
    lx_as_phys(l->c, &v, RT_I64);
    return v;
}

int lw_choose(struct ctx *c, enum rt_phys ph, int cond, int yes, int no)
{
    int args[3] = {cond, yes, no};
    return pb_op(c, FE_CASE, ph, false, 3, args);
}
