/* The pipeline IR: source -> steps -> sink, flat arrays that refer to each other by index.
 * Both code generators consume it; neither decides anything. Expressions are nodes of one
 * array per program (pl_expr); values that live across steps are *slots* of a pipeline.
 *
 * Levels. The source opens level 0 of the loop nest (level 1 of the papers); every step of kind
 * EXPAND_* opens the next: the steps after it run once per child. No other step yields more
 * than one output per input.
 *
 * Folds. The steps between FOLD and FOLD_END run once per child of a parent's row, in a loop inside the lane or thread
 * that has the row; a child that a step ends is not added up. What they set lives there alone, but for the slots of
 * FOLD_ADD, which are read behind FOLD_END. Folds are not nested, no level begins in one, and facts bound the children
 * of a parent (PL_FOLD_CHILDREN), so that no skew hides from the balancing. A LEFT fold goes on with a row that has no
 * children, or is -1, as parents with more than that are there; of these FOLD_PIECE goes through pieces: piece i begins with
 * child i / stride * stride * piece + i % stride, and has `piece` children, each `stride` behind the one before.
 *
 * NULL. A slot or expression with nullable = true is a pair (value, valid). Where valid is false
 * the value is unspecified but safe to compute with. Row-id slots use -1 for a null-extended row;
 * loads through a row slot marked row_nullable give NULL there, or -1 where the loaded field is
 * itself a row id (a slot that is not nullable).
 */
#ifndef HEDDLE_PLANNER_PIPELINE_H
#define HEDDLE_PLANNER_PIPELINE_H

#include "frontend/expr.h"
#include "frontend/plan.h"
#include "planner/steps.h"
#include "runtime/spec.h"

struct pl_slot {
    const char *name;
    enum rt_phys phys;
    bool nullable;
};

/* Search words. A ROWS state that FINISH sorts by one or two int64 fields without NULLs first, ascending, can be
 * searched by them (EXPAND_SORTED): the rows whose words equal the given ones but for the last, which lies between two
 * bounds, are neighbours. The step's keys are I64 expressions: what the words but the last one equal, then the last
 * one's lower and upper bound, both included; a NULL among them gives no rows. Where field `reach` is a running maximum
 * (of the far ends of intervals that are sorted by their near ends), one more key says what it must have reached: earlier
 * rows end before. A word orders as what it stands for does,
 * but need not tell all values apart (ORDER_WORD), or tells keys apart but for hashes that agree (HASH_WORD): conditions
 * are tested again on what the range has.
 *
 * Physical expression node. Ops by enum fe_op; what each means here:
 *   COL slot · LIT: args vector entry `arg` of phys, or is_null · PARAM never (it is a LIT)
 *   ADD SUB MUL NEG: both sides of phys `phys`. fail: checked, raises OVERFLOW beyond the type
 *     (I32/I64) or, with limit_digits > 0, beyond 10^limit_digits - 1 in absolute value
 *   DIV: I64 truncating; F64; with `scale` >= 0 decimal: round_half_away(a * 10^scale / b) in I128, or
 *     in I64, which then holds a * 10^scale and twice a remainder
 *   MOD: I64 or I128 · comparisons: arguments of one phys, result BOOL. F64 per docs/plan.md 2.2
 *   AND OR CASE COALESCE: guard: an argument that may fail is evaluated only when reached; without
 *     failing arguments the emitter is free to use selects
 *   IN: args x, c1, c2...: x = c1 or x = c2 ... (three-valued) · IN_SET: arg x, list in `arg` (RT_ARG_SET, no NULLs)
 *   IN_BITS: args x of 0 .. 31 or 63, and a word (LIT) of 32 or 64 bits, which are such elements of the set in `arg`
 *   LIKE: arg string, pattern in `arg` (RT_ARG_LIKE) · SUBSTRING: string, I64 start[, I64 length]
 *   EXTRACT: I32 days (or I64 micros when in_type is TIMESTAMP) -> I64 · ADD_DAYS, ADD_MONTHS: (I32, I64) -> I32;
 *     TIMESTAMP: (I64, I64) -> I64 · DATE_DIFF: I32, I32 -> I64
 *   WIDEN: to a wider integer phys (BOOL counts as 0/1) · NARROW: to one that is not wider, fail: raises CAST_RANGE beyond it, or limit_digits
 *   RESCALE: x * 10^scale (I64, I128), fail as MUL · DIVROUND: round_half_away(x / 10^scale)
 *     (single argument each; `scale` in the node)
 *   TO_F64: integer / 10^scale, F32 · TO_F32: the same, or F64 (fail: CAST_RANGE) · FROM_F64: round_half_away(x * 10^scale) to phys, fail: CAST_RANGE (limit_digits too)
 *   TO_STRING: value of in_type -> STR · FROM_STRING: STR -> value of out_type, fail: CAST_STRING
 *   TRY_FROM_STRING: the same, NULL where it is none · TRY_DECODE: STR -> itself, NULL where its bytes are not UTF-8
 *   TRY_TO_F32: F64 -> F32, NULL beyond it · WITHIN: x, lo, hi: x, NULL (of value 0) if x < lo, x > hi or x is NaN
 *   DICT_STRING: I32 code -> STR by dictionary args arg, arg2 (offsets, bytes)
 *   LOOKUP: I32 code -> field 0 of ARRAY state `state` row [code], rows address in arg. The result is nullable if the
 *     field is
 *   WIDTH_BUCKET: x, lo, then F64: hi, n, factor; I64: width, n, factor with `scale` bits behind the point; I128: width, n
 *   LOW_WORD: I128 modulo 2^64, as I128 >= 0 · HIGH_WORD: I128 / 2^64 rounded down -> I64 ·
 *     OF_PARTS: I128 high, I128 low, I64 n > 0: (high * 2^64 + low) * 10^scale / n, rounded half away from zero, to
 *     phys I64 or I128; raises OVERFLOW beyond I64, or limit_digits
 *   ORDINAL: F64 -> I64, F32 -> I32 that orders like it (-0 before 0, every NaN HDD_ORDINAL_NAN, ..32) · OF_ORDINAL: its inverse
 *   CAST: timestamp <-> date only (in_type, out_type); every other cast became the ops above
 *   ORDER_WORD: integer or float -> I64 that orders likewise; I128 beyond it is its end, -0 is 0, NaN its largest ·
 *   HASH_WORD: the hash of keys of a HASH state as I64; never NULL, as a NULL has a hash
 */
