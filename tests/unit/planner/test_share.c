/* Which subplans are found to give the same rows, and which are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "planner/share_match.h"
#include "planner_fixture.h"
#include "runtime/base/util.h"

#define SCAN(t, a)            "{'op':'scan','table':'" t "','alias':'" a "'}"
#define WHERE(t, a, f)        "{'op':'scan','table':'" t "','alias':'" a "','filter':'" f "'}"
#define JOIN(k, l, r, on)     "{'op':'join','kind':'" k "','left':" l ",'right':" r ",'on':[" on "]}"
#define GROUP(keys, aggs, in) "{'op':'aggregate','keys':[" keys "],'aggs':[" aggs "],'input':" in "}"
#define AGG(fn, arg, as)      "{'fn':'" fn "','arg':'" arg "','as':'" as "'}"

#define ON(c, p)       "['" c ".pid','" p ".id']"
#define CHILD_OF(c, p) JOIN("inner", SCAN("child", c), SCAN("parent", p), ON(c, p))
#define OF_CHILD(c, p) JOIN("inner", SCAN("parent", p), SCAN("child", c), "['" p ".id','" c ".pid']")
#define FEW(c, p)      JOIN("inner", WHERE("child", c, c ".qty < 9"), SCAN("parent", p), ON(c, p))
#define PAIR(k, c, p)  JOIN(k, SCAN("child", c), WHERE("parent", p, p ".grp = 1"), ON(c, p))

enum found { NONE, SAME, REST, COARSER };

static const struct pair {
    const char *x, *y;
    enum found found;
} pairs[] = {
    {CHILD_OF("a", "b"), CHILD_OF("c", "d"), SAME},
    {CHILD_OF("a", "b"), OF_CHILD("c", "d"), SAME}, /* whichever side */
    {FEW("a", "b"), FEW("c", "d"), SAME},
    {CHILD_OF("a", "b"), FEW("c", "d"), REST},
    {FEW("a", "b"), CHILD_OF("c", "d"), NONE}, /* the second has more rows */
    {FEW("a", "b"), JOIN("inner", WHERE("child", "c", "c.qty < 10"), SCAN("parent", "d"), ON("c", "d")), NONE},
    /* other columns, other keys */
    {CHILD_OF("a", "b"), JOIN("inner", SCAN("child", "c"), SCAN("parent", "d"), "['c.oid','d.id']"), NONE},
    /* an equality that follows from others */
    {JOIN("inner", CHILD_OF("a", "b"), SCAN("tiny", "t"), "['b.id','t.k']"),
     JOIN("inner", CHILD_OF("c", "d"), SCAN("tiny", "u"), "['c.pid','u.k']"), SAME},
    {JOIN("inner", CHILD_OF("a", "b"), SCAN("tiny", "t"), "['b.id','t.k']"),
     JOIN("inner", CHILD_OF("c", "d"), SCAN("tiny", "u"), "['c.qty','u.k']"), NONE},
    /* two of one table */
    {JOIN("inner", FEW("a", "b"), SCAN("child", "t"), "['a.qty','t.qty']"),
     JOIN("inner", SCAN("child", "u"), FEW("c", "d"), "['u.qty','c.qty']"), SAME},
    /* kinds of joins */
    {PAIR("semi", "a", "b"), PAIR("semi", "c", "d"), SAME},
    {PAIR("left", "a", "b"), PAIR("left", "c", "d"), SAME},
    {PAIR("anti", "a", "b"), PAIR("anti", "c", "d"), SAME},
    {PAIR("semi", "a", "b"), PAIR("anti", "c", "d"), NONE},
    {PAIR("left", "a", "b"), PAIR("inner", "c", "d"), NONE},
    {PAIR("left", "a", "b"), PAIR("right", "c", "d"), NONE},
    {PAIR("left", "a", "b"), PAIR("full", "c", "d"), NONE},
    {PAIR("semi", "a", "b"), JOIN("semi", SCAN("child", "c"), WHERE("parent", "d", "d.grp = 2"), ON("c", "d")), NONE},
    /* what may raise */
    {JOIN("inner", WHERE("child", "a", "7 / a.qty > 1"), SCAN("parent", "b"), ON("a", "b")),
     JOIN("inner", WHERE("child", "c", "7 / c.qty > 1"), SCAN("parent", "d"), ON("c", "d")), NONE},
    /* groupings */
    {GROUP("'b.grp'", AGG("sum", "a.qty", "s"), CHILD_OF("a", "b")),
     GROUP("'d.grp'", AGG("min", "c.oid", "m"), OF_CHILD("c", "d")), SAME},
    {GROUP("'b.grp','a.tag'", AGG("sum", "a.qty", "s"), CHILD_OF("a", "b")),
     GROUP("'c.tag','d.grp'", AGG("sum", "c.qty", "t"), CHILD_OF("c", "d")), SAME},
    {GROUP("'b.grp','a.tag'", AGG("sum", "a.qty", "s"), CHILD_OF("a", "b")),
     GROUP("'d.grp'", AGG("sum", "c.qty", "t"), CHILD_OF("c", "d")), COARSER},
    {GROUP("'b.grp'", AGG("sum", "a.qty", "s"), CHILD_OF("a", "b")),
     GROUP("", AGG("max", "c.qty", "t"), CHILD_OF("c", "d")), COARSER},
    {GROUP("'b.grp'", AGG("sum", "a.qty", "s"), CHILD_OF("a", "b")),
     GROUP("", AGG("bit_xor", "c.qty", "t"), CHILD_OF("c", "d")), COARSER},
    /* averages do not add up; other rows, other keys */
    {GROUP("'b.grp'", AGG("sum", "a.qty", "s"), CHILD_OF("a", "b")),
     GROUP("", AGG("avg", "c.qty", "t"), CHILD_OF("c", "d")), NONE},
    {GROUP("'b.grp'", AGG("sum", "a.qty", "s"), CHILD_OF("a", "b")),
     GROUP("", AGG("approx_count_distinct", "c.qty", "t"), CHILD_OF("c", "d")), NONE},
    {GROUP("'b.grp'", AGG("sum", "a.qty", "s"), CHILD_OF("a", "b")),
     GROUP("'d.name'", AGG("sum", "c.qty", "t"), CHILD_OF("c", "d")), NONE},
    {GROUP("'b.grp'", AGG("sum", "a.qty", "s"), CHILD_OF("a", "b")),
     GROUP("'d.grp'", AGG("sum", "c.qty", "t"), FEW("c", "d")), NONE},
    {GROUP("", AGG("sum", "a.qty", "s"), CHILD_OF("a", "b")),
     GROUP("'d.grp'", AGG("sum", "c.qty", "t"), CHILD_OF("c", "d")), NONE},
};

