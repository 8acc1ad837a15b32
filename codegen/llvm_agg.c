/* Aggregate sinks: which group a row belongs to, and where its accumulators are. One row per
 * thread, or a group that equal keys reach in runs, is worked on in an image (allocas, so
 * registers) and written back on change and at the exit; other groups are updated in memory. */
#include "codegen/llvm_build.h"
#include "codegen/llvm_sink.h"

#include "templates/abi.h"

static LLVMValueRef local_at(struct cg_fn *f, size_t offset)
{
    return l_at(f, f->sink->local, (int64_t)offset);
}

void cg_agg_open(struct cg_fn *f)
{
    struct cg_sink *k = f->sink;
    const struct pl_sink *s = k->s;
    if (s->kind == PL_SINK_AGG_DENSE && s->atomic) {
        k->rows = cg_arg_ptr(f, s->a_rows);
    } else {
        k->local = cg_thread_local(f, s->state);
        if (s->kind != PL_SINK_AGG_HASH)
            k->rows = l_load_const(f, f->m->ptr, local_at(f, offsetof(struct hdd_dense_local, rows)), 8);
    }
    if (s->kind == PL_SINK_AGG_SCALAR || s->clustered || s->atomic)
        k->image = cg_alloca(f, k->st->stride);
    if (s->kind == PL_SINK_AGG_SCALAR) {
        cg_acc_copy(f, k->rows, k->image);
        if (f->part.begin)
            cg_words_open(f);
    } else if (s->clustered) {
        k->group = cg_alloca(f, 8);
        l_store(f, s->kind == PL_SINK_AGG_HASH ? LLVMConstNull(f->m->ptr) : l_i64(f, -1), k->group, 8);
    }
}

/* --- dense groups --- */

LLVMValueRef cg_dense_index(struct cg_fn *f)
{
    int e = f->sink->s->index;
    struct cg_val v = cg_expr(f, e);
    if (v.valid)
        HD_BUG("the group index of %s may be NULL", f->pipeline->spec->name);
    return cg_int_cast(f, v.v, f->m->prog->exprs[e].phys, RT_I64);
}

static LLVMValueRef dense_row(struct cg_fn *f, LLVMValueRef index)
{
    return l_row(f, f->sink->rows, index, f->sink->st->stride);
}

/* Where a field says it, what is added does. */
static void mark_existing(struct cg_fn *f, LLVMValueRef row)
{
    if (rt_state_presence(f->sink->st) < 0)
        l_store(f, LLVMConstInt(f->m->i8, 1, false), row, 1);
}

/* Writes the image of the current dense group back, if there is one. */
static void dense_save(struct cg_fn *f)
{
    struct cg_sink *k = f->sink;
    LLVMBasicBlockRef on = l_block(f, "saved");
    LLVMValueRef index = l_load(f, f->m->i64, k->group, 8);
    l_need(f, l_icmp(f, LLVMIntSGE, index, l_i64(f, 0)), on, "save");
    if (k->s->atomic)
        cg_fold_shared(f, dense_row(f, index), k->image);
    else
        cg_acc_copy(f, k->image, dense_row(f, index));
    l_br(f, on);
    l_goto(f, on);
}

static void dense_clustered(struct cg_fn *f, LLVMValueRef index)
{
    struct cg_sink *k = f->sink;
    LLVMBasicBlockRef change = l_block(f, "change"), same = l_block(f, "same");
    l_cond(f, l_eq(f, index, l_load(f, f->m->i64, k->group, 8)), same, change);
    l_goto(f, change);
    dense_save(f);
    l_store(f, index, k->group, 8);
    if (k->s->atomic) {
        cg_acc_clear(f, k->image);
    } else {
        LLVMValueRef row = dense_row(f, index);
        mark_existing(f, row);
        cg_acc_copy(f, row, k->image);
    }
    l_br(f, same);
    l_goto(f, same);
    cg_fold_row(f, k->image);
}

static void dense(struct cg_fn *f)
{
    struct cg_sink *k = f->sink;
    LLVMValueRef index = cg_dense_index(f);
    if (k->s->clustered) {
        dense_clustered(f, index);
        return;
    }
    LLVMValueRef row = dense_row(f, index);
    if (k->s->atomic) {
        cg_acc_clear(f, k->image);
        cg_fold_row(f, k->image);
        cg_fold_shared(f, row, k->image);
    } else {
        mark_existing(f, row);
        cg_fold_row(f, row);
    }
}

