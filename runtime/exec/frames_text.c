/* Strings of the rows of frames, one behind the other in the order of the rows. All strings are joined once, each with the
 * separator behind it; how many bytes are in front of each row says where the successive rows of a frame lie in that text,
 * so that their string is a piece of it and takes no memory of its own, whatever the frame. Only where a frame leaves rows
 * out is it put together of such pieces. */
#include <stdatomic.h>

#include "runtime/exec/frames.h"

enum { TASK_MIN = 1 << 12 };

/* As rows have it. */
struct string {
    uint64_t address, n;
};

/* Of all rows in front of one. */
struct before {
    uint64_t bytes;
    uint32_t values;
};

struct texts {
    struct rt_exec *x;
    const struct rt_live *v;
    const struct rt_field *f;
    struct before *before; /* of each row, and behind the last one */
    struct before *total; /* of a task's rows; then of those in front of it */
    char *all; /* the joined strings */
    char *made; /* strings of several pieces */
    _Atomic bool too_long;
    struct rt_cut cut;
};

static unsigned char *row_at(const struct texts *t, uint64_t i)
{
    return t->v->rows + i * (size_t)t->v->s->stride;
}

/* False: the row has none. */
static bool string_of(const struct texts *t, uint64_t i, struct string *out)
{
    const struct rt_field *x = &t->v->s->fields[t->f->frame->x];
    const unsigned char *row = row_at(t, i);
    memcpy(out, row + x->offset, sizeof *out);
    return x->valid_offset < 0 || row[x->valid_offset];
}

static size_t nseparator(const struct texts *t)
{
    return t->f->frame->nseparator;
}

/* ---- all strings ------------------------------------------------------------------------------------------------ */

static void measure(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct texts *t = context;
    struct before all = {0, 0};
    struct string s;
    for (uint64_t i = task * t->cut.size; i < rt_cut_end(&t->cut, task); i++) {
        t->before[i] = all;
        if (!string_of(t, i, &s))
            continue;
        all.bytes += s.n + nseparator(t);
        all.values++;
    }
    t->total[task] = all;
}

/* Totals become what is in front of a task's rows; the whole. */
static struct before add_up(const struct texts *t)
{
    struct before all = {0, 0};
    for (uint64_t i = 0; i < t->cut.ntasks; i++) {
        struct before own = t->total[i];
        t->total[i] = all;
        all.bytes += own.bytes;
        all.values += own.values;
    }
    return all;
}

static void join(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct texts *t = context;
    struct string s;
    for (uint64_t i = task * t->cut.size; i < rt_cut_end(&t->cut, task); i++) {
        struct before *b = &t->before[i];
        b->bytes += t->total[task].bytes;
        b->values += t->total[task].values;
        if (!string_of(t, i, &s))
            continue;
        if (s.n)
            memcpy(t->all + b->bytes, (const char *)(uintptr_t)s.address, s.n);
        if (nseparator(t))
            memcpy(t->all + b->bytes + s.n, t->f->frame->separator, nseparator(t));
    }
}

/* ---- frames ----------------------------------------------------------------------------------------------------- */

/* The frame's pieces, each with a separator behind it. */
struct pieces {
    int n;
    uint64_t at[RT_FRAME_SPANS], size[RT_FRAME_SPANS], bytes;
};

static void pieces_of(const struct texts *t, uint64_t i, struct pieces *p)
{
    uint64_t from, to;
    p->n = 0;
    p->bytes = 0;
    for (int k = 0; k < t->f->frame->nspans; k++) {
        if (!rt_frame_rows(t->v, t->f->frame, k, i, &from, &to) || t->before[from].values == t->before[to].values)
            continue;
        p->at[p->n] = t->before[from].bytes;
        p->size[p->n] = t->before[to].bytes - t->before[from].bytes;
        p->bytes += p->size[p->n++];
    }
    p->bytes -= p->n ? nseparator(t) : 0;
}

static void set(const struct texts *t, uint64_t i, const char *s, uint64_t n)
{
    const struct string out = {(uintptr_t)s, n};
    memcpy(row_at(t, i) + t->f->offset, &out, sizeof out);
}

/* Those of one piece; how many bytes a task's others have. */
static void point(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct texts *t = context;
    struct pieces p;
    t->total[task] = (struct before){0, 0};
    for (uint64_t i = task * t->cut.size; i < rt_cut_end(&t->cut, task); i++) {
        pieces_of(t, i, &p);
        row_at(t, i)[t->f->valid_offset] = p.n > 0;
        if (p.bytes > INT32_MAX)
            atomic_store(&t->too_long, true);
        if (p.n == 1)
            set(t, i, t->all + p.at[0], p.bytes);
        else
            t->total[task].bytes += p.bytes;
    }
}

static void put_together(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct texts *t = context;
    char *to = t->made + t->total[task].bytes;
    struct pieces p;
    for (uint64_t i = task * t->cut.size; i < rt_cut_end(&t->cut, task); i++) {
        pieces_of(t, i, &p);
        if (p.n < 2)
            continue;
        set(t, i, to, p.bytes);
        for (int k = 0; k < p.n; k++) {
            uint64_t n = p.size[k] - (k + 1 == p.n ? nseparator(t) : 0);
            memcpy(to, t->all + p.at[k], n);
            to += n;
        }
    }
}

static int alloc(struct texts *t, uint64_t bytes, char **out)
{
    *out = rt_heap_alloc(&t->x->memory, &t->x->workers[0].heap, bytes + 1);
    if (*out)
        return 0;
    rt_exec_raise_memory(t->x, NULL);
    return -1;
}

static int join_frames(struct texts *t)
{
    uint64_t n = t->v->nrows;
    HD_TRY(rt_exec_parallel(t->x, t->cut.ntasks, measure, t));
    t->before[n] = add_up(t);
    HD_TRY(alloc(t, t->before[n].bytes, &t->all));
    HD_TRY(rt_exec_parallel(t->x, t->cut.ntasks, join, t));
    HD_TRY(rt_exec_parallel(t->x, t->cut.ntasks, point, t));
    if (t->too_long) {
        rt_exec_raise(t->x, HD_ERR_EXEC, t->v->s->path, "%s", RT_TEXT_TOO_LONG);
        return -1;
    }
    uint64_t bytes = add_up(t).bytes;
    if (t->f->frame->nspans == 1)
        return 0;
    HD_TRY(alloc(t, bytes, &t->made));
    return rt_exec_parallel(t->x, t->cut.ntasks, put_together, t);
}

int rt_finish_frame_texts(struct rt_exec *x, struct rt_live *v)
{
    const struct rt_state *s = v->s;
    for (int i = 0; i < s->nfields && v->nrows; i++) {
        struct texts t = {.x = x, .v = v, .f = &s->fields[i], .cut = rt_cut(x, v->nrows, TASK_MIN)};
        struct rt_block memory = {0};
        if (!t.f->frame || s->merge[i] != RT_MERGE_TEXT)
            continue;
        HD_TRY(rt_exec_block(x, s, (v->nrows + 1 + t.cut.ntasks) * sizeof *t.before, false, &memory));
        t.before = memory.p;
        t.total = t.before + v->nrows + 1;
        int rc = join_frames(&t);
        rt_block_free(&x->memory, &memory);
        HD_TRY(rc);
    }
    return 0;
}
