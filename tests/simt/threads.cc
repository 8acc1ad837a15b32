// The traversal of forest.cuh with one thread of the operating system per warp, for
// ThreadSanitizer: it knows the orders of the atomics, which the other proofs take for
// sequentially consistent, and sees an access to a donation or a slot that nothing orders.
//
//     threads [--rounds N]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <thread>
#include <vector>

#include "tests/simt/forest.cuh"
#include "tests/simt/solo.h"

thread_local u32 solo_warp;

namespace {

thread_local u64 random_state;

u32 draw(u32 n)
{
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (u32)((random_state >> 33) % n);
}

} // namespace

// Threads overlap more if they give way now and then.
void solo_point(const void *, u32, bool)
{
    if (draw(16) == 0)
        sched_yield();
}

void solo_pause()
{
    sched_yield();
}

void solo_fail(const char *what)
{
    fprintf(stderr, "warp %u: assertion: %s\n", solo_warp, what);
    exit(1);
}

namespace {

enum { WARPS = 4 };

// Rows with few and with many children.
forest_plan random_plan(u64 seed)
{
    forest_plan p = {};
    u32 nodes[FOREST_LEVELS] = {};
    random_state = seed;
    p.rows = nodes[0] = draw(30);
    for (u32 l = 0; l + 1 < FOREST_LEVELS; l++)
        for (u32 i = 0; i < nodes[l]; i++) {
            const u32 fan = draw(4) ? draw(3) : draw(40);
            p.fan[l][i] = nodes[l + 1] + fan > FOREST_MAX ? 0 : fan;
            nodes[l + 1] += p.fan[l][i];
        }
    return p;
}

struct round_state {
    const forest_plan *plan;
    forest_nodes *nodes;
    const hdd_launch *launch;
    u64 seed;
};

void run_warp(const round_state &r, u32 warp)
{
    forest_shared shared;
    solo_warp = warp;
    random_state = r.seed * WARPS + warp;
    forest pipeline(*r.plan, *r.nodes, *r.launch, shared);
    hdd_any_balance(pipeline);
}

void check(const forest_nodes &nodes, u64 seed, u32 balance)
{
    for (u32 l = 0; l < FOREST_LEVELS; l++)
        for (u32 i = 0; i < nodes.count[l]; i++)
            if (nodes.visits[l][i] != 1) {
                fprintf(stderr, "seed %llu, balance %u: node %u of level %u visited %u times\n",
                        seed, balance, i, l, nodes.visits[l][i]);
                exit(1);
            }
}

u64 run_round(u64 seed, u32 balance)
{
    const forest_plan plan = random_plan(seed);
    forest_nodes nodes(plan);
    solo_launch memory;
    solo_launch_init(&memory, WARPS, plan.rows, balance, 1 + (u32)(seed % 3),
                     forest::donation_bytes, forest::slot_bytes);
    solo_launch_reset(&memory);
    const round_state r = {&plan, &nodes, &memory.launch, seed};
    std::vector<std::thread> warps;
    for (u32 w = 0; w < WARPS; w++)
        warps.emplace_back([&r, w] { run_warp(r, w); });
    for (std::thread &t : warps)
        t.join();
    check(nodes, seed, balance);
    const u64 donations = memory.progress.donations;
    solo_launch_release(&memory);
    return donations;
}

} // namespace

int main(int argc, char **argv)
{
    const u64 rounds =
        argc > 2 && strcmp(argv[1], "--rounds") == 0 ? strtoull(argv[2], 0, 10) : 300;
    static const u32 modes[] = {HDD_NONE, HDD_NIFS, HDD_PP, HDD_PP_LR, HDD_SHUFFLE, HDD_SHUFFLE_IBR,
                                  HDD_FWS, HDD_FWS_LOCAL, HDD_AWS};
    static const u32 sharing[] = {HDD_SHUFFLE_IBR, HDD_FWS, HDD_FWS_LOCAL, HDD_AWS};
    for (const u32 balance : modes) {
        u64 donations = 0;
        for (u64 seed = 0; seed < rounds; seed++)
            donations += run_round(seed, balance);
        printf("balance %u: %llu rounds, %llu donations\n", balance, rounds, donations);
        for (const u32 shares : sharing)
            if (balance == shares && donations == 0)
                return 1;
    }
    return 0;
}
