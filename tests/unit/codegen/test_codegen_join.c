/* Probes of every kind, levels of every kind, spawned levels, match bits. */
#include "tests/unit/codegen/join_inputs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a probe of each kind gives for a row that hits row `hit`, or misses (-1). */
static void check_probe_rows(struct fx *x, int rows, enum pl_probe_kind kind, int (*find)(int row))
{
    size_t n = 0;
    for (int i = 0; i < N; i++) {
        int hit = find(i);
        bool passes = kind == PL_LEFT || kind == PL_MARK || (kind == PL_ANTI) == (hit < 0);
        if (!passes)
            continue;
        const struct out_row *r = fx_row(x, rows, n++);
        assert_int_equal(r->src, i);
        if (kind == PL_INNER || kind == PL_LEFT)
            assert_int_equal(r->hit, hit);
        if (kind == PL_MARK)
            assert_int_equal(r->mark, hit >= 0);
    }
    assert_int_equal(fx_nrows(x, rows), n);
    assert_true(n > 0);
}

static const enum pl_probe_kind all_kinds[] = {PL_INNER, PL_LEFT, PL_SEMI, PL_ANTI, PL_MARK};

typedef struct pl_step *probe_maker(struct fx *x, int key, int slot);

static void check_probe(probe_maker *make, int (*find)(int row))
{
    for (size_t k = 0; k < HD_COUNT(all_kinds); k++) {
        int key, rows, slot = -1;
        struct fx *x = start(&key, &rows);
        enum pl_probe_kind kind = all_kinds[k];
        if (kind == PL_INNER || kind == PL_LEFT)
            slot = fx_slot(x, RT_I32, false);
        if (kind == PL_MARK)
            slot = fx_slot(x, RT_BOOL, false);
        make(x, key, slot)->probe = kind;
        if (slot >= 0)
            fx_out(x, kind == PL_MARK ? 2 : 1, fx_col(x, slot), FE_AGG_ANY);
        fx_compile(x);
        assert_int_equal(fx_run(x, 0, 0, 123) | fx_run(x, 0, 123, N), 0);
        check_probe_rows(x, rows, kind, find);
        fx_free(x);
    }
}

/* --- bitmap, direct --- */

static struct pl_step *bit_probe(struct fx *x, enum pl_step_kind kind, int key, int slot)
{
    int e = fx_col(x, key);
    struct pl_step *s = fx_step(x, kind, slot);
    s->expr = e;
    s->a_bits = fx_arg_ptr(x, RT_ARG_STATE_BITS, bits);
    s->a_range = fx_arg(x, RT_ARG_STATE_RANGE, RT_I64, RANGE);
    return s;
}
static struct pl_step *bitmap_probe(struct fx *x, int key, int slot)
{
    return bit_probe(x, PL_STEP_PROBE_BITMAP, key, slot);
}
static struct pl_step *direct_probe(struct fx *x, int key, int slot)
{
    return bit_probe(x, PL_STEP_PROBE_DIRECT, key, slot);
}
static int find_bit(int i)
{
    return valid(i) && present(keys[i]) ? (int)keys[i] : -1;
}

static void bitmap_probe_finds_set_bits(void **s)
{
    (void)s;
    check_probe(bitmap_probe, find_bit);
    check_probe(direct_probe, find_bit);
}

static void direct_fields_load_by_index(void **s)
{
    (void)s;
    static int64_t vals[RANGE];
    static uint8_t vvalid[RANGE];
    for (int i = 0; i < RANGE; i++) {
        vals[i] = i * 11;
        vvalid[i] = (uint8_t)(i % 2);
    }
    int key, rows;
    struct fx *x = start(&key, &rows);
    int hit = fx_slot(x, RT_I32, false), val = fx_slot(x, RT_I64, true);
    direct_probe(x, key, hit)->probe = PL_LEFT;
    struct pl_step *l = fx_step(x, PL_STEP_LOAD_FIELD, val);
    l->row_slot = hit;
    l->row_nullable = true;
    l->state = fx_state(x, RT_STATE_DIRECT, 0);
    l->field = fx_field(x, l->state, RT_I64, 0, 0);
    l->a_data = fx_arg_ptr(x, RT_ARG_STATE_FIELD, vals);
    l->a_valid = fx_arg_ptr(x, RT_ARG_STATE_FIELD_VALID, vvalid);
    fx_out(x, 1, fx_col(x, hit), FE_AGG_ANY);
    fx_out(x, 3, fx_col(x, val), FE_AGG_ANY);
    fx_compile(x);
    assert_int_equal(fx_run(x, 0, 0, N), 0);
    assert_int_equal(fx_nrows(x, rows), N);
    for (int i = 0; i < N; i++) {
        const struct out_row *r = fx_row(x, rows, (size_t)i);
        int h = find_bit(i);
        assert_int_equal(r->hit, h);
        assert_int_equal(r->val_valid, h >= 0 && h % 2);
        assert_true(!r->val_valid || r->val == h * 11);
    }
    fx_free(x);
}

