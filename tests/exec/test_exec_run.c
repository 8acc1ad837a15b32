/* The schedule: split ranges, sources, failures, cancelling, memory, statistics, several
 * executions at once. */
#include "tests/exec/exec_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "runtime/base/fault.h"

/* ---- Splitting ranges ------------------------------------------------------------------ */

/* Source row i has children(i) children; their numbers are summed into an AGG_SCALAR. Every
 * 100th child has `grand` children of its own. */
struct tree {
    uint64_t hot, cold, grand;
    _Atomic uint64_t pieces, longest;
    bool fail_in_level;
    uint64_t piece; /* children of level 1: longer ranges are handed over, and come in such pieces */
};

static uint64_t children(const struct tree *c, uint64_t i)
{
    return i % 50 == 7 ? c->hot : i % (c->cold + 1);
}

struct carried {
    uint64_t row, depth;
    char more[40];
};

static void add(struct hdd_thread *t, uint64_t v)
{
    struct hdd_dense_local *l = ((void **)t->local)[0];
    uint64_t sum;
    memcpy(&sum, l->rows, 8);
    sum += v;
    memcpy(l->rows, &sum, 8);
}

static uint64_t weight(const struct carried *k, uint64_t i)
{
    return (k->row * 31 + i) * (k->depth + 1);
}

static int32_t deep(const uint64_t *args, struct hdd_thread *t, void *carried, uint64_t begin, uint64_t end)
{
    const struct carried *k = carried;
    (void)args;
    assert_int_equal((uintptr_t)carried % 16, 0);
    for (uint64_t i = begin; i < end; i++)
        add(t, weight(k, i));
    return 0;
}

static int32_t open_grandchildren(const uint64_t *args, struct hdd_thread *t, struct carried *k, uint64_t n)
{
    return n > HDD_SPLIT ? hdr_spawn(t, 2, k, sizeof *k, 0, (int64_t)n) : deep(args, t, k, 0, n);
}

static int32_t level_one(const uint64_t *args, struct hdd_thread *t, void *carried, uint64_t begin, uint64_t end)
{
    struct tree *c = fx_context(args);
    const struct carried *k = carried;
    struct carried next __attribute__((aligned(16))) = {.depth = 1};
    atomic_fetch_add(&c->pieces, 1);
    if (end - begin > c->piece)
        return 3;
    if (c->fail_in_level && begin > 0)
        return hdr_fail(t, RT_FAIL_DIV_ZERO, 1);
    for (uint64_t i = begin; i < end; i++) {
        add(t, weight(k, i));
        next.row = i;
        if (i % 100 == 99 && c->grand && open_grandchildren(args, t, &next, c->grand) != 0)
            return 1;
    }
    return 0;
}

static int32_t scan_tree(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct tree *c = fx_context(args);
    for (uint64_t i = begin; i < end; i++) {
        struct carried k __attribute__((aligned(16))) = {.row = i};
        uint64_t n = children(c, i);
        if (n > c->piece ? hdr_spawn(t, 1, &k, sizeof k, 0, (int64_t)n) != 0 : level_one(args, t, &k, 0, n) != 0)
            return 1;
    }
    return 0;
}

static uint64_t wanted_sum(const struct tree *c, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct carried k = {.row = i}, next = {.depth = 1};
        for (uint64_t j = 0; j < children(c, i); j++) {
            sum += weight(&k, j);
            next.row = j;
            for (uint64_t g = 0; j % 100 == 99 && g < c->grand; g++)
                sum += weight(&next, g);
        }
    }
    return sum;
}

static void make_tree(struct fx *f, struct tree *c, int threads, int64_t n)
{
    fx_init(f, threads, c);
    int s = fx_state(f, RT_STATE_AGG_SCALAR);
    fx_field(f, s, RT_I64, false, RT_MERGE_SUM);
    int p = fx_table_pipeline(f, n, scan_tree);
    f->pipelines[p].nlevels = 3;
    f->entries[p].level[1] = level_one;
    f->entries[p].level[2] = deep;
    fx_action(f, RT_RUN, p);
    fx_action(f, RT_FINISH, s);
}

