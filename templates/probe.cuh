// Lookups in finished states and indexes. One thread at a time; nothing here is written while
// the kernel runs, except match bits. A row that is not found is -1.
#ifndef HDD_PROBE_CUH
#define HDD_PROBE_CUH

#include "hd/hash.cuh"
#include "hd/range.cuh"
#include "hd/run.cuh"
#include "hd/slot.cuh"
#include "hd/stored.cuh"
#include "hd/value.cuh"

// As the index of an array: a NULL is an index that no array has.
HDD_DEVICE u64 hdd_index(i64 i)
{
    return (u64)i;
}

HDD_DEVICE u64 hdd_index(hdd_opt<i64> i)
{
    return i.ok ? (u64)i.v : ~(u64)0;
}

HDD_DEVICE bool hdd_bit(const u64 *words, u64 i)
{
    return (words[i / 64] >> (i % 64)) & 1;
}

// BITMAP: the index is in range and present.
template <class I> HDD_DEVICE bool hdd_probe_bitmap(const u64 *words, u64 range, I index)
{
    const u64 i = hdd_index(index);
    return i < range && hdd_bit(words, i);
}

// The same of a row that may have ended, which has no bit: a load under a predicate, so that those of a tile's rows
// are on their way together. By words of 32 bits, whose numbers have as many.
template <class I> HDD_DEVICE bool hdd_test_bit(const u64 *words, u64 range, I index, bool live)
{
    const u64 i = hdd_index(index);
    u32 word = 0;
    if (live & (i < range))
        word = reinterpret_cast<const u32 *>(words)[hdd_shift_pair((u32)i, (u32)(i >> 32), 5)];
    return (word >> ((u32)i & 31)) & 1;
}

// DIRECT: the index itself.
template <class I> HDD_DEVICE i32 hdd_probe_direct(const u64 *words, u64 range, I index)
{
    return hdd_probe_bitmap(words, range, index) ? (i32)hdd_index(index) : -1;
}

// Key index of a table, POSITIONAL: row = key - min.
template <class K> HDD_DEVICE i32 hdd_probe_position(i64 min, u64 range, K key)
{
    const u64 i = hdd_index(key) - (u64)min;
    return !hdd_is_null(key) && i < range ? (i32)i : -1;
}

// BITMAP: the low half of words[(key - min) / 32] has a bit for each of 32 values that a row has, the high half is the number of rows
// with smaller values. A range of values may be larger than any number of rows.
template <class K> HDD_DEVICE i32 hdd_probe_ranks(const u64 *words, i64 min, u64 range, K key)
{
    const u64 i = hdd_index(key) - (u64)min;
    if (hdd_is_null(key) || i >= range)
        return -1;
    const u64 word = hdd_load_const(words + (u32)(i / 32));
    const u32 bit = 1u << (u32)i % 32;
    return (u32)word & bit ? (i32)((u32)(word >> 32) + hdd_popc((u32)word & (bit - 1))) : -1;
}

// ARRAY: rows[key - min] is the row plus one.
template <class K> HDD_DEVICE i32 hdd_probe_array(const u32 *rows, i64 min, u64 range, K key)
{
    const u64 i = hdd_index(key) - (u64)min;
    return !hdd_is_null(key) && i < range ? (i32)hdd_load_const(rows + i) - 1 : -1;
}

// HASH: the slot of the key that hashes to h and is `same`, a function of a row number; 0: none. Slots are neighbours, rows
// lie anywhere: lanes go on until each has a slot that may be its own, and look at rows all at a time.
template <class Same> HDD_DEVICE u64 hdd_find_slot(const u64 *slots, u64 mask, u64 h, Same same)
{
    for (u64 at = h & mask;; at = (at + 1) & mask) {
        u64 slot = slots[at];
        HDD_NO_UNROLL
        while (hdd_any_beside(slot != 0 && !hdd_slot_has_tag(slot, h)))
            if (slot != 0 && !hdd_slot_has_tag(slot, h)) {
                at = (at + 1) & mask;
                slot = slots[at];
            }
        if (slot == 0 || same(hdd_slot_row(slot)))
            return slot;
    }
}

