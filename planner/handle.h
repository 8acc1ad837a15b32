/* Handles: making them, and what is known of them before they load. */
#ifndef HEDDLE_PLANNER_HANDLE_H
#define HEDDLE_PLANNER_HANDLE_H

#include "planner/ctx.h"

struct handle *h_new(struct ctx *c, enum handle_kind k, struct hd_type t, bool nullable);
struct handle *h_row(struct ctx *c, int slot, const struct fe_table *t, int state, bool row_nullable);
struct handle *h_column(struct ctx *c, const struct fe_table *t, int column, struct handle *row);
struct handle *h_field(struct ctx *c, int state, int field, struct handle *row);
/* What a state will hold of handle `what`, at a row of it; such a handle tells facts and never loads (known.h). */
struct handle *h_kept(struct ctx *c, struct handle *what, struct handle *row);
struct handle *h_phys(struct ctx *c, struct pl_val v);
/* Logical expression over env; a plain column is env's own handle. */
struct handle *h_expr(struct ctx *c, const struct fe_expr *e, struct handle **env);
/* Row of t found by key index `index` from handle key, which is known to name one. */
struct handle *h_lookup(struct ctx *c, const struct fe_table *t, int index, struct handle *key);
/* Key index of t on column, -1 none. */
int key_index_of(const struct fe_table *t, int column);
/* The handle behind plain column references of projections. */
struct handle *h_plain(struct handle *h);
/* What is known of a handle without loading it. */
struct pl_range h_range(const struct ctx *c, const struct handle *h);
double h_distinct(const struct ctx *c, const struct handle *h, double rows);
bool h_dict(const struct ctx *c, const struct handle *h, const struct fe_table **t, int *column);
/* The key set determines handle h (functional dependency through unique columns and lookups). */
bool h_determined(struct ctx *c, struct handle *h, struct handle *const *keys, int nkeys);

/* Lower bound of s in the dictionary of a column; the only way to read one while planning. */
int h_dict_find(const struct ctx *c, const struct fe_table *t, int column, const char *s, size_t n, uint32_t *code,
                bool *found, struct hd_err *err);

#endif
