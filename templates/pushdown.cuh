// Push-down parallelism and lane refill (DogQC, as Themis describes it in its sections 1 and 8.1):
// what NIFS is compared with.
//
// Push-down parallelism: all lanes of a warp take children of one node at a time, depth first. Where
// a node has fewer children than there are lanes, the others idle.
//
// Lane refill: a visit that would leave lanes idle waits, and the warp goes back to what produces
// nodes of its level, the level above, as long as that has any; with the new ones the visit is full.
// Where the level above has nothing the visit takes what there is, though levels further up may
// still have nodes: that is what NIFS does better. Here every level refills, as in Themis' DogQC++,
// and what waits stays in the level's queue as ranges instead of being copied (lazy
// materialisation, section 7). The bound of a queue holds for the same reason as with NIFS.
#ifndef HDD_PUSHDOWN_CUH
#define HDD_PUSHDOWN_CUH

#include "hd/nifs.cuh"

// The deepest level with a node; -1: nothing left.
template <class Pipeline> HDD_DEVICE int hdd_pushdown_choose(Pipeline &p)
{
    const u32 some = p.queues.filled.some;
    if (some)
        return (int)hdd_highest(some);
    return p.scan.has_more() ? 0 : -1;
}

// From there up, past levels that do not fill a visit, as long as the one above has something.
template <class Pipeline> HDD_DEVICE int hdd_refill_choose(Pipeline &p)
{
    const hdd_filled &f = p.queues.filled;
    int level = hdd_pushdown_choose(p);
    while (level > 1 && !(f.full >> level & 1) && f.some >> (level - 1) & 1)
        level--;
    return level == 1 && !(f.full >> 1 & 1) && p.scan.has_more() ? 0 : level;
}

// Children of the first node that has any, at most as many as lanes. Whole warp.
template <class Pipeline> HDD_DEVICE u32 hdd_children_of_first(Pipeline &p, u32 level, const hdd_range *ranges)
{
    return hdd_min(ranges[hdd_slot_of(p.queues.level(level).head)].n, HDD_LANES);
}

#endif
