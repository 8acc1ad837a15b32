/* Scans: column loads of every storage, filters with and without tiles, sinks that store rows. */
#include "tests/unit/codegen/codegen_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/strbuf.h"

enum { N = 1000, CHECK_TILE = 64 };

static int32_t dates[N];
static int16_t date16[N];
static int8_t disc[N], qty[N];
static int32_t price[N];
static uint8_t some_valid[N / 8 + 9];

static void fill(void)
{
    srand(7);
    for (int i = 0; i < N; i++) {
        date16[i] = (int16_t)(rand() % 2500 - 1250);
        dates[i] = date16[i] + 9000;
        disc[i] = (int8_t)(rand() % 11);
        qty[i] = (int8_t)(1 + rand() % 50);
        price[i] = rand() % 10000000;
    }
    for (size_t i = 0; i < sizeof some_valid; i++)
        some_valid[i] = (uint8_t)rand();
}

static bool is_valid(int i)
{
    return some_valid[i >> 3] >> (i & 7) & 1;
}

/* sum(price * disc) where 8500 <= date < 9500 and 5 <= disc <= 7 and qty < 24 */
static struct fx *make_q6(bool tile, bool nullable_qty, int *sum)
{
    struct fx *x = fx_new();
    fx_pipeline(x, RT_SOURCE_TABLE);
    struct fe_table *t = fx_table(x, 4);
    fx_column(t, 0, FE_STORE_INT, 2, date16, NULL)->base = 9000;
    fx_column(t, 1, FE_STORE_INT, 1, disc, NULL);
    fx_column(t, 2, FE_STORE_INT, 1, qty, nullable_qty ? some_valid : NULL);
    fx_column(t, 3, FE_STORE_INT, 4, price, NULL);
    int d = fx_slot(x, RT_I32, false), c = fx_slot(x, RT_I64, false);
    int q = fx_slot(x, RT_I32, nullable_qty), p = fx_slot(x, RT_I64, false);
    fx_load(x, d, t, 0, 0);
    fx_filter(x, fx_op(x, FE_GE, RT_BOOL, 2, fx_col(x, d), fx_int(x, RT_I32, 8500)));
    fx_filter(x, fx_op(x, FE_LT, RT_BOOL, 2, fx_col(x, d), fx_int(x, RT_I32, 9500)));
    fx_load(x, c, t, 1, 0);
    fx_filter(x, fx_op(x, FE_AND, RT_BOOL, 2, fx_op(x, FE_GE, RT_BOOL, 2, fx_col(x, c), fx_int(x, RT_I64, 5)),
                       fx_op(x, FE_LE, RT_BOOL, 2, fx_col(x, c), fx_int(x, RT_I64, 7))));
    fx_load(x, q, t, 2, 0);
    fx_filter(x, fx_op(x, FE_LT, RT_BOOL, 2, fx_col(x, q), fx_int(x, RT_I32, 24)));
    fx_load(x, p, t, 3, 0);
    x->tile_steps = tile ? x->p->nsteps - 1 : 0;
    *sum = fx_state(x, RT_STATE_AGG_SCALAR, 16);
    fx_field(x, *sum, RT_I64, 0, -1);
    fx_field(x, *sum, RT_I64, 8, -1);
    x->p->sink.kind = PL_SINK_AGG_SCALAR;
    x->p->sink.state = *sum;
    fx_out(x, 0, fx_op(x, FE_MUL, RT_I64, 2, fx_col(x, p), fx_col(x, c)), FE_AGG_SUM);
    fx_out(x, 1, -1, FE_AGG_COUNT_STAR);
    return x;
}

static void q6_expected(int begin, int end, bool nullable_qty, int64_t out[2])
{
    for (int i = begin; i < end; i++)
        if (dates[i] >= 8500 && dates[i] < 9500 && disc[i] >= 5 && disc[i] <= 7 && qty[i] < 24 &&
            (!nullable_qty || is_valid(i))) {
            out[0] += (int64_t)price[i] * disc[i];
            out[1]++;
        }
}

