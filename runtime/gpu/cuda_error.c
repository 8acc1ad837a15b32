/* What the driver says went wrong, and whether the device is lost with it. */
#include <stdio.h>

#include "runtime/gpu/cuda_internal.h"

static bool is_fatal(int status)
{
    static const int fatal[] = {
#define X(name, number) number,
        CU_FATAL(X)
#undef X
    };
    for (size_t i = 0; i < HD_COUNT(fatal); i++)
        if (status == fatal[i])
            return true;
    return false;
}

int rt_cuda_check(struct rt_cuda *c, int status, const char *what, struct hd_err *err)
{
    char why[200];
    if (status == 0)
        return 0;
    rt_driver_error(c->cu, status, why, sizeof why);
    if (is_fatal(status) && !c->d.lost) {
        c->d.lost = true;
        snprintf(c->d.why, sizeof c->d.why, "CUDA, %s: %s", what, why);
    }
    return status == CU_OUT_OF_MEMORY ? HD_FAIL(err, RESOURCE, NULL, "%s: %s", what, why)
                                      : HD_FAIL(err, EXEC, NULL, "CUDA, %s: %s", what, why);
}
