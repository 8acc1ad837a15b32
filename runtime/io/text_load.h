/* Text files into a writer. */
#ifndef HEDDLE_RUNTIME_IO_TEXT_LOAD_H
#define HEDDLE_RUNTIME_IO_TEXT_LOAD_H

#include "runtime/store/store_writer.h"

/* Loads every file TABLE.tbl, TABLE.tbl.N, TABLE.csv in directory `from` for every table of the
 * writer's schema, in this order, after the rows that the table has. Bad rows are DATA errors
 * with the path "file:line". */
int rt_text_load(struct rt_writer *w, const char *from, struct rt_progress *progress, struct hd_err *err);

#endif
