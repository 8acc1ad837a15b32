/* Estimates from facts: selectivity of predicates, rows of plan nodes. Also which expressions may
 * raise. Estimates only steer choices; no answer depends on them. */
#include <math.h>

#include "planner/estimate.h"

#include "frontend/value.h"
#include "planner/handle.h"
#include "planner/need.h"
#include "planner/range.h"
#include "templates/civil.cuh"

/* Only of constants is the date known before a row is. */
static bool shift_may_fail(const struct fe_expr *e)
{
    const struct fe_expr *d = e->args[0], *n = e->args[1];
    bool constants = (d->op == FE_LIT || d->op == FE_PARAM) && (n->op == FE_LIT || n->op == FE_PARAM);
    if (!constants || e->type.kind != HD_DATE)
        return true;
    if (d->value.is_null || n->value.is_null)
        return false;
    if (n->value.i < -4000000 || n->value.i > 4000000)
        return true;
    return !lx_is_date(e->op == FE_ADD_MONTHS ? hd_date_add_months((int32_t)d->value.i, (int64_t)n->value.i)
                                              : d->value.i + n->value.i);
}

static bool length_may_fail(const struct fe_expr *e)
{
    const struct fe_expr *last = e->args[e->nargs - 1];
    bool left_out = e->nargs < fe_op_form(e->op)->max;
    return !left_out && !(last->op == FE_LIT && !last->value.is_null && last->value.i >= 0);
}

/* A logical expression may raise; widths are not known yet, so arithmetic on exact numbers is
 * taken at its type's word: it may. Casts between numbers likewise, unless they only widen. */
bool lx_may_fail(const struct fe_expr *e)
{
    for (int i = 0; i < e->nargs; i++)
        if (lx_may_fail(e->args[i]))
            return true;
    switch (fe_op_form(e->op)->fails) {
    case FE_FAILS_NEVER: return false;
    case FE_FAILS_ALWAYS:
    case FE_FAILS_MARKED: return true;
    case FE_FAILS_EXACT:
        return e->type.kind == HD_INT64 || (e->type.kind == HD_DECIMAL && e->type.precision == HD_DEC_MAX);
    case FE_FAILS_LENGTH: return length_may_fail(e);
    case FE_FAILS_SHIFT: return shift_may_fail(e);
    case FE_FAILS_CAST: return !e->saturate && fe_type_cast_may_fail(e->args[0]->type, e->type);
    }
    HD_BUG("failures of operator %d", (int)e->op);
}

static const struct fe_value *constant(const struct ctx *c, const struct fe_expr *e)
{
    if (e->op == FE_LIT)
        return &e->value;
    if (e->op == FE_PARAM && !c->plan->params[e->param].is_list)
        return &c->plan->params[e->param].value;
    return NULL;
}

/* Constant value of date or number expressions such as :date + interval '1' year. */
static bool constant_i(const struct ctx *c, const struct fe_expr *e, hd_i128 *v)
{
    const struct fe_value *k = constant(c, e);
    hd_i128 a, b;
    if (k) {
        *v = k->i;
        return !k->is_null && !hd_type_is_text(k->type) && !hd_type_is_float(k->type);
    }
    if (e->op == FE_NEG && constant_i(c, e->args[0], &a)) {
        *v = -a;
        return true;
    }
    if (e->nargs != 2 || !constant_i(c, e->args[0], &a) || !constant_i(c, e->args[1], &b))
        return false;
    if (e->op == FE_ADD_MONTHS && e->type.kind == HD_DATE && b > -100000 && b < 100000)
        *v = hd_date_add_months((int32_t)a, (int64_t)b);
    else if (e->op == FE_ADD_DAYS && e->type.kind == HD_TIMESTAMP)
        *v = a + b * HDD_MICROS_PER_DAY;
    else if (e->op == FE_ADD_DAYS || e->op == FE_ADD_MICROS || e->op == FE_ADD)
        *v = a + b;
    else if (e->op == FE_SUB)
        *v = a - b;
    else
        return false;
    return true;
}

