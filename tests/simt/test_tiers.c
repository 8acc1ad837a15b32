/* Tiers of a GPU's code over the emulator, with a compiler that holds up, or refuses, what is not of a first tier: an execution
 * begins in its first tier, optimised code is made behind it and taken by a later one; rows, errors and their paths are the
 * same; and whatever is under way, all can be freed.
 *
 *   test_tiers DATABASE FOLDER        TPC-H; an empty folder for caches
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api_gpu.h"
#include "tests/simt/gates.h"
#include "tests/simt/session.h"
#include "tests/simt/sim_device.h"

/* ---- a compiler that can be held up -------------------------------------------------------- */

static enum gate optimising;
static int firsts, optimised; /* sources of pipelines that somebody began to compile */
static int sort_firsts, sort_optimised; /* likewise the fixed kernels that sort */

static void count_sorts(const char *source)
{
    bool first = strncmp(source, "//! --Ofast-compile=mid\n", strlen("//! --Ofast-compile=mid\n")) == 0;
    bool sort = strstr(source, "HDD_KERNEL(hdd_sort_pairs)") != NULL;
    sort_firsts += sort && first;
    sort_optimised += sort && !first;
}

/* Fixed kernels and pipelines that have no first tier pass. */
static enum gate may_compile(const char *source)
{
    enum gate found = PASS;
    bool first = strncmp(source, "//! ", 4) == 0 && strstr(source, "--Ofast-compile=min\n");
    bool scan = strstr(source, "// p0: ") != NULL; /* of all plans here the pipeline with a first tier */
    pthread_mutex_lock(&gates_lock);
    firsts += first;
    optimised += !first && scan;
    count_sorts(source);
    pthread_cond_broadcast(&gates_changed);
    while (!first && scan && optimising == SHUT)
        pthread_cond_wait(&gates_changed, &gates_lock);
    if (!first && scan)
        found = optimising;
    pthread_mutex_unlock(&gates_lock);
    return found;
}

static int open_gated(int n HD_UNUSED, bool cold HD_UNUSED, struct rt_gpu_ahead *ahead HD_UNUSED, struct rt_device **d,
                      struct rt_compiler **c, struct hd_err *err)
{
    struct sim_device_options o;
    sim_device_options_init(&o);
    EXPECT(sim_device_open(&o, d, err) == 0);
    return gated_compiler(may_compile, c, err);
}

/* ---- contexts, statements ------------------------------------------------------------------ */

static const char *caches;

/* cache: "" none. */
static void begin(enum gate gate, const char *cache)
{
    heddle_options o = session_options();
    o.cache_dir = cache;
    firsts = optimised = sort_firsts = sort_optimised = 0;
    optimising = gate;
    session_begin(&o);
}

/* Lines of an order, which lanes go through; both levels' values are in the sum. */
#define LINES(sum) \
    "{\"heddle\":1,\"params\":{\"least\":{\"type\":\"int64\",\"default\":\"24\"}},\"root\":{\"op\":" \
    "\"aggregate\",\"keys\":[],\"aggs\":[{\"fn\":\"sum\",\"arg\":\"" sum "\",\"as\":\"s\"}," \
    "{\"fn\":\"count\",\"as\":\"n\"}],\"input\":{\"op\":\"join\",\"kind\":\"inner\",\"on\":[[\"o_orderkey\"," \
    "\"l_orderkey\"]],\"strategy\":\"index\",\"build\":\"right\",\"left\":{\"op\":\"scan\",\"table\":\"orders\"}," \
    "\"right\":{\"op\":\"scan\",\"table\":\"lineitem\",\"filter\":\"l_quantity > :least\"}}}}"
static const char SUM[] = LINES("l_extendedprice + o_shippriority");
static const char QUOTIENT[] = LINES("1 / (l_linenumber - 7 + o_shippriority)"); /* there are lines 7 */

