/* Two tiers of code: what is compiled when, what fails, is stopped and is tried again, and executions in which one takes
 * the other's place. */
#include "tests/exec/exec_fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/base/fault.h"
#include "runtime/cache/code_cache.h"
#include "tests/exec/module_fixture.h"

static char root[] = "/tmp/heddle-tiers-XXXXXX";

enum { FUNCTIONS = 6, SALT = 3 };

/* ---- compiling ------------------------------------------------------------------------- */

struct bed {
    struct rt_code_cache *cache;
    struct rt_thread_pool *thread_pool;
    struct rt_bytes bitcode;
    struct mod_source source;
    int threads;
};

static void bed_open(struct bed *b, const char *dir, int threads, enum rt_tiering tiering)
{
    struct hd_err err;
    hd_err_init(&err);
    b->thread_pool = rt_thread_pool_new();
    b->threads = threads;
    b->bitcode = make_bitcode(FUNCTIONS, SALT);
    mod_source_init(&b->source, b->bitcode, FUNCTIONS, tiering);
    assert_int_equal(rt_code_cache_new("1.0", dir, 1 << 24, &b->cache, &err), 0);
}

static void bed_close(struct bed *b)
{
    rt_code_cache_quit(b->cache);
    rt_thread_pool_free(b->thread_pool);
    rt_code_cache_free(b->cache);
    rt_bytes_release(&b->bitcode);
}

static struct rt_cached_code *get(struct bed *b, enum rt_cached wanted)
{
    struct rt_cached_code *code;
    enum rt_cached how;
    struct hd_err err;
    hd_err_init(&err);
    assert_int_equal(
        rt_code_cache_get(b->cache, b->thread_pool, b->threads, &b->source.source, false, &code, &how, &err), 0);
    assert_int_equal(how, wanted);
    return code;
}

static void set_tiering(struct bed *b, enum rt_tiering tiering)
{
    for (int i = 0; i < FUNCTIONS; i++)
        b->source.pipelines[i].tiering = tiering;
}

/* -1 with the error's class. */
static int wait_all(struct bed *b, struct rt_cached_code *code, enum hd_err_class *class)
{
    struct hd_err err;
    int rc = 0;
    hd_err_init(&err);
    for (int i = 0; i < FUNCTIONS && rc == 0; i++)
        rc = rt_tiers_wait(rt_cached_code_tiers(code), i, b->source.pipelines[i].tiering, NULL, &err);
    *class = err.class;
    hd_err_release(&err);
    return rc;
}

static void need_all(struct bed *b, struct rt_cached_code *code)
{
    enum hd_err_class class;
    assert_int_equal(wait_all(b, code, &class), 0);
}

static enum rt_optimised optimised(struct rt_cached_code *code)
{
    struct rt_tiers_about about;
    rt_tiers_tell(rt_cached_code_tiers(code), &about);
    assert_int_equal(about.optimised == RT_OPTIMISED_FAILED, *about.problem != 0);
    return about.optimised;
}

static void settle(struct bed *b, struct rt_cached_code *code)
{
    rt_tiers_settle(rt_cached_code_tiers(code), &b->source.spec, b->thread_pool, b->threads);
}

/* Until nothing is underway. */
static enum rt_optimised at_last(struct rt_cached_code *code)
{
    enum rt_optimised o;
    while ((o = optimised(code)) == RT_OPTIMISED_UNDERWAY)
        usleep(1000);
    return o;
}

static int functions_of(struct rt_cached_code *code, enum rt_tier tier)
{
    int n = 0;
    for (int k = 0; k < FUNCTIONS; k++) {
        void *f = mod_function(rt_cached_code_tiers(code), k, tier);
        if (f)
            check_function(f, k, SALT);
        n += f != NULL;
    }
    return n;
}

