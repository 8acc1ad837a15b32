// Loops over pairs: every row of the source with every row of a state. A thread holds rows of the
// source in registers; a row of the state is read once, by all lanes of a warp at the same address,
// for all of them. (Theta joins keep that tile in shared memory: theta-joins, section 4.3.2; here
// registers and the first-level cache take its place, and no block waits for another.)
//
// A task is a tile of the source, loop_rows rows for each lane, and a part of the state's rows. Tasks
// come from one cursor, tiles first, so that warps at work read the same part. Where rows meet those
// behind them alone, pairs of the rows of one state, a part comes with the tiles that begin before its
// end: tasks are the places of a triangle, each as much work as any other but those on its edge. To
// what straight.cuh asks for, a pipeline's class adds, in place of tile and visit,
//
//   enum { loop_rows, fused, again, bounded }; pair_tuple
//   bool begin(bool live, bool counted, u32 row, pair_tuple &)    what the pairs of a row share
//   hdd_range others()                                            rows of the state
//   void pairs<whole>(const pair_tuple *, u32 alive, u32 at)
//
// and after_task(), if something is to be done between tasks. Where it is not fused, pairs are tested first, as those
// that pass are few: pairs<whole, rows>(..., passed) says which did (hdd_which, hdd_some), they wait in shared memory
// until a warp has one for each lane (hdd_waiting waiting), and visit(hdd_level<1>, ...) takes them.
#ifndef HDD_LOOP_CUH
#define HDD_LOOP_CUH

#include "hd/straight.cuh"
#include "hd/range.cuh"
#include "hd/loop_bound.cuh"

// Rows of the state in a task: enough to make up for reading the tile, few enough that the last
// tasks end together and that a look at the abort word comes often.
constexpr u32 HDD_LOOP_MAX = HDD_LOOP_PART, HDD_LOOP_MIN = 64, HDD_LOOP_TASKS = 8; // tasks per warp, at least
static_assert(HDD_LOOP_MAX % 4 == 0 && HDD_LOOP_MIN % 4 == 0, "runs of rows that are tested at once");

struct hdd_tasks {
    u64 n, tiles;
    u32 part; // rows of the state, whole runs of four

    HDD_MEMBER hdd_tasks(const hdd_run &run, u32 tile, u32 others) : n(0), tiles(0), part(HDD_LOOP_MAX)
    {
        const u64 rows = run.launch.source_rows - run.launch.first_row;
        tiles = (rows + tile - 1) / tile;
        if (tiles == 0)
            return;
        const u64 parts = ((u64)run.launch.warps * HDD_LOOP_TASKS + tiles - 1) / tiles;
        const u64 even = (others + parts - 1) / parts;
        part = even < HDD_LOOP_MIN ? HDD_LOOP_MIN : even < HDD_LOOP_MAX ? (u32)(even + 3) & ~3u : HDD_LOOP_MAX;
        n = tiles * (((u64)others + part - 1) / part);
    }
};

// The same where rows meet those behind them alone. Parts begin with the source's first row, each of `span` tiles; as
// long as there are tiles behind a part's end, part p has span * (p + 1) of them, and from part `slanted` on all.
struct hdd_later_tasks {
    u64 n, tiles, slanted;
    u32 part, span;

    HDD_MEMBER hdd_later_tasks(const hdd_run &run, u32 tile, u32 others) : n(0), tiles(0), slanted(0), part(0), span(1)
    {
        const u64 rows = run.launch.source_rows - run.launch.first_row, behind = others - run.launch.first_row;
        tiles = (rows + tile - 1) / tile;
        if (tiles == 0)
            return;
        const u64 even = tiles * (behind / tile) / ((u64)run.launch.warps * HDD_LOOP_TASKS * 2) + 1;
        span = (u32)hdd_min(even, (u64)(HDD_LOOP_MAX / tile));
        part = span * tile;
        slanted = tiles / span;
        n = before(slanted) + ((behind + part - 1) / part - slanted) * tiles;
    }

    // Tasks of the parts before p, which is at most `slanted`.
    HDD_MEMBER u64 before(u64 p) const
    {
        return span * (p * (p + 1) / 2);
    }

