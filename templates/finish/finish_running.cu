// Running sums, minima and maxima of fields of rows, in place and in three launches: those of tiles, what comes before
// each tile, the rows themselves. No block waits for another one.
#include "hd/finish_keys.cuh"

constexpr u32 HDD_RUNNING_ROWS = HDD_RUNNING_TILE / HDD_BLOCK; // neighbours, of a thread

// What is known of some rows: nothing where none of them has a value.
struct hdd_running_value {
    i128 v; // of F64 and F32 its bits
    u64 valid;
    u64 starts; // a segment begins among the rows: what is before them does not matter
};

HDD_DEVICE hdd_running_value hdd_running_none()
{
    return hdd_running_value{0, 0, 0};
}

HDD_DEVICE bool hdd_running_less(u32 phys, i128 a, i128 b)
{
    if (phys == HDD_F64)
        return hdd_less(hdd_f64_from_bits((i64)a), hdd_f64_from_bits((i64)b));
    if (phys == HDD_F32)
        return hdd_less(hdd_f32_from_bits((i32)a), hdd_f32_from_bits((i32)b));
    return a < b;
}

HDD_DEVICE i128 hdd_running_sum(u32 phys, i128 a, i128 b)
{
    if (phys == HDD_F64)
        return hdd_f64_bits(hdd_f64_from_bits((i64)a) + hdd_f64_from_bits((i64)b));
    return (i128)((u128)a + (u128)b);
}

// Of the rows of a, then those of b.
HDD_DEVICE hdd_running_value hdd_running_add(const hdd_running_field &f, const hdd_running_value &a,
                                             const hdd_running_value &b)
{
    if (b.starts)
        return b;
    if (!a.valid || !b.valid)
        return hdd_running_value{a.valid ? a.v : b.v, a.valid | b.valid, a.starts};
    if (f.merge == HDD_MERGE_SUM)
        return hdd_running_value{hdd_running_sum(f.phys, a.v, b.v), 1, a.starts};
    const bool second =
        f.merge == HDD_MERGE_MIN ? hdd_running_less(f.phys, b.v, a.v) : hdd_running_less(f.phys, a.v, b.v);
    return hdd_running_value{second ? b.v : a.v, 1, a.starts};
}

HDD_DEVICE hdd_running_value hdd_running_load(const hdd_running_field &f, const u8 *row)
{
    if (f.valid >= 0 && !row[f.valid])
        return hdd_running_none();
    if (f.phys == HDD_I32 || f.phys == HDD_F32)
        return hdd_running_value{hdd_field<i32>(row, f.offset), 1, 0};
    if (f.phys == HDD_I128)
        return hdd_running_value{hdd_field<i128>(row, f.offset), 1, 0};
    return hdd_running_value{hdd_field<i64>(row, f.offset), 1, 0};
}

HDD_DEVICE void hdd_running_store(const hdd_running_field &f, u8 *row, const hdd_running_value &v)
{
    if (!v.valid)
        return;
    if (f.valid >= 0)
        row[f.valid] = 1;
    if (f.phys == HDD_I32 || f.phys == HDD_F32)
        *reinterpret_cast<i32 *>(row + f.offset) = (i32)v.v;
    else if (f.phys == HDD_I128)
        *reinterpret_cast<i128 *>(row + f.offset) = v.v;
    else
        *reinterpret_cast<i64 *>(row + f.offset) = (i64)v.v;
}

HDD_DEVICE hdd_running_value hdd_running_shuffle(const hdd_running_value &v, u32 lane)
{
    return hdd_running_value{hdd_shuffle(v.v, lane), hdd_shuffle(v.valid, lane), hdd_shuffle(v.starts, lane)};
}

// Of the lanes up to and with this one. Whole warp.
HDD_DEVICE hdd_running_value hdd_running_warp(const hdd_running_field &f, hdd_running_value v)
{
    HDD_NO_UNROLL
    for (u32 by = 1; by < HDD_LANES; by *= 2) {
        const hdd_running_value below = hdd_running_shuffle(v, hdd_lane() >= by ? hdd_lane() - by : 0);
        if (hdd_lane() >= by)
            v = hdd_running_add(f, below, v);
    }
    return v;
}

struct hdd_running_block {
    hdd_running_value warp[HDD_WARPS];
};

// Of the threads before this one, and of all. Whole block; two block barriers.
HDD_DEVICE hdd_running_value hdd_running_before(hdd_running_block &s, const hdd_running_field &f,
                                                const hdd_running_value &mine, hdd_running_value &total)
{
    const hdd_running_value upto = hdd_running_warp(f, mine);
    hdd_running_value before = hdd_running_shuffle(upto, hdd_lane() ? hdd_lane() - 1 : 0);
    if (hdd_lane() == 0)
        before = hdd_running_none();
    if (hdd_lane() == HDD_LANES - 1)
        s.warp[hdd_warp()] = upto;
    hdd_block_sync();
    total = hdd_running_none();
    for (u32 w = 0; w < HDD_WARPS; w++) {
        if (w == hdd_warp())
            before = hdd_running_add(f, total, before);
        total = hdd_running_add(f, total, s.warp[w]);
    }
    hdd_block_sync();
    return before;
}

