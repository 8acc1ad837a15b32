/* What store_writer.c and store_seal*.c share. */
#ifndef HEDDLE_RUNTIME_STORE_WRITER_IMPL_H
#define HEDDLE_RUNTIME_STORE_WRITER_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/store/store_file.h"
#include "runtime/store/store_pool.h"
#include "runtime/store/store_ranges.h"
#include "runtime/store/store_writer.h"

struct wr_table {
    const struct fe_schema_table *decl;
    pthread_mutex_t mutex; /* ranges, slices, in_flight */
    struct rt_ranges ranges;
    struct rt_slice *slices;
    size_t nslices, cap;
    int in_flight;
    int fd; /* staging file, -1 until the first append */
    _Atomic uint64_t cursor;
    char staging[RT_PATH_MAX];
};

enum wr_state { WR_OPEN, WR_POISONED, WR_SEALED, WR_PUBLISHED };

struct rt_writer {
    const struct fe_schema *schema;
    int threads;
    char path[RT_PATH_MAX]; /* the target */
    char dir[RT_PATH_MAX];  /* the temporary directory; "" when gone */
    int ntables;
    struct wr_table *tables;
    _Atomic int state;
    pthread_mutex_t mutex; /* scratches */
    struct rt_scratch **scratches;
    size_t nscratches, scratch_cap;
    struct hd_arena arena; /* of the sealed doc */
    struct fe_catalog_doc *doc;
};

#endif
