/* The predicates of a table scan, evaluated for a tile of PL_CPU_TILE_ROWS rows at a time. The survivors of
 * a tile are the bits of one word, and the other steps run once per bit. Neighbouring filters
 * form a group, which is a loop over vectors of PL_CPU_VECTOR_ROWS rows that LLVM cuts to what the machine
 * has; it is kept as a loop, because code for whole tiles takes several times as long to compile
 * and runs no faster. After each group a tile without survivors is left, so later columns are
 * touched only where they decide.
 *
 *   for each tile: word = all groups of filters
 *       searches for all bits of word (llvm_ahead.c)
 *       for each bit of word: load again what later steps need, remaining steps, sink
 *
 * There is no code for a tile that is not full: it is moved back by some rows, which the table
 * has, as tables of less than a tile are not scanned in this way, and their bits are cleared. */
#include "codegen/llvm_build.h"

/* --- the word of survivors --- */

static void count_word(struct cg_fn *f, int counter, LLVMValueRef word)
{
    if (f->m->opt->profile)
        cg_count(f, counter, cg_intrinsic(f, "llvm.ctpop", f->m->i64, &word, 1));
}

/* Bits of the PL_CPU_VECTOR_ROWS rows from `row` that pass the filters first .. end - 1, as a word. */
static LLVMValueRef lanes_word(struct cg_fn *f, int first, int end, LLVMValueRef row)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(f->m->ctx, PL_CPU_VECTOR_ROWS);
    bool *need = cg_needed_by(f, first, end);
    LLVMValueRef pass = NULL;
    f->lanes = PL_CPU_VECTOR_ROWS;
    for (int i = 0; i < first; i++) {
        const struct pl_step *s = &f->pipeline->steps[i];
        if (need[i] && s->kind == PL_STEP_LOAD_COLUMN)
            cg_step_load_lanes(f, s, row);
        else if (need[i])
            f->slots[s->slot] = cg_expr(f, s->expr);
    }
    for (int k = first; k < end; k++)
        pass = cg_both(f, pass, cg_true(f, cg_expr(f, f->pipeline->steps[k].expr)));
    f->lanes = 0;
    return l_zext(f, l_bitcast(f, pass, bits), f->m->i64);
}

/* A group of filters over the tile from `row`. */
static LLVMValueRef group_word(struct cg_fn *f, int first, int end, LLVMValueRef row)
{
    struct cg_mod *m = f->m;
    LLVMBasicBlockRef from = l_here(f), body = l_block(f, "lanes"), done = l_block(f, "tiled");
    l_br(f, body);
    l_goto(f, body);
    LLVMValueRef at = l_phi(f, m->i64), word = l_phi(f, m->i64);
    LLVMValueRef bits = lanes_word(f, first, end, l_add(f, row, at));
    LLVMValueRef more = l_or(f, word, l_shl(f, bits, at));
    LLVMValueRef next = l_add(f, at, l_i64(f, PL_CPU_VECTOR_ROWS));
    LLVMBasicBlockRef last = l_here(f);
    l_incoming(at, l_i64(f, 0), from);
    l_incoming(at, next, last);
    l_incoming(word, l_i64(f, 0), from);
    l_incoming(word, more, last);
    LLVMValueRef left = l_icmp(f, LLVMIntULT, next, l_i64(f, PL_CPU_TILE_ROWS));
    cg_keep_rolled(f, LLVMBuildCondBr(f->b, left, body, done));
    l_goto(f, done);
    return more;
}

/* Filters from k on with no step between them; one by one if each has to be counted. */
static int group_end(const struct cg_fn *f, int k, int n)
{
    int end = k + 1;
    while (!f->m->opt->profile && end < n && f->pipeline->steps[end].kind == PL_STEP_FILTER)
        end++;
    return end;
}

