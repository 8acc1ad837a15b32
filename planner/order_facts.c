/* Relations and conditions in numbers: from facts of the catalog where there are any, guessed otherwise. */
#include "planner/order_facts.h"

#include <math.h>

#include "planner/cost.h"
#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/order_build.h"
#include "planner/order_flatten.h"
#include "planner/order_sample.h"
#include "planner/range.h"

/* ---- columns ---------------------------------------------------------------------------------------------------- */

/* Where it is one column of the relation, else -1. */
static int column_of(const struct order_source *s, const struct fe_expr *e)
{
    e = pl_uncast(e);
    return e->op == FE_COL ? e->col - s->base : -1;
}

static const struct fe_foreign_key *index_of(const struct fe_table *t, int column)
{
    for (int i = 0; i < t->nfks; i++) {
        const struct fe_foreign_key *f = &t->fks[i];
        if (f->n_columns == 1 && f->offsets && f->columns[0] == column &&
            key_index_of(f->parent, f->parent_columns[0]) >= 0)
            return f;
    }
    return NULL;
}

static void column_of_table(const struct fe_table *t, int column, struct order_column *out)
{
    const struct fe_facts *f = &t->cols[column].facts;
    const struct fe_foreign_key *fk = index_of(t, column);
    out->sorted = f->known && (f->sorted || f->clustered);
    out->key = key_index_of(t, column) >= 0;
    if (!fk)
        return;
    out->children = fk->parent->rows ? (double)t->rows / (double)fk->parent->rows : 1;
    out->scattered = fk->child_rows != NULL;
}

/* What is known of e in relation s, which has so many rows without its filters. */
static struct order_column facts_of(struct ctx *c, const struct order_source *s, const struct fe_expr *e, double rows)
{
    struct order_column out = {.there = true, .distinct = HD_MAX(1, rows), .children = -1};
    out.hashed = e->type.kind == HD_STRING || hd_type_is_float(e->type);
    int col = column_of(s, e);
    if (col < 0)
        return out;
    struct fe_expr ref = {.op = FE_COL, .col = col};
    struct est_key k = est_key(c, s->inside, &ref);
    if (k.distinct >= 0)
        out.distinct = HD_MAX(1, k.distinct);
    out.heavy = k.heavy;
    if (node_table(s->inside))
        column_of_table(node_table(s->inside), s->inside->u.scan.columns[col], &out);
    return out;
}

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

/* Groups: as many as combinations of their keys, or as rows at most. */
static double groups_of(const struct ctx *c, const struct fe_node *n)
{
    double rows = est_rows(c, n->inputs[0]), groups = 1;
    if (!n->u.agg.nkeys)
        return 1;
    for (int i = 0; i < n->u.agg.nkeys; i++) {
        double d = est_key(c, n->inputs[0], n->u.agg.keys[i]).distinct;
        groups *= d < 0 ? HD_MAX(1, rows * 0.3) : HD_MAX(1, d);
    }
    return HD_MIN(groups, rows);
}

