/* Each rule of planner/verify_rules.def is broken in a program that was sound, and found by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "planner/physical_table.h"
#include "tests/unit/planner/verify_find.h"
#include "tests/unit/planner/verify_plans.h"

/* ---- ways to break ------------------------------------------------------------------------------------ */

static const struct pl_table *chosen_table(struct prog *b, enum rt_state_kind kind)
{
    struct pl_table *t = HD_NEW(b->a, struct pl_table);
    t->kind = kind;
    return t;
}

/* A field of another type than sort key 0 has. */
static int other_field(struct prog *b)
{
    const struct rt_state *st = searched(b);
    int f = 0;
    while (st->fields[f].phys == st->fields[st->sort[0].field].phys)
        f++;
    return f;
}

static const struct pl_grouping *chosen_groups(struct prog *b, enum rt_state_kind kind)
{
    struct pl_grouping *g = HD_NEW(b->a, struct pl_grouping);
    g->kind = kind;
    return g;
}

/* The constant whose bits are a set. */
static struct rt_arg *word_of_set(struct prog *b)
{
    return &b->g->spec->args[expr_of(b, expr(b, FE_IN_BITS)->args[1])->arg];
}

static void set_arg(struct prog *b, struct pl_expr *e, int i, int to)
{
    int *args = hd_dup(b->a, e->args, sizeof *args * (size_t)e->nargs);
    args[i] = to;
    e->args = args;
}

/* Another expression like this one: nodes are shared. */
static int copy_of(struct prog *b, int e)
{
    struct pl_expr *v = HD_NEWN(b->a, struct pl_expr, b->g->nexprs + 1);
    memcpy(v, b->g->exprs, sizeof *v * (size_t)b->g->nexprs);
    v[b->g->nexprs] = v[e];
    b->g->exprs = v;
    return b->g->nexprs++;
}

/* Tables are constant: the program gets one of its own in the place of one that a step loads from. */
static struct fe_table *own_table(struct prog *b, const struct fe_table *t)
{
    struct fe_table *own = hd_dup(b->a, t, sizeof *own);
    own->cols = hd_dup(b->a, own->cols, sizeof *own->cols * (size_t)own->ncols);
    for (int i = 0; i < b->g->spec->nargs; i++)
        if (b->g->spec->args[i].table == t)
            b->g->spec->args[i].table = own;
    for (int i = 0; i < b->g->npipelines; i++) {
        struct pl_pipeline *p = &b->g->pipelines[i];
        p->spec->table = p->spec->table == t ? own : p->spec->table;
        for (int k = 0; k < p->nsteps; k++)
            p->steps[k].table = p->steps[k].table == t ? own : p->steps[k].table;
        for (int k = 0; k < p->spec->ntouched; k++)
            p->spec->touched[k].table = p->spec->touched[k].table == t ? own : p->spec->touched[k].table;
    }
    return own;
}

static struct pl_step *filter_inside(struct prog *b)
{
    struct pl_step *s = step(b, PL_STEP_FOLD);
    while (s->kind != PL_STEP_FILTER)
        s++;
    return s;
}

/* A lookup in the place of a filter of children. */
static void probe_inside(struct prog *b)
{
    struct pl_step lookup = *step(b, PL_STEP_PROBE_BITMAP);
    lookup.expr = step(b, PL_STEP_FOLD_ADD)->expr;
    *filter_inside(b) = lookup;
}

static void more_children(struct prog *b)
{
    struct fe_table *own = own_table(b, step(b, PL_STEP_FOLD)->table);
    own->fks = hd_dup(b->a, own->fks, sizeof *own->fks * (size_t)own->nfks);
    own->fks[0].max_children = PL_FOLD_CHILDREN + 1;
}

/* A part ends in front of the fold's end. */
static void cut_fold(struct prog *b)
{
    int at = (int)(step(b, PL_STEP_FOLD_END) - b->p->steps), k = 0;
    while (b->p->parts[k].end <= at)
        k++;
    if (k + 1 == b->p->nparts || b->p->parts[k].end != b->p->parts[k + 1].first)
        absent("part", k + 1);
    b->p->parts[k].end = b->p->parts[k + 1].first = at;
}

/* A bound of a loop, of a step that is so many before the end of its tests. */
static void bound_loop(struct prog *b, int before, int slot)
{
    static struct pl_pair_bound bound;
    struct pl_loop *l = &looped(b)->loop;
    bound = (struct pl_pair_bound){.step = l->tested - before, .slot = slot, .most = true};
    l->bounds = &bound;
    l->nbounds = 1;
}

