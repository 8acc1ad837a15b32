/* The rows of the result in host memory, piece by piece. They come into page-locked memory that stays with the device: no page is
 * new to the process, and nothing is copied before it has its form. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/gpu_state.h"

enum {
    FIRST_BYTES = 32, /* of a string, as a first guess */
    HEAD = 256, /* bytes before rows that have strings */
    PIECE_BYTES = 16 << 20, /* of rows that a taker gets at once */
    STAGED_MAX = 64 << 20 /* what takes more, which only strings can, is copied through page-locked memory */
};

struct sender {
    struct rt_gpu_exec *x;
    struct rt_gpu_state *v;
    struct hdd_string_args p;
    struct rt_piece out, lengths, more; /* out: total of the strings, rows, strings */
    unsigned char *heap; /* memory for a piece that is not page-locked; NULL: none */
    uint64_t total;
    size_t rows_bytes;
};

static int take(struct rt_gpu_exec *x, const unsigned char *rows, uint64_t n, struct hd_err *err)
{
    return x->o->take(x->o->taker, rows, n, err);
}

/* Where page-locked memory is short, n bytes come to other memory. */
static int bring(struct sender *t, uint64_t from, size_t n, unsigned char **out, struct hd_err *err)
{
    const struct rt_device_ops *ops = t->x->d->ops;
    if (n <= STAGED_MAX && rt_gpu_staging(t->x->g, n, out, NULL) == 0) {
        HD_TRY(ops->download_async(t->x->d, RT_STREAM_COMPUTE, *out, from, n, err));
        return ops->stream_sync(t->x->d, RT_STREAM_COMPUTE, err);
    }
    HD_TRY(rt_device_alive(t->x->d, err));
    free(t->heap);
    *out = t->heap = hd_try_malloc(n);
    return t->heap ? ops->download(t->x->d, t->heap, from, n, err)
                   : HD_FAIL(err, RESOURCE, NULL, "out of memory for a result");
}

/* ---- strings ----------------------------------------------------------------------------------- */

static int launch(struct sender *t, const char *entry, uint32_t blocks, struct hd_err *err)
{
    t->p.blocks = blocks;
    return rt_finish_launch(t->x, "finish_string", entry, blocks, &t->p, err);
}

static int make_room(struct sender *t, uint64_t room, struct hd_err *err)
{
    rt_gpu_release(t->x, &t->out);
    HD_TRY(rt_state_alloc(t->x, t->v->s, HEAD + t->rows_bytes + (size_t)room, &t->out, err));
    t->p.room = room;
    t->p.to = t->out.address + HEAD;
    t->p.strings = t->p.to + t->rows_bytes;
    return 0;
}

/* One launch and one copy, unless the strings are longer than expected. */
static int gather_some(struct sender *t, unsigned char **out, struct hd_err *err)
{
    const struct rt_device_ops *ops = t->x->d->ops;
    for (uint64_t room = t->p.n * t->p.keys.n * FIRST_BYTES;; room = t->total) {
        HD_TRY(make_room(t, room, err));
        t->p.offsets = t->out.address;
        HD_TRY(ops->set(t->x->d, t->p.offsets, 0, sizeof t->total, err));
        HD_TRY(launch(t, "hdd_string_some", rt_finish_blocks(t->x, t->p.n, RT_FINISH_THREADS), err));
        HD_TRY(bring(t, t->out.address, HEAD + t->rows_bytes + (size_t)room, out, err));
        memcpy(&t->total, *out, sizeof t->total);
        if (t->total <= room)
            return 0;
    }
}

static int gather_many(struct sender *t, unsigned char **out, struct hd_err *err)
{
    const struct rt_state *s = t->v->s;
    uint64_t n = t->p.n;
    size_t lengths = hd_align_up((size_t)n * 4, 256);
    uint32_t blocks = rt_finish_blocks(t->x, n, RT_FINISH_THREADS);
    HD_TRY(rt_state_alloc(t->x, s, lengths + (size_t)(n + 1) * 8, &t->lengths, err));
    t->p.lengths = t->lengths.address;
    t->p.offsets = t->lengths.address + lengths;
    HD_TRY(launch(t, "hdd_string_lengths", blocks, err));
    HD_TRY(rt_gpu_prefix_sum(t->x, s, t->p.lengths, n, t->p.offsets, true, err));
    HD_TRY(t->x->d->ops->download(t->x->d, &t->total, t->p.offsets + n * 8, sizeof t->total, err));
    HD_TRY(make_room(t, t->total, err));
    HD_TRY(launch(t, "hdd_string_rows", blocks, err));
    return bring(t, t->out.address, HEAD + t->rows_bytes + (size_t)t->total, out, err);
}

