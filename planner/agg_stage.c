/* One grouping: a stream's rows by some keys into one state, and what its accumulators are. The state is one row,
 * dense rows addressed by the packed keys (private per thread or shared with atomics), or a hash table; of that on a GPU
 * the packed keys are the key where they can be. */
#include <math.h>

#include "planner/agg.h"
#include "planner/build.h"
#include "planner/cost.h"
#include "planner/handle.h"
#include "planner/key_pack.h"
#include "planner/lower_expr.h"
#include "planner/lower_value.h"
#include "planner/physical_table.h"
#include "planner/schedule.h"
#include "planner/store.h"

/* ---- dense addressing ------------------------------------------------------------------------------ */

static int op2(struct ctx *c, enum fe_op op, int a, int b)
{
    int args[2] = {a, b};
    return pb_op(c, op, RT_I64, false, 2, args);
}

/* The inverse: key i from the index. */
static struct handle *dense_key(struct ctx *c, const struct stage *g, const struct pack *d, int i, int index)
{
    const struct pl_val *k = &g->kv[i];
    uint64_t below = 1;
    for (int q = i + 1; q < g->d->nkept; q++)
        below *= d->span[q];
    int e = index;
    if (below > 1)
        e = op2(c, FE_DIV, e, pb_const_int(c, RT_I64, (hd_i128)below));
    if (i > 0)
        e = op2(c, FE_MOD, e, pb_const_int(c, RT_I64, (hd_i128)d->span[i]));
    int off = e;
    if (d->lo[i] != 0)
        e = op2(c, FE_ADD, e, pb_const_int(c, RT_I64, d->lo[i]));
    struct pl_val v = *k;
    v.is_const = false;
    v.expr = e;
    v.phys = RT_I64;
    v.nullable = false;
    if (k->phys == RT_BOOL) {
        int args[2] = {e, pb_const_int(c, RT_I64, 0)};
        v.expr = pb_op(c, FE_NE, RT_BOOL, false, 2, args);
        v.phys = RT_BOOL;
    } else {
        lx_as_phys(c, &v, k->phys);
    }
    if (d->null_slot[i]) {
        int cmp[2] = {off, pb_const_int(c, RT_I64, (hd_i128)d->span[i] - 1)};
        int when[2] = {pb_op(c, FE_LT, RT_BOOL, false, 2, cmp), v.expr};
        v.expr = pb_op(c, FE_CASE, v.phys, true, 2, when);
        v.nullable = true;
    }
    return h_phys(c, v);
}

/* ---- accumulators ---------------------------------------------------------------------------------- */

/* Brings the values of a sum to the width in which no partial sum can wrap. False: even 128 bits could. */
static bool sum_width(struct ctx *c, const struct agg_item *a, double rows, struct pl_val *v)
{
    struct pl_val sum = *v;
    bool fits = sum_known(a, rows, &sum);
    lx_as_phys(c, v, sum.phys);
    v->range = sum.range;
    return fits;
}

struct acc {
    int field, high; /* high: of the values' high words, -1 none */
    struct pl_range range, high_range;
    struct pl_val value; /* that a field alone sums up, as it comes; not of halves */
    bool unchecked;
    bool counts; /* not 0 in any group that has a row */
};

/* Where the accumulators of an aggregate go. */
struct target {
    struct ctx *c;
    int state;
    struct pl_sink *sink;
    bool grouped;
    double max_rows; /* of a group */
};

static const enum rt_merge merge_of[] = {
    [FE_AGG_COUNT_STAR] = RT_MERGE_SUM, [FE_AGG_COUNT] = RT_MERGE_SUM, [FE_AGG_SUM] = RT_MERGE_SUM,
    [FE_AGG_MIN] = RT_MERGE_MIN,        [FE_AGG_MAX] = RT_MERGE_MAX,   [FE_AGG_BIT_OR] = RT_MERGE_OR,
    [FE_AGG_BIT_XOR] = RT_MERGE_XOR,    [FE_AGG_ANY] = RT_MERGE_ANY};

/* `of` is the range of the values that come to it. */
static int add_field(const struct target *t, const struct agg_item *a, const char *name, int expr, struct pl_range of,
                     struct pl_val f)
{
    struct pl_out o = {.expr = expr, .fn = a->fn};
    o.max = of.known ? HD_MAX(of.hi, -of.lo) : 0;
    o.not_negative = of.known && of.lo >= 0;
    if (!t->grouped && a->fn != FE_AGG_COUNT && a->fn != FE_AGG_COUNT_STAR)
        f.nullable = true; /* no rows, no value */
    f.type = a->type;
    o.field = pb_field(t->c, t->state, name, &f, merge_of[a->fn]);
    sink_add(t->c, t->sink, o);
    return o.field;
}

