/* Memory of columns that consumers have released, kept for those of the next results: pages that are new to the process take several
 * times as long as filling them. A consumer may release a column on any thread, when nothing else of Heddle is there any
 * more, so it is the process's. */
#ifndef HEDDLE_RUNTIME_IO_ARROW_KEPT_H
#define HEDDLE_RUNTIME_IO_ARROW_KEPT_H

#include <stddef.h>

/* At least n bytes, at an address that 64 divides; *n becomes how many there are. NULL: no memory. */
void *rt_kept_alloc(size_t *n);
void rt_kept_free(void *p, size_t n);

#endif
