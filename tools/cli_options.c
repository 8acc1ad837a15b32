/* Options: one table for parsing, checking and help. */
#include "tools/cli.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/suggest.h"

enum kind { FLAG, TEXT, CHOICE, COUNT, BYTES, REAL, LIST };

static const struct option_row {
    const char *name;
    int letter;
    enum kind kind;
    const char *arg;
    double lo, hi;
    const char *help;
} rows[CLI_OPTION_COUNT] = {
#define T_OPT(id, name, letter, kind, arg, lo, hi, help) {name, letter, kind, arg, lo, hi, help},
#include "tools/cli_options.def"
};

enum { FIRST_LONG = 1000 }; /* getopt's value of a long option: this plus its id */

bool cli_parse_count(const char *text, int64_t lo, int64_t hi, int64_t *out)
{
    const char *digits = text + (*text == '-');
    errno = 0;
    long long v = strtoll(text, NULL, 10);
    if (errno || !*digits || digits[strspn(digits, "0123456789")] || v < lo || v > hi)
        return false;
    *out = v;
    return true;
}

/* A decimal number at the start of the text: strtod alone takes blanks, 0x10, nan and inf too.
 * *end: behind it; at the text if there is none. */
static double parse_decimal(const char *text, const char **end)
{
    size_t n = strspn(text, "0123456789.eE+-");
    char *copy = cli_format("%.*s", (int)n, text), *stop;
    double x = strtod(copy, &stop);
    *end = *text && strchr("0123456789.", *text) ? text + (stop - copy) : text;
    free(copy);
    return x;
}

static int parse_count(const struct option_row *r, const char *text, struct cli_value *v, struct cli_error *err)
{
    if (cli_parse_count(text, (int64_t)r->lo, (int64_t)r->hi, &v->count))
        return 0;
    return cli_fail(err, CLI_BAD_INPUT, NULL, "--%s: expected an integer from %.0f to %.0f, found \"%s\"", r->name,
                    r->lo, r->hi, text);
}

static int parse_bytes(const struct option_row *r, const char *text, struct cli_value *v, struct cli_error *err)
{
    static const char units[] = "KMGT";
    const char *end;
    double x = parse_decimal(text, &end);
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    if (unit) {
        x = ldexp(x, 10 * (int)(unit - units + 1));
        end++;
    }
    if (end == text || *end || !(x >= r->lo && x <= r->hi))
        return cli_fail(err, CLI_BAD_INPUT, NULL,
                        "--%s: expected a number of bytes such as 4096, 512M or 1.5G, "
                        "found \"%s\"",
                        r->name, text);
    v->count = (int64_t)x;
    return 0;
}

static int parse_real(const struct option_row *r, const char *text, struct cli_value *v, struct cli_error *err)
{
    const char *end;
    v->real = parse_decimal(text, &end);
    if (end != text && !*end && v->real >= r->lo && v->real <= r->hi)
        return 0;
    return cli_fail(err, CLI_BAD_INPUT, NULL, "--%s: expected a number from %g to %g, found \"%s\"", r->name, r->lo,
                    r->hi, text);
}

static int parse_choice(const struct option_row *r, const char *text, struct cli_error *err)
{
    size_t n = strlen(text);
    for (const char *word = r->arg; word; word = strchr(word, '|')) {
        word += *word == '|';
        if (strcspn(word, "|") == n && memcmp(word, text, n) == 0)
            return 0;
    }
    return cli_fail(err, CLI_BAD_INPUT, NULL, "--%s: expected %s, found \"%s\"", r->name, r->arg, text);
}

static int read_option(struct cli_args *a, enum cli_option_id id, const char *text, struct cli_error *err)
{
    const struct option_row *r = &rows[id];
    struct cli_value *v = &a->option[id];
    v->text = text ? text : "";
    switch (r->kind) {
    case FLAG: return 0;
    case TEXT:
        if (!*v->text)
            return cli_fail(err, CLI_BAD_INPUT, NULL, "--%s: expected %s, found nothing", r->name, r->arg);
        return 0;
    case CHOICE: return parse_choice(r, text, err);
    case COUNT: return parse_count(r, text, v, err);
    case BYTES: return parse_bytes(r, text, v, err);
    case REAL: return parse_real(r, text, v, err);
    case LIST:
        a->params = cli_realloc(a->params, sizeof *a->params * (size_t)(a->n_params + 1));
        a->params[a->n_params++] = text;
        return 0;
    }
    return 0;
}

/* What getopt needs of the command's options. letters: room for 2 + 2 characters a row. */
static void getopt_tables(const struct cli_command *c, struct option *longs, char *letters)
{
    *letters++ = ':'; /* a missing argument is told apart from an unknown option */
    const enum cli_option_id *id = c->options;
    for (bool last = false; !last; id++) {
        const struct option_row *r = &rows[*id];
        *longs++ =
            (struct option){r->name, r->kind == FLAG ? no_argument : required_argument, NULL, FIRST_LONG + (int)*id};
        if (r->letter) {
            *letters++ = (char)r->letter;
            if (r->kind != FLAG)
                *letters++ = ':';
        }
        last = *id == CLI_HELP;
    }
    *longs = (struct option){0};
    *letters = 0;
}

static enum cli_option_id find_letter(int letter)
{
    int id = 0;
    while (id < CLI_HELP && rows[id].letter != letter)
        id++;
    return (enum cli_option_id)id;
}

