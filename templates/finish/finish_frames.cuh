// The rows of frames, by the fields of a row that tell of them.
#ifndef HDD_FINISH_FRAMES_CUH
#define HDD_FINISH_FRAMES_CUH

#include "hd/finish_keys.cuh"

HDD_DEVICE i64 hdd_frames_number(const u8 *row, i32 field, u64 i)
{
    return field < 0 ? (i64)i : hdd_field<i32>(row, (u32)field);
}

// Rows from .. to - 1 of row i's frame; false: none.
HDD_DEVICE bool hdd_frames_span_of(const hdd_frames_args &p, const hdd_frames_span &s, const u8 *row, u64 i, u64 &from,
                                   u64 &to)
{
    i64 first = hdd_field<i32>(row, p.begin), behind = hdd_field<i32>(row, p.end);
    for (u32 k = 0; k < 2; k++) {
        const i64 a = hdd_frames_number(row, s.from[k], i) + s.from_by[k];
        const i64 b = hdd_frames_number(row, s.to[k], i) + s.to_by[k];
        first = a > first ? a : first;
        behind = b < behind ? b : behind;
    }
    from = (u64)first;
    to = (u64)behind;
    return first < behind;
}

#endif
