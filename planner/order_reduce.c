/* A grouping that is joined by one of its keys with a table of which filters leave few rows: groups of other keys are
 * dropped in the end, so rows of other keys need not be grouped. A semi join below the grouping keeps those that count,
 * as the magic sets of Mumick, Finkelstein, Pirahesh and Ramakrishnan do (Magic is Relevant, SIGMOD 1990). The join above
 * stays. The table is scanned twice, which is no more than what is saved. */
#include "planner/order_reduce.h"

#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/order_build.h"
#include "planner/order_flatten.h"
#include "planner/rewrite_node.h"

/* Keys that are left at most, as a share of the table's. */
static const double few = 0.2;

/* The grouping below projections and filters; NULL: none. */
static const struct fe_node *grouping_below(const struct fe_node *n)
{
    while (n->op == FE_PROJECT_OP || n->op == FE_FILTER_OP)
        n = n->inputs[0];
    return n->op == FE_AGGREGATE_OP && n->u.agg.nsets <= 1 && n->u.agg.nkeys > 0 ? n : NULL;
}

/* The key of the grouping that comes up as column i of n; NULL: none. */
static const struct fe_expr *key_of(const struct fe_node *n, const struct fe_node *grouping, int i)
{
    for (; n != grouping; n = n->inputs[0]) {
        if (n->op != FE_PROJECT_OP)
            continue;
        if (n->u.project.exprs[i]->op != FE_COL)
            return NULL;
        i = n->u.project.exprs[i]->col;
    }
    return i < grouping->u.agg.nkeys && !lx_may_fail(grouping->u.agg.keys[i]) ? grouping->u.agg.keys[i] : NULL;
}

/* n with the grouping's input replaced. */
static struct fe_node *with_input(const struct order_query *q, const struct fe_node *n, const struct fe_node *grouping,
                                  struct fe_node *input)
{
    struct fe_node *to = hd_dup(q->a, n, sizeof *n);
    to->inputs = HD_NEWN(q->a, struct fe_node *, 1);
    to->inputs[0] = n == grouping ? input : with_input(q, n->inputs[0], grouping, input);
    return to;
}

/* A scan whose filter leaves few rows. */
static bool leaves_few(struct ctx *c, const struct order_query *q, const struct fe_node *scan)
{
    struct fe_node *looked_at = hd_dup(q->a, scan, sizeof *scan);
    looked_at->id = (*q->next_id)++;
    return scan->u.scan.filter && est_rows(c, looked_at) < few * (double)scan->u.scan.table->rows;
}

static bool reduce_by(struct ctx *c, struct order_query *q, struct order_source *s, int column,
                      const struct order_member *by)
{
    const struct order_source *x = &q->sources.v[by->relation];
    const struct fe_node *grouping = grouping_below(s->orig);
    const struct fe_expr *key = key_of(s->orig, grouping, column);
    if (!key || x->kind != FE_INNER || x->orig->op != FE_SCAN_OP || by->e->op != FE_COL)
        return false;
    struct fe_node *scan = order_filtered_scan(q, by->relation, x->orig);
    if (!leaves_few(c, q, scan))
        return false;
    const struct rewriting w = {.a = q->a};
    struct fe_node *join =
        rw_join(&w, FE_SEMI, grouping->inputs[0], scan, 0, NULL, hd_dup(q->a, key, sizeof *key), by->e->col - x->base);
    if (!order_may_flatten(q, join))
        return false;
    s->n = s->inside = q->inside(q->data, with_input(q, s->orig, grouping, join));
    s->reduced_by = order_of(by->relation);
    return true;
}

static void reduce(struct ctx *c, struct order_query *q, int r)
{
    struct order_source *s = &q->sources.v[r];
    for (int i = 0; i < q->equals.n; i++) {
        const struct order_equals *e = &q->equals.v[i];
        for (int k = 0; k < e->members.n; k++) {
            const struct order_member *own = &e->members.v[k];
            for (int m = 0; own->relation == r && own->e->op == FE_COL && m < e->members.n; m++)
                if (reduce_by(c, q, s, own->e->col - s->base, &e->members.v[m]))
                    return;
        }
    }
}

void order_reduce(struct ctx *c, struct order_query *q)
{
    for (int i = 0; i < q->sources.n; i++)
        if (q->sources.v[i].kind == FE_INNER && grouping_below(q->sources.v[i].orig))
            reduce(c, q, i);
}
