/* Streams made of streams. */
#ifndef HEDDLE_ADBC_STREAM_H
#define HEDDLE_ADBC_STREAM_H

#include <stdbool.h>

#include "api/adbc/adbc.h"

struct adbc_core;
struct adbc_statement;

/* The batches of n streams of one schema, one stream after the other. They are taken over in any case, and so is
 * schema, which NULL leaves to the first stream. core (may be NULL) is kept while the stream lives. */
AdbcStatusCode adbc_stream_concat(struct adbc_core *core, struct ArrowSchema *schema, struct ArrowArrayStream *streams,
                                  int n, struct ArrowArrayStream *out, struct AdbcError *e);
/* One batch; both are taken over in any case. */
AdbcStatusCode adbc_stream_single(struct ArrowArray *batch, struct ArrowSchema *schema, struct ArrowArrayStream *out,
                                  struct AdbcError *e);
/* The same stream, which ends in an error once the statement is cancelled. *rows: those that went through, valid
 * while the stream lives or the caller's memory does, whichever ends first. It is taken over in any case. */
AdbcStatusCode adbc_stream_watch(struct adbc_statement *s, int64_t *rows, struct ArrowArrayStream *from,
                                 struct ArrowArrayStream *out, struct AdbcError *e);

#endif
