/* Aggregates over ranges: the build side ends in rows sorted by a word that compares as the key does, with running
 * fields; the probe side searches them for its bounds. The pairs of a probe row are the rows between: how many, and
 * sums as differences of two running ones. A range with one bound begins with the first row: where this is the lower
 * one, words are turned round. */
#include "planner/lower_ranges.h"

#include "planner/bounds.h"
#include "planner/build.h"
#include "planner/handle.h"
#include "planner/lower_expr.h"
#include "planner/lower_value.h"
#include "planner/range_columns.h"
#include "planner/schedule.h"
#include "planner/search_word.h"
#include "planner/store.h"
#include "planner/typed.h"

struct lowering {
    struct ctx *c;
    const struct pl_node *n;
    const struct pl_ranges *r;
    int state;
    struct pl_range *known; /* of running fields */
};

static bool is_turned(const struct pl_ranges *r)
{
    return !r->range->nhigh;
}

static int op2(struct ctx *c, enum fe_op op, enum rt_phys p, int a, int b)
{
    int args[2] = {a, b};
    return pb_op(c, op, p, false, 2, args);
}

/* Word v, which is not NULL any more; -1 - w where words are turned. */
static int settled(const struct lowering *l, struct pl_val v)
{
    struct ctx *c = l->c;
    if (v.nullable) {
        int args[2] = {v.expr, pb_const_int(c, RT_I64, 0)};
        v.expr = pb_op(c, FE_COALESCE, RT_I64, false, 2, args);
    }
    return is_turned(l->r) ? op2(c, FE_SUB, RT_I64, pb_const_int(c, RT_I64, -1), v.expr) : v.expr;
}

/* Rows without the value end. */
static int need_value(struct ctx *c, struct stream *s, struct handle *h, const char *path)
{
    struct handle **env = HD_NEWN(c->a, struct handle *, 1);
    const struct hd_type b = hd_type_of(HD_BOOL);
    double share = 1;
    env[0] = h;
    if (!h->nullable)
        return 0;
    struct fe_expr *null = pl_expr_node(c->a, FE_IS_NULL, b, false, path, 1, lx_col(c, 0, h, path), NULL);
    const struct fe_expr *there = pl_expr_node(c->a, FE_NOT, b, false, path, 1, null, NULL);
    return lx_filter(c, s, env, &there, &share, 1);
}

/* Terms that rows are known to have. */
struct needs {
    int n;
    const struct fe_expr **v;
};

static int need_values(const struct lowering *l, struct stream *s, struct handle **env, const struct pl_sum *of,
                       struct needs *done)
{
    for (int i = 0; i < of->n; i++) {
        const struct fe_expr *e = of->v[i].e;
        int k = 0;
        while (k < done->n && !fe_expr_eq(done->v[k], e))
            k++;
        if (k < done->n)
            continue;
        hd_grow1(l->c->a, done->v, done->n);
        done->v[done->n++] = e;
        HD_TRY(need_value(l->c, s, h_expr(l->c, e, env), l->n->path));
    }
    return 0;
}

/* ---- the build side ------------------------------------------------------------------------------------------ */

static void store_field(const struct lowering *l, struct open_pipeline *p, const char *name, struct pl_val v,
                        enum rt_merge m)
{
    int f = pb_field(l->c, l->state, name, &v, m);
    sink_add(l->c, &p->sink, (struct pl_out){.field = f, .expr = v.expr, .fn = FE_AGG_ANY});
}

static const char *running_name(enum rt_merge m)
{
    return m == RT_MERGE_SUM ? "sum" : m == RT_MERGE_MIN ? "min" : "max";
}

static int store_running(const struct lowering *l, int i, struct handle **env, const struct stream *build)
{
    struct ctx *c = l->c;
    const struct pl_running *w = &l->r->running[i];
    struct open_pipeline *p = pipeline_of(c, build);
    struct pl_val v;
    HD_TRY(h_value(c, p, h_expr(c, w->arg, env), &v));
    lx_realise(c, &v);
    struct pl_val sum = range_running(w, build, v);
    if (w->merge == RT_MERGE_SUM)
        lx_as_phys(c, &v, sum.phys);
    l->known[i] = v.range = sum.range;
    v.type = w->type;
    store_field(l, p, running_name(w->merge), v, w->merge);
    return 0;
}

static void sort_by_word(struct ctx *c, int state)
{
    struct rt_state *st = &c->states.v[state];
    st->nsort = 1;
    st->sort = HD_NEW(c->a, struct rt_sort_key);
    *st->sort = (struct rt_sort_key){0, false, false};
}

static int store_build(struct lowering *l, struct stream *build)
{
    struct ctx *c = l->c;
    struct open_pipeline *p = pipeline_of(c, build);
    struct handle **env = range_env(c, l->r, build, false);
    struct pl_val word = {.phys = RT_I64, .type = hd_type_of(HD_INT64)}, v;
    struct needs done = {0};
    HD_TRY(need_values(l, build, env, &l->r->range->of, &done));
    HD_TRY(sw_word(c, p, env, l->r->range, &v));
    l->state = pb_state(c, RT_STATE_ROWS, "ranges", l->n->path);
    l->known = HD_NEWN(c->a, struct pl_range, l->r->nrunning + 1);
    p->sink.kind = PL_SINK_ROWS;
    p->sink.state = l->state;
    word.expr = settled(l, v);
    store_field(l, p, "word", word, RT_MERGE_KEY);
    for (int i = 0; i < l->r->nrunning; i++)
        HD_TRY(store_running(l, i, env, build));
    pb_state_layout(c, l->state);
    sort_by_word(c, l->state);
    struct handle *order = l->r->range->of.n == 1 && !is_turned(l->r) ? h_expr(c, l->r->range->of.v[0].e, env) : NULL;
    keep_sorted(c, build, &order, order && l->r->range->of.v[0].factor > 0, l->state);
    c->states.v[l->state].est_rows = build->est;
    c->state_rows.v[l->state] = build->max_rows;
    pb_end(c, p, true);
    return 0;
}

