/* Aggregation and DISTINCT. A *stage* groups a stream by some keys; avg is sum and count, a
 * distinct aggregate is two stages. Facts choose the state: one row, dense rows addressed by the
 * packed keys (private per thread or shared with atomics), or a hash table. Keys that others
 * determine leave the key (functional dependency) and come back by a lookup or as ANY. */
#include <math.h>

#include "planner/join.h"

struct agg_item {
    enum fe_agg_fn fn;   /* COUNT_STAR, COUNT, SUM, MIN, MAX */
    struct handle *arg;
    struct hd_type type; /* of the result */
    const char *path;
};

struct stage {
    int nkeys;
    struct handle **keys;
    int naggs;
    struct agg_item *aggs;
    const char *path;
    /* decided */
    int nkept;
    struct handle **kept; /* keys that remain, in order */
    bool *removed;        /* per key */
    bool *by_lookup;      /* removed key that a key index brings back */
    struct pl_val *kv;    /* values of kept keys */
    int nany;             /* other removed keys, carried as ANY */
    struct handle **any;
    bool clustered;
    double groups;
};

/* ---- keys: functional dependencies ---------------------------------------------------------------- */

/* A kept key from which h's row can be found again: a unique column of that row, or the key of the
 * lookup that found it. Returns the position among kept and the key index, or -1. */
static int lookup_key(const struct stage *g, const struct handle *h, int *index)
{
    if (h->kind != H_COLUMN || h->row->row_nullable)
        return -1;
    for (int i = 0; i < g->nkept; i++) {
        const struct handle *k = g->kept[i];
        if (k->kind == H_COLUMN && k->row == h->row &&
            (*index = key_index_of(h->table, k->column)) >= 0)
            return i;
        if (h->row->ndet == 1 && h->row->keyidx >= 0 && h_plain(h->row->det[0]) == k) {
            *index = h->row->keyidx;
            return i;
        }
    }
    return -1;
}

static void reduce_keys(struct ctx *c, struct stage *g)
{
    struct handle **rest = HD_NEWN(c->a, struct handle *, g->nkeys + 1);
    g->removed = HD_NEWN(c->a, bool, g->nkeys + 1);
    g->by_lookup = HD_NEWN(c->a, bool, g->nkeys + 1);
    g->kept = HD_NEWN(c->a, struct handle *, g->nkeys + 1);
    g->any = HD_NEWN(c->a, struct handle *, g->nkeys + 1);
    for (int i = g->nkeys - 1; i >= 0; i--) { /* later keys tend to hang on earlier ones */
        int n = 0;
        for (int k = 0; k < g->nkeys; k++)
            if (k != i && !g->removed[k])
                rest[n++] = g->keys[k];
        g->removed[i] = n > 0 && h_determined(c, g->keys[i], rest, n);
    }
    for (int i = 0; i < g->nkeys; i++)
        if (!g->removed[i])
            g->kept[g->nkept++] = g->keys[i];
    for (int i = 0; i < g->nkeys; i++) {
        int index;
        if (!g->removed[i])
            continue;
        g->by_lookup[i] = lookup_key(g, g->keys[i], &index) >= 0;
        if (!g->by_lookup[i])
            g->any[g->nany++] = g->keys[i];
    }
    if (g->nkept < g->nkeys)
        pb_note(c, "%s: %d of %d group keys follow from the others", g->path,
                g->nkeys - g->nkept, g->nkeys);
}

/* Equal keys arrive in one run each: a clustered or unique column of the scanned table. */
static bool is_clustered(const struct pipe *p, const struct stage *g)
{
    const struct handle *k = g->nkept == 1 ? g->kept[0] : NULL;
    if (!k || k->kind != H_COLUMN || k->row->slot != p->source_slot ||
        p->spec.source != RT_SOURCE_TABLE)
        return false;
    const struct fe_facts *f = &k->table->cols[k->column].facts;
    return f->known && f->nulls == 0 && (f->clustered || f->sorted || f->unique);
}

/* ---- dense addressing ------------------------------------------------------------------------------ */

static int op2(struct ctx *c, enum fe_op op, int a, int b)
{
    int args[2] = {a, b};
    return pb_op(c, op, RT_I64, false, 2, args);
}

