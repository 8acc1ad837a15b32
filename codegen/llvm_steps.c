/* Steps that yield at most one output per input and look nothing up by key: loads, lets,
 * filters, match bits. Each leaves the builder where the row lives on; a row that ends goes to
 * f->next. */
#include "codegen/llvm_build.h"

/* --- columns --- */

static LLVMTypeRef stored_type(const struct cg_mod *m, int width)
{
    switch (width) {
    case 1: return m->i8;
    case 2: return m->i16;
    case 4: return m->i32;
    case 8: return m->i64;
    case 16: return m->i128;
    default: HD_BUG("stored width %d", width);
    }
}

/* Converts a stored integer to the slot's class; vectors alike. */
static LLVMValueRef fit(struct cg_fn *f, LLVMValueRef v, int width, enum rt_phys p, bool is_signed)
{
    int have = width * 8, want = cg_phys_bits(p);
    LLVMTypeRef t = cg_type(f, p);
    if (have > want)
        return l_trunc(f, v, t);
    if (have < want)
        return is_signed ? l_sext(f, v, t) : l_zext(f, v, t);
    return v;
}

/* value = base + factor * stored, of `width` bytes, in the ring of the slot's class: facts put the value itself
 * inside, so what is cut off on the way does not matter. */
static LLVMValueRef decode_int(struct cg_fn *f, const struct pl_step *s, LLVMValueRef stored, int width)
{
    const struct fe_table_column *c = &s->table->cols[s->column];
    enum rt_phys p = f->pipeline->slots[s->slot].phys;
    LLVMValueRef v = fit(f, stored, width, p, true);
    if (c->factor != 1) {
        HD_ASSERT(s->a_factor >= 0);
        v = l_mul(f, v, cg_arg_int(f, s->a_factor, p));
    }
    if (c->base != 0) {
        HD_ASSERT(s->a_base >= 0);
        v = l_add(f, v, cg_arg_int(f, s->a_base, p));
    }
    return v;
}

/* String r spans [end of r - 1, end of r) of its block, the first of a block starts at 0. */
static struct cg_val load_text(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row)
{
    struct cg_mod *m = f->m;
    LLVMValueRef ends = cg_arg_ptr(f, s->a_data), bytes = cg_arg_ptr(f, s->a_text_bytes);
    LLVMValueRef block = l_lshr(f, row, l_i64(f, FE_TEXT_BLOCK_SHIFT));
    LLVMValueRef in_block = l_and(f, row, l_i64(f, (1 << FE_TEXT_BLOCK_SHIFT) - 1));
    LLVMValueRef later = l_ne(f, in_block, l_i64(f, 0));
    LLVMValueRef before = l_sub(f, row, l_zext(f, later, m->i64));
    LLVMValueRef end = l_load_const(f, m->i32, l_index(f, m->i32, ends, row), 4);
    LLVMValueRef prev = l_load_const(f, m->i32, l_index(f, m->i32, ends, before), 4);
    LLVMValueRef start = l_select(f, later, prev, l_i32(f, 0));
    LLVMValueRef bases = cg_arg_ptr(f, s->a_text_base);
    LLVMValueRef base = l_load_const(f, m->i64, l_index(f, m->i64, bases, block), 8);
    LLVMValueRef off = l_add(f, base, l_zext(f, start, m->i64));
    return (struct cg_val){.v = l_index(f, m->i8, bytes, off), .len = l_sub(f, end, start)};
}

static struct cg_val load_stored(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row)
{
    const struct fe_table_column *c = &s->table->cols[s->column];
    enum rt_phys p = f->pipeline->slots[s->slot].phys;
    struct cg_val v = {0};
    if (c->storage == FE_STORE_TEXT)
        return load_text(f, s, row);
    bool real = c->storage == FE_STORE_F64 || c->storage == FE_STORE_F32;
    int width = c->width;
    if (c->bits) {
        v.v = cg_load_packed_values(f, s, row, &width);
        v.v = c->storage == FE_STORE_DICT ? fit(f, v.v, width, p, false) : decode_int(f, s, v.v, width);
        return v;
    }
    LLVMTypeRef t = real ? cg_scalar_type(f->m, p) : stored_type(f->m, width);
    LLVMValueRef at = l_index(f, t, cg_arg_ptr(f, s->a_data), row);
    if (f->lanes)
        t = LLVMVectorType(t, f->lanes);
    v.v = l_load_const(f, t, at, (unsigned)HD_MIN(width, 8));
    if (c->storage == FE_STORE_DICT)
        v.v = fit(f, v.v, width, p, false);
    else if (c->storage == FE_STORE_INT)
        v.v = decode_int(f, s, v.v, width);
    return v;
}

