/* Rows that come by their first sort keys already: those that are alike in these, a run, are sorted by the others where
 * they lie. Most runs are short; one that a thread would be left alone with is sorted by all. */
#include <string.h>

#include "runtime/exec/exec_internal.h"
#include "runtime/exec/sort_packed.h"

enum { TASK_MIN = 4096, LONG_RUN = 1 << 16, FEW = 64 };

struct runs {
    struct rt_exec *x;
    const struct rt_live *v;
    struct rt_cut cut;
    uint64_t *begin; /* [task]: where the first run of its rows begins; the last one: all rows */
    uint64_t
        *wide; /* [task]: the first row of the long run that begins in it, plus 1; it ends behind the task's rows */
    uint64_t *after; /* [task]: the row behind that run */
};

static unsigned char *row_at(const struct runs *r, uint64_t i)
{
    return r->v->rows + i * (size_t)r->v->s->stride;
}

static bool same(const struct runs *r, uint64_t i, uint64_t j)
{
    return rt_sort_compare_keys(r->v->sorter, 0, r->v->s->sorted, row_at(r, i), row_at(r, j)) == 0;
}

/* Behind the run that row i is in: by steps that double, then by halves. */
static uint64_t run_end(const struct runs *r, uint64_t i)
{
    uint64_t in = i, step = 1;
    for (; in + step < r->cut.n && same(r, i, in + step); step *= 2)
        in += step;
    uint64_t end = HD_MIN(in + step, r->cut.n);
    while (in + 1 < end) {
        uint64_t mid = in + (end - in) / 2;
        if (same(r, i, mid))
            in = mid;
        else
            end = mid;
    }
    return end;
}

/* Before anybody moves rows. */
static void find_begin(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct runs *r = context;
    uint64_t i = task * r->cut.size;
    r->begin[task] = i > 0 && same(r, i - 1, i) ? run_end(r, i) : i;
}

static bool is_sorted(const struct runs *r, uint64_t from, uint64_t to)
{
    const struct rt_state *s = r->v->s;
    for (uint64_t i = from + 1; i < to; i++)
        if (rt_sort_compare_keys(r->v->sorter, s->sorted, s->nsort, row_at(r, i - 1), row_at(r, i)) > 0)
            return false;
    return true;
}

/* e, copy: room for the entries and the rows. */
static void sort_here(const struct runs *r, uint64_t from, uint64_t to, struct rt_sort_entry *e, unsigned char *copy)
{
    size_t stride = (size_t)r->v->s->stride;
    uint64_t n = to - from;
    memcpy(copy, row_at(r, from), n * stride);
    for (uint64_t i = 0; i < n; i++)
        rt_sort_entry(r->v->sorter, copy + i * stride, &e[i]);
    rt_sort_entries(r->v->sorter, e, n);
    for (uint64_t i = 0; i < n; i++)
        memcpy(row_at(r, from + i), e[i].row, stride);
}

/* Room for n rows and their entries, more than there was. */
static bool grow(struct rt_worker *w, const struct runs *r, struct rt_block *b, uint64_t *room, uint64_t n)
{
    if (n <= *room)
        return true;
    rt_block_free(&w->x->memory, b);
    *room = HD_MAX((uint64_t)FEW, 2 * n);
    if (rt_block_new(&w->x->memory, *room * (sizeof(struct rt_sort_entry) + (size_t)r->v->s->stride), false, b))
        return true;
    rt_exec_raise_memory(w->x, r->v->s);
    return false;
}

static void sort_runs(void *context, struct rt_worker *w, uint64_t task)
{
    const struct runs *r = context;
    struct rt_block b = {.p = NULL};
    uint64_t room = 0, end = r->begin[task + 1];
    for (uint64_t from = r->begin[task], to; from < end; from = to) {
        to = run_end(r, from);
        if (to - from > LONG_RUN) {
            r->wide[task] = from + 1;
            r->after[task] = to;
        } else if (!is_sorted(r, from, to)) {
            if (!grow(w, r, &b, &room, to - from))
                break;
            struct rt_sort_entry *e = b.p;
            sort_here(r, from, to, e, (unsigned char *)(e + room));
        }
    }
    rt_block_free(&w->x->memory, &b);
}

static int sort_long(struct rt_exec *x, const struct runs *r, uint64_t task)
{
    size_t stride = (size_t)r->v->s->stride;
    uint64_t from = r->wide[task] - 1, n = r->after[task] - from;
    struct rt_block out = {.p = NULL};
    HD_TRY(rt_exec_block(x, r->v->s, n * stride, false, &out));
    int rc = rt_sort_packed(x, r->v->sorter, row_at(r, from), n, 0, n, out.p);
    if (rc == 0)
        memcpy(row_at(r, from), out.p, n * stride);
    rt_block_free(&x->memory, &out);
    return rc;
}

int rt_sort_runs(struct rt_exec *x, struct rt_live *v)
{
    struct runs r = {.x = x, .v = v, .cut = rt_cut(x, v->nrows, TASK_MIN)};
    if (!v->nrows)
        return 0;
    r.cut.size = HD_MIN(r.cut.size, (uint64_t)LONG_RUN);
    r.cut.ntasks = (r.cut.n + r.cut.size - 1) / r.cut.size;
    r.begin = HD_NEWN(&x->arena, uint64_t, 3 * r.cut.ntasks + 1);
    r.wide = r.begin + r.cut.ntasks + 1;
    r.after = r.wide + r.cut.ntasks;
    r.begin[r.cut.ntasks] = v->nrows;
    HD_TRY(rt_exec_parallel(x, r.cut.ntasks, find_begin, &r));
    HD_TRY(rt_exec_parallel(x, r.cut.ntasks, sort_runs, &r));
    if (rt_exec_stopped(x))
        return -1;
    for (uint64_t task = 0; task < r.cut.ntasks; task++)
        if (r.wide[task])
            HD_TRY(sort_long(x, &r, task));
    return 0;
}
