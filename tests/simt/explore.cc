// Every interleaving of two and three warps that traverse a small tree (forest.cuh) by the real
// headers. Warps are fibers; before each access to memory that warps share, the explorer decides
// who goes on, and runs the program again for every decision that could matter.
//
// What could matter: accesses of different warps to one word of which one writes. Sleep sets
// (P. Godefroid, Partial-Order Methods for the Verification of Concurrent Systems, 1996) keep
// two interleavings that differ only in the order of independent accesses from both being run.
// A warp that waits runs again when somebody wrote to a word that it looked at. Where there
// are too many interleavings, the number of preemptions is bounded instead (M. Musuvathi,
// S. Qadeer, Iterative Context Bounding, 2007).
//
// The machine is sequentially consistent here; orders are ThreadSanitizer's part (threads.cc).
// The table of workload sizes is a hint and no point of decision: any answer from it is right.
//
//     explore [--only TEXT]   scenarios whose name has TEXT
//     explore NAME...         these scenarios
// Exit status 1: a fault, with the decisions that led to it.
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/simt/forest.cuh"
#include "tests/simt/solo.h"

extern "C" {
#include "tests/simt/fiber.h"
}

thread_local u32 solo_warp;

namespace {

enum { WARPS_MAX = 3, THREADS_MAX = WARPS_MAX + 1, STEPS_MAX = 20000, STACK = 64 * 1024 };

struct access {
    u64 from, to; // addresses
    bool write;
};

bool depend(const access &a, const access &b)
{
    return (a.write || b.write) && a.from < b.to && b.from < a.to;
}

// A word that somebody accessed, and how often who wrote to it.
struct word {
    u64 address;
    u32 writes[THREADS_MAX];

    u32 writes_of_others(u32 thread) const
    {
        u32 n = 0;
        for (u32 t = 0; t < THREADS_MAX; t++)
            n += t == thread ? 0 : writes[t];
        return n;
    }
};

struct thread {
    fiber f;
    std::vector<unsigned char> stack;
    access next; // what it does when it runs again
    bool done, waiting;
    std::vector<std::pair<size_t, u32>> seen; // words read since it last waited, writes of others
};

// One decision: who could run, who was tried, who sleeps.
struct decision {
    u32 enabled, tried, asleep, chosen;
    access next[THREADS_MAX];
    u32 preempted; // before it
};

struct scenario {
    const char *name;
    u32 warps, balance, threshold;
    forest_plan plan;
    bool cancel;
    int preemptions; // at most; -1: all interleavings, by sleep sets
};

struct explorer {
    const scenario *s;
    solo_launch memory;
    forest_nodes *nodes;
    thread threads[THREADS_MAX];
    fiber host;
    u32 nthreads, running;
    std::vector<word> words;
    std::vector<decision> path;
    size_t step;
    bool failed, pruned;
    char message[200];
    u64 runs;
};

explorer x;

void fail(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (!x.failed)
        vsnprintf(x.message, sizeof x.message, format, ap);
    va_end(ap);
    x.failed = true;
}

// ---- threads -------------------------------------------------------------------------------

void to_host(bool last)
{
    thread &t = x.threads[x.running];
    fiber_switch(&t.f, &x.host, last);
}

void run_warp(u32 warp)
{
    solo_warp = warp;
    forest_shared shared;
    forest pipeline(x.s->plan, *x.nodes, x.memory.launch, shared);
    hdd_any_balance(pipeline);
}

void thread_main(void *argument)
{
    const u32 number = (u32)reinterpret_cast<uintptr_t>(argument);
    if (number < x.s->warps)
        run_warp(number);
    else
        hdd_store_relaxed(&x.memory.progress.abort, 1u); // the host cancels
    x.threads[number].done = true;
    to_host(true);
}

size_t find_word(u64 address)
{
    for (size_t i = 0; i < x.words.size(); i++)
        if (x.words[i].address == address)
            return i;
    x.words.push_back(word{address, {}});
    return x.words.size() - 1;
}

void note(u32 number, const access &a)
{
    for (u64 at = a.from & ~(u64)3; at < a.to; at += 4) {
        const size_t w = find_word(at);
        x.words[w].writes[number] += a.write;
        x.threads[number].seen.push_back({w, x.words[w].writes_of_others(number)});
    }
}

bool is_hint(const void *p)
{
    const u64 at = reinterpret_cast<u64>(p), loads = x.memory.launch.share.loads;
    return at >= loads && at < loads + 4 * HDD_LOAD_HEIGHTS * HDD_LOAD_BUCKETS;
}

bool can_run(const thread &t)
{
    if (t.done)
        return false;
    if (!t.waiting)
        return true;
    for (const auto &seen : t.seen)
        if (x.words[seen.first].writes_of_others((u32)(&t - x.threads)) != seen.second)
            return true;
    return false;
}

} // namespace

void solo_point(const void *p, u32 n, bool write)
{
    const u64 at = reinterpret_cast<u64>(p);
    if (is_hint(p))
        return;
    const u32 self = x.running;
    x.threads[self].next = access{at, at + n, write};
    to_host(false);
    solo_warp = self;
    note(self, x.threads[self].next);
}

