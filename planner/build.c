/* Growing a program: expressions, args, slots, steps, states, pipelines. No decisions here. */
#include <stdarg.h>
#include <stdlib.h>

#include "planner/build.h"
#include "planner/physical.h"
#include "runtime/base/strbuf.h"

int pb_expr(struct ctx *c, struct pl_expr e)
{
    hd_vec_push(c->a, &c->exprs, e);
    return c->exprs.n - 1;
}

/* ---- finding what is there already ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
    return h ^ h >> 32;
}

/* The place of a number with this hash: the first that is taken by an equal thing, or free. */
static int *index_place(struct pl_index *x, uint64_t hash, bool (*same)(const struct ctx *, int, const void *),
                        const struct ctx *c, const void *key)
{
    for (uint64_t i = hash;; i++) {
        int *place = &x->places[i & (uint64_t)(x->cap - 1)];
        if (!*place || same(c, *place - 1, key))
            return place;
    }
}

/* Room for one more; what is there goes to new places. */
static void index_grow(struct ctx *c, struct pl_index *x, uint64_t (*hash)(const struct ctx *, int))
{
    enum { MIN = 64 };
    if (x->n * 2 < x->cap)
        return;
    int had = x->cap, *old = x->places;
    x->cap = had ? had * 2 : MIN;
    x->places = HD_NEWN(c->a, int, x->cap);
    for (int i = 0; i < had; i++) {
        if (!old[i])
            continue;
        uint64_t k = hash(c, old[i] - 1);
        while (x->places[k & (uint64_t)(x->cap - 1)])
            k++;
        x->places[k & (uint64_t)(x->cap - 1)] = old[i];
    }
}

static uint64_t hash_text(const char *s)
{
    uint64_t h = 0;
    for (; *s; s++)
        h = mix(h, (unsigned char)*s);
    return h;
}

static uint64_t mix_type(uint64_t h, struct hd_type t)
{
    return mix(h, (uint64_t)t.kind | (uint64_t)t.precision << 8 | (uint64_t)t.scale << 16);
}

static uint64_t hash_of_site(const struct rt_site *s)
{
    uint64_t h = mix(hash_text(s->path), (uint64_t)s->form);
    h = mix_type(mix_type(mix_type(h, s->to), s->from[0]), s->from[1]);
    return s->function ? mix(h, hash_text(s->function)) : h;
}

static uint64_t hash_site(const struct ctx *c, int i)
{
    return hash_of_site(&c->sites.v[i]);
}

static bool same_site(const struct ctx *c, int i, const void *key)
{
    const struct rt_site *x = &c->sites.v[i], *y = key;
    return x->form == y->form && hd_type_eq(x->to, y->to) && hd_type_eq(x->from[0], y->from[0]) &&
           hd_type_eq(x->from[1], y->from[1]) && strcmp(x->path, y->path) == 0 &&
           strcmp(x->function ? x->function : "", y->function ? y->function : "") == 0;
}

int pb_site(struct ctx *c, struct rt_site s)
{
    index_grow(c, &c->site_index, hash_site);
    int *place = index_place(&c->site_index, hash_of_site(&s), same_site, c, &s);
    if (*place)
        return *place - 1;
    hd_vec_push(c->a, &c->sites, s);
    c->site_index.n++;
    return (*place = c->sites.n) - 1;
}

int pb_path(struct ctx *c, const char *path)
{
    return pb_site(c, (struct rt_site){.path = path});
}

static uint64_t hash_of_arg(const struct rt_arg *x)
{
    uint64_t h = mix((uint64_t)x->kind, (uint64_t)x->phys);
    h = mix(mix(h, (uint64_t)(uintptr_t)x->table), (uint64_t)x->column);
    return mix(mix(h, (uint64_t)x->index), (uint64_t)x->state);
}

static uint64_t hash_arg(const struct ctx *c, int i)
{
    return hash_of_arg(&c->args.v[i]);
}

static bool same_arg(const struct ctx *c, int i, const void *key)
{
    const struct rt_arg *x = &c->args.v[i], *y = key;
    return x->kind == y->kind && x->phys == y->phys && x->table == y->table && x->column == y->column &&
           x->index == y->index && x->state == y->state;
}

static int add_arg(struct ctx *c, struct rt_arg a)
{
    a.word = c->nwords;
    c->nwords += rt_arg_words(&a);
    hd_vec_push(c->a, &c->args, a);
    return c->args.n - 1;
}

