/* What the files about states share: launches of the fixed kernels (templates/finish). */
#ifndef HEDDLE_RUNTIME_GPU_STATE_H
#define HEDDLE_RUNTIME_GPU_STATE_H

#include "runtime/gpu/gpu_internal.h"
#include "templates/finish/finish_args.cuh"

enum {
    RT_FINISH_THREADS = HDD_FINISH_THREADS,
    RT_ORDER_AT_ONCE = 256   /* so few rows are ordered by their keys as they are: ties compare rows,
                                which takes long where many have a common beginning */
};

/* Blocks for n items, `each` at least a block: as many as run side by side. */
uint32_t rt_finish_blocks(const struct rt_gpu_exec *x, uint64_t n, uint64_t each);
/* Launches a kernel of templates/finish/<module>.cu with its one parameter, which is *args. */
#define rt_finish_launch(x, module, entry, blocks, args, err) \
    rt_finish_launch_bytes(x, module, entry, blocks, args, sizeof *(args), err)
int rt_finish_launch_bytes(struct rt_gpu_exec *x, const char *module, const char *entry, uint32_t blocks,
                           const void *args, size_t bytes, struct hd_err *err);

/* Memory of at least one byte; zeroed. */
int rt_state_alloc(struct rt_gpu_exec *x, const struct rt_state *s, size_t n, struct rt_piece *out, struct hd_err *err);
int rt_state_alloc_zeroed(struct rt_gpu_exec *x, const struct rt_state *s, size_t n, struct rt_piece *out,
                          struct hd_err *err);

/* Descriptions of key fields for kernels: the sort keys, the key fields of a HASH, the strings of
 * a row. more: memory for those that have no room in the structure; the caller gives it back. */
int rt_keys_of_order(struct rt_gpu_exec *x, const struct rt_state *s, struct hdd_keys *k, struct rt_piece *more,
                     struct hd_err *err);
int rt_keys_of_group(struct rt_gpu_exec *x, const struct rt_state *s, struct hdd_keys *k, struct rt_piece *more,
                     struct hd_err *err);
int rt_keys_of_strings(struct rt_gpu_exec *x, const struct rt_state *s, struct hdd_keys *k, struct rt_piece *more,
                       struct hd_err *err);
/* Puts fields chosen one by one in. */
int rt_keys_make(struct rt_gpu_exec *x, const struct rt_state *s, const struct hdd_key *from, int n, struct hdd_keys *k,
                 struct rt_piece *more, struct hd_err *err);
struct hdd_key rt_key_of_field(const struct rt_field *f);

/* Exclusive prefix sums of n 32-bit counts; 64 bits wide and with their total behind, or 32 bits. */
int rt_gpu_prefix_sum(struct rt_gpu_exec *x, const struct rt_state *s, uint64_t counts, uint64_t n, uint64_t to,
                      bool wide, struct hd_err *err);

/* Keys of 64 bits with row numbers of 32, in two places that take turns. */
struct rt_radix {
    uint64_t n;
    struct rt_piece keys[2], rows[2];
    int now;       /* where they are */
    bool numbered; /* rows are there; else they are 0, 1, ... */
};
int rt_radix_alloc(struct rt_gpu_exec *x, const struct rt_state *s, uint64_t n, struct rt_radix *r, struct hd_err *err);
void rt_radix_release(struct rt_gpu_exec *x, struct rt_radix *r);
/* Sorts by the bits of `mask`, stable. */
int rt_radix_sort(struct rt_gpu_exec *x, const struct rt_state *s, struct rt_radix *r, uint64_t mask,
                  struct hd_err *err);

/* Room for as many of `more` rows as are worth having behind those that are there, *n of them. Groups get no slots. */
int rt_state_make_room(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t more, uint64_t *n, struct hd_err *err);
/* Slots for the groups that were there at the last start (AGG_HASH). */
int rt_state_make_slots(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);

/* What another device has of a state, seen from the one that receives it. */
struct rt_gpu_exchange {
    struct rt_gpu_exec *x;
    struct rt_gpu_state *v;
    struct rt_device *other;
    const struct rt_gpu_state *u;
};
/* gpu_exchange.c: ways to gather, for the tables of operations in gpu_state.c. */
int rt_gpu_gather_bits(const struct rt_gpu_exchange *e, struct hd_err *err);
int rt_gpu_gather_rows(const struct rt_gpu_exchange *e, struct hd_err *err);
int rt_gpu_gather_places(const struct rt_gpu_exchange *e, struct hd_err *err);
int rt_gpu_gather_groups(const struct rt_gpu_exchange *e, struct hd_err *err);
int rt_gpu_state_gather(const struct rt_gpu_exchange *e, int state, struct hd_err *err);

/* Operations of runtime/finish.def. order: rows [offset, offset + count) of all n in order, n > 1. */
int rt_gpu_finish_csr(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_finish_hash_unique(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_finish_hash_group(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_finish_hash_dedupe(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_order(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t n, uint64_t offset, uint64_t count,
                 struct hd_err *err);

#endif
