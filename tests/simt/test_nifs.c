/* The traversal of templates/nifs.cuh and share.cuh on a synthetic tree (tree.cu): every node
 * is visited exactly once and with its own tuple, for skewed trees, under several
 * interleavings, with and without work moving between warps. Device code asserts the queue's
 * bound itself. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/util.h"
#include "tests/simt/check.h"
#include "tests/simt/grid.h"
#include "tests/simt/tree.h"

void tree_kernel(const hdd_u64 *args, const struct hdd_launch *launch);

static unsigned seeds = 8; /* interleavings of each case; an argument says how many */

struct tree {
    const char *name;
    uint32_t nodes[TREE_LEVELS];
    uint8_t *keep;
    uint32_t *first[TREE_LEVELS], *fan[TREE_LEVELS], *parent[TREE_LEVELS], *visits[TREE_LEVELS];
    uint32_t expected[TREE_LEVELS]; /* nodes reachable from kept rows */
    bool *reachable[TREE_LEVELS];
    uint32_t wrong;
};

static uint64_t random_state;

static uint32_t draw(uint32_t n)
{
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(((random_state >> 33) * n) >> 31);
}

/* Children of a node: kinds of trees differ in how these are spread. */
typedef uint32_t fan_fn(uint32_t level, uint32_t node);

static uint32_t fan_even(uint32_t level, uint32_t node)
{
    (void)node;
    return level == 2 ? 1 : 3;
}

static uint32_t fan_sparse(uint32_t level, uint32_t node)
{
    (void)level;
    (void)node;
    return draw(5) == 0 ? 1 + draw(3) : 0;
}

/* One node of each level has most of the children: a heavy hitter. */
static uint32_t fan_heavy(uint32_t level, uint32_t node)
{
    if (node == 7)
        return level == 0 ? 4000 : level == 1 ? 900 : 50;
    return draw(20) == 0;
}

/* Powers of two: ranges of very different lengths side by side. */
static uint32_t fan_powers(uint32_t level, uint32_t node)
{
    (void)node;
    return level == 0 ? 1u << draw(9) : draw(3) ? 0 : 1u << draw(4);
}

static uint32_t fan_none(uint32_t level, uint32_t node)
{
    (void)level;
    (void)node;
    return 0;
}

static void *array(size_t n, size_t size)
{
    void *p = aligned_alloc(64, hd_align_up(n * size + 64, 64));
    CHECK(p, "out of memory");
    return memset(p, 0, hd_align_up(n * size + 64, 64));
}

static void build_level(struct tree *t, uint32_t l, fan_fn *fan)
{
    uint32_t n = t->nodes[l], total = 0;
    t->first[l] = array(n, 4);
    t->fan[l] = array(n, 4);
    for (uint32_t i = 0; i < n && l + 1 < TREE_LEVELS; i++) {
        t->first[l][i] = total;
        t->fan[l][i] = fan(l, i);
        total += t->fan[l][i];
    }
    if (l + 1 == TREE_LEVELS)
        return;
    t->nodes[l + 1] = total;
    t->parent[l + 1] = array(total, 4);
    t->reachable[l + 1] = array(total, sizeof(bool));
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < t->fan[l][i]; k++) {
            t->parent[l + 1][t->first[l][i] + k] = i;
            t->reachable[l + 1][t->first[l][i] + k] = t->reachable[l][i];
            t->expected[l + 1] += t->reachable[l][i];
        }
}

static void tree_init(struct tree *t, const char *name, uint32_t rows, uint32_t keep_one_in, fan_fn *fan)
{
    *t = (struct tree){.name = name, .nodes = {rows}};
    random_state = 1;
    t->keep = array(rows + 8, 1); /* tiles end beyond the rows */
    t->parent[0] = array(1, 4);
    t->reachable[0] = array(rows, sizeof(bool));
    for (uint32_t i = 0; i < rows; i++) {
        t->keep[i] = draw(keep_one_in) == 0 || i == 7;
        t->reachable[0][i] = t->keep[i];
        t->expected[0] += t->keep[i];
    }
    for (uint32_t l = 0; l < TREE_LEVELS; l++) {
        build_level(t, l, fan);
        t->visits[l] = array(t->nodes[l], 4);
    }
}

static void tree_release(struct tree *t)
{
    free(t->keep);
    for (int l = 0; l < TREE_LEVELS; l++) {
        free(t->first[l]);
        free(t->fan[l]);
        free(t->parent[l]);
        free(t->visits[l]);
        free(t->reachable[l]);
    }
}

