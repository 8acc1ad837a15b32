/* Lookups: probes that yield at most one row, and the ranges of steps that open a level.
 * A lookup falls through on a hit and branches to its miss block otherwise; the kind of join
 * decides where that is and what becomes of the row there. */
#include "codegen/llvm_build.h"

#include "templates/slot.cuh"

static enum rt_phys phys_of(const struct cg_fn *f, int e)
{
    return f->m->prog->exprs[e].phys;
}

/* The step's expression as i64; a NULL is a miss. */
static LLVMValueRef key_value(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    struct cg_val v = cg_expr(f, s->expr);
    if (v.valid)
        l_need(f, v.valid, miss, "notnull");
    return cg_int_cast(f, v.v, phys_of(f, s->expr), RT_I64);
}

/* One comparison without sign covers both ends. */
static void need_in_range(struct cg_fn *f, const struct pl_step *s, LLVMValueRef index, LLVMBasicBlockRef miss)
{
    if (s->a_range >= 0)
        l_need(f, l_icmp(f, LLVMIntULT, index, cg_arg_word(f, s->a_range, 0)), miss, "inrange");
}

static struct cg_val row_val(struct cg_fn *f, LLVMValueRef wide)
{
    return (struct cg_val){.v = l_trunc(f, wide, f->m->i32), .wide = wide};
}

/* The bit of the value, the rows before its word, and the bits below it. */
static struct cg_val row_by_rank(struct cg_fn *f, const struct pl_step *s, LLVMValueRef i, LLVMBasicBlockRef miss)
{
    const LLVMValueRef one = l_i64(f, 1);
    LLVMValueRef at = l_index(f, f->m->i64, cg_arg_ptr(f, s->a_bits), l_lshr(f, i, l_i64(f, 5)));
    LLVMValueRef word = l_load_const(f, f->m->i64, at, 8);
    LLVMValueRef bit = l_shl(f, one, l_and(f, i, l_i64(f, FE_RANK_VALUES - 1)));
    l_need(f, l_ne(f, l_and(f, word, bit), l_i64(f, 0)), miss, "found");
    LLVMValueRef below = l_and(f, word, l_sub(f, bit, one));
    LLVMValueRef n = cg_intrinsic(f, "llvm.ctpop", f->m->i64, &below, 1);
    return row_val(f, l_add(f, l_lshr(f, word, l_i64(f, 32)), n));
}

static struct cg_val row_of_entry(struct cg_fn *f, const struct pl_step *s, LLVMValueRef i, LLVMBasicBlockRef miss)
{
    LLVMValueRef at = l_index(f, f->m->i32, cg_arg_ptr(f, s->a_rows), i);
    LLVMValueRef row1 = l_load_const(f, f->m->i32, at, 4);
    l_need(f, l_ne(f, row1, l_i32(f, 0)), miss, "found");
    return (struct cg_val){.v = l_sub(f, row1, l_i32(f, 1))};
}

static struct cg_val find_key(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    LLVMValueRef v = key_value(f, s, miss);
    LLVMValueRef i = l_sub(f, v, cg_arg_int(f, s->a_min, RT_I64));
    need_in_range(f, s, i, miss);
    switch (s->table->keyidx[s->index].kind) {
    case FE_INDEX_POSITIONAL: return row_val(f, i);
    case FE_INDEX_BITMAP: return row_by_rank(f, s, i, miss);
    case FE_INDEX_ARRAY: return row_of_entry(f, s, i, miss);
    case FE_INDEX_NONE: break;
    }
    HD_BUG("no key index");
}

/* BITMAP and DIRECT */
static struct cg_val find_bit(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    LLVMValueRef i = key_value(f, s, miss);
    need_in_range(f, s, i, miss);
    l_need(f, cg_test_bit(f, cg_arg_ptr(f, s->a_bits), i, true), miss, "found");
    return row_val(f, i);
}

/* NULLs miss unless they compare equal. */
static void eval_keys(struct cg_fn *f, const struct pl_step *s, struct cg_val *keys, LLVMBasicBlockRef miss)
{
    LLVMValueRef valid = NULL;
    for (int i = 0; i < s->nkeys; i++) {
        keys[i] = cg_expr(f, s->keys[i]);
        if (!pl_null_equal(s, i)) {
            valid = cg_both(f, valid, keys[i].valid);
            keys[i].valid = NULL;
        }
    }
    if (valid)
        l_need(f, valid, miss, "notnull");
}

