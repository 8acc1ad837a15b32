// What the host hands to the fixed kernels of this folder, which finish states on the device.
// Read by host C and by device code alike, as templates/launch.cuh is. Every kernel takes one
// structure by value; addresses are 64-bit words, 0: none. Row counts have 64 bits, row
// numbers 32.
#ifndef HDD_FINISH_ARGS_CUH
#define HDD_FINISH_ARGS_CUH

#ifdef __cplusplus
#include "hd/device.cuh"
#else
#include "templates/device.cuh"
#endif

typedef unsigned long long hdd_u64;
typedef unsigned int hdd_u32;
typedef int hdd_i32;
typedef long long hdd_i64;

enum {
    HDD_FINISH_THREADS = HDD_BLOCK_THREADS,
    HDD_RADIX_THREADS = 256, // of finish_radix*.cu, finish_rows*.cu
    HDD_INLINE_KEYS = 16,  // more lie in memory
    HDD_INLINE_WORDS = 64, // of a pattern
    HDD_INLINE_FIELDS = 32, // of a row; more lie in memory
    HDD_RADIX = 256,       // bins of a pass of the radix sort
    HDD_TILE_ITEMS = 4096, // per block and step of scans
    HDD_MOVE_ITEMS = 4096, // per block and step of radix passes with row numbers,
    HDD_MOVE_KEYS = 4608, // and without
    HDD_SWEEP_BITS = 26,   // of the number of items that one launch moves to their digits
    HDD_SINCE_SHIFT = 28,  // of the number of a sweep, in what its tiles tell each other
    HDD_RADIX_PASSES = 8,  // of a sort by 64 bits
    HDD_ROW_WORDS = 4,     // of rows that are made of their packed keys
    HDD_STAGE_BYTES = 30720, // of rows that lie side by side before they are written
    HDD_STAGE_ROWS = HDD_STAGE_BYTES / 8,
    HDD_RANK_MAX = 8192,   // rows that hdd_sort_rank takes
    HDD_KEY_WORDS = 8,     // of a sort key that hdd_sort_masks looks at in one launch
    HDD_RUNS = 64
};

// enum rt_phys of runtime/spec.h.
enum hdd_phys { HDD_BOOL, HDD_I32, HDD_I64, HDD_I128, HDD_F64, HDD_STR, HDD_F32 };

// A field of a row that is a key: of a group, or of an order.
struct hdd_key {
    hdd_u32 offset;
    hdd_i32 valid; // offset of the validity byte, -1: never NULL
    hdd_u32 phys;  // enum hdd_phys
    hdd_u32 desc, nulls_first;
    hdd_u32 max; // STR: bytes of the longest string; any number where only word 0 is asked for
};

struct hdd_keys {
    hdd_u32 n, stride; // bytes of a row
    hdd_u64 more;      // address of n keys if they are more than HDD_INLINE_KEYS
    struct hdd_key key[HDD_INLINE_KEYS];
};

// ---- finish_fill.cu, finish_compact.cu -----------------------------------------------------

// Memory of n rows filled with copies of one.
struct hdd_fill_args {
    hdd_u64 to, rows;
    hdd_u64 more; // address of the pattern if it is longer than HDD_INLINE_WORDS
    hdd_u32 blocks, words; // of a row
    hdd_u64 pattern[HDD_INLINE_WORDS];
};

// Slots of an AGG_HASH (templates/launch.cuh) for rows whose keys are distinct.
struct hdd_slots_args {
    hdd_u64 rows, n, slots, mask;
    hdd_u32 blocks, stride;
    hdd_u32 word; // rows begin with a word that is their key, not with their hash
};

// Groups whose rows are slots (hdd_word_groups of templates/aggregate.cuh) move.
struct hdd_spread_args {
    hdd_u64 from, n;   // that many rows, each of a group,
    hdd_u64 to, slots; // find places in others
    hdd_u32 blocks, stride;
};
struct hdd_compact_args {
    hdd_u64 rows, slots, n; // of so many rows n are groups, which become the first n
    hdd_u64 list;           // 32-bit numbers of those of the first n that are free
    hdd_u64 listed;         // two words, zeros at first: how many were listed and filled
    hdd_u32 blocks, stride;
};

