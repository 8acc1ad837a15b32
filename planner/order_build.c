/* Makes typed nodes of a tree. Each condition is where its relations meet first: of one relation at its rows, of two sides
 * of a join as a pair of keys if it is an equality, else as part of the join's condition. A class of equal columns needs
 * one pair in each join that has some of it on both sides. */
#include "planner/order_build.h"

#include "planner/estimate.h"
#include "planner/order_flatten.h"
#include "planner/rewrite_node.h"
#include "planner/typed.h"

struct building {
    struct order_query *q;
    struct rewriting w; /* its arena */
    void (*tell)(void *, struct fe_node *, const struct order_plan *);
    void *data;
    bool again; /* relations are there already */
};

/* Rows, and where they have the query's columns (-1: not). */
struct part {
    struct fe_node *n;
    int *at;
};

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* e over the columns of a part. */
static struct fe_expr *over(const struct building *b, const struct fe_expr *e, const int *at)
{
    struct fe_expr *to = hd_dup(b->q->a, e, sizeof *e);
    to->args = HD_NEWN(b->q->a, struct fe_expr *, e->nargs + 1);
    for (int i = 0; i < e->nargs; i++)
        to->args[i] = over(b, e->args[i], at);
    if (e->op == FE_COL)
        to->col = at[e->col];
    HD_ASSERT(e->op != FE_COL || to->col >= 0);
    return to;
}

static bool says(const struct fe_expr *all, const struct fe_expr *e)
{
    bool found = fe_expr_eq(all, e);
    for (int i = 0; all->op == FE_AND && i < all->nargs && !found; i++)
        found = fe_expr_eq(all->args[i], e);
    return found;
}

/* A conjunct that is there already tells nothing: producers derive the same ones as order_implied.c. */
static struct fe_expr *and_also(const struct building *b, struct fe_expr *all, struct fe_expr *e)
{
    if (!all)
        return e;
    int n = all->op == FE_AND ? all->nargs : 1, m = e->op == FE_AND ? e->nargs : 1;
    struct fe_expr *to = pl_expr_node(b->q->a, FE_AND, e->type, all->nullable || e->nullable, all->path, 0, NULL, NULL);
    to->args = HD_NEWN(b->q->a, struct fe_expr *, n + m);
    for (int i = 0; i < n; i++)
        to->args[to->nargs++] = all->op == FE_AND ? all->args[i] : all;
    for (int i = 0; i < m; i++) {
        struct fe_expr *part = e->op == FE_AND ? e->args[i] : e;
        if (!says(all, part))
            to->args[to->nargs++] = part;
    }
    return to->nargs == n ? all : to;
}

static int *nowhere(const struct building *b)
{
    int *at = HD_NEWN(b->q->a, int, b->q->columns.n + 1);
    memset(at, -1, sizeof *at * (size_t)b->q->columns.n);
    return at;
}

static struct fe_node *new_node(const struct building *b, enum fe_relop op, int ninputs, struct fe_node *x,
                                struct fe_node *y)
{
    struct fe_node *n = rw_node(&b->w, op, b->q->root, ninputs, x, y);
    n->id = (*b->q->next_id)++;
    return n;
}

static struct fe_node *filter(const struct building *b, struct fe_node *in, struct fe_expr *pred)
{
    if (!pred)
        return in;
    struct fe_node *n = new_node(b, FE_FILTER_OP, 1, in, NULL);
    rw_set_columns(&b->w, n, in);
    n->u.filter.pred = pred;
    return n;
}

/* ---- relations ----------------------------------------------------------------------------------------------------- */

static struct fe_expr *said_of(const struct building *b, int r, const int *at)
{
    struct fe_expr *all = NULL;
    for (int i = 0; i < b->q->terms.n; i++) {
        const struct order_term *t = &b->q->terms.v[i];
        if (t->owner < 0 && t->relations == order_of(r))
            all = and_also(b, all, over(b, t->e, at));
    }
    return all;
}

struct fe_node *order_filtered_scan(struct order_query *q, int r, const struct fe_node *scan)
{
    const struct building b = {.q = q, .w = {.a = q->a}};
    const struct order_source *s = &q->sources.v[r];
    struct fe_node *n = hd_dup(q->a, scan, sizeof *scan);
    int *at = nowhere(&b);
    for (int i = 0; i < n->ncols; i++)
        at[s->base + i] = n->u.scan.columns[i];
    struct fe_expr *pred = said_of(&b, r, at);
    if (pred)
        n->u.scan.filter = and_also(&b, n->u.scan.filter, pred);
    return n;
}

