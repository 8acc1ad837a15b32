/* What is known of the rows of a window. */
#include "planner/agg.h"
#include "planner/dict_map.h"
#include "planner/flow_rows.h"
#include "planner/known.h"
#include "planner/lower_expr.h"
#include "planner/lower_window_in.h"

struct handle *lw_absent(struct ctx *c, const struct fe_column *col)
{
    return h_phys(c, lx_const(c, &(struct fe_value){.type = col->type, .is_null = true}));
}

static struct handle *known_number(struct ctx *c, double rows, bool from_one)
{
    struct handle *h = h_phys(c, (struct pl_val){.phys = RT_I64, .type = hd_type_of(HD_INT64)});
    h->val.range = (struct pl_range){true, from_one, (hd_i128)rows};
    return h;
}

static int known_column(struct ctx *c, const struct fe_node *n, const struct stream *in, int i, struct handle *row,
                        struct handle **out)
{
    const struct fe_window_column *w = &n->u.sort.window->columns[i];
    const struct fe_window_value *v = w->value >= 0 ? &n->u.sort.window->values[w->value] : NULL;
    double rows = HD_MIN(in->max_rows, (double)INT32_MAX);
    const struct fe_column *col = &n->cols[in->ncols + i];
    struct pl_val known;
    if (!v || v->fn == FE_AGG_COUNT) {
        *out = known_number(c, rows, !v && w->at.base != FE_WINDOW_FOUND);
        (*out)->nullable = (*out)->val.nullable = col->nullable;
        if ((w->at.by || w->at.more || w->at.base == FE_WINDOW_FOUND) && !v)
            (*out)->val.range.known = false;
        return 0;
    }
    if (fe_window_is_difference(v) || fe_window_is_distinct_sum(v)) {
        *out = h_phys(c, (struct pl_val){.phys = RT_I128, .type = col->type, .nullable = col->nullable});
        return 0;
    }
    if (v->fn == FE_AGG_STRING_AGG) {
        *out = h_phys(c, (struct pl_val){.phys = RT_STR, .type = v->arg->type, .nullable = col->nullable});
        return 0;
    }
    if (fe_window_is_of_others(v)) {
        *out = known_number(c, rows, false);
        if (v->fn == FE_AGG_BIT_XOR)
            (*out)->val.range = range_of_type(v->arg->type);
        else if (!fe_window_is_arg(v))
            *out = h_phys(c, (struct pl_val){.phys = RT_F64, .type = hd_type_of(HD_FLOAT64)});
        (*out)->nullable = (*out)->val.nullable = true;
        return 0;
    }
    if (agg_is_of_bits(v->fn)) {
        *out = h_phys(c, (struct pl_val){.phys = RT_I64, .type = v->arg->type, .nullable = col->nullable});
        (*out)->val.range = range_of_type(v->arg->type);
        return 0;
    }
    struct handle *arg = h_expr(c, v->arg, in->cols);
    HD_TRY(known_value(c, arg, &known));
    if (v->fn == FE_AGG_SUM) {
        const struct agg_item item = {.fn = FE_AGG_SUM, .type = v->arg->type};
        known.type = v->arg->type;
        if (!sum_known(&item, rows, &known)) /* lowering refuses it */
            known.range.known = false;
        known.nullable = col->nullable;
        *out = h_phys(c, known);
        return 0;
    }
    *out = h_kept(c, arg, row);
    (*out)->nullable = (*out)->val.nullable = col->nullable;
    if (hd_type_is_text((*out)->type))
        (*out)->val.range.known = false;
    return 0;
}

int flow_window(struct ctx *c, struct pl_node *n, const struct stream *in, struct stream *out)
{
    const struct fe_node *fe = n->n;
    for (int i = 0; i < fe->u.sort.nkeys; i++)
        map_plan(c, n, in->cols, fe->u.sort.keys[i].expr, in->est);
    *out = flow_begin(c, NULL, in->est);
    out->max_rows = in->max_rows;
    out->unique_row = flow_row(c, NULL);
    out->ncols = fe->ncols;
    out->cols = HD_NEWN(c->a, struct handle *, out->ncols + 1);
    for (int i = 0; i < out->ncols; i++) {
        struct handle **h = &out->cols[i];
        if (!c->need[fe->id][i]) {
            *h = lw_absent(c, &fe->cols[i]);
        } else if (i >= in->ncols) {
            HD_TRY(known_column(c, fe, in, i - in->ncols, out->unique_row, h));
        } else {
            struct pl_val v;
            *h = h_kept(c, h_plain(in->cols[i]), out->unique_row);
            if (!hd_type_is_text((*h)->type))
                continue;
            HD_TRY(known_value(c, *h, &v));
            (*h)->val.range.known = false;
        }
    }
    return 0;
}