/* ---- the probe side ------------------------------------------------------------------------------------------ */

/* NULL in one of several bounds is in no pair either. */
static int need_bounds(const struct lowering *l, struct stream *s, struct handle **env)
{
    const struct pl_interval *x = l->r->range;
    struct needs done = {0};
    for (int i = 0; i < x->nlow; i++)
        HD_TRY(need_values(l, s, env, &x->low[i].at, &done));
    for (int i = 0; i < x->nhigh; i++)
        HD_TRY(need_values(l, s, env, &x->high[i].at, &done));
    return 0;
}

/* Position of the first row at or behind the bound. end: of the first that is not in the range. */
static int search(const struct lowering *l, struct stream *s, struct handle **env, bool low, bool end, int *slot)
{
    struct ctx *c = l->c;
    struct open_pipeline *p = pipeline_of(c, s);
    const struct pl_bound *b = low ? l->r->range->low : l->r->range->high;
    struct pl_val v;
    HD_TRY(sw_end(c, p, env, l->r->range, low, &v));
    int word = settled(l, v);
    int a_rows = pb_arg_state(c, RT_ARG_STATE_ROWS, l->state, 0),
        a_n = pb_arg_state(c, RT_ARG_STATE_NROWS, l->state, 0);
    *slot = pb_slot(c, p, end ? "end" : "begin", RT_I32, false);
    struct pl_step *q = pb_step(c, p, PL_STEP_SEARCH, l->n->path);
    q->slot = *slot;
    q->state = l->state;
    q->field = 0;
    q->expr = word;
    q->behind = b->strict != end;
    q->a_rows = a_rows;
    q->a_nrows = a_n;
    return 0;
}

/* The row in front of a position, which may be none. */
static struct handle *row_before(const struct lowering *l, struct open_pipeline *p, const char *name, int slot,
                                 bool none)
{
    struct ctx *c = l->c;
    struct pl_val v = {.phys = RT_I32, .type = hd_type_of(HD_INT32)};
    v.expr = op2(c, FE_SUB, RT_I32, pb_slot_expr(c, p, slot), pb_const_int(c, RT_I32, 1));
    return h_row(c, pb_let(c, p, name, v), NULL, l->state, none);
}

static struct handle *running_at(const struct lowering *l, int i, struct handle *row)
{
    struct handle *h = h_field(l->c, l->state, 1 + i, row);
    h->val.range = l->known[i];
    return h;
}

static struct handle *number_of_pairs(const struct lowering *l, struct open_pipeline *p, int begin, int end,
                                      const struct stream *build)
{
    struct ctx *c = l->c;
    struct pl_val n = {.phys = RT_I32, .type = hd_type_of(HD_INT64)};
    n.expr = pb_slot_expr(c, p, end);
    if (begin >= 0)
        n.expr = op2(c, FE_SUB, RT_I32, n.expr, pb_slot_expr(c, p, begin));
    n.range = (struct pl_range){true, 0, (hd_i128)range_rows(build)};
    lx_as_phys(c, &n, RT_I64);
    return h_phys(c, n);
}

int lower_ranges(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    struct lowering l = {.c = c, .n = n, .r = &n->u.ranges};
    struct stream *build = &in[0];
    *out = in[1];
    struct handle **env = range_env(c, l.r, out, true);
    struct handle **values = HD_NEWN(c->a, struct handle *, l.r->nrunning + 1);
    int begin = -1, end;
    HD_TRY(store_build(&l, build));
    struct open_pipeline *p = pipeline_of(c, out);
    HD_TRY(need_bounds(&l, out, env));
    if (l.r->range->nlow && l.r->range->nhigh)
        HD_TRY(search(&l, out, env, true, false, &begin));
    HD_TRY(search(&l, out, env, is_turned(l.r), true, &end));
    int from = begin < 0 ? pb_const_int(c, RT_I32, 0) : pb_slot_expr(c, p, begin);
    pb_filter(c, p, op2(c, FE_GT, RT_BOOL, pb_slot_expr(c, p, end), from), 1, n->path);
    struct handle *last = row_before(&l, p, "last", end, false);
    struct handle *before = begin < 0 ? NULL : row_before(&l, p, "before", begin, true);
    for (int i = 0; i < l.r->nrunning; i++) {
        const struct pl_running *w = &l.r->running[i];
        struct handle *at = before ? running_at(&l, i, before) : NULL;
        values[i] = range_value(c, w, running_at(&l, i, last), at, n->path);
    }
    range_output(c, n, &in[1], number_of_pairs(&l, p, begin, end, build), values, out);
    out->est = p->est;
    return 0;
}
