/* The build side of a join becomes a table (bitmap, direct array, CSR, hash), which is probed. */
#include "planner/build.h"
#include "planner/cut.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/join.h"
#include "planner/key_pack.h"
#include "planner/lower_expr.h"
#include "planner/lower_value.h"
#include "planner/physical_table.h"
#include "planner/schedule.h"
#include "planner/store.h"

/* The keys identify at most one row of the build stream. */
static bool keys_unique(struct ctx *c, const struct stream *b, struct handle *const *keys, int n)
{
    if (b->nunique) {
        bool all = true;
        for (int i = 0; i < b->nunique; i++)
            all &= h_determined(c, h_plain(b->unique[i]), keys, n);
        if (all)
            return true;
    }
    struct handle *r = b->unique_row;
    if (!r)
        return false;
    if (h_determined(c, r, keys, n))
        return true;
    int hit = 0; /* a composite primary key */
    for (int i = 0; r->table && i < r->table->npk; i++)
        for (int k = 0; k < n; k++)
            if ((keys[k]->kind == H_COLUMN && keys[k]->row == r && keys[k]->column == r->table->pk[i]) ||
                (r->eq_column == r->table->pk[i] && r->eq == keys[k])) {
                hit++;
                break;
            }
    return r->table && r->table->npk > 0 && hit == r->table->npk;
}

static bool is_f64(const struct pl_val *v)
{
    return v->phys == RT_F64;
}

/* Brings both sides' keys to one physical form. Direct addressing needs integers on both. */
static int unify_keys(struct ctx *c, struct built *t, struct pl_val *pv, bool *ints)
{
    *ints = true;
    for (int i = 0; i < t->nkeys; i++) {
        struct pl_val *b = &t->bv[i], *p = &pv[i];
        lx_realise(c, b);
        lx_realise(c, p);
        if (b->type.kind == HD_STRING)
            HD_TRY(lx_unify(c, b, p));
        *ints &= !is_f64(b) && b->phys <= RT_I64 && p->phys <= RT_I64;
    }
    return 0;
}

/* Hash tables compare fields: both sides must have one width. */
static int same_width(struct ctx *c, struct pl_val *b, struct pl_val *p)
{
    enum rt_phys w = HD_MAX(b->phys, p->phys);
    if (b->phys == p->phys)
        return 0;
    HD_TRY(lx_as_phys(c, b, w));
    return lx_as_phys(c, p, w);
}

/* Columns of the build side that the probe side must see; key columns equal to a probe key are not
 * stored again. */
static void choose_kept(struct ctx *c, struct join *j, struct stream *b, struct built *t, struct handle *const *pk,
                        bool existence)
{
    struct handle **cols = HD_NEWN(c->a, struct handle *, b->ncols + 1);
    int n = 0;
    t->keep_of = HD_NEWN(c->a, int, b->ncols + 1);
    t->same = HD_NEWN(c->a, struct handle *, b->ncols + 1);
    for (int i = 0; i < b->ncols; i++) {
        t->keep_of[i] = -1;
        if (existence || (j->d->keep && !j->d->keep[i]))
            continue;
        for (int k = 0; k < t->nkeys && j->kind == FE_INNER; k++)
            if (t->bkeys[k] == h_plain(b->cols[i]) && pk[k]->type.kind != HD_FLOAT64 &&
                hd_type_eq(pk[k]->type, b->cols[i]->type))
                t->same[i] = pk[k];
        if (t->same[i])
            continue;
        t->keep_of[i] = n;
        cols[n++] = b->cols[i];
    }
    keep_columns(c, cols, n, false, &t->kept);
}

/* Rows of one key at most: those of the most frequent value of a key column, where no row of its table comes twice. */
static double max_per_key(const struct stream *b, struct handle *const *keys, int n)
{
    double max = b->max_rows;
    for (int i = 0; i < n; i++) {
        const struct handle *h = h_plain(keys[i]);
        if (h->kind != H_COLUMN || h->row != b->unique_row || h->row->row_nullable)
            continue;
        const struct fe_facts *f = &h->table->cols[h->column].facts;
        if (f->known && f->max_mult >= 0)
            max = HD_MIN(max, (double)f->max_mult);
    }
    return max;
}

