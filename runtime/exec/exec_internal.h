/* Internal to the executor: the live form of a program while it runs.
 *
 * Who may touch what. A worker writes its own rt_worker and rt_local's; everything else is
 * changed only between jobs, by the thread that runs the schedule, except where a comment says
 * atomic. rt_exec_parallel and the pipeline jobs order memory: what was written before a job is
 * seen in it, what was written in it is seen after it. */
#ifndef HEDDLE_RUNTIME_EXEC_INTERNAL_H
#define HEDDLE_RUNTIME_EXEC_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/exec/checksums.h"
#include "runtime/exec/exec.h"

/* The state is its own cache line pair, so that workers do not disturb each other. */
#define RT_LINE 128

enum { RT_STATE_MEMORIES = 6 };

struct rt_sorter;
struct rt_run; /* flushed groups of an AGG_HASH, see agg_hash.c */

/* One worker's part of one state. What generated code sees comes first. */
struct rt_local {
    union {
        struct hdd_rows_local rows;
        struct hdd_agg_local agg;
        struct hdd_dense_local dense;
    } u;
    uint64_t chunk;          /* ROWS, CSR, HASH: rows of the next piece */
    struct rt_block buffer;  /* top-k rows, the groups of AGG_HASH */
    struct rt_block scratch; /* top-k: entries; AGG_HASH: slots */
    uint64_t marked;         /* first rows of groups: so many rows of the buffer have marks; 0: there are none */
    uint64_t kept;           /* top-k: best rows so far, at the front of the buffer; of groups: before the last one */
    struct rt_run *runs;     /* AGG_HASH: flushed so far */
    struct rt_stretch *stretches; /* ROWS in the order of their source: the last one */
} __attribute__((aligned(RT_LINE)));

struct rt_worker {
    struct hdd_thread t;
    struct rt_exec *x;
    struct rt_heap heap; /* strings, alive until the result is freed */
    uint64_t busy_ns;    /* of the running pipeline */
    uint64_t *counters;
    int state; /* that the last failed helper was about, -1 none */
} __attribute__((aligned(RT_LINE)));

/* A state while the program runs. */
struct rt_live {
    const struct rt_state *s;
    struct rt_local *local;  /* local[worker * nstates] */
    struct rt_region region; /* rows as they are appended; merged groups */
    struct rt_region flushed; /* AGG_HASH: groups of full tables */
    struct rt_block moved;   /* rows after sorting or grouping, if not in the region */
    unsigned char *rows;     /* the finished ones */
    uint64_t nrows;
    struct rt_block bits;   /* BITMAP, DIRECT */
    struct rt_block fields; /* DIRECT: all arrays */
    unsigned char **field, **valid;
    struct rt_block matches, offsets, slots;
    uint64_t mask;
    struct rt_block dense;    /* AGG_SCALAR, AGG_DENSE, ARRAY: rows of all threads */
    struct rt_sorter *sorter; /* ROWS with an order */
    uint64_t topk;            /* rows worth keeping per worker; 0: all */
    int64_t bound;            /* ROWS, bounded: while no pipeline fills it */
    _Atomic uint64_t *bound_word; /* the same in the args vector, while one does */
    _Atomic uint64_t taken;   /* ROWS with a limit and no order: rows asked for */
    _Atomic uint64_t filed;   /* bytes of blocks that were put into the temporary file */
    bool finished;
    struct rt_checksums sums[RT_STATE_MEMORIES]; /* of a finished one that lies in the temporary file */
};

struct rt_job; /* the pipeline that runs, see job.c */

struct rt_exec {
    const struct rt_spec *spec;
    const struct rt_tier_entries *entries;
    struct rt_exec_options o;
    struct rt_memory memory;
    struct hd_arena arena; /* of the size of the spec, not of the data */
    struct rt_live *live;
    struct rt_local *locals; /* [worker][state] */
    struct rt_worker *workers;
    uint64_t *args;
    struct rt_job *job;
    struct rt_exec_stats *stats;
    uint64_t started_ns;
    bool tracks_matches; /* some state does: no pipeline may end early */

