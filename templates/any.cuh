// Kernels that have every strategy and choose by the launch: what the strategies are compared
// with. To what traverse.cuh asks for, a pipeline's class adds
//
//   enum : u32 { slot_bytes }                 of a slot of fws.cuh
//
// and its visits hand ranges on by hdd_push_cut.
#ifndef HDD_ANY_CUH
#define HDD_ANY_CUH

#include "hd/fws.cuh"

struct hdd_any_strategy {
    hdd_adaptive adaptive;

    template <class Pipeline> HDD_MEMBER void begin(Pipeline &p)
    {
        adaptive.begin(p);
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
