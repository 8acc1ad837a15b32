/* Streams and mappings; see gen_rng.h.  Compiled without contraction of multiplications and
 * additions: every double operation must round by itself. */
#include "gen_rng.h"

const struct tg_stream_info tg_streams[TG_STREAM_COUNT] = {
#define T_STREAM(name, id, init, draws) [id] = {init, draws},
#include "gen_streams.def"
};

static uint32_t power_of(uint32_t base, uint64_t n)
{
    uint32_t r = 1;
    for (; n != 0; n >>= 1) {
        if (n & 1)
            r = tg_mul(r, base);
        base = tg_mul(base, base);
    }
    return r;
}

uint32_t tg_power(uint64_t n)
{
    return power_of(TG_FACTOR, n % (TG_MODULUS - 1));
}

uint32_t tg_state(enum tg_stream s, uint64_t draws)
{
    return tg_mul(tg_streams[s].init, tg_power(draws));
}

/* Eight independent chains hide the latency of the multiplication and fill vectors. */
void tg_sequence(uint32_t x, uint32_t m, int64_t n, uint32_t *restrict out)
{
    uint32_t lane[TG_LANES];
    for (int l = 0; l < TG_LANES; l++) {
        lane[l] = x;
        x = tg_mul(x, m);
    }
    const uint32_t stride = power_of(m, TG_LANES);
    for (int64_t i = 0; i < n; i += TG_LANES)
        for (int l = 0; l < TG_LANES; l++) {
            out[i + l] = lane[l];
            lane[l] = tg_mul(lane[l], stride);
        }
}

void tg_map_i64(const uint32_t *restrict draw, int64_t n, int64_t lo, int64_t hi, int64_t *restrict out)
{
    const int64_t range = hi - lo + 1;
    if (range <= TG_SMALL_RANGE) {
        for (int64_t i = 0; i < n; i++)
            out[i] = lo + tg_scale_small(draw[i], (uint32_t)range);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = lo + tg_scale_wide(draw[i], (double)range);
}

void tg_map_i32(const uint32_t *restrict draw, int64_t n, int32_t lo, int32_t hi, int32_t *restrict out)
{
    const uint32_t range = (uint32_t)(hi - lo + 1);
    if (range <= TG_SMALL_RANGE) {
        for (int64_t i = 0; i < n; i++)
            out[i] = lo + (int32_t)tg_scale_small(draw[i], range);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = lo + (int32_t)tg_scale_wide(draw[i], (double)range);
}

void tg_map_code(const uint32_t *restrict draw, int64_t n, uint32_t count, uint8_t *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint8_t)tg_scale_small(draw[i], count);
}
