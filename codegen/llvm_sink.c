/* Sinks that store rows and bits, and the dispatch for all of them. */
#include "codegen/llvm_build.h"
#include "codegen/llvm_sink.h"

#include "templates/abi.h"

/* The sink's index; a row without one ends. */
static LLVMValueRef index_value(struct cg_fn *f)
{
    int e = f->sink->s->index;
    struct cg_val v = cg_expr(f, e);
    if (v.valid)
        l_need(f, v.valid, f->next, "indexed");
    return cg_int_cast(f, v.v, f->m->prog->exprs[e].phys, RT_I64);
}

/* --- ROWS --- */

static LLVMValueRef cursor_at(struct cg_fn *f, size_t offset)
{
    return l_at(f, f->sink->local, (int64_t)offset);
}

static void load_cursor(struct cg_fn *f)
{
    struct cg_mod *m = f->m;
    LLVMValueRef cur = l_load(f, m->ptr, cursor_at(f, offsetof(struct hdd_rows_local, cur)), 8);
    LLVMValueRef end = l_load(f, m->ptr, cursor_at(f, offsetof(struct hdd_rows_local, end)), 8);
    l_store(f, cur, f->sink->cur, 8);
    l_store(f, end, f->sink->end, 8);
}

static void save_cursor(struct cg_fn *f)
{
    LLVMValueRef cur = l_load(f, f->m->ptr, f->sink->cur, 8);
    l_store(f, cur, cursor_at(f, offsetof(struct hdd_rows_local, cur)), 8);
}

/* Address of the next row; the runtime makes room when a chunk is full. */
static LLVMValueRef next_row(struct cg_fn *f)
{
    LLVMBasicBlockRef grow = l_block(f, "grow");
    LLVMValueRef cur = l_load(f, f->m->ptr, f->sink->cur, 8);
    LLVMValueRef end = l_load(f, f->m->ptr, f->sink->end, 8);
    l_rarely(f, l_eq(f, cur, end), grow, "room");
    LLVMBasicBlockRef room = l_here(f);
    LLVMValueRef args[] = {f->thread, l_i32(f, f->sink->s->state)};
    l_goto(f, grow);
    save_cursor(f);
    cg_call_checked(f, CG_CALL_hdr_rows_grow, args, 2);
    load_cursor(f);
    l_br(f, room);
    l_goto(f, room);
    LLVMValueRef row = l_load(f, f->m->ptr, f->sink->cur, 8);
    l_store(f, l_at(f, row, f->sink->st->stride), f->sink->cur, 8);
    return row;
}

static LLVMValueRef hash_of_row(struct cg_fn *f, const struct cg_val *by_field)
{
    const struct rt_state *st = f->sink->st;
    enum rt_phys *phys = HD_NEWN(f->m->arena, enum rt_phys, st->nkeys);
    for (int i = 0; i < st->nkeys; i++) {
        HD_ASSERT(by_field[i].v);
        phys[i] = st->fields[i].phys;
    }
    return cg_hash(f, st->nkeys, by_field, phys);
}

/* The index of a CSR row, which a row without one ends at. */
static struct cg_val csr_index(struct cg_fn *f, struct cg_val v)
{
    const struct rt_state *st = f->sink->st;
    if (!v.v)
        v.v = index_value(f);
    if (v.valid && st->fields[0].valid_offset < 0)
        l_need(f, v.valid, f->next, "indexed");
    return v;
}

/* The fields that are not outs. */
static void copy_fields(struct cg_fn *f, LLVMValueRef row)
{
    const struct pl_sink *s = f->sink->s;
    for (int i = 0; i < s->ncopies; i++) {
        const struct pl_copy *c = &s->copies[i];
        LLVMValueRef to = l_at(f, row, c->to), size = l_i64(f, c->bytes);
        if (c->state < 0) {
            LLVMBuildMemSet(f->b, to, LLVMConstNull(f->m->i8), size, 1);
            continue;
        }
        LLVMValueRef from =
            l_row(f, cg_arg_ptr(f, c->a_rows), cg_row_index(f, c->row_slot), f->m->prog->spec->states[c->state].stride);
        LLVMBuildMemCpy(f->b, to, 1, l_at(f, from, c->from), 1, size);
    }
}

