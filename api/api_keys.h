/* Keys of registered tables: declared and checked when the table is registered, then part of its struct, as those of stored
 * tables are. */
#ifndef HEDDLE_API_KEYS_H
#define HEDDLE_API_KEYS_H

#include "api/api_internal.h"

/* Indexes of a table's keys, and the tables that they refer to, which live as long. */
struct api_keys;
void api_keys_free(struct api_keys *k); /* NULL is fine */

/* Gives t, which nobody else knows yet, the keys of the text (see heddle_database_register_with_keys), which refer to tables
 * of `now` or to t itself. What is needed of facts is computed. Errors: USER of the text, DATA where rows violate a key,
 * UNSUPPORTED, RESOURCE. */
int api_keys_declare(const heddle_context *c, const struct api_snapshot *now, struct api_table *t, const char *json,
                     struct hd_err *err);

#endif