int pb_arg(struct ctx *c, struct rt_arg a)
{
    /* Two equal constants today may differ under other parameters. */
    if (rt_arg_group(a.kind) == RT_ARGS_PLAN)
        return add_arg(c, a);
    index_grow(c, &c->arg_index, hash_arg);
    int *place = index_place(&c->arg_index, hash_of_arg(&a), same_arg, c, &a);
    if (!*place) {
        *place = add_arg(c, a) + 1;
        c->arg_index.n++;
    }
    return *place - 1;
}

int pb_arg_state(struct ctx *c, enum rt_arg_kind k, int state, int index)
{
    return pb_arg(c, (struct rt_arg){.kind = k, .phys = RT_I64, .state = state, .index = index});
}

int pb_arg_column(struct ctx *c, enum rt_arg_kind k, const struct fe_table *t, int column)
{
    return pb_arg(c, (struct rt_arg){.kind = k, .phys = RT_I64, .table = t, .column = column, .state = -1});
}

int pb_arg_table(struct ctx *c, enum rt_arg_kind k, const struct fe_table *t, int index)
{
    return pb_arg(c, (struct rt_arg){.kind = k, .phys = RT_I64, .table = t, .column = -1, .index = index, .state = -1});
}

int pb_const_int(struct ctx *c, enum rt_phys p, hd_i128 v)
{
    int arg = pb_arg(c, (struct rt_arg){.kind = RT_ARG_CONST, .phys = p, .state = -1, .i = v});
    return pb_expr(c, (struct pl_expr){.op = FE_LIT, .phys = p, .arg = arg, .slot = -1, .state = -1});
}

int pb_null(struct ctx *c, enum rt_phys p)
{
    return pb_expr(c,
                   (struct pl_expr){
                       .op = FE_LIT, .phys = p, .arg = -1, .slot = -1, .state = -1, .nullable = true, .is_null = true});
}

int pb_op(struct ctx *c, enum fe_op op, enum rt_phys p, bool nullable, int nargs, const int *args)
{
    struct pl_expr e = {.op = op,
                        .phys = p,
                        .nullable = nullable,
                        .nargs = nargs,
                        .slot = -1,
                        .arg = -1,
                        .arg2 = -1,
                        .state = -1,
                        .scale = -1};
    e.args = hd_dup(c->a, args, sizeof *args * (size_t)nargs);
    return pb_expr(c, e);
}

int pb_slot(struct ctx *c, struct open_pipeline *p, const char *name, enum rt_phys phys, bool nullable)
{
    hd_vec_push(c->a, &p->slots, (struct pl_slot){name, phys, nullable});
    return p->slots.n - 1;
}

int pb_slot_expr(struct ctx *c, const struct open_pipeline *p, int slot)
{
    const struct pl_slot *s = &p->slots.v[slot];
    return pb_expr(
        c,
        (struct pl_expr){.op = FE_COL, .phys = s->phys, .nullable = s->nullable, .slot = slot, .arg = -1, .state = -1});
}

struct pl_step *pb_step(struct ctx *c, struct open_pipeline *p, enum pl_step_kind k, const char *path)
{
    struct pl_step s = {.kind = k,
                        .probe = PL_INNER,
                        .slot = -1,
                        .row_slot = -1,
                        .parent_slot = -1,
                        .column = -1,
                        .index = -1,
                        .state = -1,
                        .field = -1,
                        .expr = -1,
                        .level = p->level,
                        .est = p->est,
                        .path = path};
#define X(name) s.a_##name = -1;
    PL_STEP_ARGS(X)
#undef X
    hd_vec_push(c->a, &p->steps, s);
    return &p->steps.v[p->steps.n - 1];
}

int pb_let(struct ctx *c, struct open_pipeline *p, const char *name, struct pl_val v)
{
    int slot = pb_slot(c, p, name, v.phys, v.nullable);
    struct pl_step *s = pb_step(c, p, PL_STEP_LET, "");
    s->slot = slot;
    s->expr = v.expr;
    return slot;
}

void pb_filter(struct ctx *c, struct open_pipeline *p, int expr, double sel, const char *path)
{
    struct pl_step *s = pb_step(c, p, PL_STEP_FILTER, path);
    s->expr = expr;
    p->est *= sel;
}

void pb_note(struct ctx *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *s = hd_vasprintf(c->a, fmt, ap);
    va_end(ap);
    hd_vec_push(c->a, &c->notes, s);
}

