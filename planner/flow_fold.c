/* Folds before there are pipelines: whether the groups of a grouping are parents of its rows, which a scan gives or a join
 * finds from the parents, whose children lie together and are few; and what is known of them then. */
#include "planner/flow_fold.h"

#include "planner/estimate.h"
#include "planner/flow_rows.h"
#include "planner/fold_long.h"
#include "planner/handle.h"
#include "planner/known.h"
#include "planner/need.h"
#include "planner/physical.h"

enum { FOLD_ITEMS = 16, FOLD_CONDITIONS = 16, FOLD_COLUMNS = 32 }; /* code of bounded size, as no part cuts it */

/* The scan or join whose rows, filtered and projected, are the node's input; NULL: other operators are between. */
static struct pl_node *node_below(const struct pl_node *n, int *conditions)
{
    struct pl_node *in = n->inputs[0];
    *conditions = 0;
    for (; in->op == PL_NODE_FILTER || in->op == PL_NODE_PROJECT; in = in->inputs[0])
        *conditions += in->op == PL_NODE_FILTER ? in->u.filter.n : 0;
    return in->op == PL_NODE_SCAN || in->op == PL_NODE_JOIN ? in : NULL;
}

static int columns_read(const struct ctx *c, const struct fe_node *scan)
{
    bool *used = HD_NEWN(c->a, bool, scan->u.scan.table->ncols + 1);
    int n = 0;
    if (scan->u.scan.filter)
        need_expr(used, scan->u.scan.filter);
    for (int i = 0; i < scan->ncols; i++)
        used[scan->u.scan.columns[i]] |= c->need[scan->id][i];
    for (int i = 0; i < scan->u.scan.table->ncols; i++)
        n += used[i];
    return n;
}

/* The indexed foreign key of the scanned table that is the only key of the groups; -1: none. */
static int key_of_groups(const struct stream *s, const struct stage *g)
{
    const struct handle *k = g->nkeys == 1 ? g->kept[0] : NULL;
    if (!k || k->kind != H_COLUMN || !s->at->source || k->row != s->at->source)
        return -1;
    for (int i = 0; i < k->table->nfks; i++) {
        const struct fe_foreign_key *fk = &k->table->fks[i];
        if (fk->n_columns == 1 && fk->columns[0] == k->column && fk->offsets)
            return i;
    }
    return -1;
}

static const char *no_children(struct ctx *c, const struct fe_foreign_key *fk)
{
    if (fk->child_rows)
        return "children do not lie in the order of their parents";
    if (fk->max_children < 0 || (fold_has_long(fk) && !fk->nlong))
        return hd_asprintf(c->a, "a parent has up to %lld children", (long long)fk->max_children);
    return NULL;
}

/* Keys of a scan's rows are values of the child, those of groups the parent's. */
static const char *no_key(const struct handle *k, const struct fe_foreign_key *fk)
{
    const struct fe_table_column *child = &k->table->cols[k->column],
                                 *parent = &fk->parent->cols[fk->parent_columns[0]];
    if (child->facts.nulls != 0)
        return "rows without a parent are a group, too";
    return !hd_type_eq(child->type, parent->type) || hd_type_is_float(child->type) ? "the keys' types differ" : NULL;
}

static int no_item(struct ctx *c, const struct agg_item *a, double rows, const char **why)
{
    struct pl_val v;
    switch (a->fn) {
    case FE_AGG_COUNT:
    case FE_AGG_COUNT_STAR:
    case FE_AGG_BIT_OR:
    case FE_AGG_BIT_XOR: return 0;
    case FE_AGG_SUM:
        HD_TRY(known_value(c, a->arg, &v));
        if (a->high || !sum_known(a, rows, &v))
            *why = "a sum may be too wide";
        return 0;
    case FE_AGG_MIN:
    case FE_AGG_MAX:
        HD_TRY(known_value(c, a->arg, &v));
        if (v.phys == RT_STR)
            *why = "a minimum or maximum of strings";
        return 0;
#define T_AGG(id, ...) case FE_AGG_##id:
#include "frontend/aggs_said.def"
    case FE_AGG_AVG:
    case FE_AGG_ANY:
    case FE_AGG_COUNT_OF: break;
    }
    *why = "an aggregate that folds do not know";
    return 0;
}

/* Groups of a scan's rows by a foreign key. */
static void of_scan(const struct stream *s, const struct stage *g, int conditions, struct pl_fold_facts *f)
{
    int fk = key_of_groups(s, g);
    if (fk < 0)
        return;
    const struct handle *k = g->kept[0];
    f->parented = true;
    f->child = k->table;
    f->fk = fk;
    f->parents = (double)k->table->fks[fk].parent->rows;
    f->tested = conditions + f->from->u.filter.n ? (double)k->table->rows : 0;
    f->why_not = no_key(k, &k->table->fks[fk]);
}

static bool may_raise(int n, const struct fe_expr *const *v)
{
    bool raises = false;
    for (int i = 0; i < n && !raises; i++)
        raises = lx_may_fail(v[i]);
    return raises;
}

/* Children of long parents are added up whatever drops these. */
static const char *no_long(const struct stage *g, const struct pl_join *j, int conditions, const struct handle *child,
                           const struct handle *parent)
{
    if (conditions || j->nrest || j->nkeys > 1)
        return "a parent has many children, on which there are conditions of other rows";
    if (may_raise(j->nbuild, j->build_only) || may_raise(j->build->u.filter.n, j->build->u.filter.v))
        return "a parent has many children, on which conditions may fail";
    return fold_no_long(g, child, parent);
}

