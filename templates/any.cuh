// Kernels that have every strategy and choose by the launch: what the strategies are compared
// with. To what traverse.cuh asks for, a pipeline's class adds
//
//   enum : u32 { slot_bytes }                 of a slot of ring.cuh
//
// and its visits hand ranges on by hdd_push_any.
#ifndef HDD_ANY_CUH
#define HDD_ANY_CUH

#include "hd/fws.cuh"
#include "hd/pushdown.cuh"
#include "hd/shuffle.cuh"
#include "hd/traverse.cuh"

template <class Pipeline, int L, class Tuple>
HDD_DEVICE void hdd_push_any(Pipeline &p, hdd_level<L> level, hdd_range r, const Tuple &t)
{
    if (L == 1 && p.run.launch.parts)
        r = hdd_own_part(p.run, r);
    if (hdd_is_shuffled(p.run))
        hdd_push_own(p, level, r, t);
    else
        hdd_push_cut(p, level, r, t);
}

struct hdd_any_strategy {
    enum { may_pop_none = 1 };

    hdd_adaptive adaptive;
    hdd_gathering gathering;

    template <class Pipeline> HDD_MEMBER void begin(Pipeline &p)
    {
        adaptive.begin(p);
        if (hdd_is_shuffled(p.run))
            gathering.begin(p);
    }

    // Of any warp of the block: slots count from the first one's on.
    template <class Tuple> HDD_MEMBER static const Tuple &tuple(const hdd_queue_memory<Tuple> &at, u32 slot)
    {
        const i32 warp = (i32)(slot / HDD_QUEUE) - (i32)hdd_warp();
        return (&at)[warp].tuples[slot % HDD_QUEUE];
    }

    // Warps of a block that go in step stop in step.
    HDD_MEMBER u64 state(const hdd_run &run) const
    {
        return hdd_is_shuffled(run) ? 0 : run.look();
    }

    template <class Pipeline> HDD_MEMBER int choose(Pipeline &p)
    {
        const u32 how = p.run.launch.balance;
        return hdd_is_shuffled(p.run) ? gathering.choose(p)
               : how == HDD_PP        ? hdd_pushdown_choose(p)
               : how == HDD_PP_LR     ? hdd_refill_choose(p)
                                      : hdd_choose(p);
    }

    template <class Pipeline>
    HDD_MEMBER u32 pop(Pipeline &p, u32 level, hdd_range *ranges, u32 &position, u32 &slot)
    {
        u32 n;
        if (hdd_is_shuffled(p.run)) {
            n = gathering.pop(p, level, position, slot);
        } else {
            const bool one = p.run.launch.balance == HDD_PP;
            n = p.queues.pop(level, ranges, position, slot, one ? hdd_children_of_first(p, level, ranges) : HDD_LANES);
            slot += hdd_warp() * HDD_QUEUE;
        }
        if (n)
            hdd_count_visit(p.run, level, n);
        return n;
    }

    template <class Pipeline> HDD_MEMBER bool turn(Pipeline &p, u32 idle, bool waits, u32 &after)
    {
        const u32 how = p.run.launch.balance;
        if (how != HDD_FWS && how != HDD_FWS_LOCAL)
            return adaptive.turn(p, idle, waits, after);
        after = HDD_LOOK_RARELY;
        return !waits || hdd_fws_wait(p);
    }
};

template <class Pipeline> HDD_DEVICE void hdd_any_balance(Pipeline &p)
{
    hdd_traverse<hdd_any_strategy>(p);
}

#endif