/* Evaluates the keys, too. */
static LLVMValueRef key_hash(struct cg_fn *f, const struct pl_step *s, struct cg_val *keys, LLVMBasicBlockRef miss)
{
    enum rt_phys *phys = HD_NEWN(f->m->arena, enum rt_phys, s->nkeys);
    for (int i = 0; i < s->nkeys; i++)
        phys[i] = phys_of(f, s->keys[i]);
    eval_keys(f, s, keys, miss);
    return cg_hash(f, s->nkeys, keys, phys);
}

/* What a walk over the slots from hash & mask ends with: the slot of the key, the number and address of its first row. */
struct found_slot {
    LLVMValueRef slot, number, row;
};

static struct found_slot find_slot(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    struct cg_mod *m = f->m;
    const struct rt_state *st = &m->prog->spec->states[s->state];
    struct cg_val *keys = HD_NEWN(m->arena, struct cg_val, s->nkeys);
    HD_ASSERT(s->nkeys == st->nkeys);
    bool parts = s->key_parts;
    int step_number = (int)(s - f->pipeline->steps);
    LLVMValueRef h = parts ? cg_call_hash(f, step_number, miss) : key_hash(f, s, keys, miss);
    LLVMValueRef mask = cg_arg_word(f, s->a_mask, 0), slots = cg_arg_ptr(f, s->a_slots);
    LLVMValueRef tag = l_shl(f, h, l_i64(f, 32)), first = l_and(f, h, mask);
    LLVMBasicBlockRef from = l_here(f), walk = l_block(f, "walk"), step = l_block(f, "step");
    l_br(f, walk);
    l_goto(f, walk);
    LLVMValueRef pos = l_phi(f, m->i64);
    l_incoming(pos, first, from);
    LLVMValueRef slot = l_load_const(f, m->i64, l_index(f, m->i64, slots, pos), 8);
    l_need(f, l_ne(f, slot, l_i64(f, 0)), miss, "used");
    LLVMValueRef other = l_lshr(f, l_xor(f, slot, tag), l_i64(f, HDD_SLOT_TAG_SHIFT));
    l_need(f, l_eq(f, other, l_i64(f, 0)), step, "tagged");
    LLVMValueRef number = l_sub(f, l_and(f, slot, l_i64(f, UINT32_MAX)), l_i64(f, 1));
    LLVMValueRef row = l_row(f, cg_arg_ptr(f, s->a_rows), number, st->stride);
    if (parts)
        cg_call_equal(f, step_number, row, step);
    else
        cg_keys_equal(f, st->nkeys, st->fields, row, keys, s, 0, step);
    LLVMBasicBlockRef hit = l_here(f);
    l_goto(f, step);
    LLVMValueRef next = l_and(f, l_add(f, pos, l_i64(f, 1)), mask);
    l_br(f, walk);
    l_incoming(pos, next, step);
    l_goto(f, hit);
    return (struct found_slot){slot, number, row};
}

/* How many rows a key has lies in the line that was compared last: it is read without a branch. */
static struct cg_range hash_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    struct found_slot at = find_slot(f, s, miss);
    LLVMValueRef many = l_ne(f, l_and(f, at.slot, l_i64(f, (int64_t)HDD_SLOT_MANY)), l_i64(f, 0));
    LLVMValueRef count = l_select(f, many, l_load_const(f, f->m->i64, at.row, 8), l_i64(f, 1));
    return (struct cg_range){at.number, l_add(f, at.number, count)};
}

static const struct cg_val *keys_of(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    struct cg_val *keys = HD_NEWN(f->m->arena, struct cg_val, s->nkeys);
    eval_keys(f, s, keys, miss);
    return keys;
}

/* offsets[i] .. offsets[i + 1], of so many bytes each */
static struct cg_range offsets_range(struct cg_fn *f, const struct pl_step *s, LLVMValueRef i, int width)
{
    LLVMTypeRef type = width == 4 ? f->m->i32 : f->m->i64;
    LLVMValueRef at = l_index(f, type, cg_arg_ptr(f, s->a_offsets), i);
    LLVMValueRef begin = l_load_const(f, type, at, width), end = l_load_const(f, type, l_at(f, at, width), width);
    return (struct cg_range){l_zext(f, begin, f->m->i64), l_zext(f, end, f->m->i64)};
}