static void append_parts(struct cg_fn *f)
{
    const struct pl_sink *s = f->sink->s;
    const struct rt_state *st = f->sink->st;
    struct cg_val index = {0};
    for (int i = 0; i < s->nouts && st->kind == RT_STATE_CSR; i++)
        if (s->outs[i].field == 0)
            index = cg_out_value(f, &s->outs[i]);
    if (st->kind == RT_STATE_CSR)
        index = csr_index(f, index);
    LLVMValueRef hash = st->kind == RT_STATE_HASH ? cg_call_hash(f, -1, NULL) : NULL;
    LLVMValueRef row = next_row(f);
    if (hash)
        l_store(f, hash, row, 8);
    if (index.v)
        cg_store_field(f, &st->fields[0], index, row);
    cg_call_outs(f, CG_FUNCTION_STORE, 0, s->nouts, row, NULL);
    copy_fields(f, row);
}

static void append_row(struct cg_fn *f)
{
    const struct pl_sink *s = f->sink->s;
    const struct rt_state *st = f->sink->st;
    struct cg_val *by_field = HD_NEWN(f->m->arena, struct cg_val, st->nfields);
    for (int i = 0; i < s->nouts; i++)
        by_field[s->outs[i].field] = cg_out_value(f, &s->outs[i]);
    if (st->kind == RT_STATE_CSR)
        by_field[0] = csr_index(f, by_field[0]);
    LLVMValueRef hash = st->kind == RT_STATE_HASH ? hash_of_row(f, by_field) : NULL;
    LLVMValueRef row = next_row(f);
    if (hash)
        l_store(f, hash, row, 8);
    for (int i = 0; i < st->nfields; i++)
        if (by_field[i].v)
            cg_store_field(f, &st->fields[i], by_field[i], row);
    copy_fields(f, row);
}

/* --- BITMAP, DIRECT --- */

/* Bits collect in a register as long as they fall into one word: a scan in key order pays for
 * one atomic per word instead of one per row. */
static void flush_bits(struct cg_fn *f)
{
    LLVMBasicBlockRef on = l_block(f, "flushed");
    LLVMValueRef bits = l_load(f, f->m->i64, f->sink->word, 8);
    l_need(f, l_ne(f, bits, l_i64(f, 0)), on, "flush");
    LLVMValueRef no = l_load(f, f->m->i64, f->sink->word_no, 8);
    LLVMValueRef at = l_index(f, f->m->i64, cg_arg_ptr(f, f->sink->s->a_bits), no);
    l_atomic(f, LLVMAtomicRMWBinOpOr, at, bits, LLVMAtomicOrderingMonotonic);
    l_br(f, on);
    l_goto(f, on);
}

static void set_bit(struct cg_fn *f, LLVMValueRef index)
{
    struct cg_sink *k = f->sink;
    LLVMValueRef no = l_lshr(f, index, l_i64(f, 6));
    LLVMValueRef bit = l_shl(f, l_i64(f, 1), l_and(f, index, l_i64(f, 63)));
    LLVMBasicBlockRef other = l_block(f, "otherword"), same = l_block(f, "sameword");
    l_cond(f, l_eq(f, no, l_load(f, f->m->i64, k->word_no, 8)), same, other);
    l_goto(f, other);
    flush_bits(f);
    l_store(f, no, k->word_no, 8);
    l_store(f, l_i64(f, 0), k->word, 8);
    l_br(f, same);
    l_goto(f, same);
    l_store(f, l_or(f, l_load(f, f->m->i64, k->word, 8), bit), k->word, 8);
}

static void store_direct_outs(struct cg_fn *f, int first, int end, LLVMValueRef i)
{
    const struct pl_sink *s = f->sink->s;
    for (int k = first; k < end; k++) {
        enum rt_phys p = f->sink->st->fields[s->outs[k].field].phys;
        struct cg_val v = cg_out_value(f, &s->outs[k]);
        cg_store(f, p, v, l_row(f, cg_arg_ptr(f, s->a_fields[k]), i, cg_phys_size(p)));
        if (s->a_valids[k] >= 0) {
            struct cg_val valid = {.v = v.valid ? v.valid : l_bool(f, true)};
            cg_store(f, RT_BOOL, valid, l_index(f, f->m->i8, cg_arg_ptr(f, s->a_valids[k]), i));
        }
    }
}

