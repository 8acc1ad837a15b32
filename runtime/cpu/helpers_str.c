/* Strings and sets. */
#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

#include "runtime/cpu/helpers.h"
#include "templates/digest.cuh"

int64_t hdr_hash_bytes(void *s, int32_t n)
{
    return (int64_t)XXH3_64bits(s, (size_t)n);
}

int64_t hdr_digest_text(int64_t h, void *s, int32_t n)
{
    return (int64_t)hdd_digest_text((uint64_t)h, s, n);
}

int32_t hdr_str_cmp(void *a, int32_t na, void *b, int32_t nb)
{
    int32_t n = HD_MIN(na, nb);
    int c = n ? memcmp(a, b, (size_t)n) : 0;
    return c ? (c > 0) - (c < 0) : (na > nb) - (na < nb);
}

/* Lower bound without branches on the data; then one comparison for equality. */
#define FIND(T, set, n, v) \
    do { \
        const T *p_ = (set); \
        int64_t left_ = (n); \
        if (left_ == 0) \
            return 0; \
        while (left_ > 1) { \
            int64_t half_ = left_ / 2; \
            p_ = p_[half_ - 1] < (v) ? p_ + half_ : p_; \
            left_ -= half_; \
        } \
        return *p_ == (v); \
    } while (0)

int32_t hdr_in_i32(void *set, int64_t n, int32_t v)
{
    FIND(int32_t, set, n, v);
}
int32_t hdr_in_i64(void *set, int64_t n, int64_t v)
{
    FIND(int64_t, set, n, v);
}

int32_t hdr_in_i128(void *set, int64_t n, int64_t lo, int64_t hi)
{
    hd_i128 v = hdr_i128(lo, hi);
    const unsigned char *p = set; /* elements need not be aligned to 16 */
    int64_t from = 0, to = n;
    while (from < to) {
        int64_t mid = from + (to - from) / 2;
        hd_i128 e;
        memcpy(&e, p + mid * 16, sizeof e);
        if (e == v)
            return 1;
        if (e < v)
            from = mid + 1;
        else
            to = mid;
    }
    return 0;
}

/* The total order of floats: NaN last, -0 equal to 0. Sets are small. */
int32_t hdr_in_f64(void *set, int64_t n, double v)
{
    const double *p = set;
    for (int64_t i = 0; i < n; i++)
        if (p[i] == v || (p[i] != p[i] && v != v))
            return 1;
    return 0;
}

int32_t hdr_in_f32(void *set, int64_t n, float v)
{
    const float *p = set;
    for (int64_t i = 0; i < n; i++)
        if (p[i] == v || (p[i] != p[i] && v != v))
            return 1;
    return 0;
}

int32_t hdr_in_str(void *set, int64_t n, void *s, int32_t len)
{
    const struct {
        char *s;
        uint64_t n;
    } *e = set;
    int64_t from = 0, to = n;
    while (from < to) {
        int64_t mid = from + (to - from) / 2;
        int32_t c = hdr_str_cmp(e[mid].s, (int32_t)e[mid].n, s, len);
        if (c == 0)
            return 1;
        if (c < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return 0;
}

int32_t hdr_substring(struct hdd_thread *t, void *s, int32_t n, int64_t start, int64_t length, int32_t path, void *out)
{
    struct hdr_string *o = out;
    int64_t end;
    if (length < 0)
        return hdr_fail(t, RT_FAIL_SUBSTRING, path);
    /* Positions count from 1; the part before 1 is cut off, not shifted. */
    if (__builtin_add_overflow(start, length, &end) || end > (int64_t)n + 1)
        end = (int64_t)n + 1;
    int64_t from = HD_MIN(HD_MAX(start, 1), (int64_t)n + 1);
    o->s = (const char *)s + (from - 1);
    o->n = end > from ? end - from : 0;
    return 0;
}