struct pl_expr {
    enum fe_op op;
    enum rt_phys phys;
    bool nullable, fail, is_null;
    bool saturate;   /* RESCALE of I128: beyond 10^38 - 1 the result is +-10^38, nothing is raised */
    bool wild;       /* LIKE: the pattern has a `_`, which matches any byte */
    bool outlined;   /* code of its own, called where the value is needed; only in framed pipelines */
    /* evaluate.c. As an argument of AND, OR, IN, CASE, COALESCE: computed only where it is asked for. */
    bool lazy_cpu, lazy_gpu;
    bool vector;     /* a CPU can compute it for PL_CPU_VECTOR_ROWS rows at once, given slots that it can */
    bool scanned;    /* IN_SET of PL_SCANNED_SET elements at most: a CPU compares with one after the other */
    bool in_turn;    /* IN of strings: a CPU compares with an item only if no one before it is equal */
    int nargs;
    const int *args; /* expression indexes */
    int slot;        /* COL */
    int arg, arg2;   /* rt_spec.args index */
    int state;
    int scale;
    int limit_digits;
    enum fe_field field;
    struct hd_type in_type, out_type;
    int path; /* rt_spec.sites index, for failures */
};

/* Operators whose `arg` is a set. */
static inline bool pl_is_set(enum fe_op op)
{
    return op == FE_IN_SET || op == FE_IN_BITS;
}

/* Elements of a set that a CPU compares with one by one, instead of searching. */
enum { PL_SCANNED_SET = 32 };

/* A run of steps, or of a sink's outs, that becomes a function of its own. */
struct pl_part {
    int first, end;
};
/* Keys of hash tables in framed pipelines are hashed and compared by functions of so many at most. */
enum { PL_PART_KEYS = 16 };

/* Children of a row that a fold goes through at most. */
enum { PL_FOLD_CHILDREN = FE_LONG_CHILDREN };

/* That a state can be searched by. */
enum { PL_SEARCH_WORDS = 2 };
/* Steps of a pipeline that search ahead. */
enum { PL_SEARCHES_AHEAD = 2 };

