/* Uses go down from the root: each output column of a node is used for what its readers use it for. Where that ends at a
 * column of a table, gain and cost of its facts are compared.
 *
 * Nothing is wanted for a plan over few rows, which takes longer to compile than to run, and for one that reads each row once
 * and keeps nothing by key, which facts make hardly faster. Otherwise gain and cost grow with the rows of the column's table
 * alike, so that a kind of column pays for a use or does not; and what is little beside the plan's work is computed in any
 * case, such as of a table of nations, whose facts decide how large tables are joined with it. */
#include "planner/wanted.h"

#include <math.h>

#include "frontend/catalog.h"
#include "planner/cost.h"
#include "planner/range.h"
#include "runtime/base/vec.h"

enum {
    KEYS = 1 << PL_USE_JOIN | 1 << PL_USE_GROUP | 1 << PL_USE_PART,
    FILTERS = 1 << PL_USE_EQUAL | 1 << PL_USE_RANGE,
    BY_DISTINCT = 1 << PL_USE_JOIN | 1 << PL_USE_GROUP | 1 << PL_USE_EQUAL /* what gains without a range */
};

const char *pl_fact_use_text(enum pl_fact_use u)
{
    static const char *const text[] = {
#define T_FACT_USE(id, name, counts, gain) name,
#include "planner/fact_uses.def"
    };
    return text[u];
}

/* A table and what its columns are used for. */
struct used {
    const struct fe_table *table;
    unsigned *columns;
};

struct walk {
    struct hd_arena *a;
    const struct fe_plan *plan;
    unsigned **uses; /* [node][output column] */
    HD_VEC(struct used) tables;
    double rows; /* that scans read */
    bool always;
    bool joins; /* there is a join, with keys or without */
    unsigned all; /* uses of any column of any table */
};

/* ---- uses ------------------------------------------------------------------------------------ */

/* What a computed value is used for its columns are parts of. */
static unsigned inside(unsigned bits)
{
    unsigned parts = bits & (KEYS | 1 << PL_USE_SORT) ? 1u << PL_USE_PART : 0;
    return parts | (bits & (FILTERS | 1 << PL_USE_SUM));
}

static void use(unsigned *uses, const struct fe_expr *e, unsigned bits)
{
    const struct fe_expr *x = pl_uncast(e);
    if (x->op == FE_COL) {
        uses[x->col] |= bits;
        return;
    }
    for (int i = 0; i < x->nargs; i++)
        use(uses, x->args[i], inside(bits));
}

static void use_condition(unsigned *uses, const struct fe_expr *e)
{
    bool equal = e->op == FE_EQ || e->op == FE_IN;
    for (int i = 0; i < e->nargs; i++) {
        const struct fe_expr *x = pl_uncast(e->args[i]);
        if (x->op == FE_COL)
            uses[x->col] |= 1u << (equal ? PL_USE_EQUAL : PL_USE_RANGE);
        else
            use_condition(uses, x);
    }
}

static void use_sort_keys(const struct fe_node *n, unsigned *in)
{
    bool all = !n->u.sort.limit; /* else few rows are kept */
    for (int i = 0; i < n->u.sort.nstated; i++) {
        unsigned bits = i < n->u.sort.ngroup ? 1u << PL_USE_GROUP : all ? 1u << PL_USE_SORT : 0;
        use(in, n->u.sort.keys[i].expr, bits);
    }
}

static void use_groups(const struct fe_node *n, const unsigned *out, unsigned *in)
{
    for (int i = 0; i < n->u.agg.nkeys; i++)
        use(in, n->u.agg.keys[i], out[i] | 1u << PL_USE_GROUP);
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *g = &n->u.agg.aggs[i];
        if (g->arg && (g->distinct || g->fn != FE_AGG_COUNT))
            use(in, g->arg, 1u << (g->distinct ? PL_USE_GROUP : PL_USE_SUM));
        if (g->by)
            use(in, g->by, 1u << PL_USE_SUM);
        if (g->filter)
            use_condition(in, g->filter);
    }
}

