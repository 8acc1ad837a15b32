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

heddle_error_class heddle_error_get_class(const heddle_error *e)
{
    return (heddle_error_class)e->e.class;
}

const char *heddle_error_class_name(heddle_error_class c)
{
    bool known = c >= HEDDLE_ERROR_USER && c <= HEDDLE_ERROR_TOOL;
    return hd_err_class_name(known ? (enum hd_err_class)c : HD_ERR_NONE);
}

const char *heddle_error_path(const heddle_error *e)
{
    return e->e.path;
}
const char *heddle_error_message(const heddle_error *e)
{
    return e->e.message;
}
const char *heddle_error_detail(const heddle_error *e)
{
    return e->e.detail;
}
int heddle_error_exit_status(const heddle_error *e)
{
    return hd_err_status(&e->e);
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
    return TEXT(HEDDLE_VERSION_MAJOR) "." TEXT(HEDDLE_VERSION_MINOR) "." TEXT(
        HEDDLE_VERSION_PATCH);
}

void heddle_free(void *p)
{
    free(p);
}
