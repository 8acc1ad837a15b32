/* Windows end in a state whose rows are sorted by partition and order. Finishing it writes into each row where its
 * partition and its peers begin and end (rt_border), and running values of the partition up to the row; so every column
 * of a window is a number, or a field of a row with a number, of which reading pipelines load the one that they need. No
 * row is gone through for another one: a sum over a frame is a difference of two running sums (Leis et al., Efficient
 * Processing of Window Functions in Analytical SQL Queries, 2015, section 4, has what is known of such). */
#include "planner/lower_window_in.h"

#include <string.h>

#include "planner/agg.h"
#include "planner/build.h"
#include "planner/dict_map.h"
#include "planner/flow_rows.h"
#include "planner/handle.h"
#include "planner/known.h"
#include "planner/lower_expr.h"
#include "planner/lower_sort.h"
#include "planner/lower_value.h"
#include "planner/schedule.h"
#include "planner/store.h"

static bool is_needed(const struct window_lowering *l, int column)
{
    return l->c->need[l->n->id][column];
}

static bool is_value_needed(const struct window_lowering *l, int value)
{
    bool needed = false;
    for (int i = 0; i < l->w->ncolumns; i++)
        needed |= l->w->columns[i].value == value && is_needed(l, l->nin + i);
    for (int i = value + 1; i < l->w->nvalues && !needed; i++) {
        const struct fe_window_value *v = &l->w->values[i];
        bool of = fe_window_is_of_others(v) && (v->of[0] == value || v->of[1] == value);
        of |= fe_window_is_difference(v) && v->of[0] == value;
        needed = of && is_value_needed(l, i);
    }
    return needed || (l->w->separator && value == 1 && is_value_needed(l, 0));
}

static bool joins_strings(const struct window_lowering *l)
{
    return l->w->separator && is_value_needed(l, 0);
}

static bool is_found(const struct fe_window_at *at, int search)
{
    return at->base == FE_WINDOW_FOUND && at->of == search;
}

/* The other bound of a span is none that is searched for. */
static bool spans_look_for(const struct fe_window_value *v, int search)
{
    bool found = false;
    for (int i = 0; i < v->nspans; i++)
        found |= is_found(&v->span[i].first[0], search) || is_found(&v->span[i].last[0], search);
    return found;
}

static bool is_sought(const struct window_lowering *l, int search)
{
    for (int i = 0; i < l->w->ncolumns; i++)
        if (is_needed(l, l->nin + i) && is_found(&l->w->columns[i].at, search))
            return true;
    for (int i = 0; i < l->w->nvalues; i++)
        if (l->w->values[i].framed && is_value_needed(l, i) && spans_look_for(&l->w->values[i], search))
            return true;
    return false;
}

/* ---- the state ------------------------------------------------------------------------------------------- */

static enum rt_merge merge_of(const struct fe_window_value *w)
{
    enum fe_agg_fn fn = w->fn;
    if (w->distinct)
        return fn == FE_AGG_BIT_XOR ? RT_MERGE_DISTINCT_XOR : RT_MERGE_DISTINCT;
    return fn == FE_AGG_SUM || fn == FE_AGG_COUNT ? RT_MERGE_SUM
           : fn == FE_AGG_MIN                     ? RT_MERGE_MIN
           : fn == FE_AGG_MAX                     ? RT_MERGE_MAX
           : fn == FE_AGG_BIT_OR                  ? RT_MERGE_OR
           : fn == FE_AGG_BIT_XOR                 ? RT_MERGE_XOR
           : fn == FE_AGG_REGR_SXY                ? RT_MERGE_PRODUCTS
           : fn == FE_AGG_ARG_MIN                 ? RT_MERGE_ARG_MIN
           : fn == FE_AGG_ARG_MAX                 ? RT_MERGE_ARG_MAX
           : fn == FE_AGG_MODE                    ? RT_MERGE_MODE
           : fn == FE_AGG_STRING_AGG && w->framed ? RT_MERGE_TEXT
           : fe_window_is_arg(w)                  ? RT_MERGE_NTH
                                                  : RT_MERGE_KEY;
}

