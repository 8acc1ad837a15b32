/* --profile FILE.html: the report as JSON and the statement's texts, put into the embedded page. */
#include "tools/profile_page.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

/* Which stage of heddle_explain holds the emitted code. */
static const char *code_stage(const char *report)
{
    cJSON *json = cJSON_Parse(report);
    const char *backend = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "backend"));
    const char *stage = backend && strcmp(backend, "cuda") == 0 ? "cuda" : "llvm";
    cJSON_Delete(json);
    return stage;
}

static int add_stage(heddle_statement *s, cJSON *to, const char *key, const char *stage, struct cli_error *err)
{
    char *text;
    heddle_error *e = NULL;
    if (heddle_explain(s, stage, &text, &e))
        return cli_adopt(err, e);
    cJSON_AddStringToObject(to, key, text);
    heddle_free(text);
    return 0;
}

static int texts_json(heddle_statement *s, const char *title, const char *report, char **json, struct cli_error *err)
{
    cJSON *texts = cJSON_CreateObject();
    cJSON_AddStringToObject(texts, "title", title);
    int rc = add_stage(s, texts, "plan", "plan", err);
    if (!rc)
        rc = add_stage(s, texts, "pipelines", "pipelines", err);
    if (!rc)
        rc = add_stage(s, texts, "code", code_stage(report), err);
    if (!rc && !(*json = cJSON_PrintUnformatted(texts)))
        rc = cli_fail(err, CLI_NO_RESOURCE, NULL, "out of memory");
    cJSON_Delete(texts);
    return rc;
}

/* Copies JSON so that it cannot end the script element it stands in: "<" becomes an escape. */
static char *put_json(char *to, const char *json)
{
    for (; *json; json++) {
        if (*json == '<') {
            memcpy(to, "\\u003c", 6);
            to += 6;
        } else {
            *to++ = *json;
        }
    }
    return to;
}

static char *put(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
    return to + n;
}

static char *fill(const char *page, const char *report, const char *texts)
{
    static const char *const slot[] = {"@REPORT@", "@TEXTS@"};
    const char *const value[] = {report, texts};
    char *html = cli_alloc(strlen(page) + 6 * (strlen(report) + strlen(texts)) + 1), *to = html;
    for (int i = 0; i < 2; i++) {
        const char *found = strstr(page, slot[i]);
        to = put(to, page, (size_t)(found - page));
        to = put_json(to, value[i]);
        page = found + strlen(slot[i]);
    }
    to = put(to, page, strlen(page));
    *to = '\0';
    return html;
}

int profile_page_make(heddle_statement *s, const char *title, char **html, struct cli_error *err)
{
    char *report, *texts = NULL;
    heddle_error *e = NULL;
    if (heddle_statement_report(s, &report, &e))
        return cli_adopt(err, e);
    int rc = texts_json(s, title, report, &texts, err);
    if (!rc)
        *html = fill(profile_pages[0].text, report, texts);
    free(texts);
    heddle_free(report);
    return rc;
}
