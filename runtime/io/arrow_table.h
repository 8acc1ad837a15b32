/* In-memory tables: an Arrow stream kept as a table of generic widths. */
#ifndef HEDDLE_RUNTIME_IO_ARROW_TABLE_H
#define HEDDLE_RUNTIME_IO_ARROW_TABLE_H

#include "frontend/catalog.h"
#include "include/heddle.h" /* of it, the Arrow structs only */

struct rt_memtable;
struct rt_device_memory; /* arrow_device.h */

/* Consumes the stream, and keeps its buffers where it has a single batch whose layout fits.
 * Facts are unknown but for NULLs unless compute_facts. The stream is released in any case. */
int rt_memtable_new(const char *name, struct ArrowArrayStream *stream, bool compute_facts, int threads,
                    struct rt_memtable **out, struct hd_err *err);
/* n batches in the memory of GPU number `device`. What has the store's layout is used where it lies; what has not, or lies
 * in several batches, is converted by *memory, which checks values, too, and is released with the table or on failure.
 * schema and batches are taken over, but if there is no memory. */
int rt_memtable_of_device(const char *name, struct ArrowSchema *schema, struct ArrowArray *batches, int n, int device,
                          const struct rt_device_memory *memory, struct rt_memtable **out, struct hd_err *err);
/* Column c of a table of a device, which is no text, as one of the host; *memory is to be freed. */
int rt_memtable_fetch(const struct rt_memtable *m, int c, struct fe_table_column *out, void **memory,
                      struct hd_err *err);
struct fe_table *rt_memtable_table(struct rt_memtable *m);
void rt_memtable_free(struct rt_memtable *m); /* NULL is fine */

#endif
