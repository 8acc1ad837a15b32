// Ranges of children: positions in an index or in a state's rows; and binary search for them.
#ifndef HDD_RANGE_CUH
#define HDD_RANGE_CUH

#include "hd/machine.cuh"

// Positions begin .. begin + n - 1. The one child of a row of a left join without a match is
// position -1.
struct hdd_range {
    u32 begin, n;
};

HDD_DEVICE hdd_range hdd_no_range()
{
    return hdd_range{0, 0};
}

// A left join yields one child without a row where there are no matches.
HDD_DEVICE hdd_range hdd_or_null_child(hdd_range r)
{
    return r.n ? r : hdd_range{~0u, 1};
}

// The first of rows begin .. end - 1 that is not `before`, which holds of a first part of them; or
// end.
template <class Before> HDD_DEVICE u32 hdd_partition_point(u32 begin, u32 end, Before before)
{
    HDD_NO_UNROLL
    while (begin < end) {
        const u32 middle = begin + (end - begin) / 2;
        if (before(middle))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

// Where a search ended: where rows come in order, the next one of this thread ends near by.
struct hdd_near {
    u32 row;

    HDD_MEMBER hdd_near() : row(0)
    {
    }
};

// The same over rows 0 .. rows - 1, from where the search before ended, in steps that grow.
template <class Before> HDD_DEVICE u32 hdd_partition_point_near(u32 rows, Before before, hdd_near &near)
{
    u32 begin = near.row, end = rows, step = 1;
    if (begin && !before(begin - 1)) {
        end = begin - 1;
        begin = 0;
    } else {
        HDD_NO_UNROLL
        for (; step <= end - begin; step *= 4) {
            if (!before(begin + step - 1)) {
                end = begin + step - 1;
                break;
            }
            begin += step;
        }
    }
    return near.row = hdd_partition_point(begin, end, before);
}

#endif