void cg_agg_count(struct cg_fn *f, LLVMValueRef group, LLVMValueRef n)
{
    LLVMValueRef row = dense_row(f, group);
    const struct rt_field *fd = &f->sink->st->fields[f->sink->s->outs[0].field];
    struct cg_val count = cg_load_field(f, fd, row, false);
    mark_existing(f, row);
    count.v = l_add(f, count.v, cg_int_cast(f, n, RT_I64, fd->phys));
    cg_store_field(f, fd, count, row);
}

/* --- hashed groups --- */

static void eval_keys(struct cg_fn *f, struct cg_val *keys, enum rt_phys *phys)
{
    const struct cg_sink *k = f->sink;
    for (int i = 0; i < k->st->nkeys; i++) {
        HD_ASSERT(k->s->outs[i].field == i);
        keys[i] = cg_out_value(f, &k->s->outs[i]);
        phys[i] = k->st->fields[i].phys;
    }
}

static void store_keys(struct cg_fn *f, const struct cg_val *keys, LLVMValueRef row)
{
    const struct rt_state *st = f->sink->st;
    if (f->sink->s->nparts) {
        cg_call_outs(f, CG_FUNCTION_STORE, 0, st->nkeys, row, NULL);
        return;
    }
    for (int i = 0; i < st->nkeys; i++)
        cg_store_field(f, &st->fields[i], keys[i], row);
}

static LLVMValueRef hash_keys(struct cg_fn *f, const struct cg_val *keys, const enum rt_phys *phys)
{
    if (f->sink->s->nparts)
        return cg_call_hash(f, -1, NULL);
    return cg_hash(f, f->sink->st->nkeys, keys, phys);
}

static void need_equal_keys(struct cg_fn *f, LLVMValueRef row, const struct cg_val *keys, LLVMBasicBlockRef differ)
{
    const struct rt_state *st = f->sink->st;
    if (f->sink->s->nparts)
        cg_call_equal(f, -1, row, differ);
    else
        cg_keys_equal(f, st->nkeys, st->fields, row, keys, NULL, 0, differ);
}

static LLVMValueRef load_local(struct cg_fn *f, LLVMTypeRef t, size_t offset)
{
    return l_load(f, t, local_at(f, offset), 8);
}

/* Grows the table if it is full and then starts over; else adds a row to the empty slot. */
static LLVMValueRef insert(struct cg_fn *f, const struct cg_val *keys, LLVMValueRef hash, LLVMValueRef slot,
                           LLVMValueRef rows, LLVMBasicBlockRef retry)
{
    struct cg_mod *m = f->m;
    LLVMBasicBlockRef grow = l_block(f, "grow");
    LLVMValueRef n = load_local(f, m->i64, offsetof(struct hdd_agg_local, nrows));
    LLVMValueRef cap = load_local(f, m->i64, offsetof(struct hdd_agg_local, cap));
    l_rarely(f, l_eq(f, n, cap), grow, "add");
    LLVMValueRef row = l_row(f, rows, n, f->sink->st->stride);
    l_store(f, hash, row, 8);
    store_keys(f, keys, row);
    LLVMValueRef n1 = l_add(f, n, l_i64(f, 1));
    LLVMValueRef tag = l_and(f, hash, l_u64(f, 0xffffffff00000000ULL));
    l_store(f, l_or(f, tag, n1), slot, 8);
    l_store(f, n1, local_at(f, offsetof(struct hdd_agg_local, nrows)), 8);
    LLVMBasicBlockRef added = l_here(f);
    LLVMValueRef args[] = {f->thread, l_i32(f, f->sink->s->state)};
    l_goto(f, grow);
    cg_call_checked(f, CG_CALL_hdr_agg_grow, args, 2);
    l_br(f, retry);
    l_goto(f, added);
    return row;
}