/* The inverse: key i from the index. */
static struct handle *dense_key(struct ctx *c, const struct stage *g, const struct pack *d, int i,
                                int index)
{
    const struct pl_val *k = &g->kv[i];
    uint64_t below = 1;
    for (int q = i + 1; q < g->nkept; q++)
        below *= d->span[q];
    int e = index;
    if (below > 1)
        e = op2(c, FE_DIV, e, pb_const_int(c, RT_I64, (hd_i128)below));
    if (i > 0)
        e = op2(c, FE_MOD, e, pb_const_int(c, RT_I64, (hd_i128)d->span[i]));
    int off = e;
    if (k->range.lo != 0)
        e = op2(c, FE_ADD, e, pb_const_int(c, RT_I64, k->range.lo));
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
    if (k->nullable) {
        int cmp[2] = {off, pb_const_int(c, RT_I64, (hd_i128)d->span[i] - 1)};
        int when[2] = {pb_op(c, FE_LT, RT_BOOL, false, 2, cmp), v.expr};
        v.expr = pb_op(c, FE_CASE, v.phys, true, 2, when);
        v.nullable = true;
    }
    return h_phys(c, v);
}

/* ---- accumulators ---------------------------------------------------------------------------------- */

static hd_i128 saturating_bound(struct pl_range r, double rows)
{
    const hd_i128 most = hd_pow10(HD_DEC_MAX);
    double m = HD_MAX(fabs((double)r.lo), fabs((double)r.hi)) * HD_MAX(rows, 1);
    if (m >= 9e37)
        return most;
    hd_i128 a = HD_MAX(r.hi, -r.lo), n = (hd_i128)HD_MAX(rows, 1), out;
    return a > most || __builtin_mul_overflow(a, n, &out) || out > most ? most : out;
}

/* Width of a sum: 64 bits where facts prove that it fits, else 128, else checked. */
static void sum_value(struct ctx *c, const struct agg_item *a, double rows, struct pl_val *v,
                      bool *fail)
{
    *fail = false;
    if (v->type.kind == HD_FLOAT64) {
        lx_as_phys(c, v, RT_F64);
        return;
    }
    struct pl_range in = v->range.known ? v->range : range_of_type(v->type);
    struct pl_range limit = range_of_type(a->type);
    hd_i128 b = saturating_bound(in, rows);
    *fail = b > limit.hi;
    struct pl_range r = {true, -HD_MIN(b, limit.hi), HD_MIN(b, limit.hi)};
    lx_as_phys(c, v, HD_MAX(RT_I64, lx_narrowest(r)));
    v->range = r;
}

struct acc {
    int field;
    struct pl_range range;
    bool sharable; /* atomics can update it */
};

static int add_item(struct ctx *c, struct pipe *p, const struct stream *s, const struct agg_item *a,
                    bool grouped, int state, struct pl_sink *sink, struct acc *out)
{
    static const enum rt_merge merge[] = {[FE_AGG_COUNT_STAR] = RT_MERGE_SUM,
        [FE_AGG_COUNT] = RT_MERGE_SUM, [FE_AGG_SUM] = RT_MERGE_SUM, [FE_AGG_MIN] = RT_MERGE_MIN,
        [FE_AGG_MAX] = RT_MERGE_MAX, [FE_AGG_ANY] = RT_MERGE_ANY};
    struct pl_val v = {.expr = -1, .phys = RT_I64, .range = {true, 0, INT64_MAX}};
    struct pl_out o = {.expr = -1, .fn = a->fn, .path = pb_path(c, a->path)};
    if (a->arg) {
        HD_TRY(h_value(c, p, a->arg, &v));
        lx_realise(c, &v);
        struct pl_range in = v.range;
        if (a->fn == FE_AGG_SUM)
            sum_value(c, a, s->max_rows, &v, &o.fail);
        o.expr = v.expr;
        o.most = in.known ? HD_MAX(in.hi, -in.lo) : 0;
    }
    struct pl_val f = v;
    if (a->fn == FE_AGG_COUNT || a->fn == FE_AGG_COUNT_STAR) {
        f = (struct pl_val){.phys = RT_I64};
        f.range = (struct pl_range){true, 0, s->max_rows < 9e18 ? (hd_i128)s->max_rows : INT64_MAX};
    } else if (!grouped) {
        f.nullable = true; /* no rows, no value */
    }
    f.type = a->type;
    out->field = o.field = pb_field(c, state, fe_agg_name(a->fn), &f, merge[a->fn]);
    out->range = f.range;
    out->sharable = merge[a->fn] == RT_MERGE_SUM && f.phys == RT_I64 && !o.fail;
    sink_add(c, sink, o);
    return 0;
}

