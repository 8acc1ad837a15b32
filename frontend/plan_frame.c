/* Frames of the operator window (docs/plan.md 1.4), said with columns of its node. */
#include <inttypes.h>

#include "frontend/plan_window.h"
#include "runtime/base/vec.h"

/* ---- columns of the node ------------------------------------------------------------------------------- */

static int add_value(struct fw_reading *x, enum fe_agg_fn fn, enum fe_window_kept kept, struct fe_expr *arg)
{
    struct fe_window *w = x->w;
    for (int i = 0; i < w->nvalues; i++)
        if (w->values[i].fn == fn && !w->values[i].framed && !w->values[i].places && w->values[i].kept == kept &&
            fe_expr_eq(w->values[i].arg, arg))
            return i;
    hd_grow1(x->r->arena, w->values, w->nvalues);
    w->values[w->nvalues] = (struct fe_window_value){.fn = fn, .kept = kept, .arg = arg};
    return w->nvalues++;
}

int fw_add_value(struct fw_reading *x, enum fe_agg_fn fn, struct fe_expr *arg)
{
    return add_value(x, fn, FE_KEPT_AS_IS, arg);
}

int fw_add_kept(struct fw_reading *x, enum fe_window_kept kept, struct fe_expr *arg)
{
    return add_value(x, FE_AGG_ANY, kept, arg);
}

int fw_add_places(struct fw_reading *x, struct fe_expr *arg)
{
    struct fe_window *w = x->w;
    for (int i = 0; i < w->nvalues; i++)
        if (w->values[i].places && fe_expr_eq(w->values[i].arg, arg))
            return i;
    hd_grow1(x->r->arena, w->values, w->nvalues);
    w->values[w->nvalues] = (struct fe_window_value){.fn = FE_AGG_COUNT, .arg = arg, .places = true};
    return w->nvalues++;
}

static bool is_same(const struct fe_window_column *a, const struct fe_window_column *b)
{
    return fe_window_same_at(&a->at, &b->at) && a->value == b->value && a->clamp_high == b->clamp_high;
}

/* The quoted name of such a column. */
static const char *column(struct fw_reading *x, struct fe_window_column c)
{
    struct fe_window *w = x->w;
    int i = 0;
    while (i < w->ncolumns && !is_same(&w->columns[i], &c))
        i++;
    if (i == w->ncolumns) {
        hd_grow1(x->r->arena, w->columns, w->ncolumns);
        w->columns[w->ncolumns++] = c;
    }
    return hd_asprintf(x->r->arena, "\"#%d\"", i);
}

const char *fw_number(struct fw_reading *x, enum fe_window_base base)
{
    return column(x, (struct fe_window_column){.at.base = base, .value = -1});
}

const char *fw_number_at(struct fw_reading *x, const struct fe_window_at *at, int64_t more)
{
    struct fe_window_column c = {.at = {.base = at->base, .of = at->of}, .value = -1};
    const char *base = at->base == FE_WINDOW_ZERO ? "0" : column(x, c);
    int64_t by = at->by + more;
    if (at->more)
        base = hd_asprintf(x->r->arena, "(%s %c :%s)", base, at->less ? '-' : '+', at->more->param_name);
    return by ? hd_asprintf(x->r->arena, "(%s %c %" PRId64 ")", base, by < 0 ? '-' : '+', by < 0 ? -by : by) : base;
}

const char *fw_fits(struct fw_reading *x, struct fe_expr *arg, int digits)
{
    struct fe_window_column c = {.at = {.base = FE_WINDOW_FITS, .by = digits}};
    c.value = fw_add_value(x, FE_AGG_ANY, arg);
    return column(x, c);
}

const char *fw_share(struct fw_reading *x, const struct fe_expr *q, bool divisor)
{
    struct fe_window_column c = {.at = {.base = FE_WINDOW_SHARE, .more = q, .less = divisor}, .value = -1};
    return column(x, c);
}

const char *fw_value_at(struct fw_reading *x, int value, const struct fe_window_at *at, int64_t more, bool clamped)
{
    struct fe_window_column c = {.at = *at, .value = value, .clamp_high = clamped && at->base != FE_WINDOW_FOUND};
    c.at.by += more;
    return column(x, c);
}

