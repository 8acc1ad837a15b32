// Kernels with levels. To what straight.cuh asks for, a pipeline's class adds
//
//   hdd_queues queues;
//   hdd_queue_memory<Tuple> &queue_memory(hdd_level<L>)   of this warp, levels 1 .. levels - 1
//   void visit(hdd_level<L>, bool live, u32 position, const Tuple &)
//
// A visit but the last level's hands ranges to the next (hdd_push).
#ifndef HDD_TRAVERSE_CUH
#define HDD_TRAVERSE_CUH

#include "hd/aws.cuh"
#include "hd/straight.cuh"

// ---- visits --------------------------------------------------------------------------------

template <class Strategy, class Pipeline, int L, class Tuple>
HDD_DEVICE void hdd_visit_node(Pipeline &p, hdd_level<L> here, bool live, u32 position, u32 slot,
                               const hdd_queue_memory<Tuple> &at)
{
    Tuple t = Tuple();
    if (live)
        t = Strategy::tuple(at, slot);
    hdd_warp_sync();
    p.visit(here, live, position, t);
}

template <class Strategy, class Pipeline>
HDD_DEVICE void hdd_visit_nodes(Pipeline &, u32, bool, u32, u32, hdd_level<0>)
{
}

template <class Strategy, class Pipeline, int L>
HDD_DEVICE void hdd_visit_nodes(Pipeline &p, u32 level, bool live, u32 position, u32 slot,
                                hdd_level<L> here)
{
    if (level == L)
        hdd_visit_node<Strategy>(p, here, live, position, slot, p.queue_memory(here));
    else
        hdd_visit_nodes<Strategy>(p, level, live, position, slot, hdd_level<L - 1>());
}

// Where a level's ranges are: a choice among constants.
template <class Pipeline> HDD_DEVICE hdd_range *hdd_ranges_of(Pipeline &p, u32, hdd_level<1> here)
{
    return p.queue_memory(here).ranges;
}

template <class Pipeline, int L>
HDD_DEVICE hdd_range *hdd_ranges_of(Pipeline &p, u32 level, hdd_level<L> here)
{
    hdd_range *const above = hdd_ranges_of(p, level, hdd_level<L - 1>());
    return level == L ? p.queue_memory(here).ranges : above;
}

// The first nodes of any level but 0.
template <class Strategy, class Pipeline>
HDD_DEVICE void hdd_visit_queue(Strategy &strategy, Pipeline &p, u32 level)
{
    constexpr hdd_level<Pipeline::levels - 1> last{};
    u32 position = 0, slot = 0;
    const u32 n = strategy.pop(p, level, hdd_ranges_of(p, level, last), position, slot);
    if (n || !Strategy::may_pop_none)
        hdd_visit_nodes<Strategy>(p, level, hdd_lane() < n, position, slot, last);
}

// Children for a level's queue, of rows that were just visited; of a row of the source this warp's
// part, where each warp has one.
template <class Pipeline, int L, class Tuple>
HDD_DEVICE void hdd_push(Pipeline &p, hdd_level<L> level, hdd_range r, const Tuple &t)
{
    if (L == 1 && p.run.launch.parts)
        r = hdd_own_part(p.run, r);
    hdd_push_ranges(p, level, r, t);
}

// ---- strategies ----------------------------------------------------------------------------

// What a strategy does in an iteration: it looks whether the run stops, chooses a level (-1: the warp has
// nothing), and takes nodes from its queue.
struct hdd_no_imbalance_first {
    enum { may_pop_none = 0 };

    template <class Tuple> HDD_MEMBER static const Tuple &tuple(const hdd_queue_memory<Tuple> &at, u32 slot)
    {
        return at.tuples[slot];
    }

    HDD_MEMBER u64 state(const hdd_run &run) const
    {
        return run.look();
    }

    template <class Pipeline> HDD_MEMBER int choose(Pipeline &p)
    {
        return hdd_choose(p);
    }

