/* Words that order rows by their first sort key. */
#ifndef HEDDLE_RUNTIME_EXEC_SORT_WORD_H
#define HEDDLE_RUNTIME_EXEC_SORT_WORD_H

#include "runtime/spec.h"

/* ORDER_WORD of the first sort key of a bounded state; where it is NULL, the word that sorts as NULLs do
 * (planner/lower_sort.c). */
int64_t rt_sort_word(const struct rt_state *s, const unsigned char *row);
/* The k-th of n words from the smallest one on, 0 <= k < n; moves them (quickselect: Hoare, Find, 1961). */
int64_t rt_select_word(int64_t *words, uint64_t n, uint64_t k);

#endif
