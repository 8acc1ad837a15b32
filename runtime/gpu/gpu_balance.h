/* Work-sharing on a device, the host's part: the memory that a launch needs, and what the records of the
 * warps say afterwards (templates/launch.cuh, templates/share.cuh). */
#ifndef HEDDLE_RUNTIME_GPU_BALANCE_H
#define HEDDLE_RUNTIME_GPU_BALANCE_H

#include <stddef.h>

#include "runtime/spec.h"
#include "templates/launch.cuh"

enum { RT_FWS_THRESHOLD = 1024 }; /* the one for relational data in the paper's section 8.4 */

struct rt_balance_memory {
    struct hdd_share_memory at; /* addresses from `base` on; all 0 where nothing is shared */
    size_t bytes, clear;        /* in all; the first ones, zeroed before every launch */
};
/* For a kernel that was emitted with these sizes. threshold 0: RT_FWS_THRESHOLD. base: a multiple of 256. */
struct rt_balance_memory rt_balance_layout(enum rt_balance b, uint32_t warps, uint64_t donation_bytes,
                                           uint64_t slot_bytes, uint32_t threshold, uint64_t base);

/* log2 of the tiles of so many rows that a warp takes at once: few enough that warps end together, many enough that cursors are
 * not what they wait for. */
uint32_t rt_balance_batch_bits(uint64_t source_rows, uint32_t warps, uint32_t tile_rows);

/* Figures of section 8.1 of the paper. IIR: idle lanes in a warp iteration / 32. ILIF: largest time that
 * a warp worked / mean. */
struct rt_balance_report {
    uint64_t visits[HDD_PROFILE_LEVELS], idle_lanes[HDD_PROFILE_LEVELS]; /* by level; [levels]: tiles */
    uint64_t all_visits, all_idle_lanes;
    double busy, busy_max, wait; /* clock ticks of all warps; of the one that worked longest */
    uint32_t warps;
    uint64_t transitions, donations;
    double iir, ilif; /* 0, 1 where nothing was done */
};
void rt_balance_add_up(const struct hdd_warp_profile *records, uint32_t warps, struct rt_balance_report *out);

#endif
