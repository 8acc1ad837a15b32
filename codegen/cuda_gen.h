/* Inside of the CUDA emitter: one unit (pipeline) being printed, then prototypes grouped by the file that defines
 * them; files use those before them in codegen/CMakeLists.txt only. Expressions are strings of the arena; statements
 * go to the writer. */
#ifndef HEDDLE_CODEGEN_CUDA_GEN_H
#define HEDDLE_CODEGEN_CUDA_GEN_H

#include "codegen/cuda_source.h"
#include "runtime/base/strbuf.h"
#include "runtime/base/vec.h"

/* Text under construction; lines begin at `indent` steps of four blanks. */
struct cu_out {
    struct hd_strbuf b;
    int indent;
};

struct cu_unit {
    struct hd_arena *arena;
    const struct pl_program *prog;
    const struct pl_pipeline *pipeline;
    const struct rt_spec *spec;
    const char *name; /* of the pipeline and its kernel */
    bool profile;
    bool dates, casts, math, texts, formats,
        sorted; /* needs templates/date.cuh, convert.cuh, function.cuh, text_call.cuh, format_call.cuh, sorted.cuh */
    bool intervals, interval_texts; /* likewise interval.cuh, interval_text.cuh */
    bool bits, digests;        /* likewise bits.cuh, digest_call.cuh */
    bool searches;             /* likewise like_tile.cuh */
    bool makes_strings;        /* writes to the heap of strings */
    bool may_fail;             /* some expression raises */
    bool undefined;            /* a function that is no float's may raise where it is not defined */
    unsigned libraries;        /* enum rt_library that it calls */
    struct cu_out *out;        /* where statements go now */
    bool guarded;              /* inside `if (live) {` */
    bool folding;              /* and there inside the loop of a fold */
    bool recounted;            /* this step's rows were counted already: by the tile, by the tests of pairs */
    bool *arg_used, *row_used; /* args; states whose row structure is needed */
    const char **arg_names;    /* filled at first use */
    const char **slot_names;
    struct cu_functions *functions; /* of a framed pipeline (cuda_functions.c) */
    struct cu_call **expr_calls;    /* by expression; NULL: not called */
    const char **like_words;        /* by expression, in a tile: bits of its rows that match; NULL: elsewhere */
    int first_out;                  /* of the part that is printed */
    const char **state_names;
    /* What the sink prints for its place of accumulators, and for caches before it (NULL: it has none): chosen by
     * cuda_sink.c, which knows all places, and used below it. */
    const struct cu_place *place, *caches[PL_CACHE_COUNT];
};

/* cuda_out.c: the writer and names */
void cu_line(struct cu_out *o, const char *fmt, ...) HD_PRINTF(2, 3);
/* A line that ends in {; and what closes it: "}" or "};". */
void cu_open(struct cu_out *o, const char *fmt, ...) HD_PRINTF(2, 3);
void cu_close(struct cu_out *o, const char *end);
void cu_blank(struct cu_out *o);
/* Lowercase letters, digits and _ of a name of the plan or catalog, at most `max` characters;
 * never the whole of an identifier, so that it is no keyword. */
const char *cu_word(struct hd_arena *a, const char *name, size_t max);

