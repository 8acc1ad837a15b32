/* Windows end in a state whose rows are sorted by partition and order. Finishing it writes into each row where its
 * partition and its peers begin and end (rt_border), and running values of the partition up to the row; so every column
 * of a window is a number, or a field of a row with a number, of which reading pipelines load the one that they need. No
 * row is gone through for another one: a sum over a frame is a difference of two running sums (Leis et al., Efficient
 * Processing of Window Functions in Analytical SQL Queries, 2015, section 4, has what is known of such). */
#include "planner/lower_window.h"

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

/* Fields that finishing writes. */
enum border { BEGIN, END, PEER_BEGIN, PEER_END, PEERS, BORDERS };

struct lowering {
    struct ctx *c;
    const struct fe_node *n;
    const struct fe_window *w;
    int nin, state;
    int *column, *value;  /* field of an input column, of a value; -1: nobody needs it */
    struct pl_range *range; /* of a value */
    int border[BORDERS];
    int *found; /* field of a search; -1: nobody needs it */
    double rows; /* at most; they have numbers of 31 bits */
    /* of the reading pipeline */
    struct open_pipeline *p;
    struct handle *row;
    struct handle **cols; /* of the node, as far as they are lowered */
    int slot[BORDERS]; /* slots with border fields; -1 not loaded yet */
    int *found_slot;
};

static bool is_needed(const struct lowering *l, int column)
{
    return l->c->need[l->n->id][column];
}

static bool is_value_needed(const struct lowering *l, int value)
{
    bool needed = false;
    for (int i = 0; i < l->w->ncolumns; i++)
        needed |= l->w->columns[i].value == value && is_needed(l, l->nin + i);
    return needed || (l->w->separator && value == 1 && is_value_needed(l, 0));
}

static bool joins_strings(const struct lowering *l)
{
    return l->w->separator && is_value_needed(l, 0);
}

static bool is_found(const struct fe_window_at *at, int search)
{
    return at->base == FE_WINDOW_FOUND && at->of == search;
}

static bool is_sought(const struct lowering *l, int search)
{
    for (int i = 0; i < l->w->ncolumns; i++)
        if (is_needed(l, l->nin + i) && is_found(&l->w->columns[i].at, search))
            return true;
    for (int i = 0; i < l->w->nvalues; i++)
        if (l->w->values[i].framed && is_value_needed(l, i) &&
            (is_found(&l->w->values[i].first[0], search) || is_found(&l->w->values[i].last[0], search)))
            return true; /* the other bound is none that is searched for */
    return false;
}

/* ---- the state ------------------------------------------------------------------------------------------- */

