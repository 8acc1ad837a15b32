/* Sealing: what was lowered becomes the program. Pipelines get their levels with the slots that these carry, tiles,
 * what they touch and write, and their counters. */
#include "planner/seal.h"

#include "planner/access.h"
#include "planner/ends.h"
#include "planner/zones.h"
#include "planner/slices.h"
#include "planner/tiering.h"

static void seal_level(struct ctx *c, struct pl_pipeline *q, const bool *defined, int l)
{
    bool *used = HD_NEWN(c->a, bool, q->nslots);
    for (int i = q->levels[l].first_step; i < q->nsteps; i++)
        pl_step_reads(c->exprs.v, &q->steps[i], used);
    pl_sink_reads(c->exprs.v, &q->sink, used);
    struct pl_level *lv = &q->levels[l];
    lv->slots = HD_NEWN(c->a, int, q->nslots);
    for (int i = 0; i < q->nslots; i++)
        if (used[i] && defined[i])
            lv->slots[lv->nslots++] = i;
}

static void seal_levels(struct ctx *c, struct pl_pipeline *q)
{
    bool *defined = HD_NEWN(c->a, bool, q->nslots);
    defined[q->source_slot] = true;
    int nlevels = 1;
    for (int i = 0; i < q->nsteps; i++)
        nlevels += pl_opens_level(q->steps[i].kind);
    q->nlevels = 1;
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
        if (pl_opens_level(s->kind)) {
            HD_ASSERT(q->nlevels < RT_MAX_LEVELS);
            q->steps[i].polls = pl_children_are_many(s->kind) || nlevels > 2;
            int l = q->nlevels++;
            q->levels[l].first_step = i + 1;
            seal_level(c, q, defined, l);
        }
        if (s->slot >= 0)
            defined[s->slot] = true;
    }
    q->spec->nlevels = q->nlevels;
    pl_lay_out_tuples(q);
}

/* Optimising a function costs milliseconds, running it unoptimised less than 0.1 us a row. */
enum { FEW_ROWS = 1024 };

/* As good as any that are more: joins may multiply beyond what an integer holds. */
static const double MANY_ROWS = 1e15;

/* An upper bound of the rows of a pipeline's source, from sizes and not from estimates. */
static uint64_t source_bound(const struct ctx *c, const struct rt_pipeline *p)
{
    const struct rt_state *st = p->state >= 0 ? &c->states.v[p->state] : NULL;
    switch (p->source) {
    case RT_SOURCE_TABLE: return (uint64_t)p->table->rows;
    case RT_SOURCE_INDEX: return st->range;
    case RT_SOURCE_DICT: return p->table->cols[p->column].dict.n;
    case RT_SOURCE_ROWS:
        if (st->kind == RT_STATE_AGG_SCALAR)
            return 1;
        return HD_MIN(st->limit >= 0 ? (uint64_t)st->limit : UINT64_MAX,
                      (uint64_t)HD_MIN(c->state_rows.v[p->state], MANY_ROWS));
    }
    HD_BUG("source %d", (int)p->source);
}

/* The same of the rows that its first level visits. */
static uint64_t visits_bound(const struct ctx *c, const struct pl_pipeline *q)
{
    uint64_t rows = source_bound(c, q->spec);
    for (int i = 0; i < q->nsteps; i++)
        if (pl_opens_fold(q->steps[i].kind))
            rows *= PL_FOLD_CHILDREN;
    return rows;
}

static void touch(struct ctx *c, struct rt_pipeline *r, const struct fe_table *t, enum fe_part_kind kind, int number)
{
    for (int i = 0; i < r->ntouched; i++)
        if (r->touched[i].table == t && r->touched[i].kind == kind && r->touched[i].number == number)
            return;
    hd_grow1(c->a, r->touched, r->ntouched);
    r->touched[r->ntouched++] = (struct fe_table_part){t, kind, number};
}

static void touch_dicts(struct ctx *c, struct rt_pipeline *r, int e)
{
    const struct pl_expr *x = &c->exprs.v[e];
    if (x->op == FE_DICT_STRING)
        touch(c, r, c->args.v[x->arg].table, FE_PART_COLUMN, c->args.v[x->arg].column);
    for (int i = 0; i < x->nargs; i++)
        touch_dicts(c, r, x->args[i]);
}

static void touch_subject(struct ctx *c, struct rt_pipeline *r, const struct pl_step *s)
{
    switch (pl_step_form(s->kind)->subject) {
    case PL_OF_COLUMN:
    case PL_OF_ORDER: touch(c, r, s->table, FE_PART_COLUMN, s->column); return;
    case PL_OF_KEYIDX: touch(c, r, s->table, FE_PART_KEYIDX, s->index); return;
    case PL_OF_FK: touch(c, r, s->table, FE_PART_FK, s->index); return;
    case PL_OF_NOTHING:
    case PL_OF_FIELD:
    case PL_OF_STATE: return;
    }
}

