/* The typed plan: a tree of relational operators. Made by fe_plan_read, immutable afterwards
 * except that fe_plan_bind fills parameter values. */
#ifndef HEDDLE_FRONTEND_PLAN_H
#define HEDDLE_FRONTEND_PLAN_H

#include "frontend/expr.h"
#include "runtime/base/err.h"

struct fe_catalog;
struct fe_table;
struct hd_strbuf;

enum fe_relop {
#define T_REL(id, name) FE_##id##_OP,
#include "frontend/relops.def"
    FE_RELOP_COUNT
};
enum fe_agg_fn {
#define T_AGG(id, ...) FE_AGG_##id,
#include "frontend/aggs.def"
    FE_AGG_COUNT_OF
};
/* How an aggregate of a group follows from those of its parts, where none is of distinct values. */
enum fe_merge {
    FE_MERGES_NOT, /* it takes all rows */
    FE_MERGES_SAME, /* by the same function of the parts' values */
    FE_MERGES_COUNTS, /* by their sum, 0 where there are none */
    FE_MERGES_SUMS, /* by their sum, if its type has room and addition is exact */
    FE_MERGES_RATIO, /* of sums and counts */
    FE_MERGES_BY, /* by the extreme of the parts' `by` */
    FE_MERGES_KEYS /* it follows from the keys */
};
enum fe_join_kind { FE_INNER, FE_LEFT, FE_RIGHT, FE_FULL, FE_SEMI, FE_ANTI, FE_MARK };
enum fe_strategy { FE_AUTO, FE_HASH, FE_DIRECT, FE_INDEX, FE_LOOP, FE_RADIX, FE_MERGE, FE_BAND };
enum fe_side { FE_SIDE_AUTO, FE_SIDE_LEFT, FE_SIDE_RIGHT };
enum fe_match { FE_MATCH_GE, FE_MATCH_GT, FE_MATCH_LE, FE_MATCH_LT }; /* left op right */

struct fe_column {
    const char *name;
    struct hd_type type;
    bool nullable;
};

struct fe_sort_key {
    struct fe_expr *expr;
    bool desc, nulls_first;
};

struct fe_agg {
    enum fe_agg_fn fn;
    bool distinct;
    struct fe_expr *arg; /* NULL for COUNT_STAR */
    struct fe_expr *by;  /* the second argument of those that take two; else NULL */
    struct fe_expr *filter; /* rows that count; or NULL: all. None after planner/rewrite.c */
    struct fe_expr *rows; /* where groups are merged, of COUNT and AVG: how many rows arg, their sum, is of */
    int nof, *of;         /* GROUPING: keys */
    struct fe_expr *q;    /* QUANTILE_CONT, QUANTILE_DISC: a literal or parameter */
    int norder, nstated; /* FIRST, LAST: as stated, then the columns that are left; STRING_AGG: as stated, maybe none */
    struct fe_sort_key *order;
    struct fe_expr *separator; /* STRING_AGG: a literal or parameter */
    struct hd_type type; /* of the result */
    const char *path;
};

/* What row numbers are multiplied by and then divided by for the share q, NULL: 1/2. Without common factors. */
struct fe_fraction {
    int64_t num, den;
};
struct fe_fraction fe_fraction_of(const struct fe_expr *q);
/* A quantile that is always one of the values; the median of intervals, too, which have nothing between two of them. */
bool fe_quantile_is_discrete(enum fe_agg_fn fn, struct hd_type of);

/* A column of a window: a number of a row's partition, or the value of the row with the number base + by there, from 1.
 * NULL where there is no such row; with clamp_high the last one's if it is beyond that. */
#define FE_WINDOW_BASES(X) \
    X(ZERO, "0") \
    X(ROW, "row") /* in the order of the window */ \
    X(PEER_BEGIN, "peer") /* of the first row with the same order keys: the rank */ \
    X(PEER_END, "last peer") /* of the last one */ \
    X(DENSE, "dense rank") /* of the order keys among distinct ones */ \
    X(ROWS, "rows") /* of the partition */ \
    X(FOUND, "found") /* of the row that a search has found */ \
    X(COMPUTED, "computed") /* by an expression */ \
    X(SHARE, \
      "share") /* no number of a row: what row numbers are multiplied by, or `less`: divided by, for the share `more` */ \
    X(FITS, "fits") /* no number, a bool that rewriting knows: whether facts keep its value within 10^by */
