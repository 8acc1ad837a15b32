/* Inside of the LLVM backend: the data of an emission, then prototypes grouped by the file that defines them; files
 * use those before them in codegen/CMakeLists.txt only. Values in flight are struct cg_val; a slot of the pipeline
 * is one, defined by its step at a place that dominates every use, so the nest needs no memory for tuples. */
#ifndef HEDDLE_CODEGEN_LLVM_EMIT_H
#define HEDDLE_CODEGEN_LLVM_EMIT_H

#include <llvm-c/Core.h>

#include "codegen/codegen.h"
#include "runtime/base/guard.h"
#include "runtime/base/vec.h"

/* Bytes of the scratch slot for results of helpers: an i128, or a string. */
enum { CG_TMP_BYTES = 16 };

/* A value in flight. Where valid is false, v is unspecified but safe to compute with: a number
 * of its type, a string whose bytes may be read. */
struct cg_val {
    LLVMValueRef v;     /* STR: address of the bytes */
    LLVMValueRef len;   /* STR: i32, else NULL */
    LLVMValueRef valid; /* i1; NULL: never NULL */
    LLVMValueRef wide; /* row slots: the row as i64 where it is at hand (and not -1), else NULL */
};

enum cg_call {
#define R_CALL(ret, name, args) CG_CALL_##name,
#include "templates/rtcalls.def"
    CG_CALL_COUNT
};

/* Functions of a pipeline besides its entry: X(id, letter of the name, what `first` counts). */
#define CG_FUNCTIONS(X) \
    X(LEVEL, 'l')  /* levels: llvm_pipeline.c */ \
    X(STEPS, 's')  /* parts of the steps; the others in llvm_parts.c, too */ \
    X(EXPR, 'e')   /* expressions of the program */ \
    X(STORE, 'o')  /* parts of the outs: stored in a row */ \
    X(DIRECT, 'd') /* stored at an index */ \
    X(FOLD, 'f')   /* added to an image */ \
    X(SHARED, 'm') /* an image merged into a row that other threads change as well */
enum cg_function {
    CG_FUNCTION_ENTRY = -1, /* of the pipeline */
#define X(id, letter) CG_FUNCTION_##id,
    CG_FUNCTIONS(X)
#undef X
    /* Keys of a sink, or of the step number (kind - CG_FUNCTION_KEYS) / 2 - 1: hashed, compared. */
    CG_FUNCTION_KEYS
};

struct cg_job {
    int index; /* of the pipeline */
    int kind;  /* enum cg_function, or CG_FUNCTION_KEYS and more */
    int first;
};

struct cg_fn;

struct cg_mod {
    /* Emits an expression (llvm_expr.c). An operator's emitter asks for its arguments through this: it decides in which
     * blocks they are computed, and the emitters of all operators stand below what knows them all. */
    struct cg_val (*expr)(struct cg_fn *f, int e);
    struct hd_arena *arena;
    const struct pl_program *prog;
    const struct cg_options *opt;
    LLVMContextRef ctx;
    LLVMModuleRef mod;
    LLVMTypeRef i1, i8, i16, i32, i64, i128, f64, f32, ptr, none;
    LLVMTypeRef entry_type, level_type, part_type;
    LLVMTypeRef call_types[CG_CALL_COUNT];
    LLVMValueRef calls[CG_CALL_COUNT]; /* declared at first use */
    unsigned md_invariant, md_prof, md_unpredictable;
    LLVMValueRef empty_node, unlikely_node;
    HD_VEC(struct cg_job) jobs; /* functions still to emit */
    HD_VEC(struct rt_function) functions; /* that were emitted */
    struct cg_frame *frames; /* by pipeline: where slots lie, if it is framed */
    struct cg_val *slots; /* of the function that is being emitted; see struct cg_fn */
    LLVMValueRef *words, *word_ptrs;
    struct hd_cleanup guarded;
};

/* Slots of a framed pipeline in memory. */
struct cg_frame {
    struct rt_field *fields; /* by slot */
    int bytes;
};

