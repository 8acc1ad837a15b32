/* Joins: which side is built, or whether a stored index replaces the build, and how a condition beyond the keys
 * is answered. */
#include "planner/physical_join.h"

#include "planner/bounds.h"
#include "planner/cost.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/need.h"
#include "planner/physical_asof.h"
#include "planner/physical_extremes.h"
#include "planner/physical_join_told.h"
#include "planner/physical_loop.h"
#include "planner/physical_order.h"
#include "planner/physical_search.h"
#include "planner/physical_tree.h"
#include "planner/typed.h"

/* ---- taking the node apart ------------------------------------------------------------------------ */

static void push_expr(struct ctx *c, const struct fe_expr ***v, int *n, const struct fe_expr *e)
{
    hd_grow1(c->a, *v, *n);
    (*v)[(*n)++] = e;
}

enum { NARROW_DIGITS = 18 }; /* that 64 bits hold */

static bool exists_kind(enum fe_join_kind k)
{
    return k == FE_SEMI || k == FE_ANTI || k == FE_MARK;
}

/* Conjuncts of the residual that read one side only are filters of that side (build side for
 * every kind but FULL; probe side where a failing row is dropped anyway). */
static void split_residual(struct ctx *c, const struct fe_node *n, struct sides *s)
{
    struct pl_join *j = &s->j;
    const struct fe_expr **v = NULL;
    int count = 0, nl = j->nleft, all = nl + n->inputs[1]->ncols;
    if (!n->u.join.residual)
        return;
    pl_conjuncts(c->a, n->u.join.residual, &v, &count);
    for (int i = 0; i < count; i++) {
        bool l = pl_expr_uses(v[i], 0, nl), r = pl_expr_uses(v[i], nl, all);
        bool p = j->swapped ? r : l, b = j->swapped ? l : r;
        bool movable = !lx_may_fail(v[i]) && j->kind != FE_FULL;
        if (movable && b && !p)
            push_expr(c, &j->build_only, &j->nbuild, v[i]);
        else if (movable && p && !b && (j->kind == FE_INNER || j->kind == FE_SEMI))
            push_expr(c, &s->probe_only, &s->nprobe, v[i]);
        else
            push_expr(c, &j->rest, &j->nrest, v[i]);
    }
}

/* NULL: no key has NULLs on both sides that match each other. */
static const bool *null_equal_keys(const struct fe_node *n)
{
    for (int i = 0; i < n->u.join.nkeys; i++)
        if (n->u.join.null_equal[i] && n->u.join.lkeys[i]->nullable && n->u.join.rkeys[i]->nullable)
            return n->u.join.null_equal;
    return NULL;
}

static void set_sides(struct ctx *c, const struct fe_node *n, struct pl_node *const *inputs, bool swapped,
                      struct sides *s)
{
    bool right = n->u.join.kind == FE_RIGHT;
    *s = (struct sides){.j = {.kind = right ? FE_LEFT : n->u.join.kind,
                              .written = n->u.join.kind,
                              .strategy = n->u.join.strategy,
                              .single = n->u.join.single,
                              .swapped = swapped,
                              .nleft = n->inputs[0]->ncols,
                              .nbuilt = n->inputs[!swapped]->ncols,
                              .nkeys = n->u.join.nkeys,
                              .pkeys = swapped ? n->u.join.rkeys : n->u.join.lkeys,
                              .bkeys = swapped ? n->u.join.lkeys : n->u.join.rkeys,
                              .null_equal = null_equal_keys(n),
                              .tjoin = n,
                              .tprobe = n->inputs[swapped],
                              .tbuild = n->inputs[!swapped]}};
    s->rows = inputs[swapped];
    s->j.want = c->need[s->j.tprobe->id];
    split_residual(c, n, s);
}

/* ---- stored indexes --------------------------------------------------------------------------------- */

/* Table column behind a key expression of a scan, -1 if it is computed. */
static int scan_column(const struct fe_node *scan, const struct fe_expr *key)
{
    return node_table(scan) && key->op == FE_COL ? scan->u.scan.columns[key->col] : -1;
}

