/* The traversal of templates/nifs.cuh and share.cuh on a synthetic tree (tree.cu): every node
 * is visited exactly once and with its own tuple, for skewed trees, under several
 * interleavings, with and without work moving between warps. Device code asserts the queue's
 * bound itself. */
#include <string.h>

#include "runtime/base/util.h"
#include "tests/simt/check.h"
#include "tests/simt/grid.h"
#include "tests/simt/tree.h"

void tree_kernel(const hdd_u64 *args, const struct hdd_launch *launch);

enum { SEEDS = 8, MAILBOX_BYTES = 4096 };

struct tree {
    const char *name;
    uint32_t nodes[TREE_LEVELS];
    uint8_t *keep;
    uint32_t *first[TREE_LEVELS], *fan[TREE_LEVELS], *parent[TREE_LEVELS],
        *visits[TREE_LEVELS];
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

static void tree_init(struct tree *t, const char *name, uint32_t rows, uint32_t keep_one_in,
                      fan_fn *fan)
{
    *t = (struct tree){.name = name, .nodes = {rows}};
    random_state = 1;
    t->keep = array(rows, 1);
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
                  "%s, seed %llu: node %u of level %d visited %u times", t->name,
                  (unsigned long long)o->seed, i, l, t->visits[l][i]);
    CHECK(t->wrong == 0, "%s: %u nodes with a wrong tuple", t->name, t->wrong);
}

static struct hdd_progress traverse(struct tree *t, const struct grid_options *o)
{
    hdd_u64 args[TREE_WORDS] = {
        [TREE_KEEP] = (uintptr_t)t->keep, [TREE_WRONG] = (uintptr_t)&t->wrong};
    for (int l = 0; l < TREE_LEVELS; l++) {
        args[TREE_FIRST + l] = (uintptr_t)t->first[l];
        args[TREE_FAN + l] = (uintptr_t)t->fan[l];
        args[TREE_PARENT + l] = (uintptr_t)t->parent[l];
        args[TREE_VISITS + l] = (uintptr_t)t->visits[l];
        memset(t->visits[l], 0, (size_t)t->nodes[l] * 4);
    }
    struct hdd_launch launch = {.source_rows = t->nodes[0]};
    struct hdd_progress progress;
    struct simt_report report;
    t->wrong = 0;
    int status = grid_run(o, tree_kernel, args, launch, MAILBOX_BYTES, &progress, &report);
    CHECK(status == 0, "%s, seed %llu: %s", t->name, (unsigned long long)o->seed,
          report.message);
    check_visits(t, o);
    return progress;
}

/* Idle lanes per lane and warp iteration: the paper's IIR. */
static double idle_ratio(const struct hdd_progress *p)
{
    return p->visits ? (double)p->idle_lanes / (32.0 * (double)p->visits) : 0;
}

static void test_tree(struct tree *t)
{
    struct grid_options o;
    grid_options_init(&o);
    uint64_t gifts = 0, nodes = 0;
    for (int l = 0; l < TREE_LEVELS; l++)
        nodes += t->expected[l];
    double alone = 0, shared = 0;
    for (o.seed = 0; o.seed < SEEDS; o.seed++) {
        o.take = 1 + (uint32_t)o.seed % 3;
        o.balance = HDD_NIFS;
        struct hdd_progress p = traverse(t, &o);
        CHECK(p.gifts == 0, "work moved although nobody shares");
        alone += idle_ratio(&p) / SEEDS;
        /* All warps but one begin with nothing: whatever they do was given to them. */
        o.balance = HDD_NIFS_SHARE;
        o.share_every = 1 + (uint32_t)(o.seed % 4) * 3;
        o.start_idle = o.seed % 2 ? 1 : 0;
        p = traverse(t, &o);
        gifts += p.gifts;
        shared += idle_ratio(&p) / SEEDS;
    }
    printf("%-8s %8llu nodes, %6llu gifts, idle lanes %4.1f %% alone, %4.1f %% shared\n",
           t->name, (unsigned long long)nodes, (unsigned long long)gifts, alone * 100,
           shared * 100);
    CHECK(gifts > 0 || nodes < 100, "%s: no work moved between warps", t->name);
}

/* A big tree keeps nearly all lanes busy whatever its shape: NIFS leaves less than a warp per
 * level and warp. */
static void test_idle_bound(const struct tree *t)
{
    struct grid_options o;
    grid_options_init(&o);
    o.blocks = 1;
    struct tree copy = *t;
    struct hdd_progress p = traverse(&copy, &o);
    uint64_t most = (uint64_t)GRID_WARPS * TREE_LEVELS * 32;
    CHECK(p.idle_lanes <= most, "%s: %llu idle lanes, at most %llu", t->name,
          (unsigned long long)p.idle_lanes, (unsigned long long)most);
}

static void test_abort(struct tree *t)
{
    /* A launch that is told to stop before it starts ends at once, sharing or not. */
    struct grid_options o;
    grid_options_init(&o);
    hdd_u64 args[TREE_WORDS] = {0};
    struct hdd_progress progress;
    struct simt_report report;
    struct hdd_launch launch = {.source_rows = 0};
    o.balance = HDD_NIFS_SHARE;
    for (o.seed = 0; o.seed < SEEDS; o.seed++)
        CHECK(grid_run(&o, tree_kernel, args, launch, MAILBOX_BYTES, &progress, &report) == 0,
              "%s: empty source: %s", t->name, report.message);
}

int main(void)
{
    static const struct {
        const char *name;
        uint32_t rows, keep_one_in;
        fan_fn *fan;
    } kinds[] = {
        {"even", 3000, 1, fan_even},   {"sparse", 5001, 2, fan_sparse},
        {"heavy", 2500, 3, fan_heavy}, {"powers", 700, 4, fan_powers},
        {"few", 9, 1, fan_heavy},      {"none", 1033, 1, fan_none},
        {"leaf", 8, 100, fan_none},
    };
    for (size_t i = 0; i < HD_COUNT(kinds); i++) {
        struct tree t;
        tree_init(&t, kinds[i].name, kinds[i].rows, kinds[i].keep_one_in, kinds[i].fan);
        test_tree(&t);
        test_idle_bound(&t);
        if (i == 0)
            test_abort(&t);
        tree_release(&t);
    }
    return 0;
}
