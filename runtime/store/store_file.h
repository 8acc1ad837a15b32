/* Files of a database: thin, checked system calls that name the path in their errors and obey
 * fault injection. */
#ifndef HEDDLE_RUNTIME_STORE_FILE_H
#define HEDDLE_RUNTIME_STORE_FILE_H

#include <stddef.h>

#include "runtime/base/err.h"

/* Where a path is assembled; longer ones are refused by the system anyway. */
enum { RT_PATH_MAX = 4096 };
int rt_path_join(char out[RT_PATH_MAX], const char *dir, const char *name, struct hd_err *err);

/* Creates (truncates) a file of n bytes, all zero. */
int rt_file_create(const char *path, uint64_t n, struct hd_err *err);
/* Writes all n bytes at an offset of an existing file. */
int rt_file_write_at(const char *path, const void *p, size_t n, uint64_t at, struct hd_err *err);
/* The same on an open descriptor. */
int rt_fd_write_at(int fd, const void *p, size_t n, uint64_t at, const char *path, struct hd_err *err);
int rt_file_write_all(const char *path, const void *p, size_t n, struct hd_err *err);
int rt_file_sync(const char *path, struct hd_err *err); /* a file or a directory */
/* Heap copy with a NUL after it. */
int rt_file_read_all(const char *path, char **text, size_t *n, struct hd_err *err);

/* A read-only mapping. An empty file maps to a valid address of no bytes. A file that holds more
 * than its size says (those of /proc) is read into memory. */
struct rt_map {
    const void *p;
    uint64_t n;
};
int rt_file_map(const char *path, struct rt_map *out, struct hd_err *err);
/* Addresses for a copy of the file: not to be read before rt_file_load has filled them. A file
 * that is cut after that is no fault of whoever reads them. */
int rt_file_reserve(const char *path, struct rt_map *out, struct hd_err *err);
int rt_file_load(const char *path, const struct rt_map *m, struct hd_err *err);
void rt_map_release(struct rt_map *m);

/* Zeroed working memory of any size: on the heap, or, where a directory is given and the size
 * is large, in an unlinked mapped file there, so that the machine's memory does not limit it. */
struct rt_big {
    void *p;
    uint64_t n;
    bool mapped;
};
int rt_big_new(struct rt_big *b, uint64_t n, const char *dir, struct hd_err *err);
void rt_big_release(struct rt_big *b);

/* 1 empty or missing, 0 not, -1 error. */
int rt_dir_is_free(const char *path, struct hd_err *err);

#endif