int pb_state(struct ctx *c, enum rt_state_kind k, const char *name, const char *path)
{
    struct rt_state s = {.kind = k, .path = path, .limit = -1, .est_rows = -1};
    s.name = hd_asprintf(c->a, "s%d_%s", c->states.n, name);
    if (c->at) {
        hd_grow1(c->a, c->at->states, c->at->nstates);
        c->at->states[c->at->nstates++] = c->states.n;
    }
    hd_vec_push(c->a, &c->states, s);
    hd_vec_push(c->a, &c->state_rows, 9e18);
    return c->states.n - 1;
}

int pb_field(struct ctx *c, int state, const char *name, const struct pl_val *v, enum rt_merge m)
{
    struct rt_state *s = &c->states.v[state];
    int n = s->nfields;
    hd_grow1(c->a, s->fields, n);
    hd_grow1(c->a, s->merge, n);
    /* MIN, MAX and ANY start from zero bytes, so "no value yet" needs its own byte. */
    bool valid = v->nullable || m == RT_MERGE_MIN || m == RT_MERGE_MAX || m == RT_MERGE_ANY;
    s->fields[n] = (struct rt_field){.name = name,
                                     .phys = v->phys,
                                     .valid_offset = valid ? 0 : -1,
                                     .type = v->type,
                                     .dict_table = v->dict_table,
                                     .dict_column = v->dict_column};
    s->merge[n] = m;
    s->nfields = n + 1;
    return n;
}

static void renumber(int *number, int gone)
{
    *number -= *number > gone;
}

/* The states that nodes of the physical plan have made; a KEEP has several parents. */
static void renumber_nodes(struct pl_node *n, int gone, bool *seen)
{
    int kept = 0;
    if (seen[n->id])
        return;
    seen[n->id] = true;
    for (int i = 0; i < n->nstates; i++) {
        int state = n->states[i];
        renumber(&state, gone);
        if (n->states[i] != gone)
            n->states[kept++] = state;
    }
    n->nstates = kept;
    for (int i = 0; i < n->ninputs; i++)
        renumber_nodes(n->inputs[i], gone, seen);
}

/* Arguments are found by what they are. */
static void index_args(struct ctx *c)
{
    c->arg_index = (struct pl_index){0};
    for (int i = 0; i < c->args.n; i++) {
        const struct rt_arg *x = &c->args.v[i];
        if (rt_arg_group(x->kind) == RT_ARGS_PLAN)
            continue;
        index_grow(c, &c->arg_index, hash_arg);
        int *place = index_place(&c->arg_index, hash_of_arg(x), same_arg, c, x);
        c->arg_index.n += !*place;
        *place = i + 1;
    }
}

void pb_drop_state(struct ctx *c, int state)
{
    int n = --c->states.n;
    c->state_rows.n = n;
    for (int i = state; i < n; i++) {
        c->states.v[i] = c->states.v[i + 1];
        c->state_rows.v[i] = c->state_rows.v[i + 1];
        c->states.v[i].name = hd_asprintf(c->a, "s%d%s", i, strchr(c->states.v[i].name, '_'));
    }
    for (int i = 0; i < c->exprs.n; i++)
        renumber(&c->exprs.v[i].state, state);
    for (int i = 0; i < c->args.n; i++)
        renumber(&c->args.v[i].state, state);
    for (int i = 0; i < c->turns.n; i++)
        renumber(&c->turns.v[i].state, state);
    for (int i = 0; i < c->pipelines.n; i++) {
        struct open_pipeline *p = c->pipelines.v[i];
        renumber(&p->spec.state, state);
        renumber(&p->sink.state, state);
        for (int k = 0; k < p->steps.n; k++)
            renumber(&p->steps.v[k].state, state);
    }
    renumber(&c->program->spec->result_state, state);
    renumber_nodes(c->physical, state, HD_NEWN(c->a, bool, c->nnodes + 1));
    index_args(c);
}

