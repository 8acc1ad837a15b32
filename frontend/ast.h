/* Untyped expressions, as written: what the text parser (expr_parse.c) and the JSON tree
 * reader (expr_tree.c) make, and what typing (expr_type.c) turns into struct fe_expr.
 * BETWEEN and simple CASE are rewritten when read, so a subtree may be shared; `size` counts
 * it as often as it is met, and a limit keeps later walks short. */
#ifndef HEDDLE_FRONTEND_AST_H
#define HEDDLE_FRONTEND_AST_H

#include "frontend/plan.h"

struct fe_json;

/* The type of a bare `null` until its context gives it one. */
static inline struct hd_type fe_no_type(void)
{
    return hd_type_of(HD_TYPE_COUNT);
}
static inline bool fe_is_no_type(struct hd_type t)
{
    return t.kind == HD_TYPE_COUNT;
}

enum { FE_EXPR_MAX_DEPTH = 256, FE_EXPR_MAX_SIZE = 200000 };

struct fe_ast {
    enum fe_op op;
    bool interval;       /* an interval: args[0] is its amount, `field` its unit; op unused */
    const char *path;    /* JSON path of the string or tree node */
    int pos;             /* byte offset in the string, -1 in a tree */
    const char *name;    /* COL, PARAM */
    struct fe_value lit; /* LIT */
    struct hd_type type; /* CAST */
    enum fe_field field; /* of operators whose syntax has one; interval */
    int nargs;
    struct fe_ast **args;
    int depth, size;
};

struct fe_ast *fe_ast_new(struct hd_arena *a, enum fe_op op, const char *path, int pos);
/* Sets the arguments (copied) and computes depth and size. */
void fe_ast_set_args(struct hd_arena *a, struct fe_ast *x, int n, struct fe_ast *const *args);
int fe_ast_fail(const struct fe_ast *x, struct hd_err *err, const char *fmt, ...) HD_PRINTF(3, 4);
/* Error if the tree is beyond the limits. */
int fe_ast_check_size(const struct fe_ast *x, struct hd_err *err);

int fe_ast_parse(struct hd_arena *a, const char *text, const char *path, struct fe_ast **out, struct hd_err *err);
/* A string in the syntax, or a tree. */
int fe_ast_read(const struct fe_json *v, struct fe_ast **out);
/* True if the word cannot stand as a column name without quotes. */
bool fe_ast_is_reserved(const char *s, size_t n);

/* What names mean to an expression. */
struct fe_scope {
    int ncols;
    const struct fe_column *cols;
    const char *alias; /* "alias.name" is accepted for column "name"; may be NULL */
};
struct fe_typing {
    struct hd_arena *arena;
    struct hd_err *err;
    struct fe_param *params;
    int nparams;
    const struct fe_scope *scope;
};
/* Types x; `want` (may be NULL) is the type the place needs, for messages "what". */
int fe_ast_type(struct fe_typing *t, const struct fe_ast *x, const struct hd_type *want, const char *what,
                struct fe_expr **out);
/* The number of the parameter that x names. */
int fe_param_find(const struct fe_typing *t, const struct fe_ast *x, int *out);
/* Finds a column by its exact name or fails with the list of names. */
int fe_scope_find(const struct fe_scope *s, const char *name, const char *path, int pos, struct hd_err *err, int *out);

/* The typing rule BUCKET of ops.def (expr_bucket.c). */
int ft_BUCKET(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
/* The typing rule REGEXP (expr_regexp.c). */
int ft_REGEXP(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);

/* ---- conversions shared by typing, joins and unions (expr_unify.c) ------------------- */

/* What e is compared, grouped, joined and ordered by: of an interval its length, else e. */
struct fe_expr *fe_expr_key(struct hd_arena *a, struct fe_expr *e);
/* The type both can be converted to in case, coalesce and union_all. */
bool fe_type_unify(struct hd_type a, struct hd_type b, struct hd_type *out);
/* CAST node, or the literal itself where its value can be cast now. */
struct fe_expr *fe_expr_cast(struct hd_arena *a, struct fe_expr *e, struct hd_type to);
/* Brings both sides of a comparison to types that compare directly: the same kind, and the
 * same scale for decimals. Prefers changing literals. False if they cannot be compared. */
bool fe_expr_unify_compare(struct hd_arena *a, struct fe_expr **l, struct fe_expr **r);
/* Whether numbers that meet are float32: one is, and the others are too, or exact literals or parameters. */
bool fe_expr_meet_in_float32(int n, struct fe_expr *const *e);
/* The type in which values of both types are compared. */
bool fe_type_compare(struct hd_type l, struct hd_type r, struct hd_type *out);
/* A literal that is exactly a value of the type, or has none itself where the type has none. */
bool fe_expr_fits(const struct fe_expr *e, struct hd_type type);
/* Brings a decimal or int to the scale, keeping its whole digits. */
struct fe_expr *fe_expr_to_scale(struct hd_arena *arena, struct fe_expr *e, int scale);
/* The type of values rounded to so many digits, with a whole digit for the carry. */
struct hd_type fe_type_rounded(struct hd_type t, int digits);
struct fe_expr *fe_expr_column(struct hd_arena *a, int col, const struct fe_column *c, const char *path);
/* int32 as decimal(10,0), int64 as decimal(19,0). */
struct hd_type fe_type_as_decimal(struct hd_type t);

#endif
