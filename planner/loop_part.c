/* Loops over pairs on a CPU. The rows of the state come in parts, each with all source rows of a morsel. What their rows
 * are asked for lies side by side while a part lasts (two-body-statistics, section 3.2, has tiles in shared memory
 * likewise): vectors of pairs then load it without shuffles, and what is computed of one row is computed once for all
 * source rows. Counts by group have copies for a part (section 3.3), of 32 bits. */
#include "planner/loop.h"

/* Bytes of values and of counts that stay in the first-level cache beside each other. */
enum { PART_ROWS_MAX = 1024, PART_ROWS_MIN = 64, COLUMN_BYTES = 16 << 10, COUNT_BYTES = 8 << 10, GROUPS_MAX = 8 << 10 };
enum { COPIES_MAX = 4 };

static bool fits_column(enum rt_phys p)
{
    switch (p) {
    case RT_I32:
    case RT_I64:
    case RT_F64:
    case RT_F32: return true;
    case RT_BOOL:
    case RT_I128:
    case RT_STR: return false;
    }
    HD_BUG("physical type %d", (int)p);
}

/* ---- runs of rows -------------------------------------------------------------------------------------------- */

/* The step that loads the field by which the level's state is sorted, into this slot; -1: none does. */
static int loads_order(const struct ctx *c, const struct pl_pipeline *q, int slot)
{
    int first = q->levels[1].first_step, state = q->steps[first - 1].state;
    const struct rt_state *st = &c->states.v[state];
    for (int i = first; i < first + q->loop.others; i++) {
        const struct pl_step *s = &q->steps[i];
        if (s->kind == PL_STEP_LOAD_FIELD && s->slot == slot && s->state == state && st->nsort > 0 &&
            st->sort[0].field == s->field && !st->sort[0].desc && q->slots[slot].phys == RT_I64 &&
            !q->slots[slot].nullable)
            return i;
    }
    return -1;
}

static bool is_carried(const struct pl_pipeline *q, int slot)
{
    for (int i = 0; i < q->levels[1].nslots; i++)
        if (q->levels[1].slots[i] == slot)
            return !q->slots[slot].nullable;
    return false;
}

static void find_run(const struct ctx *c, struct pl_pipeline *q)
{
    struct pl_loop *l = &q->loop;
    l->first = l->last = (struct pl_run_end){-1, -1, -1};
    for (int i = q->levels[1].first_step + l->others; i < l->tested; i++) {
        const struct pl_expr *x = q->steps[i].kind == PL_STEP_FILTER ? &c->exprs.v[q->steps[i].expr] : NULL;
        if (!x || (x->op != FE_LE && x->op != FE_GE))
            continue;
        const struct pl_expr *word = &c->exprs.v[x->args[0]], *bound = &c->exprs.v[x->args[1]];
        struct pl_run_end *end = x->op == FE_LE ? &l->last : &l->first;
        int load = word->op == FE_COL ? loads_order(c, q, word->slot) : -1;
        if (load >= 0 && bound->op == FE_COL && is_carried(q, bound->slot) && end->step < 0)
            *end = (struct pl_run_end){i, load, bound->slot};
    }
}

/* ---- columns ------------------------------------------------------------------------------------------------- */

/* From the last of the others to the first: what do pairs want of it? */
static int choose_columns(const struct ctx *c, struct pl_pipeline *q)
{
    struct pl_loop *l = &q->loop;
    int first = q->levels[1].first_step, bytes = 0;
    bool *read = HD_NEWN(c->a, bool, q->nslots + 1);
    l->how = HD_NEWN(c->a, enum pl_other, l->others + 1);
    pl_sink_reads(c->exprs.v, &q->sink, read);
    for (int i = first + l->others; i < q->nsteps; i++)
        if (i != l->first.step && i != l->last.step)
            pl_step_reads(c->exprs.v, &q->steps[i], read);
    for (int i = l->others - 1; i >= 0; i--) {
        const struct pl_step *s = &q->steps[first + i];
        const struct pl_slot *slot = &q->slots[s->slot];
        l->how[i] = !read[s->slot] ? PL_OTHER_UNREAD : fits_column(slot->phys) ? PL_OTHER_COLUMN : PL_OTHER_AGAIN;
        if (l->how[i] == PL_OTHER_AGAIN)
            pl_step_reads(c->exprs.v, s, read);
        if (l->how[i] == PL_OTHER_COLUMN)
            bytes += rt_phys_size(slot->phys) + slot->nullable;
    }
    return bytes;
}

static int count_copies(const struct ctx *c, const struct pl_pipeline *q)
{
    uint64_t groups = c->states.v[q->sink.state].range;
    if (!q->loop.counts || groups > GROUPS_MAX)
        return 0;
    int copies = COPIES_MAX;
    while (copies > 1 && (groups + 1) * (uint64_t)copies * sizeof(uint32_t) > COUNT_BYTES)
        copies /= 2;
    return copies;
}

void pl_size_part(const struct ctx *c, struct pl_pipeline *q)
{
    struct pl_loop *l = &q->loop;
    find_run(c, q);
    int bytes = choose_columns(c, q);
    for (l->part_rows = PART_ROWS_MAX; l->part_rows > PART_ROWS_MIN && l->part_rows * bytes > COLUMN_BYTES;)
        l->part_rows /= 2;
    l->part_copies = count_copies(c, q);
}
