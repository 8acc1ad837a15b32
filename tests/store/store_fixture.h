/* Helpers of the store's tests: Arrow batches from C arrays, a fresh directory a test, and
 * opened databases as the structs that planner and executor see. */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frontend/catalog.h"
#include "include/heddle.h"
#include "runtime/store/store.h"
#include "runtime/store/store_column.h"

/* ---- directories -------------------------------------------------------------------------- */

/* cmocka setup and teardown: *state is a struct fx_dir of a fresh directory. */
struct fx_dir {
    char path[64];
    char db[128]; /* path/db, not there yet */
    heddle_context *context;
};
int fx_setup(void **state);
int fx_teardown(void **state);
/* path/name, in one of a few static buffers. */
const char *fx_path(const struct fx_dir *d, const char *name);
void fx_write_file(const char *path, const void *p, size_t n);
int fx_count_entries(const char *path); /* -1: no such directory */

/* ---- Arrow batches ------------------------------------------------------------------------ */

struct fx_batch;
/* offset: rows of rubbish before the first in every array. */
struct fx_batch *fx_batch_new(int64_t rows, int64_t offset);
void fx_batch_free(struct fx_batch *b);
/* Fixed-width values of `width` bytes; valid: a byte a row or NULL. */
void fx_add(struct fx_batch *b, const char *name, const char *format, const void *values, size_t width,
            const uint8_t *valid);
void fx_add_bool(struct fx_batch *b, const char *name, const uint8_t *values, const uint8_t *valid);
/* NULL pointers are NULLs. large: 64-bit offsets. */
void fx_add_text(struct fx_batch *b, const char *name, const char *const *values, bool large);
/* Codes of the given Arrow format and width into a dictionary of texts. */
void fx_add_dict(struct fx_batch *b, const char *name, const char *format, const void *codes, size_t width,
                 const uint8_t *valid, const char *const *entries, int n);
struct ArrowSchema *fx_schema(struct fx_batch *b);
struct ArrowArray *fx_array(struct fx_batch *b);
/* A stream of n batches, which it takes over. */
void fx_stream(struct fx_batch **batches, int n, struct ArrowArrayStream *out);

/* ---- databases ---------------------------------------------------------------------------- */

heddle_writer *fx_writer(struct fx_dir *d, const char *schema);
void fx_append(heddle_writer *w, const char *table, int64_t first_row, struct fx_batch *b);
void fx_commit(heddle_writer *w); /* and free */

struct fx_db {
    struct hd_arena arena;
    struct fe_catalog_doc *doc;
    struct rt_store *store;
};
void fx_open(struct fx_db *db, const char *path);
void fx_close(struct fx_db *db);
const struct fe_table *fx_table(const struct fx_db *db, const char *name);
const struct fe_table_column *fx_column(const struct fe_table *t, const char *name);

/* Fails the test unless a call failed with this class, path ending and message part; frees. */
void fx_expect(int rc, heddle_error **e, heddle_error_class c, const char *path_end, const char *message_part);
void fx_ok(int rc, heddle_error **e);

/* A small reproducible random number generator. */
uint64_t fx_random(uint64_t *state);

#endif
