/* Reads the plan document: version, parameters, shared subplans, the tree of operators. The
 * operators themselves are read in plan_ops.c and plan_join.c. */
#include "frontend/plan_read.h"

#include <stdio.h>
#include <string.h>

#include "frontend/value.h"
#include "runtime/base/suggest.h"
#include "runtime/base/strbuf.h"
#include "runtime/base/vec.h"

/* ---- helpers for the operators -------------------------------------------------------- */

struct fe_node *fe_new_node(struct fe_plan_reader *r, const struct fe_json *v, enum fe_relop op, int ninputs)
{
    struct fe_node *n = HD_NEW(r->arena, struct fe_node);
    n->op = op;
    n->id = -1;
    n->path = fe_json_path(v);
    n->ninputs = ninputs;
    n->inputs = HD_NEWN(r->arena, struct fe_node *, ninputs);
    return n;
}

int fe_set_columns(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n, int ncols,
                   const struct fe_column *cols)
{
    if (ncols > FE_PLAN_MAX_COLUMNS)
        return fe_json_fail(v, "expected at most %d output columns, found %d", FE_PLAN_MAX_COLUMNS, ncols);
    if (ncols == 0)
        return fe_json_fail(v, "expected at least one output column");
    for (int i = 0; i < ncols; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(cols[i].name, cols[k].name) == 0)
                return fe_json_fail(v,
                                    "two output columns are called \"%.100s\"; rename one with "
                                    "an alias or a project",
                                    cols[i].name);
    n->ncols = ncols;
    n->cols = hd_dup(r->arena, cols, (size_t)ncols * sizeof *cols);
    return 0;
}

struct fe_scope fe_scope_of(const struct fe_node *n)
{
    return (struct fe_scope){n->ncols, n->cols, NULL};
}

int fe_read_expr(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope,
                 const struct hd_type *want, const char *what, struct fe_expr **out)
{
    struct fe_typing t = {r->arena, r->err, r->plan->params, r->plan->nparams, scope};
    struct fe_ast *x;
    HD_TRY(fe_ast_read(v, &x));
    return fe_ast_type(&t, x, want, what, out);
}

int fe_read_condition(struct fe_plan_reader *r, const struct fe_json *v, const char *key, const struct fe_scope *scope,
                      struct fe_expr **out)
{
    const struct hd_type want = hd_type_of(HD_BOOL);
    struct fe_json m;
    *out = NULL;
    if (!fe_json_get(v, key, &m))
        return 0;
    return fe_read_expr(r, &m, scope, &want, "a condition (bool)", out);
}

int fe_read_choice(const struct fe_json *v, const char *const *choices, int n, int *out)
{
    const char *s;
    char list[1000] = "one of ";
    HD_TRY(fe_json_string(v, &s));
    for (int i = 0; i < n; i++) {
        if (strcmp(s, choices[i]) == 0) {
            *out = i;
            return 0;
        }
        size_t k = strlen(list);
        snprintf(list + k, sizeof list - k, "%s%s", i ? ", " : "", choices[i]);
    }
    struct hd_suggestion suggestion;
    return fe_json_fail(v, "expected %s, found \"%.60s\"%s", list, s, hd_suggest_from(&suggestion, s, choices, n));
}

/* ---- operators ------------------------------------------------------------------------ */

static int read_op(const struct fe_json *v, int *out)
{
    struct fe_json op;
    const char *names[FE_RELOP_COUNT];
    for (int i = 0; i < FE_RELOP_COUNT; i++)
        names[i] = fe_relop_name((enum fe_relop)i);
    if (fe_json_kind(v) != FE_JSON_OBJECT)
        return fe_json_expected(v, "an operator (an object with \"op\")");
    HD_TRY(fe_json_need(v, "op", &op));
    return fe_read_choice(&op, names, FE_RELOP_COUNT, out);
}

int fe_read_node(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    static int (*const readers[])(struct fe_plan_reader *, const struct fe_json *, struct fe_node **) = {
#define T_REL(id, name) fe_read_##id,
#include "frontend/relops.def"
    };
    int op = 0;
    const char *comment;
    HD_TRY(read_op(v, &op));
    if (r->depth >= FE_PLAN_MAX_DEPTH)
        return fe_json_fail(v, "operators are nested deeper than %d levels", FE_PLAN_MAX_DEPTH);
    struct fe_subplans *outer = v->r->subplans;
    r->depth++;
    v->r->subplans = NULL;
    HD_TRY(readers[op](r, v, out));
    v->r->subplans = outer;
    HD_TRY(fe_json_opt_string(v, "comment", &comment));
    r->depth--;
    return 0;
}

