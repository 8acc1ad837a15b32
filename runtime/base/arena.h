/* Bump allocator. All memory of a compilation lives in one arena and is freed at once.
 * Memory that the system refuses leaves the guard (guard.h), or without one ends the process. */
#ifndef HEDDLE_BASE_ARENA_H
#define HEDDLE_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "runtime/base/util.h"

struct hd_arena_chunk;
struct hd_arena {
    struct hd_arena_chunk *head;
    size_t used, cap; /* of the head chunk */
    size_t total;     /* bytes obtained from malloc */
};
struct hd_arena_mark {
    struct hd_arena_chunk *head;
    size_t used;
};

void hd_arena_init(struct hd_arena *a);
void hd_arena_release(struct hd_arena *a);
/* Uninitialised / zeroed memory, aligned to 16 bytes. Never NULL. */
void *hd_alloc(struct hd_arena *a, size_t n);
void *hd_zalloc(struct hd_arena *a, size_t n);
void *hd_dup(struct hd_arena *a, const void *p, size_t n);
char *hd_strdup(struct hd_arena *a, const char *s);
char *hd_strndup(struct hd_arena *a, const char *s, size_t n);
char *hd_asprintf(struct hd_arena *a, const char *fmt, ...) HD_PRINTF(2, 3);
char *hd_vasprintf(struct hd_arena *a, const char *fmt, va_list ap);
/* Scratch use: memory allocated after the mark is given back by rewind. */
struct hd_arena_mark hd_arena_mark(struct hd_arena *a);
void hd_arena_rewind(struct hd_arena *a, struct hd_arena_mark m);

#define HD_NEW(a, T)     ((T *)hd_zalloc((a), sizeof(T)))
#define HD_NEWN(a, T, n) ((T *)hd_zalloc((a), sizeof(T) * (size_t)(n)))

#endif
