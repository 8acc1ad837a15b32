/* Rows that keep the order of their source although many threads append them. Each worker notes where the rows of each
 * morsel lie; finishing the state puts these stretches one behind the other, by morsel. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/exec/exec_internal.h"

/* Rows of one morsel that lie side by side in the region. */
struct rt_stretch {
    struct rt_stretch *next; /* of the worker, written before */
    uint64_t morsel;         /* first row of it */
    uint64_t number;         /* among the worker's */
    unsigned char *from, *to;
};

bool rt_rows_by_morsel(const struct rt_exec *x, const struct rt_pipeline *p)
{
    if (!p->ordered || x->o.threads == 1 || !p->nwrites)
        return false;
    const struct rt_state *s = &x->spec->states[p->writes[0]];
    return s->kind == RT_STATE_ROWS && s->limit < 0; /* what a limit leaves is found soon enough by one worker */
}

static int add(struct rt_exec *x, struct rt_local *l, uint64_t morsel)
{
    struct rt_stretch *s = hd_try_malloc(sizeof *s);
    if (!s || !rt_memory_reserve(&x->memory, sizeof *s)) {
        free(s);
        return -1;
    }
    *s = (struct rt_stretch){l->stretches, morsel, l->stretches ? l->stretches->number + 1 : 0, l->u.rows.cur, NULL};
    l->stretches = s;
    return 0;
}

int rt_morsel_begin(struct rt_worker *w, int state, uint64_t row)
{
    if (add(w->x, rt_local(w->x, &w->x->live[state], w->t.index), row) == 0)
        return 0;
    rt_exec_raise_memory(w->x, &w->x->spec->states[state]);
    return -1;
}

void rt_morsel_end(struct rt_worker *w, int state)
{
    struct rt_local *l = rt_local(w->x, &w->x->live[state], w->t.index);
    l->stretches->to = l->u.rows.cur;
}

int rt_morsel_turn(struct rt_exec *x, struct rt_local *l, unsigned char *piece)
{
    if (!l->stretches || l->stretches->to)
        return 0;
    l->stretches->to = l->u.rows.cur;
    if (add(x, l, l->stretches->morsel) != 0)
        return -1;
    l->stretches->from = piece;
    return 0;
}

void rt_stretches_free(struct rt_exec *x, struct rt_local *l)
{
    while (l->stretches) {
        struct rt_stretch *s = l->stretches;
        l->stretches = s->next;
        rt_memory_unreserve(&x->memory, sizeof *s);
        free(s);
    }
}

/* ---- one array ------------------------------------------------------------------------------ */

struct copies {
    struct rt_stretch **v;
    uint64_t *at; /* bytes before each */
    unsigned char *to;
};

static void copy_stretch(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct copies *c = context;
    const struct rt_stretch *s = c->v[task];
    if (s->to != s->from) /* an empty one has no place */
        memcpy(c->to + c->at[task], s->from, (size_t)(s->to - s->from));
}

/* A morsel is one worker's. */
static int compare(const void *a, const void *b)
{
    const struct rt_stretch *x = *(struct rt_stretch *const *)a, *y = *(struct rt_stretch *const *)b;
    if (x->morsel != y->morsel)
        return x->morsel > y->morsel ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

static size_t count(struct rt_exec *x, const struct rt_live *v)
{
    size_t n = 0;
    for (int w = 0; w < x->o.threads; w++)
        for (const struct rt_stretch *s = rt_local(x, v, w)->stretches; s; s = s->next)
            n++;
    return n;
}

static void list(struct rt_exec *x, const struct rt_live *v, struct rt_stretch **to, size_t n)
{
    for (int w = 0; w < x->o.threads; w++)
        for (struct rt_stretch *s = rt_local(x, v, w)->stretches; s; s = s->next)
            to[--n] = s;
}

int rt_rows_concatenate(struct rt_exec *x, struct rt_live *v, bool *done)
{
    size_t n = count(x, v), bytes = 0;
    struct rt_block memory = {.p = NULL};
    *done = n > 0;
    if (!n)
        return 0;
    HD_TRY(rt_exec_block(x, v->s, n * (sizeof(struct rt_stretch *) + sizeof(uint64_t)), false, &memory));
    struct copies c = {.v = memory.p, .at = (uint64_t *)((struct rt_stretch **)memory.p + n)};
    list(x, v, c.v, n);
    qsort(c.v, n, sizeof *c.v, compare);
    for (size_t i = 0; i < n; i++) {
        c.at[i] = bytes;
        bytes += (size_t)(c.v[i]->to - c.v[i]->from);
    }
    int rc = rt_exec_block(x, v->s, bytes, false, &v->moved);
    c.to = v->moved.p;
    if (rc == 0)
        rc = rt_exec_parallel(x, n, copy_stretch, &c);
    rt_block_free(&x->memory, &memory);
    rt_region_free(&x->memory, &v->region);
    v->rows = v->moved.p;
    v->nrows = bytes / (uint64_t)v->s->stride;
    return rc;
}
