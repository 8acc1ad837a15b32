#include "tests/unit/codegen/codegen_fixture.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "runtime/base/strbuf.h"
#include "runtime/base/type.h"
#include "templates/slot.cuh"

/* --- building --- */

struct fx *fx_new(void)
{
    struct fx *x = calloc(1, sizeof *x);
    HD_ASSERT(x);
    hd_arena_init(&x->arena);
    x->prog.arena = &x->arena;
    x->prog.spec = &x->spec;
    x->prog.exprs = x->exprs;
    x->prog.pipelines = x->pipes;
    x->spec.args = x->args;
    x->spec.states = x->states;
    x->spec.pipelines = x->spipes;
    x->thread.local = x->local;
    x->thread.counters = x->counters;
    x->thread.exec = x;
    return x;
}

void fx_free(struct fx *x)
{
    if (x->jit)
        LLVMConsumeError(LLVMOrcDisposeLLJIT(x->jit));
    hd_arena_release(&x->arena);
    free(x);
}

int fx_arg(struct fx *x, enum rt_arg_kind kind, enum rt_phys p, hd_i128 v)
{
    int i = x->spec.nargs++, w = x->spec.nwords;
    HD_ASSERT(i < FX_ARGS && w + 2 < FX_WORDS);
    x->args[i] = (struct rt_arg){.kind = kind, .phys = p, .word = w};
    x->words[w] = (uint64_t)v;
    x->words[w + 1] = (uint64_t)((hd_u128)v >> 64);
    x->spec.nwords += 2;
    return i;
}

int fx_arg_ptr(struct fx *x, enum rt_arg_kind kind, const void *p)
{
    return fx_arg(x, kind, RT_I64, (hd_i128)(uintptr_t)p);
}

static int expr(struct fx *x, struct pl_expr e)
{
    HD_ASSERT(x->prog.nexprs < FX_EXPRS);
    x->exprs[x->prog.nexprs] = e;
    return x->prog.nexprs++;
}

int fx_col(struct fx *x, int slot)
{
    return expr(
        x, (struct pl_expr){
               .op = FE_COL, .phys = x->p->slots[slot].phys, .slot = slot, .nullable = x->p->slots[slot].nullable});
}

int fx_int(struct fx *x, enum rt_phys p, hd_i128 v)
{
    int arg = fx_arg(x, RT_ARG_CONST, p, v);
    return expr(x, (struct pl_expr){.op = FE_LIT, .phys = p, .arg = arg});
}

int fx_f64(struct fx *x, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, 8);
    return fx_int(x, RT_F64, (hd_i128)bits);
}

int fx_str(struct fx *x, const char *s)
{
    int arg = fx_arg(x, RT_ARG_CONST, RT_STR, (hd_i128)((hd_u128)strlen(s) << 64 | (uintptr_t)s));
    return expr(x, (struct pl_expr){.op = FE_LIT, .phys = RT_STR, .arg = arg});
}

int fx_null(struct fx *x, enum rt_phys p)
{
    return expr(x, (struct pl_expr){.op = FE_LIT, .phys = p, .is_null = true, .nullable = true, .arg = -1});
}

static int op(struct fx *x, enum fe_op o, enum rt_phys p, int n, va_list ap)
{
    int *args = HD_NEWN(&x->arena, int, n + 1);
    bool nullable = false;
    for (int i = 0; i < n; i++) {
        args[i] = va_arg(ap, int);
        nullable = nullable || x->exprs[args[i]].nullable;
    }
    return expr(
        x, (struct pl_expr){
               .op = o, .phys = p, .nargs = n, .args = args, .scale = -1, .nullable = nullable && o != FE_IS_NULL});
}

int fx_op(struct fx *x, enum fe_op o, enum rt_phys p, int n, ...)
{
    va_list ap;
    va_start(ap, n);
    int e = op(x, o, p, n, ap);
    va_end(ap);
    return e;
}

int fx_op_fail(struct fx *x, enum fe_op o, enum rt_phys p, int path, int n, ...)
{
    va_list ap;
    va_start(ap, n);
    int e = op(x, o, p, n, ap);
    va_end(ap);
    x->exprs[e].fail = true;
    x->exprs[e].path = path;
    return e;
}

