/* The heddle binary with the emulator in the place of a GPU: `heddle_simt run --backend cuda`
 * goes through everything but the CUDA driver and NVRTC, so that tests of the command line run
 * on either backend. $HEDDLE_SIMT_SEED chooses the interleavings, $HEDDLE_SIMT_SIZE the number of
 * multiprocessors. Tests of backend auto: $HEDDLE_SIMT_OPEN_MS and $HEDDLE_SIMT_COMPILE_MS say how long opening it and
 * compiling a source take at least, "fail" that they fail, $HEDDLE_SIMT_BREAKS that sources with this text do.
 * $HEDDLE_SIMT_DEVICES is how many there are (default: 4). Code is optimised unless $HEDDLE_TIER says otherwise: the host's
 * compiler takes as long for a first tier. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api_gpu.h"
#include "tests/simt/sim_compiler.h"
#include "tests/simt/sim_device.h"

/* Sleeps as long as the variable says. False: it says that this is to fail. */
static bool slow_down(const char *variable)
{
    const char *text = getenv(variable);
    double ms = text ? atof(text) : 0;
    struct timespec t = {(time_t)(ms / 1e3), (long)(ms * 1e6) % 1000000000};
    if (ms > 0)
        nanosleep(&t, NULL);
    return !text || strcmp(text, "fail") != 0;
}

/* The host's compiler, but slower, or broken. */
struct slow_compiler {
    struct rt_compiler c;
    struct rt_compiler *host;
};

static int compile_slowly(struct rt_compiler *c, const char *name, const char *source, struct rt_bytes *image,
                          struct hd_err *err)
{
    struct slow_compiler *slow = c->self;
    const char *breaks = getenv("HEDDLE_SIMT_BREAKS");
    if (!slow_down("HEDDLE_SIMT_COMPILE_MS") || (breaks && strstr(source, breaks)))
        return HD_FAIL(err, TOOL, name, "the compiler is broken");
    return slow->host->compile(slow->host, name, source, image, err);
}

static void close_slow(struct rt_compiler *c)
{
    struct slow_compiler *slow = c->self;
    slow->host->close(slow->host);
    free(slow);
}

static int open_compiler(struct rt_compiler **out, struct hd_err *err)
{
    struct slow_compiler *slow = calloc(1, sizeof *slow);
    if (!slow)
        return HD_FAIL(err, RESOURCE, NULL, "no memory for a compiler");
    if (sim_compiler_open(&slow->host, err) != 0) {
        free(slow);
        return -1;
    }
    slow->c = (struct rt_compiler){
        .identity = slow->host->identity, .compile = compile_slowly, .close = close_slow, .self = slow};
    *out = &slow->c;
    return 0;
}

static int count_devices(void)
{
    const char *text = getenv("HEDDLE_SIMT_DEVICES");
    return text ? atoi(text) : 4;
}

/* In bytes a second; else nobody knows. */
static double link_of(const int *devices HD_UNUSED, int n HD_UNUSED)
{
    const char *text = getenv("HEDDLE_SIMT_LINK");
    return text ? atof(text) : 0;
}

static int open_emulator(int number, bool cold HD_UNUSED, struct rt_gpu_ahead *ahead HD_UNUSED, struct rt_device **d,
                         struct rt_compiler **c, struct hd_err *err)
{
    struct sim_device_options o;
    const char *seed = getenv("HEDDLE_SIMT_SEED"), *size = getenv("HEDDLE_SIMT_SIZE");
    sim_device_options_init(&o);
    o.number = number;
    if (number >= count_devices())
        return HD_FAIL(err, RESOURCE, NULL, "there is no device %d", number);
    if (!slow_down("HEDDLE_SIMT_OPEN_MS"))
        return HD_FAIL(err, RESOURCE, NULL, "the device does not open");
    if (seed)
        o.seed = strtoull(seed, NULL, 10);
    if (size)
        o.multiprocessors = atoi(size);
    HD_TRY(sim_device_open(&o, d, err));
    if (open_compiler(c, err) == 0)
        return 0;
    (*d)->ops->close(*d);
    return -1;
}

__attribute__((constructor)) static void use_emulator(void)
{
    api_gpu_open = open_emulator;
    api_gpu_count = count_devices;
    api_gpu_link = link_of;
    setenv("HEDDLE_TIER", "optimised", 0);
}
