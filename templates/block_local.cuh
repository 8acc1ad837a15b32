// AGG_DENSE with some hundred groups: a copy of the state's rows in shared memory, one per
// block, that takes the additions in the place of the state and is added to it when the kernel
// ends. The whole block calls.
#ifndef HDD_BLOCK_LOCAL_CUH
#define HDD_BLOCK_LOCAL_CUH

#include "hd/accumulate.cuh"

template <u32 size> struct hdd_block_local_memory {
    alignas(16) u8 bytes[size]; // the planner's size class
};

template <class Row> struct hdd_block_local {
    Row *const rows;
    const u32 range;

    // Every row begins as `empty`. A block barrier.
    template <u32 size>
    HDD_MEMBER hdd_block_local(hdd_block_local_memory<size> &store, u64 groups, const Row &empty)
        : rows(reinterpret_cast<Row *>(store.bytes)), range((u32)groups)
    {
        HDD_ASSERT(groups * sizeof(Row) <= size);
        for (u32 i = hdd_thread(); i < range; i += HDD_BLOCK)
            rows[i] = empty;
        hdd_block_sync();
    }
};

#endif