static void long_ranges_are_split(void **state)
{
    static const struct {
        int64_t rows;
        uint64_t hot, cold, grand, piece;
    } cases[] = {{8, 3000000, 10, 0, HDD_SPLIT},
                 {300, 100000, 10, 0, HDD_SPLIT},
                 {58, 20000, 300, 30000, HDD_SPLIT},
                 {5000, HDD_SPLIT + 1, 30, 0, HDD_SPLIT},
                 {1000, HDD_SPLIT, 30, 10, HDD_SPLIT},
                 {8, 400, 3, 500, 5}, /* few parents have all the work */
                 {25, 401, 1, 500, 1}};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++)
        for (size_t i = 0; i < HD_COUNT(cases); i++) {
            struct fx f;
            struct tree c = {
                .hot = cases[i].hot, .cold = cases[i].cold, .grand = cases[i].grand, .piece = cases[i].piece};
            uint64_t n, sum;
            make_tree(&f, &c, fx_threads[k], cases[i].rows);
            f.pipelines[0].piece_children[1] = c.piece == HDD_SPLIT ? 0 : (uint32_t)c.piece;
            f.pipelines[0].below = (double)cases[i].hot;
            memcpy(&sum, fx_rows(&f, 0, &n), 8);
            assert_int_equal(sum, wanted_sum(&c, (uint64_t)cases[i].rows));
            if (cases[i].hot > c.piece)
                assert_true(f.stats.pipelines[0].spawned > 0);
            fx_release(&f);
        }
}

static void a_failure_in_a_piece_is_reported(void **state)
{
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++) {
        struct fx f;
        struct tree c = {.hot = 1000000, .fail_in_level = true, .piece = HDD_SPLIT};
        make_tree(&f, &c, fx_threads[k], 2000);
        assert_int_equal(fx_run(&f, 0), -1);
        assert_int_equal(f.err.class, HD_ERR_EXEC);
        assert_string_equal(f.err.path, "$.root.second");
        assert_string_equal(f.err.message, "division by zero");
        fx_release(&f);
    }
}

/* In order, inline: the numbers arrive as a single loop would give them. */
struct in_order {
    uint64_t next;
};

static int32_t expect_next(const uint64_t *args, struct hdd_thread *t, void *carried, uint64_t begin, uint64_t end)
{
    struct in_order *c = fx_context(args);
    (void)t;
    for (uint64_t i = begin; i < end; i++)
        if (*(uint64_t *)carried * 20000 + i != c->next++)
            return 9;
    return 0;
}

static int32_t scan_in_order(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    (void)args;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t carried[2] __attribute__((aligned(16))) = {i, 0};
        if (hdr_spawn(t, 1, carried, sizeof carried, 0, 20000) != 0)
            return 1;
    }
    return 0;
}

static void ordered_pipelines_run_ranges_in_place(void **state)
{
    struct fx f;
    struct in_order c = {0};
    (void)state;
    fx_init(&f, 3, &c);
    int s = fx_state(&f, RT_STATE_AGG_SCALAR);
    fx_field(&f, s, RT_I64, false, RT_MERGE_SUM);
    int p = fx_table_pipeline(&f, 3000, scan_in_order);
    f.pipelines[p].ordered = true;
    f.pipelines[p].nlevels = 2;
    f.entries[p].level[1] = expect_next;
    fx_action(&f, RT_RUN, p);
    fx_action(&f, RT_FINISH, s);
    assert_int_equal(fx_run(&f, s), 0);
    assert_int_equal(c.next, 3000 * 20000);
    fx_release(&f);
}

/* ---- Sources --------------------------------------------------------------------------- */

static int32_t count_rows(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    (void)args;
    add(t, end - begin);
    return 0;
}

static void every_source_is_walked_once(void **state)
{
    struct fe_table_column column = {.name = "c", .dict = {.n = 7000}};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++) {
        struct fx f;
        uint64_t n, sum;
        fx_init(&f, fx_threads[k], NULL);
        int s = fx_state(&f, RT_STATE_AGG_SCALAR), b = fx_state(&f, RT_STATE_BITMAP);
        fx_field(&f, s, RT_I64, false, RT_MERGE_SUM);
        f.states[b].range = 123456;
        int p = fx_state_pipeline(&f, RT_SOURCE_DICT, 0, count_rows);
        f.tables[p].cols = &column;
        f.tables[p].ncols = 1;
        f.pipelines[p].table = &f.tables[p];
        fx_action(&f, RT_RUN, p);
        fx_action(&f, RT_RUN, fx_state_pipeline(&f, RT_SOURCE_INDEX, b, count_rows));
        fx_action(&f, RT_RUN, fx_table_pipeline(&f, 99999, count_rows));
        fx_action(&f, RT_FINISH, s);
        memcpy(&sum, fx_rows(&f, s, &n), 8);
        assert_int_equal(sum, 7000 + 123456 + 99999);
        fx_release(&f);
    }
}

