/* Tests single rows of tables, as they are stored: comparisons with constants and of columns, in, like, is null, and what
 * and, or, not make of them. Answers steer estimates alone; what a query filters is tested by generated code. */
#include "planner/row_test.h"

#include <string.h>

enum truth { IS_FALSE, IS_TRUE, IS_NULL };

/* ---- values ----------------------------------------------------------------------------------------------------------- */

static hd_i128 stored_int(const struct fe_column_data *at, int width, int64_t row)
{
    switch (width) {
    case 1: return ((const int8_t *)at->data)[row];
    case 2: return ((const int16_t *)at->data)[row];
    case 4: return ((const int32_t *)at->data)[row];
    case 8: return ((const int64_t *)at->data)[row];
    default: break;
    }
    hd_i128 wide;
    memcpy(&wide, (const char *)at->data + row * (int64_t)sizeof wide, sizeof wide);
    return wide;
}

static uint32_t stored_code(const struct fe_column_data *at, int width, int64_t row)
{
    return width == 1   ? ((const uint8_t *)at->data)[row]
           : width == 2 ? ((const uint16_t *)at->data)[row]
                        : ((const uint32_t *)at->data)[row];
}

static void set_text(const struct fe_column_data *at, int64_t row, struct fe_value *v)
{
    const uint32_t *ends = at->data;
    const int64_t in_block = row & ((1 << FE_TEXT_BLOCK_SHIFT) - 1);
    const uint32_t start = in_block ? ends[row - 1] : 0;
    v->s = at->text_bytes + at->text_base[row >> FE_TEXT_BLOCK_SHIFT] + start;
    v->n = ends[row] - start;
}

struct fe_value pl_row_value(const struct fe_table *t, int column, int64_t row)
{
    const struct fe_table_column *c = &t->cols[column];
    struct fe_value v = {.type = c->type};
    if (c->at.validity && !(c->at.validity[row >> 3] >> (row & 7) & 1)) {
        v.is_null = true;
        return v;
    }
    switch (c->storage) {
    case FE_STORE_INT: v.i = c->base + c->factor * stored_int(&c->at, c->width, row); break;
    case FE_STORE_F64: v.f = ((const double *)c->at.data)[row]; break;
    case FE_STORE_F32: v.f = (double)((const float *)c->at.data)[row]; break;
    case FE_STORE_TEXT: set_text(&c->at, row, &v); break;
    case FE_STORE_DICT: {
        const uint32_t code = stored_code(&c->at, c->width, row);
        v.s = c->dict.bytes + c->dict.offsets[code];
        v.n = c->dict.offsets[code + 1] - c->dict.offsets[code];
        break;
    }
    }
    return v;
}

/* Casts that keep the number as it is stored. */
static bool keeps_number(const struct fe_expr *e)
{
    const struct hd_type from = e->args[0]->type, to = e->type;
    bool whole_from = from.kind == HD_INT32 || from.kind == HD_INT64 || (from.kind == HD_DECIMAL && from.scale == 0);
    bool whole_to = to.kind == HD_INT32 || to.kind == HD_INT64 || (to.kind == HD_DECIMAL && to.scale == 0);
    return (whole_from && whole_to) || hd_type_eq(from, to) ||
           (from.kind == HD_DECIMAL && to.kind == HD_DECIMAL && from.scale == to.scale);
}

static bool is_value(const struct fe_plan *plan, const struct fe_expr *e)
{
    if (e->op == FE_CAST)
        return keeps_number(e) && is_value(plan, e->args[0]);
    return e->op == FE_COL || e->op == FE_LIT || (e->op == FE_PARAM && !plan->params[e->param].is_list);
}

static struct fe_value value_of(const struct fe_plan *plan, const struct fe_table *t, int64_t row,
                                const struct fe_expr *e)
{
    if (e->op == FE_CAST)
        return value_of(plan, t, row, e->args[0]);
    if (e->op == FE_COL)
        return pl_row_value(t, e->col, row);
    return e->op == FE_LIT ? e->value : plan->params[e->param].value;
}

static bool comparable(const struct fe_plan *plan, const struct fe_expr *x, const struct fe_expr *y)
{
    bool same = x->type.kind == y->type.kind && x->type.scale == y->type.scale && x->type.kind != HD_INTERVAL;
    return same && is_value(plan, x) && is_value(plan, y);
}

