// Adaptive work-sharing (Themis, sections 6 and 7): the busiest warps donate half of their
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
// The scan is not shared here but through its cursors: nobody waits before these have no more.
#ifndef HDD_AWS_CUH
#define HDD_AWS_CUH

#include "hd/share.cuh"

// What a warp found when it looked around.
struct hdd_look {
    u32 place; // of the warp in the table of sizes from now on, 0: none
    u32 after; // warp iterations until it looks again; 0: at once
    i32 level; // which it should donate half of, -1: nothing
};

// What moved between two warps.
struct hdd_moved {
    i32 level; // half of it was donated, or came; -1: nothing
    hdd_scan scan;
};

// A warp looks around after an iteration: `idle` > 0 warps wait, and `rows` of level 0 could be
// divided. Whole warp. It calls nothing: it is not rare while warps wait.
HDD_CALLED hdd_look hdd_aws_look(hdd_run run, const hdd_queue *queues, u32 levels, u32 idle,
                                 u32 place, u32 rows);
// Claims an idle warp and donates half of a level; level -1: the warp itself has nothing, and
// waits; where nothing comes, it can end. Whole warp.
HDD_CALLED hdd_moved hdd_aws_move(hdd_run run, hdd_queue *queues, hdd_scan scan, u32 place,
                                  i32 level);

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

// ---- donations -----------------------------------------------------------------------------

HDD_DEVICE u64 hdd_donation_of(const hdd_run &run, u32 warp)
{
    return run.launch.share.donations + (u64)warp * run.launch.share.donation_bytes;
}

// An idle warp that is this one's to donate to, -1: none. Whole warp.
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

// The donation is in its place. Whole warp.
HDD_DEVICE void hdd_send(const hdd_run &run, u32 level, u32 to)
{
    hdd_warp_sync();
    if (hdd_lane() == 0) {
        hdd_store_release(hdd_mailbox(run, to), 1 + level);
        hdd_atomic_add(&run.progress->donations, (u64)1);
    }
}

// One thread. The mailbox is emptied before the bit says that it can be filled.
HDD_DEVICE u32 hdd_wait_for_mail(const hdd_run &run)
{
    u32 *const box = hdd_mailbox(run, run.warp());
    hdd_bitmap(run).set(run.warp());
    for (hdd_exponential_backoff backoff;;) {
        const u32 mail = hdd_load_acquire(box);
        if (mail == HDD_MAIL_END)
            return mail;
        if (mail != HDD_MAIL_EMPTY) {
            hdd_store_relaxed(box, (u32)HDD_MAIL_EMPTY);
            return mail;
        }
        if (!backoff.wait(run))
            return HDD_MAIL_END;
    }
}

// ---- the strategy --------------------------------------------------------------------------

// While three quarters of all warps wait, work spreads before it is done, and who has a quarter of
// what the busiest has may donate, too.
HDD_CALLED hdd_look hdd_aws_look(hdd_run run, const hdd_queue *queues, u32 levels, u32 idle,
                                 u32 place, u32 rows)
{
    const bool most_idle = idle > run.launch.warps - run.launch.warps / 4;
    const hdd_workload mine = hdd_workload_of(rows, queues, levels);
    hdd_move_entry(run, place, hdd_place(mine, levels));
    const bool donates = place && hdd_is_busiest(run, place + (most_idle ? 2 : 0), levels);
    const u32 after = 1 + hdd_highest(hdd_max(run.launch.warps / idle, 1));
    return hdd_look{place, donates && most_idle ? 0 : after, donates ? mine.level : -1};
}

HDD_DEVICE void hdd_donate(const hdd_run &run, hdd_queue *queues, i32 level, hdd_moved &moved)
{
    const i32 to = hdd_claim(run);
    if (to < 0)
        return;
    const u64 donation = hdd_donation_of(run, (u32)to);
    if (level == 0)
        moved.scan.donate(*reinterpret_cast<hdd_scan_donation *>(donation));
    else
        hdd_donate_ranges(queues[level - 1], *reinterpret_cast<hdd_queue_donation *>(donation));
    hdd_send(run, (u32)level, (u32)to);
    moved.level = level;
}

// Takes what is in this warp's mailbox.
HDD_DEVICE void hdd_receive(const hdd_run &run, hdd_queue *queues, u32 level, hdd_moved &moved)
{
    const u64 donation = hdd_donation_of(run, run.warp());
    if (level == 0)
        moved.scan.receive(*reinterpret_cast<const hdd_scan_donation *>(donation));
    else
        hdd_receive_ranges(queues[level - 1], *reinterpret_cast<hdd_queue_donation *>(donation));
    moved.level = (i32)level;
}

HDD_DEVICE void hdd_wait(const hdd_run &run, hdd_queue *queues, u32 place, hdd_moved &moved)
{
    u32 mail = HDD_MAIL_END;
    hdd_move_entry(run, place, 0);
    hdd_warp_sync(); // the last donation was read by all lanes
    if (hdd_go_idle(run))
        return;
    if (hdd_lane() == 0)
        mail = hdd_wait_for_mail(run);
    mail = hdd_shuffle(mail, 0);
    hdd_warp_sync();
    if (mail != HDD_MAIL_END)
        hdd_receive(run, queues, mail - 1, moved);
}

HDD_CALLED hdd_moved hdd_aws_move(hdd_run run, hdd_queue *queues, hdd_scan scan, u32 place,
                                  i32 level)
{
    hdd_moved moved = {-1, scan};
    if (level < 0)
        hdd_wait(run, queues, place, moved);
    else
        hdd_donate(run, queues, level, moved);
    return moved;
}

#endif

#endif