/* 1 for each value. */
static struct pl_val presence(struct ctx *c, const struct pl_val *v)
{
    struct pl_val one = {.phys = RT_I64, .type = hd_type_of(HD_INT64), .range = {true, 0, 1}};
    int null = pb_op(c, FE_IS_NULL, RT_BOOL, false, 1, &v->expr);
    int args[3] = {null, pb_const_int(c, RT_I64, 0), pb_const_int(c, RT_I64, 1)};
    one.expr = pb_op(c, FE_CASE, RT_I64, false, 3, args);
    return one;
}

/* False: even 128 bits are not enough. */
static bool settle_sum(struct window_lowering *l, const struct fe_window_value *w, struct pl_val *v)
{
    const struct agg_item item = {.fn = FE_AGG_SUM, .type = w->fn == FE_AGG_COUNT ? v->type : w->arg->type};
    struct pl_val sum = *v;
    if (!sum_known(&item, l->rows, &sum))
        return false;
    lx_as_phys(l->c, v, sum.phys); /* wider */
    v->range = sum.range;
    return true;
}

static int add_half(struct window_lowering *l, struct stream *in, const char *name, const struct pl_val *v,
                    enum rt_merge merge)
{
    struct ctx *c = l->c;
    int f = pb_field(c, l->state, name, v, merge);
    sink_add(c, &pipeline_of(c, in)->sink, (struct pl_out){.field = f, .expr = v->expr, .fn = FE_AGG_ANY});
    return f;
}

/* v is high * 2^64 + low with 0 <= low < 2^64: sums of neither half leave 128 bits. */
static void store_halves(struct window_lowering *l, struct stream *in, int i, struct pl_val v, enum rt_merge merge)
{
    struct ctx *c = l->c;
    lx_as_phys(c, &v, RT_I128);
    struct pl_val low = v, high = v;
    low.expr = pb_op(c, FE_LOW_WORD, RT_I128, v.nullable, 1, &v.expr);
    high.expr = pb_op(c, FE_HIGH_WORD, RT_I64, v.nullable, 1, &v.expr);
    high.phys = RT_I64;
    lx_as_phys(c, &high, RT_I128);
    l->range[i] = (struct pl_range){0};
    l->value[i] = add_half(l, in, "low", &low, merge);
    l->high[i] = add_half(l, in, "high", &high, merge);
}

static int count_of(const struct window_lowering *l, const struct fe_window_value *w)
{
    for (int i = 0; i < l->w->nvalues; i++)
        if (l->w->values[i].fn == FE_AGG_COUNT && !l->w->values[i].places && fe_expr_eq(l->w->values[i].arg, w->arg))
            return l->value[i];
    HD_BUG("places without a count");
}

static void store_places(struct window_lowering *l, struct stream *in, int i)
{
    struct ctx *c = l->c;
    struct open_pipeline *p = pipeline_of(c, in);
    struct rt_state *st = &c->states.v[l->state];
    struct pl_val none = {.phys = RT_I64, .type = hd_type_of(HD_INT64), .expr = pb_const_int(c, RT_I64, 0)};
    l->range[i] = (struct pl_range){true, 0, (hd_i128)l->rows};
    l->value[i] = pb_field(c, l->state, "place", &none, RT_MERGE_KEY);
    sink_add(c, &p->sink, (struct pl_out){.field = l->value[i], .expr = none.expr, .fn = FE_AGG_ANY});
    struct rt_nth *v = HD_NEWN(c->a, struct rt_nth, l->w->nvalues);
    for (int k = 0; k < st->nplace; k++)
        v[k] = st->place[k];
    v[st->nplace++] = (struct rt_nth){.field = l->value[i], .count = count_of(l, &l->w->values[i])};
    st->place = v;
}

/* A text to be joined is there by its type, and so are its bytes; a group's value may still come with a bit that says so. */
static int never_null(struct window_lowering *l, struct pl_val *v)
{
    struct pl_val none =
        lx_const(l->c, &(struct fe_value){.type = hd_type_of(v->phys == RT_STR ? HD_STRING : HD_INT64), .s = ""});
    if (!v->nullable)
        return 0;
    lx_realise(l->c, &none);
    HD_TRY(lx_as_phys(l->c, &none, v->phys));
    int args[2] = {v->expr, none.expr};
    v->expr = pb_op(l->c, FE_COALESCE, v->phys, false, 2, args);
    v->nullable = false;
    return 0;
}