/* Widest fields first keeps every field aligned without holes; offsets do not change field order. */
void pb_state_layout(struct ctx *c, int state)
{
    struct rt_state *s = &c->states.v[state];
    int at = rt_state_head(s), align = rt_state_align(s), first = s->word;
    bool flag = at == 1;
    static const int sizes[] = {16, 8, 4, 2, 1};
    if (flag) { /* the flag shares its word with small fields: place those first */
        for (int i = 0; i < s->nfields; i++)
            if (s->fields[i].valid_offset >= 0)
                s->fields[i].valid_offset = at++;
    }
    if (s->word) {
        s->fields[0].offset = 0;
        at = rt_phys_size(s->fields[0].phys);
    }
    for (size_t k = 0; k < HD_COUNT(sizes); k++)
        for (int i = first; i < s->nfields; i++) {
            int size = rt_field_size(&s->fields[i]);
            int al = size > 8 && s->fields[i].phys == RT_STR ? 8 : size;
            if (size != sizes[k])
                continue;
            at = (int)hd_align_up((size_t)at, (size_t)al);
            s->fields[i].offset = at;
            at += size;
        }
    if (!flag)
        for (int i = 0; i < s->nfields; i++)
            if (s->fields[i].valid_offset >= 0)
                s->fields[i].valid_offset = at++;
    s->stride = (int)hd_align_up((size_t)HD_MAX(at, 1), (size_t)align);
}

struct open_pipeline *pb_pipeline(struct ctx *c, enum rt_source_kind k, const char *path)
{
    struct open_pipeline *p = HD_NEW(c->a, struct open_pipeline);
    p->spec.source = k;
    p->spec.path = path;
    p->spec.state = -1;
    p->spec.column = -1;
    p->sink.state = -1;
    p->sink.index = -1;
    p->sink.a_rows = p->sink.a_bits = -1;
    p->source_slot = pb_slot(c, p, "row", RT_I32, false);
    hd_vec_push(c->a, &c->pipelines, p);
    return p;
}

void sink_add(struct ctx *c, struct pl_sink *sink, struct pl_out out)
{
    hd_grow1(c->a, sink->outs, sink->nouts);
    sink->outs[sink->nouts++] = out;
}

struct open_pipeline *pipeline_of(struct ctx *c, const struct stream *s)
{
    return c->pipelines.v[s->pipeline];
}

/* ---- what is read ----------------------------------------------------------------------------- */

bool pl_expr_may_fail(const struct pl_expr *exprs, int e)
{
    bool fails = exprs[e].fail;
    for (int i = 0; i < exprs[e].nargs && !fails; i++)
        fails = pl_expr_may_fail(exprs, exprs[e].args[i]);
    return fails;
}

void pl_expr_reads(const struct pl_expr *exprs, int e, bool *read)
{
    const struct pl_expr *x = &exprs[e];
    if (x->op == FE_COL)
        read[x->slot] = true;
    for (int i = 0; i < x->nargs; i++)
        pl_expr_reads(exprs, x->args[i], read);
}

/* Values are compared as they are stored. */
static bool is_searched(const struct fe_table_column *c)
{
    bool number = c->storage == FE_STORE_INT && c->type.kind != HD_BOOL;
    return number && c->factor == 1 && c->width <= 8 && c->facts.nulls == 0;
}

bool pl_children_are_sorted(const struct fe_table *t, int fk, int column)
{
    return t->pk_sorted && t->npk == 2 && t->pk[0] == t->fks[fk].columns[0] && t->pk[1] == column &&
           !t->fks[fk].child_rows && is_searched(&t->cols[column]);
}

bool pl_column_is_sorted(const struct fe_table *t, int column)
{
    const struct fe_table_column *c = &t->cols[column];
    return c->facts.known && c->facts.sorted && is_searched(c);
}

void pl_step_reads(const struct pl_expr *exprs, const struct pl_step *s, bool *read)
{
    switch (pl_step_form(s->kind)->reads) {
    case PL_READS_NOTHING: return;
    case PL_READS_ROW: read[s->row_slot] = true; return;
    case PL_READS_EXPR: pl_expr_reads(exprs, s->expr, read); return;
    case PL_READS_BOTH:
        read[s->row_slot] = true;
        pl_expr_reads(exprs, s->expr, read);
        return;
    case PL_READS_KEYS:
    case PL_READS_WORDS:
        for (int i = 0; i < s->nkeys; i++)
            pl_expr_reads(exprs, s->keys[i], read);
        return;
    }
}

bool pl_null_equal(const struct pl_step *s, int k)
{
    return !s || (s->null_equal && s->null_equal[k]);
}

void pl_sink_reads(const struct pl_expr *exprs, const struct pl_sink *s, bool *read)
{
    if (s->index >= 0)
        pl_expr_reads(exprs, s->index, read);
    for (int i = 0; i < s->nouts; i++)
        if (s->outs[i].expr >= 0)
            pl_expr_reads(exprs, s->outs[i].expr, read);
    for (int i = 0; i < s->ncopies; i++)
        if (s->copies[i].row_slot >= 0)
            read[s->copies[i].row_slot] = true;
}
