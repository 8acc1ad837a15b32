/* The table of operations of a device (runtime/gpu/device.h): streams, events, copies between devices.
 *
 *   test_devices [cuda]    on two emulated devices, or on the first one or two GPUs */
#include <string.h>

#include "runtime/gpu/cuda_device.h"
#include "runtime/gpu/driver.h"
#include "tests/simt/check.h"
#include "tests/simt/sim_device.h"

enum { DEVICES = 2, BYTES = 3 << 20 };

static struct rt_device *device[DEVICES];
static int ndevices;
static struct hd_err err;

static void ok(int rc, const char *what)
{
    CHECK(rc == 0, "%s: %s", what, err.message);
}
#define OK(call) ok(call, #call)

/* ---- two devices ------------------------------------------------------------------------- */

static void open_emulators(void)
{
    struct sim_device_options o;
    sim_device_options_init(&o);
    for (ndevices = 0; ndevices < DEVICES; ndevices++)
        OK(sim_device_open(&o, &device[ndevices], &err));
}

/* False: there is no GPU. */
static bool open_gpus(void)
{
    const struct rt_driver *cu;
    if (rt_driver_get(&cu, &err) != 0)
        return false;
    for (ndevices = 0; ndevices < HD_MIN(DEVICES, cu->ndevices); ndevices++)
        OK(rt_cuda_open(ndevices, &device[ndevices], &err));
    return true;
}

static void enter(struct rt_device *d)
{
    if (d->ops->enter)
        d->ops->enter(d);
}

static void leave(struct rt_device *d)
{
    if (d->ops->leave)
        d->ops->leave(d);
}

static struct rt_place take(struct rt_device *d, size_t n)
{
    struct rt_place p = {.device = d};
    enter(d);
    OK(d->ops->alloc(d, n, &p.address, &err));
    leave(d);
    return p;
}

static void give(struct rt_place p)
{
    enter(p.device);
    p.device->ops->free(p.device, p.address);
    leave(p.device);
}

/* Bytes that follow from the seed. */
static void fill(unsigned char *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)((i * 31 + (i >> 8) * 7) ^ seed);
}

static void expect(struct rt_place at, size_t n, unsigned seed, const char *what)
{
    static unsigned char got[BYTES], want[BYTES];
    struct rt_device *d = at.device;
    enter(d);
    OK(d->ops->download(d, got, at.address, n, &err));
    leave(d);
    fill(want, n, seed);
    CHECK(memcmp(got, want, n) == 0, "%s", what);
}

/* ---- cases ------------------------------------------------------------------------------- */

/* The receiver's stream waits for the sender's upload, its own download for the copy. */
static void test_copy_peer(struct rt_device *a, struct rt_device *b, enum rt_stream s)
{
    static unsigned char bytes[BYTES];
    struct rt_place from = take(a, BYTES), to = take(b, BYTES);
    rt_event *sent, *arrived;
    fill(bytes, BYTES, 5);
    enter(a);
    OK(a->ops->upload(a, from.address, bytes, BYTES, &err));
    OK(a->ops->record(a, RT_STREAM_COMPUTE, &sent, &err));
    leave(a);
    enter(b);
    OK(b->ops->stream_wait(b, s, sent, &err));
    OK(b->ops->copy_peer(b, s, to, from, BYTES, &err));
    OK(b->ops->record(b, s, &arrived, &err));
    OK(b->ops->stream_wait(b, RT_STREAM_COMPUTE, arrived, &err));
    leave(b);
    expect(to, BYTES, 5, "bytes of the other device");
    enter(b);
    b->ops->event_free(b, arrived);
    leave(b);
    enter(a);
    a->ops->event_free(a, sent);
    leave(a);
    give(to);
    give(from);
}

/* Sent by the other side, a part of the bytes. */
static void test_push(struct rt_device *a, struct rt_device *b)
{
    static unsigned char bytes[BYTES];
    struct rt_place from = take(a, BYTES), to = take(b, BYTES);
    fill(bytes, 1000, 9);
    enter(a);
    OK(a->ops->upload(a, from.address + 512, bytes, 1000, &err));
    struct rt_place part = {a, from.address + 512}, there = {b, to.address + 256};
    OK(a->ops->copy_peer(a, RT_STREAM_COMPUTE, there, part, 1000, &err));
    OK(a->ops->sync(a, &err));
    leave(a);
    expect(there, 1000, 9, "bytes that the other device sent");
    give(to);
    give(from);
}

static void test_two(struct rt_device *a, struct rt_device *b)
{
    bool direct = false, again = false;
    for (enum rt_stream s = RT_STREAM_COMPUTE; s < RT_NSTREAMS; s++)
        test_copy_peer(a, b, s);
    test_push(a, b);
    enter(a);
    OK(a->ops->open_peer(a, b, &direct, &err));
    OK(a->ops->open_peer(a, b, &again, &err));
    leave(a);
    CHECK(direct == again, "access changes");
    test_copy_peer(a, b, RT_STREAM_IN);
    test_copy_peer(b, a, RT_STREAM_OUT);
    test_push(a, b);
}

int main(int argc, char **argv HD_UNUSED)
{
    hd_err_init(&err);
    if (argc < 2) {
        open_emulators();
    } else if (!open_gpus()) {
        printf("skipped: %s\n", err.message);
        return CHECK_SKIPPED;
    }
    test_two(device[0], device[0]);
    if (ndevices > 1)
        test_two(device[0], device[1]);
    printf("%d devices\n", ndevices);
    for (int i = 0; i < ndevices; i++)
        device[i]->ops->close(device[i]);
    return 0;
}