// ---- finish_index.cu -----------------------------------------------------------------------

// Exclusive prefix sums of n 32-bit counts into 32-bit (in place, if wanted) or 64-bit numbers; the
// sum of all goes behind them if `total`. sums: a word per tile.
struct hdd_prefix_sum_args {
    hdd_u64 from, n, to, sums;
    hdd_u32 blocks, wide, total;
};

// CSR: rows by the number in their first field.
struct hdd_csr_args {
    hdd_u64 rows, n, to;    // to: rows in their places
    hdd_u64 order;          // 32-bit row numbers in the order to look at them; 0: as they are
    hdd_u64 counts;         // 32 bits per index
    hdd_u64 ranks;          // 32 bits per row looked at: rows of its index before it
    hdd_u64 offsets, range; // 64 bits per index
    hdd_u32 blocks, stride, field;
};

// ---- finish_hash.cu ------------------------------------------------------------------------

struct hdd_hash_args {
    struct hdd_keys keys;
    hdd_u64 rows, n, to;
    hdd_u64 first;  // per row: number of its key's first row, 32 bits
    hdd_u64 ranks; // per first row: how far its slot is from where its hash says; per other row: rows of its key before
        // it, the first one aside. 32 bits
    hdd_u64 counts; // per first row: other rows of the key; once placed, where they begin. 32 bits
    hdd_u64 totals; // two words: keys, and rows placed so far
    hdd_u64 slots, mask;
    hdd_u32 blocks, dedupe;
    hdd_u32 fresh; // slots are not those that first rows were found in
};

// ---- finish_window.cu ----------------------------------------------------------------------

// A large table of keys that are distinct, or turn out to be, window by window: see there.
enum {
    HDD_WINDOW_BITS = 12,
    HDD_SAMPLED = 64
}; // of the number of slots of a window; of so many rows one is in the sample

struct hdd_window_state {
    hdd_u32 failed; // keys repeat, or some windows have far more rows than others
    hdd_u32 spilled; // words that had no room in their window
};

struct hdd_window_args {
    struct hdd_keys keys;
    hdd_u64 rows, n;
    hdd_u64 words; // per row: the lower half of its hash, and its number plus one
    hdd_u64 begins; // 32 bits per window, and one more: where its words begin
    hdd_u64 spilled, room; // words; for so many
    hdd_u64 state; // a hdd_window_state
    hdd_u64 slots, mask;
    hdd_u32 blocks, distinct; // distinct: facts prove that keys are so
};

// ---- finish_sort.cu, finish_radix.cu -------------------------------------------------------

// Few rows: each finds its place by counting those before it. list: 32-bit row numbers, 0: all
// n rows. words: a packed key per row number; hdd_sort_pairs needs neither. Rows
// skip .. skip + count - 1 of the order go to `to`.
struct hdd_rank_args {
    struct hdd_keys keys;
    hdd_u64 rows, list, words, to, skip, count;
    hdd_u32 n, blocks, exact; // exact: the word is all of the key
};

// Rows that are in order, perhaps.
struct hdd_check_args {
    struct hdd_keys keys;
    hdd_u64 rows, n, failed; // of a 32-bit word, 0 at first
    hdd_u32 blocks;
};

// Bits in which the keys of rows differ: `words` words from word `word` on, HDD_KEY_WORDS at
// most, are or'ed into masks; or of keys that are numbers, HDD_KEY_WORDS at most, with a bit for each in nulls and values if
// some row has none, or one. The longest string of each key: 64 bits per key, or 0.
struct hdd_survey_args {
    struct hdd_keys keys;
    hdd_u64 rows, n, masks, lengths, nulls, values;
    hdd_u32 blocks, word, words;
};

