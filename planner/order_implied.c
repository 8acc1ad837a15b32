/* What follows from the conditions of a query. Only conjuncts of inner joins and filters tell something of all rows; those
 * of a dependent relation's join are its own. */
#include "planner/order_implied.h"

#include "planner/order_flatten.h"
#include "planner/order_unique.h"
#include "planner/typed.h"

enum { CLASSES = 64 };

/* ---- joins that are inner ones --------------------------------------------------------------------------------- */

/* NULL, where all columns of relation r are. */
static bool is_strict(const struct order_query *q, const struct fe_expr *e, int r)
{
    if (e->op == FE_COL)
        return q->columns.v[e->col].relation == r;
    enum fe_null_rule rule = fe_op_form(e->op)->nulls;
    if (rule != FE_NULLS_STRICT && rule != FE_NULLS_PARTIAL && rule != FE_NULLS_MEMBER)
        return false;
    int n = rule == FE_NULLS_MEMBER ? HD_MIN(e->nargs, 1) : e->nargs;
    for (int i = 0; i < n; i++)
        if (is_strict(q, e->args[i], r))
            return true;
    return false;
}

/* Not true, where all columns of relation r are NULL. */
static bool drops_nulls(const struct order_query *q, const struct fe_expr *e, int r)
{
    if (e->op == FE_NOT && e->args[0]->op == FE_IS_NULL)
        return is_strict(q, e->args[0]->args[0], r);
    if (e->op != FE_AND && e->op != FE_OR)
        return is_strict(q, e, r);
    int n = 0;
    for (int i = 0; i < e->nargs; i++)
        n += drops_nulls(q, e->args[i], r);
    return e->op == FE_AND ? n > 0 : n == e->nargs;
}

static bool nulls_are_dropped(const struct order_query *q, int r)
{
    for (int i = 0; i < q->terms.n; i++)
        if (q->terms.v[i].owner < 0 && drops_nulls(q, q->terms.v[i].e, r))
            return true;
    return false;
}

/* A row on the left meets one of relation r at most. */
static bool meets_one(const struct order_query *q, int r)
{
    const struct order_source *s = &q->sources.v[r];
    bool *key = HD_NEWN(q->a, bool, s->orig->ncols + 1);
    for (int i = 0; i < q->terms.n; i++) {
        const struct order_term *t = &q->terms.v[i];
        for (int k = 0; k < 2 && t->owner == r && t->sides[0] && !t->null_equal; k++)
            if (t->sides[k]->op == FE_COL && t->of[k] == order_of(r))
                key[t->sides[k]->col - s->base] = true;
    }
    return order_is_unique(q->plan, s->orig, key);
}

static void make_inner(struct order_query *q, int r)
{
    q->sources.v[r].kind = FE_INNER;
    q->sources.v[r].needs = 0;
    for (int i = 0; i < q->terms.n; i++)
        if (q->terms.v[i].owner == r)
            q->terms.v[i].owner = -1;
}

/* What one of them says may make another one inner. */
static void make_joins_inner(struct order_query *q)
{
    for (int done = -1; done != 0;) {
        done = 0;
        for (int i = 0; i < q->sources.n; i++) {
            enum fe_join_kind kind = q->sources.v[i].kind;
            if ((kind == FE_LEFT && nulls_are_dropped(q, i)) || (kind == FE_SEMI && meets_one(q, i))) {
                make_inner(q, i);
                done++;
            }
        }
    }
}

/* ---- arms of an or ----------------------------------------------------------------------------------------------- */

struct arm {
    const struct fe_expr **v;
    int n;
};

static bool says(const struct arm *a, const struct fe_expr *e)
{
    for (int i = 0; i < a->n; i++)
        if (fe_expr_eq(a->v[i], e))
            return true;
    return false;
}

static bool all_say(const struct arm *arms, int n, const struct fe_expr *e)
{
    for (int i = 0; i < n; i++)
        if (!says(&arms[i], e))
            return false;
    return true;
}