static void store_direct(struct cg_fn *f)
{
    const struct pl_sink *s = f->sink->s;
    LLVMValueRef i = index_value(f);
    if (s->nparts)
        cg_call_outs(f, CG_FUNCTION_DIRECT, 0, s->nouts, NULL, NULL);
    else
        store_direct_outs(f, 0, s->nouts, i);
    set_bit(f, i);
}

static void store_outs(struct cg_fn *f, int first, int end, LLVMValueRef row)
{
    const struct pl_sink *s = f->sink->s;
    for (int k = first; k < end; k++)
        cg_store_field(f, &f->sink->st->fields[s->outs[k].field], cg_out_value(f, &s->outs[k]), row);
}

static void store_array(struct cg_fn *f)
{
    const struct pl_sink *s = f->sink->s;
    LLVMValueRef rows = cg_arg_ptr(f, s->a_rows);
    LLVMValueRef row = l_row(f, rows, index_value(f), f->sink->st->stride);
    if (s->nparts)
        cg_call_outs(f, CG_FUNCTION_STORE, 0, s->nouts, row, NULL);
    else
        store_outs(f, 0, s->nouts, row);
}

void cg_sink_part(struct cg_fn *f, enum cg_function kind, const struct pl_part *p)
{
    struct cg_sink k = {.s = &f->pipeline->sink};
    k.st = &f->m->prog->spec->states[k.s->state];
    f->sink = &k;
    if (kind == CG_FUNCTION_STORE)
        store_outs(f, p->first, p->end, f->row);
    else if (kind == CG_FUNCTION_DIRECT)
        store_direct_outs(f, p->first, p->end, index_value(f));
    else if (kind == CG_FUNCTION_FOLD)
        cg_fold_outs(f, p->first, p->end, f->row);
    else
        cg_share_outs(f, p->first, p->end, f->row, f->other);
    f->sink = NULL; /* the function holds none */
}

/* --- dispatch --- */

void cg_sink_open(struct cg_fn *f)
{
    struct cg_sink *k = HD_NEW(f->m->arena, struct cg_sink);
    const struct pl_sink *s = &f->pipeline->sink;
    f->sink = k;
    k->s = s;
    k->st = &f->m->prog->spec->states[s->state];
    LLVMBuilderRef saved = cg_enter(f);
    switch (s->kind) {
    case PL_SINK_BITMAP:
    case PL_SINK_DIRECT:
        k->word_no = cg_alloca(f, 8);
        k->word = cg_alloca(f, 8);
        l_store(f, l_i64(f, -1), k->word_no, 8);
        l_store(f, l_i64(f, 0), k->word, 8);
        break;
    case PL_SINK_ROWS:
        k->local = cg_thread_local(f, s->state);
        k->cur = cg_alloca(f, 8);
        k->end = cg_alloca(f, 8);
        load_cursor(f);
        break;
    case PL_SINK_AGG_SCALAR:
    case PL_SINK_AGG_DENSE:
    case PL_SINK_AGG_HASH: cg_agg_open(f); break;
    case PL_SINK_ARRAY: break;
    }
    f->b = saved;
}

void cg_sink_row(struct cg_fn *f)
{
    HD_ASSERT(!f->sink);
    cg_sink_open(f);
    switch (f->sink->s->kind) {
    case PL_SINK_BITMAP: set_bit(f, index_value(f)); break;
    case PL_SINK_DIRECT: store_direct(f); break;
    case PL_SINK_ROWS: f->sink->s->nparts ? append_parts(f) : append_row(f); break;
    case PL_SINK_AGG_SCALAR:
    case PL_SINK_AGG_DENSE:
    case PL_SINK_AGG_HASH: cg_agg_row(f); break;
    case PL_SINK_ARRAY: store_array(f); break;
    }
}

LLVMValueRef cg_agg_group(struct cg_fn *f)
{
    cg_sink_open(f);
    return cg_dense_index(f);
}

void cg_sink_close(struct cg_fn *f)
{
    if (!f->sink)
        return;
    switch (f->sink->s->kind) {
    case PL_SINK_BITMAP:
    case PL_SINK_DIRECT: flush_bits(f); break;
    case PL_SINK_ROWS: save_cursor(f); break;
    case PL_SINK_AGG_SCALAR:
    case PL_SINK_AGG_DENSE:
    case PL_SINK_AGG_HASH: cg_agg_close(f); break;
    case PL_SINK_ARRAY: break;
    }
}
