/* Feeds a generated data set into a Heddle database, through the public API alone. */
#ifndef TPCH_GEN_DB_H
#define TPCH_GEN_DB_H

#include <stdatomic.h>

#include "gen_core.h"
#include "heddle.h"

struct tg_db_options {
    bool used_only;              /* leave out columns that no query of the suite reads */
    int64_t segment_rows;        /* of a table at most; 0: as many as there can be */
    int partition, partitions;   /* of so many the one to write, from 0, a range of orders; 0 of 0: all rows */
    bool pack;                   /* numbers and codes take as few bits as they need */
    int threads;                 /* <= 0: one per core */
    heddle_progress_fn progress; /* may be NULL; one call at a time, from any thread; a result
                                    other than 0 cancels */
    void *user;
    const atomic_bool *cancel; /* may be NULL; set from anywhere to stop */
};

/* Generates all tables into a new database at path and commits it; on failure nothing is left
 * at path.  g must be prepared.  *err is filled on failure; if the database refused, *cause is
 * its error (the caller frees it), else *cause stays as it was. */
int tg_db_write(const struct tg_gen *g, heddle_context *context, const char *path, const struct tg_db_options *o,
                struct tg_error *err, heddle_error **cause);

/* Rows that it writes of the table. */
int64_t tg_db_rows(const struct tg_gen *g, enum tg_table t, const struct tg_db_options *o);

#endif
