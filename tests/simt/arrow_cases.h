/* A case for every layout of Arrow's that input takes: a format, and how a test makes its values. */
#ifndef HEDDLE_TESTS_SIMT_ARROW_CASES_H
#define HEDDLE_TESTS_SIMT_ARROW_CASES_H

#include <stdint.h>

typedef __int128 i128;

enum layout { BITS, WORDS, OFFSETS, VIEWS, FIXED, NOTHING };

struct layout_case {
    const char *format;
    enum layout layout;
    int width; /* bytes of a value, of an offset */
    i128 (*value)(int64_t i, int64_t n); /* what the bytes of value i are */
    int64_t n;
    i128 bad;          /* a value that is none; 0: there is no such */
    const char *index; /* format of a dictionary's indices; NULL: none */
};
enum { CASES = 46 };
extern const struct layout_case cases[CASES];
const struct layout_case *layout_case_of(const char *format); /* the first of this format */

/* Numbers without an order. */
static inline uint64_t mix(uint64_t v)
{
    v = (v + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return v ^ v >> 29;
}

#endif