/* The rows of word that pass the first n steps; empty is where it goes when none does. */
static LLVMValueRef tile_word(struct cg_fn *f, int n, LLVMValueRef row, LLVMValueRef word, LLVMBasicBlockRef empty)
{
    for (int k = 0; k < n;) {
        count_word(f, k, word);
        if (f->pipeline->steps[k].kind != PL_STEP_FILTER) {
            k++;
            continue;
        }
        int end = group_end(f, k, n);
        word = l_and(f, word, group_word(f, k, end, row));
        l_need(f, l_ne(f, word, l_i64(f, 0)), empty, "left");
        k = end;
    }
    return word;
}

/* --- survivors --- */

static void survivors(struct cg_fn *f, LLVMValueRef first, LLVMValueRef word, LLVMBasicBlockRef advance)
{
    struct cg_mod *m = f->m;
    cg_search_ahead(f, first, word);
    LLVMBasicBlockRef from = l_here(f), body = l_block(f, "bit"), latch = l_block(f, "nextbit");
    l_br(f, body);
    l_goto(f, body);
    LLVMValueRef left = l_phi(f, m->i64);
    l_incoming(left, word, from);
    if (f->nahead) {
        f->survivor = l_phi(f, m->i64);
        l_incoming(f->survivor, l_i64(f, 0), from);
    }
    LLVMValueRef args[] = {left, l_bool(f, true)};
    LLVMValueRef bit = cg_intrinsic(f, "llvm.cttz", m->i64, args, 2);
    f->next = latch;
    cg_bind_source(f, l_add(f, first, bit));
    for (int k = 0; k < f->pipeline->cpu_tile.steps; k++)
        if (f->pipeline->cpu_tile.again[k])
            cg_step(f, &f->pipeline->steps[k]);
    cg_steps_from(f, f->pipeline->cpu_tile.steps);
    l_goto(f, latch);
    LLVMValueRef rest = l_and(f, left, l_sub(f, left, l_i64(f, 1)));
    l_incoming(left, rest, latch);
    if (f->nahead)
        l_incoming(f->survivor, l_add(f, f->survivor, l_i64(f, 1)), latch);
    LLVMValueRef more = l_ne(f, rest, l_i64(f, 0));
    cg_keep_rolled(f, LLVMBuildCondBr(f->b, more, body, advance));
}

/* The tile that holds the rows first .. end: where it begins, and which of its bits they are. */
static LLVMValueRef place_tile(struct cg_fn *f, LLVMValueRef first, LLVMValueRef *bits)
{
    LLVMTypeRef t = f->m->i64;
    LLVMValueRef tile = l_i64(f, PL_CPU_TILE_ROWS), all = l_i64(f, -1);
    LLVMValueRef back[] = {l_sub(f, f->end, tile), l_i64(f, 0)};
    LLVMValueRef max[] = {first, cg_intrinsic(f, "llvm.smax", t, back, 2)};
    LLVMValueRef at = cg_intrinsic(f, "llvm.smin", t, max, 2);
    LLVMValueRef rows[] = {l_sub(f, f->end, at), tile};
    LLVMValueRef n = cg_intrinsic(f, "llvm.smin", t, rows, 2);
    LLVMValueRef from = l_shl(f, all, l_sub(f, first, at));
    *bits = l_and(f, from, l_lshr(f, all, l_sub(f, tile, n)));
    return at;
}

void cg_tile_loop(struct cg_fn *f)
{
    LLVMBasicBlockRef from = l_here(f), tile = l_block(f, "tile");
    LLVMBasicBlockRef advance = l_block(f, "advance");
    LLVMValueRef bits;
    l_br(f, tile);
    l_goto(f, tile);
    LLVMValueRef first = l_phi(f, f->m->i64);
    LLVMValueRef row = place_tile(f, first, &bits);
    LLVMValueRef word = tile_word(f, f->pipeline->cpu_tile.steps, row, bits, advance);
    survivors(f, row, word, advance);
    l_goto(f, advance);
    LLVMValueRef next = LLVMBuildNSWAdd(f->b, first, l_i64(f, PL_CPU_TILE_ROWS), "");
    l_incoming(first, f->begin, from);
    l_incoming(first, next, advance);
    l_cond(f, l_icmp(f, LLVMIntSLT, next, f->end), tile, f->exit);
    f->next = f->exit;
}
