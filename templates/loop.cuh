// Loops over pairs: every row of the source with every row of a state. A thread holds rows of the
// source in registers; a row of the state is read once, by all lanes of a warp at the same address,
// for all of them. (Theta joins keep that tile in shared memory: theta-joins, section 4.3.2; here
// registers and the first-level cache take its place, and no block waits for another.)
//
// A task is a tile of the source, loop_rows rows for each lane, and a part of the state's rows. Tasks
// come from one cursor, tiles first, so that warps at work read the same part. To what straight.cuh
// asks for, a pipeline's class adds, in place of tile and visit,
//
//   enum { loop_rows }; pair_tuple
//   bool begin(bool live, bool counted, u32 row, pair_tuple &)    what the pairs of a row share
//   hdd_range others()                                            rows of the state
//   void pairs<whole>(const pair_tuple *, u32 alive, u32 first, u32 at)
//
// and, where pairs that pass its tests are few, visit(hdd_level<1>, ...) for those.
#ifndef HDD_LOOP_CUH
#define HDD_LOOP_CUH

#include "hd/straight.cuh"
#include "hd/range.cuh"

// Rows of the state in a task: enough to make up for reading the tile, few enough that the last
// tasks end together and that a look at the abort word comes often.
constexpr u32 HDD_LOOP_MAX = 4096, HDD_LOOP_MIN = 64, HDD_LOOP_TASKS = 8; // tasks per warp, at least

struct hdd_tasks {
    u64 n, tiles;
    u32 part; // rows of the state

    HDD_MEMBER hdd_tasks(const hdd_run &run, u32 tile, u32 others) : n(0), tiles(0), part(HDD_LOOP_MAX)
    {
        const u64 rows = run.launch.source_rows - run.launch.first_row;
        tiles = (rows + tile - 1) / tile;
        if (tiles == 0)
            return;
        const u64 parts = ((u64)run.launch.warps * HDD_LOOP_TASKS + tiles - 1) / tiles;
        const u64 even = (others + parts - 1) / parts;
        part = even < HDD_LOOP_MIN ? HDD_LOOP_MIN : even < HDD_LOOP_MAX ? (u32)even : HDD_LOOP_MAX;
        n = tiles * (((u64)others + part - 1) / part);
    }
};

// The next task; false: there is none, or the query stops.
HDD_DEVICE bool hdd_pop_task(const hdd_run &run, u64 n, u64 &task)
{
    bool stopped = false;
    u64 at = 0;
    if (hdd_lane() == 0) {
        at = hdd_atomic_add(&run.progress->next_tile, (u64)1);
        stopped = run.aborted();
    }
    task = hdd_shuffle(at, 0);
    return !hdd_shuffle(stopped, 0) && task < n;
}

// Pairs of one row of the state that passed the tests: bit j for the lane's row j.
template <class Pipeline> HDD_DEVICE void hdd_visit_pairs(Pipeline &p, u32 passed, u32 first, u32 at)
{
    while (hdd_any(passed != 0)) {
        const bool live = passed != 0;
        const u32 j = live ? hdd_lowest(passed) : 0;
        typename Pipeline::pair_tuple tuple = typename Pipeline::pair_tuple();
        p.begin(live, false, first + j * HDD_LANES + hdd_lane(), tuple);
        p.visit(hdd_level<1>(), live, at, tuple);
        passed &= passed - 1;
    }
}

template <bool whole, class Pipeline>
HDD_DEVICE void hdd_loop_over(Pipeline &p, const typename Pipeline::pair_tuple *mine, u32 alive, u32 first, u32 begin,
                              u32 end)
{
    HDD_UNROLL_4
    for (u32 at = begin; at < end; at++)
        p.template pairs<whole>(mine, alive, first, at);
}

template <class Pipeline> HDD_DEVICE void hdd_loop(Pipeline &p)
{
    constexpr u32 rows = Pipeline::loop_rows, tile = rows * HDD_LANES, all = (1u << rows) - 1;
    const hdd_range others = p.others();
    const hdd_tasks tasks(p.run, tile, others.n);
    hdd_profile_begin(p.run);
    for (u64 task; hdd_pop_task(p.run, tasks.n, task);) {
        typename Pipeline::pair_tuple mine[rows];
        const u32 part = (u32)(task / tasks.tiles), begin = part * tasks.part;
        const u32 end = hdd_min(begin + tasks.part, others.n);
        const u64 first = p.run.launch.first_row + (task - part * tasks.tiles) * tile;
        u32 alive = 0;
        HDD_UNROLL
        for (u32 j = 0; j < rows; j++) {
            const u64 row = first + j * HDD_LANES + hdd_lane();
            mine[j] = typename Pipeline::pair_tuple();
            alive |= (u32)p.begin(row < p.run.launch.source_rows, part == 0, (u32)row, mine[j]) << j;
        }
        hdd_count_iterations(p.run, 1, (end - begin) * rows, (end - begin) * (tile - hdd_warp_add(hdd_popc(alive))));
        if (!hdd_any(alive != all))
            hdd_loop_over<true>(p, mine, alive, (u32)first, others.begin + begin, others.begin + end);
        else if (hdd_any(alive != 0))
            hdd_loop_over<false>(p, mine, alive, (u32)first, others.begin + begin, others.begin + end);
    }
    hdd_profile_end(p.run);
}

#endif
