// Sums of the distinct values of frames, and how many there are (runtime/exec/frames_distinct.c says how): keys of rows from
// the rows in the order of their ranks, then a walk of all rows down a wavelet matrix of the keys, with a tree of sums
// beside each level.
#include "hd/finish_ranked.cuh"

constexpr u32 HDD_DISTINCT_LIMIT = HDD_WALK_WORDS - 1; // word of a walk; 0 is, before it starts, whether a row is alone

// ---- keys --------------------------------------------------------------------------------------

// The first place at or behind `row` of the rank.
HDD_DEVICE u64 hdd_distinct_place(const hdd_ranked_args &p, u32 code, u64 row)
{
    u64 lo = 0, hi = p.f.n;
    HDD_NO_UNROLL
    while (lo < hi) {
        const u64 middle = lo + (hi - lo) / 2;
        const u32 c = hdd_at<const u32>(p.code)[middle];
        if (c < code || (c == code && hdd_at<const u32>(p.row)[middle] < row))
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

// The row at a place; -1: the value is not there from row `begin` up to `end`.
HDD_DEVICE i64 hdd_distinct_row(const hdd_ranked_args &p, u64 place, u32 code, i64 begin, i64 end)
{
    if (place >= p.f.n || hdd_at<const u32>(p.code)[place] != code)
        return -1;
    const i64 row = hdd_at<const u32>(p.row)[place];
    return row >= begin && row < end ? row : -1;
}

// Where the frame of row i begins and ends, whatever it leaves out, and maybe in front of its partition or behind it.
HDD_DEVICE void hdd_distinct_frame(const hdd_ranked_args &p, i64 i, i64 &from, i64 &to)
{
    const hdd_frames_span &s = p.f.span[0];
    const u8 *const row = hdd_ranked_row(p, (u64)i);
    from = hdd_frames_number(row, s.from[0], (u64)i) + s.from_by[0];
    to = hdd_frames_number(row, s.to[0], (u64)i) + s.to_by[0];
}

// Rows that are left out.
HDD_DEVICE void hdd_distinct_gap(const hdd_ranked_args &p, u64 i, i64 &from, i64 &to)
{
    const hdd_frames_span &s = p.f.span[0], &t = p.f.span[p.f.nspans - 1];
    const u8 *const row = hdd_ranked_row(p, i);
    from = hdd_frames_number(row, s.to[1], i) + s.to_by[1];
    to = hdd_frames_number(row, t.from[1], i) + t.from_by[1];
}

HDD_DEVICE u32 hdd_distinct_reaching(const hdd_ranked_args &p, i64 from, i64 to, i64 begin, i64 before, i64 next)
{
    i64 lo = from, hi = to;
    HDD_NO_UNROLL
    while (lo < hi) {
        const i64 i = lo + (hi - lo) / 2;
        i64 a, b;
        hdd_distinct_frame(p, i, a, b);
        if ((before < 0 || before < a) && next < b)
            hi = i;
        else
            lo = i + 1;
    }
    return lo < to ? (u32)(lo - begin) : p.never;
}

HDD_DEVICE bool hdd_distinct_alone(const hdd_ranked_args &p, i64 i, i64 before, i64 behind)
{
    u64 from, to;
    i64 a, b;
    if (p.f.nspans < HDD_FRAMES_SPANS ||
        !hdd_frames_span_of(p.f, p.f.span[1], hdd_ranked_row(p, (u64)i), (u64)i, from, to))
        return false;
    hdd_distinct_frame(p, i, a, b);
    return (before < 0 || before < a) && (behind < 0 || behind >= b);
}

HDD_KERNEL(hdd_distinct_keys)(HDD_PARAMETER(hdd_ranked_args, p))
{
    for (u64 at = hdd_grid_thread(); at < p.f.n; at += hdd_grid_step(p.f.blocks)) {
        const u32 code = hdd_at<const u32>(p.code)[at], i = hdd_at<const u32>(p.row)[at];
        const u8 *const row = hdd_ranked_row(p, i);
        const i64 begin = hdd_field<i32>(row, p.f.begin), end = hdd_field<i32>(row, p.f.end);
        const i64 last = at ? hdd_distinct_row(p, at - 1, code, begin, end) : -1;
        const bool there = code != p.none;
        bool alone = false;
        hdd_at<u32>(p.key)[i] = !there ? p.never : last < 0 ? 0 : (u32)(last - begin + 1);
        if (p.f.nspans > 1) {
            i64 from, to;
            hdd_distinct_gap(p, i, from, to);
            const i64 next = hdd_distinct_row(p, at + 1, code, begin, end);
            const u64 first = hdd_distinct_place(p, code, (u64)from);
            const i64 before = first ? hdd_distinct_row(p, first - 1, code, begin, end) : -1;
            const i64 behind = hdd_distinct_row(p, hdd_distinct_place(p, code, (u64)to), code, begin, end);
            hdd_at<u32>(p.gap_key)[i] =
                there && next >= to ? hdd_distinct_reaching(p, from, to, begin, before, next) : p.never;
            alone = there && hdd_distinct_alone(p, i, before, behind);
        }
        hdd_walk(p, 0, i) = alone;
    }
}

// A field begins with the own row's value where that is alone.
template <class T> HDD_DEVICE void hdd_distinct_begin(const hdd_ranked_args &p)
{
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        u8 *const row = hdd_ranked_row(p, i);
        const bool alone = hdd_walk(p, 0, i) != 0;
        row[p.f.valid_offset] = alone;
        *reinterpret_cast<T *>(row + p.f.offset) = !alone ? (T)0 : p.y < 0 ? (T)1 : hdd_field<T>(row, (u32)p.y);
    }
}

HDD_KERNEL(hdd_distinct_clear)(HDD_PARAMETER(hdd_ranked_args, p))
{
    switch (p.f.phys) {
    case HDD_I64: hdd_distinct_begin<i64>(p); break;
    case HDD_I128: hdd_distinct_begin<i128>(p); break;
    default: hdd_distinct_begin<f64>(p); break;
    }
}

// ---- walks -------------------------------------------------------------------------------------

HDD_KERNEL(hdd_distinct_fill)(HDD_PARAMETER(hdd_ranked_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        const u32 key = hdd_at<const u32>(p.in_gaps ? p.gap_key : p.key)[i];
        hdd_at<u32>(p.code)[i] = p.running ? key > 0 : key;
        hdd_at<u32>(p.row)[i] = (u32)i;
    }
}

HDD_KERNEL(hdd_distinct_start)(HDD_PARAMETER(hdd_ranked_args, p))
{
    const u32 last = p.f.nspans - 1;
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        const u8 *const row = hdd_ranked_row(p, i);
        const u64 begin = (u64)hdd_field<i32>(row, p.f.begin);
        u64 from[2] = {0, 0}, to[2] = {0, 0};
        const bool s = hdd_frames_span_of(p.f, p.f.span[0], row, i, from[0], to[0]);
        const bool t = last && hdd_frames_span_of(p.f, p.f.span[last], row, i, from[1], to[1]);
        u64 limit = p.running ? 1 : (s ? from[0] : from[1]) - begin + 1;
        if (p.in_gaps) {
            i64 a = 0, b = 0;
            if (s && t)
                hdd_distinct_gap(p, i, a, b);
            hdd_walk_from(p, 0, i, (u64)a, (u64)b);
            hdd_walk_from(p, 1, i, 0, 0);
            limit = i - begin + 1;
        } else {
            hdd_walk_from(p, 0, i, s ? from[0] : 0, s ? to[0] : 0);
            hdd_walk_from(p, 1, i, t ? from[1] : 0, t ? to[1] : 0);
        }
        hdd_walk(p, HDD_DISTINCT_LIMIT, i) = (u32)limit;
    }
}

