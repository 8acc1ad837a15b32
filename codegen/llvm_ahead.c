/* Searches of a step in the rows of a sorted state, for all survivors of a tile at once. One search waits for row after
 * row of the state; here all of them halve at the same time, without a branch on what was read, so that a processor
 * waits for many rows together.
 *
 *   the searches of the first and the last survivor
 *   where they end near each other: of all, the rows between; else all rows
 *   until nothing is left to halve
 *       for each survivor: halve
 *   of what ended at an end of the rows between: is it the place? else the search anew
 *
 * So tiles in the order of the state need few turns, whether they ascend or descend. */
#include "codegen/llvm_build.h"

/* Rows between which tiles look no further. */
enum { NEAR_ROWS = 1024 };

bool *cg_needed_by(const struct cg_fn *f, int first, int end)
{
    const struct pl_expr *exprs = f->m->prog->exprs;
    bool *read = HD_NEWN(f->m->arena, bool, f->pipeline->nslots + 1), *need = HD_NEWN(f->m->arena, bool, first + 1);
    for (int k = first; k < end; k++)
        pl_step_reads(exprs, &f->pipeline->steps[k], read);
    for (int k = first - 1; k >= 0; k--) {
        const struct pl_step *s = &f->pipeline->steps[k];
        need[k] = s->slot >= 0 && read[s->slot];
        if (need[k])
            pl_step_reads(exprs, s, read);
    }
    return need;
}

/* What is looked for lies side by side, as tuples; places: where it is. */
struct batch {
    const struct pl_step *s;
    int step, n, bytes;
    struct rt_field *fields;
    LLVMValueRef tuples, places, count, rows;
};

/* A loop with at least one turn that LLVM leaves as it is. */
struct turns {
    LLVMValueRef i;
    LLVMBasicBlockRef body, done;
};

static struct turns turns_open(struct cg_fn *f)
{
    LLVMBasicBlockRef from = l_here(f);
    struct turns t = {.body = l_block(f, "each"), .done = l_block(f, "all")};
    l_br(f, t.body);
    l_goto(f, t.body);
    t.i = l_phi(f, f->m->i64);
    l_incoming(t.i, l_i64(f, 0), from);
    return t;
}

static void turns_close(struct cg_fn *f, const struct turns *t, LLVMValueRef count)
{
    LLVMValueRef next = l_add(f, t->i, l_i64(f, 1));
    l_incoming(t->i, next, l_here(f));
    LLVMValueRef more = l_icmp(f, LLVMIntULT, next, count);
    cg_keep_rolled(f, LLVMBuildCondBr(f->b, more, t->body, t->done));
    l_goto(f, t->done);
}

/* ---- what is looked for ------------------------------------------------------------------------------------------ */

static struct batch batch_of(struct cg_fn *f, int step)
{
    const struct pl_step *s = &f->pipeline->steps[step];
    struct batch b = {.s = s, .step = step, .n = cg_nsought(s)};
    b.fields = HD_NEWN(f->m->arena, struct rt_field, b.n);
    for (int i = 0; i < b.n; i++) {
        const struct pl_expr *e = cg_expr_of(f->m, s->kind == PL_STEP_SEARCH ? s->expr : s->keys[i]);
        bool nullable = e->nullable && s->kind == PL_STEP_PROBE_SORTED && pl_null_equal(s, i);
        struct pl_slot slot = {.name = "sought", .phys = e->phys, .nullable = nullable};
        b.fields[i] = cg_carry_field(&slot, &b.bytes);
    }
    b.bytes = (int)hd_align_up((size_t)b.bytes, 8);
    b.tuples = cg_alloca(f, b.bytes * PL_CPU_TILE_ROWS);
    b.places = cg_alloca(f, 8 * PL_CPU_TILE_ROWS);
    b.rows = cg_arg_word(f, s->a_nrows, 0);
    return b;
}

