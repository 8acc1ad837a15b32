// Arithmetic of expressions: strict in NULL; the checked forms raise instead of wrapping. The
// planner decides which form a node takes (pl_expr.fail, pl_expr.limit_digits).
#ifndef HDD_ARITH_CUH
#define HDD_ARITH_CUH

#include "hd/run.cuh"
#include "hd/value.cuh"
#include "hd/wide.cuh"

// ---- facts prove that the result fits ------------------------------------------------------

#define HDD_OPERATOR(symbol, name) \
    struct name { \
        template <class T> HDD_MEMBER T operator()(T a, T b) const \
        { \
            return a symbol b; \
        } \
    }; \
    template <class T> HDD_DEVICE hdd_opt<T> operator symbol(hdd_opt<T> a, hdd_opt<T> b) \
    { \
        return hdd_strict(name(), a, b); \
    } \
    template <class T> HDD_DEVICE hdd_opt<T> operator symbol(hdd_opt<T> a, T b) \
    { \
        return hdd_strict(name(), a, hdd_opt<T>(b)); \
    } \
    template <class T> HDD_DEVICE hdd_opt<T> operator symbol(T a, hdd_opt<T> b) \
    { \
        return hdd_strict(name(), hdd_opt<T>(a), b); \
    }
HDD_OPERATOR(+, hdd_plain_add)
HDD_OPERATOR(-, hdd_plain_sub)
HDD_OPERATOR(*, hdd_plain_mul)
#undef HDD_OPERATOR

template <class T> HDD_DEVICE hdd_opt<T> operator-(hdd_opt<T> a)
{
    return hdd_opt<T>(-a.v, a.ok);
}

// ---- checked -------------------------------------------------------------------------------

template <class T> struct hdd_unsigned;
template <> struct hdd_unsigned<i32> {
    typedef u32 type;
};
template <> struct hdd_unsigned<i64> {
    typedef u64 type;
};
template <> struct hdd_unsigned<i128> {
    typedef u128 type;
};

// The sum and difference wrap in the unsigned ring; signs tell whether they did.
template <class T> HDD_DEVICE bool hdd_add_wraps(T a, T b, T &r)
{
    typedef typename hdd_unsigned<T>::type U;
    r = (T)((U)a + (U)b);
    return ((a ^ r) & (b ^ r)) < 0;
}

template <class T> HDD_DEVICE bool hdd_sub_wraps(T a, T b, T &r)
{
    typedef typename hdd_unsigned<T>::type U;
    r = (T)((U)a - (U)b);
    return ((a ^ b) & (a ^ r)) < 0;
}

HDD_DEVICE bool hdd_mul_wraps(i32 a, i32 b, i32 &r)
{
    const i64 wide = (i64)a * b;
    r = (i32)wide;
    return wide != r;
}

HDD_DEVICE bool hdd_mul_wraps(i64 a, i64 b, i64 &r)
{
    const i128 wide = (i128)a * b;
    r = (i64)wide;
    return wide != r;
}

// By absolute values, 64 bits at a time: |a| = a1:a0, |b| = b1:b0.
HDD_DEVICE bool hdd_mul_wraps(i128 a, i128 b, i128 &r)
{
    const bool negative = (a < 0) != (b < 0);
    const u128 x = a < 0 ? -(u128)a : (u128)a, y = b < 0 ? -(u128)b : (u128)b;
    const u64 a1 = (u64)(x >> 64), b1 = (u64)(y >> 64);
    const u128 cross = (u128)a1 * (u64)y + (u128)(u64)x * b1;
    const u128 low = (u128)(u64)x * (u64)y, sum = low + (cross << 64);
    const u128 max = ((u128)1 << 127) - (negative ? 0 : 1);
    r = (i128)(negative ? -sum : sum);
    return (a1 && b1) || (cross >> 64) != 0 || sum < low || sum > max;
}

// Beyond the class already, or beyond `digits` decimal digits (0: no such limit).
template <class T> HDD_DEVICE bool hdd_beyond(bool wraps, T r, i32 digits)
{
    if (wraps || digits <= 0)
        return wraps;
    const i128 limit = hdd_pow10(digits) - 1;
    return (i128)r > limit || (i128)r < -limit;
}