/* v[0] and v[1] ..., or with them; NULL: none. */
static struct fe_expr *all_of(struct hd_arena *a, enum fe_op op, int n, const struct fe_expr *const *v)
{
    if (n < 2)
        return n ? hd_dup(a, v[0], sizeof **v) : NULL;
    struct fe_expr *e = pl_expr_node(a, op, hd_type_of(HD_BOOL), false, v[0]->path, 0, NULL, NULL);
    e->nargs = n;
    e->args = HD_NEWN(a, struct fe_expr *, n);
    for (int i = 0; i < n; i++) {
        e->args[i] = hd_dup(a, v[i], sizeof **v);
        e->nullable |= v[i]->nullable;
    }
    return e;
}

/* What every arm says of relation r alone; NULL: some arm says nothing. */
static struct fe_expr *said_of(const struct order_query *q, const struct arm *arms, int n, int r)
{
    const struct fe_expr **of = HD_NEWN(q->a, const struct fe_expr *, n);
    for (int i = 0; i < n; i++) {
        const struct fe_expr **v = HD_NEWN(q->a, const struct fe_expr *, arms[i].n + 1);
        int k = 0;
        for (int j = 0; j < arms[i].n; j++)
            if (order_relations_of(q, arms[i].v[j]) == order_of(r))
                v[k++] = arms[i].v[j];
        of[i] = all_of(q->a, FE_AND, k, v);
        if (!of[i])
            return NULL;
    }
    return all_of(q->a, FE_OR, n, of);
}

/* Takes out what all arms say, as conjuncts of their own. */
static void take_common(struct order_query *q, int term, struct arm *arms, int n)
{
    const struct arm first = {hd_dup(q->a, arms[0].v, sizeof *arms[0].v * (size_t)arms[0].n), arms[0].n};
    const struct fe_expr **rest = HD_NEWN(q->a, const struct fe_expr *, n);
    bool found = false, empty = false;
    for (int i = 0; i < first.n; i++) {
        if (!all_say(arms, n, first.v[i]))
            continue;
        found = true;
        order_add_term(q, hd_dup(q->a, first.v[i], sizeof **first.v), -1, false);
        for (int k = 0; k < n; k++) {
            int left = 0;
            for (int j = 0; j < arms[k].n; j++)
                if (!fe_expr_eq(arms[k].v[j], first.v[i]))
                    arms[k].v[left++] = arms[k].v[j];
            arms[k].n = left;
        }
    }
    for (int k = 0; k < n; k++) {
        rest[k] = all_of(q->a, FE_AND, arms[k].n, arms[k].v);
        empty |= !rest[k];
    }
    if (!found)
        return;
    struct order_term *t = &q->terms.v[term];
    t->implied = empty; /* by what was taken out */
    if (!empty) {
        t->e = all_of(q->a, FE_OR, n, rest);
        t->relations = order_relations_of(q, t->e);
    }
}

static void look_at_or(struct order_query *q, int term)
{
    const struct fe_expr *e = q->terms.v[term].e;
    int n = e->nargs;
    struct arm *arms = HD_NEWN(q->a, struct arm, n);
    for (int i = 0; i < n; i++)
        pl_conjuncts(q->a, e->args[i], &arms[i].v, &arms[i].n);
    take_common(q, term, arms, n);
    order_set s = q->terms.v[term].relations;
    if (q->terms.v[term].implied || !(s & (s - 1)))
        return;
    for (; s; s &= s - 1) {
        int r = order_first(s);
        struct fe_expr *said = q->sources.v[r].kind == FE_INNER ? said_of(q, arms, n, r) : NULL;
        if (!said)
            continue;
        order_add_term(q, said, -1, true);
        q->terms.v[q->terms.n - 1].from = term;
    }
}

/* ---- what equals each other ---------------------------------------------------------------------------------------- */

static int class_of(const struct order_query *q, const struct fe_expr *e)
{
    for (int i = 0; i < q->equals.n; i++)
        for (int k = 0; k < q->equals.v[i].members.n; k++)
            if (fe_expr_eq(q->equals.v[i].members.v[k].e, e))
                return i;
    return -1;
}

static void add_member(struct order_query *q, int class, struct fe_expr *e, int relation)
{
    struct order_equals *to = &q->equals.v[class];
    for (int i = 0; i < to->members.n; i++)
        if (fe_expr_eq(to->members.v[i].e, e))
            return;
    hd_vec_push(q->a, &to->members, (struct order_member){e, relation});
}

