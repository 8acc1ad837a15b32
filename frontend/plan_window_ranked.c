/* Aggregates over frames by ranks of values: distinct ones, and quantiles. A window below the operator's numbers the values
 * of the argument in each partition, from 1, equal ones alike; finishing looks at these numbers, whatever the type. */
#include <inttypes.h>
#include <string.h>

#include "frontend/plan_window.h"

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

/* Windows below x->n, each with its input's columns and a rank. */
static struct fe_node *rank_below(struct fe_node *n, int column)
{
    struct fe_node *below = n->inputs[0];
    while (below->ncols > column + 1)
        below = below->inputs[0];
    return below;
}

/* What numbers tell apart, and are in the order of: equal intervals that look different only where a value is looked for
 * by its place. */
static struct fe_expr *ranked_by(struct fw_reading *x, struct fe_expr *arg, bool place)
{
    return place ? arg : fe_expr_key(x->r->arena, arg);
}

static int find_rank(struct fw_reading *x, struct fe_expr *by)
{
    for (int i = x->nkept; i < x->scope.ncols; i++) {
        const struct fe_node *below = rank_below(x->n, i);
        if (fe_expr_eq(below->u.sort.keys[below->u.sort.ngroup].expr, by))
            return i;
    }
    return -1;
}

static struct fe_node *dense_rank(struct fw_reading *x, struct fe_expr *by)
{
    struct hd_arena *a = x->r->arena;
    struct fe_node *n = HD_NEW(a, struct fe_node), *in = x->n->inputs[0];
    int ngroup = x->n->u.sort.ngroup;
    *n = (struct fe_node){.op = FE_WINDOW_OP, .path = x->n->path, .ninputs = 1};
    n->inputs = hd_dup(a, &in, sizeof in);
    n->u.sort.keys = HD_NEWN(a, struct fe_sort_key, ngroup + 1);
    for (int i = 0; i < ngroup; i++)
        n->u.sort.keys[i] = x->n->u.sort.keys[i];
    n->u.sort.keys[ngroup] = (struct fe_sort_key){.expr = by};
    n->u.sort.ngroup = ngroup;
    n->u.sort.nkeys = n->u.sort.nstated = ngroup + 1;
    struct fe_window *w = n->u.sort.window = HD_NEW(a, struct fe_window);
    w->codes = true;
    w->columns = HD_NEW(a, struct fe_window_column);
    w->columns[w->ncolumns++] = (struct fe_window_column){.at.base = FE_WINDOW_DENSE, .value = -1};
    n->ncols = in->ncols + 1;
    n->cols = HD_NEWN(a, struct fe_column, n->ncols + 1);
    for (int i = 0; i < in->ncols; i++)
        n->cols[i] = in->cols[i];
    n->cols[in->ncols] = (struct fe_column){"#rank", hd_type_of(HD_INT64), false};
    return n;
}

void fw_add_rank(struct fw_reading *x, struct fe_expr *arg, bool place)
{
    struct fe_expr *by = ranked_by(x, arg, place);
    if (find_rank(x, by) >= 0)
        return;
    struct fe_node *n = dense_rank(x, by);
    struct fe_column *cols = HD_NEWN(x->r->arena, struct fe_column, n->ncols);
    for (int i = 0; i < x->scope.ncols; i++)
        cols[i] = x->scope.cols[i];
    cols[n->ncols - 1] = (struct fe_column){"", hd_type_of(HD_INT64), false}; /* nobody may name it */
    x->scope.cols = cols;
    x->scope.ncols = n->ncols;
    x->n->inputs[0] = n;
}

static struct fe_expr *is_there(struct hd_arena *a, struct fe_expr *arg)
{
    struct fe_expr *null = HD_NEW(a, struct fe_expr), *e = HD_NEW(a, struct fe_expr);
    *null = (struct fe_expr){.op = FE_IS_NULL, .type = hd_type_of(HD_BOOL), .nargs = 1, .path = arg->path};
    null->args = hd_dup(a, &arg, sizeof arg);
    *e = (struct fe_expr){.op = FE_NOT, .type = null->type, .nargs = 1, .path = arg->path};
    e->args = hd_dup(a, &null, sizeof null);
    return e;
}

struct fe_expr *fw_rank_of(struct fw_reading *x, struct fe_expr *arg, bool place)
{
    struct hd_arena *a = x->r->arena;
    int i = find_rank(x, ranked_by(x, arg, place));
    struct fe_expr *rank = fe_expr_column(a, i, &x->scope.cols[i], arg->path);
    return arg->nullable ? fw_where(a, is_there(a, arg), rank) : rank;
}

