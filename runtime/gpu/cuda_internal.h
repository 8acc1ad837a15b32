/* What the files of the CUDA device share. */
#ifndef HEDDLE_RUNTIME_GPU_CUDA_INTERNAL_H
#define HEDDLE_RUNTIME_GPU_CUDA_INTERNAL_H

#include "runtime/gpu/device.h"
#include "runtime/gpu/driver.h"

struct rt_event {
    cu_event e;
    struct rt_event *next; /* of the spare ones */
};

struct rt_cuda {
    struct rt_device d;
    const struct rt_driver *cu;
    int number; /* of the device */
    cu_device device;
    cu_context context;
    cu_stream stream, side; /* side: pokes while a kernel runs, and large uploads */
    struct rt_event *spare;
    void *bounce;    /* pinned, for downloads */
    void *staging;   /* pinned, for large uploads; NULL until the first */
    uint32_t *words; /* pinned, for pokes */
};

static inline struct rt_cuda *rt_cuda(struct rt_device *d)
{
    return d->self;
}

/* 0, or -1 with the driver's words for `status`; notes that the device is lost. */
int rt_cuda_check(struct rt_cuda *c, int status, const char *what, struct hd_err *err);

/* cuda_copy.c */
int rt_cuda_upload(struct rt_device *d, uint64_t to, const void *from, size_t n, struct hd_err *err);
int rt_cuda_download(struct rt_device *d, void *to, uint64_t from, size_t n, struct hd_err *err);

#endif
