#include "runtime/exec/sort_word.h"

#include <string.h>

static int64_t word_of_real(double v)
{
    int64_t bits;
    v = v == 0 ? 0.0 : v; /* no -0 */
    memcpy(&bits, &v, sizeof bits);
    return v != v ? INT64_MAX : bits < 0 ? bits ^ INT64_MAX : bits;
}

int64_t rt_sort_word(const struct rt_state *s, const unsigned char *row)
{
    const struct rt_sort_key *key = &s->sort[0];
    const struct rt_field *f = &s->fields[key->field];
    const unsigned char *p = row + f->offset;
    union {
        int32_t i32;
        int64_t i64;
        hd_i128 i128;
        float f32;
        double f64;
    } v;
    if (f->valid_offset >= 0 && !row[f->valid_offset])
        return key->nulls_first == key->desc ? INT64_MAX : INT64_MIN;
    memcpy(&v, p, (size_t)rt_phys_size(f->phys));
    switch (f->phys) {
    case RT_I32: return v.i32;
    case RT_I64: return v.i64;
    case RT_I128: return (int64_t)(v.i128 < INT64_MIN ? INT64_MIN : v.i128 > INT64_MAX ? INT64_MAX : v.i128);
    case RT_F32: return word_of_real(v.f32);
    case RT_F64: return word_of_real(v.f64);
    case RT_BOOL:
    case RT_STR: break;
    }
    HD_BUG("physical type %d has no word", (int)f->phys);
}

static int64_t median(int64_t a, int64_t b, int64_t c)
{
    return HD_MAX(HD_MIN(a, b), HD_MIN(HD_MAX(a, b), c));
}

int64_t rt_select_word(int64_t *words, uint64_t n, uint64_t k)
{
    while (n > 1) {
        int64_t pivot = median(words[0], words[n / 2], words[n - 1]);
        uint64_t i = 0, j = n - 1;
        for (;; i++, j--) {
            while (words[i] < pivot)
                i++;
            while (words[j] > pivot)
                j--;
            if (i >= j)
                break;
            int64_t t = words[i];
            words[i] = words[j];
            words[j] = t;
        }
        /* words[0..j] <= pivot <= words[j + 1..n), and neither is all of them. */
        j = HD_MIN(j, n - 2);
        if (k <= j) {
            n = j + 1;
        } else {
            words += j + 1;
            n -= j + 1;
            k -= j + 1;
        }
    }
    return words[0];
}
