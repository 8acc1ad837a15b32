// Values in flight, one thread at a time: a nullable value is a pair, a string is an address
// and a length. No warp operations. The rules are those of docs/plan.md section 2.2.
#ifndef HDD_VALUE_CUH
#define HDD_VALUE_CUH

#include "hd/machine.cuh"

// A value that may be NULL. Where it is NULL, v is zero, so that it is safe to compute with.
template <class T> struct hdd_opt {
    T v;
    bool ok;

    hdd_opt() = default;
    HDD_MEMBER hdd_opt(T value) : v(value), ok(true)
    {
    }
    HDD_MEMBER hdd_opt(T value, bool valid) : v(valid ? value : T()), ok(valid)
    {
    }
};

// A stored row id whose field has a validity byte: no row is -1.
HDD_DEVICE i32 hdd_row_or_none(hdd_opt<i32> row)
{
    return row.ok ? row.v : -1;
}

template <class T> HDD_DEVICE hdd_opt<T> hdd_null()
{
    return hdd_opt<T>(T(), false);
}

// A string. The bytes belong to a column, a dictionary or the plan's constants.
struct hdd_string {
    const u8 *s;
    i32 n;
};

// The same in a row of a state.
struct hdd_row_string {
    u64 s, n;

    HDD_MEMBER operator hdd_string() const
    {
        return hdd_string{reinterpret_cast<const u8 *>(s), (i32)n};
    }
    HDD_MEMBER hdd_row_string &operator=(hdd_string t)
    {
        s = reinterpret_cast<u64>(t.s);
        n = (u64)t.n;
        return *this;
    }
};

// ---- NULL: strict functions ----------------------------------------------------------------

// f(a, ...) where no argument is NULL, else NULL; f is not called otherwise, so it may raise.
template <class F, class A> HDD_DEVICE auto hdd_strict(F f, A a) -> decltype(f(a))
{
    return f(a);
}

template <class F, class A> HDD_DEVICE auto hdd_strict(F f, hdd_opt<A> a) -> hdd_opt<decltype(f(a.v))>
{
    typedef hdd_opt<decltype(f(a.v))> R;
    return a.ok ? R(f(a.v)) : R();
}

template <class F, class A, class B> HDD_DEVICE auto hdd_strict(F f, A a, B b) -> decltype(f(a, b))
{
    return f(a, b);
}

template <class F, class A, class B>
HDD_DEVICE auto hdd_strict(F f, hdd_opt<A> a, hdd_opt<B> b) -> hdd_opt<decltype(f(a.v, b.v))>
{
    typedef hdd_opt<decltype(f(a.v, b.v))> R;
    return a.ok && b.ok ? R(f(a.v, b.v)) : R();
}

template <class F, class A, class B> HDD_DEVICE auto hdd_strict(F f, hdd_opt<A> a, B b) -> hdd_opt<decltype(f(a.v, b))>
{
    return hdd_strict(f, a, hdd_opt<B>(b));
}

template <class F, class A, class B> HDD_DEVICE auto hdd_strict(F f, A a, hdd_opt<B> b) -> hdd_opt<decltype(f(a, b.v))>
{
    return hdd_strict(f, hdd_opt<A>(a), b);
}

// x unless it is outside of lo and hi, or NaN.
template <class T> HDD_DEVICE hdd_opt<T> hdd_within(T x, T lo, T hi)
{
    return hdd_opt<T>(x, x >= lo && x <= hi);
}

template <class T> HDD_DEVICE hdd_opt<T> hdd_within(hdd_opt<T> x, T lo, T hi)
{
    return x.ok ? hdd_within(x.v, lo, hi) : x;
}

// ---- order ---------------------------------------------------------------------------------

template <class T> HDD_DEVICE bool hdd_less(T a, T b)
{
    return a < b;
}

template <class T> HDD_DEVICE bool hdd_same(T a, T b)
{
    return a == b;
}

// NaN equals NaN and is larger than every other number.
HDD_DEVICE bool hdd_less(f64 a, f64 b)
{
    return a < b || (a == a && b != b);
}

HDD_DEVICE bool hdd_same(f64 a, f64 b)
{
    return a == b || (a != a && b != b);
}

HDD_DEVICE bool hdd_less(f32 a, f32 b)
{
    return a < b || (a == a && b != b);
}

HDD_DEVICE bool hdd_same(f32 a, f32 b)
{
    return a == b || (a != a && b != b);
}

// -1, 0, 1: bytewise, then by length.
HDD_DEVICE i32 hdd_compare_strings(hdd_string a, hdd_string b)
{
    const i32 n = a.n < b.n ? a.n : b.n;
    HDD_NO_UNROLL
    for (i32 i = 0; i < n; i++)
        if (a.s[i] != b.s[i])
            return a.s[i] < b.s[i] ? -1 : 1;
    return a.n == b.n ? 0 : a.n < b.n ? -1 : 1;
}

HDD_DEVICE bool hdd_less(hdd_string a, hdd_string b)
{
    return hdd_compare_strings(a, b) < 0;
}

HDD_DEVICE bool hdd_same(hdd_string a, hdd_string b)
{
    i32 i = 0;
    if (a.n != b.n)
        return false;
    HDD_NO_UNROLL
    while (i < a.n && a.s[i] == b.s[i])
        i++;
    return i >= a.n;
}

