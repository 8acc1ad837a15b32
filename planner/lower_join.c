/* Joins: which side is built, or whether a stored index replaces the build; then the lowering of
 * each kind. Kinds that need to know whether *any* match survived a residual look at the probe
 * rows twice (join_twice.c). */
#include "planner/join.h"

/* ---- taking the node apart -------------------------------------------------------------------------- */

static void push_expr(struct ctx *c, const struct fe_expr ***v, int *n, const struct fe_expr *e)
{
    hd_grow1(c->a, *v, *n);
    (*v)[(*n)++] = e;
}

/* Conjuncts of the residual that read one side only are filters of that side (build side for
 * every kind but FULL; probe side where a failing row is dropped anyway). */
static void split_residual(struct ctx *c, struct join *j)
{
    const struct fe_expr **v = NULL;
    int n = 0, nl = j->n->inputs[0]->ncols, all = nl + j->n->inputs[1]->ncols;
    if (!j->n->u.join.residual)
        return;
    lx_conjuncts(c, j->n->u.join.residual, &v, &n);
    for (int i = 0; i < n; i++) {
        bool l = lx_uses(v[i], 0, nl), r = lx_uses(v[i], nl, all);
        bool p = j->swapped ? r : l, b = j->swapped ? l : r;
        bool movable = !lx_may_fail(v[i]) && j->kind != FE_FULL;
        if (movable && b && !p)
            push_expr(c, &j->build_only, &j->nbuild, v[i]);
        else if (movable && p && !b && (j->kind == FE_INNER || j->kind == FE_SEMI))
            push_expr(c, &j->probe_only, &j->nprobe, v[i]);
        else
            push_expr(c, &j->rest, &j->nrest, v[i]);
    }
}

static void set_sides(struct join *j, const struct fe_node *n, bool swapped)
{
    j->swapped = swapped;
    j->probe = n->inputs[swapped];
    j->build = n->inputs[!swapped];
    j->pkeys = swapped ? n->u.join.rkeys : n->u.join.lkeys;
    j->bkeys = swapped ? n->u.join.lkeys : n->u.join.rkeys;
    j->nkeys = n->u.join.nkeys;
}

/* ---- stored indexes ----------------------------------------------------------------------------------- */

/* Table column behind a key expression of a scan, -1 if it is computed. */
static int scan_column(const struct fe_node *scan, const struct fe_expr *key)
{
    return scan->op == FE_SCAN_OP && key->op == FE_COL ? scan->u.scan.columns[key->col] : -1;
}

static bool int_type(struct hd_type t)
{
    return t.kind == HD_INT32 || t.kind == HD_INT64 || t.kind == HD_DATE || t.kind == HD_DECIMAL;
}

static bool find_key_index(struct join *j)
{
    for (int k = 0; k < j->nkeys; k++) {
        int col = scan_column(j->build, j->bkeys[k]);
        int ix = col >= 0 ? key_index_of(j->build->u.scan.table, col) : -1;
        if (ix >= 0 && int_type(j->bkeys[k]->type)) {
            j->index = ix;
            j->key = k;
            return true;
        }
    }
    return false;
}

static bool find_foreign_key(struct join *j)
{
    const struct fe_table *t = node_table(j->build);
    for (int k = 0; t && k < j->nkeys; k++) {
        int col = scan_column(j->build, j->bkeys[k]);
        for (int f = 0; col >= 0 && f < t->nfks; f++) {
            const struct fe_foreign_key *fk = &t->fks[f];
            if (fk->n_columns == 1 && fk->offsets && fk->columns[0] == col &&
                key_index_of(fk->parent, fk->parent_columns[0]) >= 0) {
                j->fk = f;
                j->key = k;
                return true;
            }
        }
    }
    return false;
}

/* Costs in nanoseconds per row, rough: what a scan, a build and lookups of each kind take. */
enum { NS_SCAN = 2, NS_BUILD = 6, NS_PROBE = 4, NS_RANDOM = 20, NS_NEAR = 6 };

static double cost_build(const struct ctx *c, const struct join *j, double probe, double build)
{
    const struct fe_table *t = node_table(j->build);
    double scan = t ? (double)t->rows * NS_SCAN : 0;
    (void)c;
    return scan + build * NS_BUILD + probe * NS_PROBE;
}

