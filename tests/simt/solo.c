#include "tests/simt/solo.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/util.h"
#include "runtime/gpu/gpu_balance.h"

static struct rt_balance_memory lay_out(const struct solo_launch *l, hdd_u64 donation_bytes, hdd_u64 slot_bytes,
                                        hdd_u32 threshold, uint64_t base)
{
    return rt_balance_layout((enum rt_balance)l->launch.balance, l->launch.warps, donation_bytes, slot_bytes, threshold,
                             base);
}

void solo_launch_init(struct solo_launch *l, hdd_u32 warps, hdd_u32 rows, hdd_u32 balance, hdd_u32 threshold,
                      hdd_u64 donation_bytes, hdd_u64 slot_bytes)
{
    memset(l, 0, sizeof *l);
    l->launch.source_rows = rows;
    l->launch.warps = l->launch.scan_warps = warps;
    l->launch.cursors = (uintptr_t)l->cursors;
    l->launch.ncursors = HD_COUNT(l->cursors);
    l->launch.balance = balance;
    struct rt_balance_memory m = lay_out(l, donation_bytes, slot_bytes, threshold, 0);
    l->share = aligned_alloc(256, hd_align_up(m.bytes + 1, 256));
    if (!l->share)
        HD_BUG("out of memory");
    uint64_t queues = m.at.queues;
    m = lay_out(l, donation_bytes, slot_bytes, threshold, (uintptr_t)l->share);
    l->launch.share = m.at;
    l->launch.progress = (uintptr_t)&l->progress;
    l->clear = m.clear;
    if (m.at.queue_slots) {
        l->launch.share.queue_slots = SOLO_SLOTS;
        l->clear = queues + (warps + SOLO_LEVELS) * (256 + SOLO_SLOTS * slot_bytes);
    }
}

void solo_launch_reset(struct solo_launch *l)
{
    memset(&l->progress, 0, sizeof l->progress);
    memset(l->cursors, 0, sizeof l->cursors);
    memset(l->share, 0, l->clear);
}

void solo_launch_release(struct solo_launch *l)
{
    free(l->share);
}
