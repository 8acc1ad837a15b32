// Loops over pairs of which, for each row of the source, only the first ones in some order stay: nearest neighbours. A
// task goes over its rows of the state twice. First a thread keeps the smallest keys of each of its rows in registers,
// as a sorted list; the last of these, which pairs that stay do not exceed, is the bound with which it takes the same
// pairs again, and appends those that are left. So nothing but the finishing sort has to know how ties are broken, and
// what is appended are few rows for each row of the source and task. To what loop.cuh asks for, a pipeline's class adds
//
//   enum { top_rows }; void rank<whole>(const pair_tuple *, hdd_best<top_rows> *, u32 alive, u32 at)
//
// and its `pairs` takes the bounds behind the tuples.
#ifndef HDD_LOOP_TOP_CUH
#define HDD_LOOP_TOP_CUH

#include "hd/loop.cuh"
#include "hd/value.cuh"

// ---- keys ----------------------------------------------------------------------------------

// Numbers that order like values: equal for values that are equal.
HDD_DEVICE u64 hdd_rank_of(i64 v)
{
    return (u64)v ^ (u64)1 << 63;
}

HDD_DEVICE u64 hdd_rank_of(i32 v)
{
    return hdd_rank_of((i64)v);
}

HDD_DEVICE u64 hdd_rank_of(f64 v)
{
    const i64 bits = hdd_f64_bits(v + 0.0); // no -0
    return v != v ? ~(u64)0 : bits < 0 ? ~(u64)bits : (u64)bits | (u64)1 << 63;
}

HDD_DEVICE u64 hdd_rank_of(f32 v)
{
    return hdd_rank_of((f64)v);
}

// NULLs may equal the smallest or the largest value: that keeps more pairs, never fewer.
template <bool desc, bool nulls_first, class T> HDD_DEVICE u64 hdd_rank(T v)
{
    return desc ? ~hdd_rank_of(v) : hdd_rank_of(v);
}

template <bool desc, bool nulls_first, class T> HDD_DEVICE u64 hdd_rank(hdd_opt<T> v)
{
    return v.ok ? hdd_rank<desc, nulls_first>(v.v) : nulls_first ? (u64)0 : ~(u64)0;
}

// ---- lists ---------------------------------------------------------------------------------

// The n smallest keys so far, ascending.
template <u32 n> struct hdd_best {
    u64 key[n];

    HDD_MEMBER void clear()
    {
        HDD_UNROLL
        for (u32 i = 0; i < n; i++)
            key[i] = ~(u64)0;
    }

    HDD_MEMBER void add(u64 k)
    {
        if (k >= key[n - 1])
            return;
        HDD_UNROLL
        for (u32 i = n - 1; i > 0; i--)
            key[i] = k < key[i - 1] ? key[i - 1] : k < key[i] ? k : key[i];
        key[0] = k < key[0] ? k : key[0];
    }
};

// ---- tasks ---------------------------------------------------------------------------------

// Long parts: each appends its own first pairs of every row.
constexpr u32 HDD_LOOP_TOP_MAX = 65536, HDD_LOOP_TOP_TASKS = 4; // tasks per warp, about

HDD_DEVICE hdd_tasks hdd_top_tasks(const hdd_run &run, u32 tile, u32 others)
{
    hdd_tasks t(run, tile, others);
    if (t.tiles == 0)
        return t;
    const u64 parts = ((u64)run.launch.warps * HDD_LOOP_TOP_TASKS + t.tiles - 1) / t.tiles;
    const u64 even = (others + parts - 1) / parts;
    t.part = even < HDD_LOOP_MIN ? HDD_LOOP_MIN : even < HDD_LOOP_TOP_MAX ? (u32)even : HDD_LOOP_TOP_MAX;
    t.n = t.tiles * (((u64)others + t.part - 1) / t.part);
    return t;
}

template <bool whole, class Pipeline>
HDD_DEVICE void hdd_top_over(Pipeline &p, const typename Pipeline::pair_tuple *mine, u32 alive, u32 first, u32 begin,
                             u32 end)
{
    hdd_best<Pipeline::top_rows> best[Pipeline::loop_rows];
    u64 bound[Pipeline::loop_rows];
    HDD_UNROLL
    for (u32 j = 0; j < Pipeline::loop_rows; j++)
        best[j].clear();
    HDD_UNROLL_4
    for (u32 at = begin; at < end; at++)
        p.template rank<whole>(mine, best, alive, at);
    HDD_UNROLL
    for (u32 j = 0; j < Pipeline::loop_rows; j++)
        bound[j] = best[j].key[Pipeline::top_rows - 1];
    HDD_UNROLL_4
    for (u32 at = begin; at < end; at++)
        p.template pairs<whole>(mine, bound, alive, first, at);
}

template <class Pipeline> HDD_DEVICE void hdd_loop_top(Pipeline &p)
{
    constexpr u32 rows = Pipeline::loop_rows, tile = rows * HDD_LANES, all = (1u << rows) - 1;
    const hdd_range others = p.others();
    const hdd_tasks tasks = hdd_top_tasks(p.run, tile, others.n);
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
            hdd_top_over<true>(p, mine, alive, (u32)first, others.begin + begin, others.begin + end);
        else if (hdd_any(alive != 0))
            hdd_top_over<false>(p, mine, alive, (u32)first, others.begin + begin, others.begin + end);
    }
    hdd_profile_end(p.run);
}

#endif
