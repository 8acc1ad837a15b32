/* Running fields: each row's has the sum, the minimum, the maximum or the bits of all rows of its segment up to it (prefix sums; G. E.
 * Blelloch, "Prefix sums and their applications", section 1.2, does the same in three steps). */
#include <string.h>

#include "runtime/exec/exec_internal.h"

enum { RUN_MIN = 1 << 14 }; /* rows that are worth a task */

struct running {
    const struct rt_state *s;
    unsigned char *rows;
    struct rt_cut cut;
};

static unsigned char *row_at(const struct running *r, uint64_t i)
{
    return r->rows + i * (size_t)r->s->stride;
}

/* Rows i and i - 1 are in one segment. */
static bool goes_on(const struct running *r, uint64_t i)
{
    int32_t begin;
    if (!r->s->segment)
        return true;
    memcpy(&begin, row_at(r, i) + r->s->fields[r->s->segment - 1].offset, sizeof begin);
    return (uint64_t)begin != i;
}

/* Where the segment of row i begins. */
static uint64_t segment_begin(const struct running *r, uint64_t i)
{
    int32_t begin = 0;
    if (r->s->segment)
        memcpy(&begin, row_at(r, i) + r->s->fields[r->s->segment - 1].offset, sizeof begin);
    return (uint64_t)begin;
}

static void sum_64(unsigned char *at, size_t stride, uint64_t n)
{
    int64_t sum = 0, v;
    for (uint64_t i = 0; i < n; i++, at += stride) {
        memcpy(&v, at, sizeof v);
        sum += v;
        memcpy(at, &sum, sizeof sum);
    }
}

static void sum_128(unsigned char *at, size_t stride, uint64_t n)
{
    hd_i128 sum = 0, v;
    for (uint64_t i = 0; i < n; i++, at += stride) {
        memcpy(&v, at, sizeof v);
        sum += v;
        memcpy(at, &sum, sizeof sum);
    }
}

/* Rows begin .. end - 1 of field f as if there were no others. */
static void run_field(const struct running *r, int f, uint64_t begin, uint64_t end)
{
    const struct rt_field *d = &r->s->fields[f];
    size_t stride = (size_t)r->s->stride;
    bool plain = r->s->merge[f] == RT_MERGE_SUM && d->valid_offset < 0 && !r->s->segment;
    if (plain && d->phys == RT_I64)
        sum_64(row_at(r, begin) + d->offset, stride, end - begin);
    else if (plain && d->phys == RT_I128)
        sum_128(row_at(r, begin) + d->offset, stride, end - begin);
    else
        for (uint64_t i = begin + 1; i < end; i++)
            if (goes_on(r, i))
                rt_merge_field(d, r->s->merge[f], row_at(r, i), row_at(r, i - 1));
}

static void run_task(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct running *r = context;
    for (int f = 0; f < r->s->nfields; f++)
        if (rt_state_field_runs(r->s, f))
            run_field(r, f, task * r->cut.size, rt_cut_end(&r->cut, task));
}

static void merge_running(const struct running *r, uint64_t to, uint64_t from)
{
    for (int f = 0; f < r->s->nfields; f++)
        if (rt_state_field_runs(r->s, f))
            rt_merge_field(&r->s->fields[f], r->s->merge[f], row_at(r, to), row_at(r, from));
}

/* What comes before a task's rows is in the row before them; its own last row has it already. */
static void carry_task(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct running *r = context;
    uint64_t begin = (task + 1) * r->cut.size, end = rt_cut_end(&r->cut, task + 1);
    for (uint64_t i = begin; i + 1 < end && segment_begin(r, i) < begin; i++)
        merge_running(r, i, begin - 1);
}

int rt_finish_running(struct rt_exec *x, struct rt_live *v)
{
    struct running r = {v->s, v->rows, rt_cut(x, v->nrows, RUN_MIN)};
    if (v->nrows > INT32_MAX) {
        rt_exec_raise(x, HD_ERR_RESOURCE, v->s->path, "%llu rows, at most %d have a number",
                      (unsigned long long)v->nrows, INT32_MAX);
        return -1;
    }
    HD_TRY(rt_exec_parallel(x, r.cut.ntasks, run_task, &r));
    for (uint64_t task = 1; task < r.cut.ntasks; task++) {
        uint64_t begin = task * r.cut.size, last = rt_cut_end(&r.cut, task) - 1;
        if (segment_begin(&r, last) < begin)
            merge_running(&r, last, begin - 1);
    }
    return r.cut.ntasks > 1 ? rt_exec_parallel(x, r.cut.ntasks - 1, carry_task, &r) : 0;
}