static void seal_touched(struct ctx *c, const struct pl_pipeline *q)
{
    struct rt_pipeline *r = q->spec;
    if (r->source == RT_SOURCE_DICT)
        touch(c, r, r->table, FE_PART_COLUMN, r->column);
    for (int i = 0; i < r->nends; i++)
        touch(c, r, r->table, FE_PART_COLUMN, r->ends[i].column);
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
        touch_subject(c, r, s);
        if (s->kind == PL_STEP_PROBE_CHILD)
            touch(c, r, s->table, FE_PART_COLUMN, s->column);
        if (s->expr >= 0)
            touch_dicts(c, r, s->expr);
        for (int k = 0; k < s->nkeys; k++)
            touch_dicts(c, r, s->keys[k]);
    }
    for (int i = 0; i < q->sink.nouts; i++)
        if (q->sink.outs[i].expr >= 0)
            touch_dicts(c, r, q->sink.outs[i].expr);
}

/* The sink's state first. */
static void seal_writes(struct ctx *c, const struct pl_pipeline *q)
{
    struct rt_pipeline *r = q->spec;
    r->writes = HD_NEWN(c->a, int, q->nsteps + 1);
    r->writes[r->nwrites++] = q->sink.state;
    for (int i = 0; i < q->nsteps; i++)
        if (pl_step_form(q->steps[i].kind)->yields == PL_YIELDS_MARKED)
            r->writes[r->nwrites++] = q->steps[i].state;
}

static void add_read(struct rt_pipeline *r, int state)
{
    for (int i = 0; i < r->nreads; i++)
        if (r->reads[i] == state)
            return;
    if (state >= 0)
        r->reads[r->nreads++] = state;
}

static void add_lookups(const struct ctx *c, struct rt_pipeline *r, int e)
{
    const struct pl_expr *x = &c->exprs.v[e];
    if (x->op == FE_LOOKUP)
        add_read(r, x->state);
    for (int i = 0; i < x->nargs; i++)
        add_lookups(c, r, x->args[i]);
}

static void seal_reads(struct ctx *c, const struct pl_pipeline *q)
{
    struct rt_pipeline *r = q->spec;
    r->reads = HD_NEWN(c->a, int, c->states.n + 1);
    add_read(r, r->state);
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
        add_read(r, s->state);
        if (s->expr >= 0)
            add_lookups(c, r, s->expr);
        for (int k = 0; k < s->nkeys; k++)
            add_lookups(c, r, s->keys[k]);
    }
    if (q->sink.index >= 0)
        add_lookups(c, r, q->sink.index);
    for (int i = 0; i < q->sink.nouts; i++)
        if (q->sink.outs[i].expr >= 0)
            add_lookups(c, r, q->sink.outs[i].expr);
    for (int i = 0; i < q->sink.ncopies; i++)
        add_read(r, q->sink.copies[i].state);
}

static void seal_counters(struct ctx *c, const struct pl_pipeline *q, double sink_est)
{
    struct rt_pipeline *r = q->spec;
    r->ncounters = q->nsteps + 1;
    r->counter_names = HD_NEWN(c->a, const char *, r->ncounters);
    r->counter_est = HD_NEWN(c->a, double, r->ncounters);
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
        r->counter_names[i] = s->slot >= 0 ? hd_asprintf(c->a, "%s %s", pl_step_name(s->kind), q->slots[s->slot].name)
                                           : pl_step_name(s->kind);
        r->counter_est[i] = s->est;
    }
    r->counter_names[q->nsteps] = "sink";
    r->counter_est[q->nsteps] = sink_est;
}

static void seal_pipeline(struct ctx *c, struct open_pipeline *p, struct pl_pipeline *q, struct rt_pipeline *r, int i)
{
    *r = p->spec;
    r->name = hd_asprintf(c->a, "p%d", i);
    q->spec = r;
    q->source_slot = p->source_slot;
    q->nslots = p->slots.n;
    q->slots = p->slots.v;
    q->nsteps = p->steps.n;
    q->steps = p->steps.v;
    q->sink = p->sink;
    q->framed = p->framed;
    q->loop = p->loop;
    q->first_match = p->first_match;
    seal_levels(c, q);
    q->unoptimised = q->nlevels == 1 && visits_bound(c, q) <= FEW_ROWS;
    seal_touched(c, q);
    seal_writes(c, q);
    seal_reads(c, q);
    seal_counters(c, q, p->est);
    pl_seal_ends(c, q);
    pl_seal_zones(c, q);
    pl_choose_tiering(c, q);
    if (c->opt.profile)
        pl_seal_accesses(c, q);
}

void pl_seal(struct ctx *c)
{
    struct pl_program *g = c->program;
    struct rt_spec *s = g->spec;
    g->nexprs = c->exprs.n;
    g->exprs = c->exprs.v;
    g->npipelines = s->npipelines = c->pipelines.n;
    g->pipelines = HD_NEWN(c->a, struct pl_pipeline, c->pipelines.n);
    s->pipelines = HD_NEWN(c->a, struct rt_pipeline, c->pipelines.n);
    s->nstates = c->states.n;
    s->states = c->states.v;
    s->nargs = c->args.n;
    s->args = c->args.v;
    s->nwords = c->nwords;
    g->gpu_far_args = s->nwords > HDD_PARAMETER_WORDS;
    s->nsites = c->sites.n;
    s->sites = c->sites.v;
    s->turn_morsels = c->opt.turn_morsels;
    g->nnotes = c->notes.n;
    g->notes = c->notes.v;
    g->physical = c->physical;
    g->nnodes = c->nnodes;
    for (int i = 0; i < c->pipelines.n; i++)
        seal_pipeline(c, c->pipelines.v[i], &g->pipelines[i], &s->pipelines[i], i);
    if (c->opt.slices)
        pl_seal_slices(c);
}
