/* Fault injection. HEDDLE_FAULT=alloc:3,write:1+ makes the third fallible allocation and every
 * write from the first fail, so that tests can walk through every error path of the code that
 * asks here. Compiled in always: without the variable a call costs one load and one branch.
 * Only fallible allocations count; those of arenas and strbufs are where there is a guard (guard.h). */
#ifndef HEDDLE_BASE_FAULT_H
#define HEDDLE_BASE_FAULT_H

#include "runtime/base/util.h"

#define HD_FAULT_KINDS(X) \
    X(ALLOC, "alloc")   /* malloc and its kin: NULL */ \
    X(WRITE, "write")   /* write, fallocate, ftruncate: ENOSPC */ \
    X(MMAP, "mmap")     /* mmap: ENOMEM */ \
    X(OPEN, "open")     /* open, mkdir: EMFILE */ \
    X(READ, "read")     /* read: EIO */ \
    X(SYNC, "sync")     /* fsync: EIO */ \
    X(RENAME, "rename") /* rename: EIO */ \
    X(THREAD, "thread") /* pthread_create: EAGAIN */ \
    X(FLIP, "flip")     /* a byte of a temporary file has changed when it is read */ \
    X(CUT, "cut")       /* a temporary file ends where it is read */ \
    X(COMPILE, "compile") /* LLVM, of a part of a module */ \
    X(DEVICE, "device") /* a kernel on a GPU: it uses wrong addresses, and the GPU is lost */ \
    X(DEVICE_0, "device0") /* the same on the GPU of that number */ \
    X(DEVICE_1, "device1") \
    X(DEVICE_2, "device2") \
    X(DEVICE_3, "device3")

enum hd_fault_kind {
#define X(id, name) HD_FAULT_##id,
    HD_FAULT_KINDS(X)
#undef X
        HD_FAULT_COUNT
};

/* True: this call must fail as if the system had refused it (errno is set). Thread-safe. */
bool hd_fault(enum hd_fault_kind k);
/* The same of a kernel on GPU `number`. */
bool hd_fault_device(int number);
/* Replaces the environment's setting; NULL or "" disarms. False if the text is malformed.
 * Not while other threads run. */
bool hd_fault_arm(const char *spec);
/* Calls of this kind since it was armed: a test loops n until it is not reached. */
uint64_t hd_fault_calls(enum hd_fault_kind k);

/* malloc, calloc and realloc that answer NULL under "alloc". */
void *hd_try_malloc(size_t n);
void *hd_try_calloc(size_t n, size_t size);
void *hd_try_realloc(void *p, size_t n);

#endif