static bool int_type(struct hd_type t)
{
    return t.kind == HD_INT32 || t.kind == HD_INT64 || t.kind == HD_DATE || t.kind == HD_DECIMAL;
}

static bool is_narrow(const struct fe_expr *key)
{
    struct hd_type t = pl_uncast(key)->type;
    return t.kind != HD_DECIMAL || t.precision <= NARROW_DIGITS;
}

/* Table column behind key k of the build side, -1 none: widening leaves its values and their order what they are. */
static int key_column(const struct pl_join *j, int k)
{
    int col = scan_column(j->tbuild, j->bkeys[k]);
    return col < 0 && is_narrow(j->pkeys[k]) ? scan_column(j->tbuild, pl_uncast(j->bkeys[k])) : col;
}

/* An index has no NULLs. */
static bool has_no_index(const struct pl_join *j, int key)
{
    return j->null_equal && j->null_equal[key];
}

/* The first key whose column on the build side has an index; -1 none. */
static int find_key_index(const struct pl_join *j, int *index)
{
    for (int k = 0; k < j->nkeys; k++) {
        int col = key_column(j, k);
        *index = col >= 0 ? key_index_of(node_table(j->tbuild), col) : -1;
        if (*index >= 0 && int_type(j->bkeys[k]->type) && !has_no_index(j, k))
            return k;
    }
    return -1;
}

/* The key whose foreign key's index leads to fewest rows: that of the most parents. -1: none has one. */
static int find_foreign_key(const struct pl_join *j, int *index)
{
    const struct fe_table *t = node_table(j->tbuild);
    int found = -1;
    for (int k = 0; t && k < j->nkeys; k++) {
        int col = key_column(j, k);
        for (int f = 0; col >= 0 && f < t->nfks && !has_no_index(j, k); f++) {
            const struct fe_foreign_key *fk = &t->fks[f];
            if (fk->n_columns == 1 && fk->offsets && fk->columns[0] == col &&
                key_index_of(fk->parent, fk->parent_columns[0]) >= 0 &&
                (found < 0 || fk->parent->rows > t->fks[*index].parent->rows)) {
                *index = f;
                found = k;
            }
        }
    }
    return found;
}

/* ---- what each way costs ------------------------------------------------------------------------------ */
/* By a CPU's rates on a GPU, too: how many rows a side has decides there as here, and the order of joins knows the rest. */

static double scanned_rows(const struct fe_node *n)
{
    return node_table(n) ? (double)node_table(n)->rows : 0;
}

/* Children that a probe row meets: those of a parent on average, and where the probe side has a
 * heavy key the largest family by that key's share (skew hides behind the average). */
static double children(const struct ctx *c, const struct pl_join *j, int fk_index, int key)
{
    const struct fe_table *t = node_table(j->tbuild);
    const struct fe_foreign_key *fk = &t->fks[fk_index];
    double even = fk->parent->rows ? (double)t->rows / (double)fk->parent->rows : 1;
    return even + est_key(c, j->tprobe, j->pkeys[key]).heavy * (double)HD_MAX(0, fk->max_children);
}

/* The same for costs. Frequent keys that filters choose lead to more, as samples tell that were taken for the order of joins. */
static double children_met(const struct ctx *c, const struct pl_join *j, int fk, int key)
{
    const double even = children(c, j, fk, key);
    const struct est_node *e = &c->est[j->tjoin->id];
    const double met = e->met == node_table(j->tbuild) ? e->nmet / HD_MAX(1, est_rows(c, j->tprobe)) : 0;
    return met > even * pl_rates(c->opt.on_gpu)->sampled ? met : even;
}

static double cost_fk(const struct ctx *c, const struct pl_join *j, int fk, int key)
{
    int columns = 1;
    for (int i = 0; i < j->tbuild->ncols; i++)
        columns += c->need[j->tbuild->id][i];
    return pl_cost_foreign_key(pl_rates(false), children_met(c, j, fk, key),
                               node_table(j->tbuild)->fks[fk].child_rows != NULL, columns, est_rows(c, j->tprobe));
}