/* What finishing finds in the fields of other values. */
static int store_found_as(struct window_lowering *l, struct stream *in, int i, enum rt_phys phys)
{
    struct ctx *c = l->c;
    struct fe_value none = {.type = hd_type_of(phys == RT_F64   ? HD_FLOAT64
                                               : phys == RT_STR ? HD_STRING
                                                                : HD_INT64),
                            .s = ""};
    struct pl_val v = lx_const(c, &none);
    lx_realise(c, &v);
    lx_as_phys(c, &v, phys);
    v.nullable = true;
    v.range = l->range[i];
    int f = pb_field(c, l->state, "found", &v, merge_of(&l->w->values[i]));
    sink_add(c, &pipeline_of(c, in)->sink, (struct pl_out){.field = f, .expr = v.expr, .fn = FE_AGG_ANY});
    return f;
}

/* The sum of distinct values has their type, and halves where they have. */
static void store_found(struct window_lowering *l, struct stream *in, int i)
{
    const struct fe_window_value *w = &l->w->values[i];
    bool number = fe_window_is_arg(w) || w->fn == FE_AGG_COUNT, adds = w->distinct && !number;
    bool text = w->fn == FE_AGG_STRING_AGG;
    enum rt_phys phys = number ? RT_I64 : text ? RT_STR : RT_F64;
    if (adds)
        phys = l->c->states.v[l->state].fields[l->value[w->of[1]]].phys;
    l->range[i] = number ? (struct pl_range){true, 0, (hd_i128)l->rows} : (struct pl_range){0};
    if (adds)
        l->range[i] = l->range[w->of[1]];
    l->value[i] = store_found_as(l, in, i, phys);
    if (adds && l->high[w->of[1]] >= 0)
        l->high[i] = store_found_as(l, in, i, phys);
}

/* As wide as what finishing makes of values; false: in halves. */
static bool settle_kept(struct window_lowering *l, const struct fe_window_value *w, struct pl_val *v)
{
    switch (w->kept) {
    case FE_KEPT_AS_IS:
    case FE_KEPT_TEXT: return true;
    case FE_KEPT_FOR_SUMS: return settle_sum(l, w, v);
    case FE_KEPT_FOR_BITS:
        lx_as_phys(l->c, v, RT_I64);
        v->range = range_of_type(w->arg->type);
        return true;
    case FE_KEPT_RANK: lx_as_phys(l->c, v, RT_I32); return true;
    }
    HD_BUG("a value kept as %d", (int)w->kept);
}

static int store_value(struct window_lowering *l, struct stream *in, int i)
{
    struct ctx *c = l->c;
    const struct fe_window_value *w = &l->w->values[i];
    struct open_pipeline *p = pipeline_of(c, in);
    struct pl_val v;
    l->high[i] = -1;
    if (fe_window_is_of_others(w)) {
        store_found(l, in, i);
        return 0;
    }
    HD_TRY(lx_expr(c, p, in->cols, w->arg, &v));
    lx_realise(c, &v);
    if (w->fn == FE_AGG_COUNT)
        v = presence(c, &v);
    else if (w->fn == FE_AGG_STRING_AGG || w->kept == FE_KEPT_TEXT)
        HD_TRY(lx_as_string(c, &v));
    else
        v.type = w->arg->type;
    if (l->w->separator)
        HD_TRY(never_null(l, &v));
    enum rt_merge merge = merge_of(w);
    if (!(merge == RT_MERGE_SUM ? settle_sum(l, w, &v) : settle_kept(l, w, &v))) {
        store_halves(l, in, i, v, merge);
        return 0;
    }
    if (agg_is_of_bits(w->fn)) {
        HD_TRY(lx_as_phys(c, &v, RT_I64));
        v.range = range_of_type(w->arg->type);
    }
    if (w->fn == FE_AGG_COUNT)
        v.range = (struct pl_range){true, 0, (hd_i128)l->rows};
    v.nullable |= w->framed;
    l->range[i] = v.range;
    l->value[i] = pb_field(c, l->state, "value", &v, RT_MERGE_KEY); /* each row has its own to begin with */
    c->states.v[l->state].merge[l->value[i]] = merge;
    sink_add(c, &p->sink, (struct pl_out){.field = l->value[i], .expr = v.expr, .fn = FE_AGG_ANY});
    return 0;
}

