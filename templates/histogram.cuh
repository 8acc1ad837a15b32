// AGG_DENSE that counts pairs of a loop: a block's own counts of 32 bits in shared memory, added to the state's 64 bits
// when the kernel ends, and before a count could overflow (two-body-statistics, sections 3.3.1 and 3.3.2: private copies of the
// output). Lanes take turns with `copies` of them, which lie side by side, so that lanes of one bucket meet less often.
#ifndef HDD_HISTOGRAM_CUH
#define HDD_HISTOGRAM_CUH

#include "hd/loop.cuh"

template <u32 size> struct hdd_histogram_memory {
    alignas(16) u32 counts[size / sizeof(u32)]; // the planner's size class
};

template <u32 copies> struct hdd_histogram {
    u32 *const counts, *const mine;
    const u32 n;
    u32 tasks; // since the warp last looked

    // A task counts less than 2^21 pairs (loop.cuh). Every warp empties the counts after so many of its own, so no more
    // come together in between, whatever the others do.
    enum : u32 { TASK_BITS = 21, TASKS = (1u << (HDD_COUNT_BITS - TASK_BITS)) / HDD_WARPS };
    static_assert(TASKS > 0 && 8 * HDD_LANES * (HDD_LOOP_MAX + 8 * HDD_LANES) < 1u << TASK_BITS, "counts overflow");

    // A block barrier.
    template <u32 size>
    HDD_MEMBER hdd_histogram(hdd_histogram_memory<size> &store, u64 groups)
        : counts(store.counts), mine(store.counts + hdd_lane() % copies), n((u32)groups * copies), tasks(0)
    {
        HDD_ASSERT(n * sizeof(u32) <= size);
        for (u32 i = hdd_thread(); i < n; i += HDD_BLOCK)
            counts[i] = 0;
        hdd_block_sync();
    }

    HDD_MEMBER void add(u32 group) const
    {
        hdd_atomic_add(mine + group * copies, 1u);
    }

    template <class Pipeline> HDD_MEMBER void after_task(const Pipeline &p)
    {
        if (++tasks < TASKS)
            return;
        tasks = 0;
        flush(p, hdd_lane(), HDD_LANES);
    }

    // What is counted goes to the state's rows, from count `first` on, each `by` of them.
    template <class Pipeline> HDD_MEMBER void flush(const Pipeline &p, u32 first, u32 by) const
    {
        HDD_NO_UNROLL
        for (u32 i = first; i < n; i += by) {
            const u32 counted = hdd_atomic_exchange(&counts[i], 0u);
            if (counted)
                p.add_count(i / copies, counted);
        }
    }
};

#endif
