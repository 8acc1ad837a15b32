// What accumulators do: combining two values of one group, and adding a value to a field of a
// row that many threads update. An operation is an object; `none` is where an accumulator of no
// values starts, `of` is pure and leaves the other as it is if one is `none`, `into` is for one
// thread at a time per lane and needs no warp.
//
//   sums           one atomic add, of fields of 8 and 16 bits to the word around them; 128 bits
//                  are two adds, the lower one carries. None wraps: the planner chose the width so
//   bits           one atomic, of 64 bits
//   int min, max   one atomic; accumulators start at the far end of their type
//   floats' min, max: compare-and-swap of the bits while the value comes first in the order of
//                  docs/plan.md (NaN is the largest number); they start at the far end, too
//   i128, string   a lock per field: bit 1 of its validity byte. A holder never waits, so with
//                  the independent thread scheduling of every supported GPU nobody waits
//                  forever. Numbers that cannot win are turned away without the lock, before they
//                  wait and while they do: blocks end side by side, and of thousands few win.
//   any            all rows of a group have the same value: whoever writes last writes what
//                  is there
#ifndef HDD_ACCUMULATE_CUH
#define HDD_ACCUMULATE_CUH

#include "hd/arith.cuh"
#include "hd/store.cuh"
#include "hd/warp.cuh"

// Validity of an accumulator that never becomes NULL again. Every writer writes the same.
HDD_DEVICE void hdd_mark_valid(u8 *valid)
{
    if (valid)
        *valid = 1;
}

// ---- sums ----------------------------------------------------------------------------------

HDD_DEVICE void hdd_atomic_sum(i32 *p, i32 v)
{
    hdd_atomic_add(reinterpret_cast<u32 *>(p), (u32)v);
}

// A field of 8 or 16 bits in the word around it, in which it never carries.
template <class Field> HDD_DEVICE void hdd_atomic_sum_within(Field *p, i32 v)
{
    const u64 at = reinterpret_cast<u64>(p);
    hdd_atomic_add(reinterpret_cast<u32 *>(at & ~(u64)3), (u32)v << (u32)(at & 3) * 8);
}

HDD_DEVICE void hdd_atomic_sum(u8 *p, i32 v)
{
    hdd_atomic_sum_within(p, v);
}

HDD_DEVICE void hdd_atomic_sum(u16 *p, i32 v)
{
    hdd_atomic_sum_within(p, v);
}

HDD_DEVICE void hdd_atomic_sum(i64 *p, i64 v)
{
    hdd_atomic_add(reinterpret_cast<u64 *>(p), (u64)v);
}

HDD_DEVICE void hdd_atomic_sum(f64 *p, f64 v)
{
    hdd_atomic_add(p, v);
}

// Two words. Each add to the low one carries for itself, so the pair is right once all are
// done.
HDD_DEVICE void hdd_atomic_sum(i128 *p, i128 v)
{
    u64 *const words = reinterpret_cast<u64 *>(p);
    const u64 lo = (u64)v, was = hdd_atomic_add(words, lo);
    hdd_atomic_add(words + 1, (u64)(v >> 64) + (was + lo < was));
}

struct hdd_sum {
    template <class T> HDD_MEMBER static T none()
    {
        return T();
    }

    template <class T> HDD_MEMBER T of(T a, T b) const
    {
        return a + b;
    }

    template <class Field, class T> HDD_MEMBER void into(Field &field, u8 *valid, T v) const
    {
        hdd_atomic_sum(&field, v);
        hdd_mark_valid(valid);
    }
};

// ---- bits of int64 -------------------------------------------------------------------------

// Those that some value has. Like those of odd many they start at 0.
struct hdd_either {
    template <class T> HDD_MEMBER T of(T a, T b) const
    {
        return a | b;
    }

    HDD_MEMBER void into(i64 &field, u8 *valid, i64 v) const
    {
        hdd_atomic_or(reinterpret_cast<u64 *>(&field), (u64)v);
        hdd_mark_valid(valid);
    }
};

struct hdd_parity {
    template <class T> HDD_MEMBER T of(T a, T b) const
    {
        return a ^ b;
    }

    HDD_MEMBER void into(i64 &field, u8 *valid, i64 v) const
    {
        hdd_atomic_xor(reinterpret_cast<u64 *>(&field), (u64)v);
        hdd_mark_valid(valid);
    }
};

// ---- a field under a lock ------------------------------------------------------------------

// Bit 1 of a validity byte, in the word around it. Neighbours of the byte may change meanwhile.
struct hdd_field_lock {
    u32 *word;
    u32 shift;

    HDD_MEMBER explicit hdd_field_lock(u8 *valid)
        : word(reinterpret_cast<u32 *>(reinterpret_cast<u64>(valid) & ~(u64)3)),
          shift((u32)(reinterpret_cast<u64>(valid) & 3) * 8)
    {
    }

    // The field has a value; if so, it can be read as old as that.
    HDD_MEMBER bool valid() const
    {
        return (hdd_load_acquire(word) >> shift) & 1;
    }

