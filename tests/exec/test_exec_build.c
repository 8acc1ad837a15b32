/* HASH and CSR: every row is found under its key, with all rows of equal keys beside it. */
#include "tests/exec/exec_fixture.h"

#include <math.h>

#include "runtime/exec/keys.h"
#include "templates/slot.cuh"

enum { HEAD = sizeof(uint64_t) }; /* of a row: its hash, or how many rows its key has */

/* A build side: rows whose keys are functions of their number. */
struct build {
    const struct rt_state *s;
    uint64_t distinct; /* 0: the row number itself */
    int hot_percent;   /* rows that share one key */
    int null_percent;
};

static const char texts[] = "the quick brown fox jumps over the lazy dog and runs away again";

static uint64_t key_number(const struct build *b, uint64_t i)
{
    uint64_t r = fx_random(i);
    if ((int)(r >> 40 & 127) % 100 < b->hot_percent)
        return 0;
    return b->distinct ? r % b->distinct : i;
}

static void make_key(enum rt_phys phys, uint64_t k, uint64_t i, unsigned char *out)
{
    /* Equal keys in different clothes: both zeros, several NaNs. */
    double d = k == 0 ? (i & 1 ? -0.0 : 0.0) : k == 1 ? (i & 1 ? NAN : -NAN) : (double)k;
    hd_i128 wide = (hd_i128)k * 1000000007 * 1000000007 * 1000000007;
    struct rt_row_str s = {texts + k % 7, k / 7 % 50};
    if (phys == RT_BOOL)
        *out = k & 1;
    else if (phys == RT_F64)
        memcpy(out, &d, 8);
    else if (phys == RT_I128)
        memcpy(out, &wide, 16);
    else if (phys == RT_STR)
        memcpy(out, &s, 16);
    else
        memcpy(out, &k, (size_t)rt_phys_size(phys));
}

/* The last field is the row number. */
static void make_row(const struct build *b, uint64_t i, unsigned char *row)
{
    const struct rt_state *s = b->s;
    unsigned char v[16];
    memset(row, 0, (size_t)s->stride);
    for (int k = 0; k < s->nkeys; k++) {
        if (s->fields[k].valid_offset >= 0 && (int)(fx_random(i * 7 + (uint64_t)k) & 127) < b->null_percent)
            continue;
        make_key(s->fields[k].phys, key_number(b, i) >> (k * 4), i, v);
        fx_put(s, row, k, v);
    }
    fx_put(s, row, s->nfields - 1, &i);
    uint64_t h = fx_hash(s, row);
    memcpy(row, &h, 8);
}

static int32_t fill(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct build *b = fx_context(args);
    unsigned char row[256];
    for (uint64_t i = begin; i < end; i++) {
        make_row(b, i, row);
        if (fx_append(t, 0, row, (size_t)b->s->stride) != 0)
            return 1;
    }
    return 0;
}

/* What a second pipeline sees through the args. */
struct seen {
    const unsigned char *rows;
    const uint64_t *slots, *offsets, *matches;
    uint64_t nrows, mask;
};
struct looking {
    struct build b;
    int64_t n;
    int w_rows, w_nrows, w_slots, w_mask, w_offsets, w_matches;
    void (*check)(const struct looking *c, const struct seen *s);
};

static const void *pointer(const uint64_t *args, int word)
{
    return word ? (const void *)(uintptr_t)args[word] : NULL;
}

static int32_t look(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct looking *c = fx_context(args);
    struct seen s = {.rows = pointer(args, c->w_rows),
                     .slots = pointer(args, c->w_slots),
                     .offsets = pointer(args, c->w_offsets),
                     .matches = pointer(args, c->w_matches),
                     .nrows = args[c->w_nrows],
                     .mask = c->w_mask ? args[c->w_mask] : 0};
    (void)t;
    (void)begin;
    (void)end;
    c->check(c, &s);
    return 0;
}

static const unsigned char *first_row(const struct looking *c, const struct seen *s, uint64_t slot)
{
    return s->rows + hdd_slot_row(slot) * (size_t)c->b.s->stride;
}

static uint64_t rows_of(const struct looking *c, const struct seen *s, uint64_t slot)
{
    uint64_t n = slot != 0;
    if (hdd_slot_has_many(slot))
        memcpy(&n, first_row(c, s, slot), sizeof n);
    return n;
}

static const uint64_t *probe(const struct looking *c, const struct seen *s, const unsigned char *row)
{
    uint64_t h = fx_hash(c->b.s, row);
    for (uint64_t at = h & s->mask; s->slots[at]; at = (at + 1) & s->mask)
        if (hdd_slot_has_tag(s->slots[at], h) && fx_same_keys(c->b.s, row, first_row(c, s, s->slots[at])))
            return &s->slots[at];
    return NULL;
}

