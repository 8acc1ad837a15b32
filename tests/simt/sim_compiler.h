/* The host compiler in the place of NVRTC (runtime/gpu/compiler.h): device source against the
 * twin of the machine becomes a shared object. */
#ifndef HEDDLE_TESTS_SIMT_SIM_COMPILER_H
#define HEDDLE_TESTS_SIMT_SIM_COMPILER_H

#include "runtime/gpu/compiler.h"

/* What the build configured: compiler, flags, source tree, cache. */
int sim_compiler_open(struct rt_compiler **out, struct hd_err *err);

#endif
