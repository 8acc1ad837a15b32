// Keys for the radix sort: the bits in which rows differ, packed. And the first k of many
// rows: the k-th smallest key is looked for from the most significant digit on; the few rows
// that remain are left to hdd_sort_rank.
#include "hd/finish_digits.cuh"
#include "hd/finish_keys.cuh"

HDD_DEVICE const u8 *hdd_sort_row(u64 rows, u64 list, u32 stride, u64 i)
{
    const u64 row = list ? hdd_at<const u32>(list)[i] : i;
    return hdd_at<const u8>(rows + row * stride);
}

// ---- keys ----------------------------------------------------------------------------------

HDD_KERNEL(hdd_sort_lengths)(HDD_PARAMETER(hdd_survey_args, p))
{
    const hdd_key *const key = hdd_keys_of(p.keys);
    for (u32 k = 0; k < p.keys.n; k++) {
        if (key[k].phys != HDD_STR)
            continue;
        u32 most = 0;
        for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
            const u8 *const row = hdd_sort_row(p.rows, 0, p.keys.stride, i);
            if (!hdd_field_valid(key[k], row))
                continue;
            const u32 n = (u32)hdd_field_text(row, key[k].offset).n;
            most = n > most ? n : most;
        }
        hdd_warp_sync();
        for (u32 by = HDD_LANES / 2; by > 0; by /= 2) {
            const u32 other = hdd_shuffle(most, hdd_lane() ^ by);
            most = other > most ? other : most;
        }
        if (hdd_lane() == 0)
            hdd_atomic_max(hdd_at<i64>(p.lengths) + k, (i64)most);
    }
}

// In shared memory and not in registers, so that the code for a word is there once.
struct hdd_masks_shared {
    u64 first[HDD_KEY_WORDS];
    u64 mask[HDD_KEY_WORDS][HDD_BLOCK]; // of each thread
};

// Key words of all rows, against those of the first one.
HDD_DEVICE void hdd_differences(hdd_masks_shared &s, const hdd_survey_args &p)
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u8 *const row = hdd_sort_row(p.rows, 0, p.keys.stride, i);
        HDD_NO_UNROLL
        for (u32 w = 0; w < p.words; w++)
            s.mask[w][hdd_thread()] |= hdd_key_word(p.keys, row, p.word + w) ^ s.first[w];
    }
}

HDD_KERNEL(hdd_sort_masks)(HDD_PARAMETER(hdd_survey_args, p))
{
    HDD_SHARED(hdd_masks_shared, s);
    if (hdd_thread() < p.words)
        s.first[hdd_thread()] =
            hdd_key_word(p.keys, hdd_at<const u8>(p.rows), p.word + hdd_thread());
    for (u32 w = 0; w < p.words; w++)
        s.mask[w][hdd_thread()] = 0;
    hdd_block_sync();
    hdd_differences(s, p);
    hdd_warp_sync();
    HDD_NO_UNROLL
    for (u32 w = 0; w < p.words; w++) {
        const u64 mine = s.mask[w][hdd_thread()];
        const u32 lo = hdd_warp_or((u32)mine), hi = hdd_warp_or((u32)(mine >> 32));
        const u64 all = (u64)hi << 32 | lo;
        u64 *const to = hdd_at<u64>(p.masks) + p.word + w;
        if (hdd_lane() == 0 && (hdd_load_relaxed(to) & all) != all)
            hdd_atomic_or(to, all);
    }
}

HDD_KERNEL(hdd_sort_extract)(HDD_PARAMETER(hdd_extract_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u8 *const row = hdd_sort_row(p.rows, p.list, p.keys.stride, i);
        u64 packed = 0, word = 0;
        u32 number = ~0u;
        for (u32 r = 0; r < p.nruns; r++) {
            const hdd_run_of_bits &run = p.run[r];
            if (run.word != number)
                word = hdd_key_word(p.keys, row, number = run.word);
            const u64 all = run.length < 64 ? ((u64)1 << run.length) - 1 : ~(u64)0;
            packed |= (word >> run.shift & all) << run.to;
        }
        hdd_at<u64>(p.to)[i] = packed;
    }
}

// ---- top-k ---------------------------------------------------------------------------------

// The bin with the k-th smallest key becomes the next digit of the prefix. One thread, after
// all blocks have counted.
HDD_DEVICE void hdd_select_digit(const hdd_select_args &p, hdd_select_state &s)
{
    u64 before = 0;
    u32 d = 0;
    for (; d + 1 < HDD_RADIX; d++) {
        const u32 n = hdd_load_relaxed(&s.counts[d]);
        if (before + n >= s.wanted)
            break;
        before += n;
    }
    const u32 n = hdd_load_relaxed(&s.counts[d]);
    s.wanted -= before;
    s.prefix |= (u64)d << p.shift;
    s.known |= (u64)(HDD_RADIX - 1) << p.shift;
    s.done = n <= p.enough || p.shift == 0;
    for (u32 k = 0; k < HDD_RADIX; k++)
        s.counts[k] = 0;
    s.arrived = 0;
}

HDD_KERNEL(hdd_select_count)(HDD_PARAMETER(hdd_select_args, p))
{
    HDD_SHARED(hdd_radix_counts, shared);
    hdd_select_state &s = *hdd_at<hdd_select_state>(p.state);
    if (s.done) // the same for all: written by an earlier launch
        return;
    const u64 prefix = s.prefix, known = s.known;
    hdd_radix_clear(shared);
    for (u64 i = hdd_grid_thread(); i < hdd_whole_warps(p.n); i += hdd_grid_step(p.blocks)) {
        const u64 key = i < p.n ? hdd_at<const u64>(p.keys)[i] : 0;
        hdd_radix_rank(shared.warp[hdd_warp()], (u32)(key >> p.shift) & (HDD_RADIX - 1),
                       i < p.n && (key & known) == prefix);
    }
    hdd_block_sync();
    for (u32 d = hdd_thread(); d < HDD_RADIX; d += HDD_BLOCK) {
        u32 sum = 0;
        for (u32 w = 0; w < HDD_WARPS; w++)
            sum += shared.warp[w][d];
        if (sum)
            hdd_atomic_add(&s.counts[d], sum);
    }
    hdd_fence();
    hdd_block_sync();
    if (hdd_thread() == 0 && hdd_atomic_add(&s.arrived, 1u) == p.blocks - 1) {
        hdd_fence();
        hdd_select_digit(p, s);
    }
}

HDD_KERNEL(hdd_select_collect)(HDD_PARAMETER(hdd_select_args, p))
{
    hdd_select_state &s = *hdd_at<hdd_select_state>(p.state);
    for (u64 i = hdd_grid_thread(); i < hdd_whole_warps(p.n); i += hdd_grid_step(p.blocks)) {
        const bool taken =
            i < p.n && (hdd_at<const u64>(p.keys)[i] & s.known) <= s.prefix;
        const u64 at = hdd_take_places(&s.found, taken);
        if (taken && at < p.room)
            hdd_at<u32>(p.to)[at] = (u32)i;
    }
}
