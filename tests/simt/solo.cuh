// The machine of templates/machine.cuh with warps of one lane, each a thread of the host, over
// the C11 atomics of the compiler. What the protocols between warps need and nothing else: the
// explorer (explore.cc) decides at every access which thread goes on; under ThreadSanitizer
// (threads.cc) each warp is a thread of the operating system. Orders are those of machine.cuh.
#ifndef HDD_MACHINE_CUH
#define HDD_MACHINE_CUH

[[noreturn]] void solo_fail(const char *what);

#define HDD_ASSERT(condition)                                                                 \
    do {                                                                                      \
        if (!(condition))                                                                     \
            solo_fail(#condition);                                                            \
    } while (0)

#include "hd/device.cuh"
#include "tests/simt/plain.cuh"

constexpr u32 HDD_LANES = 1;
constexpr u32 HDD_WARPS = 1;
constexpr u32 HDD_BLOCK = 1;
constexpr u32 HDD_BITS_EIGHTHS = 8;
constexpr u32 HDD_POLLS = 1;
constexpr u32 HDD_LOOK_RARELY = 1;

extern thread_local u32 solo_warp; // number of the running warp
// Before n bytes at p are read or written; when a thread waits for others.
void solo_point(const void *p, u32 n, bool write);
void solo_pause();

HDD_DEVICE u32 hdd_lane()
{
    return 0;
}

HDD_DEVICE u32 hdd_warp()
{
    return 0;
}

HDD_DEVICE u32 hdd_block()
{
    return solo_warp;
}

HDD_DEVICE u32 hdd_block_warps()
{
    return HDD_WARPS;
}

// ---- whole warps ---------------------------------------------------------------------------

HDD_DEVICE void hdd_warp_sync()
{
}

HDD_DEVICE void hdd_block_sync()
{
}

HDD_DEVICE u32 hdd_ballot(bool b)
{
    return b;
}

HDD_DEVICE bool hdd_any_beside(bool b)
{
    return b;
}

HDD_DEVICE u32 hdd_shuffle(u32 v, u32)
{
    return v;
}

HDD_DEVICE u64 hdd_shuffle(u64 v, u32)
{
    return v;
}

HDD_DEVICE u32 hdd_shuffle_up(u32 v, u32)
{
    return v;
}

HDD_DEVICE u32 hdd_warp_or(u32 v)
{
    return v;
}

HDD_DEVICE u32 hdd_warp_add(u32 v)
{
    return v;
}

// ---- atomics and memory written in the same kernel -----------------------------------------

#define HDD_SOLO_ATOMIC(name, T, operation, order)                                            \
    HDD_DEVICE T name(T *p, T v)                                                              \
    {                                                                                         \
        solo_point(p, sizeof *p, true);                                                       \
        return operation(p, v, order);                                                        \
    }
HDD_SOLO_ATOMIC(hdd_atomic_add, u32, __atomic_fetch_add, __ATOMIC_RELAXED)
HDD_SOLO_ATOMIC(hdd_atomic_add, u64, __atomic_fetch_add, __ATOMIC_RELAXED)
HDD_SOLO_ATOMIC(hdd_atomic_add_acq_rel, u32, __atomic_fetch_add, __ATOMIC_ACQ_REL)
HDD_SOLO_ATOMIC(hdd_atomic_or_release, u64, __atomic_fetch_or, __ATOMIC_RELEASE)
HDD_SOLO_ATOMIC(hdd_atomic_and_acquire, u64, __atomic_fetch_and, __ATOMIC_ACQUIRE)
#undef HDD_SOLO_ATOMIC

#define HDD_SOLO_MEMORY(T)                                                                    \
    HDD_DEVICE T hdd_atomic_cas(T *p, T expected, T v)                                        \
    {                                                                                         \
        solo_point(p, sizeof *p, true);                                                       \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED,                 \
                                    __ATOMIC_RELAXED);                                        \
        return expected;                                                                      \
    }                                                                                         \
    HDD_DEVICE T hdd_load_relaxed(const T *p)                                                 \
    {                                                                                         \
        solo_point(p, sizeof *p, false);                                                      \
        return __atomic_load_n(p, __ATOMIC_RELAXED);                                          \
    }                                                                                         \
    HDD_DEVICE T hdd_load_acquire(const T *p)                                                 \
    {                                                                                         \
        solo_point(p, sizeof *p, false);                                                      \
        return __atomic_load_n(p, __ATOMIC_ACQUIRE);                                          \
    }                                                                                         \
    HDD_DEVICE void hdd_store_relaxed(T *p, T v)                                              \
    {                                                                                         \
        solo_point(p, sizeof *p, true);                                                       \
        __atomic_store_n(p, v, __ATOMIC_RELAXED);                                             \
    }                                                                                         \
    HDD_DEVICE void hdd_store_release(T *p, T v)                                              \
    {                                                                                         \
        solo_point(p, sizeof *p, true);                                                       \
        __atomic_store_n(p, v, __ATOMIC_RELEASE);                                             \
    }
HDD_SOLO_MEMORY(u32)
HDD_SOLO_MEMORY(u64)
#undef HDD_SOLO_MEMORY

HDD_DEVICE void hdd_back_off(u32 = 0)
{
    solo_pause();
}

HDD_DEVICE u64 hdd_clock()
{
    return 0;
}

HDD_DEVICE u64 hdd_time()
{
    return 0;
}

#endif
