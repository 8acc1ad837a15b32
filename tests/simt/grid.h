/* Launching a kernel of the templates on the emulator: the memory that every launch needs
 * besides the pipeline's own (templates/launch.cuh), and the call. */
#ifndef HEDDLE_TESTS_SIMT_GRID_H
#define HEDDLE_TESTS_SIMT_GRID_H

#include "runtime/gpu/gpu_balance.h"
#include "tests/simt/simt.h"

typedef void (*grid_kernel)(const hdd_u64 *args, const struct hdd_launch *launch);

struct grid_options {
    uint32_t blocks;
    uint64_t seed;
    uint32_t batch_bits; /* log2 of the tiles that a warp takes at once */
    uint32_t cursors; /* that it takes them from: a power of two, at most HDD_CURSORS */
    enum rt_balance balance;
    uint32_t threshold;  /* of FWS */
    uint32_t scan_warps; /* warps from this number on take no tiles; 0: all do */
    uint64_t max_switches;
    uint64_t stop_after; /* fiber switches after which the run is cancelled; 0: never */
    struct rt_balance_report *report; /* filled if set */
};
/* Two blocks, one seed, NIFS without sharing. */
void grid_options_init(struct grid_options *o);

/* What the kernel was emitted with. */
struct grid_code {
    grid_kernel entry;
    uint32_t donation_bytes, slot_bytes;
};

/* Fills what is the same for every kernel of `launch`, runs the kernel and frees the rest.
 * progress is the kernel's at its end. */
int grid_run(const struct grid_options *o, const struct grid_code *code, const hdd_u64 *args, struct hdd_launch launch,
             struct hdd_progress *progress, struct simt_report *report);

#endif
