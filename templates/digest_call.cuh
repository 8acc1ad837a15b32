// The hash of values (templates/digest.cuh) in expressions. NULL has one. One thread at a time.
#ifndef HDD_DIGEST_CALL_CUH
#define HDD_DIGEST_CALL_CUH

#include "hd/digest.cuh"
#include "hd/value.cuh"

HDD_DEVICE u64 hdd_digest_more(u64 h, i64 v)
{
    return hdd_digest_word(h, (u64)v);
}

// One word where it fits.
HDD_DEVICE u64 hdd_digest_more(u64 h, i128 v)
{
    const u64 low = hdd_digest_word(h, (u64)v);
    return (i128)(i64)v == v ? low : hdd_digest_word(low, (u64)(v >> 64));
}

HDD_DEVICE u64 hdd_digest_more(u64 h, f64 v)
{
    return hdd_digest_word(h, v == 0 ? 0 : v == v ? (u64)hdd_f64_bits(v) : 0x7ff8000000000000ull);
}

HDD_DEVICE u64 hdd_digest_more(u64 h, hdd_string v)
{
    return hdd_digest_text(h, v.s, v.n);
}

template <class T> HDD_DEVICE u64 hdd_digest_more(u64 h, hdd_opt<T> v)
{
    return v.ok ? hdd_digest_more(h, v.v) : hdd_digest_word(h, HDD_DIGEST_NULL);
}

HDD_DEVICE i64 hdd_digest_from(u64 h)
{
    return (i64)h;
}

template <class A, class... More> HDD_DEVICE i64 hdd_digest_from(u64 h, A a, More... more)
{
    return hdd_digest_from(hdd_digest_more(h, a), more...);
}

template <class... Values> HDD_DEVICE i64 hdd_digest(Values... values)
{
    return hdd_digest_from(HDD_DIGEST_SEED, values...);
}

#endif
