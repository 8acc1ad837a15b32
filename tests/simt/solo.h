/* A launch of a kernel whose warps are threads of the host (solo.cuh): the executor's own
 * layout of what warps share, with queues of few slots, so that they run full. */
#ifndef HEDDLE_TESTS_SIMT_SOLO_H
#define HEDDLE_TESTS_SIMT_SOLO_H

#include <stddef.h>

#include "templates/launch.cuh"

#ifdef __cplusplus
extern "C" {
#endif

enum { SOLO_SLOTS = 2, SOLO_LEVELS = 3 }; /* of a queue; queues of shuffle+ibr at most */

struct solo_launch {
    struct hdd_launch launch;
    struct hdd_progress progress;
    struct hdd_cursor cursors[2];
    unsigned char *share;
    size_t clear;
};
void solo_launch_init(struct solo_launch *l, hdd_u32 warps, hdd_u32 rows, hdd_u32 balance, hdd_u32 threshold,
                      hdd_u64 donation_bytes, hdd_u64 slot_bytes);
/* As the host leaves it before a launch. */
void solo_launch_reset(struct solo_launch *l);
void solo_launch_release(struct solo_launch *l);

#ifdef __cplusplus
}
#endif
#endif
