/* The kernel spec: everything the runtime must know to run a compiled program, as plain data.
 * The planner fills it (all decisions are taken there), codegen adds entry names, the runtime
 * obeys. It holds no code and no text of the plan's strings beyond constants.
 *
 * A program is a list of pipelines that communicate through *states* (bitmaps, tables, row
 * buffers, aggregates), one vector of *args* (64-bit words that generated code reads: column
 * addresses, constants, state addresses) and a *schedule*: a graph of actions on devices.
 */
#ifndef HEDDLE_RUNTIME_SPEC_H
#define HEDDLE_RUNTIME_SPEC_H

#include "frontend/catalog.h"
#include "runtime/base/type.h"
#include "templates/balances.cuh"
#include "templates/device.cuh"

/* Physical class of a value in flight. Row ids are I32 (-1: null-extended row). Dictionary
 * codes, dates are I32. STR is (pointer, int32 length). */
enum rt_phys { RT_BOOL, RT_I32, RT_I64, RT_I128, RT_F64, RT_STR, RT_F32 };
static inline bool rt_phys_is_float(enum rt_phys p)
{
    return p == RT_F64 || p == RT_F32;
}
/* Bytes in a row field: BOOL 1, I32 4, I64 8, I128 16, F64 8, F32 4, STR 16 {u64 address, u64 length}. */
int rt_phys_size(enum rt_phys p);
const char *rt_phys_name(enum rt_phys p);
/* A STR field of a row on the host. */
struct rt_row_str {
    const char *s;
    uint64_t n;
};

/* A field of a row in a state. Rows are arrays of structures: field at row + offset. */
/* What the finish of sorted rows writes into a field, an I32: of the rows with the same first sort keys the number of the
 * first one, the number behind the last one, how many such groups begin up to and with this row. */
enum rt_border { RT_BORDER_NONE, RT_BORDER_BEGIN, RT_BORDER_END, RT_BORDER_COUNT };

/* What it writes into an I32 field `field` of each row then: of the rows from `begin` to `end` (borders of the row) the
 * number of the first one that is not in front of the row's limit; behind: of the first one behind it. A row is in front
 * of a limit by its field `key`, which has the limit's type, and the order that it is in. `by` is added to an I32 limit.
 * Where the limit is NULL and the key of its row is not, it is beyond all keys that are not NULL, before them or,
 * `following`, behind. */
struct rt_search {
    int field, key, limit, begin, end;
    int32_t by;
    bool desc, nulls_first, following, behind;
};

/* Successive rows: from both `from` + from_by up to but without either `to` + to_by. All are fields with numbers of rows;
 * -1: the row's own number. One bound is there twice. */
struct rt_frame_span {
    int from[2], to[2];
    int64_t from_by[2], to_by[2];
};
enum { RT_FRAME_SPANS = 3 };

/* The rows whose fold a field has: those of the spans, of the rows from `begin` up to but without `end`. PRODUCTS are of
 * the F64 fields x and y. ARG_MIN and ARG_MAX are the number, from 1, of the row with the smallest or largest x, of these
 * that with the smallest y, NULLs last. Rows without an x do not count, of PRODUCTS those without a y either.
 *
 * For the others x is an I32, the rank of the row's value among those of the segment, the same for equal ones, from 1:
 * NTH is the number, from 1, of a row with the value that is in its place among those of the frame's rows in ascending
 * order (rt_share); DISTINCT the sum of the y of one row for each rank in the frame, which has the type of y (I64, I128,
 * F64), or how many ranks there are (y -1, I64); DISTINCT_XOR the bits that an odd number of such y have; MODE is the
 * number, from 1, of the first row of the frame with the rank that most of its rows have, the smallest of several. TEXT is of
 * the strings x of the rows that have one, in the order of these, with the separator between them. With more than one span the first ends, and the last begins, where rows are left out: by their second bounds. */
