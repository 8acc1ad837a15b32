// Many rows in order. A least-significant-digit radix sort (Knuth, The Art of Computer
// Programming 3, 5.2.5) over keys that hold only the bits in which the rows differ, which
// hdd_sort_masks finds: most orders need two to five passes of eight bits. A sort by
// comparisons would read rows log n times, at random. Top-k looks for the k-th smallest key
// from the most significant digit on and leaves the few that remain to hdd_sort_rank.
#include "hd/finish_keys.cuh"
#include "hd/finish_scan.cuh"

HDD_DEVICE const u8 *hdd_sort_row(u64 rows, u64 list, u32 stride, u64 i)
{
    const u64 row = list ? hdd_at<const u32>(list)[i] : i;
    return hdd_at<const u8>(rows + row * stride);
}

// ---- survey --------------------------------------------------------------------------------

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

// ---- one pass ------------------------------------------------------------------------------

constexpr u32 HDD_EACH = HDD_TILE_ITEMS / HDD_BLOCK; // items of a thread
constexpr u32 HDD_AT_ONCE = 4;
constexpr u32 HDD_WARP_ITEMS = HDD_EACH * HDD_LANES;

struct hdd_radix_counts {
    u32 warp[HDD_WARPS][HDD_RADIX];
};

struct hdd_radix_shared {
    hdd_radix_counts counts;
    hdd_block_sums sums;
    u32 begin[HDD_RADIX]; // of a digit among the items of the tile
    u32 place[HDD_RADIX]; // of a digit's first item of this tile, less `begin`
    u64 stage[HDD_TILE_ITEMS];
    u16 rank[HDD_TILE_ITEMS]; // of an item among those of its digit; then its place in stage
};

HDD_DEVICE u32 hdd_digit(const hdd_radix_args &p, u64 key)
{
    return (u32)(key >> p.shift) & p.mask;
}

// Live lanes with the digit of this one. Whole warp.
HDD_DEVICE u32 hdd_same_digit(u32 digit, bool live)
{
    u32 peers = hdd_ballot(live);
    HDD_UNROLL
    for (u32 bit = 1; bit < HDD_RADIX; bit *= 2) {
        const u32 with = hdd_ballot(digit & bit);
        peers &= digit & bit ? with : ~with;
    }
    return peers;
}

HDD_DEVICE void hdd_radix_clear(hdd_radix_counts &c)
{
    for (u32 k = hdd_thread(); k < HDD_WARPS * HDD_RADIX; k += HDD_BLOCK)
        c.warp[k / HDD_RADIX][k % HDD_RADIX] = 0;
    hdd_block_sync();
}

// Items of the digit that the warp has seen before this lane's; counts it. Whole warp; each
// digit has one lane that writes.
HDD_DEVICE u32 hdd_radix_rank(u32 *counts, u32 digit, bool live)
{
    const u32 peers = hdd_same_digit(digit, live);
    const u32 before = live ? counts[digit] : 0;
    hdd_warp_sync();
    if (live && !(peers & hdd_lanes_below()))
        counts[digit] = before + hdd_popc(peers);
    hdd_warp_sync();
    return before + hdd_popc(peers & hdd_lanes_below());
}

HDD_KERNEL(hdd_radix_count)(HDD_PARAMETER(hdd_radix_args, p))
{
    HDD_SHARED(hdd_radix_counts, shared);
    const u64 tiles = (p.n + HDD_TILE_ITEMS - 1) / HDD_TILE_ITEMS;
    for (u64 tile = hdd_block(); tile < tiles; tile += p.blocks) {
        hdd_radix_clear(shared);
        HDD_NO_UNROLL
        for (u32 k = 0; k < HDD_EACH; k++) {
            const u64 i = tile * HDD_TILE_ITEMS + k * HDD_BLOCK + hdd_thread();
            const bool live = i < p.n;
            const u32 digit = live ? hdd_digit(p, hdd_at<const u64>(p.from)[i]) : 0;
            hdd_radix_rank(shared.warp[hdd_warp()], digit, live);
        }
        hdd_block_sync();
        for (u32 d = hdd_thread(); d < HDD_RADIX; d += HDD_BLOCK) {
            u32 sum = 0;
            for (u32 w = 0; w < HDD_WARPS; w++)
                sum += shared.warp[w][d];
            hdd_at<u32>(p.counts)[d * tiles + tile] = sum;
        }
        hdd_block_sync();
    }
}

// From counts per warp and digit to where each warp's items of a digit begin in the tile.
HDD_DEVICE void hdd_radix_begins(const hdd_radix_args &p, hdd_radix_shared &s, u64 tile,
                                 u64 tiles)
{
    constexpr u32 digits = HDD_RADIX / HDD_BLOCK; // of a thread
    u32 sum[digits], mine = 0, total;
    HDD_UNROLL
    for (u32 j = 0; j < digits; j++) {
        const u32 d = hdd_thread() * digits + j;
        sum[j] = 0;
        for (u32 w = 0; w < HDD_WARPS; w++) {
            const u32 n = s.counts.warp[w][d];
            s.counts.warp[w][d] = sum[j];
            sum[j] += n;
        }
        mine += sum[j];
    }
    u32 begin = hdd_block_scan(s.sums, mine, total);
    HDD_UNROLL
    for (u32 j = 0; j < digits; j++) {
        const u32 d = hdd_thread() * digits + j;
        s.begin[d] = begin;
        s.place[d] = hdd_at<const u32>(p.counts)[d * tiles + tile] - begin;
        begin += sum[j];
    }
    hdd_block_sync();
}

