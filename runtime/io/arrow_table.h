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
/* A batch in the memory of GPU number `device`. Numbers, dates and times are used where they lie: formats, lengths and
 * alignment are checked, values are not looked at. What has another layout than the store's is converted by *memory,
 * which says so of wrong values, and is released with the table or on failure. schema and batch are taken over, but if
 * there is no memory. */
int rt_memtable_of_device(const char *name, struct ArrowSchema *schema, struct ArrowArray *batch, int device,
                          const struct rt_device_memory *memory, struct rt_memtable **out, struct hd_err *err);
struct fe_table *rt_memtable_table(struct rt_memtable *m);
void rt_memtable_free(struct rt_memtable *m); /* NULL is fine */

#endif