static enum rt_merge merge_of(enum fe_agg_fn fn)
{
    return fn == FE_AGG_SUM || fn == FE_AGG_COUNT ? RT_MERGE_SUM
           : fn == FE_AGG_MIN                     ? RT_MERGE_MIN
           : fn == FE_AGG_MAX                     ? RT_MERGE_MAX
           : fn == FE_AGG_BIT_OR                  ? RT_MERGE_OR
           : fn == FE_AGG_BIT_XOR                 ? RT_MERGE_XOR
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

static int settle_sum(struct lowering *l, const struct fe_window_value *w, struct pl_val *v)
{
    const struct agg_item item = {.fn = FE_AGG_SUM, .type = w->fn == FE_AGG_COUNT ? v->type : w->arg->type};
    struct pl_val sum = *v;
    if (!sum_known(&item, l->rows, &sum))
        return HD_FAIL(l->c->err, UNSUPPORTED, w->arg->path,
                       "sums of a window beyond 128 bits: not supported yet; cast the argument to fewer digits");
    HD_TRY(lx_as_phys(l->c, v, sum.phys));
    v->range = sum.range;
    return 0;
}

static int count_of(const struct lowering *l, const struct fe_window_value *w)
{
    for (int i = 0; i < l->w->nvalues; i++)
        if (l->w->values[i].fn == FE_AGG_COUNT && !l->w->values[i].places && fe_expr_eq(l->w->values[i].arg, w->arg))
            return l->value[i];
    HD_BUG("places without a count");
}

static void store_places(struct lowering *l, struct stream *in, int i)
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
static int never_null(struct lowering *l, struct pl_val *v)
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

static int store_value(struct lowering *l, struct stream *in, int i)
{
    struct ctx *c = l->c;
    const struct fe_window_value *w = &l->w->values[i];
    struct open_pipeline *p = pipeline_of(c, in);
    struct pl_val v;
    HD_TRY(lx_expr(c, p, in->cols, w->arg, &v));
    lx_realise(c, &v);
    if (w->fn == FE_AGG_COUNT)
        v = presence(c, &v);
    else if (w->fn == FE_AGG_STRING_AGG)
        HD_TRY(lx_as_string(c, &v));
    else
        v.type = w->arg->type;
    if (l->w->separator)
        HD_TRY(never_null(l, &v));
    if (merge_of(w->fn) == RT_MERGE_SUM)
        HD_TRY(settle_sum(l, w, &v));
    if (agg_is_of_bits(w->fn)) {
        HD_TRY(lx_as_phys(c, &v, RT_I64));
        v.range = range_of_type(w->arg->type);
    }
    if (w->fn == FE_AGG_COUNT)
        v.range = (struct pl_range){true, 0, (hd_i128)l->rows};
    v.nullable |= w->framed;
    l->range[i] = v.range;
    l->value[i] = pb_field(c, l->state, "value", &v, RT_MERGE_KEY); /* each row has its own to begin with */
    c->states.v[l->state].merge[l->value[i]] = merge_of(w->fn);
    sink_add(c, &p->sink, (struct pl_out){.field = l->value[i], .expr = v.expr, .fn = FE_AGG_ANY});
    return 0;
}

/* A field that finishing writes. */
static int add_number(struct lowering *l, struct open_pipeline *p, const char *name)
{
    struct ctx *c = l->c;
    struct pl_val zero = {.phys = RT_I32, .type = hd_type_of(HD_INT32), .expr = pb_const_int(c, RT_I32, 0)};
    int f = pb_field(c, l->state, name, &zero, RT_MERGE_KEY);
    sink_add(c, &p->sink, (struct pl_out){.field = f, .expr = zero.expr, .fn = FE_AGG_ANY});
    return f;
}

static void add_border(struct lowering *l, struct open_pipeline *p, enum border b, enum rt_border kind, int nkeys)
{
    struct ctx *c = l->c;
    int f = l->border[b] = add_number(l, p, "border");
    c->states.v[l->state].fields[f].border = kind;
    c->states.v[l->state].fields[f].border_keys = nkeys;
}

static void want_borders(const struct lowering *l, bool *want, const struct fe_window_at *w)
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

static void add_borders(struct lowering *l, struct open_pipeline *p)
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
        for (int k = 0; k < 2; k++) {
            want_borders(l, want, &w->first[k]);
            want_borders(l, want, &w->last[k]);
        }
    }
    static const enum rt_border kinds[] = {RT_BORDER_BEGIN, RT_BORDER_END, RT_BORDER_BEGIN, RT_BORDER_END,
                                           RT_BORDER_COUNT};
    for (int b = 0; b < BORDERS; b++)
        if (want[b])
            add_border(l, p, (enum border)b, kinds[b], b < PEER_BEGIN ? n->u.sort.ngroup : n->u.sort.nstated);
}

/* The order key's field and the limit's, of one width. */
static int store_limit(struct lowering *l, struct stream *in, const struct fe_window_search *w, int order,
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

static int add_searches(struct lowering *l, struct stream *in, const struct rt_sort_key *keys)
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
static int frame_bound(const struct lowering *l, const struct fe_window_at *b, int64_t *by)
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
    case FE_WINDOW_DENSE: break;
    }
    HD_BUG("a frame with bound %d", (int)b->base);
}

