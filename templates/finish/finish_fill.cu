// Rows as they are before anything is added to them; slots of groups that moved, and groups that are slots.
#include "hd/aggregate.cuh"
#include "hd/finish_grid.cuh"

HDD_KERNEL(hdd_fill)(HDD_PARAMETER(hdd_fill_args, p))
{
    const u64 *pattern = p.more ? hdd_at<const u64>(p.more) : p.pattern;
    u64 *const to = hdd_at<u64>(p.to);
    const u64 n = p.rows * p.words, step = hdd_grid_step(p.blocks);
    u32 k = (u32)(hdd_grid_thread() % p.words);
    const u32 turn = (u32)(step % p.words);
    for (u64 i = hdd_grid_thread(); i < n; i += step) {
        to[i] = pattern[k];
        k += turn;
        if (k >= p.words)
            k -= p.words;
    }
}

HDD_KERNEL(hdd_fill_slots)(HDD_PARAMETER(hdd_slots_args, p))
{
    u64 *const slots = hdd_at<u64>(p.slots);
    for (u64 r = hdd_grid_thread(); r < p.n; r += hdd_grid_step(p.blocks)) {
        const u64 head = *hdd_at<const u64>(p.rows + r * p.stride), h = p.word ? hdd_hash_word(head) : head;
        const u64 slot = h >> 32 << 32 | (r + 1);
        u64 at = h & p.mask;
        while (hdd_atomic_cas(slots + at, (u64)0, slot) != 0)
            at = (at + 1) & p.mask;
    }
}

// Keys are distinct, and there is room.
HDD_KERNEL(hdd_spread_groups)(HDD_PARAMETER(hdd_spread_args, p))
{
    for (u64 r = hdd_grid_thread(); r < p.n; r += hdd_grid_step(p.blocks)) {
        const u64 *const from = hdd_at<const u64>(p.from + r * p.stride);
        u64 at = hdd_word_place(from[0], p.slots);
        while (hdd_atomic_cas(hdd_at<u64>(p.to + at * p.stride), (u64)0, from[0]) != 0)
            at = at + 1 == p.slots ? 0 : at + 1;
        hdd_copy_words(hdd_at<u64>(p.to + at * p.stride) + 1, from + 1, p.stride / 8 - 1);
    }
}

// ---- groups to the front -------------------------------------------------------------------

// There are as many free rows among the first n as groups behind them: these move there. A lane has several rows, whose
// loads overlap and which take one addition of the warp to a count that all warps add to.
constexpr u32 HDD_COMPACT_ROWS = 8, HDD_COMPACT_TILE = HDD_COMPACT_ROWS * HDD_LANES;

// The first row of a warp's tile, and from one to its next.
HDD_DEVICE u64 hdd_compact_first()
{
    return hdd_grid_thread() / HDD_LANES * HDD_COMPACT_TILE;
}

HDD_DEVICE u64 hdd_compact_step(u32 blocks)
{
    return hdd_grid_step(blocks) * HDD_COMPACT_ROWS;
}

HDD_DEVICE u64 hdd_compact_row(u64 first, u32 j)
{
    return first + j * HDD_LANES + hdd_lane();
}

// Bit j: row j of this lane has a group (`with`), or has none.
HDD_DEVICE u32 hdd_compact_rows(const hdd_compact_args &p, u64 first, u64 end, bool with)
{
    u32 rows = 0;
    u64 key[HDD_COMPACT_ROWS];
    HDD_UNROLL
    for (u32 j = 0; j < HDD_COMPACT_ROWS; j++) {
        const u64 r = hdd_compact_row(first, j);
        key[j] = r < end ? *hdd_at<const u64>(p.rows + r * p.stride) : (u64)!with;
    }
    HDD_UNROLL
    for (u32 j = 0; j < HDD_COMPACT_ROWS; j++)
        rows |= (u32)((key[j] != 0) == with) << j;
    return rows;
}

HDD_KERNEL(hdd_list_free)(HDD_PARAMETER(hdd_compact_args, p))
{
    for (u64 first = hdd_compact_first(); first < p.n; first += hdd_compact_step(p.blocks)) {
        const u32 rows = hdd_compact_rows(p, first, p.n, false);
        u32 *at = hdd_at<u32>(p.list) + hdd_reserve_places(hdd_at<u64>(p.listed), hdd_popc(rows));
        for (u32 rest = rows; rest; rest &= rest - 1)
            *at++ = (u32)hdd_compact_row(first, hdd_lowest(rest));
    }
}

HDD_KERNEL(hdd_fill_free)(HDD_PARAMETER(hdd_compact_args, p))
{
    for (u64 first = p.n + hdd_compact_first(); first < p.slots; first += hdd_compact_step(p.blocks)) {
        const u32 rows = hdd_compact_rows(p, first, p.slots, true);
        const u32 *at = hdd_at<const u32>(p.list) + hdd_reserve_places(hdd_at<u64>(p.listed) + 1, hdd_popc(rows));
        u32 to[HDD_COMPACT_ROWS];
        HDD_UNROLL
        for (u32 j = 0; j < HDD_COMPACT_ROWS; j++)
            to[j] = rows >> j & 1 ? *at++ : 0;
        HDD_UNROLL
        for (u32 j = 0; j < HDD_COMPACT_ROWS; j++)
            if (rows >> j & 1)
                hdd_copy_words(hdd_at<u64>(p.rows + (u64)to[j] * p.stride),
                               hdd_at<const u64>(p.rows + hdd_compact_row(first, j) * p.stride), p.stride / 8);
    }
}