static double cost_key(const struct join *j, double probe)
{
    const struct fe_table *t = node_table(j->build);
    return probe * (t->rows < 1 << 16 ? NS_NEAR : NS_RANDOM);
}

/* Children that a probe row meets: those of a parent on average, and where the probe side has a
 * heavy key the largest family by that key's share (skew hides behind the average). */
static double fk_children(const struct ctx *c, const struct join *j)
{
    const struct fe_table *t = node_table(j->build);
    const struct fe_foreign_key *fk = &t->fks[j->fk];
    double even = fk->parent->rows ? (double)t->rows / (double)fk->parent->rows : 1;
    return even + est_key(c, j->probe, j->pkeys[j->key]).heavy * (double)HD_MAX(0, fk->max_children);
}

/* Every column of a child row that lies anywhere in its table is a miss of its own. */
static double cost_fk(const struct ctx *c, const struct join *j, double probe)
{
    const struct fe_foreign_key *fk = &node_table(j->build)->fks[j->fk];
    double per = fk_children(c, j);
    int cols = 1;
    for (int i = 0; i < j->build->ncols; i++)
        cols += c->need[j->build->id][i];
    return probe * (NS_RANDOM + per * (fk->child_rows ? NS_RANDOM * 0.7 * cols : NS_SCAN));
}

static bool key_allowed(const struct join *j)
{
    bool plain = !j->build->u.scan.filter && j->nrest + j->nbuild == 0 && j->nkeys == 1;
    return j->kind == FE_INNER || j->kind == FE_SEMI || (j->kind == FE_LEFT && plain);
}

static bool fk_allowed(const struct join *j)
{
    bool plain = !j->build->u.scan.filter && j->nrest + j->nbuild == 0 && j->nkeys == 1;
    return j->kind == FE_INNER || j->kind == FE_SEMI || j->kind == FE_ANTI || (j->kind == FE_LEFT && plain);
}

/* The cheapest way with the current sides; index ways only over a plain scan. */
static double best_way(struct ctx *c, struct join *j, enum fe_strategy want)
{
    double probe = est_rows(c, j->probe), build = est_rows(c, j->build), best = 1e300;
    j->way = J_BUILD;
    if (want != FE_INDEX)
        best = cost_build(c, j, probe, build);
    if (want != FE_AUTO && want != FE_INDEX)
        return best;
    struct join k = *j;
    if (find_key_index(&k) && key_allowed(&k) && cost_key(&k, probe) < best) {
        best = cost_key(&k, probe);
        *j = k;
        j->way = J_KEY;
    }
    k = *j;
    if (find_foreign_key(&k) && fk_allowed(&k) && cost_fk(c, &k, probe) < best) {
        best = cost_fk(c, &k, probe);
        *j = k;
        j->way = J_FK;
    }
    return best;
}

/* Scan cost of the probe side counts too when sides may be exchanged. */
static double probe_scan(const struct join *j)
{
    const struct fe_table *t = node_table(j->probe);
    return t ? (double)t->rows * NS_SCAN : 0;
}

static int choose(struct ctx *c, const struct fe_node *n, struct join *j)
{
    enum fe_side side = n->u.join.build;
    enum fe_strategy want = n->u.join.strategy;
    bool right_probe = n->u.join.kind == FE_RIGHT;
    *j = (struct join){.n = n, .kind = right_probe ? FE_LEFT : n->u.join.kind};
    set_sides(j, n, right_probe);
    struct join k = *j;
    split_residual(c, j);
    double cost = best_way(c, j, want) + probe_scan(j);
    bool exchange = n->u.join.kind == FE_INNER && !n->u.join.single && j->nkeys > 0;
    if (side == FE_SIDE_RIGHT && right_probe)
        return HD_FAIL(c->err, USER, n->path,
                       "\"build\": \"right\" is not possible: a right join builds its left input");
    if (side == FE_SIDE_LEFT && !exchange && !right_probe)
        return HD_FAIL(c->err, USER, n->path,
                       "\"build\": \"left\" is not possible: only an inner join with \"on\" and a right join can build "
                       "their left input");
    if (exchange && side != FE_SIDE_RIGHT) {
        set_sides(&k, n, true);
        split_residual(c, &k);
        double other = best_way(c, &k, want) + probe_scan(&k);
        if (side == FE_SIDE_LEFT || other < cost * 0.9)
            *j = k;
        cost = HD_MIN(cost, other);
    }
    if (want == FE_INDEX && j->way == J_BUILD)
        return HD_FAIL(c->err, USER, n->path,
                       "strategy index needs a scan on one side whose key has a "
                       "stored index (primary key or declared foreign key)%s",
                       n->u.join.kind == FE_INNER ? "" : " and a join kind and condition it can serve");
    return 0;
}

