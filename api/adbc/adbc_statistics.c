/* GetStatistics: what facts of the catalog say. Those that no query has wanted yet are computed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/adbc/adbc_batch.h"
#include "api/adbc/adbc_internal.h"

static const char statistics_schema[] =
    "catalog_name:u !catalog_db_schemas:+l(item:+s(db_schema_name:u !db_schema_statistics:+l(item:+s(!table_name:u "
    "column_name:u !statistic_key:s !statistic_value:+ud(int64:l uint64:L float64:g binary:z) "
    "!statistic_is_approximate:b))))";

enum key {
#define S(id, key, name) KEY_##id = key,
#include "api/adbc/adbc_statistics.def"
};
/* Members of the union. */
enum { INT64, FLOAT64 = 2 };

struct statistic {
    const char *table, *column; /* NULL: of the table */
    enum key key;
    bool approximate, real;
    int64_t number;
    double value; /* real */
};

static void put(struct adbc_column *list, struct statistic s)
{
    struct adbc_column *c = adbc_child(list, 0), *value = adbc_child(c, 3);
    int member = s.real ? FLOAT64 : INT64;
    adbc_put_text(adbc_child(c, 0), s.table);
    adbc_put_text(adbc_child(c, 1), s.column);
    adbc_put_int(adbc_child(c, 2), s.key);
    if (s.real)
        adbc_put_double(adbc_child(value, member), s.value);
    else
        adbc_put_int(adbc_child(value, member), s.number);
    adbc_put_member(value, member);
    adbc_put_int(adbc_child(c, 4), s.approximate);
    adbc_put_nested(c);
}

/* A count; an estimate is a float64, as the specification has it. */
static void put_count(struct adbc_column *list, struct statistic s, const cJSON *facts, const char *name, bool exact,
                      bool approximate)
{
    int64_t n = adbc_catalog_number(facts, name, -1);
    if (n < 0 || (!exact && !approximate))
        return;
    s.number = n;
    s.real = s.approximate = !exact;
    s.value = (double)n;
    put(list, s);
}

static void put_flag(struct adbc_column *list, struct statistic s, const cJSON *facts, const char *name)
{
    s.number = adbc_catalog_is(facts, name);
    put(list, s);
}

/* Integers, days, microseconds as such; decimals as the float64 next to them. Bounds of strings and binary are codes,
 * those of intervals no numbers. */
static void put_bound(struct adbc_column *list, struct statistic s, const cJSON *column, const char *name,
                      bool approximate)
{
    int precision, scale = 0;
    char *end;
    const char *type = adbc_catalog_text(column, "type");
    const char *text = adbc_catalog_text(cJSON_GetObjectItemCaseSensitive(column, "facts"), name);
    if (!text || strcmp(type, "string") == 0 || strcmp(type, "binary") == 0 || strcmp(type, "interval") == 0)
        return;
    errno = 0;
    s.number = strtoll(text, &end, 10);
    s.real = sscanf(type, "decimal(%d,%d)", &precision, &scale) == 2;
    if (s.real) {
        s.value = strtod(text, NULL) / pow(10, scale);
        s.approximate = fabs(s.value) >= 0x1p53 || s.value != floor(s.value);
    }
    if (s.real ? !s.approximate || approximate : !errno && !*end)
        put(list, s);
}

static void put_column(struct adbc_column *list, const char *table, const cJSON *column, bool approximate)
{
    const cJSON *facts = cJSON_GetObjectItemCaseSensitive(column, "facts");
    struct statistic s = {.table = table, .column = adbc_catalog_text(column, "name")};
    s.key = KEY_NULLS;
    put_count(list, s, facts, "nulls", true, approximate);
    if (!adbc_catalog_is(facts, "known"))
        return;
    s.key = KEY_DISTINCT;
    put_count(list, s, facts, "distinct", adbc_catalog_is(facts, "distinct_exact"), approximate);
    s.key = KEY_MULTIPLICITY;
    put_count(list, s, facts, "max_multiplicity", true, approximate);
    s.key = KEY_MIN;
    put_bound(list, s, column, "min", approximate);
    s.key = KEY_MAX;
    put_bound(list, s, column, "max", approximate);
    s.key = KEY_UNIQUE;
    put_flag(list, s, facts, "unique");
    s.key = KEY_SORTED;
    put_flag(list, s, facts, "sorted");
}