static LLVMValueRef load_valid(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row)
{
    LLVMValueRef bits = cg_arg_ptr(f, s->a_valid);
    LLVMValueRef at = l_index(f, f->m->i8, bits, l_lshr(f, row, l_i64(f, 3)));
    LLVMValueRef byte = l_load_const(f, f->m->i8, at, 1);
    LLVMValueRef shift = l_trunc(f, l_and(f, row, l_i64(f, 7)), f->m->i8);
    return l_trunc(f, l_lshr(f, byte, shift), f->m->i1);
}

static struct cg_val load_column(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row)
{
    struct cg_val v = load_stored(f, s, row);
    if (s->a_valid >= 0)
        v.valid = load_valid(f, s, row);
    return v;
}

/* The PL_CPU_VECTOR_ROWS validity bits that start at any row: one byte more may hold the last of them. */
static LLVMValueRef valid_bits(struct cg_fn *f, const struct pl_step *s, LLVMValueRef first)
{
    struct cg_mod *m = f->m;
    LLVMTypeRef word = LLVMIntTypeInContext(m->ctx, PL_CPU_VECTOR_ROWS), wide = m->i32;
    LLVMValueRef bits = cg_arg_ptr(f, s->a_valid), three = l_i64(f, 3);
    LLVMValueRef last = l_add(f, first, l_i64(f, PL_CPU_VECTOR_ROWS - 1));
    LLVMValueRef lo_at = l_index(f, m->i8, bits, l_lshr(f, first, three));
    LLVMValueRef hi_at = l_index(f, m->i8, bits, l_lshr(f, last, three));
    LLVMValueRef lo = l_zext(f, l_load_const(f, word, lo_at, 1), wide);
    LLVMValueRef hi = l_zext(f, l_load_const(f, m->i8, hi_at, 1), wide);
    LLVMValueRef both = l_or(f, lo, l_shl(f, hi, l_i32(f, PL_CPU_VECTOR_ROWS)));
    LLVMValueRef shift = l_trunc(f, l_and(f, first, l_i64(f, 7)), wide);
    return l_trunc(f, l_lshr(f, both, shift), word);
}

void cg_step_load_lanes(struct cg_fn *f, const struct pl_step *s, LLVMValueRef first)
{
    struct cg_val v = load_stored(f, s, first);
    if (s->a_valid >= 0)
        v.valid = l_bitcast(f, valid_bits(f, s, first), LLVMVectorType(f->m->i1, PL_CPU_VECTOR_ROWS));
    f->slots[s->slot] = v;
}

/* --- fields of states --- */

static struct cg_val load_direct(struct cg_fn *f, const struct pl_step *s, const struct rt_field *fd,
                                 LLVMValueRef index)
{
    LLVMValueRef at = l_row(f, cg_arg_ptr(f, s->a_data), index, cg_phys_size(fd->phys));
    struct cg_val v = cg_load(f, fd->phys, at, true);
    if (s->a_valid >= 0)
        v.valid = cg_load(f, RT_BOOL, l_index(f, f->m->i8, cg_arg_ptr(f, s->a_valid), index), true).v;
    return v;
}

static struct cg_val load_field(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row)
{
    const struct rt_state *st = &f->m->prog->spec->states[s->state];
    const struct rt_field *fd = &st->fields[s->field];
    if (st->kind == RT_STATE_DIRECT)
        return load_direct(f, s, fd, row);
    return cg_load_field(f, fd, l_row(f, cg_arg_ptr(f, s->a_rows), row, st->stride), true);
}

/* Nothing is read for the row -1 of a left join. */
static void step_load(struct cg_fn *f, const struct pl_step *s)
{
    enum rt_phys p = f->pipeline->slots[s->slot].phys;
    LLVMValueRef there = s->row_nullable ? l_not(f, cg_row_is_null(f, s->row_slot)) : NULL;
    struct cg_when w = cg_when_begin(f, there);
    LLVMValueRef row = cg_row_index(f, s->row_slot);
    struct cg_val v = s->kind == PL_STEP_LOAD_COLUMN ? load_column(f, s, row) : load_field(f, s, row);
    v = cg_when_end(f, &w, p, v);
    if (there && !f->pipeline->slots[s->slot].nullable) { /* a stored row id: no row leads to no row */
        v.v = l_select(f, v.valid, v.v, l_i32(f, -1));
        v.valid = NULL;
    }
    cg_bind(f, s->slot, v);
}

/* --- match bits --- */

static LLVMValueRef bit_of(struct cg_fn *f, LLVMValueRef index)
{
    return l_shl(f, l_i64(f, 1), l_and(f, index, l_i64(f, 63)));
}

