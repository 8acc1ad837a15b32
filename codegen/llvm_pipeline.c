/* Functions of a pipeline. The entry function holds the loop nest from the source down to the
 * first level that may be split over threads; each such level is a function of its own, called
 * for ordinary ranges and handed to hdr_spawn for long ones, so that no code exists twice. */
#include "codegen/llvm_build.h"

/* An entry or level function: it loops over a range. */
static struct cg_fn *range_open(struct cg_mod *m, const struct cg_job *job)
{
    struct cg_fn *f = cg_fn_open(m, job);
    unsigned level = job->kind == CG_FUNCTION_LEVEL;
    f->begin = LLVMGetParam(f->fn, 2 + level);
    f->end = LLVMGetParam(f->fn, 3 + level);
    if (f->pipeline->framed)
        cg_frame_open(f);
    return f;
}

/* In the exit block the sink writes back what registers hold. */
static void range_close(struct cg_fn *f)
{
    l_goto(f, f->exit);
    cg_sink_close(f);
    cg_fn_close(f);
}

/* Not constant memory: inlined into its caller, the function sees many tuples in one place. */
static void carry_in(struct cg_fn *f, const struct pl_level *lv, LLVMValueRef from)
{
    int at = 0;
    LLVMBuilderRef saved = cg_enter(f);
    for (int i = 0; i < lv->nslots; i++) {
        int slot = lv->slots[i];
        struct rt_field fd = cg_carry_field(&f->pipeline->slots[slot], &at);
        cg_bind(f, slot, cg_load_field(f, &fd, from, false));
    }
    if (cg_in_parts(f))
        cg_part_get(f, at, from);
    f->b = saved;
}

void cg_pipeline(struct cg_mod *m, int index)
{
    const struct cg_job job = {index, CG_FUNCTION_ENTRY, 0};
    struct cg_fn *f = range_open(m, &job);
    l_need(f, l_icmp(f, LLVMIntSLT, f->begin, f->end), f->exit, "some");
    if (f->pipeline->cpu_tile.steps || f->pipeline->cpu_ahead) {
        cg_tile_loop(f);
    } else if (cg_in_parts(f)) {
        cg_loop_parts(f);
    } else {
        struct cg_loop l = cg_loop_open(f, f->begin, f->end);
        cg_bind_source(f, l.i);
        cg_steps_from(f, 0);
        cg_loop_close(f, &l);
        l_br(f, f->exit);
    }
    range_close(f);
}

void cg_level(struct cg_mod *m, const struct cg_job *job)
{
    struct cg_fn *f = range_open(m, job);
    const struct pl_level *lv = &f->pipeline->levels[job->first];
    carry_in(f, lv, LLVMGetParam(f->fn, 2));
    cg_check_stop(f);
    l_need(f, l_icmp(f, LLVMIntSLT, f->begin, f->end), f->exit, "some");
    if (cg_in_parts(f)) {
        cg_loop_pairs(f, lv);
        range_close(f);
        return;
    }
    struct cg_loop l = cg_loop_open(f, f->begin, f->end);
    f->enough = f->pipeline->first_match ? f->exit : NULL;
    cg_bind_child(f, &f->pipeline->steps[lv->first_step - 1], l.i);
    cg_steps_from(f, lv->first_step);
    cg_loop_close(f, &l);
    l_br(f, f->exit);
    range_close(f);
}
