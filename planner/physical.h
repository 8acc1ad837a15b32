/* The physical plan: a tree of operators with everything that is chosen before pipelines exist. It is built
 * bottom up from the typed plan, the catalog's facts and the estimates (physical.c and physical_*.c); lowering
 * (lower.c) makes pipelines of it and chooses nothing. A KEEP has as many parents as read its rows; all other
 * nodes have one. `explain --dump physical` prints it. */
#ifndef HEDDLE_PLANNER_PHYSICAL_H
#define HEDDLE_PLANNER_PHYSICAL_H

#include "frontend/plan.h"
#include "planner/range.h"
#include "runtime/spec.h"

struct ctx;
struct hd_strbuf;
struct pl_grouping;
struct pl_interval;
struct pl_program;
struct pl_table;

enum pl_node_op {
#define T_NODE(id, name) PL_NODE_##id,
#include "planner/physical.def"
    PL_NODE_OP_COUNT
};

/* One way of doing something. Of the costs only their order within a decision means anything. */
struct pl_alternative {
    const char *name;
    double ns;       /* estimated, of one thread; < 0: not compared by cost */
    const char *why; /* it is the one, or none of the possible ones; may be NULL */
    const char *detail; /* format of what was looked at, two numbers; may be NULL */
    double numbers[2];
};

/* What was chosen and what was not. */
struct pl_decision {
    const char *name;
    int taken; /* index into v */
    int n;
    struct pl_alternative *v;
};

enum pl_way {
    PL_WAY_BUILD, /* a table is built of one side */
    PL_WAY_KEY,   /* the stored index of a unique column finds the row */
    PL_WAY_FK,    /* the stored index of a foreign key finds the rows */
    PL_WAY_CHILD, /* and of these, which are sorted by another key, the one that has it */
    PL_WAY_COLUMN, /* a table's column, by which its rows are sorted, is searched */
    PL_WAY_BAND,   /* likewise for a range of values */
    PL_WAY_ALL,   /* no keys: every pair of rows */
    PL_WAY_SEARCH, /* the build side is sorted and searched, by keys or a range */
    PL_WAY_NEAREST /* the build side is sorted, and the row that is nearest by the last key is searched for */
};

/* Rows are found in the table itself: nothing is built. */
static inline bool pl_looks_up(enum pl_way w)
{
    return w == PL_WAY_KEY || w == PL_WAY_FK || w == PL_WAY_CHILD || w == PL_WAY_COLUMN || w == PL_WAY_BAND;
}

/* How a join tells what its condition beyond the keys says of a row. */
enum pl_form {
    PL_FORM_ONCE,     /* each pair is looked at once and kept or dropped */
    PL_FORM_TWICE,    /* a first pass sets a bit for each row with a match, a second one reads the bits */
    PL_FORM_EXTREMES  /* minimum and maximum of the key say what every pair would */
};

/* What a sorted build side is searched by. */
struct pl_search {
    int nkeys;
    struct fe_expr **pkeys, **bkeys; /* over the columns of the probe side, of the build side */
    const bool *null_equal;          /* by key; NULL: none */
    bool hashed; /* one word for all keys, their hash; else each is a word */
    bool exact;  /* rows are found exactly by their keys: these are not compared again */
    const struct pl_interval *range; /* planner/bounds.h; NULL: none */
    const struct pl_interval
        *reach; /* without keys: what the running maximum is of, and must have reached; NULL: none */
    bool *found; /* conjuncts on pairs that lead to the rows, and hold for nearly all that are found */
};

struct pl_join {
    enum fe_join_kind kind;    /* never RIGHT: sides are exchanged instead */
    enum fe_join_kind written; /* in the plan */
    enum fe_strategy strategy; /* asked for */
    bool single;               /* the build side has one row at most, more is an error */
    bool swapped;              /* the probe side is the typed node's right input */
    enum pl_way way;
    enum pl_form form;
    int index, fk, key; /* PL_WAY_KEY: key index; PL_WAY_FK, PL_WAY_CHILD: foreign key; all, and
                           PL_WAY_COLUMN: which of the keys */
    int within;         /* PL_WAY_CHILD: the key by which children are sorted */
    int nkeys;                       /* PL_WAY_NEAREST: the last one is not compared by = but by `asof` */
    struct fe_expr **pkeys, **bkeys; /* over the columns of the probe side, of the build side */
    enum fe_match asof;              /* of the last keys, probe and build */
    double fanout;             /* PL_WAY_FK, PL_WAY_CHILD, PL_WAY_BAND: estimated rows that a probe row meets */
    bool folded;               /* PL_WAY_FK: the grouping above adds up a row's children where the row is */
    bool splits;               /* PL_WAY_FK, PL_WAY_COLUMN: a row may have so many that warps share them */
    bool one;                  /* PL_WAY_COLUMN: the first row found is the only one, or as good as all */
    bool plain;                /* PL_WAY_COLUMN: nothing but the key decides about a match */
    double share;              /* PL_FORM_EXTREMES: estimated share of the probe rows that have a key */
    struct fe_expr *match;     /* PL_FORM_EXTREMES of anti and mark joins: true of rows with a match */
    int nleft, nbuilt; /* columns on the left, and of the build side, where columns of both sides are numbered */
    int nrest, nbuild;
    const struct fe_expr **rest; /* conjuncts on pairs, in order, left columns then right ones */
    const struct fe_expr **build_only; /* pl_looks_up(way): conjuncts on the row found; else FILTER nodes have them */
    double *rest_share, *build_share, *key_share; /* of the rows, estimated, for which each of rest, build_only holds,
                                                     and (pl_looks_up(way)) in which each pair of keys is equal */
    const bool *by_row; /* PL_WAY_ALL, PL_WAY_SEARCH: [kept build column] by the id of its row */
    /* PL_WAY_ALL: pairs lie in its range, and rows of the build side are sorted by that; NULL: all pairs. PL_WAY_SEARCH,
     * PL_WAY_BAND: nkeys is 0, conjuncts on pairs have what it leaves of the keys. */
    const struct pl_search *search;
    const struct pl_table *table; /* PL_WAY_BUILD: what is built (physical_table.h) */
    const bool *keep; /* build columns that outputs or conjuncts read; NULL: all */
    const bool *want; /* probe columns likewise */
    bool rescan; /* PL_FORM_TWICE: the probe side is a scan, and is scanned again */
    const bool *null_equal; /* by key: NULL matches NULL; NULL: no such key */
    const struct fe_node *tjoin; /* typed join, for what is known of conditions; NULL: none stands behind it */
    const struct fe_node *tprobe, *tbuild; /* typed sides, for estimates; NULL: none stands behind one */
    struct pl_node *probe, *build; /* build NULL: a table's own index */
};