static enum found found(const struct share_match *m)
{
    return m->coarser ? COARSER : m->rest ? REST : SAME;
}

static void rows_that_are_the_same_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < HD_COUNT(pairs); i++) {
        struct hd_arena a;
        hd_arena_init(&a);
        const struct fe_plan *x = px_read(&a, pairs[i].x), *y = px_read(&a, pairs[i].y);
        struct ctx *c = px_ctx(&a, x);
        struct share_match m;
        const bool like = share_match(c, x->root, y->root, false, &m);
        if (like != (pairs[i].found != NONE) || (like && found(&m) != pairs[i].found))
            fail_msg("pair %zu: %s\n%s", i, pairs[i].x, pairs[i].y);
        if (like && m.coarser)
            assert_true(m.coarser->u.agg.merges);
        for (int k = 0; like && !m.coarser && k < y->root->ncols; k++) {
            assert_true(hd_type_eq(m.of[1][k]->type, y->root->cols[k].type));
            assert_int_equal(m.of[1][k]->nullable, y->root->cols[k].nullable);
        }
        /* as inputs of something larger they must be the same rows */
        assert_int_equal(share_match(c, x->root, y->root, true, &m), pairs[i].found == SAME);
        hd_arena_release(&a);
    }
}

/* Parameters are told apart by which they are, not by their values. */
static void parameters_are_told_apart(void **state)
{
    (void)state;
    struct hd_arena a;
    hd_arena_init(&a);
    const struct fe_plan *x = px_read(&a, FEW("a", "b")), *y = px_read(&a, FEW("c", "d"));
    struct fe_expr *p[2] = {x->root->inputs[0]->u.scan.filter->args[1], y->root->inputs[0]->u.scan.filter->args[1]};
    struct ctx *c = px_ctx(&a, x);
    struct share_match m;
    for (int i = 0; i < 2; i++) {
        p[i]->op = FE_PARAM;
        p[i]->param = 0;
    }
    assert_true(share_match(c, x->root, y->root, true, &m));
    p[1]->param = 1;
    assert_false(share_match(c, x->root, y->root, true, &m));
    p[1]->op = FE_LIT;
    assert_false(share_match(c, x->root, y->root, true, &m));
    hd_arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_the_same_are_found),
        cmocka_unit_test(parameters_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
