// Hashes of key tuples: the rule of templates/abi.h. Strings take a function of their own:
// hash values never leave the backend that computed them.
#ifndef HDD_HASH_CUH
#define HDD_HASH_CUH

#include "hd/value.cuh"

constexpr u64 HDD_HASH_SEED = 0x2545F4914F6CDD1Dull;
constexpr u64 HDD_HASH_MUL = 0x9E3779B97F4A7C15ull;
constexpr u64 HDD_HASH_NULL = 0xA0761D6478BD642Full;

HDD_DEVICE u64 hdd_mix(u64 x)
{
    x *= HDD_HASH_MUL;
    return x ^ (x >> 32);
}

// h after one more key field.
HDD_DEVICE u64 hdd_hash_more(u64 h, i64 v)
{
    return hdd_mix(h ^ (u64)v);
}

HDD_DEVICE u64 hdd_hash_more(u64 h, i32 v)
{
    return hdd_hash_more(h, (i64)v);
}

HDD_DEVICE u64 hdd_hash_more(u64 h, bool v)
{
    return hdd_hash_more(h, (i64)v);
}

HDD_DEVICE u64 hdd_hash_more(u64 h, i128 v)
{
    return hdd_hash_more(hdd_hash_more(h, (i64)v), (i64)(v >> 64));
}

// Equal numbers get equal bits.
HDD_DEVICE u64 hdd_hash_more(u64 h, f64 v)
{
    if (v == 0)
        return hdd_hash_more(h, (i64)0);
    return hdd_hash_more(h, v == v ? hdd_f64_bits(v) : (i64)0x7ff8000000000000ll);
}

HDD_DEVICE u64 hdd_hash_more(u64 h, f32 v)
{
    if (v == 0)
        return hdd_hash_more(h, 0);
    return hdd_hash_more(h, v == v ? hdd_f32_bits(v) : 0x7fc00000);
}

HDD_DEVICE u64 hdd_hash_more(u64 h, hdd_string t)
{
    u64 word = 0, all = (u64)t.n;
    HDD_NO_UNROLL
    for (i32 i = 0; i < t.n; i++) {
        word = word << 8 | t.s[i];
        if (i % 8 == 7 || i + 1 == t.n)
            all = hdd_mix(all ^ word);
    }
    return hdd_hash_more(h, (i64)all);
}

template <class T> HDD_DEVICE u64 hdd_hash_more(u64 h, hdd_opt<T> v)
{
    return v.ok ? hdd_hash_more(h, v.v) : hdd_mix(h ^ HDD_HASH_NULL);
}

// Of a key that is one word; equal hashes are equal words.
HDD_DEVICE u64 hdd_hash_word(u64 word)
{
    return hdd_mix(hdd_mix(word));
}

// Of so many rows the one where the search for a word begins; there are less than 2^32.
HDD_DEVICE u64 hdd_word_place(u64 word, u64 rows)
{
    return (hdd_hash_word(word) >> 32) * rows >> 32;
}

HDD_DEVICE u64 hdd_hash_from(u64 h)
{
    return h;
}

template <class A, class... More> HDD_DEVICE u64 hdd_hash_from(u64 h, A a, More... more)
{
    return hdd_hash_from(hdd_hash_more(h, a), more...);
}

template <class... Keys> HDD_DEVICE u64 hdd_hash(Keys... keys)
{
    return hdd_hash_from(HDD_HASH_SEED, keys...);
}

#endif
