/* What facts and limits make of a plan: dictionary maps, tables of joins, places of groups, and where a pipeline is
 * cut because it becomes too deep or too wide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "runtime/base/strbuf.h"
#include "tests/unit/planner/planner_fixture.h"

static struct pl_program *planned(const char *root)
{
    struct pl_options o = {.threads = 4};
    struct pl_program *g = px_plan(&px_arena, root, &o);
    const char *broken = pl_check(g);
    if (broken)
        fail_msg("%s", broken);
    return g;
}

static int states_of(const struct pl_program *g, enum rt_state_kind kind)
{
    int n = 0;
    for (int i = 0; i < g->spec->nstates; i++)
        n += g->spec->states[i].kind == kind;
    return n;
}

static int steps_of(const struct pl_program *g, enum pl_step_kind kind)
{
    int n = 0;
    for (int i = 0; i < g->npipelines; i++)
        for (int k = 0; k < g->pipelines[i].nsteps; k++)
            n += g->pipelines[i].steps[k].kind == kind;
    return n;
}

static const struct rt_state *state_of(const struct pl_program *g, enum rt_state_kind kind)
{
    for (int i = 0; i < g->spec->nstates; i++)
        if (g->spec->states[i].kind == kind)
            return &g->spec->states[i];
    fail_msg("no state of kind %s", rt_state_kind_name(kind));
    return NULL;
}

static int maps_of(const char *filter)
{
    return states_of(planned(hd_asprintf(&px_arena, "{'op': 'scan', 'table': 'parent', 'filter': '%s'}", filter)),
                     RT_STATE_ARRAY);
}

/* Text work over one dictionary column runs once per entry, equal expressions once. */
static void text_work_becomes_a_map(void **state)
{
    (void)state;
    assert_int_equal(maps_of("name like `%l%`"), 1);
    assert_int_equal(maps_of("name like `%l%` or grp = 1 and name like `%l%`"), 1);
    assert_int_equal(maps_of("name like `%l%` and name like `g%`"), 2);
    assert_int_equal(maps_of("substring(name, 1, 2) = `go`"), 1);
    assert_int_equal(maps_of("name = `gold`"), 0);                     /* codes compare */
    assert_int_equal(maps_of("note like `%l%`"), 0);                   /* no dictionary */
    assert_int_equal(maps_of("cast(name as int64) = 1"), 0);           /* it may raise */
    assert_int_equal(maps_of("coalesce(name, `x`) like `%l%`"), 0);    /* not NULL for NULL */
    assert_int_equal(maps_of("substring(name, 1, grp) = `go`"), 0);    /* two columns */
    const struct rt_state *map =
        state_of(planned("{'op': 'scan', 'table': 'parent', 'filter': 'name like `%l%`'}"), RT_STATE_ARRAY);
    assert_int_equal(map->range, 4);
    assert_int_equal(map->fields[0].phys, RT_BOOL);
}

static struct pl_program *joined(const char *kind, const char *left, const char *l, const char *right, const char *r,
                                 const char *strategy, const char *columns)
{
    return planned(
        hd_asprintf(&px_arena,
                    "{'op': 'project', 'exprs': [%s], 'input': {'op': 'join', 'kind': '%s', 'build': "
                    "'right', 'strategy': '%s', 'on': [['%s', '%s']], 'left': {'op': 'scan', 'table': '%s'}, "
                    "'right': {'op': 'scan', 'table': '%s'}}}",
                    columns, kind, strategy, l, r, left, right));
}

