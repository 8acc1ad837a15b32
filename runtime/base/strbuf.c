#include "runtime/base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"

enum { FIRST = 64 };

static char *resize(char *s, size_t cap)
{
    bool refused = hd_guarded() && hd_fault(HD_FAULT_ALLOC);
    char *p = refused ? NULL : realloc(s, cap);
    if (!p)
        hd_out_of_memory(cap);
    return p;
}

static void reserve(struct hd_strbuf *b, size_t more)
{
    if (b->cap - b->n > more)
        return;
    size_t cap = HD_MAX(b->cap * 2, b->n + more + 1);
    b->s = resize(b->s, cap);
    b->cap = cap;
}

static void release(void *b)
{
    hd_strbuf_release(b);
}

void hd_strbuf_init(struct hd_strbuf *b)
{
    memset(b, 0, sizeof *b);
    b->s = resize(NULL, FIRST);
    b->cap = FIRST;
    b->s[0] = 0;
    hd_cleanup_add(&b->guarded, release, b);
}

void hd_strbuf_release(struct hd_strbuf *b)
{
    hd_cleanup_drop(&b->guarded);
    free(b->s);
    memset(b, 0, sizeof *b);
}

static void clear(struct hd_strbuf *b)
{
    b->n = 0;
    b->s[0] = 0;
}

char *hd_strbuf_detach(struct hd_strbuf *b)
{
    char *next = resize(NULL, FIRST), *s = b->s;
    b->s = next;
    b->cap = FIRST;
    clear(b);
    return s;
}

void hd_strbuf_swap(struct hd_strbuf *a, struct hd_strbuf *b)
{
    const struct hd_strbuf old = *a;
    a->s = b->s;
    a->n = b->n;
    a->cap = b->cap;
    b->s = old.s;
    b->n = old.n;
    b->cap = old.cap;
}

void hd_strbuf_add(struct hd_strbuf *b, const char *s, size_t n)
{
    reserve(b, n);
    if (n)
        memcpy(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = 0;
}

void hd_strbuf_adds(struct hd_strbuf *b, const char *s)
{
    hd_strbuf_add(b, s, strlen(s));
}
void hd_strbuf_addc(struct hd_strbuf *b, char c)
{
    hd_strbuf_add(b, &c, 1);
}

void hd_strbuf_addn(struct hd_strbuf *b, char c, int times)
{
    for (int i = 0; i < times; i++)
        hd_strbuf_addc(b, c);
}

void hd_strbuf_vaddf(struct hd_strbuf *b, const char *fmt, va_list ap)
{
    va_list ap2;
    va_copy(ap2, ap);
    int n = vsnprintf(NULL, 0, fmt, ap2);
    va_end(ap2);
    HD_ASSERT(n >= 0);
    reserve(b, (size_t)n);
    vsnprintf(b->s + b->n, (size_t)n + 1, fmt, ap);
    b->n += (size_t)n;
}

void hd_strbuf_addf(struct hd_strbuf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    hd_strbuf_vaddf(b, fmt, ap);
    va_end(ap);
}

void hd_strbuf_add_json(struct hd_strbuf *b, const char *s, size_t n)
{
    hd_strbuf_addc(b, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            hd_strbuf_addf(b, "\\%c", c);
        else if (c == '\n')
            hd_strbuf_adds(b, "\\n");
        else if (c == '\t')
            hd_strbuf_adds(b, "\\t");
        else if (c < 0x20 || c == 0x7f)
            hd_strbuf_addf(b, "\\u%04x", c);
        else if (c == 0xc2 && i + 1 < n && (unsigned char)s[i + 1] < 0xa0) /* C1 */
            hd_strbuf_addf(b, "\\u%04x", (unsigned char)s[++i]);
        else
            hd_strbuf_addc(b, (char)c);
    }
    hd_strbuf_addc(b, '"');
}