/* A left join keeps its rows only if nothing but the key decides about a match. */
static bool left_is_plain(const struct pl_join *j)
{
    return !j->tbuild->u.scan.filter && j->nrest + j->nbuild == 0 && j->nkeys == 1;
}

/* Rows by number are as good as the array of all of them that a build would make: that has row ids where a column is text, and
 * else one column, if no more are read. */
static bool is_an_array(const struct ctx *c, const struct pl_join *j, int index)
{
    const struct fe_table *t = node_table(j->tbuild);
    int columns = 0;
    bool text = false;
    for (int i = 0; i < j->tbuild->ncols; i++) {
        bool needed = c->need[j->tbuild->id][i] && j->tbuild->u.scan.columns[i] != t->keyidx[index].column;
        columns += needed;
        text |= needed && hd_type_is_text(j->tbuild->cols[i].type);
    }
    return t->keyidx[index].kind == FE_INDEX_POSITIONAL && !j->tbuild->u.scan.filter && (text || columns <= 1);
}

/* Keys that come in the order of a table which is sorted by them are found near each other. */
static double cost_key(const struct ctx *c, const struct sides *s, int index, int key)
{
    const struct fe_table *t = node_table(s->j.tbuild);
    double probe = est_rows(c, s->j.tprobe);
    bool near = pl_column_is_sorted(t, t->keyidx[index].column) && pl_node_in_order(s->rows, s->j.pkeys[key]);
    if (is_an_array(c, &s->j, index))
        return pl_cost_build(pl_rates(false), 0, 0, probe);
    return near ? pl_cost_build(pl_rates(false), 0, 0, probe)
                : pl_cost_key_index(pl_rates(false), (double)t->rows, probe);
}

static void price_key(const struct ctx *c, struct sides *s, int *index, int *key)
{
    const struct pl_join *j = &s->j;
    *key = find_key_index(j, index);
    s->key = -1;
    if (*key < 0)
        s->no_key = "none on the build side's keys";
    else if (j->kind != FE_INNER && j->kind != FE_SEMI && !(j->kind == FE_LEFT && left_is_plain(j)))
        s->no_key = "not for this kind of join";
    else
        s->key = cost_key(c, s, *index, *key);
}

static void price_fk(const struct ctx *c, struct sides *s, int *fk, int *key)
{
    const struct pl_join *j = &s->j;
    *key = find_foreign_key(j, fk);
    s->fk = -1;
    if (*key < 0)
        s->no_fk = "none on the build side's keys";
    else if (j->kind != FE_INNER && j->kind != FE_SEMI && j->kind != FE_ANTI &&
             !(j->kind == FE_LEFT && left_is_plain(j)))
        s->no_fk = "not for this kind of join";
    else
        s->fk = cost_fk(c, j, *fk, *key);
}

static void price_search(struct ctx *c, struct sides *s)
{
    const struct pl_join *j = &s->j;
    s->found = join_asks_search(j) || j->strategy == FE_AUTO ? pl_find_search(c, j) : NULL;
    s->search = -1;
    if (!s->found)
        s->no_search = join_asks_search(j) || j->strategy == FE_AUTO ? "no range in the condition"
                                                                     : "the plan asks for another way";
    else if (j->strategy == FE_BAND && !s->found->range)
        s->no_search = "no range in the condition";
    else
        s->search = pl_price_search(c, j, s->found);
    s->band = s->search >= 0 && pl_band_column(j, s->found) >= 0 ? pl_price_band(c, j, s->found) : -1;
    s->merges = s->search >= 0 && j->strategy == FE_AUTO && pl_is_merge(c, j, s->found);
    /* It is compared with a table, whose price has the scan of its rows. */
    if (s->search >= 0 && j->nkeys && j->strategy == FE_AUTO && !s->merges)
        s->search += pl_cost_scan(pl_rates(false), scanned_rows(j->tbuild));
    if (s->merges)
        s->build =
            pl_cost_hash_build(pl_rates(false), scanned_rows(j->tbuild), est_rows(c, j->tbuild), est_rows(c, j->tprobe),
                               pl_table_cached(est_rows(c, j->tbuild), c->opt.cached_bytes));
}

