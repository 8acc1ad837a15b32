/* Which parts of tables stay in a GPU's memory, which are streamed through it, and which are read over the link.
 *
 * A part that is not resident crosses the link in every execution: as a whole for each pipeline that scans it, and
 * a sector for each row that is read elsewhere than at the source's row. Resident are those that save most per byte of
 * memory; everything that reads at random costs more than its bytes, so it comes first (the greedy way to fill a knapsack,
 * G. Dantzig, Discrete-variable extremum problems, 1957). */
#include "planner/residence.h"

#include <stdlib.h>

#include "planner/zones.h"
#include "runtime/base/vec.h"

enum {
    LINK_SECTOR = 64, /* bytes that one read of a few bytes takes of the link */
    LINK_RANDOM = 2, /* and how much longer than a copy it takes for these */
    LATE_MARGIN =
        4, /* a column is read over the link rather than streamed where that is expected to take so much less: estimates
                        can be too low, and then it takes longer without a bound */
    CHUNK_SHARE = 16, /* a chunk takes at most so large a part of the memory, */
    TEXT_TIMES = 2, /* one with strings so many times as much */
    STATES_LEAST = 4, /* states get at least so large a part of a memory that is short */
    STATES_SHARE = 2 /* states are expected to take at most so large a part: estimates can be far too high */
};
/* Chunks of 16 MB stream at 48 GB/s where threads stage them, and at 53 of 55 from page-locked copies; of 64 MB at 33 and
 * 54 (H200, TPC-H Q6). */
static const double CHUNK_BYTES = 16 << 20;
/* The first room of states, and what launches need, whatever is estimated. */
static const double FIRST_BYTES = 8 << 20;
/* Chunks of many rows are of multiples of this. */
enum { CHUNK_GRAIN = 1 << 16 };

struct part {
    int arg;
    double bytes;
    double scanned, random; /* bytes that cross the link if it is not resident: of chunks, of other reads */
};

struct residence {
    struct pl_program *g;
    const struct pl_residence *in;
    struct part *parts; /* by argument */
};

/* ---- states ---------------------------------------------------------------------------------- */

static double fields_bytes(const struct rt_state *s)
{
    double all = 0;
    for (int i = 0; i < s->nfields; i++)
        all += rt_phys_size(s->fields[i].phys) + (s->fields[i].valid_offset >= 0);
    return all;
}

static double state_bytes(const struct rt_state *s)
{
    const double bit = 1.0 / 8, slot = 16, offset = 8;
    double rows = HD_MAX(s->est_rows, 0.0), range = (double)s->range, stride = s->stride;
    switch (s->kind) {
    case RT_STATE_BITMAP: return range * bit;
    case RT_STATE_DIRECT: return range * (bit + fields_bytes(s));
    case RT_STATE_CSR: return range * offset + rows * stride;
    case RT_STATE_HASH:
    case RT_STATE_AGG_HASH: return rows * (stride + slot);
    case RT_STATE_ROWS: return rows * stride;
    case RT_STATE_AGG_SCALAR: return stride;
    case RT_STATE_AGG_DENSE:
    case RT_STATE_ARRAY: return range * stride;
    }
    HD_BUG("state kind %d", (int)s->kind);
}

static double states_bytes(const struct rt_spec *s)
{
    double all = 0;
    for (int i = 0; i < s->nstates; i++)
        all += state_bytes(&s->states[i]);
    return all;
}

/* Rows of the source of a pipeline that the state is filled from, where these may multiply; -1: they do not. */
static double multiplied_rows(const struct rt_spec *s, int state)
{
    double rows = -1;
    for (int i = 0; i < s->npipelines; i++) {
        const struct rt_pipeline *p = &s->pipelines[i];
        if (p->writes[0] != state || p->nlevels <= 1)
            continue;
        double of = p->source == RT_SOURCE_TABLE  ? (double)p->table->rows
                    : p->source == RT_SOURCE_DICT ? 0
                                                  : HD_MAX(s->states[p->state].est_rows, 0.0);
        rows = HD_MAX(rows, of);
    }
    return rows;
}