static int32_t count_in_profile(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    uint64_t *counters = t->counters;
    (void)args;
    if (counters) {
        counters[0] += end - begin;
        counters[1] += (end - begin) / 2;
    }
    return 0;
}

static void counters_are_summed(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct fx f;
        fx_init(&f, 3, NULL);
        f.profile = profile;
        int s = fx_state(&f, RT_STATE_AGG_SCALAR);
        fx_field(&f, s, RT_I64, false, RT_MERGE_SUM);
        int p = fx_table_pipeline(&f, 1 << 20, count_in_profile);
        f.pipelines[p].ncounters = 2;
        fx_action(&f, RT_RUN, p);
        fx_action(&f, RT_FINISH, s);
        assert_int_equal(fx_run(&f, s), 0);
        assert_int_equal(f.stats.pipelines[p].counters[0], profile ? 1 << 20 : 0);
        assert_int_equal(f.stats.pipelines[p].counters[1], profile ? 1 << 19 : 0);
        assert_true(f.stats.execute_ms > 0 && f.stats.peak_bytes > 0);
        fx_release(&f);
    }
}

/* ---- Failures -------------------------------------------------------------------------- */

static int32_t fail_at_row(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const uint64_t *row = fx_context(args);
    return *row >= begin && *row < end ? hdr_fail(t, RT_FAIL_CAST_STRING, 0) : 0;
}

static void the_first_failure_ends_everything(void **state)
{
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++) {
        struct fx f;
        uint64_t row = 777777;
        fx_init(&f, fx_threads[k], &row);
        int s = fx_state(&f, RT_STATE_AGG_SCALAR);
        fx_field(&f, s, RT_I64, false, RT_MERGE_SUM);
        fx_action(&f, RT_RUN, fx_table_pipeline(&f, 1000000, fail_at_row));
        fx_action(&f, RT_FINISH, s);
        assert_int_equal(fx_run(&f, s), -1);
        assert_int_equal(f.err.class, HD_ERR_EXEC);
        assert_string_equal(f.err.path, "$.root.first");
        assert_string_equal(f.err.message, "text is not a value of the type of the cast");
        fx_release(&f);
    }
}

static int32_t run_until_stopped(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    _Atomic int *started = fx_context(args);
    (void)begin;
    (void)end;
    atomic_store(started, 1);
    while (!__atomic_load_n(&t->stop, __ATOMIC_RELAXED))
        ;
    return 0;
}

struct canceller {
    struct rt_cancel cancel;
    _Atomic int *started;
};

static void *cancel_when_started(void *arg)
{
    struct canceller *c = arg;
    struct timespec pause = {0, 2000000};
    while (!atomic_load(c->started))
        ;
    nanosleep(&pause, NULL);
    rt_cancel_fire(&c->cancel);
    return NULL;
}

static void cancelling_stops_running_code(void **state)
{
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++) {
        struct fx f;
        _Atomic int started = 0;
        struct canceller c = {.started = &started};
        pthread_t thread;
        fx_init(&f, fx_threads[k], (void *)&started);
        rt_cancel_init(&c.cancel);
        f.cancel = &c.cancel;
        int s = fx_state(&f, RT_STATE_AGG_SCALAR);
        fx_field(&f, s, RT_I64, false, RT_MERGE_SUM);
        fx_action(&f, RT_RUN, fx_table_pipeline(&f, 1000000, run_until_stopped));
        fx_action(&f, RT_FINISH, s);
        pthread_create(&thread, NULL, cancel_when_started, &c);
        assert_int_equal(fx_run(&f, s), -1);
        assert_int_equal(f.err.class, HD_ERR_CANCELLED);
        pthread_join(thread, NULL);
        rt_cancel_release(&c.cancel);
        fx_release(&f);
    }
}

