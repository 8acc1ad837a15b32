/* The SIMT emulator as a device (runtime/gpu/device.h): device memory is host memory between
 * guard bytes, modules are shared objects that the host compiler made. What is queued runs when the
 * host waits for it, and not before, so that a wait that is missing is noticed. What lies outside
 * of a buffer is noticed: by AddressSanitizer at once, without it after the launch; new memory
 * holds no zeros; page-locked memory is such as was asked for. */
#ifndef HEDDLE_TESTS_SIMT_SIM_DEVICE_H
#define HEDDLE_TESTS_SIMT_SIM_DEVICE_H

#include "runtime/gpu/device.h"

struct sim_device_options {
    int number; /* among several: which faults are its own (runtime/base/fault.h) */
    int multiprocessors; /* decides how many blocks are launched; few, or it takes long */
    uint64_t seed;       /* of the interleavings, see simt.h */
    uint64_t max_switches;
    uint64_t memory, l2_bytes;
    uint32_t prompt; /* streams, a bit each, on which work runs as soon as it may, instead of as late */
};
void sim_device_options_init(struct sim_device_options *o);

int sim_device_open(const struct sim_device_options *o, struct rt_device **out, struct hd_err *err);
void sim_device_seed(struct rt_device *d, uint64_t seed);
uint64_t sim_device_launches(const struct rt_device *d);
uint64_t sim_device_waits(const struct rt_device *d);  /* of the host, but for events */
uint64_t sim_device_clears(const struct rt_device *d); /* of memory */
uint64_t sim_device_batches(const struct rt_device *d); /* that were queued */
uint64_t sim_device_live(const struct rt_device *d); /* buffers that are not freed */

/* Memory that somebody else has on every device, who keeps it: copies may read it. One range for the process. */
void sim_device_lend(const void *p, size_t n);

/* An image for `load`: the bytes of a shared object, for free(). */
int sim_image_read(const char *path, void **image, size_t *n, struct hd_err *err);

#endif
