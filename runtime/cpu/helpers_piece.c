/* Functions of strings that make no new bytes: those of templates/text.cuh, as they are. */
#include "runtime/cpu/helpers.h"
#include "templates/text.cuh"

#define R_CALL(result, name, arguments)
#define R_TEXT(name, kinds, parameters, arguments) \
    int64_t hdr_##name parameters \
    { \
        return hdd_##name arguments; \
    }
#include "templates/rtcalls.def"
