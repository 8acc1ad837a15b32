/* Variance and its kin over frames, in one of two ways, as those of groups are (planner/rewrite_moments.c).
 *
 * Exactly: differences of running sums of x, y, x * y, decimals without their point. With q = sum(x) / n rounded, r =
 * sum(x) - n q and s, t likewise of y, the sum of (x - q)(y - s) is sum(xy) - q sum(y) - s r, an integer, and r t / n less
 * is the sum about the means.
 *
 * By merging parts of the frame (templates/moment.cuh), of floats and of numbers too large for that; facts decide where
 * types do not. */
#include "frontend/plan_window.h"

enum { EXACT_DIGITS = 13 }; /* the square by 2^31 rows stays below 10^38 */

/* 0 is x (`by`, or all that there is), 1 is y. */
struct moments {
    struct fw_reading *x;
    const struct fw_frame *f;
    struct fe_expr *v[2]; /* NULL in rows that do not count */
    const char *n;
    bool sure, maybe; /* types, or facts, keep values so small that sums are exact */
};

/* ---- values ------------------------------------------------------------------------------------------------ */

static struct fe_expr *node(struct fw_reading *x, enum fe_op op, struct hd_type t, struct fe_expr *a, struct fe_expr *b)
{
    struct fe_expr *e = HD_NEW(x->r->arena, struct fe_expr), *args[2] = {a, b};
    bool nullable = op != FE_IS_NULL && (a->nullable || (b && b->nullable));
    *e = (struct fe_expr){.op = op, .type = t, .nullable = nullable, .nargs = b ? 2 : 1, .path = a->path};
    e->args = hd_dup(x->r->arena, args, sizeof args);
    return e;
}

/* a where b is there, too. */
static struct fe_expr *beside(struct fw_reading *x, struct fe_expr *a, struct fe_expr *b)
{
    struct hd_type truth = hd_type_of(HD_BOOL);
    if (!b->nullable)
        return a;
    return fw_where(x->r->arena, node(x, FE_NOT, truth, node(x, FE_IS_NULL, truth, b, NULL), NULL), a);
}

static struct fe_expr *integer(const struct moments *m, int k)
{
    return node(m->x, FE_ORDINAL, hd_decimal(HD_DEC_MAX, 0), m->v[k], NULL);
}

static int scale_of(const struct moments *m, int k)
{
    return m->v[k]->type.kind == HD_DECIMAL ? m->v[k]->type.scale : 0;
}

static bool is_small(struct hd_type t)
{
    return t.kind == HD_INT32 || (t.kind == HD_DECIMAL && t.precision <= EXACT_DIGITS);
}

/* ---- sums ----------------------------------------------------------------------------------------------------- */

static int summed(const struct moments *m, struct fe_expr *e, const char **out)
{
    int value = fw_add_value(m->x, FE_AGG_SUM, e);
    if (m->f->without)
        return fw_pieces_sum(m->x, m->f, FE_AGG_SUM, value, out);
    *out = fw_difference(m->x, m->f, value, "0");
    return 0;
}

static int exact_products(const struct moments *m, int i, int k, const char **out)
{
    struct hd_arena *a = m->x->r->arena;
    struct fe_expr *x = integer(m, i), *y = integer(m, k);
    const char *sx, *sy, *sxy;
    HD_TRY(summed(m, x, &sx));
    HD_TRY(summed(m, y, &sy));
    HD_TRY(summed(m, node(m->x, FE_MUL, x->type, x, y), &sxy));
    const char *q = hd_asprintf(a, "cast(%s / %s as decimal(38,0))", sx, m->n);
    const char *s = hd_asprintf(a, "cast(%s / %s as decimal(38,0))", sy, m->n);
    const char *r = hd_asprintf(a, "(%s - %s * %s)", sx, q, m->n), *t = hd_asprintf(a, "(%s - %s * %s)", sy, s, m->n);
    *out = hd_asprintf(a,
                       "((cast(%s - %s * %s - %s * %s as float64) - cast(%s as float64) * cast(%s as float64) / "
                       "cast(%s as float64)) / 1e%d)",
                       sxy, q, sy, s, r, r, t, m->n, scale_of(m, i) + scale_of(m, k));
    return 0;
}

static int products(const struct moments *m, int i, int k, const char **out)
{
    struct fw_reading *x = m->x;
    const struct hd_type real = hd_type_of(HD_FLOAT64);
    const char *exact;
    if (m->sure)
        return exact_products(m, i, k, out);
    *out = fw_framed_of(x, m->f, FE_AGG_REGR_SXY, fe_expr_cast(x->r->arena, m->v[i], real),
                        fe_expr_cast(x->r->arena, m->v[k], real));
    if (!m->maybe)
        return 0;
    HD_TRY(exact_products(m, i, k, &exact));
    *out = hd_asprintf(x->r->arena, "case when %s and %s then %s else %s end", fw_fits(x, m->v[0], EXACT_DIGITS),
                       fw_fits(x, m->v[1], EXACT_DIGITS), exact, *out);
    return 0;
}

