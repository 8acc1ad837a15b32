#include "runtime/base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int status;
    const char *name;
} classes[] = {
#define X(id, status, name) {status, name},
    HD_ERR_CLASSES(X)
#undef X
};

void hd_err_init(struct hd_err *e) { memset(e, 0, sizeof *e); }

void hd_err_release(struct hd_err *e)
{
    free(e->detail);
    hd_err_init(e);
}

int hd_err_status(const struct hd_err *e) { return classes[e->class].status; }
const char *hd_err_class_name(enum hd_err_class c) { return classes[c].name; }

static void copy_path(char *dst, size_t cap, const char *path)
{
    size_t n = strlen(path);
    if (n < cap) {
        memcpy(dst, path, n + 1);
        return;
    }
    memcpy(dst, "...", 3); /* the end of a path says more than its start */
    memcpy(dst + 3, path + n - (cap - 4), cap - 3);
}

int hd_err_vset(struct hd_err *e, enum hd_err_class c, const char *file, int line,
                const char *path, const char *fmt, va_list ap)
{
    if (!e || e->class != HD_ERR_NONE)
        return -1;
    e->class = c;
    e->file = file;
    e->line = line;
    copy_path(e->path, sizeof e->path, path ? path : "");
    vsnprintf(e->message, sizeof e->message, fmt, ap);
    return -1;
}

int hd_err_set(struct hd_err *e, enum hd_err_class c, const char *file, int line,
               const char *path, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    hd_err_vset(e, c, file, line, path, fmt, ap);
    va_end(ap);
    return -1;
}

void hd_err_set_path(struct hd_err *e, const char *path)
{
    if (e && e->class != HD_ERR_NONE && !e->path[0])
        copy_path(e->path, sizeof e->path, path);
}

void hd_err_set_detail(struct hd_err *e, const char *text)
{
    if (e && !e->detail && text)
        e->detail = strdup(text);
}
