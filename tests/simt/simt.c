#include "tests/simt/simt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/util.h"
#include "tests/simt/fiber.h"

enum { STACK_BYTES = 256 * 1024, GUARD_BYTES = 4096, PHASES = 2 };

struct lane {
    struct fiber fiber;
    struct warp *warp;
    uint32_t number;
    bool done;
};

/* What the lanes of a warp bring to a meeting. There are two, used in turn: a lane cannot come
 * to the next but one before all have left this one. */
struct meeting {
    unsigned char deposits[SIMT_LANES * SIMT_DEPOSIT];
    uint32_t bits, words;
};

struct warp {
    struct lane lanes[SIMT_LANES];
    struct block *block;
    uint32_t number;  /* in its block */
    uint32_t ready;   /* lanes that can run */
    uint32_t arrived; /* lanes that wait in the current meeting */
    enum simt_meeting kind;
    unsigned phase;
    uint64_t ticks; /* meetings so far */
    struct meeting meetings[PHASES];
};

struct block {
    uint32_t number, arrived; /* threads that wait at the barrier */
    void *shared;
    size_t shared_bytes;
};

static struct grid {
    struct simt_options o;
    uint32_t nwarps, alive; /* warps of the grid; threads that have not returned */
    struct block *blocks;
    struct warp *warps;
    unsigned char *stacks;
    struct fiber host;
    struct lane *running;
    void (*body)(void *);
    void *context;
    struct simt_report *report;
    uint64_t random;
    /* the order, drawn from the seed */
    bool sticky;         /* stay with a warp while it can run */
    unsigned lane_order; /* 0 ascending, 1 descending, 2 random */
    unsigned point_odds; /* one in so many points gives way; 0 never */
    bool failed;
} *grid;

struct simt_place simt_here;

static uint64_t draw(void)
{
    grid->random ^= grid->random >> 12;
    grid->random ^= grid->random << 25;
    grid->random ^= grid->random >> 27;
    return grid->random * 0x2545F4914F6CDD1DULL;
}

static uint32_t draw_below(uint32_t n)
{
    return (uint32_t)(((draw() >> 32) * n) >> 32);
}

/* ---- scheduling ------------------------------------------------------------------------- */

static struct lane *pick_lane(struct warp *w)
{
    uint32_t ready = w->ready;
    if (grid->lane_order == 1)
        return &w->lanes[31 - __builtin_clz(ready)];
    if (grid->lane_order == 2)
        for (uint32_t k = draw_below((uint32_t)__builtin_popcount(ready)); k > 0; k--)
            ready &= ready - 1;
    return &w->lanes[__builtin_ctz(ready)];
}

/* A lane that can run; NULL if there is none. others: not of this warp if another one has any.
 */
static struct lane *pick(struct warp *now, bool others)
{
    if (now && now->ready && grid->sticky && !others)
        return pick_lane(now);
    uint32_t n = grid->nwarps;
    uint32_t from = grid->o.seed == 0 || grid->sticky ? (now ? (uint32_t)(now - grid->warps) + 1 : 0) : draw_below(n);
    for (uint32_t i = 0; i < n; i++) {
        struct warp *w = &grid->warps[(from + i) % n];
        if (w->ready && !(others && w == now))
            return pick_lane(w);
    }
    return now && now->ready ? pick_lane(now) : NULL;
}

static void enter(struct lane *l)
{
    grid->running = l;
    simt_here = (struct simt_place){l->number, l->warp->number, l->warp->block->number};
}

_Noreturn static void leave(void)
{
    struct fiber *self = &grid->running->fiber;
    fiber_switch(self, &grid->host, 1);
    HD_BUG("an abandoned fiber ran");
}

static void set_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void set_message(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (!grid->failed)
        vsnprintf(grid->report->message, sizeof grid->report->message, format, ap);
    grid->failed = true;
    va_end(ap);
}

static const char *meeting_name(enum simt_meeting k)
{
    static const char *const names[] = {
#define X(id, name) name,
        SIMT_MEETINGS(X)
#undef X
    };
    return names[k];
}

