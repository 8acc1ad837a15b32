/* Handles: where a column's value comes from, loaded at first use, and what is known of it. */
#include "planner/lower_arith.h"

struct handle *h_new(struct ctx *c, enum handle_kind k, struct hd_type t, bool nullable)
{
    struct handle *h = HD_NEW(c->a, struct handle);
    h->kind = k;
    h->type = t;
    h->nullable = nullable;
    h->slot = -1;
    h->state = h->field = h->column = h->keyidx = h->eq_column = -1;
    return h;
}

struct handle *h_row(struct ctx *c, int slot, const struct fe_table *t, int state, bool row_nullable)
{
    struct handle *h = h_new(c, H_SLOT, hd_type_of(HD_INT32), false);
    h->slot = slot;
    h->table = t;
    h->state = state;
    h->is_row = true;
    h->row_nullable = row_nullable;
    return h;
}

struct handle *h_column(struct ctx *c, const struct fe_table *t, int column, struct handle *row)
{
    const struct fe_table_column *col = &t->cols[column];
    struct handle *h = h_new(c, H_COLUMN, col->type, col->at.validity || row->row_nullable);
    h->table = t;
    h->column = column;
    h->row = row;
    h->null_ext = row->row_nullable;
    return h;
}

struct handle *h_field(struct ctx *c, int state, int field, struct handle *row)
{
    const struct rt_field *f = &c->states.v[state].fields[field];
    struct handle *h = h_new(c, H_FIELD, f->type, f->valid_offset >= 0 || row->row_nullable);
    h->state = state;
    h->field = field;
    h->row = row;
    h->null_ext = row->row_nullable;
    return h;
}

struct handle *h_phys(struct ctx *c, struct pl_val v)
{
    struct handle *h = h_new(c, H_PHYS, v.type, v.nullable);
    h->val = v;
    return h;
}

struct handle *h_expr(struct ctx *c, const struct fe_expr *e, struct handle **env)
{
    if (e->op == FE_COL)
        return env[e->col];
    struct handle *h = h_new(c, H_EXPR, e->type, e->nullable);
    h->expr = e;
    h->env = env;
    return h;
}

struct handle *h_lookup(struct ctx *c, const struct fe_table *t, int index, struct handle *key)
{
    struct handle *h = h_new(c, H_LOOKUP, hd_type_of(HD_INT32), false);
    h->is_row = true;
    h->table = t;
    h->keyidx = index;
    h->ndet = 1;
    h->det = HD_NEWN(c->a, struct handle *, 1);
    h->det[0] = key;
    return h;
}

int key_index_of(const struct fe_table *t, int column)
{
    for (int i = 0; i < t->nkeyidx; i++)
        if (t->keyidx[i].column == column && t->keyidx[i].kind != FE_INDEX_NONE)
            return i;
    return -1;
}

struct handle *h_plain(struct handle *h)
{
    while (h->kind == H_EXPR && h->slot < 0 && h->expr->op == FE_COL)
        h = h->env[h->expr->col];
    return h;
}

struct pl_range range_of_type(struct hd_type t)
{
    switch ((enum hd_type_kind)t.kind) {
    case HD_BOOL: return (struct pl_range){true, 0, 1};
    case HD_INT32:
    case HD_DATE: return (struct pl_range){true, INT32_MIN, INT32_MAX};
    case HD_INT64:
    case HD_TIMESTAMP: return (struct pl_range){true, INT64_MIN, INT64_MAX};
    case HD_DECIMAL: {
        hd_i128 m = hd_pow10(t.precision) - 1;
        return (struct pl_range){true, -m, m};
    }
    case HD_FLOAT64:
    case HD_STRING:
    case HD_TYPE_COUNT: break;
    }
    return (struct pl_range){false, 0, 0};
}

static const struct fe_table_column *column_of(const struct handle *h)
{
    return h->kind == H_COLUMN ? &h->table->cols[h->column] : NULL;
}

