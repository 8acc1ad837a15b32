/* The search for a join order: pairs of sets as the paper counts them, trees that cost what the cheapest of all trees
 * does, and what greedy ones must keep to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "planner/cost.h"
#include "planner/order_search.h"

static struct hd_arena arena;
static uint64_t random_state;

static int set_up(void **state)
{
    (void)state;
    hd_arena_init(&arena);
    random_state = 7;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hd_arena_release(&arena);
    return 0;
}

static int draw(int n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random_state >> 33) % (uint64_t)n);
}

/* ---- graphs --------------------------------------------------------------------------------------------------- */

enum { RELATIONS = 24, EDGES = 128 };

static struct order_graph *new_graph(int n)
{
    struct order_graph *g = HD_NEW(&arena, struct order_graph);
    g->rates = pl_rates(false);
    g->nrelations = n;
    g->relations = HD_NEWN(&arena, struct order_relation, RELATIONS);
    g->classes = HD_NEWN(&arena, struct order_class, EDGES);
    g->conditions = HD_NEWN(&arena, struct order_condition, EDGES);
    g->keys = HD_NEWN(&arena, struct order_key, EDGES);
    for (int i = 0; i < n; i++) {
        double rows = 1000.0 * (1 + draw(100000));
        g->relations[i] =
            (struct order_relation){.rows = rows, .scanned = rows * (1 + draw(9)), .columns = 1 + draw(4)};
        g->relations[i].on.children = -1;
    }
    return g;
}

static struct order_column column(void)
{
    struct order_column c = {.there = true, .distinct = 10.0 * (1 + draw(100)), .children = -1, .sorted = draw(4) == 0};
    if (draw(4) == 0) {
        c.children = draw(20);
        c.scattered = draw(2);
    }
    c.key = draw(4) == 0;
    return c;
}

static void edge(struct order_graph *g, int a, int b)
{
    struct order_class *c = &g->classes[g->nclasses++];
    c->relations = order_of(a) | order_of(b);
    c->of = HD_NEWN(&arena, struct order_column, RELATIONS);
    c->of[a] = column();
    c->of[b] = column();
}

static struct order_graph *chain(int n)
{
    struct order_graph *g = new_graph(n);
    for (int i = 1; i < n; i++)
        edge(g, i - 1, i);
    order_connect(&arena, g);
    return g;
}

static struct order_graph *cycle(int n)
{
    struct order_graph *g = chain(n);
    edge(g, 0, n - 1);
    order_connect(&arena, g);
    return g;
}

static struct order_graph *star(int n)
{
    struct order_graph *g = new_graph(n);
    for (int i = 1; i < n; i++)
        edge(g, 0, i);
    order_connect(&arena, g);
    return g;
}

static struct order_graph *clique(int n)
{
    struct order_graph *g = new_graph(n);
    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++)
            edge(g, k, i);
    order_connect(&arena, g);
    return g;
}

