// Aggregates in memory that many threads update: which row belongs to a group, and adding to
// its accumulators. Lanes of a warp with the same row combine first, so that a hot key costs
// one atomic per warp instead of 32 (DESIGN section 5: contended atomics are the price of
// skew).
#ifndef HDD_AGGREGATE_CUH
#define HDD_AGGREGATE_CUH

#include "hd/run.cuh"
#include "hd/store.cuh"
#include "hd/value.cuh"
#include "hd/warp.cuh"

// ---- one value into one place --------------------------------------------------------------

HDD_DEVICE void hdd_atomic_sum(i64 *p, i64 v)
{
    hdd_atomic_add(reinterpret_cast<u64 *>(p), (u64)v);
}

HDD_DEVICE void hdd_atomic_sum(f64 *p, f64 v)
{
    hdd_atomic_add(p, v);
}

// Two words. Each add to the low one carries for itself, so the pair is right once all are
// done.
HDD_DEVICE void hdd_atomic_sum(i128 *p, i128 v)
{
    u64 *const words = reinterpret_cast<u64 *>(p);
    const u64 lo = (u64)v, was = hdd_atomic_add(words, lo);
    hdd_atomic_add(words + 1, (u64)(v >> 64) + (was + lo < was));
}

// The functions that combine two accumulated values, and an accumulated one in memory with one
// in a register.
struct hdd_sum {
    template <class T> HDD_MEMBER static T of(T a, T b)
    {
        return a + b;
    }
    template <class T> HDD_MEMBER static void into(T *p, T v)
    {
        hdd_atomic_sum(p, v);
    }
};

struct hdd_least {
    template <class T> HDD_MEMBER static T of(T a, T b)
    {
        return b < a ? b : a;
    }
    template <class T> HDD_MEMBER static void into(T *p, T v)
    {
        hdd_atomic_min(p, v);
    }
};

struct hdd_most {
    template <class T> HDD_MEMBER static T of(T a, T b)
    {
        return a < b ? b : a;
    }
    template <class T> HDD_MEMBER static void into(T *p, T v)
    {
        hdd_atomic_max(p, v);
    }
};

// ---- lanes of one group --------------------------------------------------------------------

// The lanes of a warp by the address of their group's row; 0: no group.
struct hdd_peers {
    u32 mask;   // lanes of this lane's group
    bool first; // of its group, and live
    bool alone; // no group has two lanes

    // Whole warp.
    HDD_MEMBER explicit hdd_peers(const void *row)
    {
        const u64 key = reinterpret_cast<u64>(row);
        const u32 live = hdd_ballot(key != 0);
        const u64 some = hdd_shuffle(key, live ? hdd_lowest(live) : 0);
        // All in one group is what a range with a heavy key looks like: no search for equals.
        mask = hdd_any(key != 0 && key != some) ? hdd_match(key) : key ? live : ~live;
        first = key != 0 && !(mask & hdd_lanes_below());
        alone = !hdd_any(key != 0 && !first);
    }

    // Combines v over the lanes of each group that have one (ok); valid in its first lane.
    // Halves the number of contributing lanes per step. Whole warp.
    template <class Op, class T> HDD_MEMBER T reduce(T v, bool &ok) const
    {
        u32 above = mask & ~hdd_lanes_upto();
        u32 rank = hdd_popc(mask & hdd_lanes_below());
        while (hdd_any(above != 0)) {
            const u32 next = above ? hdd_lowest(above) : hdd_lane();
            const T other = hdd_shuffle(v, next);
            const bool other_ok = hdd_shuffle(ok, next);
            if (above && other_ok) {
                v = ok ? Op::of(v, other) : other;
                ok = true;
            }
            above &= hdd_ballot(rank % 2 == 0); // odd ranks have been taken by the one below
            rank /= 2;
        }
        return v;
    }

    // Adds each group's values to a field of its row. Whole warp.
    template <class Op, class Row, class T>
    HDD_MEMBER void update(Row *row, T Row::*field, hdd_opt<T> value) const
    {
        const hdd_opt<T> v = combined<Op>(value);
        if (first && v.ok)
            Op::into(&(row->*field), v.v);
    }

    // The same for a field that stays NULL until a value comes.
    template <class Op, class Row, class T>
    HDD_MEMBER void update(Row *row, T Row::*field, u8 Row::*valid, hdd_opt<T> value) const
    {
        const hdd_opt<T> v = combined<Op>(value);
        if (first && v.ok) {
            Op::into(&(row->*field), v.v);
            row->*valid = 1; // every writer writes the same
        }
    }

  private:
    template <class Op, class T> HDD_MEMBER hdd_opt<T> combined(hdd_opt<T> value) const
    {
        if (alone)
            return value;
        bool ok = value.ok;
        const T v = reduce<Op>(value.v, ok);
        return hdd_opt<T>(v, ok);
    }
};

// ANY: the planner proves that all rows of a group have the same value, so whoever writes last
// writes what is there.
template <class F, class T> HDD_DEVICE void hdd_any_of(F &field, u8 &valid, T v)
{
    hdd_put(field, valid, v);
}

template <class F, class T> HDD_DEVICE void hdd_any_of(F &field, u8 &valid, hdd_opt<T> v)
{
    if (v.ok)
        hdd_put(field, valid, v.v);
}

// ---- AGG_HASH: open addressing for the whole grid ------------------------------------------

// Low half of a slot whose key is being written.
constexpr u64 HDD_SLOT_BUSY = 0xffffffffull;

struct hdd_groups {
    const hdd_run &run;
    u64 *slots;
    u64 mask;

    HDD_MEMBER explicit hdd_groups(const hdd_run &r)
        : run(r), slots(reinterpret_cast<u64 *>(r.launch.sink.slots)), mask(r.launch.sink.mask)
    {
    }

    // Number of the row whose key has hash h and is `same(row)`; a new one is written by
    // `init(row)`. -1: no room (the host grows the table and runs the pipeline again), or the
    // run was aborted. One thread at a time; may wait for a thread that writes a key.
    template <class Same, class Init> HDD_MEMBER i64 find(u64 h, Same same, Init init) const
    {
        const u64 tag = h & ~HDD_SLOT_BUSY;
        u64 at = h & mask;
        for (u64 steps = 0; steps <= mask;) {
            u64 slot = hdd_load_acquire(slots + at);
            if (slot == 0) {
                slot = hdd_atomic_swap(slots + at, (u64)0, tag | HDD_SLOT_BUSY);
                if (slot == 0)
                    return insert(slots + at, tag, init);
            }
            if (slot == (tag | HDD_SLOT_BUSY)) { // perhaps this very key
                if (run.aborted())
                    return -1;
                hdd_back_off();
                continue;
            }
            if ((slot & ~HDD_SLOT_BUSY) == tag && same((slot & HDD_SLOT_BUSY) - 1))
                return (i64)((slot & HDD_SLOT_BUSY) - 1);
            at = (at + 1) & mask;
            steps++;
        }
        return full();
    }

  private:
    template <class Init> HDD_MEMBER i64 insert(u64 *slot, u64 tag, Init init) const
    {
        const u64 row =
            hdd_atomic_add(reinterpret_cast<u64 *>(run.launch.sink.cursor), (u64)1);
        if (row >= run.launch.sink.capacity)
            return full();
        init(row);
        hdd_store_release(slot, tag | (row + 1));
        return (i64)row;
    }

    HDD_MEMBER i64 full() const
    {
        run.abort();
        return -1;
    }
};

#endif