static void add_action(struct prog *b, enum rt_action_kind kind, int index)
{
    struct rt_spec *s = b->g->spec;
    struct rt_action *v = HD_NEWN(b->a, struct rt_action, s->nactions + 1);
    memcpy(v, s->actions, sizeof *v * (size_t)s->nactions);
    v[s->nactions++] = (struct rt_action){.kind = kind, .index = index};
    s->actions = v;
}

static void exchange(struct pl_step *x, struct pl_step *y)
{
    struct pl_step t = *x;
    *x = *y;
    *y = t;
}

static void join_strings_of_no_field(struct rt_state *s)
{
    static const struct rt_text text = {.value = 99};
    s->text = &text;
}

/* The action waits for the columns alone. */
static void wait_for_columns(struct prog *b, struct rt_action *a)
{
    a->nafter = 1;
    a->after = HD_NEW(b->a, int);
}

static struct rt_action *exchange_of(struct prog *b, enum rt_exchange e)
{
    for (int k = 0;; k++) {
        struct rt_action *a = action(b, RT_EXCHANGE, k);
        if (a->exchange == e)
            return a;
    }
}

/* The action does not wait for the other. */
static void drop_edge(struct prog *b, struct rt_action *a, int other)
{
    int *after = hd_dup(b->a, a->after, sizeof *after * (size_t)(a->nafter + 1)), n = 0;
    for (int i = 0; i < a->nafter; i++)
        if (a->after[i] != other)
            after[n++] = a->after[i];
    a->after = after;
    a->nafter = n;
}

/* Of two fragments of rows in order the second does not wait for the first; the finish waits for both. */
static void lose_order(struct prog *b)
{
    struct rt_spec *s = b->g->spec;
    for (int i = 1; i < s->nactions; i++) {
        struct rt_action *a = &s->actions[i];
        if (a->kind != RT_RUN || a->fragment.part != 1 || !s->pipelines[a->index].ordered)
            continue;
        int *both = HD_NEWN(b->a, int, 2);
        both[0] = i - 1;
        both[1] = i;
        drop_edge(b, a, i - 1);
        a[1].nafter = 2;
        a[1].after = both;
    }
}

static void exchange_outs(struct pl_sink *s)
{
    struct pl_out t = s->outs[0];
    s->outs[0] = s->outs[1];
    s->outs[1] = t;
}

/* A load through a row that a left join did not find. */
static struct pl_step *missing_read(struct prog *b)
{
    for (int k = 0;; k++) {
        struct pl_step *s = step_at(b, PL_STEP_LOAD_COLUMN, k);
        if (s->row_nullable)
            return s;
    }
}

static struct pl_step *required_load(struct prog *b)
{
    for (int k = 0;; k++) {
        struct pl_step *s = step_at(b, PL_STEP_LOAD_COLUMN, k);
        if (!b->p->slots[s->slot].nullable)
            return s;
    }
}

/* An operator of one argument around an expression. */
static int around(struct prog *b, int e, enum fe_op op, enum rt_phys p)
{
    int n = copy_of(b, e);
    b->g->exprs[n] = (struct pl_expr){.op = op, .phys = p, .nullable = b->g->exprs[e].nullable, .nargs = 1};
    b->g->exprs[n].args = hd_dup(b->a, &e, sizeof e);
    return n;
}

static void narrow_index(struct prog *b, int *e)
{
    *e = around(b, *e, FE_NARROW, RT_I32);
}

/* A bound that is no word. */
static void narrow_key(struct prog *b)
{
    struct pl_step *s = step(b, PL_STEP_EXPAND_SORTED);
    int *keys = hd_dup(b->a, s->keys, sizeof *keys * (size_t)s->nkeys);
    narrow_index(b, &keys[1]);
    s->keys = keys;
}

/* The first key of a lookup, and what it is stands around it. */
static void key_like(struct prog *b, enum fe_op op, enum rt_phys p)
{
    struct pl_step *s = step(b, PL_STEP_EXPAND_HASH);
    int *keys = hd_dup(b->a, s->keys, sizeof *keys * (size_t)s->nkeys);
    keys[0] = around(b, keys[0], op, p);
    s->keys = keys;
}

static void wrap_out(struct prog *b, struct pl_out *o)
{
    o->expr = around(b, o->expr, FE_COALESCE, b->g->exprs[o->expr].phys);
}

