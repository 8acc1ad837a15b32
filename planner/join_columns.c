/* Columns of joins: environments of conditions, outputs, what a table or a stored index gives. */
#include "planner/handle.h"
#include "planner/join.h"
#include "planner/lower_expr.h"
#include "planner/lower_rows.h"
#include "planner/lower_value.h"
#include "planner/estimate.h"
#include "planner/store.h"

/* ---- environments and output ---------------------------------------------------------------------------- */

/* Environment of conditions on both sides: left columns, then right ones. */
struct handle **join_env(struct ctx *c, const struct join *j)
{
    int nl = j->d->nleft;
    struct handle **env = HD_NEWN(c->a, struct handle *, j->s.ncols + j->nbuild + 1);
    memcpy(env + (j->d->swapped ? nl : 0), j->s.cols, sizeof *env * (size_t)j->s.ncols);
    memcpy(env + (j->d->swapped ? 0 : nl), j->bcols, sizeof *env * (size_t)j->nbuild);
    return env;
}

bool join_null_equal(const struct pl_join *d, int key)
{
    return d->null_equal && d->null_equal[key];
}

static struct handle *absent(struct ctx *c, struct hd_type t)
{
    return h_phys(c, lx_const(c, &(struct fe_value){.type = t, .is_null = true}));
}

int join_output(struct ctx *c, struct join *j, struct stream *out)
{
    *out = j->s;
    if (j->kind == FE_SEMI || j->kind == FE_ANTI || j->kind == FE_MARK)
        return 0;
    struct handle **env = join_env(c, j);
    out->ncols = j->n->ncols;
    for (int i = 0; i < out->ncols; i++)
        if (!env[i]) /* not needed above, so not kept */
            env[i] = absent(c, j->n->cols[i].type);
    out->cols = env;
    return 0;
}

int join_mark_output(struct ctx *c, struct join *j, struct handle *mark, struct stream *out)
{
    struct handle **cols = HD_NEWN(c->a, struct handle *, j->n->ncols + 1);
    memcpy(cols, j->s.cols, sizeof *cols * (size_t)j->s.ncols);
    cols[j->s.ncols] = mark;
    *out = j->s;
    out->cols = cols;
    out->ncols = j->n->ncols;
    return 0;
}

/* ---- stored indexes ------------------------------------------------------------------------------------- */

/* A declared foreign key from the probe column to the looked-up column: every row has a match. */
bool join_always_matches(const struct handle *key, const struct fe_table *t, int column)
{
    if (key->kind != H_COLUMN || key->nullable)
        return false;
    for (int f = 0; f < key->table->nfks; f++) {
        const struct fe_foreign_key *fk = &key->table->fks[f];
        if (fk->n_columns == 1 && fk->columns[0] == key->column && fk->parent == t && fk->parent_columns[0] == column)
            return true;
    }
    return false;
}

/* Columns of the build scan at row; the matched key column becomes the probe's own handle. */
void join_scan_at(struct ctx *c, struct join *j, struct handle *row, struct handle *key, bool same)
{
    struct stream b = {0};
    scan_columns(c, j->d->tbuild, row, &b);
    j->bcols = b.cols;
    j->nbuild = b.ncols;
    j->brow = row;
    const struct fe_expr *bk = same ? j->d->bkeys[j->d->key] : NULL;
    if (same && hd_type_eq(b.cols[bk->col]->type, key->type)) {
        row->eq_column = b.cols[bk->col]->column;
        row->eq = key;
        b.cols[bk->col] = key;
    }
}

/* The stream holds at most one row per value of key. */
bool join_unique_on(struct ctx *c, const struct stream *s, struct handle *key)
{
    for (int i = 0; i < s->nunique; i++)
        if (!h_determined(c, h_plain(s->unique[i]), &key, 1))
            return false;
    return s->nunique > 0 || (s->unique_row && h_determined(c, s->unique_row, &key, 1));
}

/* ---- columns of a table ---------------------------------------------------------------------------------- */