static void check_q6(bool tile, bool nullable_qty)
{
    static const int cuts[] = {0, 0, 1, 3, 64, 67, 130, 131, 195, 500, 563, 627, N};
    int64_t want[2] = {0};
    int sum;
    struct fx *x = make_q6(tile, nullable_qty, &sum);
    x->opt.profile = true;
    fx_compile(x);
    for (size_t k = 0; k + 1 < HD_COUNT(cuts); k++) {
        q6_expected(cuts[k], cuts[k + 1], nullable_qty, want);
        assert_int_equal(fx_run(x, 0, cuts[k], cuts[k + 1]), 0);
        const int64_t *got = fx_row(x, sum, 0);
        assert_int_equal(got[0], want[0]);
        assert_int_equal(got[1], want[1]);
    }
    assert_true(want[1] > 5);
    assert_int_equal(x->counters[0], N);
    assert_int_equal(x->counters[x->p->nsteps], want[1]);
    fx_free(x);
}

static void filters_give_q6(void **s)
{
    (void)s;
    check_q6(false, false);
    check_q6(false, true);
}

static void tiles_give_q6(void **s)
{
    (void)s;
    check_q6(true, false);
    check_q6(true, true);
}

/* Small tables: unoptimised code, and no tiles where a tile has more rows than the table. */
static void small_tables_give_q6(void **s)
{
    (void)s;
    static const int sizes[] = {CHECK_TILE - 1, CHECK_TILE, CHECK_TILE + 1, N};
    for (size_t k = 0; k < HD_COUNT(sizes); k++) {
        int64_t want[2] = {0};
        int sum;
        struct fx *x = make_q6(true, false, &sum);
        ((struct fe_table *)x->spipes[0].table)->rows = sizes[k];
        x->p->unoptimised = k > 0;
        fx_compile(x);
        q6_expected(0, sizes[k], false, want);
        assert_int_equal(fx_run(x, 0, 0, 10) | fx_run(x, 0, 10, sizes[k]), 0);
        const int64_t *got = fx_row(x, sum, 0);
        assert_int_equal(got[0], want[0]);
        assert_int_equal(got[1], want[1]);
        fx_free(x);
    }
}

/* Everything but sizes and constants being equal, so are the bytes. */
static void artefact_depends_on_shape_only(void **s)
{
    (void)s;
    int sum;
    struct fx *a = make_q6(true, false, &sum), *b = make_q6(true, false, &sum);
    struct fx *c = make_q6(true, true, &sum);
    for (int i = 0; i < b->spec.nargs; i++)
        b->words[b->args[i].word] ^= 77;
    b->args[0].i = 5;
    fx_compile(a);
    fx_compile(b);
    fx_compile(c);
    assert_int_equal(a->art.size, b->art.size);
    assert_memory_equal(a->art.bytes, b->art.bytes, a->art.size);
    assert_true(a->art.size != c->art.size || memcmp(a->art.bytes, c->art.bytes, a->art.size));
    assert_string_equal(a->spipes[0].entry, "hd_p0");
    fx_free(a);
    fx_free(b);
    fx_free(c);
}

static void options_mark_functions(void **s)
{
    (void)s;
    int sum;
    struct fx *x = make_q6(true, false, &sum);
    struct hd_strbuf plain, marked;
    hd_strbuf_init(&plain);
    hd_strbuf_init(&marked);
    assert_int_equal(cg_llvm_print(&plain, &x->prog, &x->opt, NULL), 0);
    x->opt.sanitize_thread = x->opt.sanitize_address = true;
    assert_int_equal(cg_llvm_print(&marked, &x->prog, &x->opt, NULL), 0);
    assert_null(strstr(plain.s, "sanitize"));
    assert_non_null(strstr(marked.s, "sanitize_address"));
    assert_non_null(strstr(marked.s, "sanitize_thread"));
    assert_non_null(strstr(plain.s, "define i32 @hd_p0("));
    hd_strbuf_release(&plain);
    hd_strbuf_release(&marked);
    fx_free(x);
}

static void profile_counts_rows_per_step(void **s)
{
    (void)s;
    uint64_t counts[2][FX_ITEMS];
    int sum;
    for (int tile = 0; tile < 2; tile++) {
        struct fx *x = make_q6(tile, false, &sum);
        x->opt.profile = true;
        fx_compile(x);
        fx_run(x, 0, 5, 900);
        memcpy(counts[tile], x->counters, sizeof x->counters);
        assert_int_equal(counts[tile][0], 895);
        assert_true(counts[tile][2] < 895);
        assert_int_equal(counts[tile][x->p->nsteps], *((int64_t *)fx_row(x, sum, 0) + 1));
        fx_free(x);
    }
}