/* A field that finishing writes. */
static int add_number(struct window_lowering *l, struct open_pipeline *p, const char *name)
{
    struct ctx *c = l->c;
    struct pl_val zero = {.phys = RT_I32, .type = hd_type_of(HD_INT32), .expr = pb_const_int(c, RT_I32, 0)};
    int f = pb_field(c, l->state, name, &zero, RT_MERGE_KEY);
    sink_add(c, &p->sink, (struct pl_out){.field = f, .expr = zero.expr, .fn = FE_AGG_ANY});
    return f;
}

static void add_border(struct window_lowering *l, struct open_pipeline *p, enum border b, enum rt_border kind,
                       int nkeys)
{
    struct ctx *c = l->c;
    int f = l->border[b] = add_number(l, p, "border");
    c->states.v[l->state].fields[f].border = kind;
    c->states.v[l->state].fields[f].border_keys = nkeys;
}

static void want_borders(const struct window_lowering *l, bool *want, const struct fe_window_at *w)
{
    bool found = w->base == FE_WINDOW_FOUND;
    want[END] |= w->base == FE_WINDOW_ROWS || found;
    want[PEER_BEGIN] |= w->base == FE_WINDOW_PEER_BEGIN;
    want[PEER_END] |= w->base == FE_WINDOW_PEER_END;
    want[PEERS] |= w->base == FE_WINDOW_DENSE || (found && l->w->searches[w->of].limit < 0);
}

static bool is_own_row(const struct fe_window_at *w)
{
    return w->base == FE_WINDOW_ROW && w->by == 0 && !w->more;
}

static void add_borders(struct window_lowering *l, struct open_pipeline *p)
{
    const struct fe_node *n = l->n;
    bool want[BORDERS] = {[BEGIN] = true, [END] = joins_strings(l)};
    for (int i = 0; i < l->w->ncolumns; i++) {
        const struct fe_window_at *w = &l->w->columns[i].at;
        if (!is_needed(l, l->nin + i))
            continue;
        want[END] |= l->w->columns[i].value >= 0 && !is_own_row(w) &&
                     !fe_window_row_is_there(&l->w->columns[i]); /* whether a row is of the partition */
        want_borders(l, want, w);
    }
    for (int i = 0; i < l->w->nvalues; i++) {
        const struct fe_window_value *w = &l->w->values[i];
        if (!w->framed || !is_value_needed(l, i))
            continue;
        want[END] = true;
        for (int k = 0; k < 2 * w->nspans; k++) {
            want_borders(l, want, &w->span[k / 2].first[k % 2]);
            want_borders(l, want, &w->span[k / 2].last[k % 2]);
        }
    }
    static const enum rt_border kinds[] = {RT_BORDER_BEGIN, RT_BORDER_END, RT_BORDER_BEGIN, RT_BORDER_END,
                                           RT_BORDER_COUNT};
    for (int b = 0; b < BORDERS; b++)
        if (want[b])
            add_border(l, p, (enum border)b, kinds[b], b < PEER_BEGIN ? n->u.sort.ngroup : n->u.sort.nstated);
}