/* Where execution goes after a failure of one kind at one path. */
struct cg_fail_block {
    enum rt_failure why;
    int path;
    LLVMBasicBlockRef block;
};

struct cg_sink; /* llvm_sink.h */

/* Rows of the state that a loop over pairs is at (llvm_state_part.c). */
struct cg_state_part {
    LLVMValueRef begin, end; /* NULL: all rows */
    LLVMValueRef columns; /* what pairs look at, side by side */
    LLVMValueRef counts; /* by group and copy */
    LLVMValueRef more; /* of the source's loop: whether a row of it may meet rows behind the part */
};

/* Places that a step's searches found for the survivors of a tile, one after the other (llvm_ahead.c). */
struct cg_ahead {
    const struct pl_step *s;
    LLVMValueRef places;
};

struct cg_loop {
    LLVMValueRef i, end;
    LLVMBasicBlockRef body, latch, outer;
    bool rolled; /* LLVM is to leave it as it is */
};

/* The loop over the children of a row (llvm_fold.c). */
struct cg_fold {
    const struct pl_step *step; /* that opened it */
    LLVMValueRef sums; /* what is added up, in memory */
    LLVMBasicBlockRef none; /* of a row without children that goes on; NULL: it ends */
    struct cg_loop loop;
};

/* One function being built. */
struct cg_fn {
    struct cg_mod *m;
    const struct pl_pipeline *pipeline;
    int index; /* of the pipeline */
    LLVMValueRef fn, args, thread, begin, end;
    struct cg_state_part part;
    struct cg_ahead ahead[PL_SEARCHES_AHEAD];
    int nahead;
    struct cg_fold fold;
    LLVMValueRef survivor; /* number of the row among its tile's */
    LLVMValueRef frame; /* of a framed pipeline */
    LLVMValueRef row, other; /* of parts: what they work on */
    LLVMValueRef value; /* of outlined expressions; made at first use */
    LLVMBuilderRef b; /* where code goes now */
    LLVMBuilderRef eb; /* end of the entry block: argument words, allocas */
    struct hd_cleanup guarded;
    LLVMBasicBlockRef body; /* follows the entry block */
    LLVMBasicBlockRef next; /* where a row goes that ends here: latch of the innermost loop */
    LLVMBasicBlockRef enough; /* and one that the sink has taken, where it settles the row above it; or NULL */
    LLVMBasicBlockRef exit; /* writes the sink back, returns 0 */
    LLVMBasicBlockRef failed; /* returns 1; made at first use */
    HD_VEC(struct cg_fail_block) fails;
    struct cg_val *slots;
    LLVMValueRef *words, *word_ptrs; /* args vector words loaded so far, as i64 and as ptr */
    LLVMValueRef tmp; /* CG_TMP_BYTES; made at first use */
    unsigned lanes; /* 0, or PL_CPU_VECTOR_ROWS while the predicates of a tile are evaluated */
    struct cg_sink *sink; /* set once the sink was emitted in this function */
};

