// HASH, large, of keys that are distinct: a slot per row without atomics in memory, of which a GPU does a few in a
// nanosecond wherever they go. Rows' words {lower half of the hash, number} are sorted by window, a run of slots with
// equal upper bits (finish_radix.cu). A block makes a window's slots in shared memory and writes them out as a whole. A
// word that would have to go on in the next window waits until all are there. Whatever does not go so (equal keys, a
// window with more words than slots) is said in the state, and the table is made in another way (finish_hash.cu).
#include "hd/finish_keys.cuh"
#include "hd/slot.cuh"

constexpr u32 HDD_WINDOW = 1 << HDD_WINDOW_BITS;
constexpr u32 HDD_WORDS_AT_ONCE = 4;

HDD_DEVICE const u8 *hdd_window_row(const hdd_window_args &p, u64 row)
{
    return hdd_at<const u8>(p.rows + row * p.keys.stride);
}

HDD_DEVICE u64 hdd_window_word(const hdd_window_args &p, u64 row)
{
    return hdd_field<u64>(hdd_window_row(p, row), 0) << 32 | (row + 1);
}

HDD_DEVICE hdd_window_state *hdd_window_state_of(const hdd_window_args &p)
{
    return hdd_at<hdd_window_state>(p.state);
}

HDD_DEVICE void hdd_window_fail(const hdd_window_args &p)
{
    hdd_store_relaxed(&hdd_window_state_of(p)->failed, 1u);
}

HDD_DEVICE bool hdd_window_failed(const hdd_window_args &p)
{
    return hdd_load_relaxed(&hdd_window_state_of(p)->failed) != 0;
}

HDD_DEVICE u64 hdd_window_slot(u64 word)
{
    return word & ~HDD_SLOT_MANY;
}

// Whether the keys of two slots' rows are equal.
HDD_DEVICE bool hdd_window_equal(const hdd_window_args &p, u64 a, u64 b)
{
    if (p.distinct || a >> HDD_SLOT_TAG_SHIFT != b >> HDD_SLOT_TAG_SHIFT)
        return false;
    const u8 *const x = hdd_window_row(p, hdd_slot_row(a)), *const y = hdd_window_row(p, hdd_slot_row(b));
    return hdd_field<u64>(x, 0) == hdd_field<u64>(y, 0) && hdd_equal_rows(p.keys, x, y);
}

// ---- one row of HDD_SAMPLED ----------------------------------------------------------------

// From slot `at` on, which others may claim too. Equal keys fail.
HDD_DEVICE void hdd_window_insert(const hdd_window_args &p, u64 at, u64 slot)
{
    for (;; at++) {
        const u64 there = hdd_atomic_cas(hdd_at<u64>(p.slots) + (at & p.mask), (u64)0, slot);
        if (there == 0)
            return;
        if (hdd_window_equal(p, there, slot)) {
            hdd_window_fail(p);
            return;
        }
    }
}

// Whether keys repeat so often that equal ones are among a few: slots are a small table for these.
HDD_KERNEL(hdd_window_sample)(HDD_PARAMETER(hdd_window_args, p))
{
    for (u64 k = hdd_grid_thread(); k < p.n / HDD_SAMPLED; k += hdd_grid_step(p.blocks)) {
        const u32 scattered = (u32)k * 0x9E3779B9u >> 26;
        static_assert(HDD_SAMPLED == 1 << (32 - 26), "any row of as many");
        const u64 word = hdd_window_word(p, k * HDD_SAMPLED + scattered);
        if (hdd_window_failed(p))
            return;
        hdd_window_insert(p, word >> 32, hdd_window_slot(word));
    }
}

// ---- words ---------------------------------------------------------------------------------

// Sorted words become ranges of windows.
HDD_KERNEL(hdd_window_begins)(HDD_PARAMETER(hdd_window_args, p))
{
    const u64 *const words = hdd_at<const u64>(p.words);
    const auto window_of = [&](u64 i) { return (u32)((words[i] >> 32 & p.mask) >> HDD_WINDOW_BITS); };
    for (u64 i = hdd_grid_thread(); i <= p.n; i += hdd_grid_step(p.blocks)) {
        const u32 last = i < p.n ? window_of(i) : (u32)((p.mask + 1) >> HDD_WINDOW_BITS);
        for (u32 w = i ? window_of(i - 1) + 1 : 0; w <= last; w++)
            hdd_at<u32>(p.begins)[w] = (u32)i;
    }
}

