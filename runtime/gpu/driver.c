#include "runtime/gpu/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char LIBRARY[] = "libcuda.so.1";

/* A function pointer from dlsym, which C keeps apart from data pointers. */
static bool find(void *library, const char *name, void *function)
{
    void *p = dlsym(library, name);
    memcpy(function, &p, sizeof p);
    return p != NULL;
}

static const char *first_missing(struct rt_driver *d, void *library)
{
#define DRIVER(name, symbol, arguments) \
    if (!find(library, symbol, &d->name)) \
        return symbol;
#include "runtime/gpu/driver.def"
    return NULL;
}

static int open_driver(struct rt_driver *d, struct hd_err *err)
{
    char why[160];
    int status;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return HD_FAIL(err, RESOURCE, NULL, "no CUDA driver: %s", dlerror());
    const char *missing = first_missing(d, library);
    if (missing)
        return HD_FAIL(err, RESOURCE, NULL, "the CUDA driver is too old: %s lacks %s", LIBRARY, missing);
    if ((status = d->cuInit(0)) != 0 || (status = d->cuDriverGetVersion(&d->version)) != 0 ||
        (status = d->cuDeviceGetCount(&d->ndevices)) != 0) {
        rt_driver_error(d, status, why, sizeof why);
        return HD_FAIL(err, RESOURCE, NULL, "the CUDA driver does not start: %s", why);
    }
    if (d->ndevices < 1)
        return HD_FAIL(err, RESOURCE, NULL, "the CUDA driver finds no device");
    return 0;
}

/* Opened once, and never closed: the driver keeps threads and handlers of its own. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct rt_driver driver;
static struct hd_err failure;
static bool opened;

static void open_once(void)
{
    hd_err_init(&failure);
    opened = open_driver(&driver, &failure) == 0;
}

int rt_driver_get(const struct rt_driver **out, struct hd_err *err)
{
    pthread_once(&once, open_once);
    *out = &driver;
    return opened ? 0 : hd_err_set(err, failure.class, failure.file, failure.line, NULL, "%s", failure.message);
}

/* Of Linux, and of Linux under Windows. */
bool rt_driver_has_device_files(void)
{
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

void rt_driver_error(const struct rt_driver *d, int code, char *text, size_t n)
{
    const char *name = NULL, *words = NULL;
    if (d->cuGetErrorName(code, &name) != 0 || d->cuGetErrorString(code, &words) != 0)
        snprintf(text, n, "error %d", code);
    else
        snprintf(text, n, "%s: %s", name, words);
}

int rt_driver_device(const struct rt_driver *d, int number, struct rt_driver_device *out)
{
    cu_device device;
    int major = 0, minor = 0;
    size_t memory = 0;
    memset(out, 0, sizeof *out);
    if (d->cuDeviceGet(&device, number) != 0 || d->cuDeviceGetName(out->name, (int)sizeof out->name - 1, device) != 0 ||
        d->cuDeviceGetAttribute(&major, CU_ARCH_MAJOR, device) != 0 ||
        d->cuDeviceGetAttribute(&minor, CU_ARCH_MINOR, device) != 0 || d->cuDeviceTotalMem(&memory, device) != 0)
        return -1;
    out->arch = major * 10 + minor;
    out->memory = memory;
    return 0;
}

static bool is_linked(const struct rt_driver *d, int from, int to)
{
    cu_device a, b;
    int access = 0, atomics = 0;
    return d->cuDeviceGet(&a, from) == 0 && d->cuDeviceGet(&b, to) == 0 &&
           d->cuDeviceGetP2PAttribute(&access, CU_P2P_ACCESS, a, b) == 0 && access &&
           d->cuDeviceGetP2PAttribute(&atomics, CU_P2P_ATOMICS, a, b) == 0 && atomics;
}

bool rt_driver_has_links(const struct rt_driver *d, const int *numbers, int n)
{
    bool any = false;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (numbers[i] != numbers[k]) {
                if (!is_linked(d, numbers[i], numbers[k]))
                    return false;
                any = true;
            }
    return any;
}
