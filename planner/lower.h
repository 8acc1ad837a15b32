/* Internal to the planner: the state of lowering a typed plan to pipelines.
 *
 * A *stream* is a pipeline under construction together with the columns that are available in
 * it. Columns are *handles*: recipes for a value that turn into load or let steps only where a
 * consumer first asks for them, which is what makes materialisation late. A handle belongs to
 * one pipeline; when a pipeline ends in a state, its consumer gets new handles on the state's
 * fields. */
#ifndef HEDDLE_PLANNER_LOWER_H
#define HEDDLE_PLANNER_LOWER_H

#include "planner/estimate.h"
#include "planner/need.h"
#include "planner/physical.h"
#include "planner/pipeline.h"
#include "planner/range.h"
#include "planner/typed.h"
#include "runtime/base/vec.h"

/* A lowered value: a physical expression with what the planner knows about it. */
struct pl_val {
    int expr;
    enum rt_phys phys;
    bool nullable;
    struct hd_type type;
    struct pl_range range;
    const struct fe_table *dict_table; /* phys I32 code of this dictionary; NULL: plain value */
    int dict_column;
    bool is_const;           /* value is known now: cval */
    struct fe_value cval;
};

enum handle_kind {
    H_SLOT,   /* computed already */
    H_COLUMN, /* column of a table at `row` */
    H_FIELD,  /* field of a state at `row` */
    H_LOOKUP, /* row of `table` found by key index `keyidx` from det[0], known to exist */
    H_EXPR,   /* logical expression over env */
    H_PHYS    /* physical expression `val` */
};

/* Row handles are handles too: I32 values that name a row of `table` or of state `state`. */
struct handle {
    enum handle_kind kind;
    struct hd_type type;
    bool nullable;
    int slot; /* -1 until loaded */
    struct pl_val val;          /* valid once slot >= 0, or H_PHYS */
    struct handle *row;         /* H_COLUMN, H_FIELD */
    const struct fe_table *table;
    int column;
    int state, field;
    const struct fe_expr *expr; /* H_EXPR */
    struct handle **env;
    /* For row handles: what determines the row. det[]: the handles of a unique lookup's keys. */
    bool is_row, row_nullable;
    int ndet;
    struct handle **det;
    int eq_column; /* of a row: this column of it equals eq (join condition); -1 */
    struct handle *eq;
    int keyidx;    /* row found through this key index of `table`, -1 */
    bool null_ext; /* a column of a null-extended side: not usable to prove anything */
    int stamp;     /* of the last walk that saw it, */
    bool known;    /* and what that found */
};

struct stream {
    int pipe; /* index into ctx->pipes */
    int ncols;
    struct handle **cols;
    double est;      /* estimated rows */
    double max_rows; /* proven upper bound */
    /* At most one row per value of this row handle (NULL: unknown), or per combination of
     * these columns (nunique > 0). */
    struct handle *unique_row;
    int nunique;
    struct handle **unique;
    bool ordered; /* rows come in an order that the result must keep */
    const struct stored *rows; /* that it reads, of a KEEP; a KEEP itself has no pipeline */
};

struct pipe {
    struct rt_pipeline spec;
    int source_slot;
    HD_VEC(struct pl_slot) slots;
    HD_VEC(struct pl_step) steps;
    struct pl_sink sink;
    int level;       /* steps so far that open one */
    int queue_bytes; /* of a GPU block's shared memory for these, at most */
    int counted_slots; /* that were there when the next level's room was looked at (cut.c) */
    HD_VEC(struct handle *) lookups; /* rows found by unique key in this pipeline */
    double est; /* of rows at the current end */
    bool framed;
};

struct stored;
struct shared_state {
    int uses;
    struct pl_node *keep; /* of several uses, once there */
};

/* A dictionary map that exists already: (table, column, expression) -> state. */
struct dict_map {
    const struct fe_table *table;
    int column;
    const struct fe_expr *expr;
    struct pl_val proto;
    int state;
};

/* Numbers by hash, each plus 1; 0 is a free place. */
struct pl_index {
    int *places;
    int cap, n;
};

