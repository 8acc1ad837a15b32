/* Growing arrays in an arena. A vector is three fields {T *v; int n, cap;} declared with
 * HD_VEC(T); pushing may move v, so keep indices, not pointers. Old storage stays in the
 * arena until it is released (at most as much again as the final array). */
#ifndef HEDDLE_BASE_VEC_H
#define HEDDLE_BASE_VEC_H

#include <string.h>

#include "runtime/base/arena.h"

#define HD_VEC(T) \
    struct { \
        T *v; \
        int n, cap; \
    }

/* Ensures room for one more element. */
#define hd_vec_reserve1(a, x) \
    do { \
        if ((x)->n == (x)->cap) { \
            int cap_ = (x)->cap ? (x)->cap * 2 : 8; \
            void *p_ = hd_zalloc((a), (size_t)cap_ * sizeof *(x)->v); \
            if ((x)->n) \
                memcpy(p_, (x)->v, (size_t)(x)->n * sizeof *(x)->v); \
            (x)->v = p_; \
            (x)->cap = cap_; \
        } \
    } while (0)

#define hd_vec_push(a, x, ...) \
    do { \
        hd_vec_reserve1(a, x); \
        (x)->v[(x)->n++] = (__VA_ARGS__); \
    } while (0)

/* Room for one more element of a plain array of n, which has room for the power of two that n reaches:
 * for arrays whose number stands beside them in a structure of its own. */
#define hd_grow1(a, v, n) \
    do { \
        if (((n) & ((n) - 1)) == 0) { \
            void *p_ = hd_zalloc((a), (size_t)((n) ? (n) * 2 : 1) * sizeof *(v)); \
            if (n) \
                memcpy(p_, (v), (size_t)(n) * sizeof *(v)); \
            (v) = p_; \
        } \
    } while (0)

#endif