HDD_DEVICE const hdd_running_field *hdd_running_fields(const hdd_running_args &p)
{
    return p.more ? hdd_at<const hdd_running_field>(p.more) : p.field;
}

HDD_DEVICE u64 hdd_running_ntiles(const hdd_running_args &p)
{
    return (p.n + HDD_RUNNING_TILE - 1) / HDD_RUNNING_TILE;
}

HDD_DEVICE hdd_running_value &hdd_running_total(const hdd_running_args &p, u64 tile, u32 field)
{
    return hdd_at<hdd_running_value>(p.totals)[tile * p.nfields + field];
}

// Row i, counted from the side where sums begin.
HDD_DEVICE u8 *hdd_running_row(const hdd_running_args &p, u64 i)
{
    return hdd_at<u8>(p.rows + (p.backward ? p.n - 1 - i : i) * p.stride);
}

HDD_DEVICE hdd_running_value hdd_running_value_at(const hdd_running_args &p, const hdd_running_field &f, u64 i)
{
    const u8 *const row = hdd_running_row(p, i);
    hdd_running_value v = hdd_running_load(f, row);
    if (p.segment >= 0)
        v.starts = (u64)hdd_field<i32>(row, (u32)p.segment) == i;
    return v;
}

// This thread's rows of a tile.
HDD_DEVICE hdd_running_value hdd_running_own(const hdd_running_args &p, const hdd_running_field &f, u64 tile)
{
    const u64 at = tile * HDD_RUNNING_TILE + hdd_thread() * HDD_RUNNING_ROWS;
    hdd_running_value v = hdd_running_none();
    for (u64 i = at; i < at + HDD_RUNNING_ROWS && i < p.n; i++)
        v = hdd_running_add(f, v, hdd_running_value_at(p, f, i));
    return v;
}

HDD_KERNEL(hdd_running_tiles)(HDD_PARAMETER(hdd_running_args, p))
{
    HDD_SHARED(hdd_running_block, shared);
    const hdd_running_field *const field = hdd_running_fields(p);
    for (u64 tile = hdd_block(); tile < hdd_running_ntiles(p); tile += p.blocks)
        for (u32 k = 0; k < p.nfields; k++) {
            hdd_running_value total;
            hdd_running_before(shared, field[k], hdd_running_own(p, field[k], tile), total);
            if (hdd_thread() == 0)
                hdd_running_total(p, tile, k) = total;
        }
}

// One block: each tile's total becomes what the tiles before it amount to.
HDD_KERNEL(hdd_running_totals)(HDD_PARAMETER(hdd_running_args, p))
{
    HDD_SHARED(hdd_running_block, shared);
    const hdd_running_field *const field = hdd_running_fields(p);
    const u64 tiles = hdd_running_ntiles(p);
    for (u32 k = 0; k < p.nfields; k++) {
        hdd_running_value base = hdd_running_none();
        for (u64 from = 0; from < tiles; from += HDD_BLOCK) {
            const u64 tile = from + hdd_thread();
            const hdd_running_value mine = tile < tiles ? hdd_running_total(p, tile, k) : hdd_running_none();
            hdd_running_value total;
            const hdd_running_value before = hdd_running_before(shared, field[k], mine, total);
            if (tile < tiles)
                hdd_running_total(p, tile, k) = hdd_running_add(field[k], base, before);
            base = hdd_running_add(field[k], base, total);
        }
    }
}

HDD_KERNEL(hdd_running_apply)(HDD_PARAMETER(hdd_running_args, p))
{
    HDD_SHARED(hdd_running_block, shared);
    const hdd_running_field *const field = hdd_running_fields(p);
    for (u64 tile = hdd_block(); tile < hdd_running_ntiles(p); tile += p.blocks)
        for (u32 k = 0; k < p.nfields; k++) {
            const hdd_running_field &f = field[k];
            hdd_running_value total;
            hdd_running_value v = hdd_running_before(shared, f, hdd_running_own(p, f, tile), total);
            v = hdd_running_add(f, hdd_running_total(p, tile, k), v);
            const u64 at = tile * HDD_RUNNING_TILE + hdd_thread() * HDD_RUNNING_ROWS;
            for (u64 i = at; i < at + HDD_RUNNING_ROWS && i < p.n; i++) {
                v = hdd_running_add(f, v, hdd_running_value_at(p, f, i));
                hdd_running_store(f, hdd_running_row(p, i), v);
            }
        }
}