/* The dearest orders, which fixed kernels find. */
static const char DEAREST[] =
    "{\"heddle\":1,\"root\":{\"op\":\"aggregate\",\"keys\":[],\"aggs\":[{\"fn\":\"sum\",\"arg\":\"o_totalprice\","
    "\"as\":\"s\"},"
    "{\"fn\":\"count\",\"as\":\"n\"}],\"input\":{\"op\":\"sort\",\"keys\":[{\"expr\":\"o_totalprice\",\"desc\":true}],"
    "\"limit\":3000,\"input\":{\"op\":\"scan\",\"table\":\"orders\"}}}}";

static heddle_statement *prepare(const char *plan, const char *tier)
{
    heddle_statement_options o;
    heddle_statement_options_init(&o);
    o.backend = "cuda";
    o.tier = tier;
    return session_prepare(plan, &o);
}

/* The error of an execution, as "path: message"; the caller frees it. */
static char *fails(heddle_statement *s)
{
    struct ArrowArrayStream stream;
    heddle_error *e = NULL;
    char *text = NULL;
    EXPECT(heddle_execute(s, &stream, &e) != 0);
    EXPECT(asprintf(&text, "%s: %s", heddle_error_path(e), heddle_error_message(e)) > 0);
    heddle_error_free(e);
    return text;
}

/* ---- cases --------------------------------------------------------------------------------- */

static void a_later_execution_takes_optimised_code(void)
{
    begin(SHUT, "");
    heddle_statement *s = prepare(SUM, NULL);
    struct rows first = run(s);
    EXPECT(reports(s, "\"optimised\":\"underway\"") && reports(s, "\"tier\":\"first\"") && number(&firsts) >= 1);
    same(run(s), first);
    EXPECT(reports(s, "\"tier\":\"first\""));
    set(&optimising, PASS);
    wait_until_idle();
    EXPECT(reports(s, "\"optimised\":\"yes\"")); /* it is there, although the last execution was without */
    int before = number(&firsts);
    same(run(s), first);
    EXPECT(!reports(s, "\"tier\":\"first\"") && reports(s, "\"tier\":\"optimised\""));
    EXPECT(number(&firsts) == before);
    heddle_statement_free(s);
    s = prepare(SUM, NULL); /* of which another statement knows, too */
    same(run(s), first);
    EXPECT(!reports(s, "\"tier\":\"first\"") && number(&firsts) == before);
    heddle_statement_free(s);
    end();
}

static void tiers_can_be_asked_for(void)
{
    begin(FAIL, "");
    heddle_statement *s = prepare(SUM, "first");
    struct rows first = run(s);
    wait_until_idle();
    same(run(s), first);
    EXPECT(number(&optimised) == 0 && reports(s, "\"optimised\":\"yes\"")); /* nothing else was asked for */
    heddle_statement_free(s);
    set(&optimising, PASS);
    int before = number(&firsts);
    s = prepare(SUM, "optimised");
    same(run(s), first);
    EXPECT(number(&firsts) == before && number(&optimised) == 1);
    heddle_statement_free(s);
    end();
}

static void errors_and_their_paths_are_the_same(void)
{
    begin(SHUT, "");
    heddle_statement *s = prepare(QUOTIENT, NULL);
    char *first = fails(s);
    set(&optimising, PASS);
    wait_until_idle();
    int before = number(&firsts);
    char *later = fails(s);
    CHECK(strcmp(first, later) == 0 && strstr(first, "division by zero"), "%s; %s", first, later);
    EXPECT(number(&firsts) == before && number(&optimised) == 1);
    free(first);
    free(later);
    heddle_statement_free(s);
    end();
}