/* The steps before give the values of each survivor. */
static void look_up_sought(struct cg_fn *f, struct batch *b, LLVMValueRef tile, LLVMValueRef word)
{
    struct cg_val *v = HD_NEWN(f->m->arena, struct cg_val, b->n);
    bool *need = cg_needed_by(f, b->step, b->step + 1);
    LLVMBasicBlockRef from = l_here(f), body = l_block(f, "sought"), done = l_block(f, "all");
    l_br(f, body);
    l_goto(f, body);
    LLVMValueRef left = l_phi(f, f->m->i64), j = l_phi(f, f->m->i64);
    LLVMValueRef args[] = {left, l_bool(f, true)};
    f->survivor = j; /* of a step before that searched ahead, too */
    cg_bind_source(f, l_add(f, tile, cg_intrinsic(f, "llvm.cttz", f->m->i64, args, 2)));
    for (int k = 0; k < b->step; k++)
        if (need[k])
            cg_step(f, &f->pipeline->steps[k]);
    cg_eval_sought(f, b->s, v);
    LLVMValueRef tuple = l_row(f, b->tuples, j, b->bytes);
    for (int i = 0; i < b->n; i++)
        cg_store_field(f, &b->fields[i], v[i], tuple);
    LLVMValueRef rest = l_and(f, left, l_sub(f, left, l_i64(f, 1)));
    b->count = l_add(f, j, l_i64(f, 1));
    l_incoming(left, word, from);
    l_incoming(left, rest, l_here(f));
    l_incoming(j, l_i64(f, 0), from);
    l_incoming(j, b->count, l_here(f));
    cg_keep_rolled(f, LLVMBuildCondBr(f->b, l_ne(f, rest, l_i64(f, 0)), body, done));
    l_goto(f, done);
}

static struct cg_sought sought_by(struct cg_fn *f, const struct batch *b, LLVMValueRef j)
{
    struct cg_val *v = HD_NEWN(f->m->arena, struct cg_val, b->n);
    LLVMValueRef tuple = l_row(f, b->tuples, j, b->bytes);
    for (int i = 0; i < b->n; i++)
        v[i] = cg_load_field(f, &b->fields[i], tuple, false);
    return (struct cg_sought){b->s, v};
}

static LLVMValueRef place_of(struct cg_fn *f, const struct batch *b, LLVMValueRef j)
{
    return l_index(f, f->m->i64, b->places, j);
}

/* ---- where it is --------------------------------------------------------------------------------------------------- */

static LLVMValueRef search_one(struct cg_fn *f, const struct batch *b, LLVMValueRef j)
{
    struct cg_sought x = sought_by(f, b, j);
    return cg_partition_point(f, cg_is_in_front, &x, l_i64(f, 0), b->rows);
}

/* All rows, or those between the places of the first and the last survivor. */
static struct cg_range choose_rows(struct cg_fn *f, const struct batch *b)
{
    LLVMTypeRef word = f->m->i64;
    LLVMValueRef zero = l_i64(f, 0), ends[] = {search_one(f, b, zero), NULL};
    ends[1] = search_one(f, b, l_sub(f, b->count, l_i64(f, 1)));
    LLVMValueRef lo = cg_intrinsic(f, "llvm.smin", word, ends, 2), hi = cg_intrinsic(f, "llvm.smax", word, ends, 2);
    LLVMValueRef near = l_icmp(f, LLVMIntULT, l_sub(f, hi, lo), l_i64(f, NEAR_ROWS));
    return (struct cg_range){l_select(f, near, lo, zero), l_select(f, near, hi, b->rows)};
}

static void start_at(struct cg_fn *f, const struct batch *b, LLVMValueRef begin)
{
    struct turns t = turns_open(f);
    l_store(f, begin, place_of(f, b, t.i), 8);
    turns_close(f, &t, b->count);
}