    template <class Pipeline>
    HDD_MEMBER u32 pop(Pipeline &p, u32 level, hdd_range *ranges, u32 &position, u32 &slot)
    {
        hdd_count_visit(p.run, level, p.queues.level(level).nodes);
        return p.queues.pop(level, ranges, position, slot);
    }
};

// Its turn comes after some iterations and says after how many again (0: at once), and comes when the
// warp has nothing: then false ends the warp.
struct hdd_alone : hdd_no_imbalance_first {
    template <class Pipeline> HDD_MEMBER void begin(Pipeline &)
    {
    }

    template <class Pipeline> HDD_MEMBER bool turn(Pipeline &, u32, bool waits, u32 &after)
    {
        after = HDD_LOOK_RARELY;
        return !waits;
    }
};

struct hdd_adaptive : hdd_no_imbalance_first {
    u32 place; // aws.cuh

    HDD_MEMBER hdd_adaptive() : place(0)
    {
    }

    template <class Pipeline> HDD_MEMBER void begin(Pipeline &p)
    {
        if (p.run.launch.parts)
            p.scan.restrict_to(p, hdd_own_tile(p.run));
    }

    template <class Pipeline> HDD_MEMBER bool turn(Pipeline &p, u32 idle, bool waits, u32 &after)
    {
        i32 level = -1;
        after = HDD_LOOK_RARELY;
        if (p.run.launch.balance != HDD_AWS || (!waits && idle == 0))
            return !waits;
        if (!waits) {
            level = look(p, idle, after);
            if (level < 0)
                return true;
        }
        const hdd_moved moved = hdd_aws_move(p.run, p.queues.of, p.scan, place, level);
        p.scan = moved.scan;
        if (moved.level > 0)
            p.queues.update((u32)moved.level);
        if (waits) {
            place = 0;
            after = 1; // what came may be worth dividing
        } else if (moved.level >= 0) {
            hdd_count_donation(p.run);
        }
        return !waits || moved.level >= 0;
    }

  private:
    template <class Pipeline> HDD_MEMBER i32 look(const Pipeline &p, u32 idle, u32 &after)
    {
        const bool divisible = p.run.launch.parts == 0 && p.scan.divisible();
        const hdd_look l = hdd_aws_look(p.run, p.queues.of, Pipeline::levels, idle, place,
                                        divisible ? (u32)p.scan.template nodes<Pipeline>() : 0);
        place = l.place;
        after = l.after;
        return l.level;
    }
};

// ---- the traversal -------------------------------------------------------------------------

// Levels: Algorithm 1 of the paper.
template <class Sharing, class Pipeline> HDD_DEVICE void hdd_traverse(Pipeline &p)
{
    Sharing sharing;
    u32 until_look = 1;
    hdd_profile_begin(p.run);
    sharing.begin(p);
    for (bool goes_on = true; goes_on;) {
        u32 waits = 0;
        if (until_look > 0) {
            const int level = sharing.choose(p);
            if (level > 0)
                hdd_visit_queue(sharing, p, (u32)level);
            else if (level == 0)
                hdd_visit_scan(p);
            waits = hdd_opaque(level < 0);
            if (--until_look > 0 && !waits)
                continue;
        }
        if (waits)
            hdd_profile_waits(p.run);
        const u64 state = sharing.state(p.run);
        goes_on = (u32)state == 0 && // not aborted
                  sharing.turn(p, (u32)(state >> 32), waits != 0, until_look);
        if (waits)
            hdd_profile_works(p.run, goes_on);
    }
    hdd_profile_end(p.run);
}

template <class Pipeline> HDD_DEVICE void hdd_nifs(Pipeline &p)
{
    hdd_traverse<hdd_alone>(p);
}

template <class Pipeline> HDD_DEVICE void hdd_nifs_aws(Pipeline &p)
{
    hdd_traverse<hdd_adaptive>(p);
}

#endif
