/* NVRTC, opened at run time: compiling needs neither a GPU nor a CUDA toolkit at build time. */
#ifndef HEDDLE_RUNTIME_GPU_NVRTC_H
#define HEDDLE_RUNTIME_GPU_NVRTC_H

#include "runtime/gpu/compiler.h"

struct rt_nvrtc;
/* That library; NULL: $HEDDLE_NVRTC if it is set, else version 13 or 12 wherever the loader and
 * the usual places have it. RESOURCE with all that was tried if there is none. Any thread. */
int rt_nvrtc_open(const char *path, struct rt_nvrtc **out, struct hd_err *err);
void rt_nvrtc_close(struct rt_nvrtc *n);
const char *rt_nvrtc_version(const struct rt_nvrtc *n); /* "13.0", owned by n */
const char *rt_nvrtc_path(const struct rt_nvrtc *n);    /* the file */
/* Its version and the options of every compilation. */
void rt_nvrtc_describe(const struct rt_nvrtc *n, char *text, size_t size);
/* Best architecture that NVRTC knows for a device of compute capability `arch`, 0 none. *cubin:
 * its machine code runs there; otherwise only PTX does, which the driver compiles. */
int rt_nvrtc_arch(const struct rt_nvrtc *n, int arch, bool *cubin);

/* What the compiler said about the kernels. */
struct rt_nvrtc_report {
    int registers, spill_bytes, shared_bytes;
    char *log; /* heap: what NVRTC said, warnings included; NULL nothing */
};
enum rt_nvrtc_form { RT_NVRTC_CUBIN, RT_NVRTC_PTX };
/* Compiles source with the embedded device headers for architecture 80, 90 and so on. out: heap
 * memory; PTX is a string. report may be NULL. TOOL with NVRTC's log as detail. Any thread. */
int rt_nvrtc_compile(const struct rt_nvrtc *n, const char *name, const char *source, int arch, enum rt_nvrtc_form form,
                     struct rt_bytes *out, struct rt_nvrtc_report *report, struct hd_err *err);

/* Reads the headers of pipelines once for all sources that are compiled for this architecture
 * afterwards, relocatable ones or others, which then take 10 to 15 ms less; the code is the same. It takes
 * some 60 ms, and does nothing where NVRTC cannot. For a process that does nothing but compile: what was
 * read has a fixed address, which only this process and its forks are sure to have free. */
void rt_nvrtc_precompile(struct rt_nvrtc *n, int arch, enum rt_nvrtc_form form, bool relocatable);

/* A compiler for a device of that compute capability; owns n. */
int rt_nvrtc_compiler(struct rt_nvrtc *n, int arch, struct rt_compiler **out, struct hd_err *err);

#endif
