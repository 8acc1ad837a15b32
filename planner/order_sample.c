/* Rows of a table, evenly spread, with the rows of other tables that they look up by keys, and theirs: of these it is known
 * which pass the tables' filters. So the share of a table's rows that is left once it is joined with what it refers to is
 * counted, not multiplied from averages: filters that choose frequent keys, or that depend on each other, leave more.
 * Index-based join sampling (Leis, Radke, Gubichev, Kemper and Neumann, Cardinality Estimation Done Right, CIDR 2017),
 * from the referring side, from where each row meets one row at most and no sample grows.
 *
 * Only where facts tell of frequent values anything is sampled, since averages serve as well elsewhere; where data are in this
 * host's memory; and of filters that planner/row_test.c knows. */
#include "planner/order_sample.h"

#include "frontend/catalog.h"
#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/row_test.h"

enum { SAMPLED = 1024, DEPTH = 16 };

/* A relation that is looked up by key `index` with column `by` of relation `from`. */
struct lookup {
    int relation, from, by, index;
};

struct sampling {
    struct ctx *c;
    const struct order_query *q;
    struct order_graph *g;
    order_set known; /* relations that are tables with a filter that can be tested, or none */
    struct lookup path[DEPTH];
    int npath;
};

/* ---- data ---------------------------------------------------------------------------------------------------------------- */

/* False: it is damaged, which lowering reports if the query reads it, or not here. */
static bool touch(const struct sampling *s, const struct fe_table *t, enum fe_part_kind kind, int number)
{
    struct hd_err damaged;
    hd_err_init(&damaged);
    bool sound = !s->c->opt.touch || s->c->opt.touch((struct fe_table_part){t, kind, number}, &damaged) == 0;
    hd_err_release(&damaged);
    return sound && t->device == 0;
}

static bool touch_columns(const struct sampling *s, const struct fe_table *t, const struct fe_expr *e)
{
    if (e->op == FE_COL && (!touch(s, t, FE_PART_COLUMN, e->col) || !t->cols[e->col].at.data))
        return false;
    for (int i = 0; i < e->nargs; i++)
        if (!touch_columns(s, t, e->args[i]))
            return false;
    return true;
}

static const struct fe_expr *filter_of(const struct sampling *s, int r)
{
    return s->q->sources.v[r].n->u.scan.filter;
}

static const struct fe_table *table_of(const struct sampling *s, int r)
{
    const struct order_source *of = &s->q->sources.v[r];
    return of->kind == FE_INNER ? node_table(of->n) : NULL;
}

static bool is_known(const struct sampling *s, int r)
{
    const struct fe_table *t = table_of(s, r);
    const struct fe_expr *e = t ? filter_of(s, r) : NULL;
    return t && t->rows > 0 && t->device == 0 && (!e || (pl_row_testable(s->c->plan, e) && touch_columns(s, t, e)));
}

/* ---- what a relation looks up --------------------------------------------------------------------------------------------- */

static bool on_path(const struct sampling *s, int r)
{
    for (int i = 0; i < s->npath; i++)
        if (s->path[i].relation == r)
            return true;
    return false;
}

static int column_in(const struct sampling *s, const struct order_member *m)
{
    const struct order_source *of = &s->q->sources.v[m->relation];
    return m->e->op == FE_COL && table_of(s, m->relation) ? of->n->u.scan.columns[m->e->col - of->base] : -1;
}

/* Some value of the column has a hundredth of the rows, and several times as many as the average: which ones filters choose
 * makes a difference. */
static bool is_skewed(const struct fe_table *t, int column)
{
    static const double several = 4, part = 0.01;
    const struct fe_facts *f = &t->cols[column].facts;
    const double heaviest = (double)f->max_mult, rows = (double)t->rows;
    return f->known && heaviest * (double)f->distinct > several * rows && heaviest > part * rows;
}

/* Relations of the class that a column of `from` leads to by their keys. */
static void add_lookups(struct sampling *s, const struct order_equals *e, const struct order_member *from)
{
    const int by = column_in(s, from);
    const struct fe_table *child = table_of(s, from->relation);
    for (int i = 0; i < e->members.n && by >= 0 && s->npath < DEPTH; i++) {
        const struct order_member *m = &e->members.v[i];
        const struct fe_table *t = table_of(s, m->relation);
        const int column = column_in(s, m), index = column >= 0 ? key_index_of(t, column) : -1;
        if (index < 0 || on_path(s, m->relation) || !(s->known & order_of(m->relation)) ||
            child->cols[by].storage != FE_STORE_INT || t->rows > child->rows)
            continue;
        if (touch(s, child, FE_PART_COLUMN, by) && child->cols[by].at.data && touch(s, t, FE_PART_KEYIDX, index))
            s->path[s->npath++] = (struct lookup){m->relation, from->relation, by, index};
    }
}

