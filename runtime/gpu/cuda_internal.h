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

struct rt_function {
    cu_function f;
    struct rt_function *next; /* of its module */
};

/* A kernel, or memory that is set (f NULL), which is yet to be queued. */
struct rt_queued {
    struct rt_function *f;
    uint32_t blocks, threads, shared_bytes;
    bool cooperative;
    int nparams;
    size_t at[RT_PARAMS], n[RT_PARAMS]; /* of parameters: where they lie in `bytes`, how many there are */
    uint64_t to;
    unsigned byte;
    size_t bytes;
};
enum { RT_BATCH_MAX = 48, RT_BATCH_BYTES = 64 << 10 };
struct rt_batch {
    bool on;
    int n;
    size_t used;
    struct rt_queued item[RT_BATCH_MAX];
    unsigned char bytes[RT_BATCH_BYTES];
};

struct rt_graph;
enum { RT_GRAPHS_SEEN = 128 };
struct rt_graphs {
    struct rt_graph *first; /* the last one that was launched, and so on */
    uint64_t seen[RT_GRAPHS_SEEN]; /* hashes of batches that were queued once; a ring */
    unsigned next_seen;
    bool refused; /* by the driver: there are none */
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
    struct rt_batch *batch; /* NULL: there was none yet */
    struct rt_graphs graphs;
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

/* cuda_batch.c */
void rt_cuda_batch_begin(struct rt_device *d);
int rt_cuda_batch_end(struct rt_device *d, struct hd_err *err);
/* Queues what is held back: before anything else on the compute stream, and before the host waits for it. */
int rt_cuda_flush(struct rt_cuda *c, struct hd_err *err);
static inline int rt_cuda_flush_for(struct rt_cuda *c, enum rt_stream s, struct hd_err *err)
{
    return s == RT_STREAM_COMPUTE ? rt_cuda_flush(c, err) : 0;
}
void rt_cuda_batch_close(struct rt_cuda *c); /* what is held back is forgotten */
int rt_cuda_launch(struct rt_device *d, rt_function *f, const struct rt_launch *l, struct hd_err *err);
int rt_cuda_set(struct rt_device *d, uint64_t to, int byte, size_t n, struct hd_err *err);

/* cuda_graph.c */
/* Queues the batch as a graph. False: it must be queued piece by piece. */
bool rt_cuda_graph_launch(struct rt_cuda *c, const struct rt_batch *b);
/* Graphs with one of these functions, which are about to go. */
void rt_cuda_graphs_forget(struct rt_cuda *c, const struct rt_function *functions);
void rt_cuda_graphs_close(struct rt_cuda *c);

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