static void filter_source(const struct building *b, int r)
{
    struct order_source *s = &b->q->sources.v[r];
    int *at = nowhere(b);
    if (s->n->op == FE_SCAN_OP) {
        s->n = order_filtered_scan(b->q, r, s->n);
        s->n->id = (*b->q->next_id)++;
        return;
    }
    for (int i = 0; i < s->n->ncols; i++)
        at[s->base + i] = i;
    s->n = filter(b, s->n, said_of(b, r, at));
}

void order_filter_sources(struct order_query *q)
{
    struct building b = {.q = q, .w = {.a = q->a}};
    for (int i = 0; i < q->sources.n; i++)
        if (q->sources.v[i].kind == FE_INNER)
            filter_source(&b, i);
}

static struct part leaf(const struct building *b, int r)
{
    const struct order_source *s = &b->q->sources.v[r];
    struct part p = {s->n, nowhere(b)};
    for (int i = 0; i < s->n->ncols; i++)
        p.at[s->base + i] = i;
    if (b->again) {
        p.n = hd_dup(b->q->a, s->n, sizeof *s->n);
        p.n->id = (*b->q->next_id)++;
    }
    return p;
}

/* ---- joins ------------------------------------------------------------------------------------------------------------ */

/* A join that is being made, and the tree that it is the root of. */
struct joining {
    const struct building *b;
    const struct order_plan *plan;
    struct part left, right;
    struct fe_node *n;
    int *both; /* columns of the two sides */
};

static void add_key(const struct joining *j, const struct fe_expr *l, const struct fe_expr *r, bool null_equal)
{
    int k = j->n->u.join.nkeys++;
    j->n->u.join.lkeys[k] = over(j->b, l, j->left.at);
    j->n->u.join.rkeys[k] = over(j->b, r, j->right.at);
    j->n->u.join.null_equal[k] = null_equal;
}

/* A pair of keys, if each side reads one side of the join; else part of the condition. */
static void add_term(const struct joining *j, const struct order_term *t)
{
    order_set l = j->plan->left->set, r = j->plan->right->set;
    for (int k = 0; k < 2 && t->sides[0]; k++)
        if (order_within(t->of[k], l) && order_within(t->of[!k], r)) {
            add_key(j, t->sides[k], t->sides[!k], t->null_equal);
            return;
        }
    j->n->u.join.residual = and_also(j->b, j->n->u.join.residual, over(j->b, t->e, j->both));
}

/* A column of the class among those of the set: the one that rows come by, if they do, else the first. */
static const struct fe_expr *member_in(const struct order_equals *c, const struct order_plan *p)
{
    const struct fe_expr *found = NULL;
    for (int i = 0; i < c->members.n; i++) {
        const struct order_member *m = &c->members.v[i];
        if ((p->set & order_of(m->relation)) && (!found || m->relation == p->driver))
            found = m->e;
    }
    return found;
}

static bool met_here(const struct order_plan *p, const struct order_term *t)
{
    return t->owner < 0 && t->class < 0 && !t->implied && order_within(t->relations, p->set) &&
           !order_within(t->relations, p->left->set) && !order_within(t->relations, p->right->set);
}

static void set_columns(const struct joining *j, enum fe_join_kind kind)
{
    struct fe_node *n = j->n;
    int nl = j->left.n->ncols, nr = j->right.n->ncols;
    bool left_only = kind == FE_SEMI || kind == FE_ANTI || kind == FE_MARK;
    n->ncols = nl + (kind == FE_MARK) + (left_only ? 0 : nr);
    n->cols = HD_NEWN(j->b->q->a, struct fe_column, n->ncols + 1);
    memcpy(n->cols, j->left.n->cols, sizeof *n->cols * (size_t)nl);
    for (int i = 0; i < nr && !left_only; i++) {
        n->cols[nl + i] = j->right.n->cols[i];
        n->cols[nl + i].nullable |= kind == FE_LEFT;
    }
}

static struct joining new_join(const struct building *b, const struct order_plan *p, struct part l, struct part r)
{
    struct joining j = {.b = b, .plan = p, .left = l, .right = r, .both = nowhere(b)};
    int room = b->q->terms.n + b->q->equals.n + 1;
    j.n = new_node(b, FE_JOIN_OP, 2, l.n, r.n);
    j.n->u.join.lkeys = HD_NEWN(b->q->a, struct fe_expr *, room);
    j.n->u.join.rkeys = HD_NEWN(b->q->a, struct fe_expr *, room);
    j.n->u.join.null_equal = HD_NEWN(b->q->a, bool, room);
    for (int i = 0; i < b->q->columns.n; i++)
        j.both[i] = l.at[i] >= 0 ? l.at[i] : r.at[i] >= 0 ? l.n->ncols + r.at[i] : -1;
    return j;
}

