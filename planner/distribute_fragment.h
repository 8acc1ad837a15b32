/* Fragments of a plan that is cut for several workers: what each computes, and what of it goes where. */
#ifndef HEDDLE_PLANNER_DISTRIBUTE_FRAGMENT_H
#define HEDDLE_PLANNER_DISTRIBUTE_FRAGMENT_H

#include "frontend/segments.h"
#include "planner/ctx.h"
#include "planner/distribute_scheme.h"

struct cJSON;

/* The rows of an operator, as far as the plan has been cut below it. */
struct dist_rel {
    struct cJSON *op;           /* reads base tables, results of fragments, shared subplans */
    const struct fe_node *node; /* the typed operator whose columns these are; those that nobody reads may be gone */
    bool split; /* each worker has some of the rows; else whoever computes it has all */
    bool *by;   /* [column] split: rows with equal values in this column are on one worker, */
    int way; /* the same one in all relations that are spread in one way: 0 by the scheme, a shuffle's number, or that of a key
                that tables of segments are cut by, below 0 */
    bool plain; /* of scans, filters, projections and joins alone: cheap, and everywhere the same rows */
    bool of_table; /* of a base table, through filters and projections alone, whose work is not counted yet: */
    double pending; /* rows that a worker goes through, beside what filters and expressions take (distribute_own.h) */
    double state_bytes; /* estimate: of the largest state where it is computed, since rows came there */
};

struct dist_fragment {
    const char *table; /* by which others read the result */
    struct cJSON *root;
    const struct fe_node *node;
    bool every; /* worker runs it; else one does */
    bool kept; /* each worker's result stays there */
    struct pl_scheme *own; /* spreads the one table that it reads; NULL: the plan's does */
    const char *shuffle; /* the column that says to which worker a row goes; NULL: rows are not spread anew */
    double rows, bytes;
    double state_bytes;
};

/* A shared subplan that has been cut. */
struct dist_shared {
    bool done;
    bool cut; /* it is a fragment's result; else plans that refer to it have it */
    struct dist_rel rel;
};

struct dist {
    struct hd_arena *a;
    struct ctx *c; /* for estimates */
    const struct fe_plan *plan;
    const struct cJSON *tree; /* the plan */
    int workers;
    bool segments; /* tables of segments are spread as they are; no others are */
    HD_VEC(struct fe_key_place) keys; /* that such tables are cut by */
    const struct pl_scheme *scheme; /* NULL: none */
    const struct fe_node *shown_sort; /* whose order the result shows, of all rows; NULL: none */
    const char *table_prefix, *param_prefix; /* which no table, no parameter has */
    bool **need; /* [typed node][column]: read by somebody above */
    bool *set_op; /* [typed node]: below are operators of sets, which have no estimates */
    double *rows; /* [typed node]: estimates made so far; 0: none */
    double *
        work; /* [typed node]: likewise, of what filters and expressions of a table take (distribute_own.c); below 0: none */
    struct dist_shared *shared;
    HD_VEC(struct dist_fragment) fragments;
    int ways; /* shuffles so far */
    bool numbers_workers; /* some fragment's plan asks for its worker's number */
    bool part_groups; /* groups of a partial step are shuffled to their final one; else one worker has them */
    bool may_part; /* some could be */
    double cost; /* of the plan, in rows that one worker goes through */
    bool gpus; /* workers are GPUs of one host, side by side, */
    double link; /* with so many bytes a second from one to another; 0: not known */
    bool divide; /* tables that every worker has whole, whatever that costs */
    double memory; /* bytes for the states of a worker; 0: what they take does not matter */
    bool streams; /* tables are read over the link each time */
    double state_bytes; /* estimate: of the largest state */
};

/* Of a table that every pass has whole, what it reads over the link: indexes mostly lead to the rows that are wanted. */
#define DIST_WHOLE 0.5

/* Which columns somebody reads. */
void dist_need(struct dist *d);
double dist_rows(const struct dist *d, const struct fe_node *n);
/* Share of what a row costs to find out whether it is a worker's. */
double dist_tested(const struct dist *d);
/* Values of expressions over n's columns, together, are so many that each worker can have some. */
bool dist_divides(const struct dist *d, const struct fe_node *n, int nkeys, struct fe_expr *const *keys);
/* Nanoseconds that a row takes which a worker goes through: the unit of costs. */
double dist_row_ns(const struct dist *d);
/* What one more fragment costs that sends all rows of n, of the columns that somebody reads, to every worker. */
double dist_sending(const struct dist *d, const struct fe_node *n);
/* So many rows are gone through where rel is computed. */
void dist_work(struct dist *d, const struct dist_rel *rel, double rows);

