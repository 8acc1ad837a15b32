#include <stdlib.h>
#include <string.h>

#include "api/api_internal.h"

#define SAME(id) _Static_assert((int)HEDDLE_ERROR_##id == (int)HD_ERR_##id, "error classes")
SAME(USER);
SAME(UNSUPPORTED);
SAME(DATA);
SAME(IO);
SAME(CORRUPT);
SAME(RESOURCE);
SAME(CANCELLED);
SAME(TOOL);
_Static_assert((int)HEDDLE_ERROR_EXECUTION == (int)HD_ERR_EXEC, "error classes");

int api_finish(int rc, struct hd_err *e, heddle_error **out)
{
    if (rc == 0 || !out || *out) {
        hd_err_release(e);
        return rc;
    }
    if (e->class == HD_ERR_NONE)
        HD_BUG("a function failed without an error");
    *out = malloc(sizeof **out);
    if (*out)
        (*out)->e = *e;
    else
        hd_err_release(e);
    return rc;
}

int api_missing(const char *function, const char *argument, heddle_error **err)
{
    struct hd_err e;
    hd_err_init(&e);
    return api_finish(HD_FAIL(&e, USER, NULL, "%s: %s is NULL", function, argument), &e, err);
}

/* No header will have more than 4096 bytes: what was never set is seldom below. */
static bool is_size_of_options(size_t size)
{
    return size >= sizeof size && size <= 4096 && size % sizeof(void *) == 0;
}

void api_options_init(void *o, size_t size)
{
    if (!o || !is_size_of_options(size))
        return;
    memset(o, 0, size);
    memcpy(o, &size, sizeof size); /* struct_size comes first */
}

int api_copy_options(const char *name, void *to, size_t known, const void *from, struct hd_err *err)
{
    size_t size;
    if (!from)
        return 0;
    memcpy(&size, from, sizeof size);
    if (!is_size_of_options(size))
        return HD_FAIL(err, USER, NULL, "%s: struct_size is %zu, expected sizeof(%s), %zu in this version", name, size,
                       name, known);
    for (size_t i = known; i < size; i++)
        if (((const char *)from)[i])
            return HD_FAIL(err, USER, NULL, "%s: an option is set that this version does not have", name);
    memcpy(to, from, HD_MIN(size, known));
    return 0;
}

heddle_error_class heddle_error_get_class(const heddle_error *e)
{
    return (heddle_error_class)(e ? e->e.class : HD_ERR_NONE);
}

const char *heddle_error_class_name(heddle_error_class c)
{
    bool known = c >= HEDDLE_ERROR_USER && c <= HEDDLE_ERROR_TOOL;
    return hd_err_class_name(known ? (enum hd_err_class)c : HD_ERR_NONE);
}

const char *heddle_error_path(const heddle_error *e)
{
    return e ? e->e.path : "";
}
const char *heddle_error_message(const heddle_error *e)
{
    return e ? e->e.message : "";
}
const char *heddle_error_detail(const heddle_error *e)
{
    return e ? e->e.detail : NULL;
}
int heddle_error_exit_status(const heddle_error *e)
{
    return e ? hd_err_status(&e->e) : 0;
}

void heddle_error_free(heddle_error *e)
{
    if (!e)
        return;
    hd_err_release(&e->e);
    free(e);
}

#define TEXT2(x) #x
#define TEXT(x)  TEXT2(x)
const char *heddle_version(void)
{
    return TEXT(HEDDLE_VERSION_MAJOR) "." TEXT(HEDDLE_VERSION_MINOR) "." TEXT(HEDDLE_VERSION_PATCH);
}

void heddle_free(void *p)
{
    free(p);
}
