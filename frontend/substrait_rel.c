/* Relations: which there are, and those of one input. */
#include <cjson/cJSON.h>
#include <string.h>

#include "frontend/substrait_read.h"
#include "runtime/base/vec.h"

enum { MAX_RELATIONS = 250 /* on a path */, MAX_COUNT = 20000 };
static const double all_rows = 9007199254740991.0;

static void put_on_top(struct sub *t, struct sub_rel *r, const char *op)
{
    struct cJSON *node = sub_make_op(t, op);
    fe_put(node, "input", r->node);
    r->node = node;
}

/* ---- filter ------------------------------------------------------------------------------ */

static int filter_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    struct fe_json m;
    struct cJSON *x;
    struct sub_scope s = {.input = out, .decides = true};
    HD_TRY(sub_input(t, v, "input", out));
    HD_TRY(fe_json_need(v, "condition", &m));
    int before = t->subplans;
    HD_TRY(sub_expr(t, &m, &s, &x));
    out->one_row = false;
    if (sub_is(out, "scan") && !fe_member(out->node, "filter") && t->subplans == before) {
        fe_put(out->node, "filter", x);
        return 0;
    }
    put_on_top(t, out, "filter");
    fe_put(out->node, "pred", x);
    return 0;
}

/* ---- project ----------------------------------------------------------------------------- */

static bool mentions(const struct fe_json *v, const char *key)
{
    struct fe_json m;
    for (bool more = fe_json_first(v, &m); more; more = fe_json_next(&m))
        if ((m.key && strcmp(m.key, key) == 0) || mentions(&m, key))
            return true;
    return false;
}

/* A column stands for itself; what is computed gets a name. */
static const char *add_computed(struct sub *t, struct cJSON *x, struct cJSON *exprs)
{
    const char *column = sub_column_of(x), *name;
    if (column)
        return column;
    struct cJSON *e = fe_make_object(t->arena);
    name = sub_new_name(t, "expr");
    fe_put(e, "expr", x);
    fe_put(e, "as", fe_make_string(t->arena, name));
    fe_push(exprs, e);
    return name;
}

static bool has_emit(const struct fe_json *v)
{
    struct fe_json common, emit;
    return fe_json_get(v, "common", &common) && fe_json_get(&common, "emit", &emit);
}

static int project_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    struct fe_json list, m;
    struct cJSON *exprs = fe_make_list(t->arena), *x;
    HD_VEC(const char *) cols = {0};
    struct sub_scope s = {.input = out};
    HD_TRY(sub_input(t, v, "input", out));
    bool some = sub_list(v, "expressions", &list);
    if (some && mentions(&list, "windowFunction"))
        sub_narrow(t, out); /* its other columns would break ties */
    for (bool more = some && fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        HD_TRY(sub_expr(t, &m, &s, &x));
        const char *name = add_computed(t, x, exprs);
        hd_vec_push(t->arena, &cols, name);
    }
    if (fe_first_json(exprs)) {
        put_on_top(t, out, "project");
        fe_put(out->node, "keep", fe_make_bool(t->arena, true));
        fe_put(out->node, "exprs", exprs);
        out->exact = false;
    }
    if (t->producer == SUB_DUCKDB && !has_emit(v)) { /* it means the expressions alone */
        out->n = 0;
        out->exact = false;
    }
    const char **all = HD_NEWN(t->arena, const char *, out->n + cols.n + 1);
    if (out->n)
        memcpy(all, out->cols, (size_t)out->n * sizeof *all);
    if (cols.n)
        memcpy(all + out->n, cols.v, (size_t)cols.n * sizeof *all);
    out->exact &= cols.n == 0;
    out->cols = all;
    out->n += cols.n;
    return 0;
}

/* ---- sort, fetch ------------------------------------------------------------------------- */

static int sort_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    struct fe_json list;
    struct cJSON *keys;
    struct sub_scope s = {.input = out, .place = "a sort"};
    HD_TRY(sub_input(t, v, "input", out));
    sub_narrow(t, out); /* its other columns would break ties */
    if (!sub_list(v, "sorts", &list))
        return 0;
    HD_TRY(sub_sort_keys(t, &list, &s, &keys));
    put_on_top(t, out, "sort");
    fe_put(out->node, "keys", keys);
    return 0;
}

/* A number, as a literal, a parameter, or an integer of older plans. *out is NULL if there is none, or it is -1. */
static int read_count(struct sub *t, const struct fe_json *v, const char *expr, const char *number, struct cJSON **out)
{
    struct fe_json m;
    struct cJSON *x;
    struct sub_scope nothing = {.place = "a fetch"};
    int64_t n = -1;
    *out = NULL;
    if (fe_json_get(v, expr, &m)) {
        HD_TRY(sub_expr(t, &m, &nothing, &x));
        if (fe_member(x, "param")) {
            *out = x;
            return 0;
        }
        const struct cJSON *lit = fe_member(x, "lit");
        if (!lit)
            return sub_refuse(t, &m, "expected a literal or a parameter");
        if (!cJSON_IsNull(lit))
            *out = fe_copy_json(t->arena, lit);
        return 0;
    }
    HD_TRY(fe_json_opt_int(v, number, -1, INT64_MAX, &n));
    if (n >= 0)
        *out = fe_make_number(t->arena, (double)HD_MIN(n, (int64_t)all_rows));
    return 0;
}

/* The sort whose order the rows are in, if it has no limit yet; or NULL. */
static struct cJSON *sort_below(struct cJSON *node)
{
    const char *op = fe_member_text(node, "op");
    while (strcmp(op, "project") == 0) {
        node = fe_member(node, "input");
        op = fe_member_text(node, "op");
    }
    return strcmp(op, "sort") == 0 && !fe_member(node, "limit") && !fe_member(node, "offset") ? node : NULL;
}

