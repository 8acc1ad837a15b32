#include "frontend/json_make.h"

#include <cjson/cJSON.h>

#include "runtime/base/guard.h"

static struct cJSON *make(struct hd_arena *a, int type)
{
    struct cJSON *v = HD_NEW(a, struct cJSON);
    v->type = type;
    return v;
}

struct cJSON *fe_make_object(struct hd_arena *a)
{
    return make(a, cJSON_Object);
}

struct cJSON *fe_make_list(struct hd_arena *a)
{
    return make(a, cJSON_Array);
}

struct cJSON *fe_make_text(struct hd_arena *a, char *s)
{
    struct cJSON *v = make(a, cJSON_String);
    v->valuestring = s;
    return v;
}

struct cJSON *fe_make_string(struct hd_arena *a, const char *s)
{
    return fe_make_text(a, hd_strdup(a, s));
}

struct cJSON *fe_make_number(struct hd_arena *a, double d)
{
    struct cJSON *v = make(a, cJSON_Number);
    v->valuedouble = d;
    return v;
}

struct cJSON *fe_make_bool(struct hd_arena *a, bool b)
{
    return make(a, b ? cJSON_True : cJSON_False);
}

struct cJSON *fe_make_null(struct hd_arena *a)
{
    return make(a, cJSON_NULL);
}

/* The first one's `prev` is the last one, as in trees that cJSON makes. */
void fe_push(struct cJSON *list, struct cJSON *value)
{
    struct cJSON *first = list->child;
    HD_ASSERT(!value->prev && !value->next);
    if (first) {
        value->prev = first->prev;
        first->prev->next = value;
        first->prev = value;
    } else {
        list->child = value;
        value->prev = value;
    }
}

void fe_put(struct cJSON *object, const char *key, struct cJSON *value)
{
    value->string = (char *)(uintptr_t)key; /* nobody writes or frees it */
    fe_push(object, value);
}

struct cJSON *fe_member(const struct cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

const char *fe_member_text(const struct cJSON *object, const char *key)
{
    const struct cJSON *m = fe_member(object, key);
    return m && cJSON_IsString(m) ? m->valuestring : NULL;
}

struct cJSON *fe_first_json(const struct cJSON *v)
{
    return v->child;
}

struct cJSON *fe_next_json(const struct cJSON *v)
{
    return v->next;
}

const char *fe_key_of(const struct cJSON *member)
{
    return member->string;
}

bool fe_is_list(const struct cJSON *v)
{
    return cJSON_IsArray(v);
}

double fe_number_of(const struct cJSON *v)
{
    return v->valuedouble;
}

const char *fe_text_of(const struct cJSON *v)
{
    return v->valuestring;
}

struct cJSON *fe_copy_json(struct hd_arena *a, const struct cJSON *v)
{
    struct cJSON *copy = hd_dup(a, v, sizeof *v);
    copy->child = copy->next = copy->prev = NULL;
    for (const struct cJSON *m = v->child; m; m = m->next)
        fe_push(copy, fe_copy_json(a, m));
    return copy;
}

struct cJSON *fe_own_json(struct hd_arena *a, const struct cJSON *v)
{
    struct cJSON *copy = hd_dup(a, v, sizeof *v);
    copy->child = copy->next = copy->prev = NULL;
    copy->string = v->string ? hd_strdup(a, v->string) : NULL;
    copy->valuestring = v->valuestring ? hd_strdup(a, v->valuestring) : NULL;
    for (const struct cJSON *m = v->child; m; m = m->next)
        fe_push(copy, fe_own_json(a, m));
    return copy;
}

static void drop_text(void *text)
{
    cJSON_free(text);
}

int fe_print_json(const struct cJSON *v, struct hd_strbuf *out, struct hd_err *err)
{
    struct hd_cleanup guarded = {0};
    char *text = cJSON_Print(v);
    if (!text)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    hd_cleanup_add(&guarded, drop_text, text);
    hd_strbuf_adds(out, text);
    hd_strbuf_addc(out, '\n');
    hd_cleanup_drop(&guarded);
    cJSON_free(text);
    return 0;
}

bool fe_same_json(const struct cJSON *a, const struct cJSON *b)
{
    return cJSON_Compare(a, b, true);
}
