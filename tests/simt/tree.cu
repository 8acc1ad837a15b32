// A pipeline written by hand: visits every node of a tree in memory once. Three levels expand;
// the second carries a wide tuple. It is what test_nifs.c runs and what test_nvrtc.c compiles
// first.
#include "hd/any.cuh"

#include "tests/simt/tree.h"

struct tree_tuple {
    u32 parent;
};

struct tree_wide_tuple {
    u32 parent;
    i128 square;
};

struct tree_shared {
    hdd_queue queues[HDD_WARPS][TREE_LEVELS - 1];
    hdd_queue_memory<tree_tuple> level1[HDD_WARPS];
    hdd_queue_memory<tree_wide_tuple> level2[HDD_WARPS];
    hdd_queue_memory<tree_tuple> level3[HDD_WARPS];
};

struct tree {
    enum { levels = TREE_LEVELS, tile_steps = 1, lane_rows = 8, slot_bytes = TREE_SLOT_BYTES };

    const hdd_args<TREE_WORDS> &words;
    hdd_run run;
    hdd_scan scan;
    tree_shared &at;
    hdd_queues queues;

    HDD_MEMBER tree(const hdd_args<TREE_WORDS> &args, const hdd_launch &launch,
                    tree_shared &shared)
        : words(args), run(launch), scan(run), at(shared), queues(run, shared.queues[hdd_warp()])
    {
        queues.begin(1, shared.level1[hdd_warp()]);
        queues.begin(2, shared.level2[hdd_warp()]);
        queues.begin(3, shared.level3[hdd_warp()]);
    }

    HDD_MEMBER u32 *array(u32 word, u32 level) const
    {
        return reinterpret_cast<u32 *>(words[word + level]);
    }

    HDD_MEMBER hdd_queue_memory<tree_tuple> &queue_memory(hdd_level<1>)
    {
        return at.level1[hdd_warp()];
    }

    HDD_MEMBER hdd_queue_memory<tree_wide_tuple> &queue_memory(hdd_level<2>)
    {
        return at.level2[hdd_warp()];
    }

    HDD_MEMBER hdd_queue_memory<tree_tuple> &queue_memory(hdd_level<3>)
    {
        return at.level3[hdd_warp()];
    }

    HDD_MEMBER u32 tile(u32 first, u32 n) const
    {
        const hdd_tile<u8> keep(reinterpret_cast<const u8 *>(words[TREE_KEEP]), first);
        u32 alive = hdd_low_bits(n);
        HDD_UNROLL
        for (u32 j = 0; j < HDD_TILE_ROWS; j++)
            alive &= ~((u32)!keep[j] << j);
        return alive;
    }

    HDD_MEMBER void node(u32 level, bool live, u32 number, u32 parent)
    {
        if (!live)
            return;
        hdd_atomic_add(array(TREE_VISITS, level) + number, 1u);
        if (level > 0 && array(TREE_PARENT, level)[number] != parent)
            hdd_atomic_add(array(TREE_WRONG, 0), 1u);
    }

    HDD_MEMBER hdd_range children(u32 level, bool live, u32 number) const
    {
        if (!live)
            return hdd_no_range();
        return hdd_range{array(TREE_FIRST, level)[number], array(TREE_FAN, level)[number]};
    }

    HDD_MEMBER void visit(hdd_level<0>, bool live, u32 row)
    {
        node(0, live, row, 0);
        hdd_push_any(*this, hdd_level<1>(), children(0, live, row), tree_tuple{row});
    }

    HDD_MEMBER void visit(hdd_level<1>, bool live, u32 at, const tree_tuple &t)
    {
        node(1, live, at, t.parent);
        hdd_push_any(*this, hdd_level<2>(), children(1, live, at),
                     tree_wide_tuple{at, (i128)at * at});
    }

    HDD_MEMBER void visit(hdd_level<2>, bool live, u32 at, const tree_wide_tuple &t)
    {
        node(2, live, at, t.parent);
        if (live && t.square != (i128)t.parent * t.parent)
            hdd_atomic_add(array(TREE_WRONG, 0), 1u);
        hdd_push_any(*this, hdd_level<3>(), children(2, live, at), tree_tuple{at});
    }

    HDD_MEMBER void visit(hdd_level<3>, bool live, u32 at, const tree_tuple &t)
    {
        node(3, live, at, t.parent);
    }
};

static_assert(sizeof(hdd_queue_donation) + HDD_QUEUE * sizeof(tree_wide_tuple) <= TREE_DONATION_BYTES,
              "");
static_assert(sizeof(hdd_slot) + sizeof(tree_wide_tuple) <= TREE_SLOT_BYTES, "");

HDD_KERNEL(tree_kernel)
(HDD_PARAMETER(hdd_args<TREE_WORDS>, args), HDD_PARAMETER(hdd_launch, launch))
{
    HDD_SHARED(tree_shared, shared);
    tree pipeline(args, launch, shared);
    hdd_any_balance(pipeline);
}
