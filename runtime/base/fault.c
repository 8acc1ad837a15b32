#include "runtime/base/fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Armed while other threads, such as those that compile behind, ask. */
struct fault {
    _Atomic uint64_t at; /* the call that fails, from 1; 0 never */
    atomic_bool onwards; /* and every later one */
    _Atomic uint64_t calls;
};

static struct fault faults[HD_FAULT_COUNT];
static atomic_bool armed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *const names[] = {
#define X(id, name) name,
    HD_FAULT_KINDS(X)
#undef X
};

static int error_of(enum hd_fault_kind k)
{
    switch (k) {
    case HD_FAULT_ALLOC:
    case HD_FAULT_MMAP: return ENOMEM;
    case HD_FAULT_WRITE: return ENOSPC;
    case HD_FAULT_OPEN: return EMFILE;
    case HD_FAULT_THREAD: return EAGAIN;
    case HD_FAULT_FLIP:
    case HD_FAULT_CUT:
    case HD_FAULT_COMPILE:
    case HD_FAULT_DEVICE:
    case HD_FAULT_DEVICE_0:
    case HD_FAULT_DEVICE_1:
    case HD_FAULT_DEVICE_2:
    case HD_FAULT_DEVICE_3:
    case HD_FAULT_READ:
    case HD_FAULT_SYNC:
    case HD_FAULT_RENAME:
    case HD_FAULT_COUNT: break;
    }
    return EIO;
}

/* Reads one "kind:N" or "kind:N+"; returns the text after it, NULL if malformed. */
static const char *parse_one(const char *s)
{
    for (int k = 0; k < HD_FAULT_COUNT; k++) {
        size_t n = strlen(names[k]);
        if (strncmp(s, names[k], n) != 0 || s[n] != ':')
            continue;
        char *end;
        unsigned long long at = strtoull(s + n + 1, &end, 10);
        if (end == s + n + 1 || at == 0)
            return NULL;
        atomic_store(&faults[k].onwards, *end == '+');
        atomic_store(&faults[k].at, at);
        return end + (*end == '+');
    }
    return NULL;
}

static bool arm(const char *spec)
{
    for (int k = 0; k < HD_FAULT_COUNT; k++) {
        atomic_store(&faults[k].at, 0);
        atomic_store(&faults[k].calls, 0);
    }
    bool any = spec && *spec;
    while (spec && *spec) {
        spec = parse_one(spec);
        if (!spec || (*spec && *spec != ','))
            return false;
        spec += *spec == ',';
    }
    atomic_store(&armed, any);
    return true;
}

static void arm_from_environment(void)
{
    arm(secure_getenv("HEDDLE_FAULT"));
}

bool hd_fault(enum hd_fault_kind k)
{
    pthread_once(&once, arm_from_environment);
    if (!atomic_load_explicit(&armed, memory_order_relaxed))
        return false;
    struct fault *f = &faults[k];
    uint64_t call = atomic_fetch_add(&f->calls, 1) + 1, at = atomic_load(&f->at);
    if (!at || (atomic_load(&f->onwards) ? call < at : call != at))
        return false;
    errno = error_of(k);
    return true;
}

bool hd_fault_device(int number)
{
    static const enum hd_fault_kind own[] = {HD_FAULT_DEVICE_0, HD_FAULT_DEVICE_1, HD_FAULT_DEVICE_2,
                                             HD_FAULT_DEVICE_3};
    bool any = hd_fault(HD_FAULT_DEVICE), this = number < (int)HD_COUNT(own) && hd_fault(own[number]);
    return any || this;
}

bool hd_fault_arm(const char *spec)
{
    pthread_once(&once, arm_from_environment);
    return arm(spec);
}

uint64_t hd_fault_calls(enum hd_fault_kind k)
{
    return atomic_load(&faults[k].calls);
}

void *hd_try_malloc(size_t n)
{
    return hd_fault(HD_FAULT_ALLOC) ? NULL : malloc(n ? n : 1);
}

void *hd_try_calloc(size_t n, size_t size)
{
    return hd_fault(HD_FAULT_ALLOC) ? NULL : calloc(n ? n : 1, size ? size : 1);
}

void *hd_try_realloc(void *p, size_t n)
{
    return hd_fault(HD_FAULT_ALLOC) ? NULL : realloc(p, n ? n : 1);
}