static void tables_of_joins_follow_from_ranges(void **state)
{
    (void)state;
    struct pl_program *g = joined("semi", "child", "oid", "tiny", "k", "auto", "'cid'");
    assert_int_equal(state_of(g, RT_STATE_BITMAP)->range, 100); /* tiny.k is 0..99 */
    g = joined("inner", "child", "qty", "tiny", "k", "auto", "'cid', 'f'");
    assert_int_equal(state_of(g, RT_STATE_DIRECT)->range, 100); /* unique, f is fetched */
    g = joined("inner", "parent", "id", "tiny", "v", "auto", "'id', 'f'");
    assert_int_equal(state_of(g, RT_STATE_CSR)->range, 10); /* ten rows a key */
    g = joined("inner", "child", "wide", "many", "c0", "auto", "'cid'");
    assert_int_equal(states_of(g, RT_STATE_HASH), 1); /* no range is known */
    /* A declared foreign key finds its parent without a table. */
    g = joined("inner", "child", "oid", "parent", "id", "index", "'cid', 'amount'");
    assert_int_equal(steps_of(g, PL_STEP_PROBE_KEY), 1);
    assert_int_equal(g->spec->nstates, 1);
    /* Where nobody asks for the parent, every child has one: nothing is looked up. */
    g = joined("inner", "child", "oid", "parent", "id", "index", "'cid'");
    assert_int_equal(steps_of(g, PL_STEP_PROBE_KEY), 0);
}

static struct pl_program *grouped(const char *keys, const char *table)
{
    return planned(
        hd_asprintf(&px_arena,
                    "{'op': 'aggregate', 'keys': [%s], 'aggs': [{'fn': 'count', 'as': 'n'}], 'input': {'op': "
                    "'scan', 'table': '%s'}}",
                    keys, table));
}

static void groups_are_addressed_where_ranges_are_small(void **state)
{
    (void)state;
    assert_int_equal(state_of(grouped("'grp'", "parent"), RT_STATE_AGG_DENSE)->range, 11); /* 0..9 and NULL */
    assert_int_equal(state_of(grouped("'grp', 'name'", "parent"), RT_STATE_AGG_DENSE)->range, 44);
    assert_int_equal(state_of(grouped("'tag'", "child"), RT_STATE_AGG_DENSE)->range, 4); /* 3 codes and NULL */
    assert_int_equal(states_of(grouped("'note'", "parent"), RT_STATE_AGG_HASH), 1);
    assert_int_equal(states_of(grouped("", "parent"), RT_STATE_AGG_SCALAR), 1);
    /* A key that others determine is no key: parent.id has 10,000 values. */
    struct pl_program *g = grouped("'id', 'note', 'grp'", "parent");
    assert_int_equal(state_of(g, RT_STATE_AGG_DENSE)->range, 10000);
    assert_int_equal(state_of(g, RT_STATE_AGG_DENSE)->nfields, 1); /* both come back by a lookup */
    assert_int_equal(steps_of(g, PL_STEP_PROBE_KEY), 1);
}

/* n joins, each of which finds up to ten rows for one: a level each. */
static struct pl_program *deep(int n)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    hd_strbuf_adds(&b, "{'op': 'project', 'exprs': ['t0.v'], 'input': ");
    for (int i = n; i > 0; i--)
        hd_strbuf_addf(&b,
                       "{'op': 'join', 'kind': 'inner', 'build': 'right', 'strategy': 'hash', 'on': [['t0.v', "
                       "'t%d.v']], 'right': {'op': 'scan', 'table': 'tiny', 'alias': 't%d'}, 'left': ",
                       i, i);
    hd_strbuf_adds(&b, "{'op': 'scan', 'table': 'tiny', 'alias': 't0'}");
    for (int i = 0; i <= n; i++)
        hd_strbuf_addc(&b, '}');
    struct pl_program *g = planned(b.s);
    hd_strbuf_release(&b);
    return g;
}

static int max_levels(const struct pl_program *g)
{
    int max = 0;
    for (int i = 0; i < g->npipelines; i++)
        max = HD_MAX(max, g->pipelines[i].nlevels);
    return max;
}

