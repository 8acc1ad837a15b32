#include "runtime/store/store_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/bigfile.h"
#include "runtime/base/fault.h"

/* Working memory up to this size stays on the heap: the commit holds a handful at a time. */
static const uint64_t heap_limit = (uint64_t)256 << 20;

int rt_path_join(char out[RT_PATH_MAX], const char *dir, const char *name, struct hd_err *err)
{
    int n = snprintf(out, RT_PATH_MAX, "%s/%s", dir, name);
    if (n < 0 || n >= RT_PATH_MAX)
        return HD_FAIL(err, IO, dir, "path too long");
    return 0;
}

static int fail(const char *path, const char *doing, struct hd_err *err)
{
    return HD_FAIL(err, IO, path, "%s: %s", doing, strerror(errno));
}

static int open_file(const char *path, int flags, struct hd_err *err)
{
    int fd = hd_fault(HD_FAULT_OPEN) ? -1 : open(path, flags | O_CLOEXEC, 0666);
    if (fd < 0)
        fail(path, flags & O_CREAT ? "cannot create" : "cannot open", err);
    return fd;
}

/* close reports delayed write errors on some file systems. */
static int close_file(int fd, const char *path, struct hd_err *err)
{
    return close(fd) == 0 ? 0 : fail(path, "cannot close", err);
}

int rt_file_create(const char *path, uint64_t n, struct hd_err *err)
{
    int fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, err);
    if (fd < 0)
        return -1;
    struct hd_bigfile limit;
    hd_bigfile_begin(&limit);
    int rc = hd_fault(HD_FAULT_WRITE) ? -1 : ftruncate(fd, (off_t)n);
    hd_bigfile_end(&limit);
    if (rc != 0) {
        fail(path, "cannot extend", err);
        close(fd);
        return -1;
    }
    return close_file(fd, path, err);
}

static ssize_t write_some(int fd, const void *p, size_t n, uint64_t at)
{
    struct hd_bigfile limit;
    hd_bigfile_begin(&limit);
    ssize_t k = hd_fault(HD_FAULT_WRITE) ? -1 : pwrite(fd, p, n, (off_t)at);
    hd_bigfile_end(&limit);
    return k;
}

