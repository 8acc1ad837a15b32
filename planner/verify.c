/* Checks a program against the rules of pipeline.h. A violation is a fault of the planner. */
#include "planner/pipeline.h"
#include "runtime/base/guard.h"
#include "runtime/base/vec.h"

struct check {
    const struct pl_program *g;
    const struct pl_pipeline *p;
    bool *defined; /* slots */
};

#define CHECK(x, ...) \
    do { \
        if (!(x)) \
            HD_BUG(__VA_ARGS__); \
    } while (0)

static void check_arg(const struct check *k, int arg, const char *what)
{
    CHECK(arg >= -1 && arg < k->g->spec->nargs, "%s: arg %d of %s", k->p->spec->name, arg, what);
}

static void check_expr(const struct check *k, int i)
{
    CHECK(i >= 0 && i < k->g->nexprs, "%s: expression %d", k->p->spec->name, i);
    const struct pl_expr *e = &k->g->exprs[i];
    CHECK(!e->outlined || k->p->framed, "%s: a function for expression %d without a frame", k->p->spec->name, i);
    hd_poll();
    if (e->op == FE_COL) {
        CHECK(e->slot >= 0 && e->slot < k->p->nslots && k->defined[e->slot], "%s: slot %d is read before it is defined",
              k->p->spec->name, e->slot);
        CHECK(e->phys == k->p->slots[e->slot].phys && e->nullable == k->p->slots[e->slot].nullable,
              "%s: slot %d is read as another type", k->p->spec->name, e->slot);
    }
    if (e->op == FE_LIT)
        CHECK(e->is_null || (e->arg >= 0 && k->g->spec->args[e->arg].phys == e->phys),
              "%s: constant without an arg of its type", k->p->spec->name);
    bool same = e->op == FE_ADD || e->op == FE_SUB || e->op == FE_MUL || (e->op >= FE_EQ && e->op <= FE_GE);
    for (int a = 0; a < e->nargs; a++) {
        check_expr(k, e->args[a]);
        const struct pl_expr *x = &k->g->exprs[e->args[a]];
        CHECK(x != e, "%s: expression cycle", k->p->spec->name);
        if (same)
            CHECK(x->phys == k->g->exprs[e->args[0]].phys, "%s: %s of %s and %s", k->p->spec->name, fe_op_name(e->op),
                  rt_phys_name(k->g->exprs[e->args[0]].phys), rt_phys_name(x->phys));
        if (e->op == FE_AND || e->op == FE_OR || e->op == FE_NOT)
            CHECK(x->phys == RT_BOOL, "%s: %s of %s", k->p->spec->name, fe_op_name(e->op), rt_phys_name(x->phys));
        if (e->op == FE_ADD || e->op == FE_SUB || e->op == FE_MUL || e->op == FE_NEG)
            CHECK(x->phys == e->phys, "%s: %s gives another width than it takes", k->p->spec->name, fe_op_name(e->op));
    }
}

static void check_form(const struct check *k, const struct pl_step *s)
{
    enum pl_reads reads = pl_step_form(s->kind)->reads;
    CHECK((s->row_slot >= 0) == (reads == PL_READS_ROW) && (s->expr >= 0) == (reads == PL_READS_EXPR) &&
              (s->nkeys > 0) == (reads == PL_READS_KEYS),
          "%s: %s reads what it has not, or has what it does not read", k->p->spec->name, pl_step_name(s->kind));
    CHECK(!s->splittable || pl_opens_level(s->kind), "%s: %s has no range to split", k->p->spec->name,
          pl_step_name(s->kind));
}

static void check_step(const struct check *k, const struct pl_step *s)
{
    check_form(k, s);
#define X(name) check_arg(k, s->a_##name, pl_step_name(s->kind));
    PL_STEP_ARGS(X)
#undef X
    if (s->row_slot >= 0)
        CHECK(k->defined[s->row_slot] && k->p->slots[s->row_slot].phys == RT_I32,
              "%s: %s looks at slot %d, which is no row", k->p->spec->name, pl_step_name(s->kind), s->row_slot);
    if (s->expr >= 0)
        check_expr(k, s->expr);
    for (int i = 0; i < s->nkeys; i++) {
        check_expr(k, s->keys[i]);
        CHECK(k->g->exprs[s->keys[i]].phys == k->g->spec->states[s->state].fields[i].phys,
              "%s: key %d of %s has another width than the table's", k->p->spec->name, i, pl_step_name(s->kind));
    }
    if (s->kind == PL_STEP_FILTER)
        CHECK(k->g->exprs[s->expr].phys == RT_BOOL, "%s: filter is no bool", k->p->spec->name);
    if (s->kind == PL_STEP_LET)
        CHECK(k->g->exprs[s->expr].phys == k->p->slots[s->slot].phys, "%s: let of another type", k->p->spec->name);
    if (s->slot >= 0) {
        CHECK(s->slot < k->p->nslots && !k->defined[s->slot], "%s: slot %d is defined twice", k->p->spec->name,
              s->slot);
        k->defined[s->slot] = true;
    }
}

