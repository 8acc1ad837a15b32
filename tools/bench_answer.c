/* Stored answers. Both sides become rows of text, the result's numbers rounded to the decimals
 * that the answer prints; then they are compared group by group of equal order columns. */
#include "tools/bench_answer.h"

#include <stdlib.h>
#include <string.h>

enum { SEPARATOR = '\x1f' };

struct line {
    char *key, *all; /* order columns; all columns */
};
struct lines {
    struct line *at;
    size_t n, room;
};
struct bench_answer {
    const struct suite_query *query;
    int columns;
    char **names;
    int *decimals; /* printed by the answer; -1: not a number */
    bool *ordered; /* the query orders by the column */
    struct lines expected, found;
    char *misfit; /* the result has other columns */
};

/* ---- CSV ---- */

/* The next field, unquoted in place; *more tells whether the record goes on. */
static char *next_field(char **p, bool *more)
{
    char *s = *p, *field = s, *out = s;
    bool quoted = *s == '"';
    s += quoted;
    while (*s && (quoted || (*s != ',' && *s != '\n'))) {
        if (quoted && *s == '"' && s[1] != '"') {
            quoted = false;
            s++;
            continue;
        }
        s += quoted && *s == '"';
        *out++ = *s++;
    }
    *more = *s == ',';
    *p = *s ? s + 1 : s;
    *out = 0;
    return field;
}

static int count_fields(const char *record)
{
    char *copy = cli_strdup(record), *p = copy;
    bool more = true;
    int n = 0;
    for (; more; n++)
        next_field(&p, &more);
    free(copy);
    return n;
}

/* ---- rows ---- */

static char *append(char *text, const char *cell, size_t n)
{
    size_t old = text ? strlen(text) : 0;
    text = cli_realloc(text, old + n + 2);
    memcpy(text + old, cell, n);
    text[old + n] = SEPARATOR;
    text[old + n + 1] = 0;
    return text;
}

static struct line *add_line(struct lines *l)
{
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 64;
        l->at = cli_realloc(l->at, sizeof *l->at * l->room);
    }
    l->at[l->n] = (struct line){append(NULL, "", 0), append(NULL, "", 0)};
    return &l->at[l->n++];
}

static void add_cell(const struct bench_answer *a, struct line *l, int column, const char *cell, size_t n)
{
    l->all = append(l->all, cell, n);
    if (a->ordered[column])
        l->key = append(l->key, cell, n);
}

/* ---- numbers ---- */

/* Decimals of a number's text, -1 if it is no number. */
static int decimals_of(const char *s)
{
    const char *digits = s + (*s == '-');
    const char *point = strchr(digits, '.');
    if (!*digits || digits[strspn(digits, "0123456789.")])
        return -1;
    return point ? (int)strlen(point + 1) : 0;
}

/* Adds one to the last digit of a text of digits and points; buf has room in front. */
static char *increment(char *first, char *last)
{
    for (; last >= first; last--) {
        if (*last == '.')
            continue;
        if (*last != '9') {
            ++*last;
            return first;
        }
        *last = '0';
    }
    *--first = '1';
    return first;
}

/* A decimal's text rounded half away from zero to so many decimals, "-0" without its sign. */
static char *rounded(const char *s, int decimals)
{
    bool negative = *s == '-';
    s += negative;
    size_t whole = strcspn(s, "."), n = strlen(s);
    char *buf = cli_alloc(n + (size_t)decimals + 4), *first = buf + 2;
    char *end = first + whole + (decimals ? (size_t)decimals + 1 : 0);
    for (size_t i = 0; first + i < end; i++)
        first[i] = i == whole ? '.' : i < n ? s[i] : '0';
    size_t next = whole + 1 + (size_t)decimals; /* the first digit cut off */
    if (next < n && s[next] >= '5')
        first = increment(first, end - 1);
    *end = 0;
    if (negative && first[strspn(first, "0.")])
        *--first = '-';
    char *out = cli_strdup(first);
    free(buf);
    return out;
}

/* The cell as the answer prints it: without blanks at a text's end. */
static char *as_printed(const struct arrow_column *c, const struct arrow_text *t, int decimals)
{
    size_t n = t->n;
    while (c->kind == ARROW_STRING && n > 0 && t->s[n - 1] == ' ')
        n--;
    char *text = cli_format("%.*s", (int)n, t->s);
    if (decimals < 0 || c->kind == ARROW_STRING)
        return text;
    char *out = c->kind == ARROW_FLOAT32 || c->kind == ARROW_FLOAT64 ? cli_format("%.*f", decimals, strtod(text, NULL))
                                                                     : rounded(text, decimals);
    free(text);
    return out;
}

/* ---- reading both sides ---- */

static bool is_ordered(const struct suite_query *q, const char *column)
{
    const cJSON *v;
    cJSON_ArrayForEach(v, q->order)
    {
        const char *name = cJSON_GetStringValue(v);
        if (name && strcmp(name + (*name == '-'), column) == 0)
            return true;
    }
    return false;
}

