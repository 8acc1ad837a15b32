// Functions of strings (templates/text.cuh) in expressions: strict in NULL, they never raise. One thread at a time.
#ifndef HDD_TEXT_CALL_CUH
#define HDD_TEXT_CALL_CUH

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

#endif