/* --- key index --- */

enum { KEY_MIN = -20 };
static uint32_t index_rows[RANGE];

static struct pl_step *key_probe(struct fx *x, int key, int slot, enum fe_index_kind kind)
{
    struct fe_table *t = fx_table(x, 1);
    t->keyidx = HD_NEW(&x->arena, struct fe_key_index);
    t->keyidx->kind = kind;
    int e = fx_col(x, key);
    struct pl_step *s = fx_step(x, PL_STEP_PROBE_KEY, slot);
    s->table = t;
    s->expr = e;
    s->a_min = fx_arg(x, RT_ARG_KEYIDX_MIN, RT_I64, KEY_MIN);
    s->a_range = fx_arg(x, RT_ARG_KEYIDX_RANGE, RT_I64, RANGE);
    if (kind == FE_INDEX_ARRAY)
        s->a_rows = fx_arg_ptr(x, RT_ARG_KEYIDX_ROWS, index_rows);
    return s;
}
static struct pl_step *positional_probe(struct fx *x, int key, int slot)
{
    return key_probe(x, key, slot, FE_INDEX_POSITIONAL);
}
static struct pl_step *array_probe(struct fx *x, int key, int slot)
{
    return key_probe(x, key, slot, FE_INDEX_ARRAY);
}
static int find_positional(int i)
{
    bool in = valid(i) && keys[i] >= KEY_MIN && keys[i] < KEY_MIN + RANGE;
    return in ? (int)(keys[i] - KEY_MIN) : -1;
}
static int find_array(int i)
{
    int p = find_positional(i);
    return p < 0 ? -1 : (int)index_rows[p] - 1;
}

static void key_probe_finds_rows(void **s)
{
    (void)s;
    for (int i = 0; i < RANGE; i++)
        index_rows[i] = i % 3 ? (uint32_t)(RANGE - i) : 0;
    check_probe(positional_probe, find_positional);
    check_probe(array_probe, find_array);
}

/* --- hash --- */

enum { BUILD = 90 };
static int64_t build_keys[BUILD];
static const char *const names[] = {"alpha", "beta", "gamma", ""};

/* Pipeline 0 builds a table keyed by (int64, name by parity, bool nullable), rows 32 bytes. */
struct build_row {
    uint64_t hash;
    int64_t k;
    const char *s;
    uint64_t n;
    int32_t id;
    uint8_t flag, flag_valid, pad[10];
};

struct hash_args {
    int state, rows, slots, mask;
};

static void add_name(struct fx *x, int k, int *out)
{
    int rem = fx_op(x, FE_MOD, RT_I64, 2, fx_col(x, k), fx_int(x, RT_I64, 4));
    int c[3];
    for (int i = 0; i < 3; i++)
        c[i] = fx_op(x, FE_EQ, RT_BOOL, 2, rem, fx_int(x, RT_I64, i));
    *out = fx_op(x, FE_CASE, RT_STR, 7, c[0], fx_str(x, names[0]), c[1], fx_str(x, names[1]), c[2], fx_str(x, names[2]),
                 fx_str(x, names[3]));
}

/* Third key: NULL for keys divisible by 5, else whether divisible by 3. */
static int add_flag(struct fx *x, int k)
{
    int r5 = fx_op(x, FE_MOD, RT_I64, 2, fx_col(x, k), fx_int(x, RT_I64, 5));
    int r3 = fx_op(x, FE_MOD, RT_I64, 2, fx_col(x, k), fx_int(x, RT_I64, 3));
    int zero = fx_int(x, RT_I64, 0);
    int e = fx_op(x, FE_CASE, RT_BOOL, 2, fx_op(x, FE_NE, RT_BOOL, 2, r5, zero), fx_op(x, FE_EQ, RT_BOOL, 2, r3, zero));
    x->exprs[e].nullable = true;
    return e;
}