static void set_frames(struct lowering *l)
{
    for (int i = 0; i < l->w->nvalues; i++) {
        const struct fe_window_value *w = &l->w->values[i];
        if (!w->framed || !is_value_needed(l, i))
            continue;
        struct rt_frame *f = HD_NEW(l->c->a, struct rt_frame);
        f->begin = l->border[BEGIN];
        f->end = l->border[END];
        for (int k = 0; k < 2; k++) {
            f->from[k] = frame_bound(l, &w->first[k], &f->from_by[k]);
            f->to[k] = frame_bound(l, &w->last[k], &f->to_by[k]);
            f->to_by[k]++;
        }
        l->c->states.v[l->state].fields[l->value[i]].frame = f;
    }
}

/* Input columns that somebody reads, and those that are sort keys. */
static int store_columns(struct lowering *l, struct stream *in)
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

static const struct rt_text *text_of(const struct lowering *l)
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

static int store(struct lowering *l, struct stream *in)
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
        if (is_value_needed(l, i) && !l->w->values[i].places)
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

static int op2(struct ctx *c, enum fe_op op, enum rt_phys ph, int a, int b)
{
    int args[2] = {a, b};
    return pb_op(c, op, ph, false, 2, args);
}

static int border(struct lowering *l, enum border b)
{
    struct pl_val v;
    if (l->slot[b] < 0) {
        HD_TRY(h_value(l->c, l->p, h_field(l->c, l->state, l->border[b], l->row), &v));
        l->slot[b] = pb_let(l->c, l->p, "border", v);
    }
    return pb_slot_expr(l->c, l->p, l->slot[b]);
}

static int found(struct lowering *l, int search)
{
    struct pl_val v;
    if (l->found_slot[search] < 0) {
        HD_TRY(h_value(l->c, l->p, h_field(l->c, l->state, l->found[search], l->row), &v));
        l->found_slot[search] = pb_let(l->c, l->p, "found", v);
    }
    return pb_slot_expr(l->c, l->p, l->found_slot[search]);
}

/* What is to be added to a number: the first row that a search has found is counted from 0. */
static int64_t added(const struct lowering *l, const struct fe_window_at *w)
{
    return fe_window_by(w) + (w->base == FE_WINDOW_FOUND && !l->w->searches[w->of].behind);
}

/* A number of the partition, I32. */
static int number(struct lowering *l, const struct fe_window_at *w, int *out)
{
    struct ctx *c = l->c;
    int at = -1, one = pb_const_int(c, RT_I32, 1);
    switch (w->base) {
    case FE_WINDOW_ZERO: *out = pb_const_int(c, RT_I32, 0); return 0;
    case FE_WINDOW_ROW: at = pb_slot_expr(c, l->p, l->p->source_slot); break;
    case FE_WINDOW_PEER_BEGIN: at = border(l, PEER_BEGIN); break;
    case FE_WINDOW_PEER_END: *out = op2(c, FE_SUB, RT_I32, border(l, PEER_END), border(l, BEGIN)); return 0;
    case FE_WINDOW_COMPUTED: HD_BUG("a computed number is an expression");
    case FE_WINDOW_FOUND: *out = op2(c, FE_SUB, RT_I32, found(l, w->of), border(l, BEGIN)); return 0;
    case FE_WINDOW_ROWS: *out = op2(c, FE_SUB, RT_I32, border(l, END), border(l, BEGIN)); return 0;
    case FE_WINDOW_DENSE: {
        struct handle *first = h_row(c, l->slot[BEGIN], NULL, l->state, false);
        struct pl_val before;
        HD_TRY(h_value(c, l->p, h_field(c, l->state, l->border[PEERS], first), &before));
        *out = op2(c, FE_ADD, RT_I32, op2(c, FE_SUB, RT_I32, border(l, PEERS), before.expr), one);
        return 0;
    }
    }
    *out = op2(c, FE_ADD, RT_I32, op2(c, FE_SUB, RT_I32, at, border(l, BEGIN)), one);
    return 0;
}

static struct pl_val as_int64(struct lowering *l, int number, int64_t lo)
{
    struct pl_val v = {.phys = RT_I32, .type = hd_type_of(HD_INT64), .expr = number};
    v.range = (struct pl_range){true, lo, (hd_i128)l->rows};
    lx_as_phys(l->c, &v, RT_I64);
    return v;
}

static int choose(struct ctx *c, enum rt_phys ph, int cond, int yes, int no)
{
    int args[3] = {cond, yes, no};
    return pb_op(c, FE_CASE, ph, false, 3, args);
}