static int build_sink(struct ctx *c, struct join *j, struct stream *b, struct built *t)
{
    struct open_pipeline *p = pipeline_of(c, b);
    struct pl_sink *k = &p->sink;
    t->state = pb_state(c, t->kind, j->d->build->label, j->node->path);
    k->state = t->state;
    int index = t->packed ? pack_index(c, &t->pack, t->bv) : -1;
    if (t->kind == RT_STATE_BITMAP || t->kind == RT_STATE_DIRECT) {
        k->kind = t->kind == RT_STATE_BITMAP ? PL_SINK_BITMAP : PL_SINK_DIRECT;
        k->index = index;
        k->a_bits = pb_arg_state(c, RT_ARG_STATE_BITS, t->state, 0);
    } else {
        k->kind = PL_SINK_ROWS;
    }
    if (t->kind == RT_STATE_CSR) {
        struct pl_val v = {
            .expr = index, .phys = RT_I64, .nullable = c->exprs.v[index].nullable, .type = hd_type_of(HD_INT64)};
        if (v.nullable) { /* NULL keys match nothing: drop the rows */
            int null = pb_op(c, FE_IS_NULL, RT_BOOL, false, 1, &index);
            pb_filter(c, p, pb_op(c, FE_NOT, RT_BOOL, false, 1, &null), 0.95, j->node->path);
            v.nullable = false;
        }
        sink_add(c, k, (struct pl_out){.field = pb_field(c, t->state, "index", &v, RT_MERGE_KEY), .expr = index});
    }
    for (int i = 0; i < t->nkeys && t->kind == RT_STATE_HASH; i++) {
        int f = pb_field(c, t->state, "key", &t->bv[i], RT_MERGE_KEY);
        sink_add(c, k, (struct pl_out){.field = f, .expr = t->bv[i].expr});
    }
    HD_TRY(keep_store(c, p, &t->kept, t->state, RT_MERGE_KEY, FE_AGG_ANY, k));
    pb_state_layout(c, t->state);
    struct rt_state *st = &c->states.v[t->state];
    st->nkeys = t->kind == RT_STATE_HASH ? t->nkeys : 0;
    st->range = t->packed ? t->pack.range : 0;
    st->unique = t->unique;
    st->dedupe = t->dedupe;
    st->est_rows = b->est;
    c->state_rows.v[t->state] = b->max_rows;
    if (t->kind == RT_STATE_DIRECT) { /* one array per field */
        int *af = HD_NEWN(c->a, int, k->nouts + 1), *av = HD_NEWN(c->a, int, k->nouts + 1);
        for (int i = 0; i < k->nouts; i++) {
            int f = k->outs[i].field;
            av[i] = -1;
            af[i] = pb_arg_state(c, RT_ARG_STATE_FIELD, t->state, f);
            if (c->states.v[t->state].fields[f].valid_offset >= 0)
                av[i] = pb_arg_state(c, RT_ARG_STATE_FIELD_VALID, t->state, f);
        }
        k->a_fields = af;
        k->a_valids = av;
    }
    pb_end(c, p, true);
    return 0;
}

