// The shapes of a kernel. A pipeline is a class, emitted per plan, with
//
//   enum { levels, tile_steps, lane_rows }    steps that tile() does, and of how many rows a lane
//   hdd_run run; hdd_scan scan;
//   u32 tile(u32 first, u32 n)                rows of this lane that pass the cheap predicate
//   void visit(hdd_level<0>, bool live, u32 row)
//
// visit is called by whole warps, live or not, and feeds the sink. Block-wide flushes come after
// the traversal. Here are pipelines without expansion; traverse.cuh has those with levels.
#ifndef HDD_STRAIGHT_CUH
#define HDD_STRAIGHT_CUH

#include "hd/scan.cuh"

// False: there was none.
template <class Pipeline> HDD_DEVICE bool hdd_visit_scan(Pipeline &p)
{
    u32 row = 0;
    const u32 n = p.scan.next(p, hdd_worth_a_visit(p.run), row);
    if (n == 0)
        return false;
    hdd_count_visit(p.run, 0, n);
    p.visit(hdd_level<0>(), hdd_lane() < n, row);
    return true;
}

// The rows of a tile that none was filtered from: there is nothing to line up.
template <class Pipeline> HDD_DEVICE void hdd_visit_tile(Pipeline &p, u32 first)
{
    constexpr u32 rows = hdd_tile_size<Pipeline>::warp;
    const u32 n = hdd_min(p.scan.rows - first, rows);
    HDD_NO_UNROLL
    for (u32 at = 0; at < n; at += HDD_LANES) {
        hdd_count_visit(p.run, 0, n - at);
        p.scan.pending = n - at > HDD_LANES ? n - at - HDD_LANES : 0;
        p.visit(hdd_level<0>(), hdd_lane() < n - at, first + at + hdd_lane());
    }
}

// No expansion: tile after tile, 32 survivors at a time. The abort word is looked at where
// tiles are taken.
template <class Pipeline> HDD_DEVICE void hdd_straight(Pipeline &p)
{
    hdd_profile_begin(p.run);
    while (hdd_visit_scan(p)) {
    }
    hdd_profile_end(p.run);
}

// Of a tile most rows pass: they are visited where they lie, 32 neighbours at a time. Lining them up takes some 200
// instructions for as many, lanes that idle a part of a visit.
template <class Pipeline> HDD_DEVICE void hdd_visit_most(Pipeline &p, u32 first)
{
    constexpr u32 of_lane = hdd_tile_size<Pipeline>::lane;
    const u32 n = hdd_tile_rows<of_lane>(first, p.scan.rows);
    const u32 alive = p.tile(first + (n ? hdd_lane() * of_lane : 0), n);
    hdd_count_tile(p.run, Pipeline::levels, p.scan.rows - first);
    HDD_NO_UNROLL
    for (u32 k = 0; k < of_lane; k++) {
        const u32 at = k * HDD_LANES + hdd_lane(); // of the tile's rows
        const bool live = (hdd_shuffle(alive, at / of_lane) >> at % of_lane & 1) != 0;
        const u32 lanes = hdd_ballot(live);
        if (!lanes)
            continue;
        hdd_count_visit(p.run, 0, hdd_popc(lanes));
        p.visit(hdd_level<0>(), live, first + at);
    }
}

template <class Pipeline> HDD_DEVICE void hdd_most_rows(Pipeline &p)
{
    u32 first;
    hdd_profile_begin(p.run);
    while (p.scan.pop_tile(p, first))
        hdd_visit_most(p, first);
    hdd_profile_end(p.run);
}

// The same without a tile().
template <class Pipeline> HDD_DEVICE void hdd_all_rows(Pipeline &p)
{
    u32 first;
    hdd_profile_begin(p.run);
    while (p.scan.pop_tile(p, first))
        hdd_visit_tile(p, first);
    hdd_profile_end(p.run);
}

// No expansion, no survivors in line: every row of a tile goes from its loads to the sink where
// it is. In place of tile and visit the pipeline has
//
//   void rows(u32 first, u32 n)               this lane's rows; warp operations before and behind them alone
//
// Where most rows survive, lining them up costs more than the lanes that idle.
template <class Pipeline> HDD_DEVICE void hdd_in_place(Pipeline &p)
{
    u32 first;
    hdd_profile_begin(p.run);
    while (p.scan.pop_tile(p, first)) {
        const u32 n = hdd_tile_rows<HDD_TILE_ROWS>(first, p.scan.rows);
        hdd_count_tile(p.run, Pipeline::levels, p.scan.rows - first);
        p.rows(first + (n ? hdd_lane() * HDD_TILE_ROWS : 0), n);
    }
    hdd_profile_end(p.run);
}

#endif
