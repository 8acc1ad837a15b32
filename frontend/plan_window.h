/* Internal to the files that read the operator window: plan_window.c (its functions), plan_frame.c (frames),
 * plan_range.c (offsets of range frames), plan_exclude.c (frames that leave rows out), plan_window_aggs.c and
 * plan_window_moments.c (aggregates), plan_window_ranked.c (those by ranks of values). */
#ifndef HEDDLE_FRONTEND_PLAN_WINDOW_H
#define HEDDLE_FRONTEND_PLAN_WINDOW_H

#include "frontend/plan_read.h"

/* One end of a frame: the partition's, or a row by its number. */
struct fw_bound {
    bool open;
    struct fe_window_at at;
    struct fe_frame_end said;
};
enum fw_excluded { FW_NOTHING, FW_ROW, FW_GROUP, FW_TIES };
struct fw_frame {
    struct fw_bound start, end;
    enum fw_excluded without;
    enum fe_frame_unit unit;
};

struct fw_reading {
    struct fe_plan_reader *r;
    struct fe_node *n;
    struct fe_scope scope; /* of the input */
    struct fe_window *w;
    struct fw_frame frame; /* of functions that have none of their own */
    bool ties; /* some function depends on the order of rows that tie */
    int nkept; /* columns of the input that stay; those behind are ranks of values */
};

/* ---- columns of the node, by their quoted names (plan_frame.c) --------------------------------------------- */

int fw_add_value(struct fw_reading *x, enum fe_agg_fn fn, struct fe_expr *arg);
int fw_add_kept(struct fw_reading *x, enum fe_window_kept kept, struct fe_expr *arg);
/* An int64 that such an expression says, 0 for NULL. */
int fw_add_number(struct fw_reading *x, const char *number, int *out);
/* The numbers of rows that have one; beside a COUNT of the same. */
int fw_add_places(struct fw_reading *x, struct fe_expr *arg);
const char *fw_number(struct fw_reading *x, enum fe_window_base base);
/* A row's number, and more. */
const char *fw_number_at(struct fw_reading *x, const struct fe_window_at *at, int64_t more);
/* The value of the row with that number; clamped: of the last row where it is beyond that. */
const char *fw_value_at(struct fw_reading *x, int value, const struct fe_window_at *at, int64_t more, bool clamped);
/* The same of a number that an expression of such columns says; NULL: there is none. */
int fw_value_of(struct fw_reading *x, int value, const char *number, const char **out);
/* Column i of the window. */
struct fe_column fw_column_of(struct fw_reading *x, int i);

/* ---- frames ------------------------------------------------------------------------------------------------ */

/* "frame" of v; *f stays as it is where v has none. */
int fw_read_frame(struct fw_reading *x, const struct fe_json *v, struct fw_frame *f);
/* A number of rows that is added, or taken away: a parameter, or itself. */
void fw_set_step(const struct fe_expr *step, bool less, const struct fe_expr **more, bool *is_less, int64_t *by);
/* The number of the frame's first row, and of its last one, where these are in the partition. */
struct fe_window_at fw_first_row(const struct fw_frame *f);
struct fe_window_at fw_last_row(const struct fw_frame *f);
/* The value where the frame has rows, else NULL. */
const char *fw_where_rows(struct fw_reading *x, const struct fw_frame *f, const char *value);
/* A condition under which the frame has rows; NULL: it always does. */
const char *fw_has_rows(struct fw_reading *x, const struct fw_frame *f);
/* How many rows the frame has. */
const char *fw_frame_size(struct fw_reading *x, const struct fw_frame *f);
/* What a running value says of the frame: of its last row alone where it begins with the partition, else less what it
 * was in front of its first one. */
const char *fw_difference(struct fw_reading *x, const struct fw_frame *f, int value, const char *zero);

/* The fold of the frame's rows by itself (SUM, MIN, MAX, BIT_OR), for what no difference of running values says; NULL for
 * no values. Of two expressions: REGR_SXY (of float64), ARG_MIN, ARG_MAX (a number, as fw_value_of takes it). */
