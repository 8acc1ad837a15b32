// Accumulators in registers, combined over the block at the end of a kernel and added to one
// row by one thread of each block.
#ifndef HDD_BLOCK_CUH
#define HDD_BLOCK_CUH

#include "hd/aggregate.cuh"

// Value so far; `seen`: there was one.
template <class T> struct hdd_register {
    T v;
    bool seen;

    HDD_MEMBER hdd_register() : v(), seen(false)
    {
    }

    template <class Op> HDD_MEMBER void add(T x)
    {
        v = seen ? Op::of(v, x) : x;
        seen = true;
    }

    template <class Op> HDD_MEMBER void add(hdd_opt<T> x)
    {
        if (x.ok)
            add<Op>(x.v);
    }
};

// Shared memory: one partial result per warp, reused by all accumulators.
struct hdd_block_scratch {
    i128 v[HDD_WARPS];
    u32 seen[HDD_WARPS];
};

template <class Op, class T> HDD_DEVICE void hdd_merge(hdd_register<T> &r, T v, bool seen)
{
    if (seen)
        r.template add<Op>(v);
}

template <class Op, class T> HDD_DEVICE void hdd_warp_merge(hdd_register<T> &r)
{
    for (u32 by = HDD_LANES / 2; by > 0; by /= 2) {
        const T v = hdd_shuffle(r.v, hdd_lane() ^ by);
        const bool seen = hdd_shuffle(r.seen, hdd_lane() ^ by);
        hdd_merge<Op>(r, v, seen);
    }
}

// Adds the block's accumulators to a field. valid: the field's validity byte, or null. The
// whole block calls; two block barriers.
template <class Op, class T>
HDD_DEVICE void hdd_block_flush(hdd_block_scratch &s, hdd_register<T> r, T *field, u8 *valid)
{
    hdd_warp_merge<Op>(r);
    T *const partial = reinterpret_cast<T *>(&s.v[hdd_warp()]);
    if (hdd_lane() == 0) {
        *partial = r.v;
        s.seen[hdd_warp()] = r.seen;
    }
    hdd_block_sync();
    if (hdd_warp() == 0 && hdd_lane() == 0) {
        for (u32 w = 1; w < HDD_WARPS; w++)
            hdd_merge<Op>(r, *reinterpret_cast<const T *>(&s.v[w]), s.seen[w] != 0);
        if (r.seen) {
            Op::into(field, r.v);
            if (valid)
                *valid = 1;
        }
    }
    hdd_block_sync();
}

#endif
