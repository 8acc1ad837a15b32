// Functions of strings (templates/text.cuh) in expressions: strict in NULL; those that make a new one have room for it on
// the heap of strings, and raise where it is too long. One thread at a time.
#ifndef HDD_TEXT_CALL_CUH
#define HDD_TEXT_CALL_CUH

#include "hd/heap.cuh"
#include "hd/regexp.cuh"
#include "hd/run.cuh"
#include "hd/text.cuh"
#include "hd/value.cuh"

typedef i64 hdd_of_text(const u8 *, i32);
typedef i64 hdd_of_two_texts(const u8 *, i32, const u8 *, i32);
typedef i64 hdd_of_text_and_number(const u8 *, i32, i64);
typedef i64 hdd_of_two_texts_and_number(const u8 *, i32, const u8 *, i32, i64);

// What the result stands for.
template <class R> HDD_DEVICE R hdd_text_result(hdd_string, i64 v)
{
    return (R)v;
}

template <> HDD_MEMBER hdd_string hdd_text_result<hdd_string>(hdd_string s, i64 v)
{
    return hdd_string{s.s + hdd_span_begin(v), hdd_span_length(v)};
}

template <class R, hdd_of_text *F> struct hdd_text_1 {
    HDD_MEMBER R operator()(hdd_string s) const
    {
        return hdd_text_result<R>(s, F(s.s, s.n));
    }
};

template <class R, hdd_of_two_texts *F> struct hdd_text_2 {
    HDD_MEMBER R operator()(hdd_string s, hdd_string t) const
    {
        return hdd_text_result<R>(s, F(s.s, s.n, t.s, t.n));
    }
};

template <class R, hdd_of_text_and_number *F> struct hdd_text_n {
    HDD_MEMBER R operator()(hdd_string s, i64 n) const
    {
        return hdd_text_result<R>(s, F(s.s, s.n, n));
    }
};

template <class R, hdd_of_two_texts_and_number *F> struct hdd_text_2n {
    i64 n;
    HDD_MEMBER R operator()(hdd_string s, hdd_string t) const
    {
        return hdd_text_result<R>(s, F(s.s, s.n, t.s, t.n, n));
    }
};

// NULL where bytes are not UTF-8.
HDD_DEVICE hdd_opt<hdd_string> hdd_try_decode(hdd_string s)
{
    return hdd_opt<hdd_string>(s, hdd_is_text(s.s, s.n) != 0);
}

HDD_DEVICE hdd_opt<hdd_string> hdd_try_decode(hdd_opt<hdd_string> s)
{
    return s.ok ? hdd_try_decode(s.v) : s;
}

template <class R, hdd_of_text *F, class A> HDD_DEVICE auto hdd_text(A s)
{
    return hdd_strict(hdd_text_1<R, F>(), s);
}

template <class R, hdd_of_two_texts *F, class A, class B> HDD_DEVICE auto hdd_text(A s, B t)
{
    return hdd_strict(hdd_text_2<R, F>(), s, t);
}

template <class R, hdd_of_text_and_number *F, class A, class B> HDD_DEVICE auto hdd_text(A s, B n)
{
    return hdd_strict(hdd_text_n<R, F>(), s, n);
}

template <class R, hdd_of_two_texts_and_number *F, class A, class B> HDD_DEVICE auto hdd_text(A s, B t, i64 n)
{
    return hdd_strict(hdd_text_2n<R, F>{n}, s, t);
}

template <class R, hdd_of_two_texts_and_number *F, class A, class B> HDD_DEVICE auto hdd_text(A s, B t, hdd_opt<i64> n)
{
    typedef hdd_opt<R> Result;
    return n.ok ? Result(hdd_text<R, F>(s, t, n.v)) : Result();
}

// ---- new strings ---------------------------------------------------------------------------

typedef i64 hdd_made_of_number(u8 *, i64);
typedef i64 hdd_made_of_number_and_text(u8 *, i64, const u8 *, i32);
typedef i64 hdd_made_of_text(u8 *, const u8 *, i32);
typedef i64 hdd_made_of_two(u8 *, const u8 *, i32, const u8 *, i32);
typedef i64 hdd_made_of_three(u8 *, const u8 *, i32, const u8 *, i32, const u8 *, i32);
typedef i64 hdd_made_by_number(u8 *, const u8 *, i32, i64);
typedef i64 hdd_made_by_number_and_text(u8 *, const u8 *, i32, i64, const u8 *, i32);

// write(to) writes the string, and gives its size where `to` is null.
template <class Write> HDD_DEVICE hdd_string hdd_make_string(const hdd_run &run, i32 path, Write write)
{
    const i64 size = write(nullptr);
    if (size > HDD_STRING_MAX || size < 0) {
        run.fail(size < 0 ? HDD_FAIL_DOMAIN : HDD_FAIL_STRING_SIZE, path);
        return hdd_string();
    }
    u8 *const to = hdd_string_room(run.launch, (i32)size);
    if (!to)
        return hdd_string{reinterpret_cast<const u8 *>(run.launch.string_heap), 0};
    write(to);
    return hdd_string{to, (i32)size};
}

