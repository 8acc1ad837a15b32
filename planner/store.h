/* Storing streams in states. */
#ifndef HEDDLE_PLANNER_STORE_H
#define HEDDLE_PLANNER_STORE_H

#include "planner/ctx.h"

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
/* By row id are columns of a row that are texts or together wide (late materialisation). */
void keep_columns(struct ctx *c, struct handle *const *cols, int ncols, struct kept *k);
/* As was chosen: [column] by the id of its row; NULL: all by value. */
void keep_chosen(struct ctx *c, struct handle *const *cols, int ncols, const bool *by_row, struct kept *k);
/* Of all columns as values. */
int kept_bytes(const struct kept *k);
/* Evaluates what is kept, adds the fields to the state and the outs to the sink. */
int keep_store(struct ctx *c, struct open_pipeline *p, struct kept *k, int state, enum rt_merge m, enum fe_agg_fn fn,
               struct pl_sink *sink);
/* Handles for the ncols columns when reading from the state at row. nullable_row: row may be -1. */
void keep_load(struct ctx *c, const struct kept *k, int state, struct handle *row, bool nullable_row,
               struct handle **out);
/* Rows of ROWS state `state`, which s ends in, come out in the order of s, if it has one. Before the state's layout. */
void keep_order(struct ctx *c, struct stream *s, int state);
/* A materialised stream: rows of a state, and how columns come back from it. */
struct stored {
    int state;
    struct kept kept;
    int ncols;
    const bool *want; /* columns that were kept */
    struct handle **cols; /* of the stream that was stored: types of columns not kept */
    double est, max_rows;
    bool ordered;
    int nunique; /* positions among cols that identify a row; 0 unknown */
    int *unique;
};
/* What storing the wanted columns of s (NULL: all) will keep, as was chosen or (by_row NULL) as is chosen now. */
/* Which of the kept columns of s have strings of their own: by the ids of their rows. */
const bool *keep_strings_by_row(struct ctx *c, const struct stream *s, const bool *want);
void store_rows(struct ctx *c, const struct stream *s, const bool *want, const bool *by_row, struct stored *out);
/* Finds the columns that identify a row of the stream, and stay behind the state. */
void stored_unique(struct ctx *c, const struct stream *s, struct stored *st);
/* The columns, estimates and facts of stored rows at a row of their state. */
void rows_over(struct ctx *c, const struct stored *st, struct handle *row, struct stream *s);
/* Ends s in a ROWS state holding the wanted columns (NULL: all). */
int store_stream(struct ctx *c, struct stream *s, const bool *want, const bool *by_row, const char *name,
                 const char *path, struct stored *out);
/* Rows of s come with ascending values of h, never NULL. */
bool comes_by(struct ctx *c, const struct stream *s, struct handle *h);
/* Whether rows of s come in the order of its n columns (NULL: of something else), which is that of the state: then this
 * is not sorted. */
bool keep_sorted(struct ctx *c, struct stream *s, struct handle *const *order, int n, int state);
/* How many of the first keys of the state's order, of columns `key` (NULL: of an expression), rows of s come by: by the
 * others the rows of each run that are alike in these are sorted. */
int keep_runs(struct ctx *c, struct stream *s, struct handle *const *key, int state);
/* As store_stream, sorted by n words, which are its first fields: int64, never NULL, each that of a column of `order` (NULL: of
 * something else). far: behind them is its running maximum;
 * NULL: none. */
int store_sorted(struct ctx *c, struct stream *s, const struct pl_val *words, struct handle *const *order, int n,
                 const struct pl_val *far, const bool *want, const bool *by_row, const char *name, const char *path,
                 struct stored *out);
/* A new pipeline over the stored rows; may be called again for a second pass. */
struct stream stream_over(struct ctx *c, const struct stored *st, const char *path);

#endif
