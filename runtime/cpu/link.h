/* Object files of this process's own compiler (ELF, x86-64, relocatable) -> code in memory. */
#ifndef HEDDLE_RUNTIME_CPU_LINK_H
#define HEDDLE_RUNTIME_CPU_LINK_H

#include "runtime/base/err.h"
#include "runtime/cache/bytes.h"

/* Linked object files. What one does not define is a helper of runtime/cpu/helpers.h, else it is looked for in the
 * process; objects do not refer to each other. The bytes are not needed any more. Damaged ones are an error (TOOL). */
struct rt_code;
int rt_code_load(const struct rt_bytes *objects, int n, struct rt_code **out, struct hd_err *err);
void *rt_code_find(const struct rt_code *c, const char *name, struct hd_err *err); /* NULL: error set */
void rt_code_free(struct rt_code *c);

#endif
