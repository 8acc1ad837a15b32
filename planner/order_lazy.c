/* Lazy aggregation (Yan and Larson, Eager Aggregation and Lazy Aggregation, VLDB 1995): a grouping G that is joined with
 * relations X, of which each group meets one row at most, since G's keys are unique in them, may as well be joined first
 * and grouped afterwards, by its keys and what is read of X, which the keys tell. Rows of a group meet the same row of X,
 * so that a group is there as a whole or not at all. That pays where X leaves few rows: they need not be grouped, and a
 * way by indexes may lead to them.
 *
 * Conditions between X and the keys, and those of X alone, are part of the joins below; those that read aggregates stay. */
#include "planner/order_lazy.h"

#include "planner/cost.h"
#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/order_build.h"
#include "planner/order_facts.h"
#include "planner/order_flatten.h"
#include "planner/order_unique.h"
#include "planner/rewrite_node.h"
#include "planner/typed.h"

/* Rows that are left at most, as a share of the grouping's input. */
static const double few = 0.2;

struct lazy {
    struct ctx *c;
    struct order_query *q;
    int r; /* the relation that the grouping is part of */
    const struct fe_node *grouping;
    order_set with; /* that are joined below it */
    int *at; /* [column of the query]: where the rows joined have it, -1: not */
    struct fe_expr **now; /* [column of the query]: what is read in its place */
    HD_VEC(int) more; /* columns of the query, of `with`, that become keys */
};

/* ---- which relations ------------------------------------------------------------------------------------------------ */

/* The key of the grouping that column i of the query is. */
static const struct fe_expr *key_of(const struct lazy *l, int i)
{
    const struct order_source *s = &l->q->sources.v[l->r];
    return l->q->columns.v[i].relation == l->r ? order_group_key(s->orig, l->grouping, i - s->base) : NULL;
}

/* All rows of a group have one value of it, if they meet one row of each of `with`. */
static bool is_told(const struct lazy *l, const struct order_member *m, order_set with)
{
    return m->e->op == FE_COL && ((with & order_of(m->relation)) || key_of(l, m->e->col));
}

/* Columns by which relation x is joined tell its row. */
static bool meets_one(const struct lazy *l, int x, order_set with)
{
    const struct order_source *s = &l->q->sources.v[x];
    bool *key = HD_NEWN(l->q->a, bool, s->orig->ncols + 1);
    for (int i = 0; i < l->q->equals.n; i++) {
        const struct order_equals *e = &l->q->equals.v[i];
        bool told = false;
        for (int k = 0; k < e->members.n && !told; k++)
            told = is_told(l, &e->members.v[k], with);
        for (int k = 0; told && k < e->members.n; k++)
            if (e->members.v[k].relation == x && e->members.v[k].e->op == FE_COL)
                key[e->members.v[k].e->col - s->base] = true;
    }
    return order_is_unique(l->q->plan, s->orig, key);
}

static bool may_join(const struct lazy *l, int x, order_set with)
{
    return x != l->r && !(l->with & order_of(x)) && l->q->sources.v[x].kind == FE_INNER && meets_one(l, x, with);
}

/* Those that the keys tell, and those beyond them that drop rows. */
static void find_relations(struct lazy *l)
{
    order_set direct = 0;
    for (int x = 0; x < l->q->sources.n; x++)
        if (may_join(l, x, 0))
            direct |= order_of(x);
    l->with = direct;
    for (int found = 1; found && direct;) {
        found = 0;
        for (int x = 0; x < l->q->sources.n; x++)
            if (may_join(l, x, l->with) && order_share_left(l->c, l->q, x) < few) {
                l->with |= order_of(x);
                found++;
            }
    }
}

/* Rows that relations' filters leave of their own and of those that look them up. */
static bool is_worth_it(const struct lazy *l)
{
    const struct fe_node *inside = order_grouping_below(l->q->sources.v[l->r].inside);
    double share = 1, scanned = 0;
    if (!inside || !(l->with & (l->with - 1)))
        return false;
    for (order_set s = l->with; s; s &= s - 1) {
        int x = order_first(s);
        share *= order_share_left(l->c, l->q, x);
        scanned += order_rows_scanned(l->q->plan, l->q->sources.v[x].orig);
    }
    const double rows = est_rows(l->c, inside->inputs[0]);
    return share <= few && pl_worth_reducing(rows, rows, share, scanned);
}

/* ---- below the grouping --------------------------------------------------------------------------------------------- */

/* A condition of the joins below. */
static bool is_inside(const struct lazy *l, const struct order_term *t)
{
    return t->owner < 0 && t->relations && order_within(t->relations, l->with);
}

