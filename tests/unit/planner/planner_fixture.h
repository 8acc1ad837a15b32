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
/* How many rows of child a row of parent has at most, by foreign key pid; -1: nobody knows. Returns what it was. */
int64_t px_set_children(int64_t n);

/* The root operator as JSON, ' for ". Fails the test where that is no plan. */
struct fe_plan *px_read(struct hd_arena *a, const char *root);
struct pl_program *px_plan(struct hd_arena *a, const char *root, const struct pl_options *o);
/* The pipeline of the plan that opens a level; there is one. */
const struct pl_pipeline *px_nested(struct hd_arena *a, const char *root, const struct pl_options *o);
/* Parents with their children, a level of them. */
#define PX_CHILDREN \
    "{'op':'aggregate','keys':[],'aggs':[{'fn':'sum','arg':'qty + id','as':'s'}],'input':{'op':'join','kind':'inner'," \
    "'on':[['id','pid']],'strategy':'index','build':'right','left':{'op':'scan','table':'parent'}," \
    "'right':{'op':'scan','table':'child','filter':'qty > 3'}}}"
/* A context as passes over a plan have it, for questions to estimates, handles and packing of keys. */
struct ctx *px_ctx(struct hd_arena *a, const struct fe_plan *plan);

/* For cmocka: an arena for each test. */
extern struct hd_arena px_arena;
int px_set_up(void **state);
int px_tear_down(void **state);

#endif
