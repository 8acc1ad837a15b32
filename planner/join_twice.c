/* Joins whose outcome for a probe row depends on all its matches: a first pipeline opens a level
 * for the matches and sets a bit per probe row where one survives the residual; a second one looks
 * at the bits (docs/architecture.md, "Existence with a residual"). A matched flag in a register would be
 * wrong, because different warps or threads may visit the matches of one row. */
#include "planner/build.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/join.h"
#include "planner/lower_expr.h"
#include "planner/lower_rows.h"
#include "planner/lower_value.h"
#include "planner/physical.h"
#include "planner/schedule.h"
#include "planner/store.h"

/* The probe side, enumerable twice: a scan is scanned again, anything else was kept. */
struct twice {
    const struct stored *rows; /* NULL: scanned again */
    int bitmap; /* state: bit per row id of the scanned table; its match bits where steps set them */
};

static int row_bits(struct ctx *c, const struct join *j, const struct fe_table *t)
{
    int state = pb_state(c, RT_STATE_BITMAP, "matched", j->node->path);
    c->states.v[state].range = (uint64_t)HD_MAX(1, t->rows);
    return state;
}

/* Bits that steps set; pairs go on, so they are no sink's. */
static int match_bits(struct ctx *c, const struct join *j, const struct fe_table *t)
{
    int state = row_bits(c, j, t);
    c->states.v[state].track_matches = true;
    pb_finish(c, state);
    return state;
}

static void first_look(struct ctx *c, struct join *j, struct twice *t)
{
    bool outer = j->kind == FE_LEFT || j->kind == FE_FULL;
    *t = (struct twice){.rows = j->d->rescan ? NULL : j->s.rows};
    if (t->rows) {
        c->states.v[t->rows->state].track_matches = true;
    } else if (outer) {
        t->bitmap = match_bits(c, j, node_table(join_rescanned(j->d)->n));
    }
}

/* table: where the state has a bit per row of one. */
static void step_mark(struct ctx *c, struct open_pipeline *p, int state, const struct fe_table *table, int row_slot,
                      const char *path)
{
    int arg = pb_arg_state(c, RT_ARG_STATE_MATCHES, state, 0);
    struct pl_step *s = pb_step(c, p, PL_STEP_MARK, path);
    s->table = table;
    s->state = state;
    s->row_slot = row_slot;
    s->a_matches = arg;
}

static void step_test(struct ctx *c, struct open_pipeline *p, int state, bool negate, const char *path)
{
    int arg = pb_arg_state(c, RT_ARG_STATE_MATCHES, state, 0);
    struct pl_step *s = pb_step(c, p, PL_STEP_TEST, path);
    s->table = p->spec.table;
    s->state = state;
    s->row_slot = p->source_slot;
    s->negate = negate;
    s->a_matches = arg;
    p->est *= 0.5;
}

static int row_index(struct ctx *c, const struct open_pipeline *p)
{
    struct pl_val v = {.expr = pb_slot_expr(c, p, p->source_slot), .phys = RT_I32};
    lx_as_phys(c, &v, RT_I64);
    return v.expr;
}

/* The first pipeline ends by setting the row's bit. */
static void end_first(struct ctx *c, struct join *j, struct twice *t)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    p->first_match = j->d->way != PL_WAY_FK; /* a parent has few children: to leave them early saves little */
    if (!t->rows) {
        t->bitmap = row_bits(c, j, node_table(join_rescanned(j->d)->n));
        p->sink.kind = PL_SINK_BITMAP;
        p->sink.state = t->bitmap;
        p->sink.index = row_index(c, p);
        p->sink.a_bits = pb_arg_state(c, RT_ARG_STATE_BITS, t->bitmap, 0);
    } else { /* the mark step does the work; the sink counts the pairs for the profile */
        step_mark(c, p, t->rows->state, NULL, p->source_slot, j->node->path);
        int st = pb_state(c, RT_STATE_AGG_SCALAR, "pairs", j->node->path);
        struct pl_val v = {.phys = RT_I64, .type = hd_type_of(HD_INT64)};
        pb_field(c, st, "count", &v, RT_MERGE_SUM);
        pb_state_layout(c, st);
        p->sink.kind = PL_SINK_AGG_SCALAR;
        p->sink.state = st;
        sink_add(c, &p->sink, (struct pl_out){.field = 0, .expr = -1, .fn = FE_AGG_COUNT_STAR});
    }
    pb_end(c, p, true);
}

