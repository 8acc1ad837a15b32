/* Writes tables as the reference's text files: TABLE.tbl, fields ended by '|', rows by '\n'. */
#ifndef TPCH_GEN_TBL_H
#define TPCH_GEN_TBL_H

#include <stdatomic.h>
#include <stddef.h>

#include "gen_core.h"

/* Called from worker threads, one call at a time, with the fraction done (0..1) and the table
 * in work.  A result other than 0 cancels. */
typedef int tg_progress_fn(void *user, double fraction, const char *what);

struct tg_tbl_options {
    const char *dir;          /* created if missing (its parent must exist) */
    uint32_t tables;          /* bit 1 << table for each table wanted; 0 = all */
    int64_t chunk, chunks;    /* 1..n of n: files get the suffix .chunk; 0 of 0: whole files */
    int threads;              /* <= 0: one per core */
    tg_progress_fn *progress; /* may be NULL */
    void *user;
    const atomic_bool *cancel; /* may be NULL; set from anywhere to stop */
};

/* Files appear complete or not at all: they are written in a hidden folder and renamed when all
 * are done; after a failure or cancellation none remain, and what a killed run leaves the next one
 * into `dir` removes.  Existing files are
 * replaced.  g must be prepared.  Memory: some 3 MB a thread besides the pool. */
int tg_tbl_write(const struct tg_gen *g, const struct tg_tbl_options *o, struct tg_error *err);

/* Formats a batch holding all columns.  Room needed: tg_tbl_room() bytes a row. */
char *tg_tbl_format(const struct tg_batch *b, char *out);
size_t tg_tbl_room(enum tg_table t, int64_t rows);

#endif