static void add_build(struct fx *x, struct hash_args *h)
{
    fx_pipeline(x, RT_SOURCE_TABLE);
    struct fe_table *t = fx_table(x, 1);
    fx_column(t, 0, FE_STORE_INT, 8, build_keys, NULL);
    int k = fx_slot(x, RT_I64, false), name;
    fx_load(x, k, t, 0, 0);
    h->state = fx_state(x, RT_STATE_HASH, sizeof(struct build_row));
    x->states[h->state].nkeys = 3;
    fx_field(x, h->state, RT_I64, 8, -1);
    fx_field(x, h->state, RT_STR, 16, -1);
    fx_field(x, h->state, RT_BOOL, 36, 37);
    fx_field(x, h->state, RT_I32, 32, -1);
    add_name(x, k, &name);
    x->p->sink.kind = PL_SINK_ROWS;
    x->p->sink.state = h->state;
    fx_out(x, 0, fx_col(x, k), FE_AGG_ANY);
    fx_out(x, 1, name, FE_AGG_ANY);
    fx_out(x, 2, add_flag(x, k), FE_AGG_ANY);
    fx_out(x, 3, fx_col(x, 0), FE_AGG_ANY);
    h->slots = fx_arg_ptr(x, RT_ARG_STATE_SLOTS, NULL);
    h->mask = fx_arg(x, RT_ARG_STATE_MASK, RT_I64, 0);
    h->rows = fx_arg_ptr(x, RT_ARG_STATE_ROWS, NULL);
}

/* Pipeline 1 looks the keys of the table above up. */
static struct pl_step *add_hash_step(struct fx *x, enum pl_step_kind kind, const struct hash_args *h, int key, int slot)
{
    int *k = HD_NEWN(&x->arena, int, 3), name;
    add_name(x, key, &name);
    k[0] = fx_col(x, key);
    k[1] = name;
    k[2] = add_flag(x, key);
    struct pl_step *s = fx_step(x, kind, slot);
    s->state = h->state;
    s->nkeys = 3;
    s->keys = k;
    s->a_rows = h->rows;
    s->a_slots = h->slots;
    s->a_mask = h->mask;
    return s;
}

static int load_id(struct fx *x, const struct hash_args *h, int row, bool nullable)
{
    int id = fx_slot(x, RT_I32, nullable);
    struct pl_step *s = fx_step(x, PL_STEP_LOAD_FIELD, id);
    s->state = h->state;
    s->field = 3;
    s->row_slot = row;
    s->row_nullable = nullable;
    s->a_rows = h->rows;
    return id;
}

static void fill_build(int repeat)
{
    for (int i = 0; i < BUILD; i++)
        build_keys[i] = (i / repeat) * 3 - 8;
}

static int find_build(int row, bool null_equal)
{
    for (int i = 0; valid(row) && i < BUILD; i++)
        if (build_keys[i] == keys[row] && (null_equal || keys[row] % 5 != 0))
            return i;
    return -1;
}

static void check_hash_probe(enum pl_probe_kind kind, bool null_equal)
{
    struct hash_args h;
    int key, rows, slot = -1;
    struct fx *x = fx_new();
    add_build(x, &h);
    struct fe_table *t = fx_table(x, 1);
    fx_pipeline(x, RT_SOURCE_TABLE);
    fx_column(t, 0, FE_STORE_INT, 8, keys, key_valid);
    key = fx_slot(x, RT_I64, true);
    fx_load(x, key, t, 0, 0);
    rows = fx_state(x, RT_STATE_ROWS, 8);
    fx_field(x, rows, RT_I32, 0, -1);
    fx_field(x, rows, RT_I32, 4, -1);
    x->p->sink.kind = PL_SINK_ROWS;
    x->p->sink.state = rows;
    fx_out(x, 0, fx_col(x, 0), FE_AGG_ANY);
    if (kind == PL_INNER)
        slot = fx_slot(x, RT_I32, false);
    struct pl_step *s = add_hash_step(x, PL_STEP_PROBE_HASH, &h, key, slot);
    s->probe = kind;
    static const bool all[] = {true, true, true};
    s->null_equal = null_equal ? all : NULL;
    if (kind == PL_INNER)
        fx_out(x, 1, fx_col(x, load_id(x, &h, slot, false)), FE_AGG_ANY);
    fx_compile(x);
    assert_int_equal(fx_run(x, 0, 0, BUILD), 0);
    fx_finish_hash(x, h.state, h.slots, h.mask, h.rows);
    assert_int_equal(fx_run(x, 1, 0, N), 0);
    size_t n = 0;
    for (int i = 0; i < N; i++) {
        /* A NULL key is three NULLs: with null_equal it matches no row of the table. */
        int hit = find_build(i, null_equal);
        if ((kind == PL_ANTI) != (hit < 0))
            continue;
        const int32_t *r = fx_row(x, rows, n++);
        assert_int_equal(r[0], i);
        if (kind == PL_INNER)
            assert_int_equal(r[1], hit);
    }
    assert_int_equal(fx_nrows(x, rows), n);
    assert_true(n > 10);
    fx_free(x);
}

