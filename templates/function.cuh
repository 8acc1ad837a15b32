// Functions of floats in expressions: strict in NULL; with `run` they raise. Of float32 they are the functions of
// float64, rounded once. One thread at a time.
#ifndef HDD_FUNCTION_CUH
#define HDD_FUNCTION_CUH

#include "hd/math.cuh"
#include "hd/run.cuh"
#include "hd/value.cuh"

typedef f64 hdd_function_1(f64);
typedef f64 hdd_function_2(f64, f64);

HDD_DEVICE bool hdd_is_finite(f64 v)
{
    return v - v == 0;
}

template <hdd_function_1 *F> HDD_DEVICE f32 hdd_single(f32 x)
{
    return (f32)F(x);
}

template <> HDD_MEMBER f32 hdd_single<hdd_sqrt>(f32 x)
{
    return hdd_sqrt_f32(x);
}

template <hdd_function_1 *F> struct hdd_plain_function_1 {
    HDD_MEMBER f64 operator()(f64 x) const
    {
        return F(x);
    }
    HDD_MEMBER f32 operator()(f32 x) const
    {
        return hdd_single<F>(x);
    }
};

template <hdd_function_2 *F> struct hdd_plain_function_2 {
    HDD_MEMBER f64 operator()(f64 x, f64 y) const
    {
        return F(x, y);
    }
    HDD_MEMBER f32 operator()(f32 x, f32 y) const
    {
        return (f32)F(x, y);
    }
};

// Not defined: NaN though no argument is; too large: infinite though all arguments are finite.
template <hdd_function_1 *F> struct hdd_checked_function_1 {
    const hdd_run &run;
    i32 path;

    HDD_MEMBER f64 operator()(f64 x) const
    {
        return checked(F(x), x);
    }
    HDD_MEMBER f32 operator()(f32 x) const
    {
        return checked(hdd_single<F>(x), x);
    }

  private:
    template <class T> HDD_MEMBER T checked(T r, T x) const
    {
        if (hdd_is_finite(r))
            return r;
        const u64 image = (u64)hdd_f64_bits(x);
        if (r != r && x == x)
            run.fail_value(HDD_FAIL_DOMAIN, path, image, 0);
        else if (r == r && hdd_is_finite(x))
            run.fail_value(HDD_FAIL_OVERFLOW, path, image, 0);
        return r;
    }
};

template <hdd_function_2 *F> struct hdd_checked_function_2 {
    const hdd_run &run;
    i32 path;

    HDD_MEMBER f64 operator()(f64 x, f64 y) const
    {
        return checked(F(x, y), x, y);
    }
    HDD_MEMBER f32 operator()(f32 x, f32 y) const
    {
        return checked((f32)F(x, y), x, y);
    }

  private:
    template <class T> HDD_MEMBER T checked(T r, T x, T y) const
    {
        if (hdd_is_finite(r))
            return r;
        const u64 first = (u64)hdd_f64_bits(x), second = (u64)hdd_f64_bits(y);
        if (r != r && x == x && y == y)
            run.fail_value(HDD_FAIL_DOMAIN, path, first, second);
        else if (r == r && hdd_is_finite(x) && hdd_is_finite(y))
            run.fail_value(HDD_FAIL_OVERFLOW, path, first, second);
        return r;
    }
};

template <hdd_function_1 *F, class A> HDD_DEVICE auto hdd_call(A x)
{
    return hdd_strict(hdd_plain_function_1<F>(), x);
}

template <hdd_function_1 *F, class A> HDD_DEVICE auto hdd_call(const hdd_run &run, i32 path, A x)
{
    return hdd_strict(hdd_checked_function_1<F>{run, path}, x);
}

template <hdd_function_2 *F, class A, class B> HDD_DEVICE auto hdd_call(A x, B y)
{
    return hdd_strict(hdd_plain_function_2<F>(), x, y);
}

template <hdd_function_2 *F, class A, class B> HDD_DEVICE auto hdd_call(const hdd_run &run, i32 path, A x, B y)
{
    return hdd_strict(hdd_checked_function_2<F>{run, path}, x, y);
}

#endif