static bool sharable(struct ctx *c, struct pipe *p, const struct stream *s, const struct stage *g)
{
    if (g->nany)
        return false;
    for (int i = 0; i < g->naggs; i++) {
        const struct agg_item *a = &g->aggs[i];
        struct pl_val v = {0};
        bool fail = false;
        if (a->fn == FE_AGG_MIN || a->fn == FE_AGG_MAX)
            return false;
        if (a->fn != FE_AGG_SUM)
            continue;
        if (h_value(c, p, a->arg, &v) != 0 || v.type.kind == HD_FLOAT64)
            return false;
        lx_realise(c, &v);
        sum_value(c, a, s->max_rows, &v, &fail);
        if (fail || v.phys != RT_I64)
            return false;
    }
    return true;
}

static int stride_guess(const struct stage *g) { return 8 + 8 * (g->naggs + g->nany) + 8; }

/* Dense pays while clearing and scanning its range costs less than hashing the rows. */
static enum rt_state_kind choose_state(struct ctx *c, struct pipe *p, const struct stream *s,
                                       const struct stage *g, const struct pack *d, bool dense_ok,
                                       bool *shared)
{
    *shared = false;
    if (g->nkept == 0)
        return RT_STATE_AGG_SCALAR;
    double bytes = dense_ok ? (double)d->range * stride_guess(g) : 0;
    uint64_t private_bytes = c->opt.private_bytes ? c->opt.private_bytes : 1 << 20;
    double hash_ns = HD_MAX(s->est, 1024) * 25;
    if (dense_ok && (bytes <= (double)private_bytes / 4 || (bytes <= (double)private_bytes && bytes * 0.2 < hash_ns)))
        return RT_STATE_AGG_DENSE;
    /* As large as what it sums up, it is no worse to keep. */
    if (dense_ok && bytes * 0.2 < hash_ns && bytes < HD_MAX(4e9, s->est * 32) &&
        sharable(c, p, s, g)) {
        *shared = true;
        return RT_STATE_AGG_DENSE;
    }
    if (dense_ok && bytes * 0.3 * HD_MAX(1, c->opt.threads) < hash_ns && bytes < 64e6)
        return RT_STATE_AGG_DENSE;
    return RT_STATE_AGG_HASH;
}

/* ---- one stage --------------------------------------------------------------------------------------- */

static int stage_sink(struct ctx *c, struct pipe *p, const struct stream *s, struct stage *g,
                      struct pack *d, struct acc *accs, struct kept *any)
{
    g->kv = HD_NEWN(c->a, struct pl_val, g->nkept + 1);
    g->groups = 1;
    for (int i = 0; i < g->nkept; i++) {
        HD_TRY(h_value(c, p, g->kept[i], &g->kv[i]));
        lx_realise(c, &g->kv[i]);
        g->groups *= h_distinct(c, g->kept[i], s->est);
    }
    g->groups = HD_MIN(g->groups, s->est);
    bool shared, dense_ok = pack_keys(c, g->kv, g->nkept, true, d);
    enum rt_state_kind kind = choose_state(c, p, s, g, d, dense_ok, &shared);
    int st = pb_state(c, kind, "agg", g->path);
    struct pl_sink *k = &p->sink;
    k->state = st;
    k->clustered = g->clustered;
    k->atomic = shared;
    k->kind = kind == RT_STATE_AGG_SCALAR ? PL_SINK_AGG_SCALAR
              : kind == RT_STATE_AGG_DENSE ? PL_SINK_AGG_DENSE : PL_SINK_AGG_HASH;
    if (kind == RT_STATE_AGG_HASH)
        for (int i = 0; i < g->nkept; i++) {
            int f = pb_field(c, st, "key", &g->kv[i], RT_MERGE_KEY);
            sink_add(c, k, (struct pl_out){.field = f, .expr = g->kv[i].expr, .fn = FE_AGG_ANY});
        }
    c->states.v[st].nkeys = kind == RT_STATE_AGG_HASH ? g->nkept : 0;
    for (int i = 0; i < g->naggs; i++)
        HD_TRY(add_item(c, p, s, &g->aggs[i], g->nkept > 0, st, k, &accs[i]));
    keep_columns(c, g->any, g->nany, false, any);
    HD_TRY(keep_store(c, p, any, st, RT_MERGE_ANY, FE_AGG_ANY, k));
    pb_state_layout(c, st);
    c->states.v[st].est_rows = g->groups;
    c->states.v[st].shared = shared;
    if (kind == RT_STATE_AGG_DENSE) {
        c->states.v[st].range = d->range;
        k->index = pack_index(c, d, g->kv);
        if (shared)
            k->a_rows = pb_arg_state(c, RT_ARG_STATE_ROWS, st, 0);
    }
    return 0;
}