enum rt_share_place {
    RT_SHARE_FLOOR, /* rows numbered from 0 to n - 1: (n - 1) * num / den, rounded down, */
    RT_SHARE_CEILING, /* or up */
    RT_SHARE_FIRST /* the first with the share num / den, or more, up to it */
};
struct rt_share {
    enum rt_share_place place;
    int64_t num, den; /* 0 <= num <= den <= 10^9 */
};
struct rt_frame {
    int begin, end, nspans;
    struct rt_frame_span span[RT_FRAME_SPANS];
    int x, y;
    struct rt_share share; /* NTH */
    const char *separator; /* TEXT */
    size_t nseparator;
};
/* It begins where its segment does, and leaves nothing out. */
static inline bool rt_frame_is_running(const struct rt_frame *f)
{
    const struct rt_frame_span *s = f->span;
    return f->nspans == 1 && s->from[0] == f->begin && s->from[1] == f->begin && s->from_by[0] <= 0 &&
           s->from_by[1] <= 0;
}
/* What it writes into an I64 field then: into the k-th row of a segment the number there, from 1, of the k-th row that the
 * running field `count` counts. Others keep the 0 that they have. */
struct rt_nth {
    int field, count;
};

struct rt_field {
    const char *name;
    enum rt_phys phys;
    int offset;
    int valid_offset; /* byte, 1 = valid; -1: never NULL */
    int bytes; /* 1 or 2: it lies in so many bytes, unsigned (an I32 that sums up, of AGG_DENSE); 0: in those of phys */
    struct hd_type type; /* logical, for results, sort order and merging */
    const struct fe_table *dict_table; /* codes of this table column's dictionary, or NULL */
    int dict_column;
    enum rt_border border; /* ROWS */
    int border_keys; /* sort keys that make a group */
    const struct rt_frame *frame; /* ROWS, of a field that is merged; NULL: it runs */
};

int rt_field_size(const struct rt_field *f); /* bytes in a row */

/* How partial results in an aggregate's accumulator field combine. KEY fields identify the group.
 * All accumulators start as zero bytes; MIN, MAX, ANY and nullable SUM carry a valid byte. PRODUCTS (the sum of products
 * of deviations from the means), ARG_MIN, ARG_MAX, NTH, MODE, DISTINCT, DISTINCT_XOR and TEXT are of fields with a frame alone. */
enum rt_merge {
    RT_MERGE_KEY,
    RT_MERGE_SUM,
    RT_MERGE_MIN,
    RT_MERGE_MAX,
    RT_MERGE_ANY,
    RT_MERGE_OR,
    RT_MERGE_XOR,
    RT_MERGE_PRODUCTS,
    RT_MERGE_ARG_MIN,
    RT_MERGE_ARG_MAX,
    RT_MERGE_NTH,
    RT_MERGE_DISTINCT,
    RT_MERGE_DISTINCT_XOR,
    RT_MERGE_MODE,
    RT_MERGE_TEXT
};
/* A fold of a frame's rows that looks at other fields: rt_frame.x and y. */
static inline bool rt_merge_is_of_fields(enum rt_merge m)
{
    return m == RT_MERGE_PRODUCTS || m == RT_MERGE_ARG_MIN || m == RT_MERGE_ARG_MAX;
}
/* What ranks of values tell of a frame. */
static inline bool rt_merge_is_ranked(enum rt_merge m)
{
    return m == RT_MERGE_NTH || m == RT_MERGE_MODE || m == RT_MERGE_DISTINCT || m == RT_MERGE_DISTINCT_XOR;
}

/* A fold of a field's own values, or of others. */
static inline bool rt_merge_is_fold(enum rt_merge m)
{
    return !rt_merge_is_ranked(m) && m != RT_MERGE_TEXT;
}

enum { RT_RANKED_MAX = 8 }; /* fields that are finished together */

enum rt_state_kind {
#define S_STATE(id, stem, name, filling, aggregate, head) RT_STATE_##id,
#include "runtime/states.def"
};
enum rt_filling { RT_PLACED, RT_APPENDED, RT_KEYED };
/* Whether runtime/states.def has a row of this number, and the columns of a row. */
bool rt_state_is_kind(int k);
const char *rt_state_kind_name(enum rt_state_kind k);
enum rt_filling rt_state_filling(enum rt_state_kind k);
bool rt_state_aggregates(enum rt_state_kind k);
struct rt_state;
int rt_state_head(const struct rt_state *s);
/* The field that is not 0 in rows that have a group, of states with gaps; -1: byte 0 of a row is it. */
int rt_state_presence(const struct rt_state *s);
/* Where rows begin: at multiples of 8 bytes, of 16 with an I128 field. Rows of an AGG_DENSE that are nothing but sums of at
 * most 4 bytes, one of which says whether the group exists: of the widest of these. */
int rt_state_align(const struct rt_state *s);
bool rt_state_has_gaps(const struct rt_state *s); /* rows without a group may be among those of the groups */

