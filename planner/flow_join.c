/* Joins before there are pipelines: which table is built, and what is known of the rows that come out. */
#include "planner/flow_join.h"

#include "planner/dict_map.h"
#include "planner/estimate.h"
#include "planner/flow_rows.h"
#include "planner/handle.h"
#include "planner/known.h"
#include "planner/lower_expr.h"
#include "planner/lower_value.h"
#include "planner/physical_search.h"

/* ---- facts of keys ------------------------------------------------------------------------------------------ */

/* All columns of the primary key of row r's table are among the keys. */
static bool has_primary_key(const struct handle *r, struct handle *const *keys, int n)
{
    int hit = 0;
    for (int i = 0; r->table && i < r->table->npk; i++)
        for (int k = 0; k < n; k++)
            if ((keys[k]->kind == H_COLUMN && keys[k]->row == r && keys[k]->column == r->table->pk[i]) ||
                (r->eq_column == r->table->pk[i] && r->eq == keys[k])) {
                hit++;
                break;
            }
    return r->table && r->table->npk > 0 && hit == r->table->npk;
}

/* The keys identify at most one row of the build stream. */
static bool keys_unique(struct ctx *c, const struct stream *b, struct handle *const *keys, int n)
{
    bool all = b->nunique > 0;
    for (int i = 0; i < b->nunique && all; i++)
        all = h_determined(c, h_plain(b->unique[i]), keys, n);
    if (all || !b->unique_row)
        return all;
    return h_determined(c, b->unique_row, keys, n) || has_primary_key(b->unique_row, keys, n);
}

/* Rows of one key at most: those of the most frequent value of a key column, where no row of its table comes twice. */
static double max_per_key(const struct stream *b, const struct built *t)
{
    double max = b->max_rows;
    for (int i = 0; i < t->nkeys; i++) {
        const struct handle *h = t->bkeys[i];
        if (t->d->null_equal && t->d->null_equal[i]) /* facts do not count NULLs */
            continue;
        if (h->kind != H_COLUMN || h->row != b->unique_row || h->row->row_nullable)
            continue;
        const struct fe_facts *f = &h->table->cols[h->column].facts;
        if (f->known && f->max_mult >= 0)
            max = HD_MIN(max, (double)f->max_mult);
    }
    return max;
}

/* Build columns that equal a probe key need not be kept: inner joins take them from there. */
static int *same_columns(struct ctx *c, const struct join *j, const struct stream *b, const struct built *t)
{
    int *same = HD_NEWN(c->a, int, b->ncols + 1), compared = t->nkeys - (j->d->way == PL_WAY_NEAREST);
    for (int i = 0; i < b->ncols; i++) {
        same[i] = -1;
        for (int k = 0; k < compared && j->kind == FE_INNER && (!j->d->keep || j->d->keep[i]); k++)
            if (t->bkeys[k] == h_plain(b->cols[i]) && !hd_type_is_float(j->pk[k]->type) &&
                hd_type_eq(j->pk[k]->type, b->cols[i]->type))
                same[i] = k;
    }
    return same;
}

/* ---- tables ------------------------------------------------------------------------------------------------- */

/* Where one side has no NULL, NULLs of the other match nothing anyway. */
static void set_null_equal(struct ctx *c, const struct join *j, struct pl_table *d, int key, bool nullable)
{
    if (!nullable || !join_null_equal(j->d, key))
        return;
    if (!d->null_equal)
        d->null_equal = HD_NEWN(c->a, bool, j->d->nkeys);
    d->null_equal[key] = true;
}

/* At the smallest scale, if that is asked for. */
static int set_scale(struct ctx *c, struct join *j, struct built *t, struct pl_table *d, int key)
{
    int scale;
    HD_TRY(join_scale(c, t->bkeys[key], j->pk[key], &scale));
    if (scale < 0)
        return 0;
    if (!d->scale) {
        d->scale = HD_NEWN(c->a, int, t->nkeys);
        for (int i = 0; i < t->nkeys; i++)
            d->scale[i] = -1;
    }
    d->scale[key] = scale;
    t->bkeys[key] = join_at_scale(c, t->bkeys[key], scale, true);
    j->pk[key] = join_at_scale(c, j->pk[key], scale, true);
    return 0;
}