/* Columns of the build side that the probe side must see; key columns equal to a probe key are not stored again. */
void join_kept(struct ctx *c, const struct join *j, const struct stream *b, struct built *t)
{
    struct handle **cols = HD_NEWN(c->a, struct handle *, b->ncols + 1);
    int n = 0;
    t->ncols = b->ncols;
    t->keep_of = HD_NEWN(c->a, int, b->ncols + 1);
    for (int i = 0; i < b->ncols; i++) {
        t->keep_of[i] = -1;
        if (t->d->existence || (j->d->keep && !j->d->keep[i]) || t->d->same[i] >= 0)
            continue;
        t->keep_of[i] = n;
        cols[n++] = b->cols[i];
    }
    if (t->d->by_row)
        keep_chosen(c, cols, n, t->d->by_row, &t->kept);
    else
        keep_columns(c, cols, n, &t->kept);
}

void join_rows(struct join *j, const struct built *t, enum pl_probe_kind how, double *est)
{
    double rate = t->d->rate;
    *est *= how == PL_ANTI ? HD_MAX(0.05, 1 - rate) : how == PL_LEFT || how == PL_MARK ? 1 : HD_MAX(rate, 1e-6);
    if (!t->d->existence && !t->d->unique) {
        *est *= t->d->fanout;
        j->s.max_rows = HD_MIN(j->s.max_rows * HD_MAX(1, t->d->max_per_key), 9e18);
        j->s.unique_row = NULL;
        j->s.nunique = 0;
    }
    j->s.est = *est;
}

void join_columns(struct ctx *c, struct join *j, const struct built *t, struct handle *row)
{
    struct handle **kept = HD_NEWN(c->a, struct handle *, t->kept.ncols + 1);
    if (t->d->existence || t->d->unique) { /* the row follows from the probe keys */
        row->ndet = t->nkeys;
        row->det = j->pk;
    }
    keep_load(c, &t->kept, t->state, row, row->row_nullable, kept);
    j->brow = row;
    j->nbuild = t->ncols;
    j->bcols = HD_NEWN(c->a, struct handle *, t->ncols + 1);
    for (int i = 0; i < t->ncols; i++)
        j->bcols[i] = t->d->same[i] >= 0 ? j->pk[t->d->same[i]] : t->keep_of[i] >= 0 ? kept[t->keep_of[i]] : NULL;
}

void join_stored_columns(struct ctx *c, struct join *j, const struct stored *st, struct handle *row)
{
    struct handle **kept = HD_NEWN(c->a, struct handle *, st->kept.ncols + 1);
    keep_load(c, &st->kept, st->state, row, row->row_nullable, kept);
    j->brow = row;
    j->nbuild = st->ncols;
    j->bcols = HD_NEWN(c->a, struct handle *, st->ncols + 1);
    for (int i = 0, k = 0; i < st->ncols; i++)
        j->bcols[i] = !st->want || st->want[i] ? kept[k++] : NULL;
}

/* ---- sides ---------------------------------------------------------------------------------------------- */

enum pl_probe_kind join_how(enum fe_join_kind k)
{
    return k == FE_LEFT ? PL_LEFT : k == FE_SEMI ? PL_SEMI : k == FE_ANTI ? PL_ANTI : k == FE_MARK ? PL_MARK : PL_INNER;
}

struct handle **join_extremes_env(struct ctx *c, const struct join *j)
{
    int nk = j->d->nkeys, at = j->d->nleft + j->d->nbuilt;
    struct handle **env = HD_NEWN(c->a, struct handle *, at + 2);
    memcpy(env, j->s.cols, sizeof *env * (size_t)j->d->nleft);
    env[at] = j->bcols[nk];
    env[at + 1] = j->bcols[nk + 1];
    return env;
}

struct stream *join_stream(const struct pl_node *n, struct stream *in, const struct pl_node *input)
{
    for (int i = 0; i < n->ninputs; i++)
        if (n->inputs[i] == input)
            return &in[i];
    HD_BUG("no input");
}

struct pl_node *join_rescanned(const struct pl_join *d)
{
    return d->probe->op == PL_NODE_SCAN ? d->probe : d->probe->inputs[0];
}
