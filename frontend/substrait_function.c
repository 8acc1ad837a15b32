/* Functions by their producers' names. */
#include <cjson/cJSON.h>
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/expr.h"
#include "frontend/substrait_read.h"
#include "runtime/base/interval.h"
#include "runtime/base/suggest.h"

struct call {
    struct sub *t;
    const struct fe_json *at, *said; /* its name, and all of it */
    const char *name, *op;
    int n;
    struct cJSON **args;
};
typedef int call_rule(const struct call *c, struct cJSON **out);

static const struct {
    enum fe_field field;
    const char *name, *counts_from;
} components[] = {
#define T_COMPONENT(id, name, counts_from) {FE_##id, name, counts_from},
#include "frontend/substrait_produced.def"
};

/* ---- rules ------------------------------------------------------------------------------- */

static int expect_args(const struct call *c, int min, int max)
{
    if (c->n >= min && c->n <= max)
        return 0;
    return fe_json_fail(c->at, "%s: expected %d to %d arguments, found %d", c->name, min, max, c->n);
}

static int op(const struct call *c, struct cJSON **out)
{
    *out = sub_call(c->t, c->op, NULL);
    for (int i = 0; i < c->n; i++)
        sub_add_arg(*out, c->args[i]);
    return 0;
}

static int nary(const struct call *c, struct cJSON **out)
{
    if (c->n < 2) {
        *out = c->n ? c->args[0] : NULL;
        return expect_args(c, 1, INT_MAX);
    }
    *out = sub_call(c->t, c->op, NULL);
    for (int i = 0; i < c->n; i++) {
        const char *is = fe_member_text(c->args[i], "op");
        if (!is || strcmp(is, c->op) != 0) {
            sub_add_arg(*out, c->args[i]);
            continue;
        }
        struct cJSON *next, *inner = fe_member(c->args[i], "args")->child;
        for (; inner; inner = next) {
            next = inner->next;
            inner->next = inner->prev = NULL;
            sub_add_arg(*out, inner);
        }
    }
    return 0;
}

/* like: an escape of nothing is none. */
static int match(const struct call *c, struct cJSON **out)
{
    struct call two = *c;
    HD_TRY(expect_args(c, 2, 3));
    const struct cJSON *escape = c->n == 3 ? fe_member(c->args[2], "lit") : NULL;
    if (escape && (cJSON_IsNull(escape) || (cJSON_IsString(escape) && !*escape->valuestring)))
        two.n = 2;
    return op(&two, out);
}

static int match_not(const struct call *c, struct cJSON **out)
{
    HD_TRY(match(c, out));
    *out = sub_call(c->t, "not", *out, NULL);
    return 0;
}

static int negated(const struct call *c, struct cJSON **out)
{
    HD_TRY(op(c, out));
    *out = sub_call(c->t, "not", *out, NULL);
    return 0;
}

static struct cJSON *whole(struct sub *t, int64_t n)
{
    struct cJSON *x = fe_make_object(t->arena);
    fe_put(x, "lit", fe_make_text(t->arena, hd_asprintf(t->arena, "%lld", (long long)n)));
    fe_put(x, "type", fe_make_string(t->arena, "int64"));
    return x;
}

/* x, a date, time or interval, moved by a literal: its parts one behind the other, the longest first, so that a date that
 * moves by whole days stays one. */
static struct cJSON *moved(struct sub *t, struct cJSON *x, struct hd_interval by, bool back)
{
    const int64_t parts[] = {by.months, by.days, by.micros};
    static const char *const ops[] = {"add_months", "add_days", "add_micros"};
    for (size_t i = 0; i < HD_COUNT(parts); i++)
        if (parts[i])
            x = sub_call(t, ops[i], x, whole(t, back ? -parts[i] : parts[i]), NULL);
    return x;
}

/* What moves a date are whole days, which producers may write as hours. */
static bool gives_date(const struct call *c)
{
    struct fe_json type, date;
    return fe_json_get(c->said, "outputType", &type) && fe_json_get(&type, "date", &date);
}

static struct hd_interval in_days(struct hd_interval by)
{
    const int64_t day = INT64_C(86400000000);
    by.days += by.micros / day;
    by.micros %= day;
    return by;
}

static int shift(const struct call *c, struct cJSON **out)
{
    bool minus = strcmp(c->op, "-") == 0;
    struct hd_interval by = {0}, ignored;
    HD_TRY(expect_args(c, 2, 2));
    if (sub_interval(c->args[1], &by) && !sub_interval(c->args[0], &ignored))
        *out = moved(c->t, c->args[0], gives_date(c) ? in_days(by) : by, minus);
    else if (!minus && sub_interval(c->args[0], &by) && !sub_interval(c->args[1], &ignored))
        *out = moved(c->t, c->args[1], gives_date(c) ? in_days(by) : by, false);
    else
        return op(c, out);
    return 0;
}