/* The order key's field and the limit's, of one width. */
static int store_limit(struct window_lowering *l, struct stream *in, const struct fe_window_search *w, int order,
                       struct rt_search *out)
{
    struct ctx *c = l->c;
    struct open_pipeline *p = pipeline_of(c, in);
    const struct fe_expr *key = l->n->u.sort.keys[l->n->u.sort.ngroup].expr;
    enum rt_phys phys = c->states.v[l->state].fields[order].phys;
    struct pl_val v, limit;
    HD_TRY(lx_expr(c, p, in->cols, l->w->values[w->limit].arg, &limit));
    lx_realise(c, &limit);
    out->key = order;
    if (limit.phys < phys)
        HD_TRY(lx_as_phys(c, &limit, phys));
    if (limit.phys > phys) { /* facts of the key have narrowed it */
        HD_TRY(lx_expr(c, p, in->cols, key, &v));
        lx_realise(c, &v);
        HD_TRY(lx_as_phys(c, &v, limit.phys));
        out->key = pb_field(c, l->state, "key", &v, RT_MERGE_KEY);
        sink_add(c, &p->sink, (struct pl_out){.field = out->key, .expr = v.expr, .fn = FE_AGG_ANY});
    }
    out->limit = pb_field(c, l->state, "limit", &limit, RT_MERGE_KEY);
    sink_add(c, &p->sink, (struct pl_out){.field = out->limit, .expr = limit.expr, .fn = FE_AGG_ANY});
    return 0;
}

static int add_searches(struct window_lowering *l, struct stream *in, const struct rt_sort_key *keys)
{
    struct ctx *c = l->c;
    struct open_pipeline *p = pipeline_of(c, in);
    struct rt_search *v = HD_NEWN(c->a, struct rt_search, l->w->nsearches + 1);
    int n = 0;
    for (int i = 0; i < l->w->nsearches; i++) {
        const struct fe_window_search *w = &l->w->searches[i];
        const struct rt_sort_key *key = &keys[l->n->u.sort.ngroup];
        if (!is_sought(l, i))
            continue;
        struct rt_search s = {.begin = l->border[BEGIN], .end = l->border[END], .behind = w->behind};
        if (w->limit >= 0) {
            HD_TRY(store_limit(l, in, w, key->field, &s));
            s.desc = key->desc;
            s.nulls_first = key->nulls_first;
            s.following = w->following;
        } else {
            s.key = s.limit = l->border[PEERS];
            s.by = w->peers + (w->more ? (int32_t)(w->less ? -w->more->value.i : w->more->value.i) : 0);
        }
        s.field = l->found[i] = add_number(l, p, "found");
        v[n++] = s;
    }
    c->states.v[l->state].nsearch = n;
    c->states.v[l->state].search = v;
    return 0;
}

/* Numbers become those of all rows: that of the row itself -1, and what is added to it. */
static int frame_bound(const struct window_lowering *l, const struct fe_window_at *b, int64_t *by)
{
    *by = fe_window_by(b);
    switch (b->base) {
    case FE_WINDOW_ROW: return -1;
    case FE_WINDOW_PEER_BEGIN: return l->border[PEER_BEGIN];
    case FE_WINDOW_ZERO: --*by; return l->border[BEGIN];
    case FE_WINDOW_PEER_END: --*by; return l->border[PEER_END];
    case FE_WINDOW_ROWS: --*by; return l->border[END];
    case FE_WINDOW_FOUND: *by -= l->w->searches[b->of].behind; return l->found[b->of];
    case FE_WINDOW_COMPUTED:
    case FE_WINDOW_FITS:
    case FE_WINDOW_SHARE:
    case FE_WINDOW_DENSE: break;
    }
    HD_BUG("a frame with bound %d", (int)b->base);
}

static void set_bound(const struct window_lowering *l, const struct fe_window_span *s, int k, struct rt_frame_span *to)
{
    to->from[k] = frame_bound(l, &s->first[k], &to->from_by[k]);
    to->to[k] = frame_bound(l, &s->last[k], &to->to_by[k]);
    to->to_by[k]++;
}

static struct rt_share share_of(const struct fe_window_value *w)
{
    struct fe_fraction q = fe_fraction_of(w->q);
    bool disc = w->fn == FE_AGG_QUANTILE_DISC;
    return (struct rt_share){disc ? RT_SHARE_FIRST : w->next ? RT_SHARE_CEILING : RT_SHARE_FLOOR, q.num, q.den};
}

