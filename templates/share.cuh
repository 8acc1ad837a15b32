// What every kind of work-sharing needs: who is idle, a mailbox per warp, and the end.
//
// progress.idle counts warps - (busy warps) - (pieces of work on their way). It starts at 0. A
// warp without work raises it, and only then says where it can be found; who sends a piece of
// work lowers it before the piece can be found, and is busy itself meanwhile; who takes a
// piece leaves the count alone. So the count equals the number of warps only when nobody works
// and nothing is on its way, and then it stays: exactly one warp, the last to raise it, learns
// that all is done, from its own atomic, and tells the others through their mailboxes. Waiting
// warps poll nothing but their mailbox, a word of their own (docs/architecture.md, "Balancing").
//
// Kernels that wait need all their warps resident: cooperative launch.
#ifndef HDD_SHARE_CUH
#define HDD_SHARE_CUH

#include "hd/bitmap.cuh"
#include "hd/nifs.cuh"

// States of a mailbox: nothing, the end, or 1 + the level of the donation in it.
enum hdd_mail : u32 { HDD_MAIL_EMPTY = 0, HDD_MAIL_END = ~0u };

HDD_DEVICE u32 *hdd_mailbox(const hdd_run &run, u32 warp)
{
    return reinterpret_cast<u32 *>(run.launch.share.mail) + warp;
}

// ---- the count -----------------------------------------------------------------------------

// One thread: one more piece of work is about to be on its way, or is not after all.
HDD_DEVICE void hdd_send_one(const hdd_run &run)
{
    hdd_atomic_add(&run.progress->idle, ~0u);
}

HDD_DEVICE void hdd_send_none(const hdd_run &run)
{
    hdd_atomic_add(&run.progress->idle, 1u);
}

// Whole warp: it has nothing. True: nobody has, and all are told. Who reads the end reads
// nothing else that others wrote, so these stores order nothing: releases, which wait for each
// other, took 100 us for 5,000 warps.
HDD_DEVICE bool hdd_go_idle(const hdd_run &run)
{
    u32 before = 0;
    if (hdd_lane() == 0) // what came before in any warp comes before its end
        before = hdd_atomic_add_acq_rel(&run.progress->idle, 1u);
    if (hdd_shuffle(before, 0) + 1 != run.launch.warps)
        return false;
    for (u32 w = hdd_lane(); w < run.launch.warps; w += HDD_LANES)
        hdd_store_relaxed(hdd_mailbox(run, w), (u32)HDD_MAIL_END);
    return true;
}

// ---- waiting -------------------------------------------------------------------------------

// Pauses that grow: a donation comes soon or not for long.
struct hdd_exponential_backoff {
    u32 ns, polls;

    HDD_MEMBER hdd_exponential_backoff() : ns(32), polls(0)
    {
    }

    // One thread. False: the run is aborted.
    HDD_MEMBER bool wait(const hdd_run &run)
    {
        if (++polls % HDD_POLLS == 0 && run.aborted())
            return false;
        hdd_back_off(ns);
        ns = hdd_min(ns * 2, 1024);
        return true;
    }
};

#endif
