// Loops over pairs where a row of the source is settled by its first match, whose bit says so: semi, anti and mark joins.
// A row that has one is done, a warp leaves its task when all of its rows are, and rows that other tasks have settled
// are not begun. To what loop.cuh asks for, a pipeline's class adds
//
//   bool settled(u32 row) const    the bit as it is now: other warps set it too
#ifndef HDD_LOOP_FIRST_CUH
#define HDD_LOOP_FIRST_CUH

#include "hd/loop.cuh"

// A row that is done becomes a copy of one of the lane's that is not, so that tests need not ask which are. What copies
// find, and lanes without a row that is left, is dropped.
template <class Pipeline> HDD_DEVICE void hdd_stand_in(typename Pipeline::pair_tuple *mine, u32 open)
{
    typename Pipeline::pair_tuple other = mine[0];
    HDD_UNROLL
    for (u32 j = 1; j < Pipeline::loop_rows; j++)
        if (open >> j & 1)
            other = mine[j];
    HDD_UNROLL
    for (u32 j = 0; j < Pipeline::loop_rows; j++)
        if (!(open >> j & 1))
            mine[j] = other;
}

// One row of the state: rows that are open afterwards.
template <bool whole, class Pipeline>
HDD_DEVICE u32 hdd_settle(Pipeline &p, typename Pipeline::pair_tuple *mine, u32 open, u32 first, u32 at)
{
    const u32 passed = hdd_which_pass<whole, Pipeline::loop_rows>(p, mine, open, at) & open;
    if (!hdd_any(passed != 0))
        return open;
    hdd_wait(p, passed, first, at);
    hdd_stand_in<Pipeline>(mine, open & ~passed);
    return open & ~passed;
}

// A few neighbouring rows. Those of which some pair passes are tested again where tests are cheap (hdd_again).
template <bool whole, class Pipeline>
HDD_DEVICE u32 hdd_settle_few(Pipeline &p, hdd_again<true>, typename Pipeline::pair_tuple *mine, u32 open, u32 first,
                              u32 at)
{
    constexpr u32 most = hdd_tested_at_once<Pipeline>();
    bool some[most], any = false;
    u32 left = 0;
    HDD_UNROLL
    for (u32 k = 0; k < most; k++) {
        some[k] = hdd_some_pass<whole>(p, mine, open, at + k);
        any = any | some[k];
    }
    if (!hdd_any(any & (open != 0)))
        return open;
    HDD_UNROLL
    for (u32 k = 0; k < most; k++)
        left |= (u32)hdd_any(some[k]) << k;
    HDD_NO_UNROLL
    for (; left != 0; left &= left - 1)
        open = hdd_settle<whole>(p, mine, open, first, at + hdd_lowest(left));
    return open;
}

template <bool whole, class Pipeline>
HDD_DEVICE u32 hdd_settle_few(Pipeline &p, hdd_again<false>, typename Pipeline::pair_tuple *mine, u32 open, u32 first,
                              u32 at)
{
    constexpr u32 rows = Pipeline::loop_rows, most = hdd_tested_at_once<Pipeline>();
    u32 passed[most], settled = 0, all = 0;
    HDD_UNROLL
    for (u32 k = 0; k < most; k++)
        settled |= passed[k] = hdd_which_pass<whole, rows>(p, mine, open, at + k);
    settled &= open;
    if (!hdd_any(settled != 0))
        return open;
    HDD_UNROLL
    for (u32 k = 0; k < most; k++) {
        all |= (passed[k] & open) << k * rows;
        open &= ~passed[k];
    }
    hdd_wait(p, all, first, at);
    hdd_stand_in<Pipeline>(mine, open);
    return open;
}

// Until all rows of the warp are settled: rows of the state that were looked at.
template <bool whole, class Pipeline>
HDD_DEVICE u32 hdd_first_matches(Pipeline &p, hdd_bounded<false>, typename Pipeline::pair_tuple *mine, u32 &open,
                                 u32 first, u32 begin, u32 end)
{
    constexpr u32 most = hdd_tested_at_once<Pipeline>();
    u32 at = begin;
    for (; end - at >= most && hdd_any(open != 0); at += most)
        open = hdd_settle_few<whole>(p, hdd_again<Pipeline::again != 0>(), mine, open, first, at);
    HDD_NO_UNROLL
    for (; at < end && hdd_any(open != 0); at++)
        open = hdd_settle<whole>(p, mine, open, first, at);
    return at - begin;
}

// Bounds are those of the rows that are left.
template <bool whole, class Pipeline>
HDD_DEVICE u32 hdd_first_matches(Pipeline &p, hdd_bounded<true>, typename Pipeline::pair_tuple *mine, u32 &open,
                                 u32 first, u32 begin, u32 end)
{
    hdd_looks looks(begin, end);
    for (u32 from, to; hdd_any(open != 0) && looks.next(p, p.bounds(mine, open), from, to);)
        hdd_first_matches<whole>(p, hdd_bounded<false>(), mine, open, first, from, to);
    return looks.at - begin;
}

template <class Pipeline> HDD_DEVICE void hdd_loop_first(Pipeline &p)
{
    typedef hdd_bounded<Pipeline::bounded != 0> bounded;
    constexpr u32 rows = Pipeline::loop_rows, tile = rows * HDD_LANES;
    const hdd_range others = p.others();
    const hdd_tasks tasks(p.run, tile, others.n);
    hdd_profile_begin(p.run);
    for (u64 task; hdd_pop_task(p.run, tasks.n, task);) {
        typename Pipeline::pair_tuple mine[rows];
        const u32 part = (u32)(task / tasks.tiles), begin = others.begin + part * tasks.part;
        const u32 end = others.begin + hdd_min((part + 1) * tasks.part, others.n);
        const u64 first = p.run.launch.first_row + (task - part * tasks.tiles) * tile;
        u32 open = 0, n = 0;
        HDD_UNROLL
        for (u32 j = 0; j < rows; j++) {
            const u64 row = first + j * HDD_LANES + hdd_lane();
            bool live = row < p.run.launch.source_rows;
            if (live && part != 0) /* of the first part all are begun, as they count */
                live = !p.settled((u32)row);
            mine[j] = typename Pipeline::pair_tuple();
            open |= (u32)p.begin(live, part == 0, (u32)row, mine[j]) << j;
        }
        const u32 begun = hdd_warp_add(hdd_popc(open));
        hdd_stand_in<Pipeline>(mine, open);
        if (!hdd_any(open == 0))
            n = hdd_first_matches<true>(p, bounded(), mine, open, (u32)first, begin, end);
        else if (begun != 0)
            n = hdd_first_matches<false>(p, bounded(), mine, open, (u32)first, begin, end);
        hdd_count_iterations(p.run, 1, n * rows, n * (tile - begun));
    }
    if (p.waiting.n != 0)
        hdd_visit_waiting(p);
    hdd_profile_end(p.run);
}

#endif