/* The other fields that finishing looks at. */
static void set_others(const struct window_lowering *l, const struct fe_window_value *w, struct rt_frame *f)
{
    bool two = !w->distinct && !w->separator && !fe_window_is_of_rank(w);
    f->x = fe_window_is_of_others(w) ? l->value[w->of[0]] : -1;
    f->y = fe_window_is_of_others(w) && (two || (w->distinct && w->fn != FE_AGG_COUNT)) ? l->value[w->of[1]] : -1;
    if (merge_of(w) == RT_MERGE_NTH)
        f->share = share_of(w);
    if (w->separator) {
        f->separator = w->separator->value.s;
        f->nseparator = w->separator->value.n;
    }
}

static void set_frames(struct window_lowering *l)
{
    for (int i = 0; i < l->w->nvalues; i++) {
        const struct fe_window_value *w = &l->w->values[i];
        if (!w->framed || fe_window_is_difference(w) || !is_value_needed(l, i))
            continue;
        struct rt_frame *f = HD_NEW(l->c->a, struct rt_frame), *g;
        f->begin = l->border[BEGIN];
        f->end = l->border[END];
        f->nspans = w->nspans;
        for (int k = 0; k < 2 * w->nspans; k++)
            set_bound(l, &w->span[k / 2], k % 2, &f->span[k / 2]);
        set_others(l, w, f);
        l->c->states.v[l->state].fields[l->value[i]].frame = f;
        if (l->high[i] < 0)
            continue;
        g = hd_dup(l->c->a, f, sizeof *f);
        g->y = l->high[w->of[1]];
        l->c->states.v[l->state].fields[l->high[i]].frame = g;
    }
}

/* Input columns that somebody reads, and those that are sort keys. */
static int store_columns(struct window_lowering *l, struct stream *in)
{
    struct ctx *c = l->c;
    struct open_pipeline *p = pipeline_of(c, in);
    struct handle **cols = HD_NEWN(c->a, struct handle *, l->nin + 1);
    int *from = HD_NEWN(c->a, int, l->nin + 1), n = 0;
    for (int i = 0; i < l->nin; i++) {
        bool key = false;
        for (int k = 0; k < l->n->u.sort.nkeys; k++)
            key |= l->n->u.sort.keys[k].expr->op == FE_COL && l->n->u.sort.keys[k].expr->col == i;
        l->column[i] = -1;
        if (!is_needed(l, i) && !key)
            continue;
        cols[n] = in->cols[i];
        from[n++] = i;
    }
    struct kept k;
    keep_chosen(c, cols, n, NULL, &k);
    HD_TRY(keep_store(c, p, &k, l->state, RT_MERGE_KEY, FE_AGG_ANY, &p->sink));
    for (int i = 0; i < n; i++)
        l->column[from[i]] = k.first + k.via[i];
    return 0;
}

static const struct rt_text *text_of(const struct window_lowering *l)
{
    struct rt_text *t = HD_NEW(l->c->a, struct rt_text);
    *t = (struct rt_text){.value = l->value[0],
                          .running = l->value[1],
                          .begin = l->border[BEGIN],
                          .end = l->border[END],
                          .separator = l->w->separator->value.s,
                          .nseparator = l->w->separator->value.n};
    return t;
}

static struct handle **key_columns(struct ctx *c, const struct fe_node *n, struct handle *const *cols)
{
    struct handle **key = HD_NEWN(c->a, struct handle *, n->u.sort.nkeys + 1);
    for (int i = 0; i < n->u.sort.nkeys; i++) {
        const struct fe_expr *e = n->u.sort.keys[i].expr;
        key[i] = e->op == FE_COL ? cols[e->col] : NULL;
    }
    return key;
}

