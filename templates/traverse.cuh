// The shapes of a kernel. A pipeline is a class, emitted per plan, with
//
//   enum { levels, tile_steps, cuts }         steps that tile() does; its kernel can cut ranges
//   enum : u64 { gift_bytes, slot_bytes }     of a mailbox; of a slot of fws.cuh
//   hdd_run run; hdd_scan scan;
//   u32 tile<full>(u32 first, u32 n)          rows of this lane that pass the cheap predicate
//   hdd_queue<Tuple> &queue(hdd_level<L>)     levels 1 .. levels - 1
//   void visit(hdd_level<0>, bool live, u32 row)
//   void visit(hdd_level<L>, bool live, u32 position, const Tuple &)
//
// visit is called by whole warps, live or not, and either hands ranges to the next level
// (hdd_push) or feeds the sink. Block-wide flushes come after the traversal.
#ifndef HDD_TRAVERSE_CUH
#define HDD_TRAVERSE_CUH

#include "hd/aws.cuh"
#include "hd/fws.cuh"
#include "hd/profile.cuh"

// ---- visits --------------------------------------------------------------------------------

template <class Pipe> HDD_DEVICE void hdd_visit_scan(Pipe &p)
{
    u32 row = 0;
    hdd_count_visit(p.run, 0, p.scan.pending);
    const bool live = p.scan.take(row);
    p.visit(hdd_level<0>(), live, row);
}

template <class Pipe, class Tuple, int L>
HDD_DEVICE void hdd_visit_queue(Pipe &p, hdd_queue<Tuple> &q, hdd_level<L> level)
{
    u32 position = 0;
    Tuple t = Tuple();
    hdd_count_visit(p.run, L, q.nodes);
    const bool live = q.take(position, t);
    p.visit(level, live, position, t);
}

template <class Pipe> HDD_DEVICE void hdd_visit(Pipe &p, int, hdd_level<0>)
{
    hdd_visit_scan(p);
}

template <class Pipe, int L> HDD_DEVICE void hdd_visit(Pipe &p, int level, hdd_level<L> here)
{
    if (level == L)
        hdd_visit_queue(p, p.queue(here), here);
    else
        hdd_visit(p, level, hdd_level<L - 1>());
}

// Children for a level's queue, of rows that were just visited.
template <class Pipe, int L, class Tuple>
HDD_DEVICE void hdd_push_by(Pipe &p, hdd_level<L> level, hdd_range r, const Tuple &t,
                            hdd_level<0>)
{
    p.queue(level).push(r, t);
}

template <class Pipe, int L, class Tuple>
HDD_DEVICE void hdd_push_by(Pipe &p, hdd_level<L> level, hdd_range r, const Tuple &t,
                            hdd_level<1>)
{
    hdd_push_cut(p, level, r, t);
}

// Where part k of n children begins; `unit` is the part's share of 2^64.
HDD_DEVICE u32 hdd_part_begin(u64 unit, u32 k, u32 n)
{
    return (u32)((u128)(unit * k) * n >> 64);
}

HDD_CALLED hdd_range hdd_part_of(u64 unit, u32 part, u32 parts, hdd_range r)
{
    const u32 from = hdd_part_begin(unit, part, r.n);
    const u32 end = part + 1 < parts ? hdd_part_begin(unit, part + 1, r.n) : r.n;
    return hdd_range{r.begin + from, end - from};
}

// Of the children of a row of the source, those of this warp's part.
template <int L> HDD_DEVICE hdd_range hdd_own_part(const hdd_run &, hdd_level<L>, hdd_range r)
{
    return r;
}

HDD_DEVICE hdd_range hdd_own_part(const hdd_run &run, hdd_level<1>, hdd_range r)
{
    const u32 parts = run.launch.parts;
    return parts ? hdd_part_of(run.launch.part_unit, run.part(), parts, r) : r;
}

template <class Pipe, int L, class Tuple>
HDD_DEVICE void hdd_push(Pipe &p, hdd_level<L> level, hdd_range children, const Tuple &t)
{
    const hdd_range r = hdd_own_part(p.run, level, children);
    hdd_push_by(p, level, r, t, hdd_level<Pipe::cuts>());
}

// ---- what a warp does every so often, and when it has nothing ------------------------------

