/* The predicates of a table scan, evaluated for CG_LANES rows at once. Loads and comparisons are
 * emitted as vectors of that many lanes, which LLVM cuts to what the machine has; the survivors
 * of a tile are the bits of one word, and the other steps run once per bit. After each filter a
 * tile without survivors is left, so later columns are touched only where they decide.
 *
 *   for each tile: word = all filters (vector; scalar for a last tile that is not full)
 *       for each bit of word: load again what later steps need, remaining steps, sink */
#include "codegen/llvm_build.h"

static bool loads_lanes(const struct pl_pipeline *p, const struct pl_step *s)
{
    const struct fe_table_column *c = &s->table->cols[s->column];
    enum rt_phys phys = p->slots[s->slot].phys;
    return s->row_slot == p->source_slot && !s->row_nullable && c->storage != FE_STORE_TEXT &&
           phys != RT_STR && phys != RT_I128 && c->width <= 8;
}

static bool step_lanes(const struct cg_fn *f, const struct pl_step *s)
{
    if (s->kind == PL_STEP_LOAD_COLUMN)
        return loads_lanes(f->pipe, s);
    if (s->kind == PL_STEP_LET || s->kind == PL_STEP_FILTER)
        return cg_expr_lanes(f->m, s->expr);
    return false;
}

/* Steps up to the last filter before the first step that does not work on vectors. */
static int tiled_steps(const struct cg_fn *f)
{
    int n = 0, most = HD_MIN(f->pipe->tile_steps, f->pipe->nsteps);
    for (int k = 0; k < most && step_lanes(f, &f->pipe->steps[k]); k++)
        if (f->pipe->steps[k].kind == PL_STEP_FILTER)
            n = k + 1;
    return n;
}

/* --- slots that survivors need again --- */

static void use_expr(const struct cg_fn *f, int e, bool *used)
{
    if (e < 0)
        return;
    const struct pl_expr *x = &f->m->prog->exprs[e];
    if (x->op == FE_COL)
        used[x->slot] = true;
    for (int i = 0; i < x->nargs; i++)
        use_expr(f, x->args[i], used);
}

static void use_row(int slot, bool *used)
{
    if (slot >= 0)
        used[slot] = true;
}

static void use_step(const struct cg_fn *f, const struct pl_step *s, bool *used)
{
    switch (s->kind) {
    case PL_STEP_LET:
    case PL_STEP_FILTER:
    case PL_STEP_PROBE_KEY:
    case PL_STEP_PROBE_BITMAP:
    case PL_STEP_PROBE_DIRECT:
    case PL_STEP_EXPAND_CSR: use_expr(f, s->expr, used); break;
    case PL_STEP_PROBE_HASH:
    case PL_STEP_EXPAND_HASH:
        for (int i = 0; i < s->nkeys; i++)
            use_expr(f, s->keys[i], used);
        break;
    case PL_STEP_LOAD_COLUMN:
    case PL_STEP_LOAD_FIELD:
    case PL_STEP_EXPAND_FK:
    case PL_STEP_MARK:
    case PL_STEP_TEST:
    case PL_STEP_PRESENT: use_row(s->row_slot, used); break;
    case PL_STEP_EXPAND_ALL:
    case PL_STEP_COUNT: break;
    }
}

static void use_sink(const struct cg_fn *f, bool *used)
{
    const struct pl_sink *s = &f->pipe->sink;
    bool indexed = s->kind == PL_SINK_BITMAP || s->kind == PL_SINK_DIRECT ||
                   s->kind == PL_SINK_AGG_DENSE || s->kind == PL_SINK_ARRAY;
    if (indexed || f->m->prog->spec->states[s->state].kind == RT_STATE_CSR)
        use_expr(f, s->index, used);
    for (int i = 0; i < s->nouts; i++)
        use_expr(f, s->outs[i].expr, used);
}

/* Among the first n steps, those whose slots later steps read, directly or through a LET. */
static bool *needed_steps(const struct cg_fn *f, int n)
{
    const struct pl_pipeline *p = f->pipe;
    bool *used = HD_NEWN(f->m->arena, bool, p->nslots + 1);
    bool *need = HD_NEWN(f->m->arena, bool, n);
    for (int k = n; k < p->nsteps; k++)
        use_step(f, &p->steps[k], used);
    use_sink(f, used);
    for (int k = n - 1; k >= 0; k--) {
        const struct pl_step *s = &p->steps[k];
        need[k] = s->kind != PL_STEP_FILTER && used[s->slot];
        if (need[k])
            use_step(f, s, used);
    }
    return need;
}

/* --- the word of survivors --- */

static void count_word(struct cg_fn *f, int counter, LLVMValueRef word)
{
    if (!f->m->opt->profile)
        return;
    LLVMValueRef n = word ? cg_intrinsic(f, "llvm.ctpop", f->m->i64, &word, 1)
                          : l_i64(f, CG_LANES);
    cg_count(f, counter, n);
}