/* Brings a removed key back: its row found through a kept key's index. */
static void restore_by_lookup(struct ctx *c, const struct stage *g, int i, struct handle **key_out,
                              struct handle **rows)
{
    int index, k = lookup_key(g, g->keys[i], &index), pos = -1;
    const struct handle *h = g->keys[i];
    for (int q = 0, n = 0; q < g->nkeys; q++)
        if (!g->removed[q] && n++ == k)
            pos = q;
    for (int q = 0; q < i && !rows[i]; q++)
        if (rows[q] && g->keys[q]->row == h->row)
            rows[i] = rows[q];
    if (!rows[i])
        rows[i] = h_lookup(c, h->table, index, key_out[pos]);
    key_out[i] = h_column(c, h->table, h->column, rows[i]);
}

static int stage_output(struct ctx *c, struct stage *g, const struct pack *d, int st,
                        const struct acc *accs, const struct kept *any, struct stream *out,
                        struct handle **key_out, struct handle **agg_out)
{
    enum rt_state_kind kind = c->states.v[st].kind;
    struct pipe *p = pb_pipe(c, kind == RT_STATE_AGG_DENSE ? RT_SOURCE_INDEX : RT_SOURCE_ROWS, g->path);
    p->spec.state = st;
    p->est = kind == RT_STATE_AGG_DENSE ? (double)d->range : g->groups;
    struct handle *row = h_row(c, p->source_slot, NULL, st, false);
    int index = -1;
    if (kind == RT_STATE_AGG_DENSE) {
        struct pl_step *q = pb_step(c, p, PL_STEP_PRESENT, g->path);
        q->row_slot = p->source_slot;
        q->state = st;
        q->a_rows = pb_arg_state(c, RT_ARG_STATE_ROWS, st, 0);
        p->est = g->groups;
        struct pl_val v = {.expr = pb_slot_expr(c, p, p->source_slot), .phys = RT_I32};
        lx_as_phys(c, &v, RT_I64);
        index = v.expr;
    }
    int n = 0;
    for (int i = 0; i < g->nkeys; i++) {
        if (g->removed[i])
            continue;
        key_out[i] = kind == RT_STATE_AGG_DENSE ? dense_key(c, g, d, n, index)
                                                : h_field(c, st, n, row);
        if (kind != RT_STATE_AGG_DENSE)
            key_out[i]->val.range = g->kv[n].range;
        n++;
    }
    struct handle **rows = HD_NEWN(c->a, struct handle *, g->nkeys + 1);
    struct handle **anyh = HD_NEWN(c->a, struct handle *, g->nany + 1);
    keep_load(c, any, st, row, false, anyh);
    for (int i = 0, a = 0; i < g->nkeys; i++)
        if (g->removed[i] && g->by_lookup[i])
            restore_by_lookup(c, g, i, key_out, rows);
        else if (g->removed[i])
            key_out[i] = anyh[a++];
    for (int i = 0; i < g->naggs; i++) {
        agg_out[i] = h_field(c, st, accs[i].field, row);
        agg_out[i]->val.range = accs[i].range;
    }
    *out = (struct stream){.pipe = c->pipes.n - 1, .est = g->groups,
                           .max_rows = kind == RT_STATE_AGG_SCALAR ? 1 : 9e18, .unique_row = row};
    return 0;
}

