/* Operators of one input, tables and values for Substrait. */
#include <cjson/cJSON.h>

#include "frontend/catalog.h"
#include "frontend/substrait_produce.h"

struct cJSON *sp_new_rel(struct sp *p, const char *kind, struct cJSON *input, struct cJSON **body)
{
    struct cJSON *rel = fe_make_object(p->arena), *common = fe_make_object(p->arena);
    *body = fe_make_object(p->arena);
    fe_put(common, "direct", fe_make_object(p->arena));
    fe_put(*body, "common", common);
    if (input)
        fe_put(*body, "input", input);
    fe_put(rel, kind, *body);
    return rel;
}

/* ---- emit -------------------------------------------------------------------------------- */

static struct cJSON *nth(struct cJSON *list, int i)
{
    struct cJSON *m = fe_first_json(list);
    while (i--)
        m = fe_next_json(m);
    return m;
}

static struct cJSON *mapping(struct sp *p, int n, const int *fields, int first)
{
    struct cJSON *list = fe_make_list(p->arena);
    for (int i = 0; i < n; i++)
        fe_push(list, fe_make_number(p->arena, fields ? fields[i] : first + i));
    return list;
}

/* What a mapping has at these places of another one. */
static struct cJSON *composed(struct sp *p, struct cJSON *was, const struct cJSON *to)
{
    struct cJSON *list = fe_make_list(p->arena);
    for (const struct cJSON *m = fe_first_json(to); m; m = fe_next_json(m))
        fe_push(list, fe_copy_json(p->arena, nth(was, (int)m->valuedouble)));
    return list;
}

struct cJSON *sp_emit(struct sp *p, struct cJSON *rel, int n, const int *fields, int first)
{
    struct cJSON *body = fe_first_json(rel), *common = fe_member(body, "common"), *list = mapping(p, n, fields, first);
    struct cJSON *emit = fe_make_object(p->arena);
    if (!common) { /* a reference: a projection of nothing has an emit */
        rel = sp_new_rel(p, "project", rel, &body);
        common = fe_member(body, "common");
    }
    const struct cJSON *was = fe_member(common, "emit");
    if (was)
        list = composed(p, fe_member(was, "outputMapping"), list);
    fe_put(emit, "outputMapping", list);
    common->child = NULL;
    fe_put(common, "emit", emit);
    return rel;
}

/* ---- tables ------------------------------------------------------------------------------ */

static int schema(struct sp *p, const struct fe_node *n, struct cJSON **out)
{
    const struct fe_table *t = n->op == FE_SCAN_OP ? n->u.scan.table : NULL;
    struct cJSON *names = fe_make_list(p->arena), *types = fe_make_list(p->arena), *body = fe_make_object(p->arena);
    for (int i = 0; i < (t ? t->ncols : n->ncols); i++) {
        struct cJSON *type = NULL;
        HD_TRY(t ? sp_type(p, t->cols[i].type, t->cols[i].nullable, n->path, &type)
                 : sp_type(p, n->cols[i].type, n->cols[i].nullable, n->path, &type));
        fe_push(names, fe_make_string(p->arena, t ? t->cols[i].name : n->cols[i].name));
        fe_push(types, type);
    }
    fe_put(body, "types", types);
    fe_put(body, "nullability", fe_make_string(p->arena, "NULLABILITY_REQUIRED"));
    *out = fe_make_object(p->arena);
    fe_put(*out, "names", names);
    fe_put(*out, "struct", body);
    return 0;
}

/* A mask has the table's order, an emit another one. */
static struct cJSON *project_scan(struct sp *p, const struct fe_node *n, struct cJSON *rel, struct cJSON *body)
{
    const struct fe_table *t = n->u.scan.table;
    int *at = HD_NEWN(p->arena, int, t->ncols + 1), *fields = HD_NEWN(p->arena, int, n->ncols + 1), k = 0;
    struct cJSON *mask = fe_make_object(p->arena), *select = fe_make_object(p->arena), *items = fe_make_list(p->arena);
    bool same = true, ordered = true;
    for (int i = 0; i < n->ncols; i++)
        at[n->u.scan.columns[i]] = 1;
    for (int c = 0; c < t->ncols; c++) {
        if (!at[c])
            continue;
        struct cJSON *item = fe_make_object(p->arena);
        fe_put(item, "field", fe_make_number(p->arena, c));
        fe_push(items, item);
        at[c] = k++;
    }
    for (int i = 0; i < n->ncols; i++) {
        fields[i] = at[n->u.scan.columns[i]];
        ordered &= fields[i] == i;
        same &= n->u.scan.columns[i] == i;
    }
    fe_put(select, "structItems", items);
    fe_put(mask, "select", select);
    fe_put(mask, "maintainSingularStruct", fe_make_bool(p->arena, true));
    if (!same || n->ncols < t->ncols)
        fe_put(body, "projection", mask);
    return ordered ? rel : sp_emit(p, rel, n->ncols, fields, 0);
}

