/* Keys: are they unique, which row has a value, which rows refer to a row. Columns must be
 * mapped and their facts known. */
#ifndef HEDDLE_RUNTIME_STORE_KEYS_H
#define HEDDLE_RUNTIME_STORE_KEYS_H

#include "runtime/store/store_file.h"
#include "runtime/store/store_pool.h"

/* Whole-number key columns as one number: each takes the bits that its range needs. */
enum { RT_PACK_MAX = 8 };
struct rt_key_pack {
    int n; /* 0: the key is not of this kind */
    hd_i128 min[RT_PACK_MAX];
    uint64_t range[RT_PACK_MAX]; /* max - min */
    int shift[RT_PACK_MAX];
};

/* A hash set of the rows of a table by the values of some columns; rows with a NULL among them
 * are left out. */
struct rt_keyset {
    const struct fe_table *table;
    int n;
    const int *columns;
    struct rt_key_pack pack;
    struct rt_big slots; /* uint64: packed key + 1; else high half of the hash, row + 1 */
    struct rt_big rows;  /* packed: uint32 row + 1 */
    uint64_t mask;
    int64_t dup[2];   /* two rows with equal values, -1 none */
    bool only_exists; /* rt_keyset_find may answer 0 for any row: saves a cache miss each */
};
int rt_keyset_build(struct rt_keyset *k, const struct fe_table *t, int n, const int *columns, struct rt_pool *pool,
                    const char *dir, struct hd_err *err);
void rt_keyset_release(struct rt_keyset *k);
/* For n <= RT_FIND_MAX rows of t from `from` on: the row of k's table whose key equals the
 * values of these columns; -1 none. NULLs are not looked at: their rows' results are anything. */
enum { RT_FIND_MAX = 2048 };
void rt_keyset_find(const struct rt_keyset *k, const struct fe_table *t, const int *columns, int64_t from, int n,
                    int64_t *out);

/* Whether rows ascend strictly by the columns, which have no NULLs; false also where comparing would take long. */
int rt_keys_ascend(const struct fe_table *t, int n, const int *columns, struct rt_pool *pool, bool *out,
                   struct hd_err *err);
/* Finds two rows that agree in all columns: dup[0] = -1 if there are none. */
int rt_keys_find_duplicate(const struct fe_table *t, int n, const int *columns, struct rt_pool *pool, const char *dir,
                           int64_t dup[2], struct hd_err *err);

/* The lookup index of a unique column, its words or rows in big (POSITIONAL needs none): BITMAP where rows come by the column, which is
 * a sixteenth of an ARRAY; kind NONE where the values are no whole numbers or too far apart. */
int rt_key_index_build(const struct fe_table *t, int column, struct rt_pool *pool, const char *dir,
                       struct fe_key_index *out, struct rt_big *big, struct hd_err *err);
/* Whether both, of one column, lead to the same rows, whatever their kinds. */
bool rt_key_index_equal(const struct fe_key_index *a, const struct fe_key_index *b);
/* As rt_keyset_find, for a key of one column. */
void rt_key_index_find(const struct fe_key_index *x, const struct fe_table_column *c, int64_t from, int n,
                       int64_t *out);

/* Checks a foreign key of child; for one of a single column also makes its index, offsets and
 * child_rows (not where the children lie in the order of their parents). */
struct rt_fk_index {
    struct rt_big offsets, child_rows;
    int64_t max_children, parents_hit;
    int nlong; /* parents of more than FE_LONG_CHILDREN; the first ones of them */
    struct fe_long_parent longs[FE_LONG_PARENTS];
};
int rt_fk_build(const struct fe_table *child, const struct fe_foreign_key *fk, struct rt_pool *pool, const char *dir,
                struct rt_fk_index *out, struct hd_err *err);
/* The parts of that check: that types of a key's columns can be compared; the error of a row without its parent. */
int rt_fk_check_types(const struct fe_table *child, const struct fe_foreign_key *fk, struct hd_err *err);
int rt_fk_violation(const struct fe_table *child, const struct fe_foreign_key *fk, int64_t row, struct hd_err *err);
void rt_fk_index_release(struct rt_fk_index *x);

/* "(a, b)" and "(1, \"x\")" for messages. */
const char *rt_key_names(const struct fe_table *t, int n, const int *columns, char buf[256]);
const char *rt_key_values(const struct fe_table *t, int n, const int *columns, int64_t row, char buf[256]);

#endif
