/* LIKE patterns, compiled once per execution: pieces between `%` that are searched one after
 * the other, the first and last anchored if the pattern does not start or end with `%`. */
#ifndef HEDDLE_RUNTIME_CPU_LIKE_H
#define HEDDLE_RUNTIME_CPU_LIKE_H

#include <stdatomic.h>

#include "runtime/base/arena.h"

/* A text to search for (n >= 1 bytes) with the places of its two rarest bytes, by which
 * candidates are found. Where too many of them are none, the search goes on by the table of borders: so
 * it takes time linear in the text, whatever stands in it. */
struct hdr_needle {
    const unsigned char *bytes;
    size_t n, a, b;
    const uint32_t *border; /* of every prefix: the longest end of it that it begins with too; NULL: short */
};
struct hdr_needle hdr_needle(struct hd_arena *a, const unsigned char *bytes, size_t n);
/* First place of the needle in s, or NULL. */
const unsigned char *hdr_find(const struct hdr_needle *p, const unsigned char *s, size_t n);

struct hdr_like_piece {
    struct hdr_needle text;
    const unsigned char *any; /* 1 where `_` stands; NULL: nowhere */
};

struct hdr_like {
    bool open_start, open_end; /* a `%` there */
    int npieces;               /* without empty ones */
    size_t min;                /* bytes of all pieces */
    struct hdr_like_piece *pieces;
    const _Atomic int *stopped; /* not 0: whatever is answered is not looked at. May be NULL */
};

/* escape 0: none. The byte after an escape stands for itself. The pattern is copied. */
struct hdr_like *hdr_like_new(struct hd_arena *a, const char *pattern, size_t n, char escape,
                              const _Atomic int *stopped);

#endif
