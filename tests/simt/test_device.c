/* Host side of device_cases.cc: what it compares with, and the thread it runs in. */
#include "runtime/base/type.h"
#include "runtime/gpu/gpu_like.h"
#include "tests/simt/check.h"
#include "tests/simt/simt.h"

const void *device_like_pattern(const char *pattern, unsigned long n, char escape);
void device_civil(int days, int *y, int *m, int *d);
void device_tests(void *);

static struct hd_arena arena;

/* Valid until the next call. */
const void *device_like_pattern(const char *pattern, unsigned long n, char escape)
{
    size_t size;
    hd_arena_release(&arena);
    hd_arena_init(&arena);
    return rt_gpu_like(&arena, pattern, n, escape, &size);
}

void device_civil(int days, int *y, int *m, int *d)
{
    hd_date_to_civil(days, y, m, d);
}

int main(void)
{
    struct simt_options o = {.blocks = 1, .warps = 1};
    struct simt_report r;
    hd_arena_init(&arena);
    CHECK(simt_launch(&o, device_tests, NULL, &r) == 0, "%s", r.message);
    hd_arena_release(&arena);
    return 0;
}
