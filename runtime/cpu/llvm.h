/* LLVM as a compiler of whole modules: bitcode -> object file, which runtime/cpu/link.h brings into memory. Nothing here
 * caches (see runtime/cache) or knows what the code does. All functions may be called from several threads at once. */
#ifndef HEDDLE_RUNTIME_CPU_LLVM_H
#define HEDDLE_RUNTIME_CPU_LLVM_H

#include "runtime/base/err.h"
#include "runtime/base/stop.h"
#include "runtime/cache/bytes.h"
#include "runtime/spec.h"

/* "LLVM 19.1.7, znver4, +sse2,...": everything about this machine and LLVM that compiled code
 * depends on. Static text. */
const char *rt_llvm_identity(void);
const char *rt_llvm_version(void);
const char *rt_llvm_cpu(void);

/* Has the process's first compilation in the first tier find LLVM's tables made and its code in memory, which is half of
 * what it takes otherwise: a compilation that begins meanwhile waits for that. Once in a process; later calls do nothing. */
void rt_llvm_warm(void);

/* Emits an object file of a module for this machine, in the first tier as it is, else optimised (vectorisation on). roots:
 * the functions that are needed, sorted by strcmp; other functions are dropped unless these call them, so that
 * parts of one module can be compiled by several threads. nroots 0: all that are external.
 * CANCELLED if stop (may be NULL) is set between its stages, which themselves run to their ends. */
int rt_llvm_compile(const void *bitcode, size_t n, const char *const *roots, int nroots, enum rt_tier tier,
                    const struct hd_stop *stop, struct rt_bytes *object, struct hd_err *err);

enum rt_llvm_text { RT_LLVM_IR, RT_LLVM_IR_OPTIMISED, RT_LLVM_ASM };
/* *text is a heap string. */
int rt_llvm_print(const void *bitcode, size_t n, enum rt_llvm_text what, char **text, struct hd_err *err);

#endif
