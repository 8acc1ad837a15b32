/* Hand-made pipeline programs, compiled in the test itself and run against a small stand-in for
 * the runtime: what codegen emits is checked before, and apart from, planner and executor. */
#ifndef HEDDLE_TESTS_UNIT_CODEGEN_FIXTURE_H
#define HEDDLE_TESTS_UNIT_CODEGEN_FIXTURE_H

#include "codegen/codegen.h"
#include "runtime/base/arena.h"
#include "templates/abi.h"

enum { FX_ARGS = 128, FX_WORDS = 256, FX_EXPRS = 256, FX_STATES = 8, FX_PIPES = 4, FX_ITEMS = 64 };

typedef int32_t fx_entry(const uint64_t *args, struct hdd_thread *t, int64_t begin, int64_t end);
typedef int32_t fx_level(const uint64_t *args, struct hdd_thread *t, const void *carried, int64_t begin, int64_t end);

/* What the stand-in keeps per state: a growing array of rows, or a hash aggregate. */
struct fx_store {
    char *rows;
    size_t room; /* rows handed out so far */
    struct hdd_rows_local cursor;
    struct hdd_agg_local agg;
    struct hdd_dense_local dense;
    int grown;
};

struct fx {
    struct hd_arena arena;
    struct pl_program prog;
    struct rt_spec spec;
    struct rt_arg args[FX_ARGS];
    uint64_t words[FX_WORDS];
    struct pl_expr exprs[FX_EXPRS];
    struct rt_state states[FX_STATES];
    struct rt_pipeline spipes[FX_PIPES];
    struct pl_pipeline pipes[FX_PIPES];
    struct pl_pipeline *p; /* the one being built */
    int tile_steps;        /* of it, at most: those that do not fit a CPU's tile end it; 0: no tile */
    struct hdd_thread thread;
    void *local[FX_STATES];
    uint64_t counters[FX_ITEMS];
    struct fx_store stores[FX_STATES];
    struct cg_options opt;
    struct cg_artifact art;
    int spawned;      /* calls of hdr_spawn */
    int pipeline_now; /* pipeline that runs */
    void *jit;        /* LLVMOrcLLJITRef */
};

/* What generated code calls, by name (codegen_helpers.c). */
struct fx_helper {
    const char *name;
    void *address;
};
extern const struct fx_helper fx_helpers[];
extern const size_t fx_nhelpers;
/* An empty table with room for `cap` groups, a power of two. */
void fx_agg_alloc(struct fx *x, int state, size_t cap);

struct fx *fx_new(void);
void fx_free(struct fx *x);

/* Args: the words are what the generated code will read. */
int fx_arg(struct fx *x, enum rt_arg_kind kind, enum rt_phys p, hd_i128 v);
int fx_arg_ptr(struct fx *x, enum rt_arg_kind kind, const void *p);

/* Expressions: index of the new node. */
int fx_col(struct fx *x, int slot);
int fx_int(struct fx *x, enum rt_phys p, hd_i128 v);
int fx_f64(struct fx *x, double v);
int fx_str(struct fx *x, const char *s);
int fx_null(struct fx *x, enum rt_phys p);
int fx_op(struct fx *x, enum fe_op op, enum rt_phys p, int n, ...);
/* The same, and it may fail with this path number. */
int fx_op_fail(struct fx *x, enum fe_op op, enum rt_phys p, int path, int n, ...);

/* States */
int fx_state(struct fx *x, enum rt_state_kind kind, int stride);
int fx_field(struct fx *x, int state, enum rt_phys p, int offset, int valid_offset);

/* Pipelines. Slot 0 is the source. */
struct pl_pipeline *fx_pipeline(struct fx *x, enum rt_source_kind source);
int fx_slot(struct fx *x, enum rt_phys p, bool nullable);
struct pl_step *fx_step(struct fx *x, enum pl_step_kind kind, int slot);
void fx_let(struct fx *x, int slot, int expr);
void fx_filter(struct fx *x, int expr);
struct pl_out *fx_out(struct fx *x, int field, int expr, enum fe_agg_fn fn);
/* A column: slot <- values stored as given; base 0 and factor 1 mean plain. validity may be NULL. */
struct fe_table *fx_table(struct fx *x, int ncols);
struct fe_table_column *fx_column(struct fe_table *t, int c, enum fe_storage st, int width, const void *data,
                                  const uint8_t *validity);
struct pl_step *fx_load(struct fx *x, int slot, const struct fe_table *t, int c, int row_slot);
/* Index of a level after its EXPAND step was added: carries these slots. */
void fx_open_level(struct fx *x, int n, ...);

/* Emits, verifies, optimises and links. O2 unless HEDDLE_TEST_O0 is set. */
void fx_compile(struct fx *x);
int fx_run(struct fx *x, int pipeline, int64_t begin, int64_t end);
/* Groups the rows of a HASH state and points the given args at slots and mask. */
void fx_finish_hash(struct fx *x, int state, int a_slots, int a_mask, int a_rows);
size_t fx_nrows(struct fx *x, int state);
void *fx_row(struct fx *x, int state, size_t i);

#endif
