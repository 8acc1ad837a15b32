/* Sums of counts up to each, and sorting by digits with them: what grouping and ordering of rows stand on. */
#include "runtime/gpu/gpu_state.h"

enum { DIGIT_BITS = 8, WORD_BITS = 64 };

int rt_gpu_prefix_sum(struct rt_gpu_exec *x, const struct rt_state *s, uint64_t counts, uint64_t n, uint64_t to,
                      bool wide, struct hd_err *err)
{
    static const char module[] = "finish_prefix_sum";
    uint64_t tiles = (n + HDD_TILE_ITEMS - 1) / HDD_TILE_ITEMS;
    struct rt_piece sums;
    HD_TRY(rt_state_alloc(x, s, (size_t)tiles * 8, &sums, err));
    struct hdd_prefix_sum_args p = {.from = counts,
                                    .n = n,
                                    .to = to,
                                    .sums = sums.address,
                                    .blocks = rt_finish_blocks(x, tiles, 1),
                                    .wide = wide,
                                    .total = wide};
    int rc = rt_finish_launch(x, module, "hdd_prefix_sum_tiles", p.blocks, &p, err);
    if (rc == 0)
        rc = rt_finish_launch(x, module, "hdd_prefix_sum_totals", 1, &p, err);
    if (rc == 0)
        rc = rt_finish_launch(x, module, "hdd_prefix_sum_apply", p.blocks, &p, err);
    rt_gpu_release(x, &sums);
    return rc;
}

/* ---- sweeps ------------------------------------------------------------------------------ */

void rt_digits(int low, int bits, struct hdd_digits *d)
{
    int n = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
    HD_ASSERT(n <= HDD_RADIX_PASSES);
    d->passes = (hdd_u32)n;
    for (int k = 0; k < n; k++) {
        int taken = (bits + n - k - 1) / (n - k);
        d->shift[k] = (unsigned char)low;
        d->bits[k] = (unsigned char)taken;
        low += taken;
        bits -= taken;
    }
}

int rt_sweeps_alloc(struct rt_gpu_exec *x, const struct rt_state *s, uint64_t n, uint32_t tile,
                    struct hdd_digits *digits, struct rt_sweeps *w, struct hd_err *err)
{
    const size_t row = HDD_RADIX * sizeof(uint32_t);
    uint64_t chunk = UINT64_C(1) << HDD_SWEEP_BITS;
    if (x->first_rows) /* tests: as many launches as large states have */
        chunk = HD_MIN(chunk, HD_MAX(x->first_rows, (uint64_t)tile));
    *w = (struct rt_sweeps){.n = n, .chunk = (chunk + tile - 1) / tile * tile};
    uint64_t launches = (n + w->chunk - 1) / w->chunk, tiles = (HD_MIN(n, w->chunk) + tile - 1) / tile;
    w->step = (uint32_t)(row * (launches + 1));
    w->taken = hd_align_up((size_t)digits->passes * launches * sizeof(uint32_t), row);
    w->status_bytes = (size_t)tiles * row;
    size_t bases = (size_t)digits->passes * w->step;
    HD_TRY(rt_state_alloc(x, s, bases + w->taken + w->status_bytes, &w->at, err));
    w->base = w->at.address;
    w->next = w->base + bases;
    w->status = w->next + w->taken;
    digits->counts = w->base;
    digits->step = w->step;
    return x->d->ops->set(x->d, w->base, 0, bases + w->taken, err);
}

/* A sweep of several launches: what each of them moves, and where it finds what. */
bool rt_sweep_next(const struct rt_sweeps *w, int pass, struct rt_sweep *at)
{
    uint64_t launches = (w->n + w->chunk - 1) / w->chunk;
    at->first = at->launch * w->chunk;
    if (at->launch == launches)
        return false;
    at->n = HD_MIN(w->n - at->first, w->chunk);
    at->base = w->base + (uint64_t)pass * w->step + (at->stable ? at->launch * HDD_RADIX * sizeof(uint32_t) : 0);
    at->next = w->next + ((uint64_t)pass * launches + at->launch) * sizeof(uint32_t);
    at->launch++;
    return true;
}

int rt_sweep_begin(struct rt_gpu_exec *x, struct rt_sweeps *w, const struct rt_sweep *at, struct hd_err *err)
{
    const uint32_t one = UINT32_C(1) << HDD_SINCE_SHIFT;
    uint32_t before = w->since;
    if (!at->stable)
        return 0;
    w->since = before + one;
    if (before != 0 && w->since != 0)
        return 0;
    w->since = one;
    return x->d->ops->set(x->d, w->status, 0, w->status_bytes, err);
}

/* ---- radix sort -------------------------------------------------------------------------- */

int rt_radix_alloc(struct rt_gpu_exec *x, const struct rt_state *s, uint64_t n, bool rows, struct rt_radix *r,
                   struct hd_err *err)
{
    *r = (struct rt_radix){.n = n};
    for (int i = 0; i < 2; i++) {
        HD_TRY(rt_state_alloc(x, s, (size_t)n * 8, &r->keys[i], err));
        if (rows)
            HD_TRY(rt_state_alloc(x, s, (size_t)n * 4, &r->rows[i], err));
    }
    return 0;
}