static int key_values(struct ctx *c, struct join *j, const struct stream *b, struct built *t, struct pl_table *d,
                      bool scaled, bool *ints)
{
    *ints = true;
    d->scale = NULL;
    d->null_equal = NULL;
    t->bkeys = HD_NEWN(c->a, struct handle *, t->nkeys + 1);
    t->bv = HD_NEWN(c->a, struct pl_val, t->nkeys + 1);
    j->pk = HD_NEWN(c->a, struct handle *, t->nkeys + 1);
    for (int i = 0; i < t->nkeys; i++) {
        struct pl_val p;
        t->bkeys[i] = h_plain(h_expr(c, j->d->bkeys[i], b->cols));
        j->pk[i] = h_plain(h_expr(c, j->d->pkeys[i], j->s.cols));
        map_plan(c, j->node, b->cols, j->d->bkeys[i], b->est);
        map_plan(c, j->node, j->s.cols, j->d->pkeys[i], j->s.est);
        if (scaled)
            HD_TRY(set_scale(c, j, t, d, i));
        HD_TRY(known_value(c, t->bkeys[i], &t->bv[i]));
        HD_TRY(known_value(c, j->pk[i], &p));
        set_null_equal(c, j, d, i, t->bv[i].nullable && p.nullable);
        known_unify(&t->bv[i], &p, ints);
    }
    return 0;
}

/* Share of probe rows that find a match, key values of the build side over those of the probe's; and how many. */
static void estimate_matches(struct ctx *c, const struct join *j, const struct built *t, double rows,
                             struct pl_table *d)
{
    double built = 1, probed = 1;
    for (int i = 0; i < t->nkeys; i++)
        built *= h_distinct(c, t->bkeys[i], rows);
    for (int i = 0; i < t->nkeys; i++)
        probed *= h_distinct(c, j->pk[i], 1e12);
    probed = HD_MIN(probed, HD_MAX(j->s.max_rows, 1)); /* composite keys are correlated */
    double keys = d->unique ? rows : HD_MAX(1, HD_MIN(built, rows));
    d->rate = HD_MIN(1.0, keys / HD_MAX(probed, 1));
    d->fanout = d->unique ? 1
                          : HD_MAX(1, rows / keys) +
                                est_skew(c, j->d->tprobe, j->d->tbuild, j->d->nkeys, j->d->pkeys, j->d->bkeys, rows);
}

static int choose_table(struct ctx *c, const struct join *j, const struct pl_table_facts *f, struct pl_table *d)
{
    for (int i = 0; d->scale && i < j->d->nkeys; i++)
        if (d->scale[i] >= 0)
            join_tell_scale(c, j->node, j->d->bkeys[i]->type.scale, d->scale[i]);
    d->kind = pl_choose_table(c, j->node, f);
    if (j->d->strategy == FE_DIRECT && d->kind == RT_STATE_HASH)
        return HD_FAIL(c->err, USER, j->node->path,
                       "strategy direct needs integer keys of a known range "
                       "on both sides, small enough for tables of 1 GB%s",
                       f->all_rows ? " and does not serve full joins" : "");
    return 0;
}

/* Keys at a smaller scale than their own (scaled), or at that. */
static int table_facts(struct ctx *c, struct join *j, const struct stream *b, struct built *t, struct pl_table *d,
                       bool scaled, struct pl_table_facts *f)
{
    bool ints;
    HD_TRY(key_values(c, j, b, t, d, scaled, &ints));
    d->unique = keys_unique(c, b, t->bkeys, t->nkeys);
    d->max_per_key = max_per_key(b, t);
    bool packed = ints && pack_keys(c, t->bv, t->nkeys, false, &d->pack);
    d->same = same_columns(c, j, b, t);
    join_kept(c, j, b, t);
    *f = (struct pl_table_facts){.packed = packed,
                                 .range = packed ? (double)d->pack.range : 0,
                                 .rows = b->est,
                                 .kept = t->kept.n,
                                 .unique = d->unique,
                                 .existence = d->existence,
                                 .all_rows = j->kind == FE_FULL,
                                 .null_equal = d->null_equal != NULL,
                                 .strategy = j->d->strategy};
    return 0;
}

