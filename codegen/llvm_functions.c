/* Functions of the module: their names, and what opening and closing one takes. */
#include "codegen/llvm_build.h"

#include <string.h>

static const char *function_name(struct hd_arena *a, const struct cg_job *j)
{
    static const char letters[] = {
#define X(id, letter) letter,
        CG_FUNCTIONS(X)
#undef X
    };
    if (j->kind == CG_FUNCTION_ENTRY)
        return hd_asprintf(a, "hd_p%d", j->index);
    if (j->kind < CG_FUNCTION_KEYS)
        return hd_asprintf(a, "hd_p%d_%c%d", j->index, letters[j->kind], j->first);
    return hd_asprintf(a, "hd_p%d_k%d_%d", j->index, j->kind - CG_FUNCTION_KEYS, j->first);
}

static void fn_attribute(struct cg_mod *m, LLVMValueRef fn, LLVMAttributeIndex at, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(m->ctx, kind, 0));
}

static LLVMValueRef declare(struct cg_mod *m, const char *name, LLVMTypeRef type)
{
    LLVMValueRef fn = LLVMGetNamedFunction(m->mod, name);
    if (fn)
        return fn;
    fn = LLVMAddFunction(m->mod, name, type);
    LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    fn_attribute(m, fn, whole, "nounwind");
    if (m->opt->sanitize_address)
        fn_attribute(m, fn, whole, "sanitize_address");
    if (m->opt->sanitize_thread)
        fn_attribute(m, fn, whole, "sanitize_thread");
    fn_attribute(m, fn, 1, "noalias");
    fn_attribute(m, fn, 1, "readonly");
    return fn;
}

static void drop_builders(void *function)
{
    struct cg_fn *f = function;
    hd_cleanup_drop(&f->guarded);
    LLVMDisposeBuilder(f->b);
    LLVMDisposeBuilder(f->eb);
}

static LLVMTypeRef function_type(const struct cg_mod *m, int kind)
{
    return kind == CG_FUNCTION_ENTRY ? m->entry_type : kind == CG_FUNCTION_LEVEL ? m->level_type : m->part_type;
}

static LLVMValueRef declare_job(struct cg_mod *m, const struct cg_job *j)
{
    return declare(m, function_name(m->arena, j), function_type(m, j->kind));
}

LLVMValueRef cg_function(struct cg_mod *m, const struct cg_job *j)
{
    bool known = LLVMGetNamedFunction(m->mod, function_name(m->arena, j)) != NULL;
    if (!known)
        hd_vec_push(m->arena, &m->jobs, *j);
    return declare_job(m, j);
}

static void name_entry(struct cg_mod *m, const struct cg_job *j)
{
    struct rt_pipeline *spec = &m->prog->spec->pipelines[j->index];
    if (j->kind == CG_FUNCTION_ENTRY)
        spec->entry = function_name(m->arena, j);
    else if (j->kind == CG_FUNCTION_LEVEL)
        spec->level_entry[j->first] = function_name(m->arena, j);
}

/* One function is emitted at a time, so all use the module's arrays. */
static void clear_arrays(struct cg_fn *f)
{
    struct cg_mod *m = f->m;
    size_t nwords = (size_t)m->prog->spec->nwords + 1, nslots = (size_t)f->pipeline->nslots + 1;
    f->slots = memset(m->slots, 0, sizeof *m->slots * nslots);
    f->words = memset(m->words, 0, sizeof *m->words * nwords);
    f->word_ptrs = memset(m->word_ptrs, 0, sizeof *m->word_ptrs * nwords);
}

struct cg_fn *cg_fn_open(struct cg_mod *m, const struct cg_job *job)
{
    struct cg_fn *f = HD_NEW(m->arena, struct cg_fn);
    f->m = m;
    f->pipeline = &m->prog->pipelines[job->index];
    f->index = job->index;
    f->fn = declare_job(m, job);
    name_entry(m, job);
    if (f->pipeline->unoptimised) {
        fn_attribute(m, f->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "optnone");
        fn_attribute(m, f->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "noinline");
    }
    f->args = LLVMGetParam(f->fn, 0);
    f->thread = LLVMGetParam(f->fn, 1);
    clear_arrays(f);
    f->b = LLVMCreateBuilderInContext(m->ctx);
    f->eb = LLVMCreateBuilderInContext(m->ctx);
    hd_cleanup_add(&f->guarded, drop_builders, f);
    LLVMPositionBuilderAtEnd(f->eb, l_block(f, "entry"));
    f->body = l_block(f, "body");
    f->exit = l_block(f, "exit");
    f->next = f->exit;
    l_goto(f, f->body);
    return f;
}

/* What compiling a function costs, in instructions. A vector that fills several registers costs
 * as often; comparisons have one-bit lanes but the width of their operands. */
static uint64_t weigh(LLVMValueRef f)
{
    uint64_t n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            LLVMTypeRef t = LLVMTypeOf(i);
            bool vector = LLVMGetTypeKind(t) == LLVMVectorTypeKind;
            n += vector ? HD_MAX(LLVMGetVectorSize(t) / 8, 1u) : 1u;
        }
    return n;
}

void cg_fn_close(struct cg_fn *f)
{
    size_t n;
    LLVMBuildRet(f->b, l_i32(f, 0));
    LLVMBuildBr(f->eb, f->body);
    drop_builders(f);
    const char *name = LLVMGetValueName2(f->fn, &n);
    hd_vec_push(f->m->arena, &f->m->functions,
                (struct rt_function){hd_strndup(f->m->arena, name, n), f->index, weigh(f->fn)});
}