enum pl_probe_kind { PL_INNER, PL_LEFT, PL_SEMI, PL_ANTI, PL_MARK };

struct pl_step {
    enum pl_step_kind kind;
    enum pl_probe_kind probe; /* PROBE_*: all kinds; EXPAND_*: INNER or LEFT (one child, slot = -1, when empty) */
    int slot;                 /* result; MARK probes: BOOL slot; -1 none (SEMI, ANTI) */
    int piece, stride; /* FOLD_PIECE */
    int parent_slot; /* FOLD: the parent's row, which row_slot has where it is not long; -1: it may be -1 */
    int row_slot; /* LOAD_*, EXPAND_FK, FOLD, FOLD_PIECE, PROBE_CHILD, MARK, TEST, PRESENT: the row or index to look at */
    bool row_nullable; /* row_slot may be -1 */
    bool sure; /* PROBE_KEY: facts say that each row finds one */
    bool negate;
    bool behind; /* SEARCH: rows with that very word stand in front, too */
    const struct fe_table *table;
    int column; /* LOAD_COLUMN; PROBE_CHILD: by which children are sorted; PROBE_COLUMN, EXPAND_COLUMN,
                                 EXPAND_BAND: by which rows are sorted */
    int index; /* PROBE_KEY: key index number; EXPAND_FK, FOLD, FOLD_PIECE, PROBE_CHILD: foreign key number */
    int state, field;
    int reach; /* EXPAND_SORTED: running field of the state, -1 none */
    int expr; /* LET, FILTER; EXPAND_COUNT: I64; FOLD_PIECE: I64 number of the piece; PROBE_BITMAP/DIRECT, EXPAND_CSR: I64 index (0 based; outside
                                 0..range-1 or NULL: no match); PROBE_KEY: I64 key value (minus nothing);
                                 PROBE_CHILD, PROBE_COLUMN, EXPAND_COLUMN: I64 value of the column; SEARCH: I64 word to look for, never NULL */
    int nkeys;
    const int *keys; /* PROBE_HASH, EXPAND_HASH: expressions, phys as the key fields. EXPAND_SORTED: I64
                                 expressions, what all but the last search word equal, then the last one's lower and
                                 upper bound, both included; a NULL among them: no rows. EXPAND_BAND: such bounds of
                                 the column's value. PROBE_SORTED: phys as the
                                 fields that the state is sorted by first, ascending but for the last one, whose
                                 direction says on which side of the key the row looked for is */
    bool strict; /* PROBE_SORTED: the last key itself is no match */
    const bool *null_equal; /* by key: NULL matches NULL; else it matches nothing. NULL: no such key */
#define X(name) int a_##name;
    PL_STEP_ARGS(X) /* rt_spec.args indexes, -1 none */
#undef X
    enum fe_agg_fn fn; /* FOLD_ADD: COUNT (+1 where the expression is not NULL), SUM, MIN, MAX, BIT_OR, BIT_XOR */
    bool near; /* PROBE_COLUMN, EXPAND_COLUMN: rows come with ascending values, so that the one before
                                 found its row near this one's */
    bool ahead; /* SEARCH, PROBE_SORTED, EXPAND_SORTED: a CPU searches for all rows of a tile at once */
    bool key_parts; /* framed: hash and comparison of the keys are functions for PL_PART_KEYS each */
    int bits_bytes; /* a lookup of a GPU's tile: of a copy of the bits in each block's shared memory; 0: none */
    bool bits_folded; /* which is smaller than they are (templates/block_bits.cuh) */
    bool polls; /* EXPAND_*: nested ranges can make one morsel long: a CPU looks here for a stop */
    bool splittable; /* EXPAND_*: a range may be long: emit a level entry, split over threads */
    int piece_children; /* EXPAND_*: a CPU splits ranges of more than so many children, into pieces of so many, as few parents have all
                           the work (morsel.c); 0: those of more than HDD_SPLIT, if splittable */
    int level; /* level of the loop nest this step runs in */
    double est; /* estimated rows that reach it; < 0 unknown */
    const char *path;
};

enum pl_sink_kind {
#define T_SINK(id, ...) PL_SINK_##id,
#include "planner/sinks.def"
};
enum { /* beside the kinds: a switch over them has no case for their number */
       PL_SINK_COUNT = 0
#define T_SINK(id, ...) +1
#include "planner/sinks.def"
};

