/* The column store as the executor and the API see it: open a database directory, use columns,
 * close. The layout on disk is told in docs/storage.md, the structs in frontend/catalog.h. */
#ifndef HEDDLE_RUNTIME_STORE_STORE_H
#define HEDDLE_RUNTIME_STORE_STORE_H

#include "frontend/catalog.h"

struct rt_store;

/* Reads DIR/catalog.json (heap text) after checking it against DIR/catalog.sum. */
int rt_store_read_catalog(const char *dir, char **text, struct hd_err *err);
bool rt_store_has_catalog(const char *dir);
/* The first of the files of doc is in the directory. */
bool rt_store_has_files(const char *dir, const struct fe_catalog_doc *doc);
struct rt_open_mode {
    bool trust; /* touching verifies nothing */
    bool copy;  /* files are not mapped: touching reads them into memory */
    bool partial; /* files may be missing: touching them fails */
};
/* Checks that every file of doc is there with the size that its column needs, maps all of them
 * read-only and fills the addresses and `store` handles in doc's tables. doc must outlive the
 * store. */
int rt_store_open(const char *dir, struct fe_catalog_doc *doc, struct rt_open_mode mode, struct rt_store **out,
                  struct hd_err *err);
void rt_store_close(struct rt_store *s); /* NULL is fine */

/* For fe_table.id. Any thread. */
uint64_t rt_table_next_id(void);

/* To be called before a part is read: verifies the checksums of its files, and that what they
 * hold leads nowhere outside of them, if this is their first use in this store; CORRUPT with the
 * file's path if one is damaged. Any thread; cheap after the first time; tables that are not
 * in a store always pass. */
int rt_store_touch(struct fe_table_part part, struct hd_err *err);
bool rt_store_is_touched(struct fe_table_part part); /* there is nothing to do */
/* The same for the dictionary of a column alone. */
int rt_store_touch_dict(const struct fe_table *table, int column, struct hd_err *err);

/* Called between pieces of long work, on the calling thread; non-zero: cancel. */
typedef int (*rt_progress_fn)(void *user, double fraction, const char *what);
struct rt_progress {
    rt_progress_fn fn; /* may be NULL */
    void *user;
    double from, to; /* the part of 0..1 that the current phase covers */
};

/* Verifies all checksums and computes all facts and indexes of an opened store again. *report is
 * heap JSON: {"ok", "files", "bytes", "tables": [{"name", "rows", ...}], "problems": [{"file" or
 * "table" and "column", "what", "stored", "found"}]}; *problems their number. -1 only if the
 * check itself could not be done. */
int rt_store_check(struct rt_store *s, int threads, struct rt_progress *progress, int *problems, char **report,
                   struct hd_err *err);

#endif
