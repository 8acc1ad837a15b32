/* What a dump says of a join: the order of the tree, its sides, ways and forms with their costs, and why one was taken. */
#include "planner/physical_join_told.h"

#include "planner/order_told.h"
#include "planner/physical_tree.h"

static const char *way_name(enum pl_way w)
{
    static const char *const names[] = {[PL_WAY_BUILD] = "build",
                                        [PL_WAY_KEY] = "key index",
                                        [PL_WAY_FK] = "foreign key index",
                                        [PL_WAY_CHILD] = "sorted children",
                                        [PL_WAY_ALL] = "loop",
                                        [PL_WAY_SEARCH] = "sorted search",
                                        [PL_WAY_COLUMN] = "sorted column",
                                        [PL_WAY_BAND] = "band of a sorted column"};
    return names[w];
}

/* Sides that were not exchanged although that seems cheaper, or that cannot be. */
static const char *side_reason(const struct fe_node *n, const struct sides *v, int nv, int taken)
{
    if (n->u.join.build != FE_SIDE_AUTO)
        return "the plan asks for it";
    return nv > 1 && !taken && v[1].best < v[0].best ? "as written: the other one saves little" : NULL;
}

static void tell_sides(struct ctx *c, struct pl_node *p, const struct fe_node *n, const struct sides *v, int nv,
                       int taken)
{
    static const char *const names[] = {"right", "left"};
    struct pl_decision *d = pl_decide(c, p, "build side");
    const char *asked = side_reason(n, v, nv, taken);
    const char *alone = v[0].j.way == PL_WAY_ALL && v[0].j.kind == FE_INNER && !v[0].j.single
                            ? "the cost is the same"
                            : "not exchanged in this kind of join";
    bool right = v[0].j.swapped;
    for (int i = 0; i < nv; i++)
        pl_decide_way(c, d, names[right || i], v[i].best < 1e300 ? v[i].best : -1, i == taken ? asked : NULL);
    if (nv == 1)
        pl_decide_way(c, d, names[!right], -1, asked ? NULL : alone);
    pl_decide_take(d, names[right || taken]);
}

/* Few rows by estimate may be many, and all pairs of many rows never end: costs do not decide for a loop. */
static const char *loop_reason(const struct sides *s)
{
    const double costs[] = {
        [PL_WAY_BUILD] = s->build, [PL_WAY_KEY] = s->key,       [PL_WAY_FK] = s->fk,         [PL_WAY_CHILD] = s->child,
        [PL_WAY_ALL] = 0,          [PL_WAY_SEARCH] = s->search, [PL_WAY_COLUMN] = s->column, [PL_WAY_BAND] = s->band};
    if (s->j.strategy == FE_LOOP)
        return "the plan asks for it";
    return s->loop < costs[s->j.way] ? "with keys only where the plan asks for it" : NULL;
}

/* Sides of joins by key alone are only sorted where the plan asks for it. */
static void tell_search(struct ctx *c, struct pl_decision *d, const struct sides *s)
{
    if (!s->found || (!s->found->range && !join_asks_search(&s->j) && !s->merges))
        return;
    pl_decide_way(c, d, way_name(PL_WAY_SEARCH), s->search,
                  s->j.way == PL_WAY_SEARCH && join_asks_search(&s->j) ? "the plan asks for it" : s->no_search);
    if (s->band >= 0)
        pl_decide_way(c, d, way_name(PL_WAY_BAND), s->band, NULL);
    pl_decide_take(d, way_name(s->j.way));
}

static void tell_way(struct ctx *c, struct pl_node *p, const struct sides *s)
{
    struct pl_decision *d = pl_decide(c, p, "way");
    if (p->n->u.join.nkeys == 0) {
        pl_decide_way(c, d, way_name(PL_WAY_ALL), s->loop,
                      s->j.way != PL_WAY_ALL || s->j.search ? NULL
                      : s->j.strategy == FE_LOOP            ? "the plan asks for it"
                                                            : "no keys");
        tell_search(c, d, s);
        if (s->near >= 0)
            pl_decide_way(c, d, "loop in order", s->near, NULL);
        if (s->near >= 0)
            pl_decide_take(d, s->j.way == PL_WAY_ALL && s->j.search ? "loop in order" : way_name(s->j.way));
        return;
    }
    pl_decide_way(c, d, way_name(PL_WAY_BUILD), s->build, s->no_build);
    pl_decide_way(c, d, way_name(PL_WAY_KEY), s->key, s->no_key);
    pl_decide_way(c, d, way_name(PL_WAY_FK), s->fk, s->no_fk);
    if (s->child >= 0) /* few tables are sorted so */
        pl_decide_way(c, d, way_name(PL_WAY_CHILD), s->child, NULL);
    if (s->column >= 0)
        pl_decide_way(c, d, way_name(PL_WAY_COLUMN), s->column,
                      join_asks_search(&s->j) ? "the plan asks for a search" : NULL);
    pl_decide_way(c, d, way_name(PL_WAY_ALL), s->loop, loop_reason(s));
    tell_search(c, d, s);
    pl_decide_take(d, way_name(s->j.way));
}

/* The order of a tree of joins, at its last one. */
static void tell_order(struct ctx *c, struct pl_node *p)
{
    const struct order_told *t = NULL;
    for (int i = 0; i < c->told.n && !t; i++)
        t = c->told.v[i].n == p->n ? &c->told.v[i] : NULL;
    if (!t || !t->top)
        return;
    struct pl_decision *d = pl_decide(c, p, "join order");
    const char *how = t->pairs ? "the best of %.0f relations by %.0f pairs" : "a good one of %.0f relations";
    pl_decide_detail(c, d, "by cost", t->moved ? t->tree : "saves little", how, t->relations, t->pairs);
    pl_decide_way(c, d, "as written", t->written, t->moved ? NULL : t->tree);
    d->v[0].ns = t->cost;
    d->taken = !t->moved;
}

static void tell_form(struct ctx *c, struct pl_node *p, const struct pl_form_costs *f)
{
    static const char *const names[] = {"pairs once", "two passes", "minimum and maximum of a key"};
    struct pl_decision *d = pl_decide(c, p, "condition");
    pl_decide_way(c, d, names[PL_FORM_ONCE], -1, f->no_once);
    if (f->no_once) {
        pl_decide_way(c, d, names[PL_FORM_TWICE], f->twice,
                      p->u.join.rescan ? "the probe side is scanned again" : NULL);
        pl_decide_way(c, d, names[PL_FORM_EXTREMES], f->extremes, f->no_extremes);
    }
    pl_decide_take(d, names[p->u.join.form]);
}

void join_tell(struct ctx *c, struct pl_node *p, const struct join_chosen *of)
{
    const struct sides *s = &of->v[of->taken];
    tell_order(c, p);
    tell_sides(c, p, p->n, of->v, of->n, of->taken);
    tell_way(c, p, s);
    if (s->j.nrest || of->form->no_once)
        tell_form(c, p, of->form);
}
