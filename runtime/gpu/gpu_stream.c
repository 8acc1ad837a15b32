#include "runtime/gpu/gpu_stream.h"

#include <string.h>

#include "runtime/exec/arg_values.h"
#include "runtime/exec/source.h"
#include "runtime/store/store_stage.h"
#include "runtime/gpu/gpu_copy.h"

enum {
    ALIGNMENT = 256,
    /* strings are read in whole words: bytes around those of a chunk */
    TEXT_FRONT = 256,
    TEXT_BEHIND = 64
};

/* What of a chunk comes from one argument's memory. */
struct lane {
    const struct rt_arg *a;
    const unsigned char *from; /* row 0, in a page-locked copy if `locked` */
    bool locked;
    uint64_t bits; /* of a row; of bytes of strings 0 */
    size_t at;     /* in the slot */
    uint64_t word; /* of the args vector, before and after */
};

struct chunk {
    uint64_t from; /* the first row that is there: where strings are, the first one of its block */
    uint64_t first, rows;
    rt_event *there; /* it has arrived */
};

struct rt_gpu_stream {
    struct rt_gpu_exec *x;
    const struct rt_pipeline *p;
    struct lane *lanes;
    size_t slot_bytes;
    unsigned char *staging; /* RT_STREAM_SLOTS slots; NULL: all lanes are locked */
    bool has_text;
    uint64_t at, end;       /* rows that no chunk has taken */
    struct chunk chunks[RT_STREAM_SLOTS];
    uint64_t sent, read; /* chunks so far: number n is in slot n % RT_STREAM_SLOTS */
    bool filling;        /* chunk number `sent` is being copied to its staging slot */
    struct rt_copy copy;
};

/* ---- slots ----------------------------------------------------------------------------------- */

static bool is_text(const struct rt_arg *a)
{
    return a->kind == RT_ARG_COL_TEXT_BYTES;
}

/* Where the strings of a block begin; behind the last block: all end. */
static uint64_t text_at(const struct rt_arg *a, uint64_t block)
{
    const struct fe_column_data *d = &a->table->cols[a->column].at;
    return block < (uint64_t)rt_nblocks(a->table->rows) ? d->text_base[block] : d->text_size;
}

static uint64_t block_of(uint64_t row)
{
    return row >> FE_TEXT_BLOCK_SHIFT;
}

/* The block behind the one of the last row in front of `end`. */
static uint64_t blocks_up_to(uint64_t end)
{
    return block_of(end + ((uint64_t)1 << FE_TEXT_BLOCK_SHIFT) - 1);
}

/* Bytes of strings of the longest chunk. */
static uint64_t text_room(const struct rt_arg *a, uint64_t chunk_rows)
{
    uint64_t blocks = (uint64_t)rt_nblocks(a->table->rows), wide = block_of(chunk_rows), most = 0;
    for (uint64_t b = 0; b < blocks; b++)
        most = HD_MAX(most, text_at(a, HD_MIN(b + wide, blocks)) - text_at(a, b));
    return HD_MIN(most, a->table->cols[a->column].at.text_size);
}

/* A lane of a warp reads whole groups of rows, and of packed ones whole words, as far behind the last as a column has. */
static size_t bytes_of(uint64_t bits, uint64_t rows)
{
    enum { WORDS = 24 };
    return (size_t)(hd_align_up((size_t)rows, HDD_LANE_ROWS) * bits / 8) + WORDS;
}

/* Of one argument, in a slot. */
static size_t lane_bytes(const struct rt_arg *a, const struct rt_pipeline *p)
{
    size_t n = is_text(a) ? TEXT_FRONT + (size_t)text_room(a, p->chunk_rows) + TEXT_BEHIND
                          : bytes_of(rt_arg_row_bits(a), HD_MIN(p->chunk_rows, (uint64_t)p->table->rows));
    return hd_align_up(n, ALIGNMENT);
}

static size_t slot_bytes(const struct rt_spec *spec, const struct rt_pipeline *p)
{
    size_t n = 0;
    for (int i = 0; i < p->nstreamed; i++)
        n += lane_bytes(&spec->args[p->streamed[i]], p);
    return n;
}

/* Of the pipeline with the longest rows, so that all of an execution share them. */
size_t rt_gpu_stream_bytes(const struct rt_spec *spec)
{
    size_t n = 0;
    for (int i = 0; i < spec->npipelines; i++)
        n = HD_MAX(n, slot_bytes(spec, &spec->pipelines[i]));
    return n * RT_STREAM_SLOTS;
}