/* A full tile; empty is where it goes when no row survives. */
static LLVMValueRef vector_word(struct cg_fn *f, int n, LLVMValueRef first,
                                LLVMBasicBlockRef empty)
{
    LLVMValueRef word = NULL;
    for (int k = 0; k < n; k++) {
        const struct pl_step *s = &f->pipe->steps[k];
        count_word(f, k, word);
        f->lanes = CG_LANES;
        if (s->kind == PL_STEP_LOAD_COLUMN) {
            cg_step_load_lanes(f, s, first);
        } else if (s->kind == PL_STEP_LET) {
            f->slots[s->slot] = cg_expr(f, s->expr);
        } else {
            LLVMValueRef pass = cg_true(f, cg_expr(f, s->expr));
            LLVMValueRef bits = l_bitcast(f, pass, f->m->i64);
            word = word ? l_and(f, word, bits) : bits;
        }
        f->lanes = 0;
        if (s->kind == PL_STEP_FILTER)
            l_need(f, l_ne(f, word, l_i64(f, 0)), empty, "left");
    }
    return word;
}

/* The rows first .. end of a tile that is not full, one by one. */
static LLVMValueRef scalar_word(struct cg_fn *f, int n, LLVMValueRef first, LLVMValueRef end)
{
    LLVMValueRef word = cg_alloca(f, 8);
    l_store(f, l_i64(f, 0), word, 8);
    struct cg_loop l = cg_loop_open(f, first, end);
    cg_bind_source(f, l.i);
    for (int k = 0; k < n; k++) {
        cg_count(f, k, NULL);
        cg_step(f, &f->pipe->steps[k]);
    }
    LLVMValueRef bit = l_shl(f, l_i64(f, 1), l_sub(f, l.i, first));
    l_store(f, l_or(f, l_load(f, f->m->i64, word, 8), bit), word, 8);
    l_br(f, f->next);
    cg_loop_close(f, &l);
    return l_load(f, f->m->i64, word, 8);
}

/* --- survivors --- */

static void survivors(struct cg_fn *f, int n, const bool *need, LLVMValueRef first,
                      LLVMValueRef word, LLVMBasicBlockRef advance)
{
    struct cg_mod *m = f->m;
    LLVMBasicBlockRef from = l_here(f), body = l_block(f, "bit"), latch = l_block(f, "nextbit");
    l_br(f, body);
    l_goto(f, body);
    LLVMValueRef left = l_phi(f, m->i64);
    l_incoming(left, word, from);
    LLVMValueRef args[] = {left, l_bool(f, true)};
    LLVMValueRef bit = cg_intrinsic(f, "llvm.cttz", m->i64, args, 2);
    f->next = latch;
    cg_bind_source(f, l_add(f, first, bit));
    for (int k = 0; k < n; k++)
        if (need[k])
            cg_step(f, &f->pipe->steps[k]);
    cg_steps_from(f, n);
    l_goto(f, latch);
    LLVMValueRef rest = l_and(f, left, l_sub(f, left, l_i64(f, 1)));
    l_incoming(left, rest, latch);
    l_cond(f, l_ne(f, rest, l_i64(f, 0)), body, advance);
}

bool cg_tile_loop(struct cg_fn *f)
{
    int n = tiled_steps(f);
    if (!n)
        return false;
    bool *need = needed_steps(f, n);
    LLVMBasicBlockRef from = l_here(f), tile = l_block(f, "tile"), full = l_block(f, "full");
    LLVMBasicBlockRef part = l_block(f, "part"), some = l_block(f, "some");
    LLVMBasicBlockRef advance = l_block(f, "advance");
    l_br(f, tile);
    l_goto(f, tile);
    LLVMValueRef first = l_phi(f, f->m->i64);
    l_incoming(first, f->begin, from);
    LLVMValueRef next = LLVMBuildNSWAdd(f->b, first, l_i64(f, CG_LANES), "");
    l_cond(f, l_icmp(f, LLVMIntSLE, next, f->end), full, part);
    l_goto(f, full);
    LLVMValueRef all = vector_word(f, n, first, advance);
    LLVMBasicBlockRef full_end = l_here(f);
    l_br(f, some);
    l_goto(f, part);
    LLVMValueRef few = scalar_word(f, n, first, f->end);
    l_need(f, l_ne(f, few, l_i64(f, 0)), advance, "few");
    LLVMBasicBlockRef part_end = l_here(f);
    l_br(f, some);
    l_goto(f, some);
    LLVMValueRef word = l_phi2(f, f->m->i64, all, full_end, few, part_end);
    survivors(f, n, need, first, word, advance);
    l_goto(f, advance);
    l_incoming(first, next, advance);
    l_cond(f, l_icmp(f, LLVMIntSLT, next, f->end), tile, f->exit);
    f->next = f->exit;
    return true;
}
