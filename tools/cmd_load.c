/* heddle load: text files into a database. */
#include "tools/cli.h"

#include <stdlib.h>

static int load(const struct cli_args *a, heddle_context *context, const char *schema, struct cli_error *err)
{
    heddle_writer *w;
    heddle_error *e = NULL;
    if (heddle_writer_open(context, cli_text(a, CLI_OUT), schema, &w, &e))
        return cli_adopt(err, e);
    int rc = heddle_writer_load_text(w, cli_text(a, CLI_FROM), cli_progress, NULL, &e);
    if (!rc)
        rc = heddle_writer_commit(w, cli_progress, NULL, &e);
    cli_progress_end();
    heddle_writer_free(w);
    return rc ? cli_adopt(err, e) : 0;
}

static int run(const struct cli_args *a, struct cli_error *err)
{
    char *schema;
    heddle_context *context;
    if (cli_require(a, CLI_SCHEMA, err) || cli_require(a, CLI_FROM, err) || cli_require(a, CLI_OUT, err) ||
        cli_read_file(cli_text(a, CLI_SCHEMA), &schema, err))
        return -1;
    int rc = cli_context_open(a, &context, err);
    if (!rc) {
        rc = load(a, context, schema, err);
        heddle_context_free(context);
    }
    free(schema);
    return rc;
}

static const enum cli_option_id options[] = {
    CLI_SCHEMA, CLI_FROM, CLI_OUT, CLI_THREADS, CLI_MEMORY, CLI_VERBOSE, CLI_HELP,
};

const struct cli_command cli_load = {
    .name = "load",
    .operands = "",
    .summary = "load text files into a new database",
    .about = "Loads the files TABLE.tbl, TABLE.tbl.N or TABLE.csv of every table that the schema\n"
             "names into a new database. Nothing is visible in --out until all is loaded, keys\n"
             "are checked and facts are computed. docs/cli.md describes the schema.\n"
             "\n"
             "  heddle load --schema shop.json --from csv/ --out shop",
    .min_operands = 0,
    .max_operands = 0,
    .options = options,
    .run = run,
};