/* A pipeline that runs, or a state that is finished: the other is -1. */
struct pl_turn {
    int pipeline, state;
};

struct ctx {
    struct hd_arena *a;
    const struct fe_plan *plan;
    struct pl_options opt;
    struct hd_err *err;
    HD_VEC(struct pl_expr) exprs;
    HD_VEC(int) weights; /* of expressions, 0 not known (parts.c) */
    HD_VEC(struct rt_arg) args;
    struct pl_index arg_index, site_index;
    int nwords;
    HD_VEC(struct rt_state) states;
    HD_VEC(double) state_rows; /* of each: rows at most, proven */
    HD_VEC(struct pipe *) pipes;
    HD_VEC(struct pl_turn) turns; /* pipelines and finishes in the order in which they can take place */
    HD_VEC(struct rt_site) sites;
    HD_VEC(const char *) notes;
    HD_VEC(struct dict_map) maps;
    int stamp;     /* of the last walk over handles */
    struct est_node *est; /* [node id]: estimates made so far */
    bool **need; /* [node id][output column]: asked for by somebody above */
    bool *ordered; /* [node id]: the result shows this node's row order */
    struct shared_state *shared;
    int nnodes;              /* of the physical plan */
    struct pl_node *physical;
    struct stored **kept;    /* [physical node]: rows of a KEEP, once computed */
    struct pl_program *program;
};

/* ---- build.c: growing the program ------------------------------------------------------- */
int pb_expr(struct ctx *c, struct pl_expr e);
int pb_site(struct ctx *c, struct rt_site s); /* shares an equal entry */
int pb_path(struct ctx *c, const char *path); /* a site without values */
int pb_arg(struct ctx *c, struct rt_arg a); /* shares an equal entry */
int pb_arg_state(struct ctx *c, enum rt_arg_kind k, int state, int index);
int pb_arg_column(struct ctx *c, enum rt_arg_kind k, const struct fe_table *t, int column);
int pb_arg_table(struct ctx *c, enum rt_arg_kind k, const struct fe_table *t, int index);
int pb_const_int(struct ctx *c, enum rt_phys p, hd_i128 v); /* expression of a constant */
int pb_null(struct ctx *c, enum rt_phys p);
int pb_op(struct ctx *c, enum fe_op op, enum rt_phys p, bool nullable, int nargs, const int *args);
int pb_slot(struct ctx *c, struct pipe *p, const char *name, enum rt_phys phys, bool nullable);
int pb_slot_expr(struct ctx *c, const struct pipe *p, int slot);
struct pl_step *pb_step(struct ctx *c, struct pipe *p, enum pl_step_kind k, const char *path);
int pb_let(struct ctx *c, struct pipe *p, const char *name, struct pl_val v);
void pb_filter(struct ctx *c, struct pipe *p, int expr, double sel, const char *path);
void pb_note(struct ctx *c, const char *fmt, ...) HD_PRINTF(2, 3);

int pb_state(struct ctx *c, enum rt_state_kind k, const char *name, const char *path);
int pb_field(struct ctx *c, int state, const char *name, const struct pl_val *v, enum rt_merge m);
void pb_state_layout(struct ctx *c, int state); /* offsets and stride, once all fields are there */

struct pipe *pb_pipe(struct ctx *c, enum rt_source_kind k, const char *path);
struct pipe *pipe_of(struct ctx *c, const struct stream *s);

/* ---- schedule.c: what runs when and where ------------------------------------------------ */
/* Ends a pipeline: it runs next and, if finish, the sink's state is complete then. */
void pb_end(struct ctx *c, struct pipe *p, bool finish);
/* Nothing that was not ended yet fills the state. */
void pb_finish(struct ctx *c, int state);
/* Makes the graph of actions of sealed pipelines, and with it the distribution of states. */
void pl_schedule(struct ctx *c, struct rt_spec *s);

/* ---- prune.c: removes the steps whose value nothing reads, and arguments without a reader */
void pl_prune(struct ctx *c);

