/* Binary search in the rows of a sorted state: for the nearest one of an as-of join, for the ends of a range, for a
 * position; and in a column by which the rows of a table are sorted. */
#include "codegen/llvm_build.h"

/* ---- halving ------------------------------------------------------------------------------------------------- */

LLVMValueRef cg_partition_point(struct cg_fn *f, cg_before_fn *before_row, const void *x, LLVMValueRef begin,
                                LLVMValueRef end)
{
    LLVMBasicBlockRef from = l_here(f), test = l_block(f, "search"), halve = l_block(f, "halve");
    LLVMBasicBlockRef found = l_block(f, "found");
    l_br(f, test);
    l_goto(f, test);
    LLVMValueRef lo = l_phi(f, f->m->i64), hi = l_phi(f, f->m->i64);
    l_cond(f, l_icmp(f, LLVMIntULT, lo, hi), halve, found);
    l_goto(f, halve);
    LLVMValueRef middle = l_add(f, lo, l_lshr(f, l_sub(f, hi, lo), l_i64(f, 1)));
    LLVMValueRef before = before_row(f, x, middle);
    LLVMValueRef up = l_select(f, before, l_add(f, middle, l_i64(f, 1)), lo);
    LLVMValueRef down = l_select(f, before, hi, middle);
    LLVMBasicBlockRef latch = l_here(f);
    l_br(f, test);
    l_incoming(lo, begin, from);
    l_incoming(hi, end, from);
    l_incoming(lo, up, latch);
    l_incoming(hi, down, latch);
    l_goto(f, found);
    return lo;
}

/* The same where the row is most likely near: in steps that double. */
static LLVMValueRef partition_point_near(struct cg_fn *f, cg_before_fn *before_row, const void *x, LLVMValueRef begin,
                                         LLVMValueRef end)
{
    LLVMTypeRef word = f->m->i64;
    LLVMBasicBlockRef from = l_here(f), test = l_block(f, "near"), look = l_block(f, "look");
    LLVMBasicBlockRef on = l_block(f, "on"), between = l_block(f, "between");
    l_br(f, test);
    l_goto(f, test);
    LLVMValueRef lo = l_phi(f, word), step = l_phi(f, word);
    l_cond(f, l_icmp(f, LLVMIntULE, step, l_sub(f, end, lo)), look, between);
    l_goto(f, look);
    LLVMValueRef at = l_sub(f, l_add(f, lo, step), l_i64(f, 1));
    LLVMValueRef before = before_row(f, x, at);
    LLVMBasicBlockRef looked = l_here(f);
    l_cond(f, before, on, between);
    l_goto(f, on);
    LLVMValueRef next = l_add(f, lo, step), twice = l_shl(f, step, l_i64(f, 1));
    l_br(f, test);
    l_incoming(lo, begin, from);
    l_incoming(step, l_i64(f, 1), from);
    l_incoming(lo, next, on);
    l_incoming(step, twice, on);
    l_goto(f, between);
    LLVMValueRef hi = l_phi2(f, word, end, test, at, looked);
    return cg_partition_point(f, before_row, x, lo, hi);
}

/* NULL: it is not known. */
static LLVMValueRef place_ahead(struct cg_fn *f, const struct pl_step *s)
{
    for (int i = 0; i < f->nahead; i++)
        if (f->ahead[i].s == s)
            return l_load(f, f->m->i64, l_index(f, f->m->i64, f->ahead[i].places, f->survivor), 8);
    return NULL;
}

/* Found ahead for the rows of a tile, or now. */
static LLVMValueRef first_place(struct cg_fn *f, const struct pl_step *s, const struct cg_val *v)
{
    LLVMValueRef at = place_ahead(f, s);
    struct cg_sought x = {s, v};
    return at ? at : cg_partition_point(f, cg_is_in_front, &x, l_i64(f, 0), cg_arg_word(f, s->a_nrows, 0));
}

/* ---- the nearest row ------------------------------------------------------------------------------------------- */

struct search {
    const struct pl_step *s;
    const struct rt_state *st;
    const struct cg_val *keys;
};

static LLVMValueRef row_at(struct cg_fn *f, const struct search *x, LLVMValueRef i)
{
    return l_row(f, cg_arg_ptr(f, x->s->a_rows), i, x->st->stride);
}

static enum rt_phys key_phys(const struct search *x, int key)
{
    return x->st->fields[x->st->sort[key].field].phys;
}