double pl_states_peak(const struct pl_program *g)
{
    const struct rt_spec *s = g->spec;
    double *bytes = HD_NEWN(g->arena, double, s->nstates + 1), now = 0, peak = 0;
    bool *there = HD_NEWN(g->arena, bool, s->nstates + 1);
    for (int i = 0; i < s->nstates; i++) {
        double most = multiplied_rows(s, i), all = state_bytes(&s->states[i]);
        double rows = HD_MAX(s->states[i].est_rows, 1.0);
        bytes[i] = most >= 0 && most < rows ? all * most / rows : all;
    }
    for (int i = 0; i < s->nactions; i++) {
        const struct rt_action *a = &s->actions[i];
        int state = a->kind == RT_RUN ? s->pipelines[a->index].writes[0] : a->index;
        if (a->kind == RT_RUN && !there[state]) {
            there[state] = true;
            now += bytes[state];
        }
        if (a->kind == RT_FREE && there[state]) {
            there[state] = false;
            now -= bytes[state];
        }
        peak = HD_MAX(
            peak,
            now + (a->kind == RT_FINISH && rt_state_filling(s->states[state].kind) == RT_APPENDED ? bytes[state] : 0));
    }
    return peak;
}

/* ---- who reads what -------------------------------------------------------------------------- */

static bool is_of_table(const struct rt_arg *a)
{
    return rt_arg_group(a->kind) == RT_ARGS_MEMORY && !a->table->device;
}

static double chunk_bytes(const struct residence *r)
{
    return r->in->memory > 0 ? HD_MIN(CHUNK_BYTES, r->in->memory / CHUNK_SHARE) : CHUNK_BYTES;
}

/* Bits of it that a row has, on average. */
static double row_bits(const struct rt_arg *a)
{
    if (a->kind == RT_ARG_COL_TEXT_BYTES)
        return 8 * (double)rt_arg_bytes(a) / HD_MAX((double)a->table->rows, 1.0);
    return (double)rt_arg_row_bits(a);
}

/* Strings of a chunk are gone with it, while rows of states still name theirs. */
static bool keeps_strings(const struct residence *r, const struct pl_pipeline *q)
{
    for (int i = 0; i < q->sink.nouts; i++)
        if (q->sink.outs[i].expr >= 0 && r->g->exprs[q->sink.outs[i].expr].phys == RT_STR)
            return true;
    return false;
}

/* Chunks with strings are of whole blocks: those of one must not be much too long. */
static bool may_chunk_text(const struct residence *r, const struct rt_arg *a)
{
    const struct fe_table_column *c = &a->table->cols[a->column];
    double rows = HD_MIN((double)a->table->rows, (double)((uint64_t)1 << FE_TEXT_BLOCK_SHIFT));
    double bytes = (double)c->at.text_size / HD_MAX((double)a->table->rows, 1.0) + c->width;
    return bytes * rows <= TEXT_TIMES * chunk_bytes(r);
}

/* A value of the source's row, which lies in a chunk of the column. */
static bool is_scan(const struct residence *r, const struct pl_pipeline *q, const struct pl_step *s,
                    const struct rt_arg *a)
{
    if (q->spec->source != RT_SOURCE_TABLE || s->kind != PL_STEP_LOAD_COLUMN || s->row_slot != q->source_slot)
        return false;
    bool text = a->table->cols[a->column].storage == FE_STORE_TEXT;
    bool chunked = a->kind == RT_ARG_COL_VALID || a->kind == RT_ARG_COL_DATA || a->kind == RT_ARG_COL_TEXT_BYTES;
    return chunked && (!text || (may_chunk_text(r, a) && !keeps_strings(r, q)));
}

/* A column of the source's row that is read behind the filters, row by row, by few rows: bytes that cross the link if it is not
 * streamed, as a copy's. -1: it is streamed. */
static double late_bytes(const struct pl_pipeline *q, const struct pl_step *s, double streamed)
{
    int step = (int)(s - q->steps);
    bool early = step < q->gpu_tile.steps && (q->gpu_tile.early[step] || q->gpu_tile.searched[step]);
    double mapped = HD_MAX(s->est, 1.0) * LINK_SECTOR * LINK_RANDOM;
    return !early && s->est >= 0 && mapped * LATE_MARGIN < streamed ? mapped : -1;
}

