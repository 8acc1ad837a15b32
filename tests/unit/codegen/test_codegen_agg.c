/* Aggregates: every function and class in every kind of sink, against plain C. */
#include "tests/unit/codegen/codegen_fixture.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <llvm-c/LLJIT.h>

enum { N = 3000, GROUPS = 40 };

static int32_t group_random[N], group_runs[N];
static int64_t vals[N];
static double floats[N];
static uint8_t vvalid[N / 8 + 9], fvalid[N / 8 + 9];
static uint32_t ends[N];
static char bytes[N * 4];
static uint64_t text_base[1];

static bool bit(const uint8_t *b, int i)
{
    return b[i >> 3] >> (i & 7) & 1;
}

static void fill(void)
{
    uint32_t at = 0;
    srand(5);
    for (int i = 0; i < N; i++) {
        group_random[i] = rand() % GROUPS;
        group_runs[i] = i / 97 * 7 % GROUPS; /* runs; a group comes back later */
        vals[i] = rand() % 2000 - 1000;
        floats[i] = rand() % 7 ? (rand() % 100) / 4.0 : NAN;
        /* Group 3 has no valid value at all. */
        if (rand() % 4 && group_random[i] != 3 && group_runs[i] != 3)
            vvalid[i >> 3] = (uint8_t)(vvalid[i >> 3] | 1 << (i & 7));
        if (rand() % 3)
            fvalid[i >> 3] = (uint8_t)(fvalid[i >> 3] | 1 << (i & 7));
        for (int k = rand() % 4; k > 0; k--)
            bytes[at++] = (char)('a' + rand() % 3);
        ends[i] = at;
    }
}

/* A row of the state. Byte 0: group exists; bytes 0..7 of a hash group: its hash. */
struct acc {
    uint64_t head;
    int64_t rows, count, sum;
    hd_i128 huge;
    double fsum;
    int64_t min;
    const char *max;
    uint64_t nmax;
    int64_t any;
    double fmin;
    uint8_t v_sum, v_min, v_max, v_any, v_fmin, v_fsum, pad[2];
    int64_t key;
    const char *skey;
    uint64_t nskey;
    uint8_t v_key, v_skey, pad2[14];
};
_Static_assert(sizeof(struct acc) == 144 && offsetof(struct acc, huge) == 32, "layout");

#define AT(f) ((int)offsetof(struct acc, f))

static const struct {
    enum fe_agg_fn fn;
    char arg; /* v, h, f, s or none */
    enum rt_phys phys;
    int at, valid;
} accs[] = {
    {FE_AGG_COUNT_STAR, 0, RT_I64, AT(rows), -1},    {FE_AGG_COUNT, 'v', RT_I64, AT(count), -1},
    {FE_AGG_SUM, 'v', RT_I64, AT(sum), AT(v_sum)},   {FE_AGG_SUM, 'h', RT_I128, AT(huge), -1},
    {FE_AGG_SUM, 'f', RT_F64, AT(fsum), AT(v_fsum)}, {FE_AGG_MIN, 'v', RT_I64, AT(min), AT(v_min)},
    {FE_AGG_MAX, 's', RT_STR, AT(max), AT(v_max)},   {FE_AGG_ANY, 'v', RT_I64, AT(any), AT(v_any)},
    {FE_AGG_MIN, 'f', RT_F64, AT(fmin), AT(v_fmin)},
};
enum { NACC = HD_COUNT(accs), NSUMS = 5 };

struct slots {
    int g, v, f, s, h;
};