#define HDD_COMPARISON(name, expression) \
    struct name##_of { \
        template <class T> HDD_MEMBER bool operator()(T a, T b) const \
        { \
            return expression; \
        } \
    }; \
    template <class A, class B> HDD_DEVICE auto name(A a, B b) -> decltype(hdd_strict(name##_of(), a, b)) \
    { \
        return hdd_strict(name##_of(), a, b); \
    }
HDD_COMPARISON(hdd_eq, hdd_same(a, b))
HDD_COMPARISON(hdd_ne, !hdd_same(a, b))
HDD_COMPARISON(hdd_lt, hdd_less(a, b))
HDD_COMPARISON(hdd_le, !hdd_less(b, a))
HDD_COMPARISON(hdd_gt, hdd_less(b, a))
HDD_COMPARISON(hdd_ge, !hdd_less(a, b))
#undef HDD_COMPARISON

// The lesser, the larger; of equal ones the first. NULL only if both are.
#define HDD_EXTREME(name, second) \
    template <class T> HDD_DEVICE T name(T a, T b) \
    { \
        return second ? b : a; \
    } \
    template <class T> HDD_DEVICE T name(hdd_opt<T> a, T b) \
    { \
        return a.ok ? name(a.v, b) : b; \
    } \
    template <class T> HDD_DEVICE T name(T a, hdd_opt<T> b) \
    { \
        return b.ok ? name(a, b.v) : a; \
    } \
    template <class T> HDD_DEVICE hdd_opt<T> name(hdd_opt<T> a, hdd_opt<T> b) \
    { \
        return a.ok && b.ok ? hdd_opt<T>(name(a.v, b.v)) : a.ok ? a : b; \
    }
HDD_EXTREME(hdd_least, hdd_less(b, a))
HDD_EXTREME(hdd_greatest, hdd_less(a, b))
#undef HDD_EXTREME

// ---- three-valued logic --------------------------------------------------------------------

// A condition holds: valid and true.
HDD_DEVICE bool hdd_true(bool b)
{
    return b;
}

HDD_DEVICE bool hdd_true(hdd_opt<bool> b)
{
    return b.ok && b.v;
}

HDD_DEVICE bool hdd_false(bool b)
{
    return !b;
}

HDD_DEVICE bool hdd_false(hdd_opt<bool> b)
{
    return b.ok && !b.v;
}

HDD_DEVICE bool hdd_and(bool a, bool b)
{
    return a & b;
}

template <class A, class B> HDD_DEVICE hdd_opt<bool> hdd_and(A a, B b)
{
    const bool yes = hdd_true(a) & hdd_true(b), no = hdd_false(a) | hdd_false(b);
    return hdd_opt<bool>(yes, yes | no);
}

HDD_DEVICE bool hdd_or(bool a, bool b)
{
    return a | b;
}

template <class A, class B> HDD_DEVICE hdd_opt<bool> hdd_or(A a, B b)
{
    const bool yes = hdd_true(a) | hdd_true(b), no = hdd_false(a) & hdd_false(b);
    return hdd_opt<bool>(yes, yes | no);
}

// The same with a second side, a function, that is evaluated only when the first leaves the
// outcome open: it may raise, or is dear.
template <class A, class F> HDD_DEVICE auto hdd_and_then(A a, F f) -> decltype(hdd_and(a, f()))
{
    if (hdd_false(a))
        return a;
    return hdd_and(a, f());
}

template <class A, class F> HDD_DEVICE auto hdd_or_else(A a, F f) -> decltype(hdd_or(a, f()))
{
    if (hdd_true(a))
        return a;
    return hdd_or(a, f());
}

HDD_DEVICE hdd_opt<bool> operator!(hdd_opt<bool> a)
{
    return hdd_opt<bool>(!a.v, a.ok);
}

template <class T> HDD_DEVICE bool hdd_is_null(hdd_opt<T> a)
{
    return !a.ok;
}

template <class T> HDD_DEVICE bool hdd_is_null(T)
{
    return false;
}

template <class T> HDD_DEVICE T hdd_coalesce(hdd_opt<T> a, T b)
{
    return a.ok ? a.v : b;
}

template <class T> HDD_DEVICE hdd_opt<T> hdd_coalesce(hdd_opt<T> a, hdd_opt<T> b)
{
    return a.ok ? a : b;
}

template <class T, class B> HDD_DEVICE T hdd_coalesce(T a, B)
{
    return a;
}

template <class T, class F> HDD_DEVICE auto hdd_coalesce_else(hdd_opt<T> a, F f) -> decltype(f())
{
    typedef decltype(f()) R;
    return a.ok ? R(a.v) : f();
}

template <class T, class F> HDD_DEVICE T hdd_coalesce_else(T a, F)
{
    return a;
}

// x = a or x = b or ..., three-valued.
template <class X, class A> HDD_DEVICE auto hdd_in(X x, A a) -> decltype(hdd_eq(x, a))
{
    return hdd_eq(x, a);
}

template <class X, class A, class B, class... More> HDD_DEVICE auto hdd_in(X x, A a, B b, More... more)
{
    return hdd_or(hdd_eq(x, a), hdd_in(x, b, more...));
}

// The same with items as functions, evaluated only until one is equal.
template <class X, class F> HDD_DEVICE auto hdd_in_else(X x, F f) -> decltype(hdd_eq(x, f()))
{
    return hdd_eq(x, f());
}

template <class X, class F, class G, class... More> HDD_DEVICE auto hdd_in_else(X x, F f, G g, More... more)
{
    return hdd_or_else(hdd_eq(x, f()), [&] { return hdd_in_else(x, g, more...); });
}

#endif