static int compare(const struct fe_value *x, const struct fe_value *y)
{
    if (hd_type_is_text(x->type)) {
        int order = memcmp(x->s, y->s, HD_MIN(x->n, y->n));
        return order ? order : (x->n > y->n) - (x->n < y->n);
    }
    return hd_type_is_float(x->type) ? (x->f > y->f) - (x->f < y->f) : (x->i > y->i) - (x->i < y->i);
}

/* ---- conditions ------------------------------------------------------------------------------------------------------- */

static bool holds(enum fe_op op, int order)
{
    return op == FE_EQ   ? order == 0
           : op == FE_NE ? order != 0
           : op == FE_LT ? order < 0
           : op == FE_LE ? order <= 0
           : op == FE_GT ? order > 0
                         : order >= 0;
}

static bool is_comparison(enum fe_op op)
{
    return op == FE_EQ || op == FE_NE || op == FE_LT || op == FE_LE || op == FE_GT || op == FE_GE;
}

/* Bytes of s from the pattern's; `%` is any of them, `_` one. The last `%` takes one more where the rest does not match. */
static bool is_like(const struct fe_value *s, const struct fe_value *p)
{
    size_t i = 0, k = 0, star = SIZE_MAX, from = 0;
    while (i < s->n) {
        if (k < p->n && p->s[k] == '%') {
            star = k++;
            from = i;
        } else if (k < p->n && (p->s[k] == '_' || p->s[k] == s->s[i])) {
            i++;
            k++;
        } else if (star != SIZE_MAX) {
            k = star + 1;
            i = ++from;
        } else {
            return false;
        }
    }
    while (k < p->n && p->s[k] == '%')
        k++;
    return k == p->n;
}

static bool members_known(const struct fe_plan *plan, const struct fe_expr *e)
{
    for (int i = 1; i < e->nargs; i++)
        if (!comparable(plan, e->args[0], e->args[i]))
            return false;
    return true;
}

bool pl_row_testable(const struct fe_plan *plan, const struct fe_expr *e)
{
    if (e->op == FE_AND || e->op == FE_OR || e->op == FE_NOT) {
        for (int i = 0; i < e->nargs; i++)
            if (!pl_row_testable(plan, e->args[i]))
                return false;
        return true;
    }
    if (is_comparison(e->op))
        return comparable(plan, e->args[0], e->args[1]);
    if (e->op == FE_IN)
        return members_known(plan, e);
    if (e->op == FE_LIKE)
        return e->nargs == 2 && is_value(plan, e->args[0]) && e->args[1]->op != FE_COL && is_value(plan, e->args[1]);
    return e->op == FE_IS_NULL && is_value(plan, e->args[0]);
}

static enum truth of(bool is)
{
    return is ? IS_TRUE : IS_FALSE;
}

static enum truth test(const struct fe_plan *plan, const struct fe_table *t, int64_t row, const struct fe_expr *e)
{
    if (e->op == FE_NOT) {
        enum truth x = test(plan, t, row, e->args[0]);
        return x == IS_NULL ? IS_NULL : of(x == IS_FALSE);
    }
    if (e->op == FE_AND || e->op == FE_OR) {
        enum truth ends = of(e->op == FE_OR), all = of(e->op == FE_AND);
        for (int i = 0; i < e->nargs; i++) {
            enum truth x = test(plan, t, row, e->args[i]);
            if (x == ends)
                return x;
            all = x == IS_NULL ? x : all;
        }
        return all;
    }
    struct fe_value x = value_of(plan, t, row, e->args[0]);
    if (e->op == FE_IS_NULL)
        return of(x.is_null);
    enum truth found = IS_FALSE;
    for (int i = 1; i < e->nargs && found != IS_TRUE; i++) {
        struct fe_value y = value_of(plan, t, row, e->args[i]);
        if (x.is_null || y.is_null)
            found = IS_NULL;
        else if (e->op == FE_LIKE ? is_like(&x, &y) : holds(e->op == FE_IN ? FE_EQ : e->op, compare(&x, &y)))
            found = IS_TRUE;
    }
    return found;
}

bool pl_row_passes(const struct fe_plan *plan, const struct fe_table *t, int64_t row, const struct fe_expr *e)
{
    return test(plan, t, row, e) == IS_TRUE;
}
