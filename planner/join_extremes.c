/* Existence with a residual against one build value, without looking at pairs: some b <> x exactly if
 * the least or the greatest b of the key differs from x, some b < x exactly if the least is below
 * it, some b > x exactly if the greatest is above. So the build side becomes one row per key with
 * its least and greatest value, found by a unique lookup; a key with many rows on both sides then costs
 * their sum instead of their product (docs/architecture.md, "Existence with a residual"). NULLs need no
 * care: MIN and MAX pass over them, a key without values compares with NULL, and NULL is no match. */
#include "planner/join.h"

/* ---- when ------------------------------------------------------------------------------------------ */

/* The residual's one conjunct that reads the build side, `b op x` or `x op b`, and which side b is. */
struct extremes {
    const struct fe_expr *compare;
    int b;
};

static bool ordered_value(const struct fe_expr *e)
{
    /* Texts are left out for their width; a cast that saturates leaves its type's range. */
    return e->type.kind != HD_STRING && e->type.kind != HD_BOOL && !(e->op == FE_CAST && e->saturate);
}

static bool has_form(const struct join *j, struct extremes *x)
{
    int nl = j->n->inputs[0]->ncols, all = nl + j->n->inputs[1]->ncols;
    bool exists = j->kind == FE_SEMI || j->kind == FE_ANTI || j->kind == FE_MARK;
    *x = (struct extremes){0};
    if (!exists || j->nkeys == 0 || j->n->u.join.strategy == FE_INDEX)
        return false;
    for (int i = 0; i < j->nrest; i++) { /* kinds with existence never exchange their sides */
        const struct fe_expr *e = j->rest[i];
        if (lx_may_fail(e))
            return false;
        if (!lx_uses(e, nl, all))
            continue;
        if (x->compare || e->op < FE_NE || e->op > FE_GE)
            return false;
        x->compare = e;
        x->b = lx_uses(e->args[1], nl, all);
        if (lx_uses(e->args[x->b], 0, nl) || lx_uses(e->args[!x->b], nl, all) || !ordered_value(e->args[x->b]))
            return false;
    }
    return x->compare != NULL;
}

/* Nanoseconds a row, as in lower_join.c: grouping, and keeping a probe row with its key's bit. */
enum { NS_GROUP = 20, NS_LOOKUP = 10, NS_KEEP = 10, NS_TEST = 3 };

/* Of the build side only keys that the probe side has are of use. Keeping the probe rows and testing
 * a bit per build row pays where that leaves few. */
static double cheapest(struct ctx *c, const struct join *j, bool *reduce)
{
    const struct fe_table *t = node_table(j->build);
    double probe = est_rows(c, j->probe), build = est_rows(c, j->build), keys = 1;
    for (int i = 0; i < j->nkeys; i++)
        keys *= HD_MAX(1, est_key(c, j->build, j->bkeys[i]).distinct);
    double scan = (t ? (double)t->rows * 2 : 0) + probe * NS_LOOKUP;
    double share = HD_MIN(1, probe / keys);
    double whole = scan + build * NS_GROUP;
    double less = scan + probe * NS_KEEP + build * NS_TEST + build * share * NS_GROUP;
    *reduce = less < whole;
    return HD_MIN(less, whole);
}

/* ---- how ------------------------------------------------------------------------------------------- */

/* Keeps those build rows whose key some stored probe row has. */
static int reduce_build(struct ctx *c, struct join *j, const struct stored *probe, struct stream *b)
{
    struct fe_node *n = HD_NEW(c->a, struct fe_node);
    *n = (struct fe_node){.op = FE_JOIN_OP, .path = j->n->path};
    n->u.join.kind = FE_SEMI;
    struct join r = {.n = n,
                     .kind = FE_SEMI,
                     .probe = j->build,
                     .build = j->probe,
                     .nkeys = j->nkeys,
                     .pkeys = j->bkeys,
                     .bkeys = j->pkeys,
                     .s = *b};
    struct stream keys = stream_over(c, probe, j->n->path);
    struct built t;
    HD_TRY(jb_build(c, &r, &keys, &r.s, &t, true, false));
    HD_TRY(jb_probe(c, &r, &t, PL_SEMI, NULL));
    *b = r.s;
    return 0;
}

/* One row per key: keys, least, greatest. */
static int group_build(struct ctx *c, struct join *j, const struct extremes *x, struct stream *b)
{
    int nl = j->n->inputs[0]->ncols;
    struct handle **env = HD_NEWN(c->a, struct handle *, nl + b->ncols + 1);
    struct handle **keys = HD_NEWN(c->a, struct handle *, j->nkeys + 1);
    memcpy(env + nl, b->cols, sizeof *env * (size_t)b->ncols);
    for (int i = 0; i < j->nkeys; i++)
        keys[i] = h_expr(c, j->bkeys[i], b->cols);
    struct stream groups;
    HD_TRY(agg_extremes(c, b, j->nkeys, keys, h_expr(c, x->compare->args[x->b], env), j->n->path, &groups));
    *b = groups;
    return 0;
}