/* Of four warps each has a head, 32 + 16 + 8 * 64 bytes, and 64 tuples: 4 * (560 + 64 * 8) = 4,288 bytes. */
static void a_queue_has_a_head_and_tuples(void **state)
{
    (void)state;
    assert_int_equal(pl_queue_bytes(8, 4), 4288);
    assert_int_equal(pl_queue_bytes(260, 4), 68800); /* 4 * (560 + 64 * 260) */
}

/* Sixteen levels, the source's among them. A deeper nest is cut in two, and its rows are kept between. */
static void deep_nests_are_cut(void **state)
{
    (void)state;
    struct pl_program *g = deep(15);
    assert_int_equal(max_levels(g), RT_MAX_LEVELS);
    assert_int_equal(states_of(g, RT_STATE_ROWS), 1);
    g = deep(16);
    assert_int_equal(states_of(g, RT_STATE_ROWS), 2); /* rows between and the result */
    assert_true(max_levels(g) <= RT_MAX_LEVELS);
    assert_int_equal(steps_of(g, PL_STEP_EXPAND_HASH), 16);
}

/* A level's tuple keeps 256 bytes at most; columns beyond are loaded again from their row. */
static void wide_levels_carry_rows(void **state)
{
    (void)state;
    static const char from[] =
        "{'op': 'sort', 'keys': ['v'], 'input': {'op': 'join', 'kind': 'inner', 'build': 'right', "
        "'strategy': 'hash', 'on': [['c0', 'v']], 'left': {'op': 'scan', 'table': 'many', "
        "'filter': '%s'}, 'right': {'op': 'scan', 'table': 'tiny'}}}";
    struct hd_strbuf filter;
    hd_strbuf_init(&filter);
    for (int i = 0; i < 40; i++)
        hd_strbuf_addf(&filter, "%sc%d > 0", i ? " and " : "", i);
    struct pl_program *g = planned(hd_asprintf(&px_arena, from, filter.s));
    for (int i = 0; i < g->npipelines; i++)
        for (int l = 1; l < g->pipelines[i].nlevels; l++)
            assert_true(g->pipelines[i].levels[l].tuple_bytes <= 256);
    assert_int_equal(max_levels(g), 2);
    /* Each of the 40 columns for its filter, and again for the result; tiny's three once. */
    assert_int_equal(steps_of(g, PL_STEP_LOAD_COLUMN), 80 + 3);
    hd_strbuf_release(&filter);
}

/* Rows of the source that a thread of a GPU holds; 0: no pipeline loops over pairs. */
static int rows_of_loop(const char *left, const char *right, const char *residual)
{
    const struct pl_program *g =
        planned(hd_asprintf(&px_arena,
                            "{'op': 'aggregate', 'aggs': [{'fn': 'count', 'as': 'n'}], "
                            "'input': {'op': 'join', 'kind': 'inner', 'strategy': 'loop', 'residual': "
                            "'%s', 'left': %s, 'right': %s}}",
                            residual, left, right));
    for (int i = 0; i < g->npipelines; i++)
        if (g->pipelines[i].loop.rows)
            return g->pipelines[i].loop.rows;
    return 0;
}

static void pairs_are_looped_over_where_both_sides_have_rows(void **state)
{
    (void)state;
    const char *child = "{'op': 'scan', 'table': 'child'}", *parent = "{'op': 'scan', 'table': 'parent'}";
    const char *few = "{'op': 'scan', 'table': 'parent', 'filter': 'id < 9'}";
    assert_int_equal(rows_of_loop(child, parent, "qty > amount"), 8);
    assert_int_equal(rows_of_loop(child, few, "qty > id"), 0);
    assert_int_equal(rows_of_loop(few, child, "qty > id"), 0);
    /* A thread would make the string again for each task and pair. */
    assert_int_equal(rows_of_loop(child, parent, "cast(qty as string) > name"), 0);
}

