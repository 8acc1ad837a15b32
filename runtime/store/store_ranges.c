#include "runtime/store/store_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"

void rt_ranges_release(struct rt_ranges *r)
{
    free(r->v);
    memset(r, 0, sizeof *r);
}

/* Index of the first range that ends after row. */
static size_t first_after(const struct rt_ranges *r, int64_t row)
{
    size_t lo = 0, hi = r->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (r->v[mid].to > row)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static void insert(struct rt_ranges *r, size_t at, struct rt_range x)
{
    memmove(r->v + at + 1, r->v + at, (r->n - at) * sizeof *r->v);
    r->v[at] = x;
    r->n++;
}

static void erase(struct rt_ranges *r, size_t at)
{
    r->n--;
    memmove(r->v + at, r->v + at + 1, (r->n - at) * sizeof *r->v);
}

/* Room for one more now and for the split that removing any added range may need. */
static bool reserve(struct rt_ranges *r)
{
    if (r->n + 2 <= r->cap)
        return true;
    size_t cap = HD_MAX(r->cap * 2, 16);
    struct rt_range *v = hd_try_realloc(r->v, cap * sizeof *v);
    if (!v)
        return false;
    r->v = v;
    r->cap = cap;
    return true;
}

int rt_ranges_add(struct rt_ranges *r, int64_t from, int64_t to, struct rt_range *clash)
{
    size_t at = first_after(r, from);
    if (at < r->n && r->v[at].from < to) {
        *clash = r->v[at];
        return -1;
    }
    if (!reserve(r))
        return -2;
    bool joins_left = at > 0 && r->v[at - 1].to == from;
    bool joins_right = at < r->n && r->v[at].from == to;
    if (joins_left && joins_right) {
        r->v[at - 1].to = r->v[at].to;
        erase(r, at);
    } else if (joins_left) {
        r->v[at - 1].to = to;
    } else if (joins_right) {
        r->v[at].from = from;
    } else {
        insert(r, at, (struct rt_range){from, to});
    }
    return 0;
}

void rt_ranges_remove(struct rt_ranges *r, int64_t from, int64_t to)
{
    size_t at = first_after(r, from);
    HD_ASSERT(at < r->n && r->v[at].from <= from && r->v[at].to >= to);
    struct rt_range old = r->v[at];
    if (old.from == from && old.to == to) {
        erase(r, at);
    } else if (old.from == from) {
        r->v[at].from = to;
    } else {
        r->v[at].to = from;
        if (old.to == to)
            return;
        HD_ASSERT(r->n < r->cap || reserve(r));
        insert(r, at + 1, (struct rt_range){to, old.to});
    }
}
