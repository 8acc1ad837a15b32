/* Two trees of inner joins are alike if there is a bijection of their relations under which each condition of one is one of
 * the other, or follows from its equalities (Goldstein and Larson, Optimizing Queries Using Materialized Views, SIGMOD 2001,
 * section 3: subsumption of equijoins and of other conjuncts). What both can be made of is the first tree again, of
 * relations that pass on what either reads; projections are computed above it. */
#include "planner/share_block.h"

#include "frontend/catalog.h"
#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/rewrite_node.h"
#include "planner/typed.h"

enum { RELATIONS_MAX = 16, TRIES_MAX = 64 /* pairs of relations that are compared */ };

typedef HD_VEC(struct fe_expr *) exprs;

struct relation {
    const struct fe_node *n;
    int base; /* its first column; of a scan all columns of its table */
};

struct block {
    HD_VEC(struct relation) of;
    int ncols;
    exprs terms; /* conjuncts over these columns */
};

struct matching {
    struct ctx *c;
    share_matcher *match;
    struct block x, y;
    struct fe_expr **outs[2]; /* of both roots, over their blocks */
    int to[RELATIONS_MAX]; /* [relation of x]: of y */
    bool taken[RELATIONS_MAX];
    struct share_match pairs[RELATIONS_MAX]; /* [relation of x] */
    int tries;
    int base[RELATIONS_MAX], ncols; /* of columns of all pairs behind each other */
    exprs terms[2]; /* of both, over those */
    bool placed[2 * RELATIONS_MAX + 64]; /* [term of x] */
    int next; /* relation of x that is built */
    exprs rest;
};

struct fe_expr *share_over(struct ctx *c, const struct fe_expr *e, struct fe_expr *const *columns)
{
    if (e->op == FE_COL)
        return columns[e->col];
    struct fe_expr *to = hd_dup(c->a, e, sizeof *e);
    to->args = HD_NEWN(c->a, struct fe_expr *, e->nargs + 1);
    for (int i = 0; i < e->nargs; i++)
        to->args[i] = share_over(c, e->args[i], columns);
    return to;
}

void share_tell(struct ctx *c, const struct fe_node *from, const struct fe_node *to)
{
    const int counted = c->counted.n, told = c->told.n;
    for (int i = 0; i < counted; i++)
        if (c->counted.v[i].n == from) {
            struct order_counted x = c->counted.v[i];
            x.n = to;
            hd_vec_push(c->a, &c->counted, x);
        }
    for (int i = 0; i < told; i++)
        if (c->told.v[i].n == from) {
            struct order_told x = c->told.v[i];
            x.n = to;
            hd_vec_push(c->a, &c->told, x);
        }
}

/* ---- taking apart ----------------------------------------------------------------------------------------------------------- */

static bool any_fails(int n, struct fe_expr *const *e)
{
    for (int i = 0; i < n; i++)
        if (lx_may_fail(e[i]))
            return true;
    return false;
}

bool share_is_inner(const struct fe_node *n)
{
    if (n->op != FE_JOIN_OP || n->u.join.kind != FE_INNER || n->u.join.strategy != FE_AUTO ||
        n->u.join.build != FE_SIDE_AUTO || n->u.join.single || n->u.join.asof[0])
        return false;
    for (int i = 0; i < n->u.join.nkeys; i++)
        if (n->u.join.null_equal[i] && n->u.join.lkeys[i]->nullable && n->u.join.rkeys[i]->nullable)
            return false;
    return !any_fails(n->u.join.nkeys, n->u.join.lkeys) && !any_fails(n->u.join.nkeys, n->u.join.rkeys) &&
           !(n->u.join.residual && lx_may_fail(n->u.join.residual));
}

static void add_terms(struct ctx *c, struct block *b, const struct fe_expr *e, struct fe_expr *const *columns)
{
    const struct fe_expr **v = NULL;
    int n = 0;
    pl_conjuncts(c->a, e, &v, &n);
    for (int i = 0; i < n; i++)
        hd_vec_push(c->a, &b->terms, share_over(c, v[i], columns));
}