/* llvm_types.c: physical types, and values in registers and memory */
LLVMTypeRef cg_scalar_type(const struct cg_mod *m, enum rt_phys p);
LLVMTypeRef cg_type(const struct cg_fn *f, enum rt_phys p); /* a vector inside a tile */
int cg_phys_bits(enum rt_phys p); /* of the integer types */
int cg_phys_size(enum rt_phys p); /* bytes in memory */
LLVMValueRef cg_const(const struct cg_fn *f, enum rt_phys p, hd_i128 v);
/* 0, 0.0 or the empty string. */
struct cg_val cg_zero(const struct cg_fn *f, enum rt_phys p);
LLVMValueRef cg_splat(struct cg_fn *f, LLVMBuilderRef b, LLVMValueRef v, LLVMTypeRef type);
/* Between integer classes, sign-extended or cut; BOOL counts as 0 and 1. */
LLVMValueRef cg_int_cast(struct cg_fn *f, LLVMValueRef v, enum rt_phys from, enum rt_phys to);
struct cg_val cg_select(struct cg_fn *f, LLVMValueRef c, struct cg_val a, struct cg_val b);
struct cg_val cg_phi(struct cg_fn *f, int n, const struct cg_val *vals, LLVMBasicBlockRef *blocks);
/* A value at an address, without its validity; constant: the memory does not change in the run. */
struct cg_val cg_load(struct cg_fn *f, enum rt_phys p, LLVMValueRef ptr, bool constant);
void cg_store(struct cg_fn *f, enum rt_phys p, struct cg_val v, LLVMValueRef ptr);
LLVMTypeRef cg_narrow_type(struct cg_fn *f, const struct rt_field *fd); /* of a field of 1 or 2 bytes */
struct cg_val cg_load_field(struct cg_fn *f, const struct rt_field *fd, LLVMValueRef row, bool constant);
void cg_store_field(struct cg_fn *f, const struct rt_field *fd, struct cg_val v, LLVMValueRef row);
LLVMValueRef cg_alloca(struct cg_fn *f, int bytes);
LLVMValueRef cg_test_bit(struct cg_fn *f, LLVMValueRef words, LLVMValueRef index, bool constant);

/* llvm_flow.c: control flow */
LLVMValueRef cg_true(struct cg_fn *f, struct cg_val v); /* a BOOL is valid and true */
/* Conjunction of two validities, either of which may be NULL (always). */
LLVMValueRef cg_both(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b);
/* Code between begin and end runs only where cond holds (NULL: always); end gives the value
 * there and zero, not valid, elsewhere. */
struct cg_when {
    LLVMValueRef cond;
    LLVMBasicBlockRef from, join;
};
struct cg_when cg_when_begin(struct cg_fn *f, LLVMValueRef cond);
struct cg_val cg_when_end(struct cg_fn *f, const struct cg_when *w, enum rt_phys p, struct cg_val v);
/* for (i = begin; i < end; i++) with at least one turn. Between open and close, f->next is the
 * latch; close wants the current block terminated and goes on after the loop. */
struct cg_loop cg_loop_open(struct cg_fn *f, LLVMValueRef begin, LLVMValueRef end);
void cg_loop_close(struct cg_fn *f, const struct cg_loop *l);
void cg_loop_close_by(struct cg_fn *f, const struct cg_loop *l, int by); /* i += by */
/* A branch back to the start of a loop that LLVM is to leave as it is. */
void cg_keep_rolled(struct cg_fn *f, LLVMValueRef branch);
LLVMBasicBlockRef cg_failed_block(struct cg_fn *f); /* returns that an error was raised */

/* llvm_functions.c */
/* The function, which will be emitted if it is new. */
LLVMValueRef cg_function(struct cg_mod *m, const struct cg_job *job);
struct cg_fn *cg_fn_open(struct cg_mod *m, const struct cg_job *job);
void cg_fn_close(struct cg_fn *f); /* at the end of the exit block */

/* llvm_slots.c: slots; row slots as indexes */
void cg_bind(struct cg_fn *f, int slot, struct cg_val v);
void cg_bind_source(struct cg_fn *f, LLVMValueRef i); /* the source slot to row i */
struct cg_val cg_slot(struct cg_fn *f, int slot); /* its value */
LLVMValueRef cg_row_index(struct cg_fn *f, int slot); /* i64 */
LLVMValueRef cg_row_is_null(struct cg_fn *f, int slot);
/* A slot in a tuple of slots, of which `at` counts the bytes. */
struct rt_field cg_carry_field(const struct pl_slot *s, int *at);
void cg_frame_open(struct cg_fn *f); /* the frame of an entry or level function */

