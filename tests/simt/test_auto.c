/* Backend auto over an emulated device whose opening and whose compiler wait until they are told to go on, or fail: the CPU
 * answers meanwhile, the GPU later, with the same rows; and whatever is under way, everything can be freed.
 *
 *   test_auto DATABASE [host]        TPC-H; host: nothing that runs kernels, whose threads ThreadSanitizer does not know
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api_gpu.h"
#include "runtime/base/fault.h"
#include "tests/simt/gates.h"
#include "tests/simt/session.h"
#include "tests/simt/sim_device.h"

/* ---- a device that can be held up --------------------------------------------------------------- */

static enum gate opening, compiling;
static int opens, compiles; /* that began */
static uint64_t device_memory;

static enum gate may_compile(const char *source HD_UNUSED)
{
    return pass(&compiling, &compiles);
}

static int open_gated(int n HD_UNUSED, bool cold HD_UNUSED, struct rt_gpu_ahead *ahead HD_UNUSED, struct rt_device **d,
                      struct rt_compiler **c, struct hd_err *err)
{
    struct sim_device_options o;
    if (pass(&opening, &opens) == FAIL)
        return HD_FAIL(err, RESOURCE, NULL, "the device does not open");
    sim_device_options_init(&o);
    if (device_memory)
        o.memory = device_memory;
    EXPECT(sim_device_open(&o, d, err) == 0);
    return gated_compiler(may_compile, c, err);
}

/* ---- contexts, statements ------------------------------------------------------------------------ */

/* slower: a CPU so many times slower than it is. */
static void begin(enum gate open, enum gate code, const char *slower)
{
    const heddle_options o = session_options();
    opens = compiles = 0;
    opening = open;
    compiling = code;
    setenv("HEDDLE_AUTO_SLOWER_CPU", slower, 1);
    setenv("HEDDLE_AUTO_MEASURE", "0", 1);
    session_begin(&o);
}

static const char SUM[] =
    "{\"heddle\":1,\"params\":{\"most\":{\"type\":\"int64\",\"default\":\"24\"}},\"root\":{\"op\":"
    "\"aggregate\",\"keys\":[],\"aggs\":[{\"fn\":\"sum\",\"arg\":\"l_extendedprice * l_discount\","
    "\"as\":\"s\"},{\"fn\":\"count\",\"as\":\"n\"}],\"input\":{\"op\":\"scan\",\"table\":"
    "\"lineitem\",\"filter\":\"l_quantity < :most\"}}}";
static const char GROUPS[] =
    "{\"heddle\":1,\"root\":{\"op\":\"sort\",\"keys\":[{\"expr\":\"l_returnflag\"}],\"input\":{"
    "\"op\":\"aggregate\",\"keys\":[\"l_returnflag\"],\"aggs\":[{\"fn\":\"sum\",\"arg\":"
    "\"l_quantity\",\"as\":\"s\"}],\"input\":{\"op\":\"scan\",\"table\":\"lineitem\"}}}}";

static heddle_statement *prepare(const char *plan, bool deterministic)
{
    heddle_statement_options o;
    heddle_statement_options_init(&o);
    o.backend = "auto";
    o.deterministic = deterministic;
    return session_prepare(plan, &o);
}

static bool on(heddle_statement *s, const char *backend)
{
    char text[40];
    snprintf(text, sizeof text, "\"backend\":\"%s\"", backend);
    return reports(s, text);
}

/* Executes until the report has a text; the rows are the same all the time. */
static void run_until(heddle_statement *s, const char *text, struct rows expected)
{
    for (int ms = 0; ms < WAIT_MS; ms++) {
        same(run(s), expected);
        if (reports(s, text))
            return;
        usleep(1000);
    }
    CHECK(false, "%s", text);
}

static void run_until_on_gpu(heddle_statement *s, struct rows expected)
{
    run_until(s, "\"backend\":\"cuda\"", expected);
}

/* Slower than the GPU, but faster than compiling; slower by more; slower than anything. */
static const char *const little = "300", *const usual = "1000", *const very_slow = "1e9";

/* ---- cases --------------------------------------------------------------------------------------- */