/* Most matches of a skewed row find the bit set: only the first pays for the atomic. */
static void step_mark(struct cg_fn *f, const struct pl_step *s)
{
    LLVMBasicBlockRef on = l_block(f, "marked");
    if (s->row_nullable)
        l_need(f, l_not(f, cg_row_is_null(f, s->row_slot)), on, "mark");
    LLVMValueRef row = cg_row_index(f, s->row_slot), bit = bit_of(f, row);
    LLVMValueRef words = cg_arg_ptr(f, s->a_matches);
    LLVMValueRef at = l_index(f, f->m->i64, words, l_lshr(f, row, l_i64(f, 6)));
    LLVMValueRef have = l_load(f, f->m->i64, at, 8);
    LLVMSetOrdering(have, LLVMAtomicOrderingMonotonic);
    l_need(f, l_eq(f, l_and(f, have, bit), l_i64(f, 0)), on, "first");
    l_atomic(f, LLVMAtomicRMWBinOpOr, at, bit, LLVMAtomicOrderingMonotonic);
    l_br(f, on);
    l_goto(f, on);
}

static void step_test(struct cg_fn *f, const struct pl_step *s)
{
    LLVMValueRef row = cg_row_index(f, s->row_slot);
    LLVMValueRef hit = cg_test_bit(f, cg_arg_ptr(f, s->a_matches), row, true);
    l_need(f, s->negate ? l_not(f, hit) : hit, f->next, "tested");
}

static LLVMValueRef has_group(struct cg_fn *f, const struct rt_state *st, LLVMValueRef row)
{
    int field = rt_state_presence(st);
    if (field < 0)
        return l_ne(f, l_load_const(f, f->m->i8, row, 1), LLVMConstInt(f->m->i8, 0, false));
    struct cg_val v = cg_load_field(f, &st->fields[field], row, true);
    return l_ne(f, v.v, cg_const(f, st->fields[field].phys, 0));
}

static void step_present(struct cg_fn *f, const struct pl_step *s)
{
    const struct rt_state *st = &f->m->prog->spec->states[s->state];
    LLVMValueRef i = cg_row_index(f, s->row_slot), there;
    if (st->kind == RT_STATE_AGG_DENSE) {
        LLVMValueRef row = l_row(f, cg_arg_ptr(f, s->a_rows), i, st->stride);
        there = has_group(f, st, row);
    } else {
        there = cg_test_bit(f, cg_arg_ptr(f, s->a_bits), i, true);
    }
    l_need(f, there, f->next, "present");
}

/* All pairs of a run pass it. */
static bool ends_run(const struct cg_fn *f, const struct pl_step *s)
{
    const struct pl_loop *l = &f->pipeline->loop;
    long k = s - f->pipeline->steps;
    return cg_in_parts(f) && (k == l->last.step || k == l->first.step);
}

static void step_filter(struct cg_fn *f, const struct pl_step *s)
{
    if (ends_run(f, s))
        return;
    l_need(f, cg_true(f, cg_expr(f, s->expr)), f->next, "pass");
}

void cg_step(struct cg_fn *f, const struct pl_step *s)
{
    switch (s->kind) {
    case PL_STEP_LOAD_COLUMN:
    case PL_STEP_LOAD_FIELD: step_load(f, s); break;
    case PL_STEP_LET: cg_bind(f, s->slot, cg_expr(f, s->expr)); break;
    case PL_STEP_FILTER: step_filter(f, s); break;
    case PL_STEP_PROBE_KEY:
    case PL_STEP_PROBE_BITMAP:
    case PL_STEP_PROBE_DIRECT:
    case PL_STEP_PROBE_CHILD:
    case PL_STEP_PROBE_COLUMN:
    case PL_STEP_PROBE_HASH:
    case PL_STEP_PROBE_SORTED: cg_step_probe(f, s); break;
    case PL_STEP_FOLD:
    case PL_STEP_FOLD_PIECE: cg_fold_open(f, s); break;
    case PL_STEP_FOLD_ADD: cg_fold_add(f, s); break;
    case PL_STEP_FOLD_END: cg_fold_close(f); break;
    case PL_STEP_SEARCH: cg_step_search(f, s); break;
    case PL_STEP_MARK: step_mark(f, s); break;
    case PL_STEP_TEST: step_test(f, s); break;
    case PL_STEP_PRESENT: step_present(f, s); break;
#define T_LEVEL(id, ...) case PL_STEP_EXPAND_##id:
#include "planner/levels.def"
    case PL_STEP_COUNT: HD_BUG("step %d opens a level", (int)s->kind);
    }
}
