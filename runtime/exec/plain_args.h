/* Words of the args vector that are the same on every device. */
#ifndef HEDDLE_RUNTIME_EXEC_PLAIN_ARGS_H
#define HEDDLE_RUNTIME_EXEC_PLAIN_ARGS_H

#include "runtime/spec.h"

/* Writes the words of an argument that is a number and known before the execution: a constant,
 * what decodes a column, the size of a table or of a key index. False: it is an address, or a
 * state's. */
bool rt_arg_plain(const struct rt_arg *a, uint64_t *w);

#endif