/* ---- copies.c: fields of wide rows that a ROWS sink takes as they are. Before pl_prune: their loads go */
void pl_copy_fields(struct ctx *c, struct pipe *p);

/* ---- parts.c: code of bounded size */
void pl_frame(struct ctx *c, struct pipe *p); /* whether a pipeline is framed; its expressions, keys, index */
/* Whether a tile takes one more step; weight adds up, from 0. */
bool pl_fits_tile(struct ctx *c, const struct pl_pipeline *q, const struct pl_step *s, int *weight);
void pl_cut_parts(struct ctx *c, struct pl_pipeline *q); /* runs of steps and outs */

/* ---- tile.c: the steps that are evaluated for a tile of rows */
void pl_choose_tiles(struct ctx *c, struct pl_pipeline *q);

/* ---- place.c: where a GPU keeps the accumulators of a finished pipeline */
void pl_place_pipeline(const struct ctx *c, struct pl_pipeline *q);

/* ---- handles (handle.c) ------------------------------------------------------------------ */
struct handle *h_new(struct ctx *c, enum handle_kind k, struct hd_type t, bool nullable);
struct handle *h_row(struct ctx *c, int slot, const struct fe_table *t, int state, bool row_nullable);
struct handle *h_column(struct ctx *c, const struct fe_table *t, int column, struct handle *row);
struct handle *h_field(struct ctx *c, int state, int field, struct handle *row);
struct handle *h_phys(struct ctx *c, struct pl_val v);
/* Logical expression over env; a plain column is env's own handle. */
struct handle *h_expr(struct ctx *c, const struct fe_expr *e, struct handle **env);
/* Row of t found by key index `index` from handle key, which is known to name one. */
struct handle *h_lookup(struct ctx *c, const struct fe_table *t, int index, struct handle *key);
int h_probe_key(struct ctx *c, struct pipe *p, const struct fe_table *t, int index, struct pl_val key,
                const char *path);
/* Key index of t on column, -1 none. */
int key_index_of(const struct fe_table *t, int column);
/* The handle behind plain column references of projections. */
struct handle *h_plain(struct handle *h);
/* The value of a handle in pipeline p, loading it if this is its first use. */
int h_value(struct ctx *c, struct pipe *p, struct handle *h, struct pl_val *out);
/* What is known of a handle without loading it. */
struct pl_range h_range(const struct ctx *c, const struct handle *h);
double h_distinct(const struct ctx *c, const struct handle *h, double rows);
bool h_dict(const struct ctx *c, const struct handle *h, const struct fe_table **t, int *column);
/* The key set determines handle h (functional dependency through unique columns and lookups). */
bool h_determined(struct ctx *c, struct handle *h, struct handle *const *keys, int nkeys);

/* ---- lower_expr.c ------------------------------------------------------------------------ */
/* Lowers e over env in pipeline p. */
int lx_expr(struct ctx *c, struct pipe *p, struct handle *const *env, const struct fe_expr *e, struct pl_val *out);
struct pl_val lx_const(struct ctx *c, const struct fe_value *v);
int lx_as_phys(struct ctx *c, struct pl_val *v, enum rt_phys phys); /* widen in place */
int lx_as_text(struct ctx *c, struct pl_val *v);                   /* dictionary code -> STR */
/* Converts to a logical type without raising where facts allow (union branches, keys). */
int lx_cast(struct ctx *c, struct pl_val *v, struct hd_type to, const char *path);
/* Brings two values to one comparable physical form (codes of one dictionary stay codes). */
int lx_unify(struct ctx *c, struct pl_val *a, struct pl_val *b);
/* One filter step for each conjunct, in this order; those that are always true have none. */
int lx_filter(struct ctx *c, struct stream *s, struct handle *const *env, const struct fe_expr *const *v, int n);
/* A column node for handle h. */
struct fe_expr *lx_col(struct ctx *c, int col, const struct handle *h, const char *path);
/* Lower bound of s in the dictionary of a column; the only way to read one while planning. */
int h_dict_find(const struct ctx *c, const struct fe_table *t, int column, const char *s, size_t n, uint32_t *code,
                bool *found, struct hd_err *err);