static int store(struct window_lowering *l, struct stream *in)
{
    struct ctx *c = l->c;
    const struct fe_node *n = l->n;
    struct open_pipeline *p = pipeline_of(c, in);
    struct rt_sort_key *keys = HD_NEWN(c->a, struct rt_sort_key, n->u.sort.nkeys + 1);
    int nkeys = n->u.sort.nkeys;
    l->state = pb_state(c, RT_STATE_ROWS, "window", n->path);
    p->sink.kind = PL_SINK_ROWS;
    p->sink.state = l->state;
    HD_TRY(store_columns(l, in));
    for (int i = 0; i < nkeys; i++) {
        const struct fe_sort_key *k = &n->u.sort.keys[i];
        int f = lower_sort_key(c, in, k, l->state, l->column);
        if (f < 0)
            return -1;
        keys[i] = (struct rt_sort_key){f, k->desc, k->nulls_first};
    }
    for (int i = 0; i < l->w->nvalues; i++)
        if (is_value_needed(l, i) && !l->w->values[i].places && !fe_window_is_difference(&l->w->values[i]))
            HD_TRY(store_value(l, in, i));
    for (int i = 0; i < l->w->nvalues; i++)
        if (is_value_needed(l, i) && l->w->values[i].places)
            store_places(l, in, i);
    add_borders(l, p);
    HD_TRY(add_searches(l, in, keys));
    set_frames(l);
    pb_state_layout(c, l->state);
    struct rt_state *st = &c->states.v[l->state];
    st->sort = keys;
    st->nsort = nkeys;
    keep_runs(c, in, key_columns(c, n, in->cols), l->state);
    st->segment = joins_strings(l) ? 0 : 1 + l->border[BEGIN];
    st->text = joins_strings(l) ? text_of(l) : NULL;
    st->est_rows = in->est;
    c->state_rows.v[l->state] = in->max_rows;
    pb_end(c, p, true);
    return 0;
}

/* ---- columns --------------------------------------------------------------------------------------------- */

/* A computed number, I64. */
static int computed(struct window_lowering *l, int i, int *out)
{
    struct pl_val v;
    HD_TRY(lx_expr(l->c, l->p, l->cols, l->w->numbers[i], &v));
    lx_realise(l->c, &v);
    HD_TRY(lx_as_phys(l->c, &v, RT_I64));
    *out = v.expr;
    return 0;
}

/* The row with number base + by, which may be none. */
static int row_with(struct window_lowering *l, const struct fe_window_column *w, struct handle **out)
{
    struct ctx *c = l->c;
    int n = -1;
    if (is_own_row(&w->at)) {
        *out = l->row;
        return 0;
    }
    if (fe_window_row_is_there(w)) {
        struct pl_val own = {.phys = RT_I32, .type = hd_type_of(HD_INT32), .range = {true, 0, (hd_i128)l->rows}};
        HD_TRY(lw_number(l, &w->at, &n));
        own.expr =
            lw_op2(c, FE_SUB, RT_I32, lw_op2(c, FE_ADD, RT_I32, lw_border(l, BEGIN), n), pb_const_int(c, RT_I32, 1));
        *out = h_row(c, pb_let(c, l->p, "row", own), NULL, l->state, false);
        return 0;
    }
    bool is_computed = w->at.base == FE_WINDOW_COMPUTED;
    HD_TRY(is_computed ? computed(l, w->at.of, &n) : lw_number(l, &w->at, &n));
    int one = pb_const_int(c, RT_I64, 1), begin = lw_as_int64(l, lw_border(l, BEGIN), 0).expr;
    int rows = lw_op2(c, FE_SUB, RT_I64, lw_as_int64(l, lw_border(l, END), 0).expr, begin);
    int at = n;
    if (!is_computed)
        at = lw_op2(c, FE_ADD, RT_I64, lw_as_int64(l, n, 0).expr, pb_const_int(c, RT_I64, lw_added(l, &w->at)));
    if (w->clamp_high)
        at = lw_choose(c, RT_I64, lw_op2(c, FE_GT, RT_BOOL, at, rows), rows, at);
    int inside = lw_op2(c, FE_AND, RT_BOOL, lw_op2(c, FE_GE, RT_BOOL, at, one), lw_op2(c, FE_LE, RT_BOOL, at, rows));
    int row = lw_op2(c, FE_SUB, RT_I64, lw_op2(c, FE_ADD, RT_I64, begin, at), one);
    struct pl_val v = {.phys = RT_I64,
                       .type = hd_type_of(HD_INT64),
                       .range = {true, -1, (hd_i128)l->rows},
                       .expr = lw_choose(c, RT_I64, inside, row, pb_const_int(c, RT_I64, -1))};
    HD_TRY(lx_as_phys(c, &v, RT_I32));
    *out = h_row(c, pb_let(c, l->p, "row", v), NULL, l->state, true);
    return 0;
}