struct fe_column fw_column_of(struct fw_reading *x, int i)
{
    const struct fe_window_column *c = &x->w->columns[i];
    const struct fe_window_value *v = c->value >= 0 ? &x->w->values[c->value] : NULL;
    bool count = !v || v->fn == FE_AGG_COUNT || (v->framed && fe_window_is_arg(v));
    bool there = !v || (!v->framed && fe_window_row_is_there(c));
    if (c->at.base == FE_WINDOW_FITS)
        return (struct fe_column){hd_asprintf(x->r->arena, "#%d", i), hd_type_of(HD_BOOL), false};
    struct hd_type type = count ? hd_type_of(HD_INT64) : v->fn == FE_AGG_AVG ? fe_avg_type(v->arg->type) : v->arg->type;
    return (struct fe_column){hd_asprintf(x->r->arena, "#%d", i), type, !there || (v && !count && v->arg->nullable)};
}

/* The input's columns have no names: texts name none of them. */
static struct fe_scope scope_so_far(struct fw_reading *x)
{
    int nin = x->scope.ncols, n = nin + x->w->ncolumns;
    struct fe_column *cols = HD_NEWN(x->r->arena, struct fe_column, n + 1);
    for (int i = 0; i < n; i++)
        cols[i] = i < nin ? x->scope.cols[i] : fw_column_of(x, i - nin);
    for (int i = 0; i < nin; i++)
        cols[i].name = "";
    return (struct fe_scope){.ncols = n, .cols = cols};
}

int fw_add_number(struct fw_reading *x, const char *number, int *out)
{
    struct fe_window *w = x->w;
    const struct fe_scope scope = scope_so_far(x);
    const struct hd_type want = hd_type_of(HD_INT64);
    struct fe_typing t = {x->r->arena, x->r->err, x->r->plan->params, x->r->plan->nparams, &scope};
    struct fe_ast *ast;
    struct fe_expr *e;
    int i = 0;
    number = hd_asprintf(x->r->arena, "coalesce(%s, 0)", number);
    HD_TRY(fe_ast_parse(x->r->arena, number, x->n->path, &ast, x->r->err));
    HD_TRY(fe_ast_type(&t, ast, &want, "a number", &e));
    while (i < w->nnumbers && !fe_expr_eq(w->numbers[i], e))
        i++;
    if (i == w->nnumbers) {
        hd_grow1(x->r->arena, w->numbers, w->nnumbers);
        w->numbers[w->nnumbers++] = e;
    }
    *out = i;
    return 0;
}

int fw_value_of(struct fw_reading *x, int value, const char *number, const char **out)
{
    struct fe_window_column c = {.at.base = FE_WINDOW_COMPUTED, .value = value};
    HD_TRY(fw_add_number(x, number, &c.at.of));
    *out = column(x, c);
    return 0;
}

/* ---- reading ----------------------------------------------------------------------------------------------- */

static const char *const units[] = {[FE_FRAME_ROWS] = "rows", [FE_FRAME_RANGE] = "range", [FE_FRAME_GROUPS] = "groups"};
static const char *const excluded[] = {"no others", "current row", "group", "ties"};

static int add_search(struct fw_reading *x, struct fe_window_search s)
{
    struct fe_window *w = x->w;
    for (int i = 0; i < w->nsearches; i++) {
        const struct fe_window_search *t = &w->searches[i];
        if (t->limit == s.limit && t->peers == s.peers && t->following == s.following && t->behind == s.behind &&
            fe_window_same_more(t->more, t->less, s.more, s.less))
            return i;
    }
    hd_grow1(x->r->arena, w->searches, w->nsearches);
    w->searches[w->nsearches] = s;
    return w->nsearches++;
}

void fw_set_step(const struct fe_expr *step, bool less, const struct fe_expr **more, bool *is_less, int64_t *by)
{
    *more = step->op == FE_PARAM ? step : NULL;
    *is_less = *more && less;
    *by = *more ? 0 : (int64_t)(less ? -step->value.i : step->value.i);
}

static int read_offset(struct fw_reading *x, const struct fe_json *v, enum fe_frame_unit unit, bool start,
                       struct fw_bound *b)
{
    struct fe_json m;
    struct fe_expr *by = NULL;
    int64_t k = 0;
    HD_TRY(fe_json_object(v, "preceding", "following", NULL));
    bool before = fe_json_get(v, "preceding", &m), here = false;
    if (before == fe_json_get(v, "following", &m))
        return fe_json_expected(v, "{\"preceding\": n} or {\"following\": n}");
    HD_TRY(fe_json_need(v, before ? "preceding" : "following", &m));
    struct fe_window_search s = {.limit = -1, .following = !before, .behind = !start};
    b->said = (struct fe_frame_end){.at = before ? FE_FRAME_PRECEDING : FE_FRAME_FOLLOWING};
    if (unit == FE_FRAME_RANGE) {
        HD_TRY(fw_read_distance(x, &m, &b->said, &here, &s.limit));
    } else {
        HD_TRY(fe_read_integer(x->r, v, before ? "preceding" : "following", FE_CONSTANT_STEP, &by));
        fw_set_step(by, before, &s.more, &s.less, &k);
        b->said.by = by;
        s.peers = (int32_t)k;
        here = k == 0 && !s.more;
    }
    if (unit == FE_FRAME_ROWS)
        b->at = (struct fe_window_at){.base = FE_WINDOW_ROW, .by = k, .more = s.more, .less = s.less};
    else if (here)
        b->at = (struct fe_window_at){.base = start ? FE_WINDOW_PEER_BEGIN : FE_WINDOW_PEER_END};
    else
        b->at = (struct fe_window_at){.base = FE_WINDOW_FOUND, .of = add_search(x, s)};
    x->ties |= x->n->u.sort.nstated == 0; /* a search is in rows that are sorted */
    b->open = false;
    return 0;
}

