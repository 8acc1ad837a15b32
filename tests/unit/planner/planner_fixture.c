#include "tests/unit/planner/planner_fixture.h"

#include "frontend/zones.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/estimate.h"
#include "planner/need.h"
#include "runtime/base/strbuf.h"

_Noreturn static void stop(const char *what, const struct hd_err *err)
{
    fprintf(stderr, "%s: %s: %s\n", what, err->path, err->message);
    abort();
}

/* ---- dictionaries ------------------------------------------------------------------------------- */

static const uint32_t name_offsets[] = {0, 4, 8, 13, 19}; /* blue green */
static const uint32_t tag_offsets[] = {0, 1, 2, 3};
static const struct fe_dict names = {4, name_offsets, "bluegoldgreensilver"}, tags = {3, tag_offsets, "abc"};

/* ---- columns ------------------------------------------------------------------------------------- */

static const uint8_t validity[1];
static const uint32_t offsets[1];
static const uint32_t rows[1];
static const uint64_t words[1];

static struct fe_table_column ints(const char *name, struct hd_type type, int width, int64_t min, int64_t max,
                                   int64_t distinct)
{
    return (struct fe_table_column){.name = name,
                                    .type = type,
                                    .storage = FE_STORE_INT,
                                    .width = width,
                                    .factor = 1,
                                    .facts = {.known = true,
                                              .has_range = true,
                                              .min = min,
                                              .max = max,
                                              .distinct = distinct,
                                              .distinct_exact = true,
                                              .max_mult = -1}};
}

static struct fe_table_column unique(struct fe_table_column c)
{
    c.facts.unique = c.facts.sorted = c.facts.clustered = c.facts.dense = true;
    c.facts.max_mult = 1;
    return c;
}

static struct fe_table_column with_nulls(struct fe_table_column c)
{
    c.nullable = true;
    c.facts.nulls = 7;
    c.at.validity = validity;
    return c;
}

/* The most frequent value has so many rows. */
static struct fe_table_column heavy(struct fe_table_column c, int64_t max_mult)
{
    c.facts.max_mult = max_mult;
    return c;
}

static struct fe_table_column clustered(struct fe_table_column c)
{
    c.facts.clustered = true;
    return c;
}

static struct fe_table_column coded(const char *name, struct fe_dict dict)
{
    struct fe_table_column c = ints(name, hd_type_of(HD_STRING), 1, 0, dict.n - 1, dict.n);
    c.storage = FE_STORE_DICT;
    c.dict = dict;
    return c;
}

static struct fe_table_column without_facts(const char *name, struct hd_type type, enum fe_storage storage, int width)
{
    return (struct fe_table_column){.name = name, .type = type, .storage = storage, .width = width, .factor = 1};
}

/* ---- tables --------------------------------------------------------------------------------------- */

enum { PARENT_COLUMNS = 6, CHILD_COLUMNS = 6, TINY_COLUMNS = 3, MANY_COLUMNS = 40, EDGE_COLUMNS = 2 };
static struct fe_table_column parent_cols[PARENT_COLUMNS], child_cols[CHILD_COLUMNS], tiny_cols[TINY_COLUMNS],
    many_cols[MANY_COLUMNS], edge_cols[EDGE_COLUMNS];
static const int first_column[] = {0}, pid_column[] = {1}, oid_column[] = {2}, edge_key[] = {0, 1};
static struct fe_key_index parent_keys[] = {{FE_INDEX_POSITIONAL, 0, 0, 10000, NULL, NULL}},
                           child_keys[] = {{FE_INDEX_ARRAY, 0, 100000, 199999, NULL, rows}},
                           orphan_keys[] = {{FE_INDEX_BITMAP, 0, 100000, 199999, words, NULL}};
static struct fe_table parent, child, orphan, tiny, many, edge;
static struct fe_foreign_key child_fks[] = {{1, pid_column, &parent, first_column, 4, offsets, NULL, 20, 0, NULL},
                                            {1, oid_column, &parent, first_column, 4, offsets, rows, 5000, 0, NULL}};
static struct fe_foreign_key edge_fks[] = {{1, first_column, &parent, first_column, 4, offsets, NULL, 20, 0, NULL}};
static struct fe_table *tables[] = {&parent, &child, &orphan, &tiny, &many, &edge};
static const struct fe_catalog catalog = {6, tables};

static void make_parent(void)
{
    const struct fe_table_column cols[] = {
        unique(ints("id", hd_type_of(HD_INT64), 4, 0, 9999, 10000)),
        with_nulls(heavy(ints("grp", hd_type_of(HD_INT32), 1, 0, 9, 10), 2000)),
        coded("name", names),
        without_facts("note", hd_type_of(HD_STRING), FE_STORE_TEXT, 4),
        ints("amount", hd_decimal(12, 2), 4, 0, 9999, 5000),
        ints("day", hd_type_of(HD_DATE), 4, 7305, 10956, 3652),
    };
    memcpy(parent_cols, cols, sizeof cols);
    parent = (struct fe_table){.name = "parent", .rows = 10000, .ncols = PARENT_COLUMNS, .cols = parent_cols};
    parent.npk = 1;
    parent.pk = first_column;
    parent.nkeyidx = 1;
    parent.keyidx = parent_keys;
}

/* The first zone has oid 0 to 4999, the second one 5000 to 9999. */
static const struct fe_zone oid_zones[] = {{FE_ORDINAL_BIAS, FE_ORDINAL_BIAS + 4999, 0},
                                           {FE_ORDINAL_BIAS + 5000, FE_ORDINAL_BIAS + 9999, 0}};

