/* Small macros used by every layer. Depends on libc only. */
#ifndef HEDDLE_BASE_UTIL_H
#define HEDDLE_BASE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HD_COUNT(a)     (sizeof(a) / sizeof((a)[0]))
#define HD_MIN(a, b)    ((a) < (b) ? (a) : (b))
#define HD_MAX(a, b)    ((a) > (b) ? (a) : (b))
#define HD_UNUSED       __attribute__((unused))
#define HD_PRINTF(f, a) __attribute__((format(printf, f, a)))

typedef __int128 hd_i128;
typedef unsigned __int128 hd_u128;

/* An internal fault of Heddle itself: prints file, line and text to stderr and aborts. */
_Noreturn void hd_bug(const char *file, int line, const char *fmt, ...) HD_PRINTF(3, 4);
#define HD_BUG(...)  hd_bug(__FILE__, __LINE__, __VA_ARGS__)
#define HD_ASSERT(c) ((c) ? (void)0 : HD_BUG("assertion failed: %s", #c))

/* Rounds x up to a multiple of a, a power of two. */
static inline size_t hd_align_up(size_t x, size_t a)
{
    return (x + a - 1) & ~(a - 1);
}
/* Smallest power of two >= x (x >= 1, x <= 2^63). */
static inline uint64_t hd_pow2_ceil(uint64_t x)
{
    return x <= 1 ? 1 : (uint64_t)1 << (64 - __builtin_clzll(x - 1));
}

#endif
