// Strings of the rows of frames, one behind the other (runtime/exec/frames_text.c says how).
#include "hd/finish_frames.cuh"
#include "hd/finish_grid.cuh"

HDD_DEVICE u8 *hdd_frame_text_row(const hdd_frame_text_args &p, u64 i)
{
    return hdd_at<u8>(p.f.rows + i * p.f.stride);
}

HDD_KERNEL(hdd_frame_text_measure)(HDD_PARAMETER(hdd_frame_text_args, p))
{
    for (u64 i = hdd_grid_thread(); i <= p.f.n; i += hdd_grid_step(p.f.blocks)) {
        const u8 *const row = hdd_frame_text_row(p, i < p.f.n ? i : 0);
        const bool some = i < p.f.n && hdd_field_valid(p.f.x, row);
        hdd_at<u32>(p.values)[i] = some;
        if (i < p.f.n)
            hdd_at<u32>(p.sizes)[i] = some ? (u32)hdd_field_string(row, p.f.x.offset).n + p.nseparator : 0;
    }
}

HDD_DEVICE u8 *hdd_frame_text_copy(u8 *to, const u8 *from, u64 n)
{
    for (u64 k = 0; k < n; k++)
        to[k] = from[k];
    return to + n;
}

HDD_KERNEL(hdd_frame_text_join)(HDD_PARAMETER(hdd_frame_text_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        const u8 *const row = hdd_frame_text_row(p, i);
        if (!hdd_field_valid(p.f.x, row))
            continue;
        const hdd_string t = hdd_field_string(row, p.f.x.offset);
        u8 *const to = hdd_at<u8>(p.all + hdd_at<const u64>(p.before)[i]);
        hdd_frame_text_copy(hdd_frame_text_copy(to, t.s, (u64)t.n), hdd_at<const u8>(p.separator), p.nseparator);
    }
}

// The bytes of all strings that a span of row i has, each with a separator behind it, are at[*from] .. at[*to] - 1; false: none.
HDD_DEVICE bool hdd_frame_text_piece(const hdd_frame_text_args &p, const u8 *row, u64 i, u32 span, u64 &from, u64 &to)
{
    u64 a, b;
    const u32 *const values = hdd_at<const u32>(p.values);
    if (!hdd_frames_span_of(p.f, p.f.span[span], row, i, a, b) || values[a] == values[b])
        return false;
    from = hdd_at<const u64>(p.before)[a];
    to = hdd_at<const u64>(p.before)[b];
    return true;
}

HDD_DEVICE void hdd_frame_text_set(const hdd_frame_text_args &p, u8 *row, u64 s, u64 n)
{
    u64 *const out = reinterpret_cast<u64 *>(row + p.f.offset);
    out[0] = s;
    out[1] = n;
}

// Strings of one piece; sizes of the others.
HDD_KERNEL(hdd_frame_text_point)(HDD_PARAMETER(hdd_frame_text_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        u8 *const row = hdd_frame_text_row(p, i);
        u64 from, to, first = 0, bytes = 0;
        u32 n = 0;
        HDD_NO_UNROLL
        for (u32 k = 0; k < p.f.nspans; k++) {
            if (!hdd_frame_text_piece(p, row, i, k, from, to))
                continue;
            first = n++ ? first : from;
            bytes += to - from;
        }
        bytes -= n ? p.nseparator : 0;
        row[p.f.valid_offset] = n > 0;
        if (bytes > 0x7fffffff)
            *hdd_at<u64>(p.too_long) = 1;
        hdd_at<u32>(p.sizes)[i] = n > 1 ? (u32)bytes : 0;
        if (n == 1)
            hdd_frame_text_set(p, row, p.all + first, bytes);
    }
}

// A warp copies a row's pieces.
HDD_KERNEL(hdd_frame_text_gather)(HDD_PARAMETER(hdd_frame_text_args, p))
{
    const u64 lane = hdd_grid_thread() % HDD_LANES;
    for (u64 i = hdd_grid_thread() / HDD_LANES; i < p.f.n; i += hdd_grid_step(p.f.blocks) / HDD_LANES) {
        u8 *const row = hdd_frame_text_row(p, i);
        u64 from, to, at = hdd_at<const u64>(p.made_before)[i], n = 0;
        const u64 bytes = hdd_at<const u64>(p.made_before)[i + 1] - at;
        if (!bytes)
            continue;
        HDD_NO_UNROLL
        for (u32 k = 0; k < p.f.nspans; k++) {
            if (!hdd_frame_text_piece(p, row, i, k, from, to))
                continue;
            for (u64 b = lane; b < to - from && n + b < bytes; b += HDD_LANES)
                hdd_at<u8>(p.made)[at + n + b] = hdd_at<const u8>(p.all)[from + b];
            n += to - from;
        }
        if (lane == 0)
            hdd_frame_text_set(p, row, p.made + at, bytes);
    }
}