/* A computed number, I64. */
static int computed(struct lowering *l, int i, int *out)
{
    struct pl_val v;
    HD_TRY(lx_expr(l->c, l->p, l->cols, l->w->numbers[i], &v));
    lx_realise(l->c, &v);
    HD_TRY(lx_as_phys(l->c, &v, RT_I64));
    *out = v.expr;
    return 0;
}

/* The row with number base + by, which may be none. */
static int row_with(struct lowering *l, const struct fe_window_column *w, struct handle **out)
{
    struct ctx *c = l->c;
    int n = -1;
    if (is_own_row(&w->at)) {
        *out = l->row;
        return 0;
    }
    if (fe_window_row_is_there(w)) {
        struct pl_val own = {.phys = RT_I32, .type = hd_type_of(HD_INT32), .range = {true, 0, (hd_i128)l->rows}};
        HD_TRY(number(l, &w->at, &n));
        own.expr = op2(c, FE_SUB, RT_I32, op2(c, FE_ADD, RT_I32, border(l, BEGIN), n), pb_const_int(c, RT_I32, 1));
        *out = h_row(c, pb_let(c, l->p, "row", own), NULL, l->state, false);
        return 0;
    }
    bool is_computed = w->at.base == FE_WINDOW_COMPUTED;
    HD_TRY(is_computed ? computed(l, w->at.of, &n) : number(l, &w->at, &n));
    int one = pb_const_int(c, RT_I64, 1), begin = as_int64(l, border(l, BEGIN), 0).expr;
    int rows = op2(c, FE_SUB, RT_I64, as_int64(l, border(l, END), 0).expr, begin);
    int at = n;
    if (!is_computed)
        at = op2(c, FE_ADD, RT_I64, as_int64(l, n, 0).expr, pb_const_int(c, RT_I64, added(l, &w->at)));
    if (w->clamp_high)
        at = choose(c, RT_I64, op2(c, FE_GT, RT_BOOL, at, rows), rows, at);
    int inside = op2(c, FE_AND, RT_BOOL, op2(c, FE_GE, RT_BOOL, at, one), op2(c, FE_LE, RT_BOOL, at, rows));
    int row = op2(c, FE_SUB, RT_I64, op2(c, FE_ADD, RT_I64, begin, at), one);
    struct pl_val v = {.phys = RT_I64,
                       .type = hd_type_of(HD_INT64),
                       .range = {true, -1, (hd_i128)l->rows},
                       .expr = choose(c, RT_I64, inside, row, pb_const_int(c, RT_I64, -1))};
    HD_TRY(lx_as_phys(c, &v, RT_I32));
    *out = h_row(c, pb_let(c, l->p, "row", v), NULL, l->state, true);
    return 0;
}

static int column(struct lowering *l, int i, struct handle **out)
{
    const struct fe_window_column *w = &l->w->columns[i];
    struct handle *row;
    int n;
    if (w->value < 0) {
        HD_TRY(number(l, &w->at, &n));
        struct pl_val v = as_int64(l, n, w->at.base != FE_WINDOW_FOUND);
        int64_t by = added(l, &w->at);
        if (by || w->at.more) {
            v.expr = op2(l->c, FE_ADD, RT_I64, v.expr, pb_const_int(l->c, RT_I64, by));
            v.range = range_of_type(v.type);
        }
        *out = h_phys(l->c, v);
        return 0;
    }
    HD_TRY(row_with(l, w, &row));
    *out = h_field(l->c, l->state, l->value[w->value], row);
    (*out)->val.range = l->range[w->value];
    if (hd_type_is_text((*out)->type))
        (*out)->val.range.known = false;
    return 0;
}

/* ---- the node -------------------------------------------------------------------------------------------- */

static struct handle *absent(struct ctx *c, const struct fe_column *col)
{
    return h_phys(c, lx_const(c, &(struct fe_value){.type = col->type, .is_null = true}));
}