/* Plans the table of build rows b for join description d, which is j's. */
static int flow_table(struct ctx *c, struct join *j, struct pl_join *into, struct stream *b, bool existence,
                      struct built *t)
{
    struct pl_table *d = HD_NEW(c->a, struct pl_table);
    struct pl_table_facts f;
    *t = (struct built){.d = d, .state = -1, .nkeys = into->nkeys, .max_rows = b->max_rows};
    d->existence = existence;
    HD_TRY(table_facts(c, j, b, t, d, true, &f));
    if (d->scale && !pl_is_addressed(c, &f)) /* then parts of both sides are by hashes of the keys as they are */
        HD_TRY(table_facts(c, j, b, t, d, false, &f));
    estimate_matches(c, j, t, b->est, d);
    HD_TRY(choose_table(c, j, &f, d));
    if (d->kind == RT_STATE_HASH)
        d->parts = pl_choose_parts(c, j->node,
                                   &(struct pl_parts_facts){.build = b->est,
                                                            .probe = j->s.est,
                                                            .kept_order = j->s.ordered,
                                                            .unique = d->unique,
                                                            .strategy = j->d->strategy});
    d->by_row = flow_kept(c, j->node, &t->kept);
    into->table = d;
    return 0;
}

/* Plans the rows, sorted by their keys, in which an as-of join searches. Rows with equal keys are told apart by the
 * columns that somebody reads, which are kept as values then. */
static int flow_sorted(struct ctx *c, struct join *j, struct pl_join *into, struct stream *b, struct built *t)
{
    struct pl_table *d = HD_NEW(c->a, struct pl_table);
    bool ints;
    *t = (struct built){.d = d, .state = -1, .nkeys = into->nkeys, .max_rows = b->max_rows};
    d->kind = RT_STATE_ROWS;
    HD_TRY(key_values(c, j, b, t, d, false, &ints));
    d->ties = !keys_unique(c, b, t->bkeys, t->nkeys);
    d->same = same_columns(c, j, b, t);
    if (d->ties)
        d->by_row = HD_NEWN(c->a, bool, b->ncols + 1);
    join_kept(c, j, b, t);
    t->nkeys--;
    estimate_matches(c, j, t, b->est, d);
    t->nkeys++;
    d->unique = true; /* no more than one is found */
    d->by_row = flow_kept(c, j->node, &t->kept);
    into->table = d;
    return 0;
}

static void flow_probe(struct ctx *c, struct join *j, const struct built *t, enum pl_probe_kind how)
{
    double est = j->s.est;
    if (t->d->kind == RT_STATE_BITMAP && how == PL_LEFT) { /* nothing to fetch */
        j->nbuild = t->ncols;
        j->bcols = HD_NEWN(c->a, struct handle *, t->ncols + 1);
        return;
    }
    join_rows(j, t, how, &est);
    join_columns(c, j, t, h_row(c, -1, NULL, -1, how == PL_LEFT));
}

/* ---- stored indexes ----------------------------------------------------------------------------------------- */

static int flow_key_row(struct ctx *c, struct join *j, const struct fe_table *t, int index, struct handle *key,
                        enum pl_probe_kind how, struct handle **row)
{
    struct at_hand *at = j->s.at;
    int column = t->keyidx[index].column;
    struct pl_val v;
    if (key->kind == H_COLUMN && key->table == t && key->column == column && !key->nullable) {
        *row = key->row; /* the key is a column of that very row */
        return 0;
    }
    for (int i = 0; i < at->lookups.n; i++) { /* looked up before in this pipeline */
        struct handle *r = at->lookups.v[i];
        if (r->table == t && r->keyidx == index && r->det[0] == key && r->row_nullable == (how == PL_LEFT)) {
            *row = r;
            return 0;
        }
    }
    *row = h_lookup(c, t, index, key);
    hd_vec_push(c->a, &at->lookups, *row);
    if (join_always_matches(key, t, column))
        return 0;
    HD_TRY(known_value(c, key, &v));
    (*row)->row_nullable = how == PL_LEFT;
    if (how == PL_INNER)
        j->s.est *= HD_MIN(1.0, (double)t->rows / HD_MAX(1.0, h_distinct(c, key, 1e12)));
    return 0;
}

