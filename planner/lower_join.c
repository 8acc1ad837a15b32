/* Lowering of joins. Kinds that need to know whether *any* match survived a residual look at the probe
 * rows twice (join_twice.c). */
#include "planner/lower_join.h"

#include "planner/bounds.h"
#include "planner/build.h"
#include "planner/cut.h"
#include "planner/handle.h"
#include "planner/join.h"
#include "planner/lower_value.h"
#include "planner/need.h"
#include "planner/physical.h"
#include "planner/store.h"

static int all_pairs(struct ctx *c, struct join *j, struct stream *b, struct stream *out)
{
    struct stored st;
    struct pl_band_slots band;
    int lo = j->d->swapped ? 0 : j->d->nleft;
    if (j->d->search) {
        HD_TRY(join_bound_pairs(c, j, &band));
        HD_TRY(join_store_in_order(c, b, lo, j->d->search->range, j->node, j->d->keep, j->d->by_row, "sorted", &st));
    } else {
        HD_TRY(store_stream(c, b, j->d->keep, j->d->by_row, "rows", j->node->path, &st));
    }
    c->states.v[st.state].single = j->d->single;
    HD_TRY(join_expand_all(c, j, join_how(j->kind), &st));
    if (j->d->search)
        HD_TRY(join_filter_band(c, j, &st, j->brow, false, &band));
    HD_TRY(join_filter_rest(c, j));
    return join_output(c, j, out);
}

static int search(struct ctx *c, struct join *j, struct stream *b, struct stream *out)
{
    struct stored st;
    HD_TRY(join_search(c, j, b, join_how(j->kind), &st));
    HD_TRY(join_filter_rest(c, j));
    return join_output(c, j, out);
}

static int build_table(struct ctx *c, struct join *j, struct stream *b, struct stream *out)
{
    struct built t;
    struct handle *mark = NULL;
    HD_TRY(jb_build(c, j, b, &j->s, &t));
    HD_TRY(jb_probe(c, j, &t, join_how(j->kind), &mark));
    HD_TRY(join_filter_rest(c, j));
    return j->kind == FE_MARK ? join_mark_output(c, j, mark, out) : join_output(c, j, out);
}

/* A key index finds one row at most, and so do sorted children: a semi join is an inner one. */
static int look_up(struct ctx *c, struct join *j, struct stream *out)
{
    HD_TRY(join_lookup(c, j, j->kind == FE_LEFT ? PL_LEFT : PL_INNER));
    HD_TRY(join_filter_rest(c, j));
    return join_output(c, j, out);
}

static int search_column(struct ctx *c, struct join *j, struct stream *out)
{
    struct handle *mark = NULL;
    if (j->kind == FE_FULL)
        return join_full_column(c, j, out);
    HD_TRY(join_search_column(c, j, join_column_how(j), &mark));
    HD_TRY(join_filter_rest(c, j));
    return j->kind == FE_MARK ? join_mark_output(c, j, mark, out) : join_output(c, j, out);
}

static int search_band(struct ctx *c, struct join *j, struct stream *out)
{
    HD_TRY(join_search_band(c, j, PL_INNER));
    HD_TRY(join_filter_rest(c, j));
    return join_output(c, j, out);
}

/* Finds the group of a probe row and compares with its minimum and maximum. */
static int compare_extremes(struct ctx *c, struct join *j, struct stream *b, struct stream *out)
{
    struct built t;
    enum fe_join_kind kind = j->kind;
    enum pl_probe_kind how = kind == FE_SEMI ? PL_INNER : PL_LEFT;
    pb_note(c, "%s: %s join compares with smallest and largest value of a key%s", j->node->path,
            fe_join_kind_name(j->d->written), j->node->ninputs == 3 ? ", for keys of the probe side" : "");
    j->kind = how == PL_INNER ? FE_INNER : FE_LEFT;
    HD_TRY(jb_build(c, j, b, &j->s, &t));
    double est = j->s.est * (how == PL_INNER ? j->d->share : 1);
    HD_TRY(jb_probe(c, j, &t, how, NULL));
    j->s.est = pipeline_of(c, &j->s)->est = est; /* what is grouped was chosen to have their keys */
    j->kind = kind;
    struct handle **env = join_extremes_env(c, j);
    HD_TRY(lx_filter(c, &j->s, env, j->d->rest, j->d->rest_share, j->d->nrest));
    return kind == FE_MARK ? join_mark_output(c, j, h_expr(c, j->d->match, env), out) : join_output(c, j, out);
}

static void sum_columns(struct ctx *c, const struct join *j, const struct pl_sum *s, bool *keys)
{
    int first = j->d->swapped ? j->d->nleft : 0;
    bool *all = HD_NEWN(c->a, bool, first + j->s.ncols + 1);
    for (int i = 0; i < s->n; i++)
        need_expr(all, s->v[i].e);
    for (int i = 0; i < j->s.ncols; i++)
        keys[i] |= all[first + i];
}

static void search_columns(struct ctx *c, const struct join *j, bool *keys)
{
    const struct pl_search *s = j->d->search;
    for (int i = 0; i < s->nkeys; i++)
        need_expr(keys, s->pkeys[i]);
    for (int i = 0; s->range && i < s->range->nlow; i++)
        sum_columns(c, j, &s->range->low[i].at, keys);
    for (int i = 0; s->range && i < s->range->nhigh; i++)
        sum_columns(c, j, &s->range->high[i].at, keys);
    for (int i = 0; s->reach && i < s->reach->nlow; i++)
        sum_columns(c, j, &s->reach->low[i].at, keys);
}

/* Probe columns that are looked at before a level opens. */
static const bool *key_columns(struct ctx *c, const struct join *j)
{
    bool *keys = HD_NEWN(c->a, bool, j->s.ncols + 1);
    for (int i = 0; i < j->d->nkeys; i++)
        need_expr(keys, j->d->pkeys[i]);
    if (j->d->search)
        search_columns(c, j, keys);
    return keys;
}

int lower_join(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    const struct pl_join *d = &n->u.join;
    struct join j = {.node = n, .d = d, .n = n->n, .kind = d->kind, .s = *join_stream(n, in, d->probe)};
    struct stream *b = join_stream(n, in, d->build);
    if (d->form == PL_FORM_TWICE)
        return join_twice(c, &j, b, out);
    if (d->way == PL_WAY_BUILD && d->table->parts.probe)
        HD_TRY(join_store_parts(c, &j));
    else if (d->way != PL_WAY_KEY && d->way != PL_WAY_CHILD && !d->one && !d->folded)
        HD_TRY(cut_before_level(c, &j.s, d->want, key_columns(c, &j), n->path));
    if (d->form == PL_FORM_EXTREMES)
        return compare_extremes(c, &j, b, out);
    switch (d->way) {
    case PL_WAY_BUILD:
    case PL_WAY_NEAREST: return build_table(c, &j, b, out);
    case PL_WAY_KEY:
    case PL_WAY_CHILD:
    case PL_WAY_FK: return look_up(c, &j, out);
    case PL_WAY_COLUMN: return search_column(c, &j, out);
    case PL_WAY_BAND: return search_band(c, &j, out);
    case PL_WAY_ALL: return all_pairs(c, &j, b, out);
    case PL_WAY_SEARCH: return search(c, &j, b, out);
    }
    HD_BUG("way %d", (int)d->way);
}