template <hdd_made_of_number *F> struct hdd_made_number {
    const hdd_run &run;
    i32 path;
    HDD_MEMBER hdd_string operator()(i64 n) const
    {
        return hdd_make_string(run, path, [=](u8 *to) { return F(to, n); });
    }
};

template <hdd_made_of_number_and_text *F> struct hdd_made_number_text {
    const hdd_run &run;
    i32 path;
    HDD_MEMBER hdd_string operator()(i64 n, hdd_string t) const
    {
        return hdd_make_string(run, path, [=](u8 *to) { return F(to, n, t.s, t.n); });
    }
};

template <hdd_made_of_text *F> struct hdd_made_1 {
    const hdd_run &run;
    i32 path;
    HDD_MEMBER hdd_string operator()(hdd_string s) const
    {
        return hdd_make_string(run, path, [=](u8 *to) { return F(to, s.s, s.n); });
    }
};

template <hdd_made_of_two *F> struct hdd_made_2 {
    const hdd_run &run;
    i32 path;
    HDD_MEMBER hdd_string operator()(hdd_string s, hdd_string t) const
    {
        return hdd_make_string(run, path, [=](u8 *to) { return F(to, s.s, s.n, t.s, t.n); });
    }
};

template <hdd_made_by_number *F> struct hdd_made_n {
    const hdd_run &run;
    i32 path;
    HDD_MEMBER hdd_string operator()(hdd_string s, i64 n) const
    {
        return hdd_make_string(run, path, [=](u8 *to) { return F(to, s.s, s.n, n); });
    }
};

template <hdd_made_of_three *F> struct hdd_made_3 {
    const hdd_run &run;
    i32 path;
    hdd_string u;
    HDD_MEMBER hdd_string operator()(hdd_string s, hdd_string t) const
    {
        const hdd_string last = u;
        return hdd_make_string(run, path, [=](u8 *to) { return F(to, s.s, s.n, t.s, t.n, last.s, last.n); });
    }
};

template <hdd_made_by_number_and_text *F> struct hdd_made_n2 {
    const hdd_run &run;
    i32 path;
    hdd_string t;
    HDD_MEMBER hdd_string operator()(hdd_string s, i64 n) const
    {
        const hdd_string last = t;
        return hdd_make_string(run, path, [=](u8 *to) { return F(to, s.s, s.n, n, last.s, last.n); });
    }
};

template <hdd_made_of_number *F, class A> HDD_DEVICE auto hdd_made(const hdd_run &run, i32 path, A n)
{
    return hdd_strict(hdd_made_number<F>{run, path}, n);
}

template <hdd_made_of_number_and_text *F, class A, class B>
HDD_DEVICE auto hdd_made(const hdd_run &run, i32 path, A n, B t)
{
    return hdd_strict(hdd_made_number_text<F>{run, path}, n, t);
}

template <hdd_made_of_text *F, class A> HDD_DEVICE auto hdd_made(const hdd_run &run, i32 path, A s)
{
    return hdd_strict(hdd_made_1<F>{run, path}, s);
}

template <hdd_made_of_two *F, class A, class B> HDD_DEVICE auto hdd_made(const hdd_run &run, i32 path, A s, B t)
{
    return hdd_strict(hdd_made_2<F>{run, path}, s, t);
}

template <hdd_made_by_number *F, class A, class B> HDD_DEVICE auto hdd_made(const hdd_run &run, i32 path, A s, B n)
{
    return hdd_strict(hdd_made_n<F>{run, path}, s, n);
}

template <hdd_made_of_three *F, class A, class B>
HDD_DEVICE auto hdd_made(const hdd_run &run, i32 path, A s, B t, hdd_string u)
{
    return hdd_strict(hdd_made_3<F>{run, path, u}, s, t);
}

template <hdd_made_by_number_and_text *F, class A, class B>
HDD_DEVICE auto hdd_made(const hdd_run &run, i32 path, A s, B n, hdd_string t)
{
    return hdd_strict(hdd_made_n2<F>{run, path, t}, s, n);
}

template <hdd_made_of_three *F, class A, class B>
HDD_DEVICE auto hdd_made(const hdd_run &run, i32 path, A s, B t, hdd_opt<hdd_string> u)
{
    typedef hdd_opt<hdd_string> Result;
    return u.ok ? Result(hdd_made<F>(run, path, s, t, u.v)) : Result();
}

template <hdd_made_by_number_and_text *F, class A, class B>
HDD_DEVICE auto hdd_made(const hdd_run &run, i32 path, A s, B n, hdd_opt<hdd_string> t)
{
    typedef hdd_opt<hdd_string> Result;
    return t.ok ? Result(hdd_made<F>(run, path, s, n, t.v)) : Result();
}

#endif
