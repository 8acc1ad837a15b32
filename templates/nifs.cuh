// No-imbalance-first search (Themis, section 5): a warp visits the deepest level that fills
// all its lanes, and only when there is none the shallowest that has a node. Nodes of a level
// wait as ranges of positions, each with the tuple that its children share: row ids and
// computed slots (lazy materialisation, section 7).
//
// A level's queue holds at most (w - 1) + w * r ranges, w lanes and r = 1 range per lane and
// visit: a level is appended to only when it held fewer than w nodes, hence fewer than w
// ranges.
#ifndef HDD_NIFS_CUH
#define HDD_NIFS_CUH

#include "hd/range.cuh"
#include "hd/scan.cuh"

constexpr u32 HDD_QUEUE = 2 * HDD_LANES;                  // room, a power of two
constexpr u32 HDD_QUEUE_MOST = HDD_LANES - 1 + HDD_LANES; // what the bound above allows

// In shared memory, one per warp and level.
template <class Tuple> struct hdd_queue_store {
    hdd_range ranges[HDD_QUEUE];
    Tuple tuples[HDD_QUEUE];
};

// Half of a queue, in the memory of a mailbox.
template <class Tuple> struct hdd_queue_gift {
    u32 count, reserved;
    hdd_range ranges[HDD_QUEUE];
    Tuple tuples[HDD_QUEUE];
};

// A ring. head, count and nodes are the same in every lane. Whole warps call.
template <class Tuple> struct hdd_queue {
    hdd_queue_store<Tuple> &at;
    u32 head, count;
    u64 nodes;

    HDD_MEMBER explicit hdd_queue(hdd_queue_store<Tuple> &store)
        : at(store), head(0), count(0), nodes(0)
    {
    }

    // Appends the ranges of all lanes that have one.
    HDD_MEMBER void push(hdd_range r, const Tuple &t)
    {
        const u32 who = hdd_ballot(r.n != 0);
        if (r.n != 0)
            put(head + count + hdd_popc(who & hdd_lanes_below()), r, t);
        count += hdd_popc(who);
        nodes += hdd_warp_sum((u64)r.n);
        HDD_ASSERT(count <= HDD_QUEUE_MOST);
        hdd_warp_sync();
    }

    // Removes the first nodes, at most one per lane: the position and its tuple. False: no
    // node for this lane. Ranges hold at least a node each, so the first 32 suffice, the
    // starts of their parts of the lanes all differ, and the ranges used up are the first
    // ones.
    HDD_MEMBER bool take(u32 &position, Tuple &t)
    {
        const u32 lane = hdd_lane(), slot = (head + lane) % HDD_QUEUE;
        const u32 n = lane < count ? at.ranges[slot].n : 0, most = hdd_min(n, HDD_LANES);
        const u32 start = hdd_scan_sum_bits<6>(most) - most; // at most 32 each
        const u32 starts = hdd_warp_or(n && start < HDD_LANES ? 1u << start : 0);
        const u32 total = nodes < HDD_LANES ? (u32)nodes : HDD_LANES;
        const u32 mine = starts & hdd_lanes_upto();
        if (lane < total) {
            const u32 from = (head + hdd_popc(mine) - 1) % HDD_QUEUE;
            position = at.ranges[from].begin + (lane - hdd_highest(mine));
            t = at.tuples[from];
        }
        hdd_warp_sync();
        const u32 used = n && start < HDD_LANES ? hdd_min(n, HDD_LANES - start) : 0;
        if (used && used < n) {
            at.ranges[slot].begin += used;
            at.ranges[slot].n -= used;
        }
        const u32 gone = hdd_popc(hdd_ballot(used != 0 && used == n));
        head += gone;
        count -= gone;
        nodes -= total;
        hdd_warp_sync();
        return lane < total;
    }

    // ---- work-sharing ----------------------------------------------------------------------

    // Divides every range in two and gives one part of each, so that the cost does not depend
    // on the number of nodes (section 7). Of ranges with one node every second goes.
    HDD_MEMBER void give(hdd_queue_gift<Tuple> &gift)
    {
        const u32 held = count;
        u32 kept = 0, given = 0;
        u64 lost = 0;
        for (u32 base = 0; base < held; base += HDD_LANES) {
            const u32 i = base + hdd_lane();
            hdd_range r = i < held ? at.ranges[(head + i) % HDD_QUEUE] : hdd_no_range();
            Tuple t = at.tuples[(head + (i < held ? i : 0)) % HDD_QUEUE];
            const u32 part = (u32)(((u64)r.n + i % 2) / 2), rest = r.n - part;
            const u32 keeps = hdd_ballot(rest != 0), gives = hdd_ballot(part != 0);
            hdd_warp_sync();
            if (rest)
                put(head + kept + hdd_popc(keeps & hdd_lanes_below()),
                    hdd_range{r.begin, rest}, t);
            if (part) {
                const u32 to = given + hdd_popc(gives & hdd_lanes_below());
                gift.ranges[to] = hdd_range{r.begin + rest, part};
                gift.tuples[to] = t;
            }
            kept += hdd_popc(keeps);
            given += hdd_popc(gives);
            lost += hdd_warp_sum((u64)part);
            hdd_warp_sync();
        }
        if (hdd_lane() == 0)
            gift.count = given;
        count = kept;
        nodes -= lost;
    }

    // One range that lane 0 brings; the queue is empty.
    HDD_MEMBER void receive(hdd_range r, const Tuple &t)
    {
        HDD_ASSERT(count == 0 && nodes == 0);
        push(hdd_lane() == 0 ? r : hdd_no_range(), t);
    }

    // Takes a gift; the queue is empty.
    HDD_MEMBER void receive(const hdd_queue_gift<Tuple> &gift)
    {
        HDD_ASSERT(count == 0 && nodes == 0);
        u64 n = 0;
        for (u32 i = hdd_lane(); i < gift.count; i += HDD_LANES) {
            put(head + i, gift.ranges[i], gift.tuples[i]);
            n += gift.ranges[i].n;
        }
        count = gift.count;
        nodes = hdd_warp_sum(n);
        HDD_ASSERT(nodes > 0);
        hdd_warp_sync();
    }

  private:
    HDD_MEMBER void put(u32 i, hdd_range r, const Tuple &t)
    {
        at.ranges[i % HDD_QUEUE] = r;
        at.tuples[i % HDD_QUEUE] = t;
    }
};

