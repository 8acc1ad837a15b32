// A bitmap that a scan looks its rows up in, copied to a block's shared memory: L2 gives an H200's multiprocessors
// two thirds of a sector a cycle each, shared memory ten words (docs/performance.md, "What memory of a GPU gives"). A bitmap
// that is larger than its copy is folded: word k of the copy is the union of words k, k + n, k + 2n ...
// of the bitmap, so that a bit that is not set there is set nowhere, and one that is set is looked up in memory as well.
#ifndef HDD_BLOCK_BITS_CUH
#define HDD_BLOCK_BITS_CUH

#include "hd/probe.cuh"

template <u32 bytes> struct hdd_block_bits_memory {
    static constexpr u32 all = bytes / 8 * HDD_BITS_EIGHTHS / 8; // of the bytes that the planner has for it
    u64 words[all > 0 ? all : 1];
};

template <u32 bytes, bool smaller> struct hdd_block_bits {
    static constexpr u32 words = sizeof(hdd_block_bits_memory<bytes>) / 4; // of 32 bits, as they are looked up
    static constexpr bool folded = smaller || HDD_BITS_EIGHTHS < 8;
    const u32 *const copy;

    // The whole block calls; a block barrier.
    HDD_MEMBER hdd_block_bits(hdd_block_bits_memory<bytes> &store, const u64 *bits, u64 range)
        : copy(reinterpret_cast<const u32 *>(store.words))
    {
        const u32 n = (u32)((range + 63) / 64);
        HDD_ASSERT(folded || n <= words / 2);
        for (u32 k = hdd_thread(); k < words / 2; k += HDD_BLOCK) {
            u64 all = 0;
            HDD_UNROLL_4
            for (u32 w = k; w < n; w += words / 2)
                all |= bits[w];
            store.words[k] = all;
        }
        hdd_block_sync();
    }

    // Whether bit `index` of the bitmap is set, of a row that has not ended; see hdd_test_bit.
    template <class I> HDD_MEMBER bool test(const u64 *bits, u64 range, I index, bool live) const
    {
        const u64 i = hdd_index(index);
        const bool inside = live & (i < range);
        const u32 w = inside ? hdd_shift_pair((u32)i, (u32)(i >> 32), 5) : 0;
        const bool set = inside & ((copy[folded ? w % words : w] >> ((u32)i & 31)) & 1);
        return folded ? hdd_test_bit(bits, range, index, set) : set;
    }
};

#endif
