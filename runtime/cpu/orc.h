/* LLVM as a compiler and linker of whole modules: bitcode -> optimised object file -> code in
 * memory. Nothing here caches (see runtime/cache) or knows what the code does. All functions
 * may be called from several threads at once. */
#ifndef HEDDLE_RUNTIME_CPU_ORC_H
#define HEDDLE_RUNTIME_CPU_ORC_H

#include "runtime/base/err.h"
#include "runtime/base/stop.h"
#include "runtime/cache/bytes.h"
#include "runtime/spec.h"

/* "LLVM 19.1.7, znver4, +sse2,...": everything about this machine and LLVM that compiled code
 * depends on. Static text. */
const char *rt_orc_identity(void);
const char *rt_orc_version(void);
const char *rt_orc_cpu(void);

/* Emits an object file of a module for this machine, in the first tier as it is, else optimised (vectorisation on). roots:
 * the functions that are needed, sorted by strcmp; other functions are dropped unless these call them, so that
 * parts of one module can be compiled by several threads. nroots 0: all that are external.
 * CANCELLED if stop (may be NULL) is set between its stages, which themselves run to their ends. */
int rt_orc_compile(const void *bitcode, size_t n, const char *const *roots, int nroots, enum rt_tier tier,
                   const struct hd_stop *stop, struct rt_bytes *object, struct hd_err *err);

enum rt_orc_text { RT_ORC_IR, RT_ORC_IR_OPTIMISED, RT_ORC_ASM };
/* *text is a heap string. */
int rt_orc_print(const void *bitcode, size_t n, enum rt_orc_text what, char **text, struct hd_err *err);

/* Linked object files. Helpers are those of runtime/cpu/helpers.h; other undefined symbols are
 * looked for in the process. The bytes are copied. */
struct rt_code;
int rt_code_load(const struct rt_bytes *objects, int n, struct rt_code **out, struct hd_err *err);
void *rt_code_find(struct rt_code *c, const char *name, struct hd_err *err); /* NULL: error set */
void rt_code_free(struct rt_code *c);

#endif