static void put_tables(struct adbc_column *list, const cJSON *catalog, const char *pattern, bool approximate)
{
    const cJSON *table, *column;
    cJSON_ArrayForEach(table, cJSON_GetObjectItemCaseSensitive(catalog, "tables"))
    {
        const char *name = adbc_catalog_text(table, "name");
        if (!adbc_matches(pattern, name))
            continue;
        put(list, (struct statistic){.table = name, .key = KEY_ROWS, .number = adbc_catalog_number(table, "rows", 0)});
        cJSON_ArrayForEach(column, cJSON_GetObjectItemCaseSensitive(table, "columns"))
            put_column(list, name, column, approximate);
    }
    adbc_put_nested(list);
}

static AdbcStatusCode compute_facts(struct adbc_core *c, const char *pattern, struct AdbcError *e)
{
    cJSON *catalog;
    const cJSON *table;
    heddle_error *error = NULL;
    int rc = 0;
    ADBC_TRY(adbc_catalog(c, &catalog, e));
    cJSON_ArrayForEach(table, cJSON_GetObjectItemCaseSensitive(catalog, "tables"))
    {
        const char *name = adbc_catalog_text(table, "name");
        bool stored = strcmp(adbc_catalog_table_type(table), ADBC_TYPE_STORED) == 0;
        if (rc == 0 && !stored && adbc_matches(pattern, name))
            rc = heddle_database_compute_facts(c->db, name, &error);
    }
    cJSON_Delete(catalog);
    return rc == 0 ? ADBC_STATUS_OK : adbc_fail_heddle(e, error);
}

AdbcStatusCode adbc_connection_statistics(struct AdbcConnection *h, const char *catalog, const char *db_schema,
                                          const char *table, char approximate, struct ArrowArrayStream *out,
                                          struct AdbcError *e)
{
    struct adbc_connection *c;
    cJSON *list;
    ADBC_TRY(adbc_get_connection(h, &c, e));
    ADBC_NEED(out, e);
    ADBC_TRY(compute_facts(c->core, table, e));
    ADBC_TRY(adbc_catalog(c->core, &list, e));
    struct adbc_column *rows = adbc_batch_new(statistics_schema);
    if (rows && adbc_matches(catalog, "")) {
        struct adbc_column *schemas = adbc_child(rows, 1), *one = adbc_child(schemas, 0);
        if (adbc_matches(db_schema, "")) {
            adbc_put_text(adbc_child(one, 0), "");
            put_tables(adbc_child(one, 1), list, table, approximate != 0);
            adbc_put_nested(one);
        }
        adbc_put_text(adbc_child(rows, 0), "");
        adbc_put_nested(schemas);
        adbc_put_nested(rows);
    }
    cJSON_Delete(list);
    return rows ? adbc_batch_finish(rows, out, e) : ADBC_NO_MEMORY(e);
}

AdbcStatusCode adbc_connection_statistic_names(struct AdbcConnection *h, struct ArrowArrayStream *out,
                                               struct AdbcError *e)
{
    static const struct {
        int key;
        const char *name;
    } names[] = {
#define S(id, key, name) {key, name},
#include "api/adbc/adbc_statistics.def"
    };
    struct adbc_connection *c;
    ADBC_TRY(adbc_get_connection(h, &c, e));
    ADBC_NEED(out, e);
    struct adbc_column *rows = adbc_batch_new("!statistic_name:u !statistic_key:s");
    for (size_t i = 0; rows && i < sizeof names / sizeof *names; i++) {
        adbc_put_text(adbc_child(rows, 0), names[i].name);
        adbc_put_int(adbc_child(rows, 1), names[i].key);
        adbc_put_nested(rows);
    }
    return rows ? adbc_batch_finish(rows, out, e) : ADBC_NO_MEMORY(e);
}