// The accesses that follow are those of another look.
void solo_pause()
{
    const u32 self = x.running;
    x.threads[self].waiting = true;
    to_host(false);
    solo_warp = self;
}

void solo_fail(const char *what)
{
    fail("assertion: %s", what);
    to_host(true);
    abort();
}

namespace {

// ---- one run -------------------------------------------------------------------------------

// Runs a thread up to the access before its next one.
void advance(u32 number)
{
    x.running = number;
    fiber_switch(&x.host, &x.threads[number].f, 0);
}

void start_threads()
{
    for (u32 i = 0; i < x.nthreads; i++) {
        thread &t = x.threads[i];
        t.stack.resize(STACK);
        t.done = t.waiting = false;
        t.seen.clear();
        fiber_init(&t.f, t.stack.data(), STACK, thread_main,
                   reinterpret_cast<void *>((uintptr_t)i));
    }
    for (u32 i = 0; i < x.nthreads && !x.failed; i++)
        advance(i);
}

u32 enabled_threads()
{
    u32 enabled = 0;
    for (u32 i = 0; i < x.nthreads; i++)
        enabled |= (u32)can_run(x.threads[i]) << i;
    return enabled;
}

// A thread that waited looks again: it goes on to its next access, which is decided anew.
bool wake(u32 enabled)
{
    bool woke = false;
    for (u32 i = 0; i < x.nthreads; i++)
        if (enabled >> i & 1 && x.threads[i].waiting) {
            x.threads[i].waiting = false;
            x.threads[i].seen.clear();
            advance(i);
            woke = true;
        }
    return woke;
}

u32 choices(const decision &d, u32 last)
{
    if (x.s->preemptions < 0)
        return d.enabled & ~d.asleep & ~d.tried;
    const bool goes_on = last < x.nthreads && (d.enabled >> last & 1);
    if (goes_on && (int)d.preempted >= x.s->preemptions)
        return (1u << last) & ~d.tried;
    return d.enabled & ~d.tried;
}

// The thread that goes on where it can, so that the first run of all has no preemption.
u32 prefer(u32 among, u32 last)
{
    return last < x.nthreads && (among >> last & 1) ? last : (u32)__builtin_ctz(among);
}

u32 last_chosen(size_t step)
{
    return step ? x.path[step - 1].chosen : ~0u;
}

decision make_decision(u32 enabled)
{
    decision d = {};
    d.enabled = enabled;
    for (u32 i = 0; i < x.nthreads; i++)
        d.next[i] = x.threads[i].next;
    if (x.step == 0)
        return d;
    const decision &before = x.path[x.step - 1];
    for (u32 i = 0; i < x.nthreads; i++)
        if ((before.asleep | before.tried) >> i & 1 && i != before.chosen &&
            (enabled >> i & 1) && !depend(before.next[i], before.next[before.chosen]))
            d.asleep |= 1u << i;
    const u32 earlier = last_chosen(x.step - 1);
    const bool could = earlier < x.nthreads && (before.enabled >> earlier & 1);
    d.preempted = before.preempted + (could && before.chosen != earlier);
    return d;
}

// False: no thread may run here, for an interleaving like it was run already.
bool decide(u32 enabled)
{
    if (x.step == x.path.size()) {
        decision d = make_decision(enabled);
        const u32 among = choices(d, last_chosen(x.step));
        if (!among)
            return false;
        d.chosen = prefer(among, last_chosen(x.step));
        x.path.push_back(d);
    }
    advance(x.path[x.step].chosen);
    x.step++;
    return true;
}

void run_once()
{
    solo_launch_reset(&x.memory);
    forest_nodes nodes(x.s->plan);
    x.nodes = &nodes;
    x.words.clear();
    x.step = 0;
    x.pruned = false;
    start_threads();
    while (!x.failed) {
        const u32 enabled = enabled_threads();
        if (!enabled)
            break;
        if (wake(enabled))
            continue;
        if (!decide(enabled)) {
            x.pruned = true;
            return;
        }
        if (x.step > STEPS_MAX)
            fail("no progress");
    }
    x.runs++;
}

// Every node visited once; after a cancellation at most once. Everybody ended.
void check_run()
{
    for (u32 i = 0; i < x.nthreads; i++)
        if (!x.threads[i].done)
            fail("deadlock: warp %u waits forever", i);
    for (u32 l = 0; l < FOREST_LEVELS; l++)
        for (u32 i = 0; i < x.nodes->count[l]; i++) {
            const u32 n = x.nodes->visits[l][i];
            if (n > 1 || (n == 0 && !x.s->cancel))
                fail("node %u of level %u visited %u times", i, l, n);
        }
}

// Prepares the next run: the last decision that leaves a choice takes another one.
bool backtrack()
{
    while (!x.path.empty()) {
        decision &d = x.path.back();
        d.tried |= 1u << d.chosen;
        const size_t at = x.path.size() - 1;
        const u32 among = choices(d, last_chosen(at));
        if (among) {
            d.chosen = prefer(among, last_chosen(at));
            return true;
        }
        x.path.pop_back();
    }
    return false;
}

void print_path()
{
    fprintf(stderr, "decisions:");
    for (size_t i = 0; i < x.path.size(); i++)
        fprintf(stderr, " %u", x.path[i].chosen);
    fprintf(stderr, "\n");
}

// False: a fault.
bool explore(const scenario &s)
{
    x.s = &s;
    x.nthreads = s.warps + s.cancel;
    x.failed = false;
    x.runs = 0;
    x.path.clear();
    u64 donations = 0, depth = 0, pruned = 0;
    solo_launch_init(&x.memory, s.warps, s.plan.rows, s.balance, s.threshold,
                     forest::donation_bytes, forest::slot_bytes);
    do {
        run_once();
        if (!x.pruned)
            check_run();
        pruned += x.pruned;
        donations += x.memory.progress.donations;
        depth = depth > x.step ? depth : x.step;
    } while (!x.failed && backtrack());
    printf("%-28s %9llu runs, %9llu cut short, at most %3llu steps, %llu donations\n", s.name,
           x.runs, pruned, depth, donations);
    if (x.failed) {
        fprintf(stderr, "%s: %s\n", s.name, x.message);
        print_path();
    }
    solo_launch_release(&x.memory);
    return !x.failed;
}

bool is_chosen(const char *name, int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--only") == 0)
        return strstr(name, argv[2]);
    for (int i = 1; i < argc; i++)
        if (strcmp(name, argv[i]) == 0)
            return true;
    return argc == 1;
}
} // namespace

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {
        {"2 warps, nothing", 2, HDD_AWS, 0, {0, {{}, {}}}, false, -1},
        {"1 warp", 1, HDD_AWS, 0, {2, {{2, 1}, {1, 1, 1}}}, false, -1},
        {"2 warps, rows", 2, HDD_AWS, 0, {4, {{}, {}}}, false, -1},
        {"2 warps, children", 2, HDD_AWS, 0, {1, {{4}, {}}}, false, -1},
        {"2 warps, leaves", 2, HDD_AWS, 0, {1, {{1}, {4}}}, false, -1},
        {"2 warps, a tree", 2, HDD_AWS, 0, {3, {{2, 0, 3}, {1, 0, 3, 2}}}, false, -1},
        {"2 warps, cancelled", 2, HDD_AWS, 0, {3, {{2}, {}}}, true, -1},
        {"3 warps, nothing", 3, HDD_AWS, 0, {0, {{}, {}}}, false, -1},
        {"3 warps, rows", 3, HDD_AWS, 0, {3, {{}, {}}}, false, -1},
        {"3 warps, children", 3, HDD_AWS, 0, {1, {{3}, {}}}, false, -1},
        {"3 warps, a tree", 3, HDD_AWS, 0, {3, {{2, 1, 2}, {2, 0, 1}}}, false, 2},
        {"3 warps, two donors", 3, HDD_AWS, 0, {10, {{}, {}}}, false, 2},
        {"3 warps, cancelled", 3, HDD_AWS, 0, {3, {{2}, {}}}, true, 2},
        {"fws, 1 warp", 1, HDD_FWS, 1, {2, {{2, 6}, {1, 0, 2}}}, false, -1},
        {"fws, 2 warps", 2, HDD_FWS, 1, {1, {{3}, {}}}, false, -1},
        {"fws, 2 warps, full", 2, HDD_FWS, 1, {1, {{6}, {2}}}, false, 3},
        {"fws, 2 warps, cancelled", 2, HDD_FWS, 1, {1, {{3}, {}}}, true, 3},
        {"fws, 3 warps", 3, HDD_FWS, 1, {2, {{3, 2}, {1, 2}}}, false, 2},
        {"fws local, 2 warps", 2, HDD_FWS_LOCAL, 1, {1, {{3}, {}}}, false, -1},
        {"fws local, 2 warps, full", 2, HDD_FWS_LOCAL, 1, {1, {{6}, {2}}}, false, 3},
        {"ibr, 1 warp", 1, HDD_SHUFFLE_IBR, 0, {2, {{2, 4}, {1, 0, 2, 1}}}, false, -1},
        {"ibr, 2 warps", 2, HDD_SHUFFLE_IBR, 0, {1, {{3}, {1, 0, 1}}}, false, -1},
        {"ibr, 2 warps, full", 2, HDD_SHUFFLE_IBR, 0, {2, {{4, 2}, {2}}}, false, 3},
        {"ibr, 2 warps, cancelled", 2, HDD_SHUFFLE_IBR, 0, {2, {{2}, {1}}}, true, 3},
        {"ibr, 3 warps", 3, HDD_SHUFFLE_IBR, 0, {3, {{2, 1, 2}, {1, 1}}}, false, 2},
        {"fws local, 3 warps", 3, HDD_FWS_LOCAL, 1, {2, {{3, 2}, {1, 2}}}, false, 2},
    };
    int explored = 0;
    for (const scenario &s : scenarios)
        if (is_chosen(s.name, argc, argv)) {
            explored++;
            if (!explore(s))
                return 1;
        }
    return explored ? 0 : 2;
}
