/* The loop nest: steps from one level to the next, and the sink in the innermost. A level that may be split over
 * threads is a function of its own, called for ordinary ranges and handed to hdr_spawn for long ones. */
#include "codegen/llvm_build.h"

#include "templates/abi.h"

/* Bytes of a carried tuple; stores it if `to` is given. */
static int carry_out(struct cg_fn *f, const struct pl_level *lv, LLVMValueRef to)
{
    int at = 0;
    for (int i = 0; i < lv->nslots; i++) {
        int slot = lv->slots[i];
        struct rt_field fd = cg_carry_field(&f->pipeline->slots[slot], &at);
        if (to)
            cg_store_field(f, &fd, cg_slot(f, slot), to);
    }
    return at;
}

static void run_level(struct cg_fn *f, int level, LLVMValueRef carried, struct cg_range r)
{
    const struct cg_job job = {f->index, CG_FUNCTION_LEVEL, level};
    LLVMValueRef args[] = {f->args, f->thread, carried, r.begin, r.end};
    LLVMValueRef status = LLVMBuildCall2(f->b, f->m->level_type, cg_function(f->m, &job), args, 5, "");
    l_rarely(f, l_ne(f, status, l_i32(f, 0)), cg_failed_block(f), "done");
}

static void call_level(struct cg_fn *f, int level, struct cg_range r)
{
    const struct pl_level *lv = &f->pipeline->levels[level];
    int bytes = carry_out(f, lv, NULL);
    LLVMValueRef carried = cg_alloca(f, HD_MAX(bytes, 8));
    carry_out(f, lv, carried);
    LLVMBasicBlockRef spawn = l_block(f, "spawn");
    LLVMValueRef n = l_sub(f, r.end, r.begin);
    l_rarely(f, l_icmp(f, LLVMIntUGT, n, l_i64(f, HDD_SPLIT)), spawn, "call");
    run_level(f, level, carried, r);
    l_br(f, f->next);
    l_goto(f, spawn);
    LLVMValueRef sargs[] = {f->thread, l_i32(f, level), carried, l_i64(f, bytes), r.begin, r.end};
    cg_call_checked(f, CG_CALL_hdr_spawn, sargs, 6);
    l_br(f, f->next);
}

/* What of the range of a loop over pairs lies in the part. */
static void call_part(struct cg_fn *f, struct cg_range r)
{
    LLVMValueRef from[] = {r.begin, f->part.begin}, to[] = {r.end, f->part.end};
    struct cg_range in = {cg_intrinsic(f, "llvm.smax", f->m->i64, from, 2),
                          cg_intrinsic(f, "llvm.smin", f->m->i64, to, 2)};
    l_need(f, l_icmp(f, LLVMIntSLT, in.begin, in.end), f->next, "inside");
    int bytes = carry_out(f, &f->pipeline->levels[1], NULL);
    LLVMValueRef carried = cg_alloca(f, cg_part_carry(f, bytes, NULL));
    carry_out(f, &f->pipeline->levels[1], carried);
    cg_part_carry(f, bytes, carried);
    run_level(f, 1, carried, in);
    l_br(f, f->next);
}

static void expand(struct cg_fn *f, int k)
{
    const struct pl_step *s = &f->pipeline->steps[k];
    if (s->polls)
        cg_check_stop(f);
    struct cg_range r = cg_step_range(f, s);
    if (f->part.begin) {
        call_part(f, r);
        return;
    }
    if (s->splittable) {
        int level = s->level + 1;
        HD_ASSERT(f->pipeline->levels[level].first_step == k + 1);
        call_level(f, level, r);
        return;
    }
    struct cg_loop l = cg_loop_open(f, r.begin, r.end);
    f->enough = f->pipeline->first_match ? l.outer : NULL;
    cg_bind_child(f, s, l.i);
    cg_steps_from(f, k + 1);
    cg_loop_close(f, &l);
    l_br(f, f->next);
}

void cg_steps_from(struct cg_fn *f, int k)
{
    for (; k < f->pipeline->nsteps; k++) {
        const struct pl_part *part = cg_part_at(f, k);
        if (part) {
            cg_call_steps(f, part);
            k = part->end - 1;
            continue;
        }
        cg_count(f, k, NULL);
        if (pl_opens_level(f->pipeline->steps[k].kind)) {
            expand(f, k);
            return;
        }
        cg_step(f, &f->pipeline->steps[k]);
    }
    cg_count(f, k, NULL);
    cg_sink_row(f);
    l_br(f, f->enough ? f->enough : f->next);
}