/* Slots cover the rows exactly; a slot has one key and no other slot has it; every row of the source is in its
 * slot (or, deduplicated, has one representative there). */
static void check_hash(const struct looking *c, const struct seen *s)
{
    const struct rt_state *st = c->b.s;
    size_t stride = (size_t)st->stride;
    unsigned char row[256], *covered = calloc(1, s->nrows + 1), *found = calloc(1, (size_t)c->n + 1);
    for (uint64_t at = 0; at <= s->mask; at++) {
        const unsigned char *first = first_row(c, s, s->slots[at]);
        uint64_t n = rows_of(c, s, s->slots[at]);
        if (n)
            assert_ptr_equal(probe(c, s, first), &s->slots[at]);
        assert_true(!st->dedupe || n <= 1);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t r = hdd_slot_row(s->slots[at]) + i;
            assert_true(r < s->nrows && !covered[r]);
            covered[r] = 1;
            assert_true(fx_same_keys(st, first, s->rows + r * stride));
            int64_t id = fx_i64(st, s->rows + r * stride, st->nfields - 1);
            assert_true(id >= 0 && id < c->n && !found[id]);
            found[id] = 1;
            make_row(&c->b, (uint64_t)id, row);
            assert_memory_equal(row + HEAD, s->rows + r * stride + HEAD, stride - HEAD);
        }
    }
    for (uint64_t r = 0; r < s->nrows; r++)
        assert_true(covered[r]);
    for (int64_t i = 0; i < c->n; i++) {
        make_row(&c->b, (uint64_t)i, row);
        assert_non_null(probe(c, s, row));
        assert_true(st->dedupe || found[i]);
    }
    free(covered);
    free(found);
}

static void run_hash(int threads, const enum rt_phys *keys, int nkeys, struct build b, int64_t n, bool unique,
                     bool dedupe)
{
    struct fx f;
    struct looking c = {.b = b, .n = n, .check = check_hash};
    fx_init(&f, threads, &c); /* struct build stands first */
    int s = fx_state(&f, RT_STATE_HASH);
    for (int k = 0; k < nkeys; k++)
        fx_field(&f, s, keys[k], b.null_percent > 0, RT_MERGE_KEY);
    fx_field(&f, s, RT_I64, false, RT_MERGE_ANY);
    f.states[s].nkeys = nkeys;
    f.states[s].unique = unique;
    f.states[s].dedupe = dedupe;
    c.b.s = &f.states[s];
    c.w_rows = fx_state_arg(&f, RT_ARG_STATE_ROWS, s);
    c.w_nrows = fx_state_arg(&f, RT_ARG_STATE_NROWS, s);
    c.w_slots = fx_state_arg(&f, RT_ARG_STATE_SLOTS, s);
    c.w_mask = fx_state_arg(&f, RT_ARG_STATE_MASK, s);
    int out = fx_state(&f, RT_STATE_ROWS);
    fx_field(&f, out, RT_I64, false, RT_MERGE_ANY);
    fx_action(&f, RT_RUN, fx_table_pipeline(&f, n, fill));
    fx_action(&f, RT_FINISH, s);
    fx_action(&f, RT_RUN, fx_table_pipeline(&f, 1, look));
    fx_action(&f, RT_FREE, s);
    fx_action(&f, RT_FINISH, out);
    assert_int_equal(fx_run(&f, out), 0);
    fx_release(&f);
}

static void hash_of_every_type(void **state)
{
    static const enum rt_phys keys[][2] = {{RT_BOOL, RT_I32}, {RT_I32, RT_I64}, {RT_I64, RT_I32},
                                           {RT_I128, RT_STR}, {RT_F64, RT_I32}, {RT_STR, RT_F64}};
    (void)state;
    for (size_t i = 0; i < HD_COUNT(keys); i++)
        for (int nkeys = 1; nkeys < 3; nkeys++)
            for (int nulls = 0; nulls < 2; nulls++) {
                struct build b = {.distinct = 300, .null_percent = nulls * 20};
                run_hash(2, keys[i], nkeys, b, 3000, false, false);
                run_hash(2, keys[i], nkeys, b, 3000, false, true);
            }
}

