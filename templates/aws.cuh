// Adaptive work-sharing (Themis, sections 6 and 7): the busiest warps give half of their
// shallowest work to warps that wait.
//
// How much a warp has is guessed as (height, log2 of the number) of its shallowest subtrees
// that can be divided, because a subtree grows exponentially with its height. A table counts
// warps by that size; it is a hint: a stale entry costs time, never work. A warp keeps its
// entry only while somebody waits, so that balanced pipelines never touch the table.
//
// How often a warp looks (Algorithm 3) follows from how many wait: every 33 iterations while
// nobody does, which is one load in so many.
//
// The scan is not shared here but through its cursor: nobody waits before that is exhausted.
#ifndef HDD_AWS_CUH
#define HDD_AWS_CUH

#include "hd/share.cuh"

// What a warp's turn came to.
struct hdd_turn {
    u32 place; // of the warp in the table of sizes from now on, 0: none
    u32 after; // warp iterations until its next turn; 0: at once
    i32 level; // half of which it gave, or which it got; -1: nothing moved
    hdd_scan scan;
};

// `idle` > 0 warps wait: the warp looks around and may give half of a level to one of them. 0: it
// has nothing itself and waits; where nothing comes, it can end. Whole warp. One call for all, since
// each costs a kernel some 20 instructions to compile.
HDD_CALLED hdd_turn hdd_aws_turn(hdd_run run, hdd_queue *queues, u32 levels, hdd_scan scan,
                                 u32 place, u32 idle);

// Where the source has too few rows for all warps (launch.parts), each warp has a part of the
// children of every row of one tile: the tile; of a row's children those of the part.
HDD_CALLED u32 hdd_own_tile(hdd_run run);
HDD_CALLED hdd_range hdd_own_part(hdd_run run, hdd_range r);

#ifdef HDD_LIBRARY_SHARE

HDD_CALLED u32 hdd_own_tile(hdd_run run)
{
    return run.warp() / run.launch.parts;
}

// Where part k of n children begins; `unit` is the part's share of 2^64.
HDD_DEVICE u32 hdd_part_begin(u64 unit, u32 k, u32 n)
{
    return (u32)hdd_mul_high(unit * k, n);
}

HDD_CALLED hdd_range hdd_own_part(hdd_run run, hdd_range r)
{
    const u64 unit = run.launch.part_unit;
    const u32 part = run.part();
    const u32 from = hdd_part_begin(unit, part, r.n);
    const u32 end = part + 1 < run.launch.parts ? hdd_part_begin(unit, part + 1, r.n) : r.n;
    return hdd_range{r.begin + from, end - from};
}

// ---- how much a warp has -------------------------------------------------------------------

// The shallowest level that can be divided, and its nodes; level -1: none.
struct hdd_workload {
    int level;
    u64 nodes;
};

// Of the last level, half must fill a warp.
HDD_DEVICE hdd_workload hdd_workload_of(u32 rows, const hdd_queue *queues, u32 levels)
{
    if (rows)
        return hdd_workload{0, rows};
    HDD_NO_UNROLL
    for (u32 level = 1; level < levels; level++)
        if (queues[level - 1].nodes >= (level + 1 == levels ? 2 * HDD_LANES : 2))
            return hdd_workload{(int)level, queues[level - 1].nodes};
    return hdd_workload{-1, 0};
}

// Its place in the table; 0: there is nothing to divide.
HDD_DEVICE u32 hdd_place(const hdd_workload &w, u32 levels)
{
    if (w.level < 0)
        return 0;
    const u32 bucket = w.nodes >> 32 ? HDD_LOAD_BUCKETS - 1 : hdd_highest((u32)w.nodes);
    return (levels - (u32)w.level) * HDD_LOAD_BUCKETS + bucket;
}

HDD_DEVICE u32 *hdd_load_table(const hdd_run &run)
{
    return reinterpret_cast<u32 *>(run.launch.share.loads);
}

HDD_DEVICE void hdd_move_entry(const hdd_run &run, u32 &place, u32 to)
{
    if (to != place && hdd_lane() == 0) {
        if (place)
            hdd_atomic_add(hdd_load_table(run) + place, ~0u);
        if (to)
            hdd_atomic_add(hdd_load_table(run) + to, 1u);
    }
    place = to;
}

// Nobody in the table has more. Heights from the top down, a row of the table at once.
HDD_DEVICE bool hdd_is_busiest(const hdd_run &run, u32 place, u32 levels)
{
    HDD_NO_UNROLL
    for (u32 row = levels * HDD_LOAD_BUCKETS; row + HDD_LOAD_BUCKETS > place;
         row -= HDD_LOAD_BUCKETS) {
        bool more = false;
        HDD_NO_UNROLL
        for (u32 k = hdd_lane(); k < HDD_LOAD_BUCKETS; k += HDD_LANES)
            more |= row + k > place && hdd_load_relaxed(hdd_load_table(run) + row + k) != 0;
        if (hdd_any(more))
            return false;
    }
    return true;
}

