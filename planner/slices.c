#include "planner/slices.h"

#include "planner/steps.h"

/* Whether the rows that a slot of the pipeline has are those of its source, between ends, or their children by a foreign
 * key along which these lie in the order of their parents. */
static bool rows_of_slot(const struct pl_pipeline *q, int pipeline, int slot, struct rt_scan *out)
{
    /* Threads of a loop over pairs that have no row read one that there always is. */
    bool ends = q->spec->source == RT_SOURCE_TABLE && q->spec->nends > 0 && !q->loop.rows;
    if (ends && slot == q->source_slot) {
        *out = (struct rt_scan){.pipeline = pipeline, .fk = -1};
        return true;
    }
    for (int i = 0; i < q->nsteps && ends; i++) {
        const struct pl_step *s = &q->steps[i];
        if (s->slot != slot || pl_step_form(s->kind)->subject != PL_OF_FK)
            continue;
        *out = (struct rt_scan){.pipeline = pipeline, .fk = s->index};
        return s->row_slot == q->source_slot && !s->table->fks[s->index].child_rows;
    }
    return false;
}

static bool takes(const struct pl_step *s, int arg)
{
#define X(name) \
    if (s->a_##name == arg) \
        return true;
    PL_STEP_ARGS(X)
#undef X
    return false;
}

/* The rows of the argument's memory that a step reads. */
static bool rows_of_step(const struct pl_pipeline *q, int pipeline, const struct pl_step *s, const struct rt_arg *a,
                         struct rt_scan *out)
{
    bool of_parent = pl_step_form(s->kind)->subject == PL_OF_FK;
    if (s->kind == PL_STEP_LOAD_COLUMN || (of_parent && a->kind == RT_ARG_FK_OFFSETS))
        return rows_of_slot(q, pipeline, s->row_slot, out);
    return of_parent && a->kind != RT_ARG_FK_CHILD_ROWS && rows_of_slot(q, pipeline, s->slot, out);
}

static void add_scan(struct ctx *c, struct rt_arg *a, struct rt_scan scan)
{
    for (int i = 0; i < a->nscans; i++)
        if (a->scans[i].pipeline == scan.pipeline && a->scans[i].fk == scan.fk)
            return;
    hd_grow1(c->a, a->scans, a->nscans);
    a->scans[a->nscans++] = scan;
}

static bool is_in_expression(const struct ctx *c, int arg)
{
    for (int i = 0; i < c->exprs.n; i++)
        if (c->exprs.v[i].arg == arg)
            return true;
    return false;
}

/* False: somewhere any row may be read. */
static bool find_scans(struct ctx *c, struct rt_arg *a, int arg)
{
    const struct pl_program *p = c->program;
    if (is_in_expression(c, arg))
        return false;
    for (int i = 0; i < p->npipelines; i++)
        for (int k = 0; k < p->pipelines[i].nsteps; k++) {
            struct rt_scan scan;
            if (!takes(&p->pipelines[i].steps[k], arg))
                continue;
            if (!rows_of_step(&p->pipelines[i], i, &p->pipelines[i].steps[k], a, &scan))
                return false;
            add_scan(c, a, scan);
        }
    return true;
}

static bool has_rows(const struct rt_arg *a)
{
    bool memory = rt_arg_group(a->kind) == RT_ARGS_MEMORY;
    return memory && (rt_arg_object(a->kind) == RT_OBJECT_COLUMN || a->kind == RT_ARG_FK_OFFSETS);
}

void pl_seal_slices(struct ctx *c)
{
    struct rt_spec *s = c->program->spec;
    for (int i = 0; i < s->nargs; i++)
        if (has_rows(&s->args[i]) && !find_scans(c, &s->args[i], i))
            s->args[i].nscans = 0;
}