static int run_stage(struct ctx *c, struct stream *s, struct stage *g, struct stream *out,
                     struct handle **key_out, struct handle **agg_out)
{
    struct pipe *p = pipe_of(c, s);
    for (int i = 0; i < g->nkeys; i++)
        g->keys[i] = h_plain(g->keys[i]);
    reduce_keys(c, g);
    g->clustered = is_clustered(p, g);
    struct acc *accs = HD_NEWN(c->a, struct acc, g->naggs + 1);
    struct pack d;
    struct kept any;
    HD_TRY(stage_sink(c, p, s, g, &d, accs, &any));
    int st = p->sink.state;
    pb_end(c, p, true);
    double max = g->nkeys ? s->max_rows : 1;
    HD_TRY(stage_output(c, g, &d, st, accs, &any, out, key_out, agg_out));
    out->max_rows = max;
    out->nunique = 0;
    out->unique = HD_NEWN(c->a, struct handle *, g->nkeys + 1);
    for (int i = 0; i < g->nkeys; i++)
        if (!g->removed[i])
            out->unique[out->nunique++] = key_out[i];
    return 0;
}

int agg_extremes(struct ctx *c, struct stream *s, int nkeys, struct handle **keys,
                 struct handle *arg, const char *path, struct stream *out)
{
    struct agg_item items[] = {{FE_AGG_MIN, arg, arg->type, path}, {FE_AGG_MAX, arg, arg->type, path}};
    struct stage g = {.nkeys = nkeys, .keys = keys, .naggs = 2, .aggs = items, .path = path};
    struct handle **cols = HD_NEWN(c->a, struct handle *, nkeys + 2);
    HD_TRY(run_stage(c, s, &g, out, cols, cols + nkeys));
    out->cols = cols;
    out->ncols = nkeys + 2;
    return 0;
}

/* ---- the node: avg and distinct taken apart ------------------------------------------------------------ */

static struct fe_expr *mk_zero(struct ctx *c, struct hd_type t, const char *path)
{
    struct fe_expr *e = lx_node(c, FE_LIT, t, false, path, 0, NULL, NULL);
    e->value.type = t;
    return e;
}

/* case when count > 0 then sum / count end: exact, rounded as docs/plan.md says. */
static struct handle *avg_of(struct ctx *c, struct handle *sum, struct handle *count,
                             struct hd_type t, const char *path)
{
    struct handle **env = HD_NEWN(c->a, struct handle *, 2);
    env[0] = sum;
    env[1] = count;
    struct fe_expr *n = lx_col(c, 1, count, path), *d = n;
    if (t.kind == HD_FLOAT64)
        d = lx_node(c, FE_CAST, t, false, path, 1, n, NULL);
    struct fe_expr *q = lx_node(c, FE_DIV, t, sum->nullable, path, 2, lx_col(c, 0, sum, path), d);
    struct fe_expr *pos = lx_node(c, FE_GT, hd_type_of(HD_BOOL), false, path, 2, n,
                             mk_zero(c, hd_type_of(HD_INT64), path));
    return h_expr(c, lx_node(c, FE_CASE, t, true, path, 2, pos, q), env);
}

static struct handle *or_zero(struct ctx *c, struct handle *h, const char *path)
{
    struct handle **env = HD_NEWN(c->a, struct handle *, 1);
    env[0] = h;
    if (!h->nullable)
        return h;
    return h_expr(c, lx_node(c, FE_COALESCE, h->type, false, path, 2, lx_col(c, 0, h, path),
                             mk_zero(c, h->type, path)), env);
}

/* An avg's sum keeps the scale of its argument. */
static struct hd_type sum_type(struct hd_type t)
{
    if (t.kind == HD_FLOAT64)
        return t;
    return hd_decimal(HD_DEC_MAX, t.kind == HD_DECIMAL ? t.scale : 0);
}