static struct fe_expr *over(const struct lazy *l, const struct fe_expr *e)
{
    struct fe_expr **map = HD_NEWN(l->q->a, struct fe_expr *, l->q->columns.n + 1);
    for (int i = 0; i < l->q->columns.n; i++) {
        const struct fe_column *c = &l->q->columns.v[i].c;
        map[i] = pl_col_node(l->q->a, l->at[i], c->type, c->nullable, e->path);
    }
    return order_put_in(l->q, e, map);
}

/* What of the class is on the left already: a key of the grouping, or a column of a relation that was joined; or NULL. */
static struct fe_expr *on_the_left(const struct lazy *l, const struct order_equals *e, order_set there)
{
    for (int k = 0; k < e->members.n; k++) {
        const struct order_member *m = &e->members.v[k];
        const struct fe_expr *key = m->e->op == FE_COL ? key_of(l, m->e->col) : NULL;
        if (key)
            return hd_dup(l->q->a, key, sizeof *key);
        if (there & order_of(m->relation))
            return over(l, m->e);
    }
    return NULL;
}

static struct fe_node *join_one(const struct lazy *l, struct fe_node *left, int x, order_set there)
{
    const struct rewriting w = {.a = l->q->a};
    const struct order_source *s = &l->q->sources.v[x];
    struct fe_node *right = hd_dup(l->q->a, s->orig, sizeof *right),
                   *n = rw_join(&w, FE_INNER, left, right, 0, NULL, NULL, 0);
    n->id = (*l->q->next_id)++;
    n->u.join.lkeys = HD_NEWN(l->q->a, struct fe_expr *, l->q->equals.n + 1);
    n->u.join.rkeys = HD_NEWN(l->q->a, struct fe_expr *, l->q->equals.n + 1);
    n->u.join.null_equal = HD_NEWN(l->q->a, bool, l->q->equals.n + 1);
    for (int i = 0; i < right->ncols; i++)
        l->at[s->base + i] = i;
    for (int i = 0; i < l->q->equals.n; i++) {
        const struct order_equals *e = &l->q->equals.v[i];
        struct fe_expr *key = on_the_left(l, e, there);
        for (int k = 0; key && k < e->members.n; k++)
            if (e->members.v[k].relation == x) {
                n->u.join.lkeys[n->u.join.nkeys] = key;
                n->u.join.rkeys[n->u.join.nkeys++] = over(l, e->members.v[k].e);
                break;
            }
    }
    for (int i = 0; i < right->ncols; i++)
        l->at[s->base + i] = left->ncols + i;
    return n;
}

/* Relations in an order in which each has what tells it. */
static struct fe_node *join_all(const struct lazy *l, struct fe_node *n)
{
    struct fe_expr *all = NULL;
    for (order_set there = 0; there != l->with;)
        for (int x = 0; x < l->q->sources.n; x++)
            if ((l->with & ~there & order_of(x)) && meets_one(l, x, there)) {
                n = join_one(l, n, x, there);
                there |= order_of(x);
            }
    for (int i = 0; i < l->q->terms.n; i++) {
        const struct order_term *t = &l->q->terms.v[i];
        if (is_inside(l, t) && t->class < 0 && !t->implied)
            all = all ? pl_expr_node(l->q->a, FE_AND, t->e->type, all->nullable || t->e->nullable, t->e->path, 2, all,
                                     over(l, t->e))
                      : over(l, t->e);
    }
    if (!all)
        return n;
    const struct rewriting w = {.a = l->q->a};
    struct fe_node *filter = rw_node(&w, FE_FILTER_OP, n, 1, n, NULL);
    rw_set_columns(&w, filter, n);
    filter->u.filter.pred = all;
    filter->id = (*l->q->next_id)++;
    return filter;
}

/* ---- the grouping ----------------------------------------------------------------------------------------------------- */

static struct fe_column column_of(const struct lazy *l, int i)
{
    return l->q->columns.v[l->more.v[i]].c;
}

/* Columns of `of`, the new ones inserted before column `behind`. */
static void insert_columns(const struct lazy *l, struct fe_node *n, const struct fe_node *of, int behind)
{
    n->ncols = of->ncols + l->more.n;
    n->cols = HD_NEWN(l->q->a, struct fe_column, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++)
        n->cols[i] = i < behind               ? of->cols[i]
                     : i < behind + l->more.n ? column_of(l, i - behind)
                                              : of->cols[i - l->more.n];
}