/* Framed fields from `first` on that are of one x and, of distinct values, of one frame; 0: those before have it, or it is
 * none such. */
int rt_ranked_fields(const struct rt_state *s, int first, int field[RT_RANKED_MAX]);

enum rt_finish_op {
#define F_FINISH(id, stem, name) RT_FINISH_##id,
#include "runtime/finish.def"
};
const char *rt_finish_name(enum rt_finish_op op);
enum { RT_FINISH_MAX = 9 }; /* operations of a state */

struct rt_sort_key {
    int field;
    bool desc, nulls_first;
};

/* Of sorted rows the first ones of each group: by the first `ngroup` sort keys, NULLs equal, a group's rows from
 * `offset` on, `limit` of them; keep: also those behind that tie with the last of these by the first `nstated` keys. */
struct rt_top {
    int ngroup, nstated;
    int64_t limit, offset;
    bool keep;
    bool prune; /* so few rows stay of those that come that a CPU drops others while they come */
};

/* Where a finished state is: X(id, name in dumps). */
#define RT_DISTRIBUTIONS(X) \
    X(SINGLE, "single") /* on device 0 */ \
    X(REPLICATED, "replicated") /* a copy on every device */
enum rt_distribution {
#define X(id, name) RT_##id,
    RT_DISTRIBUTIONS(X)
#undef X
};
const char *rt_distribution_name(enum rt_distribution d);

/* Rows of one part lie side by side, and part after part: some bits of a hash, those below bit `top`, choose it. So
 * what looks rows up in a table of slots that the same bits address works in one window of it after the other. */
struct rt_partition {
    int nfields; /* whose hash it is; 0: rows begin with their hash */
    const int *fields;
    int top;
    int cpu_bits, gpu_bits; /* how many, RT_PARTITION_BITS at most; 0: rows stay where they are */
};
enum { RT_PARTITION_BITS = 16 };

/* Strings of sorted rows become one of each group, which its first row has, with a separator between them. The running
 * field is the sum, over all rows, of their bytes and the separator's. */
#define RT_TEXT_TOO_LONG "a string of more than 2147483647 bytes"
struct rt_text {
    int value, running, begin, end; /* fields: STR, never NULL; I64; borders of the group */
    const char *separator;
    size_t nseparator;
};

struct rt_state {
    enum rt_state_kind kind;
    const char *name; /* for dumps and reports */
    const char *path; /* JSON path of the plan node it belongs to */
    int nfields, nkeys; /* fields [0, nkeys) are the key (HASH, AGG_HASH) */
    struct rt_field *fields;
    enum rt_merge *merge; /* AGG_*: per field. ROWS: a field with SUM, MIN or MAX is a running one: once the state is
                             finished it has that of all rows up to its own, or of those of its frame, NULLs
                             passed over */
    int stride; /* bytes of a row, a multiple of rt_state_align */
    uint64_t range; /* BITMAP, DIRECT, CSR, AGG_DENSE, ARRAY: number of indexes */
    int presence; /* AGG_DENSE: 1 + integer field that is not 0 where the group exists; 0: byte 0 of a row says so */
    bool shared; /* AGG_DENSE: one array updated with atomics instead of one per thread */
    bool word; /* AGG_HASH on a GPU: the key is one int64, never 0, at offset 0; rows are slots while they are
                          filled, those with a key of 0 are free */
    /* BITMAP, DIRECT, CSR, HASH: */
    bool unique; /* facts prove that keys are distinct */
    bool dedupe; /* it is asked for existence: a HASH keeps one row per key */
    bool track_matches; /* ROWS, CSR, HASH: has a bit per row (DIRECT: per index; BITMAP: per row of
                           a table), set by MARK steps */
    int nsort; /* ROWS: order; `tie` columns are already part of it */
    struct rt_sort_key *sort;
    int segment; /* ROWS: 1 + field with the first row (BORDER_BEGIN) of those that a running field is of; 0: all */
    int nsearch; /* ROWS */
    const struct rt_search *search;
    int nplace; /* ROWS with a segment */
    const struct rt_nth *place;
    const struct rt_text *text; /* ROWS; NULL: none */
    int sorted; /* rows come by so many first keys of `sort`, from pipelines that are `ordered` */
    int64_t limit, offset; /* ROWS; limit -1 none. Without sort: any rows */
    bool bounded; /* with `sort` and a limit: who fills it leaves out rows beyond the bound, the word (ORDER_WORD) of
                          the first sort key of the last row that can stay, as far as that is known: at first
                          rt_state_no_bound */
    const struct rt_top *top; /* ROWS with `sort`, without limit and offset; NULL: none */
    bool single; /* ROWS: more than one row is an error of class execution */
    int64_t nvalues; /* ROWS filled by the runtime from constants before the first action */
    const unsigned char *values; /* nvalues rows of `stride` bytes (STR addresses into the arena) */
    struct rt_partition partition; /* ROWS, HASH */
    double est_rows;
    int nfinish; /* what FINISH does, one operation after the other */
    enum rt_finish_op finish[RT_FINISH_MAX];
    enum rt_distribution distribution;
};
/* Field f of a ROWS state is a running one. */
bool rt_state_field_runs(const struct rt_state *s, int f);
/* No row is beyond it. */
int64_t rt_state_no_bound(const struct rt_state *s);
/* Writes the list that kind and fields of a state ask for. */
void rt_state_list_finish(struct rt_state *s);