static int lay_out(struct rt_gpu_stream *s, struct hd_err *err)
{
    const struct rt_spec *spec = s->x->spec;
    size_t at = 0;
    for (int i = 0; i < s->p->nstreamed; i++) {
        struct lane *l = &s->lanes[i];
        const struct rt_arg *a = &spec->args[s->p->streamed[i]];
        *l = (struct lane){.a = a, .bits = is_text(a) ? 0 : rt_arg_row_bits(a), .at = at, .word = s->x->words[a->word]};
        s->has_text |= a->table->cols[a->column].storage == FE_STORE_TEXT;
        HD_TRY(rt_gpu_host_copy(s->x->g, a, false, s->x->o, &l->from, err));
        l->locked = l->from != NULL;
        if (!l->locked)
            l->from = rt_arg_memory(a);
        at += lane_bytes(a, s->p);
    }
    s->slot_bytes = at;
    return 0;
}

static int find_memory(struct rt_gpu_stream *s, struct hd_err *err)
{
    struct rt_gpu_exec *x = s->x;
    size_t all = rt_gpu_stream_bytes(x->spec);
    bool staged = false;
    for (int i = 0; i < s->p->nstreamed; i++)
        staged = staged || (!s->lanes[i].locked && s->lanes[i].from);
    if (staged)
        HD_TRY(rt_gpu_staging(x->g, all, &s->staging, err));
    return x->chunks.address ? 0 : rt_gpu_alloc(x, NULL, all, &x->chunks, err);
}

static size_t slot_of(const struct rt_gpu_stream *s, uint64_t chunk)
{
    return (size_t)(chunk % RT_STREAM_SLOTS) * s->slot_bytes;
}

/* ---- a chunk's way ----------------------------------------------------------------------------- */

/* What of the argument's memory the chunk has: chunks begin at whole bytes of validity, and where strings are, at a block. */
static uint64_t begin_of(const struct lane *l, const struct chunk *c)
{
    return l->bits ? c->from * l->bits / 8 : text_at(l->a, block_of(c->from));
}

/* As far as the table has it, of what is sent: zeros fill up behind the last row. */
static size_t stored_bytes(const struct lane *l, const struct chunk *c)
{
    uint64_t end = c->first + c->rows;
    return (size_t)(l->bits ? ((end - c->from) * l->bits + 7) / 8 : text_at(l->a, blocks_up_to(end)) - begin_of(l, c));
}

static size_t sent_bytes(const struct lane *l, const struct chunk *c)
{
    return l->bits ? bytes_of(l->bits, c->first + c->rows - c->from) : stored_bytes(l, c) + TEXT_BEHIND;
}

static size_t front_of(const struct lane *l)
{
    return l->bits ? 0 : TEXT_FRONT;
}

/* Strings of a block do not reach into the next one, which a chunk may not have. */
static int check_text(const struct rt_gpu_stream *s, const struct chunk *c, struct hd_err *err)
{
    uint64_t end = c->first + c->rows;
    for (int i = 0; i < s->p->nstreamed; i++) {
        const struct rt_arg *a = s->lanes[i].a;
        const uint32_t *ends = a->table->cols[a->column].at.data;
        for (uint64_t b = block_of(c->from); is_text(a) && b < blocks_up_to(end); b++) {
            uint64_t last = HD_MIN((b + 1) << FE_TEXT_BLOCK_SHIFT, (uint64_t)a->table->rows) - 1;
            if (text_at(a, b + 1) < text_at(a, b) || ends[last] > text_at(a, b + 1) - text_at(a, b))
                return HD_FAIL(err, CORRUPT, a->table->name, "column \"%s\": strings of one block reach into the next",
                               a->table->cols[a->column].name);
        }
    }
    return 0;
}

/* Chunk number `sent` is being brought to page-locked memory. */
static int fill(struct rt_gpu_stream *s, struct hd_err *err)
{
    struct chunk *c = &s->chunks[s->sent % RT_STREAM_SLOTS];
    s->copy.nranges = 0;
    HD_TRY(check_text(s, c, err));
    for (int i = 0; i < s->p->nstreamed; i++) {
        const struct lane *l = &s->lanes[i];
        if (!l->from || l->locked)
            continue;
        size_t n = stored_bytes(l, c), all = sent_bytes(l, c);
        unsigned char *to = s->staging + slot_of(s, s->sent) + l->at + front_of(l);
        memset(to + n, 0, all - n);
        s->copy.ranges[s->copy.nranges++] = (struct rt_copy_range){to, l->from + begin_of(l, c), n};
    }
    rt_copy_start(&s->copy);
    s->filling = true;
    return 0;
}

