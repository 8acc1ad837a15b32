// What framed pipelines need besides: accumulators one by one, because the accumulators of a group of very
// many would not fit registers, and their code no function.
#ifndef HDD_PARTS_CUH
#define HDD_PARTS_CUH

#include "hd/aggregate.cuh"

// The member of a frame or row that lies `at` bytes behind its beginning.
template <class T, class Object> HDD_DEVICE T &hdd_at(Object &object, i32 at)
{
    return *reinterpret_cast<T *>(reinterpret_cast<u8 *>(&object) + at);
}

template <class T, class Object> HDD_DEVICE const T &hdd_at(const Object &object, i32 at)
{
    return *reinterpret_cast<const T *>(reinterpret_cast<const u8 *>(&object) + at);
}

// What the lanes of each group have in all, in its first lane; a lane without a value has none.
// Halves the number of contributing lanes of each group per step. Whole warp.
template <class Op, class T>
HDD_DEVICE hdd_opt<T> hdd_combine_value(Op op, const hdd_group_lanes &group_lanes, hdd_opt<T> x)
{
    u32 above = group_lanes.mask & ~hdd_lanes_upto();
    u32 rank = hdd_popc(group_lanes.mask & hdd_lanes_below());
    HDD_NO_UNROLL
    while (hdd_any(above != 0)) {
        const u32 from = above ? hdd_lowest(above) : hdd_lane();
        const T v = hdd_shuffle(x.v, from);
        const bool ok = hdd_shuffle((u32)x.ok, from) != 0;
        if (above && ok)
            x = x.ok ? hdd_opt<T>(op.of(x.v, v)) : hdd_opt<T>(v);
        above &= hdd_ballot(rank % 2 == 0); // odd ranks have been taken by the one below
        rank /= 2;
    }
    return x;
}

// All values are the same.
template <class T>
HDD_DEVICE hdd_opt<T> hdd_combine_value(hdd_pick, const hdd_group_lanes &, hdd_opt<T> x)
{
    return x;
}

// Adds what the lanes of each group have to a field of its row, given by its place; the place of its
// validity, -1 for one that is never NULL. Whole warp.
template <class F, class Op, class Row, class T>
HDD_APART void hdd_add_value(Op op, const hdd_group_lanes &group_lanes, Row *row, i32 field, i32 valid,
                             hdd_opt<T> x)
{
    x = hdd_combine_value(op, group_lanes, x);
    if (group_lanes.first && x.ok)
        op.into(hdd_at<F>(*row, field), valid < 0 ? nullptr : &hdd_at<u8>(*row, valid), x.v);
}

#endif
