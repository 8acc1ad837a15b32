/* Options of all three objects: one table, values kept as text, typed at the border. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/adbc/adbc_internal.h"

enum kind { TEXT, INT, SIZE, BOOL, ONLY, SHOWN };

static const struct {
    enum adbc_object object;
    const char *name;
    enum kind kind;
    const char *standard;
} table[] = {
#define O(object, id, name, kind, standard) [ADBC_OPT_##id] = {ADBC_OBJECT_##object, name, kind, standard},
#include "api/adbc/adbc_options.def"
};

void adbc_options_init(struct adbc_options *o, enum adbc_object object)
{
    memset(o, 0, sizeof *o);
    o->object = object;
    pthread_mutex_init(&o->mutex, NULL);
}

void adbc_options_release(struct adbc_options *o)
{
    for (int i = 0; i < ADBC_OPT_COUNT; i++)
        free(o->set[i]);
    pthread_mutex_destroy(&o->mutex);
}

AdbcStatusCode adbc_options_find(const struct adbc_options *o, const char *key, enum adbc_option *id,
                                 struct AdbcError *e)
{
    static const char prefix[] = "heddle.";
    ADBC_NEED(key, e);
    const char *name = strncmp(key, prefix, strlen(prefix)) == 0 ? key + strlen(prefix) : key;
    for (int i = 0; i < ADBC_OPT_COUNT; i++) {
        if (table[i].object != o->object || strcmp(table[i].name, name) != 0)
            continue;
        *id = (enum adbc_option)i;
        return ADBC_STATUS_OK;
    }
    return adbc_fail(e, ADBC_STATUS_NOT_FOUND, "HY092", "there is no option \"%s\" of this object", key);
}

static bool read_number(const char *text, uint64_t max, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno && *out <= max;
}

/* What the option expects instead of value; NULL: the value is fine. */
static const char *misfit(enum adbc_option id, const char *value)
{
    uint64_t number;
    switch (table[id].kind) {
    case TEXT: return NULL;
    case INT: return read_number(value, INT32_MAX, &number) ? NULL : "a number from 0 to 2147483647";
    case SIZE: return read_number(value, INT64_MAX, &number) ? NULL : "a number from 0 on";
    case BOOL: return strcmp(value, "true") == 0 || strcmp(value, "false") == 0 ? NULL : "true or false";
    case ONLY: return strcmp(value, table[id].standard) == 0 ? NULL : table[id].standard;
    case SHOWN: return "";
    }
    return NULL;
}

static AdbcStatusCode check(enum adbc_option id, const char *value, struct AdbcError *e)
{
    const char *expected = misfit(id, value);
    if (!expected)
        return ADBC_STATUS_OK;
    if (table[id].kind == SHOWN)
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "HY092", "option %s cannot be set", table[id].name);
    if (table[id].kind == ONLY)
        return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "HYC00", "option %s: Heddle has only \"%s\", not \"%s\"",
                         table[id].name, expected, value);
    return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "HY024", "option %s: expected %s, found \"%s\"", table[id].name,
                     expected, value);
}

AdbcStatusCode adbc_options_set(struct adbc_options *o, const char *key, const char *value, enum adbc_option *id,
                                struct AdbcError *e)
{
    AdbcStatusCode found = adbc_options_find(o, key, id, e);
    if (found != ADBC_STATUS_OK) /* what the specification has setters say */
        return found == ADBC_STATUS_NOT_FOUND ? ADBC_STATUS_NOT_IMPLEMENTED : found;
    if (value)
        ADBC_TRY(check(*id, value, e));
    char *copy = value ? strdup(value) : NULL;
    if (value && !copy)
        return ADBC_NO_MEMORY(e);
    pthread_mutex_lock(&o->mutex);
    char *old = o->set[*id];
    o->set[*id] = copy;
    pthread_mutex_unlock(&o->mutex);
    free(old);
    return ADBC_STATUS_OK;
}

