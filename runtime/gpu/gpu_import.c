#include "runtime/gpu/gpu_import.h"

#include "runtime/base/arena.h"
#include "runtime/gpu/gpu_state.h"
#include "templates/device.cuh"

enum { ALIGN = 256, THREADS = RT_FINISH_THREADS, BLOCK_SHIFT = FE_TEXT_BLOCK_SHIFT };

struct import {
    struct rt_gpu_exec x; /* of the device and its code alone */
    struct rt_gpu_columns *c;
    struct hdd_import_args p;
    uint64_t rows;
    uint64_t codes, codes_valid,
        buffers; /* of the column that is converted: addresses; buffers: of all chunks' views */
    struct rt_piece words; /* bad row, NULLs of each column */
    struct rt_piece *parts; /* gone with the import: two for each column */
    int nparts;
};

struct words {
    int64_t bad, nulls;
};

/* Memory that stays with the table. */
static int keep(struct import *m, size_t n, hdd_u64 *address, struct hd_err *err)
{
    struct rt_piece *piece = &m->c->pieces[m->c->npieces];
    HD_TRY(rt_state_alloc(&m->x, NULL, hd_align_up(n, ALIGN), piece, err));
    m->c->npieces++;
    *address = piece->address;
    return 0;
}

static int borrow(struct import *m, size_t n, uint64_t *address, struct hd_err *err)
{
    struct rt_piece *piece = &m->parts[m->nparts];
    HD_TRY(rt_state_alloc(&m->x, NULL, hd_align_up(n, ALIGN), piece, err));
    m->nparts++;
    *address = piece->address;
    return 0;
}

static int send(struct import *m, const void *from, size_t n, uint64_t *address, struct hd_err *err)
{
    HD_TRY(borrow(m, n, address, err));
    return n ? m->x.d->ops->upload(m->x.d, *address, from, n, err) : 0;
}

/* A value for each row. Lanes read whole groups of rows: zeros are behind the last one. */
static int keep_rows(struct import *m, size_t width, struct hd_err *err)
{
    size_t used = (size_t)m->rows * width, all = hd_align_up((size_t)m->rows, HDD_LANE_ROWS) * width;
    HD_TRY(keep(m, all, &m->p.to, err));
    return all > used ? m->x.d->ops->set(m->x.d, m->p.to + used, 0, all - used, err) : 0;
}

static void set_chunk(struct import *m, const struct rt_device_column *c, const struct rt_device_chunk *k)
{
    struct hdd_import_args *p = &m->p;
    p->n = (uint64_t)k->rows;
    p->offset = (uint64_t)k->offset;
    p->from = c->codes ? m->codes : (uint64_t)(uintptr_t)k->values;
    p->valid = (uint64_t)(uintptr_t)k->valid;
    p->index = (uint64_t)(uintptr_t)k->indices;
    p->entry_valid = c->codes ? m->codes_valid : (uint64_t)(uintptr_t)k->entry_valid;
    p->entry_offset = (uint64_t)k->entry_offset;
    p->nentries = (uint64_t)k->nentries;
    p->strings = (uint64_t)(uintptr_t)k->strings;
    p->nbuffers = (uint32_t)k->nbuffers;
}

/* A launch for each chunk of the column. */
static int launch(struct import *m, const struct rt_device_column *c, const char *entry, struct hd_err *err)
{
    m->p.first = 0;
    m->p.buffers = m->buffers;
    for (const struct rt_device_chunk *k = c->chunks; m->p.first < m->rows; k++) {
        set_chunk(m, c, k);
        m->p.blocks = rt_finish_blocks(&m->x, m->p.n + HDD_WARP_LANES, THREADS);
        HD_TRY(rt_finish_launch(&m->x, "finish_import", entry, m->p.blocks, &m->p, err));
        m->p.first += m->p.n;
        m->p.buffers += m->p.nbuffers * sizeof(struct hdd_import_buffer);
    }
    return 0;
}

/* Waits for what was launched. */
static int look(struct import *m, struct rt_device_column *c, struct hd_err *err)
{
    struct words w;
    HD_TRY(m->x.d->ops->download(m->x.d, &w, m->p.bad, sizeof w, err));
    c->bad = w.bad == INT64_MAX ? -1 : w.bad;
    c->nulls = w.nulls;
    return 0;
}

/* ---- forms ----------------------------------------------------------------------------------- */

static int values(struct import *m, struct rt_device_column *c, struct hd_err *err)
{
    if (c->make_data)
        HD_TRY(keep_rows(m, (size_t)c->width, err));
    c->data = (const void *)(uintptr_t)m->p.to;
    return c->make_data || c->bounded ? launch(m, c, "hdd_import_values", err) : 0;
}