static bool loads_again(const struct pl_pipeline *q, const struct pl_step *s)
{
    for (int i = 0; i < q->nsteps; i++)
        if (&q->steps[i] != s && q->steps[i].kind == s->kind && q->steps[i].table == s->table &&
            q->steps[i].column == s->column)
            return true;
    return false;
}

/* That the pipeline's chunks have of the part; `late`: none, rows that are left read it over the link. */
static double scanned_bytes(const struct pl_pipeline *q, const struct pl_step *s, double bytes, bool *late)
{
    double streamed = bytes * pl_zones_share(q->spec), mapped = late_bytes(q, s, streamed);
    *late = mapped >= 0 && !loads_again(q, s);
    return *late ? mapped : streamed;
}

typedef void (*visit_fn)(struct residence *r, const struct pl_pipeline *q, const struct pl_step *s, int arg);

static void visit_args(struct residence *r, const struct pl_pipeline *q, visit_fn visit)
{
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
#define X(name) \
    if (s->a_##name >= 0 && is_of_table(&r->g->spec->args[s->a_##name])) \
        visit(r, q, s, s->a_##name);
        PL_STEP_ARGS(X)
#undef X
    }
}

static void count_read(struct residence *r, const struct pl_pipeline *q, const struct pl_step *s, int arg)
{
    const struct rt_arg *a = &r->g->spec->args[arg];
    struct part *p = &r->parts[arg];
    double rows = s->est >= 0 ? s->est : (double)a->table->rows;
    bool late = false;
    double scanned = is_scan(r, q, s, a) ? scanned_bytes(q, s, p->bytes, &late) : 0;
    if (a->kind == RT_ARG_COL_TEXT_BASE && q->spec->source == RT_SOURCE_TABLE && s->row_slot == q->source_slot)
        rows = p->bytes / sizeof(uint64_t); /* one for many rows */
    if (is_scan(r, q, s, a))
        *(late ? &p->random : &p->scanned) += scanned;
    else
        p->random += HD_MAX(rows, 1.0) * LINK_SECTOR * LINK_RANDOM;
}

/* Expressions look codes up in dictionaries, row by row; these are few bytes. */
static void count_dictionaries(struct residence *r)
{
    for (int i = 0; i < r->g->nexprs; i++) {
        const struct pl_expr *x = &r->g->exprs[i];
        if (x->op != FE_DICT_STRING)
            continue;
        int args[] = {x->arg, x->arg2};
        for (int k = 0; k < 2; k++)
            if (is_of_table(&r->g->spec->args[args[k]]))
                r->parts[args[k]].random += (double)r->g->spec->args[args[k]].table->rows * LINK_SECTOR * LINK_RANDOM;
    }
}

static void list_parts(struct residence *r)
{
    const struct rt_spec *s = r->g->spec;
    r->parts = HD_NEWN(r->g->arena, struct part, s->nargs + 1);
    for (int i = 0; i < s->nargs; i++) {
        r->parts[i].arg = i;
        if (is_of_table(&s->args[i]))
            r->parts[i].bytes = (double)rt_arg_bytes(&s->args[i]);
    }
    for (int i = 0; i < r->g->npipelines; i++)
        visit_args(r, &r->g->pipelines[i], count_read);
    count_dictionaries(r);
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Bytes for resident columns. */
static double room_of_columns(const struct residence *r)
{
    double memory = r->in->memory, states = states_bytes(r->g->spec), all = 0;
    for (int i = 0; i < r->g->spec->nargs; i++)
        all += r->parts[i].bytes;
    if (r->in->columns >= 0)
        return r->in->columns;
    /* Finishing a state takes as much again. */
    double wanted = HD_MIN(HD_MAX(2 * states, FIRST_BYTES), memory / STATES_SHARE);
    if (memory <= 0 || all + wanted <= memory)
        return all;
    double reserve = HD_MAX(wanted, memory / STATES_LEAST); /* an estimate can be too low */
    return memory - reserve - RT_STREAM_SLOTS * chunk_bytes(r);
}

/* Those that save most per byte first; of equal ones in the order of the plan. */
static int compare(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    double saved = (x->scanned + x->random) * y->bytes, other = (y->scanned + y->random) * x->bytes;
    if (saved != other)
        return saved > other ? -1 : 1;
    return (x->arg > y->arg) - (x->arg < y->arg);
}

static void choose_ways(struct residence *r)
{
    struct rt_spec *s = r->g->spec;
    double room = room_of_columns(r);
    struct part *order = HD_NEWN(r->g->arena, struct part, s->nargs + 1);
    for (int i = 0; i < s->nargs; i++)
        order[i] = r->parts[i];
    qsort(order, (size_t)s->nargs, sizeof *order, compare);
    for (int i = 0; i < s->nargs; i++) {
        struct rt_arg *a = &s->args[order[i].arg];
        a->way = RT_WAY_RESIDENT;
        a->link_bytes = 0;
        if (order[i].bytes <= room) {
            room -= order[i].bytes;
            continue;
        }
        a->way = order[i].random > 0 ? RT_WAY_MAPPED : RT_WAY_STREAMED;
        a->link_bytes = (uint64_t)(order[i].scanned + order[i].random);
    }
}

/* ---- pipelines that stream --------------------------------------------------------------------- */

/* Some step of the pipeline reads it at another row than the source's, which no chunk need have. */
static bool reads_elsewhere(const struct residence *r, const struct pl_pipeline *q, int arg)
{
    const struct rt_arg *a = &r->g->spec->args[arg];
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
#define X(name) \
    if (s->a_##name == arg && !is_scan(r, q, s, a)) \
        return true;
        PL_STEP_ARGS(X)
#undef X
    }
    return false;
}

static void add_streamed(struct residence *r, const struct pl_pipeline *q, const struct pl_step *s, int arg)
{
    struct rt_pipeline *p = q->spec;
    const struct rt_arg *a = &r->g->spec->args[arg];
    bool late;
    if (a->way == RT_WAY_RESIDENT || !is_scan(r, q, s, a) || reads_elsewhere(r, q, arg))
        return;
    scanned_bytes(q, s, r->parts[arg].bytes, &late);
    if (late)
        return;
    for (int i = 0; i < p->nstreamed; i++)
        if (p->streamed[i] == arg)
            return;
    hd_grow1(r->g->arena, p->streamed, p->nstreamed);
    p->streamed[p->nstreamed++] = arg;
}

static bool has_text(const struct residence *r, const struct rt_pipeline *p)
{
    for (int i = 0; i < p->nstreamed; i++) {
        const struct rt_arg *a = &r->g->spec->args[p->streamed[i]];
        if (a->table->cols[a->column].storage == FE_STORE_TEXT)
            return true;
    }
    return false;
}

static void choose_chunk(const struct residence *r, struct rt_pipeline *p)
{
    double bits = 0;
    for (int i = 0; i < p->nstreamed; i++)
        bits += row_bits(&r->g->spec->args[p->streamed[i]]);
    uint64_t rows = bits > 0 ? (uint64_t)(chunk_bytes(r) * 8 / bits) : 0;
    uint64_t grain = rows >= CHUNK_GRAIN ? (uint64_t)CHUNK_GRAIN : (uint64_t)RT_FRAGMENT_ROWS;
    rows = HD_MAX(rows / grain * grain, (uint64_t)RT_FRAGMENT_ROWS);
    if (r->in->chunk_rows)
        rows = hd_align_up((size_t)r->in->chunk_rows, RT_FRAGMENT_ROWS);
    if (has_text(r, p))
        rows = hd_align_up((size_t)rows, (size_t)1 << FE_TEXT_BLOCK_SHIFT);
    p->chunk_rows = p->nstreamed ? rows : 0;
}

double pl_states_room(const struct pl_program *g, double memory)
{
    double columns = 0;
    for (int i = 0; i < g->spec->nargs; i++)
        if (is_of_table(&g->spec->args[i]))
            columns += (double)rt_arg_bytes(&g->spec->args[i]);
    return HD_MAX(memory - columns, memory / STATES_SHARE - RT_STREAM_SLOTS * memory / CHUNK_SHARE);
}

void pl_place_columns(struct pl_program *g, const struct pl_residence *in)
{
    struct residence r = {.g = g, .in = in};
    list_parts(&r);
    choose_ways(&r);
    for (int i = 0; i < g->npipelines; i++) {
        g->pipelines[i].spec->nstreamed = 0;
        visit_args(&r, &g->pipelines[i], add_streamed);
        choose_chunk(&r, g->pipelines[i].spec);
    }
    pl_verify(g);
}