static void make_child(void)
{
    struct fe_table_column cid = unique(ints("cid", hd_type_of(HD_INT64), 4, 100000, 299998, 100000));
    cid.base = 100000;
    const struct fe_table_column cols[] = {
        cid,
        clustered(heavy(ints("pid", hd_type_of(HD_INT64), 4, 0, 9999, 10000), 20)),
        heavy(ints("oid", hd_type_of(HD_INT64), 4, 0, 9999, 10000), 5000),
        ints("qty", hd_type_of(HD_INT32), 1, 1, 50, 50),
        with_nulls(coded("tag", tags)),
        without_facts("wide", hd_decimal(38, 2), FE_STORE_INT, 16),
    };
    memcpy(child_cols, cols, sizeof cols);
    child_cols[2].zones = oid_zones;
    child = (struct fe_table){.name = "child", .rows = 100000, .ncols = CHILD_COLUMNS, .cols = child_cols};
    child.nkeyidx = 1;
    child.keyidx = child_keys;
    orphan = child; /* without foreign keys */
    orphan.name = "orphan";
    orphan.keyidx = orphan_keys;
    child.nfks = 2;
    child.fks = child_fks;
}

static void make_small(void)
{
    static char column_names[MANY_COLUMNS][16];
    tiny_cols[0] = unique(ints("k", hd_type_of(HD_INT32), 1, 0, 99, 100));
    tiny_cols[1] = heavy(ints("v", hd_type_of(HD_INT32), 1, 0, 9, 10), 10);
    tiny_cols[2] = without_facts("f", hd_type_of(HD_FLOAT64), FE_STORE_F64, 8);
    tiny = (struct fe_table){.name = "tiny", .rows = 100, .ncols = TINY_COLUMNS, .cols = tiny_cols};
    for (int i = 0; i < MANY_COLUMNS; i++) {
        snprintf(column_names[i], sizeof column_names[i], "c%d", i);
        many_cols[i] = without_facts(column_names[i], hd_type_of(HD_INT64), FE_STORE_INT, 8);
        if (i % 2)
            many_cols[i] = with_nulls(many_cols[i]);
    }
    many = (struct fe_table){.name = "many", .rows = 5000, .ncols = MANY_COLUMNS, .cols = many_cols};
}

/* In the order of its primary key. */
static void make_edge(void)
{
    edge_cols[0] = clustered(ints("src", hd_type_of(HD_INT64), 4, 0, 9999, 10000));
    edge_cols[1] = ints("dst", hd_type_of(HD_INT32), 2, 0, 999, 1000);
    edge = (struct fe_table){.name = "edge", .rows = 100000, .ncols = EDGE_COLUMNS, .cols = edge_cols};
    edge.npk = 2;
    edge.pk = edge_key;
    edge.pk_sorted = true;
    edge.nfks = 1;
    edge.fks = edge_fks;
}

const struct fe_catalog *px_catalog(void)
{
    if (!parent.name) {
        make_parent();
        make_child();
        make_small();
        make_edge();
    }
    return &catalog;
}

const struct fe_table *px_table(const char *name)
{
    return fe_catalog_find(px_catalog(), name);
}

int64_t px_set_children(int64_t n)
{
    struct fe_foreign_key *pid = &px_table("child")->fks[0];
    int64_t before = pid->max_children;
    pid->max_children = n;
    return before;
}

/* ---- plans ----------------------------------------------------------------------------------------- */

struct fe_plan *px_read(struct hd_arena *a, const char *root)
{
    struct hd_strbuf b;
    struct hd_err err;
    struct fe_plan *plan = NULL;
    hd_strbuf_init(&b);
    hd_err_init(&err);
    hd_strbuf_addf(&b, "{\"heddle\": 1, \"root\": %s}", root);
    for (size_t i = 0; i < b.n; i++) /* a text in an expression is written with ` */
        b.s[i] = b.s[i] == '\'' ? '"' : b.s[i] == '`' ? '\'' : b.s[i];
    if (fe_plan_read(a, b.s, px_catalog(), &plan, &err) != 0)
        stop(b.s, &err);
    hd_strbuf_release(&b);
    return plan;
}

struct pl_program *px_plan(struct hd_arena *a, const char *root, const struct pl_options *o)
{
    struct hd_err err;
    struct pl_program *p = NULL;
    hd_err_init(&err);
    if (pl_plan(a, px_read(a, root), o, &p, &err) != 0)
        stop(root, &err);
    return p;
}

const struct pl_pipeline *px_nested(struct hd_arena *a, const char *root, const struct pl_options *o)
{
    const struct pl_program *g = px_plan(a, root, o);
    int i = 0;
    while (i < g->npipelines - 1 && g->pipelines[i].nlevels == 1)
        i++;
    if (g->pipelines[i].nlevels == 1)
        abort();
    return &g->pipelines[i];
}

struct ctx *px_ctx(struct hd_arena *a, const struct fe_plan *plan)
{
    struct ctx *c = HD_NEW(a, struct ctx);
    c->a = a;
    c->plan = plan;
    c->opt.threads = 4;
    c->shared = HD_NEWN(a, struct shared_state, plan->nshared + 1);
    c->maps_planned = HD_NEW(a, struct planned_maps);
    pl_need_order(c, plan->root);
    pl_need_columns(c, plan->root);
    c->est = HD_NEWN(a, struct est_node, plan->nnodes + 1);
    return c;
}

/* ---- cmocka ---------------------------------------------------------------------------------------- */

struct hd_arena px_arena;

int px_set_up(void **state HD_UNUSED)
{
    hd_arena_init(&px_arena);
    return 0;
}

int px_tear_down(void **state HD_UNUSED)
{
    hd_arena_release(&px_arena);
    return 0;
}
