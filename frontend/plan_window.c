/* Reads the operator window (docs/plan.md 1.4). Every function is said with columns of a WINDOW node, which are numbers
 * of rows in their partition and values of rows with such numbers, by an expression of a PROJECT above it: rank is a
 * number, lag a value, a sum over a frame the difference of two running sums. */
#include <inttypes.h>

#include "frontend/plan_window.h"
#include "frontend/value.h"
#include "runtime/base/vec.h"

enum function {
    ROW_NUMBER,
    RANK,
    DENSE_RANK,
    PERCENT_RANK,
    CUME_DIST,
    NTILE,
    LAG,
    LEAD,
    FIRST_VALUE,
    LAST_VALUE,
    NTH_VALUE,
    COUNT,
    SUM,
    AVG,
    MIN,
    MAX,
    COUNT_IF,
    BOOL_AND,
    BOOL_OR,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    ARG_MIN,
    ARG_MAX,
    MEDIAN,
    QUANTILE_CONT,
    QUANTILE_DISC,
    APPROX_COUNT_DISTINCT,
    MODE,
    STRING_AGG,
#define T_AGG(id, ...)
#define T_MOMENT(id, ...) id,
#include "frontend/aggs.def"
    FUNCTIONS
};
static const struct {
    const char *name;
    bool arg, offset, count, framed, nulls; /* takes "arg", "offset" and "default", "n", "frame", "nulls" */
    bool by; /* takes "by" */
    bool distinct, q, separator; /* takes them */
    bool ties; /* its value depends on the order of rows that tie */
    enum fe_agg_fn agg; /* that it is; or nothing */
} functions[FUNCTIONS] = {
    [ROW_NUMBER] = {.name = "row_number", .ties = true},
    [RANK] = {.name = "rank"},
    [DENSE_RANK] = {.name = "dense_rank"},
    [PERCENT_RANK] = {.name = "percent_rank"},
    [CUME_DIST] = {.name = "cume_dist"},
    [NTILE] = {.name = "ntile", .count = true, .ties = true},
    [LAG] = {.name = "lag", .nulls = true, .arg = true, .offset = true, .ties = true},
    [LEAD] = {.name = "lead", .nulls = true, .arg = true, .offset = true, .ties = true},
    [FIRST_VALUE] = {.name = "first_value", .nulls = true, .arg = true, .framed = true, .ties = true},
    [LAST_VALUE] = {.name = "last_value", .nulls = true, .arg = true, .framed = true, .ties = true},
    [NTH_VALUE] = {.name = "nth_value", .nulls = true, .arg = true, .count = true, .framed = true, .ties = true},
    [COUNT] = {.name = "count", .framed = true, .distinct = true, .agg = FE_AGG_COUNT},
    [SUM] = {.name = "sum", .arg = true, .framed = true, .distinct = true, .agg = FE_AGG_SUM},
    [AVG] = {.name = "avg", .arg = true, .framed = true, .distinct = true, .agg = FE_AGG_AVG},
    [MIN] = {.name = "min", .arg = true, .framed = true, .agg = FE_AGG_MIN},
    [MAX] = {.name = "max", .arg = true, .framed = true, .agg = FE_AGG_MAX},
    [COUNT_IF] = {.name = "count_if", .arg = true, .framed = true, .agg = FE_AGG_COUNT_IF},
    [BOOL_AND] = {.name = "bool_and", .arg = true, .framed = true, .agg = FE_AGG_BOOL_AND},
    [BOOL_OR] = {.name = "bool_or", .arg = true, .framed = true, .agg = FE_AGG_BOOL_OR},
    [BIT_AND] = {.name = "bit_and", .arg = true, .framed = true, .agg = FE_AGG_BIT_AND},
    [BIT_OR] = {.name = "bit_or", .arg = true, .framed = true, .agg = FE_AGG_BIT_OR},
    [BIT_XOR] = {.name = "bit_xor", .arg = true, .framed = true, .distinct = true, .agg = FE_AGG_BIT_XOR},
    [ARG_MIN] = {.name = "arg_min", .arg = true, .by = true, .framed = true, .agg = FE_AGG_ARG_MIN},
    [ARG_MAX] = {.name = "arg_max", .arg = true, .by = true, .framed = true, .agg = FE_AGG_ARG_MAX},
    [MEDIAN] = {.name = "median", .arg = true, .framed = true, .agg = FE_AGG_MEDIAN},
    [QUANTILE_CONT] = {.name = "quantile_cont", .arg = true, .q = true, .framed = true, .agg = FE_AGG_QUANTILE_CONT},
    [QUANTILE_DISC] = {.name = "quantile_disc", .arg = true, .q = true, .framed = true, .agg = FE_AGG_QUANTILE_DISC},
    [APPROX_COUNT_DISTINCT] = {.name = "approx_count_distinct",
                               .arg = true,
                               .framed = true,
                               .agg = FE_AGG_APPROX_COUNT_DISTINCT},
    [STRING_AGG] =
        {.name = "string_agg", .arg = true, .framed = true, .ties = true, .separator = true, .agg = FE_AGG_STRING_AGG},
    [MODE] = {.name = "mode", .arg = true, .framed = true, .agg = FE_AGG_MODE},
#define T_AGG(id, ...)
#define T_MOMENT(id, said, nargs) \
    [id] = {.name = said, .arg = true, .by = (nargs) == 2, .framed = true, .agg = FE_AGG_##id},
#include "frontend/aggs.def"
};

static const char *text_of(struct fw_reading *x, const struct fe_expr *k)
{
    return k->op == FE_PARAM ? hd_asprintf(x->r->arena, ":%s", k->param_name)
                             : hd_asprintf(x->r->arena, "%" PRId64, (int64_t)k->value.i);
}

/* ---- rows of frames --------------------------------------------------------------------------------------------- */

/* The value of the k-th row of the frame, which may be no row of the partition. */
static int nth_of(struct fw_reading *x, const struct fw_frame *f, int value, const struct fe_expr *k, const char **out)
{
    const struct fe_window_at first = fw_first_row(f);
    const char *n = text_of(x, k);
    HD_TRY(fw_value_of(x, value, hd_asprintf(x->r->arena, "greatest(%s, 1) + %s - 1", fw_number_at(x, &first, 0), n),
                       out));
    *out = hd_asprintf(x->r->arena, "case when %s <= %s then %s end", n, fw_frame_size(x, f), *out);
    return 0;
}

static const char *nth(struct fw_reading *x, const struct fw_frame *f, int value, int64_t k)
{
    const struct fe_window_at first = fw_first_row(f), none = {.base = FE_WINDOW_ZERO};
    const char *at = fw_value_at(x, value, &first, k - 1, false);
    if (first.base == FE_WINDOW_ROW && first.by < 0)
        at = hd_asprintf(x->r->arena, "case when %s < 1 then %s else %s end", fw_number_at(x, &first, 0),
                         fw_value_at(x, value, &none, k, false), at);
    return hd_asprintf(x->r->arena, "case when %" PRId64 " <= %s then %s end", k, fw_frame_size(x, f), at);
}

/* ---- functions of numbers ------------------------------------------------------------------------------------ */

static const char *tile(struct fw_reading *x, const char *k)
{
    const char *row = fw_number(x, FE_WINDOW_ROW), *n = fw_number(x, FE_WINDOW_ROWS);
    struct hd_arena *a = x->r->arena;
    const char *size = hd_asprintf(a, "(%s / %s)", n, k), *more = hd_asprintf(a, "(%s %% %s)", n, k);
    return hd_asprintf(a, "case when %s <= %s * (%s + 1) then (%s - 1) / (%s + 1) + 1 else (%s - 1 - %s) / %s + 1 end",
                       row, more, size, row, size, row, more, size);
}

static const char *numbered(struct fw_reading *x, enum function fn, const char *k)
{
    struct hd_arena *a = x->r->arena;
    const char *n;
    switch (fn) {
    case ROW_NUMBER: return fw_number(x, FE_WINDOW_ROW);
    case RANK: return fw_number(x, FE_WINDOW_PEER_BEGIN);
    case DENSE_RANK: return fw_number(x, FE_WINDOW_DENSE);
    case PERCENT_RANK:
        n = fw_number(x, FE_WINDOW_ROWS);
        return hd_asprintf(a, "case when %s = 1 then 0e0 else cast(%s - 1 as float64) / cast(%s - 1 as float64) end", n,
                           fw_number(x, FE_WINDOW_PEER_BEGIN), n);
    case CUME_DIST:
        return hd_asprintf(a, "cast(%s as float64) / cast(%s as float64)", fw_number(x, FE_WINDOW_PEER_END),
                           fw_number(x, FE_WINDOW_ROWS));
    case NTILE: return tile(x, k);
    case LAG:
    case LEAD:
    case FIRST_VALUE:
    case LAST_VALUE:
    case NTH_VALUE:
    case COUNT:
    case SUM:
    case AVG:
    case MIN:
    case MAX:
    case COUNT_IF:
    case BOOL_AND:
    case BOOL_OR:
    case BIT_AND:
    case BIT_OR:
    case BIT_XOR:
    case ARG_MIN:
    case ARG_MAX:
    case MEDIAN:
    case QUANTILE_CONT:
    case QUANTILE_DISC:
    case APPROX_COUNT_DISTINCT:
    case MODE:
    case STRING_AGG:
#define T_AGG(id, ...)
#define T_MOMENT(id, ...) case id:
#include "frontend/aggs.def"
    case FUNCTIONS: break;
    }
    HD_BUG("window function %d", (int)fn);
}

/* "default", where the condition holds, else the value. The last one that was said is the function's. */
static int or_default(struct fw_reading *x, const struct fe_json *v, struct hd_type want, const char *outside,
                      const char **out)
{
    const struct fe_window_at row = {.base = FE_WINDOW_ROW};
    char t[HD_TEXT_MAX], found[HD_TEXT_MAX];
    struct fe_json m;
    struct fe_expr *other;
    struct hd_type both;
    if (!fe_json_get(v, "default", &m))
        return 0;
    HD_TRY(fe_read_expr(x->r, &m, &x->scope, NULL, NULL, &other));
    if (!fe_type_unify(want, other->type, &both))
        return fe_json_fail(&m, "expected a default of type %s, found %s", hd_type_text(want, t),
                            hd_type_text(other->type, found));
    if (other->op == FE_LIT) /* the literal changes, as beside a column */
        other = fe_expr_cast(x->r->arena, other, want);
    x->w->said[x->w->nsaid - 1].other = other;
    *out = hd_asprintf(x->r->arena, "case when %s then %s else %s end", outside,
                       fw_value_at(x, fw_add_value(x, FE_AGG_ANY, other), &row, 0, false), *out);
    return 0;
}

static int shifted(struct fw_reading *x, const struct fe_json *v, enum function fn, const struct fe_expr *by, int value,
                   const char **out)
{
    struct fe_json m;
    struct fe_window_at at = {.base = FE_WINDOW_ROW};
    fw_set_step(by, fn == LAG, &at.more, &at.less, &at.by);
    *out = fw_value_at(x, value, &at, 0, false);
    if (!fe_json_get(v, "default", &m))
        return 0;
    const char *outside =
        fn == LAG ? hd_asprintf(x->r->arena, "%s < 1", fw_number_at(x, &at, 0))
                  : hd_asprintf(x->r->arena, "%s > %s", fw_number_at(x, &at, 0), fw_number(x, FE_WINDOW_ROWS));
    return or_default(x, v, x->w->values[value].arg->type, outside, out);
}

/* Rows without a value do not count. */
static int shifted_past_nulls(struct fw_reading *x, const struct fe_json *v, enum function fn, const struct fe_expr *by,
                              struct fe_expr *arg, const char **out)
{
    struct hd_arena *a = x->r->arena;
    const char *row = fw_number(x, FE_WINDOW_ROW), *k = text_of(x, by), *n, *at;
    int value = fw_add_value(x, FE_AGG_ANY, arg), count = fw_add_value(x, FE_AGG_COUNT, arg);
    if (by->op == FE_LIT && !by->value.i)
        return shifted(x, v, fn, by, value, out);
    HD_TRY(fw_count_at(x, count, fn == LAG ? hd_asprintf(a, "%s - 1", row) : row, &n));
    n = fn == LAG ? hd_asprintf(a, "%s + 1 - %s", n, k) : hd_asprintf(a, "%s + %s", n, k);
    HD_TRY(fw_value_of(x, fw_add_places(x, arg), n, &at));
    if (by->op == FE_PARAM) /* 0 is the row itself, whatever it has */
        at = hd_asprintf(a, "case when %s = 0 then %s else %s end", k, row, at);
    HD_TRY(fw_value_of(x, value, at, out));
    return or_default(x, v, arg->type, hd_asprintf(a, "coalesce(%s, 0) = 0", at), out);
}

/* first_value, last_value or nth_value of a frame that leaves rows out, by their place or because they have no value. */
static int chosen(struct fw_reading *x, const struct fw_frame *f, enum function fn, const char *k, bool ignore,
                  struct fe_expr *arg, const char **out)
{
    int count = ignore ? fw_add_value(x, FE_AGG_COUNT, arg) : -1;
    const char *at;
    HD_TRY(fn == LAST_VALUE ? fw_pieces_last(x, f, count, &at) : fw_pieces_nth(x, f, count, k, &at));
    if (ignore)
        HD_TRY(fw_value_of(x, fw_add_places(x, arg), at, &at));
    return fw_value_of(x, fw_add_value(x, FE_AGG_ANY, arg), at, out);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int refuse(const struct fe_json *v, const char *key, bool takes, enum function fn)
{
    struct fe_json m;
    if (takes || !fe_json_get(v, key, &m))
        return 0;
    return fe_json_fail(&m, "%s takes no \"%s\"", functions[fn].name, key);
}

static int read_distinct(const struct fe_json *v, enum function fn, bool *out)
{
    struct fe_json m;
    *out = false;
    HD_TRY(fe_json_opt_bool(v, "distinct", out));
    if (!*out || (functions[fn].distinct && fe_json_get(v, "arg", &m)))
        return 0;
    fe_json_get(v, "distinct", &m);
    return fe_json_fail(&m, "\"distinct\" is for count, sum, avg and bit_xor of a frame with an argument, found %s",
                        functions[fn].name);
}

/* Aggregates that are no functions of frames. */
static int refuse_unframed(const struct fe_json *fn)
{
    static const char *const other[][2] = {{"first", "first_value is the frame's first row"},
                                           {"last", "last_value is the frame's last row"},
                                           {"grouping", "it is about grouping sets"}};
    const char *name;
    if (fe_json_kind(fn) != FE_JSON_STRING)
        return 0;
    HD_TRY(fe_json_string(fn, &name));
    for (size_t i = 0; i < HD_COUNT(other); i++)
        if (strcmp(name, other[i][0]) == 0)
            return fe_json_fail(fn, "%s is no function of windows: %s", name, other[i][1]);
    return 0;
}

static int read_function_name(const struct fe_json *v, enum function *out)
{
    const char *names[FUNCTIONS];
    struct fe_json m;
    bool distinct;
    int k = 0;
    for (int i = 0; i < FUNCTIONS; i++)
        names[i] = functions[i].name;
    HD_TRY(fe_json_need(v, "fn", &m));
    HD_TRY(refuse_unframed(&m));
    HD_TRY(fe_read_choice(&m, names, FUNCTIONS, &k));
    *out = (enum function)k;
    HD_TRY(refuse(v, "arg", functions[k].arg || k == COUNT, *out));
    HD_TRY(refuse(v, "offset", functions[k].offset, *out));
    HD_TRY(refuse(v, "default", functions[k].offset, *out));
    HD_TRY(refuse(v, "n", functions[k].count, *out));
    HD_TRY(refuse(v, "nulls", functions[k].nulls, *out));
    HD_TRY(refuse(v, "by", functions[k].by, *out));
    HD_TRY(refuse(v, "q", functions[k].q, *out));
    HD_TRY(refuse(v, "separator", functions[k].separator, *out));
    HD_TRY(refuse(v, "distinct", functions[k].agg != 0, *out));
    HD_TRY(read_distinct(v, *out, &distinct));
    HD_TRY(refuse(v, "filter", functions[k].framed && !functions[k].nulls, *out));
    return refuse(v, "frame", functions[k].framed, *out);
}

static int read_nulls(const struct fe_json *v, const struct fe_expr *arg, bool *ignore)
{
    static const char *const names[] = {"respect", "ignore"};
    struct fe_json m;
    int k = 0;
    if (!fe_json_get(v, "nulls", &m))
        return 0;
    HD_TRY(fe_read_choice(&m, names, HD_COUNT(names), &k));
    *ignore = k && arg && arg->nullable;
    return 0;
}

/* "arg" and "by" of the rows that "filter" leaves, NULL in others. */
static int read_arguments(struct fw_reading *x, const struct fe_json *v, enum function fn, struct fe_expr **arg,
                          struct fe_expr **by)
{
    const struct hd_type truth = hd_type_of(HD_BOOL);
    bool condition = fn == COUNT_IF || fn == BOOL_AND || fn == BOOL_OR;
    struct fe_json m;
    struct fe_expr *filter;
    if (fe_json_get(v, "arg", &m))
        HD_TRY(fe_read_expr(x->r, &m, &x->scope, condition ? &truth : NULL, "a condition (bool)", arg));
    else if (functions[fn].arg)
        return fe_json_need(v, "arg", &m);
    if (functions[fn].by) {
        HD_TRY(fe_json_need(v, "by", &m));
        HD_TRY(fe_read_expr(x->r, &m, &x->scope, NULL, NULL, by));
        *by = fe_expr_key(x->r->arena, *by);
    }
    HD_TRY(fe_read_condition(x->r, v, "filter", &x->scope, &filter));
    if (filter)
        *arg = fw_where(x->r->arena, filter, *arg);
    if (filter && *by)
        *by = fw_where(x->r->arena, filter, *by);
    return 0;
}

/* The strings of the frame's rows, one behind the other. */
static int joined(struct fw_reading *x, const struct fe_json *v, const struct fw_frame *f, struct fe_expr *arg,
                  const char **out)
{
    struct fe_agg g = {.fn = FE_AGG_STRING_AGG, .arg = arg, .path = fe_json_path(v)};
    HD_TRY(fe_agg_type(v, &g));
    HD_TRY(fe_read_text(x->r, v, "separator", ",", FE_CONSTANT_SEPARATOR, &g.separator));
    x->w->said[x->w->nsaid - 1].separator = g.separator;
    struct fe_window_value joined = {.fn = g.fn, .arg = arg, .separator = g.separator};
    joined.of[0] = joined.of[1] = fw_add_kept(x, FE_KEPT_TEXT, arg);
    *out = fw_framed_value(x, f, joined);
    return 0;
}

static bool is_quantile(enum function fn)
{
    return fn == MEDIAN || fn == QUANTILE_CONT || fn == QUANTILE_DISC;
}

static bool is_ranked(enum function fn, bool distinct)
{
    return distinct || is_quantile(fn) || fn == APPROX_COUNT_DISTINCT || fn == MODE;
}

/* A function of ranks: of its argument's, which add_ranks has added. */
static int ranked(struct fw_reading *x, const struct fe_json *v, enum function fn, bool distinct,
                  const struct fw_frame *f, struct fe_expr *arg, const char **out)
{
    struct fe_agg g = {.fn = functions[fn].agg, .distinct = distinct, .arg = arg, .path = fe_json_path(v)};
    HD_TRY(fe_agg_type(v, &g));
    if (functions[fn].q)
        HD_TRY(fe_read_fraction(x->r, v, &x->scope, &g));
    bool count = fn == APPROX_COUNT_DISTINCT;
    x->w->said[x->w->nsaid - 1].q = g.q;
    struct fw_ranked a = {.fn = count ? FE_AGG_COUNT : g.fn, .distinct = distinct || count, .arg = arg, .q = g.q};
    a.rank = fw_rank_of(x, arg, is_quantile(fn));
    return fw_ranked(x, f, &a, out);
}

static void note_said(struct fw_reading *x, const struct fe_json *v, enum function fn, const struct fw_frame *f,
                      struct fe_window_said said)
{
    struct fe_window *w = x->w;
    said.fn = functions[fn].name;
    said.path = fe_json_path(v);
    said.framed = functions[fn].framed;
    said.excludes = f->without != FW_NOTHING;
    said.unit = f->unit;
    said.start = f->start.said;
    said.end = f->end.said;
    said.ties = functions[fn].ties || (said.framed && f->unit == FE_FRAME_ROWS);
    hd_grow1(x->r->arena, w->said, w->nsaid);
    w->said[w->nsaid++] = said;
}

/* The function as text over the node's columns. */
static int read_function(struct fw_reading *x, const struct fe_json *v, const char **out)
{
    struct fe_json m;
    struct fe_expr *arg = NULL, *by = NULL;
    struct fw_frame f = x->frame;
    enum function fn;
    struct fe_expr *k = fe_constant_int(x->r, v, 1), *step = k;
    bool ignore = false, distinct;
    HD_TRY(read_function_name(v, &fn));
    HD_TRY(read_distinct(v, fn, &distinct));
    HD_TRY(read_arguments(x, v, fn, &arg, &by));
    if (functions[fn].count) {
        HD_TRY(fe_json_need(v, "n", &m));
        HD_TRY(fe_read_integer(x->r, v, "n", FE_CONSTANT_NTH, &k));
    }
    HD_TRY(fe_read_integer(x->r, v, "offset", FE_CONSTANT_STEP, &step));
    HD_TRY(read_nulls(v, arg, &ignore));
    HD_TRY(fw_read_frame(x, v, &f));
    note_said(x, v, fn, &f,
              (struct fe_window_said){.arg = arg,
                                      .by = by,
                                      .n = functions[fn].count    ? k
                                           : functions[fn].offset ? step
                                                                  : NULL,
                                      .ignore_nulls = ignore,
                                      .distinct = distinct,
                                      .ranked = is_ranked(fn, distinct) || fn == STRING_AGG});
    if (is_ranked(fn, distinct))
        return ranked(x, v, fn, distinct, &f, arg, out);
    x->ties |= functions[fn].ties || f.without == FW_ROW || f.without == FW_TIES;
    if (functions[fn].nulls && (f.without || ignore) && functions[fn].framed)
        return chosen(x, &f, fn, text_of(x, k), ignore, arg, out);
    if (ignore)
        return shifted_past_nulls(x, v, fn, step, arg, out);
    switch (fn) {
    case LAG:
    case LEAD: return shifted(x, v, fn, step, fw_add_value(x, FE_AGG_ANY, arg), out);
    case FIRST_VALUE:
    case NTH_VALUE:
        if (k->op == FE_PARAM || f.start.at.more)
            return nth_of(x, &f, fw_add_value(x, FE_AGG_ANY, arg), k, out);
        *out = nth(x, &f, fw_add_value(x, FE_AGG_ANY, arg), (int64_t)k->value.i);
        return 0;
    case LAST_VALUE: {
        struct fe_window_at last = fw_last_row(&f);
        *out = fw_where_rows(x, &f, fw_value_at(x, fw_add_value(x, FE_AGG_ANY, arg), &last, 0, true));
        return 0;
    }
    case COUNT:
    case SUM:
    case AVG:
    case MIN:
    case MAX:
    case COUNT_IF:
    case BOOL_AND:
    case BOOL_OR:
    case BIT_AND:
    case BIT_OR:
    case BIT_XOR:
    case ARG_MIN:
    case ARG_MAX:
#define T_AGG(id, ...)
#define T_MOMENT(id, ...) case id:
#include "frontend/aggs.def"
        return fw_aggregate(x, v, functions[fn].agg, &f, arg, by, out);
    case STRING_AGG: return joined(x, v, &f, arg, out);
    case ROW_NUMBER:
    case RANK:
    case DENSE_RANK:
    case PERCENT_RANK:
    case CUME_DIST:
    case NTILE:
    case MEDIAN:
    case QUANTILE_CONT:
    case QUANTILE_DISC:
    case APPROX_COUNT_DISTINCT:
    case MODE:
    case FUNCTIONS: break;
    }
    *out = numbered(x, fn, text_of(x, k));
    return 0;
}

/* Ranks of the values that such functions of the window take. */
static int add_ranks(struct fw_reading *x, const struct fe_json *v)
{
    struct fe_expr *arg = NULL, *by = NULL;
    enum function fn;
    bool distinct;
    HD_TRY(fe_json_object(v, "fn", "arg", "by", "distinct", "q", "separator", "offset", "default", "n", "nulls",
                          "filter", "partition", "order", "frame", "as", NULL));
    HD_TRY(read_function_name(v, &fn));
    HD_TRY(read_distinct(v, fn, &distinct));
    if (!is_ranked(fn, distinct))
        return 0;
    HD_TRY(read_arguments(x, v, fn, &arg, &by));
    fw_add_rank(x, arg, is_quantile(fn));
    return 0;
}

/* The columns of the node, now that all are known. */
static void set_columns(struct fw_reading *x)
{
    struct fe_node *n = x->n;
    int nin = x->scope.ncols;
    n->ncols = nin + x->w->ncolumns;
    n->cols = HD_NEWN(x->r->arena, struct fe_column, n->ncols + 1);
    for (int i = 0; i < nin; i++)
        n->cols[i] = n->inputs[0]->cols[i];
    for (int i = 0; i < x->w->ncolumns; i++)
        n->cols[nin + i] = fw_column_of(x, i);
}

/* A function as it stands in the plan. */
struct said {
    struct fe_json at;
    int window; /* whose it is */
    const char *text;
};

/* Functions with the same partition and order. */
struct shared_window {
    struct fe_json at; /* of "partition" and "order" */
    struct fe_node keys; /* sort keys, over the operator's input */
};

/* The projection that has the input's columns, then the functions of a window. */
static int project(struct fw_reading *x, const struct fe_json *v, const struct said *f, int n, int window,
                   struct fe_node **out)
{
    struct fe_plan_reader *r = x->r;
    struct fe_node *p = HD_NEW(r->arena, struct fe_node);
    struct fe_scope scope = fe_scope_of(x->n);
    struct fe_json as;
    int nin = x->nkept, ncols = nin;
    const struct fe_column *in = x->n->inputs[0]->cols;
    struct fe_column *own = hd_dup(r->arena, x->n->cols, (size_t)x->n->ncols * sizeof *own);
    for (int i = 0; i < x->scope.ncols; i++) /* the texts name none of the input's columns */
        own[i].name = "";
    scope.cols = own;
    *p = (struct fe_node){.op = FE_PROJECT_OP, .path = x->n->path, .ninputs = 1};
    p->inputs = HD_NEWN(r->arena, struct fe_node *, 1);
    p->inputs[0] = x->n;
    p->cols = HD_NEWN(r->arena, struct fe_column, nin + n + 1);
    p->u.project.exprs = HD_NEWN(r->arena, struct fe_expr *, nin + n + 1);
    for (int i = 0; i < nin; i++) {
        p->cols[i] = in[i];
        p->u.project.exprs[i] = fe_expr_column(r->arena, i, &in[i], x->n->path);
    }
    for (int i = 0; i < n; i++) {
        struct fe_typing t = {r->arena, r->err, r->plan->params, r->plan->nparams, &scope};
        struct fe_ast *ast;
        struct fe_expr **e = &p->u.project.exprs[ncols];
        if (f[i].window != window)
            continue;
        HD_TRY(fe_ast_parse(r->arena, f[i].text, fe_json_path(&f[i].at), &ast, r->err));
        HD_TRY(fe_ast_type(&t, ast, NULL, NULL, e));
        struct fe_column *c = &p->cols[ncols++];
        *c = (struct fe_column){NULL, (*e)->type, (*e)->nullable};
        HD_TRY(fe_json_need(&f[i].at, "as", &as));
        HD_TRY(fe_json_name(&as, &c->name));
    }
    *out = p;
    return fe_set_columns(r, v, p, ncols, p->cols);
}

/* Those of one window, above `in`, whose first columns are the operator's input; nobody may name the others. */
static int read_window(struct fe_plan_reader *r, const struct fe_json *v, const struct shared_window *w, int ninput,
                       struct fe_node *in, struct said *f, int n, int window, struct fe_node **out)
{
    struct fw_reading x = {.r = r, .n = fe_new_node(r, v, FE_WINDOW_OP, 1), .w = HD_NEW(r->arena, struct fe_window)};
    struct fe_column *cols = hd_dup(r->arena, in->cols, (size_t)in->ncols * sizeof *cols);
    for (int i = ninput; i < in->ncols; i++)
        cols[i].name = "";
    x.n->inputs[0] = in;
    x.scope = (struct fe_scope){in->ncols, cols, NULL};
    x.nkept = in->ncols;
    *x.w = (struct fe_window){.over = in};
    x.n->u.sort.window = x.w;
    HD_TRY(fe_read_order(r, &w->at, "partition", &x.scope, x.n));
    bool ordered = x.n->u.sort.nstated > x.n->u.sort.ngroup;
    x.frame = (struct fw_frame){.start.open = true, .end = {.open = !ordered, .at.base = FE_WINDOW_PEER_END}};
    x.frame.unit = FE_FRAME_RANGE;
    x.frame.end.said.at = ordered ? FE_FRAME_HERE : FE_FRAME_OPEN;
    if (w->at.item == v->item)
        HD_TRY(fw_read_frame(&x, v, &x.frame));
    for (int i = 0; i < n; i++)
        if (f[i].window == window)
            HD_TRY(add_ranks(&x, &f[i].at));
    for (int i = 0; i < n; i++)
        if (f[i].window == window)
            HD_TRY(read_function(&x, &f[i].at, &f[i].text));
    if (!x.ties)
        x.n->u.sort.nkeys = x.n->u.sort.nstated;
    set_columns(&x);
    return project(&x, v, f, n, window, out);
}

static bool same_keys(const struct fe_node *a, const struct fe_node *b)
{
    bool same = a->u.sort.ngroup == b->u.sort.ngroup && a->u.sort.nstated == b->u.sort.nstated;
    for (int i = 0; same && i < a->u.sort.nstated; i++) {
        const struct fe_sort_key *p = &a->u.sort.keys[i], *q = &b->u.sort.keys[i];
        same = fe_expr_eq(p->expr, q->expr) && p->desc == q->desc && p->nulls_first == q->nulls_first;
    }
    return same;
}

/* Which window the function has: that of the operator, or one with its own partition and order. */
static int find_window(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope, struct said *f,
                       struct shared_window *w, int *nw)
{
    struct fe_json m;
    bool own = fe_json_kind(&f->at) == FE_JSON_OBJECT &&
               (fe_json_get(&f->at, "partition", &m) || fe_json_get(&f->at, "order", &m));
    struct shared_window *next = &w[*nw];
    *next = (struct shared_window){.at = own ? f->at : *v, .keys = {.path = fe_json_path(v)}};
    HD_TRY(fe_read_order(r, &next->at, "partition", scope, &next->keys));
    bool framed = !own && fe_json_get(v, "frame", &m);
    for (f->window = 0; f->window < *nw; f->window++) { /* the operator's frame is for its own functions */
        bool others = framed ? w[f->window].at.item != v->item
                             : w[f->window].at.item == v->item && own && fe_json_get(v, "frame", &m);
        if (!others && same_keys(&w[f->window].keys, &next->keys))
            return 0;
    }
    ++*nw;
    return 0;
}

/* Functions in the order of the plan, behind the input's columns. */
static struct fe_node *in_order(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *in, int ninput,
                                const struct said *f, int n, int nwindows)
{
    struct fe_node *p = fe_new_node(r, v, FE_PROJECT_OP, 1);
    int at = ninput;
    p->inputs[0] = in;
    p->ncols = in->ncols;
    p->cols = hd_dup(r->arena, in->cols, (size_t)in->ncols * sizeof *in->cols);
    p->u.project.exprs = HD_NEWN(r->arena, struct fe_expr *, in->ncols);
    for (int i = 0; i < ninput; i++)
        p->u.project.exprs[i] = fe_expr_column(r->arena, i, &in->cols[i], p->path);
    for (int w = 0; w < nwindows; w++)
        for (int i = 0; i < n; i++)
            if (f[i].window == w) {
                p->cols[ninput + i] = in->cols[at];
                p->u.project.exprs[ninput + i] = fe_expr_column(r->arena, at, &in->cols[at], p->path);
                at++;
            }
    return p;
}

int fe_read_WINDOW(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "input", "partition", "order", "frame", "functions", NULL));
    struct fe_json list, m;
    HD_TRY(fe_read_input(r, v, "input", out));
    const struct fe_scope scope = fe_scope_of(*out);
    struct fe_node said = {.path = fe_json_path(v)};
    HD_TRY(fe_read_order(r, v, "partition", &scope, &said)); /* right, even if every function has its own */
    HD_TRY(fe_json_need(v, "functions", &list));
    HD_TRY(fe_json_array(&list));
    int n = 0, nwindows = 0, count = fe_json_length(&list);
    if (!count)
        return fe_json_fail(&list, "expected at least one function");
    struct said *f = HD_NEWN(r->arena, struct said, count);
    struct shared_window *w = HD_NEWN(r->arena, struct shared_window, count + 1);
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        f[n].at = m;
        HD_TRY(find_window(r, v, &scope, &f[n++], w, &nwindows));
    }
    for (int i = 0; i < nwindows; i++)
        HD_TRY(read_window(r, v, &w[i], scope.ncols, *out, f, n, i, out));
    if (nwindows > 1)
        *out = in_order(r, v, *out, scope.ncols, f, n, nwindows);
    return 0;
}
