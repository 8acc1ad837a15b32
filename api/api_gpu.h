/* What of the GPU is asked for outside of statements. */
#ifndef HEDDLE_API_GPU_H
#define HEDDLE_API_GPU_H

#include "api/api_internal.h"
#include "api/api_statement.h"

struct hd_strbuf;
struct rt_compiler;
struct rt_device;

/* What makes device number `number` and its compiler: the CUDA driver and NVRTC. cold: there will be
 * much to compile. The tests' program puts their emulator here before anything else happens. */
typedef int api_gpu_opener(int number, bool cold, struct rt_device **d, struct rt_compiler **c, struct hd_err *err);
extern api_gpu_opener *api_gpu_open;
/* How many devices there are; likewise. */
extern int (*api_gpu_count)(void);

/* Of the context's GPU, without waiting; where there is none, *why (of n bytes) says why. */
enum api_gpu_state api_gpu_state(const heddle_context *c, struct api_engine *e, char *why, size_t n);
/* The kernels as PTX, for the context's device or, without one, for a usual architecture. */
int api_gpu_ptx(heddle_context *c, const struct cg_cuda_artifact *art, struct hd_strbuf *out, struct hd_err *err);
/* The table goes: its columns need not stay on the GPU, if there is one. */
void api_gpu_forget(heddle_context *c, const struct fe_table *t);
/* Members of a JSON object: driver, devices, NVRTC, and why they are missing. */
void api_gpu_info(struct hd_strbuf *b);
/* Waits for another library's event. */
int api_gpu_wait(heddle_context *c, void *event, struct hd_err *err);
/* Executes; the rows become columns on the GPU. */
int api_gpu_execute_device(struct heddle_statement *s, struct ArrowDeviceArrayStream *out, struct hd_err *err);

#endif
