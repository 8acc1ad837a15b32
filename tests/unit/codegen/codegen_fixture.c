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

/* --- the stand-in for the runtime --- */

static struct fx *fx_of(struct hdd_thread *t)
{
    return t->exec;
}

static int32_t hdr_fail(struct hdd_thread *t, int32_t why, int32_t path)
{
    t->failure = why;
    t->failure_path = path;
    return 1;
}

/* Three rows more each time, so that every test crosses the boundary. */
static int32_t hdr_fail_value(struct hdd_thread *t, int32_t why, int32_t path, int64_t alo, int64_t ahi, int64_t blo,
                              int64_t bhi)
{
    t->told = 1;
    t->a_lo = (uint64_t)alo;
    t->a_hi = (uint64_t)ahi;
    t->b_lo = (uint64_t)blo;
    t->b_hi = (uint64_t)bhi;
    return hdr_fail(t, why, path);
}

static int32_t hdr_rows_grow(struct hdd_thread *t, int32_t state)
{
    struct fx *x = fx_of(t);
    struct fx_store *s = &x->stores[state];
    size_t stride = (size_t)x->states[state].stride;
    HD_ASSERT(s->cursor.cur == s->cursor.end);
    s->room += 3;
    HD_ASSERT(s->room * stride <= 1 << 20);
    s->cursor.end = s->rows + s->room * stride;
    s->grown++;
    return 0;
}

static void agg_alloc(struct fx *x, int state, size_t cap)
{
    struct hdd_agg_local *a = &x->stores[state].agg;
    a->cap = cap;
    a->mask = hd_pow2_ceil(cap * 2) - 1;
    a->slots = HD_NEWN(&x->arena, uint64_t, a->mask + 1);
    a->rows = hd_zalloc(&x->arena, cap * (size_t)x->states[state].stride);
}

static int32_t hdr_agg_grow(struct hdd_thread *t, int32_t state)
{
    struct fx *x = fx_of(t);
    struct hdd_agg_local *a = &x->stores[state].agg;
    size_t stride = (size_t)x->states[state].stride;
    char *old = a->rows;
    HD_ASSERT(a->nrows == a->cap);
    agg_alloc(x, state, a->cap * 2);
    memcpy(a->rows, old, a->nrows * stride);
    memset(old, 0xee, a->nrows * stride);
    for (uint64_t r = 0; r < a->nrows; r++) {
        uint64_t h, *slots = a->slots;
        memcpy(&h, (char *)a->rows + r * stride, 8);
        uint64_t i = h & a->mask;
        while (slots[i])
            i = (i + 1) & a->mask;
        slots[i] = (h >> 32) << 32 | (r + 1);
    }
    x->stores[state].grown++;
    return 0;
}

/* Two halves, each with a copy of the tuple, as if other threads ran them. */
static int32_t hdr_spawn(struct hdd_thread *t, int32_t level, void *carried, int64_t bytes, int64_t begin, int64_t end)
{
    struct fx *x = fx_of(t);
    const char *name = x->spipes[x->pipe_now].level_entry[level];
    LLVMOrcExecutorAddress at = 0;
    HD_ASSERT(name && !LLVMOrcLLJITLookup(x->jit, &at, name));
    fx_level *fn = (fx_level *)(uintptr_t)at;
    int64_t mid = begin + (end - begin) / 2;
    x->spawned++;
    int32_t rc = 0;
    for (int k = 0; k < 2 && !rc; k++) {
        void *copy = hd_dup(&x->arena, carried, (size_t)bytes);
        rc = fn(x->words, t, copy, k ? mid : begin, k ? end : mid);
    }
    return rc;
}

static int64_t hdr_hash_bytes(const void *p, int32_t n)
{
    uint64_t h = 5381;
    for (int32_t i = 0; i < n; i++)
        h = h * 33 + ((const unsigned char *)p)[i];
    return (int64_t)hdd_mix(h);
}

static int32_t hdr_str_cmp(const void *a, int32_t n, const void *b, int32_t m)
{
    int c = memcmp(a ? a : "", b ? b : "", (size_t)HD_MIN(n, m));
    return c ? (c > 0) - (c < 0) : (n > m) - (n < m);
}

/* Patterns of these tests are plain prefixes. */
static int32_t hdr_like(const char *pattern, const char *s, int32_t n)
{
    size_t m = strlen(pattern);
    return (size_t)n >= m && memcmp(s, pattern, m) == 0;
}

