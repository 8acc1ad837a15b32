/* A device of host memory that runs nothing: for tests of what the executor keeps on a device. */
#ifndef HEDDLE_TESTS_GPU_FAKE_DEVICE_H
#define HEDDLE_TESTS_GPU_FAKE_DEVICE_H

#include "runtime/gpu/compiler.h"
#include "runtime/gpu/device.h"

struct fake {
    struct rt_device d;
    struct rt_compiler c;
    uint64_t memory, held; /* bytes: that there are, that are taken */
    int allocs, uploads, loads;
    _Atomic int compiles;
    int modules;         /* loaded now */
    const char *refuses; /* a name that the compiler refuses */
    bool breaks;         /* the next operation loses the device */
    bool stays_lost;     /* it cannot be made anew */
    int resets;
    bool closed;
};
void fake_init(struct fake *f, uint64_t memory, const char *identity);

#endif