static void use_join(struct walk *w, const struct fe_node *n, unsigned *l, unsigned *r)
{
    const unsigned *out = w->uses[n->id];
    int nl = n->inputs[0]->ncols, nr = n->inputs[1]->ncols;
    unsigned *both = HD_NEWN(w->a, unsigned, nl + nr + 1);
    bool left_only = n->u.join.kind == FE_SEMI || n->u.join.kind == FE_ANTI || n->u.join.kind == FE_MARK;
    for (int i = 0; i < nl + (left_only ? 0 : nr); i++)
        both[i] = out[i];
    w->joins = true;
    if (n->u.join.residual)
        use_condition(both, n->u.join.residual);
    if (n->u.join.residual && !n->u.join.nkeys) /* which then becomes words to search by */
        use(both, n->u.join.residual, 1u << PL_USE_PART);
    for (int i = 0; i < nl; i++)
        l[i] |= both[i];
    for (int i = 0; i < nr; i++)
        r[i] |= both[nl + i];
    for (int i = 0; i < n->u.join.nkeys; i++) {
        use(l, n->u.join.lkeys[i], 1u << PL_USE_JOIN);
        use(r, n->u.join.rkeys[i], 1u << PL_USE_JOIN);
    }
    if (n->u.join.asof[0]) {
        use(l, n->u.join.asof[0], 1u << PL_USE_JOIN);
        use(r, n->u.join.asof[1], 1u << PL_USE_JOIN);
    }
}

static void use_pairs(struct walk *w, const struct fe_node *n, unsigned *in)
{
    unsigned *both = hd_dup(w->a, w->uses[n->id], sizeof *both * (size_t)(n->ncols + 1));
    w->joins = true;
    if (n->u.pairs.pred)
        use_condition(both, n->u.pairs.pred);
    for (int i = 0; i < n->ncols; i++)
        in[i % (n->ncols / 2)] |= both[i];
}

static void use_scan(struct walk *w, const struct fe_node *n)
{
    const struct fe_table *t = n->u.scan.table;
    int k = 0;
    while (k < w->tables.n && w->tables.v[k].table != t)
        k++;
    if (k == w->tables.n)
        hd_vec_push(w->a, &w->tables, ((struct used){t, HD_NEWN(w->a, unsigned, t->ncols + 1)}));
    unsigned *columns = w->tables.v[k].columns;
    for (int i = 0; i < n->ncols; i++)
        columns[n->u.scan.columns[i]] |= w->uses[n->id][i];
    if (n->u.scan.filter)
        use_condition(columns, n->u.scan.filter);
    for (int i = 0; i < t->ncols; i++)
        w->all |= columns[i];
    w->rows += (double)t->rows;
}

/* Rows of sets are compared as wholes. */
static void pass(const struct fe_node *n, const unsigned *out, unsigned *in, unsigned bits)
{
    for (int i = 0; i < HD_MIN(n->ncols, n->inputs[0]->ncols); i++)
        in[i] |= out[i] | bits;
}

static void walk(struct walk *w, const struct fe_node *n)
{
    unsigned *out = w->uses[n->id];
    unsigned *in = n->ninputs ? w->uses[n->inputs[0]->id] : NULL;
    switch (n->op) {
    case FE_SCAN_OP: use_scan(w, n); break;
    case FE_FILTER_OP:
        pass(n, out, in, 0);
        use_condition(in, n->u.filter.pred);
        break;
    case FE_REPEAT_OP:
    case FE_LIMIT_OP: pass(n, out, in, 0); break;
    case FE_PROJECT_OP:
        for (int i = 0; i < n->ncols; i++)
            use(in, n->u.project.exprs[i], out[i]);
        break;
    case FE_JOIN_OP: use_join(w, n, in, w->uses[n->inputs[1]->id]); break;
    case FE_PAIRS_OP: use_pairs(w, n, in); break;
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP: use_groups(n, out, in); break;
    case FE_SORT_OP:
    case FE_TOP_OP:
    case FE_WINDOW_OP:
        pass(n, out, in, 0);
        use_sort_keys(n, in);
        break;
    case FE_UNION_ALL_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
        for (int k = 0; k < n->ninputs; k++)
            pass(n, out, w->uses[n->inputs[k]->id], n->op == FE_UNION_ALL_OP ? 0 : 1u << PL_USE_GROUP);
        break;
    case FE_REF_OP:
        for (int i = 0; i < n->ncols; i++)
            w->uses[w->plan->shared[n->u.ref.shared]->id][i] |= out[i];
        break;
    case FE_VALUES_OP:
    case FE_RELOP_COUNT: break;
    }
    for (int i = 0; i < n->ninputs; i++)
        walk(w, n->inputs[i]);
}

