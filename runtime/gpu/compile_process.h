/* NVRTC in a process of its own (compile_server.h), so that several sources compile side by side. */
#ifndef HEDDLE_RUNTIME_GPU_COMPILE_PROCESS_H
#define HEDDLE_RUNTIME_GPU_COMPILE_PROCESS_H

#include "runtime/gpu/nvrtc.h"

/* A compiler for a device of that compute capability; owns n. A server starts now (cold: there
 * will be much to compile), or when a second source wants to be compiled beside one, and lives as
 * long as the compiler. Its executable is what $HEDDLE_COMPILER names, else heddle-nvrtc beside the running
 * executable, beside this library, or where it is installed. Where there is none ($HEDDLE_COMPILER
 * is "none"), or it does not start, does not fit or ends by itself, sources are compiled in this
 * process: the code is the same. RESOURCE if the variable names no executable. */
int rt_compile_process_open(struct rt_nvrtc *n, int arch, bool cold, struct rt_compiler **out, struct hd_err *err);
/* Whether there is a server that compiles what n compiles: starts one and hears it. *path: its
 * executable, on the heap. RESOURCE with the reason if not. */
int rt_compile_process_check(const struct rt_nvrtc *n, char **path, struct hd_err *err);

#endif
