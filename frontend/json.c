#include "frontend/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/suggest.h"
#include "runtime/base/strbuf.h"
#include "runtime/base/type.h"

/* ---- opening -------------------------------------------------------------------------- */

static void drop_tree(void *reader)
{
    fe_json_close(reader);
}

int fe_json_open(struct fe_json_reader *r, const char *text, struct fe_json *root)
{
    size_t n = strlen(text);
    r->root = NULL;
    hd_cleanup_add(&r->guarded, drop_tree, r);
    *root = (struct fe_json){.index = -1, .r = r};
    HD_TRY(
        fe_json_check(text, n, r->max_depth ? r->max_depth : FE_JSON_MAX_DEPTH, r->class, fe_json_path(root), r->err));
    r->root = cJSON_ParseWithLength(text, n);
    if (!r->root) /* the text was checked: that is the only reason left */
        return HD_FAIL(r->err, RESOURCE, fe_json_path(root), "out of memory: the system refused to hold the JSON text");
    root->item = r->root;
    return 0;
}

void fe_json_close(struct fe_json_reader *r)
{
    hd_cleanup_drop(&r->guarded);
    cJSON_Delete(r->root);
    r->root = NULL;
}

/* ---- paths and failures --------------------------------------------------------------- */

static bool is_plain_key(const char *s)
{
    for (const char *p = s; *p; p++) {
        bool letter = (*p | 32) >= 'a' && (*p | 32) <= 'z';
        if (!letter && *p != '_' && !(*p >= '0' && *p <= '9' && p > s))
            return false;
    }
    return *s != 0;
}

/* Every node of a plan has its path: printf would take most of the time of reading one. */
static void add_index(struct hd_strbuf *b, int index)
{
    char digits[16];
    size_t at = sizeof digits;
    digits[--at] = ']';
    do
        digits[--at] = (char)('0' + index % 10);
    while ((index /= 10) > 0);
    digits[--at] = '[';
    hd_strbuf_add(b, digits + at, sizeof digits - at);
}

static void render(struct hd_strbuf *b, const struct fe_json *v)
{
    if (!v->up) {
        if (v->r->prefix)
            hd_strbuf_addf(b, "%s:", v->r->prefix);
        hd_strbuf_addc(b, '$');
        return;
    }
    render(b, v->up);
    if (!v->key) {
        add_index(b, v->index);
    } else if (is_plain_key(v->key)) {
        hd_strbuf_addc(b, '.');
        hd_strbuf_adds(b, v->key);
    } else {
        hd_strbuf_addc(b, '[');
        hd_strbuf_add_json(b, v->key, strlen(v->key));
        hd_strbuf_addc(b, ']');
    }
}

const char *fe_json_path(const struct fe_json *v)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    render(&b, v);
    const char *path = hd_strndup(v->r->arena, b.s, b.n);
    hd_strbuf_release(&b);
    return path;
}

int fe_json_fail(const struct fe_json *v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    hd_err_vset(v->r->err, v->r->class, __FILE__, __LINE__, fe_json_path(v), fmt, ap);
    va_end(ap);
    return -1;
}

enum fe_json_kind fe_json_kind(const struct fe_json *v)
{
    if (cJSON_IsObject(v->item))
        return FE_JSON_OBJECT;
    if (cJSON_IsArray(v->item))
        return FE_JSON_ARRAY;
    if (cJSON_IsString(v->item))
        return FE_JSON_STRING;
    if (cJSON_IsNumber(v->item))
        return FE_JSON_NUMBER;
    return cJSON_IsBool(v->item) ? FE_JSON_BOOL : FE_JSON_NULL;
}

/* 0.1 rather than 0.10000000000000001; %g follows the locale, which is fine in a message. */
static int digits_of(double d)
{
    char buf[32];
    snprintf(buf, sizeof buf, "%.15g", d);
    return strtod(buf, NULL) == d ? 15 : 17;
}

int fe_json_expected(const struct fe_json *v, const char *what)
{
    switch (fe_json_kind(v)) {
    case FE_JSON_NULL: return fe_json_fail(v, "expected %s, found null", what);
    case FE_JSON_BOOL: return fe_json_fail(v, "expected %s, found %s", what, cJSON_IsTrue(v->item) ? "true" : "false");
    case FE_JSON_NUMBER:
        return fe_json_fail(v, "expected %s, found the number %.*g", what, digits_of(v->item->valuedouble),
                            v->item->valuedouble);
    case FE_JSON_STRING: return fe_json_fail(v, "expected %s, found \"%.60s\"", what, v->item->valuestring);
    case FE_JSON_ARRAY: return fe_json_fail(v, "expected %s, found a list", what);
    case FE_JSON_OBJECT: return fe_json_fail(v, "expected %s, found an object", what);
    }
    return -1;
}

/* ---- objects and lists ---------------------------------------------------------------- */

static int key_index(const char *key, va_list ap)
{
    const char *k;
    for (int i = 0; (k = va_arg(ap, const char *)); i++)
        if (strcmp(k, key) == 0)
            return i;
    return -1;
}

static int unknown_key(const struct fe_json *v, const char *key, va_list ap)
{
    char list[384];
    size_t n = 0;
    const char *k;
    struct hd_suggestion suggestion;
    hd_suggest_init(&suggestion, key);
    list[0] = 0;
    while ((k = va_arg(ap, const char *)) && n < sizeof list) {
        int w = snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", k);
        n += (size_t)w;
        hd_suggest_offer(&suggestion, k);
    }
    return fe_json_fail(v, "unknown key \"%.60s\"%s; expected one of: %s", key, hd_suggest_hint(&suggestion), list);
}