// Some bits of a normalised key, in its word `word`, moved to their place in a packed one. Where they are those of a number
// of up to 64 bits, or its bit for NULL, they are taken from the key's field: from there, by up.
enum hdd_run_from { HDD_RUN_OF_WORD, HDD_RUN_OF_NUMBER, HDD_RUN_OF_NULL };
struct hdd_run_of_bits {
    hdd_u32 word, key;
    unsigned char shift, length, to, from, up;
};

// Packed keys of rows, list as above.
struct hdd_extract_args {
    struct hdd_keys keys;
    hdd_u64 rows, n, list, to;
    hdd_u32 blocks, nruns;
    struct hdd_run_of_bits run[HDD_RUNS];
};

// Digits of keys, all counted at once: HDD_RADIX counts of 32 bits per pass, `step` bytes apart, which then become where
// the digits' items begin.
struct hdd_digits {
    hdd_u64 counts;
    hdd_u32 passes, step;
    unsigned char shift[HDD_RADIX_PASSES], bits[HDD_RADIX_PASSES];
};

// rows: keys are not there yet but made of the hashes that rows begin with: the lower half of one above the row's number
// plus one.
struct hdd_radix_count_args {
    struct hdd_digits digits;
    hdd_u64 n, keys, rows;
    hdd_u32 blocks, stride; // bytes of a row
};

// One pass over up to 2^HDD_SWEEP_BITS keys, with row numbers (from_rows 0: first, first + 1, ...) or without,
// by the digit at `shift`.
struct hdd_radix_args {
    hdd_u64 n, from, from_rows, to, to_rows, first;
    hdd_u64 base; // 32 bits per digit: where its first item goes; behind them the same for the next launch
    hdd_u64 status; // 32 bits per tile and digit, all below `since` at first
    hdd_u64 next; // 32 bits: tiles that were taken
    hdd_u32 blocks, shift, mask;
    hdd_u32 since; // a multiple of 1 << HDD_SINCE_SHIFT, not 0
};

// ---- finish_rows.cuh, finish_rows_move.cu --------------------------------------------------

// Rows of up to HDD_ROW_WORDS words that hold nothing but sort keys of 1, 32 and 64 bits. Bits `mask` of the packed key
// are those of a word rotated to the left, after those of `base` are inverted in it.
struct hdd_row_piece {
    hdd_u64 mask;
    hdd_u32 word, left;
};

// Bits in which rows differ from the first one, which goes to `first`, are or'ed into masks, per word; one of `each` rows
// is looked at.
struct hdd_row_survey_args {
    hdd_u64 rows, n, masks, first; // of `words` words each
    hdd_u32 blocks, words, each;
};

struct hdd_row_bits_args {
    struct hdd_digits digits; // packing: of the keys, which are counted
    hdd_u64 rows, n; // of `words` words each
    hdd_u64 keys; // packed, 0: not wanted; unpacking: in order
    hdd_u64 missed; // packing: not 0 in rows that differ in bits that are in no piece, per word
    hdd_u64 skip, count; // unpacking: rows skip .. skip + count - 1 of the order are wanted
    hdd_u64 failed; // unpacking: a 32-bit word, set where more keys agree in the bits that they were sorted by than
        // are put in order here
    hdd_u32 sorted; // from this bit on keys are in order
    hdd_u32 blocks, words, npieces;
    hdd_u64 base[HDD_ROW_WORDS], outside[HDD_ROW_WORDS]; // outside: bits that are in no piece
    struct hdd_row_piece piece[64];
};

// One pass over rows of one word, the first one if they are to be packed, the last one if keys are to be unpacked.
enum { HDD_MOVE_PIECES = 4 };
struct hdd_row_move_args {
    struct hdd_radix_args move;
    hdd_u64 base;
    hdd_u32 pack, unpack, npieces;
    struct hdd_row_piece piece[HDD_MOVE_PIECES];
};

// ---- finish_partition.cu -------------------------------------------------------------------

// Rows by digits of a hash of `keys`, or where these are none of the hash that rows begin with.
struct hdd_partition_count_args {
    struct hdd_digits digits;
    struct hdd_keys keys;
    hdd_u64 rows, n;
    hdd_u32 blocks;
};