static struct fe_node *group(const struct lazy *l, struct fe_node *in)
{
    const struct fe_node *g = l->grouping;
    struct hd_arena *a = l->q->a;
    struct fe_node *n = hd_dup(a, g, sizeof *n);
    n->id = (*l->q->next_id)++;
    n->inputs = HD_NEWN(a, struct fe_node *, 1);
    n->inputs[0] = in;
    n->u.agg.nkeys = g->u.agg.nkeys + l->more.n;
    n->u.agg.keys = HD_NEWN(a, struct fe_expr *, n->u.agg.nkeys + 1);
    for (int i = 0; i < n->u.agg.nkeys; i++) {
        const int k = i - g->u.agg.nkeys;
        const struct fe_column *c = k < 0 ? NULL : &l->q->columns.v[l->more.v[k]].c;
        n->u.agg.keys[i] = c ? pl_col_node(a, l->at[l->more.v[k]], c->type, c->nullable, g->path) : g->u.agg.keys[i];
    }
    insert_columns(l, n, g, g->u.agg.nkeys);
    return n;
}

/* Columns of n as they were: behind those before `behind` come the new ones, which are at the end above. */
static struct fe_expr *moved(const struct lazy *l, const struct fe_node *was, int behind, const struct fe_expr *e)
{
    struct fe_expr **map = HD_NEWN(l->q->a, struct fe_expr *, was->ncols + 1);
    for (int i = 0; i < was->ncols; i++)
        map[i] =
            pl_col_node(l->q->a, i < behind ? i : i + l->more.n, was->cols[i].type, was->cols[i].nullable, e->path);
    return order_put_in(l->q, e, map);
}

/* n over `below`, the new grouping; *behind: where the new columns are in what is made. */
static struct fe_node *above(const struct lazy *l, const struct fe_node *n, struct fe_node *below, int *behind)
{
    if (n == l->grouping) {
        *behind = l->grouping->u.agg.nkeys;
        return below;
    }
    const struct fe_node *was = n->inputs[0];
    struct fe_node *in = above(l, was, below, behind), *to = hd_dup(l->q->a, n, sizeof *n);
    const int at = *behind;
    to->id = (*l->q->next_id)++;
    to->inputs = HD_NEWN(l->q->a, struct fe_node *, 1);
    to->inputs[0] = in;
    if (n->op == FE_FILTER_OP) {
        insert_columns(l, to, n, at);
        to->u.filter.pred = moved(l, was, at, n->u.filter.pred);
        return to;
    }
    insert_columns(l, to, n, *behind = n->ncols);
    to->u.project.exprs = HD_NEWN(l->q->a, struct fe_expr *, to->ncols + 1);
    for (int i = 0; i < n->ncols; i++)
        to->u.project.exprs[i] = moved(l, was, at, n->u.project.exprs[i]);
    for (int i = n->ncols; i < to->ncols; i++) {
        const struct fe_column *c = &in->cols[at + i - n->ncols];
        to->u.project.exprs[i] = pl_col_node(l->q->a, at + i - n->ncols, c->type, c->nullable, n->path);
    }
    return to;
}

/* ---- the query around it ---------------------------------------------------------------------------------------------- */

/* A key of the grouping that always is what column i of `with` is; -1: none. Equal floats may differ in their signs. */
static int key_like(const struct lazy *l, int i)
{
    const struct order_query *q = l->q;
    for (int k = 0; k < q->equals.n; k++) {
        const struct order_equals *e = &q->equals.v[k];
        bool there = false;
        int key = -1;
        for (int m = 0; m < e->members.n; m++) {
            const struct fe_expr *x = e->members.v[m].e;
            if (x->op != FE_COL || !hd_type_eq(x->type, q->columns.v[i].c.type) || hd_type_is_float(x->type))
                continue;
            there |= x->col == i;
            key = key_of(l, x->col) ? x->col : key;
        }
        if (there && key >= 0)
            return key;
    }
    return -1;
}

static void read_more(struct lazy *l, const struct fe_expr *e)
{
    bool seen = e->op != FE_COL || !(l->with & order_of(l->q->columns.v[e->col].relation)) || key_like(l, e->col) >= 0;
    for (int i = 0; i < l->more.n && !seen; i++)
        seen = l->more.v[i] == e->col;
    if (!seen)
        hd_vec_push(l->q->a, &l->more, e->col);
    for (int i = 0; i < e->nargs; i++)
        read_more(l, e->args[i]);
}

/* Columns of `with` that somebody else reads. */
static void find_columns(struct lazy *l)
{
    const struct order_query *q = l->q;
    for (int i = 0; i < q->root->ncols; i++)
        read_more(l, q->map[i]);
    for (int i = 0; i < q->last.n; i++)
        read_more(l, q->last.v[i]);
    for (int i = 0; i < q->terms.n; i++)
        if (!is_inside(l, &q->terms.v[i]) && q->terms.v[i].class < 0)
            read_more(l, q->terms.v[i].e);
    for (int i = 0; i < q->equals.n; i++) {
        order_set s = 0;
        for (int k = 0; k < q->equals.v[i].members.n; k++)
            s |= order_of(q->equals.v[i].members.v[k].relation);
        for (int k = 0; k < q->equals.v[i].members.n && !order_within(s, l->with | order_of(l->r)); k++)
            read_more(l, q->equals.v[i].members.v[k].e);
    }
}