/* What generated code reads beside its rows; runtime/args.def tells them all. */
enum rt_arg_kind {
#define T_ARG(id, ...) RT_ARG_##id,
#include "runtime/args.def"
    RT_ARG_KIND_COUNT
};
/* What an argument belongs to, and the members of struct rt_arg that say which. */
enum rt_arg_object {
    RT_OBJECT_CONST, /* constant: phys; i, f, or s and n */
    RT_OBJECT_SET, /* constant list, sorted ascending: phys; set, nset elements of phys's field size */
    RT_OBJECT_LIKE, /* LIKE pattern: s, n, escape. Its address is that of what it compiles to (struct hdr_like of
                         runtime/cpu, runtime/gpu/gpu_like.h) */
    RT_OBJECT_COLUMN, /* table, column; phys of base and factor */
    RT_OBJECT_DICT, /* dictionary of table, column */
    RT_OBJECT_KEYIDX, /* key index `index` of table */
    RT_OBJECT_FK, /* foreign key `index` of table */
    RT_OBJECT_SOURCE, /* source of pipeline `index` */
    RT_OBJECT_STATE, /* state */
    RT_OBJECT_FIELD /* field `index` of state */
};
/* Where its value comes from, as args.def tells. */
enum rt_arg_group { RT_ARGS_PLAN, RT_ARGS_NUMBER, RT_ARGS_MEMORY, RT_ARGS_STATE };

/* Rows between the ends of a pipeline's source, a table; with `fk`, not -1: their children by that foreign key of the argument's
 * table, which lie in the order of their parents. */
struct rt_scan {
    int pipeline, fk;
};
/* How kernels of a GPU come to memory of a table: X(id, name). */
#define RT_WAYS(X) \
    X(RESIDENT, "resident") /* a copy on the device, which stays between executions */ \
    X(STREAMED, "streamed") /* every pipeline that reads it streams it (rt_pipeline.streamed) */ \
    X(MAPPED, "mapped") /* page-locked memory of the host, read over the link, but by pipelines that stream it */
enum rt_way {
#define X(id, name) RT_WAY_##id,
    RT_WAYS(X)
#undef X
};
const char *rt_way_name(enum rt_way w);
/* Chunks of a streamed pipeline that are on a device at once: one is read, one arrives, one is queued behind it. */
enum { RT_STREAM_SLOTS = 3 };

struct rt_arg {
    enum rt_arg_kind kind;
    enum rt_way way; /* of memory of a table; RESIDENT: also of all else */
    uint64_t
        link_bytes; /* that are expected to cross the link in each execution, as a copy's: of what is not resident */
    enum rt_phys phys; /* of constants, bases */
    int word; /* first word in the args vector */
    const struct fe_table *table;
    int column, index; /* column of table; key index, foreign key or field number */
    int state;
    hd_i128 i; /* CONST */
    double f;
    const char *s; /* CONST STR; LIKE pattern */
    size_t n;
    char escape; /* LIKE */
    int nset; /* SET */
    const void *set;
    int nscans; /* COL_*, FK_OFFSETS: the rows that are read, of FK_OFFSETS those of the parent, are these; 0: any may be */
    struct rt_scan *scans;
};

/* On a CPU a SET of I32 or I64 has a filter behind its elements, at the next multiple of 8 bytes: a word `shift`, and
 * 2^(64 - shift) bits, of which element v has set bit (uint64_t)v * RT_SET_FACTOR >> shift. One in 64 or more is set. */