static int fetch_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    struct cJSON *limit, *offset;
    HD_TRY(sub_input(t, v, "input", out));
    HD_TRY(read_count(t, v, "countExpr", "count", &limit));
    HD_TRY(read_count(t, v, "offsetExpr", "offset", &offset));
    out->one_row = false;
    if (!limit && !offset)
        return 0;
    struct cJSON *node = sort_below(out->node);
    if (!node) {
        put_on_top(t, out, "limit");
        node = out->node;
        limit = limit ? limit : fe_make_number(t->arena, all_rows);
    }
    if (limit)
        fe_put(node, "limit", limit);
    if (offset)
        fe_put(node, "offset", offset);
    return 0;
}

/* ---- windows ----------------------------------------------------------------------------- */

static int window_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    struct fe_json list, m;
    struct sub_scope s = {.input = out, .place = "a window"};
    HD_TRY(sub_input(t, v, "input", out));
    sub_narrow(t, out);
    HD_TRY(fe_json_need(v, "windowFunctions", &list));
    int n = out->n;
    const char **cols = HD_NEWN(t->arena, const char *, n + fe_json_length(&list) + 1);
    if (n)
        memcpy(cols, out->cols, (size_t)n * sizeof *cols);
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m))
        HD_TRY(sub_window(t, &m, v, &s, &cols[n++]));
    out->cols = cols;
    out->n = n;
    return 0;
}

/* ---- subtrees that are used more than once ---------------------------------------------- */

static void count_references(const struct cJSON *v, int n, int *uses)
{
    for (const struct cJSON *m = fe_first_json(v); m; m = fe_next_json(m)) {
        const struct cJSON *number = fe_member(m, "subtreeOrdinal");
        double k = number && cJSON_IsNumber(number) ? number->valuedouble : 0;
        if (m->string && strcmp(m->string, "reference") == 0 && k >= 0 && k < n)
            uses[(int)k]++;
        count_references(m, n, uses);
    }
}

static bool used_again(struct sub *t, int number)
{
    int n = fe_json_length(t->relations);
    if (!t->uses) {
        t->uses = HD_NEWN(t->arena, int, n);
        count_references(t->relations->item, n, t->uses);
    }
    return t->uses[number] > 1;
}

static int reference_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    struct fe_json m;
    int64_t number;
    HD_TRY(sub_int(v, "subtreeOrdinal", &number));
    bool more = t->relations && fe_json_first(t->relations, &m);
    while (more && m.index != number)
        more = fe_json_next(&m);
    struct fe_json rel;
    if (!more || !fe_json_get(&m, "rel", &rel))
        return fe_json_fail(v, "expected the number of a relation without a root, found %lld", (long long)number);
    return used_again(t, m.index) ? sub_reference(t, &rel, out) : t->rel(t, &rel, out);
}

/* ---- all of them ------------------------------------------------------------------------- */

static int emit(struct sub *t, const struct fe_json *v, struct sub_rel *r)
{
    struct fe_json common, how, list, m;
    if (!fe_json_get(v, "common", &common) || !fe_json_get(&common, "emit", &how))
        return 0;
    int n = sub_list(&how, "outputMapping", &list) ? fe_json_length(&list) : 0, i = 0;
    const char **cols = HD_NEWN(t->arena, const char *, n + 1);
    for (bool more = n && fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        int64_t k;
        HD_TRY(fe_json_int(&m, 0, INT32_MAX, &k));
        if (k >= r->n)
            return fe_json_fail(&m, "expected a field below %d, found %d", r->n, (int)k);
        cols[i++] = r->cols[k];
    }
    r->exact &= n == r->n && memcmp(cols, r->cols, (size_t)n * sizeof *cols) == 0;
    r->cols = cols;
    r->n = n;
    return 0;
}

static void note_origin(struct sub *t, const struct fe_json *v, const struct sub_rel *r)
{
    struct sub_origin *o = HD_NEW(t->arena, struct sub_origin);
    *o = (struct sub_origin){r->node, fe_json_path(v), t->origins};
    t->origins = o;
}

int sub_relation(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    static const char *const names[] = {"read", "filter", "project", "aggregate", "sort",     "fetch",
                                        "join", "set",    "cross",   "window",    "reference"};
    static int (*const rules[])(struct sub *t, const struct fe_json *v, struct sub_rel *out) = {
        sub_read_rel, filter_rel,  project_rel,   sub_aggregate_rel, sort_rel,     fetch_rel,
        sub_join_rel, sub_set_rel, sub_cross_rel, window_rel,        reference_rel};
    int k;
    struct fe_json m;
    HD_TRY(sub_kind(v, names, (int)HD_COUNT(names), "a relation", &k, &m));
    bool groups = rules[k] == sub_aggregate_rel;
    if (groups && sub_find_shared(t, v, out))
        return 0;
    if (t->depth >= MAX_RELATIONS)
        return fe_json_fail(v, "relations are nested deeper than %d levels", MAX_RELATIONS);
    if (++t->count > MAX_COUNT)
        return fe_json_fail(v, "expected at most %d relations", MAX_COUNT);
    t->depth++;
    *out = (struct sub_rel){0};
    HD_TRY(rules[k](t, &m, out));
    t->depth--;
    HD_TRY(emit(t, &m, out));
    note_origin(t, &m, out);
    if (groups)
        sub_may_share(t, v, out);
    return 0;
}
