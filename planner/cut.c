/* Where a pipeline is cut in two because its loop nest would become too deep or its levels too
 * wide: the rows so far are kept in a ROWS state, a new pipeline goes on from there. A level takes
 * an entry of the arrays that runtime and emitters have for RT_MAX_LEVELS, and on a GPU a queue in
 * the shared memory of each block, whose tuples hold what the level carries. */
#include <limits.h>

#include "planner/cut.h"

#include "planner/build.h"
#include "planner/lower_arith.h"
#include "planner/store.h"

enum {
    QUEUES_MAX = HDD_QUEUES_BYTES,
    CARRIED_MAX = 256,       /* bytes of a tuple from which values are loaded again instead */
    ROWS_MAX = 512 /* bytes of row ids and computed values: from there rows are kept */
};

/* ---- what a level carries --------------------------------------------------------------- */

/* The slots that the columns of a stream come from, and their bytes in a tuple: by the alignment
 * that they need, as what lies between them depends on their order. */
struct carry {
    struct ctx *c;
    const struct open_pipeline *p;
    bool reload; /* columns and fields are taken from their row, loaded or not */
    int stamp;   /* of handles that were looked at */
    bool *slots;
    int nsmall, nmiddle, nwide, bytes;
};

static void carry_value(struct carry *w, enum rt_phys phys, bool nullable)
{
    int size = HD_MAX(4, rt_phys_size(phys));
    w->nsmall += size == 4;
    w->nmiddle += size == 8 || phys == RT_STR;
    w->nwide += phys == RT_I128;
    w->bytes += nullable && phys == RT_STR ? 24 : nullable ? 2 * size : size;
}

static void carry_slot(struct carry *w, int slot)
{
    const struct pl_slot *s = &w->p->slots.v[slot];
    if (w->slots[slot])
        return;
    w->slots[slot] = true;
    carry_value(w, s->phys, s->nullable);
}

static void carry_handle(struct carry *w, struct handle *h);

static void carry_expr(struct carry *w, const struct fe_expr *e, struct handle *const *env)
{
    if (e->op == FE_COL)
        carry_handle(w, env[e->col]);
    for (int i = 0; i < e->nargs; i++)
        carry_expr(w, e->args[i], env);
}

static void carry_phys(struct carry *w, const struct handle *h)
{
    bool *read = HD_NEWN(w->c->a, bool, w->p->slots.n + 1);
    if (h->val.is_const)
        return;
    pl_expr_reads(w->c->exprs.v, h->val.expr, read);
    for (int i = 0; i < w->p->slots.n; i++)
        if (read[i])
            carry_slot(w, i);
}

/* A value in memory at a row that is at hand. */
static bool is_loadable(const struct handle *h)
{
    return (h->kind == H_COLUMN || h->kind == H_FIELD) && !h->is_row;
}

static void carry_handle(struct carry *w, struct handle *h)
{
    if (!h || h->stamp == w->stamp)
        return;
    h->stamp = w->stamp;
    if (h->slot >= 0 && !(w->reload && is_loadable(h))) {
        carry_slot(w, h->slot);
        return;
    }
    switch (h->kind) {
    case H_SLOT: return; /* of a lookup that yields no row */
    case H_COLUMN:
    case H_FIELD: carry_handle(w, h->row); return;
    case H_LOOKUP: carry_handle(w, h->det[0]); return;
    case H_EXPR: carry_expr(w, h->expr, h->env); return;
    case H_PHYS: carry_phys(w, h); return;
    }
}

static bool is_wanted(const struct stream *s, const bool *want, int i)
{
    return s->cols[i] && (!want || want[i]);
}

/* A column that will be computed before the level, and is a value from then on. */
static bool will_be_value(const struct handle *h, const bool *keys, int i)
{
    return keys && keys[i] && h->kind == H_EXPR && h->slot < 0;
}

/* Bytes of a tuple from which the wanted columns can be had, at most. keys: columns that the step which opens
 * the level looks at (NULL: none). */
