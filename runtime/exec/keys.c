#include "runtime/exec/keys.h"

#include <math.h>

#define COMPARE(T) \
    do { \
        T x_, y_; \
        memcpy(&x_, a, sizeof x_); \
        memcpy(&y_, b, sizeof y_); \
        return (x_ > y_) - (x_ < y_); \
    } while (0)

static int compare_f64(double x, double y)
{
    if (isnan(x) || isnan(y))
        return (int)!!isnan(x) - (int)!!isnan(y);
    return (x > y) - (x < y);
}

static int compare_texts(const char *a, size_t na, const char *b, size_t nb)
{
    size_t n = HD_MIN(na, nb);
    int c = n ? memcmp(a, b, n) : 0;
    return c ? (c > 0) - (c < 0) : (na > nb) - (na < nb);
}

int rt_value_compare(enum rt_phys phys, const void *a, const void *b)
{
    struct rt_row_str s, t;
    double x, y;
    float v, w;
    switch (phys) {
    case RT_BOOL: COMPARE(uint8_t);
    case RT_I32: COMPARE(int32_t);
    case RT_I64: COMPARE(int64_t);
    case RT_I128: COMPARE(hd_i128);
    case RT_F64:
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return compare_f64(x, y);
    case RT_F32:
        memcpy(&v, a, sizeof v);
        memcpy(&w, b, sizeof w);
        return compare_f64(v, w);
    case RT_STR:
        memcpy(&s, a, sizeof s);
        memcpy(&t, b, sizeof t);
        return compare_texts(s.s, s.n, t.s, t.n);
    }
    HD_BUG("physical type %d", (int)phys);
}

/* Bytes of the key fields where equal bytes are equal keys; 0: they are not, or have gaps. */
static size_t plain_bytes(const struct rt_state *s)
{
    int end = s->nkeys ? s->fields[0].offset : 0;
    for (int i = 0; i < s->nkeys; i++) {
        const struct rt_field *f = &s->fields[i];
        bool plain = f->phys != RT_STR && !rt_phys_is_float(f->phys);
        if (!plain || f->valid_offset >= 0 || f->offset != end)
            return 0;
        end += rt_phys_size(f->phys);
    }
    return s->nkeys ? (size_t)(end - s->fields[0].offset) : 0;
}

struct rt_keys rt_keys(const struct rt_state *s)
{
    struct rt_keys k = {.s = s, .offset = s->nkeys ? s->fields[0].offset : 0, .bytes = plain_bytes(s)};
    k.shape = k.bytes == 8 ? RT_KEYS_8 : k.bytes == 4 ? RT_KEYS_4 : k.bytes ? RT_KEYS_BYTES : RT_KEYS_ANY;
    return k;
}

bool rt_keys_equal_any(const struct rt_state *s, const unsigned char *a, const unsigned char *b)
{
    for (int i = 0; i < s->nkeys; i++) {
        const struct rt_field *f = &s->fields[i];
        if (f->valid_offset >= 0) {
            bool va = a[f->valid_offset] != 0, vb = b[f->valid_offset] != 0;
            if (va != vb)
                return false;
            if (!va)
                continue;
        }
        if (rt_value_compare(f->phys, a + f->offset, b + f->offset) != 0)
            return false;
    }
    return true;
}