// The key's first row.
template <class Same> HDD_DEVICE i32 hdd_probe_hash(const u64 *slots, u64 mask, u64 h, Same same)
{
    return (i32)hdd_slot_row(hdd_find_slot(slots, mask, h, same));
}

// Its rows.
template <class Row, class Same>
HDD_DEVICE hdd_range hdd_expand_hash(const u64 *slots, u64 mask, u64 h, const Row *rows, Same same)
{
    const u64 slot = hdd_find_slot(slots, mask, h, same);
    if (slot == 0)
        return hdd_no_range();
    const u32 row = hdd_slot_row(slot);
    return hdd_range{row, hdd_slot_has_many(slot) ? (u32)rows[row].hash : 1};
}

// Key equality of tables where NULL equals nothing, and where it equals itself (groups).
template <class A, class B> HDD_DEVICE bool hdd_key_eq(A a, B b)
{
    return hdd_true(hdd_eq(a, b));
}

template <class A, class B> HDD_DEVICE bool hdd_group_eq(A a, B b)
{
    return hdd_true(hdd_eq(a, b)) || (hdd_is_null(a) && hdd_is_null(b));
}

// Rows are sorted by fields ascending, NULLs last: whether the one of `a` comes before those of b.
template <class A, class B> HDD_DEVICE bool hdd_sorts_before(A a, B b)
{
    return !hdd_is_null(a) && (hdd_is_null(b) || hdd_true(hdd_lt(a, b)));
}

// The first of so many rows that is not `before`, which holds of a first part of them, if it has what is looked for;
// else -1.
template <class Before, class Same> HDD_DEVICE i32 hdd_probe_sorted(u64 rows, Before before, Same same)
{
    const u32 row = hdd_partition_point(0, (u32)rows, before);
    return row < rows && same(row) ? (i32)row : -1;
}

// Entries of a CSR or foreign key index: offsets[i] .. offsets[i + 1], of 64 or 32 bits each.
template <class O> HDD_DEVICE hdd_range hdd_offsets(const O *offsets, u64 i)
{
    const O begin = offsets[i];
    return hdd_range{(u32)begin, (u32)(offsets[i + 1] - begin)};
}

template <class I> HDD_DEVICE hdd_range hdd_expand_csr(const u64 *offsets, u64 range, I index)
{
    const u64 i = hdd_index(index);
    return i < range ? hdd_offsets(offsets, i) : hdd_no_range();
}

template <class O> HDD_DEVICE hdd_range hdd_expand_parent(const O *offsets, i32 parent)
{
    return parent < 0 ? hdd_no_range() : hdd_offsets(offsets, (u64)parent);
}

// Of a piece of children the first, and how many there are, each Stride behind the one before.
template <u32 Piece, u32 Stride> HDD_DEVICE hdd_range hdd_piece_of(hdd_range all, i64 number)
{
    const u32 first = (u32)number / Stride * (Stride * Piece) + (u32)number % Stride;
    if (first >= all.n)
        return hdd_no_range();
    return hdd_range{all.begin + first, hdd_min((all.n - first + Stride - 1) / Stride, Piece)};
}

// The child of a parent that has the value base + wanted; children have ascending values, no two alike.
template <class O, class Stored, class K>
HDD_DEVICE i32 hdd_probe_child(const O *offsets, i32 parent, const Stored *data, i64 base, K key)
{
    const hdd_range r = hdd_expand_parent(offsets, parent);
    if (hdd_is_null(key) || r.n == 0)
        return -1;
    const i64 wanted = (i64)(hdd_index(key) - (u64)base);
    u32 at = r.begin;
    for (u32 n = r.n; n > 1;) {
        const u32 half = n / 2;
        at += (i64)hdd_stored(data, (i32)(at + half)) <= wanted ? half : 0;
        n -= half;
    }
    return (i64)hdd_stored(data, (i32)at) == wanted ? (i32)at : -1;
}

