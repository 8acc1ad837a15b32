// No-imbalance-first search (Themis, section 5): a warp visits the deepest level that fills
// all its lanes, and only when there is none the shallowest that has a node. Nodes of a level
// wait as ranges of positions, each with the tuple that its children share: row ids and
// computed slots (lazy materialisation, section 7).
//
// What is compiled at run time has to be small: a queue is told by its level's number and its
// tuples are words, so that one copy of all but the visits serves all levels of a kernel, and
// what is rare is called in the library (library_share.cu), compiled once.
//
// A level's queue holds at most (w - 1) + w * r ranges, w lanes and r = 1 range per lane and
// visit: ranges are pushed to a level only when it held fewer than w nodes, hence fewer than w
// ranges.
#ifndef HDD_NIFS_CUH
#define HDD_NIFS_CUH

#include "hd/range.cuh"
#include "hd/scan.cuh"

constexpr u32 HDD_QUEUE = 2 * HDD_LANES;                 // room, a power of two
constexpr u32 HDD_QUEUE_MAX = HDD_LANES - 1 + HDD_LANES; // what the bound above allows

// Ranges and tuples of a level's queue, rings; in shared memory, one per warp and level.
template <class Tuple> struct alignas(16) hdd_queue_memory {
    hdd_range ranges[HDD_QUEUE];
    Tuple tuples[HDD_QUEUE];
};

// What is in them, beside them in shared memory. The first sixteen bytes are read and written at
// once; where the ranges are the visits know by themselves.
struct alignas(16) hdd_queue {
    u32 head, count;
    u64 nodes;
    u32 at;    // of the ranges, bytes from here; the tuples follow them
    u32 words; // of a tuple
    u32 reserved[2];

    HDD_MEMBER hdd_range *ranges()
    {
        return reinterpret_cast<hdd_range *>(reinterpret_cast<u8 *>(this) + at);
    }

    // The tuples, as words.
    HDD_MEMBER u8 *tuples()
    {
        return reinterpret_cast<u8 *>(ranges() + HDD_QUEUE);
    }

    HDD_MEMBER void set(u32 new_head, u32 new_count, u64 new_nodes)
    {
        head = new_head;
        count = new_count;
        nodes = new_nodes;
    }
};

HDD_DEVICE u32 hdd_slot_of(u32 i)
{
    return i % HDD_QUEUE;
}

// Half of a queue, in the memory of a mailbox. As many tuples follow, at this structure's end.
struct hdd_queue_donation {
    u32 count, reserved;
    u64 nodes;
    hdd_range ranges[HDD_QUEUE];

    HDD_MEMBER u8 *tuple(u32 i, u32 words)
    {
        return reinterpret_cast<u8 *>(this + 1) + i * words * 4;
    }
};

// Bit L: level L fills a visit; it has a node. The same in every lane.
struct hdd_filled {
    const u32 fills; // so many nodes
    u32 full, some;

    HDD_MEMBER explicit hdd_filled(const hdd_run &run)
        : fills(hdd_worth_a_visit(run)), full(0), some(0)
    {
    }

    HDD_MEMBER void update(u32 level, u64 nodes)
    {
        const u32 bit = 1u << level;
        full = nodes >= fills ? full | bit : full & ~bit;
        some = nodes ? some | bit : some & ~bit;
    }
};

// The queues of all levels of a warp. Whole warps call; lane 0 writes what is common.
struct hdd_queues {
    hdd_queue *const of; // of level 1 on
    hdd_filled filled;

    HDD_MEMBER hdd_queues(const hdd_run &run, hdd_queue *first) : of(first), filled(run)
    {
    }

    HDD_MEMBER hdd_queue &level(u32 number) const
    {
        return of[number - 1];
    }

    // The nodes of a level changed.
    HDD_MEMBER void update(u32 number)
    {
        filled.update(number, level(number).nodes);
    }

