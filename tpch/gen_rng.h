/* Pseudo-random streams: Lehmer generator modulo 2^31-1, skipping ahead, and the mappings
 * from draws to values.  Streams never interact, and a row owns a fixed number of draws, so
 * "the d-th draw of every row" is itself a Lehmer sequence: everything here produces whole
 * arrays of draws with a multiplier, which compilers turn into vector code. */
#ifndef TPCH_GEN_RNG_H
#define TPCH_GEN_RNG_H

#include <stdint.h>

#define TG_MODULUS 2147483647u
#define TG_FACTOR  16807u

/* Arrays of draws are written in blocks of this many: capacity must be a multiple. */
#define TG_LANES 8

enum tg_stream {
#define T_STREAM(name, id, init, draws) TG_S_##name = id,
#include "gen_streams.def"
    TG_STREAM_COUNT
};

struct tg_stream_info {
    uint32_t init;  /* state before the first row */
    uint32_t draws; /* draws owned by one row */
};
extern const struct tg_stream_info tg_streams[TG_STREAM_COUNT];

/* a*b modulo 2^31-1 for a, b below it. */
static inline uint32_t tg_mul(uint32_t a, uint32_t b)
{
    uint64_t y = (uint64_t)a * b;
    uint32_t s = (uint32_t)(y & TG_MODULUS) + (uint32_t)(y >> 31);
    uint32_t t = s - TG_MODULUS;
    return t < s ? t : s;
}

static inline uint32_t tg_next(uint32_t x)
{
    return tg_mul(x, TG_FACTOR);
}

/* floor(x*range / (2^31-1)) exactly, for range <= 2^22 where it equals the double formula. */
static inline uint32_t tg_scale_small(uint32_t x, uint32_t range)
{
    uint64_t t = (uint64_t)x * range;
    uint32_t q = (uint32_t)(t >> 31);
    uint32_t r = (uint32_t)(t & TG_MODULUS) + q;
    return q + (r >= TG_MODULUS);
}

/* The same by rounded double division and multiplication, as the data define it. */
static inline int64_t tg_scale_wide(uint32_t x, double range)
{
    return (int64_t)((double)(int32_t)x / 2147483647.0 * range);
}

/* Greatest range for which tg_scale_small may stand in for tg_scale_wide. */
#define TG_SMALL_RANGE 4194304

/* TG_FACTOR to the power of n. */
uint32_t tg_power(uint64_t n);

/* State of a stream after skipping `draws` draws from its start. */
uint32_t tg_state(enum tg_stream s, uint64_t draws);

/* out[i] = x * m^i for 0 <= i < n. */
void tg_sequence(uint32_t x, uint32_t m, int64_t n, uint32_t *out);

/* out[i] = lo + scaled draw, over a range of hi-lo+1 values. */
void tg_map_i64(const uint32_t *draw, int64_t n, int64_t lo, int64_t hi, int64_t *out);
void tg_map_i32(const uint32_t *draw, int64_t n, int32_t lo, int32_t hi, int32_t *out);
void tg_map_code(const uint32_t *draw, int64_t n, uint32_t count, uint8_t *out);

#endif