static void the_first_tier_is_all_that_short_pipelines_wait_for(void **state)
{
    struct bed b;
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        bed_open(&b, NULL, threads, RT_TIERING_LATER);
        struct rt_cached_code *code = get(&b, RT_COMPILED);
        need_all(&b, code);
        assert_int_equal(functions_of(code, RT_TIER_FIRST), FUNCTIONS);
        assert_int_equal(optimised(code), RT_OPTIMISED_NOT);
        assert_int_equal(functions_of(code, RT_TIER_OPTIMISED), 0);
        settle(&b, code);
        assert_int_equal(at_last(code), RT_OPTIMISED_DONE);
        assert_int_equal(functions_of(code, RT_TIER_OPTIMISED), FUNCTIONS);
        struct rt_cached_code *again = get(&b, RT_CACHED_MEMORY);
        assert_int_equal(functions_of(again, RT_TIER_OPTIMISED), FUNCTIONS);
        rt_cached_code_release(b.cache, again);
        rt_cached_code_release(b.cache, code);
        bed_close(&b);
    }
}

static void long_pipelines_are_optimised_without_being_asked_again(void **state)
{
    struct bed b;
    (void)state;
    bed_open(&b, NULL, 2, RT_TIERING_LATER);
    b.source.pipelines[1].tiering = b.source.pipelines[4].tiering = RT_TIERING_MEANWHILE;
    struct rt_cached_code *code = get(&b, RT_COMPILED);
    need_all(&b, code);
    assert_int_equal(at_last(code), RT_OPTIMISED_NOT); /* not of all */
    assert_int_equal(functions_of(code, RT_TIER_OPTIMISED), 2);
    assert_non_null(mod_function(rt_cached_code_tiers(code), 1, RT_TIER_OPTIMISED));
    assert_true(rt_tiers_ms(rt_cached_code_tiers(code), 4, RT_TIER_OPTIMISED) >= 0);
    assert_true(rt_tiers_ms(rt_cached_code_tiers(code), 0, RT_TIER_OPTIMISED) < 0);
    rt_cached_code_release(b.cache, code);
    bed_close(&b);
}

static void a_tier_can_be_forced(void **state)
{
    struct bed b;
    (void)state;
    bed_open(&b, NULL, 2, RT_TIERING_NEVER);
    struct rt_cached_code *code = get(&b, RT_COMPILED);
    need_all(&b, code);
    settle(&b, code);
    assert_int_equal(optimised(code), RT_OPTIMISED_NOT);
    set_tiering(&b, RT_TIERING_BEFORE); /* another statement */
    struct rt_cached_code *other = get(&b, RT_CACHED_MEMORY);
    need_all(&b, other);
    assert_int_equal(functions_of(other, RT_TIER_OPTIMISED), FUNCTIONS);
    rt_cached_code_release(b.cache, other);
    rt_cached_code_release(b.cache, code);
    bed_close(&b);
    bed_open(&b, NULL, 2, RT_TIERING_BEFORE);
    code = get(&b, RT_COMPILED);
    need_all(&b, code);
    assert_int_equal(functions_of(code, RT_TIER_FIRST), 0);
    set_tiering(&b, RT_TIERING_TURNS);
    other = get(&b, RT_CACHED_MEMORY);
    need_all(&b, other);
    assert_int_equal(functions_of(code, RT_TIER_FIRST), FUNCTIONS);
    rt_cached_code_release(b.cache, other);
    rt_cached_code_release(b.cache, code);
    bed_close(&b);
}

/* The first call of the compiler is that of the first tier. */
static void optimised_code_that_fails_is_tried_again_and_then_no_more(void **state)
{
    struct bed b;
    (void)state;
    for (int k = 0; k < 2; k++) {
        bed_open(&b, NULL, 1, RT_TIERING_MEANWHILE);
        hd_fault_arm("compile:2+");
        struct rt_cached_code *code = get(&b, RT_COMPILED);
        need_all(&b, code);
        assert_int_equal(at_last(code), RT_OPTIMISED_FAILED);
        assert_int_equal(functions_of(code, RT_TIER_FIRST), FUNCTIONS);
        settle(&b, code);
        assert_int_equal(at_last(code), RT_OPTIMISED_FAILED);
        for (int i = 0; i < 3 && k; i++) {
            settle(&b, code);
            assert_int_equal(at_last(code), RT_OPTIMISED_FAILED);
        }
        uint64_t calls = hd_fault_calls(HD_FAULT_COMPILE);
        assert_int_equal(calls, 1 + (k ? 3 : 2) * FUNCTIONS);
        hd_fault_arm(NULL);
        settle(&b, code);
        assert_int_equal(at_last(code), k ? RT_OPTIMISED_FAILED : RT_OPTIMISED_DONE);
        rt_cached_code_release(b.cache, code);
        bed_close(&b);
    }
}