enum fe_window_base {
#define X(id, name) FE_WINDOW_##id,
    FE_WINDOW_BASES(X)
#undef X
};
struct fe_window_at {
    enum fe_window_base base;
    int64_t by;
    int of; /* the search that FOUND it, the number that is COMPUTED */
    const struct fe_expr *more; /* a parameter that is added as well, or taken away; or NULL */
    bool less;
};
/* What is added now that parameters have values. */
static inline int64_t fe_window_by(const struct fe_window_at *w)
{
    int64_t more = w->more ? (int64_t)w->more->value.i : 0;
    return w->by + (w->less ? -more : more);
}
/* The same parameter, added or taken away in both; or none. */
static inline bool fe_window_same_more(const struct fe_expr *a, bool a_less, const struct fe_expr *b, bool b_less)
{
    return a && b ? a->param == b->param && a_less == b_less : a == b;
}
static inline bool fe_window_same_at(const struct fe_window_at *a, const struct fe_window_at *b)
{
    return a->base == b->base && a->by == b->by && a->of == b->of &&
           fe_window_same_more(a->more, a->less, b->more, b->less);
}
/* Successive rows of a partition: from both `first` to both `last`. One bound is there twice. */
struct fe_window_span {
    struct fe_window_at first[2], last[2];
};
enum { FE_WINDOW_SPANS = 3 };
/* What a window keeps of each row, in the order of the window: ANY the value itself, COUNT how many rows up to and with
 * this one have one, SUM, MIN, MAX and bits of those. Framed: SUM, MIN, MAX, BIT_OR of the rows of the spans, NULL where
 * none of them has a value; REGR_SXY of the values `of`; ARG_MIN and ARG_MAX: the number of the row that has the smallest
 * or largest of the first of these, of several that with the smallest of the other. `arg` is the first one then.
 *
 * Others are framed by a rank, value `of` [0], that rows have by their values in the partition, NULL where they do not
 * count. QUANTILE_CONT and QUANTILE_DISC: the number of a row whose value is in the place of the share q, for
 * QUANTILE_CONT the last one not behind it or, `next`, the first one not in front of it; MODE: that of the first row with
 * the most frequent value, the smallest of several. COUNT, SUM, AVG and BIT_XOR that
 * are `distinct`, of the values `of` [1], each once; AVG by number `count`. STRING_AGG joins the strings `of` [0], in the
 * order of the rows. */
enum fe_window_kept { FE_KEPT_AS_IS, FE_KEPT_FOR_SUMS, FE_KEPT_FOR_BITS, FE_KEPT_RANK, FE_KEPT_TEXT };
struct fe_window_value {
    enum fe_agg_fn fn;
    enum fe_window_kept kept; /* ANY: as wide as what is made of it needs */
    struct fe_expr *arg; /* over the input's columns */
    bool framed, distinct, next;
    const struct fe_expr *q; /* a literal or parameter; NULL: 1/2 */
    const struct fe_expr *separator; /* STRING_AGG: likewise */
    int count;
    int nspans;
    struct fe_window_span span[FE_WINDOW_SPANS];
    int of[2]; /* values in front of this one, of which ANY is kept */
    bool
        places; /* of COUNT, which is another value, too: the number of the partition's k-th row that has one, at row k */
};
/* A row's number, by the rank of its value alone. */
static inline bool fe_window_is_of_rank(const struct fe_window_value *v)
{
    return v->fn == FE_AGG_QUANTILE_CONT || v->fn == FE_AGG_QUANTILE_DISC || v->fn == FE_AGG_MODE;
}
static inline bool fe_window_is_arg(const struct fe_window_value *v)
{
    return v->fn == FE_AGG_ARG_MIN || v->fn == FE_AGG_ARG_MAX || fe_window_is_of_rank(v);
}
/* SUM or AVG of an exact type: differences of the running SUM `of` [0] that it is of, for AVG by number `of` [1]. */
static inline bool fe_window_is_difference(const struct fe_window_value *v)
{
    return v->framed && !v->distinct &&
           (v->fn == FE_AGG_AVG || (v->fn == FE_AGG_SUM && !hd_type_is_float(v->arg->type)));
}
/* The same of distinct values, whose sum may need a high word. */
static inline bool fe_window_is_distinct_sum(const struct fe_window_value *v)
{
    return v->distinct && (v->fn == FE_AGG_SUM || v->fn == FE_AGG_AVG) && !hd_type_is_float(v->arg->type);
}
static inline bool fe_window_is_of_others(const struct fe_window_value *v)
{
    return v->framed && (fe_window_is_arg(v) || v->fn == FE_AGG_REGR_SXY || v->fn == FE_AGG_STRING_AGG || v->distinct);
}
/* Where the order has rows beside a limit, which is the row's own order key moved by an offset, or the number of its
 * peers among those of the partition: the first row that is not in front of the limit, from 1; one more than the rows
 * there are if all are in front of it. `behind`: the last row that is not behind it; 0 if all are. */
