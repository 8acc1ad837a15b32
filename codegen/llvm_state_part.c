/* What a loop over pairs keeps while it is at one part of the state's rows (planner/loop_part.c): the values that its
 * pairs look at, side by side, and counts of pairs by group. Both lie in the entry function's frame; the level's
 * function, called for each row of the source, gets their addresses behind the row's tuple. */
#include "codegen/llvm_build.h"

enum { COUNT_BITS = 32, CARRIED_WORDS = 3 };

/* ---- columns ---------------------------------------------------------------------------------------------------- */

struct column {
    const struct pl_slot *slot;
    int slot_no, at; /* bytes from the first column */
};

static const struct pl_step *other(const struct cg_fn *f, int i)
{
    return &f->pipeline->steps[f->pipeline->levels[1].first_step + i];
}

/* The column of the others' i-th step; *at goes on behind it. */
static struct column column_at(const struct cg_fn *f, int i, int *at)
{
    int slot = other(f, i)->slot, rows = f->pipeline->loop.part_rows;
    struct column k = {&f->pipeline->slots[slot], slot, *at};
    *at += rows * (cg_phys_size(k.slot->phys) + k.slot->nullable);
    return k;
}

static int column_bytes(const struct cg_fn *f)
{
    int at = 0;
    for (int i = 0; i < f->pipeline->loop.others; i++)
        if (f->pipeline->loop.how[i] == PL_OTHER_COLUMN)
            column_at(f, i, &at);
    return at;
}

static LLVMValueRef value_at(struct cg_fn *f, const struct column *k, LLVMValueRef i)
{
    return l_index(f, cg_scalar_type(f->m, k->slot->phys), l_at(f, f->part.columns, k->at), i);
}

static LLVMValueRef valid_at(struct cg_fn *f, const struct column *k, LLVMValueRef i)
{
    int behind = k->at + f->pipeline->loop.part_rows * cg_phys_size(k->slot->phys);
    return l_index(f, f->m->i8, l_at(f, f->part.columns, behind), i);
}

static LLVMValueRef place_in_part(struct cg_fn *f, LLVMValueRef row)
{
    return LLVMBuildNSWSub(f->b, row, f->part.begin, "");
}

static void keep(struct cg_fn *f, const struct column *k, LLVMValueRef i)
{
    struct cg_val v = cg_slot(f, k->slot_no);
    cg_store(f, k->slot->phys, v, value_at(f, k, i));
    if (k->slot->nullable)
        cg_store(f, RT_BOOL, (struct cg_val){.v = v.valid ? v.valid : l_bool(f, true)}, valid_at(f, k, i));
}

void cg_part_fill(struct cg_fn *f)
{
    const struct pl_loop *p = &f->pipeline->loop;
    int at = 0;
    if (!column_bytes(f))
        return;
    struct cg_loop l = cg_loop_open(f, f->part.begin, f->part.end);
    cg_bind_child(f, other(f, -1), l.i);
    LLVMValueRef place = place_in_part(f, l.i);
    for (int i = 0; i < p->others; i++)
        cg_step(f, other(f, i));
    for (int i = 0; i < p->others; i++) {
        if (p->how[i] != PL_OTHER_COLUMN)
            continue;
        struct column k = column_at(f, i, &at);
        keep(f, &k, place);
    }
    l_br(f, l.latch);
    cg_loop_close(f, &l);
}

static void bind_column(struct cg_fn *f, const struct column *k, LLVMValueRef place)
{
    struct cg_val v = cg_load(f, k->slot->phys, value_at(f, k, place), true);
    if (k->slot->nullable)
        v.valid = cg_load(f, RT_BOOL, valid_at(f, k, place), true).v;
    cg_bind(f, k->slot_no, v);
}

