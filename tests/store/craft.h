/* Hostile databases: files changed at seeded random places, under checksums that are right again.
 * For databases of plain names as writers make them. */
#ifndef TESTS_STORE_CRAFT_H
#define TESTS_STORE_CRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Changes a few numbers of one file of database `db`; sometimes cuts or extends it. what: a text
 * that says which. False if there is nothing to change. */
bool craft_file(const char *db, const char *name, uint64_t *seed, char what[128]);
/* Changes one number or flag of catalog.json. */
bool craft_catalog(const char *db, uint64_t *seed, char what[128]);
/* Writes the sizes and checksums of all files as they now are into catalog.json, and its own into
 * catalog.sum. */
bool craft_seal(const char *db);

/* A file as heap text; false if it cannot be read. */
bool craft_read(const char *db, const char *name, char **text, size_t *n);
bool craft_write(const char *db, const char *name, const char *text, size_t n);

#endif
