// Work that moves between warps. A warp without work says so in a bitmap and waits; a busy
// warp claims a waiting one and puts half of its shallowest divisible level into that warp's
// mailbox (Themis, sections 6 and 7). Who gives and how often is a plain interval here; the
// table of workload sizes and the adaptive interval of Algorithm 3 decide before hdd_give is
// called and change nothing below.
//
// Why no work is lost and all warps end (DESIGN section 5): the count of idle warps starts at
// 0. A warp counts itself before it sets its bit. A giver claims a bit by an atomic and-not
// and lowers the count before it fills the mailbox; it is itself busy, so meanwhile the count
// stays below the number of warps. A receiver looks into its mailbox before it looks at the
// count. So count = warps means that nobody works and no mailbox is on its way.
//
// Kernels that wait need all their warps resident: cooperative launch.
#ifndef HDD_SHARE_CUH
#define HDD_SHARE_CUH

#include "hd/nifs.cuh"

enum hdd_mail_state : u32 { HDD_MAIL_EMPTY, HDD_MAIL_FULL };

struct hdd_mail {
    u32 state; // enum hdd_mail_state
    u32 level;
    u64 reserved;
    // The gift of that level follows.
};

template <class Pipe> HDD_DEVICE hdd_mail *hdd_mailbox(const Pipe &p, u32 warp)
{
    const u64 box = p.run.launch.mailboxes + (u64)warp * Pipe::mailbox_bytes;
    return reinterpret_cast<hdd_mail *>(box);
}

template <class Gift> HDD_DEVICE Gift &hdd_gift(hdd_mail *mail)
{
    return *reinterpret_cast<Gift *>(mail + 1);
}

// ---- by level ------------------------------------------------------------------------------

template <class Tuple> HDD_DEVICE void hdd_give_queue(hdd_queue<Tuple> &q, hdd_mail *mail)
{
    q.give(hdd_gift<hdd_queue_gift<Tuple>>(mail));
}

template <class Tuple> HDD_DEVICE void hdd_receive_queue(hdd_queue<Tuple> &q, hdd_mail *mail)
{
    q.receive(hdd_gift<hdd_queue_gift<Tuple>>(mail));
}

template <class Pipe>
HDD_DEVICE void hdd_give_level(Pipe &p, hdd_mail *mail, int, hdd_level<0>)
{
    p.scan.give(hdd_gift<hdd_scan_gift>(mail));
}

template <class Pipe, int L>
HDD_DEVICE void hdd_give_level(Pipe &p, hdd_mail *mail, int level, hdd_level<L> here)
{
    if (level == L)
        hdd_give_queue(p.queue(here), mail);
    else
        hdd_give_level(p, mail, level, hdd_level<L - 1>());
}

template <class Pipe>
HDD_DEVICE void hdd_receive_level(Pipe &p, hdd_mail *mail, int, hdd_level<0>)
{
    p.scan.receive(hdd_gift<hdd_scan_gift>(mail));
}

template <class Pipe, int L>
HDD_DEVICE void hdd_receive_level(Pipe &p, hdd_mail *mail, int level, hdd_level<L> here)
{
    if (level == L)
        hdd_receive_queue(p.queue(here), mail);
    else
        hdd_receive_level(p, mail, level, hdd_level<L - 1>());
}

// Shallowest level from L on that can be divided, -1 none; R levels are left to look at.
template <class Pipe, int L> HDD_DEVICE int hdd_divisible(Pipe &, hdd_level<L>, hdd_level<0>)
{
    return -1;
}

template <class Pipe, int L, int R>
HDD_DEVICE int hdd_divisible(Pipe &p, hdd_level<L> level, hdd_level<R>)
{
    return p.queue(level).divisible()
               ? L
               : hdd_divisible(p, hdd_level<L + 1>(), hdd_level<R - 1>());
}

// ---- giving --------------------------------------------------------------------------------

// One thread. Claims a waiting warp, -1 if there is none. The search begins at a word of its
// own so that givers do not all meet at the first one.
HDD_DEVICE i32 hdd_claim_idle(const hdd_run &run)
{
    u64 *const words = reinterpret_cast<u64 *>(run.launch.idle_words);
    const u32 n = (run.launch.warps + 63) / 64;
    if (hdd_load_relaxed(&run.progress->idle) == 0)
        return -1;
    for (u32 i = 0; i < n; i++) {
        const u32 w = (run.warp() + i) % n;
        for (u64 bits = hdd_load_relaxed(words + w); bits; bits &= bits - 1) {
            const u64 bit = bits & (0 - bits);
            if (!(hdd_atomic_and(words + w, ~bit) & bit))
                continue;
            hdd_atomic_add(&run.progress->idle, ~0u);
            hdd_fence(); // after the receiver emptied its mailbox
            return (i32)(w * 64 + hdd_lowest64(bit));
        }
    }
    return -1;
}

// Gives half of the shallowest divisible level to a waiting warp if there are both. Whole
// warp.
template <class Pipe> HDD_DEVICE void hdd_give(Pipe &p)
{
    const int level = p.scan.divisible()
                          ? 0
                          : hdd_divisible(p, hdd_level<1>(), hdd_level<Pipe::levels - 1>());
    i32 to = -1;
    if (level < 0)
        return;
    if (hdd_lane() == 0)
        to = hdd_claim_idle(p.run);
    to = (i32)hdd_shuffle((u32)to, 0);
    if (to < 0)
        return;
    hdd_mail *const mail = hdd_mailbox(p, (u32)to);
    hdd_give_level(p, mail, level, hdd_level<Pipe::levels - 1>());
    hdd_warp_sync();
    if (hdd_lane() == 0) {
        mail->level = (u32)level;
        hdd_store_release(&mail->state, (u32)HDD_MAIL_FULL);
        hdd_atomic_add(&p.run.progress->gifts, (u64)1);
    }
}

// ---- waiting -------------------------------------------------------------------------------

// One thread. True: the mailbox is full; false: no work is left anywhere, or the run is
// aborted.
HDD_DEVICE bool hdd_wait_for_mail(const hdd_run &run, const hdd_mail *mail)
{
    u64 *const words = reinterpret_cast<u64 *>(run.launch.idle_words);
    const u32 warp = run.warp();
    hdd_atomic_add(&run.progress->idle, 1u);
    hdd_fence();
    hdd_atomic_or(words + warp / 64, (u64)1 << (warp % 64));
    for (;;) {
        if (hdd_load_acquire(&mail->state) == HDD_MAIL_FULL)
            return true;
        if (hdd_load_relaxed(&run.progress->idle) == run.launch.warps || run.aborted())
            return false;
        hdd_back_off();
    }
}

// The warp has nothing: waits for a gift and takes it. False: it can end. Whole warp.
template <class Pipe> HDD_DEVICE bool hdd_wait(Pipe &p)
{
    hdd_mail *const mail = hdd_mailbox(p, p.run.warp());
    u32 got = 0;
    if (hdd_lane() == 0)
        got = hdd_wait_for_mail(p.run, mail);
    if (!hdd_shuffle(got, 0))
        return false;
    hdd_warp_sync();
    hdd_receive_level(p, mail, (int)mail->level, hdd_level<Pipe::levels - 1>());
    hdd_warp_sync();
    if (hdd_lane() == 0)
        hdd_store_release(&mail->state, (u32)HDD_MAIL_EMPTY);
    return true;
}

#endif