static void flow_expand_fk(struct ctx *c, struct join *j, struct handle *parent, struct handle *key,
                           enum pl_probe_kind how, struct handle **row)
{
    const struct fe_table *t = node_table(j->d->tbuild);
    const struct fe_foreign_key *fk = &t->fks[j->d->fk];
    double parents = j->s.max_rows;
    j->s.est *= HD_MAX(j->d->fanout, 0.001);
    j->s.max_rows = HD_MIN(parents * (double)HD_MAX(1, fk->max_children < 0 ? t->rows : fk->max_children), 9e18);
    bool once = j->s.unique_row == parent || join_unique_on(c, &j->s, key);
    if (once) /* unique parents reach every child once */
        j->s.max_rows = HD_MIN(j->s.max_rows, (double)t->rows + (how == PL_LEFT ? parents : 0));
    *row = h_row(c, -1, t, -1, how == PL_LEFT);
    j->s.unique_row = once ? *row : NULL;
    j->s.nunique = 0;
    j->s.at->parent = once ? parent : NULL;
    j->s.at->child = *row;
}

/* One row at most has both keys. */
static int flow_search_child(struct ctx *c, struct join *j, struct handle **row)
{
    struct pl_val v;
    struct handle *key = h_plain(h_expr(c, j->d->pkeys[j->d->within], j->s.cols));
    HD_TRY(known_value(c, key, &v));
    j->s.est *= pl_child_share(c, j->d, key);
    *row = h_row(c, -1, node_table(j->d->tbuild), -1, false);
    return 0;
}

/* What decides about rows that were found in the table itself. */
static int flow_found_rows(struct ctx *c, struct join *j, struct pl_join *d)
{
    for (int k = 0; k < j->d->nkeys; k++) {
        map_plan(c, j->node, j->s.cols, j->d->pkeys[k], j->s.est);
        map_plan(c, j->node, j->bcols, j->d->bkeys[k], j->s.est);
    }
    HD_TRY(flow_scan_filter(c, j->d->build, j->brow, &j->s));
    d->key_share = HD_NEWN(c->a, double, d->nkeys + 1);
    d->build_share = HD_NEWN(c->a, double, d->nbuild + 1);
    for (int k = 0; k < d->nkeys && d->way != PL_WAY_CHILD; k++) {
        d->key_share[k] = 1 / h_distinct(c, h_expr(c, d->pkeys[k], j->s.cols), 1e4);
        if (k != d->key)
            j->s.est *= d->key_share[k];
    }
    return flow_filter(c, j->node, &j->s, join_env(c, j), d->build_only, d->nbuild, d->build_share);
}

static int flow_lookup(struct ctx *c, struct join *j, struct pl_join *d, enum pl_probe_kind how)
{
    const struct fe_table *t = node_table(j->d->tbuild);
    struct handle *key = h_plain(h_expr(c, j->d->pkeys[j->d->key], j->s.cols)), *row;
    bool same = how == PL_INNER && !hd_type_is_float(key->type);
    if (j->d->way == PL_WAY_KEY) {
        HD_TRY(flow_key_row(c, j, t, j->d->index, key, how, &row));
    } else {
        const struct fe_foreign_key *fk = &t->fks[j->d->fk];
        struct handle *parent;
        int index = key_index_of(fk->parent, fk->parent_columns[0]);
        HD_TRY(flow_key_row(c, j, fk->parent, index, key, how, &parent));
        if (j->d->way == PL_WAY_FK)
            flow_expand_fk(c, j, parent, key, how, &row);
        else
            HD_TRY(flow_search_child(c, j, &row));
    }
    join_scan_at(c, j, row, key, same);
    return flow_found_rows(c, j, d);
}

