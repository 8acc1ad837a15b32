/* Reads `values`: rows of literals as they are; with cells that are expressions, or beside each row of an input, as a
 * projection over rows of literals that have numbers, by which it tells the expressions apart (docs/plan.md 1). */
#include "frontend/plan_read.h"
#include "frontend/value.h"

enum { MAX_EXPRESSIONS = 1000 }; /* of a column: each is a branch of a case */

struct cells {
    int nrows, ncols;
    struct fe_column *cols;   /* nullable: for a literal or an expression */
    struct fe_value *literal; /* [row][column] */
    struct fe_expr **expr;    /* [row][column]; NULL: a literal */
    int *nexprs;              /* [column] */
    bool any;
};

static int read_value_columns(const struct fe_json *list, struct fe_column *cols)
{
    struct fe_json m, name, type;
    for (bool more = fe_json_first(list, &m); more; more = fe_json_next(&m)) {
        struct fe_column *c = &cols[m.index];
        HD_TRY(fe_json_object(&m, "name", "type", NULL));
        HD_TRY(fe_json_need(&m, "name", &name));
        HD_TRY(fe_json_name(&name, &c->name));
        HD_TRY(fe_json_need(&m, "type", &type));
        HD_TRY(fe_type_read(&type, &c->type));
    }
    return 0;
}

/* An expression of the column's type, or one that is converted to it without loss. */
static int read_expr(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope,
                     const struct fe_column *c, struct fe_expr **out)
{
    char want[HD_TEXT_MAX], found[HD_TEXT_MAX];
    struct fe_json m;
    struct hd_type t;
    HD_TRY(fe_json_object(v, "expr", NULL));
    HD_TRY(fe_json_need(v, "expr", &m));
    HD_TRY(fe_read_expr(r, &m, scope, NULL, NULL, out));
    bool wider = fe_type_unify(c->type, (*out)->type, &t) && hd_type_eq(t, c->type);
    if (!wider && !fe_expr_fits(*out, c->type))
        return fe_json_fail(&m, "expected %s for column \"%.60s\", found %s", hd_type_text(c->type, want), c->name,
                            hd_type_text((*out)->type, found));
    *out = fe_expr_cast(r->arena, *out, c->type);
    return 0;
}

static int read_cell(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope, struct cells *x,
                     int row, int col)
{
    int at = row * x->ncols + col;
    struct fe_column *c = &x->cols[col];
    if (fe_json_kind(v) != FE_JSON_OBJECT) {
        HD_TRY(fe_value_read(v, c->type, &x->literal[at]));
        c->nullable |= x->literal[at].is_null;
        return 0;
    }
    if (++x->nexprs[col] > MAX_EXPRESSIONS)
        return fe_json_fail(v, "column \"%.60s\" has more than %d expressions", c->name, MAX_EXPRESSIONS);
    HD_TRY(read_expr(r, v, scope, c, &x->expr[at]));
    c->nullable |= x->expr[at]->nullable;
    x->any = true;
    return 0;
}

static int read_row(struct fe_plan_reader *r, const struct fe_json *row, const struct fe_scope *scope, struct cells *x,
                    int number)
{
    struct fe_json m;
    HD_TRY(fe_json_array(row));
    int n = fe_json_length(row);
    if (n != x->ncols)
        return fe_json_fail(row, "expected %d values, found %d", x->ncols, n);
    for (bool more = fe_json_first(row, &m); more; more = fe_json_next(&m))
        HD_TRY(read_cell(r, &m, scope, x, number, m.index));
    return 0;
}

static int read_cells(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope, struct cells *x)
{
    struct fe_json list, rows, m;
    HD_TRY(fe_json_need(v, "columns", &list));
    HD_TRY(fe_json_array(&list));
    HD_TRY(fe_json_need(v, "rows", &rows));
    HD_TRY(fe_json_array(&rows));
    x->ncols = fe_json_length(&list);
    x->nrows = fe_json_length(&rows);
    x->cols = HD_NEWN(r->arena, struct fe_column, x->ncols);
    x->nexprs = HD_NEWN(r->arena, int, x->ncols);
    x->literal = HD_NEWN(r->arena, struct fe_value, (int64_t)x->nrows * x->ncols);
    x->expr = HD_NEWN(r->arena, struct fe_expr *, (int64_t)x->nrows * x->ncols);
    HD_TRY(read_value_columns(&list, x->cols));
    for (bool more = fe_json_first(&rows, &m); more; more = fe_json_next(&m))
        HD_TRY(read_row(r, &m, scope, x, m.index));
    return 0;
}

