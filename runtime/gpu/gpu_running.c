/* Running sums, minima and maxima of rows (templates/finish/finish_running.cu). */
#include <string.h>

#include "runtime/gpu/gpu_state.h"

enum { VALUE_BYTES = 32 }; /* of struct hdd_running_value */

_Static_assert((int)HDD_MERGE_SUM == (int)RT_MERGE_SUM && (int)HDD_MERGE_MIN == (int)RT_MERGE_MIN &&
                   (int)HDD_MERGE_MAX == (int)RT_MERGE_MAX,
               "ways to merge are those of the spec");

static int describe(struct rt_gpu_exec *x, const struct rt_state *s, struct hdd_running_args *p, struct rt_piece *more,
                    struct hd_err *err)
{
    struct hdd_running_field *field = HD_NEWN(x->arena, struct hdd_running_field, s->nfields);
    for (int i = 0; i < s->nfields; i++)
        if (rt_state_field_runs(s, i))
            field[p->nfields++] = (struct hdd_running_field){.offset = (hdd_u32)s->fields[i].offset,
                                                             .valid = s->fields[i].valid_offset,
                                                             .phys = (hdd_u32)s->fields[i].phys,
                                                             .merge = (hdd_u32)s->merge[i]};
    size_t bytes = sizeof *field * p->nfields;
    if (p->nfields <= HDD_INLINE_FIELDS) {
        memcpy(p->field, field, bytes);
        return 0;
    }
    HD_TRY(rt_state_alloc(x, s, bytes, more, err));
    p->more = more->address;
    return x->d->ops->upload(x->d, more->address, field, bytes, err);
}

static int launch(struct rt_gpu_exec *x, const struct hdd_running_args *p, struct hd_err *err)
{
    static const char module[] = "finish_running";
    HD_TRY(rt_finish_launch(x, module, "hdd_running_tiles", p->blocks, p, err));
    HD_TRY(rt_finish_launch(x, module, "hdd_running_totals", 1, p, err));
    return rt_finish_launch(x, module, "hdd_running_apply", p->blocks, p, err);
}

int rt_gpu_finish_running(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    struct rt_piece totals = {0, 0}, more = {0, 0};
    uint64_t tiles = (v->nrows + HDD_RUNNING_TILE - 1) / HDD_RUNNING_TILE;
    struct hdd_running_args p = {.rows = v->rows, .n = v->nrows, .stride = (hdd_u32)v->s->stride};
    if (v->nrows > INT32_MAX)
        return HD_FAIL(err, RESOURCE, v->s->path, "%llu rows, at most %d have a number", (unsigned long long)v->nrows,
                       INT32_MAX);
    if (tiles == 0)
        return 0;
    p.blocks = rt_finish_blocks(x, tiles, 1);
    int rc = describe(x, v->s, &p, &more, err);
    if (rc == 0)
        rc = rt_state_alloc(x, v->s, (size_t)tiles * p.nfields * VALUE_BYTES, &totals, err);
    p.totals = totals.address;
    if (rc == 0)
        rc = launch(x, &p, err);
    rt_gpu_release(x, &totals);
    rt_gpu_release(x, &more);
    return rc;
}