/* llvm_args.c: the args vector, thread state, failures */
/* Code goes to the end of the entry block until f->b is set back to what this gives. */
LLVMBuilderRef cg_enter(struct cg_fn *f);
LLVMValueRef cg_arg_word(struct cg_fn *f, int arg, int k); /* i64 */
LLVMValueRef cg_arg_ptr(struct cg_fn *f, int arg);
LLVMValueRef cg_arg_int(struct cg_fn *f, int arg, enum rt_phys p); /* by the argument's phys */
struct cg_val cg_arg_const(struct cg_fn *f, int arg, enum rt_phys p);
LLVMValueRef cg_thread_local(struct cg_fn *f, int state); /* thread->local[state], loaded once */
void cg_count(struct cg_fn *f, int counter, LLVMValueRef n); /* i64; NULL: one row */
void cg_check_stop(struct cg_fn *f);
void cg_fail_if(struct cg_fn *f, LLVMValueRef cond, enum rt_failure why, int path);
/* The same about two integers of class p (the second may say nothing: rt_spec.sites), in a block of its own. */
void cg_fail_values_if(struct cg_fn *f, LLVMValueRef cond, enum rt_failure why, int path, enum rt_phys p,
                       LLVMValueRef a, LLVMValueRef b);

/* llvm_calls.c: runtime functions */
LLVMValueRef cg_call(struct cg_fn *f, enum cg_call c, LLVMValueRef *args, int n);
/* The same for those that give a status: not zero returns 1 from the function. */
void cg_call_checked(struct cg_fn *f, enum cg_call c, LLVMValueRef *args, int n);
LLVMValueRef cg_intrinsic(struct cg_fn *f, const char *name, LLVMTypeRef overload, LLVMValueRef *args, int n);
/* The magnitude of a float compared with infinity. */
LLVMValueRef cg_to_infinity(struct cg_fn *f, LLVMRealPredicate p, LLVMValueRef v, enum rt_phys phys);
/* Low and high word of an integer of class p as two i64 in out[0], out[1]. */
void cg_words(struct cg_fn *f, LLVMValueRef v, enum rt_phys p, LLVMValueRef out[2]);

/* Calls a helper whose last parameter is the address of its result, only where valid holds
 * (NULL: always), and reads the result as class e->phys. args has room for one more. */
struct cg_val cg_call_result(struct cg_fn *f, const struct pl_expr *e, LLVMValueRef valid, enum cg_call c,
                             LLVMValueRef *args, int n);
/* Likewise of functions that say whether there is a value: NULL where they give 0. */
struct cg_val cg_call_maybe(struct cg_fn *f, const struct pl_expr *e, LLVMValueRef valid, enum cg_call c,
                            LLVMValueRef *args, int n);

/* llvm_expr.c: expressions. The emitters of frontend/ops.def are in llvm_expr_*.c, leaves' here. */
#define T_OP(id, text, lo, hi, syntax, typing, nulls, fails, cost, entries, form, lowering, device, cuda, lanes, llvm) \
    struct cg_val cgl_##llvm(struct cg_fn *f, const struct pl_expr *e);
#include "frontend/ops.def"
struct cg_val cg_emit_expr(struct cg_fn *f, int e);
struct cg_val cg_expr_here(struct cg_fn *f, int e); /* its own code, though it is outlined */
static inline struct cg_val cg_expr(struct cg_fn *f, int e)
{
    return f->m->expr(f, e);
}
static inline const struct pl_expr *cg_expr_of(const struct cg_mod *m, int e)
{
    if (e < 0 || e >= m->prog->nexprs)
        HD_BUG("expression %d of %d", e, m->prog->nexprs);
    return &m->prog->exprs[e];
}
/* The physical class of an expression's i-th argument. */
static inline enum rt_phys cg_arg_phys(const struct cg_mod *m, const struct pl_expr *e, int i)
{
    return cg_expr_of(m, e->args[i])->phys;
}

/* llvm_expr_cmp.c: comparisons, by the order of docs/plan.md 2.2 */
LLVMValueRef cg_compare(struct cg_fn *f, enum fe_op op, enum rt_phys p, struct cg_val a, struct cg_val b);