static int read_bound(struct fw_reading *x, const struct fe_json *f, const char *key, enum fe_frame_unit unit,
                      struct fw_bound *b)
{
    static const char *const names[] = {"unbounded preceding", "current row", "unbounded following"};
    bool start = *key == 's';
    struct fe_json v;
    int k = 0;
    HD_TRY(fe_json_need(f, key, &v));
    if (fe_json_kind(&v) == FE_JSON_OBJECT)
        return read_offset(x, &v, unit, start, b);
    HD_TRY(fe_read_choice(&v, names, HD_COUNT(names), &k));
    if (k == (start ? 2 : 0))
        return fe_json_fail(&v, "a frame does not %s with \"%s\"", start ? "start" : "end", names[k]);
    enum fe_window_base here = unit == FE_FRAME_ROWS ? FE_WINDOW_ROW
                               : start               ? FE_WINDOW_PEER_BEGIN
                                                     : FE_WINDOW_PEER_END;
    *b = (struct fw_bound){.open = k != 1, .at.base = here, .said.at = k == 1 ? FE_FRAME_HERE : FE_FRAME_OPEN};
    return 0;
}

int fw_read_frame(struct fw_reading *x, const struct fe_json *v, struct fw_frame *f)
{
    struct fe_json m, unit;
    int k = 0;
    if (!fe_json_get(v, "frame", &m))
        return 0;
    HD_TRY(fe_json_object(&m, "unit", "start", "end", "exclude", NULL));
    HD_TRY(fe_json_need(&m, "unit", &unit));
    HD_TRY(fe_read_choice(&unit, units, HD_COUNT(units), &k));
    f->unit = (enum fe_frame_unit)k;
    HD_TRY(read_bound(x, &m, "start", f->unit, &f->start));
    HD_TRY(read_bound(x, &m, "end", f->unit, &f->end));
    x->ties |= k == FE_FRAME_ROWS;
    f->without = FW_NOTHING;
    if (fe_json_get(&m, "exclude", &unit)) {
        HD_TRY(fe_read_choice(&unit, excluded, HD_COUNT(excluded), &k));
        f->without = (enum fw_excluded)k;
    }
    return 0;
}

/* ---- the rows of a frame ----------------------------------------------------------------------------------- */

struct fe_window_at fw_first_row(const struct fw_frame *f)
{
    return f->start.open ? (struct fe_window_at){.base = FE_WINDOW_ZERO, .by = 1} : f->start.at;
}

struct fe_window_at fw_last_row(const struct fw_frame *f)
{
    return f->end.open ? (struct fe_window_at){.base = FE_WINDOW_ROWS} : f->end.at;
}

static bool is_found(const struct fw_bound *b)
{
    return !b->open && b->at.base == FE_WINDOW_FOUND;
}

const char *fw_has_rows(struct fw_reading *x, const struct fw_frame *f)
{
    const char *cond = NULL;
    if (f->start.at.more || f->end.at.more) {
        struct fe_window_at first = fw_first_row(f), last = fw_last_row(f);
        return hd_asprintf(x->r->arena, "greatest(%s, 1) <= least(%s, %s)", fw_number_at(x, &first, 0),
                           fw_number_at(x, &last, 0), fw_number(x, FE_WINDOW_ROWS));
    }
    bool both = !f->start.open && !f->end.open && f->start.at.base == FE_WINDOW_ROW;
    if (both && f->start.at.by > f->end.at.by)
        return "false";
    if (is_found(&f->start) || is_found(&f->end)) {
        struct fe_window_at first = fw_first_row(f), last = fw_last_row(f);
        return hd_asprintf(x->r->arena, "%s <= %s", fw_number_at(x, &first, 0), fw_number_at(x, &last, 0));
    }
    if (!f->end.open && f->end.at.by < 0)
        cond = hd_asprintf(x->r->arena, "%s >= 1", fw_number_at(x, &f->end.at, 0));
    if (!f->start.open && f->start.at.by > 0)
        cond = hd_asprintf(x->r->arena, "%s <= %s", fw_number_at(x, &f->start.at, 0), fw_number(x, FE_WINDOW_ROWS));
    return cond; /* both at once: rows before the row, or rows behind it */
}