// One pass over up to 2^HDD_SWEEP_BITS rows; base, status, next, since as above.
struct hdd_partition_args {
    struct hdd_keys keys;
    hdd_u64 rows, n, to, base, status, next;
    hdd_u32 blocks, shift, mask, since;
    hdd_u32 tile; // rows of a tile, a multiple of HDD_FINISH_THREADS, HDD_STAGE_ROWS at most
    hdd_u32 stable; // rows of a digit keep their order
};

// The k smallest of n keys, and those equal to the largest of them in the bits that were
// looked at.
struct hdd_select_state {
    hdd_u64 prefix, known; // bits of the k-th smallest key that are known
    hdd_u64 wanted; // which one among the keys with this prefix, from 1
    hdd_u64 found; // row numbers collected
    hdd_u32 done, arrived;
    hdd_u32 counts[HDD_RADIX];
};
struct hdd_select_args {
    hdd_u64 keys, n, state, to; // to: room for `room` row numbers
    hdd_u64 room, enough; // enough: keys in a bin that need no closer look
    hdd_u32 blocks, shift;
};

// Rows list[skip .. skip + n) one after the other.
struct hdd_gather_args {
    hdd_u64 rows, list, n, to;
    hdd_u32 blocks, stride;
};

// ---- finish_top.cu -------------------------------------------------------------------------

// Of sorted rows those of ranks offset .. wanted - 1 of each group go to `to`. keys: the stated ones, of which the first
// `ngroup` make a group; keep: rows that tie with the last by all of them go, too. flags: 32 bits per row; places: their
// prefix sums, 64 bits.
struct hdd_top_args {
    struct hdd_keys keys;
    hdd_u64 rows, n, flags, places, to, offset, wanted;
    hdd_u32 blocks, ngroup, keep;
};

// ---- finish_running.cu ---------------------------------------------------------------------

// Numbers of sorted rows in i32 fields: where the row's group begins, where it ends, how many groups there are up to it.
// Rows that agree in the first nkeys[level] keys are a group of the level.
enum hdd_border { HDD_BORDER_NONE, HDD_BORDER_BEGIN, HDD_BORDER_END, HDD_BORDER_COUNT };
enum { HDD_BORDERS = 8, HDD_HEAD_LEVELS = 2 };

struct hdd_border_field {
    hdd_u32 offset, border, level;
};

// Fields that become the sum, minimum or maximum of all rows up to theirs, of those of their segment where there are
// segments: groups of a level.
struct hdd_running_field {
    hdd_u32 offset;
    hdd_i32 valid; // offset of the validity byte, -1: never NULL
    hdd_u32 phys,
        merge; // enum hdd_phys, enum hdd_merge: SUM of I64, I128 and F64, MIN, MAX of numbers, OR and XOR of I64
};

enum { HDD_RUNNING_CHUNK = HDD_WARP_LANES * HDD_WARP_LANES }; // rows

struct hdd_running_args {
    struct hdd_keys keys;
    hdd_u64 rows, n, chunks;
    hdd_u64 heads; // a bit per level and row: it begins a group
    hdd_u64 groups; // three i32 per level and chunk
    hdd_u64 totals; // 32 bytes per field and chunk
    hdd_u32 blocks, stride, nlevels, nborders, nfields;
    hdd_u32 nkeys[HDD_HEAD_LEVELS];
    hdd_i32 segment; // level of the segments, -1: there is one
    hdd_i32 begin; // offset of an i32 with the number of a group's first row, which level 0 comes from; -1: from keys
    struct hdd_border_field border[HDD_BORDERS];
    struct hdd_running_field field[HDD_INLINE_FIELDS];
};

// ---- finish_search.cu ----------------------------------------------------------------------

// One struct rt_search.
struct hdd_search_args {
    hdd_u64 rows, n;
    hdd_i32 by;
    hdd_u32 blocks, stride;
    hdd_u32 field, begin, end; // offsets
    hdd_u32 following, behind;
    struct hdd_key key, limit; // of one type
};

// One struct rt_nth.
struct hdd_places_args {
    hdd_u64 rows, n;
    hdd_u32 blocks, stride;
    hdd_u32 field, count, begin; // offsets
};

