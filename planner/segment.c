/* Cutting a plan into pipelines: every operator but the breakers extends the stream of its
 * input; breakers end it in a state and open a new pipeline over that state. Joins, aggregates
 * and sorts have files of their own. */
#include <stdlib.h>

#include "planner/join.h"

/* ---- which output columns are needed ------------------------------------------------------------ */

void need_expr(bool *need, const struct fe_expr *e)
{
    if (e->op == FE_COL)
        need[e->col] = true;
    for (int i = 0; i < e->nargs; i++)
        need_expr(need, e->args[i]);
}

static void need_join(struct ctx *c, const struct fe_node *n, bool *l, bool *r)
{
    const bool *need = c->need[n->id];
    int nl = n->inputs[0]->ncols, nr = n->inputs[1]->ncols;
    bool *both = HD_NEWN(c->a, bool, nl + nr);
    bool left_only = n->u.join.kind == FE_SEMI || n->u.join.kind == FE_ANTI || n->u.join.kind == FE_MARK;
    for (int i = 0; i < n->ncols; i++)
        if (need[i] && i < (left_only ? nl : nl + nr))
            both[i] = true;
    if (n->u.join.residual)
        need_expr(both, n->u.join.residual);
    for (int i = 0; i < nl; i++)
        l[i] |= both[i];
    for (int i = 0; i < nr; i++)
        r[i] |= both[nl + i];
    for (int i = 0; i < n->u.join.nkeys; i++) {
        need_expr(l, n->u.join.lkeys[i]);
        need_expr(r, n->u.join.rkeys[i]);
    }
}

static void need_below(struct ctx *c, const struct fe_node *n)
{
    bool *need = c->need[n->id];
    bool *in = n->ninputs ? c->need[n->inputs[0]->id] : NULL;
    switch (n->op) {
    case FE_FILTER_OP:
        for (int i = 0; i < n->ncols; i++)
            in[i] |= need[i];
        need_expr(in, n->u.filter.pred);
        break;
    case FE_PROJECT_OP:
        for (int i = 0; i < n->ncols; i++)
            if (need[i])
                need_expr(in, n->u.project.exprs[i]);
        break;
    case FE_JOIN_OP: need_join(c, n, in, c->need[n->inputs[1]->id]); break;
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP:
        for (int i = 0; i < n->u.agg.nkeys; i++)
            need_expr(in, n->u.agg.keys[i]);
        for (int i = 0; i < n->u.agg.naggs; i++)
            if (n->u.agg.aggs[i].arg && need[n->u.agg.nkeys + i])
                need_expr(in, n->u.agg.aggs[i].arg);
        break;
    case FE_SORT_OP:
    case FE_LIMIT_OP: /* ties are broken by all columns: all are kept, so all are needed */
        for (int i = 0; i < n->ncols; i++)
            in[i] = need[i] = true;
        for (int i = 0; i < n->u.sort.nkeys; i++)
            need_expr(in, n->u.sort.keys[i].expr);
        break;
    case FE_UNION_ALL_OP:
        for (int k = 0; k < n->ninputs; k++)
            for (int i = 0; i < n->ncols; i++)
                c->need[n->inputs[k]->id][i] |= need[i];
        break;
    case FE_REF_OP: {
        bool *sub = c->need[c->plan->shared[n->u.ref.shared]->id];
        for (int i = 0; i < n->ncols; i++)
            sub[i] |= need[i];
        c->shared[n->u.ref.shared].uses++;
        break;
    }
    case FE_SCAN_OP:
    case FE_VALUES_OP:
    case FE_RELOP_COUNT: break;
    }
    for (int i = 0; i < n->ninputs; i++)
        need_below(c, n->inputs[i]);
}

static void need_alloc(struct ctx *c, const struct fe_node *n)
{
    c->need[n->id] = HD_NEWN(c->a, bool, n->ncols + 1);
    for (int i = 0; i < n->ninputs; i++)
        need_alloc(c, n->inputs[i]);
}

void need_columns(struct ctx *c, const struct fe_node *root)
{
    c->need = HD_NEWN(c->a, bool *, c->plan->nnodes + 1);
    c->est = HD_NEWN(c->a, struct est_node, c->plan->nnodes + 1);
    need_alloc(c, root);
    for (int i = 0; i < c->plan->nshared; i++)
        need_alloc(c, c->plan->shared[i]);
    for (int i = 0; i < root->ncols; i++)
        c->need[root->id][i] = true;
    need_below(c, root);
    /* shared plans refer backwards only: the last one's needs are complete first */
    for (int i = c->plan->nshared - 1; i >= 0; i--)
        need_below(c, c->plan->shared[i]);
}

/* ---- scan --------------------------------------------------------------------------------------- */