static void check_sink(const struct check *k)
{
    const struct pl_sink *s = &k->p->sink;
    CHECK(s->state >= 0 && s->state < k->g->spec->nstates, "%s: no sink", k->p->spec->name);
    CHECK(k->p->spec->nwrites > 0 && k->p->spec->writes[0] == s->state, "%s: the sink's state is not listed",
          k->p->spec->name);
    const struct rt_state *st = &k->g->spec->states[s->state];
    if (s->index >= 0) {
        check_expr(k, s->index);
        CHECK(k->g->exprs[s->index].phys == RT_I64, "%s: index is no int64", k->p->spec->name);
    }
    for (int i = 0; i < s->nouts; i++) {
        const struct pl_out *o = &s->outs[i];
        CHECK(o->field >= 0 && o->field < st->nfields, "%s: field %d", k->p->spec->name, o->field);
        if (o->expr < 0)
            continue;
        check_expr(k, o->expr);
        if (o->fn != FE_AGG_COUNT || !rt_state_aggregates(st->kind))
            CHECK(k->g->exprs[o->expr].phys == st->fields[o->field].phys, "%s: field %s takes %s, gets %s",
                  k->p->spec->name, st->fields[o->field].name, rt_phys_name(st->fields[o->field].phys),
                  rt_phys_name(k->g->exprs[o->expr].phys));
    }
}

/* What is evaluated for rows of a tile at once ends rows or gives them a value, and nothing else. */
static void check_tile(const struct check *k, const struct pl_tile_steps *t)
{
    CHECK(t->steps <= k->p->nsteps, "%s: a tile of %d steps", k->p->spec->name, t->steps);
    for (int i = 0; i < t->steps; i++) {
        const struct pl_step_form *form = pl_step_form(k->p->steps[i].kind);
        CHECK(form->tile, "%s: step %d in a tile", k->p->spec->name, i);
        CHECK(form->yields == PL_YIELDS_ONE || (!t->early[i] && !t->again[i]), "%s: step %d of a tile has no value",
              k->p->spec->name, i);
    }
}

/* Runs of steps hold no step that opens a level; outs are in one run each. */
static void check_parts(const struct check *k)
{
    const struct pl_pipeline *p = k->p;
    int end = HD_MAX(p->cpu_tile.steps, p->gpu_tile.steps), outs = 0;
    CHECK(p->framed || (p->nparts == 0 && p->sink.nparts == 0), "%s: parts without a frame", p->spec->name);
    for (int i = 0; i < p->nparts; i++) {
        const struct pl_part *q = &p->parts[i];
        CHECK(q->first >= end && q->first < q->end && q->end <= p->nsteps, "%s: part %d", p->spec->name, i);
        for (int s = q->first; s < q->end; s++)
            CHECK(!pl_opens_level(p->steps[s].kind), "%s: part %d opens a level", p->spec->name, i);
        end = q->end;
    }
    for (int i = 0; i < p->sink.nparts; i++) {
        const struct pl_part *q = &p->sink.parts[i];
        CHECK(q->first == outs && q->end > outs, "%s: part %d of the sink", p->spec->name, i);
        outs = q->end;
    }
    CHECK(!p->framed || outs == p->sink.nouts, "%s: outs in no part", p->spec->name);
}

/* Ranges lie in the rows, one behind the other. */
static void check_copies(const struct check *k)
{
    const struct pl_sink *s = &k->p->sink;
    int end = 0;
    for (int i = 0; i < s->ncopies; i++) {
        const struct pl_copy *c = &s->copies[i];
        CHECK(c->to >= end && c->bytes > 0 && c->to + c->bytes <= k->g->spec->states[s->state].stride,
              "%s: copy %d leaves the row", k->p->spec->name, i);
        CHECK(c->state < 0 || (c->from >= 0 && c->from + c->bytes <= k->g->spec->states[c->state].stride &&
                               k->defined[c->row_slot]),
              "%s: copy %d of no row", k->p->spec->name, i);
        check_arg(k, c->a_rows, "a copy");
        end = c->to + c->bytes;
    }
}

/* Whole rows are stored over what is there. */
static void check_writers(const struct pl_program *g)
{
    for (int i = 0; i < g->npipelines; i++)
        for (int k = 0; k < g->npipelines; k++)
            CHECK(k == i || !pl_place_row(g->pipelines[i].sink.place)->sole ||
                      g->pipelines[k].sink.state != g->pipelines[i].sink.state,
                  "%s and %s write one state", g->pipelines[i].spec->name, g->pipelines[k].spec->name);
}

void pl_verify(const struct pl_program *g)
{
    for (int i = 0; i < g->npipelines; i++) {
        struct check k = {g, &g->pipelines[i], NULL};
        k.defined = HD_NEWN(g->arena, bool, k.p->nslots + 1);
        k.defined[k.p->source_slot] = true;
        for (int s = 0; s < k.p->nsteps; s++)
            check_step(&k, &k.p->steps[s]);
        check_sink(&k);
        check_tile(&k, &k.p->cpu_tile);
        check_tile(&k, &k.p->gpu_tile);
        check_parts(&k);
        check_copies(&k);
    }
    check_writers(g);
    pl_verify_schedule(g);
}