    // Part and tile of a task; the root of so small a number tells the part, or one beside it.
    HDD_MEMBER u64 find(u64 task, u64 &tile) const
    {
        u64 p = slanted;
        if (task >= before(slanted)) {
            p += (task - before(slanted)) / tiles;
            tile = (task - before(slanted)) % tiles;
            return p;
        }
        p = (u64)((hdd_sqrt(8.0 * (f64)(task / span) + 1) - 1) / 2);
        while (p > 0 && before(p) > task)
            p--;
        while (before(p + 1) <= task)
            p++;
        tile = task - before(p);
        return p;
    }
};

// The next task; false: there is none, or the query stops.
HDD_DEVICE bool hdd_pop_task(const hdd_run &run, u64 n, u64 &task)
{
    bool stopped = false;
    u64 at = 0;
    if (hdd_lane() == 0) {
        at = hdd_atomic_add(&run.progress->next_task, (u64)1);
        stopped = run.aborted();
    }
    task = hdd_shuffle(at, 0);
    return !hdd_shuffle(stopped, 0) && task < n;
}

// ---- pairs that passed ---------------------------------------------------------------------

// A warp's pairs that passed the tests and wait until there is one for each lane.
constexpr u32 HDD_WAITING = HDD_LOOP_WAITING;

struct hdd_waiting_memory {
    u32 row[HDD_WARPS][HDD_WAITING], at[HDD_WARPS][HDD_WAITING];
};

struct hdd_waiting {
    u32 *const row;
    u32 *const at; // row of the state
    u32 n;

    HDD_MEMBER explicit hdd_waiting(hdd_waiting_memory &m) : row(m.row[hdd_warp()]), at(m.at[hdd_warp()]), n(0)
    {
    }

    // One of each lane that has one. Whole warp.
    HDD_MEMBER void add(bool has, u32 its_row, u32 its_at)
    {
        const u32 lanes = hdd_ballot(has), place = n + hdd_popc(lanes & hdd_lanes_below());
        if (has) {
            row[place] = its_row;
            at[place] = its_at;
        }
        n += hdd_popc(lanes);
        hdd_warp_sync();
    }
};

// One pair of each lane that has one, of row `row` of the source. Whole warp.
template <class Pipeline> HDD_DEVICE void hdd_visit_pair(Pipeline &p, bool has, u32 row, u32 at)
{
    typename Pipeline::pair_tuple tuple = typename Pipeline::pair_tuple();
    const bool begun = p.begin(has, false, row, tuple);
    p.visit(hdd_level<1>(), begun, at, tuple);
}

// The last ones that wait, one for each lane as long as there are.
HDD_DEVICE bool hdd_take_waiting(hdd_waiting &waiting, u32 &row, u32 &at)
{
    const u32 count = hdd_min(waiting.n, HDD_LANES), from = waiting.n - count;
    const bool live = hdd_lane() < count;
    row = live ? waiting.row[from + hdd_lane()] : 0;
    at = live ? waiting.at[from + hdd_lane()] : 0;
    hdd_warp_sync();
    waiting.n = from;
    return live;
}

template <class Pipeline> HDD_DEVICE void hdd_visit_waiting(Pipeline &p)
{
    u32 row, at;
    const bool live = hdd_take_waiting(p.waiting, row, at);
    hdd_visit_pair(p, live, row, at);
}

// ---- tests ---------------------------------------------------------------------------------

// Which of a row of the state's pairs pass: bit j for the lane's row j.
struct hdd_which {
    u32 bits;

    HDD_MEMBER hdd_which() : bits(0)
    {
    }

    HDD_MEMBER void add(bool live, u32 one, u32 j)
    {
        if (live)
            hdd_plus(bits, one << j);
    }
};

// Whether any does: a comparison says so together with what others said before it.
struct hdd_some {
    bool any;

    HDD_MEMBER hdd_some() : any(false)
    {
    }

    HDD_MEMBER void add(bool live, u32, u32)
    {
        any = any | live;
    }
};

template <bool whole, u32 rows, class Pipeline, class... Bounds>
HDD_DEVICE u32 hdd_which_pass(Pipeline &p, const typename Pipeline::pair_tuple *mine, u32 alive, u32 at,
                              const Bounds *...bounds)
{
    hdd_which passed;
    p.template pairs<whole, rows>(mine, bounds..., alive, at, passed);
    return passed.bits;
}

