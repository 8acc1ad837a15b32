/* heddle run --batch: see the help text in cmd_run.c and docs/cli.md. */
#include "tools/run_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tools/arrow_print.h"

struct job {
    const struct cli_args *args;
    const struct cli_session *session;
    const cJSON *line;
    heddle_statement *statement;
    int64_t rows;
};

/* The line's text value; NULL if it is missing. */
static int get_text(const cJSON *line, const char *key, const char **out,
                    struct cli_error *err)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(line, key);
    *out = cJSON_GetStringValue(v);
    if (v && !*out)
        return cli_fail(err, CLI_BAD_INPUT, key, "expected a string");
    return 0;
}

static int check_line(const cJSON *line, struct cli_error *err)
{
    static const char *const keys[] = {"plan", "params", "out", "format", "threads", "id"};
    enum { KEYS = sizeof keys / sizeof keys[0] };
    if (!cJSON_IsObject(line))
        return cli_fail(err, CLI_BAD_INPUT, NULL, "expected a JSON object");
    for (const cJSON *v = line->child; v; v = v->next) {
        int k = 0;
        while (k < KEYS && strcmp(keys[k], v->string))
            k++;
        if (k == KEYS)
            return cli_fail(err, CLI_BAD_INPUT, v->string,
                            "unknown key; expected plan, params, out, format, threads, id");
    }
    return 0;
}

/* The plan's text: the file that the line names, or the object it holds. */
static int plan_text(const cJSON *line, char **text, struct cli_error *err)
{
    const cJSON *plan = cJSON_GetObjectItemCaseSensitive(line, "plan");
    if (cJSON_IsString(plan))
        return cli_read_file(plan->valuestring, text, err);
    if (!cJSON_IsObject(plan))
        return cli_fail(err, CLI_BAD_INPUT, "plan", "expected a file name or an object");
    char *printed = cJSON_PrintUnformatted(plan);
    *text = cli_strdup(printed);
    cJSON_free(printed);
    return 0;
}

static int prepare(struct job *j, struct cli_error *err)
{
    char *plan;
    heddle_statement_options o;
    heddle_error *e = NULL;
    cli_statement_options(j->args, &o);
    const cJSON *threads = cJSON_GetObjectItemCaseSensitive(j->line, "threads");
    if (threads && !(cJSON_IsNumber(threads) && threads->valueint >= 1))
        return cli_fail(err, CLI_BAD_INPUT, "threads", "expected a positive number");
    o.threads = threads ? threads->valueint : 0;
    if (plan_text(j->line, &plan, err))
        return -1;
    int rc = heddle_prepare(j->session->database, plan, &o, &j->statement, &e);
    free(plan);
    return rc ? cli_take(err, e) : 0;
}

static int bind(struct job *j, struct cli_error *err)
{
    const cJSON *params = cJSON_GetObjectItemCaseSensitive(j->line, "params");
    heddle_error *e = NULL;
    if (!params)
        return 0;
    char *json = cJSON_PrintUnformatted(params);
    int rc = heddle_bind_json(j->statement, json, &e) ? cli_take(err, e) : 0;
    cJSON_free(json);
    return rc;
}

static int output_format(struct job *j, const char **format, struct cli_error *err)
{
    if (get_text(j->line, "format", format, err))
        return -1;
    if (!*format)
        *format = cli_given(j->args, CLI_FORMAT) ? cli_text(j->args, CLI_FORMAT) : "csv";
    if (strcmp(*format, "csv") && strcmp(*format, "json") && strcmp(*format, "table"))
        return cli_fail(err, CLI_BAD_INPUT, "format",
                        "expected table, csv or json, found \"%s\"", *format);
    return 0;
}

static int print_rows(struct job *j, struct ArrowArrayStream *stream, const char *path,
                      const char *format, struct cli_error *err)
{
    FILE *f = fopen(path, "wb");
    if (!f) {
        stream->release(stream);
        return cli_fail_errno(err, path, "cannot open for writing");
    }
    int rc = arrow_print(stream, format, f, &j->rows, err);
    if (!rc)
        rc = cli_flush(f, path, err);
    fclose(f);
    return rc;
}

static int execute(struct job *j, struct cli_error *err)
{
    static const struct arrow_visitor only_read = {NULL, NULL, NULL};
    struct ArrowArrayStream stream = {0};
    heddle_error *e = NULL;
    const char *path, *format;
    if (get_text(j->line, "out", &path, err) || output_format(j, &format, err))
        return -1;
    if (heddle_execute(j->statement, &stream, &e))
        return cli_take(err, e);
    return path ? print_rows(j, &stream, path, format, err)
                : arrow_visit(&stream, &only_read, NULL, &j->rows, err);
}

static int run_line(struct job *j, struct cli_error *err)
{
    if (check_line(j->line, err) || prepare(j, err))
        return -1;
    cli_watch(j->statement, 0);
    int rc = bind(j, err) || execute(j, err) ? -1 : 0;
    cli_unwatch();
    heddle_statement_free(j->statement);
    return rc;
}

static void answer(const struct job *j, int number, const struct cli_error *err)
{
    cJSON *out = cJSON_CreateObject();
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(j->line, "id");
    cJSON_AddNumberToObject(out, "line", number);
    if (id)
        cJSON_AddItemToObject(out, "id", cJSON_Duplicate(id, true));
    if (err->message) {
        cJSON *e = cJSON_AddObjectToObject(out, "error");
        cJSON_AddNumberToObject(e, "status", err->status);
        cJSON_AddStringToObject(e, "class", err->class);
        cJSON_AddStringToObject(e, "path", err->path ? err->path : "");
        cJSON_AddStringToObject(e, "message", err->message);
    } else {
        cJSON_AddNumberToObject(out, "rows", (double)j->rows);
    }
    char *text = cJSON_PrintUnformatted(out);
    puts(text);
    fflush(stdout);
    cJSON_free(text);
    cJSON_Delete(out);
}

/* True if the line failed. */
static bool process(const struct cli_args *a, const struct cli_session *session,
                    const char *text, int number)
{
    struct cli_error err = {0};
    struct job j = {.args = a, .session = session};
    cJSON *line = cJSON_ParseWithOpts(text, NULL, true);
    j.line = line;
    if (line)
        run_line(&j, &err);
    else
        cli_fail(&err, CLI_BAD_INPUT, NULL, "not JSON");
    answer(&j, number, &err);
    bool failed = err.message != NULL;
    cJSON_Delete(line);
    cli_error_clear(&err);
    return failed;
}

static bool is_blank(const char *s)
{
    return s[strspn(s, " \t\r\n")] == 0;
}

int run_batch(const struct cli_args *a, const struct cli_session *session,
              struct cli_error *err)
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
    int number = 0, failed = 0;
    while (!cli_interrupted() && getline(&line, &room, f) >= 0) {
        number++;
        if (!is_blank(line))
            failed += process(a, session, line, number);
    }
    free(line);
    if (!standard)
        fclose(f);
    if (cli_interrupted())
        return cli_fail_interrupted(err);
    if (failed)
        return cli_fail(err, CLI_FAILED, path, "%d of %d lines failed", failed, number);
    return 0;
}
