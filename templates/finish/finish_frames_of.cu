// Folds of frames that look at other fields of their rows: sums of products of deviations, and the row that has the
// smallest or largest value. Leaves of the tree are the rows themselves; nodes fold HDD_FRAMES_FAN_OUT neighbours of the
// level below, as in finish_frames.cu.
#include "hd/finish_frames.cuh"
#include "hd/moment.cuh"

struct hdd_frames_products {
    typedef hdd_moment node;

    HDD_MEMBER static bool leaf(const hdd_frames_args &p, u64 i, hdd_moment &to)
    {
        const u8 *const row = hdd_at<const u8>(p.rows + i * p.stride);
        if (!hdd_field_valid(p.x, row) || !hdd_field_valid(p.y, row))
            return false;
        to = hdd_moment_of(hdd_field<f64>(row, p.x.offset), hdd_field<f64>(row, p.y.offset));
        return true;
    }

    HDD_MEMBER static void merge(const hdd_frames_args &, hdd_moment &to, const hdd_moment &from)
    {
        hdd_moment_merge(&to, &from);
    }

    HDD_MEMBER static void store(const hdd_frames_args &p, u8 *row, const hdd_moment &v)
    {
        *reinterpret_cast<f64 *>(row + p.offset) = v.products;
    }
};

struct hdd_frames_row {
    typedef u64 node;

    HDD_MEMBER static bool leaf(const hdd_frames_args &p, u64 i, u64 &to)
    {
        to = i;
        return hdd_field_valid(p.x, hdd_at<const u8>(p.rows + i * p.stride));
    }

    // NULLs last.
    HDD_MEMBER static i32 order(const hdd_key &k, const u8 *a, const u8 *b)
    {
        const bool va = hdd_field_valid(k, a), vb = hdd_field_valid(k, b);
        if (!va || !vb)
            return (i32)vb - (i32)va;
        return hdd_compare_values(k.phys, a, b, k.offset);
    }

    HDD_MEMBER static void merge(const hdd_frames_args &p, u64 &to, const u64 &from)
    {
        const u8 *const a = hdd_at<const u8>(p.rows + from * p.stride), *const b = hdd_at<const u8>(p.rows + to * p.stride);
        i32 c = order(p.x, a, b);
        c = p.merge == HDD_MERGE_ARG_MAX ? -c : c;
        if (c < 0 || (c == 0 && order(p.y, a, b) < 0))
            to = from;
    }

    HDD_MEMBER static void store(const hdd_frames_args &p, u8 *row, const u64 &v)
    {
        *reinterpret_cast<i64 *>(row + p.offset) = (i64)v + 1 - hdd_field<i32>(row, p.begin);
    }
};

// Adds nodes from .. to - 1 of a level.
template <class F>
HDD_DEVICE bool hdd_frames_add(const hdd_frames_args &p, typename F::node &all, bool any, u32 level, u64 from, u64 to)
{
    typename F::node v;
    HDD_NO_UNROLL
    for (u64 i = from; i < to; i++) {
        bool valid;
        if (level == 0) {
            valid = F::leaf(p, i, v);
        } else {
            valid = hdd_at<u8>(p.valid)[p.at[level] + i] != 0;
            if (valid)
                v = hdd_at<typename F::node>(p.values)[p.at[level] + i];
        }
        if (!valid)
            continue;
        if (any)
            F::merge(p, all, v);
        else
            all = v;
        any = true;
    }
    return any;
}

template <class F> HDD_DEVICE void hdd_frames_nodes(const hdd_frames_args &p)
{
    const u64 n = p.at[p.level + 1] - p.at[p.level], below = p.level == 1 ? p.n : p.at[p.level] - p.at[p.level - 1];
    for (u64 i = hdd_grid_thread(); i < n; i += hdd_grid_step(p.blocks)) {
        const u64 from = i * HDD_FRAMES_FAN_OUT, to = from + HDD_FRAMES_FAN_OUT;
        typename F::node all;
        const bool any = hdd_frames_add<F>(p, all, false, p.level - 1, from, to < below ? to : below);
        hdd_at<u8>(p.valid)[p.at[p.level] + i] = any;
        if (any)
            hdd_at<typename F::node>(p.values)[p.at[p.level] + i] = all;
    }
}

// Adds rows from .. to - 1, which are some.
template <class F>
HDD_DEVICE bool hdd_frames_add_span(const hdd_frames_args &p, typename F::node &all, bool any, u64 from, u64 to)
{
    for (u32 level = 0;; level++) {
        const u64 up = (from + HDD_FRAMES_FAN_OUT - 1) / HDD_FRAMES_FAN_OUT, down = to / HDD_FRAMES_FAN_OUT;
        if (up >= down || level + 1 == p.nlevels)
            return hdd_frames_add<F>(p, all, any, level, from, to);
        any = hdd_frames_add<F>(p, all, any, level, from, up * HDD_FRAMES_FAN_OUT);
        any = hdd_frames_add<F>(p, all, any, level, down * HDD_FRAMES_FAN_OUT, to);
        from = up;
        to = down;
    }
}

template <class F> HDD_DEVICE void hdd_frames_rows_of(const hdd_frames_args &p)
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        u8 *const row = hdd_at<u8>(p.rows + i * p.stride);
        typename F::node all;
        bool any = false;
        u64 from, to;
        HDD_NO_UNROLL
        for (u32 k = 0; k < p.nspans; k++)
            if (hdd_frames_span_of(p, p.span[k], row, i, from, to))
                any = hdd_frames_add_span<F>(p, all, any, from, to);
        row[p.valid_offset] = any;
        if (any)
            F::store(p, row, all);
    }
}

HDD_KERNEL(hdd_frames_of_level)(HDD_PARAMETER(hdd_frames_args, p))
{
    if (p.merge == HDD_MERGE_PRODUCTS)
        hdd_frames_nodes<hdd_frames_products>(p);
    else
        hdd_frames_nodes<hdd_frames_row>(p);
}

HDD_KERNEL(hdd_frames_of_apply)(HDD_PARAMETER(hdd_frames_args, p))
{
    if (p.merge == HDD_MERGE_PRODUCTS)
        hdd_frames_rows_of<hdd_frames_products>(p);
    else
        hdd_frames_rows_of<hdd_frames_row>(p);
}
