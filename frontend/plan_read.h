/* Shared by the files that read plans: plan_read.c (the document), plan_ops.c and plan_join.c
 * (the operators). */
#ifndef HEDDLE_FRONTEND_PLAN_READ_H
#define HEDDLE_FRONTEND_PLAN_READ_H

#include "frontend/ast.h"
#include "frontend/catalog.h"
#include "frontend/constant.h"
#include "frontend/json.h"
#include "frontend/subplan.h"

enum { FE_PLAN_MAX_DEPTH = 256, FE_PLAN_MAX_COLUMNS = 4096 };

enum fe_shared_state { FE_SHARED_UNREAD, FE_SHARED_READING, FE_SHARED_READ };

struct fe_plan_reader {
    struct hd_arena *arena;
    struct hd_err *err;
    const struct fe_catalog *cat;
    struct fe_plan *plan;
    const struct fe_json *shared; /* the "shared" object, or NULL */
    enum fe_shared_state *state;  /* by position in that object */
    int *shared_index;            /* position -> index in plan->shared once read */
    int depth;                    /* operators above the current one, through references */
};

/* plan_read.c */
/* A plan in JSON, in the arena of its reader. */
int fe_plan_read_value(const struct fe_json *root, const struct fe_catalog *cat, struct fe_plan **out);
int fe_read_node(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out);
/* Member that holds an operator. */
int fe_read_input(struct fe_plan_reader *r, const struct fe_json *v, const char *key, struct fe_node **out);
/* Index in plan->shared of the subplan called name; reads it if it was not yet. */
int fe_read_shared(struct fe_plan_reader *r, const struct fe_json *at, const char *name, int *out);
struct fe_node *fe_new_node(struct fe_plan_reader *r, const struct fe_json *v, enum fe_relop op, int ninputs);
/* Output columns = copies of these; checks that names are distinct and not too many. */
int fe_set_columns(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n, int ncols,
                   const struct fe_column *cols);
int fe_read_expr(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope,
                 const struct hd_type *want, const char *what, struct fe_expr **out);
/* Optional condition; *out is NULL if the key is absent. */
int fe_read_condition(struct fe_plan_reader *r, const struct fe_json *v, const char *key, const struct fe_scope *scope,
                      struct fe_expr **out);
/* Index of the text in the list, or an error that shows the list. */
int fe_read_choice(const struct fe_json *v, const char *const *choices, int n, int *out);
/* plan_bind.c: a default or a bound value. */
int fe_param_read_value(struct fe_param *p, const struct fe_json *v);
struct fe_scope fe_scope_of(const struct fe_node *n);
/* A shared subplan that is read; its index in plan->shared. */
int fe_add_shared(struct fe_plan_reader *r, const char *name, struct fe_node *node);
/* plan_join.c: the fields "on" and "residual" of a join whose inputs are there. */
int fe_read_match(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n);
/* Key types end up equal, so that both sides hash alike. */
int fe_unify_keys(struct fe_plan_reader *r, const struct fe_json *v, struct fe_expr **left, struct fe_expr **right);

/* plan_subplan.c: what subplans in the expressions of an operator become. */
struct fe_below {
    struct fe_subplans base;
    struct fe_plan_reader *r;
    struct fe_node **input; /* of the operator; the joins come above it */
    struct fe_scope *scope; /* of its expressions, with the marks so far */
    struct fe_node *first;  /* the input as it was */
};
/* Until the operator v is read. */
void fe_subplans_below(struct fe_below *b, struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **input,
                       struct fe_scope *scope, bool filters);
/* The filter, with what it tests before it joins, and without the marks. */
struct fe_node *fe_subplans_filtered(struct fe_below *b, const struct fe_json *v, struct fe_node *filter);
/* plan_ops.c: n's sort keys are those of the list `group`, if there is one, then those of "order", then the columns that are left. */
int fe_read_order(struct fe_plan_reader *r, const struct fe_json *v, const char *group, const struct fe_scope *scope,
                  struct fe_node *n);
/* The type of a sum of values of type t. */
struct hd_type fe_sum_type(struct hd_type t);
struct hd_type fe_avg_type(struct hd_type t);
/* plan_groups.c: "sets", "rollup" or "cube" of an aggregate with keys, whose columns may become nullable. */
int fe_read_sets(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n, struct fe_column *keys);
/* The keys that `grouping` is of. */
int fe_read_grouping(struct fe_plan_reader *r, const struct fe_json *arg, const struct fe_node *n,
                     const struct fe_column *keys, struct fe_agg *g);
/* plan_ordered.c: what functions of rows in an order take beside an argument. */
int fe_read_ordered(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope, struct fe_agg *g);
/* "q" of a quantile. */
int fe_read_fraction(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope, struct fe_agg *g);
/* plan_ops.c: the type of an aggregate of its argument; an error if it takes no such. */
int fe_agg_type(const struct fe_json *v, struct fe_agg *g);
/* plan_constant.c: constants beside the expressions. */
/* The member `key`, if there is one: an integer, ":name" or {"param": name}. */
int fe_read_integer(struct fe_plan_reader *r, const struct fe_json *v, const char *key, enum fe_constant place,
                    struct fe_expr **out);
struct fe_expr *fe_constant_int(struct fe_plan_reader *r, const struct fe_json *v, int64_t i);
/* The same of a text, which ":name" is one of. */
int fe_read_text(struct fe_plan_reader *r, const struct fe_json *v, const char *key, const char *otherwise,
                 enum fe_constant place, struct fe_expr **out);
/* Some group has no key, so that it is there without rows. */
bool fe_has_empty_set(const struct fe_node *n);

/* One per operator of relops.def. */
#define T_REL(id, name) int fe_read_##id(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out);
#include "frontend/relops.def"

#endif