#define RT_SET_FACTOR 0x9E3779B97F4A7C15u
/* The elements of a set in the arena, with that filter; those of other types as they are. */
const void *rt_set_filtered(struct hd_arena *a, const struct rt_arg *set);

const char *rt_arg_kind_name(enum rt_arg_kind k);
enum rt_arg_object rt_arg_object(enum rt_arg_kind k);
enum rt_arg_group rt_arg_group(enum rt_arg_kind k);
/* Words that it takes in the args vector. */
int rt_arg_words(const struct rt_arg *a);
/* Bytes of memory of a table (RT_ARGS_MEMORY) that the table has. */
uint64_t rt_arg_bytes(const struct rt_arg *a);
/* Bits of a row in it: of COL_DATA, COL_VALID. */
uint64_t rt_arg_row_bits(const struct rt_arg *a);

enum rt_source_kind {
    RT_SOURCE_TABLE, /* rows of a table */
    RT_SOURCE_ROWS, /* rows of a finished ROWS, CSR, HASH, AGG_HASH, AGG_SCALAR state */
    RT_SOURCE_INDEX, /* indexes 0..range-1 of DIRECT, AGG_DENSE (the code tests presence) */
    RT_SOURCE_DICT /* entries of a dictionary: index = code */
};

enum { RT_MAX_LEVELS = HDD_MAX_LEVELS };

/* How a GPU spreads a pipeline's work over its warps (templates/balances.cuh). AUTO: the planner chooses. */
enum rt_balance {
    RT_BALANCE_AUTO,
#define X(id, name, where, shares) RT_BALANCE_##id,
    HDD_BALANCES(X)
#undef X
        RT_BALANCE_COUNT
};
const char *rt_balance_name(enum rt_balance b);
int rt_balance_find(const char *name); /* -1: not known */
const char *rt_balance_list(void); /* all names, for messages */
/* Warps wait for each other: launched cooperatively, with the memory of runtime/gpu/gpu_balance.h. */
bool rt_balance_shares(enum rt_balance b);

/* The kernel that a pipeline becomes on a GPU (templates/traverse.cuh): X(id, dump name). */
#define RT_SHAPES(X) \
    X(STRAIGHT, "straight") /* no levels; none, nifs */ \
    X(ALL_ROWS, "all rows") /* the same for tiles that nothing is filtered from */ \
    X(IN_PLACE, "in place") /* the same without lining up survivors of a tile */ \
    X(LOOP, "loop") /* one level, of all rows of a state: pairs; none, nifs */ \
    X(BY_LANE, "by lane") /* a first tier's: each lane goes through the children of its row; none, nifs */ \
    X(NIFS, "nifs") /* levels, every warp for itself; none, nifs */ \
    X(AWS, "nifs+aws") /* and adaptive work-sharing; none, nifs, nifs+aws. Launched     \
                                 cooperatively */ \
    X(ANY, "any") /* all strategies, for comparisons. Launched cooperatively */
enum rt_shape {
#define X(id, name) RT_SHAPE_##id,
    RT_SHAPES(X)
#undef X
};
const char *rt_shape_name(enum rt_shape s);
/* A kernel of the shape has the strategy. */
bool rt_shape_has(enum rt_shape s, enum rt_balance b);

/* In which way rows touch an array of items: X(id, name). */
#define RT_ACCESSES(X) \
    X(SCAN, "scan") /* read, in the order of the source */ \
    X(LOOKUP, "lookup") /* read, wherever a row points to */ \
    X(UPDATE, "update") /* written likewise */ \
    X(APPEND, "append") /* written, one behind the other */
enum rt_access_kind {
#define X(id, name) RT_ACCESS_##id,
    RT_ACCESSES(X)
#undef X
};
/* An array whose items rows of a pipeline touch, at most once each. */
struct rt_access {
    enum rt_access_kind kind;
    int counter; /* number of the rows */
    int runs; /* items are neighbours in runs, as many as this counter has rows; -1: they are not */
    double items; /* there are; per row of the state, if there is one */
    int state; /* -1 */
    double stride, bytes; /* of an item; of what is touched of it */
    int atomics; /* UPDATE: that a GPU does for a row, if lanes of a warp have none in common; 0: some other way */
    const struct fe_table *table; /* items are the strings of this column, or of its dictionary, and stride and bytes
                                     their mean length; NULL: they are not */
    int column;
};

/* A filter that rows of the source pass from some row on, or up to some row, as their table ascends by `column`: what a
 * value of it is compared with. */