static void hash_probe_finds_keys(void **s)
{
    (void)s;
    fill_build(1);
    check_hash_probe(PL_INNER, false);
    check_hash_probe(PL_SEMI, true);
    check_hash_probe(PL_ANTI, false);
    check_hash_probe(PL_INNER, true);
}

/* Rows of (source, child id): each combination the expansion has to give, in any order. */
static void check_pairs(struct fx *x, int rows, bool left, bool (*joins)(int row, int child), int nchildren)
{
    size_t n = fx_nrows(x, rows), want = 0;
    uint8_t *seen = hd_zalloc(&x->arena, (size_t)(N * (nchildren + 1)));
    for (size_t i = 0; i < n; i++) {
        const int32_t *r = fx_row(x, rows, i);
        seen[r[0] * (nchildren + 1) + r[1] + 1]++;
    }
    for (int i = 0; i < N; i++) {
        int matches = 0;
        for (int c = 0; c < nchildren; c++) {
            bool j = joins(i, c);
            matches += j;
            assert_int_equal(seen[i * (nchildren + 1) + c + 1], j);
        }
        assert_int_equal(seen[i * (nchildren + 1)], left && matches == 0);
        want += (size_t)(left && matches == 0 ? 1 : matches);
    }
    assert_int_equal(n, want);
    assert_true(n > 20);
}

static bool joins_build(int row, int child)
{
    return valid(row) && keys[row] % 5 != 0 && build_keys[child] == keys[row];
}

static int pair_sink(struct fx *x)
{
    int rows = fx_state(x, RT_STATE_ROWS, 8);
    fx_field(x, rows, RT_I32, 0, -1);
    fx_field(x, rows, RT_I32, 4, -1);
    x->p->sink.kind = PL_SINK_ROWS;
    x->p->sink.state = rows;
    fx_out(x, 0, fx_col(x, 0), FE_AGG_ANY);
    return rows;
}

static int coalesced(struct fx *x, int slot)
{
    return fx_op(x, FE_COALESCE, RT_I32, 2, fx_col(x, slot), fx_int(x, RT_I32, -1));
}

static void check_expand_hash(bool left, bool splittable)
{
    struct hash_args h;
    struct fx *x = fx_new();
    add_build(x, &h);
    struct fe_table *t = fx_table(x, 1);
    fx_pipeline(x, RT_SOURCE_TABLE);
    fx_column(t, 0, FE_STORE_INT, 8, keys, key_valid);
    int key = fx_slot(x, RT_I64, true), row = fx_slot(x, RT_I32, false);
    fx_load(x, key, t, 0, 0);
    struct pl_step *s = add_hash_step(x, PL_STEP_EXPAND_HASH, &h, key, row);
    s->probe = left ? PL_LEFT : PL_INNER;
    s->splittable = splittable;
    fx_open_level(x, 1, 0);
    int id = load_id(x, &h, row, left);
    int rows = pair_sink(x);
    fx_out(x, 1, coalesced(x, id), FE_AGG_ANY);
    fx_compile(x);
    assert_true(splittable == (x->spipes[1].level_entry[1] != NULL));
    assert_int_equal(fx_run(x, 0, 0, BUILD), 0);
    fx_finish_hash(x, h.state, h.slots, h.mask, h.rows);
    assert_int_equal(fx_run(x, 1, 0, N), 0);
    assert_int_equal(x->spawned, 0);
    check_pairs(x, rows, left, joins_build, BUILD);
    fx_free(x);
}

static void expand_hash_gives_every_row_of_a_key(void **s)
{
    (void)s;
    fill_build(3);
    for (int k = 0; k < 4; k++)
        check_expand_hash(k & 1, k >> 1);
}

