/* Functions of a pipeline. The entry function holds the loop nest from the source down to the
 * first level that may be split over threads; each such level is a function of its own, called
 * for ordinary ranges and handed to hdr_spawn for long ones, so that no code exists twice. */
#include "codegen/llvm_build.h"

#include <string.h>

#include <llvm-c/DebugInfo.h>

#include "templates/abi.h"

enum { ENTRY = -1 }; /* a kind beside enum cg_function */

static const char *function_name(struct hd_arena *a, const struct cg_job *j)
{
    static const char letters[] = {
#define X(id, letter) letter,
        CG_FUNCTIONS(X)
#undef X
    };
    if (j->kind == ENTRY)
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
    return kind == ENTRY ? m->entry_type : kind == CG_FUNCTION_LEVEL ? m->level_type : m->part_type;
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
    if (j->kind == ENTRY)
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

void cg_fn_close(struct cg_fn *f)
{
    l_goto(f, f->exit);
    cg_sink_close(f);
    LLVMBuildRet(f->b, l_i32(f, 0));
    LLVMBuildBr(f->eb, f->body);
    drop_builders(f);
}

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

static struct cg_loop loop_open(struct cg_fn *f, LLVMValueRef begin, LLVMValueRef end)
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

/* The branch back. */
static LLVMValueRef loop_close(struct cg_fn *f, const struct cg_loop *l)
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
    LLVMMetadataRef node[] = {self, LLVMMDNodeInContext2(c, &u, 1), LLVMMDNodeInContext2(c, v, 2)};
    LLVMMetadataRef loop = LLVMMDNodeInContext2(c, node, 3);
    LLVMMetadataReplaceAllUsesWith(self, loop);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(c, "llvm.loop", 9), LLVMMetadataAsValue(c, loop));
}

void cg_bind_source(struct cg_fn *f, LLVMValueRef i)
{
    cg_bind(f, f->pipeline->source_slot, (struct cg_val){.v = l_trunc(f, i, f->m->i32), .wide = i});
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

struct rt_field cg_carry_field(const struct pl_slot *s, int *at)
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
        struct rt_field fd = cg_carry_field(&f->pipeline->slots[slot], &at);
        if (to)
            cg_store_field(f, &fd, cg_slot(f, slot), to);
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
        struct rt_field fd = cg_carry_field(&f->pipeline->slots[slot], &at);
        cg_bind(f, slot, cg_load_field(f, &fd, from, false));
    }
    f->b = saved;
}

static void call_level(struct cg_fn *f, int level, struct cg_range r)
{
    struct cg_mod *m = f->m;
    const struct pl_level *lv = &f->pipeline->levels[level];
    const struct cg_job job = {f->index, CG_FUNCTION_LEVEL, level};
    LLVMValueRef fn = cg_function(m, &job);
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
    LLVMValueRef sargs[] = {f->thread, l_i32(f, level), carried, l_i64(f, bytes), r.begin, r.end};
    cg_call_checked(f, CG_CALL_hdr_spawn, sargs, 6);
    l_br(f, f->next);
}

static void expand(struct cg_fn *f, int k)
{
    const struct pl_step *s = &f->pipeline->steps[k];
    if (s->polls)
        cg_check_stop(f);
    struct cg_range r = cg_step_range(f, s);
    if (s->splittable) {
        int level = s->level + 1;
        HD_ASSERT(f->pipeline->levels[level].first_step == k + 1);
        call_level(f, level, r);
        return;
    }
    struct cg_loop l = loop_open(f, r.begin, r.end);
    cg_bind_child(f, s, l.i);
    cg_steps_from(f, k + 1);
    loop_close(f, &l);
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
    l_br(f, f->next);
}

void cg_pipeline(struct cg_mod *m, int index)
{
    const struct cg_job job = {index, ENTRY, 0};
    struct cg_fn *f = range_open(m, &job);
    l_need(f, l_icmp(f, LLVMIntSLT, f->begin, f->end), f->exit, "some");
    if (f->pipeline->cpu_tile.steps) {
        cg_tile_loop(f);
    } else {
        struct cg_loop l = loop_open(f, f->begin, f->end);
        cg_bind_source(f, l.i);
        cg_steps_from(f, 0);
        loop_close(f, &l);
        l_br(f, f->exit);
    }
    cg_fn_close(f);
}

void cg_level(struct cg_mod *m, const struct cg_job *job)
{
    struct cg_fn *f = range_open(m, job);
    const struct pl_level *lv = &f->pipeline->levels[job->first];
    carry_in(f, lv, LLVMGetParam(f->fn, 2));
    cg_check_stop(f);
    l_need(f, l_icmp(f, LLVMIntSLT, f->begin, f->end), f->exit, "some");
    struct cg_loop l = loop_open(f, f->begin, f->end);
    cg_bind_child(f, &f->pipeline->steps[lv->first_step - 1], l.i);
    cg_steps_from(f, lv->first_step);
    loop_close(f, &l);
    l_br(f, f->exit);
    cg_fn_close(f);
}
