/* Strings of the rows of a group, one behind the other. Running sums of their bytes say where each belongs, so that every
 * thread copies those of some rows, whatever the groups are. */
#include <string.h>

#include "runtime/exec/exec_internal.h"

enum { COPY_MIN = 1 << 12 }; /* rows that are worth a task */

/* As rows have it. */
struct string {
    uint64_t address, n;
};

struct joining {
    const struct rt_live *v;
    const struct rt_text *t;
    char *to; /* of all rows */
    struct rt_cut cut;
};

static unsigned char *field(const struct joining *j, uint64_t i, int f)
{
    return j->v->rows + i * (size_t)j->v->s->stride + j->v->s->fields[f].offset;
}

static uint64_t word(const struct joining *j, uint64_t i, int f)
{
    uint64_t v;
    memcpy(&v, field(j, i, f), sizeof v);
    return v;
}

static uint64_t number(const struct joining *j, uint64_t i, int f)
{
    int32_t v;
    memcpy(&v, field(j, i, f), sizeof v);
    return (uint64_t)v;
}

/* Bytes of all rows in front of row i. */
static uint64_t before(const struct joining *j, uint64_t i)
{
    return i ? word(j, i - 1, j->t->running) : 0;
}

static uint64_t group_bytes(const struct joining *j, uint64_t first)
{
    return before(j, number(j, first, j->t->end)) - before(j, first) - j->t->nseparator;
}

static void copy(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct joining *j = context;
    uint64_t end = rt_cut_end(&j->cut, task);
    for (uint64_t i = task * j->cut.size; i < end; i++) {
        struct string s;
        char *to = j->to + before(j, i);
        memcpy(&s, field(j, i, j->t->value), sizeof s);
        if (s.n)
            memcpy(to, (const char *)(uintptr_t)s.address, s.n);
        if (j->t->nseparator)
            memcpy(to + s.n, j->t->separator, j->t->nseparator);
        if (number(j, i, j->t->begin) != i)
            continue;
        s = (struct string){(uintptr_t)to, group_bytes(j, i)};
        memcpy(field(j, i, j->t->value), &s, sizeof s);
    }
}

static bool fit(const struct joining *j)
{
    uint64_t n = j->v->nrows;
    if (before(j, n) <= INT32_MAX)
        return true;
    for (uint64_t i = 0; i < n; i = number(j, i, j->t->end))
        if (group_bytes(j, i) > INT32_MAX)
            return false;
    return true;
}

int rt_finish_text(struct rt_exec *x, struct rt_live *v)
{
    struct joining j = {.v = v, .t = v->s->text, .cut = rt_cut(x, v->nrows, COPY_MIN)};
    if (v->nrows == 0)
        return 0;
    if (!fit(&j)) {
        rt_exec_raise(x, HD_ERR_EXEC, v->s->path, "%s", RT_TEXT_TOO_LONG);
        return -1;
    }
    j.to = rt_heap_alloc(&x->memory, &x->workers[0].heap, before(&j, v->nrows) + 1);
    if (!j.to) {
        rt_exec_raise_memory(x, NULL);
        return -1;
    }
    return rt_exec_parallel(x, j.cut.ntasks, copy, &j);
}