struct fe_window_search {
    int limit; /* a value, NULL where it would leave the type or the row has no key; -1: peers are counted */
    int32_t peers; /* more than the row's */
    const struct fe_expr *more; /* of fe_window_at, for peers */
    bool less;
    bool following; /* towards the end: where a limit would leave the type all rows with keys are in front of it */
    bool behind;
};
struct fe_window_column {
    struct fe_window_at at;
    int value; /* -1: the number base + by itself */
    bool clamp_high;
};
/* Every row has that row in its partition. */
static inline bool fe_window_row_is_there(const struct fe_window_column *w)
{
    bool own = w->at.base != FE_WINDOW_ZERO && w->at.base != FE_WINDOW_FOUND && w->at.base != FE_WINDOW_COMPUTED;
    return own && w->at.by == 0 && !w->at.more;
}
/* A function as it stands in the plan, for whoever writes it down again: what it has become are the values and columns
 * below, and expressions of a projection above. A filter is part of arg and by. */
enum fe_frame_unit { FE_FRAME_ROWS, FE_FRAME_RANGE, FE_FRAME_GROUPS };
struct fe_frame_end {
    enum fe_frame_at { FE_FRAME_OPEN, FE_FRAME_HERE, FE_FRAME_PRECEDING, FE_FRAME_FOLLOWING } at;
    const struct fe_expr *by; /* of the last two: a literal or parameter */
    bool interval; /* by counts units */
    enum fe_field unit;
};
struct fe_window_said {
    const char *fn, *path;
    const struct fe_expr *arg, *by; /* or NULL */
    const struct fe_expr *n; /* of ntile, nth_value; of lag and lead: their offset; or NULL */
    const struct fe_expr *other; /* the default of lag and lead, or NULL */
    const struct fe_expr *q; /* of quantiles, or NULL */
    const struct fe_expr *separator; /* of string_agg, or NULL */
    bool ignore_nulls, framed, excludes, distinct;
    bool ranked; /* by ranks of its argument: quantiles, modes, functions of distinct values; or STRING_AGG */
    bool ties; /* its value depends on the order of rows that tie */
    enum fe_frame_unit unit;
    struct fe_frame_end start, end;
};
/* With a separator value 0, of STRING_AGG and not framed, is the strings of the partition, in its first row, with it between them, and
 * value 1, a SUM, is of all rows: of their bytes and the separator's. */
struct fe_window {
    const struct fe_expr *separator; /* a literal or parameter, or NULL */
    int nvalues;
    struct fe_window_value *values;
    int nnumbers;
    struct fe_expr **numbers; /* int64, never NULL; over the node's columns, of those of the window the ones in front */
    int nsearches;
    struct fe_window_search *searches;
    bool codes; /* its one column, a dense rank, may be any numbers from 1 on that order values as ranks do */
    int ncolumns; /* behind the input's */
    struct fe_window_column *columns;
    int nsaid; /* those that the plan has, in its order; the projection above has a column for each */
    struct fe_window_said *said;
    const struct fe_node *over; /* whose columns these are about: the node's input, but for ranks that it adds */
};

struct fe_node {
    enum fe_relop op;
    int id; /* preorder number over root, then shared subplans; unique in the plan */
    const char *path;
    int ninputs;
    struct fe_node **inputs; /* join: left, right */
    int ncols;
    struct fe_column *cols; /* output */
    union {
        struct {
            const struct fe_table *table;
            const char *alias; /* or NULL; already part of the columns' names */
            bool all_columns; /* `columns` was not given */
            int *columns; /* table column of each output column, ncols of them */
            struct fe_expr *filter; /* COL.col = table column; or NULL */
        } scan;
        struct {
            int shared; /* index into fe_plan.shared */
        } ref;
        struct {
            struct fe_expr *pred;
        } filter;
        struct {
            struct fe_expr **exprs; /* ncols */
        } project;
        struct {
            enum fe_join_kind kind;
            enum fe_strategy strategy;
            enum fe_side build;
            bool single;
            int nkeys;
            struct fe_expr **lkeys, **rkeys; /* over left, over right columns; types equal */
            bool *null_equal; /* by key: NULL matches NULL */
            struct fe_expr *residual; /* over left then right, or NULL */
            struct fe_expr *asof[2]; /* over left, over right columns; types equal. NULL: no as-of join */
            enum fe_match match; /* of the two: the nearest right row that it holds for */
        } join;
        struct {
            const char *aliases[2]; /* already part of the columns' names */
            struct fe_expr *pred; /* over the output columns, or NULL */
        } pairs;
        struct {
            struct fe_expr *count; /* int32: so many copies of the row, if it is neither NULL nor negative */
        } repeat;
        struct {
            bool all; /* rows count as often as they come: INTERSECT_OP, EXCEPT_OP */
        } set;
        struct {
            int nkeys;
            struct fe_expr **keys; /* output columns 0..nkeys-1 */
            int naggs;
            struct fe_agg *aggs; /* output columns nkeys.. */
            int nsets; /* 0: one, of all keys */
            bool **sets; /* [set][key] */
            bool merges; /* the planner's own: rows are groups of a finer grouping, arg what it has of each */
        } agg; /* DISTINCT_OP too: nkeys = ncols, no aggs */
        struct {
            int nkeys;
            int nstated; /* keys as written; those behind break ties: the output columns not
                            yet among the keys, ascending, nulls last */
            struct fe_sort_key *keys;
            struct fe_expr *limit, *offset; /* literals or parameters, integers; NULL: none */
            int ngroup; /* TOP_OP: the first keys are those of a group, WINDOW_OP: of a partition */
            bool keep; /* TOP_OP: rows that tie with the last by the stated keys stay */
            bool numbered; /* TOP_OP: the planner's own, for a filter on a number of a window */
            bool spare; /* and above that window: rows are the same without it */
            struct fe_window *window; /* WINDOW_OP, whose columns are the input's, then the window's */
        } sort; /* LIMIT_OP too: nkeys = 0. TOP_OP: limit and offset are of each group */
        struct {
            int64_t nrows;
            struct fe_value *rows; /* nrows * ncols, row-major */
            const struct fe_param *list; /* a parameter that has the rows of one column; or NULL */
        } values;
    } u;
};

