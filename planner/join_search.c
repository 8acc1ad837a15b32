/* The build side of a join is sorted by search words, and a probe row finds the range of its matches there. */
#include "planner/bounds.h"
#include "planner/build.h"
#include "planner/cut.h"
#include "planner/handle.h"
#include "planner/join.h"
#include "planner/lower_expr.h"
#include "planner/lower_value.h"
#include "planner/physical_search.h"
#include "planner/search_word.h"

/* The words of both sides. */
struct words {
    int n;
    struct pl_val build[PL_SEARCH_WORDS];
    struct pl_val probe[PL_SEARCH_WORDS + 1]; /* the last one's bounds */
    struct handle *order[PL_SEARCH_WORDS]; /* columns of the build side whose words they are; NULL: something else */
    struct pl_val far, reach; /* what runs on the build side, and what it must have reached; expr -1: none */
};

struct handle **join_side_env(struct ctx *c, const struct join *j, struct handle *const *cols, bool build)
{
    int nl = j->d->nleft, n = build ? j->d->nbuilt : j->s.ncols;
    struct handle **env = HD_NEWN(c->a, struct handle *, nl + j->d->nbuilt + j->s.ncols + 1);
    memcpy(env + (build == j->d->swapped ? 0 : nl), cols, sizeof *env * (size_t)n);
    return env;
}

/* A key on both sides, in one physical form. */
static int key_pair(struct ctx *c, struct join *j, const struct stream *b, int i, struct pl_val *bv, struct pl_val *pv)
{
    const struct pl_search *d = j->d->search;
    HD_TRY(h_value(c, pipeline_of(c, b), h_plain(h_expr(c, d->bkeys[i], b->cols)), bv));
    HD_TRY(h_value(c, pipeline_of(c, &j->s), h_plain(h_expr(c, d->pkeys[i], j->s.cols)), pv));
    lx_realise(c, bv);
    lx_realise(c, pv);
    if (hd_type_is_text(bv->type))
        return lx_unify(c, bv, pv);
    enum rt_phys width = HD_MAX(bv->phys, pv->phys);
    HD_TRY(lx_as_phys(c, bv, width));
    return lx_as_phys(c, pv, width);
}

static int key_words(struct ctx *c, struct join *j, const struct stream *b, struct words *w)
{
    const struct pl_search *d = j->d->search;
    struct pl_val *bv = HD_NEWN(c->a, struct pl_val, d->nkeys + 1), *pv = HD_NEWN(c->a, struct pl_val, d->nkeys + 1);
    for (int i = 0; i < d->nkeys; i++)
        HD_TRY(key_pair(c, j, b, i, &bv[i], &pv[i]));
    w->n = d->hashed ? 1 : d->nkeys;
    if (d->hashed) {
        struct open_pipeline *p = pipeline_of(c, &j->s);
        w->build[0] = sw_hash(c, bv, d->nkeys, d->null_equal);
        w->probe[0] = sw_hash(c, pv, d->nkeys, d->null_equal);
        w->probe[0].expr = pb_slot_expr(c, p, pb_let(c, p, "word", w->probe[0])); /* a step reads it twice */
    }
    for (int i = 0; i < d->nkeys && !d->hashed; i++) {
        w->order[i] = h_expr(c, d->bkeys[i], b->cols);
        w->build[i] = sw_key(c, bv[i]);
        w->probe[i] = sw_key(c, pv[i]);
    }
    return 0;
}

static int reach_words(struct ctx *c, struct join *j, const struct stream *b, struct words *w)
{
    const struct pl_interval *x = j->d->search->reach;
    struct pl_val open;
    HD_TRY(sw_word(c, pipeline_of(c, b), join_side_env(c, j, b->cols, true), x, &w->far));
    return sw_bounds(c, pipeline_of(c, &j->s), join_side_env(c, j, j->s.cols, false), x, &w->reach, &open);
}

static int make_words(struct ctx *c, struct join *j, const struct stream *b, struct words *w)
{
    const struct pl_interval *x = j->d->search->range;
    *w = (struct words){.far = {.expr = -1}, .reach = {.expr = -1}};
    HD_TRY(key_words(c, j, b, w));
    if (!x) {
        w->probe[w->n] = w->probe[w->n - 1]; /* both bounds of the last word */
        return 0;
    }
    struct handle **env = join_side_env(c, j, b->cols, true);
    if (x->of.n == 1 && x->of.v[0].factor > 0)
        w->order[w->n] = h_expr(c, x->of.v[0].e, env);
    HD_TRY(sw_word(c, pipeline_of(c, b), env, x, &w->build[w->n]));
    HD_TRY(sw_bounds(c, pipeline_of(c, &j->s), join_side_env(c, j, j->s.cols, false), x, &w->probe[w->n],
                     &w->probe[w->n + 1]));
    w->n++;
    return j->d->search->reach ? reach_words(c, j, b, w) : 0;
}

/* Rows with NULL in a word match nothing: they are dropped, unless they come out of the join all the same. */
static void settle_null(struct ctx *c, bool dropped, struct open_pipeline *p, int64_t instead, const char *path,
                        struct pl_val *v)
{
    if (!v->nullable)
        return;
    v->expr = pb_slot_expr(c, p, pb_let(c, p, "word", *v));
    int args[2] = {v->expr, pb_const_int(c, RT_I64, instead)};
    if (dropped) {
        int null = pb_op(c, FE_IS_NULL, RT_BOOL, false, 1, &v->expr);
        pb_filter(c, p, pb_op(c, FE_NOT, RT_BOOL, false, 1, &null), 0.95, path);
    }
    v->expr = pb_op(c, FE_COALESCE, RT_I64, false, 2, args);
    v->nullable = false;
}

