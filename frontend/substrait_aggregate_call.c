/* Functions of many rows: of aggregates and of windows. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/substrait_read.h"
#include "runtime/base/interval.h"

enum { ARGS_MAX = 4 };

/* ---- sort keys --------------------------------------------------------------------------- */

static const struct direction {
    const char *name;
    bool desc, nulls_first;
} directions[] = {{"SORT_DIRECTION_ASC_NULLS_LAST", false, false},
                  {"SORT_DIRECTION_ASC_NULLS_FIRST", false, true},
                  {"SORT_DIRECTION_DESC_NULLS_LAST", true, false},
                  {"SORT_DIRECTION_DESC_NULLS_FIRST", true, true},
                  {"SORT_DIRECTION_CLUSTERED", false, false}};

static int sort_key(struct sub *t, const struct fe_json *v, struct sub_scope *s, struct cJSON **out)
{
    struct fe_json e;
    struct cJSON *x;
    const char *name = sub_text(v, "direction");
    const struct direction *d = NULL;
    for (size_t i = 0; i < HD_COUNT(directions); i++)
        if (strcmp(directions[i].name, name) == 0)
            d = &directions[i];
    if (!d)
        return sub_refuse(t, v, "expected a direction of sorting that is supported, found \"%.60s\"", name);
    HD_TRY(fe_json_need(v, "expr", &e));
    HD_TRY(sub_expr(t, &e, s, &x));
    if (!d->desc && !d->nulls_first) {
        *out = sub_key(t, x);
        return 0;
    }
    *out = fe_make_object(t->arena);
    fe_put(*out, "expr", x);
    if (d->desc)
        fe_put(*out, "desc", fe_make_bool(t->arena, true));
    if (d->nulls_first)
        fe_put(*out, "nulls", fe_make_string(t->arena, "first"));
    return 0;
}

int sub_sort_keys(struct sub *t, const struct fe_json *sorts, struct sub_scope *s, struct cJSON **out)
{
    struct fe_json m;
    *out = fe_make_list(t->arena);
    for (bool more = fe_json_first(sorts, &m); more; more = fe_json_next(&m)) {
        struct cJSON *key = NULL;
        HD_TRY(sort_key(t, &m, s, &key));
        fe_push(*out, key);
    }
    return 0;
}

/* ---- arguments --------------------------------------------------------------------------- */

struct arguments {
    struct cJSON *v[ARGS_MAX];
    int n;
};

static int read_arguments(struct sub *t, const struct fe_json *call, struct sub_scope *s, struct arguments *a)
{
    struct fe_json list, m, value;
    bool some = sub_list(call, "arguments", &list), old = !some && sub_list(call, "args", &list);
    a->n = 0;
    for (bool more = (some || old) && fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        if (a->n == ARGS_MAX)
            return sub_refuse(t, &m, "expected at most %d arguments", ARGS_MAX);
        if (!old && !fe_json_get(&m, "value", &value))
            return sub_refuse(t, &m, "expected an argument that is a value");
        HD_TRY(sub_expr(t, old ? &m : &value, s, &a->v[a->n++]));
    }
    return 0;
}

static int expect(const struct fe_json *call, const struct sub_aggregate *f, const struct arguments *a, int min,
                  int max)
{
    if (a->n >= min && a->n <= max)
        return 0;
    return fe_json_fail(call, "%s: expected %d to %d arguments, found %d", f->name, min, max, a->n);
}

static bool is_null(const struct cJSON *lit)
{
    return lit && cJSON_IsNull(lit);
}

/* A literal's value as an integer of JSON, which the fields beside expressions take; a parameter as it is. */
static int constant(struct sub *t, const struct fe_json *call, struct cJSON *x, const char *key, struct cJSON *out)
{
    struct cJSON *lit = fe_member(x, "lit");
    if (fe_member(x, "param")) {
        fe_put(out, key, x);
        return 0;
    }
    if (!lit || is_null(lit))
        return sub_refuse(t, call, "expected a literal or a parameter for %s", key);
    fe_put(out, key, fe_copy_json(t->arena, lit));
    return 0;
}

static int shifted(struct sub *t, const struct fe_json *call, const struct arguments *a, struct cJSON *out)
{
    fe_put(out, "arg", a->v[0]);
    if (a->n > 1)
        HD_TRY(constant(t, call, a->v[1], "offset", out));
    if (a->n > 2 && !is_null(fe_member(a->v[2], "lit")))
        fe_put(out, "default", a->v[2]);
    return 0;
}

static bool is_distinct(const struct fe_json *call)
{
    return strcmp(sub_text(call, "invocation"), "AGGREGATION_INVOCATION_DISTINCT") == 0;
}

