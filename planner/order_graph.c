/* Rows and costs of joins of a query graph. A set's rows do not depend on the tree that makes them: the product of the
 * relations' rows and of the shares that conditions leave, of an equality 1 / the larger number of distinct values in the
 * whole tables (Selinger et al., Access Path Selection in a Relational Database Management System, SIGMOD 1979, section
 * 4), so that what filters drop of a key's side is dropped of the other one, too. */
#include "planner/order_graph.h"

#include <string.h>

#include "planner/cost.h"

/* ---- connections ------------------------------------------------------------------------------------------ */

static void connect(struct order_graph *g, order_set s)
{
    for (order_set rest = s; rest; rest &= rest - 1)
        g->neighbours[order_first(rest)] |= s & ~order_of(order_first(rest));
}

static order_set reached(const struct order_graph *g, int from)
{
    order_set seen = order_of(from), open = seen;
    while (open) {
        order_set next = g->neighbours[order_first(open)] & ~seen;
        open = (open & (open - 1)) | next;
        seen |= next;
    }
    return seen;
}

static int smallest(const struct order_graph *g, order_set s)
{
    int best = -1;
    for (; s; s &= s - 1) {
        const struct order_relation *r = &g->relations[order_first(s)];
        if (!r->dependent && (best < 0 || r->rows < g->relations[best].rows))
            best = order_first(s);
    }
    return best;
}

static order_set all_of(const struct order_graph *g)
{
    return g->nrelations == ORDER_RELATIONS ? ~(order_set)0 : order_of(g->nrelations) - 1;
}

