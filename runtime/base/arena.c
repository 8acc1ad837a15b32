#include "runtime/base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/base/guard.h"

struct hd_arena_chunk {
    struct hd_arena_chunk *next;
    size_t cap;
    _Alignas(16) unsigned char data[];
};

enum { FIRST_CHUNK = 16 * 1024 };

_Noreturn void hd_bug(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "heddle: internal error at %s:%d: ", file, line);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}

void hd_arena_init(struct hd_arena *a)
{
    memset(a, 0, sizeof *a);
}

static void drop_until(struct hd_arena *a, struct hd_arena_chunk *stop)
{
    while (a->head != stop) {
        struct hd_arena_chunk *next = a->head->next;
        a->total -= a->head->cap;
        free(a->head);
        a->head = next;
    }
}

void hd_arena_release(struct hd_arena *a)
{
    drop_until(a, NULL);
    hd_arena_init(a);
}

static void add_chunk(struct hd_arena *a, size_t n)
{
    /* Chunks double, so that a compilation needs a handful of mallocs. */
    size_t cap = a->head ? a->head->cap * 2 : FIRST_CHUNK;
    if (cap < n)
        cap = n;
    bool refused = hd_guarded() && hd_fault(HD_FAULT_ALLOC);
    struct hd_arena_chunk *c = refused ? NULL : malloc(sizeof *c + cap);
    if (!c)
        hd_out_of_memory(sizeof *c + cap);
    c->next = a->head;
    c->cap = cap;
    a->head = c;
    a->used = 0;
    a->cap = cap;
    a->total += cap;
}

void *hd_alloc(struct hd_arena *a, size_t n)
{
    n = hd_align_up(n ? n : 1, 16);
    hd_poll();
    if (!a->head || a->cap - a->used < n)
        add_chunk(a, n);
    void *p = a->head->data + a->used;
    a->used += n;
    return p;
}

void *hd_zalloc(struct hd_arena *a, size_t n)
{
    return memset(hd_alloc(a, n), 0, n ? n : 1);
}

void *hd_dup(struct hd_arena *a, const void *p, size_t n)
{
    void *q = hd_alloc(a, n);
    if (n)
        memcpy(q, p, n);
    return q;
}

char *hd_strndup(struct hd_arena *a, const char *s, size_t n)
{
    char *q = hd_alloc(a, n + 1);
    if (n)
        memcpy(q, s, n);
    q[n] = 0;
    return q;
}

char *hd_strdup(struct hd_arena *a, const char *s)
{
    return hd_strndup(a, s, strlen(s));
}

char *hd_vasprintf(struct hd_arena *a, const char *fmt, va_list ap)
{
    va_list ap2;
    va_copy(ap2, ap);
    int n = vsnprintf(NULL, 0, fmt, ap2);
    va_end(ap2);
    HD_ASSERT(n >= 0);
    char *q = hd_alloc(a, (size_t)n + 1);
    vsnprintf(q, (size_t)n + 1, fmt, ap);
    return q;
}

char *hd_asprintf(struct hd_arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *q = hd_vasprintf(a, fmt, ap);
    va_end(ap);
    return q;
}

struct hd_arena_mark hd_arena_mark(struct hd_arena *a)
{
    return (struct hd_arena_mark){a->head, a->used};
}

void hd_arena_rewind(struct hd_arena *a, struct hd_arena_mark m)
{
    drop_until(a, m.head);
    a->used = m.used;
    a->cap = a->head ? a->head->cap : 0;
}