/* What comes before an execution begins is not lost, and holds until it is taken back. */
static void cancelling_before_the_begin_holds(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct fx f;
        _Atomic int started = 0;
        struct rt_cancel cancel;
        fx_init(&f, 2, (void *)&started);
        rt_cancel_init(&cancel);
        rt_cancel_fire(&cancel);
        f.cancel = &cancel;
        int s = fx_state(&f, RT_STATE_AGG_SCALAR);
        fx_field(&f, s, RT_I64, false, RT_MERGE_SUM);
        fx_action(&f, RT_FINISH, s);
        if (round == 1)
            rt_cancel_reset(&cancel);
        assert_int_equal(fx_run(&f, s), round == 1 ? 0 : -1);
        assert_int_equal(f.err.class, round == 1 ? HD_ERR_NONE : HD_ERR_CANCELLED);
        rt_cancel_release(&cancel);
        fx_release(&f);
    }
}

/* ---- Memory ---------------------------------------------------------------------------- */

/* Fills state 0, ROWS or HASH or AGG_HASH, with the row number as the key. */
struct growing {
    const struct rt_state *s;
};

static int32_t grow(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct rt_state *s = ((const struct growing *)fx_context(args))->s;
    unsigned char row[64] = {0};
    for (uint64_t i = begin; i < end; i++) {
        fx_put(s, row, 0, &i);
        uint64_t h = s->nkeys ? fx_hash(s, row) : i;
        memcpy(row, &h, 8);
        if (s->kind == RT_STATE_AGG_HASH ? !fx_group(t, s, 0, row) : fx_append(t, 0, row, (size_t)s->stride) != 0)
            return 1;
    }
    return 0;
}

static void make_growing(struct fx *f, struct growing *g, enum rt_state_kind kind, int threads, int64_t rows)
{
    static struct rt_sort_key by_first = {0, true, false};
    fx_init(f, threads, g);
    int s = fx_state(f, kind);
    fx_field(f, s, RT_I64, false, RT_MERGE_KEY);
    f->states[s].nkeys = kind == RT_STATE_HASH || kind == RT_STATE_AGG_HASH;
    if (kind == RT_STATE_ROWS) {
        f->states[s].nsort = 1;
        f->states[s].sort = &by_first;
    }
    g->s = &f->states[s];
    fx_action(f, RT_RUN, fx_table_pipeline(f, rows, grow));
    fx_action(f, RT_FINISH, s);
}

static const enum rt_state_kind growing_kinds[] = {RT_STATE_ROWS, RT_STATE_HASH, RT_STATE_AGG_HASH};

/* Every limit either suffices or gives the error; nothing is lost either way. */
static void the_memory_limit_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < HD_COUNT(growing_kinds); i++)
        for (int threads = 1; threads < 4; threads++) {
            int refused = 0, passed = 0;
            for (uint64_t limit = 10000; limit < 200000000; limit *= 3) {
                struct fx f;
                struct growing g;
                make_growing(&f, &g, growing_kinds[i], threads, 200000);
                f.limit = limit;
                if (fx_run(&f, 0) == 0) {
                    passed++;
                    assert_true(f.stats.peak_bytes <= limit);
                } else {
                    refused++;
                    assert_int_equal(f.err.class, HD_ERR_RESOURCE);
                    assert_string_equal(f.err.path, "$.state");
                }
                fx_release(&f);
            }
            assert_true(refused > 2 && passed > 1);
        }
}

static void the_limit_of_the_context_holds_too(void **state)
{
    struct fx f;
    struct growing g;
    (void)state;
    make_growing(&f, &g, RT_STATE_HASH, 2, 200000);
    f.memory.limit = 1000000;
    assert_int_equal(fx_run(&f, 0), -1);
    assert_int_equal(f.err.class, HD_ERR_RESOURCE);
    fx_release(&f);
}

/* Each allocation and mapping fails in turn, until there are no more: an error or, where it can be
 * done without, success. */
static void refuse_each(enum rt_state_kind state, enum hd_fault_kind kind, const char *name)
{
    char spec[32];
    bool reached = true;
    for (int n = 1; reached && n < 100; n++) {
        struct fx f;
        struct growing g;
        make_growing(&f, &g, state, 2, 70000);
        snprintf(spec, sizeof spec, "%s:%d", name, n);
        assert_true(hd_fault_arm(spec));
        int rc = fx_run(&f, 0);
        reached = hd_fault_calls(kind) >= (uint64_t)n;
        hd_fault_arm(NULL);
        assert_true(rc == 0 || f.err.class == HD_ERR_RESOURCE);
        assert_true(rc == 0 || reached);
        fx_release(&f);
    }
}

