// The smallest pipeline with levels that can share: nodes of three levels that are only
// counted, over the machine of solo.cuh. A node's children are given by the node's number, so
// that a tuple in the wrong place is seen.
#ifndef HEDDLE_TESTS_SIMT_FOREST_CUH
#define HEDDLE_TESTS_SIMT_FOREST_CUH

#include "hd/any.cuh"

enum { FOREST_LEVELS = 3, FOREST_MAX = 256 };

// Children of node i of a level are the next fan[level][i] nodes of the level below.
struct forest_plan {
    u32 rows;
    u32 fan[FOREST_LEVELS - 1][FOREST_MAX];
};

struct forest_nodes {
    u32 count[FOREST_LEVELS];
    u32 first[FOREST_LEVELS][FOREST_MAX];
    u32 parent[FOREST_LEVELS][FOREST_MAX];
    u32 visits[FOREST_LEVELS][FOREST_MAX];

    explicit forest_nodes(const forest_plan &plan) : count(), first(), parent(), visits()
    {
        count[0] = plan.rows;
        for (u32 l = 0; l + 1 < FOREST_LEVELS; l++)
            for (u32 i = 0; i < count[l]; i++) {
                first[l][i] = count[l + 1];
                for (u32 k = 0; k < plan.fan[l][i]; k++)
                    parent[l + 1][count[l + 1]++] = i;
            }
    }
};

struct forest_tuple {
    u32 parent;
};

struct forest_shared {
    hdd_queue queues[FOREST_LEVELS - 1];
    hdd_queue_memory<forest_tuple> level1, level2;
};

struct forest {
    enum { levels = FOREST_LEVELS, tile_steps = 0, lane_rows = 8, slot_bytes = 32 };
    enum { donation_bytes = 1024 };

    const forest_plan &plan;
    forest_nodes &nodes;
    hdd_run run;
    hdd_scan scan;
    forest_shared &shared;
    hdd_queues queues;

    forest(const forest_plan &p, forest_nodes &n, const hdd_launch &launch, forest_shared &s)
        : plan(p), nodes(n), run(launch), scan(run), shared(s), queues(run, s.queues)
    {
        queues.begin(1, s.level1);
        queues.begin(2, s.level2);
    }

    template <int L> hdd_queue_memory<forest_tuple> &queue_memory(hdd_level<L>)
    {
        return L == 1 ? shared.level1 : shared.level2;
    }

    u32 tile(u32, u32 n) const
    {
        return hdd_low_bits(n);
    }

    // Counted with an atomic that is no point of the protocol.
    void node(u32 level, u32 i, u32 parent)
    {
        __atomic_fetch_add(&nodes.visits[level][i], 1, __ATOMIC_RELAXED);
        HDD_ASSERT(level == 0 || nodes.parent[level][i] == parent);
    }

    hdd_range children(u32 level, u32 i) const
    {
        return hdd_range{nodes.first[level][i], plan.fan[level][i]};
    }

    void visit(hdd_level<0>, bool live, u32 row)
    {
        if (live)
            node(0, row, 0);
        hdd_push_any(*this, hdd_level<1>(), live ? children(0, row) : hdd_no_range(),
                     forest_tuple{row});
    }

    void visit(hdd_level<1>, bool live, u32 at, const forest_tuple &t)
    {
        if (live)
            node(1, at, t.parent);
        hdd_push_any(*this, hdd_level<2>(), live ? children(1, at) : hdd_no_range(),
                     forest_tuple{at});
    }

    void visit(hdd_level<2>, bool live, u32 at, const forest_tuple &t)
    {
        if (live)
            node(2, at, t.parent);
    }
};

static_assert(sizeof(hdd_queue_donation) + HDD_QUEUE * sizeof(forest_tuple) <= forest::donation_bytes,
              "");
static_assert(sizeof(hdd_scan_donation) <= forest::donation_bytes, "");

#endif
