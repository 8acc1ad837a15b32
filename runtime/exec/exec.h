/* Runs a program: a kernel spec (runtime/spec.h) with an entry point per pipeline. Where the code
 * of the entry points comes from is no concern of the executor. */
#ifndef HEDDLE_RUNTIME_EXEC_EXEC_H
#define HEDDLE_RUNTIME_EXEC_EXEC_H

#include "runtime/exec/cancel.h"
#include "runtime/exec/thread_pool.h"
#include "runtime/exec/memory.h"
#include "runtime/exec/stats.h"
#include "runtime/spec.h"
#include "templates/abi.h"

typedef int32_t (*rt_entry_fn)(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end);
typedef int32_t (*rt_level_fn)(const uint64_t *args, struct hdd_thread *t, void *carried, uint64_t begin, uint64_t end);
/* Of one pipeline, in one tier. */
struct rt_entries {
    rt_entry_fn entry;
    rt_level_fn level[RT_MAX_LEVELS];
};
/* Of one pipeline: NULL until that tier is there, which any thread may bring about. Both tiers take the same arguments
 * and the same bytes of `carried`, and leave nothing in registers between two calls: so they may take turns. */
struct rt_tier_entries {
    _Atomic(const struct rt_entries *) tier[RT_TIER_COUNT];
};

struct rt_exec_options {
    int threads;  /* >= 1, the calling one included */
    bool profile; /* entry points count rows */
    struct rt_thread_pool *thread_pool;
    struct rt_memory *memory; /* of the context; its limit holds too. May be NULL */
    uint64_t memory_limit;    /* of this execution; 0: none but the above */
    uint64_t filed_beyond;    /* with spill, for tests: as in struct rt_memory; 0: by the limit */
    bool spill;               /* what does not fit goes into a file, if the context's memory has a place for it */
    struct rt_cancel *cancel; /* may be NULL */
    /* Waits until there is the code that the pipeline is to begin with (rt_tiering); fails if there will be none. NULL:
     * it is there. */
    int (*wait_for_code)(void *code, int pipeline, struct hd_err *err);
    void *code;
};

struct rt_result;
/* Runs all actions and hands the rows of the result state over. entries has one element a pipeline. stats is filled on failure too, as far as the execution came. The spec must live
 * until the result is freed. */
int rt_exec_run(const struct rt_spec *spec, const struct rt_tier_entries *entries, const struct rt_exec_options *o,
                struct rt_result **out, struct rt_exec_stats *stats, struct hd_err *err);

/* The finished rows: contiguous, in order, all that the plan's limit leaves. */
const unsigned char *rt_result_rows(const struct rt_result *r, uint64_t *n);
/* Rows that lie in the temporary file are as they were written. IO: they are not. rt_result_stream looks itself. */
int rt_result_verify(const struct rt_result *r, struct hd_err *err);
void rt_result_free(struct rt_result *r);
/* The rows as a stream that owns all it needs, independent of r. The memory of the batches
 * counts against the execution's limit while they are made. */
struct ArrowArrayStream;
int rt_result_stream(struct rt_result *r, struct ArrowArrayStream *out, struct hd_err *err);

/* A printable form of the spec: states, args, pipelines, actions. */
struct hd_strbuf;

#endif