/* One accumulator update or stored field. */
struct pl_out {
    int field; /* of the state */
    int expr; /* value; -1: none (COUNT of rows) */
    enum fe_agg_fn fn; /* AGG sinks: COUNT_STAR (+1), COUNT (+1 if valid), SUM, MIN, MAX, BIT_OR, BIT_XOR, ANY; keys of
                           AGG_HASH are listed first with fn ignored. SUM never wraps */
    hd_i128 max; /* SUM of integers: no value is larger, whatever its sign; 0 unknown */
    bool not_negative; /* nor below 0 */
    bool word; /* loops over pairs: what a thread adds up in a task fits I32; no value is NULL */
    bool narrow; /* SUM of I128 where a thread's rows stay in place: what it, or a tile, adds up fits I64 */
    struct pl_lane_field { /* LANES: of a group's words */
        int word, shift, bits; /* less than 64: it shares the word; 128: it has the next one, too */
        int value_bits; /* of what a row adds to one that shares a word */
    } lane;
};

/* Bytes of a row that go into a row of the sink's state as they are (planner/copies.c). */
struct pl_copy {
    int state, row_slot; /* which row; state -1: zeros */
    int a_rows; /* arg: address of the state's rows */
    int from, to, bytes; /* offsets in the rows; ranges of `to` are disjoint and ascend */
};

/* Where a GPU keeps the accumulators of an aggregate while a kernel runs, and what takes additions on their way. */
enum pl_place {
#define P_PLACE(id, name, sinks, flags, alone, beside, unit, text) PL_PLACE_##id,
#include "planner/places.def"
    PL_PLACE_COUNT
};
enum pl_cache {
#define P_CACHE(id, name, limit, unit, text) PL_CACHE_##id,
#include "planner/places.def"
    PL_CACHE_COUNT
};

struct pl_sink {
    enum pl_sink_kind kind;
    int state;
    int index; /* I64 expression; NULL index: the row is dropped (BITMAP, DIRECT) */
    int nouts;
    struct pl_out *outs;
    bool clustered; /* AGG_DENSE, AGG_HASH: equal keys arrive in runs: keep the current group's row (or
                           register accumulators) and look up only on change */
    bool atomic; /* AGG_DENSE on a shared state */
    enum pl_place place;
    const char *no_place[PL_PLACE_COUNT]; /* why it is not one that is preferred, NULL: not asked */
    int count_copies; /* HISTOGRAM: of the counts of a block */
    int place_size; /* in the unit of the place, a size class: kernels serve every range that fits */
    int lane_words; /* LANES: of a group */
    int lane_scratch; /* bytes of what a warp has of a group when its block combines them */
    int lane_room; /* some share a word: log2 of the rows that a thread adds up before they go to the state; 0: none do */
    bool caches[PL_CACHE_COUNT];
    double group_rows; /* AGG_*: of a group, at most, by facts */
    bool by_lane; /* lanes of a warp hardly ever have one group: each adds what it has */
    int shared_bytes; /* of a block, for all of these */
    int a_rows, a_bits; /* args: AGG_DENSE shared rows address, BITMAP/DIRECT bits, ARRAY rows */
    int *a_fields, *a_valids; /* DIRECT: per out, address of array and validity bytes (-1) */
    int ncopies; /* ROWS: fields beside the outs */
    struct pl_copy *copies;
    int nparts; /* framed pipelines: the outs in runs, keys of AGG_HASH apart from accumulators */
    struct pl_part *parts;
};

/* The first steps (loads, lets and filters of level 0 that cannot fail, no probes) are evaluated branch-free over a
 * tile of rows into a selection, then the rest per survivor (tile.c). */
struct pl_tile_steps {
    int steps; /* 0: none */
    bool *early; /* by step: a load or let whose value the tile's filters look at */
    bool *again; /* one whose value survivors look at: they load or compute it again */
    bool *
        searched; /* a load of strings that no row has: a warp of a GPU looks through those of a tile for the LIKEs of its
                       filters (templates/like_tile.cuh) */
};
static inline bool pl_tile_searches(const struct pl_tile_steps *t)
{
    for (int i = 0; i < t->steps; i++)
        if (t->searched[i])
            return true;
    return false;
}
/* Rows of a CPU's tile, whose survivors are the bits of one word, and rows in one vector. */
enum { PL_CPU_TILE_ROWS = 64, PL_CPU_VECTOR_ROWS = 16 };

