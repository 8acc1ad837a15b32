/* The CUDA backend's emitter: one readable source per pipeline. Like all code generators it
 * needs neither a device nor the runtime and takes no decisions (codegen.h).
 *
 * A source includes the headers of templates/ as "hd/<name>" and defines one kernel,
 *   void <entry>(hdd_args<nwords> args, hdd_launch launch)
 * with the words of the args vector (runtime/spec.h), or their address where they are more
 * than parameters can hold, and the structure of templates/launch.cuh. Kernels that share work
 * (shape and balance of the pipeline, runtime/spec.h) must be launched cooperatively, with memory
 * of the unit's sizes (runtime/gpu/gpu_balance.h). */
#ifndef HEDDLE_CODEGEN_CUDA_SOURCE_H
#define HEDDLE_CODEGEN_CUDA_SOURCE_H

#include "codegen/codegen.h"

struct cg_cuda_artifact {
    int nunits; /* one per pipeline, in their order */
    struct rt_unit *units; /* in the arena */
};

/* Never fails: what a kernel has no room for the planner does not ask of it (planner/cut.c). Gives 0, as emitters
 * of other backends do where they succeed. */
int cg_cuda_emit(struct hd_arena *a, const struct pl_program *p, const struct cg_options *opt,
                 struct cg_cuda_artifact *out, struct hd_err *err);
/* Sources one after the other, for dumps. */
int cg_cuda_print(struct hd_strbuf *out, const struct pl_program *p, const struct cg_options *opt, struct hd_err *err);

/* Replaces the slots @NAME@ of a template. A slot alone on its line takes its indentation to
 * every line of the value, and an empty value removes the line. Slots that are unknown or not
 * used are faults of Heddle. */
struct cg_slot {
    const char *name, *value;
};
char *cg_template_fill(struct hd_arena *a, const char *text, const struct cg_slot *slots, int n);

#endif