static void nullable_index(struct prog *b)
{
    struct pl_sink *s = sink(b, PL_SINK_AGG_DENSE);
    s->index = copy_of(b, s->index);
    b->g->exprs[s->index].nullable = true;
}

static struct pl_slot *slot_of(struct prog *b, const struct pl_step *s)
{
    return &b->p->slots[s->slot];
}

static void match_bits(struct prog *b)
{
    struct pl_step *s = step(b, PL_STEP_TEST);
    for (int i = 0; i < b->g->spec->nstates; i++)
        if (b->g->spec->states[i].kind == RT_STATE_ROWS && !b->g->spec->states[i].track_matches)
            s->state = i;
    b->p->spec->state = s->state;
    for (int i = 0; i < b->p->nsteps; i++)
        b->p->steps[i].row_slot = -1;
    s->row_slot = b->p->source_slot;
}

/* The step behind the tile is none that a tile can have. */
static void grow_tile(struct prog *b)
{
    struct pl_pipeline *p = tiled(b);
    p->cpu_tile.steps = p->gpu_tile.steps = p->nsteps;
    p->cpu_tile.early = p->cpu_tile.again = p->gpu_tile.early = p->gpu_tile.again = HD_NEWN(b->a, bool, p->nsteps);
    p->cpu_tile.searched = p->gpu_tile.searched = HD_NEWN(b->a, bool, p->nsteps);
}

static void join_parts(struct pl_sink *s)
{
    s->parts[0].end = s->parts[1].end;
    s->parts[1] = s->parts[s->nparts - 1];
    s->nparts--;
}

static struct pl_pipeline *tile_less(struct prog *b)
{
    sink(b, PL_SINK_AGG_DENSE);
    return b->p;
}

/* A field of this type is said to run. */
static void running_field(struct prog *b, enum rt_phys phys, enum rt_merge merge)
{
    struct rt_state *st = &b->g->spec->states[b->g->spec->result_state];
    st->nsort = 0;
    for (int i = 0; i < st->nfields; i++)
        if (st->fields[i].phys == phys) {
            st->merge[i] = merge;
            return;
        }
    absent("field", (int)phys);
}

/* A search that writes a field, among rows without borders. */
static void search_field(struct prog *b, int field)
{
    static struct rt_search search;
    struct rt_state *st = &b->g->spec->states[b->g->spec->result_state];
    search.field = field;
    st->nsearch = 1;
    st->search = &search;
}

static void framed_field(struct prog *b, enum rt_merge merge)
{
    static const struct rt_frame frame = {.nspans = 1, .span = {{.from = {-1, -1}, .to = {-1, -1}}}};
    struct rt_state *st = &b->g->spec->states[b->g->spec->result_state];
    st->nsort = 0;
    st->fields[0].frame = &frame;
    st->merge[0] = merge;
}

/* The first row of all that the program sorts. */
static struct rt_top *top(struct prog *b)
{
    static struct rt_top first;
    struct rt_state *st = &b->g->spec->states[b->g->spec->result_state];
    first = (struct rt_top){.nstated = 1, .limit = 1};
    st->limit = -1;
    st->offset = 0;
    st->top = &first;
    return &first;
}

static struct pl_sink *copier(struct prog *b)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        if (b->p->sink.ncopies > 1)
            return &b->p->sink;
    }
    absent("copies", 0);
}

/* Copies where a hash table's rows are written. */
static void copies_elsewhere(struct prog *b)
{
    struct rt_state *st = &b->g->spec->states[copier(b)->state];
    st->kind = RT_STATE_CSR;
    st->range = 1;
    st->nsort = 0;
}

/* A value that may be NULL for a field without a valid byte. */
static void out_null(struct prog *b)
{
    struct pl_sink *s = &tiled(b)->sink;
    for (int i = 0; i < s->nouts; i++) {
        struct rt_field *f = &b->g->spec->states[s->state].fields[s->outs[i].field];
        if (b->g->exprs[s->outs[i].expr].nullable) {
            f->valid_offset = -1;
            return;
        }
    }
    absent("nullable out", 0);
}

static void touched_key(struct prog *b)
{
    struct rt_pipeline *r = nested(b)->spec;
    for (int i = 0; i < r->ntouched; i++)
        if (r->touched[i].kind == FE_PART_FK)
            r->touched[i].number = 2;
}

/* The last filter of a tile, which no other step uses. */
static struct pl_expr *tile_filter(struct prog *b)
{
    struct pl_pipeline *p = tiled(b);
    return expr_of(b, p->steps[p->cpu_tile.steps - 1].expr);
}

