// The first rows of each group of sorted rows: a row looks back as many rows as there are before the first that stays, and
// as many as stay, whether its group is still there; so no row has to know where its group begins.
#include "hd/finish_keys.cuh"

HDD_DEVICE const u8 *hdd_top_row(const hdd_top_args &p, u64 i)
{
    return hdd_at<const u8>(p.rows + i * p.keys.stride);
}

// Rows i and j are equal in the first keys.
HDD_APART bool hdd_top_same(const hdd_top_args &p, u32 keys, u64 i, u64 j)
{
    const hdd_key *const key = hdd_keys_of(p.keys);
    const u8 *const a = hdd_top_row(p, i), *const b = hdd_top_row(p, j);
    for (u32 k = 0; k < keys; k++) {
        const bool va = hdd_field_valid(key[k], a), vb = hdd_field_valid(key[k], b);
        if (va != vb || (va && hdd_compare_values(key[k].phys, a, b, key[k].offset) != 0))
            return false;
    }
    return true;
}

// At least `rank` rows of its group come before row i.
HDD_DEVICE bool hdd_top_behind(const hdd_top_args &p, u64 i, u64 rank)
{
    return i >= rank && (rank == 0 || hdd_top_same(p, p.ngroup, i, i - rank));
}

// The first of the rows that tie with row i: by steps that double, then by halves.
HDD_DEVICE u64 hdd_top_first_tied(const hdd_top_args &p, u64 i)
{
    u64 at = i, step = 1;
    for (; at >= step && hdd_top_same(p, p.keys.n, i, at - step); step *= 2)
        at -= step;
    u64 from = at >= step ? at - step + 1 : 0;
    while (from < at) {
        const u64 mid = from + (at - from) / 2;
        if (hdd_top_same(p, p.keys.n, i, mid))
            at = mid;
        else
            from = mid + 1;
    }
    return at;
}

HDD_DEVICE bool hdd_top_stays(const hdd_top_args &p, u64 i)
{
    if (p.wanted == p.offset || !hdd_top_behind(p, i, p.offset))
        return false;
    if (!hdd_top_behind(p, i, p.wanted))
        return true;
    return p.keep && !hdd_top_behind(p, hdd_top_first_tied(p, i), p.wanted);
}

HDD_KERNEL(hdd_top_mark)(HDD_PARAMETER(hdd_top_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks))
        hdd_at<u32>(p.flags)[i] = hdd_top_stays(p, i);
}

// A warp moves words side by side.
HDD_KERNEL(hdd_top_move)(HDD_PARAMETER(hdd_top_args, p))
{
    const u32 words = p.keys.stride / 8;
    const u64 n = p.n * words;
    for (u64 i = hdd_grid_thread(); i < n; i += hdd_grid_step(p.blocks)) {
        const u64 row = i / words, k = i % words;
        if (hdd_at<const u32>(p.flags)[row])
            hdd_at<u64>(p.to)[hdd_at<const u64>(p.places)[row] * words + k] = hdd_at<const u64>(p.rows)[i];
    }
}
