/* Loops over pairs on a CPU. The rows of the state come in parts that the first-level cache holds, each with all
 * source rows of a morsel; the innermost loop over a part's rows has no calls and no branches that vectors cannot do
 * without. Where pairs are counted by group, it writes the groups of a run of pairs first, and a second loop counts
 * them: LLVM makes vectors of the first, which the second would keep it from. */
#include "codegen/llvm_build.h"
#include "codegen/llvm_sink.h"

enum { PART_ROWS = 1024, RUN = 256 };

/* for each part: for each source row: its pairs. */
void cg_loop_parts(struct cg_fn *f)
{
    const struct pl_level *lv = &f->pipeline->levels[1];
    LLVMValueRef n = cg_arg_word(f, f->pipeline->steps[lv->first_step - 1].a_nrows, 0);
    struct cg_loop parts = cg_loop_open(f, l_i64(f, 0), n);
    f->part_begin = parts.i;
    f->part_end = l_add(f, parts.i, l_i64(f, PART_ROWS));
    struct cg_loop rows = cg_loop_open(f, f->begin, f->end);
    cg_bind_source(f, rows.i);
    cg_steps_from(f, 0);
    cg_loop_close(f, &rows);
    f->part_begin = f->part_end = NULL;
    l_br(f, parts.latch);
    cg_loop_close_by(f, &parts, PART_ROWS);
    l_br(f, f->exit);
}

/* The steps of pairs first .. first + n - 1; groups of those that pass, -1 of the others. */
static void write_groups(struct cg_fn *f, const struct pl_level *lv, LLVMValueRef first, LLVMValueRef n,
                         LLVMValueRef groups)
{
    LLVMValueRef group = cg_alloca(f, 4);
    struct cg_loop l = cg_loop_open(f, l_i64(f, 0), n);
    l_store(f, l_i32(f, -1), group, 4);
    cg_bind_child(f, &f->pipeline->steps[lv->first_step - 1], l_add(f, first, l.i));
    int k = lv->first_step;
    for (; k < f->pipeline->nsteps; k++) {
        cg_count(f, k, NULL);
        cg_step(f, &f->pipeline->steps[k]);
    }
    cg_count(f, k, NULL);
    l_store(f, l_trunc(f, cg_agg_group(f), f->m->i32), group, 4);
    l_br(f, l.latch);
    l_goto(f, l.latch);
    l_store(f, l_load(f, f->m->i32, group, 4), l_index(f, f->m->i32, groups, l.i), 4);
    cg_loop_close(f, &l);
}

static void count_groups(struct cg_fn *f, LLVMValueRef n, LLVMValueRef groups, bool filtered)
{
    struct cg_loop l = cg_loop_open(f, l_i64(f, 0), n);
    LLVMValueRef group = l_load(f, f->m->i32, l_index(f, f->m->i32, groups, l.i), 4);
    if (filtered)
        l_need(f, l_icmp(f, LLVMIntSGE, group, l_i32(f, 0)), l.latch, "passed");
    cg_agg_count(f, l_zext(f, group, f->m->i64));
    l_br(f, l.latch);
    cg_loop_close(f, &l);
}

void cg_loop_counts(struct cg_fn *f, const struct pl_level *lv)
{
    LLVMValueRef groups = cg_alloca(f, RUN * 4);
    struct cg_loop runs = cg_loop_open(f, f->begin, f->end);
    LLVMValueRef args[] = {l_sub(f, f->end, runs.i), l_i64(f, RUN)};
    LLVMValueRef n = cg_intrinsic(f, "llvm.smin", f->m->i64, args, 2);
    bool filtered = f->pipeline->loop.tested > lv->first_step + f->pipeline->loop.others;
    write_groups(f, lv, runs.i, n, groups);
    count_groups(f, n, groups, filtered);
    l_br(f, runs.latch);
    cg_loop_close_by(f, &runs, RUN);
    l_br(f, f->exit);
}
