// The machine of templates/machine.cuh on the host: the same names over the emulator of
// simt.h. Emitted source compiled against this file is what tests/simt runs. Atomics are plain
// code: only one fiber runs at a time, and each of them is a point where another one may take
// over.
#ifndef HDD_MACHINE_CUH
#define HDD_MACHINE_CUH

#include <cstring>

#include "tests/simt/simt.h"

#define HDD_ASSERT(condition)                                                                 \
    do {                                                                                      \
        if (!(condition))                                                                     \
            simt_fail(#condition, __FILE__, __LINE__);                                        \
    } while (0)

#include "hd/device.cuh"
#include "tests/simt/plain.cuh"

#define HDD_KERNEL(name)       extern "C" __attribute__((visibility("default"))) void name
#define HDD_KERNEL_FOR(blocks, name) HDD_KERNEL(name)
#define HDD_SHARED(type, name) type &name = *static_cast<type *>(simt_shared(sizeof(type)))
#define HDD_SHARED_AT_LAUNCH(type, name) HDD_SHARED(type, name)
// By address, so that the host calls every kernel in one way.
#define HDD_PARAMETER(type, name) const type &name
#define HDD_OFFSET(type, member) __builtin_offsetof(type, member)

constexpr u32 HDD_LANES = HDD_WARP_LANES;
#ifdef HDD_CHOSEN_WARPS
constexpr u32 HDD_WARPS = HDD_CHOSEN_WARPS;
#else
constexpr u32 HDD_WARPS = HDD_BLOCK_WARPS;
#endif
constexpr u32 HDD_BLOCK = HDD_WARPS * HDD_LANES;
constexpr u32 HDD_BITS_EIGHTHS = 8;
constexpr u32 HDD_POLLS = 2;
constexpr u32 HDD_LOOK_RARELY = 33;

HDD_DEVICE u32 hdd_lane()
{
    return simt_here.lane;
}

HDD_DEVICE u32 hdd_warp()
{
    return simt_here.warp;
}

HDD_DEVICE u32 hdd_block()
{
    return simt_here.block;
}

HDD_DEVICE u32 hdd_block_warps()
{
    return HDD_WARPS;
}

// ---- whole warps ---------------------------------------------------------------------------

HDD_DEVICE void hdd_warp_sync()
{
    simt_vote(SIMT_SYNC, false);
}

HDD_DEVICE u32 hdd_ballot(bool b)
{
    return simt_vote(SIMT_BALLOT, b);
}

HDD_DEVICE bool hdd_any_beside(bool b)
{
    return b;
}

template <class T> HDD_DEVICE T hdd_twin_deposit(const unsigned char *deposits, u32 lane)
{
    T v;
    std::memcpy(&v, deposits + (lane % HDD_LANES) * SIMT_DEPOSIT, sizeof v);
    return v;
}

template <class T> HDD_DEVICE T hdd_twin_shuffle(T v, u32 lane)
{
    return hdd_twin_deposit<T>(simt_meet(SIMT_SHUFFLE, &v, sizeof v), lane);
}

HDD_DEVICE u32 hdd_shuffle(u32 v, u32 lane)
{
    return hdd_twin_shuffle(v, lane);
}

HDD_DEVICE u64 hdd_shuffle(u64 v, u32 lane)
{
    return hdd_twin_shuffle(v, lane);
}

HDD_DEVICE u32 hdd_shuffle_up(u32 v, u32 by)
{
    const unsigned char *all = simt_meet(SIMT_SHUFFLE_UP, &v, sizeof v);
    return hdd_lane() < by ? v : hdd_twin_deposit<u32>(all, hdd_lane() - by);
}

HDD_DEVICE u32 hdd_match(u64 v)
{
    const unsigned char *all = simt_meet(SIMT_MATCH, &v, sizeof v);
    u32 same = 0;
    for (u32 k = 0; k < HDD_LANES; k++)
        same |= (u32)(hdd_twin_deposit<u64>(all, k) == v) << k;
    return same;
}

HDD_DEVICE u32 hdd_match_bit(u32 v, u32 bit)
{
    const u32 with = hdd_ballot(v & bit);
    return v & bit ? with : ~with;
}

HDD_DEVICE u32 hdd_warp_or(u32 v)
{
    return simt_or(v);
}

HDD_DEVICE u32 hdd_warp_add(u32 v)
{
    const unsigned char *all = simt_meet(SIMT_REDUCE, &v, sizeof v);
    u32 sum = 0;
    for (u32 k = 0; k < HDD_LANES; k++)
        sum += hdd_twin_deposit<u32>(all, k);
    return sum;
}

HDD_DEVICE void hdd_block_sync()
{
    simt_block_barrier();
}

// ---- atomics -------------------------------------------------------------------------------

template <class T> HDD_DEVICE T hdd_twin_set(T *p, T v)
{
    const T old = *p;
    *p = v;
    return old;
}

#define HDD_TWIN_ATOMIC(name, T, expression)                                                  \
    HDD_DEVICE T name(T *p, T v)                                                              \
    {                                                                                         \
        simt_point();                                                                         \
        return hdd_twin_set(p, expression);                                                   \
    }
HDD_TWIN_ATOMIC(hdd_atomic_add, u32, *p + v)
HDD_TWIN_ATOMIC(hdd_atomic_add, u64, *p + v)
HDD_TWIN_ATOMIC(hdd_atomic_add, f64, *p + v)
HDD_TWIN_ATOMIC(hdd_atomic_exchange, u32, v)
HDD_TWIN_ATOMIC(hdd_atomic_or, u32, *p | v)
HDD_TWIN_ATOMIC(hdd_atomic_or, u64, *p | v)
HDD_TWIN_ATOMIC(hdd_atomic_xor, u64, *p ^ v)
HDD_TWIN_ATOMIC(hdd_atomic_add_acq_rel, u32, *p + v)
HDD_TWIN_ATOMIC(hdd_atomic_or_release, u64, *p | v)
HDD_TWIN_ATOMIC(hdd_atomic_and_acquire, u64, *p &v)
HDD_TWIN_ATOMIC(hdd_atomic_min, i32, *p < v ? *p : v)
HDD_TWIN_ATOMIC(hdd_atomic_min, i64, *p < v ? *p : v)
HDD_TWIN_ATOMIC(hdd_atomic_max, i32, *p > v ? *p : v)
HDD_TWIN_ATOMIC(hdd_atomic_max, i64, *p > v ? *p : v)
#undef HDD_TWIN_ATOMIC

// Fewer than a GPU's, so that loops of tests empty counts in time, too.
constexpr u32 HDD_COUNT_BITS = 24;

#define HDD_TWIN_MEMORY(T)                                                                    \
    HDD_DEVICE T hdd_atomic_cas(T *p, T expected, T v)                                        \
    {                                                                                         \
        simt_point();                                                                         \
        return hdd_twin_set(p, *p == expected ? v : *p);                                      \
    }                                                                                         \
    HDD_DEVICE T hdd_load_relaxed(const T *p)                                                 \
    {                                                                                         \
        simt_point();                                                                         \
        return *p;                                                                            \
    }                                                                                         \
    HDD_DEVICE T hdd_load_acquire(const T *p)                                                 \
    {                                                                                         \
        return hdd_load_relaxed(p);                                                           \
    }                                                                                         \
    HDD_DEVICE void hdd_store_release(T *p, T v)                                              \
    {                                                                                         \
        simt_point();                                                                         \
        *p = v;                                                                               \
    }
HDD_TWIN_MEMORY(u32)
HDD_TWIN_MEMORY(u64)
#undef HDD_TWIN_MEMORY

HDD_DEVICE void hdd_store_relaxed(u32 *p, u32 v)
{
    hdd_store_release(p, v);
}

HDD_DEVICE void hdd_store_relaxed(u64 *p, u64 v)
{
    hdd_store_release(p, v);
}

HDD_DEVICE void hdd_fence()
{
    simt_point();
}

HDD_DEVICE void hdd_back_off(u32 = 0)
{
    simt_pause();
}

// ---- time ----------------------------------------------------------------------------------

HDD_DEVICE u64 hdd_clock()
{
    return simt_ticks();
}

HDD_DEVICE u64 hdd_time()
{
    return 1 + simt_time(); // a record that begins at 0 is of a warp that never ran
}

HDD_DEVICE void hdd_store16(void *p, u64 lo, u64 hi)
{
    HDD_ASSERT(reinterpret_cast<u64>(p) % 16 == 0);
    static_cast<u64 *>(p)[0] = lo;
    static_cast<u64 *>(p)[1] = hi;
}

#endif
