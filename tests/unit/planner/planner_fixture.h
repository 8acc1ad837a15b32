/* A small catalog with given facts and no data, and plans over it. Planning reads nothing but facts and
 * dictionaries, so what the planner knows of a table is what stands in planner_fixture.c. */
#ifndef HEDDLE_TESTS_PLANNER_FIXTURE_H
#define HEDDLE_TESTS_PLANNER_FIXTURE_H

#include "frontend/plan.h"
#include "planner/ctx.h"

/* Tables, by rows:
 *   parent  10,000  id (key 0: position = value), grp 0..9 or NULL, name (4 in a dictionary), note (text),
 *                   amount 0.00..99.99, day 1990-01-01..1999-12-31
 *   child   100,000 cid (unique 100,000..299,998), pid -> parent.id (key index of parent, clustered),
 *                   oid -> parent.id (anywhere), qty 1..50, tag (3 in a dictionary, NULLs), wide decimal(38,2)
 *   tiny    100     k 0..99 unique, v 0..9, f float64
 *   many    5,000   c0..c39 int64, NULLs in the odd ones */
const struct fe_catalog *px_catalog(void);
const struct fe_table *px_table(const char *name);

/* The root operator as JSON, ' for ". Fails the test where that is no plan. */
struct fe_plan *px_read(struct hd_arena *a, const char *root);
struct pl_program *px_plan(struct hd_arena *a, const char *root, const struct pl_options *o);
/* A context as passes over a plan have it, for questions to estimates, handles and packing of keys. */
struct ctx *px_ctx(struct hd_arena *a, const struct fe_plan *plan);

#endif