/* A filter stands above the whole table: not every reader looks at one within it. */
static int filter_scan(struct sp *p, const struct fe_node *n, struct cJSON *input, struct cJSON **out)
{
    struct cJSON *body, *x = NULL;
    bool all = n->ncols == n->u.scan.table->ncols;
    for (int i = 0; i < n->ncols; i++)
        all &= n->u.scan.columns[i] == i;
    HD_TRY(sp_expr(p, n->u.scan.filter, 0, &x));
    *out = sp_new_rel(p, "filter", input, &body);
    fe_put(body, "condition", x);
    if (!all)
        *out = sp_emit(p, *out, n->ncols, n->u.scan.columns, 0);
    return 0;
}

static int scan(struct sp *p, const struct fe_node *n, struct cJSON **out)
{
    struct cJSON *body, *base = NULL, *table = fe_make_object(p->arena), *names = fe_make_list(p->arena);
    *out = sp_new_rel(p, "read", NULL, &body);
    HD_TRY(schema(p, n, &base));
    fe_put(body, "baseSchema", base);
    fe_push(names, fe_make_string(p->arena, n->u.scan.table->name));
    fe_put(table, "names", names);
    fe_put(body, "namedTable", table);
    if (n->u.scan.filter)
        return filter_scan(p, n, *out, out);
    *out = project_scan(p, n, *out, body);
    return 0;
}

static int value_row(struct sp *p, const struct fe_node *n, const struct fe_value *v, struct cJSON *rows)
{
    struct cJSON *row = fe_make_object(p->arena), *fields = fe_make_list(p->arena), *x = NULL;
    for (int c = 0; c < n->ncols; c++) {
        struct fe_value typed = v[c];
        typed.type = n->cols[c].type;
        HD_TRY(sp_literal(p, &typed, n->path, &x));
        fe_push(fields, x);
    }
    fe_put(row, "fields", fields);
    fe_push(rows, row);
    return 0;
}

static int values(struct sp *p, const struct fe_node *n, struct cJSON **out)
{
    const struct fe_param *list = n->u.values.list;
    struct cJSON *body, *base = NULL, *table = fe_make_object(p->arena), *rows = fe_make_list(p->arena);
    if (list && !list->has_default && !list->bound)
        return sp_refuse(p, n->path, "a list parameter without a default is not written as Substrait: :%s", list->name);
    *out = sp_new_rel(p, "read", NULL, &body);
    HD_TRY(schema(p, n, &base));
    fe_put(body, "baseSchema", base);
    for (int64_t i = 0; i < fe_values_count(n); i++)
        HD_TRY(value_row(p, n, fe_values_rows(n) + i * n->ncols, rows));
    fe_put(table, "expressions", rows);
    fe_put(body, "virtualTable", table);
    return 0;
}

/* ---- operators of one input -------------------------------------------------------------- */

static int filter(struct sp *p, const struct fe_node *n, struct cJSON **out)
{
    struct cJSON *body, *input = NULL, *x = NULL;
    HD_TRY(p->rel(p, n->inputs[0], &input));
    HD_TRY(sp_expr(p, n->u.filter.pred, 0, &x));
    *out = sp_new_rel(p, "filter", input, &body);
    fe_put(body, "condition", x);
    return 0;
}

/* What is computed comes behind the input's fields; a column stands for itself. */
static int project(struct sp *p, const struct fe_node *n, struct cJSON **out)
{
    struct cJSON *body, *input = NULL, *x = NULL, *exprs = fe_make_list(p->arena);
    int *fields = HD_NEWN(p->arena, int, n->ncols + 1), k = n->inputs[0]->ncols;
    if (n->inputs[0]->op == FE_WINDOW_OP)
        return sp_window(p, n, out);
    HD_TRY(p->rel(p, n->inputs[0], &input));
    bool same = n->ncols == k;
    for (int i = 0; i < n->ncols; i++) {
        const struct fe_expr *e = n->u.project.exprs[i];
        fields[i] = e->op == FE_COL ? e->col : k++;
        same &= fields[i] == i;
        if (e->op == FE_COL)
            continue;
        HD_TRY(sp_expr(p, e, 0, &x));
        fe_push(exprs, x);
    }
    if (fe_first_json(exprs)) {
        input = sp_new_rel(p, "project", input, &body);
        fe_put(body, "expressions", exprs);
    }
    *out = same ? input : sp_emit(p, input, n->ncols, fields, 0);
    return 0;
}