struct agg_plan {
    const struct fe_node *n;
    const bool *need;
    const struct fe_expr *distinct; /* the one distinct argument, or NULL */
    struct agg_item *items;
    int nitems;
    int *first; /* item of each aggregate */
};

static int push_item(struct agg_plan *p, enum fe_agg_fn fn, struct handle *arg, struct hd_type t,
                     const char *path)
{
    for (int i = 0; i < p->nitems; i++) /* sum(x) and avg(x) share, and so do counts */
        if (p->items[i].fn == fn && p->items[i].arg == arg && hd_type_eq(p->items[i].type, t))
            return i;
    p->items[p->nitems] = (struct agg_item){fn, arg, t, path};
    return p->nitems++;
}

static const struct hd_type int64_type = {HD_INT64, 0, 0};

/* COUNT of a column without NULLs is the number of rows. */
static int push_count(struct agg_plan *p, struct handle *arg, const char *path)
{
    bool star = !arg || !arg->nullable;
    return push_item(p, star ? FE_AGG_COUNT_STAR : FE_AGG_COUNT, star ? NULL : arg, int64_type, path);
}

static void push_agg(struct agg_plan *p, int i, const struct fe_agg *a, struct handle *arg)
{
    if (a->fn == FE_AGG_AVG) {
        p->first[2 * i] = push_item(p, FE_AGG_SUM, arg, sum_type(arg->type), a->path);
        p->first[2 * i + 1] = push_count(p, arg, a->path);
    } else if (a->fn == FE_AGG_COUNT || a->fn == FE_AGG_COUNT_STAR) {
        p->first[2 * i] = push_count(p, a->fn == FE_AGG_COUNT ? arg : NULL, a->path);
    } else {
        p->first[2 * i] = push_item(p, a->fn, arg, a->type, a->path);
    }
}

/* The distinct arguments that differ; returns how many. */
static int distinct_args(const struct fe_node *n, const bool *need, const struct fe_expr **args)
{
    int k = 0;
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        bool seen = !a->distinct || !need[n->u.agg.nkeys + i];
        for (int q = 0; q < k && !seen; q++)
            seen = fe_expr_eq(args[q], a->arg);
        if (!seen)
            args[k++] = a->arg;
    }
    return k;
}

/* Aggregate i is needed, distinct, and over this argument. */
static bool is_over(const struct fe_node *n, const bool *need, int i, const struct fe_expr *arg)
{
    const struct fe_agg *a = &n->u.agg.aggs[i];
    return a->distinct && need[n->u.agg.nkeys + i] && fe_expr_eq(a->arg, arg);
}

/* Stage one of a distinct aggregate: group by keys and the distinct argument, the other aggregates
 * as partial results. Afterwards s, keys and the partials describe the input of stage two. */
static int distinct_stage(struct ctx *c, struct agg_plan *p, struct stream *s, struct handle **keys,
                          struct handle **partial, struct handle **dist)
{
    const struct fe_node *n = p->n;
    int nk = n->u.agg.nkeys;
    struct handle **k1 = HD_NEWN(c->a, struct handle *, nk + 1);
    memcpy(k1, keys, sizeof *k1 * (size_t)nk);
    k1[nk] = h_expr(c, p->distinct, s->cols);
    struct stage g = {.nkeys = nk + 1, .keys = k1, .naggs = p->nitems, .aggs = p->items, .path = n->path};
    struct handle **kout = HD_NEWN(c->a, struct handle *, nk + 1);
    struct stream mid;
    HD_TRY(run_stage(c, s, &g, &mid, kout, partial));
    memcpy(keys, kout, sizeof *keys * (size_t)nk);
    *dist = kout[nk];
    *s = mid;
    return 0;
}

static void plan_items(struct ctx *c, struct agg_plan *p, struct handle **env, bool distinct)
{
    const struct fe_node *n = p->n;
    struct handle **seen = HD_NEWN(c->a, struct handle *, n->u.agg.naggs + 1);
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        if (!p->need[n->u.agg.nkeys + i] || a->distinct != distinct)
            continue;
        for (int k = 0; k < i && a->arg && !seen[i]; k++) /* equal arguments share one handle */
            if (seen[k] && fe_expr_eq(n->u.agg.aggs[k].arg, a->arg))
                seen[i] = seen[k];
        if (a->arg && !seen[i])
            seen[i] = h_expr(c, a->arg, env);
        push_agg(p, i, a, seen[i]);
    }
}