static void load_all(struct fx *x, const int32_t *groups, struct slots *k)
{
    fx_pipeline(x, RT_SOURCE_TABLE);
    struct fe_table *t = fx_table(x, 4);
    fx_column(t, 0, FE_STORE_INT, 4, groups, NULL);
    fx_column(t, 1, FE_STORE_INT, 8, vals, vvalid);
    fx_column(t, 2, FE_STORE_F64, 8, floats, fvalid);
    fx_column(t, 3, FE_STORE_TEXT, 4, ends, NULL);
    t->cols[3].at.text_base = text_base;
    t->cols[3].at.text_bytes = bytes;
    k->g = fx_slot(x, RT_I64, false);
    k->v = fx_slot(x, RT_I64, true);
    k->f = fx_slot(x, RT_F64, true);
    k->s = fx_slot(x, RT_STR, false);
    k->h = fx_slot(x, RT_I128, true);
    fx_load(x, k->g, t, 0, 0);
    fx_load(x, k->v, t, 1, 0);
    fx_load(x, k->f, t, 2, 0);
    fx_load(x, k->s, t, 3, 0);
    /* Large enough to carry from the low to the high word, of either sign. */
    int wide = fx_op(x, FE_WIDEN, RT_I128, 1, fx_col(x, k->v));
    fx_let(x, k->h, fx_op(x, FE_MUL, RT_I128, 2, wide, fx_int(x, RT_I128, (hd_i128)1 << 60)));
}

static void add_accs(struct fx *x, int state, const struct slots *k, int n)
{
    for (int i = 0; i < n; i++) {
        int arg = accs[i].arg == 'v' ? k->v : accs[i].arg == 'h' ? k->h : accs[i].arg == 'f' ? k->f : k->s;
        int f = fx_field(x, state, accs[i].phys, accs[i].at, accs[i].valid);
        fx_out(x, f, accs[i].arg ? fx_col(x, arg) : -1, accs[i].fn);
    }
}

static bool f64_less(double a, double b)
{
    return !isnan(a) && (isnan(b) || a < b);
}

static void add_row(struct acc *a, int i)
{
    const char *s = bytes + (i ? ends[i - 1] : 0);
    uint64_t n = ends[i] - (i ? ends[i - 1] : 0);
    a->head = 1;
    a->rows++;
    if (bit(vvalid, i)) {
        a->count++;
        a->sum += vals[i];
        a->huge += vals[i] * ((hd_i128)1 << 60);
        if (!a->v_min || vals[i] < a->min)
            a->min = vals[i];
        if (!a->v_any)
            a->any = vals[i];
        a->v_sum = a->v_min = a->v_any = 1;
    }
    if (bit(fvalid, i)) {
        a->fsum += floats[i];
        if (!a->v_fmin || f64_less(floats[i], a->fmin))
            a->fmin = floats[i];
        a->v_fmin = a->v_fsum = 1;
    }
    int c = a->v_max ? memcmp(s, a->max, HD_MIN(n, a->nmax)) : 1;
    if (c > 0 || (c == 0 && n > a->nmax)) {
        a->max = s;
        a->nmax = n;
    }
    a->v_max = 1;
}

