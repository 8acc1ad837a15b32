#include "runtime/base/show.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/strbuf.h"
#include "runtime/base/utf8.h"

/* U+0080 to U+009F: a terminal takes them as ESC and a letter. */
static bool is_c1(const unsigned char *p, int n)
{
    return n == 2 && p[0] == 0xC2 && p[1] < 0xA0;
}

int hd_show_character(const char *s, size_t n, char shown[HD_SHOWN_MAX])
{
    const unsigned char *p = (const unsigned char *)s;
    int len = hd_utf8_length(p, p + n);
    if (!len)
        strcpy(shown, "?");
    else if (*p == '\n' || *p == '\t')
        strcpy(shown, *p == '\n' ? "\\n" : "\\t");
    else if (len == 1 && (*p < 0x20 || *p == 0x7F))
        snprintf(shown, HD_SHOWN_MAX, "\\x%02x", *p);
    else if (is_c1(p, len))
        snprintf(shown, HD_SHOWN_MAX, "\\u%04x", p[1]);
    else
        snprintf(shown, HD_SHOWN_MAX, "%.*s", len, s);
    return len ? len : 1;
}

static bool has_control(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c < 0x20 || c >= 0x7F)
            return true;
    }
    return false;
}

void hd_show_controls(struct hd_strbuf *b, size_t from, const char *keep)
{
    if (!has_control(b->s + from, b->n - from))
        return;
    struct hd_strbuf out;
    char shown[HD_SHOWN_MAX];
    hd_strbuf_init(&out);
    hd_strbuf_add(&out, b->s, from);
    for (size_t i = from; i < b->n;) {
        int len = hd_show_character(b->s + i, b->n - i, shown);
        if (b->s[i] && strchr(keep, b->s[i]))
            hd_strbuf_addc(&out, b->s[i]);
        else
            hd_strbuf_adds(&out, shown);
        i += (size_t)len;
    }
    hd_strbuf_swap(b, &out);
    hd_strbuf_release(&out);
}

void hd_show_end_line(struct hd_strbuf *b, size_t from)
{
    hd_show_controls(b, from, "");
    hd_strbuf_addc(b, '\n');
}
