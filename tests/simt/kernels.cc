// Kernels written by hand, for the host: the tree of test_nifs.c and the planted bugs of
// test_simt.c.
#include "tests/simt/tree.cu"

#include "hd/block.cuh"

extern "C" {

void good_kernel(void *out);
void lost_lane(void *);
void other_operation(void *);
void early_return(void *);
void missed_barrier(void *);
void endless_wait(void *);
void failed_assertion(void *);
void lost_update(void *count);

// Sums block * 1000 + thread number over each block, through registers, shuffles, shared
// memory.
void good_kernel(void *out)
{
    HDD_SHARED(hdd_block_scratch, scratch);
    hdd_register<i64> sum;
    sum.add(hdd_sum(), (i64)(hdd_block() * 1000 + hdd_warp() * HDD_LANES + hdd_lane()));
    HDD_ASSERT(hdd_warp_sum(hdd_lane()) == 496);
    HDD_ASSERT(hdd_scan_sum(1) == hdd_lane() + 1);
    HDD_ASSERT(hdd_warp_sum(~hdd_lane()) == 32 * (u64)~0u - 496);
    HDD_ASSERT(hdd_warp_add(~hdd_lane()) == (u32)(0u - 496 - 32));
    HDD_ASSERT(hdd_scan_sum_bits<5>(hdd_lane()) == hdd_lane() * (hdd_lane() + 1) / 2);
    HDD_ASSERT(hdd_match(hdd_lane() / 4) == 15u << (hdd_lane() / 4 * 4));
    hdd_block_flush(hdd_sum(), scratch, sum, static_cast<i64 *>(out)[hdd_block()],
                    static_cast<u8 *>(nullptr));
}

void lost_lane(void *)
{
    if (hdd_lane() != 3)
        hdd_ballot(true);
}

void other_operation(void *)
{
    if (hdd_lane() < 16)
        hdd_ballot(true);
    else
        hdd_warp_sync();
}

void early_return(void *)
{
    if (hdd_lane() == 31)
        return;
    hdd_warp_sum(hdd_lane());
}

void missed_barrier(void *)
{
    if (hdd_warp() != 2)
        hdd_block_sync();
}

void endless_wait(void *)
{
    for (;;)
        hdd_back_off();
}

void failed_assertion(void *)
{
    HDD_ASSERT(hdd_lane() != 5);
}

void lost_update(void *count)
{
    u32 *p = static_cast<u32 *>(count);
    const u32 v = hdd_load_relaxed(p);
    hdd_store_relaxed(p, v + 1);
}
}
