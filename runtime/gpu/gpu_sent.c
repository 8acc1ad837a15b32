/* Rows that go from GPU to GPU.
 *
 * The sender leaves the rows of its result as they are, or lets a kernel put those of each reader side by side
 * (templates/finish/finish_exchange.cu), and records `ready`. A reader pulls: its stream for transfers waits for `ready` and
 * copies chunk after chunk into a few slots; its compute stream turns each into columns of the table, and frees the slot. So
 * a slot is a credit: no more is under way than there is room for, and whoever reads slowly holds the link back, nobody else.
 * Behind its last chunk a reader records `copied`, for which the sender's stream waits before the memory of the rows serves
 * something else. tests/simt/exchange_explore.c goes through all orders of these. */
#include <stdlib.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/gpu_sent_internal.h"

_Static_assert((int)RT_GPU_PARTS_MAX == (int)HDD_SPLIT_PARTS, "kernels have as many");

static void drop(struct rt_sent *s)
{
    free(s->text);
    free(s->copied);
    free(s->s.first);
    free(s);
}

/* ---- sending ----------------------------------------------------------------------------------- */

static int count_texts(const struct rt_spec *spec)
{
    int n = 0;
    for (int i = 0; i < spec->nresult; i++)
        n += hd_type_is_text(spec->result[i].type);
    return n;
}

static void describe(const struct rt_spec *spec, const struct rt_state *state, struct rt_sent *s)
{
    s->ncolumns = spec->nresult;
    for (int i = 0; i < spec->nresult; i++) {
        const struct rt_field *f = &state->fields[spec->result[i].field];
        bool text = hd_type_is_text(spec->result[i].type);
        s->column[i] =
            (struct rt_sent_column){(uint32_t)f->offset, (uint32_t)f->phys, f->valid_offset, text ? s->ntexts : -1};
        s->ntexts += text;
    }
}

static struct rt_sent *new_sent(struct rt_gpu_exec *x, const struct rt_gpu_state *v, const struct rt_gpu_send *how)
{
    size_t parts = (size_t)HD_MAX(how->parts, 1), n = (size_t)x->spec->nresult;
    struct rt_sent *s = hd_try_calloc(1, sizeof *s + n * sizeof *s->column);
    if (!s)
        return NULL;
    s->s =
        (struct rt_gpu_sent){.n = v->nrows, .first = hd_try_calloc(parts + 1, sizeof(uint64_t)), .parts = (int)parts};
    s->copied = hd_try_calloc((size_t)how->readers + 1, sizeof *s->copied);
    s->text = hd_try_calloc((size_t)count_texts(x->spec) + 1, sizeof *s->text);
    if (!s->s.first || !s->copied || !s->text) {
        drop(s);
        return NULL;
    }
    s->s.first[parts] = v->nrows;
    s->g = x->g;
    s->life = x->g->life;
    s->stride = (uint32_t)v->s->stride;
    s->readers = how->readers;
    describe(x->spec, v->s, s);
    return s;
}

static bool holds(const struct rt_piece *p, uint64_t address)
{
    return p->address && !p->part && address >= p->address && address < p->address + p->n;
}

/* The state's own memory where it can be had, else a copy. */
static int take_rows(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct rt_sent *s, struct hd_err *err)
{
    struct rt_piece *piece = holds(&v->rows_at, v->rows) ? &v->rows_at : &v->moved;
    size_t bytes = (size_t)(v->nrows * (uint64_t)v->s->stride);
    s->rows = v->rows;
    if (holds(piece, v->rows)) {
        s->pieces[s->npieces++] = *piece;
        *piece = (struct rt_piece){0};
        return 0;
    }
    HD_TRY(rt_sent_keep(x, v->s, s, bytes, &s->rows, err));
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
static int divide(struct split *t, struct rt_gpu_state *v, struct rt_sent *s, const struct rt_gpu_send *how,
                  struct hd_err *err)
{
    struct rt_device *d = t->x->d;
    HD_TRY(lay_out(t, v, how, err));
    HD_TRY(rt_sent_keep(t->x, t->s, s, (size_t)(v->nrows * (uint64_t)v->s->stride), &s->rows, err));
    t->p.to = s->rows;
    HD_TRY(launch(t, "hdd_split_count", t->p.blocks, err));
    HD_TRY(rt_gpu_prefix_sum(t->x, t->s, t->p.counts, (uint64_t)t->p.blocks * t->p.parts, t->p.sums, true, err));
    HD_TRY(launch(t, "hdd_split_firsts", 1, err));
    HD_TRY(d->ops->download(d, s->s.first, t->p.firsts, (size_t)(how->parts + 1) * sizeof *s->s.first, err));
    return launch(t, "hdd_split_move", t->p.blocks, err);
}

static int send(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct rt_sent *s, const struct rt_gpu_send *how,
                struct hd_err *err)
{
    struct split t = {.x = x, .s = v->s};
    if (!v->nrows)
        return 0;
    int rc = how->parts ? divide(&t, v, s, how, err) : take_rows(x, v, s, err);
    rt_gpu_release(x, &t.words);
    if (rc == 0)
        rc = rt_sent_make_texts(x, v->s, s, err);
    return rc == 0 ? x->d->ops->record(x->d, RT_STREAM_COMPUTE, &s->ready, err) : -1;
}

int rt_gpu_rows_to_sent(struct rt_gpu_exec *x, const struct rt_gpu_send *how, struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[x->spec->result_state];
    struct rt_sent *s = new_sent(x, v, how);
    if (!s)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    if (send(x, v, s, how, err) == 0) {
        *how->out = &s->s;
        return 0;
    }
    for (int i = 0; i < s->npieces; i++)
        rt_gpu_pool_release(x->g->pool, &s->pieces[i]);
    drop(s);
    return -1;
}

/* ---- the end ----------------------------------------------------------------------------------- */

/* A reader that is lost copies nothing any more. */
void rt_gpu_sent_give_back(struct rt_gpu_sent *sent)
{
    struct rt_sent *s = rt_sent_of(sent);
    if (!s->npieces)
        return;
    rt_gpu_enter(s->g);
    for (int i = 0; i < s->ncopied && s->life == s->g->life; i++)
        s->g->d->ops->stream_wait(s->g->d, RT_STREAM_COMPUTE, s->copied[i].event, NULL);
    for (int i = 0; i < s->npieces && s->life == s->g->life; i++)
        rt_gpu_pool_release(s->g->pool, &s->pieces[i]);
    s->npieces = 0;
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
    struct rt_sent *s = rt_sent_of(sent);
    rt_gpu_sent_give_back(sent);
    for (int i = 0; i < s->ncopied; i++)
        free_event(s->copied[i].g, s->copied[i].life, s->copied[i].event);
    free_event(s->g, s->life, s->ready);
    drop(s);
}
