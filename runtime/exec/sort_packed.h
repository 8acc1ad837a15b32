/* Sorting rows by one word of 64 bits each: the bits in which keys differ, and behind them the row's number. */
#ifndef HEDDLE_RUNTIME_EXEC_SORT_PACKED_H
#define HEDDLE_RUNTIME_EXEC_SORT_PACKED_H

#include "runtime/exec/sort.h"

/* As rt_sort_rows, which gets the rows that words do not tell apart well, or that are too few. */
int rt_sort_packed(struct rt_exec *x, const struct rt_sorter *o, const unsigned char *rows, uint64_t n, uint64_t offset,
                   uint64_t count, unsigned char *out);
/* Sorts n rows of which the keys are all that there is (the other fields are filled later), where they lie. *done: their
 * keys fit into words, and so it has been done; else nothing has happened. */
int rt_sort_in_place(struct rt_exec *x, const struct rt_sorter *o, unsigned char *rows, uint64_t n, bool *done);
/* Sorts n words by their bits from `low` up to below `high`; words with the same ones stay in their order. spare: as many
 * words; s is blamed if memory is refused. */
int rt_sort_words(struct rt_exec *x, const struct rt_state *s, uint64_t *word, uint64_t *spare, uint64_t n, int low,
                  int high);

#endif