/* ---- rows with expressions --------------------------------------------------------------- */

static struct fe_node *inner_node(struct fe_plan_reader *r, const struct fe_json *v, enum fe_relop op, int ninputs,
                                  int ncols)
{
    struct fe_node *n = fe_new_node(r, v, op, ninputs);
    n->ncols = ncols;
    n->cols = HD_NEWN(r->arena, struct fe_column, ncols + 1);
    return n;
}

/* Something to stand where an expression is: a literal of the column, so that it has NULLs only if these have. */
static struct fe_value filler(const struct cells *x, int col)
{
    for (int i = 0; i < x->nrows; i++)
        if (!x->expr[i * x->ncols + col])
            return x->literal[i * x->ncols + col];
    return (struct fe_value){.type = x->cols[col].type, .is_null = true};
}

/* The literals, and behind them the numbers of the rows. */
static struct fe_node *numbered(struct fe_plan_reader *r, const struct fe_json *v, const struct cells *x)
{
    int width = x->ncols + 1;
    struct fe_node *n = inner_node(r, v, FE_VALUES_OP, 0, width);
    n->u.values.nrows = x->nrows;
    n->u.values.rows = HD_NEWN(r->arena, struct fe_value, (int64_t)x->nrows * width);
    for (int c = 0; c < x->ncols; c++) {
        n->cols[c] = (struct fe_column){x->cols[c].name, x->cols[c].type, false};
        struct fe_value other = filler(x, c);
        for (int i = 0; i < x->nrows; i++) {
            struct fe_value *to = &n->u.values.rows[i * width + c];
            *to = x->expr[i * x->ncols + c] ? other : x->literal[i * x->ncols + c];
            n->cols[c].nullable |= to->is_null;
        }
    }
    n->cols[x->ncols] = (struct fe_column){"row", hd_type_of(HD_INT32), false};
    for (int i = 0; i < x->nrows; i++)
        n->u.values.rows[i * width + x->ncols] = (struct fe_value){.type = hd_type_of(HD_INT32), .i = i};
    return n;
}

/* Each row of the input with each of the others. */
static struct fe_node *beside(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *input,
                              struct fe_node *rows)
{
    struct fe_node *n = inner_node(r, v, FE_JOIN_OP, 2, input->ncols + rows->ncols);
    n->inputs[0] = input;
    n->inputs[1] = rows;
    n->u.join.kind = FE_INNER;
    n->u.join.lkeys = HD_NEWN(r->arena, struct fe_expr *, 1);
    n->u.join.rkeys = HD_NEWN(r->arena, struct fe_expr *, 1);
    n->u.join.null_equal = HD_NEWN(r->arena, bool, 1);
    for (int i = 0; i < n->ncols; i++)
        n->cols[i] = i < input->ncols ? input->cols[i] : rows->cols[i - input->ncols];
    return n;
}

static struct fe_expr *make(struct fe_plan_reader *r, enum fe_op op, struct hd_type t, bool nullable, int nargs,
                            const char *path)
{
    struct fe_expr *e = HD_NEW(r->arena, struct fe_expr);
    *e = (struct fe_expr){.op = op, .type = t, .nullable = nullable, .nargs = nargs, .path = path};
    e->args = HD_NEWN(r->arena, struct fe_expr *, nargs + 1);
    return e;
}

static struct fe_expr *is_row(struct fe_plan_reader *r, const struct fe_node *rows, int first, int row)
{
    struct fe_expr *e = make(r, FE_EQ, hd_type_of(HD_BOOL), false, 2, rows->path);
    e->args[0] = fe_expr_column(r->arena, first + rows->ncols - 1, &rows->cols[rows->ncols - 1], rows->path);
    e->args[1] = make(r, FE_LIT, hd_type_of(HD_INT32), false, 0, rows->path);
    e->args[1]->value = (struct fe_value){.type = hd_type_of(HD_INT32), .i = row};
    return e;
}

/* case row when 0 then ... else the literal end, over columns of which those of `rows` begin at `first`. */
static struct fe_expr *choice(struct fe_plan_reader *r, const struct cells *x, const struct fe_node *rows, int first,
                              int col)
{
    struct fe_expr *literal = fe_expr_column(r->arena, first + col, &rows->cols[col], rows->path);
    int left = x->nexprs[col], n = 0;
    bool all = left == x->nrows;
    if (!left)
        return literal;
    struct fe_expr *e = make(r, FE_CASE, x->cols[col].type, x->cols[col].nullable, 2 * left + !all, rows->path);
    for (int i = 0; i < x->nrows; i++) {
        struct fe_expr *then = x->expr[i * x->ncols + col];
        if (!then)
            continue;
        if (all && left == 1) { /* the last one is for the rest */
            e->args[n++] = then;
            continue;
        }
        e->args[n++] = is_row(r, rows, first, i);
        e->args[n++] = then;
        left--;
    }
    if (!all)
        e->args[n++] = literal;
    e->nargs = n;
    return n == 1 ? e->args[0] : e;
}

