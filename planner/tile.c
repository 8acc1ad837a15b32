/* Tiles: the first steps of a pipeline, cheap filters and what they look at, are evaluated for many rows at
 * once, without branches, into a selection; the other steps run per survivor. What survivors need of the
 * values in a tile they load again: they are few, and the tile's registers are free by then. */
#include "planner/tile.h"

#include "planner/parts.h"

/* Lookups in a tile: as many of the scan's rows reach them, and as many of those are left at most. */
#define LOOKUP_SHARE_MIN 0.125
#define LOOKUP_LEFT_MAX  0.75
/* Lists of values, which are asked for columns of codes most often, behind other filters of a GPU's tile: of fewer rows the
 * sectors with survivors are read sooner than the whole column. */
#define LIST_SHARE_MIN 0.03125
/* LIKE over a tile's strings, on a GPU: as many of the scan's rows reach it, as all strings are read; and so many bytes of a
 * piece are compared. */
#define SEARCH_SHARE_MIN 0.5
#define SEARCH_BYTES_MIN 4

/* What beside cheap filters a tile has. */
enum { TILE_LOOKUPS = 1, TILE_SEARCHES = 2 };

static bool is_cheap(enum fe_cost cost)
{
    switch (cost) {
    case FE_COST_LOW:
    case FE_COST_COMPARE:
    case FE_COST_CHOICE:
    case FE_COST_LIST:
    case FE_COST_CONVERT: return true;
    case FE_COST_LOAD:
    case FE_COST_DIVIDE:
    case FE_COST_TEXT:
    case FE_COST_SEARCH: return false;
    }
    HD_BUG("cost %d", (int)cost);
}

/* ---- strings ----------------------------------------------------------------------------------- */

/* A pattern that a string's first bytes do not decide, with a piece that is worth looking for. */
static bool is_sought(const struct rt_arg *a)
{
    int n = 0, most = 0;
    for (size_t i = 0; i < a->n; i++) {
        bool escaped = a->escape && a->s[i] == a->escape && i + 1 < a->n;
        i += escaped;
        n = !escaped && a->s[i] == '%' ? 0 : n + (escaped || a->s[i] != '_');
        most = HD_MAX(most, n);
    }
    return a->n > 0 && a->s[0] == '%' && most >= SEARCH_BYTES_MIN;
}

/* Strings of the source's row. */
static bool loads_text(const struct pl_pipeline *q, const struct pl_step *s)
{
    return s->kind == PL_STEP_LOAD_COLUMN && s->row_slot == q->source_slot && !s->row_nullable &&
           s->table->cols[s->column].storage == FE_STORE_TEXT;
}

static bool is_text_slot(const struct pl_pipeline *q, int slot)
{
    for (int i = 0; i < q->nsteps; i++)
        if (q->steps[i].slot == slot)
            return loads_text(q, &q->steps[i]);
    return false;
}

/* A LIKE that a warp can do for a tile. */
static bool is_search(const struct ctx *c, const struct pl_pipeline *q, const struct pl_expr *x)
{
    const struct pl_expr *text = x->op == FE_LIKE ? &c->exprs.v[x->args[0]] : NULL;
    return text && text->op == FE_COL && is_text_slot(q, text->slot) && is_sought(&c->args.v[x->arg]);
}

/* ---- steps ------------------------------------------------------------------------------------- */

/* searches: LIKEs that a warp can do are cheap. */
static bool is_cheap_for(const struct ctx *c, const struct pl_pipeline *q, int e, bool searches)
{
    const struct pl_expr *x = &c->exprs.v[e];
    if (searches && is_search(c, q, x))
        return true;
    if (x->fail || x->phys == RT_STR || x->phys == RT_I128 || !is_cheap(fe_op_form(x->op)->cost))
        return false;
    for (int i = 0; i < x->nargs; i++)
        if (!is_cheap_for(c, q, x->args[i], searches))
            return false;
    return true;
}

static bool expr_is_cheap(const struct ctx *c, int e)
{
    return is_cheap_for(c, NULL, e, false);
}

static bool reads_text(const struct ctx *c, const struct pl_pipeline *q, int e, int slot)
{
    const struct pl_expr *x = &c->exprs.v[e];
    if (x->op == FE_COL && x->slot == slot)
        return true;
    for (int i = 0; i < x->nargs; i++)
        if (reads_text(c, q, x->args[i], slot))
            return true;
    return false;
}