/* The relation's columns are new ones of the query, the old ones and then those of `with`. */
static void replace_source(struct lazy *l, struct fe_node *n, int behind)
{
    struct order_query *q = l->q;
    const int base = q->columns.n, old = q->sources.v[l->r].base, was = q->sources.v[l->r].orig->ncols;
    for (int i = 0; i < base; i++) {
        const struct fe_column *c = &q->columns.v[i].c;
        l->now[i] = pl_col_node(q->a, i, c->type, c->nullable, n->path);
    }
    for (int i = 0; i < n->ncols; i++) {
        const int k = i - behind;
        bool is_new = k >= 0 && k < l->more.n;
        int of = is_new ? l->more.v[k] : old + (i < behind ? i : i - l->more.n);
        HD_ASSERT(is_new || of < old + was);
        hd_vec_push(q->a, &q->columns, (struct order_column_of){n->cols[i], l->r});
        l->now[of] = pl_col_node(q->a, base + i, n->cols[i].type, n->cols[i].nullable, n->path);
    }
    for (int i = 0; i < base; i++)
        if ((l->with & order_of(q->columns.v[i].relation)) && key_like(l, i) >= 0)
            l->now[i] = l->now[key_like(l, i)];
    q->sources.v[l->r].orig = n;
    q->sources.v[l->r].base = base;
}

static struct fe_expr *now(const struct lazy *l, struct fe_expr *e)
{
    return e ? order_put_in(l->q, e, l->now) : NULL;
}

/* Conditions over the columns that there are now. */
static void replace_terms(struct lazy *l)
{
    struct order_query *q = l->q;
    int n = 0;
    for (int i = 0; i < q->terms.n; i++) {
        struct order_term t = q->terms.v[i];
        if (is_inside(l, &t) || (t.class >= 0 && order_within(t.relations, l->with | order_of(l->r))))
            continue;
        for (int k = 0; k < 2; k++) {
            t.sides[k] = now(l, t.sides[k]);
            t.of[k] = t.sides[k] ? order_relations_of(q, t.sides[k]) : 0;
        }
        t.e = now(l, t.e);
        t.relations = order_relations_of(q, t.e);
        q->terms.v[n++] = t;
    }
    q->terms.n = n;
    for (int i = 0; i < q->equals.n; i++)
        for (int k = 0; k < q->equals.v[i].members.n; k++) {
            struct order_member *m = &q->equals.v[i].members.v[k];
            m->relation = (l->with & order_of(m->relation)) ? l->r : m->relation;
            m->e = now(l, m->e);
        }
    for (int i = 0; i < q->last.n; i++)
        q->last.v[i] = now(l, q->last.v[i]);
    for (int i = 0; i < q->root->ncols; i++)
        q->map[i] = now(l, q->map[i]);
}

static struct fe_node *rebuilt(struct lazy *l)
{
    struct order_query *q = l->q;
    const struct fe_node *orig = q->sources.v[l->r].orig;
    order_set all = 0;
    int behind = 0;
    l->at = HD_NEWN(q->a, int, q->columns.n + 1);
    l->now = HD_NEWN(q->a, struct fe_expr *, q->columns.n + 1);
    find_columns(l);
    struct fe_node *n = above(l, orig, group(l, join_all(l, l->grouping->inputs[0])), &behind);
    replace_source(l, n, behind);
    replace_terms(l);
    for (int i = 0; i < q->sources.n; i++)
        all |= order_of(i) & ~l->with;
    return order_part(q, all, q->root->ncols, q->map, q->root->cols);
}

/* A dependent relation whose condition reads them needs columns that are there only once the grouping is joined. */
static bool some_need(const struct lazy *l)
{
    for (int i = 0; i < l->q->sources.n; i++)
        if (l->q->sources.v[i].needs & l->with)
            return true;
    return false;
}

struct fe_node *order_lazy(struct ctx *c, struct order_query *q)
{
    for (int r = 0; r < q->sources.n; r++) {
        struct lazy l = {.c = c, .q = q, .r = r, .grouping = order_grouping_below(q->sources.v[r].orig)};
        if (q->sources.v[r].kind != FE_INNER || !l.grouping || l.grouping->u.agg.merges)
            continue;
        find_relations(&l);
        if (is_worth_it(&l) && !some_need(&l))
            return rebuilt(&l);
    }
    return NULL;
}