static int ends_and_bases(struct import *m, struct rt_device_column *c, struct hd_err *err)
{
    size_t blocks = (size_t)((m->rows + (1u << BLOCK_SHIFT) - 1) >> BLOCK_SHIFT);
    HD_TRY(keep_rows(m, 4, err));
    HD_TRY(keep(m, blocks * 8, &m->p.bases, err));
    c->data = (const void *)(uintptr_t)m->p.to;
    c->bases = (const uint64_t *)(uintptr_t)m->p.bases;
    return 0;
}

/* Where the strings of rows from `i` on begin among the bytes of their chunk. */
static int read_offset(struct import *m, const struct rt_device_column *c, const struct rt_device_chunk *k, int64_t i,
                       int64_t *out, struct hd_err *err)
{
    int32_t narrow;
    uint64_t at = (uint64_t)(uintptr_t)k->values;
    i += k->offset;
    if (c->format == RT_ARROW_LARGE_UTF8)
        return m->x.d->ops->download(m->x.d, out, at + (uint64_t)i * 8, sizeof *out, err);
    if (c->format == RT_ARROW_UTF8)
        HD_TRY(m->x.d->ops->download(m->x.d, &narrow, at + (uint64_t)i * 4, sizeof narrow, err));
    *out = c->format == RT_ARROW_UTF8 ? narrow : i * c->width;
    return 0;
}

/* Of offsets that ascend. */
static int need_bytes(struct import *m, const struct rt_device_column *c, struct hd_err *err)
{
    const struct rt_device_chunk *k = c->chunks;
    int64_t first, last;
    for (uint64_t row = 0; row < m->rows && c->format != RT_ARROW_VIEW; row += (uint64_t)k++->rows) {
        if (k->strings)
            continue;
        HD_TRY(read_offset(m, c, k, 0, &first, err));
        HD_TRY(read_offset(m, c, k, k->rows, &last, err));
        if (last > first)
            return HD_FAIL(err, USER, NULL, "column \"%s\": an Arrow array of strings without their bytes", c->name);
    }
    return 0;
}

static int strings(struct import *m, struct rt_device_column *c, struct hd_err *err)
{
    int64_t last;
    HD_TRY(ends_and_bases(m, c, err));
    HD_TRY(launch(m, c, "hdd_import_ends", err));
    HD_TRY(look(m, c, err));
    if (c->bad >= 0)
        return 0;
    HD_TRY(need_bytes(m, c, err));
    HD_TRY(read_offset(m, c, c->chunks, (int64_t)m->rows, &last, err));
    c->text = c->chunks->strings;
    c->bytes = (uint64_t)last;
    return launch(m, c, "hdd_import_text", err);
}

static int send_buffers(struct import *m, const struct rt_device_column *c, struct hd_err *err)
{
    int n = 0;
    uint64_t row = 0;
    for (const struct rt_device_chunk *k = c->chunks; row < m->rows; row += (uint64_t)k++->rows)
        n += k->nbuffers;
    struct hdd_import_buffer *all = HD_NEWN(m->x.arena, struct hdd_import_buffer, n + 1), *to = all;
    row = 0;
    for (const struct rt_device_chunk *k = c->chunks; row < m->rows; row += (uint64_t)k++->rows)
        for (int i = 0; i < k->nbuffers; i++)
            *to++ = (struct hdd_import_buffer){k->buffers[i].address, k->buffers[i].size};
    return send(m, all, (size_t)n * sizeof *all, &m->buffers, err);
}

static int copies(struct import *m, struct rt_device_column *c, struct hd_err *err)
{
    size_t lengths = hd_align_up((size_t)m->rows * 4, ALIGN);
    uint64_t address;
    HD_TRY(ends_and_bases(m, c, err));
    HD_TRY(send_buffers(m, c, err));
    HD_TRY(borrow(m, lengths + (size_t)(m->rows + 1) * 8, &address, err));
    m->p.lengths = address;
    m->p.sums = address + lengths;
    HD_TRY(launch(m, c, "hdd_import_lengths", err));
    HD_TRY(look(m, c, err));
    if (c->bad >= 0)
        return 0;
    HD_TRY(need_bytes(m, c, err));
    HD_TRY(rt_gpu_prefix_sum(&m->x, NULL, m->p.lengths, m->rows, m->p.sums, true, err));
    HD_TRY(m->x.d->ops->download(m->x.d, &c->bytes, m->p.sums + m->rows * 8, sizeof c->bytes, err));
    HD_TRY(keep(m, (size_t)c->bytes, &m->p.text, err));
    c->text = (const void *)(uintptr_t)m->p.text;
    return launch(m, c, "hdd_import_copies", err);
}

static int nothing(struct import *m, struct rt_device_column *c, struct hd_err *err)
{
    HD_TRY(keep_rows(m, (size_t)c->width, err));
    c->data = (const void *)(uintptr_t)m->p.to;
    return m->x.d->ops->set(m->x.d, m->p.to, 0, (size_t)m->rows * (size_t)c->width, err);
}

