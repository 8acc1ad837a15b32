// The k-th values of frames, by a walk of all rows down a wavelet matrix of ranks; and the matrix, a level at a time
// (runtime/exec/frames_matrix.c, frames_ranked.c).
#include "hd/finish_ranked.cuh"
#include "hd/ranked.cuh"

HDD_DEVICE u32 hdd_ranked_code(const hdd_ranked_args &p, u64 i)
{
    const u8 *const row = hdd_ranked_row(p, i);
    return hdd_field_valid(p.f.x, row) ? (u32)hdd_field<i32>(row, p.f.x.offset) : 0;
}

// Both words are 0 at first.
HDD_KERNEL(hdd_ranked_survey)(HDD_PARAMETER(hdd_ranked_args, p))
{
    i32 code = 0, rows = 0;
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        const u8 *const row = hdd_ranked_row(p, i);
        const i32 c = (i32)hdd_ranked_code(p, i), n = hdd_field<i32>(row, p.f.end) - hdd_field<i32>(row, p.f.begin);
        code = c > code ? c : code;
        rows = n > rows ? n : rows;
    }
    hdd_atomic_max(hdd_at<i32>(p.largest), code);
    hdd_atomic_max(hdd_at<i32>(p.largest) + 1, rows);
}

HDD_KERNEL(hdd_ranked_fill)(HDD_PARAMETER(hdd_ranked_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        const u32 code = hdd_ranked_code(p, i);
        hdd_at<u32>(p.code)[i] = code ? code : p.none;
        hdd_at<u32>(p.row)[i] = (u32)i;
    }
}

// ---- levels ----------------------------------------------------------------------------------

HDD_KERNEL(hdd_ranked_mark)(HDD_PARAMETER(hdd_ranked_args, p))
{
    for (u64 i = hdd_grid_thread(); i <= p.f.n; i += hdd_grid_step(p.f.blocks))
        hdd_at<u32>(p.before)[i] = i < p.f.n && !(hdd_at<const u32>(p.code)[i] >> p.bit & 1);
}

HDD_KERNEL(hdd_ranked_move)(HDD_PARAMETER(hdd_ranked_args, p))
{
    const u32 all = hdd_ranked_zeros(p, (u32)p.f.n);
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        const u32 code = hdd_at<const u32>(p.code)[i], zeros = hdd_ranked_zeros(p, (u32)i);
        const u32 to = code >> p.bit & 1 ? all + (u32)i - zeros : zeros;
        hdd_at<u32>(p.next_code)[to] = code;
        hdd_at<u32>(p.next_row)[to] = hdd_at<const u32>(p.row)[i];
    }
}

// ---- walks -----------------------------------------------------------------------------------

HDD_DEVICE u32 hdd_ranked_place(const hdd_ranked_args &p, u64 n)
{
    return n ? (u32)hdd_place_of((i64)n, p.place, p.num, p.den) : 0;
}

HDD_KERNEL(hdd_ranked_start)(HDD_PARAMETER(hdd_ranked_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        u64 n = 0;
        HDD_NO_UNROLL
        for (u32 k = 0; k < p.f.nspans; k++) {
            u64 from, to;
            const bool some = hdd_frames_span_of(p.f, p.f.span[k], hdd_ranked_row(p, i), i, from, to);
            hdd_walk_from(p, k, i, some ? from : 0, some ? to : 0);
            n += some ? to - from : 0;
        }
        hdd_walk(p, HDD_WALK_WORDS - 1, i) = hdd_ranked_place(p, n);
    }
}

HDD_KERNEL(hdd_ranked_descend)(HDD_PARAMETER(hdd_ranked_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        u32 lo[HDD_FRAMES_SPANS], hi[HDD_FRAMES_SPANS], n = 0, &want = hdd_walk(p, HDD_WALK_WORDS - 1, i);
        HDD_UNROLL
        for (u32 k = 0; k < HDD_FRAMES_SPANS; k++) {
            if (k >= p.f.nspans)
                continue;
            lo[k] = hdd_ranked_zeros(p, hdd_walk(p, 2 * k, i));
            hi[k] = hdd_ranked_zeros(p, hdd_walk(p, 2 * k + 1, i));
            n += hi[k] - lo[k];
        }
        if (p.counts)
            want = hdd_ranked_place(p, n);
        const bool zeros = p.counts || want < n;
        want -= zeros ? 0 : n;
        HDD_UNROLL
        for (u32 k = 0; k < HDD_FRAMES_SPANS; k++)
            if (k < p.f.nspans)
                hdd_walk_on(p, k, i, lo[k], hi[k], zeros);
    }
}

// Of the rows of a frame that have the value: the one in its place.
HDD_KERNEL(hdd_ranked_arrive)(HDD_PARAMETER(hdd_ranked_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        u8 *const row = hdd_ranked_row(p, i);
        u32 before = hdd_walk(p, HDD_WALK_WORDS - 1, i);
        bool found = false;
        HDD_NO_UNROLL
        for (u32 k = 0; k < p.f.nspans && !found; k++) {
            const u32 from = hdd_walk(p, 2 * k, i), n = hdd_walk(p, 2 * k + 1, i) - from;
            found = before < n;
            if (found)
                *reinterpret_cast<i64 *>(row + p.f.offset) =
                    (i64)hdd_at<const u32>(p.row)[from + before] + 1 - hdd_field<i32>(row, p.f.begin);
            else
                before -= n;
        }
        row[p.f.valid_offset] = found;
    }
}