static struct part join_inner(const struct building *b, const struct order_plan *p, struct part l, struct part r)
{
    struct joining j = new_join(b, p, l, r);
    set_columns(&j, FE_INNER);
    for (int i = 0; i < b->q->equals.n; i++) {
        const struct fe_expr *x = member_in(&b->q->equals.v[i], p->left), *y = member_in(&b->q->equals.v[i], p->right);
        if (x && y)
            add_key(&j, x, y, false);
    }
    for (int i = 0; i < b->q->terms.n; i++)
        if (met_here(p, &b->q->terms.v[i]))
            add_term(&j, &b->q->terms.v[i]);
    return (struct part){j.n, j.both};
}

/* What is tested of all rows, and reads the relation or its mark, is tested above the join. */
static struct part join_dependent(const struct building *b, const struct order_plan *p, int r, struct part l,
                                  struct part own)
{
    struct order_source *s = &b->q->sources.v[r];
    struct joining j = new_join(b, p, l, own);
    struct fe_expr *above = NULL;
    int *at = s->kind == FE_LEFT ? j.both : l.at;
    j.n->path = s->join->path;
    j.n->u.join.kind = s->kind;
    set_columns(&j, s->kind);
    for (int i = 0; i < b->q->terms.n; i++)
        if (b->q->terms.v[i].owner == r)
            add_term(&j, &b->q->terms.v[i]);
    if (s->kind == FE_MARK) {
        at = hd_dup(b->q->a, l.at, sizeof *at * (size_t)b->q->columns.n);
        at[s->base + s->orig->ncols] = j.n->ncols - 1;
        j.n->cols[j.n->ncols - 1] = s->join->cols[s->join->ncols - 1];
    }
    for (int i = 0; i < b->q->terms.n; i++) {
        const struct order_term *t = &b->q->terms.v[i];
        bool of_it = t->relations == order_of(r) || met_here(p, t);
        if (t->owner < 0 && of_it)
            above = and_also(b, above, over(b, t->e, at));
    }
    b->tell(b->data, j.n, p);
    return (struct part){filter(b, j.n, above), at};
}

static struct part build(const struct building *b, const struct order_plan *p);

/* Rows of l, the left side of p, with a key that a part of the right side has. */
static struct part sieved(const struct building *b, const struct order_plan *p, const struct order_sieve *s,
                          struct part l)
{
    const struct building again = {b->q, b->w, b->tell, b->data, true};
    const struct order_plan *t = s->by;
    struct order_plan pair = {.left = p->left, .right = t, .rows = s->rows, .sampled = s->sampled};
    struct joining j = new_join(b, &pair, l, build(&again, t));
    j.n->u.join.kind = FE_SEMI;
    set_columns(&j, FE_SEMI);
    for (int i = 0; i < b->q->equals.n; i++) {
        const struct fe_expr *mine = member_in(&b->q->equals.v[i], p->left), *its = member_in(&b->q->equals.v[i], t);
        if (mine && its)
            add_key(&j, mine, its, false);
    }
    b->tell(b->data, j.n, &pair);
    return (struct part){j.n, l.at};
}

