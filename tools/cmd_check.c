/* heddle check: verifies a database's checksums and facts. */
#include "tools/cli.h"

static int print_report(const struct cli_args *a, const char *report, struct cli_error *err)
{
    if (!cli_given(a, CLI_JSON))
        return cli_print_json(stdout, report, err);
    puts(report);
    return 0;
}

static int run(const struct cli_args *a, struct cli_error *err)
{
    heddle_context *context;
    heddle_error *e = NULL;
    char *report = NULL;
    if (cli_context_open(a, &context, err))
        return -1;
    int rc = heddle_database_check(context, a->operands[0], cli_progress, NULL, &report, &e);
    cli_progress_end();
    if (rc)
        cli_adopt(err, e);
    if (report && print_report(a, report, err))
        rc = -1;
    heddle_free(report);
    heddle_context_free(context);
    return rc;
}

static const enum cli_option_id options[] = {
    CLI_JSON, CLI_NO_MMAP, CLI_THREADS, CLI_MEMORY, CLI_VERBOSE, CLI_HELP,
};

const struct cli_command cli_check = {
    .name = "check",
    .operands = "DB",
    .summary = "verify a database's checksums and facts",
    .about = "Reads every file of the database, compares its checksum, and computes every stored\n"
             "fact anew. The exit status is 0 only if all of them hold.",
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .run = run,
};