/* --- CSR and foreign keys --- */

enum { CHILDREN = 400 };
static uint64_t offsets[RANGE + 1];
static uint32_t narrow_offsets[RANGE + 1];
static uint32_t child_rows[CHILDREN];

static void fill_offsets(void)
{
    for (int i = 0; i < RANGE; i++) {
        uint64_t n = (uint64_t)(i % 4 == 0 ? 3 : i % 4 == 1);
        offsets[i + 1] = HD_MIN(offsets[i] + n, CHILDREN);
        narrow_offsets[i + 1] = (uint32_t)offsets[i + 1];
    }
    for (int i = 0; i < CHILDREN; i++)
        child_rows[i] = (uint32_t)((i * 7) % CHILDREN);
}

static bool joins_csr(int row, int child)
{
    return valid(row) && keys[row] >= 0 && keys[row] < RANGE && (uint64_t)child >= offsets[keys[row]] &&
           (uint64_t)child < offsets[keys[row] + 1];
}

static void check_expand_csr(bool left, bool splittable)
{
    struct fx *x = fx_new();
    struct fe_table *t = fx_table(x, 1);
    fx_pipeline(x, RT_SOURCE_TABLE);
    fx_column(t, 0, FE_STORE_INT, 8, keys, key_valid);
    int key = fx_slot(x, RT_I64, true), row = fx_slot(x, RT_I32, false);
    fx_load(x, key, t, 0, 0);
    int e = fx_col(x, key);
    struct pl_step *s = fx_step(x, PL_STEP_EXPAND_CSR, row);
    s->expr = e;
    s->a_offsets = fx_arg_ptr(x, RT_ARG_STATE_OFFSETS, offsets);
    s->a_range = fx_arg(x, RT_ARG_STATE_RANGE, RT_I64, RANGE);
    s->probe = left ? PL_LEFT : PL_INNER;
    s->splittable = splittable;
    fx_open_level(x, 1, 0);
    int rows = pair_sink(x);
    fx_out(x, 1, fx_col(x, row), FE_AGG_ANY);
    fx_compile(x);
    assert_int_equal(fx_run(x, 0, 0, N), 0);
    check_pairs(x, rows, left, joins_csr, CHILDREN);
    fx_free(x);
}

static void expand_csr_gives_every_row_of_an_index(void **s)
{
    (void)s;
    for (int k = 0; k < 4; k++)
        check_expand_csr(k & 1, k >> 1);
}

static bool fk_listed, fk_narrow;
static bool joins_fk(int row, int child)
{
    if (row % 3 == 2) /* no parent: the row id is -1 */
        return false;
    uint64_t p = (uint64_t)(row % RANGE);
    for (uint64_t k = offsets[p]; k < offsets[p + 1]; k++)
        if ((fk_listed ? child_rows[k] : k) == (uint64_t)child)
            return true;
    return false;
}

static void check_expand_fk(bool left, bool splittable)
{
    struct fx *x = fx_new();
    fx_pipeline(x, RT_SOURCE_TABLE);
    struct fe_table *t = fx_table(x, 1);
    int src = fx_op(x, FE_WIDEN, RT_I64, 1, fx_col(x, 0));
    int three = fx_op(x, FE_MOD, RT_I64, 2, src, fx_int(x, RT_I64, 3));
    int parent = fx_slot(x, RT_I32, false), row = fx_slot(x, RT_I32, false);
    int e = fx_op(x, FE_CASE, RT_I64, 3, fx_op(x, FE_EQ, RT_BOOL, 2, three, fx_int(x, RT_I64, 2)),
                  fx_int(x, RT_I64, -1), fx_op(x, FE_MOD, RT_I64, 2, src, fx_int(x, RT_I64, RANGE)));
    fx_let(x, parent, fx_op(x, FE_NARROW, RT_I32, 1, e));
    struct pl_step *s = fx_step(x, PL_STEP_EXPAND_FK, row);
    s->row_slot = parent;
    s->row_nullable = true;
    s->table = t;
    t->nfks = 1;
    t->fks = HD_NEW(&x->arena, struct fe_foreign_key);
    t->fks->offset_width = fk_narrow ? 4 : 8;
    s->a_offsets = fx_arg_ptr(x, RT_ARG_FK_OFFSETS, fk_narrow ? (const void *)narrow_offsets : offsets);
    if (fk_listed)
        s->a_child_rows = fx_arg_ptr(x, RT_ARG_FK_CHILD_ROWS, child_rows);
    s->probe = left ? PL_LEFT : PL_INNER;
    s->splittable = splittable;
    fx_open_level(x, 1, 0);
    int rows = pair_sink(x);
    fx_out(x, 1, fx_col(x, row), FE_AGG_ANY);
    fx_compile(x);
    assert_int_equal(fx_run(x, 0, 0, N), 0);
    check_pairs(x, rows, left, joins_fk, CHILDREN);
    fx_free(x);
}

