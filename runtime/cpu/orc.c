#include "runtime/cpu/orc.h"

#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/fault.h"
#include "runtime/cpu/helpers.h"
#include "runtime/cpu/orc_internal.h"

struct rt_code {
    LLVMOrcLLJITRef jit;
};

/* Undefined symbols that are no helpers; released by the dylib. */
static int add_process_symbols(LLVMOrcLLJITRef jit, LLVMOrcJITDylibRef lib, struct hd_err *err)
{
    LLVMOrcDefinitionGeneratorRef g;
    LLVMErrorRef e =
        LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&g, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL);
    if (e)
        return rt_llvm_fail(e, "look into the process", err);
    LLVMOrcJITDylibAddGenerator(lib, g);
    return 0;
}

static int add_helpers(LLVMOrcLLJITRef jit, LLVMOrcJITDylibRef lib, struct hd_err *err)
{
    LLVMOrcCSymbolMapPair *pairs = hd_try_calloc((size_t)hdr_nsymbols, sizeof *pairs);
    if (!pairs)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory while linking");
    for (int i = 0; i < hdr_nsymbols; i++) {
        pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit, hdr_symbols[i].name);
        pairs[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)hdr_symbols[i].address;
        pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
    }
    LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, (size_t)hdr_nsymbols);
    free(pairs);
    LLVMErrorRef e = LLVMOrcJITDylibDefine(lib, unit);
    if (!e)
        return 0;
    LLVMOrcDisposeMaterializationUnit(unit);
    return rt_llvm_fail(e, "define the helpers", err);
}

static int add_objects(LLVMOrcLLJITRef jit, LLVMOrcJITDylibRef lib, const struct rt_bytes *objects, int n,
                       struct hd_err *err)
{
    for (int i = 0; i < n; i++) {
        char name[24]; /* initialiser symbols are named after the buffer: keep them apart */
        snprintf(name, sizeof name, "object%d", i);
        LLVMMemoryBufferRef b =
            LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)objects[i].p, objects[i].n, name);
        LLVMErrorRef e = LLVMOrcLLJITAddObjectFile(jit, lib, b); /* takes b */
        if (e)
            return rt_llvm_fail(e, "link an object file", err);
    }
    return 0;
}

static int new_jit(LLVMOrcLLJITRef *jit, struct hd_err *err)
{
    LLVMTargetMachineRef m = rt_llvm_machine(RT_TIER_OPTIMISED, err);
    if (!m)
        return -1;
    LLVMOrcLLJITBuilderRef b = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
        b, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(m)); /* takes m */
    LLVMErrorRef e = LLVMOrcCreateLLJIT(jit, b);                      /* takes b */
    return e ? rt_llvm_fail(e, "start its linker", err) : 0;
}

int rt_code_load(const struct rt_bytes *objects, int n, struct rt_code **out, struct hd_err *err)
{
    struct rt_code *c = hd_try_calloc(1, sizeof *c);
    if (!c)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory while linking");
    int rc = new_jit(&c->jit, err);
    if (rc == 0) {
        LLVMOrcJITDylibRef lib = LLVMOrcLLJITGetMainJITDylib(c->jit);
        rc = add_helpers(c->jit, lib, err);
        if (rc == 0)
            rc = add_process_symbols(c->jit, lib, err);
        if (rc == 0)
            rc = add_objects(c->jit, lib, objects, n, err);
    }
    if (rc != 0) {
        rt_code_free(c);
        return -1;
    }
    *out = c;
    return 0;
}

void *rt_code_find(struct rt_code *c, const char *name, struct hd_err *err)
{
    LLVMOrcExecutorAddress address = 0;
    LLVMErrorRef e = LLVMOrcLLJITLookup(c->jit, &address, name);
    if (e) {
        rt_llvm_fail(e, "link the compiled code", err);
        return NULL;
    }
    return (void *)(uintptr_t)address;
}

void rt_code_free(struct rt_code *c)
{
    if (!c)
        return;
    if (c->jit) {
        LLVMErrorRef e = LLVMOrcDisposeLLJIT(c->jit);
        if (e)
            LLVMConsumeError(e);
    }
    free(c);
}
