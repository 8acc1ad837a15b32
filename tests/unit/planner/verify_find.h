/* Finds what a test breaks in a program. What is not there ends the test. */
#ifndef HEDDLE_TESTS_VERIFY_FIND_H
#define HEDDLE_TESTS_VERIFY_FIND_H

#include "planner/physical.h"
#include "planner/pipeline.h"

struct prog {
    struct hd_arena *a;
    struct pl_program *g;
    struct pl_pipeline *p; /* of what was found last */
};

_Noreturn void absent(const char *what, int kind);
/* The k-th step of a kind. */
struct pl_step *step_at(struct prog *b, enum pl_step_kind kind, int k);
struct pl_step *step(struct prog *b, enum pl_step_kind kind);
struct pl_sink *sink(struct prog *b, enum pl_sink_kind kind);
struct rt_state *state(struct prog *b, enum rt_state_kind kind);
struct rt_state *state_of(struct prog *b, const struct pl_step *s);
struct pl_node *physical(struct prog *b, enum pl_node_op op);
/* The state that a sorted lookup searches. */
struct rt_state *searched(struct prog *b);
struct rt_sort_key *sort_key(struct prog *b, int key);
struct rt_arg *arg(struct prog *b, enum rt_arg_kind kind);
/* An expression that some pipeline evaluates. */
struct pl_expr *expr(struct prog *b, enum fe_op op);
struct pl_expr *expr_of(struct prog *b, int e);
struct pl_pipeline *framed(struct prog *b, bool many_parts);
struct pl_pipeline *nested(struct prog *b);
struct rt_arg *scanned(struct prog *b);
struct pl_pipeline *ended(struct prog *b);
struct rt_zoning *zoned(struct prog *b);
struct pl_pipeline *tiled(struct prog *b);
/* One with a lookup in its tile. */
struct pl_pipeline *looked(struct prog *b);
struct pl_pipeline *looped(struct prog *b);
/* The sink of a loop that counts for a block. */
struct pl_sink *counted(struct prog *b);
struct rt_action *action(struct prog *b, enum rt_action_kind kind, int k);

#endif
