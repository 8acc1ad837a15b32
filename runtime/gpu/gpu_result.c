/* The rows of a state in host memory. */
#include <string.h>

#include "runtime/gpu/gpu_state.h"

enum {
    FIRST_BYTES = 32, /* of a string, as a first guess */
    PIECE_BYTES = 16 << 20 /* of rows that a taker gets at once */
};

struct strings {
    struct rt_gpu_exec *x;
    struct rt_gpu_state *v;
    struct hdd_string_args p;
    struct rt_piece out, lengths, more; /* out: total of the strings, rows, strings */
    uint64_t total;
    size_t rows_bytes;
};

enum { HEAD = 256 }; /* bytes before the rows */

static int launch(struct strings *t, const char *entry, uint32_t blocks, struct hd_err *err)
{
    t->p.blocks = blocks;
    return rt_finish_launch(t->x, "finish_string", entry, blocks, &t->p, err);
}

static int make_room(struct strings *t, uint64_t room, struct hd_err *err)
{
    rt_gpu_release(t->x, &t->out);
    HD_TRY(rt_state_alloc(t->x, t->v->s, HEAD + t->rows_bytes + (size_t)room, &t->out, err));
    t->p.room = room;
    t->p.to = t->out.address + HEAD;
    t->p.strings = t->p.to + t->rows_bytes;
    return 0;
}

/* One launch and one copy, unless the strings are longer than expected. */
static int gather_few(struct strings *t, struct hd_arena *a, unsigned char **out, struct hd_err *err)
{
    for (uint64_t room = t->p.n * t->p.keys.n * FIRST_BYTES;; room = t->total) {
        HD_TRY(make_room(t, room, err));
        t->p.offsets = t->out.address;
        HD_TRY(launch(t, "hdd_string_few", 1, err));
        size_t bytes = HEAD + t->rows_bytes + (size_t)room;
        *out = hd_alloc(a, bytes);
        HD_TRY(t->x->d->ops->download(t->x->d, *out, t->out.address, bytes, err));
        memcpy(&t->total, *out, sizeof t->total);
        if (t->total <= room)
            return 0;
    }
}

static int gather_many(struct strings *t, struct hd_arena *a, unsigned char **out, struct hd_err *err)
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
    size_t bytes = HEAD + t->rows_bytes + (size_t)t->total;
    *out = hd_alloc(a, bytes);
    return t->x->d->ops->download(t->x->d, *out, t->out.address, bytes, err);
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

static int rows_with_strings(struct strings *t, struct hd_arena *a, unsigned char **rows, struct hd_err *err)
{
    unsigned char *out = NULL;
    if (t->p.n <= RT_STRINGS_AT_ONCE)
        HD_TRY(gather_few(t, a, &out, err));
    else
        HD_TRY(gather_many(t, a, &out, err));
    *rows = out + HEAD;
    resolve(t->v->s, *rows, t->p.n, *rows + t->rows_bytes);
    return 0;
}

int rt_gpu_rows_to_host(struct rt_gpu_exec *x, int state, struct hd_arena *a, unsigned char **rows, uint64_t *nrows,
                        struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[state];
    struct strings t = {.x = x, .v = v, .rows_bytes = (size_t)(v->nrows * (uint64_t)v->s->stride)};
    *nrows = v->nrows;
    *rows = hd_alloc(a, 1);
    if (v->nrows == 0)
        return 0;
    if (x->few.there) {
        *rows = rt_gpu_few_rows(x, v, a);
        resolve(v->s, *rows, v->nrows, *rows + t.rows_bytes);
        return 0;
    }
    HD_TRY(rt_keys_of_strings(x, v->s, &t.p.keys, &t.more, err));
    t.p.rows = v->rows;
    t.p.n = v->nrows;
    int rc;
    if (t.p.keys.n) {
        rc = rows_with_strings(&t, a, rows, err);
    } else {
        *rows = hd_alloc(a, t.rows_bytes);
        rc = x->d->ops->download(x->d, *rows, v->rows, t.rows_bytes, err);
    }
    rt_gpu_release(x, &t.out);
    rt_gpu_release(x, &t.lengths);
    rt_gpu_release(x, &t.more);
    return rc;
}

/* ---- piece by piece ---------------------------------------------------------------------------- */

static uint64_t rows_of_piece(const struct rt_state *s)
{
    return HD_MAX((uint64_t)PIECE_BYTES / (uint64_t)HD_MAX(s->stride, 1), (uint64_t)1);
}

static int take(struct rt_gpu_exec *x, const unsigned char *rows, uint64_t n, struct hd_err *err)
{
    return x->o->take(x->o->taker, rows, n, err);
}

static int take_strings(struct strings *t, struct hd_arena *a, struct hd_err *err)
{
    const struct rt_gpu_state *v = t->v;
    uint64_t most = rows_of_piece(v->s);
    for (uint64_t at = 0; at < v->nrows; at += most) {
        unsigned char *rows;
        t->p.rows = v->rows + at * (uint64_t)v->s->stride;
        t->p.n = HD_MIN(v->nrows - at, most);
        t->rows_bytes = (size_t)(t->p.n * (uint64_t)v->s->stride);
        HD_TRY(rows_with_strings(t, a, &rows, err));
        HD_TRY(take(t->x, rows, t->p.n, err));
        hd_arena_release(a);
        hd_arena_init(a);
        rt_gpu_release(t->x, &t->out);
        rt_gpu_release(t->x, &t->lengths);
    }
    return 0;
}

/* While the taker has one piece, the next one arrives. */
static int take_plain(struct rt_gpu_exec *x, const struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_device_ops *ops = x->d->ops;
    uint64_t stride = (uint64_t)v->s->stride, most = HD_MIN(rows_of_piece(v->s), v->nrows);
    size_t slot = hd_align_up((size_t)(most * stride), 256);
    unsigned char *staging;
    HD_TRY(rt_gpu_staging(x->g, 2 * slot, &staging, err));
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

int rt_gpu_rows_to_taker(struct rt_gpu_exec *x, int state, struct hd_arena *a, uint64_t *nrows, struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[state];
    struct strings t = {.x = x, .v = v};
    *nrows = v->nrows;
    if (v->nrows == 0)
        return 0;
    if (x->few.there) {
        unsigned char *rows = rt_gpu_few_rows(x, v, a);
        resolve(v->s, rows, v->nrows, rows + v->nrows * (uint64_t)v->s->stride);
        return take(x, rows, v->nrows, err);
    }
    HD_TRY(rt_keys_of_strings(x, v->s, &t.p.keys, &t.more, err));
    int rc = t.p.keys.n ? take_strings(&t, a, err) : take_plain(x, v, err);
    rt_gpu_release(x, &t.out);
    rt_gpu_release(x, &t.lengths);
    rt_gpu_release(x, &t.more);
    return rc;
}
