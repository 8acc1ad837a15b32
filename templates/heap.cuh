// The heap of strings that kernels make: room is never given back, and what did not fit makes the host run the pipeline
// again with more (launch.cuh). One thread at a time.
#ifndef HDD_HEAP_CUH
#define HDD_HEAP_CUH

#include "hd/launch.cuh"
#include "hd/machine.cuh"

// Null: there is no room.
HDD_DEVICE u8 *hdd_string_room(const hdd_launch &launch, i32 n)
{
    const u64 at = hdd_atomic_add(reinterpret_cast<u64 *>(launch.string_cursor), (u64)n);
    return at + (u64)n > launch.string_capacity ? nullptr : reinterpret_cast<u8 *>(launch.string_heap) + at;
}

#endif
