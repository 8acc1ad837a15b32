/* Where rows come from: tables, rows of the plan, and several streams that end in one state. */
#include "planner/lower_rows.h"

#include "planner/build.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/lower_arith.h"
#include "planner/lower_expr.h"
#include "planner/lower_fold.h"
#include "planner/lower_value.h"
#include "planner/need.h"
#include "planner/physical.h"
#include "planner/schedule.h"

/* ---- scan --------------------------------------------------------------------------------------- */

void scan_columns(struct ctx *c, const struct fe_node *n, struct handle *row, struct stream *s)
{
    const struct fe_table *t = n->u.scan.table;
    struct handle **all = HD_NEWN(c->a, struct handle *, t->ncols), *nobody = NULL;
    bool *used = HD_NEWN(c->a, bool, t->ncols + 1);
    if (n->u.scan.filter)
        need_expr(used, n->u.scan.filter);
    for (int i = 0; i < n->ncols; i++)
        used[n->u.scan.columns[i]] |= c->need[n->id][i];
    for (int i = 0; i < t->ncols; i++) {
        if (!used[i] && !nobody)
            nobody = h_column(c, t, i, row);
        all[i] = used[i] ? h_column(c, t, i, row) : nobody; /* of what nobody asks for, one stands for all */
    }
    s->ncols = n->ncols;
    s->cols = HD_NEWN(c->a, struct handle *, n->ncols);
    for (int i = 0; i < n->ncols; i++)
        s->cols[i] = all[n->u.scan.columns[i]];
    row->env = all; /* the filter sees every column of the table */
}

int scan_filter(struct ctx *c, const struct pl_node *n, struct handle *row, struct stream *s)
{
    return n->u.filter.n ? lx_filter(c, s, row->env, n->u.filter.v, n->u.filter.share, n->u.filter.n) : 0;
}

int lower_scan(struct ctx *c, const struct pl_node *n, struct stream *s)
{
    const struct fe_table *t = node_table(n->n);
    struct open_pipeline *p = pb_pipeline(c, RT_SOURCE_TABLE, n->path);
    int by = n->u.filter.by_parent - 1;
    p->spec.table = by < 0 ? t : t->fks[by].parent;
    p->est = (double)p->spec.table->rows;
    struct handle *row = h_row(c, p->source_slot, p->spec.table, -1, false);
    if (by >= 0)
        row = fold_open(c, p, row, t, by, n->path);
    p->est = (double)t->rows;
    *s = (struct stream){.pipeline = c->pipelines.n - 1, .est = p->est, .max_rows = p->est};
    scan_columns(c, n->n, row, s);
    s->unique_row = row;
    return scan_filter(c, n, row, s);
}

/* ---- rows of several streams, values ------------------------------------------------------------ */

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
    struct open_pipeline *p = pipeline_of(c, s);
    p->sink.kind = PL_SINK_ROWS;
    p->sink.state = st;
    for (int i = 0, f = 0; i < n->ncols; i++) {
        struct pl_val v;
        if (!want[i])
            continue;
        HD_TRY(h_value(c, p, s->cols[i], &v));
        HD_TRY(lx_cast(c, &v, n->cols[i].type, n->path));
        enum rt_phys phys = c->states.v[st].fields[f].phys;
        HD_TRY(phys == RT_STR ? lx_as_string(c, &v) : lx_as_phys(c, &v, phys));
        sink_add(c, &p->sink, (struct pl_out){.field = f, .expr = v.expr, .fn = FE_AGG_ANY});
        f++;
    }
    pb_end(c, p, false);
    c->states.v[st].est_rows = HD_MAX(0, c->states.v[st].est_rows) + s->est;
    return 0;
}

static struct stream stream_fields(struct ctx *c, const struct fe_node *n, const bool *want, int st, double max_rows)
{
    struct open_pipeline *p = pb_pipeline(c, RT_SOURCE_ROWS, n->path);
    p->spec.state = st;
    p->est = c->states.v[st].est_rows;
    struct stream s = {.pipeline = c->pipelines.n - 1, .est = p->est, .max_rows = max_rows, .ncols = n->ncols};
    struct handle *row = h_row(c, p->source_slot, NULL, st, false);
    s.cols = HD_NEWN(c->a, struct handle *, n->ncols + 1);
    for (int i = 0, f = 0; i < n->ncols; i++)
        s.cols[i] = want[i] ? h_field(c, st, f++, row)
                            : h_phys(c, lx_const(c, &(struct fe_value){.type = n->cols[i].type, .is_null = true}));
    s.unique_row = row;
    return s;
}

int lower_appended(struct ctx *c, const struct fe_node *n, struct stream *parts, int nparts, struct stream *out)
{
    const bool *want = c->need[n->id];
    int st = union_state(c, n, want);
    double max = 0;
    hd_vec_push(c->a, &c->appended, st);
    for (int i = 0; i < nparts; i++) {
        max += parts[i].max_rows;
        HD_TRY(append_rows(c, n, want, &parts[i], st));
    }
    pb_finish(c, st);
    c->state_rows.v[st] = max;
    *out = stream_fields(c, n, want, st, max);
    return 0;
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
    case RT_F32: *(float *)at = (float)v->f; break;
    case RT_STR: {
        uint64_t n = v->n;
        memcpy(at, &v->s, 8);
        memcpy(at + 8, &n, 8);
        break;
    }
    }
}

int lower_values(struct ctx *c, const struct pl_node *v, struct stream *s)
{
    const struct fe_node *n = v->n;
    bool *all = HD_NEWN(c->a, bool, n->ncols + 1);
    memset(all, 1, (size_t)n->ncols);
    int st = union_state(c, n, all);
    struct rt_state *r = &c->states.v[st];
    int64_t rows = fe_values_count(n);
    unsigned char *data = hd_zalloc(c->a, (size_t)r->stride * (size_t)HD_MAX(rows, 1));
    for (int64_t i = 0; i < rows; i++)
        for (int k = 0; k < n->ncols; k++)
            put_value(data + i * r->stride, &r->fields[k], &fe_values_rows(n)[i * n->ncols + k]);
    r->nvalues = rows;
    r->values = data;
    r->est_rows = (double)rows;
    c->state_rows.v[st] = (double)rows;
    pb_finish(c, st);
    *s = stream_fields(c, n, all, st, (double)rows);
    if (v->u.values.unique >= 0) {
        s->nunique = 1;
        s->unique = hd_dup(c->a, &s->cols[v->u.values.unique], sizeof *s->unique);
    }
    return 0;
}
