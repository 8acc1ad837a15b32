/* What libadbc_driver_heddle.so has beside ADBC: the place where a host puts a translator of SQL. */
#ifndef HEDDLE_ADBC_H
#define HEDDLE_ADBC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Takes a piece of what a translator says; may be called several times. */
typedef void (*heddle_adbc_emit_fn)(void *to, const void *bytes, size_t n);
/* Turns SQL over the tables of catalog_json (see heddle_database_catalog) into a plan: JSON or
 * Substrait. Returns 0 and emits the plan, or anything else and emits a message (UTF-8, one line). Called by
 * any thread, by several at a time. */
typedef int (*heddle_adbc_translate_fn)(void *user, const char *sql, const char *catalog_json, heddle_adbc_emit_fn emit,
                                        void *to);

/* For all databases of the process that have no other one (their options translator and translator_user, the addresses as
 * integers, set before AdbcDatabaseInit). NULL: none. */
__attribute__((visibility("default"))) void AdbcHeddleSetTranslator(heddle_adbc_translate_fn translate, void *user);

#ifdef __cplusplus
}
#endif
#endif
