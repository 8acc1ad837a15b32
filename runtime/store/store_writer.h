/* Writing a database: rows are staged in a temporary directory beside the target, then sealed
 * into the final files (facts, narrow columns, dictionaries, indexes) and published by one
 * rename. See store_stage.h for the first half, store_seal.h for the second. */
#ifndef HEDDLE_RUNTIME_STORE_WRITER_H
#define HEDDLE_RUNTIME_STORE_WRITER_H

#include "runtime/store/store_stage.h"
#include "runtime/store/store.h"

struct rt_writer;

/* path must be free (missing or an empty directory). schema must outlive the writer. */
int rt_writer_new(const char *path, const struct fe_schema *schema, int threads, struct rt_writer **out,
                  struct hd_err *err);
/* Removes everything that was not published. */
void rt_writer_free(struct rt_writer *w);

const struct fe_schema *rt_writer_schema(const struct rt_writer *w);
int rt_writer_threads(const struct rt_writer *w);
int rt_writer_find(const struct rt_writer *w, const char *table); /* -1 none */
/* One past the last row appended so far. */
int64_t rt_writer_end(struct rt_writer *w, int table);
/* Stores the source's rows [0, rows) as rows [first_row, first_row + rows). All or nothing. Any
 * thread. */
int rt_writer_add(struct rt_writer *w, int table, int64_t first_row, int64_t rows, const struct rt_row_source *source,
                  struct hd_err *err);
/* After this the writer refuses everything but being freed. */
void rt_writer_poison(struct rt_writer *w);

/* Writes all files but the catalog and describes them; *doc lives as long as the writer. */
int rt_writer_seal(struct rt_writer *w, struct rt_progress *progress, struct fe_catalog_doc **doc, struct hd_err *err);
/* Adds the catalog, flushes everything to disk and renames the directory to its path. */
int rt_writer_publish(struct rt_writer *w, const char *catalog, struct rt_progress *progress, struct hd_err *err);

#endif
