/* Sorting rows of a state by its sort keys. An entry is a row with the first 128 bits of its
 * normalised key: bits that compare like the keys, one NULL bit per nullable field, then the
 * value. Where the keys need more, the rows themselves decide between equal entries. */
#ifndef HEDDLE_RUNTIME_EXEC_SORT_H
#define HEDDLE_RUNTIME_EXEC_SORT_H

#include "runtime/exec/exec_internal.h"

struct rt_sort_entry {
    uint64_t hi, lo;
    const unsigned char *row;
};

struct rt_sorter {
    const struct rt_state *s;
    int rest; /* first sort key that the 128 bits do not decide; nsort: none */
    int ncells; /* where keys are integers, never NULL: 32 bits of the entry each, from the top; else 0 */
    struct {
        int offset;
        uint32_t flip; /* what makes them order as unsigned numbers */
    } cells[4];
    const _Atomic int *stopped; /* not 0: the order does not matter any more. May be NULL */
};

void rt_sorter_init(struct rt_sorter *o, const struct rt_state *s);
void rt_sort_entry(const struct rt_sorter *o, const unsigned char *row, struct rt_sort_entry *e);
/* Order of two rows by keys [from, to) alone. */
int rt_sort_compare_keys(const struct rt_sorter *o, int from, int to, const unsigned char *a, const unsigned char *b);
int rt_sort_compare_rest(const struct rt_sorter *o, const unsigned char *a, const unsigned char *b);

static inline bool rt_sort_less(const struct rt_sorter *o, const struct rt_sort_entry *a, const struct rt_sort_entry *b)
{
    if (a->hi != b->hi)
        return a->hi < b->hi;
    if (a->lo != b->lo)
        return a->lo < b->lo;
    return o->rest < o->s->nsort && rt_sort_compare_rest(o, a->row, b->row) < 0;
}

/* On the calling thread. */
void rt_sort_entries(const struct rt_sorter *o, struct rt_sort_entry *e, size_t n);
/* Afterwards the k smallest are e[0..k), in any order; 0 < k <= n. */
void rt_sort_select(const struct rt_sorter *o, struct rt_sort_entry *e, size_t n, size_t k);

/* Sorts n rows on all threads and writes rows [offset, offset + count) of the result to `out`.
 * 0, or -1 once the execution has failed. */
int rt_sort_rows(struct rt_exec *x, const struct rt_sorter *o, const unsigned char *rows, uint64_t n, uint64_t offset,
                 uint64_t count, unsigned char *out);

/* Puts the rows of a state in its order that come by its first `sorted` keys. */
int rt_sort_runs(struct rt_exec *x, struct rt_live *v);

#endif
