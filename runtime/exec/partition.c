#include "runtime/exec/partition.h"

enum { PART_BYTES = 256 << 10 };

struct distribution {
    struct rt_parts *p;
    const unsigned char *rows;
    unsigned char *to;
    size_t stride;
    struct rt_cut cut;
    uint64_t *counts; /* [task][part]; then where the task writes next */
};

int rt_parts_wanted(uint64_t bytes)
{
    uint64_t n = hd_pow2_ceil(HD_MAX(bytes / PART_BYTES, (uint64_t)1));
    return (int)HD_MIN(n, (uint64_t)RT_MAX_PARTS);
}

static void count_rows(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct distribution *d = context;
    uint64_t *counts = d->counts + task * (uint64_t)d->p->n;
    const unsigned char *row = d->rows + task * d->cut.size * d->stride;
    for (uint64_t i = task * d->cut.size; i < rt_cut_end(&d->cut, task); i++, row += d->stride)
        counts[rt_part_of(d->p, row)]++;
}

static void move_rows(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct distribution *d = context;
    uint64_t *at = d->counts + task * (uint64_t)d->p->n;
    const unsigned char *row = d->rows + task * d->cut.size * d->stride;
    for (uint64_t i = task * d->cut.size; i < rt_cut_end(&d->cut, task); i++, row += d->stride)
        rt_copy_row(d->to + at[rt_part_of(d->p, row)]++ * d->stride, row, d->stride);
}

/* Within a part the tasks write one after the other: the order of rows is kept. */
static void place_parts(struct distribution *d)
{
    uint64_t at = 0;
    for (int k = 0; k < d->p->n; k++) {
        d->p->start[k] = at;
        for (uint64_t t = 0; t < d->cut.ntasks; t++) {
            uint64_t *c = &d->counts[t * (uint64_t)d->p->n + (uint64_t)k];
            uint64_t n = *c;
            *c = at;
            at += n;
        }
    }
    d->p->start[d->p->n] = at;
}

static int distribute(struct rt_exec *x, struct distribution *d)
{
    HD_TRY(rt_exec_parallel(x, d->cut.ntasks, count_rows, d));
    place_parts(d);
    return rt_exec_parallel(x, d->cut.ntasks, move_rows, d);
}

int rt_parts_make(struct rt_exec *x, const struct rt_state *s, struct rt_parts *p, const unsigned char *rows,
                  uint64_t n, unsigned char *to)
{
    struct distribution d = {.p = p, .rows = rows, .to = to, .stride = (size_t)s->stride, .cut = rt_cut(x, n, 16384)};
    struct rt_block counts;
    HD_TRY(rt_exec_block(x, s, d.cut.ntasks * (size_t)p->n * sizeof *d.counts, true, &counts));
    d.counts = counts.p;
    int rc = distribute(x, &d);
    rt_block_free(&x->memory, &counts);
    p->rows = to;
    return rc;
}
