/* Growing a program: expressions, args, slots, steps, states, pipelines. No decisions here. */
#include <stdarg.h>
#include <stdlib.h>

#include "planner/lower.h"
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
    enum { LEAST = 64 };
    if (x->n * 2 < x->cap)
        return;
    int had = x->cap, *old = x->places;
    x->cap = had ? had * 2 : LEAST;
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
    return mix_type(mix_type(mix_type(h, s->to), s->from[0]), s->from[1]);
}

static uint64_t hash_site(const struct ctx *c, int i)
{
    return hash_of_site(&c->sites.v[i]);
}

static bool same_site(const struct ctx *c, int i, const void *key)
{
    const struct rt_site *x = &c->sites.v[i], *y = key;
    return x->form == y->form && hd_type_eq(x->to, y->to) && hd_type_eq(x->from[0], y->from[0]) &&
           hd_type_eq(x->from[1], y->from[1]) && strcmp(x->path, y->path) == 0;
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

int pb_slot(struct ctx *c, struct pipe *p, const char *name, enum rt_phys phys, bool nullable)
{
    hd_vec_push(c->a, &p->slots, (struct pl_slot){name, phys, nullable});
    return p->slots.n - 1;
}

int pb_slot_expr(struct ctx *c, const struct pipe *p, int slot)
{
    const struct pl_slot *s = &p->slots.v[slot];
    return pb_expr(
        c,
        (struct pl_expr){.op = FE_COL, .phys = s->phys, .nullable = s->nullable, .slot = slot, .arg = -1, .state = -1});
}

struct pl_step *pb_step(struct ctx *c, struct pipe *p, enum pl_step_kind k, const char *path)
{
    struct pl_step s = {.kind = k,
                        .probe = PL_INNER,
                        .slot = -1,
                        .row_slot = -1,
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

int pb_let(struct ctx *c, struct pipe *p, const char *name, struct pl_val v)
{
    int slot = pb_slot(c, p, name, v.phys, v.nullable);
    struct pl_step *s = pb_step(c, p, PL_STEP_LET, "");
    s->slot = slot;
    s->expr = v.expr;
    return slot;
}

void pb_filter(struct ctx *c, struct pipe *p, int expr, double sel, const char *path)
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

/* Widest fields first keeps every field aligned without holes; offsets do not change field order. */
void pb_state_layout(struct ctx *c, int state)
{
    struct rt_state *s = &c->states.v[state];
    int at = rt_state_head(s->kind), align = 8;
    static const int sizes[] = {16, 8, 4, 1};
    if (at == 1) { /* the flag shares its word with small fields: place those first */
        for (int i = 0; i < s->nfields; i++)
            if (s->fields[i].valid_offset >= 0)
                s->fields[i].valid_offset = at++;
    }
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < s->nfields; i++) {
            int size = rt_phys_size(s->fields[i].phys);
            int al = size > 8 && s->fields[i].phys == RT_STR ? 8 : size;
            if (size != sizes[k])
                continue;
            if (al == 16)
                align = 16;
            at = (int)hd_align_up((size_t)at, (size_t)al);
            s->fields[i].offset = at;
            at += size;
        }
    if (s->kind != RT_STATE_AGG_DENSE)
        for (int i = 0; i < s->nfields; i++)
            if (s->fields[i].valid_offset >= 0)
                s->fields[i].valid_offset = at++;
    s->stride = (int)hd_align_up((size_t)HD_MAX(at, 8), (size_t)align);
}

struct pipe *pb_pipe(struct ctx *c, enum rt_source_kind k, const char *path)
{
    struct pipe *p = HD_NEW(c->a, struct pipe);
    p->spec.source = k;
    p->spec.path = path;
    p->spec.state = -1;
    p->spec.column = -1;
    p->sink.state = -1;
    p->sink.index = -1;
    p->sink.a_rows = p->sink.a_bits = -1;
    p->source_slot = pb_slot(c, p, "row", RT_I32, false);
    hd_vec_push(c->a, &c->pipes, p);
    return p;
}

struct pipe *pipe_of(struct ctx *c, const struct stream *s)
{
    return c->pipes.v[s->pipe];
}

/* ---- sealing ---------------------------------------------------------------------------------- */

void pl_expr_reads(const struct pl_expr *exprs, int e, bool *read)
{
    const struct pl_expr *x = &exprs[e];
    if (x->op == FE_COL)
        read[x->slot] = true;
    for (int i = 0; i < x->nargs; i++)
        pl_expr_reads(exprs, x->args[i], read);
}

void pl_step_reads(const struct pl_expr *exprs, const struct pl_step *s, bool *read)
{
    switch (pl_step_form(s->kind)->reads) {
    case PL_READS_NOTHING: return;
    case PL_READS_ROW: read[s->row_slot] = true; return;
    case PL_READS_EXPR: pl_expr_reads(exprs, s->expr, read); return;
    case PL_READS_KEYS:
        for (int i = 0; i < s->nkeys; i++)
            pl_expr_reads(exprs, s->keys[i], read);
        return;
    }
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
            q->steps[i].polls = pl_children(s->kind) == PL_CHILDREN_ALL || nlevels > 2;
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
        return HD_MIN(st->limit >= 0 ? (uint64_t)st->limit : UINT64_MAX, (uint64_t)c->state_rows.v[p->state]);
    }
    HD_BUG("source %d", (int)p->source);
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
    if (x->op == FE_DICT_TEXT)
        touch(c, r, c->args.v[x->arg].table, FE_PART_COLUMN, c->args.v[x->arg].column);
    for (int i = 0; i < x->nargs; i++)
        touch_dicts(c, r, x->args[i]);
}

static void touch_subject(struct ctx *c, struct rt_pipeline *r, const struct pl_step *s)
{
    switch (pl_step_form(s->kind)->subject) {
    case PL_OF_COLUMN: touch(c, r, s->table, FE_PART_COLUMN, s->column); return;
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
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
        touch_subject(c, r, s);
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

static double step_bytes(const struct ctx *c, const struct pl_step *s)
{
    enum pl_subject subject = pl_step_form(s->kind)->subject;
    if (subject == PL_OF_FIELD)
        return rt_phys_size(c->states.v[s->state].fields[s->field].phys);
    if (subject != PL_OF_COLUMN)
        return 0;
    const struct fe_table_column *col = &s->table->cols[s->column];
    return (col->storage == FE_STORE_TEXT ? 4.0 : col->width) + (s->a_valid >= 0 ? 0.125 : 0);
}

static double sink_bytes(const struct ctx *c, const struct pl_sink *s)
{
    double bytes = 0;
    switch (s->kind) {
    case PL_SINK_BITMAP: return 0.125;
    case PL_SINK_ROWS:
    case PL_SINK_AGG_HASH: return c->states.v[s->state].stride;
    case PL_SINK_DIRECT:
    case PL_SINK_ARRAY:
        for (int i = 0; i < s->nouts; i++)
            bytes += rt_phys_size(c->states.v[s->state].fields[s->outs[i].field].phys);
        return bytes;
    case PL_SINK_AGG_SCALAR:
    case PL_SINK_AGG_DENSE: return 0; /* few rows, in the cache */
    }
    return 0;
}

static void seal_counters(struct ctx *c, const struct pl_pipeline *q, double sink_est)
{
    struct rt_pipeline *r = q->spec;
    r->ncounters = q->nsteps + 1;
    r->counter_names = HD_NEWN(c->a, const char *, r->ncounters);
    r->counter_est = HD_NEWN(c->a, double, r->ncounters);
    r->counter_bytes = HD_NEWN(c->a, double, r->ncounters);
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
        r->counter_names[i] = s->slot >= 0 ? hd_asprintf(c->a, "%s %s", pl_step_name(s->kind), q->slots[s->slot].name)
                                           : pl_step_name(s->kind);
        r->counter_est[i] = s->est;
        r->counter_bytes[i] = step_bytes(c, s);
    }
    r->counter_names[q->nsteps] = "sink";
    r->counter_est[q->nsteps] = sink_est;
    r->counter_bytes[q->nsteps] = sink_bytes(c, &q->sink);
}

static void seal_pipe(struct ctx *c, struct pipe *p, struct pl_pipeline *q, struct rt_pipeline *r, int i)
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
    seal_levels(c, q);
    pl_choose_tiles(c, q);
    q->unoptimised = q->nlevels == 1 && source_bound(c, q->spec) <= FEW_ROWS;
    seal_touched(c, q);
    seal_writes(c, q);
    seal_reads(c, q);
    seal_counters(c, q, p->est);
    pl_cut_parts(c, q);
    pl_choose_shape(q, c->opt.balance);
    pl_place_pipeline(c, q);
    pl_size_kernel(q);
}

int pb_program(struct ctx *c, int result_state, struct pl_program **out)
{
    struct pl_program *g = HD_NEW(c->a, struct pl_program);
    struct rt_spec *s = HD_NEW(c->a, struct rt_spec);
    for (int i = 0; i < c->pipes.n; i++)
        pl_copy_fields(c, c->pipes.v[i]);
    pl_prune(c);
    for (int i = 0; i < c->pipes.n; i++)
        pl_frame(c, c->pipes.v[i]);
    pl_choose_evaluation(c->a, c->exprs.v, c->exprs.n, c->args.v);
    g->arena = c->a;
    g->spec = s;
    g->nexprs = c->exprs.n;
    g->exprs = c->exprs.v;
    g->npipelines = s->npipelines = c->pipes.n;
    g->pipelines = HD_NEWN(c->a, struct pl_pipeline, c->pipes.n);
    s->pipelines = HD_NEWN(c->a, struct rt_pipeline, c->pipes.n);
    for (int i = 0; i < c->pipes.n; i++)
        seal_pipe(c, c->pipes.v[i], &g->pipelines[i], &s->pipelines[i], i);
    s->nstates = c->states.n;
    s->states = c->states.v;
    s->nargs = c->args.n;
    s->args = c->args.v;
    s->nwords = c->nwords;
    s->nsites = c->sites.n;
    s->sites = c->sites.v;
    s->result_state = result_state;
    pl_schedule(c, s);
    g->nnotes = c->notes.n;
    g->notes = c->notes.v;
    g->gpu_far_args = s->nwords > HDD_PARAMETER_WORDS;
    *out = g;
    return 0;
}