template <bool whole, class Pipeline>
HDD_DEVICE bool hdd_some_pass(Pipeline &p, const typename Pipeline::pair_tuple *mine, u32 alive, u32 at)
{
    hdd_some passed;
    p.template pairs<whole, Pipeline::loop_rows>(mine, alive, at, passed);
    return passed.any;
}

// Rows of the state that are tested before anybody looks at which pairs passed: their bits fit a word.
template <class Pipeline> HDD_DEVICE constexpr u32 hdd_tested_at_once()
{
    return 32 / (u32)Pipeline::loop_rows < 4 ? 32 / (u32)Pipeline::loop_rows : 4;
}

// Pairs of neighbouring rows of the state that passed the tests: bit j of each loop_rows for the lane's row j.
template <class Pipeline> HDD_DEVICE void hdd_wait(Pipeline &p, u32 passed, u32 first, u32 at)
{
    constexpr u32 rows = Pipeline::loop_rows;
    while (hdd_any(passed != 0)) {
        const bool has = passed != 0;
        const u32 bit = has ? hdd_lowest(passed) : 0;
        p.waiting.add(has, first + bit % rows * HDD_LANES + hdd_lane(), at + bit / rows);
        passed &= passed - 1;
        if (p.waiting.n >= HDD_LANES)
            hdd_visit_waiting(p);
    }
}

// ---- tests that are done again -------------------------------------------------------------

// Which pairs pass costs an instruction for each beside its test, whether one does costs none. So where a test is
// little more than that, lanes wait that found something among a few rows of the state, not pairs; who takes one up
// tests its pairs again.
template <bool> struct hdd_again {
};

// Beside lanes that found something, pairs of rows of the state that come alone wait: `at` says so.
constexpr u32 HDD_ALONE = 1u << 31;

// The rows of the state that waiting lanes, from the row of the source in `row` on, looked at: visits what passes.
template <class Pipeline> HDD_DEVICE void hdd_visit_again(Pipeline &p)
{
    constexpr u32 rows = Pipeline::loop_rows, most = hdd_tested_at_once<Pipeline>();
    const u32 end = p.others().begin + p.others().n;
    u32 first, at, passed = 0;
    bool live = hdd_take_waiting(p.waiting, first, at);
    if (at & HDD_ALONE) {
        at -= HDD_ALONE;
        passed = live;
        live = false;
    }
    HDD_NO_UNROLL
    for (u32 j = hdd_any(live) ? 0 : rows; j < rows; j++) {
        const u64 row = (u64)first + j * HDD_LANES;
        typename Pipeline::pair_tuple tuple = typename Pipeline::pair_tuple();
        const u32 begun = p.begin(live && row < p.run.launch.source_rows, false, (u32)row, tuple);
        HDD_UNROLL
        for (u32 k = 0; k < most; k++)
            passed |= hdd_which_pass<false, 1>(p, &tuple, begun & (u32)(at + k < end), at + k < end ? at + k : at)
                      << (k * rows + j);
    }
    while (hdd_any(passed != 0)) {
        const bool has = passed != 0;
        const u32 bit = has ? hdd_lowest(passed) : 0;
        hdd_visit_pair(p, has, first + bit % rows * HDD_LANES, at + bit / rows);
        passed &= passed - 1;
    }
}

// Lanes that found something among rows of the state from `at` on, bit 0; or, with HDD_ALONE, pairs of one row, bit j for
// the lane's row j.
template <class Pipeline> HDD_DEVICE void hdd_wait_again(Pipeline &p, u32 left, u32 first, u32 at)
{
    while (hdd_any(left != 0)) {
        const bool has = left != 0;
        p.waiting.add(has, first + (has ? hdd_lowest(left) : 0) * HDD_LANES + hdd_lane(), at);
        left &= left - 1;
        if (p.waiting.n >= HDD_LANES)
            hdd_visit_again(p);
    }
}

