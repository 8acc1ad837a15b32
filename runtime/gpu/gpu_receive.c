/* Rows of other GPUs as columns of a table; see gpu_sent.c. */
#include <stdlib.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/gpu_sent_internal.h"

enum { ALIGN = 256, SLOTS_MAX = 8, SLOTS = 2, SLOT_BYTES = 32 << 20 };

_Static_assert((int)HDD_TEXT_BLOCK_SHIFT == (int)FE_TEXT_BLOCK_SHIFT, "blocks are the store's");

struct receiver {
    struct rt_gpu_exec x; /* of the device and its code alone */
    struct rt_gpu_columns *c;
    struct rt_gpu_received_column *column;
    struct hdd_exchange_args p;
    uint64_t total, end, at; /* rows: all, with zeros behind; of the next to come */
    int part; /* that is received; -1: all */
    int ntexts; /* columns with strings, of which there are so many bytes: */
    uint64_t *text_bytes; /* [columns] of strings that have come */
    uint64_t slot_rows, used; /* of a slot; slots that were filled */
    uint64_t slot_sums, slot_sum; /* of a slot, where a column's strings begin: bytes before them, bytes of each */
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

static uint64_t rows_in(const struct rt_sent *s, int part)
{
    return part < 0 ? s->s.n : s->s.first[part + 1] - s->s.first[part];
}

struct range {
    uint64_t first, n;
};

static struct range rows_of(const struct receiver *r, const struct rt_sent *s)
{
    uint64_t first = r->part < 0 ? 0 : s->s.first[r->part];
    return (struct range){first, rows_in(s, r->part)};
}

static struct range bytes_of(const struct receiver *r, const struct rt_sent *s, int text)
{
    const uint64_t *at = s->text[text].at;
    uint64_t first = r->part < 0 ? 0 : at[r->part], end = at[r->part < 0 ? s->s.parts : r->part + 1];
    return (struct range){first, s->s.n ? end - first : 0};
}

static bool may_be_null(struct rt_gpu_sent *const *from, int n, int column)
{
    bool may = false;
    for (int k = 0; k < n; k++)
        may |= rt_sent_of(from[k])->column[column].valid >= 0;
    return may;
}

static bool is_wide(struct rt_gpu_sent *const *from, int n, int column)
{
    bool wide = false;
    for (int k = 0; k < n; k++)
        wide |= rt_sent_of(from[k])->column[column].phys == HDD_I128;
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

static size_t base_bytes(const struct receiver *r)
{
    return hd_align_up((size_t)((r->end >> FE_TEXT_BLOCK_SHIFT) + 1) * 8, ALIGN);
}

/* A block's strings end at 32-bit numbers. */
static int check_text(const struct rt_gpu_received_column *c, uint64_t longest, struct hd_err *err)
{
    if (c->text_size <= UINT32_MAX || longest <= UINT32_MAX >> FE_TEXT_BLOCK_SHIFT)
        return 0;
    return HD_FAIL(err, UNSUPPORTED, NULL, "rows of other GPUs have more than 4 GiB of text in %d rows",
                   1 << FE_TEXT_BLOCK_SHIFT);
}

/* How large a column is: strings, and where values may be narrow. */
static int size_column(struct receiver *r, int i, struct rt_gpu_sent *const *from, int n, struct hd_err *err)
{
    struct rt_gpu_received_column *c = &r->column[i];
    uint64_t longest = 0;
    c->text_size = 0;
    if (c->narrow && !is_wide(from, n, c->from))
        c->width = 8;
    r->c->column[i].nulls = may_be_null(from, n, c->from) ? -1 : 0;
    if (!c->text)
        return 0;
    r->ntexts++;
    for (int k = 0; k < n; k++) {
        const struct rt_sent *s = rt_sent_of(from[k]);
        int text = s->column[c->from].text;
        c->text_size += bytes_of(r, s, text).n;
        longest = HD_MAX(longest, s->text[text].at[s->s.parts + 1]);
    }
    return check_text(c, longest, err);
}

static size_t bits_of(const struct receiver *r, int i)
{
    return r->c->column[i].nulls ? bitmap_bytes(r->end) : 0;
}

static size_t text_bytes(const struct receiver *r, int i)
{
    return r->column[i].text ? base_bytes(r) + hd_align_up((size_t)r->column[i].text_size, ALIGN) : 0;
}

/* One piece for all columns: bitmaps, which are cleared, and behind them values, or ends, bases and strings. */
static int make_room(struct receiver *r, struct rt_gpu_sent *const *from, int n, struct hd_err *err)
{
    size_t bits = 0, values = 0;
    for (int i = 0; i < r->c->ncolumns; i++) {
        HD_TRY(size_column(r, i, from, n, err));
        bits += bits_of(r, i);
        values += value_bytes(r, i) + text_bytes(r, i);
    }
    HD_TRY(rt_state_alloc(&r->x, NULL, bits + values, &r->c->pieces[0], err));
    r->c->npieces = 1;
    uint64_t at = r->c->pieces[0].address, value_at = at + bits;
    for (int i = 0; i < r->c->ncolumns; i++) {
        struct rt_gpu_column *c = &r->c->column[i];
        c->values = value_at;
        c->valid = c->nulls ? at : 0;
        r->column[i].bases = value_at + value_bytes(r, i);
        c->strings = r->column[i].bases + base_bytes(r);
        at += bits_of(r, i);
        value_at += value_bytes(r, i) + text_bytes(r, i);
    }
    return bits ? r->x.d->ops->set(r->x.d, r->c->pieces[0].address, 0, bits, err) : 0;
}

/* Rows from the sender's row `first` on, and where their strings begin. */
struct chunk {
    uint64_t first, n, rows;
    uint64_t sums; /* 0: where the sender has them; else of all columns with strings, slot_sum bytes each */
};

static struct hdd_exchange_column column_of(const struct receiver *r, const struct rt_sent *s, const struct chunk *k,
                                            int i)
{
    const struct rt_sent_column *f = &s->column[r->column[i].from];
    struct hdd_exchange_column out = {.to = r->c->column[i].values,
                                      .bits = r->c->column[i].valid,
                                      .offset = f->offset,
                                      .phys = f->phys,
                                      .width = (hdd_u32)r->column[i].width,
                                      .valid = f->valid};
    if (f->text < 0)
        return out;
    out.sums = k->sums ? k->sums + (uint64_t)f->text * r->slot_sum : s->text[f->text].sums + k->first * 8;
    out.origin = bytes_of(r, s, f->text).first;
    out.base = r->text_bytes[i];
    out.bases = r->column[i].bases;
    return out;
}

/* So many columns at once as an argument has room for. */
static int put_rows(struct receiver *r, const struct rt_sent *s, const struct chunk *k, struct hd_err *err)
{
    struct hdd_exchange_args *p = &r->p;
    *p = (struct hdd_exchange_args){.rows = k->rows, .n = k->n, .first = r->at, .stride = s->stride};
    p->end = r->at + k->n == r->total ? r->end : r->at + k->n;
    p->blocks = rt_finish_blocks(&r->x, p->end - p->first + HDD_WARP_LANES, RT_FINISH_THREADS);
    for (int i = 0; i < r->c->ncolumns; i++) {
        p->column[p->ncolumns++] = column_of(r, s, k, i);
        if (p->ncolumns < HDD_EXCHANGE_COLUMNS && i + 1 < r->c->ncolumns)
            continue;
        HD_TRY(rt_finish_launch(&r->x, "finish_exchange", "hdd_exchange_columns", p->blocks, p, err));
        p->ncolumns = 0;
    }
    r->at += k->n;
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

static int copy_here(struct receiver *r, const struct rt_sent *s, uint64_t to, uint64_t from, uint64_t n,
                     struct hd_err *err)
{
    return r->x.d->ops->copy_peer(r->x.d, RT_STREAM_IN, (struct rt_place){r->x.d, to}, (struct rt_place){s->g->d, from},
                                  (size_t)n, err);
}

/* The chunk waits until its slot is free, the kernel for the chunk. */
static int pull_chunk(struct receiver *r, const struct rt_sent *s, uint64_t first, uint64_t n, struct hd_err *err)
{
    struct rt_device *d = r->x.d;
    struct slot *slot = &r->slot[r->used++ % (uint64_t)r->nslots];
    const struct chunk k = {first, n, slot->piece.address, slot->piece.address + r->slot_sums};
    if (slot->free) {
        HD_TRY(d->ops->stream_wait(d, RT_STREAM_IN, slot->free, err));
        d->ops->event_free(d, slot->free);
        slot->free = NULL;
    }
    HD_TRY(copy_here(r, s, k.rows, s->rows + first * s->stride, n * s->stride, err));
    for (int t = 0; t < s->ntexts; t++)
        HD_TRY(copy_here(r, s, k.sums + (uint64_t)t * r->slot_sum, s->text[t].sums + first * 8, (n + 1) * 8, err));
    HD_TRY(order(r, RT_STREAM_IN, RT_STREAM_COMPUTE, err));
    HD_TRY(put_rows(r, s, &k, err));
    return d->ops->record(d, RT_STREAM_COMPUTE, &slot->free, err);
}

static void note_copied(struct receiver *r, struct rt_sent *s, rt_event *e)
{
    int i = atomic_fetch_add(&s->ncopied, 1);
    HD_ASSERT(i < s->readers);
    s->copied[i] = (struct rt_sent_copied){r->x.g, r->x.g->life, e};
}

/* Strings lie in the table as they lay there; own: on this device. */
static int take_texts(struct receiver *r, const struct rt_sent *s, bool own, struct hd_err *err)
{
    for (int i = 0; i < r->c->ncolumns; i++) {
        int text = s->column[r->column[i].from].text;
        if (text < 0)
            continue;
        struct range bytes = bytes_of(r, s, text);
        uint64_t to = r->c->column[i].strings + r->text_bytes[i], from = s->text[text].bytes + bytes.first;
        HD_TRY(own ? r->x.d->ops->copy(r->x.d, to, from, (size_t)bytes.n, err)
                   : copy_here(r, s, to, from, bytes.n, err));
    }
    return 0;
}

/* Rows of another device. */
static int pull(struct receiver *r, struct rt_sent *s, struct range rows, struct hd_err *err)
{
    struct rt_device *d = r->x.d;
    rt_event *copied;
    HD_TRY(d->ops->stream_wait(d, RT_STREAM_IN, s->ready, err));
    HD_TRY(take_texts(r, s, false, err));
    for (uint64_t i = 0; i < rows.n; i += r->slot_rows)
        HD_TRY(pull_chunk(r, s, rows.first + i, HD_MIN(r->slot_rows, rows.n - i), err));
    HD_TRY(d->ops->record(d, RT_STREAM_IN, &copied, err));
    note_copied(r, s, copied);
    return 0;
}

/* Made by the stream that reads them. */
static int take_own(struct receiver *r, const struct rt_sent *s, struct range rows, struct hd_err *err)
{
    const struct chunk k = {rows.first, rows.n, s->rows + rows.first * s->stride, 0};
    HD_TRY(take_texts(r, s, true, err));
    return put_rows(r, s, &k, err);
}

static int take(struct receiver *r, struct rt_sent *s, struct hd_err *err)
{
    struct range rows = rows_of(r, s);
    if (s->life != s->g->life)
        return HD_FAIL(err, EXEC, NULL, "another query lost a GPU meanwhile");
    if (!rows.n)
        return 0;
    HD_TRY(s->g == r->x.g ? take_own(r, s, rows, err) : pull(r, s, rows, err));
    for (int i = 0; i < r->c->ncolumns; i++)
        if (r->column[i].text)
            r->text_bytes[i] += bytes_of(r, s, s->column[r->column[i].from].text).n;
    return 0;
}

static int open_slots(struct receiver *r, uint64_t rows, uint32_t stride, struct hd_err *err)
{
    uint64_t row = stride + (uint64_t)r->ntexts * 8;
    r->slot_rows = HD_MIN(rows, HD_MAX(setting("HEDDLE_EXCHANGE_BYTES", SLOT_BYTES) / row, (uint64_t)1));
    r->slot_sums = hd_align_up((size_t)(r->slot_rows * stride), ALIGN);
    r->slot_sum = hd_align_up((size_t)(r->slot_rows + 1) * 8, ALIGN);
    size_t bytes = (size_t)(r->slot_sums + (uint64_t)r->ntexts * r->slot_sum);
    r->nslots = (int)HD_MIN(setting("HEDDLE_EXCHANGE_SLOTS", SLOTS), (uint64_t)SLOTS_MAX);
    for (int i = 0; i < r->nslots; i++)
        HD_TRY(rt_state_alloc(&r->x, NULL, bytes, &r->slot[i].piece, err));
    return order(r, RT_STREAM_COMPUTE, RT_STREAM_IN, err); /* where others had their memory before */
}

/* Slots are for the widest rows that come from other devices, to which there is the shortest way. */
static int connect(struct receiver *r, struct rt_gpu_sent *const *from, int n, struct hd_err *err)
{
    uint32_t stride = 0;
    uint64_t rows = 0;
    bool direct;
    for (int k = 0; k < n; k++) {
        const struct rt_sent *s = rt_sent_of(from[k]);
        uint64_t more = s->g == r->x.g ? 0 : rows_in(s, r->part);
        if (!more)
            continue;
        stride = HD_MAX(stride, s->stride);
        rows = HD_MAX(rows, more);
        HD_TRY(r->x.d->ops->open_peer(r->x.d, s->g->d, &direct, err));
    }
    return rows ? open_slots(r, rows, stride, err) : 0;
}

static int receive_all(struct receiver *r, struct rt_gpu_sent *const *from, int n, struct hd_err *err)
{
    if (!r->total)
        return 0;
    r->text_bytes = HD_NEWN(r->x.arena, uint64_t, r->c->ncolumns + 1);
    HD_TRY(make_room(r, from, n, err));
    HD_TRY(connect(r, from, n, err));
    for (int k = 0; k < n; k++)
        HD_TRY(take(r, rt_sent_of(from[k]), err));
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
    struct receiver r = {.column = column, .part = part};
    for (int k = 0; k < n; k++)
        r.total += rows_in(rt_sent_of(from[k]), part);
    r.end = hd_align_up((size_t)r.total, HDD_LANE_ROWS);
    HD_TRY(rt_gpu_begin(g, stop, err));
    hd_arena_init(&arena);
    r.x = (struct rt_gpu_exec){.g = g, .d = g->d, .arena = &arena};
    r.c = rt_gpu_columns_new(g, ncolumns, r.total);
    int rc = r.c ? receive_all(&r, from, n, err) : HD_FAIL(err, RESOURCE, NULL, "out of memory");
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
