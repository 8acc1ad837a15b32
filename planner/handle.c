/* Handles: where a column's value comes from, and what is known of it. */
#include "planner/handle.h"

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
    h->val.dict_table = f->dict_table;
    h->val.dict_column = f->dict_column;
    return h;
}

struct handle *h_kept(struct ctx *c, struct handle *what, struct handle *row)
{
    struct handle *h = h_new(c, H_FIELD, what->type, what->nullable || row->row_nullable);
    h->row = row;
    h->null_ext = row->row_nullable;
    h->what = what;
    h->val.range = h_range(c, what);
    h_dict(c, what, &h->val.dict_table, &h->val.dict_column);
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

static const struct fe_table_column *column_of(const struct handle *h)
{
    return h->kind == H_COLUMN ? &h->table->cols[h->column] : NULL;
}

struct pl_range h_range(const struct ctx *c, const struct handle *h)
{
    if (h->slot >= 0 || h->kind == H_PHYS || h->val.is_const)
        return h->val.range.known ? h->val.range : range_of_type(h->type);
    const struct fe_table_column *col = column_of(h);
    if (col && col->facts.known && col->facts.has_range && !hd_type_is_float(col->type) &&
        (!hd_type_is_text(col->type) || col->storage == FE_STORE_DICT))
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
    if (h->slot >= 0 || h->kind == H_PHYS || h->kind == H_FIELD) {
        *t = h->val.dict_table;
        *column = h->val.dict_column;
    } else if (col && col->storage == FE_STORE_DICT) {
        *t = h->table;
        *column = h->column;
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

/* Values that are equal may still differ in these types: 0 and -0, a month and 30 days. */
static bool has_one_form(const struct handle *h)
{
    return !hd_type_is_float(h->type) && h->type.kind != HD_INTERVAL;
}

/* All that an expression reads; nothing: it is a constant. */
static bool reads_determined(const struct determining *by, struct handle *const *env, const struct fe_expr *e)
{
    if (e->op == FE_COL)
        return is_determined(by, env[e->col]) && (has_one_form(env[e->col]) || !in_keys(by, env[e->col]));
    for (int i = 0; i < e->nargs; i++)
        if (!reads_determined(by, env, e->args[i]))
            return false;
    return true;
}

static bool find_determined(const struct determining *by, struct handle *h)
{
    if (in_keys(by, h))
        return true;
    if (h->is_row)
        return row_determined(by, h);
    if (h->kind == H_EXPR && h->expr->op == FE_COL)
        return is_determined(by, h->env[h->expr->col]);
    if (h->kind == H_EXPR)
        return reads_determined(by, h->env, h->expr);
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
