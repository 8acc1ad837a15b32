/* Reads the operator window (docs/plan.md 1.4). Every function is said with columns of a WINDOW node, which are numbers
 * of rows in their partition and values of rows with such numbers, by an expression of a PROJECT above it: rank is a
 * number, lag a value, a sum over a frame the difference of two running sums. */
#include <inttypes.h>

#include "frontend/plan_window.h"
#include "frontend/value.h"
#include "runtime/base/vec.h"

enum function {
    ROW_NUMBER,
    RANK,
    DENSE_RANK,
    PERCENT_RANK,
    CUME_DIST,
    NTILE,
    LAG,
    LEAD,
    FIRST_VALUE,
    LAST_VALUE,
    NTH_VALUE,
    COUNT,
    SUM,
    AVG,
    MIN,
    MAX,
    FUNCTIONS
};
static const struct {
    const char *name;
    bool arg, offset, count, framed, nulls; /* takes "arg", "offset" and "default", "n", "frame", "nulls" */
    bool ties; /* its value depends on the order of rows that tie */
} functions[FUNCTIONS] = {
    [ROW_NUMBER] = {.name = "row_number", .ties = true},
    [RANK] = {.name = "rank"},
    [DENSE_RANK] = {.name = "dense_rank"},
    [PERCENT_RANK] = {.name = "percent_rank"},
    [CUME_DIST] = {.name = "cume_dist"},
    [NTILE] = {.name = "ntile", .count = true, .ties = true},
    [LAG] = {.name = "lag", .nulls = true, .arg = true, .offset = true, .ties = true},
    [LEAD] = {.name = "lead", .nulls = true, .arg = true, .offset = true, .ties = true},
    [FIRST_VALUE] = {.name = "first_value", .nulls = true, .arg = true, .framed = true, .ties = true},
    [LAST_VALUE] = {.name = "last_value", .nulls = true, .arg = true, .framed = true, .ties = true},
    [NTH_VALUE] = {.name = "nth_value", .nulls = true, .arg = true, .count = true, .framed = true, .ties = true},
    [COUNT] = {.name = "count", .framed = true},
    [SUM] = {.name = "sum", .arg = true, .framed = true},
    [AVG] = {.name = "avg", .arg = true, .framed = true},
    [MIN] = {.name = "min", .arg = true, .framed = true},
    [MAX] = {.name = "max", .arg = true, .framed = true},
};

/* ---- functions over frames --------------------------------------------------------------------------------- */

static int count_pieces(struct fw_reading *x, const struct fw_frame *f, struct fe_expr *arg, const char **out)
{
    if (arg && arg->nullable)
        return fw_pieces_sum(x, f, fw_add_value(x, FE_AGG_COUNT, arg), out);
    *out = fw_pieces_size(x, f);
    return 0;
}

/* count, sum or avg. */
static int aggregate_pieces(struct fw_reading *x, const struct fw_frame *f, enum function fn, struct fe_expr *arg,
                            struct hd_type type, const char **out)
{
    char text[HD_TEXT_MAX];
    const char *n, *sum;
    HD_TRY(count_pieces(x, f, arg, &n));
    *out = n;
    if (fn == COUNT)
        return 0;
    HD_TRY(fw_pieces_sum(x, f, fw_add_value(x, FE_AGG_SUM, fe_expr_cast(x->r->arena, arg, type)), &sum));
    *out = hd_asprintf(x->r->arena, "case when %s > 0 then cast(%s as %s)%s%s end", n, sum, hd_type_text(type, text),
                       fn == AVG ? " / " : "", fn == AVG ? n : "");
    return 0;
}

static const char *counted(struct fw_reading *x, const struct fw_frame *f, struct fe_expr *arg)
{
    if (!arg || !arg->nullable)
        return fw_frame_size(x, f);
    const char *n = fw_difference(x, f, fw_add_value(x, FE_AGG_COUNT, arg), "0");
    n = f->start.open ? hd_asprintf(x->r->arena, "coalesce(%s, 0)", n) : n;
    const char *cond = fw_has_rows(x, f);
    return cond ? hd_asprintf(x->r->arena, "case when %s then %s else 0 end", cond, n) : n;
}