/* ---- environments and output ---------------------------------------------------------------------------- */

const bool *join_want(const struct ctx *c, const struct join *j)
{
    return j->probe ? c->need[j->probe->id] : NULL;
}

struct handle **join_env(struct ctx *c, const struct join *j)
{
    int nl = j->n->inputs[0]->ncols, nr = j->n->inputs[1]->ncols;
    struct handle **env = HD_NEWN(c->a, struct handle *, nl + nr + 1);
    for (int i = 0; i < nl; i++)
        env[i] = j->swapped ? (j->bcols ? j->bcols[i] : NULL) : j->s.cols[i];
    for (int i = 0; i < nr; i++)
        env[nl + i] = j->swapped ? j->s.cols[i] : (j->bcols ? j->bcols[i] : NULL);
    return env;
}

static int filter_list(struct ctx *c, struct stream *s, struct handle **env, const struct fe_expr *const *v, int n)
{
    for (int i = 0; i < n; i++)
        HD_TRY(lx_filter(c, s, env, v[i]));
    return 0;
}

int join_filter_rest(struct ctx *c, struct join *j)
{
    return filter_list(c, &j->s, join_env(c, j), j->rest, j->nrest);
}

static struct handle *absent(struct ctx *c, struct hd_type t)
{
    return h_phys(c, lx_const(c, &(struct fe_value){.type = t, .is_null = true}));
}

int join_output(struct ctx *c, struct join *j, struct stream *out)
{
    *out = j->s;
    if (j->kind == FE_SEMI || j->kind == FE_ANTI || j->kind == FE_MARK)
        return 0;
    struct handle **env = join_env(c, j);
    out->ncols = j->n->ncols;
    for (int i = 0; i < out->ncols; i++)
        if (!env[i]) /* not needed above, so not kept */
            env[i] = absent(c, j->n->cols[i].type);
    out->cols = env;
    return 0;
}

/* ---- index joins -------------------------------------------------------------------------------------------- */

/* A declared foreign key from the probe column to the looked-up column: every row has a match. */
static bool always_matches(const struct handle *key, const struct fe_table *t, int column)
{
    if (key->kind != H_COLUMN || key->nullable)
        return false;
    for (int f = 0; f < key->table->nfks; f++) {
        const struct fe_foreign_key *fk = &key->table->fks[f];
        if (fk->n_columns == 1 && fk->columns[0] == key->column && fk->parent == t && fk->parent_columns[0] == column)
            return true;
    }
    return false;
}

/* Row of t found through its key index; lazily when the match is certain. */
static int key_row(struct ctx *c, struct join *j, const struct fe_table *t, int index, struct handle *key,
                   enum pl_probe_kind how, struct handle **row)
{
    struct pipe *p = pipe_of(c, &j->s);
    struct pl_val v;
    if (key->kind == H_COLUMN && key->table == t && key->column == t->keyidx[index].column && !key->nullable) {
        *row = key->row; /* the key is a column of that very row */
        return 0;
    }
    for (int i = 0; i < p->lookups.n; i++) /* looked up before in this pipeline */
        if (p->lookups.v[i]->table == t && p->lookups.v[i]->keyidx == index && p->lookups.v[i]->det[0] == key &&
            p->lookups.v[i]->row_nullable == (how == PL_LEFT)) {
            *row = p->lookups.v[i];
            return 0;
        }
    if (always_matches(key, t, t->keyidx[index].column)) {
        *row = h_lookup(c, t, index, key);
        hd_vec_push(c->a, &p->lookups, *row);
        return 0;
    }
    HD_TRY(h_value(c, p, key, &v));
    lx_realise(c, &v);
    if (v.phys == RT_I128) /* beyond 64 bits there is no key */
        return HD_FAIL(c->err, UNSUPPORTED, j->n->path, "index join on a 128-bit key");
    int slot = pb_slot(c, p, hd_asprintf(c->a, "%s row", t->name), RT_I32, false);
    HD_TRY(h_probe_key(c, p, t, index, v, j->n->path));
    struct pl_step *s = &p->steps.v[p->steps.n - 1];
    s->slot = slot;
    s->probe = how;
    double hit = HD_MIN(1.0, (double)t->rows / HD_MAX(1.0, h_distinct(c, key, 1e12)));
    p->est *= how == PL_INNER ? hit : 1;
    *row = h_row(c, slot, t, -1, how == PL_LEFT);
    (*row)->keyidx = index;
    (*row)->ndet = 1;
    (*row)->det = HD_NEWN(c->a, struct handle *, 1);
    (*row)->det[0] = key;
    hd_vec_push(c->a, &p->lookups, *row);
    return 0;
}