void order_connect(struct hd_arena *a, struct order_graph *g)
{
    order_set all = all_of(g);
    g->neighbours = HD_NEWN(a, order_set, g->nrelations + 1);
    for (int i = 0; i < g->nclasses; i++)
        connect(g, g->classes[i].relations);
    for (int i = 0; i < g->nconditions; i++)
        if (g->conditions[i].connects)
            connect(g, g->conditions[i].relations);
    for (int i = 0; i < g->nrelations; i++)
        for (order_set s = g->relations[i].needs; s; s &= s - 1)
            connect(g, order_of(i) | order_of(order_first(s)));
    for (int i = 0; i < g->nconditions && reached(g, 0) != all; i++)
        if (!order_within(g->conditions[i].relations, reached(g, order_first(g->conditions[i].relations))))
            connect(g, g->conditions[i].relations);
    for (order_set part = reached(g, 0); part != all; part = reached(g, 0)) {
        int x = smallest(g, part), y = smallest(g, reached(g, order_first(all & ~part)));
        if (x < 0 || y < 0)
            return; /* what lacks its needs: the greedy search finds them */
        connect(g, order_of(x) | order_of(y));
    }
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static void distinct_of(const struct order_class *c, order_set s, double *distinct, double *heavy)
{
    *distinct = 1e300;
    *heavy = 0;
    for (s &= c->relations; s; s &= s - 1) {
        const struct order_column *m = &c->of[order_first(s)];
        *distinct = HD_MIN(*distinct, m->distinct);
        *heavy = HD_MAX(*heavy, m->heavy);
    }
}

/* A value that is frequent on both sides makes more pairs than the average says. */
static double class_share(const struct order_class *c, order_set a, order_set b)
{
    double da, db, ha, hb;
    if (c->constant)
        return 1;
    distinct_of(c, a, &da, &ha);
    distinct_of(c, b, &db, &hb);
    return HD_MAX(1 / HD_MAX(1, HD_MAX(da, db)), ha * hb);
}

static uint64_t classes_between(const struct order_graph *g, order_set a, order_set b)
{
    uint64_t found = 0;
    for (int i = 0; i < g->nclasses; i++)
        if ((g->classes[i].relations & a) && (g->classes[i].relations & b))
            found |= (uint64_t)1 << i;
    return found;
}

static double classes_share(const struct order_graph *g, uint64_t classes, order_set a, order_set b)
{
    double share = 1;
    for (; classes; classes &= classes - 1)
        share *= class_share(&g->classes[order_first(classes)], a, b);
    return share;
}

/* A row meets one at most of a relation whose key is compared, however few values each of the key's columns has. */
static double equal_share(const struct order_graph *g, uint64_t between, order_set a, order_set b)
{
    double share = 1;
    for (int i = 0; i < g->nkeys; i++) {
        const struct order_key *k = &g->keys[i];
        if (!order_within(k->classes, between) || !(order_of(k->relation) & (a | b)))
            continue;
        share *= HD_MAX(classes_share(g, k->classes, a, b), 1 / HD_MAX(1, k->rows));
        between &= ~k->classes;
    }
    return share * classes_share(g, between, a, b);
}

static double conditions_share(const struct order_graph *g, order_set a, order_set b)
{
    double share = 1;
    for (int i = 0; i < g->nconditions; i++) {
        order_set r = g->conditions[i].relations;
        if (order_within(r, a | b) && !order_within(r, a) && !order_within(r, b))
            share *= g->conditions[i].share;
    }
    return share;
}

double order_sample_found(const struct order_sample *sample, order_set s)
{
    double found = 0;
    for (int i = 0; i < sample->nsets; i++)
        found += order_within(s, sample->sets[i]) ? sample->counts[i] : 0;
    return found;
}

double order_sample_met(const struct order_graph *g, int relation, order_set by)
{
    for (int i = 0; i < g->nsamples; i++) {
        const struct order_sample *x = &g->samples[i];
        if (x->relation == relation && (by & x->of)) {
            const double found = order_sample_found(x, by & x->of);
            return found < ORDER_SAMPLE_FEW ? -1 : found / x->size * g->relations[relation].scanned;
        }
    }
    return -1;
}

/* By how much more rows of s there are than averages say: by the sample of its largest table. */
static double sampled_share(const struct order_graph *g, order_set s)
{
    const struct order_sample *best = NULL;
    double share = 1;
    for (int i = 0; i < g->nsamples; i++) {
        const struct order_sample *x = &g->samples[i];
        if ((s & order_of(x->relation)) &&
            (!best || g->relations[x->relation].scanned > g->relations[best->relation].scanned))
            best = x;
    }
    if (!best)
        return 1;
    for (order_set rest = s & best->of; rest; rest &= rest - 1) {
        const struct order_relation *r = &g->relations[order_first(rest)];
        share *= HD_MIN(1, r->rows / HD_MAX(1, r->scanned));
    }
    double found = order_sample_found(best, s & best->of), expected = share * best->size;
    return HD_MAX(found, expected) < ORDER_SAMPLE_FEW ? 1 : HD_MAX(found, 0.5) / expected;
}

/* What a filter drops it drops once. */
static double dropped_twice(const struct order_graph *g, order_set a, order_set b)
{
    double share = 1;
    for (order_set s = a; s; s &= s - 1)
        for (order_set by = g->relations[order_first(s)].reduced_by & b; by; by &= by - 1) {
            const struct order_relation *r = &g->relations[order_first(by)];
            share *= HD_MAX(1, r->scanned / HD_MAX(1, r->rows));
        }
    return share;
}

/* ---- costs ---------------------------------------------------------------------------------------------------- */

/* A table that is made for a join. */
struct made {
    double domain;    /* values of its key, or its rows */
    double rows;
    int columns;      /* that are read of it */
    bool in_order;    /* rows that look up come by the key */
    bool hashed;
};

static double cost_made(const struct order_graph *g, const struct made *m, double probe)
{
    bool cached = m->in_order || pl_table_cached(m->domain * HD_MAX(1, m->columns) / 8, 0);
    double build = pl_cost_build(g->rates, 0, m->rows, 0);
    if (m->hashed)
        return build + pl_cost_build(g->rates, 0, 0, probe) +
               pl_cost_table(pl_table_cached(m->rows, 0), m->rows + probe);
    return build + (cached ? pl_cost_build(g->rates, 0, 0, probe) : pl_cost_key_index(g->rates, m->domain, probe));
}

static bool comes_by(const struct order_class *c, const struct order_plan *p)
{
    return p->driver >= 0 && c->of[p->driver].there && c->of[p->driver].sorted;
}

/* Looking up each row of p in relation r by one column of it: by a stored index, if there is one. A value that is frequent
 * there, and makes the share `heavy` of p's rows, has more children than others. Children that lie
 * together are near those of the row before, if rows come in their order; else each column that is read is a miss. */
static double cost_index(const struct order_graph *g, const struct order_relation *r, const struct order_column *m,
                         bool in_order, double probe, double found)
{
    double cost = 1e300, each = HD_MAX(m->children, found);
    if (m->key)
        cost = in_order ? pl_cost_build(g->rates, 0, 0, probe) : pl_cost_key_index(g->rates, r->scanned, probe);
    if (m->children < 0)
        return cost;
    double children = pl_cost_foreign_key(g->rates, each, m->scattered, r->columns, probe);
    if (!m->scattered)
        children = in_order ? pl_cost_build(g->rates, 0, 0, probe) + probe * each * g->rates->child
                            : children + pl_cost_foreign_key(g->rates, 1, true, r->columns, probe);
    return HD_MIN(cost, children);
}

struct looking_up {
    double cost;
    bool keeps; /* the order of the rows that look up */
    struct order_sieve sieves[ORDER_SIEVES];
};

/* By columns of several classes: in a table that is sorted by them. */
static double cost_children(const struct order_graph *g, uint64_t between, const struct order_plan *b, double probe)
{
    double cost = 1e300;
    for (int i = 0; i < g->nkeys; i++)
        if (order_of(g->keys[i].relation) == b->set && g->keys[i].children >= 0 &&
            order_within(g->keys[i].classes, between))
            cost = HD_MIN(cost, pl_cost_child(g->keys[i].children, probe));
    return cost;
}

static struct made made_of(const struct order_graph *g, uint64_t between, const struct order_plan *p,
                           const struct order_plan *b)
{
    struct made m = {.domain = b->rows, .rows = b->rows};
    m.hashed = (between & (between - 1)) != 0;
    for (order_set s = b->set; s; s &= s - 1)
        m.columns += g->relations[order_first(s)].columns;
    for (uint64_t s = between; s; s &= s - 1) {
        const struct order_class *c = &g->classes[order_first(s)];
        double distinct, heavy;
        distinct_of(c, b->set, &distinct, &heavy);
        m.domain = HD_MAX(m.domain, distinct);
        m.in_order |= comes_by(c, p);
        m.hashed |= c->of[order_first(c->relations)].hashed;
    }
    return m;
}

/* A hash table by several columns is more work for each row than a bitmap by one of them: of the keys that a part of the
 * other side has, which is scanned or joined once more for that (semi-join reduction: Bernstein and Chiu, JACM 28(1),
 * 1981). What is looked up then are rows with such keys. */
struct sieving {
    const struct order_graph *g;
    uint64_t between, classes; /* that rows are looked up by; those that no sieve is by yet */
    double fixed; /* what tables and sieves cost to make, and rows to be looked up in sieves */
    double left; /* rows that sieves leave */
    order_set set; /* relations of these rows and of sieves, and what samples say of them */
    double sampled;
    int n;
    struct order_sieve sieves[ORDER_SIEVES];
};

/* The relation of part t whose column of class c is a key with few of its values left in t, -1: none; *share: of them. */
static int sieve_key(const struct order_graph *g, const struct order_class *c, const struct order_plan *t,
                     double *share)
{
    static const double few = 0.5;
    int found = -1;
    for (order_set s = t->set & c->relations; s; s &= s - 1) {
        const struct order_column *of = &c->of[order_first(s)];
        double left = t->rows / HD_MAX(1, g->relations[order_first(s)].scanned);
        if (!of->there || !of->key || of->hashed || left > few || !pl_table_cached(of->distinct / 320, 0))
            continue; /* of bits in place of rows of 40 bytes */
        found = order_first(s);
        *share = left;
    }
    return found;
}

/* All of it are tables, which can be scanned once more, and one column is looked up: two would be no bitmap. */
static bool may_sieve(const struct sieving *v, const struct order_plan *t)
{
    bool all = true;
    int columns = 0;
    for (order_set s = t->set; s && all; s &= s - 1)
        all = !v->g->relations[order_first(s)].dependent && v->g->relations[order_first(s)].scanned > 0;
    for (uint64_t s = v->between; s; s &= s - 1)
        columns += (v->g->classes[order_first(s)].relations & t->set) != 0;
    return all && columns == 1;
}

/* With part t as one more sieve, if that costs less than *cost by averages; *next: then, with rows that samples leave. So
 * one that leaves few values comes first, even if these are frequent: their rows come in runs, and processors foresee
 * those. JCC-H's Q20 takes 6.8 ms with its few busy parts first, 8.3 with a fifth of the suppliers first. */
static void try_sieve(const struct sieving *v, const struct order_plan *t, const struct made *m, double *cost,
                      struct sieving *next)
{
    for (uint64_t s = v->classes; s; s &= s - 1) {
        double share;
        int x = sieve_key(v->g, &v->g->classes[order_first(s)], t, &share);
        if (x < 0)
            continue;
        double make =
            pl_cost_sieve(v->left) + (t->left ? t->cost + pl_cost_build(v->g->rates, 0, t->rows, 0)
                                              : pl_cost_build(v->g->rates, v->g->relations[x].scanned, t->rows, 0));
        double with = v->fixed + make + cost_made(v->g, m, HD_MAX(1, v->left * share));
        if (with >= *cost)
            continue;
        *cost = with;
        *next = *v;
        next->classes &= ~((uint64_t)1 << order_first(s));
        next->fixed += make;
        next->set |= t->set;
        next->sampled = sampled_share(v->g, next->set);
        next->left = HD_MAX(1, v->left * HD_MIN(1, share * next->sampled / (v->sampled * t->sampled)));
        next->sieves[next->n++] = (struct order_sieve){t, next->left, next->sampled};
    }
}

static void try_parts(const struct sieving *v, const struct order_plan *t, const struct made *m, double *cost,
                      struct sieving *next)
{
    if (may_sieve(v, t))
        try_sieve(v, t, m, cost, next);
    if (!t->left)
        return;
    try_parts(v, t->left, m, cost, next);
    try_parts(v, t->right, m, cost, next);
}

/* Rows of p go through one sieve after the other, and then to the table of b. */
static void sieve(const struct order_graph *g, uint64_t between, const struct made *m, const struct order_plan *p,
                  const struct order_plan *b, struct looking_up *best)
{
    struct sieving v = {.g = g,
                        .between = between,
                        .classes = between,
                        .fixed = b->cost,
                        .left = p->rows,
                        .set = p->set,
                        .sampled = p->sampled};
    while (v.n < ORDER_SIEVES) {
        struct sieving next = v;
        double averages = best->cost;
        try_parts(&v, b->left, m, &averages, &next);
        try_parts(&v, b->right, m, &averages, &next);
        const double cost = next.fixed + cost_made(g, m, next.left);
        if (next.n == v.n || cost >= best->cost)
            return;
        *best = (struct looking_up){.cost = cost, .keeps = true};
        memcpy(best->sieves, next.sieves, sizeof best->sieves);
        v = next;
    }
}

/* Each row of p is looked up in b, which a table is made of, or which has one. */
static struct looking_up look_up(const struct order_graph *g, uint64_t between, const struct order_plan *p,
                                 const struct order_plan *b, double rows)
{
    struct looking_up best = {.keeps = true};
    struct made m = made_of(g, between, p, b);
    best.cost = b->cost + cost_made(g, &m, p->rows);
    if (!between) /* all pairs */
        best.cost = b->cost + pl_cost_loop(p->rows * b->rows, 1) + pl_cost_build(g->rates, 0, b->rows, p->rows);
    for (uint64_t s = b->left ? 0 : between; s; s &= s - 1) {
        const struct order_class *c = &g->classes[order_first(s)];
        const struct order_column *of = &c->of[order_first(b->set)];
        const struct order_relation *r = &g->relations[order_first(b->set)];
        double distinct, heavy;
        distinct_of(c, p->set, &distinct, &heavy);
        double met = order_sample_met(g, order_first(b->set), p->set) / p->rows;
        double found = HD_MAX(of->heavy * heavy * r->scanned, rows * r->scanned / HD_MAX(1, r->rows) / p->rows);
        double cost = cost_index(g, r, of, comes_by(c, p), p->rows,
                                 met > HD_MAX(1, of->children) * g->rates->sampled ? met : found);
        if (cost < best.cost)
            best = (struct looking_up){.cost = cost, .keeps = of->key || !of->scattered};
    }
    if (!b->left)
        best.cost = HD_MIN(best.cost, cost_children(g, between, b, p->rows));
    if (b->left && (between & (between - 1)))
        sieve(g, between, &m, p, b, &best);
    best.cost += p->cost + pl_cost_scan(g->rates, rows);
    return best;
}

/* The same for a dependent relation. */
static double cost_dependent(const struct order_graph *g, const struct order_plan *p, const struct order_plan *b)
{
    const struct order_relation *r = &g->relations[order_first(b->set)];
    struct made m = {.domain = r->on.there ? r->on.distinct : b->rows, .rows = b->rows, .columns = r->columns};
    m.hashed = !r->on.there || r->on.hashed;
    double build = b->cost + cost_made(g, &m, p->rows);
    return p->cost + (r->on.there ? HD_MIN(build, cost_index(g, r, &r->on, false, p->rows, 0)) : build);
}

/* ---- plans ----------------------------------------------------------------------------------------------------- */

void order_leaf(const struct order_graph *g, int relation, struct order_plan *out)
{
    const struct order_relation *r = &g->relations[relation];
    *out = (struct order_plan){.set = order_of(relation),
                               .rows = r->rows,
                               .cost = r->cost + pl_cost_scan(g->rates, r->scanned),
                               .driver = relation,
                               .sampled = 1};
}

/* Rows that must not be joined: a dependent relation, alone. */
static bool waits(const struct order_graph *g, const struct order_plan *p)
{
    return !p->left && g->relations[order_first(p->set)].dependent;
}

static bool join_dependent(const struct order_graph *g, const struct order_plan *a, const struct order_plan *b,
                           struct order_plan *out)
{
    const struct order_relation *r = &g->relations[order_first(b->set)];
    if (!order_within(r->needs, a->set))
        return false;
    double rows = HD_MAX(1, a->rows * r->share * conditions_share(g, a->set, b->set));
    *out = (struct order_plan){.set = a->set | b->set,
                               .rows = rows,
                               .cost = cost_dependent(g, a, b),
                               .driver = a->driver,
                               .left = a,
                               .right = b,
                               .sampled = a->sampled};
    return true;
}

bool order_join(const struct order_graph *g, const struct order_plan *a, const struct order_plan *b,
                struct order_plan *out)
{
    if (waits(g, a))
        return !waits(g, b) && join_dependent(g, b, a, out);
    if (waits(g, b))
        return join_dependent(g, a, b, out);
    uint64_t between = classes_between(g, a->set, b->set);
    double share = equal_share(g, between, a->set, b->set) * conditions_share(g, a->set, b->set);
    share *= dropped_twice(g, a->set, b->set) * dropped_twice(g, b->set, a->set);
    double sampled = sampled_share(g, a->set | b->set);
    double rows = HD_MAX(1, a->rows * b->rows * HD_MIN(1, share * sampled / (a->sampled * b->sampled)));
    struct looking_up l = look_up(g, between, a, b, rows), r = look_up(g, between, b, a, rows);
    const struct order_plan *through = r.cost < l.cost ? b : a;
    struct looking_up *best = r.cost < l.cost ? &r : &l;
    *out = (struct order_plan){.set = a->set | b->set,
                               .rows = rows,
                               .cost = best->cost,
                               .driver = best->keeps ? through->driver : -1,
                               .left = through,
                               .right = through == a ? b : a,
                               .sampled = sampled};
    memcpy(out->sieves, best->sieves, sizeof out->sieves);
    return true;
}
