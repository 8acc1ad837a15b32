/* Dictionary maps: an expression over one dictionary column is evaluated once per entry by a
 * pipeline of its own and looked up by code afterwards (docs/architecture.md, "Dictionaries"). Only
 * expressions that cannot fail are mapped, so no entry needs to raise later. */
#include "planner/dict_map.h"

#include "planner/build.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/lower_arith.h"
#include "planner/lower_expr.h"
#include "planner/physical_tree.h"
#include "planner/schedule.h"

/* The one handle all COL leaves resolve to; false if there are none or several. */
static bool one_column(struct handle *const *env, const struct fe_expr *e, struct handle **h)
{
    if (e->op == FE_COL) {
        struct handle *x = env[e->col];
        while (x->kind == H_EXPR && x->slot < 0 && x->expr->op == FE_COL)
            x = x->env[x->expr->col];
        if (*h && *h != x)
            return false;
        *h = x;
        return true;
    }
    for (int i = 0; i < e->nargs; i++)
        if (!one_column(env, e->args[i], h))
            return false;
    return true;
}

bool map_is_string_work(const struct fe_expr *e)
{
    enum fe_cost cost = fe_op_form(e->op)->cost;
    if (cost == FE_COST_TEXT || cost == FE_COST_SEARCH)
        return true;
    if (e->op == FE_CAST && hd_type_is_text(e->type) != hd_type_is_text(e->args[0]->type))
        return true;
    if (e->op == FE_TRY_CAST && hd_type_is_text(e->args[0]->type))
        return true;
    for (int i = 0; i < e->nargs; i++)
        if (map_is_string_work(e->args[i]))
            return true;
    return false;
}

/* NULL in the column makes the expression NULL: what a lookup by code can express. */
static bool is_strict(const struct fe_expr *e)
{
    int strict = 0;
    for (int i = 0; i < e->nargs; i++)
        strict += is_strict(e->args[i]);
    switch (fe_op_form(e->op)->nulls) {
    case FE_NULLS_STRICT:
    case FE_NULLS_PARTIAL: return strict > 0;
    case FE_NULLS_KLEENE: return strict == e->nargs;
    case FE_NULLS_MEMBER: return is_strict(e->args[0]);
    case FE_NULLS_CASE:
    case FE_NULLS_COALESCE:
    case FE_NULLS_NEVER: return false;
    case FE_NULLS_OWN: return e->op == FE_COL;
    }
    HD_BUG("nulls of operator %d", (int)e->op);
}

struct dict_map *map_find(struct ctx *c, const struct fe_table *t, int column, const struct fe_expr *e)
{
    for (int i = 0; i < c->maps.n; i++) {
        struct dict_map *m = &c->maps.v[i];
        if (m->table == t && m->column == column && fe_expr_eq(m->expr, e))
            return m;
    }
    return NULL;
}

static int max_column(const struct fe_expr *e)
{
    int m = e->op == FE_COL ? e->col : -1;
    for (int i = 0; i < e->nargs; i++)
        m = HD_MAX(m, max_column(e->args[i]));
    return m;
}

bool map_column(struct ctx *c, struct handle *const *env, const struct fe_expr *e, struct handle **h,
                const struct fe_table **t, int *column)
{
    *h = NULL;
    return one_column(env, e, h) && *h && h_dict(c, *h, t, column);
}

/* ---- the choice ------------------------------------------------------------------------------------- */

/* The place of an expression, or where it belongs. */
static const struct fe_expr **place_of(const struct planned_maps *m, const struct fe_expr *e)
{
    for (size_t i = (size_t)(uintptr_t)e >> 4;; i++) {
        const struct fe_expr **place = &m->places[i & (size_t)(m->cap - 1)];
        if (!*place || *place == e)
            return place;
    }
}

bool map_planned(const struct ctx *c, const struct fe_expr *e)
{
    return c->maps_planned->n > 0 && *place_of(c->maps_planned, e);
}

static void mark(struct ctx *c, const struct fe_expr *e)
{
    enum { FIRST = 16 };
    struct planned_maps *m = c->maps_planned, old = *m;
    if (2 * m->n >= m->cap) {
        m->cap = old.cap ? 2 * old.cap : FIRST;
        m->places = HD_NEWN(c->a, const struct fe_expr *, m->cap);
        for (int i = 0; i < old.cap; i++)
            if (old.places[i])
                *place_of(m, old.places[i]) = old.places[i];
    }
    const struct fe_expr **place = place_of(m, e);
    m->n += *place == NULL;
    *place = e;
}

