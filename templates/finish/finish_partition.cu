// Rows of one part side by side: a pass of a radix sort by eight bits of a hash, whole rows moved. Before rows are written
// they lie side by side in shared memory, so that writes are of whole runs.
#include "hd/finish_digits.cuh"
#include "hd/finish_keys.cuh"
#include "hd/hash.cuh"

// ---- the hash of a row ---------------------------------------------------------------------

HDD_DEVICE u64 hdd_hash_field(u64 h, const hdd_key &k, const u8 *row)
{
    if (!hdd_field_valid(k, row))
        return hdd_mix(h ^ HDD_HASH_NULL);
    switch (k.phys) {
    case HDD_BOOL: return hdd_hash_more(h, row[k.offset] != 0);
    case HDD_I32: return hdd_hash_more(h, hdd_field<i32>(row, k.offset));
    case HDD_I64: return hdd_hash_more(h, hdd_field<i64>(row, k.offset));
    case HDD_I128: return hdd_hash_more(h, hdd_field<i128>(row, k.offset));
    case HDD_F64: return hdd_hash_more(h, hdd_field<f64>(row, k.offset));
    case HDD_F32: return hdd_hash_more(h, hdd_field<f32>(row, k.offset));
    default: return hdd_hash_more(h, hdd_field_string(row, k.offset));
    }
}

HDD_APART u64 hdd_hash_fields(const hdd_keys &keys, const u8 *row)
{
    const hdd_key *const key = hdd_keys_of(keys);
    u64 h = HDD_HASH_SEED;
    for (u32 i = 0; i < keys.n; i++)
        h = hdd_hash_field(h, key[i], row);
    return h;
}

// The most frequent kinds without a call.
HDD_DEVICE u64 hdd_partition_hash(const hdd_keys &keys, const u8 *row)
{
    if (keys.n == 0)
        return hdd_field<u64>(row, 0);
    if (keys.n == 1 && keys.key[0].phys == HDD_I32 && keys.key[0].valid < 0)
        return hdd_hash_more(HDD_HASH_SEED, hdd_field<i32>(row, keys.key[0].offset));
    return hdd_hash_fields(keys, row);
}

// ---- counting ------------------------------------------------------------------------------

struct hdd_partition_hashes {
    const hdd_partition_count_args &p;

    template <u32 N> HDD_MEMBER void operator()(u64 start, u64 step, u64 (&hash)[N]) const
    {
        HDD_UNROLL
        for (u32 j = 0; j < N; j++)
            hash[j] = hdd_partition_hash(p.keys, hdd_at<const u8>(p.rows + (start + j * step) * p.keys.stride));
    }
};

HDD_KERNEL(hdd_partition_count)(HDD_PARAMETER(hdd_partition_count_args, p))
{
    HDD_SHARED(hdd_digit_counts, shared);
    hdd_count_digits(shared, p.digits, p.blocks, p.n, 0, hdd_partition_hashes{p});
}

// One block.
HDD_KERNEL(hdd_partition_begin)(HDD_PARAMETER(hdd_digits, p))
{
    HDD_SHARED(hdd_block_prefix, sums);
    hdd_digits_begin(sums, p);
}

// ---- moving --------------------------------------------------------------------------------

struct hdd_partition_shared {
    hdd_radix_tile tile;
    u64 stage[HDD_STAGE_ROWS];
    u16 place[HDD_STAGE_ROWS]; // of a row in the tile
    u8 digit[HDD_STAGE_ROWS]; // of a row
    union { // counts are no longer needed when rows have places
        hdd_radix_counts counts;
        u8 digit_at[HDD_STAGE_ROWS]; // of the row in a place
    };
};

// Digits, and how many of each a warp has: its rows lie side by side, so that places follow their order. Whole block.
HDD_DEVICE void hdd_partition_digits(hdd_partition_shared &s, const hdd_partition_args &p, u64 rows, u32 m)
{
    const u32 each = p.tile / HDD_WARPS, from = hdd_warp() * each;
    HDD_UNROLL_4
    for (u32 k = hdd_lane(); k < each; k += HDD_LANES) {
        const u32 i = from + k;
        const u64 h = i < m ? hdd_partition_hash(p.keys, hdd_at<const u8>(rows + (u64)i * p.keys.stride)) : 0;
        const u32 d =
            i < m ? (u32)(h >> p.shift) & p.mask : p.mask; // behind the last row follow such with the last digit
        s.digit[i] = (u8)d;
        hdd_atomic_add(&s.counts.warp[hdd_warp()][d], 1u);
    }
    hdd_block_sync();
}

