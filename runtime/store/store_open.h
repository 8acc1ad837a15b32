/* An opened database: what store_open.c and store_check.c share. */
#ifndef HEDDLE_RUNTIME_STORE_OPEN_H
#define HEDDLE_RUNTIME_STORE_OPEN_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/store/store.h"
#include "runtime/store/store_bounds.h"
#include "runtime/store/store_file.h"

struct rt_store_table {
    struct rt_store *store;
    int number;
};

enum { RT_LOAD_LOCKS = 16 };
struct rt_store {
    char *dir;
    struct fe_catalog_doc *doc;
    struct rt_open_mode mode;
    /* of doc->files: */
    struct rt_map *maps;
    struct rt_part *parts;
    bool *loaded; /* copies only; under one of the locks */
    atomic_bool *ready;
    pthread_mutex_t load[RT_LOAD_LOCKS];
    struct rt_store_table *tables;
};

/* Where files are copied: reads this one, unless that is done. Any thread. */
int rt_store_load(struct rt_store *s, int file, struct hd_err *err);

#endif
