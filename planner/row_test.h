/* Conditions on single rows of tables, for estimates. */
#ifndef HEDDLE_PLANNER_ROW_TEST_H
#define HEDDLE_PLANNER_ROW_TEST_H

#include "frontend/catalog.h"
#include "frontend/plan.h"

/* Whether e, over columns of a table, is of the kinds that pl_row_passes knows. */
bool pl_row_testable(const struct fe_plan *plan, const struct fe_expr *e);
/* e is true of that row, whose columns lie in this host's memory. */
bool pl_row_passes(const struct fe_plan *plan, const struct fe_table *t, int64_t row, const struct fe_expr *e);
/* The value of a column in a row. */
struct fe_value pl_row_value(const struct fe_table *t, int column, int64_t row);

#endif
