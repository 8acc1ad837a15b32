/* heddle run: one plan to rows, or many plans in one process (run_batch.c). */
#include <stdlib.h>
#include <string.h>

#include "tools/arrow_print.h"
#include "tools/profile_page.h"
#include "tools/run_batch.h"

/* Rows go to standard output after the last of --repeat runs; earlier ones are only read. */
static int run_once(const struct cli_args *a, heddle_statement *s, bool print, struct cli_error *err)
{
    static const struct arrow_visitor only_read = {NULL, NULL, NULL};
    struct ArrowArrayStream stream = {0};
    heddle_error *e = NULL;
    int rc = heddle_execute(s, &stream, &e) ? cli_adopt(err, e) : 0;
    if (!rc && print)
        rc = arrow_print(&stream, cli_given(a, CLI_FORMAT) ? cli_text(a, CLI_FORMAT) : "table", stdout, NULL, err);
    else if (!rc)
        rc = arrow_visit(&stream, &only_read, NULL, NULL, err);
    return rc ? rc : cli_flush(stdout, "standard output", err);
}

static int print_time(heddle_statement *s, struct cli_error *err)
{
    char *json;
    if (cli_report(s, &json, err))
        return -1;
    fprintf(stderr, "%s\n", json);
    free(json);
    return 0;
}

static int write_page(heddle_statement *s, const char *path, const char *title, struct cli_error *err)
{
    char *html;
    if (profile_page_make(s, title, &html, err))
        return -1;
    int rc = cli_write_file(path, html, err);
    free(html);
    return rc;
}

static int write_report(heddle_statement *s, const char *path, struct cli_error *err)
{
    char *json;
    heddle_error *e = NULL;
    if (heddle_statement_report(s, &json, &e))
        return cli_adopt(err, e);
    int rc = cli_write_file(path, json, err);
    heddle_free(json);
    return rc;
}

/* The end of the file's name tells what is wanted: a page to look at, or JSON. */
static int write_profile(const struct cli_args *a, heddle_statement *s, struct cli_error *err)
{
    const char *path = cli_text(a, CLI_PROFILE), *end = strrchr(path, '.');
    if (end && strcmp(end, ".html") == 0)
        return write_page(s, path, a->operands[0], err);
    return write_report(s, path, err);
}

static int dump(const struct cli_args *a, heddle_statement *s, struct cli_error *err)
{
    char *text;
    heddle_error *e = NULL;
    if (heddle_explain(s, cli_text(a, CLI_DUMP), &text, &e))
        return cli_adopt(err, e);
    fputs(text, stderr);
    heddle_free(text);
    return 0;
}

static int run_statement(const struct cli_args *a, heddle_statement *s, struct cli_error *err)
{
    /* With a profile the dump shows what was counted, so it follows the runs. */
    bool dump_after = cli_given(a, CLI_PROFILE);
    int64_t n = cli_count(a, CLI_REPEAT, 1);
    if (cli_bind_params(a, s, err))
        return -1;
    if (cli_given(a, CLI_DUMP) && !dump_after && dump(a, s, err))
        return -1;
    for (int64_t i = 1; i <= n; i++) {
        if (i > 1)
            cli_watch(s, a->option[CLI_TIMEOUT].real);
        if (run_once(a, s, i == n, err))
            return -1;
        if (cli_given(a, CLI_TIME) && print_time(s, err))
            return -1;
    }
    if (cli_given(a, CLI_DUMP) && dump_after && dump(a, s, err))
        return -1;
    if (cli_given(a, CLI_PROFILE))
        return write_profile(a, s, err);
    return 0;
}

static int run_plan(const struct cli_args *a, const struct cli_session *session, const char *plan, size_t size,
                    struct cli_error *err)
{
    heddle_statement_options o;
    heddle_statement *s;
    cli_statement_options(a, &o);
    if (cli_prepare(a, session->database, plan, size, &o, &s, err))
        return -1;
    int rc = run_statement(a, s, err);
    cli_statement_free(s);
    return rc;
}

