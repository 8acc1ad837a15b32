/* A producer of SQL writes a common table expression out at every use, and a subquery repeats joins of the query around it (TPC-H
 * Q11, JCC-H Q2). Joins and groupings that give the same rows once joins are ordered are computed once, and their rows kept, where
 * that costs less (Zhou, Larson, Freytag and Lehner, Efficient Exploitation of Similar Subexpressions for Query Processing, SIGMOD
 * 2007). Larger ones come first. Each shared subplan changes estimates, so the physical plan is made anew before the next. */
#include "planner/share_subplans.h"

#include <stdlib.h>

#include "frontend/catalog.h"
#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/physical.h"
#include "planner/rewrite_node.h"
#include "planner/share_cost.h"
#include "planner/share_match.h"
#include "planner/typed.h"

enum { USES_MAX = 16, CANDIDATES_MAX = 256, NODES_MAX = 4096 };

struct candidate {
    struct fe_node *n;
    int size; /* operators */
    uint64_t word; /* the same for all that may be alike */
};

/* A use of the shared rows. */
struct use {
    const struct candidate *of;
    struct fe_expr **columns; /* over the shared rows */
    struct fe_expr *rest; /* tested of them, or NULL */
    struct fe_node *coarser; /* grouping of them, or NULL */
    double cost; /* where it is computed alone */
};

struct sharing {
    struct ctx *c;
    struct fe_node *n; /* shared */
    int nuses;
    struct use uses[USES_MAX];
    double together, at_each;
};

/* ---- candidates --------------------------------------------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 0x7f4a7c15u);
    x ^= x >> 31;
    return x * 0xbf58476d1ce4e5b9u;
}

/* What filters and projections say is compared later; so is how inner joins nest. */
static uint64_t word_of(const struct fe_node *n)
{
    uint64_t w = mixed(n->op, n->op == FE_JOIN_OP ? n->u.join.kind : 0);
    switch (n->op) {
    case FE_SCAN_OP: return mixed(w, (uintptr_t)n->u.scan.table);
    case FE_REF_OP: return mixed(w, (uint64_t)n->u.ref.shared);
    case FE_FILTER_OP:
    case FE_PROJECT_OP: return word_of(n->inputs[0]);
    case FE_JOIN_OP:
        if (share_is_inner(n))
            return word_of(n->inputs[0]) + word_of(n->inputs[1]);
        break;
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP:
    case FE_UNION_ALL_OP: break;
    case FE_VALUES_OP:
    case FE_PAIRS_OP:
    case FE_SORT_OP:
    case FE_TOP_OP:
    case FE_WINDOW_OP:
    case FE_REPEAT_OP:
    case FE_LIMIT_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: return mixed(w, (uint64_t)n->id + 1); /* like nothing */
    }
    for (int i = 0; i < n->ninputs; i++)
        w = mixed(w, word_of(n->inputs[i]));
    return w;
}

static int size_of(const struct fe_node *n)
{
    int size = 1;
    for (int i = 0; i < n->ninputs; i++)
        size += size_of(n->inputs[i]);
    return size;
}

typedef HD_VEC(struct candidate) candidates;

static void collect(struct ctx *c, struct fe_node *n, candidates *all)
{
    const bool fits =
        n->op == FE_JOIN_OP || n->op == FE_AGGREGATE_OP || n->op == FE_DISTINCT_OP || n->op == FE_UNION_ALL_OP;
    if (fits && all->n < CANDIDATES_MAX)
        hd_vec_push(c->a, all, ((struct candidate){n, size_of(n), word_of(n)}));
    for (int i = 0; i < n->ninputs; i++)
        collect(c, n->inputs[i], all);
}

static int by_size(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    return a->size != b->size ? (a->size < b->size) - (a->size > b->size)
                              : (a->n->id > b->n->id) - (a->n->id < b->n->id);
}

/* ---- what several uses have in common --------------------------------------------------------------------------------------- */

