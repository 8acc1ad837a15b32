/* Errors: a message, a status, an SQLSTATE; and for callers of 1.1.0 what Heddle's error has beside, as details. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/adbc/adbc_internal.h"

enum { DETAILS = 3, MESSAGE_MAX = 4096 };

struct details {
    int n;
    struct {
        const char *key;
        char *value;
    } list[DETAILS];
};

static void release_details(struct details *d)
{
    for (int i = 0; d && i < d->n; i++)
        free(d->list[i].value);
    free(d);
}

static bool is_extended(const struct AdbcError *e)
{
    return e->vendor_code == ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA;
}

static void release_error(struct AdbcError *e)
{
    free(e->message);
    e->message = NULL;
    if (is_extended(e)) {
        release_details(e->private_data);
        e->private_data = NULL;
    }
    e->release = NULL;
}

static void fill(struct AdbcError *e, const char *sqlstate, const char *message, struct details *d)
{
    if (e->release)
        e->release(e);
    e->message = strdup(message);
    memcpy(e->sqlstate, sqlstate, sizeof e->sqlstate);
    e->release = release_error;
    if (is_extended(e))
        e->private_data = d;
    else
        release_details(d);
}

AdbcStatusCode adbc_fail(struct AdbcError *e, AdbcStatusCode status, const char *sqlstate, const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list args;
    if (!e)
        return status;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    fill(e, sqlstate, message, NULL);
    return status;
}

static void add_detail(struct details *d, const char *key, const char *value)
{
    char *copy = value && *value ? strdup(value) : NULL;
    if (!copy)
        return;
    d->list[d->n].key = key;
    d->list[d->n++].value = copy;
}

static struct details *details_of(const heddle_error *from)
{
    struct details *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    add_detail(d, "heddle.class", heddle_error_class_name(heddle_error_get_class(from)));
    add_detail(d, "heddle.path", heddle_error_path(from));
    add_detail(d, "heddle.detail", heddle_error_detail(from));
    return d;
}

static const struct {
    AdbcStatusCode status;
    char sqlstate[6];
} classes[] = {
#define E(class, status, sqlstate) [HEDDLE_ERROR_##class] = {ADBC_STATUS_##status, sqlstate},
#include "api/adbc/adbc_errors.def"
};

AdbcStatusCode adbc_fail_heddle(struct AdbcError *e, heddle_error *from)
{
    size_t class = (size_t)heddle_error_get_class(from);
    if (class == 0 || class >= sizeof classes / sizeof *classes) { /* no memory for the error itself */
        heddle_error_free(from);
        return ADBC_NO_MEMORY(e);
    }
    if (e) {
        char message[MESSAGE_MAX];
        const char *path = heddle_error_path(from);
        snprintf(message, sizeof message, "%s%s%s", path, *path ? ": " : "", heddle_error_message(from));
        if (!is_extended(e))
            e->vendor_code = (int32_t)class;
        fill(e, classes[class].sqlstate, message, details_of(from));
    }
    heddle_error_free(from);
    return classes[class].status;
}

static const struct details *get_details(const struct AdbcError *e)
{
    return e && is_extended(e) && e->release == release_error ? e->private_data : NULL;
}

int adbc_error_detail_count(const struct AdbcError *e)
{
    const struct details *d = get_details(e);
    return d ? d->n : 0;
}

struct AdbcErrorDetail adbc_error_detail(const struct AdbcError *e, int index)
{
    const struct details *d = get_details(e);
    if (!d || index < 0 || index >= d->n)
        return (struct AdbcErrorDetail){0};
    const char *value = d->list[index].value;
    return (struct AdbcErrorDetail){d->list[index].key, (const uint8_t *)value, strlen(value)};
}
