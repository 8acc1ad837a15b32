/* Each rule of planner/verify_rules.def is broken in a program that was sound, and found by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/planner/verify_plans.h"

/* ---- parts of a program ---------------------------------------------------------------------------- */

struct prog {
    struct hd_arena *a;
    struct pl_program *g;
    struct pl_pipeline *p; /* of what was found last */
};

_Noreturn static void absent(const char *what, int kind)
{
    fprintf(stderr, "no %s %d in this program\n", what, kind);
    abort();
}

/* The k-th step of a kind. */
static struct pl_step *step_at(struct prog *b, enum pl_step_kind kind, int k)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        for (int s = 0; s < b->p->nsteps; s++)
            if (b->p->steps[s].kind == kind && k-- == 0)
                return &b->p->steps[s];
    }
    absent("step", (int)kind);
}

static struct pl_step *step(struct prog *b, enum pl_step_kind kind)
{
    return step_at(b, kind, 0);
}

static struct pl_sink *sink(struct prog *b, enum pl_sink_kind kind)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        if (b->p->sink.kind == kind)
            return &b->p->sink;
    }
    absent("sink", (int)kind);
}

static struct rt_state *state(struct prog *b, enum rt_state_kind kind)
{
    for (int i = 0; i < b->g->spec->nstates; i++)
        if (b->g->spec->states[i].kind == kind)
            return &b->g->spec->states[i];
    absent("state", (int)kind);
}

static struct rt_arg *arg(struct prog *b, enum rt_arg_kind kind)
{
    for (int i = 0; i < b->g->spec->nargs; i++)
        if (b->g->spec->args[i].kind == kind)
            return &b->g->spec->args[i];
    absent("argument", (int)kind);
}

static struct pl_expr *below(struct prog *b, int e, enum fe_op op)
{
    struct pl_expr *x = &b->g->exprs[e], *found = x->op == op ? x : NULL;
    for (int i = 0; i < x->nargs && !found; i++)
        found = below(b, x->args[i], op);
    return found;
}

/* An expression that some pipeline evaluates. */
static struct pl_expr *expr(struct prog *b, enum fe_op op)
{
    struct pl_expr *x = NULL;
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        for (int s = 0; s < b->p->nsteps && !x; s++)
            x = b->p->steps[s].expr >= 0 ? below(b, b->p->steps[s].expr, op) : NULL;
        for (int s = 0; s < b->p->sink.nouts && !x; s++)
            x = b->p->sink.outs[s].expr >= 0 ? below(b, b->p->sink.outs[s].expr, op) : NULL;
        if (x)
            return x;
    }
    absent("expression", (int)op);
}

static struct pl_expr *expr_of(struct prog *b, int e)
{
    return &b->g->exprs[e];
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
    }
    return own;
}

static struct pl_pipeline *framed(struct prog *b, bool many_parts)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        if (b->p->framed && (!many_parts || b->p->nparts > 1))
            return b->p;
    }
    absent("framed pipeline", many_parts);
}

static struct pl_pipeline *nested(struct prog *b)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        if (b->p->nlevels > 1)
            return b->p;
    }
    absent("level", 1);
}

static struct pl_pipeline *tiled(struct prog *b)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        if (b->p->cpu_tile.steps)
            return b->p;
    }
    absent("tile", 0);
}

static struct pl_pipeline *looped(struct prog *b)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        if (b->p->loop.rows)
            return b->p;
    }
    absent("loop over pairs", 0);
}

static struct rt_action *action(struct prog *b, enum rt_action_kind kind, int k)
{
    for (int i = 0; i < b->g->spec->nactions; i++)
        if (b->g->spec->actions[i].kind == kind && k-- == 0)
            return &b->g->spec->actions[i];
    absent("action", (int)kind);
}

static void add_action(struct prog *b, enum rt_action_kind kind, int index)
{
    struct rt_spec *s = b->g->spec;
    struct rt_action *v = HD_NEWN(b->a, struct rt_action, s->nactions + 1);
    memcpy(v, s->actions, sizeof *v * (size_t)s->nactions);
    v[s->nactions++] = (struct rt_action){.kind = kind, .index = index};
    s->actions = v;
}