/* Adds the matches of a probe row and the residual. `stored` is set for a join without keys, t where a table
 * is built. */
static int add_matches(struct ctx *c, struct join *j, struct stream *b, struct built *t, struct stored *stored)
{
    switch (j->d->way) {
    case PL_WAY_KEY:
    case PL_WAY_CHILD:
    case PL_WAY_FK: HD_TRY(join_lookup(c, j, PL_INNER)); break;
    case PL_WAY_COLUMN: HD_TRY(join_search_column(c, j, PL_INNER, NULL)); break;
    case PL_WAY_BAND: HD_TRY(join_search_band(c, j, PL_INNER)); break;
    case PL_WAY_ALL:
        HD_TRY(store_stream(c, b, j->d->keep, j->d->by_row, "rows", j->node->path, stored));
        HD_TRY(join_expand_all(c, j, PL_INNER, stored));
        break;
    case PL_WAY_SEARCH: HD_TRY(join_search(c, j, b, PL_INNER, stored)); break;
    case PL_WAY_BUILD:
        if (!j->d->rescan)
            join_parts_of(c, j, j->s.rows);
        HD_TRY(jb_build(c, j, b, &j->s, t));
        HD_TRY(jb_probe(c, j, t, PL_INNER, NULL));
        break;
    case PL_WAY_NEAREST: HD_BUG("an as-of join has no residual");
    }
    return join_filter_rest(c, j);
}

/* ---- semi, anti, mark ----------------------------------------------------------------------------------- */

static struct handle *open_scan(struct ctx *c, const struct join *j, const struct fe_node *n, struct stream *out)
{
    struct open_pipeline *p = pb_pipeline(c, RT_SOURCE_TABLE, j->node->path);
    p->spec.table = n->u.scan.table;
    p->est = (double)n->u.scan.table->rows;
    *out = (struct stream){.pipeline = c->pipelines.n - 1, .est = p->est, .max_rows = p->est};
    struct handle *row = h_row(c, p->source_slot, n->u.scan.table, -1, false);
    scan_columns(c, n, row, out);
    out->unique_row = row;
    return row;
}

static int second_scan(struct ctx *c, struct join *j, struct twice *t, struct stream *out)
{
    const struct pl_node *scan = join_rescanned(j->d);
    const struct fe_node *n = scan->n;
    struct handle *row = open_scan(c, j, n, out);
    struct open_pipeline *p = pipeline_of(c, out);
    if (j->kind != FE_SEMI) /* a set bit implies that the filter passed */
        HD_TRY(scan_filter(c, scan, row, out));
    int index = row_index(c, p), slot = j->kind == FE_MARK ? pb_slot(c, p, "mark", RT_BOOL, false) : -1;
    int a_bits = pb_arg_state(c, RT_ARG_STATE_BITS, t->bitmap, 0);
    int a_range = pb_arg_state(c, RT_ARG_STATE_RANGE, t->bitmap, 0);
    struct pl_step *s = pb_step(c, p, PL_STEP_PROBE_BITMAP, j->node->path);
    s->probe = j->kind == FE_SEMI ? PL_SEMI : j->kind == FE_ANTI ? PL_ANTI : PL_MARK;
    s->state = t->bitmap;
    s->expr = index;
    s->slot = slot;
    s->a_bits = a_bits;
    s->a_range = a_range;
    p->est = HD_MAX(1, est_rows(c, n) * (j->kind == FE_MARK ? 1 : 0.5));
    out->est = p->est;
    if (j->kind != FE_MARK)
        return 0;
    struct pl_val v = {.expr = pb_slot_expr(c, p, slot), .phys = RT_BOOL, .type = hd_type_of(HD_BOOL)};
    j->s = *out;
    return join_mark_output(c, j, h_phys(c, v), out);
}