struct hdd_check {
    const hdd_run &run;
    i32 digits, path;

    template <class T> HDD_MEMBER T result(bool wraps, T r) const
    {
        if (!hdd_beyond(wraps, r, digits))
            return r;
        run.fail(HDD_FAIL_OVERFLOW, path);
        return T();
    }
};

#define HDD_CHECKED(name, wraps) \
    struct name##_of : hdd_check { \
        HDD_MEMBER name##_of(const hdd_run &run, i32 digits, i32 path) : hdd_check{run, digits, path} \
        { \
        } \
        template <class T> HDD_MEMBER T operator()(T a, T b) const \
        { \
            T r; \
            const bool bad = wraps(a, b, r); \
            return result(bad, r); \
        } \
    }; \
    template <class A, class B> HDD_DEVICE auto name(const hdd_run &run, i32 digits, i32 path, A a, B b) \
    { \
        return hdd_strict(name##_of(run, digits, path), a, b); \
    }
HDD_CHECKED(hdd_checked_add, hdd_add_wraps)
HDD_CHECKED(hdd_checked_sub, hdd_sub_wraps)
HDD_CHECKED(hdd_checked_mul, hdd_mul_wraps)
#undef HDD_CHECKED

// ---- integers that order like floats --------------------------------------------------------

// Of negative numbers all bits but the sign change: larger ones have smaller bits.
HDD_DEVICE i64 hdd_ordinal_bits(i64 bits)
{
    return bits < 0 ? bits ^ 0x7fffffffffffffffll : bits;
}

HDD_DEVICE i32 hdd_ordinal_bits(i32 bits)
{
    return bits < 0 ? bits ^ 0x7fffffff : bits;
}

struct hdd_ordinal_of {
    HDD_MEMBER i64 operator()(f64 a) const
    {
        return a == a ? hdd_ordinal_bits(hdd_f64_bits(a)) : (i64)HDD_ORDINAL_NAN;
    }
    HDD_MEMBER i32 operator()(f32 a) const
    {
        return a == a ? hdd_ordinal_bits(hdd_f32_bits(a)) : HDD_ORDINAL_NAN32;
    }
};

struct hdd_of_ordinal_of {
    HDD_MEMBER f64 operator()(i64 a) const
    {
        return hdd_f64_from_bits(hdd_ordinal_bits(a));
    }
    HDD_MEMBER f32 operator()(i32 a) const
    {
        return hdd_f32_from_bits(hdd_ordinal_bits(a));
    }
};

template <class A> HDD_DEVICE auto hdd_ordinal(A a)
{
    return hdd_strict(hdd_ordinal_of(), a);
}

template <class A> HDD_DEVICE auto hdd_of_ordinal(A a)
{
    return hdd_strict(hdd_of_ordinal_of(), a);
}

// ---- magnitude and sign --------------------------------------------------------------------

struct hdd_abs_of {
    template <class T> HDD_MEMBER T operator()(T a) const
    {
        return a < 0 ? -a : a;
    }
    HDD_MEMBER f64 operator()(f64 a) const
    {
        return hdd_f64_from_bits(hdd_f64_bits(a) & 0x7fffffffffffffffll);
    }
    HDD_MEMBER f32 operator()(f32 a) const
    {
        return hdd_f32_from_bits(hdd_f32_bits(a) & 0x7fffffff);
    }
};

// The smallest integer has none.
struct hdd_checked_abs_of : hdd_check {
    HDD_MEMBER hdd_checked_abs_of(const hdd_run &run, i32 path) : hdd_check{run, 0, path}
    {
    }
    template <class T> HDD_MEMBER T operator()(T a) const
    {
        T r;
        const bool wraps = hdd_sub_wraps((T)0, a, r);
        return a < 0 ? result(wraps, r) : a;
    }
};

template <class A> HDD_DEVICE auto hdd_abs(A a)
{
    return hdd_strict(hdd_abs_of(), a);
}

template <class A> HDD_DEVICE auto hdd_abs(const hdd_run &run, i32 path, A a)
{
    return hdd_strict(hdd_checked_abs_of(run, path), a);
}

// As a compares with 0: NaN is larger.
struct hdd_sign_of {
    template <class T> HDD_MEMBER i32 operator()(T a) const
    {
        return (a > 0 || a != a) - (a < 0);
    }
};

template <class A> HDD_DEVICE auto hdd_sign(A a)
{
    return hdd_strict(hdd_sign_of(), a);
}

// ---- division: truncates; the divisor is not 0 and the quotient fits unless `run` is given -

struct hdd_div_of {
    template <class T> HDD_MEMBER T operator()(T a, T b) const
    {
        return a / b;
    }
};

struct hdd_mod_of {
    template <class T> HDD_MEMBER T operator()(T a, T b) const
    {
        return b == (T)-1 ? T() : (T)(a % b); // the smallest value by -1 would trap
    }
};

template <class A, class B> HDD_DEVICE auto hdd_div(A a, B b)
{
    return hdd_strict(hdd_div_of(), a, b);
}

template <class A, class B> HDD_DEVICE auto hdd_mod(A a, B b)
{
    return hdd_strict(hdd_mod_of(), a, b);
}

HDD_DEVICE bool hdd_quotient_fits(f64, f64)
{
    return true;
}

HDD_DEVICE bool hdd_quotient_fits(f32, f32)
{
    return true;
}

template <class T> HDD_DEVICE bool hdd_quotient_fits(T a, T b)
{
    typedef typename hdd_unsigned<T>::type U;
    return b != (T)-1 || a != (T)((U)1 << (sizeof(T) * 8 - 1));
}

template <class F> struct hdd_checked_division {
    F f;
    const hdd_run &run;
    i32 path;

    template <class T> HDD_MEMBER T operator()(T a, T b) const
    {
        if (b == T()) {
            run.fail(HDD_FAIL_DIV_ZERO, path);
            return T();
        }
        if (!hdd_quotient_fits(a, b) && f.traps) {
            run.fail(HDD_FAIL_OVERFLOW, path);
            return T();
        }
        return f.of(a, b);
    }
};

struct hdd_quotient {
    enum { traps = 1 };
    template <class T> HDD_MEMBER T of(T a, T b) const
    {
        return a / b;
    }
};

struct hdd_remainder {
    enum { traps = 0 };
    template <class T> HDD_MEMBER T of(T a, T b) const
    {
        return hdd_mod_of()(a, b);
    }
};

template <class A, class B> HDD_DEVICE auto hdd_checked_div(const hdd_run &run, i32 path, A a, B b)
{
    return hdd_strict(hdd_checked_division<hdd_quotient>{hdd_quotient(), run, path}, a, b);
}

template <class A, class B> HDD_DEVICE auto hdd_checked_mod(const hdd_run &run, i32 path, A a, B b)
{
    return hdd_strict(hdd_checked_division<hdd_remainder>{hdd_remainder(), run, path}, a, b);
}

// ---- widths --------------------------------------------------------------------------------

template <class To, class From> HDD_DEVICE To hdd_cast(From a)
{
    return (To)a;
}

template <class To, class From> HDD_DEVICE hdd_opt<To> hdd_cast(hdd_opt<From> a)
{
    return hdd_opt<To>((To)a.v, a.ok);
}

template <class To> struct hdd_narrow_of {
    const hdd_run &run;
    i32 digits, path;

    template <class From> HDD_MEMBER To operator()(From a) const
    {
        if (!hdd_beyond((From)(To)a != a, a, digits))
            return (To)a;
        run.fail_value(HDD_FAIL_CAST_RANGE, path, (u64)a, (u64)((i128)a >> 64));
        return To();
    }
};

template <class To, class A> HDD_DEVICE auto hdd_narrow(const hdd_run &run, i32 digits, i32 path, A a)
{
    return hdd_strict(hdd_narrow_of<To>{run, digits, path}, a);
}

#endif