/* A warp of a GPU leaves rows out by what all of its own rows want: these must be near each other. */
static void price_near(struct ctx *c, struct sides *s)
{
    const struct pl_join *j = &s->j;
    double build = est_rows(c, j->tbuild), probe = est_rows(c, j->tprobe);
    s->near = -1;
    s->order = j->kind == FE_INNER && j->strategy == FE_AUTO && !c->opt.on_gpu ? pl_find_near(c, j) : NULL;
    if (s->order)
        s->near = pl_price_near(s->order, build * probe, build, probe,
                                pl_comes_by(j->tbuild, s->order->range, j->swapped ? 0 : j->nleft, false), j->nrest);
}

/* A plan that asks for no way gets a search where it has no keys, where they find many rows and the rest of the
 * condition is a range, or where both sides come in the order of the key. */
static bool prefers_search(const struct ctx *c, const struct sides *s, double best)
{
    const struct pl_join *j = &s->j;
    if (s->search < 0 || join_asks_search(j) || j->nkeys == 0 || s->merges)
        return s->search >= 0 && s->search < best;
    bool pairs = j->kind == FE_INNER || j->kind == FE_LEFT || j->kind == FE_FULL;
    return pairs && s->found->range && j->way == PL_WAY_BUILD && s->search < best + pl_price_pairs(c, j);
}

/* The keys that a table's rows are sorted by: a foreign key's and another one, the whole primary key. Each pair of
 * values has one row at most. */
static bool find_sorted_children(const struct pl_join *j, int *fk, int *key, int *within)
{
    const struct fe_table *t = node_table(j->tbuild);
    *key = find_foreign_key(j, fk);
    *within = 1 - *key;
    if (*key < 0 || j->nkeys != 2 || has_no_index(j, *within) || !int_type(j->bkeys[*within]->type))
        return false;
    int column = scan_column(j->tbuild, j->bkeys[*within]);
    return column >= 0 && pl_children_are_sorted(t, *fk, column);
}

static void price_child(const struct ctx *c, struct sides *s, int *fk, int *key, int *within)
{
    const struct pl_join *j = &s->j;
    s->child = -1;
    if (find_sorted_children(j, fk, key, within) && (j->kind == FE_INNER || j->kind == FE_SEMI))
        s->child = pl_cost_child(children(c, j, *fk, *key), est_rows(c, j->tprobe));
}

/* ---- sorted columns ---- */

/* The first key that is a column by which the build side's table is sorted; -1 none. */
static int find_sorted_column(const struct pl_join *j)
{
    for (int k = 0; k < j->nkeys; k++) {
        int col = key_column(j, k);
        if (col >= 0 && is_narrow(j->pkeys[k]) && pl_column_is_sorted(node_table(j->tbuild), col) &&
            !has_no_index(j, k) && (int_type(j->bkeys[k]->type) || j->bkeys[k]->type.kind == HD_TIMESTAMP))
            return k;
    }
    return -1;
}

static void price_column(const struct ctx *c, struct sides *s, int *key)
{
    const struct pl_join *j = &s->j;
    *key = find_sorted_column(j);
    s->column = -1;
    bool indexed = s->key >= 0 || s->fk >= 0 || s->child >= 0; /* which leads to the rows at once */
    if (*key < 0 || j->strategy == FE_INDEX || (indexed && j->strategy != FE_MERGE))
        return;
    const struct fe_table *t = node_table(j->tbuild);
    double distinct = est_key(c, j->tbuild, pl_uncast(j->bkeys[*key])).distinct;
    double matches = distinct > 0 ? (double)t->rows / distinct : 1;
    s->column = pl_cost_column((double)t->rows, exists_kind(j->kind) && left_is_plain(j) ? 0 : matches,
                               est_in_order(j->tprobe, j->pkeys[*key], false), est_rows(c, j->tprobe));
}