int rt_fd_write_at(int fd, const void *p, size_t n, uint64_t at, const char *path, struct hd_err *err)
{
    const char *s = p;
    while (n) {
        ssize_t k = write_some(fd, s, n, at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return fail(path, "cannot write", err);
        s += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return 0;
}

static int write_and_close(int fd, const void *p, size_t n, uint64_t at, const char *path, struct hd_err *err)
{
    if (rt_fd_write_at(fd, p, n, at, path, err) != 0) {
        close(fd);
        return -1;
    }
    return close_file(fd, path, err);
}

int rt_file_write_at(const char *path, const void *p, size_t n, uint64_t at, struct hd_err *err)
{
    int fd = open_file(path, O_WRONLY, err);
    return fd < 0 ? -1 : write_and_close(fd, p, n, at, path, err);
}

int rt_file_write_all(const char *path, const void *p, size_t n, struct hd_err *err)
{
    int fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, err);
    return fd < 0 ? -1 : write_and_close(fd, p, n, 0, path, err);
}

int rt_file_sync(const char *path, struct hd_err *err)
{
    int fd = open_file(path, O_RDONLY, err);
    if (fd < 0)
        return -1;
    if (hd_fault(HD_FAULT_SYNC) || fsync(fd) != 0) {
        fail(path, "cannot flush to disk", err);
        close(fd);
        return -1;
    }
    return close_file(fd, path, err);
}

/* Bytes read, fewer than n only at the end of the file; -1. */
static ssize_t read_some(int fd, char *s, size_t n, const char *path, struct hd_err *err)
{
    size_t done = 0;
    while (done < n) {
        ssize_t k = hd_fault(HD_FAULT_READ) ? -1 : read(fd, s + done, n - done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return fail(path, "cannot read", err);
        if (k == 0)
            break;
        done += (size_t)k;
    }
    return (ssize_t)done;
}

static int read_fd(int fd, char *s, size_t n, const char *path, struct hd_err *err)
{
    ssize_t k = read_some(fd, s, n, path, err);
    if (k < 0)
        return -1;
    return (size_t)k == n ? 0 : HD_FAIL(err, IO, path, "file shrank while it was read");
}

/* Opens a regular file to be read, and no other: without O_NONBLOCK the open of a FIFO would
 * wait for a writer. */
static int open_regular(const char *path, struct stat *st, struct hd_err *err)
{
    int fd = open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, err);
    if (fd < 0)
        return -1;
    if (fstat(fd, st) != 0)
        fail(path, "cannot stat", err);
    else if (!S_ISREG(st->st_mode))
        HD_FAIL(err, IO, path, "not a regular file");
    else
        return fd;
    close(fd);
    return -1;
}

int rt_file_read_all(const char *path, char **text, size_t *n, struct hd_err *err)
{
    struct stat st;
    int fd = open_regular(path, &st, err);
    if (fd < 0)
        return -1;
    char *s = hd_try_malloc((size_t)st.st_size + 1);
    if (!s) {
        HD_FAIL(err, RESOURCE, path, "out of memory for %lld bytes", (long long)st.st_size);
    } else if (read_fd(fd, s, (size_t)st.st_size, path, err) != 0) {
        free(s);
        s = NULL;
    }
    close(fd);
    if (!s)
        return -1;
    s[st.st_size] = 0;
    *n = (size_t)st.st_size;
    *text = s;
    return 0;
}

/* ---- mappings ----------------------------------------------------------------------------- */

static const _Alignas(16) char nothing[16];

static void *map_memory(uint64_t n, int access)
{
    if (hd_fault(HD_FAULT_MMAP))
        return MAP_FAILED;
    return mmap(NULL, (size_t)n, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* What a file of no size holds all the same, in memory that grows. */
static int map_unsized(int fd, const char *path, struct rt_map *out, struct hd_err *err)
{
    uint64_t cap = (uint64_t)1 << 20, n = 0;
    char first, *p;
    ssize_t k = read_some(fd, &first, 1, path, err);
    if (k <= 0)
        return (int)k;
    if ((p = map_memory(cap, PROT_READ | PROT_WRITE)) == MAP_FAILED)
        return fail(path, "cannot map", err);
    p[n++] = first;
    while ((k = read_some(fd, p + n, cap - n, path, err)) > 0) {
        n += (uint64_t)k;
        if (n < cap)
            continue;
        void *more = mremap(p, cap, cap * 2, MREMAP_MAYMOVE);
        if (more == MAP_FAILED) {
            k = fail(path, "cannot map", err);
            break;
        }
        p = more;
        cap *= 2;
    }
    if (k < 0) {
        munmap(p, cap);
        return -1;
    }
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), used = (n + page - 1) / page * page;
    if (used < cap)
        munmap(p + used, cap - used);
    *out = (struct rt_map){p, n};
    return 0;
}

/* Maps the file itself, or reserves memory for a copy. */
static int map_fd(int fd, uint64_t n, bool copy, const char *path, struct rt_map *out, struct hd_err *err)
{
    void *p = MAP_FAILED;
    *out = (struct rt_map){nothing, n};
    if (n == 0)
        return copy ? 0 : map_unsized(fd, path, out, err);
    if (copy)
        p = map_memory(n, PROT_NONE);
    else if (!hd_fault(HD_FAULT_MMAP))
        p = mmap(NULL, (size_t)n, PROT_READ, MAP_SHARED, fd, 0);
    *out = (struct rt_map){p, n};
    if (p != MAP_FAILED)
        return 0;
    *out = (struct rt_map){NULL, 0};
    return fail(path, "cannot map", err);
}

static int map_path(const char *path, bool copy, struct rt_map *out, struct hd_err *err)
{
    struct stat st;
    int fd = open_regular(path, &st, err);
    if (fd < 0)
        return -1;
    int rc = map_fd(fd, (uint64_t)st.st_size, copy, path, out, err);
    close(fd);
    return rc;
}

int rt_file_map(const char *path, struct rt_map *out, struct hd_err *err)
{
    return map_path(path, false, out, err);
}

int rt_file_reserve(const char *path, struct rt_map *out, struct hd_err *err)
{
    return map_path(path, true, out, err);
}

int rt_file_load(const char *path, const struct rt_map *m, struct hd_err *err)
{
    struct stat st;
    char *p = (char *)(uintptr_t)m->p;
    if (m->n == 0)
        return 0;
    int fd = open_regular(path, &st, err);
    if (fd < 0)
        return -1;
    int rc;
    if (mprotect(p, (size_t)m->n, PROT_READ | PROT_WRITE) != 0)
        rc = HD_FAIL(err, RESOURCE, path, "no memory for %llu bytes: %s", (unsigned long long)m->n, strerror(errno));
    else
        rc = read_fd(fd, p, (size_t)m->n, path, err);
    if (rc == 0 && mprotect(p, (size_t)m->n, PROT_READ) != 0)
        rc = fail(path, "cannot protect", err);
    close(fd);
    return rc;
}

void rt_map_release(struct rt_map *m)
{
    if (m->n)
        munmap((void *)(uintptr_t)m->p, (size_t)m->n);
    *m = (struct rt_map){NULL, 0};
}

/* Space is reserved before mapping: a full disk is then an error here and not a SIGBUS later. */
static int map_scratch_file(struct rt_big *b, const char *dir, struct hd_err *err)
{
    char path[RT_PATH_MAX];
    HD_TRY(rt_path_join(path, dir, "work-XXXXXX", err));
    int fd = hd_fault(HD_FAULT_OPEN) ? -1 : mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return fail(path, "cannot create", err);
    unlink(path);
    struct hd_bigfile limit;
    hd_bigfile_begin(&limit);
    int rc = hd_fault(HD_FAULT_WRITE) ? ENOSPC : posix_fallocate(fd, 0, (off_t)b->n);
    hd_bigfile_end(&limit);
    if (rc == 0) {
        b->p =
            hd_fault(HD_FAULT_MMAP) ? MAP_FAILED : mmap(NULL, (size_t)b->n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        rc = b->p == MAP_FAILED ? errno : 0;
    }
    close(fd);
    if (rc == 0)
        return 0;
    b->p = NULL;
    return HD_FAIL(err, IO, dir, "cannot reserve %llu bytes of working space: %s", (unsigned long long)b->n,
                   strerror(rc));
}

int rt_big_new(struct rt_big *b, uint64_t n, const char *dir, struct hd_err *err)
{
    *b = (struct rt_big){NULL, n ? n : 1, dir && n > heap_limit};
    if (b->mapped)
        return map_scratch_file(b, dir, err);
    b->p = hd_try_calloc(1, (size_t)b->n);
    return b->p ? 0 : HD_FAIL(err, RESOURCE, NULL, "out of memory for %llu bytes", (unsigned long long)n);
}

void rt_big_release(struct rt_big *b)
{
    if (b->mapped && b->p)
        munmap(b->p, (size_t)b->n);
    else
        free(b->p);
    *b = (struct rt_big){0};
}

int rt_dir_is_free(const char *path, struct hd_err *err)
{
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT ? 1 : fail(path, "cannot open directory", err);
    int entries = 0;
    while (readdir(d))
        entries++;
    closedir(d);
    return entries <= 2; /* . and .. */
}