static void substitute(struct sharing *s, struct fe_expr *const *columns)
{
    struct ctx *c = s->c;
    for (int i = 0; i < s->nuses; i++) {
        struct use *u = &s->uses[i];
        for (int k = 0; k < u->of->n->ncols && u->columns; k++)
            u->columns[k] = share_over(c, u->columns[k], columns);
        u->rest = u->rest ? share_over(c, u->rest, columns) : NULL;
        for (int k = 0; u->coarser && k < u->coarser->u.agg.nkeys; k++)
            u->coarser->u.agg.keys[k] = share_over(c, u->coarser->u.agg.keys[k], columns);
        for (int k = 0; u->coarser && k < u->coarser->u.agg.naggs; k++) {
            struct fe_agg *a = &u->coarser->u.agg.aggs[k];
            a->arg = a->arg ? share_over(c, a->arg, columns) : NULL;
            a->rows = a->rows ? share_over(c, a->rows, columns) : NULL;
        }
    }
}

static bool add_use(struct sharing *s, const struct candidate *of)
{
    struct share_match m;
    const double cost = share_cost(s->c, of->n);
    if (cost < 0 || s->nuses == USES_MAX || !share_match(s->c, s->n, of->n, false, &m))
        return false;
    substitute(s, m.of[0]);
    s->uses[s->nuses++] = (struct use){of, m.of[1], m.rest, m.coarser, cost};
    s->n = m.n;
    return true;
}

static struct sharing common(struct ctx *c, const candidates *all, int first)
{
    struct sharing s = {.c = c, .n = all->v[first].n};
    const struct rewriting w = {.a = c->a};
    s.uses[s.nuses++] = (struct use){&all->v[first], rw_columns(&w, s.n), NULL, NULL, share_cost(c, s.n)};
    for (int i = 0; i < all->n && s.uses[0].cost >= 0; i++)
        if (i != first && all->v[i].word == all->v[first].word)
            add_use(&s, &all->v[i]);
    return s;
}

/* ---- costs --------------------------------------------------------------------------------------------------------------------- */

static void read_by(const struct fe_expr *e, bool *columns)
{
    if (e->op == FE_COL)
        columns[e->col] = true;
    for (int i = 0; i < e->nargs; i++)
        read_by(e->args[i], columns);
}

/* Bytes of a row, of the columns that uses read; strings as ids of the rows that have them. */
static int bytes_of(const struct sharing *s)
{
    enum { NARROW = 4, WIDE = 8 };
    int bytes = 0;
    bool *read = HD_NEWN(s->c->a, bool, s->n->ncols + 1);
    for (int i = 0; i < s->nuses; i++) {
        const struct use *u = &s->uses[i];
        for (int k = 0; u->columns && k < u->of->n->ncols; k++)
            if (s->c->need[u->of->n->id][k])
                read_by(u->columns[k], read);
        if (u->rest)
            read_by(u->rest, read);
        for (int k = 0; u->coarser && k < u->coarser->u.agg.naggs; k++)
            if (u->coarser->u.agg.aggs[k].arg)
                read_by(u->coarser->u.agg.aggs[k].arg, read);
    }
    for (int i = 0; i < s->n->ncols; i++)
        bytes += !read[i] ? 0 : s->n->cols[i].type.kind == HD_DECIMAL ? WIDE : NARROW;
    return bytes;
}

static bool is_worth_it(struct sharing *s)
{
    const double rows = est_rows(s->c, s->uses[0].of->n);
    s->at_each = s->uses[0].cost;
    s->together = s->uses[0].cost + share_cost_kept(s->c, rows, bytes_of(s), s->nuses);
    for (int i = 1; i < s->nuses; i++) {
        s->at_each += s->uses[i].cost;
        s->together += s->uses[i].coarser ? share_cost_groups(s->c, rows) : 0;
    }
    return share_worth(s->c, s->together, s->at_each);
}

/* ---- the shared subplan ---------------------------------------------------------------------------------------------------------- */

