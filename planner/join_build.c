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

/* Brings both sides' keys to one physical form. */
static int unify_keys(struct ctx *c, struct built *t, struct pl_val *pv)
{
    for (int i = 0; i < t->nkeys; i++) {
        struct pl_val *b = &t->bv[i], *p = &pv[i];
        lx_realise(c, b);
        lx_realise(c, p);
        if (hd_type_is_text(b->type))
            HD_TRY(lx_unify(c, b, p));
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

/* The table is addressed by the packed keys. */
static bool addressed(const struct built *t)
{
    return t->d->kind != RT_STATE_HASH && t->d->kind != RT_STATE_ROWS;
}

/* The field of a key: one that is kept anyway, or one of its own. */
static int key_field(struct ctx *c, struct built *t, int key, struct pl_sink *k)
{
    const struct pl_val *v = &t->bv[key];
    for (int i = 0; i < t->kept.n; i++) {
        const struct rt_field *f = &c->states.v[t->state].fields[t->kept.first + i];
        if (t->kept.what[i] == t->bkeys[key] && f->phys == v->phys && (f->valid_offset >= 0) == v->nullable)
            return t->kept.first + i;
    }
    int f = pb_field(c, t->state, "key", v, RT_MERGE_KEY);
    sink_add(c, k, (struct pl_out){.field = f, .expr = v->expr});
    return f;
}

static bool is_key(const struct built *t, const struct handle *h)
{
    for (int i = 0; i < t->nkeys; i++)
        if (t->bkeys[i] == h)
            return true;
    return false;
}

/* By the keys, the last one with the nearest values first, then by the columns that break ties. */
static void sort_by_keys(struct ctx *c, const struct join *j, struct built *t, struct pl_sink *k)
{
    struct rt_sort_key *keys = HD_NEWN(c->a, struct rt_sort_key, t->nkeys + t->kept.n + 1);
    int n = 0;
    for (int i = 0; i < t->nkeys; i++)
        keys[n++] = (struct rt_sort_key){.field = key_field(c, t, i, k)};
    keys[n - 1].desc = j->d->asof == FE_MATCH_GE || j->d->asof == FE_MATCH_GT;
    for (int i = 0; i < t->kept.n && t->d->ties; i++)
        if (!is_key(t, t->kept.what[i]))
            keys[n++] = (struct rt_sort_key){.field = t->kept.first + i};
    c->states.v[t->state].sort = keys;
    c->states.v[t->state].nsort = n;
}

static int build_sink(struct ctx *c, struct join *j, struct stream *b, struct built *t)
{
    struct open_pipeline *p = pipeline_of(c, b);
    struct pl_sink *k = &p->sink;
    t->state = pb_state(c, t->d->kind, j->d->build->label, j->node->path);
    k->state = t->state;
    int index = addressed(t) ? pack_index(c, &t->d->pack, t->bv) : -1;
    if (t->d->kind == RT_STATE_BITMAP || t->d->kind == RT_STATE_DIRECT) {
        k->kind = t->d->kind == RT_STATE_BITMAP ? PL_SINK_BITMAP : PL_SINK_DIRECT;
        k->index = index;
        k->a_bits = pb_arg_state(c, RT_ARG_STATE_BITS, t->state, 0);
    } else {
        k->kind = PL_SINK_ROWS;
    }
    if (t->d->kind == RT_STATE_CSR) {
        struct pl_val v = {
            .expr = index, .phys = RT_I64, .nullable = c->exprs.v[index].nullable, .type = hd_type_of(HD_INT64)};
        if (v.nullable) { /* NULL keys match nothing: drop the rows */
            int null = pb_op(c, FE_IS_NULL, RT_BOOL, false, 1, &index);
            pb_filter(c, p, pb_op(c, FE_NOT, RT_BOOL, false, 1, &null), 0.95, j->node->path);
            v.nullable = false;
        }
        sink_add(c, k, (struct pl_out){.field = pb_field(c, t->state, "index", &v, RT_MERGE_KEY), .expr = index});
    }
    for (int i = 0; i < t->nkeys && t->d->kind == RT_STATE_HASH; i++) {
        int f = pb_field(c, t->state, "key", &t->bv[i], RT_MERGE_KEY);
        sink_add(c, k, (struct pl_out){.field = f, .expr = t->bv[i].expr});
    }
    HD_TRY(keep_store(c, p, &t->kept, t->state, RT_MERGE_KEY, FE_AGG_ANY, k));
    if (t->d->kind == RT_STATE_ROWS)
        sort_by_keys(c, j, t, k);
    pb_state_layout(c, t->state);
    struct rt_state *st = &c->states.v[t->state];
    st->nkeys = t->d->kind == RT_STATE_HASH ? t->nkeys : 0;
    st->range = t->d->pack.range;
    st->unique = t->d->unique && t->d->kind != RT_STATE_ROWS;
    st->dedupe = t->d->existence;
    if (t->d->parts.build) /* rows that are to be grouped a CPU distributes then */
        st->partition = (struct rt_partition){.top = t->d->parts.top,
                                              .cpu_bits = t->d->unique ? t->d->parts.cpu_bits : 0,
                                              .gpu_bits = t->d->parts.gpu_bits};
    st->est_rows = b->est;
    c->state_rows.v[t->state] = b->max_rows;
    if (t->d->kind == RT_STATE_DIRECT) { /* one array per field */
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

static void note_build(struct ctx *c, const struct join *j, const struct stream *b, const struct built *t)
{
    const char *kind = fe_join_kind_name(j->d->written), *label = j->d->build->label;
    if (t->d->kind == RT_STATE_ROWS)
        pb_note(c, "%s: %s as-of join searches sorted rows of %s (about %.0f)", j->node->path, kind, label, b->est);
    else
        pb_note(c, "%s: %s join builds %s of %s (about %.0f rows%s)", j->node->path, kind,
                rt_state_kind_name(t->d->kind), label, b->est, t->d->unique ? ", unique keys" : "");
}

int jb_build(struct ctx *c, struct join *j, struct stream *b, struct stream *s, struct built *t)
{
    struct open_pipeline *bp = pipeline_of(c, b), *sp = pipeline_of(c, s);
    *t = (struct built){.d = j->d->table, .nkeys = j->d->nkeys, .max_rows = b->max_rows};
    t->bkeys = HD_NEWN(c->a, struct handle *, j->d->nkeys + 1);
    t->bv = HD_NEWN(c->a, struct pl_val, j->d->nkeys + 1);
    j->pv = HD_NEWN(c->a, struct pl_val, j->d->nkeys + 1);
    j->pk = HD_NEWN(c->a, struct handle *, j->d->nkeys + 1);
    for (int i = 0; i < j->d->nkeys; i++) {
        t->bkeys[i] = h_plain(h_expr(c, j->d->bkeys[i], b->cols));
        j->pk[i] = h_plain(h_expr(c, j->d->pkeys[i], s->cols));
        if (t->d->scale && t->d->scale[i] >= 0) {
            t->bkeys[i] = join_at_scale(c, t->bkeys[i], t->d->scale[i], false);
            j->pk[i] = join_at_scale(c, j->pk[i], t->d->scale[i], false);
        }
        HD_TRY(h_value(c, bp, t->bkeys[i], &t->bv[i]));
        HD_TRY(h_value(c, sp, j->pk[i], &j->pv[i]));
    }
    HD_TRY(unify_keys(c, t, j->pv));
    if (!addressed(t))
        for (int i = 0; i < t->nkeys; i++)
            HD_TRY(same_width(c, &t->bv[i], &j->pv[i]));
    else
        pack_check(c, &t->d->pack, t->bv, t->nkeys);
    join_kept(c, j, b, t);
    note_build(c, j, b, t);
    return build_sink(c, j, b, t);
}

static void probe_args(struct ctx *c, struct pl_step *s, const struct built *t)
{
    s->state = t->state;
    switch (t->d->kind) {
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
        s->a_rows = pb_arg_state(c, RT_ARG_STATE_ROWS, t->state, 0);
        s->a_nrows = pb_arg_state(c, RT_ARG_STATE_NROWS, t->state, 0);
        break;
    case RT_STATE_AGG_SCALAR:
    case RT_STATE_AGG_DENSE:
    case RT_STATE_AGG_HASH:
    case RT_STATE_ARRAY: HD_BUG("not a join table");
    }
}

static enum pl_step_kind probe_step(const struct built *t, bool one)
{
    if (t->d->kind == RT_STATE_BITMAP)
        return PL_STEP_PROBE_BITMAP;
    if (t->d->kind == RT_STATE_DIRECT)
        return PL_STEP_PROBE_DIRECT;
    if (t->d->kind == RT_STATE_CSR)
        return PL_STEP_EXPAND_CSR;
    if (t->d->kind == RT_STATE_ROWS)
        return PL_STEP_PROBE_SORTED;
    return one ? PL_STEP_PROBE_HASH : PL_STEP_EXPAND_HASH;
}

int jb_probe(struct ctx *c, struct join *j, struct built *t, enum pl_probe_kind how, struct handle **mark)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    bool one = t->d->existence || t->d->unique;
    enum pl_step_kind kind = probe_step(t, one);
    if (kind == PL_STEP_PROBE_BITMAP && how == PL_INNER)
        how = PL_SEMI;
    j->bcols = HD_NEWN(c->a, struct handle *, t->ncols + 1);
    j->nbuild = t->ncols;
    if (kind == PL_STEP_PROBE_BITMAP && how == PL_LEFT)
        return 0; /* unique, nothing to fetch: the probe could not change anything */
    int slot = -1, index = addressed(t) ? pack_probe(c, &t->d->pack, j->pv) : -1;
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
    s->nkeys = addressed(t) ? 0 : t->nkeys;
    s->keys = keys;
    s->splittable = pl_opens_level(kind);
    s->null_equal = addressed(t) ? NULL : t->d->null_equal;
    s->strict = kind == PL_STEP_PROBE_SORTED && (j->d->asof == FE_MATCH_GT || j->d->asof == FE_MATCH_LT);
    probe_args(c, s, t);
    if (pl_opens_level(kind))
        cut_open_level(c, &j->s, j->d->want);
    join_rows(j, t, how, &p->est);
    if (how == PL_MARK) {
        struct pl_val v = {.expr = pb_slot_expr(c, p, slot), .phys = RT_BOOL, .type = hd_type_of(HD_BOOL)};
        *mark = h_phys(c, v);
    }
    if (slot < 0 || how == PL_MARK)
        slot = -1;
    join_columns(c, j, t, h_row(c, slot, NULL, t->state, how == PL_LEFT));
    return 0;
}