static void the_cpu_answers_while_the_gpu_gets_ready(void)
{
    begin(SHUT, SHUT, usual);
    heddle_statement *s = prepare(SUM, false);
    struct rows first = run(s);
    EXPECT(on(s, "cpu") && reports(s, "that is done behind") && reports(s, "\"open_ms\":250"));
    EXPECT(heddle_context_busy(context));
    wait_for(&opens, 1);
    same(run(s), first);
    EXPECT(on(s, "cpu"));
    set(&opening, PASS);
    wait_for(&compiles, 1);
    same(run(s), first);
    EXPECT(on(s, "cpu"));
    set(&compiling, PASS);
    run_until_on_gpu(s, first);
    EXPECT(reports(s, "\"why\":\"the GPU needs"));
    EXPECT(number(&opens) == 1);
    heddle_statement_free(s);
    s = prepare(SUM, false); /* and prepared anew it goes there at once */
    same(run(s), first);
    EXPECT(on(s, "cuda"));
    heddle_statement_free(s);
    end();
}

static void a_long_query_waits_for_the_gpu(void)
{
    begin(PASS, PASS, very_slow);
    heddle_statement *s = prepare(SUM, false);
    run(s);
    EXPECT(on(s, "cuda") && reports(s, "\"tier\":\"first\"")); /* it is optimised behind that */
    heddle_statement_free(s);
    end();
}

static void a_device_that_does_not_open_is_asked_once(void)
{
    begin(FAIL, PASS, little);
    heddle_statement *s = prepare(SUM, false);
    struct rows first = run(s);
    run_until(s, "not the GPU: the device does not open", first);
    heddle_statement *other = prepare(GROUPS, false);
    run(other);
    EXPECT(on(other, "cpu") && reports(other, "not the GPU: the device does not open"));
    EXPECT(number(&opens) == 1);
    heddle_statement_free(other);
    heddle_statement_free(s);
    end();
}

static void a_query_that_would_wait_for_such_a_device_runs_on_the_cpu(void)
{
    begin(FAIL, PASS, very_slow);
    heddle_statement *s = prepare(SUM, false);
    struct rows first = run(s);
    EXPECT(on(s, "cpu") && reports(s, "the device does not open"));
    same(run(s), first);
    EXPECT(number(&opens) == 1);
    heddle_statement_free(s);
    end();
}

static void a_broken_compiler_is_left_alone_after_three_plans(void)
{
    begin(PASS, FAIL, little);
    for (int i = 0; i < 5; i++) {
        char plan[sizeof GROUPS + 40];
        snprintf(plan, sizeof plan, "{\"name\":\"%d\",%s", i, GROUPS + 1);
        int before = number(&compiles);
        heddle_statement *s = prepare(plan, false);
        struct rows first = run(s);
        run_until(s, "not the GPU: the compiler is broken", first);
        wait_until_idle(); /* another unit of the same plan may have waited for its turn */
        int after = number(&compiles);
        for (int k = 0; k < 5; k++)
            same(run(s), first);
        EXPECT(on(s, "cpu") && number(&compiles) == after && (i < 3) == (after > before));
        heddle_statement_free(s);
    }
    end();
}

static void a_query_that_meets_a_broken_compiler_runs_on_the_cpu(void)
{
    begin(PASS, FAIL, very_slow);
    heddle_statement *s = prepare(SUM, false);
    run(s);
    EXPECT(on(s, "cpu") && reports(s, "not the GPU: the compiler is broken"));
    heddle_statement_free(s);
    end();
}

static void what_does_not_fit_the_gpu_runs_on_the_cpu(void)
{
    device_memory = 1000; /* no column, and no room for chunks or state */
    begin(PASS, PASS, very_slow);
    heddle_statement *s = prepare(SUM, false);
    struct rows first = run(s);
    EXPECT(on(s, "cpu") && reports(s, "not the GPU: the limit of"));
    same(run(s), first);
    heddle_statement_free(s);
    char plan[sizeof SUM + 40];
    snprintf(plan, sizeof plan, "{\"name\":\"again\",%s", SUM + 1);
    heddle_statement *other = prepare(plan, false); /* the GPU is open, and is not asked in vain */
    same(run(other), first);
    EXPECT(on(other, "cpu") && reports(other, "not the GPU: what the plan reads does not fit"));
    heddle_statement_free(other);
    end();
    device_memory = 0;
}