// ---- windows -------------------------------------------------------------------------------

struct hdd_window_shared {
    u64 word[HDD_WINDOW]; // with all of the lower half of the hash: one row fewer of two is looked at in vain
    u32 skip;
};

HDD_DEVICE void hdd_window_spill(const hdd_window_args &p, u64 word)
{
    const u32 k = hdd_atomic_add(&hdd_window_state_of(p)->spilled, 1u);
    if (k < p.room)
        hdd_at<u64>(p.spilled)[k] = word;
}

HDD_DEVICE void hdd_window_put(hdd_window_shared &s, const hdd_window_args &p, u64 word)
{
    for (u32 at = (u32)(word >> 32) & (HDD_WINDOW - 1); at < HDD_WINDOW; at++) {
        u64 there = hdd_load_relaxed(s.word + at); // a third of the slots are taken: a load is cheaper
        if (there == 0)
            there = hdd_atomic_cas(s.word + at, (u64)0, word);
        if (there == 0)
            return;
        if (there >> 32 == word >> 32 && hdd_window_equal(p, there, word)) {
            hdd_window_fail(p);
            return;
        }
    }
    hdd_window_spill(p, word);
}

// Words from .. to - 1, several at a time so that their loads overlap.
HDD_DEVICE void hdd_window_put_all(hdd_window_shared &s, const hdd_window_args &p, u32 from, u32 to)
{
    const u64 *const words = hdd_at<const u64>(p.words);
    for (u64 start = (u64)from + hdd_thread(); start < to; start += HDD_BLOCK * HDD_WORDS_AT_ONCE) {
        u64 word[HDD_WORDS_AT_ONCE];
        HDD_UNROLL
        for (u32 j = 0; j < HDD_WORDS_AT_ONCE; j++)
            word[j] = start + j * HDD_BLOCK < to ? words[start + j * HDD_BLOCK] : 0;
        HDD_NO_UNROLL
        for (u32 j = 0; j < HDD_WORDS_AT_ONCE; j++)
            if (word[j])
                hdd_window_put(s, p, word[j]);
    }
}

HDD_KERNEL(hdd_window_fill)(HDD_PARAMETER(hdd_window_args, p))
{
    HDD_SHARED(hdd_window_shared, s);
    const u64 windows = (p.mask + 1) >> HDD_WINDOW_BITS;
    for (u64 w = hdd_block(); w < windows; w += p.blocks) {
        const u32 from = hdd_at<const u32>(p.begins)[w], to = hdd_at<const u32>(p.begins)[w + 1];
        if (hdd_thread() == 0) {
            if (to - from > HDD_WINDOW)
                hdd_window_fail(p);
            s.skip = hdd_window_failed(p);
        }
        HDD_UNROLL_4
        for (u32 k = 2 * hdd_thread(); k < HDD_WINDOW; k += 2 * HDD_BLOCK) // what this thread has written out
            s.word[k] = s.word[k + 1] = 0;
        hdd_block_sync();
        if (s.skip)
            return;
        hdd_window_put_all(s, p, from, to);
        hdd_block_sync();
        HDD_UNROLL_4
        for (u32 k = 2 * hdd_thread(); k < HDD_WINDOW; k += 2 * HDD_BLOCK)
            hdd_store16(hdd_at<u64>(p.slots) + (w << HDD_WINDOW_BITS) + k, hdd_window_slot(s.word[k]),
                        hdd_window_slot(s.word[k + 1]));
    }
}

// Those that met no empty slot up to the end of their window go on behind it.
HDD_KERNEL(hdd_window_finish)(HDD_PARAMETER(hdd_window_args, p))
{
    const u64 all = hdd_window_state_of(p)->spilled;
    const u64 n = all < p.room ? all : p.room;
    for (u64 k = hdd_grid_thread(); k < n; k += hdd_grid_step(p.blocks)) {
        const u64 word = hdd_at<const u64>(p.spilled)[k];
        hdd_window_insert(p, ((word >> 32 & p.mask) | (HDD_WINDOW - 1)) + 1, hdd_window_slot(word));
    }
}