static int project(struct fe_plan_reader *r, const struct fe_json *v, const struct cells *x, struct fe_node *input,
                   struct fe_node **out)
{
    struct fe_node *rows = numbered(r, v, x), *n = fe_new_node(r, v, FE_PROJECT_OP, 1);
    int first = input ? input->ncols : 0, ncols = first + x->ncols;
    struct fe_column *cols = HD_NEWN(r->arena, struct fe_column, ncols + 1);
    n->inputs[0] = input ? beside(r, v, input, rows) : rows;
    n->u.project.exprs = HD_NEWN(r->arena, struct fe_expr *, ncols + 1);
    for (int i = 0; i < ncols; i++) {
        cols[i] = i < first ? input->cols[i] : x->cols[i - first];
        n->u.project.exprs[i] =
            i < first ? fe_expr_column(r->arena, i, &cols[i], n->path) : choice(r, x, rows, first, i - first);
    }
    *out = n;
    return fe_set_columns(r, v, n, ncols, cols);
}

/* ---- rows of a parameter ---------------------------------------------------------------------- */

/* The rows of one column are the values of a list parameter. */
static int read_list(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_json *rows,
                     struct fe_node **out)
{
    struct fe_json list;
    struct fe_ast *x;
    char want[HD_TEXT_MAX], found[HD_TEXT_MAX];
    int k;
    HD_TRY(fe_json_need(v, "columns", &list));
    HD_TRY(fe_json_array(&list));
    int n = fe_json_length(&list);
    struct fe_column *cols = HD_NEWN(r->arena, struct fe_column, n);
    HD_TRY(read_value_columns(&list, cols));
    HD_TRY(fe_ast_read(rows, &x));
    if (x->op != FE_PARAM || x->interval)
        return fe_json_fail(rows, "expected a list of rows, or a list parameter for one column");
    struct fe_typing t = {r->arena, r->err, r->plan->params, r->plan->nparams, NULL};
    HD_TRY(fe_param_find(&t, x, &k));
    const struct fe_param *p = &r->plan->params[k];
    if (!p->is_list)
        return fe_json_fail(rows, "expected a list parameter; :%s is one value", p->name);
    if (n != 1)
        return fe_json_fail(&list, "rows of a list parameter have one column, found %d", n);
    if (!hd_type_eq(p->type, cols->type))
        return fe_json_fail(rows, "expected list(%s) for column \"%.60s\", found list(%s)",
                            hd_type_text(cols->type, want), cols->name, hd_type_text(p->type, found));
    *out = fe_new_node(r, v, FE_VALUES_OP, 0);
    (*out)->u.values.list = p;
    return fe_set_columns(r, v, *out, 1, cols);
}

/* Beside each row of the input. */
static int read_list_beside(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_json *rows,
                            struct fe_node *input, struct fe_node **out)
{
    struct fe_node *list = NULL;
    HD_TRY(read_list(r, v, rows, &list));
    *out = input ? beside(r, v, input, list) : list;
    return fe_set_columns(r, v, *out, (*out)->ncols, (*out)->cols);
}

int fe_read_VALUES(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "input", "columns", "rows", NULL));
    struct fe_json m, rows;
    struct fe_node *input = NULL;
    struct cells x = {0};
    if (fe_json_get(v, "input", &m))
        HD_TRY(fe_read_input(r, v, "input", &input));
    HD_TRY(fe_json_need(v, "rows", &rows));
    if (fe_json_kind(&rows) != FE_JSON_ARRAY)
        return read_list_beside(r, v, &rows, input, out);
    struct fe_scope scope = input ? fe_scope_of(input) : (struct fe_scope){0};
    HD_TRY(read_cells(r, v, &scope, &x));
    if (input || x.any)
        return project(r, v, &x, input, out);
    struct fe_node *n = fe_new_node(r, v, FE_VALUES_OP, 0);
    n->u.values.nrows = x.nrows;
    n->u.values.rows = x.literal;
    *out = n;
    return fe_set_columns(r, v, n, x.ncols, x.cols);
}
