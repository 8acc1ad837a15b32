/* What the files of the CUDA device share. */
#ifndef HEDDLE_RUNTIME_GPU_CUDA_INTERNAL_H
#define HEDDLE_RUNTIME_GPU_CUDA_INTERNAL_H

#include "runtime/gpu/device.h"
#include "runtime/gpu/driver.h"

struct rt_cuda;
struct rt_event {
    struct rt_cuda *of;
    cu_event e;
    bool timed;
    struct rt_event *next; /* of the spare ones */
};

struct rt_cuda {
    struct rt_device d;
    const struct rt_driver *cu;
    int number; /* of the device */
    cu_device device;
    cu_context context;
    cu_stream streams[RT_NSTREAMS];
    cu_stream side;           /* pokes while a kernel runs, and large uploads */
    struct rt_event *spare[2]; /* without time, with */
    void *bounce;    /* pinned, for downloads */
    void *staging;   /* pinned, for large uploads; NULL until the first */
    uint32_t *words; /* pinned, for pokes */
};

static inline struct rt_cuda *rt_cuda(struct rt_device *d)
{
    return d->self;
}

static inline cu_stream rt_cuda_compute(const struct rt_cuda *c)
{
    return c->streams[RT_STREAM_COMPUTE];
}

/* cuda_error.c */
/* 0, or -1 with the driver's words for `status`; notes that the device is lost. */
int rt_cuda_check(struct rt_cuda *c, int status, const char *what, struct hd_err *err);

/* cuda_order.c */
int rt_cuda_event(struct rt_device *d, rt_event **out, struct hd_err *err);
int rt_cuda_elapsed(struct rt_device *d, rt_event *from, rt_event *to, double *ms, struct hd_err *err);
void rt_cuda_event_free(struct rt_device *d, rt_event *e);
int rt_cuda_record(struct rt_device *d, enum rt_stream s, rt_event **out, struct hd_err *err);
int rt_cuda_stream_wait(struct rt_device *d, enum rt_stream s, rt_event *e, struct hd_err *err);
int rt_cuda_stream_sync(struct rt_device *d, enum rt_stream s, struct hd_err *err);
int rt_cuda_event_done(struct rt_device *d, rt_event *e, bool *done, struct hd_err *err);
int rt_cuda_foreign_sync(struct rt_device *d, void *event, struct hd_err *err);
int rt_cuda_event_sync(struct rt_device *d, rt_event *e, struct hd_err *err);
void rt_cuda_events_close(struct rt_cuda *c); /* the spare ones */

/* cuda_peer.c */
int rt_cuda_open_peer(struct rt_device *d, struct rt_device *other, bool *direct, struct hd_err *err);
int rt_cuda_copy_peer(struct rt_device *d, enum rt_stream s, struct rt_place to, struct rt_place from, size_t n,
                      struct hd_err *err);

/* cuda_copy.c */
int rt_cuda_host_alloc(struct rt_device *d, size_t n, void **p, struct hd_err *err);
void rt_cuda_host_free(struct rt_device *d, void *p);
int rt_cuda_host_register(struct rt_device *d, void *p, size_t n, struct hd_err *err);
void rt_cuda_host_unregister(struct rt_device *d, void *p);
int rt_cuda_upload_async(struct rt_device *d, enum rt_stream s, uint64_t to, const void *from, size_t n,
                         struct hd_err *err);
int rt_cuda_download_async(struct rt_device *d, enum rt_stream s, void *to, uint64_t from, size_t n,
                           struct hd_err *err);
int rt_cuda_upload(struct rt_device *d, uint64_t to, const void *from, size_t n, struct hd_err *err);
int rt_cuda_download(struct rt_device *d, void *to, uint64_t from, size_t n, struct hd_err *err);

#endif