static int add_sum_of(const struct target *t, const struct agg_item *a, const char *name, struct pl_val v,
                      struct pl_range *range)
{
    struct pl_range in = v.range;
    bool fits = sum_width(t->c, a, t->max_rows, &v);
    HD_ASSERT(fits);
    *range = v.range;
    return add_field(t, a, name, v.expr, in, v);
}

/* v is high * 2^64 + low with 0 <= low < 2^64: neither half's sum can wrap. */
static void add_halves(const struct target *t, const struct agg_item *a, struct pl_val v, struct acc *out)
{
    struct pl_range r = v.range.known ? v.range : range_of_type(v.type);
    struct pl_val low = v, high = v;
    lx_as_phys(t->c, &v, RT_I128);
    low.phys = RT_I128;
    low.expr = pb_op(t->c, FE_LOW_WORD, RT_I128, v.nullable, 1, &v.expr);
    low.range = (struct pl_range){true, 0, UINT64_MAX};
    high.phys = RT_I64;
    high.expr = pb_op(t->c, FE_HIGH_WORD, RT_I64, v.nullable, 1, &v.expr);
    high.range = (struct pl_range){true, r.lo >> 64, r.hi >> 64};
    out->field = add_sum_of(t, a, "sum low", low, &out->range);
    out->high = add_sum_of(t, a, "sum high", high, &out->high_range);
    out->unchecked = true;
}

static int add_sum(struct open_pipeline *p, const struct target *t, const struct agg_item *a, struct acc *out)
{
    struct pl_val v, high;
    HD_TRY(h_value(t->c, p, a->arg, &v));
    lx_realise(t->c, &v);
    if (a->high) {
        HD_TRY(h_value(t->c, p, a->high, &high));
        out->field = add_sum_of(t, a, "sum low", v, &out->range);
        out->high = add_sum_of(t, a, "sum high", high, &out->high_range);
        out->unchecked = true;
        return 0;
    }
    struct pl_val sum = v;
    if (!sum_width(t->c, a, t->max_rows, &sum)) {
        add_halves(t, a, v, out);
        return 0;
    }
    out->value = v;
    out->counts = !v.nullable && v.range.known && v.range.lo > 0;
    out->field = add_sum_of(t, a, "sum", v, &out->range);
    out->unchecked = leaves_type(&sum, a->type);
    return 0;
}

static int known_bits(struct ctx *c, struct pl_val *v)
{
    v->range = range_bits(FE_BIT_XOR, v->range, v->range);
    return lx_as_phys(c, v, RT_I64);
}

static int add_item(struct open_pipeline *p, const struct target *t, const struct agg_item *a, struct acc *out)
{
    struct pl_val v = {.expr = -1, .phys = RT_I64, .range = {true, 0, INT64_MAX}};
    out->high = -1;
    if (a->fn == FE_AGG_SUM)
        return add_sum(p, t, a, out);
    if (a->arg) {
        HD_TRY(h_value(t->c, p, a->arg, &v));
        lx_realise(t->c, &v);
    }
    if (agg_is_of_bits(a->fn))
        HD_TRY(known_bits(t->c, &v));
    int expr = v.expr;
    struct pl_range of = v.range;
    of.known &= a->arg != NULL;
    if (a->fn == FE_AGG_COUNT || a->fn == FE_AGG_COUNT_STAR) {
        v = (struct pl_val){.phys = RT_I64};
        v.range = (struct pl_range){true, 0, t->max_rows < 9e18 ? (hd_i128)t->max_rows : INT64_MAX};
        out->value = v;
    }
    out->range = v.range;
    out->counts = a->fn == FE_AGG_COUNT_STAR;
    out->field = add_field(t, a, fe_agg_name(a->fn), expr, of, v);
    return 0;
}

/* ---- one stage --------------------------------------------------------------------------------------- */

static enum pl_sink_kind sink_of(enum rt_state_kind k)
{
    return k == RT_STATE_AGG_SCALAR  ? PL_SINK_AGG_SCALAR
           : k == RT_STATE_AGG_DENSE ? PL_SINK_AGG_DENSE
                                     : PL_SINK_AGG_HASH;
}