int fx_state(struct fx *x, enum rt_state_kind kind, int stride)
{
    int s = x->spec.nstates++;
    struct fx_store *st = &x->stores[s];
    x->states[s] = (struct rt_state){.kind = kind, .name = "s", .stride = stride, .limit = -1};
    x->states[s].fields = HD_NEWN(&x->arena, struct rt_field, FX_ITEMS);
    st->rows = hd_zalloc(&x->arena, 1 << 20);
    if (kind == RT_STATE_AGG_HASH) {
        fx_agg_alloc(x, s, 2);
        x->local[s] = &st->agg;
    } else if (kind == RT_STATE_AGG_SCALAR || kind == RT_STATE_AGG_DENSE) {
        st->dense.rows = st->rows;
        x->local[s] = &st->dense;
    } else {
        st->cursor.cur = st->cursor.end = st->rows;
        x->local[s] = &st->cursor;
    }
    return s;
}

int fx_field(struct fx *x, int state, enum rt_phys p, int offset, int valid_offset)
{
    struct rt_state *st = &x->states[state];
    st->fields[st->nfields] = (struct rt_field){.name = "f", .phys = p, .offset = offset, .valid_offset = valid_offset};
    return st->nfields++;
}

struct pl_pipeline *fx_pipeline(struct fx *x, enum rt_source_kind source)
{
    int i = x->prog.npipelines++;
    x->spec.npipelines = x->prog.npipelines;
    x->p = &x->pipes[i];
    x->spipes[i].name = "p";
    x->spipes[i].source = source;
    x->p->spec = &x->spipes[i];
    x->p->slots = HD_NEWN(&x->arena, struct pl_slot, FX_ITEMS);
    x->p->steps = HD_NEWN(&x->arena, struct pl_step, FX_ITEMS);
    x->p->sink.outs = HD_NEWN(&x->arena, struct pl_out, FX_ITEMS);
    x->p->sink.index = -1;
    x->p->nlevels = 1;
    fx_slot(x, RT_I32, false);
    return x->p;
}

int fx_slot(struct fx *x, enum rt_phys p, bool nullable)
{
    x->p->slots[x->p->nslots] = (struct pl_slot){.name = "c", .phys = p, .nullable = nullable};
    return x->p->nslots++;
}

struct pl_step *fx_step(struct fx *x, enum pl_step_kind kind, int slot)
{
    struct pl_step *s = &x->p->steps[x->p->nsteps++];
    *s = (struct pl_step){.kind = kind, .slot = slot, .expr = -1, .row_slot = -1, .level = x->p->nlevels - 1};
    s->a_data = s->a_valid = s->a_base = s->a_factor = s->a_text_base = s->a_text_bytes = -1;
    s->a_rows = s->a_nrows = s->a_range = s->a_min = s->a_bits = s->a_offsets = -1;
    s->a_slots = s->a_mask = s->a_matches = s->a_child_rows = -1;
    return s;
}

void fx_let(struct fx *x, int slot, int e)
{
    fx_step(x, PL_STEP_LET, slot)->expr = e;
}

void fx_filter(struct fx *x, int e)
{
    fx_step(x, PL_STEP_FILTER, -1)->expr = e;
}

struct pl_out *fx_out(struct fx *x, int field, int e, enum fe_agg_fn fn)
{
    struct pl_out *o = &x->p->sink.outs[x->p->sink.nouts++];
    *o = (struct pl_out){.field = field, .expr = e, .fn = fn};
    return o;
}

struct fe_table *fx_table(struct fx *x, int ncols)
{
    struct fe_table *t = HD_NEW(&x->arena, struct fe_table);
    t->name = "t";
    t->rows = 100000; /* neither tiny nor less than a tile */
    t->ncols = ncols;
    t->cols = HD_NEWN(&x->arena, struct fe_table_column, ncols);
    return t;
}

struct fe_table_column *fx_column(struct fe_table *t, int c, enum fe_storage st, int width, const void *data,
                                  const uint8_t *validity)
{
    t->cols[c] = (struct fe_table_column){.name = "c", .storage = st, .width = width, .factor = 1};
    t->cols[c].at.data = data;
    t->cols[c].at.validity = validity;
    return &t->cols[c];
}