/* A tree of edges with some more, and some relations that need others. */
static struct order_graph *any(int n)
{
    struct order_graph *g = new_graph(n);
    for (int i = 1; i < n; i++) {
        int to = draw(i);
        g->relations[i].dependent = i > 1 && draw(5) == 0;
        g->relations[i].share = 0.5;
        for (g->relations[i].needs = order_of(to); g->relations[i].dependent && draw(2);)
            g->relations[i].needs |= order_of(draw(i));
        if (!g->relations[i].dependent) {
            g->relations[i].needs = 0;
            while (g->relations[to].dependent)
                to = draw(i);
            edge(g, to, i);
            if (draw(3) == 0 && !g->relations[to = draw(i)].dependent)
                edge(g, to, i);
        }
    }
    order_connect(&arena, g);
    return g;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------ */

static int pairs_of(const struct order_graph *g)
{
    return order_search(&arena, g).pairs;
}

/* Moerkotte and Neumann, VLDB 2006, section 2.3. */
static void pairs_are_as_many_as_there_are(void **state)
{
    (void)state;
    for (int n = 2; n <= 10; n++) {
        int three = 1;
        for (int i = 0; i < n; i++)
            three *= 3;
        assert_int_equal(pairs_of(chain(n)), (n * n * n - n) / 6);
        assert_int_equal(pairs_of(star(n)), (n - 1) * (1 << (n - 2)));
        assert_int_equal(pairs_of(clique(n)), (three - (1 << (n + 1)) + 1) / 2);
        if (n > 2)
            assert_int_equal(pairs_of(cycle(n)), (n * n * n - 2 * n * n + n) / 2);
    }
}

/* ---- trees ------------------------------------------------------------------------------------------------------- */

static bool is_connected(const struct order_graph *g, order_set a, order_set b)
{
    bool found = false;
    for (; a; a &= a - 1)
        found |= (g->neighbours[order_first(a)] & b) != 0;
    return found;
}

/* The cheapest tree over s of all there are without cross products, by trying each split of each set. */
static struct order_plan *cheapest(const struct order_graph *g, order_set s, struct order_plan **known)
{
    if (known[s])
        return known[s];
    struct order_plan *best = known[s] = HD_NEW(&arena, struct order_plan), p;
    if (!(s & (s - 1)))
        order_leaf(g, order_first(s), best);
    for (order_set a = (s - 1) & s; a; a = (a - 1) & s) {
        struct order_plan *x = cheapest(g, a, known), *y = cheapest(g, s & ~a, known);
        if (x->set && y->set && is_connected(g, a, s & ~a) && order_join(g, x, y, &p) &&
            (!best->set || p.cost < best->cost))
            *best = p;
    }
    return best;
}

static void check_tree(const struct order_graph *g, const struct order_plan *p, order_set of)
{
    assert_int_equal(p->set, of);
    if (!p->left)
        return;
    assert_int_equal(p->left->set & p->right->set, 0);
    const struct order_relation *r = &g->relations[order_first(p->right->set)];
    if (!p->right->left && r->dependent)
        assert_true(order_within(r->needs, p->left->set));
    assert_true(p->left->left || !g->relations[order_first(p->left->set)].dependent);
    check_tree(g, p->left, p->left->set);
    check_tree(g, p->right, p->right->set);
}

static void the_cheapest_of_all_trees_is_found(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct order_graph *g = any(2 + draw(6));
        order_set all = order_of(g->nrelations) - 1;
        struct order_found f = order_search(&arena, g);
        struct order_plan *best = cheapest(g, all, HD_NEWN(&arena, struct order_plan *, all + 1));
        check_tree(g, f.best, all);
        if (best->set) {
            assert_true(f.exact);
            assert_true(f.best->cost <= best->cost * (1 + 1e-9) && f.best->cost >= best->cost * (1 - 1e-9));
        }
        hd_arena_release(&arena);
        hd_arena_init(&arena);
    }
}

static void many_relations_are_joined_greedily(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct order_graph *g = any(ORDER_EXACT + 1 + draw(RELATIONS - ORDER_EXACT - 1));
        struct order_found f = order_search(&arena, g);
        assert_false(f.exact);
        check_tree(g, f.best, order_of(g->nrelations) - 1);
    }
}

static void parts_without_a_connection_are_joined_as_well(void **state)
{
    (void)state;
    struct order_graph *g = new_graph(5);
    edge(g, 0, 1);
    edge(g, 2, 3);
    order_connect(&arena, g);
    check_tree(g, order_search(&arena, g).best, order_of(5) - 1);
}

