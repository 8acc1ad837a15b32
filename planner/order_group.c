/* A grouping whose keys tell which row of a table all rows of a group have looked up: the table can be looked up once
 * for each group, above the grouping, and not once for each row. This is the invariant grouping of Chaudhuri and Shim
 * (Including Group-By in Query Optimization, VLDB 1994, section 3), of the kind that SQL asks for by naming a customer's
 * columns beside its key in GROUP BY.
 *
 * A table R leaves the joins below where
 * - it is joined by one column, its own one unique, and the other one, the anchor, a foreign key to it that is never
 *   NULL, so that each row meets exactly one row of R: neither rows nor errors of the grouping change;
 * - nothing below the grouping reads R: no filter, no other join but those of tables that leave too, no argument of an
 *   aggregate; keys of the grouping read a column of it, or other tables;
 * - the keys of the grouping tell the anchor: they have a column that equals it, or one that is unique in its table.
 *
 * The anchor becomes a key of the grouping, unless it is one. Tables that only lead to others, or whose key is all that is
 * asked for, are not looked up at all. */
#include "planner/order_group.h"

#include <string.h>

#include "frontend/catalog.h"
#include "planner/ctx.h"
#include "planner/need.h"
#include "planner/order_build.h"
#include "planner/order_eager.h"
#include "planner/order_flatten.h"
#include "planner/order_implied.h"
#include "planner/order_unique.h"
#include "planner/rewrite_node.h"
#include "planner/typed.h"

/* A table that is looked up above: its own column (of the query) and the anchor. */
struct lookup {
    int relation, own, anchor;
};

struct grouping {
    struct order_query q;
    const struct fe_node *n; /* as it was */
    int nkeys, naggs;
    struct fe_expr **keys, **args; /* over the query's columns */
    order_set above;
    HD_VEC(struct lookup) lookups; /* the one that others lead to comes last */
};

/* ---- what the query says ------------------------------------------------------------------------------------------- */

static const struct order_source *source_of(const struct grouping *g, int column)
{
    return &g->q.sources.v[g->q.columns.v[column].relation];
}

/* A plain scan of rows that nothing drops. */
static bool is_table(const struct grouping *g, int r)
{
    const struct order_source *s = &g->q.sources.v[r];
    return s->kind == FE_INNER && s->orig->op == FE_SCAN_OP;
}

static int table_column(const struct grouping *g, int column)
{
    const struct order_source *s = source_of(g, column);
    return s->orig->u.scan.columns[column - s->base];
}

static bool is_unique(const struct grouping *g, int column)
{
    const struct order_source *s = source_of(g, column);
    bool *key = HD_NEWN(g->q.a, bool, s->orig->ncols + 1);
    key[column - s->base] = true;
    return order_is_unique(g->q.plan, s->orig, key);
}

static const struct order_equals *class_of(const struct grouping *g, int column)
{
    for (int i = 0; i < g->q.equals.n; i++)
        for (int k = 0; k < g->q.equals.v[i].members.n; k++) {
            const struct fe_expr *e = g->q.equals.v[i].members.v[k].e;
            if (e->op == FE_COL && e->col == column)
                return &g->q.equals.v[i];
        }
    return NULL;
}

/* A key of the grouping is the column, or one that equals it. */
static bool is_key(const struct grouping *g, int column)
{
    const struct order_equals *c = class_of(g, column);
    for (int i = 0; i < g->nkeys; i++) {
        const struct fe_expr *e = g->keys[i];
        if (e->op == FE_COL && (e->col == column || (c && class_of(g, e->col) == c)))
            return true;
    }
    return false;
}

/* All rows of a group have one value of the column. */
static bool is_told(const struct grouping *g, int column)
{
    const struct order_source *s = source_of(g, column);
    if (is_key(g, column))
        return true;
    if (s->kind != FE_INNER)
        return false;
    for (int i = 0; i < s->orig->ncols; i++)
        if (is_key(g, s->base + i) && is_unique(g, s->base + i))
            return true;
    return false;
}

