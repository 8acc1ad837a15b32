/* The table of operations of a device (runtime/gpu/device.h): streams, events, page-locked memory, copies between
 * devices.
 *
 *   test_devices           on two emulated devices
 *   test_devices cuda      on the first one or two GPUs
 *   test_devices driver    the same calls of the driver, to a library that checks them (fake_driver.c) */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/cuda_device.h"
#include "runtime/gpu/driver.h"
#include "runtime/gpu/nvrtc.h"
#include "tests/simt/check.h"
#include "tests/simt/sim_compiler.h"
#include "tests/simt/sim_device.h"

enum { DEVICES = 2, BYTES = 3 << 20, THREADS = 128, ROUNDS = 2000, ORDERS = 1 << RT_NSTREAMS };

static struct rt_device *device[DEVICES];
static int ndevices;
static struct rt_compiler *compiler;
static struct hd_err err;

static void ok(int rc, const char *what)
{
    CHECK(rc == 0, "%s: %s", what, err.message);
}
#define OK(call) ok(call, #call)

/* ---- devices ----------------------------------------------------------------------------- */

static void open_emulators(uint32_t prompt)
{
    struct sim_device_options o;
    sim_device_options_init(&o);
    o.prompt = prompt;
    for (ndevices = 0; ndevices < DEVICES; ndevices++)
        OK(sim_device_open(&o, &device[ndevices], &err));
    OK(sim_compiler_open(&compiler, &err));
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

/* The driver of the tests knows the kernel. NVRTC opens the driver too, and would have more of it. */
static int copy_source(struct rt_compiler *c HD_UNUSED, const char *name HD_UNUSED, const char *text,
                       struct rt_bytes *image, struct hd_err *e HD_UNUSED)
{
    *image = (struct rt_bytes){(unsigned char *)strdup(text), strlen(text)};
    return 0;
}

static void close_nothing(struct rt_compiler *c HD_UNUSED)
{
}

static void close_all(void)
{
    compiler->close(compiler);
    for (int i = 0; i < ndevices; i++)
        device[i]->ops->close(device[i]);
}

static struct rt_device *enter(struct rt_device *d)
{
    if (d->ops->enter)
        d->ops->enter(d);
    return d;
}

static void leave(struct rt_device *d)
{
    if (d->ops->leave)
        d->ops->leave(d);
}

/* ---- memory ------------------------------------------------------------------------------ */

static struct rt_place alloc(struct rt_device *d, size_t n)
{
    struct rt_place p = {.device = d};
    enter(d);
    OK(d->ops->alloc(d, n, &p.address, &err));
    CHECK(p.address % 256 == 0, "address %llx", (unsigned long long)p.address);
    leave(d);
    return p;
}

static void release(struct rt_place p)
{
    enter(p.device);
    p.device->ops->free(p.device, p.address);
    leave(p.device);
}

static unsigned char *take_locked(struct rt_device *d, size_t n)
{
    void *p;
    enter(d);
    OK(d->ops->host_alloc(d, n, &p, &err));
    leave(d);
    return p;
}

static void give_locked(struct rt_device *d, void *p)
{
    enter(d);
    d->ops->host_free(d, p);
    leave(d);
}

/* Numbers that follow from the seed. */
static unsigned number(size_t i, unsigned seed)
{
    return (unsigned)(i * 2654435761u) ^ (seed * 40503u);
}

static void fill(void *to, size_t n, unsigned seed)
{
    unsigned *p = to;
    for (size_t i = 0; i < n / sizeof *p; i++)
        p[i] = number(i, seed);
}

static bool is(const void *at, size_t n, unsigned seed)
{
    const unsigned *p = at;
    for (size_t i = 0; i < n / sizeof *p; i++)
        if (p[i] != number(i, seed))
            return false;
    return true;
}

static bool device_is(struct rt_place at, size_t n, unsigned seed)
{
    static unsigned char got[BYTES];
    struct rt_device *d = enter(at.device);
    OK(d->ops->download(d, got, at.address, n, &err));
    leave(d);
    return is(got, n, seed);
}

static void put(struct rt_place at, size_t n, unsigned seed)
{
    static unsigned char bytes[BYTES];
    struct rt_device *d = enter(at.device);
    fill(bytes, n, seed);
    OK(d->ops->upload(d, at.address, bytes, n, &err));
    memset(bytes, 0, n); /* it is the caller's again */
    OK(d->ops->sync(d, &err));
    leave(d);
}

/* ---- a kernel that takes its time -------------------------------------------------------- */

static const char source[] = "#include \"hd/finish_grid.cuh\"\n"
                             "struct test_args { u64 to, from, n; u32 blocks, rounds; };\n"
                             "HDD_KERNEL(test_move)(HDD_PARAMETER(test_args, p))\n"
                             "{\n"
                             "    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {\n"
                             "        u32 wait = 0;\n"
                             "        for (u32 k = 0; k < p.rounds; k++)\n"
                             "            wait |= hdd_load_relaxed(hdd_at<const u32>(p.from) + i) & 0;\n"
                             "        hdd_at<u32>(p.to)[i] = hdd_at<u32>(p.from)[i] | wait;\n"
                             "    }\n"
                             "}\n";

struct test_args {
    uint64_t to, from, n;
    uint32_t blocks, rounds;
};

struct code {
    rt_module *module;
    rt_function *function;
};

static struct code load(struct rt_device *d)
{
    struct code c;
    struct rt_bytes image;
    struct rt_function_info info;
    if (compiler->compile(compiler, "test", source, &image, &err) != 0)
        CHECK(false, "%s %s", err.message, err.detail ? err.detail : "");
    OK(d->ops->load(d, image.p, image.n, &c.module, &err));
    OK(d->ops->find(d, c.module, "test_move", THREADS, 0, &c.function, &info, &err));
    rt_bytes_release(&image);
    return c;
}

/* Queued on the compute stream of to's device. n: bytes. */
static void move(const struct code *c, struct rt_place to, struct rt_place from, size_t n)
{
    struct rt_device *d = to.device;
    struct test_args a = {to.address, from.address, n / 4, 2, d->info.arch ? ROUNDS : 1};
    const struct rt_launch l = {.blocks = a.blocks, .threads = THREADS, .nparams = 1, .param = {{&a, sizeof a}}};
    OK(d->ops->launch(d, c->function, &l, &err));
    memset(&a, 0xee, sizeof a); /* the launch has its own */
}

/* ---- one device: streams ----------------------------------------------------------------- */

/* One stream goes on after what another has queued so far. The event can go at once. */
static void then(struct rt_device *d, enum rt_stream before, enum rt_stream after)
{
    rt_event *e;
    OK(d->ops->record(d, before, &e, &err));
    OK(d->ops->stream_wait(d, after, e, &err));
    d->ops->event_free(d, e);
}

enum { PIECES = 6, PIECE = 16384 };

/* Pieces go in through one buffer, are moved by a kernel, and come out of another one. Each of four waits keeps
 * something from being overwritten or read early; `without` leaves one out. */
static bool pipeline_of_pieces(struct rt_device *d, int without)
{
    struct rt_place in = alloc(d, PIECE), out = alloc(d, PIECE);
    unsigned char *from = take_locked(d, PIECES * PIECE), *to = take_locked(d, PIECES * PIECE);
    bool right = true;
    for (unsigned k = 0; k < PIECES; k++)
        fill(from + k * PIECE, PIECE, k + 1);
    put(in, PIECE, 77);
    put(out, PIECE, 78);
    memset(to, 0, PIECES * PIECE);
    enter(d);
    struct code c = load(d);
    for (unsigned k = 0; k < PIECES; k++) {
        if (without != 0) /* the kernel before has read `in` */
            then(d, RT_STREAM_COMPUTE, RT_STREAM_IN);
        OK(d->ops->upload_async(d, RT_STREAM_IN, in.address, from + k * PIECE, PIECE, &err));
        if (without != 1)
            then(d, RT_STREAM_IN, RT_STREAM_COMPUTE);
        if (without != 2) /* the piece before has left `out` */
            then(d, RT_STREAM_OUT, RT_STREAM_COMPUTE);
        move(&c, out, in, PIECE);
        if (without != 3)
            then(d, RT_STREAM_COMPUTE, RT_STREAM_OUT);
        OK(d->ops->download_async(d, RT_STREAM_OUT, to + k * PIECE, out.address, PIECE, &err));
    }
    for (enum rt_stream s = RT_STREAM_COMPUTE; s < RT_NSTREAMS; s++)
        OK(d->ops->stream_sync(d, s, &err));
    d->ops->unload(d, c.module);
    leave(d);
    for (unsigned k = 0; k < PIECES; k++)
        right = right && is(to + k * PIECE, PIECE, k + 1);
    give_locked(d, to);
    give_locked(d, from);
    release(out);
    release(in);
    return right;
}

/* A chain from one buffer to the next, each cleared before it is filled; `at` is where it begins. */
static void chain(struct rt_device *d, const struct code *c, const struct rt_place at[3], size_t n)
{
    for (int i = 1; i < 3; i++) {
        OK(d->ops->set(d, at[i].address, 0xee, n, &err));
        move(c, at[i], at[i - 1], n);
    }
}

/* Batches of the same kernels over and over: at the same addresses and at others, longer ones, ones that end in the middle
 * because something else is queued, and with the code loaded anew. What comes out is what comes without them. */
static void test_batches(struct rt_device *d)
{
    enum { ROUNDS_OF_BATCHES = 24, CODES = 2 };
    struct rt_place at[4];
    for (int i = 0; i < 4; i++)
        at[i] = alloc(d, PIECE);
    for (unsigned k = 0; k < ROUNDS_OF_BATCHES * CODES; k++) {
        static struct code c;
        const struct rt_place way[3] = {at[0], at[k % 3 == 2 ? 3 : 1], at[2]};
        static unsigned char from[PIECE];
        enter(d);
        if (k % ROUNDS_OF_BATCHES == 0)
            c = load(d);
        fill(from, PIECE, k);
        OK(d->ops->upload(d, at[0].address, from, PIECE, &err));
        d->ops->batch_begin(d);
        for (unsigned again = 0; again <= k % 5; again++)
            chain(d, &c, way, PIECE);
        if (k % 4 == 3) { /* the second part sees what is uploaded in the middle, the first one what was there before */
            fill(from, PIECE, k + 100);
            OK(d->ops->upload(d, at[0].address, from, PIECE, &err));
            move(&c, way[1], way[0], PIECE);
        }
        if (k % 2)
            OK(d->ops->batch_end(d, &err));
        leave(d);
        CHECK(device_is(way[2], PIECE, k), "batch %u", k);
        CHECK(device_is(way[1], PIECE, k % 4 == 3 ? k + 100 : k), "batch %u, behind an upload", k);
        enter(d);
        OK(d->ops->batch_end(d, &err));
        if (k % ROUNDS_OF_BATCHES == ROUNDS_OF_BATCHES - 1)
            d->ops->unload(d, c.module);
        leave(d);
    }
    for (int i = 0; i < 4; i++)
        release(at[i]);
}

/* What the host does with events: asks, waits, measures. */
static void test_events(struct rt_device *d)
{
    struct rt_place a = alloc(d, PIECE), b = alloc(d, PIECE);
    unsigned char *host = take_locked(d, PIECE);
    rt_event *e, *from, *to;
    bool done = false;
    double ms = -1;
    put(a, PIECE, 3);
    enter(d);
    struct code c = load(d);
    OK(d->ops->event(d, &from, &err));
    move(&c, b, a, PIECE);
    OK(d->ops->event(d, &to, &err));
    then(d, RT_STREAM_COMPUTE, RT_STREAM_OUT);
    OK(d->ops->download_async(d, RT_STREAM_OUT, host, b.address, PIECE, &err));
    OK(d->ops->record(d, RT_STREAM_OUT, &e, &err));
    while (!done)
        OK(d->ops->event_done(d, e, &done, &err));
    CHECK(is(host, PIECE, 3), "an event that is done too early");
    memset(host, 0, PIECE);
    OK(d->ops->download_async(d, RT_STREAM_OUT, host, b.address, PIECE, &err));
    d->ops->event_free(d, e);
    OK(d->ops->record(d, RT_STREAM_OUT, &e, &err));
    OK(d->ops->event_sync(d, e, &err));
    CHECK(is(host, PIECE, 3), "an event that was waited for");
    d->ops->event_free(d, e);
    OK(d->ops->elapsed(d, from, to, &ms, &err));
    CHECK(ms > 0, "%g ms", ms);
    d->ops->event_free(d, from);
    d->ops->event_free(d, to);
    d->ops->unload(d, c.module);
    leave(d);
    give_locked(d, host);
    release(b);
    release(a);
}

/* Memory of the caller's, page-locked for a while. */
static void test_registered(struct rt_device *d)
{
    void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct rt_place a = alloc(d, BYTES);
    CHECK(p != MAP_FAILED, "no memory");
    fill(p, BYTES, 8);
    enter(d);
    for (int turn = 0; turn < 2; turn++) {
        OK(d->ops->host_register(d, p, BYTES, &err));
        CHECK(d->ops->host_register(d, p, BYTES, NULL) != 0, "registered twice");
        OK(d->ops->upload_async(d, RT_STREAM_IN, a.address, p, BYTES, &err));
        OK(d->ops->stream_sync(d, RT_STREAM_IN, &err));
        d->ops->host_unregister(d, p);
    }
    leave(d);
    CHECK(device_is(a, BYTES, 8), "bytes of registered memory");
    munmap(p, BYTES);
    release(a);
}

/* More kinds of batches than there are graphs for, each three times in a row (queued, as a new graph, by that graph), and all of
 * them again when the first ones have made room. */
static void test_kinds_of_batches(struct rt_device *d)
{
    enum { KINDS = 150, TURNS = 3, STEP = 16 };
    struct rt_place at[3];
    struct code c;
    for (int i = 0; i < 3; i++)
        at[i] = alloc(d, PIECE);
    enter(d);
    c = load(d);
    leave(d);
    for (unsigned k = 0; k < 2 * KINDS * TURNS; k++) {
        static unsigned char from[PIECE];
        size_t n = PIECE - k / TURNS % KINDS * STEP;
        fill(from, PIECE, k);
        enter(d);
        OK(d->ops->upload(d, at[0].address, from, PIECE, &err));
        d->ops->batch_begin(d);
        chain(d, &c, at, n);
        OK(d->ops->batch_end(d, &err));
        leave(d);
        CHECK(device_is(at[2], n, k), "batch %u of %zu bytes", k, n);
    }
    enter(d);
    d->ops->unload(d, c.module);
    leave(d);
    for (int i = 0; i < 3; i++)
        release(at[i]);
}

/* Operations without a stream are in order with the compute stream's, but for those of others. */
static void test_one(struct rt_device *d)
{
    struct rt_place a = alloc(d, BYTES), b = alloc(d, BYTES);
    put(a, BYTES, 1);
    enter(d);
    OK(d->ops->set(d, b.address, 0, BYTES, &err));
    OK(d->ops->copy(d, b.address, a.address, BYTES, &err));
    OK(d->ops->set(d, a.address, 0, BYTES, &err));
    leave(d);
    CHECK(device_is(b, BYTES, 1), "operations of one stream are in order");
    release(a);
    release(b);
    CHECK(pipeline_of_pieces(d, -1), "pieces through three streams");
    test_batches(d);
    test_kinds_of_batches(d);
    test_events(d);
    test_registered(d);
}

/* ---- two devices ------------------------------------------------------------------------- */

/* The receiver's stream waits for the sender's kernel, its kernel for the bytes. */
static void test_pull(struct rt_device *a, struct rt_device *b, enum rt_stream s)
{
    struct rt_place first = alloc(a, PIECE), from = alloc(a, PIECE), to = alloc(b, PIECE), last = alloc(b, PIECE);
    rt_event *sent, *arrived;
    put(first, PIECE, 5);
    put(to, PIECE, 6);
    enter(a);
    struct code on_a = load(a);
    move(&on_a, from, first, PIECE);
    OK(a->ops->record(a, RT_STREAM_COMPUTE, &sent, &err));
    leave(a);
    enter(b);
    struct code on_b = load(b);
    OK(b->ops->stream_wait(b, s, sent, &err));
    OK(b->ops->copy_peer(b, s, to, from, PIECE, &err));
    OK(b->ops->record(b, s, &arrived, &err));
    OK(b->ops->stream_wait(b, RT_STREAM_COMPUTE, arrived, &err));
    move(&on_b, last, to, PIECE);
    leave(b);
    CHECK(device_is(last, PIECE, 5), "bytes of the other device");
    enter(b);
    b->ops->event_free(b, arrived);
    b->ops->unload(b, on_b.module);
    leave(b);
    enter(a);
    a->ops->event_free(a, sent);
    a->ops->unload(a, on_a.module);
    leave(a);
    release(last);
    release(to);
    release(from);
    release(first);
}

/* Sent by the other side, a part of the bytes; through page-locked memory that the other device made. */
static void test_push(struct rt_device *a, struct rt_device *b)
{
    struct rt_place from = alloc(a, BYTES), to = alloc(b, BYTES);
    const struct rt_place part = {a, from.address + 512}, there = {b, to.address + 256};
    unsigned char *host = take_locked(b, 1024);
    fill(host, 1024, 9);
    enter(a);
    OK(a->ops->upload_async(a, RT_STREAM_OUT, part.address, host, 1024, &err));
    OK(a->ops->copy_peer(a, RT_STREAM_OUT, there, part, 1024, &err));
    OK(a->ops->stream_sync(a, RT_STREAM_OUT, &err));
    leave(a);
    CHECK(device_is(there, 1024, 9), "bytes that the other device sent");
    give_locked(b, host);
    release(to);
    release(from);
}

/* A kernel of one device reads the other's memory, where the machine lets it. */
static void test_direct(struct rt_device *a, struct rt_device *b)
{
    struct rt_place from = alloc(b, PIECE), to = alloc(a, PIECE);
    bool direct = false, again = false;
    put(from, PIECE, 12);
    enter(a);
    OK(a->ops->open_peer(a, b, &direct, &err));
    OK(a->ops->open_peer(a, b, &again, &err));
    CHECK(direct == again, "access changes");
    if (direct) {
        struct code c = load(a);
        move(&c, to, from, PIECE);
        OK(a->ops->sync(a, &err));
        a->ops->unload(a, c.module);
    }
    leave(a);
    CHECK(!direct || device_is(to, PIECE, 12), "the other device's memory");
    release(to);
    release(from);
    printf("%s\n", direct ? "direct access" : "no direct access");
}

static void test_two(struct rt_device *a, struct rt_device *b)
{
    for (enum rt_stream s = RT_STREAM_COMPUTE; s < RT_NSTREAMS; s++)
        test_pull(a, b, s);
    test_push(a, b);
    test_direct(a, b);
    test_pull(a, b, RT_STREAM_IN);
    test_pull(b, a, RT_STREAM_OUT);
    test_push(b, a);
}

/* ---- what a GPU does not show ------------------------------------------------------------ */

/* Whoever leaves a wait out gets wrong bytes in some order of the streams. */
static void test_missing_waits(void)
{
    bool shown[4] = {false};
    for (uint32_t prompt = 0; prompt < ORDERS; prompt++) {
        open_emulators(prompt);
        for (int without = 0; without < 4; without++)
            shown[without] |= !pipeline_of_pieces(device[0], without);
        close_all();
    }
    for (int without = 0; without < 4; without++)
        CHECK(shown[without], "wait %d is not missed", without);
}

/* Who waits for a lost device is told, and is not lost; the lost one comes back. queued: nobody knows yet that it is. */
static void test_lost(bool queued)
{
    struct rt_device *a = device[0], *b = device[1];
    struct rt_place from = alloc(a, PIECE), to = alloc(b, PIECE);
    rt_event *before, *after;
    bool direct;
    put(to, PIECE, 4);
    enter(a);
    struct code c = load(a);
    OK(a->ops->record(a, RT_STREAM_COMPUTE, &before, &err));
    CHECK(hd_fault_arm("device:1"), "no fault");
    a->ops->batch_begin(a);
    move(&c, from, from, PIECE);
    if (queued) {
        OK(a->ops->record(a, RT_STREAM_COMPUTE, &after, &err));
        OK(b->ops->stream_wait(b, RT_STREAM_IN, after, &err));
        b->ops->copy_peer(b, RT_STREAM_IN, to, from, PIECE, NULL); /* fails if it knows already */
        CHECK(b->ops->stream_sync(b, RT_STREAM_IN, &err) != 0, "a wait for nothing");
        a->ops->event_free(a, after);
    }
    CHECK(a->ops->sync(a, NULL) != 0, "a lost device works");
    CHECK(a->lost && !b->lost, "the wrong device is lost");
    leave(a);
    enter(b);
    CHECK(b->ops->stream_wait(b, RT_STREAM_IN, before, NULL) != 0, "a lost device's event");
    CHECK(b->ops->copy_peer(b, RT_STREAM_IN, to, from, PIECE, NULL) != 0, "a lost device's memory");
    CHECK(b->ops->open_peer(b, a, &direct, NULL) != 0, "a lost device's access");
    CHECK(!b->lost, "both devices are lost");
    leave(b);
    enter(a);
    a->ops->event_free(a, before);
    a->ops->unload(a, c.module);
    leave(a);
    release(from);
    hd_fault_arm("");
    CHECK(device_is(to, PIECE, 4), "what the other device had");
    OK(a->ops->reset(a, &err));
    from = alloc(a, PIECE);
    put(from, PIECE, 5);
    CHECK(device_is(from, PIECE, 5), "a device made anew");
    release(from);
    release(to);
}

static int on_emulators(void)
{
    for (uint32_t prompt = 0; prompt < ORDERS; prompt++) {
        open_emulators(prompt);
        test_one(device[0]);
        test_two(device[0], device[0]);
        test_two(device[0], device[1]);
        test_lost(!(prompt >> RT_STREAM_COMPUTE & 1)); /* else the kernel is through before anybody waits */
        hd_err_release(&err);
        for (int i = 0; i < ndevices; i++)
            CHECK(sim_device_live(device[i]) == 0, "memory of device %d is left", i);
        close_all();
    }
    test_missing_waits();
    return 0;
}

/* Of the driver of the tests. What it refused is not asked for again. */
static void check_graphs(int devices)
{
    enum { GRAPHS_MAX = 128, GRANTED = 2 };
    int (*graphs)(int *launches);
    int launches;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *p = driver ? dlsym(driver, "fake_driver_graphs") : NULL;
    const char *refused = getenv("FAKE_DRIVER_REFUSES");
    CHECK(p, "this is not the driver of the tests");
    memcpy(&graphs, &p, sizeof p);
    int live = graphs(&launches);
    CHECK(live <= GRAPHS_MAX * devices, "%d graphs", live);
    if (!refused)
        CHECK(launches > 2 * GRAPHS_MAX, "%d launches of graphs", launches);
    else if (strcmp(refused, "launch") == 0)
        CHECK(launches == GRANTED, "%d launches of graphs", launches);
    dlclose(driver);
}

/* A device has no link to itself, and none that lacks access or native atomic operations is one. */
static void check_links(void)
{
    const int two[] = {0, 1}, three[] = {1, 0, 0}, one[] = {1, 1}, none[] = {0, 99};
    const struct rt_driver *cu;
    bool linked = !getenv("FAKE_DRIVER_APART") && !getenv("FAKE_DRIVER_PCIE");
    OK(rt_driver_get(&cu, &err));
    CHECK(rt_driver_has_links(cu, two, 2) == linked, "links of two devices");
    CHECK(rt_driver_has_links(cu, three, 3) == linked, "links of two devices, one named twice");
    CHECK(!rt_driver_has_links(cu, one, 2) && !rt_driver_has_links(cu, two, 1), "links of one device");
    CHECK(!rt_driver_has_links(cu, none, 2), "links of a device that is not there");
    printf("%s\n", linked ? "links" : "no links");
}

static int on_driver(bool fake)
{
    static struct rt_compiler none = {.compile = copy_source, .close = close_nothing};
    struct rt_nvrtc *nvrtc;
    if (!open_gpus() || (!fake && rt_nvrtc_open(NULL, &nvrtc, &err) != 0)) {
        printf("skipped: %s\n", err.message);
        return CHECK_SKIPPED;
    }
    compiler = &none;
    if (!fake)
        OK(rt_nvrtc_compiler(nvrtc, device[0]->info.arch, &compiler, &err));
    for (int i = 0; i < ndevices; i++)
        test_one(device[i]);
    if (fake) {
        check_links();
        check_graphs(ndevices);
    }
    test_two(device[0], device[0]);
    if (ndevices > 1)
        test_two(device[0], device[1]);
    if (fake) { /* where a kernel that does nothing uses address 0 */
        test_lost(false);
        test_two(device[0], device[1]);
    }
    printf("%d devices\n", ndevices);
    close_all();
    return 0;
}

int main(int argc, char **argv)
{
    hd_err_init(&err);
    return argc < 2 ? on_emulators() : on_driver(strcmp(argv[1], "driver") == 0);
}