void rt_radix_release(struct rt_gpu_exec *x, struct rt_radix *r)
{
    for (int i = 0; i < 2; i++) {
        rt_gpu_release(x, &r->keys[i]);
        rt_gpu_release(x, &r->rows[i]);
    }
}

/* A part of a pass over rows that are packed or unpacked on the way. */
static int move_rows(struct rt_gpu_exec *x, struct rt_radix_rows *rows, const struct hdd_radix_args *p, bool first,
                     bool last, struct hd_err *err)
{
    struct hdd_row_move_args *form = &rows->form;
    form->move = *p;
    form->pack = first;
    form->unpack = last;
    if (first)
        form->move.from = rows->from + p->first * 8;
    if (last)
        form->move.to = rows->to;
    return rt_radix_launch(x, "finish_rows_move", "hdd_rows_move", p->blocks, form, err);
}

/* Keys of a tile. */
static uint32_t tile_of(const struct rt_radix *r)
{
    return r->rows[0].address ? HDD_MOVE_ITEMS : HDD_MOVE_KEYS;
}

static int radix_pass(struct rt_gpu_exec *x, struct rt_radix *r, struct rt_sweeps *w, const struct hdd_digits *digits,
                      int pass, struct hd_err *err)
{
    struct rt_sweep at = {.stable = true};
    int now = r->now, to = 1 - now;
    bool first = pass == 0, last = pass + 1 == (int)digits->passes;
    const char *module = r->rows[to].address ? "finish_radix_rows" : "finish_radix_keys";
    const char *entry = r->rows[to].address ? "hdd_radix_move" : "hdd_radix_move_keys";
    while (rt_sweep_next(w, pass, &at)) {
        HD_TRY(rt_sweep_begin(x, w, &at, err));
        uint64_t tiles = (at.n + tile_of(r) - 1) / tile_of(r);
        struct hdd_radix_args p = {.n = at.n,
                                   .from = r->keys[now].address + at.first * 8,
                                   .from_rows = r->numbered ? r->rows[now].address + at.first * 4 : 0,
                                   .to = r->keys[to].address,
                                   .to_rows = r->rows[to].address,
                                   .first = at.first,
                                   .base = at.base,
                                   .status = w->status,
                                   .next = at.next,
                                   .blocks = rt_radix_blocks(x, tiles, 1),
                                   .shift = digits->shift[pass],
                                   .mask = (1u << digits->bits[pass]) - 1,
                                   .since = w->since};
        HD_TRY(r->made && (first || last) ? move_rows(x, r->made, &p, first, last, err)
                                          : rt_radix_launch(x, module, entry, p.blocks, &p, err));
    }
    r->now = to;
    r->numbered = r->rows[to].address != 0;
    return 0;
}

int rt_radix_sort_made(struct rt_gpu_exec *x, const struct rt_state *s, struct rt_radix *r, uint64_t mask,
                       rt_radix_make *make, void *context, struct hd_err *err)
{
    HD_ASSERT(mask != 0 && r->n != 0);
    struct hdd_digits digits = {0};
    struct rt_sweeps w;
    int low = __builtin_ctzll(mask), top = WORD_BITS - __builtin_clzll(mask);
    rt_digits(low, top - low, &digits);
    int rc = rt_sweeps_alloc(x, s, r->n, tile_of(r), &digits, &w, err);
    if (rc == 0)
        rc = make(x, &digits, context, err);
    if (rc == 0 && !r->stop)
        rc = rt_radix_launch(x, "finish_radix", "hdd_radix_begin", 1, &digits, err);
    for (int k = 0; k < (int)digits.passes && rc == 0 && !r->stop; k++)
        rc = radix_pass(x, r, &w, &digits, k, err);
    rt_gpu_release(x, &w.at);
    return rc;
}

static int count(struct rt_gpu_exec *x, const struct hdd_digits *digits, void *args, struct hd_err *err)
{
    struct hdd_radix_count_args *p = args;
    p->digits = *digits;
    p->blocks = rt_radix_blocks(x, p->n, 4 * HDD_RADIX_THREADS);
    return rt_radix_launch(x, "finish_radix", "hdd_radix_count", p->blocks, p, err);
}

int rt_radix_sort(struct rt_gpu_exec *x, const struct rt_state *s, struct rt_radix *r, uint64_t mask,
                  struct hd_err *err)
{
    struct hdd_radix_count_args p = {.n = r->n, .keys = r->keys[r->now].address};
    return mask && r->n ? rt_radix_sort_made(x, s, r, mask, count, &p, err) : 0;
}

int rt_radix_sort_hashes(struct rt_gpu_exec *x, const struct rt_state *s, struct rt_radix *r, uint64_t mask,
                         uint64_t rows, struct hd_err *err)
{
    struct hdd_radix_count_args p = {
        .n = r->n, .keys = r->keys[r->now].address, .rows = rows, .stride = (hdd_u32)s->stride};
    return rt_radix_sort_made(x, s, r, mask, count, &p, err);
}
