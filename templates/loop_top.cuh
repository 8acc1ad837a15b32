// Loops over pairs of which, for each row of the source, only the first ones in some order stay: nearest neighbours. A
// task goes over its rows of the state twice. First a thread keeps the smallest keys of each of its rows in registers,
// as a sorted list; the last of these, which pairs that stay do not exceed, is the bound with which it takes the same
// pairs again, and appends those that are left. So nothing but the finishing sort has to know how ties are broken, and
// what is appended are few rows for each row of the source and task. To what loop.cuh asks for, a pipeline's class adds
//
//   best_rows, a list of keys; void rank<whole>(const pair_tuple *, best_rows *, u32 alive, u32 at)
//
// and its `pairs` takes the bounds behind the tuples.
#ifndef HDD_LOOP_TOP_CUH
#define HDD_LOOP_TOP_CUH

#include "hd/loop.cuh"
#include "hd/value.cuh"

// ---- keys ----------------------------------------------------------------------------------

// Numbers that order like values, of as many bits: equal for values that are equal. And a value of a number; a NaN for
// that of NaNs, and for what floats have no number of.
template <class T> struct hdd_ranks;

template <> struct hdd_ranks<i32> {
    typedef u32 Key;

    HDD_MEMBER static u32 of(i32 v)
    {
        return (u32)v ^ 1u << 31;
    }
    HDD_MEMBER static i32 value(u32 key)
    {
        return (i32)(key ^ 1u << 31);
    }
};

template <> struct hdd_ranks<i64> {
    typedef u64 Key;

    HDD_MEMBER static u64 of(i64 v)
    {
        return (u64)v ^ (u64)1 << 63;
    }
    HDD_MEMBER static i64 value(u64 key)
    {
        return (i64)(key ^ (u64)1 << 63);
    }
};

template <> struct hdd_ranks<f32> {
    typedef u32 Key;

    HDD_MEMBER static u32 of(f32 v)
    {
        const i32 bits = hdd_f32_bits(v + 0.0f); // no -0
        return v != v ? ~0u : bits < 0 ? ~(u32)bits : (u32)bits | 1u << 31;
    }
    HDD_MEMBER static f32 value(u32 key)
    {
        return hdd_f32_from_bits((i32)(key >> 31 ? key ^ 1u << 31 : ~key));
    }
};

template <> struct hdd_ranks<f64> {
    typedef u64 Key;

    HDD_MEMBER static u64 of(f64 v)
    {
        const i64 bits = hdd_f64_bits(v + 0.0); // no -0
        return v != v ? ~(u64)0 : bits < 0 ? ~(u64)bits : (u64)bits | (u64)1 << 63;
    }
    HDD_MEMBER static f64 value(u64 key)
    {
        return hdd_f64_from_bits((i64)(key >> 63 ? key ^ (u64)1 << 63 : ~key));
    }
};

// The largest key of what is wanted, and its value. A pair that is not wanted costs one comparison of values as they
// are; what passes that, NaNs and NULLs among it, is compared by its key.
template <class T, bool desc, bool nulls_first> struct hdd_bound {
    typedef typename hdd_ranks<T>::Key Key;
    Key key;
    T last;

    HDD_MEMBER void set(Key to)
    {
        key = to;
        last = hdd_ranks<T>::value(desc ? ~to : to);
    }

    HDD_MEMBER bool beyond(T v) const
    {
        return desc ? v < last : v > last;
    }

    HDD_MEMBER bool beyond(hdd_opt<T> v) const
    {
        return v.ok && beyond(v.v);
    }

    HDD_MEMBER static Key rank(T v)
    {
        return desc ? ~hdd_ranks<T>::of(v) : hdd_ranks<T>::of(v);
    }

    // NULLs may equal the smallest or the largest value: that keeps more pairs, never fewer.
    HDD_MEMBER static Key rank(hdd_opt<T> v)
    {
        return v.ok ? rank(v.v) : nulls_first ? (Key)0 : ~(Key)0;
    }

    template <class V> HDD_MEMBER bool has(V v) const
    {
        return !beyond(v) && rank(v) <= key;
    }
};

