/* Shared by the files that translate Substrait. Relations become operators whose columns all have names of their own, so that a
 * field's number is a name wherever it is used: what a relation puts out is a list of names, and an operator may have more
 * columns than that. */
#ifndef HEDDLE_FRONTEND_SUBSTRAIT_READ_H
#define HEDDLE_FRONTEND_SUBSTRAIT_READ_H

#include "frontend/json.h"
#include "frontend/json_make.h"
#include "frontend/substrait.h"

/* A relation's operator and its fields. */
struct sub_rel {
    struct cJSON *node;
    int n;
    const char **cols; /* names of the node's columns, one may be there more than once */
    bool exact; /* the node has these columns alone, each once, in this order */
    bool one_row; /* neither more nor less */
};

/* What expressions read: fields of input, then those of right. Subqueries and windows come between the operator and
 * its input, which then has more columns. */
struct sub_scope {
    struct sub_rel *input;
    const struct sub_rel *right; /* NULL: none */
    const char *place; /* NULL: subqueries that ask may stand here; else why not */
    bool decides; /* the expression is a conjunct of a filter: NULL is as good as false */
    struct cJSON *window; /* the operator on top of the input, if expressions made one */
};

enum sub_producer { SUB_DATAFUSION, SUB_DUCKDB, SUB_STANDARD };

struct sub_name {
    const char *name;
    int next; /* number of the next one like it */
    struct sub_name *after;
};

struct sub {
    struct hd_arena *arena;
    struct hd_err *err;
    enum sub_producer producer;
    bool written_here; /* by Heddle: marks are never NULL */
    const struct fe_json *relations;
    struct sub_function {
        int64_t anchor;
        const char *name; /* without the types behind a colon */
        bool own; /* of Heddle's extension, under Heddle's name */
    } *functions;
    int nfunctions;
    struct sub_name *names[256];
    struct cJSON *params; /* of the plan */
    struct cJSON *shared; /* its subplans that are used more than once */
    struct sub_shared *aggregates, *referenced;
    int naggregates;
    struct sub_origin *origins;
    int *uses; /* of relations without a root, by references; NULL: nobody asked */
    int subplans; /* conditions about subplans so far */
    int depth; /* of relations */
    int count; /* of relations read: references may make many of few */
    /* What expressions need of relations, and of functions that need expressions. */
    int (*rel)(struct sub *t, const struct fe_json *v, struct sub_rel *out);
    int (*window)(struct sub *t, const struct fe_json *call, const struct fe_json *window, struct sub_scope *s,
                  const char **column);
};

/* ---- substrait_base.c: helpers ---- */

/* A name that no column has yet: hint, or hint_2 and so on. */
const char *sub_new_name(struct sub *t, const char *hint);
/* It is the name of a table's column, which others then do not get; false if it has been one's before. */
bool sub_take_name(struct sub *t, const char *name);
struct cJSON *sub_make_op(struct sub *t, const char *op); /* {"op": op} */
struct cJSON *sub_make_col(struct sub *t, const char *name);
/* An operator of expressions, which args may be NULL of; NULL ends. */
struct cJSON *sub_call(struct sub *t, const char *op, ...) __attribute__((sentinel));
void sub_add_arg(struct cJSON *call, struct cJSON *arg);
/* The one member that says of which kind v is, of those in names; an error that names what there is otherwise. */
int sub_kind(const struct fe_json *v, const char *const *names, int n, const char *what, int *kind,
             struct fe_json *out);
/* An unsupported one: class UNSUPPORTED, with v's path. */
int sub_refuse(struct sub *t, const struct fe_json *v, const char *fmt, ...) HD_PRINTF(3, 4);
/* A member that may be left out, which then is empty. */
const char *sub_text(const struct fe_json *v, const char *key);
int sub_int(const struct fe_json *v, const char *key, int64_t *out);
/* A list that may be left out: false, also if it is empty. */
bool sub_list(const struct fe_json *v, const char *key, struct fe_json *list);
/* Brings the operator's columns to those of the fields, by a project. */
void sub_narrow(struct sub *t, struct sub_rel *r);
/* The operator on top is op. */
bool sub_is(const struct sub_rel *r, const char *op);