/* Stage two's view of stage one's partial: sums and counts add up, min and max stay. */
static void merge_items(struct agg_plan *two, const struct agg_plan *one, struct handle **partial,
                        int *map)
{
    for (int i = 0; i < one->nitems; i++) {
        const struct agg_item *a = &one->items[i];
        enum fe_agg_fn fn = a->fn == FE_AGG_MIN || a->fn == FE_AGG_MAX ? a->fn : FE_AGG_SUM;
        map[i] = push_item(two, fn, partial[i], a->type, a->path);
    }
}

static struct handle *result_of(struct ctx *c, const struct fe_agg *a, struct handle *x,
                                struct handle *count)
{
    if (a->fn == FE_AGG_AVG)
        return avg_of(c, x, or_zero(c, count, a->path), a->type, a->path);
    if (a->fn == FE_AGG_COUNT || a->fn == FE_AGG_COUNT_STAR)
        return or_zero(c, x, a->path);
    return x;
}

/* Groups s once: the aggregates without distinct (dist NULL), or those over one distinct argument
 * together with the others if `both`. cols: keys, then aggregates (NULL where not computed). */
static int group_once(struct ctx *c, const struct fe_node *n, struct stream *s,
                      const struct fe_expr *dist, bool plain, struct stream *out, struct handle **cols)
{
    int nk = n->u.agg.nkeys, na = n->u.agg.naggs;
    struct agg_plan one = {.n = n, .need = c->need[n->id], .distinct = dist}, two;
    one.items = HD_NEWN(c->a, struct agg_item, 2 * na + 2);
    one.first = HD_NEWN(c->a, int, 2 * na + 2);
    struct handle **keys = HD_NEWN(c->a, struct handle *, nk + 1);
    for (int i = 0; i < nk; i++)
        keys[i] = h_expr(c, n->u.agg.keys[i], s->cols);
    if (plain)
        plan_items(c, &one, s->cols, false);
    two = one;
    int *map = HD_NEWN(c->a, int, 2 * na + 2);
    for (int i = 0; i < one.nitems; i++)
        map[i] = i;
    if (dist) {
        struct handle *dh, **partial = HD_NEWN(c->a, struct handle *, 2 * na + 2);
        HD_TRY(distinct_stage(c, &one, s, keys, partial, &dh));
        two = (struct agg_plan){.n = n, .need = one.need};
        two.items = HD_NEWN(c->a, struct agg_item, 4 * na + 4);
        two.first = HD_NEWN(c->a, int, 2 * na + 2);
        merge_items(&two, &one, partial, map);
        for (int i = 0; i < na; i++)
            if (is_over(n, one.need, i, dist))
                push_agg(&two, i, &n->u.agg.aggs[i], dh);
    }
    struct stage g = {.nkeys = nk, .keys = keys, .naggs = two.nitems, .aggs = two.items, .path = n->path};
    struct handle **res = HD_NEWN(c->a, struct handle *, two.nitems + 1);
    HD_TRY(run_stage(c, s, &g, out, cols, res));
    for (int i = 0; i < na; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        bool mine = a->distinct ? dist && is_over(n, one.need, i, dist) : plain && one.need[nk + i];
        cols[nk + i] = NULL;
        if (!mine)
            continue;
        const int *f = a->distinct ? &two.first[2 * i] : &one.first[2 * i];
        struct handle *x = res[a->distinct ? f[0] : map[f[0]]];
        struct handle *cnt = a->fn == FE_AGG_AVG ? res[a->distinct ? f[1] : map[f[1]]] : NULL;
        cols[nk + i] = result_of(c, a, x, cnt);
    }
    return 0;
}

/* Joins the groups of one pass to those of another by their keys, NULL keys alike. Every group is
 * in both, so an inner join keeps them all. */
