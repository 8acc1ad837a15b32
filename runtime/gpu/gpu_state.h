/* What the files about states share. From below: memory (gpu_memory.c), launches of the fixed kernels and keys of rows
 * (gpu_finish.c), sums and sorting by digits (gpu_radix.c); then room (gpu_room.c), grouping (gpu_window.c,
 * gpu_group.c) and order
 * (gpu_order.c) of rows; what another device has (gpu_gather.c); the tables by kind of state (gpu_state.c). */
#ifndef HEDDLE_RUNTIME_GPU_STATE_H
#define HEDDLE_RUNTIME_GPU_STATE_H

#include "runtime/gpu/gpu_internal.h"
#include "templates/finish/finish_args.cuh"

enum {
    RT_FINISH_THREADS = HDD_FINISH_THREADS,
    RT_INDEX_NEAR_MAX =
        1 << 20 /* fewer rows are counted by their index in the order in which they come (gpu_group.c) */
};

/* ---- gpu_finish.c ---- */

/* Blocks for n items, `each` at least a block: as many as run side by side. */
uint32_t rt_finish_blocks(const struct rt_gpu_exec *x, uint64_t n, uint64_t each);
/* Launches a kernel of templates/finish/<module>.cu with its one parameter, which is *args. */
#define rt_finish_launch(x, module, entry, blocks, args, err) \
    rt_finish_launch_bytes(x, module, entry, blocks, RT_FINISH_THREADS, args, sizeof *(args), err)
/* The same of finish_radix*.cu and finish_rows*.cu, whose blocks are larger. */
uint32_t rt_radix_blocks(const struct rt_gpu_exec *x, uint64_t n, uint64_t each);
#define rt_radix_launch(x, module, entry, blocks, args, err) \
    rt_finish_launch_bytes(x, module, entry, blocks, HDD_RADIX_THREADS, args, sizeof *(args), err)
int rt_finish_launch_bytes(struct rt_gpu_exec *x, const char *module, const char *entry, uint32_t blocks,
                           uint32_t threads, const void *args, size_t bytes, struct hd_err *err);

/* gpu_memory.c: memory of at least one byte; zeroed. */
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

/* gpu_fixed.c: one device makes the result, by what few rows can be finished with; and about so few are expected. */
bool rt_result_can_be_few(const struct rt_spec *spec);
bool rt_result_may_be_few(const struct rt_spec *spec);
/* gpu_fixed.c: so many counters of 32 bits stay in the cache of the device. */
uint64_t rt_index_counters(const struct rt_device_info *info);

/* ---- gpu_radix.c ---- */

/* Exclusive prefix sums of n 32-bit counts; 64 bits wide and with their total behind, or 32 bits. */
int rt_gpu_prefix_sum(struct rt_gpu_exec *x, const struct rt_state *s, uint64_t counts, uint64_t n, uint64_t to,
                      bool wide, struct hd_err *err);

/* Rows of one word that become keys in the first pass and rows again in the last one, in another place. */
struct rt_radix_rows {
    struct hdd_row_move_args form; /* how */
    uint64_t from, to;
};

/* Keys of 64 bits with row numbers of 32, in two places that take turns. */
struct rt_radix {
    uint64_t n;
    struct rt_radix_rows *made; /* or NULL: keys are there, and stay */
    bool stop; /* what counted the digits found that they are the wrong ones */
    struct rt_piece keys[2], rows[2];
    int now; /* where they are */
    bool numbered; /* rows are there; else they are 0, 1, ... */
};
/* rows: with row numbers, else keys alone. */
int rt_radix_alloc(struct rt_gpu_exec *x, const struct rt_state *s, uint64_t n, bool rows, struct rt_radix *r,
                   struct hd_err *err);
void rt_radix_release(struct rt_gpu_exec *x, struct rt_radix *r);
/* Sorts by the bits from the lowest to the highest of `mask`, stable. */
int rt_radix_sort(struct rt_gpu_exec *x, const struct rt_state *s, struct rt_radix *r, uint64_t mask,
                  struct hd_err *err);
/* The same of keys that are not there yet: what makes them, n > 0 into keys[now], counts their digits, or sets `stop`. mask is
 * not 0. */