/* A filter with LIKEs that a warp does for its tile. */
static bool is_searching(const struct ctx *c, const struct pl_pipeline *q, const struct pl_step *s)
{
    return s->kind == PL_STEP_FILTER && !q->framed && !q->loop.rows && !expr_is_cheap(c, s->expr) &&
           s->est >= SEARCH_SHARE_MIN * pl_visited_rows(c->exprs.v, q) && is_cheap_for(c, q, s->expr, true);
}

static bool is_searched(const struct ctx *c, const struct pl_pipeline *q, const struct pl_step *s)
{
    for (int i = 0; loads_text(q, s) && i < q->nsteps; i++)
        if (is_searching(c, q, &q->steps[i]) && reads_text(c, q, q->steps[i].expr, s->slot))
            return true;
    return false;
}

static bool is_load(const struct pl_pipeline *q, const struct pl_step *s)
{
    return pl_step_form(s->kind)->subject == PL_OF_COLUMN && q->slots[s->slot].phys != RT_STR &&
           q->slots[s->slot].phys != RT_I128 && s->row_slot == q->source_slot;
}

/* A filter by a bit of a table of keys: of a tile's rows all bits are asked for before the first is there. It pays
 * where it ends rows, and where enough reach it: a tile reads its columns whole. */
static bool is_lookup(const struct ctx *c, const struct pl_pipeline *q, int i)
{
    const struct pl_step *s = &q->steps[i];
    double rows = s->est, left = i + 1 < q->nsteps ? q->steps[i + 1].est : q->spec->counter_est[q->nsteps];
    return (pl_step_form(s->kind)->tile & PL_TILE_LOOKUPS) && (s->probe != PL_LEFT && s->probe != PL_MARK) &&
           expr_is_cheap(c, s->expr) && !q->framed && left >= 0 &&
           rows >= LOOKUP_SHARE_MIN * pl_visited_rows(c->exprs.v, q) && left <= LOOKUP_LEFT_MAX * rows;
}

/* Bits of eight rows are a byte that a lane reads at once. */
static bool tests_bits(const struct pl_pipeline *q, const struct pl_step *s)
{
    return (pl_step_form(s->kind)->tile & PL_TILE_BITS) && s->row_slot == q->source_slot && !q->framed;
}

/* Of the rows that are visited few are in front of the first. */
static bool is_first_row(const struct pl_expr *exprs, const struct pl_pipeline *q, const struct pl_step *s)
{
    const struct pl_expr *x = &exprs[s->expr];
    return x->op == FE_GE && exprs[x->args[0]].op == FE_COL && exprs[x->args[0]].slot == q->source_slot;
}

double pl_visited_rows(const struct pl_expr *exprs, const struct pl_pipeline *q)
{
    double rows = (double)q->spec->table->rows, behind = -1;
    for (int i = 0; i < q->nsteps && behind < 0; i++) {
        const struct pl_step *s = &q->steps[i];
        if (s->kind == PL_STEP_LOAD_COLUMN)
            continue;
        if (s->kind != PL_STEP_FILTER || !is_first_row(exprs, q, s))
            break;
        behind = i + 1 < q->nsteps ? q->steps[i + 1].est : q->spec->counter_est[q->nsteps];
    }
    return behind >= 0 ? HD_MIN(behind, rows) : rows;
}