static void settle_nulls(struct ctx *c, const struct join *j, struct open_pipeline *p, struct words *w)
{
    for (int i = 0; i < w->n; i++)
        settle_null(c, j->kind != FE_FULL, p, INT64_MAX, j->node->path, &w->build[i]);
    if (w->far.expr >= 0)
        settle_null(c, j->kind != FE_FULL, p, INT64_MIN, j->node->path, &w->far);
}

static void expand(struct ctx *c, struct join *j, enum pl_probe_kind how, const struct words *w,
                   const struct stored *st)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    int slot = pb_slot(c, p, hd_asprintf(c->a, "%s row", fe_relop_name(j->d->tbuild->op)), RT_I32, false);
    bool reaches = w->reach.expr >= 0;
    int *keys = HD_NEWN(c->a, int, w->n + 2);
    for (int i = 0; i <= w->n; i++)
        keys[i] = w->probe[i].expr;
    if (reaches)
        keys[w->n + 1] = w->reach.expr;
    int a_rows = pb_arg_state(c, RT_ARG_STATE_ROWS, st->state, 0);
    int a_nrows = pb_arg_state(c, RT_ARG_STATE_NROWS, st->state, 0);
    struct pl_step *s = pb_step(c, p, PL_STEP_EXPAND_SORTED, j->node->path);
    s->state = st->state;
    s->slot = slot;
    s->probe = how;
    s->nkeys = w->n + 1 + reaches;
    s->reach = reaches ? w->n : -1; /* behind the words */
    s->keys = keys;
    s->a_rows = a_rows;
    s->a_nrows = a_nrows;
    s->splittable = true;
    cut_open_level(c, &j->s, j->d->want);
    p->est *= j->d->fanout;
    j->s.max_rows = HD_MIN(j->s.max_rows * HD_MAX(1, st->max_rows), 9e18);
    j->s.unique_row = NULL;
    j->s.nunique = 0;
    join_stored_columns(c, j, st, h_row(c, slot, NULL, st->state, how == PL_LEFT));
    j->s.est = p->est;
}

int join_search(struct ctx *c, struct join *j, struct stream *b, enum pl_probe_kind how, struct stored *st)
{
    struct words w;
    HD_TRY(make_words(c, j, b, &w));
    settle_nulls(c, j, pipeline_of(c, b), &w);
    const struct pl_val *far = w.far.expr >= 0 ? &w.far : NULL;
    HD_TRY(store_sorted(c, b, w.build, w.order, w.n, far, j->d->keep, j->d->by_row, "sorted", j->node->path, st));
    pb_note(c, "%s: %s join sorts %s (about %.0f rows) and searches it%s%s", j->node->path,
            fe_join_kind_name(j->d->written), j->d->build->label, b->est,
            j->d->search->hashed  ? " by a hash"
            : j->d->search->nkeys ? " by key"
                                  : "",
            j->d->search->range ? " for a range" : "");
    expand(c, j, how, &w, st);
    return 0;
}

/* ---- loops over pairs in order -------------------------------------------------------------------------------- */

int join_store_in_order(struct ctx *c, struct stream *s, int lo, const struct pl_interval *x, const struct pl_node *n,
                        const bool *want, const bool *by_row, const char *name, struct stored *st)
{
    struct open_pipeline *p = pipeline_of(c, s);
    struct handle **env = HD_NEWN(c->a, struct handle *, lo + s->ncols + 1);
    memcpy(env + lo, s->cols, sizeof *env * (size_t)s->ncols);
    struct handle *order = h_expr(c, x->of.v[0].e, env);
    struct pl_val word;
    HD_TRY(sw_word(c, p, env, x, &word));
    settle_null(c, true, p, INT64_MAX, n->path, &word);
    return store_sorted(c, s, &word, &order, 1, NULL, want, by_row, name, n->path, st);
}

/* A bound that no word reaches stands for NULL. */
static int bound_slot(struct ctx *c, struct open_pipeline *p, struct pl_val *v, int64_t instead)
{
    int args[2] = {v->expr, pb_const_int(c, RT_I64, instead)};
    if (v->nullable)
        v->expr = pb_op(c, FE_COALESCE, RT_I64, false, 2, args);
    v->nullable = false;
    return pb_let(c, p, "bound", *v);
}

int join_bound_pairs(struct ctx *c, struct join *j, struct pl_band_slots *b)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    struct pl_val low, high;
    HD_TRY(sw_bounds(c, p, join_side_env(c, j, j->s.cols, false), j->d->search->range, &low, &high));
    b->low = bound_slot(c, p, &low, INT64_MAX);
    b->high = bound_slot(c, p, &high, INT64_MIN);
    return 0;
}

int join_filter_band(struct ctx *c, struct join *j, const struct stored *st, struct handle *row, bool later,
                     const struct pl_band_slots *b)
{
    struct open_pipeline *p = pipeline_of(c, &j->s);
    struct pl_val word;
    HD_TRY(h_value(c, p, h_field(c, st->state, 0, row), &word));
    for (int low = 0; low < 2 - later; low++) {
        int args[2] = {word.expr, pb_slot_expr(c, p, low ? b->low : b->high)};
        pb_filter(c, p, pb_op(c, low ? FE_GE : FE_LE, RT_BOOL, false, 2, args), low ? 1 : pl_search_share(j->d->search),
                  j->node->path);
    }
    return 0;
}
