/* Rows that go from GPU to GPU.
 *
 * The sender leaves the rows of its result as they are, or lets a kernel put those of each reader side by side
 * (templates/finish/finish_exchange.cu), and records `ready`. A reader pulls: its stream for transfers waits for `ready` and
 * copies chunk after chunk into a few slots; its compute stream turns each into columns of the table, and frees the slot. So
 * a slot is a credit: no more is under way than there is room for, and whoever reads slowly holds the link back, nobody else.
 * Behind its last chunk a reader records `copied`, for which the sender's stream waits before the memory of the rows serves
 * something else. tests/simt/exchange_explore.c goes through all orders of these. */
#include "runtime/gpu/gpu_sent.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/gpu_state.h"

enum { ALIGN = 256, SLOTS_MAX = 8, SLOTS = 2, SLOT_BYTES = 32 << 20 };

_Static_assert((int)RT_GPU_PARTS_MAX == (int)HDD_SPLIT_PARTS, "kernels have as many");

struct copied {
    struct rt_gpu *g;
    unsigned life;
    rt_event *event;
};

struct sent {
    struct rt_gpu_sent s;
    struct rt_gpu *g;
    unsigned life; /* of the device when the rows were made */
    struct rt_piece piece;
    uint64_t rows; /* address */
    uint32_t stride;
    rt_event *ready;
    int readers;
    atomic_int ncopied;
    struct copied *copied; /* [readers] */
    int ncolumns;
    struct field {
        uint32_t offset, phys;
        int32_t valid;
    } column[];
};

static struct sent *of(struct rt_gpu_sent *s)
{
    return (struct sent *)s;
}

/* ---- sending ----------------------------------------------------------------------------------- */

static struct sent *new_sent(struct rt_gpu_exec *x, const struct rt_gpu_state *v, const struct rt_gpu_send *how)
{
    size_t parts = (size_t)HD_MAX(how->parts, 1), n = (size_t)x->spec->nresult;
    struct sent *s = hd_try_calloc(1, sizeof *s + n * sizeof *s->column);
    uint64_t *first = hd_try_calloc(parts + 1, sizeof *first);
    struct copied *copied = hd_try_calloc((size_t)how->readers + 1, sizeof *copied);
    if (!s || !first || !copied) {
        free(s);
        free(first);
        free(copied);
        return NULL;
    }
    s->s = (struct rt_gpu_sent){.n = v->nrows, .first = first, .parts = (int)parts};
    first[parts] = v->nrows;
    s->g = x->g;
    s->life = x->g->life;
    s->stride = (uint32_t)v->s->stride;
    s->readers = how->readers;
    s->copied = copied;
    s->ncolumns = (int)n;
    for (size_t i = 0; i < n; i++) {
        const struct rt_field *f = &v->s->fields[x->spec->result[i].field];
        s->column[i] = (struct field){(uint32_t)f->offset, (uint32_t)f->phys, f->valid_offset};
    }
    return s;
}

static bool holds(const struct rt_piece *p, uint64_t address)
{
    return p->address && !p->part && address >= p->address && address < p->address + p->n;
}

/* The state's own memory where it can be had, else a copy. */
static int take_rows(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct sent *s, struct hd_err *err)
{
    struct rt_piece *piece = holds(&v->rows_at, v->rows) ? &v->rows_at : &v->moved;
    size_t bytes = (size_t)(v->nrows * (uint64_t)v->s->stride);
    s->rows = v->rows;
    if (holds(piece, v->rows)) {
        s->piece = *piece;
        *piece = (struct rt_piece){0};
        return 0;
    }
    HD_TRY(rt_state_alloc(x, v->s, bytes, &s->piece, err));
    s->rows = s->piece.address;
    return x->d->ops->copy(x->d, s->rows, v->rows, bytes, err);
}

struct split {
    struct rt_gpu_exec *x;
    const struct rt_state *s;
    struct rt_piece words; /* firsts, sums, counts */
    struct hdd_split_args p;
};