// ---- gifts ---------------------------------------------------------------------------------

HDD_DEVICE u64 hdd_gift_of(const hdd_run &run, u32 warp)
{
    return run.launch.share.gifts + (u64)warp * run.launch.share.gift_bytes;
}

// An idle warp that is this one's to give to, -1: none. Whole warp.
HDD_DEVICE i32 hdd_claim(const hdd_run &run)
{
    const hdd_bitmap idle(run);
    i32 to = -1;
    if (hdd_lane() == 0) {
        to = idle.search(run.warp(), [&](u32 warp) { return idle.clear(warp); });
        if (to >= 0)
            hdd_send_one(run);
    }
    to = hdd_shuffle(to, 0);
    hdd_warp_sync(); // lane 0's acquire is every lane's
    return to;
}

// The gift is in its place. Whole warp.
HDD_DEVICE void hdd_send(const hdd_run &run, u32 level, u32 to)
{
    hdd_warp_sync();
    if (hdd_lane() == 0) {
        hdd_store_release(hdd_mailbox(run, to), 1 + level);
        hdd_atomic_add(&run.progress->gifts, (u64)1);
    }
}

// One thread. The mailbox is emptied before the bit says that it can be filled.
HDD_DEVICE u32 hdd_wait_for_mail(const hdd_run &run)
{
    u32 *const box = hdd_mailbox(run, run.warp());
    hdd_bitmap(run).set(run.warp());
    for (hdd_patience patience;;) {
        const u32 mail = hdd_load_acquire(box);
        if (mail == HDD_MAIL_END)
            return mail;
        if (mail != HDD_MAIL_EMPTY) {
            hdd_store_relaxed(box, (u32)HDD_MAIL_EMPTY);
            return mail;
        }
        if (!patience.wait(run))
            return HDD_MAIL_END;
    }
}

// ---- the strategy --------------------------------------------------------------------------

// Claims an idle warp and gives it half of a level. False: there was none any more.
HDD_DEVICE bool hdd_give(const hdd_run &run, hdd_queue *queues, hdd_turn &turn, i32 level)
{
    const i32 to = hdd_claim(run);
    if (to < 0)
        return false;
    const u64 gift = hdd_gift_of(run, (u32)to);
    if (level == 0)
        turn.scan.give(*reinterpret_cast<hdd_scan_gift *>(gift));
    else
        hdd_give_ranges(queues[level - 1], *reinterpret_cast<hdd_queue_gift *>(gift));
    hdd_send(run, (u32)level, (u32)to);
    turn.level = level;
    return true;
}

// While three quarters of all warps wait, work spreads before it is done, and who has a quarter of
// what the busiest has may give, too.
HDD_DEVICE void hdd_look_around(const hdd_run &run, hdd_queue *queues, u32 levels, u32 idle,
                                hdd_turn &turn)
{
    const bool divisible = run.launch.parts == 0 && turn.scan.divisible(),
               most = idle > run.launch.warps - run.launch.warps / 4;
    const hdd_workload mine =
        hdd_workload_of(divisible ? (u32)turn.scan.nodes() : 0, queues, levels);
    hdd_move_entry(run, turn.place, hdd_place(mine, levels));
    turn.after = 1 + hdd_highest(hdd_max(run.launch.warps / idle, 1));
    if (turn.place && hdd_is_busiest(run, turn.place + (most ? 2 : 0), levels) &&
        hdd_give(run, queues, turn, mine.level) && most)
        turn.after = 0;
}

// Takes what is in this warp's mailbox.
HDD_DEVICE void hdd_open_mail(const hdd_run &run, hdd_queue *queues, u32 level, hdd_turn &turn)
{
    const u64 gift = hdd_gift_of(run, run.warp());
    if (level == 0)
        turn.scan.receive(*reinterpret_cast<const hdd_scan_gift *>(gift));
    else
        hdd_receive_ranges(queues[level - 1], *reinterpret_cast<hdd_queue_gift *>(gift));
    turn.level = (i32)level;
}

HDD_DEVICE void hdd_wait(const hdd_run &run, hdd_queue *queues, hdd_turn &turn)
{
    u32 mail = HDD_MAIL_END;
    hdd_move_entry(run, turn.place, 0);
    hdd_warp_sync(); // the last gift was read by all lanes
    turn.after = 1;  // what comes may be worth dividing
    if (hdd_rest(run))
        return;
    if (hdd_lane() == 0)
        mail = hdd_wait_for_mail(run);
    mail = hdd_shuffle(mail, 0);
    hdd_warp_sync();
    if (mail != HDD_MAIL_END)
        hdd_open_mail(run, queues, mail - 1, turn);
}

HDD_CALLED hdd_turn hdd_aws_turn(hdd_run run, hdd_queue *queues, u32 levels, hdd_scan scan,
                                 u32 place, u32 idle)
{
    hdd_turn turn = {place, 1, -1, scan};
    if (idle)
        hdd_look_around(run, queues, levels, idle, turn);
    else
        hdd_wait(run, queues, turn);
    return turn;
}

#endif

#endif
