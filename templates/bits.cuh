// Operators of bits: strict in NULL; shifts raise with `run`. One thread at a time.
#ifndef HDD_BITS_CUH
#define HDD_BITS_CUH

#include "hd/run.cuh"
#include "hd/value.cuh"

#define HDD_BITS(name, symbol) \
    struct name##_of { \
        template <class T> HDD_MEMBER T operator()(T a, T b) const \
        { \
            return a symbol b; \
        } \
    }; \
    template <class A, class B> HDD_DEVICE auto name(A a, B b) \
    { \
        return hdd_strict(name##_of(), a, b); \
    }
HDD_BITS(hdd_bit_and, &)
HDD_BITS(hdd_bit_or, |)
HDD_BITS(hdd_bit_xor, ^)
#undef HDD_BITS

struct hdd_bit_not_of {
    template <class T> HDD_MEMBER T operator()(T a) const
    {
        return ~a;
    }
};

struct hdd_bit_count_of {
    HDD_MEMBER i32 operator()(i64 a) const
    {
        return (i32)(hdd_popc((u32)a) + hdd_popc((u32)((u64)a >> 32)));
    }
};

template <class A> HDD_DEVICE auto hdd_bit_not(A a)
{
    return hdd_strict(hdd_bit_not_of(), a);
}

template <class A> HDD_DEVICE auto hdd_bit_count(A a)
{
    return hdd_strict(hdd_bit_count_of(), a);
}

// The least power of two above an integer that is not negative.
struct hdd_power_above_of {
    HDD_MEMBER i64 operator()(i64 a) const
    {
        HDD_NO_UNROLL
        for (u32 by = 1; by < 64; by *= 2)
            a |= a >> by;
        return a + 1;
    }
};

template <class A> HDD_DEVICE auto hdd_power_above(A a)
{
    return hdd_strict(hdd_power_above_of(), a);
}

// ---- shifts: by 64 bits and more they leave the sign, or 0 ----------------------------------

struct hdd_shift_left_of {
    HDD_MEMBER i64 operator()(i64 a, i64 n) const
    {
        return (u64)n < 64 ? (i64)((u64)a << n) : 0;
    }
};

struct hdd_shift_right_of {
    HDD_MEMBER i64 operator()(i64 a, i64 n) const
    {
        return a >> ((u64)n < 64 ? n : 63);
    }
};

template <class F> struct hdd_checked_shift {
    F f;
    const hdd_run &run;
    i32 path;

    HDD_MEMBER i64 operator()(i64 a, i64 n) const
    {
        const i64 r = f(a, n);
        if (n < 0)
            run.fail_value(HDD_FAIL_DOMAIN, path, (u64)a, (u64)n);
        else if (loses(f, a, n, r))
            run.fail_value(HDD_FAIL_OVERFLOW, path, (u64)a, (u64)n);
        return r;
    }

  private:
    HDD_MEMBER static bool loses(hdd_shift_left_of, i64 a, i64 n, i64 r)
    {
        return hdd_shift_right_of()(r, n) != a;
    }
    HDD_MEMBER static bool loses(hdd_shift_right_of, i64, i64, i64)
    {
        return false;
    }
};

template <class A, class N> HDD_DEVICE auto hdd_shift_left(A a, N n)
{
    return hdd_strict(hdd_shift_left_of(), a, n);
}

template <class A, class N> HDD_DEVICE auto hdd_shift_right(A a, N n)
{
    return hdd_strict(hdd_shift_right_of(), a, n);
}

template <class A, class N> HDD_DEVICE auto hdd_shift_left(const hdd_run &run, i32 path, A a, N n)
{
    return hdd_strict(hdd_checked_shift<hdd_shift_left_of>{hdd_shift_left_of(), run, path}, a, n);
}

template <class A, class N> HDD_DEVICE auto hdd_shift_right(const hdd_run &run, i32 path, A a, N n)
{
    return hdd_strict(hdd_checked_shift<hdd_shift_right_of>{hdd_shift_right_of(), run, path}, a, n);
}

#endif
