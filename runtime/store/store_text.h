/* Sets of strings: the local dictionary of a chunk, the entries of a column's dictionary. */
#ifndef HEDDLE_RUNTIME_STORE_TEXT_H
#define HEDDLE_RUNTIME_STORE_TEXT_H

#include "runtime/store/store_stage.h"

/* Numbers distinct strings 0, 1, … in order of first appearance. The strings themselves stay
 * where they are and must outlive the set. */
struct rt_strset {
    struct rt_str *v;
    uint32_t n, cap;
    uint32_t *hashes; /* of entries */
    uint32_t *slots;  /* entry + 1, 0 empty */
    uint32_t mask;
};
int rt_strset_init(struct rt_strset *s, struct hd_err *err);
void rt_strset_release(struct rt_strset *s);
void rt_strset_clear(struct rt_strset *s);
/* The number of the string, added if new; -1 when memory is out. */
int64_t rt_strset_add(struct rt_strset *s, struct rt_str x, struct hd_err *err);
int64_t rt_strset_find(const struct rt_strset *s, struct rt_str x); /* -1 none */
/* The place of every entry in bytewise order, on the heap. NULL: out of memory. */
uint32_t *rt_strset_rank(const struct rt_strset *s, struct hd_err *err);

int rt_str_cmp(struct rt_str a, struct rt_str b); /* bytewise, a prefix comes first */
static inline bool rt_str_eq(struct rt_str a, struct rt_str b)
{
    return a.n == b.n && __builtin_memcmp(a.p, b.p, a.n) == 0;
}

#endif
