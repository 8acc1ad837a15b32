#include "planner/work.h"

#include <math.h>

#include "planner/zones.h"

/* Nanoseconds of a row: of one thread of a CPU, with columns in memory and small tables in its cache; of a large GPU, an
 * H200 with 4.8 TB/s, where what lies in its L2 cache, and beyond: 0 where that makes no difference. */
struct price {
    double cpu, gpu, gpu_beyond;
};

/* A CPU: fitted to TPC-H at SF 1. A GPU: to TPC-H and SSB at SF 100, beginning with what single operators take
 * (docs/performance.md, "Estimates of a GPU's time"). */
static const struct price neighbour = {0.25, 0.00015, 0}, child = {0.25, 0.0005, 0}, elsewhere = {5, 0.007, 0.02},
                          near_field = {0.25, 0.002, 0}, field_elsewhere = {5, 0.002, 0.005},
                          hash_lookup = {12, 0.075, 0}, tested_bit = {1.2, 0.0012, 0.009},
                          tested_place = {1.2, 0.0012, 0.02}, tested_own = {1.2, 0.00015, 0},
                          index_lookup = {5, 0.004, 0}, searched = {40, 0.3, 0}, range = {4, 0.015, 0},
                          folded = {4, 0.002, 0}, each_child = {0.3, 0.0005, 0}, added = {0.5, 0.0005, 0},
                          grouped = {1.2, 0.0008, 0.03}, hashed_group = {22, 0.05, 0.08}, stored_row = {5, 0.005, 0},
                          sorted_row = {4, 0.0025, 0}, placed_row = {12, 0.06, 0}, cleared = {0.02, 0.0003, 0};
static const double gpu_cached_bytes = 40e6, gpu_bytes_of_ms = 4.8e9, gpu_sector = 32;

/* Of what lies in so many bytes. */
static void add_in(struct pl_work *w, struct price p, double rows, double bytes)
{
    w->cpu_ms += p.cpu * rows / 1e6;
    w->gpu_ms += (p.gpu_beyond > 0 && bytes > gpu_cached_bytes ? p.gpu_beyond : p.gpu) * rows / 1e6;
}

static void add(struct pl_work *w, struct price p, double rows)
{
    add_in(w, p, rows, 0);
}

/* ---- expressions ----------------------------------------------------------------------- */

static struct price of_operator(enum fe_op op)
{
    switch (fe_op_form(op)->cost) {
    case FE_COST_LOW:
    case FE_COST_COMPARE: return (struct price){0.08, 0.0001, 0};
    case FE_COST_LOAD: return (struct price){1, 0.0002, 0};
    case FE_COST_CHOICE:
    case FE_COST_LIST: return (struct price){0.6, 0.0002, 0};
    case FE_COST_CONVERT:
    case FE_COST_DIVIDE: return (struct price){2, 0.002, 0};
    case FE_COST_TEXT: return (struct price){8, 0.02, 0};
    case FE_COST_SEARCH: return (struct price){18, 0.007, 0};
    }
    HD_BUG("operator %d", (int)op);
}

double pl_work_of_operator(enum fe_op op, bool gpu)
{
    const struct price p = of_operator(op);
    return gpu ? p.gpu : p.cpu;
}

double pl_work_of_value(double bytes, bool gpu)
{
    return gpu ? neighbour.gpu + bytes / gpu_bytes_of_ms * 1e6 : neighbour.cpu;
}

struct walk {
    const struct pl_program *p;
    struct pl_work *w;
    double code; /* of the pipeline */
    double source; /* its rows */
    int children; /* slot of the rows that a fold goes through, which are neighbours; -1: outside */
};

static void add_value(struct walk *k, int e, double rows)
{
    const struct pl_expr *x = &k->p->exprs[e];
    k->code++;
    if (x->op != FE_COL && x->op != FE_LIT)
        add(k->w, of_operator(x->op), rows);
    for (int i = 0; i < x->nargs; i++)
        add_value(k, x->args[i], rows);
}

/* ---- steps ----------------------------------------------------------------------------- */

