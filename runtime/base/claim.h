/* Folders that a writer fills beside or inside its target, PATH.tmp-PID-N, until what is in them
 * takes its place. A lock file beside the folder, PATH.tmp-PID-N.lock, says whose it is: it names
 * the folder, and is locked as long as its writer lives. Only such folders are ever removed,
 * whatever else is called so. It lies beside, so that one rename publishes what the folder holds. */
#ifndef HEDDLE_BASE_CLAIM_H
#define HEDDLE_BASE_CLAIM_H

#include <stddef.h>

/* Removes what dead writers of `path` left behind, and makes a folder that is this writer's; dir
 * receives its path. The lock to be closed by hd_claim_end, or -1 with errno set. */
int hd_claim_new(const char *path, char *dir, size_t size);
/* The folder made as `dir` is there no more: renamed, or removed. Removes its lock. */
void hd_claim_end(const char *dir, int lock);
/* Removes a directory of plain files. Errors are not reported: it cleans up after one. */
void hd_dir_remove(const char *path);

#endif