static struct pl_sink *cached_sink(struct prog *b)
{
    for (int i = 0; i < b->g->npipelines; i++)
        if (b->g->pipelines[i].sink.caches[PL_CACHE_BLOCK])
            return &b->g->pipelines[i].sink;
    absent("cache", PL_CACHE_BLOCK);
}

static struct pl_pipeline *sharing(struct prog *b)
{
    for (int i = 0; i < b->g->npipelines; i++)
        if (b->g->pipelines[i].spec->shape == RT_SHAPE_AWS)
            return &b->g->pipelines[i];
    absent("shape", RT_SHAPE_AWS);
}

static struct rt_field *field_of_codes(struct prog *b)
{
    for (int i = 0; i < b->g->spec->nstates; i++)
        for (int k = 0; k < b->g->spec->states[i].nfields; k++)
            if (b->g->spec->states[i].fields[k].dict_table)
                return &b->g->spec->states[i].fields[k];
    absent("field of codes", 0);
}

/* Of a hash table that has been finished long ago. */
static void add_exchange(struct prog *b, enum rt_exchange e, int from, int to)
{
    add_action(b, RT_EXCHANGE, (int)(state(b, RT_STATE_HASH) - b->g->spec->states));
    struct rt_action *a = &b->g->spec->actions[b->g->spec->nactions - 1];
    a->exchange = e;
    a->from = from;
    a->device = to;
}

/* ---- breaking --------------------------------------------------------------------------------------- */

static const char *const rule_names[] = {
#define V_RULE(id, text) #id,
#include "planner/verify_rules.def"
};
enum {
#define V_RULE(id, text) R_##id,
#include "planner/verify_rules.def"
    RULES
};

static const struct {
    int rule;
    enum plan plan;
    const char *how;
} breaks[] = {
#define V_BREAK(rule, plan, statement) {R_##rule, plan, #statement},
#include "tests/unit/planner/verify_breaks.def"
};

static void do_break(struct prog *b, size_t number)
{
    struct pl_program *g = b->g;
    struct rt_spec *s = g->spec;
    enum { BEFORE = __COUNTER__ };
    switch (number) {
#define V_BREAK(rule, plan, statement) \
    case __COUNTER__ - BEFORE - 1: statement; break;
#include "tests/unit/planner/verify_breaks.def"
    }
}

/* ---- tests ------------------------------------------------------------------------------------------ */

static struct pl_program *plan_of(struct hd_arena *a, enum plan plan)
{
    struct pl_options o = {
        .profile = true, .slices = true, .threads = 4, .frame_weight = verify_plans[plan].frame_weight};
    o.fragments = verify_plans[plan].fragments;
    o.devices = verify_plans[plan].devices;
    o.on_gpu = verify_plans[plan].on_gpu;
    return px_plan(a, verify_plans[plan].root, &o);
}

static void sound_programs_pass(void **unused)
{
    (void)unused;
    for (int i = 0; i < PLANS; i++) {
        struct hd_arena a;
        hd_arena_init(&a);
        const char *broken = pl_check(plan_of(&a, (enum plan)i));
        if (broken)
            fail_msg("plan %d: %s", i, broken);
        hd_arena_release(&a);
    }
}

static void broken_rules_are_named(void **unused)
{
    (void)unused;
    int failed = 0;
    for (size_t i = 0; i < HD_COUNT(breaks); i++) {
        struct hd_arena a;
        hd_arena_init(&a);
        struct prog b = {&a, plan_of(&a, breaks[i].plan), NULL};
        b.p = b.g->pipelines;
        const char *name = rule_names[breaks[i].rule];
        do_break(&b, i);
        const char *broken = pl_check(b.g);
        if (!broken || strncmp(broken, name, strlen(name)) != 0 || broken[strlen(name)] != ':') {
            fprintf(stderr, "%s by %s: %s\n", name, breaks[i].how, broken ? broken : "nothing is found");
            failed++;
        }
        hd_arena_release(&a);
    }
    assert_int_equal(failed, 0);
}

static void every_rule_is_broken(void **unused)
{
    (void)unused;
    for (int r = 0; r < RULES; r++) {
        bool found = false;
        for (size_t i = 0; i < HD_COUNT(breaks); i++)
            found |= breaks[i].rule == r;
        if (!found)
            fail_msg("no program breaks rule %s", rule_names[r]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sound_programs_pass), cmocka_unit_test(broken_rules_are_named),
                                       cmocka_unit_test(every_rule_is_broken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