static void hash_of_every_size(void **state)
{
    static const enum rt_phys key = RT_I64;
    static const int64_t sizes[] = {0, 1, 2, 7, 8, 9, 1000, 20000, 200000};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++)
        for (size_t i = 0; i < HD_COUNT(sizes); i++) {
            struct build all = {.distinct = 0}, dup = {.distinct = (uint64_t)sizes[i] / 4 + 1};
            run_hash(fx_threads[k], &key, 1, all, sizes[i], true, false);
            run_hash(fx_threads[k], &key, 1, all, sizes[i], false, false);
            run_hash(fx_threads[k], &key, 1, dup, sizes[i], false, false);
            run_hash(fx_threads[k], &key, 1, dup, sizes[i], false, true);
        }
}

static void hash_with_skew(void **state)
{
    static const enum rt_phys key = RT_I32;
    (void)state;
    for (int hot = 50; hot <= 100; hot += 25)
        for (int dedupe = 0; dedupe < 2; dedupe++) {
            struct build b = {.distinct = 50000, .hot_percent = hot};
            run_hash(3, &key, 1, b, 300000, false, dedupe);
        }
}

/* ---- CSR ------------------------------------------------------------------------------- */

struct csr {
    struct looking look;
    uint64_t range;
    bool sorted;
};

static uint64_t csr_index(const struct csr *c, uint64_t i)
{
    if (c->sorted)
        return i * c->range / (uint64_t)c->look.n;
    return key_number(&c->look.b, i) % c->range;
}

static int32_t fill_csr(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct csr *c = fx_context(args);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t row[2] = {csr_index(c, i), i};
        if (fx_append(t, 0, row, sizeof row) != 0)
            return 1;
    }
    return 0;
}

static void check_csr(const struct looking *l, const struct seen *s)
{
    const struct csr *c = (const struct csr *)l;
    unsigned char *found = calloc(1, (size_t)l->n + 1);
    assert_int_equal(s->nrows, l->n);
    assert_int_equal(s->offsets[0], 0);
    assert_int_equal(s->offsets[c->range], s->nrows);
    for (uint64_t k = 0; k < c->range; k++)
        for (uint64_t r = s->offsets[k]; r < s->offsets[k + 1]; r++) {
            uint64_t row[2];
            memcpy(row, s->rows + r * 16, 16);
            assert_int_equal(row[0], k);
            assert_true(row[1] < (uint64_t)l->n && !found[row[1]]);
            assert_int_equal(csr_index(c, row[1]), k);
            found[row[1]] = 1;
        }
    for (int64_t i = 0; i < l->n; i++)
        assert_true(found[i]);
    for (uint64_t i = 0; i < (s->nrows + 63) / 64; i++)
        assert_int_equal(s->matches[i], 0);
    free(found);
}

static void run_csr(int threads, uint64_t range, int64_t n, int hot, bool sorted)
{
    struct fx f;
    struct csr c = {.range = range, .sorted = sorted};
    c.look = (struct looking){.b = {.distinct = range, .hot_percent = hot}, .n = n, .check = check_csr};
    fx_init(&f, threads, &c);
    int s = fx_state(&f, RT_STATE_CSR);
    fx_field(&f, s, RT_I64, false, RT_MERGE_ANY);
    fx_field(&f, s, RT_I64, false, RT_MERGE_ANY);
    f.states[s].range = range;
    f.states[s].track_matches = true;
    c.look.b.s = &f.states[s];
    c.look.w_rows = fx_state_arg(&f, RT_ARG_STATE_ROWS, s);
    c.look.w_nrows = fx_state_arg(&f, RT_ARG_STATE_NROWS, s);
    c.look.w_offsets = fx_state_arg(&f, RT_ARG_STATE_OFFSETS, s);
    c.look.w_matches = fx_state_arg(&f, RT_ARG_STATE_MATCHES, s);
    int out = fx_state(&f, RT_STATE_ROWS);
    fx_field(&f, out, RT_I64, false, RT_MERGE_ANY);
    fx_action(&f, RT_RUN, fx_table_pipeline(&f, n, fill_csr));
    fx_action(&f, RT_FINISH, s);
    fx_action(&f, RT_RUN, fx_table_pipeline(&f, 1, look));
    fx_action(&f, RT_FINISH, out);
    assert_int_equal(fx_run(&f, out), 0);
    fx_release(&f);
}

static void csr_of_every_shape(void **state)
{
    static const uint64_t ranges[] = {1, 2, 63, 1000, 65536, 100001, 1000000};
    static const int64_t sizes[] = {0, 1, 100, 30000, 200000};
    (void)state;
    for (size_t r = 0; r < HD_COUNT(ranges); r++)
        for (size_t i = 0; i < HD_COUNT(sizes); i++)
            run_csr(fx_threads[(r + i) % 4], ranges[r], sizes[i], 0, false);
}

