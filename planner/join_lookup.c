/* Lookups in stored indexes, and all pairs. */
#include "planner/build.h"
#include "planner/cost.h"
#include "planner/cut.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/join.h"
#include "planner/lower_expr.h"
#include "planner/lower_fold.h"
#include "planner/lower_rows.h"
#include "planner/lower_value.h"
#include "planner/search_word.h"
#include "planner/store.h"
#include "planner/typed.h"

int join_filter_rest(struct ctx *c, struct join *j)
{
    for (int i = 0; i < j->d->nrest; i++)
        HD_TRY(lx_filter(c, &j->s, join_env(c, j), &j->d->rest[i], &j->d->rest_share[i], 1));
    return 0;
}

/* ---- index joins -------------------------------------------------------------------------------------------- */

/* Row of t found through its key index; lazily when the match is certain. */
static int key_row(struct ctx *c, struct join *j, const struct fe_table *t, int index, struct handle *key,
                   enum pl_probe_kind how, struct handle **row)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    struct pl_val v;
    if (key->kind == H_COLUMN && key->table == t && key->column == t->keyidx[index].column && !key->nullable) {
        *row = key->row; /* the key is a column of that very row */
        return 0;
    }
    for (int i = 0; i < p->lookups.n; i++) /* looked up before in this pipeline */
        if (p->lookups.v[i]->table == t && p->lookups.v[i]->keyidx == index && p->lookups.v[i]->det[0] == key &&
            p->lookups.v[i]->row_nullable == (how == PL_LEFT)) {
            *row = p->lookups.v[i];
            return 0;
        }
    if (join_always_matches(key, t, t->keyidx[index].column)) {
        *row = h_lookup(c, t, index, key);
        hd_vec_push(c->a, &p->lookups, *row);
        return 0;
    }
    HD_TRY(h_value(c, p, key, &v));
    lx_realise(c, &v);
    if (v.phys == RT_I128) /* beyond 64 bits there is no key */
        return HD_FAIL(c->err, UNSUPPORTED, j->node->path, "index join on a 128-bit key");
    int slot = pb_slot(c, p, hd_asprintf(c->a, "%s row", t->name), RT_I32, false);
    HD_TRY(h_probe_key(c, p, t, index, v, j->node->path));
    struct pl_step *s = &p->steps.v[p->steps.n - 1];
    s->slot = slot;
    s->probe = how;
    double hit = HD_MIN(1.0, (double)t->rows / HD_MAX(1.0, h_distinct(c, key, 1e12)));
    p->est *= how == PL_INNER ? hit : 1;
    *row = h_row(c, slot, t, -1, how == PL_LEFT);
    (*row)->keyidx = index;
    (*row)->ndet = 1;
    (*row)->det = HD_NEWN(c->a, struct handle *, 1);
    (*row)->det[0] = key;
    hd_vec_push(c->a, &p->lookups, *row);
    return 0;
}

static int other_keys(struct ctx *c, struct join *j)
{
    for (int k = 0; k < j->d->nkeys; k++) {
        struct handle **env = HD_NEWN(c->a, struct handle *, 2);
        if (k == j->d->key)
            continue;
        const char *path = j->d->pkeys[k]->path;
        env[0] = h_expr(c, j->d->pkeys[k], j->s.cols);
        env[1] = h_expr(c, j->d->bkeys[k], j->bcols);
        const struct fe_expr *same =
            pl_key_equal(c->a, lx_col(c, 0, env[0], path), lx_col(c, 1, env[1], path), path, join_null_equal(j->d, k));
        HD_TRY(lx_filter(c, &j->s, env, &same, &j->d->key_share[k], 1));
    }
    return 0;
}

/* The children stay in a loop of the parent's row: the grouping above ends it. */
static int fold_fk(struct ctx *c, struct join *j, struct handle *parent, struct handle **row)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    struct pl_val pv;
    HD_TRY(h_value(c, p, parent, &pv));
    *row = fold_open(c, p, parent, node_table(j->d->tbuild), j->d->fk, j->node->path);
    p->est *= HD_MAX(j->d->fanout, 0.001);
    return 0;
}