/* Nobody can run and not all have returned: says who waits for whom. */
static void explain_deadlock(void)
{
    for (uint32_t i = 0; i < grid->nwarps; i++) {
        const struct warp *w = &grid->warps[i];
        if (!w->arrived)
            continue;
        set_message("divergence: block %u warp %u: lanes %08x wait in a %s that the others do "
                    "not reach",
                    w->block->number, w->number, w->arrived, meeting_name(w->kind));
        return;
    }
    for (uint32_t i = 0; i < grid->o.blocks; i++)
        if (grid->blocks[i].arrived) {
            set_message("divergence: block %u: %u of %u threads wait at a block barrier that the "
                        "others do not reach",
                        i, grid->blocks[i].arrived, grid->o.warps * SIMT_LANES);
            return;
        }
    set_message("deadlock");
}

/* Runs another lane; returns when this one runs again. */
static void yield_fiber(bool others)
{
    struct lane *self = grid->running, *next = pick(self->warp, others);
    if (!next) {
        explain_deadlock();
        leave();
    }
    if (next == self && !self->done)
        return;
    if (++grid->report->switches == grid->o.alarm_after)
        *grid->o.alarm = 1;
    if (grid->report->switches > grid->o.max_switches) {
        set_message("no progress after %llu switches", (unsigned long long)grid->o.max_switches);
        leave();
    }
    enter(next);
    fiber_switch(&self->fiber, &next->fiber, self->done);
    enter(self);
}

static void thread_main(void *argument)
{
    struct lane *self = argument;
    grid->body(grid->context);
    self->done = true;
    self->warp->ready &= ~(1u << self->number);
    if (--grid->alive == 0)
        leave();
    yield_fiber(false);
    HD_BUG("a finished thread ran");
}

/* ---- what device code calls ------------------------------------------------------------- */

void simt_fail(const char *what, const char *file, int line)
{
    const char *slash = strrchr(file, '/');
    set_message("%s:%d: block %u warp %u lane %u: %s", slash ? slash + 1 : file, line, simt_here.block, simt_here.warp,
                simt_here.lane, what);
    leave();
}

/* Waits until all lanes of the warp have come; gives the meeting they came to. */
static struct meeting *arrive(enum simt_meeting kind, const void *deposit, size_t n, bool bit, uint32_t word)
{
    struct lane *self = grid->running;
    struct warp *w = self->warp;
    struct meeting *m = &w->meetings[w->phase];
    if (!w->arrived) {
        w->kind = kind;
        m->bits = m->words = 0;
    } else if (w->kind != kind) {
        set_message("divergence: block %u warp %u: lane %u comes to a %s while lanes %08x wait in "
                    "a %s",
                    w->block->number, w->number, self->number, meeting_name(kind), w->arrived, meeting_name(w->kind));
        leave();
    }
    HD_ASSERT(n <= SIMT_DEPOSIT);
    if (n)
        memcpy(m->deposits + self->number * SIMT_DEPOSIT, deposit, n);
    m->bits |= (uint32_t)bit << self->number;
    m->words |= word;
    w->arrived |= 1u << self->number;
    w->ready &= ~(1u << self->number);
    if (w->arrived == ~0u) {
        w->arrived = 0;
        w->ready = ~0u;
        w->phase = (w->phase + 1) % PHASES;
        w->ticks++;
        grid->report->meetings++;
    }
    yield_fiber(false);
    return m;
}

const unsigned char *simt_meet(enum simt_meeting kind, const void *deposit, size_t n)
{
    return arrive(kind, deposit, n, false, 0)->deposits;
}

uint32_t simt_vote(enum simt_meeting kind, bool bit)
{
    return arrive(kind, NULL, 0, bit, 0)->bits;
}

uint32_t simt_or(uint32_t word)
{
    return arrive(SIMT_REDUCE, NULL, 0, false, word)->words;
}

void simt_block_barrier(void)
{
    struct lane *self = grid->running;
    struct block *b = self->warp->block;
    self->warp->ready &= ~(1u << self->number);
    if (++b->arrived == grid->o.warps * SIMT_LANES) {
        b->arrived = 0;
        for (uint32_t i = 0; i < grid->o.warps; i++)
            grid->warps[b->number * grid->o.warps + i].ready = ~0u;
    }
    yield_fiber(false);
}

void simt_point(void)
{
    if (grid->point_odds && draw_below(grid->point_odds) == 0)
        yield_fiber(draw() & 1);
}

void simt_pause(void)
{
    yield_fiber(true);
}

uint64_t simt_ticks(void)
{
    return grid->running->warp->ticks;
}

uint64_t simt_time(void)
{
    return grid->report->switches;
}

/* What a block before has left there. */
enum { LEFT_BEHIND = 0xa5 };

