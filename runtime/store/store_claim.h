/* The folder that a writer fills beside its target, PATH.tmp-PID-N, locked as long as the writer
 * lives. */
#ifndef HEDDLE_RUNTIME_STORE_STORE_CLAIM_H
#define HEDDLE_RUNTIME_STORE_STORE_CLAIM_H

#include "runtime/store/store_file.h"

/* Removes what dead writers of `path` left behind, and makes a folder that is this writer's.
 * *lock: to be closed when it is done; -1 where the file system has no locks. */
int rt_claim(const char *path, char dir[RT_PATH_MAX], int *lock, struct hd_err *err);

#endif
