// Folds of frames. Nodes of a tree beside the rows fold HDD_FRAMES_FAN_OUT neighbours of the level below, one launch per
// level; then each row reads fewer than twice as many nodes of each level as have one parent, whatever its frame.
#include "hd/finish_frames.cuh"

// What is known of some rows: nothing where none of them has a value.
template <class T> struct hdd_frames_value {
    T v;
    bool valid;
};

HDD_DEVICE bool hdd_frames_less(const hdd_row_string &a, const hdd_row_string &b)
{
    return hdd_compare_strings(a, b) < 0;
}

template <class T> HDD_DEVICE bool hdd_frames_less(const T &a, const T &b)
{
    return hdd_less(a, b);
}

HDD_DEVICE i64 hdd_frames_sum(i64 a, i64 b)
{
    return (i64)((u64)a + (u64)b);
}

HDD_DEVICE i128 hdd_frames_sum(i128 a, i128 b)
{
    return (i128)((u128)a + (u128)b);
}

HDD_DEVICE f64 hdd_frames_sum(f64 a, f64 b)
{
    return a + b;
}

// Nothing else is summed.
HDD_DEVICE i32 hdd_frames_sum(i32 a, i32)
{
    return a;
}

HDD_DEVICE hdd_row_string hdd_frames_sum(const hdd_row_string &a, const hdd_row_string &)
{
    return a;
}

// Bits are of i64 alone.
template <class T> HDD_DEVICE T hdd_frames_either(const T &a, const T &)
{
    return a;
}

HDD_DEVICE i64 hdd_frames_either(i64 a, i64 b)
{
    return a | b;
}

template <class T> HDD_DEVICE T &hdd_frames_node(const hdd_frames_args &p, u32 level, u64 i)
{
    return hdd_at<T>(p.values)[p.at[level] + i];
}

HDD_DEVICE u8 &hdd_frames_valid(const hdd_frames_args &p, u32 level, u64 i)
{
    return hdd_at<u8>(p.valid)[p.at[level] + i];
}

// And nodes from .. to - 1 of a level.
template <class T>
HDD_DEVICE void hdd_frames_fold(const hdd_frames_args &p, hdd_frames_value<T> &all, u32 level, u64 from, u64 to)
{
    HDD_NO_UNROLL
    for (u64 i = from; i < to; i++) {
        if (!hdd_frames_valid(p, level, i))
            continue;
        const T v = hdd_frames_node<T>(p, level, i);
        if (p.merge == HDD_MERGE_SUM)
            all.v = hdd_frames_sum(all.v, v); // from 0 on
        else if (p.merge == HDD_MERGE_OR)
            all.v = hdd_frames_either(all.v, v); // likewise
        else if (!all.valid || (p.merge == HDD_MERGE_MIN ? hdd_frames_less(v, all.v) : hdd_frames_less(all.v, v)))
            all.v = v;
        all.valid = true;
    }
}

template <class T> HDD_DEVICE void hdd_frames_build(const hdd_frames_args &p)
{
    const u64 n = p.at[p.level + 1] - p.at[p.level], below = p.level ? p.at[p.level] - p.at[p.level - 1] : 0;
    for (u64 i = hdd_grid_thread(); i < n; i += hdd_grid_step(p.blocks)) {
        hdd_frames_value<T> all = {};
        if (p.level == 0) {
            const u8 *const row = hdd_at<const u8>(p.rows + i * p.stride);
            all = hdd_frames_value<T>{hdd_field<T>(row, p.offset), row[p.valid_offset] != 0};
        } else {
            const u64 from = i * HDD_FRAMES_FAN_OUT, to = from + HDD_FRAMES_FAN_OUT;
            hdd_frames_fold(p, all, p.level - 1, from, to < below ? to : below);
        }
        hdd_frames_valid(p, p.level, i) = all.valid;
        if (all.valid)
            hdd_frames_node<T>(p, p.level, i) = all.v;
    }
}

// Rows from .. to - 1, which are some.
template <class T> HDD_DEVICE void hdd_frames_of(const hdd_frames_args &p, hdd_frames_value<T> &all, u64 from, u64 to)
{
    for (u32 level = 0;; level++) {
        const u64 up = (from + HDD_FRAMES_FAN_OUT - 1) / HDD_FRAMES_FAN_OUT, down = to / HDD_FRAMES_FAN_OUT;
        if (up >= down || level + 1 == p.nlevels) {
            hdd_frames_fold(p, all, level, from, to);
            return;
        }
        hdd_frames_fold(p, all, level, from, up * HDD_FRAMES_FAN_OUT);
        hdd_frames_fold(p, all, level, down * HDD_FRAMES_FAN_OUT, to);
        from = up;
        to = down;
    }
}

template <class T> HDD_DEVICE void hdd_frames_rows(const hdd_frames_args &p)
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        u8 *const row = hdd_at<u8>(p.rows + i * p.stride);
        hdd_frames_value<T> all = {};
        u64 from, to;
        HDD_NO_UNROLL
        for (u32 k = 0; k < p.nspans; k++)
            if (hdd_frames_span_of(p, p.span[k], row, i, from, to))
                hdd_frames_of<T>(p, all, from, to);
        row[p.valid_offset] = all.valid;
        if (all.valid)
            *reinterpret_cast<T *>(row + p.offset) = all.v;
    }
}

HDD_KERNEL(hdd_frames_level)(HDD_PARAMETER(hdd_frames_args, p))
{
    switch (p.phys) {
    case HDD_I32: hdd_frames_build<i32>(p); break;
    case HDD_I64: hdd_frames_build<i64>(p); break;
    case HDD_I128: hdd_frames_build<i128>(p); break;
    case HDD_F64: hdd_frames_build<f64>(p); break;
    default: hdd_frames_build<hdd_row_string>(p); break;
    }
}

HDD_KERNEL(hdd_frames_apply)(HDD_PARAMETER(hdd_frames_args, p))
{
    switch (p.phys) {
    case HDD_I32: hdd_frames_rows<i32>(p); break;
    case HDD_I64: hdd_frames_rows<i64>(p); break;
    case HDD_I128: hdd_frames_rows<i128>(p); break;
    case HDD_F64: hdd_frames_rows<f64>(p); break;
    default: hdd_frames_rows<hdd_row_string>(p); break;
    }
}