static int add_relation(struct ctx *c, struct block *b, const struct fe_node *n, int ncols)
{
    const int base = b->ncols;
    hd_vec_push(c->a, &b->of, (struct relation){n, base});
    b->ncols += ncols;
    return base;
}

static struct fe_expr **scan(struct ctx *c, struct block *b, const struct fe_node *n)
{
    const struct fe_table *t = n->u.scan.table;
    if (n->u.scan.filter && lx_may_fail(n->u.scan.filter))
        return NULL;
    const int base = add_relation(c, b, n, t->ncols);
    struct fe_expr **out = HD_NEWN(c->a, struct fe_expr *, n->ncols + 1),
                   **all = HD_NEWN(c->a, struct fe_expr *, t->ncols + 1);
    for (int i = 0; i < t->ncols; i++)
        all[i] = pl_col_node(c->a, base + i, t->cols[i].type, t->cols[i].nullable, n->path);
    for (int i = 0; i < n->ncols; i++)
        out[i] = all[n->u.scan.columns[i]];
    if (n->u.scan.filter)
        add_terms(c, b, n->u.scan.filter, all);
    return out;
}

static struct fe_expr **flatten(struct ctx *c, struct block *b, const struct fe_node *n);

static struct fe_expr **join(struct ctx *c, struct block *b, const struct fe_node *n)
{
    const int nl = n->inputs[0]->ncols;
    struct fe_expr **left = flatten(c, b, n->inputs[0]), **right = left ? flatten(c, b, n->inputs[1]) : NULL;
    if (!right)
        return NULL;
    struct fe_expr **both = HD_NEWN(c->a, struct fe_expr *, n->ncols + 1);
    memcpy(both, left, sizeof *both * (size_t)nl);
    memcpy(both + nl, right, sizeof *both * (size_t)(n->ncols - nl));
    for (int i = 0; i < n->u.join.nkeys; i++) {
        struct fe_expr *l = share_over(c, n->u.join.lkeys[i], left), *r = share_over(c, n->u.join.rkeys[i], right);
        hd_vec_push(c->a, &b->terms, pl_key_equal(c->a, l, r, n->path, false));
    }
    if (n->u.join.residual)
        add_terms(c, b, n->u.join.residual, both);
    return both;
}

/* The columns of n over those of the block's relations; NULL: something may raise. */
static struct fe_expr **flatten(struct ctx *c, struct block *b, const struct fe_node *n)
{
    if (share_is_inner(n))
        return join(c, b, n);
    if (n->op == FE_SCAN_OP)
        return scan(c, b, n);
    struct fe_expr **out = HD_NEWN(c->a, struct fe_expr *, n->ncols + 1);
    if (n->op == FE_FILTER_OP || n->op == FE_PROJECT_OP) {
        const bool fails =
            n->op == FE_FILTER_OP ? lx_may_fail(n->u.filter.pred) : any_fails(n->ncols, n->u.project.exprs);
        struct fe_expr **in = fails ? NULL : flatten(c, b, n->inputs[0]);
        if (in && n->op == FE_FILTER_OP)
            add_terms(c, b, n->u.filter.pred, in);
        for (int i = 0; in && i < n->ncols; i++)
            out[i] = n->op == FE_FILTER_OP ? in[i] : share_over(c, n->u.project.exprs[i], in);
        return in ? out : NULL;
    }
    const int base = add_relation(c, b, n, n->ncols);
    for (int i = 0; i < n->ncols; i++)
        out[i] = pl_col_node(c->a, base + i, n->cols[i].type, n->cols[i].nullable, n->path);
    return out;
}

/* ---- conditions --------------------------------------------------------------------------------------------------------------- */

static bool same_term(const struct fe_expr *a, const struct fe_expr *b)
{
    if (fe_expr_eq(a, b))
        return true;
    return a->op == FE_EQ && b->op == FE_EQ && fe_expr_eq(a->args[0], b->args[1]) && fe_expr_eq(a->args[1], b->args[0]);
}

