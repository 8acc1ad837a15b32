/* Functions of strings: those of templates/text.cuh, as they are; new strings with their room. */
#include "runtime/cpu/helpers.h"
#include "templates/regexp.cuh"
#include "templates/strftime.cuh"

/* False: there is no room, no string is as long, or there is none. The failure is set then. */
static bool make_room(struct hdd_thread *t, int64_t size, int32_t path, struct hdr_string *out)
{
    if (size > HDD_STRING_MAX || size < 0) {
        hdr_fail(t, size < 0 ? RT_FAIL_DOMAIN : RT_FAIL_STRING_SIZE, path);
        return false;
    }
    out->s = hdr_string_alloc(t, (size_t)size);
    out->n = size;
    return out->s != NULL;
}

#define R_CALL(result, name, arguments)
#define R_TEXT(name, kinds, parameters, arguments) \
    int64_t hdr_##name parameters \
    { \
        return hdd_##name arguments; \
    }
#define R_MADE(name, kinds, parameters, arguments) \
    int32_t hdr_##name parameters \
    { \
        struct hdr_string *made = out; \
        u8 *to = NULL; \
        if (!make_room(thread, hdd_##name arguments, path, made)) \
            return 1; \
        to = (u8 *)made->s; \
        hdd_##name arguments; \
        return 0; \
    }
#include "templates/rtcalls.def"
