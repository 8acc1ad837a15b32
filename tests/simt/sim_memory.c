/* Memory of emulated devices: host memory between guard bytes; and page-locked memory of the host. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/simt/sim_internal.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   __asan_poison_memory_region(p, n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum { GUARD = 256, GUARD_BYTE = 0xa5 };

struct sim_buffer {
    struct sim_buffer *next;
    unsigned char *base; /* guard, n bytes, guard */
    size_t n;
};

/* As memory that others have used: no two words are alike. */
static void fill_fresh(unsigned char *p, size_t n)
{
    uint64_t word = UINT64_C(0xcdcdcdcdcdcdcdcd);
    for (size_t at = 0; at < n; at += sizeof word, word += UINT64_C(0x9e3779b97f4a7c15))
        memcpy(p + at, &word, n - at < sizeof word ? n - at : sizeof word);
}

/* ---- of a device ------------------------------------------------------------------------- */

static void set_guard(unsigned char *p)
{
    memset(p, GUARD_BYTE, GUARD);
    POISON(p, GUARD);
}

static bool guard_intact(unsigned char *p)
{
    bool ok = true;
    UNPOISON(p, GUARD);
    for (size_t i = 0; i < GUARD; i++)
        ok = ok && p[i] == GUARD_BYTE;
    POISON(p, GUARD);
    return ok;
}

static bool buffer_intact(const struct sim_buffer *b)
{
    return guard_intact(b->base) && guard_intact(b->base + GUARD + b->n);
}

const struct sim_buffer *sim_overrun(const struct sim *e, size_t *n)
{
    const struct sim_buffer *b = e->buffers;
    while (b && buffer_intact(b))
        b = b->next;
    if (b)
        *n = b->n;
    return b;
}

int sim_alloc(struct rt_device *d, size_t n, uint64_t *address, struct hd_err *err)
{
    struct sim *e = sim_of(d);
    void *p;
    SIM_LOCK();
    HD_TRY(rt_device_alive(d, err));
    struct sim_buffer *b = malloc(sizeof *b);
    if (!b || e->used + n > e->o.memory || posix_memalign(&p, GUARD, n + 2 * GUARD) != 0) {
        free(b);
        return HD_FAIL(err, RESOURCE, NULL, "the device has no %zu bytes left", n);
    }
    *b = (struct sim_buffer){.next = e->buffers, .base = p, .n = n};
    fill_fresh(b->base + GUARD, n);
    set_guard(b->base);
    set_guard(b->base + GUARD + n);
    e->buffers = b;
    e->used += n;
    *address = (uintptr_t)(b->base + GUARD);
    return 0;
}

static void free_buffer(struct sim *e, struct sim_buffer **at)
{
    struct sim_buffer *b = *at;
    if (!buffer_intact(b))
        HD_BUG("something wrote beside a device buffer of %zu bytes", b->n);
    *at = b->next;
    e->used -= b->n;
    UNPOISON(b->base, b->n + 2 * GUARD);
    free(b->base);
    free(b);
}

void sim_free(struct rt_device *d, uint64_t address)
{
    struct sim *e = sim_of(d);
    SIM_LOCK();
    sim_finish(e);
    for (struct sim_buffer **at = &e->buffers; *at; at = &(*at)->next)
        if ((uintptr_t)((*at)->base + GUARD) == address) {
            free_buffer(e, at);
            return;
        }
    HD_BUG("address %llx is no device buffer", (unsigned long long)address);
}

void sim_free_all(struct sim *e)
{
    while (e->buffers)
        free_buffer(e, &e->buffers);
}

uint64_t sim_device_live(const struct rt_device *d)
{
    uint64_t n = 0;
    for (const struct sim_buffer *b = sim_of(d)->buffers; b; b = b->next)
        n++;
    return n;
}

/* ---- page-locked ------------------------------------------------------------------------- */

/* Any device's transfers may use any of it. */
static struct locked {
    struct locked *next;
    const struct sim *owner;
    unsigned char *p;
    size_t n;
    bool registered; /* the caller's memory */
} *all_locked;