#define IN_SET(suffix, type) \
    static int32_t hdr_in_##suffix(const type *set, int64_t n, type v) \
    { \
        for (int64_t i = 0; i < n; i++) \
            if (set[i] == v) \
                return 1; \
        return 0; \
    }
IN_SET(i32, int32_t)
IN_SET(i64, int64_t)
IN_SET(f64, double)

static hd_i128 join(int64_t lo, int64_t hi)
{
    return (hd_i128)((hd_u128)(uint64_t)hi << 64 | (uint64_t)lo);
}

static int32_t hdr_in_i128(const hd_i128 *set, int64_t n, int64_t lo, int64_t hi)
{
    for (int64_t i = 0; i < n; i++)
        if (set[i] == join(lo, hi))
            return 1;
    return 0;
}

struct text {
    const char *s;
    int64_t n;
};

static int32_t hdr_in_str(const struct text *set, int64_t n, const char *s, int32_t len)
{
    for (int64_t i = 0; i < n; i++)
        if (hdr_str_cmp(set[i].s, (int32_t)set[i].n, s, len) == 0)
            return 1;
    return 0;
}

static int64_t hdr_extract_date(int32_t days, int32_t field)
{
    int f[3];
    hd_date_to_civil(days, &f[0], &f[1], &f[2]);
    return f[field];
}

static int64_t hdr_extract_ts(int64_t micros, int32_t field)
{
    return hdr_extract_date((int32_t)(micros / 86400000000LL), field);
}

static int32_t hdr_add_days(struct hdd_thread *t, int32_t d, int64_t n, int32_t path, int32_t *out)
{
    if (n > 100000)
        return hdr_fail(t, RT_FAIL_DATE_RANGE, path);
    *out = (int32_t)((uint32_t)d + (uint32_t)n);
    return 0;
}

static int32_t hdr_add_months(struct hdd_thread *t, int32_t d, int64_t n, int32_t path, int32_t *out)
{
    (void)t, (void)path;
    *out = hd_date_add_months(d, n);
    return 0;
}

static int32_t hdr_ts_add_days(struct hdd_thread *t, int64_t us, int64_t n, int32_t path, int64_t *out)
{
    (void)t, (void)path;
    *out = us + n * 86400000000LL;
    return 0;
}

static int32_t hdr_ts_add_months(struct hdd_thread *t, int64_t us, int64_t n, int32_t path, int64_t *out)
{
    (void)t, (void)path;
    *out = us + n;
    return 0;
}

static int32_t hdr_substring(struct hdd_thread *t, const char *s, int32_t n, int64_t start, int64_t len, int32_t path,
                             struct text *out)
{
    if (len < 0)
        return hdr_fail(t, RT_FAIL_SUBSTRING, path);
    int64_t b = HD_MIN(start - 1, n);
    *out = (struct text){s + b, HD_MIN(len, n - b)};
    return 0;
}

static int32_t ranged(struct hdd_thread *t, hd_i128 v, bool over, int32_t digits, int32_t path, hd_i128 *out)
{
    hd_i128 limit = hd_pow10(digits ? digits : 38) - 1;
    if (over || v > limit || v < -limit)
        return hdr_fail(t, RT_FAIL_OVERFLOW, path);
    *out = v;
    return 0;
}

static int32_t hdr_mul_i128(struct hdd_thread *t, int64_t al, int64_t ah, int64_t bl, int64_t bh, int32_t digits,
                            int32_t path, hd_i128 *out)
{
    hd_i128 r;
    bool over = __builtin_mul_overflow(join(al, ah), join(bl, bh), &r);
    return ranged(t, r, over, digits, path, out);
}

static int32_t hdr_div_dec(struct hdd_thread *t, int64_t al, int64_t ah, int64_t bl, int64_t bh, int32_t scale,
                           int32_t digits, int32_t path, hd_i128 *out)
{
    hd_i128 a = join(al, ah) * hd_pow10(scale), b = join(bl, bh);
    if (b == 0)
        return hdr_fail(t, RT_FAIL_DIV_ZERO, path);
    return ranged(t, a / b, false, digits, path, out);
}

static int32_t hdr_of_parts(struct hdd_thread *t, int64_t hl, int64_t hh, int64_t ll, int64_t lh, int64_t n,
                            int32_t scale, int32_t digits, int32_t path, hd_i128 *out)
{
    hd_i128 v = (join(hl, hh) * ((hd_i128)1 << 64) + join(ll, lh)) * hd_pow10(scale) / n;
    return ranged(t, v, digits == 0 && v != (int64_t)v, digits, path, out);
}

