/* A call of each function of include/heddle.h, with one of its pointer arguments NULL. */
#ifndef HEDDLE_TESTS_API_CALLS_H
#define HEDDLE_TESTS_API_CALLS_H

#include <stddef.h>

#include "include/heddle.h"

/* pointers: a letter for each pointer argument but err: ! must be given, o may be NULL. call: argument k of these is NULL,
 * -1 none; what the function returns, 0 of one that returns no status but does as it should. */
struct call {
    const char *name, *pointers;
    int (*call)(int k, heddle_error **err);
};
extern const struct call calls[];
extern const size_t ncalls;

#endif
