/* Strings of rows become one of each group (templates/finish/finish_text.cu). */
#include "runtime/gpu/gpu_state.h"

enum { WORD = 8 };

int rt_gpu_alloc_text(struct rt_gpu_exec *x, uint64_t bytes, uint64_t *address, struct hd_err *err)
{
    struct rt_gpu_strings *t = HD_NEW(x->arena, struct rt_gpu_strings);
    HD_TRY(rt_gpu_alloc(x, NULL, (size_t)bytes, &t->piece, err));
    t->next = x->strings;
    x->strings = t;
    *address = t->piece.address;
    return 0;
}

/* p's memory: a word, the separator, the text. */
static int place(struct rt_gpu_exec *x, const struct rt_gpu_state *v, struct hdd_text_args *p, struct hd_err *err)
{
    const struct rt_text *t = v->s->text;
    const uint64_t none = 0, last = v->rows + (v->nrows - 1) * (uint64_t)v->s->stride + p->running;
    uint64_t bytes, at;
    HD_TRY(x->d->ops->download(x->d, &bytes, last, sizeof bytes, err));
    HD_TRY(rt_gpu_alloc_text(x, WORD + t->nseparator + bytes, &at, err));
    p->too_long = at;
    p->separator = at + WORD;
    p->to = p->separator + t->nseparator;
    HD_TRY(x->d->ops->upload(x->d, at, &none, sizeof none, err));
    return t->nseparator ? x->d->ops->upload(x->d, p->separator, t->separator, t->nseparator, err) : 0;
}

int rt_gpu_finish_text(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    const struct rt_text *t = s->text;
    uint64_t too_long;
    if (v->nrows == 0)
        return 0;
    struct hdd_text_args p = {.rows = v->rows,
                              .n = v->nrows,
                              .stride = (hdd_u32)s->stride,
                              .value = (hdd_u32)s->fields[t->value].offset,
                              .running = (hdd_u32)s->fields[t->running].offset,
                              .begin = (hdd_u32)s->fields[t->begin].offset,
                              .end = (hdd_u32)s->fields[t->end].offset,
                              .nseparator = (hdd_u32)t->nseparator,
                              .blocks = rt_finish_blocks(x, v->nrows, RT_FINISH_THREADS)};
    HD_TRY(place(x, v, &p, err));
    HD_TRY(rt_finish_launch(x, "finish_text", "hdd_text_copy", p.blocks, &p, err));
    HD_TRY(x->d->ops->download(x->d, &too_long, p.too_long, sizeof too_long, err));
    return too_long ? HD_FAIL(err, EXEC, s->path, "%s", RT_TEXT_TOO_LONG) : 0;
}
