/* Accumulators in memory, of groups and of folds, and the loop of a fold: a thread goes through the children of its row;
 * what ends a child goes on with the next one. An accumulator of zero bytes is empty; MIN, MAX, ANY and nullable SUM have
 * a valid byte. Counts are sums of 1, or of the argument's validity, and what folds bits is done as sums are. */
#include "codegen/llvm_build.h"

static void accumulate_sum(struct cg_fn *f, enum fe_agg_fn fn, const struct rt_field *fd, LLVMValueRef row,
                           struct cg_val x)
{
    struct cg_val acc = cg_load_field(f, fd, row, false);
    LLVMValueRef by = x.v;
    if (x.valid)
        by = l_select(f, x.valid, x.v, cg_const(f, fd->phys, 0));
    if (fn == FE_AGG_BIT_OR)
        acc.v = l_or(f, acc.v, by);
    else if (fn == FE_AGG_BIT_XOR)
        acc.v = l_xor(f, acc.v, by);
    else
        acc.v = fd->phys == RT_F64 ? LLVMBuildFAdd(f->b, acc.v, by, "") : l_add(f, acc.v, by);
    if (acc.valid)
        acc.valid = x.valid ? l_or(f, acc.valid, x.valid) : NULL;
    cg_store_field(f, fd, acc, row);
}

/* MIN, MAX, ANY: x replaces the accumulator where it is valid and better. */
static void accumulate_pick(struct cg_fn *f, enum fe_agg_fn fn, const struct rt_field *fd, LLVMValueRef row,
                            struct cg_val x)
{
    struct cg_val acc = cg_load_field(f, fd, row, false);
    if (!acc.valid)
        HD_BUG("accumulator %s has no valid byte", fd->name);
    LLVMValueRef wins = l_not(f, acc.valid);
    if (fn != FE_AGG_ANY) {
        enum fe_op op = fn == FE_AGG_MIN ? FE_LT : FE_GT;
        wins = l_or(f, wins, cg_compare(f, op, fd->phys, x, acc));
    }
    wins = cg_both(f, wins, x.valid);
    struct cg_val none = {.v = acc.v, .len = acc.len};
    struct cg_val some = {.v = x.v, .len = x.len};
    struct cg_val r = cg_select(f, wins, some, none);
    r.valid = x.valid ? l_or(f, acc.valid, x.valid) : NULL;
    cg_store_field(f, fd, r, row);
}

void cg_accumulate(struct cg_fn *f, enum fe_agg_fn fn, const struct rt_field *fd, LLVMValueRef row, struct cg_val x)
{
    switch (fn) {
    case FE_AGG_COUNT_STAR:
    case FE_AGG_COUNT:
    case FE_AGG_BIT_OR:
    case FE_AGG_BIT_XOR:
    case FE_AGG_SUM: accumulate_sum(f, fn, fd, row, x); break;
    case FE_AGG_MIN:
    case FE_AGG_MAX:
    case FE_AGG_ANY: accumulate_pick(f, fn, fd, row, x); break;
#define T_AGG(id, ...) case FE_AGG_##id:
#include "frontend/aggs_said.def"
    case FE_AGG_AVG:
    case FE_AGG_COUNT_OF: HD_BUG("aggregate %d reached the emitter", (int)fn);
    }
}

/* ---- folds ------------------------------------------------------------------------------------------------- */

/* Where the fold keeps what step s adds up; *bytes: of all up to it. MIN and MAX know whether there was a value. */
static struct rt_field field_of(const struct cg_fn *f, const struct pl_step *s, int *bytes)
{
    struct rt_field fd = {0};
    *bytes = 0;
    for (const struct pl_step *q = f->fold.step + 1; q <= s; q++) {
        if (q->kind != PL_STEP_FOLD_ADD)
            continue;
        struct pl_slot slot = f->pipeline->slots[q->slot];
        slot.nullable |= q->fn == FE_AGG_MIN || q->fn == FE_AGG_MAX;
        fd = cg_carry_field(&slot, bytes);
    }
    return fd;
}

static const struct pl_step *end_of(const struct pl_step *fold)
{
    const struct pl_step *s = fold;
    while (s->kind != PL_STEP_FOLD_END)
        s++;
    return s;
}

static void clear(struct cg_fn *f)
{
    int bytes;
    field_of(f, end_of(f->fold.step), &bytes);
    f->fold.sums = cg_alloca(f, HD_MAX(bytes, 8));
    for (const struct pl_step *s = f->fold.step; s->kind != PL_STEP_FOLD_END; s++) {
        if (s->kind != PL_STEP_FOLD_ADD)
            continue;
        struct rt_field fd = field_of(f, s, &bytes);
        struct cg_val none = cg_zero(f, fd.phys);
        none.valid = l_bool(f, false);
        cg_store_field(f, &fd, none, f->fold.sums);
    }
}

void cg_fold_open(struct cg_fn *f, const struct pl_step *s)
{
    bool left = s->probe == PL_LEFT;
    f->fold.step = s;
    f->fold.none = left ? l_block(f, "none") : NULL;
    if (left)
        clear(f);
    struct cg_range r = cg_fold_range(f, s, left ? f->fold.none : f->next);
    if (!left)
        clear(f);
    f->fold.loop = cg_loop_open(f, r.begin, r.end);
    f->fold.loop.rolled = true; /* children are few */
    LLVMValueRef i = f->fold.loop.i;
    cg_bind(f, s->slot, (struct cg_val){.v = l_trunc(f, i, f->m->i32), .wide = i});
}

void cg_fold_add(struct cg_fn *f, const struct pl_step *s)
{
    int bytes;
    struct rt_field fd = field_of(f, s, &bytes);
    struct cg_val x = cg_expr(f, s->expr);
    if (s->fn == FE_AGG_COUNT) {
        LLVMValueRef valid = x.valid;
        x = (struct cg_val){.v = cg_const(f, fd.phys, 1)};
        if (valid)
            x.v = cg_int_cast(f, valid, RT_BOOL, fd.phys);
    }
    cg_accumulate(f, s->fn, &fd, f->fold.sums, x);
}

void cg_fold_close(struct cg_fn *f)
{
    int bytes;
    l_br(f, f->fold.loop.latch);
    cg_loop_close_by(f, &f->fold.loop, f->fold.step->kind == PL_STEP_FOLD_PIECE ? f->fold.step->stride : 1);
    if (f->fold.none) {
        LLVMBasicBlockRef join = l_block(f, "folded");
        l_br(f, join);
        l_goto(f, f->fold.none);
        l_br(f, join);
        l_goto(f, join);
    }
    for (const struct pl_step *s = f->fold.step; s->kind != PL_STEP_FOLD_END; s++) {
        if (s->kind != PL_STEP_FOLD_ADD)
            continue;
        struct rt_field fd = field_of(f, s, &bytes);
        struct cg_val v = cg_load_field(f, &fd, f->fold.sums, false);
        if (!f->pipeline->slots[s->slot].nullable)
            v.valid = NULL;
        cg_bind(f, s->slot, v);
    }
    f->fold.step = NULL;
}
