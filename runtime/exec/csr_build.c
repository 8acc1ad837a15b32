/* CSR: rows grouped by an index of known range, with the offset of each index. A counting sort;
 * large ones are distributed first, so that counters and rows of a part fit the cache. */
#include "runtime/exec/partition.h"

struct csr_build {
    struct rt_exec *x;
    struct rt_live *v;
    struct rt_parts parts;
    uint64_t *offsets;
    unsigned char *to;
};

static uint64_t row_index(const struct rt_state *s, const unsigned char *row)
{
    uint64_t i;
    memcpy(&i, row + s->fields[0].offset, sizeof i);
    return i;
}

/* Counts, turns counts into ends, and places rows from the last to the first, which makes
 * ends into beginnings and keeps the order of rows. */
static void sort_part(void *context, struct rt_worker *w HD_UNUSED, uint64_t part)
{
    struct csr_build *b = context;
    const struct rt_state *s = b->v->s;
    size_t stride = (size_t)s->stride;
    uint64_t from = b->parts.start[part], to = b->parts.start[part + 1];
    uint64_t low = part << b->parts.shift;
    uint64_t high = b->parts.n == 1 ? s->range : HD_MIN(s->range, (part + 1) << b->parts.shift);
    uint64_t at = from;
    for (uint64_t i = from; i < to; i++)
        b->offsets[row_index(s, b->parts.rows + i * stride)]++;
    for (uint64_t i = low; i < high; i++) {
        at += b->offsets[i];
        b->offsets[i] = at;
    }
    for (uint64_t i = to; i-- > from;) {
        const unsigned char *row = b->parts.rows + i * stride;
        rt_copy_row(b->to + --b->offsets[row_index(s, row)] * stride, row, stride);
    }
}

static int shift_of(uint64_t range, int parts)
{
    int shift = 0;
    while (range > 0 && ((range - 1) >> shift) >= (uint64_t)parts)
        shift++;
    return shift;
}

int rt_finish_csr(struct rt_exec *x, struct rt_live *v)
{
    const struct rt_state *s = v->s;
    HD_TRY(rt_exec_block(x, s, (s->range + 1) * sizeof(uint64_t), true, &v->offsets));
    size_t bytes = v->nrows * (size_t)s->stride;
    struct csr_build *b = HD_NEW(&x->arena, struct csr_build);
    *b = (struct csr_build){.x = x, .v = v, .offsets = v->offsets.p};
    b->parts.n = v->nrows ? rt_parts_wanted(bytes + s->range * sizeof(uint64_t)) : 1;
    b->parts.offset = s->fields[0].offset;
    b->parts.mask = UINT64_MAX;
    b->parts.shift = shift_of(s->range, b->parts.n);
    HD_TRY(rt_exec_block(x, s, bytes, false, &v->moved));
    if (b->parts.n > 1) {
        HD_TRY(rt_parts_make(x, s, &b->parts, v->rows, v->nrows, v->moved.p));
        b->to = v->rows;
    } else {
        b->parts.rows = v->rows;
        b->parts.start[1] = v->nrows;
        b->to = v->moved.p;
    }
    HD_TRY(rt_exec_parallel(x, (uint64_t)b->parts.n, sort_part, b));
    b->offsets[s->range] = v->nrows;
    if (b->parts.n > 1) {
        rt_block_free(&x->memory, &v->moved);
    } else {
        rt_region_free(&x->memory, &v->region);
        v->rows = v->moved.p;
    }
    return 0;
}