static void expand_fk_gives_every_child(void **s)
{
    (void)s;
    for (int k = 0; k < 16; k++) {
        fk_narrow = k >> 3;
        fk_listed = k >> 2 & 1;
        check_expand_fk(k & 1, k >> 1 & 1);
    }
}

/* --- two levels, a long range that is spawned, carried slots of every class --- */

enum { BIG = 20000 };

struct carried_row {
    int64_t a;
    hd_i128 h;
    const char *s;
    uint64_t n;
    double f;
    int32_t r1, r2;
    uint8_t b, a_valid, pad[14];
};

static void spawned_levels_get_their_tuple(void **st)
{
    (void)st;
    struct fx *x = fx_new();
    fx_pipeline(x, RT_SOURCE_TABLE);
    int a = fx_slot(x, RT_I64, true), h = fx_slot(x, RT_I128, false), s = fx_slot(x, RT_STR, false);
    int f = fx_slot(x, RT_F64, false), b = fx_slot(x, RT_BOOL, false);
    int r1 = fx_slot(x, RT_I32, false), r2 = fx_slot(x, RT_I32, false);
    int src = fx_op(x, FE_WIDEN, RT_I64, 1, fx_col(x, 0)), one = fx_int(x, RT_I64, 1);
    fx_let(x, a, fx_op(x, FE_CASE, RT_I64, 2, fx_op(x, FE_EQ, RT_BOOL, 2, src, one), src));
    fx_let(x, h, fx_op(x, FE_WIDEN, RT_I128, 1, src));
    fx_let(x, s, fx_str(x, "tuple"));
    fx_let(x, f, fx_op(x, FE_TO_F64, RT_F64, 1, fx_col(x, 0)));
    x->exprs[x->prog.nexprs - 2].scale = 0;
    x->exprs[x->prog.nexprs - 1].scale = 0;
    fx_let(x, b, fx_op(x, FE_EQ, RT_BOOL, 2, src, one));
    x->p->slots[a].nullable = true;
    struct pl_step *e1 = fx_step(x, PL_STEP_EXPAND_ALL, r1);
    e1->a_nrows = fx_arg(x, RT_ARG_STATE_NROWS, RT_I64, 2);
    e1->splittable = true;
    fx_open_level(x, 6, 0, a, h, s, f, b);
    struct pl_step *e2 = fx_step(x, PL_STEP_EXPAND_ALL, r2);
    e2->a_nrows = fx_arg(x, RT_ARG_STATE_NROWS, RT_I64, BIG);
    e2->splittable = true;
    fx_open_level(x, 6, a, h, s, f, b, r1);
    int r2w = fx_op(x, FE_WIDEN, RT_I64, 1, fx_col(x, r2));
    fx_filter(x, fx_op(x, FE_EQ, RT_BOOL, 2, fx_int(x, RT_I64, 0),
                       fx_op(x, FE_MOD, RT_I64, 2, r2w, fx_int(x, RT_I64, 1000))));
    static const enum rt_phys phys[] = {RT_I64, RT_I128, RT_STR, RT_F64, RT_BOOL, RT_I32, RT_I32};
    static const int offsets_of[] = {0, 16, 32, 48, 64, 56, 60};
    const int slots[] = {a, h, s, f, b, r1, r2};
    int rows = fx_state(x, RT_STATE_ROWS, sizeof(struct carried_row));
    x->p->sink.kind = PL_SINK_ROWS;
    x->p->sink.state = rows;
    for (int k = 0; k < 7; k++) {
        fx_field(x, rows, phys[k], offsets_of[k], k == 0 ? 65 : -1);
        fx_out(x, k, fx_col(x, slots[k]), FE_AGG_ANY);
    }
    fx_compile(x);
    assert_int_equal(fx_run(x, 0, 0, 3), 0);
    assert_int_equal(x->spawned, 6);
    assert_int_equal(fx_nrows(x, rows), 3 * 2 * BIG / 1000);
    for (size_t i = 0; i < fx_nrows(x, rows); i++) {
        const struct carried_row *r = fx_row(x, rows, i);
        int want = (int)i / (2 * BIG / 1000);
        assert_int_equal(r->a_valid, want == 1);
        assert_true(!r->a_valid || r->a == want);
        assert_true(r->h == want && r->f == want && r->b == (want == 1));
        assert_true(r->n == 5 && memcmp(r->s, "tuple", 5) == 0);
        assert_int_equal(r->r1, i / (BIG / 1000) % 2);
        assert_int_equal(r->r2, i % (BIG / 1000) * 1000);
    }
    fx_free(x);
}