/* ---- distinct ---------------------------------------------------------------------------------------------------- */

static int distinct_of(struct fw_reading *x, const struct fw_frame *f, const struct fw_ranked *a, enum fe_agg_fn fn,
                       enum fe_window_kept kept, struct fe_expr *value, const char *n, const char **out)
{
    struct fe_window_value v = {.fn = fn, .distinct = true, .arg = value};
    v.of[0] = v.of[1] = fw_add_kept(x, FE_KEPT_RANK, a->rank);
    if (fn != FE_AGG_COUNT)
        v.of[1] = fw_add_kept(x, kept, value);
    if (fn == FE_AGG_AVG)
        HD_TRY(fw_add_number(x, n, &v.count));
    *out = fw_framed_value(x, f, v);
    return 0;
}

/* Sums of an exact type are as wide as the planner finds that they must be. */
static int distinct_sum(struct fw_reading *x, const struct fw_frame *f, const struct fw_ranked *a, const char **out)
{
    struct hd_arena *arena = x->r->arena;
    char text[HD_TEXT_MAX];
    struct hd_type t = a->arg->type;
    bool real = hd_type_is_float(t), mean = a->fn == FE_AGG_AVG;
    const char *n = NULL;
    struct hd_type term = real ? hd_type_of(HD_FLOAT64) : hd_decimal(HD_DEC_MAX, t.kind == HD_DECIMAL ? t.scale : 0);
    struct fe_expr *value = fe_expr_cast(arena, a->arg, term);
    if (mean) {
        HD_TRY(distinct_of(x, f, a, FE_AGG_COUNT, FE_KEPT_AS_IS, a->rank, NULL, &n));
        n = hd_asprintf(arena, "coalesce(%s, 0)", n);
    }
    HD_TRY(distinct_of(x, f, a, mean && !real ? FE_AGG_AVG : FE_AGG_SUM, FE_KEPT_FOR_SUMS, value, n, out));
    if (mean && real)
        *out = hd_asprintf(arena, "case when %s > 0 then %s / cast(%s as float64) end", n, *out, n);
    else if (!mean && t.kind == HD_INT32)
        *out = hd_asprintf(arena, "cast(%s as %s)", *out, hd_type_text(fe_sum_type(t), text));
    return 0;
}

static int distinct(struct fw_reading *x, const struct fw_frame *f, const struct fw_ranked *a, const char **out)
{
    if (a->fn == FE_AGG_SUM || a->fn == FE_AGG_AVG)
        return distinct_sum(x, f, a, out);
    bool bits = a->fn == FE_AGG_BIT_XOR;
    struct fe_expr *value = bits ? fe_expr_cast(x->r->arena, a->arg, hd_type_of(HD_INT64)) : a->rank;
    HD_TRY(distinct_of(x, f, a, a->fn, FE_KEPT_FOR_BITS, value, NULL, out));
    if (!bits)
        *out = hd_asprintf(x->r->arena, "coalesce(%s, 0)", *out);
    return 0;
}

/* ---- quantiles --------------------------------------------------------------------------------------------------- */

/* The value in a place of the frame's values. */
static int value_in_place(struct fw_reading *x, const struct fw_frame *f, const struct fw_ranked *a, bool next,
                          const char **out)
{
    bool disc = fe_quantile_is_discrete(a->fn, a->arg->type);
    struct fe_window_value v = {.fn = disc ? FE_AGG_QUANTILE_DISC : FE_AGG_QUANTILE_CONT, .q = a->q, .next = next};
    v.arg = a->arg;
    v.of[0] = v.of[1] = fw_add_kept(x, FE_KEPT_RANK, a->rank);
    return fw_value_of(x, fw_add_value(x, FE_AGG_ANY, a->arg), fw_framed_value(x, f, v), out);
}

/* What row numbers are multiplied by, or divided by. */
static const char *share(struct fw_reading *x, const struct fe_expr *q, bool divisor)
{
    if (q && q->op == FE_PARAM)
        return fw_share(x, q, divisor);
    struct fe_fraction f = fe_fraction_of(q);
    return hd_asprintf(x->r->arena, "%" PRId64, divisor ? f.den : f.num);
}

