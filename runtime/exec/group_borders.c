/* Where groups of sorted rows begin and end, and how many there are up to each row. Every thread looks at stretches of
 * rows; what it cannot know, of groups that begin before its stretch or end behind it, is added once all have looked. */
#include <string.h>

#include "runtime/exec/exec_internal.h"
#include "runtime/exec/sort.h"

enum { STRETCH_MIN = 1 << 14 }; /* rows that are worth a task */

/* Of a task's rows: where groups begin, counted from 1; 0 none. */
struct found {
    uint64_t first, last, count;
    uint64_t before, so_far,
        behind; /* the last begin in front of them, the groups up to there, the first behind them */
};

/* A key that is never NULL and the same where its bytes are: so many of them; 0: other keys. */
struct plain {
    int offset, bytes;
};

struct borders {
    const struct rt_live *v;
    struct plain *plain; /* [key] */
    struct rt_cut cut;
    int n, *field, nkeys; /* most keys of any */
    struct found *found;  /* [task][n] */
};

static unsigned char *at(const struct borders *b, uint64_t i, int k)
{
    const struct rt_state *s = b->v->s;
    return b->v->rows + i * (size_t)s->stride + s->fields[b->field[k]].offset;
}

static void put(const struct borders *b, int k, uint64_t from, uint64_t to, uint64_t number)
{
    int32_t v = (int32_t)number;
    for (uint64_t i = from; i < to; i++)
        memcpy(at(b, i, k), &v, sizeof v);
}

static bool is_same(const struct borders *b, int k, const unsigned char *row, const unsigned char *before)
{
    const struct plain *p = &b->plain[k];
    uint64_t v[2];
    uint32_t u[2];
    if (p->bytes == sizeof *u) {
        memcpy(&u[0], row + p->offset, sizeof *u);
        memcpy(&u[1], before + p->offset, sizeof *u);
        return u[0] == u[1];
    }
    if (p->bytes == sizeof *v) {
        memcpy(&v[0], row + p->offset, sizeof *v);
        memcpy(&v[1], before + p->offset, sizeof *v);
        return v[0] == v[1];
    }
    return rt_sort_compare_keys(b->v->sorter, k, k + 1, before, row) == 0;
}

/* How many first keys row i has in common with the row before it. */
static int common(const struct borders *b, uint64_t i)
{
    size_t stride = (size_t)b->v->s->stride;
    const unsigned char *row = b->v->rows + i * stride;
    int k = 0;
    while (k < b->nkeys && is_same(b, k, row, row - stride))
        k++;
    return k;
}

static void look(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct borders *b = context;
    uint64_t begin = task * b->cut.size, end = rt_cut_end(&b->cut, task);
    struct found *found = b->found + task * (size_t)b->n;
    for (uint64_t i = begin; i < end; i++) {
        int same = i ? common(b, i) : 0;
        for (int k = 0; k < b->n; k++) {
            const struct rt_field *f = &b->v->s->fields[b->field[k]];
            struct found *q = &found[k];
            if (i == 0 || same < f->border_keys) {
                if (f->border == RT_BORDER_END)
                    put(b, k, q->last ? q->last - 1 : begin, i, i);
                q->first = q->first ? q->first : i + 1;
                q->last = i + 1;
                q->count++;
            }
            if (f->border == RT_BORDER_BEGIN)
                put(b, k, i, i + 1, q->last ? q->last - 1 : 0);
            if (f->border == RT_BORDER_COUNT)
                put(b, k, i, i + 1, q->count);
        }
    }
}

static void connect(struct borders *b)
{
    for (int k = 0; k < b->n; k++) {
        uint64_t before = 0, count = 0, behind = b->cut.n;
        for (uint64_t t = 0; t < b->cut.ntasks; t++) {
            struct found *q = &b->found[t * (size_t)b->n + (size_t)k];
            q->before = before;
            q->so_far = count;
            before = q->last ? q->last - 1 : before;
            count += q->count;
        }
        for (uint64_t t = b->cut.ntasks; t-- > 0;) {
            struct found *q = &b->found[t * (size_t)b->n + (size_t)k];
            q->behind = behind;
            behind = q->first ? q->first - 1 : behind;
        }
    }
}

static void complete(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct borders *b = context;
    uint64_t begin = task * b->cut.size, end = rt_cut_end(&b->cut, task);
    for (int k = 0; k < b->n; k++) {
        const struct found *q = &b->found[task * (size_t)b->n + (size_t)k];
        enum rt_border border = b->v->s->fields[b->field[k]].border;
        if (border == RT_BORDER_BEGIN)
            put(b, k, begin, q->first ? q->first - 1 : end, q->before);
        if (border == RT_BORDER_END)
            put(b, k, q->last ? q->last - 1 : begin, end, q->behind);
        for (uint64_t i = begin; border == RT_BORDER_COUNT && q->so_far && i < end; i++) {
            int32_t v;
            memcpy(&v, at(b, i, k), sizeof v);
            v += (int32_t)q->so_far;
            memcpy(at(b, i, k), &v, sizeof v);
        }
    }
}

int rt_finish_borders(struct rt_exec *x, struct rt_live *v)
{
    const struct rt_state *s = v->s;
    struct borders b = {.v = v, .cut = rt_cut(x, v->nrows, STRETCH_MIN)};
    if (v->nrows > INT32_MAX) {
        rt_exec_raise(x, HD_ERR_RESOURCE, s->path, "%llu rows, at most %d have a number", (unsigned long long)v->nrows,
                      INT32_MAX);
        return -1;
    }
    b.field = HD_NEWN(&x->arena, int, s->nfields);
    for (int i = 0; i < s->nfields; i++)
        if (s->fields[i].border != RT_BORDER_NONE) {
            b.field[b.n++] = i;
            b.nkeys = HD_MAX(b.nkeys, s->fields[i].border_keys);
        }
    b.plain = HD_NEWN(&x->arena, struct plain, b.nkeys + 1);
    for (int k = 0; k < b.nkeys; k++) {
        const struct rt_field *f = &s->fields[s->sort[k].field];
        if (f->valid_offset < 0 && (f->phys == RT_I32 || f->phys == RT_I64))
            b.plain[k] = (struct plain){f->offset, rt_phys_size(f->phys)};
    }
    b.found = hd_zalloc(&x->arena, b.cut.ntasks * (size_t)b.n * sizeof *b.found);
    HD_TRY(rt_exec_parallel(x, b.cut.ntasks, look, &b));
    connect(&b);
    return rt_exec_parallel(x, b.cut.ntasks, complete, &b);
}