static void check_visits(const struct tree *t, const struct grid_options *o)
{
    for (int l = 0; l < TREE_LEVELS; l++)
        for (uint32_t i = 0; i < t->nodes[l]; i++)
            CHECK(t->visits[l][i] == (uint32_t)t->reachable[l][i],
                  "%s, seed %llu: node %u of level %d visited %u times", t->name, (unsigned long long)o->seed, i, l,
                  t->visits[l][i]);
    CHECK(t->wrong == 0, "%s: %u nodes with a wrong tuple", t->name, t->wrong);
}

static void fill_args(struct tree *t, hdd_u64 *args)
{
    args[TREE_KEEP] = (uintptr_t)t->keep;
    args[TREE_WRONG] = (uintptr_t)&t->wrong;
    t->wrong = 0;
    for (int l = 0; l < TREE_LEVELS; l++) {
        args[TREE_FIRST + l] = (uintptr_t)t->first[l];
        args[TREE_FAN + l] = (uintptr_t)t->fan[l];
        args[TREE_PARENT + l] = (uintptr_t)t->parent[l];
        args[TREE_VISITS + l] = (uintptr_t)t->visits[l];
        memset(t->visits[l], 0, (size_t)t->nodes[l] * 4);
    }
}

static const struct grid_code code = {tree_kernel, TREE_DONATION_BYTES, TREE_SLOT_BYTES};

static struct hdd_progress run_tree(struct tree *t, const struct grid_options *o)
{
    hdd_u64 args[TREE_WORDS];
    struct hdd_launch launch = {.source_rows = t->nodes[0]};
    struct hdd_progress progress;
    struct simt_report report;
    fill_args(t, args);
    int status = grid_run(o, &code, args, launch, &progress, &report);
    CHECK(status == 0, "%s, %s, seed %llu: %s", t->name, rt_balance_name(o->balance), (unsigned long long)o->seed,
          report.message);
    return progress;
}

static struct hdd_progress traverse(struct tree *t, const struct grid_options *o)
{
    struct hdd_progress p = run_tree(t, o);
    check_visits(t, o);
    return p;
}

/* Between warps of different blocks. */
static bool moves_work(enum rt_balance b)
{
    return rt_balance_shares(b) || b == RT_BALANCE_SHUFFLE_IBR;
}

/* What the records of the warps say must be what happened. */
static void check_report(const struct tree *t, const struct rt_balance_report *r, const struct hdd_progress *p,
                         enum rt_balance b)
{
    for (int l = 0; l < TREE_LEVELS; l++)
        CHECK(r->visits[l] * 32 - r->idle_lanes[l] == t->expected[l],
              "%s, %s: level %d: %llu visits with %llu idle lanes, %u nodes", t->name, rt_balance_name(b), l,
              (unsigned long long)r->visits[l], (unsigned long long)r->idle_lanes[l], t->expected[l]);
    uint64_t tiles = (t->nodes[0] + 255) / 256;
    CHECK(r->visits[TREE_LEVELS] == tiles * 8 && r->idle_lanes[TREE_LEVELS] == tiles * 256 - t->nodes[0], "%s: tiles",
          t->name);
    /* A piece goes to one warp, which waited for it; but the end of a run is a transition without one. */
    CHECK(r->donations == p->donations, "%s, %s: %llu pieces donated, %llu received", t->name, rt_balance_name(b),
          (unsigned long long)p->donations, (unsigned long long)r->donations);
    uint64_t waited = rt_balance_shares(b) ? r->donations : 0;
    CHECK(r->transitions == waited + r->warps, "%s, %s: %llu transitions, %llu donations", t->name, rt_balance_name(b),
          (unsigned long long)r->transitions, (unsigned long long)r->donations);
    CHECK(r->ilif >= 1, "%s: ILIF %g", t->name, r->ilif);
}

struct figures {
    uint64_t donations;
    double iir, ilif;
};

/* All seeds of a mode; in every second one all tiles go to one warp, so that whatever the
 * others do was given to them. */
static struct figures test_mode(struct tree *t, enum rt_balance b)
{
    struct grid_options o;
    struct rt_balance_report r;
    struct figures f = {0};
    grid_options_init(&o);
    o.balance = b;
    o.report = &r;
    for (o.seed = 0; o.seed < seeds; o.seed++) {
        o.batch_bits = (uint32_t)o.seed % 3;
        o.cursors = 1u << o.seed % 4;
        o.scan_warps = o.seed % 2;
        o.threshold = 1 + (uint32_t)(o.seed % 4) * 5;
        struct hdd_progress p = traverse(t, &o);
        check_report(t, &r, &p, b);
        CHECK(p.donations == 0 || moves_work(b), "work moved although nobody shares");
        f.donations += p.donations;
        f.iir += r.iir / seeds;
        f.ilif += r.ilif / seeds;
    }
    return f;
}