static void stop_ends_an_expansion(void **s)
{
    (void)s;
    struct fx *x = fx_new();
    fx_pipeline(x, RT_SOURCE_TABLE);
    int r = fx_slot(x, RT_I32, false);
    struct pl_step *all = fx_step(x, PL_STEP_EXPAND_ALL, r);
    all->polls = true;
    all->a_nrows = fx_arg(x, RT_ARG_STATE_NROWS, RT_I64, 5);
    fx_open_level(x, 0);
    int rows = pair_sink(x);
    fx_out(x, 1, fx_col(x, r), FE_AGG_ANY);
    fx_compile(x);
    x->thread.stop = 1;
    assert_int_equal(fx_run(x, 0, 0, 10), 0);
    assert_int_equal(fx_nrows(x, rows), 0);
    x->thread.stop = 0;
    assert_int_equal(fx_run(x, 0, 0, 10), 0);
    assert_int_equal(fx_nrows(x, rows), 50);
    fx_free(x);
}

/* --- match bits, presence --- */

static void mark_and_test_use_match_bits(void **s)
{
    (void)s;
    static uint64_t matches[RANGE / 64 + 1];
    int key, rows;
    struct fx *x = start(&key, &rows);
    int hit = fx_slot(x, RT_I32, false);
    direct_probe(x, key, hit)->probe = PL_LEFT;
    struct pl_step *m = fx_step(x, PL_STEP_MARK, -1);
    m->row_slot = hit;
    m->row_nullable = true;
    m->a_matches = fx_arg_ptr(x, RT_ARG_STATE_MATCHES, matches);
    int left[2];
    for (int k = 0; k < 2; k++) {
        fx_pipeline(x, RT_SOURCE_INDEX);
        struct pl_step *p = fx_step(x, PL_STEP_PRESENT, -1);
        p->row_slot = 0;
        p->state = fx_state(x, RT_STATE_DIRECT, 0);
        p->a_bits = fx_arg_ptr(x, RT_ARG_STATE_BITS, bits);
        struct pl_step *t = fx_step(x, PL_STEP_TEST, -1);
        t->row_slot = 0;
        t->negate = k;
        t->a_matches = m->a_matches;
        left[k] = pair_sink(x);
    }
    fx_compile(x);
    assert_int_equal(fx_run(x, 0, 0, N), 0);
    assert_int_equal(fx_run(x, 1, 0, RANGE) | fx_run(x, 2, 0, RANGE), 0);
    bool matched[RANGE] = {false};
    size_t n[2] = {0};
    for (int i = 0; i < N; i++)
        if (find_bit(i) >= 0)
            matched[find_bit(i)] = true;
    for (int k = 0; k < RANGE; k++)
        if (present(k)) {
            int side = !matched[k];
            assert_int_equal(*(int32_t *)fx_row(x, left[side], n[side]++), k);
        }
    assert_int_equal(fx_nrows(x, left[0]), n[0]);
    assert_int_equal(fx_nrows(x, left[1]), n[1]);
    assert_true(n[0] > 10 && n[1] > 5);
    fx_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bitmap_probe_finds_set_bits),
        cmocka_unit_test(direct_fields_load_by_index),
        cmocka_unit_test(key_probe_finds_rows),
        cmocka_unit_test(hash_probe_finds_keys),
        cmocka_unit_test(expand_hash_gives_every_row_of_a_key),
        cmocka_unit_test(expand_csr_gives_every_row_of_an_index),
        cmocka_unit_test(expand_fk_gives_every_child),
        cmocka_unit_test(spawned_levels_get_their_tuple),
        cmocka_unit_test(stop_ends_an_expansion),
        cmocka_unit_test(mark_and_test_use_match_bits),
    };
    fill();
    fill_offsets();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
