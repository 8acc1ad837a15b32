/* Searches of sorted rows for a limit that each of them has (struct rt_search), as frames of windows end by. Limits are
 * nearly in the order of the rows (months clip days), so a thread that has found the place of one goes on from there (Leis et al., Efficient Processing of
 * Window Functions in Analytical SQL Queries, 2015, section 4.4, does so while it evaluates frames). */
#include <string.h>

#include "runtime/exec/exec_internal.h"
#include "runtime/exec/keys.h"

enum { STRETCH_MIN = 1 << 14 }; /* rows that are worth a task */

struct searching {
    const struct rt_live *v;
    const struct rt_search *q;
    struct rt_cut cut;
};

static unsigned char *row_at(const struct searching *x, uint64_t i)
{
    return x->v->rows + i * (size_t)x->v->s->stride;
}

static int32_t number(const struct searching *x, const unsigned char *row, int field)
{
    int32_t v;
    memcpy(&v, row + x->v->s->fields[field].offset, sizeof v);
    return v;
}

static bool is_valid(const struct searching *x, const unsigned char *row, int field)
{
    int at = x->v->s->fields[field].valid_offset;
    return at < 0 || row[at] != 0;
}

/* The row's key against the limit of row `of`. */
static int compare(const struct searching *x, const unsigned char *row, const unsigned char *of)
{
    const struct rt_search *q = x->q;
    const struct rt_field *key = &x->v->s->fields[q->key], *limit = &x->v->s->fields[q->limit];
    if (q->by) {
        int64_t v = number(x, row, q->key), to = (int64_t)number(x, of, q->limit) + q->by;
        return (v > to) - (v < to);
    }
    bool there = is_valid(x, row, q->key), own = is_valid(x, of, q->key);
    if (!there || !own)
        return there == own ? 0 : there == q->nulls_first ? 1 : -1;
    if (!is_valid(x, of, q->limit))
        return q->following ? -1 : 1;
    int c = rt_value_compare(key->phys, row + key->offset, of + limit->offset);
    return q->desc ? -c : c;
}

static bool is_in_front(const struct searching *x, uint64_t i, const unsigned char *of)
{
    int c = compare(x, row_at(x, i), of);
    return x->q->behind ? c <= 0 : c < 0;
}

static uint64_t halve(const struct searching *x, uint64_t lo, uint64_t hi, const unsigned char *of)
{
    while (lo < hi) {
        uint64_t middle = lo + (hi - lo) / 2;
        if (is_in_front(x, middle, of))
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static void search(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct searching *x = context;
    uint64_t begin = task * x->cut.size, end = rt_cut_end(&x->cut, task), at = 0;
    for (uint64_t i = begin; i < end; i++) {
        unsigned char *row = row_at(x, i);
        uint64_t first = (uint64_t)number(x, row, x->q->begin), last = (uint64_t)number(x, row, x->q->end);
        if (i == begin)
            at = halve(x, first, last, row);
        at = HD_MAX(at, first);
        uint64_t before = at;
        while (at < last && is_in_front(x, at, row))
            at++;
        while (at == before && at > first && !is_in_front(x, at - 1, row))
            before = --at;
        int32_t found = (int32_t)at;
        memcpy(row + x->v->s->fields[x->q->field].offset, &found, sizeof found);
    }
}

int rt_finish_search(struct rt_exec *x, struct rt_live *v)
{
    struct searching s = {.v = v, .cut = rt_cut(x, v->nrows, STRETCH_MIN)};
    for (int i = 0; i < v->s->nsearch; i++) {
        s.q = &v->s->search[i];
        HD_TRY(rt_exec_parallel(x, s.cut.ntasks, search, &s));
    }
    return 0;
}

/* ---- places ------------------------------------------------------------------------------------------------ */

struct placing {
    const struct rt_live *v;
    const struct rt_nth *q;
    struct rt_cut cut;
};

static int64_t count_at(const struct placing *x, uint64_t i)
{
    const struct rt_state *s = x->v->s;
    int64_t n;
    memcpy(&n, x->v->rows + i * (size_t)s->stride + s->fields[x->q->count].offset, sizeof n);
    return n;
}

static void place(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct placing *x = context;
    const struct rt_state *s = x->v->s;
    size_t stride = (size_t)s->stride;
    for (uint64_t i = task * x->cut.size; i < rt_cut_end(&x->cut, task); i++) {
        int32_t first;
        memcpy(&first, x->v->rows + i * stride + s->fields[s->segment - 1].offset, sizeof first);
        int64_t n = count_at(x, i), before = i > (uint64_t)first ? count_at(x, i - 1) : 0,
                number = (int64_t)i - first + 1;
        if (n > before)
            memcpy(x->v->rows + (size_t)(first + n - 1) * stride + s->fields[x->q->field].offset, &number,
                   sizeof number);
    }
}

int rt_finish_places(struct rt_exec *x, struct rt_live *v)
{
    struct placing p = {.v = v, .cut = rt_cut(x, v->nrows, STRETCH_MIN)};
    for (int i = 0; i < v->s->nplace; i++) {
        p.q = &v->s->place[i];
        HD_TRY(rt_exec_parallel(x, p.cut.ntasks, place, &p));
    }
    return 0;
}
