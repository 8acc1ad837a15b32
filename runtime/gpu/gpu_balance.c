#include "runtime/gpu/gpu_balance.h"

#include <string.h>

#include "runtime/base/util.h"

enum {
    RING_BYTES = 256,          /* struct hdd_ring_ends of templates/ring.cuh */
    SHARED_RING_SLOTS = 65536, /* of the one queue; of each warp's own */
    OWN_RING_SLOTS = 64,
    LEVEL_RING_SLOTS = 4096 /* of each level */
};

/* Room for n bytes after what there is; its address. */
static uint64_t place(struct rt_balance_memory *m, uint64_t base, uint64_t n)
{
    uint64_t at = base + m->bytes;
    m->bytes += hd_align_up(n, 256);
    return at;
}

static void place_queues(struct rt_balance_memory *m, uint32_t queues, uint32_t slots, uint64_t slot_bytes,
                         uint64_t base)
{
    m->at.queue_slots = slots;
    m->at.queues = place(m, base, (RING_BYTES + slots * slot_bytes) * queues);
    m->clear = m->bytes; /* the slots' turns */
}

struct rt_balance_memory rt_balance_layout(enum rt_balance b, uint32_t warps, uint64_t donation_bytes,
                                           uint64_t slot_bytes, uint32_t threshold, uint64_t base)
{
    struct rt_balance_memory m = {.bytes = 0};
    uint64_t words = (warps + 63) / 64;
    if (b == RT_BALANCE_SHUFFLE_IBR)
        place_queues(&m, HDD_MAX_LEVELS - 1, LEVEL_RING_SLOTS, slot_bytes, base);
    if (!rt_balance_shares(b))
        return m;
    m.at.threshold = threshold ? threshold : RT_FWS_THRESHOLD;
    m.at.groups = place(&m, base, (words + 63) / 64 * 8);
    m.at.words = place(&m, base, words * 8);
    m.at.mail = place(&m, base, warps * 4ull);
    m.at.loads = place(&m, base, HDD_LOAD_HEIGHTS * HDD_LOAD_BUCKETS * 4);
    m.clear = m.bytes;
    if (b == RT_BALANCE_AWS) {
        m.at.donations = place(&m, base, donation_bytes * warps);
        m.at.donation_bytes = donation_bytes;
    } else if (b == RT_BALANCE_FWS_LOCAL) {
        place_queues(&m, warps, OWN_RING_SLOTS, slot_bytes, base);
    } else {
        place_queues(&m, 1, SHARED_RING_SLOTS, slot_bytes, base);
    }
    return m;
}

uint32_t rt_balance_batch_bits(uint64_t source_rows, uint32_t warps, uint32_t tile_rows)
{
    enum { BATCHES_OF_A_WARP = 16, MAX_ROWS = 2048 };
    uint64_t tiles = source_rows / tile_rows / ((uint64_t)warps * BATCHES_OF_A_WARP + 1);
    uint32_t bits = 0;
    while (2ull << bits <= HD_MIN(tiles, (uint64_t)(MAX_ROWS / tile_rows)))
        bits++;
    return bits;
}

/* ---- figures ---------------------------------------------------------------------------- */

static double ratio(uint64_t idle_lanes, uint64_t visits)
{
    return visits ? (double)idle_lanes / ((double)HDD_WARP_LANES * (double)visits) : 0;
}

void rt_balance_add_up(const struct hdd_warp_profile *records, uint32_t warps, struct rt_balance_report *out)
{
    *out = (struct rt_balance_report){.warps = warps};
    for (uint32_t w = 0; w < warps; w++) {
        const struct hdd_warp_profile *r = &records[w];
        for (int l = 0; l < HDD_PROFILE_LEVELS; l++) {
            out->visits[l] += r->visits[l];
            out->idle_lanes[l] += r->idle_lanes[l];
            out->all_visits += r->visits[l];
            out->all_idle_lanes += r->idle_lanes[l];
        }
        out->busy += (double)r->busy;
        out->busy_max = HD_MAX(out->busy_max, (double)r->busy);
        out->wait += (double)r->wait;
        out->transitions += r->transitions;
        out->donations += r->received;
    }
    out->iir = ratio(out->all_idle_lanes, out->all_visits);
    out->ilif = out->busy > 0 ? out->busy_max * warps / out->busy : 1;
}