struct pl_range h_range(const struct ctx *c, const struct handle *h)
{
    if (h->slot >= 0 || h->kind == H_PHYS)
        return h->val.range.known ? h->val.range : range_of_type(h->type);
    const struct fe_table_column *col = column_of(h);
    if (col && col->facts.known && col->facts.has_range && col->type.kind != HD_FLOAT64 &&
        (col->type.kind != HD_STRING || col->storage == FE_STORE_DICT))
        return (struct pl_range){true, col->facts.min, col->facts.max};
    if (col && col->storage == FE_STORE_DICT)
        return (struct pl_range){true, 0, col->dict.n ? (hd_i128)col->dict.n - 1 : 0};
    if (h->kind == H_EXPR && h->expr->op == FE_COL)
        return h_range(c, h->env[h->expr->col]);
    if (h->kind == H_FIELD && h->val.range.known)
        return h->val.range;
    return range_of_type(h->type);
}

bool h_dict(const struct ctx *c, const struct handle *h, const struct fe_table **t, int *column)
{
    const struct fe_table_column *col = column_of(h);
    if (h->slot >= 0 || h->kind == H_PHYS) {
        *t = h->val.dict_table;
        *column = h->val.dict_column;
    } else if (col && col->storage == FE_STORE_DICT) {
        *t = h->table;
        *column = h->column;
    } else if (h->kind == H_FIELD) {
        const struct rt_field *f = &c->states.v[h->state].fields[h->field];
        *t = f->dict_table;
        *column = f->dict_column;
    } else if (h->kind == H_EXPR && h->expr->op == FE_COL) {
        return h_dict(c, h->env[h->expr->col], t, column);
    } else {
        *t = NULL;
    }
    return *t != NULL;
}

int h_dict_find(const struct ctx *c, const struct fe_table *t, int column, const char *s, size_t n, uint32_t *code,
                bool *found, struct hd_err *err)
{
    if (c->opt.touch_dict)
        HD_TRY(c->opt.touch_dict(t, column, err));
    *code = fe_dict_find(&t->cols[column].dict, s, n, found);
    return 0;
}

double h_distinct(const struct ctx *c, const struct handle *h, double rows)
{
    const struct fe_table_column *col = column_of(h);
    double d = rows;
    if (col && col->facts.known && col->facts.distinct >= 0)
        d = (double)col->facts.distinct;
    else if (h->kind == H_EXPR && h->expr->op == FE_COL)
        return h_distinct(c, h->env[h->expr->col], rows);
    struct pl_range r = h_range(c, h);
    if (r.known) /* in floating point: the width of a 38-digit range has no 128-bit integer */
        d = HD_MIN(d, (double)r.hi - (double)r.lo + 1);
    return HD_MAX(1.0, HD_MIN(d, rows));
}

/* ---- loading ---------------------------------------------------------------------------------- */

