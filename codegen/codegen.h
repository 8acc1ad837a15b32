/* Code generators: pipelines in, artefacts out. An artefact is bytes: emission needs neither a
 * device nor the runtime, so dumping, caching and compile checks work anywhere. Emitters take
 * no decisions; everything they print follows from the pipeline IR (planner/pipeline.h).
 *
 * Generated code holds no data sizes, addresses or constants of the plan: those are words of
 * the args vector. It is specialised on the shape of the program only: operators, physical
 * types, stored widths, which of base and factor a column has, nullability, row layouts, kinds of
 * sinks, probes and key indexes, whether a foreign key lists its child rows, and three classes of
 * size: a source of few rows (pl_pipeline.unoptimised), a table that fills no tile, a set of at
 * most 32 integers. Equal shapes give equal bytes, so one cached object serves every scale. */
#ifndef HEDDLE_CODEGEN_CODEGEN_H
#define HEDDLE_CODEGEN_CODEGEN_H

#include "planner/pipeline.h"

struct hd_strbuf;

enum cg_artifact_kind { CG_LLVM_BITCODE };

struct cg_artifact {
    enum cg_artifact_kind kind;
    const void *bytes; /* in the arena */
    size_t size;
    int nfunctions; /* external ones; in the order of the pipelines */
    const struct rt_function *functions;
};

struct cg_options {
    bool profile; /* count rows per step in thread->counters */
    bool sanitize_address; /* mark functions for LLVM's sanitizer passes (the runtime runs them) */
    bool sanitize_thread;
};

/* Emits one module for the whole program as bitcode and fills entry and level_entry of the
 * spec's pipelines. Functions: i32 entry(args, thread, i64 begin, i64 end) and i32 level_entry(
 * args, thread, carried, i64 begin, i64 end); 0, or 1 once thread->failure is set. The bytes of
 * `carried` are private to the generated code: hdr_spawn copies as many as it is told, to memory
 * aligned to 16. Fails with class TOOL if LLVM refuses the module. */
int cg_llvm_emit(struct hd_arena *a, const struct pl_program *p, const struct cg_options *opt, struct cg_artifact *out,
                 struct hd_err *err);
/* The same module as text, with names of slots and steps. */
int cg_llvm_print(struct hd_strbuf *out, const struct pl_program *p, const struct cg_options *opt, struct hd_err *err);

#endif