// `look` comes after some iterations and says after how many again; `wait` gives false when the
// warp can end.
struct hdd_alone {
    template <class Pipe> HDD_MEMBER u32 look(Pipe &, u32)
    {
        return HDD_LOOK_RARELY;
    }

    template <class Pipe> HDD_MEMBER bool wait(Pipe &)
    {
        return false;
    }
};

struct hdd_adaptive {
    hdd_aws aws;

    template <class Pipe> HDD_MEMBER u32 look(Pipe &p, u32 idle)
    {
        return p.run.launch.balance == HDD_AWS ? aws.look(p, idle) : HDD_LOOK_RARELY;
    }

    template <class Pipe> HDD_MEMBER bool wait(Pipe &p)
    {
        return p.run.launch.balance == HDD_AWS && aws.wait(p);
    }
};

struct hdd_any_way {
    hdd_adaptive adaptive;

    template <class Pipe> HDD_MEMBER u32 look(Pipe &p, u32 idle)
    {
        return adaptive.look(p, idle);
    }

    template <class Pipe> HDD_MEMBER bool wait(Pipe &p)
    {
        const u32 how = p.run.launch.balance;
        return how == HDD_FWS || how == HDD_FWS_LOCAL ? hdd_fws_wait(p) : adaptive.wait(p);
    }
};

// ---- shapes --------------------------------------------------------------------------------

// No expansion: tile after tile, 32 survivors at a time. The abort word is looked at where
// tiles are taken.
template <class Pipe> HDD_DEVICE void hdd_straight(Pipe &p)
{
    hdd_profile_begin(p.run);
    for (;;) {
        p.scan.refill(p, hdd_worth_a_visit(p.run));
        if (!p.scan.pending)
            break;
        hdd_visit_scan(p);
    }
    hdd_profile_end(p.run);
}

// No expansion, no survivors in line: every row of a tile goes from its loads to the sink where
// it is. In place of tile and visit the pipeline has
//
//   void rows<full>(u32 first, u32 n)         this lane's rows; no warp operations
//
// Where most rows survive, lining them up costs more than the lanes that idle.
template <class Pipe> HDD_DEVICE void hdd_in_place(Pipe &p)
{
    u32 first;
    hdd_profile_begin(p.run);
    while (p.scan.take_tile(p.run, first)) {
        const u32 mine = first + hdd_lane() * HDD_TILE_ROWS;
        hdd_count_tile(p.run, Pipe::levels, p.scan.rows - first);
        if (p.scan.full(first))
            p.template rows<true>(mine, HDD_TILE_ROWS);
        else
            p.template rows<false>(mine, hdd_tile_end(first, p.scan.rows));
    }
    hdd_profile_end(p.run);
}

// False: the warp can end.
template <class Sharing, class Pipe> HDD_DEVICE bool hdd_wait(Pipe &p, Sharing &sharing)
{
    hdd_profile_waits(p.run);
    const bool got = sharing.wait(p);
    hdd_profile_works(p.run, got);
    return got;
}

// Levels: Algorithm 1 of the paper.
template <class Sharing, class Pipe> HDD_DEVICE void hdd_traverse(Pipe &p)
{
    Sharing sharing;
    u32 until_look = 1;
    hdd_profile_begin(p.run);
    for (;;) {
        const int level = hdd_choose(p);
        if (level >= 0)
            hdd_visit(p, level, hdd_level<Pipe::levels - 1>());
        else if (!hdd_wait(p, sharing))
            break;
        else
            until_look = 1; // the gift may be worth dividing
        if (--until_look > 0)
            continue;
        const u64 state = p.run.look();
        if ((u32)state) // abort
            break;
        until_look = sharing.look(p, (u32)(state >> 32));
    }
    hdd_profile_end(p.run);
}

template <class Pipe> HDD_DEVICE void hdd_nifs(Pipe &p)
{
    hdd_traverse<hdd_alone>(p);
}

template <class Pipe> HDD_DEVICE void hdd_nifs_aws(Pipe &p)
{
    hdd_traverse<hdd_adaptive>(p);
}

template <class Pipe> HDD_DEVICE void hdd_any_balance(Pipe &p)
{
    hdd_traverse<hdd_any_way>(p);
}

#endif
