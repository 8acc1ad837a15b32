// Moving items to where their digit's items go, in one reading and one writing: what is counted in a tile, and what
// tiles tell each other (Adinets and Merrill, Onesweep, 2022). A tile is counted first, by atomics, so that the tiles
// behind it know; then its items get places without: each warp has counters of its own, and of the lanes with one digit
// one writes.
#ifndef HDD_FINISH_DIGITS_CUH
#define HDD_FINISH_DIGITS_CUH

#include "hd/finish_grid.cuh"

// Of each warp: its items of a digit in a tile; then where the next of them goes in it.
struct hdd_radix_counts {
    u32 warp[HDD_WARPS][HDD_RADIX];
};

// Lanes with the digit of this one. Whole warp.
HDD_DEVICE u32 hdd_same_digit(u32 digit)
{
    u32 same_lanes = ~0u;
    HDD_UNROLL
    for (u32 bit = 1; bit < HDD_RADIX; bit *= 4) {
        const u32 one = hdd_match_bit(digit, bit), other = hdd_match_bit(digit, 2 * bit);
        same_lanes = hdd_and(same_lanes, one, other);
    }
    return same_lanes;
}

// Words of this warp, one per digit. Whole warp; a warp barrier before they are zeros.
HDD_DEVICE void hdd_radix_clear(u32 *words)
{
    HDD_UNROLL
    for (u32 k = 0; k < HDD_RADIX; k += HDD_LANES)
        words[k + hdd_lane()] = 0;
}

// The place of this lane's item, the next of its digit behind those of the lanes below. Whole warp; of each digit the
// last lane writes.
HDD_DEVICE u32 hdd_radix_place(u32 *next, u32 digit)
{
    const u32 same_lanes = hdd_same_digit(digit);
    const u32 place = next[digit] + hdd_popc(same_lanes & hdd_lanes_below());
    hdd_warp_sync();
    if (!(same_lanes & ~hdd_lanes_upto()))
        next[digit] = place + 1;
    hdd_warp_sync();
    return place;
}

// ---- counting ------------------------------------------------------------------------------

struct hdd_digit_counts {
    u32 pass[HDD_RADIX_PASSES][HDD_RADIX];
};

template <u32 N> HDD_DEVICE void hdd_digits_add(hdd_digit_counts &s, const hdd_digits &p, const u64 (&key)[N])
{
    HDD_NO_UNROLL
    for (u32 k = 0; k < p.passes; k++) {
        const u32 shift = p.shift[k], mask = (1u << p.bits[k]) - 1;
        HDD_UNROLL
        for (u32 j = 0; j < N; j++)
            hdd_atomic_add(&s.pass[k][(u32)(key[j] >> shift) & mask], 1u);
    }
}

template <u32 N> HDD_DEVICE void hdd_put_keys(u64 to, u64 start, u64 step, const u64 (&key)[N])
{
    HDD_UNROLL
    for (u32 j = 0; j < N; j++)
        hdd_at<u64>(to)[start + j * step] = key[j];
}

// Counts digits of the keys of items 0 .. n - 1: keys_of(start, step, key) loads those of items start, start + step, ...
// to: they are written, too. The whole grid.
template <class KeysOf>
HDD_DEVICE void hdd_count_digits(hdd_digit_counts &s, const hdd_digits &p, u32 blocks, u64 n, u64 to, KeysOf keys_of)
{
    constexpr u32 at_once = 4; // so that loads overlap
    for (u32 k = hdd_thread(); k < p.passes * HDD_RADIX; k += HDD_BLOCK)
        s.pass[k / HDD_RADIX][k % HDD_RADIX] = 0;
    hdd_block_sync();
    const u64 step = hdd_grid_step(blocks);
    u64 start = hdd_grid_thread();
    HDD_NO_UNROLL
    for (; start + (at_once - 1) * step < n; start += at_once * step) {
        u64 key[at_once];
        keys_of(start, step, key);
        if (to)
            hdd_put_keys(to, start, step, key);
        hdd_digits_add(s, p, key);
    }
    HDD_NO_UNROLL
    for (; start < n; start += step) {
        u64 key[1];
        keys_of(start, step, key);
        if (to)
            hdd_put_keys(to, start, step, key);
        hdd_digits_add(s, p, key);
    }
    hdd_block_sync();
    for (u32 k = hdd_thread(); k < p.passes * HDD_RADIX; k += HDD_BLOCK) {
        const u32 count = s.pass[k / HDD_RADIX][k % HDD_RADIX];
        if (count)
            hdd_atomic_add(hdd_at<u32>(p.counts + (u64)(k / HDD_RADIX) * p.step) + k % HDD_RADIX, count);
    }
}