static struct part build(const struct building *b, const struct order_plan *p)
{
    if (!p->left)
        return leaf(b, order_first(p->set));
    struct part l = build(b, p->left), r = build(b, p->right), joined;
    int right = order_first(p->right->set);
    if (!p->right->left && b->q->sources.v[right].kind != FE_INNER)
        return join_dependent(b, p, right, l, r);
    for (int i = 0; i < ORDER_SIEVES && p->sieves[i].by; i++)
        l = sieved(b, p, &p->sieves[i], l);
    joined = join_inner(b, p, l, r);
    b->tell(b->data, joined.n, p);
    return joined;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------------- */

static bool as_it_is(const struct building *b, const struct part *p)
{
    bool same = p->n->ncols == b->q->root->ncols;
    for (int i = 0; same && i < p->n->ncols; i++)
        same = b->q->map[i]->op == FE_COL && p->at[b->q->map[i]->col] == i &&
               strcmp(p->n->cols[i].name, b->q->root->cols[i].name) == 0;
    return same;
}

/* The columns of the root, with its names. */
static struct fe_node *results(const struct building *b, const struct part *p)
{
    const struct fe_node *root = b->q->root;
    if (as_it_is(b, p))
        return p->n;
    struct fe_node *n = new_node(b, FE_PROJECT_OP, 1, p->n, NULL);
    rw_set_columns(&b->w, n, root);
    n->u.project.exprs = HD_NEWN(b->q->a, struct fe_expr *, root->ncols + 1);
    for (int i = 0; i < root->ncols; i++)
        n->u.project.exprs[i] = over(b, b->q->map[i], p->at);
    return n;
}

/* What may raise is a condition of the last join, behind its other ones, if that is an inner one with keys. */
static void test_last(const struct building *b, struct part *p)
{
    struct fe_node *n = p->n;
    struct fe_expr *all = NULL;
    for (int i = 0; i < b->q->last.n; i++)
        all = and_also(b, all, over(b, b->q->last.v[i], p->at));
    if (!all)
        return;
    if (n->op == FE_JOIN_OP && n->u.join.kind == FE_INNER && n->u.join.nkeys > 0 && b->q->sources.n > 1)
        n->u.join.residual = and_also(b, n->u.join.residual, all);
    else
        p->n = filter(b, n, all);
}

struct fe_node *order_build(struct order_query *q, const struct order_plan *plan,
                            void (*tell)(void *, struct fe_node *, const struct order_plan *), void *data)
{
    struct building b = {.q = q, .w = {.a = q->a}, .tell = tell, .data = data};
    struct part p = build(&b, plan);
    struct fe_expr *always = NULL;
    for (int i = 0; i < q->terms.n; i++)
        if (!q->terms.v[i].relations && q->terms.v[i].owner < 0)
            always = and_also(&b, always, over(&b, q->terms.v[i].e, p.at));
    p.n = filter(&b, p.n, always);
    test_last(&b, &p);
    return results(&b, &p);
}

/* ---- parts of a query ----------------------------------------------------------------------------------------------- */

static bool connected(const struct order_query *q, order_set s, int r)
{
    for (int i = 0; i < q->equals.n; i++) {
        order_set of = 0;
        for (int k = 0; k < q->equals.v[i].members.n; k++)
            of |= order_of(q->equals.v[i].members.v[k].relation);
        if ((of & s) && (of & order_of(r)))
            return true;
    }
    return false;
}

/* The next relation of `left` to join: an inner one, connected if there is such, then dependent ones. -1: all are there. */
static int next_relation(const struct order_query *q, order_set s, order_set left)
{
    int inner = -1, dependent = -1;
    for (int r = q->sources.n - 1; r >= 0; r--) {
        if (!(left & order_of(r)))
            continue;
        if (q->sources.v[r].kind != FE_INNER)
            dependent = r;
        else if (inner < 0 || connected(q, s, r) || !connected(q, s, inner))
            inner = r;
    }
    return inner >= 0 ? inner : dependent;
}

/* Some tree over relations of the query; which one is cheapest is asked later. Dependent ones come last. */
static const struct order_plan *some_tree(const struct order_query *q, order_set s)
{
    struct order_plan *all = NULL;
    for (int r = next_relation(q, 0, s); r >= 0; r = next_relation(q, all->set, s & ~all->set)) {
        struct order_plan *leaf = HD_NEW(q->a, struct order_plan), *both = leaf;
        *leaf = (struct order_plan){.set = order_of(r), .driver = -1};
        if (all) {
            both = HD_NEW(q->a, struct order_plan);
            *both = (struct order_plan){.set = all->set | leaf->set, .driver = -1, .left = all, .right = leaf};
        }
        all = both;
    }
    return all;
}

static void tell_nobody(void *data HD_UNUSED, struct fe_node *n HD_UNUSED, const struct order_plan *p HD_UNUSED)
{
}

struct fe_node *order_part(const struct order_query *q, order_set s, int n, struct fe_expr *const *e,
                           const struct fe_column *cols)
{
    struct order_query part = *q;
    struct fe_node *root = hd_dup(q->a, q->root, sizeof *root);
    root->ncols = n;
    root->cols = hd_dup(q->a, cols, sizeof *cols * (size_t)n);
    part.root = root;
    part.map = hd_dup(q->a, e, sizeof *e * (size_t)n);
    part.sources.v = hd_dup(q->a, q->sources.v, sizeof *q->sources.v * (size_t)q->sources.n);
    for (int i = 0; i < q->sources.n; i++)
        part.sources.v[i].n = hd_dup(q->a, q->sources.v[i].orig, sizeof *root);
    order_filter_sources(&part);
    return order_build(&part, some_tree(q, s), tell_nobody, NULL);
}
