/* Statements: a plan, the program made of it, and what its last execution took. Shared by the
 * files api_statement*.c. */
#ifndef HEDDLE_API_STATEMENT_H
#define HEDDLE_API_STATEMENT_H

#include "api/api_internal.h"
#include "codegen/cuda_source.h"
#include "frontend/plan.h"
#include "planner/choice.h"
#include "runtime/cache/code_cache.h"
#include "runtime/exec/admission.h"
#include "runtime/exec/exec.h"
#include "runtime/exec/lane_threads.h"
#include "runtime/exec/traffic.h"
#include "runtime/gpu/gpu.h"

enum api_gpu_state { API_GPU_UNTRIED, API_GPU_OPENING, API_GPU_OPEN, API_GPU_NONE };

/* The executor's part of a context, made when the first statement is prepared. */
struct api_engine {
    struct rt_thread_pool *thread_pool;
    struct rt_lane_threads *lanes; /* for each GPU of a query beside the first */
    struct rt_memory memory;
    struct rt_admission admission; /* to it, of executions on the CPU where somebody has set its limit */
    struct rt_temp temp;
    struct rt_code_cache *cache;
    /* GPUs that statements ran on: the context's and those beside it. */
    struct api_gpu_slot {
        pthread_mutex_t lock; /* whoever opens it has it */
        _Atomic enum api_gpu_state state;
        struct rt_gpu *gpu;   /* OPEN */
        struct rt_admission admission; /* one execution at a time has all of its memory */
        struct hd_err error;  /* NONE: why */
    } gpus[RT_MAX_DEVICES];
    atomic_bool compiles; /* whoever opens a GPU will compile: its compiler may start at once */
    struct api_history *history;       /* of plans that `auto` chose for (api_history.h) */
    struct api_background *background; /* what is done behind executions (api_background.h) */
};

/* Of a context, made at the first call. */
int api_engine_get(heddle_context *c, struct api_engine **out, struct hd_err *err);
/* Nothing that is done behind executions uses the database afterwards. */
void api_engine_leave(heddle_context *c, const heddle_database *db);
/* The GPU that a schedule calls device `number`, opened at the first call; 0 is the context's. RESOURCE with the
 * reason if there is none. */
int api_gpu_get(heddle_context *c, struct api_engine *e, int number, struct rt_gpu **out, struct hd_err *err);

/* Code of a program: a version of it. */
struct api_code {
    bool emitted;
    bool counts; /* rows, and on a GPU what warps do */
    /* On a CPU: */
    struct cg_artifact artifact;
    struct rt_cached_code *code; /* NULL until it is to be run */
    /* On a GPU: */
    struct cg_cuda_artifact cuda;
    struct rt_gpu_code *gpu_code;
    struct rt_gpu_peer *peers; /* devices 1, 2, ... of the schedule; from the arena */
    double codegen_ms; /* until an execution has reported it */
};

struct api_backend;

/* Optimised code of a program that began in its first tier on a GPU, which is compiled behind executions. */
enum api_optimised { API_OPTIMISED_NO, API_OPTIMISED_UNDERWAY, API_OPTIMISED_DONE, API_OPTIMISED_FAILED };
struct api_optimise {
    _Atomic enum api_optimised state;
    int tries; /* by executions */
    char problem[768]; /* FAILED: why */
};

/* What planning and code generation made of the plan with its parameters. A statement has one for each backend that it may
 * run on; what is done behind executions has a reference, too, and changes nothing in it but `optimise`. */
struct api_program {
    atomic_int refs;
    const struct api_backend *backend;
    struct api_engine *engine;
    int slot; /* of the engine's GPUs the one that it runs on */
    struct api_snapshot *tables; /* that it names */
    struct hd_arena arena;
    struct pl_program *pl;
    struct api_code plain;
    struct api_code counted; /* with profile */
    struct rt_gpu *gpu; /* where the code is, on a GPU */
    bool placed; /* columns were, for a GPU with so many bytes (planner/residence.h) */
    uint64_t placed_for;
    struct api_optimise optimise; /* `plain` */
    uint64_t *room, *seen; /* of executions on a GPU (runtime/gpu/gpu.h); from the arena */
    double plan_ms; /* until an execution has reported it */
    double state_bytes; /* that its states are expected to take at once */
};
void api_program_leave(struct api_program *p); /* one reference less; NULL is fine */

struct api_times {
    double facts, plan, codegen, open, compile, wait, transfer, execute, result;
    enum rt_cached how;
};

/* What is known of an execution. */
struct api_execution {
    struct api_times times;
    struct rt_exec_stats stats;
    uint64_t rows, bytes; /* of the result, as a GPU had it */
    bool first_tier; /* on a GPU: some code was, and optimised code is to take its place */
};

struct api_spread;

/* Of a statement whose backend is chosen execution by execution (api_auto.c). */
struct api_auto {
    bool on, deterministic;
    bool kept; /* deterministic, and there was an execution: it stays where that ran */
    uint64_t key; /* of its plan, in the history */
    struct pl_choice_in in;
    struct pl_choice choice; /* of `in` */
    bool compared; /* both are there */
    char trouble[200]; /* why the GPU is out of the question; empty: it is not */
};