/* A lookup finds values, of whatever type they are. */
static void uncast_key(struct ctx *c, struct pl_join *j)
{
    j->bkeys = hd_dup(c->a, j->bkeys, sizeof(struct fe_expr *) * (size_t)j->nkeys);
    j->bkeys[j->key] = (struct fe_expr *)(uintptr_t)pl_uncast(j->bkeys[j->key]);
}

static void take_column(struct pl_join *j, int key)
{
    const struct fe_facts *f = &node_table(j->tbuild)->cols[key_column(j, key)].facts;
    j->way = PL_WAY_COLUMN;
    j->key = key;
    j->plain = left_is_plain(j);
    j->one = f->unique || (j->plain && exists_kind(j->kind));
    j->splits = pl_worth_splitting(f->max_mult);
}

/* The cheapest way with these sides. */
static void price(struct ctx *c, struct sides *s)
{
    struct pl_join *j = &s->j;
    int index = -1, ikey, fk = -1, fkey, sfk = -1, skey, within, ckey;
    double probe = est_rows(c, j->tprobe), best = 1e300;
    bool looks_up = j->strategy == FE_AUTO || j->strategy == FE_INDEX, loops = !j->nkeys || j->strategy == FE_LOOP;
    bool builds = j->strategy != FE_INDEX && !loops && !join_asks_search(j);
    s->build = j->strategy == FE_INDEX
                   ? -1
                   : pl_cost_build(pl_rates(false), scanned_rows(j->tbuild), est_rows(c, j->tbuild), probe);
    s->no_build = j->strategy == FE_INDEX ? "the plan asks for an index" : NULL;
    s->loop = pl_price_loop(c, j);
    price_key(c, s, &index, &ikey);
    price_fk(c, s, &fk, &fkey);
    price_child(c, s, &sfk, &skey, &within);
    price_column(c, s, &ckey);
    price_search(c, s);
    price_near(c, s);
    if (!looks_up && !loops) {
        s->key = s->fk = s->child = -1;
        s->column = j->strategy == FE_MERGE ? s->column : -1;
        s->no_key = s->no_fk = join_asks_search(j) ? "the plan asks for a search" : "the plan asks for a table";
    }
    j->way = loops ? PL_WAY_ALL : PL_WAY_BUILD;
    if (builds || (loops && !join_asks_search(j)))
        best = loops ? s->loop : s->build;
    if (!loops && s->key >= 0 && s->key < best) {
        best = s->key;
        j->way = PL_WAY_KEY;
        j->index = index;
        j->key = ikey;
    }
    if (!loops && s->fk >= 0 && s->fk < best) {
        best = s->fk;
        j->way = PL_WAY_FK;
        j->fk = fk;
        j->key = fkey;
        j->fanout = children(c, j, fk, fkey);
        j->splits = pl_worth_splitting(node_table(j->tbuild)->fks[fk].max_children);
    }
    if (!loops && s->child >= 0 && s->child < best) {
        best = s->child;
        j->way = PL_WAY_CHILD;
        j->fk = sfk;
        j->key = skey;
        j->within = within;
        j->fanout = children(c, j, sfk, skey);
    }
    if (!loops && s->column >= 0 && s->column < best) {
        best = s->column;
        take_column(j, ckey);
    }
    if (prefers_search(c, s, best)) {
        best = s->search;
        j->way = PL_WAY_SEARCH;
    }
    if (s->band >= 0 && s->band < best) {
        best = s->band;
        j->way = PL_WAY_BAND;
    }
    if (s->near >= 0 && s->near < best) {
        best = s->near;
        j->way = PL_WAY_ALL;
        j->search = s->order;
    }
    if (pl_looks_up(j->way) && j->nkeys)
        uncast_key(c, j);
    s->best = best + pl_cost_scan(pl_rates(false), scanned_rows(j->tprobe)); /* counts where sides may be exchanged */
}