void scan_columns(struct ctx *c, const struct fe_node *n, struct handle *row, struct stream *s)
{
    const struct fe_table *t = n->u.scan.table;
    struct handle **all = HD_NEWN(c->a, struct handle *, t->ncols);
    for (int i = 0; i < t->ncols; i++)
        all[i] = h_column(c, t, i, row);
    s->ncols = n->ncols;
    s->cols = HD_NEWN(c->a, struct handle *, n->ncols);
    for (int i = 0; i < n->ncols; i++)
        s->cols[i] = all[n->u.scan.columns[i]];
    row->env = all; /* the filter sees every column of the table */
}

int scan_filter(struct ctx *c, const struct fe_node *n, struct handle *row, struct stream *s)
{
    return n->u.scan.filter ? lx_filter(c, s, row->env, n->u.scan.filter) : 0;
}

static int seg_scan(struct ctx *c, const struct fe_node *n, struct stream *s)
{
    const struct fe_table *t = n->u.scan.table;
    struct pipe *p = pb_pipe(c, RT_SOURCE_TABLE, n->path);
    p->spec.table = t;
    p->est = (double)t->rows;
    *s = (struct stream){.pipe = c->pipes.n - 1, .est = p->est, .max_rows = p->est};
    struct handle *row = h_row(c, p->source_slot, t, -1, false);
    scan_columns(c, n, row, s);
    s->unique_row = row;
    return scan_filter(c, n, row, s);
}

/* ---- materialisation ------------------------------------------------------------------------------ */

/* Positions of columns that identify a row of the stream, kept across the state. */
static void stored_unique(struct ctx *c, const struct stream *s, struct stored *st)
{
    st->unique = HD_NEWN(c->a, int, s->ncols + 1);
    if (s->nunique) {
        for (int k = 0; k < s->nunique; k++)
            for (int i = 0; i < s->ncols; i++)
                if (s->cols[i] == s->unique[k] && (!st->want || st->want[i])) {
                    st->unique[st->nunique++] = i;
                    break;
                }
        if (st->nunique != s->nunique)
            st->nunique = 0;
        return;
    }
    for (int i = 0; i < s->ncols && s->unique_row && !st->nunique; i++)
        if ((!st->want || st->want[i]) && !s->cols[i]->nullable && h_determined(c, s->unique_row, &s->cols[i], 1))
            st->unique[st->nunique++] = i;
}

int store_stream(struct ctx *c, struct stream *s, const bool *want, const char *name, const char *path,
                 struct stored *out)
{
    struct pipe *p = pipe_of(c, s);
    struct handle **cols = HD_NEWN(c->a, struct handle *, s->ncols + 1);
    int n = 0;
    for (int i = 0; i < s->ncols; i++)
        if (!want || want[i])
            cols[n++] = s->cols[i];
    *out = (struct stored){.ncols = s->ncols, .want = want, .cols = s->cols, .est = s->est, .max_rows = s->max_rows};
    out->state = pb_state(c, RT_STATE_ROWS, name, path);
    p->sink.kind = PL_SINK_ROWS;
    p->sink.state = out->state;
    keep_columns(c, cols, n, false, &out->kept);
    HD_TRY(keep_store(c, p, &out->kept, out->state, RT_MERGE_KEY, FE_AGG_ANY, &p->sink));
    pb_state_layout(c, out->state);
    c->states.v[out->state].est_rows = s->est;
    c->state_rows.v[out->state] = s->max_rows;
    stored_unique(c, s, out);
    out->ordered = p->spec.ordered = s->ordered;
    pb_end(c, p, true);
    return 0;
}

struct stream stream_over(struct ctx *c, const struct stored *st, const char *path)
{
    struct pipe *p = pb_pipe(c, RT_SOURCE_ROWS, path);
    p->spec.state = st->state;
    p->est = st->est;
    struct stream s = {.pipe = c->pipes.n - 1, .est = st->est, .max_rows = st->max_rows, .ncols = st->ncols};
    struct handle *row = h_row(c, p->source_slot, NULL, st->state, false);
    struct handle **kept = HD_NEWN(c->a, struct handle *, st->kept.ncols + 1);
    keep_load(c, &st->kept, st->state, row, false, kept);
    s.cols = HD_NEWN(c->a, struct handle *, st->ncols + 1);
    for (int i = 0, k = 0; i < st->ncols; i++) {
        if (!st->want || st->want[i])
            s.cols[i] = kept[k++];
        else /* nobody asks for it: a NULL of its type stands in */
            s.cols[i] = h_phys(c, lx_const(c, &(struct fe_value){.type = st->cols[i]->type, .is_null = true}));
    }
    s.unique_row = row;
    s.ordered = st->ordered;
    if (st->nunique) {
        s.nunique = st->nunique;
        s.unique = HD_NEWN(c->a, struct handle *, st->nunique);
        for (int i = 0; i < st->nunique; i++)
            s.unique[i] = s.cols[st->unique[i]];
    }
    return s;
}

