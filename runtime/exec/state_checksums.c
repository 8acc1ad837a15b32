/* Checksums of states that lie in the temporary file. Nobody writes a finished state, its match bits aside, so it is sealed then.
 * Rows that a pipeline goes through are verified morsel by morsel, what it looks up before it begins. Rows that were appended and
 * are not finished yet have none: the executor writes to them again. */
#include "runtime/exec/exec_internal.h"

/* What a state may have there. */
enum { ROWS, BITS, FIELDS, OFFSETS, SLOTS, DENSE };
_Static_assert(DENSE + 1 == RT_STATE_MEMORIES, "memories of a state");

static bool new_sums(struct rt_exec *x, struct rt_live *v)
{
    const struct rt_block *blocks[] = {
        [BITS] = &v->bits, [FIELDS] = &v->fields, [OFFSETS] = &v->offsets, [SLOTS] = &v->slots, [DENSE] = &v->dense};
    bool ok =
        rt_checksums_new(&x->memory, v->rows, v->rows ? (size_t)v->nrows * (size_t)v->s->stride : 0, &v->sums[ROWS]);
    for (int i = BITS; i < RT_STATE_MEMORIES && ok; i++)
        ok = rt_checksums_new(&x->memory, blocks[i]->p, blocks[i]->p ? blocks[i]->n : 0, &v->sums[i]);
    return ok;
}

struct checked {
    struct rt_exec *x;
    struct rt_live *v;
    struct rt_checksums *c;
};

static void seal(void *context, struct rt_worker *w HD_UNUSED, uint64_t piece)
{
    const struct checked *d = context;
    if (!rt_checksums_seal(&d->x->memory, d->c, (size_t)piece))
        rt_exec_raise_memory(d->x, d->v->s);
}

static void verify(void *context, struct rt_worker *w HD_UNUSED, uint64_t piece)
{
    const struct checked *d = context;
    size_t from = (size_t)piece * RT_SPILL_UNIT;
    if (!rt_checksums_verify(&d->x->memory, d->c, from, from + 1))
        rt_exec_raise_memory(d->x, d->v->s);
}

int rt_state_seal(struct rt_exec *x, struct rt_live *v)
{
    if (!x->memory.spill || !rt_spill_bytes(x->memory.spill))
        return 0;
    if (!new_sums(x, v)) {
        rt_exec_raise_memory(x, v->s);
        return -1;
    }
    for (int i = 0; i < RT_STATE_MEMORIES; i++) {
        struct checked d = {x, v, &v->sums[i]};
        if (d.c->sum)
            HD_TRY(rt_exec_parallel(x, d.c->pieces, seal, &d));
    }
    return 0;
}

int rt_states_verify(struct rt_exec *x, const struct rt_pipeline *p)
{
    for (int k = 0; k < p->nreads; k++) {
        struct rt_live *v = &x->live[p->reads[k]];
        bool source = p->source == RT_SOURCE_ROWS && p->state == p->reads[k];
        for (int i = source ? BITS : ROWS; i < RT_STATE_MEMORIES; i++) {
            struct checked d = {x, v, &v->sums[i]};
            if (d.c->sum)
                HD_TRY(rt_exec_parallel(x, d.c->pieces, verify, &d));
        }
    }
    return 0;
}

bool rt_source_verify(struct rt_exec *x, const struct rt_pipeline *p, uint64_t begin, uint64_t end)
{
    if (p->source != RT_SOURCE_ROWS)
        return true;
    struct rt_live *v = &x->live[p->state];
    size_t stride = (size_t)v->s->stride;
    if (rt_checksums_verify(&x->memory, &v->sums[ROWS], (size_t)begin * stride, (size_t)end * stride))
        return true;
    rt_exec_raise_memory(x, v->s);
    return false;
}

const struct rt_checksums *rt_state_row_sums(const struct rt_live *v)
{
    return &v->sums[ROWS];
}

void rt_state_free_sums(struct rt_live *v)
{
    for (int i = 0; i < RT_STATE_MEMORIES; i++)
        rt_checksums_free(&v->sums[i]);
}