static int flow_column(struct ctx *c, struct join *j, struct pl_join *d, enum pl_probe_kind how)
{
    struct pl_val v;
    struct handle *key = h_plain(h_expr(c, d->pkeys[d->key], j->s.cols));
    HD_TRY(known_value(c, key, &v));
    join_column_rows(c, j, key, how, &j->s.est);
    if (how != PL_INNER && how != PL_LEFT) {
        map_plan(c, j->node, j->s.cols, d->pkeys[d->key], j->s.est);
        return 0;
    }
    join_scan_at(c, j, join_column_row(c, j, key, how, -1), key, how == PL_INNER);
    return flow_found_rows(c, j, d);
}

static int flow_band(struct ctx *c, struct join *j, struct pl_join *d, enum pl_probe_kind how)
{
    const struct fe_table *t = node_table(d->tbuild);
    d->fanout = HD_MAX((double)t->rows * pl_search_share(d->search), 1e-3);
    join_band_rows(c, j, how, &j->s.est);
    join_scan_at(c, j, h_row(c, -1, t, -1, how == PL_LEFT), NULL, false);
    return flow_found_rows(c, j, d);
}

/* ---- all pairs ---------------------------------------------------------------------------------------------- */

static void flow_all_pairs(struct ctx *c, struct join *j, struct pl_join *d, const struct stream *b,
                           enum pl_probe_kind how)
{
    struct stored st;
    store_rows(c, b, d->keep, NULL, &st);
    d->by_row = flow_kept(c, j->node, &st.kept);
    if (!j->d->single) {
        j->s.est *= HD_MAX(1, st.est);
        j->s.max_rows = HD_MIN(j->s.max_rows * HD_MAX(1, st.max_rows), 9e18);
        j->s.unique_row = NULL;
        j->s.nunique = 0;
    }
    j->brow = h_row(c, -1, NULL, -1, how == PL_LEFT);
    join_stored_columns(c, j, &st, j->brow);
}

/* ---- searches ----------------------------------------------------------------------------------------------- */

/* Build rows in the range of a probe row. */
static double found_rows(struct ctx *c, const struct join *j, const struct stream *b)
{
    const struct pl_search *s = j->d->search;
    double keys = 1, share = pl_search_share(s);
    for (int i = 0; i < s->nkeys; i++) {
        double probed = h_distinct(c, h_plain(h_expr(c, s->pkeys[i], j->s.cols)), 1e12);
        keys *= HD_MAX(h_distinct(c, h_plain(h_expr(c, s->bkeys[i], b->cols)), b->est), HD_MIN(probed, b->est));
    }
    return HD_MAX(b->est * share / HD_MAX(1, HD_MIN(keys, b->est)), 1e-3);
}

static int flow_search(struct ctx *c, struct join *j, struct pl_join *d, const struct stream *b, enum pl_probe_kind how)
{
    double probed = j->s.est;
    for (int i = 0; i < d->search->nkeys; i++) {
        map_plan(c, j->node, b->cols, d->search->bkeys[i], b->est);
        map_plan(c, j->node, j->s.cols, d->search->pkeys[i], j->s.est);
    }
    d->fanout = found_rows(c, j, b);
    flow_all_pairs(c, j, d, b, how);
    j->s.est = probed * (how == PL_LEFT ? HD_MAX(1, d->fanout) : d->fanout);
    return 0;
}

/* ---- a condition beyond the keys ---------------------------------------------------------------------------- */

static int flow_rest(struct ctx *c, struct join *j, struct pl_join *d)
{
    d->rest_share = HD_NEWN(c->a, double, d->nrest + 1);
    for (int i = 0; i < d->nrest; i++) {
        double rows = j->s.est;
        HD_TRY(flow_filter(c, j->node, &j->s, join_env(c, j), &d->rest[i], 1, &d->rest_share[i]));
        if (!d->search || !d->search->found[i])
            continue;
        d->rest_share[i] = 1; /* nearly: what its search found is tested again */
        j->s.est = rows;
    }
    return 0;
}

