/* Reads what aggregates of rows in an order take beside their argument (docs/plan.md 1.2). */
#include "frontend/plan_read.h"

enum { MAX_FRACTION_DIGITS = 9 }; /* a row's number by it stays below 2^63 */

static bool is_constant(const struct fe_expr *e)
{
    return e->op == FE_LIT || e->op == FE_PARAM;
}

int fe_read_fraction(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope, struct fe_agg *g)
{
    static const char *const what =
        "a literal or parameter from 0 to 1, with at most 9 digits behind the point and no float";
    struct fe_json m;
    HD_TRY(fe_json_need(v, "q", &m));
    HD_TRY(fe_read_expr(r, &m, scope, NULL, NULL, &g->q));
    struct hd_type t = g->q->type;
    bool exact = hd_type_is_int(t) || (t.kind == HD_DECIMAL && t.scale <= MAX_FRACTION_DIGITS);
    if (!is_constant(g->q) || !exact || g->q->nullable ||
        (g->q->op == FE_LIT && !fe_constant_fits(FE_CONSTANT_SHARE, &g->q->value)))
        return fe_json_fail(&m, "%s expects %s", fe_agg_name(g->fn), what);
    return g->q->op == FE_LIT ? 0 : fe_param_stands(&r->plan->params[g->q->param], FE_CONSTANT_SHARE, r->err);
}

struct fe_fraction fe_fraction_of(const struct fe_expr *q)
{
    if (!q)
        return (struct fe_fraction){1, 2};
    const struct fe_value *v = &q->value;
    int64_t x = (int64_t)v->i, y = (int64_t)hd_pow10(v->type.kind == HD_DECIMAL ? v->type.scale : 0);
    struct fe_fraction f = {x, y};
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return (struct fe_fraction){f.num / x, f.den / x};
}

bool fe_quantile_is_discrete(enum fe_agg_fn fn, struct hd_type of)
{
    return fn == FE_AGG_QUANTILE_DISC || (fn == FE_AGG_MEDIAN && of.kind == HD_INTERVAL);
}

static int read_order(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope, struct fe_agg *g)
{
    struct fe_json m;
    struct fe_node n = {.op = FE_SORT_OP, .path = g->path};
    HD_TRY(fe_json_need(v, "order", &m));
    HD_TRY(fe_read_order(r, v, NULL, scope, &n));
    g->norder = g->fn == FE_AGG_STRING_AGG ? n.u.sort.nstated : n.u.sort.nkeys;
    g->nstated = n.u.sort.nstated;
    g->order = n.u.sort.keys;
    return 0;
}

static int read_text(struct fe_plan_reader *r, const struct fe_json *v, struct fe_agg *g)
{
    struct fe_json m;
    if (g->distinct && fe_json_get(v, "order", &m))
        return fe_json_fail(&m, "distinct values are in their own order; \"order\" is for all values");
    return fe_read_text(r, v, "separator", ",", FE_CONSTANT_SEPARATOR, &g->separator);
}

static int refuse(const struct fe_json *v, const char *key, bool takes, const struct fe_agg *g)
{
    struct fe_json m;
    return takes || !fe_json_get(v, key, &m) ? 0 : fe_json_fail(&m, "%s takes no \"%s\"", fe_agg_name(g->fn), key);
}

int fe_read_ordered(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope, struct fe_agg *g)
{
    struct fe_json m;
    bool q = g->fn == FE_AGG_QUANTILE_CONT || g->fn == FE_AGG_QUANTILE_DISC;
    bool order = g->fn == FE_AGG_FIRST || g->fn == FE_AGG_LAST, text = g->fn == FE_AGG_STRING_AGG;
    HD_TRY(refuse(v, "q", q, g));
    HD_TRY(refuse(v, "order", order || text, g));
    HD_TRY(refuse(v, "separator", text, g));
    HD_TRY(q ? fe_read_fraction(r, v, scope, g) : 0);
    HD_TRY(text ? read_text(r, v, g) : 0);
    return order || (text && fe_json_get(v, "order", &m)) ? read_order(r, v, scope, g) : 0;
}
