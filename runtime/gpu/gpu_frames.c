/* Folds of frames (templates/finish/finish_frames.cu): a tree per field, which lives as long as its launches. */
#include "runtime/gpu/gpu_state.h"

static hdd_i32 offset_of(const struct rt_state *s, int field)
{
    return field < 0 ? -1 : s->fields[field].offset;
}

/* Levels until one has as few nodes as a parent folds; how many nodes there are. */
static uint64_t lay_levels(struct hdd_frames_args *p)
{
    uint64_t n = p->n;
    for (p->nlevels = 0;; n = (n + HDD_FRAMES_FAN_OUT - 1) / HDD_FRAMES_FAN_OUT) {
        p->at[p->nlevels + 1] = p->at[p->nlevels] + n;
        p->nlevels++;
        if (n <= HDD_FRAMES_FAN_OUT)
            return p->at[p->nlevels];
    }
}

static int launch(struct rt_gpu_exec *x, struct hdd_frames_args *p, struct hd_err *err)
{
    static const char module[] = "finish_frames";
    for (p->level = 0; p->level < p->nlevels; p->level++) {
        p->blocks = rt_finish_blocks(x, p->at[p->level + 1] - p->at[p->level], RT_FINISH_THREADS);
        HD_TRY(rt_finish_launch(x, module, "hdd_frames_level", p->blocks, p, err));
    }
    p->blocks = rt_finish_blocks(x, p->n, RT_FINISH_THREADS);
    return rt_finish_launch(x, module, "hdd_frames_apply", p->blocks, p, err);
}

static int finish_field(struct rt_gpu_exec *x, struct rt_gpu_state *v, int field, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    const struct rt_field *f = &s->fields[field];
    const struct rt_frame *frame = f->frame;
    struct rt_piece memory = {0, 0};
    struct hdd_frames_args p = {.rows = v->rows,
                                .n = v->nrows,
                                .from_by = {frame->from_by[0], frame->from_by[1]},
                                .to_by = {frame->to_by[0], frame->to_by[1]},
                                .from = {offset_of(s, frame->from[0]), offset_of(s, frame->from[1])},
                                .to = {offset_of(s, frame->to[0]), offset_of(s, frame->to[1])},
                                .begin = (hdd_u32)offset_of(s, frame->begin),
                                .end = (hdd_u32)offset_of(s, frame->end),
                                .stride = (hdd_u32)s->stride,
                                .offset = (hdd_u32)f->offset,
                                .valid_offset = (hdd_u32)f->valid_offset,
                                .phys = (hdd_u32)f->phys,
                                .merge = (hdd_u32)s->merge[field]};
    uint64_t nodes = lay_levels(&p), size = (uint64_t)rt_phys_size(f->phys);
    HD_TRY(rt_state_alloc(x, s, (size_t)(nodes * (size + 1)), &memory, err));
    p.values = memory.address;
    p.valid = memory.address + nodes * size;
    int rc = launch(x, &p, err);
    rt_gpu_release(x, &memory);
    return rc;
}

int rt_gpu_finish_frames(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    for (int i = 0; i < v->s->nfields && v->nrows; i++)
        if (v->s->fields[i].frame)
            HD_TRY(finish_field(x, v, i, err));
    return 0;
}