/* Offsets into the strings become host addresses. */
static void resolve(const struct rt_state *s, unsigned char *rows, uint64_t n, const unsigned char *strings)
{
    for (int f = 0; f < s->nfields; f++) {
        const struct rt_field *field = &s->fields[f];
        if (field->phys != RT_STR)
            continue;
        for (uint64_t r = 0; r < n; r++) {
            unsigned char *row = rows + r * (uint64_t)s->stride;
            uint64_t at;
            if (field->valid_offset >= 0 && !row[field->valid_offset])
                continue;
            memcpy(&at, row + field->offset, sizeof at);
            at += (uint64_t)(uintptr_t)strings;
            memcpy(row + field->offset, &at, sizeof at);
        }
    }
}

static int take_with_strings(struct sender *t, struct hd_err *err)
{
    unsigned char *out = NULL;
    if (t->p.n <= RT_STRINGS_AT_ONCE)
        HD_TRY(gather_some(t, &out, err));
    else
        HD_TRY(gather_many(t, &out, err));
    resolve(t->v->s, out + HEAD, t->p.n, out + HEAD + t->rows_bytes);
    return take(t->x, out + HEAD, t->p.n, err);
}

/* ---- piece by piece ---------------------------------------------------------------------------- */

static uint64_t rows_of_piece(const struct rt_state *s)
{
    return HD_MAX((uint64_t)PIECE_BYTES / (uint64_t)HD_MAX(s->stride, 1), (uint64_t)1);
}

static int take_piece(struct sender *t, struct hd_err *err)
{
    unsigned char *rows;
    if (t->p.keys.n)
        return take_with_strings(t, err);
    HD_TRY(bring(t, t->p.rows, t->rows_bytes, &rows, err));
    return take(t->x, rows, t->p.n, err);
}

static int take_pieces(struct sender *t, struct hd_err *err)
{
    const struct rt_gpu_state *v = t->v;
    uint64_t most = rows_of_piece(v->s);
    for (uint64_t at = 0; at < v->nrows; at += most) {
        t->p.rows = v->rows + at * (uint64_t)v->s->stride;
        t->p.n = HD_MIN(v->nrows - at, most);
        t->rows_bytes = (size_t)(t->p.n * (uint64_t)v->s->stride);
        HD_TRY(take_piece(t, err));
        rt_gpu_release(t->x, &t->out);
        rt_gpu_release(t->x, &t->lengths);
    }
    return 0;
}

/* While the taker has one piece, the next one arrives. */
static int take_in_turns(struct rt_gpu_exec *x, const struct rt_gpu_state *v, unsigned char *staging, size_t slot,
                         struct hd_err *err)
{
    const struct rt_device_ops *ops = x->d->ops;
    uint64_t stride = (uint64_t)v->s->stride, most = rows_of_piece(v->s);
    HD_TRY(ops->sync(x->d, err));
    HD_TRY(ops->download_async(x->d, RT_STREAM_OUT, staging, v->rows, (size_t)(most * stride), err));
    for (uint64_t at = 0, i = 0; at < v->nrows; at += most, i++) {
        uint64_t next = at + most;
        HD_TRY(ops->stream_sync(x->d, RT_STREAM_OUT, err));
        if (next < v->nrows)
            HD_TRY(ops->download_async(x->d, RT_STREAM_OUT, staging + (i + 1) % 2 * slot, v->rows + next * stride,
                                       (size_t)(HD_MIN(v->nrows - next, most) * stride), err));
        if (take(x, staging + i % 2 * slot, HD_MIN(v->nrows - at, most), err) == 0)
            continue;
        ops->stream_sync(x->d, RT_STREAM_OUT, NULL);
        return -1;
    }
    return 0;
}

static int take_all(struct sender *t, struct hd_err *err)
{
    const struct rt_gpu_state *v = t->v;
    uint64_t most = rows_of_piece(v->s);
    size_t slot = hd_align_up((size_t)(most * (uint64_t)v->s->stride), 256);
    unsigned char *staging;
    if (t->p.keys.n || v->nrows <= most || rt_gpu_staging(t->x->g, 2 * slot, &staging, NULL) != 0)
        return take_pieces(t, err);
    return take_in_turns(t->x, v, staging, slot, err);
}

int rt_gpu_rows_to_taker(struct rt_gpu_exec *x, int state, uint64_t *nrows, struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[state];
    struct sender t = {.x = x, .v = v};
    *nrows = v->nrows;
    if (v->nrows == 0 || !x->o->take)
        return 0;
    if (x->few.there) {
        resolve(v->s, x->few.landed, v->nrows, x->few.landed + x->few.text);
        return take(x, x->few.landed, v->nrows, err);
    }
    HD_TRY(rt_keys_of_strings(x, v->s, &t.p.keys, &t.more, err));
    int rc = take_all(&t, err);
    free(t.heap);
    rt_gpu_release(x, &t.out);
    rt_gpu_release(x, &t.lengths);
    rt_gpu_release(x, &t.more);
    return rc;
}