static int column(struct window_lowering *l, int i, struct handle **out)
{
    const struct fe_window_column *w = &l->w->columns[i];
    struct handle *row;
    int n;
    if (w->at.base == FE_WINDOW_SHARE) {
        struct fe_fraction q = fe_fraction_of(w->at.more);
        int64_t k = w->at.less ? q.den : q.num;
        *out = h_phys(l->c, (struct pl_val){.phys = RT_I64,
                                            .type = hd_type_of(HD_INT64),
                                            .expr = pb_const_int(l->c, RT_I64, k),
                                            .range = {true, k, k}});
        return 0;
    }
    if (w->value < 0) {
        HD_TRY(lw_number(l, &w->at, &n));
        struct pl_val v = lw_as_int64(l, n, w->at.base != FE_WINDOW_FOUND);
        int64_t by = lw_added(l, &w->at);
        if (by || w->at.more) {
            v.expr = lw_op2(l->c, FE_ADD, RT_I64, v.expr, pb_const_int(l->c, RT_I64, by));
            v.range = range_of_type(v.type);
        }
        *out = h_phys(l->c, v);
        return 0;
    }
    if (fe_window_is_difference(&l->w->values[w->value]))
        return lw_difference(l, &l->w->values[w->value], out);
    if (fe_window_is_distinct_sum(&l->w->values[w->value]))
        return lw_distinct_sum(l, w->value, out);
    HD_TRY(row_with(l, w, &row));
    *out = h_field(l->c, l->state, l->value[w->value], row);
    (*out)->val.range = l->range[w->value];
    if (hd_type_is_text((*out)->type))
        (*out)->val.range.known = false;
    return 0;
}

/* ---- the node -------------------------------------------------------------------------------------------- */

int lower_window(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    struct window_lowering l = {.c = c, .n = n->n, .w = n->n->u.sort.window, .nin = in->ncols};
    l.rows = HD_MIN(in->max_rows, (double)INT32_MAX);
    l.column = HD_NEWN(c->a, int, l.nin + 1);
    l.value = HD_NEWN(c->a, int, l.w->nvalues + 1);
    l.high = HD_NEWN(c->a, int, l.w->nvalues + 1);
    l.range = HD_NEWN(c->a, struct pl_range, l.w->nvalues + 1);
    l.found = HD_NEWN(c->a, int, l.w->nsearches + 1);
    l.found_slot = HD_NEWN(c->a, int, l.w->nsearches + 1);
    for (int i = 0; i < l.w->nsearches; i++)
        l.found[i] = l.found_slot[i] = -1;
    for (int b = 0; b < BORDERS; b++)
        l.border[b] = l.slot[b] = -1;
    HD_TRY(store(&l, in));
    l.p = pb_pipeline(c, RT_SOURCE_ROWS, n->path);
    l.p->spec.state = l.state;
    l.p->est = in->est;
    l.row = h_row(c, l.p->source_slot, NULL, l.state, false);
    *out = (struct stream){.pipeline = c->pipelines.n - 1,
                           .est = in->est,
                           .max_rows = in->max_rows,
                           .ncols = n->n->ncols,
                           .unique_row = l.row};
    out->cols = HD_NEWN(c->a, struct handle *, out->ncols + 1);
    l.cols = out->cols;
    lw_border(&l, BEGIN);
    for (int i = 0; i < out->ncols; i++) {
        struct handle **h = &out->cols[i];
        if (!is_needed(&l, i)) {
            *h = lw_absent(c, &n->n->cols[i]);
            continue;
        }
        if (i >= l.nin) {
            HD_TRY(column(&l, i - l.nin, h));
            continue;
        }
        *h = h_field(c, l.state, l.column[i], l.row);
        (*h)->val.range = h_range(c, h_plain(in->cols[i]));
        if (hd_type_is_text((*h)->type))
            (*h)->val.range.known = false;
    }
    return 0;
}