// ---- lists ---------------------------------------------------------------------------------

// The n smallest keys so far, ascending; the bound is the last of them.
template <class T, bool desc, bool nulls_first, u32 n> struct hdd_best {
    typedef hdd_bound<T, desc, nulls_first> bound_type;
    typedef typename bound_type::Key Key;
    Key key[n];
    bound_type bound;

    HDD_MEMBER void clear()
    {
        HDD_UNROLL
        for (u32 i = 0; i < n; i++)
            key[i] = ~(Key)0;
        bound.set(~(Key)0);
    }

    template <class V> HDD_MEMBER void add(V v)
    {
        if (bound.beyond(v))
            return;
        const Key k = bound_type::rank(v);
        if (k >= bound.key)
            return;
        HDD_UNROLL
        for (u32 i = n - 1; i > 0; i--)
            key[i] = later(key[i - 1], earlier(k, key[i]));
        key[0] = earlier(k, key[0]);
        bound.set(key[n - 1]);
    }

  private:
    HDD_MEMBER static Key earlier(Key a, Key b)
    {
        return a < b ? a : b;
    }
    HDD_MEMBER static Key later(Key a, Key b)
    {
        return a < b ? b : a;
    }
};

// ---- tasks ---------------------------------------------------------------------------------

// Long parts, as each appends its own first pairs of every row and starts with empty lists: as few as leave at most an
// eighth of the warps idle in the last round.
constexpr u32 HDD_LOOP_TOP_MAX = 65536, HDD_LOOP_TOP_TRIES = 16;

HDD_DEVICE bool hdd_fills_rounds(u64 tasks, u64 warps)
{
    return 8 * tasks >= 7 * ((tasks + warps - 1) / warps) * warps;
}

HDD_DEVICE hdd_tasks hdd_top_tasks(const hdd_run &run, u32 tile, u32 others)
{
    hdd_tasks t(run, tile, others);
    if (t.tiles == 0)
        return t;
    const u64 warps = run.launch.warps, round = (7 * warps + 8 * t.tiles - 1) / (8 * t.tiles);
    const u64 least = ((u64)others + HDD_LOOP_TOP_MAX - 1) / HDD_LOOP_TOP_MAX;
    u64 parts = round > least ? round : least;
    HDD_NO_UNROLL
    for (u32 i = 0; i < HDD_LOOP_TOP_TRIES && !hdd_fills_rounds(t.tiles * parts, warps); i++)
        parts++;
    const u64 even = ((u64)others + parts - 1) / parts;
    t.part = even < HDD_LOOP_MIN ? HDD_LOOP_MIN : (u32)even;
    t.n = t.tiles * (((u64)others + t.part - 1) / t.part);
    return t;
}

template <bool whole, class Pipeline>
HDD_DEVICE void hdd_top_over(Pipeline &p, const typename Pipeline::pair_tuple *mine, u32 alive, u32 first, u32 begin,
                             u32 end)
{
    typename Pipeline::best_rows best[Pipeline::loop_rows];
    typename Pipeline::best_rows::bound_type bound[Pipeline::loop_rows];
    HDD_UNROLL
    for (u32 j = 0; j < Pipeline::loop_rows; j++)
        best[j].clear();
    HDD_UNROLL_4
    for (u32 at = begin; at < end; at++)
        p.template rank<whole>(mine, best, alive, at);
    HDD_UNROLL
    for (u32 j = 0; j < Pipeline::loop_rows; j++)
        bound[j] = best[j].bound;
    hdd_test_all<whole>(p, hdd_again<false>(), mine, alive, first, begin, end, bound);
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
    hdd_end_loop(p, hdd_fused<false>());
    hdd_profile_end(p.run);
}

#endif