/* A filtered dimension first: it leaves fewest rows for the others. */
static void a_star_begins_with_what_filters_most(void **state)
{
    (void)state;
    struct order_graph *g = new_graph(4);
    g->relations[0] = (struct order_relation){.rows = 1e7, .scanned = 1e7, .columns = 1};
    for (int i = 1; i < 4; i++) {
        g->relations[i] = (struct order_relation){.rows = i == 2 ? 10 : 1e4, .scanned = 1e4, .columns = 1};
        edge(g, 0, i);
        g->classes[i - 1].of[0] = g->classes[i - 1].of[i] =
            (struct order_column){.there = true, .distinct = 1e4, .children = -1};
    }
    order_connect(&arena, g);
    const struct order_plan *p = order_search(&arena, g).best;
    while (p->left->left)
        p = p->left;
    assert_int_equal(p->set, order_of(0) | order_of(2));
    assert_int_equal(p->driver, 0);
}

/* ---- samples ------------------------------------------------------------------------------------------------------ */

/* 100 rows of a fact, which refers to tables 1 and 2, each of which filters leave a tenth. */
static struct order_graph *sampled(int both, int first, int second)
{
    struct order_graph *g = new_graph(3);
    static order_set sets[4];
    static int counts[4];
    g->relations[0] = (struct order_relation){.rows = 1e6, .scanned = 1e6, .columns = 1};
    for (int i = 1; i < 3; i++) {
        g->relations[i] = (struct order_relation){.rows = 100, .scanned = 1000, .columns = 1};
        edge(g, 0, i);
        g->classes[i - 1].of[0] = (struct order_column){.there = true, .distinct = 1000, .children = -1};
        g->classes[i - 1].of[i] = (struct order_column){.there = true, .distinct = 1000, .children = -1, .key = true};
    }
    for (int i = 0; i < 4; i++) {
        sets[i] = order_of(0) | (order_set)i << 1;
        counts[i] = (int[]){100 - both - first - second, first, second, both}[i];
    }
    g->samples = HD_NEW(&arena, struct order_sample);
    *g->samples =
        (struct order_sample){.relation = 0, .size = 100, .of = 7, .nsets = 4, .sets = sets, .counts = counts};
    g->nsamples = 1;
    order_connect(&arena, g);
    return g;
}

static double rows_joined(const struct order_graph *g, int a, int b, int c)
{
    struct order_plan l[3], two, all;
    for (int i = 0; i < 3; i++)
        order_leaf(g, i, &l[i]);
    assert_true(order_join(g, &l[a], &l[b], &two) && order_join(g, &two, &l[c], &all));
    return all.rows;
}

static void rows_are_as_many_as_in_a_sample(void **state)
{
    (void)state;
    struct order_graph *g = sampled(30, 10, 0); /* 40 find table 1, 30 table 2, 30 both */
    struct order_plan fact, first, two;
    order_leaf(g, 0, &fact);
    order_leaf(g, 1, &first);
    assert_true(order_join(g, &fact, &first, &two));
    assert_true(fabs(two.rows - 0.4 * 1e6) < 1);
    assert_true(fabs(rows_joined(g, 0, 1, 2) - 0.3 * 1e6) < 1);
    assert_true(fabs(rows_joined(g, 0, 2, 1) - 0.3 * 1e6) < 1); /* whatever the tree */
    g = sampled(0, 1, 1); /* ten were expected of each, and one of both, of which a sample of 100 says nothing */
    assert_true(fabs(rows_joined(g, 0, 1, 2) - 0.01 * 1e6) < 1);
}

/* Facts (0) with two columns that offers (2) have, too; part (1) has one as its key, supplier (3), of a nation (4), the
 * other. */