/* What pairs want of a step that looks at the state's row alone (loop_part.c): its value, which lies side by side with
 * those of other rows; that it runs for each of them; nothing. */
enum pl_other { PL_OTHER_COLUMN, PL_OTHER_AGAIN, PL_OTHER_UNREAD };

/* A filter of pairs that the source's rows pass the more, the larger (`most`), or the smaller, their value of a slot is
 * (loop_bound.c). Those of one filter stand together. */
struct pl_pair_bound {
    int step, slot;
    bool most;
};

/* A loop over pairs (loop.c): a thread of a GPU takes rows of the state that the only level lists one after the
 * other, each with all rows of the source that it holds. */
struct pl_loop {
    int rows; /* that a thread holds; 0: no loop */
    int others; /* steps right behind the level's that look at the state's row alone */
    int tested; /* all filters of pairs come before this step */
    bool later; /* a row of the source, which are those of the state, meets those behind it alone */
    int part_rows; /* of the state, which a CPU takes with all source rows of a morsel */
    enum pl_other *how; /* by step of the others */
    /* Filters by which a part, whose state is sorted by its first field, has pairs in a run of its rows alone: those up to
     * a bound of the source's row, and those from one on. A CPU searches for the ends of the run instead. */
    struct pl_run_end {
        int step, load, slot; /* the filter, -1: none; what loads the state's field; the bound */
    } last, first;
    int part_copies; /* of 32-bit counts by group while a part lasts; 0: the sink's rows are counted in */
    bool counts; /* on a CPU groups of a run of pairs are computed first, then each is counted */
    int top; /* > 0: of the pairs of a row of the source as many as that can stay, and those that tie with the last by
                   the first key of the order of the sink's state (loop_top.c) */
    bool fused; /* pairs go to the sink where they are; else those that passed the tests are visited */
    bool again; /* not fused, and tests are so cheap that they are done again for rows of the state that pass some */
    int nbounds;
    struct pl_pair_bound *bounds; /* by which a warp of a GPU leaves rows of the state out */
    bool sums; /* a thread adds up the pairs that pass its tests, task by task */
};

/* Log2 of the rows of a thread for which words that sums share have room: from those of a tile on. */
enum { PL_LANE_ROOM_LEAST = 3, PL_LANE_ROOM_MOST = 30 };
enum { PL_LOOP_TOP_MAX = 32 };
/* A thread can rank pairs by values of this class. */
static inline bool pl_loop_ranks(enum rt_phys p)
{
    return p == RT_I32 || p == RT_I64 || p == RT_F64 || p == RT_F32;
}

struct pl_pipeline {
    struct rt_pipeline *spec; /* source, names; entry names are filled by codegen */
    int source_slot; /* I32 slot: row id, row, index or code */
    int nslots;
    struct pl_slot *slots;
    int nsteps;
    struct pl_step *steps;
    struct pl_sink sink;
    int nlevels;
    struct pl_level {
        int first_step; /* after the step that opened it; level 0: 0 */
        int nslots; /* slots defined outside and used inside: what a tuple of this level carries */
        int *slots;
        int tuple_bytes, tuple_align; /* of the structure that holds them on a GPU */
    } levels[RT_MAX_LEVELS];
    struct pl_tile_steps cpu_tile, gpu_tile; /* on a GPU, a scan of dense groups has tiles as well */
    bool cpu_ahead; /* a step searches ahead: a CPU goes by tiles, also without filters */
    struct pl_loop loop;
    struct pl_gpu {
        int block_warps; /* warps of a block */
        bool places_ahead, /* rows that leave a tile, or enter the last level, all arrive: places for those that wait
                           * are reserved with the first */
            places_of_tile; /* of those that wait in the tile, too */
        bool most_pass; /* straight: rows that leave a tile are not lined up */
        int row_piece; /* rows are made in registers and stored in pieces of 8 or 16 bytes; 0: field by field */
        int resident_blocks; /* that are to fit a multiprocessor: a limit to registers; 0: none */
        int shared_bytes; /* of a block, at most: queues of levels, accumulators and copies of bitmaps */
        bool shared_at_launch; /* more than a kernel may declare */
        int donation_bytes, slot_bytes; /* work that one warp hands to another, at most (struct rt_unit) */
        bool quick; /* compiled with few passes, of loops that are not unrolled: a first tier's */
        /* The kernel that runs until this one is compiled: the same pipeline in another shape (planner/first_tier.c).
         * NULL: it waits for this one. */
        const struct pl_pipeline *first;
    } gpu;
    /* A row of the source is settled by the first of its children that reaches the sink: a CPU looks at no other
     * child of that range, nor does a GPU's loop over pairs. */
    bool first_match;
    bool in_place; /* rows go all the way where a GPU's tile has them; the accumulators' places allow it */
    /* Compilers take more than linear time for a function. A pipeline whose code would be long is *framed*: its
     * slots lie in memory that its functions share, the frame, and runs of steps, of outs, and large expressions
     * are functions (planner/parts.c). Its index and the keys of its hash tables are slots. */
    bool framed;
    int nparts; /* runs of steps in order, after the tile's; none opens a level or crosses one's end */
    struct pl_part *parts;
    bool unoptimised; /* the source has so few rows for certain that optimising its code costs more than it gains */
};