static uint32_t tile_of(uint32_t stride)
{
    uint32_t rows = HDD_STAGE_BYTES / stride / RT_FINISH_THREADS * RT_FINISH_THREADS;
    return rows ? HD_MIN(rows, (uint32_t)HDD_SPLIT_TILE) : RT_FINISH_THREADS;
}

static int lay_out(struct split *t, const struct rt_gpu_state *v, const struct rt_gpu_send *how, struct hd_err *err)
{
    const struct rt_field *f = &v->s->fields[t->x->spec->result[how->by].field];
    struct hdd_split_args *p = &t->p;
    uint32_t tile = tile_of((uint32_t)v->s->stride);
    uint64_t blocks = rt_finish_blocks(t->x, v->nrows, tile), each = (v->nrows + blocks - 1) / blocks;
    each = hd_align_up((size_t)each, tile);
    blocks = (v->nrows + each - 1) / each;
    uint64_t counts = blocks * (uint64_t)how->parts;
    *p = (struct hdd_split_args){.rows = v->rows,
                                 .n = v->nrows,
                                 .blocks = (uint32_t)blocks,
                                 .stride = (uint32_t)v->s->stride,
                                 .offset = (uint32_t)f->offset,
                                 .phys = (uint32_t)f->phys,
                                 .parts = (uint32_t)how->parts,
                                 .each = (uint32_t)each,
                                 .tile = tile};
    HD_TRY(rt_state_alloc(t->x, t->s, (size_t)(how->parts + 1 + counts + 1) * 8 + (size_t)counts * 4, &t->words, err));
    p->firsts = t->words.address;
    p->sums = p->firsts + (uint64_t)(how->parts + 1) * 8;
    p->counts = p->sums + (counts + 1) * 8;
    return 0;
}

static int launch(struct split *t, const char *entry, uint32_t blocks, struct hd_err *err)
{
    return rt_finish_launch(t->x, "finish_exchange", entry, blocks, &t->p, err);
}

/* Readers have to know how many rows there are for them: that is waited for, but not that the rows are moved. */
static int divide(struct split *t, struct rt_gpu_state *v, struct sent *s, const struct rt_gpu_send *how,
                  struct hd_err *err)
{
    struct rt_device *d = t->x->d;
    HD_TRY(lay_out(t, v, how, err));
    HD_TRY(rt_state_alloc(t->x, t->s, (size_t)(v->nrows * (uint64_t)v->s->stride), &s->piece, err));
    s->rows = t->p.to = s->piece.address;
    HD_TRY(launch(t, "hdd_split_count", t->p.blocks, err));
    HD_TRY(rt_gpu_prefix_sum(t->x, t->s, t->p.counts, (uint64_t)t->p.blocks * t->p.parts, t->p.sums, true, err));
    HD_TRY(launch(t, "hdd_split_firsts", 1, err));
    HD_TRY(d->ops->download(d, s->s.first, t->p.firsts, (size_t)(how->parts + 1) * sizeof *s->s.first, err));
    return launch(t, "hdd_split_move", t->p.blocks, err);
}

static int send(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct sent *s, const struct rt_gpu_send *how,
                struct hd_err *err)
{
    struct split t = {.x = x, .s = v->s};
    if (!v->nrows)
        return 0;
    int rc = how->parts ? divide(&t, v, s, how, err) : take_rows(x, v, s, err);
    rt_gpu_release(x, &t.words);
    return rc == 0 ? x->d->ops->record(x->d, RT_STREAM_COMPUTE, &s->ready, err) : -1;
}

int rt_gpu_rows_to_sent(struct rt_gpu_exec *x, const struct rt_gpu_send *how, struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[x->spec->result_state];
    struct sent *s = new_sent(x, v, how);
    if (!s)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    if (send(x, v, s, how, err) == 0) {
        *how->out = &s->s;
        return 0;
    }
    rt_gpu_pool_release(x->g->pool, &s->piece);
    free(s->copied);
    free(s->s.first);
    free(s);
    return -1;
}

/* ---- receiving --------------------------------------------------------------------------------- */

