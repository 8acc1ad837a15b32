/* Projections above windows that ask what facts say of values. */
#ifndef HEDDLE_PLANNER_REWRITE_FITS_H
#define HEDDLE_PLANNER_REWRITE_FITS_H

#include "planner/rewrite_node.h"

bool rw_has_fits(const struct fe_node *n);
/* Its projection with what facts choose alone. */
struct fe_node *rw_fits(const struct rewriting *w, struct fe_node *n);

#endif