struct pl_node;

struct pl_program {
    struct hd_arena *arena;
    struct rt_spec *spec;
    int nexprs;
    struct pl_expr *exprs;
    int npipelines;
    struct pl_pipeline *pipelines; /* same order as spec->pipelines */
    const struct pl_node *physical; /* what pipelines were made from (planner/physical.h) */
    int nnodes; /* of it */
    int nnotes;
    const char **notes; /* choices worth telling in explain, in plan order */
    bool gpu_far_args; /* the args vector is too long to be parameters of a kernel: they get its address */
};

/* Which code pipelines of a CPU may run in: X(id, name). */
#define PL_TIERS(X) \
    X(AUTO, "auto") /* what costs say */ \
    X(FIRST, "first") \
    X(OPTIMISED, "optimised")
enum pl_tier {
#define X(id, name) PL_TIER_##id,
    PL_TIERS(X)
#undef X
};
struct pl_options {
    bool profile; /* rows will be counted: tell what they touch of memory */
    enum rt_balance balance; /* on a GPU; AUTO: what each pipeline needs */
    double cached_bytes; /* tests: as if so much fitted the cache, and a GPU were small; 0: what they are */
    int block_bits; /* tests: copies of bitmaps in a GPU's blocks have so many bytes at most, however short the scan; 0: by cost */
    int lane_room; /* tests: sums that share a word of a GPU's thread have room for so many rows (PL_LANE_ROOM_LEAST); 0: as fits */
    double memory_bytes; /* limit of the memory that states have; 0: none. On a CPU there are files behind it */
    bool no_zones; /* for comparisons: scans visit all zones of tables */
    bool slices; /* find out which rows of tables are read (rt_arg.scans) */
    bool on_gpu; /* who runs it, where strategies differ; threads of a CPU otherwise */
    int threads; /* private copies are planned for this many */
    int gpu_blocks; /* copies per block likewise; 0: those of a large GPU */
    int gpu_block_warps; /* of a block, HDD_BLOCK_WARPS_ASKED at most; 0: HDD_BLOCK_WARPS */
    int fragments; /* of each pipeline's source; 0: one */
    int devices; /* that they go to in turns, RT_MAX_DEVICES at most; 0: one */
    enum pl_tier tier; /* of pipelines on a CPU */
    int turn_morsels; /* tests: tiers take turns after so many morsels; 0: they do not */
    int frame_weight; /* pipelines that weigh more are framed; 0: default (planner/parts.c) */
    /* Called before planning reads the dictionary of a column; NULL: dictionaries are sound. */
    int (*touch_dict)(const struct fe_table *t, int column, struct hd_err *err);
    /* Called before planning reads other data for estimates; NULL: they are sound. */
    int (*touch)(struct fe_table_part part, struct hd_err *err);
};
/* Memory behind which states go into files, where access has to be local; 0: there are none. */
static inline double pl_file_memory(const struct pl_options *o)
{
    return o->on_gpu ? 0 : o->memory_bytes;
}

/* Lowers a typed, bound plan to pipelines. Fails with class UNSUPPORTED or USER (strategy not possible). */
int pl_plan(struct hd_arena *a, const struct fe_plan *plan, const struct pl_options *opt, struct pl_program **out,
            struct hd_err *err);