/* cuda_types.c: types, rows of states */
const char *cu_type(enum rt_phys p);
const char *cu_row_type(enum rt_phys p); /* as a field of a row */
const char *cu_field_type(const struct rt_field *f); /* the same for one that may have fewer bytes */
const char *cu_value_type(struct cu_unit *u, enum rt_phys p, bool nullable);
const char *cu_stored_type(struct cu_unit *u, const struct fe_table_column *c);
const char *cu_field(struct cu_unit *u, const struct rt_state *st, int field);
const char *cu_field_valid(struct cu_unit *u, const struct rt_state *st, int field);
/* "row.f1_x" and the byte of its validity; */
const char *cu_field_member(struct cu_unit *u, const struct rt_state *st, int field, const char *row);
const char *cu_valid_member(struct cu_unit *u, const struct rt_state *st, int field, const char *row);
/* both as a value. */
const char *cu_field_value(struct cu_unit *u, const struct rt_state *st, int field, const char *row);
const char *cu_present(struct cu_unit *u, int state, const char *row); /* not 0 in rows that have a group */
bool cu_has_flag(const struct rt_state *st); /* rows have a byte for that, which who adds to them sets */
const char *cu_state(struct cu_unit *u, int state);
const char *cu_row(struct cu_unit *u, int state); /* its row structure, which is now needed */
void cu_row_struct(struct cu_unit *u, struct cu_out *o, int state);
void cu_row_checks(struct cu_unit *u, struct cu_out *o, int state);

/* cuda_row.c: a row while it is visited */
const char *cu_slot(struct cu_unit *u, int slot);      /* where it is */
const char *cu_slot_name(struct cu_unit *u, int slot); /* as a member */
/* A constant, or a member of the frame. */
void cu_define_slot(struct cu_unit *u, int slot, const char *type, const char *value);
/* What a step sets; a fold defines its child's row in its loop. */
void cu_declare_slot(struct cu_unit *u, const struct pl_step *s);
void cu_tuple_struct(struct cu_unit *u, struct cu_out *o, int level);
const char *cu_frame_param(struct cu_unit *u, const char *more); /* of a function: the frame, and more */
void cu_guard(struct cu_unit *u); /* opens `if (live) {` unless it is open */
void cu_unguard(struct cu_unit *u);
/* Rows that reach a step. Of rows that several warps visit, each for a part of the children, one
 * warp counts. */
void cu_count(struct cu_unit *u, int counter);
void cu_count_rows(struct cu_unit *u, int counter, const char *rows);

/* cuda_args.c: arguments as members of the pipeline's class */
const char *cu_arg(struct cu_unit *u, int arg);
void cu_arg_member(struct cu_unit *u, struct cu_out *o, int arg);
const char *cu_arg_initialiser(struct cu_unit *u, int arg);

/* cuda_expr.c */
const char *cu_expr(struct cu_unit *u, int e);
const char *cu_condition(struct cu_unit *u, int e); /* bool: valid and true */

/* cuda_cast.c: what emitters of expressions share, and operators of one argument, x, that change its type */
const struct pl_expr *cu_expr_of(const struct cu_unit *u, int e);
/* function(run, limit, path, a, b), which raises. */
const char *cu_checked(struct cu_unit *u, const struct pl_expr *e, const char *function, const char *a, const char *b);
const char *cu_resize(struct cu_unit *u, const struct pl_expr *e, const char *x);
const char *cu_rescale(struct cu_unit *u, const struct pl_expr *e, const char *x);
const char *cu_div_round(struct cu_unit *u, const struct pl_expr *e, const char *x);
const char *cu_to_f64(struct cu_unit *u, const struct pl_expr *e, const char *x);
const char *cu_to_f32(struct cu_unit *u, const struct pl_expr *e, const char *x);
const char *cu_from_f64(struct cu_unit *u, const struct pl_expr *e, const char *x);
const char *cu_to_string(struct cu_unit *u, const struct pl_expr *e, const char *x);
const char *cu_from_string(struct cu_unit *u, const struct pl_expr *e, const char *x);
const char *cu_try_from_string(struct cu_unit *u, const struct pl_expr *e, const char *x);
const char *cu_cast_time(struct cu_unit *u, const struct pl_expr *e, const char *x);

/* cuda_steps.c: statements of steps */
void cu_step(struct cu_unit *u, const struct pl_step *s, int number);
/* The function that compares key `key` of a lookup, or of groups (NULL). */
const char *cu_key_equal(const struct pl_step *s, int key);
const char *cu_expand_range(struct cu_unit *u, const struct pl_step *s, int number);
const char *cu_column_value(struct cu_unit *u, const struct pl_step *s, const char *stored, const char *valid);