/* What root leads to, and on from there; false: no filter is beyond it that may choose frequent values. */
static bool find_path(struct sampling *s, int root)
{
    bool filtered = false, skewed = false;
    s->path[0] = (struct lookup){root, -1, -1, -1};
    s->npath = 1;
    for (int i = 0; i < s->npath; i++) {
        for (int k = 0; k < s->q->equals.n; k++) {
            const struct order_equals *e = &s->q->equals.v[k];
            for (int m = 0; m < e->members.n; m++)
                if (e->members.v[m].relation == s->path[i].relation)
                    add_lookups(s, e, &e->members.v[m]);
        }
        filtered |= i > 0 && filter_of(s, s->path[i].relation);
        skewed |= i > 0 && is_skewed(table_of(s, s->path[i].from), s->path[i].by);
    }
    return filtered && skewed;
}

static int64_t row_of(const struct fe_key_index *k, const struct fe_value *v)
{
    const hd_i128 at = v->i - k->min;
    if (v->is_null || at < 0 || at >= (hd_i128)k->range)
        return -1;
    return fe_key_index_row(k, (uint64_t)at);
}

/* ---- samples ------------------------------------------------------------------------------------------------------------- */

static bool passes(const struct sampling *s, int r, int64_t row)
{
    const struct fe_expr *e = filter_of(s, r);
    return row >= 0 && (!e || pl_row_passes(s->c->plan, table_of(s, r), row, e));
}

/* Relations whose filters pass for a row of the root. */
static order_set passed(const struct sampling *s, int64_t row)
{
    int64_t rows[DEPTH] = {row};
    order_set all = passes(s, s->path[0].relation, row) ? order_of(s->path[0].relation) : 0;
    for (int i = 1; i < s->npath; i++) {
        const struct lookup *l = &s->path[i];
        int from = 0;
        while (s->path[from].relation != l->from)
            from++;
        rows[i] = -1;
        if (rows[from] < 0)
            continue;
        struct fe_value v = pl_row_value(table_of(s, l->from), l->by, rows[from]);
        rows[i] = row_of(&table_of(s, l->relation)->keyidx[l->index], &v);
        if (passes(s, l->relation, rows[i]))
            all |= order_of(l->relation);
    }
    return all;
}

static void count(struct order_sample *to, order_set s)
{
    for (int i = 0; i < to->nsets; i++)
        if (to->sets[i] == s) {
            to->counts[i]++;
            return;
        }
    to->sets[to->nsets] = s;
    to->counts[to->nsets++] = 1;
}

static void take(const struct sampling *s, struct order_sample *to)
{
    const int64_t rows = table_of(s, s->path[0].relation)->rows;
    to->relation = s->path[0].relation;
    to->size = (int)HD_MIN(rows, SAMPLED);
    to->sets = HD_NEWN(s->q->a, order_set, to->size + 1);
    to->counts = HD_NEWN(s->q->a, int, to->size + 1);
    for (int i = 0; i < s->npath; i++)
        to->of |= order_of(s->path[i].relation);
    for (int i = 0; i < to->size; i++)
        count(to, passed(s, rows * i / to->size));
}

/* Rows of a relation alone: counted where all are looked at. */
static void set_rows(struct sampling *s, int r)
{
    struct order_relation *to = &s->g->relations[r];
    struct order_sample own = {0};
    if (!filter_of(s, r))
        return;
    s->path[0] = (struct lookup){r, -1, -1, -1};
    s->npath = 1;
    take(s, &own);
    const double found = order_sample_found(&own, order_of(r)), all = own.size, rows = to->scanned;
    to->counted = own.size < SAMPLED || found >= ORDER_SAMPLE_FEW || all * to->rows / rows >= ORDER_SAMPLE_FEW;
    if (to->counted)
        to->rows = HD_MAX(1, HD_MAX(found, 0.5) / all * rows);
}

/* Some column that is compared is skewed: else nothing is read. */
static bool some_skew(const struct sampling *s)
{
    for (int i = 0; i < s->q->equals.n; i++)
        for (int k = 0; k < s->q->equals.v[i].members.n; k++) {
            const struct order_member *m = &s->q->equals.v[i].members.v[k];
            const int column = column_in(s, m);
            if (column >= 0 && is_skewed(table_of(s, m->relation), column))
                return true;
        }
    return false;
}

void order_sample(struct ctx *c, const struct order_query *q, struct order_graph *g)
{
    struct sampling s = {.c = c, .q = q, .g = g};
    order_set sampled = 0;
    if (q->sources.n < 2 || !some_skew(&s))
        return;
    g->samples = HD_NEWN(q->a, struct order_sample, q->sources.n + 1);
    for (int r = 0; r < q->sources.n; r++)
        s.known |= is_known(&s, r) ? order_of(r) : 0;
    for (int r = 0; r < q->sources.n; r++)
        if ((s.known & order_of(r)) && find_path(&s, r)) {
            take(&s, &g->samples[g->nsamples]);
            sampled |= g->samples[g->nsamples++].of;
        }
    for (; sampled; sampled &= sampled - 1)
        set_rows(&s, order_first(sampled));
}
