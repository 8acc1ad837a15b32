/* Functions of a pipeline. The entry function holds the loop nest from the source down to the
 * first level that may be split over threads; each such level is a function of its own, called
 * for ordinary ranges and handed to hdr_spawn for long ones, so that no code exists twice. */
#include "codegen/llvm_build.h"

#include <string.h>

#include <llvm-c/DebugInfo.h>

#include "templates/abi.h"

static const char *function_name(struct hd_arena *a, int pipeline, int level)
{
    return level ? hd_asprintf(a, "hd_p%d_l%d", pipeline, level)
                 : hd_asprintf(a, "hd_p%d", pipeline);
}

static void fn_attribute(struct cg_mod *m, LLVMValueRef fn, LLVMAttributeIndex at,
                         const char *name)
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

static struct cg_fn *fn_open(struct cg_mod *m, int index, int level)
{
    struct hd_arena *a = m->arena;
    struct cg_fn *f = HD_NEW(a, struct cg_fn);
    struct rt_pipeline *spec = &m->prog->spec->pipelines[index];
    const char *name = function_name(a, index, level);
    if (level)
        spec->level_entry[level] = name;
    else
        spec->entry = name;
    f->m = m;
    f->pipe = &m->prog->pipelines[index];
    f->index = index;
    f->fn = declare(m, name, level ? m->level_type : m->entry_type);
    if (f->pipe->unoptimised) {
        fn_attribute(m, f->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "optnone");
        fn_attribute(m, f->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "noinline");
    }
    f->args = LLVMGetParam(f->fn, 0);
    f->thread = LLVMGetParam(f->fn, 1);
    f->begin = LLVMGetParam(f->fn, level ? 3 : 2);
    f->end = LLVMGetParam(f->fn, level ? 4 : 3);
    f->slots = HD_NEWN(a, struct cg_val, f->pipe->nslots + 1);
    f->words = HD_NEWN(a, LLVMValueRef, m->prog->spec->nwords + 1);
    f->word_ptrs = HD_NEWN(a, LLVMValueRef, m->prog->spec->nwords + 1);
    f->b = LLVMCreateBuilderInContext(m->ctx);
    f->eb = LLVMCreateBuilderInContext(m->ctx);
    LLVMPositionBuilderAtEnd(f->eb, l_block(f, "entry"));
    f->body = l_block(f, "body");
    f->exit = l_block(f, "exit");
    f->next = f->exit;
    l_goto(f, f->body);
    return f;
}

/* The current block is terminated. */
static void fn_close(struct cg_fn *f)
{
    l_goto(f, f->exit);
    cg_sink_close(f);
    LLVMBuildRet(f->b, l_i32(f, 0));
    LLVMBuildBr(f->eb, f->body);
    LLVMDisposeBuilder(f->b);
    LLVMDisposeBuilder(f->eb);
}

struct cg_loop cg_loop_open(struct cg_fn *f, LLVMValueRef begin, LLVMValueRef end)
{
    struct cg_loop l = {.end = end, .outer = f->next};
    LLVMBasicBlockRef from = l_here(f);
    l.body = l_block(f, "loop");
    l.latch = l_block(f, "next");
    l_br(f, l.body);
    l_goto(f, l.body);
    l.i = l_phi(f, f->m->i64);
    l_incoming(l.i, begin, from);
    f->next = l.latch;
    return l;
}

LLVMValueRef cg_loop_close(struct cg_fn *f, const struct cg_loop *l)
{
    LLVMBasicBlockRef done = l_block(f, "done");
    l_goto(f, l->latch);
    LLVMValueRef i = LLVMBuildNSWAdd(f->b, l->i, l_i64(f, 1), "");
    l_incoming(l->i, i, l->latch);
    LLVMValueRef more = l_icmp(f, LLVMIntSLT, i, l->end);
    LLVMValueRef back = LLVMBuildCondBr(f->b, more, l->body, done);
    l_goto(f, done);
    f->next = l->outer;
    return back;
}

/* !{self, unroll.disable, vectorize.enable false}: a loop's node names itself to be distinct. */
void cg_keep_rolled(struct cg_fn *f, LLVMValueRef branch)
{
    static const char unroll[] = "llvm.loop.unroll.disable";
    static const char vectorize[] = "llvm.loop.vectorize.enable";
    LLVMContextRef c = f->m->ctx;
    LLVMMetadataRef u = LLVMMDStringInContext2(c, unroll, strlen(unroll));
    LLVMMetadataRef v[] = {LLVMMDStringInContext2(c, vectorize, strlen(vectorize)),
                           LLVMValueAsMetadata(l_bool(f, false))};
    LLVMMetadataRef self = LLVMTemporaryMDNode(c, NULL, 0);
    LLVMMetadataRef node[] = {self, LLVMMDNodeInContext2(c, &u, 1),
                              LLVMMDNodeInContext2(c, v, 2)};
    LLVMMetadataRef loop = LLVMMDNodeInContext2(c, node, 3);
    LLVMMetadataReplaceAllUsesWith(self, loop);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(c, "llvm.loop", 9),
                    LLVMMetadataAsValue(c, loop));
}

void cg_bind_source(struct cg_fn *f, LLVMValueRef i)
{
    cg_bind(f, f->pipe->source_slot,
            (struct cg_val){.v = l_trunc(f, i, f->m->i32), .wide = i});
}

/* --- levels --- */

/* Carried slots: values as in rows of states, each followed by a valid byte if nullable. */
static int carry_offset(const struct pl_slot *s, int *at)
{
    int size = cg_phys_size(s->phys);
    int offset = (int)hd_align_up((size_t)*at, (size_t)HD_MIN(size, 8));
    *at = offset + size + (s->nullable ? 1 : 0);
    return offset;
}

