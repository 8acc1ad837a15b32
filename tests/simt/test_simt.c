/* The emulator itself: it runs warp and block operations rightly under every order, and it
 * sees the bugs it is there for, one of each kind planted in kernels.cc. And what plans hardly
 * bring about: groups whose hashes are equal, a table of groups without a free slot. */
#include <stdio.h>
#include <string.h>

#include "templates/launch.cuh"
#include "tests/simt/check.h"
#include "tests/simt/simt.h"

enum { SEEDS = 20 };

/* kernels.cc */
void good_kernel(void *out);
void lost_lane(void *), other_operation(void *), early_return(void *), missed_barrier(void *);
void endless_wait(void *), failed_assertion(void *), lost_update(void *count);
void equal_hashes(void *launch), word_groups(void *launch);

static void test_good(void)
{
    struct simt_options o = {.blocks = 3, .warps = 4};
    struct simt_report r;
    for (o.seed = 0; o.seed < SEEDS; o.seed++) {
        uint64_t sums[3] = {0};
        CHECK(simt_launch(&o, good_kernel, sums, &r) == 0, "seed %llu: %s", (unsigned long long)o.seed, r.message);
        for (uint64_t b = 0; b < 3; b++) /* each thread adds block * 1000 + its number */
            CHECK(sums[b] == b * 1000 * 128 + 128 * 127 / 2, "block %llu: %llu", (unsigned long long)b,
                  (unsigned long long)sums[b]);
    }
}

static void test_caught(void (*kernel)(void *), const char *expected)
{
    struct simt_options o = {.blocks = 1, .warps = 4, .max_switches = 200000};
    struct simt_report r;
    for (o.seed = 0; o.seed < SEEDS; o.seed++) {
        CHECK(simt_launch(&o, kernel, NULL, &r) == -1, "not caught: %s", expected);
        CHECK(strstr(r.message, expected), "expected \"%s\", found \"%s\"", expected, r.message);
    }
}

/* Reads and writes without an atomic lose updates in some order, and keep them in another. */
static void test_interleavings_differ(void)
{
    struct simt_options o = {.blocks = 1, .warps = 4};
    struct simt_report r;
    int lost = 0;
    for (o.seed = 0; o.seed < SEEDS; o.seed++) {
        unsigned count = 0;
        CHECK(simt_launch(&o, lost_update, &count, &r) == 0, "%s", r.message);
        lost += count != 128;
    }
    CHECK(lost > 0 && lost < SEEDS, "%d of %d orders lose an update", lost, SEEDS);
}

/* Stacks of many threads leave a process mappings for the code of kernels. */
static void test_many_threads(void)
{
    struct simt_options o = {.blocks = 100, .warps = 4};
    struct simt_report r;
    unsigned count = 0;
    CHECK(simt_launch(&o, lost_update, &count, &r) == 0, "%s", r.message);
    FILE *f = fopen("/proc/self/maps", "r");
    CHECK(f, "no /proc/self/maps");
    int lines = 0;
    for (int c; (c = getc(f)) != EOF;)
        lines += c == '\n';
    fclose(f);
    CHECK(lines < 20000, "%d mappings", lines);
}

/* ---- groups ------------------------------------------------------------------------------ */

enum { KEYS = 10, BLOCKS = 3, WARPS = 4, SLOTS = 193 };

struct groups {
    uint64_t slots[64];
    struct {
        uint64_t key;
        int64_t count;
    } rows[SLOTS];
    uint64_t cursor;
    struct hdd_progress progress;
};

static void count_keys(struct groups *g, void (*kernel)(void *), uint64_t hashes, uint64_t capacity, uint64_t mask,
                       uint64_t seed)
{
    struct hdd_launch l = {.source_rows = hashes,
                           .progress = (uint64_t)(uintptr_t)&g->progress,
                           .warps = BLOCKS * WARPS,
                           .sink = {.rows = (uint64_t)(uintptr_t)g->rows,
                                    .capacity = capacity,
                                    .cursor = (uint64_t)(uintptr_t)&g->cursor,
                                    .slots = (uint64_t)(uintptr_t)g->slots,
                                    .mask = mask}};
    struct simt_options o = {.blocks = BLOCKS, .warps = WARPS, .seed = seed};
    struct simt_report r;
    memset(g, 0, sizeof *g);
    CHECK(simt_launch(&o, kernel, &l, &r) == 0, "seed %llu: %s", (unsigned long long)seed, r.message);
}