static int check_written_side(struct ctx *c, const struct fe_node *n, bool exchange)
{
    bool right = n->u.join.kind == FE_RIGHT;
    if (n->u.join.build == FE_SIDE_RIGHT && right)
        return HD_FAIL(c->err, USER, n->path,
                       "\"build\": \"right\" is not possible: a right join builds its left input");
    if (n->u.join.build == FE_SIDE_LEFT && !exchange && !right)
        return HD_FAIL(c->err, USER, n->path,
                       "\"build\": \"left\" is not possible: only an inner join and a right join can build their left "
                       "input");
    return 0;
}

static int check_index(struct ctx *c, const struct fe_node *n, const struct pl_join *j)
{
    if (j->strategy != FE_INDEX || pl_looks_up(j->way))
        return 0;
    return HD_FAIL(c->err, USER, n->path,
                   "strategy index needs a scan on one side whose key has a "
                   "stored index (primary key or declared foreign key)%s%s",
                   j->null_equal ? " and no NULLs that are to match" : "",
                   n->u.join.kind == FE_INNER ? "" : " and a join kind and condition it can serve");
}

static int check_search(struct ctx *c, const struct fe_node *n, const struct pl_join *j)
{
    if (!join_asks_search(j) || j->way == PL_WAY_SEARCH || j->way == PL_WAY_COLUMN || j->way == PL_WAY_BAND)
        return 0;
    return HD_FAIL(c->err, USER, n->path,
                   "strategy band needs a range in \"residual\": a comparison of numbers, dates or timestamps of one "
                   "side with those of the other by =, <, <=, >, >= or between, or abs(a - b) <= d");
}

/* v[0]: sides as written, a right join's exchanged; v[1]: exchanged, if they may be. */
static int choose_sides(struct ctx *c, const struct fe_node *n, struct pl_node *const *sides, struct sides *v, int *nv,
                        int *taken)
{
    bool exchange = n->u.join.kind == FE_INNER && !n->u.join.single;
    bool asked = n->u.join.build == FE_SIDE_LEFT;
    *nv = 1;
    *taken = 0;
    set_sides(c, n, sides, n->u.join.kind == FE_RIGHT, &v[0]);
    price(c, &v[0]);
    HD_TRY(check_written_side(c, n, exchange));
    if (exchange && n->u.join.build != FE_SIDE_RIGHT) {
        set_sides(c, n, sides, true, &v[1]);
        price(c, &v[1]);
        bool loops = v[0].j.way == PL_WAY_ALL && v[1].j.way == PL_WAY_ALL; /* as written: the cost is the same */
        *nv = loops && !asked ? 1 : 2;
        *taken = asked || (*nv > 1 && pl_cost_exchange(v[0].best, v[1].best));
    }
    HD_TRY(check_search(c, n, &v[*taken].j));
    return check_index(c, n, &v[*taken].j);
}

/* ---- the node ----------------------------------------------------------------------------------------------- */

/* Which build columns anybody will ask for: outputs above and the residual's. */
static void keep_columns_of(struct ctx *c, const struct fe_node *n, struct pl_join *j)
{
    int nb = j->tbuild->ncols, first = j->swapped ? 0 : j->nleft;
    bool outputs = !exists_kind(j->kind);
    bool *all = HD_NEWN(c->a, bool, j->nleft + n->inputs[1]->ncols + 1);
    for (int i = 0; outputs && i < n->ncols; i++)
        all[i] = c->need[n->id][i];
    for (int i = 0; i < j->nrest; i++)
        need_expr(all, j->rest[i]);
    j->keep = hd_dup(c->a, all + first, sizeof *all * (size_t)(nb + 1));
}