/* Steps of the tile of the scan of `child`, whose rows look parents up. */
static struct pl_tile_steps tile_of_probe(const char *kind, const char *filter, bool gpu)
{
    const struct pl_program *g = planned(hd_asprintf(
        &px_arena,
        "{'op': 'aggregate', 'aggs': [{'fn': 'sum', 'arg': 'cid', 'as': 's'}], 'input': {'op': "
        "'join', 'kind': '%s', %s'strategy': 'direct', 'build': 'right', 'on': [['oid', 'id']], "
        "'left': {'op': 'scan', 'table': 'child'}, 'right': {'op': 'scan', 'table': 'parent', 'filter': '%s'}}}",
        kind, strcmp(kind, "mark") == 0 ? "'mark': 'm', " : "", filter));
    const struct pl_pipeline *q = &g->pipelines[g->npipelines - 1];
    while (q->spec->source != RT_SOURCE_TABLE || strcmp(q->spec->table->name, "child") != 0)
        q--;
    return gpu ? q->gpu_tile : q->cpu_tile;
}

/* The load of the key and the lookup, where these end enough rows. */
static void lookups_of_few_rows_are_in_a_gpus_tile(void **state)
{
    (void)state;
    struct pl_tile_steps t = tile_of_probe("semi", "grp = 3", true);
    assert_int_equal(t.steps, 2);
    assert_true(t.early[0] && !t.again[0] && !t.again[1]);
    assert_int_equal(tile_of_probe("semi", "grp = 3", false).steps, 0);
    assert_int_equal(tile_of_probe("anti", "grp <> 3", true).steps, 2);
    assert_int_equal(tile_of_probe("anti", "grp = 3", true).steps, 0); /* most go on */
    assert_int_equal(tile_of_probe("mark", "grp = 3", true).steps, 0); /* all do */
}

/* Steps of the tile of parents that `a or b` filters, where a is the expression. */
static int tile_of_computed(const char *a)
{
    const struct pl_program *g =
        planned(hd_asprintf(&px_arena,
                            "{'op': 'filter', 'pred': 'a or b', 'input': {'op': 'project', 'exprs': ['id', {'expr': "
                            "'%s', 'as': 'a'}, {'expr': "
                            "'grp = 9', 'as': 'b'}], 'input': {'op': 'scan', 'table': 'parent'}}}",
                            a));
    assert_int_equal(g->pipelines[0].cpu_tile.steps, g->pipelines[0].gpu_tile.steps);
    return g->pipelines[0].gpu_tile.steps;
}

static void tiles_compute_what_filters_ask_for(void **state)
{
    (void)state;
    /* The filter, two lets, and columns. */
    assert_int_equal(tile_of_computed("grp in (1, 3)"), 4);
    assert_int_equal(tile_of_computed("name in (`gold`, `none`, null)"), 5);
    assert_int_equal(tile_of_computed("id in (1, 3)"), 0); /* ids are too many for a word */
    assert_int_equal(tile_of_computed("note in (`a`, `b`)"), 0);
    assert_int_equal(tile_of_computed("10 / grp > 3"), 0); /* it may raise */
}

/* The tile of parents with such a filter; `first`: of the first tier. */
static struct pl_tile_steps tile_of_filter(const char *filter, bool first)
{
    const struct pl_options o = {.threads = 1, .on_gpu = true};
    const struct pl_program *g = px_plan(
        &px_arena,
        hd_asprintf(&px_arena, "{'op': 'filter', 'pred': '%s', 'input': {'op': 'scan', 'table': 'parent'}}", filter),
        &o);
    const struct pl_pipeline *q = &g->pipelines[0];
    assert_int_equal(q->cpu_tile.steps && pl_tile_searches(&q->cpu_tile), 0);
    return first ? q->gpu.first->gpu_tile : q->gpu_tile;
}

