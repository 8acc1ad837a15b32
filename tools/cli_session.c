/* Context, database and statement as the command line asks for them. */
#include "tools/cli.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#define VALUE_INT(id)  (int)cli_count(a, id, 0)
#define VALUE_SIZE(id) (uint64_t)cli_count(a, id, 0)
#define VALUE_BOOL(id) cli_given(a, id)
#define VALUE_TEXT(id) cli_text(a, id)

int cli_context_open(const struct cli_args *a, heddle_context **out, struct cli_error *err)
{
    heddle_options o;
    heddle_error *e = NULL;
    heddle_options_init(&o);
#define SET_CONTEXT(member, kind, cli) o.member = VALUE_##kind(CLI_##cli);
#define SET_STATEMENT(member, kind, cli)
#define T_OPTION(of, id, name, member, kind, cli, standard) SET_##of(member, kind, cli)
#define T_OPTION_ADBC(of, id, name, member, kind, standard)
#include "api/options.def"
#undef SET_CONTEXT
#undef SET_STATEMENT
    if (o.temp_dir && strcmp(o.temp_dir, "none") == 0)
        o.temp_dir = "";
    return heddle_context_new(&o, out, &e) ? cli_adopt(err, e) : 0;
}

int cli_session_open(const struct cli_args *a, struct cli_session *s, struct cli_error *err)
{
    heddle_error *e = NULL;
    *s = (struct cli_session){0};
    if (cli_context_open(a, &s->context, err))
        return -1;
    if (heddle_database_open(s->context, cli_text(a, CLI_DB), cli_given(a, CLI_TRUST), &s->database, &e)) {
        cli_session_close(s);
        return cli_adopt(err, e);
    }
    return 0;
}

/* A compiler that was left, or a GPU that opens behind the last execution, may take long; the process need not wait for
 * it (main.c). */
void cli_session_close(struct cli_session *s)
{
    if (heddle_context_busy(s->context))
        cli_leave();
    if (cli_was_stopped())
        return;
    cli_nothing_to_undo(true); /* the context waits for code that goes into the cache */
    heddle_database_free(s->database);
    heddle_context_free(s->context);
    cli_nothing_to_undo(false);
    *s = (struct cli_session){0};
}

void cli_statement_options(const struct cli_args *a, heddle_statement_options *o)
{
    heddle_statement_options_init(o);
#define SET_CONTEXT(member, kind, cli)
#define SET_STATEMENT(member, kind, cli)                    o->member = VALUE_##kind(CLI_##cli);
#define T_OPTION(of, id, name, member, kind, cli, standard) SET_##of(member, kind, cli)
#define T_OPTION_ADBC(of, id, name, member, kind, standard)
#include "api/options.def"
}

int cli_adopt_of_tables(const struct cli_args *a, struct cli_error *err, heddle_error *e)
{
    cli_adopt(err, e);
    if (!cli_given(a, CLI_DB) && strstr(err->message, "there are no tables")) {
        char *message = cli_format("%s; no database was named (--db DIR)", err->message);
        free(err->message);
        err->message = message;
    }
    return -1;
}

int cli_prepare(const struct cli_args *a, heddle_database *database, const char *plan, size_t size,
                const heddle_statement_options *o, heddle_statement **s, struct cli_error *err)
{
    heddle_error *e = NULL;
    if (heddle_statement_new(database, o, s, &e))
        return cli_adopt(err, e);
    cli_watch(*s, a->option[CLI_TIMEOUT].real);
    if (heddle_statement_prepare_plan(*s, plan, size, &e) == 0)
        return 0;
    int rc = cli_adopt_of_tables(a, err, e); /* before nobody knows any more that the time was over */
    cli_statement_free(*s);
    return rc;
}

void cli_statement_free(heddle_statement *s)
{
    cli_unwatch();
    heddle_statement_free(s);
}

static int bind_file(heddle_statement *s, const char *path, struct cli_error *err)
{
    char *json;
    heddle_error *e = NULL;
    if (cli_read_file(path, &json, err))
        return -1;
    int rc = heddle_bind_json(s, json, &e) ? cli_adopt(err, e) : 0;
    free(json);
    return rc;
}

static int bind_one(heddle_statement *s, const char *param, struct cli_error *err)
{
    heddle_error *e = NULL;
    if (*param == '@')
        return bind_file(s, param + 1, err);
    const char *eq = strchr(param, '=');
    if (!eq || eq == param)
        return cli_fail(err, CLI_BAD_INPUT, NULL, "-p: expected NAME=VALUE or @FILE, found \"%s\"", param);
    char *name = cli_format("%.*s", (int)(eq - param), param);
    int rc = heddle_bind(s, name, eq + 1, &e) ? cli_adopt(err, e) : 0;
    free(name);
    return rc;
}

int cli_bind_params(const struct cli_args *a, heddle_statement *s, struct cli_error *err)
{
    for (int i = 0; i < a->n_params; i++)
        if (bind_one(s, a->params[i], err))
            return -1;
    return 0;
}

int cli_report(heddle_statement *s, char **json, struct cli_error *err)
{
    char *text;
    heddle_error *e = NULL;
    if (heddle_statement_report(s, &text, &e))
        return cli_adopt(err, e);
    *json = cli_strdup(text);
    heddle_free(text);
    cJSON_Minify(*json);
    return 0;
}
