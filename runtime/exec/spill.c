#include "runtime/exec/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/bigfile.h"
#include "runtime/base/fault.h"

enum {
    PIECE = 4 << 20,   /* so much is filled, or looked at, at once */
    TICK_NS = 1000000, /* between two looks */
    PAGE_MIN = 4096
};
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

enum { FAIL_NONE, FAIL_LIMIT, FAIL_OPEN, FAIL_GROW, FAIL_READ, FAIL_CUT, FAIL_DAMAGED, FAIL_KINDS };

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
    const _Atomic int *stopped;
    pthread_mutex_t growing;
    pthread_mutex_t
        lock; /* all below that is not atomic; no system call on the file is made under it but its opening */
    pthread_cond_t ended;
    pthread_t thread;
    bool watched, ending;
    int fd, pagemap, statm;
    off_t end; /* of the file; space that was given back is not used again, its blocks are */
    struct range *v;
    size_t n, cap;
    size_t hand, hand_at; /* the next page to leave: range, and bytes into it */
    size_t found;         /* the range that was looked for last */
    uint64_t resident; /* bytes in memory, when they were counted last */
    uint64_t others;   /* bytes of other files that the process had mapped in memory then */
    _Atomic uint64_t total;
    _Atomic uint64_t kept; /* bytes given back by us and kept by a file system without holes */
    _Atomic int failed;    /* the first failure: its kind, and errno above it */
    _Atomic int64_t damaged; /* READ, CUT, DAMAGED: where in the file */
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
                              void (*moved)(void *owner, int64_t bytes), void *owner, const _Atomic int *stopped)
{
    pthread_condattr_t a;
    struct rt_spill *s = hd_try_calloc(1, sizeof *s);
    if (!s)
        return NULL;
    *s = (struct rt_spill){.temp = temp,
                           .allowed = allowed,
                           .moved = moved,
                           .owner = owner,
                           .damaged = -1,
                           .stopped = stopped,
                           .fd = -1,
                           .pagemap = -1,
                           .statm = -1};
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

/* Bytes of all files that are mapped and in memory. */
static uint64_t mapped_bytes(const struct rt_spill *s)
{
    char text[128];
    unsigned long long size, all, shared = 0;
    ssize_t n = pread(s->statm, text, sizeof text - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = 0;
    return sscanf(text, "%llu %llu %llu", &size, &all, &shared) == 3 ? shared * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Under the lock. Pages are counted only if the process has so many more than when they were counted last that there may
 * be too many: counting takes some ms a GB, asking for one number some us. A system that does not tell: always. */
static void look(struct rt_spill *s)
{
    uint64_t before = s->resident, allowed = s->allowed(s->owner), mapped = mapped_bytes(s);
    if (mapped && mapped <= s->others + allowed) {
        s->resident = HD_MIN(s->resident, mapped - HD_MIN(mapped, s->others)); /* some were given back */
    } else {
        s->resident = count_present(s);
        s->others = mapped - HD_MIN(mapped, s->resident);
        if (s->resident > allowed)
            drop_pages(s, allowed / 2);
    }
    s->moved(s->owner, (int64_t)s->resident - (int64_t)before);
}

void rt_spill_look(struct rt_spill *s)
{
    if (!s || atomic_load_explicit(&s->total, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&s->lock);
    look(s);
    pthread_mutex_unlock(&s->lock);
}

static void *watch(void *context)
{
    struct rt_spill *s = context;
    struct timespec t;
    pthread_mutex_lock(&s->lock);
    while (!s->ending) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_nsec += TICK_NS;
        if (t.tv_nsec >= 1000000000) {
            t.tv_sec++;
            t.tv_nsec -= 1000000000;
        }
        if (pthread_cond_timedwait(&s->ended, &s->lock, &t) == ETIMEDOUT)
            look(s);
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
    int none = FAIL_NONE;
    atomic_compare_exchange_strong(&s->failed, &none, kind + error * FAIL_KINDS);
    return false;
}

/* Under the lock. */
static bool start(struct rt_spill *s)
{
    if (s->fd >= 0)
        return true;
    s->fd = open_file(s->temp->dir);
    if (s->fd < 0)
        return fail(s, FAIL_OPEN, errno);
    s->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    s->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    s->others = mapped_bytes(s);
    start_watch(s);
    return true;
}

/* A place for n bytes: *at in the file. */
static bool take_space(struct rt_spill *s, size_t n, off_t *at)
{
    uint64_t now = atomic_fetch_add(&s->temp->used, n) + n;
    if (now > s->temp->limit) {
        atomic_fetch_sub(&s->temp->used, n);
        return fail(s, FAIL_LIMIT, 0);
    }
    pthread_mutex_lock(&s->lock);
    bool ok = start(s);
    *at = s->end;
    s->end += ok ? (off_t)n : 0;
    pthread_mutex_unlock(&s->lock);
    if (!ok)
        atomic_fetch_sub(&s->temp->used, n);
    return ok;
}

/* The space goes back to the disk, what was not written yet with it. */
static void give_space(struct rt_spill *s, const struct range *r)
{
    if (fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, r->at, (off_t)r->n) == 0)
        atomic_fetch_sub(&s->temp->used, r->n);
    else
        atomic_fetch_add(&s->kept, r->n);
}

/* Blocks of the disk. */
static bool allocate(struct rt_spill *s, const struct range *r)
{
    struct hd_bigfile b;
    hd_bigfile_begin(&b);
    int rc = hd_fault(HD_FAULT_WRITE) ? ENOSPC : posix_fallocate(s->fd, r->at, (off_t)r->n);
    hd_bigfile_end(&b);
    return rc == 0 || fail(s, FAIL_GROW, rc);
}

/* RANDOM: a page that is touched brings its neighbours from the kernel's cache, not some MB from the disk, which the
 * kernel keeps and maps as one piece. */
static bool map(struct rt_spill *s, void *at, struct range *r)
{
    if (hd_fault(HD_FAULT_MMAP))
        return fail(s, FAIL_GROW, errno);
    void *p = mmap(at, r->n, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), s->fd, r->at);
    if (p == MAP_FAILED)
        return fail(s, FAIL_GROW, errno);
    madvise(p, r->n, MADV_RANDOM);
    r->p = p;
    return true;
}

/* From now on its pages are looked at. */
static bool add_range(struct rt_spill *s, const struct range *r)
{
    bool ok = true;
    pthread_mutex_lock(&s->lock);
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 64;
        struct range *v = hd_try_realloc(s->v, cap * sizeof *v);
        ok = v || fail(s, FAIL_GROW, ENOMEM);
        s->v = v ? v : s->v;
        s->cap = v ? cap : s->cap;
    }
    if (ok)
        s->v[s->n++] = *r;
    pthread_mutex_unlock(&s->lock);
    return ok;
}

/* Some range within [p, p + n), which is looked at no more. */
static bool remove_range(struct rt_spill *s, const unsigned char *p, size_t n, struct range *out)
{
    size_t i = 0;
    pthread_mutex_lock(&s->lock);
    while (i < s->n && (s->v[i].p < p || s->v[i].p >= p + n))
        i++;
    bool found = i < s->n;
    if (found) {
        *out = s->v[i];
        s->v[i] = s->v[--s->n];
        s->hand_at = s->hand == i ? 0 : s->hand_at;
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* A file system that writes what it has elsewhere when it is written again has no space even so: here that is an error,
 * later it would be a signal. EINVAL: a kernel that cannot. */
static bool fill(struct rt_spill *s, const struct range *r)
{
    for (size_t at = 0; at < r->n; at += PIECE) {
        if (s->stopped && atomic_load_explicit(s->stopped, memory_order_relaxed) != 0)
            return false; /* nobody asks why */
        if (madvise(r->p + at, HD_MIN(r->n - at, (size_t)PIECE), MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
            return fail(s, FAIL_GROW, errno == EFAULT ? ENOSPC : errno);
        pthread_mutex_lock(&s->lock);
        look(s);
        pthread_mutex_unlock(&s->lock);
    }
    return true;
}

void *rt_spill_map(struct rt_spill *s, void *at, size_t n)
{
    struct range r = {NULL, n, 0};
    if (!take_space(s, n, &r.at))
        return NULL;
    if (allocate(s, &r) && map(s, at, &r) && add_range(s, &r)) {
        if (fill(s, &r)) {
            atomic_fetch_add(&s->total, n);
            return r.p;
        }
        remove_range(s, r.p, n, &r);
    }
    if (r.p && !at)
        munmap(r.p, n);
    give_space(s, &r);
    return NULL;
}

void rt_spill_unmap(struct rt_spill *s, void *p, size_t n)
{
    struct range r;
    while (remove_range(s, p, n, &r))
        give_space(s, &r);
    munmap(p, n);
}

/* ---- What was written ---------------------------------------------------------------------- */

/* The first range that has bytes of [p, p + n), if any does. Those that are looked for follow each other mostly. */
static bool find_range(struct rt_spill *s, const unsigned char *p, size_t n, struct range *out)
{
    bool found = false;
    pthread_mutex_lock(&s->lock);
    for (size_t k = 0; k < s->n && !(found && out->p <= p); k++) {
        size_t i = (s->found + k) % s->n;
        const struct range *r = &s->v[i];
        if (r->p >= p + n || p >= r->p + r->n || (found && r->p > out->p))
            continue;
        found = true;
        *out = *r;
        s->found = i;
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}

bool rt_spill_holds(struct rt_spill *s, const void *p, size_t n)
{
    struct range r;
    return find_range(s, p, n, &r);
}

/* Where p, or what lies behind it, is in the file. */
static off_t place_of(const struct range *r, const unsigned char *p)
{
    return r->at + (p > r->p ? p - r->p : 0);
}

static bool fail_at(struct rt_spill *s, int kind, int error, off_t at)
{
    int64_t none = -1;
    atomic_compare_exchange_strong(&s->damaged, &none, (int64_t)at);
    return fail(s, kind, error);
}

/* Pages of the range within [p, p + n). EINVAL: a kernel that cannot; then the access itself reads. */
static bool fetch(struct rt_spill *s, const struct range *r, const unsigned char *p, size_t n)
{
    struct stat st;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const unsigned char *from = HD_MAX(p, (const unsigned char *)r->p);
    const unsigned char *to = HD_MIN(p + n, (const unsigned char *)r->p + r->n);
    off_t at = place_of(r, from), end = at + (to - from);
    if (hd_fault(HD_FAULT_READ) || fstat(s->fd, &st) != 0)
        return fail_at(s, FAIL_READ, errno, at);
    if (st.st_size < end)
        return fail_at(s, FAIL_CUT, 0, HD_MAX(st.st_size, at));
    uintptr_t begin = (uintptr_t)from / page * page;
    if (madvise((void *)begin, (uintptr_t)to - begin, MADV_POPULATE_READ) == 0 || errno == EINVAL)
        return true;
    return fail_at(s, FAIL_READ, errno == EFAULT ? EIO : errno, at);
}

enum rt_spill_place rt_spill_fetch(struct rt_spill *s, const void *p, size_t n)
{
    enum rt_spill_place place = RT_SPILL_ELSEWHERE;
    const unsigned char *from = p, *end = from + n;
    struct range r;
    while (from < end && find_range(s, from, (size_t)(end - from), &r)) {
        if (!fetch(s, &r, from, (size_t)(end - from)))
            return RT_SPILL_UNREADABLE;
        place = RT_SPILL_THERE;
        from = r.p + r.n;
    }
    return place;
}

bool rt_spill_damaged(struct rt_spill *s, const void *p)
{
    struct range r;
    bool found = find_range(s, p, RT_SPILL_UNIT, &r);
    return fail_at(s, FAIL_DAMAGED, 0, found ? place_of(&r, p) : 0);
}

void rt_spill_fault(struct rt_spill *s, const void *p)
{
    struct range r;
    unsigned char byte;
    bool flip = hd_fault(HD_FAULT_FLIP), cut = hd_fault(HD_FAULT_CUT);
    if (!(flip || cut) || !find_range(s, p, RT_SPILL_UNIT, &r))
        return;
    off_t at = place_of(&r, p);
    if (cut && ftruncate(s->fd, at) != 0)
        fail_at(s, FAIL_READ, errno, at);
    if (flip && pread(s->fd, &byte, 1, at) == 1) {
        byte ^= 1;
        if (pwrite(s->fd, &byte, 1, at) != 1)
            fail_at(s, FAIL_READ, errno, at);
    }
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
    atomic_fetch_sub(&s->temp->used, atomic_load(&s->kept));
    if (s->fd >= 0)
        close(s->fd);
    if (s->pagemap >= 0)
        close(s->pagemap);
    if (s->statm >= 0)
        close(s->statm);
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
    int failed = atomic_load(&s->failed), kind = failed % FAIL_KINDS;
    const char *dir = s->temp->dir, *why = strerror(failed / FAIL_KINDS);
    long long at = (long long)atomic_load(&s->damaged);
    if (kind == FAIL_NONE)
        return HD_ERR_NONE;
    if (kind == FAIL_LIMIT)
        snprintf(text, size, "the limit of %llu bytes for temporary files is reached (%s)",
                 (unsigned long long)s->temp->limit, what);
    else if (kind == FAIL_OPEN)
        snprintf(text, size, "no temporary file in %s (%s): %s", dir, what, why);
    else if (kind == FAIL_READ)
        snprintf(text, size, "the temporary file in %s cannot be read at byte %lld (%s): %s", dir, at, what, why);
    else if (kind == FAIL_CUT)
        snprintf(text, size, "the temporary file in %s was cut: byte %lld is missing (%s)", dir, at, what);
    else if (kind == FAIL_DAMAGED)
        snprintf(text, size,
                 "the temporary file in %s is damaged: the %d bytes at byte %lld do not match their checksum (%s)", dir,
                 RT_SPILL_UNIT, at, what);
    else
        snprintf(text, size, "the temporary file in %s cannot grow (%s): %s", dir, what, why);
    return kind == FAIL_LIMIT ? HD_ERR_RESOURCE : HD_ERR_IO;
}
