/* Functions for Substrait: which of its extensions' says what one of Heddle's does. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "frontend/substrait_produce.h"
#include "runtime/base/strbuf.h"

struct row {
    const char *extension, *name, *signatures;
};
static const struct {
    enum fe_op op;
    struct row row;
} calls[] = {
#define T_CALL(id, extension, name, signatures) {FE_##id, {extension, name, signatures}},
#include "frontend/substrait_produced.def"
};
static const struct {
    const char *own;
    struct row row;
} aggregates[] = {
#define T_AGGREGATE(own, extension, name, signatures) {own, {extension, name, signatures}},
#include "frontend/substrait_produced.def"
};
static const struct {
    const char *name, *counts_from;
} components[FE_FIELD_COUNT] = {
#define T_COMPONENT(id, name, counts_from) [FE_##id] = {name, counts_from},
#include "frontend/substrait_produced.def"
};

bool sp_component(enum fe_field f, const char **name, const char **counts_from)
{
    *name = components[f].name;
    *counts_from = components[f].counts_from;
    return *name != NULL;
}

/* ---- references -------------------------------------------------------------------------- */

static int find_urn(struct sp *p, const char *urn)
{
    for (int i = 0; i < p->urn_names.n; i++)
        if (strcmp(p->urn_names.v[i], urn) == 0)
            return i + 1;
    struct cJSON *u = fe_make_object(p->arena);
    hd_vec_push(p->arena, &p->urn_names, urn);
    fe_put(u, "extensionUrnAnchor", fe_make_number(p->arena, p->urn_names.n));
    fe_put(u, "urn", fe_make_string(p->arena, urn));
    fe_push(p->urns, u);
    return p->urn_names.n;
}

int sp_function(struct sp *p, const char *extension, const char *name)
{
    const char *urn = extension ? hd_asprintf(p->arena, "extension:io.substrait:functions_%s", extension) : SUB_OWN_URN;
    const char *key = hd_asprintf(p->arena, "%s#%s", urn, name);
    for (int i = 0; i < p->function_names.n; i++)
        if (strcmp(p->function_names.v[i], key) == 0)
            return i + 1;
    struct cJSON *f = fe_make_object(p->arena), *declared = fe_make_object(p->arena);
    hd_vec_push(p->arena, &p->function_names, key);
    fe_put(f, "extensionUrnReference", fe_make_number(p->arena, find_urn(p, urn)));
    fe_put(f, "functionAnchor", fe_make_number(p->arena, p->function_names.n));
    fe_put(f, "name", fe_make_string(p->arena, name));
    fe_put(declared, "extensionFunction", f);
    fe_push(p->functions, declared);
    return p->function_names.n;
}

/* ---- signatures -------------------------------------------------------------------------- */

static bool takes(const char *want, size_t n, const struct fe_expr *arg)
{
    const char *has = sp_short_name(arg->type);
    if ((n == 3 && memcmp(want, "any", n) == 0) || (has && strlen(has) == n && memcmp(want, has, n) == 0))
        return true;
    return n == 3 && memcmp(want, "i32", n) == 0 && arg->op == FE_LIT && arg->type.kind == HD_INT64 &&
           !arg->value.is_null && arg->value.i >= INT32_MIN && arg->value.i <= INT32_MAX;
}

/* Whether the first signature of s takes the arguments; n: its length, without a star. */
static bool matches(const char *s, size_t *length, int n, const struct fe_expr *const *args)
{
    int i = 0;
    bool all = true;
    const char *from = s;
    *length = strcspn(s, " *");
    for (bool more = *length > 0; more; i++) {
        size_t k = strcspn(from, "_ *");
        all = all && i < n && takes(from, k, args[i]);
        for (; from[k] == '*' && i + 1 < n; i++)
            all = all && takes(from, k, args[i + 1]);
        more = from[k] == '_';
        from += k + 1;
    }
    return all && i == n;
}

static const char *signature_of(struct sp *p, const struct row *row, int n, const struct fe_expr *const *args)
{
    size_t k;
    const char *s = row->signatures;
    do {
        if (matches(s, &k, n, args))
            return hd_asprintf(p->arena, "%s:%.*s", row->name, (int)k, s);
        s += strcspn(s, " ");
    } while (*s++);
    return NULL;
}

static int own(struct sp *p, const char *name, int n, const struct fe_expr *const *args)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    for (int i = 0; i < n; i++) {
        const char *type = sp_short_name(args[i]->type);
        hd_strbuf_addf(&b, "%s%s", i ? "_" : "", type ? type : "any");
    }
    const char *key = hd_asprintf(p->arena, "%s:%s", name, b.s ? b.s : "");
    hd_strbuf_release(&b);
    return sp_function(p, NULL, key);
}

int sp_own_call(struct sp *p, enum fe_op op, int n, struct fe_expr *const *args)
{
    return own(p, fe_op_name(op), n, (const struct fe_expr *const *)args);
}

int sp_find_call(struct sp *p, enum fe_op op, int n, struct fe_expr *const *args)
{
    for (size_t i = 0; i < HD_COUNT(calls); i++) {
        const struct row *r = &calls[i].row;
        const char *name = calls[i].op == op ? signature_of(p, r, n, (const struct fe_expr *const *)args) : NULL;
        if (name)
            return sp_function(p, r->extension, name);
    }
    return sp_own_call(p, op, n, args);
}

int sp_find_aggregate(struct sp *p, const char *name, int n, const struct fe_expr *const *args)
{
    if (n == 0 && strcmp(name, "count") == 0)
        return sp_function(p, "aggregate_generic", "count:");
    for (size_t i = 0; i < HD_COUNT(aggregates); i++) {
        const struct row *r = &aggregates[i].row;
        const char *found = strcmp(aggregates[i].own, name) == 0 ? signature_of(p, r, n, args) : NULL;
        if (found)
            return sp_function(p, r->extension, found);
    }
    return own(p, name, n, args);
}

/* ---- calls ------------------------------------------------------------------------------- */

void sp_add_value(struct sp *p, struct cJSON *args, struct cJSON *x)
{
    struct cJSON *a = fe_make_object(p->arena);
    fe_put(a, "value", x);
    fe_push(args, a);
}

void sp_add_enum(struct sp *p, struct cJSON *args, const char *name)
{
    struct cJSON *a = fe_make_object(p->arena);
    fe_put(a, "enum", fe_make_string(p->arena, name));
    fe_push(args, a);
}

int sp_call(struct sp *p, int function, struct hd_type t, bool nullable, const char *path, struct cJSON *args,
            struct cJSON **out)
{
    struct cJSON *call = fe_make_object(p->arena), *type = NULL;
    HD_TRY(sp_type(p, t, nullable, path, &type));
    fe_put(call, "functionReference", fe_make_number(p->arena, function));
    fe_put(call, "outputType", type);
    fe_put(call, "arguments", args);
    *out = fe_make_object(p->arena);
    fe_put(*out, "scalarFunction", call);
    return 0;
}

int sp_refuse(struct sp *p, const char *path, const char *fmt, ...)
{
    va_list args;
    char text[256];
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return HD_FAIL(p->err, UNSUPPORTED, path, "%s", text);
}