/* The relation that a member is. */
int sub_input(struct sub *t, const struct fe_json *v, const char *key, struct sub_rel *out);

/* ---- substrait_share.c: groupings that are there more than once ---- */

/* The relation v, which references have: a shared subplan, its columns under new names at each use. */
int sub_reference(struct sub *t, const struct fe_json *v, struct sub_rel *out);
/* The aggregate v was read before: its columns, under new names. */
bool sub_find_shared(struct sub *t, const struct fe_json *v, struct sub_rel *out);
/* The aggregate v was read, for the first time. */
void sub_may_share(struct sub *t, const struct fe_json *v, const struct sub_rel *r);

/* ---- substrait_type.c ---- */

/* The type's text as Heddle writes it. */
int sub_type(struct sub *t, const struct fe_json *v, const char **out);
bool sub_type_nullable(const struct fe_json *v);

/* ---- substrait_literal.c ---- */

/* A tree {"lit"...}. */
int sub_literal(struct sub *t, const struct fe_json *v, struct cJSON **out);
/* The value alone, for the rows of a table of values. */
int sub_literal_value(struct sub *t, const struct fe_json *v, struct cJSON **out);
struct hd_interval;
/* Whether x is a literal that is an interval, and its parts. */
bool sub_interval(const struct cJSON *x, struct hd_interval *out);

/* ---- substrait_function.c ---- */

const char *sub_function_name(struct sub *t, const struct fe_json *call, struct fe_json *reference);
/* It is one of Heddle's own extension: an operator by its name. */
bool sub_is_own(struct sub *t, const struct fe_json *call);
/* It is coalesce. */
bool sub_is_coalesce(struct sub *t, const struct fe_json *call);
/* A call whose arguments are there. */
int sub_scalar_function(struct sub *t, const struct fe_json *call, const struct fe_json *at, const char *name, int n,
                        struct cJSON **args, struct cJSON **out);
bool sub_is_and(struct sub *t, const struct fe_json *call);
bool sub_is_equal(struct sub *t, const struct fe_json *call, bool *null_equal);
/* What Heddle calls an aggregate or window function. */
struct sub_aggregate {
    const char *name; /* as the producer has it */
    const char *fn;
    enum sub_agg_rule {
        SUB_AGG_PLAIN,
        SUB_AGG_COUNT,
        SUB_AGG_BY,
        SUB_AGG_Q,
        SUB_AGG_TEXT,
        SUB_AGG_RANK,
        SUB_AGG_N,
        SUB_AGG_SHIFT,
        SUB_AGG_EDGE,
        SUB_AGG_NTH
    } rule;
};
int sub_find_aggregate(struct sub *t, const struct fe_json *call, const struct sub_aggregate **out);

/* ---- substrait_aggregate_call.c: functions of many rows ---- */

/* Fields of `call` as an aggregate's, or a window's function where `windowed`. */
int sub_aggregate(struct sub *t, const struct fe_json *call, struct sub_scope *s, bool windowed, struct cJSON **out);
int sub_sort_keys(struct sub *t, const struct fe_json *sorts, struct sub_scope *s, struct cJSON **out);
/* A window's function over the scope's input; its column. */
int sub_window(struct sub *t, const struct fe_json *call, const struct fe_json *window, struct sub_scope *s,
               const char **column);

/* ---- substrait_expr.c ---- */

int sub_expr(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out);
/* "name" of a column, {"expr"} of others. */
struct cJSON *sub_key(struct sub *t, struct cJSON *x);
/* The column that x is, or NULL. */
const char *sub_column_of(const struct cJSON *x);

/* ---- relations: substrait_rel.c, _source.c, _join.c, _group.c ---- */

/* Any: what sub.rel is. */
int sub_relation(struct sub *t, const struct fe_json *v, struct sub_rel *out);
int sub_read_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out);
int sub_join_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out);
int sub_cross_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out);
int sub_aggregate_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out);
int sub_set_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out);

#endif
