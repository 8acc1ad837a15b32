/* A cancel is reported by whatever works for the statement, soon, whenever it comes; and once it was
 * reported the statement can be used again. Memory that the system refuses is an error of class
 * resource wherever a plan is read, planned and emitted. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/fault.h"
#include "tests/store/store_fixture.h"

/* Sanitizers slow everything down; so do machines that run other tests beside this one. */
#ifdef __SANITIZE_THREAD__
static const double SOON_S = 4; /* ten times slower, on a machine that compiles as well */
#else
static const double SOON_S = 1;
#endif

enum { ROWS = 200000, SUMS = 24, ROUNDS = 40, PROFILED_ROUNDS = 16 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- a database and a plan that takes a while in every stage ---------------------------- */

struct bed {
    struct fx_dir *dir;
    heddle_database *db;
    char *plan;
    int profile; /* of new statements: they run two versions of the code */
};

static void write_table(struct fx_dir *d)
{
    static const char schema[] = "{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"k\",\"type\":\"int32\"},"
                                 "{\"name\":\"v\",\"type\":\"int64\"}]}]}";
    int32_t *k = malloc(ROWS * sizeof *k);
    int64_t *v = malloc(ROWS * sizeof *v);
    for (int i = 0; i < ROWS; i++) {
        k[i] = i * 7919 % 50021;
        v[i] = i;
    }
    heddle_writer *w = fx_writer(d, schema);
    struct fx_batch *b = fx_batch_new(ROWS, 0);
    fx_add(b, "k", "i", k, sizeof *k, NULL);
    fx_add(b, "v", "l", v, sizeof *v, NULL);
    fx_append(w, "t", 0, b);
    fx_commit(w);
    free(k);
    free(v);
}

/* As many distinct sums as take LLVM a good part of a second, grouped, sorted, and returned. */
static char *write_plan(void)
{
    char *plan;
    size_t n;
    FILE *f = open_memstream(&plan, &n);
    fputs("{\"heddle\":1,\"params\":{\"p\":{\"type\":\"int64\",\"default\":\"1\"}},\"root\":"
          "{\"op\":\"sort\",\"keys\":[\"k\"],\"input\":{\"op\":\"aggregate\",\"keys\":[\"k\"],"
          "\"aggs\":[",
          f);
    for (int i = 0; i < SUMS; i++)
        fprintf(f, "%s{\"fn\":\"sum\",\"arg\":\"v * %d + :p\",\"as\":\"s%d\"}", i ? "," : "", i + 2, i);
    fputs("],\"input\":{\"op\":\"scan\",\"table\":\"t\"}}}}", f);
    fclose(f);
    return plan;
}

static int bed_setup(void **state)
{
    struct bed *b = calloc(1, sizeof *b);
    heddle_error *e = NULL;
    if (fx_setup((void **)&b->dir) != 0)
        return -1;
    write_table(b->dir);
    fx_ok(heddle_database_open(b->dir->context, b->dir->db, 0, &b->db, &e), &e);
    b->plan = write_plan();
    *state = b;
    return 0;
}

static int bed_teardown(void **state)
{
    struct bed *b = *state;
    heddle_database_free(b->db);
    free(b->plan);
    fx_teardown((void **)&b->dir); /* the context waits for what was left */
    free(b);
    return 0;
}

static heddle_statement *new_statement(struct bed *b)
{
    heddle_statement *s;
    heddle_error *e = NULL;
    heddle_statement_options o;
    heddle_statement_options_init(&o);
    o.no_cache = 1;
    o.threads = 2;
    o.profile = b->profile;
    fx_ok(heddle_statement_new(b->db, &o, &s, &e), &e);
    return s;
}

static int64_t read_rows(struct ArrowArrayStream *stream)
{
    int64_t rows = 0;
    for (;;) {
        struct ArrowArray a;
        assert_int_equal(stream->get_next(stream, &a), 0);
        if (!a.release)
            break;
        rows += a.length;
        a.release(&a);
    }
    stream->release(stream);
    return rows;
}

static void execute(heddle_statement *s)
{
    struct ArrowArrayStream stream;
    heddle_error *e = NULL;
    fx_ok(heddle_execute(s, &stream, &e), &e);
    assert_int_equal(read_rows(&stream), 50021);
}

static void expect_cancelled(int rc, heddle_error **e)
{
    fx_expect(rc, e, HEDDLE_ERROR_CANCELLED, "", "cancelled");
}

/* ---- before anything happens --------------------------------------------------------------- */

static void nothing_is_lost_before_a_call(void **state)
{
    struct bed *b = *state;
    struct ArrowArrayStream stream;
    heddle_statement *s = new_statement(b);
    heddle_error *e = NULL;
    char *text;
    heddle_statement_cancel(s);
    expect_cancelled(heddle_statement_prepare(s, b->plan, &e), &e);
    fx_ok(heddle_statement_prepare(s, b->plan, &e), &e);
    heddle_statement_cancel(s);
    heddle_statement_cancel(s); /* twice is once */
    expect_cancelled(heddle_execute(s, &stream, &e), &e);
    heddle_statement_cancel(s);
    expect_cancelled(heddle_bind(s, "p", "2", &e), &e);
    fx_ok(heddle_bind(s, "p", "2", &e), &e);
    heddle_statement_cancel(s);
    expect_cancelled(heddle_explain(s, "pipelines,asm", &text, &e), &e);
    execute(s);
    heddle_statement_cancel(s); /* planned, compiled: only running is left */
    expect_cancelled(heddle_execute(s, &stream, &e), &e);
    execute(s);
    heddle_statement_free(s);
}

static void streams_are_not_concerned(void **state)
{
    struct bed *b = *state;
    struct ArrowArrayStream stream;
    heddle_statement *s = new_statement(b);
    heddle_error *e = NULL;
    fx_ok(heddle_statement_prepare(s, b->plan, &e), &e);
    fx_ok(heddle_execute(s, &stream, &e), &e);
    heddle_statement_cancel(s);
    assert_int_equal(read_rows(&stream), 50021);
    heddle_statement_free(s);
}

static void statements_without_a_plan_say_so(void **state)
{
    struct bed *b = *state;
    struct ArrowArrayStream stream;
    heddle_statement *s = new_statement(b);
    heddle_error *e = NULL;
    char *text;
    fx_expect(heddle_execute(s, &stream, &e), &e, HEDDLE_ERROR_USER, "", "no plan");
    fx_expect(heddle_bind(s, "p", "1", &e), &e, HEDDLE_ERROR_USER, "", "no plan");
    fx_expect(heddle_bind_json(s, "{}", &e), &e, HEDDLE_ERROR_USER, "", "no plan");
    fx_expect(heddle_explain(s, NULL, &text, &e), &e, HEDDLE_ERROR_USER, "", "no plan");
    fx_expect(heddle_statement_prepare(s, "{}", &e), &e, HEDDLE_ERROR_USER, "$", "heddle");
    fx_ok(heddle_statement_prepare(s, b->plan, &e), &e);
    fx_expect(heddle_statement_prepare(s, b->plan, &e), &e, HEDDLE_ERROR_USER, "", "already");
    execute(s);
    heddle_statement_free(s);
}

/* ---- at any moment ------------------------------------------------------------------------- */

struct canceller {
    heddle_statement *s;
    double after_s;
    double at; /* when it cancelled */
};

static void *cancel_later(void *arg)
{
    struct canceller *c = arg;
    usleep((useconds_t)(c->after_s * 1e6));
    c->at = now_s();
    heddle_statement_cancel(c->s);
    return NULL;
}

/* The stage that reported it: 0 prepare, 1 bind, 2 execute, 3 none. */
static int live(struct bed *b, heddle_statement *s, double *ended)
{
    struct ArrowArrayStream stream;
    heddle_error *e = NULL;
    int stage = 3;
    if (heddle_statement_prepare(s, b->plan, &e) != 0)
        stage = 0;
    else if (heddle_bind(s, "p", "3", &e) != 0)
        stage = 1;
    else if (heddle_execute(s, &stream, &e) != 0)
        stage = 2;
    *ended = now_s();
    if (stage < 3)
        expect_cancelled(-1, &e);
    else
        assert_int_equal(read_rows(&stream), 50021);
    return stage;
}

/* The statement goes on as if nothing had been. */
static void live_on(struct bed *b, heddle_statement *s, int stage)
{
    heddle_error *e = NULL;
    struct ArrowArrayStream stream;
    if (stage == 0)
        fx_ok(heddle_statement_prepare(s, b->plan, &e), &e);
    if (stage == 3) /* it came too late, so it is for the next one */
        expect_cancelled(heddle_execute(s, &stream, &e), &e);
    execute(s);
}

static void cancel_at_any_moment(struct bed *b, int rounds)
{
    uint64_t seed = (uint64_t)time(NULL);
    double begun = now_s(), ended;
    int stages[4] = {0};
    heddle_statement *s = new_statement(b);
    print_message("seed %llu\n", (unsigned long long)seed);
    assert_int_equal(live(b, s, &ended), 3);
    double life = ended - begun;
    heddle_statement_free(s);
    for (int i = 0; i < rounds; i++) {
        struct canceller c = {.s = new_statement(b)};
        pthread_t thread;
        c.after_s = life * (double)(fx_random(&seed) % 1000) / 1000;
        if (i % 2) /* what comes before compiling is short */
            c.after_s *= 0.05;
        pthread_create(&thread, NULL, cancel_later, &c);
        int stage = live(b, c.s, &ended);
        pthread_join(thread, NULL);
        if (stage < 3 && ended - c.at > SOON_S)
            fail_msg("stage %d, cancelled after %.3f s: ended %.3f s later", stage, c.after_s, ended - c.at);
        stages[stage]++;
        if (i % 8 == 0)
            live_on(b, c.s, stage);
        heddle_statement_free(c.s); /* its compilation may go on */
    }
    print_message("life %.3f s; reported by prepare %d, bind %d, execute %d, later %d\n", life, stages[0], stages[1],
                  stages[2], stages[3]);
    assert_true(stages[2] > 0);
}

static void any_moment_will_do(void **state)
{
    cancel_at_any_moment(*state, ROUNDS);
}

static void any_moment_of_a_profile_will_do(void **state)
{
    struct bed *b = *state;
    b->profile = 1;
    cancel_at_any_moment(b, PROFILED_ROUNDS);
    b->profile = 0;
}

static char *report_of(heddle_statement *s)
{
    char *json;
    heddle_error *e = NULL;
    fx_ok(heddle_statement_report(s, &json, &e), &e);
    return json;
}

/* Rows are counted once for a binding; a new one is another program. */
static void counts_are_of_the_last_binding(void **state)
{
    struct bed *b = *state;
    heddle_error *e = NULL;
    struct ArrowArrayStream stream;
    b->profile = 1;
    heddle_statement *s = new_statement(b);
    b->profile = 0;
    fx_ok(heddle_statement_prepare(s, b->plan, &e), &e);
    for (int run = 0; run < 4; run++) {
        char *json;
        if (run == 2)
            fx_ok(heddle_bind(s, "p", "5", &e), &e);
        if (run == 3) { /* what is known stays known after an execution that was cancelled */
            heddle_statement_cancel(s);
            expect_cancelled(heddle_execute(s, &stream, &e), &e);
        }
        execute(s);
        json = report_of(s);
        assert_non_null(strstr(json, "\"steps\":[{"));
        assert_non_null(strstr(json, "\"timeline\":[{"));
        assert_non_null(strstr(json, "\"counted\":{"));
        heddle_free(json);
        if (run == 1) { /* of values that are no longer bound nothing is told */
            fx_ok(heddle_bind(s, "p", "4", &e), &e);
            json = report_of(s);
            assert_null(strstr(json, "\"steps\":[{"));
            heddle_free(json);
        }
    }
    heddle_statement_free(s);
}

/* Two statements: the other one is not disturbed, also while it waits for the same threads. */
static void *execute_beside(void *statement)
{
    execute(statement);
    return NULL;
}

static void others_are_not_disturbed(void **state)
{
    struct bed *b = *state;
    heddle_error *e = NULL;
    for (int i = 0; i < 4; i++) {
        struct canceller c = {.s = new_statement(b), .after_s = 0.02 * i};
        heddle_statement *other = new_statement(b);
        pthread_t canceller, beside;
        double ended;
        fx_ok(heddle_statement_prepare(other, b->plan, &e), &e);
        pthread_create(&beside, NULL, execute_beside, other);
        pthread_create(&canceller, NULL, cancel_later, &c);
        live(b, c.s, &ended);
        pthread_join(canceller, NULL);
        pthread_join(beside, NULL);
        heddle_statement_free(c.s);
        heddle_statement_free(other);
    }
}

/* ---- memory that the system refuses -------------------------------------------------------- */

/* The nth allocation fails, from the first to beyond the last: an error each time, or none where it can
 * be done without; and then the same statement works. */
static void refused_memory_is_an_error(void **state)
{
    struct bed *b = *state;
    heddle_error *e = NULL;
    bool reached = true;
    int failed = 0;
    for (int n = 1; reached; n += n < 40 ? 1 : n / 8) {
        char spec[32], *text = NULL;
        heddle_statement *s = new_statement(b);
        snprintf(spec, sizeof spec, "alloc:%d", n);
        hd_fault_arm(spec);
        int rc = heddle_statement_prepare(s, b->plan, &e) || heddle_bind_json(s, "{\"p\": \"4\"}", &e) ||
                 heddle_explain(s, "plan,pipelines,spec,cuda", &text, &e);
        reached = hd_fault_calls(HD_FAULT_ALLOC) >= (uint64_t)n;
        hd_fault_arm(NULL);
        if (rc) {
            fx_expect(-1, &e, HEDDLE_ERROR_RESOURCE, "", "memory");
            failed++;
        }
        heddle_free(text);
        heddle_statement_free(s);
    }
    assert_true(failed > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_memory_is_an_error), /* first: no compilation may go on meanwhile */
        cmocka_unit_test(nothing_is_lost_before_a_call),
        cmocka_unit_test(streams_are_not_concerned),
        cmocka_unit_test(statements_without_a_plan_say_so),
        cmocka_unit_test(others_are_not_disturbed),
        cmocka_unit_test(any_moment_will_do),
        cmocka_unit_test(any_moment_of_a_profile_will_do),
        cmocka_unit_test(counts_are_of_the_last_binding),
    };
    return cmocka_run_group_tests(tests, bed_setup, bed_teardown);
}
