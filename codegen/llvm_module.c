/* One module for a program: types, metadata, then every pipeline, then bitcode or text. */
#include "codegen/llvm_build.h"

#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>

#include "runtime/base/strbuf.h"

static void init_types(struct cg_mod *m)
{
    LLVMContextRef c = m->ctx;
    m->i1 = LLVMInt1TypeInContext(c);
    m->i8 = LLVMInt8TypeInContext(c);
    m->i16 = LLVMInt16TypeInContext(c);
    m->i32 = LLVMInt32TypeInContext(c);
    m->i64 = LLVMInt64TypeInContext(c);
    m->i128 = LLVMInt128TypeInContext(c);
    m->f64 = LLVMDoubleTypeInContext(c);
    m->f32 = LLVMFloatTypeInContext(c);
    m->ptr = LLVMPointerTypeInContext(c, 0);
    m->none = LLVMVoidTypeInContext(c);
    LLVMTypeRef entry[] = {m->ptr, m->ptr, m->i64, m->i64};
    LLVMTypeRef level[] = {m->ptr, m->ptr, m->ptr, m->i64, m->i64};
    LLVMTypeRef part[] = {m->ptr, m->ptr, m->ptr, m->ptr, m->ptr};
    m->part_type = LLVMFunctionType(m->i32, part, 5, false);
    m->entry_type = LLVMFunctionType(m->i32, entry, 4, false);
    m->level_type = LLVMFunctionType(m->i32, level, 5, false);
}

static LLVMValueRef weights(struct cg_mod *m, unsigned yes, unsigned no)
{
    static const char name[] = "branch_weights";
    LLVMMetadataRef md[] = {
        LLVMMDStringInContext2(m->ctx, name, strlen(name)),
        LLVMValueAsMetadata(LLVMConstInt(m->i32, yes, false)),
        LLVMValueAsMetadata(LLVMConstInt(m->i32, no, false)),
    };
    return LLVMMetadataAsValue(m->ctx, LLVMMDNodeInContext2(m->ctx, md, 3));
}

static void init_metadata(struct cg_mod *m)
{
    m->md_invariant = LLVMGetMDKindIDInContext(m->ctx, "invariant.load", 14);
    m->md_prof = LLVMGetMDKindIDInContext(m->ctx, "prof", 4);
    m->md_unpredictable = LLVMGetMDKindIDInContext(m->ctx, "unpredictable", 13);
    m->empty_node = LLVMMetadataAsValue(m->ctx, LLVMMDNodeInContext2(m->ctx, NULL, 0));
    m->unlikely_node = weights(m, 1, 1 << 20);
}

static void release(void *module)
{
    struct cg_mod *m = module;
    hd_cleanup_drop(&m->guarded);
    LLVMDisposeModule(m->mod);
    LLVMContextDispose(m->ctx);
}

/* Names of values cost time and make equal shapes differ, so only dumps have them. */
static void build(struct cg_mod *m, struct hd_arena *a, const struct pl_program *p, const struct cg_options *opt,
                  bool names)
{
    memset(m, 0, sizeof *m);
    m->arena = a;
    m->prog = p;
    m->opt = opt;
    m->expr = cg_emit_expr;
    m->ctx = LLVMContextCreate();
    LLVMContextSetDiscardValueNames(m->ctx, !names);
    m->mod = LLVMModuleCreateWithNameInContext("heddle", m->ctx);
    hd_cleanup_add(&m->guarded, release, m);
    init_types(m);
    init_metadata(m);
    m->frames = HD_NEWN(a, struct cg_frame, p->npipelines + 1);
    m->words = HD_NEWN(a, LLVMValueRef, p->spec->nwords + 1);
    m->word_ptrs = HD_NEWN(a, LLVMValueRef, p->spec->nwords + 1);
    int slots = 0;
    for (int i = 0; i < p->npipelines; i++)
        slots = HD_MAX(slots, p->pipelines[i].nslots);
    m->slots = HD_NEWN(a, struct cg_val, slots + 1);
    for (int i = 0; i < p->npipelines; i++)
        cg_pipeline(m, i);
    for (int i = 0; i < m->jobs.n; i++) {
        struct cg_job job = m->jobs.v[i];
        if (job.kind == CG_FUNCTION_LEVEL)
            cg_level(m, &job);
        else
            cg_part(m, &job);
    }
}

static int verify(const struct cg_mod *m, struct hd_err *err)
{
    char *log = NULL;
    int rc = 0;
    if (LLVMVerifyModule(m->mod, LLVMReturnStatusAction, &log)) {
        rc = HD_FAIL(err, TOOL, NULL, "LLVM refuses the module that Heddle made");
        if (err && log)
            hd_err_set_detail(err, log);
    }
    LLVMDisposeMessage(log);
    return rc;
}

static bool verifies(void)
{
#ifdef NDEBUG
    return false;
#else
    return true;
#endif
}

static void drop_buffer(void *buffer)
{
    LLVMDisposeMemoryBuffer(buffer);
}

static void write_bitcode(struct hd_arena *a, const struct cg_mod *m, struct cg_artifact *out)
{
    struct hd_cleanup guarded;
    LLVMMemoryBufferRef buf = LLVMWriteBitcodeToMemoryBuffer(m->mod);
    hd_cleanup_add(&guarded, drop_buffer, buf);
    out->kind = CG_LLVM_BITCODE;
    out->size = LLVMGetBufferSize(buf);
    out->bytes = hd_dup(a, LLVMGetBufferStart(buf), out->size);
    out->nfunctions = m->functions.n;
    out->functions = m->functions.v;
    hd_cleanup_drop(&guarded);
    LLVMDisposeMemoryBuffer(buf);
}

int cg_llvm_emit(struct hd_arena *a, const struct pl_program *p, const struct cg_options *opt, struct cg_artifact *out,
                 struct hd_err *err)
{
    struct cg_mod m;
    build(&m, a, p, opt, false);
    int rc = verifies() ? verify(&m, err) : 0;
    if (rc == 0)
        write_bitcode(a, &m, out);
    release(&m);
    return rc;
}

int cg_llvm_print(struct hd_strbuf *out, const struct pl_program *p, const struct cg_options *opt, struct hd_err *err)
{
    struct cg_mod m;
    build(&m, p->arena, p, opt, true);
    int rc = verify(&m, err);
    char *text = LLVMPrintModuleToString(m.mod);
    hd_strbuf_adds(out, text);
    LLVMDisposeMessage(text);
    release(&m);
    return rc;
}