int sp_sorts(struct sp *p, const struct fe_sort_key *keys, int n, struct cJSON **out)
{
    static const char *const directions[2][2] = {{"SORT_DIRECTION_ASC_NULLS_LAST", "SORT_DIRECTION_ASC_NULLS_FIRST"},
                                                 {"SORT_DIRECTION_DESC_NULLS_LAST", "SORT_DIRECTION_DESC_NULLS_FIRST"}};
    *out = fe_make_list(p->arena);
    for (int i = 0; i < n; i++) {
        struct cJSON *key = fe_make_object(p->arena), *x = NULL;
        HD_TRY(sp_expr(p, keys[i].expr, 0, &x));
        fe_put(key, "expr", x);
        fe_put(key, "direction", fe_make_string(p->arena, directions[keys[i].desc][keys[i].nulls_first]));
        fe_push(*out, key);
    }
    return 0;
}

static int put_count(struct sp *p, const struct fe_expr *e, const char *key, struct cJSON *body)
{
    struct cJSON *x = NULL;
    if (!e)
        return 0;
    HD_TRY(sp_expr(p, e, 0, &x));
    fe_put(body, key, x);
    return 0;
}

/* All keys are written, those that break ties too: so a limit takes the same rows wherever it is run. */
static int sort(struct sp *p, const struct fe_node *n, struct cJSON **out)
{
    struct cJSON *body, *keys = NULL;
    HD_TRY(p->rel(p, n->inputs[0], out));
    if (n->u.sort.nkeys) {
        HD_TRY(sp_sorts(p, n->u.sort.keys, n->u.sort.nkeys, &keys));
        *out = sp_new_rel(p, "sort", *out, &body);
        fe_put(body, "sorts", keys);
    }
    if (!n->u.sort.limit && !n->u.sort.offset)
        return 0;
    *out = sp_new_rel(p, "fetch", *out, &body);
    HD_TRY(put_count(p, n->u.sort.offset, "offsetExpr", body));
    return put_count(p, n->u.sort.limit, "countExpr", body);
}

static int set(struct sp *p, const struct fe_node *n, const char *op, struct cJSON **out)
{
    struct cJSON *body, *inputs = fe_make_list(p->arena), *x = NULL;
    for (int i = 0; i < n->ninputs; i++) {
        HD_TRY(p->rel(p, n->inputs[i], &x));
        fe_push(inputs, x);
    }
    *out = sp_new_rel(p, "set", NULL, &body);
    fe_put(body, "inputs", inputs);
    fe_put(body, "op", fe_make_string(p->arena, op));
    return 0;
}

/* ---- shared subplans --------------------------------------------------------------------- */

static int shared(struct sp *p, const struct fe_node *n, struct cJSON **out)
{
    struct cJSON *body;
    int k = n->u.ref.shared;
    if (p->ordinal[k] < 0)
        return p->rel(p, p->plan->shared[k], out);
    *out = fe_make_object(p->arena);
    body = fe_make_object(p->arena);
    fe_put(body, "subtreeOrdinal", fe_make_number(p->arena, p->ordinal[k]));
    fe_put(*out, "reference", body);
    return 0;
}

/* ---- all of them ------------------------------------------------------------------------- */

static int rel(struct sp *p, const struct fe_node *n, struct cJSON **out)
{
    switch (n->op) {
    case FE_SCAN_OP: return scan(p, n, out);
    case FE_REF_OP: return shared(p, n, out);
    case FE_FILTER_OP: return filter(p, n, out);
    case FE_PROJECT_OP: return project(p, n, out);
    case FE_JOIN_OP: return sp_join(p, n, out);
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP: return sp_aggregate(p, n, out);
    case FE_SORT_OP:
    case FE_LIMIT_OP: return sort(p, n, out);
    case FE_TOP_OP: return sp_top(p, n, out);
    case FE_UNION_ALL_OP: return set(p, n, "SET_OP_UNION_ALL", out);
    case FE_UNION_OP: return set(p, n, "SET_OP_UNION_DISTINCT", out);
    case FE_INTERSECT_OP:
        return set(p, n, n->u.set.all ? "SET_OP_INTERSECTION_MULTISET_ALL" : "SET_OP_INTERSECTION_MULTISET", out);
    case FE_EXCEPT_OP: return set(p, n, n->u.set.all ? "SET_OP_MINUS_PRIMARY_ALL" : "SET_OP_MINUS_PRIMARY", out);
    case FE_VALUES_OP: return values(p, n, out);
    case FE_PAIRS_OP:
    case FE_REPEAT_OP: return sp_refuse(p, n->path, "Substrait has no relation for %s", fe_relop_name(n->op));
    case FE_WINDOW_OP: /* written with the projection above it */
    case FE_RELOP_COUNT: break;
    }
    HD_BUG("operator %d in a plan that is written", (int)n->op);
}

