/* GetObjects, GetTableTypes. There is one catalog with one schema, both named "". */
#include <stdio.h>
#include <string.h>

#include "api/adbc/adbc_batch.h"
#include "api/adbc/adbc_internal.h"

static const char objects_schema[] =
    "catalog_name:u catalog_db_schemas:+l(item:+s(db_schema_name:u db_schema_tables:+l(item:+s("
    "!table_name:u !table_type:u table_columns:+l(item:+s(!column_name:u ordinal_position:i remarks:u "
    "xdbc_data_type:s xdbc_type_name:u xdbc_column_size:i xdbc_decimal_digits:s xdbc_num_prec_radix:s xdbc_nullable:s "
    "xdbc_column_def:u xdbc_sql_data_type:s xdbc_datetime_sub:s xdbc_char_octet_length:i xdbc_is_nullable:u "
    "xdbc_scope_catalog:u xdbc_scope_schema:u xdbc_scope_table:u xdbc_is_autoincrement:b xdbc_is_generatedcolumn:b)) "
    "table_constraints:+l(item:+s(constraint_name:u !constraint_type:u !constraint_column_names:+l(item:u) "
    "constraint_column_usage:+l(item:+s(fk_catalog:u fk_db_schema:u !fk_table:u !fk_column_name:u))))))))";

struct request {
    int depth; /* levels that are told, 4 all */
    const char *table, **types, *column;
};

/* ---- columns ------------------------------------------------------------------------------- */

struct xdbc {
    const char *name;
    int code, sql, datetime, size, radix;
};

static struct xdbc xdbc_of(const char *type, int *digits)
{
    static const struct xdbc types[] = {
#define T(name, code, sql, datetime, size, radix) {name, code, sql, datetime, size, radix},
#include "api/adbc/adbc_types.def"
    };
    size_t n = strcspn(type, "(");
    *digits = -1;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct xdbc x = types[i];
        if (strlen(x.name) != n || strncmp(x.name, type, n) != 0)
            continue;
        if (type[n])
            sscanf(type + n, "(%d,%d)", &x.size, digits);
        return x;
    }
    return (struct xdbc){type, 1111, 1111, 0, -1, 0}; /* OTHER */
}

static void put_or_null(struct adbc_column *c, int v, bool there)
{
    if (there)
        adbc_put_int(c, v);
    else
        adbc_put_null(c);
}

static void put_column(struct adbc_column *c, const cJSON *column, int ordinal)
{
    int digits, i = 0;
    const char *type = adbc_catalog_text(column, "type");
    struct xdbc x = xdbc_of(type, &digits);
    bool nullable = adbc_catalog_is(column, "nullable");
    adbc_put_text(adbc_child(c, i++), adbc_catalog_text(column, "name"));
    adbc_put_int(adbc_child(c, i++), ordinal);
    adbc_put_null(adbc_child(c, i++)); /* remarks */
    adbc_put_int(adbc_child(c, i++), x.code);
    adbc_put_text(adbc_child(c, i++), type);
    put_or_null(adbc_child(c, i++), x.size, x.size >= 0);
    put_or_null(adbc_child(c, i++), digits, digits >= 0);
    put_or_null(adbc_child(c, i++), x.radix, x.radix != 0);
    adbc_put_int(adbc_child(c, i++), nullable);
    adbc_put_null(adbc_child(c, i++)); /* default */
    adbc_put_int(adbc_child(c, i++), x.sql);
    put_or_null(adbc_child(c, i++), x.datetime, x.datetime != 0);
    adbc_put_null(adbc_child(c, i++)); /* bytes of characters */
    adbc_put_text(adbc_child(c, i++), nullable ? "YES" : "NO");
    for (int scope = 0; scope < 3; scope++)
        adbc_put_null(adbc_child(c, i++));
    adbc_put_int(adbc_child(c, i++), 0); /* autoincrement, generated */
    adbc_put_int(adbc_child(c, i++), 0);
    adbc_put_nested(c);
}

static void put_columns(struct adbc_column *list, const cJSON *table, const struct request *r)
{
    int ordinal = 0;
    const cJSON *column;
    cJSON_ArrayForEach(column, cJSON_GetObjectItemCaseSensitive(table, "columns"))
    {
        ordinal++;
        if (adbc_matches(r->column, adbc_catalog_text(column, "name")))
            put_column(adbc_child(list, 0), column, ordinal);
    }
    adbc_put_nested(list);
}

/* ---- constraints --------------------------------------------------------------------------- */

static void put_names(struct adbc_column *list, const cJSON *names)
{
    const cJSON *name;
    cJSON_ArrayForEach(name, names) adbc_put_text(adbc_child(list, 0), cJSON_GetStringValue(name));
    adbc_put_nested(list);
}

static void put_usage(struct adbc_column *list, const cJSON *key)
{
    const cJSON *name;
    struct adbc_column *c = adbc_child(list, 0);
    cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(key, "references"))
    {
        adbc_put_text(adbc_child(c, 0), "");
        adbc_put_text(adbc_child(c, 1), "");
        adbc_put_text(adbc_child(c, 2), adbc_catalog_text(key, "table"));
        adbc_put_text(adbc_child(c, 3), cJSON_GetStringValue(name));
        adbc_put_nested(c);
    }
    adbc_put_nested(list);
}

