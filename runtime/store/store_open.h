/* An opened database: what store_open.c and store_check.c share. */
#ifndef HEDDLE_RUNTIME_STORE_OPEN_H
#define HEDDLE_RUNTIME_STORE_OPEN_H

#include <stdatomic.h>

#include "runtime/store/store.h"
#include "runtime/store/store_file.h"

struct rt_store_table {
    struct rt_store *store;
    int number;
};

struct rt_store {
    char *dir;
    struct fe_catalog_doc *doc;
    bool trust;
    struct rt_map *maps;   /* of doc->files */
    atomic_bool *verified; /* of doc->files */
    struct rt_store_table *tables;
};

#endif
