/* The document: extensions, the root, and errors of the plan that was made. */
#include "frontend/substrait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/substrait_read.h"

bool sub_is_plan(const struct fe_json *v)
{
    struct fe_json m;
    return fe_json_kind(v) == FE_JSON_OBJECT && !fe_json_get(v, "heddle", &m) &&
           (fe_json_get(v, "relations", &m) || fe_json_get(v, "extensionUris", &m) ||
            fe_json_get(v, "extensionUrns", &m) || fe_json_get(v, "extensions", &m));
}

/* ---- extensions -------------------------------------------------------------------------- */

static bool is_by(const struct fe_json *v, const char *producer)
{
    struct fe_json version;
    return fe_json_get(v, "version", &version) && strstr(sub_text(&version, "producer"), producer);
}

static enum sub_producer producer_of(const struct fe_json *v)
{
    if (is_by(v, "datafusion"))
        return SUB_DATAFUSION;
    return is_by(v, "DuckDB") || is_by(v, "duckdb") ? SUB_DUCKDB : SUB_STANDARD;
}

/* The anchor of Heddle's own extension; -1: the plan has none. */
static int own_extension(const struct fe_json *v, int64_t *out)
{
    struct fe_json list, m;
    *out = -1;
    bool some = sub_list(v, "extensionUrns", &list);
    for (bool more = some && fe_json_first(&list, &m); more; more = fe_json_next(&m))
        if (strcmp(sub_text(&m, "urn"), SUB_OWN_URN) == 0)
            HD_TRY(sub_int(&m, "extensionUrnAnchor", out));
    return 0;
}

static int read_functions(struct sub *t, const struct fe_json *v)
{
    struct fe_json list, m, f;
    int64_t own, urn;
    if (!sub_list(v, "extensions", &list))
        return 0;
    HD_TRY(own_extension(v, &own));
    t->functions = HD_NEWN(t->arena, struct sub_function, fe_json_length(&list));
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        if (!fe_json_get(&m, "extensionFunction", &f))
            continue; /* types: refused where they are used */
        struct sub_function *to = &t->functions[t->nfunctions++];
        const char *name = sub_text(&f, "name");
        HD_TRY(sub_int(&f, "functionAnchor", &to->anchor));
        HD_TRY(sub_int(&f, "extensionUrnReference", &urn));
        to->own = own >= 0 && urn == own;
        to->name = hd_strndup(t->arena, name, strcspn(name, ":"));
    }
    return 0;
}

/* Values that parameters have unless others are bound. */
static int read_bindings(struct sub *t, const struct fe_json *v)
{
    struct fe_json list, m, value;
    bool some = sub_list(v, "parameterBindings", &list);
    for (bool more = some && fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        int64_t k;
        struct cJSON *x;
        HD_TRY(sub_int(&m, "parameterAnchor", &k));
        struct cJSON *declared = fe_member(t->params, hd_asprintf(t->arena, "p%lld", (long long)k + 1));
        if (!declared || fe_member(declared, "default"))
            continue; /* nothing reads it */
        HD_TRY(fe_json_need(&m, "value", &value));
        HD_TRY(sub_literal_value(t, &value, &x));
        fe_put(declared, "default", x);
    }
    return 0;
}

/* ---- the root ---------------------------------------------------------------------------- */

static int find_root(struct sub *t, const struct fe_json *v, struct fe_json *list, struct fe_json *item,
                     struct fe_json *out)
{
    struct fe_json m, root;
    int n = 0;
    HD_TRY(fe_json_need(v, "relations", list));
    HD_TRY(fe_json_array(list));
    for (bool more = fe_json_first(list, &m); more; more = fe_json_next(&m))
        if (fe_json_get(&m, "root", &root)) {
            *item = m;
            n++;
        }
    if (n > 1)
        return sub_refuse(t, list, "expected one root, found %d", n);
    if (n == 0)
        return fe_json_fail(list, "expected a relation with a root");
    t->relations = list;
    return fe_json_need(item, "root", out);
}

/* As DuckDB does it: what is there twice gets a number. */
static const char *free_name(struct sub *t, const char *const *names, int n, const char *name)
{
    const char *is = name;
    for (int k = 1, i = 0; i < n; i++)
        if (strcmp(names[i], is) == 0) {
            is = hd_asprintf(t->arena, "%s_%d", name, k++);
            i = -1;
        }
    return is;
}

