#include "runtime/exec/checksums.h"

#include <stdlib.h>

#include "runtime/base/fault.h"

#include <xxhash.h>
/* By what the processor has: with AVX2 four times as fast as with SSE2. */
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

bool rt_checksums_new(const struct rt_memory *m, const void *p, size_t n, struct rt_checksums *out)
{
    *out = (struct rt_checksums){.p = p, .n = n};
    if (!m->spill || !rt_spill_holds(m->spill, p, n))
        return true;
    out->pieces = (n + RT_SPILL_UNIT - 1) / RT_SPILL_UNIT;
    out->sum = hd_try_calloc(out->pieces, sizeof *out->sum);
    return out->sum != NULL;
}

void rt_checksums_free(struct rt_checksums *c)
{
    free(c->sum);
    *c = (struct rt_checksums){.p = NULL};
}

static size_t bytes_of(const struct rt_checksums *c, size_t piece)
{
    return HD_MIN(c->n - piece * RT_SPILL_UNIT, (size_t)RT_SPILL_UNIT);
}

/* Never 0. */
static uint64_t sum_of(const struct rt_checksums *c, size_t piece)
{
    uint64_t sum = XXH3_64bits(c->p + piece * RT_SPILL_UNIT, bytes_of(c, piece));
    return sum ? sum : 1;
}

bool rt_checksums_seal(const struct rt_memory *m, struct rt_checksums *c, size_t piece)
{
    switch (rt_spill_fetch(m->spill, c->p + piece * RT_SPILL_UNIT, bytes_of(c, piece))) {
    case RT_SPILL_ELSEWHERE: return true;
    case RT_SPILL_THERE: c->sum[piece] = sum_of(c, piece); return true;
    case RT_SPILL_UNREADABLE: break;
    }
    return false;
}

static bool is_as_it_was(const struct rt_memory *m, const struct rt_checksums *c, size_t piece)
{
    const unsigned char *p = c->p + piece * RT_SPILL_UNIT;
    if (!c->sum[piece])
        return true;
    rt_spill_fault(m->spill, p);
    if (rt_spill_fetch(m->spill, p, bytes_of(c, piece)) == RT_SPILL_UNREADABLE)
        return false;
    return c->sum[piece] == sum_of(c, piece) || rt_spill_damaged(m->spill, p);
}

bool rt_checksums_verify(const struct rt_memory *m, const struct rt_checksums *c, size_t from, size_t to)
{
    if (!c->sum)
        return true;
    for (size_t piece = from / RT_SPILL_UNIT; piece < c->pieces && piece * RT_SPILL_UNIT < to; piece++)
        if (!is_as_it_was(m, c, piece))
            return false;
    return true;
}