/* A scan whose first steps are cheap filters, of columns or what is computed of them, evaluates them over a tile of rows. */
static int scan_tile_steps(struct ctx *c, const struct pl_pipeline *q, unsigned with)
{
    int last = 0, weight = 0;
    double visited;
    bool looked = false, lookups = with & TILE_LOOKUPS, searches = with & TILE_SEARCHES;
    if (q->spec->source != RT_SOURCE_TABLE || q->spec->table->rows < 4096)
        return 0;
    visited = pl_visited_rows(c->exprs.v, q);
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
        const struct pl_step_form *form = pl_step_form(s->kind);
        bool load = is_load(q, s) || (searches && is_searched(c, q, s)),
             lookup = lookups && (is_lookup(c, q, i) || tests_bits(q, s));
        bool cheap = form->reads == PL_READS_EXPR && (form->tile & PL_TILE_ROWS) && expr_is_cheap(c, s->expr);
        bool filter = (cheap && form->yields == PL_YIELDS_SOME) || (searches && is_searching(c, q, s));
        bool let = cheap && form->yields == PL_YIELDS_ONE;
        bool few = looked && s->est < LOOKUP_SHARE_MIN * visited;
        few |= lookups && filter && c->exprs.v[s->expr].op == FE_IN_BITS && s->est < LIST_SHARE_MIN * visited;
        bool fits = (form->tile & PL_TILE_ROWS) || lookup;
        if (few || !fits || (!load && !let && !filter && !lookup) || !pl_fits_tile(c, q, s, &weight))
            break;
        looked = looked || (lookup && !tests_bits(q, s));
        if (lookup || (filter && !is_first_row(c->exprs.v, q, s)))
            last = i + 1;
    }
    return last;
}

static double groups_with_gaps(const struct rt_state *st)
{
    return st->kind == RT_STATE_AGG_DENSE ? (double)st->range : st->est_rows;
}

/* First steps over groups that look at nothing but the group, as far as the last that ends some. */
static int group_tile_steps(struct ctx *c, const struct pl_pipeline *q)
{
    enum { STRIDE_MAX = 64 }; /* read whole, eight of a lane at once */
    const struct rt_state *st = q->spec->state >= 0 ? &c->states.v[q->spec->state] : NULL;
    int last = 0, weight = 0;
    if (!st || !rt_state_has_gaps(st) || groups_with_gaps(st) < 4096 || st->stride > STRIDE_MAX)
        return 0;
    if (st->word && q->sink.kind != PL_SINK_ROWS) /* only appended rows gain: by places for a tile at a time */
        return 0;
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
        const struct pl_step_form *form = pl_step_form(s->kind);
        bool here = form->reads == PL_READS_ROW && s->row_slot == q->source_slot && s->state == q->spec->state;
        bool load = here && form->subject == PL_OF_FIELD && st->fields[s->field].phys != RT_STR &&
                    q->slots[s->slot].nullable == (st->fields[s->field].valid_offset >= 0);
        bool cheap = form->reads == PL_READS_EXPR && expr_is_cheap(c, s->expr);
        bool ends = form->yields == PL_YIELDS_SOME && (here || cheap);
        if (!(form->tile & PL_TILE_GROUPS) || (!load && !ends) || !pl_fits_tile(c, q, s, &weight))
            break;
        if (ends)
            last = i + 1;
    }
    return last;
}

/* ---- vectors of a CPU ------------------------------------------------------------------------ */

static bool loads_vector(const struct pl_pipeline *q, const struct pl_step *s)
{
    const struct fe_table_column *c = &s->table->cols[s->column];
    enum rt_phys phys = q->slots[s->slot].phys;
    return s->row_slot == q->source_slot && !s->row_nullable && c->storage != FE_STORE_TEXT && phys != RT_STR &&
           phys != RT_I128 && c->width <= 8;
}

static bool step_is_vector(const struct pl_expr *exprs, const struct pl_pipeline *q, const struct pl_step *s)
{
    if (!(pl_step_form(s->kind)->tile & PL_TILE_ROWS))
        return false;
    return pl_step_form(s->kind)->subject == PL_OF_COLUMN ? loads_vector(q, s) : exprs[s->expr].vector;
}

/* ---- values of a tile -------------------------------------------------------------------------- */

/* Steps of the tile whose values its own filters look at, directly or through a LET, and the same for the
 * steps behind it. Values at a row that a load names are no business of a tile, whose rows are known. */
static bool *read_by(struct hd_arena *a, const struct pl_expr *exprs, const struct pl_pipeline *q, int steps,
                     bool survivors)
{
    bool *read = HD_NEWN(a, bool, q->nslots + 1), *need = HD_NEWN(a, bool, steps + 1);
    for (int i = survivors ? steps : 0; i < (survivors ? q->nsteps : steps); i++)
        if (survivors || pl_step_form(q->steps[i].kind)->yields != PL_YIELDS_ONE)
            pl_step_reads(exprs, &q->steps[i], read);
    if (survivors)
        pl_sink_reads(exprs, &q->sink, read);
    for (int i = steps - 1; i >= 0; i--) {
        const struct pl_step *s = &q->steps[i];
        need[i] = s->slot >= 0 && read[s->slot];
        if (need[i])
            pl_step_reads(exprs, s, read);
    }
    return need;
}