static void csr_with_skew_and_order(void **state)
{
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++) {
        run_csr(fx_threads[k], 100000, 200000, 60, false);
        run_csr(fx_threads[k], 100000, 200000, 100, false);
        run_csr(fx_threads[k], 60000, 200000, 0, true);
    }
}

/* ---- DIRECT, BITMAP, ARRAY ------------------------------------------------------------- */

struct direct {
    int w_bits, w_field, w_valid, w_matches, w_array, w_range;
    uint64_t range;
};

static int32_t fill_direct(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct direct *c = fx_context(args);
    uint64_t *bits = (uint64_t *)pointer(args, c->w_bits);
    int64_t *field = (int64_t *)pointer(args, c->w_field);
    unsigned char *valid = (unsigned char *)pointer(args, c->w_valid);
    int64_t *array = (int64_t *)pointer(args, c->w_array);
    (void)t;
    for (uint64_t i = begin; i < end; i++) {
        array[i] = (int64_t)i * 2;
        if (i % 3)
            continue;
        __atomic_fetch_or(&bits[i / 64], (uint64_t)1 << i % 64, __ATOMIC_RELAXED);
        field[i] = (int64_t)i;
        valid[i] = i % 2 == 0;
    }
    return 0;
}

static int32_t check_direct(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct direct *c = fx_context(args);
    const uint64_t *bits = pointer(args, c->w_bits), *matches = pointer(args, c->w_matches);
    const int64_t *field = pointer(args, c->w_field), *array = pointer(args, c->w_array);
    const unsigned char *valid = pointer(args, c->w_valid);
    (void)t;
    assert_int_equal(args[c->w_range], c->range);
    for (uint64_t i = begin; i < end; i++) {
        assert_int_equal(bits[i / 64] >> i % 64 & 1, i % 3 == 0);
        assert_int_equal(matches[i / 64] >> i % 64 & 1, 0);
        assert_int_equal(array[i], i * 2);
        if (i % 3 == 0) {
            assert_int_equal(field[i], i);
            assert_int_equal(valid[i], i % 2 == 0);
        }
    }
    return 0;
}

static void direct_and_array(void **state)
{
    static const uint64_t ranges[] = {1, 64, 1000, 500000};
    (void)state;
    for (size_t r = 0; r < HD_COUNT(ranges); r++) {
        struct fx f;
        struct direct c = {.range = ranges[r]};
        fx_init(&f, fx_threads[r], &c);
        int d = fx_state(&f, RT_STATE_DIRECT), a = fx_state(&f, RT_STATE_ARRAY);
        fx_field(&f, d, RT_BOOL, false, RT_MERGE_ANY);
        fx_field(&f, d, RT_I64, true, RT_MERGE_ANY);
        fx_field(&f, a, RT_I64, false, RT_MERGE_ANY);
        f.states[d].range = f.states[a].range = ranges[r];
        f.states[d].track_matches = true;
        c.w_bits = fx_state_arg(&f, RT_ARG_STATE_BITS, d);
        c.w_range = fx_state_arg(&f, RT_ARG_STATE_RANGE, d);
        c.w_matches = fx_state_arg(&f, RT_ARG_STATE_MATCHES, d);
        c.w_field = fx_state_arg(&f, RT_ARG_STATE_FIELD, d);
        f.args[f.spec.nargs - 1].index = 1;
        c.w_valid = fx_state_arg(&f, RT_ARG_STATE_FIELD_VALID, d);
        f.args[f.spec.nargs - 1].index = 1;
        c.w_array = fx_state_arg(&f, RT_ARG_STATE_ROWS, a);
        int out = fx_state(&f, RT_STATE_ROWS);
        fx_field(&f, out, RT_I64, false, RT_MERGE_ANY);
        fx_action(&f, RT_RUN, fx_table_pipeline(&f, (int64_t)ranges[r], fill_direct));
        fx_action(&f, RT_FINISH, d);
        fx_action(&f, RT_FINISH, a);
        fx_action(&f, RT_RUN, fx_state_pipeline(&f, RT_SOURCE_INDEX, d, check_direct));
        fx_action(&f, RT_FINISH, out);
        assert_int_equal(fx_run(&f, out), 0);
        fx_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_of_every_type),      cmocka_unit_test(hash_of_every_size),
        cmocka_unit_test(hash_with_skew),          cmocka_unit_test(csr_of_every_shape),
        cmocka_unit_test(csr_with_skew_and_order), cmocka_unit_test(direct_and_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
