#include "runtime/store/store_text.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/base/fault.h"

enum { FIRST_CAP = 256 };

int rt_str_cmp(struct rt_str a, struct rt_str b)
{
    uint32_t n = HD_MIN(a.n, b.n);
    int c = n ? memcmp(a.p, b.p, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

static int grow(struct rt_strset *s, uint32_t cap, struct hd_err *err)
{
    struct rt_str *v = hd_try_realloc(s->v, cap * sizeof *v);
    if (v)
        s->v = v;
    uint32_t *hashes = v ? hd_try_realloc(s->hashes, cap * sizeof *hashes) : NULL;
    if (hashes)
        s->hashes = hashes;
    uint32_t *slots = hashes ? hd_try_calloc(cap * 2, sizeof *slots) : NULL;
    if (!slots)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for %u strings", cap);
    free(s->slots);
    s->slots = slots;
    s->mask = cap * 2 - 1;
    s->cap = cap;
    for (uint32_t k = 0; k < s->n; k++) {
        uint32_t at = s->hashes[k] & s->mask;
        while (slots[at])
            at = (at + 1) & s->mask;
        slots[at] = k + 1;
    }
    return 0;
}

int rt_strset_init(struct rt_strset *s, struct hd_err *err)
{
    memset(s, 0, sizeof *s);
    if (grow(s, FIRST_CAP, err) == 0)
        return 0;
    rt_strset_release(s);
    return -1;
}

void rt_strset_release(struct rt_strset *s)
{
    free(s->v);
    free(s->hashes);
    free(s->slots);
    memset(s, 0, sizeof *s);
}

void rt_strset_clear(struct rt_strset *s)
{
    memset(s->slots, 0, ((size_t)s->mask + 1) * sizeof *s->slots);
    s->n = 0;
}

/* The slot of the string, or the empty one where it belongs. */
static uint32_t probe(const struct rt_strset *s, struct rt_str x, uint32_t hash)
{
    uint32_t at = hash & s->mask;
    for (uint32_t k; (k = s->slots[at]) != 0; at = (at + 1) & s->mask)
        if (s->hashes[k - 1] == hash && rt_str_eq(s->v[k - 1], x))
            break;
    return at;
}

int64_t rt_strset_find(const struct rt_strset *s, struct rt_str x)
{
    uint32_t hash = (uint32_t)XXH3_64bits(x.p, x.n);
    return (int64_t)s->slots[probe(s, x, hash)] - 1;
}

static int compare_entries(const void *a, const void *b)
{
    const struct rt_str *x = *(const struct rt_str *const *)a;
    const struct rt_str *y = *(const struct rt_str *const *)b;
    return rt_str_cmp(*x, *y);
}

uint32_t *rt_strset_rank(const struct rt_strset *s, struct hd_err *err)
{
    const struct rt_str **order = hd_try_malloc(s->n * sizeof *order);
    uint32_t *rank = order ? hd_try_malloc(s->n * sizeof *rank) : NULL;
    if (!rank) {
        free(order);
        HD_FAIL(err, RESOURCE, NULL, "out of memory for %u dictionary entries", s->n);
        return NULL;
    }
    for (uint32_t k = 0; k < s->n; k++)
        order[k] = &s->v[k];
    qsort(order, s->n, sizeof *order, compare_entries);
    for (uint32_t k = 0; k < s->n; k++)
        rank[order[k] - s->v] = k;
    free(order);
    return rank;
}

int64_t rt_strset_add(struct rt_strset *s, struct rt_str x, struct hd_err *err)
{
    uint32_t hash = (uint32_t)XXH3_64bits(x.p, x.n);
    uint32_t at = probe(s, x, hash);
    if (s->slots[at])
        return s->slots[at] - 1;
    if (s->n == s->cap) {
        HD_TRY(grow(s, s->cap * 2, err));
        at = probe(s, x, hash);
    }
    s->v[s->n] = x;
    s->hashes[s->n] = hash;
    s->slots[at] = s->n + 1;
    return s->n++;
}