/* Pieces that may stand anywhere, where many rows are asked; the first tier's rows look for themselves. */
static void tiles_search_strings(void **state)
{
    (void)state;
    struct pl_tile_steps t = tile_of_filter("not (note like `%abcd%` or note like `%ab_cd%`)", false);
    assert_int_equal(t.steps, 2);
    assert_true(t.searched[0] && !t.early[0] && t.again[0]);
    assert_int_equal(tile_of_filter("not (note like `%abcd%`)", true).steps, 0);
    assert_int_equal(tile_of_filter("note like `%a%bcde` and grp > 3", false).steps, 4);
    assert_int_equal(tile_of_filter("note like `abcd%`", false).steps, 0);
    assert_int_equal(tile_of_filter("note like `%abc%`", false).steps, 0);
    assert_int_equal(tile_of_filter("note like `%a_b_c%`", false).steps, 0);
    assert_int_equal(tile_of_filter("upper(note) like `%abcd%`", false).steps, 0);
    assert_false(pl_tile_searches(&(struct pl_tile_steps){0}));
    t = tile_of_filter("grp = 3 and note like `%abcd%`", false); /* few rows come to it */
    assert_int_equal(t.steps, 2);
    assert_false(pl_tile_searches(&t));
}

/* Whether rows of the first pipeline that leave its tile are visited where they lie. */
static bool most_pass(const char *root)
{
    const struct pl_options o = {.threads = 1, .on_gpu = true};
    return px_plan(&px_arena, root, &o)->pipelines[0].gpu.most_pass;
}

static void rows_are_lined_up_where_few_pass(void **state)
{
    (void)state;
#define FILTERED(filter) "{'op': 'scan', 'table': 'parent', 'filter': '" filter "'}"
#define COUNTED(filter) \
    "{'op': 'aggregate', 'keys': ['id'], 'aggs': [{'fn': 'count', 'as': 'n'}], 'input': " FILTERED(filter) "}"
    assert_true(most_pass(COUNTED("not (note like `%abcd%`)")));
    assert_false(most_pass(COUNTED("note like `%abcd%`")));
    assert_false(most_pass(COUNTED("not (note like `abcd%`)"))); /* no tile */
    assert_false(most_pass(FILTERED("not (note like `%abcd%`)"))); /* places for all that wait */
#undef COUNTED
#undef FILTERED
}

/* A search sorts few rows for less than a table takes, but these are found by scanning as well. */
static void a_search_pays_for_its_scan(void **state)
{
    (void)state;
    const struct pl_program *g = planned(
        "{'op': 'join', 'kind': 'inner', 'build': 'right', 'on': [['id', 'pid']], 'residual': 'amount between qty and "
        "qty + 3', 'left': {'op': 'scan', 'table': 'parent', 'filter': 'id < 300'}, 'right': {'op': 'scan', 'table': "
        "'orphan', 'filter': 'cid < 100600'}}");
    assert_int_equal(steps_of(g, PL_STEP_EXPAND_SORTED), 0);
}

/* Searches of an aggregate over child and parent; -1: it visits their pairs. */
static int searches(const char *aggs, const char *keys, const char *residual, const char *more)
{
    const struct pl_program *g =
        planned(hd_asprintf(&px_arena,
                            "{'op': 'aggregate', 'keys': [%s], 'aggs': [%s], 'input': {'op': 'join', 'kind': 'inner', "
                            "'residual': '%s', 'left': {'op': 'scan', 'table': 'child'}, 'right': {'op': 'scan', "
                            "'table': 'parent'}%s}}",
                            keys, aggs, residual, more));
    bool pairs = steps_of(g, PL_STEP_EXPAND_ALL) + steps_of(g, PL_STEP_EXPAND_SORTED) > 0;
    return pairs ? -1 : steps_of(g, PL_STEP_SEARCH);
}

#define COUNT    "{'fn': 'count', 'as': 'n'}"
#define FN(f, x) "{'fn': '" f "', 'arg': '" x "', 'as': 'x'}"