    template <class Tuple> HDD_MEMBER void begin(u32 number, hdd_queue_memory<Tuple> &store)
    {
        static_assert(sizeof(Tuple) % 4 == 0, "tuples are words");
        hdd_queue &q = level(number);
        if (hdd_lane() == 0) {
            q.at = (u32)(reinterpret_cast<u8 *>(store.ranges) - reinterpret_cast<u8 *>(&q));
            q.words = sizeof(Tuple) / 4;
            q.set(0, 0, 0);
        }
        hdd_warp_sync();
    }

    // Pushes the ranges of all lanes that have one; the tuples of such lanes go to the slots.
    HDD_MEMBER u32 push(u32 number, hdd_range *ranges, hdd_range r)
    {
        hdd_queue &q = level(number);
        const u32 head = q.head, count = q.count, who = hdd_ballot(r.n != 0);
        const u32 to = hdd_slot_of(head + count + hdd_popc(who & hdd_lanes_below()));
        const u64 nodes = q.nodes + hdd_warp_sum(r.n);
        HDD_ASSERT(count + hdd_popc(who) <= HDD_QUEUE_MAX);
        if (r.n != 0)
            ranges[to] = r;
        filled.update(number, nodes);
        hdd_warp_sync();
        if (hdd_lane() == 0)
            q.set(head, count + hdd_popc(who), nodes);
        return to;
    }

    // Removes the first nodes of a level, at most one per lane and `most`: how many. The position of
    // this lane's node and the slot of its tuple, valid until the next barrier. Ranges hold at least
    // a node each, so the first 32 suffice, the starts of their parts of the lanes all differ,
    // and the ranges used up are the first ones.
    HDD_MEMBER u32 pop(u32 number, hdd_range *ranges, u32 &position, u32 &from, u32 most = HDD_LANES)
    {
        hdd_queue &q = level(number);
        const u32 head = q.head, count = q.count;
        const u64 nodes = q.nodes;
        const u32 lane = hdd_lane(), slot = hdd_slot_of(head + lane);
        const u32 n = lane < count ? ranges[slot].n : 0, max = hdd_min(n, HDD_LANES);
        const u32 start = hdd_warp_prefix_sum(max) - max;
        const u32 starts = hdd_warp_or(n && start < HDD_LANES ? 1u << start : 0);
        const u32 total = nodes < most ? (u32)nodes : most;
        const u32 mine = starts & hdd_lanes_upto();
        if (lane < total) {
            from = hdd_slot_of(head + hdd_popc(mine) - 1);
            position = ranges[from].begin + (lane - hdd_highest(mine));
        }
        filled.update(number, nodes - total);
        hdd_warp_sync();
        const u32 used = n && start < most ? hdd_min(n, most - start) : 0;
        if (used && used < n) {
            ranges[slot].begin += used;
            ranges[slot].n -= used;
        }
        const u32 gone = hdd_popc(hdd_ballot(used != 0 && used == n));
        if (lane == 0)
            q.set(head + gone, count - gone, nodes - total);
        return total;
    }
};

// Pushes children to a level's queue. Whole warp.
template <class Pipeline, int L, class Tuple>
HDD_DEVICE void hdd_push_ranges(Pipeline &p, hdd_level<L>, hdd_range r, const Tuple &t)
{
    hdd_queue_memory<Tuple> &at = p.queue_memory(hdd_level<L>());
    const u32 to = p.queues.push(L, at.ranges, r);
    if (r.n != 0)
        at.tuples[to] = t;
    hdd_warp_sync();
}

// Algorithm 2: the deepest level that fills a visit, else the shallowest. -1: nothing left. Level
// 0 is as full as the source while there are tiles; a visit of it may find that nothing was left.
template <class Pipeline> HDD_DEVICE int hdd_choose(Pipeline &p)
{
    const hdd_filled &f = p.queues.filled;
    if (f.full)
        return (int)hdd_highest(f.full);
    if (p.scan.has_more())
        return 0;
    return f.some ? (int)hdd_lowest(f.some) : -1;
}

#ifdef HDD_LIBRARY_SHARE