static void a_first_tier_that_fails_is_an_error_and_is_forgotten(void **state)
{
    struct bed b;
    enum hd_err_class class;
    (void)state;
    bed_open(&b, NULL, 1, RT_TIERING_LATER);
    hd_fault_arm("compile:1");
    struct rt_cached_code *code = get(&b, RT_COMPILED);
    assert_int_equal(wait_all(&b, code, &class), -1);
    assert_int_equal(class, HD_ERR_TOOL);
    rt_code_cache_drop(b.cache, code);
    hd_fault_arm(NULL);
    code = get(&b, RT_COMPILED);
    need_all(&b, code);
    rt_cached_code_release(b.cache, code);
    bed_close(&b);
}

static void without_threads_the_caller_compiles_what_it_waits_for(void **state)
{
    struct bed b;
    (void)state;
    bed_open(&b, NULL, 2, RT_TIERING_LATER);
    hd_fault_arm("thread:1+");
    struct rt_cached_code *code = get(&b, RT_COMPILED);
    need_all(&b, code);
    settle(&b, code);
    assert_int_equal(optimised(code), RT_OPTIMISED_NOT);
    hd_fault_arm(NULL);
    settle(&b, code);
    assert_int_equal(at_last(code), RT_OPTIMISED_DONE);
    rt_cached_code_release(b.cache, code);
    bed_close(&b);
}

/* What nobody executed to the end is compiled no further, and not found. */
static void code_without_users_is_given_up(void **state)
{
    struct bed b;
    struct hd_stop stop;
    struct hd_err err;
    (void)state;
    hd_err_init(&err);
    for (int i = 0; i < 8; i++) {
        bed_open(&b, NULL, 2, i % 2 ? RT_TIERING_MEANWHILE : RT_TIERING_LATER);
        struct rt_cached_code *code = get(&b, RT_COMPILED);
        atomic_init(&stop.asked, true);
        if (rt_tiers_wait(rt_cached_code_tiers(code), 0, RT_TIERING_LATER, &stop, &err) != 0)
            assert_int_equal(err.class, HD_ERR_CANCELLED);
        usleep(700 * (useconds_t)i);
        rt_cached_code_release(b.cache, code);
        bed_close(&b);
    }
    hd_err_release(&err);
}