static int flow_compared(struct ctx *c, struct join *j, struct pl_join *d, struct stream *b, struct stream *out)
{
    struct built t;
    enum fe_join_kind kind = j->kind;
    enum pl_probe_kind how = kind == FE_SEMI ? PL_INNER : PL_LEFT;
    j->kind = how == PL_INNER ? FE_INNER : FE_LEFT;
    HD_TRY(flow_table(c, j, d, b, false, &t));
    double est = j->s.est * (how == PL_INNER ? d->share : 1);
    flow_probe(c, j, &t, how);
    j->s.est = est;
    j->kind = kind;
    struct handle **env = join_extremes_env(c, j);
    d->rest_share = HD_NEWN(c->a, double, d->nrest + 1);
    HD_TRY(flow_filter(c, j->node, &j->s, env, d->rest, d->nrest, d->rest_share));
    if (kind == FE_MARK) {
        map_plan(c, j->node, env, d->match, est);
        return join_mark_output(c, j, h_expr(c, d->match, env), out);
    }
    return join_output(c, j, out);
}

/* ---- joins -------------------------------------------------------------------------------------------------- */

static bool asks_existence(enum fe_join_kind k)
{
    return k == FE_SEMI || k == FE_ANTI || k == FE_MARK;
}

static struct handle *known_bool(struct ctx *c)
{
    return h_phys(c, (struct pl_val){.phys = RT_BOOL, .type = hd_type_of(HD_BOOL)});
}

static int flow_once(struct ctx *c, struct join *j, struct pl_join *d, struct stream *b, struct stream *out)
{
    enum pl_probe_kind how = join_how(j->kind);
    struct built t;
    switch (d->way) {
    case PL_WAY_BUILD:
        HD_TRY(flow_table(c, j, d, b, asks_existence(j->kind), &t));
        flow_probe(c, j, &t, how);
        break;
    case PL_WAY_KEY:
    case PL_WAY_CHILD:
    case PL_WAY_FK: HD_TRY(flow_lookup(c, j, d, j->kind == FE_LEFT ? PL_LEFT : PL_INNER)); break;
    case PL_WAY_COLUMN: HD_TRY(flow_column(c, j, d, join_column_how(j))); break;
    case PL_WAY_BAND: HD_TRY(flow_band(c, j, d, PL_INNER)); break;
    case PL_WAY_ALL: flow_all_pairs(c, j, d, b, how); break;
    case PL_WAY_SEARCH: HD_TRY(flow_search(c, j, d, b, how)); break;
    case PL_WAY_NEAREST:
        HD_TRY(flow_sorted(c, j, d, b, &t));
        flow_probe(c, j, &t, how);
        break;
    }
    HD_TRY(flow_rest(c, j, d));
    if (j->kind == FE_FULL) {
        double rest = (double)node_table(d->tbuild)->rows;
        *out = flow_appended(c, j->n, j->s.est + rest, j->s.max_rows + rest);
        return 0;
    }
    return j->kind == FE_MARK ? join_mark_output(c, j, known_bool(c), out) : join_output(c, j, out);
}

/* The pairs that set bits of rows with a match. */
static int flow_matches(struct ctx *c, struct join *j, struct pl_join *d, struct stream *b, struct built *t)
{
    switch (d->way) {
    case PL_WAY_KEY:
    case PL_WAY_CHILD:
    case PL_WAY_FK: HD_TRY(flow_lookup(c, j, d, PL_INNER)); break;
    case PL_WAY_COLUMN: HD_TRY(flow_column(c, j, d, PL_INNER)); break;
    case PL_WAY_BAND: HD_TRY(flow_band(c, j, d, PL_INNER)); break;
    case PL_WAY_ALL: flow_all_pairs(c, j, d, b, PL_INNER); break;
    case PL_WAY_SEARCH: HD_TRY(flow_search(c, j, d, b, PL_INNER)); break;
    case PL_WAY_BUILD:
        HD_TRY(flow_table(c, j, d, b, false, t));
        flow_probe(c, j, t, PL_INNER);
        break;
    case PL_WAY_NEAREST: HD_BUG("an as-of join has no residual");
    }
    return flow_rest(c, j, d);
}