int fe_read_input(struct fe_plan_reader *r, const struct fe_json *v, const char *key, struct fe_node **out)
{
    struct fe_json m;
    HD_TRY(fe_json_need(v, key, &m));
    return fe_read_node(r, &m, out);
}

/* ---- shared subplans ------------------------------------------------------------------ */

static int unknown_shared(struct fe_plan_reader *r, const struct fe_json *at, const char *name)
{
    struct hd_strbuf b;
    struct hd_suggestion suggestion;
    struct fe_json m;
    hd_strbuf_init(&b);
    hd_suggest_init(&suggestion, name);
    bool more = r->shared && fe_json_first(r->shared, &m);
    for (; more; more = fe_json_next(&m)) {
        hd_suggest_offer(&suggestion, m.key);
        hd_strbuf_addf(&b, "%s%s", b.n ? ", " : "", m.key);
    }
    fe_json_fail(at, "shared subplan \"%.100s\" not found%s; there %s %s", name, hd_suggest_hint(&suggestion),
                 b.n ? "are" : "is", b.n ? b.s : "none");
    hd_strbuf_release(&b);
    return -1;
}

int fe_add_shared(struct fe_plan_reader *r, const char *name, struct fe_node *node)
{
    struct fe_plan *p = r->plan;
    hd_grow1(r->arena, p->shared_names, p->nshared);
    hd_grow1(r->arena, p->shared, p->nshared);
    p->shared_names[p->nshared] = name;
    p->shared[p->nshared] = node;
    return p->nshared++;
}

static int read_one_shared(struct fe_plan_reader *r, const struct fe_json *m)
{
    struct fe_node *node;
    r->state[m->index] = FE_SHARED_READING;
    HD_TRY(fe_read_node(r, m, &node));
    r->state[m->index] = FE_SHARED_READ;
    r->shared_index[m->index] = fe_add_shared(r, hd_strdup(r->arena, m->key), node);
    return 0;
}

int fe_read_shared(struct fe_plan_reader *r, const struct fe_json *at, const char *name, int *out)
{
    struct fe_json m;
    bool more = r->shared && fe_json_first(r->shared, &m);
    while (more && strcmp(m.key, name) != 0)
        more = fe_json_next(&m);
    if (!more)
        return unknown_shared(r, at, name);
    if (r->state[m.index] == FE_SHARED_READING)
        return fe_json_fail(at, "shared subplan \"%.100s\" refers to itself", name);
    if (r->state[m.index] == FE_SHARED_UNREAD)
        HD_TRY(read_one_shared(r, &m));
    *out = r->shared_index[m.index];
    return 0;
}

static int open_shared(struct fe_plan_reader *r, const struct fe_json *v)
{
    HD_TRY(fe_json_map(v));
    int n = fe_json_length(v);
    r->shared = v;
    r->state = HD_NEWN(r->arena, enum fe_shared_state, n);
    r->shared_index = HD_NEWN(r->arena, int, n);
    return 0;
}

/* Those that nobody refers to are checked all the same. */
static int read_rest_of_shared(struct fe_plan_reader *r)
{
    struct fe_json m;
    bool more = r->shared && fe_json_first(r->shared, &m);
    for (; more; more = fe_json_next(&m))
        if (r->state[m.index] == FE_SHARED_UNREAD)
            HD_TRY(read_one_shared(r, &m));
    return 0;
}

/* ---- parameters ----------------------------------------------------------------------- */

static bool is_param_name(const char *s)
{
    for (const char *p = s; *p; p++) {
        bool letter = ((*p | 32) >= 'a' && (*p | 32) <= 'z') || *p == '_';
        if (!letter && !(*p >= '0' && *p <= '9' && p > s))
            return false;
    }
    return true;
}

static int read_param_type(const struct fe_json *v, struct fe_param *p)
{
    const char *s;
    HD_TRY(fe_json_string(v, &s));
    size_t n = strlen(s);
    p->is_list = n > 6 && strncmp(s, "list(", 5) == 0 && s[n - 1] == ')';
    if (p->is_list)
        s = hd_strndup(v->r->arena, s + 5, n - 6);
    if (fe_type_parse(s, &p->type))
        return 0;
    return fe_json_expected(v, hd_asprintf(v->r->arena, "%s or list(TYPE)", fe_type_list));
}

