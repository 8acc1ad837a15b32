/* Host view of abi.def, and the rules that generated code and runtime share.
 *
 * Hash of a key tuple (the same in all code of one backend; hashes never leave it, and devices
 * hash strings their own way):
 *   h = HDD_HASH_SEED; for each key field: h = mix(h ^ v)
 *   mix(x): x *= HDD_HASH_MUL; x ^= x >> 32; return x      (64 bit, wrapping)
 *   v: BOOL 0/1; I32, I64 sign-extended; F64 bits with -0 -> +0 and every NaN -> 0x7ff8000000000000;
 *   F32 likewise, every NaN -> 0x7fc00000, sign-extended;
 *   I128: two rounds, low word then high word; STR: hdr_hash_bytes(bytes, length); NULL: HDD_HASH_NULL
 *
 * Profile counters: counter k (0 <= k < nsteps) counts rows that reach step k, counter nsteps rows
 * that reach the sink.
 */
#ifndef HEDDLE_TEMPLATES_ABI_H
#define HEDDLE_TEMPLATES_ABI_H

#include <stddef.h>
#include <stdint.h>

#define HDD_HASH_SEED 0x2545F4914F6CDD1DULL
#define HDD_HASH_MUL  0x9E3779B97F4A7C15ULL
#define HDD_HASH_NULL 0xA0761D6478BD642FULL
/* In place of a path: the helper stops at 10^38 instead of raising. */
#define HDD_PATH_SATURATE (-2)
/* Ranges longer than this are handed to hdr_spawn at splittable levels, and worked off in pieces of
 * this size. Twenty ranges of 10,000 rows in one morsel (JCC-H's Q9) must not stay on one thread. */
#define HDD_SPLIT 4096u

#define A_STRUCT(name) struct name {
#define A_PTR(f)       void *f;
#define A_U64(f)       uint64_t f;
#define A_I64(f)       int64_t f;
#define A_I32(f)       int32_t f;
#define A_END(name) \
    } \
    ;
#include "templates/abi.def"

static inline uint64_t hdd_mix(uint64_t x)
{
    x *= HDD_HASH_MUL;
    return x ^ (x >> 32);
}

#endif