static void test_equal_hashes(void)
{
    int64_t expected[KEYS + 1] = {0};
    for (unsigned block = 0; block < BLOCKS; block++)
        for (unsigned thread = 0; thread < 128; thread++)
            for (unsigned i = 0; i < 8; i++)
                expected[i % 4 == 3 && thread % 32 < 20 ? i / 4 : (thread * (i + 1) + block) % 11]++;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct groups g;
        count_keys(&g, equal_hashes, 3, KEYS, 63, seed);
        CHECK(g.cursor == KEYS && !g.progress.abort, "%llu groups", (unsigned long long)g.cursor);
        for (int k = 0; k < KEYS; k++)
            CHECK(g.rows[k].count == expected[g.rows[k].key], "key %llu: %lld", (unsigned long long)g.rows[k].key,
                  (long long)g.rows[k].count);
    }
}

/* Seven eighths of eight slots are used: the kernel ends, with more rows asked for than there
 * is room for. */
static void test_full_table(void)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct groups g;
        count_keys(&g, equal_hashes, KEYS, 4, 7, seed);
        CHECK(g.cursor == 8 && g.progress.abort, "%llu groups", (unsigned long long)g.cursor);
    }
}

/* Rows that are slots, one of them more than there are keys to find: searches go on behind the last one. */
static void test_word_groups(void)
{
    int64_t expected[KEYS + 1] = {0};
    for (unsigned block = 0; block < BLOCKS; block++)
        for (unsigned thread = 0; thread < 128; thread++)
            for (unsigned i = 0; i < 8; i++)
                expected[i % 4 == 3 && thread % 32 < 20 ? i / 4 : (thread * (i + 1) + block) % 11]++;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct groups g;
        unsigned groups = 0;
        count_keys(&g, word_groups, KEYS, 64, KEYS, seed);
        CHECK(g.cursor == KEYS && !g.progress.abort, "%llu groups", (unsigned long long)g.cursor);
        for (int r = 0; r <= KEYS; r++) {
            groups += g.rows[r].key != 0;
            CHECK(g.rows[r].key == 0 || g.rows[r].count == expected[g.rows[r].key - 1], "key %llu: %lld",
                  (unsigned long long)g.rows[r].key, (long long)g.rows[r].count);
        }
        CHECK(groups == KEYS, "%u groups", groups);
    }
}

/* More keys than slots, whichever lanes have them: the kernel ends, and says so. */
static void test_full_words(void)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct groups g;
        count_keys(&g, word_groups, 30, 64, 8, seed);
        CHECK(g.cursor == 9 && g.progress.abort, "%llu groups", (unsigned long long)g.cursor);
    }
}

/* A warp keeps a group that it has not counted yet to itself, and all are counted in the end. */
static void test_uncounted_words(void)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct groups g;
        uint64_t groups = 0;
        count_keys(&g, word_groups, 1000, SLOTS, SLOTS - 1, seed);
        for (int r = 0; r < SLOTS; r++)
            groups += g.rows[r].key != 0;
        CHECK(g.progress.abort && g.cursor == groups, "%llu groups, %llu counted", (unsigned long long)groups,
              (unsigned long long)g.cursor);
        CHECK(groups > (SLOTS - 1) / 8 * 7, "%llu groups fill the table", (unsigned long long)groups);
    }
}

int main(void)
{
    test_good();
    test_equal_hashes();
    test_full_table();
    test_word_groups();
    test_full_words();
    test_uncounted_words();
    test_caught(lost_lane, "do not reach");
    test_caught(other_operation, "divergence");
    test_caught(early_return, "do not reach");
    test_caught(missed_barrier, "block barrier");
    test_caught(endless_wait, "no progress");
    test_caught(failed_assertion, "hdd_lane() != 5");
    test_interleavings_differ();
    test_many_threads();
    return 0;
}
