// Rows that go to other devices: side by side by the worker that reads them, before they are copied; and as columns of a
// table once they are there.
#include "hd/finish_digits.cuh"
#include "hd/finish_keys.cuh"

// ---- rows by worker: one counting pass, one that moves ---------------------------------------

HDD_DEVICE i128 hdd_exchange_integer(const u8 *row, u32 phys, u32 offset)
{
    switch (phys) {
    case HDD_BOOL: return row[offset] != 0;
    case HDD_I32: return hdd_field<i32>(row, offset);
    case HDD_I64: return hdd_field<i64>(row, offset);
    default: return hdd_field<i128>(row, offset);
    }
}

// The worker's number; `parts` for a lane without a row.
HDD_DEVICE u32 hdd_split_part(const hdd_split_args &p, u64 i, u64 end)
{
    if (i >= end)
        return p.parts;
    const u32 part = (u32)hdd_exchange_integer(hdd_at<const u8>(p.rows + i * p.stride), p.phys, p.offset);
    return hdd_min(part, p.parts - 1);
}

struct hdd_split_counts {
    u32 warp[HDD_WARPS][HDD_SPLIT_PARTS + 1];
};

HDD_DEVICE void hdd_split_clear(hdd_split_counts &s)
{
    for (u32 i = hdd_lane(); i <= HDD_SPLIT_PARTS; i += HDD_LANES)
        s.warp[hdd_warp()][i] = 0;
    hdd_warp_sync();
}

// What each block has of each worker's rows. A block's rows follow each other, so that rows keep their order.
HDD_KERNEL(hdd_split_count)(HDD_PARAMETER(hdd_split_args, p))
{
    HDD_SHARED(hdd_split_counts, s);
    const u64 from = (u64)hdd_block() * p.each, end = from + p.each < p.n ? from + p.each : p.n;
    hdd_split_clear(s);
    for (u64 i = from + hdd_thread(); i - hdd_thread() < end; i += HDD_BLOCK)
        hdd_radix_place(s.warp[hdd_warp()], hdd_split_part(p, i, end));
    hdd_block_sync();
    for (u32 d = hdd_thread(); d < p.parts; d += HDD_BLOCK) {
        u32 n = 0;
        for (u32 w = 0; w < HDD_WARPS; w++)
            n += s.warp[w][d];
        hdd_at<u32>(p.counts)[d * p.blocks + hdd_block()] = n;
    }
}

// One block.
HDD_KERNEL(hdd_split_firsts)(HDD_PARAMETER(hdd_split_args, p))
{
    for (u32 d = hdd_thread(); d <= p.parts; d += HDD_BLOCK)
        hdd_at<u64>(p.firsts)[d] = hdd_at<const u64>(p.sums)[d * p.blocks];
}

struct hdd_split_shared {
    u64 stage[HDD_STAGE_ROWS];
    u64 next[HDD_SPLIT_PARTS]; // row of the output
    hdd_split_counts counts;
    u32 start[HDD_SPLIT_PARTS]; // of a worker's rows in the tile
    hdd_block_prefix sums;
    u16 place[HDD_SPLIT_TILE]; // of a row in the tile
    u8 part[HDD_SPLIT_TILE]; // of a row
    u8 part_at[HDD_SPLIT_TILE]; // of the row in a place
};

// Each warp has rows that follow each other; its places are those behind the rows of the warps before. Whole block. Returns
// how many rows the worker of this thread's number has.
HDD_DEVICE u32 hdd_split_places(hdd_split_shared &s, const hdd_split_args &p, u64 start, u32 m)
{
    const u32 each = p.tile / HDD_WARPS, from = hdd_warp() * each;
    hdd_split_clear(s.counts);
    for (u32 k = hdd_lane(); k < each; k += HDD_LANES) {
        const u32 d = hdd_split_part(p, start + from + k, start + m);
        s.part[from + k] = (u8)d;
        s.place[from + k] = (u16)hdd_radix_place(s.counts.warp[hdd_warp()], d);
    }
    hdd_block_sync();
    u32 mine = 0, all;
    for (u32 w = 0; w < HDD_WARPS && hdd_thread() < p.parts; w++) {
        const u32 n = s.counts.warp[w][hdd_thread()];
        s.counts.warp[w][hdd_thread()] = mine;
        mine += n;
    }
    const u32 before = hdd_block_prefix_sum(s.sums, mine, all);
    if (hdd_thread() < p.parts)
        s.start[hdd_thread()] = before;
    hdd_block_sync();
    for (u32 i = hdd_thread(); i < m; i += HDD_BLOCK) {
        const u32 d = s.part[i], place = s.place[i] + s.start[d] + s.counts.warp[i / each][d];
        s.place[i] = (u16)place;
        s.part_at[place] = (u8)d;
    }
    hdd_block_sync();
    return mine;
}

