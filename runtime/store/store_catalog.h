/* catalog.json as a file: its text is the frontend's, its checksum (catalog.sum) the store's. */
#ifndef HEDDLE_RUNTIME_STORE_CATALOG_H
#define HEDDLE_RUNTIME_STORE_CATALOG_H

#include "runtime/base/err.h"

int rt_catalog_store(const char *dir, const char *text, struct hd_err *err);
int rt_catalog_load(const char *dir, char **text, struct hd_err *err);

#endif