static int put_names(struct sub *t, const struct fe_json *root, struct sub_rel *r)
{
    struct fe_json list, m;
    struct cJSON *node = sub_make_op(t, "project"), *exprs = fe_make_list(t->arena);
    HD_TRY(fe_json_need(root, "names", &list));
    if (fe_json_length(&list) != r->n)
        return sub_refuse(t, &list, "expected a name for each of %d fields (none is nested), found %d", r->n,
                          fe_json_length(&list));
    if (r->n == 0)
        return sub_refuse(t, &list, "results without columns are not supported");
    const char **names = HD_NEWN(t->arena, const char *, r->n);
    int i = 0;
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m), i++) {
        HD_TRY(fe_json_name(&m, &names[i]));
        names[i] = free_name(t, names, i, names[i]);
        if (strcmp(names[i], r->cols[i]) == 0) {
            fe_push(exprs, fe_make_string(t->arena, names[i]));
            continue;
        }
        struct cJSON *e = fe_make_object(t->arena);
        fe_put(e, "expr", sub_make_col(t, r->cols[i]));
        fe_put(e, "as", fe_make_string(t->arena, names[i]));
        fe_push(exprs, e);
    }
    fe_put(node, "exprs", exprs);
    fe_put(node, "input", r->node);
    r->node = node;
    return 0;
}

int sub_translate(const struct fe_json *v, struct cJSON **plan, struct sub_origin **origins)
{
    struct hd_arena *a = v->r->arena;
    struct sub t = {
        .arena = a, .err = v->r->err, .producer = producer_of(v), .rel = sub_relation, .window = sub_window};
    t.written_here = is_by(v, "heddle");
    struct fe_json list, item, root;
    struct sub_rel r;
    t.params = fe_make_object(a);
    t.shared = fe_make_object(a);
    HD_TRY(read_functions(&t, v));
    HD_TRY(find_root(&t, v, &list, &item, &root));
    HD_TRY(sub_input(&t, &root, "input", &r));
    HD_TRY(put_names(&t, &root, &r));
    HD_TRY(read_bindings(&t, v));
    *plan = fe_make_object(a);
    fe_put(*plan, "heddle", fe_make_number(a, 1));
    fe_put(*plan, "order", fe_make_string(a, "auto"));
    if (fe_first_json(t.params))
        fe_put(*plan, "params", t.params);
    if (fe_first_json(t.shared))
        fe_put(*plan, "shared", t.shared);
    fe_put(*plan, "root", r.node);
    *origins = t.origins;
    return 0;
}

/* ---- errors of the plan that was made ---------------------------------------------------- */

static const char *origin_of(const struct sub_origin *o, const struct cJSON *node)
{
    while (o && o->node != node)
        o = o->next;
    return o ? o->path : NULL;
}

/* One step of a path: .key or [index]. */
static const struct cJSON *step(const struct cJSON *at, const char **path)
{
    char key[64];
    const char *p = *path;
    size_t n = strcspn(p + 1, ".[]");
    if (*p == '[') {
        long i = strtol(p + 1, NULL, 10);
        *path = p + 1 + n + (p[1 + n] == ']');
        at = fe_first_json(at);
        while (at && i-- > 0)
            at = fe_next_json(at);
        return at;
    }
    *path = p + 1 + n;
    if (*p != '.' || n >= sizeof key)
        return NULL;
    snprintf(key, sizeof key, "%.*s", (int)n, p + 1);
    return fe_member(at, key);
}

void sub_map_error(const struct cJSON *plan, const struct sub_origin *origins, struct hd_err *err)
{
    const char *p = err->path, *found = "$";
    const struct cJSON *at = plan;
    if (*p++ != '$')
        return;
    while (at && *p) {
        const char *origin;
        at = step(at, &p);
        if (at && (origin = origin_of(origins, at)))
            found = origin;
    }
    char was[sizeof err->path];
    snprintf(was, sizeof was, "%s", err->path);
    size_t n = strlen(err->message);
    snprintf(err->message + n, sizeof err->message - n, " (of Heddle's plan: %s)", was);
    snprintf(err->path, sizeof err->path, "%s", found);
}