const char *adbc_option_text(const struct adbc_options *o, enum adbc_option id)
{
    return o->set[id] ? o->set[id] : table[id].standard;
}

uint64_t adbc_option_number(const struct adbc_options *o, enum adbc_option id)
{
    const char *text = adbc_option_text(o, id);
    return text ? strtoull(text, NULL, 10) : 0;
}

bool adbc_option_bool(const struct adbc_options *o, enum adbc_option id)
{
    const char *text = adbc_option_text(o, id);
    return text && strcmp(text, "true") == 0;
}

#define VALUE_INT(id)         (int)adbc_option_number(o, id)
#define VALUE_SIZE(id)        adbc_option_number(o, id)
#define VALUE_BOOL(id)        adbc_option_bool(o, id)
#define VALUE_TEXT(id)        adbc_option_text(o, id)
#define SET(member, kind, id) out->member = VALUE_##kind(ADBC_OPT_##id);

void adbc_context_options(const struct adbc_options *o, heddle_options *out)
{
    heddle_options_init(out);
#define SET_CONTEXT(member, kind, id) SET(member, kind, id)
#define SET_STATEMENT(member, kind, id)
#define T_OPTION(of, id, name, member, kind, cli, standard) SET_##of(member, kind, id)
#define T_OPTION_ADBC(of, id, name, member, kind, standard) SET_##of(member, kind, id)
#include "api/options.def"
#undef SET_CONTEXT
#undef SET_STATEMENT
}

void adbc_statement_options_of(const struct adbc_options *o, heddle_statement_options *out)
{
    heddle_statement_options_init(out);
#define SET_CONTEXT(member, kind, id)
#define SET_STATEMENT(member, kind, id)                     SET(member, kind, id)
#define T_OPTION(of, id, name, member, kind, cli, standard) SET_##of(member, kind, id)
#define T_OPTION_ADBC(of, id, name, member, kind, standard) SET_##of(member, kind, id)
#include "api/options.def"
}

/* ---- getters and setters of ADBC ----------------------------------------------------------- */

/* The value on the heap. */
static AdbcStatusCode get(struct adbc_options *o, const char *key, char **out, struct AdbcError *e)
{
    enum adbc_option id;
    ADBC_TRY(adbc_options_find(o, key, &id, e));
    pthread_mutex_lock(&o->mutex);
    const char *text = adbc_option_text(o, id);
    char *copy = text ? strdup(text) : NULL;
    pthread_mutex_unlock(&o->mutex);
    if (!text)
        return adbc_fail(e, ADBC_STATUS_NOT_FOUND, "HY092", "option %s is not set", key);
    if (!copy)
        return ADBC_NO_MEMORY(e);
    *out = copy;
    return ADBC_STATUS_OK;
}

/* n bytes to a buffer of *length; *length becomes n, also where they do not fit. */
static void give(const char *text, size_t n, void *value, size_t *length)
{
    if (n <= *length && value)
        memcpy(value, text, n);
    *length = n;
}

static AdbcStatusCode get_text(struct adbc_options *o, const char *key, void *value, size_t *length, bool nul,
                               struct AdbcError *e)
{
    char *text;
    ADBC_NEED(length, e);
    ADBC_TRY(get(o, key, &text, e));
    give(text, strlen(text) + nul, value, length);
    free(text);
    return ADBC_STATUS_OK;
}

static AdbcStatusCode get_double(struct adbc_options *o, const char *key, double *value, struct AdbcError *e)
{
    char *text, *end;
    ADBC_NEED(value, e);
    ADBC_TRY(get(o, key, &text, e));
    double number = strtod(text, &end);
    bool ok = *text && !*end;
    free(text);
    if (!ok)
        return adbc_fail(e, ADBC_STATUS_NOT_FOUND, "HY092", "option %s is no number", key);
    *value = number;
    return ADBC_STATUS_OK;
}

