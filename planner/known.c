/* What is known of values before pipelines exist. Of a column facts tell it; of a computed value the rules of lowering
 * do, which are asked by lowering the expression beside the program, in a context that is thrown away. */
#include "planner/known.h"

#include "planner/build.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/lower_expr.h"
#include "planner/lower_value.h"

/* ---- computed values ------------------------------------------------------------------------------ */

static struct ctx *scratch(struct ctx *c)
{
    if (!c->scratch) {
        c->scratch = HD_NEW(c->a, struct ctx);
        *c->scratch =
            (struct ctx){.a = c->a, .plan = c->plan, .opt = c->opt, .err = c->err, .maps_planned = c->maps_planned};
        pb_pipeline(c->scratch, RT_SOURCE_TABLE, "");
    }
    return c->scratch;
}

static int max_column(const struct fe_expr *e)
{
    int m = e->op == FE_COL ? e->col : -1;
    for (int i = 0; i < e->nargs; i++)
        m = HD_MAX(m, max_column(e->args[i]));
    return m;
}

/* Stands for h in the scratch pipeline: a slot with what is known of h. */
static int stand_in(struct ctx *c, struct handle *h, struct handle **out)
{
    struct ctx *s = c->scratch;
    struct open_pipeline *p = s->pipelines.v[0];
    struct pl_val v;
    HD_TRY(known_value(c, h, &v));
    if (!v.is_const)
        v.expr = pb_slot_expr(s, p, pb_slot(s, p, "", v.phys, v.nullable));
    *out = h_phys(s, v);
    return 0;
}

static int stand_ins(struct ctx *c, const struct fe_expr *e, struct handle *const *env, struct handle **out)
{
    if (e->op == FE_COL && !out[e->col])
        return stand_in(c, env[e->col], &out[e->col]);
    for (int i = 0; i < e->nargs; i++)
        HD_TRY(stand_ins(c, e->args[i], env, out));
    return 0;
}

static int known_expr(struct ctx *c, struct handle *h)
{
    struct ctx *s = scratch(c);
    struct handle **env = HD_NEWN(c->a, struct handle *, max_column(h->expr) + 2);
    HD_TRY(stand_ins(c, h->expr, h->env, env));
    HD_TRY(lx_expr(s, s->pipelines.v[0], env, h->expr, &h->val));
    if (!h->val.is_const)
        h->slot = 0; /* as if it were loaded: its range is known from now on */
    return 0;
}

/* ---- sums ----------------------------------------------------------------------------------------- */

struct handle *h_summed(struct ctx *c, const struct agg_item *a, double rows, struct handle *row, bool may_lack)
{
    struct handle *h = h_new(c, H_FIELD, a->type, true);
    h->row = row;
    h->sum = a;
    h->sum_rows = rows;
    h->val.nullable = may_lack;
    return h;
}

static int known_sum(struct ctx *c, struct handle *h)
{
    const struct agg_item *a = h->sum;
    struct pl_val v;
    HD_TRY(known_value(c, a->arg, &v));
    bool nullable = v.nullable || h->val.nullable, fits = sum_known(a, h->sum_rows, &v);
    h->val = (struct pl_val){.type = a->type, .phys = v.phys, .nullable = nullable, .range = v.range};
    if (!fits || leaves_type(&v, a->type)) { /* it is checked where its value is asked for */
        h->val.phys = a->type.kind == HD_DECIMAL ? RT_I128 : RT_I64;
        h->val.range = range_of_type(a->type);
    }
    h->sum = NULL;
    return 0;
}

/* ---- values ----------------------------------------------------------------------------------------- */

static int known_field(struct ctx *c, struct handle *h)
{
    if (h->sum)
        return known_sum(c, h);
    if (!h->what)
        return 0;
    bool nullable = h->val.nullable || h->row->row_nullable;
    HD_TRY(known_value(c, h->what, &h->val));
    h->val.nullable |= nullable;
    h->val.is_const = false;
    h->what = NULL;
    return 0;
}

int known_value(struct ctx *c, struct handle *h, struct pl_val *out)
{
    h = h_plain(h);
    switch (h->kind) {
    case H_SLOT:
    case H_LOOKUP: *out = (struct pl_val){.phys = RT_I32, .type = h->type, .range = {true, 0, INT32_MAX}}; return 0;
    case H_COLUMN: *out = h_column_value(c, h); break;
    case H_FIELD:
        HD_TRY(known_field(c, h));
        *out = h->val;
        out->range = h_range(c, h);
        break;
    case H_EXPR:
        if (h->slot < 0)
            HD_TRY(known_expr(c, h));
        *out = h->val;
        break;
    case H_PHYS: *out = h->val; break;
    }
    out->type = h->type;
    if (out->is_const) {
        out->expr = -1;
        lx_realise(scratch(c), out);
    }
    return 0;
}

void known_unify(struct pl_val *a, struct pl_val *b, bool *ints)
{
    bool text = hd_type_is_text(a->type);
    bool codes = text && a->dict_table && a->dict_table == b->dict_table && a->dict_column == b->dict_column;
    if (text && !codes)
        a->phys = b->phys = RT_STR;
    *ints &= a->phys <= RT_I64 && b->phys <= RT_I64;
}

/* ---- predicates --------------------------------------------------------------------------------------- */

static int look_at_equal(struct ctx *c, struct handle *const *env, const struct fe_expr *e)
{
    struct pl_val v;
    for (int i = 0; i < e->nargs; i++) {
        const struct fe_expr *a = e->args[i];
        HD_TRY(look_at_equal(c, env, a));
        if (a->op == FE_COL && (e->op == FE_EQ || e->op == FE_IN) && h_plain(env[a->col])->kind == H_FIELD)
            HD_TRY(known_value(c, env[a->col], &v));
    }
    return 0;
}

/* A value of the column is far more frequent than others. Which ranges have it is not known, so where both ends of one lie
 * says little of how many rows it has (JCC-H's five dates with a third of the orders). */
static bool is_skewed(const struct handle *h)
{
    enum { TIMES = 8 };
    if (h->kind != H_COLUMN || !h->table->cols[h->column].facts.known)
        return false;
    const struct fe_facts *f = &h->table->cols[h->column].facts;
    return f->distinct > 0 && (double)f->max_mult * (double)f->distinct > TIMES * (double)h->table->rows;
}

int known_selectivity(struct ctx *c, struct handle *const *env, const struct fe_expr *const *v, int i, double *share)
{
    HD_TRY(look_at_equal(c, env, v[i]));
    const struct fe_expr *of = v[i]->nargs ? v[i]->args[0] : v[i];
    bool skewed = of->op == FE_COL && is_skewed(h_plain(env[of->col]));
    bool together = c->opt.on_gpu && !skewed; /* a CPU's prices were fitted to ends that are independent */
    *share = together ? lx_selectivity_after(c, env, v, i) : lx_selectivity(c, env, v[i]);
    return 0;
}