/* Every value of the column is that of a row of the other one's table. */
static bool refers(const struct grouping *g, int anchor, int own)
{
    const struct fe_table *t = source_of(g, anchor)->orig->u.scan.table;
    const struct fe_table *parent = source_of(g, own)->orig->u.scan.table;
    for (int i = 0; i < t->nfks; i++) {
        const struct fe_foreign_key *f = &t->fks[i];
        if (f->n_columns == 1 && f->columns[0] == table_column(g, anchor) && f->parent == parent &&
            f->parent_columns[0] == table_column(g, own))
            return !g->q.columns.v[anchor].c.nullable;
    }
    return false;
}

/* ---- what reads a table ----------------------------------------------------------------------------------------------- */

static bool reads(const struct grouping *g, const struct fe_expr *e, int r)
{
    return (order_relations_of(&g->q, e) & order_of(r)) != 0;
}

/* Conditions but equalities of a class. */
static bool conditions_read(const struct grouping *g, int r)
{
    for (int i = 0; i < g->q.terms.n; i++)
        if (g->q.terms.v[i].class < 0 && (g->q.terms.v[i].relations & order_of(r)))
            return true;
    for (int i = 0; i < g->q.last.n; i++)
        if (reads(g, g->q.last.v[i], r))
            return true;
    for (int i = 0; i < g->q.sources.n; i++)
        if (g->q.sources.v[i].needs & order_of(r))
            return true;
    return false;
}

static bool grouping_reads(const struct grouping *g, int r)
{
    for (int i = 0; i < g->naggs; i++)
        if (g->args[i] && reads(g, g->args[i], r))
            return true;
    for (int i = 0; i < g->nkeys; i++)
        if (g->keys[i]->op != FE_COL && reads(g, g->keys[i], r))
            return true;
    return false;
}

/* ---- what leaves ------------------------------------------------------------------------------------------------------ */

/* Of the class only r and tables that leave. */
static bool all_leave(const struct grouping *g, const struct order_equals *c, int r)
{
    for (int i = 0; i < c->members.n; i++) {
        const int m = c->members.v[i].relation;
        if (m != r && !(g->above & order_of(m)))
            return false;
    }
    return true;
}

/* The column of the class by which its column `own` can be looked up above; -1: none. */
static int anchor_in(const struct grouping *g, const struct order_equals *c, int own)
{
    for (int i = 0; i < c->members.n; i++) {
        const struct order_member *m = &c->members.v[i];
        bool stays = m->relation != g->q.columns.v[own].relation && !(g->above & order_of(m->relation));
        if (stays && m->e->op == FE_COL && is_table(g, m->relation) && refers(g, m->e->col, own) &&
            is_told(g, m->e->col))
            return m->e->col;
    }
    return -1;
}

/* Says how r is looked up; false: it stays. */
static bool look_at(const struct grouping *g, int r, struct lookup *to)
{
    *to = (struct lookup){r, -1, -1};
    if (!is_table(g, r) || g->q.sources.v[r].orig->u.scan.filter || conditions_read(g, r) || grouping_reads(g, r))
        return false;
    for (int i = 0; i < g->q.equals.n; i++) {
        const struct order_equals *c = &g->q.equals.v[i];
        for (int k = 0; k < c->members.n; k++) {
            const struct fe_expr *own = c->members.v[k].e;
            int anchor = -1;
            if (c->members.v[k].relation != r)
                continue;
            if (to->own < 0 && own->op == FE_COL && is_unique(g, own->col))
                anchor = anchor_in(g, c, own->col);
            if (anchor >= 0)
                *to = (struct lookup){r, own->col, anchor};
            else if (!all_leave(g, c, r))
                return false;
        }
    }
    return to->own >= 0;
}

static void find_lookups(struct grouping *g)
{
    for (int found = 1; found;) {
        found = 0;
        for (int r = 0; r < g->q.sources.n; r++) {
            struct lookup l;
            if ((g->above & order_of(r)) || !look_at(g, r, &l))
                continue;
            g->above |= order_of(r);
            hd_vec_push(g->q.a, &g->lookups, l);
            found++;
        }
    }
}