static int run_single(const struct cli_args *a, struct cli_error *err)
{
    struct cli_session session;
    char *plan;
    size_t size;
    if (a->n_operands == 0)
        return cli_fail(err, CLI_BAD_INPUT, NULL, "expected PLAN or --batch FILE (see heddle run --help)");
    if (cli_read_bytes(a->operands[0], &plan, &size, err))
        return -1;
    int rc = cli_session_open(a, &session, err);
    if (!rc) {
        rc = run_plan(a, &session, plan, size, err);
        cli_session_close(&session);
    }
    free(plan);
    return rc;
}

static int check_batch(const struct cli_args *a, struct cli_error *err)
{
    static const enum cli_option_id single[] = {CLI_PARAM, CLI_REPEAT, CLI_TIME, CLI_PROFILE, CLI_DUMP};
    if (a->n_operands)
        return cli_fail(err, CLI_BAD_INPUT, NULL, "--batch and a plan \"%s\" exclude each other", a->operands[0]);
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
        if (cli_exclude(a, CLI_BATCH, single[i], err))
            return -1;
    return 0;
}

static int run(const struct cli_args *a, struct cli_error *err)
{
    struct cli_session session;
    if (!cli_given(a, CLI_BATCH))
        return run_single(a, err);
    if (check_batch(a, err) || cli_session_open(a, &session, err))
        return -1;
    int rc = run_batch(a, &session, err);
    cli_session_close(&session);
    return rc;
}

static const enum cli_option_id options[] = {
    CLI_DB,      CLI_PARAM,      CLI_FORMAT,    CLI_BACKEND,       CLI_DETERMINISTIC, CLI_THREADS, CLI_MEMORY,
    CLI_TEMP,    CLI_TEMP_LIMIT, CLI_REPEAT,    CLI_TIME,          CLI_PROFILE,       CLI_DUMP,    CLI_BALANCE,
    CLI_FWS,     CLI_GPU_WARPS,  CLI_GPU_BLOCK, CLI_DEVICE,        CLI_NO_CACHE,      CLI_TIER,    CLI_TRUST,
    CLI_NO_MMAP, CLI_BATCH,      CLI_TIMEOUT,   CLI_DEVICE_MEMORY, CLI_PIN,           CLI_VERBOSE, CLI_HELP,
};

const struct cli_command cli_run = {
    .name = "run",
    .operands = "PLAN",
    .summary = "run a plan and print its rows",
    .about = "Runs the plan in PLAN (- is standard input) and prints its rows. It is one of Heddle's in\n"
             "JSON, or of Substrait's in JSON or binary: the file's content tells. Without --db there\n"
             "are no tables, only the plan's own values.\n"
             "\n"
             "  heddle run q6.json --db tpch1\n"
             "  heddle run q6.json --db tpch1 -p date=1995-01-01 --format csv\n"
             "  heddle run q6.json --db tpch1 --repeat 5 --time >/dev/null\n"
             "  heddle run q6.json --db tpch1 --profile q6.html\n"
             "\n"
             "CSV has a header line; NULL is an empty field, the empty string is \"\". JSON has\n"
             "\"columns\" and \"rows\"; decimals, dates, timestamps, and integers beyond 2^53 are\n"
             "strings. With --repeat only the last run prints. --dump prints to standard error.\n"
             "\n"
             "With --batch every line of FILE is a JSON object:\n"
             "  {\"plan\": \"q6.json\" or {...}, \"params\": {...}, \"out\": \"q6.csv\", "
             "\"format\": \"csv\"}\n"
             "Every line is answered by a line of JSON on standard output: {\"line\":1,\"rows\":5} "
             "or\n"
             "{\"line\":1,\"error\":{\"status\",\"class\",\"path\",\"message\"}}; errors do not "
             "end the batch,\n"
             "but the exit status is 1 if there was one. Rows go to \"out\", if given.",
    .min_operands = 0,
    .max_operands = 1,
    .options = options,
    .run = run,
};
