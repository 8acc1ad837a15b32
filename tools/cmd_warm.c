/* heddle warm: compiles ahead what queries on a GPU have in common. */
#include "tools/cli.h"

static int run(const struct cli_args *a, struct cli_error *err)
{
    heddle_context *context;
    heddle_error *e = NULL;
    char *json;
    if (cli_context_open(a, &context, err))
        return -1;
    cli_nothing_to_undo(true);
    int rc = heddle_context_warm(context, cli_text(a, CLI_ARCH), &json, &e);
    heddle_context_free(context);
    cli_nothing_to_undo(false);
    if (rc)
        return cli_adopt(err, e);
    if (cli_given(a, CLI_JSON))
        puts(json);
    else
        rc = cli_print_json(stdout, json, err);
    heddle_free(json);
    return rc;
}

static const enum cli_option_id options[] = {
    CLI_ARCH, CLI_DEVICE, CLI_JSON, CLI_THREADS, CLI_VERBOSE, CLI_HELP,
};

const struct cli_command cli_warm = {
    .name = "warm",
    .operands = "",
    .summary = "compile ahead what queries on a GPU have in common",
    .about = "Compiles the kernels that sort, group and merge rows on a GPU, and the libraries that\n"
             "kernels of queries are linked with, into the cache of compiled code. The first queries\n"
             "then compile only what is their own. What the cache holds is not compiled again.\n"
             "With --arch no GPU is needed.\n\n"
             "example: heddle warm --arch sm_90",
    .min_operands = 0,
    .max_operands = 0,
    .options = options,
    .run = run,
};
