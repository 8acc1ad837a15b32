/* Text as it is printed. */
#include "tools/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli.h"

size_t text_utf8_length(const char *text, size_t n)
{
    static const unsigned min[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    size_t len = s[0] < 0x80 ? 1 : s[0] >> 5 == 0x06 ? 2 : s[0] >> 4 == 0x0e ? 3 : s[0] >> 3 == 0x1e ? 4 : 0;
    if (len <= 1 || len > n)
        return len <= n ? len : 0;
    unsigned code = s[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < min[len] || surrogate || code > 0x10ffff ? 0 : len;
}

/* U+0080 to U+009F: two bytes in UTF-8, which a terminal takes as ESC and a letter. */
static bool is_c1(const unsigned char *s, size_t len)
{
    return len == 2 && s[0] == 0xc2 && s[1] < 0xa0;
}

char *text_printable(const char *text, size_t n, const char *keep)
{
    const unsigned char *s = (const unsigned char *)text, *end = s + n;
    char *out = cli_alloc(4 * n + 1), *p = out;
    while (s < end) {
        size_t len = text_utf8_length((const char *)s, (size_t)(end - s));
        bool control = len == 1 && (*s < 0x20 || *s == 0x7f);
        if (control && *s && strchr(keep, *s))
            *p++ = (char)*s;
        else if (*s == '\n' || *s == '\t')
            p += sprintf(p, "\\%c", *s == '\n' ? 'n' : 't');
        else if (is_c1(s, len))
            p += sprintf(p, "\\u%04x", s[1]);
        else if (!len || control)
            p += sprintf(p, "\\x%02x", *s);
        else
            p = (char *)memcpy(p, s, len) + len;
        s += len ? len : 1;
    }
    *p = 0;
    return out;
}

void text_put_printable(FILE *f, const char *s, const char *keep)
{
    char *text = text_printable(s, strlen(s), keep);
    fputs(text, f);
    free(text);
}

void text_put_json(FILE *f, const char *s, size_t n)
{
    putc_unlocked('"', f);
    while (n > 0) {
        size_t len = text_utf8_length(s, n);
        unsigned char c = (unsigned char)*s;
        if (len == 0)
            fputs_unlocked("\\ufffd", f);
        else if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            fprintf(f, "\\u%04x", c);
        else if (is_c1((const unsigned char *)s, len))
            fprintf(f, "\\u%04x", (unsigned char)s[1]);
        else
            fwrite_unlocked(s, 1, len, f);
        len += len == 0;
        s += len;
        n -= len;
    }
    putc_unlocked('"', f);
}
