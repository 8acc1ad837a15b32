#include "tests/exec/module_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>

#include "runtime/cpu/helpers.h"

static struct rt_bytes write_bitcode(LLVMModuleRef m)
{
    LLVMMemoryBufferRef buffer = LLVMWriteBitcodeToMemoryBuffer(m);
    struct rt_bytes out = {malloc(LLVMGetBufferSize(buffer)), LLVMGetBufferSize(buffer)};
    memcpy(out.p, LLVMGetBufferStart(buffer), out.n);
    LLVMDisposeMemoryBuffer(buffer);
    return out;
}

struct rt_bytes assemble_bitcode(const char *text)
{
    LLVMContextRef c = LLVMContextCreate();
    LLVMModuleRef m;
    char *problem = NULL;
    /* takes the buffer */
    LLVMBool bad =
        LLVMParseIRInContext(c, LLVMCreateMemoryBufferWithMemoryRange(text, strlen(text), "test", 1), &m, &problem);
    if (bad)
        fail_msg("%s", problem);
    struct rt_bytes out = write_bitcode(m);
    LLVMDisposeModule(m);
    LLVMContextDispose(c);
    return out;
}

/* i32 f<k>(i32 x) { return hdr_in_i32(...) + x * (k + 2); } for k < n; `salt` makes it another. */
struct rt_bytes make_bitcode(int n, int salt)
{
    LLVMContextRef c = LLVMContextCreate();
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext("test", c);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c), i64 = LLVMInt64TypeInContext(c);
    LLVMTypeRef extract_args[] = {i32, i32};
    LLVMTypeRef extract_type = LLVMFunctionType(i64, extract_args, 2, 0);
    LLVMValueRef extract = LLVMAddFunction(m, "hdr_extract_date", extract_type);
    LLVMTypeRef type = LLVMFunctionType(i32, &i32, 1, 0);
    char name[32];
    for (int k = 0; k < n; k++) {
        snprintf(name, sizeof name, "f%d", k);
        LLVMValueRef f = LLVMAddFunction(m, name, type);
        LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(c, f, "entry"));
        LLVMValueRef args[] = {LLVMGetParam(f, 0), LLVMConstInt(i32, 0, 0)};
        LLVMValueRef year = LLVMBuildCall2(b, extract_type, extract, args, 2, "year");
        LLVMValueRef v = LLVMBuildMul(b, args[0], LLVMConstInt(i32, (unsigned)k + 2, 0), "v");
        v = LLVMBuildAdd(b, v, LLVMConstInt(i32, (unsigned)salt, 0), "v");
        for (int i = 0; i < 60; i++) /* weight, so that the module is worth dividing */
            v = LLVMBuildXor(b, v, LLVMBuildMul(b, v, LLVMConstInt(i32, 2 * (unsigned)i, 0), ""), "");
        v = LLVMBuildAdd(b, v, LLVMBuildTrunc(b, year, i32, ""), "");
        LLVMBuildRet(b, v);
    }
    struct rt_bytes out = write_bitcode(m);
    LLVMDisposeBuilder(b);
    LLVMDisposeModule(m);
    LLVMContextDispose(c);
    return out;
}

static int32_t wanted(int k, int salt, int32_t x)
{
    uint32_t v = (uint32_t)x * (uint32_t)(k + 2) + (uint32_t)salt;
    for (uint32_t i = 0; i < 60; i++)
        v ^= v * (2 * i);
    return (int32_t)(v + (uint32_t)hdr_extract_date(x, 0));
}

typedef int32_t (*function)(int32_t);

void check_function(void *p, int k, int salt)
{
    function f = (function)(uintptr_t)p;
    assert_non_null(p);
    for (int32_t x = -1000; x < 30000; x += 997)
        assert_int_equal(f(x), wanted(k, salt, x));
}

void mod_source_init(struct mod_source *s, struct rt_bytes bitcode, int n, enum rt_tiering tiering)
{
    memset(s, 0, sizeof *s);
    assert_true(n <= MOD_FUNCTIONS);
    for (int i = 0; i < n; i++) {
        snprintf(s->names[i], sizeof s->names[i], "f%d", i);
        s->functions[i] = (struct rt_function){s->names[i], i, 180};
        s->pipelines[i] = (struct rt_pipeline){.name = s->names[i], .entry = s->names[i], .tiering = tiering};
    }
    s->spec = (struct rt_spec){.npipelines = n, .pipelines = s->pipelines};
    s->source = (struct rt_code_source){&s->spec, bitcode.p, bitcode.n, n, s->functions};
}

void *mod_function(const struct rt_tiers *t, int k, enum rt_tier tier)
{
    const struct rt_entries *e = atomic_load(&rt_tiers_entries(t)[k].tier[tier]);
    return e ? (void *)(uintptr_t)e->entry : NULL;
}
