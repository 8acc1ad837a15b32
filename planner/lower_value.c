/* Values in a pipeline: handles load and expressions are lowered where a consumer first asks. Arguments come
 * before operators; what each operator becomes is said by lower_expr.c and lower_arith.c. */
#include "planner/lower_value.h"

#include "planner/build.h"
#include "planner/dict_map.h"
#include "planner/handle.h"
#include "planner/lower_arith.h"
#include "planner/lower_expr.h"
#include "planner/lower_bits.h"
#include "planner/lower_bucket.h"
#include "planner/lower_function.h"
#include "planner/lower_ordinal.h"
#include "planner/lower_try.h"
#include "planner/typed.h"

/* ---- loading ---------------------------------------------------------------------------------- */

static enum rt_phys phys_of(struct hd_type t, struct pl_range r)
{
    switch ((enum hd_type_kind)t.kind) {
    case HD_BOOL: return RT_BOOL;
    case HD_FLOAT32: return RT_F32;
    case HD_FLOAT64: return RT_F64;
    case HD_STRING:
    case HD_BINARY: return RT_STR;
    case HD_INT32:
    case HD_DATE: return RT_I32;
    case HD_TIME:
    case HD_TIMESTAMP: return RT_I64;
    case HD_INTERVAL: return RT_I128;
    case HD_INT64:
    case HD_DECIMAL: return lx_narrowest(r);
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("type %d", t.kind);
}

static int row_slot(struct ctx *c, struct open_pipeline *p, struct handle *row)
{
    struct pl_val v;
    if (row->slot < 0 && h_value(c, p, row, &v) != 0)
        return -1;
    return row->slot;
}

struct pl_val h_column_value(const struct ctx *c, const struct handle *h)
{
    struct pl_val v = {.type = h->type, .range = h_range(c, h), .nullable = h->nullable};
    v.phys = phys_of(h->type, v.range);
    if (h->table->cols[h->column].storage == FE_STORE_DICT) {
        v.phys = RT_I32;
        v.dict_table = h->table;
        v.dict_column = h->column;
    }
    return v;
}

static int load_column(struct ctx *c, struct open_pipeline *p, struct handle *h)
{
    const struct fe_table_column *col = &h->table->cols[h->column];
    int row = row_slot(c, p, h->row);
    if (row < 0)
        return -1;
    struct pl_val v = h_column_value(c, h);
    int slot = pb_slot(c, p, col->name, v.phys, v.nullable);
    struct pl_step *s = pb_step(c, p, PL_STEP_LOAD_COLUMN, "");
    s->slot = slot;
    s->row_slot = row;
    s->row_nullable = h->row->row_nullable;
    s->table = h->table;
    s->column = h->column;
    s->a_data = pb_arg_column(c, RT_ARG_COL_DATA, h->table, h->column);
    if (col->at.validity)
        s->a_valid = pb_arg_column(c, RT_ARG_COL_VALID, h->table, h->column);
    if (col->storage == FE_STORE_INT && (col->base != 0 || col->factor != 1)) {
        struct rt_arg a = {
            .kind = RT_ARG_COL_BASE, .phys = v.phys, .table = h->table, .column = h->column, .state = -1};
        s->a_base = pb_arg(c, a);
        a.kind = RT_ARG_COL_FACTOR;
        s->a_factor = pb_arg(c, a);
    }
    if (col->storage == FE_STORE_TEXT) {
        s->a_text_base = pb_arg_column(c, RT_ARG_COL_TEXT_BASE, h->table, h->column);
        s->a_text_bytes = pb_arg_column(c, RT_ARG_COL_TEXT_BYTES, h->table, h->column);
    }
    v.expr = pb_slot_expr(c, p, slot);
    h->slot = slot;
    h->val = v;
    return 0;
}

static int load_field(struct ctx *c, struct open_pipeline *p, struct handle *h)
{
    const struct rt_state *st = &c->states.v[h->state];
    const struct rt_field *f = &st->fields[h->field];
    int row = row_slot(c, p, h->row);
    if (row < 0)
        return -1;
    struct pl_val v = {.phys = f->phys,
                       .type = h->type,
                       .range = h_range(c, h),
                       .nullable = h->nullable,
                       .dict_table = f->dict_table,
                       .dict_column = f->dict_column};
    int slot = pb_slot(c, p, f->name, v.phys, v.nullable);
    struct pl_step *s = pb_step(c, p, PL_STEP_LOAD_FIELD, "");
    s->slot = slot;
    s->row_slot = row;
    s->row_nullable = h->row->row_nullable;
    s->state = h->state;
    s->field = h->field;
    if (st->kind == RT_STATE_DIRECT) {
        s->a_data = pb_arg_state(c, RT_ARG_STATE_FIELD, h->state, h->field);
        if (f->valid_offset >= 0)
            s->a_valid = pb_arg_state(c, RT_ARG_STATE_FIELD_VALID, h->state, h->field);
    } else {
        s->a_rows = pb_arg_state(c, RT_ARG_STATE_ROWS, h->state, 0);
    }
    v.expr = pb_slot_expr(c, p, slot);
    h->slot = slot;
    h->val = v;
    return 0;
}

/* The PROBE_KEY step that finds a row of a table by a unique key. The caller sets probe and slot. */
int h_probe_key(struct ctx *c, struct open_pipeline *p, const struct fe_table *t, int index, struct pl_val key,
                const char *path)
{
    HD_TRY(lx_as_phys(c, &key, RT_I64));
    int a_min = pb_arg_table(c, RT_ARG_KEYIDX_MIN, t, index);
    int a_range = pb_arg_table(c, RT_ARG_KEYIDX_RANGE, t, index);
    struct pl_step *s = pb_step(c, p, PL_STEP_PROBE_KEY, path);
    s->table = t;
    s->index = index;
    s->column = t->keyidx[index].column;
    s->expr = key.expr;
    s->a_min = a_min;
    s->a_range = a_range;
    if (t->keyidx[index].kind == FE_INDEX_BITMAP)
        s->a_bits = pb_arg_table(c, RT_ARG_KEYIDX_WORDS, t, index);
    if (t->keyidx[index].kind == FE_INDEX_ARRAY)
        s->a_rows = pb_arg_table(c, RT_ARG_KEYIDX_ROWS, t, index);
    return 0;
}

static int load_lookup(struct ctx *c, struct open_pipeline *p, struct handle *h)
{
    struct pl_val key;
    HD_TRY(h_value(c, p, h->det[0], &key));
    int slot = pb_slot(c, p, hd_asprintf(c->a, "%s row", h->table->name), RT_I32, false);
    HD_TRY(h_probe_key(c, p, h->table, h->keyidx, key, ""));
    p->steps.v[p->steps.n - 1].slot = slot;
    p->steps.v[p->steps.n - 1].sure = true;
    h->slot = slot;
    return 0;
}

/* Computed columns become a slot, so that several consumers share the work. */
static int load_computed(struct ctx *c, struct open_pipeline *p, struct handle *h)
{
    struct pl_val v = h->val;
    if (h->kind == H_EXPR)
        HD_TRY(lx_expr(c, p, h->env, h->expr, &v));
    h->val = v;
    if (v.is_const) /* stays a constant: every use makes its own node */
        return 0;
    if (c->exprs.v[v.expr].op == FE_COL) {
        h->slot = c->exprs.v[v.expr].slot;
        return 0;
    }
    h->slot = pb_let(c, p, "x", v);
    h->val.expr = pb_slot_expr(c, p, h->slot);
    return 0;
}

int h_value(struct ctx *c, struct open_pipeline *p, struct handle *h, struct pl_val *out)
{
    if (h->slot < 0) {
        if (p->fold.parent)
            hd_vec_push(c->a, &p->fold.loaded, (struct pl_folded){h, h->val});
        if (h->kind == H_COLUMN)
            HD_TRY(load_column(c, p, h));
        else if (h->kind == H_FIELD)
            HD_TRY(load_field(c, p, h));
        else if (h->kind == H_LOOKUP)
            HD_TRY(load_lookup(c, p, h));
        else
            HD_TRY(load_computed(c, p, h));
    }
    if (h->is_row) { /* row handles carry no value description of their own */
        *out = (struct pl_val){.phys = RT_I32,
                               .type = hd_type_of(HD_INT32),
                               .expr = pb_slot_expr(c, p, h->slot),
                               .range = {true, h->row_nullable ? -1 : 0, INT32_MAX}};
        return 0;
    }
    *out = h->val;
    return 0;
}

/* ---- expressions -------------------------------------------------------------------------------- */

/* One of the arguments is the constant NULL, and so is the result. */
static bool is_null(const struct fe_expr *e, const struct pl_val *v)
{
    bool null = false;
    enum fe_null_rule rule = fe_op_form(e->op)->nulls;
    bool strict = rule == FE_NULLS_STRICT || rule == FE_NULLS_PARTIAL;
    for (int i = 0; i < e->nargs && strict; i++)
        null |= v[i].is_const && v[i].cval.is_null;
    return null;
}

#define lx_none NULL
static lx_rule *const rules[] = {
#define T_OP(id, text, lo, hi, syntax, typing, nulls, fails, cost, entries, form, lowering, ...) lx_##lowering,
#include "frontend/ops.def"
};
#undef lx_none

static int apply(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    struct fe_value null = {.type = e->type, .is_null = true};
    HD_ASSERT(rules[e->op]);
    if (!is_null(e, v))
        return rules[e->op](c, e, v, out);
    *out = lx_const(c, &null);
    return 0;
}

static int lower_args(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct fe_expr *e,
                      struct pl_val *v)
{
    int n = e->op == FE_IN ? 1 : e->nargs; /* a list's items are constants, and looked at as they are */
    for (int i = 0; i < n; i++)
        HD_TRY(lx_expr(c, p, env, e->args[i], &v[i]));
    return 0;
}

/* The value of a mapped expression in pipeline p; the map is made where there is none yet. */
static int mapped(struct ctx *c, struct open_pipeline *p, const struct fe_expr *e, struct handle *column,
                  const struct fe_table *t, int number, struct pl_val *out)
{
    struct pl_val v;
    if (!map_find(c, t, number, e)) {
        struct open_pipeline *over;
        struct handle **env;
        HD_TRY(map_begin(c, t, number, e, &over, &env));
        HD_TRY(lx_expr(c, over, env, e, &v));
        HD_TRY(map_end(c, over, e, v));
    }
    HD_TRY(h_value(c, p, column, &v));
    map_lookup(c, map_find(c, t, number, e), e, v, out);
    return 0;
}

int lx_expr(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct fe_expr *e,
            struct pl_val *out)
{
    struct handle *column;
    const struct fe_table *t;
    int number;
    if (map_planned(c, e) && map_column(c, env, e, &column, &t, &number))
        return mapped(c, p, e, column, t, number, out);
    if (e->op == FE_COL) {
        HD_TRY(h_value(c, p, env[e->col], out));
    } else {
        struct pl_val *v = HD_NEWN(c->a, struct pl_val, e->nargs + 1);
        HD_TRY(lower_args(c, p, env, e, v));
        HD_TRY(apply(c, e, v, out));
    }
    out->type = e->type;
    if (!out->range.known)
        out->range = out->dict_table ? out->range : range_of_type(e->type);
    return 0;
}

struct fe_expr *lx_col(struct ctx *c, int col, const struct handle *h, const char *path)
{
    return pl_col_node(c->a, col, h->type, h->nullable, path);
}

int lx_filter(struct ctx *c, struct stream *s, struct handle *const *env, const struct fe_expr *const *v,
              const double *share, int n)
{
    struct open_pipeline *p = pipeline_of(c, s);
    for (int i = 0; i < n; i++) {
        struct pl_val b;
        HD_TRY(lx_expr(c, p, env, v[i], &b));
        if (lx_is_constant(&b, true))
            continue;
        HD_TRY(lx_as_phys(c, &b, RT_BOOL));
        pb_filter(c, p, b.expr, share[i], v[i]->path);
    }
    s->est = p->est;
    return 0;
}
