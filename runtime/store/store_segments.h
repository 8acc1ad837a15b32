/* Tables of more rows than a segment may have are cut into segments, between appending and sealing. */
#ifndef HEDDLE_RUNTIME_STORE_SEGMENTS_H
#define HEDDLE_RUNTIME_STORE_SEGMENTS_H

#include "frontend/segments.h"
#include "runtime/store/store_writer_impl.h"

/* Staged rows of a table, complete and in order. */
struct wr_staged {
    const struct wr_table *x;
    int64_t rows;
    struct rt_map maps[WR_LANES];
};
int wr_staged_open(const struct rt_writer *w, const struct wr_table *x, struct wr_staged *out, struct hd_err *err);
void wr_staged_close(struct wr_staged *s); /* also of one that was not opened and is zero */
/* A value of a column of whole numbers that fit 64 bits, without NULLs. */
int64_t wr_staged_value(const struct wr_staged *s, int column, int64_t row);
/* The values of a slice ascend, from `last` on. */
bool wr_staged_ascends(const struct wr_staged *s, size_t slice, int column, int64_t last);
/* The first row whose value is not below v, of an ascending column. */
int64_t wr_staged_find(const struct wr_staged *s, int column, int64_t v);

/* Rows of staged slices, from `first` on, as a source of rows. */
struct wr_staged_source {
    struct rt_row_source base;
    const struct wr_staged *staged;
    int64_t first;
};
struct wr_staged_source wr_staged_source(const struct wr_staged *s, int64_t first);

/* Once all rows are there: decides what is cut where, and stages the rows of what is once more, segment by segment. Fills
 * w->wholes; w->tables are the tables that are to be stored from then on. All tables cut have the same number of segments. */
int wr_cut_tables(struct rt_writer *w, struct rt_pool *pool, struct hd_err *err);

#endif
