/* Finding and reading suites. */
#include "tools/suite.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__extension__ typedef __int128 int128;

/* ---- where suites are ---- */

static bool has_suite(const char *dir)
{
    char *path = cli_format("%s/suite.json", dir);
    bool found = access(path, R_OK) == 0;
    free(path);
    return found;
}

/* dir/name if a suite is there, else NULL. */
static char *try_dir(const char *dir, const char *sub, const char *name)
{
    char *path = cli_format("%s%s/%s", dir, sub, name);
    if (has_suite(path))
        return path;
    free(path);
    return NULL;
}

/* Beside an installed binary, or in a folder above one in a build tree. */
static char *find_near_binary(const char *name)
{
    enum { LEVELS = 4 };
    char dir[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
    if (n < 0)
        return NULL;
    dir[n] = 0;
    char *found = NULL, *slash;
    for (int up = 0; up <= LEVELS && !found && (slash = strrchr(dir, '/')); up++) {
        *slash = 0;
        found = try_dir(dir, "/share/heddle/suites", name);
        if (!found)
            found = try_dir(dir, "", name);
    }
    return found;
}

static int find_suite(const char *name, char **dir, struct cli_error *err)
{
    *dir = strchr(name, '/') ? NULL : find_near_binary(name);
    if (!*dir && has_suite(name))
        *dir = cli_strdup(name);
    if (*dir)
        return 0;
    return cli_fail(err, CLI_BAD_INPUT, name,
                    "expected tpch, jcch or a directory with "
                    "suite.json");
}

/* ---- reading ---- */

static int read_json(const char *path, cJSON **out, struct cli_error *err)
{
    char *text;
    if (cli_read_file(path, &text, err))
        return -1;
    *out = cJSON_ParseWithOpts(text, NULL, true);
    free(text);
    return *out ? 0 : cli_fail(err, CLI_BAD_INPUT, path, "not JSON");
}

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *get_text(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(get(object, key));
}

static int fail_suite(const struct suite *s, struct cli_error *err, const char *what)
{
    return cli_fail(err, CLI_BAD_INPUT, s->dir, "suite.json: %s", what);
}

static int read_query(struct suite *s, const cJSON *json, struct cli_error *err)
{
    struct suite_query *q = &s->queries[s->n++];
    const cJSON *limit = get(json, "limit");
    q->name = get_text(json, "name");
    q->plan = get_text(json, "plan");
    q->title = get_text(json, "title");
    q->order = get(json, "order");
    q->limit = cJSON_IsNumber(limit) ? (int64_t)limit->valuedouble : -1;
    if (!q->name || !q->plan)
        return fail_suite(s, err, "every query needs a name and a plan");
    if (q->order && !cJSON_IsArray(q->order))
        return fail_suite(s, err, "order: expected a list of columns");
    return 0;
}

static int read_queries(struct suite *s, struct cli_error *err)
{
    const cJSON *list = get(s->json, "queries"), *q;
    if (!cJSON_IsArray(list) || !list->child)
        return fail_suite(s, err, "expected a list \"queries\"");
    s->queries = cli_alloc(sizeof *s->queries * (size_t)cJSON_GetArraySize(list));
    cJSON_ArrayForEach(q, list) if (read_query(s, q, err)) return -1;
    return 0;
}

static int read_class(struct suite *s, const char *class, struct cli_error *err)
{
    const cJSON *classes = get(s->json, "classes"), *c;
    s->class = class ? class : get_text(s->json, "default_class");
    const char *file = s->class ? get_text(classes, s->class) : NULL;
    if (file) {
        char *path = cli_format("%s/%s", s->dir, file);
        int rc = read_json(path, &s->params, err);
        free(path);
        return rc;
    }
    if (!class)
        return 0;
    char *known = cli_strdup("");
    cJSON_ArrayForEach(c, classes)
    {
        char *longer = cli_format("%s%s%s", known, *known ? ", " : "", c->string);
        free(known);
        known = longer;
    }
    cli_fail(err, CLI_BAD_INPUT, NULL, "--class: expected one of %s, found \"%s\"", known,
             class);
    free(known);
    return -1;
}

static void read_not_comparable(struct suite *s)
{
    const cJSON *queries = s->class ? get(get(s->json, "not_comparable"), s->class) : NULL;
    for (int i = 0; i < s->n; i++)
        s->queries[i].not_comparable = get_text(queries, s->queries[i].name);
}

int suite_open(const char *name, const char *class, struct suite *s, struct cli_error *err)
{
    *s = (struct suite){0};
    if (find_suite(name, &s->dir, err))
        return -1;
    char *path = cli_format("%s/suite.json", s->dir);
    int rc = read_json(path, &s->json, err);
    free(path);
    if (!rc) {
        const cJSON *scale = get(s->json, "scale"), *rows = get(scale, "rows");
        s->name = get_text(s->json, "name");
        s->title = get_text(s->json, "title");
        s->unit = get_text(scale, "table");
        s->unit_rows = s->unit && cJSON_IsNumber(rows) ? (int64_t)rows->valuedouble : 0;
        rc = read_queries(s, err) || read_class(s, class, err) ? -1 : 0;
    }
    if (!rc)
        read_not_comparable(s);
    if (rc)
        suite_release(s);
    return rc;
}

void suite_release(struct suite *s)
{
    free(s->dir);
    free(s->queries);
    cJSON_Delete(s->json);
    cJSON_Delete(s->params);
    *s = (struct suite){0};
}

/* ---- scale ---- */

int suite_measure(struct suite *s, heddle_database *db, struct cli_error *err)
{
    char *json;
    heddle_error *e = NULL;
    if (!s->unit_rows)
        return 0;
    if (heddle_database_catalog(db, &json, &e))
        return cli_take(err, e);
    cJSON *catalog = cJSON_Parse(json);
    const cJSON *table;
    cJSON_ArrayForEach(table, get(catalog, "tables"))
    {
        const char *name = get_text(table, "name");
        const cJSON *rows = get(table, "rows");
        if (name && strcmp(name, s->unit) == 0)
            s->rows = cJSON_IsString(rows) ? atoll(rows->valuestring)
                      : rows               ? (int64_t)rows->valuedouble
                                           : 0;
    }
    cJSON_Delete(catalog);
    heddle_free(json);
    return 0;
}

double suite_scale(const struct suite *s)
{
    return s->unit_rows ? (double)s->rows / (double)s->unit_rows : 0;
}

/* text / scale, rounded half up to so many decimals; exact, as the scale factor is a ratio. */
static char *divide_by_scale(const struct suite *s, const char *text, int decimals)
{
    int128 v = 0;
    bool point = false;
    int fraction = 0;
    for (; *text; text++) {
        if (*text == '.') {
            point = true;
        } else if (fraction < decimals) {
            v = 10 * v + (*text - '0');
            fraction += point;
        }
    }
    for (; fraction < decimals; fraction++)
        v *= 10;
    v = (2 * v * s->unit_rows + s->rows) / (2 * (int128)s->rows);
    int64_t unit = 1;
    for (int i = 0; i < decimals; i++)
        unit *= 10;
    return cli_format("%lld.%0*lld", (long long)(v / unit), decimals, (long long)(v % unit));
}

static bool is_plain_number(const char *text)
{
    return text && *text && text[strspn(text, "0123456789.")] == 0 && strlen(text) <= 18;
}

static int scale_param(const struct suite *s, cJSON *params, const cJSON *rule,
                       struct cli_error *err)
{
    const char *param = get_text(rule, "param");
    const cJSON *decimals = get(rule, "decimals");
    if (!param || !cJSON_IsNumber(decimals) || decimals->valueint < 1 ||
        decimals->valueint > 17)
        return fail_suite(s, err, "divide_by_scale: expected query, param, decimals 1..17");
    const char *text = get_text(params, param);
    if (!text || !s->rows)
        return 0;
    if (!is_plain_number(text))
        return fail_suite(s, err, "divide_by_scale: expected a plain number as the parameter");
    char *scaled = divide_by_scale(s, text, decimals->valueint);
    cJSON_ReplaceItemInObjectCaseSensitive(params, param, cJSON_CreateString(scaled));
    free(scaled);
    return 0;
}

/* A rule may name the classes that it is for. */
static bool rule_holds(const struct suite *s, const cJSON *rule)
{
    const cJSON *classes = get(rule, "classes"), *c;
    bool holds = !classes;
    cJSON_ArrayForEach(c, classes)
    {
        const char *name = cJSON_GetStringValue(c);
        holds = holds || (name && s->class && strcmp(name, s->class) == 0);
    }
    return holds;
}

int suite_params(const struct suite *s, const struct suite_query *q, char **json,
                 struct cli_error *err)
{
    *json = NULL;
    const cJSON *found = get(s->params, q->name), *rule;
    if (!found)
        return 0;
    cJSON *params = cJSON_Duplicate(found, true);
    int rc = 0;
    cJSON_ArrayForEach(rule, get(s->json, "divide_by_scale"))
    {
        const char *name = get_text(rule, "query");
        if (!rc && name && strcmp(name, q->name) == 0 && rule_holds(s, rule))
            rc = scale_param(s, params, rule, err);
    }
    char *printed = cJSON_PrintUnformatted(params);
    if (!rc)
        *json = cli_strdup(printed);
    cJSON_free(printed);
    cJSON_Delete(params);
    return rc;
}

char *suite_answer(const struct suite *s, const struct suite_query *q)
{
    char scale[32];
    snprintf(scale, sizeof scale, "%g", suite_scale(s));
    const cJSON *classes = s->class ? get(get(s->json, "answers"), s->class) : NULL;
    const char *dir = get_text(classes, scale);
    if (!dir)
        return NULL;
    char *path = cli_format("%s/%s/%s.csv", s->dir, dir, q->name);
    if (access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

int suite_plan(const struct suite *s, const struct suite_query *q, char **text,
               struct cli_error *err)
{
    char *path = cli_format("%s/%s", s->dir, q->plan);
    int rc = cli_read_file(path, text, err);
    free(path);
    return rc;
}

/* ---- picking queries ---- */

/* A query's number from 1, by its place or its name; 0: none. */
static int query_number(const struct suite *s, const char *word, size_t n)
{
    int64_t number;
    for (int i = 0; i < s->n; i++)
        if (strlen(s->queries[i].name) == n && memcmp(s->queries[i].name, word, n) == 0)
            return i + 1;
    char *text = cli_format("%.*s", (int)n, word);
    bool good = cli_parse_count(text, 1, s->n, &number);
    free(text);
    return good ? (int)number : 0;
}

static int pick_range(const struct suite *s, const char *word, size_t n, bool *picked)
{
    const char *dash = memchr(word, '-', n);
    int first = query_number(s, word, dash ? (size_t)(dash - word) : n);
    int last = dash ? query_number(s, dash + 1, n - (size_t)(dash - word) - 1) : first;
    if (!first || last < first)
        return -1;
    for (int i = first; i <= last; i++)
        picked[i - 1] = true;
    return 0;
}

int suite_pick(const struct suite *s, const char *list, bool *picked, struct cli_error *err)
{
    for (int i = 0; i < s->n; i++)
        picked[i] = !list;
    while (list) {
        size_t n = strcspn(list, ",");
        if (pick_range(s, list, n, picked))
            return cli_fail(err, CLI_BAD_INPUT, NULL,
                            "--queries: expected numbers from 1 to %d, ranges or names, "
                            "found \"%.*s\"",
                            s->n, (int)n, list);
        list = list[n] ? list + n + 1 : NULL;
    }
    return 0;
}