/* Which of the command's options was meant by --word or --word=value. */
static char *suggest_option(const struct cli_command *c, const char *argument)
{
    char *word = cli_format("%.*s", (int)strcspn(argument + 2, "="), argument + 2);
    struct suggestion suggestion = suggest_start(word);
    for (const enum cli_option_id *id = c->options; *id != CLI_HELP; id++)
        suggest_offer(&suggestion, rows[*id].name);
    char *hint = suggest_hint(&suggestion, "--");
    free(word);
    return hint;
}

/* getopt refused the argument before optind (or, of a cluster of letters, the letter). */
static int fail_option(const struct cli_command *c, int found, char **argv, struct cli_error *err)
{
    const char *what = argv[optind - 1];
    char letter[3] = {'-', (char)optopt, 0};
    bool is_long = optopt == 0 || optopt >= FIRST_LONG;
    if (found == ':' && is_long)
        return cli_fail(err, CLI_BAD_INPUT, NULL, "--%s: expected %s, found nothing", rows[optopt - FIRST_LONG].name,
                        rows[optopt - FIRST_LONG].arg);
    if (found == ':')
        return cli_fail(err, CLI_BAD_INPUT, NULL, "%s: expected %s, found nothing", letter,
                        rows[find_letter(optopt)].arg);
    if (is_long && optopt)
        return cli_fail(err, CLI_BAD_INPUT, NULL, "--%s takes no value, found \"%s\"", rows[optopt - FIRST_LONG].name,
                        what);
    char *hint = is_long ? suggest_option(c, what) : cli_strdup("");
    cli_fail(err, CLI_BAD_INPUT, NULL, "unknown option \"%s\"%s (see heddle %s --help)", is_long ? what : letter, hint,
             c->name);
    free(hint);
    return -1;
}

static int read_operands(const struct cli_command *c, struct cli_args *a, int argc, char **argv, struct cli_error *err)
{
    a->operands = argv + optind;
    a->n_operands = argc - optind;
    if (a->n_operands < c->min_operands)
        return cli_fail(err, CLI_BAD_INPUT, NULL, "expected %s (see heddle %s --help)", c->operands, c->name);
    if (a->n_operands > c->max_operands)
        return cli_fail(err, CLI_BAD_INPUT, NULL, "unexpected argument \"%s\" (see heddle %s --help)",
                        a->operands[c->max_operands], c->name);
    return 0;
}

int cli_parse(const struct cli_command *c, int argc, char **argv, struct cli_args *a, bool *help, struct cli_error *err)
{
    struct option longs[CLI_OPTION_COUNT + 1];
    char letters[4 * CLI_OPTION_COUNT];
    getopt_tables(c, longs, letters);
    *a = (struct cli_args){0};
    *help = false;
    opterr = 0;
    optind = 1;
    for (int found; (found = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        if (found == ':' || found == '?')
            return fail_option(c, found, argv, err);
        enum cli_option_id id = found >= FIRST_LONG ? (enum cli_option_id)(found - FIRST_LONG) : find_letter(found);
        if (id == CLI_HELP) {
            *help = true;
            return 0;
        }
        if (read_option(a, id, optarg, err))
            return -1;
    }
    return read_operands(c, a, argc, argv, err);
}

void cli_args_release(struct cli_args *a)
{
    free(a->params);
    *a = (struct cli_args){0};
}

int cli_require(const struct cli_args *a, enum cli_option_id id, struct cli_error *err)
{
    if (cli_given(a, id))
        return 0;
    return cli_fail(err, CLI_BAD_INPUT, NULL, "--%s %s is missing", rows[id].name, rows[id].arg);
}

int cli_refuse(const struct cli_args *a, const enum cli_option_id *ids, size_t n, struct cli_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (cli_given(a, ids[i]))
            return cli_fail(err, CLI_BAD_INPUT, NULL, "--%s means nothing for %s", rows[ids[i]].name, a->operands[0]);
    return 0;
}

int cli_exclude(const struct cli_args *a, enum cli_option_id x, enum cli_option_id y, struct cli_error *err)
{
    if (!cli_given(a, x) || !cli_given(a, y))
        return 0;
    return cli_fail(err, CLI_BAD_INPUT, NULL, "--%s and --%s exclude each other", rows[x].name, rows[y].name);
}

static void help_option(const struct option_row *r, FILE *f)
{
    char left[80];
    int n = r->letter ? snprintf(left, sizeof left, "  -%c, --%s", r->letter, r->name)
                      : snprintf(left, sizeof left, "      --%s", r->name);
    if (r->arg)
        snprintf(left + n, sizeof left - (size_t)n, " %s", r->arg);
    if (strlen(left) > 30)
        fprintf(f, "%s\n%32s%s\n", left, "", r->help);
    else
        fprintf(f, "%-32s%s\n", left, r->help);
}

void cli_help(const struct cli_command *c, FILE *f)
{
    fprintf(f, "usage: heddle %s%s%s [OPTION]...\n\n%s\n\noptions:\n", c->name, *c->operands ? " " : "", c->operands,
            c->about);
    const enum cli_option_id *id = c->options;
    for (; *id != CLI_HELP; id++)
        help_option(&rows[*id], f);
    help_option(&rows[CLI_HELP], f);
}