/* Finds the group of a probe row; least and greatest become two more columns of its environment. */
static int probe_groups(struct ctx *c, struct join *j, struct stream *b, enum pl_probe_kind how,
                        struct handle **extremes)
{
    struct fe_node *side = HD_NEW(c->a, struct fe_node), *n = HD_NEW(c->a, struct fe_node);
    *side = (struct fe_node){.op = FE_AGGREGATE_OP, .path = j->n->path, .ncols = b->ncols};
    *n = (struct fe_node){.op = FE_JOIN_OP, .path = j->n->path};
    n->u.join.kind = how == PL_LEFT ? FE_LEFT : FE_INNER;
    n->u.join.strategy = j->n->u.join.strategy;
    struct join g = {.n = n,
                     .kind = n->u.join.kind,
                     .build = side,
                     .nkeys = j->nkeys,
                     .take_all = true,
                     .pkeys = j->pkeys,
                     .s = j->s};
    g.bkeys = HD_NEWN(c->a, struct fe_expr *, j->nkeys + 1);
    for (int i = 0; i < j->nkeys; i++)
        g.bkeys[i] = lx_col(c, i, b->cols[i], j->n->path);
    struct built t;
    HD_TRY(jb_build(c, &g, b, &g.s, &t, false, false));
    double est = j->s.est * (how == PL_INNER ? est_share(c, j->build) : 1);
    HD_TRY(jb_probe(c, &g, &t, how, NULL));
    j->s = g.s;
    j->s.est = pipe_of(c, &j->s)->est = est; /* what is grouped was chosen to have their keys */
    extremes[0] = g.bcols[j->nkeys];
    extremes[1] = g.bcols[j->nkeys + 1];
    return 0;
}

static struct fe_expr *against(struct ctx *c, const struct extremes *x, struct fe_expr *extreme)
{
    struct fe_expr *e = hd_dup(c->a, x->compare, sizeof *e);
    e->args = hd_dup(c->a, x->compare->args, 2 * sizeof *e->args);
    e->args[x->b] = extreme;
    e->nullable = true;
    return e;
}

/* The residual over an environment whose columns `at` and `at` + 1 are least and greatest. */
static struct fe_expr *condition(struct ctx *c, const struct join *j, const struct extremes *x,
                                 struct handle *const *env, int at)
{
    const struct fe_expr *e = x->compare;
    struct fe_expr *least = lx_col(c, at, env[at], e->path), *most = lx_col(c, at + 1, env[at + 1], e->path);
    bool below = e->op == FE_LT || e->op == FE_LE; /* of the left argument */
    struct fe_expr *all = against(c, x, below != (x->b == 1) ? least : most);
    if (e->op == FE_NE)
        all = lx_node(c, FE_OR, e->type, true, e->path, 2, against(c, x, least), against(c, x, most));
    for (int i = 0; i < j->nrest; i++) /* what reads the probe side only */
        if (j->rest[i] != e)
            all = lx_node(c, FE_AND, e->type, true, e->path, 2, (struct fe_expr *)(uintptr_t)j->rest[i], all);
    return all;
}

static int extremes_output(struct ctx *c, struct join *j, const struct extremes *x, struct handle *const *extremes,
                           struct stream *out)
{
    int nl = j->n->inputs[0]->ncols, at = nl + j->n->inputs[1]->ncols;
    struct handle **env = HD_NEWN(c->a, struct handle *, at + 2);
    memcpy(env, j->s.cols, sizeof *env * (size_t)nl);
    env[at] = extremes[0];
    env[at + 1] = extremes[1];
    struct fe_expr *cond = condition(c, j, x, env, at);
    if (j->kind == FE_SEMI) {
        HD_TRY(lx_filter(c, &j->s, env, cond));
        return join_output(c, j, out);
    }
    struct hd_type b = hd_type_of(HD_BOOL);
    struct fe_expr *no = lx_node(c, FE_LIT, b, false, cond->path, 0, NULL, NULL);
    no->value.type = b;
    struct fe_expr *match = lx_node(c, FE_COALESCE, b, false, cond->path, 2, cond, no);
    if (j->kind == FE_MARK)
        return join_mark_output(c, j, h_expr(c, match, env), out);
    HD_TRY(lx_filter(c, &j->s, env, lx_node(c, FE_NOT, b, false, cond->path, 1, match, NULL)));
    return join_output(c, j, out);
}

/* Pairs can be cheaper only by a stored index: few probe rows then meet few rows each. A built table
 * costs about as much as the groups, and whatever skew facts do not show stays harmless here. */
int join_extremes(struct ctx *c, struct join *j, double index_ns, bool *done, struct stream *out)
{
    struct extremes x;
    struct stream b;
    struct stored stored;
    struct handle *extremes[2];
    bool reduce = false;
    *done = has_form(j, &x) && (cheapest(c, j, &reduce) < index_ns || j->way == J_BUILD);
    if (!*done)
        return 0;
    pb_note(c, "%s: %s join compares with least and greatest value of a key%s", j->n->path,
            fe_join_kind_name(j->n->u.join.kind), reduce ? ", for keys of the probe side" : "");
    if (reduce) {
        HD_TRY(seg_node(c, j->probe, &j->s));
        HD_TRY(join_probe_only(c, j));
        HD_TRY(store_stream(c, &j->s, c->need[j->probe->id], "probe", j->n->path, &stored));
    }
    HD_TRY(join_build_stream(c, j, &b));
    if (reduce)
        HD_TRY(reduce_build(c, j, &stored, &b));
    HD_TRY(group_build(c, j, &x, &b));
    if (reduce) {
        j->s = stream_over(c, &stored, j->n->path);
    } else {
        HD_TRY(join_probe_stream(c, j));
    }
    HD_TRY(probe_groups(c, j, &b, j->kind == FE_SEMI ? PL_INNER : PL_LEFT, extremes));
    return extremes_output(c, j, &x, extremes, out);
}