static void replace(const struct sharing *s, const struct use *u, int number)
{
    const struct rewriting w = {.a = s->c->a};
    struct fe_node *n = u->of->n, *in = rw_node(&w, FE_REF_OP, n, 0, NULL, NULL);
    const double rows = est_rows(s->c, n);
    rw_set_columns(&w, in, s->n);
    in->u.ref.shared = number;
    hd_vec_push(s->c->a, &s->c->counted, ((struct order_counted){.n = n, .rows = rows}));
    if (u->coarser) {
        u->coarser->inputs = rw_node(&w, FE_AGGREGATE_OP, n, 1, in, NULL)->inputs;
        *n = *u->coarser;
        return;
    }
    if (u->rest) {
        struct fe_node *filter = rw_node(&w, FE_FILTER_OP, n, 1, in, NULL);
        rw_set_columns(&w, filter, in);
        filter->u.filter.pred = u->rest;
        hd_vec_push(s->c->a, &s->c->counted, ((struct order_counted){.n = filter, .rows = rows}));
        in = filter;
    }
    struct fe_node *project = rw_node(&w, FE_PROJECT_OP, n, 1, in, NULL);
    project->ncols = n->ncols;
    project->cols = n->cols;
    project->u.project.exprs = u->columns;
    *n = *project;
}

/* The largest number of a shared subplan below n, counted from 1. */
static int refers_to(const struct fe_node *n)
{
    int most = n->op == FE_REF_OP ? n->u.ref.shared + 1 : 0;
    for (int i = 0; i < n->ninputs; i++)
        most = HD_MAX(most, refers_to(n->inputs[i]));
    return most;
}

static void move_references(struct fe_node *n, int from)
{
    if (n->op == FE_REF_OP)
        n->u.ref.shared += n->u.ref.shared >= from;
    for (int i = 0; i < n->ninputs; i++)
        move_references(n->inputs[i], from);
}

/* The first tables, in the order in which they stand: "supplier_nation". */
static void add_tables(struct ctx *c, const struct fe_node *n, const char **name, int *room)
{
    const char *t = n->op == FE_SCAN_OP  ? n->u.scan.table->name
                    : n->op == FE_REF_OP ? c->plan->shared_names[n->u.ref.shared]
                                         : NULL;
    if (t && (*room)-- > 0)
        *name = *name ? hd_asprintf(c->a, "%s_%s", *name, t) : t;
    for (int i = 0; i < n->ninputs; i++)
        add_tables(c, n->inputs[i], name, room);
}

/* Behind those that it refers to, in front of all others, which may refer to it. */
static void share(struct sharing *s)
{
    struct ctx *c = s->c;
    const int at = refers_to(s->n), n = c->plan->nshared;
    struct fe_plan *to = hd_dup(c->a, c->plan, sizeof *to);
    const char *name = NULL;
    int tables = 3;
    add_tables(c, s->n, &name, &tables);
    move_references(to->root, at);
    for (int i = at; i < n; i++)
        move_references(to->shared[i], at);
    to->shared = HD_NEWN(c->a, struct fe_node *, n + 1);
    to->shared_names = HD_NEWN(c->a, const char *, n + 1);
    for (int i = 0; i < n; i++) {
        to->shared[i + (i >= at)] = c->plan->shared[i];
        to->shared_names[i + (i >= at)] = c->plan->shared_names[i];
    }
    to->shared[at] = s->n;
    to->shared_names[at] = name ? name : "shared";
    to->nshared++;
    for (int i = 0; i < s->nuses; i++)
        replace(s, &s->uses[i], at);
    c->plan = to;
    rw_renumber(to);
    hd_vec_push(c->a, &c->shared_told, ((struct shared_told){s->n, s->together, s->at_each}));
}

bool pl_share_subplans(struct ctx *c)
{
    candidates all = {0};
    if (!c->plan->order_auto || c->plan->nnodes > NODES_MAX)
        return false;
    collect(c, c->plan->root, &all);
    for (int i = 0; i < c->plan->nshared; i++)
        if (c->shared[i].uses)
            collect(c, c->plan->shared[i], &all);
    if (all.n)
        qsort(all.v, (size_t)all.n, sizeof *all.v, by_size);
    for (int i = 0; i < all.n; i++) {
        struct sharing s = common(c, &all, i);
        if (s.nuses < 2 || !is_worth_it(&s))
            continue;
        share(&s);
        return true;
    }
    return false;
}