struct pl_step *fx_load(struct fx *x, int slot, const struct fe_table *t, int c, int row_slot)
{
    const struct fe_table_column *col = &t->cols[c];
    struct pl_step *s = fx_step(x, PL_STEP_LOAD_COLUMN, slot);
    if (row_slot == x->p->source_slot)
        x->p->spec->table = t;
    s->table = t;
    s->column = c;
    s->row_slot = row_slot;
    s->a_data = fx_arg_ptr(x, RT_ARG_COL_DATA, col->at.data);
    if (col->at.validity)
        s->a_valid = fx_arg_ptr(x, RT_ARG_COL_VALID, col->at.validity);
    if (col->storage == FE_STORE_INT && (col->base != 0 || col->factor != 1)) {
        s->a_base = fx_arg(x, RT_ARG_COL_BASE, x->p->slots[slot].phys, col->base);
        s->a_factor = fx_arg(x, RT_ARG_COL_FACTOR, x->p->slots[slot].phys, col->factor);
    }
    if (col->storage == FE_STORE_TEXT) {
        s->a_text_base = fx_arg_ptr(x, RT_ARG_COL_TEXT_BASE, col->at.text_base);
        s->a_text_bytes = fx_arg_ptr(x, RT_ARG_COL_TEXT_BYTES, col->at.text_bytes);
    }
    return s;
}

void fx_open_level(struct fx *x, int n, ...)
{
    struct pl_level *lv = &x->p->levels[x->p->nlevels++];
    va_list ap;
    lv->first_step = x->p->nsteps;
    lv->nslots = n;
    lv->slots = HD_NEWN(&x->arena, int, n + 1);
    va_start(ap, n);
    for (int i = 0; i < n; i++)
        lv->slots[i] = va_arg(ap, int);
    va_end(ap);
}

/* --- compiling and running --- */

static void must(LLVMErrorRef e)
{
    if (e)
        HD_BUG("LLVM: %s", LLVMGetErrorMessage(e));
}

static LLVMTargetMachineRef host_machine(void)
{
    char *triple = LLVMGetDefaultTargetTriple(), *msg = NULL;
    LLVMTargetRef target;
    HD_ASSERT(!LLVMGetTargetFromTriple(triple, &target, &msg));
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    LLVMTargetMachineRef tm = LLVMCreateTargetMachine(target, triple, cpu, features, LLVMCodeGenLevelDefault,
                                                      LLVMRelocPIC, LLVMCodeModelJITDefault);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return tm;
}

static void define_helpers(LLVMOrcLLJITRef jit)
{
    enum { ROOM = 128 };
    LLVMOrcCSymbolMapPair pairs[ROOM];
    HD_ASSERT(fx_nhelpers <= ROOM);
    for (size_t i = 0; i < fx_nhelpers; i++) {
        pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit, fx_helpers[i].name);
        pairs[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)fx_helpers[i].address;
        pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported;
        pairs[i].Sym.Flags.TargetFlags = 0;
    }
    LLVMOrcJITDylibRef main = LLVMOrcLLJITGetMainJITDylib(jit);
    must(LLVMOrcJITDylibDefine(main, LLVMOrcAbsoluteSymbols(pairs, fx_nhelpers)));
    LLVMOrcDefinitionGeneratorRef gen;
    must(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&gen, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL));
    LLVMOrcJITDylibAddGenerator(main, gen);
}

static void optimise(LLVMModuleRef mod, LLVMTargetMachineRef tm)
{
    if (getenv("HEDDLE_TEST_O0"))
        return;
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetVerifyEach(o, true);
    must(LLVMRunPasses(mod, "default<O2>", tm, o));
    LLVMDisposePassBuilderOptions(o);
}

static void dump(struct fx *x)
{
    struct hd_strbuf text;
    struct hd_err err;
    hd_err_init(&err);
    hd_strbuf_init(&text);
    int rc = cg_llvm_print(&text, &x->prog, &x->opt, &err);
    if (getenv("HEDDLE_TEST_PRINT"))
        fprintf(stderr, "%s\n", text.s);
    if (rc)
        HD_BUG("%s\n%s", err.message, err.detail ? err.detail : "");
    hd_strbuf_release(&text);
}