template <bool whole, class Pipeline>
HDD_DEVICE void hdd_test_all(Pipeline &p, hdd_again<true>, const typename Pipeline::pair_tuple *mine, u32 alive,
                             u32 first, u32 begin, u32 end)
{
    constexpr u32 rows = Pipeline::loop_rows, most = hdd_tested_at_once<Pipeline>();
    for (u32 at = begin; at < end;) {
        const bool alone = end - at < most;
        u32 left;
        if (alone) {
            left = hdd_which_pass<whole, rows>(p, mine, alive, at);
        } else {
            bool any = false;
            HDD_UNROLL
            for (u32 k = 0; k < most; k++)
                any = any | hdd_some_pass<whole>(p, mine, alive, at + k);
            left = any;
        }
        hdd_wait_again(p, left, first, alone ? at | HDD_ALONE : at);
        at += alone ? 1 : most;
    }
}

// ---- tests that are done once --------------------------------------------------------------

template <bool whole, class Pipeline, class... Bounds>
HDD_DEVICE void hdd_test_all(Pipeline &p, hdd_again<false>, const typename Pipeline::pair_tuple *mine, u32 alive,
                             u32 first, u32 begin, u32 end, const Bounds *...bounds)
{
    constexpr u32 rows = Pipeline::loop_rows, most = hdd_tested_at_once<Pipeline>();
    u32 at = begin;
    for (; end - at >= most; at += most) {
        u32 passed[most], any = 0, all = 0;
        HDD_UNROLL
        for (u32 k = 0; k < most; k++)
            any |= passed[k] = hdd_which_pass<whole, rows>(p, mine, alive, at + k, bounds...);
        if (!hdd_any(any != 0))
            continue;
        HDD_UNROLL
        for (u32 k = 0; k < most; k++)
            all |= passed[k] << k * rows;
        hdd_wait(p, all, first, at);
    }
    HDD_NO_UNROLL
    for (; at < end; at++)
        hdd_wait(p, hdd_which_pass<whole, rows>(p, mine, alive, at, bounds...), first, at);
}

// ---- tasks ---------------------------------------------------------------------------------

template <bool> struct hdd_fused {
};

// Pairs go to the sink where they are.
template <bool whole, class Pipeline>
HDD_DEVICE void hdd_loop_over(Pipeline &p, const typename Pipeline::pair_tuple *mine, u32 alive, u32, u32 begin,
                              u32 end, hdd_fused<true>)
{
    HDD_UNROLL_4
    for (u32 at = begin; at < end; at++)
        p.template pairs<whole>(mine, alive, at);
}

template <bool whole, class Pipeline>
HDD_DEVICE void hdd_loop_over(Pipeline &p, const typename Pipeline::pair_tuple *mine, u32 alive, u32 first, u32 begin,
                              u32 end, hdd_fused<false>)
{
    hdd_test_all<whole>(p, hdd_again<Pipeline::again != 0>(), mine, alive, first, begin, end);
}

// One row of the state, of the tile itself.
template <class Pipeline>
HDD_DEVICE void hdd_loop_at(Pipeline &p, const typename Pipeline::pair_tuple *mine, u32 alive, u32, u32 at,
                            hdd_fused<true>)
{
    p.template pairs<false>(mine, alive, at);
}

template <class Pipeline>
HDD_DEVICE void hdd_loop_at(Pipeline &p, const typename Pipeline::pair_tuple *mine, u32 alive, u32 first, u32 at,
                            hdd_fused<false>)
{
    hdd_wait(p, hdd_which_pass<false, Pipeline::loop_rows>(p, mine, alive, at), first, at);
}

// The rows of a part, or those of them that bounds leave.
template <bool whole, class Pipeline>
HDD_DEVICE void hdd_loop_part(Pipeline &p, const typename Pipeline::pair_tuple *mine, u32 alive, u32 first, u32 begin,
                              u32 end, hdd_bounded<false>)
{
    hdd_loop_over<whole>(p, mine, alive, first, begin, end, hdd_fused<Pipeline::fused != 0>());
}

template <bool whole, class Pipeline>
HDD_DEVICE void hdd_loop_part(Pipeline &p, const typename Pipeline::pair_tuple *mine, u32 alive, u32 first, u32 begin,
                              u32 end, hdd_bounded<true>)
{
    const typename Pipeline::pair_bounds bounds = p.bounds(mine, alive);
    hdd_looks looks(begin, end);
    for (u32 from, to; looks.next(p, bounds, from, to);)
        hdd_loop_over<whole>(p, mine, alive, first, from, to, hdd_fused<Pipeline::fused != 0>());
}

