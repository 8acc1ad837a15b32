/* Keeping columns of a stream in a state: as values, or as the row ids from which they load
 * later. Row ids win for text and for several columns of one row (late materialisation). */
#include "planner/lower_arith.h"

void sink_add(struct ctx *c, struct pl_sink *sink, struct pl_out out)
{
    hd_grow1(c->a, sink->outs, sink->nouts);
    sink->outs[sink->nouts++] = out;
}

static int value_bytes(const struct handle *h)
{
    const struct fe_table_column *col = h->kind == H_COLUMN ? &h->table->cols[h->column] : NULL;
    if (col && col->storage == FE_STORE_DICT)
        return 4;
    if (h->type.kind == HD_STRING)
        return 16;
    return col ? HD_MAX(4, col->width) : 8;
}

/* Whether the columns of this row should be fetched later through its id. */
static bool prefer_row(struct handle *const *cols, int n, const struct handle *row)
{
    int bytes = 0, text = 0;
    for (int i = 0; i < n; i++)
        if (cols[i]->kind == H_COLUMN && cols[i]->row == row) {
            int b = value_bytes(cols[i]);
            bytes += b;
            text += b == 16;
        }
    return text > 0 || bytes > 16;
}

static int add_stored(struct kept *k, struct handle *h)
{
    for (int i = 0; i < k->n; i++)
        if (k->what[i] == h)
            return i;
    k->what[k->n] = h;
    return k->n++;
}

void keep_columns(struct ctx *c, struct handle *const *cols, int ncols, bool values_only, struct kept *k)
{
    *k = (struct kept){.ncols = ncols};
    k->what = HD_NEWN(c->a, struct handle *, ncols + 1);
    k->cols = HD_NEWN(c->a, struct handle *, ncols + 1);
    k->via = HD_NEWN(c->a, int, ncols + 1);
    k->by_row = HD_NEWN(c->a, bool, ncols + 1);
    for (int i = 0; i < ncols; i++)
        k->cols[i] = h_plain(cols[i]);
    for (int i = 0; i < ncols; i++) {
        struct handle *h = k->cols[i];
        k->by_row[i] = !values_only && h->kind == H_COLUMN && prefer_row(k->cols, ncols, h->row);
        k->via[i] = add_stored(k, k->by_row[i] ? h->row : h);
    }
}

static const char *stored_name(struct ctx *c, const struct handle *h)
{
    if (h->is_row)
        return hd_asprintf(c->a, "%s row", h->table ? h->table->name : "state");
    if (h->kind == H_COLUMN)
        return h->table->cols[h->column].name;
    if (h->kind == H_FIELD)
        return c->states.v[h->state].fields[h->field].name;
    return "x";
}

int keep_store(struct ctx *c, struct pipe *p, struct kept *k, int state, enum rt_merge m, enum fe_agg_fn fn,
               struct pl_sink *sink)
{
    k->first = c->states.v[state].nfields;
    for (int i = 0; i < k->n; i++) {
        struct pl_val v;
        HD_TRY(h_value(c, p, k->what[i], &v));
        lx_realise(c, &v);
        int f = pb_field(c, state, stored_name(c, k->what[i]), &v, m);
        sink_add(c, sink, (struct pl_out){.field = f, .expr = v.expr, .fn = fn});
        k->what[i]->val.range = v.range;
    }
    return 0;
}

void keep_load(struct ctx *c, const struct kept *k, int state, struct handle *row, bool nullable_row,
               struct handle **out)
{
    struct handle **rid = HD_NEWN(c->a, struct handle *, k->n + 1);
    for (int i = 0; i < k->ncols; i++) {
        struct handle *from = k->cols[i], *what = k->what[k->via[i]];
        struct handle *f = h_field(c, state, k->first + k->via[i], row);
        f->nullable |= nullable_row;
        if (!k->by_row[i]) {
            f->val.range = what->val.range;
            out[i] = f;
            continue;
        }
        if (!rid[k->via[i]]) { /* one row handle per stored row id, so that it loads once */
            f->is_row = true;
            f->nullable = false;
            f->table = what->table;
            f->row_nullable = what->row_nullable || nullable_row;
            rid[k->via[i]] = f;
        }
        out[i] = h_column(c, from->table, from->column, rid[k->via[i]]);
    }
}
