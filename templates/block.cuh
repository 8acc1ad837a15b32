// Accumulators in registers, combined over the block at the end of a kernel and added to one
// row by one thread of each block.
#ifndef HDD_BLOCK_CUH
#define HDD_BLOCK_CUH

#include "hd/aggregate.cuh"

// Shared memory: one partial result per warp, reused by all accumulators.
struct hdd_block_scratch {
    i128 v[HDD_WARPS];
    u32 seen[HDD_WARPS];
};

// Adds the block's accumulators to a field. valid: the field's validity byte, or null. The
// whole block calls; two block barriers.
template <class Op, class F, class T>
HDD_DEVICE void hdd_block_flush(Op op, hdd_block_scratch &s, hdd_register<T> r, F &field,
                                u8 *valid)
{
    r.combine(op);
    if (hdd_lane() == 0) {
        *reinterpret_cast<T *>(&s.v[hdd_warp()]) = r.v;
        s.seen[hdd_warp()] = r.seen;
    }
    hdd_block_sync();
    if (hdd_warp() == 0 && hdd_lane() == 0) {
        for (u32 w = 1; w < HDD_WARPS; w++)
            if (s.seen[w])
                r.add(op, *reinterpret_cast<const T *>(&s.v[w]));
        if (r.seen)
            op.into(field, valid, r.v);
    }
    hdd_block_sync();
}

#endif