/* Row of the key's group, made if it is new. */
static LLVMValueRef lookup(struct cg_fn *f, const struct cg_val *keys, const enum rt_phys *phys)
{
    struct cg_mod *m = f->m;
    const struct rt_state *st = f->sink->st;
    LLVMValueRef hash = hash_keys(f, keys, phys);
    LLVMBasicBlockRef start = l_block(f, "lookup"), walk = l_block(f, "walk");
    LLVMBasicBlockRef step = l_block(f, "step"), fresh = l_block(f, "fresh");
    l_br(f, start);
    l_goto(f, start);
    LLVMValueRef slots = load_local(f, m->ptr, offsetof(struct hdd_agg_local, slots));
    LLVMValueRef mask = load_local(f, m->i64, offsetof(struct hdd_agg_local, mask));
    LLVMValueRef rows = load_local(f, m->ptr, offsetof(struct hdd_agg_local, rows));
    LLVMValueRef first = l_and(f, hash, mask);
    l_br(f, walk);
    l_goto(f, walk);
    LLVMValueRef pos = l_phi(f, m->i64);
    LLVMValueRef slot = l_index(f, m->i64, slots, pos);
    LLVMValueRef e = l_load(f, m->i64, slot, 8);
    l_need(f, l_ne(f, e, l_i64(f, 0)), fresh, "used");
    LLVMValueRef differ = l_lshr(f, l_xor(f, e, hash), l_i64(f, 32));
    l_need(f, l_eq(f, differ, l_i64(f, 0)), step, "tagged");
    LLVMValueRef number = l_and(f, e, l_i64(f, 0xffffffffLL));
    LLVMValueRef found = l_row(f, rows, l_sub(f, number, l_i64(f, 1)), st->stride);
    need_equal_keys(f, found, keys, step);
    LLVMBasicBlockRef hit = l_here(f), group = l_block(f, "group");
    l_br(f, group);
    l_goto(f, step);
    LLVMValueRef next = l_and(f, l_add(f, pos, l_i64(f, 1)), mask);
    l_br(f, walk);
    l_incoming(pos, first, start);
    l_incoming(pos, next, step);
    l_goto(f, fresh);
    LLVMValueRef made = insert(f, keys, hash, slot, rows, start);
    LLVMBasicBlockRef added = l_here(f);
    l_br(f, group);
    l_goto(f, group);
    return l_phi2(f, m->ptr, found, hit, made, added);
}

/* Row addresses stay good while the function runs: only its own lookups make the runtime move
 * rows, and before each of them the image is written back. */
static void hash_save(struct cg_fn *f)
{
    struct cg_sink *k = f->sink;
    LLVMBasicBlockRef on = l_block(f, "saved");
    LLVMValueRef row = l_load(f, f->m->ptr, k->group, 8);
    l_need(f, LLVMBuildIsNotNull(f->b, row, ""), on, "save");
    cg_acc_copy(f, k->image, row);
    l_br(f, on);
    l_goto(f, on);
}

static void hash_clustered(struct cg_fn *f, const struct cg_val *keys, const enum rt_phys *phys)
{
    struct cg_sink *k = f->sink;
    LLVMBasicBlockRef change = l_block(f, "change"), same = l_block(f, "same");
    LLVMValueRef row = l_load(f, f->m->ptr, k->group, 8);
    l_need(f, LLVMBuildIsNotNull(f->b, row, ""), change, "current");
    need_equal_keys(f, k->image, keys, change);
    l_br(f, same);
    l_goto(f, change);
    hash_save(f);
    row = lookup(f, keys, phys);
    l_store(f, row, k->group, 8);
    store_keys(f, keys, k->image);
    cg_acc_copy(f, row, k->image);
    l_br(f, same);
    l_goto(f, same);
    cg_fold_row(f, k->image);
}

static void hashed(struct cg_fn *f)
{
    struct hd_arena *a = f->m->arena;
    int n = f->sink->st->nkeys;
    struct cg_val *keys = HD_NEWN(a, struct cg_val, n);
    enum rt_phys *phys = HD_NEWN(a, enum rt_phys, n);
    if (!f->sink->s->nparts)
        eval_keys(f, keys, phys);
    if (f->sink->s->clustered)
        hash_clustered(f, keys, phys);
    else
        cg_fold_row(f, lookup(f, keys, phys));
}

void cg_agg_row(struct cg_fn *f)
{
    if (f->sink->s->kind == PL_SINK_AGG_SCALAR)
        cg_fold_row(f, f->sink->image);
    else if (f->sink->s->kind == PL_SINK_AGG_DENSE)
        dense(f);
    else
        hashed(f);
}

void cg_agg_close(struct cg_fn *f)
{
    struct cg_sink *k = f->sink;
    cg_words_close(f, k->image);
    if (k->s->kind == PL_SINK_AGG_SCALAR)
        cg_acc_copy(f, k->image, k->rows);
    else if (k->s->clustered && k->s->kind == PL_SINK_AGG_DENSE)
        dense_save(f);
    else if (k->s->clustered)
        hash_save(f);
}