struct rt_end {
    int column;
    int arg; /* CONST of whole numbers, or a SET of them, whose first or last element it is */
    bool lower; /* rows pass from there on; else up to there */
    bool strict; /* the value itself does not pass */
};

/* Rows from `begin` up to but without `end`. */
struct rt_source_rows {
    uint64_t begin, end;
};
enum rt_zone_test_kind {
#define Z_TEST(id, text, takes) RT_ZONE_##id,
#include "runtime/zone_tests.def"
};
const char *rt_zone_test_text(enum rt_zone_test_kind k);
bool rt_zone_test_is_kind(int k);
enum rt_zone_takes { RT_ZONE_TAKES_NOTHING, RT_ZONE_TAKES_CONST, RT_ZONE_TAKES_SET };
enum rt_zone_takes rt_zone_test_takes(enum rt_zone_test_kind k);
struct rt_zone_test {
    enum rt_zone_test_kind kind;
    int column;
    int arg; /* of whole numbers or floats, as the column has; -1: it takes none */
};
/* Rows pass a filter only if one of the tests holds. */
struct rt_zone_condition {
    int ntests;
    struct rt_zone_test *tests;
};
/* Which zones of its table a source visits (struct fe_zone): those that may have a row for which all conditions hold. Rows of the
 * others would be dropped, and nothing in front of the filters that would do so can raise. */
struct rt_zoning {
    int nconditions; /* each rules some zone out; 0: all are visited, and there are no ranges */
    struct rt_zone_condition *conditions;
    int64_t n, visited; /* zones of the table; of these */
    int nranges; /* ascending, with zones between them that are not visited */
    struct rt_source_rows *ranges;
    uint64_t
        bridged; /* columns that are in a GPU's memory: so many rows between two ranges are read rather than left out */
};

/* When the optimised code of a pipeline is made, on a CPU. Its first tier is code without optimisation, compiled several
 * times as fast. X(id, text in dumps) */
#define RT_TIERINGS(X) \
    X(LATER, "") /* once an execution is over, for the next one: this one stays in the first tier */ \
    X(MEANWHILE, "optimised meanwhile") /* beside the first tier, which it replaces between two morsels */ \
    X(BEFORE, "optimised before") /* the pipeline waits for it */ \
    X(NEVER, "first tier") /* for comparisons */ \
    X(TURNS, "tiers in turns") /* for tests: both are there before, and rt_spec.turn_morsels take turns */
enum rt_tiering {
#define X(id, text) RT_TIERING_##id,
    RT_TIERINGS(X)
#undef X
};
enum { /* beside the kinds: a switch over them has no case for their number */
#define X(id, text) +1
       RT_TIERING_COUNT = 0 RT_TIERINGS(X)
#undef X
};
const char *rt_tiering_text(enum rt_tiering t);
enum rt_tier { RT_TIER_FIRST, RT_TIER_OPTIMISED, RT_TIER_COUNT };

/* A function that pipelines became on a CPU, as codegen leaves it. */
struct rt_function {
    const char *name;
    int pipeline; /* no other calls it */
    uint64_t weight; /* what it takes to compile, in instructions */
};