static struct cJSON *text_literal(struct sub *t, const char *s)
{
    struct cJSON *x = fe_make_object(t->arena);
    fe_put(x, "lit", fe_make_string(t->arena, s));
    fe_put(x, "type", fe_make_string(t->arena, "string"));
    return x;
}

static int fold_with(const struct call *c, bool null_is_empty, struct cJSON **out)
{
    HD_TRY(expect_args(c, 1, INT_MAX));
    *out = NULL;
    for (int i = 0; i < c->n; i++) {
        struct cJSON *x = c->args[i];
        if (null_is_empty && !fe_member(x, "lit"))
            x = sub_call(c->t, "coalesce", x, text_literal(c->t, ""), NULL);
        *out = *out ? sub_call(c->t, c->op, *out, x, NULL) : x;
    }
    return 0;
}

static int fold(const struct call *c, struct cJSON **out)
{
    return fold_with(c, false, out);
}

static int fold_text(const struct call *c, struct cJSON **out)
{
    return fold_with(c, true, out);
}

static int between(const struct call *c, struct cJSON **out)
{
    HD_TRY(expect_args(c, 3, 3));
    *out = sub_call(c->t, "and", sub_call(c->t, ">=", c->args[0], c->args[1], NULL),
                    sub_call(c->t, "<=", fe_copy_json(c->t->arena, c->args[0]), c->args[2], NULL), NULL);
    return 0;
}

