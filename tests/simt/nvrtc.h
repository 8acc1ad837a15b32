/* NVRTC, opened at run time: compiling needs neither a GPU nor a CUDA toolkit at build time.
 */
#ifndef HEDDLE_TESTS_SIMT_NVRTC_H
#define HEDDLE_TESTS_SIMT_NVRTC_H

#include "runtime/base/err.h"

struct nvrtc;
/* $HEDDLE_NVRTC if it is set, else version 13 or 12 wherever the loader and the usual places
 * have it. RESOURCE with all that was tried if there is none. */
int nvrtc_open(struct nvrtc **out, struct hd_err *err);
void nvrtc_close(struct nvrtc *n);
const char *nvrtc_version(struct nvrtc *n); /* "13.0", owned by n */

/* What the compiler said about the kernel. */
struct nvrtc_report {
    int registers, spill_bytes, shared_bytes;
};
/* Compiles source with the embedded device headers to a cubin for "sm_80" and so on. The cubin
 * is heap memory. Warnings are failures: TOOL, with the log as detail. */
int nvrtc_compile(struct nvrtc *n, const char *name, const char *source, const char *arch,
                  void **cubin, size_t *size, struct nvrtc_report *report, struct hd_err *err);

#endif
