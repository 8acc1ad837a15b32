/* Wide rows on their way from one state to the next. Outer joins and unions hand on rows of hundreds of
 * columns, and a load and a store for each would be most of a plan's code. Where many fields of a row
 * go to a ROWS state as they are, their bytes are copied: fields that lie side by side in both rows, and
 * their validity bytes, are one range. Fields that are NULL in all rows are ranges of zeros. */
#include <stdlib.h>

#include "planner/copies.h"

enum { FIELDS_MIN = 32 }; /* below this, loads and stores take part in what compilers do best */

static int by_target(const void *x, const void *y)
{
    const struct pl_copy *a = x, *b = y;
    return (a->to > b->to) - (a->to < b->to);
}

/* The step that loads a slot from a field of a row that exists; NULL: it comes from elsewhere. */
static const struct pl_step *field_load(const struct open_pipeline *p, const int *step_of, int slot)
{
    const struct pl_step *s = step_of[slot] < 0 ? NULL : &p->steps.v[step_of[slot]];
    return s && s->kind == PL_STEP_LOAD_FIELD && !s->row_nullable ? s : NULL;
}

/* Rows of structures; DIRECT keeps arrays. */
static bool has_rows(const struct rt_state *st)
{
    return st->kind != RT_STATE_DIRECT && st->kind != RT_STATE_BITMAP;
}

struct copier {
    struct ctx *c;
    struct open_pipeline *p;
    int *step_of; /* by slot: the step that sets it, -1 none */
    struct pl_copy *v;
    int n;
};

static void add_range(struct copier *k, int state, int row_slot, int arg, int from, int to, int bytes)
{
    k->v[k->n++] = (struct pl_copy){state, row_slot, arg, from, to, bytes};
}

static bool add_null(struct copier *k, const struct rt_field *to)
{
    if (to->valid_offset < 0)
        return false;
    add_range(k, -1, -1, -1, 0, to->offset, rt_phys_size(to->phys));
    add_range(k, -1, -1, -1, 0, to->valid_offset, 1);
    return true;
}

/* The ranges of an out; false: it is no copy. */
static bool add_out(struct copier *k, const struct pl_out *o)
{
    const struct rt_field *to = &k->c->states.v[k->p->sink.state].fields[o->field];
    const struct pl_expr *e = &k->c->exprs.v[o->expr];
    if (e->op == FE_LIT && e->is_null)
        return add_null(k, to);
    const struct pl_step *s = e->op == FE_COL ? field_load(k->p, k->step_of, e->slot) : NULL;
    if (!s || !has_rows(&k->c->states.v[s->state]))
        return false;
    const struct rt_field *from = &k->c->states.v[s->state].fields[s->field];
    if (from->phys != to->phys || from->bytes || (from->valid_offset >= 0) != (to->valid_offset >= 0) ||
        e->nullable != (from->valid_offset >= 0))
        return false;
    add_range(k, s->state, s->row_slot, s->a_rows, from->offset, to->offset, rt_phys_size(to->phys));
    if (from->valid_offset >= 0)
        add_range(k, s->state, s->row_slot, s->a_rows, from->valid_offset, to->valid_offset, 1);
    return true;
}

static bool joins(const struct pl_copy *a, const struct pl_copy *b)
{
    bool zeros = a->state < 0 && b->state < 0;
    return a->to + a->bytes == b->to &&
           (zeros || (a->state == b->state && a->row_slot == b->row_slot && a->from + a->bytes == b->from));
}

static void merge_ranges(struct copier *k)
{
    int n = 0;
    qsort(k->v, (size_t)k->n, sizeof *k->v, by_target);
    for (int i = 0; i < k->n; i++)
        if (n && joins(&k->v[n - 1], &k->v[i]))
            k->v[n - 1].bytes += k->v[i].bytes;
        else
            k->v[n++] = k->v[i];
    k->n = n;
}

static int *steps_by_slot(struct ctx *c, const struct open_pipeline *p)
{
    int *v = HD_NEWN(c->a, int, p->slots.n + 1);
    for (int i = 0; i < p->slots.n; i++)
        v[i] = -1;
    for (int i = 0; i < p->steps.n; i++)
        if (p->steps.v[i].slot >= 0)
            v[p->steps.v[i].slot] = i;
    return v;
}

void pl_copy_fields(struct ctx *c, struct open_pipeline *p)
{
    struct pl_sink *s = &p->sink;
    if (s->kind != PL_SINK_ROWS || s->nouts < FIELDS_MIN || c->states.v[s->state].kind != RT_STATE_ROWS)
        return;
    struct copier k = {
        .c = c, .p = p, .step_of = steps_by_slot(c, p), .v = HD_NEWN(c->a, struct pl_copy, 2 * s->nouts)};
    struct pl_out *rest = HD_NEWN(c->a, struct pl_out, s->nouts);
    int nrest = 0;
    for (int i = 0; i < s->nouts; i++)
        if (!add_out(&k, &s->outs[i]))
            rest[nrest++] = s->outs[i];
    merge_ranges(&k);
    if (s->nouts - nrest < FIELDS_MIN || k.n > (s->nouts - nrest) / 4)
        return;
    s->copies = k.v;
    s->ncopies = k.n;
    s->outs = rest;
    s->nouts = nrest;
}