static int expand_fk(struct ctx *c, struct join *j, struct handle *parent, struct handle *key, enum pl_probe_kind how,
                     struct handle **row)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    const struct fe_table *t = node_table(j->d->tbuild);
    const struct fe_foreign_key *fk = &t->fks[j->d->fk];
    struct pl_val pv;
    HD_TRY(h_value(c, p, parent, &pv));
    int slot = pb_slot(c, p, hd_asprintf(c->a, "%s row", t->name), RT_I32, false);
    int a_off = pb_arg_table(c, RT_ARG_FK_OFFSETS, t, j->d->fk);
    int a_child = fk->child_rows ? pb_arg_table(c, RT_ARG_FK_CHILD_ROWS, t, j->d->fk) : -1;
    struct pl_step *s = pb_step(c, p, PL_STEP_EXPAND_FK, j->node->path);
    s->table = t;
    s->index = j->d->fk;
    s->slot = slot;
    s->row_slot = parent->slot;
    s->row_nullable = parent->row_nullable;
    s->probe = how;
    s->a_offsets = a_off;
    s->a_child_rows = a_child;
    s->splittable = j->d->splits;
    cut_open_level(c, &j->s, j->d->want);
    p->est *= HD_MAX(j->d->fanout, 0.001);
    double parents = j->s.max_rows;
    j->s.max_rows = HD_MIN(parents * (double)HD_MAX(1, fk->max_children < 0 ? t->rows : fk->max_children), 9e18);
    /* unique parents reach every child once */
    bool once = j->s.unique_row == parent || join_unique_on(c, &j->s, key);
    if (once)
        j->s.max_rows = HD_MIN(j->s.max_rows, (double)t->rows + (how == PL_LEFT ? parents : 0));
    *row = h_row(c, slot, t, -1, how == PL_LEFT);
    j->s.unique_row = once ? *row : NULL;
    j->s.nunique = 0;
    return 0;
}

static const char *key_column(const struct join *j)
{
    const struct fe_node *n = j->d->tbuild;
    return n->u.scan.table->cols[n->u.scan.columns[j->d->bkeys[j->d->key]->col]].name;
}

double pl_child_share(struct ctx *c, const struct pl_join *d, struct handle *key)
{
    return HD_MIN(1.0, HD_MAX(d->fanout, 0.001) / HD_MAX(1.0, h_distinct(c, key, 1e4)));
}

/* The child with the other key, which no two children of a parent have. */
static int search_children(struct ctx *c, struct join *j, struct handle *parent, struct handle **row)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    const struct fe_table *t = node_table(j->d->tbuild);
    struct handle *key = h_plain(h_expr(c, j->d->pkeys[j->d->within], j->s.cols));
    int column = j->d->tbuild->u.scan.columns[j->d->bkeys[j->d->within]->col];
    struct pl_val pv, v;
    HD_TRY(h_value(c, p, parent, &pv));
    HD_TRY(h_value(c, p, key, &v));
    lx_realise(c, &v);
    if (v.phys == RT_I128) /* beyond 64 bits there is no key */
        return HD_FAIL(c->err, UNSUPPORTED, j->node->path, "index join on a 128-bit key");
    HD_TRY(lx_as_phys(c, &v, RT_I64));
    int slot = pb_slot(c, p, hd_asprintf(c->a, "%s row", t->name), RT_I32, false);
    int a_offsets = pb_arg_table(c, RT_ARG_FK_OFFSETS, t, j->d->fk);
    int a_data = pb_arg_column(c, RT_ARG_COL_DATA, t, column);
    int a_base =
        pb_arg(c, (struct rt_arg){.kind = RT_ARG_COL_BASE, .phys = RT_I64, .table = t, .column = column, .state = -1});
    struct pl_step *s = pb_step(c, p, PL_STEP_PROBE_CHILD, j->node->path);
    s->table = t;
    s->index = j->d->fk;
    s->column = column;
    s->slot = slot;
    s->row_slot = parent->slot;
    s->row_nullable = parent->row_nullable;
    s->expr = v.expr;
    s->probe = PL_INNER;
    s->a_offsets = a_offsets;
    s->a_data = a_data;
    s->a_base = a_base;
    p->est *= pl_child_share(c, j->d, key);
    *row = h_row(c, slot, t, -1, false);
    return 0;
}

