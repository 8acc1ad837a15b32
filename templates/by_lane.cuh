// Kernels of a first tier (planner/first_tier.c): few instructions in place of balance, because what counts is how long a
// compiler takes. A lane visits its row of a tile, then the children of that, one after the other, and below each of these
// the next level's; lanes of the warp that have none wait. Loops stay loops.
#ifndef HDD_BY_LANE_CUH
#define HDD_BY_LANE_CUH

#include "hd/straight.cuh"

// The children of this lane's row; of a row of the source this warp's part, where several warps have its tile. Whole
// warp.
template <class Pipeline, int L, class Tuple>
HDD_DEVICE void hdd_visit_children(Pipeline &p, hdd_level<L> level, hdd_range r, const Tuple &t)
{
    const bool divided = L == 1 && p.run.launch.parts != 0;
    const u32 step = divided ? p.run.launch.parts : 1;
    HDD_NO_UNROLL
    for (u32 i = divided ? p.run.part() : 0; hdd_any(i < r.n); i += step)
        p.visit(level, i < r.n, r.begin + i, t);
}

// Of a tile, the rows of which some pass, each where it lies.
template <class Pipeline> HDD_DEVICE void hdd_visit_lanes(Pipeline &p, u32 first, u64 rows)
{
    constexpr u32 of_lane = hdd_tile_size<Pipeline>::lane;
    const u32 n = hdd_tile_rows<of_lane>(first, (u32)rows), at = first + (n ? hdd_lane() * of_lane : 0);
    const u32 alive = p.tile(at, n);
    HDD_NO_UNROLL
    for (u32 j = 0; j < of_lane; j++)
        if (hdd_any(alive >> j & 1))
            p.visit(hdd_level<0>(), (alive >> j & 1) != 0, at + j);
}

// Batches of tiles go to warps by turns, which takes a fraction of hdd_scan's code; what was taken is counted for the host:
// visit(first, rows) for each tile, rows: of the source. Where several warps have a tile, that is all that they have. The
// abort word is looked at before each batch: where the query stops, the kernel that makes the rows may have left some
// unwritten, so that not even the first tile is read. Whole warp.
template <class Pipeline, class Visit> HDD_DEVICE void hdd_each_tile(const Pipeline &p, Visit visit)
{
    constexpr u32 tile = hdd_tile_size<Pipeline>::warp;
    const hdd_launch &launch = p.run.launch;
    const u64 rows = p.run.rows();
    const bool divided = Pipeline::levels > 1 && launch.parts != 0;
    const u32 rank = hdd_scan::rank(p.run), batch = divided ? 1 : 1u << launch.batch_bits;
    u64 first = divided ? (u64)(p.run.warp() / launch.parts) * tile : launch.first_row + (u64)rank * batch * tile;
    HDD_NO_UNROLL
    for (bool more = rank < launch.scan_warps; more && first < rows; more = !divided) {
        if (hdd_any(p.run.aborted()))
            return;
        if (hdd_lane() == 0)
            hdd_atomic_add(&reinterpret_cast<hdd_cursor *>(launch.cursors)[rank & (launch.ncursors - 1)].taken, 1u);
        HDD_NO_UNROLL
        for (u32 k = 0; k < batch && first + (u64)k * tile < rows; k++)
            visit((u32)first + k * tile, rows);
        first += (u64)launch.scan_warps * batch * tile;
    }
}

template <class Pipeline> HDD_DEVICE void hdd_by_lane(Pipeline &p)
{
    hdd_each_tile(p, [&](u32 first, u64 rows) { hdd_visit_lanes(p, first, rows); });
}

// hdd_all_rows: lanes have neighbours, because there is nothing to filter.
template <class Pipeline> HDD_DEVICE void hdd_all_by_lane(Pipeline &p)
{
    hdd_each_tile(p, [&](u32 first, u64 rows) {
        const u32 n = hdd_min((u32)(rows - first), (u32)hdd_tile_size<Pipeline>::warp);
        HDD_NO_UNROLL
        for (u32 at = 0; at < n; at += HDD_LANES) {
            p.scan.pending = n - at > HDD_LANES ? n - at - HDD_LANES : 0;
            p.visit(hdd_level<0>(), hdd_lane() < n - at, first + at + hdd_lane());
        }
    });
}

#endif