struct rt_pipeline {
    const char *name; /* "p3" */
    const char *path; /* plan node of its sink */
    enum rt_source_kind source;
    const struct fe_table *table;
    int column; /* DICT; TABLE with `front` */
    bool front; /* rows ascend by `column`, the first sort key of the bounded state that they fill */
    int state; /* ROWS, INDEX */
    int nends; /* TABLE: only rows between them are visited, and up to RT_FRAGMENT_ROWS - 1 in front, which filters drop */
    struct rt_end *ends;
    struct rt_zoning zones; /* TABLE: and only those that it visits. Filters stay here, too */
    int nlevels;
    enum rt_tiering tiering;
    const char *entry; /* on a CPU: function i32 (args*, thread*, u64 begin, u64 end) */
    const char *level_entry[RT_MAX_LEVELS]; /* splittable levels: i32 (args*, thread*, carried*, u64
                                               begin, u64 end); NULL otherwise */
    uint32_t piece_children
        [RT_MAX_LEVELS]; /* of a level: a CPU cuts ranges of children into pieces of so many; 0: HDD_SPLIT */
    double
        below; /* rows of the innermost level below one row of the source at most, as far as facts tell; 0: no levels */
    int ncounters; /* 64-bit counters for --profile: rows into step 0.., and into the sink */
    const char **counter_names;
    double *counter_est; /* estimated rows, same index; < 0 unknown */
    int naccesses; /* what its rows touch of memory, for --profile (runtime/exec/traffic.h) */
    struct rt_access *accesses;
    enum rt_shape shape;
    enum rt_balance balance; /* to launch it with; never AUTO */
    int lane_rows; /* rows of a GPU's tile that each lane of a warp has */
    bool ordered; /* rows leave in the order of the source */
    bool all_arrive; /* each row of the source gives one of ROWS */
    bool row_for_row; /* but on a GPU by all warps: a row of the source gives the row with its number */
    int nwrites; /* states that it changes: its sink's first, then those whose match bits it sets */
    int *writes;
    int nreads; /* finished states that it reads, its source's among them; each once */
    int *reads;
    /* TABLE, on a GPU: arguments that are not on the device. Chunks of their rows are brought there, one after the other,
     * and the kernel runs over each. All are COL_DATA, COL_VALID or COL_TEXT_BYTES, read at the source's row alone; the latter's
     * strings are in no row that the pipeline makes. */
    int nstreamed;
    int *streamed;
    uint64_t chunk_rows; /* a multiple of RT_FRAGMENT_ROWS, with strings of a block of them (FE_TEXT_BLOCK_SHIFT) */
    int ntouched; /* what it reads of tables: verified before the run */
    struct fe_table_part *touched;
};

/* ---- schedule -------------------------------------------------------------------------------------- */

enum { RT_MAX_DEVICES = 8 };

/* Part `part` of `parts` of the rows, indexes or codes of a pipeline's source; {0, 1} is all of them. */
struct rt_fragment {
    int part, parts;
};
/* Fragments begin at multiples of this: no tile of a warp and no word of a bitmap has rows of two. */
enum { RT_FRAGMENT_ROWS = 256 };
/* The first of `rows` rows that belongs to a fragment; begin and end of all parts but empty ones differ. */
uint64_t rt_fragment_begin(struct rt_fragment f, uint64_t rows);
uint64_t rt_fragment_end(struct rt_fragment f, uint64_t rows);

/* X(id, name in dumps). On the CPU all devices are the one memory: only device 0's actions have an effect there,
 * but for RUN. */
#define RT_ACTIONS(X) \
    X(UPLOAD, "upload") /* columns and indexes that pipelines read are there, and verified */ \
    X(RUN, "run") /* a pipeline over a fragment of its source */ \
    X(FINISH, "finish") /* a state can be read from now on, and is filled no more */ \
    X(EXCHANGE, "exchange") /* contents of a state go from one device to another */ \
    X(FREE, "free") /* a state's memory */
enum rt_action_kind {
#define X(id, name) RT_##id,
    RT_ACTIONS(X)
#undef X
};
const char *rt_action_name(enum rt_action_kind k);

#define RT_EXCHANGES(X) \
    X(GATHER, "gather") /* what pipelines put into it on `from` is added, before FINISH */ \
    X(BROADCAST, "broadcast") /* a copy of the finished state */ \
    X(GATHER_MATCHES, "gather matches") /* match bits set on `from` are set here, too */ \
    X(BROADCAST_MATCHES, "broadcast matches") /* match bits become those of `from` */
enum rt_exchange {
#define X(id, name) RT_EXCHANGE_##id,
    RT_EXCHANGES(X)
#undef X
};
const char *rt_exchange_name(enum rt_exchange e);

struct rt_action {
    enum rt_action_kind kind;
    int index; /* RUN: pipeline; UPLOAD: -1; the others: state */
    int device; /* where it takes place; EXCHANGE: who receives */
    struct rt_fragment fragment; /* RUN */
    enum rt_exchange exchange;
    int from; /* EXCHANGE: the device that gives */
    int nafter; /* actions that it waits for: earlier ones of the list, ascending */
    const int *after;
};

/* What a failure was about, as messages tell it: X(id, text). %a and %b are the values that failed, of the
 * types from[0] and from[1], %f is the function. */
#define RT_SITES(X) \
    X(PLAIN, "") /* nothing is told */ \
    X(VALUE, "%a") \
    X(ADD, "%a + %b") \
    X(SUB, "%a - %b") \
    X(MUL, "%a * %b") \
    X(DIV, "%a / %b") \
    X(NEG, "-(%b)") \
    X(FUNCTION_1, "%f(%a)") \
    X(FUNCTION_2, "%f(%a, %b)") \
    X(INFIX, "%a %f %b") \
    X(SUM, "the sum") \
    X(AVERAGE, "the average") \
    X(ROUNDED, "the rounded number")
