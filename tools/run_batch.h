/* Many plans in one process, one JSON object a line. */
#ifndef HEDDLE_TOOLS_RUN_BATCH_H
#define HEDDLE_TOOLS_RUN_BATCH_H

#include "tools/cli.h"

/* Runs every line of --batch FILE and answers each by a line on standard output. Fails at the end
 * if a line failed. */
int run_batch(const struct cli_args *a, const struct cli_session *session, struct cli_error *err);

#endif
