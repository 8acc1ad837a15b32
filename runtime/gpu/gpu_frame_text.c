/* Strings of the rows of frames become pieces of one text of all rows (templates/finish/finish_frame_text.cu). */
#include "runtime/gpu/gpu_state.h"

enum { WORD = 8, LANES = 32 };

struct texts {
    struct rt_gpu_exec *x;
    struct rt_gpu_state *v;
    const struct rt_frame *frame;
    struct hdd_frame_text_args p;
    struct hd_err *err;
};

static int launch(struct texts *t, const char *entry, uint64_t threads)
{
    t->p.f.blocks = rt_finish_blocks(t->x, threads, RT_FINISH_THREADS);
    return rt_finish_launch(t->x, "finish_frame_text", entry, t->p.f.blocks, &t->p, t->err);
}

/* Bytes in front of each row by `sizes`; *all: of all rows. */
static int add_up(struct texts *t, uint64_t before, uint64_t *all)
{
    uint64_t n = t->p.f.n;
    HD_TRY(rt_gpu_prefix_sum(t->x, t->v->s, t->p.sizes, n, before, true, t->err));
    return t->x->d->ops->download(t->x->d, all, before + n * 8, sizeof *all, t->err);
}

/* The text of all rows: a word, the separator, the strings. */
static int join(struct texts *t)
{
    const struct rt_device_ops *ops = t->x->d->ops;
    const uint64_t none = 0, n = t->p.f.n;
    uint64_t bytes, at;
    HD_TRY(launch(t, "hdd_frame_text_measure", n + 1));
    HD_TRY(rt_gpu_prefix_sum(t->x, t->v->s, t->p.values, n + 1, t->p.values, false, t->err));
    HD_TRY(add_up(t, t->p.before, &bytes));
    HD_TRY(rt_gpu_alloc_text(t->x, WORD + t->p.nseparator + bytes, &at, t->err));
    t->p.too_long = at;
    t->p.separator = at + WORD;
    t->p.all = t->p.separator + t->p.nseparator;
    HD_TRY(ops->upload(t->x->d, at, &none, sizeof none, t->err));
    if (t->p.nseparator)
        HD_TRY(ops->upload(t->x->d, t->p.separator, t->frame->separator, t->p.nseparator, t->err));
    return launch(t, "hdd_frame_text_join", n);
}

static int point(struct texts *t)
{
    uint64_t too_long, bytes, made;
    HD_TRY(launch(t, "hdd_frame_text_point", t->p.f.n));
    HD_TRY(t->x->d->ops->download(t->x->d, &too_long, t->p.too_long, sizeof too_long, t->err));
    if (too_long)
        return HD_FAIL(t->err, EXEC, t->v->s->path, "%s", RT_TEXT_TOO_LONG);
    if (t->frame->nspans == 1)
        return 0;
    HD_TRY(add_up(t, t->p.made_before, &bytes));
    HD_TRY(rt_gpu_alloc_text(t->x, bytes + 1, &made, t->err));
    t->p.made = made;
    return launch(t, "hdd_frame_text_gather", t->p.f.n * LANES);
}

static int finish_field(struct rt_gpu_exec *x, struct rt_gpu_state *v, int field, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    struct texts t = {.x = x, .v = v, .frame = s->fields[field].frame, .err = err};
    struct rt_piece memory = {0};
    const uint64_t rows = hd_align_up(v->nrows + 1, 2);
    t.p.f = rt_frames_args(v, field);
    t.p.f.x = rt_key_of_field(&s->fields[t.frame->x]);
    t.p.nseparator = (hdd_u32)t.frame->nseparator;
    HD_TRY(rt_state_alloc(x, s, (size_t)(rows * 24), &memory, err));
    t.p.before = memory.address;
    t.p.made_before = t.p.before + rows * 8;
    t.p.sizes = t.p.made_before + rows * 8;
    t.p.values = t.p.sizes + rows * 4;
    int rc = join(&t);
    rc = rc ? rc : point(&t);
    rt_gpu_release(x, &memory);
    return rc;
}

int rt_gpu_finish_frame_texts(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    for (int i = 0; i < v->s->nfields && v->nrows; i++)
        if (v->s->fields[i].frame && v->s->merge[i] == RT_MERGE_TEXT)
            HD_TRY(finish_field(x, v, i, err));
    return 0;
}