/* Columns of the build scan at row; the matched key column becomes the probe's own handle. */
static void scan_at(struct ctx *c, struct join *j, struct handle *row, struct handle *key, bool same)
{
    struct stream b = {0};
    scan_columns(c, j->build, row, &b);
    j->bcols = b.cols;
    j->brow = row;
    const struct fe_expr *bk = j->bkeys[j->key];
    if (same && hd_type_eq(b.cols[bk->col]->type, key->type)) {
        row->eq_column = b.cols[bk->col]->column;
        row->eq = key;
        b.cols[bk->col] = key;
    }
}

static int other_keys(struct ctx *c, struct join *j)
{
    for (int k = 0; k < j->nkeys; k++) {
        struct handle **env = HD_NEWN(c->a, struct handle *, 2);
        if (k == j->key)
            continue;
        const char *path = j->pkeys[k]->path;
        env[0] = h_expr(c, j->pkeys[k], j->s.cols);
        env[1] = h_expr(c, j->bkeys[k], j->bcols);
        struct fe_expr *same = lx_node(c, FE_EQ, hd_type_of(HD_BOOL), true, path, 2, lx_col(c, 0, env[0], path),
                                       lx_col(c, 1, env[1], path));
        HD_TRY(lx_filter(c, &j->s, env, same));
    }
    return 0;
}

/* The stream holds at most one row per value of key. */
static bool unique_on(struct ctx *c, const struct stream *s, struct handle *key)
{
    for (int i = 0; i < s->nunique; i++)
        if (!h_determined(c, h_plain(s->unique[i]), &key, 1))
            return false;
    return s->nunique > 0 || (s->unique_row && h_determined(c, s->unique_row, &key, 1));
}

static int expand_fk(struct ctx *c, struct join *j, struct handle *parent, struct handle *key, enum pl_probe_kind how,
                     struct handle **row)
{
    struct pipe *p = pipe_of(c, &j->s);
    const struct fe_table *t = node_table(j->build);
    const struct fe_foreign_key *fk = &t->fks[j->fk];
    struct pl_val pv;
    HD_TRY(h_value(c, p, parent, &pv));
    int slot = pb_slot(c, p, hd_asprintf(c->a, "%s row", t->name), RT_I32, false);
    int a_off = pb_arg_table(c, RT_ARG_FK_OFFSETS, t, j->fk);
    int a_child = fk->child_rows ? pb_arg_table(c, RT_ARG_FK_CHILD_ROWS, t, j->fk) : -1;
    struct pl_step *s = pb_step(c, p, PL_STEP_EXPAND_FK, j->n->path);
    s->table = t;
    s->index = j->fk;
    s->slot = slot;
    s->row_slot = parent->slot;
    s->row_nullable = parent->row_nullable;
    s->probe = how;
    s->a_offsets = a_off;
    s->a_child_rows = a_child;
    s->splittable = fk->max_children < 0 || fk->max_children > 4096;
    cut_open_level(c, &j->s, join_want(c, j));
    p->est *= HD_MAX(fk_children(c, j), 0.001);
    double parents = j->s.max_rows;
    j->s.max_rows = HD_MIN(parents * (double)HD_MAX(1, fk->max_children < 0 ? t->rows : fk->max_children), 9e18);
    /* unique parents reach every child once */
    bool once = j->s.unique_row == parent || unique_on(c, &j->s, key);
    if (once)
        j->s.max_rows = HD_MIN(j->s.max_rows, (double)t->rows + (how == PL_LEFT ? parents : 0));
    *row = h_row(c, slot, t, -1, how == PL_LEFT);
    j->s.unique_row = once ? *row : NULL;
    j->s.nunique = 0;
    return 0;
}

