/* What schema_read.c and catalog_read.c share: tables as declared. */
#ifndef HEDDLE_FRONTEND_CATALOG_JSON_H
#define HEDDLE_FRONTEND_CATALOG_JSON_H

#include "frontend/catalog.h"
#include "frontend/json.h"

enum { FE_CATALOG_VERSION = 1 };
enum { FE_MAX_TABLES = 1024, FE_MAX_COLUMNS = 4096, FE_MAX_KEYS = 256 };

/* A list of at least one and at most max elements. */
int fe_read_list(const struct fe_json *v, const char *key, int max, struct fe_json *list, int *n);
/* "name" and "type" and "nullable" of a column; one that is declared may be of a type that others stand for. */
int fe_read_column_head(const struct fe_json *v, bool declared, struct fe_table_column *c);
/* No two columns of the table, no two tables share a name. */
int fe_check_column_names(const struct fe_json *columns, const struct fe_table *t);
int fe_check_table_names(const struct fe_json *tables, int n, const struct fe_table *(*get)(const void *, int),
                         const void *set);
/* "partition": optional {"number", "of"}. */
int fe_read_partition(const struct fe_json *v, struct fe_partition *out);
/* "cut_by" of a table in one piece, by which it is divided among partitions: the name of a column, or null. */
int fe_read_divided(const struct fe_json *table, const struct fe_partition *of, struct fe_table *t);
/* Columns and primary keys, or foreign keys, are declared alike. */
bool fe_same_declaration(const struct fe_table *a, const struct fe_table *b);
bool fe_same_keys(const struct fe_table *a, const struct fe_table *b);
/* "primary_key": optional list of column names. */
int fe_read_primary_key(const struct fe_json *table, struct fe_table *t);
/* "foreign_keys": optional; find gives the table of a name or NULL. The elements are checked
 * to have the keys "columns", "table", "references" and, if more, "index", "max_children",
 * "long_parents". */
int fe_read_foreign_keys(const struct fe_json *table, struct fe_table *t,
                         const struct fe_table *(*find)(const void *, const char *), const void *set, bool more);

#endif
