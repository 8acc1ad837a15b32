/* What an execution tells about itself, on whatever device it ran. */
#ifndef HEDDLE_RUNTIME_EXEC_STATS_H
#define HEDDLE_RUNTIME_EXEC_STATS_H

#include "runtime/spec.h"

/* A warp of the last launch: times in us since the first warp began. */
struct rt_warp_stats {
    double start_us, end_us, busy_us;
    uint64_t transitions; /* from working to waiting */
    int nwaits;           /* the first of them */
    struct rt_span_us {
        double from, to;
    } *waits;
};

/* A pipeline's kernel on a GPU; figures of the last launch unless they say otherwise. */
struct rt_kernel_stats {
    int runs;     /* over fragments with rows */
    int launches; /* more than that: again after an overflow */
    int registers;
    uint32_t local_bytes, shared_bytes; /* per thread: spills and stack; per block */
    int blocks, warps_per_block;
    double occupancy; /* resident warps of those that a multiprocessor can hold */
    bool timed;
    double kernel_ms; /* by the device's clock, all launches */
    uint64_t chunks, streamed_bytes; /* of the source, that came from the host while it ran */
    enum rt_balance balance;
    uint64_t donations;   /* pieces of work that moved between warps */
    /* With profile (section 8.1 of the paper): */
    double iir, ilif;
    uint64_t visits, idle_lanes, transitions; /* warp iterations, and lanes without a node in them */
    uint64_t level_visits[RT_MAX_LEVELS + 1], level_idle_lanes[RT_MAX_LEVELS + 1]; /* [levels]: tiles */
    int nwarps;
    struct rt_warp_stats *warps;
};

struct rt_pipeline_stats {
    double start_ms, ms; /* since the start of the execution; wall time */
    double *busy_ms;     /* per worker */
    uint64_t source_rows;
    uint64_t *counters; /* spec's ncounters, summed over workers; zero without profile */
    uint64_t spawned;   /* level tasks */
    uint64_t morsels[RT_TIER_COUNT]; /* CPU: morsels and pieces of level tasks that each tier worked on */
    double swap_ms; /* CPU: since the start of the execution, when optimised code took over; < 0: it did not */
    struct rt_kernel_stats kernel; /* GPU */
};
/* What a device did from when to when: X(id, name). */
#define RT_SPANS(X) \
    X(CLEAR, "clear")       /* a state's memory gets its first contents */ \
    X(RUN, "run")           /* a pipeline, on a GPU one launch of its kernel */ \
    X(FINISH, "finish")     /* a state */ \
    X(EXCHANGE, "exchange") /* of a state between devices */
enum rt_span_kind {
#define X(id, name) RT_SPAN_##id,
    RT_SPANS(X)
#undef X
};
const char *rt_span_name(enum rt_span_kind k);
struct rt_span {
    enum rt_span_kind kind;
    int index; /* of the pipeline (RUN) or the state */
    int device;
    double start_ms, ms; /* since the start of the execution */
};

/* Code that no one had asked for before the execution came to it. */
struct rt_late_code {
    const char *name; /* lives for good */
    double ms;        /* until it was there */
};

struct rt_exec_stats {
    double transfer_ms; /* checksum verification of columns used for the first time */
    double execute_ms;
    double code_ms; /* CPU: waiting for the code of pipelines, in no other time */
    uint64_t peak_bytes;
    uint64_t
        spilled_bytes; /* put into the temporary file, all together; of passes over a GPU: into the host's memory */
    uint64_t lacked; /* GPU: bytes for which its memory had no room, where the execution failed of that; else 0 */
    bool begun_anew; /* GPU: more rows came than in executions before, and had no room */
    int threads, npipelines, nstates;
    struct rt_pipeline_stats *pipelines;
    double *finish_ms;    /* per state; on a GPU without a timeline how long the host took to queue it */
    uint64_t *state_rows; /* per state, after FINISH */
    uint64_t *state_spilled; /* per state: bytes put into the temporary file */
    int nspans;           /* in the order in which they began, device after device; GPU: with a timeline */
    struct rt_span *spans;
    int nlate; /* GPU */
    struct rt_late_code *late;
    struct hd_arena arena;
};
void rt_exec_stats_init(struct rt_exec_stats *s);
void rt_exec_stats_release(struct rt_exec_stats *s);
void rt_exec_stats_span(struct rt_exec_stats *s, struct rt_span span);
void rt_exec_stats_late(struct rt_exec_stats *s, const char *name, double ms);
/* Empties it and makes room for the counters of the program's pipelines. */
void rt_exec_stats_prepare(struct rt_exec_stats *s, const struct rt_spec *spec, int threads);

#endif
