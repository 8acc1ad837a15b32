/* Rows of a program's result, wherever they were made, as an Arrow stream. */
#ifndef HEDDLE_RUNTIME_EXEC_ROWS_OUT_H
#define HEDDLE_RUNTIME_EXEC_ROWS_OUT_H

#include "runtime/base/stop.h"
#include "runtime/exec/checksums.h"
#include "runtime/spec.h"

struct ArrowArrayStream;
struct rt_thread_pool;

struct rt_rows_options {
    struct rt_memory *memory; /* the batches count against it while they are made */
    const struct hd_stop *stop; /* CANCELLED once it is set; may be NULL */
    struct rt_thread_pool *thread_pool;
    int threads; /* the calling one included: a large result is made by several */
};

struct rt_rows_out;
int rt_rows_out_new(const struct rt_spec *spec, const struct rt_rows_options *o, struct rt_rows_out **out,
                    struct hd_err *err);
/* n more rows of the result state in host memory, strings included: the batches have copies of all. sums: those of the rows; may be
 * NULL. */
int rt_rows_out_add(struct rt_rows_out *r, const unsigned char *rows, uint64_t n, const struct rt_checksums *sums,
                    struct hd_err *err);
/* The stream owns all it needs; r is gone. */
void rt_rows_out_finish(struct rt_rows_out *r, struct ArrowArrayStream *out);
void rt_rows_out_free(struct rt_rows_out *r); /* instead of finish; NULL is fine */

#endif