static struct handle *bool_handle(struct ctx *c, bool v)
{
    return h_phys(c, lx_const(c, &(struct fe_value){.type = hd_type_of(HD_BOOL), .i = v}));
}

static int mark_parts(struct ctx *c, struct join *j, struct twice *t, struct stream *out)
{
    struct stream parts[2];
    for (int i = 0; i < 2; i++) {
        j->s = stream_over(c, t->rows, j->node->path);
        step_test(c, pipeline_of(c, &j->s), t->rows->state, i == 1, j->node->path);
        HD_TRY(join_mark_output(c, j, bool_handle(c, i == 0), &parts[i]));
    }
    return lower_appended(c, j->n, parts, 2, out);
}

static int exists_twice(struct ctx *c, struct join *j, struct twice *t, struct stream *b, struct stream *out)
{
    struct built built;
    struct stored stored;
    HD_TRY(add_matches(c, j, b, &built, &stored));
    end_first(c, j, t);
    if (!t->rows)
        return second_scan(c, j, t, out);
    if (j->kind == FE_MARK)
        return mark_parts(c, j, t, out);
    *out = stream_over(c, t->rows, j->node->path);
    step_test(c, pipeline_of(c, out), t->rows->state, j->kind == FE_ANTI, j->node->path);
    out->est = pipeline_of(c, out)->est;
    return 0;
}

/* ---- left and full outer ---------------------------------------------------------------------------------- */

static void null_side(struct ctx *c, struct join *j, struct stream *s, struct handle **mine, bool build)
{
    int nl = j->n->inputs[0]->ncols;
    bool left = build == j->d->swapped; /* `mine` are the left columns */
    struct handle **cols = HD_NEWN(c->a, struct handle *, j->n->ncols + 1);
    for (int i = 0; i < j->n->ncols; i++) {
        bool own = left ? i < nl : i >= nl;
        int at = left ? i : i - nl;
        cols[i] = own && mine[at]
                      ? mine[at]
                      : h_phys(c, lx_const(c, &(struct fe_value){.type = j->n->cols[i].type, .is_null = true}));
    }
    s->cols = cols;
    s->ncols = j->n->ncols;
}

/* Rows of the build state whose match bit stayed clear. */
static struct stream unmatched_build(struct ctx *c, struct join *j, const struct built *t, const struct stored *stored,
                                     bool cross)
{
    int state = cross ? stored->state : t->state;
    struct stream s;
    struct handle **mine = HD_NEWN(c->a, struct handle *, j->nbuild + 1);
    if (cross) {
        s = stream_over(c, stored, j->node->path);
        for (int i = 0; i < j->nbuild; i++)
            mine[i] = stored->want[i] ? s.cols[i] : NULL;
    } else {
        struct open_pipeline *p = pb_pipeline(c, RT_SOURCE_ROWS, j->node->path);
        p->spec.state = state;
        p->est = c->states.v[state].est_rows;
        s = (struct stream){.pipeline = c->pipelines.n - 1, .est = p->est, .max_rows = t->max_rows};
        struct handle *row = h_row(c, p->source_slot, NULL, state, false);
        struct handle **kept = HD_NEWN(c->a, struct handle *, t->kept.ncols + 1);
        keep_load(c, &t->kept, state, row, false, kept);
        for (int i = 0; i < j->nbuild; i++)
            mine[i] = t->keep_of[i] >= 0 ? kept[t->keep_of[i]] : NULL;
    }
    step_test(c, pipeline_of(c, &s), state, true, j->node->path);
    null_side(c, j, &s, mine, true);
    return s;
}

