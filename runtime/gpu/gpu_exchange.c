/* States between devices. What pipelines put into a state on several devices is gathered on one (gpu_gather.c), which
 * finishes it; a finished state is copied to those whose pipelines read it. The receiving device does the work. Strings
 * stay where they are: a row names them by address, which is the same on every device. */
#include "runtime/gpu/gpu_state.h"

/* ---- copies of finished states -------------------------------------------------------------- */

static int copy_piece(const struct rt_gpu_exchange *e, const struct rt_piece *from, struct rt_piece *to,
                      struct hd_err *err)
{
    return from->address ? rt_gpu_exchange_bring(e, from->address, from->n, to, err) : 0;
}

/* Addresses in an array of addresses keep their distance from where the fields begin. */
static uint64_t *move_fields(const struct rt_gpu_exchange *e, const uint64_t *from)
{
    uint64_t *to = HD_NEWN(e->x->arena, uint64_t, e->v->s->nfields + 1);
    for (int f = 0; f < e->v->s->nfields; f++)
        to[f] = from[f] ? from[f] - e->u->fields_at.address + e->v->fields_at.address : 0;
    return to;
}

static int broadcast(const struct rt_gpu_exchange *e, struct hd_err *err)
{
    struct rt_gpu_state *v = e->v;
    const struct rt_gpu_state *u = e->u;
    HD_ASSERT(u->finished && !v->rows_at.address && !v->bits_at.address);
    v->started = v->finished = true;
    v->nrows = u->nrows;
    v->mask = u->mask;
    HD_TRY(copy_piece(e, &u->bits_at, &v->bits_at, err));
    HD_TRY(copy_piece(e, &u->matches_at, &v->matches_at, err));
    HD_TRY(copy_piece(e, &u->fields_at, &v->fields_at, err));
    HD_TRY(copy_piece(e, &u->offsets_at, &v->offsets_at, err));
    HD_TRY(copy_piece(e, &u->slots_at, &v->slots_at, err));
    if (u->rows)
        HD_TRY(rt_gpu_exchange_bring(e, u->rows, (size_t)(u->nrows * (uint64_t)v->s->stride), &v->moved, err));
    v->rows = v->moved.address;
    v->field = u->field ? move_fields(e, u->field) : NULL;
    v->valid = u->valid ? move_fields(e, u->valid) : NULL;
    return 0;
}

static int copy_matches(const struct rt_gpu_exchange *e, struct hd_err *err)
{
    HD_ASSERT(e->v->matches_at.n == e->u->matches_at.n);
    return rt_gpu_exchange_copy(e, e->v->matches_at.address, e->u->matches_at.address, e->u->matches_at.n, err);
}

int rt_gpu_exchange(struct rt_gpu_exec *x, struct rt_gpu_exec *from, int state, enum rt_exchange how,
                    struct hd_err *err)
{
    const struct rt_gpu_exchange e = {x, &x->state[state], from->d, &from->state[state]};
    switch (how) {
    case RT_EXCHANGE_GATHER: return rt_gpu_state_gather(&e, state, err);
    case RT_EXCHANGE_BROADCAST: return broadcast(&e, err);
    case RT_EXCHANGE_GATHER_MATCHES: return rt_gpu_exchange_or(&e, &e.v->matches_at, &e.u->matches_at, err);
    case RT_EXCHANGE_BROADCAST_MATCHES: return copy_matches(&e, err);
    }
    HD_BUG("exchange %d", (int)how);
}
