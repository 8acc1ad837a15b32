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
#include "runtime/cpu/llvm.h"

static struct {
    LLVMTargetRef target;
    char *triple, *cpu, *features, *problem;
    const char *level; /* for the first tier */
    char version[32];
    char *identity;
} host;
static pthread_once_t host_once = PTHREAD_ONCE_INIT;

static bool has_feature(const char *name)
{
    size_t n = strlen(name);
    for (const char *p = host.features; (p = strstr(p, name)); p += n)
        if (p[n] == ',' || p[n] == 0)
            return true;
    return false;
}

/* Levels of the ABI's supplement for this architecture. A name is read in a tenth of the time that a list of a hundred
 * features takes, which the first tier would hardly use. NULL: this machine lacks something of each. */
static const char *level_of_host(void)
{
    static const char *const v3[] = {"+popcnt", "+cx16", "+sahf", "+xsave", "+avx2", "+bmi",
                                     "+bmi2",   "+f16c", "+fma",  "+lzcnt", "+movbe"};
    static const char *const v4[] = {"+avx512f", "+avx512bw", "+avx512cd", "+avx512dq", "+avx512vl"};
    for (size_t i = 0; i < HD_COUNT(v3); i++)
        if (!has_feature(v3[i]))
            return NULL;
    for (size_t i = 0; i < HD_COUNT(v4); i++)
        if (!has_feature(v4[i]))
            return "x86-64-v3";
    return "x86-64-v4";
}

static void detect_host(void)
{
    unsigned major, minor, patch;
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(host.version, sizeof host.version, "%u.%u.%u", major, minor, patch);
    host.triple = LLVMGetDefaultTargetTriple();
    host.cpu = LLVMGetHostCPUName();
    host.features = LLVMGetHostCPUFeatures();
    host.level = level_of_host();
    LLVMGetTargetFromTriple(host.triple, &host.target, &host.problem);
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    hd_strbuf_addf(&b, "LLVM %s, %s, %s, %s", host.version, host.triple, host.cpu, host.features);
    host.identity = hd_strbuf_detach(&b);
    hd_strbuf_release(&b);
}

const char *rt_llvm_identity(void)
{
    pthread_once(&host_once, detect_host);
    return host.identity;
}

const char *rt_llvm_version(void)
{
    pthread_once(&host_once, detect_host);
    return host.version;
}

const char *rt_llvm_cpu(void)
{
    pthread_once(&host_once, detect_host);
    return host.cpu;
}

static int fail(LLVMErrorRef e, const char *what, struct hd_err *err)
{
    char *text = LLVMGetErrorMessage(e);
    hd_err_set(err, HD_ERR_TOOL, __FILE__, __LINE__, NULL, "LLVM could not %s: %s", what, text);
    hd_err_set_detail(err, text);
    LLVMDisposeErrorMessage(text);
    return -1;
}

/* ---- machines -------------------------------------------------------------------------- */

static LLVMTargetMachineRef new_machine(enum rt_tier tier, struct hd_err *err)
{
    static const LLVMCodeGenOptLevel levels[] = {
        [RT_TIER_FIRST] = LLVMCodeGenLevelNone, [RT_TIER_OPTIMISED] = LLVMCodeGenLevelDefault};
    pthread_once(&host_once, detect_host);
    if (!host.target) {
        HD_FAIL(err, TOOL, NULL, "LLVM has no target for this machine (%s): %s", host.triple,
                host.problem ? host.problem : "unknown reason");
        return NULL;
    }
    const char *cpu = tier == RT_TIER_FIRST && host.level ? host.level : host.cpu;
    const char *features = cpu == host.level ? "" : host.features;
    LLVMTargetMachineRef m = LLVMCreateTargetMachine(host.target, host.triple, cpu, features, levels[tier],
                                                     LLVMRelocPIC, LLVMCodeModelSmall);
    if (!m)
        HD_FAIL(err, TOOL, NULL, "LLVM could not make code for %s, %s", host.triple, host.cpu);
    return m;
}

/* A machine keeps the tables of instructions and types that its first function has it make: 0.5 ms. So those that nobody
 * compiles with are kept for the next compilation. */
enum { KEPT_MACHINES = 4 };
static struct {
    pthread_mutex_t lock, warming;
    LLVMTargetMachineRef kept[RT_TIER_COUNT][KEPT_MACHINES];
    int n[RT_TIER_COUNT];
    bool used;
} machines = {.lock = PTHREAD_MUTEX_INITIALIZER, .warming = PTHREAD_MUTEX_INITIALIZER};

/* NULL: error set. */
static LLVMTargetMachineRef take_machine(enum rt_tier tier, struct hd_err *err)
{
    LLVMTargetMachineRef m = NULL;
    pthread_mutex_lock(&machines.lock);
    machines.used = true;
    if (machines.n[tier] > 0)
        m = machines.kept[tier][--machines.n[tier]];
    pthread_mutex_unlock(&machines.lock);
    return m ? m : new_machine(tier, err);
}

