/* Rows of a program's result, wherever they were made, as an Arrow stream. */
#ifndef HEDDLE_RUNTIME_EXEC_ROWS_OUT_H
#define HEDDLE_RUNTIME_EXEC_ROWS_OUT_H

#include "runtime/base/stop.h"
#include "runtime/exec/checksums.h"
#include "runtime/spec.h"

struct ArrowArrayStream;
/* rows: n rows of the result state in host memory, strings included. The stream owns all it needs.
 * The memory of the batches counts against m while they are made. sums: those of the rows; may be NULL. CANCELLED once stop
 * (may be NULL) is set. */
int rt_rows_stream(const struct rt_spec *spec, const unsigned char *rows, uint64_t n, const struct rt_checksums *sums,
                   struct rt_memory *m, const struct hd_stop *stop, struct ArrowArrayStream *out, struct hd_err *err);

#endif
