/* Values of arguments that are the same whatever executes the program, by the groups of runtime/args.def. */
#ifndef HEDDLE_RUNTIME_EXEC_ARG_VALUES_H
#define HEDDLE_RUNTIME_EXEC_ARG_VALUES_H

#include "runtime/spec.h"

/* Writes the words of a constant, which is no STR. */
void rt_arg_constant(const struct rt_arg *a, uint64_t *w);
/* Writes the words of a NUMBER. */
void rt_arg_number(const struct rt_spec *s, const struct rt_arg *a, uint64_t *w);
/* Where the memory of a MEMORY argument lies on the host; NULL: the table has none. */
const void *rt_arg_memory(const struct rt_arg *a);

#endif
