/* heddle convert: a plan in another form. */
#include <stdlib.h>

#include "tools/cli.h"

static int convert(const struct cli_args *a, const char *plan, size_t size, struct cli_error *err)
{
    struct cli_session session;
    char *text = NULL;
    size_t n = 0;
    heddle_error *e = NULL;
    if (cli_session_open(a, &session, err))
        return -1;
    const char *to = cli_given(a, CLI_TO) ? cli_text(a, CLI_TO) : "json";
    int rc = heddle_database_convert(session.database, plan, size, to, &text, &n, &e);
    if (rc)
        rc = cli_adopt_of_tables(a, err, e);
    else
        fwrite(text, 1, n, stdout);
    heddle_free(text);
    cli_session_close(&session);
    return rc;
}

static int run(const struct cli_args *a, struct cli_error *err)
{
    char *plan;
    size_t size;
    if (cli_read_bytes(a->operands[0], &plan, &size, err))
        return -1;
    int rc = convert(a, plan, size, err);
    free(plan);
    return rc;
}

static const enum cli_option_id options[] = {CLI_DB, CLI_TO, CLI_NO_MMAP, CLI_TRUST, CLI_VERBOSE, CLI_HELP};

const struct cli_command cli_convert = {
    .name = "convert",
    .operands = "PLAN",
    .summary = "print a plan in another form",
    .about = "Prints the plan in PLAN (- is standard input), one of Heddle's in JSON or of Substrait's in\n"
             "JSON or binary, as Heddle's JSON: what `heddle run` makes of it before it looks at tables.\n"
             "With --to it is printed as Substrait: one of Substrait in either form of its own, one of Heddle's\n"
             "with the columns and types of the tables in --db. What Substrait has no form for is an error.\n"
             "\n"
             "  heddle convert q3.pb > q3.json\n"
             "  heddle convert q3.json --db tpch1 --to substrait > q3.pb",
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .run = run,
};
