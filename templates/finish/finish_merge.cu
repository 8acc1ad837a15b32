// What pipelines put into a state on another device is added to what is here, before the state is finished. Rows
// and bits of the other device were copied to this one.
#include "hd/finish_keys.cuh"
#include "hd/hash.cuh"

HDD_KERNEL(hdd_merge_bits)(HDD_PARAMETER(hdd_bits_args, p))
{
    u64 *const to = hdd_at<u64>(p.to);
    const u64 *const from = hdd_at<const u64>(p.from);
    for (u64 i = hdd_grid_thread(); i < p.words; i += hdd_grid_step(p.blocks))
        to[i] |= from[i];
}

// ---- accumulators --------------------------------------------------------------------------

template <class T> HDD_DEVICE T &hdd_field_at(u8 *row, u32 offset)
{
    return *reinterpret_cast<T *>(row + offset);
}

template <class T> HDD_DEVICE void hdd_copy_field(u8 *to, const u8 *from, u32 offset)
{
    hdd_field_at<T>(to, offset) = hdd_field<T>(from, offset);
}

HDD_DEVICE void hdd_copy_value(u32 phys, u8 *to, const u8 *from, u32 offset)
{
    switch (phys) {
    case HDD_BOOL: to[offset] = from[offset]; return;
    case HDD_I32: hdd_copy_field<i32>(to, from, offset); return;
    case HDD_I64: hdd_copy_field<i64>(to, from, offset); return;
    case HDD_I128: hdd_copy_field<i128>(to, from, offset); return;
    case HDD_F64: hdd_copy_field<f64>(to, from, offset); return;
    case HDD_F32: hdd_copy_field<f32>(to, from, offset); return;
    case HDD_STR: hdd_copy_field<hdd_row_string>(to, from, offset); return;
    }
}

template <class T> HDD_DEVICE void hdd_sum_field(u8 *to, const u8 *from, u32 offset)
{
    hdd_field_at<T>(to, offset) += hdd_field<T>(from, offset);
}

HDD_DEVICE void hdd_sum_word(const hdd_merge_field &f, u8 *to, const u8 *from)
{
    if (f.bytes == 1)
        to[f.offset] = (u8)(to[f.offset] + from[f.offset]);
    else if (f.bytes == 2)
        hdd_field_at<u16>(to, f.offset) = (u16)(hdd_field<u16>(to, f.offset) + hdd_field<u16>(from, f.offset));
    else
        hdd_sum_field<i32>(to, from, f.offset);
}

// Sums never wrap: the planner chose the width so.
HDD_DEVICE void hdd_sum_value(const hdd_merge_field &f, u8 *to, const u8 *from)
{
    const u32 offset = f.offset;
    switch (f.phys) {
    case HDD_I32: hdd_sum_word(f, to, from); return;
    case HDD_I64: hdd_sum_field<i64>(to, from, offset); return;
    case HDD_I128: hdd_sum_field<i128>(to, from, offset); return;
    case HDD_F64: hdd_sum_field<f64>(to, from, offset); return;
    case HDD_BOOL:
    case HDD_F32:
    case HDD_STR: HDD_ASSERT(false); return;
    }
}

HDD_DEVICE bool hdd_is_better(const hdd_merge_field &f, const u8 *a, const u8 *b)
{
    const i32 c = hdd_compare_values(f.phys, a, b, f.offset);
    return f.merge == HDD_MERGE_MIN ? c < 0 : c > 0;
}

HDD_DEVICE void hdd_merge_value(const hdd_merge_field &f, u8 *to, const u8 *from)
{
    if (f.merge == HDD_MERGE_KEY || (f.valid >= 0 && !from[f.valid]))
        return;
    if (f.valid >= 0 && !to[f.valid]) {
        hdd_copy_value(f.phys, to, from, f.offset);
        to[f.valid] = 1;
    } else if (f.merge == HDD_MERGE_SUM) {
        hdd_sum_value(f, to, from);
    } else if (f.merge == HDD_MERGE_OR) {
        hdd_field_at<i64>(to, f.offset) |= hdd_field<i64>(from, f.offset);
    } else if (f.merge == HDD_MERGE_XOR) {
        hdd_field_at<i64>(to, f.offset) ^= hdd_field<i64>(from, f.offset);
    } else if (f.merge != HDD_MERGE_ANY && hdd_is_better(f, from, to)) {
        hdd_copy_value(f.phys, to, from, f.offset);
    }
}

// One thread at a time has the row.
HDD_APART void hdd_merge_row(const hdd_merge_args &p, u8 *to, const u8 *from)
{
    const hdd_merge_field *const field = p.more ? hdd_at<const hdd_merge_field>(p.more) : p.field;
    for (u32 i = 0; i < p.nfields; i++)
        hdd_merge_value(field[i], to, from);
}

// ---- groups --------------------------------------------------------------------------------

HDD_DEVICE u8 *hdd_merge_to(const hdd_merge_args &p, u64 row)
{
    return hdd_at<u8>(p.to + row * p.stride);
}

HDD_DEVICE const u8 *hdd_merge_from(const hdd_merge_args &p, u64 row)
{
    return hdd_at<const u8>(p.from + row * p.stride);
}

// Row i of the one is row i of the other. Byte 0, where a row begins so: the group exists.
HDD_KERNEL(hdd_merge_places)(HDD_PARAMETER(hdd_merge_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        u8 *const to = hdd_merge_to(p, i);
        const u8 *const from = hdd_merge_from(p, i);
        if (p.flagged && !from[0])
            continue;
        if (p.flagged && !to[0])
            hdd_copy_words(hdd_at<u64>(p.to + i * p.stride), hdd_at<const u64>(p.from + i * p.stride), p.stride / 8);
        else
            hdd_merge_row(p, to, from);
    }
}

// The row of the same key; a null pointer: there is none.
HDD_DEVICE u8 *hdd_merge_find(const hdd_merge_args &p, const u8 *row)
{
    const u64 *const slots = hdd_at<const u64>(p.slots);
    const u64 head = hdd_field<u64>(row, 0), h = p.word ? hdd_hash_word(head) : head;
    for (u64 at = h & p.mask;; at = (at + 1) & p.mask) {
        const u64 slot = slots[at];
        if (slot == 0)
            return nullptr;
        if (slot >> 32 != h >> 32)
            continue;
        u8 *const there = hdd_merge_to(p, (u32)slot - 1);
        if (hdd_field<u64>(there, 0) == head && hdd_equal_rows(p.keys, there, row))
            return there;
    }
}

// Keys are distinct on either side: no two threads meet in a row, and new groups need no slots yet.
HDD_KERNEL(hdd_merge_groups)(HDD_PARAMETER(hdd_merge_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u8 *const from = hdd_merge_from(p, i);
        u8 *const to = hdd_merge_find(p, from);
        if (to) {
            hdd_merge_row(p, to, from);
        } else {
            const u64 row = hdd_atomic_add(hdd_at<u64>(p.cursor), (u64)1);
            hdd_copy_words(hdd_at<u64>(p.to + row * p.stride), hdd_at<const u64>(p.from + i * p.stride), p.stride / 8);
        }
    }
}