    // False: somebody else has it.
    HDD_MEMBER bool try_lock() const
    {
        if (hdd_atomic_or(word, 2u << shift) & (2u << shift))
            return false;
        hdd_fence();
        return true;
    }

    // The field has a value now.
    HDD_MEMBER void unlock() const
    {
        hdd_fence();
        if (valid())
            hdd_atomic_add(word, 0u - (2u << shift));
        else
            hdd_atomic_add(word, 0u - (1u << shift)); // from 2 to 1
    }
};

HDD_DEVICE i128 hdd_field_read(const i128 &field)
{
    const u64 *const words = reinterpret_cast<const u64 *>(&field);
    const u64 lo = hdd_load_relaxed(words), hi = hdd_load_relaxed(words + 1);
    return (i128)((u128)hi << 64 | lo);
}

// By who holds the lock; the high word last.
HDD_DEVICE void hdd_field_write(i128 &field, i128 v)
{
    u64 *const words = reinterpret_cast<u64 *>(&field);
    hdd_store_relaxed(words, (u64)v);
    hdd_fence();
    hdd_store_relaxed(words + 1, (u64)(v >> 64));
}

HDD_DEVICE void hdd_field_write(hdd_row_string &field, hdd_string v)
{
    field = v;
}

HDD_DEVICE hdd_string hdd_field_read(const hdd_row_string &field)
{
    return hdd_row_string{hdd_load_relaxed(&field.s), hdd_load_relaxed(&field.n)};
}

// ---- min and max ---------------------------------------------------------------------------

// The far end of each order, where accumulators of numbers start; the host's gpu_state.c has
// the same.
template <class T> HDD_DEVICE T hdd_highest_of()
{
    typedef typename hdd_unsigned<T>::type U;
    return (T)(~(U)0 >> 1);
}

template <> HDD_MEMBER f64 hdd_highest_of<f64>()
{
    return hdd_f64_from_bits(0x7ff8000000000000ll);
}

template <> HDD_MEMBER f32 hdd_highest_of<f32>()
{
    return hdd_f32_from_bits(0x7fc00000);
}

// No string comes first: there is neither a last one nor a length below zero.
template <> HDD_MEMBER hdd_string hdd_highest_of<hdd_string>()
{
    return hdd_string{nullptr, -1};
}

template <class T> HDD_DEVICE T hdd_lowest_of()
{
    return -hdd_highest_of<T>() - 1;
}

template <> HDD_MEMBER f64 hdd_lowest_of<f64>()
{
    return hdd_f64_from_bits((i64)0xfff0000000000000ull);
}

template <> HDD_MEMBER f32 hdd_lowest_of<f32>()
{
    return hdd_f32_from_bits((i32)0xff800000u);
}

template <> HDD_MEMBER hdd_string hdd_lowest_of<hdd_string>()
{
    return hdd_highest_of<hdd_string>();
}

struct hdd_ascending {
    template <class T> HDD_MEMBER static T last()
    {
        return hdd_highest_of<T>();
    }
    template <class T> HDD_MEMBER static bool before(T a, T b)
    {
        return hdd_less(a, b);
    }
    template <class T> HDD_MEMBER static void atomic(T *p, T v)
    {
        hdd_atomic_min(p, v);
    }
};

struct hdd_descending {
    template <class T> HDD_MEMBER static T last()
    {
        return hdd_lowest_of<T>();
    }
    template <class T> HDD_MEMBER static bool before(T a, T b)
    {
        return hdd_less(b, a);
    }
    template <class T> HDD_MEMBER static void atomic(T *p, T v)
    {
        hdd_atomic_max(p, v);
    }
};

