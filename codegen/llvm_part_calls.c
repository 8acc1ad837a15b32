/* Framed pipelines (planner/parts.c): calls of the functions that llvm_parts.h is about. */
#include "codegen/llvm_build.h"
#include "codegen/llvm_parts.h"

#include "templates/abi.h"

static LLVMValueRef call(struct cg_fn *f, int kind, int first, LLVMValueRef row, LLVMValueRef other)
{
    const struct cg_job job = {f->index, kind, first};
    LLVMValueRef none = LLVMConstNull(f->m->ptr);
    LLVMValueRef args[] = {f->args, f->thread, f->frame, row ? row : none, other ? other : none};
    LLVMValueRef fn = cg_function(f->m, &job);
    LLVMValueRef status = LLVMBuildCall2(f->b, f->m->part_type, fn, args, 5, "");
    l_rarely(f, l_eq(f, status, l_i32(f, CG_FAILED)), cg_failed_block(f), "called");
    return status;
}

const struct pl_part *cg_part_at(const struct cg_fn *f, int k)
{
    int lo = 0, hi = f->pipeline->nparts;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (f->pipeline->parts[mid].first < k)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < f->pipeline->nparts && f->pipeline->parts[lo].first == k ? &f->pipeline->parts[lo] : NULL;
}

void cg_call_steps(struct cg_fn *f, const struct pl_part *p)
{
    LLVMValueRef status = call(f, CG_FUNCTION_STEPS, p->first, NULL, NULL);
    l_need(f, l_eq(f, status, l_i32(f, CG_GO_ON)), f->next, "on");
}

struct rt_field cg_value_field(const struct pl_expr *e)
{
    struct pl_slot s = {.phys = e->phys, .nullable = e->nullable};
    int at = 0;
    return cg_carry_field(&s, &at);
}

struct cg_val cg_call_expr(struct cg_fn *f, int e)
{
    struct rt_field fd = cg_value_field(&f->m->prog->exprs[e]);
    if (!f->value)
        f->value = cg_alloca(f, CG_TMP_BYTES + 8);
    call(f, CG_FUNCTION_EXPR, e, f->value, NULL);
    return cg_load_field(f, &fd, f->value, false);
}

void cg_call_outs(struct cg_fn *f, enum cg_function kind, int first, int end, LLVMValueRef row, LLVMValueRef other)
{
    const struct pl_sink *s = &f->pipeline->sink;
    for (int i = 0; i < s->nparts; i++)
        if (s->parts[i].first >= first && s->parts[i].first < end)
            call(f, kind, s->parts[i].first, row, other);
}

/* --- keys --- */

static int key_kind(int step, int what)
{
    return CG_FUNCTION_KEYS + 2 * (step + 1) + what;
}

struct cg_keys cg_keys_of(const struct cg_fn *f, int step)
{
    const struct pl_step *s = step < 0 ? NULL : &f->pipeline->steps[step];
    const struct rt_state *st = &f->m->prog->spec->states[s ? s->state : f->pipeline->sink.state];
    return (struct cg_keys){st->nkeys, st, s};
}

LLVMValueRef cg_call_hash(struct cg_fn *f, int step, LLVMBasicBlockRef null)
{
    struct cg_keys k = cg_keys_of(f, step);
    LLVMValueRef h = cg_alloca(f, 8);
    l_store(f, l_u64(f, HDD_HASH_SEED), h, 8);
    for (int i = 0; i < k.n; i += PL_PART_KEYS) {
        LLVMValueRef status = call(f, key_kind(step, CG_HASHED), i, h, NULL);
        if (null)
            l_need(f, l_eq(f, status, l_i32(f, CG_GO_ON)), null, "notnull");
    }
    return l_load(f, f->m->i64, h, 8);
}

void cg_call_equal(struct cg_fn *f, int step, LLVMValueRef row, LLVMBasicBlockRef differ)
{
    struct cg_keys k = cg_keys_of(f, step);
    for (int i = 0; i < k.n; i += PL_PART_KEYS) {
        LLVMValueRef status = call(f, key_kind(step, CG_COMPARED), i, row, NULL);
        l_need(f, l_eq(f, status, l_i32(f, CG_GO_ON)), differ, "equal");
    }
}