static void read_head(struct bench_answer *a, char **p)
{
    bool more = true;
    a->columns = count_fields(*p);
    a->names = cli_alloc(sizeof *a->names * (size_t)a->columns);
    a->decimals = cli_alloc(sizeof *a->decimals * (size_t)a->columns);
    a->ordered = cli_alloc(sizeof *a->ordered * (size_t)a->columns);
    for (int i = 0; i < a->columns; i++) {
        a->names[i] = cli_strdup(more ? next_field(p, &more) : "");
        a->decimals[i] = -1;
        a->ordered[i] = is_ordered(a->query, a->names[i]);
    }
}

static int read_rows(struct bench_answer *a, char *p, const char *path, struct cli_error *err)
{
    while (*p) {
        struct line *l = add_line(&a->expected);
        bool more = true;
        for (int i = 0; i < a->columns; i++) {
            if (!more)
                return cli_fail(err, CLI_FAILED, path, "row %zu is short", a->expected.n);
            const char *cell = next_field(&p, &more);
            if (a->expected.n == 1)
                a->decimals[i] = decimals_of(cell);
            add_cell(a, l, i, cell, strlen(cell));
        }
        if (more)
            return cli_fail(err, CLI_FAILED, path, "row %zu is long", a->expected.n);
    }
    return 0;
}

int bench_answer_open(const char *path, const struct suite_query *q, struct bench_answer **out, struct cli_error *err)
{
    char *text;
    if (cli_read_file(path, &text, err))
        return -1;
    struct bench_answer *a = cli_alloc(sizeof *a);
    *a = (struct bench_answer){.query = q};
    char *p = text;
    read_head(a, &p);
    int rc = read_rows(a, p, path, err);
    free(text);
    if (rc)
        bench_answer_free(a);
    else
        *out = a;
    return rc;
}

static void begin(void *user, const struct arrow_columns *c)
{
    struct bench_answer *a = user;
    if (c->n != a->columns) {
        a->misfit = cli_format("%d columns instead of %d", c->n, a->columns);
        return;
    }
    for (int i = 0; i < c->n && !a->misfit; i++)
        if (strcmp(c->at[i].name, a->names[i]) != 0)
            a->misfit = cli_format("column %d is %s instead of %s", i + 1, c->at[i].name, a->names[i]);
}

static void row(void *user, const struct arrow_columns *c, const struct ArrowArray *batch, int64_t at)
{
    struct bench_answer *a = user;
    struct arrow_text t;
    if (a->misfit)
        return;
    struct line *l = add_line(&a->found);
    for (int i = 0; i < c->n; i++) {
        if (!arrow_cell(&c->at[i], batch, i, at, &t)) {
            add_cell(a, l, i, "", 0);
            continue;
        }
        char *cell = as_printed(&c->at[i], &t, a->decimals[i]);
        add_cell(a, l, i, cell, strlen(cell));
        free(cell);
    }
}

const struct arrow_visitor bench_answer_visitor = {begin, row, NULL};

/* ---- comparing ---- */

static char *readable(const char *line)
{
    char *s = cli_strdup(line + 1), *p; /* every line begins with a separator */
    while ((p = strchr(s, SEPARATOR)))
        *p = p[1] ? '|' : 0;
    return s;
}

static char *differ(size_t at, const char *found, const char *expected)
{
    char *x = readable(found), *y = readable(expected);
    char *out = cli_format("row %zu is %s instead of %s", at + 1, x, y);
    free(x);
    free(y);
    return out;
}

static int by_text(const void *x, const void *y)
{
    const struct line *a = x, *b = y;
    return strcmp(a->all, b->all);
}

/* Rows [from, to) of both, whose keys are equal: as sets. */
static char *compare_group(struct bench_answer *a, size_t from, size_t to)
{
    struct line *x = a->found.at, *y = a->expected.at;
    qsort(x + from, to - from, sizeof *x, by_text);
    qsort(y + from, to - from, sizeof *y, by_text);
    for (size_t i = from; i < to; i++)
        if (strcmp(x[i].all, y[i].all) != 0)
            return differ(i, x[i].all, y[i].all);
    return NULL;
}

char *bench_answer_compare(struct bench_answer *a)
{
    const struct line *x = a->found.at, *y = a->expected.at;
    size_t n = a->expected.n;
    char *difference = NULL;
    if (a->misfit)
        return cli_strdup(a->misfit);
    if (a->found.n != n)
        return cli_format("%zu rows instead of %zu", a->found.n, n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(x[i].key, y[i].key) != 0)
            return differ(i, x[i].all, y[i].all);
    for (size_t from = 0, to; from < n && !difference; from = to) {
        for (to = from + 1; to < n && strcmp(y[to].key, y[from].key) == 0;)
            to++;
        bool cut = to == n && a->query->limit == (int64_t)n;
        if (!cut || to - from == 1)
            difference = compare_group(a, from, to);
    }
    return difference;
}

static void free_lines(struct lines *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->at[i].key);
        free(l->at[i].all);
    }
    free(l->at);
}

void bench_answer_free(struct bench_answer *a)
{
    if (!a)
        return;
    for (int i = 0; i < a->columns; i++)
        free(a->names[i]);
    free(a->names);
    free(a->decimals);
    free(a->ordered);
    free(a->misfit);
    free_lines(&a->expected);
    free_lines(&a->found);
    free(a);
}