static AdbcStatusCode get_int(struct adbc_options *o, const char *key, int64_t *value, struct AdbcError *e)
{
    char *text;
    uint64_t number;
    ADBC_NEED(value, e);
    ADBC_TRY(get(o, key, &text, e));
    bool ok = read_number(text, INT64_MAX, &number);
    free(text);
    if (!ok)
        return adbc_fail(e, ADBC_STATUS_NOT_FOUND, "HY092", "option %s is no integer", key);
    *value = (int64_t)number;
    return ADBC_STATUS_OK;
}

typedef AdbcStatusCode set_fn(void *handle, const char *key, const char *value, struct AdbcError *e);

static AdbcStatusCode set_bytes(set_fn *set, void *handle, const char *key, const uint8_t *value, size_t n,
                                struct AdbcError *e)
{
    if (n)
        ADBC_NEED(value, e);
    if (n && memchr(value, 0, n))
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "HY024", "the value of an option holds no NUL");
    char *text = strndup(n ? (const char *)value : "", n);
    if (!text)
        return ADBC_NO_MEMORY(e);
    AdbcStatusCode status = set(handle, key, text, e);
    free(text);
    return status;
}

static AdbcStatusCode set_int(set_fn *set, void *handle, const char *key, int64_t value, struct AdbcError *e)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    return set(handle, key, text, e);
}

static AdbcStatusCode set_double(set_fn *set, void *handle, const char *key, double value, struct AdbcError *e)
{
    char text[64];
    if (value == floor(value) && fabs(value) < 0x1p53)
        return set_int(set, handle, key, (int64_t)value, e);
    snprintf(text, sizeof text, "%.17g", value);
    return set(handle, key, text, e);
}

/* The seven typed functions of an object over its set_option; each begins with get_##object, which finds its options. */
#define TYPED(object, Handle) \
    static AdbcStatusCode object##_set(void *handle, const char *key, const char *value, struct AdbcError *e) \
    { \
        return object##_set_option(handle, key, value, e); \
    } \
    AdbcStatusCode object##_get_option(struct Handle *h, const char *key, char *value, size_t *length, \
                                       struct AdbcError *e) \
    { \
        struct adbc_options *o; \
        ADBC_TRY(object##_options(h, key, &o, e)); \
        return get_text(o, key, value, length, true, e); \
    } \
    AdbcStatusCode object##_get_option_bytes(struct Handle *h, const char *key, uint8_t *value, size_t *length, \
                                             struct AdbcError *e) \
    { \
        struct adbc_options *o; \
        ADBC_TRY(object##_options(h, key, &o, e)); \
        return get_text(o, key, value, length, false, e); \
    } \
    AdbcStatusCode object##_get_option_double(struct Handle *h, const char *key, double *value, struct AdbcError *e) \
    { \
        struct adbc_options *o; \
        ADBC_TRY(object##_options(h, key, &o, e)); \
        return get_double(o, key, value, e); \
    } \
    AdbcStatusCode object##_get_option_int(struct Handle *h, const char *key, int64_t *value, struct AdbcError *e) \
    { \
        struct adbc_options *o; \
        ADBC_TRY(object##_options(h, key, &o, e)); \
        return get_int(o, key, value, e); \
    } \
    AdbcStatusCode object##_set_option_bytes(struct Handle *h, const char *key, const uint8_t *value, size_t n, \
                                             struct AdbcError *e) \
    { \
        return set_bytes(object##_set, h, key, value, n, e); \
    } \
    AdbcStatusCode object##_set_option_double(struct Handle *h, const char *key, double value, struct AdbcError *e) \
    { \
        return set_double(object##_set, h, key, value, e); \
    } \
    AdbcStatusCode object##_set_option_int(struct Handle *h, const char *key, int64_t value, struct AdbcError *e) \
    { \
        return set_int(object##_set, h, key, value, e); \
    }
TYPED(adbc_database, AdbcDatabase)
TYPED(adbc_connection, AdbcConnection)
TYPED(adbc_statement, AdbcStatement)
