/* Accumulators of groups: adding a row to the image of a group, and an image to a shared group. */
#include "codegen/llvm_build.h"
#include "codegen/llvm_sink.h"

/* Outs from here on are accumulators; those before are keys. */
static int first_acc(const struct cg_fn *f)
{
    return f->sink->s->kind == PL_SINK_AGG_HASH ? f->sink->st->nkeys : 0;
}

static const struct rt_field *field_of(const struct cg_fn *f, const struct pl_out *o)
{
    return &f->sink->st->fields[o->field];
}

static bool is_count(const struct pl_out *o)
{
    return o->fn == FE_AGG_COUNT || o->fn == FE_AGG_COUNT_STAR;
}

/* What a row contributes to an out. */
static struct cg_val contribution(struct cg_fn *f, const struct pl_out *o)
{
    enum rt_phys p = field_of(f, o)->phys;
    if (!is_count(o))
        return cg_out_value(f, o);
    struct cg_val one = {.v = cg_const(f, p, 1)};
    if (o->fn == FE_AGG_COUNT && o->expr >= 0) {
        LLVMValueRef valid = cg_expr(f, o->expr).valid;
        if (valid)
            one.v = cg_int_cast(f, valid, RT_BOOL, p);
    }
    return one;
}

static void fold(struct cg_fn *f, const struct pl_out *o, LLVMValueRef row, struct cg_val x)
{
    cg_accumulate(f, o->fn, field_of(f, o), row, x);
}

/* ---- sums of 32 bits: vectors hold twice as many ---- */

void cg_words_open(struct cg_fn *f)
{
    const struct pl_sink *s = f->sink->s;
    f->sink->words = HD_NEWN(f->m->arena, LLVMValueRef, s->nouts + 1);
    for (int i = 0; i < s->nouts; i++) {
        if (!s->outs[i].word)
            continue;
        f->sink->words[i] = cg_alloca(f, 4);
        l_store(f, l_i32(f, 0), f->sink->words[i], 4);
    }
}

static void fold_word(struct cg_fn *f, const struct pl_out *o, LLVMValueRef word, LLVMValueRef row, struct cg_val x)
{
    const struct rt_field *fd = field_of(f, o);
    l_store(f, l_add(f, l_load(f, f->m->i32, word, 4), cg_int_cast(f, x.v, fd->phys, RT_I32)), word, 4);
    if (fd->valid_offset >= 0)
        cg_store(f, RT_BOOL, (struct cg_val){.v = l_bool(f, true)}, l_at(f, row, fd->valid_offset));
}

void cg_words_close(struct cg_fn *f, LLVMValueRef image)
{
    const struct pl_sink *s = f->sink->s;
    for (int i = 0; i < s->nouts && f->sink->words; i++) {
        if (!f->sink->words[i])
            continue;
        const struct rt_field *fd = field_of(f, &s->outs[i]);
        struct cg_val acc = cg_load_field(f, fd, image, false);
        LLVMValueRef word = l_load(f, f->m->i32, f->sink->words[i], 4);
        acc.v = l_add(f, acc.v, cg_int_cast(f, word, RT_I32, fd->phys));
        cg_store_field(f, fd, acc, image);
    }
}

void cg_fold_outs(struct cg_fn *f, int first, int end, LLVMValueRef image)
{
    const struct pl_sink *s = f->sink->s;
    struct cg_val *x = HD_NEWN(f->m->arena, struct cg_val, end - first + 1);
    /* Arguments before accumulators: they may branch, and share loads. */
    for (int i = first; i < end; i++)
        x[i - first] = contribution(f, &s->outs[i]);
    for (int i = first; i < end; i++) {
        LLVMValueRef word = f->sink->words ? f->sink->words[i] : NULL;
        if (word)
            fold_word(f, &s->outs[i], word, image, x[i - first]);
        else
            fold(f, &s->outs[i], image, x[i - first]);
    }
}

void cg_fold_row(struct cg_fn *f, LLVMValueRef image)
{
    const struct pl_sink *s = f->sink->s;
    if (s->nparts)
        cg_call_outs(f, CG_FUNCTION_FOLD, first_acc(f), s->nouts, image, NULL);
    else
        cg_fold_outs(f, first_acc(f), s->nouts, image);
}

/* Rows of a framed sink are copied whole: what lies around the accumulators is the same in both. */
void cg_acc_copy(struct cg_fn *f, LLVMValueRef from, LLVMValueRef to)
{
    const struct pl_sink *s = f->sink->s;
    LLVMValueRef size = l_i64(f, f->sink->st->stride);
    unsigned align = (unsigned)HD_MIN(rt_state_align(f->sink->st), 8);
    if (s->nparts)
        LLVMBuildMemCpy(f->b, to, align, from, align, size);
    for (int i = first_acc(f); !s->nparts && i < s->nouts; i++) {
        const struct rt_field *fd = field_of(f, &s->outs[i]);
        cg_store_field(f, fd, cg_load_field(f, fd, from, false), to);
    }
}

void cg_acc_clear(struct cg_fn *f, LLVMValueRef image)
{
    const struct pl_sink *s = f->sink->s;
    LLVMValueRef size = l_i64(f, f->sink->st->stride);
    if (s->nparts)
        LLVMBuildMemSet(f->b, image, LLVMConstNull(f->m->i8), size, 8);
    for (int i = first_acc(f); !s->nparts && i < s->nouts; i++) {
        const struct rt_field *fd = field_of(f, &s->outs[i]);
        struct cg_val zero = cg_zero(f, fd->phys);
        zero.valid = l_bool(f, false);
        cg_store_field(f, fd, zero, image);
    }
}

