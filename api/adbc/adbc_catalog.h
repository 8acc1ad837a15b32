/* The catalog as JSON, and what its readers share. */
#ifndef HEDDLE_ADBC_CATALOG_H
#define HEDDLE_ADBC_CATALOG_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "api/adbc/adbc.h"

struct adbc_core;
/* heddle_database_catalog, read; the caller deletes it. */
AdbcStatusCode adbc_catalog(struct adbc_core *c, cJSON **out, struct AdbcError *e);
/* Text of a member; NULL if there is none. */
const char *adbc_catalog_text(const cJSON *object, const char *key);
/* A number; `none` if there is none. */
int64_t adbc_catalog_number(const cJSON *object, const char *key, int64_t none);
bool adbc_catalog_is(const cJSON *object, const char *key);
/* NULL: no such table. */
const cJSON *adbc_catalog_find(const cJSON *catalog, const char *table);
/* A statement that gives all rows of the table. */
AdbcStatusCode adbc_prepare_scan(heddle_database *db, const char *table, heddle_statement **out, struct AdbcError *e);
/* Stored tables, and those of the process. */
#define ADBC_TYPE_STORED "TABLE"
#define ADBC_TYPE_MEMORY "LOCAL TEMPORARY"
const char *adbc_catalog_table_type(const cJSON *table);
/* ADBC's search patterns: % is any text, _ any one byte. NULL matches everything. */
bool adbc_matches(const char *pattern, const char *text);

#endif