/* lo + (hi - lo) * over / den, as planner/ordered_quantile.c has it. */
static const char *between(struct fw_reading *x, struct hd_type t, struct hd_type of, const char *lo, const char *hi,
                           const char *over, const char *den)
{
    struct hd_arena *a = x->r->arena;
    char sum[HD_TEXT_MAX], text[HD_TEXT_MAX];
    if (t.kind == HD_DECIMAL) {
        hd_type_text(hd_decimal(HD_DEC_MAX, of.scale), sum);
        return hd_asprintf(a,
                           "cast((cast(%s as %s) * cast(%s - %s as decimal(38,0)) + cast(%s as %s) * cast(%s as "
                           "decimal(38,0))) / %s as %s)",
                           lo, sum, den, over, hi, sum, over, den, hd_type_text(t, text));
    }
    return hd_asprintf(a,
                       "case when %s = %s then %s else %s * (1e0 - cast(%s as float64) / cast(%s as float64)) + "
                       "%s * (cast(%s as float64) / cast(%s as float64)) end",
                       lo, hi, lo, lo, over, den, hi, over, den);
}

static int interpolated(struct fw_reading *x, const struct fw_frame *f, const struct fw_ranked *a, struct hd_type t,
                        const char **out)
{
    struct hd_arena *arena = x->r->arena;
    char text[HD_TEXT_MAX];
    const char *num = share(x, a->q, false), *den = share(x, a->q, true), *n, *lo, *hi;
    bool real = t.kind != HD_DECIMAL;
    HD_TRY(value_in_place(x, f, a, false, &lo));
    lo = hd_asprintf(arena, "cast(%s as %s)%s", lo, hd_type_text(real ? t : a->arg->type, text), real ? " + 0e0" : "");
    lo = hd_asprintf(arena, "(%s)", lo);
    *out = hd_asprintf(arena, "cast(%s as %s)", lo, hd_type_text(t, text));
    if (strcmp(den, "1") == 0)
        return 0;
    HD_TRY(value_in_place(x, f, a, true, &hi));
    hi = hd_asprintf(arena, real ? "(cast(%s as float64) + 0e0)" : "%s", hi);
    HD_TRY(fw_count(x, f, a->arg, &n));
    const char *over = hd_asprintf(arena, "((%s - 1) * %s %% %s)", n, num, den);
    *out = hd_asprintf(arena, "case when %s = 0 then %s else %s end", over, *out,
                       between(x, t, a->arg->type, lo, hi, over, den));
    return 0;
}

/* -0 counts as 0. */
static int quantile(struct fw_reading *x, const struct fw_frame *f, const struct fw_ranked *a, const char **out)
{
    char text[HD_TEXT_MAX];
    struct hd_type t = a->arg->type;
    if (!fe_quantile_is_discrete(a->fn, t))
        return interpolated(x, f, a, t.kind == HD_DECIMAL ? fe_avg_type(t) : hd_type_of(HD_FLOAT64), out);
    HD_TRY(value_in_place(x, f, a, false, out));
    if (hd_type_is_float(t))
        *out = hd_asprintf(x->r->arena, "cast(cast(%s as float64) + 0e0 as %s)", *out, hd_type_text(t, text));
    return 0;
}

/* -0 counts as 0. Equal intervals may look different: the row is the first one of the frame. */
static int mode(struct fw_reading *x, const struct fw_frame *f, const struct fw_ranked *a, const char **out)
{
    char text[HD_TEXT_MAX];
    struct fe_window_value v = {.fn = FE_AGG_MODE, .arg = a->arg};
    v.of[0] = v.of[1] = fw_add_kept(x, FE_KEPT_RANK, a->rank);
    x->ties |= a->arg->type.kind == HD_INTERVAL;
    HD_TRY(fw_value_of(x, fw_add_value(x, FE_AGG_ANY, a->arg), fw_framed_value(x, f, v), out));
    if (hd_type_is_float(a->arg->type))
        *out =
            hd_asprintf(x->r->arena, "cast(cast(%s as float64) + 0e0 as %s)", *out, hd_type_text(a->arg->type, text));
    return 0;
}

int fw_ranked(struct fw_reading *x, const struct fw_frame *f, const struct fw_ranked *a, const char **out)
{
    x->ties |= f->without == FW_ROW || f->without == FW_TIES;
    if (a->fn == FE_AGG_MODE)
        return mode(x, f, a, out);
    return a->distinct ? distinct(x, f, a, out) : quantile(x, f, a, out);
}
