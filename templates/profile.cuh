// What a warp did, for the profile: hdd_launch.profile is the address of a record per warp.
// Sources define HDD_PROFILE when they are emitted to be profiled; all others contain nothing
// of this, which took a fifth of the time that they take to compile. Whole warps call; lane 0
// counts.
#ifndef HDD_PROFILE_CUH
#define HDD_PROFILE_CUH

#include "hd/run.cuh"

HDD_DEVICE hdd_warp_profile *hdd_record(const hdd_run &run)
{
#ifdef HDD_PROFILE
    if (run.launch.profile && hdd_lane() == 0)
        return reinterpret_cast<hdd_warp_profile *>(run.launch.profile) + run.warp();
#else
    (void)run;
#endif
    return nullptr;
}

// Nobody else writes the record: an atomic, because its result is not waited for.
HDD_DEVICE void hdd_count_iterations(const hdd_run &run, u32 level, u32 visits, u32 idle)
{
    hdd_warp_profile *const r = hdd_record(run);
    if (!r)
        return;
    hdd_atomic_add(&r->visits[level], (u64)visits);
    hdd_atomic_add(&r->idle_lanes[level], (u64)idle);
}

// A warp iteration at a level with so many nodes.
HDD_DEVICE void hdd_count_visit(const hdd_run &run, u32 level, u64 nodes)
{
    hdd_count_iterations(run, level, 1, nodes < HDD_LANES ? HDD_LANES - (u32)nodes : 0);
}

// A tile whose predicate was evaluated; `rows` are left in the source from its first one on.
HDD_DEVICE void hdd_count_tile(const hdd_run &run, u32 levels, u64 rows)
{
    constexpr u32 per_lane = HDD_LANE_ROWS, slots = per_lane * HDD_LANES;
    hdd_count_iterations(run, levels, per_lane, rows < slots ? slots - (u32)rows : 0);
}

HDD_DEVICE void hdd_profile_begin(const hdd_run &run)
{
    hdd_warp_profile *const r = hdd_record(run);
    if (!r)
        return;
    r->begin = hdd_time();
    r->first = r->since = hdd_clock();
}

// From here on the warp waits.
HDD_DEVICE void hdd_profile_waits(const hdd_run &run)
{
    hdd_warp_profile *const r = hdd_record(run);
    if (!r)
        return;
    const u64 now = hdd_clock();
    r->busy += now - r->since;
    r->since = now;
    if (r->transitions < HDD_PROFILE_WAITS)
        r->waits[r->transitions][0] = now - r->first;
    r->transitions++;
}

HDD_DEVICE void hdd_count_donation(const hdd_run &run)
{
    hdd_warp_profile *const r = hdd_record(run);
    if (r)
        r->donated++;
}

HDD_DEVICE void hdd_count_received(const hdd_run &run, u32 pieces)
{
    hdd_warp_profile *const r = hdd_record(run);
    if (r)
        r->received += pieces;
}

// It got something to do, or it ends.
HDD_DEVICE void hdd_profile_works(const hdd_run &run, bool donation)
{
    hdd_warp_profile *const r = hdd_record(run);
    if (!r)
        return;
    const u64 now = hdd_clock();
    r->wait += now - r->since;
    r->since = now;
    if (r->transitions <= HDD_PROFILE_WAITS)
        r->waits[r->transitions - 1][1] = now - r->first;
    r->received += donation;
}

HDD_DEVICE void hdd_profile_end(const hdd_run &run)
{
    hdd_warp_profile *const r = hdd_record(run);
    if (!r)
        return;
    r->busy += hdd_clock() - r->since;
    r->end = hdd_time();
}

#endif
