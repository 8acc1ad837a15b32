#include "runtime/cache/disk_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/base/bigfile.h"
#include "runtime/base/fault.h"

static const char MAGIC[8] = "HDOBJ\1\r\n";
#define SUFFIX ".hdo"

enum { STALE_TEMP_S = 3600, TOUCH_AFTER_S = 600 };

void rt_bytes_release(struct rt_bytes *b)
{
    free(b->p);
    *b = (struct rt_bytes){NULL, 0};
}

struct header {
    char magic[8];
    struct rt_cache_key key;
    uint64_t nparts;
    uint64_t sizes[RT_DISK_CACHE_PARTS];
    uint64_t checksum; /* XXH3 of all parts, seeded with that of what stands before */
};

static uint64_t header_sum(const struct header *h)
{
    return XXH3_64bits(h, offsetof(struct header, checksum));
}

/* ---- Directory ------------------------------------------------------------------------- */

static int make_directory(const char *dir)
{
    return hd_fault(HD_FAULT_OPEN) ? -1 : mkdir(dir, 0700);
}

/* Like mkdir -p, everything new with mode 0700. */
static void make_directories(const char *dir)
{
    char *path = strdup(dir);
    if (!path)
        return;
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            make_directory(path);
            *p = '/';
        }
    make_directory(path);
    free(path);
}

static bool is_private(const struct stat *st)
{
    return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static bool is_root(const struct stat *st)
{
    struct stat root;
    return stat("/", &root) != 0 || (root.st_dev == st->st_dev && root.st_ino == st->st_ino);
}

bool rt_disk_cache_init(struct rt_disk_cache *c, const char *dir, uint64_t limit)
{
    struct stat st;
    *c = (struct rt_disk_cache){.fd = -1, .limit = limit};
    make_directories(dir);
    c->fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (c->fd >= 0 && fstat(c->fd, &st) == 0 && is_private(&st) && !is_root(&st))
        c->dir = strdup(dir);
    if (c->dir)
        return true;
    rt_disk_cache_release(c);
    return false;
}

void rt_disk_cache_release(struct rt_disk_cache *c)
{
    if (c->fd >= 0)
        close(c->fd);
    free(c->dir);
    c->fd = -1;
    c->dir = NULL;
}

enum { NAME_SIZE = 64 };
static void entry_name(struct rt_cache_key key, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "%016llx%016llx" SUFFIX, (unsigned long long)key.hi, (unsigned long long)key.lo);
}

/* ---- Reading --------------------------------------------------------------------------- */

static bool read_all(int fd, void *p, size_t n)
{
    char *at = p;
    while (n) {
        ssize_t k = hd_fault(HD_FAULT_READ) ? -1 : read(fd, at, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        at += k;
        n -= (size_t)k;
    }
    return true;
}

static void free_parts(struct rt_bytes *parts, int n)
{
    for (int i = 0; parts && i < n; i++)
        rt_bytes_release(&parts[i]);
    free(parts);
}

static bool read_parts(int fd, const struct header *h, struct rt_bytes *parts)
{
    uint64_t sum = header_sum(h);
    for (uint64_t i = 0; i < h->nparts; i++) {
        parts[i].n = (size_t)h->sizes[i];
        parts[i].p = hd_try_malloc(parts[i].n);
        if (!parts[i].p || !read_all(fd, parts[i].p, parts[i].n))
            return false;
        sum = XXH3_64bits_withSeed(parts[i].p, parts[i].n, sum);
    }
    return sum == h->checksum;
}

static bool header_fits(const struct header *h, struct rt_cache_key key, uint64_t size)
{
    uint64_t left = size - sizeof *h;
    if (memcmp(h->magic, MAGIC, sizeof MAGIC) != 0 || h->key.hi != key.hi || h->key.lo != key.lo || h->nparts == 0 ||
        h->nparts > RT_DISK_CACHE_PARTS)
        return false;
    for (uint64_t i = 0; i < h->nparts; i++) {
        if (h->sizes[i] > left)
            return false;
        left -= h->sizes[i];
    }
    return left == 0;
}

/* Entries are evicted by age; a write for every use would be too much. */
static void record_use(int fd, const struct stat *st)
{
    if (time(NULL) - st->st_mtime > TOUCH_AFTER_S)
        futimens(fd, NULL);
}

static bool load_file(int fd, struct rt_cache_key key, struct rt_bytes **out, int *n)
{
    struct header h;
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !is_private(&st) || (uint64_t)st.st_size < sizeof h ||
        !read_all(fd, &h, sizeof h) || !header_fits(&h, key, (uint64_t)st.st_size))
        return false;
    struct rt_bytes *parts = hd_try_calloc((size_t)h.nparts, sizeof *parts);
    if (!parts)
        return false;
    if (!read_parts(fd, &h, parts)) {
        free_parts(parts, (int)h.nparts);
        return false;
    }
    record_use(fd, &st);
    *out = parts;
    *n = (int)h.nparts;
    return true;
}

