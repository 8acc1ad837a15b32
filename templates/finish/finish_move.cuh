// Moving keys of 64 bits to where their digit's keys go, a tile of them at a time, which a block keeps in registers and
// puts in order in shared memory (finish_digits.cuh).
#ifndef HDD_FINISH_MOVE_CUH
#define HDD_FINISH_MOVE_CUH

#include "hd/finish_digits.cuh"

static_assert(HDD_BLOCK == HDD_RADIX_THREADS, "blocks are as the host launches them");

constexpr u32 HDD_RADIX_BLOCKS = 3; // of a multiprocessor: 80 registers a thread, of which keys take 32 or 36

HDD_DEVICE u32 hdd_digit(const hdd_radix_args &p, u64 key)
{
    return (u32)(key >> p.shift) & p.mask;
}

// What is moved is what lies in memory. `numbered`: row numbers come along. each: items of a thread; with row numbers,
// which take registers, fewer.
template <bool with_numbers> struct hdd_plain_keys {
    static constexpr bool numbered = with_numbers;
    static constexpr u32 each = (numbered ? HDD_MOVE_ITEMS : HDD_MOVE_KEYS) / HDD_BLOCK, items = each * HDD_BLOCK;

    HDD_MEMBER u64 key_of(u64 word) const
    {
        return word;
    }

    HDD_MEMBER u64 word_of(u64 key) const
    {
        return key;
    }
};

struct hdd_radix_ranks {
    hdd_radix_counts counts;
    u32 lanes[HDD_WARPS][HDD_RADIX]; // of each warp that have a digit; zeros but while somebody asks
};

// Ranks are no longer needed when items lie side by side.
template <class Form> struct hdd_radix_shared {
    hdd_radix_tile tile;
    union {
        hdd_radix_ranks ranks;
        u64 stage[Form::items];
    };
};

// As hdd_radix_place: lanes with one digit meet in shared memory, which takes half as many instructions as a vote for each
// of its bits. Whole warp.
HDD_DEVICE u32 hdd_radix_place_met(u32 *next, u32 *lanes, u32 digit)
{
    hdd_atomic_or(lanes + digit, 1u << hdd_lane());
    hdd_warp_sync();
    const u32 same_lanes = lanes[digit];
    const u32 place = next[digit] + hdd_popc(same_lanes & hdd_lanes_below());
    hdd_warp_sync();
    if (!(same_lanes & ~hdd_lanes_upto())) {
        next[digit] = place + 1;
        lanes[digit] = 0;
    }
    hdd_warp_sync();
    return place;
}

// Item k of this thread in the tile: a warp's items lie side by side, so that places follow their order.
template <class Form> HDD_DEVICE u32 hdd_radix_item(u32 k)
{
    return hdd_warp() * Form::each * HDD_LANES + k * HDD_LANES + hdd_lane();
}

// What a thread has of a tile, in registers.
template <class Form> struct hdd_radix_items {
    u64 key[Form::each];
    u32 place[Form::each]; // of an item in the tile
};

// Behind the last item follow such with the last digit.
template <class Form> HDD_DEVICE void hdd_radix_load(hdd_radix_items<Form> &t, const Form &form, const u64 *from, u32 m)
{
    if (m == Form::items) {
        HDD_UNROLL
        for (u32 k = 0; k < Form::each; k++)
            t.key[k] = from[hdd_radix_item<Form>(k)];
    } else {
        HDD_UNROLL
        for (u32 k = 0; k < Form::each; k++)
            t.key[k] = hdd_radix_item<Form>(k) < m ? from[hdd_radix_item<Form>(k)] : 0;
    }
    HDD_UNROLL
    for (u32 k = 0; k < Form::each; k++)
        t.key[k] = form.key_of(t.key[k]);
    if (m != Form::items) {
        HDD_UNROLL
        for (u32 k = 0; k < Form::each; k++)
            t.key[k] = hdd_radix_item<Form>(k) < m ? t.key[k] : ~(u64)0;
    }
}

// Row numbers take the way of their keys through the same memory: place i of the tile goes to to[i]. Whole block.
template <class Form>
HDD_DEVICE void hdd_radix_write_rows(hdd_radix_shared<Form> &s, const hdd_radix_args &p, const hdd_radix_items<Form> &t,
                                     const u32 (&to)[Form::each], u64 start, u32 m)
{
    u32 *const rows = reinterpret_cast<u32 *>(s.stage);
    hdd_block_sync();
    HDD_UNROLL
    for (u32 k = 0; k < Form::each; k++) {
        const u32 i = hdd_radix_item<Form>(k);
        if (i < m)
            rows[t.place[k]] = p.from_rows ? hdd_at<const u32>(p.from_rows)[start + i] : (u32)(p.first + start + i);
    }
    hdd_block_sync();
    HDD_UNROLL
    for (u32 k = 0; k < Form::each; k++) {
        const u32 i = k * HDD_BLOCK + hdd_thread();
        if (i < m)
            hdd_at<u32>(p.to_rows)[to[k]] = rows[i];
    }
}

