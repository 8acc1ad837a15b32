// What the host hands to a kernel. Read by host C and by device code alike: plain structures,
// addresses as 64-bit words, and a layout that every emitted source asserts
// (codegen/cuda_pipeline.c).
#ifndef HDD_LAUNCH_CUH
#define HDD_LAUNCH_CUH

#ifdef __cplusplus
#include "hd/balances.cuh"
#include "hd/device.cuh"
#else
#include "templates/balances.cuh"
#include "templates/device.cuh"
#endif

typedef unsigned long long hdd_u64;
typedef unsigned int hdd_u32;
typedef int hdd_i32;

// How a kernel spreads its work: a runtime argument of one compiled kernel, as far as its shape
// (enum rt_shape of runtime/spec.h) has the code. The values are those of enum rt_balance.
enum hdd_balance {
    HDD_AUTO, // not for a launch
#define X(id, name, where, shares) HDD_##id,
    HDD_BALANCES(X)
#undef X
};

// The state that the sink of a pipeline fills. Layouts are those of runtime/spec.h, except
// that MIN and MAX accumulators of I32, I64, F64 and F32 start from the far end of their order
// (MIN of floats: the NaN of the highest fraction bit; MAX: minus infinity) instead of from zero bytes: an
// atomic cannot look at the valid byte first. Valid bytes start as zero and are 0 or 1 when
// the kernel is done.
//
// Overflow: after a launch the cursor is the number of rows asked for. Beyond the capacity it
// is what a retry needs: exact for appended rows; for groups exact up to seven eighths of the
// slots, with which the kernel ends. What did not fit was not stored.
struct hdd_sink_state {
    hdd_u64 rows;     // address of row 0
    hdd_u64 capacity; // rows there is room for
    hdd_u64 cursor;   // address of a 64-bit count of rows asked for; beyond capacity: overflow
    hdd_u64 slots; // AGG_HASH: address of mask + 1 words (hash >> 32) << 32 | (row + 1), 0 empty; 0: rows are slots
    hdd_u64 mask;
};

enum { HDD_FAILED_BYTES = 44 }; // of a string

// Written by the kernel. The host clears it before a launch. The cursor stands apart from the
// words that warps poll.
struct hdd_progress {
    hdd_u64 next_task; // of a loop over pairs: the first task that no warp has taken (loop.cuh)
    hdd_u64 apart[15];
    hdd_u32 abort; // not 0: leave as soon as possible. Read together with the next
    hdd_u32 idle;  // warps - busy ones - donations on their way (share.cuh); = warps: all is done
    hdd_u32 failure; // enum rt_failure of the first row that failed
    hdd_i32 failure_path;
    hdd_u64 donations; // pieces of work that moved between warps
    // What a cast that failed was about: of numbers two words as in templates/abi.def, of a string
    // its length in value[0] and its begin.
    hdd_u32 has_values;
    unsigned char text[HDD_FAILED_BYTES];
    hdd_u64 value[2];
};

// Counts what has been taken of a source's tiles (scan.cuh), on a line of its own: one place of memory takes an addition
// a nanosecond. The host clears cursors before a launch.
struct hdd_cursor {
    hdd_u32 taken;
    hdd_u32 apart[31];
};
enum { HDD_CURSORS = 16 };

enum {
    HDD_LOAD_BUCKETS = 32, // log2 of the number of subtrees, of each height
    HDD_LOAD_HEIGHTS = HDD_MAX_LEVELS + 1, // which count from 1
    HDD_PROFILE_LEVELS = HDD_MAX_LEVELS + 1,
    HDD_PROFILE_WAITS = 16, // of a warp, that are kept one by one
    HDD_COUNTER_COPIES = 1024
};

// Memory that work-sharing needs besides, laid out by runtime/gpu/gpu_balance.h. All of it but
// the donations begins as zero.
struct hdd_share_memory {
    hdd_u64 groups;         // bitmap.cuh: a bit per word of the next
    hdd_u64 words;          // a bit per warp: it waits (AWS), its queue has something (FWS_LOCAL)
    hdd_u64 mail;           // a u32 per warp: state of its mailbox (share.cuh)
    hdd_u64 loads;          // AWS: u32 [HDD_LOAD_HEIGHTS][HDD_LOAD_BUCKETS], warps by workload
    hdd_u64 donations;      // AWS: per warp
    hdd_u64 donation_bytes; // as many bytes
    hdd_u64 queues;         // FWS: one queue or one per warp, each with `queue_slots` slots of the
                        // size that the kernel was emitted with
    hdd_u32 queue_slots; // a power of two
    hdd_u32 threshold;   // FWS: children of a node that stay with its warp
};

// What one warp did, kept by profiled kernels (profile.cuh). A level's visits are its warp
// iterations; level 0's nodes are the rows that passed the tile's predicate. The row slots of
// tiles are iterations of their own, [levels]: a lane idles for a slot whose predicate it does
// not evaluate.
struct hdd_warp_profile {
    hdd_u64 begin, end;         // ns of the device's global timer
    hdd_u64 first, since;       // clock at the begin, and at the last change between busy and waiting
    hdd_u64 busy, wait;         // clock ticks of the multiprocessor
    hdd_u64 transitions;        // from busy to waiting
    hdd_u64 waits[HDD_PROFILE_WAITS][2]; // the first ones: from and to, in ticks since the begin
    hdd_u64 donated, received;       // pieces of work
    hdd_u64 visits[HDD_PROFILE_LEVELS], idle_lanes[HDD_PROFILE_LEVELS];
};

struct hdd_launch {
    hdd_u64 source_rows; // rows, indexes or codes of the source: the end of the launch's part of them,
    hdd_u64 first_row;   // and its begin, that of a tile
    hdd_u64
        source_count; // not 0: address of the number of rows of the source, which the host knows no more of than that
                          // they are not more than source_rows. Not for loops over pairs
    hdd_u64 progress;    // address of struct hdd_progress
    hdd_u64 cursors;     // address of struct hdd_cursor [ncursors]
    hdd_u64 counters;    // copies of the profile counters (templates/abi.h), 64 bits each, zeroed: warps add
                         // to one each, because additions to one place come one after the other
    hdd_u64 profile;     // address of struct hdd_warp_profile per warp, zeroed; 0: none
    hdd_u32 warps;       // of the whole grid
    hdd_u32 scan_warps;  // warps from this number on take no tiles: an ordered source has one
    hdd_u32 ncursors;    // a power of two, at most HDD_CURSORS
    hdd_u32 batch_bits;  // log2 of the tiles that a warp takes at once
    hdd_u32 balance;     // enum hdd_balance
    // Work-sharing over a source of few rows: so many warps have each tile, and each of them a part
    // of every range of children of its rows; 0: one has it all. 2^64 / parts, rounded down.
    hdd_u32 parts;
    hdd_u32 ncounters; // of a copy; HDD_COUNTER_COPIES copies
    hdd_u64 part_unit;
    struct hdd_share_memory share;
    // Strings that the kernel makes (casts to string) live here, as long as the query: kernels that
    // make some get a heap of their own. A cursor beyond the capacity: there was no room, the
    // rows are worthless whatever failure they report, and the pipeline runs again with a heap
    // of at least what the cursor says. After a failure the cursor may say too little.
    hdd_u64 string_heap;
    hdd_u64 string_capacity; // bytes
    hdd_u64 string_cursor;   // address of a 64-bit count of bytes asked for
    struct hdd_sink_state sink;
};

#endif