// Digits of a thread, neighbouring ones; threads beyond the last digit have none.
constexpr u32 HDD_DIGITS = HDD_RADIX > HDD_BLOCK ? HDD_RADIX / HDD_BLOCK : 1;
static_assert(HDD_DIGITS * HDD_BLOCK >= HDD_RADIX, "each digit has a thread");

HDD_DEVICE bool hdd_has_digits()
{
    return HDD_DIGITS * HDD_BLOCK == HDD_RADIX || hdd_thread() < HDD_RADIX;
}

// Counts of digits become where the items of each digit begin. Whole block, the only one.
HDD_DEVICE void hdd_digits_begin(hdd_block_prefix &sums, const hdd_digits &p)
{
    for (u32 k = 0; k < p.passes; k++) {
        u32 *const counts = hdd_at<u32>(p.counts + (u64)k * p.step) + hdd_thread() * HDD_DIGITS;
        u32 mine = 0, total;
        HDD_UNROLL
        for (u32 j = 0; j < HDD_DIGITS && hdd_has_digits(); j++)
            mine += counts[j];
        u32 begin = hdd_block_prefix_sum(sums, mine, total);
        HDD_UNROLL
        for (u32 j = 0; j < HDD_DIGITS && hdd_has_digits(); j++) {
            const u32 n = counts[j];
            counts[j] = begin;
            begin += n;
        }
    }
}

// ---- tiles ---------------------------------------------------------------------------------

// What a tile tells of a digit: its items in the tile, then those in all tiles up to this one. So few tiles follow each
// other that a number has HDD_TOLD_BITS bits. The upper bits say which sweep it was (`since`, more in each than in those
// before it), so that what is left of those need not be cleared.
constexpr u32 HDD_TOLD_BITS = HDD_SWEEP_BITS + 1;
constexpr u32 HDD_TOLD_SUM = 1u << HDD_TOLD_BITS, HDD_TOLD_NUMBER = HDD_TOLD_SUM - 1;
static_assert(HDD_TOLD_BITS < HDD_SINCE_SHIFT, "numbers and what they are share a word");
constexpr u32 HDD_LOOKS_AT_ONCE = 8;

struct hdd_radix_tile {
    hdd_block_prefix sums;
    u32 place[HDD_RADIX]; // of a digit's first item of this tile, less where it lies in the tile
    u32 number;
};

// Tiles are taken in order: those before one that somebody has are done, or somebody has them. Whole block; the caller
// comes to a block barrier before it calls again.
HDD_DEVICE u32 hdd_take_tile(hdd_radix_tile &s, u64 next)
{
    if (hdd_thread() == 0)
        s.number = hdd_atomic_add(hdd_at<u32>(next), 1u);
    hdd_block_sync();
    return s.number;
}

HDD_DEVICE u32 *hdd_told(u64 status, u32 tile, u32 digit)
{
    return hdd_at<u32>(status) + (u64)tile * HDD_RADIX + digit;
}

