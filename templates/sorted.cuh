// Ranges of a state whose rows are sorted by one or two 64-bit words (planner/pipeline.h, "Search
// words"), found by binary search. One thread at a time; neighbouring lanes that look for
// neighbouring words read the same rows.
#ifndef HDD_SORTED_CUH
#define HDD_SORTED_CUH

#include "hd/hash.cuh"
#include "hd/range.cuh"
#include "hd/stored.cuh"

// ---- words ---------------------------------------------------------------------------------

struct hdd_order_word_of {
    HDD_MEMBER i64 operator()(i32 v) const
    {
        return v;
    }
    HDD_MEMBER i64 operator()(i64 v) const
    {
        return v;
    }
    // Beyond 64 bits: their ends.
    HDD_MEMBER i64 operator()(i128 v) const
    {
        const i64 low = (i64)v;
        return low == v ? low : v < 0 ? -0x7fffffffffffffffll - 1 : 0x7fffffffffffffffll;
    }
    // Bits of negative numbers order the other way round.
    HDD_MEMBER i64 operator()(f64 v) const
    {
        const i64 bits = v == 0 ? 0 : hdd_f64_bits(v);
        return v != v ? 0x7fffffffffffffffll : bits < 0 ? bits ^ 0x7fffffffffffffffll : bits;
    }
    HDD_MEMBER i64 operator()(f32 v) const
    {
        return (*this)((f64)v);
    }
};

template <class A> HDD_DEVICE auto hdd_order_word(A a)
{
    return hdd_strict(hdd_order_word_of(), a);
}

template <class... Keys> HDD_DEVICE i64 hdd_hash_word(Keys... keys)
{
    return (i64)hdd_hash(keys...);
}

// ---- ranges --------------------------------------------------------------------------------

// Rows behind those `before` that are `within`. Most ranges are short: their end is looked for in
// steps that double.
template <class Before, class Within> HDD_DEVICE hdd_range hdd_rows_between(u32 rows, Before before, Within within)
{
    const u32 begin = hdd_partition_point(0, rows, before);
    u32 end = begin, beyond = rows, step = 1;
    HDD_NO_UNROLL
    for (; step <= rows - end; step *= 2) {
        if (!within(end + step - 1)) {
            beyond = end + step - 1;
            break;
        }
        end += step;
    }
    end = hdd_partition_point(end, beyond, within);
    return hdd_range{begin, end - begin};
}

HDD_DEVICE i64 hdd_known(i64 v)
{
    return v;
}

HDD_DEVICE i64 hdd_known(hdd_opt<i64> v)
{
    return v.v;
}

// `word` of a row lies between low and high.
template <class Low, class High, class Word>
HDD_DEVICE hdd_range hdd_expand_sorted(u64 rows, Low low, High high, Word word)
{
    const i64 from = hdd_known(low), to = hdd_known(high);
    if (hdd_is_null(low) || hdd_is_null(high))
        return hdd_no_range();
    return hdd_rows_between((u32)rows, [&](u32 r) { return word(r) < from; }, [&](u32 r) { return word(r) <= to; });
}

// Values of a column by which rows are sorted.
template <class Stored> struct hdd_values_of {
    const Stored *data;
    i64 base;

    HDD_MEMBER i64 operator()(u32 row) const
    {
        return (i64)hdd_stored(data, (i32)row) + base;
    }
};

template <class Stored> HDD_DEVICE hdd_values_of<Stored> hdd_column_values(const Stored *data, i64 base)
{
    return hdd_values_of<Stored>{data, base};
}

// And `far`, which never falls from row to row, has reached `reach`.
template <class Low, class High, class Reach, class Word, class Far>
HDD_DEVICE hdd_range hdd_expand_reaching(u64 rows, Low low, High high, Reach reach, Word word, Far far)
{
    const i64 from = hdd_known(low), to = hdd_known(high), least = hdd_known(reach);
    if (hdd_is_null(low) || hdd_is_null(high) || hdd_is_null(reach))
        return hdd_no_range();
    return hdd_rows_between((u32)rows, [&](u32 r) { return word(r) < from || far(r) < least; },
                            [&](u32 r) { return word(r) <= to; });
}

// And `first` is equal to a key.
template <class Key, class Low, class High, class First, class Word>
HDD_DEVICE hdd_range hdd_expand_sorted(u64 rows, Key key, Low low, High high, First first, Word word)
{
    const i64 k = hdd_known(key), from = hdd_known(low), to = hdd_known(high);
    if (hdd_is_null(key) || hdd_is_null(low) || hdd_is_null(high))
        return hdd_no_range();
    const auto before = [&](u32 r) {
        const i64 f = first(r);
        return f < k || (f == k && word(r) < from);
    };
    const auto within = [&](u32 r) {
        const i64 f = first(r);
        return f < k || (f == k && word(r) <= to);
    };
    return hdd_rows_between((u32)rows, before, within);
}

#endif