/* ---- simple operators ------------------------------------------------------------------------------ */

static int seg_project(struct ctx *c, const struct fe_node *n, struct stream *s)
{
    HD_TRY(seg_node(c, n->inputs[0], s));
    struct handle **cols = HD_NEWN(c->a, struct handle *, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++) {
        const struct fe_expr *e = n->u.project.exprs[i];
        if (e->op == FE_COL) {
            cols[i] = s->cols[e->col];
            continue;
        }
        cols[i] = h_new(c, H_EXPR, e->type, e->nullable);
        cols[i]->expr = e;
        cols[i]->env = s->cols;
    }
    s->cols = cols;
    s->ncols = n->ncols;
    return 0;
}

static int seg_ref(struct ctx *c, const struct fe_node *n, struct stream *s)
{
    int k = n->u.ref.shared;
    struct shared_state *sh = &c->shared[k];
    const struct fe_node *sub = c->plan->shared[k];
    if (sh->uses == 1)
        return seg_node(c, sub, s);
    if (!sh->stored) {
        struct stream in;
        HD_TRY(seg_node(c, sub, &in));
        struct stored *st = HD_NEW(c->a, struct stored);
        HD_TRY(store_stream(c, &in, c->need[sub->id], c->plan->shared_names[k], n->path, st));
        sh->stored = st;
        pb_note(c, "%s: shared subplan \"%s\" is computed once for %d uses", n->path, c->plan->shared_names[k],
                sh->uses);
    }
    *s = stream_over(c, sh->stored, n->path);
    return 0;
}

/* One ROWS state with fields of the union's types, into which every input's pipeline appends. */
static int union_state(struct ctx *c, const struct fe_node *n, const bool *want)
{
    int st = pb_state(c, RT_STATE_ROWS, "union", n->path);
    for (int i = 0; i < n->ncols; i++)
        if (want[i]) {
            struct pl_val v = {
                .phys = lx_full_phys(n->cols[i].type), .type = n->cols[i].type, .nullable = n->cols[i].nullable};
            pb_field(c, st, n->cols[i].name, &v, RT_MERGE_KEY);
        }
    pb_state_layout(c, st);
    return st;
}

/* Appends stream s, its columns cast to the fields' types, to a ROWS state made for n. */
static int append_rows(struct ctx *c, const struct fe_node *n, const bool *want, struct stream *s, int st)
{
    struct pipe *p = pipe_of(c, s);
    p->sink.kind = PL_SINK_ROWS;
    p->sink.state = st;
    for (int i = 0, f = 0; i < n->ncols; i++) {
        struct pl_val v;
        if (!want[i])
            continue;
        HD_TRY(h_value(c, p, s->cols[i], &v));
        HD_TRY(lx_cast(c, &v, n->cols[i].type, n->path));
        enum rt_phys phys = c->states.v[st].fields[f].phys;
        HD_TRY(phys == RT_STR ? lx_as_text(c, &v) : lx_as_phys(c, &v, phys));
        sink_add(c, &p->sink, (struct pl_out){.field = f, .expr = v.expr, .fn = FE_AGG_ANY});
        f++;
    }
    pb_end(c, p, false);
    c->states.v[st].est_rows = HD_MAX(0, c->states.v[st].est_rows) + s->est;
    return 0;
}

static struct stream stream_fields(struct ctx *c, const struct fe_node *n, const bool *want, int st, double max_rows)
{
    struct pipe *p = pb_pipe(c, RT_SOURCE_ROWS, n->path);
    p->spec.state = st;
    p->est = c->states.v[st].est_rows;
    struct stream s = {.pipe = c->pipes.n - 1, .est = p->est, .max_rows = max_rows, .ncols = n->ncols};
    struct handle *row = h_row(c, p->source_slot, NULL, st, false);
    s.cols = HD_NEWN(c->a, struct handle *, n->ncols + 1);
    for (int i = 0, f = 0; i < n->ncols; i++)
        s.cols[i] = want[i] ? h_field(c, st, f++, row)
                            : h_phys(c, lx_const(c, &(struct fe_value){.type = n->cols[i].type, .is_null = true}));
    s.unique_row = row;
    return s;
}

int seg_appended(struct ctx *c, const struct fe_node *n, struct stream *parts, int nparts, struct stream *out)
{
    const bool *want = c->need[n->id];
    int st = union_state(c, n, want);
    double max = 0;
    for (int i = 0; i < nparts; i++) {
        max += parts[i].max_rows;
        HD_TRY(append_rows(c, n, want, &parts[i], st));
    }
    pb_finish(c, st);
    c->state_rows.v[st] = max;
    *out = stream_fields(c, n, want, st, max);
    return 0;
}

