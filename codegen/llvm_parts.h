/* Functions of framed pipelines: slots lie in memory, and functions of bounded size do what would else be one long
 * function. All take (args, thread, frame, row, other), of which they use what they need, and return one of the
 * outcomes below. llvm_part_calls.c calls them, llvm_parts.c has their bodies. */
#ifndef HEDDLE_CODEGEN_LLVM_PARTS_H
#define HEDDLE_CODEGEN_LLVM_PARTS_H

#include "codegen/llvm_emit.h"

/* What a function returns: go on, an error was raised, the row ends here (or keys differ). */
enum { CG_GO_ON, CG_FAILED, CG_ENDS };

/* Hashing and comparing the keys of a step, or of the sink. */
enum { CG_HASHED, CG_COMPARED };

struct cg_keys {
    int n;
    const struct rt_state *st;
    const struct pl_step *step; /* NULL: the sink */
};
struct cg_keys cg_keys_of(const struct cg_fn *f, int step); /* -1: of the sink */

/* An expression as a field of a row that is its value. */
struct rt_field cg_value_field(const struct pl_expr *e);

#endif
