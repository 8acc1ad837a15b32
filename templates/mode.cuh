// The most frequent values of frames: one text for kernels, the CPU's runtime and the emulator (runtime/exec/frames_mode.c
// says how they are found). Values are known by keys: code << 32 | row, in ascending order, so that the rows of a value are
// neighbours there, and whether f of them lie in a frame is one look (Chan, Durocher, Larsen, Morrison, Wilkinson,
// Linear-Space Data Structures for Range Mode Query in Arrays, 2014, section 2).
#ifndef HDD_MODE_CUH
#define HDD_MODE_CUH

#ifdef __cplusplus
#include "hd/types.cuh"
#else
#include "templates/host.h"
#endif

enum { HDD_MODE_SPANS = 3 };
#define HDD_MODE_NOWHERE 0xffffffffu // the place of a row without a value

struct hdd_mode_values {
    const u64 *key;
    const u32 *place; // of a row's key
    u64 n; // rows
};

// Successive rows that some frames have in common: from .. to - 1 of each span, none where from >= to. Spans ascend.
struct hdd_mode_core {
    i64 from[HDD_MODE_SPANS], to[HDD_MODE_SPANS];
};

// Rows of a core that the core above lacks. FIRST: a value that comes in them has its first row of the whole core there;
// LAST: its last one.
enum hdd_mode_side { HDD_MODE_FIRST, HDD_MODE_LAST, HDD_MODE_INNER };
struct hdd_mode_fringe {
    i64 from, to;
    i64 begin, end; // the core's first row, and behind its last one
    enum hdd_mode_side side;
};

// What is known of a core: how many rows its most frequent value has, from bit 32 on, and below the complement of the place
// of one of them, so that of two the larger one is better, and of equally frequent values the smallest is best. 0: no value.
HDD_DEVICE i64 hdd_mode_of(u64 rows, u64 place)
{
    return (i64)(rows << 32 | (u64)(u32)~place);
}

HDD_DEVICE u64 hdd_mode_rows(i64 best)
{
    return (u64)best >> 32;
}

HDD_DEVICE u64 hdd_mode_place(i64 best)
{
    return (u64)(u32) ~(u64)best;
}

// ---- keys ------------------------------------------------------------------------------------

// The first place behind p whose key is not below the bound, as that of p is: O(log d), d places further on.
HDD_DEVICE u64 hdd_mode_behind(struct hdd_mode_values v, u64 p, u64 bound)
{
    u64 lo = p, step = 1;
    while (lo + step < v.n && v.key[lo + step] < bound) {
        lo += step;
        step *= 2;
    }
    u64 hi = lo + step < v.n ? lo + step : v.n;
    while (hi - lo > 1) {
        const u64 middle = lo + (hi - lo) / 2;
        if (v.key[middle] < bound)
            lo = middle;
        else
            hi = middle;
    }
    return hi;
}

// The first place up to p whose key is not below the bound, as that of p is not either.
HDD_DEVICE u64 hdd_mode_first(struct hdd_mode_values v, u64 p, u64 bound)
{
    u64 hi = p, step = 1;
    while (hi >= step && v.key[hi - step] >= bound) {
        hi -= step;
        step *= 2;
    }
    u64 lo = hi >= step ? hi - step + 1 : 0; // up to hi
    while (lo < hi) {
        const u64 middle = lo + (hi - lo) / 2;
        if (v.key[middle] < bound)
            lo = middle + 1;
        else
            hi = middle;
    }
    return hi;
}

HDD_DEVICE u64 hdd_mode_bound(struct hdd_mode_values v, u64 p, u64 bound)
{
    return v.key[p] < bound ? hdd_mode_behind(v, p, bound) : hdd_mode_first(v, p, bound);
}

// ---- cores -----------------------------------------------------------------------------------

HDD_DEVICE bool hdd_mode_has(const struct hdd_mode_core *c, u32 span)
{
    return c->from[span] < c->to[span];
}