const char *fw_framed(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, struct fe_expr *arg);
const char *fw_framed_value(struct fw_reading *x, const struct fw_frame *f, struct fe_window_value v);
const char *fw_framed_of(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, struct fe_expr *first,
                         struct fe_expr *other);
/* sum or avg of an exact type with 38 digits, of n values, more than 0: by differences of running values. */
int fw_added_up(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, struct fe_expr *arg, const char *n,
                const char **out);
/* What the share q of a number is: so many times it, divided by that. */
const char *fw_share(struct fw_reading *x, const struct fe_expr *q, bool divisor);
/* A condition that the planner knows: facts keep values of arg, decimals without their point, within 10^digits. */
const char *fw_fits(struct fw_reading *x, struct fe_expr *arg, int digits);

/* ---- frames of pieces (plan_exclude.c) ----------------------------------------------------------------------- */

/* Of a frame that is successive rows without some: how many rows it has. */
const char *fw_pieces_size(struct fw_reading *x, const struct fw_frame *f);
/* What a running value says of all of it, 0 for no rows. */
int fw_pieces_sum(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, int value, const char **out);
/* The successive rows that it is of. */
int fw_spans(const struct fw_frame *f, struct fe_window_span span[FE_WINDOW_SPANS]);
/* The number of its k-th row, of its last one; 0: there is none. count >= 0: among the partition's rows that this running
 * count counts. */
int fw_pieces_nth(struct fw_reading *x, const struct fw_frame *f, int count, const char *k, const char **out);
int fw_pieces_last(struct fw_reading *x, const struct fw_frame *f, int count, const char **out);
/* What a running count is at a row, 0 in front of all. */
int fw_count_at(struct fw_reading *x, int count, const char *number, const char **out);

/* ---- offsets of range frames (plan_range.c) ------------------------------------------------------------------ */

/* The offset of an end of a frame from the row's order key, as it is said. *here: it is 0, else *limit: the value at that
 * offset. */
int fw_read_distance(struct fw_reading *x, const struct fe_json *v, struct fe_frame_end *said, bool *here, int *limit);

/* ---- aggregates over frames (plan_window_aggs.c) ------------------------------------------------------------- */

/* As text over the node's columns; arg NULL: count of rows. v: the function, for errors. */
int fw_aggregate(struct fw_reading *x, const struct fe_json *v, enum fe_agg_fn fn, const struct fw_frame *f,
                 struct fe_expr *arg, struct fe_expr *by, const char **out);
/* Rows, or values of arg. */
int fw_count(struct fw_reading *x, const struct fw_frame *f, struct fe_expr *arg, const char **out);
/* The mean of n values, as float64. */
int fw_real_mean(struct fw_reading *x, const struct fw_frame *f, struct fe_expr *arg, const char *n, const char **out);
/* Variance and its kin (plan_window_moments.c). */
int fw_moment(struct fw_reading *x, const struct fe_json *v, enum fe_agg_fn fn, const struct fw_frame *f,
              struct fe_expr *arg, struct fe_expr *by, const char **out);
/* The value, or 1 for NULL, where the condition is true, else NULL. */
struct fe_expr *fw_where(struct hd_arena *a, struct fe_expr *cond, struct fe_expr *value);

/* ---- by ranks of values (plan_window_ranked.c) ---------------------------------------------------------------- */

/* An aggregate of rows in the order of its argument, or of distinct values: from the argument's rank, `rank`. */
struct fw_ranked {
    enum fe_agg_fn fn;
    bool distinct;
    struct fe_expr *arg, *rank;
    const struct fe_expr *q; /* NULL: 1/2 */
};
int fw_ranked(struct fw_reading *x, const struct fw_frame *f, const struct fw_ranked *a, const char **out);
/* Puts a window below x->n that numbers the values of arg in each partition, behind the input's columns. Equal intervals
 * that look different have one number, or, of functions that look for a value by its `place`, one each, in the order of
 * sorts. */
void fw_add_rank(struct fw_reading *x, struct fe_expr *arg, bool place);
/* The number of arg's value, NULL where it is NULL. */
struct fe_expr *fw_rank_of(struct fw_reading *x, struct fe_expr *arg, bool place);

#endif