// Before a warp ends.
template <class Pipeline> HDD_DEVICE void hdd_end_loop(Pipeline &, hdd_fused<true>)
{
}

template <class Pipeline> HDD_DEVICE void hdd_visit_rest(Pipeline &p, hdd_again<true>)
{
    hdd_visit_again(p);
}

template <class Pipeline> HDD_DEVICE void hdd_visit_rest(Pipeline &p, hdd_again<false>)
{
    hdd_visit_waiting(p);
}

template <class Pipeline> HDD_DEVICE void hdd_end_loop(Pipeline &p, hdd_fused<false>)
{
    if (p.waiting.n != 0)
        hdd_visit_rest(p, hdd_again<Pipeline::again != 0>());
}

// What a pipeline has to do between tasks, if it has.
template <class Pipeline> HDD_DEVICE auto hdd_after_task(Pipeline &p, int) -> decltype(p.after_task())
{
    p.after_task();
}

template <class Pipeline> HDD_DEVICE void hdd_after_task(Pipeline &, long)
{
}

template <class Pipeline> HDD_DEVICE void hdd_loop(Pipeline &p)
{
    typedef hdd_fused<Pipeline::fused != 0> fused;
    typedef hdd_bounded<Pipeline::bounded != 0> bounded;
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
            hdd_loop_part<true>(p, mine, alive, (u32)first, others.begin + begin, others.begin + end, bounded());
        else if (hdd_any(alive != 0))
            hdd_loop_part<false>(p, mine, alive, (u32)first, others.begin + begin, others.begin + end, bounded());
        hdd_after_task(p, 0);
    }
    hdd_end_loop(p, fused());
    hdd_profile_end(p.run);
}

// Of the lane's rows that are alive those that stand before row `at` of their tile.
HDD_DEVICE u32 hdd_earlier(u32 alive, u32 at)
{
    const u32 lane = hdd_lane(), n = at > lane ? (at - lane + HDD_LANES - 1) / HDD_LANES : 0;
    return alive & ((1u << n) - 1);
}

template <class Pipeline> HDD_DEVICE void hdd_loop_later(Pipeline &p)
{
    typedef hdd_fused<Pipeline::fused != 0> fused;
    typedef hdd_bounded<Pipeline::bounded != 0> bounded;
    constexpr u32 rows = Pipeline::loop_rows, tile = rows * HDD_LANES, all = (1u << rows) - 1;
    const u32 n = p.others().n, from = (u32)p.run.launch.first_row;
    const hdd_later_tasks tasks(p.run, tile, n);
    hdd_profile_begin(p.run);
    for (u64 task; hdd_pop_task(p.run, tasks.n, task);) {
        typename Pipeline::pair_tuple mine[rows];
        u64 place = 0;
        const u64 part = tasks.find(task, place);
        const bool own = place / tasks.span == part; // the tile is in the part, which may begin before it
        const u32 first = from + (u32)place * tile, end = hdd_min(from + (u32)(part + 1) * tasks.part, n);
        const u32 inside = hdd_min(first + tile, end), begin = own ? inside : from + (u32)part * tasks.part;
        u32 alive = 0;
        HDD_UNROLL
        for (u32 j = 0; j < rows; j++) {
            const u64 row = (u64)first + j * HDD_LANES + hdd_lane();
            mine[j] = typename Pipeline::pair_tuple();
            alive |= (u32)p.begin(row < p.run.launch.source_rows, own, (u32)row, mine[j]) << j;
        }
        hdd_count_iterations(p.run, 1, (end - begin) * rows, (end - begin) * (tile - hdd_warp_add(hdd_popc(alive))));
        for (u32 at = first; own && at < inside; at++)
            hdd_loop_at(p, mine, hdd_earlier(alive, at - first), first, at, fused());
        if (!hdd_any(alive != all))
            hdd_loop_part<true>(p, mine, alive, first, begin, end, bounded());
        else if (hdd_any(alive != 0))
            hdd_loop_part<false>(p, mine, alive, first, begin, end, bounded());
        hdd_after_task(p, 0);
    }
    hdd_end_loop(p, fused());
    hdd_profile_end(p.run);
}

#endif
