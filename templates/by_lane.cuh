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

// The rows of a tile of which some pass, each where it lies. The abort word is looked at where tiles are taken.
template <class Pipeline> HDD_DEVICE void hdd_by_lane(Pipeline &p)
{
    u32 first;
    if (p.run.launch.parts)
        p.scan.restrict_to(p, p.run.warp() / p.run.launch.parts);
    while (p.scan.pop_tile(p, first)) {
        const u32 n = hdd_tile_rows<Pipeline::lane_rows>(first, p.run.rows());
        const u32 at = first + (n ? hdd_lane() * hdd_tile_size<Pipeline>::lane : 0);
        const u32 alive = p.tile(at, n);
        HDD_NO_UNROLL
        for (u32 j = 0; j < hdd_tile_size<Pipeline>::lane; j++)
            if (hdd_any(alive >> j & 1))
                p.visit(hdd_level<0>(), (alive >> j & 1) != 0, at + j);
    }
}

#endif
