/* Internal to the files that finish framed fields: frames.c (folds), frames_ranked.c (what ranks of values tell). */
#ifndef HEDDLE_RUNTIME_EXEC_FRAMES_H
#define HEDDLE_RUNTIME_EXEC_FRAMES_H

#include <string.h>

#include "runtime/exec/exec_internal.h"

static inline int64_t rt_frame_number(const struct rt_live *v, const unsigned char *row, int field)
{
    int32_t n;
    memcpy(&n, row + v->s->fields[field].offset, sizeof n);
    return n;
}

/* What a bound is for row i: -1 is the row itself. */
static inline int64_t rt_frame_bound(const struct rt_live *v, uint64_t i, int field, int64_t by)
{
    const unsigned char *row = v->rows + i * (size_t)v->s->stride;
    return (field < 0 ? (int64_t)i : rt_frame_number(v, row, field)) + by;
}

/* Rows *from .. *to - 1 of row i's span k; false: none. */
static inline bool rt_frame_rows(const struct rt_live *v, const struct rt_frame *f, int k, uint64_t i, uint64_t *from,
                                 uint64_t *to)
{
    const struct rt_frame_span *s = &f->span[k];
    int64_t a = rt_frame_bound(v, i, f->begin, 0), b = rt_frame_bound(v, i, f->end, 0);
    for (int n = 0; n < 2; n++) {
        a = HD_MAX(a, rt_frame_bound(v, i, s->from[n], s->from_by[n]));
        b = HD_MIN(b, rt_frame_bound(v, i, s->to[n], s->to_by[n]));
    }
    *from = (uint64_t)a;
    *to = (uint64_t)b;
    return a < b;
}

/* ---- a wavelet matrix, level by level (frames_matrix.c) ------------------------------------------------------ */

/* Codes of rows, which a level brings into another order: those without the level's bit in front, each part in the order
 * that it had (Claude, Navarro, Ordonez, The Wavelet Matrix, 2015). The codes of places lo .. hi - 1 stay together then:
 * those without the bit at zeros(lo) .. zeros(hi) - 1, the others as far behind all that have none as there are others
 * before them. All rows go down a level together, so that one level is there at a time. */
struct rt_places {
    uint32_t *code, *row;
};
struct rt_matrix_word { /* 64 places */
    uint64_t zeros; /* a bit for each code without the bit */
    uint64_t before; /* how many of these are in front of the word */
};
struct rt_matrix {
    struct rt_exec *x;
    const struct rt_live *v;
    uint64_t n, zeros; /* codes without the bit */
    struct rt_places p[2], *at, *next; /* a level reads `at`, and has turned them */
    struct rt_matrix_word *word;
    uint64_t *total; /* of each task */
    struct rt_cut cut; /* words */
    int bit;
};
/* Bytes beside n rows, of a multiple of 8, and their places in memory that has so many. */
size_t rt_matrix_bytes(const struct rt_exec *x, uint64_t n);
void rt_matrix_place(struct rt_matrix *m, unsigned char *memory);
int rt_matrix_level(struct rt_matrix *m, int bit);
/* Brings all codes, of so many bits, into their order. */
int rt_matrix_sort(struct rt_matrix *m, int bits);

/* Defines `name`, work of a task (rt_work_fn), as name_any, which must be inline, for processors that count bits by an
 * instruction and for others. */
#define RT_COUNTS_BITS(name) \
    __attribute__((target("popcnt"))) static void name##_by_popcnt(void *context, struct rt_worker *w, uint64_t task) \
    { \
        name##_any(context, w, task); \
    } \
    static void name(void *context, struct rt_worker *w, uint64_t task) \
    { \
        if (__builtin_cpu_supports("popcnt")) \
            name##_by_popcnt(context, w, task); \
        else \
            name##_any(context, w, task); \
    }
#define RT_INLINE static inline __attribute__((always_inline))

RT_INLINE uint32_t rt_matrix_zeros(const struct rt_matrix *m, uint32_t at)
{
    const struct rt_matrix_word *w = &m->word[at >> 6];
    return (uint32_t)(w->before + (uint64_t)__builtin_popcountll(w->zeros & ((UINT64_C(1) << (at & 63)) - 1)));
}

/* Fields of one x, of DISTINCT and DISTINCT_XOR and one frame, or of NTH. Codes are those of x; rows without one have
 * `none`. */
struct rt_ranked {
    struct rt_exec *x;
    struct rt_live *v;
    int n, field[RT_RANKED_MAX];
    struct rt_matrix m;
    struct rt_cut cut; /* rows */
    uint32_t none;
};
static inline unsigned char *rt_ranked_row(const struct rt_ranked *r, uint64_t i)
{
    return r->v->rows + i * (size_t)r->v->s->stride;
}
static inline int rt_bits_of(uint64_t n)
{
    return n ? 64 - __builtin_clzll(n) : 0;
}
/* The field x. */
static inline const struct rt_field *rt_ranked_codes_of(const struct rt_ranked *r)
{
    return &r->v->s->fields[r->v->s->fields[r->field[0]].frame->x];
}
/* The first level's codes, in the order of the rows, and `none` (frames_matrix.c). */
int rt_ranked_codes(struct rt_ranked *r);

/* frames_distinct.c */
int rt_finish_distinct(struct rt_ranked *r);

#endif
