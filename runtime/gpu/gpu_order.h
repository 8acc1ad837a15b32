/* What the files about order share: narrow rows (gpu_narrow.c), below all others (gpu_order.c), and the kernels
 * that a sort needs (gpu_fixed.c). */
#ifndef HEDDLE_RUNTIME_GPU_ORDER_H
#define HEDDLE_RUNTIME_GPU_ORDER_H

#include "runtime/gpu/gpu_state.h"

/* Where so few rows are wanted, one of so many at most, they are selected. */
enum { RT_ORDER_SELECTED = 8 };

/* gpu_fixed.c. Rows hold nothing but sort keys from which they can be made again: no float64 (-0, NaN), no string. nullable: some may
 * be NULL. */
bool rt_rows_are_keys(const struct rt_state *s, bool *nullable);
/* gpu_fixed.c: the module for such rows of this width: that makes keys of them, or (back) them of keys. */
const char *rt_rows_module(const struct rt_state *s, bool back);
/* gpu_fixed.c: all sort keys are numbers of up to 64 bits, which have kernels of their own for masks and packing. */
bool rt_keys_are_numbers(const struct rt_state *s);
/* Bits of the normalised key in which such rows differ, none of which may be NULL, are set in `masks`; of `each` rows one is
 * looked at. first: the words of the first row; and those alone. */
int rt_narrow_masks(struct rt_gpu_exec *x, const struct rt_gpu_state *v, uint64_t n, uint64_t each, uint64_t *masks,
                    int nwords, uint64_t first[HDD_ROW_WORDS], struct hd_err *err);
int rt_narrow_first(struct rt_gpu_exec *x, const struct rt_gpu_state *v, uint64_t first[HDD_ROW_WORDS],
                    struct hd_err *err);
/* Rows [offset, offset + count) of all n in order, into v->moved. e: how to pack their keys, ready to be launched but
 * for where they go. missed: nothing is done, for rows differ in other bits, too (where none may be NULL; else e has all
 * of them). */
int rt_narrow_sort(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t n, uint64_t offset, uint64_t count,
                   const uint64_t first[HDD_ROW_WORDS], struct hdd_extract_args *e, bool nullable, bool *missed,
                   struct hd_err *err);

/* gpu_fixed.c. So few rows are put in order by comparing all pairs of them as they are. The state has sort keys. */
uint64_t rt_order_compared(const struct rt_state *s);
/* Whether the rows, which come by the first keys of the order, come by all of them. */
int rt_gpu_in_order(struct rt_gpu_exec *x, const struct rt_gpu_state *v, bool *there, struct hd_err *err);

#endif