/* The rows that a count of literals has are all; of distinct ones it has one, if any. */
static void counted(const struct fe_json *call, const struct arguments *a, struct cJSON *out)
{
    const struct cJSON *lit = a->n ? fe_member(a->v[0], "lit") : NULL;
    if (a->n && (!lit || is_null(lit) || is_distinct(call)))
        fe_put(out, "arg", a->v[0]);
}

static int put_arguments(struct sub *t, const struct fe_json *call, const struct sub_aggregate *f,
                         const struct arguments *a, struct cJSON *out)
{
    switch (f->rule) {
    case SUB_AGG_PLAIN:
    case SUB_AGG_EDGE:
        HD_TRY(expect(call, f, a, 1, 1));
        fe_put(out, "arg", a->v[0]);
        return 0;
    case SUB_AGG_COUNT: counted(call, a, out); return expect(call, f, a, 0, 1);
    case SUB_AGG_BY:
    case SUB_AGG_Q:
        HD_TRY(expect(call, f, a, 2, 2));
        fe_put(out, "arg", a->v[0]);
        fe_put(out, f->rule == SUB_AGG_BY ? "by" : "q", a->v[1]);
        return 0;
    case SUB_AGG_TEXT:
        HD_TRY(expect(call, f, a, 1, 2));
        fe_put(out, "arg", a->v[0]);
        return a->n > 1 ? constant(t, call, a->v[1], "separator", out) : 0;
    case SUB_AGG_RANK: return expect(call, f, a, 0, 0);
    case SUB_AGG_N: HD_TRY(expect(call, f, a, 1, 1)); return constant(t, call, a->v[0], "n", out);
    case SUB_AGG_NTH:
        HD_TRY(expect(call, f, a, 2, 2));
        fe_put(out, "arg", a->v[0]);
        return constant(t, call, a->v[1], "n", out);
    case SUB_AGG_SHIFT: HD_TRY(expect(call, f, a, 1, 3)); return shifted(t, call, a, out);
    }
    return 0;
}

static bool of_windows_only(enum sub_agg_rule rule)
{
    return rule == SUB_AGG_RANK || rule == SUB_AGG_N || rule == SUB_AGG_NTH || rule == SUB_AGG_SHIFT;
}

static int put_distinct(struct sub *t, const struct fe_json *call, const struct sub_aggregate *f, struct cJSON *out)
{
    const char *phase = sub_text(call, "phase");
    if (*phase && strcmp(phase, "AGGREGATION_PHASE_INITIAL_TO_RESULT") != 0 &&
        strcmp(phase, "AGGREGATION_PHASE_UNSPECIFIED") != 0)
        return sub_refuse(t, call, "aggregates in parts are not supported, found %s", phase);
    bool same = strcmp(f->fn, "min") == 0 || strcmp(f->fn, "max") == 0 || strncmp(f->fn, "bool_", 5) == 0;
    if (is_distinct(call) && !same)
        fe_put(out, "distinct", fe_make_bool(t->arena, true));
    return 0;
}

int sub_aggregate(struct sub *t, const struct fe_json *call, struct sub_scope *s, bool windowed, struct cJSON **out)
{
    const struct sub_aggregate *f;
    struct arguments a;
    struct fe_json sorts;
    HD_TRY(sub_find_aggregate(t, call, &f));
    if (!windowed && of_windows_only(f->rule))
        return sub_refuse(t, call, "%s is a function of windows", f->name);
    HD_TRY(read_arguments(t, call, s, &a));
    *out = fe_make_object(t->arena);
    const char *fn = windowed && f->rule == SUB_AGG_EDGE ? hd_asprintf(t->arena, "%s_value", f->fn) : f->fn;
    fe_put(*out, "fn", fe_make_string(t->arena, fn));
    HD_TRY(put_arguments(t, call, f, &a, *out));
    HD_TRY(put_distinct(t, call, f, *out));
    if (!windowed && sub_list(call, "sorts", &sorts) && (f->rule == SUB_AGG_EDGE || f->rule == SUB_AGG_TEXT)) {
        struct cJSON *order;
        HD_TRY(sub_sort_keys(t, &sorts, s, &order));
        fe_put(*out, "order", order);
    }
    return 0;
}

/* ---- windows ----------------------------------------------------------------------------- */

/* As the text that frames have for it; one of several units has none. */
static int interval_offset(struct sub *t, const struct fe_json *v, const struct hd_interval *by, const char *key,
                           struct cJSON *out)
{
    const int64_t parts[] = {by->months, by->days, by->micros};
    static const char *const units[] = {"month", "day", "microsecond"};
    int unit = 1, n = 0;
    for (int i = 0; i < (int)HD_COUNT(parts); i++)
        if (parts[i]) {
            unit = i;
            n++;
        }
    if (n > 1)
        return sub_refuse(t, v, "expected an interval of one unit as a frame's offset");
    fe_put(out, key,
           fe_make_text(t->arena, hd_asprintf(t->arena, "interval '%lld' %s", (long long)parts[unit], units[unit])));
    return 0;
}