static int column_slot(struct ctx *c, struct open_pipeline *p, const struct fe_table *t, enum pl_probe_kind how)
{
    if (how == PL_SEMI || how == PL_ANTI)
        return -1;
    return how == PL_MARK ? pb_slot(c, p, "mark", RT_BOOL, false)
                          : pb_slot(c, p, hd_asprintf(c->a, "%s row", t->name), RT_I32, false);
}

/* A step that searches a column by which the table is sorted. */
static struct pl_step *step_in_order(struct ctx *c, struct join *j, enum pl_step_kind kind, int column, int slot,
                                     enum pl_probe_kind how)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    const struct fe_table *t = node_table(j->d->tbuild);
    struct rt_arg of = {.phys = RT_I64, .table = t, .column = column, .state = -1};
    int a_data = pb_arg_column(c, RT_ARG_COL_DATA, t, column);
    of.kind = RT_ARG_COL_BASE;
    int a_base = pb_arg(c, of);
    of.kind = RT_ARG_COL_ROWS;
    int a_nrows = pb_arg(c, of);
    struct pl_step *s = pb_step(c, p, kind, j->node->path);
    s->table = t;
    s->column = column;
    s->slot = slot;
    s->probe = how;
    s->a_data = a_data;
    s->a_base = a_base;
    s->a_nrows = a_nrows;
    return s;
}

static int column_step(struct ctx *c, struct join *j, struct handle *key, enum pl_probe_kind how, int *slot)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    int column = j->d->tbuild->u.scan.columns[j->d->bkeys[j->d->key]->col];
    struct pl_val v;
    HD_TRY(h_value(c, p, key, &v));
    lx_realise(c, &v);
    v = sw_key(c, v);
    *slot = column_slot(c, p, node_table(j->d->tbuild), how);
    enum pl_step_kind kind = j->d->one ? PL_STEP_PROBE_COLUMN : PL_STEP_EXPAND_COLUMN;
    struct pl_step *s = step_in_order(c, j, kind, column, *slot, how);
    s->expr = v.expr;
    s->near = comes_by(c, &j->s, key);
    s->splittable = !j->d->one && j->d->splits;
    return 0;
}

/* A semi join with a condition beyond the key is an inner one, as one row at most is found. */
enum pl_probe_kind join_column_how(const struct join *j)
{
    if (!j->d->plain)
        return PL_INNER;
    return j->kind == FE_FULL ? PL_LEFT : join_how(j->kind);
}

void join_column_rows(struct ctx *c, struct join *j, struct handle *key, enum pl_probe_kind how, double *est)
{
    const struct fe_table *t = node_table(j->d->tbuild);
    const struct fe_facts *f = &t->cols[j->d->tbuild->u.scan.columns[j->d->bkeys[j->d->key]->col]].facts;
    double rows = (double)t->rows, built = f->distinct >= 0 ? HD_MAX(1, (double)f->distinct) : HD_MAX(1, rows);
    double share = HD_MIN(1, built / h_distinct(c, key, 1e12)), probed = j->s.max_rows;
    bool once = join_unique_on(c, &j->s, key);
    *est *= how == PL_ANTI ? HD_MAX(0.05, 1 - share) : how == PL_LEFT || how == PL_MARK ? 1 : HD_MAX(share, 1e-6);
    if (j->d->one)
        return;
    *est *= HD_MAX(1, rows / built);
    j->s.max_rows = HD_MIN(probed * HD_MAX(1, f->max_mult < 0 ? rows : (double)f->max_mult), 9e18);
    if (once) /* each row is found once at most */
        j->s.max_rows = HD_MIN(j->s.max_rows, rows + (how == PL_LEFT ? probed : 0));
}