/* Of a relation, without what the query filters. */
static double rows_of(const struct ctx *c, const struct fe_node *n)
{
    if (node_table(n) && !n->u.scan.filter)
        return (double)node_table(n)->rows;
    switch (n->op) {
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP: return groups_of(c, n);
    case FE_REF_OP: return rows_of(c, c->plan->shared[n->u.ref.shared]);
    case FE_PROJECT_OP:
    case FE_WINDOW_OP: return rows_of(c, n->inputs[0]);
    case FE_FILTER_OP: return HD_MAX(1, est_filter_share(c, n) * rows_of(c, n->inputs[0]));
    case FE_SCAN_OP:
    case FE_JOIN_OP:
    case FE_SORT_OP:
    case FE_LIMIT_OP:
    case FE_TOP_OP:
    case FE_PAIRS_OP:
    case FE_REPEAT_OP:
    case FE_VALUES_OP:
    case FE_UNION_ALL_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    return est_rows(c, n);
}

/* ---- conditions -------------------------------------------------------------------------------------------------------- */

/* Values of e, < 0 unknown: of the one column that it is. */
static double values_of(struct ctx *c, const struct order_query *q, const struct fe_expr *e)
{
    e = pl_uncast(e);
    if (e->op != FE_COL)
        return -1;
    const struct order_source *s = &q->sources.v[q->columns.v[e->col].relation];
    if (e->col - s->base >= s->orig->ncols)
        return 2; /* a mark */
    struct fe_expr ref = {.op = FE_COL, .col = e->col - s->base};
    return est_key(c, s->inside, &ref).distinct;
}

static double share_of_equal(struct ctx *c, const struct order_query *q, const struct fe_expr *e)
{
    double x = values_of(c, q, e->args[0]), y = values_of(c, q, e->args[1]), d = HD_MAX(x, y);
    return d > 0 ? 1 / d : 0.1;
}

/* Where a relation is no table, an aggregate is compared to find the unusual. */
static double share_of(struct ctx *c, const struct order_query *q, const struct fe_expr *e)
{
    double s = 1;
    if (e->op == FE_AND || e->op == FE_OR) {
        for (int i = 0; i < e->nargs; i++)
            s *= e->op == FE_AND ? share_of(c, q, e->args[i]) : 1 - share_of(c, q, e->args[i]);
        return e->op == FE_AND ? s : 1 - s;
    }
    if (e->op == FE_NOT)
        return 1 - share_of(c, q, e->args[0]);
    if (e->op == FE_EQ)
        return share_of_equal(c, q, e);
    if (e->op == FE_NE)
        return 0.9;
    if (e->op == FE_IN) {
        double d = values_of(c, q, e->args[0]);
        return HD_MIN(1, (e->nargs - 1) / (d > 0 ? d : 25));
    }
    if (fe_op_compares(e->op))
        return order_relations_of(q, e) & (order_relations_of(q, e) - 1) ? 0.3 : 0.1;
    return e->op == FE_LIKE || e->op == FE_ILIKE ? 0.1 : e->op == FE_IS_NULL ? 0.05 : 0.3;
}

static void set_shares(struct ctx *c, struct order_query *q)
{
    for (int i = 0; i < q->terms.n; i++)
        q->terms.v[i].share = share_of(c, q, q->terms.v[i].e);
    for (int i = 0; i < q->terms.n; i++) {
        struct order_term *t = &q->terms.v[i];
        if (t->from >= 0 && t->share > 0) /* of what its part leaves, the whole leaves more */
            q->terms.v[t->from].share = HD_MIN(1, q->terms.v[t->from].share / t->share);
    }
}

static bool is_constant(const struct fe_expr *e)
{
    return e->op == FE_LIT || e->op == FE_PARAM;
}

/* The condition that all of the class equal one constant. */
static bool fixes(const struct order_query *q, const struct order_term *t, int class)
{
    if (t->e->op != FE_EQ || t->owner >= 0)
        return false;
    for (int i = 0; i < q->equals.v[class].members.n; i++)
        for (int k = 0; k < 2; k++)
            if (is_constant(t->e->args[!k]) && fe_expr_eq(t->e->args[k], q->equals.v[class].members.v[i].e))
                return true;
    return false;
}

/* ---- relations ----------------------------------------------------------------------------------------------------------- */

static double filtered_rows(struct ctx *c, const struct order_query *q, int r)
{
    const struct order_source *s = &q->sources.v[r];
    if (s->n->op == FE_SCAN_OP)
        return est_rows(c, s->n);
    double rows = rows_of(c, s->inside);
    for (int i = 0; i < q->terms.n; i++)
        if (q->terms.v[i].owner < 0 && q->terms.v[i].relations == order_of(r) && s->kind == FE_INNER)
            rows *= q->terms.v[i].share;
    return HD_MAX(1, rows);
}

/* Rows of the other side that find one, and how many each finds: values of the key that are left, among those of both. */
static void set_dependent(struct ctx *c, const struct order_query *q, int r, struct order_relation *to)
{
    const struct order_source *s = &q->sources.v[r];
    double found = 1, each = 1;
    int keys = 0, rest = 0;
    to->dependent = true;
    to->needs = s->needs;
    for (int i = 0; i < q->terms.n; i++) {
        const struct order_term *t = &q->terms.v[i];
        int own = t->of[1] == order_of(r);
        if (t->owner != r)
            continue;
        if (!t->sides[0] || t->of[own] != order_of(r)) {
            rest++;
            continue;
        }
        struct order_column k = facts_of(c, s, t->sides[own], rows_of(c, s->inside));
        double other = values_of(c, q, t->sides[!own]), all = HD_MAX(k.distinct, other);
        found = HD_MIN(found, k.distinct * (1 - exp(-to->rows / k.distinct)) / all);
        each = HD_MIN(keys ? each : 1e300, to->rows / all);
        to->on = k;
        keys++;
    }
    if (keys != 1)
        to->on.there = false;
    found *= rest ? 0.5 : 1;
    to->share = s->kind == FE_SEMI ? found : s->kind == FE_ANTI ? HD_MAX(0.1, 1 - found) : 1;
    if (s->kind == FE_LEFT)
        to->share = HD_MAX(1, keys ? each : to->rows);
}

static void set_relation(struct ctx *c, const struct order_query *q, int r, struct order_relation *to)
{
    const struct order_source *s = &q->sources.v[r];
    const struct fe_table *t = node_table(s->inside);
    to->rows = filtered_rows(c, q, r);
    to->reduced_by = s->reduced_by;
    to->scanned = t ? (double)t->rows : 0;
    to->cost = t ? 0 : 2 * to->rows;
    for (int i = 0; i < s->orig->ncols; i++) /* all of a relation that was made for this */
        to->columns += s->orig->id >= c->plan->nnodes || c->need[s->orig->id][i];
    if (s->kind != FE_INNER)
        set_dependent(c, q, r, to);
}

static void set_class(struct ctx *c, const struct order_query *q, int i, struct order_class *to)
{
    const struct order_equals *from = &q->equals.v[i];
    to->of = HD_NEWN(q->a, struct order_column, q->sources.n);
    for (int k = 0; k < from->members.n; k++) {
        const struct order_member *m = &from->members.v[k];
        const struct order_source *s = &q->sources.v[m->relation];
        if (to->relations & order_of(m->relation))
            continue;
        to->relations |= order_of(m->relation);
        to->of[m->relation] = facts_of(c, s, m->e, rows_of(c, s->inside));
    }
    for (int k = 0; k < q->terms.n; k++)
        to->constant |= fixes(q, &q->terms.v[k], i);
}

/* Classes that the columns of a key are of; 0: some column is of none. */
static uint64_t classes_of_key(const struct order_query *q, int r, int n, const int *columns)
{
    uint64_t all = 0;
    for (int i = 0; i < n; i++) {
        uint64_t found = 0;
        for (int k = 0; k < q->equals.n; k++)
            for (int m = 0; m < q->equals.v[k].members.n; m++) {
                const struct order_member *of = &q->equals.v[k].members.v[m];
                if (of->relation == r && column_of(&q->sources.v[r], of->e) == columns[i])
                    found = (uint64_t)1 << k;
            }
        if (!found)
            return 0;
        all |= found;
    }
    return all;
}

/* Rows of a table that share the first of two columns by which it is sorted, if a foreign key's index leads to them. */
static double children_of(const struct fe_table *t)
{
    const struct fe_foreign_key *fk = t->pk_sorted && t->npk == 2 ? index_of(t, t->pk[0]) : NULL;
    return fk && !fk->child_rows && fk->parent->rows ? (double)t->rows / (double)fk->parent->rows : -1;
}

/* Of several columns: a table's primary key, the keys of a grouping. */
static void set_key(struct ctx *c, struct order_query *q, struct order_graph *g, int r)
{
    const struct fe_node *n = q->sources.v[r].inside;
    const struct fe_table *t = node_table(n);
    int count = t ? t->npk : n->op == FE_AGGREGATE_OP ? n->u.agg.nkeys : 0;
    int *columns = HD_NEWN(q->a, int, count + 1);
    for (int i = 0; i < count; i++) {
        columns[i] = t ? -1 : i;
        for (int k = 0; t && k < n->ncols; k++)
            if (n->u.scan.columns[k] == t->pk[i])
                columns[i] = k;
        if (columns[i] < 0)
            return;
    }
    uint64_t classes = count > 1 ? classes_of_key(q, r, count, columns) : 0;
    if (classes)
        g->keys[g->nkeys++] =
            (struct order_key){r, classes, t ? (double)t->rows : rows_of(c, n), t ? children_of(t) : -1};
}

static void set_conditions(const struct order_query *q, struct order_graph *g)
{
    for (int i = 0; i < q->terms.n; i++) {
        const struct order_term *t = &q->terms.v[i];
        bool of_many = (t->relations & (t->relations - 1)) != 0;
        bool late = t->relations && q->sources.v[order_first(t->relations)].kind != FE_INNER;
        if (t->owner < 0 && t->class < 0 && !t->implied && (of_many || late))
            g->conditions[g->nconditions++] = (struct order_condition){t->relations, of_many && t->sides[0], t->share};
    }
}

struct order_graph *order_facts(struct ctx *c, struct order_query *q)
{
    struct order_graph *g = HD_NEW(q->a, struct order_graph);
    g->rates = pl_rates(c->opt.on_gpu);
    g->relations = HD_NEWN(q->a, struct order_relation, q->sources.n + 1);
    g->classes = HD_NEWN(q->a, struct order_class, q->equals.n + 1);
    g->keys = HD_NEWN(q->a, struct order_key, q->sources.n + 1);
    g->conditions = HD_NEWN(q->a, struct order_condition, q->terms.n + 1);
    g->nrelations = q->sources.n;
    g->nclasses = q->equals.n;
    set_shares(c, q);
    for (int i = 0; i < q->sources.n; i++)
        set_relation(c, q, i, &g->relations[i]);
    for (int i = 0; i < q->equals.n; i++)
        set_class(c, q, i, &g->classes[i]);
    for (int i = 0; i < q->sources.n; i++)
        if (q->sources.v[i].kind == FE_INNER)
            set_key(c, q, g, i);
    set_conditions(q, g);
    order_sample(c, q, g);
    order_connect(q->a, g);
    return g;
}

/* ---- for what changes a query before it is ordered -------------------------------------------------------------------- */

double order_share_left(struct ctx *c, struct order_query *q, int r)
{
    const struct order_source *s = &q->sources.v[r];
    if (s->orig->op != FE_SCAN_OP)
        return est_share(c, s->inside);
    struct fe_node *scan = order_filtered_scan(q, r, s->orig);
    scan->id = (*q->next_id)++;
    return est_share(c, scan);
}

double order_rows_scanned(const struct fe_plan *plan, const struct fe_node *n)
{
    double rows = node_table(n) ? (double)node_table(n)->rows : 0;
    if (n->op == FE_REF_OP)
        return order_rows_scanned(plan, plan->shared[n->u.ref.shared]);
    for (int i = 0; i < n->ninputs; i++)
        rows += order_rows_scanned(plan, n->inputs[i]);
    return rows;
}
