#include "runtime/base/claim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fault.h"

static const char owner[] = "heddle is writing ";

enum { LOCK_TEXT = sizeof owner + NAME_MAX + 1 };

/* What the lock file of a folder holds: a lock that came with something copied or renamed is not
 * that folder's. */
static size_t lock_text(const char *folder, char text[LOCK_TEXT])
{
    return (size_t)snprintf(text, LOCK_TEXT, "%s%.*s\n", owner, NAME_MAX, folder);
}

/* ---- removing ------------------------------------------------------------------------------- */

static void remove_files(int dir, const char *but)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && (!but || strcmp(e->d_name, but) != 0))
            unlinkat(dir, e->d_name, 0);
    if (d)
        closedir(d);
    else if (copy >= 0)
        close(copy);
}

void hd_dir_remove(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return;
    remove_files(dir, NULL);
    close(dir);
    rmdir(path);
}

/* "BASE.tmp-PID-N" */
static bool is_claim(const char *name, const char *base)
{
    int pid, number, end = 0;
    size_t n = strlen(base);
    return strncmp(name, base, n) == 0 && sscanf(name + n, ".tmp-%9d-%9d%n", &pid, &number, &end) == 2 &&
           !name[n + (size_t)end];
}

/* Nothing but the lock file is in the folder. */
static bool holds_lock_only(int dir)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    for (struct dirent *e; d && (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d)
        closedir(d);
    else if (copy >= 0)
        close(copy);
    return d && n == 1;
}

/* The folder's lock file is ours, nobody holds it, and it names the folder, or says nothing yet
 * because its writer died before it could. A process number may have been given again, or be
 * another machine's: only the lock tells that a writer is gone, and a file system without locks
 * keeps its leftovers. A name may lead elsewhere by now, too: whoever else cleans up unlinks the
 * file last. */
static bool is_left(int dir, int lock, const char *folder)
{
    char found[LOCK_TEXT], expected[LOCK_TEXT];
    struct stat st;
    ssize_t n = (ssize_t)lock_text(folder, expected);
    if (fstat(lock, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || flock(lock, LOCK_EX | LOCK_NB) != 0)
        return false;
    ssize_t k = pread(lock, found, sizeof found, 0);
    bool says_so = k == n && memcmp(found, expected, (size_t)n) == 0;
    return (says_so || (k == 0 && holds_lock_only(dir))) && fstat(lock, &st) == 0 && st.st_nlink == 1;
}

/* Without a lock file only an empty folder goes, of a writer that died before it made the file. One
 * that is just about to make it looks for another folder (lock_folder). */
static void remove_left(int parent, const char *folder)
{
    int dir = openat(parent, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int lock = dir < 0 ? -1 : openat(dir, HD_CLAIM_LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    if (lock >= 0 && is_left(dir, lock, folder)) {
        remove_files(dir, HD_CLAIM_LOCK);
        unlinkat(dir, HD_CLAIM_LOCK, 0);
        unlinkat(parent, folder, AT_REMOVEDIR);
    } else if (lock < 0 && dir >= 0 && fstat(dir, &st) == 0 && st.st_uid == geteuid()) {
        unlinkat(parent, folder, AT_REMOVEDIR);
    }
    if (lock >= 0)
        close(lock);
    if (dir >= 0)
        close(dir);
}

/* dirname and basename write to what they are given. */
static void remove_leftovers(const char *path)
{
    char *a = strdup(path), *b = strdup(path);
    DIR *d = a && b ? opendir(dirname(a)) : NULL;
    const char *base = b ? basename(b) : "";
    for (struct dirent *e; d && (e = readdir(d));)
        if (is_claim(e->d_name, base))
            remove_left(dirfd(d), e->d_name);
    if (d)
        closedir(d);
    free(a);
    free(b);
}

/* ---- making --------------------------------------------------------------------------------- */

/* The text comes after the lock: who looks in between finds a file that says nothing. Until the
 * file is locked another writer may take the folder for a dead one's and remove it: ENOENT. */
static int lock_folder(const char *dir)
{
    char text[LOCK_TEXT];
    struct stat st;
    const char *slash = strrchr(dir, '/');
    size_t n = lock_text(slash ? slash + 1 : dir, text);
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0)
        return -1;
    int lock = openat(at, HD_CLAIM_LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    close(at);
    if (lock < 0)
        return -1;
    while (flock(lock, LOCK_EX) != 0 && errno == EINTR)
        continue; /* another error: a file system without locks */
    if (fstat(lock, &st) == 0 && st.st_nlink == 0) {
        close(lock);
        errno = ENOENT;
        return -1;
    }
    ssize_t k = hd_fault(HD_FAULT_WRITE) ? -1 : pwrite(lock, text, n, 0);
    if (k == (ssize_t)n)
        return lock;
    errno = k < 0 ? errno : ENOSPC;
    close(lock);
    return -1;
}

int hd_claim_new(const char *path, char *dir, size_t size)
{
    remove_leftovers(path);
    for (int k = 0; k < 1000; k++) {
        int n = snprintf(dir, size, "%s.tmp-%d-%d", path, (int)getpid(), k);
        if (n < 0 || (size_t)n >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        if (hd_fault(HD_FAULT_OPEN) || mkdir(dir, 0777) != 0) {
            if (errno == EEXIST)
                continue;
            return -1;
        }
        int lock = lock_folder(dir), why = errno;
        if (lock >= 0)
            return lock;
        if (why == ENOENT)
            continue;
        hd_dir_remove(dir);
        errno = why;
        return -1;
    }
    return -1;
}

void hd_claim_end(const char *dir, int lock)
{
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (at >= 0) {
        unlinkat(at, HD_CLAIM_LOCK, 0);
        close(at);
    }
    if (lock >= 0)
        close(lock);
}