static void leave_machine(enum rt_tier tier, LLVMTargetMachineRef m)
{
    pthread_mutex_lock(&machines.lock);
    bool keep = machines.n[tier] < KEPT_MACHINES;
    if (keep)
        machines.kept[tier][machines.n[tier]++] = m;
    pthread_mutex_unlock(&machines.lock);
    if (!keep)
        LLVMDisposeTargetMachine(m);
}

/* Until rt_llvm_warm is over, where it is at work. */
static void wait_until_warm(enum rt_tier tier)
{
    if (tier != RT_TIER_FIRST)
        return;
    pthread_mutex_lock(&machines.warming);
    pthread_mutex_unlock(&machines.warming);
}

/* ---- units ----------------------------------------------------------------------------- */

/* A parsed module with all that is needed to compile it. */
struct unit {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    enum rt_tier tier; /* of the machine */
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
    if (u->context)
        LLVMContextDispose(u->context);
    if (u->machine)
        leave_machine(u->tier, u->machine);
    hd_strbuf_release(&u->log);
}

static int unit_fail(struct unit *u, const char *what, struct hd_err *err)
{
    HD_FAIL(err, TOOL, NULL, "LLVM could not %s", what);
    if (u->log.n)
        hd_err_set_detail(err, u->log.s);
    return -1;
}

static void unit_init(struct unit *u, enum rt_tier tier)
{
    *u = (struct unit){.tier = tier, .context = LLVMContextCreate()};
    hd_strbuf_init(&u->log);
    LLVMContextSetDiagnosticHandler(u->context, collect_diagnostic, u);
}