static int count_threads(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* Plans that come faster than their code can be optimised: threads are no more for that, and what is too much waits for
 * the next execution. */
static void many_new_programs_keep_few_threads_busy(void **state)
{
    enum { PROGRAMS = 100 };
    struct bed b;
    struct mod_source source[PROGRAMS];
    struct rt_bytes bitcode[PROGRAMS];
    struct rt_cached_code *code[PROGRAMS];
    int most = 0;
    (void)state;
    bed_open(&b, NULL, 2, RT_TIERING_LATER);
    int before = count_threads();
    for (int i = 0; i < PROGRAMS; i++) {
        bitcode[i] = make_bitcode(2, i);
        mod_source_init(&source[i], bitcode[i], 2, RT_TIERING_LATER);
        enum rt_cached how;
        struct hd_err err;
        hd_err_init(&err);
        assert_int_equal(
            rt_code_cache_get(b.cache, b.thread_pool, b.threads, &source[i].source, false, &code[i], &how, &err), 0);
        assert_int_equal(rt_tiers_wait(rt_cached_code_tiers(code[i]), 1, RT_TIERING_LATER, NULL, &err), 0);
        rt_tiers_settle(rt_cached_code_tiers(code[i]), &source[i].spec, b.thread_pool, b.threads);
        most = HD_MAX(most, count_threads());
    }
    assert_true(most - before <= 5 * b.threads);
    for (int i = 0; i < PROGRAMS; i++) {
        while (at_last(code[i]) != RT_OPTIMISED_DONE)
            rt_tiers_settle(rt_cached_code_tiers(code[i]), &source[i].spec, b.thread_pool, b.threads);
        rt_cached_code_release(b.cache, code[i]);
        rt_bytes_release(&bitcode[i]);
    }
    bed_close(&b);
}

static void what_is_stored_is_optimised(void **state)
{
    struct bed b;
    (void)state;
    for (int k = 0; k < 3; k++) { /* a second process that does the same is no trouble, either */
        struct bed twin;
        bed_open(&b, root, 2, RT_TIERING_LATER);
        bed_open(&twin, root, 2, RT_TIERING_MEANWHILE);
        struct rt_cached_code *code = get(&b, k ? RT_CACHED_DISK : RT_COMPILED);
        struct rt_cached_code *same = get(&twin, k ? RT_CACHED_DISK : RT_COMPILED);
        need_all(&b, code);
        need_all(&twin, same);
        assert_int_equal(functions_of(code, RT_TIER_FIRST), k ? 0 : FUNCTIONS);
        assert_int_equal(functions_of(code, RT_TIER_OPTIMISED), k ? FUNCTIONS : 0);
        settle(&b, code);
        settle(&twin, same);
        rt_cached_code_release(b.cache, code);
        rt_cached_code_release(twin.cache, same);
        bed_close(&b); /* which finishes what was asked for */
        bed_close(&twin);
    }
}

/* ---- executing ------------------------------------------------------------------------- */

enum { ROWS = 3000000 };

/* Rows that each tier had. */
struct counts {
    struct fx *f;
    _Atomic uint64_t rows[RT_TIER_COUNT];
    uint64_t swap_at; /* once the first tier has had so many, there is optimised code */
    uint64_t fail_at; /* row */
};

static const struct rt_entries *entries_of(struct fx *f, enum rt_tier tier)
{
    return &f->entries[tier];
}

static void publish(struct fx *f, enum rt_tier tier)
{
    atomic_store_explicit(&f->tiers[0].tier[tier], entries_of(f, tier), memory_order_release);
}

static int32_t count_rows(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end, enum rt_tier tier)
{
    struct counts *c = (struct counts *)(uintptr_t)args[0];
    if (c->fail_at >= begin && c->fail_at < end)
        return hdr_fail(t, RT_FAIL_OVERFLOW, 1);
    uint64_t n = atomic_fetch_add(&c->rows[tier], end - begin) + end - begin;
    if (tier == RT_TIER_FIRST && n >= c->swap_at)
        publish(c->f, RT_TIER_OPTIMISED);
    return 0;
}

static int32_t in_first(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    return count_rows(args, t, begin, end, RT_TIER_FIRST);
}

static int32_t in_optimised(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    return count_rows(args, t, begin, end, RT_TIER_OPTIMISED);
}

static int execute(struct fx *f, struct counts *c, int threads, enum rt_tiering tiering)
{
    fx_init(f, threads, c);
    c->f = f;
    int s = fx_state(f, RT_STATE_AGG_SCALAR);
    fx_field(f, s, RT_I64, false, RT_MERGE_SUM);
    int p = fx_table_pipeline(f, ROWS, in_first);
    f->entries[RT_TIER_OPTIMISED].entry = in_optimised;
    f->pipelines[p].tiering = tiering;
    f->spec.turn_morsels = 1;
    f->spec.result_state = s;
    fx_action(f, RT_RUN, p);
    fx_action(f, RT_FINISH, s);
    fx_seal(f);
    publish(f, RT_TIER_FIRST);
    if (tiering == RT_TIERING_TURNS)
        publish(f, RT_TIER_OPTIMISED);
    struct rt_exec_options o = {.threads = threads, .thread_pool = f->thread_pool, .memory = &f->memory};
    return rt_exec_run(&f->spec, f->tiers, &o, &f->result, &f->stats, &f->err);
}

static void optimised_code_takes_over_between_two_morsels(void **state)
{
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++) {
        struct fx f;
        struct counts c = {.swap_at = ROWS / 3, .fail_at = UINT64_MAX};
        assert_int_equal(execute(&f, &c, fx_threads[k], RT_TIERING_MEANWHILE), 0);
        struct rt_pipeline_stats *st = &f.stats.pipelines[0];
        assert_int_equal(c.rows[RT_TIER_FIRST] + c.rows[RT_TIER_OPTIMISED], ROWS);
        assert_true(c.rows[RT_TIER_FIRST] >= ROWS / 3 && c.rows[RT_TIER_OPTIMISED] > 0);
        assert_true(st->morsels[RT_TIER_FIRST] > 0 && st->morsels[RT_TIER_OPTIMISED] > 0);
        assert_true(st->swap_ms >= 0 && st->swap_ms <= st->start_ms + st->ms);
        fx_release(&f);
    }
}

