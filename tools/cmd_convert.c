/* heddle convert: a plan in another form. */
#include <stdlib.h>

#include "tools/cli.h"

static int convert(const struct cli_args *a, const char *plan, size_t size, struct cli_error *err)
{
    char *text;
    size_t n;
    heddle_error *e = NULL;
    if (heddle_convert(plan, size, cli_given(a, CLI_TO) ? cli_text(a, CLI_TO) : "json", &text, &n, &e))
        return cli_adopt(err, e);
    fwrite(text, 1, n, stdout);
    heddle_free(text);
    return 0;
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

static const enum cli_option_id options[] = {CLI_TO, CLI_VERBOSE, CLI_HELP};

const struct cli_command cli_convert = {
    .name = "convert",
    .operands = "PLAN",
    .summary = "print a plan in another form",
    .about = "Prints the plan in PLAN (- is standard input), one of Heddle's in JSON or of Substrait's in\n"
             "JSON or binary, as Heddle's JSON: what `heddle run` makes of it before it looks at tables.\n"
             "With --to a plan of Substrait is printed in either form of its own.\n"
             "\n"
             "  heddle convert q3.pb > q3.json\n"
             "  heddle convert q3.pb --to substrait-json",
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .run = run,
};