static void make_room(struct walk *w, const struct fe_node *n)
{
    w->uses[n->id] = HD_NEWN(w->a, unsigned, n->ncols + 1);
    for (int i = 0; i < n->ninputs; i++)
        make_room(w, n->inputs[i]);
}

static void walk_plan(struct walk *w)
{
    w->uses = HD_NEWN(w->a, unsigned *, w->plan->nnodes + 1);
    make_room(w, w->plan->root);
    for (int i = 0; i < w->plan->nshared; i++)
        make_room(w, w->plan->shared[i]);
    walk(w, w->plan->root);
    for (int i = w->plan->nshared - 1; i >= 0;
         i--) /* references point backwards: what is used of the last one is known */
        walk(w, w->plan->shared[i]);
}

/* ---- gain and cost --------------------------------------------------------------------------- */

static bool wants_counts(unsigned uses)
{
    static const bool counts[] = {
#define T_FACT_USE(id, text, counts, gain) counts,
#include "planner/fact_uses.def"
    };
    bool any = false;
    for (int u = 0; u < PL_FACT_USES; u++)
        any |= (uses >> u & 1) && counts[u];
    return any;
}

/* Of a row, by uses that gain by as much as is computed. */
static double gain_of(unsigned uses)
{
    static const double gain[] = {
#define T_FACT_USE(id, text, counts, gain) gain,
#include "planner/fact_uses.def"
    };
    double sum = 0;
    for (int u = 0; u < PL_FACT_USES; u++)
        sum += uses >> u & 1 ? gain[u] : 0;
    return sum;
}

static void weigh(struct walk *w, const struct fe_table *t, int column, unsigned uses, struct pl_wanted *out)
{
    const struct fe_table_column *c = &t->cols[column];
    bool has_range = c->storage == FE_STORE_INT || c->storage == FE_STORE_DICT, counts = wants_counts(uses);
    if (c->facts.known || !(has_range || uses & BY_DISTINCT) || (t->device && c->storage == FE_STORE_TEXT))
        return; /* a device's strings are not copied for that */
    unsigned gains = w->joins ? uses : uses & ~(unsigned)FILTERS; /* nothing depends on rows that are left */
    static const double of_gpu = 0.001; /* of what a thread of a CPU gains, which rows on a device are not read by */
    double rows = (double)t->rows, limit = HD_MAX(gain_of(gains) * rows, pl_facts_spare(w->rows));
    limit *= t->device ? of_gpu : 1;
    limit = w->always ? INFINITY : limit;
    const double copy = t->device ? pl_cost_fetched(rows * c->width) : 0;
    double cost = copy + pl_cost_facts(rows, has_range, c->width, counts);
    if (counts && cost > limit) {
        counts = false;
        cost = copy + pl_cost_facts(rows, has_range, c->width, false);
    }
    out->v[out->n++] = (struct pl_wanted_fact){t, column, uses, counts, cost <= limit, cost};
}

void pl_facts_wanted(struct hd_arena *a, const struct fe_plan *plan, bool always, struct pl_wanted *out)
{
    struct walk w = {.a = a, .plan = plan, .always = always};
    int columns = 0;
    *out = (struct pl_wanted){0};
    walk_plan(&w);
    for (int k = 0; k < w.tables.n; k++)
        columns += w.tables.v[k].table->ncols;
    out->v = HD_NEWN(a, struct pl_wanted_fact, columns + 1);
    if (!always && !pl_worth_facts(w.rows))
        out->why = "the tables have few rows";
    else if (!always && !w.joins && !(w.all & (KEYS | 1 << PL_USE_SORT)))
        out->why = "rows are read once, and neither joined, grouped nor sorted";
    for (int k = 0; k < w.tables.n && !out->why; k++)
        for (int i = 0; i < w.tables.v[k].table->ncols; i++)
            if (w.tables.v[k].columns[i])
                weigh(&w, w.tables.v[k].table, i, w.tables.v[k].columns[i], out);
}
