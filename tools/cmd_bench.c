/* heddle bench: the queries of a suite, timed and compared with stored answers. */
#include <stdlib.h>
#include <string.h>

#include "tools/bench_answer.h"
#include "tools/bench_report.h"
#include "tools/text.h"

struct bench {
    const struct cli_args *args;
    struct suite suite;
    struct cli_session session;
    bool *picked;
    struct bench_results results;
};

static int add_report(heddle_statement *s, struct bench_result *r, struct cli_error *err)
{
    char *json;
    if (cli_report(s, &json, err))
        return -1;
    cJSON *report = cJSON_Parse(json);
    free(json);
    if (!report)
        return cli_fail(err, CLI_FAILED, NULL, "the statement's report is not JSON");
    cJSON_AddItemToArray(r->runs, report);
    return 0;
}

/* ---- rows ---- */

/* What visits the rows of a run. */
struct reading {
    const struct suite_query *query;
    struct bench_answer *answer; /* NULL: rows are only read */
    const char *missing; /* a column of the query's order that the result does not have */
};

static bool has_column(const struct arrow_columns *c, const char *name)
{
    int i = 0;
    while (i < c->n && strcmp(c->at[i].name, name) != 0)
        i++;
    return i < c->n;
}

static void begin(void *user, const struct arrow_columns *c)
{
    struct reading *r = user;
    const cJSON *v;
    cJSON_ArrayForEach(v, r->query->order)
    {
        const char *name = cJSON_GetStringValue(v);
        name += *name == '-';
        if (!has_column(c, name))
            r->missing = name;
    }
    if (r->answer)
        bench_answer_visitor.begin(r->answer, c);
}

static void row(void *user, const struct arrow_columns *c, const struct ArrowArray *batch, int64_t at)
{
    struct reading *r = user;
    bench_answer_visitor.row(r->answer, c, batch, at);
}

/* Reads the rows, those of the first run into the answer to compare. */
static int read_rows(const struct bench *b, struct ArrowArrayStream *stream, struct bench_answer *answer,
                     struct bench_result *r, struct cli_error *err)
{
    static const struct arrow_visitor only_read = {begin, NULL, NULL}, compared = {begin, row, NULL};
    struct reading reading = {.query = r->query, .answer = answer};
    if (arrow_visit(stream, answer ? &compared : &only_read, &reading, &r->rows, err))
        return -1;
    if (!reading.missing)
        return 0;
    return cli_fail(err, CLI_BAD_INPUT, b->suite.path, "order: the result of %s has no column \"%s\"", r->query->name,
                    reading.missing);
}

/* ---- runs ---- */

static int execute(const struct bench *b, heddle_statement *s, struct bench_answer *answer, struct bench_result *r,
                   struct cli_error *err)
{
    struct ArrowArrayStream stream = {0};
    heddle_error *e = NULL;
    if (heddle_execute(s, &stream, &e))
        return cli_adopt(err, e);
    return read_rows(b, &stream, answer, r, err) || add_report(s, r, err) ? -1 : 0;
}

/* Runs after the first are of optimised code, which they wait for if they have to. */
static int run_once(const struct bench *b, const char *plan, const char *params, bool again,
                    struct bench_answer *answer, struct bench_result *r, struct cli_error *err)
{
    heddle_statement_options o;
    heddle_statement *s;
    heddle_error *e = NULL;
    cli_statement_options(b->args, &o);
    if (again && !o.tier)
        o.tier = "optimised";
    if (cli_prepare(b->args, b->session.database, plan, strlen(plan), &o, &s, err))
        return -1;
    int rc = params && heddle_bind_json(s, params, &e) ? cli_adopt(err, e) : execute(b, s, answer, r, err);
    cli_statement_free(s);
    return rc;
}

static int run_repeated(const struct bench *b, const char *plan, const char *params, struct bench_answer *answer,
                        struct bench_result *r, struct cli_error *err)
{
    int64_t n = cli_count(b->args, CLI_REPEAT, 3);
    for (int64_t i = 0; i < n; i++)
        if (run_once(b, plan, params, i > 0, i == 0 ? answer : NULL, r, err))
            return -1;
    if (answer) {
        r->checked = true;
        r->difference = bench_answer_compare(answer);
    }
    return 0;
}

static int open_answer(const struct bench *b, const struct suite_query *q, struct bench_answer **answer,
                       struct cli_error *err)
{
    char *path = suite_answer(&b->suite, q);
    *answer = NULL;
    int rc = path ? bench_answer_open(path, q, answer, err) : 0;
    free(path);
    return rc;
}