/* Database and statement go while the thread is at it; it does not hold them up. */
static void all_can_be_freed_while_it_opens(void)
{
    begin(SHUT, PASS, little);
    heddle_statement *s = prepare(SUM, false);
    run(s);
    wait_for(&opens, 1);
    heddle_statement_free(s);
    heddle_database_free(database);
    EXPECT(heddle_context_busy(context));
    set(&opening, PASS);
    heddle_context_free(context);
    EXPECT(number(&compiles) == 0);
}

static void all_can_be_freed_while_it_compiles(void)
{
    begin(PASS, SHUT, little);
    heddle_statement *s = prepare(SUM, false), *other = prepare(GROUPS, false);
    run(s);
    run(other);
    wait_for(&compiles, 1);
    heddle_statement_free(s);
    heddle_statement_free(other);
    heddle_database_free(database);
    pthread_t t = let_pass(&compiling);
    heddle_context_free(context); /* waits for the compiler */
    pthread_join(t, NULL);
}

static void a_context_can_be_freed_before_it_began(void)
{
    begin(PASS, SHUT, little);
    heddle_statement *s = prepare(SUM, false);
    run(s);
    heddle_statement_free(s);
    pthread_t t = let_pass(&compiling);
    end();
    pthread_join(t, NULL);
}

static void a_refused_thread_leaves_the_cpu_running(void)
{
    begin(PASS, PASS, little);
    heddle_statement *s = prepare(SUM, false);
    EXPECT(hd_fault_arm("thread:1+"));
    struct rows first = run(s);
    same(run(s), first);
    EXPECT(on(s, "cpu") && number(&opens) == 0 && !heddle_context_busy(context));
    hd_fault_arm("");
    heddle_statement_free(s);
    end();
}

static void a_cancel_is_the_statements(void)
{
    heddle_error *e = NULL;
    struct ArrowArrayStream stream;
    begin(PASS, SHUT, little);
    heddle_statement *s = prepare(SUM, false);
    struct rows first = run(s);
    wait_for(&compiles, 1);
    heddle_statement_cancel(s);
    EXPECT(heddle_execute(s, &stream, &e) != 0 && heddle_error_get_class(e) == HEDDLE_ERROR_CANCELLED);
    heddle_error_free(e);
    same(run(s), first);
    EXPECT(heddle_context_busy(context)); /* the compilation goes on */
    heddle_statement_free(s);
    set(&compiling, FAIL);
    end();
}

static void a_cancelled_statement_goes_on_with_the_gpu(void)
{
    begin(PASS, PASS, usual);
    heddle_statement *s = prepare(SUM, false);
    struct rows first = run(s);
    run_until_on_gpu(s, first);
    heddle_error *e = NULL;
    struct ArrowArrayStream stream;
    heddle_statement_cancel(s);
    EXPECT(heddle_execute(s, &stream, &e) != 0 && heddle_error_get_class(e) == HEDDLE_ERROR_CANCELLED);
    heddle_error_free(e);
    same(run(s), first);
    EXPECT(on(s, "cuda"));
    heddle_statement_free(s);
    end();
}

struct worker {
    const char *plan;
    bool gpu;
};

static void *work(void *arg)
{
    const struct worker *w = arg;
    heddle_statement *s = prepare(w->plan, false);
    struct rows first = run(s);
    for (int i = 0; i < 50; i++)
        same(run(s), first);
    if (w->gpu)
        run_until_on_gpu(s, first);
    for (int i = 0; i < 20; i++)
        same(run(s), first);
    heddle_statement_free(s);
    return NULL;
}