static void what_cannot_be_optimised_stays_in_the_first_tier(void)
{
    begin(FAIL, "");
    heddle_statement *s = prepare(SUM, NULL);
    struct rows first = run(s);
    for (int i = 0; i < 6; i++) {
        wait_until_idle();
        EXPECT(reports(s, "\"optimised\":\"failed\",\"optimise_error\":\"the compiler is broken\""));
        same(run(s), first);
        EXPECT(reports(s, "\"tier\":\"first\""));
    }
    EXPECT(number(&optimised) == 3); /* the first execution and two more tried */
    heddle_statement_free(s);
    end();
}

static void a_cancel_leaves_the_compiler_alone(void)
{
    struct ArrowArrayStream stream;
    heddle_error *e = NULL;
    begin(SHUT, "");
    heddle_statement *s = prepare(SUM, NULL);
    struct rows first = run(s);
    wait_for(&optimised, 1);
    heddle_statement_cancel(s);
    EXPECT(heddle_execute(s, &stream, &e) != 0);
    heddle_error_free(e);
    set(&optimising, PASS);
    wait_until_idle();
    same(run(s), first);
    EXPECT(!reports(s, "\"tier\":\"first\""));
    heddle_statement_free(s);
    end();
}

/* Whatever is left of it when the context goes: nobody would find it. */
static void without_a_cache_it_is_dropped(void)
{
    begin(SHUT, "");
    heddle_statement *s = prepare(SUM, NULL), *other = prepare(QUOTIENT, NULL);
    run(s);
    free(fails(other)); /* waits for the thread that is at s */
    wait_for(&optimised, 1);
    heddle_statement_free(s);
    heddle_statement_free(other);
    heddle_database_free(database);
    pthread_t t = let_pass(&optimising);
    heddle_context_free(context); /* waits for the compiler */
    pthread_join(t, NULL);
    EXPECT(number(&optimised) == 1);
}

/* The cache has optimised code then and nothing else, which the next process finds. */
static void with_a_cache_it_is_finished(void)
{
    begin(SHUT, caches);
    heddle_statement *s = prepare(SUM, NULL);
    struct rows first = run(s);
    EXPECT(reports(s, "\"tier\":\"first\""));
    wait_for(&optimised, 1);
    heddle_statement_free(s);
    pthread_t t = let_pass(&optimising);
    end();
    pthread_join(t, NULL);
    begin(FAIL, caches);
    s = prepare(SUM, NULL);
    same(run(s), first);
    EXPECT(reports(s, "\"optimised\":\"yes\"") && !reports(s, "\"tier\":\"first\""));
    EXPECT(number(&firsts) == 0 && number(&optimised) == 0);
    heddle_statement_free(s);
    end();
}

static void other_values_begin_with_what_is_there(void)
{
    heddle_error *e = NULL;
    begin(SHUT, "");
    heddle_statement *s = prepare(SUM, NULL);
    struct rows first = run(s);
    wait_for(&optimised, 1);
    int before = number(&firsts);
    ok(heddle_bind(s, "least", "10", &e), &e);
    run(s);
    EXPECT(reports(s, "\"tier\":\"first\"") && number(&firsts) == before);
    set(&optimising, PASS);
    wait_until_idle();
    ok(heddle_bind(s, "least", "24", &e), &e);
    same(run(s), first);
    EXPECT(!reports(s, "\"tier\":\"first\""));
    heddle_statement_free(s);
    end();
}

static void fixed_kernels_have_a_first_tier(void)
{
    begin(SHUT, "");
    heddle_statement *s = prepare(DEAREST, NULL);
    struct rows first = run(s);
    EXPECT(reports(s, "\"optimised\":\"underway\"") && number(&sort_firsts) == 1);
    same(run(s), first);
    set(&optimising, PASS);
    wait_until_idle();
    EXPECT(reports(s, "\"optimised\":\"yes\"") && number(&sort_optimised) == 1);
    same(run(s), first);
    heddle_statement_free(s);
    s = prepare(DEAREST, "optimised");
    same(run(s), first);
    EXPECT(number(&sort_firsts) == 1 && number(&sort_optimised) == 1); /* it was loaded */
    heddle_statement_free(s);
    end();
    begin(PASS, "");
    s = prepare(DEAREST, "first"); /* nothing takes its place */
    same(run(s), first);
    wait_until_idle();
    same(run(s), first);
    EXPECT(number(&sort_firsts) == 1 && number(&sort_optimised) == 0);
    heddle_statement_free(s);
    end();
}

