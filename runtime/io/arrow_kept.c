#include "runtime/io/arrow_kept.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"

enum {
    ALIGNMENT = 64,
    SMALL = 32 << 10, /* malloc has the pages of these at hand */
    LARGE = 8 << 20, /* and of these a few would be all that is kept */
    ENTRIES = 64,
    ALL = 32 << 20 /* bytes that are kept */
};

struct entry {
    void *p;
    size_t n;
};

/* The oldest first. */
static struct {
    pthread_mutex_t lock;
    struct entry v[ENTRIES];
    size_t n, bytes;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock. */
static struct entry take(size_t i)
{
    struct entry e = kept.v[i];
    kept.n--;
    kept.bytes -= e.n;
    memmove(&kept.v[i], &kept.v[i + 1], (kept.n - i) * sizeof *kept.v);
    return e;
}

/* Under the lock: the smallest that has room and is not much larger. */
static size_t find(size_t n)
{
    size_t best = kept.n;
    for (size_t i = 0; i < kept.n; i++)
        if (kept.v[i].n >= n && kept.v[i].n - n <= n / 2 && (best == kept.n || kept.v[i].n < kept.v[best].n))
            best = i;
    return best;
}

static bool is_kept(size_t n)
{
    return n >= SMALL && n <= LARGE;
}

void *rt_kept_alloc(size_t *n)
{
    struct entry e = {NULL, *n};
    if (hd_fault(HD_FAULT_ALLOC))
        return NULL;
    if (is_kept(*n)) {
        pthread_mutex_lock(&kept.lock);
        size_t i = find(*n);
        if (i < kept.n)
            e = take(i);
        pthread_mutex_unlock(&kept.lock);
    }
    if (!e.p && posix_memalign(&e.p, ALIGNMENT, *n) != 0)
        return NULL;
    *n = e.n;
    return e.p;
}

void rt_kept_free(void *p, size_t n)
{
    struct entry gone[ENTRIES];
    size_t ngone = 0;
    if (!p || !is_kept(n)) {
        free(p);
        return;
    }
    pthread_mutex_lock(&kept.lock);
    while (kept.n == ENTRIES || kept.bytes + n > ALL)
        gone[ngone++] = take(0);
    kept.v[kept.n++] = (struct entry){p, n};
    kept.bytes += n;
    pthread_mutex_unlock(&kept.lock);
    while (ngone)
        free(gone[--ngone].p);
}