int fe_json_object(const struct fe_json *v, ...)
{
    if (!cJSON_IsObject(v->item))
        return fe_json_expected(v, "an object");
    uint64_t seen = 0;
    for (const cJSON *m = v->item->child; m; m = m->next) {
        va_list ap;
        va_start(ap, v);
        int k = key_index(m->string, ap);
        va_end(ap);
        if (k < 0) {
            va_start(ap, v);
            unknown_key(v, m->string, ap);
            va_end(ap);
            return -1;
        }
        if (seen >> k & 1)
            return fe_json_fail(v, "duplicate key \"%s\"", m->string);
        seen |= (uint64_t)1 << k;
    }
    return 0;
}

int fe_json_map(const struct fe_json *v)
{
    if (!cJSON_IsObject(v->item))
        return fe_json_expected(v, "an object");
    int n = 0;
    for (const cJSON *m = v->item->child; m; m = m->next) {
        if (++n > FE_JSON_MAX_MEMBERS)
            return fe_json_fail(v, "expected at most %d members", FE_JSON_MAX_MEMBERS);
        if (!m->string[0])
            return fe_json_fail(v, "expected a name, found an empty key");
        for (const cJSON *e = v->item->child; e != m; e = e->next)
            if (strcmp(e->string, m->string) == 0)
                return fe_json_fail(v, "duplicate key \"%.60s\"", m->string);
    }
    return 0;
}

int fe_json_array(const struct fe_json *v)
{
    return cJSON_IsArray(v->item) ? 0 : fe_json_expected(v, "a list");
}

int fe_json_length(const struct fe_json *v)
{
    int n = 0;
    for (const cJSON *m = v->item->child; m; m = m->next)
        n++;
    return n;
}

static struct fe_json below(const struct fe_json *v, const cJSON *item, int index)
{
    return (struct fe_json){item, v, item->string, index, v->r};
}

bool fe_json_get(const struct fe_json *v, const char *key, struct fe_json *out)
{
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(v->item, key);
    if (m)
        *out = below(v, m, 0);
    return m != NULL;
}

int fe_json_need(const struct fe_json *v, const char *key, struct fe_json *out)
{
    if (fe_json_get(v, key, out))
        return 0;
    return fe_json_fail(v, "missing key \"%s\"", key);
}

bool fe_json_first(const struct fe_json *v, struct fe_json *out)
{
    if (v->item->child)
        *out = below(v, v->item->child, 0);
    return v->item->child != NULL;
}

bool fe_json_next(struct fe_json *e)
{
    const cJSON *next = e->item->next;
    hd_poll();
    if (next)
        *e = below(e->up, next, e->index + 1);
    return next != NULL;
}

/* ---- scalars -------------------------------------------------------------------------- */

int fe_json_string(const struct fe_json *v, const char **out)
{
    if (!cJSON_IsString(v->item))
        return fe_json_expected(v, "a string");
    *out = hd_strdup(v->r->arena, v->item->valuestring);
    return 0;
}

int fe_json_name(const struct fe_json *v, const char **out)
{
    HD_TRY(fe_json_string(v, out));
    return **out ? 0 : fe_json_fail(v, "expected a name, found an empty string");
}

int fe_json_bool(const struct fe_json *v, bool *out)
{
    if (!cJSON_IsBool(v->item))
        return fe_json_expected(v, "true or false");
    *out = cJSON_IsTrue(v->item);
    return 0;
}

int fe_json_double(const struct fe_json *v, double *out)
{
    if (!cJSON_IsNumber(v->item))
        return fe_json_expected(v, "a number");
    if (!isfinite(v->item->valuedouble))
        return fe_json_fail(v, "expected a number within the range of float64");
    *out = v->item->valuedouble;
    return 0;
}

int fe_json_i128(const struct fe_json *v, hd_i128 *out)
{
    if (cJSON_IsString(v->item)) {
        const char *s = v->item->valuestring;
        if (!strchr(s, '.') && hd_dec_parse(s, strlen(s), 0, out))
            return 0;
        return fe_json_expected(v, "an integer");
    }
    if (!cJSON_IsNumber(v->item))
        return fe_json_expected(v, "an integer");
    double d = v->item->valuedouble;
    if (!(fabs(d) < 9007199254740992.0))
        return fe_json_fail(v, "an integer of 2^53 or more must be written as a string");
    if (d != floor(d))
        return fe_json_expected(v, "an integer");
    *out = (hd_i128)d;
    return 0;
}

int fe_json_int(const struct fe_json *v, int64_t min, int64_t max, int64_t *out)
{
    hd_i128 x;
    HD_TRY(fe_json_i128(v, &x));
    if (x < min || x > max) {
        char what[96];
        snprintf(what, sizeof what, "an integer from %lld to %lld", (long long)min, (long long)max);
        return fe_json_expected(v, what);
    }
    *out = (int64_t)x;
    return 0;
}

int fe_json_opt_string(const struct fe_json *v, const char *key, const char **out)
{
    struct fe_json m;
    return fe_json_get(v, key, &m) ? fe_json_string(&m, out) : 0;
}

int fe_json_opt_bool(const struct fe_json *v, const char *key, bool *out)
{
    struct fe_json m;
    return fe_json_get(v, key, &m) ? fe_json_bool(&m, out) : 0;
}

int fe_json_opt_int(const struct fe_json *v, const char *key, int64_t min, int64_t max, int64_t *out)
{
    struct fe_json m;
    return fe_json_get(v, key, &m) ? fe_json_int(&m, min, max, out) : 0;
}