static bool is_packed(const struct pl_grouping *d)
{
    return d->kind == RT_STATE_AGG_DENSE || d->word;
}

/* 1 and more: 0 is in rows without a group. */
static struct pl_val word_key(struct ctx *c, const struct stage *g)
{
    struct pl_val v = {.phys = RT_I64, .type = hd_type_of(HD_INT64)};
    v.expr = op2(c, FE_ADD, pack_index(c, &g->d->pack, g->kv), pb_const_int(c, RT_I64, 1));
    v.range = (struct pl_range){true, 1, (hd_i128)g->d->pack.range};
    return v;
}

static void add_key(struct ctx *c, struct pl_sink *k, struct pl_val v)
{
    int f = pb_field(c, k->state, "key", &v, RT_MERGE_KEY);
    sink_add(c, k, (struct pl_out){.field = f, .expr = v.expr, .fn = FE_AGG_ANY});
}

/* A count of rows, or a sum of what is above 0, tells groups that exist from others: rows need no flag then. */
static void choose_presence(struct rt_state *st, const struct acc *accs, int n)
{
    for (int i = 0; i < n && st->kind == RT_STATE_AGG_DENSE && !st->presence; i++)
        if (accs[i].counts && (st->fields[accs[i].field].phys == RT_I64 || st->fields[accs[i].field].phys == RT_I32))
            st->presence = 1 + accs[i].field;
}

/* A field that is an int64 and never is outside 32 bits, whatever rows a group has. */
static bool fits_word(const struct rt_state *st, const struct acc *a)
{
    const struct rt_field *f = &st->fields[a->field];
    bool sum = st->merge[a->field] == RT_MERGE_SUM && f->phys == RT_I64 && a->high < 0;
    return sum && a->range.known && lx_narrowest(a->range) == RT_I32;
}

static int as_word(struct ctx *c, struct pl_val v)
{
    lx_as_phys(c, &v, RT_I32);
    return v.expr;
}

/* Sums of dense groups in as few bytes as facts ask for, where rows become shorter: beyond the caches an addition costs a
 * multiple (docs/performance.md, what memory of a GPU gives). Few groups are in registers, or each thread has them in
 * words. Fewer than four bytes are unsigned; they are for groups that a block does not keep to itself, because there
 * lanes whose groups share a word would wait for each other. */
static void narrow_sums(const struct target *t, const struct acc *accs, int n)
{
    struct rt_state *st = &t->c->states.v[t->state], wide = *st;
    if (st->range <= HDD_LANE_GROUPS)
        return;
    bool bytes = st->range * sizeof(int32_t) > PL_BLOCK_GROUPS_BYTES;
    wide.fields = hd_dup(t->c->a, st->fields, sizeof *st->fields * (size_t)st->nfields);
    for (int i = 0; i < n; i++) {
        const struct acc *a = &accs[i];
        struct rt_field *f = &st->fields[a->field];
        if (!fits_word(st, a))
            continue;
        f->phys = RT_I32;
        if (bytes && f->valid_offset < 0 && a->value.range.known && a->value.range.lo >= 0)
            f->bytes = a->range.hi <= UINT8_MAX ? 1 : a->range.hi <= UINT16_MAX ? 2 : 0;
    }
    pb_state_layout(t->c, t->state);
    if (st->stride >= wide.stride) {
        *st = wide;
        return;
    }
    for (int k = 0; k < t->sink->nouts; k++) {
        struct pl_out *o = &t->sink->outs[k];
        for (int i = 0; i < n && o->fn == FE_AGG_SUM && st->fields[o->field].phys == RT_I32; i++)
            if (accs[i].field == o->field)
                o->expr = as_word(t->c, accs[i].value);
    }
}