struct receiver {
    struct rt_gpu_exec x; /* of the device and its code alone */
    struct rt_gpu_columns *c;
    struct rt_gpu_received_column *column;
    struct hdd_exchange_args p;
    uint64_t total, end, at; /* rows: all, with zeros behind; of the next to come */
    uint64_t slot_rows, used; /* of a slot; slots that were filled */
    int nslots;
    struct slot {
        struct rt_piece piece;
        rt_event *free; /* the compute stream has read it */
    } slot[SLOTS_MAX];
};

/* For tests: bytes of a slot, and how many there are. */
static uint64_t setting(const char *name, uint64_t usual)
{
    const char *text = secure_getenv(name);
    return text ? (uint64_t)HD_MAX(atoll(text), 1) : usual;
}

static uint64_t rows_in(const struct sent *s, int part)
{
    return part < 0 ? s->s.n : s->s.first[part + 1] - s->s.first[part];
}

static bool may_be_null(struct rt_gpu_sent *const *from, int n, int column)
{
    bool may = false;
    for (int k = 0; k < n; k++)
        may |= of(from[k])->column[column].valid >= 0;
    return may;
}

static bool is_wide(struct rt_gpu_sent *const *from, int n, int column)
{
    bool wide = false;
    for (int k = 0; k < n; k++)
        wide |= of(from[k])->column[column].phys == HDD_I128;
    return wide;
}

static size_t bitmap_bytes(uint64_t rows)
{
    return hd_align_up((size_t)(rows + 7) / 8, ALIGN);
}

static size_t value_bytes(const struct receiver *r, int i)
{
    return hd_align_up((size_t)r->end * (size_t)r->column[i].width, ALIGN);
}

/* One piece for all columns: bitmaps, which are cleared, and values behind them. */
static int make_room(struct receiver *r, struct rt_gpu_sent *const *from, int n, struct hd_err *err)
{
    size_t bits = 0, values = 0;
    for (int i = 0; i < r->c->ncolumns; i++) {
        struct rt_gpu_received_column *c = &r->column[i];
        if (c->narrow && !is_wide(from, n, c->from))
            c->width = 8;
        r->c->column[i].nulls = may_be_null(from, n, c->from) ? -1 : 0;
        bits += r->c->column[i].nulls ? bitmap_bytes(r->end) : 0;
        values += value_bytes(r, i);
    }
    HD_TRY(rt_state_alloc(&r->x, NULL, bits + values, &r->c->pieces[0], err));
    r->c->npieces = 1;
    uint64_t at = r->c->pieces[0].address, value_at = at + bits;
    for (int i = 0; i < r->c->ncolumns; i++) {
        struct rt_gpu_column *c = &r->c->column[i];
        c->values = value_at;
        c->valid = c->nulls ? at : 0;
        at += c->nulls ? bitmap_bytes(r->end) : 0;
        value_at += value_bytes(r, i);
    }
    return bits ? r->x.d->ops->set(r->x.d, r->c->pieces[0].address, 0, bits, err) : 0;
}

/* So many columns at once as an argument has room for. */
static int put_rows(struct receiver *r, const struct sent *s, uint64_t rows, uint64_t n, struct hd_err *err)
{
    struct hdd_exchange_args *p = &r->p;
    *p = (struct hdd_exchange_args){.rows = rows, .n = n, .first = r->at, .stride = s->stride};
    p->end = r->at + n == r->total ? r->end : r->at + n;
    p->blocks = rt_finish_blocks(&r->x, p->end - p->first + HDD_WARP_LANES, RT_FINISH_THREADS);
    for (int i = 0; i < r->c->ncolumns; i++) {
        const struct field *f = &s->column[r->column[i].from];
        const struct rt_gpu_column *to = &r->c->column[i];
        p->column[p->ncolumns++] = (struct hdd_exchange_column){.to = to->values,
                                                                .bits = to->valid,
                                                                .offset = f->offset,
                                                                .phys = f->phys,
                                                                .width = (hdd_u32)r->column[i].width,
                                                                .valid = f->valid};
        if (p->ncolumns < HDD_EXCHANGE_COLUMNS && i + 1 < r->c->ncolumns)
            continue;
        HD_TRY(rt_finish_launch(&r->x, "finish_exchange", "hdd_exchange_columns", p->blocks, p, err));
        p->ncolumns = 0;
    }
    r->at += n;
    return 0;
}

