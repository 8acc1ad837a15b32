/* Loops over pairs. A join without keys looks at every pair of a row of its source and a row of a state. With the
 * rows of a thread in registers, a row of the state is read once for all of them; that is the register tiling of 2-body
 * statistics with the other side in the cache (two-body-statistics, section 3.2), where theta joins have had it in
 * shared memory (theta-joins, section 4.3.2). So what needs one side only is computed before the pairs: what the
 * source's row says before the level opens, what the state's row says first in it. */
#include "planner/loop.h"

#include "planner/loop_top.h"

/* A loop needs enough rows for the warps of a GPU, and of those that tiles bring the most have to arrive. */
enum { ROWS_MIN = 1024, OTHERS_MIN = 64 };
static const double SHARE_MIN = 0.5;

/* Bytes of the source's row that a thread keeps: of so many rows each. */
enum { LOOP_ROWS_MAX = 8, LOOP_BYTES = 128, RANKED_BYTES = 160 };

/* Operators of the tests of a pair that are done twice: comparisons, or an addition before one. */
enum { TESTS_AGAIN = 2 };

/* ---- which pipelines --------------------------------------------------------------------- */

/* The only step that opens a level; -1: there are several, or none. */
static int only_level(const struct open_pipeline *p)
{
    int found = -1;
    for (int i = 0; i < p->steps.n; i++) {
        if (!pl_opens_level(p->steps.v[i].kind))
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

static double source_rows(const struct ctx *c, const struct open_pipeline *p)
{
    switch (p->spec.source) {
    case RT_SOURCE_TABLE: return (double)p->spec.table->rows;
    case RT_SOURCE_ROWS: return c->states.v[p->spec.state].est_rows;
    case RT_SOURCE_INDEX:
    case RT_SOURCE_DICT: return 0;
    }
    HD_BUG("source %d", (int)p->spec.source);
}

/* Strings of its own are made once for each task that has the row, and again for each pair. */
static bool makes_string(const struct ctx *c, int e)
{
    static const bool makers[FE_OP_COUNT] = {
#define T_OP(...)
#define T_FUNCTION(...)
#define T_MADE(id, ...) [FE_##id] = true,
#include "frontend/ops.def"
        [FE_CONCAT] = true, [FE_TO_STRING] = true};
    const struct pl_expr *x = &c->exprs.v[e];
    bool makes = makers[x->op];
    for (int i = 0; i < x->nargs && !makes; i++)
        makes = makes_string(c, x->args[i]);
    return makes;
}

static bool has_own_strings(const struct ctx *c, const struct open_pipeline *p)
{
    bool has = false;
    for (int i = 0; i < p->steps.n && !has; i++)
        has = p->steps.v[i].expr >= 0 && makes_string(c, p->steps.v[i].expr);
    return has;
}

static bool has_fold(const struct open_pipeline *p)
{
    for (int i = 0; i < p->steps.n; i++)
        if (pl_opens_fold(p->steps.v[i].kind))
            return true;
    return false;
}

static bool is_loop(const struct ctx *c, const struct open_pipeline *p, int level)
{
    if (level < 0 || p->framed || p->spec.ordered || c->opt.balance != RT_BALANCE_AUTO || has_own_strings(c, p) ||
        has_fold(p))
        return false;
    const struct pl_step *s = &p->steps.v[level];
    double rows = source_rows(c, p);
    return pl_children(s->kind) == PL_CHILDREN_ALL && s->splittable && s->probe == PL_INNER && rows >= ROWS_MIN &&
           s->est >= SHARE_MIN * rows && c->states.v[s->state].est_rows >= OTHERS_MIN;
}

/* ---- moving steps ------------------------------------------------------------------------ */

/* It sets its slot and nothing else, whatever the row. */
static bool is_free(const struct ctx *c, const struct pl_step *s)
{
    return pl_step_form(s->kind)->yields == PL_YIELDS_ONE && (s->expr < 0 || !pl_expr_may_fail(c->exprs.v, s->expr));
}

static bool reads_only(const struct ctx *c, const struct open_pipeline *p, const struct pl_step *s, const bool *slots)
{
    bool *read = HD_NEWN(c->a, bool, p->slots.n + 1);
    pl_step_reads(c->exprs.v, s, read);
    for (int i = 0; i < p->slots.n; i++)
        if (read[i] && !slots[i])
            return false;
    return true;
}

/* Slots that every pair looks at: its conditions, and what an aggregate adds up. Rows that leave are few. */
static bool *read_by_pairs(const struct ctx *c, const struct open_pipeline *p, int level)
{
    bool *read = HD_NEWN(c->a, bool, p->slots.n + 1);
    if (p->sink.kind == PL_SINK_AGG_SCALAR || p->sink.kind == PL_SINK_AGG_DENSE || p->loop.top)
        pl_sink_reads(c->exprs.v, &p->sink, read);
    for (int i = p->steps.n - 1; i > level; i--) {
        const struct pl_step *s = &p->steps.v[i];
        bool one = pl_step_form(s->kind)->yields == PL_YIELDS_ONE;
        if (!one || read[s->slot])
            pl_step_reads(c->exprs.v, s, read);
    }
    return read;
}

/* Moves the steps behind `from` that need nothing but `slots`, and what these yield, to its place, in their order: how
 * many. */
static int move_up(const struct ctx *c, struct open_pipeline *p, int from, int to, const bool *wanted, bool *slots)
{
    int moved = 0;
    for (int i = from; i < p->steps.n; i++) {
        struct pl_step s = p->steps.v[i];
        if (!is_free(c, &s) || !wanted[s.slot] || !reads_only(c, p, &s, slots))
            continue;
        slots[s.slot] = true;
        memmove(&p->steps.v[to + 1], &p->steps.v[to], sizeof s * (size_t)(i - to));
        p->steps.v[to++] = s;
        moved++;
    }
    return moved;
}

/* Steps of the source's row go before the level that stands at `level`: where it stands then. */
static int move_out(const struct ctx *c, struct open_pipeline *p, int level, const bool *wanted)
{
    bool *slots = HD_NEWN(c->a, bool, p->slots.n + 1);
    slots[p->source_slot] = true;
    for (int i = 0; i < level; i++)
        if (p->steps.v[i].slot >= 0)
            slots[p->steps.v[i].slot] = true;
    int moved = move_up(c, p, level + 1, level, wanted, slots);
    for (int i = level; i < level + moved; i++) {
        p->steps.v[i].level = 0;
        p->steps.v[i].est = p->steps.v[level + moved].est;
    }
    return level + moved;
}

void pl_plan_loop(struct ctx *c, struct open_pipeline *p)
{
    int level = only_level(p);
    if (!is_loop(c, p, level))
        return;
    p->loop.top = pl_loop_top(c, p, level);
    const bool *wanted = read_by_pairs(c, p, level);
    level = move_out(c, p, level, wanted);
    bool *slots = HD_NEWN(c->a, bool, p->slots.n + 1);
    slots[p->steps.v[level].slot] = true;
    p->loop.others = move_up(c, p, level + 1, level + 1, wanted, slots);
    p->loop.rows = 1;
    p->loop.later = p->steps.v[level].kind == PL_STEP_EXPAND_LATER;
    p->loop.tested = level + 1 + p->loop.others;
    for (int i = p->loop.tested; i < p->steps.n; i++)
        if (pl_step_form(p->steps.v[i].kind)->yields == PL_YIELDS_SOME)
            p->loop.tested = i + 1;
    if (p->loop.top) /* the order is one more test */
        p->loop.tested = p->steps.n;
}

/* ---- rows of a thread -------------------------------------------------------------------- */

/* Each pair adds to what its thread or its block has, without a look at the others of the warp. */
static bool adds_alone(const struct pl_sink *s)
{
    if (s->kind != PL_SINK_AGG_SCALAR && s->kind != PL_SINK_AGG_DENSE)
        return false;
    switch (s->place) {
    case PL_PLACE_REGISTERS:
    case PL_PLACE_LANES:
    case PL_PLACE_HISTOGRAM:
    case PL_PLACE_BLOCK: return true;
    case PL_PLACE_RUNS:
    case PL_PLACE_MEMORY:
    case PL_PLACE_COUNT: return false;
    }
    HD_BUG("place %d", (int)s->place);
}

static bool counts_alone(const struct pl_sink *s)
{
    return s->kind == PL_SINK_AGG_DENSE && !s->clustered && !s->atomic && s->nouts == 1 &&
           s->outs[0].fn == FE_AGG_COUNT_STAR;
}

/* What pairs of a task, of so many for each row of a thread at most (templates/loop.cuh), add up to fits 32 bits. */
static bool fits_word(const struct ctx *c, const struct pl_pipeline *q, const struct pl_out *o)
{
    hd_i128 most = (hd_i128)q->loop.rows * HDD_LOOP_PART * (o->fn == FE_AGG_SUM ? o->max : 1);
    if (o->fn == FE_AGG_COUNT_STAR)
        return true;
    return (o->fn == FE_AGG_COUNT || o->fn == FE_AGG_SUM) && o->expr >= 0 && !c->exprs.v[o->expr].nullable &&
           c->exprs.v[o->expr].phys != RT_F64 && c->exprs.v[o->expr].phys != RT_F32 && most > 0 && most <= INT32_MAX;
}

/* Operators of an expression; one that is more than an instruction or two counts as many. */
static int operators(const struct ctx *c, int e)
{
    const struct pl_expr *x = &c->exprs.v[e];
    bool simple = fe_op_form(x->op)->cost == FE_COST_LOW || fe_op_form(x->op)->cost == FE_COST_COMPARE;
    bool number = x->phys == RT_BOOL || x->phys == RT_I32 || x->phys == RT_F32 || x->phys == RT_F64;
    bool word = number && !x->fail && !x->nullable;
    int n = word && x->nargs == 0 ? 0 : word && simple ? 1 : TESTS_AGAIN + 1;
    for (int i = 0; i < x->nargs; i++)
        n += operators(c, x->args[i]);
    return n;
}

/* Whether some pair of a row of the state passes costs nothing beside the tests, which of them one instruction for
 * each. So tests that are little more than that are done a second time for the few rows that have one. */
static bool tests_again(const struct ctx *c, const struct pl_pipeline *q)
{
    int n = 0;
    for (int i = q->levels[1].first_step + q->loop.others; i < q->loop.tested; i++) {
        if (q->steps[i].kind != PL_STEP_FILTER)
            return false;
        n += operators(c, q->steps[i].expr);
    }
    for (int i = 0; i < q->levels[1].first_step - 1 && n <= TESTS_AGAIN; i++) /* done once more for each of the row's */
        if (pl_step_form(q->steps[i].kind)->yields != PL_YIELDS_ONE)
            return false;
    return n > 0 && n <= TESTS_AGAIN && !q->loop.top && !q->loop.later && !c->opt.profile;
}

/* Of the keys by which a thread ranks the pairs of a row. */
static int ranked_bytes(const struct ctx *c, const struct pl_pipeline *q)
{
    const struct rt_state *st = &c->states.v[q->sink.state];
    return q->loop.top ? q->loop.top * (int)rt_phys_size(st->fields[st->sort[st->top->ngroup].field].phys) : 0;
}

void pl_size_loop(const struct ctx *c, struct pl_pipeline *q)
{
    struct pl_loop *l = &q->loop;
    if (!l->rows)
        return;
    for (l->rows = LOOP_ROWS_MAX; l->rows > 1 && (l->rows * q->levels[1].tuple_bytes > LOOP_BYTES ||
                                                  l->rows * ranked_bytes(c, q) > RANKED_BYTES);)
        l->rows /= 2;
    l->fused = adds_alone(&q->sink) && !q->first_match;
    l->again = !l->fused && tests_again(c, q);
    l->counts = counts_alone(&q->sink);
    l->sums = l->fused && q->sink.place == PL_PLACE_REGISTERS && l->tested > q->levels[1].first_step + l->others;
    for (int i = 0; i < q->sink.nouts && l->sums; i++)
        q->sink.outs[i].word = fits_word(c, q, &q->sink.outs[i]);
    pl_bound_loop(c, q);
    pl_size_part(c, q);
}
