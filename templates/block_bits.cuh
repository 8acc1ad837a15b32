// A bitmap that a scan looks its rows up in, copied to a block's shared memory: L2 gives an H200's multiprocessors
// two thirds of a sector a cycle each, shared memory ten words (docs/performance.md, "What memory of a GPU gives"). A bitmap
// that is larger than its copy is folded: word k of the copy is the union of words k, k + n, k + 2n ...
// of the bitmap, so that a bit that is not set there is set nowhere, and one that is set is looked up in memory as well.
#ifndef HDD_BLOCK_BITS_CUH
#define HDD_BLOCK_BITS_CUH

#include "hd/probe.cuh"

template <u32 size> struct hdd_block_bits_memory {
    alignas(8) u64 words[size / 8]; // the planner's size class, in bytes
};

template <u32 size, bool folded> struct hdd_block_bits {
    static constexpr u32 words = size / 4; // of 32 bits, as they are looked up
    const u32 *const copy;

    // The whole block calls; a block barrier.
    HDD_MEMBER hdd_block_bits(hdd_block_bits_memory<size> &store, const u64 *bits, u64 range)
        : copy(reinterpret_cast<const u32 *>(store.words))
    {
        const u32 n = (u32)((range + 63) / 64);
        HDD_ASSERT(folded || n <= size / 8);
        for (u32 k = hdd_thread(); k < size / 8; k += HDD_BLOCK) {
            u64 all = 0;
            HDD_UNROLL_4
            for (u32 w = k; w < n; w += size / 8)
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
        const u32 w = inside ? (u32)(i / 32) : 0;
        const bool set = inside & ((copy[folded ? w % words : w] >> (u32)(i % 32)) & 1);
        return folded ? hdd_test_bit(bits, range, index, set) : set;
    }
};

#endif