struct equals {
    exprs of;
    HD_VEC(int) class; /* of each */
};

static int class_of(struct ctx *c, struct equals *q, struct fe_expr *e)
{
    for (int i = 0; i < q->of.n; i++)
        if (fe_expr_eq(q->of.v[i], e))
            return q->class.v[i];
    hd_vec_push(c->a, &q->of, e);
    hd_vec_push(c->a, &q->class, q->of.n);
    return q->of.n;
}

static struct equals equals_of(struct ctx *c, const exprs *terms)
{
    struct equals q = {0};
    for (int i = 0; i < terms->n; i++) {
        if (terms->v[i]->op != FE_EQ)
            continue;
        const int a = class_of(c, &q, terms->v[i]->args[0]), b = class_of(c, &q, terms->v[i]->args[1]);
        for (int k = 0; k < q.class.n; k++)
            if (q.class.v[k] == b)
                q.class.v[k] = a;
    }
    return q;
}

static bool follows(struct ctx *c, const struct fe_expr *e, const exprs *from, struct equals *q)
{
    for (int i = 0; i < from->n; i++)
        if (same_term(e, from->v[i]))
            return true;
    if (e->op != FE_EQ || fe_expr_eq(e->args[0], e->args[1])) /* x = x: that x is not NULL */
        return false;
    return class_of(c, q, e->args[0]) == class_of(c, q, e->args[1]);
}

/* Each condition of x follows from those of y; what does not follow the other way is the rest. */
static bool conditions(struct matching *m)
{
    struct equals x = equals_of(m->c, &m->terms[0]), y = equals_of(m->c, &m->terms[1]);
    m->rest.n = 0;
    for (int i = 0; i < m->terms[0].n; i++)
        if (!follows(m->c, m->terms[0].v[i], &m->terms[1], &y))
            return false;
    for (int i = 0; i < m->terms[1].n; i++)
        if (!follows(m->c, m->terms[1].v[i], &m->terms[0], &x))
            hd_vec_push(m->c->a, &m->rest, m->terms[1].v[i]);
    return true;
}

/* ---- relations ------------------------------------------------------------------------------------------------------------------ */

/* A scan of all columns; conditions come later. */
static bool match_scans(struct ctx *c, const struct fe_node *x, struct share_match *out)
{
    const struct fe_table *t = x->u.scan.table;
    struct fe_node *n = hd_dup(c->a, x, sizeof *n);
    n->u.scan.filter = NULL;
    n->u.scan.columns = HD_NEWN(c->a, int, t->ncols + 1);
    n->cols = HD_NEWN(c->a, struct fe_column, t->ncols + 1);
    n->ncols = t->ncols;
    for (int i = 0; i < t->ncols; i++) {
        n->cols[i] = (struct fe_column){t->cols[i].name, t->cols[i].type, t->cols[i].nullable};
        n->u.scan.columns[i] = i;
    }
    const struct rewriting w = {.a = c->a};
    *out = (struct share_match){.n = n};
    out->of[0] = out->of[1] = rw_columns(&w, n);
    share_tell(c, x, n);
    return true;
}

static bool match_relations(struct matching *m, int i, int k)
{
    const struct fe_node *x = m->x.of.v[i].n, *y = m->y.of.v[k].n;
    if (m->taken[k] || x->op != y->op || m->tries++ > TRIES_MAX)
        return false;
    if (x->op == FE_SCAN_OP)
        return x->u.scan.table == y->u.scan.table && match_scans(m->c, x, &m->pairs[i]);
    return m->match(m->c, x, y, true, &m->pairs[i]);
}

