/* Reading stored values back, one by one or in blocks. For facts, indexes, checks and tests;
 * queries read columns through generated code. The column must be mapped. */
#ifndef HEDDLE_RUNTIME_STORE_COLUMN_H
#define HEDDLE_RUNTIME_STORE_COLUMN_H

#include "runtime/store/store_stage.h"

static inline bool rt_col_valid(const struct fe_table_column *c, int64_t row)
{
    return !c->at.validity || (c->at.validity[row >> 3] >> (row & 7) & 1);
}
/* INT: the stored number; not for width 16. */
int64_t rt_col_stored(const struct fe_table_column *c, int64_t row);
/* INT: the logical value. DICT: the code. */
hd_i128 rt_col_int(const struct fe_table_column *c, int64_t row);
/* F64, F32 */
double rt_col_real(const struct fe_table_column *c, int64_t row);
/* DICT, TEXT */
struct rt_str rt_col_str(const struct fe_table_column *c, int64_t row);
struct rt_str rt_dict_str(const struct fe_dict *d, uint32_t code);

/* True where values are ordered like 64-bit numbers: all but TEXT and 16-byte INT. */
bool rt_col_has_ordinals(const struct fe_table_column *c);
/* n numbers ordered as the values are: INT stored + 2^63, DICT codes, F64 and F32 by their total order
 * (-0 = 0 < ... < infinity < NaN). */
void rt_col_ordinals(const struct fe_table_column *c, int64_t from, int n, uint64_t *out);
/* INT: n differences value - origin, modulo 2^64. They are true differences where
 * rt_col_near says so, and otherwise, in rows that are NULL, anything. */
void rt_col_differences(const struct fe_table_column *c, hd_i128 origin, int64_t from, int n, uint64_t *out);
/* By the column's facts no value is further than 2^62 from the origin. */
bool rt_col_near(const struct fe_table_column *c, hd_i128 origin);
hd_i128 rt_ordinal_value(const struct fe_table_column *c, uint64_t ordinal); /* INT, DICT */
/* Order of two rows' values, neither NULL. */
int rt_col_cmp(const struct fe_table_column *c, int64_t a, int64_t b);
/* Equal for equal values, whatever the storage of the column. */
uint64_t rt_col_hash(const struct fe_table_column *c, int64_t row);
/* Equality of values of two columns of like types, neither NULL. */
bool rt_col_equal(const struct fe_table_column *a, int64_t i, const struct fe_table_column *b, int64_t j);
enum { RT_COL_TEXT_MAX = 96 };
/* The value as text for a message; strings shortened. */
const char *rt_col_text(const struct fe_table_column *c, int64_t row, char buf[RT_COL_TEXT_MAX]);
uint64_t rt_hash64(uint64_t x);

#endif
