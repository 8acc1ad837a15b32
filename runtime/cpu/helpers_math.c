/* Functions of float64: those of templates/math.cuh, as they are. */
#include "runtime/cpu/helpers.h"
#include "templates/math.cuh"

#define R_CALL(result, name, arguments)
#define R_FLOAT64_1(name) \
    double hdr_##name(double x) \
    { \
        return hdd_##name(x); \
    }
#define R_FLOAT64_2(name) \
    double hdr_##name(double x, double y) \
    { \
        return hdd_##name(x, y); \
    }
#include "templates/rtcalls.def"
