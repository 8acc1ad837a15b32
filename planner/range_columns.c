/* Columns of a RANGES node, as flows and lowering see them. */
#include "planner/range_columns.h"

#include "planner/agg.h"
#include "planner/handle.h"
#include "planner/lower_expr.h"
#include "planner/lower_value.h"
#include "planner/typed.h"

struct handle **range_env(struct ctx *c, const struct pl_ranges *r, const struct stream *s, bool probe)
{
    struct handle **env = HD_NEWN(c->a, struct handle *, r->ncols + 1);
    bool right = probe == r->swapped;
    HD_ASSERT(s->ncols == (right ? r->ncols - r->nleft : r->nleft));
    memcpy(env + (right ? r->nleft : 0), s->cols, sizeof *env * (size_t)s->ncols);
    return env;
}

double range_rows(const struct stream *build)
{
    return HD_MIN(build->max_rows, (double)INT32_MAX);
}

struct pl_val range_running(const struct pl_running *w, const struct stream *build, struct pl_val v)
{
    struct agg_item sum = {.fn = FE_AGG_SUM, .type = w->type};
    if (w->range.known && !range_within(v.range, w->range))
        v.range = w->range;
    if (w->merge == RT_MERGE_SUM) {
        bool fits = sum_known(&sum, range_rows(build), &v);
        HD_ASSERT(fits && !v.nullable);
    }
    v.type = w->type;
    v.is_const = false;
    return v;
}

/* A sum over a range is the difference of two. */
struct handle *range_value(struct ctx *c, const struct pl_running *w, struct handle *last, struct handle *before,
                           const char *path)
{
    if (w->merge != RT_MERGE_SUM || !before)
        return last;
    struct handle **env = HD_NEWN(c->a, struct handle *, 2);
    env[0] = last;
    env[1] = agg_or_zero(c, before, path);
    return h_expr(c,
                  pl_expr_node(c->a, FE_SUB, w->type, false, path, 2, lx_col(c, 0, last, path),
                               pl_col_node(c->a, 1, w->type, false, path)),
                  env);
}

static struct handle *absent(struct ctx *c, struct hd_type t)
{
    return h_phys(c, lx_const(c, &(struct fe_value){.type = t, .is_null = true}));
}

void range_output(struct ctx *c, const struct pl_node *n, const struct stream *probe, struct handle *count,
                  struct handle *const *values, struct stream *out)
{
    const struct pl_ranges *r = &n->u.ranges;
    struct handle **env = range_env(c, r, probe, true);
    out->ncols = r->ncols + 1 + r->nrunning;
    out->cols = HD_NEWN(c->a, struct handle *, out->ncols + 1);
    for (int i = 0; i < r->ncols; i++)
        out->cols[i] = env[i] ? env[i] : absent(c, hd_type_of(HD_INT64)); /* nobody reads it */
    out->cols[r->ncols] = count;
    for (int i = 0; i < r->nrunning; i++)
        out->cols[r->ncols + 1 + i] = values[i];
}
