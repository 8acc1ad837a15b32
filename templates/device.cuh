// The model of the device: what planner, emitter, runtime and kernels take for granted about it, and
// the sizes of what kernels keep there. Read by host C and by device code alike. Emitted sources
// assert what can be seen of it there (codegen/cuda_pipeline.c).
#ifndef HDD_DEVICE_CUH
#define HDD_DEVICE_CUH

enum {
    // A grid is blocks of warps of lanes, which are threads.
    HDD_WARP_LANES = 32,
    HDD_BLOCK_WARPS = 4, // as in the paper's section 8.1
    HDD_BLOCK_THREADS = HDD_BLOCK_WARPS * HDD_WARP_LANES,
    HDD_BLOCK_WARPS_ASKED = 8, // at most, where somebody asks for others: HDD_CHOSEN_WARPS in a source
    HDD_BLOCK_WARPS_MAX = 32,  // of blocks that share a large copy of a bitmap (block_bits.cuh), too

    // A source is read in tiles (tile.cuh): a warp takes one, each lane reads neighbouring rows of it.
    HDD_LANE_ROWS = 8,
    HDD_LOOP_PART = 4096, // rows of the state in a task of a loop over pairs (loop.cuh), at most
    HDD_WARP_ROWS = HDD_LANE_ROWS * HDD_WARP_LANES,

    HDD_LOOP_WAITING = 2 * HDD_WARP_LANES, // pairs that passed the tests of a loop and wait, of a warp
    HDD_LOOP_WAITING_BYTES = HDD_LOOP_WAITING * 8,

    // Limits of a kernel, those of an H100. Shared memory in bytes of a block.
    HDD_MAX_LEVELS = 16,            // of a loop nest, the source's among them
    HDD_PARAMETER_WORDS = 4000,     // of the args vector; all parameters have 32,764 bytes
    HDD_SHARED_DECLARED = 48 << 10, // without asking at the launch
    HDD_SHARED_BYTES = 227 << 10,   // in all; a multiprocessor has hardly more
    HDD_QUEUES_BYTES = 160 << 10,   // of queues of levels; sinks take the rest

    // A large device, and kernels that fill it.
    HDD_LARGE_BLOCKS = 1056,
    HDD_LARGE_WARPS = 8192,
    HDD_RESIDENT_WARPS = 32, // of a multiprocessor: 64 registers a thread
    HDD_LOOKING_WARPS = 48,  // the same where rows wait for lookups: 40 registers

    // What a warp keeps in shared memory per level, or hands to another warp. Bytes of structures, after
    // which ranges and tuples follow.
    HDD_QUEUE_ENTRIES = 2 * HDD_WARP_LANES, // of a level (nifs.cuh): ranges of children, each with a tuple
    HDD_RANGE_BYTES = 8,
    HDD_TUPLE_ALIGN = 4,           // tuples are made of words
    HDD_QUEUE_BYTES = 32,          // hdd_queue
    HDD_QUEUE_DONATION_BYTES = 16, // hdd_queue_donation
    HDD_SCAN_DONATION_BYTES = 280, // hdd_scan_donation, in all (scan.cuh)
    HDD_SLOT_BYTES = 16,           // hdd_slot (fws.cuh)

    // Accumulators.
    HDD_LANE_GROUPS = 32, // of a copy per thread: bits of a word (lanes.cuh)
    HDD_CACHED_GROUPS_BITS = 5,
    HDD_CACHED_GROUPS = 1 << HDD_CACHED_GROUPS_BITS // of a block (frequent.cuh)
};

// The integer of NaN among those that order like float64 (arith.cuh): one more than that of infinity.
#define HDD_ORDINAL_NAN   0x7ff0000000000001ll
#define HDD_ORDINAL_NAN32 0x7f800001

// Registers of approx_count_distinct.
#define HDD_REGISTER_BITS 12
#define HDD_REGISTERS     4096

// Of the hash that plans see (digest.cuh): where it begins, the word of NULL, the factors.
#define HDD_DIGEST_SEED 0x9e3779b97f4a7c15ull
#define HDD_DIGEST_NULL 0xa0761d6478bd642full
#define HDD_DIGEST_MUL1 0xff51afd7ed558ccdull
#define HDD_DIGEST_MUL2 0xc4ceb9fe1a85ec53ull

#endif
