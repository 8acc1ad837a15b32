// Accumulators in registers, combined over the block at the end of a kernel and added to one
// row by one thread of each block.
#ifndef HDD_BLOCK_CUH
#define HDD_BLOCK_CUH

#include "hd/aggregate.cuh"

// Shared memory: what each warp has.
template <class Accumulators> struct hdd_block_scratch {
    alignas(16) u8 bytes[HDD_WARPS][(sizeof(Accumulators) + 15) / 16 * 16];

    HDD_MEMBER Accumulators &of(u32 warp)
    {
        return *reinterpret_cast<Accumulators *>(bytes[warp]);
    }
};

// Adds what the threads of a block have to a row. The whole block calls; a block barrier.
template <class Pipeline, class Accumulators, class Row>
HDD_DEVICE void hdd_block_flush(const Pipeline &p, hdd_block_scratch<Accumulators> &scratch, Accumulators accumulators,
                                Row &row)
{
    hdd_combine(p, accumulators);
    if (hdd_lane() == 0)
        scratch.of(hdd_warp()) = accumulators;
    hdd_block_sync();
    if (hdd_thread() != 0)
        return;
    HDD_NO_UNROLL
    for (u32 w = 1; w < HDD_WARPS; w++)
        p.merge(accumulators, scratch.of(w));
    p.add_accumulators(row, accumulators);
}

#endif