int join_lookup(struct ctx *c, struct join *j, enum pl_probe_kind how)
{
    const struct fe_table *t = node_table(j->build);
    struct handle *key = h_plain(h_expr(c, j->pkeys[j->key], j->s.cols)), *row;
    bool same = how == PL_INNER && key->type.kind != HD_FLOAT64;
    if (j->way == J_KEY) {
        HD_TRY(key_row(c, j, t, j->index, key, how, &row));
    } else {
        const struct fe_foreign_key *fk = &t->fks[j->fk];
        struct handle *parent;
        HD_TRY(key_row(c, j, fk->parent, key_index_of(fk->parent, fk->parent_columns[0]), key, how, &parent));
        HD_TRY(expand_fk(c, j, parent, key, how, &row));
    }
    pb_note(c, "%s: %s join looks %s up in %s's %s index", j->n->path, fe_join_kind_name(j->n->u.join.kind),
            t->cols[scan_column(j->build, j->bkeys[j->key])].name, t->name, j->way == J_KEY ? "key" : "foreign key");
    scan_at(c, j, row, key, same);
    HD_TRY(scan_filter(c, j->build, row, &j->s));
    HD_TRY(other_keys(c, j));
    HD_TRY(filter_list(c, &j->s, join_env(c, j), j->build_only, j->nbuild));
    j->s.est = pipe_of(c, &j->s)->est;
    return 0;
}

/* ---- the kinds -------------------------------------------------------------------------------------------------- */

/* Which build columns anybody will ask for: outputs above and the residual's. */
static void kept_columns(struct ctx *c, struct join *j)
{
    int nl = j->n->inputs[0]->ncols, nb = j->build->ncols, first = j->swapped ? 0 : nl;
    bool outputs = j->kind == FE_INNER || j->kind == FE_LEFT || j->kind == FE_FULL;
    bool *all = HD_NEWN(c->a, bool, nl + j->n->inputs[1]->ncols + 1);
    for (int i = 0; outputs && i < j->n->ncols; i++)
        all[i] = c->need[j->n->id][i];
    for (int i = 0; i < j->nrest; i++)
        need_expr(all, j->rest[i]);
    j->keep = HD_NEWN(c->a, bool, nb + 1);
    for (int i = 0; i < nb; i++)
        j->keep[i] = all[first + i];
}

int join_build_stream(struct ctx *c, struct join *j, struct stream *b)
{
    HD_TRY(seg_node(c, j->build, b));
    int nl = j->n->inputs[0]->ncols, n = nl + j->n->inputs[1]->ncols;
    struct handle **env = HD_NEWN(c->a, struct handle *, n + 1);
    for (int i = 0; i < j->build->ncols; i++)
        env[(j->swapped ? 0 : nl) + i] = b->cols[i];
    return filter_list(c, b, env, j->build_only, j->nbuild);
}

int join_probe_only(struct ctx *c, struct join *j)
{
    return filter_list(c, &j->s, join_env(c, j), j->probe_only, j->nprobe);
}

int join_probe_stream(struct ctx *c, struct join *j)
{
    HD_TRY(seg_node(c, j->probe, &j->s));
    HD_TRY(join_probe_only(c, j));
    bool *keys = HD_NEWN(c->a, bool, j->s.ncols + 1);
    for (int i = 0; i < j->nkeys; i++)
        need_expr(keys, j->pkeys[i]);
    return j->way == J_KEY ? 0 : cut_before_level(c, &j->s, join_want(c, j), keys, j->n->path);
}

static enum pl_probe_kind how_of(enum fe_join_kind k)
{
    return k == FE_LEFT ? PL_LEFT : k == FE_SEMI ? PL_SEMI : k == FE_ANTI ? PL_ANTI : k == FE_MARK ? PL_MARK : PL_INNER;
}

