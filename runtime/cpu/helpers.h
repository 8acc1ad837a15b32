/* Prototypes of every function of templates/rtcalls.def, made from the table, so that what
 * generated code calls and what is compiled here cannot drift apart. The contracts stand in
 * the table. */
#ifndef HEDDLE_RUNTIME_CPU_HELPERS_H
#define HEDDLE_RUNTIME_CPU_HELPERS_H

#include "runtime/spec.h"
#include "templates/abi.h"

/* The kinds of the table as C types; they live only as long as the table is included. */
#define T                               struct hdd_thread *
#define P                               void *
#define V                               void
#define I32                             int32_t
#define I64                             int64_t
#define F64                             double
#define F32                             float
#define R_CALL(result, name, arguments) result name arguments;
#include "templates/rtcalls.def"
#undef T
#undef P
#undef V
#undef I32
#undef I64
#undef F64
#undef F32

static inline hd_i128 hdr_i128(int64_t lo, int64_t hi)
{
    return (hd_i128)(((hd_u128)(uint64_t)hi << 64) | (uint64_t)lo);
}

/* What hdr_substring and hdr_to_string write. */
struct hdr_string {
    const char *s;
    int64_t n;
};

/* Room for a string that lives as long as the execution and its result; NULL at the memory
 * limit (the failure is then set). The executor provides it. */
char *hdr_string_alloc(struct hdd_thread *t, size_t n);

/* Names and addresses for the linker of generated code: the helpers, then the few functions of
 * libc and the compiler's runtime that LLVM may call on its own. */
struct hdr_symbol {
    const char *name;
    void *address;
};
extern const struct hdr_symbol hdr_symbols[];
extern const int hdr_nsymbols;

#endif