    _Atomic int failure; /* enum hd_err_class of the first failure: everybody stops */
    pthread_mutex_t fail_lock;
    struct hd_err error; /* of the first failure */
};

struct rt_result {
    struct rt_exec *x;
};

/* The first failure is kept, and everybody is told to stop. Any thread. */
void rt_exec_raise(struct rt_exec *x, enum hd_err_class c, const char *path, const char *fmt, ...) HD_PRINTF(4, 5);
/* The memory limit was met while working on this state (NULL: none in particular). */
void rt_exec_raise_memory(struct rt_exec *x, const struct rt_state *s);
/* From T->failure after an entry point returned non-zero. */
void rt_exec_raise_worker(struct rt_worker *w);
static inline bool rt_exec_stopped(struct rt_exec *x)
{
    return atomic_load_explicit(&x->failure, memory_order_relaxed) != HD_ERR_NONE;
}
/* Generated code sees it at its next batch of rows. */
void rt_exec_tell_all(struct rt_exec *x, int stop);
/* For helpers that return a status: marks the worker as failed and returns 1. */
int32_t rt_worker_fail(struct rt_worker *w, enum rt_failure f, int state);

/* parallel.c */
uint64_t rt_now_ns(void);
/* Notes what was done since start_ns; ms. */
double rt_exec_span(struct rt_exec *x, enum rt_span_kind kind, int index, uint64_t start_ns);
/* Tasks 0..n-1 on all threads, in no order; a task is skipped once the execution has failed.
 * 0, or -1 once the execution has failed. */
typedef void (*rt_work_fn)(void *context, struct rt_worker *w, uint64_t task);
int rt_exec_parallel(struct rt_exec *x, uint64_t n, rt_work_fn fn, void *context);
/* Task boundaries for n items on all threads: pieces of at least `min`, not more than a few per
 * thread. Task k has items [k * size, min(n, (k + 1) * size)). */
struct rt_cut {
    uint64_t n, size, ntasks;
};
struct rt_cut rt_cut(const struct rt_exec *x, uint64_t n, uint64_t min);
static inline uint64_t rt_cut_end(const struct rt_cut *c, uint64_t task)
{
    return HD_MIN(c->n, (task + 1) * c->size);
}

/* A block of the execution, or failure MEMORY. zero: only from the thread of the schedule, which
 * has the others help. */
int rt_exec_block(struct rt_exec *x, const struct rt_state *s, size_t n, bool zero, struct rt_block *b);

/* state.c */
int rt_states_init(struct rt_exec *x);
int rt_state_finish(struct rt_exec *x, int state);
void rt_state_free(struct rt_exec *x, int state);
static inline struct rt_local *rt_local(struct rt_exec *x, const struct rt_live *v, int worker)
{
    return &v->local[(size_t)worker * (size_t)x->spec->nstates];
}

/* state_checksums.c: a state is finished; before a pipeline reads what is no row of its source, and rows of that (false: the
 * execution has failed). */
int rt_state_seal(struct rt_exec *x, struct rt_live *v);
int rt_states_verify(struct rt_exec *x, const struct rt_pipeline *p);
bool rt_source_verify(struct rt_exec *x, const struct rt_pipeline *p, uint64_t begin, uint64_t end);
const struct rt_checksums *rt_state_row_sums(const struct rt_live *v);
void rt_state_free_sums(struct rt_live *v);

/* args.c */
int rt_args_init(struct rt_exec *x);
void rt_args_resolve(struct rt_exec *x);

/* job.c */
int rt_pipeline_run(struct rt_exec *x, int pipeline, struct rt_fragment f);
/* From a helper: the sink of the running pipeline needs no more rows. */
void rt_job_enough(struct rt_exec *x);

