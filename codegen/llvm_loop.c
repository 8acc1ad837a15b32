/* Loops over pairs on a CPU. The rows of the state come in parts that the first-level cache holds, each with all
 * source rows of a morsel; the innermost loop over a part's rows has no calls and no branches that vectors cannot do
 * without. Where pairs are counted by group, it writes the groups of a run of pairs first, and a second loop counts
 * them: LLVM makes vectors of the first, which the second would keep it from. */
#include "codegen/llvm_build.h"
#include "codegen/llvm_sink.h"

enum { RUN = 256, COUNTED_AT_ONCE = 4 };

/* The first row of the state that any row of the morsel meets. */
static LLVMValueRef first_row(struct cg_fn *f)
{
    return f->pipeline->loop.later ? l_add(f, f->begin, l_i64(f, 1)) : l_i64(f, 0);
}

/* for each part: for each source row: its pairs. */
void cg_loop_parts(struct cg_fn *f)
{
    const struct pl_level *lv = &f->pipeline->levels[1];
    int rows_of_part = f->pipeline->loop.part_rows;
    LLVMValueRef n = cg_arg_word(f, f->pipeline->steps[lv->first_step - 1].a_nrows, 0), first = first_row(f);
    bool runs = f->pipeline->loop.last.step >= 0;
    cg_part_open(f);
    if (runs)
        f->part.more = cg_alloca(f, 8);
    l_need(f, l_icmp(f, LLVMIntSLT, first, n), f->exit, "any");
    struct cg_loop parts = cg_loop_open(f, first, n);
    LLVMValueRef end[] = {l_add(f, parts.i, l_i64(f, rows_of_part)), n};
    f->part.begin = parts.i;
    f->part.end = cg_intrinsic(f, "llvm.smin", f->m->i64, end, 2);
    cg_part_fill(f);
    if (runs)
        l_store(f, l_i64(f, 0), f->part.more, 8);
    struct cg_loop rows = cg_loop_open(f, f->begin, f->end);
    cg_bind_source(f, rows.i);
    cg_steps_from(f, 0);
    cg_loop_close(f, &rows);
    cg_part_flush(f);
    f->part.begin = f->part.end = NULL;
    if (runs) /* else no row of the morsel meets what lies behind */
        l_need(f, l_ne(f, l_load(f, f->m->i64, f->part.more, 8), l_i64(f, 0)), f->exit, "more");
    l_br(f, parts.latch);
    cg_loop_close_by(f, &parts, rows_of_part);
    l_br(f, f->exit);
}

/* The steps of pairs first .. first + n - 1; groups of those that pass, -1 of the others. */
static void write_groups(struct cg_fn *f, LLVMValueRef first, LLVMValueRef n, LLVMValueRef groups)
{
    LLVMValueRef group = cg_alloca(f, 4);
    struct cg_loop l = cg_loop_open(f, l_i64(f, 0), n);
    l_store(f, l_i32(f, -1), group, 4);
    for (int k = cg_part_others(f, l_add(f, first, l.i)); k < f->pipeline->nsteps; k++)
        cg_step(f, &f->pipeline->steps[k]);
    l_store(f, l_trunc(f, cg_agg_group(f), f->m->i32), group, 4);
    l_br(f, l.latch);
    l_goto(f, l.latch);
    l_store(f, l_load(f, f->m->i32, group, 4), l_index(f, f->m->i32, groups, l.i), 4);
    cg_loop_close(f, &l);
}

static LLVMValueRef group_at(struct cg_fn *f, LLVMValueRef groups, LLVMValueRef i)
{
    return l_load(f, f->m->i32, l_index(f, f->m->i32, groups, i), 4);
}

/* In the rows of the sink. */
static void count_in_rows(struct cg_fn *f, LLVMValueRef n, LLVMValueRef groups, bool filtered)
{
    struct cg_loop l = cg_loop_open(f, l_i64(f, 0), n);
    LLVMValueRef group = group_at(f, groups, l.i);
    if (filtered)
        l_need(f, l_icmp(f, LLVMIntSGE, group, l_i32(f, 0)), l.latch, "passed");
    cg_agg_count(f, l_zext(f, group, f->m->i64), l_i64(f, 1));
    l_br(f, l.latch);
    cg_loop_close(f, &l);
}

/* In the part's copies; behind the last pair come some of no group. */
static void count_in_copies(struct cg_fn *f, LLVMValueRef n, LLVMValueRef groups)
{
    for (int i = 0; i < COUNTED_AT_ONCE - 1; i++)
        l_store(f, l_i32(f, -1), l_index(f, f->m->i32, groups, l_add(f, n, l_i64(f, i))), 4);
    struct cg_loop l = cg_loop_open(f, l_i64(f, 0), n);
    LLVMValueRef group[COUNTED_AT_ONCE];
    for (int i = 0; i < COUNTED_AT_ONCE; i++)
        group[i] = l_sext(f, group_at(f, groups, l_add(f, l.i, l_i64(f, i))), f->m->i64);
    for (int i = 0; i < COUNTED_AT_ONCE; i++)
        cg_part_count(f, i, group[i]);
    l_br(f, l.latch);
    cg_loop_close_by(f, &l, COUNTED_AT_ONCE);
}

static void count_pairs(struct cg_fn *f, const struct pl_level *lv)
{
    LLVMValueRef groups = cg_alloca(f, (RUN + COUNTED_AT_ONCE) * 4);
    struct cg_loop runs = cg_loop_open(f, f->begin, f->end);
    LLVMValueRef args[] = {l_sub(f, f->end, runs.i), l_i64(f, RUN)};
    LLVMValueRef n = cg_intrinsic(f, "llvm.smin", f->m->i64, args, 2);
    write_groups(f, runs.i, n, groups);
    if (f->pipeline->loop.part_copies)
        count_in_copies(f, n, groups);
    else
        count_in_rows(f, n, groups, f->pipeline->loop.tested > lv->first_step + f->pipeline->loop.others);
    l_br(f, runs.latch);
    cg_loop_close_by(f, &runs, RUN);
    l_br(f, f->exit);
}

void cg_loop_pairs(struct cg_fn *f, const struct pl_level *lv)
{
    if (f->pipeline->loop.counts) {
        count_pairs(f, lv);
        return;
    }
    struct cg_loop l = cg_loop_open(f, f->begin, f->end);
    f->enough = f->pipeline->first_match ? f->exit : NULL;
    cg_steps_from(f, cg_part_others(f, l.i));
    cg_loop_close(f, &l);
    l_br(f, f->exit);
}
