/* Files that are written whole or not at all: a temporary file in the same folder takes the
 * place of the old one when all of it is written. What is no regular file (a device, a FIFO) has
 * no place to take and is written directly. */
#include "tools/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The stream that already writes to this very file, NULL if none does: /dev/stdout is a file that
 * the shell opened, and rows must stand between the lines printed before and after them. */
static FILE *standard_stream(const struct stat *file)
{
    FILE *const streams[] = {stdout, stderr};
    struct stat s;
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
        if (fstat(fileno(streams[i]), &s) == 0 && s.st_dev == file->st_dev && s.st_ino == file->st_ino)
            return streams[i];
    return NULL;
}

static int fail_open(struct cli_output *o, struct cli_error *err)
{
    return cli_fail_errno(err, o->path, "cannot open for writing");
}

static int open_directly(struct cli_output *o, struct cli_error *err)
{
    o->f = fopen(o->path, "wb");
    return o->f ? 0 : fail_open(o, err);
}

static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash + 1 - path) : 0;
}

/* A name beside the target that nobody has: short, as the target's may be as long as can be. */
static void name_temporary(struct cli_output *o)
{
    static int number;
    free(o->temporary);
    o->temporary = cli_format("%.*s.heddle-%ld-%d", folder_length(o->target), o->target, (long)getpid(), number++);
}

/* A file without a name, which goes with the process, however that ends; -1 where the file
 * system has none or /proc, by which it gets its name, is not there. */
static int open_nameless(const struct cli_output *o)
{
    int n = folder_length(o->target);
    char *folder = n ? cli_format("%.*s", n, o->target) : cli_strdup(".");
    int fd = access("/proc/self/fd", X_OK) ? -1 : open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    free(folder);
    return fd;
}

static int open_named(struct cli_output *o)
{
    int fd;
    do {
        name_temporary(o);
        fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EEXIST);
    return fd;
}

/* old: of the file that is replaced, NULL if there is none. */
static int open_temporary(struct cli_output *o, const struct stat *old, struct cli_error *err)
{
    o->target = old ? realpath(o->path, NULL) : cli_strdup(o->path);
    if (!o->target || (old && access(o->target, W_OK)))
        return fail_open(o, err);
    int fd = open_nameless(o);
    if (fd < 0)
        fd = open_named(o);
    if (fd < 0 && old && errno == EACCES) { /* the file may be written, its folder may not */
        free(o->target);
        o->target = NULL;
        return open_directly(o, err);
    }
    if (fd < 0)
        return fail_open(o, err);
    if (old)
        (void)!fchmod(fd, old->st_mode & 07777);
    o->f = fdopen(fd, "wb");
    if (o->f)
        return 0;
    fail_open(o, err);
    close(fd);
    if (o->temporary)
        unlink(o->temporary);
    return -1;
}

static void release(struct cli_output *o)
{
    free(o->target);
    free(o->temporary);
    *o = (struct cli_output){0};
}

int cli_output_open(struct cli_output *o, const char *path, struct cli_error *err)
{
    struct stat s, link;
    *o = (struct cli_output){.path = path};
    bool exists = stat(path, &s) == 0;
    bool dangling = !exists && lstat(path, &link) == 0;
    o->standard = exists ? standard_stream(&s) : NULL;
    int rc = 0;
    if (o->standard)
        o->f = o->standard;
    else if (dangling || (exists && !S_ISREG(s.st_mode)))
        rc = open_directly(o, err);
    else
        rc = open_temporary(o, exists ? &s : NULL, err);
    if (rc)
        release(o);
    return rc;
}

/* Gives a file without a name one beside the target. */
static int link_temporary(struct cli_output *o)
{
    char *source = cli_format("/proc/self/fd/%d", fileno(o->f));
    int rc;
    do {
        name_temporary(o);
        rc = linkat(AT_FDCWD, source, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW);
    } while (rc && errno == EEXIST);
    if (rc) { /* it may be another's */
        free(o->temporary);
        o->temporary = NULL;
    }
    free(source);
    return rc;
}

int cli_output_close(struct cli_output *o, int rc, struct cli_error *err)
{
    if (!rc)
        rc = cli_flush(o->f, o->path, err);
    if (!rc && o->target && !o->temporary && link_temporary(o))
        rc = cli_fail_errno(err, o->path, "cannot write");
    if (!o->standard && fclose(o->f) && !rc)
        rc = cli_fail_errno(err, o->path, "cannot write");
    if (!rc && o->target && rename(o->temporary, o->target))
        rc = cli_fail_errno(err, o->path, "cannot write");
    if (rc && o->temporary)
        unlink(o->temporary);
    release(o);
    return rc;
}

int cli_write_file(const char *path, const char *text, struct cli_error *err)
{
    struct cli_output o;
    if (cli_output_open(&o, path, err))
        return -1;
    fputs(text, o.f);
    fputc('\n', o.f);
    return cli_output_close(&o, 0, err);
}
