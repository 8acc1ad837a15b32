// AGG_DENSE with few groups: each thread adds to a copy of its own in shared memory, which is
// combined per warp and added to the state's rows when the kernel ends. No atomics, no warp
// operations and no bank conflicts while it runs: word w of a thread lies in column `thread`
// of line w, whatever the group.
#ifndef HDD_LANES_CUH
#define HDD_LANES_CUH

#include "hd/accumulate.cuh"
#include "hd/tile.cuh"

// Shared memory of a block; `lines` is the planner's size class.
template <u32 lines> struct hdd_lane_memory {
    u64 w[lines][HDD_BLOCK];
};

// A bit per group, of one thread: has it seen a row, or a value that is not NULL?
struct hdd_group_set {
    u32 bits;

    HDD_MEMBER hdd_group_set() : bits(0)
    {
    }

    HDD_MEMBER void add(u32 group)
    {
        bits |= 1u << group;
    }

    HDD_MEMBER bool has(u32 group) const
    {
        return (bits >> group) & 1;
    }
};

// The copy of one thread: groups of `words` words each.
template <u32 words> struct hdd_lane_groups {
    u64 *const mine;
    const u32 range;
    hdd_group_set seen;

    template <u32 lines>
    HDD_MEMBER hdd_lane_groups(hdd_lane_memory<lines> &store, u64 groups)
        : mine(&store.w[0][hdd_thread()]), range((u32)groups)
    {
        HDD_ASSERT(words * groups <= lines);
        HDD_UNROLL_4
        for (u32 i = 0; i < words * range; i++)
            mine[i * HDD_BLOCK] = 0;
    }

    // A row for a group, whose words the others take.
    HDD_MEMBER u64 *find(u32 group)
    {
        seen.add(group);
        return words_of(group);
    }

    // A value for an accumulator that starts as zero and never is NULL.
    template <u32 word, class Op, class T> HDD_MEMBER static void add(Op op, u64 *at, T v)
    {
        T old;
        get<word>(at, old);
        put<word>(at, op.of(old, v));
    }

    // A NULL is zero (value.cuh).
    template <u32 word, class Op, class T>
    HDD_MEMBER static void add(Op op, u64 *at, hdd_opt<T> v)
    {
        add<word>(op, at, v.v);
    }

    // The same for one that is NULL until a value comes; `valid` says where one has.
    template <u32 word, class Op, class T>
    HDD_MEMBER static void add(Op op, u64 *at, u32 group, hdd_group_set &valid, T v)
    {
        T old;
        get<word>(at, old);
        put<word>(at, valid.has(group) ? op.of(old, v) : v);
        valid.add(group);
    }

    template <u32 word, class Op, class T>
    HDD_MEMBER static void add(Op op, u64 *at, u32 group, hdd_group_set &valid, hdd_opt<T> v)
    {
        if (v.ok)
            add<word>(op, at, group, valid, v.v);
    }

    // What the thread has of a group: an accumulator that starts as zero and never is NULL.
    template <u32 word, class Narrow, class T> HDD_MEMBER void read(u32 group, T &to) const
    {
        Narrow mine;
        get<word>(words_of(group), mine);
        to = mine;
    }

    // The same for one with a bit in `seen`.
    template <u32 word, class Narrow, class T>
    HDD_MEMBER void read(u32 group, const hdd_group_set &valid, T &to, u32 &some, u32 bit) const
    {
        if (valid.has(group)) {
            read<word, Narrow>(group, to);
            some |= bit;
        }
    }

  private:
    // Word w of them is HDD_BLOCK * w further on: an offset that an instruction holds.
    HDD_MEMBER u64 *words_of(u32 group) const
    {
        return mine + group * (words * HDD_BLOCK);
    }

    template <u32 word, class T> HDD_MEMBER static void get(const u64 *at, T &v)
    {
        hdd_from_bits(at[word * HDD_BLOCK], v);
    }

    template <u32 word> HDD_MEMBER static void get(const u64 *at, i128 &v)
    {
        v = (i128)((u128)at[(word + 1) * HDD_BLOCK] << 64 | at[word * HDD_BLOCK]);
    }

    template <u32 word, class T> HDD_MEMBER static void put(u64 *at, T v)
    {
        at[word * HDD_BLOCK] = hdd_bits_of(v);
    }

    template <u32 word> HDD_MEMBER static void put(u64 *at, i128 v)
    {
        at[word * HDD_BLOCK] = (u64)v;
        at[(word + 1) * HDD_BLOCK] = (u64)(v >> 64);
    }
};

#endif
