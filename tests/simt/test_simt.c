/* The emulator itself: it runs warp and block operations rightly under every order, and it
 * sees the bugs it is there for, one of each kind planted in kernels.cc. */
#include <string.h>

#include "tests/simt/check.h"
#include "tests/simt/simt.h"

enum { SEEDS = 20 };

/* kernels.cc */
void good_kernel(void *out);
void lost_lane(void *), other_operation(void *), early_return(void *), missed_barrier(void *);
void endless_wait(void *), failed_assertion(void *), lost_update(void *count);

static void test_good(void)
{
    struct simt_options o = {.blocks = 3, .warps = 4};
    struct simt_report r;
    for (o.seed = 0; o.seed < SEEDS; o.seed++) {
        uint64_t sums[3] = {0};
        CHECK(simt_launch(&o, good_kernel, sums, &r) == 0, "seed %llu: %s",
              (unsigned long long)o.seed, r.message);
        for (uint64_t b = 0; b < 3; b++) /* each thread adds block * 1000 + its number */
            CHECK(sums[b] == b * 1000 * 128 + 128 * 127 / 2, "block %llu: %llu",
                  (unsigned long long)b, (unsigned long long)sums[b]);
    }
}

static void test_caught(void (*kernel)(void *), const char *expected)
{
    struct simt_options o = {.blocks = 1, .warps = 4, .max_switches = 200000};
    struct simt_report r;
    for (o.seed = 0; o.seed < SEEDS; o.seed++) {
        CHECK(simt_launch(&o, kernel, NULL, &r) == -1, "not caught: %s", expected);
        CHECK(strstr(r.message, expected), "expected \"%s\", found \"%s\"", expected,
              r.message);
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

int main(void)
{
    test_good();
    test_caught(lost_lane, "do not reach");
    test_caught(other_operation, "divergence");
    test_caught(early_return, "do not reach");
    test_caught(missed_barrier, "block barrier");
    test_caught(endless_wait, "no progress");
    test_caught(failed_assertion, "hdd_lane() != 5");
    test_interleavings_differ();
    return 0;
}