static const char *summed(struct fw_reading *x, const struct fw_frame *f, struct fe_expr *arg, struct hd_type type)
{
    char text[HD_TEXT_MAX];
    if (!f->start.open && hd_type_is_float(type))
        return fw_framed(x, f, FE_AGG_SUM, fe_expr_cast(x->r->arena, arg, hd_type_of(HD_FLOAT64)));
    struct fe_expr *term = fe_expr_cast(x->r->arena, arg, type);
    const char *sum = fw_difference(x, f, fw_add_value(x, FE_AGG_SUM, term), "0");
    if (!f->start.open)
        sum = hd_asprintf(x->r->arena, "case when %s > 0 then cast(%s as %s) end", counted(x, f, arg), sum,
                          hd_type_text(type, text));
    return fw_where_rows(x, f, sum);
}

static int aggregate(struct fw_reading *x, const struct fe_json *v, enum function fn, const struct fw_frame *f,
                     struct fe_expr *arg, const char **out)
{
    struct hd_arena *a = x->r->arena;
    char found[HD_TEXT_MAX];
    bool sums = fn == SUM || fn == AVG;
    if (fn == COUNT && f->without)
        return aggregate_pieces(x, f, fn, arg, hd_type_of(HD_INT64), out);
    if (fn == COUNT) {
        *out = counted(x, f, arg);
        return 0;
    }
    if (sums && !hd_type_is_num(arg->type))
        return fe_json_fail(v, "%s expects a number, found %s", functions[fn].name, hd_type_text(arg->type, found));
    if (!sums && arg->type.kind == HD_BOOL)
        return fe_json_fail(v, "%s expects any type but bool", functions[fn].name);
    if (f->without && (!sums || hd_type_is_float(arg->type)))
        return fw_unsupported(x, v,
                              hd_asprintf(a, "%s of %s over a frame that excludes rows", functions[fn].name,
                                          hd_type_text(arg->type, found)));
    if (!sums) {
        struct fe_window_at last = fw_last_row(f);
        bool single = arg->type.kind == HD_FLOAT32; /* float64 runs, and holds them all */
        struct fe_expr *wide = single ? fe_expr_cast(a, arg, hd_type_of(HD_FLOAT64)) : arg;
        enum fe_agg_fn least = fn == MIN ? FE_AGG_MIN : FE_AGG_MAX;
        if (!f->start.open || arg->type.kind == HD_STRING)
            *out = fw_framed(x, f, least, wide);
        else
            *out = fw_where_rows(x, f, fw_value_at(x, fw_add_value(x, least, wide), &last, 0, true));
        if (single)
            *out = hd_asprintf(a, "cast(%s as float32)", *out);
        return 0;
    }
    bool real = hd_type_is_float(arg->type);
    struct hd_type whole =
        real ? hd_type_of(HD_FLOAT64) : hd_decimal(HD_DEC_MAX, arg->type.kind == HD_DECIMAL ? arg->type.scale : 0);
    if (f->without)
        return aggregate_pieces(x, f, fn, arg, fn == SUM ? fe_sum_type(arg->type) : whole, out);
    if (fn == SUM) {
        *out = summed(x, f, arg, fe_sum_type(arg->type));
        return 0;
    }
    const char *n = counted(x, f, arg), *sum = summed(x, f, arg, whole);
    *out = hd_asprintf(
        a, real ? "case when %s > 0 then %s / cast(%s as float64) end" : "case when %s > 0 then %s / %s end", n, sum,
        n);
    return 0;
}

/* The value of the k-th row of the frame. */
static const char *nth(struct fw_reading *x, const struct fw_frame *f, int value, int64_t k)
{
    const struct fe_window_at first = fw_first_row(f), none = {.base = FE_WINDOW_ZERO};
    const char *at = fw_value_at(x, value, &first, k - 1, false);
    if (first.base == FE_WINDOW_ROW && first.by < 0)
        at = hd_asprintf(x->r->arena, "case when %s < 1 then %s else %s end", fw_number_at(x, &first, 0),
                         fw_value_at(x, value, &none, k, false), at);
    return hd_asprintf(x->r->arena, "case when %" PRId64 " <= %s then %s end", k, fw_frame_size(x, f), at);
}

/* ---- functions of numbers ------------------------------------------------------------------------------------ */

static const char *tile(struct fw_reading *x, int64_t k)
{
    const char *row = fw_number(x, FE_WINDOW_ROW), *n = fw_number(x, FE_WINDOW_ROWS);
    struct hd_arena *a = x->r->arena;
    const char *size = hd_asprintf(a, "(%s / %" PRId64 ")", n, k), *more = hd_asprintf(a, "(%s %% %" PRId64 ")", n, k);
    return hd_asprintf(a, "case when %s <= %s * (%s + 1) then (%s - 1) / (%s + 1) + 1 else (%s - 1 - %s) / %s + 1 end",
                       row, more, size, row, size, row, more, size);
}

