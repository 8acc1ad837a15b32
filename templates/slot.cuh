// A slot of a HASH state: one word, 0 where it is empty. The lower half is the number of the key's first row plus one;
// above are the bit `many`, and for a tag bits 1 to 31 of the hash. Rows of a key are neighbours; where it has many,
// the first 8 bytes of the first one say how many: they were its hash, which nobody looks at once the state is finished.
// Linear probing from hash & mask; a table has an empty slot. Shared with host C (templates/host.h).
#ifndef HDD_SLOT_CUH
#define HDD_SLOT_CUH

#ifdef __cplusplus
#include "hd/machine.cuh"
#else
#include "templates/host.h"
#endif

#define HDD_SLOT_MANY      ((u64)1 << 32)
#define HDD_SLOT_TAG_SHIFT 33
#define HDD_SLOT_ROWS_MAX  0xfffffffeull // row numbers plus one have 32 bits

HDD_DEVICE u64 hdd_slot_word(u64 hash, u64 row, bool many)
{
    return (hash << 32 & ~HDD_SLOT_MANY) | (many ? HDD_SLOT_MANY : 0) | (row + 1);
}

HDD_DEVICE bool hdd_slot_has_tag(u64 slot, u64 hash)
{
    return (slot ^ hash << 32) >> HDD_SLOT_TAG_SHIFT == 0;
}

HDD_DEVICE u32 hdd_slot_row(u64 slot)
{
    return (u32)slot - 1;
}

HDD_DEVICE bool hdd_slot_has_many(u64 slot)
{
    return (slot & HDD_SLOT_MANY) != 0;
}

#endif
