/* A small database for fuzz targets that plan: keys, a foreign key with a heavy parent, NULLs,
 * every type and storage, a table without rows. Made in a temporary folder, which is gone when
 * this returns. The name of its tables and columns are those of tests/simt/make_small.py and more. */
#ifndef HEDDLE_TESTS_FUZZ_DATABASE_H
#define HEDDLE_TESTS_FUZZ_DATABASE_H

#include "frontend/catalog.h"

/* What the planner is told of the same data: as it is, a million times the rows, no facts. */
enum fuzz_facts { FUZZ_TRUE, FUZZ_MANY_ROWS, FUZZ_NO_FACTS, FUZZ_FACTS };

/* Made at the first call, kept for the life of the process. */
const struct fe_catalog *fuzz_database(enum fuzz_facts facts);

#endif
