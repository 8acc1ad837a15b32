/* heddle info: what the machine offers. */
#include "tools/cli.h"

static int run(const struct cli_args *a, struct cli_error *err)
{
    heddle_context *context;
    heddle_error *e = NULL;
    char *json;
    if (cli_context_open(a, &context, err))
        return -1;
    int rc = heddle_context_info(context, &json, &e);
    heddle_context_free(context);
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
    CLI_JSON, CLI_THREADS, CLI_MEMORY, CLI_VERBOSE, CLI_HELP,
};

const struct cli_command cli_info = {
    .name = "info",
    .operands = "",
    .summary = "show devices, compilers and the cache",
    .about = "Prints the version, the CPU and GPUs, whether LLVM and NVRTC are there, and the\n"
             "cache of compiled plans.",
    .min_operands = 0,
    .max_operands = 0,
    .options = options,
    .run = run,
};
