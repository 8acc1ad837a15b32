/* Reads operators over several inputs whose columns become one type each: union_all, union, intersect, except;
 * and repeat  * (docs/plan.md 1). */
#include "frontend/plan_read.h"

static int unify_columns(const struct fe_json *v, const struct fe_node *n, struct fe_column *cols)
{
    const struct fe_node *first = n->inputs[0];
    char l[HD_TEXT_MAX], r[HD_TEXT_MAX];
    for (int i = 1; i < n->ninputs; i++) {
        const struct fe_node *in = n->inputs[i];
        if (in->ncols != first->ncols)
            return fe_json_fail(v, "inputs have different numbers of columns: %d and %d", first->ncols, in->ncols);
        for (int c = 0; c < in->ncols; c++) {
            if (!fe_type_unify(cols[c].type, in->cols[c].type, &cols[c].type))
                return fe_json_fail(v,
                                    "column %d (\"%.60s\") has types that do not unify: %s "
                                    "and %s",
                                    c + 1, cols[c].name, hd_type_text(cols[c].type, l),
                                    hd_type_text(in->cols[c].type, r));
            cols[c].nullable |= in->cols[c].nullable;
        }
    }
    return 0;
}

/* A projection that casts where an input's types are not the union's. */
static void cast_input(struct fe_plan_reader *r, struct fe_node **input, const struct fe_column *cols)
{
    struct fe_node *in = *input, *n;
    int same = 0;
    while (same < in->ncols && hd_type_eq(in->cols[same].type, cols[same].type))
        same++;
    if (same == in->ncols)
        return;
    n = HD_NEW(r->arena, struct fe_node);
    n->op = FE_PROJECT_OP;
    n->path = in->path;
    n->ninputs = 1;
    n->inputs = hd_dup(r->arena, input, sizeof *input);
    n->ncols = in->ncols;
    n->cols = hd_dup(r->arena, in->cols, (size_t)in->ncols * sizeof *in->cols);
    n->u.project.exprs = HD_NEWN(r->arena, struct fe_expr *, in->ncols);
    for (int c = 0; c < in->ncols; c++) {
        struct fe_expr *e = fe_expr_column(r->arena, c, &in->cols[c], in->path);
        n->u.project.exprs[c] = fe_expr_cast(r->arena, e, cols[c].type);
        n->cols[c].type = cols[c].type;
    }
    *input = n;
}

/* Columns are those of the first input, of types and nullability that all of them have. */
static int read_inputs(struct fe_plan_reader *r, const struct fe_json *v, enum fe_relop op, struct fe_node **out,
                       struct fe_column **cols)
{
    struct fe_json list, m;
    HD_TRY(fe_json_need(v, "inputs", &list));
    HD_TRY(fe_json_array(&list));
    int count = fe_json_length(&list), k = 0;
    if (count < 2)
        return fe_json_fail(&list, "expected two or more inputs, found %d", count);
    struct fe_node *n = fe_new_node(r, v, op, count);
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m))
        HD_TRY(fe_read_node(r, &m, &n->inputs[k++]));
    const struct fe_node *first = n->inputs[0];
    *cols = hd_dup(r->arena, first->cols, (size_t)first->ncols * sizeof *first->cols);
    HD_TRY(unify_columns(v, n, *cols));
    for (int i = 0; i < count; i++)
        cast_input(r, &n->inputs[i], *cols);
    *out = n;
    return 0;
}

static int read_set(struct fe_plan_reader *r, const struct fe_json *v, enum fe_relop op, struct fe_node **out)
{
    struct fe_column *cols = NULL;
    HD_TRY(read_inputs(r, v, op, out, &cols));
    return fe_set_columns(r, v, *out, (*out)->inputs[0]->ncols, cols);
}

static int read_union(struct fe_plan_reader *r, const struct fe_json *v, enum fe_relop op, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "inputs", NULL));
    return read_set(r, v, op, out);
}

static int read_difference(struct fe_plan_reader *r, const struct fe_json *v, enum fe_relop op, struct fe_node **out)
{
    bool all = false;
    HD_TRY(fe_json_object(v, "op", "comment", "inputs", "all", NULL));
    HD_TRY(fe_json_opt_bool(v, "all", &all));
    HD_TRY(read_set(r, v, op, out));
    (*out)->u.set.all = all;
    return 0;
}

int fe_read_UNION_ALL(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    return read_union(r, v, FE_UNION_ALL_OP, out);
}

int fe_read_UNION(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    return read_union(r, v, FE_UNION_OP, out);
}

int fe_read_INTERSECT(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    return read_difference(r, v, FE_INTERSECT_OP, out);
}

/* A NULL in the result is one of the first input. */
int fe_read_EXCEPT(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(read_difference(r, v, FE_EXCEPT_OP, out));
    for (int i = 0; i < (*out)->ncols; i++)
        (*out)->cols[i].nullable = (*out)->inputs[0]->cols[i].nullable;
    return 0;
}

/* ---- repeat ---------------------------------------------------------------------------- */

int fe_read_REPEAT(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "input", "count", NULL));
    struct fe_node *n = fe_new_node(r, v, FE_REPEAT_OP, 1);
    struct fe_json m;
    struct fe_expr *e;
    char found[HD_TEXT_MAX];
    HD_TRY(fe_read_input(r, v, "input", &n->inputs[0]));
    HD_TRY(fe_json_need(v, "count", &m));
    struct fe_scope scope = fe_scope_of(n->inputs[0]);
    HD_TRY(fe_read_expr(r, &m, &scope, NULL, NULL, &e));
    if (e->type.kind != HD_INT32 && e->type.kind != HD_INT64)
        return fe_json_fail(&m, "expected an int32 or int64, found %s", hd_type_text(e->type, found));
    n->u.repeat.count = fe_expr_cast(r->arena, e, hd_type_of(HD_INT32));
    *out = n;
    return fe_set_columns(r, v, n, n->inputs[0]->ncols, n->inputs[0]->cols);
}