/* Rows of the probe side whose bit stayed clear. */
static int unmatched_probe(struct ctx *c, struct join *j, const struct twice *t, struct stream *s)
{
    if (t->rows) {
        *s = stream_over(c, t->rows, j->node->path);
        step_test(c, pipeline_of(c, s), t->rows->state, true, j->node->path);
    } else {
        struct handle *row = open_scan(c, j, join_rescanned(j->d)->n, s);
        HD_TRY(scan_filter(c, join_rescanned(j->d), row, s));
        step_test(c, pipeline_of(c, s), t->bitmap, true, j->node->path);
        s->est = pipeline_of(c, s)->est;
    }
    null_side(c, j, s, s->cols, false);
    s->max_rows = 0; /* a probe row that matches nothing takes the place of one that matches once */
    return 0;
}

/* Rows of the table that was searched whose bit stayed clear. */
static int unmatched_table(struct ctx *c, struct join *j, int bits, struct stream *s)
{
    struct handle *row = open_scan(c, j, j->d->tbuild, s);
    HD_TRY(scan_filter(c, j->d->build, row, s));
    step_test(c, pipeline_of(c, s), bits, true, j->node->path);
    s->est = pipeline_of(c, s)->est;
    null_side(c, j, s, s->cols, true);
    return 0;
}

/* Sets the bit of the build row that was found, if any. */
static int mark_found(struct ctx *c, struct join *j, int state, const struct fe_table *table)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    struct pl_val v;
    HD_TRY(h_value(c, p, j->brow, &v));
    step_mark(c, p, state, table, j->brow->slot, j->node->path);
    p->steps.v[p->steps.n - 1].row_nullable = j->brow->row_nullable;
    return 0;
}

int join_full_column(struct ctx *c, struct join *j, struct stream *out)
{
    struct stream parts[2];
    int bits = match_bits(c, j, node_table(j->d->tbuild));
    HD_TRY(join_search_column(c, j, PL_LEFT, NULL));
    HD_TRY(mark_found(c, j, bits, node_table(j->d->tbuild)));
    HD_TRY(join_output(c, j, &parts[0]));
    HD_TRY(unmatched_table(c, j, bits, &parts[1]));
    return lower_appended(c, j->n, parts, 2, out);
}

static int outer_twice(struct ctx *c, struct join *j, struct twice *t, struct stream *b, struct stream *out)
{
    struct built built = {0};
    struct stored stored;
    struct stream parts[3];
    bool cross = j->d->way == PL_WAY_ALL || j->d->way == PL_WAY_SEARCH, column = pl_looks_up(j->d->way);
    const struct fe_table *table = column ? node_table(j->d->tbuild) : NULL;
    int n = 2, bits = column && j->kind == FE_FULL ? match_bits(c, j, table) : -1;
    HD_TRY(add_matches(c, j, b, &built, &stored));
    struct open_pipeline *p = pipeline_of(c, &j->s);
    step_mark(c, p, t->rows ? t->rows->state : t->bitmap, p->spec.table, p->source_slot, j->node->path);
    if (j->kind == FE_FULL) {
        int state = column ? bits : cross ? stored.state : built.state;
        c->states.v[state].track_matches = true;
        HD_TRY(mark_found(c, j, state, table));
    }
    HD_TRY(join_output(c, j, &parts[0]));
    HD_TRY(unmatched_probe(c, j, t, &parts[1]));
    if (j->kind == FE_FULL && column)
        HD_TRY(unmatched_table(c, j, bits, &parts[2]));
    else if (j->kind == FE_FULL)
        parts[2] = unmatched_build(c, j, &built, &stored, cross);
    n += j->kind == FE_FULL;
    return lower_appended(c, j->n, parts, n, out);
}

int join_twice(struct ctx *c, struct join *j, struct stream *b, struct stream *out)
{
    struct twice t;
    first_look(c, j, &t);
    pb_note(c, "%s: %s join looks at its probe rows twice (%s)", j->node->path, fe_join_kind_name(j->d->written),
            t.rows ? "materialised" : "scanned again");
    if (j->kind == FE_LEFT || j->kind == FE_FULL)
        return outer_twice(c, j, &t, b, out);
    return exists_twice(c, j, &t, b, out);
}