// By way of shared memory, so that writes are of whole runs.
HDD_DEVICE void hdd_split_staged(hdd_split_shared &s, const u64 *from, u64 *to, u32 m, u32 words)
{
    for (u32 k = hdd_thread(); k < m * words; k += HDD_BLOCK) {
        const u32 i = k / words;
        s.stage[s.place[i] * words + k % words] = from[k];
    }
    hdd_block_sync();
    for (u32 k = hdd_thread(); k < m * words; k += HDD_BLOCK) {
        const u32 i = k / words, d = s.part_at[i];
        to[(s.next[d] + (i - s.start[d])) * words + k % words] = s.stage[k];
    }
}

// Rows that are long runs themselves.
HDD_DEVICE void hdd_split_long(const hdd_split_shared &s, const u64 *from, u64 *to, u32 m, u32 words)
{
    for (u32 k = hdd_thread(); k < m * words; k += HDD_BLOCK) {
        const u32 i = k / words, d = s.part[i];
        to[(s.next[d] + (s.place[i] - s.start[d])) * words + k % words] = from[k];
    }
}

HDD_KERNEL(hdd_split_move)(HDD_PARAMETER(hdd_split_args, p))
{
    HDD_SHARED(hdd_split_shared, s);
    const u64 from = (u64)hdd_block() * p.each, end = from + p.each < p.n ? from + p.each : p.n;
    const u32 words = p.stride / 8;
    if (hdd_thread() < p.parts)
        s.next[hdd_thread()] = hdd_at<const u64>(p.sums)[hdd_thread() * p.blocks + hdd_block()];
    for (u64 start = from; start < end; start += p.tile) {
        const u32 m = (u32)(end - start < p.tile ? end - start : p.tile);
        const u32 mine = hdd_split_places(s, p, start, m);
        const u64 *const rows = hdd_at<const u64>(p.rows + start * p.stride);
        if (p.tile * p.stride > HDD_STAGE_BYTES)
            hdd_split_long(s, rows, hdd_at<u64>(p.to), m, words);
        else
            hdd_split_staged(s, rows, hdd_at<u64>(p.to), m, words);
        hdd_block_sync();
        if (hdd_thread() < p.parts)
            s.next[hdd_thread()] += mine;
    }
}

// ---- strings ---------------------------------------------------------------------------------

// The bytes of a row's string: in the row's own place, or an entry of a dictionary.
HDD_DEVICE const u8 *hdd_exchange_string(const hdd_sent_text_args &p, u64 i, u32 &n)
{
    const u8 *const row = hdd_at<const u8>(p.rows + i * p.stride);
    n = 0;
    if (p.valid >= 0 && row[p.valid] == 0)
        return nullptr;
    if (p.dict_offsets) {
        const u32 *const at = hdd_at<const u32>(p.dict_offsets) + (u32)hdd_exchange_integer(row, p.phys, p.offset);
        n = at[1] - at[0];
        return hdd_at<const u8>(p.dict_bytes) + at[0];
    }
    const hdd_string s = hdd_field_string(row, p.offset);
    n = (u32)s.n;
    return s.s;
}

HDD_KERNEL(hdd_sent_lengths)(HDD_PARAMETER(hdd_sent_text_args, p))
{
    u32 longest = 0;
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        u32 n;
        hdd_exchange_string(p, i, n);
        hdd_at<u32>(p.lengths)[i] = n;
        longest = n > longest ? n : longest;
    }
    if (longest)
        hdd_atomic_max(hdd_at<i32>(p.longest), (i32)longest); // strings have 2^31 - 1 bytes at most
}