/* ---- storing streams into states (store.c) ------------------------------------------------ */
/* Plan for keeping some columns of a stream in a state's fields: values, or the row ids from which
 * they load later. */
struct kept {
    int n;                /* stored fields */
    struct handle **what; /* handle stored in field first + i */
    int first;
    int ncols;            /* columns asked for */
    struct handle **cols;
    int *via;             /* column i: index of the stored field that gives it, */
    bool *by_row;         /* as the row id of cols[i]->row (else its value) */
};
void keep_columns(struct ctx *c, struct handle *const *cols, int ncols, bool values_only, struct kept *k);
/* Evaluates what is kept, adds the fields to the state and the outs to the sink. */
int keep_store(struct ctx *c, struct pipe *p, struct kept *k, int state, enum rt_merge m, enum fe_agg_fn fn,
               struct pl_sink *sink);
/* Handles for the ncols columns when reading from the state at row. nullable_row: row may be -1. */
void keep_load(struct ctx *c, const struct kept *k, int state, struct handle *row, bool nullable_row,
               struct handle **out);
void sink_add(struct ctx *c, struct pl_sink *sink, struct pl_out out);
/* A materialised stream: rows of a state, and how columns come back from it. */
struct stored {
    int state;
    struct kept kept;
    int ncols;
    const bool *want;        /* columns that were kept */
    struct handle **cols;    /* of the stream that was stored: types of columns not kept */
    double est, max_rows;
    bool ordered;
    int nunique;             /* positions among cols that identify a row; 0 unknown */
    int *unique;
};
/* Ends s in a ROWS state holding the wanted columns (NULL: all). */
int store_stream(struct ctx *c, struct stream *s, const bool *want, const char *name, const char *path,
                 struct stored *out);
/* A new pipeline over the stored rows; may be called again for a second pass. */
struct stream stream_over(struct ctx *c, const struct stored *st, const char *path);

/* ---- cut.c: where a pipeline ends because it becomes too deep or too wide ------------------- */
/* Called where a step that may open a level comes next, before anything is loaded for it: goes
 * on from stored rows if this pipeline has no room for that level. want: columns that anybody asks
 * for from here on (NULL: all). keys: those that the step looks at, which computes them (NULL: none). */
int cut_before_level(struct ctx *c, struct stream *s, const bool *want, const bool *keys, const char *path);
/* Called for every step that opens a level, as soon as that is there. */
void cut_open_level(struct ctx *c, const struct stream *s, const bool *want);

/* ---- lower.c and the operators ------------------------------------------------------------- */
/* Lowers the physical plan; fills c->pipes and all they refer to. Strategies that were asked for and turn out not to
 * be possible fail with class USER. */
int pl_lower(struct ctx *c);
/* The operators, over the streams of their inputs. */
int lower_scan(struct ctx *c, const struct pl_node *n, struct stream *out);
int lower_values(struct ctx *c, const struct fe_node *n, struct stream *out);
int lower_join(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);
int lower_extremes(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);
int lower_aggregate(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);
int lower_merge(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);
int lower_sort(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);
/* The result of the program: the root's rows in a state, sorted if the root is a sort. */
int lower_result(struct ctx *c, struct pl_node *root, struct stream *in);
/* The scan's columns at a row of its table; its filter is applied by scan_filter. */
void scan_columns(struct ctx *c, const struct fe_node *n, struct handle *row, struct stream *s);
int scan_filter(struct ctx *c, const struct pl_node *n, struct handle *row, struct stream *s);
/* Rows of several streams in one state, in the columns of typed node n. */
int lower_appended(struct ctx *c, const struct fe_node *n, struct stream *parts, int nparts, struct stream *out);

/* ---- physical.c */
int pl_physical(struct ctx *c, const struct fe_node *root, struct pl_node **out);

/* ---- seal.c: the program of what was lowered */
void pl_seal(struct ctx *c);

#endif
