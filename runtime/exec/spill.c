#include "runtime/exec/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/bigfile.h"
#include "runtime/base/fault.h"

enum {
    PIECE = 4 << 20,          /* so much is filled, or looked at, at once */
    TICK_NS = 2000000,        /* between two looks, at least */
    LOOKS_SHARE = 10,         /* and ten times as long as the last one took */
    TICK_NS_MAX = 200000000,
    PAGE_MIN = 4096
};
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

struct range {
    unsigned char *p;
    size_t n;
    off_t at; /* in the file */
};

struct rt_spill {
    struct rt_temp *temp;
    uint64_t (*allowed)(void *owner);
    void (*moved)(void *owner, int64_t bytes);
    void *owner;
    pthread_mutex_t growing;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t ended;
    pthread_t thread;
    bool watched, ending;
    int fd, pagemap;
    off_t end; /* of the file; space that was given back is not used again, its blocks are */
    struct range *v;
    size_t n, cap;
    size_t hand, hand_at; /* the next page to leave: range, and bytes into it */
    uint64_t fresh;       /* bytes since the last look */
    uint64_t resident;    /* bytes in memory, at the last look */
    _Atomic uint64_t total;
    enum { FAIL_NONE, FAIL_LIMIT, FAIL_OPEN, FAIL_GROW } failed;
    int error;           /* errno of the first failure */
    uint64_t kept_bytes; /* given back by us and kept by a file system without holes */
};

uint64_t rt_temp_room(const struct rt_temp *t)
{
    struct statvfs v;
    uint64_t room = HD_MIN(t->limit, (uint64_t)1 << 38);
    if (statvfs(t->dir, &v) == 0)
        room = HD_MIN(room, (uint64_t)v.f_bavail * v.f_frsize);
    return hd_pow2_ceil(HD_MAX(room, (uint64_t)RT_SPILL_UNIT));
}

struct rt_spill *rt_spill_new(struct rt_temp *temp, uint64_t (*allowed)(void *owner),
                              void (*moved)(void *owner, int64_t bytes), void *owner)
{
    pthread_condattr_t a;
    struct rt_spill *s = hd_try_calloc(1, sizeof *s);
    if (!s)
        return NULL;
    *s = (struct rt_spill){.temp = temp, .allowed = allowed, .moved = moved, .owner = owner, .fd = -1, .pagemap = -1};
    pthread_mutex_init(&s->growing, NULL);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&s->ended, &a);
    pthread_condattr_destroy(&a);
    return s;
}

void rt_spill_lock(struct rt_spill *s)
{
    pthread_mutex_lock(&s->growing);
}

void rt_spill_unlock(struct rt_spill *s)
{
    pthread_mutex_unlock(&s->growing);
}

/* ---- Pages in memory --------------------------------------------------------------------- */

/* Bytes of [p, p + n) that are in memory; n is a piece at most. A system that does not tell: all. */
static size_t bytes_present(const struct rt_spill *s, const unsigned char *p, size_t n)
{
    uint64_t entry[PIECE / PAGE_MIN];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = n / page, here = 0;
    ssize_t want = (ssize_t)(pages * sizeof *entry);
    if (s->pagemap < 0 || pread(s->pagemap, entry, (size_t)want, (off_t)((uintptr_t)p / page * 8)) != want)
        return n;
    for (size_t i = 0; i < pages; i++)
        here += entry[i] >> 63;
    return here * page;
}

static uint64_t count_present(const struct rt_spill *s)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t at = 0; at < s->v[i].n; at += PIECE)
            bytes += bytes_present(s, s->v[i].p + at, HD_MIN(s->v[i].n - at, (size_t)PIECE));
    return bytes;
}

/* From the hand on, until no more than `keep` bytes are left. Nothing is lost: what a page has leaves with it for the
 * file's page in the kernel's cache. */