static int mean(const struct moments *m, int k, const char **out)
{
    struct hd_arena *a = m->x->r->arena;
    if (!m->sure)
        return fw_real_mean(m->x, m->f, m->v[k], m->n, out);
    HD_TRY(summed(m, integer(m, k), out));
    *out = hd_asprintf(a, "case when %s > 0 then cast(%s as float64) / (cast(%s as float64) * 1e%d) end", m->n, *out,
                       m->n, scale_of(m, k));
    return 0;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* By n, or by n - 1 where there are two rows or more. */
static int per_row(const struct moments *m, int i, int k, bool sample, const char **out)
{
    HD_TRY(products(m, i, k, out));
    *out = hd_asprintf(m->x->r->arena, "case when %s > %d then (%s) / cast(%s - %d as float64) end", m->n, sample, *out,
                       m->n, sample);
    return 0;
}

static int root(const struct moments *m, int rc, const char **out)
{
    HD_TRY(rc);
    *out = hd_asprintf(m->x->r->arena, "sqrt(%s)", *out);
    return 0;
}

/* Of products, where there are rows. */
static int sum_about_means(const struct moments *m, int i, int k, const char **out)
{
    HD_TRY(products(m, i, k, out));
    *out = hd_asprintf(m->x->r->arena, "case when %s > 0 then %s end", m->n, *out);
    return 0;
}

static int slope(const struct moments *m, const char **out)
{
    const char *xx, *xy;
    HD_TRY(products(m, 0, 0, &xx));
    HD_TRY(products(m, 0, 1, &xy));
    *out = hd_asprintf(m->x->r->arena, "case when %s > 0 then case when (%s) > 0e0 then (%s) / (%s) end end", m->n, xx,
                       xy, xx);
    return 0;
}

static int intercept(const struct moments *m, const char **out)
{
    const char *by, *x, *y;
    HD_TRY(slope(m, &by));
    HD_TRY(mean(m, 0, &x));
    HD_TRY(mean(m, 1, &y));
    *out = hd_asprintf(m->x->r->arena, "((%s) - (%s) * (%s))", y, by, x);
    return 0;
}

/* The share of a variance that the line explains is 1 where y is always the same. */
static int along_line(const struct moments *m, bool share, const char **out)
{
    const char *xx, *yy, *xy;
    HD_TRY(products(m, 0, 0, &xx));
    HD_TRY(products(m, 1, 1, &yy));
    HD_TRY(products(m, 0, 1, &xy));
    *out = hd_asprintf(m->x->r->arena,
                       share ? "case when %s > 0 then case when (%s) > 0e0 then case when (%s) > 0e0 then "
                               "((%s) / (%s)) * ((%s) / (%s)) else 1e0 end end end"
                             : "case when %s > 0 then case when (%s) > 0e0 and (%s) > 0e0 then "
                               "(%s) / (sqrt(%s) * sqrt(%s)) end end",
                       m->n, xx, yy, xy, xx, share ? xy : yy, yy);
    return 0;
}

static int result(const struct moments *m, enum fe_agg_fn fn, const char **out)
{
    switch (fn) {
    case FE_AGG_VAR_POP: return per_row(m, 0, 0, false, out);
    case FE_AGG_VAR_SAMP: return per_row(m, 0, 0, true, out);
    case FE_AGG_STDDEV_POP: return root(m, per_row(m, 0, 0, false, out), out);
    case FE_AGG_STDDEV_SAMP: return root(m, per_row(m, 0, 0, true, out), out);
    case FE_AGG_COVAR_POP: return per_row(m, 0, 1, false, out);
    case FE_AGG_COVAR_SAMP: return per_row(m, 0, 1, true, out);
    case FE_AGG_CORR: return along_line(m, false, out);
    case FE_AGG_REGR_SLOPE: return slope(m, out);
    case FE_AGG_REGR_INTERCEPT: return intercept(m, out);
    case FE_AGG_REGR_COUNT: *out = m->n; return 0;
    case FE_AGG_REGR_R2: return along_line(m, true, out);
    case FE_AGG_REGR_AVGX: return mean(m, 0, out);
    case FE_AGG_REGR_AVGY: return mean(m, 1, out);
    case FE_AGG_REGR_SXX: return sum_about_means(m, 0, 0, out);
    case FE_AGG_REGR_SYY: return sum_about_means(m, 1, 1, out);
    case FE_AGG_REGR_SXY: return sum_about_means(m, 0, 1, out);
#define T_MOMENT(id, ...)
#define T_AGG(id, ...) case FE_AGG_##id:
#include "frontend/aggs.def"
    case FE_AGG_COUNT_OF: break;
    }
    HD_BUG("moment %d", (int)fn);
}

int fw_moment(struct fw_reading *x, const struct fe_json *v, enum fe_agg_fn fn, const struct fw_frame *f,
              struct fe_expr *arg, struct fe_expr *by, const char **out)
{
    char found[HD_TEXT_MAX];
    const struct fe_expr *wrong = !hd_type_is_num(arg->type) ? arg : by && !hd_type_is_num(by->type) ? by : NULL;
    if (wrong)
        return fe_json_fail(v, "%s expects numbers, found %s", fe_agg_name(fn), hd_type_text(wrong->type, found));
    struct moments m = {.x = x, .f = f, .v = {arg, arg}};
    if (by) {
        m.v[0] = beside(x, by, arg);
        m.v[1] = beside(x, arg, by);
    }
    m.sure = is_small(m.v[0]->type) && is_small(m.v[1]->type);
    m.maybe = !hd_type_is_float(m.v[0]->type) && !hd_type_is_float(m.v[1]->type);
    HD_TRY(fw_count(x, f, m.v[0], &m.n));
    return result(&m, fn, out);
}