/* Columns of a block, as those of pairs of relations. */
static struct fe_expr **columns_of(const struct matching *m, int side)
{
    const struct block *b = side ? &m->y : &m->x;
    struct fe_expr **all = HD_NEWN(m->c->a, struct fe_expr *, b->ncols + 1);
    for (int i = 0; i < b->of.n; i++) {
        const struct relation *r = &b->of.v[side ? m->to[i] : i];
        const int n = r->n->op == FE_SCAN_OP ? m->pairs[i].n->ncols : r->n->ncols;
        for (int k = 0; k < n; k++)
            all[r->base + k] = pl_expr_shifted(m->c->a, m->pairs[i].of[side][k], m->base[i]);
    }
    return all;
}

static bool is_bijection(struct matching *m)
{
    m->ncols = 0;
    for (int i = 0; i < m->x.of.n; i++) {
        m->base[i] = m->ncols;
        m->ncols += m->pairs[i].n->ncols;
    }
    for (int side = 0; side < 2; side++) {
        const exprs *from = side ? &m->y.terms : &m->x.terms;
        struct fe_expr **columns = columns_of(m, side);
        m->terms[side].n = 0;
        for (int i = 0; i < from->n; i++)
            hd_vec_push(m->c->a, &m->terms[side], share_over(m->c, from->v[i], columns));
    }
    return conditions(m);
}

static bool find_bijection(struct matching *m, int i, bool within)
{
    if (i == m->x.of.n)
        return is_bijection(m) && !(within && m->rest.n);
    for (int k = 0; k < m->y.of.n; k++) {
        if (!match_relations(m, i, k))
            continue;
        m->to[i] = k;
        m->taken[k] = true;
        if (find_bijection(m, i + 1, within))
            return true;
        m->taken[k] = false;
    }
    return false;
}

/* ---- the tree again --------------------------------------------------------------------------------------------------------------- */

struct part {
    struct fe_node *n;
    struct fe_expr **at; /* [column of all pairs]: over n's columns; NULL: not there */
};

static bool is_there(const struct fe_expr *e, struct fe_expr *const *at)
{
    if (e->op == FE_COL)
        return at[e->col] != NULL;
    for (int i = 0; i < e->nargs; i++)
        if (!is_there(e->args[i], at))
            return false;
    return true;
}

static struct fe_expr *and_also(const struct matching *m, struct fe_expr *e, struct fe_expr *x)
{
    return e ? pl_expr_node(m->c->a, FE_AND, hd_type_of(HD_BOOL), e->nullable || x->nullable, x->path, 2, e, x) : x;
}

/* Conditions that can be tested there, and are not yet. */
static struct fe_expr *conditions_at(struct matching *m, struct fe_expr *const *at)
{
    struct fe_expr *all = NULL;
    for (int i = 0; i < m->terms[0].n; i++) {
        if (m->placed[i] || !is_there(m->terms[0].v[i], at))
            continue;
        m->placed[i] = true;
        all = and_also(m, all, share_over(m->c, m->terms[0].v[i], at));
    }
    return all;
}

static struct part relation(struct matching *m)
{
    const int k = m->next++;
    const struct rewriting w = {.a = m->c->a};
    struct part p = {m->pairs[k].n, HD_NEWN(m->c->a, struct fe_expr *, m->ncols + 1)};
    for (int i = 0; i < p.n->ncols; i++)
        p.at[m->base[k] + i] = rw_column(&w, p.n, i);
    struct fe_expr *e = conditions_at(m, p.at);
    if (e && p.n->op == FE_SCAN_OP) {
        p.n->u.scan.filter = e;
    } else if (e) {
        struct fe_node *filter = rw_node(&w, FE_FILTER_OP, p.n, 1, p.n, NULL);
        rw_set_columns(&w, filter, p.n);
        filter->u.filter.pred = e;
        p.n = filter;
    }
    return p;
}

