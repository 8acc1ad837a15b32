#include "planner/rewrite_node.h"

#include "planner/typed.h"
#include "runtime/base/interval.h"
#include "runtime/base/vec.h"

struct fe_node *rw_node(const struct rewriting *w, enum fe_relop op, const struct fe_node *of, int ninputs,
                        struct fe_node *x, struct fe_node *y)
{
    struct fe_node *n = HD_NEW(w->a, struct fe_node);
    *n = (struct fe_node){.op = op, .path = of->path, .ninputs = ninputs};
    n->inputs = HD_NEWN(w->a, struct fe_node *, 2);
    n->inputs[0] = x;
    n->inputs[1] = y;
    return n;
}

struct fe_expr *rw_column(const struct rewriting *w, const struct fe_node *n, int i)
{
    return pl_col_node(w->a, i, n->cols[i].type, n->cols[i].nullable, n->path);
}

void rw_set_columns(const struct rewriting *w, struct fe_node *n, const struct fe_node *of)
{
    n->ncols = of->ncols;
    n->cols = hd_dup(w->a, of->cols, sizeof *of->cols * (size_t)of->ncols);
}

struct fe_expr **rw_columns(const struct rewriting *w, const struct fe_node *n)
{
    struct fe_expr **e = HD_NEWN(w->a, struct fe_expr *, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++)
        e[i] = rw_column(w, n, i);
    return e;
}

/* Rows that cost no more when they are made twice than when they are kept. */
static bool is_cheap(const struct fe_node *n)
{
    switch (n->op) {
    case FE_SCAN_OP:
    case FE_REF_OP:
    case FE_VALUES_OP: return true;
    case FE_FILTER_OP:
    case FE_PROJECT_OP: return is_cheap(n->inputs[0]);
    case FE_JOIN_OP:
    case FE_PAIRS_OP:
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP:
    case FE_SORT_OP:
    case FE_TOP_OP:
    case FE_WINDOW_OP:
    case FE_REPEAT_OP:
    case FE_LIMIT_OP:
    case FE_UNION_ALL_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    return false;
}

struct fe_node *rw_copy(const struct rewriting *w, const struct fe_node *n)
{
    struct fe_node *to = hd_dup(w->a, n, sizeof *n);
    to->inputs = HD_NEWN(w->a, struct fe_node *, n->ninputs + 1);
    for (int i = 0; i < n->ninputs; i++)
        to->inputs[i] = rw_copy(w, n->inputs[i]);
    return to;
}

int rw_add_shared(struct rewriting *w, const char *name, struct fe_node *n)
{
    struct fe_plan *p = w->plan;
    if (p->nshared == w->cap) {
        w->cap = 2 * w->cap + 4;
        struct fe_node **nodes = HD_NEWN(w->a, struct fe_node *, w->cap);
        const char **names = HD_NEWN(w->a, const char *, w->cap);
        for (int i = 0; i < p->nshared; i++) {
            nodes[i] = p->shared[i];
            names[i] = p->shared_names[i];
        }
        p->shared = nodes;
        p->shared_names = names;
    }
    p->shared_names[p->nshared] = name;
    p->shared[p->nshared] = n;
    return p->nshared++;
}

struct fe_node *rw_share(struct rewriting *w, struct fe_node *n, const char *name)
{
    if (is_cheap(n))
        return n;
    struct fe_node *ref = rw_node(w, FE_REF_OP, n, 0, NULL, NULL);
    ref->u.ref.shared = rw_add_shared(w, name, n);
    ref->ncols = n->ncols;
    ref->cols = n->cols;
    return ref;
}

struct fe_node *rw_join(const struct rewriting *w, enum fe_join_kind kind, struct fe_node *left, struct fe_node *right,
                        int nk, struct fe_expr *const *lkeys, struct fe_expr *by, int at)
{
    struct fe_node *n = rw_node(w, FE_JOIN_OP, left, 2, left, right);
    n->u.join.kind = kind;
    n->u.join.nkeys = nk + (by != NULL);
    n->u.join.lkeys = HD_NEWN(w->a, struct fe_expr *, nk + 1);
    n->u.join.rkeys = HD_NEWN(w->a, struct fe_expr *, nk + 1);
    n->u.join.null_equal = HD_NEWN(w->a, bool, nk + 1);
    for (int i = 0; i < nk; i++) {
        n->u.join.lkeys[i] = rw_key(w, lkeys[i]);
        n->u.join.rkeys[i] = rw_key(w, rw_column(w, right, i));
        n->u.join.null_equal[i] = true;
    }
    n->u.join.lkeys[nk] = by;
    n->u.join.rkeys[nk] = by ? rw_column(w, right, at) : NULL;
    n->ncols = left->ncols + (kind == FE_SEMI || kind == FE_ANTI ? 0 : right->ncols);
    n->cols = HD_NEWN(w->a, struct fe_column, n->ncols + 1);
    memcpy(n->cols, left->cols, sizeof *n->cols * (size_t)left->ncols);
    for (int i = left->ncols; i < n->ncols; i++) {
        n->cols[i] = right->cols[i - left->ncols];
        n->cols[i].nullable |= kind == FE_LEFT;
    }
    return n;
}

struct fe_expr *rw_key(const struct rewriting *w, struct fe_expr *e)
{
    const struct hd_type length = hd_decimal(HD_INTERVAL_LENGTH_DIGITS, 0);
    if (e->type.kind != HD_INTERVAL)
        return e;
    return pl_expr_node(w->a, FE_INTERVAL_LENGTH, length, e->nullable, e->path, 1, e, NULL);
}

static void renumber(struct fe_node *n, int *next)
{
    n->id = (*next)++;
    for (int i = 0; i < n->ninputs; i++)
        renumber(n->inputs[i], next);
}

void rw_renumber(struct fe_plan *p)
{
    p->nnodes = 0;
    renumber(p->root, &p->nnodes);
    for (int i = 0; i < p->nshared; i++)
        renumber(p->shared[i], &p->nnodes);
}