static struct pl_tile_steps tile_of(struct hd_arena *a, const struct pl_expr *exprs, const struct pl_pipeline *q,
                                    int steps)
{
    if (steps == 0)
        return (struct pl_tile_steps){0};
    struct pl_tile_steps t = {steps, read_by(a, exprs, q, steps, false), read_by(a, exprs, q, steps, true),
                              HD_NEWN(a, bool, steps + 1)};
    for (int i = 0; i < steps; i++)
        if (loads_text(q, &q->steps[i])) {
            t.searched[i] = t.early[i];
            t.early[i] = false;
        }
    return t;
}

struct pl_tile_steps pl_cpu_tile(struct hd_arena *a, const struct pl_expr *exprs, const struct pl_pipeline *q, int max)
{
    int steps = 0;
    if (max > 0 && q->spec->table->rows < PL_CPU_TILE_ROWS)
        max = 0;
    for (int k = 0; k < max && step_is_vector(exprs, q, &q->steps[k]); k++)
        if (pl_step_form(q->steps[k].kind)->yields == PL_YIELDS_SOME)
            steps = k + 1;
    return tile_of(a, exprs, q, steps);
}

/* ---- searches for a tile ------------------------------------------------------------------------ */

/* A smaller state lies in the nearest caches whole. */
#define AHEAD_ROWS_MIN 4096

static bool searches_state(const struct pl_step *s)
{
    return s->kind == PL_STEP_SEARCH || s->kind == PL_STEP_PROBE_SORTED || s->kind == PL_STEP_EXPAND_SORTED;
}

static bool sought_cannot_fail(const struct pl_expr *exprs, const struct pl_step *s)
{
    if (s->kind == PL_STEP_SEARCH)
        return !pl_expr_may_fail(exprs, s->expr);
    for (int i = 0; i < s->nkeys; i++)
        if (pl_expr_may_fail(exprs, s->keys[i]))
            return false;
    return true;
}

/* Behind the tile's filters, all rows go on, and nothing is evaluated that may fail: it could be that a row before ends
 * the query. */
static bool goes_on(const struct pl_expr *exprs, const struct pl_pipeline *q, const struct pl_step *s)
{
    if (s->kind == PL_STEP_SEARCH)
        return true;
    if (s->kind == PL_STEP_LET)
        return !pl_expr_may_fail(exprs, s->expr);
    return (s->kind == PL_STEP_LOAD_COLUMN || s->kind == PL_STEP_LOAD_FIELD) && s->row_slot == q->source_slot &&
           !s->row_nullable;
}

static void choose_ahead(struct ctx *c, struct pl_pipeline *q)
{
    const struct pl_expr *exprs = c->exprs.v;
    if (q->framed || q->unoptimised || q->loop.rows)
        return;
    for (int i = 0, n = 0; i < q->nsteps && n < PL_SEARCHES_AHEAD; i++) {
        struct pl_step *s = &q->steps[i];
        if (searches_state(s) && c->states.v[s->state].est_rows >= AHEAD_ROWS_MIN && sought_cannot_fail(exprs, s)) {
            s->ahead = q->cpu_ahead = true;
            n++;
        }
        if (i >= q->cpu_tile.steps && !goes_on(exprs, q, s))
            return;
    }
}

struct pl_tile_steps pl_tile_without_search(struct ctx *c, const struct pl_pipeline *q)
{
    return tile_of(c->a, c->exprs.v, q, scan_tile_steps(c, q, TILE_LOOKUPS));
}

void pl_choose_tiles(struct ctx *c, struct pl_pipeline *q)
{
    int gpu = scan_tile_steps(c, q, TILE_LOOKUPS | TILE_SEARCHES);
    q->cpu_tile = pl_cpu_tile(c->a, c->exprs.v, q, scan_tile_steps(c, q, 0));
    q->gpu_tile = tile_of(c->a, c->exprs.v, q, gpu ? gpu : group_tile_steps(c, q));
    choose_ahead(c, q);
}