// Rows of a table that have base + wanted in a column by which they ascend.
template <class Stored> struct hdd_sorted_column {
    const Stored *data;
    u32 rows;
    i64 wanted;

    template <class K>
    HDD_MEMBER hdd_sorted_column(const Stored *data, u64 rows, i64 base, K key)
        : data(data), rows(hdd_is_null(key) ? 0 : (u32)rows), wanted((i64)(hdd_index(key) - (u64)base))
    {
    }
    HDD_MEMBER i64 at(u32 row) const
    {
        return (i64)hdd_stored(data, (i32)row);
    }
    HDD_MEMBER u32 first() const
    {
        const hdd_sorted_column &c = *this;
        return hdd_partition_point(0, rows, [&](u32 r) { return c.at(r) < c.wanted; });
    }
    HDD_MEMBER u32 first(hdd_near &near) const
    {
        const hdd_sorted_column &c = *this;
        return rows ? hdd_partition_point_near(rows, [&](u32 r) { return c.at(r) < c.wanted; }, near) : 0;
    }
    HDD_MEMBER i32 found(u32 row) const
    {
        return row < rows && at(row) == wanted ? (i32)row : -1;
    }
    // From the first of them on. There are few, mostly: steps grow.
    HDD_MEMBER hdd_range all(u32 begin) const
    {
        const hdd_sorted_column &c = *this;
        u32 end = begin, beyond = rows, step = 1;
        if (found(begin) < 0)
            return hdd_no_range();
        HDD_NO_UNROLL
        for (; step <= rows - end; step *= 2) {
            if (at(end + step - 1) != wanted) {
                beyond = end + step - 1;
                break;
            }
            end += step;
        }
        end = hdd_partition_point(end, beyond, [&](u32 r) { return c.at(r) == c.wanted; });
        return hdd_range{begin, end - begin};
    }
};

template <class Stored, class K, class... Near>
HDD_DEVICE i32 hdd_probe_column(const Stored *data, u64 rows, i64 base, K key, Near &...near)
{
    const hdd_sorted_column<Stored> c(data, rows, base, key);
    return c.found(c.first(near...));
}

template <class Stored, class K, class... Near>
HDD_DEVICE hdd_range hdd_expand_column(const Stored *data, u64 rows, i64 base, K key, Near &...near)
{
    const hdd_sorted_column<Stored> c(data, rows, base, key);
    return c.all(c.first(near...));
}

HDD_DEVICE hdd_range hdd_expand_all(u64 rows)
{
    return hdd_range{0, (u32)rows};
}

HDD_DEVICE hdd_range hdd_expand_later(u64 rows, i32 row)
{
    return hdd_range{(u32)row + 1, (u32)rows - (u32)row - 1};
}

// As many children as `count` says, which is less than 2^31.
template <class I> HDD_DEVICE hdd_range hdd_expand_count(I count)
{
    const i64 n = (i64)hdd_index(count);
    return n > 0 ? hdd_range{0, (u32)n} : hdd_no_range();
}

// Field of the row that a dictionary map keeps for a code.
template <class T, class Row, class F> struct hdd_lookup_of {
    const Row *rows;
    F Row::*field;
    HDD_MEMBER T operator()(i32 code) const
    {
        return rows[code].*field;
    }
};

template <class T, class Row, class F, class Code> HDD_DEVICE auto hdd_lookup(const Row *rows, F Row::*field, Code code)
{
    return hdd_strict(hdd_lookup_of<T, Row, F>{rows, field}, code);
}

template <class T, class Row, class F>
HDD_DEVICE hdd_opt<T> hdd_lookup(const Row *rows, F Row::*field, u8 Row::*valid, hdd_opt<i32> code)
{
    return code.ok && rows[code.v].*valid ? hdd_opt<T>(rows[code.v].*field) : hdd_opt<T>();
}

// Sets a bit that other threads may set too. Most matches of a skewed row find it set: only
// the first pays for the atomic.
HDD_DEVICE void hdd_set_bit(u64 *words, u64 i)
{
    const u64 bit = (u64)1 << (i % 64);
    if (!(hdd_load_relaxed(words + i / 64) & bit))
        hdd_atomic_or(words + i / 64, bit);
}

#endif