// ---- finish_text.cu ------------------------------------------------------------------------

// rt_text of runtime/spec.h by the offsets of its fields. to: room for the bytes of all rows; too_long: a word that is set
// where a string is.
struct hdd_text_args {
    hdd_u64 rows, n, to, separator, too_long;
    hdd_u32 blocks, stride, value, running, begin, end, nseparator;
};

// ---- finish_frames.cu, finish_frames_of.cu -------------------------------------------------

// A field becomes the fold of the rows of its frame (rt_frame of runtime/spec.h; offsets of fields, -1 the row itself). A
// tree of nodes, values and validity bytes apart: level k has nodes at[k] .. at[k + 1] - 1, each of HDD_FRAMES_FAN_OUT
// of the level below.
enum { HDD_FRAMES_FAN_OUT = 16, HDD_FRAMES_LEVELS = 9 };

struct hdd_frames_span {
    hdd_i64 from_by[2], to_by[2];
    hdd_i32 from[2], to[2];
};
enum { HDD_FRAMES_SPANS = 3 };

struct hdd_frames_args {
    hdd_u64 rows, n, values, valid;
    hdd_u64 at[HDD_FRAMES_LEVELS + 1];
    struct hdd_frames_span span[HDD_FRAMES_SPANS];
    hdd_u32 begin, end, nspans;
    hdd_u32 blocks, stride, nlevels, level;
    hdd_u32 offset, valid_offset, phys, merge; // enum hdd_phys, enum hdd_merge
    struct hdd_key x, y; // finish_frames_of.cu: other fields
};

// ---- finish_frames_ranked.cu, finish_frames_distinct.cu, finish_frames_mode.cu ------------

// Levels of a wavelet matrix, all rows at once (runtime/exec/frames.h says how).
enum { HDD_WALK_WORDS = 2 * HDD_FRAMES_SPANS + 1, HDD_RANKED_FIELDS = 8 };
struct hdd_ranked_args {
    struct hdd_frames_args f; // a field, with x; values and at: the tree of a level
    hdd_u64 code, row, next_code, next_row; // 32 bits per place
    hdd_u64 before; // 32 bits per place, and for one more: places in front whose codes do not have the level's bit
    hdd_u64 walk; // HDD_WALK_WORDS arrays of 32 bits per row: from, up to, ... and what is looked for
    hdd_u64 key, gap_key; // 32 bits per row
    hdd_u64 largest; // 32 bits each: a code, the rows of a partition
    hdd_u64 values, places; // of modes: hdd_mode_values
    hdd_u64 best, up; // 64 bits for each node of a level, and of the one above
    hdd_u64 nodes, width, pieces; // of a level; rows of a node; threads for one
    hdd_i64 num, den; // of a share, with
    hdd_u32 place; // enum hdd_share_place
    hdd_u32 none, never; // codes of rows without one, and keys
    hdd_u32 bit; // of the level
    hdd_u32 counts; // the level tells how many values there are
    hdd_u32 running, in_gaps;
    hdd_i32 y; // offset of values, -1: how many
};

// ---- finish_frame_text.cu ------------------------------------------------------------------

// Strings of frames (runtime/exec/frames_text.c says how), of which f.x is one.
struct hdd_frame_text_args {
    struct hdd_frames_args f;
    hdd_u64 sizes; // 32 bits per row: bytes of its string and the separator; then: of what it is put together of
    hdd_u64 values; // 32 bits per row, and for one more: strings in front of it
    hdd_u64 before; // 64 bits per row, and for one more: bytes in front of it
    hdd_u64 all, made; // strings of rows, one behind the other; those of several pieces, in the order of the rows
    hdd_u64 made_before; // 64 bits per row: bytes in front of it there
    hdd_u64 separator, too_long; // the latter a word that is set where a string is
    hdd_u32 nseparator;
};

// ---- finish_merge.cu -----------------------------------------------------------------------

// Words or'ed into others.
struct hdd_bits_args {
    hdd_u64 to, from, words;
    hdd_u32 blocks;
};