static struct rt_field carry_field(const struct pl_slot *s, int *at)
{
    struct rt_field fd = {.name = s->name, .phys = s->phys, .offset = carry_offset(s, at)};
    fd.valid_offset = s->nullable ? *at - 1 : -1;
    return fd;
}

/* Bytes of a carried tuple; stores it if `to` is given. */
static int carry_out(struct cg_fn *f, const struct pl_level *lv, LLVMValueRef to)
{
    int at = 0;
    for (int i = 0; i < lv->nslots; i++) {
        int slot = lv->slots[i];
        struct rt_field fd = carry_field(&f->pipe->slots[slot], &at);
        if (to && !f->slots[slot].v)
            HD_BUG("slot %d of %s is carried before it is set", slot, f->pipe->spec->name);
        if (to)
            cg_store_field(f, &fd, f->slots[slot], to);
    }
    return at;
}

/* Not constant memory: inlined into its caller, the function sees many tuples in one place. */
static void carry_in(struct cg_fn *f, const struct pl_level *lv, LLVMValueRef from)
{
    int at = 0;
    LLVMBuilderRef saved = cg_enter(f);
    for (int i = 0; i < lv->nslots; i++) {
        int slot = lv->slots[i];
        struct rt_field fd = carry_field(&f->pipe->slots[slot], &at);
        cg_bind(f, slot, cg_load_field(f, &fd, from, false));
    }
    f->b = saved;
}

static void call_level(struct cg_fn *f, int level, struct cg_range r)
{
    struct cg_mod *m = f->m;
    const struct pl_level *lv = &f->pipe->levels[level];
    LLVMValueRef fn = declare(m, function_name(m->arena, f->index, level), m->level_type);
    int bytes = carry_out(f, lv, NULL);
    LLVMValueRef carried = cg_alloca(f, HD_MAX(bytes, 8));
    carry_out(f, lv, carried);
    LLVMBasicBlockRef spawn = l_block(f, "spawn");
    LLVMValueRef n = l_sub(f, r.end, r.begin);
    l_rarely(f, l_icmp(f, LLVMIntUGT, n, l_i64(f, HDD_SPLIT)), spawn, "call");
    LLVMValueRef args[] = {f->args, f->thread, carried, r.begin, r.end};
    LLVMValueRef status = LLVMBuildCall2(f->b, m->level_type, fn, args, 5, "");
    l_rarely(f, l_ne(f, status, l_i32(f, 0)), cg_failed_block(f), "done");
    l_br(f, f->next);
    l_goto(f, spawn);
    LLVMValueRef sargs[] = {f->thread,       l_i32(f, level), carried,
                            l_i64(f, bytes), r.begin,         r.end};
    cg_call_checked(f, CG_CALL_hdr_spawn, sargs, 6);
    l_br(f, f->next);
}

static bool opens_level(enum pl_step_kind k)
{
    static const bool opens[PL_STEP_COUNT] = {
#define X(id, name, level) [PL_STEP_##id] = level,
        PL_STEPS(X)
#undef X
    };
    return opens[k];
}

static void expand(struct cg_fn *f, int k)
{
    const struct pl_step *s = &f->pipe->steps[k];
    /* Nested expansion can make one morsel long: that is where a stop has to be seen. */
    if (s->kind == PL_STEP_EXPAND_ALL || f->pipe->nlevels > 2)
        cg_check_stop(f);
    struct cg_range r = cg_step_range(f, s);
    if (s->splittable) {
        int level = s->level + 1;
        HD_ASSERT(f->pipe->levels[level].first_step == k + 1);
        call_level(f, level, r);
        struct cg_level_job job = {f->pipe, f->index, level};
        hd_vec_push(f->m->arena, &f->m->jobs, job);
        return;
    }
    struct cg_loop l = cg_loop_open(f, r.begin, r.end);
    cg_bind_child(f, s, l.i);
    cg_steps_from(f, k + 1);
    cg_loop_close(f, &l);
    l_br(f, f->next);
}

void cg_steps_from(struct cg_fn *f, int k)
{
    for (; k < f->pipe->nsteps; k++) {
        cg_count(f, k, NULL);
        if (opens_level(f->pipe->steps[k].kind)) {
            expand(f, k);
            return;
        }
        cg_step(f, &f->pipe->steps[k]);
    }
    cg_count(f, k, NULL);
    cg_sink_row(f);
    l_br(f, f->next);
}

void cg_pipeline(struct cg_mod *m, int index)
{
    struct cg_fn *f = fn_open(m, index, 0);
    l_need(f, l_icmp(f, LLVMIntSLT, f->begin, f->end), f->exit, "some");
    if (!f->pipe->tile || !cg_tile_loop(f)) {
        struct cg_loop l = cg_loop_open(f, f->begin, f->end);
        cg_bind_source(f, l.i);
        cg_steps_from(f, 0);
        cg_loop_close(f, &l);
        l_br(f, f->exit);
    }
    fn_close(f);
}

void cg_level(struct cg_mod *m, const struct cg_level_job *job)
{
    struct cg_fn *f = fn_open(m, job->index, job->level);
    const struct pl_level *lv = &job->pipe->levels[job->level];
    carry_in(f, lv, LLVMGetParam(f->fn, 2));
    cg_check_stop(f);
    l_need(f, l_icmp(f, LLVMIntSLT, f->begin, f->end), f->exit, "some");
    struct cg_loop l = cg_loop_open(f, f->begin, f->end);
    cg_bind_child(f, &job->pipe->steps[lv->first_step - 1], l.i);
    cg_steps_from(f, lv->first_step);
    cg_loop_close(f, &l);
    l_br(f, f->exit);
    fn_close(f);
}
