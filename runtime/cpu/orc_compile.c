#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/base/strbuf.h"
#include "runtime/cpu/orc.h"
#include "runtime/cpu/orc_internal.h"

static struct {
    LLVMTargetRef target;
    char *triple, *cpu, *features, *problem;
    char version[32];
    char *identity;
} host;
static pthread_once_t host_once = PTHREAD_ONCE_INIT;

static void detect_host(void)
{
    unsigned major, minor, patch;
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMInitializeNativeAsmParser();
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(host.version, sizeof host.version, "%u.%u.%u", major, minor, patch);
    host.triple = LLVMGetDefaultTargetTriple();
    host.cpu = LLVMGetHostCPUName();
    host.features = LLVMGetHostCPUFeatures();
    LLVMGetTargetFromTriple(host.triple, &host.target, &host.problem);
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    hd_strbuf_addf(&b, "LLVM %s, %s, %s, %s", host.version, host.triple, host.cpu, host.features);
    host.identity = hd_strbuf_detach(&b);
    hd_strbuf_release(&b);
}

const char *rt_orc_identity(void)
{
    pthread_once(&host_once, detect_host);
    return host.identity;
}

const char *rt_orc_version(void)
{
    pthread_once(&host_once, detect_host);
    return host.version;
}

const char *rt_orc_cpu(void)
{
    pthread_once(&host_once, detect_host);
    return host.cpu;
}

int rt_llvm_fail(LLVMErrorRef e, const char *what, struct hd_err *err)
{
    char *text = LLVMGetErrorMessage(e);
    hd_err_set(err, HD_ERR_TOOL, __FILE__, __LINE__, NULL, "LLVM could not %s: %s", what, text);
    hd_err_set_detail(err, text);
    LLVMDisposeErrorMessage(text);
    return -1;
}

LLVMTargetMachineRef rt_llvm_machine(enum rt_tier tier, struct hd_err *err)
{
    static const LLVMCodeGenOptLevel levels[] = {
        [RT_TIER_FIRST] = LLVMCodeGenLevelNone, [RT_TIER_OPTIMISED] = LLVMCodeGenLevelDefault};
    pthread_once(&host_once, detect_host);
    if (!host.target) {
        HD_FAIL(err, TOOL, NULL, "LLVM has no target for this machine (%s): %s", host.triple,
                host.problem ? host.problem : "unknown reason");
        return NULL;
    }
    LLVMTargetMachineRef m = LLVMCreateTargetMachine(host.target, host.triple, host.cpu, host.features, levels[tier],
                                                     LLVMRelocPIC, LLVMCodeModelSmall);
    if (!m)
        HD_FAIL(err, TOOL, NULL, "LLVM could not make code for %s, %s", host.triple, host.cpu);
    return m;
}

/* A parsed module with all that is needed to compile it. */
struct unit {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    struct hd_strbuf log;
};

static void collect_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    struct unit *u = user;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    hd_strbuf_addf(&u->log, "%s\n", text);
    LLVMDisposeMessage(text);
}

static void unit_release(struct unit *u)
{
    if (u->module)
        LLVMDisposeModule(u->module);
    if (u->machine)
        LLVMDisposeTargetMachine(u->machine);
    if (u->context)
        LLVMContextDispose(u->context);
    hd_strbuf_release(&u->log);
}

static int unit_fail(struct unit *u, const char *what, struct hd_err *err)
{
    HD_FAIL(err, TOOL, NULL, "LLVM could not %s", what);
    if (u->log.n)
        hd_err_set_detail(err, u->log.s);
    return -1;
}

