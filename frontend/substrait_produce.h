/* Shared by the files that write a typed plan as one of Substrait. Each operator becomes a relation whose fields are the
 * operator's columns, in their order; what Substrait has no form for is refused with the operator's path. */
#ifndef HEDDLE_FRONTEND_SUBSTRAIT_PRODUCE_H
#define HEDDLE_FRONTEND_SUBSTRAIT_PRODUCE_H

#include "frontend/json_make.h"
#include "frontend/plan.h"
#include "frontend/substrait.h"
#include "runtime/base/vec.h"

/* The tree of a plan in Substrait's JSON form, in the arena. */
int sub_produce(struct hd_arena *a, const struct fe_plan *plan, struct cJSON **out, struct hd_err *err);

struct sp {
    struct hd_arena *arena;
    struct hd_err *err;
    const struct fe_plan *plan;
    struct cJSON *urns, *functions, *relations;
    HD_VEC(const char *) urn_names;
    HD_VEC(const char *) function_names; /* with their extensions */
    int *uses; /* of each shared subplan */
    int *ordinal; /* of its relation, -1: it is written where it is used */
    /* What operators need of operators: sp_rel. */
    int (*rel)(struct sp *p, const struct fe_node *n, struct cJSON **out);
};

/* An error of class UNSUPPORTED. */
int sp_refuse(struct sp *p, const char *path, const char *fmt, ...) HD_PRINTF(3, 4);

/* ---- substrait_produce_literal.c: types and values ---- */

int sp_type(struct sp *p, struct hd_type t, bool nullable, const char *path, struct cJSON **out);
/* A type's name in signatures; NULL: it has none. */
const char *sp_short_name(struct hd_type t);
/* An expression; v of its type. */
int sp_literal(struct sp *p, const struct fe_value *v, const char *path, struct cJSON **out);
struct cJSON *sp_int_literal(struct sp *p, const char *kind, int64_t v);
struct cJSON *sp_bool_literal(struct sp *p, bool b);

/* ---- substrait_produce_function.c: functions ---- */

/* The reference to a function by the name of its extension, NULL: Heddle's own, and its name with a signature. */
int sp_function(struct sp *p, const char *extension, const char *name);
/* The same of a scalar or another function with these arguments: the first row that has them, or Heddle's own. */
int sp_find_call(struct sp *p, enum fe_op op, int n, struct fe_expr *const *args);
int sp_find_aggregate(struct sp *p, const char *name, int n, const struct fe_expr *const *args);
/* Heddle's own, of an operator. */
int sp_own_call(struct sp *p, enum fe_op op, int n, struct fe_expr *const *args);
/* What `extract` calls a field, and how it counts ("": not at all); false: it does not have it. */
bool sp_component(enum fe_field f, const char **name, const char **counts_from);
void sp_add_value(struct sp *p, struct cJSON *args, struct cJSON *x);
void sp_add_enum(struct sp *p, struct cJSON *args, const char *name);
/* A call as an expression. */
int sp_call(struct sp *p, int function, struct hd_type t, bool nullable, const char *path, struct cJSON *args,
            struct cJSON **out);

/* ---- substrait_produce_expr.c ---- */

/* Field number col of what the expression reads. */
struct cJSON *sp_field(struct sp *p, int col);
/* COL.col counts from `first`. */
int sp_expr(struct sp *p, const struct fe_expr *e, int first, struct cJSON **out);
/* a = b, or where NULLs match, is not distinct from. */
int sp_equal(struct sp *p, const struct fe_expr *a, const struct fe_expr *b, int first_b, bool null_equal,
             struct cJSON **out);
int sp_bool_call(struct sp *p, const char *extension, const char *name, bool nullable, struct cJSON *args,
                 struct cJSON **out);
/* Of several conditions; NULL of none. */
int sp_and(struct sp *p, int n, struct cJSON *const *conditions, struct cJSON **out);

/* ---- substrait_produce_rel.c, substrait_produce_join.c, substrait_produce_group.c, substrait_produce_window.c ---- */

/* A relation of a kind, with an input under that key unless it is NULL. Its body takes further members. */
struct cJSON *sp_new_rel(struct sp *p, const char *kind, struct cJSON *input, struct cJSON **body);
/* Rel puts out these of its fields, in this order; fields NULL: n of them, from `first`. */
struct cJSON *sp_emit(struct sp *p, struct cJSON *rel, int n, const int *fields, int first);
int sp_sorts(struct sp *p, const struct fe_sort_key *keys, int n, struct cJSON **out);
int sp_join(struct sp *p, const struct fe_node *n, struct cJSON **out);
int sp_aggregate(struct sp *p, const struct fe_node *n, struct cJSON **out);
/* The projection n above a window. */
int sp_window(struct sp *p, const struct fe_node *n, struct cJSON **out);
int sp_top(struct sp *p, const struct fe_node *n, struct cJSON **out);

#endif