/* ---- two processes ------------------------------------------------------------------------- */

struct answers {
    struct rows first, later;
};

/* In a process of its own: its first tier is there before `go` can be read, its optimised code after that. */
static _Noreturn void run_apart(const char *cache, int go, int tell)
{
    struct answers a = {0};
    char byte = 0;
    begin(SHUT, cache);
    heddle_statement *s = prepare(SUM, NULL);
    a.first = run(s);
    EXPECT(reports(s, "\"tier\":\"first\"") && number(&firsts) >= 1);
    EXPECT(write(tell, &byte, 1) == 1 && read(go, &byte, 1) == 1);
    set(&optimising, PASS);
    wait_until_idle();
    a.later = run(s);
    EXPECT(!reports(s, "\"tier\":\"first\"") && number(&optimised) <= 1); /* the other's may be on disk already */
    heddle_statement_free(s);
    end();
    EXPECT(write(tell, &a, sizeof a) == sizeof a);
    _exit(0);
}

/* Both compile both tiers of one plan at the same time, into one cache, which has optimised code then and nothing else. */
static void two_processes_compile_the_same_plan(void)
{
    enum { PROCESSES = 2 };
    int go[2], tell[PROCESSES][2], status;
    pid_t child[PROCESSES];
    struct answers a[PROCESSES];
    char *cache, bytes[PROCESSES] = {0};
    EXPECT(asprintf(&cache, "%s/two", caches) > 0 && pipe(go) == 0);
    for (int i = 0; i < PROCESSES; i++) {
        EXPECT(pipe(tell[i]) == 0);
        child[i] = fork();
        if (child[i] == 0)
            run_apart(cache, go[0], tell[i][1]);
        EXPECT(child[i] > 0);
        close(tell[i][1]);
    }
    for (int i = 0; i < PROCESSES; i++)
        EXPECT(read(tell[i][0], bytes, 1) == 1);
    EXPECT(write(go[1], bytes, PROCESSES) == PROCESSES);
    for (int i = 0; i < PROCESSES; i++) {
        EXPECT(read(tell[i][0], &a[i], sizeof a[i]) == sizeof a[i]);
        EXPECT(waitpid(child[i], &status, 0) == child[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        same(a[i].first, a[0].first);
        same(a[i].later, a[0].first);
        close(tell[i][0]);
    }
    close(go[0]);
    close(go[1]);
    begin(FAIL, cache);
    heddle_statement *s = prepare(SUM, NULL);
    same(run(s), a[0].first);
    EXPECT(!reports(s, "\"tier\":\"first\"") && number(&firsts) == 0 && number(&optimised) == 0);
    heddle_statement_free(s);
    end();
    free(cache);
}

static const struct session_case cases[] = {
    CASE(a_later_execution_takes_optimised_code),
    CASE(tiers_can_be_asked_for),
    CASE(errors_and_their_paths_are_the_same),
    CASE(what_cannot_be_optimised_stays_in_the_first_tier),
    CASE(a_cancel_leaves_the_compiler_alone),
    CASE(without_a_cache_it_is_dropped),
    CASE(with_a_cache_it_is_finished),
    CASE(other_values_begin_with_what_is_there),
    CASE(fixed_kernels_have_a_first_tier),
    CASE(two_processes_compile_the_same_plan),
};

int main(int argc, char **argv)
{
    EXPECT(argc == 3);
    folder = argv[1];
    caches = argv[2];
    api_gpu_open = open_gated;
    for (size_t i = 0; i < HD_COUNT(cases); i++)
        session_run(&cases[i]);
    return 0;
}
