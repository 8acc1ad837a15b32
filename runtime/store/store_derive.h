/* Everything that follows from stored columns: facts, key indexes, foreign-key indexes; keys are
 * checked on the way. Sealing stores what comes out, `check` compares it with what is stored. */
#ifndef HEDDLE_RUNTIME_STORE_DERIVE_H
#define HEDDLE_RUNTIME_STORE_DERIVE_H

#include "runtime/store/store_keys.h"
#include "runtime/store/store_pool.h"

/* Takes over a finished index of table number t. Arrays in x are temporary: the sink leaves
 * pointers to the same content that last until derive is done. */
struct rt_derive_sink {
    void *ctx;
    int (*key)(void *ctx, int t, int k, struct fe_key_index *x, struct hd_err *err);
    int (*fk)(void *ctx, int t, int k, struct fe_foreign_key *x, struct hd_err *err);
    /* Zones of a column that tell something: so many as the table has. */
    int (*zones)(void *ctx, int t, int column, const struct fe_zone *z, int64_t n, struct hd_err *err);
};
/* Fills facts, keyidx and fks of all tables, whose columns must be mapped. dir: for large
 * temporary arrays, NULL: memory. DATA errors: a key is violated. */
int rt_derive(struct fe_catalog *cat, struct rt_pool *pool, const char *dir, struct hd_arena *a,
              const struct rt_derive_sink *sink, struct rt_progress *progress, struct hd_err *err);

/* The same of single keys, of tables whose columns' facts are known. A primary key's columns are not NULL, and no two rows
 * agree in them: a fact of the one column, or t->pk_sorted of several. */
int rt_derive_primary_key(struct fe_table *t, struct rt_pool *pool, const char *dir, struct hd_err *err);
/* Foreign key number k, whose index the caller releases after the table; its column's facts learn from it. */
int rt_derive_foreign_key(struct fe_table *child, int k, struct rt_pool *pool, const char *dir, struct rt_fk_index *out,
                          struct hd_err *err);

#endif
