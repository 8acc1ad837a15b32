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

/* ---- radix sort -------------------------------------------------------------------------- */

int rt_radix_alloc(struct rt_gpu_exec *x, const struct rt_state *s, uint64_t n, struct rt_radix *r, struct hd_err *err)
{
    *r = (struct rt_radix){.n = n};
    for (int i = 0; i < 2; i++) {
        HD_TRY(rt_state_alloc(x, s, (size_t)n * 8, &r->keys[i], err));
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

static int radix_pass(struct rt_gpu_exec *x, const struct rt_state *s, struct rt_radix *r, uint64_t counts, int shift,
                      int bits, struct hd_err *err)
{
    uint64_t tiles = (r->n + HDD_TILE_ITEMS - 1) / HDD_TILE_ITEMS;
    int to = 1 - r->now;
    struct hdd_radix_args p = {.n = r->n,
                               .from = r->keys[r->now].address,
                               .from_rows = r->numbered ? r->rows[r->now].address : 0,
                               .to = r->keys[to].address,
                               .to_rows = r->rows[to].address,
                               .counts = counts,
                               .blocks = rt_finish_blocks(x, tiles, 1),
                               .shift = (hdd_u32)shift,
                               .mask = (1u << bits) - 1};
    HD_TRY(rt_finish_launch(x, "finish_radix", "hdd_radix_count", p.blocks, &p, err));
    HD_TRY(rt_gpu_prefix_sum(x, s, counts, tiles * HDD_RADIX, counts, false, err));
    HD_TRY(rt_finish_launch(x, "finish_radix", "hdd_radix_move", p.blocks, &p, err));
    r->now = to;
    r->numbered = true;
    return 0;
}

int rt_radix_sort(struct rt_gpu_exec *x, const struct rt_state *s, struct rt_radix *r, uint64_t mask,
                  struct hd_err *err)
{
    uint64_t tiles = (r->n + HDD_TILE_ITEMS - 1) / HDD_TILE_ITEMS;
    struct rt_piece counts;
    int rc = 0;
    HD_TRY(rt_state_alloc(x, s, (size_t)tiles * HDD_RADIX * 4, &counts, err));
    while (mask && rc == 0) {
        int shift = __builtin_ctzll(mask);
        int bits = HD_MIN((int)DIGIT_BITS, WORD_BITS - shift);
        rc = radix_pass(x, s, r, counts.address, shift, bits, err);
        mask &= bits == WORD_BITS - shift ? 0 : ~UINT64_C(0) << (shift + bits);
    }
    rt_gpu_release(x, &counts);
    return rc;
}