/* ---- what is left below ------------------------------------------------------------------------------------------------ */

static bool is_below(const struct grouping *g, const struct fe_expr *e)
{
    return !(order_relations_of(&g->q, e) & g->above);
}

/* The joins that are left, with the columns that `e` read; at: where each is. */
static struct fe_node *joins_below(const struct grouping *g, int n, struct fe_expr *const *e, int *at)
{
    const struct order_query *q = &g->q;
    bool *read = HD_NEWN(q->a, bool, q->columns.n + 1);
    struct fe_column *cols = HD_NEWN(q->a, struct fe_column, q->columns.n + 1);
    struct fe_expr **map = HD_NEWN(q->a, struct fe_expr *, q->columns.n + 1);
    order_set below = 0;
    int ncols = 0;
    for (int i = 0; i < n; i++)
        if (e[i])
            need_expr(read, e[i]);
    for (int i = 0; i < q->columns.n; i++) {
        struct fe_column c = q->columns.v[i].c;
        at[i] = -1;
        if (!read[i])
            continue;
        c.nullable |= q->sources.v[q->columns.v[i].relation].kind == FE_LEFT;
        at[i] = ncols;
        cols[ncols] = c;
        map[ncols++] = pl_col_node(q->a, i, c.type, c.nullable, q->root->path);
    }
    for (int r = 0; r < q->sources.n; r++)
        below |= order_of(r) & ~g->above;
    return order_part(q, below, ncols, map, cols);
}

/* ---- the grouping, and lookups above ------------------------------------------------------------------------------------ */

/* Rows, and where they have the query's columns (-1: not). */
struct rows {
    struct fe_node *n;
    int *at;
};

static struct fe_expr *over(const struct grouping *g, const struct fe_expr *e, const int *at)
{
    struct fe_expr *to = hd_dup(g->q.a, e, sizeof *e);
    to->args = HD_NEWN(g->q.a, struct fe_expr *, e->nargs + 1);
    for (int i = 0; i < e->nargs; i++)
        to->args[i] = over(g, e->args[i], at);
    if (e->op == FE_COL)
        to->col = at[e->col];
    return to;
}

static const struct fe_expr *column(const struct grouping *g, int i)
{
    const struct fe_column *c = &g->q.columns.v[i].c;
    return pl_col_node(g->q.a, i, c->type, c->nullable, g->n->path);
}

/* Keys that are left, and anchors; key_at: where each key of before is now, -1: it left. */
static int keys_below(const struct grouping *g, struct fe_expr **keys, struct fe_column *cols, int *key_at)
{
    int n = 0;
    for (int i = 0; i < g->nkeys; i++) {
        key_at[i] = -1;
        if (!is_below(g, g->keys[i]))
            continue;
        key_at[i] = n;
        cols[n] = g->n->cols[i];
        keys[n++] = g->keys[i];
    }
    for (int i = 0; i < g->lookups.n; i++) {
        const int anchor = g->lookups.v[i].anchor;
        bool there = !is_below(g, column(g, anchor));
        for (int k = 0; k < n && !there; k++)
            there = keys[k]->op == FE_COL && keys[k]->col == anchor;
        if (there)
            continue;
        cols[n] = g->q.columns.v[anchor].c;
        keys[n++] = hd_dup(g->q.a, column(g, anchor), sizeof **keys);
    }
    return n;
}