static int seg_union(struct ctx *c, const struct fe_node *n, struct stream *s)
{
    struct stream *parts = HD_NEWN(c->a, struct stream, n->ninputs);
    for (int i = 0; i < n->ninputs; i++)
        HD_TRY(seg_node(c, n->inputs[i], &parts[i]));
    return seg_appended(c, n, parts, n->ninputs, s);
}

static void put_value(unsigned char *row, const struct rt_field *f, const struct fe_value *v)
{
    unsigned char *at = row + f->offset;
    if (f->valid_offset >= 0)
        row[f->valid_offset] = !v->is_null;
    if (v->is_null)
        return;
    switch (f->phys) {
    case RT_BOOL: *at = v->i != 0; break;
    case RT_I32: *(int32_t *)at = (int32_t)v->i; break;
    case RT_I64: *(int64_t *)at = (int64_t)v->i; break;
    case RT_I128: memcpy(at, &v->i, 16); break;
    case RT_F64: *(double *)at = v->f; break;
    case RT_STR: {
        uint64_t n = v->n;
        memcpy(at, &v->s, 8);
        memcpy(at + 8, &n, 8);
        break;
    }
    }
}

enum { VALUES_LOOKED_AT = 65536 };

static int compare_values(const void *x, const void *y, void *type)
{
    const struct fe_value *a = x, *b = y;
    if (((const struct hd_type *)type)->kind != HD_STRING)
        return (a->i > b->i) - (a->i < b->i);
    int r = memcmp(a->s, b->s, HD_MIN(a->n, b->n));
    return r ? r : (a->n > b->n) - (a->n < b->n);
}

/* No two rows have one value in the column, and none has NULL. */
static bool is_unique_column(struct ctx *c, const struct fe_node *n, int col)
{
    int rows = (int)n->u.values.nrows;
    struct hd_type type = n->cols[col].type;
    struct fe_value *v = HD_NEWN(c->a, struct fe_value, rows + 1);
    for (int i = 0; i < rows; i++) {
        v[i] = n->u.values.rows[(int64_t)i * n->ncols + col];
        if (v[i].is_null)
            return false;
    }
    qsort_r(v, (size_t)rows, sizeof *v, compare_values, &type);
    for (int i = 1; i < rows; i++)
        if (compare_values(&v[i - 1], &v[i], &type) == 0)
            return false;
    return true;
}

/* The first column whose values identify a row: a key that a table would have facts of. */
static void set_unique_value(struct ctx *c, const struct fe_node *n, struct stream *s)
{
    for (int i = 0; i < n->ncols && (i + 1) * n->u.values.nrows <= VALUES_LOOKED_AT; i++)
        if (n->cols[i].type.kind != HD_FLOAT64 && is_unique_column(c, n, i)) {
            s->unique = HD_NEW(c->a, struct handle *);
            s->unique[0] = s->cols[i];
            s->nunique = 1;
            return;
        }
}

static int seg_values(struct ctx *c, const struct fe_node *n, struct stream *s)
{
    bool *all = HD_NEWN(c->a, bool, n->ncols + 1);
    memset(all, 1, (size_t)n->ncols);
    int st = union_state(c, n, all);
    struct rt_state *r = &c->states.v[st];
    int64_t rows = n->u.values.nrows;
    unsigned char *data = hd_zalloc(c->a, (size_t)r->stride * (size_t)HD_MAX(rows, 1));
    for (int64_t i = 0; i < rows; i++)
        for (int k = 0; k < n->ncols; k++)
            put_value(data + i * r->stride, &r->fields[k], &n->u.values.rows[i * n->ncols + k]);
    r->nvalues = rows;
    r->values = data;
    r->est_rows = (double)rows;
    c->state_rows.v[st] = (double)rows;
    pb_finish(c, st);
    *s = stream_fields(c, n, all, st, (double)rows);
    set_unique_value(c, n, s);
    return 0;
}

int seg_node(struct ctx *c, const struct fe_node *n, struct stream *out)
{
    switch (n->op) {
    case FE_SCAN_OP: return seg_scan(c, n, out);
    case FE_REF_OP: return seg_ref(c, n, out);
    case FE_FILTER_OP: HD_TRY(seg_node(c, n->inputs[0], out)); return lx_filter(c, out, out->cols, n->u.filter.pred);
    case FE_PROJECT_OP: return seg_project(c, n, out);
    case FE_JOIN_OP: return seg_join(c, n, out);
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP: return seg_aggregate(c, n, out);
    case FE_SORT_OP:
    case FE_LIMIT_OP: return seg_sort(c, n, out);
    case FE_UNION_ALL_OP: return seg_union(c, n, out);
    case FE_VALUES_OP: return seg_values(c, n, out);
    case FE_RELOP_COUNT: break;
    }
    HD_BUG("operator %d", (int)n->op);
}
