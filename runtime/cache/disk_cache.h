/* Compiled objects on disk. An entry is one file named by its key, with a header that repeats
 * the key, the sizes of its parts and a checksum of them; it is written to a temporary name and
 * renamed, so that readers see all of it or nothing. What cannot be read, has another key or
 * another checksum is no entry, and is replaced by the next store. What lies in the directory is
 * run: it and its entries must be ours, and others must not be able to write them. */
#ifndef HEDDLE_RUNTIME_CACHE_DISK_CACHE_H
#define HEDDLE_RUNTIME_CACHE_DISK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/cache/bytes.h"

/* Where code came from. */
enum rt_cached { RT_COMPILED, RT_CACHED_DISK, RT_CACHED_MEMORY };

struct rt_cache_key {
    uint64_t hi, lo;
};

enum { RT_DISK_CACHE_PARTS = 64 }; /* of an entry, at most */

struct rt_disk_cache {
    char *dir;
    int fd;         /* of the directory: its name may lead elsewhere later */
    uint64_t limit; /* bytes of all entries */
};
/* Makes the directory if need be. False: it cannot be used (not ours, others may write, a link,
 * the root). */
bool rt_disk_cache_init(struct rt_disk_cache *c, const char *dir, uint64_t limit);
void rt_disk_cache_release(struct rt_disk_cache *c);

/* False: no entry, or a damaged one. On success *parts is a heap array of *n objects. */
bool rt_disk_cache_load(struct rt_disk_cache *c, struct rt_cache_key key, struct rt_bytes **parts, int *n);
/* Whether there is a file for it, which may be damaged. */
bool rt_disk_cache_has(const struct rt_disk_cache *c, struct rt_cache_key key);
/* Best effort: a full disk or a lost race only means that the next process compiles again.
 * Removes the entries unused for longest while all together exceed the limit. */
void rt_disk_cache_store(struct rt_disk_cache *c, struct rt_cache_key key, const struct rt_bytes *parts, int n);

#endif
