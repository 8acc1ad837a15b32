/* Ranks below a window that values of a small range need not be sorted for. */
#ifndef HEDDLE_PLANNER_REWRITE_CODES_H
#define HEDDLE_PLANNER_REWRITE_CODES_H

#include "planner/rewrite_node.h"

/* A window whose one column tells values apart and orders them. */
bool rw_has_codes(const struct fe_node *n);
/* A projection in its place where facts allow it; else n. */
struct fe_node *rw_codes(const struct rewriting *w, struct fe_node *n);

#endif