struct handle *join_column_row(struct ctx *c, struct join *j, struct handle *key, enum pl_probe_kind how, int slot)
{
    bool once = !j->d->one && join_unique_on(c, &j->s, key);
    struct handle *row = h_row(c, slot, node_table(j->d->tbuild), -1, how == PL_LEFT);
    if (j->d->one) { /* the row follows from the key */
        row->ndet = 1;
        row->det = hd_dup(c->a, &key, sizeof(struct handle *));
        return row;
    }
    j->s.unique_row = once ? row : NULL;
    j->s.nunique = 0;
    return row;
}

int join_search_column(struct ctx *c, struct join *j, enum pl_probe_kind how, struct handle **mark)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    struct handle *key = h_plain(h_expr(c, j->d->pkeys[j->d->key], j->s.cols));
    int slot;
    HD_TRY(column_step(c, j, key, how, &slot));
    pb_note(c, "%s: %s join searches %s's column %s, which is sorted", j->node->path, fe_join_kind_name(j->d->written),
            node_table(j->d->tbuild)->name, key_column(j));
    double est = p->est;
    join_column_rows(c, j, key, how, &est);
    if (!j->d->one)
        cut_open_level(c, &j->s, j->d->want);
    p->est = j->s.est = est;
    if (how == PL_MARK)
        *mark =
            h_phys(c, (struct pl_val){.expr = pb_slot_expr(c, p, slot), .phys = RT_BOOL, .type = hd_type_of(HD_BOOL)});
    if (how != PL_INNER && how != PL_LEFT)
        return 0;
    struct handle *row = join_column_row(c, j, key, how, slot);
    join_scan_at(c, j, row, key, how == PL_INNER);
    HD_TRY(scan_filter(c, j->d->build, row, &j->s));
    HD_TRY(other_keys(c, j));
    HD_TRY(lx_filter(c, &j->s, join_env(c, j), j->d->build_only, j->d->build_share, j->d->nbuild));
    j->s.est = p->est;
    return 0;
}

/* ---- a range of a sorted column ------------------------------------------------------------------------------- */

void join_band_rows(const struct ctx *c HD_UNUSED, struct join *j, enum pl_probe_kind how, double *est)
{
    *est *= how == PL_LEFT ? HD_MAX(1, j->d->fanout) : j->d->fanout;
    j->s.max_rows = HD_MIN(j->s.max_rows * HD_MAX(1, (double)node_table(j->d->tbuild)->rows), 9e18);
    j->s.unique_row = NULL;
    j->s.nunique = 0;
}

static int band_step(struct ctx *c, struct join *j, enum pl_probe_kind how, int *slot)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    const struct fe_table *t = node_table(j->d->tbuild);
    const struct pl_interval *x = j->d->search->range;
    int lo = j->d->swapped ? 0 : j->d->nleft, column = j->d->tbuild->u.scan.columns[x->of.v[0].e->col - lo];
    struct pl_val low, high;
    HD_TRY(sw_bounds(c, p, join_side_env(c, j, j->s.cols, false), x, &low, &high));
    *slot = column_slot(c, p, t, how);
    int *keys = HD_NEWN(c->a, int, 2);
    keys[0] = low.expr;
    keys[1] = high.expr;
    struct pl_step *s = step_in_order(c, j, PL_STEP_EXPAND_BAND, column, *slot, how);
    s->keys = keys;
    s->nkeys = 2;
    s->reach = -1;
    s->splittable = true;
    pb_note(c, "%s: %s join searches %s's column %s, which is sorted, for a range", j->node->path,
            fe_join_kind_name(j->d->written), t->name, t->cols[column].name);
    return 0;
}

