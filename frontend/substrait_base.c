#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "frontend/substrait_read.h"
#include "runtime/base/strbuf.h"
#include "runtime/base/suggest.h"

/* ---- names ------------------------------------------------------------------------------- */

static struct sub_name **bucket_of(struct sub *t, const char *name)
{
    uint32_t h = 2166136261u;
    for (const char *p = name; *p; p++)
        h = (h ^ (uint8_t)*p) * 16777619u;
    return &t->names[(h ^ h >> 16) % HD_COUNT(t->names)];
}

static struct sub_name *find_name(struct sub *t, const char *name, bool add)
{
    struct sub_name **b = bucket_of(t, name), *n = *b;
    while (n && strcmp(n->name, name) != 0)
        n = n->after;
    if (!n && add) {
        n = HD_NEW(t->arena, struct sub_name);
        *n = (struct sub_name){hd_strdup(t->arena, name), 2, *b};
        *b = n;
        return NULL;
    }
    return n;
}

bool sub_take_name(struct sub *t, const char *name)
{
    return find_name(t, name, true) == NULL;
}

const char *sub_new_name(struct sub *t, const char *hint)
{
    struct sub_name *n = find_name(t, hint, true);
    const char *name = hint;
    while (n) {
        name = hd_asprintf(t->arena, "%s_%d", hint, n->next++);
        if (sub_take_name(t, name))
            break;
    }
    return name;
}

/* ---- trees ------------------------------------------------------------------------------- */

struct cJSON *sub_make_op(struct sub *t, const char *op)
{
    struct cJSON *x = fe_make_object(t->arena);
    fe_put(x, "op", fe_make_string(t->arena, op));
    return x;
}

struct cJSON *sub_make_col(struct sub *t, const char *name)
{
    struct cJSON *x = fe_make_object(t->arena);
    fe_put(x, "col", fe_make_string(t->arena, name));
    return x;
}

struct cJSON *sub_call(struct sub *t, const char *op, ...)
{
    struct cJSON *x = sub_make_op(t, op), *args = fe_make_list(t->arena), *arg;
    va_list ap;
    va_start(ap, op);
    while ((arg = va_arg(ap, struct cJSON *)))
        fe_push(args, arg);
    va_end(ap);
    fe_put(x, "args", args);
    return x;
}

void sub_add_arg(struct cJSON *call, struct cJSON *arg)
{
    fe_push(fe_member(call, "args"), arg);
}

bool sub_is(const struct sub_rel *r, const char *op)
{
    const char *is = fe_member_text(r->node, "op");
    return is && strcmp(is, op) == 0;
}

/* ---- what is read ------------------------------------------------------------------------ */

int sub_refuse(struct sub *t, const struct fe_json *v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    hd_err_vset(t->err, HD_ERR_UNSUPPORTED, __FILE__, __LINE__, fe_json_path(v), fmt, ap);
    va_end(ap);
    return -1;
}

const char *sub_text(const struct fe_json *v, const char *key)
{
    struct fe_json m;
    const char *s;
    if (!fe_json_get(v, key, &m) || fe_json_kind(&m) != FE_JSON_STRING || fe_json_string(&m, &s) != 0)
        return "";
    return s;
}

int sub_int(const struct fe_json *v, const char *key, int64_t *out)
{
    *out = 0;
    return fe_json_opt_int(v, key, INT64_MIN, INT64_MAX, out);
}

bool sub_list(const struct fe_json *v, const char *key, struct fe_json *list)
{
    return fe_json_get(v, key, list) && fe_json_kind(list) == FE_JSON_ARRAY && fe_json_length(list) > 0;
}

static int no_kind(const struct fe_json *v, const char *const *names, int n, const char *what)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    for (int i = 0; i < n; i++)
        hd_strbuf_addf(&b, "%s%s", i ? ", " : "", names[i]);
    struct fe_json m;
    bool some = fe_json_first(v, &m);
    int rc = hd_err_set(v->r->err, HD_ERR_UNSUPPORTED, __FILE__, __LINE__, fe_json_path(some ? &m : v),
                        "expected %s that is supported (%s), found %s", what, b.s, some ? m.key : "none");
    hd_strbuf_release(&b);
    return rc;
}

int sub_kind(const struct fe_json *v, const char *const *names, int n, const char *what, int *kind, struct fe_json *out)
{
    struct fe_json m;
    if (fe_json_kind(v) != FE_JSON_OBJECT)
        return fe_json_expected(v, what);
    for (bool more = fe_json_first(v, &m); more; more = fe_json_next(&m))
        for (int i = 0; i < n; i++)
            if (strcmp(m.key, names[i]) == 0) {
                *kind = i;
                *out = m;
                return 0;
            }
    return no_kind(v, names, n, what);
}

/* ---- operators --------------------------------------------------------------------------- */

static bool repeats(const struct sub_rel *r, int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(r->cols[k], r->cols[i]) == 0)
            return true;
    return false;
}

/* Fields that are one column become columns of their own; an operator without fields keeps what it has. */
void sub_narrow(struct sub *t, struct sub_rel *r)
{
    if (r->exact || r->n == 0)
        return;
    struct cJSON *node = sub_make_op(t, "project"), *exprs = fe_make_list(t->arena);
    const char **cols = HD_NEWN(t->arena, const char *, r->n);
    for (int i = 0; i < r->n; i++) {
        cols[i] = r->cols[i];
        if (!repeats(r, i)) {
            fe_push(exprs, fe_make_string(t->arena, r->cols[i]));
            continue;
        }
        struct cJSON *e = fe_make_object(t->arena);
        cols[i] = sub_new_name(t, r->cols[i]);
        fe_put(e, "expr", sub_make_col(t, r->cols[i]));
        fe_put(e, "as", fe_make_string(t->arena, cols[i]));
        fe_push(exprs, e);
    }
    fe_put(node, "input", r->node);
    fe_put(node, "exprs", exprs);
    r->node = node;
    r->cols = cols;
    r->exact = true;
}

int sub_input(struct sub *t, const struct fe_json *v, const char *key, struct sub_rel *out)
{
    struct fe_json m;
    HD_TRY(fe_json_need(v, key, &m));
    return t->rel(t, &m, out);
}
