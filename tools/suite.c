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
                    "expected tpch, jcch, ssb or a directory with "
                    "suite.json");
}

/* ---- opening ---- */

int suite_open(const char *name, const char *class, struct suite *s, struct cli_error *err)
{
    *s = (struct suite){0};
    if (find_suite(name, &s->dir, err))
        return -1;
    int rc = suite_read(s, class, err);
    if (rc)
        suite_release(s);
    return rc;
}

void suite_release(struct suite *s)
{
    free(s->dir);
    free(s->path);
    free(s->queries);
    free(s->query_names);
    free(s->class_names);
    free(s->params);
    free(s->params_text);
    cJSON_Delete(s->json);
    *s = (struct suite){0};
}

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *get_text(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(get(object, key));
}

/* ---- scale ---- */

/* Rows of the suite's table of scale in a catalog; -1: there is no such table. */
static int64_t rows_of_unit(const struct suite *s, const char *json)
{
    int64_t n = -1;
    cJSON *catalog = cJSON_Parse(json);
    const cJSON *table;
    cJSON_ArrayForEach(table, get(catalog, "tables"))
    {
        const char *name = get_text(table, "name");
        const cJSON *rows = get(table, "rows");
        if (name && rows && strcmp(name, s->unit) == 0)
            n = cJSON_IsString(rows) ? atoll(rows->valuestring) : (int64_t)rows->valuedouble;
    }
    cJSON_Delete(catalog);
    return n;
}

int suite_measure(struct suite *s, heddle_database *db, struct cli_error *err)
{
    char *json;
    heddle_error *e = NULL;
    if (!s->unit_rows)
        return 0;
    if (heddle_database_catalog(db, &json, &e))
        return cli_adopt(err, e);
    s->rows = rows_of_unit(s, json);
    heddle_free(json);
    if (s->rows >= 0)
        return 0;
    return cli_fail(err, CLI_BAD_INPUT, s->path,
                    "scale: the database has no table \"%s\" to learn its scale factor from", s->unit);
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

/* The rule for a parameter of the query in this class; NULL if there is none. */
static const cJSON *find_rule(const struct suite *s, const struct suite_query *q, const char *param)
{
    const cJSON *rule;
    cJSON_ArrayForEach(rule, get(s->json, "divide_by_scale"))
    {
        bool meant = strcmp(get_text(rule, "query"), q->name) == 0 && rule_holds(s, rule);
        if (meant && (!param || strcmp(get_text(rule, "param"), param) == 0))
            return rule;
    }
    return NULL;
}

/* The value as JSON text on the heap, divided if a rule says so. */
static int param_value(const struct suite *s, const cJSON *rule, struct json_slice value, char **out,
                       struct cli_error *err)
{
    *out = NULL;
    if (!rule || !s->rows) {
        *out = json_slice_copy(value);
        return 0;
    }
    char *text = json_slice_string(value);
    bool good = is_plain_number(text);
    if (good) {
        char *scaled = divide_by_scale(s, text, get(rule, "decimals")->valueint);
        *out = cli_format("\"%s\"", scaled);
        free(scaled);
    }
    free(text);
    return good ? 0
                : cli_fail(err, CLI_BAD_INPUT, s->path,
                           "divide_by_scale: expected a plain number in a text as parameter "
                           "\"%s\" of %s",
                           get_text(rule, "param"), get_text(rule, "query"));
}

/* Appends a member to an object that is still open; a NULL text is a new one. */
static char *add_member(char *text, struct json_slice name, const char *value)
{
    char *longer = cli_format("%s%s%.*s:%s", text ? text : "{", text ? "," : "", (int)name.n, name.s, value);
    free(text);
    return longer;
}

/* The query's parameters with those divided that a rule names; *divided counts them. */
static int divided_params(const struct suite *s, const struct suite_query *q, struct json_slice params, char **json,
                          int *divided, struct cli_error *err)
{
    struct json_cut c;
    struct json_slice name, value;
    int more = json_cut_open(&c, params.s, params.n, err) ? -1 : json_cut_next(&c, &name, &value);
    for (; more == 1; more = json_cut_next(&c, &name, &value)) {
        char *param = json_slice_string(name), *text;
        const cJSON *rule = find_rule(s, q, param);
        free(param);
        if (param_value(s, rule, value, &text, err))
            return -1;
        *divided += rule != NULL;
        *json = add_member(*json, name, text);
        free(text);
    }
    return more;
}

static int scaled_params(const struct suite *s, const struct suite_query *q, struct json_slice params, char **json,
                         struct cli_error *err)
{
    char *open = NULL;
    int divided = 0, rules = 0;
    const cJSON *rule;
    cJSON_ArrayForEach(rule, get(s->json, "divide_by_scale")) rules +=
        strcmp(get_text(rule, "query"), q->name) == 0 && rule_holds(s, rule);
    int rc = divided_params(s, q, params, &open, &divided, err);
    if (!rc && divided != rules)
        rc = cli_fail(err, CLI_BAD_INPUT, s->path, "divide_by_scale: class %s gives %s no such parameter", s->class,
                      q->name);
    if (!rc)
        *json = cli_format("%s}", open ? open : "{");
    free(open);
    return rc;
}

int suite_params(const struct suite *s, const struct suite_query *q, char **json, struct cli_error *err)
{
    const struct json_slice params = s->params ? s->params[q - s->queries] : (struct json_slice){0};
    *json = NULL;
    if (!params.s)
        return 0;
    if (find_rule(s, q, NULL))
        return scaled_params(s, q, params, json, err);
    *json = json_slice_copy(params);
    return 0;
}

/* Folder of the answers for this class and scale factor; NULL if there is none. */
static const char *answers_folder(const struct suite *s)
{
    char scale[32];
    snprintf(scale, sizeof scale, "%g", suite_scale(s));
    return get_text(s->class ? get(get(s->json, "answers"), s->class) : NULL, scale);
}

char *suite_answer(const struct suite *s, const struct suite_query *q)
{
    const char *folder = answers_folder(s);
    return folder ? cli_format("%s/%s/%s.csv", s->dir, folder, q->name) : NULL;
}

char *suite_why_no_answers(const struct suite *s)
{
    if (answers_folder(s))
        return NULL;
    if (!get(s->json, "answers"))
        return cli_strdup("the suite has none");
    return cli_format("the suite has none for class %s at scale factor %g", s->class ? s->class : "(none)",
                      suite_scale(s));
}

int suite_plan(const struct suite *s, const struct suite_query *q, char **text, struct cli_error *err)
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
