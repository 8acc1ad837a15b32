/* How long a program takes on a CPU and on a GPU, by the planner's estimates of rows: what `auto` compares before either
 * was timed (planner/choice.h). Rough: docs/performance.md, "Choosing a
 * backend", has how rough. */
#ifndef HEDDLE_PLANNER_WORK_H
#define HEDDLE_PLANNER_WORK_H

#include "planner/pipeline.h"

struct pl_work {
    double cpu_ms; /* of one thread: rows of all pipelines and what their states take to finish */
    double gpu_ms; /* of a large GPU: the same, launches included */
    double begun; /* pipelines: each has to be handed to threads, and to the GPU */
    double cpu_code, gpu_code; /* steps, outs and nodes of expressions: what compiling takes time for. gpu_code: of the
                                  largest pipeline alone, as kernels are compiled side by side */
};

/* Nanoseconds of a thread of a CPU, or of a large GPU: of an operator of expressions beside its arguments; of a value of so many bytes
 * that is read behind the one of the row before. */
double pl_work_of_operator(enum fe_op op, bool gpu);
double pl_work_of_value(double bytes, bool gpu);

/* Of a planned program, which was planned for either. */
struct pl_work pl_work_of(const struct pl_program *p);

#endif