/* Of n rows, the place is behind the first `half` or not behind the other n - half. */
static void halve_each(struct cg_fn *f, const struct batch *b, LLVMValueRef half)
{
    struct turns t = turns_open(f);
    struct cg_sought x = sought_by(f, b, t.i);
    LLVMValueRef place = place_of(f, b, t.i), at = l_load(f, f->m->i64, place, 8), behind = l_add(f, at, half);
    LLVMValueRef before = cg_is_in_front(f, &x, l_sub(f, behind, l_i64(f, 1)));
    LLVMValueRef next = l_select(f, before, behind, at);
    LLVMSetMetadata(next, f->m->md_unpredictable, f->m->empty_node); /* else it becomes a branch */
    l_store(f, next, place, 8);
    turns_close(f, &t, b->count);
}

static void search_all(struct cg_fn *f, const struct batch *b, struct cg_range in)
{
    start_at(f, b, in.begin);
    LLVMValueRef all = l_sub(f, in.end, in.begin);
    LLVMBasicBlockRef from = l_here(f), test = l_block(f, "left"), turn = l_block(f, "turn"), done = l_block(f, "one");
    l_br(f, test);
    l_goto(f, test);
    LLVMValueRef n = l_phi(f, f->m->i64);
    l_incoming(n, all, from);
    l_cond(f, l_ne(f, n, l_i64(f, 0)), turn, done);
    l_goto(f, turn);
    LLVMValueRef half = l_lshr(f, l_add(f, n, l_i64(f, 1)), l_i64(f, 1));
    halve_each(f, b, half);
    l_incoming(n, l_sub(f, n, half), l_here(f));
    l_br(f, test);
    l_goto(f, done);
}

/* ---- what the rows between did not hold ------------------------------------------------------------------------------ */

/* Survivor j ended at the first place: what is in front of that is in front of it? At the last: is that not? */
static void check_place(struct cg_fn *f, const struct batch *b, struct cg_range in, LLVMValueRef j)
{
    struct cg_sought x = sought_by(f, b, j);
    LLVMValueRef place = place_of(f, b, j), at = l_load(f, f->m->i64, place, 8);
    LLVMBasicBlockRef low = l_block(f, "low"), high = l_block(f, "high"), top = l_block(f, "top");
    LLVMBasicBlockRef again = l_block(f, "again"), right = l_block(f, "right");
    l_cond(f, l_and(f, l_eq(f, at, in.begin), l_ne(f, at, l_i64(f, 0))), low, high);
    l_goto(f, low);
    l_cond(f, cg_is_in_front(f, &x, l_sub(f, at, l_i64(f, 1))), high, again);
    l_goto(f, high);
    l_cond(f, l_and(f, l_eq(f, at, in.end), l_ne(f, at, b->rows)), top, right);
    l_goto(f, top);
    l_cond(f, cg_is_in_front(f, &x, at), again, right);
    l_goto(f, again);
    l_store(f, cg_partition_point(f, cg_is_in_front, &x, l_i64(f, 0), b->rows), place, 8);
    l_br(f, right);
    l_goto(f, right);
}

static void check_places(struct cg_fn *f, const struct batch *b, struct cg_range in)
{
    LLVMBasicBlockRef check = l_block(f, "check"), checked = l_block(f, "checked");
    l_cond(f, l_ne(f, l_sub(f, in.end, in.begin), b->rows), check, checked);
    l_goto(f, check);
    struct turns t = turns_open(f);
    check_place(f, b, in, t.i);
    turns_close(f, &t, b->count);
    l_br(f, checked);
    l_goto(f, checked);
}

void cg_search_ahead(struct cg_fn *f, LLVMValueRef tile, LLVMValueRef word)
{
    for (int k = 0; k < f->pipeline->nsteps; k++) {
        if (!f->pipeline->steps[k].ahead)
            continue;
        struct batch b = batch_of(f, k);
        look_up_sought(f, &b, tile, word);
        struct cg_range in = choose_rows(f, &b);
        search_all(f, &b, in);
        check_places(f, &b, in);
        f->ahead[f->nahead++] = (struct cg_ahead){b.s, b.places};
    }
}