static int flow_second_scan(struct ctx *c, struct join *j, struct stream *out)
{
    struct pl_node *scan = join_rescanned(j->d);
    *out = flow_scan(c, scan->n);
    if (j->kind != FE_SEMI)
        HD_TRY(flow_scan_filter(c, scan, out->unique_row, out));
    out->est = HD_MAX(1, est_rows(c, scan->n) * (j->kind == FE_MARK ? 1 : 0.5));
    j->s = *out;
    return j->kind == FE_MARK ? join_mark_output(c, j, known_bool(c), out) : 0;
}

static int flow_twice(struct ctx *c, struct join *j, struct pl_join *d, struct stream *b, struct stream *out)
{
    const struct stored *rows = d->rescan ? NULL : j->s.rows;
    struct built t = {0};
    bool outer = j->kind == FE_LEFT || j->kind == FE_FULL;
    double probe = j->s.est;
    HD_TRY(flow_matches(c, j, d, b, &t));
    if (!rows && !outer)
        return flow_second_scan(c, j, out);
    if (j->kind == FE_SEMI || j->kind == FE_ANTI) {
        *out = flow_over(c, rows);
        out->est *= 0.5;
    } else if (j->kind == FE_MARK) {
        *out = flow_appended(c, j->n, 2 * rows->est, 2 * rows->max_rows);
    } else {
        bool column = pl_looks_up(d->way), full = j->kind == FE_FULL;
        double rest = !full ? 0 : column ? est_rows(c, d->tbuild) : b->est;
        double rest_max = !full ? 0 : column ? (double)node_table(d->tbuild)->rows : b->max_rows;
        *out = flow_appended(c, j->n, j->s.est + probe + rest, j->s.max_rows + rest_max);
    }
    return 0;
}

int flow_join(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    struct pl_join *d = &n->u.join;
    struct join j = {.node = n, .d = d, .n = n->n, .kind = d->kind, .s = *join_stream(n, in, d->probe)};
    struct stream *b = join_stream(n, in, d->build);
    switch (d->form) {
    case PL_FORM_ONCE: return flow_once(c, &j, d, b, out);
    case PL_FORM_TWICE: return flow_twice(c, &j, d, b, out);
    case PL_FORM_EXTREMES: return flow_compared(c, &j, d, b, out);
    }
    HD_BUG("form %d", (int)d->form);
}

/* ---- groups of several passes --------------------------------------------------------------------------------- */

int flow_join_groups(struct ctx *c, struct pl_node *n, struct pl_join *d, struct stream *s, struct stream *b,
                     struct handle **cols)
{
    int nk = n->n->u.agg.nkeys;
    struct built t;
    struct join j = {.node = n, .d = d, .kind = FE_INNER, .s = *s};
    struct agg_pass g;
    *d = (struct pl_join){.kind = FE_INNER, .written = FE_INNER, .nkeys = nk, .single = nk == 0, .build = n};
    bool *null_equal = HD_NEWN(c->a, bool, nk + 1);
    d->null_equal = null_equal;
    d->pkeys = d->bkeys = HD_NEWN(c->a, struct fe_expr *, nk + 1);
    for (int i = 0; i < nk; i++) {
        struct pl_val v;
        HD_TRY(known_value(c, cols[i], &v));
        d->pkeys[i] = lx_col(c, i, cols[i], n->path);
        null_equal[i] = v.nullable;
    }
    agg_pass(c, n->n, b, &g);
    j.s.cols = cols;
    j.s.ncols = n->n->ncols;
    if (nk == 0) {
        flow_all_pairs(c, &j, d, &g.build, PL_INNER);
    } else {
        HD_TRY(flow_table(c, &j, d, &g.build, false, &t));
        flow_probe(c, &j, &t, PL_INNER);
    }
    for (int i = nk; i < g.build.ncols; i++)
        cols[g.at[i]] = j.bcols[i];
    s->est = j.s.est;
    return 0;
}