static bool add_key(struct matching *m, struct fe_node *n, const struct fe_expr *e, const struct part *l,
                    const struct part *r)
{
    if (e->op != FE_EQ || !hd_type_eq(e->args[0]->type, e->args[1]->type))
        return false;
    for (int i = 0; i < 2; i++)
        if (is_there(e->args[i], l->at) && is_there(e->args[!i], r->at)) {
            n->u.join.lkeys[n->u.join.nkeys] = share_over(m->c, e->args[i], l->at);
            n->u.join.rkeys[n->u.join.nkeys++] = share_over(m->c, e->args[!i], r->at);
            return true;
        }
    return false;
}

static struct part joined(struct matching *m, const struct fe_node *of, struct part l, struct part r)
{
    const int nl = l.n->ncols, room = m->terms[0].n + 1;
    struct part p = {hd_dup(m->c->a, of, sizeof *of), HD_NEWN(m->c->a, struct fe_expr *, m->ncols + 1)};
    const struct rewriting w = {.a = m->c->a};
    p.n->inputs = rw_node(&w, FE_JOIN_OP, of, 2, l.n, r.n)->inputs;
    p.n->ncols = nl + r.n->ncols;
    p.n->cols = HD_NEWN(m->c->a, struct fe_column, p.n->ncols + 1);
    memcpy(p.n->cols, l.n->cols, sizeof *p.n->cols * (size_t)nl);
    memcpy(p.n->cols + nl, r.n->cols, sizeof *p.n->cols * (size_t)r.n->ncols);
    for (int i = 0; i < m->ncols; i++)
        p.at[i] = l.at[i] ? l.at[i] : r.at[i] ? pl_expr_shifted(m->c->a, r.at[i], nl) : NULL;
    p.n->u.join.nkeys = 0;
    p.n->u.join.lkeys = HD_NEWN(m->c->a, struct fe_expr *, room);
    p.n->u.join.rkeys = HD_NEWN(m->c->a, struct fe_expr *, room);
    p.n->u.join.null_equal = HD_NEWN(m->c->a, bool, room);
    for (int i = 0; i < m->terms[0].n; i++)
        if (!m->placed[i])
            m->placed[i] = add_key(m, p.n, m->terms[0].v[i], &l, &r);
    p.n->u.join.residual = conditions_at(m, p.at);
    share_tell(m->c, of, p.n);
    return p;
}

/* As x is. */
static struct part built(struct matching *m, const struct fe_node *x)
{
    if (x->op == FE_FILTER_OP || x->op == FE_PROJECT_OP)
        return built(m, x->inputs[0]);
    if (!share_is_inner(x))
        return relation(m);
    const struct part l = built(m, x->inputs[0]), r = built(m, x->inputs[1]);
    return joined(m, x, l, r);
}

static void make(struct matching *m, const struct fe_node *x, const struct fe_node *const *roots,
                 struct share_match *out)
{
    struct part p = built(m, x);
    *out = (struct share_match){.n = p.n};
    for (int side = 0; side < 2; side++) {
        struct fe_expr **columns = columns_of(m, side);
        out->of[side] = HD_NEWN(m->c->a, struct fe_expr *, roots[side]->ncols + 1);
        for (int i = 0; i < roots[side]->ncols; i++)
            out->of[side][i] = share_over(m->c, share_over(m->c, m->outs[side][i], columns), p.at);
    }
    for (int i = 0; i < m->rest.n; i++)
        out->rest = and_also(m, out->rest, share_over(m->c, m->rest.v[i], p.at));
}

bool share_block(struct ctx *c, const struct fe_node *x, const struct fe_node *y, bool within, share_matcher *match,
                 struct share_match *out)
{
    struct matching *m = HD_NEW(c->a, struct matching);
    m->c = c;
    m->match = match;
    m->outs[0] = flatten(c, &m->x, x);
    m->outs[1] = m->outs[0] ? flatten(c, &m->y, y) : NULL;
    if (!m->outs[1] || m->x.of.n != m->y.of.n || m->x.of.n > RELATIONS_MAX || m->x.terms.n > (int)HD_COUNT(m->placed) ||
        !find_bijection(m, 0, within))
        return false;
    make(m, x, (const struct fe_node *const[]){x, y}, out);
    return true;
}
