/* Framed pipelines (planner/parts.c): bodies of the functions that llvm_parts.h is about. */
#include "codegen/llvm_build.h"
#include "codegen/llvm_parts.h"
#include "codegen/llvm_sink.h"

/* --- which part --- */

static const struct pl_part *part_from(const struct cg_fn *f, int k)
{
    const struct pl_part *p = cg_part_at(f, k);
    HD_ASSERT(p);
    return p;
}

static const struct pl_part *outs_from(const struct cg_fn *f, int first)
{
    const struct pl_sink *s = &f->pipeline->sink;
    for (int i = 0; i < s->nparts; i++)
        if (s->parts[i].first == first)
            return &s->parts[i];
    HD_BUG("no outs of %s begin at %d", f->pipeline->spec->name, first);
}

/* --- keys --- */

static int key_expr(const struct cg_fn *f, const struct cg_keys *k, int field)
{
    const struct pl_sink *s = &f->pipeline->sink;
    if (k->step)
        return k->step->keys[field];
    for (int i = 0; i < s->nouts; i++)
        if (s->outs[i].field == field)
            return s->outs[i].expr;
    HD_BUG("%s has no key %d", f->pipeline->spec->name, field);
}

/* Keys from `first` on, as many as a function has. */
static int eval_keys(struct cg_fn *f, const struct cg_keys *k, int first, struct cg_val *vals, enum rt_phys *phys)
{
    int n = HD_MIN(k->n - first, (int)PL_PART_KEYS);
    for (int i = 0; i < n; i++) {
        vals[i] = cg_expr(f, key_expr(f, k, first + i));
        phys[i] = k->st->fields[first + i].phys;
    }
    return n;
}

static void hash_keys(struct cg_fn *f, const struct cg_keys *k, int first)
{
    struct cg_val vals[PL_PART_KEYS];
    enum rt_phys phys[PL_PART_KEYS];
    int n = eval_keys(f, k, first, vals, phys);
    for (int i = 0; i < n; i++) {
        if (pl_null_equal(k->step, first + i))
            continue;
        if (vals[i].valid)
            l_need(f, vals[i].valid, f->next, "notnull");
        vals[i].valid = NULL;
    }
    LLVMValueRef h = cg_hash_more(f, l_load(f, f->m->i64, f->row, 8), n, vals, phys);
    l_store(f, h, f->row, 8);
}

static void compare_keys(struct cg_fn *f, const struct cg_keys *k, int first)
{
    struct cg_val vals[PL_PART_KEYS];
    enum rt_phys phys[PL_PART_KEYS];
    int n = eval_keys(f, k, first, vals, phys);
    for (int i = 0; i < n; i++)
        if (!pl_null_equal(k->step, first + i)) /* where it is NULL, rows went elsewhere when they were hashed */
            vals[i].valid = NULL;
    cg_keys_equal(f, n, &k->st->fields[first], f->row, vals, k->step, first, f->next);
}

/* --- bodies --- */

static void steps(struct cg_fn *f, const struct pl_part *p)
{
    for (int k = p->first; k < p->end; k++) {
        cg_count(f, k, NULL);
        cg_step(f, &f->pipeline->steps[k]);
    }
}

static void expr(struct cg_fn *f, int e)
{
    struct rt_field fd = cg_value_field(&f->m->prog->exprs[e]);
    struct cg_val v = cg_expr_here(f, e);
    v.wide = NULL;
    cg_store_field(f, &fd, v, f->row);
}

static void body(struct cg_fn *f, const struct cg_job *j)
{
    if (j->kind == CG_FUNCTION_STEPS) {
        steps(f, part_from(f, j->first));
    } else if (j->kind == CG_FUNCTION_EXPR) {
        expr(f, j->first);
    } else if (j->kind < CG_FUNCTION_KEYS) {
        cg_sink_part(f, (enum cg_function)j->kind, outs_from(f, j->first));
    } else {
        int number = j->kind - CG_FUNCTION_KEYS;
        struct cg_keys k = cg_keys_of(f, number / 2 - 1);
        if (number % 2 == CG_HASHED)
            hash_keys(f, &k, j->first);
        else
            compare_keys(f, &k, j->first);
    }
}

void cg_part(struct cg_mod *m, const struct cg_job *job)
{
    struct cg_fn *f = cg_fn_open(m, job);
    f->frame = LLVMGetParam(f->fn, 2);
    f->row = LLVMGetParam(f->fn, 3);
    f->other = LLVMGetParam(f->fn, 4);
    f->next = l_block(f, "ends");
    body(f, job);
    l_br(f, f->exit);
    l_goto(f, f->next);
    LLVMBuildRet(f->b, l_i32(f, CG_ENDS));
    l_goto(f, f->exit);
    cg_fn_close(f);
}