static int32_t hdr_rescale_i128(struct hdd_thread *t, int64_t lo, int64_t hi, int32_t scale, int32_t digits,
                                int32_t path, hd_i128 *out)
{
    hd_i128 v = join(lo, hi), r;
    bool over = __builtin_mul_overflow(v, hd_pow10(scale), &r);
    if (path == HDD_PATH_SATURATE) {
        over = over || r >= hd_pow10(38) || r <= -hd_pow10(38);
        *out = !over ? r : v < 0 ? -hd_pow10(38) : hd_pow10(38);
        return 0;
    }
    return ranged(t, r, over, digits, path, out);
}

static void hdr_div_round_i128(int64_t lo, int64_t hi, int32_t scale, hd_i128 *out)
{
    hd_i128 d = hd_pow10(scale), v = join(lo, hi);
    *out = (v < 0 ? v - d / 2 : v + d / 2) / d;
}

static int32_t hdr_mod_i128(struct hdd_thread *t, int64_t al, int64_t ah, int64_t bl, int64_t bh, int32_t path,
                            hd_i128 *out)
{
    if (join(bl, bh) == 0)
        return hdr_fail(t, RT_FAIL_DIV_ZERO, path);
    *out = join(al, ah) % join(bl, bh);
    return 0;
}

static double hdr_to_f64(int64_t lo, int64_t hi, int32_t scale)
{
    return (double)join(lo, hi) / (double)hd_pow10(scale);
}

static int32_t hdr_from_f64(struct hdd_thread *t, double v, int32_t scale, int32_t digits, int32_t bits, int32_t path,
                            hd_i128 *out)
{
    double r = round(v * (double)hd_pow10(scale));
    double limit = digits ? (double)hd_pow10(digits) : ldexp(1, bits - 1);
    if (!(r > -limit && r < limit))
        return hdr_fail(t, RT_FAIL_CAST_RANGE, path);
    *out = (hd_i128)r;
    return 0;
}

static int32_t hdr_to_text(struct hdd_thread *t, int64_t lo, int64_t hi, int32_t code, struct text *out)
{
    char *s = hd_asprintf(&fx_of(t)->arena, "%d:%lld:%lld", code & 255, (long long)hi, (long long)lo);
    *out = (struct text){s, (int64_t)strlen(s)};
    return 0;
}

static int32_t hdr_from_text(struct hdd_thread *t, const char *s, int32_t n, int32_t code, int32_t path, hd_i128 *out)
{
    int64_t v;
    (void)code;
    if (!hd_int_parse(s, (size_t)n, &v))
        return hdr_fail(t, RT_FAIL_CAST_TEXT, path);
    *out = v;
    return 0;
}

static const struct {
    const char *name;
    void *address;
} helpers[] = {
#define R_CALL(ret, name, args) {#name, (void *)name},
#include "templates/rtcalls.def"
};

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
    int arg = fx_arg(x, RT_ARG_CONST, RT_STR, join((int64_t)(uintptr_t)s, (int64_t)strlen(s)));
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
        agg_alloc(x, s, 2);
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

struct pl_pipeline *fx_pipe(struct fx *x, enum rt_source_kind source)
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
    enum { N = HD_COUNT(helpers) };
    LLVMOrcCSymbolMapPair pairs[N];
    for (int i = 0; i < N; i++) {
        pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit, helpers[i].name);
        pairs[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)helpers[i].address;
        pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported;
        pairs[i].Sym.Flags.TargetFlags = 0;
    }
    LLVMOrcJITDylibRef main = LLVMOrcLLJITGetMainJITDylib(jit);
    must(LLVMOrcJITDylibDefine(main, LLVMOrcAbsoluteSymbols(pairs, N)));
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

int fx_run(struct fx *x, int pipe, int64_t begin, int64_t end)
{
    LLVMOrcExecutorAddress at;
    x->pipe_now = pipe;
    must(LLVMOrcLLJITLookup(x->jit, &at, x->spipes[pipe].entry));
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
    struct hdd_hash_slot *slots = HD_NEWN(&x->arena, struct hdd_hash_slot, mask + 1);
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
        while (slots[k].count)
            k = (k + 1) & mask;
        slots[k] = (struct hdd_hash_slot){(int32_t)(h >> 32), (int32_t)(at - begin), begin};
    }
    x->words[x->args[a_slots].word] = (uint64_t)(uintptr_t)slots;
    x->words[x->args[a_mask].word] = mask;
    x->words[x->args[a_rows].word] = (uint64_t)(uintptr_t)rows;
}
