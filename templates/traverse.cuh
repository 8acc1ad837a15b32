// The two shapes of a kernel. A pipeline is a class, emitted per plan, with
//
//   enum { levels }, mailbox_bytes
//   hdd_run run; hdd_scan scan;
//   u32 tile(u32 first, u32 n)                rows of this lane that pass the cheap predicate
//   hdd_queue<Tuple> &queue(hdd_level<L>)     levels 1 .. levels - 1
//   void visit(hdd_level<0>, bool live, u32 row)
//   void visit(hdd_level<L>, bool live, u32 position, const Tuple &)
//
// visit is called by whole warps, live or not, and either pushes ranges to the next level's
// queue or feeds the sink. Block-wide flushes come after the traversal.
#ifndef HDD_TRAVERSE_CUH
#define HDD_TRAVERSE_CUH

#include "hd/share.cuh"

// Warp iterations and idle lanes of one warp, added to the run's at its end.
struct hdd_tally {
    u32 visits, idle_lanes;

    HDD_MEMBER hdd_tally() : visits(0), idle_lanes(0)
    {
    }

    HDD_MEMBER void add(u32 nodes)
    {
        visits++;
        idle_lanes += nodes < HDD_LANES ? HDD_LANES - nodes : 0;
    }

    HDD_MEMBER void flush(const hdd_run &run) const
    {
        if (hdd_lane() != 0)
            return;
        hdd_atomic_add(&run.progress->visits, (u64)visits);
        hdd_atomic_add(&run.progress->idle_lanes, (u64)idle_lanes);
    }
};

template <class Pipe> HDD_DEVICE void hdd_visit_scan(Pipe &p, hdd_tally &tally)
{
    u32 row = 0;
    tally.add(p.scan.pending);
    const bool live = p.scan.take(row);
    p.visit(hdd_level<0>(), live, row);
}

template <class Pipe, class Tuple, int L>
HDD_DEVICE void hdd_visit_queue(Pipe &p, hdd_queue<Tuple> &q, hdd_level<L> level,
                                hdd_tally &tally)
{
    u32 position = 0;
    Tuple t = Tuple();
    tally.add(q.nodes < HDD_LANES ? (u32)q.nodes : (u32)HDD_LANES);
    const bool live = q.take(position, t);
    p.visit(level, live, position, t);
}

template <class Pipe> HDD_DEVICE void hdd_visit(Pipe &p, int, hdd_level<0>, hdd_tally &tally)
{
    hdd_visit_scan(p, tally);
}

template <class Pipe, int L>
HDD_DEVICE void hdd_visit(Pipe &p, int level, hdd_level<L> here, hdd_tally &tally)
{
    if (level == L)
        hdd_visit_queue(p, p.queue(here), here, tally);
    else
        hdd_visit(p, level, hdd_level<L - 1>(), tally);
}

// No expansion: tile after tile, 32 survivors at a time.
template <class Pipe> HDD_DEVICE void hdd_straight(Pipe &p)
{
    hdd_tally tally;
    while (!p.run.stopped()) {
        p.scan.refill(p);
        if (!p.scan.pending)
            break;
        hdd_visit_scan(p, tally);
    }
    tally.flush(p.run);
}

// Levels: Algorithm 1 of the paper.
template <class Pipe> HDD_DEVICE void hdd_nifs(Pipe &p)
{
    const bool share = p.run.launch.balance == HDD_NIFS_SHARE;
    hdd_tally tally;
    u32 until_share = p.run.launch.share_every;
    while (!p.run.stopped()) {
        const int level = hdd_choose(p);
        if (level < 0 && (!share || !hdd_wait(p)))
            break;
        if (level < 0)
            continue;
        hdd_visit(p, level, hdd_level<Pipe::levels - 1>(), tally);
        if (share && --until_share == 0) {
            until_share = p.run.launch.share_every;
            hdd_give(p);
        }
    }
    tally.flush(p.run);
}

#endif