enum rt_site_form {
#define X(id, text) RT_SITE_##id,
    RT_SITES(X)
#undef X
};

/* A place of the plan where generated code may raise. */
struct rt_site {
    const char *path; /* JSON path of the expression */
    enum rt_site_form form;
    struct hd_type to, from[2]; /* but PLAIN: values of these types did not fit `to` */
    const char *function; /* FUNCTION_*, INFIX: its name */
};

struct rt_result_column {
    const char *name;
    struct hd_type type;
    bool nullable;
    int field; /* of the result state (a ROWS state; dictionary codes are decoded on export) */
};

/* Which code of the fixed kernels, which finish states, a GPU begins with where neither is loaded or on disk. */
enum rt_fixed_tier {
    RT_FIXED_OPTIMISED,
    RT_FIXED_FIRST, /* the same kernels, compiled with few passes; optimised ones are made behind, and taken later */
    RT_FIXED_STAYS_FIRST /* nothing takes their place */
};

struct rt_spec {
    int nstates;
    struct rt_state *states;
    int nargs, nwords;
    struct rt_arg *args;
    int npipelines;
    struct rt_pipeline *pipelines;
    int ndevices; /* that actions name: 0 .. ndevices - 1 */
    int nactions;
    struct rt_action *actions; /* in an order in which one after the other can run */
    int result_state; /* on device 0 */
    int nresult;
    struct rt_result_column *result;
    int nsites; /* expressions that may fail; generated code raises by number */
    struct rt_site *sites;
    int turn_morsels; /* of tiers in turns */
    enum rt_fixed_tier fixed_tier;
};

/* Device code that kernels call, templates/library_*.cu: X(id, name, milliseconds that NVRTC takes). */
#define RT_LIBRARIES(X) X(SHARE, "library_share", 120) X(WIDE, "library_wide", 70) X(FLOAT, "library_float", 330)
enum {
#define X(id, name, ms) RT_LIBRARY_NUMBER_##id,
    RT_LIBRARIES(X)
#undef X
        RT_NLIBRARIES
};
enum rt_library {
#define X(id, name, ms) RT_LIBRARY_##id = 1 << RT_LIBRARY_NUMBER_##id,
    RT_LIBRARIES(X)
#undef X
};

/* A pipeline's kernel for a GPU, as codegen leaves it (codegen/cuda_source.h). */
struct rt_unit {
    const char *entry;
    const char *text; /* NUL-terminated */
    size_t size;
    size_t head; /* bytes of it before its code: options, comments, includes */
    int threads; /* of a block */
    uint32_t donation_bytes, slot_bytes; /* of a warp's mailbox, of a slot of a queue of FWS */
    uint32_t shared_bytes; /* of a block, to be given at launch; 0: the kernel declares what it needs */
    bool shared_fits; /* on a device that has less, the kernel takes less (templates/block_bits.cuh) */
    bool far_args; /* the first parameter is not the words but their address on the device */
    bool makes_strings; /* needs a heap of strings (templates/launch.cuh) */
    bool may_fail; /* a row may raise an error; what it stores then means nothing */
    unsigned libraries; /* enum rt_library: what it is to be linked with */
    bool by_lane; /* no warp waits for another's work, whatever the pipeline's balance */
    const struct rt_unit *first; /* the pipeline's kernel in the first tier, of the same name; NULL: it has none */
};

/* Errors that generated code raises with the number of a site. X(id, text where no value is told) */
#define RT_FAILURES(X) \
    X(OVERFLOW, "numeric overflow") \
    X(DIV_ZERO, "division by zero") \
    X(CAST_RANGE, "value does not fit the type of the cast") \
    X(CAST_STRING, "text is not a value of the type of the cast") \
    X(SUBSTRING, "negative length in substring") \
    X(DATE_RANGE, "date out of range") \
    X(DOMAIN, "the function is not defined for its argument") \
    X(STRING_SIZE, RT_TEXT_TOO_LONG) \
    X(MEMORY, "memory limit reached") \
    X(CANCELLED, "cancelled")
enum rt_failure {
    RT_FAIL_NONE,
#define X(id, text) RT_FAIL_##id,
    RT_FAILURES(X)
#undef X
};

#endif
