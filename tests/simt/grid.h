/* Launching a kernel of the templates on the emulator: the memory that every launch needs
 * besides the pipeline's own (templates/launch.cuh), and the call. */
#ifndef HEDDLE_TESTS_SIMT_GRID_H
#define HEDDLE_TESTS_SIMT_GRID_H

#include "templates/launch.cuh"
#include "tests/simt/simt.h"

enum { GRID_WARPS = 4 }; /* warps of a block: HDD_WARPS of templates/machine.cuh */

typedef void (*grid_kernel)(const hdd_u64 *args, const struct hdd_launch *launch);

struct grid_options {
    uint32_t blocks;
    uint64_t seed;
    uint32_t take; /* tiles a warp takes at once */
    enum hdd_balance balance;
    uint32_t share_every;
    uint32_t start_idle; /* warps from this number on begin idle */
    uint64_t max_switches;
};
/* Four blocks' warps, one seed, no sharing. */
void grid_options_init(struct grid_options *o);

/* Fills what is the same for every kernel of `launch`, runs the kernel and frees the rest.
 * progress is the kernel's at its end. */
int grid_run(const struct grid_options *o, grid_kernel kernel, const hdd_u64 *args,
             struct hdd_launch launch, hdd_u64 mailbox_bytes, struct hdd_progress *progress,
             struct simt_report *report);

#endif
