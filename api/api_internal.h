/* The objects behind include/heddle.h, shared by the files of this folder. */
#ifndef HEDDLE_API_INTERNAL_H
#define HEDDLE_API_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "frontend/catalog.h"
#include "include/heddle.h"
#include "runtime/base/err.h"
#include "runtime/base/guard.h"
#include "runtime/spec.h"

/* ---- errors: struct hd_err inside, heddle_error outside ------------------------------------ */

struct heddle_error {
    struct hd_err e;
};
/* The end of every public function: rc 0 passes, otherwise *out (if wanted and NULL) takes the
 * error over. Releases e in any case. Returns rc. */
int api_finish(int rc, struct hd_err *e, heddle_error **out);

/* At the head of a public function: fails unless the pointer, an argument that may not be NULL,
 * is there. */
#define API_NEED(argument, err) \
    do { \
        if (!(argument)) \
            return api_missing(__func__, #argument, (err)); \
    } while (0)
int api_missing(const char *function, const char *argument, heddle_error **err);

/* A caller's options of `size` bytes, the first of which say so: all default, which is 0. NULL is fine, and so is a size
 * that no header has: then nothing is written. */
void api_options_init(void *o, size_t size);
/* Copies a caller's options over the defaults in `to`, which has `known` bytes. A shorter struct
 * is an older header's, and the rest stays default; a longer one is a newer header's, and must be
 * zero beyond what is known. from may be NULL. */
int api_copy_options(const char *name, void *to, size_t known, const void *from, struct hd_err *err);

/* ---- context ------------------------------------------------------------------------------- */

struct heddle_context {
    int threads;
    uint64_t memory_limit;
    uint64_t memory_wanted; /* the caller's limit, 0 none: for a GPU's memory too, unless that has its own */
    uint64_t device_memory; /* the caller's limit for a GPU's memory, 0 none */
    uint64_t pin; /* bytes of page-locked memory for columns that are streamed to a GPU */
    char *temp_dir; /* NULL: there are no temporary files */
    uint64_t temp_limit; /* 0: none */
    bool temp_given; /* by the caller: wanted without a memory limit, too */
    char *cache_dir; /* NULL: no cache on disk */
    uint64_t cache_limit;
    char backend[16]; /* auto, cpu, cuda */
    int ndevices; /* 1 or more */
    int devices[RT_MAX_DEVICES]; /* numbers of GPUs; the first one is that of whatever runs on one */
    double link; /* bytes a second from one of several to another; 0: not known */
    bool no_mmap; /* copy database files instead */
    void *exec; /* the executor's part, made when first needed; see api_statement.c */
    void (*exec_free)(void *exec);
    pthread_mutex_t mutex; /* exec */
};

/* The GPUs that options name, or USER; RESOURCE where this machine has GPUs, but not as many. */
int api_devices_read(const heddle_options *o, int devices[RT_MAX_DEVICES], int *n, struct hd_err *err);
/* For heddle_context.link. */
double api_devices_link(const int *devices, int n);

/* ---- database ------------------------------------------------------------------------------ */

struct rt_store;
struct rt_memtable;

struct api_facts;

/* A registered table lives as long as a snapshot that has it, or a view of it. */
struct api_table {
    atomic_int refs;
    struct rt_memtable *mem; /* NULL: stored, or a view */
    struct fe_table *table;
    struct api_keys *keys; /* of `table`, or NULL (api_keys.h) */
    struct api_facts *facts; /* computed when plans want them; NULL: what `table` has is all */
    struct api_table *of; /* a view: what it is a view of; its `table` is in the arena (api_facts.h) */
    struct hd_arena arena;
};

/* The tables of a database at one moment. A statement keeps one, so that registering and
 * dropping tables never disturbs it. */
struct api_snapshot {
    atomic_int refs;
    struct fe_catalog cat;
    struct api_table **owners; /* of cat.tables */
};

struct heddle_database {
    heddle_context *context;
    struct hd_arena arena;
    struct fe_catalog_doc *doc; /* NULL: no directory */
    struct rt_store *store;
    pthread_mutex_t mutex; /* now */
    struct api_snapshot *now;
};

struct api_snapshot *api_database_snapshot(heddle_database *db); /* one more reference */
void api_snapshot_release(struct api_snapshot *s); /* NULL is fine */

/* For the files of api_database*.c. */
int api_database_open(heddle_context *c, const char *path, int flags, heddle_database **out, struct hd_err *err);
/* The catalog and store of a directory: of a database in one, or of one in partitions. */
int api_database_read(heddle_database *db, const char *path, int flags, struct hd_err *err);
/* facts: HEDDLE_FACTS_*; keys: JSON text or NULL. The stream is released in any case. */
int api_database_register(heddle_database *db, const char *name, struct ArrowArrayStream *stream, int facts,
                          const char *keys, bool replace, struct hd_err *err);
int api_table_name_check(const char *name, struct hd_err *err);
/* From now on the database has the table, in the place of a registered one of its name or, !replace, beside all. On success
 * the caller's reference is the database's. */
int api_database_publish(heddle_database *db, struct api_table *t, bool replace, struct hd_err *err);
struct api_table *api_table_new(struct fe_table *table, struct rt_memtable *mem); /* or NULL */
void api_table_release(struct api_table *t);
/* A copy of a snapshot with n more tables, of which the caller keeps its references. NULL: out of memory. */
struct api_snapshot *api_snapshot_with(const struct api_snapshot *from, struct api_table *const *more, int n);
/* A copy of a snapshot with segment number `segment` in the place of each table that has as many. NULL: out of memory. */
struct api_snapshot *api_snapshot_segment(const struct api_snapshot *from, int segment);
int api_snapshot_find(const struct api_snapshot *s, const char *name); /* -1 none */
/* A copy of the current snapshot without table number `without` (-1: all), with room for one
 * more. Under the database's mutex. NULL: out of memory. */
struct api_snapshot *api_snapshot_copy(const heddle_database *db, int without);
/* The caller's reference to t becomes the snapshot's. */
void api_snapshot_add(struct api_snapshot *s, struct api_table *t);

/* ---- writer -------------------------------------------------------------------------------- */

struct rt_writer;

struct heddle_writer {
    struct hd_arena arena;
    struct fe_schema *schema;
    struct rt_writer *w;
};

#endif