static int carried(struct ctx *c, const struct stream *s, const bool *want, const bool *keys, bool reload)
{
    struct carry w = {.c = c, .p = pipeline_of(c, s), .reload = reload, .stamp = ++c->stamp};
    w.slots = HD_NEWN(c->a, bool, w.p->slots.n + 1);
    for (int i = 0; i < s->ncols; i++)
        if (is_wanted(s, want, i) && will_be_value(s->cols[i], keys, i))
            carry_value(&w, lx_full_phys(s->cols[i]->type), s->cols[i]->nullable);
        else if (is_wanted(s, want, i))
            carry_handle(&w, s->cols[i]);
    return w.bytes + 4 * HD_MIN(w.nsmall, w.nmiddle) + 12 * w.nwide;
}

int cut_queue_bytes(int carried_bytes)
{
    return pl_queue_bytes(carried_bytes + HDD_TUPLE_ALIGN, HDD_BLOCK_WARPS);
}

bool cut_fits(const struct open_pipeline *head, const struct open_pipeline *tail, int more)
{
    int bytes = head->queue_bytes + tail->queue_bytes + tail->level * cut_queue_bytes(more);
    return head->level + tail->level < RT_MAX_LEVELS && (tail->level == 0 || bytes <= QUEUES_MAX);
}

/* Columns and fields that h comes from are loaded again when somebody asks next, and values in slots from
 * `computed` on are computed again. */
static void forget(struct handle *h, int computed, int stamp);

static void forget_expr(const struct fe_expr *e, struct handle *const *env, int computed, int stamp)
{
    if (e->op == FE_COL)
        forget(env[e->col], computed, stamp);
    for (int i = 0; i < e->nargs; i++)
        forget_expr(e->args[i], env, computed, stamp);
}

static void forget(struct handle *h, int computed, int stamp)
{
    if (!h || h->stamp == stamp)
        return;
    h->stamp = stamp;
    if (h->kind == H_EXPR && h->slot >= computed)
        h->slot = -1;
    if (h->kind == H_EXPR && h->slot < 0)
        forget_expr(h->expr, h->env, computed, stamp);
    if (is_loadable(h))
        h->slot = -1;
}

static void forget_columns(struct ctx *c, const struct stream *s, const bool *want, int computed)
{
    int stamp = ++c->stamp;
    for (int i = 0; i < s->ncols; i++)
        if (is_wanted(s, want, i))
            forget(s->cols[i], computed, stamp);
}

/* ---- cutting ---------------------------------------------------------------------------- */

int cut_before_level(struct ctx *c, struct stream *s, const bool *want, const bool *keys, const char *path)
{
    const struct open_pipeline *p = pipeline_of(c, s);
    int bytes = carried(c, s, want, keys, true);
    bool deep = p->level == RT_MAX_LEVELS - 1;
    bool full = p->level > 0 && p->queue_bytes + cut_queue_bytes(bytes) > QUEUES_MAX;
    if (deep || full || bytes > ROWS_MAX) {
        struct stored rows;
        pb_note(c, "%s: keeps the rows that come to it (%d levels below, %d bytes a row)", path, p->level + 1, bytes);
        HD_TRY(store_stream(c, s, want, NULL, "cut", path, &rows));
        *s = stream_over(c, &rows, path);
    }
    pipeline_of(c, s)->counted_slots = pipeline_of(c, s)->slots.n;
    return 0;
}

/* Values that were computed since cut_before_level counted are computed again below where they are too many. */
void cut_open_level(struct ctx *c, const struct stream *s, const bool *want)
{
    struct open_pipeline *p = pipeline_of(c, s);
    int bytes = carried(c, s, want, NULL, false);
    if (bytes > CARRIED_MAX || p->queue_bytes + cut_queue_bytes(bytes) > QUEUES_MAX) {
        forget_columns(c, s, want, INT_MAX);
        bytes = carried(c, s, want, NULL, true);
    }
    if (bytes > ROWS_MAX || p->queue_bytes + cut_queue_bytes(bytes) > QUEUES_MAX) {
        forget_columns(c, s, want, p->counted_slots);
        bytes = carried(c, s, want, NULL, true);
    }
    p->queue_bytes += cut_queue_bytes(bytes);
    p->level++;
}