/* llvm_key.c: keys of hash tables */
LLVMValueRef cg_hash(struct cg_fn *f, int n, const struct cg_val *keys, const enum rt_phys *phys);
/* The same, going on from a hash. */
LLVMValueRef cg_hash_more(struct cg_fn *f, LLVMValueRef h, int n, const struct cg_val *keys, const enum rt_phys *phys);
/* Falls through where n fields of the row equal keys, which are those of lookup s (NULL: of groups) from `first` on,
 * else goes to differ. */
void cg_keys_equal(struct cg_fn *f, int n, const struct rt_field *fields, LLVMValueRef row, const struct cg_val *keys,
                   const struct pl_step *s, int first, LLVMBasicBlockRef differ);

/* llvm_fold.c: a value into the accumulator that a field of the row is; the loop over the children of a row */
void cg_accumulate(struct cg_fn *f, enum fe_agg_fn fn, const struct rt_field *fd, LLVMValueRef row, struct cg_val x);
void cg_fold_open(struct cg_fn *f, const struct pl_step *s);
void cg_fold_add(struct cg_fn *f, const struct pl_step *s);
void cg_fold_close(struct cg_fn *f);

/* llvm_steps.c, llvm_probe.c: steps; code goes on where the row lives, or to f->next */
void cg_step(struct cg_fn *f, const struct pl_step *s);
void cg_step_load_lanes(struct cg_fn *f, const struct pl_step *s, LLVMValueRef first);
/* llvm_search.c. The first of rows begin .. end - 1 that is not `before`, which holds of a first part of them, by
 * halving; or end. */
typedef LLVMValueRef cg_before_fn(struct cg_fn *f, const void *x, LLVMValueRef row);
LLVMValueRef cg_partition_point(struct cg_fn *f, cg_before_fn *before_row, const void *x, LLVMValueRef begin,
                                LLVMValueRef end);
/* What SEARCH, PROBE_SORTED and EXPAND_SORTED look for in the rows of a state: values whose validity counts only where
 * NULLs match. EXPAND_SORTED: the first row of its range. */
struct cg_sought {
    const struct pl_step *s;
    const struct cg_val *v;
};
int cg_nsought(const struct pl_step *s);
void cg_eval_sought(struct cg_fn *f, const struct pl_step *s, struct cg_val *v);
/* Row i comes before what is looked for: a cg_before_fn. */
LLVMValueRef cg_is_in_front(struct cg_fn *f, const void *sought, LLVMValueRef i);
struct cg_range cg_sorted_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss);
/* A packed column's number in a row, 64 bits. */
LLVMValueRef cg_load_packed(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row);
/* The same for as many rows as the function has lanes, from `row` on; *width is the bytes of each. */
LLVMValueRef cg_load_packed_values(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row, int *width);
/* The stored value of a searched column. */
LLVMValueRef cg_stored_at(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row);
/* Rows whose value in the column of EXPAND_BAND lies between its keys, on to miss if one of these is NULL. */
struct cg_range cg_band_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss);
/* The first row with a stored value in the column of PROBE_COLUMN, EXPAND_COLUMN, on to miss if there is none; and the one
 * behind the last. */
LLVMValueRef cg_first_in_column(struct cg_fn *f, const struct pl_step *s, LLVMValueRef wanted, LLVMBasicBlockRef miss);
LLVMValueRef cg_end_in_column(struct cg_fn *f, const struct pl_step *s, LLVMValueRef wanted, LLVMValueRef first);
/* Row of the sorted state that is nearest to the keys, as step PROBE_SORTED has it. */
LLVMValueRef cg_find_nearest(struct cg_fn *f, const struct pl_step *s, const struct cg_val *keys,
                             LLVMBasicBlockRef miss);
void cg_step_probe(struct cg_fn *f, const struct pl_step *s);
void cg_step_search(struct cg_fn *f, const struct pl_step *s); /* llvm_search.c */
/* Range of children of an EXPAND step as i64; -1..0 for the one null child of a left join. Code
 * goes on where it is not empty. */
