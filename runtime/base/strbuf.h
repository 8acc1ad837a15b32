/* A growing, always NUL-terminated text buffer on the heap. Memory that the system refuses leaves the
 * guard (guard.h), or without one ends the process. A strbuf stays where it was initialised. */
#ifndef HEDDLE_BASE_STRBUF_H
#define HEDDLE_BASE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

#include "runtime/base/guard.h"

struct hd_strbuf {
    char *s; /* never NULL after init */
    size_t n, cap;
    struct hd_cleanup guarded;
};

void hd_strbuf_init(struct hd_strbuf *b);
void hd_strbuf_release(struct hd_strbuf *b);
/* Hands the heap string over; the buffer is empty and reusable afterwards. */
char *hd_strbuf_detach(struct hd_strbuf *b);
/* Exchanges the texts: a strbuf itself is not copied. */
void hd_strbuf_swap(struct hd_strbuf *a, struct hd_strbuf *b);
void hd_strbuf_add(struct hd_strbuf *b, const char *s, size_t n);
void hd_strbuf_adds(struct hd_strbuf *b, const char *s);
void hd_strbuf_addc(struct hd_strbuf *b, char c);
void hd_strbuf_addn(struct hd_strbuf *b, char c, int times);
void hd_strbuf_addf(struct hd_strbuf *b, const char *fmt, ...) HD_PRINTF(2, 3);
void hd_strbuf_vaddf(struct hd_strbuf *b, const char *fmt, va_list ap);
/* Appends s as a JSON string literal, quotes included. */
void hd_strbuf_add_json(struct hd_strbuf *b, const char *s, size_t n);

#endif