// One block; sums are there.
HDD_KERNEL(hdd_sent_at)(HDD_PARAMETER(hdd_sent_text_args, p))
{
    for (u32 k = hdd_thread(); k <= p.parts; k += HDD_BLOCK)
        hdd_at<u64>(p.at)[k] = hdd_at<const u64>(p.sums)[p.first[k]];
    if (hdd_thread() == 0)
        hdd_at<u64>(p.at)[p.parts + 1] = *hdd_at<const u32>(p.longest);
}

HDD_KERNEL(hdd_sent_copy)(HDD_PARAMETER(hdd_sent_text_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        u32 n;
        const u8 *const from = hdd_exchange_string(p, i, n);
        u8 *const to = hdd_at<u8>(p.bytes + hdd_at<const u64>(p.sums)[i]);
        for (u32 k = 0; k < n; k++)
            to[k] = from[k];
    }
}

// ---- columns ---------------------------------------------------------------------------------

HDD_DEVICE void hdd_exchange_put(const hdd_exchange_column &c, const u8 *row, bool there, u64 i)
{
    if (c.phys == HDD_F64)
        hdd_at<u64>(c.to)[i] = there ? hdd_field<u64>(row, c.offset) : 0;
    else if (c.phys == HDD_F32)
        hdd_at<u32>(c.to)[i] = there ? hdd_field<u32>(row, c.offset) : 0;
    else {
        const i128 v = there ? hdd_exchange_integer(row, c.phys, c.offset) : (i128)0;
        switch (c.width) {
        case 1: hdd_at<u8>(c.to)[i] = (u8)v; break;
        case 4: hdd_at<i32>(c.to)[i] = (i32)v; break;
        case 8: hdd_at<i64>(c.to)[i] = (i64)v; break;
        default: hdd_at<i128>(c.to)[i] = v; break;
        }
    }
}

// Where the string of row i ends, from where that of its block's first row begins: that is of these rows, or told by one before.
HDD_DEVICE void hdd_exchange_end(const hdd_exchange_args &p, const hdd_exchange_column &c, u64 i)
{
    const u64 *const sums = hdd_at<const u64>(c.sums), block = i >> HDD_TEXT_BLOCK_SHIFT;
    const u64 first = block << HDD_TEXT_BLOCK_SHIFT, shift = c.base - c.origin;
    const u64 base = first < p.first ? hdd_at<const u64>(c.bases)[block] : sums[first - p.first] + shift;
    hdd_at<u32>(c.to)[i] = (u32)(sums[i - p.first + 1] + shift - base);
    if (i == first)
        hdd_at<u64>(c.bases)[block] = base;
}

// Rows become those of a table from `first` on; zeros follow up to `end`. A warp has the rows of one word of the bitmaps,
// which are zeros at first; others may have rows of that word.
HDD_KERNEL(hdd_exchange_columns)(HDD_PARAMETER(hdd_exchange_args, p))
{
    const u64 low = p.first / HDD_LANES * HDD_LANES, n = hdd_whole_warps(p.end - low);
    for (u64 k = hdd_grid_thread(); k < n; k += hdd_grid_step(p.blocks)) {
        const u64 i = low + k;
        const bool mine = i >= p.first && i < p.end, filled = mine && i < p.first + p.n;
        const u8 *const row = hdd_at<const u8>(p.rows + (filled ? i - p.first : 0) * p.stride);
        for (u32 c = 0; c < p.ncolumns; c++) {
            const hdd_exchange_column &column = p.column[c];
            const bool there = filled && (column.valid < 0 || row[column.valid] != 0);
            if (column.sums && filled)
                hdd_exchange_end(p, column, i);
            if (mine && !column.sums)
                hdd_exchange_put(column, row, there, i);
            const u32 word = column.bits ? hdd_ballot(there) : 0;
            if (word && hdd_lane() == 0)
                hdd_atomic_or(hdd_at<u32>(column.bits) + i / HDD_LANES, word);
        }
    }
}