struct heddle_statement {
    heddle_database *db;
    struct api_snapshot *tables;
    struct api_engine *engine;
    struct hd_arena arena; /* of the plan */
    struct fe_plan *plan;
    const void *source; /* the bytes that it was read from */
    size_t source_size;
    const struct api_backend *backend; /* that it runs on; with automatic.on until the next choice */
    struct api_program *program; /* for that backend, one of `programs`; NULL: nothing was planned yet */
    struct api_program *programs[PL_SIDES];
    struct api_auto automatic;
    char why[320]; /* it is that backend */
    enum rt_balance balance;
    enum pl_tier tier;
    uint32_t fws_threshold, gpu_warps, gpu_block;
    int threads;
    int slot; /* of the engine's GPUs the one that it runs on, unless it is spread over several */
    bool is_part; /* it is a fragment of another statement's plan, of one of several workers */
    bool slices; /* a GPU of its own */
    double state_bytes; /* part: that its states can take; 0: enough */
    struct api_spread *spread; /* over several GPUs, passes or segments (api_spread.h); NULL: not, or not decided yet */
    int segment; /* 1 + which one alone the plan reads of tables that have some; 0: all */
    int segments; /* of tables that the plan reads; 0: they are in one piece */
    uint64_t memory_limit;
    bool profile, no_cache;
    double read_ms; /* reading the plan, until a program has taken it over */
    bool has_learned; /* `tables` and plan are those of views with facts (api_facts.h) */
    struct api_learned *learned; /* what became of facts that the plan wanted; NULL: its tables have them */
    double facts_ms; /* that took, until an execution has reported it */
    struct rt_cancel cancel;
    bool executed;
    struct api_execution timed; /* the last one, of code that counts nothing */
    struct api_execution counted; /* with profile: one before it, of code that counts; of the same program */
    bool has_counts; /* there is one */
    struct rt_memory_model memory; /* of what they ran on; with profile */
    struct rt_spec *stats_spec; /* the program that they are about; NULL: gone */
};

double api_now_ms(void);
/* Options of the emitter; a sanitized build marks emitted functions for LLVM's sanitizer passes. */
static inline struct cg_options api_codegen_options(bool profile)
{
    struct cg_options o = {.profile = profile};
#if defined(__SANITIZE_ADDRESS__)
    o.sanitize_address = true;
#elif defined(__SANITIZE_THREAD__)
    o.sanitize_thread = true;
#endif
    return o;
}
/* For tests: memory for states, all else is in a temporary file; 0: by the limit. */
uint64_t api_state_bytes(void);
/* On a CPU, state beyond a memory limit may go into a temporary file. */
bool api_may_spill(const struct heddle_statement *s);
/* Plans for a backend, unless that was done since the last binding. */
int api_statement_plan(struct heddle_statement *s, enum pl_side side, struct hd_err *err);
/* Emits the code of a planned program that counts nothing, unless it is there. */
int api_statement_emit(struct heddle_statement *s, struct api_program *p, struct hd_err *err);
/* The program that runs next, planned and emitted. Chooses the backend, if there is a choice and no execution yet. */
int api_program_emit(struct heddle_statement *s, struct hd_err *err);
/* From now on it is this program, with its backend. */
void api_statement_use(struct heddle_statement *s, enum pl_side side);
/* The end of every public function that may be cancelled: as api_finish, and once that was
 * reported, the cancel is over. */
int api_statement_finish(struct heddle_statement *s, int rc, struct hd_err *e, heddle_error **out);
/* No rows, in the columns of the result. */
int api_statement_empty_stream(struct heddle_statement *s, struct ArrowArrayStream *out, struct hd_err *err);
struct cJSON;
/* The plan, cut for workers (docs/scale.md); the document lives in the arena. */
struct api_cut {
    int workers;
    bool segments; /* each has a segment of what has segments; else all */
    bool gpus; /* they are GPUs of one host, side by side, */
    double link; /* with so many bytes a second from one to another; 0: not known */
    bool divide; /* for tests: pl_distribute_options.divide */
    double memory; /* bytes for the states of each; 0: enough */
    bool streams; /* tables have no room beside them */
};
int api_statement_cut(struct hd_arena *a, const struct heddle_statement *s, const struct api_cut *how,
                      struct cJSON **document, struct hd_err *err);
/* A statement of its own for a fragment of s's plan, with values (NULL: none), over those tables, which it takes over, with
 * the options of s. */
struct api_statement_of_part {
    const struct api_backend *backend;
    int slot; /* of the engine's GPUs */
    bool slices; /* that needs no other rows of tables than those of the part */
    double state_bytes; /* for states there; 0: enough */
    int threads;
};
int api_statement_part(const struct heddle_statement *s, const struct api_statement_of_part *of,
                       struct api_snapshot *tables, const char *plan, const char *values, struct heddle_statement **out,
                       struct hd_err *err);
/* The number of the result's column of that name. */
int api_statement_column(const struct heddle_statement *s, const char *name);
/* What was planned goes: for other values, or another GPU. */
void api_statement_release_programs(struct heddle_statement *s);
/* The program is planned for the statement's backend, and is the present one. */
int api_statement_plan_here(struct heddle_statement *s, struct hd_err *err);
/* Fails where no plan was prepared. */
int api_statement_ready(const struct heddle_statement *s, struct hd_err *err);

#endif
