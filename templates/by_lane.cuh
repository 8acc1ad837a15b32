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
    const u32 n = hdd_tile_rows(first, rows), at = first + (n ? hdd_lane() * HDD_TILE_ROWS : 0);
    const u32 alive = p.tile(at, n);
    HDD_NO_UNROLL
    for (u32 j = 0; j < HDD_TILE_ROWS; j++)
        if (hdd_any(alive >> j & 1))
            p.visit(hdd_level<0>(), (alive >> j & 1) != 0, at + j);
}

// Tiles come from the cursor, as hdd_scan has them, but in half of its code: visit(first, rows) for each, rows: of the
// source. Where several warps have a tile, that is all that they have. The abort word is looked at where tiles are taken:
// where the query stops, the kernel that makes the rows may have left some unwritten, so that not even the first tile is
// read. Whole warp.
template <class Pipeline, class Visit> HDD_DEVICE void hdd_each_tile(const Pipeline &p, Visit visit)
{
    const hdd_launch &launch = p.run.launch;
    const u64 rows = p.run.rows();
    const bool divided = Pipeline::levels > 1 && launch.parts != 0;
    const u32 batch = divided ? 1 : launch.tile_batch;
    HDD_NO_UNROLL
    for (bool more = p.run.warp() < launch.scan_warps; more; more = !divided) {
        const bool stopped = p.run.aborted(); // one wait for both
        u32 first = 0;
        if (divided)
            first = p.run.warp() / launch.parts * HDD_TILE;
        else if (hdd_lane() == 0)
            first = (u32)hdd_atomic_add(&p.run.progress->next_tile, (u64)batch) * HDD_TILE;
        first = hdd_shuffle(first, 0);
        if (hdd_any(stopped))
            return;
        HDD_NO_UNROLL
        for (u32 k = 0; k < batch; k++, first += HDD_TILE) {
            if (first >= rows)
                return;
            visit(first, rows);
        }
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
        const u32 n = hdd_min((u32)(rows - first), HDD_TILE);
        HDD_NO_UNROLL
        for (u32 at = 0; at < n; at += HDD_LANES) {
            p.scan.pending = n - at > HDD_LANES ? n - at - HDD_LANES : 0;
            p.visit(hdd_level<0>(), hdd_lane() < n - at, first + at + hdd_lane());
        }
    });
}

#endif
