/* A strict JSON scanner that builds nothing. */
#include "tools/json_slice.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tools/text.h"

enum { MAX_DEPTH = 300 }; /* more than the readers of plans and parameters accept */

/* A text of one line may itself be a line of something: then its column says enough. */
static int fail_at(struct json_cut *c, const char *at, const char *what)
{
    const char *start = at;
    int line = 1;
    while (start > c->text && start[-1] != '\n')
        start--;
    for (const char *p = c->text; p < start; p++)
        line += *p == '\n';
    size_t column = (size_t)(at - start) + 1, inner = (size_t)(c->end - c->text) - 1;
    if (c->p == c->text || !memchr(c->text, '\n', inner))
        return cli_fail(c->err, CLI_BAD_INPUT, NULL, "not valid JSON: column %zu: %s", column, what);
    return cli_fail(c->err, CLI_BAD_INPUT, NULL, "not valid JSON: line %d, column %zu: %s", line, column, what);
}

static int expected(struct json_cut *c, const char *what)
{
    char found[24] = "the end of the text";
    unsigned char byte = c->p < c->end ? (unsigned char)*c->p : 0;
    if (c->p < c->end)
        snprintf(found, sizeof found, byte < 0x20 || byte >= 0x7f ? "byte 0x%02x" : "'%c'", byte);
    char *text = cli_format("expected %s, found %s", what, found);
    fail_at(c, c->p, text);
    free(text);
    return -1;
}

static bool at(const struct json_cut *c, char ch)
{
    return c->p < c->end && *c->p == ch;
}

static bool accept(struct json_cut *c, char ch)
{
    bool found = at(c, ch);
    c->p += found;
    return found;
}

static bool at_digit(const struct json_cut *c)
{
    return c->p < c->end && *c->p >= '0' && *c->p <= '9';
}

static void skip_space(struct json_cut *c)
{
    while (at(c, ' ') || at(c, '\t') || at(c, '\n') || at(c, '\r'))
        c->p++;
}

static int digits(struct json_cut *c)
{
    if (!at_digit(c))
        return expected(c, "a digit");
    while (at_digit(c))
        c->p++;
    return 0;
}

static int number(struct json_cut *c)
{
    accept(c, '-');
    if (accept(c, '0')) {
        if (at_digit(c))
            return fail_at(c, c->p, "a number may not start with 0");
    } else if (digits(c)) {
        return -1;
    }
    if (accept(c, '.') && digits(c))
        return -1;
    if (accept(c, 'e') || accept(c, 'E')) {
        if (!accept(c, '+'))
            accept(c, '-');
        return digits(c);
    }
    return 0;
}

/* Four hexadecimal digits. */
static int code_unit(struct json_cut *c, unsigned *out)
{
    static const char hex[] = "0123456789abcdef";
    *out = 0;
    for (int i = 0; i < 4; i++, c->p++) {
        unsigned char ch = c->p < c->end ? (unsigned char)*c->p : 0;
        const char *digit = ch ? strchr(hex, ch >= 'A' && ch <= 'F' ? ch | 0x20 : ch) : NULL;
        if (!digit)
            return expected(c, "a hexadecimal digit");
        *out = 16 * *out + (unsigned)(digit - hex);
    }
    return 0;
}

static bool is_surrogate(unsigned unit, unsigned first)
{
    return unit >= first && unit < first + 0x400;
}

/* p stands behind "\u". */
static int unicode_escape(struct json_cut *c)
{
    const char *start = c->p - 2;
    unsigned unit, low = 0;
    if (code_unit(c, &unit))
        return -1;
    if (unit == 0)
        return fail_at(c, start, "a string may not contain the character NUL");
    if (is_surrogate(unit, 0xd800) && accept(c, '\\') && accept(c, 'u') && code_unit(c, &low))
        return -1;
    if (is_surrogate(unit, 0xdc00) || (is_surrogate(unit, 0xd800) && !is_surrogate(low, 0xdc00)))
        return fail_at(c, start, "an unpaired surrogate");
    return 0;
}

static int escape(struct json_cut *c)
{
    if (accept(c, 'u'))
        return unicode_escape(c);
    if (c->p == c->end || !*c->p || !strchr("\"\\/bfnrt", *c->p))
        return expected(c, "one of \" \\ / b f n r t u after \\");
    c->p++;
    return 0;
}

static int string(struct json_cut *c)
{
    if (!accept(c, '"'))
        return expected(c, "a string");
    while (!accept(c, '"')) {
        if (c->p == c->end || (unsigned char)*c->p < 0x20)
            return expected(c, "a character or the end of the string");
        if (accept(c, '\\')) {
            if (escape(c))
                return -1;
            continue;
        }
        size_t len = text_utf8_length(c->p, (size_t)(c->end - c->p));
        if (!len)
            return fail_at(c, c->p, "the text is not UTF-8");
        c->p += len;
    }
    return 0;
}

