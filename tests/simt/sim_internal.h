/* What the files of the emulated device share. */
#ifndef HEDDLE_TESTS_SIMT_SIM_INTERNAL_H
#define HEDDLE_TESTS_SIMT_SIM_INTERNAL_H

#include <time.h>

#include "tests/simt/sim_device.h"
#include "tests/simt/simt.h"

struct sim_buffer;
struct sim_task; /* of a stream, sim_stream.c */

struct sim {
    struct rt_device public;
    struct sim_device_options o;
    struct sim_buffer *buffers;
    uint64_t launches, waits, clears, batches, used;
    struct {
        struct sim_task *first, **end;
    } stream[RT_NSTREAMS], held; /* held: by a batch, for the compute stream */
    bool batch;
    char failure[256]; /* of what ran since somebody was told; empty: none */
};

static inline struct sim *sim_of(const struct rt_device *d)
{
    return d->self;
}

/* All emulated devices take turns: every operation holds this lock, for they use each other's memory and streams, and
 * the emulator runs one kernel at a time. */
int sim_lock(void);
void sim_unlock(const int *held);
#define SIM_LOCK() const int held __attribute__((cleanup(sim_unlock), unused)) = sim_lock()

/* sim_memory.c: memory is known and alive while it is used, or this is a bug */
void sim_free_all(struct sim *e);
/* The first buffer that something wrote beside, or NULL. */
const struct sim_buffer *sim_overrun(const struct sim *e, size_t *n);
/* n bytes in one buffer of the device, or with no device in one piece of page-locked memory. */
unsigned char *sim_bytes(struct rt_place at, size_t n);
bool sim_owns(struct rt_device *d, uint64_t address);
int sim_alloc(struct rt_device *d, size_t n, uint64_t *address, struct hd_err *err);
void sim_free(struct rt_device *d, uint64_t address);
int sim_host_alloc(struct rt_device *d, size_t n, void **p, struct hd_err *err);
void sim_host_free(struct rt_device *d, void *p);
int sim_host_register(struct rt_device *d, void *p, size_t n, struct hd_err *err);
void sim_host_unregister(struct rt_device *d, void *p);
void sim_host_close(struct sim *e); /* what the device page-locked goes with it */

/* sim_stream.c: what is queued runs when the host waits for it */
void sim_stream_init(struct sim *e);
void sim_batch_begin(struct rt_device *d);
int sim_batch_end(struct rt_device *d, struct hd_err *err);
/* Runs all that is queued. Errors stay until somebody asks. */
void sim_finish(struct sim *e);
/* A kernel whose parameters were copied; wrong: it uses wrong addresses. */
struct sim_kernel {
    void *entry;
    char name[64];
    struct simt_options o;
    bool wrong;
    unsigned char *param[RT_PARAMS]; /* heap; NULL: fewer parameters */
};
void sim_queue_kernel(struct sim *e, const struct sim_kernel *k);
/* sim_device.c: 0, or -1 with a message in e->failure. */
int sim_run_kernel(struct sim *e, const struct sim_kernel *k);
int sim_set(struct rt_device *d, uint64_t to, int byte, size_t n, struct hd_err *err);
int sim_upload(struct rt_device *d, uint64_t to, const void *from, size_t n, struct hd_err *err);
int sim_copy(struct rt_device *d, uint64_t to, uint64_t from, size_t n, struct hd_err *err);
int sim_download(struct rt_device *d, void *to, uint64_t from, size_t n, struct hd_err *err);
int sim_upload_async(struct rt_device *d, enum rt_stream s, uint64_t to, const void *from, size_t n,
                     struct hd_err *err);
int sim_download_async(struct rt_device *d, enum rt_stream s, void *to, uint64_t from, size_t n, struct hd_err *err);
int sim_copy_peer(struct rt_device *d, enum rt_stream s, struct rt_place to, struct rt_place from, size_t n,
                  struct hd_err *err);
int sim_sync(struct rt_device *d, struct hd_err *err);
int sim_poll(struct rt_device *d, double ms, bool *done, struct hd_err *err);
int sim_event(struct rt_device *d, rt_event **out, struct hd_err *err);
int sim_elapsed(struct rt_device *d, rt_event *from, rt_event *to, double *ms, struct hd_err *err);
void sim_event_free(struct rt_device *d, rt_event *e);
int sim_record(struct rt_device *d, enum rt_stream s, rt_event **out, struct hd_err *err);
int sim_stream_wait(struct rt_device *d, enum rt_stream s, rt_event *e, struct hd_err *err);
int sim_stream_sync(struct rt_device *d, enum rt_stream s, struct hd_err *err);
int sim_event_done(struct rt_device *d, rt_event *e, bool *done, struct hd_err *err);
int sim_event_sync(struct rt_device *d, rt_event *e, struct hd_err *err);

#endif