// Item k of this thread in the tile: a warp's items lie side by side, so that ranks follow
// their order.
HDD_DEVICE u32 hdd_radix_item(u32 k)
{
    return hdd_warp() * HDD_WARP_ITEMS + k * HDD_LANES + hdd_lane();
}

// Ranks of the warp's items among those of their digit, a few at a time so that their loads
// overlap. Whole warp.
HDD_DEVICE void hdd_radix_ranks(hdd_radix_shared &s, const hdd_radix_args &p, const u64 *from,
                                u32 m)
{
    HDD_NO_UNROLL
    for (u32 k = 0; k < HDD_EACH; k += HDD_AT_ONCE) {
        u64 key[HDD_AT_ONCE];
        HDD_UNROLL
        for (u32 j = 0; j < HDD_AT_ONCE; j++) {
            const u32 i = hdd_radix_item(k + j);
            key[j] = i < m ? from[i] : 0;
        }
        HDD_UNROLL
        for (u32 j = 0; j < HDD_AT_ONCE; j++) {
            const u32 i = hdd_radix_item(k + j);
            s.rank[i] = (u16)hdd_radix_rank(s.counts.warp[hdd_warp()], hdd_digit(p, key[j]),
                                            i < m);
        }
    }
}

// Keys go to their digit in shared memory first, so that writes to memory are of whole runs.
// place: where the keys of this thread's positions went. Whole block.
HDD_DEVICE void hdd_radix_keys(hdd_radix_shared &s, const hdd_radix_args &p, const u64 *from,
                               u32 m, u32 (&place)[HDD_EACH])
{
    for (u32 k = 0; k < HDD_EACH; k++) {
        const u32 i = hdd_radix_item(k);
        if (i < m) {
            const u64 key = from[i];
            const u32 d = hdd_digit(p, key);
            const u32 to = s.rank[i] + s.begin[d] + s.counts.warp[hdd_warp()][d];
            s.rank[i] = (u16)to;
            s.stage[to] = key;
        }
    }
    hdd_block_sync();
    HDD_UNROLL
    for (u32 k = 0; k < HDD_EACH; k++) {
        const u32 i = k * HDD_BLOCK + hdd_thread();
        const u64 key = i < m ? s.stage[i] : 0;
        place[k] = i + s.place[hdd_digit(p, key)];
        if (i < m)
            hdd_at<u64>(p.to)[place[k]] = key;
    }
    hdd_block_sync();
}

// Row numbers take the same way through the same memory.
HDD_DEVICE void hdd_radix_rows(hdd_radix_shared &s, const hdd_radix_args &p, u64 start, u32 m,
                               const u32 (&place)[HDD_EACH])
{
    u32 *const rows = reinterpret_cast<u32 *>(s.stage);
    for (u32 k = 0; k < HDD_EACH; k++) {
        const u32 i = hdd_radix_item(k);
        if (i < m)
            rows[s.rank[i]] = p.from_rows ? hdd_at<const u32>(p.from_rows)[start + i]
                                          : (u32)(start + i);
    }
    hdd_block_sync();
    HDD_UNROLL
    for (u32 k = 0; k < HDD_EACH; k++) {
        const u32 i = k * HDD_BLOCK + hdd_thread();
        if (i < m)
            hdd_at<u32>(p.to_rows)[place[k]] = rows[i];
    }
    hdd_block_sync();
}

HDD_KERNEL(hdd_radix_move)(HDD_PARAMETER(hdd_radix_args, p))
{
    HDD_SHARED(hdd_radix_shared, s);
    const u64 tiles = (p.n + HDD_TILE_ITEMS - 1) / HDD_TILE_ITEMS;
    for (u64 tile = hdd_block(); tile < tiles; tile += p.blocks) {
        const u64 start = tile * HDD_TILE_ITEMS, left = p.n - start;
        const u32 m = left < HDD_TILE_ITEMS ? (u32)left : (u32)HDD_TILE_ITEMS;
        const u64 *const from = hdd_at<const u64>(p.from) + start;
        u32 place[HDD_EACH];
        hdd_radix_clear(s.counts);
        hdd_radix_ranks(s, p, from, m);
        hdd_block_sync();
        hdd_radix_begins(p, s, tile, tiles);
        hdd_radix_keys(s, p, from, m, place);
        hdd_radix_rows(s, p, start, m, place);
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

// Blocks 0 .. n - 1 of the list become rows; a warp moves a row's words side by side.
HDD_KERNEL(hdd_sort_gather)(HDD_PARAMETER(hdd_gather_args, p))
{
    const u32 words = p.stride / 8;
    const u64 n = p.n * words;
    for (u64 i = hdd_grid_thread(); i < n; i += hdd_grid_step(p.blocks)) {
        const u64 row = i / words, k = i % words;
        hdd_at<u64>(p.to)[i] =
            hdd_at<const u64>(p.rows)[(u64)hdd_at<const u32>(p.list)[row] * words + k];
    }
}
