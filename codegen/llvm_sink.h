/* Sinks: what a function keeps between rows, and the parts of llvm_sink.c and llvm_agg.c. The
 * state of a sink sits in memory that other code may see, so what changes with every row
 * (cursors, accumulators, words of bits) is kept in allocas, which become registers, and is
 * written back at the exit of the function and where the runtime takes over. Only one function
 * of a pipeline holds the sink, and it spawns nothing: no other code of this thread runs between
 * its first row and its exit. */
#ifndef HEDDLE_CODEGEN_LLVM_SINK_H
#define HEDDLE_CODEGEN_LLVM_SINK_H

#include "codegen/llvm_emit.h"

struct cg_sink {
    const struct pl_sink *s;
    const struct rt_state *st;
    LLVMValueRef local;         /* thread->local[state]; NULL for shared sinks */
    LLVMValueRef cur, end;      /* ROWS: the append cursor */
    LLVMValueRef word_no, word; /* BITMAP, DIRECT: word of bits being collected */
    LLVMValueRef rows;          /* AGG_SCALAR, AGG_DENSE: row 0 */
    LLVMValueRef image; /* AGG: copy of the current row, or of one row's contribution */
    LLVMValueRef *words; /* by out: its sum over a part of a loop over pairs, in 32 bits; NULL: in the image */
    LLVMValueRef group; /* clustered: index (-1) or row address (null) of the current group */
};

/* Value of an out, in the class of its field. */
static inline struct cg_val cg_out_value(struct cg_fn *f, const struct pl_out *o)
{
    enum rt_phys want = f->sink->st->fields[o->field].phys;
    enum rt_phys have = f->m->prog->exprs[o->expr].phys;
    struct cg_val v = cg_expr(f, o->expr);
    if (have != want)
        v.v = cg_int_cast(f, v.v, have, want);
    v.wide = NULL;
    return v;
}

/* A run of the outs on f->row, in a function of its own. */
void cg_sink_part(struct cg_fn *f, enum cg_function kind, const struct pl_part *p);

void cg_agg_open(struct cg_fn *f);
LLVMValueRef cg_dense_index(struct cg_fn *f);
void cg_agg_row(struct cg_fn *f);
void cg_agg_close(struct cg_fn *f);

/* llvm_agg_fold.c: accumulators. image: memory of this thread in the layout of the state's rows. */
void cg_fold_row(struct cg_fn *f, LLVMValueRef image); /* adds the current row */
void cg_fold_outs(struct cg_fn *f, int first, int end, LLVMValueRef image);
/* Adds an image to a row that other threads change as well, and marks the group as existing. */
void cg_fold_shared(struct cg_fn *f, LLVMValueRef row, LLVMValueRef image);
void cg_share_outs(struct cg_fn *f, int first, int end, LLVMValueRef row, LLVMValueRef image);
void cg_acc_copy(struct cg_fn *f, LLVMValueRef from, LLVMValueRef to);
void cg_words_open(struct cg_fn *f); /* in the entry block */
void cg_words_close(struct cg_fn *f, LLVMValueRef image);
void cg_acc_clear(struct cg_fn *f, LLVMValueRef image);

#endif
