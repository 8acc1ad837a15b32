/* The one error structure. Fallible functions return int (0 ok, -1 failed) and take a
 * struct hd_err * last. The first error wins; success leaves it untouched. Libraries never
 * print: only tools do. */
#ifndef HEDDLE_BASE_ERR_H
#define HEDDLE_BASE_ERR_H

#include <stdarg.h>

#include "runtime/base/util.h"

/* class, exit status of the CLI, name */
#define HD_ERR_CLASSES(X) \
    X(NONE, 0, "none") \
    X(USER, 2, "user")               /* bad plan, arguments, schema */ \
    X(UNSUPPORTED, 2, "unsupported") /* valid, but Heddle cannot do it */ \
    X(DATA, 1, "data")               /* bad input data: file, line, column */ \
    X(IO, 1, "io")                   /* operating system said no */ \
    X(CORRUPT, 1, "corrupt")         /* a database or cache file is damaged */ \
    X(EXEC, 1, "execution")          /* overflow, division by zero, bad cast in a row */ \
    X(RESOURCE, 3, "resource")       /* memory limit, no device */ \
    X(CANCELLED, 1, "cancelled") \
    X(TOOL, 1, "tool")               /* LLVM or NVRTC refused; log in detail */

enum hd_err_class {
#define X(id, status, name) HD_ERR_##id,
    HD_ERR_CLASSES(X)
#undef X
};

struct hd_err {
    enum hd_err_class class;
    char path[256];    /* JSON path, file or table the error is about; may be empty */
    char message[768]; /* one line: what was expected and what was found */
    char *detail;      /* heap, may be NULL: a compiler log */
    const char *file;  /* where it was raised, in Heddle's source */
    int line;
};

void hd_err_init(struct hd_err *e);
void hd_err_release(struct hd_err *e);
/* Exit status of the command line for this error. */
int hd_err_status(const struct hd_err *e);
const char *hd_err_class_name(enum hd_err_class c);

/* Both return -1. What path and message quote is shown so that it is UTF-8 of one line without
 * control characters (runtime/base/show.h). path may be NULL; long paths are shortened from the left. e may be NULL. */
int hd_err_set(struct hd_err *e, enum hd_err_class c, const char *file, int line, const char *path, const char *fmt,
               ...) HD_PRINTF(6, 7);
int hd_err_vset(struct hd_err *e, enum hd_err_class c, const char *file, int line, const char *path, const char *fmt,
                va_list ap);
/* Says where, of an error that does not. */
void hd_err_set_path(struct hd_err *e, const char *path);
/* Attaches a copy of a log to an error that has none. */
void hd_err_set_detail(struct hd_err *e, const char *text);

#define HD_FAIL(e, cls, path, ...) hd_err_set((e), HD_ERR_##cls, __FILE__, __LINE__, (path), __VA_ARGS__)
#define HD_TRY(call) \
    do { \
        if ((call) != 0) \
            return -1; \
    } while (0)

#endif
