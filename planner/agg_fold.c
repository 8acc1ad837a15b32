/* A grouping without a state: the pipeline scans parents, goes through the children of each in a loop of its own, and
 * goes on with the parent's row and what its children amount to. */
#include "planner/agg.h"
#include "planner/build.h"
#include "planner/fold_long.h"
#include "planner/handle.h"
#include "planner/lower_arith.h"
#include "planner/lower_expr.h"
#include "planner/lower_fold.h"
#include "planner/lower_value.h"

/* Of a FOLD_ADD step: what its slot has behind the fold. */
static struct pl_val add(struct ctx *c, struct open_pipeline *p, enum fe_agg_fn fn, const char *name, struct pl_val v,
                         const char *path)
{
    struct pl_val out = v;
    bool counts = fn == FE_AGG_COUNT;
    if (counts)
        out = (struct pl_val){.phys = RT_I64};
    int slot = pb_slot(c, p, name, out.phys, out.nullable);
    struct pl_step *s = pb_step(c, p, PL_STEP_FOLD_ADD, path);
    s->slot = slot;
    s->expr = v.expr;
    s->fn = fn;
    out.expr = pb_slot_expr(c, p, slot);
    out.is_const = false;
    return out;
}

static struct pl_val add_count(struct ctx *c, struct open_pipeline *p, const char *name, struct pl_val v, double rows,
                               const char *path)
{
    struct pl_val n = add(c, p, FE_AGG_COUNT, name, v, path);
    n.type = hd_type_of(HD_INT64);
    n.range = (struct pl_range){true, 0, (hd_i128)rows};
    return n;
}

/* The child's row, which is never NULL: rows are counted by it. */
static struct pl_val child_of(struct ctx *c, struct open_pipeline *p, const struct pl_step *fold)
{
    return (struct pl_val){.expr = pb_slot_expr(c, p, fold->slot), .phys = RT_I32};
}

/* A value that facts say is above 0, or a count of rows, tells whether a child was added up: in *there. */
static int add_item(struct ctx *c, struct open_pipeline *p, const struct agg_item *a, double rows, struct pl_val child,
                    struct part *out, struct pl_val *there)
{
    bool star = a->fn == FE_AGG_COUNT_STAR, counts = star;
    struct pl_val v = child;
    if (!star) {
        HD_TRY(h_value(c, p, a->arg, &v));
        lx_realise(c, &v);
    }
    if (a->fn == FE_AGG_SUM) {
        struct pl_val sum = v;
        bool fits = sum_known(a, rows, &sum);
        HD_ASSERT(fits);
        counts = !v.nullable && v.range.known && v.range.lo > 0 && sum.phys == RT_I64;
        HD_TRY(lx_as_phys(c, &v, sum.phys));
        v.range = sum.range;
        out->unchecked = leaves_type(&sum, a->type);
    }
    if (agg_is_of_bits(a->fn)) {
        v.range = range_bits(FE_BIT_XOR, v.range, v.range);
        HD_TRY(lx_as_phys(c, &v, RT_I64));
    }
    const char *name = fe_agg_name(a->fn);
    if (star || a->fn == FE_AGG_COUNT)
        v = add_count(c, p, name, v, rows, a->path);
    else
        v = add(c, p, a->fn, name, v, a->path);
    v.type = a->type;
    if (counts)
        *there = v;
    out->h = h_phys(c, v);
    return 0;
}

/* What stands in the open fold may end children. */
static bool ends_children(const struct open_pipeline *p)
{
    bool ends = false;
    for (int i = p->fold.step + 1; i < p->steps.n; i++)
        ends |= pl_step_form(p->steps.v[i].kind)->yields != PL_YIELDS_ONE;
    return ends;
}

/* Parents of which no child was left are no groups. */
static void leave_out(struct ctx *c, struct open_pipeline *p, struct pl_val count, double share, const char *path)
{
    int args[2] = {count.expr, pb_const_int(c, count.phys, 0)};
    pb_filter(c, p, pb_op(c, FE_GT, RT_BOOL, false, 2, args), share, path);
}

/* Of a scan's rows the keys are the child's. */
static void restore_keys(struct ctx *c, const struct stage *g, struct handle *parent, struct handle **key_out)
{
    const struct pl_fold_facts *f = g->d->fold;
    if (f->parent)
        memcpy(key_out, g->keys, sizeof *key_out * (size_t)g->nkeys);
    else
        key_out[0] = h_column(c, parent->table, f->child->fks[f->fk].parent_columns[0], parent);
}

/* The values become those of long parents as well. */
static int add_long(struct ctx *c, struct open_pipeline *p, const struct stage *g, struct part *agg,
                    struct pl_val *there)
{
    struct fold_sum *sums = HD_NEWN(c->a, struct fold_sum, g->naggs + 1);
    int n = g->naggs, at = n;
    for (int i = 0; i < g->naggs; i++) {
        bool counts = g->aggs[i].fn == FE_AGG_COUNT_STAR;
        sums[i] = (struct fold_sum){counts ? FE_AGG_COUNT : g->aggs[i].fn, agg[i].h->val};
        if (sums[i].v.expr == there->expr)
            at = i;
    }
    if (at == n)
        sums[n++] = (struct fold_sum){FE_AGG_COUNT, *there};
    HD_TRY(fold_long(c, p, sums, n, at, g->path));
    for (int i = 0; i < g->naggs; i++)
        agg[i].h = h_phys(c, sums[i].v);
    *there = sums[at].v;
    return 0;
}

int fold_stage(struct ctx *c, struct stream *s, struct stage *g, struct stream *out, struct handle **key_out,
               struct part *agg_out)
{
    struct open_pipeline *p = pipeline_of(c, s);
    const struct pl_fold_facts *f = g->d->fold;
    const struct fe_foreign_key *fk = &f->child->fks[f->fk];
    struct handle *parent = p->fold.parent;
    double rows = (double)fk->max_children, parents = p->steps.v[p->fold.step].est;
    struct pl_val child = child_of(c, p, &p->steps.v[p->fold.step]), there = {.expr = -1};
    bool longs = fold_has_long(fk), ends = longs || ends_children(p);
    for (int i = 0; i < g->naggs; i++) {
        agg_out[i] = (struct part){0};
        HD_TRY(add_item(c, p, &g->aggs[i], rows, child, &agg_out[i], &there));
    }
    ends |= ends_children(p);
    if (ends && there.expr < 0)
        there = add_count(c, p, fe_agg_name(FE_AGG_COUNT_STAR), child, rows, g->path);
    fold_close(c, p, g->path);
    if (longs)
        HD_TRY(add_long(c, p, g, agg_out, &there));
    p->est = parents;
    if (ends)
        leave_out(c, p, there, parents > 0 ? HD_MIN(1, g->d->groups / parents) : 1, g->path);
    p->est = HD_MIN(parents, g->d->groups);
    restore_keys(c, g, parent, key_out);
    *out = *s;
    out->est = p->est;
    out->max_rows = HD_MIN(s->max_rows, (double)fk->parent->rows);
    out->unique_row = parent;
    stage_unique(c, g, key_out, out);
    pb_note(c, "%s: groups are rows of %s, whose children in %s are gone through one after the other", g->path,
            fk->parent->name, f->child->name);
    return 0;
}