static void pairs_of_a_range_are_not_visited(void **state)
{
    (void)state;
    assert_int_equal(searches(COUNT, "", "qty > amount", ""), 1);
    assert_int_equal(searches(COUNT, "", "qty between amount and amount + 3", ""), 2);
    assert_int_equal(searches(FN("sum", "amount"), "'cid'", "qty > amount and id > 7", ""), 1);
    assert_int_equal(searches(FN("max", "amount"), "'cid'", "qty > amount", ""), 1);
    assert_int_equal(searches(FN("sum", "amount / id"), "'cid'", "qty > amount", ""), -1); /* it may raise */
    assert_int_equal(searches(COUNT, "", "qty > amount", ", 'strategy': 'loop'"), -1);
    assert_int_equal(searches(COUNT, "", "qty > amount", ", 'build': 'left'"), 1);
    assert_int_equal(searches(COUNT, "'cid'", "qty > amount", ", 'build': 'left'"), -1);
    assert_int_equal(searches(COUNT, "'cid', 'id'", "qty > amount", ""), -1);
    assert_int_equal(searches(COUNT, "", "qty <> amount", ""), -1);
    assert_int_equal(searches(COUNT, "", "qty > amount and oid > id", ""), -1);
    assert_int_equal(searches(COUNT, "", "name > cast(qty as string)", ""), -1);
    assert_int_equal(searches(FN("max", "amount"), "'cid'", "qty > amount and qty < amount + 3", ""), -1);
    assert_int_equal(searches(FN("sum", "amount + qty"), "", "qty > amount", ""), -1);
    assert_int_equal(searches("{'fn': 'count', 'arg': 'id', 'distinct': true, 'as': 'n'}", "", "qty > amount", ""), -1);
}

/* Dead expressions, too: passes look at all of them. */
static int without_argument(const char *root)
{
    const struct pl_program *g = planned(root);
    int n = 0;
    for (int i = 0; i < g->nexprs; i++) {
        const struct pl_expr *e = &g->exprs[i];
        int entries = fe_op_form(e->op)->entries;
        n += !e->is_null && ((entries > 0 && e->arg < 0) || (entries > 1 && e->arg2 < 0));
    }
    return n;
}

static void no_expression_is_left_without_its_argument(void **state)
{
    (void)state;
    assert_int_equal(
        without_argument("{'op': 'scan', 'table': 'parent', 'filter': 'case when grp in (1, 2, 3) then id else "
                         "id end is not null'}"),
        0);
    assert_int_equal(
        without_argument("{'op': 'scan', 'table': 'parent', 'filter': 'coalesce(id, grp) is not null or name < "
                         "note'}"),
        0);
    assert_int_equal(
        without_argument(
            "{'op': 'aggregate', 'keys': ['name'], 'aggs': [{'fn': 'count', 'as': 'n'}], 'input': {'op': 'join', "
            "'kind': 'left', 'on': [['name', 'tag']], 'asof': {'left': 'id', 'right': 'cid', 'match': '>='}, "
            "'left': {'op': 'scan', 'table': 'parent'}, 'right': {'op': 'scan', 'table': 'child'}}}"),
        0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_work_becomes_a_map),
        cmocka_unit_test(tables_of_joins_follow_from_ranges),
        cmocka_unit_test(groups_are_addressed_where_ranges_are_small),
        cmocka_unit_test(a_queue_has_a_head_and_tuples),
        cmocka_unit_test(deep_nests_are_cut),
        cmocka_unit_test(wide_levels_carry_rows),
        cmocka_unit_test(tiles_compute_what_filters_ask_for),
        cmocka_unit_test(tiles_search_strings),
        cmocka_unit_test(rows_are_lined_up_where_few_pass),
        cmocka_unit_test(a_search_pays_for_its_scan),
        cmocka_unit_test(pairs_of_a_range_are_not_visited),
        cmocka_unit_test(pairs_are_looped_over_where_both_sides_have_rows),
        cmocka_unit_test(lookups_of_few_rows_are_in_a_gpus_tile),
        cmocka_unit_test(no_expression_is_left_without_its_argument),
    };
    return cmocka_run_group_tests(tests, px_set_up, px_tear_down);
}