typedef int rt_radix_make(struct rt_gpu_exec *x, const struct hdd_digits *digits, void *context, struct hd_err *err);
int rt_radix_sort_made(struct rt_gpu_exec *x, const struct rt_state *s, struct rt_radix *r, uint64_t mask,
                       rt_radix_make *make, void *context, struct hd_err *err);
/* The same of keys that are made here: {lower half of the hash that a row begins with, its number plus one}. */
int rt_radix_sort_hashes(struct rt_gpu_exec *x, const struct rt_state *s, struct rt_radix *r, uint64_t mask,
                         uint64_t rows, struct hd_err *err);

/* ---- gpu_window.c ---- */

/* Whether a HASH of so many rows is worth sorting for. */
#define RT_WINDOW_ROWS_MIN (UINT64_C(1) << 22) /* of fewer rows the slots are in a cache, more or less */
bool rt_hash_has_windows(const struct rt_gpu_exec *x, uint64_t rows);
/* Its slots, if keys are distinct, which facts prove or which is seen on the way. */
int rt_hash_by_windows(struct rt_gpu_exec *x, struct rt_gpu_state *v, const struct hdd_keys *keys, bool distinct,
                       bool *made, struct hd_err *err);

/* ---- gpu_running.c: an operation of runtime/finish.def ---- */
int rt_gpu_finish_top(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_finish_borders(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_finish_search(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_finish_places(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_finish_running(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_finish_frames(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
/* gpu_frames.c: what kernels read of a framed field. Levels of a tree until one has as few nodes as a parent folds; how
 * many nodes there are in memory: rows themselves are the lowest ones of folds of other fields. */
struct hdd_frames_args rt_frames_args(const struct rt_gpu_state *v, int field);
uint64_t rt_frames_levels(struct hdd_frames_args *p, bool of_fields);
/* gpu_ranked.c */
int rt_gpu_finish_ranks(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);

/* ---- gpu_text.c: an operation of runtime/finish.def ---- */
int rt_gpu_finish_text(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);

/* A piece that lives as long as the execution. */
int rt_gpu_alloc_text(struct rt_gpu_exec *x, uint64_t bytes, uint64_t *address, struct hd_err *err);
/* ---- gpu_frame_text.c: likewise ---- */
int rt_gpu_finish_frame_texts(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);

/* Passes over n items in tiles (templates/finish/finish_digits.cuh): counts of digits, what tiles tell each other. */
struct rt_sweeps {
    struct rt_piece at;
    uint64_t n, chunk; /* items; those of a launch */
    uint64_t base, next, status;
    uint32_t step; /* bytes of a pass at `base` */
    uint32_t since; /* of the last launch: what its tiles told each other is not below */
    size_t taken, status_bytes;
};
/* The part of a pass that a launch does. */
struct rt_sweep {
    uint64_t launch, first, n, base, next;
    bool stable;
};
/* Digits of about one length of the `bits` bits from `low` on, the lowest first. */
void rt_digits(int low, int bits, struct hdd_digits *d);
/* Says where digits are counted. */
int rt_sweeps_alloc(struct rt_gpu_exec *x, const struct rt_state *s, uint64_t n, uint32_t tile,
                    struct hdd_digits *digits, struct rt_sweeps *w, struct hd_err *err);
/* False: the pass is done. */
bool rt_sweep_next(const struct rt_sweeps *w, int pass, struct rt_sweep *at);
/* Makes sure that tiles of a stable launch, the next one, have told nothing. */
int rt_sweep_begin(struct rt_gpu_exec *x, struct rt_sweeps *w, const struct rt_sweep *at, struct hd_err *err);

/* ---- gpu_partition.c: an operation of runtime/finish.def ---- */
int rt_gpu_finish_partition(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);

/* ---- gpu_room.c ---- */

#define RT_ROWS_MAX ((uint64_t)UINT32_MAX - 1) /* row numbers have 32 bits */

static inline bool rt_state_appends(const struct rt_state *s)
{
    return rt_state_filling(s->kind) == RT_APPENDED;
}

static inline bool rt_state_has_cursor(const struct rt_state *s)
{
    return rt_state_filling(s->kind) != RT_PLACED;
}

/* Rows that limit and offset leave something of, UINT64_MAX: all. Of a state without order any so many are enough. */
static inline uint64_t rt_state_wanted_rows(const struct rt_state *s)
{
    return s->limit < 0 ? UINT64_MAX : (uint64_t)s->limit + (uint64_t)s->offset;
}
uint64_t rt_state_enough_rows(const struct rt_state *s);
/* Rows that a state has room for at first: a guess. Memory for as many as v->capacity says, or where there is not so
 * much for fewer. */
uint64_t rt_state_first_capacity(const struct rt_gpu_exec *x, const struct rt_state *s);
int rt_state_alloc_estimated(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
/* Room that so many rows need. An execution that had to make some leaves it to the next one. */
uint64_t rt_state_room_for(const struct rt_state *s, uint64_t rows);
void rt_state_remember_room(struct rt_gpu_exec *x, const struct rt_state *s, uint64_t rows);
/* What other programs with the same kernels left, where this one has none. */
void rt_state_recall(struct rt_gpu_exec *x);
/* At the end: how many rows there were. */
void rt_state_remember_rows(struct rt_gpu_exec *x);
/* Rows that executions before brought, and one; 0: nobody knows, or they are on several devices. */
uint64_t rt_state_seen(const struct rt_gpu_exec *x, const struct rt_state *s);
/* Rows from..capacity of an aggregate become what they are before anything is added. */
int rt_state_clear_groups(struct rt_gpu_exec *x, const struct rt_gpu_state *v, uint64_t from, struct hd_err *err);
/* Memory for v->capacity such rows. */
int rt_state_alloc_cleared(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
/* Slots for the groups there is room for, and for those that were there at the last start (AGG_HASH). */
int rt_state_make_slots(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
/* Rows that are slots (rt_state.word): room for so many groups, and what it is at first. */
uint64_t rt_state_word_slots(uint64_t groups);
int rt_state_start_words(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t groups, struct hd_err *err);
/* Groups become the first rows, for those that know nothing of slots. Readers skip free rows (rt_state_has_gaps), which
 * costs less where they are not far more than the groups; then groups may stay. */
bool rt_state_words_stay(const struct rt_gpu_state *v);
int rt_state_compact_words(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
/* Room for so many rows in all; what was there at the last start stays. Groups get slots, too. */
int rt_state_regrow_rows(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t needed, struct hd_err *err);
int rt_state_regrow_groups(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t needed, struct hd_err *err);
/* Room for as many of `more` rows as are worth having behind those that are there, *n of them. Groups get no slots. */
int rt_state_make_room(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t more, uint64_t *n, struct hd_err *err);
/* The error of a state with more rows than numbers. */
int rt_state_too_many(const struct rt_gpu_state *v, uint64_t rows, struct hd_err *err);

/* ---- gpu_gather.c ---- */

/* What another device has of a state, seen from the one that receives it. */
struct rt_gpu_exchange {
    struct rt_gpu_exec *x;
    struct rt_gpu_state *v;
    struct rt_device *other;
    const struct rt_gpu_state *u;
};
int rt_gpu_exchange_copy(const struct rt_gpu_exchange *e, uint64_t to, uint64_t from, size_t n, struct hd_err *err);
/* A copy here of n bytes there. */
int rt_gpu_exchange_bring(const struct rt_gpu_exchange *e, uint64_t from, size_t n, struct rt_piece *here,
                          struct hd_err *err);
/* Whatever is written once or is a set begins as zeros: both sides or'ed have all of it. */
int rt_gpu_exchange_or(const struct rt_gpu_exchange *e, const struct rt_piece *to, const struct rt_piece *from,
                       struct hd_err *err);
/* Ways to gather, for the table of operations in gpu_state.c. */
int rt_gpu_gather_bits(const struct rt_gpu_exchange *e, struct hd_err *err);
int rt_gpu_gather_rows(const struct rt_gpu_exchange *e, struct hd_err *err);
int rt_gpu_gather_places(const struct rt_gpu_exchange *e, struct hd_err *err);
int rt_gpu_gather_groups(const struct rt_gpu_exchange *e, struct hd_err *err);
/* gpu_state.c: as the state's kind has it. */
int rt_gpu_state_gather(const struct rt_gpu_exchange *e, int state, struct hd_err *err);

/* gpu_group.c, gpu_order.c: operations of runtime/finish.def. order: rows [offset, offset + count) of all n in order, n > 1. */
int rt_gpu_finish_csr(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_finish_hash_unique(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_finish_hash_group(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_finish_hash_dedupe(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_order(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t n, uint64_t offset, uint64_t count,
                 struct hd_err *err);

#endif