static struct order_graph *offers(void)
{
    struct order_graph *g = new_graph(5);
    const struct order_column key = {.there = true, .distinct = 1e5, .children = -1, .key = true};
    g->relations[0] = (struct order_relation){.rows = 1e7, .scanned = 1e7, .columns = 2};
    g->relations[1] = (struct order_relation){.rows = 1e3, .scanned = 1e5, .columns = 1};
    g->relations[2] = (struct order_relation){.rows = 4e5, .scanned = 4e5, .columns = 3};
    g->relations[3] = (struct order_relation){.rows = 1e4, .scanned = 1e4, .columns = 1};
    g->relations[4] = (struct order_relation){.rows = 1, .scanned = 25, .columns = 1};
    for (int i = 0; i < 2; i++) {
        edge(g, 0, 2);
        struct order_class *c = &g->classes[i];
        c->of[0] = (struct order_column){.there = true, .distinct = i ? 1e4 : 1e5, .children = -1};
        c->of[2] = c->of[0];
        c->relations |= order_of(i ? 3 : 1);
        c->of[i ? 3 : 1] = key;
    }
    g->classes[0].of[2].children = 4;
    g->classes[1].of[3].distinct = 1e4;
    edge(g, 3, 4);
    g->classes[2].of[3] = (struct order_column){.there = true, .distinct = 25, .children = -1};
    g->classes[2].of[4] = (struct order_column){.there = true, .distinct = 25, .children = -1, .key = true};
    return g;
}

/* (facts ((part offers) (supplier nation))) */
static struct order_plan all_joined(const struct order_graph *g)
{
    struct order_plan *x = HD_NEWN(&arena, struct order_plan, 8), all;
    for (int i = 0; i < 5; i++)
        order_leaf(g, i, &x[i]);
    assert_true(order_join(g, &x[1], &x[2], &x[5]) && order_join(g, &x[3], &x[4], &x[6]));
    assert_true(order_join(g, &x[5], &x[6], &x[7]) && order_join(g, &x[0], &x[7], &all));
    assert_int_equal(all.left->set, order_of(0));
    return all;
}

static order_set sieve(struct order_plan p, int i)
{
    return p.sieves[i].by ? p.sieves[i].by->set : 0;
}

/* A hash table by two columns is looked up for rows that bitmaps of one column's keys leave: of a table's filter, and of
 * tables that are joined. */
static void rows_are_sieved_before_a_table_of_two_columns(void **state)
{
    (void)state;
    struct order_plan p = all_joined(offers());
    assert_int_equal(sieve(p, 0), order_of(1)); /* a hundredth of the keys, before a 25th */
    assert_int_equal(sieve(p, 1), order_of(3) | order_of(4));
    assert_true(fabs(p.sieves[0].rows - 1e5) < 1 && fabs(p.sieves[1].rows - 4e3) < 1);
    struct order_graph *g = offers();
    g->relations[1].rows = 1e5; /* it has no filter: a bitmap would leave all */
    p = all_joined(g);
    assert_int_equal(sieve(p, 0), order_of(3) | order_of(4));
    assert_int_equal(sieve(p, 1), 0);
    g->relations[4].rows = 25;
    assert_int_equal(sieve(all_joined(g), 0), 0);
    g = offers();
    g->relations[3].scanned = 0; /* no table: it is not made twice */
    assert_int_equal(sieve(all_joined(g), 1), 0);
}

/* Part's few keys are those of half the facts, as a sample of these says. */
static void a_sieve_leaves_rows_as_in_a_sample(void **state)
{
    static order_set sets[] = {1 | 2 | 8 | 16, 1 | 2, 1};
    static int counts[] = {20, 480, 500};
    (void)state;
    struct order_graph *g = offers();
    g->samples = HD_NEWN(&arena, struct order_sample, 1);
    g->samples[0] = (struct order_sample){
        .relation = 0, .size = 1000, .of = 1 | 2 | 8 | 16, .nsets = 3, .sets = sets, .counts = counts};
    g->nsamples = 1;
    struct order_plan p = all_joined(g);
    assert_int_equal(sieve(p, 0), order_of(1));
    assert_true(fabs(p.sieves[0].rows - 5e6) < 1);
    assert_int_equal(sieve(p, 1), order_of(3) | order_of(4));
    assert_true(fabs(p.sieves[1].rows - 2e5) < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pairs_are_as_many_as_there_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_cheapest_of_all_trees_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_relations_are_joined_greedily, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_without_a_connection_are_joined_as_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_star_begins_with_what_filters_most, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_are_as_many_as_in_a_sample, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_are_sieved_before_a_table_of_two_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sieve_leaves_rows_as_in_a_sample, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
