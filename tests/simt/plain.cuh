// What the machines of the tests (twin.cuh, solo.cuh) have in common: types, bits, and loads of
// memory that no thread writes. They define HDD_ASSERT before.
#ifndef HDD_PLAIN_CUH
#define HDD_PLAIN_CUH

#include "templates/host.h"

#define HDD_MEMBER  inline
#define HDD_PART    __attribute__((noinline))
#define HDD_TABLE   static const
#define HDD_PROFILE // kernels of the tests keep records when the launch has room for them
#define HDD_UNROLL
#define HDD_UNROLL_4
#define HDD_NO_UNROLL

// ---- bits ----------------------------------------------------------------------------------

HDD_DEVICE bool hdd_unknown(bool v)
{
    return v;
}

HDD_DEVICE u32 hdd_popc(u32 v)
{
    return (u32)__builtin_popcount(v);
}

HDD_DEVICE u32 hdd_lowest(u32 v)
{
    HDD_ASSERT(v != 0);
    return (u32)__builtin_ctz(v);
}

HDD_DEVICE u32 hdd_highest(u32 v)
{
    HDD_ASSERT(v != 0);
    return 31 - (u32)__builtin_clz(v);
}

HDD_DEVICE u32 hdd_lowest64(u64 v)
{
    HDD_ASSERT(v != 0);
    return (u32)__builtin_ctzll(v);
}

HDD_DEVICE u32 hdd_shift_pair(u32 lo, u32 hi, u32 by)
{
    return (u32)(((u64)hi << 32 | lo) >> by);
}

HDD_DEVICE u64 hdd_rotate(u64 v, u32 by)
{
    HDD_ASSERT(by < 64);
    return by ? v << by | v >> (64 - by) : v;
}

HDD_DEVICE u32 hdd_and(u32 a, u32 b, u32 c)
{
    return a & b & c;
}

HDD_DEVICE u32 hdd_opaque(u32 v)
{
    return v;
}

template <class T> HDD_DEVICE T *hdd_opaque_shared(T *p)
{
    return p;
}

template <class T> HDD_DEVICE void hdd_plus(T &to, T v)
{
    to += v;
}

HDD_DEVICE u32 hdd_one()
{
    return 1;
}

HDD_DEVICE void hdd_flag(u32 &flag)
{
    flag = 1;
}

HDD_DEVICE void hdd_copy_word(void *to, const void *from)
{
    __builtin_memcpy(to, from, sizeof(u32));
}

HDD_DEVICE u64 hdd_mul_high(u64 a, u64 b)
{
    return (u64)((u128)a * b >> 64);
}

// ---- memory that no thread writes in this kernel -------------------------------------------

template <class T> HDD_DEVICE T hdd_load_const(const T *p)
{
    return *p;
}

HDD_DEVICE void hdd_load_const8(const void *p, u32 &a, u32 &b)
{
    const u32 *at = static_cast<const u32 *>(p);
    HDD_ASSERT(reinterpret_cast<u64>(p) % 8 == 0);
    a = at[0], b = at[1];
}

HDD_DEVICE void hdd_load16(const void *p, u32 &a, u32 &b, u32 &c, u32 &d)
{
    const u32 *at = static_cast<const u32 *>(p);
    HDD_ASSERT(reinterpret_cast<u64>(p) % 16 == 0);
    a = at[0], b = at[1], c = at[2], d = at[3];
}

HDD_DEVICE void hdd_load_const16(const void *p, u32 &a, u32 &b, u32 &c, u32 &d)
{
    hdd_load16(p, a, b, c, d);
}

HDD_DEVICE void hdd_load_const16(const void *p, u64 &lo, u64 &hi)
{
    const u64 *at = static_cast<const u64 *>(p);
    HDD_ASSERT(reinterpret_cast<u64>(p) % 16 == 0);
    lo = at[0];
    hi = at[1];
}

#endif