struct cg_range {
    LLVMValueRef begin, end;
};
struct cg_range cg_step_range(struct cg_fn *f, const struct pl_step *s);
/* Of a fold; not empty where the code goes on, else it goes to `none`. */
struct cg_range cg_fold_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef none);
void cg_bind_child(struct cg_fn *f, const struct pl_step *s, LLVMValueRef i);

/* llvm_sink.c; llvm_agg.c for aggregates (llvm_sink.h) */
void cg_sink_row(struct cg_fn *f);
void cg_sink_open(struct cg_fn *f); /* before its first row, or without one */
/* AGG_DENSE in two steps: the group of the row, then n rows (i64) more in a group. */
LLVMValueRef cg_agg_group(struct cg_fn *f);
void cg_agg_count(struct cg_fn *f, LLVMValueRef group, LLVMValueRef n);
void cg_sink_close(struct cg_fn *f); /* in the exit block: write back what registers hold */

/* llvm_state_part.c: what a loop over pairs keeps while a part lasts */
static inline bool cg_in_parts(const struct cg_fn *f)
{
    return pl_in_parts(f->pipeline) && !f->m->opt->profile;
}
void cg_part_open(struct cg_fn *f);
void cg_part_fill(struct cg_fn *f); /* the columns, from rows part.begin .. part.end - 1 */
/* The level's function gets the part behind a tuple of so many bytes, all of which it returns; stored if `to` is given. */
int cg_part_carry(struct cg_fn *f, int bytes, LLVMValueRef to);
void cg_part_get(struct cg_fn *f, int bytes, LLVMValueRef from);
/* What the row of the state has for its pairs; the steps behind those that look at it alone come next. */
int cg_part_others(struct cg_fn *f, LLVMValueRef row);
void cg_part_count(struct cg_fn *f, int i, LLVMValueRef group); /* -1: of no group; neighbours differ in i */
void cg_part_flush(struct cg_fn *f);

/* llvm_part_calls.c: calls of functions that share a frame (planner/parts.c) */
/* The part of the steps that begins at k, NULL: none. */
const struct pl_part *cg_part_at(const struct cg_fn *f, int k);
void cg_call_steps(struct cg_fn *f, const struct pl_part *p);
struct cg_val cg_call_expr(struct cg_fn *f, int e);
/* Calls the functions of one kind for all parts of the sink's outs from `first` on, below `end`. */
void cg_call_outs(struct cg_fn *f, enum cg_function kind, int first, int end, LLVMValueRef row, LLVMValueRef other);
/* The hash of the keys of a step (-1: of the sink). A NULL key goes to null, unless that is NULL. */
LLVMValueRef cg_call_hash(struct cg_fn *f, int step, LLVMBasicBlockRef null);
/* Falls through where the keys equal those of a row, else goes to differ. */
void cg_call_equal(struct cg_fn *f, int step, LLVMValueRef row, LLVMBasicBlockRef differ);

/* llvm_nest.c: steps from k on and the sink; afterwards the current block is terminated */
void cg_steps_from(struct cg_fn *f, int k);

/* llvm_ahead.c: searches of a step for all rows of a tile (word: its survivors) at once; row: of those, where the steps
 * are. The steps needed[k] before `end` give what steps first .. end - 1 look at, directly or through a LET. */
bool *cg_needed_by(const struct cg_fn *f, int first, int end);
void cg_search_ahead(struct cg_fn *f, LLVMValueRef tile, LLVMValueRef word);

/* llvm_tile.c */
void cg_tile_loop(struct cg_fn *f);

/* llvm_loop.c: loops over pairs, from the source down, and their level */
void cg_loop_parts(struct cg_fn *f);
void cg_loop_pairs(struct cg_fn *f, const struct pl_level *lv);

/* llvm_pipeline.c, llvm_parts.c: bodies of functions */
void cg_pipeline(struct cg_mod *m, int index);
void cg_level(struct cg_mod *m, const struct cg_job *job);
void cg_part(struct cg_mod *m, const struct cg_job *job);

#endif