// enum rt_merge of runtime/spec.h.
enum hdd_merge {
    HDD_MERGE_KEY,
    HDD_MERGE_SUM,
    HDD_MERGE_MIN,
    HDD_MERGE_MAX,
    HDD_MERGE_ANY,
    HDD_MERGE_OR,
    HDD_MERGE_XOR,
    HDD_MERGE_PRODUCTS,
    HDD_MERGE_ARG_MIN,
    HDD_MERGE_ARG_MAX,
    HDD_MERGE_NTH,
    HDD_MERGE_DISTINCT,
    HDD_MERGE_DISTINCT_XOR,
    HDD_MERGE_MODE,
    HDD_MERGE_TEXT
};

struct hdd_merge_field {
    hdd_u32 offset;
    hdd_i32 valid; // offset of the validity byte, -1: never NULL
    hdd_u32 phys, merge; // enum hdd_phys, enum hdd_merge
    hdd_u32 bytes; // 1, 2: of an unsigned sum; 0: those of phys
};

// Partial aggregates: n rows at `from` are added to those at `to`.
struct hdd_merge_args {
    struct hdd_keys keys; // of groups found by key
    hdd_u64 to, from, n;
    hdd_u64 slots, mask; // of the groups at `to` (templates/launch.cuh)
    hdd_u64 cursor; // address of their number
    hdd_u64 more; // address of the fields if they are more than HDD_INLINE_FIELDS
    hdd_u32 blocks, nfields, stride;
    hdd_u32 word; // rows begin with a word that is their key, not with their hash
    hdd_u32 flagged; // byte 0 of a row says whether the group exists; else a row without one changes nothing
    struct hdd_merge_field field[HDD_INLINE_FIELDS];
};

// ---- finish_string.cu ----------------------------------------------------------------------

// Copies of rows with their strings behind them; the addresses in the copies become offsets into
// the strings. keys: the STR fields.
struct hdd_string_args {
    struct hdd_keys keys;
    hdd_u64 rows, n, to, strings, room;
    hdd_u64 lengths; // 32 bits per row
    hdd_u64 offsets; // 64 bits per row, and the total
    hdd_u32 blocks;
};

// ---- finish_few.cu -------------------------------------------------------------------------

// Rows of a result whose number is at `count`, more than `capacity` where some had no room; at most `max` are put in order.
struct hdd_few_args {
    struct hdd_keys keys, strings; // of the order, n = 0: as they are; fields that are strings
    hdd_u64 rows, capacity, max;
    hdd_u64 count, abort; // addresses of 64 and 32 bits; abort not 0: the rows are worthless
    hdd_u64 made, heap; // address of how many bytes of strings were made, room for them: beyond it likewise
    hdd_u64 skip, wanted; // offset; rows that stay behind it, of which there is room for `room` at `to`
    hdd_u64 to, room;
    hdd_u64 text, text_room; // for bytes of strings
    hdd_u64 bytes; // address of their number, 64 bits, 0 at first: beyond text_room strings are missing
    hdd_u32 blocks;
};

// ---- finish_land.cu -------------------------------------------------------------------------

// Words of 64 bits, to an address of the host's memory.
struct hdd_land_args {
    hdd_u64 from, to, words;
    hdd_u32 blocks;
};

// ---- finish_columns.cu ---------------------------------------------------------------------

// A field of rows as a column of Arrow's layout.
struct hdd_column_args {
    hdd_u64 rows, n;
    hdd_u64 to; // values, `width` bytes each; strings: their offsets, 32 bits, one more than rows
    hdd_u64 bits, nulls; // bitmap of rows that are not NULL, 0 none; how many are NULL, 64 bits
    hdd_u64 dict_offsets, dict_bytes; // of codes; 0: strings lie in the rows
    hdd_u64 lengths, sums; // of strings: 32 bits per row; 64 bits per row, and the total
    hdd_u64 strings;
    hdd_u32 blocks, stride, offset, phys;
    hdd_i32 valid; // offset of the validity byte, -1: never NULL
    hdd_u32 width;
};

