// Which warps? A bitmap in two levels (Themis, section 7): a bit per warp, and above a bit per
// word of 64 warps, so that looking for one reads few words however many warps there are. The
// lower level is exact, the upper one a hint: whoever clears a bit above because it found
// nothing below looks below again, and so no bit stays unseen.
//
// One thread at a time. Setting a bit is a release, clearing one an acquire.
#ifndef HDD_BITMAP_CUH
#define HDD_BITMAP_CUH

#include "hd/run.cuh"

struct hdd_bitmap {
    u64 *groups, *words;
    u32 nwords;

    HDD_MEMBER explicit hdd_bitmap(const hdd_run &run)
        : groups(reinterpret_cast<u64 *>(run.launch.share.groups)),
          words(reinterpret_cast<u64 *>(run.launch.share.words)),
          nwords((run.launch.warps + 63) / 64)
    {
    }

    // Only who finds the word empty says so above: at the end of a kernel thousands come.
    HDD_MEMBER void set(u32 i) const
    {
        if (hdd_atomic_or_release(words + i / 64, (u64)1 << (i % 64)) == 0)
            hdd_atomic_or_release(groups + i / 64 / 64, (u64)1 << (i / 64 % 64));
    }

    // True: the bit was set.
    HDD_MEMBER bool clear(u32 i) const
    {
        const u64 bit = (u64)1 << (i % 64);
        const u64 old = hdd_atomic_and_acquire(words + i / 64, ~bit);
        if (old == bit)
            empty(i / 64);
        return (old & bit) != 0;
    }

    // Calls try_one(i) for bits that are set until one gives true: i, else -1. Who begins at a
    // place of its own does not meet everybody else at the first bit.
    template <class Try> HDD_MEMBER i32 search(u32 start, Try try_one) const
    {
        const u32 ngroups = (nwords + 63) / 64;
        HDD_NO_UNROLL
        for (u32 k = 0; k < ngroups; k++) {
            const u32 g = (start / 64 + k) % ngroups;
            u64 marked = turned(hdd_load_relaxed(groups + g), start);
            HDD_NO_UNROLL
            for (; marked; marked &= marked - 1) {
                const u32 w = g * 64 + (hdd_lowest64(marked) + start) % 64;
                const i32 found = search_word(w, start, try_one);
                if (found >= 0)
                    return found;
            }
        }
        return -1;
    }

  private:
    // Bit `by` becomes bit 0.
    HDD_MEMBER static u64 turned(u64 v, u32 by)
    {
        by %= 64;
        return by ? v >> by | v << (64 - by) : v;
    }

    template <class Try> HDD_MEMBER i32 search_word(u32 w, u32 start, Try try_one) const
    {
        u64 bits = turned(hdd_load_relaxed(words + w), start);
        if (!bits)
            empty(w);
        HDD_NO_UNROLL
        for (; bits; bits &= bits - 1) {
            const u32 i = w * 64 + (hdd_lowest64(bits) + start) % 64;
            if (try_one(i))
                return (i32)i;
        }
        return -1;
    }

    HDD_MEMBER void empty(u32 w) const
    {
        const u64 bit = (u64)1 << (w % 64);
        hdd_atomic_and_acquire(groups + w / 64, ~bit);
        if (hdd_load_relaxed(words + w))
            hdd_atomic_or_release(groups + w / 64, bit);
    }
};

#endif
