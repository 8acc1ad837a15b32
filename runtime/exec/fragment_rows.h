/* Rows that a fragment of a plan leaves for later ones, in the host's memory: columns, of each reader by themselves. They count
 * against a limit, and beyond it they lie in a temporary file (memory.h). */
#ifndef HEDDLE_RUNTIME_EXEC_FRAGMENT_ROWS_H
#define HEDDLE_RUNTIME_EXEC_FRAGMENT_ROWS_H

#include "frontend/catalog.h"
#include "runtime/base/stop.h"
#include "runtime/exec/memory.h"
#include "runtime/exec/thread_pool.h"
#include "runtime/spec.h"

enum { RT_READERS_MAX = 1024 };

/* Of one execution of a fragment; of all its executions, with other memory. */
struct rt_fragment_options {
    int readers; /* 1: it has all rows. Else reader k has those whose result column `by`, an integer and never NULL, is k */
    int by;
    struct rt_memory *memory;
    struct rt_thread_pool *thread_pool;
    int threads;
    const struct hd_stop *stop; /* may be NULL */
};

struct rt_fragment_rows;
/* What it needs of the spec it copies. */
int rt_fragment_rows_new(const struct rt_spec *spec, const struct rt_fragment_options *o, struct rt_fragment_rows **out,
                         struct hd_err *err);
/* n rows of the spec's result state behind those that are there: in host memory, strings included, and not used afterwards.
 * RESOURCE or IO where neither memory nor file has room; CANCELLED once stop is set. */
int rt_fragment_rows_add(struct rt_fragment_rows *f, const struct rt_spec *spec, const unsigned char *rows, uint64_t n,
                         struct hd_err *err);
void rt_fragment_rows_free(struct rt_fragment_rows *f); /* NULL is fine */

/* Rows of one reader as a table. */
struct rt_fragment_table;
/* The rows of n executions, one behind the other, which go from there; columns are as a program names them. They may have NULLs
 * where one of those says so. `name` is copied. */
int rt_fragment_table_new(const char *name, struct rt_fragment_rows *const *from, int n, int reader,
                          const struct rt_fragment_options *o, struct rt_fragment_table **out, struct hd_err *err);
struct fe_table *rt_fragment_table_get(struct rt_fragment_table *t);
void rt_fragment_table_free(struct rt_fragment_table *t); /* NULL is fine */

#endif