/* Groups of what a join by a foreign key's index finds: the keys say which parent, and nothing else. */
static void of_join(struct ctx *c, const struct stream *s, const struct stage *g, int conditions,
                    struct pl_fold_facts *f)
{
    const struct pl_join *j = &f->from->u.join;
    struct handle *parent = s->at ? s->at->parent : NULL;
    bool plain = j->kind == FE_INNER && j->way == PL_WAY_FK && j->form == PL_FORM_ONCE && !j->single;
    if (!plain || !parent || s->unique_row != s->at->child || !h_determined(c, parent, g->kept, g->d->nkept))
        return;
    for (int i = 0; i < g->nkeys; i++)
        if (!h_determined(c, g->keys[i], &parent, 1))
            return;
    f->parented = true;
    f->child = j->tbuild->u.scan.table;
    f->fk = j->fk;
    f->parent = parent;
    f->parents = j->probe->rows;
    if (!fold_has_long(&f->child->fks[f->fk]))
        return;
    f->why_not = no_long(g, j, conditions, s->at->child, parent);
}

static int conditions_of(const struct pl_node *n)
{
    if (n->op == PL_NODE_SCAN)
        return n->u.filter.n;
    return n->u.join.build->u.filter.n + n->u.join.nrest + n->u.join.nbuild + n->u.join.nkeys;
}

static bool is_large(const struct ctx *c, const struct stage *g, const struct pl_fold_facts *f, int conditions)
{
    const struct fe_node *scan = f->parent ? f->from->u.join.tbuild : f->from->n;
    return g->naggs > FOLD_ITEMS || conditions + conditions_of(f->from) > FOLD_CONDITIONS ||
           columns_read(c, scan) > FOLD_COLUMNS;
}

int flow_fold_facts(struct ctx *c, const struct stream *s, const struct stage *g, const struct pl_fold_facts **out)
{
    struct pl_fold_facts *f = HD_NEW(c->a, struct pl_fold_facts);
    int conditions = 0;
    *out = f;
    f->from = g->node->op == PL_NODE_AGGREGATE && g->d->nkept > 0 ? node_below(g->node, &conditions) : NULL;
    if (f->from && f->from->op == PL_NODE_SCAN)
        of_scan(s, g, conditions, f);
    else if (f->from)
        of_join(c, s, g, conditions, f);
    if (!f->parented)
        return 0;
    const struct fe_foreign_key *fk = &f->child->fks[f->fk];
    f->long_children = fold_long_children(fk);
    const char *why = no_children(c, fk);
    f->why_not = why ? why : f->why_not;
    if (is_large(c, g, f, conditions))
        f->why_not = "too many aggregates, conditions or columns";
    for (int i = 0; i < g->naggs && !f->why_not; i++)
        HD_TRY(no_item(c, &g->aggs[i], (double)fk->max_children, &f->why_not));
    return 0;
}

/* ---- what is known of the groups ------------------------------------------------------------------------ */

static int known_item(struct ctx *c, const struct agg_item *a, double rows, struct handle **out)
{
    struct pl_val v = {.phys = RT_I64, .range = {true, 0, (hd_i128)rows}};
    if (a->fn != FE_AGG_COUNT && a->fn != FE_AGG_COUNT_STAR)
        HD_TRY(known_value(c, a->arg, &v));
    v.is_const = false;
    if (agg_is_of_bits(a->fn)) {
        v.phys = RT_I64;
        v.range = range_of_type(a->type);
    }
    if (a->fn == FE_AGG_SUM) {
        bool fits = sum_known(a, rows, &v);
        HD_ASSERT(fits);
        if (leaves_type(&v, a->type)) { /* it is checked where its value is asked for */
            v.phys = a->type.kind == HD_DECIMAL ? RT_I128 : RT_I64;
            v.range = range_of_type(a->type);
        }
    }
    v.type = a->type;
    *out = h_phys(c, v);
    return 0;
}

int flow_fold(struct ctx *c, const struct stream *s, struct stage *g, struct stream *out, struct handle **key_out,
              struct handle **agg_out)
{
    const struct pl_fold_facts *f = g->d->fold;
    const struct fe_foreign_key *fk = &f->child->fks[f->fk];
    struct handle *parent = f->parent ? f->parent : flow_row(c, fk->parent);
    if (f->parent) { /* the pipeline goes on with what it had before the children */
        f->from->u.join.folded = true;
        *out = *s;
        out->est = HD_MIN(g->d->groups, f->parents);
        memcpy(key_out, g->keys, sizeof *key_out * (size_t)g->nkeys);
    } else {
        f->from->u.filter.by_parent = 1 + f->fk;
        *out = flow_begin(c, parent, g->d->groups);
        key_out[0] = h_column(c, fk->parent, fk->parent_columns[0], parent);
    }
    out->max_rows = HD_MIN(s->max_rows, (double)fk->parent->rows);
    out->unique_row = parent;
    for (int i = 0; i < g->naggs; i++)
        HD_TRY(known_item(c, &g->aggs[i], (double)fk->max_children, &agg_out[i]));
    stage_unique(c, g, key_out, out);
    return 0;
}
