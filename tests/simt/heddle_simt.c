/* The heddle binary with the emulator in the place of a GPU: `heddle_simt run --backend cuda`
 * goes through everything but the CUDA driver and NVRTC, so that tests of the command line run
 * on either backend. $HEDDLE_SIMT_SEED chooses the interleavings, $HEDDLE_SIMT_SIZE the number of
 * multiprocessors. */
#include <stdlib.h>

#include "api/api_gpu.h"
#include "tests/simt/sim_compiler.h"
#include "tests/simt/sim_device.h"

static int open_emulator(int number HD_UNUSED, bool cold HD_UNUSED, struct rt_device **d, struct rt_compiler **c,
                         struct hd_err *err)
{
    struct sim_device_options o;
    const char *seed = getenv("HEDDLE_SIMT_SEED"), *size = getenv("HEDDLE_SIMT_SIZE");
    sim_device_options_init(&o);
    if (seed)
        o.seed = strtoull(seed, NULL, 10);
    if (size)
        o.multiprocessors = atoi(size);
    HD_TRY(sim_device_open(&o, d, err));
    if (sim_compiler_open(c, err) == 0)
        return 0;
    (*d)->ops->close(*d);
    return -1;
}

__attribute__((constructor)) static void use_emulator(void)
{
    api_gpu_open = open_emulator;
}
