/* heddle explain: what Heddle makes of a plan, without running it. */
#include "tools/cli.h"

#include <stdlib.h>
#include <string.h>

static int explain_statement(const struct cli_args *a, heddle_statement *s, struct cli_error *err)
{
    char *text;
    heddle_error *e = NULL;
    const char *devices = cli_text(a, CLI_DEVICE);
    bool several = devices && (strchr(devices, ',') || strcmp(devices, "all") == 0);
    const char *usual = several ? "plan,pipelines,devices" : "plan,pipelines";
    const char *stages = cli_given(a, CLI_DUMP) ? cli_text(a, CLI_DUMP) : usual;
    if (cli_exclude(a, CLI_DUMP, CLI_FRAGMENTS, err) || cli_bind_params(a, s, err))
        return -1;
    int rc = cli_given(a, CLI_FRAGMENTS) ? heddle_plan_fragments(s, (int)cli_count(a, CLI_FRAGMENTS, 1), &text, &e)
                                         : heddle_explain(s, stages, &text, &e);
    if (rc)
        return cli_adopt(err, e);
    fputs(text, stdout);
    heddle_free(text);
    return 0;
}

static int explain_plan(const struct cli_args *a, const char *plan, size_t size, struct cli_error *err)
{
    struct cli_session session;
    heddle_statement_options o;
    heddle_statement *s;
    if (cli_session_open(a, &session, err))
        return -1;
    cli_statement_options(a, &o);
    int rc = cli_prepare(a, session.database, plan, size, &o, &s, err);
    if (!rc) {
        rc = explain_statement(a, s, err);
        cli_statement_free(s);
    }
    cli_session_close(&session);
    return rc;
}

static int run(const struct cli_args *a, struct cli_error *err)
{
    char *plan;
    size_t size;
    if (cli_read_bytes(a->operands[0], &plan, &size, err))
        return -1;
    int rc = explain_plan(a, plan, size, err);
    free(plan);
    return rc;
}

static const enum cli_option_id options[] = {
    CLI_DB,    CLI_DUMP,      CLI_FRAGMENTS, CLI_TIER,          CLI_PARAM,   CLI_BACKEND, CLI_BALANCE,
    CLI_FWS,   CLI_GPU_WARPS, CLI_GPU_BLOCK, CLI_THREADS,       CLI_MEMORY,  CLI_TEMP,    CLI_TEMP_LIMIT,
    CLI_TRUST, CLI_NO_MMAP,   CLI_DEVICE,    CLI_DEVICE_MEMORY, CLI_VERBOSE, CLI_HELP,
};

const struct cli_command cli_explain = {
    .name = "explain",
    .operands = "PLAN",
    .summary = "show what is made of a plan",
    .about = "Prints the stages that the plan in PLAN (- is standard input; Heddle's JSON, or Substrait in\n"
             "JSON or binary) goes through, without running it. The default is --dump plan,pipelines,\n"
             "of several GPUs (--device) also devices: what each of them runs.\n"
             "\n"
             "  heddle explain q3.json --db tpch1\n"
             "  heddle explain q3.json --db tpch1 --dump llvm-opt\n"
             "\n"
             "With --fragments it is cut for several machines that have the database each (docs/scale.md).\n"
             "\n"
             "  heddle explain q3.json --db tpch1 --fragments 4",
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .run = run,
};
