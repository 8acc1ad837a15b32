// Accumulators in registers, combined over the block at the end of a kernel and added to one
// row by one thread of each block.
#ifndef HDD_BLOCK_CUH
#define HDD_BLOCK_CUH

#include "hd/aggregate.cuh"

// Shared memory: what each warp has.
template <class Sums> struct hdd_block_scratch {
    alignas(16) u8 bytes[HDD_WARPS][(sizeof(Sums) + 15) / 16 * 16];

    HDD_MEMBER Sums &of(u32 warp)
    {
        return *reinterpret_cast<Sums *>(bytes[warp]);
    }
};

// Adds what the threads of a block have to a row. The whole block calls; a block barrier.
template <class Pipe, class Sums, class Row>
HDD_DEVICE void hdd_block_flush(const Pipe &p, hdd_block_scratch<Sums> &scratch, Sums sums,
                                Row &row)
{
    hdd_combine(p, sums);
    if (hdd_lane() == 0)
        scratch.of(hdd_warp()) = sums;
    hdd_block_sync();
    if (hdd_thread() != 0)
        return;
    HDD_NO_UNROLL
    for (u32 w = 1; w < HDD_WARPS; w++)
        p.join(sums, scratch.of(w));
    p.add_sums(row, sums);
}

#endif