static struct cJSON *lower_text(struct sub *t, const char *s)
{
    char *lower = hd_strdup(t->arena, s);
    for (char *p = lower; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return fe_make_text(t->arena, lower);
}

static int with_field(const struct call *c, const char *op_name, struct cJSON **out)
{
    HD_TRY(expect_args(c, 2, 3));
    const char *field = fe_member_text(c->args[0], "lit");
    if (!field)
        return sub_refuse(c->t, c->at, "%s: expected the field's name as a text", c->name);
    *out = sub_make_op(c->t, op_name);
    fe_put(*out, "field", lower_text(c->t, field));
    fe_put(*out, "args", fe_make_list(c->t->arena));
    sub_add_arg(*out, c->args[1]);
    return 0;
}

/* A component by Substrait's name; a second enum says whether it counts from 1 or from 0. Others are Heddle's names. */
static int field(const struct call *c, struct cJSON **out)
{
    const char *name = c->n ? fe_member_text(c->args[0], "lit") : NULL;
    const char *from = c->n == 3 ? fe_member_text(c->args[1], "lit") : NULL;
    bool indexed = from && (strcmp(from, "ONE") == 0 || strcmp(from, "ZERO") == 0);
    struct cJSON *args[2] = {c->n ? c->args[0] : NULL, indexed ? c->args[2] : NULL};
    struct call plain = *c;
    if (indexed) {
        plain.n = 2;
        plain.args = args;
    }
    HD_TRY(with_field(&plain, "extract", out));
    for (size_t i = 0; name && i < HD_COUNT(components); i++) {
        if (strcmp(components[i].name, name) != 0)
            continue;
        const char *counts = components[i].counts_from;
        fe_member(*out, "field")->valuestring = hd_strdup(c->t->arena, fe_field_name(components[i].field));
        if (indexed && *counts && strcmp(counts, from) != 0)
            *out = sub_call(c->t, *from == 'O' ? "+" : "-", *out, whole(c->t, 1), NULL);
    }
    return 0;
}

static int cut(const struct call *c, struct cJSON **out)
{
    return with_field(c, "date_trunc", out);
}

static int field_of(const struct call *c, struct cJSON **out)
{
    HD_TRY(expect_args(c, 1, 1));
    *out = sub_make_op(c->t, "extract");
    fe_put(*out, "field", fe_make_string(c->t->arena, c->op));
    fe_put(*out, "args", fe_make_list(c->t->arena));
    sub_add_arg(*out, c->args[0]);
    return 0;
}

static struct cJSON *or_false(const struct call *c, struct cJSON *x)
{
    struct cJSON *no = fe_make_object(c->t->arena);
    fe_put(no, "lit", fe_make_bool(c->t->arena, false));
    return sub_call(c->t, "coalesce", x, no, NULL);
}

static int truth(const struct call *c, struct cJSON **out)
{
    HD_TRY(expect_args(c, 1, 1));
    *out = or_false(c, c->args[0]);
    return 0;
}

static int truth_not(const struct call *c, struct cJSON **out)
{
    HD_TRY(truth(c, out));
    *out = sub_call(c->t, "not", *out, NULL);
    return 0;
}

static int untruth(const struct call *c, struct cJSON **out)
{
    HD_TRY(expect_args(c, 1, 1));
    *out = or_false(c, sub_call(c->t, "not", c->args[0], NULL));
    return 0;
}

static int untruth_not(const struct call *c, struct cJSON **out)
{
    HD_TRY(untruth(c, out));
    *out = sub_call(c->t, "not", *out, NULL);
    return 0;
}

/* NULL if one of them is. */
static int strict(const struct call *c, struct cJSON **out)
{
    HD_TRY(expect_args(c, 1, INT_MAX));
    HD_TRY(op(c, out));
    struct cJSON *none = NULL;
    for (int i = 0; i < c->n; i++) {
        if (fe_member(c->args[i], "lit") && !cJSON_IsNull(fe_member(c->args[i], "lit")))
            continue;
        struct cJSON *is = sub_call(c->t, "is_null", fe_copy_json(c->t->arena, c->args[i]), NULL);
        none = none ? sub_call(c->t, "or", none, is, NULL) : is;
    }
    if (none)
        *out = sub_call(c->t, "case", sub_call(c->t, "not", none, NULL), *out, NULL);
    return 0;
}

/* Ibis puts a cast around it. */
static bool whole_literal(const struct cJSON *x, long long *out)
{
    const struct cJSON *lit = fe_member(x, "lit");
    const char *op_name = fe_member_text(x, "op"), *type = fe_member_text(x, "type");
    if (op_name && strcmp(op_name, "cast") == 0 && type && strncmp(type, "int", 3) == 0)
        return whole_literal(fe_first_json(fe_member(x, "args")), out);
    if (lit && cJSON_IsNumber(lit))
        *out = (long long)lit->valuedouble;
    else if (lit && cJSON_IsString(lit))
        *out = strtoll(lit->valuestring, NULL, 10);
    else
        return false;
    return *out > -(1LL << 31) && *out < 1LL << 31;
}

/* Heddle's substring counts bytes, left and right count characters, which is what producers mean: the first `length` of
 * what is left behind the first start - 1. Both are literals. */
static int part(const struct call *c, struct cJSON **out)
{
    long long start, length = 0;
    HD_TRY(expect_args(c, 2, 3));
    if (!whole_literal(c->args[1], &start) || (c->n == 3 && !whole_literal(c->args[2], &length)))
        return sub_refuse(c->t, c->at, "%s: start and length must be literals", c->name);
    if (length < 0 || (start < 1 && c->t->producer != SUB_DATAFUSION))
        return sub_refuse(c->t, c->at, "%s: expected a start of 1 or more and a length of 0 or more", c->name);
    *out = c->args[0];
    if (start > 1)
        *out = sub_call(c->t, "right", *out, whole(c->t, 1 - start), NULL);
    else
        length = HD_MAX(length + start - 1, 0); /* places before the first are empty */
    if (c->n == 3)
        *out = sub_call(c->t, "left", *out, whole(c->t, length), NULL);
    return 0;
}

/* ---- tables ------------------------------------------------------------------------------ */

struct row {
    const char *name, *op;
    call_rule *rule;
};
#define T_CALL(name, op_name, rule) {name, op_name, rule},
static const struct row datafusion_calls[] = {
#include "frontend/substrait_datafusion.def"
};
#define T_CALL(name, op_name, rule) {name, op_name, rule},
static const struct row duckdb_calls[] = {
#include "frontend/substrait_duckdb.def"
};
#define T_CALL(name, op_name, rule) {name, op_name, rule},
static const struct row standard_calls[] = {
#include "frontend/substrait_calcite.def"
};
#define T_AGGREGATE(name, fn, rule) {name, fn, SUB_AGG_##rule},
static const struct sub_aggregate datafusion_aggregates[] = {
#include "frontend/substrait_datafusion.def"
};
#define T_AGGREGATE(name, fn, rule) {name, fn, SUB_AGG_##rule},
static const struct sub_aggregate duckdb_aggregates[] = {
#include "frontend/substrait_duckdb.def"
};
#define T_AGGREGATE(name, fn, rule) {name, fn, SUB_AGG_##rule},
static const struct sub_aggregate standard_aggregates[] = {
#include "frontend/substrait_calcite.def"
};
/* Heddle's own, whose arguments are those of the plan's fields in the order arg, by or q or separator. */
#define T_AGG(id, name, nargs, ...)   {name, name, (nargs) == 2 ? SUB_AGG_BY : SUB_AGG_PLAIN},
#define T_ORDERED(id, name, distinct) {name, name, (enum sub_agg_rule)OWN_##id},
enum {
    OWN_MEDIAN = SUB_AGG_PLAIN,
    OWN_QUANTILE_CONT = SUB_AGG_Q,
    OWN_QUANTILE_DISC = SUB_AGG_Q,
    OWN_MODE = SUB_AGG_PLAIN,
    OWN_FIRST = SUB_AGG_EDGE,
    OWN_LAST = SUB_AGG_EDGE,
    OWN_APPROX_COUNT_DISTINCT = SUB_AGG_PLAIN,
    OWN_STRING_AGG = SUB_AGG_TEXT
};
static const struct sub_aggregate own_aggregates[] = {
#include "frontend/aggs.def"
};

#define TABLE(rows) {rows, (int)HD_COUNT(rows)}
static const struct {
    const struct row *rows;
    int n;
} calls[] = {[SUB_DATAFUSION] = TABLE(datafusion_calls),
             [SUB_DUCKDB] = TABLE(duckdb_calls),
             [SUB_STANDARD] = TABLE(standard_calls)};
static const struct {
    const struct sub_aggregate *rows;
    int n;
} aggregates[] = {[SUB_DATAFUSION] = TABLE(datafusion_aggregates),
                  [SUB_DUCKDB] = TABLE(duckdb_aggregates),
                  [SUB_STANDARD] = TABLE(standard_aggregates)};

static const struct row *find_call(enum sub_producer p, const char *name)
{
    for (int i = 0; i < calls[p].n; i++)
        if (strcmp(calls[p].rows[i].name, name) == 0)
            return &calls[p].rows[i];
    return p == SUB_STANDARD ? NULL : find_call(SUB_STANDARD, name);
}

static const struct sub_aggregate *find_aggregate(enum sub_producer p, const char *name)
{
    for (int i = 0; i < aggregates[p].n; i++)
        if (strcmp(aggregates[p].rows[i].name, name) == 0)
            return &aggregates[p].rows[i];
    return p == SUB_STANDARD ? NULL : find_aggregate(SUB_STANDARD, name);
}

const char *sub_function_name(struct sub *t, const struct fe_json *call, struct fe_json *reference)
{
    int64_t anchor = 0;
    if (fe_json_opt_int(call, "functionReference", 0, INT64_MAX, &anchor) != 0)
        return NULL;
    if (!fe_json_get(call, "functionReference", reference))
        *reference = *call;
    for (int i = 0; i < t->nfunctions; i++)
        if (t->functions[i].anchor == anchor)
            return t->functions[i].name;
    fe_json_fail(reference, "function %lld is not among the plan's extensions", (long long)anchor);
    return NULL;
}

static bool call_is(struct sub *t, const struct fe_json *call, const char *name)
{
    int64_t anchor = 0;
    struct fe_json m;
    if (fe_json_get(call, "functionReference", &m) && fe_json_int(&m, 0, INT64_MAX, &anchor) != 0)
        return false;
    for (int i = 0; i < t->nfunctions; i++)
        if (t->functions[i].anchor == anchor)
            return strcmp(t->functions[i].name, name) == 0;
    return false;
}

bool sub_is_own(struct sub *t, const struct fe_json *call)
{
    int64_t anchor = 0;
    struct fe_json m;
    if (fe_json_get(call, "functionReference", &m) && fe_json_int(&m, 0, INT64_MAX, &anchor) != 0)
        return false;
    for (int i = 0; i < t->nfunctions; i++)
        if (t->functions[i].anchor == anchor)
            return t->functions[i].own;
    return false;
}

bool sub_is_coalesce(struct sub *t, const struct fe_json *call)
{
    return call_is(t, call, "coalesce");
}

bool sub_is_and(struct sub *t, const struct fe_json *call)
{
    return call_is(t, call, "and");
}

bool sub_is_equal(struct sub *t, const struct fe_json *call, bool *null_equal)
{
    *null_equal = call_is(t, call, "is_not_distinct_from");
    return *null_equal || call_is(t, call, "equal");
}

int sub_scalar_function(struct sub *t, const struct fe_json *call, const struct fe_json *at, const char *name, int n,
                        struct cJSON **args, struct cJSON **out)
{
    const struct row *row = find_call(t->producer, name);
    if (!row)
        return sub_refuse(t, at, "function \"%.60s\" is not known", name);
    struct call c = {t, at, call, name, row->op, n, args};
    return row->rule(&c, out);
}

/* Functions of windows that are no aggregates have their names in the standard's table as well. */
static const struct sub_aggregate *find_own(const char *name)
{
    for (size_t i = 0; i < HD_COUNT(own_aggregates); i++)
        if (strcmp(own_aggregates[i].name, name) == 0)
            return &own_aggregates[i];
    return find_aggregate(SUB_STANDARD, name);
}

int sub_find_aggregate(struct sub *t, const struct fe_json *call, const struct sub_aggregate **out)
{
    struct fe_json reference;
    const char *name = sub_function_name(t, call, &reference);
    if (!name)
        return -1;
    *out = sub_is_own(t, call) ? find_own(name) : find_aggregate(t->producer, name);
    return *out ? 0 : sub_refuse(t, &reference, "aggregate or window function \"%.60s\" is not known", name);
}