/* What `after` queues from now on follows what `before` has queued so far. */
static int order(struct receiver *r, enum rt_stream before, enum rt_stream after, struct hd_err *err)
{
    rt_event *e;
    const struct rt_device_ops *ops = r->x.d->ops;
    HD_TRY(ops->record(r->x.d, before, &e, err));
    int rc = ops->stream_wait(r->x.d, after, e, err);
    ops->event_free(r->x.d, e);
    return rc;
}

/* The chunk waits until its slot is free, the kernel for the chunk. */
static int pull_chunk(struct receiver *r, const struct sent *s, uint64_t first, uint64_t n, struct hd_err *err)
{
    struct rt_device *d = r->x.d;
    struct slot *slot = &r->slot[r->used++ % (uint64_t)r->nslots];
    if (slot->free) {
        HD_TRY(d->ops->stream_wait(d, RT_STREAM_IN, slot->free, err));
        d->ops->event_free(d, slot->free);
        slot->free = NULL;
    }
    HD_TRY(d->ops->copy_peer(d, RT_STREAM_IN, (struct rt_place){d, slot->piece.address},
                             (struct rt_place){s->g->d, s->rows + first * s->stride}, (size_t)(n * s->stride), err));
    HD_TRY(order(r, RT_STREAM_IN, RT_STREAM_COMPUTE, err));
    HD_TRY(put_rows(r, s, slot->piece.address, n, err));
    return d->ops->record(d, RT_STREAM_COMPUTE, &slot->free, err);
}

static void note_copied(struct receiver *r, struct sent *s, rt_event *e)
{
    int i = atomic_fetch_add(&s->ncopied, 1);
    HD_ASSERT(i < s->readers);
    s->copied[i] = (struct copied){r->x.g, r->x.g->life, e};
}

/* Rows of another device. */
static int pull(struct receiver *r, struct sent *s, uint64_t first, uint64_t n, struct hd_err *err)
{
    struct rt_device *d = r->x.d;
    rt_event *copied;
    HD_TRY(d->ops->stream_wait(d, RT_STREAM_IN, s->ready, err));
    for (uint64_t i = 0; i < n; i += r->slot_rows)
        HD_TRY(pull_chunk(r, s, first + i, HD_MIN(r->slot_rows, n - i), err));
    HD_TRY(d->ops->record(d, RT_STREAM_IN, &copied, err));
    note_copied(r, s, copied);
    return 0;
}

static int take(struct receiver *r, struct sent *s, int part, struct hd_err *err)
{
    uint64_t first = part < 0 ? 0 : s->s.first[part], n = rows_in(s, part);
    if (s->life != s->g->life)
        return HD_FAIL(err, EXEC, NULL, "another query lost a GPU meanwhile");
    if (!n)
        return 0;
    if (s->g == r->x.g) /* made by the stream that reads them */
        return put_rows(r, s, s->rows + first * s->stride, n, err);
    return pull(r, s, first, n, err);
}

static int open_slots(struct receiver *r, uint64_t rows, uint32_t stride, struct hd_err *err)
{
    r->slot_rows = HD_MIN(rows, HD_MAX(setting("HEDDLE_EXCHANGE_BYTES", SLOT_BYTES) / stride, (uint64_t)1));
    r->nslots = (int)HD_MIN(setting("HEDDLE_EXCHANGE_SLOTS", SLOTS), (uint64_t)SLOTS_MAX);
    for (int i = 0; i < r->nslots; i++)
        HD_TRY(rt_state_alloc(&r->x, NULL, (size_t)(r->slot_rows * stride), &r->slot[i].piece, err));
    return order(r, RT_STREAM_COMPUTE, RT_STREAM_IN, err); /* where others had their memory before */
}