/* cuda_fold.c: the loop over the children of a row, in a lane */
void cu_fold_open(struct cu_unit *u, const struct pl_step *s, int number);
void cu_fold_add(struct cu_unit *u, const struct pl_step *s);
void cu_fold_close(struct cu_unit *u);

/* cuda_sink.c */
void cu_sink_choose_places(struct cu_unit *u); /* sets place and caches */
void cu_sink(struct cu_unit *u);             /* end of the last level's visit */
void cu_sink_before_rows(struct cu_unit *u); /* rows in place: around the rows of a tile */
void cu_sink_after_rows(struct cu_unit *u);
void cu_sink_methods(struct cu_unit *u);
void cu_sink_accumulators(struct cu_unit *u, struct cu_out *o); /* structure of accumulators */
void cu_sink_members(struct cu_unit *u, struct cu_out *o);
const char *cu_sink_initialiser(struct cu_unit *u); /* NULL: none */
void cu_sink_shared(struct cu_unit *u, struct cu_out *o);
const char *cu_sink_header(const struct cu_unit *u); /* of templates/; NULL: none */
void cu_sink_finish(struct cu_unit *u); /* body of finish(): the block is together */

/* cuda_functions.c: functions of framed pipelines. Those that differ in numbers only are one, which
 * finds its numbers in a row of a table. */
struct cu_call {
    int function, row; /* row: of its table */
};
struct cu_function {
    const char *name, *type, *params; /* "frame, " first */
    bool changes;                     /* the frame; else it is const */
    void (*body)(struct cu_unit *u, int what, int first); /* prints statements */
    int what, first;
};
struct cu_call cu_define(struct cu_unit *u, const struct cu_function *f);
const char *cu_call(struct cu_unit *u, struct cu_call c, const char *arguments);
/* Statements, loops where one function is called again and again; before: "live = " */
void cu_print_calls(struct cu_unit *u, const char *before, const struct cu_call *calls, int n, const char *arguments);
const char *cu_number(struct cu_unit *u, int n); /* in a function: one that may differ */
const char *cu_number_text(struct cu_unit *u, const char *constant);
bool cu_in_function(const struct cu_unit *u);
/* Numbers and calls were left open until all functions are known, which they are now. */
void cu_settle_tables(struct cu_unit *u);
const char *cu_settle(struct cu_unit *u, const char *text);
void cu_print_tables(struct cu_unit *u, struct cu_out *o);
void cu_print_functions(struct cu_unit *u);

/* cuda_parts.c: framed pipelines */
void cu_frame_struct(struct cu_unit *u, struct cu_out *o);
void cu_declare_frame(struct cu_unit *u);
int cu_call_steps(struct cu_unit *u, int step); /* the step after the parts from here on, or `step` */

/* cuda_keys.c: the hash of a step's keys; declares the lambda same<step> */
const char *cu_call_keys(struct cu_unit *u, int step);

/* cuda_visit.c: methods of the pipeline's class */
void cu_tile(struct cu_unit *u);
void cu_rows(struct cu_unit *u); /* in place of tile and visit */
void cu_visit(struct cu_unit *u, int level);
/* Slots that the sink and the steps from `first` on look at; with `loads` the rows that columns
 * are loaded at among them. */
bool *cu_slots_read_from(const struct cu_unit *u, int first, bool loads);
/* The child's row: the position `at` itself, or what is listed there. */
void cu_bind_child(struct cu_unit *u, const struct pl_step *s, const bool *read);
/* What the children of a row share, as an expression. */
const char *cu_next_tuple(struct cu_unit *u, int level);

/* cuda_loop.c: loops over pairs, in place of tile and of visits but that of pairs that passed tests */
void cu_loop(struct cu_unit *u);

#endif