/* Gives the unit a machine and its module that machine's form. */
static int aim_module(struct unit *u, struct hd_err *err)
{
    u->machine = take_machine(u->tier, err);
    if (!u->machine)
        return -1;
    LLVMSetTarget(u->module, host.triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(u->machine);
    LLVMSetModuleDataLayout(u->module, layout);
    LLVMDisposeTargetData(layout);
    return 0;
}

static int unit_read(struct unit *u, const void *bitcode, size_t n, enum rt_tier tier, struct hd_err *err)
{
    unit_init(u, tier);
    LLVMMemoryBufferRef b = LLVMCreateMemoryBufferWithMemoryRange(bitcode, n, "bitcode", 0);
    LLVMBool bad = LLVMParseBitcodeInContext2(u->context, b, &u->module);
    LLVMDisposeMemoryBuffer(b);
    if (bad)
        return unit_fail(u, "read the emitted bitcode", err);
    wait_until_warm(tier);
    return aim_module(u, err);
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
    return e ? fail(e, "optimise the module", err) : 0;
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

/* Whether there are functions that may be needed or not. */
static bool keep_roots(struct unit *u, const char *const *roots, int nroots)
{
    bool others = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(u->module); f; f = LLVMGetNextFunction(f)) {
        size_t len;
        if (is_defined(f) && !is_root(LLVMGetValueName2(f, &len), roots, nroots))
            LLVMSetLinkage(f, LLVMInternalLinkage);
        others = others || (!LLVMIsDeclaration(f) && !is_defined(f));
    }
    return others;
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
    bool others = keep_roots(u, roots, nroots);
    if (others || tier != RT_TIER_FIRST || *SANITIZER_PASSES)
        HD_TRY(unit_optimise(u, tier, err));
    HD_TRY(go_on(stop, err));
    HD_TRY(unit_emit(u, LLVMObjectFile, &b, err));
    return copy_buffer(b, object, err);
}

int rt_llvm_compile(const void *bitcode, size_t n, const char *const *roots, int nroots, enum rt_tier tier,
                    const struct hd_stop *stop, struct rt_bytes *object, struct hd_err *err)
{
    struct unit u;
    int rc = unit_read(&u, bitcode, n, tier, err);
    if (rc == 0)
        rc = compile_unit(&u, roots, nroots, tier, stop, object, err);
    unit_release(&u);
    return rc;
}

/* ---- warming up ------------------------------------------------------------------------ */

struct small {
    LLVMBuilderRef b;
    LLVMTypeRef byte, word, i128, pointer;
};

/* for (i = from; i < to; i++) if (bytes[i] < 7) { words[i] |= i, atomically; helper(words, i); } */
static void add_small_loop(LLVMModuleRef module, LLVMContextRef c, const struct small *t)
{
    LLVMTypeRef parameters[] = {t->pointer, t->pointer, t->word, t->word};
    LLVMTypeRef type = LLVMFunctionType(t->word, parameters, HD_COUNT(parameters), 0);
    LLVMTypeRef helper_type = LLVMFunctionType(t->word, parameters + 1, 2, 0);
    LLVMValueRef f = LLVMAddFunction(module, "f", type), helper = LLVMAddFunction(module, "g", helper_type);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(c, f, ""), loop = LLVMAppendBasicBlockInContext(c, f, "");
    LLVMBasicBlockRef pass = LLVMAppendBasicBlockInContext(c, f, ""), next = LLVMAppendBasicBlockInContext(c, f, "");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(c, f, "");
    LLVMPositionBuilderAtEnd(t->b, entry);
    LLVMValueRef sum = LLVMBuildAlloca(t->b, t->i128, "");
    LLVMBuildStore(t->b, LLVMConstNull(t->i128), sum);
    LLVMBuildBr(t->b, loop);
    LLVMPositionBuilderAtEnd(t->b, loop);
    LLVMValueRef i = LLVMBuildPhi(t->b, t->word, ""), at = LLVMBuildGEP2(t->b, t->byte, LLVMGetParam(f, 0), &i, 1, "");
    LLVMValueRef value = LLVMBuildLoad2(t->b, t->byte, at, "");
    LLVMBuildCondBr(t->b, LLVMBuildICmp(t->b, LLVMIntSLT, value, LLVMConstInt(t->byte, 7, 0), ""), pass, next);
    LLVMPositionBuilderAtEnd(t->b, pass);
    at = LLVMBuildGEP2(t->b, t->word, LLVMGetParam(f, 1), &i, 1, "");
    LLVMBuildAtomicRMW(t->b, LLVMAtomicRMWBinOpOr, at, i, LLVMAtomicOrderingMonotonic, 0);
    LLVMValueRef wide =
        LLVMBuildMul(t->b, LLVMBuildSExt(t->b, value, t->i128, ""), LLVMBuildSExt(t->b, i, t->i128, ""), "");
    LLVMBuildStore(t->b, LLVMBuildAdd(t->b, LLVMBuildLoad2(t->b, t->i128, sum, ""), wide, ""), sum);
    LLVMValueRef arguments[] = {LLVMGetParam(f, 1), LLVMBuildSExt(t->b, value, t->word, "")};
    LLVMBuildCall2(t->b, helper_type, helper, arguments, HD_COUNT(arguments), "");
    LLVMBuildBr(t->b, next);
    LLVMPositionBuilderAtEnd(t->b, next);
    LLVMValueRef more = LLVMBuildNSWAdd(t->b, i, LLVMConstInt(t->word, 1, 0), ""), ends[] = {LLVMGetParam(f, 2), more};
    LLVMBuildCondBr(t->b, LLVMBuildICmp(t->b, LLVMIntSLT, more, LLVMGetParam(f, 3), ""), loop, done);
    LLVMAddIncoming(i, ends, (LLVMBasicBlockRef[]){entry, next}, 2);
    LLVMPositionBuilderAtEnd(t->b, done);
    LLVMBuildRet(t->b, more);
}

/* What it ends in does not matter: a compilation meets the same. */
static void compile_small_loop(void)
{
    struct unit u;
    LLVMMemoryBufferRef object = NULL;
    unit_init(&u, RT_TIER_FIRST);
    struct small t = {LLVMCreateBuilderInContext(u.context), LLVMInt8TypeInContext(u.context),
                      LLVMInt64TypeInContext(u.context), LLVMInt128TypeInContext(u.context),
                      LLVMPointerTypeInContext(u.context, 0)};
    u.module = LLVMModuleCreateWithNameInContext("warm", u.context);
    add_small_loop(u.module, u.context, &t);
    LLVMDisposeBuilder(t.b);
    if (aim_module(&u, NULL) == 0 && unit_emit(&u, LLVMObjectFile, &object, NULL) == 0)
        LLVMDisposeMemoryBuffer(object);
    unit_release(&u);
}

static bool is_used(void)
{
    pthread_mutex_lock(&machines.lock);
    bool used = machines.used;
    pthread_mutex_unlock(&machines.lock);
    return used;
}

/* A fork meanwhile would leave the child with what LLVM's locks are at. */
static void before_fork(void)
{
    pthread_mutex_lock(&machines.warming);
    pthread_mutex_lock(&machines.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&machines.lock);
    pthread_mutex_unlock(&machines.warming);
}

static void warm_once(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
    pthread_mutex_lock(&machines.warming);
    if (!is_used())
        compile_small_loop();
    pthread_mutex_unlock(&machines.warming);
}

void rt_llvm_warm(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, warm_once);
}

/* ---- text ------------------------------------------------------------------------------ */

static int print_unit(struct unit *u, enum rt_llvm_text what, char **text, struct hd_err *err)
{
    if (what != RT_LLVM_IR)
        HD_TRY(unit_optimise(u, RT_TIER_OPTIMISED, err));
    if (what != RT_LLVM_ASM) {
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

int rt_llvm_print(const void *bitcode, size_t n, enum rt_llvm_text what, char **text, struct hd_err *err)
{
    struct unit u;
    int rc = unit_read(&u, bitcode, n, RT_TIER_OPTIMISED, err);
    if (rc == 0)
        rc = print_unit(&u, what, text, err);
    unit_release(&u);
    return rc;
}
