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

static const char owner[] = "heddle is writing ", lock_suffix[] = ".lock";

enum { LOCK_TEXT = sizeof owner + NAME_MAX + 1 };

/* What the lock file of a folder holds: a lock that came with something copied or renamed is not
 * that folder's. */
static size_t lock_text(const char *folder, char text[LOCK_TEXT])
{
    return (size_t)snprintf(text, LOCK_TEXT, "%s%.*s\n", owner, NAME_MAX, folder);
}

static bool lock_path(const char *dir, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s%s", dir, lock_suffix);
    errno = ENAMETOOLONG;
    return n >= 0 && n < PATH_MAX;
}

/* ---- removing ------------------------------------------------------------------------------- */

static void remove_files(int dir)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
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
    remove_files(dir);
    close(dir);
    rmdir(path);
}

/* "BASE.tmp-PID-N.lock"; the length of what comes before ".lock", or 0. */
static size_t claim_of_lock(const char *name, const char *base)
{
    int pid, number, end = 0;
    size_t n = strlen(base);
    if (strncmp(name, base, n) != 0 || sscanf(name + n, ".tmp-%9d-%9d%n", &pid, &number, &end) != 2)
        return 0;
    n += (size_t)end;
    return strcmp(name + n, lock_suffix) == 0 ? n : 0;
}

enum claim { NOT_LEFT, LEFT_EMPTY, LEFT_FILLED };

/* The lock file is ours, nobody holds it, and it names the folder, or says nothing because its
 * writer died before it could: then there is no file in the folder. A process number may have been
 * given again, or be another machine's: only the lock tells that a writer is gone, and a file
 * system without locks keeps its leftovers. The name may lead elsewhere by now, too: whoever else
 * cleans up unlinks the lock last. */
static enum claim is_left(int parent, const char *name, int lock, const char *folder)
{
    char found[LOCK_TEXT], expected[LOCK_TEXT];
    struct stat st, now;
    ssize_t n = (ssize_t)lock_text(folder, expected);
    if (fstat(lock, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || flock(lock, LOCK_EX | LOCK_NB) != 0)
        return NOT_LEFT;
    if (fstatat(parent, name, &now, AT_SYMLINK_NOFOLLOW) != 0 || now.st_dev != st.st_dev || now.st_ino != st.st_ino ||
        now.st_nlink != 1)
        return NOT_LEFT;
    ssize_t k = pread(lock, found, sizeof found, 0);
    if (k == 0)
        return LEFT_EMPTY;
    return k == n && memcmp(found, expected, (size_t)n) == 0 ? LEFT_FILLED : NOT_LEFT;
}

/* The lock goes last, and only if the folder is gone: it is what tells that the folder may go. */
static void remove_left(int parent, const char *name, size_t n)
{
    char folder[NAME_MAX + 1];
    struct stat st;
    snprintf(folder, sizeof folder, "%.*s", (int)n, name);
    int lock = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    enum claim left = lock < 0 ? NOT_LEFT : is_left(parent, name, lock, folder);
    if (left != NOT_LEFT) {
        int dir = openat(parent, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (dir >= 0 && fstat(dir, &st) == 0 && st.st_uid == geteuid()) {
            if (left == LEFT_FILLED)
                remove_files(dir);
            unlinkat(parent, folder, AT_REMOVEDIR);
        }
        if (dir >= 0)
            close(dir);
        if (fstatat(parent, folder, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
            unlinkat(parent, name, 0);
    }
    if (lock >= 0)
        close(lock);
}

/* dirname and basename write to what they are given. */
static void remove_leftovers(const char *path)
{
    char *a = strdup(path), *b = strdup(path);
    DIR *d = a && b ? opendir(dirname(a)) : NULL;
    const char *base = b ? basename(b) : "";
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = claim_of_lock(e->d_name, base);
        if (n > 0)
            remove_left(dirfd(d), e->d_name, n);
    }
    if (d)
        closedir(d);
    free(a);
    free(b);
}

/* ---- making --------------------------------------------------------------------------------- */

/* A lock file beside the folder that is to be made. Until it is locked another writer may take it
 * for a dead one's and remove it: EEXIST, as for one that is there. */
static int make_lock(const char *dir)
{
    char path[PATH_MAX];
    struct stat st;
    if (!lock_path(dir, path) || hd_fault(HD_FAULT_OPEN))
        return -1;
    int lock = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0)
        return -1;
    while (flock(lock, LOCK_EX) != 0 && errno == EINTR)
        continue; /* another error: a file system without locks */
    if (fstat(lock, &st) == 0 && st.st_nlink > 0)
        return lock;
    close(lock);
    errno = EEXIST;
    return -1;
}

static int write_text(int lock, const char *dir)
{
    char text[LOCK_TEXT];
    const char *slash = strrchr(dir, '/');
    size_t n = lock_text(slash ? slash + 1 : dir, text);
    ssize_t k = hd_fault(HD_FAULT_WRITE) ? -1 : pwrite(lock, text, n, 0);
    if (k == (ssize_t)n)
        return 0;
    errno = k < 0 ? errno : ENOSPC;
    return -1;
}

/* The lock is there before the folder, so that none of ours is ever without. Its text comes after
 * the folder: a lock never names one that was there before. */
static int claim(const char *dir)
{
    struct stat st;
    errno = EEXIST;
    if (lstat(dir, &st) == 0)
        return -1;
    int lock = make_lock(dir);
    if (lock < 0)
        return -1;
    bool made = !hd_fault(HD_FAULT_OPEN) && mkdir(dir, 0777) == 0;
    if (made && write_text(lock, dir) == 0)
        return lock;
    int why = errno;
    if (made)
        rmdir(dir);
    hd_claim_end(dir, lock);
    errno = why;
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
        int lock = claim(dir);
        if (lock >= 0 || errno != EEXIST)
            return lock;
    }
    return -1;
}

void hd_claim_end(const char *dir, int lock)
{
    char path[PATH_MAX];
    if (lock_path(dir, path))
        unlink(path);
    close(lock);
}
