/* Pairs of keys in the condition of a join that is written without any. */
#ifndef HEDDLE_PLANNER_REWRITE_KEYS_H
#define HEDDLE_PLANNER_REWRITE_KEYS_H

#include "planner/rewrite_node.h"

bool rw_has_hidden_keys(const struct fe_node *n);
/* n, which is changed, with them as keys. */
struct fe_node *rw_hidden_keys(const struct rewriting *w, struct fe_node *n);

#endif