// A level as a type: level L of a pipeline is chosen at run time, its code at compile time.
template <int L> struct hdd_level {
};

// ---- choosing (Algorithm 2) ----------------------------------------------------------------

// Deepest level with at least that many nodes; 0 if there is none: nobody asked level 0.
template <class Pipe> HDD_DEVICE int hdd_deepest(Pipe &, u32, hdd_level<0>)
{
    return 0;
}

template <class Pipe, int L> HDD_DEVICE int hdd_deepest(Pipe &p, u32 nodes, hdd_level<L> level)
{
    return p.queue(level).nodes >= nodes ? L : hdd_deepest(p, nodes, hdd_level<L - 1>());
}

// From level L on, R levels are left to look at.
template <class Pipe, int L> HDD_DEVICE int hdd_shallowest(Pipe &, hdd_level<L>, hdd_level<0>)
{
    return -1;
}

template <class Pipe, int L, int R>
HDD_DEVICE int hdd_shallowest(Pipe &p, hdd_level<L> level, hdd_level<R>)
{
    return p.queue(level).nodes ? L
                                : hdd_shallowest(p, hdd_level<L + 1>(), hdd_level<R - 1>());
}

// Nodes for which a level is worth a visit. Depth first (HDD_NONE) takes what there is: the
// traversal without NIFS, in which a level is appended to only when it is empty.
HDD_DEVICE u32 hdd_worth_a_visit(const hdd_run &run)
{
    return run.launch.balance == HDD_NONE ? 1 : HDD_LANES;
}

// -1: nothing left. Level 0 is as full as the source while there are tiles; where fewer than
// 32 of its rows wait there are none, and no deeper level is full, so that the shallowest is
// due.
template <class Pipe> HDD_DEVICE int hdd_choose(Pipe &p)
{
    const u32 nodes = hdd_worth_a_visit(p.run);
    const int level = hdd_deepest(p, nodes, hdd_level<Pipe::levels - 1>());
    if (level > 0)
        return level;
    p.scan.refill(p, nodes);
    return p.scan.pending ? 0
                          : hdd_shallowest(p, hdd_level<1>(), hdd_level<Pipe::levels - 1>());
}

#endif
