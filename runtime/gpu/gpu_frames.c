/* Folds of frames (templates/finish/finish_frames.cu, finish_frames_of.cu): a tree per field, which lives as long as its
 * launches. */
#include "runtime/gpu/gpu_state.h"

enum { MOMENT_BYTES = 48 }; /* of hdd_moment */

_Static_assert((int)HDD_FRAMES_SPANS == (int)RT_FRAME_SPANS, "spans are those of the spec");
_Static_assert((int)HDD_MERGE_PRODUCTS == (int)RT_MERGE_PRODUCTS && (int)HDD_MERGE_ARG_MIN == (int)RT_MERGE_ARG_MIN &&
                   (int)HDD_MERGE_ARG_MAX == (int)RT_MERGE_ARG_MAX &&
                   (int)HDD_MERGE_DISTINCT == (int)RT_MERGE_DISTINCT &&
                   (int)HDD_MERGE_DISTINCT_XOR == (int)RT_MERGE_DISTINCT_XOR &&
                   (int)HDD_MERGE_MODE == (int)RT_MERGE_MODE && (int)HDD_MERGE_TEXT == (int)RT_MERGE_TEXT,
               "ways to merge are those of the spec");

static hdd_i32 offset_of(const struct rt_state *s, int field)
{
    return field < 0 ? -1 : s->fields[field].offset;
}

uint64_t rt_frames_levels(struct hdd_frames_args *p, bool of_fields)
{
    uint64_t n = p->n;
    for (p->nlevels = 0;; n = (n + HDD_FRAMES_FAN_OUT - 1) / HDD_FRAMES_FAN_OUT) {
        p->at[p->nlevels + 1] = p->at[p->nlevels] + (of_fields && p->nlevels == 0 ? 0 : n);
        p->nlevels++;
        if (n <= HDD_FRAMES_FAN_OUT)
            return p->at[p->nlevels];
    }
}

static int launch(struct rt_gpu_exec *x, struct hdd_frames_args *p, bool of_fields, struct hd_err *err)
{
    const char *module = of_fields ? "finish_frames_of" : "finish_frames";
    for (p->level = of_fields; p->level < p->nlevels; p->level++) {
        p->blocks = rt_finish_blocks(x, p->at[p->level + 1] - p->at[p->level], RT_FINISH_THREADS);
        HD_TRY(rt_finish_launch(x, module, of_fields ? "hdd_frames_of_level" : "hdd_frames_level", p->blocks, p, err));
    }
    p->blocks = rt_finish_blocks(x, p->n, RT_FINISH_THREADS);
    return rt_finish_launch(x, module, of_fields ? "hdd_frames_of_apply" : "hdd_frames_apply", p->blocks, p, err);
}

static void set_spans(struct hdd_frames_args *p, const struct rt_state *s, const struct rt_frame *frame)
{
    p->nspans = (hdd_u32)frame->nspans;
    for (int i = 0; i < 2 * frame->nspans; i++) {
        const struct rt_frame_span *from = &frame->span[i / 2];
        struct hdd_frames_span *to = &p->span[i / 2];
        int k = i % 2;
        to->from_by[k] = from->from_by[k];
        to->to_by[k] = from->to_by[k];
        to->from[k] = offset_of(s, from->from[k]);
        to->to[k] = offset_of(s, from->to[k]);
    }
}

static uint64_t node_bytes(enum rt_merge merge, enum rt_phys phys)
{
    return merge == RT_MERGE_PRODUCTS ? (uint64_t)MOMENT_BYTES : (uint64_t)rt_phys_size(phys);
}

struct hdd_frames_args rt_frames_args(const struct rt_gpu_state *v, int field)
{
    const struct rt_state *s = v->s;
    const struct rt_field *f = &s->fields[field];
    struct hdd_frames_args p = {.rows = v->rows,
                                .n = v->nrows,
                                .begin = (hdd_u32)offset_of(s, f->frame->begin),
                                .end = (hdd_u32)offset_of(s, f->frame->end),
                                .stride = (hdd_u32)s->stride,
                                .offset = (hdd_u32)f->offset,
                                .valid_offset = (hdd_u32)f->valid_offset,
                                .phys = (hdd_u32)f->phys,
                                .merge = (hdd_u32)s->merge[field]};
    set_spans(&p, s, f->frame);
    return p;
}

static int finish_field(struct rt_gpu_exec *x, struct rt_gpu_state *v, int field, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    const struct rt_field *f = &s->fields[field];
    const struct rt_frame *frame = f->frame;
    bool of_fields = rt_merge_is_of_fields(s->merge[field]);
    struct rt_piece memory = {0};
    struct hdd_frames_args p = rt_frames_args(v, field);
    if (of_fields) {
        p.x = rt_key_of_field(&s->fields[frame->x]);
        p.y = rt_key_of_field(&s->fields[frame->y]);
    }
    uint64_t nodes = rt_frames_levels(&p, of_fields), size = node_bytes(s->merge[field], f->phys);
    HD_TRY(rt_state_alloc(x, s, (size_t)(nodes * (size + 1)), &memory, err));
    p.values = memory.address;
    p.valid = memory.address + nodes * size;
    int rc = launch(x, &p, of_fields, err);
    rt_gpu_release(x, &memory);
    return rc;
}

int rt_gpu_finish_frames(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    for (int i = 0; i < v->s->nfields && v->nrows; i++)
        if (v->s->fields[i].frame && rt_merge_is_fold(v->s->merge[i]))
            HD_TRY(finish_field(x, v, i, err));
    return 0;
}