/* A PARAM expression, kept so that binding reaches its value. */
struct fe_param_use {
    struct fe_expr *expr;
    struct fe_param_use *next;
};
struct fe_param {
    const char *name;
    struct hd_type type; /* element type of a list */
    bool is_list, has_default, bound;
    bool nullable; /* NULL may be bound; the nullability of every use */
    unsigned places; /* bits of the constants.def that it stands for */
    struct fe_value value; /* default until bound */
    int nlist;
    struct fe_value *list;
    const char *path;
    struct fe_param_use *uses;
};

struct fe_plan {
    struct hd_arena *arena; /* borrowed */
    const char *name;
    bool order_auto; /* joins may take place in another order than they are written in */
    int nparams;
    struct fe_param *params;
    int nshared;
    const char **shared_names;
    struct fe_node **shared; /* in an order in which references point backwards only */
    struct fe_node *root;
    int nnodes; /* ids are 0 .. nnodes - 1 */
};

/* -1: none */
static inline int64_t fe_limit(const struct fe_node *n)
{
    return n->u.sort.limit ? (int64_t)n->u.sort.limit->value.i : -1;
}
static inline int64_t fe_offset(const struct fe_node *n)
{
    return n->u.sort.offset ? (int64_t)n->u.sort.offset->value.i : 0;
}
static inline int64_t fe_values_count(const struct fe_node *n)
{
    return n->u.values.list ? n->u.values.list->nlist : n->u.values.nrows;
}
static inline const struct fe_value *fe_values_rows(const struct fe_node *n)
{
    return n->u.values.list ? n->u.values.list->list : n->u.values.rows;
}

/* Reads, checks and types a plan. Everything lives in the arena. */
int fe_plan_read(struct hd_arena *a, const char *json, const struct fe_catalog *cat, struct fe_plan **out,
                 struct hd_err *err);
/* Binds a parameter from text; value NULL binds SQL NULL. A list takes a JSON list. */
int fe_plan_bind(struct fe_plan *p, const char *name, const char *value, struct hd_err *err);
/* Binds each key of a JSON object; unknown names are errors. */
int fe_plan_bind_json(struct fe_plan *p, const char *json, struct hd_err *err);
/* Error if a parameter has neither default nor value. */
int fe_plan_check_bound(const struct fe_plan *p, struct hd_err *err);
/* Like EXPLAIN, one operator a line, inputs indented. */
void fe_plan_print(struct hd_strbuf *out, const struct fe_plan *p);

/* Calls visit(ctx, scan) for every SCAN of the plan. */
void fe_plan_scans(const struct fe_plan *p, void (*visit)(void *ctx, struct fe_node *scan), void *ctx);

const char *fe_relop_name(enum fe_relop op);
const char *fe_agg_name(enum fe_agg_fn fn);
enum fe_merge fe_agg_merge(enum fe_agg_fn fn);
bool fe_agg_is_moment(enum fe_agg_fn fn); /* variance and its kin: float64 of one number or two */
bool fe_agg_is_ordered(enum fe_agg_fn fn); /* of rows in an order, or of groupings of its own */
const char *fe_join_kind_name(enum fe_join_kind k);
const char *fe_strategy_name(enum fe_strategy s);
const char *fe_match_name(enum fe_match m);

#endif