/* rows.c */
int rt_rows_init(struct rt_exec *x, struct rt_live *v);
int rt_finish_compact(struct rt_exec *x, struct rt_live *v);
int rt_finish_partition(struct rt_exec *x, struct rt_live *v);
int rt_finish_single(struct rt_exec *x, struct rt_live *v);
int rt_finish_sort(struct rt_exec *x, struct rt_live *v);
int rt_finish_limit(struct rt_exec *x, struct rt_live *v);

/* in_order.c: rows that keep the order of their source. The pipeline notes which morsel each row comes from. */
bool rt_rows_by_morsel(const struct rt_exec *x, const struct rt_pipeline *p);
int rt_morsel_begin(struct rt_worker *w, int state, uint64_t row);
void rt_morsel_end(struct rt_worker *w, int state);
/* The worker goes on in another piece. */
int rt_morsel_turn(struct rt_exec *x, struct rt_local *l, unsigned char *piece);
void rt_stretches_free(struct rt_exec *x, struct rt_local *l);
/* Rows become one array. done: there were morsels. */
int rt_rows_concatenate(struct rt_exec *x, struct rt_live *v, bool *done);

/* partition.c: h and a value that is not NULL; the same for equal ones. */
uint64_t rt_hash_value(uint64_t h, enum rt_phys phys, const unsigned char *at);

/* top.c: rows of a state whose `top` is pruned, in a worker's buffer. */
int32_t rt_top_grow(struct rt_worker *w, struct rt_live *v, struct rt_local *l, int state);
void rt_top_prune(struct rt_live *v, struct rt_local *l);
int rt_finish_top(struct rt_exec *x, struct rt_live *v);

/* agg_merge.c */
int rt_scalar_init(struct rt_exec *x, struct rt_live *v);
int rt_dense_init(struct rt_exec *x, struct rt_live *v);
int rt_array_init(struct rt_exec *x, struct rt_live *v);
int rt_scalar_merge(struct rt_exec *x, struct rt_live *v);
int rt_dense_merge(struct rt_exec *x, struct rt_live *v);
/* Adds the accumulators of row src to those of dst, same group. */
void rt_merge_row(const struct rt_state *s, unsigned char *dst, const unsigned char *src);

/* The same of one field, in a way of runtime/spec.h. */
void rt_merge_field(const struct rt_field *f, enum rt_merge merge, unsigned char *dst, const unsigned char *src);

/* group_borders.c */
int rt_finish_borders(struct rt_exec *x, struct rt_live *v);

/* group_search.c */
int rt_finish_search(struct rt_exec *x, struct rt_live *v);
int rt_finish_places(struct rt_exec *x, struct rt_live *v);

/* running.c */
int rt_finish_running(struct rt_exec *x, struct rt_live *v);

/* joined_text.c */
int rt_finish_text(struct rt_exec *x, struct rt_live *v);

/* frames.c */
int rt_finish_frames(struct rt_exec *x, struct rt_live *v);

/* frames_text.c */
int rt_finish_frame_texts(struct rt_exec *x, struct rt_live *v);

/* frames_ranked.c */
int rt_finish_ranks(struct rt_exec *x, struct rt_live *v);

/* agg_hash.c */
int rt_agg_hash_init(struct rt_exec *x, struct rt_live *v);
int rt_agg_hash_merge(struct rt_exec *x, struct rt_live *v);
void rt_agg_hash_free(struct rt_exec *x, struct rt_live *v);

/* hash_build.c, csr_build.c */
int rt_finish_hash_unique(struct rt_exec *x, struct rt_live *v);
int rt_finish_hash_group(struct rt_exec *x, struct rt_live *v);
int rt_finish_hash_dedupe(struct rt_exec *x, struct rt_live *v);
int rt_finish_csr(struct rt_exec *x, struct rt_live *v);

#endif