bool rt_disk_cache_load(struct rt_disk_cache *c, struct rt_cache_key key, struct rt_bytes **parts, int *n)
{
    char name[NAME_SIZE];
    entry_name(key, name);
    int fd = hd_fault(HD_FAULT_OPEN) /* without O_NONBLOCK a FIFO would keep us */
                 ? -1
                 : openat(c->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool ok = fd >= 0 && load_file(fd, key, parts, n);
    if (fd >= 0)
        close(fd);
    return ok;
}

bool rt_disk_cache_has(const struct rt_disk_cache *c, struct rt_cache_key key)
{
    char name[NAME_SIZE];
    struct stat st;
    entry_name(key, name);
    return fstatat(c->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* ---- Eviction -------------------------------------------------------------------------- */

struct entry {
    char *name;
    uint64_t size;
    struct timespec used;
};
struct listing {
    struct entry *v;
    size_t n, cap;
    uint64_t total;
};

static int by_age(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static void add_entry(struct listing *l, const char *name, const struct stat *st)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        struct entry *v = hd_try_realloc(l->v, cap * sizeof *v);
        if (!v)
            return;
        l->v = v;
        l->cap = cap;
    }
    char *copy = strdup(name);
    if (!copy)
        return;
    l->v[l->n++] = (struct entry){copy, (uint64_t)st->st_size, st->st_mtim};
    l->total += (uint64_t)st->st_size;
}

/* Entries, and on the way temporary files that a crash left behind. */
static void list_entries(int dirfd, DIR *d, struct listing *l)
{
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        size_t n = strlen(e->d_name);
        if (fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (strncmp(e->d_name, ".tmp-", 5) == 0) {
            if (time(NULL) - st.st_mtime > STALE_TEMP_S)
                unlinkat(dirfd, e->d_name, 0);
        } else if (n > strlen(SUFFIX) && strcmp(e->d_name + n - strlen(SUFFIX), SUFFIX) == 0) {
            add_entry(l, e->d_name, &st);
        }
    }
}

static void evict(struct rt_disk_cache *c)
{
    struct listing l = {NULL, 0, 0, 0};
    int fd = openat(c->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    list_entries(dirfd(d), d, &l);
    if (l.n)
        qsort(l.v, l.n, sizeof *l.v, by_age);
    for (size_t i = 0; i < l.n && l.total > c->limit; i++)
        if (unlinkat(dirfd(d), l.v[i].name, 0) == 0 || errno == ENOENT)
            l.total -= l.v[i].size;
    for (size_t i = 0; i < l.n; i++)
        free(l.v[i].name);
    free(l.v);
    closedir(d);
}

/* ---- Writing --------------------------------------------------------------------------- */

static bool write_all(int fd, const void *p, size_t n)
{
    const char *at = p;
    while (n) {
        ssize_t k = hd_fault(HD_FAULT_WRITE) ? -1 : write(fd, at, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return false;
        at += k;
        n -= (size_t)k;
    }
    return true;
}

static bool write_entry(int fd, struct rt_cache_key key, const struct rt_bytes *parts, int n)
{
    struct header h;
    memset(&h, 0, sizeof h); /* no byte of it may be chance */
    memcpy(h.magic, MAGIC, sizeof h.magic);
    h.key = key;
    h.nparts = (uint64_t)n;
    for (int i = 0; i < n; i++)
        h.sizes[i] = parts[i].n;
    h.checksum = header_sum(&h);
    for (int i = 0; i < n; i++)
        h.checksum = XXH3_64bits_withSeed(parts[i].p, parts[i].n, h.checksum);
    struct hd_bigfile limit;
    hd_bigfile_begin(&limit);
    bool ok = write_all(fd, &h, sizeof h);
    for (int i = 0; i < n && ok; i++)
        ok = write_all(fd, parts[i].p, parts[i].n);
    hd_bigfile_end(&limit);
    return ok;
}

static bool publish(const struct rt_disk_cache *c, const char *temporary, const char *name)
{
    return !hd_fault(HD_FAULT_RENAME) && renameat(c->fd, temporary, c->fd, name) == 0;
}

void rt_disk_cache_store(struct rt_disk_cache *c, struct rt_cache_key key, const struct rt_bytes *parts, int n)
{
    static _Atomic unsigned serial;
    char name[NAME_SIZE], temporary[NAME_SIZE];
    if (n > RT_DISK_CACHE_PARTS)
        return;
    entry_name(key, name);
    snprintf(temporary, sizeof temporary, ".tmp-%ld-%u", (long)getpid(), serial++);
    int fd = hd_fault(HD_FAULT_OPEN) ? -1 : openat(c->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        bool ok = write_entry(fd, key, parts, n);
        ok = close(fd) == 0 && ok;
        if (!ok || !publish(c, temporary, name))
            unlinkat(c->fd, temporary, 0);
        evict(c);
    }
}