void fx_compile(struct fx *x)
{
    struct hd_err err;
    hd_err_init(&err);
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    pl_choose_evaluation(&x->arena, x->exprs, x->prog.nexprs, x->args);
    x->p->cpu_tile = pl_cpu_tile(&x->arena, x->exprs, x->p, x->tile_steps);
    dump(x);
    HD_ASSERT(cg_llvm_emit(&x->arena, &x->prog, &x->opt, &x->art, &err) == 0);
    LLVMOrcThreadSafeContextRef tsc = LLVMOrcCreateNewThreadSafeContext();
    LLVMMemoryBufferRef buf = LLVMCreateMemoryBufferWithMemoryRangeCopy(x->art.bytes, x->art.size, "m");
    LLVMModuleRef mod;
    HD_ASSERT(!LLVMParseBitcodeInContext2(LLVMOrcThreadSafeContextGetContext(tsc), buf, &mod));
    LLVMDisposeMemoryBuffer(buf);
    LLVMTargetMachineRef tm = host_machine();
    LLVMTargetDataRef dl = LLVMCreateTargetDataLayout(tm);
    LLVMSetModuleDataLayout(mod, dl);
    LLVMDisposeTargetData(dl);
    optimise(mod, tm);
    LLVMOrcLLJITRef jit;
    must(LLVMOrcCreateLLJIT(&jit, NULL));
    x->jit = jit;
    define_helpers(jit);
    LLVMOrcThreadSafeModuleRef tsm = LLVMOrcCreateNewThreadSafeModule(mod, tsc);
    must(LLVMOrcLLJITAddLLVMIRModule(jit, LLVMOrcLLJITGetMainJITDylib(jit), tsm));
    LLVMOrcDisposeThreadSafeContext(tsc);
    LLVMDisposeTargetMachine(tm);
}

int fx_run(struct fx *x, int pipeline, int64_t begin, int64_t end)
{
    LLVMOrcExecutorAddress at;
    x->pipeline_now = pipeline;
    must(LLVMOrcLLJITLookup(x->jit, &at, x->spipes[pipeline].entry));
    x->thread.failure = 0;
    x->thread.failure_path = -1;
    return ((fx_entry *)(uintptr_t)at)(x->words, &x->thread, begin, end);
}

size_t fx_nrows(struct fx *x, int state)
{
    const struct fx_store *s = &x->stores[state];
    if (x->states[state].kind == RT_STATE_AGG_HASH)
        return s->agg.nrows;
    return (size_t)((char *)s->cursor.cur - s->rows) / (size_t)x->states[state].stride;
}

void *fx_row(struct fx *x, int state, size_t i)
{
    const struct fx_store *s = &x->stores[state];
    char *rows = x->states[state].kind == RT_STATE_AGG_HASH ? s->agg.rows : s->rows;
    return rows + i * (size_t)x->states[state].stride;
}

static uint64_t row_hash(struct fx *x, int state, size_t i)
{
    uint64_t h;
    memcpy(&h, fx_row(x, state, i), 8);
    return h;
}

/* Rows with one hash are taken to have one key: true of the small keys used here. */
void fx_finish_hash(struct fx *x, int state, int a_slots, int a_mask, int a_rows)
{
    size_t n = fx_nrows(x, state), stride = (size_t)x->states[state].stride;
    uint64_t mask = hd_pow2_ceil(2 * n + 1) - 1;
    uint64_t *slots = HD_NEWN(&x->arena, uint64_t, mask + 1);
    char *rows = hd_zalloc(&x->arena, (n + 1) * stride);
    bool *done = HD_NEWN(&x->arena, bool, n + 1);
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t h = row_hash(x, state, i), k = h & mask, begin = at;
        if (done[i])
            continue;
        for (size_t j = i; j < n; j++)
            if (row_hash(x, state, j) == h) {
                memcpy(rows + at++ * stride, fx_row(x, state, j), stride);
                done[j] = true;
            }
        while (slots[k])
            k = (k + 1) & mask;
        uint64_t count = at - begin;
        slots[k] = hdd_slot_word(h, begin, count > 1);
        if (count > 1)
            memcpy(rows + begin * stride, &count, sizeof count);
    }
    x->words[x->args[a_slots].word] = (uint64_t)(uintptr_t)slots;
    x->words[x->args[a_mask].word] = mask;
    x->words[x->args[a_rows].word] = (uint64_t)(uintptr_t)rows;
}