/* Slots are for the widest rows that come from other devices, to which there is the shortest way. */
static int connect(struct receiver *r, struct rt_gpu_sent *const *from, int n, int part, struct hd_err *err)
{
    uint32_t stride = 0;
    uint64_t rows = 0;
    bool direct;
    for (int k = 0; k < n; k++) {
        const struct sent *s = of(from[k]);
        uint64_t more = s->g == r->x.g ? 0 : rows_in(s, part);
        if (!more)
            continue;
        stride = HD_MAX(stride, s->stride);
        rows = HD_MAX(rows, more);
        HD_TRY(r->x.d->ops->open_peer(r->x.d, s->g->d, &direct, err));
    }
    return rows ? open_slots(r, rows, stride, err) : 0;
}

static int receive_all(struct receiver *r, struct rt_gpu_sent *const *from, int n, int part, struct hd_err *err)
{
    if (!r->total)
        return 0;
    HD_TRY(make_room(r, from, n, err));
    HD_TRY(connect(r, from, n, part, err));
    for (int k = 0; k < n; k++)
        HD_TRY(take(r, of(from[k]), part, err));
    return 0;
}

static void release_slots(struct receiver *r)
{
    for (int i = 0; i < r->nslots; i++) {
        if (r->slot[i].free)
            r->x.d->ops->event_free(r->x.d, r->slot[i].free);
        rt_gpu_release(&r->x, &r->slot[i].piece);
    }
}

/* Of what failed something may still be queued. */
static void give_up(struct receiver *r)
{
    struct rt_device *d = r->x.d;
    d->ops->stream_sync(d, RT_STREAM_IN, NULL);
    d->ops->sync(d, NULL);
}

int rt_gpu_receive(struct rt_gpu *g, struct rt_gpu_sent *const *from, int n, int part,
                   struct rt_gpu_received_column *column, int ncolumns, const struct hd_stop *stop,
                   struct rt_gpu_columns **out, struct hd_err *err)
{
    struct hd_arena arena;
    struct receiver r = {.column = column};
    for (int k = 0; k < n; k++)
        r.total += rows_in(of(from[k]), part);
    r.end = hd_align_up((size_t)r.total, HDD_LANE_ROWS);
    HD_TRY(rt_gpu_begin(g, stop, err));
    hd_arena_init(&arena);
    r.x = (struct rt_gpu_exec){.g = g, .d = g->d, .arena = &arena};
    r.c = rt_gpu_columns_new(g, ncolumns, r.total);
    int rc = r.c ? receive_all(&r, from, n, part, err) : HD_FAIL(err, RESOURCE, NULL, "out of memory");
    if (rc != 0)
        give_up(&r);
    release_slots(&r);
    hd_arena_release(&arena);
    rt_gpu_leave(g);
    if (rc == 0)
        *out = r.c;
    else
        rt_gpu_columns_free(r.c);
    return rc;
}

/* ---- the end ----------------------------------------------------------------------------------- */

/* A reader that is lost copies nothing any more. */
void rt_gpu_sent_give_back(struct rt_gpu_sent *sent)
{
    struct sent *s = of(sent);
    if (!s->piece.address)
        return;
    rt_gpu_enter(s->g);
    for (int i = 0; i < s->ncopied && s->life == s->g->life; i++)
        s->g->d->ops->stream_wait(s->g->d, RT_STREAM_COMPUTE, s->copied[i].event, NULL);
    if (s->life == s->g->life)
        rt_gpu_pool_release(s->g->pool, &s->piece);
    s->piece = (struct rt_piece){0};
    rt_gpu_leave(s->g);
}

static void free_event(struct rt_gpu *g, unsigned life, rt_event *e)
{
    rt_gpu_enter(g);
    if (e && life == g->life)
        g->d->ops->event_free(g->d, e);
    rt_gpu_leave(g);
}

void rt_gpu_sent_free(struct rt_gpu_sent *sent)
{
    if (!sent)
        return;
    struct sent *s = of(sent);
    rt_gpu_sent_give_back(sent);
    for (int i = 0; i < s->ncopied; i++)
        free_event(s->copied[i].g, s->copied[i].life, s->copied[i].event);
    free_event(s->g, s->life, s->ready);
    free(s->copied);
    free(s->s.first);
    free(s);
}
