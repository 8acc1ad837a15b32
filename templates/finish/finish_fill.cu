// Rows as they are before anything is added to them; slots of groups that moved.
#include "hd/finish_keys.cuh"
#include "hd/hash.cuh"

HDD_KERNEL(hdd_fill)(HDD_PARAMETER(hdd_fill_args, p))
{
    const u64 *pattern = p.more ? hdd_at<const u64>(p.more) : p.pattern;
    u64 *const to = hdd_at<u64>(p.to);
    const u64 n = p.rows * p.words, step = hdd_grid_step(p.blocks);
    u32 k = (u32)(hdd_grid_thread() % p.words);
    const u32 turn = (u32)(step % p.words);
    for (u64 i = hdd_grid_thread(); i < n; i += step) {
        to[i] = pattern[k];
        k += turn;
        if (k >= p.words)
            k -= p.words;
    }
}

HDD_KERNEL(hdd_fill_slots)(HDD_PARAMETER(hdd_slots_args, p))
{
    u64 *const slots = hdd_at<u64>(p.slots);
    for (u64 r = hdd_grid_thread(); r < p.n; r += hdd_grid_step(p.blocks)) {
        const u64 head = *hdd_at<const u64>(p.rows + r * p.stride), h = p.word ? hdd_hash_word(head) : head;
        const u64 slot = h >> 32 << 32 | (r + 1);
        u64 at = h & p.mask;
        while (hdd_atomic_cas(slots + at, (u64)0, slot) != 0)
            at = (at + 1) & p.mask;
    }
}

// Keys are distinct, and there is room.
HDD_KERNEL(hdd_spread_groups)(HDD_PARAMETER(hdd_spread_args, p))
{
    for (u64 r = hdd_grid_thread(); r < p.n; r += hdd_grid_step(p.blocks)) {
        const u64 *const from = hdd_at<const u64>(p.from + r * p.stride);
        u64 at = hdd_word_place(from[0], p.slots);
        while (hdd_atomic_cas(hdd_at<u64>(p.to + at * p.stride), (u64)0, from[0]) != 0)
            at = at + 1 == p.slots ? 0 : at + 1;
        hdd_copy_words(hdd_at<u64>(p.to + at * p.stride) + 1, from + 1, p.stride / 8 - 1);
    }
}
