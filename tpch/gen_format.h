/* Fast text forms of single values for the .tbl writer.  Each function appends at p and
 * returns the new end; all may write up to TG_FORMAT_SLACK bytes beyond it. */
#ifndef TPCH_GEN_FORMAT_H
#define TPCH_GEN_FORMAT_H

#include <stdint.h>
#include <string.h>

#include "gen_dist.h"

#define TG_FORMAT_SLACK 64

static const char tg_digit_pairs[201] = "00010203040506070809101112131415161718192021222324"
                                        "25262728293031323334353637383940414243444546474849"
                                        "50515253545556575859606162636465666768697071727374"
                                        "75767778798081828384858687888990919293949596979899";

static inline void tg_put_pair(char *p, uint32_t v)
{
    memcpy(p, tg_digit_pairs + 2 * v, 2);
}

static inline char *tg_put_u32(char *p, uint32_t v)
{
    if (v < 10) {
        *p = (char)('0' + v);
        return p + 1;
    }
    int n = v < 100          ? 2
            : v < 1000       ? 3
            : v < 10000      ? 4
            : v < 100000     ? 5
            : v < 1000000    ? 6
            : v < 10000000   ? 7
            : v < 100000000  ? 8
            : v < 1000000000 ? 9
                             : 10;
    char *q = p + n;
    for (; v >= 100; v /= 100)
        tg_put_pair(q -= 2, v % 100);
    if (v >= 10)
        tg_put_pair(q - 2, v);
    else
        q[-1] = (char)('0' + v);
    return p + n;
}

/* For v >= 0. */
static inline char *tg_put_i64(char *p, int64_t v)
{
    if (v <= UINT32_MAX)
        return tg_put_u32(p, (uint32_t)v);
    uint32_t low = (uint32_t)(v % 100000000);
    p = tg_put_u32(p, (uint32_t)(v / 100000000));
    for (int i = 6; i >= 0; i -= 2, low /= 100)
        tg_put_pair(p + i, low % 100);
    return p + 8;
}

/* Hundredths as units and two decimals; |v| < 2^32. */
static inline char *tg_put_money(char *p, int64_t v)
{
    if (v < 0) {
        *p++ = '-';
        v = -v;
    }
    const uint32_t cents = (uint32_t)v;
    p = tg_put_u32(p, cents / 100);
    *p = '.';
    tg_put_pair(p + 1, cents % 100);
    return p + 3;
}

static inline char *tg_put_word(char *p, const struct tg_word *w)
{
    memcpy(p, w->text, sizeof w->text);
    return p + w->len;
}

/* Copies blocks: reads and writes beyond n. */
static inline char *tg_put_bytes(char *p, const char *from, int32_t n)
{
    for (int32_t done = 0; done < n; done += 32)
        memcpy(p + done, from + done, 32);
    return p + n;
}

#endif
