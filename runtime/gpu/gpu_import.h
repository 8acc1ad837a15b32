/* Columns of Arrow's layout in the memory of a device, as the store's layout. */
#ifndef HEDDLE_RUNTIME_GPU_GPU_IMPORT_H
#define HEDDLE_RUNTIME_GPU_GPU_IMPORT_H

#include "runtime/gpu/gpu_columns.h"
#include "runtime/io/arrow_device.h"

/* Columns of a table: c becomes what each is, and *memory what was made of the device's, up to the first that is bad. */
int rt_gpu_import(struct rt_gpu *g, struct rt_device_column *c, int n, uint64_t rows, struct rt_gpu_columns **memory,
                  struct hd_err *err);
/* Copies memory of the device, or, where it has no such, of the host. */
int rt_gpu_read(struct rt_gpu *g, void *to, const void *from, size_t n, struct hd_err *err);

#endif