/* A row's field of a key. */
static struct cg_val field_of(struct cg_fn *f, const struct search *x, LLVMValueRef row, int key)
{
    return cg_load_field(f, &x->st->fields[x->st->sort[key].field], row, true);
}

/* Where both are NULL they are equal; only keys of which NULLs match still say that they may be. */
static LLVMValueRef is_same(struct cg_fn *f, const struct search *x, struct cg_val field, int key)
{
    struct cg_val k = x->keys[key];
    LLVMValueRef eq = cg_compare(f, FE_EQ, key_phys(x, key), field, k);
    LLVMValueRef both = cg_both(f, field.valid, k.valid);
    if (both)
        eq = l_and(f, eq, both);
    if (field.valid && k.valid)
        eq = l_or(f, eq, l_not(f, l_or(f, field.valid, k.valid)));
    return eq;
}

/* Ascending, NULLs last. */
static LLVMValueRef is_less(struct cg_fn *f, const struct search *x, struct cg_val field, int key)
{
    struct cg_val k = x->keys[key];
    LLVMValueRef less = cg_compare(f, FE_LT, key_phys(x, key), field, k);
    if (k.valid)
        less = l_or(f, less, l_not(f, k.valid));
    return field.valid ? l_and(f, less, field.valid) : less;
}

/* The last key: its row is too far on the other side. */
static LLVMValueRef is_beyond(struct cg_fn *f, const struct search *x, struct cg_val field)
{
    static const enum fe_op far[2][2] = {{FE_LT, FE_LE}, {FE_GT, FE_GE}}; /* [descending][strict] */
    int last = x->s->nkeys - 1;
    LLVMValueRef b = cg_compare(f, far[x->st->sort[last].desc][x->s->strict], key_phys(x, last), field, x->keys[last]);
    return field.valid ? l_and(f, b, field.valid) : b;
}

/* Keys are compared one after the other, from the first. */
static LLVMValueRef is_before(struct cg_fn *f, const void *search, LLVMValueRef i)
{
    const struct search *x = search;
    LLVMValueRef row = row_at(f, x, i);
    int last = x->s->nkeys - 1;
    LLVMValueRef before = is_beyond(f, x, field_of(f, x, row, last));
    for (int k = last - 1; k >= 0; k--) {
        struct cg_val field = field_of(f, x, row, k);
        before = l_or(f, is_less(f, x, field, k), l_and(f, is_same(f, x, field, k), before));
    }
    return before;
}

LLVMValueRef cg_find_nearest(struct cg_fn *f, const struct pl_step *s, const struct cg_val *keys,
                             LLVMBasicBlockRef miss)
{
    struct search x = {s, &f->m->prog->spec->states[s->state], keys};
    LLVMValueRef rows = cg_arg_word(f, s->a_nrows, 0), at = first_place(f, s, keys);
    l_need(f, l_icmp(f, LLVMIntULT, at, rows), miss, "some");
    LLVMValueRef row = row_at(f, &x, at);
    for (int k = 0; k < s->nkeys - 1; k++)
        l_need(f, is_same(f, &x, field_of(f, &x, row, k), k), miss, "same");
    LLVMValueRef there = field_of(f, &x, row, s->nkeys - 1).valid;
    if (there)
        l_need(f, there, miss, "there");
    return at;
}

/* ---- a position ------------------------------------------------------------------------------------------------ */

static LLVMValueRef word_is_in_front(struct cg_fn *f, const struct pl_step *s, LLVMValueRef word, LLVMValueRef i)
{
    const struct rt_state *st = &f->m->prog->spec->states[s->state];
    LLVMValueRef row = l_row(f, cg_arg_ptr(f, s->a_rows), i, st->stride);
    LLVMValueRef v = cg_load_field(f, &st->fields[s->field], row, true).v;
    return l_icmp(f, s->behind ? LLVMIntSLE : LLVMIntSLT, v, word);
}

void cg_step_search(struct cg_fn *f, const struct pl_step *s)
{
    struct cg_val word = cg_expr(f, s->expr);
    LLVMValueRef at = first_place(f, s, &word);
    cg_bind(f, s->slot, (struct cg_val){.v = l_trunc(f, at, f->m->i32), .wide = at});
}

/* ---- a range --------------------------------------------------------------------------------------------------- */