static const char *numbered(struct fw_reading *x, enum function fn, int64_t k)
{
    struct hd_arena *a = x->r->arena;
    const char *n;
    switch (fn) {
    case ROW_NUMBER: return fw_number(x, FE_WINDOW_ROW);
    case RANK: return fw_number(x, FE_WINDOW_PEER_BEGIN);
    case DENSE_RANK: return fw_number(x, FE_WINDOW_DENSE);
    case PERCENT_RANK:
        n = fw_number(x, FE_WINDOW_ROWS);
        return hd_asprintf(a, "case when %s = 1 then 0e0 else cast(%s - 1 as float64) / cast(%s - 1 as float64) end", n,
                           fw_number(x, FE_WINDOW_PEER_BEGIN), n);
    case CUME_DIST:
        return hd_asprintf(a, "cast(%s as float64) / cast(%s as float64)", fw_number(x, FE_WINDOW_PEER_END),
                           fw_number(x, FE_WINDOW_ROWS));
    case NTILE: return tile(x, k);
    case LAG:
    case LEAD:
    case FIRST_VALUE:
    case LAST_VALUE:
    case NTH_VALUE:
    case COUNT:
    case SUM:
    case AVG:
    case MIN:
    case MAX:
    case FUNCTIONS: break;
    }
    HD_BUG("window function %d", (int)fn);
}

/* "default", where the condition holds, else the value. */
static int or_default(struct fw_reading *x, const struct fe_json *v, struct hd_type want, const char *outside,
                      const char **out)
{
    const struct fe_window_at row = {.base = FE_WINDOW_ROW};
    char t[HD_TEXT_MAX], found[HD_TEXT_MAX];
    struct fe_json m;
    struct fe_expr *other;
    struct hd_type both;
    if (!fe_json_get(v, "default", &m))
        return 0;
    HD_TRY(fe_read_expr(x->r, &m, &x->scope, NULL, NULL, &other));
    if (!fe_type_unify(want, other->type, &both))
        return fe_json_fail(&m, "expected a default of type %s, found %s", hd_type_text(want, t),
                            hd_type_text(other->type, found));
    if (other->op == FE_LIT) /* the literal changes, as beside a column */
        other = fe_expr_cast(x->r->arena, other, want);
    *out = hd_asprintf(x->r->arena, "case when %s then %s else %s end", outside,
                       fw_value_at(x, fw_add_value(x, FE_AGG_ANY, other), &row, 0, false), *out);
    return 0;
}

static int shifted(struct fw_reading *x, const struct fe_json *v, enum function fn, int value, const char **out)
{
    struct fe_json m;
    int64_t by = 1;
    HD_TRY(fe_json_opt_int(v, "offset", 0, FW_OFFSET_MAX, &by));
    const struct fe_window_at at = {.base = FE_WINDOW_ROW, .by = fn == LAG ? -by : by};
    *out = fw_value_at(x, value, &at, 0, false);
    if (!fe_json_get(v, "default", &m))
        return 0;
    const char *outside =
        fn == LAG ? hd_asprintf(x->r->arena, "%s < 1", fw_number_at(x, &at, 0))
                  : hd_asprintf(x->r->arena, "%s > %s", fw_number_at(x, &at, 0), fw_number(x, FE_WINDOW_ROWS));
    return or_default(x, v, x->w->values[value].arg->type, outside, out);
}

/* Rows without a value do not count. */
static int shifted_past_nulls(struct fw_reading *x, const struct fe_json *v, enum function fn, struct fe_expr *arg,
                              const char **out)
{
    struct hd_arena *a = x->r->arena;
    const char *row = fw_number(x, FE_WINDOW_ROW), *n, *at;
    int64_t by = 1;
    int value = fw_add_value(x, FE_AGG_ANY, arg), count = fw_add_value(x, FE_AGG_COUNT, arg);
    HD_TRY(fe_json_opt_int(v, "offset", 0, FW_OFFSET_MAX, &by));
    if (by == 0)
        return shifted(x, v, fn, value, out);
    HD_TRY(fw_count_at(x, count, fn == LAG ? hd_asprintf(a, "%s - 1", row) : row, &n));
    n = fn == LAG ? hd_asprintf(a, "%s + 1 - %" PRId64, n, by) : hd_asprintf(a, "%s + %" PRId64, n, by);
    HD_TRY(fw_value_of(x, fw_add_places(x, arg), n, &at));
    HD_TRY(fw_value_of(x, value, at, out));
    return or_default(x, v, arg->type, hd_asprintf(a, "coalesce(%s, 0) = 0", at), out);
}