/* --- loads --- */

struct text_column {
    uint32_t *ends;
    uint64_t base[3];
    char *bytes;
};

static void make_text(struct text_column *c, int n)
{
    c->ends = malloc((size_t)n * 4);
    c->bytes = malloc((size_t)n * 8);
    uint64_t at = 0;
    for (int i = 0; i < n; i++) {
        if ((i & 65535) == 0)
            c->base[i >> 16] = at;
        at += (uint64_t)sprintf(c->bytes + at, "%x", i % 7 ? i * 3 : 0);
        c->ends[i] = (uint32_t)(at - c->base[i >> 16]);
    }
}

struct stored_row {
    int32_t code, pad;
    const char *s;
    uint64_t n;
    double f;
    int64_t wide;
    hd_i128 huge;
    uint8_t flag, code_valid, pad2[14];
};

enum { STORED = 70000, STORED_COLS = 6 };

/* Values of a column of each storage. */
static struct stored_columns {
    struct text_column text;
    uint8_t codes[STORED], valid[STORED / 8 + 1];
    double floats[STORED];
    int64_t wides[STORED];
    hd_i128 huges[STORED];
    int8_t flags[STORED];
} stored;

static void fill_stored(void)
{
    make_text(&stored.text, STORED);
    for (int i = 0; i < STORED; i++) {
        stored.codes[i] = (uint8_t)(i * 7);
        stored.floats[i] = i / 3.0;
        stored.wides[i] = i - 100;
        stored.huges[i] = (hd_i128)i << 70;
        stored.flags[i] = i % 3 == 0;
        stored.valid[i >> 3] = (uint8_t)(stored.valid[i >> 3] | (i % 5 != 0) << (i & 7));
    }
}

/* A pipeline that stores what it loads of each column. */
static struct fx *load_stored(int *rows)
{
    static const enum rt_phys phys[STORED_COLS] = {RT_I32, RT_STR, RT_F64, RT_I64, RT_I128, RT_BOOL};
    static const int offsets[STORED_COLS] = {0, 8, 24, 32, 48, 64};
    struct fx *x = fx_new();
    fx_pipeline(x, RT_SOURCE_TABLE);
    struct fe_table *t = fx_table(x, STORED_COLS);
    fx_column(t, 0, FE_STORE_DICT, 1, stored.codes, stored.valid);
    fx_column(t, 1, FE_STORE_TEXT, 4, stored.text.ends, NULL);
    t->cols[1].at.text_base = stored.text.base;
    t->cols[1].at.text_bytes = stored.text.bytes;
    fx_column(t, 2, FE_STORE_F64, 8, stored.floats, NULL);
    fx_column(t, 3, FE_STORE_INT, 8, stored.wides, NULL)->base = 100;
    t->cols[3].factor = 10;
    fx_column(t, 4, FE_STORE_INT, 16, stored.huges, NULL)->factor = -3;
    fx_column(t, 5, FE_STORE_INT, 1, stored.flags, NULL);
    *rows = fx_state(x, RT_STATE_ROWS, sizeof(struct stored_row));
    x->p->sink.kind = PL_SINK_ROWS;
    x->p->sink.state = *rows;
    for (int k = 0; k < STORED_COLS; k++) {
        int slot = fx_slot(x, phys[k], k == 0);
        fx_load(x, slot, t, k, 0);
        fx_field(x, *rows, phys[k], offsets[k], k == 0 ? 65 : -1);
        fx_out(x, k, fx_col(x, slot), FE_AGG_ANY);
    }
    fx_compile(x);
    return x;
}

