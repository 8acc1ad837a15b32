/* Comparing values and keys in rows of states. */
#ifndef HEDDLE_RUNTIME_EXEC_KEYS_H
#define HEDDLE_RUNTIME_EXEC_KEYS_H

#include <string.h>

#include "runtime/spec.h"
#include "templates/abi.h"

/* Order of two non-NULL values: < 0, 0, > 0. F64: NaN equals NaN and is larger than everything
 * else, -0 equals 0. STR: bytewise, then by length. */
int rt_value_compare(enum rt_phys phys, const void *a, const void *b);

/* Equality of the key fields of two rows, NULLs equal. Integers that are never NULL and lie side by side are by far the
 * most frequent. */
struct rt_keys {
    const struct rt_state *s;
    int offset; /* of the first of them */
    size_t bytes;
    enum { RT_KEYS_ANY, RT_KEYS_4, RT_KEYS_8, RT_KEYS_BYTES } shape;
};
struct rt_keys rt_keys(const struct rt_state *s);
bool rt_keys_equal_any(const struct rt_state *s, const unsigned char *a, const unsigned char *b);

static inline bool rt_keys_equal(const struct rt_keys *k, const unsigned char *a, const unsigned char *b)
{
    if (k->shape == RT_KEYS_8)
        return memcmp(a + k->offset, b + k->offset, 8) == 0;
    if (k->shape == RT_KEYS_4)
        return memcmp(a + k->offset, b + k->offset, 4) == 0;
    if (k->shape == RT_KEYS_BYTES)
        return memcmp(a + k->offset, b + k->offset, k->bytes) == 0;
    return rt_keys_equal_any(k->s, a, b);
}

/* HASH and AGG_HASH rows start with their hash. */
static inline uint64_t rt_row_hash(const unsigned char *row)
{
    uint64_t h;
    memcpy(&h, row, sizeof h);
    return h;
}

#endif
