/* What the files of the driver over host memory (fake_driver.c) share. */
#ifndef HEDDLE_TESTS_FAKE_DRIVER_H
#define HEDDLE_TESTS_FAKE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/gpu/driver.h"

#define DRIVER(name, symbol, arguments) __attribute__((visibility("default"))) int name arguments __asm__(symbol);
#include "runtime/gpu/driver.def"

enum { DEVICES = 2 };
enum {
    OK = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_CONTEXT = 201,
    PEER_UNSUPPORTED = 217,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
    PEER_ENABLED = 704,
    ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713,
    NOT_SUPPORTED = 801
};

struct cu_context_opaque {
    int users;
    bool broken; /* a kernel used a wrong address */
    bool peer[DEVICES]; /* whose memory kernels may use */
};
struct cu_stream_opaque {
    cu_context c;
};
struct cu_module_opaque {
    cu_context c;
};

/* The thread's current context; NULL: there is none that is alive. */
cu_context fake_current(void);
#define CURRENT(c) \
    cu_context c = fake_current(); \
    if (!c) \
        return INVALID_CONTEXT; \
    if (c->broken) \
    return ILLEGAL_ADDRESS

/* n bytes from there on lie in one allocation of the context's device. */
bool fake_on_device(cu_context c, uint64_t address, size_t n);

#endif