/* ---- ways to break ------------------------------------------------------------------------------------ */

static void exchange(struct pl_step *x, struct pl_step *y)
{
    struct pl_step t = *x;
    *x = *y;
    *y = t;
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

/* ---- breaking --------------------------------------------------------------------------------------- */

/* X(rule, plan, statement): `b` is the program, `g` its lists, `s` its spec */
#define BREAKS(X) \
    X(PROGRAM_PIPELINES, SCAN, s->npipelines--) \
    X(PROGRAM_PIPELINES, SCAN, g->pipelines[0].spec = &s->pipelines[1]) \
    X(SOURCE, SCAN, tiled(b)->spec->table = NULL) \
    X(SOURCE, GROUP, g->pipelines[1].spec->source = RT_SOURCE_ROWS) \
    X(SOURCE, SCAN, sink(b, PL_SINK_ARRAY); b->p->spec->column = 0) \
    X(SOURCE_SLOT, SCAN, tiled(b)->source_slot = tiled(b)->nslots) \
    X(SOURCE_SLOT, SCAN, tiled(b)->slots[tiled(b)->source_slot].phys = RT_I64) \
    X(EXPR_INDEX, SCAN, step(b, PL_STEP_FILTER)->expr = g->nexprs) \
    X(EXPR_INDEX, SCAN, set_arg(b, expr(b, FE_GT), 0, -1)) \
    X(EXPR_CYCLE, SCAN, set_arg(b, expr(b, FE_GT), 0, (int)(expr(b, FE_GT) - g->exprs))) \
    X(EXPR_OP, SCAN, expr(b, FE_GT)->op = FE_PARAM) \
    X(EXPR_OP, SCAN, expr(b, FE_GT)->op = FE_OP_COUNT) \
    X(EXPR_ARITY, SCAN, expr(b, FE_GT)->nargs = 1) \
    X(EXPR_ARITY, SCAN, expr(b, FE_LIKE)->op = FE_SUBSTRING; expr(b, FE_SUBSTRING)->phys = RT_STR) \
    X(EXPR_TYPE, SCAN, expr(b, FE_GT)->phys = RT_I32) \
    X(EXPR_TYPE, SCAN, expr(b, FE_RESCALE)->phys = RT_I128) \
    X(EXPR_TYPE, SCAN, expr(b, FE_CAST)->in_type = hd_type_of(HD_DATE)) \
    X(EXPR_TYPE, SCAN, expr_of(b, expr(b, FE_GT)->args[1])->phys = RT_I64; arg(b, RT_ARG_CONST)->phys = RT_I64) \
    X(EXPR_NULL, SCAN, expr(b, FE_GT)->nullable = false) \
    X(EXPR_OUTLINED, SCAN, expr(b, FE_GT)->outlined = true) \
    X(EXPR_FAIL, WIDE, expr(b, FE_MUL)->path = s->nsites) \
    X(EXPR_FAIL, SCAN, expr(b, FE_GT)->fail = true) \
    X(EXPR_SCALE, SCAN, expr(b, FE_RESCALE)->scale = -1) \
    X(EXPR_SCALE, WIDE, expr(b, FE_MUL)->limit_digits = 39) \
    X(EXPR_SATURATE, WIDE, expr(b, FE_RESCALE)->fail = true) \
    X(EXPR_SATURATE, SCAN, expr(b, FE_RESCALE)->saturate = true) \
    X(EXPR_SLOT, SCAN, expr(b, FE_COL)->slot = 1000) \
    X(EXPR_SLOT, SCAN, expr(b, FE_COL)->nullable ^= true) \
    X(LITERAL_NULL, SCAN, expr(b, FE_LIT)->nullable = true; expr(b, FE_GT)->nullable = true) \
    X(LITERAL_ARG, SCAN, expr(b, FE_LIT)->arg = -1) \
    X(LITERAL_ARG, SCAN, arg(b, RT_ARG_CONST)->phys = RT_F64) \
    X(SET_ARG, SCAN, arg(b, RT_ARG_SET)->phys = RT_I64) \
    X(SET_ARG, SCAN, expr(b, FE_IN_SET)->arg = 0) \
    X(LIKE_ARG, SCAN, expr(b, FE_LIKE)->arg = -1) \
    X(DICT_ARG, SCAN, expr(b, FE_DICT_STRING)->arg2 = expr(b, FE_DICT_STRING)->arg) \
    X(LOOKUP_STATE, SCAN, expr(b, FE_LOOKUP)->state = s->result_state) \
    X(LOOKUP_STATE, SCAN, expr(b, FE_LOOKUP)->arg = -1) \
    X(SLOT_TWICE, SCAN, step_at(b, PL_STEP_LOAD_COLUMN, 1)->slot = step(b, PL_STEP_LOAD_COLUMN)->slot) \
    X(SLOT_TWICE, SCAN, tiled(b); step(b, PL_STEP_LOAD_COLUMN)->slot = b->p->source_slot) \
    X(SLOT_DEFINED, SCAN, exchange(step(b, PL_STEP_LOAD_COLUMN), step(b, PL_STEP_FILTER))) \
    X(ROW_OF, PARENT, step_at(b, PL_STEP_LOAD_COLUMN, 0)->table = px_table("tiny")) \
    X(ROW_OF, DIRECT, step(b, PL_STEP_LOAD_FIELD); step(b, PL_STEP_LOAD_FIELD)->row_slot = b->p->source_slot) \
    X(ROW_MISSING, LEFT, missing_read(b)->row_nullable = false) \
    X(STEP_KIND, SCAN, step(b, PL_STEP_FILTER)->kind = PL_STEP_COUNT) \
    X(STEP_LEVEL, PARENT, step(b, PL_STEP_EXPAND_FK)->level = 1) \
    X(STEP_SLOT, SCAN, step(b, PL_STEP_LOAD_COLUMN)->slot = -1) \
    X(STEP_SLOT, SCAN, step(b, PL_STEP_FILTER)->slot = 0) \
    X(STEP_SLOT, SEMI, step(b, PL_STEP_PROBE_BITMAP)->slot = 0) \
    X(STEP_ROW, SCAN, step(b, PL_STEP_LOAD_COLUMN)->row_slot = -1) \
    X(STEP_ROW, SCAN, step(b, PL_STEP_FILTER)->row_slot = 0) \
    X(STEP_ROW, GROUP, step(b, PL_STEP_LOAD_FIELD); step(b, PL_STEP_LOAD_FIELD)->row_slot = b->p->nslots - 1) \
    X(STEP_SPLIT, SCAN, step(b, PL_STEP_FILTER)->splittable = true) \
    X(STEP_TABLE, SCAN, step(b, PL_STEP_LOAD_COLUMN)->table = NULL) \
    X(STEP_COLUMN, SCAN, step(b, PL_STEP_LOAD_COLUMN)->column = 6) \
    X(STEP_INDEX, ARRAY, step(b, PL_STEP_PROBE_KEY)->index = 1) \
    X(STEP_INDEX, PARENT, step(b, PL_STEP_EXPAND_FK)->index = 2) \
    X(STEP_STATE, SEMI, step(b, PL_STEP_PROBE_BITMAP)->state = s->nstates) \
    X(STEP_STATE, SCAN, step(b, PL_STEP_FILTER)->state = 0) \
    X(STEP_FIELD, GROUP, step(b, PL_STEP_LOAD_FIELD)->field = 9) \
    X(STEP_EXPR, SCAN, step(b, PL_STEP_FILTER)->expr = -1) \
    X(STEP_EXPR, SCAN, step(b, PL_STEP_LOAD_COLUMN)->expr = 0) \
    X(STEP_KEYS, HASH, step(b, PL_STEP_EXPAND_HASH)->nkeys = 0) \
    X(STEP_KEYS, SCAN, step(b, PL_STEP_FILTER)->nkeys = 1) \
    X(KEY_TYPE, HASH, key_like(b, FE_WIDEN, RT_I64)) \
    X(INDEX_TYPE, SEMI, narrow_index(b, &step(b, PL_STEP_PROBE_BITMAP)->expr)) \
    X(INDEX_TYPE, SEMI, narrow_index(b, &sink(b, PL_SINK_BITMAP)->index)) \
    X(FILTER_TYPE, SCAN, step(b, PL_STEP_FILTER)->expr = expr(b, FE_GT)->args[0]) \
    X(LET_TYPE, WIDE, slot_of(b, step(b, PL_STEP_LET))->phys = RT_BOOL) \
    X(COLUMN_TYPE, TOTAL, own_table(b, step(b, PL_STEP_LOAD_COLUMN)->table)->cols[4].storage = FE_STORE_F64) \
    X(FIELD_TYPE, GROUP, step(b, PL_STEP_LOAD_FIELD)->field = 2) \
    X(LOAD_NULL, COPIES, required_load(b)->row_nullable = true) \
    X(PROBE_KIND, HASH, step(b, PL_STEP_EXPAND_HASH)->probe = PL_ANTI) \
    X(PROBE_KIND, SEMI, step(b, PL_STEP_PROBE_BITMAP)->probe = PL_LEFT) \
    X(PROBE_SLOT, ARRAY, slot_of(b, step(b, PL_STEP_PROBE_KEY))->nullable = true) \
    X(PROBE_ONE, LEFT, state(b, RT_STATE_HASH)->unique = false) \
    X(MATCH_BITS, FULL, match_bits(b)) \
    X(ARG_INDEX, SCAN, step(b, PL_STEP_LOAD_COLUMN)->a_data = s->nargs) \
    X(ARG_INDEX, SEMI, sink(b, PL_SINK_BITMAP)->a_bits = s->nargs) \
    X(ARG_MISSING, SCAN, step(b, PL_STEP_LOAD_COLUMN)->a_data = -1) \
    X(ARG_MISSING, PARENT, step(b, PL_STEP_EXPAND_FK)->a_child_rows = -1) \
    X(ARG_MISSING, DIRECT, sink(b, PL_SINK_DIRECT)->a_fields = NULL) \
    X(ARG_EXTRA, SCAN, step(b, PL_STEP_LOAD_COLUMN)->a_matches = 0) \
    X(ARG_EXTRA, TOTAL, sink(b, PL_SINK_AGG_SCALAR)->a_rows = 0) \
    X(ARG_KIND, SCAN, step(b, PL_STEP_LOAD_COLUMN)->a_data = step(b, PL_STEP_LOAD_COLUMN)->a_valid) \
    X(ARG_KIND, SEMI, sink(b, PL_SINK_BITMAP)->a_bits = step(b, PL_STEP_PROBE_BITMAP)->a_range) \
    X(ARG_SUBJECT, SCAN, step(b, PL_STEP_LOAD_COLUMN)->a_data = step_at(b, PL_STEP_LOAD_COLUMN, 1)->a_data) \
    X(LEVEL_COUNT, PARENT, nested(b)->nlevels = 1) \
    X(LEVEL_COUNT, PARENT, nested(b)->spec->nlevels = 1) \
    X(LEVEL_FIRST, PARENT, nested(b)->levels[1].first_step++) \
    X(LEVEL_SLOTS, PARENT, nested(b)->levels[1].nslots--) \
    X(LEVEL_SLOTS, PARENT, nested(b)->levels[1].slots[0] = step(b, PL_STEP_EXPAND_FK)->slot) \
    X(LEVEL_BYTES, PARENT, nested(b)->levels[1].tuple_bytes = 1) \
    X(TILE_COUNT, SCAN, tiled(b)->cpu_tile.steps = 99) \
    X(TILE_COUNT, GROUP, g->pipelines[1].cpu_tile.steps = 1) \
    X(TILE_STEP, SCAN, grow_tile(b)) \
    X(TILE_LOAD, SCAN, tiled(b); b->p->cpu_tile.early[b->p->cpu_tile.steps - 1] = true) \
    X(TILE_END, SCAN, tiled(b)->cpu_tile.steps--; tiled(b)->gpu_tile.steps--) \
    X(PART_FRAME, SCAN, b->p = tiled(b); b->p->nparts = 1; b->p->parts = HD_NEW(b->a, struct pl_part)) \
    X(PART_STEPS, FRAME, framed(b, true)->parts[1].first++) \
    X(PART_STEPS, FRAME, framed(b, true)->nparts--) \
    X(PART_OUTS, FRAME, framed(b, true)->sink.nparts--) \
    X(PART_OUTS, FRAME, join_parts(&framed(b, true)->sink)) \
    X(FRAME_INDEX, GROUP, tile_less(b)->framed = true) \
    X(FRAME_KEYS, FRAME, framed(b, true); wrap_out(b, &b->p->sink.outs[0])) \
    X(FRAME_KEYS, KEYS, key_like(b, FE_COALESCE, RT_I64)) \
    X(SINK_KIND, SCAN, tiled(b)->sink.kind = (enum pl_sink_kind)(PL_SINK_ARRAY + 1)) \
    X(SINK_STATE, SCAN, tiled(b)->sink.state = -1) \
    X(SINK_STATE, GROUP, sink(b, PL_SINK_AGG_DENSE)->state = s->result_state) \
    X(SINK_INDEX, SEMI, sink(b, PL_SINK_BITMAP)->index = -1) \
    X(SINK_INDEX, SCAN, tiled(b)->sink.index = step(b, PL_STEP_FILTER)->expr) \
    X(SINK_INDEX_NULL, GROUP, nullable_index(b)) \
    X(OUT_FIELD, SCAN, tiled(b)->sink.outs[0].field = 99) \
    X(OUT_ONCE, SCAN, tiled(b)->sink.outs[0].field = 1) \
    X(OUT_ONCE, SCAN, tiled(b)->sink.nouts--) \
    X(OUT_ONCE, COPIES, copier(b)->ncopies--) \
    X(OUT_EXPR, SCAN, tiled(b)->sink.outs[0].expr = -1) \
    X(OUT_TYPE, SCAN, tiled(b)->sink.outs[0].expr = step(b, PL_STEP_FILTER)->expr) \
    X(OUT_NULL, SCAN, out_null(b)) \
    X(OUT_FUNCTION, GROUP, sink(b, PL_SINK_AGG_DENSE)->outs[0].fn = FE_AGG_MIN) \
    X(OUT_FUNCTION, GROUP, sink(b, PL_SINK_AGG_DENSE)->outs[0].fn = FE_AGG_AVG) \
    X(OUT_KEYS, HASHED, exchange_outs(sink(b, PL_SINK_AGG_HASH))) \
    X(OUT_NARROW, GROUP, sink(b, PL_SINK_AGG_DENSE)->outs[0].narrow = true) \
    X(COPY_SINK, COPIES, copies_elsewhere(b)) \
    X(COPY_ORDER, COPIES, copier(b)->copies[0].bytes++) \
    X(COPY_SOURCE, COPIES, copier(b)->copies[0].from = 100000) \
    X(COPY_SOURCE, COPIES, copier(b)->copies[0].state = s->nstates) \
    X(PLACE, GROUP, sink(b, PL_SINK_AGG_DENSE)->place = PL_PLACE_REGISTERS) \
    X(PLACE, GROUP, sink(b, PL_SINK_AGG_DENSE)->place_size = 0) \
    X(PLACE, BLOCK, sink(b, PL_SINK_AGG_DENSE)->place_size = 8) \
    X(PLACE, TOTAL, sink(b, PL_SINK_AGG_SCALAR)->place = PL_PLACE_BLOCK) \
    X(PLACE_SOLE, RUNS, sink(b, PL_SINK_AGG_DENSE)->clustered = false) \
    X(PLACE_CACHE, HOT, g->pipelines[1].sink.caches[0] = true) \
    X(SINK_ATOMIC, SHARED, sink(b, PL_SINK_AGG_DENSE)->atomic = false) \
    X(SINK_CLUSTERED, SCAN, tiled(b)->sink.clustered = true) \
    X(WRITES, SCAN, tiled(b)->spec->nwrites = 0) \
    X(WRITES, FULL, step(b, PL_STEP_MARK); b->p->spec->nwrites--) \
    X(TOUCHED, SCAN, tiled(b)->spec->touched[0].number = 6) \
    X(TOUCHED, PARENT, touched_key(b)) \
    X(TOUCHED, SCAN, tiled(b)->spec->touched[0] = tiled(b)->spec->touched[1]) \
    X(TOUCHED_ALL, SCAN, tiled(b)->spec->ntouched--) \
    X(TOUCHED_ALL, SCAN, sink(b, PL_SINK_ARRAY); b->p->spec->ntouched = 0) \
    X(TOUCHED_ALL, ARRAY, step(b, PL_STEP_PROBE_KEY); b->p->spec->ntouched = 0) \
    X(COUNTERS, SCAN, tiled(b)->spec->ncounters--) \
    X(LOOP, PAIRS, looped(b)->loop.rows = 3) \
    X(LOOP, PAIRS, looped(b)->spec->ordered = true; looped(b)->spec->balance = RT_BALANCE_NONE) \
    X(LOOP_OTHERS, PAIRS, looped(b)->loop.others = 9) \
    X(LOOP_OTHERS, PAIRS, looped(b)->loop.others++) \
    X(LOOP_TESTS, PAIRS, looped(b)->loop.tested--) \
    X(LOOP_FUSED, PAIRS, looped(b)->sink.place = PL_PLACE_MEMORY) \
    X(SHAPE, SCAN, tiled(b)->spec->shape = RT_SHAPE_NIFS) \
    X(SHAPE, PAIRS, looped(b)->spec->shape = RT_SHAPE_AWS) \
    X(SHAPE, SCAN, tiled(b)->spec->shape = RT_SHAPE_ALL_ROWS) \
    X(BALANCE, SCAN, tiled(b)->spec->balance = RT_BALANCE_AUTO) \
    X(BALANCE, SCAN, tiled(b)->spec->balance = RT_BALANCE_AWS) \
    X(ORDERED, SCAN, tiled(b)->spec->ordered = true; tiled(b)->spec->balance = RT_BALANCE_NIFS) \
    X(STATE_KIND, SCAN, s->states[0].kind = (enum rt_state_kind)(RT_STATE_ARRAY + 1)) \
    X(STATE_KEYS, HASHED, state(b, RT_STATE_AGG_HASH)->nkeys = 9) \
    X(STATE_KEYS, SCAN, state(b, RT_STATE_ROWS)->nkeys = 1) \
    X(STATE_RANGE, SEMI, state(b, RT_STATE_BITMAP)->range = 0) \
    X(STATE_STRIDE, SCAN, state(b, RT_STATE_ROWS)->stride++) \
    X(STATE_STRIDE, HASHED, state(b, RT_STATE_AGG_HASH)->stride += 8) \
    X(STATE_LAYOUT, SCAN, state(b, RT_STATE_ROWS)->fields[0].offset = 100000) \
    X(STATE_LAYOUT, SCAN, state(b, RT_STATE_ROWS)->fields[1].offset = state(b, RT_STATE_ROWS)->fields[0].offset) \
    X(STATE_LAYOUT, HASHED, state(b, RT_STATE_HASH)->fields[0].offset = 0) \
    X(STATE_LAYOUT, GROUP, state(b, RT_STATE_AGG_DENSE)->fields[1].offset++) \
    X(STATE_MERGE, GROUP, state(b, RT_STATE_AGG_DENSE)->merge[0] = RT_MERGE_KEY) \
    X(STATE_MERGE, TOTAL, state(b, RT_STATE_AGG_SCALAR)->merge[0] = RT_MERGE_MAX; \
      state(b, RT_STATE_AGG_SCALAR)->fields[0].valid_offset = -1) \
    X(STATE_SHARED, GROUP, state(b, RT_STATE_AGG_DENSE)->shared = true) \
    X(STATE_SHARED, SCAN, state(b, RT_STATE_ROWS)->shared = true) \
    X(STATE_CSR_INDEX, CSR, state(b, RT_STATE_CSR)->fields[0].phys = RT_I32) \
    X(STATE_ROWS_ONLY, TOTAL, state(b, RT_STATE_AGG_SCALAR)->limit = 5) \
    X(STATE_SORT, SCAN, state(b, RT_STATE_ROWS)->sort[0].field = 99) \
    X(STATE_LIMIT, SCAN, state(b, RT_STATE_ROWS)->limit = -2) \
    X(STATE_VALUES, VALUES, s->states[0].values = NULL) \
    X(ARG_WORDS, SCAN, s->args[1].word++) \
    X(ARG_WORDS, SCAN, s->nwords++) \
    X(ARG_TABLE, SCAN, arg(b, RT_ARG_COL_DATA)->column = 6) \
    X(ARG_TABLE, ARRAY, arg(b, RT_ARG_KEYIDX_MIN)->index = 1) \
    X(ARG_TABLE, SCAN, arg(b, RT_ARG_DICT_BYTES)->column = 0) \
    X(ARG_STATE, SEMI, arg(b, RT_ARG_STATE_BITS)->state = s->result_state) \
    X(ARG_STATE, FULL, s->states[arg(b, RT_ARG_STATE_MATCHES)->state].track_matches = false) \
    X(ARG_FIELD, DIRECT, arg(b, RT_ARG_STATE_FIELD)->index = 99) \
    X(ARG_SET, SCAN, arg(b, RT_ARG_SET)->set = NULL) \
    X(ACTION_INDEX, SCAN, action(b, RT_RUN, 0)->index = g->npipelines) \
    X(ACTION_INDEX, SCAN, action(b, RT_FINISH, 0)->index = -1) \
    X(ACTION_DEVICE, SCAN, action(b, RT_RUN, 0)->device = 1) \
    X(ACTION_DEVICE, DEVICES, exchange_of(b, RT_EXCHANGE_GATHER)->from = 0) \
    X(ACTION_EDGES, SCAN, wait_for_columns(b, &s->actions[0])) \
    X(FRAGMENTS, SCAN, add_action(b, RT_RUN, 0)) \
    X(FRAGMENTS, SCAN, action(b, RT_RUN, 0)->fragment.parts = 2) \
    X(FRAGMENTS, SCAN, s->nactions = 0) \
    X(RUN_ORDERED, ORDER, lose_order(b)) \
    X(UPLOADED, SCAN, action(b, RT_RUN, 0)->nafter = 0) \
    X(FINISH_ONCE, SCAN, add_action(b, RT_FINISH, 0)) \
    X(FINISH_LAST, SCAN, s->nactions--) \
    X(FINISH_LAST, SCAN, wait_for_columns(b, action(b, RT_FINISH, 0))) \
    X(GATHERED, DEVICES, exchange_of(b, RT_EXCHANGE_GATHER)->exchange = RT_EXCHANGE_GATHER_MATCHES) \
    X(READ_FINISHED, GROUP, wait_for_columns(b, action(b, RT_RUN, 1))) \
    X(BROADCAST, DEVICES, state(b, RT_STATE_HASH)->distribution = RT_SINGLE) \
    X(MARKS_SEEN, MARKS, exchange_of(b, RT_EXCHANGE_GATHER_MATCHES)->exchange = RT_EXCHANGE_BROADCAST_MATCHES) \
    X(FREE_WAITS, DEVICES, action(b, RT_FREE, 0)->nafter = 0) \
    X(READS, GROUP, g->pipelines[1].spec->nreads--) \
    X(READS, GROUP, g->pipelines[1].spec->reads[0] = s->result_state) \
    X(RESULT_STATE, SCAN, s->result_state = -1) \
    X(RESULT_FIELD, SCAN, s->result[0].field = 99) \
    X(RESULT_FIELD, SCAN, s->result[0].type = hd_type_of(HD_FLOAT64))

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
#define X(rule, plan, statement) {R_##rule, plan, #statement},
    BREAKS(X)
#undef X
};

static void do_break(struct prog *b, size_t number)
{
    struct pl_program *g = b->g;
    struct rt_spec *s = g->spec;
    enum { BEFORE = __COUNTER__ };
    switch (number) {
#define X(rule, plan, statement) \
    case __COUNTER__ - BEFORE - 1: statement; break;
        BREAKS(X)
#undef X
    }
}

/* ---- tests ------------------------------------------------------------------------------------------ */

static struct pl_program *plan_of(struct hd_arena *a, enum plan plan)
{
    struct pl_options o = {.threads = 4, .frame_weight = verify_plans[plan].frame_weight};
    o.fragments = verify_plans[plan].fragments;
    o.devices = verify_plans[plan].devices;
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