/* Of the rows up to each, in the order of the key. */
struct pl_running {
    enum rt_merge merge; /* SUM of exact numbers that are never NULL, MIN, MAX */
    const struct fe_expr *arg; /* over the build side */
    struct hd_type type; /* of the result */
    struct pl_range range; /* of arg, as far as facts and types tell */
};
/* A join of which nobody sees the pairs: a probe row's are the build rows in a range, and they are
 * told by their number and by running fields of the build rows sorted by what the range is about. Expressions are over the columns of
 * both sides, left ones first. Output: these (NULL on the build side), the number of pairs, then what each of
 * `running` is for them. Rows without pairs end. */
struct pl_ranges {
    bool swapped; /* the probe side is the right one */
    int nleft, ncols; /* columns on the left, on both sides */
    const struct pl_interval *range; /* exact (planner/bounds.h) */
    int nrunning;
    struct pl_running *running; /* MIN and MAX only where the range has one end */
    struct pl_node *probe, *build;
};
/* An aggregate over such rows, or over the groups of a finer one, each of which stands for several: what is added up for
 * it, over their columns. */
struct pl_weighted {
    struct fe_expr **keys;
    struct pl_weighted_agg {
        struct fe_expr *value; /* that is added up, or compared; NULL: of a count */
        struct fe_expr *count; /* of rows that count; NULL: of a minimum, a maximum */
        struct hd_type type; /* of the argument */
    } *aggs;
};

struct pl_node {
    enum pl_node_op op;
    int id;
    const struct fe_node *n; /* typed node it came from; NULL: none */
    const char *path;
    const char *label; /* of what stands behind it, for names of states */
    int ninputs;
    struct pl_node **inputs; /* in the order in which they are lowered */
    double rows; /* estimated, of the output */
    bool ordered; /* the result shows the order of these rows */
    int ndecisions;
    struct pl_decision *decisions;
    int nstates, *states; /* what lowering made for it; where these are kept is decided by later passes */
    union {
        struct {
            int n, first; /* columns are numbered from `first` */
            const struct fe_expr **v;
            double *share; /* of the rows, estimated, for which each holds */
            int by_parent; /* SCAN: 1 + the foreign key by which rows come parent by parent, inside a fold; 0: as they lie */
        } filter; /* SCAN: of its filter; FILTER */
        struct pl_join join;
        struct {
            int nkeys, first; /* arg's columns are numbered from `first` */
            struct fe_expr **keys;
            const struct fe_expr *arg;
            const struct pl_grouping *grouping;
        } extremes;
        struct pl_ranges ranges;
        struct {
            const struct fe_expr *distinct; /* the argument whose values are made distinct first, or NULL */
            bool plain; /* computes the aggregates that are not distinct */
            bool part; /* others compute the rest: input of a MERGE */
            const struct pl_weighted *weighted; /* NULL: rows stand for themselves */
            const struct pl_grouping *groupings[2]; /* the second one where an argument is distinct */
        } agg;
        struct {
            struct pl_join *joins; /* of what is there so far with inputs[i]; [0] is not used */
        } merge;
        struct {
            int unique; /* a column that identifies a row, -1: none */
        } values;
        struct {
            const struct fe_node *keys; /* typed sort whose keys count; NULL: a limit alone */
            bool dropped; /* nobody can see the order */
            bool there; /* rows come in it: that of a table, by a unique column */
        } sort;
        struct {
            const char *name; /* of the state */
            const bool *want; /* columns that are kept; NULL: all */
            const bool *by_row; /* [kept column] by the id of its row */
            bool looped; /* rows are read again and again: only strings by the ids of their rows */
            const struct pl_interval
                *range; /* rows are sorted by what this is about, of the right input of pairs; NULL:
                                                they are not */
            int uses; /* > 0: a shared subplan with so many */
        } keep;
    } u;
};

/* Chooses: the tree of typed node root. Fails with class USER where the plan asks for what is not possible. */
int pl_physical(struct ctx *c, const struct fe_node *root, struct pl_node **out);
/* Prints p's physical plan. */
void pl_physical_print(struct hd_strbuf *out, const struct pl_program *p);

#endif