static struct price of_step(const struct walk *k, const struct pl_pipeline *q, const struct pl_step *s)
{
    switch (s->kind) {
    case PL_STEP_LOAD_COLUMN:
        return s->row_slot == q->source_slot ? neighbour : s->row_slot == k->children ? child : elsewhere;
    case PL_STEP_LOAD_FIELD:
        return s->row_slot == q->source_slot || s->row_slot == k->children ? near_field : field_elsewhere;
    case PL_STEP_PROBE_KEY:
    case PL_STEP_PROBE_CHILD: return index_lookup;
    case PL_STEP_PROBE_BITMAP:
    case PL_STEP_MARK: return tested_bit;
    case PL_STEP_PROBE_DIRECT: return tested_place;
    case PL_STEP_TEST:
    case PL_STEP_PRESENT: return tested_own;
    case PL_STEP_PROBE_HASH:
    case PL_STEP_EXPAND_HASH: return hash_lookup;
    case PL_STEP_PROBE_SORTED:
    case PL_STEP_PROBE_COLUMN:
    case PL_STEP_EXPAND_COLUMN:
    case PL_STEP_EXPAND_BAND:
    case PL_STEP_EXPAND_SORTED:
    case PL_STEP_SEARCH: return searched;
    case PL_STEP_EXPAND_CSR:
    case PL_STEP_EXPAND_FK:
    case PL_STEP_EXPAND_ALL:
    case PL_STEP_EXPAND_LATER:
    case PL_STEP_EXPAND_COUNT: return range;
    case PL_STEP_FOLD:
    case PL_STEP_FOLD_PIECE: return folded;
    case PL_STEP_FOLD_ADD: return added;
    case PL_STEP_FOLD_END:
    case PL_STEP_LET:
    case PL_STEP_FILTER:
    case PL_STEP_COUNT: return (struct price){0, 0, 0};
    }
    HD_BUG("step %d", (int)s->kind);
}

/* Bytes that the step looks something up in. */
static double looked_at(const struct walk *k, const struct pl_step *s)
{
    const struct rt_state *state = s->state >= 0 ? &k->p->spec->states[s->state] : NULL;
    if (s->kind == PL_STEP_LOAD_COLUMN)
        return (double)fe_column_bytes(&s->table->cols[s->column], s->table->rows);
    if (!state)
        return 0;
    double places = HD_MAX((double)state->range, state->est_rows);
    return s->kind == PL_STEP_LOAD_FIELD ? places * 8 : s->kind == PL_STEP_PROBE_DIRECT ? places * 4 : places / 8;
}

/* A GPU reads whole sectors of a column, in which no row or several may have got so far. */
static void add_streamed(struct walk *k, const struct pl_step *s, double rows)
{
    double bytes = (double)fe_column_bytes(&s->table->cols[s->column], s->table->rows);
    double of_row = HD_MAX(bytes / HD_MAX((double)s->table->rows, 1), 1.0 / 8);
    double share = HD_MIN(rows / HD_MAX(k->source, 1), 1);
    k->w->gpu_ms += k->source * of_row * (1 - pow(1 - share, gpu_sector / of_row)) / gpu_bytes_of_ms;
}

static void add_step(struct walk *k, const struct pl_pipeline *q, const struct pl_step *s, double rows, double next)
{
    k->code++;
    add_in(k->w, of_step(k, q, s), rows, looked_at(k, s));
    if (s->kind == PL_STEP_LOAD_COLUMN && s->row_slot == q->source_slot)
        add_streamed(k, s, rows);
    if (s->expr >= 0)
        add_value(k, s->expr, rows);
    for (int i = 0; i < s->nkeys; i++)
        add_value(k, s->keys[i], rows);
    if (pl_opens_level(s->kind))
        add(k->w, each_child, next);
    if (pl_opens_fold(s->kind) || s->kind == PL_STEP_FOLD_END)
        k->children = s->kind != PL_STEP_FOLD_END ? s->slot : -1;
}

/* Of a row, and of each field that it stores or adds to. */
static struct price of_sink(enum pl_sink_kind kind)
{
    switch (kind) {
    case PL_SINK_BITMAP: return tested_bit;
    case PL_SINK_DIRECT:
    case PL_SINK_ROWS:
    case PL_SINK_ARRAY: return stored_row;
    case PL_SINK_AGG_SCALAR: return (struct price){0.5, 0, 0};
    case PL_SINK_AGG_DENSE: return grouped;
    case PL_SINK_AGG_HASH: return hashed_group;
    }
    HD_BUG("sink %d", (int)kind);
}

static struct price of_out(enum pl_sink_kind kind)
{
    switch (kind) {
    case PL_SINK_BITMAP:
    case PL_SINK_DIRECT:
    case PL_SINK_ROWS:
    case PL_SINK_ARRAY: return (struct price){0.4, 0.0015, 0};
    case PL_SINK_AGG_SCALAR:
    case PL_SINK_AGG_DENSE: return (struct price){0.4, 0.00015, 0};
    case PL_SINK_AGG_HASH: return (struct price){0.4, 0.005, 0};
    }
    HD_BUG("sink %d", (int)kind);
}