/* An expression: an interval as text, a number of rows, a value as a tree. */
static int offset(struct sub *t, const struct fe_json *v, bool range, const char *key, struct cJSON *out)
{
    struct sub_scope nothing = {.place = "a frame"};
    struct hd_interval by;
    struct cJSON *x;
    HD_TRY(sub_expr(t, v, &nothing, &x));
    if (sub_interval(x, &by))
        return interval_offset(t, v, &by, key, out);
    if (!range)
        return constant(t, v, x, key, out);
    fe_put(out, key, x);
    return 0;
}

static int bound(struct sub *t, const struct fe_json *v, const char *key, const char *unbounded, bool range,
                 struct cJSON **out)
{
    static const char *const names[] = {"unbounded", "currentRow", "preceding", "following"};
    int k;
    int64_t n;
    struct fe_json m, kind;
    if (!fe_json_get(v, key, &m)) {
        *out = fe_make_string(t->arena, unbounded);
        return 0;
    }
    HD_TRY(sub_kind(&m, names, (int)HD_COUNT(names), "a bound", &k, &kind));
    if (k < 2) {
        *out = fe_make_string(t->arena, k == 0 ? unbounded : "current row");
        return 0;
    }
    *out = fe_make_object(t->arena);
    if (fe_json_get(&kind, "offsetExpr", &m))
        return offset(t, &m, range, names[k], *out);
    HD_TRY(sub_int(&kind, "offset", &n));
    fe_put(*out, names[k], fe_make_number(t->arena, (double)n));
    return 0;
}

static int put_frame(struct sub *t, const struct fe_json *v, struct cJSON *f)
{
    struct cJSON *frame = fe_make_object(t->arena), *start, *end;
    bool range = strcmp(sub_text(v, "boundsType"), "BOUNDS_TYPE_RANGE") == 0;
    HD_TRY(bound(t, v, "lowerBound", "unbounded preceding", range, &start));
    HD_TRY(bound(t, v, "upperBound", "unbounded following", range, &end));
    fe_put(frame, "unit", fe_make_string(t->arena, range ? "range" : "rows"));
    fe_put(frame, "start", start);
    fe_put(frame, "end", end);
    fe_put(f, "frame", frame);
    return 0;
}

static int put_partition(struct sub *t, const struct fe_json *v, const char *key, struct sub_scope *s, struct cJSON *f)
{
    struct fe_json list, m;
    if (!sub_list(v, key, &list))
        return 0;
    struct cJSON *keys = fe_make_list(t->arena), *x;
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        HD_TRY(sub_expr(t, &m, s, &x));
        fe_push(keys, sub_key(t, x));
    }
    fe_put(f, "partition", keys);
    return 0;
}

/* A function has a frame unless the order alone tells its value. */
static bool has_frame(enum sub_agg_rule rule)
{
    return !of_windows_only(rule) || rule == SUB_AGG_NTH;
}

static void add_to_window(struct sub *t, struct sub_scope *s, struct cJSON *f)
{
    if (!s->window) {
        struct cJSON *node = sub_make_op(t, "window");
        fe_put(node, "input", s->input->node);
        fe_put(node, "functions", fe_make_list(t->arena));
        s->input->node = s->window = node;
        s->input->exact = false;
    }
    fe_push(fe_member(s->window, "functions"), f);
}

int sub_window(struct sub *t, const struct fe_json *call, const struct fe_json *window, struct sub_scope *s,
               const char **column)
{
    const struct sub_aggregate *known;
    struct fe_json sorts;
    struct cJSON *f, *order;
    if (!s->input || s->right)
        return sub_refuse(t, call, "functions of windows are not supported here");
    HD_TRY(sub_find_aggregate(t, call, &known));
    HD_TRY(sub_aggregate(t, call, s, true, &f));
    HD_TRY(put_partition(t, window, "partitions", s, f));
    HD_TRY(put_partition(t, window, "partitionExpressions", s, f));
    if (sub_list(window, "sorts", &sorts)) {
        HD_TRY(sub_sort_keys(t, &sorts, s, &order));
        fe_put(f, "order", order);
    }
    if (has_frame(known->rule))
        HD_TRY(put_frame(t, call, f));
    *column = sub_new_name(t, fe_member_text(f, "fn"));
    fe_put(f, "as", fe_make_string(t->arena, *column));
    add_to_window(t, s, f);
    return 0;
}