// Keys lie by their digit in shared memory, so that writes to memory are of whole runs. Whole block.
template <class Form>
HDD_DEVICE void hdd_radix_write(hdd_radix_shared<Form> &s, const hdd_radix_args &p, const Form &form,
                                const hdd_radix_items<Form> &t, u64 start, u32 m)
{
    u32 to[Form::each];
    HDD_UNROLL
    for (u32 k = 0; k < Form::each; k++) {
        const u32 i = k * HDD_BLOCK + hdd_thread();
        const u64 key = s.stage[i];
        to[k] = i + s.tile.place[hdd_digit(p, key)];
        if (i < m)
            hdd_at<u64>(p.to)[to[k]] = form.word_of(key);
    }
    if (Form::numbered)
        hdd_radix_write_rows(s, p, t, to, start, m);
}

// Places of items in the tile, as their digits begin there. Whole warp.
template <class Form>
HDD_DEVICE void hdd_radix_rank(hdd_radix_shared<Form> &s, const hdd_radix_args &p, hdd_radix_items<Form> &t)
{
    u32 *const next = s.ranks.counts.warp[hdd_warp()], *const lanes = s.ranks.lanes[hdd_warp()];
    HDD_UNROLL
    for (u32 k = 0; k < Form::each; k++) {
        const u32 digit = hdd_digit(p, t.key[k]);
        t.place[k] = Form::numbered ? hdd_radix_place(next, digit) : hdd_radix_place_met(next, lanes, digit);
    }
}

// Items of each digit in a tile. Whole block; a block barrier before they are there.
template <class Form>
HDD_DEVICE void hdd_radix_count_tile(hdd_radix_shared<Form> &s, const hdd_radix_args &p, const hdd_radix_items<Form> &t)
{
    u32 *const counts = s.ranks.counts.warp[hdd_warp()];
    hdd_radix_clear(counts);
    if (!Form::numbered)
        hdd_radix_clear(s.ranks.lanes[hdd_warp()]);
    hdd_warp_sync();
    HDD_UNROLL
    for (u32 k = 0; k < Form::each; k++)
        hdd_atomic_add(counts + hdd_digit(p, t.key[k]), 1u);
}

// The whole grid. Where the tile's digits go in all is asked as late as can be: the fewer of the tiles before it have no
// sums yet, the fewer are looked at. With row numbers, for which registers are short, it is not.
template <class Form>
HDD_DEVICE void hdd_radix_move_tiles(hdd_radix_shared<Form> &s, const hdd_radix_args &p, const Form &form)
{
    const u32 tiles = (u32)((p.n + Form::items - 1) / Form::items);
    for (;;) {
        const u32 tile = hdd_take_tile(s.tile, p.next);
        if (tile >= tiles)
            return;
        const bool last = tile + 1 == tiles;
        const u64 start = (u64)tile * Form::items, left = p.n - start;
        const u32 m = left < Form::items ? (u32)left : Form::items;
        hdd_radix_items<Form> t;
        hdd_radix_load(t, form, hdd_at<const u64>(p.from) + start, m);
        hdd_radix_count_tile<Form>(s, p, t);
        hdd_block_sync();
        // The tiles behind this one know its counts before it needs those of the tiles before it.
        const hdd_radix_digits mine =
            hdd_radix_begins(s.tile, s.ranks.counts, tile, true, p.status, p.since, Form::items - m, p.mask);
        hdd_block_sync();
        hdd_radix_rank<Form>(s, p, t);
        if (Form::numbered)
            hdd_radix_places(s.tile, mine, tile, last, true, p.status, p.since, p.base);
        hdd_block_sync();
        HDD_UNROLL
        for (u32 k = 0; k < Form::each; k++)
            s.stage[t.place[k]] = t.key[k];
        if (!Form::numbered)
            hdd_radix_places(s.tile, mine, tile, last, true, p.status, p.since, p.base);
        hdd_block_sync();
        hdd_radix_write(s, p, form, t, start, m);
        hdd_block_sync();
    }
}

#endif
