/* Aggregates over ranges before there are pipelines: what is known of the number of pairs and of running fields. */
#include "planner/flow_ranges.h"

#include "planner/bounds.h"
#include "planner/dict_map.h"
#include "planner/flow_rows.h"
#include "planner/handle.h"
#include "planner/known.h"
#include "planner/range_columns.h"

static struct handle *known_number(struct ctx *c, const struct stream *build)
{
    struct handle *h = h_phys(c, (struct pl_val){.phys = RT_I64, .type = hd_type_of(HD_INT64)});
    h->val.range = (struct pl_range){true, 0, (hd_i128)range_rows(build)};
    return h;
}

/* The running field at a row that may be missing. */
static int known_running(struct ctx *c, const struct pl_running *w, const struct stream *build, struct handle *arg,
                         bool missing, struct handle **out)
{
    struct pl_val v;
    HD_TRY(known_value(c, arg, &v));
    v = range_running(w, build, v);
    v.nullable |= missing || w->merge != RT_MERGE_SUM;
    struct handle *h = *out = h_new(c, H_FIELD, w->type, v.nullable);
    h->row = h_row(c, -1, NULL, -1, missing);
    h->val = v;
    return 0;
}

static int known_range(struct ctx *c, struct pl_node *n, const struct pl_running *w, const struct stream *build,
                       struct handle **env, struct handle **out)
{
    bool two_sided = n->u.ranges.range->nlow && n->u.ranges.range->nhigh;
    struct handle *arg = h_expr(c, w->arg, env), *last, *before = NULL;
    map_plan(c, n, env, w->arg, build->est);
    HD_TRY(known_running(c, w, build, arg, false, &last));
    if (two_sided)
        HD_TRY(known_running(c, w, build, arg, true, &before));
    *out = range_value(c, w, last, before, n->path);
    return 0;
}

static void map_sum(struct ctx *c, struct pl_node *n, struct handle **env, const struct pl_sum *s, double rows)
{
    for (int i = 0; i < s->n; i++)
        map_plan(c, n, env, s->v[i].e, rows);
}

int flow_ranges(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    const struct pl_ranges *r = &n->u.ranges;
    const struct stream *build = &in[0], *probe = &in[1];
    struct handle **env = range_env(c, r, build, false), **of_probe = range_env(c, r, probe, true);
    struct handle **values = HD_NEWN(c->a, struct handle *, r->nrunning + 1);
    map_sum(c, n, env, &r->range->of, build->est);
    for (int i = 0; i < r->range->nlow; i++)
        map_sum(c, n, of_probe, &r->range->low[i].at, probe->est);
    for (int i = 0; i < r->range->nhigh; i++)
        map_sum(c, n, of_probe, &r->range->high[i].at, probe->est);
    for (int i = 0; i < r->nrunning; i++)
        HD_TRY(known_range(c, n, &r->running[i], build, env, &values[i]));
    *out = *probe;
    range_output(c, n, probe, known_number(c, build), values, out);
    return 0;
}