int cg_part_others(struct cg_fn *f, LLVMValueRef row)
{
    const struct pl_loop *p = &f->pipeline->loop;
    int at = 0;
    cg_bind_child(f, other(f, -1), row);
    LLVMValueRef place = place_in_part(f, row);
    for (int i = 0; i < p->others; i++) {
        if (p->how[i] == PL_OTHER_AGAIN)
            cg_step(f, other(f, i));
        if (p->how[i] != PL_OTHER_COLUMN)
            continue;
        struct column k = column_at(f, i, &at);
        bind_column(f, &k, place);
    }
    return f->pipeline->levels[1].first_step + p->others;
}

/* ---- counts ----------------------------------------------------------------------------------------------------- */

/* Of group -1, which pairs have that did not pass, and of all others; copies of a group are neighbours. */
static int count_bytes(const struct cg_fn *f)
{
    int copies = f->pipeline->loop.part_copies;
    uint64_t groups = copies ? f->m->prog->spec->states[f->pipeline->sink.state].range + 1 : 0;
    return copies * (int)groups * (COUNT_BITS / 8);
}

static LLVMValueRef count_at(struct cg_fn *f, LLVMValueRef group, LLVMValueRef copy)
{
    LLVMValueRef row = l_mul(f, l_add(f, group, l_i64(f, 1)), l_i64(f, f->pipeline->loop.part_copies));
    return l_index(f, f->m->i32, f->part.counts, l_add(f, row, copy));
}

static void clear_counts(struct cg_fn *f)
{
    LLVMBuildMemSet(f->b, f->part.counts, LLVMConstNull(f->m->i8), l_i64(f, count_bytes(f)), 16);
}

/* A part has fewer pairs with the rows of a morsel than 32 bits count. */
void cg_part_count(struct cg_fn *f, int i, LLVMValueRef group)
{
    LLVMValueRef at = count_at(f, group, l_i64(f, i % f->pipeline->loop.part_copies));
    l_store(f, l_add(f, l_load(f, f->m->i32, at, 4), l_i32(f, 1)), at, 4);
}

void cg_part_flush(struct cg_fn *f)
{
    int copies = f->pipeline->loop.part_copies;
    if (!copies)
        return;
    if (!f->sink)
        cg_sink_open(f);
    LLVMValueRef groups = l_i64(f, (int64_t)f->m->prog->spec->states[f->pipeline->sink.state].range);
    struct cg_loop l = cg_loop_open(f, l_i64(f, 0), groups);
    LLVMValueRef n = l_i64(f, 0);
    for (int i = 0; i < copies; i++)
        n = l_add(f, n, l_zext(f, l_load(f, f->m->i32, count_at(f, l.i, l_i64(f, i)), 4), f->m->i64));
    l_need(f, l_ne(f, n, l_i64(f, 0)), l.latch, "counted");
    cg_agg_count(f, l.i, n);
    l_br(f, l.latch);
    cg_loop_close(f, &l);
    clear_counts(f);
}

/* ---- the part --------------------------------------------------------------------------------------------------- */

void cg_part_open(struct cg_fn *f)
{
    f->part.columns = cg_alloca(f, HD_MAX(column_bytes(f), 8));
    f->part.counts = cg_alloca(f, HD_MAX(count_bytes(f), 8));
    if (f->pipeline->loop.part_copies)
        clear_counts(f);
}

int cg_part_carry(struct cg_fn *f, int bytes, LLVMValueRef to)
{
    int at = (int)hd_align_up((size_t)bytes, 8);
    LLVMValueRef words[CARRIED_WORDS] = {f->part.begin, f->part.columns, f->part.counts};
    for (int i = 0; i < CARRIED_WORDS && to; i++)
        l_store(f, words[i], l_at(f, to, at + 8 * i), 8);
    return at + 8 * CARRIED_WORDS;
}

void cg_part_get(struct cg_fn *f, int bytes, LLVMValueRef from)
{
    int at = (int)hd_align_up((size_t)bytes, 8);
    f->part.begin = l_load(f, f->m->i64, l_at(f, from, at), 8);
    f->part.columns = l_load(f, f->m->ptr, l_at(f, from, at + 8), 8);
    f->part.counts = l_load(f, f->m->ptr, l_at(f, from, at + 16), 8);
}