/* first_value, last_value or nth_value of a frame that leaves rows out, by their place or because they have no value. */
static int chosen(struct fw_reading *x, const struct fw_frame *f, enum function fn, int64_t k, bool ignore,
                  struct fe_expr *arg, const char **out)
{
    int count = ignore ? fw_add_value(x, FE_AGG_COUNT, arg) : -1;
    const char *at;
    HD_TRY(fn == LAST_VALUE ? fw_pieces_last(x, f, count, &at) : fw_pieces_nth(x, f, count, k, &at));
    if (ignore)
        HD_TRY(fw_value_of(x, fw_add_places(x, arg), at, &at));
    return fw_value_of(x, fw_add_value(x, FE_AGG_ANY, arg), at, out);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int refuse(const struct fe_json *v, const char *key, bool takes, enum function fn)
{
    struct fe_json m;
    if (takes || !fe_json_get(v, key, &m))
        return 0;
    return fe_json_fail(&m, "%s takes no \"%s\"", functions[fn].name, key);
}

static int read_function_name(const struct fe_json *v, enum function *out)
{
    const char *names[FUNCTIONS];
    struct fe_json m;
    int k = 0;
    for (int i = 0; i < FUNCTIONS; i++)
        names[i] = functions[i].name;
    HD_TRY(fe_json_need(v, "fn", &m));
    HD_TRY(fe_read_choice(&m, names, FUNCTIONS, &k));
    *out = (enum function)k;
    HD_TRY(refuse(v, "arg", functions[k].arg || k == COUNT, *out));
    HD_TRY(refuse(v, "offset", functions[k].offset, *out));
    HD_TRY(refuse(v, "default", functions[k].offset, *out));
    HD_TRY(refuse(v, "n", functions[k].count, *out));
    HD_TRY(refuse(v, "nulls", functions[k].nulls, *out));
    return refuse(v, "frame", functions[k].framed, *out);
}

static int read_nulls(const struct fe_json *v, const struct fe_expr *arg, bool *ignore)
{
    static const char *const names[] = {"respect", "ignore"};
    struct fe_json m;
    int k = 0;
    if (!fe_json_get(v, "nulls", &m))
        return 0;
    HD_TRY(fe_read_choice(&m, names, HD_COUNT(names), &k));
    *ignore = k && arg && arg->nullable;
    return 0;
}

/* The function as text over the node's columns. */
static int read_function(struct fw_reading *x, const struct fe_json *v, const char **out)
{
    struct fe_json m;
    struct fe_expr *arg = NULL;
    struct fw_frame f = x->frame;
    enum function fn;
    int64_t k = 1;
    bool ignore = false;
    HD_TRY(fe_json_object(v, "fn", "arg", "offset", "default", "n", "nulls", "frame", "as", NULL));
    HD_TRY(read_function_name(v, &fn));
    if (fe_json_get(v, "arg", &m))
        HD_TRY(fe_read_expr(x->r, &m, &x->scope, NULL, NULL, &arg));
    else if (functions[fn].arg)
        return fe_json_need(v, "arg", &m);
    if (functions[fn].count) {
        HD_TRY(fe_json_need(v, "n", &m));
        HD_TRY(fe_json_opt_int(v, "n", 1, FW_OFFSET_MAX, &k));
    }
    HD_TRY(read_nulls(v, arg, &ignore));
    HD_TRY(fw_read_frame(x, v, &f));
    x->ties |= functions[fn].ties || f.without == FW_ROW || f.without == FW_TIES;
    if (functions[fn].nulls && (f.without || ignore) && functions[fn].framed)
        return chosen(x, &f, fn, k, ignore, arg, out);
    if (ignore)
        return shifted_past_nulls(x, v, fn, arg, out);
    switch (fn) {
    case LAG:
    case LEAD: return shifted(x, v, fn, fw_add_value(x, FE_AGG_ANY, arg), out);
    case FIRST_VALUE: *out = nth(x, &f, fw_add_value(x, FE_AGG_ANY, arg), 1); return 0;
    case NTH_VALUE: *out = nth(x, &f, fw_add_value(x, FE_AGG_ANY, arg), k); return 0;
    case LAST_VALUE: {
        struct fe_window_at last = fw_last_row(&f);
        *out = fw_where_rows(x, &f, fw_value_at(x, fw_add_value(x, FE_AGG_ANY, arg), &last, 0, true));
        return 0;
    }
    case COUNT:
    case SUM:
    case AVG:
    case MIN:
    case MAX: return aggregate(x, v, fn, &f, arg, out);
    case ROW_NUMBER:
    case RANK:
    case DENSE_RANK:
    case PERCENT_RANK:
    case CUME_DIST:
    case NTILE:
    case FUNCTIONS: break;
    }
    *out = numbered(x, fn, k);
    return 0;
}

/* The columns of the node, now that all are known. */
static void set_columns(struct fw_reading *x)
{
    struct fe_node *n = x->n;
    int nin = x->scope.ncols;
    n->ncols = nin + x->w->ncolumns;
    n->cols = HD_NEWN(x->r->arena, struct fe_column, n->ncols + 1);
    for (int i = 0; i < nin; i++)
        n->cols[i] = x->scope.cols[i];
    for (int i = 0; i < x->w->ncolumns; i++)
        n->cols[nin + i] = fw_column_of(x, i);
}

/* The projection that has the input's columns, then the functions. */
static int project(struct fw_reading *x, const struct fe_json *list, const char *const *text, struct fe_column *cols,
                   struct fe_node **out)
{
    struct fe_plan_reader *r = x->r;
    struct fe_node *p = HD_NEW(r->arena, struct fe_node);
    struct fe_scope scope = fe_scope_of(x->n);
    struct fe_json m, as;
    int nin = x->scope.ncols;
    struct fe_column *own = hd_dup(r->arena, x->n->cols, (size_t)x->n->ncols * sizeof *own);
    for (int i = 0; i < nin; i++) /* the texts name none of the input's columns */
        own[i].name = "";
    scope.cols = own;
    *p = (struct fe_node){.op = FE_PROJECT_OP, .path = x->n->path, .ninputs = 1};
    p->inputs = HD_NEWN(r->arena, struct fe_node *, 1);
    p->inputs[0] = x->n;
    p->u.project.exprs = HD_NEWN(r->arena, struct fe_expr *, nin + fe_json_length(list) + 1);
    for (int i = 0; i < nin; i++) {
        cols[i] = x->scope.cols[i];
        p->u.project.exprs[i] = fe_expr_column(r->arena, i, &cols[i], x->n->path);
    }
    for (bool more = fe_json_first(list, &m); more; more = fe_json_next(&m)) {
        struct fe_typing t = {r->arena, r->err, r->plan->params, r->plan->nparams, &scope};
        struct fe_ast *ast;
        struct fe_expr **e = &p->u.project.exprs[nin + m.index];
        HD_TRY(fe_ast_parse(r->arena, text[m.index], fe_json_path(&m), &ast, r->err));
        HD_TRY(fe_ast_type(&t, ast, NULL, NULL, e));
        struct fe_column *c = &cols[nin + m.index];
        *c = (struct fe_column){NULL, (*e)->type, (*e)->nullable};
        HD_TRY(fe_json_need(&m, "as", &as));
        HD_TRY(fe_json_name(&as, &c->name));
    }
    *out = p;
    return 0;
}

int fe_read_WINDOW(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "input", "partition", "order", "frame", "functions", NULL));
    struct fw_reading x = {.r = r, .n = fe_new_node(r, v, FE_WINDOW_OP, 1), .w = HD_NEW(r->arena, struct fe_window)};
    struct fe_json list, m;
    HD_TRY(fe_read_input(r, v, "input", &x.n->inputs[0]));
    x.scope = fe_scope_of(x.n->inputs[0]);
    *x.w = (struct fe_window){.nvalues = 0};
    x.n->u.sort.window = x.w;
    x.n->u.sort.limit = -1;
    HD_TRY(fe_read_order(r, v, "partition", &x.scope, x.n));
    bool ordered = x.n->u.sort.nstated > x.n->u.sort.ngroup;
    x.frame = (struct fw_frame){.start.open = true, .end = {.open = !ordered, .at.base = FE_WINDOW_PEER_END}};
    HD_TRY(fw_read_frame(&x, v, &x.frame));
    HD_TRY(fe_json_need(v, "functions", &list));
    HD_TRY(fe_json_array(&list));
    int count = fe_json_length(&list);
    if (!count)
        return fe_json_fail(&list, "expected at least one function");
    const char **text = HD_NEWN(r->arena, const char *, count);
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m))
        HD_TRY(read_function(&x, &m, &text[m.index]));
    if (!x.ties)
        x.n->u.sort.nkeys = x.n->u.sort.nstated;
    set_columns(&x);
    struct fe_column *cols = HD_NEWN(r->arena, struct fe_column, x.scope.ncols + count);
    HD_TRY(project(&x, &list, text, cols, out));
    return fe_set_columns(r, v, *out, x.scope.ncols + count, cols);
}
