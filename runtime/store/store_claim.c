#include "runtime/store/store_claim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fault.h"

/* A process number may have been given again, or be another machine's: only the lock says that a
 * folder's writer is gone. A file system without locks keeps its leftovers. */
enum lock { LOCK_TAKEN, LOCK_MINE, LOCK_NONE };

/* Whether the name still leads to what is open: who cleans up may have been faster. */
static bool is_at(int fd, const char *dir)
{
    struct stat open, named;
    return fstat(fd, &open) == 0 && stat(dir, &named) == 0 && open.st_dev == named.st_dev &&
           open.st_ino == named.st_ino;
}

static enum lock lock_dir(const char *dir, int *fd)
{
    *fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0)
        return errno == ENOENT ? LOCK_TAKEN : LOCK_NONE;
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0 && is_at(*fd, dir))
        return LOCK_MINE;
    enum lock why = errno == EWOULDBLOCK || !is_at(*fd, dir) ? LOCK_TAKEN : LOCK_NONE;
    close(*fd);
    *fd = -1;
    return why;
}

/* "BASE.tmp-PID-N" */
static bool is_claim(const char *name, const char *base)
{
    int pid, number, end = 0;
    size_t n = strlen(base);
    return strncmp(name, base, n) == 0 &&
           sscanf(name + n, ".tmp-%9d-%9d%n", &pid, &number, &end) == 2 &&
           !name[n + (size_t)end];
}

static void remove_leftovers(const char *path)
{
    char parent[RT_PATH_MAX], name[RT_PATH_MAX], dir[RT_PATH_MAX];
    int fd;
    snprintf(parent, sizeof parent, "%s", path);
    snprintf(name, sizeof name, "%s", path);
    const char *in = dirname(parent), *base = basename(name);
    DIR *d = opendir(in);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        if (!is_claim(e->d_name, base) || rt_path_join(dir, in, e->d_name, NULL) != 0 ||
            lock_dir(dir, &fd) != LOCK_MINE)
            continue;
        rt_dir_remove(dir);
        close(fd);
    }
    closedir(d);
}

int rt_claim(const char *path, char dir[RT_PATH_MAX], int *lock, struct hd_err *err)
{
    remove_leftovers(path);
    for (int k = 0; k < 1000; k++) {
        snprintf(dir, RT_PATH_MAX, "%.*s.tmp-%d-%d", RT_PATH_MAX - 32, path, (int)getpid(), k);
        if (hd_fault(HD_FAULT_OPEN) || mkdir(dir, 0777) != 0) {
            if (errno != EEXIST)
                break;
        } else if (lock_dir(dir, lock) != LOCK_TAKEN) {
            return 0;
        }
    }
    HD_FAIL(err, IO, dir, "cannot create directory: %s", strerror(errno));
    dir[0] = 0;
    return -1;
}