/* One pass suffices when no residual decides about a match, or when it simply drops pairs. */
static bool needs_two_passes(const struct pl_join *j)
{
    if (j->way == PL_WAY_KEY || j->way == PL_WAY_CHILD)
        return false;
    if (j->way == PL_WAY_COLUMN)
        return !j->plain && j->kind != FE_INNER && !(j->one && j->kind == FE_SEMI);
    if (j->kind == FE_FULL)
        return true;
    if (exists_kind(j->kind))
        return j->nrest > 0 || j->nkeys == 0 || j->way == PL_WAY_FK;
    return j->kind == FE_LEFT && j->nrest > 0;
}

static struct pl_node *node_of_join(struct ctx *c, const struct fe_node *n, const struct pl_join *j, int ninputs,
                                    struct pl_node *const *inputs)
{
    struct pl_node *p = pl_node_new(c, PL_NODE_JOIN, n, ninputs, inputs);
    p->u.join = *j;
    return p;
}

/* The build side is lowered first, as its table is there before rows are looked up in it. A stored index
 * takes no pipeline, and what it leads to is filtered behind the lookup. */
static void set_build_side(struct ctx *c, const struct fe_node *n, struct pl_join *j)
{
    if (pl_looks_up(j->way))
        j->build->op = PL_NODE_INDEX;
    else
        pl_filter_build_side(c, n, j);
}

static struct pl_node *once(struct ctx *c, const struct fe_node *n, struct pl_join *j)
{
    set_build_side(c, n, j);
    struct pl_node *inputs[2] = {j->build, j->probe};
    return node_of_join(c, n, j, 2, inputs);
}

/* A probe side that is no scan, or that is to be read in parts, is kept, to be read again. The first pass is lowered
 * first. */
static struct pl_node *twice(struct ctx *c, const struct fe_node *n, struct pl_join *j)
{
    set_build_side(c, n, j);
    bool parts = j->strategy == FE_RADIX || pl_table_spills(est_rows(c, j->tbuild), pl_file_memory(&c->opt));
    j->rescan = j->tprobe->op == FE_SCAN_OP && !parts;
    if (!j->rescan)
        j->probe = pl_node_read(c, pl_node_keep(c, j->probe, "probe", j->want, n->path), n->path);
    struct pl_node *inputs[2] = {j->probe, j->build};
    return node_of_join(c, n, j, 2, inputs);
}

static struct pl_node *node_of_form(struct ctx *c, const struct fe_node *n, struct sides *s, struct pl_form_costs *f)
{
    struct pl_join *j = &s->j;
    *f = (struct pl_form_costs){.twice = -1, .extremes = -1};
    if (!needs_two_passes(j))
        return once(c, n, j);
    f->no_once = "a row's outcome depends on all its matches";
    f->twice = j->way == PL_WAY_FK ? s->fk : -1;
    struct pl_node *p = pl_extremes(c, n, j, f);
    if (p)
        return p;
    j->form = PL_FORM_TWICE;
    return twice(c, n, j);
}

int pl_physical_join(struct ctx *c, const struct fe_node *n, struct pl_node *const *sides, struct pl_node **out)
{
    struct sides v[2];
    int nv, taken;
    if (n->u.join.asof[0]) {
        *out = pl_physical_asof(c, n, sides);
        return 0;
    }
    HD_TRY(choose_sides(c, n, sides, v, &nv, &taken));
    struct sides *s = &v[taken];
    struct pl_join *j = &s->j;
    if (j->way == PL_WAY_ALL)
        pl_loop_keys(c, n, j);
    if (j->way == PL_WAY_SEARCH || j->way == PL_WAY_BAND)
        pl_take_search(c, n, j, s->found);
    keep_columns_of(c, n, j);
    j->probe = pl_node_filter(c, sides[j->swapped], s->probe_only, s->nprobe, j->swapped ? j->nleft : 0, n->path);
    j->build = sides[!j->swapped];
    struct pl_form_costs f;
    *out = node_of_form(c, n, s, &f);
    join_tell(c, *out, &(struct join_chosen){v, nv, taken, &f});
    return 0;
}
