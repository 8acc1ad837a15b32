/* The CUDA device: device.h over the driver. */
#ifndef HEDDLE_RUNTIME_GPU_CUDA_DEVICE_H
#define HEDDLE_RUNTIME_GPU_CUDA_DEVICE_H

#include "runtime/gpu/device.h"

#define RT_CUDA_NAME "cuda" /* of its operations, in keys of the cache */
/* The device's compute capability, before it is opened: 90 = 9.0. RESOURCE as below. */
int rt_cuda_arch(int number, int *arch, struct hd_err *err);
/* RESOURCE with the reason: no driver, no such device. */
int rt_cuda_open(int number, struct rt_device **out, struct hd_err *err);

#endif