static void every_refused_allocation_is_survived(void **state)
{
    (void)state;
    for (size_t i = 0; i < HD_COUNT(growing_kinds); i++) {
        refuse_each(growing_kinds[i], HD_FAULT_ALLOC, "alloc");
        refuse_each(growing_kinds[i], HD_FAULT_MMAP, "mmap");
        refuse_each(growing_kinds[i], HD_FAULT_THREAD, "thread");
    }
}

/* A sort after the table takes memory of its own: the table need not be there any more. */
static void free_gives_memory_back_early(void **state)
{
    enum { VALUES = 1000000, TABLE = 300000 * 16 };
    static struct rt_sort_key by_first = {0, true, false};
    uint64_t peaks[2], *values = calloc(VALUES, sizeof *values);
    (void)state;
    for (uint64_t i = 0; i < VALUES; i++)
        values[i] = i * 0x9E3779B97F4A7C15u;
    for (int early = 0; early < 2; early++) {
        struct fx f;
        struct growing g;
        make_growing(&f, &g, RT_STATE_HASH, 2, 300000);
        if (early)
            fx_action(&f, RT_FREE, 0);
        int s = fx_state(&f, RT_STATE_ROWS);
        fx_field(&f, s, RT_I64, false, RT_MERGE_ANY);
        f.states[s].nvalues = VALUES;
        f.states[s].values = (void *)values;
        f.states[s].nsort = 1;
        f.states[s].sort = &by_first;
        fx_action(&f, RT_FINISH, s);
        assert_int_equal(fx_run(&f, s), 0);
        peaks[early] = f.stats.peak_bytes;
        fx_release(&f);
    }
    free(values);
    assert_true(peaks[1] + TABLE < peaks[0]);
}

/* ---- Several at once ------------------------------------------------------------------- */

struct user {
    struct rt_thread_pool *thread_pool;
    struct rt_memory *memory;
    int number;
};

static void *run_several(void *arg)
{
    struct user *u = arg;
    for (int i = 0; i < 10; i++) {
        struct fx f;
        struct growing g;
        uint64_t n;
        make_growing(&f, &g, growing_kinds[(u->number + i) % 3], 1 + (u->number + i) % 3, 40000);
        struct rt_exec_options o = {.threads = f.threads, .thread_pool = u->thread_pool, .memory = u->memory};
        fx_seal(&f);
        if (rt_exec_run(&f.spec, fx_entries(&f), &o, &f.result, &f.stats, &f.err) != 0)
            return arg;
        rt_result_rows(f.result, &n);
        if (n != 40000)
            return arg;
        rt_result_free(f.result);
        f.result = NULL;
        fx_release(&f);
    }
    return NULL;
}

static void executions_share_a_thread_pool(void **state)
{
    struct user users[4];
    pthread_t threads[4];
    struct rt_memory memory;
    struct rt_thread_pool *thread_pool = rt_thread_pool_new();
    (void)state;
    rt_memory_init(&memory, 0, NULL);
    for (int i = 0; i < 4; i++) {
        users[i] = (struct user){thread_pool, &memory, i};
        pthread_create(&threads[i], NULL, run_several, &users[i]);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(atomic_load(&memory.used), 0);
    rt_thread_pool_free(thread_pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_ranges_are_split),
        cmocka_unit_test(a_failure_in_a_piece_is_reported),
        cmocka_unit_test(ordered_pipelines_run_ranges_in_place),
        cmocka_unit_test(every_source_is_walked_once),
        cmocka_unit_test(counters_are_summed),
        cmocka_unit_test(the_first_failure_ends_everything),
        cmocka_unit_test(cancelling_stops_running_code),
        cmocka_unit_test(cancelling_before_the_begin_holds),
        cmocka_unit_test(the_memory_limit_holds),
        cmocka_unit_test(the_limit_of_the_context_holds_too),
        cmocka_unit_test(every_refused_allocation_is_survived),
        cmocka_unit_test(free_gives_memory_back_early),
        cmocka_unit_test(executions_share_a_thread_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
