#include "runtime/base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/show.h"

static const struct {
    int status;
    const char *name;
} classes[] = {
#define X(id, status, name) {status, name},
    HD_ERR_CLASSES(X)
#undef X
};

void hd_err_init(struct hd_err *e)
{
    memset(e, 0, sizeof *e);
}

void hd_err_release(struct hd_err *e)
{
    free(e->detail);
    hd_err_init(e);
}

int hd_err_status(const struct hd_err *e)
{
    return classes[e->class].status;
}
const char *hd_err_class_name(enum hd_err_class c)
{
    return classes[c].name;
}

/* As much of the text as there is room for, on one line, harmless to a terminal. */
static void copy_text(char *dst, size_t cap, const char *text)
{
    size_t n = strlen(text), used = 0;
    char shown[HD_SHOWN_MAX];
    while (n > 0) {
        size_t len = (size_t)hd_show_character(text, n, shown), more = strlen(shown);
        if (used + more >= cap)
            break;
        memcpy(dst + used, shown, more);
        used += more;
        text += len;
        n -= len;
    }
    dst[used] = 0;
}

static void copy_path(char *dst, size_t cap, const char *path)
{
    size_t n = strlen(path);
    if (n < cap) {
        copy_text(dst, cap, path);
        return;
    }
    memcpy(dst, "...", 3); /* the end of a path says more than its start */
    copy_text(dst + 3, cap - 3, path + n - (cap - 4));
}

int hd_err_vset(struct hd_err *e, enum hd_err_class c, const char *file, int line, const char *path, const char *fmt,
                va_list ap)
{
    if (!e || e->class != HD_ERR_NONE)
        return -1;
    e->class = c;
    e->file = file;
    e->line = line;
    copy_path(e->path, sizeof e->path, path ? path : "");
    char message[sizeof e->message];
    vsnprintf(message, sizeof message, fmt, ap);
    copy_text(e->message, sizeof e->message, message);
    return -1;
}

int hd_err_set(struct hd_err *e, enum hd_err_class c, const char *file, int line, const char *path, const char *fmt,
               ...)
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
