// Groups that are slots of their table come to the front.
#include "hd/finish_keys.cuh"

// There are as many free rows among the first n as groups behind them: these move there. A warp takes a tile of rows at
// once: loads of a lane overlap, and a tile takes one addition to a count that all warps add to.
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

struct hdd_compact_tile {
    u64 first;
    u32 lanes[HDD_COMPACT_ROWS]; // bit l of word j: row j of lane l is one of those looked for
    u64 place; // among all that are found; those of a tile are numbered in their order

    // Looks for rows that have a group (`with`), or have none, and counts them at `found`. Whole warp.
    HDD_MEMBER hdd_compact_tile(const hdd_compact_args &p, u64 at, u64 end, bool with, u64 *found) : first(at), place(0)
    {
        u64 key[HDD_COMPACT_ROWS];
        u32 n = 0;
        HDD_UNROLL
        for (u32 j = 0; j < HDD_COMPACT_ROWS; j++)
            key[j] = row(j) < end ? *hdd_at<const u64>(p.rows + row(j) * p.stride) : (u64)!with;
        HDD_UNROLL
        for (u32 j = 0; j < HDD_COMPACT_ROWS; j++) {
            lanes[j] = hdd_ballot((key[j] != 0) == with);
            n += hdd_popc(lanes[j]);
        }
        if (n && hdd_lane() == 0)
            place = hdd_atomic_add(found, (u64)n);
        place = hdd_shuffle(place, 0);
    }

    HDD_MEMBER u64 row(u32 j) const
    {
        return first + j * HDD_LANES + hdd_lane();
    }

    // Calls what(j, place) for those of this lane.
    template <class What> HDD_MEMBER void each(What what) const
    {
        u64 at = place;
        HDD_UNROLL
        for (u32 j = 0; j < HDD_COMPACT_ROWS; j++) {
            if (lanes[j] >> hdd_lane() & 1)
                what(j, at + hdd_popc(lanes[j] & hdd_lanes_below()));
            at += hdd_popc(lanes[j]);
        }
    }
};

HDD_KERNEL(hdd_list_free)(HDD_PARAMETER(hdd_compact_args, p))
{
    for (u64 at = hdd_compact_first(); at < p.n; at += hdd_compact_step(p.blocks)) {
        const hdd_compact_tile tile(p, at, p.n, false, hdd_at<u64>(p.listed));
        tile.each([&](u32 j, u64 place) { hdd_at<u32>(p.list)[place] = (u32)tile.row(j); });
    }
}

HDD_KERNEL(hdd_fill_free)(HDD_PARAMETER(hdd_compact_args, p))
{
    for (u64 at = p.n + hdd_compact_first(); at < p.slots; at += hdd_compact_step(p.blocks)) {
        const hdd_compact_tile tile(p, at, p.slots, true, hdd_at<u64>(p.listed) + 1);
        u32 to[HDD_COMPACT_ROWS];
        tile.each([&](u32 j, u64 place) { to[j] = hdd_at<const u32>(p.list)[place]; });
        tile.each([&](u32 j, u64) {
            hdd_copy_words(hdd_at<u64>(p.rows + (u64)to[j] * p.stride),
                           hdd_at<const u64>(p.rows + tile.row(j) * p.stride), p.stride / 8);
        });
    }
}