static double clamp01(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* Fraction of a column's range below constant e, or with it (strings: by dictionary position): ranges are of whole numbers. */
static bool fraction_below(const struct ctx *c, const struct handle *h, const struct fe_expr *e, bool with, double *f)
{
    struct pl_range r = h_range(c, h);
    const struct fe_table *t;
    const struct fe_value *k = constant(c, e);
    int col;
    hd_i128 v;
    if (k && hd_type_is_text(k->type) && !k->is_null && h_dict(c, h, &t, &col)) {
        bool found;
        uint32_t code;
        struct hd_err damaged; /* lowering reports it */
        hd_err_init(&damaged);
        if (h_dict_find(c, t, col, k->s, k->n, &code, &found, &damaged) != 0) {
            hd_err_release(&damaged);
            return false;
        }
        v = code;
    } else if (!constant_i(c, e, &v)) {
        return false;
    }
    if (!r.known || r.hi <= r.lo)
        return false;
    *f = clamp01(((double)v - (double)r.lo + with) / ((double)r.hi - (double)r.lo + 1));
    return true;
}

/* Neither side is a column. Remainders, such as a part's of a hash, are about equally frequent. */
static double sel_computed(const struct ctx *c, const struct fe_expr *e)
{
    hd_i128 parts;
    for (int i = 0; i < 2 && e->op == FE_EQ; i++)
        if (e->args[i]->op == FE_MOD && constant_i(c, e->args[i]->args[1], &parts) && parts > 1)
            return 1 / (double)parts;
    return 0.3;
}

static double sel_compare(const struct ctx *c, struct handle *const *env, const struct fe_expr *e)
{
    const struct fe_expr *a = e->args[0], *b = e->args[1];
    bool swap = a->op != FE_COL && b->op == FE_COL;
    if (swap) {
        const struct fe_expr *t = a;
        a = b;
        b = t;
    }
    if (a->op != FE_COL)
        return sel_computed(c, e);
    const struct handle *h = env[a->col];
    if (e->op == FE_EQ)
        return 1 / h_distinct(c, h, 1e4);
    if (e->op == FE_NE)
        return 0.9;
    double f;
    if (h_plain((struct handle *)(uintptr_t)h)->kind != H_COLUMN)
        return 0.1; /* having: aggregates are compared to find the unusual */
    bool less = (e->op == FE_LT || e->op == FE_LE) != swap;
    if (!fraction_below(c, h, b, less == (e->op == FE_LE || e->op == FE_GE), &f))
        return 0.4;
    return clamp01(less ? f : 1 - f);
}

static bool bounds_above(enum fe_op op)
{
    return op == FE_LT || op == FE_LE;
}

static bool bounds_below(enum fe_op op)
{
    return op == FE_GT || op == FE_GE;
}
static bool is_of_columns(const struct fe_expr *e)
{
    bool found = e->op == FE_COL;
    for (int i = 0; i < e->nargs && !found; i++)
        found = is_of_columns(e->args[i]);
    return found;
}

bool lx_bounds_range(const struct fe_expr *x, const struct fe_expr *y)
{
    if (!(bounds_above(x->op) && bounds_below(y->op)) && !(bounds_below(x->op) && bounds_above(y->op)))
        return false;
    return x->args[0]->op == FE_COL && y->args[0]->op == FE_COL && x->args[0]->col == y->args[0]->col &&
           !is_of_columns(x->args[1]) && !is_of_columns(y->args[1]);
}

/* The other bound of a range is among the conjuncts that stand close before. */
enum { BOUNDS_APART = 32 };

/* low <= x and x < high on one column: the fractions subtract instead of multiplying. */
double lx_selectivity_after(const struct ctx *c, struct handle *const *env, const struct fe_expr *const *v, int i)
{
    double si = lx_selectivity(c, env, v[i]);
    for (int k = HD_MAX(0, i - BOUNDS_APART); k < i; k++)
        if (lx_bounds_range(v[i], v[k])) {
            double sk = lx_selectivity(c, env, v[k]);
            si = sk > 0 ? HD_MAX(si + sk - 1, 0.0005) / sk : 0;
        }
    return si;
}

static double sel_and(const struct ctx *c, struct handle *const *env, const struct fe_expr *e)
{
    double s = 1;
    for (int i = 0; i < e->nargs; i++)
        s *= lx_selectivity_after(c, env, (const struct fe_expr *const *)e->args, i);
    return s;
}

static double sel_or(const struct ctx *c, struct handle *const *env, const struct fe_expr *e)
{
    double s = 1;
    for (int i = 0; i < e->nargs; i++)
        s *= 1 - lx_selectivity(c, env, e->args[i]);
    return 1 - s;
}

/* The column may have this value: its dictionary has it, or its range. */
static bool may_have(const struct ctx *c, const struct handle *h, const struct fe_value *k)
{
    struct pl_range r = h_range(c, h);
    const struct fe_table *t;
    int col;
    if (k->is_null)
        return false;
    if (hd_type_is_text(k->type) && h_dict(c, h, &t, &col)) {
        bool found;
        uint32_t code;
        struct hd_err damaged; /* lowering reports it */
        hd_err_init(&damaged);
        if (h_dict_find(c, t, col, k->s, k->n, &code, &found, &damaged) == 0)
            return found;
        hd_err_release(&damaged);
        return true;
    }
    bool number = !hd_type_is_text(k->type) && !hd_type_is_float(k->type) && k->type.kind != HD_INTERVAL;
    return !number || !r.known || (k->i >= r.lo && k->i <= r.hi);
}

/* Item i of x in (...), NULL: no constant; and how many there are. */
static const struct fe_value *item(const struct ctx *c, const struct fe_expr *e, int i, int *n)
{
    const struct fe_expr *first = e->args[1];
    const struct fe_param *p = e->nargs == 2 && first->op == FE_PARAM ? &c->plan->params[first->param] : NULL;
    bool listed = p && p->is_list;
    *n = listed ? p->nlist : e->nargs - 1;
    return i >= *n ? NULL : listed ? &p->list[i] : constant(c, e->args[1 + i]);
}

/* Of a long list the first ones tell how many the column may have. */
static double sel_in(const struct ctx *c, struct handle *const *env, const struct fe_expr *e)
{
    enum { LOOKED_AT = 256 };
    const struct handle *h = e->args[0]->op == FE_COL ? env[e->args[0]->col] : NULL;
    int n, found = 0, looked = 0;
    const struct fe_value *k = item(c, e, 0, &n);
    for (; looked < HD_MIN(n, LOOKED_AT); k = item(c, e, ++looked, &n))
        found += !h || !k || may_have(c, h, k);
    double all = looked ? (double)found * n / looked : 0;
    return clamp01(HD_MAX(all, 1) / (h ? h_distinct(c, h, 1e4) : 25));
}

/* A boolean that is computed is what it is computed of. Many may be made of one, so its share is kept. */
static double sel_column(const struct ctx *c, struct handle *h)
{
    h = h_plain(h);
    if (h->kind != H_EXPR)
        return 0.3;
    if (!h->has_share) {
        h->share = lx_selectivity(c, h->env, h->expr);
        h->has_share = true;
    }
    return h->share;
}

double lx_selectivity(const struct ctx *c, struct handle *const *env, const struct fe_expr *e)
{
    if (e->op == FE_AND)
        return sel_and(c, env, e);
    if (e->op == FE_OR)
        return sel_or(c, env, e);
    if (e->op == FE_NOT)
        return 1 - lx_selectivity(c, env, e->args[0]);
    if (fe_op_compares(e->op))
        return sel_compare(c, env, e);
    if (e->op == FE_IN)
        return sel_in(c, env, e);
    if (e->op == FE_COL)
        return sel_column(c, env[e->col]);
    if (constant(c, e))
        return constant(c, e)->i != 0 && !constant(c, e)->is_null;
    if (e->op == FE_LIKE || e->op == FE_ILIKE)
        return 0.1;
    return e->op == FE_IS_NULL ? 0.05 : 0.3;
}

/* ---- nodes ------------------------------------------------------------------------------------ */

const struct fe_table *node_table(const struct fe_node *n)
{
    return n->op == FE_SCAN_OP ? n->u.scan.table : NULL;
}

struct handle **est_scanned(const struct ctx *c, const struct fe_table *t, const struct fe_expr *filter)
{
    struct ctx *m = (struct ctx *)(uintptr_t)c; /* handles made here are only looked at */
    struct handle *row = h_row(m, 0, t, -1, false);
    struct handle **env = HD_NEWN(c->a, struct handle *, t->ncols + 1);
    bool *used = HD_NEWN(c->a, bool, t->ncols + 1);
    need_expr(used, filter);
    for (int i = 0; i < t->ncols; i++)
        env[i] = used[i] ? h_column(m, t, i, row) : NULL;
    return env;
}

static double est_scan(const struct ctx *c, const struct fe_node *n)
{
    const struct fe_table *t = n->u.scan.table;
    double rows = (double)t->rows;
    if (!n->u.scan.filter)
        return rows;
    return HD_MAX(1.0, rows * lx_selectivity(c, est_scanned(c, t, n->u.scan.filter), n->u.scan.filter));
}

struct handle **est_columns(const struct ctx *c, const struct fe_node *n)
{
    struct ctx *m = (struct ctx *)(uintptr_t)c;
    if (n->op == FE_FILTER_OP)
        return est_columns(c, n->inputs[0]);
    if (n->op != FE_PROJECT_OP && !node_table(n))
        return NULL;
    struct handle **in = node_table(n) ? NULL : est_columns(c, n->inputs[0]);
    struct handle *row = node_table(n) ? h_row(m, 0, node_table(n), -1, false) : NULL;
    if (!in && !row)
        return NULL;
    struct handle **env = HD_NEWN(m->a, struct handle *, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++)
        env[i] = row ? h_column(m, node_table(n), n->u.scan.columns[i], row) : h_expr(m, n->u.project.exprs[i], in);
    return env;
}

double est_filter_share(const struct ctx *c, const struct fe_node *n)
{
    struct handle **env = est_columns(c, n->inputs[0]);
    return env ? lx_selectivity(c, env, n->u.filter.pred) : 0.2;
}

/* Keys of a join mostly lead from a foreign to a primary key: the bigger side's rows, thinned by
 * the share of keys that the smaller side's filters left. */
static double est_join(const struct ctx *c, const struct fe_node *n)
{
    double l = est_rows(c, n->inputs[0]), r = est_rows(c, n->inputs[1]);
    double sl = est_share(c, n->inputs[0]), sr = est_share(c, n->inputs[1]);
    if (n->u.join.kind == FE_SEMI)
        return HD_MAX(1.0, l * HD_MIN(sr, 0.9));
    if (n->u.join.kind == FE_ANTI)
        return HD_MAX(1.0, l * HD_MAX(0.1, 1 - sr));
    if (n->u.join.kind == FE_MARK || n->u.join.single)
        return l;
    if (n->u.join.asof[0])
        return HD_MAX(1.0, n->u.join.kind == FE_LEFT ? l : l * sr);
    if (n->u.join.nkeys == 0)
        return l * r;
    return HD_MAX(1.0, l >= r ? l * sr : r * sl);
}

static double share_of(const struct ctx *c, const struct fe_node *n)
{
    const struct fe_table *t = node_table(n);
    if (t)
        return t->rows ? HD_MIN(1.0, est_rows(c, n) / (double)t->rows) : 1;
    switch (n->op) {
    case FE_REF_OP: return est_share(c, c->plan->shared[n->u.ref.shared]);
    case FE_FILTER_OP: return est_filter_share(c, n) * est_share(c, n->inputs[0]);
    case FE_PROJECT_OP:
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP:
    case FE_WINDOW_OP:
    case FE_SORT_OP: return est_share(c, n->inputs[0]);
    case FE_REPEAT_OP:
    case FE_LIMIT_OP:
    case FE_TOP_OP:
    case FE_UNION_ALL_OP:
    case FE_VALUES_OP: return 0.1;
    case FE_JOIN_OP: {
        double l = est_share(c, n->inputs[0]), r = est_share(c, n->inputs[1]);
        return n->u.join.kind == FE_ANTI ? l * HD_MAX(0.1, 1 - r) : n->u.join.kind == FE_LEFT ? l : l * r;
    }
    case FE_PAIRS_OP: return est_share(c, n->inputs[0]) * est_share(c, n->inputs[0]);
    case FE_SCAN_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    HD_BUG("operator %d", (int)n->op);
}

/* Joins ask for both of their inputs, so a node that is reached on many ways is looked at once. */
double est_share(const struct ctx *c, const struct fe_node *n)
{
    struct est_node *known = &c->est[n->id];
    if (!known->has_share) {
        known->share = share_of(c, n);
        known->has_share = true;
    }
    return known->share;
}

/* So many rows of each group, of which there is one for each value of a key that is known. */
static double est_top(const struct ctx *c, const struct fe_node *n)
{
    double rows = est_rows(c, n->inputs[0]), groups = 1;
    for (int i = 0; i < n->u.sort.ngroup; i++) {
        double distinct = est_key(c, n->inputs[0], n->u.sort.keys[i].expr).distinct;
        groups *= distinct < 0 ? HD_MAX(1, rows * 0.3) : HD_MAX(1, distinct);
    }
    return HD_MAX(1.0, HD_MIN(rows, HD_MIN(groups, rows) * (double)fe_limit(n)));
}

static double rows_of(const struct ctx *c, const struct fe_node *n)
{
    switch (n->op) {
    case FE_SCAN_OP: return est_scan(c, n);
    case FE_REF_OP: return est_rows(c, c->plan->shared[n->u.ref.shared]);
    case FE_FILTER_OP: return HD_MAX(1.0, est_rows(c, n->inputs[0]) * est_filter_share(c, n));
    case FE_REPEAT_OP:
    case FE_PROJECT_OP: return est_rows(c, n->inputs[0]);
    case FE_JOIN_OP: return est_join(c, n);
    case FE_PAIRS_OP: return HD_MAX(1.0, est_rows(c, n->inputs[0]) * (est_rows(c, n->inputs[0]) - 1) / 2);
    case FE_AGGREGATE_OP: return n->u.agg.nkeys ? HD_MAX(1.0, est_rows(c, n->inputs[0]) * 0.3) : 1;
    case FE_DISTINCT_OP: return HD_MAX(1.0, est_rows(c, n->inputs[0]) * 0.5);
    case FE_SORT_OP:
    case FE_LIMIT_OP: {
        double r = est_rows(c, n->inputs[0]);
        return fe_limit(n) >= 0 ? HD_MIN(r, (double)fe_limit(n)) : r;
    }
    case FE_TOP_OP: return est_top(c, n);
    case FE_WINDOW_OP: return est_rows(c, n->inputs[0]);
    case FE_UNION_ALL_OP: {
        double s = 0;
        for (int i = 0; i < n->ninputs; i++)
            s += est_rows(c, n->inputs[i]);
        return s;
    }
    case FE_VALUES_OP: return (double)fe_values_count(n);
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    HD_BUG("operator %d", (int)n->op);
}

double est_rows(const struct ctx *c, const struct fe_node *n)
{
    struct est_node *known = &c->est[n->id];
    if (!known->has_rows) {
        known->rows = rows_of(c, n);
        known->has_rows = true;
    }
    return known->rows;
}

/* ---- keys --------------------------------------------------------------------------------------- */

/* Of two equal columns the one with more skew counts: a join repeats rows of the other. */
static struct est_key equal_key(const struct ctx *c, const struct fe_node *n, int col)
{
    int nl = n->inputs[0]->ncols;
    bool right = col >= nl;
    const struct fe_node *mine = n->inputs[right], *other = n->inputs[!right];
    struct fe_expr *const *a = right ? n->u.join.rkeys : n->u.join.lkeys;
    struct fe_expr *const *b = right ? n->u.join.lkeys : n->u.join.rkeys;
    struct fe_expr ref = {.op = FE_COL, .col = right ? col - nl : col};
    struct est_key k = est_key(c, mine, &ref);
    for (int i = 0; i < n->u.join.nkeys && n->u.join.kind == FE_INNER; i++)
        if (a[i]->op == FE_COL && a[i]->col == ref.col) {
            struct est_key o = est_key(c, other, b[i]);
            k.heavy = HD_MAX(k.heavy, o.heavy);
            if (o.distinct >= 0)
                k.distinct = k.distinct < 0 ? o.distinct : HD_MIN(k.distinct, o.distinct);
        }
    return k;
}

/* A grouping's counts: d different ones are of at least d (d - 1) / 2 rows, and none is above the most frequent key's. */
static struct est_key count_key(const struct ctx *c, const struct fe_node *n)
{
    double rows = est_rows(c, n->inputs[0]), most = sqrt(2 * rows) + 1;
    if (n->u.agg.nkeys == 1) {
        struct est_key k = est_key(c, n->inputs[0], n->u.agg.keys[0]);
        most = k.heavy > 0 ? HD_MIN(most, k.heavy * rows) : most;
    }
    return (struct est_key){HD_MAX(1, HD_MIN(most, est_rows(c, n))), 0};
}

/* Follows the column to its table; filters are taken to thin out all values alike. */
static struct est_key column_key(const struct ctx *c, const struct fe_node *n, const struct fe_expr *e)
{
    struct est_key none = {-1, 0};
    switch (n->op) {
    case FE_SCAN_OP: {
        const struct fe_facts *f = &n->u.scan.table->cols[n->u.scan.columns[e->col]].facts;
        double rows = (double)n->u.scan.table->rows;
        if (!f->known || rows <= 0)
            return none;
        return (struct est_key){(double)f->distinct, f->max_mult > 0 ? (double)f->max_mult / rows : 0};
    }
    case FE_REF_OP: return est_key(c, c->plan->shared[n->u.ref.shared], e);
    case FE_FILTER_OP:
    case FE_SORT_OP:
    case FE_TOP_OP:
    case FE_REPEAT_OP:
    case FE_LIMIT_OP: return est_key(c, n->inputs[0], e);
    case FE_WINDOW_OP: return e->col < n->inputs[0]->ncols ? est_key(c, n->inputs[0], e) : none;
    case FE_PROJECT_OP: return est_key(c, n->inputs[0], n->u.project.exprs[e->col]);
    case FE_JOIN_OP:
        if (e->col >= n->inputs[0]->ncols + n->inputs[1]->ncols ||
            (e->col >= n->inputs[0]->ncols && n->u.join.kind == FE_MARK))
            return none;
        return equal_key(c, n, e->col);
    case FE_PAIRS_OP: {
        struct fe_expr ref = {.op = FE_COL, .col = e->col % (n->ncols / 2)};
        return est_key(c, n->inputs[0], &ref);
    }
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP: { /* a lone key is unique, one of several less than it was */
        int a = e->col - n->u.agg.nkeys;
        if (a >= 0 && a < n->u.agg.naggs &&
            (n->u.agg.aggs[a].fn == FE_AGG_COUNT_STAR || n->u.agg.aggs[a].fn == FE_AGG_COUNT))
            return count_key(c, n);
        if (a >= 0)
            return none;
        struct est_key k = est_key(c, n->inputs[0], n->u.agg.keys[e->col]);
        k.heavy = n->u.agg.nkeys == 1 ? 1 / HD_MAX(1, k.distinct) : k.heavy;
        return k;
    }
    case FE_UNION_ALL_OP:
    case FE_VALUES_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    return none;
}

/* coalesce(a, constant): a's values and the constant. */
static struct est_key coalesce_key(const struct ctx *c, const struct fe_node *n, const struct fe_expr *e)
{
    struct est_key k = est_key(c, n, e->args[0]);
    for (int i = 1; i < e->nargs; i++)
        if (pl_uncast(e->args[i])->op != FE_LIT)
            return (struct est_key){-1, 0};
    k.distinct = k.distinct < 0 ? -1 : k.distinct + e->nargs - 1;
    return k;
}

struct est_key est_key(const struct ctx *c, const struct fe_node *n, const struct fe_expr *e)
{
    if (e->op == FE_COALESCE)
        return coalesce_key(c, n, e);
    if (e->op != FE_COL)
        return (struct est_key){-1, 0};
    struct est_node *known = &c->est[n->id];
    if (!known->keys) {
        known->keys = HD_NEWN(c->a, struct est_key, n->ncols + 1);
        known->has_key = HD_NEWN(c->a, bool, n->ncols + 1);
    }
    if (!known->has_key[e->col]) {
        known->keys[e->col] = column_key(c, n, e);
        known->has_key[e->col] = true;
    }
    return known->keys[e->col];
}

double est_skew(const struct ctx *c, const struct fe_node *probe, const struct fe_node *build, int nkeys,
                struct fe_expr *const *pkeys, struct fe_expr *const *bkeys, double rows)
{
    double both = 1; /* of a composite key: as if its columns were independent */
    for (int i = 0; i < nkeys && probe; i++)
        both *= est_key(c, probe, pkeys[i]).heavy * est_key(c, build, bkeys[i]).heavy;
    return probe && nkeys ? both * rows : 0;
}

/* ---- order --------------------------------------------------------------------------------------------------- */

bool est_in_order(const struct fe_node *n, const struct fe_expr *e, bool every)
{
    e = pl_uncast(e);
    while (e->op == FE_COL && (n->op == FE_FILTER_OP || n->op == FE_PROJECT_OP)) {
        if (n->op == FE_PROJECT_OP)
            e = pl_uncast(n->u.project.exprs[e->col]);
        else if (every)
            return false;
        n = n->inputs[0];
    }
    if (e->op != FE_COL || e->nullable)
        return false;
    if (n->op == FE_SORT_OP && n->u.sort.nkeys > 0) {
        const struct fe_sort_key *k = &n->u.sort.keys[0];
        return !k->desc && fe_expr_eq(k->expr, e);
    }
    if (!node_table(n) || (every && n->u.scan.filter))
        return false;
    const struct fe_facts *f = &node_table(n)->cols[n->u.scan.columns[e->col]].facts;
    return f->known && f->sorted;
}