static void test_modes(struct tree *t)
{
    uint64_t nodes = 0;
    double iir[RT_BALANCE_COUNT];
    for (int l = 0; l < TREE_LEVELS; l++)
        nodes += t->expected[l];
    printf("%s: %llu nodes\n", t->name, (unsigned long long)nodes);
    for (int b = RT_BALANCE_NONE; b < RT_BALANCE_COUNT; b++) {
        struct figures f = test_mode(t, (enum rt_balance)b);
        printf("  %-14s %6llu donations, IIR %4.1f %%, ILIF %4.2f\n", rt_balance_name((enum rt_balance)b),
               (unsigned long long)f.donations, f.iir * 100, f.ilif);
        CHECK(f.donations > 0 || nodes < 6000 || !moves_work((enum rt_balance)b), "%s: no work moved between warps",
              t->name);
        iir[b] = f.iir;
    }
    for (int b = RT_BALANCE_NONE; b < RT_BALANCE_COUNT; b++)
        CHECK(rt_balance_shares((enum rt_balance)b) || iir[RT_BALANCE_NIFS] <= iir[b] + 1e-9,
              "%s: NIFS leaves more lanes idle than %s", t->name, rt_balance_name((enum rt_balance)b));
    CHECK(iir[RT_BALANCE_PP_LR] <= iir[RT_BALANCE_PP] + 1e-9, "%s: lane refill leaves more lanes idle", t->name);
}

/* A big tree keeps nearly all lanes busy whatever its shape: NIFS leaves less than a warp per
 * level and warp. */
static void test_idle_bound(struct tree *t)
{
    struct grid_options o;
    struct rt_balance_report r;
    grid_options_init(&o);
    o.blocks = 1;
    o.report = &r;
    traverse(t, &o);
    uint64_t max = (uint64_t)HDD_BLOCK_WARPS * TREE_LEVELS * 32 + 255;
    CHECK(r.all_idle_lanes <= max, "%s: %llu idle lanes, at most %llu", t->name, (unsigned long long)r.all_idle_lanes,
          (unsigned long long)max);
}

/* Nothing to do at all; one block that takes everything; more warps than 64, so that the bitmap
 * has two words. */
static void test_extremes(struct tree *t)
{
    struct grid_options o;
    grid_options_init(&o);
    for (int b = RT_BALANCE_NONE; b < RT_BALANCE_COUNT; b++) {
        uint32_t rows = t->nodes[0];
        o.balance = (enum rt_balance)b;
        for (o.seed = 0; o.seed < seeds; o.seed++) {
            t->nodes[0] = 0;
            struct hdd_progress p = run_tree(t, &o);
            CHECK(p.donations == 0, "work out of nothing");
            t->nodes[0] = rows;
        }
        o.seed = 3;
        o.blocks = 18;
        o.scan_warps = 1;
        traverse(t, &o);
        o.blocks = 2;
        o.scan_warps = 0;
    }
}

/* A cancelled run ends, wherever it is. */
static void test_cancel(struct tree *t)
{
    struct grid_options o;
    grid_options_init(&o);
    o.scan_warps = 1;
    for (int b = RT_BALANCE_NONE; b < RT_BALANCE_COUNT; b++)
        for (o.seed = 0; o.seed < 4 * seeds; o.seed++) {
            o.balance = (enum rt_balance)b;
            o.stop_after = 1 + o.seed * o.seed * 100;
            o.max_switches = o.stop_after + 3000000; /* the deadline */
            run_tree(t, &o);
            for (uint32_t i = 0; i < t->nodes[TREE_LEVELS - 1]; i++)
                CHECK(t->visits[TREE_LEVELS - 1][i] <= 1, "node %u visited twice", i);
        }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seeds = (unsigned)atoi(argv[1]);
    static const struct {
        const char *name;
        uint32_t rows, keep_one_in;
        fan_fn *fan;
    } kinds[] = {
        {"even", 3000, 1, fan_even},    {"sparse", 5001, 2, fan_sparse}, {"heavy", 2500, 3, fan_heavy},
        {"powers", 700, 4, fan_powers}, {"few", 9, 1, fan_heavy},        {"none", 1033, 1, fan_none},
        {"leaf", 8, 100, fan_none},
    };
    for (size_t i = 0; i < HD_COUNT(kinds); i++) {
        struct tree t;
        tree_init(&t, kinds[i].name, kinds[i].rows, kinds[i].keep_one_in, kinds[i].fan);
        test_modes(&t);
        test_idle_bound(&t);
        if (i == 0)
            test_extremes(&t);
        if (i == 2)
            test_cancel(&t);
        tree_release(&t);
    }
    return 0;
}