static void tell(struct ctx *c, struct pl_node *n, const struct fe_table *t, int column, double rows)
{
    const struct fe_table_column *col = &t->cols[column];
    const char *once = hd_asprintf(c->a, "once for each of %u entries", col->dict.n);
    struct pl_decision *d = pl_decide(c, n, hd_asprintf(c->a, "text of %s.%s", t->name, col->name));
    pl_decide_way(c, d, once, -1, NULL);
    pl_decide_way(c, d, hd_asprintf(c->a, "for each of ~%.0f rows", rows), -1, NULL);
    pl_decide_take(d, once);
}

void map_plan(struct ctx *c, struct pl_node *n, struct handle *const *env, const struct fe_expr *e, double rows)
{
    struct handle *h;
    const struct fe_table *t;
    int column, nargs = e->op == FE_IN ? 1 : e->nargs; /* a list's items are constants */
    if (!map_is_string_work(e))
        return;
    if (!lx_may_fail(e) && is_strict(e) && map_column(c, env, e, &h, &t, &column)) {
        mark(c, e);
        tell(c, n, t, column, rows);
        return;
    }
    for (int i = 0; i < nargs; i++)
        map_plan(c, n, env, e->args[i], rows);
}

/* ---- what was chosen -------------------------------------------------------------------------------- */

int map_begin(struct ctx *c, const struct fe_table *t, int column, const struct fe_expr *e, struct open_pipeline **p,
              struct handle ***env)
{
    int max_col = max_column(e);
    *p = pb_pipeline(c, RT_SOURCE_DICT, e->path);
    (*p)->spec.table = t;
    (*p)->spec.column = column;
    (*p)->est = t->cols[column].dict.n;
    struct pl_val code = {.expr = pb_slot_expr(c, *p, (*p)->source_slot),
                          .phys = RT_I32,
                          .type = t->cols[column].type,
                          .dict_table = t,
                          .dict_column = column};
    HD_TRY(lx_as_string(c, &code));
    struct handle *text = h_phys(c, code);
    *env = HD_NEWN(c->a, struct handle *, max_col + 1);
    for (int i = 0; i <= max_col; i++)
        (*env)[i] = text;
    return 0;
}

int map_end(struct ctx *c, struct open_pipeline *p, const struct fe_expr *e, struct pl_val v)
{
    const struct fe_table *t = p->spec.table;
    int column = p->spec.column;
    if (v.expr < 0)
        HD_TRY(lx_as_phys(c, &v, lx_full_phys(e->type)));
    int s = pb_state(c, RT_STATE_ARRAY, "map", e->path);
    pb_field(c, s, "value", &v, RT_MERGE_KEY);
    pb_state_layout(c, s);
    c->states.v[s].range = t->cols[column].dict.n;
    c->states.v[s].est_rows = t->cols[column].dict.n;
    p->sink.kind = PL_SINK_ARRAY;
    p->sink.state = s;
    struct pl_val row = {.expr = pb_slot_expr(c, p, p->source_slot), .phys = RT_I32};
    HD_TRY(lx_as_phys(c, &row, RT_I64));
    p->sink.index = row.expr;
    p->sink.a_rows = pb_arg_state(c, RT_ARG_STATE_ROWS, s, 0);
    sink_add(c, &p->sink, (struct pl_out){.field = 0, .expr = v.expr});
    pb_end(c, p, true);
    struct dict_map m = {.table = t, .column = column, .expr = e, .proto = v, .state = s};
    hd_vec_push(c->a, &c->maps, m);
    return 0;
}

void map_lookup(struct ctx *c, const struct dict_map *map, const struct fe_expr *e, struct pl_val code,
                struct pl_val *out)
{
    *out = map->proto;
    out->is_const = false;
    out->nullable = map->proto.nullable || code.nullable;
    out->expr = pb_op(c, FE_LOOKUP, map->proto.phys, out->nullable, 1, &code.expr);
    c->exprs.v[out->expr].state = map->state;
    c->exprs.v[out->expr].arg = pb_arg_state(c, RT_ARG_STATE_ROWS, map->state, 0);
    out->type = e->type;
}
