// Kernels that have every strategy and choose by the launch: what the strategies are compared
// with. To what traverse.cuh asks for, a pipeline's class adds
//
//   enum : u32 { slot_bytes }                 of a slot of fws.cuh
//
// and its visits hand ranges on by hdd_push_cut.
#ifndef HDD_ANY_CUH
#define HDD_ANY_CUH

#include "hd/fws.cuh"
#include "hd/pushdown.cuh"

struct hdd_any_strategy {
    hdd_adaptive adaptive;

    template <class Pipeline> HDD_MEMBER void begin(Pipeline &p)
    {
        adaptive.begin(p);
    }

    template <class Pipeline> HDD_MEMBER int choose(Pipeline &p)
    {
        switch (p.run.launch.balance) {
        case HDD_PP: return hdd_pushdown_choose(p);
        case HDD_PP_LR: return hdd_refill_choose(p);
        default: return hdd_choose(p);
        }
    }

    template <class Pipeline>
    HDD_MEMBER u32 pop(Pipeline &p, u32 level, hdd_range *ranges, u32 &position, u32 &slot)
    {
        const u32 most = p.run.launch.balance == HDD_PP ? hdd_children_of_first(p, level, ranges) : HDD_LANES;
        const u64 nodes = p.queues.level(level).nodes;
        hdd_count_visit(p.run, level, nodes < most ? nodes : most);
        return p.queues.pop(level, ranges, position, slot, most);
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