// Places in the tile, and the digits of these. Whole block.
HDD_DEVICE void hdd_partition_places(hdd_partition_shared &s, const hdd_partition_args &p, u32 m)
{
    const u32 each = p.tile / HDD_WARPS, from = hdd_warp() * each;
    HDD_UNROLL_4
    for (u32 k = 0; k < each; k += HDD_LANES) {
        const u32 i = from + k + hdd_lane();
        s.place[i] = (u16)hdd_radix_place(s.counts.warp[hdd_warp()], s.digit[i]);
    }
    hdd_block_sync();
    for (u32 i = hdd_thread(); i < m; i += HDD_BLOCK)
        s.digit_at[s.place[i]] = s.digit[i];
    hdd_block_sync();
}

// W: words of a row, 0: as many as `words` says.
template <u32 W> HDD_DEVICE void hdd_partition_rows(hdd_partition_shared &s, const u64 *from, u64 *to, u32 m, u32 words)
{
    const u32 n = m * (W ? W : words);
    HDD_UNROLL_4
    for (u32 k = hdd_thread(); k < n; k += HDD_BLOCK) {
        const u32 i = k / (W ? W : words), word = k % (W ? W : words);
        s.stage[s.place[i] * (W ? W : words) + word] = from[k];
    }
    hdd_block_sync();
    HDD_UNROLL_4
    for (u32 k = hdd_thread(); k < n; k += HDD_BLOCK) {
        const u32 i = k / (W ? W : words), word = k % (W ? W : words);
        to[(u64)(i + s.tile.place[s.digit_at[i]]) * (W ? W : words) + word] = s.stage[k];
    }
    hdd_block_sync();
}

// Rows that are long runs themselves.
HDD_DEVICE void hdd_partition_long_rows(hdd_partition_shared &s, const u64 *from, u64 *to, u32 m, u32 words)
{
    const u32 n = m * words;
    for (u32 k = hdd_thread(); k < n; k += HDD_BLOCK) {
        const u32 i = k / words;
        to[(u64)(s.place[i] + s.tile.place[s.digit[i]]) * words + k % words] = from[k];
    }
    hdd_block_sync();
}

HDD_KERNEL(hdd_partition_move)(HDD_PARAMETER(hdd_partition_args, p))
{
    HDD_SHARED(hdd_partition_shared, s);
    const u32 tiles = (u32)((p.n + p.tile - 1) / p.tile), words = p.keys.stride / 8;
    for (;;) {
        const u32 tile = hdd_take_tile(s.tile, p.next);
        if (tile >= tiles)
            return;
        const u64 start = (u64)tile * p.tile, rows = p.rows + start * p.keys.stride;
        const u32 m = hdd_min((u32)(p.n - start), p.tile);
        const u64 *const from = hdd_at<const u64>(rows);
        u64 *const to = hdd_at<u64>(p.to);
        hdd_radix_clear(s.counts.warp[hdd_warp()]);
        hdd_warp_sync();
        hdd_partition_digits(s, p, rows, m);
        const hdd_radix_digits mine =
            hdd_radix_begins(s.tile, s.counts, tile, p.stable != 0, p.status, p.since, p.tile - m, p.mask);
        hdd_block_sync();
        hdd_radix_places(s.tile, mine, tile, tile + 1 == tiles, p.stable != 0, p.status, p.since, p.base);
        hdd_partition_places(s, p, m);
        if (p.tile * p.keys.stride > HDD_STAGE_BYTES)
            hdd_partition_long_rows(s, from, to, m, words);
        else if (words == 1)
            hdd_partition_rows<1>(s, from, to, m, words);
        else if (words == 2)
            hdd_partition_rows<2>(s, from, to, m, words);
        else if (words == 3)
            hdd_partition_rows<3>(s, from, to, m, words);
        else
            hdd_partition_rows<0>(s, from, to, m, words);
    }
}
