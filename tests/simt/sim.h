/* Plans on the emulator: what is between a plan's file and the GPU executor, and between its
 * rows and a text that can be compared. */
#ifndef HEDDLE_TESTS_SIMT_SIM_H
#define HEDDLE_TESTS_SIMT_SIM_H

#include "codegen/cuda_source.h"
#include "runtime/base/err.h"

/* sim_program.c: a plan over a database, planned and emitted */
struct rt_store;
struct sim_program {
    struct hd_arena arena;
    struct rt_store *store;
    struct pl_program *pl;
    struct cg_cuda_artifact art;
    bool ordered; /* the plan's root is a sort */
};
/* params: file with a JSON object of parameter values, or NULL. */
int sim_program_init(struct sim_program *p, const char *plan_path, const char *db, const char *params,
                     const struct pl_options *options, struct hd_err *err);
void sim_program_release(struct sim_program *p);

/* sim_kernel.c: emitted source compiled by the host compiler, kept under the hash of all that
 * goes into it */
struct sim_compiler {
    const char *cxx, *flags, *root; /* flags apart by blanks; root: the source tree */
    const char *cache;              /* directory */
};
/* The text of the machine that kernels are compiled against: the twin and what it includes. */
int sim_machine_text(const char *root, struct hd_arena *a, const char **text, struct hd_err *err);
/* The shared object's path, in the arena. */
int sim_compile(const struct sim_compiler *c, struct hd_arena *a, const char *source, const char **library,
                struct hd_err *err);

/* sim_csv.c: rows of the result in the form of `heddle run --format csv`; rows sorted as text
 * unless in_order */
char *sim_result_csv(const struct rt_spec *s, const unsigned char *rows, uint64_t nrows, bool in_order);

#endif