/* A sorted state, and what its rows are compared with: the last word's bound, behind what the word before it equals. */
struct range {
    const struct pl_step *s;
    LLVMValueRef key; /* of two words: the first one's; else NULL */
    LLVMValueRef reach; /* rows before have not reached it; NULL: none */
    LLVMValueRef bound;
    LLVMIntPredicate holds; /* of a row's last word and the bound */
};

static int words_of(const struct pl_step *s)
{
    return s->nkeys - 1 - (s->reach >= 0);
}

static LLVMValueRef search_word(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row, int i)
{
    const struct rt_state *st = &f->m->prog->spec->states[s->state];
    return cg_load_field(f, &st->fields[st->sort[i].field], row, true).v;
}

/* Whether row i comes before the end that is looked for. */
static LLVMValueRef is_before_end(struct cg_fn *f, const void *range, LLVMValueRef i)
{
    const struct range *x = range;
    const struct pl_step *s = x->s;
    LLVMValueRef row = l_row(f, cg_arg_ptr(f, s->a_rows), i, f->m->prog->spec->states[s->state].stride);
    LLVMValueRef last = l_icmp(f, x->holds, search_word(f, s, row, words_of(s) - 1), x->bound);
    if (x->reach) {
        const struct rt_field *f_reach = &f->m->prog->spec->states[s->state].fields[s->reach];
        LLVMValueRef far = cg_load(f, RT_I64, l_at(f, row, f_reach->offset), true).v;
        return l_or(f, last, l_icmp(f, LLVMIntSLT, far, x->reach));
    }
    if (!x->key)
        return last;
    LLVMValueRef first = search_word(f, s, row, 0);
    LLVMValueRef same = l_and(f, l_eq(f, first, x->key), last);
    return l_or(f, l_icmp(f, LLVMIntSLT, first, x->key), same);
}

/* Its first end; v: of the step's keys. */
static struct range range_of(const struct pl_step *s, const struct cg_val *v)
{
    int words = words_of(s);
    return (struct range){.s = s,
                          .key = words > 1 ? v[0].v : NULL,
                          .reach = s->reach >= 0 ? v[words + 1].v : NULL,
                          .bound = v[words - 1].v,
                          .holds = LLVMIntSLT};
}

struct cg_range cg_sorted_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    struct cg_val v[PL_SEARCH_WORDS + 2];
    LLVMValueRef valid = NULL;
    HD_ASSERT(s->nkeys >= 2 && s->nkeys <= PL_SEARCH_WORDS + 2);
    for (int i = 0; i < s->nkeys; i++) {
        v[i] = cg_expr(f, s->keys[i]);
        valid = cg_both(f, valid, v[i].valid);
    }
    if (valid)
        l_need(f, valid, miss, "notnull");
    LLVMValueRef rows = cg_arg_word(f, s->a_nrows, 0), begin = first_place(f, s, v);
    struct range x = range_of(s, v);
    x.bound = v[words_of(s)].v;
    x.holds = LLVMIntSLE;
    x.reach = NULL;
    return (struct cg_range){begin, partition_point_near(f, is_before_end, &x, begin, rows)};
}

/* ---- what is looked for in the rows of a state --------------------------------------------------------------------- */

int cg_nsought(const struct pl_step *s)
{
    return s->kind == PL_STEP_SEARCH ? 1 : s->nkeys;
}

void cg_eval_sought(struct cg_fn *f, const struct pl_step *s, struct cg_val *v)
{
    for (int i = 0; i < cg_nsought(s); i++) {
        v[i] = cg_expr(f, s->kind == PL_STEP_SEARCH ? s->expr : s->keys[i]);
        if (s->kind != PL_STEP_PROBE_SORTED || !pl_null_equal(s, i))
            v[i].valid = NULL;
    }
}

LLVMValueRef cg_is_in_front(struct cg_fn *f, const void *sought, LLVMValueRef i)
{
    const struct cg_sought *x = sought;
    if (x->s->kind == PL_STEP_SEARCH)
        return word_is_in_front(f, x->s, x->v[0].v, i);
    if (x->s->kind == PL_STEP_EXPAND_SORTED) {
        struct range r = range_of(x->s, x->v);
        return is_before_end(f, &r, i);
    }
    struct search y = {x->s, &f->m->prog->spec->states[x->s->state], x->v};
    return is_before(f, &y, i);
}

/* ---- a sorted column ------------------------------------------------------------------------------------------- */

