#include "tests/simt/arrow_cases.h"

#include <string.h>

#include "tests/simt/check.h"

/* ---- values ----------------------------------------------------------------------------------- */

static i128 any_integer(int64_t i, int bits)
{
    return (i128)((int64_t)mix((uint64_t)i) >> (64 - bits));
}

static i128 unsigned_integer(int64_t i, int bits)
{
    return (i128)(mix((uint64_t)i) >> (64 - bits));
}

static i128 small(int64_t i, int64_t max)
{
    return (i128)(int64_t)(mix((uint64_t)i) % (uint64_t)(2 * max + 1)) - max;
}

static i128 positive(int64_t i, int64_t max)
{
    return (i128)(int64_t)(mix((uint64_t)i) % (uint64_t)max);
}

static i128 half(int64_t i, int64_t ignored)
{
    (void)ignored;
    return (i128)(mix((uint64_t)i) % 0x7c00); /* every finite one from 0 on */
}

static i128 f32_bits(int64_t i, int64_t ignored)
{
    uint32_t bits;
    float v = (float)(i * 7 + ignored) / 4;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static i128 f64_bits(int64_t i, int64_t ignored)
{
    uint64_t bits;
    double v = (double)(i * 7 + ignored) / 3;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static i128 any(int64_t i, int64_t bits)
{
    return any_integer(i, (int)bits);
}

static i128 no_sign(int64_t i, int64_t bits)
{
    return unsigned_integer(i, (int)bits);
}

static i128 days(int64_t i, int64_t unit)
{
    return small(i, 10000) * unit;
}

static i128 day_nanos(int64_t i, int64_t max)
{
    return positive(i, max) * 1000;
}

static i128 large(int64_t i, int64_t max)
{
    return small(i, max) * INT64_C(1000000000000);
}

/* Microseconds of an interval go up to those of 64 bits of nanoseconds. */
static i128 month_day_nanos(int64_t i, int64_t max)
{
    uint64_t parts = (uint32_t)small(i, max) | (uint64_t)(uint32_t)small(i + 1, max) << 32;
    return (i128)((unsigned __int128)(uint64_t)(small(i + 2, 1 << 30) * 1000) << 64 | parts);
}

static i128 day_millis(int64_t i, int64_t max)
{
    return (i128)((uint32_t)small(i, max) | (uint64_t)(uint32_t)small(i + 1, max) << 32);
}

const struct layout_case cases[CASES] = {
    {"b", BITS, 0, positive, 2, 0, NULL},
    {"c", WORDS, 1, any, 8, 0, NULL},
    {"C", WORDS, 1, no_sign, 8, 0, NULL},
    {"s", WORDS, 2, any, 16, 0, NULL},
    {"S", WORDS, 2, no_sign, 16, 0, NULL},
    {"i", WORDS, 4, any, 32, 0, NULL},
    {"I", WORDS, 4, no_sign, 32, 0, NULL},
    {"l", WORDS, 8, any, 64, 0, NULL},
    {"L", WORDS, 8, no_sign, 63, -1, NULL},
    {"e", WORDS, 2, half, 0, 0, NULL},
    {"f", WORDS, 4, f32_bits, 0, 0, NULL},
    {"g", WORDS, 8, f64_bits, 0, 0, NULL},
    {"d:9,2,32", WORDS, 4, small, 999999999, 1000000000, NULL},
    {"d:18,2,64", WORDS, 8, small, 1000000000000, INT64_MAX, NULL},
    {"d:12,2", WORDS, 16, small, 999999999999, 1000000000000, NULL},
    {"d:30,4", WORDS, 16, large, 100000000000000000, (i128)1 << 126, NULL},
    {"d:60,2,256", WORDS, 32, large, 100000000000000000, (i128)1 << 126, NULL},
    {"tdD", WORDS, 4, days, 1, INT32_MAX, NULL},
    {"tdm", WORDS, 8, days, 86400000, 1, NULL},
    {"ttu", WORDS, 8, positive, 86400000000, -1, NULL},
    {"tts", WORDS, 4, positive, 86400, 86400, NULL},
    {"ttm", WORDS, 4, positive, 86400000, -5, NULL},
    {"ttn", WORDS, 8, day_nanos, 86400000000, 1001, NULL},
    {"tss:", WORDS, 8, small, 10000000000, INT64_MAX, NULL},
    {"tsm:", WORDS, 8, small, 10000000000000, INT64_MIN, NULL},
    {"tsu:UTC", WORDS, 8, small, 10000000000000000, INT64_MAX, NULL},
    {"tsn:", WORDS, 8, days, 1000, 999, NULL},
    {"tiM", WORDS, 4, small, 1000, INT32_MAX, NULL},
    {"tiD", WORDS, 8, day_millis, 10000, 0, NULL},
    {"tin", WORDS, 16, month_day_nanos, 10000, (i128)1 << 64, NULL},
    {"u", OFFSETS, 4, NULL, 0, 0, NULL},
    {"U", OFFSETS, 8, NULL, 0, 0, NULL},
    {"vu", VIEWS, 16, NULL, 0, 0, NULL},
    {"z", OFFSETS, 4, NULL, 0, 0, NULL},
    {"Z", OFFSETS, 8, NULL, 0, 0, NULL},
    {"vz", VIEWS, 16, NULL, 0, 0, NULL},
    {"w:5", FIXED, 5, NULL, 0, 0, NULL},
    {"n", NOTHING, 0, NULL, 0, 0, NULL},
    {"u", OFFSETS, 4, NULL, 0, 0, "c"},
    {"U", OFFSETS, 8, NULL, 0, 0, "S"},
    {"vu", VIEWS, 16, NULL, 0, 0, "i"},
    {"w:5", FIXED, 5, NULL, 0, 0, "L"},
    {"l", WORDS, 8, any, 64, 0, "C"},
    {"b", BITS, 0, positive, 2, 0, "s"},
    {"tdm", WORDS, 8, days, 86400000, 0, "I"},
    {"d:12,2", WORDS, 16, small, 999999999999, 0, "l"},
};

const struct layout_case *layout_case_of(const char *format)
{
    int i = 0;
    while (i < CASES && strcmp(cases[i].format, format) != 0)
        i++;
    CHECK(i < CASES, "no such case");
    return &cases[i];
}