int join_search_band(struct ctx *c, struct join *j, enum pl_probe_kind how)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    int slot;
    HD_TRY(band_step(c, j, how, &slot));
    double est = p->est;
    join_band_rows(c, j, how, &est);
    cut_open_level(c, &j->s, j->d->want);
    p->est = j->s.est = est;
    struct handle *row = h_row(c, slot, node_table(j->d->tbuild), -1, how == PL_LEFT);
    join_scan_at(c, j, row, NULL, false);
    HD_TRY(scan_filter(c, j->d->build, row, &j->s));
    HD_TRY(lx_filter(c, &j->s, join_env(c, j), j->d->build_only, j->d->build_share, j->d->nbuild));
    j->s.est = p->est;
    return 0;
}

int join_lookup(struct ctx *c, struct join *j, enum pl_probe_kind how)
{
    const struct fe_table *t = node_table(j->d->tbuild);
    struct handle *key = h_plain(h_expr(c, j->d->pkeys[j->d->key], j->s.cols)), *row;
    bool same = how == PL_INNER && !hd_type_is_float(key->type);
    if (j->d->way == PL_WAY_KEY) {
        HD_TRY(key_row(c, j, t, j->d->index, key, how, &row));
    } else {
        const struct fe_foreign_key *fk = &t->fks[j->d->fk];
        struct handle *parent;
        HD_TRY(key_row(c, j, fk->parent, key_index_of(fk->parent, fk->parent_columns[0]), key, how, &parent));
        if (j->d->folded)
            HD_TRY(fold_fk(c, j, parent, &row));
        else if (j->d->way == PL_WAY_FK)
            HD_TRY(expand_fk(c, j, parent, key, how, &row));
        else
            HD_TRY(search_children(c, j, parent, &row));
    }
    pb_note(c, "%s: %s join looks %s up in %s's %s index", j->node->path, fe_join_kind_name(j->d->written),
            key_column(j), t->name, j->d->way == PL_WAY_KEY ? "key" : "foreign key");
    if (j->d->way == PL_WAY_CHILD)
        pb_note(c, "%s: and searches among its children, which are sorted", j->node->path);
    join_scan_at(c, j, row, key, same);
    HD_TRY(scan_filter(c, j->d->build, row, &j->s));
    if (j->d->way != PL_WAY_CHILD)
        HD_TRY(other_keys(c, j));
    HD_TRY(lx_filter(c, &j->s, join_env(c, j), j->d->build_only, j->d->build_share, j->d->nbuild));
    j->s.est = pipeline_of(c, &j->s)->est;
    return 0;
}

/* ---- all pairs ------------------------------------------------------------------------------------------------- */

static void note_pairs(struct ctx *c, const struct join *j, double pairs)
{
    pb_note(c, "%s: %s join looks at all pairs (about %.0f, %.2g s of one thread)", j->node->path,
            fe_join_kind_name(j->d->written), pairs, pl_cost_loop(pairs, j->d->nrest) / 1e9);
}

/* Every pair of rows: a one-row scalar subquery, or a theta join's candidates. */
int join_expand_all(struct ctx *c, struct join *j, enum pl_probe_kind how, struct stored *st)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    int slot =
        pb_slot(c, p, hd_asprintf(c->a, "%s row", fe_relop_name(j->d->tbuild ? j->d->tbuild->op : FE_AGGREGATE_OP)),
                RT_I32, false);
    int a_n = pb_arg_state(c, RT_ARG_STATE_NROWS, st->state, 0);
    struct pl_step *s = pb_step(c, p, PL_STEP_EXPAND_ALL, j->node->path);
    s->state = st->state;
    s->slot = slot;
    s->probe = how;
    s->a_nrows = a_n;
    s->splittable = !j->d->single;
    cut_open_level(c, &j->s, j->d->want);
    if (!j->d->single)
        note_pairs(c, j, p->est * st->est);
    p->est *= j->d->single ? 1 : HD_MAX(1, st->est);
    if (!j->d->single) {
        j->s.max_rows = HD_MIN(j->s.max_rows * HD_MAX(1, st->max_rows), 9e18);
        j->s.unique_row = NULL;
        j->s.nunique = 0;
    }
    join_stored_columns(c, j, st, h_row(c, slot, NULL, st->state, how == PL_LEFT));
    j->s.est = p->est;
    return 0;
}
