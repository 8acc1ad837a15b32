/* Reads the text of a regular expression. */
#include <string.h>

#include "frontend/regexp.h"
#include "runtime/base/vec.h"
#include "templates/text.cuh"

enum { MAX_DEPTH = 100, LAST_CODE = 0x10ffff };

struct reading {
    struct hd_arena *a;
    const char *s;
    size_t n, at;
    int depth, groups;
    bool fold;
    struct fe_regexp_error *e;
};

struct ranges {
    struct fe_rx_range *v;
    int n, cap;
};

static struct fe_regexp *fail(struct reading *r, size_t at, const char *message)
{
    if (!r->e->message)
        *r->e = (struct fe_regexp_error){message, at};
    return NULL;
}

static struct fe_regexp *node(struct reading *r, enum fe_regexp_kind kind)
{
    struct fe_regexp *x = HD_NEW(r->a, struct fe_regexp);
    x->kind = kind;
    return x;
}

static bool more(const struct reading *r)
{
    return r->at < r->n;
}

static bool next_is(const struct reading *r, char c)
{
    return more(r) && r->s[r->at] == c;
}

static bool take(struct reading *r, char c)
{
    bool there = next_is(r, c);
    r->at += there;
    return there;
}

/* ---- characters ---------------------------------------------------------------------------------------- */

/* The next character of the pattern, which is UTF-8 as all texts of a plan are. */
static uint32_t take_code(struct reading *r)
{
    unsigned char b = (unsigned char)r->s[r->at++];
    int follow = b >= 0xf0 ? 3 : b >= 0xe0 ? 2 : b >= 0xc0 ? 1 : 0;
    uint32_t code = follow == 3 ? b & 7u : follow == 2 ? b & 15u : follow == 1 ? b & 31u : b;
    for (; follow > 0 && more(r); follow--)
        code = code << 6 | ((unsigned char)r->s[r->at++] & 0x3fu);
    return code;
}

static void add(struct reading *r, struct ranges *set, uint32_t lo, uint32_t hi)
{
    hd_vec_push(r->a, set, (struct fe_rx_range){lo, hi});
}

/* Characters whose case upper and lower know, in their other case, too. */
static void add_cases(struct reading *r, struct ranges *set)
{
    int n = set->n;
    for (int i = 0; r->fold && i < n; i++)
        for (uint32_t c = set->v[i].lo; c <= set->v[i].hi && c < 0x180; c++) {
            uint32_t upper = hdd_upper_code(c), lower = hdd_lower_code(c);
            add(r, set, upper, upper);
            add(r, set, lower, lower);
        }
}

/* In ascending order, none touches the next. */
static void normalise(struct ranges *set)
{
    int n = 0;
    for (int i = 1; i < set->n; i++)
        for (int k = i; k > 0 && set->v[k - 1].lo > set->v[k].lo; k--) {
            struct fe_rx_range t = set->v[k];
            set->v[k] = set->v[k - 1];
            set->v[k - 1] = t;
        }
    for (int i = 0; i < set->n; i++)
        if (n && set->v[i].lo <= set->v[n - 1].hi + 1)
            set->v[n - 1].hi = HD_MAX(set->v[n - 1].hi, set->v[i].hi);
        else
            set->v[n++] = set->v[i];
    set->n = n;
}

static void negate(struct reading *r, struct ranges *set)
{
    struct ranges out = {0};
    uint32_t from = 0;
    normalise(set);
    for (int i = 0; i < set->n; i++) {
        if (set->v[i].lo > from)
            add(r, &out, from, set->v[i].lo - 1);
        from = set->v[i].hi + 1;
    }
    if (from <= LAST_CODE)
        add(r, &out, from, LAST_CODE);
    *set = out;
}

static struct fe_regexp *class_of(struct reading *r, struct ranges *set)
{
    struct fe_regexp *x = node(r, FE_RX_CLASS);
    normalise(set);
    x->ranges = set->v;
    x->n = set->n;
    return x;
}

/* \d, \w, \s of ASCII and what they leave out. */
static bool named_class(struct reading *r, char c, struct ranges *set)
{
    struct ranges own = {0};
    switch (c | 0x20) {
    case 'd': add(r, &own, '0', '9'); break;
    case 's':
        add(r, &own, '\t', '\r');
        add(r, &own, ' ', ' ');
        break;
    case 'w':
        add(r, &own, '0', '9');
        add(r, &own, 'A', 'Z');
        add(r, &own, '_', '_');
        add(r, &own, 'a', 'z');
        break;
    default: return false;
    }
    if (!(c & 0x20))
        negate(r, &own);
    for (int i = 0; i < own.n; i++)
        add(r, set, own.v[i].lo, own.v[i].hi);
    return true;
}

