/* The text pool: 300 MiB of generated English of which every comment is a substring. */
#ifndef TPCH_GEN_POOL_H
#define TPCH_GEN_POOL_H

#include <stdint.h>

#define TG_POOL_BYTES 314572800

/* Readable bytes behind the pool, so that copies may run over its end. */
#define TG_POOL_SLACK 4096

/* Builds the pool in fresh anonymous memory.  shift: draws by which stream 5 starts late (0
 * except at a few JCC-H scales).  Returns NULL with errno set if there is no memory, or EPROTO
 * if the checkpoints contradict the vocabulary.  Free with tg_pool_free. */
char *tg_pool_build(int threads, uint64_t shift);
void tg_pool_free(char *pool);

#endif
