/* A strict JSON checker. cJSON is lenient (control characters, numbers such as 01 or 1.) and
 * says neither line nor column, cuts strings at \u0000 and recurses 1000 levels deep; what
 * passes here is plain RFC 8259 text that it reads exactly. */
#include "frontend/json.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/utf8.h"

struct check {
    const char *text, *p, *end;
    int max_depth;
    enum hd_err_class class;
    const char *path;
    struct hd_err *err;
};

static int fail_at(struct check *c, const char *at, const char *fmt, ...)
{
    int line = 1;
    const char *start = c->text;
    for (const char *q = c->text; q < at; q++)
        if (*q == '\n') {
            line++;
            start = q + 1;
        }
    char msg[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    return hd_err_set(c->err, c->class, __FILE__, __LINE__, c->path, "not valid JSON: line %d, column %d: %s", line,
                      (int)(at - start) + 1, msg);
}

static int expected(struct check *c, const char *what)
{
    if (c->p == c->end)
        return fail_at(c, c->p, "expected %s, found the end of the text", what);
    unsigned char ch = (unsigned char)*c->p;
    if (ch < 0x20 || ch >= 0x7f)
        return fail_at(c, c->p, "expected %s, found byte 0x%02x", what, ch);
    return fail_at(c, c->p, "expected %s, found '%c'", what, ch);
}

static void skip_space(struct check *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n' || *c->p == '\r'))
        c->p++;
}

static bool at(struct check *c, char ch)
{
    return c->p < c->end && *c->p == ch;
}
static bool at_digit(struct check *c)
{
    return c->p < c->end && *c->p >= '0' && *c->p <= '9';
}

static int digits(struct check *c)
{
    if (!at_digit(c))
        return expected(c, "a digit");
    while (at_digit(c))
        c->p++;
    return 0;
}

static int check_number(struct check *c)
{
    if (at(c, '-'))
        c->p++;
    if (at(c, '0')) {
        c->p++;
        if (at_digit(c))
            return fail_at(c, c->p, "a number may not start with 0");
    } else {
        HD_TRY(digits(c));
    }
    if (at(c, '.')) {
        c->p++;
        HD_TRY(digits(c));
    }
    if (at(c, 'e') || at(c, 'E')) {
        c->p++;
        if (at(c, '+') || at(c, '-'))
            c->p++;
        HD_TRY(digits(c));
    }
    return 0;
}

static int hex4(struct check *c, unsigned *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, c->p++) {
        char ch = c->p < c->end ? *c->p : 0;
        unsigned v;
        if (ch >= '0' && ch <= '9')
            v = (unsigned)(ch - '0');
        else if ((ch | 32) >= 'a' && (ch | 32) <= 'f')
            v = (unsigned)((ch | 32) - 'a') + 10;
        else
            return expected(c, "a hexadecimal digit");
        *out = *out << 4 | v;
    }
    return 0;
}

/* p stands behind "\u". */
static int check_unicode(struct check *c)
{
    const char *start = c->p - 2;
    unsigned hi, lo;
    HD_TRY(hex4(c, &hi));
    if (hi == 0)
        return fail_at(c, start, "a string may not contain the character NUL");
    if (hi >= 0xDC00 && hi <= 0xDFFF)
        return fail_at(c, start, "an unpaired surrogate");
    if (hi < 0xD800 || hi > 0xDBFF)
        return 0;
    if (c->end - c->p < 6 || c->p[0] != '\\' || c->p[1] != 'u')
        return fail_at(c, start, "an unpaired surrogate");
    c->p += 2;
    HD_TRY(hex4(c, &lo));
    return lo >= 0xDC00 && lo <= 0xDFFF ? 0 : fail_at(c, start, "an unpaired surrogate");
}

static int check_escape(struct check *c)
{
    c->p++;
    if (c->p == c->end || *c->p == 0 || !strchr("\"\\/bfnrtu", *c->p))
        return expected(c, "one of \" \\ / b f n r t u after \\");
    return *c->p++ == 'u' ? check_unicode(c) : 0;
}

static int check_string(struct check *c)
{
    if (!at(c, '"'))
        return expected(c, "a string");
    c->p++;
    while (!at(c, '"')) {
        if (c->p == c->end || (unsigned char)*c->p < 0x20)
            return expected(c, "a character or the end of the string");
        if (*c->p == '\\') {
            HD_TRY(check_escape(c));
        } else {
            int n = hd_utf8_length((const unsigned char *)c->p, (const unsigned char *)c->end);
            if (!n)
                return fail_at(c, c->p, "the text is not UTF-8");
            c->p += n;
        }
    }
    c->p++;
    return 0;
}

static int check_word(struct check *c)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < HD_COUNT(words); i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(c->end - c->p) >= n && memcmp(c->p, words[i], n) == 0) {
            c->p += n;
            return 0;
        }
    }
    return expected(c, "a value");
}

static int check_value(struct check *c, int depth);

static int check_container(struct check *c, int depth, bool object, char close)
{
    if (depth >= c->max_depth)
        return fail_at(c, c->p, "nested deeper than %d levels", c->max_depth);
    c->p++;
    skip_space(c);
    if (at(c, close)) {
        c->p++;
        return 0;
    }
    for (;;) {
        skip_space(c);
        if (object) {
            HD_TRY(check_string(c));
            skip_space(c);
            if (!at(c, ':'))
                return expected(c, "':'");
            c->p++;
        }
        HD_TRY(check_value(c, depth + 1));
        skip_space(c);
        if (at(c, close)) {
            c->p++;
            return 0;
        }
        if (!at(c, ','))
            return expected(c, object ? "',' or '}'" : "',' or ']'");
        c->p++;
    }
}

static int check_value(struct check *c, int depth)
{
    hd_poll();
    skip_space(c);
    if (at(c, '{'))
        return check_container(c, depth, true, '}');
    if (at(c, '['))
        return check_container(c, depth, false, ']');
    if (at(c, '"'))
        return check_string(c);
    if (at(c, '-') || at_digit(c))
        return check_number(c);
    return check_word(c);
}

int fe_json_check(const char *text, size_t n, int max_depth, enum hd_err_class class, const char *path,
                  struct hd_err *err)
{
    struct check c = {text, text, text + n, max_depth, class, path, err};
    if (n > FE_JSON_MAX_BYTES)
        return hd_err_set(err, class, __FILE__, __LINE__, path, "expected at most %d bytes of JSON, found %zu",
                          FE_JSON_MAX_BYTES, n);
    HD_TRY(check_value(&c, 0));
    skip_space(&c);
    return c.p == c.end ? 0 : expected(&c, "the end of the text");
}