static bool same_f64(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* any: whichever value came first is right; only its presence is compared. */
static void check_acc(const struct acc *got, const struct acc *want, int n)
{
    assert_int_equal(got->rows, want->rows);
    assert_int_equal(got->count, want->count);
    assert_int_equal(got->v_sum, want->v_sum);
    assert_int_equal(got->sum, want->sum);
    assert_true(got->huge == want->huge);
    assert_int_equal(got->v_fsum, want->v_fsum);
    assert_true(same_f64(got->fsum, want->fsum));
    if (n == NSUMS)
        return;
    assert_int_equal(got->v_min, want->v_min);
    assert_true(!want->v_min || got->min == want->min);
    assert_int_equal(got->v_any, want->v_any);
    assert_int_equal(got->v_max, want->v_max);
    if (want->v_max)
        assert_true(got->nmax == want->nmax && !memcmp(got->max, want->max, want->nmax));
    assert_int_equal(got->v_fmin, want->v_fmin);
    assert_true(!want->v_fmin || same_f64(got->fmin, want->fmin));
}

static void scalar_accumulates(void **s)
{
    (void)s;
    struct fx *x = fx_new();
    struct slots k;
    struct acc want = {0};
    load_all(x, group_random, &k);
    int st = fx_state(x, RT_STATE_AGG_SCALAR, sizeof(struct acc));
    x->p->sink.kind = PL_SINK_AGG_SCALAR;
    x->p->sink.state = st;
    add_accs(x, st, &k, NACC);
    fx_compile(x);
    assert_int_equal(fx_run(x, 0, 0, 0), 0);
    check_acc(fx_row(x, st, 0), &want, NACC);
    for (int i = 0; i < N; i++)
        add_row(&want, i);
    assert_int_equal(fx_run(x, 0, 0, 7) | fx_run(x, 0, 7, N), 0);
    check_acc(fx_row(x, st, 0), &want, NACC);
    fx_free(x);
}

/* --- dense --- */

struct half {
    struct fx *x;
    struct hdd_thread thread;
    fx_entry *entry;
    int begin, end;
};

static void *run_half(void *arg)
{
    struct half *h = arg;
    for (int i = h->begin; i < h->end; i += 100)
        assert_int_equal(h->entry(h->x->words, &h->thread, i, HD_MIN(i + 100, h->end)), 0);
    return NULL;
}

/* A shared state is written by two threads. */
static void run_two_threads(struct fx *x)
{
    LLVMOrcExecutorAddress at;
    pthread_t id[2];
    struct half h[2];
    assert_null(LLVMOrcLLJITLookup(x->jit, &at, x->spipes[0].entry));
    for (int k = 0; k < 2; k++) {
        h[k] = (struct half){x, x->thread, (fx_entry *)(uintptr_t)at, k * N / 2, (k + 1) * N / 2};
        assert_int_equal(pthread_create(&id[k], NULL, run_half, &h[k]), 0);
    }
    for (int k = 0; k < 2; k++)
        pthread_join(id[k], NULL);
}

static void check_dense(const int32_t *groups, bool clustered, bool atomic, int n)
{
    struct fx *x = fx_new();
    struct slots k;
    load_all(x, groups, &k);
    int st = fx_state(x, RT_STATE_AGG_DENSE, sizeof(struct acc));
    struct pl_sink *sink = &x->p->sink;
    sink->kind = PL_SINK_AGG_DENSE;
    sink->state = st;
    sink->index = fx_col(x, k.g);
    sink->clustered = clustered;
    sink->atomic = atomic;
    sink->a_rows = fx_arg_ptr(x, RT_ARG_STATE_ROWS, fx_row(x, st, 0));
    add_accs(x, st, &k, n);
    fx_compile(x);
    if (atomic)
        run_two_threads(x);
    else
        assert_int_equal(fx_run(x, 0, 0, 5) | fx_run(x, 0, 5, 5) | fx_run(x, 0, 5, N), 0);
    struct acc want[GROUPS] = {0};
    for (int i = 0; i < N; i++)
        add_row(&want[groups[i]], i);
    for (int g = 0; g < GROUPS; g++) {
        const struct acc *got = fx_row(x, st, (size_t)g);
        assert_int_equal(got->head & 255, want[g].head);
        check_acc(got, &want[g], n);
    }
    fx_free(x);
}

static void dense_accumulates(void **s)
{
    (void)s;
    check_dense(group_random, false, false, NACC);
    check_dense(group_runs, true, false, NACC);
    check_dense(group_random, true, false, NACC);
}

static void shared_dense_accumulates(void **s)
{
    (void)s;
    for (int n = NSUMS; n <= NACC; n += NACC - NSUMS) {
        check_dense(group_random, false, true, n);
        check_dense(group_runs, true, true, n);
    }
}

/* --- hash --- */

/* Key of row i: (group or NULL for group 5, text cut to one byte). */
static void check_hash(const int32_t *groups, bool clustered)
{
    struct fx *x = fx_new();
    struct slots k;
    load_all(x, groups, &k);
    int st = fx_state(x, RT_STATE_AGG_HASH, sizeof(struct acc));
    x->states[st].nkeys = 2;
    fx_field(x, st, RT_I64, AT(key), AT(v_key));
    fx_field(x, st, RT_STR, AT(skey), -1);
    int five = fx_op(x, FE_NE, RT_BOOL, 2, fx_col(x, k.g), fx_int(x, RT_I64, 5));
    int key = fx_op(x, FE_CASE, RT_I64, 2, five, fx_col(x, k.g));
    x->exprs[key].nullable = true;
    int one =
        fx_op(x, FE_SUBSTRING, RT_STR, 3, fx_col(x, k.s), fx_int(x, RT_I64, 1), fx_int(x, RT_I64, clustered ? 0 : 1));
    struct pl_sink *sink = &x->p->sink;
    sink->kind = PL_SINK_AGG_HASH;
    sink->state = st;
    sink->clustered = clustered;
    fx_out(x, 0, key, FE_AGG_ANY);
    fx_out(x, 1, one, FE_AGG_ANY);
    add_accs(x, st, &k, NACC);
    fx_compile(x);
    assert_int_equal(fx_run(x, 0, 0, 500) | fx_run(x, 0, 500, N), 0);
    assert_true(x->stores[st].grown >= 4);
    static struct acc want[GROUPS][256];
    memset(want, 0, sizeof want);
    size_t groups_seen = 0;
    for (int i = 0; i < N; i++) {
        uint32_t b = i ? ends[i - 1] : 0;
        struct acc *a = &want[groups[i]][ends[i] == b || clustered ? 0 : bytes[b]];
        groups_seen += a->rows == 0;
        add_row(a, i);
    }
    assert_int_equal(fx_nrows(x, st), groups_seen);
    for (size_t r = 0; r < groups_seen; r++) {
        const struct acc *got = fx_row(x, st, r);
        assert_int_equal(got->v_key, !(got->v_key && got->key == 5) && got->v_key);
        int64_t g = got->v_key ? got->key : 5;
        check_acc(got, &want[g][got->nskey ? *got->skey : 0], NACC);
        want[g][got->nskey ? *got->skey : 0].rows = -1;
    }
    fx_free(x);
}

static void hash_accumulates(void **s)
{
    (void)s;
    check_hash(group_random, false);
    check_hash(group_runs, true);
    check_hash(group_random, true);
}

/* F64 keys: -0 and 0 are one group, all NaN another. */
static void float_keys_group_by_value(void **s)
{
    (void)s;
    static double keys[] = {0.0, -0.0, 1.0, NAN, -NAN, 1.0, 0.0};
    struct fx *x = fx_new();
    fx_pipeline(x, RT_SOURCE_TABLE);
    struct fe_table *t = fx_table(x, 1);
    fx_column(t, 0, FE_STORE_F64, 8, keys, NULL);
    int f = fx_slot(x, RT_F64, false);
    fx_load(x, f, t, 0, 0);
    int st = fx_state(x, RT_STATE_AGG_HASH, 24);
    x->states[st].nkeys = 1;
    fx_field(x, st, RT_F64, 8, -1);
    fx_field(x, st, RT_I64, 16, -1);
    x->p->sink.kind = PL_SINK_AGG_HASH;
    x->p->sink.state = st;
    fx_out(x, 0, fx_col(x, f), FE_AGG_ANY);
    fx_out(x, 1, -1, FE_AGG_COUNT_STAR);
    fx_compile(x);
    assert_int_equal(fx_run(x, 0, 0, HD_COUNT(keys)), 0);
    assert_int_equal(fx_nrows(x, st), 3);
    static const int64_t want[] = {3, 2, 2};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(((int64_t *)fx_row(x, st, i))[2], want[i]);
    fx_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalar_accumulates),        cmocka_unit_test(dense_accumulates),
        cmocka_unit_test(shared_dense_accumulates),  cmocka_unit_test(hash_accumulates),
        cmocka_unit_test(float_keys_group_by_value),
    };
    fill();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