static int make_data(struct import *m, struct rt_device_column *c, struct hd_err *err)
{
    switch (c->form) {
    case RT_DEVICE_VALUES: return values(m, c, err);
    case RT_DEVICE_STRINGS: return c->make_data ? strings(m, c, err) : 0;
    case RT_DEVICE_COPIES: return c->make_data ? copies(m, c, err) : 0;
    case RT_DEVICE_NOTHING: return nothing(m, c, err);
    }
    HD_BUG("form %d of a column", (int)c->form);
}

static int make_bits(struct import *m, struct rt_device_column *c, struct hd_err *err)
{
    size_t bytes = (size_t)(m->rows / HDD_WARP_LANES + 1) * (HDD_WARP_LANES / 8);
    HD_TRY(keep(m, bytes, &m->p.bits, err));
    c->bits = (const uint8_t *)(uintptr_t)m->p.bits;
    if (c->form == RT_DEVICE_NOTHING)
        return m->x.d->ops->set(m->x.d, m->p.bits, 0, bytes, err);
    return launch(m, c, "hdd_import_validity", err);
}

/* ---- columns --------------------------------------------------------------------------------- */

static void put_bound(hdd_u64 *half, hd_i128 v)
{
    half[0] = (uint64_t)v;
    half[1] = (uint64_t)(v >> 64);
}

static int column(struct import *m, struct rt_device_column *c, struct hd_err *err)
{
    static const struct words none = {INT64_MAX, 0};
    m->p = (struct hdd_import_args){.bad = m->words.address,
                                    .nulls = m->words.address + sizeof none.bad,
                                    .format = (hdd_u32)c->format,
                                    .index_format = (hdd_u32)c->index,
                                    .width = (hdd_u32)c->width,
                                    .bounded = c->bounded,
                                    .utf8 = c->utf8};
    put_bound(m->p.least, c->least);
    put_bound(m->p.most, c->most);
    m->codes = m->codes_valid = m->buffers = 0;
    HD_TRY(m->x.d->ops->upload(m->x.d, m->words.address, &none, sizeof none, err));
    if (c->codes)
        HD_TRY(send(m, c->codes, (size_t)c->ncodes * sizeof *c->codes, &m->codes, err));
    if (c->codes_valid)
        HD_TRY(send(m, c->codes_valid, (size_t)(c->ncodes + 7) / 8, &m->codes_valid, err));
    HD_TRY(make_data(m, c, err));
    if (c->bad < 0 && c->make_bits)
        HD_TRY(make_bits(m, c, err));
    HD_TRY(look(m, c, err));
    if (c->form == RT_DEVICE_NOTHING)
        c->nulls = (int64_t)m->rows;
    return 0;
}

static void give_parts_back(struct import *m)
{
    while (m->nparts > 0)
        rt_gpu_release(&m->x, &m->parts[--m->nparts]);
}

/* The device's work is done when this returns, so that the table can be read from any stream. */
static int columns(struct import *m, struct rt_device_column *c, int n, struct hd_err *err)
{
    enum { PARTS = 2 };
    m->parts = HD_NEWN(m->x.arena, struct rt_piece, PARTS);
    HD_TRY(rt_state_alloc(&m->x, NULL, sizeof(struct words), &m->words, err));
    for (int i = 0; i < n; i++) {
        HD_TRY(column(m, &c[i], err));
        give_parts_back(m);
        if (c[i].bad >= 0)
            break;
    }
    return m->x.d->ops->sync(m->x.d, err);
}

int rt_gpu_import(struct rt_gpu *g, struct rt_device_column *c, int n, uint64_t rows, struct rt_gpu_columns **memory,
                  struct hd_err *err)
{
    struct hd_arena arena;
    HD_TRY(rt_gpu_begin(g, NULL, err));
    hd_arena_init(&arena);
    struct import m = {.x = {.g = g, .d = g->d, .arena = &arena}, .c = rt_gpu_columns_new(g, n, rows), .rows = rows};
    int rc = m.c ? columns(&m, c, n, err) : HD_FAIL(err, RESOURCE, NULL, "out of memory");
    give_parts_back(&m);
    rt_gpu_release(&m.x, &m.words);
    hd_arena_release(&arena);
    rt_gpu_leave(g);
    if (rc == 0)
        *memory = m.c;
    else
        rt_gpu_columns_free(m.c);
    return rc;
}

int rt_gpu_read(struct rt_gpu *g, void *to, const void *from, size_t n, struct hd_err *err)
{
    HD_TRY(rt_gpu_begin(g, NULL, err));
    int rc = 0;
    uint64_t address = (uint64_t)(uintptr_t)from;
    if (g->d->ops->owns(g->d, address))
        rc = g->d->ops->download(g->d, to, address, n, err);
    else
        memcpy(to, from, n);
    rt_gpu_leave(g);
    return rc;
}