static enum rt_phys phys_of(struct hd_type t, struct pl_range r)
{
    switch ((enum hd_type_kind)t.kind) {
    case HD_BOOL: return RT_BOOL;
    case HD_FLOAT64: return RT_F64;
    case HD_STRING: return RT_STR;
    case HD_INT32:
    case HD_DATE: return RT_I32;
    case HD_TIMESTAMP: return RT_I64;
    case HD_INT64:
    case HD_DECIMAL: return lx_narrowest(r);
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("type %d", t.kind);
}

static int row_slot(struct ctx *c, struct pipe *p, struct handle *row)
{
    struct pl_val v;
    if (row->slot < 0 && h_value(c, p, row, &v) != 0)
        return -1;
    return row->slot;
}

static int load_column(struct ctx *c, struct pipe *p, struct handle *h)
{
    const struct fe_table_column *col = &h->table->cols[h->column];
    int row = row_slot(c, p, h->row);
    if (row < 0)
        return -1;
    struct pl_val v = {.type = h->type, .range = h_range(c, h), .nullable = h->nullable};
    v.phys = phys_of(h->type, v.range);
    if (col->storage == FE_STORE_DICT) {
        v.phys = RT_I32;
        v.dict_table = h->table;
        v.dict_column = h->column;
    }
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

static int load_field(struct ctx *c, struct pipe *p, struct handle *h)
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
int h_probe_key(struct ctx *c, struct pipe *p, const struct fe_table *t, int index, struct pl_val key, const char *path)
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
    if (t->keyidx[index].kind == FE_INDEX_ARRAY) {
        int a_rows = pb_arg_table(c, RT_ARG_KEYIDX_ROWS, t, index);
        p->steps.v[p->steps.n - 1].a_rows = a_rows;
    }
    return 0;
}

static int load_lookup(struct ctx *c, struct pipe *p, struct handle *h)
{
    struct pl_val key;
    HD_TRY(h_value(c, p, h->det[0], &key));
    int slot = pb_slot(c, p, hd_asprintf(c->a, "%s row", h->table->name), RT_I32, false);
    HD_TRY(h_probe_key(c, p, h->table, h->keyidx, key, ""));
    p->steps.v[p->steps.n - 1].slot = slot;
    h->slot = slot;
    return 0;
}

/* Computed columns become a slot, so that several consumers share the work. */
static int load_computed(struct ctx *c, struct pipe *p, struct handle *h)
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

int h_value(struct ctx *c, struct pipe *p, struct handle *h, struct pl_val *out)
{
    if (h->slot < 0) {
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

/* ---- functional dependencies ------------------------------------------------------------------ */

/* One question: does the set of keys determine a handle? Handles lead to the same rows on many
 * ways, so each keeps its answer under the question's stamp. */
struct determining {
    struct handle *const *keys;
    int n, stamp;
};

static bool in_keys(const struct determining *by, const struct handle *h)
{
    for (int i = 0; i < by->n; i++) {
        const struct handle *k = by->keys[i];
        if (k == h || (h->kind == H_COLUMN && k->kind == H_COLUMN && k->row == h->row && k->column == h->column))
            return true;
    }
    return false;
}

static bool is_determined(const struct determining *by, struct handle *h);

static bool all_determined(const struct determining *by, struct handle *const *hs, int n)
{
    for (int i = 0; i < n; i++)
        if (!is_determined(by, hs[i]))
            return false;
    return n > 0;
}

/* A row is determined by a unique column of it among the keys, or by the keys of the unique lookup
 * that found it. */
static bool row_determined(const struct determining *by, struct handle *row)
{
    for (int i = 0; i < by->n; i++) {
        const struct handle *k = by->keys[i];
        if (k == row)
            return true;
        bool own = k->kind == H_COLUMN && k->row == row && !k->nullable;
        int column = own ? k->column : row->eq_column >= 0 && row->eq == k ? row->eq_column : -1;
        if (column >= 0 && row->table && row->table->cols[column].facts.known && row->table->cols[column].facts.unique)
            return true;
    }
    if (row->kind == H_FIELD && is_determined(by, row->row))
        return true; /* a stored row id is known once the row it was stored in is */
    return all_determined(by, row->det, row->ndet);
}

static bool find_determined(const struct determining *by, struct handle *h)
{
    if (in_keys(by, h))
        return true;
    if (h->is_row)
        return row_determined(by, h);
    if (h->kind == H_EXPR && h->expr->op == FE_COL)
        return is_determined(by, h->env[h->expr->col]);
    if ((h->kind == H_COLUMN || h->kind == H_FIELD) && !h->row->row_nullable)
        return is_determined(by, h->row);
    return false;
}

static bool is_determined(const struct determining *by, struct handle *h)
{
    if (h->stamp != by->stamp) {
        h->known = find_determined(by, h);
        h->stamp = by->stamp;
    }
    return h->known;
}

bool h_determined(struct ctx *c, struct handle *h, struct handle *const *keys, int nkeys)
{
    struct determining by = {keys, nkeys, ++c->stamp};
    return is_determined(&by, h);
}