/* Every pair of rows: a one-row scalar subquery, or a theta join's candidates. */
int join_expand_all(struct ctx *c, struct join *j, enum pl_probe_kind how, struct stored *st)
{
    struct pipe *p = pipe_of(c, &j->s);
    int slot = pb_slot(c, p, hd_asprintf(c->a, "%s row", fe_relop_name(j->build->op)), RT_I32, false);
    int a_n = pb_arg_state(c, RT_ARG_STATE_NROWS, st->state, 0);
    struct pl_step *s = pb_step(c, p, PL_STEP_EXPAND_ALL, j->n->path);
    s->state = st->state;
    s->slot = slot;
    s->probe = how;
    s->a_nrows = a_n;
    s->splittable = !j->n->u.join.single;
    cut_open_level(c, &j->s, join_want(c, j));
    p->est *= j->n->u.join.single ? 1 : HD_MAX(1, st->est);
    if (!j->n->u.join.single) {
        j->s.max_rows = HD_MIN(j->s.max_rows * HD_MAX(1, st->max_rows), 9e18);
        j->s.unique_row = NULL;
        j->s.nunique = 0;
    }
    struct handle *row = h_row(c, slot, NULL, st->state, how == PL_LEFT);
    struct handle **kept = HD_NEWN(c->a, struct handle *, st->kept.ncols + 1);
    keep_load(c, &st->kept, st->state, row, how == PL_LEFT, kept);
    j->bcols = HD_NEWN(c->a, struct handle *, st->ncols + 1);
    for (int i = 0, k = 0; i < st->ncols; i++)
        j->bcols[i] = st->want[i] ? kept[k++] : NULL;
    j->brow = row;
    j->s.est = p->est;
    return 0;
}

static int join_cross(struct ctx *c, struct join *j, struct stream *out)
{
    struct stream b;
    struct stored st;
    HD_TRY(join_build_stream(c, j, &b));
    HD_TRY(join_probe_stream(c, j));
    HD_TRY(store_stream(c, &b, j->keep, "rows", j->n->path, &st));
    c->states.v[st.state].single = j->n->u.join.single;
    HD_TRY(join_expand_all(c, j, how_of(j->kind), &st));
    HD_TRY(join_filter_rest(c, j));
    return join_output(c, j, out);
}

int join_mark_output(struct ctx *c, struct join *j, struct handle *mark, struct stream *out)
{
    struct handle **cols = HD_NEWN(c->a, struct handle *, j->n->ncols + 1);
    memcpy(cols, j->s.cols, sizeof *cols * (size_t)j->s.ncols);
    cols[j->s.ncols] = mark;
    *out = j->s;
    out->cols = cols;
    out->ncols = j->n->ncols;
    return 0;
}

static int join_build_way(struct ctx *c, struct join *j, struct stream *out)
{
    struct stream b;
    struct built t;
    struct handle *mark = NULL;
    bool exists = j->kind == FE_SEMI || j->kind == FE_ANTI || j->kind == FE_MARK;
    HD_TRY(join_build_stream(c, j, &b));
    HD_TRY(join_probe_stream(c, j));
    HD_TRY(jb_build(c, j, &b, &j->s, &t, exists, false));
    HD_TRY(jb_probe(c, j, &t, how_of(j->kind), &mark));
    HD_TRY(join_filter_rest(c, j));
    return j->kind == FE_MARK ? join_mark_output(c, j, mark, out) : join_output(c, j, out);
}

/* One pass suffices when no residual decides about a match, or when it simply drops pairs. */
static bool needs_two_passes(const struct join *j)
{
    bool exists = j->kind == FE_SEMI || j->kind == FE_ANTI || j->kind == FE_MARK;
    if (j->kind == FE_FULL)
        return true;
    if (exists)
        return j->nrest > 0 || j->nkeys == 0 || j->way == J_FK;
    return j->kind == FE_LEFT && j->nrest > 0;
}

int seg_join(struct ctx *c, const struct fe_node *n, struct stream *out)
{
    struct join j;
    HD_TRY(choose(c, n, &j));
    kept_columns(c, &j);
    if (j.way != J_KEY && needs_two_passes(&j)) {
        bool done;
        double index_ns = j.way == J_FK ? cost_fk(c, &j, est_rows(c, j.probe)) : 0;
        HD_TRY(join_extremes(c, &j, index_ns, &done, out));
        return done ? 0 : join_twice(c, &j, out);
    }
    if (j.way != J_BUILD) { /* a key index finds one row at most, so a semi join is an inner one */
        HD_TRY(join_probe_stream(c, &j));
        HD_TRY(join_lookup(c, &j, j.kind == FE_LEFT ? PL_LEFT : PL_INNER));
        HD_TRY(join_filter_rest(c, &j));
        return join_output(c, &j, out);
    }
    return j.nkeys == 0 ? join_cross(c, &j, out) : join_build_way(c, &j, out);
}