// Fringe i of 2 * nspans; false: there is none. `up` is within c.
HDD_DEVICE bool hdd_mode_fringe_of(const struct hdd_mode_core *c, const struct hdd_mode_core *up, u32 nspans, u32 i,
                                   struct hdd_mode_fringe *out)
{
    const u32 k = i / 2;
    const bool behind = i % 2, whole = !hdd_mode_has(up, k);
    if (!hdd_mode_has(c, k) || (whole && behind))
        return false;
    out->begin = out->end = -1;
    for (u32 j = 0; j < nspans; j++) {
        if (!hdd_mode_has(c, j))
            continue;
        out->begin = out->begin < 0 ? c->from[j] : out->begin;
        out->end = c->to[j];
    }
    const bool first = c->from[k] == out->begin && !behind, last = c->to[k] == out->end && (behind || whole);
    out->from = behind ? up->to[k] : c->from[k];
    out->to = behind || whole ? c->to[k] : up->from[k];
    out->side = first ? HDD_MODE_FIRST : last ? HDD_MODE_LAST : HDD_MODE_INNER;
    return out->from < out->to;
}

// The places first .. last - 1, from the core's first row up to its last one, are those of p's value; false: they are looked at
// elsewhere, or there are fewer than `need` > 0.
HDD_DEVICE bool hdd_mode_range(struct hdd_mode_values v, const struct hdd_mode_fringe *g, u64 p, u64 need, u64 *first,
                               u64 *last)
{
    const u64 code = v.key[p] >> 32 << 32;
    const u64 lo = code | (u64)g->begin, hi = code | (u64)g->end;
    if (g->side == HDD_MODE_FIRST) {
        if ((p > 0 && v.key[p - 1] >= lo) || p + need > v.n || v.key[p + need - 1] >= hi)
            return false;
        *first = p;
        *last = hdd_mode_behind(v, p + need - 1, hi);
        return true;
    }
    if (g->side == HDD_MODE_LAST) {
        if ((p + 1 < v.n && v.key[p + 1] < hi) || p + 1 < need || v.key[p + 1 - need] < lo)
            return false;
        *first = hdd_mode_first(v, p + 1 - need, lo);
        *last = p + 1;
        return true;
    }
    if (p > 0 && v.key[p - 1] >= (code | (u64)g->from))
        return false;
    *first = hdd_mode_first(v, p, lo);
    *last = hdd_mode_behind(v, p, hi);
    return *last - *first >= need;
}

// `best` after a look at row j of a fringe.
HDD_DEVICE i64 hdd_mode_look(struct hdd_mode_values v, const struct hdd_mode_core *c, u32 nspans,
                             const struct hdd_mode_fringe *g, u64 j, i64 best)
{
    const u64 p = v.place[j];
    u64 first, last, rows = 0;
    if (p == HDD_MODE_NOWHERE)
        return best;
    const u64 code = v.key[p] >> 32 << 32, most = hdd_mode_rows(best);
    const u64 need = most && p < hdd_mode_place(best) ? most : most + 1; // a smaller value wins a tie
    if (!hdd_mode_range(v, g, p, need, &first, &last))
        return best;
    if (nspans == 1)
        rows = last - first;
    for (u32 k = 0; k < nspans && nspans > 1; k++)
        if (hdd_mode_has(c, k))
            rows += hdd_mode_bound(v, p, code | (u64)c->to[k]) - hdd_mode_bound(v, p, code | (u64)c->from[k]);
    const i64 found = hdd_mode_of(rows, p);
    return rows >= need && found > best ? found : best;
}

// The first row of the core with the best value, which it has.
HDD_DEVICE u64 hdd_mode_row(struct hdd_mode_values v, const struct hdd_mode_core *c, u32 nspans, i64 best)
{
    const u64 p = hdd_mode_place(best), code = v.key[p] >> 32 << 32;
    for (u32 k = 0; k < nspans; k++) {
        if (!hdd_mode_has(c, k))
            continue;
        const u64 at = hdd_mode_bound(v, p, code | (u64)c->from[k]);
        if (at < v.n && v.key[at] < (code | (u64)c->to[k]))
            return v.key[at] & 0xffffffffu;
    }
    return 0;
}

#endif
