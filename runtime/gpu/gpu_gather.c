/* What pipelines put into a state on several devices is gathered on one: it copies what the other one has and adds it
 * with kernels of templates/finish/finish_merge.cu. The schedule has let its stream wait for the other device. */
#include <string.h>

#include "runtime/gpu/gpu_state.h"

int rt_gpu_exchange_copy(const struct rt_gpu_exchange *e, uint64_t to, uint64_t from, size_t n, struct hd_err *err)
{
    struct rt_device *d = e->x->d;
    return d->ops->copy_peer(d, RT_STREAM_COMPUTE, (struct rt_place){d, to}, (struct rt_place){e->other, from}, n, err);
}

int rt_gpu_exchange_bring(const struct rt_gpu_exchange *e, uint64_t from, size_t n, struct rt_piece *here,
                          struct hd_err *err)
{
    HD_TRY(rt_state_alloc(e->x, e->v->s, n, here, err));
    return rt_gpu_exchange_copy(e, here->address, from, n, err);
}

/* ---- gathering ------------------------------------------------------------------------------ */

int rt_gpu_exchange_or(const struct rt_gpu_exchange *e, const struct rt_piece *to, const struct rt_piece *from,
                       struct hd_err *err)
{
    struct rt_piece copy = {0};
    if (!from->address)
        return 0;
    int rc = rt_gpu_exchange_bring(e, from->address, from->n, &copy, err);
    struct hdd_bits_args p = {.to = to->address, .from = copy.address, .words = from->n / 8};
    p.blocks = rt_finish_blocks(e->x, p.words, RT_FINISH_THREADS);
    if (rc == 0 && p.words)
        rc = rt_finish_launch(e->x, "finish_merge", "hdd_merge_bits", p.blocks, &p, err);
    rt_gpu_release(e->x, &copy);
    return rc;
}

int rt_gpu_gather_bits(const struct rt_gpu_exchange *e, struct hd_err *err)
{
    HD_TRY(rt_gpu_exchange_or(e, &e->v->bits_at, &e->u->bits_at, err));
    HD_TRY(rt_gpu_exchange_or(e, &e->v->fields_at, &e->u->fields_at, err));
    return rt_gpu_exchange_or(e, &e->v->rows_at, &e->u->rows_at, err);
}

int rt_gpu_gather_rows(const struct rt_gpu_exchange *e, struct hd_err *err)
{
    struct rt_gpu_state *v = e->v;
    uint64_t stride = (uint64_t)v->s->stride, before = v->asked, n;
    HD_TRY(rt_state_make_room(e->x, v, e->u->asked, &n, err));
    v->asked += n;
    return rt_gpu_exchange_copy(e, v->rows_at.address + before * stride, e->u->rows_at.address, (size_t)(n * stride),
                                err);
}

/* ---- aggregates */

struct merge {
    const struct rt_gpu_exchange *e;
    struct hdd_merge_args p;
    struct rt_piece rows, cursor, more_fields, more_keys;
};

static int take_fields(struct merge *m, struct hd_err *err)
{
    struct rt_gpu_exec *x = m->e->x;
    const struct rt_state *s = m->e->v->s;
    size_t n = (size_t)s->nfields, bytes = n * sizeof(struct hdd_merge_field);
    struct hdd_merge_field *f = HD_NEWN(x->arena, struct hdd_merge_field, n + 1);
    for (size_t i = 0; i < n; i++)
        f[i] = (struct hdd_merge_field){.offset = (hdd_u32)s->fields[i].offset,
                                        .valid = s->fields[i].valid_offset,
                                        .phys = (hdd_u32)s->fields[i].phys,
                                        .bytes = (hdd_u32)s->fields[i].bytes,
                                        .merge = (hdd_u32)s->merge[i]};
    m->p.nfields = (hdd_u32)n;
    if (n <= HDD_INLINE_FIELDS) {
        memcpy(m->p.field, f, bytes);
        return 0;
    }
    HD_TRY(rt_state_alloc(x, s, bytes, &m->more_fields, err));
    m->p.more = m->more_fields.address;
    return x->d->ops->upload(x->d, m->p.more, f, bytes, err);
}

static int begin_merge(struct merge *m, uint64_t n, struct hd_err *err)
{
    const struct rt_gpu_exchange *e = m->e;
    const struct rt_state *s = e->v->s;
    m->p.to = e->v->rows_at.address;
    m->p.n = n;
    m->p.stride = (hdd_u32)s->stride;
    m->p.flagged = s->kind == RT_STATE_AGG_DENSE && rt_state_presence(s) < 0;
    m->p.word = s->word;
    m->p.blocks = rt_finish_blocks(e->x, n, RT_FINISH_THREADS);
    HD_TRY(take_fields(m, err));
    HD_TRY(rt_gpu_exchange_bring(e, e->u->rows_at.address, (size_t)(n * (uint64_t)s->stride), &m->rows, err));
    m->p.from = m->rows.address;
    return 0;
}

static void end_merge(struct merge *m)
{
    rt_gpu_release(m->e->x, &m->rows);
    rt_gpu_release(m->e->x, &m->cursor);
    rt_gpu_release(m->e->x, &m->more_fields);
    rt_gpu_release(m->e->x, &m->more_keys);
}

int rt_gpu_gather_places(const struct rt_gpu_exchange *e, struct hd_err *err)
{
    struct merge m = {.e = e};
    int rc = begin_merge(&m, e->v->nrows, err);
    if (rc == 0)
        rc = rt_finish_launch(e->x, "finish_merge", "hdd_merge_places", m.p.blocks, &m.p, err);
    end_merge(&m);
    return rc;
}

/* Slots are those of the groups that are here. How many there are then is asked: FINISH wants to know. */
static int merge_groups(struct merge *m, struct hd_err *err)
{
    struct rt_gpu_exec *x = m->e->x;
    struct rt_gpu_state *v = m->e->v;
    HD_TRY(rt_state_alloc(x, v->s, sizeof v->asked, &m->cursor, err));
    HD_TRY(x->d->ops->upload(x->d, m->cursor.address, &v->asked, sizeof v->asked, err));
    HD_TRY(rt_keys_of_group(x, v->s, &m->p.keys, &m->more_keys, err));
    m->p.cursor = m->cursor.address;
    m->p.slots = v->slots_at.address;
    m->p.mask = v->mask;
    HD_TRY(rt_finish_launch(x, "finish_merge", "hdd_merge_groups", m->p.blocks, &m->p, err));
    return x->d->ops->download(x->d, &v->asked, m->cursor.address, sizeof v->asked, err);
}

int rt_gpu_gather_groups(const struct rt_gpu_exchange *e, struct hd_err *err)
{
    struct merge m = {.e = e};
    uint64_t n;
    if (e->u->asked == 0)
        return 0;
    HD_TRY(rt_state_make_room(e->x, e->v, e->u->asked, &n, err));
    HD_TRY(rt_state_make_slots(e->x, e->v, err));
    int rc = begin_merge(&m, n, err);
    if (rc == 0)
        rc = merge_groups(&m, err);
    end_merge(&m);
    return rc;
}
