// What the host hands to a kernel. Read by host C and by device code alike: plain structures,
// addresses as 64-bit words, and a layout that every emitted source asserts
// (codegen/cuda_pipe.c).
#ifndef HDD_LAUNCH_CUH
#define HDD_LAUNCH_CUH

typedef unsigned long long hdd_u64;
typedef unsigned int hdd_u32;
typedef int hdd_i32;

// How a kernel with levels spreads its work; a runtime argument of one compiled kernel.
enum hdd_balance {
    HDD_NIFS,      // per-warp queues alone
    HDD_NIFS_SHARE // and busy warps give half of their shallowest level to idle ones
};

// The state that the sink of a pipeline fills. Layouts are those of runtime/spec.h, except
// that MIN and MAX accumulators of I32, I64 and F64 start from the far end of their order
// (MIN of F64: the NaN 0x7ff8000000000000; MAX: minus infinity) instead of from zero bytes: an
// atomic cannot look at the valid byte first. Valid bytes start as zero and are 0 or 1 when
// the kernel is done.
//
// Overflow: after a launch the cursor is the number of rows asked for. Beyond the capacity it
// is what a retry needs: exact for appended rows; for groups exact while the slots suffice,
// then projected from the part of the source that was read. What did not fit was not stored.
struct hdd_sink_state {
    hdd_u64 rows;     // address of row 0
    hdd_u64 capacity; // rows there is room for
    hdd_u64 cursor;   // address of a 64-bit count of rows asked for; beyond capacity: overflow
    hdd_u64
        slots; // AGG_HASH: address of mask + 1 words (hash >> 32) << 32 | (row + 1), 0 empty
    hdd_u64 mask;
};

// Written by the kernel. The host clears it before a launch.
struct hdd_progress {
    hdd_u64 next_tile; // first tile that no warp has taken
    hdd_u32 abort;     // not 0: leave as soon as possible
    hdd_u32 failure;   // enum rt_failure of the first row that failed
    hdd_i32 failure_path;
    hdd_u32 idle;       // warps that have nothing and wait (share.cuh)
    hdd_u64 gifts;      // ranges of work that moved between warps
    hdd_u64 visits;     // warp iterations, and lanes that had no node in them: the intra-warp
    hdd_u64 idle_lanes; // idle ratio of the paper's section 8.1
};

struct hdd_launch {
    hdd_u64 source_rows; // rows, indexes or codes of the source
    hdd_u64 progress;    // address of the struct above
    hdd_u64 idle_words;  // share.cuh: a bit per warp that waits
    hdd_u64 mailboxes; // share.cuh: one per warp, of the size that the kernel was emitted with
    hdd_u64 counters;  // profile counters (templates/abi.h), 64 bits each
    hdd_u32 warps;     // of the whole grid
    hdd_u32 take;      // tiles that a warp takes from the cursor at once
    hdd_u32 balance;   // enum hdd_balance
    hdd_u32 share_every; // HDD_NIFS_SHARE: iterations between two looks for an idle warp
    hdd_u32 start_idle;  // HDD_NIFS_SHARE: warps from this number on begin without work
    hdd_u32 reserved;
    // Texts that the kernel makes (casts to text) live here, as long as the query: kernels that
    // make some get a heap of their own. A cursor beyond the capacity: there was no room, the
    // rows are worthless whatever failure they report, and the pipeline runs again with a heap
    // of at least what the cursor says. After a failure the cursor may say too little.
    hdd_u64 text_heap;
    hdd_u64 text_capacity; // bytes
    hdd_u64 text_cursor;   // address of a 64-bit count of bytes asked for
    struct hdd_sink_state sink;
};

#endif
