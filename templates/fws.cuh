// Work-sharing of a fixed granularity (Themis, section 2.3): children of a node beyond a
// threshold are cut into pieces of that size and put into a queue, from which idle warps take
// one piece at a time. What AWS is compared with; two variants, as in section 8.4: one queue
// for all warps, or one per warp, found through a bitmap of those that hold something.
//
// A piece that finds the queue (ring.cuh) full stays where it is.
#ifndef HDD_FWS_CUH
#define HDD_FWS_CUH

#include "hd/ring.cuh"
#include "hd/share.cuh"

// ---- donating ------------------------------------------------------------------------------

// One lane. How many nodes of its range are left.
template <class Tuple>
HDD_APART u32 hdd_cut_range(hdd_run run, u32 slot_bytes, u32 level, hdd_range r, Tuple t)
{
    const u32 max = run.launch.share.threshold;
    const hdd_ring ring(run, slot_bytes, run.launch.balance == HDD_FWS_LOCAL ? run.warp() : 0);
    for (u32 sent = 0; r.n > max; r.n -= sent) {
        hdd_send_one(run); // before the piece can be found
        hdd_slot *const s = ring.reserve();
        if (!s) {
            hdd_send_none(run);
            break;
        }
        sent = hdd_min(max, r.n - max);
        s->level = level;
        s->range = hdd_range{r.begin + r.n - sent, sent};
        hdd_slot_tuple<Tuple>(s) = t;
        hdd_ring::hand_over(s);
        hdd_atomic_add(&run.progress->donations, (u64)1);
    }
    return r.n;
}

// Pushes children to a level's queue; of long ranges only the first piece. Whole warp.
template <class Pipeline, int L, class Tuple>
HDD_DEVICE void hdd_push_cut(Pipeline &p, hdd_level<L> level, hdd_range r, const Tuple &t)
{
    const bool own = p.run.launch.balance == HDD_FWS_LOCAL;
    const bool cut = r.n > p.run.launch.share.threshold;
    if ((own || p.run.launch.balance == HDD_FWS) && hdd_any(cut)) {
        if (cut)
            r.n = hdd_cut_range<Tuple>(p.run, Pipeline::slot_bytes, L, r, t);
        hdd_warp_sync();
        if (own && hdd_lane() == 0)
            hdd_bitmap(p.run).set(p.run.warp());
    }
    hdd_push_ranges(p, level, r, t);
}

// ---- receiving -----------------------------------------------------------------------------

// One thread: a slot of this warp's queue or of one that the bitmap shows. A bit is cleared
// where nothing was found, before the last look there: its release came after the piece.
HDD_DEVICE hdd_slot *hdd_pop_anywhere(const hdd_run &run, u32 slot_bytes)
{
    if (run.launch.balance == HDD_FWS)
        return hdd_ring(run, slot_bytes, 0).pop();
    const hdd_bitmap filled(run);
    hdd_slot *s = nullptr;
    filled.search(run.warp(), [&](u32 warp) {
        const hdd_ring ring(run, slot_bytes, warp);
        s = ring.pop();
        if (s || !filled.clear(warp))
            return s != nullptr;
        s = ring.pop();
        if (s)
            filled.set(warp);
        return s != nullptr;
    });
    return s;
}

HDD_APART hdd_slot *hdd_wait_for_piece(hdd_run run, u32 slot_bytes)
{
    const u32 *const box = hdd_mailbox(run, run.warp());
    for (hdd_exponential_backoff backoff;;) {
        hdd_slot *const s = hdd_pop_anywhere(run, slot_bytes);
        if (s || hdd_load_acquire(box) == HDD_MAIL_END || !backoff.wait(run))
            return s;
    }
}

template <class Pipeline> HDD_DEVICE void hdd_receive_piece(Pipeline &, hdd_slot *, u32, hdd_level<0>)
{
}

// Lane 0 brings one range; the queue is empty.
template <class Pipeline, int L, class Tuple>
HDD_DEVICE void hdd_receive_slot(Pipeline &p, hdd_slot *s, hdd_level<L> here,
                                 const hdd_queue_memory<Tuple> &)
{
    hdd_push_ranges(p, here, hdd_lane() == 0 ? s->range : hdd_no_range(), hdd_slot_tuple<Tuple>(s));
}

template <class Pipeline, int L>
HDD_DEVICE void hdd_receive_piece(Pipeline &p, hdd_slot *s, u32 level, hdd_level<L> here)
{
    if (level == L)
        hdd_receive_slot(p, s, here, p.queue_memory(here));
    else
        hdd_receive_piece(p, s, level, hdd_level<L - 1>());
}

// The warp has nothing: waits for a piece and takes it. False: it can end. Whole warp.
template <class Pipeline> HDD_DEVICE bool hdd_fws_wait(Pipeline &p)
{
    if (hdd_go_idle(p.run))
        return false;
    u64 address = 0;
    if (hdd_lane() == 0)
        address = reinterpret_cast<u64>(hdd_wait_for_piece(p.run, Pipeline::slot_bytes));
    address = hdd_shuffle(address, 0);
    if (!address)
        return false;
    hdd_warp_sync();
    hdd_slot *const s = reinterpret_cast<hdd_slot *>(address);
    hdd_receive_piece(p, s, s->level, hdd_level<Pipeline::levels - 1>());
    hdd_warp_sync();
    if (hdd_lane() == 0)
        hdd_ring::hand_over(s);
    return true;
}

#endif