int lower_window(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    struct lowering l = {.c = c, .n = n->n, .w = n->n->u.sort.window, .nin = in->ncols};
    l.rows = HD_MIN(in->max_rows, (double)INT32_MAX);
    l.column = HD_NEWN(c->a, int, l.nin + 1);
    l.value = HD_NEWN(c->a, int, l.w->nvalues + 1);
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
    border(&l, BEGIN);
    for (int i = 0; i < out->ncols; i++) {
        struct handle **h = &out->cols[i];
        if (!is_needed(&l, i)) {
            *h = absent(c, &n->n->cols[i]);
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

/* ---- flows ----------------------------------------------------------------------------------------------- */

static struct handle *known_number(struct ctx *c, double rows, bool from_one)
{
    struct handle *h = h_phys(c, (struct pl_val){.phys = RT_I64, .type = hd_type_of(HD_INT64)});
    h->val.range = (struct pl_range){true, from_one, (hd_i128)rows};
    return h;
}

static int known_column(struct ctx *c, const struct fe_node *n, const struct stream *in, int i, struct handle *row,
                        struct handle **out)
{
    const struct fe_window_column *w = &n->u.sort.window->columns[i];
    const struct fe_window_value *v = w->value >= 0 ? &n->u.sort.window->values[w->value] : NULL;
    double rows = HD_MIN(in->max_rows, (double)INT32_MAX);
    const struct fe_column *col = &n->cols[in->ncols + i];
    struct pl_val known;
    if (!v || v->fn == FE_AGG_COUNT) {
        *out = known_number(c, rows, !v && w->at.base != FE_WINDOW_FOUND);
        (*out)->nullable = (*out)->val.nullable = col->nullable;
        if ((w->at.by || w->at.more || w->at.base == FE_WINDOW_FOUND) && !v)
            (*out)->val.range.known = false;
        return 0;
    }
    if (agg_is_of_bits(v->fn)) {
        *out = h_phys(c, (struct pl_val){.phys = RT_I64, .type = v->arg->type, .nullable = col->nullable});
        (*out)->val.range = range_of_type(v->arg->type);
        return 0;
    }
    if (v->fn == FE_AGG_STRING_AGG) {
        *out = h_phys(c, (struct pl_val){.phys = RT_STR, .type = v->arg->type, .nullable = col->nullable});
        return 0;
    }
    struct handle *arg = h_expr(c, v->arg, in->cols);
    HD_TRY(known_value(c, arg, &known));
    if (v->fn == FE_AGG_SUM) {
        const struct agg_item item = {.fn = FE_AGG_SUM, .type = v->arg->type};
        known.type = v->arg->type;
        if (!sum_known(&item, rows, &known)) /* lowering refuses it */
            known.range.known = false;
        known.nullable = col->nullable;
        *out = h_phys(c, known);
        return 0;
    }
    *out = h_kept(c, arg, row);
    (*out)->nullable = (*out)->val.nullable = col->nullable;
    if (hd_type_is_text((*out)->type))
        (*out)->val.range.known = false;
    return 0;
}

int flow_window(struct ctx *c, struct pl_node *n, const struct stream *in, struct stream *out)
{
    const struct fe_node *fe = n->n;
    for (int i = 0; i < fe->u.sort.nkeys; i++)
        map_plan(c, n, in->cols, fe->u.sort.keys[i].expr, in->est);
    *out = flow_begin(c, NULL, in->est);
    out->max_rows = in->max_rows;
    out->unique_row = flow_row(c, NULL);
    out->ncols = fe->ncols;
    out->cols = HD_NEWN(c->a, struct handle *, out->ncols + 1);
    for (int i = 0; i < out->ncols; i++) {
        struct handle **h = &out->cols[i];
        if (!c->need[fe->id][i]) {
            *h = absent(c, &fe->cols[i]);
        } else if (i >= in->ncols) {
            HD_TRY(known_column(c, fe, in, i - in->ncols, out->unique_row, h));
        } else {
            struct pl_val v;
            *h = h_kept(c, h_plain(in->cols[i]), out->unique_row);
            if (!hd_type_is_text((*h)->type))
                continue;
            HD_TRY(known_value(c, *h, &v));
            (*h)->val.range.known = false;
        }
    }
    return 0;
}