/* What stands behind a backslash for one character. */
static bool escaped(struct reading *r, uint32_t *code)
{
    static const char letters[] = "nrtfv", meant[] = "\n\r\t\f\v";
    size_t start = r->at;
    if (!more(r))
        return fail(r, start - 1, "a backslash ends the pattern") != NULL;
    uint32_t c = take_code(r);
    const char *known = c < 0x80 ? strchr(letters, (int)c) : NULL;
    bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    if (known && c) {
        *code = (unsigned char)meant[known - letters];
        return true;
    }
    if (letter || (c >= '0' && c <= '9') || c >= 0x80)
        return fail(r, start - 1, "this is not supported behind a backslash") != NULL;
    *code = c;
    return true;
}

/* An element of a class: a character, or a class with a name. */
static bool class_element(struct reading *r, struct ranges *set, uint32_t *code, bool *single)
{
    *single = true;
    if (!take(r, '\\')) {
        if (next_is(r, '[') && r->at + 1 < r->n && strchr(":.=", r->s[r->at + 1]))
            return fail(r, r->at, "classes with names in [: :] are not supported") != NULL;
        *code = take_code(r);
        return true;
    }
    if (more(r) && named_class(r, r->s[r->at], set)) {
        r->at++;
        *single = false;
        return true;
    }
    return escaped(r, code);
}

static struct fe_regexp *read_class(struct reading *r)
{
    struct ranges set = {0};
    size_t start = r->at - 1;
    bool no = take(r, '^'), first = true, single;
    for (; !next_is(r, ']') || first; first = false) {
        uint32_t lo = 0, hi;
        size_t at = r->at;
        if (!more(r))
            return fail(r, start, "this class has no end");
        if (!class_element(r, &set, &lo, &single))
            return NULL;
        if (!single)
            continue;
        hi = lo;
        if (next_is(r, '-') && r->at + 1 < r->n && r->s[r->at + 1] != ']') {
            r->at++;
            if (!class_element(r, &set, &hi, &single))
                return NULL;
            if (!single || hi < lo)
                return fail(r, at, "this range of characters is none");
        }
        add(r, &set, lo, hi);
    }
    r->at++;
    add_cases(r, &set);
    if (no)
        negate(r, &set);
    return class_of(r, &set);
}

/* ---- parts --------------------------------------------------------------------------------------------- */

static struct fe_regexp *read_choice(struct reading *r);

static struct fe_regexp *read_group(struct reading *r)
{
    size_t start = r->at - 1;
    bool plain = take(r, '?');
    int number = plain ? 0 : ++r->groups;
    if (plain && !take(r, ':'))
        return fail(r, start, "groups are ( ) and (?: )");
    if (++r->depth > MAX_DEPTH)
        return fail(r, start, "groups are nested too deep");
    struct fe_regexp *x = read_choice(r);
    r->depth--;
    if (x && !take(r, ')'))
        return fail(r, start, "this group has no end");
    if (!x || plain)
        return x;
    struct fe_regexp *group = node(r, FE_RX_GROUP);
    group->parts = hd_dup(r->a, &x, sizeof x);
    group->n = 1;
    group->min = number;
    return group;
}

static struct fe_regexp *one_character(struct reading *r, uint32_t code)
{
    struct ranges set = {0};
    add(r, &set, code, code);
    add_cases(r, &set);
    return class_of(r, &set);
}

static struct fe_regexp *read_atom(struct reading *r)
{
    struct ranges set = {0};
    uint32_t code = 0;
    if (take(r, '('))
        return read_group(r);
    if (take(r, '['))
        return read_class(r);
    if (take(r, '^'))
        return node(r, FE_RX_BEGIN);
    if (take(r, '$'))
        return node(r, FE_RX_END);
    if (take(r, '.')) {
        add(r, &set, '\n', '\n');
        negate(r, &set);
        return class_of(r, &set);
    }
    if (strchr("*+?", r->s[r->at]))
        return fail(r, r->at, "nothing to repeat");
    if (!take(r, '\\'))
        return one_character(r, take_code(r));
    if (more(r) && named_class(r, r->s[r->at], &set)) {
        r->at++;
        return class_of(r, &set);
    }
    return escaped(r, &code) ? one_character(r, code) : NULL;
}

static bool take_number(struct reading *r, int *out)
{
    size_t start = r->at;
    for (*out = 0; more(r) && r->s[r->at] >= '0' && r->s[r->at] <= '9'; r->at++)
        *out = HD_MIN(*out * 10 + (r->s[r->at] - '0'), FE_REGEXP_MAX_REPEAT + 1);
    return r->at > start;
}

/* {m}, {m,}, {,n}, {m,n}; anything else in braces is text. */
static bool take_count(struct reading *r, int *min, int *max)
{
    size_t start = r->at;
    if (!take(r, '{'))
        return false;
    bool low = take_number(r, min), high = low;
    *max = *min;
    if (take(r, ',')) {
        high = take_number(r, max);
        *min = low ? *min : 0;
        *max = high ? *max : -1;
        low = low || high;
    }
    if (low && take(r, '}'))
        return true;
    r->at = start;
    return false;
}