static void drop_pages(struct rt_spill *s, uint64_t keep)
{
    for (size_t turns = 0; s->resident > keep && turns <= s->n;) {
        if (s->hand >= s->n) {
            s->hand = s->hand_at = 0;
            turns += s->n == 0;
        }
        if (s->n == 0)
            return;
        struct range *r = &s->v[s->hand];
        size_t n = HD_MIN(r->n - s->hand_at, (size_t)PIECE);
        size_t here = bytes_present(s, r->p + s->hand_at, n);
        if (here && madvise(r->p + s->hand_at, n, MADV_DONTNEED) == 0)
            s->resident -= HD_MIN((uint64_t)here, s->resident);
        s->hand_at += n;
        if (s->hand_at < r->n)
            continue;
        s->hand++;
        s->hand_at = 0;
        turns++;
    }
}

/* Under the lock. */
static void look(struct rt_spill *s)
{
    uint64_t before = s->resident, allowed = s->allowed(s->owner);
    s->fresh = 0;
    s->resident = count_present(s);
    if (s->resident > allowed)
        drop_pages(s, allowed / 4 * 3);
    s->moved(s->owner, (int64_t)s->resident - (int64_t)before);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *watch(void *context)
{
    struct rt_spill *s = context;
    uint64_t pause = TICK_NS;
    pthread_mutex_lock(&s->lock);
    while (!s->ending) {
        uint64_t start = now_ns(), next = start + pause;
        struct timespec t = {(time_t)(next / 1000000000u), (long)(next % 1000000000u)};
        if (pthread_cond_timedwait(&s->ended, &s->lock, &t) != ETIMEDOUT)
            continue;
        start = now_ns();
        look(s);
        pause = HD_MIN(HD_MAX((now_ns() - start) * LOOKS_SHARE, (uint64_t)TICK_NS), (uint64_t)TICK_NS_MAX);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Where the system gives no thread, whoever asks for more looks alone. */
static void start_watch(struct rt_spill *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    s->watched = !hd_fault(HD_FAULT_THREAD) && pthread_create(&s->thread, NULL, watch, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- The file ---------------------------------------------------------------------------- */

static int open_unlinked(const char *dir)
{
    char *path = NULL;
    if (asprintf(&path, "%s/heddle-XXXXXX", dir) < 0) {
        errno = ENOMEM;
        return -1;
    }
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

static int open_file(const char *dir)
{
    if (hd_fault(HD_FAULT_OPEN))
        return -1;
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    return fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) ? open_unlinked(dir) : fd;
}

static bool fail(struct rt_spill *s, int kind, int error)
{
    if (s->failed == FAIL_NONE) {
        s->failed = kind;
        s->error = error;
    }
    return false;
}

static bool start(struct rt_spill *s)
{
    if (s->fd >= 0)
        return true;
    s->fd = open_file(s->temp->dir);
    if (s->fd < 0)
        return fail(s, FAIL_OPEN, errno);
    s->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    start_watch(s);
    return true;
}

static bool take_space(struct rt_spill *s, size_t n)
{
    uint64_t now = atomic_fetch_add(&s->temp->used, n) + n;
    if (now <= s->temp->limit)
        return true;
    atomic_fetch_sub(&s->temp->used, n);
    return fail(s, FAIL_LIMIT, 0);
}

/* Blocks of the disk for bytes [at, at + n) of the file. */
static bool allocate(struct rt_spill *s, off_t at, size_t n)
{
    struct hd_bigfile b;
    hd_bigfile_begin(&b);
    int rc = hd_fault(HD_FAULT_WRITE) ? ENOSPC : posix_fallocate(s->fd, at, (off_t)n);
    hd_bigfile_end(&b);
    return rc == 0 || fail(s, FAIL_GROW, rc);
}

/* File systems that write anew what is written again have no space even so; here that is an error. One access for
 * many pages is also ten times as fast. EINVAL: a kernel that cannot. */
static bool fill(struct rt_spill *s, unsigned char *p, size_t n)
{
    for (size_t at = 0; at < n; at += PIECE) {
        size_t piece = HD_MIN(n - at, (size_t)PIECE);
        if (madvise(p + at, piece, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
            return fail(s, FAIL_GROW, errno == EFAULT ? ENOSPC : errno);
        s->fresh += piece;
        if (s->resident + s->fresh > s->allowed(s->owner))
            look(s);
    }
    return true;
}

static bool add_range(struct rt_spill *s, struct range r)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 64;
        struct range *v = hd_try_realloc(s->v, cap * sizeof *v);
        if (!v)
            return fail(s, FAIL_GROW, ENOMEM);
        s->v = v;
        s->cap = cap;
    }
    s->v[s->n++] = r;
    return true;
}

/* The space goes back to the disk, what was not written yet with it. */
static void give_space(struct rt_spill *s, const struct range *r)
{
    if (fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, r->at, (off_t)r->n) == 0)
        atomic_fetch_sub(&s->temp->used, r->n);
    else
        s->kept_bytes += r->n;
}

static void *map(struct rt_spill *s, void *at, size_t n)
{
    if (!start(s) || !take_space(s, n))
        return NULL;
    struct range r = {NULL, n, s->end};
    if (!allocate(s, r.at, n)) {
        atomic_fetch_sub(&s->temp->used, n);
        return NULL;
    }
    s->end += (off_t)n;
    void *p = hd_fault(HD_FAULT_MMAP)
                  ? MAP_FAILED
                  : mmap(at, n, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), s->fd, r.at);
    r.p = p;
    if (p == MAP_FAILED) {
        fail(s, FAIL_GROW, errno);
    } else if (add_range(s, r)) {
        if (fill(s, p, n)) {
            atomic_fetch_add(&s->total, n);
            return p;
        }
        s->n--;
    }
    if (p != MAP_FAILED && !at)
        munmap(p, n);
    give_space(s, &r);
    return NULL;
}

void *rt_spill_map(struct rt_spill *s, void *at, size_t n)
{
    pthread_mutex_lock(&s->lock);
    void *p = map(s, at, n);
    pthread_mutex_unlock(&s->lock);
    return p;
}

void rt_spill_unmap(struct rt_spill *s, void *p, size_t n)
{
    unsigned char *from = p;
    size_t left = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n; i++) {
        struct range r = s->v[i];
        if (r.p >= from && r.p < from + n)
            give_space(s, &r);
        else
            s->v[left++] = r;
    }
    s->n = left;
    s->hand_at = 0;
    munmap(p, n);
    pthread_mutex_unlock(&s->lock);
}

void rt_spill_free(struct rt_spill *s)
{
    if (!s)
        return;
    if (s->watched) {
        pthread_mutex_lock(&s->lock);
        s->ending = true;
        pthread_cond_signal(&s->ended);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
    }
    HD_ASSERT(s->n == 0);
    s->moved(s->owner, -(int64_t)s->resident);
    atomic_fetch_sub(&s->temp->used, s->kept_bytes);
    if (s->fd >= 0)
        close(s->fd);
    if (s->pagemap >= 0)
        close(s->pagemap);
    pthread_cond_destroy(&s->ended);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->growing);
    free(s->v);
    free(s);
}

uint64_t rt_spill_bytes(const struct rt_spill *s)
{
    return s ? atomic_load(&s->total) : 0;
}

enum hd_err_class rt_spill_refusal(const struct rt_spill *s, const char *what, char *text, size_t size)
{
    const char *dir = s->temp->dir;
    switch (s->failed) {
    case FAIL_NONE: return HD_ERR_NONE;
    case FAIL_LIMIT:
        snprintf(text, size, "the limit of %llu bytes for temporary files is reached (%s)",
                 (unsigned long long)s->temp->limit, what);
        return HD_ERR_RESOURCE;
    case FAIL_OPEN: snprintf(text, size, "no temporary file in %s (%s): %s", dir, what, strerror(s->error)); break;
    case FAIL_GROW:
        snprintf(text, size, "the temporary file in %s cannot grow (%s): %s", dir, what, strerror(s->error));
        break;
    }
    return HD_ERR_IO;
}