static int add_locked(struct rt_device *d, void *p, size_t n, bool registered, struct hd_err *err)
{
    struct locked *l = malloc(sizeof *l);
    if (!l)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    *l = (struct locked){all_locked, sim_of(d), p, n, registered};
    all_locked = l;
    return 0;
}

static void drop_locked(struct locked **at)
{
    struct locked *l = *at;
    *at = l->next;
    if (!l->registered)
        free(l->p);
    free(l);
}

static void remove_locked(struct rt_device *d, const void *p, bool registered)
{
    for (struct locked **at = &all_locked; *at; at = &(*at)->next)
        if ((*at)->p == p && (*at)->owner == sim_of(d) && (*at)->registered == registered) {
            drop_locked(at);
            return;
        }
    HD_BUG("%p is no page-locked memory of this device", p);
}

static size_t page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int sim_host_alloc(struct rt_device *d, size_t n, void **p, struct hd_err *err)
{
    void *fresh;
    SIM_LOCK();
    HD_TRY(rt_device_alive(d, err));
    if (posix_memalign(&fresh, page(), HD_MAX(n, (size_t)1)) != 0)
        return HD_FAIL(err, RESOURCE, NULL, "no memory to lock");
    fill_fresh(fresh, n);
    if (add_locked(d, fresh, n, false, err) != 0) {
        free(fresh);
        return -1;
    }
    *p = fresh;
    return 0;
}

void sim_host_free(struct rt_device *d, void *p)
{
    SIM_LOCK();
    remove_locked(d, p, false);
}

int sim_host_register(struct rt_device *d, void *p, size_t n, struct hd_err *err)
{
    SIM_LOCK();
    HD_TRY(rt_device_alive(d, err));
    if ((uintptr_t)p % page() || n % page() || n == 0)
        HD_BUG("%zu bytes at %p are no whole pages", n, p);
    for (const struct locked *l = all_locked; l; l = l->next)
        if (l->p < (unsigned char *)p + n && (unsigned char *)p < l->p + l->n)
            return HD_FAIL(err, EXEC, NULL, "the memory is page-locked already");
    return add_locked(d, p, n, true, err);
}

void sim_host_unregister(struct rt_device *d, void *p)
{
    SIM_LOCK();
    remove_locked(d, p, true);
}

void sim_host_close(struct sim *e)
{
    for (struct locked **at = &all_locked; *at;)
        if ((*at)->owner == e)
            drop_locked(at);
        else
            at = &(*at)->next;
}

/* ---- what is used ------------------------------------------------------------------------ */

static bool is_locked(const unsigned char *p, size_t n)
{
    const struct locked *l = all_locked;
    while (l && (p < l->p || p + n > l->p + l->n))
        l = l->next;
    return l != NULL;
}

static struct {
    uintptr_t begin, end;
} foreign;

void sim_device_lend(const void *p, size_t n)
{
    foreign.begin = (uintptr_t)p;
    foreign.end = foreign.begin + n;
}

static bool in_buffer(const struct sim *e, uint64_t address, size_t n)
{
    for (const struct sim_buffer *b = e->buffers; b; b = b->next) {
        uint64_t from = (uintptr_t)(b->base + GUARD);
        if (address >= from && address + n <= from + b->n)
            return true;
    }
    return address >= foreign.begin && address + n <= foreign.end;
}

bool sim_owns(struct rt_device *d, uint64_t address)
{
    return in_buffer(sim_of(d), address, 1);
}

unsigned char *sim_bytes(struct rt_place at, size_t n)
{
    unsigned char *p = (unsigned char *)(uintptr_t)at.address;
    if (!at.device) {
        if (!is_locked(p, n))
            HD_BUG("%zu bytes at %p are not page-locked", n, (void *)p);
        return p;
    }
    if (in_buffer(sim_of(at.device), at.address, n))
        return p;
    HD_BUG("%zu bytes at %p are in no buffer of the device", n, (void *)p);
}