HDD_KERNEL(hdd_distinct_descend)(HDD_PARAMETER(hdd_ranked_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        const bool zeros = !(hdd_walk(p, HDD_DISTINCT_LIMIT, i) >> p.bit & 1);
        HDD_UNROLL
        for (u32 k = 0; k < 2; k++)
            hdd_walk_on(p, k, i, hdd_ranked_zeros(p, hdd_walk(p, 2 * k, i)),
                        hdd_ranked_zeros(p, hdd_walk(p, 2 * k + 1, i)), zeros);
    }
}

// ---- sums --------------------------------------------------------------------------------------

HDD_DEVICE void hdd_distinct_add(const hdd_ranked_args &p, i64 &to, i64 v)
{
    to = p.f.merge == HDD_MERGE_DISTINCT_XOR ? to ^ v : (i64)((u64)to + (u64)v);
}

HDD_DEVICE void hdd_distinct_add(const hdd_ranked_args &, i128 &to, i128 v)
{
    to = (i128)((u128)to + (u128)v);
}

HDD_DEVICE void hdd_distinct_add(const hdd_ranked_args &, f64 &to, f64 v)
{
    to += v;
}

// Nodes of a level of the tree, which is that of the places whose codes do not have the level's bit: all that is added up
// are rows with a value.
template <class T> HDD_DEVICE void hdd_distinct_nodes(const hdd_ranked_args &p)
{
    u64 n = hdd_ranked_zeros(p, (u32)p.f.n), below = 0;
    for (u32 l = 0; l < p.f.level; l++) {
        below = n;
        n = (n + HDD_FRAMES_FAN_OUT - 1) / HDD_FRAMES_FAN_OUT;
    }
    T *const to = hdd_at<T>(p.f.values) + p.f.at[p.f.level];
    for (u64 i = hdd_grid_thread(); i < n; i += hdd_grid_step(p.f.blocks)) {
        if (p.f.level == 0) {
            to[i] = hdd_field<T>(hdd_ranked_row(p, hdd_at<const u32>(p.row)[i]), (u32)p.y);
            continue;
        }
        const T *const from = hdd_at<const T>(p.f.values) + p.f.at[p.f.level - 1];
        const u64 end = (i + 1) * HDD_FRAMES_FAN_OUT;
        T all = 0;
        for (u64 k = i * HDD_FRAMES_FAN_OUT; k < (end < below ? end : below); k++)
            hdd_distinct_add(p, all, from[k]);
        to[i] = all;
    }
}