const char *fw_where_rows(struct fw_reading *x, const struct fw_frame *f, const char *value)
{
    const char *cond = fw_has_rows(x, f);
    return cond ? hd_asprintf(x->r->arena, "case when %s then %s end", cond, value) : value;
}

const char *fw_frame_size(struct fw_reading *x, const struct fw_frame *f)
{
    struct fe_window_at first = fw_first_row(f), last = fw_last_row(f);
    struct hd_arena *a = x->r->arena;
    const char *from = fw_number_at(x, &first, -1), *to = fw_number_at(x, &last, 0);
    if (first.base == FE_WINDOW_ROW && (first.by < 1 || first.more))
        from = hd_asprintf(a, "greatest(%s, 0)", from);
    if (last.base == FE_WINDOW_ROW && (last.by > 0 || last.more))
        to = hd_asprintf(a, "least(%s, %s)", to, fw_number(x, FE_WINDOW_ROWS));
    const char *n = f->start.open ? to : hd_asprintf(a, "(%s - %s)", to, from);
    return fw_has_rows(x, f) ? hd_asprintf(a, "greatest(%s, 0)", n) : n;
}

const char *fw_difference(struct fw_reading *x, const struct fw_frame *f, int value, const char *zero)
{
    struct fe_window_at last = fw_last_row(f);
    const char *to = fw_value_at(x, value, &last, 0, true);
    if (f->start.open)
        return to;
    const char *from = fw_value_at(x, value, &f->start.at, -1, true);
    return hd_asprintf(x->r->arena, "(coalesce(%s, %s) - coalesce(%s, %s))", to, zero, from, zero);
}

static bool same_spans(const struct fe_window_value *a, const struct fe_window_value *b)
{
    bool same = a->nspans == b->nspans;
    for (int i = 0; same && i < a->nspans; i++)
        for (int k = 0; k < 2; k++)
            same = same && fe_window_same_at(&a->span[i].first[k], &b->span[i].first[k]) &&
                   fe_window_same_at(&a->span[i].last[k], &b->span[i].last[k]);
    return same;
}

static bool same_framed(const struct fe_window_value *a, const struct fe_window_value *b)
{
    bool same = a->fn == b->fn && a->of[0] == b->of[0] && a->of[1] == b->of[1] && fe_expr_eq(a->arg, b->arg) &&
                same_spans(a, b);
    bool same_q = a->q && b->q ? fe_expr_eq(a->q, b->q) : a->q == b->q;
    if (a->fn == FE_AGG_STRING_AGG && same && !fe_expr_eq(a->separator, b->separator))
        return false;
    return same && same_q && a->distinct == b->distinct && a->next == b->next && a->count == b->count;
}

const char *fw_framed_value(struct fw_reading *x, const struct fw_frame *f, struct fe_window_value v)
{
    struct fe_window *w = x->w;
    const struct fe_window_at row = {.base = FE_WINDOW_ROW};
    int i = 0;
    v.framed = true;
    v.nspans = fw_spans(f, v.span);
    while (i < w->nvalues && !(w->values[i].framed && same_framed(&w->values[i], &v)))
        i++;
    if (i == w->nvalues) {
        hd_grow1(x->r->arena, w->values, w->nvalues);
        w->values[w->nvalues++] = v;
    }
    return fw_value_at(x, i, &row, 0, false);
}

const char *fw_framed(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, struct fe_expr *arg)
{
    return fw_framed_value(x, f, (struct fe_window_value){.fn = fn, .arg = arg});
}

const char *fw_framed_of(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, struct fe_expr *first,
                         struct fe_expr *other)
{
    int of[2] = {fw_add_value(x, FE_AGG_ANY, first), fw_add_value(x, FE_AGG_ANY, other)};
    return fw_framed_value(x, f, (struct fe_window_value){.fn = fn, .arg = first, .of = {of[0], of[1]}});
}

int fw_added_up(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, struct fe_expr *arg, const char *n,
                const char **out)
{
    struct fe_window_value v = {.fn = fn, .arg = arg, .of = {fw_add_value(x, FE_AGG_SUM, arg)}};
    HD_TRY(fw_add_number(x, n, &v.of[1]));
    *out = fw_framed_value(x, f, v);
    return 0;
}