/* Checks the rules of this header and of spec.h, which planner/verify_rules.def lists. The first that is
 * broken as text, its name first, from the program's arena; NULL: all hold. */
const char *pl_check(const struct pl_program *p);
/* The same; a rule that is broken is an internal fault, a BUG. */
void pl_verify(const struct pl_program *p);
/* Rows that an execution counted: into step k of pipeline i (nsteps: its sink), of state i (its range
 * where it has one, which says nothing and is not shown). */
struct pl_counted {
    const uint64_t *const *steps; /* [pipeline][step] */
    const uint64_t *states;
};
/* Estimates are printed as ~rows, counted rows (if not NULL) behind them as =rows. */
void pl_print(struct hd_strbuf *out, const struct pl_program *p, const struct pl_counted *counted);

/* place.c: columns of planner/places.def. */
struct pl_place_row {
    const char *text;
    unsigned sinks; /* bits of enum pl_sink_kind */
    bool thread, sole, sized;
    int alone, beside, unit;
};
const struct pl_place_row *pl_place_row(enum pl_place p);
/* Bytes of a block's shared memory. */
int pl_place_shared(const struct pl_sink *s, int block_warps);
const char *pl_cache_text(enum pl_cache k);
/* Marks the slots that an expression, a step, a sink look at. */
void pl_expr_reads(const struct pl_expr *exprs, int e, bool *read);
bool pl_expr_may_fail(const struct pl_expr *exprs, int e);
void pl_step_reads(const struct pl_expr *exprs, const struct pl_step *s, bool *read);
/* Children of a foreign key are neighbours, in the order of a column of whole numbers, of which no two are equal. */
bool pl_children_are_sorted(const struct fe_table *t, int fk, int column);
/* Rows of the table ascend by the column, which has whole numbers and no NULLs. */
bool pl_column_is_sorted(const struct fe_table *t, int column);
/* Ranges of children wait in queues of a GPU's warps; a loop over pairs has none. */
bool pl_has_queues(const struct pl_pipeline *p);
/* Pairs of a loop that passed its tests wait for a warp to be full. */
bool pl_has_waiting(const struct pl_pipeline *p);
/* Whether NULL equals NULL in key k of a lookup; in the keys of groups (NULL) it always does. */
bool pl_null_equal(const struct pl_step *s, int k);
void pl_sink_reads(const struct pl_expr *exprs, const struct pl_sink *s, bool *read);

/* evaluate.c: lazy_*, vector, scanned, in_turn of n expressions. */
void pl_choose_evaluation(struct hd_arena *a, struct pl_expr *exprs, int n, const struct rt_arg *args);
/* tile.c: a CPU's tile of a scan, of the first `max` steps at most. */
struct pl_tile_steps pl_cpu_tile(struct hd_arena *a, const struct pl_expr *exprs, const struct pl_pipeline *q, int max);
/* Whether a CPU takes the state's rows of a loop over pairs in parts: where it goes through the source in tiles, it does not. */
static inline bool pl_in_parts(const struct pl_pipeline *p)
{
    return p->loop.rows && !p->cpu_tile.steps;
}
/* kernel.c: shared memory of a block of so many warps for the queues of a level whose tuples have so many bytes. */
int pl_queue_bytes(int tuple, int block_warps);
/* As many warps of a block as asked for (0: HDD_BLOCK_WARPS), less where their queues need more memory than
 * planner/cut.c leaves to those of HDD_BLOCK_WARPS. */
void pl_choose_block(struct pl_pipeline *p, int warps);
void pl_lay_out_tuples(struct pl_pipeline *p);
void pl_size_kernel(struct pl_pipeline *p); /* sums up what the kernel of a placed pipeline needs */
/* shape.c: fills shape and balance of a sealed pipeline, whose sink's state is st, and how its rows get places. */
void pl_choose_shape(struct pl_pipeline *p, const struct pl_expr *exprs, const struct rt_state *st,
                     enum rt_balance forced, int blocks);
/* Children of one node that the step opens a level for, at most; -1: unknown. */
double pl_max_children(const struct pl_step *s);
/* Rows that reach the steps that open levels, and the sink, by estimate; -1: unknown. */
double pl_expected_nodes(const struct pl_pipeline *p);

#endif