static struct rows group(struct grouping *g, int *key_at)
{
    struct hd_arena *a = g->q.a;
    const struct rewriting w = {.a = a};
    int room = g->nkeys + g->lookups.n, *at = HD_NEWN(a, int, g->q.columns.n + 1), *out;
    struct fe_expr **keys = HD_NEWN(a, struct fe_expr *, room + g->naggs + 1);
    struct fe_column *cols = HD_NEWN(a, struct fe_column, room + g->naggs + 1);
    int nkeys = keys_below(g, keys, cols, key_at);
    memcpy(keys + nkeys, g->args, sizeof *keys * (size_t)g->naggs);
    struct fe_node *in = joins_below(g, nkeys + g->naggs, keys, at),
                   *n = rw_node(&w, FE_AGGREGATE_OP, g->n, 1, in, NULL);
    out = HD_NEWN(a, int, g->q.columns.n + 1);
    memset(out, -1, sizeof *out * (size_t)g->q.columns.n);
    n->u.agg.nkeys = nkeys;
    n->u.agg.keys = HD_NEWN(a, struct fe_expr *, nkeys + 1);
    for (int i = 0; i < nkeys; i++) {
        n->u.agg.keys[i] = over(g, keys[i], at);
        if (keys[i]->op == FE_COL)
            out[keys[i]->col] = i;
    }
    n->u.agg.naggs = g->naggs;
    n->u.agg.aggs = hd_dup(a, g->n->u.agg.aggs, sizeof *n->u.agg.aggs * (size_t)g->naggs);
    for (int i = 0; i < g->naggs; i++) {
        n->u.agg.aggs[i].arg = g->args[i] ? over(g, g->args[i], at) : NULL;
        cols[nkeys + i] = g->n->cols[g->nkeys + i];
    }
    n->ncols = nkeys + g->naggs;
    n->cols = cols;
    return (struct rows){n, out};
}

static bool key_reads(const struct grouping *g, int relation, int but)
{
    for (int i = 0; i < g->nkeys; i++)
        if (g->keys[i]->op == FE_COL && g->keys[i]->col != but && reads(g, g->keys[i], relation))
            return true;
    return false;
}

/* Some key, or another lookup that is needed, asks for a column of the table; but for column `but` (-1: any). */
static bool is_asked_for(const struct grouping *g, int lookup, int but)
{
    const int relation = g->lookups.v[lookup].relation;
    bool asked = key_reads(g, relation, but);
    for (int i = 0; i < lookup && !asked; i++) {
        const int anchor = g->lookups.v[i].anchor;
        asked = g->q.columns.v[anchor].relation == relation && anchor != but && is_asked_for(g, i, -1);
    }
    return asked;
}

static void look_up(const struct grouping *g, const struct lookup *l, bool asked, struct rows *r)
{
    const struct rewriting w = {.a = g->q.a};
    const struct order_source *s = &g->q.sources.v[l->relation];
    int left = r->n->ncols;
    if (asked) {
        struct fe_node *scan = hd_dup(g->q.a, s->orig, sizeof *scan);
        r->n = rw_join(&w, FE_INNER, r->n, scan, 0, NULL, rw_column(&w, r->n, r->at[l->anchor]), l->own - s->base);
        for (int i = 0; i < scan->ncols; i++)
            r->at[s->base + i] = left + i;
    }
    r->at[l->own] = r->at[l->anchor];
}

/* The columns of the grouping as it was. */
static struct fe_node *results(const struct grouping *g, const struct rows *r, const int *key_at, int nkeys)
{
    const struct rewriting w = {.a = g->q.a};
    struct fe_node *n = rw_node(&w, FE_PROJECT_OP, g->n, 1, r->n, NULL);
    rw_set_columns(&w, n, g->n);
    n->u.project.exprs = HD_NEWN(g->q.a, struct fe_expr *, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++) {
        int at = i >= g->nkeys ? nkeys + i - g->nkeys : key_at[i] >= 0 ? key_at[i] : r->at[g->keys[i]->col];
        n->u.project.exprs[i] = rw_column(&w, r->n, at);
    }
    return n;
}

static struct fe_node *regroup(struct grouping *g)
{
    int *key_at = HD_NEWN(g->q.a, int, g->nkeys + 1);
    struct rows r = group(g, key_at);
    int nkeys = r.n->u.agg.nkeys;
    for (int i = g->lookups.n - 1; i >= 0; i--)
        look_up(g, &g->lookups.v[i], is_asked_for(g, i, g->lookups.v[i].own), &r);
    return results(g, &r, key_at, nkeys);
}

/* ---- plans ------------------------------------------------------------------------------------------------------------- */