/* gpu: as long as it takes to get there. */
static void many_statements_at_once(bool gpu)
{
    pthread_t t[4];
    struct worker w[4] = {{SUM, gpu}, {GROUPS, gpu}, {SUM, gpu}, {GROUPS, gpu}};
    begin(PASS, gpu ? PASS : SHUT, gpu ? usual : little);
    for (int i = 0; i < 4; i++)
        EXPECT(pthread_create(&t[i], NULL, work, &w[i]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    EXPECT(number(&opens) == 1);
    if (!gpu)
        set(&compiling, FAIL);
    end();
}

static void a_deterministic_statement_stays(void)
{
    heddle_error *e = NULL;
    begin(PASS, PASS, usual);
    heddle_statement *still = prepare(SUM, true), *s = prepare(SUM, false);
    struct rows first = run(still);
    EXPECT(on(still, "cpu") && !heddle_context_busy(context)); /* it has no use for the GPU */
    run_until_on_gpu(s, first);
    for (int i = 0; i < 3; i++) {
        same(run(still), first);
        EXPECT(on(still, "cpu") && reports(still, "\"why\":\"deterministic"));
    }
    ok(heddle_bind(still, "most", "10", &e), &e);
    run(still);
    EXPECT(on(still, "cpu"));
    heddle_statement_free(still);
    still = prepare(SUM, true);
    same(run(still), first);
    EXPECT(on(still, "cuda"));
    ok(heddle_bind(still, "most", "10", &e), &e);
    run(still);
    EXPECT(on(still, "cuda"));
    heddle_statement_free(still);
    heddle_statement_free(s);
    end();
}

/* Values are bound anew, a table is dropped, and a plan is explained meanwhile. */
static void other_calls_between_executions(void)
{
    char *text;
    heddle_error *e = NULL;
    begin(SHUT, SHUT, little);
    heddle_statement *s = prepare(SUM, false);
    struct rows first = run(s);
    wait_for(&opens, 1);
    for (int i = 0; i < 3; i++) {
        ok(heddle_bind(s, "most", i % 2 ? "24" : "10", &e), &e);
        run(s);
    }
    ok(heddle_bind(s, "most", "24", &e), &e);
    same(run(s), first);
    ok(heddle_explain(s, "backend,pipelines", &text, &e), &e);
    EXPECT(strstr(text, "cpu: the CPU needs") && strstr(text, "\ncuda: ") && strstr(text, ", open 250, compile "));
    heddle_free(text);
    set(&compiling, FAIL);
    set(&opening, PASS);
    heddle_statement_free(s);
    end();
}

static void many_statements_on_the_cpu(void)
{
    many_statements_at_once(false);
}

static void many_statements_that_get_to_the_gpu(void)
{
    many_statements_at_once(true);
}

static const struct session_case host_cases[] = {
    CASE(a_device_that_does_not_open_is_asked_once),
    CASE(a_query_that_would_wait_for_such_a_device_runs_on_the_cpu),
    CASE(a_broken_compiler_is_left_alone_after_three_plans),
    CASE(a_query_that_meets_a_broken_compiler_runs_on_the_cpu),
    CASE(all_can_be_freed_while_it_opens),
    CASE(all_can_be_freed_while_it_compiles),
    CASE(a_context_can_be_freed_before_it_began),
    CASE(a_refused_thread_leaves_the_cpu_running),
    CASE(a_cancel_is_the_statements),
    CASE(other_calls_between_executions),
    CASE(many_statements_on_the_cpu),
};
static const struct session_case kernel_cases[] = {
    CASE(the_cpu_answers_while_the_gpu_gets_ready),  CASE(a_long_query_waits_for_the_gpu),
    CASE(what_does_not_fit_the_gpu_runs_on_the_cpu), CASE(a_cancelled_statement_goes_on_with_the_gpu),
    CASE(many_statements_that_get_to_the_gpu),       CASE(a_deterministic_statement_stays),
};

int main(int argc, char **argv)
{
    EXPECT(argc == 2 || (argc == 3 && strcmp(argv[2], "host") == 0));
    folder = argv[1];
    api_gpu_open = open_gated;
    for (size_t i = 0; i < HD_COUNT(host_cases); i++)
        session_run(&host_cases[i]);
    for (size_t i = 0; i < HD_COUNT(kernel_cases) && argc == 2; i++)
        session_run(&kernel_cases[i]);
    return 0;
}