static int word(struct json_cut *c)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(c->end - c->p) >= n && memcmp(c->p, words[i], n) == 0) {
            c->p += n;
            return 0;
        }
    }
    return expected(c, "a value");
}

static int value(struct json_cut *c, int depth);

static int key(struct json_cut *c)
{
    skip_space(c);
    if (string(c))
        return -1;
    skip_space(c);
    return accept(c, ':') ? 0 : expected(c, "':'");
}

/* Behind a member or element: *more, or the container is closed. */
static int next(struct json_cut *c, char close, bool *more)
{
    skip_space(c);
    *more = accept(c, ',');
    if (*more || accept(c, close))
        return 0;
    return expected(c, close == '}' ? "',' or '}'" : "',' or ']'");
}

static int container(struct json_cut *c, int depth, char close)
{
    if (depth > MAX_DEPTH)
        return fail_at(c, c->p, "nested too deep");
    c->p++;
    skip_space(c);
    if (accept(c, close))
        return 0;
    for (bool more = true; more;)
        if ((close == '}' && key(c)) || value(c, depth + 1) || next(c, close, &more))
            return -1;
    return 0;
}

static int value(struct json_cut *c, int depth)
{
    skip_space(c);
    if (at(c, '{'))
        return container(c, depth, '}');
    if (at(c, '['))
        return container(c, depth, ']');
    if (at(c, '"'))
        return string(c);
    return at(c, '-') || at_digit(c) ? number(c) : word(c);
}

int json_cut_open(struct json_cut *c, const char *text, size_t n, struct cli_error *err)
{
    *c = (struct json_cut){.text = text, .p = text, .end = text + n, .err = err};
    skip_space(c);
    return accept(c, '{') ? 0 : expected(c, "an object");
}

/* Whether a member follows: as json_cut_next. */
static int more_members(struct json_cut *c)
{
    bool more;
    skip_space(c);
    if (c->behind && next(c, '}', &more))
        return -1;
    if (!c->behind)
        more = !accept(c, '}');
    skip_space(c);
    if (!more && c->p < c->end)
        return expected(c, "the end of the text");
    return more;
}

int json_cut_next(struct json_cut *c, struct json_slice *name, struct json_slice *v)
{
    int more = more_members(c);
    if (more != 1)
        return more;
    name->s = c->p;
    if (string(c))
        return -1;
    name->n = (size_t)(c->p - name->s);
    skip_space(c);
    if (!accept(c, ':'))
        return expected(c, "':'");
    skip_space(c);
    v->s = c->p;
    if (value(c, 1))
        return -1;
    v->n = (size_t)(c->p - v->s);
    c->behind = true;
    return 1;
}

static int fail_key(const char *name, const char *const *keys, int n_keys, struct cli_error *err)
{
    char *known = cli_strdup(n_keys ? keys[0] : "");
    for (int k = 1; k < n_keys; k++) {
        char *longer = cli_format("%s, %s", known, keys[k]);
        free(known);
        known = longer;
    }
    cli_fail(err, CLI_BAD_INPUT, name, "unknown key; expected one of: %s", known);
    free(known);
    return -1;
}

/* A member that has a value already stands twice. */
static int read_member(struct json_slice name, struct json_slice v, const char *const *keys, int n_keys,
                       struct json_slice *out, struct cli_error *err)
{
    char *text = json_slice_string(name);
    int k = 0, rc = 0;
    while (k < n_keys && strcmp(keys[k], text) != 0)
        k++;
    if (k == n_keys)
        rc = fail_key(text, keys, n_keys, err);
    else if (out[k].s)
        rc = cli_fail(err, CLI_BAD_INPUT, text, "duplicate key");
    else
        out[k] = v;
    free(text);
    return rc;
}

int json_slice_object(const char *text, size_t n, const char *const *keys, int n_keys, struct json_slice *out,
                      struct cli_error *err)
{
    struct json_cut c;
    struct json_slice name, v;
    memset(out, 0, sizeof *out * (size_t)n_keys);
    int more = json_cut_open(&c, text, n, err) ? -1 : json_cut_next(&c, &name, &v);
    for (; more == 1; more = json_cut_next(&c, &name, &v))
        if (read_member(name, v, keys, n_keys, out, err))
            return -1;
    return more;
}

char *json_slice_copy(struct json_slice v)
{
    char *copy = memcpy(cli_alloc(v.n + 1), v.s, v.n);
    copy[v.n] = 0;
    return copy;
}

char *json_slice_string(struct json_slice v)
{
    if (v.s[0] != '"')
        return NULL;
    cJSON *item = cJSON_ParseWithLength(v.s, v.n);
    if (!item)
        cli_out_of_memory();
    char *text = cli_strdup(cJSON_GetStringValue(item));
    cJSON_Delete(item);
    return text;
}