static double sink_bytes(const struct pl_program *p, const struct pl_sink *s)
{
    const struct rt_state *state = &p->spec->states[s->state];
    double places = HD_MAX((double)state->range, state->est_rows);
    return s->kind == PL_SINK_BITMAP ? places / 8 : s->kind == PL_SINK_AGG_HASH ? places * 16 : places * 8;
}

static void add_sink(struct walk *k, const struct pl_sink *s, double rows)
{
    add_in(k->w, of_sink(s->kind), rows, sink_bytes(k->p, s));
    add(k->w, of_out(s->kind), rows * (s->nouts + s->ncopies));
    if (s->index >= 0)
        add_value(k, s->index, rows);
    for (int i = 0; i < s->nouts; i++) {
        k->code++;
        if (s->outs[i].expr >= 0)
            add_value(k, s->outs[i].expr, rows);
    }
}

/* ---- pipelines, states ----------------------------------------------------------------- */

/* An estimate that is missing is that of the row's step before. */
static double rows_at(const struct pl_pipeline *q, int step, double before)
{
    double est = q->spec->counter_est[step];
    return est >= 0 ? est : before;
}

static double source_rows(const struct pl_program *p, const struct rt_pipeline *r)
{
    switch (r->source) {
    case RT_SOURCE_TABLE: return (double)r->table->rows;
    case RT_SOURCE_ROWS: return HD_MAX(p->spec->states[r->state].est_rows, 0);
    case RT_SOURCE_INDEX: return (double)p->spec->states[r->state].range;
    case RT_SOURCE_DICT: return (double)r->table->cols[r->column].dict.n;
    }
    HD_BUG("source %d", (int)r->source);
}

/* Rows of the source in zones that its filters do not rule out; any number where there are none. */
static double visited_rows(const struct pl_pipeline *q)
{
    return q->spec->zones.nconditions ? pl_zones_share(q->spec) * (double)q->spec->table->rows : INFINITY;
}

static void add_pipeline(struct walk *k, const struct pl_pipeline *q)
{
    double rows = HD_MIN(rows_at(q, 0, source_rows(k->p, q->spec)), visited_rows(q));
    double most = rows; /* until rows multiply: estimates of filters know nothing of zones */
    k->code = 0;
    k->source = q->spec->source == RT_SOURCE_TABLE ? HD_MIN(source_rows(k->p, q->spec), visited_rows(q)) : rows;
    k->children = -1;
    for (int i = 0; i < q->nsteps; i++) {
        most = pl_opens_level(q->steps[i].kind) ? INFINITY : most;
        double next = HD_MIN(rows_at(q, i + 1, rows), most);
        add_step(k, q, &q->steps[i], rows, next);
        rows = next;
    }
    add_sink(k, &q->sink, rows);
    k->w->cpu_code += q->unoptimised ? 0 : k->code;
    k->w->gpu_code = HD_MAX(k->w->gpu_code, k->code);
}

static double cleared_bytes(const struct rt_state *s)
{
    double n = (double)s->range;
    switch (s->kind) {
    case RT_STATE_BITMAP:
    case RT_STATE_DIRECT: return n / 8;
    case RT_STATE_CSR: return n * 8;
    case RT_STATE_AGG_DENSE: return n * s->stride;
    case RT_STATE_ARRAY:
    case RT_STATE_ROWS:
    case RT_STATE_HASH:
    case RT_STATE_AGG_SCALAR:
    case RT_STATE_AGG_HASH: return 0; /* as many as there are rows */
    }
    HD_BUG("state %d", (int)s->kind);
}

/* What comes before the first row, and after the last: memory is cleared, rows are sorted, tables of joins made. */
static void add_state(struct pl_work *w, const struct rt_state *s)
{
    double rows = HD_MAX(s->est_rows, 0);
    if (s->nsort > s->sorted)
        add(w, sorted_row, rows * log2(HD_MAX(rows, 2)));
    if (s->kind == RT_STATE_CSR || s->kind == RT_STATE_HASH)
        add(w, placed_row, rows);
    add(w, cleared, cleared_bytes(s));
}

struct pl_work pl_work_of(const struct pl_program *p)
{
    struct pl_work w = {.begun = p->npipelines};
    struct walk k = {.p = p, .w = &w};
    for (int i = 0; i < p->npipelines; i++)
        add_pipeline(&k, &p->pipelines[i]);
    for (int i = 0; i < p->spec->nstates; i++)
        add_state(&w, &p->spec->states[i]);
    return w;
}