static int stage_sink(struct ctx *c, struct open_pipeline *p, struct stage *g, struct acc *accs, struct kept *any)
{
    const struct pl_grouping *d = g->d;
    g->kv = HD_NEWN(c->a, struct pl_val, d->nkept + 1);
    for (int i = 0; i < d->nkept; i++) {
        HD_TRY(h_value(c, p, g->kept[i], &g->kv[i]));
        lx_realise(c, &g->kv[i]);
        HD_ASSERT(!is_packed(d) || d->pack.null_slot[i] || !g->kv[i].nullable);
    }
    if (is_packed(d))
        pack_check(c, &d->pack, g->kv, d->nkept);
    int st = pb_state(c, d->kind, "agg", g->path);
    struct pl_sink *k = &p->sink;
    k->state = st;
    k->clustered = d->clustered && p->spec.source == RT_SOURCE_TABLE; /* rows that were kept have lost the order */
    k->atomic = d->shared;
    k->group_rows = d->max_rows;
    k->kind = sink_of(d->kind);
    c->states.v[st].word = d->word;
    if (d->word)
        add_key(c, k, word_key(c, g));
    for (int i = 0; i < d->nkept && d->kind == RT_STATE_AGG_HASH && !d->word; i++)
        add_key(c, k, g->kv[i]);
    c->states.v[st].nkeys = d->word ? 1 : d->kind == RT_STATE_AGG_HASH ? d->nkept : 0;
    struct target t = {c, st, k, d->nkept > 0, d->max_rows};
    for (int i = 0; i < g->naggs; i++)
        HD_TRY(add_item(p, &t, &g->aggs[i], &accs[i]));
    choose_presence(&c->states.v[st], accs, g->naggs);
    keep_chosen(c, g->any, g->nany, d->any_by_row, any);
    HD_TRY(keep_store(c, p, any, st, RT_MERGE_ANY, FE_AGG_ANY, k));
    pb_state_layout(c, st);
    c->states.v[st].est_rows = d->groups;
    c->states.v[st].shared = d->shared;
    if (d->kind == RT_STATE_AGG_DENSE) {
        c->states.v[st].range = d->pack.range;
        narrow_sums(&t, accs, g->naggs);
        k->index = pack_index(c, &d->pack, g->kv);
        if (d->shared)
            k->a_rows = pb_arg_state(c, RT_ARG_STATE_ROWS, st, 0);
    }
    return 0;
}

/* The index that the keys of a group are computed from. */
static int group_index(struct ctx *c, struct open_pipeline *p, const struct stage *g, struct handle *row, int *index)
{
    const struct pl_grouping *d = g->d;
    struct pl_val v = {.phys = RT_I32};
    *index = -1;
    if (d->word) {
        HD_TRY(h_value(c, p, h_field(c, p->spec.state, 0, row), &v));
        *index = op2(c, FE_SUB, v.expr, pb_const_int(c, RT_I64, 1));
    } else if (d->kind == RT_STATE_AGG_DENSE) {
        v.expr = pb_slot_expr(c, p, p->source_slot);
        lx_as_phys(c, &v, RT_I64);
        *index = v.expr;
    }
    return 0;
}

static int stage_output(struct ctx *c, struct stage *g, int st, const struct acc *accs, const struct kept *any,
                        struct stream *out, struct handle **key_out, struct part *agg_out)
{
    const struct pl_grouping *d = g->d;
    enum rt_state_kind kind = d->kind;
    struct open_pipeline *p = pb_pipeline(c, kind == RT_STATE_AGG_DENSE ? RT_SOURCE_INDEX : RT_SOURCE_ROWS, g->path);
    p->spec.state = st;
    p->est = kind == RT_STATE_AGG_DENSE ? (double)d->pack.range : d->groups;
    struct handle *row = h_row(c, p->source_slot, NULL, st, false);
    int index, n = 0;
    if (is_packed(d)) {
        struct pl_step *q = pb_step(c, p, PL_STEP_PRESENT, g->path);
        q->row_slot = p->source_slot;
        q->state = st;
        q->a_rows = pb_arg_state(c, RT_ARG_STATE_ROWS, st, 0);
        p->est = d->groups;
    }
    HD_TRY(group_index(c, p, g, row, &index));
    for (int i = 0; i < g->nkeys; i++) {
        if (d->removed[i].removed)
            continue;
        key_out[i] = is_packed(d) ? dense_key(c, g, &d->pack, n, index) : h_field(c, st, n, row);
        if (!is_packed(d))
            key_out[i]->val.range = g->kv[n].range;
        n++;
    }
    struct handle **anyh = HD_NEWN(c->a, struct handle *, g->nany + 1);
    keep_load(c, any, st, row, false, anyh);
    stage_restore(c, g, anyh, key_out);
    for (int i = 0; i < g->naggs; i++) {
        agg_out[i] = (struct part){.h = h_field(c, st, accs[i].field, row), .unchecked = accs[i].unchecked};
        agg_out[i].h->val.range = accs[i].range;
        if (accs[i].high < 0)
            continue;
        agg_out[i].high = h_field(c, st, accs[i].high, row);
        agg_out[i].high->val.range = accs[i].high_range;
    }
    *out = (struct stream){.pipeline = c->pipelines.n - 1,
                           .est = d->groups,
                           .max_rows = kind == RT_STATE_AGG_SCALAR ? 1 : 9e18,
                           .unique_row = row};
    return 0;
}

