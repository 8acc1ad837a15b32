/* Dictionary maps (dict_map.c). */
#ifndef HEDDLE_PLANNER_DICT_MAP_H
#define HEDDLE_PLANNER_DICT_MAP_H

#include "planner/ctx.h"

/* Finds in e what will be evaluated once for each entry of the dictionary of the one column that it reads, for `rows`
 * rows of node n with columns env, and records it there. */
void map_plan(struct ctx *c, struct pl_node *n, struct handle *const *env, const struct fe_expr *e, double rows);
/* Whether that is so of e itself. */
bool map_planned(const struct ctx *c, const struct fe_expr *e);
/* What is worth that: it reads texts, and does not only compare them. */
bool map_is_string_work(const struct fe_expr *e);
/* The one column that e reads, handle h, and its dictionary; false: there is none. */
bool map_column(struct ctx *c, struct handle *const *env, const struct fe_expr *e, struct handle **h,
                const struct fe_table **t, int *column);
/* One that exists, NULL: none. */
struct dict_map *map_find(struct ctx *c, const struct fe_table *t, int column, const struct fe_expr *e);
/* A pipeline over the dictionary, and the environment in which to lower e there; e's value then ends it. */
int map_begin(struct ctx *c, const struct fe_table *t, int column, const struct fe_expr *e, struct open_pipeline **p,
              struct handle ***env);
int map_end(struct ctx *c, struct open_pipeline *p, const struct fe_expr *e, struct pl_val v);
/* The value of e for a code. */
void map_lookup(struct ctx *c, const struct dict_map *map, const struct fe_expr *e, struct pl_val code,
                struct pl_val *out);

#endif