/* key: a foreign key, or NULL. */
static void put_constraint(struct adbc_column *c, const char *type, const cJSON *columns, const cJSON *key)
{
    adbc_put_null(adbc_child(c, 0)); /* constraints have no names */
    adbc_put_text(adbc_child(c, 1), type);
    put_names(adbc_child(c, 2), columns);
    if (key)
        put_usage(adbc_child(c, 3), key);
    else
        adbc_put_null(adbc_child(c, 3));
    adbc_put_nested(c);
}

static void put_constraints(struct adbc_column *list, const cJSON *table)
{
    struct adbc_column *c = adbc_child(list, 0);
    const cJSON *primary = cJSON_GetObjectItemCaseSensitive(table, "primary_key"), *key;
    if (cJSON_GetArraySize(primary) > 0)
        put_constraint(c, "PRIMARY KEY", primary, NULL);
    cJSON_ArrayForEach(key, cJSON_GetObjectItemCaseSensitive(table, "foreign_keys"))
        put_constraint(c, "FOREIGN KEY", cJSON_GetObjectItemCaseSensitive(key, "columns"), key);
    adbc_put_nested(list);
}

/* ---- tables and what is above --------------------------------------------------------------- */

static bool is_wanted(const struct request *r, const cJSON *table)
{
    if (!adbc_matches(r->table, adbc_catalog_text(table, "name")))
        return false;
    for (const char **t = r->types; t && *t; t++)
        if (strcmp(*t, adbc_catalog_table_type(table)) == 0)
            return true;
    return !r->types;
}

static void put_table(struct adbc_column *c, const cJSON *table, const struct request *r)
{
    adbc_put_text(adbc_child(c, 0), adbc_catalog_text(table, "name"));
    adbc_put_text(adbc_child(c, 1), adbc_catalog_table_type(table));
    if (r->depth > ADBC_OBJECT_DEPTH_TABLES) {
        put_columns(adbc_child(c, 2), table, r);
        put_constraints(adbc_child(c, 3), table);
    } else {
        adbc_put_null(adbc_child(c, 2));
        adbc_put_null(adbc_child(c, 3));
    }
    adbc_put_nested(c);
}

static void put_tables(struct adbc_column *list, const cJSON *catalog, const struct request *r)
{
    const cJSON *table;
    cJSON_ArrayForEach(table, cJSON_GetObjectItemCaseSensitive(catalog, "tables"))
    {
        if (is_wanted(r, table))
            put_table(adbc_child(list, 0), table, r);
    }
    adbc_put_nested(list);
}

static void put_schemas(struct adbc_column *list, const cJSON *catalog, const char *db_schema, const struct request *r)
{
    struct adbc_column *c = adbc_child(list, 0);
    if (adbc_matches(db_schema, "")) {
        adbc_put_text(adbc_child(c, 0), "");
        if (r->depth > ADBC_OBJECT_DEPTH_DB_SCHEMAS)
            put_tables(adbc_child(c, 1), catalog, r);
        else
            adbc_put_null(adbc_child(c, 1));
        adbc_put_nested(c);
    }
    adbc_put_nested(list);
}

AdbcStatusCode adbc_connection_objects(struct AdbcConnection *h, int depth, const char *catalog, const char *db_schema,
                                       const char *table, const char **types, const char *column,
                                       struct ArrowArrayStream *out, struct AdbcError *e)
{
    struct adbc_connection *c;
    cJSON *list;
    ADBC_TRY(adbc_get_connection(h, &c, e));
    ADBC_NEED(out, e);
    if (depth < ADBC_OBJECT_DEPTH_ALL || depth > ADBC_OBJECT_DEPTH_TABLES)
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "HY024", "the depth of objects is 0 to 3, not %d", depth);
    ADBC_TRY(adbc_catalog(c->core, &list, e));
    struct request r = {depth ? depth : ADBC_OBJECT_DEPTH_TABLES + 1, table, types, column};
    struct adbc_column *rows = adbc_batch_new(objects_schema);
    if (rows && adbc_matches(catalog, "")) {
        adbc_put_text(adbc_child(rows, 0), "");
        if (r.depth > ADBC_OBJECT_DEPTH_CATALOGS)
            put_schemas(adbc_child(rows, 1), list, db_schema, &r);
        else
            adbc_put_null(adbc_child(rows, 1));
        adbc_put_nested(rows);
    }
    cJSON_Delete(list);
    return rows ? adbc_batch_finish(rows, out, e) : ADBC_NO_MEMORY(e);
}

AdbcStatusCode adbc_connection_table_types(struct AdbcConnection *h, struct ArrowArrayStream *out, struct AdbcError *e)
{
    static const char *const types[] = {ADBC_TYPE_STORED, ADBC_TYPE_MEMORY};
    struct adbc_connection *c;
    ADBC_TRY(adbc_get_connection(h, &c, e));
    ADBC_NEED(out, e);
    struct adbc_column *rows = adbc_batch_new("!table_type:u");
    for (size_t i = 0; rows && i < sizeof types / sizeof *types; i++) {
        adbc_put_text(adbc_child(rows, 0), types[i]);
        adbc_put_nested(rows);
    }
    return rows ? adbc_batch_finish(rows, out, e) : ADBC_NO_MEMORY(e);
}