// Items of the digit in the tiles before this one, which is not the first: decoupled look-back (Merrill and Garland,
// Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016). A word is all that is told, so nothing needs an
// order.
HDD_DEVICE u32 hdd_look_back(u64 status, u32 since, u32 tile, u32 digit)
{
    u32 sum = 0, at = tile; // tiles before `at` are still to be asked
    for (bool done = false; !done;) {
        u32 told[HDD_LOOKS_AT_ONCE];
        HDD_UNROLL
        for (u32 j = 0; j < HDD_LOOKS_AT_ONCE; j++) // the first tile tells a sum: what is behind it is not looked at
            told[j] = hdd_load_relaxed(hdd_told(status, at > j ? at - 1 - j : 0, digit));
        bool some = true;
        HDD_UNROLL
        for (u32 j = 0; j < HDD_LOOKS_AT_ONCE; j++) {
            some = some && told[j] >= since;
            sum += some ? told[j] & HDD_TOLD_NUMBER : 0;
            at -= some;
            done = done || (some && told[j] & HDD_TOLD_SUM);
            some = some && !(told[j] & HDD_TOLD_SUM);
        }
        if (told[0] < since)
            hdd_back_off(20);
    }
    return sum;
}

struct hdd_radix_digits {
    u32 count[HDD_DIGITS], begin[HDD_DIGITS]; // of the items in the tile
};

// From counts per warp and digit to where each warp's items of a digit begin in the tile; tells the tiles behind it how
// many there are, where they ask. `more` items behind the last one have the digit `last`. Whole block; a block barrier
// before the begins are there.
HDD_DEVICE hdd_radix_digits hdd_radix_begins(hdd_radix_tile &s, hdd_radix_counts &counts, u32 tile, bool stable,
                                             u64 status, u32 since, u32 more, u32 last)
{
    hdd_radix_digits mine;
    u32 all = 0, total;
    HDD_UNROLL
    for (u32 j = 0; j < HDD_DIGITS && hdd_has_digits(); j++) {
        const u32 d = hdd_thread() * HDD_DIGITS + j;
        u32 sum = 0;
        HDD_UNROLL
        for (u32 w = 0; w < HDD_WARPS; w++)
            sum += counts.warp[w][d];
        mine.begin[j] = all;
        all += sum;
        mine.count[j] = d == last ? sum - more : sum;
        if (stable)
            hdd_store_relaxed(hdd_told(status, tile, d), since | (tile ? 0 : HDD_TOLD_SUM) | mine.count[j]);
    }
    const u32 begin = hdd_block_prefix_sum(s.sums, all, total);
    HDD_UNROLL
    for (u32 j = 0; j < HDD_DIGITS && hdd_has_digits(); j++) {
        u32 at = mine.begin[j] += begin;
        HDD_UNROLL
        for (u32 w = 0; w < HDD_WARPS; w++) {
            u32 &count = counts.warp[w][hdd_thread() * HDD_DIGITS + j];
            const u32 n = count;
            count = at;
            at += n;
        }
    }
    return mine;
}

// Where the tile's items of each digit go: behind those of the tiles before it, or (not `stable`) behind those of the
// tiles that asked earlier. base: where the digits' items go in all; the last tile says where those of the next sweep
// do. A block barrier before places are there.
HDD_DEVICE void hdd_radix_places(hdd_radix_tile &s, const hdd_radix_digits &mine, u32 tile, bool last, bool stable,
                                 u64 status, u32 since, u64 base)
{
    HDD_UNROLL
    for (u32 j = 0; j < HDD_DIGITS && hdd_has_digits(); j++) {
        const u32 d = hdd_thread() * HDD_DIGITS + j;
        u32 *const to = hdd_at<u32>(base) + d;
        u32 place;
        if (stable) {
            const u32 before = tile ? hdd_look_back(status, since, tile, d) : 0;
            if (tile)
                hdd_store_relaxed(hdd_told(status, tile, d), since | HDD_TOLD_SUM | (before + mine.count[j]));
            place = *to + before;
            if (last)
                to[HDD_RADIX] = place + mine.count[j];
        } else {
            place = mine.count[j] ? hdd_atomic_add(to, mine.count[j]) : 0;
        }
        s.place[d] = place - mine.begin[j];
    }
}

#endif
