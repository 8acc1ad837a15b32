/* Kinds of steps, and what the tables planner/steps.def and planner/levels.def say of them. */
#ifndef HEDDLE_PLANNER_STEPS_H
#define HEDDLE_PLANNER_STEPS_H

#include <stdbool.h>

enum pl_step_kind {
#define T_STEP(id, ...) PL_STEP_##id,
#include "planner/steps.def"
    PL_STEP_COUNT
};

/* What becomes of a row at a step. */
enum pl_yield {
    PL_YIELDS_ONE,    /* it goes on; the step does nothing but set its slot */
    PL_YIELDS_SOME,   /* it goes on or ends */
    PL_YIELDS_PROBED, /* as the kind of probe says */
    PL_YIELDS_MANY,   /* the step opens a level: what follows runs once per child */
    PL_YIELDS_MARKED  /* it goes on, after a bit of a state was set */
};
enum pl_reads {
    PL_READS_NOTHING,
    PL_READS_ROW,
    PL_READS_EXPR,
    PL_READS_BOTH, /* row and expression */
    PL_READS_KEYS,
    PL_READS_WORDS
};
enum pl_subject {
    PL_OF_NOTHING,
    PL_OF_COLUMN, /* table, column */
    PL_OF_FIELD,  /* state, field */
    PL_OF_KEYIDX, /* key index `index` of table */
    PL_OF_FK,     /* foreign key `index` of table */
    PL_OF_ORDER,  /* table, and `column` by which its rows are sorted */
    PL_OF_STATE   /* state */
};
enum pl_tile {
    PL_TILE_ROWS = 1,  /* rows of a table */
    PL_TILE_GROUPS = 2, /* rows of a dense aggregate */
    PL_TILE_LOOKUPS = 4, /* rows of a table, on a GPU: an index says which bit to test */
    PL_TILE_BITS = 8 /* rows of a table, on a GPU: they have a bit each, in their order */
};
/* A row of planner/steps.def. */
struct pl_step_form {
    const char *name;
    enum pl_yield yields;
    enum pl_reads reads;
    enum pl_subject subject;
    unsigned tile; /* enum pl_tile */
};

/* Children of a row, as planner/levels.def tells. */
enum pl_children { PL_CHILDREN_KEY, PL_CHILDREN_PARENT, PL_CHILDREN_VALUE, PL_CHILDREN_ALL, PL_CHILDREN_COUNT };

/* Arguments of steps. LOAD_COLUMN: data .. text_bytes; PROBE_COLUMN, EXPAND_COLUMN, EXPAND_BAND: data, base,
 * nrows of the table; LOAD_FIELD of DIRECT: data, valid; child_rows: which row a child is, where that is not its position. */
/* clang-format off */
#define PL_STEP_ARGS(X)                                                                        \
    X(data) X(valid) X(base) X(factor) X(text_base) X(text_bytes)                              \
    X(rows) X(nrows) X(range) X(min) X(bits) X(offsets) X(slots) X(mask) X(matches)            \
    X(child_rows)
/* clang-format on */

const struct pl_step_form *pl_step_form(enum pl_step_kind k);
const char *pl_step_name(enum pl_step_kind k);
bool pl_opens_level(enum pl_step_kind k);
bool pl_opens_fold(enum pl_step_kind k);
/* What bounds the children of a row is no key: a morsel over them may be long. */
bool pl_children_are_many(enum pl_step_kind k);
enum pl_children pl_children(enum pl_step_kind k); /* which opens a level */

#endif