int jb_build(struct ctx *c, struct join *j, struct stream *b, struct stream *s, struct built *t, bool existence,
             bool all_rows)
{
    struct open_pipeline *bp = pipeline_of(c, b), *sp = pipeline_of(c, s);
    *t = (struct built){.nkeys = j->d->nkeys, .ncols = b->ncols, .dedupe = existence};
    t->bkeys = HD_NEWN(c->a, struct handle *, j->d->nkeys + 1);
    t->bv = HD_NEWN(c->a, struct pl_val, j->d->nkeys + 1);
    j->pv = HD_NEWN(c->a, struct pl_val, j->d->nkeys + 1);
    j->pk = HD_NEWN(c->a, struct handle *, j->d->nkeys + 1);
    for (int i = 0; i < j->d->nkeys; i++) {
        t->bkeys[i] = h_plain(h_expr(c, j->d->bkeys[i], b->cols));
        j->pk[i] = h_plain(h_expr(c, j->d->pkeys[i], s->cols));
        HD_TRY(h_value(c, bp, t->bkeys[i], &t->bv[i]));
        HD_TRY(h_value(c, sp, j->pk[i], &j->pv[i]));
    }
    bool ints;
    HD_TRY(unify_keys(c, t, j->pv, &ints));
    t->unique = keys_unique(c, b, t->bkeys, t->nkeys) && t->nkeys > 0;
    t->max_rows = b->max_rows;
    t->max_per_key = max_per_key(b, t->bkeys, t->nkeys);
    t->packed = ints && t->nkeys > 0 && pack_keys(c, t->bv, t->nkeys, false, &t->pack);
    choose_kept(c, j, b, t, j->pk, existence);
    t->kind = pl_choose_table(c, j->node,
                              &(struct pl_table_facts){.packed = t->packed,
                                                       .range = t->packed ? (double)t->pack.range : 0,
                                                       .rows = b->est,
                                                       .kept = t->kept.n,
                                                       .unique = t->unique,
                                                       .existence = existence,
                                                       .all_rows = all_rows,
                                                       .null_equal = j->d->null_equal,
                                                       .strategy = j->d->strategy});
    if (j->d->strategy == FE_DIRECT && t->kind == RT_STATE_HASH)
        return HD_FAIL(c->err, USER, j->node->path,
                       "strategy direct needs integer keys of a known range "
                       "on both sides, small enough for tables of 1 GB%s",
                       all_rows ? " and does not serve full joins" : "");
    if (t->kind == RT_STATE_HASH)
        for (int i = 0; i < t->nkeys; i++)
            HD_TRY(same_width(c, &t->bv[i], &j->pv[i]));
    pb_note(c, "%s: %s join builds %s of %s (about %.0f rows%s)", j->node->path, fe_join_kind_name(j->d->written),
            rt_state_kind_name(t->kind), j->d->build->label, b->est, t->unique ? ", unique keys" : "");
    double d = 1;
    for (int i = 0; i < t->nkeys; i++)
        d *= h_distinct(c, t->bkeys[i], b->est);
    t->keys = t->unique ? b->est : HD_MAX(1, HD_MIN(d, b->est));
    t->fanout = t->unique ? 1
                          : HD_MAX(1, b->est / t->keys) +
                                est_skew(c, j->d->tprobe, j->d->tbuild, j->d->nkeys, j->d->pkeys, j->d->bkeys, b->est);
    return build_sink(c, j, b, t);
}

/* Share of probe rows that find a match: key values of the build side over those of the probe's. */
static double match_rate(struct ctx *c, const struct join *j, const struct built *t)
{
    double d = 1;
    for (int i = 0; i < t->nkeys; i++)
        d *= h_distinct(c, j->pk[i], 1e12);
    d = HD_MIN(d, HD_MAX(j->s.max_rows, 1)); /* composite keys are correlated */
    return t->nkeys ? HD_MIN(1.0, t->keys / HD_MAX(d, 1)) : 1;
}

static void probe_args(struct ctx *c, struct pl_step *s, const struct built *t)
{
    s->state = t->state;
    switch (t->kind) {
    case RT_STATE_BITMAP:
    case RT_STATE_DIRECT:
        s->a_bits = pb_arg_state(c, RT_ARG_STATE_BITS, t->state, 0);
        s->a_range = pb_arg_state(c, RT_ARG_STATE_RANGE, t->state, 0);
        break;
    case RT_STATE_CSR:
        s->a_offsets = pb_arg_state(c, RT_ARG_STATE_OFFSETS, t->state, 0);
        s->a_range = pb_arg_state(c, RT_ARG_STATE_RANGE, t->state, 0);
        break;
    case RT_STATE_HASH:
        s->a_slots = pb_arg_state(c, RT_ARG_STATE_SLOTS, t->state, 0);
        s->a_mask = pb_arg_state(c, RT_ARG_STATE_MASK, t->state, 0);
        s->a_rows = pb_arg_state(c, RT_ARG_STATE_ROWS, t->state, 0);
        break;
    case RT_STATE_ROWS:
    case RT_STATE_AGG_SCALAR:
    case RT_STATE_AGG_DENSE:
    case RT_STATE_AGG_HASH:
    case RT_STATE_ARRAY: HD_BUG("not a join table");
    }
}