/* A worker reads this share of the scan's columns: over the link, where passes stream them. */
void dist_read(struct dist *d, const struct fe_node *n, double share);

/* Where rel is computed there is a state of all rows of n, or of a worker's. */
void dist_state(struct dist *d, struct dist_rel *rel, const struct fe_node *n);
/* The same of the groups of n. */
void dist_groups(struct dist *d, struct dist_rel *rel, const struct fe_node *n);
/* One state of all rows of n is too large for a worker. */
bool dist_exceeds(const struct dist *d, const struct fe_node *n);

/* Ends a fragment with rel: what reads it has all rows, or with `keep` its worker's. Columns that nobody reads are left
 * behind, and with `sets` rows that are there twice may be. */
enum dist_cut { DIST_GATHER, DIST_KEEP, DIST_GATHER_SET };
struct dist_rel dist_cut(struct dist *d, struct dist_rel rel, enum dist_cut how, double rows);
/* As DIST_GATHER, of a part on each worker of the one table that rel reads, which `own` spreads. */
struct dist_rel dist_cut_own(struct dist *d, struct dist_rel rel, struct pl_scheme *own);
/* The same of columns that are not those of a typed operator, or that all are read; DIST_GATHER. */
struct dist_rel dist_cut_all(struct dist *d, struct dist_rel rel, double rows);
/* The rows of rel, which is spread, are spread anew, by a hash of n columns (of rel.node, in this order) that somebody
 * reads; in the same way as others of that number. A single one says afterwards where a row is, several do together. */
struct dist_rel dist_shuffle(struct dist *d, struct dist_rel rel, int n, const int *columns, int way);
/* Passes follow each other on a GPU: what one worker of theirs sends goes through the host's memory. */
bool dist_in_passes(const struct dist *d);
/* dist_shuffle; in passes, where every one has rel, each keeps what the hash of n columns gives it, and nothing is sent. */
struct dist_rel dist_spread(struct dist *d, struct dist_rel rel, int n, const int *columns, int way);
/* The same of columns that are not those of a typed operator, but for those by which they are spread. */
struct dist_rel dist_shuffle_all(struct dist *d, struct dist_rel rel, int n, const int *columns, double rows);
/* Ends a fragment whose rows, of the columns that somebody reads, all workers get. They are dealt in turns to n blocks, which have
 * equally many up to the number of workers; *block has the name of the column with the number of a row's. A scan of the other
 * columns. */
struct cJSON *dist_deal(struct dist *d, struct dist_rel rel, int n, const char **block);
/* The same rows of rel to each worker: they are dealt in turns, so none has more of them whatever their values are. */
struct dist_rel dist_shuffle_in_turns(struct dist *d, struct dist_rel rel);
/* Of a loop over the pairs of l and r, which are where one worker is, its share of them costs less than sending l in turns, r to all,
 * and what comes of them to one: three fragments more. */
bool dist_gains_by_turns(const struct dist *d, const struct fe_node *l, const struct fe_node *r);
/* The bytes of that, or of gathering them. */
double dist_bytes(const struct dist *d, const struct fe_node *n);
/* rel, unless its rows are spread: then they are brought together. */
struct dist_rel dist_whole(struct dist *d, struct dist_rel rel);
/* Of a relation that every worker has, beside one that is spread: computed once, if it is not plain. */
struct dist_rel dist_everywhere(struct dist *d, struct dist_rel rel);

/* The document (docs/scale.md). The last fragment's rows are the result. */
struct cJSON *dist_document(struct dist *d);

/* ---- operators ---- */

struct cJSON *dist_name(struct hd_arena *a, const char *key, const char *name); /* {key: name} */
struct cJSON *dist_col(struct hd_arena *a, const char *column);
struct cJSON *dist_apply(struct hd_arena *a, const char *op, struct cJSON *x, struct cJSON *y); /* y NULL: of one */
struct cJSON *dist_cast(struct hd_arena *a, struct cJSON *x, struct hd_type t);
struct cJSON *dist_as(struct hd_arena *a, struct cJSON *expr, const char *name); /* {"expr", "as"} */
/* The operator, with `input` in the place of its member, and without the members of the list that NULL ends. */
struct cJSON *dist_over(struct hd_arena *a, const struct cJSON *op, const char *member, struct cJSON *input, ...)
    __attribute__((sentinel));
/* The operator over `in`, whose rows are where those of `in` are; by: as in struct dist_rel, of n. */
struct dist_rel dist_result(struct dist *d, const struct cJSON *op, const struct fe_node *n, const struct dist_rel *in,
                            bool *by);
struct cJSON *dist_new_op(struct hd_arena *a, const char *op, struct cJSON *input);

#endif
