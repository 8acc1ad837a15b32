/* The SIMT emulator: runs device code, compiled by the host compiler against twin.cuh, as a
 * grid of blocks of warps with one fiber per thread (docs/testing.md, "Without a GPU").
 *
 * A fiber runs until it waits in a warp operation or a block barrier, or until it passes a
 * point where others may interfere (atomics, polling); which fiber runs next follows from the
 * seed. So the interleavings are those of sequential consistency. What it cannot show: weak
 * memory ordering and data races; these are for the sanitizers on a GPU.
 *
 * Checked: every warp operation is reached by all lanes of the warp, and the same one; every
 * block barrier by all threads of the block; nobody waits forever; assertions in device code.
 * One emulation at a time in a process. */
#ifndef HEDDLE_TESTS_SIMT_H
#define HEDDLE_TESTS_SIMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* kernels are loaded as shared objects */

enum { SIMT_LANES = 32, SIMT_DEPOSIT = 16 };

struct simt_options {
    uint32_t blocks, warps; /* warps of a block */
    uint64_t seed;          /* 0: warp after warp, lane after lane; others mix orders */
    uint64_t max_switches;  /* 0: a generous default; more is reported as no progress */
    uint64_t alarm_after; /* after so many switches *alarm becomes 1: what a host does when it */
    uint32_t *alarm; /* cancels a running kernel. 0: never */
};

struct simt_report {
    uint64_t switches; /* between fibers */
    uint64_t meetings; /* warp operations */
    char message[256]; /* why it failed */
};

/* Runs body(context) in every thread. 0, or -1 with the message set. */
int simt_launch(const struct simt_options *o, void (*body)(void *), void *context, struct simt_report *r);

/* ---- for device code -------------------------------------------------------------------- */

/* Warp operations that lanes can meet in; a lane that comes to another one than its warp's
 * first is reported as divergence. */
#define SIMT_MEETINGS(X) \
    X(SYNC, "warp barrier") \
    X(BALLOT, "ballot") \
    X(SHUFFLE, "shuffle") \
    X(SHUFFLE_UP, "shuffle up") \
    X(MATCH, "match") \
    X(REDUCE, "reduction")
enum simt_meeting {
#define X(id, name) SIMT_##id,
    SIMT_MEETINGS(X)
#undef X
};

struct simt_place {
    uint32_t lane, warp, block; /* of the warp in its block */
};
extern struct simt_place simt_here; /* of the running thread */

/* Waits for the whole warp; each lane deposits n bytes (at most SIMT_DEPOSIT). Gives the
 * deposits, lane k's at k * SIMT_DEPOSIT, which stay until this lane's next but one meeting.
 */
const unsigned char *simt_meet(enum simt_meeting kind, const void *deposit, size_t n);
/* The same for one bit and one word of each lane: bits of all lanes; or of all words. */
uint32_t simt_vote(enum simt_meeting kind, bool bit);
uint32_t simt_or(uint32_t word);
void simt_block_barrier(void);
void simt_point(void);           /* others may run here */
void simt_pause(void);           /* a wait: others should run */
uint64_t simt_ticks(void);       /* warp operations of this warp so far: its clock */
uint64_t simt_time(void);        /* switches between fibers so far: a clock for all */
void *simt_shared(size_t bytes); /* memory of this block, of any contents; the same for every call */
void simt_fail(const char *what, const char *file, int line) __attribute__((noreturn));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
