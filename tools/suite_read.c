/* Reads suite.json and the parameter file of a class. What is misspelt there is an error: a key
 * that nobody reads would quietly leave a comparison out. */
#include "tools/suite.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/suggest.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static int fail(const struct suite *s, struct cli_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(const struct suite *s, struct cli_error *err, const char *format, ...)
{
    va_list ap;
    char *text;
    va_start(ap, format);
    if (vasprintf(&text, format, ap) < 0)
        cli_out_of_memory();
    va_end(ap);
    cli_fail(err, CLI_BAD_INPUT, s->path, "%s", text);
    free(text);
    return -1;
}

/* An error about a member of the file becomes one about the file. */
static int fail_in_file(const char *path, struct cli_error *err)
{
    char *whole = err->path ? cli_format("%s: %s", path, err->path) : cli_strdup(path);
    free(err->path);
    err->path = whole;
    return -1;
}

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *get_text(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(get(object, key));
}

/* ---- shapes ---- */

static int fail_unknown(const struct suite *s, const char *where, const char *name, const char *const *known, int n,
                        const char *what, struct cli_error *err)
{
    struct suggestion suggestion = suggest_start(name);
    for (int i = 0; i < n; i++)
        suggest_offer(&suggestion, known[i]);
    char *hint = suggest_hint(&suggestion, "");
    fail(s, err, "%s: unknown %s \"%s\"%s", where, what, name, hint);
    free(hint);
    return -1;
}

static bool is_among(const char *name, const char *const *known, int n)
{
    int i = 0;
    while (i < n && strcmp(known[i], name) != 0)
        i++;
    return i < n;
}

/* An object whose keys are all known, each once; `what` they are, for messages. */
static int check_object(const struct suite *s, const cJSON *v, const char *where, const char *const *known, int n,
                        const char *what, struct cli_error *err)
{
    if (!cJSON_IsObject(v))
        return fail(s, err, "%s: expected an object", where);
    for (const cJSON *m = v->child; m; m = m->next) {
        if (!is_among(m->string, known, n))
            return fail_unknown(s, where, m->string, known, n, what, err);
        for (const cJSON *e = v->child; e != m; e = e->next)
            if (strcmp(e->string, m->string) == 0)
                return fail(s, err, "%s: duplicate %s \"%s\"", where, what, m->string);
    }
    return 0;
}

/* An optional text. */
static int check_text(const struct suite *s, const cJSON *object, const char *where, const char *key,
                      struct cli_error *err)
{
    const cJSON *v = get(object, key);
    return !v || cJSON_IsString(v) ? 0 : fail(s, err, "%s%s%s: expected a text", where, *where ? "." : "", key);
}

/* An integer of lo to 2^53. */
static bool get_count(const cJSON *v, int64_t lo, int64_t *out)
{
    if (!cJSON_IsNumber(v) || !(v->valuedouble >= (double)lo && v->valuedouble <= 0x1p53))
        return false;
    *out = (int64_t)v->valuedouble;
    return (double)*out == v->valuedouble;
}

/* A name that must be among the suite's queries or classes. */
static int check_name(const struct suite *s, const char *where, const char *name, bool query, struct cli_error *err)
{
    const char *const *known = query ? s->query_names : s->class_names;
    int n = query ? s->n : s->n_classes;
    if (!name)
        return fail(s, err, "%s: expected a text", where);
    return is_among(name, known, n) ? 0 : fail_unknown(s, where, name, known, n, query ? "query" : "class", err);
}

/* ---- queries ---- */

static int read_order(const struct suite *s, const char *where, const cJSON *order, struct cli_error *err)
{
    const cJSON *v;
    if (order && !cJSON_IsArray(order))
        return fail(s, err, "%s.order: expected a list of columns", where);
    cJSON_ArrayForEach(v, order)
    {
        if (!cJSON_IsString(v))
            return fail(s, err, "%s.order: expected a list of columns", where);
    }
    return 0;
}

static int read_query(struct suite *s, const char *where, const cJSON *json, struct cli_error *err)
{
    static const char *const keys[] = {"name", "plan", "title", "order", "limit"};
    struct suite_query *q = &s->queries[s->n];
    const cJSON *limit = get(json, "limit");
    if (check_object(s, json, where, keys, COUNT(keys), "key", err) || check_text(s, json, where, "title", err))
        return -1;
    *q = (struct suite_query){.name = get_text(json, "name"),
                              .plan = get_text(json, "plan"),
                              .title = get_text(json, "title"),
                              .order = get(json, "order"),
                              .limit = -1};
    if (!q->name || !*q->name || !q->plan)
        return fail(s, err, "%s: every query needs a name and a plan", where);
    if (is_among(q->name, s->query_names, s->n))
        return fail(s, err, "%s: another query is called \"%s\"", where, q->name);
    if (limit && !get_count(limit, 0, &q->limit))
        return fail(s, err, "%s.limit: expected a number of rows", where);
    s->query_names[s->n++] = q->name;
    return read_order(s, where, q->order, err);
}

