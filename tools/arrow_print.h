/* Prints result streams as an aligned table, CSV or JSON (docs/cli.md has the exact rules). */
#ifndef HEDDLE_TOOLS_ARROW_PRINT_H
#define HEDDLE_TOOLS_ARROW_PRINT_H

#include "tools/arrow_read.h"

/* format: "table", "csv" or "json". Releases the stream. rows may be NULL. */
int arrow_print(struct ArrowArrayStream *stream, const char *format, FILE *f, int64_t *rows, struct cli_error *err);

#endif
