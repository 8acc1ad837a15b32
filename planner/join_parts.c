/* Probe rows in parts: rows that one part of the hash puts together look their keys up in one window of the table
 * (docs/architecture.md, "Parts"). */
#include "planner/build.h"
#include "planner/handle.h"
#include "planner/join.h"

/* The field that has column `col` itself and not its row's id; -1: none. */
static int field_of(const struct stored *rows, int col)
{
    int k = 0;
    if (rows->want && !rows->want[col])
        return -1;
    for (int i = 0; i < col; i++)
        k += !rows->want || rows->want[i];
    return rows->kept.by_row[k] ? -1 : rows->kept.first + rows->kept.via[k];
}

/* at: the columns with the keys. False: a key is not stored. */
static bool set_parts(struct ctx *c, const struct join *j, const struct stored *rows, const int *at)
{
    const struct pl_parts *p = &j->d->table->parts;
    int *fields = HD_NEWN(c->a, int, j->d->nkeys + 1);
    for (int k = 0; k < j->d->nkeys; k++) {
        fields[k] = at[k] < 0 ? -1 : field_of(rows, at[k]);
        if (fields[k] < 0)
            return false;
    }
    c->states.v[rows->state].partition = (struct rt_partition){
        .nfields = j->d->nkeys, .fields = fields, .top = p->top, .cpu_bits = p->cpu_bits, .gpu_bits = p->gpu_bits};
    return true;
}

void join_parts_of(struct ctx *c, const struct join *j, const struct stored *rows)
{
    int *at = HD_NEWN(c->a, int, j->d->nkeys + 1);
    const struct rt_state *st = &c->states.v[rows->state];
    if (!j->d->table->parts.probe || st->nsort || st->limit >= 0 || st->offset)
        return;
    for (int k = 0; k < j->d->nkeys; k++)
        at[k] = j->d->pkeys[k]->op == FE_COL ? j->d->pkeys[k]->col : -1;
    if (!set_parts(c, j, rows, at))
        pb_note(c, "%s: the probe rows stay as they are, as their keys are not stored", j->node->path);
}

/* Columns of s, and behind them the keys that are none; at: where the keys are. */
static void add_keys(struct ctx *c, const struct join *j, struct stream *s, bool *want, int *at)
{
    struct handle **cols = HD_NEWN(c->a, struct handle *, s->ncols + j->d->nkeys + 1);
    int n = s->ncols;
    memcpy(cols, s->cols, sizeof *cols * (size_t)n);
    for (int i = 0; i < n; i++)
        want[i] = cols[i] && (!j->d->want || j->d->want[i]);
    for (int k = 0; k < j->d->nkeys; k++) {
        const struct fe_expr *e = j->d->pkeys[k];
        at[k] = e->op == FE_COL ? e->col : n++;
        if (e->op != FE_COL)
            cols[at[k]] = h_plain(h_expr(c, e, s->cols));
        want[at[k]] = true;
    }
    s->cols = cols;
    s->ncols = n;
}

/* Keys are stored themselves, the rest as it is best: [kept column] by the id of its row. */
static const bool *kept_by_row(struct ctx *c, const struct stream *s, const bool *want, const int *at, int nkeys)
{
    struct stored rows;
    store_rows(c, s, want, NULL, &rows);
    for (int k = 0; k < nkeys; k++) {
        int kept = 0;
        for (int i = 0; i < at[k]; i++)
            kept += want[i];
        rows.kept.by_row[kept] = false;
    }
    return rows.kept.by_row;
}

int join_store_parts(struct ctx *c, struct join *j)
{
    struct stream s = j->s;
    struct stored *rows = HD_NEW(c->a, struct stored);
    int n = s.ncols, *at = HD_NEWN(c->a, int, j->d->nkeys + 1);
    bool *want = HD_NEWN(c->a, bool, n + j->d->nkeys + 1);
    add_keys(c, j, &s, want, at);
    const bool *by_row = kept_by_row(c, &s, want, at, j->d->nkeys);
    HD_TRY(store_stream(c, &s, want, by_row, "probe", j->node->path, rows));
    set_parts(c, j, rows, at);
    j->s = stream_over(c, rows, j->node->path);
    j->s.ncols = n;
    return 0;
}