static int unit_read(struct unit *u, const void *bitcode, size_t n, enum rt_tier tier, struct hd_err *err)
{
    *u = (struct unit){0};
    hd_strbuf_init(&u->log);
    u->machine = rt_llvm_machine(tier, err);
    if (!u->machine)
        return -1;
    u->context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(u->context, collect_diagnostic, u);
    LLVMMemoryBufferRef b = LLVMCreateMemoryBufferWithMemoryRange(bitcode, n, "bitcode", 0);
    LLVMBool bad = LLVMParseBitcodeInContext2(u->context, b, &u->module);
    LLVMDisposeMemoryBuffer(b);
    if (bad)
        return unit_fail(u, "read the emitted bitcode", err);
    LLVMSetTarget(u->module, host.triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(u->machine);
    LLVMSetModuleDataLayout(u->module, layout);
    LLVMDisposeTargetData(layout);
    return 0;
}

static int by_name(const void *name, const void *root)
{
    return strcmp(name, *(const char *const *)root);
}

static bool is_root(const char *name, const char *const *roots, int nroots)
{
    return nroots == 0 || bsearch(name, roots, (size_t)nroots, sizeof *roots, by_name);
}

static bool is_defined(LLVMValueRef f)
{
    return !LLVMIsDeclaration(f) && LLVMGetLinkage(f) != LLVMInternalLinkage && LLVMGetLinkage(f) != LLVMPrivateLinkage;
}

/* A sanitized build instruments the emitted code too (the emitter marks its functions): without
 * these passes neither sanitizer would see anything of it. */
#if defined(__SANITIZE_THREAD__)
#define SANITIZER_PASSES ",tsan-module,function(tsan)"
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZER_PASSES ",asan"
#else
#define SANITIZER_PASSES ""
#endif

/* Reading "instcombine" from text asks for a check of its fixpoint where LLVM has that check. */
#if LLVM_VERSION_MAJOR >= 18
#define INSTCOMBINE "instcombine<no-verify-fixpoint>"
#else
#define INSTCOMBINE "instcombine"
#endif

/* What O2 does for code like ours. Emitted modules have no calls to inline, no aggregates and no
 * C idioms to recognise; over the 22 queries of TPC-H (LLVM 19) this list gives code as fast as
 * default<O2> in half the time: 31 ms of processor time a query instead of 56. Dead functions go
 * first: what is not a root must cost nothing. */
static const char OPTIMISED[] = "globaldce,function("
                                "sroa<modify-cfg>,early-cse<memssa>,simplifycfg," INSTCOMBINE ",simplifycfg,"
                                "loop-mssa(loop-rotate,licm),gvn," INSTCOMBINE ",loop-mssa(licm),dse,adce,simplifycfg,"
                                "loop-vectorize,slp-vectorizer," INSTCOMBINE ",simplifycfg)" SANITIZER_PASSES;

/* Selection of instructions without a graph (FastISel) and registers by blocks: over the same queries 2.3 ms a query in
 * the median instead of 17, for code that takes 1.3 times as long. Passes before it cost more than they gain there. */
static const char FIRST[] = "globaldce" SANITIZER_PASSES;

static int unit_optimise(struct unit *u, enum rt_tier tier, struct hd_err *err)
{
    static const char *const passes[] = {[RT_TIER_FIRST] = FIRST, [RT_TIER_OPTIMISED] = OPTIMISED};
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopVectorization(o, 1);
    LLVMPassBuilderOptionsSetSLPVectorization(o, 1);
    LLVMPassBuilderOptionsSetLoopInterleaving(o, 1);
    LLVMErrorRef e = LLVMRunPasses(u->module, passes[tier], u->machine, o);
    LLVMDisposePassBuilderOptions(o);
    return e ? rt_llvm_fail(e, "optimise the module", err) : 0;
}

static int unit_emit(struct unit *u, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out, struct hd_err *err)
{
    char *text = NULL;
    if (!LLVMTargetMachineEmitToMemoryBuffer(u->machine, u->module, type, &text, out) && !u->log.n)
        return 0;
    if (text)
        hd_strbuf_adds(&u->log, text);
    LLVMDisposeMessage(text);
    return unit_fail(u, "emit machine code", err);
}

static int copy_buffer(LLVMMemoryBufferRef b, struct rt_bytes *out, struct hd_err *err)
{
    size_t n = LLVMGetBufferSize(b);
    out->p = hd_try_malloc(n);
    out->n = n;
    if (out->p)
        memcpy(out->p, LLVMGetBufferStart(b), n);
    LLVMDisposeMemoryBuffer(b);
    return out->p ? 0 : HD_FAIL(err, RESOURCE, NULL, "out of memory for an object file");
}

static void keep_roots(struct unit *u, const char *const *roots, int nroots)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(u->module); f; f = LLVMGetNextFunction(f)) {
        size_t len;
        if (is_defined(f) && !is_root(LLVMGetValueName2(f, &len), roots, nroots))
            LLVMSetLinkage(f, LLVMInternalLinkage);
    }
}

static int go_on(const struct hd_stop *stop, struct hd_err *err)
{
    return hd_stopped(stop) ? HD_FAIL(err, CANCELLED, NULL, "cancelled") : 0;
}

static int compile_unit(struct unit *u, const char *const *roots, int nroots, enum rt_tier tier,
                        const struct hd_stop *stop, struct rt_bytes *object, struct hd_err *err)
{
    LLVMMemoryBufferRef b = NULL;
    if (hd_fault(HD_FAULT_COMPILE))
        return unit_fail(u, "compile: a fault was asked for", err);
    HD_TRY(go_on(stop, err));
    keep_roots(u, roots, nroots);
    HD_TRY(unit_optimise(u, tier, err));
    HD_TRY(go_on(stop, err));
    HD_TRY(unit_emit(u, LLVMObjectFile, &b, err));
    return copy_buffer(b, object, err);
}

int rt_orc_compile(const void *bitcode, size_t n, const char *const *roots, int nroots, enum rt_tier tier,
                   const struct hd_stop *stop, struct rt_bytes *object, struct hd_err *err)
{
    struct unit u;
    int rc = unit_read(&u, bitcode, n, tier, err);
    if (rc == 0)
        rc = compile_unit(&u, roots, nroots, tier, stop, object, err);
    unit_release(&u);
    return rc;
}

static int print_unit(struct unit *u, enum rt_orc_text what, char **text, struct hd_err *err)
{
    if (what != RT_ORC_IR)
        HD_TRY(unit_optimise(u, RT_TIER_OPTIMISED, err));
    if (what != RT_ORC_ASM) {
        char *s = LLVMPrintModuleToString(u->module);
        *text = strdup(s);
        LLVMDisposeMessage(s);
    } else {
        LLVMMemoryBufferRef b;
        HD_TRY(unit_emit(u, LLVMAssemblyFile, &b, err));
        *text = strndup(LLVMGetBufferStart(b), LLVMGetBufferSize(b));
        LLVMDisposeMemoryBuffer(b);
    }
    return *text ? 0 : HD_FAIL(err, RESOURCE, NULL, "out of memory for the text of a module");
}

int rt_orc_print(const void *bitcode, size_t n, enum rt_orc_text what, char **text, struct hd_err *err)
{
    struct unit u;
    int rc = unit_read(&u, bitcode, n, RT_TIER_OPTIMISED, err);
    if (rc == 0)
        rc = print_unit(&u, what, text, err);
    unit_release(&u);
    return rc;
}
