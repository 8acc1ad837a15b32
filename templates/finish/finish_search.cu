// Finds for each of sorted rows where its limit is among those of its partition (struct rt_search).
#include "hd/finish_keys.cuh"

HDD_DEVICE const u8 *hdd_search_row(const hdd_search_args &p, u64 i)
{
    return hdd_at<const u8>(p.rows + i * p.stride);
}

// The key of `row` against the limit of row `of`.
HDD_APART i32 hdd_search_compare(const hdd_search_args &p, const u8 *row, const u8 *of)
{
    if (p.by)
        return hdd_order_of((i64)hdd_field<i32>(row, p.key.offset), (i64)hdd_field<i32>(of, p.limit.offset) + p.by);
    const bool there = hdd_field_valid(p.key, row), own = hdd_field_valid(p.key, of);
    if (!there || !own)
        return there == own ? 0 : there == (p.key.nulls_first != 0) ? 1 : -1;
    if (!hdd_field_valid(p.limit, of))
        return p.following ? -1 : 1;
    const i32 c = hdd_compare_values(p.key.phys, row + p.key.offset, of + p.limit.offset, 0);
    return p.key.desc ? -c : c;
}

HDD_DEVICE bool hdd_search_in_front(const hdd_search_args &p, u64 i, const u8 *of)
{
    const i32 c = hdd_search_compare(p, hdd_search_row(p, i), of);
    return p.behind ? c <= 0 : c < 0;
}

// Most limits are near their rows: steps that double from row i lead to where halves are looked for.
HDD_DEVICE u64 hdd_search_place(const hdd_search_args &p, u64 i, const u8 *of)
{
    u64 lo = (u64)hdd_field<i32>(of, p.begin), hi = (u64)hdd_field<i32>(of, p.end);
    if (hdd_search_in_front(p, i, of)) {
        lo = i + 1;
        for (u64 step = 1; step < hi - lo; step *= 2) {
            if (!hdd_search_in_front(p, lo + step, of)) {
                hi = lo + step;
                break;
            }
            lo += step + 1;
        }
    } else {
        hi = i;
        for (u64 step = 1; step < hi - lo; step *= 2) {
            if (hdd_search_in_front(p, hi - step, of)) {
                lo = hi - step + 1;
                break;
            }
            hi -= step;
        }
    }
    while (lo < hi) {
        const u64 middle = lo + (hi - lo) / 2;
        if (hdd_search_in_front(p, middle, of))
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

HDD_KERNEL(hdd_search_rows)(HDD_PARAMETER(hdd_search_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        u8 *const row = hdd_at<u8>(p.rows + i * p.stride);
        *reinterpret_cast<i32 *>(row + p.field) = (i32)hdd_search_place(p, i, row);
    }
}

// Each thread writes into the row that has the number of its own among those that are counted.
HDD_KERNEL(hdd_search_places)(HDD_PARAMETER(hdd_places_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u8 *const row = hdd_at<const u8>(p.rows + i * p.stride);
        const u64 first = (u64)hdd_field<i32>(row, p.begin);
        const i64 n = hdd_field<i64>(row, p.count);
        const i64 before = i > first ? hdd_field<i64>(row - p.stride, p.count) : 0;
        if (n > before)
            *hdd_at<i64>(p.rows + (first + (u64)n - 1) * p.stride + p.field) = (i64)(i - first) + 1;
    }
}
