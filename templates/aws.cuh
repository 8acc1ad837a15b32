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

// The shallowest level that can be divided, and its nodes; level -1: none.
struct hdd_workload {
    int level;
    u64 nodes;
};

// From level L on, R levels are left to look at. Of the last level, half must fill a warp.
template <class Pipe, int L>
HDD_DEVICE hdd_workload hdd_divisible(Pipe &, hdd_level<L>, hdd_level<0>)
{
    return hdd_workload{-1, 0};
}

template <class Pipe, int L, int R>
HDD_DEVICE hdd_workload hdd_divisible(Pipe &p, hdd_level<L> level, hdd_level<R>)
{
    const u64 nodes = p.queue(level).nodes;
    return nodes >= (R == 1 ? 2 * HDD_LANES : 2)
               ? hdd_workload{L, nodes}
               : hdd_divisible(p, hdd_level<L + 1>(), hdd_level<R - 1>());
}

template <class Pipe> HDD_DEVICE hdd_workload hdd_workload_of(Pipe &p)
{
    if (p.run.launch.parts == 0 && p.scan.divisible())
        return hdd_workload{0, p.scan.nodes()};
    return hdd_divisible(p, hdd_level<1>(), hdd_level<Pipe::levels - 1>());
}

struct hdd_aws {
    u32 entry; // place of this warp in the table, 0: it has none

    HDD_MEMBER hdd_aws() : entry(0)
    {
    }

    // Gives something if it should. Whole warp, after a warp iteration; `idle` warps wait.
    // Returns the number of iterations before the next call. While most warps wait, it gives
    // again at once, so that work spreads before it is done.
    template <class Pipe> HDD_MEMBER u32 look(Pipe &p, u32 idle)
    {
        if (idle == 0)
            return HDD_LOOK_RARELY;
        for (;;) {
            const hdd_workload mine = hdd_workload_of(p);
            enter(p.run, mine.level < 0 ? 0 : place(Pipe::levels - mine.level, mine.nodes));
            if (!entry || !is_busiest(p.run, Pipe::levels) || !give(p, mine.level) ||
                idle <= p.run.launch.warps - p.run.launch.warps / 4)
                return 1 + hdd_highest(hdd_max(p.run.launch.warps / idle, 1));
            idle--;
        }
    }

    // The warp has nothing: waits for a gift and takes it. False: it can end. Whole warp.
    template <class Pipe> HDD_MEMBER bool wait(Pipe &p)
    {
        enter(p.run, 0);
        hdd_warp_sync(); // the last gift was read by all lanes
        if (hdd_rest(p.run))
            return false;
        u32 mail = 0;
        if (hdd_lane() == 0)
            mail = wait_for_mail(p.run);
        mail = hdd_shuffle(mail, 0);
        if (mail == HDD_MAIL_END)
            return false;
        hdd_warp_sync();
        hdd_receive_level(p, gift(p, p.run.warp()), (int)mail - 1,
                          hdd_level<Pipe::levels - 1>());
        return true;
    }

  private:
    template <class Pipe> HDD_MEMBER static u64 gift(const Pipe &p, u32 warp)
    {
        return p.run.launch.share.gifts + (u64)warp * Pipe::gift_bytes;
    }

    HDD_MEMBER static u32 *table(const hdd_run &run)
    {
        return reinterpret_cast<u32 *>(run.launch.share.loads);
    }

    HDD_MEMBER static u32 place(u32 height, u64 nodes)
    {
        const u32 bucket = nodes >> 32 ? HDD_LOAD_BUCKETS - 1 : hdd_highest((u32)nodes);
        return height * HDD_LOAD_BUCKETS + bucket;
    }

    HDD_MEMBER void enter(const hdd_run &run, u32 to)
    {
        if (to != entry && hdd_lane() == 0) {
            if (entry)
                hdd_atomic_add(table(run) + entry, ~0u);
            if (to)
                hdd_atomic_add(table(run) + to, 1u);
        }
        entry = to;
    }

    // Nobody in the table has more. Heights from the top down, a row of the table at once.
    HDD_MEMBER bool is_busiest(const hdd_run &run, u32 levels) const
    {
        for (u32 row = levels * HDD_LOAD_BUCKETS; row + HDD_LOAD_BUCKETS > entry;
             row -= HDD_LOAD_BUCKETS) {
            bool more = false;
            for (u32 k = hdd_lane(); k < HDD_LOAD_BUCKETS; k += HDD_LANES)
                more |= row + k > entry && hdd_load_relaxed(table(run) + row + k) != 0;
            if (hdd_any(more))
                return false;
        }
        return true;
    }

    template <class Pipe> HDD_MEMBER bool give(Pipe &p, int level)
    {
        const hdd_bitmap idle(p.run);
        i32 to = -1;
        if (hdd_lane() == 0) {
            to = idle.search(p.run.warp(), [&](u32 warp) { return idle.clear(warp); });
            if (to >= 0)
                hdd_send_one(p.run);
        }
        to = hdd_shuffle(to, 0);
        if (to < 0)
            return false;
        hdd_warp_sync(); // lane 0's acquire is every lane's
        hdd_give_level(p, gift(p, (u32)to), level, hdd_level<Pipe::levels - 1>());
        hdd_warp_sync();
        if (hdd_lane() == 0) {
            hdd_store_release(hdd_mailbox(p.run, (u32)to), 1 + (u32)level);
            hdd_atomic_add(&p.run.progress->gifts, (u64)1);
        }
        hdd_count_gift(p.run);
        return true;
    }

    // One thread. The mailbox is emptied before the bit says that it can be filled.
    HDD_MEMBER static u32 wait_for_mail(const hdd_run &run)
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
};

#endif
