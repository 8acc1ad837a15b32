#include <string.h>

#include "api/adbc/adbc_internal.h"

AdbcStatusCode adbc_catalog(struct adbc_core *c, cJSON **out, struct AdbcError *e)
{
    char *text;
    heddle_error *error = NULL;
    if (heddle_database_catalog(c->db, &text, &error) != 0)
        return adbc_fail_heddle(e, error);
    *out = cJSON_Parse(text);
    heddle_free(text);
    return *out ? ADBC_STATUS_OK : ADBC_NO_MEMORY(e);
}

const char *adbc_catalog_text(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

int64_t adbc_catalog_number(const cJSON *object, const char *key, int64_t none)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(v) ? (int64_t)v->valuedouble : none;
}

bool adbc_catalog_is(const cJSON *object, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

const cJSON *adbc_catalog_find(const cJSON *catalog, const char *table)
{
    const cJSON *t;
    cJSON_ArrayForEach(t, cJSON_GetObjectItemCaseSensitive(catalog, "tables"))
    {
        if (strcmp(adbc_catalog_text(t, "name"), table) == 0)
            return t;
    }
    return NULL;
}

/* Only what is stored has files, its own or its segments', and only what has columns is stored. */
const char *adbc_catalog_table_type(const cJSON *table)
{
    const cJSON *column = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(table, "columns"), 0);
    return cJSON_HasObjectItem(column, "data") || cJSON_HasObjectItem(table, "segments") ? ADBC_TYPE_STORED
                                                                                         : ADBC_TYPE_MEMORY;
}

/* After a failed match behind a %, the % takes one byte more: the last % alone needs to be remembered. */
bool adbc_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *from = text;
    if (!pattern)
        return true;
    while (*text) {
        if (*pattern == '%') {
            star = ++pattern;
            from = text;
        } else if (*pattern == '_' || (*pattern && *pattern == *text)) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++from;
        } else
            return false;
    }
    while (*pattern == '%')
        pattern++;
    return !*pattern;
}

AdbcStatusCode adbc_prepare_scan(heddle_database *db, const char *table, heddle_statement **out, struct AdbcError *e)
{
    heddle_error *error = NULL;
    cJSON *plan = cJSON_Parse("{\"heddle\":1,\"root\":{\"op\":\"scan\"}}");
    cJSON_AddStringToObject(cJSON_GetObjectItem(plan, "root"), "table", table);
    char *text = cJSON_PrintUnformatted(plan);
    cJSON_Delete(plan);
    if (!text)
        return ADBC_NO_MEMORY(e);
    int rc = heddle_prepare(db, text, NULL, out, &error);
    cJSON_free(text);
    return rc == 0 ? ADBC_STATUS_OK : adbc_fail_heddle(e, error);
}