static struct cg_range fk_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    if (s->row_nullable)
        l_need(f, l_not(f, cg_row_is_null(f, s->row_slot)), miss, "parent");
    return offsets_range(f, s, cg_row_index(f, s->row_slot), s->table->fks[s->index].offset_width);
}

/* The value that is looked for, as it is stored. */
static LLVMValueRef wanted_value(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    return l_sub(f, key_value(f, s, miss), cg_arg_int(f, s->a_base, RT_I64));
}

/* Halves the children until one is left, the last one that is not greater, without a branch on what is read. */
static struct cg_val find_child(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    LLVMTypeRef word = f->m->i64;
    LLVMValueRef wanted = wanted_value(f, s, miss);
    struct cg_range r = fk_range(f, s, miss);
    l_need(f, l_icmp(f, LLVMIntSLT, r.begin, r.end), miss, "some");
    LLVMValueRef all = l_sub(f, r.end, r.begin);
    LLVMBasicBlockRef from = l_here(f), loop = l_block(f, "search"), half = l_block(f, "half"), end = l_block(f, "one");
    l_br(f, loop);
    l_goto(f, loop);
    LLVMValueRef at = l_phi(f, word), n = l_phi(f, word);
    l_incoming(at, r.begin, from);
    l_incoming(n, all, from);
    l_cond(f, l_icmp(f, LLVMIntSGT, n, l_i64(f, 1)), half, end);
    l_goto(f, half);
    LLVMValueRef step = l_lshr(f, n, l_i64(f, 1)), mid = l_add(f, at, step);
    LLVMValueRef next = l_select(f, l_icmp(f, LLVMIntSLE, cg_stored_at(f, s, mid), wanted), mid, at);
    LLVMSetMetadata(next, f->m->md_unpredictable, f->m->empty_node); /* else it becomes a branch */
    LLVMValueRef rest = l_sub(f, n, step);
    l_br(f, loop);
    l_incoming(at, next, half);
    l_incoming(n, rest, half);
    l_goto(f, end);
    l_need(f, l_eq(f, cg_stored_at(f, s, at), wanted), miss, "found");
    return row_val(f, at);
}

static struct cg_val find(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    if (s->kind == PL_STEP_PROBE_CHILD)
        return find_child(f, s, miss);
    if (s->kind == PL_STEP_PROBE_KEY)
        return find_key(f, s, miss);
    if (s->kind == PL_STEP_PROBE_HASH)
        return row_val(f, find_slot(f, s, miss).number);
    if (s->kind == PL_STEP_PROBE_SORTED)
        return row_val(f, cg_find_nearest(f, s, keys_of(f, s, miss), miss));
    if (s->kind == PL_STEP_PROBE_COLUMN)
        return row_val(f, cg_first_in_column(f, s, wanted_value(f, s, miss), miss));
    return find_bit(f, s, miss);
}

/* Both ways meet: the value is hit or none. */
static struct cg_val meet(struct cg_fn *f, LLVMBasicBlockRef miss, LLVMValueRef hit, LLVMValueRef none)
{
    LLVMBasicBlockRef from = l_here(f), join = l_block(f, "probed");
    l_br(f, join);
    l_goto(f, miss);
    l_br(f, join);
    l_goto(f, join);
    return (struct cg_val){.v = l_phi2(f, LLVMTypeOf(hit), hit, from, none, miss)};
}

void cg_step_probe(struct cg_fn *f, const struct pl_step *s)
{
    bool drops = s->probe == PL_INNER || s->probe == PL_SEMI;
    LLVMBasicBlockRef miss = drops ? f->next : l_block(f, "miss");
    struct cg_val row = find(f, s, miss);
    switch (s->probe) {
    case PL_INNER:
    case PL_SEMI: cg_bind(f, s->slot, row); break;
    case PL_ANTI:
        l_br(f, f->next);
        l_goto(f, miss);
        break;
    case PL_LEFT: cg_bind(f, s->slot, meet(f, miss, row.v, l_i32(f, -1))); break;
    case PL_MARK: cg_bind(f, s->slot, meet(f, miss, l_bool(f, true), l_bool(f, false))); break;
    }
}

/* --- ranges of children --- */

static struct cg_range csr_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    LLVMValueRef i = key_value(f, s, miss);
    need_in_range(f, s, i, miss);
    return offsets_range(f, s, i, (int)sizeof(uint64_t));
}