LLVMValueRef cg_stored_at(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row)
{
    int bytes = s->table->cols[s->column].width;
    if (s->table->cols[s->column].bits)
        return cg_load_packed(f, s, row);
    LLVMTypeRef t = LLVMIntTypeInContext(f->m->ctx, (unsigned)bytes * 8);
    LLVMValueRef v = l_load_const(f, t, l_index(f, t, cg_arg_ptr(f, s->a_data), row), (unsigned)bytes);
    return bytes < 8 ? l_sext(f, v, f->m->i64) : v;
}

struct column {
    const struct pl_step *s;
    LLVMValueRef wanted;
    LLVMIntPredicate holds; /* of a row in front, and what is wanted */
    LLVMValueRef base; /* wanted is no stored value but what it stands for; NULL: it is stored */
};

static LLVMValueRef is_lower(struct cg_fn *f, const void *column, LLVMValueRef row)
{
    const struct column *x = column;
    LLVMValueRef v = cg_stored_at(f, x->s, row);
    return l_icmp(f, x->holds, x->base ? l_add(f, v, x->base) : v, x->wanted);
}

/* Of a row that has found its place, for the next one. */
static LLVMValueRef place_before(struct cg_fn *f)
{
    LLVMValueRef place = cg_alloca(f, 8);
    LLVMBuilderRef saved = cg_enter(f);
    l_store(f, l_i64(f, 0), place, 8);
    f->b = saved;
    return place;
}

/* From where the row before found its own. */
static LLVMValueRef go_on(struct cg_fn *f, const struct column *x, LLVMValueRef rows)
{
    LLVMValueRef place = place_before(f), last = l_load(f, f->m->i64, place, 8), one = l_i64(f, 1);
    LLVMBasicBlockRef from = l_here(f), look = l_block(f, "last"), search = l_block(f, "from");
    l_cond(f, l_eq(f, last, l_i64(f, 0)), search, look);
    l_goto(f, look);
    LLVMValueRef before = is_lower(f, x, l_sub(f, last, one));
    LLVMValueRef lo = l_select(f, before, last, l_i64(f, 0)), hi = l_select(f, before, rows, last);
    LLVMBasicBlockRef looked = l_here(f);
    l_br(f, search);
    l_goto(f, search);
    LLVMValueRef begin = l_phi2(f, f->m->i64, l_i64(f, 0), from, lo, looked);
    LLVMValueRef end = l_phi2(f, f->m->i64, rows, from, hi, looked);
    LLVMValueRef at = partition_point_near(f, is_lower, x, begin, end);
    l_store(f, at, place, 8);
    return at;
}

LLVMValueRef cg_first_in_column(struct cg_fn *f, const struct pl_step *s, LLVMValueRef wanted, LLVMBasicBlockRef miss)
{
    struct column x = {s, wanted, LLVMIntSLT, NULL};
    LLVMValueRef rows = cg_arg_word(f, s->a_nrows, 0);
    LLVMValueRef at = s->near ? go_on(f, &x, rows) : cg_partition_point(f, is_lower, &x, l_i64(f, 0), rows);
    l_need(f, l_icmp(f, LLVMIntULT, at, rows), miss, "some");
    l_need(f, l_eq(f, cg_stored_at(f, s, at), wanted), miss, "found");
    return at;
}

LLVMValueRef cg_end_in_column(struct cg_fn *f, const struct pl_step *s, LLVMValueRef wanted, LLVMValueRef first)
{
    struct column x = {s, wanted, LLVMIntSLE, NULL};
    return partition_point_near(f, is_lower, &x, l_add(f, first, l_i64(f, 1)), cg_arg_word(f, s->a_nrows, 0));
}

struct cg_range cg_band_range(struct cg_fn *f, const struct pl_step *s, LLVMBasicBlockRef miss)
{
    struct cg_val low = cg_expr(f, s->keys[0]), high = cg_expr(f, s->keys[1]);
    LLVMValueRef valid = cg_both(f, low.valid, high.valid), rows = cg_arg_word(f, s->a_nrows, 0);
    if (valid)
        l_need(f, valid, miss, "notnull");
    struct column x = {s, low.v, LLVMIntSLT, cg_arg_int(f, s->a_base, RT_I64)};
    LLVMValueRef begin = cg_partition_point(f, is_lower, &x, l_i64(f, 0), rows);
    x.wanted = high.v;
    x.holds = LLVMIntSLE;
    return (struct cg_range){begin, partition_point_near(f, is_lower, &x, begin, rows)};
}