static void merge(struct order_query *q, int to, int from)
{
    for (int i = 0; i < q->equals.v[from].members.n; i++)
        add_member(q, to, q->equals.v[from].members.v[i].e, q->equals.v[from].members.v[i].relation);
    q->equals.v[from].members.n = 0;
    for (int i = 0; i < q->terms.n; i++)
        if (q->terms.v[i].class == from)
            q->terms.v[i].class = to;
}

static bool is_of_inner(const struct order_query *q, order_set s)
{
    return !(s & (s - 1)) && q->sources.v[order_first(s)].kind == FE_INNER;
}

static void add_equality(struct order_query *q, struct order_term *t)
{
    bool tells = t->owner < 0 && t->sides[0] && !t->null_equal && is_of_inner(q, t->of[0]) && is_of_inner(q, t->of[1]);
    if (!tells)
        return;
    int x = class_of(q, t->sides[0]), y = class_of(q, t->sides[1]), to = x >= 0 ? x : y;
    if (to < 0 && q->equals.n == CLASSES)
        return;
    if (to < 0) {
        to = q->equals.n;
        hd_vec_push(q->a, &q->equals, (struct order_equals){0});
    }
    t->class = to;
    if (x >= 0 && y >= 0 && x != y)
        merge(q, x, y);
    for (int i = 0; i < 2; i++)
        add_member(q, to, t->sides[i], order_first(t->of[i]));
}

/* Two of one relation: rows of it in which they differ are never joined. */
static void add_equal_within(struct order_query *q, const struct order_equals *c)
{
    for (int i = 1; i < c->members.n; i++)
        for (int k = 0; k < i; k++) {
            if (c->members.v[i].relation != c->members.v[k].relation)
                continue;
            struct fe_expr *e = c->members.v[i].e;
            order_add_term(q, pl_key_equal(q->a, c->members.v[k].e, e, e->path, false), -1, true);
            break;
        }
}

/* ---- what is said of one, and so of all of them ---------------------------------------------------------------------- */

/* The one column that e reads; -1: none, or several. */
static int only_column(const struct fe_expr *e, int found)
{
    if (e->op == FE_COL)
        return found == -2 || found == e->col ? e->col : -1;
    for (int i = 0; i < e->nargs && found != -1; i++)
        found = only_column(e->args[i], found);
    return found;
}

static struct fe_expr *instead(const struct order_query *q, const struct fe_expr *e, struct fe_expr *column)
{
    if (e->op == FE_COL)
        return column;
    struct fe_expr *to = hd_dup(q->a, e, sizeof *e);
    to->args = HD_NEWN(q->a, struct fe_expr *, e->nargs + 1);
    for (int i = 0; i < e->nargs; i++)
        to->args[i] = instead(q, e->args[i], column);
    return to;
}

static void say_of_all(struct order_query *q, const struct order_equals *c, const struct fe_expr *e, int column)
{
    const struct order_member *of = NULL;
    for (int i = 0; i < c->members.n; i++)
        if (c->members.v[i].e->op == FE_COL && c->members.v[i].e->col == column)
            of = &c->members.v[i];
    for (int i = 0; of && i < c->members.n; i++) {
        const struct order_member *m = &c->members.v[i];
        bool same = m->e->op == FE_COL && hd_type_eq(m->e->type, of->e->type) && (of->e->nullable || !m->e->nullable);
        if (same && m->relation != of->relation)
            order_add_term(q, instead(q, e, m->e), -1, true);
    }
}

static void say_of_equals(struct order_query *q)
{
    for (int i = 0, n = q->terms.n; i < n; i++) {
        const struct order_term t = q->terms.v[i];
        int column = t.owner < 0 ? only_column(t.e, -2) : -1;
        for (int k = 0; k < q->equals.n && column >= 0; k++)
            say_of_all(q, &q->equals.v[k], t.e, column);
    }
}

/* ---- all of it -------------------------------------------------------------------------------------------------------- */

void order_imply(struct order_query *q)
{
    make_joins_inner(q);
    for (int i = 0, n = q->terms.n; i < n; i++)
        if (q->terms.v[i].owner < 0 && q->terms.v[i].e->op == FE_OR && !q->terms.v[i].null_equal)
            look_at_or(q, i);
    for (int i = 0; i < q->terms.n; i++)
        add_equality(q, &q->terms.v[i]);
    say_of_equals(q);
    for (int i = 0; i < q->equals.n; i++)
        add_equal_within(q, &q->equals.v[i]);
}