/* What goes wrong is part of the result. */
static void run_query(const struct bench *b, struct bench_result *r)
{
    struct cli_error *err = &r->error;
    struct bench_answer *answer = NULL;
    char *plan = NULL, *params = NULL;
    r->runs = cJSON_CreateArray();
    if (suite_plan(&b->suite, r->query, &plan, err) || suite_params(&b->suite, r->query, &params, err) ||
        open_answer(b, r->query, &answer, err) || run_repeated(b, plan, params, answer, r, err))
        r->status = err->status == CLI_TIMED_OUT ? BENCH_TIMEOUT : BENCH_ERROR;
    bench_answer_free(answer);
    free(params);
    free(plan);
}

static int run_queries(struct bench *b, struct cli_error *err)
{
    int n = 0, wanted = 0;
    for (int i = 0; i < b->suite.n; i++)
        wanted += b->picked[i];
    for (int i = 0; i < b->suite.n; i++) {
        if (!b->picked[i])
            continue;
        cli_progress(NULL, (double)n / wanted, b->suite.queries[i].name);
        struct bench_result *r = &b->results.at[n++];
        *r = (struct bench_result){.query = &b->suite.queries[i]};
        b->results.n = n;
        run_query(b, r);
        if (cli_interrupted())
            return cli_fail_stopped(err);
    }
    cli_progress_end();
    return 0;
}

static int write_json(struct bench *b, struct cli_error *err)
{
    char *machine;
    heddle_error *e = NULL;
    if (heddle_context_info(b->session.context, &machine, &e))
        return cli_adopt(err, e);
    char *json = bench_json(&b->results, &b->suite, machine);
    int rc = cli_write_file(cli_text(b->args, CLI_OUT), json, err);
    free(json);
    heddle_free(machine);
    return rc;
}

static void print_headline(const struct suite *s)
{
    if (!s->unit_rows)
        return;
    char *line = cli_format("%s, scale factor %g%s%s", s->title ? s->title : s->name, suite_scale(s),
                            s->class ? ", parameters " : "", s->class ? s->class : "");
    text_put_printable(stdout, line, "");
    putchar('\n');
    free(line);
}

static int report(struct bench *b, struct cli_error *err)
{
    const struct suite *s = &b->suite;
    print_headline(s);
    bench_print(&b->results, s, stdout);
    if (cli_given(b->args, CLI_OUT) && write_json(b, err))
        return -1;
    int failed = bench_failures(&b->results);
    if (failed)
        return cli_fail(err, CLI_FAILED, NULL, "%d of %d queries failed or gave another answer", failed, b->results.n);
    return 0;
}

static int bench_database(struct bench *b, struct cli_error *err)
{
    if (cli_session_open(b->args, &b->session, err))
        return -1;
    int rc = suite_measure(&b->suite, b->session.database, err) || run_queries(b, err) || report(b, err) ? -1 : 0;
    cli_session_close(&b->session);
    return rc;
}

static int run(const struct cli_args *a, struct cli_error *err)
{
    struct bench b = {.args = a};
    if (cli_require(a, CLI_DB, err) || suite_open(a->operands[0], cli_text(a, CLI_CLASS), &b.suite, err))
        return -1;
    size_t n = (size_t)b.suite.n;
    b.picked = cli_alloc(sizeof *b.picked * n);
    b.results.at = cli_alloc(sizeof *b.results.at * n);
    int rc = suite_pick(&b.suite, cli_text(a, CLI_QUERIES), b.picked, err) || bench_database(&b, err) ? -1 : 0;
    for (int i = 0; i < b.results.n; i++)
        bench_result_release(&b.results.at[i]);
    free(b.results.at);
    free(b.picked);
    suite_release(&b.suite);
    return rc;
}

static const enum cli_option_id options[] = {
    CLI_DB,       CLI_CLASS, CLI_QUERIES,    CLI_REPEAT,  CLI_OUT,           CLI_TIMEOUT,   CLI_BACKEND,   CLI_THREADS,
    CLI_MEMORY,   CLI_TEMP,  CLI_TEMP_LIMIT, CLI_BALANCE, CLI_FWS,           CLI_GPU_WARPS, CLI_GPU_BLOCK, CLI_DEVICE,
    CLI_NO_CACHE, CLI_TIER,  CLI_TRUST,      CLI_NO_MMAP, CLI_DEVICE_MEMORY, CLI_PIN,       CLI_VERBOSE,   CLI_HELP,
};

const struct cli_command cli_bench = {
    .name = "bench",
    .operands = "tpch|jcch|ssb|SUITE",
    .summary = "time the queries of a suite",
    .about = "Runs the queries of a suite, each --repeat times (default 3), prints times, and\n"
             "compares rows with the suite's stored answers where they exist (TPC-H: scale\n"
             "factor 1, class validation). SUITE is a directory with a suite.json. --out writes\n"
             "the reports of all runs as JSON. A query that fails does not end the run, but the\n"
             "exit status is 1.\n"
             "\n"
             "  heddle bench tpch --db tpch1\n"
             "  heddle bench tpch --db tpch1 --queries 1,5-9 --repeat 10 --out bench.json\n"
             "  heddle bench tpch --db tpch10 --class normal --query-timeout 60",
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .run = run,
};