void *simt_shared(size_t bytes)
{
    struct block *b = grid->running->warp->block;
    if (!b->shared) {
        b->shared = aligned_alloc(64, hd_align_up(bytes, 64));
        if (!b->shared)
            HD_BUG("out of memory");
        memset(b->shared, LEFT_BEHIND, bytes);
        b->shared_bytes = bytes;
    }
    HD_ASSERT(b->shared_bytes == bytes);
    return b->shared;
}

/* ---- launch ----------------------------------------------------------------------------- */

static void draw_order(struct grid *g)
{
    static const unsigned odds[] = {0, 2, 5, 17};
    g->random = g->o.seed * 0x9E3779B97F4A7C15ULL + 0x1234567;
    if (g->o.seed == 0) {
        g->sticky = true;
        return;
    }
    for (int i = 0; i < 4; i++)
        draw();
    g->sticky = draw_below(3) == 0;
    g->lane_order = draw_below(3);
    g->point_odds = odds[draw_below(4)];
}

/* AddressSanitizer remembers the frames of fibers that never return. */
#ifdef __SANITIZE_ADDRESS__
enum { KEEP_STACKS = 0 };
#else
enum { KEEP_STACKS = 1 };
#endif

/* A guard is a mapping, and so is what lies between two: a process has 65,530 of both (vm.max_map_count). */
enum { MAX_GUARDS = 8192 };

/* Stacks with a guard page below each, of many below each so many, kept for the next launch: to map them costs more than
 * many a kernel. */
static unsigned char *map_stacks(size_t n)
{
    static unsigned char *kept;
    static size_t nkept;
    if (n <= nkept && KEEP_STACKS)
        return kept;
    if (kept)
        munmap(kept, nkept * STACK_BYTES);
    nkept = 0;
    void *p = mmap(NULL, n * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    kept = p == MAP_FAILED ? NULL : p;
    for (size_t i = 0; kept && i < n; i += n / MAX_GUARDS + 1)
        mprotect(kept + i * STACK_BYTES, GUARD_BYTES, PROT_NONE);
    nkept = kept ? n : 0;
    return kept;
}

static void init_warp(struct grid *g, uint32_t i)
{
    struct warp *w = &g->warps[i];
    w->block = &g->blocks[i / g->o.warps];
    w->number = i % g->o.warps;
    w->ready = ~0u;
    for (uint32_t k = 0; k < SIMT_LANES; k++) {
        unsigned char *stack = g->stacks + ((size_t)i * SIMT_LANES + k) * STACK_BYTES;
        w->lanes[k].warp = w;
        w->lanes[k].number = k;
        fiber_init(&w->lanes[k].fiber, stack + GUARD_BYTES, STACK_BYTES - GUARD_BYTES, thread_main, &w->lanes[k]);
    }
}

static struct grid *new_grid(const struct simt_options *o)
{
    struct grid *g = calloc(1, sizeof *g);
    uint32_t nwarps = o->blocks * o->warps;
    if (!g)
        HD_BUG("out of memory");
    g->o = *o;
    if (!g->o.max_switches)
        g->o.max_switches = 2000000000;
    g->nwarps = nwarps;
    g->alive = nwarps * SIMT_LANES;
    g->blocks = calloc(o->blocks, sizeof *g->blocks);
    g->warps = calloc(nwarps, sizeof *g->warps);
    g->stacks = map_stacks((size_t)nwarps * SIMT_LANES);
    if (!g->blocks || !g->warps || !g->stacks)
        HD_BUG("out of memory");
    for (uint32_t i = 0; i < o->blocks; i++)
        g->blocks[i].number = i;
    for (uint32_t i = 0; i < nwarps; i++)
        init_warp(g, i);
    return g;
}

static void free_grid(struct grid *g)
{
    for (uint32_t i = 0; i < g->o.blocks; i++)
        free(g->blocks[i].shared);
    free(g->blocks);
    free(g->warps);
    free(g);
}

int simt_launch(const struct simt_options *o, void (*body)(void *), void *context, struct simt_report *r)
{
    HD_ASSERT(!grid && o->blocks > 0 && o->warps > 0);
    *r = (struct simt_report){0};
    grid = new_grid(o);
    grid->body = body;
    grid->context = context;
    grid->report = r;
    draw_order(grid);
    struct lane *first = pick(NULL, false);
    enter(first);
    fiber_switch(&grid->host, &first->fiber, 0);
    int status = grid->failed ? -1 : 0;
    free_grid(grid);
    grid = NULL;
    return status;
}