// ---- finish_exchange.cu --------------------------------------------------------------------

enum {
    HDD_SPLIT_PARTS = 64, // workers at most
    HDD_SPLIT_TILE = 2048, // rows of a tile at most
    HDD_EXCHANGE_COLUMNS = 32, // of one launch
    HDD_TEXT_BLOCK_SHIFT = 16 // rows of a block of strings
};

// Rows of `stride` bytes, side by side by the worker whose number a field of theirs has.
struct hdd_split_args {
    hdd_u64 rows, n, to;
    hdd_u64 counts; // 32 bits per worker and block: rows
    hdd_u64 sums; // 64 bits: their exclusive sums, and the total behind
    hdd_u64 firsts; // 64 bits per worker: its first row; n behind
    hdd_u32 blocks, stride, offset, phys, parts;
    hdd_u32 each; // rows of a block, whole tiles
    hdd_u32 tile; // rows of a tile, a multiple of HDD_FINISH_THREADS
};

// Strings of a field of rows, one behind the other.
struct hdd_sent_text_args {
    hdd_u64 rows, n;
    hdd_u64 dict_offsets, dict_bytes; // of codes; 0: strings lie in the rows
    hdd_u64 lengths, sums; // 32 bits per row; 64 bits per row: where its string begins, and the total behind
    hdd_u64 longest; // 32 bits, 0 at first: bytes of the longest string
    hdd_u64 bytes;
    hdd_u64 at; // 64 bits per worker: where the strings of its first row begin; the total, the longest
    hdd_u32 blocks, stride, offset, phys, parts;
    hdd_i32 valid; // offset of the validity byte, -1: never NULL
    hdd_u64 first[HDD_SPLIT_PARTS + 1]; // row of each worker
};

// A field of rows as a column of a table.
struct hdd_exchange_column {
    hdd_u64 to, bits; // values of `width` bytes; bitmap of rows that are not NULL, zeros at first, 0: none
    hdd_u64 sums; // not 0: strings, of which these rows begin at sums[i] - origin + base, and the last one ends
    hdd_u64 origin, base,
        bases; // bases: where each block of 65,536 rows of the table begins; `to` are ends from there on
    hdd_u32 offset, phys, width;
    hdd_i32 valid; // offset of the validity byte, -1: never NULL
};

// n rows of `stride` bytes that become those of a table from `first` on; zeros up to row `end`.
struct hdd_exchange_args {
    hdd_u64 rows, n, first, end;
    hdd_u32 blocks, stride, ncolumns;
    struct hdd_exchange_column column[HDD_EXCHANGE_COLUMNS];
};

// ---- finish_import.cu ----------------------------------------------------------------------

// Where the strings of views lie.
struct hdd_import_buffer {
    hdd_u64 address, size;
};

// A chunk of a column of Arrow's layout, the rows [first, first + n) of one of the store's. Its rows begin at `offset` of
// its buffers. Where it has indices of a dictionary, those are its buffers, and the values are those of the entries.
struct hdd_import_args {
    hdd_u64 first, n, offset;
    hdd_u64 from, valid; // values, offsets or views; bitmap of the rows, 0: all are there
    hdd_u64 index, entry_valid, entry_offset, nentries; // indices, 0: none; of the entries
    hdd_u64 strings, buffers; // bytes that offsets count; struct hdd_import_buffer of views
    hdd_u64 to, bits; // values or 32-bit ends, 0: they are only checked; bitmap
    hdd_u64 bases; // of ends: 64 bits per block of 2^16 rows
    hdd_u64 lengths, sums, text; // of strings that are copied: 32 bits per row; 64 bits per row; where to
    hdd_u64 least[2], most[2]; // of values: 128 bits, lower half first
    hdd_u64 bad, nulls; // the smallest row that is wrong, how many are NULL: 64 bits
    hdd_u32 format, index_format; // enum hdd_arrow_format
    hdd_u32 width; // bytes of what it becomes; of FIXED strings: of each
    hdd_u32 bounded, utf8, nbuffers, blocks;
};

#endif
