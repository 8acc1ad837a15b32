/* A device made of host memory: runs the schedule of a kernel spec (runtime/spec.h) with the
 * emulator in the place of the GPU. States have the layouts of the spec; FINISH is done here
 * by plain reference code. Every state begins small and grows when a kernel asks for more, so
 * that each run also tests the retry after an overflow. */
#ifndef HEDDLE_TESTS_SIMT_SIM_H
#define HEDDLE_TESTS_SIMT_SIM_H

#include <stdio.h>

#include "codegen/cuda_source.h"
#include "runtime/base/err.h"
#include "templates/abi.h"
#include "tests/simt/grid.h"

/* sim_program.c: a plan over a database, planned and emitted */
struct rt_store;
struct sim_program {
    struct hd_arena arena;
    struct rt_store *store;
    struct pl_program *pl;
    struct cg_cuda_artifact art;
    bool ordered; /* the plan's root is a sort */
};
int sim_program_init(struct sim_program *p, const char *plan_path, const char *db,
                     const struct pl_options *options, struct hd_err *err);
void sim_program_release(struct sim_program *p);

/* sim_kernel.c: emitted source compiled by the host compiler, kept under the hash of all that
 * goes into it */
struct sim_compiler {
    const char *cxx, *flags, *root; /* flags apart by blanks; root: the source tree */
    const char *twin;               /* path of twin.cuh */
    const char *cache;              /* directory */
};
/* The shared object's path, in the arena. */
int sim_compile(const struct sim_compiler *c, struct hd_arena *a, const char *source,
                const char **library, struct hd_err *err);
struct sim_kernel {
    void *library;
    grid_kernel entry;
};
int sim_kernel_load(const struct sim_compiler *c, const struct rt_unit *unit,
                    struct sim_kernel *k, struct hd_err *err);
void sim_kernel_unload(struct sim_kernel *k);

/* sim_state.c: memory of states */
struct sim_state {
    const struct rt_state *s;
    unsigned char *rows; /* ROWS, CSR, HASH, AGG_*, ARRAY */
    uint64_t nrows, capacity;
    uint64_t cursor; /* rows that kernels asked for */
    uint64_t *bits, *matches, *offsets;
    struct hdd_hash_slot *slots;    /* HASH */
    uint64_t *groups;               /* AGG_HASH: slots while it is filled */
    uint64_t mask;                  /* of either */
    unsigned char **field, **valid; /* DIRECT */
};
void sim_state_init(struct sim_state *v, const struct rt_state *s);
void sim_state_release(struct sim_state *v);
/* Before a pipeline that writes the state, and after one that overflowed: what the pipeline
 * added is taken back and there is more room. */
struct sim_mark {
    uint64_t nrows;
    unsigned char *rows; /* copy of aggregates, which pipelines change in place */
};
struct sim_mark sim_state_mark(const struct sim_state *v);
void sim_state_regrow(struct sim_state *v, const struct sim_mark *m);
void sim_mark_release(struct sim_mark *m);
bool sim_state_overflowed(const struct sim_state *v);
void *sim_alloc(size_t n); /* zeroed, aligned to 64 */

/* sim_finish.c, sim_sort.c */
int sim_state_finish(struct sim_state *v, struct hd_err *err);
void sim_state_sort(struct sim_state *v);

/* sim_args.c: the args vector; like patterns are made once */
void sim_args_fill(const struct rt_spec *s, const struct sim_state *states, uint64_t *words,
                   struct hd_arena *a);
/* The device form of arg's pattern (templates/text.cuh). */
const void *sim_like_pattern(struct hd_arena *a, const struct rt_arg *arg);

/* sim_run.c */
struct sim_stats {
    uint64_t launches, retries, gifts, visits, idle_lanes, switches;
};
struct sim_result {
    struct sim_state *states;
    int nstates;
    struct hd_arena texts; /* heaps of texts, which rows of states point into */
    struct sim_stats stats;
    uint64_t **counters; /* per pipeline, with profile */
};
int sim_run(const struct sim_program *p, const struct sim_kernel *kernels,
            const struct grid_options *o, struct sim_result *r, struct hd_err *err);
void sim_result_release(struct sim_result *r);

/* sim_csv.c: rows of the result in the form of `heddle run --format csv`; rows sorted as text
 * unless in_order */
char *sim_result_csv(const struct sim_program *p, const struct sim_result *r, bool in_order);

#endif
