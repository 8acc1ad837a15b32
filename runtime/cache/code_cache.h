/* Compiled code by what it was compiled from: in memory per context, on disk for later
 * processes. The key covers the bitcode, this machine's processor, LLVM and Heddle versions. */
#ifndef HEDDLE_RUNTIME_CACHE_CODE_CACHE_H
#define HEDDLE_RUNTIME_CACHE_CODE_CACHE_H

#include "runtime/cache/code_tiers.h"
#include "runtime/cpu/llvm.h"
#include "runtime/exec/thread_pool.h"

struct rt_code_cache;
struct rt_cached_code; /* of a program, counted */

/* version: Heddle's, part of the key. dir NULL: nothing on disk. */
int rt_code_cache_new(const char *version, const char *dir, uint64_t limit, struct rt_code_cache **out,
                      struct hd_err *err);
/* No code may be in use. */
void rt_code_cache_free(struct rt_code_cache *c);
/* The directory in use, or NULL. */
const char *rt_code_cache_dir(const struct rt_code_cache *c);

/* Finds the code, or begins to compile it with up to `threads` threads of the thread pool; rt_tiers_wait waits for what a
 * pipeline begins with. fresh: compile in any case. Any thread. */
int rt_code_cache_get(struct rt_code_cache *c, struct rt_thread_pool *thread_pool, int threads,
                      const struct rt_code_source *source, bool fresh, struct rt_cached_code **out, enum rt_cached *how,
                      struct hd_err *err);
struct rt_tiers *rt_cached_code_tiers(struct rt_cached_code *code);
/* NULL is fine. What is being compiled for users who all went before an execution was over is compiled no further. */
void rt_cached_code_release(struct rt_code_cache *c, struct rt_cached_code *code);
/* The same of code that could not be compiled: nobody else finds it. */
void rt_code_cache_drop(struct rt_code_cache *c, struct rt_cached_code *code);
/* Before the thread pool goes, which finishes what was asked for: where nothing is kept on disk, that is for nobody. */
void rt_code_cache_quit(struct rt_code_cache *c);
/* rt_llvm_warm on a thread of the thread pool, which nobody waits for. */
void rt_code_warm(struct rt_thread_pool *thread_pool);
/* rt_llvm_print on a thread of the thread pool. CANCELLED once stop (may be NULL) is set. */
int rt_code_print(struct rt_thread_pool *thread_pool, const struct hd_stop *stop, const void *bitcode, size_t n,
                  enum rt_llvm_text what, char **text, struct hd_err *err);

#endif