static int join_groups(struct ctx *c, const struct fe_node *n, struct stream *s, struct stream *b,
                       struct handle **cols)
{
    int nk = n->u.agg.nkeys, m = 0;
    struct fe_node *side = HD_NEW(c->a, struct fe_node), *node = HD_NEW(c->a, struct fe_node);
    *side = (struct fe_node){.op = FE_AGGREGATE_OP, .path = n->path};
    *node = (struct fe_node){.op = FE_JOIN_OP, .path = n->path};
    struct join j = {.n = node, .kind = FE_INNER, .build = side, .nkeys = nk, .take_all = true};
    struct handle **bc = HD_NEWN(c->a, struct handle *, n->ncols + 1), **sc = HD_NEWN(c->a, struct handle *, nk + 1);
    int *at = HD_NEWN(c->a, int, n->ncols + 1);
    j.pkeys = HD_NEWN(c->a, struct fe_expr *, nk + 1);
    for (int i = 0; i < n->ncols; i++)
        if (i < nk || b->cols[i]) {
            at[m] = i;
            bc[m++] = b->cols[i];
        }
    for (int i = 0; i < nk; i++) {
        sc[i] = cols[i];
        j.pkeys[i] = lx_col(c, i, cols[i], n->path);
        j.null_equal |= cols[i]->nullable;
    }
    j.bkeys = j.pkeys;
    struct stream build = *b;
    build.cols = bc;
    build.ncols = side->ncols = m;
    j.s = *s;
    j.s.cols = sc;
    j.s.ncols = nk;
    if (nk == 0) { /* one row on either side */
        struct stored st;
        bool *all = HD_NEWN(c->a, bool, m + 1);
        memset(all, 1, (size_t)m);
        node->u.join.single = true;
        HD_TRY(store_stream(c, &build, all, "rows", n->path, &st));
        HD_TRY(join_expand_all(c, &j, PL_INNER, &st));
    } else {
        struct built t;
        HD_TRY(jb_build(c, &j, &build, &j.s, &t, false, false));
        HD_TRY(jb_probe(c, &j, &t, PL_INNER, NULL));
    }
    for (int i = nk; i < m; i++)
        cols[at[i]] = j.bcols[i];
    s->est = j.s.est;
    return 0;
}

/* Aggregates over several distinct arguments: the input is kept and grouped once for each. */
static int group_each(struct ctx *c, const struct fe_node *n, struct stream *in,
                      const struct fe_expr **args, int k, struct stream *out, struct handle **cols)
{
    struct stored st;
    struct stream *pass = HD_NEWN(c->a, struct stream, k);
    HD_TRY(store_stream(c, in, c->need[n->inputs[0]->id], "input", n->path, &st));
    for (int i = 0; i < k; i++) {
        struct stream s = stream_over(c, &st, n->path);
        struct handle **mine = HD_NEWN(c->a, struct handle *, n->ncols + 1);
        HD_TRY(group_once(c, n, &s, args[i], i == 0, &pass[i], mine));
        pass[i].cols = mine;
    }
    memcpy(cols, pass[0].cols, sizeof *cols * (size_t)n->ncols);
    for (int i = 1; i < k; i++)
        HD_TRY(join_groups(c, n, &pass[0], &pass[i], cols));
    *out = pass[0];
    return 0;
}

int seg_aggregate(struct ctx *c, const struct fe_node *n, struct stream *out)
{
    struct stream s;
    HD_TRY(seg_node(c, n->inputs[0], &s));
    const struct fe_expr **args = HD_NEWN(c->a, const struct fe_expr *, n->u.agg.naggs + 1);
    int k = distinct_args(n, c->need[n->id], args);
    struct handle **cols = HD_NEWN(c->a, struct handle *, n->ncols + 1);
    if (k <= 1)
        HD_TRY(group_once(c, n, &s, k ? args[0] : NULL, true, out, cols));
    else
        HD_TRY(group_each(c, n, &s, args, k, out, cols));
    for (int i = n->u.agg.nkeys; i < n->ncols; i++)
        if (!cols[i]) /* nobody asks for it */
            cols[i] = h_phys(c, lx_const(c, &(struct fe_value){.type = n->cols[i].type, .is_null = true}));
    out->cols = cols;
    out->ncols = n->ncols;
    return 0;
}