static enum pl_step_kind probe_step(const struct built *t, bool one)
{
    if (t->kind == RT_STATE_BITMAP)
        return PL_STEP_PROBE_BITMAP;
    if (t->kind == RT_STATE_DIRECT)
        return PL_STEP_PROBE_DIRECT;
    if (t->kind == RT_STATE_CSR)
        return PL_STEP_EXPAND_CSR;
    return one ? PL_STEP_PROBE_HASH : PL_STEP_EXPAND_HASH;
}

int jb_probe(struct ctx *c, struct join *j, struct built *t, enum pl_probe_kind how, struct handle **mark)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    bool exists = how == PL_SEMI || how == PL_ANTI || how == PL_MARK;
    bool one = exists || t->unique;
    enum pl_step_kind kind = probe_step(t, one);
    if (kind == PL_STEP_PROBE_BITMAP && how == PL_INNER)
        how = PL_SEMI;
    j->bcols = HD_NEWN(c->a, struct handle *, t->ncols + 1);
    j->nbuild = t->ncols;
    if (kind == PL_STEP_PROBE_BITMAP && how == PL_LEFT)
        return 0; /* unique, nothing to fetch: the probe could not change anything */
    int slot = -1, index = t->packed && t->kind != RT_STATE_HASH ? pack_probe(c, &t->pack, j->pv) : -1;
    if (how == PL_MARK)
        slot = pb_slot(c, p, "mark", RT_BOOL, false);
    else if (how == PL_INNER || how == PL_LEFT)
        slot = pb_slot(c, p, hd_asprintf(c->a, "%s row", j->d->build->label), RT_I32, false);
    int *keys = HD_NEWN(c->a, int, t->nkeys + 1);
    for (int i = 0; i < t->nkeys; i++)
        keys[i] = j->pv[i].expr;
    struct pl_step *s = pb_step(c, p, kind, j->node->path);
    s->probe = how;
    s->slot = slot;
    s->expr = index;
    s->nkeys = t->kind == RT_STATE_HASH ? t->nkeys : 0;
    s->keys = keys;
    s->splittable = pl_opens_level(kind);
    s->null_equal = j->d->null_equal;
    probe_args(c, s, t);
    if (pl_opens_level(kind))
        cut_open_level(c, &j->s, j->d->want);
    double rate = match_rate(c, j, t);
    p->est *= how == PL_ANTI ? HD_MAX(0.05, 1 - rate) : how == PL_LEFT || how == PL_MARK ? 1 : HD_MAX(rate, 1e-6);
    if (!one) {
        p->est *= t->fanout;
        j->s.max_rows = HD_MIN(j->s.max_rows * HD_MAX(1, t->max_per_key), 9e18);
        j->s.unique_row = NULL;
        j->s.nunique = 0;
    }
    j->s.est = p->est;
    if (how == PL_MARK) {
        struct pl_val v = {.expr = pb_slot_expr(c, p, slot), .phys = RT_BOOL, .type = hd_type_of(HD_BOOL)};
        *mark = h_phys(c, v);
    }
    if (slot < 0 || how == PL_MARK)
        slot = -1;
    struct handle *row = h_row(c, slot, NULL, t->state, how == PL_LEFT);
    if (one) { /* the row follows from the probe keys */
        row->ndet = t->nkeys;
        row->det = j->pk;
    }
    j->brow = row;
    struct handle **kept = HD_NEWN(c->a, struct handle *, t->kept.ncols + 1);
    keep_load(c, &t->kept, t->state, row, how == PL_LEFT, kept);
    for (int i = 0; i < t->ncols; i++)
        j->bcols[i] = t->same && t->same[i] ? t->same[i] : t->keep_of[i] >= 0 ? kept[t->keep_of[i]] : NULL;
    return 0;
}