/* ---- rows in parts ------------------------------------------------------------------------------------ */

/* Keys, then what is accumulated, then what is carried along: where each is among the stored columns. */
static int stored_columns(const struct stage *g, struct handle **cols, struct handle **into[])
{
    int n = 0;
    for (int i = 0; i < g->d->nkept; i++)
        into[n++] = &g->kept[i];
    for (int i = 0; i < g->naggs; i++) {
        if (g->aggs[i].arg)
            into[n++] = &g->aggs[i].arg;
        if (g->aggs[i].high)
            into[n++] = &g->aggs[i].high;
    }
    for (int i = 0; i < g->nany; i++)
        into[n++] = &g->any[i];
    for (int i = 0; i < n; i++)
        cols[i] = *into[i];
    return n;
}

/* The rows are stored, to be grouped part by part: all as values but what is carried along, as was chosen. */
static int store_parts(struct ctx *c, struct stream *s, struct stage *g)
{
    const struct pl_parts *parts = &g->d->parts;
    int most = g->d->nkept + 2 * g->naggs + g->nany + 1, *fields = HD_NEWN(c->a, int, most);
    struct handle **cols = HD_NEWN(c->a, struct handle *, most), ***into = HD_NEWN(c->a, struct handle **, most);
    bool *by_row = HD_NEWN(c->a, bool, most);
    struct stored *rows = HD_NEW(c->a, struct stored);
    struct stream from = *s;
    from.cols = cols;
    from.ncols = stored_columns(g, cols, into);
    for (int i = 0; i < g->nany; i++)
        by_row[from.ncols - g->nany + i] = g->d->any_by_row && g->d->any_by_row[i];
    HD_TRY(store_stream(c, &from, NULL, by_row, "rows", g->path, rows));
    for (int i = 0; i < g->d->nkept; i++)
        fields[i] = rows->kept.first + rows->kept.via[i];
    c->states.v[rows->state].partition = (struct rt_partition){.nfields = g->d->nkept,
                                                               .fields = fields,
                                                               .top = parts->top,
                                                               .cpu_bits = parts->cpu_bits,
                                                               .gpu_bits = parts->gpu_bits};
    *s = stream_over(c, rows, g->path);
    for (int i = 0; i < s->ncols; i++)
        *into[i] = s->cols[i];
    return 0;
}

int run_stage(struct ctx *c, struct stream *s, struct stage *g, struct stream *out, struct handle **key_out,
              struct part *agg_out)
{
    struct acc *accs = HD_NEWN(c->a, struct acc, g->naggs + 1);
    struct kept any;
    stage_keys(c, g);
    if (g->d->nkept < g->nkeys)
        pb_note(c, "%s: %d of %d group keys follow from the others", g->path, g->nkeys - g->d->nkept, g->nkeys);
    if (g->d->fold)
        return fold_stage(c, s, g, out, key_out, agg_out);
    if (g->d->parts.probe)
        HD_TRY(store_parts(c, s, g));
    struct open_pipeline *p = pipeline_of(c, s);
    HD_TRY(stage_sink(c, p, g, accs, &any));
    int st = p->sink.state;
    pb_end(c, p, true);
    HD_TRY(stage_output(c, g, st, accs, &any, out, key_out, agg_out));
    out->max_rows = g->nkeys ? s->max_rows : 1;
    stage_unique(c, g, key_out, out);
    return 0;
}

int agg_extremes(struct ctx *c, struct pl_node *n, struct stream *s, struct handle **keys, struct handle *arg,
                 struct stream *out)
{
    struct stage g = stage_of_extremes(c, n, keys, arg, n->u.extremes.grouping);
    struct part parts[2];
    struct handle **cols = HD_NEWN(c->a, struct handle *, g.nkeys + 2);
    HD_TRY(run_stage(c, s, &g, out, cols, parts));
    cols[g.nkeys] = parts[0].h;
    cols[g.nkeys + 1] = parts[1].h;
    out->cols = cols;
    out->ncols = g.nkeys + 2;
    return 0;
}