static bool take_repeat(struct reading *r, int *min, int *max)
{
    *min = next_is(r, '+');
    *max = next_is(r, '?') ? 1 : -1;
    return take(r, '*') || take(r, '+') || take(r, '?') || take_count(r, min, max);
}

static struct fe_regexp *read_repeated(struct reading *r)
{
    struct fe_regexp *x = read_atom(r);
    int min, max, times = 0;
    size_t at = r->at;
    for (; x && take_repeat(r, &min, &max); at = r->at) {
        if (min > FE_REGEXP_MAX_REPEAT || max > FE_REGEXP_MAX_REPEAT || (max >= 0 && max < min))
            return fail(r, at, "a repetition is of 0 to 1000 times, not more at least than at most");
        if (times++)
            return fail(r, at, "a repetition is repeated; write a group");
        struct fe_regexp *y = node(r, FE_RX_REPEAT);
        y->parts = hd_dup(r->a, &x, sizeof x);
        y->n = 1;
        y->min = min;
        y->max = max;
        y->lazy = take(r, '?');
        if (next_is(r, '+'))
            return fail(r, r->at, "possessive repetitions are not supported");
        x = y;
    }
    return x;
}

static struct fe_regexp *list_of(struct reading *r, enum fe_regexp_kind kind, struct fe_regexp **v, int n)
{
    if (n == 1)
        return v[0];
    struct fe_regexp *x = node(r, n ? kind : FE_RX_EMPTY);
    x->parts = v;
    x->n = n;
    return x;
}

static struct fe_regexp *read_sequence(struct reading *r)
{
    HD_VEC(struct fe_regexp *) parts = {0};
    while (more(r) && !next_is(r, '|') && !next_is(r, ')')) {
        struct fe_regexp *x = read_repeated(r);
        if (!x)
            return NULL;
        hd_vec_push(r->a, &parts, x);
    }
    return list_of(r, FE_RX_CAT, parts.v, parts.n);
}

static struct fe_regexp *read_choice(struct reading *r)
{
    HD_VEC(struct fe_regexp *) parts = {0};
    do {
        struct fe_regexp *x = read_sequence(r);
        if (!x)
            return NULL;
        hd_vec_push(r->a, &parts, x);
    } while (take(r, '|'));
    return list_of(r, FE_RX_ALT, parts.v, parts.n);
}

struct fe_regexp *fe_regexp_read(struct hd_arena *a, const char *pattern, size_t n, int *groups,
                                 struct fe_regexp_error *e)
{
    struct reading r = {.a = a, .s = pattern, .n = n, .e = e};
    *e = (struct fe_regexp_error){0};
    if (n > FE_REGEXP_MAX_BYTES)
        return fail(&r, FE_REGEXP_MAX_BYTES, "a pattern has at most 1000 bytes");
    if (n >= 4 && memcmp(pattern, "(?i)", 4) == 0) {
        r.fold = true;
        r.at = 4;
    }
    struct fe_regexp *x = read_choice(&r);
    if (x && more(&r))
        return fail(&r, r.at, "a ) without its (");
    *groups = r.groups;
    return x;
}

/* ---- patterns of ilike --------------------------------------------------------------------------------- */

static struct fe_regexp *any_bytes(struct reading *r)
{
    struct fe_regexp *x = node(r, FE_RX_REPEAT), *byte = node(r, FE_RX_BYTE);
    x->parts = hd_dup(r->a, &byte, sizeof byte);
    x->n = 1;
    x->max = -1;
    return x;
}

/* A % at either end says no more than that the text goes on there, which a search allows. */
struct fe_regexp *fe_ilike_read(struct hd_arena *a, const char *pattern, size_t n, char escape)
{
    struct reading r = {.a = a, .s = pattern, .n = n, .fold = true};
    HD_VEC(struct fe_regexp *) parts = {0};
    bool open = false; /* the last thing is a % */
    if (!next_is(&r, '%'))
        hd_vec_push(a, &parts, node(&r, FE_RX_BEGIN));
    while (more(&r)) {
        bool literal = escape && r.at + 1 < n && take(&r, escape);
        open = !literal && take(&r, '%');
        if (!open)
            hd_vec_push(a, &parts, !literal && take(&r, '_') ? node(&r, FE_RX_BYTE) : one_character(&r, take_code(&r)));
        else if (parts.n && more(&r))
            hd_vec_push(a, &parts, any_bytes(&r));
    }
    if (!open)
        hd_vec_push(a, &parts, node(&r, FE_RX_END));
    return list_of(&r, FE_RX_CAT, parts.v, parts.n);
}