static struct fe_node *as_it_is(void *data, const struct fe_node *n)
{
    return hd_dup(((struct ctx *)data)->a, n, sizeof *n);
}

static bool is_plain(const struct fe_node *n)
{
    if (n->op != FE_AGGREGATE_OP || n->u.agg.nkeys == 0 || n->u.agg.nsets > 1 || n->u.agg.merges)
        return false;
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        if (a->by || a->filter || a->rows || a->q || a->order || a->separator || a->nof)
            return false;
    }
    return true;
}

/* e over the columns of n, which projections stand between it and the joins at the root of the query. */
static struct fe_expr *over_query(const struct order_query *q, const struct fe_node *n, const struct fe_expr *e)
{
    if (n == q->root)
        return order_put_in(q, e, q->map);
    return over_query(q, n->inputs[0], order_put_in(q, e, n->u.project.exprs));
}

static void take_apart(struct grouping *g)
{
    const struct fe_node *in = g->n->inputs[0];
    struct order_query *q = &g->q;
    order_flatten(q);
    order_imply(q);
    g->nkeys = g->n->u.agg.nkeys;
    g->naggs = g->n->u.agg.naggs;
    g->keys = HD_NEWN(q->a, struct fe_expr *, g->nkeys + 1);
    g->args = HD_NEWN(q->a, struct fe_expr *, g->naggs + 1);
    for (int i = 0; i < g->nkeys; i++)
        g->keys[i] = over_query(q, in, g->n->u.agg.keys[i]);
    for (int i = 0; i < g->naggs; i++)
        g->args[i] = g->n->u.agg.aggs[i].arg ? over_query(q, in, g->n->u.agg.aggs[i].arg) : NULL;
}

/* NULL: it stays as it is. */
static struct fe_node *regrouped(struct ctx *c, const struct fe_plan *plan, const struct fe_node *n)
{
    const struct fe_node *root = n->inputs[0];
    int id = 0;
    struct grouping g = {.n = n};
    while (root->op == FE_PROJECT_OP)
        root = root->inputs[0];
    g.q = (struct order_query){
        .a = c->a, .plan = plan, .shared = c->shared, .inside = as_it_is, .data = c, .next_id = &id, .root = root};
    if (!is_plain(n) || !order_may_flatten(&g.q, root))
        return NULL;
    take_apart(&g);
    find_lookups(&g);
    if (g.lookups.n == 0)
        return NULL;
    return regroup(&g);
}

static struct fe_node *regroup_all(struct ctx *c, const struct fe_plan *plan, const struct fe_node *n, bool *changed)
{
    struct fe_node *to = hd_dup(c->a, n, sizeof *n);
    to->inputs = HD_NEWN(c->a, struct fe_node *, n->ninputs + 1);
    for (int i = 0; i < n->ninputs; i++)
        to->inputs[i] = regroup_all(c, plan, n->inputs[i], changed);
    struct fe_node *better = n->op == FE_AGGREGATE_OP ? order_eager(c->a, plan, to) : NULL;
    if (!better && n->op == FE_AGGREGATE_OP)
        better = regrouped(c, plan, to);
    *changed |= better != NULL;
    return better ? better : to;
}

void pl_group_before_lookups(struct ctx *c)
{
    const struct fe_plan *p = c->plan;
    bool changed = false;
    if (!p->order_auto)
        return;
    pl_need_columns(c, p->root);
    struct fe_plan *to = hd_dup(c->a, p, sizeof *p);
    to->shared = HD_NEWN(c->a, struct fe_node *, p->nshared + 1);
    for (int i = 0; i < p->nshared; i++)
        to->shared[i] = p->shared[i];
    for (int i = 0; i < p->nshared; i++)
        to->shared[i] = regroup_all(c, to, p->shared[i], &changed);
    to->root = regroup_all(c, to, p->root, &changed);
    c->need = NULL;
    c->shared = HD_NEWN(c->a, struct shared_state, p->nshared + 1);
    if (!changed)
        return;
    rw_renumber(to);
    c->plan = to;
}