/* ---- the document ------------------------------------------------------------------------ */

static void count_uses(struct sp *p, const struct fe_node *n)
{
    if (n->op == FE_REF_OP)
        p->uses[n->u.ref.shared]++;
    for (int i = 0; i < n->ninputs; i++)
        count_uses(p, n->inputs[i]);
}

enum { SUB_MINOR_VERSION = 86 /* that substrait_fields.def is of */ };
enum { SHORT = 32 /* operators of a subplan that may be written at each use */ };

static int size_of(const struct fe_node *n)
{
    int size = n->op == FE_REF_OP ? SHORT + 1 : 1;
    for (int i = 0; i < n->ninputs && size <= SHORT; i++)
        size += size_of(n->inputs[i]);
    return size;
}

/* Rows of a table, or groups, which readers find to be equal: written at each use. Others are relations of their own. */
static bool is_plain(const struct fe_node *n)
{
    if (size_of(n) > SHORT)
        return false;
    while (n->ninputs == 1 && (n->op == FE_FILTER_OP || n->op == FE_PROJECT_OP) && n->inputs[0]->op != FE_WINDOW_OP)
        n = n->inputs[0];
    return n->op == FE_SCAN_OP || n->op == FE_VALUES_OP || n->op == FE_AGGREGATE_OP || n->op == FE_DISTINCT_OP;
}

static int subtrees(struct sp *p)
{
    const struct fe_plan *plan = p->plan;
    int n = 0;
    p->uses = HD_NEWN(p->arena, int, plan->nshared + 1);
    p->ordinal = HD_NEWN(p->arena, int, plan->nshared + 1);
    count_uses(p, plan->root);
    for (int i = plan->nshared - 1; i >= 0; i--)
        if (p->uses[i])
            count_uses(p, plan->shared[i]);
    for (int i = 0; i < plan->nshared; i++) {
        struct cJSON *item = fe_make_object(p->arena), *x = NULL;
        p->ordinal[i] = -1;
        if (p->uses[i] < 2 || is_plain(plan->shared[i]))
            continue;
        HD_TRY(p->rel(p, plan->shared[i], &x));
        fe_put(item, "rel", x);
        fe_push(p->relations, item);
        p->ordinal[i] = n++;
    }
    return 0;
}

static int root(struct sp *p)
{
    struct cJSON *item = fe_make_object(p->arena), *body = fe_make_object(p->arena), *names = fe_make_list(p->arena);
    struct cJSON *x = NULL;
    const struct fe_node *n = p->plan->root;
    HD_TRY(p->rel(p, n, &x));
    for (int i = 0; i < n->ncols; i++)
        fe_push(names, fe_make_string(p->arena, n->cols[i].name));
    fe_put(body, "input", x);
    fe_put(body, "names", names);
    fe_put(item, "root", body);
    fe_push(p->relations, item);
    return 0;
}

/* Values that parameters have unless others are bound. */
static int bindings(struct sp *p, struct cJSON *out)
{
    struct cJSON *list = fe_make_list(p->arena);
    for (int i = 0; i < p->plan->nparams; i++) {
        const struct fe_param *param = &p->plan->params[i];
        struct cJSON *b = fe_make_object(p->arena), *x = NULL;
        if (!param->has_default || param->is_list)
            continue;
        HD_TRY(sp_literal(p, &param->value, param->path, &x));
        fe_put(b, "parameterAnchor", fe_make_number(p->arena, i));
        fe_put(b, "value", fe_copy_json(p->arena, fe_first_json(x)));
        fe_push(list, b);
    }
    if (fe_first_json(list))
        fe_put(out, "parameterBindings", list);
    return 0;
}

static struct cJSON *version(struct sp *p)
{
    struct cJSON *v = fe_make_object(p->arena);
    fe_put(v, "minorNumber", fe_make_number(p->arena, SUB_MINOR_VERSION));
    fe_put(v, "producer", fe_make_string(p->arena, "heddle"));
    return v;
}

int sub_produce(struct hd_arena *a, const struct fe_plan *plan, struct cJSON **out, struct hd_err *err)
{
    struct sp p = {.arena = a, .err = err, .plan = plan, .rel = rel};
    p.urns = fe_make_list(a);
    p.functions = fe_make_list(a);
    p.relations = fe_make_list(a);
    HD_TRY(subtrees(&p));
    HD_TRY(root(&p));
    *out = fe_make_object(a);
    fe_put(*out, "version", version(&p));
    if (fe_first_json(p.urns)) {
        fe_put(*out, "extensionUrns", p.urns);
        fe_put(*out, "extensions", p.functions);
    }
    fe_put(*out, "relations", p.relations);
    return bindings(&p, *out);
}
