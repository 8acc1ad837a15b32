/* Copies of rows: a level whose children are numbers, so that a row with many copies is shared like any other. */
#include "planner/lower_repeat.h"

#include "planner/build.h"
#include "planner/cut.h"
#include "planner/dict_map.h"
#include "planner/handle.h"
#include "planner/lower_expr.h"
#include "planner/lower_value.h"

static void set_rows(struct stream *s)
{
    s->max_rows = 9e18;
    s->unique_row = NULL;
    s->nunique = 0;
    s->ordered = false;
}

void flow_repeat(struct ctx *c, struct pl_node *n, const struct stream *in, struct stream *out)
{
    map_plan(c, n, in->cols, n->n->u.repeat.count, in->est);
    *out = *in;
    set_rows(out);
}

int lower_repeat(struct ctx *c, const struct pl_node *n, const struct stream *in, struct stream *out)
{
    struct pl_val v;
    *out = *in;
    HD_TRY(cut_before_level(c, out, c->need[n->n->inputs[0]->id], NULL, n->path));
    struct open_pipeline *p = pipeline_of(c, out);
    HD_TRY(h_value(c, p, h_expr(c, n->n->u.repeat.count, out->cols), &v));
    HD_TRY(lx_as_phys(c, &v, RT_I64));
    lx_realise(c, &v);
    int slot = pb_slot(c, p, "copy", RT_I32, false);
    struct pl_step *s = pb_step(c, p, PL_STEP_EXPAND_COUNT, n->path);
    s->expr = v.expr;
    s->slot = slot;
    s->splittable = true;
    cut_open_level(c, out, c->need[n->n->id]);
    set_rows(out);
    return 0;
}
