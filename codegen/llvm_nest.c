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

static void call_level(struct cg_fn *f, int level, struct cg_range r, uint32_t piece)
{
    const struct pl_level *lv = &f->pipeline->levels[level];
    int bytes = carry_out(f, lv, NULL);
    LLVMValueRef carried = cg_alloca(f, HD_MAX(bytes, 8));
    carry_out(f, lv, carried);
    LLVMBasicBlockRef spawn = l_block(f, "spawn");
    LLVMValueRef n = l_sub(f, r.end, r.begin);
    l_rarely(f, l_icmp(f, LLVMIntUGT, n, l_i64(f, piece)), spawn, "call");
    run_level(f, level, carried, r);
    l_br(f, f->next);
    l_goto(f, spawn);
    LLVMValueRef sargs[] = {f->thread, l_i32(f, level), carried, l_i64(f, bytes), r.begin, r.end};
    cg_call_checked(f, CG_CALL_hdr_spawn, sargs, 6);
    l_br(f, f->next);
}

/* ---- runs of a part's rows ----------------------------------------------------------------------------------- */

struct run {
    const struct pl_step *load; /* of the field that sorts the state */
    LLVMValueRef bound;
    LLVMIntPredicate holds; /* of a row in front of the end, and the bound */
};

static LLVMValueRef is_in_front(struct cg_fn *f, const void *run, LLVMValueRef i)
{
    const struct run *x = run;
    const struct rt_state *st = &f->m->prog->spec->states[x->load->state];
    LLVMValueRef row = l_row(f, cg_arg_ptr(f, x->load->a_rows), i, st->stride);
    return l_icmp(f, x->holds, cg_load_field(f, &st->fields[x->load->field], row, true).v, x->bound);
}

static struct run run_of(struct cg_fn *f, const struct pl_run_end *e, LLVMIntPredicate holds)
{
    return (struct run){&f->pipeline->steps[e->load], cg_slot(f, e->slot).v, holds};
}

/* Up to the last row that is not beyond the bound; `more`: there may be such behind the part. */
static LLVMValueRef end_of_run(struct cg_fn *f, struct cg_range in)
{
    struct run x = run_of(f, &f->pipeline->loop.last, LLVMIntSLE);
    LLVMBasicBlockRef on = l_block(f, "on"), ends = l_block(f, "ends"), look = l_block(f, "look");
    LLVMBasicBlockRef joined = l_block(f, "run");
    l_cond(f, is_in_front(f, &x, l_sub(f, f->part.end, l_i64(f, 1))), on, ends);
    l_goto(f, on);
    l_store(f, l_i64(f, 1), f->part.more, 8);
    l_br(f, joined);
    l_goto(f, ends);
    l_need(f, l_icmp(f, LLVMIntSLT, in.begin, in.end), f->next, "inside");
    l_cond(f, is_in_front(f, &x, in.begin), look, f->next);
    l_goto(f, look);
    LLVMValueRef found = cg_partition_point(f, is_in_front, &x, in.begin, in.end);
    LLVMBasicBlockRef from = l_here(f);
    l_br(f, joined);
    l_goto(f, joined);
    return l_phi2(f, f->m->i64, in.end, on, found, from);
}

/* From the first row on that is not in front of the bound. */
static LLVMValueRef begin_of_run(struct cg_fn *f, struct cg_range in)
{
    struct run x = run_of(f, &f->pipeline->loop.first, LLVMIntSLT);
    LLVMBasicBlockRef ends = l_block(f, "ends"), look = l_block(f, "look"), joined = l_block(f, "run");
    l_need(f, l_icmp(f, LLVMIntSLT, in.begin, in.end), f->next, "inside");
    l_cond(f, is_in_front(f, &x, l_sub(f, in.end, l_i64(f, 1))), f->next, ends);
    l_goto(f, ends);
    l_cond(f, is_in_front(f, &x, in.begin), look, joined);
    l_goto(f, look);
    LLVMValueRef found = cg_partition_point(f, is_in_front, &x, in.begin, in.end);
    LLVMBasicBlockRef from = l_here(f);
    l_br(f, joined);
    l_goto(f, joined);
    return l_phi2(f, f->m->i64, in.begin, ends, found, from);
}

/* What of the range of a loop over pairs lies in the part. */
static void call_part(struct cg_fn *f, struct cg_range r)
{
    LLVMValueRef from[] = {r.begin, f->part.begin}, to[] = {r.end, f->part.end};
    struct cg_range in = {cg_intrinsic(f, "llvm.smax", f->m->i64, from, 2),
                          cg_intrinsic(f, "llvm.smin", f->m->i64, to, 2)};
    if (f->pipeline->loop.last.step >= 0)
        in.end = end_of_run(f, in);
    if (f->pipeline->loop.first.step >= 0)
        in.begin = begin_of_run(f, in);
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
    if (s->splittable || s->piece_children) {
        int level = s->level + 1;
        HD_ASSERT(f->pipeline->levels[level].first_step == k + 1);
        call_level(f, level, r, s->piece_children ? (uint32_t)s->piece_children : HDD_SPLIT);
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