HDD_KERNEL(hdd_distinct_level)(HDD_PARAMETER(hdd_ranked_args, p))
{
    switch (p.f.phys) {
    case HDD_I64: hdd_distinct_nodes<i64>(p); break;
    case HDD_I128: hdd_distinct_nodes<i128>(p); break;
    default: hdd_distinct_nodes<f64>(p); break;
    }
}

template <class T> HDD_DEVICE void hdd_distinct_some(const hdd_ranked_args &p, u32 level, u64 from, u64 to, T &all)
{
    const T *const v = hdd_at<const T>(p.f.values) + p.f.at[level];
    HDD_NO_UNROLL
    for (u64 i = from; i < to; i++)
        hdd_distinct_add(p, all, v[i]);
}

template <class T> HDD_DEVICE void hdd_distinct_places(const hdd_ranked_args &p, u64 from, u64 to, T &all)
{
    for (u32 level = 0;; level++) {
        const u64 up = (from + HDD_FRAMES_FAN_OUT - 1) / HDD_FRAMES_FAN_OUT, down = to / HDD_FRAMES_FAN_OUT;
        if (up >= down || level + 1 == p.f.nlevels) {
            hdd_distinct_some(p, level, from, to, all);
            return;
        }
        hdd_distinct_some(p, level, from, up * HDD_FRAMES_FAN_OUT, all);
        hdd_distinct_some(p, level, down * HDD_FRAMES_FAN_OUT, to, all);
        from = up;
        to = down;
    }
}

template <class T> HDD_DEVICE void hdd_distinct_rows(const hdd_ranked_args &p)
{
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        if (!(hdd_walk(p, HDD_DISTINCT_LIMIT, i) >> p.bit & 1))
            continue;
        u8 *const row = hdd_ranked_row(p, i);
        HDD_NO_UNROLL
        for (u32 k = 0; k < 2; k++) {
            const u32 lo = hdd_ranked_zeros(p, hdd_walk(p, 2 * k, i)),
                      hi = hdd_ranked_zeros(p, hdd_walk(p, 2 * k + 1, i));
            T &all = *reinterpret_cast<T *>(row + p.f.offset);
            if (lo == hi)
                continue;
            row[p.f.valid_offset] = 1;
            if (p.y < 0)
                all += (T)(hi - lo);
            else
                hdd_distinct_places(p, lo, hi, all);
        }
    }
}

HDD_KERNEL(hdd_distinct_gather)(HDD_PARAMETER(hdd_ranked_args, p))
{
    switch (p.f.phys) {
    case HDD_I64: hdd_distinct_rows<i64>(p); break;
    case HDD_I128: hdd_distinct_rows<i128>(p); break;
    default: hdd_distinct_rows<f64>(p); break;
    }
}
