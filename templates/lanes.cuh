// AGG_DENSE with few groups: each thread adds to a copy of its own in shared memory, which is
// combined per block and added to the state's rows when the kernel ends. No atomics, no warp
// operations and no bank conflicts while it runs: word w of a thread lies in column `thread`
// of line w, whatever the group.
//
// Sums of small values share words: each has bits of its own, which hold what so many rows of a thread add
// up to. After so many a warp brings what it has to the rows of the state, and begins anew.
#ifndef HDD_LANES_CUH
#define HDD_LANES_CUH

#include "hd/accumulate.cuh"
#include "hd/block.cuh"
#include "hd/tile.cuh"

// Shared memory of a block; `lines` is the planner's size class.
template <u32 lines> struct hdd_lane_memory {
    u64 w[lines][HDD_BLOCK];
};

// What each warp has of a group, and whether it has some.
template <class Accumulators> struct hdd_lane_scratch {
    hdd_block_scratch<Accumulators> sums;
    u32 some[HDD_WARPS];
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
    u32 tiles;

    template <u32 lines>
    HDD_MEMBER hdd_lane_groups(hdd_lane_memory<lines> &store, u64 groups)
        : mine(hdd_opaque_shared(&store.w[0][hdd_thread()])), range((u32)groups)
    {
        HDD_ASSERT(words * groups <= lines);
        clear();
    }

    HDD_MEMBER void clear()
    {
        tiles = 0;
        HDD_UNROLL_4
        for (u32 i = 0; i < words * range; i++)
            mine[i * HDD_BLOCK] = 0;
    }

    // One tile more of the warp: that was as many as the words have room for.
    HDD_MEMBER bool is_full(u32 most)
    {
        return ++tiles == most;
    }

    // The words of a group, which the others take. Word w is HDD_BLOCK * w further on: an offset that an instruction
    // holds. A product of 64 bits is one instruction, one of 32 bits that becomes an address is three.
    HDD_MEMBER u64 *find(u32 group) const
    {
        return mine + (u64)group * (words * HDD_BLOCK);
    }

    // A value of so many bits at its place in a word that is shared. A NULL is zero.
    template <u32 shift, u32 bits, class T> HDD_MEMBER static u64 part(T v)
    {
        return (bits > 32 ? (u64)v : (u64)(u32)v) << shift;
    }

    template <u32 shift, u32 bits, class T> HDD_MEMBER static u64 part(hdd_opt<T> v)
    {
        return part<shift, bits>(v.v);
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
        get<word>(find(group), mine);
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

    // A sum that shares a word.
    template <u32 word, u32 shift, u32 bits, class T> HDD_MEMBER void read_part(u32 group, T &to) const
    {
        to = (T)(find(group)[word * HDD_BLOCK] << (64 - shift - bits) >> (64 - bits));
    }

  private:
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

// Adds what the threads of a block have of a group to its row, if one has had rows of it: `some`. All warps of a GPU add to
// the same few rows when a kernel ends, so a block does it once. The whole block calls; two block barriers.
template <class Pipeline, class Accumulators, class Row>
HDD_DEVICE void hdd_finish_group(const Pipeline &p, hdd_lane_scratch<Accumulators> &scratch, bool some, Accumulators mine,
                                 Row &row)
{
    const bool any = hdd_any(some);
    if (any)
        hdd_combine(p, mine);
    if (hdd_lane() == 0) {
        scratch.sums.of(hdd_warp()) = mine;
        scratch.some[hdd_warp()] = any;
    }
    hdd_block_sync();
    if (hdd_thread() == 0) {
        bool others = false;
        HDD_NO_UNROLL
        for (u32 w = 1; w < HDD_WARPS; w++)
            if (scratch.some[w]) {
                p.merge(mine, scratch.sums.of(w));
                others = true;
            }
        if (any || others)
            p.add_accumulators(row, mine);
    }
    hdd_block_sync();
}

#endif