static int read_param(const struct fe_json *v, struct fe_param *p)
{
    struct fe_json type, def;
    HD_TRY(fe_json_object(v, "type", "default", "nullable", "comment", NULL));
    p->name = hd_strdup(v->r->arena, v->key);
    p->path = fe_json_path(v);
    if (!is_param_name(p->name))
        return fe_json_fail(v, "a parameter is named with letters, digits and _, found \"%.60s\"", p->name);
    HD_TRY(fe_json_need(v, "type", &type));
    HD_TRY(read_param_type(&type, p));
    HD_TRY(fe_json_opt_bool(v, "nullable", &p->nullable));
    if (p->nullable && p->is_list)
        return fe_json_fail(v, "a list parameter cannot be nullable");
    p->value.type = p->type;
    p->has_default = fe_json_get(v, "default", &def);
    return p->has_default ? fe_param_read_value(p, &def) : 0;
}

static int read_params(struct fe_plan_reader *r, const struct fe_json *v)
{
    struct fe_json m;
    HD_TRY(fe_json_map(v));
    r->plan->params = HD_NEWN(r->arena, struct fe_param, fe_json_length(v));
    for (bool more = fe_json_first(v, &m); more; more = fe_json_next(&m))
        HD_TRY(read_param(&m, &r->plan->params[r->plan->nparams++]));
    return 0;
}

/* ---- the document --------------------------------------------------------------------- */

static void number_nodes(struct fe_node *n, int *next)
{
    n->id = (*next)++;
    for (int i = 0; i < n->ninputs; i++)
        number_nodes(n->inputs[i], next);
}

static int check_version(const struct fe_json *v)
{
    struct fe_json m;
    int64_t version;
    HD_TRY(fe_json_need(v, "heddle", &m));
    HD_TRY(fe_json_int(&m, INT64_MIN, INT64_MAX, &version));
    if (version == 1)
        return 0;
    return fe_json_fail(&m, "expected plan format version 1, found %lld", (long long)version);
}

/* The order of joins. */
static int read_join_order(const struct fe_json *v, struct fe_plan *p)
{
    static const char *const orders[] = {"written", "auto"};
    struct fe_json m;
    int order = 0;
    if (fe_json_get(v, "order", &m))
        HD_TRY(fe_read_choice(&m, orders, 2, &order));
    p->order_auto = order == 1;
    return 0;
}

static int read_document(struct fe_plan_reader *r, const struct fe_json *v)
{
    struct fe_json params, shared;
    const char *comment;
    struct fe_plan *p = r->plan;
    if (fe_json_kind(v) != FE_JSON_OBJECT)
        return fe_json_expected(v, "a plan (an object)");
    HD_TRY(check_version(v));
    HD_TRY(fe_json_object(v, "heddle", "name", "comment", "order", "params", "shared", "root", NULL));
    HD_TRY(fe_json_opt_string(v, "name", &p->name));
    HD_TRY(fe_json_opt_string(v, "comment", &comment));
    HD_TRY(read_join_order(v, p));
    if (fe_json_get(v, "params", &params))
        HD_TRY(read_params(r, &params));
    if (fe_json_get(v, "shared", &shared))
        HD_TRY(open_shared(r, &shared));
    HD_TRY(fe_read_input(r, v, "root", &p->root));
    HD_TRY(read_rest_of_shared(r));
    number_nodes(p->root, &p->nnodes);
    for (int i = 0; i < p->nshared; i++)
        number_nodes(p->shared[i], &p->nnodes);
    return 0;
}

int fe_plan_read_value(const struct fe_json *root, const struct fe_catalog *cat, struct fe_plan **out)
{
    struct hd_arena *a = root->r->arena;
    struct fe_plan_reader r = {.arena = a, .err = root->r->err, .cat = cat};
    r.plan = HD_NEW(a, struct fe_plan);
    r.plan->arena = a;
    HD_TRY(read_document(&r, root));
    *out = r.plan;
    return 0;
}

int fe_plan_read(struct hd_arena *a, const char *json, const struct fe_catalog *cat, struct fe_plan **out,
                 struct hd_err *err)
{
    struct fe_json_reader j = {.arena = a, .err = err, .class = HD_ERR_USER};
    struct fe_json root;
    int rc = fe_json_open(&j, json, &root);
    if (rc == 0)
        rc = fe_plan_read_value(&root, cat, out);
    fe_json_close(&j);
    return rc;
}
