/* The `heddle` binary: picks the command, prints its error, sets the exit status. */
#include "tools/cli.h"

#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/suggest.h"

static const struct cli_command *const commands[] = {
    &cli_gen,   &cli_load,   &cli_run,   &cli_explain, &cli_convert,
    &cli_bench, &cli_params, &cli_check, &cli_info,    &cli_warm,
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(FILE *f)
{
    fputs("Heddle, a JIT query compiler: JSON plans in, rows out.\n\n"
          "usage: heddle COMMAND [ARGUMENT]... [OPTION]...\n"
          "       heddle --help | --version\n\n"
          "commands:\n",
          f);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(f, "  %-9s%s\n", commands[i]->name, commands[i]->summary);
    fputs("\n`heddle COMMAND --help` describes a command.\n\n"
          "exit status: 0; 2 for a bad plan or bad arguments; 3 for lack of memory or of a\n"
          "device; 4 for a query that ran out of time; 1 for any other error\n\n"
          "environment: HEDDLE_CACHE is the folder of compiled plans (default "
          "~/.cache/heddle)\n",
          f);
}

static const struct cli_command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int run_watched(const struct cli_command *c, const struct cli_args *a, struct cli_error *err)
{
    if (cli_interrupt_start(err))
        return -1;
    int rc = c->run(a, err) ? -1 : 0;
    if (!cli_was_stopped())
        cli_interrupt_stop();
    return rc;
}

static int run_command(const struct cli_command *c, int argc, char **argv, bool *verbose, struct cli_error *err)
{
    struct cli_args args;
    bool help;
    int rc = cli_parse(c, argc, argv, &args, &help, err);
    *verbose = cli_given(&args, CLI_VERBOSE);
    if (rc == 0 && help)
        cli_help(c, stdout);
    else if (rc == 0)
        rc = run_watched(c, &args, err);
    cli_args_release(&args);
    return rc;
}

static int fail_name(const char *name, struct cli_error *err)
{
    struct suggestion suggestion = suggest_start(name);
    for (int i = 0; i < COMMANDS; i++)
        suggest_offer(&suggestion, commands[i]->name);
    char *hint = suggest_hint(&suggestion, "");
    cli_fail(err, CLI_BAD_INPUT, NULL, "unknown %s \"%s\"%s (see heddle --help)", *name == '-' ? "option" : "command",
             name, hint);
    free(hint);
    return -1;
}

static int dispatch(int argc, char **argv, bool *verbose, struct cli_error *err)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct cli_command *c = find_command(name);
    if (c)
        return run_command(c, argc - 1, argv + 1, verbose, err);
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
        print_help(stdout);
    else if (!strcmp(name, "--version") || !strcmp(name, "-V"))
        printf("heddle %s\n", heddle_version());
    else if (!*name)
        return cli_fail(err, CLI_BAD_INPUT, NULL, "expected a command (see heddle --help)");
    else
        return fail_name(name, err);
    return 0;
}

/* The exit status. */
static int finish(int rc, struct cli_error *err, bool verbose)
{
    if (rc == 0)
        rc = cli_flush(stdout, "standard output", err);
    cli_progress_end();
    if (rc == 0)
        return 0;
    if (cli_is_stop(err))
        __fpurge(stdout); /* whoever reads it may never read on */
    fflush(stdout);
    if (err->message)
        cli_error_print(err, verbose);
    int status = err->status;
    cli_error_clear(err);
    return status;
}

int main(int argc, char **argv)
{
    struct cli_error err = {0};
    bool verbose = false;
    int rc = dispatch(argc, argv, &verbose, &err);
    int status = finish(rc, &err, verbose);
    if (cli_was_stopped())
        _exit(status); /* threads that were left go on: no destructor may meet them */
    return status;
}