static void check_stored(const struct stored_row *r, int i)
{
    const struct text_column *text = &stored.text;
    uint32_t start = i & 65535 ? text->ends[i - 1] : 0;
    assert_int_equal(r->code_valid, i % 5 != 0);
    assert_int_equal(r->code, stored.codes[i]);
    assert_int_equal(r->n, text->ends[i] - start);
    assert_ptr_equal(r->s, text->bytes + text->base[i >> 16] + start);
    assert_true(r->f == stored.floats[i]);
    assert_int_equal(r->wide, 100 + 10 * stored.wides[i]);
    assert_true(r->huge == -3 * stored.huges[i]);
    assert_int_equal(r->flag, i % 3 == 0);
}

static void loads_read_every_storage(void **st)
{
    (void)st;
    static const int starts[] = {0, 65530, 69990};
    fill_stored();
    int rows;
    struct fx *x = load_stored(&rows);
    size_t n = 0;
    for (int k = 0; k < 3; k++) {
        assert_int_equal(fx_run(x, 0, starts[k], starts[k] + 10), 0);
        for (int i = starts[k]; i < starts[k] + 10; i++)
            check_stored(fx_row(x, rows, n++), i);
    }
    assert_int_equal(fx_nrows(x, rows), n);
    assert_int_equal(x->stores[rows].grown, 10);
    free(stored.text.ends);
    free(stored.text.bytes);
    fx_free(x);
}

/* --- sinks that store --- */

static void bitmap_and_direct_sinks_set_bits(void **s)
{
    (void)s;
    uint64_t bits[2][N / 64 + 1] = {{0}};
    int32_t values[N] = {0};
    uint8_t valids[N] = {0};
    struct fx *x = fx_new();
    struct fe_table *t = fx_table(x, 2);
    fx_column(t, 0, FE_STORE_INT, 4, price, some_valid);
    fx_column(t, 1, FE_STORE_INT, 1, qty, some_valid);
    for (int k = 0; k < 2; k++) {
        fx_pipeline(x, RT_SOURCE_TABLE);
        int p = fx_slot(x, RT_I64, true), q = fx_slot(x, RT_I32, true);
        fx_load(x, p, t, 0, 0);
        fx_load(x, q, t, 1, 0);
        int i = fx_op(x, FE_MOD, RT_I64, 2, fx_col(x, p), fx_int(x, RT_I64, N));
        struct pl_sink *sink = &x->p->sink;
        sink->kind = k ? PL_SINK_DIRECT : PL_SINK_BITMAP;
        sink->state = fx_state(x, k ? RT_STATE_DIRECT : RT_STATE_BITMAP, 0);
        sink->index = i;
        sink->a_bits = fx_arg_ptr(x, RT_ARG_STATE_BITS, bits[k]);
        if (k) {
            int *a = HD_NEWN(&x->arena, int, 2);
            fx_field(x, sink->state, RT_I32, 0, 4);
            fx_out(x, 0, fx_col(x, q), FE_AGG_ANY);
            a[0] = fx_arg_ptr(x, RT_ARG_STATE_FIELD, values);
            a[1] = fx_arg_ptr(x, RT_ARG_STATE_FIELD_VALID, valids);
            sink->a_fields = &a[0];
            sink->a_valids = &a[1];
        }
    }
    fx_compile(x);
    assert_int_equal(fx_run(x, 0, 0, 600) | fx_run(x, 0, 600, N), 0);
    assert_int_equal(fx_run(x, 1, 0, N), 0);
    uint64_t want[N / 64 + 1] = {0};
    int32_t last[N];
    for (int i = 0; i < N; i++)
        if (is_valid(i)) {
            int k = price[i] % N;
            want[k >> 6] |= 1ULL << (k & 63);
            last[k] = qty[i];
        }
    for (int i = 0; i < N; i++)
        if (want[i >> 6] >> (i & 63) & 1) {
            assert_int_equal(values[i], last[i]);
            assert_int_equal(valids[i], 1);
        }
    assert_memory_equal(bits[0], want, sizeof want);
    assert_memory_equal(bits[1], want, sizeof want);
    fx_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_give_q6),          cmocka_unit_test(tiles_give_q6),
        cmocka_unit_test(small_tables_give_q6),     cmocka_unit_test(artefact_depends_on_shape_only),
        cmocka_unit_test(options_mark_functions),   cmocka_unit_test(profile_counts_rows_per_step),
        cmocka_unit_test(loads_read_every_storage), cmocka_unit_test(bitmap_and_direct_sinks_set_bits),
    };
    fill();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