// The value that comes first in an order.
template <class Order> struct hdd_first_in {
    const hdd_run &run;

    template <class T> HDD_MEMBER static T none()
    {
        return Order::template last<T>();
    }

    template <class T> HDD_MEMBER T of(T a, T b) const
    {
        return Order::before(b, a) ? b : a;
    }

    HDD_MEMBER hdd_string of(hdd_string a, hdd_string b) const
    {
        return b.n < 0 || (a.n >= 0 && !Order::before(b, a)) ? a : b;
    }

    HDD_MEMBER void into(i32 &field, u8 *valid, i32 v) const
    {
        Order::atomic(&field, v);
        hdd_mark_valid(valid);
    }

    HDD_MEMBER void into(i64 &field, u8 *valid, i64 v) const
    {
        Order::atomic(&field, v);
        hdd_mark_valid(valid);
    }

    HDD_MEMBER void into(f64 &field, u8 *valid, f64 v) const
    {
        u64 *const bits = reinterpret_cast<u64 *>(&field), mine = (u64)hdd_f64_bits(v);
        u64 old = hdd_load_relaxed(bits);
        while (Order::before(v, hdd_f64_from_bits((i64)old))) {
            const u64 was = hdd_atomic_cas(bits, old, mine);
            if (was == old)
                break;
            old = was;
        }
        hdd_mark_valid(valid);
    }

    HDD_MEMBER void into(f32 &field, u8 *valid, f32 v) const
    {
        u32 *const bits = reinterpret_cast<u32 *>(&field), mine = (u32)hdd_f32_bits(v);
        u32 old = hdd_load_relaxed(bits);
        while (Order::before(v, hdd_f32_from_bits((i32)old))) {
            const u32 was = hdd_atomic_cas(bits, old, mine);
            if (was == old)
                break;
            old = was;
        }
        hdd_mark_valid(valid);
    }

    HDD_MEMBER void into(i128 &field, u8 *valid, i128 v) const
    {
        if (!loses(field, hdd_field_lock(valid), v))
            locked(field, valid, v);
    }

    HDD_MEMBER void into(hdd_row_string &field, u8 *valid, hdd_string v) const
    {
        locked(field, valid, v);
    }

  private:
    // What is there is v, or comes before it. Its high word only moves towards the front, and is written last: the low word that
    // is read behind it is of that number or of one that comes before it.
    HDD_MEMBER static bool loses(const i128 &field, const hdd_field_lock &lock, i128 v)
    {
        if (!lock.valid())
            return false;
        const u64 *const words = reinterpret_cast<const u64 *>(&field);
        const u64 hi = hdd_load_acquire(words + 1), lo = hdd_load_relaxed(words);
        const i64 mine = (i64)(v >> 64);
        return (i64)hi == mine ? !Order::before((u64)v, lo) : Order::before((i64)hi, mine);
    }

    // Two words that are read one by one: only who holds the lock can tell.
    HDD_MEMBER static bool loses(const hdd_row_string &, const hdd_field_lock &, hdd_string)
    {
        return false;
    }

    template <class F, class T> HDD_MEMBER void locked(F &field, u8 *valid, T v) const
    {
        const hdd_field_lock lock(valid);
        while (!lock.try_lock()) {
            if (run.aborted() || loses(field, lock, v))
                return;
            hdd_back_off();
        }
        if (!lock.valid() || Order::before(v, hdd_field_read(field)))
            hdd_field_write(field, v);
        lock.unlock();
    }
};

typedef hdd_first_in<hdd_ascending> hdd_minimum;
typedef hdd_first_in<hdd_descending> hdd_maximum;

// ---- any -----------------------------------------------------------------------------------

struct hdd_pick {
    template <class F, class T> HDD_MEMBER void into(F &field, u8 *valid, T v) const
    {
        field = v;
        hdd_mark_valid(valid);
    }
};

HDD_DEVICE hdd_string hdd_shuffle(hdd_string t, u32 lane)
{
    const u64 s = hdd_shuffle(reinterpret_cast<u64>(t.s), lane);
    return hdd_string{reinterpret_cast<const u8 *>(s), hdd_shuffle(t.n, lane)};
}

// ---- in registers --------------------------------------------------------------------------

// What a thread has of one group lies in one structure, so that lanes combine all accumulators
// at once. A pipeline with aggregates has
//
//   struct accumulators                                     an accumulator per aggregate, none at first;
//                                                           for those that may stay NULL a bit in `seen`
//   void merge(accumulators &to, const accumulators &from)  all of one group
//   accumulators of_lane(const accumulators &, u32 lane)    whole warp
//   void add_accumulators(Row &, const accumulators &)      to what others add to as well

// The one value so far of an accumulator; a NULL leaves it as it is.
template <class T, class V> HDD_DEVICE void hdd_begin(T &to, V v)
{
    to = v;
}

template <class T, class V> HDD_DEVICE void hdd_begin(T &to, hdd_opt<V> v)
{
    if (v.ok)
        to = v.v;
}

template <class T, class V> HDD_DEVICE void hdd_begin(T &to, u32 &seen, u32 bit, V v)
{
    hdd_begin(to, v);
    seen |= hdd_is_null(v) ? 0 : bit;
}

// One more.
template <class Op, class T> HDD_DEVICE void hdd_add(Op op, T &to, T v)
{
    to = op.of(to, v);
}

template <class Op, class T> HDD_DEVICE void hdd_add(Op op, T &to, hdd_opt<T> v)
{
    if (v.ok)
        to = op.of(to, v.v);
}

// To one that knows itself whether it has a value.
template <class Op, class T> HDD_DEVICE void hdd_add(Op op, hdd_opt<T> &to, hdd_opt<T> v)
{
    if (v.ok)
        to = hdd_opt<T>(op.of(to.v, v.v), true);
}

template <class Op, class T, class V> HDD_DEVICE void hdd_add(Op op, T &to, u32 &seen, u32 bit, V v)
{
    hdd_add(op, to, v);
    seen |= hdd_is_null(v) ? 0 : bit;
}

// Of all lanes, into every lane. Whole warp.
template <class Pipeline, class Accumulators> HDD_DEVICE void hdd_combine(const Pipeline &p, Accumulators &accumulators)
{
    HDD_NO_UNROLL // runs once per kernel, and every copy costs time to compile
        for (u32 by = HDD_LANES / 2; by > 0; by /= 2) p.merge(accumulators, p.of_lane(accumulators, hdd_lane() ^ by));
}

#endif
