/* What the commands of the `heddle` binary share. The binary uses the public API
 * (include/heddle.h), the generator library and cJSON; nothing else of Heddle.
 *
 * Functions that can fail return 0, or -1 with *err filled. Only main() prints an error. */
#ifndef HEDDLE_TOOLS_CLI_H
#define HEDDLE_TOOLS_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "include/heddle.h"

/* ---- errors ---- */

struct cli_error {
    bool stop; /* see cli_is_stop */
    int status; /* of the process: 1, 2 (bad plan or arguments), 3 (lack of a resource), 4 (out of time) */
    const char *class;             /* name of the error class; static */
    char *path, *message, *detail; /* heap; path and detail may be NULL */
};
enum { CLI_FAILED = 1, CLI_BAD_INPUT = 2, CLI_NO_RESOURCE = 3, CLI_TIMED_OUT = 4 };

/* Both fill *err, which must be empty, and return -1. path may be NULL. */
int cli_fail(struct cli_error *err, int status, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Takes over and frees e. What was cancelled because cli_stopped() says so. */
int cli_adopt(struct cli_error *err, heddle_error *e);
/* errno as an error about a file. Says so if it is because of cli_stopped(). */
int cli_fail_errno(struct cli_error *err, const char *path, const char *doing);
/* One line on standard error, and the detail if there is one and it is wanted. */
void cli_error_print(const struct cli_error *err, bool verbose);
void cli_error_clear(struct cli_error *err);

/* ---- options ---- */

enum { CLI_MAX_THREADS = 1024 };

enum cli_option_id {
#define T_OPT(id, name, letter, kind, arg, lo, hi, help) CLI_##id,
#include "tools/cli_options.def"
    CLI_OPTION_COUNT
};

struct cli_value {
    const char *text; /* as given; NULL if the option was not */
    int64_t count;    /* COUNT, BYTES */
    double real;      /* REAL */
};
struct cli_args {
    struct cli_value option[CLI_OPTION_COUNT];
    const char **params; /* all -p, in their order */
    int n_params;
    char **operands;
    int n_operands;
};

struct cli_command {
    const char *name;
    const char *operands; /* shown in the usage line */
    const char *summary;  /* one line */
    const char *about;    /* paragraphs of the help text, examples included */
    int min_operands, max_operands;
    const enum cli_option_id *options; /* what it takes; CLI_HELP ends the list */
    int (*run)(const struct cli_args *a, struct cli_error *err);
};
extern const struct cli_command cli_gen, cli_load, cli_run, cli_explain, cli_convert, cli_bench, cli_params, cli_check,
    cli_info, cli_warm;

/* argv[0] is the command's name. On success *help tells whether only help was asked for. */
int cli_parse(const struct cli_command *c, int argc, char **argv, struct cli_args *a, bool *help,
              struct cli_error *err);
void cli_args_release(struct cli_args *a);
void cli_help(const struct cli_command *c, FILE *f);

static inline bool cli_given(const struct cli_args *a, enum cli_option_id id)
{
    return a->option[id].text != NULL;
}
static inline const char *cli_text(const struct cli_args *a, enum cli_option_id id)
{
    return a->option[id].text;
}
/* The count, or `otherwise` if the option was not given. */
static inline int64_t cli_count(const struct cli_args *a, enum cli_option_id id, int64_t otherwise)
{
    return cli_given(a, id) ? a->option[id].count : otherwise;
}
int cli_require(const struct cli_args *a, enum cli_option_id id, struct cli_error *err);
/* Fails if one of these was given, which the first operand has no use for. */
int cli_refuse(const struct cli_args *a, const enum cli_option_id *ids, size_t n, struct cli_error *err);
/* Fails if both were given. */
int cli_exclude(const struct cli_args *a, enum cli_option_id x, enum cli_option_id y, struct cli_error *err);
/* A decimal integer of lo..hi, all of the text. */
bool cli_parse_count(const char *text, int64_t lo, int64_t hi, int64_t *out);

/* ---- files ---- */

/* The whole file as a NUL-terminated heap string. Fails if it holds a NUL. "-": standard input. */
int cli_read_file(const char *path, char **text, struct cli_error *err);
/* The same of any bytes: a NUL stands behind them, too. */
int cli_read_bytes(const char *path, char **bytes, size_t *size, struct cli_error *err);
/* A file that is written whole or not at all: what is at path stays until all of the new one is
 * written. Devices, FIFOs and what standard output or standard error write to are written
 * directly (cli_output.c). */
struct cli_output {
    FILE *f; /* write here */
    const char *path;
    char *target;    /* the file that is replaced; NULL: f is written directly */
    char *temporary; /* what takes its place; NULL: it has no name yet */
    FILE *standard;           /* f, if it is one of the process's streams */
};
int cli_output_open(struct cli_output *o, const char *path, struct cli_error *err);
/* rc: what the writing came to; if it is not 0 nothing is replaced. Returns -1 if the output failed. */
int cli_output_close(struct cli_output *o, int rc, struct cli_error *err);
/* The text and a line feed. */
int cli_write_file(const char *path, const char *text, struct cli_error *err);
/* Flushes and reports a failed write. */
int cli_flush(FILE *f, const char *path, struct cli_error *err);

/* ---- interruption and progress (cli_interrupt.c) ---- */

/* Call before any thread is started: from now on SIGINT and SIGTERM ask for a clean end, and a
 * second one ends the process at once. */
int cli_interrupt_start(struct cli_error *err);
/* From now on signals do what they do in any process. */
void cli_interrupt_stop(void);
bool cli_interrupted(void);
/* Cancels the statement when interrupted, or after timeout seconds (0: never). One at a time; a new
 * watch of the same one begins anew. */
void cli_watch(heddle_statement *s, double timeout);
/* Ends the watch; true if the time had run out. */
bool cli_unwatch(void);
/* What the main thread does must end: it was interrupted, or the watched statement is out of time.
 * From then on whatever it waits for fails with EINTR. */
bool cli_stopped(void);
/* The error about that, and whether it is one. */
int cli_fail_stopped(struct cli_error *err);
bool cli_is_stop(const struct cli_error *err);
/* From now on until it is called with false an interrupt ends the process at once: there is nothing to
 * undo. For work that cannot be cancelled. */
void cli_nothing_to_undo(bool so);
/* That was so at some time: work that cannot be interrupted may still go on, and must not be waited
 * for. */
bool cli_was_stopped(void);
/* Likewise: such work goes on although nobody stopped the command. */
void cli_leave(void);
/* A heddle_progress_fn: draws a bar if standard error is a terminal; cancels when interrupted. */
int cli_progress(void *user, double fraction, const char *what);
/* Wipes the bar. */
void cli_progress_end(void);

/* ---- session: context, database, statement (cli_session.c) ---- */

struct cli_session {
    heddle_context *context;
    heddle_database *database;
};
int cli_context_open(const struct cli_args *a, heddle_context **out, struct cli_error *err);
/* --db may be missing: then there are no tables. */
int cli_session_open(const struct cli_args *a, struct cli_session *s, struct cli_error *err);
void cli_session_close(struct cli_session *s);
/* Options of a statement as the command line gives them. */
void cli_statement_options(const struct cli_args *a, heddle_statement_options *o);
/* heddle_prepare_plan under cli_watch, with the time that the command line gives it; says so where a table is
 * missing because no database was named. */
/* Adopts an error; one that finds no table says how to name a database. */
int cli_adopt_of_tables(const struct cli_args *a, struct cli_error *err, heddle_error *e);
int cli_prepare(const struct cli_args *a, heddle_database *database, const char *plan, size_t size,
                const heddle_statement_options *o, heddle_statement **s, struct cli_error *err);
/* Ends the watch too. */
void cli_statement_free(heddle_statement *s);
/* Binds all -p, in their order. */
int cli_bind_params(const struct cli_args *a, heddle_statement *s, struct cli_error *err);
/* The statement's report as one line of JSON on the heap. */
int cli_report(heddle_statement *s, char **json, struct cli_error *err);

/* ---- small things ---- */

/* A JSON object or array as indented "key: value" lines; tables for lists of flat objects. */
int cli_print_json(FILE *f, const char *json, struct cli_error *err);
char *cli_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* malloc, realloc and strdup that end the process with status 3 when there is no memory. */
_Noreturn void cli_out_of_memory(void);
void *cli_alloc(size_t n);
void *cli_realloc(void *p, size_t n);
char *cli_strdup(const char *s);

#endif