// ---- work-sharing --------------------------------------------------------------------------

HDD_DEVICE void hdd_copy_words(u8 *to, const u8 *from, u32 words)
{
    HDD_NO_UNROLL
    for (u32 w = 0; w < words; w++)
        hdd_copy_word(to + 4 * w, from + 4 * w);
}

// Tuples of lanes that say so move within their ring, not all at once: a lane's new place may be
// another one's old. Whole warp.
HDD_DEVICE void hdd_move_tuples(u8 *to, const u8 *from, u32 words, bool moves)
{
    HDD_NO_UNROLL
    for (u32 w = 0; w < words; w++) {
        u32 word = 0;
        hdd_copy_word(&word, from + 4 * w);
        hdd_warp_sync();
        if (moves)
            hdd_copy_word(to + 4 * w, &word);
        hdd_warp_sync();
    }
}

// Divides every range in two and donates one part of each, so that the cost does not depend on the
// number of nodes (section 7). Of ranges with one node every second goes. Whole warp.
HDD_DEVICE void hdd_donate_ranges(hdd_queue &q, hdd_queue_donation &donation)
{
    const hdd_queue was = q; // a copy in registers
    hdd_range *const ranges = q.ranges();
    u8 *const tuples = q.tuples();
    const u32 bytes = was.words * 4;
    u32 kept = 0, donated = 0;
    u64 lost = 0;
    HDD_NO_UNROLL
    for (u32 base = 0; base < was.count; base += HDD_LANES) {
        const u32 i = base + hdd_lane(),
                  from = hdd_slot_of(was.head + (i < was.count ? i : 0));
        const hdd_range r = i < was.count ? ranges[from] : hdd_no_range();
        const u32 part = (u32)(((u64)r.n + i % 2) / 2), rest = r.n - part;
        const u32 keeps = hdd_ballot(rest != 0), donates = hdd_ballot(part != 0);
        const u32 stays = hdd_slot_of(was.head + kept + hdd_popc(keeps & hdd_lanes_below()));
        const u32 goes = donated + hdd_popc(donates & hdd_lanes_below());
        hdd_warp_sync();
        if (part) {
            donation.ranges[goes] = hdd_range{r.begin + rest, part};
            hdd_copy_words(donation.tuple(goes, was.words), tuples + from * bytes, was.words);
        }
        if (rest)
            ranges[stays] = hdd_range{r.begin, rest};
        if (hdd_any(rest && stays != from))
            hdd_move_tuples(tuples + stays * bytes, tuples + from * bytes, was.words,
                            rest != 0);
        kept += hdd_popc(keeps);
        donated += hdd_popc(donates);
        lost += hdd_warp_sum(part);
        hdd_warp_sync();
    }
    if (hdd_lane() == 0) {
        donation.count = donated;
        donation.nodes = lost;
        q.count = kept;
        q.nodes = was.nodes - lost;
    }
    hdd_warp_sync();
}

// Takes a donation; the queue is empty. Whole warp.
HDD_DEVICE void hdd_receive_ranges(hdd_queue &q, hdd_queue_donation &donation)
{
    const hdd_queue was = q; // a copy in registers
    hdd_range *const ranges = q.ranges();
    u8 *const tuples = q.tuples();
    const u32 count = donation.count;
    HDD_ASSERT(was.count == 0 && was.nodes == 0);
    HDD_NO_UNROLL
    for (u32 i = hdd_lane(); i < count; i += HDD_LANES) {
        const hdd_range r = donation.ranges[i];
        const u32 to = hdd_slot_of(was.head + i);
        ranges[to] = r;
        hdd_copy_words(tuples + to * was.words * 4, donation.tuple(i, was.words), was.words);
    }
    hdd_warp_sync();
    if (hdd_lane() == 0) {
        q.count = count;
        q.nodes = donation.nodes;
        HDD_ASSERT(q.nodes > 0);
    }
    hdd_warp_sync();
}

#endif

#endif