static struct cg_range column_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    LLVMValueRef wanted = wanted_value(f, s, miss), begin = cg_first_in_column(f, s, wanted, miss);
    return (struct cg_range){begin, cg_end_in_column(f, s, wanted, begin)};
}

static struct cg_range band_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    return cg_band_range(f, s, miss);
}

static struct cg_range all_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss HD_UNUSED)
{
    return (struct cg_range){l_i64(f, 0), cg_arg_word(f, s->a_nrows, 0)};
}

static struct cg_range later_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss HD_UNUSED)
{
    LLVMValueRef row = cg_row_index(f, s->row_slot);
    return (struct cg_range){l_add(f, row, l_i64(f, 1)), cg_arg_word(f, s->a_nrows, 0)};
}

static struct cg_range count_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    return (struct cg_range){l_i64(f, 0), key_value(f, s, miss)};
}

static struct cg_range sorted_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    return cg_sorted_range(f, s, miss);
}

static const struct {
    struct cg_range (*emit)(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss);
    enum { EMPTY, ROWS } found;
} ranges[] = {
#define T_LEVEL(id, text, reads, subject, children, range, found) [PL_STEP_EXPAND_##id] = {range##_range, found},
#include "planner/levels.def"
};

/* The range of children; not empty where the code goes on. */
static struct cg_range children(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    struct cg_range r = ranges[s->kind].emit(f, s, miss);
    if (ranges[s->kind].found == EMPTY)
        l_need(f, l_icmp(f, LLVMIntSLT, r.begin, r.end), miss, "some");
    return r;
}

struct cg_range cg_step_range(struct cg_fn *f, const struct pl_step *s)
{
    if (s->probe != PL_LEFT)
        return children(f, s, f->next);
    LLVMBasicBlockRef miss = l_block(f, "none");
    struct cg_range r = children(f, s, miss);
    LLVMBasicBlockRef from = l_here(f), join = l_block(f, "range");
    l_br(f, join);
    l_goto(f, miss);
    l_br(f, join);
    l_goto(f, join);
    LLVMValueRef begin = l_phi2(f, f->m->i64, r.begin, from, l_i64(f, -1), miss);
    LLVMValueRef end = l_phi2(f, f->m->i64, r.end, from, l_i64(f, 0), miss);
    return (struct cg_range){begin, end};
}

/* Of the children r those of a piece, of which the last one may be some `stride` in front of the end. */
static struct cg_range piece_of(struct cg_fn *f, const struct pl_step *s, struct cg_range r)
{
    LLVMValueRef number = cg_expr(f, s->expr).v, stride = l_i64(f, s->stride);
    LLVMValueRef block = LLVMBuildUDiv(f->b, number, stride, ""), lane = LLVMBuildURem(f->b, number, stride, "");
    LLVMValueRef rows = l_i64(f, (int64_t)s->stride * s->piece);
    LLVMValueRef begin = l_add(f, r.begin, l_add(f, l_mul(f, block, rows), lane)), end = l_add(f, begin, rows);
    return (struct cg_range){begin, l_select(f, l_icmp(f, LLVMIntSLT, end, r.end), end, r.end)};
}

struct cg_range cg_fold_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef none)
{
    struct cg_range r = fk_range(f, s, none);
    if (s->kind == PL_STEP_FOLD_PIECE)
        r = piece_of(f, s, r);
    l_need(f, l_icmp(f, LLVMIntSLT, r.begin, r.end), none, "children");
    return r;
}

void cg_bind_child(struct cg_fn *f, const struct pl_step *s, LLVMValueRef i)
{
    if (s->a_child_rows < 0) {
        cg_bind(f, s->slot, row_val(f, i)); /* -1 gives the null row */
        return;
    }
    bool left = s->probe == PL_LEFT;
    LLVMValueRef there = left ? l_icmp(f, LLVMIntSGE, i, l_i64(f, 0)) : NULL;
    LLVMValueRef rows = cg_arg_ptr(f, s->a_child_rows);
    struct cg_when w = cg_when_begin(f, there);
    struct cg_val v = {.v = l_load_const(f, f->m->i32, l_index(f, f->m->i32, rows, i), 4)};
    v = cg_when_end(f, &w, RT_I32, v);
    if (left)
        v.v = l_select(f, there, v.v, l_i32(f, -1));
    cg_bind(f, s->slot, (struct cg_val){.v = v.v});
}
