/* What of the GPU is asked for outside of statements. */
#ifndef HEDDLE_API_GPU_H
#define HEDDLE_API_GPU_H

#include "api/api_internal.h"
#include "api/api_statement.h"

struct hd_strbuf;
struct rt_compiler;
struct rt_device;

/* What makes device number `number` and its compiler: the CUDA driver and NVRTC. cold: there will be something to compile, and
 * `ahead` (its `arch` is the opener's to fill in; NULL: nobody knows) is what. The tests' program puts their emulator here
 * before anything else happens. */
struct rt_gpu_ahead;
typedef int api_gpu_opener(int number, bool cold, struct rt_gpu_ahead *ahead, struct rt_device **d,
                           struct rt_compiler **c, struct hd_err *err);
extern api_gpu_opener *api_gpu_open;
/* How many devices there are; likewise. */
extern int (*api_gpu_count)(void);
/* Bytes a second from one to another of n devices, as a statement's fragments send them; 0: nobody knows. Likewise. */
extern double (*api_gpu_link)(const int *devices, int n);

/* As api_gpu_get: the emitted program's code is compiled while the GPU opens, on so many threads. fresh: also what the cache
 * has. */
int api_gpu_get_for(heddle_context *c, struct api_engine *e, int number, const struct api_program *p, int threads,
                    bool fresh, struct rt_gpu **out, struct hd_err *err);
/* Of the context's GPU, without waiting; where there is none, *why (of n bytes) says why. */
enum api_gpu_state api_gpu_state(const heddle_context *c, struct api_engine *e, char *why, size_t n);
/* The kernels as PTX, for the context's device or, without one, for a usual architecture. */
int api_gpu_ptx(heddle_context *c, const struct cg_cuda_artifact *art, struct hd_strbuf *out, struct hd_err *err);
/* The table goes: its columns need not stay on the GPU, if there is one. */
void api_gpu_forget(heddle_context *c, const struct fe_table *t);
/* Members of a JSON object: driver, devices, NVRTC, and why they are missing. */
void api_gpu_info(struct hd_strbuf *b);
/* Whether the cache has all code of the emitted program, as far as can be told before the context's GPU is open. */
bool api_gpu_stored(const heddle_context *c, const struct api_program *p);
/* What heddle_context_warm does. */
int api_gpu_warm(heddle_context *c, const char *arch, struct hd_strbuf *out, struct hd_err *err);
/* Waits for another library's event. */
struct rt_device_memory;
int api_gpu_wait(heddle_context *c, void *event, struct hd_err *err);
int api_gpu_memory(heddle_context *c, struct rt_device_memory *out, struct hd_err *err);
/* Columns on the GPU as a stream of one batch; they stay the caller's on failure. */
struct rt_gpu_columns;
int api_gpu_give(struct heddle_statement *s, struct rt_gpu_columns *columns, struct ArrowDeviceArrayStream *out,
                 struct hd_err *err);

#endif
