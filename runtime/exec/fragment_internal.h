/* Shared by fragment_rows.c, which divides rows, and fragment_table.c, which puts those of a reader together. */
#ifndef HEDDLE_RUNTIME_EXEC_FRAGMENT_INTERNAL_H
#define HEDDLE_RUNTIME_EXEC_FRAGMENT_INTERNAL_H

#include <stdatomic.h>

#include "runtime/exec/checksums.h"
#include "runtime/exec/fragment_rows.h"

struct rt_fragment_column {
    char *name;
    struct hd_type type;
    int width; /* bytes of a value; of a text's length */
    bool nullable, text;
};
/* Where a column begins in its chunk: values, or lengths of texts; a byte for each row, 1 = not NULL; bytes of texts. */
struct rt_fragment_values {
    size_t values, valid, text;
    uint64_t text_bytes;
    bool has_valid;
};
/* Memory of several chunks: what is small could not be in a file. */
struct rt_fragment_block {
    struct rt_block block;
    struct rt_checksums sums; /* sealed once the chunks have their values, verified before these are read */
    _Atomic int chunks; /* that have something there */
};
/* Rows of one reader that came together. */
struct rt_fragment_chunk {
    struct rt_fragment_chunk *next;
    struct rt_fragment_block *in;
    unsigned char *base;
    size_t bytes;
    uint64_t rows;
    struct rt_fragment_values column[];
};
struct rt_fragment_rows {
    struct rt_fragment_options o;
    int ncolumns;
    struct rt_fragment_column *column;
    struct rt_fragment_chunk **first, **last; /* [reader] */
};

/* The rows of a reader go. */
void rt_fragment_rows_drop(struct rt_fragment_rows *f, int reader);
/* The error of a file that is not as it was written, or has no room. */
int rt_fragment_refused(const struct rt_memory *m, struct hd_err *err);
int rt_fragment_block(struct rt_memory *m, size_t n, struct rt_block *b, struct hd_err *err);
/* Tasks 0 to n - 1, in any order. CANCELLED once o->stop is set. */
int rt_fragment_parallel(const struct rt_fragment_options *o, uint64_t n, void (*run)(void *context, uint64_t task),
                         void *context, struct hd_err *err);

#endif