/* It is there: it goes to the device. */
static int send(struct rt_gpu_stream *s, struct hd_err *err)
{
    const struct rt_device_ops *ops = s->x->d->ops;
    struct chunk *c = &s->chunks[s->sent % RT_STREAM_SLOTS];
    struct rt_kernel_stats *k = &s->x->stats->pipelines[s->p - s->x->spec->pipelines].kernel;
    size_t slot = slot_of(s, s->sent);
    rt_copy_finish(&s->copy);
    s->filling = false;
    for (int i = 0; i < s->p->nstreamed; i++) {
        const struct lane *l = &s->lanes[i];
        size_t n = sent_bytes(l, c), at = slot + l->at + front_of(l);
        if (!l->from)
            continue;
        const unsigned char *from = l->locked ? l->from + begin_of(l, c) : s->staging + at;
        HD_TRY(ops->upload_async(s->x->d, RT_STREAM_IN, s->x->chunks.address + at, from, n, err));
        k->streamed_bytes += n;
    }
    HD_TRY(ops->record(s->x->d, RT_STREAM_IN, &c->there, err));
    k->chunks++;
    s->sent++;
    return 0;
}

/* The next rows that zones do not rule out. False: all are in chunks. */
static bool take_rows(struct rt_gpu_stream *s)
{
    struct chunk *c = &s->chunks[s->sent % RT_STREAM_SLOTS];
    struct rt_source_rows piece = rt_source_piece(s->p, s->at, s->end);
    uint64_t from = s->has_text ? block_of(piece.begin) << FE_TEXT_BLOCK_SHIFT : piece.begin;
    uint64_t rows = HD_MIN(s->p->chunk_rows - (piece.begin - from), piece.end - piece.begin);
    *c = (struct chunk){.from = from, .first = piece.begin, .rows = rows};
    s->at = piece.begin + rows;
    return rows > 0;
}

/* The compute stream waits for the chunk, and the args vector names it: by the address that row 0 would have. */
static int use(struct rt_gpu_stream *s, struct chunk *c, struct hd_err *err)
{
    struct rt_gpu_exec *x = s->x;
    HD_TRY(x->d->ops->stream_wait(x->d, RT_STREAM_COMPUTE, c->there, err));
    x->d->ops->event_free(x->d, c->there);
    c->there = NULL;
    for (int i = 0; i < s->p->nstreamed; i++) {
        const struct lane *l = &s->lanes[i];
        uint64_t at = x->chunks.address + slot_of(s, s->read) + l->at + front_of(l);
        x->words[l->a->word] = l->from ? at - begin_of(l, c) : 0;
    }
    return 0;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static int open_stream(struct rt_gpu_stream *s, struct hd_err *err)
{
    HD_TRY(lay_out(s, err));
    HD_TRY(find_memory(s, err));
    while (s->sent + 1 < RT_STREAM_SLOTS && take_rows(s)) {
        HD_TRY(fill(s, err));
        HD_TRY(send(s, err));
    }
    return 0;
}

int rt_gpu_stream_open(struct rt_gpu_exec *x, const struct rt_pipeline *p, uint64_t first, uint64_t rows,
                       struct rt_gpu_stream **out, struct hd_err *err)
{
    struct rt_gpu_stream *s = HD_NEW(x->arena, struct rt_gpu_stream);
    *s = (struct rt_gpu_stream){.x = x, .p = p, .at = first, .end = first + rows};
    s->lanes = HD_NEWN(x->arena, struct lane, p->nstreamed);
    s->copy = (struct rt_copy){.thread_pool = x->o->thread_pool,
                               .threads = x->o->threads,
                               .ranges = HD_NEWN(x->arena, struct rt_copy_range, p->nstreamed)};
    *out = s;
    return open_stream(s, err);
}

int rt_gpu_stream_next(struct rt_gpu_stream *s, uint64_t *first, uint64_t *rows, struct hd_err *err)
{
    *rows = 0;
    if (hd_stopped(s->x->o->stop))
        return HD_FAIL(err, CANCELLED, NULL, "cancelled");
    if (s->filling)
        HD_TRY(send(s, err));
    if (s->read == s->sent)
        return 0;
    struct chunk *c = &s->chunks[s->read % RT_STREAM_SLOTS];
    HD_TRY(use(s, c, err));
    s->read++;
    *first = c->first;
    *rows = c->rows;
    if (!take_rows(s))
        return 0;
    HD_TRY(fill(s, err));
    return s->copy.nranges ? 0 : send(s, err); /* what is page-locked need not wait for the kernel */
}

void rt_gpu_stream_close(struct rt_gpu_stream *s)
{
    if (!s)
        return;
    if (s->filling)
        rt_copy_finish(&s->copy);
    s->x->d->ops->stream_sync(s->x->d, RT_STREAM_IN, NULL); /* which reads page-locked memory */
    for (int i = 0; i < RT_STREAM_SLOTS; i++)
        if (s->chunks[i].there)
            s->x->d->ops->event_free(s->x->d, s->chunks[i].there);
    for (int i = 0; i < s->p->nstreamed; i++)
        s->x->words[s->lanes[i].a->word] = s->lanes[i].word;
}
