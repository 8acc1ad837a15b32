/* heddle run --batch: see the help text in cmd_run.c and docs/cli.md. */
#include "tools/run_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/arrow_print.h"
#include "tools/json_slice.h"
#include "tools/text.h"

enum member { PLAN, PARAMS, OUT, FORMAT, THREADS, ID, MEMBERS };
static const char *const members[MEMBERS] = {"plan", "params", "out", "format", "threads", "id"};

struct job {
    const struct cli_args *args;
    const struct cli_session *session;
    struct json_slice line[MEMBERS]; /* values as they are written */
    char *out, *format;              /* heap; out: NULL: rows are only counted */
    heddle_statement *statement;
    int64_t rows;
};

/* The member's text on the heap; NULL if it is missing. */
static int get_text(const struct job *j, enum member m, char **out, struct cli_error *err)
{
    *out = j->line[m].s ? json_slice_string(j->line[m]) : NULL;
    if (j->line[m].s && !*out)
        return cli_fail(err, CLI_BAD_INPUT, members[m], "expected a string");
    if (*out && !**out)
        return cli_fail(err, CLI_BAD_INPUT, members[m], "expected a text, found an empty one");
    return 0;
}

/* 0 if the member is missing. */
static int get_threads(const struct job *j, int *out, struct cli_error *err)
{
    const struct json_slice *v = &j->line[THREADS];
    int64_t n = 0;
    char *text = v->s ? json_slice_copy(*v) : NULL;
    bool good = !text || cli_parse_count(text, 1, CLI_MAX_THREADS, &n);
    *out = (int)n;
    if (!good)
        cli_fail(err, CLI_BAD_INPUT, members[THREADS], "expected an integer from 1 to %d, found %.60s", CLI_MAX_THREADS,
                 text);
    free(text);
    return good ? 0 : -1;
}

static int get_output(struct job *j, struct cli_error *err)
{
    if (get_text(j, OUT, &j->out, err) || get_text(j, FORMAT, &j->format, err))
        return -1;
    if (!j->format)
        j->format = cli_strdup(cli_given(j->args, CLI_FORMAT) ? cli_text(j->args, CLI_FORMAT) : "csv");
    if (strcmp(j->format, "csv") && strcmp(j->format, "json") && strcmp(j->format, "table"))
        return cli_fail(err, CLI_BAD_INPUT, members[FORMAT], "expected table, csv or json, found \"%.60s\"", j->format);
    return 0;
}

/* The plan: the bytes of the file that the line names, or the text of the object it holds. */
static int plan_bytes(const struct job *j, char **bytes, size_t *size, struct cli_error *err)
{
    const struct json_slice *plan = &j->line[PLAN];
    if (plan->s && *plan->s == '{') {
        *bytes = json_slice_copy(*plan);
        *size = strlen(*bytes);
        return 0;
    }
    char *path = plan->s ? json_slice_string(*plan) : NULL;
    int rc = path ? cli_read_bytes(path, bytes, size, err)
                  : cli_fail(err, CLI_BAD_INPUT, members[PLAN], "expected a file name or an object");
    free(path);
    return rc;
}

static int prepare(struct job *j, struct cli_error *err)
{
    char *plan;
    size_t size;
    heddle_statement_options o;
    cli_statement_options(j->args, &o);
    if (get_threads(j, &o.threads, err) || plan_bytes(j, &plan, &size, err))
        return -1;
    int rc = cli_prepare(j->args, j->session->database, plan, size, &o, &j->statement, err);
    free(plan);
    return rc;
}

static int bind(struct job *j, struct cli_error *err)
{
    heddle_error *e = NULL;
    if (!j->line[PARAMS].s)
        return 0;
    char *json = json_slice_copy(j->line[PARAMS]);
    int rc = heddle_bind_json(j->statement, json, &e) ? cli_adopt(err, e) : 0;
    free(json);
    return rc;
}

static int print_rows(struct job *j, struct ArrowArrayStream *stream, struct cli_error *err)
{
    struct cli_output o;
    if (cli_output_open(&o, j->out, err)) {
        stream->release(stream);
        return -1;
    }
    int rc = arrow_print(stream, j->format, o.f, &j->rows, err);
    return cli_output_close(&o, rc, err);
}

static int execute(struct job *j, struct cli_error *err)
{
    static const struct arrow_visitor only_read = {NULL, NULL, NULL};
    struct ArrowArrayStream stream = {0};
    heddle_error *e = NULL;
    if (heddle_execute(j->statement, &stream, &e))
        return cli_adopt(err, e);
    return j->out ? print_rows(j, &stream, err) : arrow_visit(&stream, &only_read, NULL, &j->rows, err);
}

static int run_line(struct job *j, struct cli_error *err)
{
    if (get_output(j, err) || prepare(j, err))
        return -1;
    int rc = bind(j, err) || execute(j, err) ? -1 : 0;
    cli_statement_free(j->statement);
    return rc;
}

static void put_member(const char *name, const char *text)
{
    printf(",\"%s\":", name);
    text_put_json(stdout, text, strlen(text));
}

static int answer(const struct job *j, int number, const struct cli_error *line, struct cli_error *err)
{
    printf("{\"line\":%d", number);
    if (j->line[ID].s) {
        fputs(",\"id\":", stdout);
        fwrite(j->line[ID].s, 1, j->line[ID].n, stdout);
    }
    if (line->message) {
        printf(",\"error\":{\"status\":%d", line->status);
        put_member("class", line->class);
        put_member("path", line->path ? line->path : "");
        put_member("message", line->message);
        puts("}}");
    } else {
        printf(",\"rows\":%lld}\n", (long long)j->rows);
    }
    return cli_flush(stdout, "standard output", err);
}

/* *failed counts lines that failed. Fails itself if there is nobody to answer to. */
static int process(const struct cli_args *a, const struct cli_session *session, const char *text, size_t n, int number,
                   int *failed, struct cli_error *err)
{
    struct cli_error line = {0};
    struct job j = {.args = a, .session = session};
    if (json_slice_object(text, n, members, MEMBERS, j.line, &line) || run_line(&j, &line))
        ++*failed;
    int rc = answer(&j, number, &line, err);
    free(j.out);
    free(j.format);
    cli_error_clear(&line);
    return rc;
}

static bool is_blank(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && s[i] && strchr(" \t\r\n", s[i]))
        i++;
    return i == n;
}

int run_batch(const struct cli_args *a, const struct cli_session *session, struct cli_error *err)
{
    const char *path = cli_text(a, CLI_BATCH);
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "rb");
    if (!f) {
        cli_fail_errno(err, path, "cannot open");
        err->status = errno == ENOENT || errno == ENOTDIR ? CLI_BAD_INPUT : CLI_FAILED;
        return -1;
    }
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int number = 0, failed = 0, rc = 0;
    while (!rc && !cli_interrupted() && (n = getline(&line, &room, f)) >= 0) {
        number++;
        if (!is_blank(line, (size_t)n))
            rc = process(a, session, line, (size_t)n, number, &failed, err);
    }
    if (!rc && ferror(f))
        rc = cli_fail_errno(err, path, "cannot read");
    free(line);
    if (!standard)
        fclose(f);
    if (rc)
        return -1;
    if (cli_interrupted())
        return cli_fail_stopped(err);
    if (failed)
        return cli_fail(err, CLI_FAILED, path, "%d of %d lines failed", failed, number);
    return 0;
}
