#include "runtime/gpu/gpu_import.h"

#include "runtime/base/arena.h"
#include "runtime/gpu/gpu_state.h"
#include "templates/device.cuh"

enum { ALIGN = 256, THREADS = RT_FINISH_THREADS, BLOCK_SHIFT = FE_TEXT_BLOCK_SHIFT };

struct import {
    struct rt_gpu_exec x; /* of the device and its code alone */
    struct rt_gpu_columns *c;
    struct hdd_import_args p;
    struct rt_piece words, codes; /* `bad` and `nulls`; gone with the column */
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

static int launch(struct import *m, const char *entry, struct hd_err *err)
{
    m->p.blocks = rt_finish_blocks(&m->x, m->p.n, THREADS);
    return rt_finish_launch(&m->x, "finish_import", entry, m->p.blocks, &m->p, err);
}

/* Waits for what was launched. */
static int check(struct import *m, const struct rt_device_column *c, const char *what, struct hd_err *err)
{
    uint64_t bad;
    HD_TRY(m->x.d->ops->download(m->x.d, &bad, m->p.bad, sizeof bad, err));
    if (bad == INT64_MAX)
        return 0;
    return HD_FAIL(err, DATA, NULL, "column \"%s\", row %llu: %s", c->name, (unsigned long long)bad + 1, what);
}

/* Lanes read whole groups of rows, also behind the last one. */
static size_t padded(uint64_t rows, size_t width)
{
    return hd_align_up((size_t)rows, HDD_LANE_ROWS) * width;
}

static int bools(struct import *m, struct rt_device_column *c, struct hd_err *err)
{
    HD_TRY(keep(m, padded(m->p.n, 1), &m->p.to, err));
    HD_TRY(launch(m, "hdd_import_bools", err));
    c->data = (const void *)(uintptr_t)m->p.to;
    return 0;
}

static int ends(struct import *m, struct rt_device_column *c, struct hd_err *err)
{
    int64_t last = 0;
    size_t blocks = (size_t)((m->p.n + (1u << BLOCK_SHIFT) - 1) >> BLOCK_SHIFT);
    HD_TRY(keep(m, padded(m->p.n, 4), &m->p.to, err));
    HD_TRY(keep(m, blocks * 8, &m->p.bases, err));
    m->p.strings = (uint64_t)(uintptr_t)c->strings;
    HD_TRY(launch(m, "hdd_import_ends", err));
    HD_TRY(check(m, c, "its offsets do not ascend, or there are 4 GiB of text in 65536 rows", err));
    HD_TRY(m->x.d->ops->download(m->x.d, &last, m->p.from + m->p.n * (uint64_t)c->width, (size_t)c->width, err));
    if (last && !c->strings)
        return HD_FAIL(err, DATA, NULL, "column \"%s\" has no bytes of its strings", c->name);
    HD_TRY(launch(m, "hdd_import_text", err));
    HD_TRY(check(m, c, "a string that is not UTF-8, or of 2 GiB", err));
    c->data = (const void *)(uintptr_t)m->p.to;
    c->bases = (const uint64_t *)(uintptr_t)m->p.bases;
    c->bytes = (uint64_t)last;
    return 0;
}

static int codes(struct import *m, struct rt_device_column *c, struct hd_err *err)
{
    const struct rt_device_ops *ops = m->x.d->ops;
    uint64_t nulls;
    size_t bytes = (size_t)c->ncodes * sizeof *c->codes;
    HD_TRY(keep(m, padded(m->p.n, 4), &m->p.to, err));
    HD_TRY(keep(m, (size_t)m->p.n / 8 + 1, &m->p.bits, err));
    HD_TRY(rt_state_alloc(&m->x, NULL, bytes, &m->codes, err));
    if (bytes)
        HD_TRY(ops->upload(m->x.d, m->codes.address, c->codes, bytes, err));
    m->p.codes = m->codes.address;
    m->p.nentries = c->ncodes;
    HD_TRY(launch(m, "hdd_import_codes", err));
    HD_TRY(check(m, c, "an index that its dictionary does not have", err));
    HD_TRY(ops->download(m->x.d, &nulls, m->p.nulls, sizeof nulls, err));
    rt_gpu_release(&m->x, &m->codes);
    c->data = (const void *)(uintptr_t)m->p.to;
    c->bits = (const uint8_t *)(uintptr_t)m->p.bits;
    c->nulls = (int64_t)nulls;
    return 0;
}

static int column(struct import *m, struct rt_device_column *c, uint64_t rows, struct hd_err *err)
{
    const uint64_t words[2] = {INT64_MAX, 0};
    HD_TRY(m->x.d->ops->upload(m->x.d, m->words.address, words, sizeof words, err));
    m->p = (struct hdd_import_args){.from = (uint64_t)(uintptr_t)c->values,
                                    .valid = (uint64_t)(uintptr_t)c->valid,
                                    .n = rows,
                                    .bad = m->words.address,
                                    .nulls = m->words.address + sizeof *words,
                                    .width = (hdd_u32)c->width,
                                    .is_signed = c->is_signed,
                                    .utf8 = c->utf8};
    switch (c->form) {
    case RT_DEVICE_BOOLS: return bools(m, c, err);
    case RT_DEVICE_ENDS: return ends(m, c, err);
    case RT_DEVICE_CODES: return codes(m, c, err);
    }
    HD_BUG("form %d of a column", (int)c->form);
}

/* The device's work is done when this returns, so that the table can be read from any stream. */
static int columns(struct import *m, struct rt_device_column *c, int n, uint64_t rows, struct hd_err *err)
{
    HD_TRY(rt_state_alloc(&m->x, NULL, 2 * sizeof(uint64_t), &m->words, err));
    for (int i = 0; i < n; i++)
        HD_TRY(column(m, &c[i], rows, err));
    return m->x.d->ops->sync(m->x.d, err);
}

int rt_gpu_import(struct rt_gpu *g, struct rt_device_column *c, int n, uint64_t rows, struct rt_gpu_columns **memory,
                  struct hd_err *err)
{
    struct hd_arena arena;
    HD_TRY(rt_gpu_begin(g, NULL, err));
    hd_arena_init(&arena);
    struct import m = {.x = {.g = g, .d = g->d, .arena = &arena}, .c = rt_gpu_columns_new(g, n, rows)};
    int rc = m.c ? columns(&m, c, n, rows, err) : HD_FAIL(err, RESOURCE, NULL, "out of memory");
    rt_gpu_release(&m.x, &m.words);
    rt_gpu_release(&m.x, &m.codes);
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
    int rc = g->d->ops->download(g->d, to, (uint64_t)(uintptr_t)from, n, err);
    rt_gpu_leave(g);
    return rc;
}
