/* Packing of integer keys into one index. */
#ifndef HEDDLE_PLANNER_KEY_PACK_H
#define HEDDLE_PLANNER_KEY_PACK_H

#include "planner/ctx.h"

/* Packing of integer keys into one index 0..range-1. lo[i] and span[i] come from the build side. */
struct pack {
    int n;
    hd_i128 *lo;
    uint64_t *span; /* indexes a key takes; the last one is NULL's where null_slot */
    bool *null_slot;
    uint64_t range;
};
/* True if every key is an integer of known range and the product stays below 2^31; else range is 0. */
bool pack_keys(struct ctx *c, const struct pl_val *kv, int n, bool null_slots, struct pack *p);
/* Likewise for keys that become one word of 62 bits, 0 for the smallest: those of 32 bits need no known range. */
bool pack_word(struct ctx *c, const struct pl_val *kv, int n, struct pack *p);
/* Keys that turn out to be beyond what their packing was planned for are a fault of ours. */
void pack_check(struct ctx *c, const struct pack *p, const struct pl_val *kv, int n);
/* Index expression for keys that lie in the ranges. */
int pack_index(struct ctx *c, const struct pack *p, const struct pl_val *kv);
/* Index for keys of another side: NULL where a key lies outside (docs: no match). */
int pack_probe(struct ctx *c, const struct pack *p, const struct pl_val *kv);

#endif