static int read_queries(struct suite *s, struct cli_error *err)
{
    const cJSON *list = get(s->json, "queries"), *q;
    if (!cJSON_IsArray(list) || !list->child)
        return fail(s, err, "expected a list \"queries\"");
    size_t n = (size_t)cJSON_GetArraySize(list);
    int i = 0;
    s->queries = cli_alloc(sizeof *s->queries * n);
    s->query_names = cli_alloc(sizeof *s->query_names * n);
    cJSON_ArrayForEach(q, list)
    {
        char *where = cli_format("queries[%d]", i++);
        int rc = read_query(s, where, q, err);
        free(where);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- classes ---- */

static int read_classes(struct suite *s, struct cli_error *err)
{
    const cJSON *classes = get(s->json, "classes"), *c;
    const char *otherwise = get_text(s->json, "default_class");
    s->class_names = cli_alloc(sizeof *s->class_names * (size_t)cJSON_GetArraySize(classes));
    if (classes && !cJSON_IsObject(classes))
        return fail(s, err, "classes: expected an object");
    cJSON_ArrayForEach(c, classes)
    {
        if (is_among(c->string, s->class_names, s->n_classes))
            return fail(s, err, "classes: duplicate class \"%s\"", c->string);
        if (!cJSON_IsString(c))
            return fail(s, err, "classes.%s: expected a file name", c->string);
        s->class_names[s->n_classes++] = c->string;
    }
    if (get(s->json, "default_class"))
        return check_name(s, "default_class", otherwise, false, err);
    return 0;
}

static int fail_class(const struct suite *s, const char *class, struct cli_error *err)
{
    char *known = cli_strdup("");
    struct suggestion suggestion = suggest_start(class);
    for (int i = 0; i < s->n_classes; i++) {
        char *longer = cli_format("%s%s%s", known, *known ? ", " : "", s->class_names[i]);
        free(known);
        known = longer;
        suggest_offer(&suggestion, s->class_names[i]);
    }
    char *hint = suggest_hint(&suggestion, "");
    cli_fail(err, CLI_BAD_INPUT, NULL, "--class: expected one of %s, found \"%s\"%s", *known ? known : "none", class,
             hint);
    free(hint);
    free(known);
    return -1;
}

/* The parameters of the queries, each an object in its own words. */
static int read_params(struct suite *s, const char *file, struct cli_error *err)
{
    char *path = cli_format("%s/%s", s->dir, file);
    int rc = cli_read_file(path, &s->params_text, err);
    if (!rc) {
        s->params = cli_alloc(sizeof *s->params * (size_t)s->n);
        rc = json_slice_object(s->params_text, strlen(s->params_text), s->query_names, s->n, s->params, err);
        if (rc)
            fail_in_file(path, err);
    }
    for (int i = 0; i < s->n && !rc; i++)
        if (s->params[i].s && *s->params[i].s != '{')
            rc = cli_fail(err, CLI_BAD_INPUT, path, "%s: expected an object of parameters", s->query_names[i]);
    free(path);
    return rc;
}

static int read_class(struct suite *s, const char *class, struct cli_error *err)
{
    s->class = class ? class : get_text(s->json, "default_class");
    const char *file = s->class ? get_text(get(s->json, "classes"), s->class) : NULL;
    if (file)
        return read_params(s, file, err);
    return class ? fail_class(s, class, err) : 0;
}

/* ---- answers, scale ---- */

/* {scale factor: folder}; a factor is found by its shortest text. */
static int check_answers_of(const struct suite *s, const cJSON *scales, struct cli_error *err)
{
    const cJSON *folder;
    if (!cJSON_IsObject(scales))
        return fail(s, err, "answers.%s: expected an object", scales->string);
    cJSON_ArrayForEach(folder, scales)
    {
        char *text = cli_format("%g", strtod(folder->string, NULL));
        bool same = strcmp(text, folder->string) == 0;
        free(text);
        if (!same)
            return fail(s, err,
                        "answers.%s: expected a scale factor such as 0.1 or 10, "
                        "found \"%s\"",
                        scales->string, folder->string);
        if (!cJSON_IsString(folder))
            return fail(s, err, "answers.%s.%s: expected a folder", scales->string, folder->string);
    }
    return 0;
}

static int check_answers(const struct suite *s, struct cli_error *err)
{
    const cJSON *answers = get(s->json, "answers"), *of;
    if (!answers)
        return 0;
    if (check_object(s, answers, "answers", s->class_names, s->n_classes, "class", err))
        return -1;
    cJSON_ArrayForEach(of, answers) if (check_answers_of(s, of, err)) return -1;
    return 0;
}

static int read_not_comparable(struct suite *s, struct cli_error *err)
{
    const cJSON *all = get(s->json, "not_comparable"), *of, *why;
    if (all && check_object(s, all, "not_comparable", s->class_names, s->n_classes, "class", err))
        return -1;
    cJSON_ArrayForEach(of, all)
    {
        if (check_object(s, of, "not_comparable", s->query_names, s->n, "query", err))
            return -1;
        cJSON_ArrayForEach(why, of)
        {
            if (!cJSON_IsString(why))
                return fail(s, err, "not_comparable.%s.%s: expected a text", of->string, why->string);
        }
    }
    const cJSON *queries = s->class ? get(all, s->class) : NULL;
    for (int i = 0; i < s->n; i++)
        s->queries[i].not_comparable = get_text(queries, s->queries[i].name);
    return 0;
}

static int read_scale(struct suite *s, struct cli_error *err)
{
    static const char *const keys[] = {"table", "rows"};
    const cJSON *scale = get(s->json, "scale");
    if (!scale)
        return 0;
    if (check_object(s, scale, "scale", keys, COUNT(keys), "key", err))
        return -1;
    s->unit = get_text(scale, "table");
    if (!s->unit)
        return fail(s, err, "scale: expected the name of a \"table\"");
    if (!get_count(get(scale, "rows"), 1, &s->unit_rows))
        return fail(s, err, "scale: expected the table's \"rows\" at scale factor 1");
    return 0;
}

static int check_rule(const struct suite *s, const cJSON *rule, struct cli_error *err)
{
    static const char *const keys[] = {"query", "param", "decimals", "classes"};
    const char *const where = "divide_by_scale";
    const cJSON *classes = get(rule, "classes"), *c;
    int64_t decimals;
    if (check_object(s, rule, where, keys, COUNT(keys), "key", err) ||
        check_name(s, where, get_text(rule, "query"), true, err))
        return -1;
    if (!get_text(rule, "param") || !get_count(get(rule, "decimals"), 1, &decimals) || decimals > 17)
        return fail(s, err, "%s: expected query, param, decimals 1..17", where);
    if (classes && !cJSON_IsArray(classes))
        return fail(s, err, "%s: classes: expected a list", where);
    cJSON_ArrayForEach(c, classes)
    {
        if (check_name(s, where, cJSON_GetStringValue(c), false, err))
            return -1;
    }
    return 0;
}

static int check_rules(const struct suite *s, struct cli_error *err)
{
    const cJSON *rules = get(s->json, "divide_by_scale"), *rule;
    if (rules && !cJSON_IsArray(rules))
        return fail(s, err, "divide_by_scale: expected a list");
    if (rules && !s->unit_rows)
        return fail(s, err, "divide_by_scale: the suite has no \"scale\"");
    cJSON_ArrayForEach(rule, rules) if (check_rule(s, rule, err)) return -1;
    return 0;
}

/* ---- the file ---- */

static int read_file(struct suite *s, struct cli_error *err)
{
    static const char *const keys[] = {"name",  "title",           "comment",       "queries", "classes",
                                       "scale", "divide_by_scale", "default_class", "answers", "not_comparable"};
    struct json_slice members[COUNT(keys)];
    char *text;
    if (cli_read_file(s->path, &text, err))
        return -1;
    int rc = json_slice_object(text, strlen(text), keys, COUNT(keys), members, err);
    if (rc)
        fail_in_file(s->path, err);
    else if (!(s->json = cJSON_Parse(text)))
        rc = fail(s, err, "the JSON text cannot be read");
    free(text);
    return rc;
}

int suite_read(struct suite *s, const char *class, struct cli_error *err)
{
    s->path = cli_format("%s/suite.json", s->dir);
    if (read_file(s, err) || check_text(s, s->json, "", "name", err) || check_text(s, s->json, "", "title", err) ||
        read_queries(s, err) || read_classes(s, err) || read_scale(s, err) || check_rules(s, err) ||
        check_answers(s, err) || read_class(s, class, err) || read_not_comparable(s, err))
        return -1;
    s->name = get_text(s->json, "name");
    s->title = get_text(s->json, "title");
    return 0;
}
