// Bounds of loops over pairs. Where tests of pairs grow or fall with values of the source's rows, the largest or smallest
// values of all rows of a warp tell which rows of the state none of them can have: each lane looks at one, for the cost
// of one pair, before the warp tests all of its pairs with it. Where most of them may pass, the warp looks ever more
// rarely. To what loop.cuh asks for, a pipeline's class adds `bounded` to its enum and
//
//   pair_bounds; pair_bounds bounds(const pair_tuple *, u32 alive) const    whole warp
//   bool may_pass(const pair_bounds &, bool live, u32 at)
#ifndef HDD_LOOP_BOUND_CUH
#define HDD_LOOP_BOUND_CUH

#include "hd/warp.cuh"
#include "hd/value.cuh"

#define HDD_OF_WARP(name) \
    template <class T> HDD_DEVICE hdd_opt<T> name##_of_warp(hdd_opt<T> v) \
    { \
        HDD_NO_UNROLL \
        for (u32 by = HDD_LANES / 2; by > 0; by /= 2) \
            v = name(v, hdd_opt<T>(hdd_shuffle(v.v, hdd_lane() ^ by), hdd_shuffle(v.ok, hdd_lane() ^ by))); \
        return v; \
    }
HDD_OF_WARP(hdd_least)
HDD_OF_WARP(hdd_greatest)
#undef HDD_OF_WARP

template <bool> struct hdd_bounded {
};

// More rows of 32 than these: the warp tests all of them, and then twice as many as before without a look.
constexpr u32 HDD_FEW_ROWS = 8, HDD_BLIND_ROWS = 512;

// The rows of a part that are worth a test: one that may pass beside few others, or a run.
struct hdd_looks {
    u32 at, end; // where nobody has looked
    u32 base, few; // bits of single rows that are left, from `base` on
    u32 blind; // rows that are taken if many of the next 32 may pass

    HDD_MEMBER hdd_looks(u32 begin, u32 end) : at(begin), end(end), base(0), few(0), blind(HDD_LANES)
    {
    }

    // The next ones; false: there are none. Whole warp.
    template <class Pipeline>
    HDD_MEMBER bool next(Pipeline &p, const typename Pipeline::pair_bounds &bounds, u32 &from, u32 &to)
    {
        HDD_NO_UNROLL
        while (few == 0 && at < end) {
            base = at;
            few = hdd_ballot(p.may_pass(bounds, end - at > hdd_lane(), at + hdd_lane()));
            const bool many = hdd_popc(few) > HDD_FEW_ROWS;
            at += hdd_min(many ? blind : HDD_LANES, end - at);
            blind = many ? hdd_min(blind * 2, HDD_BLIND_ROWS) : HDD_LANES;
            if (many) {
                few = 0;
                from = base;
                to = at;
                return true;
            }
        }
        if (few == 0)
            return false;
        from = base + hdd_lowest(few);
        to = from + 1;
        few &= few - 1;
        return true;
    }
};

#endif
