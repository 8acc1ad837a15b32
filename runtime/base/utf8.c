#include "runtime/base/utf8.h"

int hd_utf8_length(const unsigned char *p, const unsigned char *end)
{
    static const struct {
        unsigned char mask, lead;
        int n;
        unsigned min;
    } forms[] = {{0x80, 0x00, 1, 0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}};
    for (size_t f = 0; f < HD_COUNT(forms); f++) {
        if ((p[0] & forms[f].mask) != forms[f].lead)
            continue;
        if (end - p < forms[f].n)
            return 0;
        unsigned cp = p[0] & (unsigned char)~forms[f].mask;
        for (int i = 1; i < forms[f].n; i++) {
            if ((p[i] & 0xC0) != 0x80)
                return 0;
            cp = cp << 6 | (p[i] & 0x3Fu);
        }
        bool ok = cp >= forms[f].min && cp <= 0x10FFFF && (cp < 0xD800 || cp > 0xDFFF);
        return ok ? forms[f].n : 0;
    }
    return 0;
}

bool hd_is_ascii(const char *s, size_t n)
{
    unsigned char any = 0; /* no exit inside: the loop is made to be vectorised */
    for (size_t i = 0; i < n; i++)
        any |= (unsigned char)s[i];
    return any < 0x80;
}

size_t hd_utf8_check(const char *s, size_t n)
{
    enum { STEP = 64 };
    const unsigned char *start = (const unsigned char *)s, *end = start + n, *p = start;
    while (p < end) {
        const unsigned char *stop = p + HD_MIN((size_t)(end - p), (size_t)STEP);
        if (hd_is_ascii((const char *)p, (size_t)(stop - p))) {
            p = stop;
            continue;
        }
        while (p < stop) {
            int k = hd_utf8_length(p, end);
            if (!k)
                return (size_t)(p - start);
            p += k;
        }
    }
    return n;
}