/* --- shared groups --- */

/* The low words are added first; what they carry, the high words add later. Sums commute, so
 * the total is exact once every thread is done. */
static void atomic_add_i128(struct cg_fn *f, LLVMValueRef at, LLVMValueRef v)
{
    LLVMValueRef w[2];
    cg_words(f, v, RT_I128, w);
    LLVMValueRef old = l_atomic(f, LLVMAtomicRMWBinOpAdd, at, w[0], LLVMAtomicOrderingMonotonic);
    LLVMValueRef carry = l_icmp(f, LLVMIntULT, l_add(f, old, w[0]), w[0]);
    LLVMValueRef hi = l_add(f, w[1], l_zext(f, carry, f->m->i64));
    l_atomic(f, LLVMAtomicRMWBinOpAdd, l_at(f, at, 8), hi, LLVMAtomicOrderingMonotonic);
}

static void atomic_add(struct cg_fn *f, const struct pl_out *o, LLVMValueRef row, LLVMValueRef v)
{
    const struct rt_field *fd = field_of(f, o);
    LLVMValueRef at = l_at(f, row, fd->offset);
    LLVMAtomicRMWBinOp op = fd->phys == RT_F64 ? LLVMAtomicRMWBinOpFAdd : LLVMAtomicRMWBinOpAdd;
    if (fd->phys == RT_I128) {
        atomic_add_i128(f, at, v);
        return;
    }
    if (fd->bytes) /* what its neighbours have is left alone */
        v = l_trunc(f, v, cg_narrow_type(f, fd));
    l_atomic(f, op, at, v, LLVMAtomicOrderingMonotonic);
}

static void store_atomic_byte(struct cg_fn *f, LLVMValueRef at, int v, LLVMAtomicOrdering order)
{
    LLVMValueRef st = LLVMBuildStore(f->b, LLVMConstInt(f->m->i8, (unsigned)v, false), at);
    LLVMSetAlignment(st, 1);
    LLVMSetOrdering(st, order);
}

static void shared_add(struct cg_fn *f, const struct pl_out *o, LLVMValueRef row, LLVMValueRef image)
{
    const struct rt_field *fd = field_of(f, o);
    struct cg_val x = cg_load_field(f, fd, image, false);
    LLVMBasicBlockRef on = NULL;
    if (x.valid) {
        on = l_block(f, "added");
        l_need(f, x.valid, on, "add");
        store_atomic_byte(f, l_at(f, row, fd->valid_offset), 1, LLVMAtomicOrderingMonotonic);
    }
    atomic_add(f, o, row, x.v);
    if (on) {
        l_br(f, on);
        l_goto(f, on);
    }
}

/* Byte 0 of a row: group exists; while a thread folds into it, it is taken. */
enum { ROW_EXISTS = 1, ROW_TAKEN = 2 };

static void load_row(struct cg_fn *f, LLVMValueRef row)
{
    LLVMBasicBlockRef spin = l_block(f, "spin"), mine = l_block(f, "mine");
    LLVMValueRef taken = LLVMConstInt(f->m->i8, ROW_TAKEN, false);
    l_br(f, spin);
    l_goto(f, spin);
    LLVMValueRef old = l_atomic(f, LLVMAtomicRMWBinOpXchg, row, taken, LLVMAtomicOrderingAcquire);
    l_cond(f, l_eq(f, old, taken), spin, mine);
    l_goto(f, mine);
}

static bool all_sums(const struct pl_sink *s)
{
    for (int i = 0; i < s->nouts; i++)
        if (!is_count(&s->outs[i]) && s->outs[i].fn != FE_AGG_SUM)
            return false;
    return true;
}

void cg_share_outs(struct cg_fn *f, int first, int end, LLVMValueRef row, LLVMValueRef image)
{
    const struct pl_sink *s = f->sink->s;
    bool sums = all_sums(s);
    for (int i = first; i < end; i++) {
        const struct pl_out *o = &s->outs[i];
        if (sums)
            shared_add(f, o, row, image);
        else
            fold(f, o, row, cg_load_field(f, field_of(f, o), image, false));
    }
}

static void share_all(struct cg_fn *f, LLVMValueRef row, LLVMValueRef image)
{
    const struct pl_sink *s = f->sink->s;
    if (s->nparts)
        cg_call_outs(f, CG_FUNCTION_SHARED, 0, s->nouts, row, image);
    else
        cg_share_outs(f, 0, s->nouts, row, image);
}

void cg_fold_shared(struct cg_fn *f, LLVMValueRef row, LLVMValueRef image)
{
    if (all_sums(f->sink->s)) {
        if (rt_state_presence(f->sink->st) < 0)
            store_atomic_byte(f, row, ROW_EXISTS, LLVMAtomicOrderingMonotonic);
        share_all(f, row, image);
        return;
    }
    /* A minimum and its valid byte change together: the row is locked for its few stores. */
    load_row(f, row);
    share_all(f, row, image);
    store_atomic_byte(f, row, ROW_EXISTS, LLVMAtomicOrderingRelease);
}