static void tiers_take_turns_or_stay(void **state)
{
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++) {
        struct fx f;
        struct counts c = {.fail_at = UINT64_MAX}, never = {.fail_at = UINT64_MAX};
        assert_int_equal(execute(&f, &c, fx_threads[k], RT_TIERING_TURNS), 0);
        struct rt_pipeline_stats *st = &f.stats.pipelines[0];
        assert_int_equal(c.rows[RT_TIER_FIRST] + c.rows[RT_TIER_OPTIMISED], ROWS);
        assert_true(st->morsels[RT_TIER_OPTIMISED] - st->morsels[RT_TIER_FIRST] + 1 <= 2);
        fx_release(&f);
        assert_int_equal(execute(&f, &never, fx_threads[k], RT_TIERING_NEVER), 0);
        assert_int_equal(never.rows[RT_TIER_FIRST], ROWS); /* although optimised code is there soon */
        assert_true(f.stats.pipelines[0].swap_ms < 0);
        fx_release(&f);
    }
}

static void errors_are_the_same_in_either_tier(void **state)
{
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++)
        for (uint64_t row = 1; row < ROWS; row += ROWS / 3) {
            struct fx f;
            struct counts c = {.swap_at = ROWS / 3, .fail_at = row};
            assert_int_equal(execute(&f, &c, fx_threads[k], RT_TIERING_MEANWHILE), -1);
            assert_int_equal(f.err.class, HD_ERR_EXEC);
            assert_string_equal(f.err.path, "$.root.second");
            assert_string_equal(f.err.message, "numeric overflow");
            fx_release(&f);
        }
}

static int32_t wait_in_vain(void *code, int pipeline, struct hd_err *err)
{
    (void)code;
    return HD_FAIL(err, TOOL, NULL, "no code for pipeline %d", pipeline);
}

static void a_pipeline_without_code_ends_the_execution(void **state)
{
    struct fx f;
    struct counts c = {.fail_at = UINT64_MAX};
    (void)state;
    assert_int_equal(execute(&f, &c, 2, RT_TIERING_LATER), 0);
    rt_result_free(f.result);
    f.result = NULL;
    struct rt_exec_options o = {
        .threads = 2, .thread_pool = f.thread_pool, .memory = &f.memory, .wait_for_code = wait_in_vain};
    assert_int_equal(rt_exec_run(&f.spec, f.tiers, &o, &f.result, &f.stats, &f.err), -1);
    assert_int_equal(f.err.class, HD_ERR_TOOL);
    assert_string_equal(f.err.message, "no code for pipeline 0");
    fx_release(&f);
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_tier_is_all_that_short_pipelines_wait_for),
        cmocka_unit_test(long_pipelines_are_optimised_without_being_asked_again),
        cmocka_unit_test(a_tier_can_be_forced),
        cmocka_unit_test(optimised_code_that_fails_is_tried_again_and_then_no_more),
        cmocka_unit_test(a_first_tier_that_fails_is_an_error_and_is_forgotten),
        cmocka_unit_test(without_threads_the_caller_compiles_what_it_waits_for),
        cmocka_unit_test(code_without_users_is_given_up),
        cmocka_unit_test(many_new_programs_keep_few_threads_busy),
        cmocka_unit_test(what_is_stored_is_optimised),
        cmocka_unit_test(optimised_code_takes_over_between_two_morsels),
        cmocka_unit_test(tiers_take_turns_or_stay),
        cmocka_unit_test(errors_are_the_same_in_either_tier),
        cmocka_unit_test(a_pipeline_without_code_ends_the_execution),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
